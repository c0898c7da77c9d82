// Views and writes. The graph is functional: an array that owns its memory is a Value whose node is the present content, a
// view is a Value whose node is a chain of view nodes over its owner's node. The owner lists its views in Value::items.
//
// A write makes a new content for the owner (through the inverse of the view chain, if it is written through a view) and
// rebuilds the chains of all views over it, so that everyone who looks at the memory sees the write.
#include "frame_eval/numpy/support.h"
#include "graph/support/check.h"

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

void checkWriteable(Value* target) {
  if (!target->writeable) raises("assignment destination is read-only");
  if (ownerOf(target)->source.valid()) {
    throw CaptureBreak(BreakReason::kUnsupportedWrite, "a write into an array that outlives the call");
  }
}

void writeAll(Trace& trace, Value* target, ValueId node) {
  checkWriteable(target);
  graph::Graph& g = trace.graph();
  Value* owner = ownerOf(target);
  ValueId before = owner->node;
  FW_CHECK(g.type(node).dtype == g.type(target->node).dtype && g.type(node).rank() == g.type(target->node).rank());
  ValueId after = scatter(trace, target->node, node, before);
  // The memory keeps its strides whatever layout the new content was computed in; reshapes and transposes in between are
  // undone by scatter(), but leave their own idea of the layout.
  if (g.type(after).layout != g.type(before).layout) after = copyAs(trace, after, g.type(before).layout);
  owner->node = after;
  for (Value* view : owner->items) view->node = replay(trace, view->node, before, after);
}

}  // namespace fw::capture::numpy
