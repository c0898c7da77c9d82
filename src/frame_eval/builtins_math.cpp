// Functions of `math`. Numbers that are known before the compiled code runs are CPython's to compute; those of array
// data are computed in the graph, by the functions that NumPy's names stand for. Where Python raises for an operand,
// the call fails, so that Python does it.
#include <numbers>

#include "absl/container/flat_hash_map.h"
#include "frame_eval/builtins.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"

namespace fw::capture {

using graph::DType;
using graph::Op;
using graph::ValueId;

namespace {

/// For which operands Python answers a number. Everywhere else it raises ValueError or OverflowError.
enum class MathDomain : uint8_t {
  kAny,
  kNotNegative,    ///< x >= 0; NaN
  kPositive,       ///< x > 0; NaN
  kAboveMinusOne,  ///< x > -1; NaN
  kWithinOne,      ///< |x| <= 1; NaN
  kNotInfinite,
  kFiniteResult,  ///< the result of finite operands is finite
  kNumberResult,  ///< that of numbers is a number
};

enum class MathAnswer : uint8_t { kFloat, kInt, kBool };

struct MathFunction {
  const char* name;
  Op op;
  MathDomain domain;
  MathAnswer answer;
  double factor = 0;  ///< of a product
};

const MathFunction* find(std::string_view name) {
  static const MathFunction kRows[] = {
#define FW_MATH(name, op, domain) {name, Op::k##op, MathDomain::domain, MathAnswer::kFloat},
#define FW_MATH_TIMES(name, factor) {name, Op::kMultiply, MathDomain::kAny, MathAnswer::kFloat, factor},
#define FW_MATH_WHOLE(name, op) {name, Op::k##op, MathDomain::kAny, MathAnswer::kInt},
#define FW_MATH_TEST(name, op) {name, Op::k##op, MathDomain::kAny, MathAnswer::kBool},
#include "frame_eval/math_functions.def"
  };
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<std::string_view, const MathFunction*>;
    for (const MathFunction& row : kRows) map->emplace(row.name, &row);
    return map;
  }();
  auto it = kByName->find(name);
  return it == kByName->end() ? nullptr : it->second;
}

/// Fails the call where Python raises for what it is given.
void requireOperand(Trace& trace, MathDomain domain, ValueId x) {
  graph::Graph& g = trace.graph();
  const auto number = [&](double v) { return g.constant(graph::Scalar::ofDouble(DType::kF64, v)); };
  // Comparisons with NaN are false.
  const auto refuse = [&](ValueId condition) {
    DataInts{trace}.require(g.unary(Op::kLogicalNot, condition), PyExc_ValueError);
  };
  switch (domain) {
    case MathDomain::kNotNegative: return refuse(g.binary(Op::kLess, x, number(0)));
    case MathDomain::kPositive: return refuse(g.binary(Op::kLessEqual, x, number(0)));
    case MathDomain::kAboveMinusOne: return refuse(g.binary(Op::kLessEqual, x, number(-1)));
    case MathDomain::kWithinOne: return refuse(g.binary(Op::kLess, number(1), g.unary(Op::kAbsolute, x)));
    case MathDomain::kNotInfinite: return refuse(g.unary(Op::kIsinf, x));
    case MathDomain::kAny:
    case MathDomain::kFiniteResult:
    case MathDomain::kNumberResult: return;
  }
}

/// The same for what would come out.
void requireResult(Trace& trace, MathDomain domain, const std::vector<ValueId>& operands, ValueId result) {
  graph::Graph& g = trace.graph();
  DataInts checks{trace};
  if (domain == MathDomain::kFiniteResult) {
    ValueId fine = g.unary(Op::kIsfinite, result);
    for (ValueId operand : operands)
      fine = g.binary(Op::kLogicalOr, fine, g.unary(Op::kLogicalNot, g.unary(Op::kIsfinite, operand)));
    // Powers of zero raise something else.
    operands.size() == 1 ? checks.require(fine, PyExc_OverflowError) : checks.require(fine);
  }
  if (domain == MathDomain::kNumberResult) {
    const auto isNumber = [&](ValueId v) { return g.binary(Op::kEqual, v, v); };
    const ValueId numbers = g.binary(Op::kLogicalAnd, isNumber(operands[0]), isNumber(operands[1]));
    const ValueId fails = g.binary(Op::kLogicalAnd, numbers, g.unary(Op::kLogicalNot, isNumber(result)));
    checks.require(g.unary(Op::kLogicalNot, fails), PyExc_ValueError);
  }
}

}  // namespace

/// pow(x, y) of floats as `x ** y` and math.pow() compute it.
Value* floatPower(Trace& trace, ValueId base, ValueId exponent) {
  const ValueId result = trace.graph().binary(Op::kPower, base, exponent);
  requireResult(trace, MathDomain::kFiniteResult, {base, exponent}, result);
  return trace.number(ValueKind::kPyFloat, result);
}

Value* Builtins::callMath(const CallArgs& args) {
  if (!args.keywords.empty()) return callPure(args);
  if (Value* result = trace.numbers().apply(callable, args.positional)) return result;
  const MathFunction* function = find(std::string_view(name).substr(std::string_view("math.").size()));
  const auto isData = [](Value* v) { return v->isNumeric() && !v->isConstant(); };
  const bool data = std::any_of(args.positional.begin(), args.positional.end(), isData);
  if (!function || !data || trace.onDevice()) return callPure(args);
  const bool product = function->factor != 0;
  const size_t arity = product ? 1 : static_cast<size_t>(graph::info(function->op).arity);
  if (args.positional.size() != arity) return callPure(args);
  std::vector<ValueId> operands;
  for (Value* v : args.positional) {
    if (function->answer == MathAnswer::kInt && DataInts::isInt(v)) return callInt(args);
    if (isNumpyValue(v)) {
      const graph::ValueType& type = trace.graph().type(v->node);
      if (type.rank() != 0 || graph::isComplex(type.dtype)) return callPure(args);
      operands.push_back(trace.graph().cast(v->node, DType::kF64));
    } else if (v->kind == ValueKind::kPyFloat || DataInts::isInt(v) || isConstantOf(v, &PyFloat_Type)) {
      operands.push_back(interpreter.asFloat(v));
    } else {
      return callPure(args);
    }
  }
  graph::Graph& g = trace.graph();
  if (product) operands.push_back(g.constant(graph::Scalar::ofDouble(DType::kF64, function->factor)));
  requireOperand(trace, function->domain, operands[0]);
  const graph::ErrorRules errors = g.errors();
  if (trace.branches.raising && trace.branches.raising->forks)
    g.setErrors({graph::ErrorRules::kAll, 0});  // it stands in front of the branch
  const ValueId result =
      operands.size() == 1 ? g.unary(function->op, operands[0]) : g.binary(function->op, operands[0], operands[1]);
  g.setErrors(errors);
  requireResult(trace, function->domain, operands, result);
  switch (function->answer) {
    case MathAnswer::kFloat: break;
    case MathAnswer::kInt: return DataInts{trace}.fromNumber(result);
    case MathAnswer::kBool: return trace.number(ValueKind::kPyBool, result);
  }
  return trace.number(ValueKind::kPyFloat, result);
}

}  // namespace fw::capture
