// Rewrites rows whose lowering is Decompose into rows that have one, step by step as NumPy computes them, so that every
// rounding happens where NumPy rounds. Sources: numpy/_core/_methods.py for mean, var, std, ptp;
// numpy/_core/src/umath/clip.cpp and loops for the rest, by their observed results.
//
// - A division by a count goes through the promoted type of array and intp: f32 sums are divided as f64 and rounded
// back.
// - Whether a reduction answers a NumPy scalar or an array shows in one place: the mean of f16 as a scalar rounds f64
// to f16
//   directly, as an array by way of f32.
// - `buffered` on mean, var and std says that NumPy converts inside the first sum (pairwise_order.h, rule 10).
#include <cmath>

#include "graph/cast_inside.h"
#include "graph/passes/pass_manager.h"
#include "graph/passes/rewriter.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

/// sum {axes, keepdims, buffered}(value).
ValueId sumOf(Graph& g, ValueId value, const IntList& axes, bool keepdims, bool buffered) {
  Attrs attrs;
  attrs.set(AttrKey::kAxes, axes).set(AttrKey::kKeepdims, int64_t{keepdims});
  if (buffered) attrs.set(AttrKey::kBuffered, int64_t{1});
  absl::StatusOr<ValueId> sum = g.add(Op::kSum, {value}, std::move(attrs));
  FW_CHECK_MSG(sum.ok(), std::string(sum.status().message()));
  return *sum;
}

/// Number of elements along axes, as i64.
SymId countOf(Graph& g, ValueId value, const IntList& axes) {
  SymShape sizes;
  for (int64_t axis : axes) sizes.push_back(g.type(value).shape[axis]);
  return g.syms().product(sizes);
}

/// true_divide(value, count, out=value, casting="unsafe"): computed in the promoted type, then rounded.
ValueId divideByCount(Graph& g, ValueId value, SymId count, DType result) {
  const DType wide = isComplex(g.type(value).dtype) ? DType::kC128 : DType::kF64;
  const ValueId dividend = g.cast(value, wide);
  return g.cast(g.binary(Op::kDivide, dividend, g.cast(g.sym(count), wide)), result);
}

struct Reduction {
  IntList axes;
  bool keepdims;
  bool buffered;
  bool answersScalar;
};

Reduction reductionOf(const Node& node) {
  Reduction r;
  r.axes = node.attrs.ints(AttrKey::kAxes);
  r.keepdims = node.attrs.integerOr(AttrKey::kKeepdims, 0) != 0;
  r.buffered = node.attrs.integerOr(AttrKey::kBuffered, 0) != 0;
  r.answersScalar = node.type.rank() == 0;
  return r;
}

ValueId mean(Graph& g, const Reduction& r, ValueId x) {
  const DType dtype = g.type(x).dtype;
  const SymId count = countOf(g, x, r.axes);
  if (dtype != DType::kF16) return divideByCount(g, sumOf(g, x, r.axes, r.keepdims, r.buffered), count, dtype);
  const ValueId sum = sumOf(g, castInside(g, x, DType::kF32), r.axes, r.keepdims, true);
  if (r.answersScalar) return divideByCount(g, sum, count, DType::kF16);
  return g.cast(divideByCount(g, sum, count, DType::kF32), DType::kF16);
}

ValueId var(Graph& g, const Reduction& r, ValueId x, SymId ddof) {
  const DType dtype = g.type(x).dtype;
  const SymId count = countOf(g, x, r.axes);
  const ValueId average = divideByCount(g, sumOf(g, x, r.axes, true, r.buffered), count, dtype);
  const ValueId away = g.binary(Op::kSubtract, x, average);
  ValueId square;
  if (isComplex(dtype)) {
    const ValueId re = g.unary(Op::kReal, away), im = g.unary(Op::kImag, away);
    const ValueId re2 = g.binary(Op::kMultiply, re, re), im2 = g.binary(Op::kMultiply, im, im);
    square = g.binary(Op::kAdd, re2, im2);
  } else {
    square = g.binary(Op::kMultiply, away, away);
  }
  SymContext& syms = g.syms();
  const SymId degrees = syms.max(syms.sub(count, ddof), syms.constant(0));
  return divideByCount(g, sumOf(g, square, r.axes, r.keepdims, false), degrees, realOf(dtype));
}

/// The first of two equal values stays, so that clip(-0.0, 0.0, 1.0) is -0.0; a NaN bound makes everything NaN.
ValueId clipSide(Graph& g, Op beyond, ValueId x, ValueId bound) {
  ValueId take = g.binary(beyond, x, bound);
  const Node& node = g.node(bound);
  const bool known = node.op == Op::kConstant && !std::isnan(node.attrs.scalar(AttrKey::kValue).asDouble());
  if (isFloat(g.type(x).dtype) && !known) {
    const ValueId nan = g.unary(Op::kIsnan, bound);
    take = g.binary(Op::kLogicalOr, take, nan);
  }
  absl::StatusOr<ValueId> result = g.add(Op::kWhere, {take, bound, x});
  FW_CHECK_MSG(result.ok(), std::string(result.status().message()));
  return *result;
}

using Inputs = absl::Span<const ValueId>;

/// The rows that are decomposed, one specialisation each. A row without one does not compile.
template <Op op>
absl::StatusOr<ValueId> expand(Graph& g, const Node& node, Inputs in) = delete;

template <>
absl::StatusOr<ValueId> expand<Op::kPositive>(Graph& g, const Node& node, Inputs in) {
  return g.addTyped(Op::kCopy, {in[0]}, node.type);
}

template <>
absl::StatusOr<ValueId> expand<Op::kSquare>(Graph& g, const Node&, Inputs in) {
  return g.binary(Op::kMultiply, in[0], in[0]);
}

template <>
absl::StatusOr<ValueId> expand<Op::kReciprocal>(Graph& g, const Node&, Inputs in) {
  const DType dtype = g.type(in[0]).dtype;
  if (isComplex(dtype)) return absl::UnimplementedError("reciprocal of complex numbers is not 1/x in NumPy");
  if (isFloat(dtype)) return g.binary(Op::kDivide, g.constant(Scalar::one(dtype)), in[0]);
  return g.cast(g.binary(Op::kDivide, g.constant(Scalar::one(DType::kF64)), castInside(g, in[0], DType::kF64)), dtype);
}

template <>
absl::StatusOr<ValueId> expand<Op::kClip>(Graph& g, const Node&, Inputs in) {
  if (isComplex(g.type(in[0]).dtype)) return absl::UnimplementedError("clip of complex numbers");
  return clipSide(g, Op::kGreater, clipSide(g, Op::kLess, in[0], in[1]), in[2]);
}

template <>
absl::StatusOr<ValueId> expand<Op::kMean>(Graph& g, const Node& node, Inputs in) {
  return mean(g, reductionOf(node), in[0]);
}

template <>
absl::StatusOr<ValueId> expand<Op::kVar>(Graph& g, const Node& node, Inputs in) {
  const SymId ddof = node.attrs.has(AttrKey::kDdof) ? node.attrs.sym(AttrKey::kDdof) : g.syms().constant(0);
  return var(g, reductionOf(node), in[0], ddof);
}

template <>
absl::StatusOr<ValueId> expand<Op::kStd>(Graph& g, const Node& node, Inputs in) {
  return g.unary(Op::kSqrt, *expand<Op::kVar>(g, node, in));
}

template <>
absl::StatusOr<ValueId> expand<Op::kCountNonzero>(Graph& g, const Node& node, Inputs in) {
  const DType dtype = g.type(in[0]).dtype;
  const ValueId nonzero =
      dtype == DType::kBool ? in[0] : g.binary(Op::kNotEqual, in[0], g.constant(Scalar::zero(dtype)));
  const Reduction r = reductionOf(node);
  return sumOf(g, castInside(g, nonzero, DType::kI64), r.axes, r.keepdims, false);
}

template <>
absl::StatusOr<ValueId> expand<Op::kPtp>(Graph& g, const Node& node, Inputs in) {
  const Reduction r = reductionOf(node);
  const ValueId most = g.reduce(Op::kMax, in[0], r.axes, r.keepdims);
  return g.binary(Op::kSubtract, most, g.reduce(Op::kMin, in[0], r.axes, r.keepdims));
}

using Expand = absl::StatusOr<ValueId> (*)(Graph&, const Node&, Inputs);

template <Op op, bool decomposes>
constexpr Expand expansion() {
  if constexpr (decomposes)
    return &expand<op>;
  else
    return nullptr;
}

/// Null for rows that have a lowering.
constexpr Expand kExpansions[] = {
#define FW_OP(Id, text, arity, cls, loops, result, numpy, cpu, contract, raises, cost) \
  expansion<Op::k##Id, std::string_view(#cpu) == "Decompose">(),
#include "graph/ops/all.def"
};

}  // namespace

absl::Status decompose(Graph& graph, const PassContext& context) {
  if (absl::Status s = forEachRegion(graph, [&](Graph& g) { return decompose(g, context); }); !s.ok()) return s;
  return rewrite(graph, [](Rewriter& rw, ValueId id) -> absl::Status {
    const Node& node = rw.in().node(id);
    const Expand expand = kExpansions[static_cast<size_t>(node.op)];
    if (!expand) {
      rw.copyNode(id);
      return absl::OkStatus();
    }
    absl::InlinedVector<ValueId, 3> operands;
    for (ValueId operand : node.operands) operands.push_back(rw.map(operand));
    absl::StatusOr<ValueId> now = expand(rw.out(), node, operands);
    if (!now.ok()) return now.status();
    const ValueType& type = rw.out().type(*now);
    FW_CHECK_MSG(type.dtype == node.type.dtype && type.rank() == node.type.rank(),
                 "decomposition of " + std::string(info(node.op).text) + " changes the type");
    // An elementwise result has the layout that NumPy's had, which does not follow from the converted operands.
    const Node& made = rw.out().node(*now);
    if (info(made.op).cls == OpClass::kElementwise && !(made.type.layout == node.type.layout)) {
      ValueType own = made.type;
      own.layout = node.type.layout;
      const absl::InlinedVector<ValueId, 3> of(made.operands.begin(), made.operands.end());
      now = rw.out().addTyped(made.op, of, std::move(own), Attrs(made.attrs));
    }
    rw.set(id, *now);
    return absl::OkStatus();
  });
}

}  // namespace fw::graph
