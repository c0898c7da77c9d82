// Arrays that share memory. f(a, a[1:]) writes one array through another; the graph can only say so if both are views
// of one value. So a trace that finds in the end that it has written into one of several overlapping arrays is thrown
// away (SharedMemoryFound), and the next one makes them views of a block of memory from the start. All that is known of
// writes through views then applies, and the order of reads and writes is that of the program.
//
// The block is a strided array that no object need stand for. It begins where the first array begins and has its
// strides, the other arrays are slices of it: offsets and steps are found from the addresses seen now, and guarded as
// one equation of addresses and one of strides per axis. An offset is guarded as the number it is, or, if it is large
// and the array ends where the first one does, as a difference of sizes. One of the arrays reaches to the end of the
// block on every axis, so the block has no element outside of the memory between the first and the last element of its
// arrays.
#include "frame_eval/numpy/overlap.h"

#include <algorithm>
#include <cstdlib>

#include "frame_eval/numpy/support.h"
#include "graph/passes/planning.h"
#include "graph/support/check.h"
#include "guards/array_layout.h"

namespace fw::capture {

using guards::ArrayView;

using graph::Contiguity;
using guards::Guard;
using guards::GuardKind;
using guards::Relation;
using guards::SourceId;
using guards::SymbolBinding;

guards::SourceId copyPath(const guards::SourceTable& from, SourceId id, guards::SourceTable& to) {
  const guards::Source& source = from[id];
  const SourceId base = source.base.valid() ? copyPath(from, source.base, to) : SourceId{};
  return to.intern(source.kind, base, source.index, source.object.get());
}

namespace {

/// Offsets up to here are taken as numbers, also where they could be differences of sizes.
constexpr int64_t kSmallOffset = 8;

/// Places one array in the index space of another.
class Placement {
 public:
  Placement(const ArrayView& first, const ArrayView& array) : first_(first), array_(array), axes_(first.rank) {
    for (int i = 0; i < first.rank; ++i)
      if (first.shape[i] > 1) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) { return stride(a) > stride(b); });
  }

  std::optional<std::vector<SharedAxis>> run() {
    for (int own = 0; own < array_.rank; ++own)
      if (array_.shape[own] > 1 && !assign(own)) return std::nullopt;
    const int64_t distance = array_.data - first_.data;
    if (!locate(0, distance)) return std::nullopt;
    return axes_;
  }

 private:
  int64_t stride(int axis) const { return std::abs(first_.strides[axis]); }

  /// The axis of the block that the array's axis runs along: the one of the largest stride that divides the array's.
  bool assign(int own) {
    const int64_t wanted = array_.strides[own], count = array_.shape[own];
    for (int axis : order_) {
      if (axes_[axis].own >= 0 || wanted == 0 || wanted % first_.strides[axis] != 0) continue;
      const int64_t step = wanted / first_.strides[axis];
      axes_[axis] = {own, 0, step, (count - 1) * std::abs(step) + 1};
      return true;
    }
    return false;
  }

  /// Splits the rest of the distance over the axes from order_[at] on, so that everything lies behind the first
  /// element.
  bool locate(size_t at, int64_t rest) {
    if (at == order_.size()) return rest == 0;
    SharedAxis& axis = axes_[order_[at]];
    const int64_t by = first_.strides[order_[at]];
    const int64_t down = rest / by - (rest % by != 0 && (rest < 0) != (by < 0));
    for (int64_t index : {down, down + 1}) {
      const int64_t low = axis.step > 0 ? index : index - (axis.span - 1);
      if (low < 0) continue;
      axis.low = low;
      if (locate(at + 1, rest - index * by)) return true;
    }
    return false;
  }

  ArrayView first_, array_;
  std::vector<SharedAxis> axes_;
  std::vector<int> order_;  // axes of the first array of more than one element, by falling stride
};

/// The block begins with arrays[first].
std::optional<SharedMemory> planFrom(absl::Span<PyObject* const> arrays, size_t first) {
  const ArrayView leader = guards::viewOf(arrays[first]);
  const int rank = leader.rank;
  SharedMemory block;
  std::vector<int64_t> ends(rank, 1);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const size_t k = i == 0 ? first : i <= first ? i - 1 : i;  // the leader first
    const ArrayView array = guards::viewOf(arrays[k]);
    if (array.descr->type_num != leader.descr->type_num) return std::nullopt;
    auto axes = Placement(leader, array).run();
    if (!axes) return std::nullopt;
    for (int d = 0; d < rank; ++d) {
      SharedAxis& axis = (*axes)[d];
      axis.atEnd = axis.low > kSmallOffset && axis.low + axis.span == leader.shape[d];
      ends[d] = std::max(ends[d], axis.low + axis.span);
    }
    block.members.push_back({cpython::Ref::create(arrays[k]), {}, *std::move(axes)});
  }
  auto reachesEnd = [&](const SharedMember& m) {
    for (int d = 0; d < rank; ++d)
      if (m.axes[d].low + m.axes[d].span != ends[d]) return false;
    return true;
  };
  auto farthest = std::find_if(block.members.begin(), block.members.end(), reachesEnd);
  if (farthest == block.members.end()) return std::nullopt;
  block.farthest = static_cast<size_t>(farthest - block.members.begin());
  // Rows of the block must not meet.
  std::vector<int> order;
  for (int d = 0; d < rank; ++d)
    if (ends[d] > 1) order.push_back(d);
  auto stride = [&](int d) { return std::abs(leader.strides[d]); };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return stride(a) < stride(b); });
  for (size_t i = 0; i + 1 < order.size(); ++i)
    if (stride(order[i]) * ends[order[i]] > stride(order[i + 1])) return std::nullopt;
  if (!order.empty() && stride(order[0]) < leader.itemSize()) return std::nullopt;
  return block;
}

}  // namespace

std::optional<SharedMemory> planSharing(absl::Span<PyObject* const> arrays) {
  for (PyObject* array : arrays)
    if (!guards::viewOf(array).isWriteable())
      return std::nullopt;  // views that are returned inherit the flag of the block
  for (size_t first = 0; first < arrays.size(); ++first)
    if (auto block = planFrom(arrays, first)) return block;
  return std::nullopt;
}

// ---- in the trace -------------------------------------------------------------------------------------------------

namespace {

using numpy::SymId;
using numpy::SymList;
using numpy::SymShape;

/// The block's layout: the first array's, as far as that still says something about strides.
graph::Layout blockLayout(const graph::Layout& first, const SymShape& own, const SymShape& block) {
  for (size_t i = 1; i < first.order.size(); ++i) {  // the outermost axis may be longer
    const auto axis = static_cast<size_t>(first.order[i]);
    if (own[axis] == block[axis]) continue;
    graph::Layout layout = first;
    const bool inner = first.contiguity != Contiguity::kStrided && !first.isNegative(first.order.back());
    layout.contiguity = inner ? Contiguity::kInner : Contiguity::kStrided;
    return layout;
  }
  return first;
}

}  // namespace

Value* Trace::sharedArray(PyObject* object) {
  for (SharedMemory& memory : shared) {
    for (SharedMember& member : memory.members) {
      if (member.object.get() != object) continue;
      if (!memory.block) openShared(memory);
      return array(member.view->node, memory.block);
    }
  }
  return nullptr;
}

void Trace::openSharedArrays() {
  for (SharedMemory& memory : shared)
    if (!memory.block) openShared(memory);
}

/// Sizes, strides and address of an array as symbols, under guards of its metadata.
Trace::Geometry Trace::geometryOf(SourceId source, PyObject* object) {
  const ArrayView a = guards::viewOf(object);
  Geometry g{.dtype = *guards::dtypeOf(a.descr), .layout = guards::classifyLayout(a)};
  guard({.kind = GuardKind::kArrayMeta, .source = source, .meta = {g.dtype, g.layout, arrays().device(object)}});
  guard({.kind = GuardKind::kWriteable, .source = source});
  const std::string suffix = std::to_string(source.index);
  for (int axis = 0; axis < a.rank; ++axis) {
    SymId size = addSymbol("s" + std::to_string(dimCount_++), {g.layout.isPacked() ? 0 : 1, INT64_MAX}, a.shape[axis],
                           {SymbolBinding::From::kDim, source, axis});
    if (a.shape[axis] == 1) size = syms().constant(specialize(size));  // its stride says nothing
    g.shape.push_back(size);
    g.strides.push_back(addSymbol("m" + suffix + "_" + std::to_string(axis), {}, a.strides[axis],
                                  {SymbolBinding::From::kStride, source, axis}));
  }
  g.address =
      addSymbol("p" + suffix, {}, reinterpret_cast<int64_t>(a.data), {SymbolBinding::From::kAddress, source, 0});
  return g;
}

void Trace::openShared(SharedMemory& memory) {
  std::vector<Geometry> all;
  for (SharedMember& m : memory.members) all.push_back(geometryOf(m.source, m.object.get()));
  const Geometry& first = all[0];
  const size_t rank = first.shape.size();
  const auto constant = [&](int64_t v) { return syms().constant(v); };
  const auto spanOf = [&](size_t k, size_t d) {
    const SharedAxis& axis = memory.members[k].axes[d];
    if (axis.own < 0) return constant(1);
    const SymId steps = syms().sub(all[k].shape[axis.own], constant(1));
    return syms().add(syms().mul(steps, constant(std::abs(axis.step))), constant(1));
  };
  const auto lowOf = [&](size_t k, size_t d) {
    const SharedAxis& axis = memory.members[k].axes[d];
    return axis.atEnd ? syms().sub(first.shape[d], spanOf(k, d)) : constant(axis.low);
  };
  SymShape ends;
  for (size_t d = 0; d < rank; ++d) ends.push_back(syms().add(lowOf(memory.farthest, d), spanOf(memory.farthest, d)));
  for (size_t k = 0; k < all.size(); ++k) {
    for (size_t d = 0; d < rank; ++d) {
      bool inside = decide(constant(0), Relation::kLe, lowOf(k, d));
      inside = decide(syms().add(lowOf(k, d), spanOf(k, d)), Relation::kLe, ends[d]) && inside;
      FW_CHECK(inside);
    }
  }
  graph::ValueType type{.dtype = first.dtype, .shape = ends, .layout = blockLayout(first.layout, first.shape, ends)};
  // An array that is all of the block has the block's node: what its class says of contiguity has to be the node's,
  // whichever array comes first. It is what tells views from copies in ravel() and its like.
  const auto isWhole = [&](size_t k) {
    if (all[k].shape.size() != rank) return false;
    for (size_t d = 0; d < rank; ++d) {
      const SharedAxis& axis = memory.members[k].axes[d];
      if (axis.own != static_cast<int>(d) || axis.step != 1 || !syms().isConst(syms().canonical(lowOf(k, d)), 0) ||
          syms().canonical(all[k].shape[d]) != syms().canonical(ends[d]))
        return false;
    }
    return true;
  };
  for (size_t k = 0; k < all.size(); ++k)
    if (isWhole(k)) type.layout = all[k].layout;
  if (type.layout.contiguity != Contiguity::kPacked) {
    const std::string name = "t" + std::to_string(guards_.inputs.size()) + "_";
    for (size_t d = 0; d < rank; ++d) {
      if (type.layout.contiguity == Contiguity::kInner && static_cast<int>(d) == type.layout.order.back()) continue;
      addSymbol(name + std::to_string(d), {}, hint(first.strides[d]),
                {SymbolBinding::From::kStride, memory.members[0].source, static_cast<int>(d)});
    }
  }
  memory.block = array(addInput(guards::InputBinding::From::kArrayData, memory.members[0].source, std::move(type)));
  memory.block->source = memory.members[0].source;
  memory.block->object = memory.members[0].object;
  const SymList strides = graph::materialisedStrides(graph_, memory.block->node);
  // No assumptions are made from these: sizes are better than addresses in whatever follows.
  const auto require = [&](SymId left, SymId right) {
    FW_CHECK(hint(left) == hint(right));
    if (left != right)
      guard({.kind = GuardKind::kSymRelation, .relation = Relation::kEq, .left = left, .right = right});
  };
  for (size_t k = 0; k < all.size(); ++k) {
    SymId distance = constant(0);
    for (size_t d = 0; d < rank; ++d) {
      const SharedAxis& axis = memory.members[k].axes[d];
      const SymId start = axis.step > 0 ? lowOf(k, d) : syms().sub(syms().add(lowOf(k, d), spanOf(k, d)), constant(1));
      distance = syms().add(distance, syms().mul(start, strides[d]));
      if (axis.own >= 0) require(all[k].strides[axis.own], syms().mul(strides[d], constant(axis.step)));
    }
    if (k > 0) require(syms().sub(all[k].address, first.address), distance);
    memory.members[k].view = numpy::makeView(*this, memory.block, sharedView(memory, k, all[k], lowOf, spanOf));
  }
}

graph::ValueId Trace::sharedView(const SharedMemory& memory, size_t k, const Geometry& geometry,
                                 const std::function<SymId(size_t, size_t)>& lowOf,
                                 const std::function<SymId(size_t, size_t)>& spanOf) {
  const SharedMember& member = memory.members[k];
  const graph::ValueId block = memory.block->node;
  graph::ValueId node = block;
  SymList starts, steps;
  SymShape shape;
  graph::IntList dropped, order;
  bool whole = true;
  for (size_t d = 0; d < member.axes.size(); ++d) {
    const SharedAxis& axis = member.axes[d];
    SymId low = lowOf(k, d);
    if (axis.step < 0) low = syms().sub(syms().add(low, spanOf(k, d)), syms().constant(1));
    starts.push_back(syms().canonical(low));
    steps.push_back(syms().constant(axis.step));
    shape.push_back(axis.own < 0 ? syms().constant(1) : syms().canonical(geometry.shape[axis.own]));
    if (axis.own < 0)
      dropped.push_back(static_cast<int64_t>(d));
    else
      order.push_back(axis.own);
    whole = whole && axis.step == 1 && syms().isConst(starts.back(), 0) &&
            shape.back() == syms().canonical(graph_.type(block).shape[d]);
  }
  if (!whole) node = graph_.slice(node, starts, steps, shape);
  if (!dropped.empty()) node = graph_.squeeze(node, dropped);
  if (!std::is_sorted(order.begin(), order.end())) {
    graph::IntList sorted = order, perm;
    std::sort(sorted.begin(), sorted.end());
    for (int64_t own : sorted) perm.push_back(std::find(order.begin(), order.end(), own) - order.begin());
    node = graph_.transpose(node, perm);
  }
  graph::IntList added;
  for (size_t i = 0; i < geometry.shape.size(); ++i)
    if (std::find(order.begin(), order.end(), static_cast<int64_t>(i)) == order.end())
      added.push_back(static_cast<int64_t>(i));
  if (!added.empty()) node = graph_.expand(node, added);
  // What the array itself says of its strides may be more than follows from the block.
  if (node != block) graph_.mutableNode(node).type.layout = geometry.layout;
  return node;
}

}  // namespace fw::capture
