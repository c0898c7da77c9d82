// NumPy's choice of inner loops. NumPy searches the list of loops of a ufunc for the first one that all operands can
// be cast to safely; the lists of one Loops class are alike, so that the search comes down to a rule per class. The
// rules are checked against NumPy's own answers for every row and all element types (tests/graph/core/types.golden).
#include "graph/numpy_types.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "graph/infer.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

absl::Status noLoop(Op op) {
  return absl::InvalidArgumentError("ufunc '" + std::string(info(op).text) + "' not supported for the input types");
}

bool anyStrong(absl::Span<const OperandType> operands, bool (*test)(DType)) {
  return std::any_of(operands.begin(), operands.end(),
                     [&](const OperandType& o) { return o.weak == Weak::kNo && test(o.dtype); });
}

/// Smallest of f16, f32, f64 that every operand fits in; c64 and c128 if one is complex. A weak scalar has no say
/// beside an operand of its kind or above.
DType smallestInexact(absl::Span<const OperandType> operands) {
  bool strongNumber = anyStrong(operands, [](DType d) { return d != DType::kBool; });
  bool strongInexact = anyStrong(operands, isInexact);
  DType result = DType::kF16;
  for (const OperandType& o : operands) {
    DType d = o.dtype;
    switch (o.weak) {
      case Weak::kNo: break;
      case Weak::kInt:
        if (strongNumber) continue;
        d = DType::kF64;
        break;
      case Weak::kFloat:
        if (strongInexact) continue;
        d = DType::kF64;
        break;
      case Weak::kComplex: d = strongInexact ? DType::kC64 : DType::kC128; break;
    }
    result = promote(result, d);
  }
  return result;
}

UfuncSignature sameInputs(Op op, size_t count, DType loop) {
  UfuncSignature s;
  s.inputs.assign(count, loop);
  s.output = loop;
  if (info(op).result == ResultType::kBool) s.output = DType::kBool;
  if (info(op).result == ResultType::kReal) s.output = realOf(loop);
  return s;
}

absl::StatusOr<UfuncSignature> resolveCompare(Op op, absl::Span<const OperandType> operands, DType common) {
  auto strong = [&](DType d) {
    return std::any_of(operands.begin(), operands.end(),
                       [d](const OperandType& o) { return o.weak == Weak::kNo && o.dtype == d; });
  };
  if (strong(DType::kU64) && anyStrong(operands, isSigned)) {
    return absl::UnimplementedError("comparison of u64 with signed integers");
  }
  bool allWeakInts =
      std::all_of(operands.begin(), operands.end(), [](const OperandType& o) { return o.weak == Weak::kInt; });
  if (allWeakInts) return absl::UnimplementedError("comparison of Python integers as objects");
  return sameInputs(op, operands.size(), common);
}

absl::StatusOr<UfuncSignature> resolveLogical(Op op, absl::Span<const OperandType> operands) {
  if (operands.size() == 1) return sameInputs(op, 1, operands[0].dtype);
  bool same = std::all_of(operands.begin(), operands.end(),
                          [&](const OperandType& o) { return o.weak == Weak::kNo && o.dtype == operands[0].dtype; });
  return sameInputs(op, operands.size(), same ? operands[0].dtype : DType::kBool);
}

/// Functions that are no ufuncs but convert their operands as if they were.
absl::StatusOr<UfuncSignature> resolveNonUfunc(Op op, absl::Span<const OperandType> operands) {
  if (op == Op::kWhere) {
    DType common = resultType(&operands[1], 2);
    return UfuncSignature{{DType::kBool, common, common}, common};
  }
  if (op == Op::kReal || op == Op::kImag) return UfuncSignature{{operands[0].dtype}, realOf(operands[0].dtype)};
  if (op == Op::kComplex) return UfuncSignature{{DType::kF64, DType::kF64}, DType::kC128};
  if (op == Op::kAngle) {
    if (isComplex(operands[0].dtype)) return UfuncSignature{{operands[0].dtype}, realOf(operands[0].dtype)};
    OperandType asArctan2[] = {{DType::kI64, Weak::kInt}, operands[0]};  // np.angle(x) is arctan2(0, x)
    DType d = smallestInexact(asArctan2);
    return UfuncSignature{{d}, d};
  }
  return absl::InternalError(std::string(info(op).text) + " has no type resolution");
}

}  // namespace

absl::StatusOr<UfuncSignature> resolveUfunc(Op op, absl::Span<const OperandType> operands) {
  FW_CHECK(info(op).cls == OpClass::kElementwise && static_cast<int>(operands.size()) == info(op).arity);
  if (info(op).loops == Loops::kNone) return resolveNonUfunc(op, operands);
  DType common = resultType(operands.data(), static_cast<int>(operands.size()));
  auto loop = [&](DType d) { return sameInputs(op, operands.size(), d); };
  switch (info(op).loops) {
    case Loops::kNone: FW_UNREACHABLE();
    case Loops::kNumber: return loop(common);
    case Loops::kNumberNoBool:
      if (common == DType::kBool) return noLoop(op);
      return loop(common);
    case Loops::kBitwise:
      if (isInexact(common)) return noLoop(op);
      return loop(common);
    case Loops::kShift:
      if (isInexact(common)) return noLoop(op);
      return loop(common == DType::kBool ? DType::kI8 : common);
    case Loops::kInexact: return loop(smallestInexact(operands));
    case Loops::kFloat:
      if (isComplex(common)) return noLoop(op);
      return loop(smallestInexact(operands));
    case Loops::kDivide: return loop(isInexact(common) ? common : DType::kF64);
    case Loops::kReal:
      if (isComplex(common)) return noLoop(op);
      return loop(common == DType::kBool ? DType::kI8 : common);
    case Loops::kCompare: return resolveCompare(op, operands, common);
    case Loops::kLogical: return resolveLogical(op, operands);
    case Loops::kPredicate: return loop(common);
    case Loops::kPower: return loop(common == DType::kBool ? DType::kI8 : common);
    case Loops::kRound:
      if (isComplex(common)) return noLoop(op);
      return loop(common);
  }
  FW_UNREACHABLE();
}

namespace {

absl::StatusOr<ReductionTypes> withRequested(Op op, DType input, DType requested) {
  if (isComplex(input) && !isComplex(requested)) {
    return absl::UnimplementedError("reduction of complex values with a real dtype (NumPy warns)");
  }
  if (op == Op::kSum || op == Op::kProd) return ReductionTypes{requested, requested};
  if (op == Op::kMean || op == Op::kVar || op == Op::kStd) {
    if (!isInexact(requested)) return absl::UnimplementedError("mean with an integer dtype");
    return ReductionTypes{requested, op == Op::kMean ? requested : realOf(requested)};
  }
  // The remaining rows have no dtype parameter in NumPy.
  return absl::UnimplementedError(std::string(info(op).text) + " with dtype=");
}

}  // namespace

absl::StatusOr<ReductionTypes> resolveReduction(Op op, DType input, std::optional<DType> requested) {
  FW_CHECK(info(op).cls == OpClass::kReduction);
  if (requested) return withRequested(op, input, *requested);
  DType widened = input == DType::kBool || isSigned(input) ? DType::kI64 : isInteger(input) ? DType::kU64 : input;
  DType inexact = isInexact(input) ? input : DType::kF64;
  if (op == Op::kSum || op == Op::kProd) return ReductionTypes{widened, widened};
  if (op == Op::kMean) return ReductionTypes{input == DType::kF16 ? DType::kF32 : inexact, inexact};
  // NB: other than mean, var and std of f16 add in f16 (numpy/_core/_methods.py: _var leaves dtype at None).
  if (op == Op::kVar || op == Op::kStd) return ReductionTypes{inexact, realOf(inexact)};
  if (op == Op::kPtp && input == DType::kBool) return noLoop(op);
  switch (info(op).result) {
    case ResultType::kSame: return ReductionTypes{input, input};
    case ResultType::kBool: return ReductionTypes{input, DType::kBool};
    case ResultType::kI64: return ReductionTypes{input, DType::kI64};
    case ResultType::kReal: return ReductionTypes{input, realOf(input)};
    case ResultType::kComplex:
    case ResultType::kSecond:
    case ResultType::kAttr: break;
  }
  FW_UNREACHABLE();
}

namespace {

/// Values of an integer type.
SymRange rangeOf(DType d) {
  if (d == DType::kBool) return {0, 1};
  if (d == DType::kU64) return {0, INT64_MAX};
  int64_t top = INT64_MAX >> (64 - 8 * itemSize(d));
  return isSigned(d) ? SymRange{-top - 1, top} : SymRange{0, 2 * top + 1};
}

bool within(SymRange inner, SymRange outer) { return inner.lo >= outer.lo && inner.hi <= outer.hi; }

/// A Python integer that meets an array of integers must fit its type: NumPy raises OverflowError, or for comparisons
/// answers without converting.
absl::Status checkFits(const Graph& graph, Op op, const Node& node, DType to) {
  SymRange known;
  if (node.op == Op::kConstant) {
    int64_t v = node.attrs.scalar(AttrKey::kValue).asInt();
    known = {v, v};
  } else if (node.op == Op::kSym) {
    known = graph.syms().range(node.attrs.sym(AttrKey::kExpr));
  }
  if (within(known, rangeOf(to))) return absl::OkStatus();
  if (known.lo == known.hi && info(op).loops != Loops::kCompare) {
    return absl::InvalidArgumentError("Python integer " + std::to_string(known.lo) + " out of bounds for " +
                                      std::string(name(to)));
  }
  return absl::UnimplementedError("a Python integer that is not known to fit " + std::string(name(to)));
}

bool overflows(const std::complex<double>& before, const Scalar& after) {
  std::complex<double> v = after.asComplex();
  return (std::isfinite(before.real()) && !std::isfinite(v.real())) ||
         (std::isfinite(before.imag()) && !std::isfinite(v.imag()));
}

/// A weak constant in the loop's type, converted as NumPy converts Python scalars: by way of double.
absl::StatusOr<ValueId> convertConstant(Graph& graph, const Scalar& value, DType to) {
  if (!isInexact(to)) {
    if (to == DType::kBool) return graph.constant(Scalar::ofBool(value.asComplex() != 0.0));
    FW_CHECK(!isInexact(value.dtype));
    return graph.constant(Scalar::ofInt(to, value.asInt()));
  }
  std::complex<double> v = value.asComplex();
  Scalar converted = isComplex(to) ? Scalar::ofComplex(to, v) : Scalar::ofDouble(to, v.real());
  if (overflows(v, converted)) {
    return absl::UnimplementedError("a Python scalar that overflows " + std::string(name(to)));
  }
  return graph.constant(converted);
}

absl::StatusOr<ValueId> convertOperand(Graph& graph, Op op, const UfuncOperand& operand, DType to) {
  const Node& node = graph.node(operand.value);
  DType from = node.type.dtype;
  if (operand.weak == Weak::kNo) return graph.cast(operand.value, to);
  if (operand.weak == Weak::kInt && isInteger(to)) {
    if (absl::Status s = checkFits(graph, op, node, to); !s.ok()) return s;
  }
  if (from == to) return operand.value;
  if (node.op == Op::kConstant) return convertConstant(graph, node.attrs.scalar(AttrKey::kValue), to);
  // NumPy reads a Python integer as a double before it rounds to a smaller type.
  if (operand.weak == Weak::kInt && isInexact(to)) return graph.cast(graph.cast(operand.value, DType::kF64), to);
  return graph.cast(operand.value, to);
}

}  // namespace

absl::StatusOr<ValueId> addUfunc(Graph& graph, Op op, absl::Span<const UfuncOperand> operands) {
  if (static_cast<int>(operands.size()) != info(op).arity) {
    return absl::InvalidArgumentError(std::string(info(op).text) + " takes " + std::to_string(info(op).arity) +
                                      " operands");
  }
  absl::InlinedVector<OperandType, 3> types;
  for (const UfuncOperand& o : operands) types.push_back({graph.type(o.value).dtype, o.weak});
  absl::StatusOr<UfuncSignature> signature = resolveUfunc(op, types);
  if (!signature.ok()) return signature.status();
  absl::InlinedVector<ValueId, 3> converted;
  for (size_t i = 0; i < operands.size(); ++i) {
    absl::StatusOr<ValueId> v = convertOperand(graph, op, operands[i], signature->inputs[i]);
    if (!v.ok()) return v;
    converted.push_back(*v);
  }
  absl::StatusOr<ValueId> result = graph.add(op, converted);
  if (!result.ok() || graph.type(*result).rank() < 2) return result;
  // NumPy orders the result's axes by the operands as they are, not by the converted copies, which exist only in
  // buffers there.
  absl::InlinedVector<LayoutOperand, 3> layouts;
  for (const UfuncOperand& o : operands) {
    const ValueType& t = graph.type(o.value);
    layouts.push_back({&t.layout, unitAxes(graph.syms(), t.shape)});
  }
  ValueType type = graph.type(*result);
  type.layout = ufuncResultLayout(type.rank(), layouts);
  return graph.addTyped(op, converted, std::move(type));
}

}  // namespace fw::graph
