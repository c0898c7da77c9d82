// Scalar semantics of the kernel IR, one template per class of operation. This is the definition; the code generators
// are tested against it. Out-of-range conversions use the hardware's instructions, because that is what NumPy's C loops
// compile to on x86-64.
#include "kernels/scalar_eval.h"

#include <immintrin.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "graph/support/bits.h"
#include "graph/support/check.h"

namespace fw::kernels {
namespace {

/// Calls f with a value of the C++ type of d. Bool is uint8_t here (0 or 1).
template <class F>
uint64_t withType(DType d, F f) {
  switch (d) {
    case DType::kBool: return f(uint8_t{});
    case DType::kI8: return f(int8_t{});
    case DType::kU8: return f(uint8_t{});
    case DType::kI16: return f(int16_t{});
    case DType::kU16: return f(uint16_t{});
    case DType::kI32: return f(int32_t{});
    case DType::kU32: return f(uint32_t{});
    case DType::kI64: return f(int64_t{});
    case DType::kU64: return f(uint64_t{});
    case DType::kF32: return f(float{});
    case DType::kF64: return f(double{});
    case DType::kF16:
    case DType::kC64:
    case DType::kC128: break;
  }
  FW_CHECK_MSG(false, "scalar operation on " + std::string(graph::name(d)));
  return 0;
}

template <class From>
int32_t convert32(From x) {
  if constexpr (std::is_same_v<From, float>)
    return _mm_cvttss_si32(_mm_set_ss(x));
  else
    return _mm_cvttsd_si32(_mm_set_sd(x));
}
template <class From>
int64_t convert64(From x) {
  if constexpr (std::is_same_v<From, float>)
    return _mm_cvttss_si64(_mm_set_ss(x));
  else
    return _mm_cvttsd_si64(_mm_set_sd(x));
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      const From limit = static_cast<From>(9223372036854775808.0);
      if (x >= limit) return static_cast<uint64_t>(convert64<From>(x - limit)) ^ (uint64_t{1} << 63);
      return static_cast<uint64_t>(convert64<From>(x));
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
      return static_cast<To>(convert64<From>(x));
    } else {
      return static_cast<To>(convert32<From>(x));
    }
  } else {
    return static_cast<To>(x);
  }
}

uint64_t evalCast(DType from, DType to, uint64_t bits) {
  if (from == DType::kF16) {
    FW_CHECK(to == DType::kF32);
    return bitsOf(halfToFloat(static_cast<uint16_t>(bits)));
  }
  if (to == DType::kF16) {
    FW_CHECK(from == DType::kF32);
    return floatToHalf(fromBits<float>(bits));
  }
  FW_CHECK(to != DType::kBool);
  return withType(from, [&](auto f) {
    using From = decltype(f);
    const From x = fromBits<From>(bits);
    return withType(to, [&](auto t) { return bitsOf(convert<decltype(t)>(x)); });
  });
}

template <class T>
T scaleB(T x, T n) {
  // Any n of x's type: far outside the exponent range it saturates. scalbn handles subnormal results with one rounding.
  const T limit = std::is_same_v<T, float> ? T(600) : T(5000);
  if (std::isnan(n)) return x + n;
  const int i = n > limit ? int(limit) : n < -limit ? -int(limit) : int(n);
  return std::scalbn(x, i);
}

template <class T>
uint64_t evalFloat(ScalarOp op, const uint64_t* v) {
  const T a = fromBits<T>(v[0]);
  const auto b = [&] { return fromBits<T>(v[1]); };
  switch (op) {
    case ScalarOp::kAdd: return bitsOf<T>(a + b());
    case ScalarOp::kSub: return bitsOf<T>(a - b());
    case ScalarOp::kMul: return bitsOf<T>(a * b());
    case ScalarOp::kDiv: return bitsOf<T>(a / b());
    case ScalarOp::kFma: return bitsOf<T>(std::fma(a, b(), fromBits<T>(v[2])));
    case ScalarOp::kNeg: return bitsOf<T>(-a);
    case ScalarOp::kAbs: return bitsOf<T>(std::fabs(a));
    case ScalarOp::kSqrt: return bitsOf<T>(std::sqrt(a));
    case ScalarOp::kFloor: return bitsOf<T>(std::floor(a));
    case ScalarOp::kCeil: return bitsOf<T>(std::ceil(a));
    case ScalarOp::kTrunc: return bitsOf<T>(std::trunc(a));
    case ScalarOp::kRint: return bitsOf<T>(std::nearbyint(a));
    case ScalarOp::kCopySign: return bitsOf<T>(std::copysign(a, b()));
    case ScalarOp::kMinSecond: return bitsOf<T>(std::isless(a, b()) ? a : b());
    case ScalarOp::kMaxSecond: return bitsOf<T>(std::isgreater(a, b()) ? a : b());
    case ScalarOp::kEq: return a == b();
    case ScalarOp::kNe: return a != b();
    case ScalarOp::kLt: return std::isless(a, b());
    case ScalarOp::kLe: return std::islessequal(a, b());
    case ScalarOp::kGt: return std::isgreater(a, b());
    case ScalarOp::kGe: return std::isgreaterequal(a, b());
    case ScalarOp::kIsNan: return std::isnan(a);
    case ScalarOp::kScaleB: return bitsOf<T>(scaleB<T>(a, b()));
    case ScalarOp::kConst:
    case ScalarOp::kParam:
    case ScalarOp::kAxis:
    case ScalarOp::kLoad:
    case ScalarOp::kLoadAt:
    case ScalarOp::kReduceResult:
    case ScalarOp::kRem:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
    case ScalarOp::kNot:
    case ScalarOp::kShl:
    case ScalarOp::kShrLogical:
    case ScalarOp::kShrArith:
    case ScalarOp::kSelect:
    case ScalarOp::kCast:
    case ScalarOp::kBitcast:
    case ScalarOp::kCallLibm:
    case ScalarOp::kCallMath:
    case ScalarOp::kRaiseIf: break;
  }
  FW_CHECK_MSG(false, "no float operation: " + std::string(name(op)));
  return 0;
}

/// Integers and bool (T = uint8_t with isBool).
template <class T>
uint64_t evalInt(ScalarOp op, bool isBool, const uint64_t* v) {
  using U = std::make_unsigned_t<T>;
  const T a = fromBits<T>(v[0]);
  const auto b = [&] { return fromBits<T>(v[1]); };
  const auto wrap = [](uint64_t x) { return bitsOf<U>(static_cast<U>(x)); };
  const auto u = [](T x) { return static_cast<uint64_t>(static_cast<U>(x)); };
  const auto count = [&] {
    FW_CHECK_MSG(u(b()) < sizeof(T) * 8, "shift count out of range");
    return u(b());
  };
  switch (op) {
    case ScalarOp::kAdd: return wrap(u(a) + u(b()));
    case ScalarOp::kSub: return wrap(u(a) - u(b()));
    case ScalarOp::kMul: return wrap(u(a) * u(b()));
    case ScalarOp::kDiv:
    case ScalarOp::kRem: {
      FW_CHECK_MSG(b() != 0, "integer division by zero");
      if constexpr (std::is_signed_v<T>)
        FW_CHECK_MSG(!(a == std::numeric_limits<T>::min() && b() == -1), "integer division overflows");
      return bitsOf<T>(static_cast<T>(op == ScalarOp::kDiv ? a / b() : a % b()));
    }
    case ScalarOp::kNeg: return wrap(0 - u(a));
    case ScalarOp::kAbs: return a < 0 ? wrap(0 - u(a)) : bitsOf<T>(a);
    case ScalarOp::kMinSecond: return bitsOf<T>(a < b() ? a : b());
    case ScalarOp::kMaxSecond: return bitsOf<T>(a > b() ? a : b());
    case ScalarOp::kAnd: return wrap(u(a) & u(b()));
    case ScalarOp::kOr: return wrap(u(a) | u(b()));
    case ScalarOp::kXor: return wrap(u(a) ^ u(b()));
    case ScalarOp::kNot: return isBool ? !a : wrap(~u(a));
    case ScalarOp::kShl: return wrap(u(a) << count());
    case ScalarOp::kShrLogical: return wrap(u(a) >> count());
    case ScalarOp::kShrArith: return bitsOf<T>(static_cast<T>(static_cast<std::make_signed_t<T>>(a) >> count()));
    case ScalarOp::kEq: return a == b();
    case ScalarOp::kNe: return a != b();
    case ScalarOp::kLt: return a < b();
    case ScalarOp::kLe: return a <= b();
    case ScalarOp::kGt: return a > b();
    case ScalarOp::kGe: return a >= b();
    case ScalarOp::kConst:
    case ScalarOp::kParam:
    case ScalarOp::kAxis:
    case ScalarOp::kLoad:
    case ScalarOp::kLoadAt:
    case ScalarOp::kReduceResult:
    case ScalarOp::kFma:
    case ScalarOp::kSqrt:
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRint:
    case ScalarOp::kCopySign:
    case ScalarOp::kIsNan:
    case ScalarOp::kSelect:
    case ScalarOp::kCast:
    case ScalarOp::kBitcast:
    case ScalarOp::kScaleB:
    case ScalarOp::kCallLibm:
    case ScalarOp::kCallMath:
    case ScalarOp::kRaiseIf: break;
  }
  FW_CHECK_MSG(false, "no integer operation: " + std::string(name(op)));
  return 0;
}

}  // namespace

uint64_t evalScalar(ScalarOp op, DType operand, DType result, const uint64_t* operands) {
  if (op == ScalarOp::kSelect) return operands[0] ? operands[1] : operands[2];
  if (op == ScalarOp::kCast) return evalCast(operand, result, operands[0]);
  if (op == ScalarOp::kBitcast) return operands[0];
  if (operand == DType::kF32) return evalFloat<float>(op, operands);
  if (operand == DType::kF64) return evalFloat<double>(op, operands);
  return withType(operand, [&](auto t) -> uint64_t {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>)
      return evalInt<T>(op, operand == DType::kBool, operands);
    else
      return 0;  // handled above
  });
}

uint64_t evalLibm(uint64_t function, DType d, const uint64_t* operands, int count) {
  struct Row {
    const char* name;
    int arity;
    void* f32;
    void* f64;
  };
  // Addresses as untyped pointers: the arity column says what they are.
  static const Row kRows[] = {
#define FW_LIBM(Id, s32, s64, arity, vector)                                                           \
  {#Id, arity,                                                                                         \
   reinterpret_cast<void*>(                                                                            \
       static_cast<std::conditional_t<arity == 1, float (*)(float), float (*)(float, float)>>(::s32)), \
   reinterpret_cast<void*>(                                                                            \
       static_cast<std::conditional_t<arity == 1, double (*)(double), double (*)(double, double)>>(::s64))},
#include "kernels/libm.def"
  };
  FW_CHECK(function < std::size(kRows) && kRows[function].arity == count);
  const Row& row = kRows[function];
  if (d == DType::kF32) {
    const float a = fromBits<float>(operands[0]);
    if (count == 1) return bitsOf(reinterpret_cast<float (*)(float)>(row.f32)(a));
    return bitsOf(reinterpret_cast<float (*)(float, float)>(row.f32)(a, fromBits<float>(operands[1])));
  }
  FW_CHECK(d == DType::kF64);
  const double a = fromBits<double>(operands[0]);
  if (count == 1) return bitsOf(reinterpret_cast<double (*)(double)>(row.f64)(a));
  return bitsOf(reinterpret_cast<double (*)(double, double)>(row.f64)(a, fromBits<double>(operands[1])));
}

float halfToFloat(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16;
  uint32_t exponent = (h >> 10) & 31, mantissa = h & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13 | (mantissa ? 0x400000 : 0));
  if (exponent == 0) {
    const float v = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -v : v;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

uint16_t floatToHalf(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  // The flags that the hardware's conversion raises.
  if (magnitude >= 0x477ff000 && magnitude < 0x7f800000) std::feraiseexcept(FE_OVERFLOW);
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x47800000) return sign | 0x7c00;  // 2^16 and above
  if (magnitude < 0x38800000) {                       // below 2^-14: subnormal in units of 2^-24
    const float units = std::ldexp(std::bit_cast<float>(magnitude), 24), rounded = std::nearbyint(units);
    if (rounded != units) std::feraiseexcept(FE_UNDERFLOW);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(rounded));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

}  // namespace fw::kernels
