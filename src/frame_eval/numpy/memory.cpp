// Views and writes. The graph is functional: an array that owns its memory is a Value whose node is the present content, a
// view is a Value whose node is a chain of view nodes over its owner's node. The owner lists its views in Value::items.
//
// A write makes a new content for the owner (through the inverse of the view chain, if it is written through a view) and
// rebuilds the chains of all views over it, so that everyone who looks at the memory sees the write.
//
// An array that exists outside the trace is treated the same way, and each write into it is remembered besides: at the end
// (finishWrites) the last ones become commits of the graph, which store into the object's memory after everything is computed.
// Reads in between, which see some version of the content, are functional and touch no argument.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "frame_eval/numpy/support.h"
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
  FW_CHECK(graph::info(op).cls == graph::OpClass::kView || op == Op::kReal || op == Op::kImag);
  ValueId operand = replay(trace, g.node(view).operands[0], from, to);
  if (op == Op::kReal || op == Op::kImag) return g.unary(op, operand);
  const graph::Node& node = g.node(view);
  ValueType type{g.type(operand).dtype, node.type.shape, {}, {}};
  return g.addTyped(node.op, {operand}, std::move(type), node.attrs);
}

IntList inverse(const IntList& perm) {
  IntList result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

/// Content of `owner` after the view `view` of it was replaced by `value`.
ValueId scatter(Trace& trace, ValueId view, ValueId value, ValueId owner) {
  graph::Graph& g = trace.graph();
  while (view != owner) {
    const graph::Node& node = g.node(view);
    ValueId operand = node.operands[0];
    if (node.op == Op::kSlice) {
      value = g.update(operand, value, node.attrs.syms(AttrKey::kStarts), node.attrs.syms(AttrKey::kSteps));
    } else if (node.op == Op::kTranspose) {
      value = g.transpose(value, inverse(node.attrs.ints(AttrKey::kPerm)));
    } else if (node.op == Op::kExpand) {
      value = g.squeeze(value, node.attrs.ints(AttrKey::kAxes));
    } else if (node.op == Op::kSqueeze) {
      value = g.expand(value, node.attrs.ints(AttrKey::kAxes));
    } else if (node.op == Op::kReshape) {
      value = g.reshape(value, g.type(operand).shape, false);
    } else {
      throw CaptureBreak(BreakReason::kUnsupportedWrite, "a write through this kind of view");
    }
    view = operand;
  }
  return value;
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
  view->writeable = parent->writeable;
  owner->items.push_back(view);
  return view;
}

namespace {

/// No two elements of the array share memory: walking outwards, each stride steps over everything inside. Strides of packed
/// arrays cannot do otherwise.
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
  if (!target->writeable) raises("assignment destination is read-only");
  Value* owner = ownerOf(target);
  if (owner->source.valid()) inputOf(trace, owner);
}

void writeAll(Trace& trace, Value* target, ValueId node) { writePart(trace, target, target->node, node); }

void writePart(Trace& trace, Value* target, ValueId part, ValueId node) {
  checkWriteable(trace, target);
  if (node == part) return;   // a[i] op= b ends with a store of the view into itself
  graph::Graph& g = trace.graph();
  Value* owner = ownerOf(target);
  ValueId before = owner->node;
  FW_CHECK(g.type(node).dtype == g.type(part).dtype && g.type(node).rank() == g.type(part).rank());
  ValueId after = scatter(trace, part, node, before);
  if (owner->source.valid()) {
    trace.arrayWrites.push_back({owner, replay(trace, part, before, inputOf(trace, owner)), node, trace.at});
  }
  // The memory keeps its strides whatever layout the new content was computed in; reshapes and transposes in between are
  // undone by scatter(), but leave their own idea of the layout.
  if (g.type(after).layout != g.type(before).layout) after = copyAs(trace, after, g.type(before).layout);
  owner->node = after;
  for (Value* view : owner->items) view->node = replay(trace, view->node, before, after);
}

namespace {

/// No array that is written may share memory with another one that the trace knows.
void guardApart(Trace& trace, const std::vector<Value*>& written) {
  std::vector<Value*> arrays = written;
  for (const guards::InputBinding& binding : trace.guardSet().inputs) {
    if (binding.from != guards::InputBinding::From::kArrayData) continue;
    Value* other = trace.valueOf(binding.source);
    FW_CHECK(other && other->object);
    if (std::find(arrays.begin(), arrays.end(), other) == arrays.end()) arrays.push_back(other);
  }
  auto object = [](Value* array) { return reinterpret_cast<PyArrayObject*>(array->object.get()); };
  auto refuse = [&](Value* array, const std::string& why) {
    auto isOwn = [&](const ArrayWrite& write) { return write.owner == array; };
    auto first = std::find_if(trace.arrayWrites.begin(), trace.arrayWrites.end(), isOwn);
    throw CaptureBreak(BreakReason::kUnsupportedArray, trace.describe(array->source) + " is written and " + why, first->at);
  };
  if (arrays.size() > guards::kMaxDisjointArrays) refuse(written[0], "there are very many arrays");
  for (size_t i = 0; i < written.size(); ++i) {
    for (size_t k = i + 1; k < arrays.size(); ++k) {
      if (!guards::mayOverlap(object(arrays[i]), object(arrays[k]))) continue;
      refuse(arrays[i], "overlaps " + trace.describe(arrays[k]->source));
    }
  }
  guards::Guard guard{.kind = guards::GuardKind::kDisjoint, .lo = static_cast<int64_t>(written.size())};
  for (Value* array : arrays) guard.list.push_back(array->source);
  if (arrays.size() == 2) {
    guard = {.kind = guards::GuardKind::kNoOverlap, .source = arrays[0]->source, .other = arrays[1]->source};
  }
  if (arrays.size() > 1) trace.guard(std::move(guard));
}

}  // namespace

void finishWrites(Trace& trace) {
  graph::Graph& g = trace.graph();
  std::vector<Value*> written;
  for (auto& [owner, input] : trace.writtenArrays) {
    const ValueId last = std::exchange(owner->node, input);
    for (Value* view : owner->items) view->node = replay(trace, view->node, last, input);
    auto isOwn = [owner = owner](const ArrayWrite& write) { return write.owner == owner; };
    const bool any = std::any_of(trace.arrayWrites.begin(), trace.arrayWrites.end(), isOwn);
    if (any) written.push_back(owner);
  }
  if (written.empty()) return;
  guardApart(trace, written);
  // What a later write covers is not written at all.
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
