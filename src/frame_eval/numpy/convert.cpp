// Values as operands: np.asarray, Python scalars with weak types, and the checks that NumPy makes when a Python int
// meets an integer type.
#include <cmath>

#include "cpython/numpy_api.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/nesting.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {
namespace {

constexpr size_t kMaxLiteral = 32;  ///< elements of a nested sequence that become an array

struct Limits {
  int64_t lo, hi;
};

/// Range of a type as far as int64 can say it.
Limits limitsOf(DType d) {
  int bits = graph::itemSize(d) * 8;
  if (d == DType::kBool) return {0, 1};
  if (graph::isSigned(d))
    return {bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1)),
            bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1};
  return {0, bits == 64 ? INT64_MAX : (int64_t{1} << bits) - 1};
}

/// Counts no further than to one more than `most`.
size_t countLeaves(Trace& trace, Value* value, size_t most) {
  const Nesting nesting(trace);
  auto items = sequenceItems(trace, value);
  if (!items) return 1;
  size_t n = 0;
  for (size_t i = 0; i < items->size() && n <= most; ++i) n += countLeaves(trace, (*items)[i], most - n);
  return n;
}

/// np.array(sequence): leaves are scalars or arrays of one shape; types are promoted, Python scalars are not weak here.
ValueId stackSequence(Trace& trace, const std::vector<Value*>& items) {
  graph::Graph& g = trace.graph();
  if (items.empty()) return g.full(g.constant(Scalar::zero(DType::kF64)), {trace.syms().constant(0)});
  std::vector<ValueId> nodes;
  for (Value* item : items) nodes.push_back(asArray(trace, item));
  DType dtype = g.type(nodes[0]).dtype;
  for (ValueId node : nodes) dtype = graph::promote(dtype, g.type(node).dtype);
  for (ValueId node : nodes) {
    if (g.type(node).rank() != g.type(nodes[0]).rank()) unsupported("an array made of a ragged sequence");
    for (int i = 0; i < g.type(node).rank(); ++i) {
      if (!sameSize(trace, shapeOf(trace, node)[i], shapeOf(trace, nodes[0])[i])) {
        unsupported("an array made of a ragged sequence");
      }
    }
  }
  for (ValueId& node : nodes) {
    // Joins of mixed layouts may choose another axis order; np.array always answers C order.
    node = g.expand(g.cast(node, dtype), {0});
  }
  Attrs attrs;
  attrs.set(AttrKey::kAxis, int64_t{0});
  ValueId joined = orBreak(g.add(Op::kConcatenate, nodes, attrs));
  return g.type(joined).layout.isCOrder() ? joined : copyAs(trace, joined, graph::Layout::c(g.type(joined).rank()));
}

}  // namespace

ValueId asArray(Trace& trace, Value* value) {
  if (isLongList(value)) return LongList{trace, value}.array();
  if (PooledList::is(value)) return asArray(trace, PooledList{trace, value}.copy());
  if (auto items = sequenceItems(trace, value)) {
    if (countLeaves(trace, value, kMaxLiteral) > kMaxLiteral) {
      LongList::standOutside(trace, value);
      unsupported("an array made of a long sequence");
    }
    return stackSequence(trace, *items);
  }
  return trace.operand(value).value;
}

graph::OperandType operandType(Trace& trace, const graph::UfuncOperand& operand) {
  return {trace.graph().type(operand.value).dtype, operand.weak};
}

bool isScalar(Value* value) { return value->kind != ValueKind::kArray && (value->isNumeric() || value->isConstant()); }

ValueId scalarNode(Trace& trace, DType dtype, double value) {
  if (dtype == DType::kBool) return trace.graph().constant(Scalar::ofBool(value != 0));
  if (graph::isInteger(dtype)) return trace.graph().constant(Scalar::ofInt(dtype, static_cast<int64_t>(value)));
  if (graph::isComplex(dtype)) return trace.graph().constant(Scalar::ofComplex(dtype, value));
  return trace.graph().constant(Scalar::ofDouble(dtype, value));
}

bool intFits(Trace& trace, Value* value, DType dtype) {
  if (!graph::isInteger(dtype)) return true;
  Limits limits = limitsOf(dtype);
  if (value->kind == ValueKind::kPyInt) return trace.ensureWithin(value->sym, limits.lo, limits.hi);
  if (value->kind == ValueKind::kDataInt) {
    (void)DataInts{trace}.within(value, {limits.lo, limits.hi});
    return true;
  }
  graph::UfuncOperand operand = trace.operand(value);
  if (operand.weak != Weak::kInt) return true;
  int64_t v = trace.graph().node(operand.value).attrs.scalar(AttrKey::kValue).asInt();
  return v >= limits.lo && v <= limits.hi;
}

ValueId castOperand(Trace& trace, Value* value, DType dtype) {
  graph::UfuncOperand operand = trace.operand(value);
  if (operand.weak == Weak::kInt && !intFits(trace, value, dtype)) {
    raises("OverflowError: Python integer out of bounds for " + std::string(graph::name(dtype)));
  }
  const graph::Node& node = trace.graph().node(operand.value);
  if (operand.weak == Weak::kFloat && node.op == Op::kConstant && graph::isInexact(dtype)) {
    double v = node.attrs.scalar(AttrKey::kValue).asDouble();
    if (std::isfinite(v) && !std::isfinite(Scalar::ofDouble(graph::realOf(dtype), v).asDouble())) {
      unsupported("a Python float that overflows " + std::string(graph::name(dtype)));
    }
  }
  return trace.graph().cast(operand.value, dtype);
}

}  // namespace fw::capture::numpy
