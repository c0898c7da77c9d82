// Views and writes. The graph is functional: an array that owns its memory is a Value whose node is the present
// content, a view is a Value whose node is a chain of view nodes over its owner's node. The owner lists its views in
// Value::items.
//
// A write makes a new content for the owner (through the inverse of the view chain, if it is written through a view)
// and rebuilds the chains of all views over it, so that everyone who looks at the memory sees the write.
//
// An array that exists outside the trace is treated the same way, and each write into it is remembered besides: at the
// end (finishWrites) the last ones become commits of the graph, which store into the object's memory after everything
// is computed. Reads in between, which see some version of the content, are functional and touch no argument. Arrays
// that share memory are views of one Value (overlap.cpp).
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "frame_eval/numpy/support.h"
#include "graph/alias.h"
#include "graph/passes/planning.h"
#include "graph/support/check.h"
#include "graph/views.h"
#include "guards/overlap.h"

namespace fw::capture::numpy {
namespace {

Value* ownerOf(Value* array) { return array->base ? array->base : array; }

/// The chain of view nodes `view` over `from`, on top of `to`.
ValueId replay(Trace& trace, ValueId view, ValueId from, ValueId to) {
  if (view == from) return to;
  graph::Graph& g = trace.graph();
  Op op = g.node(view).op;
  FW_CHECK_MSG(graph::info(op).cls == graph::OpClass::kView || op == Op::kReal || op == Op::kImag,
               std::string("no view: ") + std::string(graph::info(op).text));
  ValueId operand = replay(trace, g.node(view).operands[0], from, to);
  if (op == Op::kReal || op == Op::kImag) return g.unary(op, operand);
  const graph::Node& node = g.node(view);
  // The same part of the same memory: its strides are what they were.
  ValueType type{g.type(operand).dtype, node.type.shape, node.type.layout, {}};
  return g.addTyped(node.op, {operand}, std::move(type), node.attrs);
}

IntList inverse(const IntList& perm) {
  IntList result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

/// A view that gets other content, or a slice of it.
struct Part {
  graph::Graph& g;
  ValueId content;
  std::optional<SymList> starts = std::nullopt;
  SymList steps = {};

  /// The same of what `view` is a view of.
  void follow(ValueId view) {
    graph::SymContext& syms = g.syms();
    const graph::Node& node = g.node(view);
    const ValueId operand = node.operands[0];
    if (node.op == Op::kSlice) {
      SymList from = node.attrs.syms(AttrKey::kStarts), by = node.attrs.syms(AttrKey::kSteps);
      for (size_t i = 0; starts && i < from.size(); ++i) {
        from[i] = syms.add(from[i], syms.mul((*starts)[i], by[i]));
        by[i] = syms.mul(steps[i], by[i]);
      }
      starts = std::move(from), steps = std::move(by);
    } else if (node.op == Op::kTranspose) {
      const IntList back = inverse(node.attrs.ints(AttrKey::kPerm));
      if (starts) starts = inOrder(*starts, back), steps = inOrder(steps, back);
      content = g.transpose(content, back);
    } else if (node.op == Op::kSqueeze) {
      const IntList axes = node.attrs.ints(AttrKey::kAxes);
      for (int64_t axis : axes) {
        if (!starts) break;
        starts->insert(starts->begin() + axis, syms.constant(0));
        steps.insert(steps.begin() + axis, syms.constant(1));
      }
      content = g.expand(content, axes);
    } else if (node.op == Op::kExpand) {
      const IntList axes = node.attrs.ints(AttrKey::kAxes);
      content = g.squeeze(whole(view), axes);
    } else if (node.op == Op::kReshape) {
      content = whole(view);
      // The value's own memory may not allow the shape: where it is stretched, or packed in another order than C.
      const graph::Layout& own = g.type(content).layout;
      const bool copies = own.broadcastAxes != 0 || (own.contiguity == graph::Contiguity::kPacked && !own.isPackedC());
      content = g.reshape(content, g.type(operand).shape, copies);
    } else {
      throw CaptureBreak(BreakReason::kUnsupportedWrite, "a write through this kind of view");
    }
  }

  /// All of the view.
  ValueId whole(ValueId view) {
    if (starts) content = g.update(view, content, *std::exchange(starts, std::nullopt), steps);
    return content;
  }

 private:
  static SymList inOrder(const SymList& list, const IntList& order) {
    SymList result;
    for (int64_t axis : order) result.push_back(list[static_cast<size_t>(axis)]);
    return result;
  }
};

/// Content of `owner` after the view `view` of it was replaced by `value`. What is said of a part's part - x[i][j] = v
/// - is an update of the array, not of all of the part.
ValueId scatter(Trace& trace, ValueId view, ValueId value, ValueId owner) {
  Part part{trace.graph(), value};
  for (; view != owner; view = trace.graph().node(view).operands[0]) part.follow(view);
  return part.whole(owner);
}

}  // namespace

ValueId copyAs(Trace& trace, ValueId node, graph::Layout layout) {
  const ValueType& type = trace.graph().type(node);
  return trace.graph().addTyped(Op::kCopy, {node}, {type.dtype, type.shape, std::move(layout), {}});
}

Value* makeView(Trace& trace, Value* parent, ValueId node) {
  if (parent->kind != ValueKind::kArray) return trace.array(node);
  Value* owner = ownerOf(parent);
  Value* view = trace.array(node, owner);
  view->frozen = parent->frozen;
  owner->items.push_back(view);
  return view;
}

namespace {

/// No two elements of the array share memory: walking outwards, each stride steps over everything inside. Strides of
/// packed arrays cannot do otherwise.
void guardDistinctElements(Trace& trace, Value* array) {
  graph::SymContext& syms = trace.syms();
  const ValueType& type = trace.graph().type(array->node);
  auto refuse = [&](const char* why) {
    throw CaptureBreak(BreakReason::kUnsupportedWrite, trace.describe(array->source) + " " + why);
  };
  if (type.layout.broadcastAxes) refuse("has elements that share memory");
  if (type.layout.contiguity == graph::Contiguity::kPacked) return;
  const SymList strides = graph::materialisedStrides(trace.graph(), array->node);
  std::optional<SymId> inner;
  for (size_t i = type.layout.order.size(); i-- > 0;) {
    const int axis = type.layout.order[i];
    const SymId size = type.shape[static_cast<size_t>(axis)];
    if (trace.hint(size) <= 1 && trace.decide(size, Relation::kLe, syms.constant(1))) continue;
    SymId stride = strides[static_cast<size_t>(axis)];
    if (type.layout.isNegative(axis)) stride = syms.neg(stride);
    if (inner && !trace.decide(*inner, Relation::kLe, stride)) refuse("may have elements that share memory");
    inner = syms.mul(stride, size);
  }
}

/// The input of the graph that a written array with a source was.
ValueId inputOf(Trace& trace, Value* owner) {
  for (auto& [array, input] : trace.writtenArrays) {
    if (array == owner) return input;
  }
  guardDistinctElements(trace, owner);
  trace.guard({.kind = guards::GuardKind::kWriteable, .source = owner->source});
  trace.writtenArrays.emplace_back(owner, owner->node);
  return owner->node;
}

}  // namespace

void checkWriteable(Trace& trace, Value* target) {
  Value* owner = ownerOf(target);
  const bool seen = !owner->source.valid() || guards::viewOf(owner->object.get()).isWriteable();
  if (target->frozen || !seen) raises("assignment destination is read-only");
  if (owner->source.valid()) inputOf(trace, owner);
}

void writeAll(Trace& trace, Value* target, ValueId node) { writePart(trace, target, target->node, node); }

namespace {

/// Whether copying elements one by one gives what copying all at once gives: forwards if the source does not begin
/// before the target in memory (`upwards` says that greater indices are higher addresses), otherwise in whatever order
/// suits equal steps.
bool mayCopyInPlace(graph::SymContext& syms, const graph::Footprint& written, const graph::Footprint& read, int rank,
                    bool upwards) {
  const std::optional<int> to = written.line(), from = read.line();
  if (from && *from < 0) return true;  // one element
  if (!to || *to < 0 || !from) return false;
  const graph::Progression &w = written.along(*to), &r = read.along(*from);
  bool forwards = upwards && syms.range(w.step).lo > 0 && syms.range(r.step).lo > 0;
  for (int axis = 0; axis < rank; ++axis)
    forwards = forwards && syms.provablyLessEqual(written.along(axis).start, read.along(axis).start);
  if (*to == *from) {
    if (forwards && syms.provablyLessEqual(w.step, r.step)) return true;  // reads run ahead of writes
    return syms.provablyEqual(w.step, r.step) == true || syms.range(syms.mul(w.step, r.step)).hi < 0;
  }
  // A row and a column meet in one element, read and written at the same time in a[i] = a[:, i].
  const SymId whenWritten = syms.mul(syms.sub(read.along(*to).start, w.start), r.step);
  const SymId whenRead = syms.mul(syms.sub(written.along(*from).start, r.start), w.step);
  return syms.provablyEqual(whenWritten, whenRead) == true ||
         (forwards && syms.provablyLessEqual(whenRead, whenWritten));
}

/// NumPy copies a line of elements without a temporary if it does not go against itself, in an order that suits equal
/// steps. Where it goes through the same memory in two ways, it reads what it has written. `content` is the array's.
void refuseSmearing(Trace& trace, ValueId content, ValueId part, ValueId value) {
  graph::Graph& g = trace.graph();
  const SymShape& shape = g.type(part).shape;
  if (shape.size() != 1 || trace.syms().range(shape[0]).hi <= 1) return;
  const graph::Footprint written(g, part), read(g, value);
  if (read.with(written) != graph::Alias::kMay) return;
  const ValueId base = written.base();
  const bool upwards = base == content && g.type(base).layout.negativeAxes == 0;
  if (mayCopyInPlace(trace.syms(), written, read, g.type(base).rank(), upwards)) return;
  throw CaptureBreak(BreakReason::kUnsupportedWrite, "an array of one axis gets its own elements at another step");
}

/// Notes the write as the program makes it. What stands for the memory from then on is a node of its own, which is not
/// merged with a value that happens to be equal.
ValueId noteWrite(Trace& trace, Value* owner, ValueId part, ValueId value, ValueId after) {
  graph::Graph& g = trace.graph();
  const int array = trace.programArrays.try_emplace(owner, static_cast<int>(trace.programArrays.size())).first->second;
  Attrs attrs;
  attrs.set(AttrKey::kIndex, static_cast<int64_t>(trace.programWrites.size()) + 1);
  ValueType type = g.type(after);
  const ValueId memory = g.addTyped(Op::kCopy, {after}, std::move(type), std::move(attrs));
  trace.programWrites.push_back({array, owner->node, part, value, memory, !owner->source.valid()});
  return memory;
}

}  // namespace

void writePart(Trace& trace, Value* target, ValueId part, ValueId node) {
  checkWriteable(trace, target);
  if (node == part) return;  // a[i] op= b ends with a store of the view into itself
  graph::Graph& g = trace.graph();
  Value* owner = ownerOf(target);
  ValueId before = owner->node;
  refuseSmearing(trace, before, part, node);
  FW_CHECK(g.type(node).dtype == g.type(part).dtype && g.type(node).rank() == g.type(part).rank());
  ValueId after = scatter(trace, part, node, before);
  const auto isDecided = [&](ValueId view) {
    const auto decided = [&](SymId sym) { return trace.decided.contains(sym); };
    for (; view != before && graph::isView(g, view); view = g.node(view).operands[0]) {
      const graph::Node& node = g.node(view);
      if (std::any_of(node.type.shape.begin(), node.type.shape.end(), decided)) return true;
      if (!node.attrs.has(AttrKey::kStarts)) continue;
      const SymList& starts = node.attrs.syms(AttrKey::kStarts);
      if (std::any_of(starts.begin(), starts.end(), decided)) return true;
    }
    return false;
  };
  // Where the part is is not known in front of the call: then all of the array is stored.
  if (owner->source.valid() && isDecided(part)) {
    trace.arrayWrites.push_back({owner, inputOf(trace, owner), after, trace.at});
  } else if (owner->source.valid()) {
    trace.arrayWrites.push_back({owner, replay(trace, part, before, inputOf(trace, owner)), node, trace.at});
  }
  // The memory keeps its strides whatever layout the new content was computed in; reshapes and transposes in between
  // are undone by scatter(), but leave their own idea of the layout.
  if (g.type(after).layout != g.type(before).layout) after = copyAs(trace, after, g.type(before).layout);
  if (trace.keepsWrites) after = noteWrite(trace, owner, part, node, after);
  trace.branches.write(owner);
  setContent(trace, owner, after);
}

void replaceContent(Trace& trace, Value* owner, ValueId after) {
  if (owner->source.valid()) trace.arrayWrites.push_back({owner, inputOf(trace, owner), after, trace.at});
  setContent(trace, owner, after);
}

void setContent(Trace& trace, Value* owner, ValueId after) {
  const ValueId before = std::exchange(owner->node, after);
  for (Value* view : owner->items) view->node = replay(trace, view->node, before, after);
}

namespace {

/// An array of the call as far as its memory matters.
struct Region {
  SourceId source;
  Ref object;
  bool written;
  const SharedMemory* group = nullptr;  ///< the block that it is a part of
  guards::ArrayView view() const { return guards::viewOf(object.get()); }
};

std::vector<Region> regionsOf(Trace& trace, const std::vector<Value*>& written) {
  auto isWritten = [&](Value* array) { return std::find(written.begin(), written.end(), array) != written.end(); };
  std::vector<Region> regions;
  for (const SharedMemory& memory : trace.shared) {
    if (!memory.block) continue;
    for (const SharedMember& m : memory.members)
      regions.push_back({m.source, m.object, isWritten(memory.block), &memory});
  }
  for (const guards::InputBinding& binding : trace.guardSet().inputs) {
    if (binding.from != guards::InputBinding::From::kArrayData) continue;
    Value* array = trace.valueOf(binding.source);
    auto isBlock = [&](const SharedMemory& memory) { return memory.block && memory.block->source == binding.source; };
    if (std::any_of(trace.shared.begin(), trace.shared.end(), isBlock)) continue;
    FW_CHECK(array && array->object);
    regions.push_back({binding.source, array->object, isWritten(array)});
  }
  return regions;
}

/// Ends the trace because of arrays that share memory with one that is written: the next one treats them as parts of a
/// block. Breaks at the first write if they are no regular ones.
[[noreturn]] void restartShared(Trace& trace, const std::vector<Region>& regions, size_t first, size_t second) {
  auto refuse = [&](const std::string& why) {
    throw CaptureBreak(BreakReason::kUnsupportedArray, trace.describe(regions[first].source) + " is written and " + why,
                       trace.arrayWrites.front().at);
  };
  const std::string other = "overlaps " + trace.describe(regions[second].source);
  if (!trace.mayRestart) refuse(other);
  std::vector<size_t> block(regions.size());  // number of the block that each array belongs to
  for (size_t i = 0; i < regions.size(); ++i) block[i] = i;
  for (size_t i = 0; i < regions.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const bool same = regions[i].group && regions[i].group == regions[k].group;
      if (block[i] == block[k] || (!same && !guards::mayOverlap(regions[i].view(), regions[k].view()))) continue;
      std::replace(block.begin(), block.end(), size_t{block[i]}, size_t{block[k]});
    }
  }
  SharedMemoryFound found{{}, trace.guardSet().sources};
  for (size_t b = 0; b < regions.size(); ++b) {
    std::vector<PyObject*> arrays;
    bool written = false;
    for (size_t i = 0; i < regions.size(); ++i) {
      if (block[i] != b) continue;
      arrays.push_back(regions[i].object.get());
      written |= regions[i].written;
    }
    if (!written || arrays.size() < 2) continue;
    std::optional<SharedMemory> plan = planSharing(arrays);
    if (!plan) refuse(other + " irregularly");
    for (SharedMember& m : plan->members) {
      auto isSame = [&](const Region& r) { return r.object.get() == m.object.get(); };
      m.source = std::find_if(regions.begin(), regions.end(), isSame)->source;
    }
    found.groups.push_back(*std::move(plan));
  }
  throw found;
}

/// No array that is written shares memory with another one that the trace knows, but within a block.
void guardApart(Trace& trace, const std::vector<Value*>& written) {
  std::vector<Region> regions = regionsOf(trace, written);
  auto standsFirst = [](const Region& r) { return r.written && !r.group; };
  std::stable_partition(regions.begin(), regions.end(), standsFirst);
  if (regions.size() > guards::kMaxDisjointArrays) {
    throw CaptureBreak(BreakReason::kUnsupportedArray, "an array is written and there are very many",
                       trace.arrayWrites.front().at);
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    for (size_t k = i + 1; k < regions.size(); ++k) {
      const Region &a = regions[i], &b = regions[k];
      if ((!a.written && !b.written) || (a.group && a.group == b.group)) continue;
      if (guards::mayOverlap(a.view(), b.view())) restartShared(trace, regions, i, k);
    }
  }
  const auto own = static_cast<size_t>(std::count_if(regions.begin(), regions.end(), standsFirst));
  auto apart = [&](const Region& a, const Region& b) {
    trace.guard({.kind = guards::GuardKind::kNoOverlap, .source = a.source, .other = b.source});
  };
  if (regions.size() == 2 && own > 0) {
    apart(regions[0], regions[1]);
  } else if (own > 0 && regions.size() > 1) {
    guards::Guard guard{.kind = guards::GuardKind::kDisjoint, .lo = static_cast<int64_t>(own)};
    for (const Region& r : regions) guard.list.push_back(r.source);
    trace.guard(std::move(guard));
  }
  for (size_t i = own; i < regions.size(); ++i) {  // arrays of written blocks against what is in no list with them
    for (size_t k = own; k < regions.size(); ++k) {
      const Region &a = regions[i], &b = regions[k];
      if (a.written && a.group != b.group && (!b.written || i < k)) apart(a, b);
    }
  }
}

}  // namespace

void finishWrites(Trace& trace) {
  graph::Graph& g = trace.graph();
  std::vector<Value*> written;
  absl::flat_hash_set<Value*> owners;
  for (const ArrayWrite& write : trace.arrayWrites) owners.insert(write.owner);
  for (auto& [owner, input] : trace.writtenArrays) {
    const ValueId last = std::exchange(owner->node, input);
    for (Value* view : owner->items) view->node = replay(trace, view->node, last, input);
    if (owners.contains(owner)) written.push_back(owner);
  }
  if (written.empty()) return;
  guardApart(trace, written);
  // A write is dropped if a later one has the same target, or the whole array (graph/alias.h). No read needs it: what
  // comes after a write reads the version that the write has made.
  absl::flat_hash_set<ValueId> covered;
  std::vector<const ArrayWrite*> kept;
  for (size_t i = trace.arrayWrites.size(); i-- > 0;) {
    const ArrayWrite& write = trace.arrayWrites[i];
    if (covered.contains(graph::viewBase(g, write.target)) || !covered.insert(write.target).second) continue;
    kept.push_back(&write);
  }
  for (size_t i = kept.size(); i-- > 0;) g.commit(kept[i]->target, kept[i]->value);
}

}  // namespace fw::capture::numpy
