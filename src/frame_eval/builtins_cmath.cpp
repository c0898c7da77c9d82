// Functions of `cmath` of numbers that are computed on the way, by CPython's formulas (cmathmodule.c) for finite
// numbers of the usual size. For others, and where Python raises, the call fails, so that Python does it.
#include <cfloat>

#include "frame_eval/builtins.h"
#include "frame_eval/complex_numbers.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using graph::DType;
using graph::Op;
using graph::ValueId;

namespace {

/// Of one complex number, and what is computed from it in floats.
class Formula {
 public:
  Formula(Builtins& call, const CallArgs& args) : call_(call), args_(args) {}

  /// Python computes it with the call's own numbers, or does not take these.
  Value* ofPython(size_t count) const {
    const std::vector<Value*>& given = args_.positional;
    if (args_.keywords.empty())
      if (Value* result = call_.trace.numbers().apply(call_.callable, given)) return result;
    const auto isKnown = [](Value* v) { return v->isConstant(); };
    const auto isNumber = [](Value* v) {
      return v->kind == ValueKind::kArrayScalar ? !v->which
                                                : ComplexNumbers::is(v) || v->kind == ValueKind::kPyFloat ||
                                                      DataInts::isWhole(v) || isConstantOf(v, &PyFloat_Type);
    };
    const bool known = std::all_of(given.begin(), given.end(), isKnown) || call_.trace.onDevice();
    const bool numbers = given.size() == count && std::all_of(given.begin(), given.end(), isNumber);
    return known || !numbers || !args_.keywords.empty() ? call_.callPure(args_) : nullptr;
  }

  ValueId real(size_t i) const { return part(i, Op::kReal); }
  ValueId imag(size_t i) const { return part(i, Op::kImag); }

  graph::Graph& graph() const { return call_.trace.graph(); }
  ValueId number(double v) const { return graph().constant(graph::Scalar::ofDouble(DType::kF64, v)); }
  ValueId times(ValueId a, ValueId b) const { return graph().binary(Op::kMultiply, a, b); }
  void require(ValueId condition) const { DataInts{call_.trace}.require(condition); }
  void requireFinite(std::initializer_list<ValueId> values) const {
    for (ValueId value : values) require(graph().unary(Op::kIsfinite, value));
  }
  ValueId where(ValueId condition, ValueId yes, ValueId no) const {
    return numpy::ufuncNode(call_.trace, Op::kWhere, {condition, yes, no});
  }
  ValueId length(ValueId real, ValueId imag) const {
    const ValueId length = graph().unary(Op::kAbsolute, graph().binary(Op::kComplex, real, imag));
    requireFinite({length});
    return length;
  }
  Value* complex(ValueId real, ValueId imag) const {
    return ComplexNumbers{call_.interpreter, call_.trace}.make(real, imag);
  }
  Value* real(ValueId node) const { return call_.trace.number(ValueKind::kPyFloat, node); }

 private:
  ValueId part(size_t i, Op op) const {
    Value* value = args_.positional[i];
    if (value->kind == ValueKind::kArrayScalar || ComplexNumbers::is(value))
      return graph().unary(op, graph().cast(call_.trace.operand(value).value, DType::kC128));
    return op == Op::kReal ? call_.interpreter.asFloat(value) : number(0);
  }

  Builtins& call_;
  const CallArgs& args_;
};

}  // namespace

Value* Builtins::callComplexExp(const CallArgs& args) {
  const Formula f(*this, args);
  if (Value* result = f.ofPython(1)) return result;
  constexpr double kLargest = 708;  // of what has a finite exponential
  const ValueId x = f.real(0), y = f.imag(0);
  f.requireFinite({x, y});
  f.require(f.graph().binary(Op::kLess, x, f.number(kLargest)));
  const ValueId length = f.graph().unary(Op::kExp, x);
  return f.complex(f.times(length, f.graph().unary(Op::kCos, y)), f.times(length, f.graph().unary(Op::kSin, y)));
}

Value* Builtins::callComplexSqrt(const CallArgs& args) {
  const Formula f(*this, args);
  if (Value* result = f.ofPython(1)) return result;
  graph::Graph& g = f.graph();
  const ValueId x = f.real(0), y = f.imag(0);
  const ValueId ax = g.unary(Op::kAbsolute, x), ay = g.unary(Op::kAbsolute, y), eighth = f.number(0.125);
  f.requireFinite({x, y});
  f.require(g.binary(Op::kLess, f.number(DBL_MIN), g.binary(Op::kMaximum, ax, ay)));
  const ValueId scaled = f.times(ax, eighth);
  const ValueId sum = g.binary(Op::kAdd, scaled, f.length(scaled, f.times(ay, eighth)));
  const ValueId s = f.times(f.number(2), g.unary(Op::kSqrt, sum));
  const ValueId d = g.binary(Op::kDivide, ay, f.times(f.number(2), s));
  const ValueId positive = g.binary(Op::kGreaterEqual, x, f.number(0));
  const ValueId imag = f.where(positive, d, s);
  return f.complex(f.where(positive, s, d), g.binary(Op::kCopysign, imag, y));
}

Value* Builtins::callComplexPhase(const CallArgs& args) {
  const Formula f(*this, args);
  if (Value* result = f.ofPython(1)) return result;
  const ValueId x = f.real(0), y = f.imag(0);
  f.requireFinite({x, y});
  return f.real(f.graph().binary(Op::kArctan2, y, x));
}

Value* Builtins::callComplexPolar(const CallArgs& args) {
  const Formula f(*this, args);
  if (Value* result = f.ofPython(1)) return result;
  const ValueId x = f.real(0), y = f.imag(0);
  f.requireFinite({x, y});
  return trace.tuple({f.real(f.length(x, y)), f.real(f.graph().binary(Op::kArctan2, y, x))});
}

Value* Builtins::callComplexRect(const CallArgs& args) {
  const Formula f(*this, args);
  const auto isComplex = [&](Value* v) {
    const bool scalar = v->kind == ValueKind::kArrayScalar && graph::isComplex(trace.graph().type(v->node).dtype);
    return scalar || ComplexNumbers::is(v);
  };
  if (std::any_of(args.positional.begin(), args.positional.end(), isComplex)) return callPure(args);
  if (Value* result = f.ofPython(2)) return result;
  const ValueId length = f.real(0), angle = f.real(1);
  f.requireFinite({length, angle});
  return f.complex(f.times(length, f.graph().unary(Op::kCos, angle)),
                   f.times(length, f.graph().unary(Op::kSin, angle)));
}

}  // namespace fw::capture
