// Elementwise rows on single elements, by family of types. Every family works in the C++ type that NumPy's loop uses:
// integers in their own width (unsigned arithmetic, so that overflow wraps), f16 in float with one rounding at the end,
// complex as pairs.
#include "graph/evaluator_scalar.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "graph/op_groups.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

absl::Status unknown(Op op, DType dtype) {
  return absl::UnimplementedError("reference evaluator: " + std::string(info(op).text) + " of " +
                                  std::string(name(dtype)));
}

/// What a comparison answers for operands of which the first is less, equal, greater, or unordered.
struct Comparison {
  Op op;
  bool less, equal, greater, unordered;
};
constexpr Comparison kComparisons[] = {
    {Op::kEqual, false, true, false, false},   {Op::kNotEqual, true, false, true, true},
    {Op::kLess, true, false, false, false},    {Op::kLessEqual, true, true, false, false},
    {Op::kGreater, false, false, true, false}, {Op::kGreaterEqual, false, true, true, false},
};

std::optional<bool> compare(Op op, bool less, bool equal, bool greater) {
  for (const Comparison& row : kComparisons)
    if (row.op == op) return less ? row.less : equal ? row.equal : greater ? row.greater : row.unordered;
  return std::nullopt;
}

std::optional<bool> logic(Op op, bool a, bool b) {
  if (op == Op::kLogicalAnd) return a && b;
  if (op == Op::kLogicalOr) return a || b;
  if (op == Op::kLogicalXor) return a != b;
  if (op == Op::kLogicalNot) return !a;
  return std::nullopt;
}

bool truth(const Scalar& v) {
  if (isComplex(v.dtype)) return v.asComplex() != 0.0;
  return isFloat(v.dtype) ? v.asDouble() != 0.0 : v.lo != 0;
}

template <class T>
T integerPower(T base, T exponent) {
  using U = std::make_unsigned_t<T>;
  U result = 1, factor = static_cast<U>(base);
  for (U e = static_cast<U>(exponent); e; e = static_cast<U>(e >> 1)) {
    if (e & 1) result = static_cast<U>(uint64_t{result} * factor);
    factor = static_cast<U>(uint64_t{factor} * factor);
  }
  return static_cast<T>(result);
}

/// Quotient rounded down; 0 for a zero divisor, the smallest number for smallest / -1.
template <class T>
T floorQuotient(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<uint64_t>(a));
  T q = static_cast<T>(a / b);
  if (std::is_signed_v<T> && q * b != a && (a < 0) != (b < 0)) --q;
  return q;
}

template <class T>
T floorRemainder(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  T r = static_cast<T>(a % b);
  if (std::is_signed_v<T> && r != 0 && (r < 0) != (b < 0)) r = static_cast<T>(r + b);
  return r;
}

template <class T>
absl::StatusOr<T> integerOp(Op op, DType dtype, T a, T b) {
  using U = uint64_t;  // wide enough for all, truncated on the way out
  constexpr unsigned kBits = 8 * sizeof(T);
  const bool tooFar = static_cast<U>(b) >= kBits || b < 0;
  if (op == Op::kPower) {
    if (b < 0) return absl::InvalidArgumentError("Integers to negative integer powers are not allowed.");
    return integerPower(a, b);
  }
  const std::optional<ElementwiseOp> row = elementwiseOp(op);
  if (!row) return unknown(op, dtype);
  switch (*row) {
    case ElementwiseOp::kAdd: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case ElementwiseOp::kSubtract: return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case ElementwiseOp::kMultiply: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case ElementwiseOp::kSquare: return static_cast<T>(static_cast<U>(a) * static_cast<U>(a));
    case ElementwiseOp::kFloorDivide: return floorQuotient(a, b);
    case ElementwiseOp::kRemainder: return floorRemainder(a, b);
    case ElementwiseOp::kFmod:
      if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T{0};
      return static_cast<T>(a % b);
    case ElementwiseOp::kNegative: return static_cast<T>(0 - static_cast<U>(a));
    case ElementwiseOp::kAbsolute: return a < 0 ? static_cast<T>(0 - static_cast<U>(a)) : a;
    case ElementwiseOp::kSign: return static_cast<T>((a > 0) - (a < 0));
    case ElementwiseOp::kPositive:
    case ElementwiseOp::kConjugate:
    case ElementwiseOp::kFloor:
    case ElementwiseOp::kCeil:
    case ElementwiseOp::kTrunc: return a;
    case ElementwiseOp::kMaximum:
    case ElementwiseOp::kFmax: return a > b ? a : b;
    case ElementwiseOp::kMinimum:
    case ElementwiseOp::kFmin: return a < b ? a : b;
    case ElementwiseOp::kBitwiseAnd: return static_cast<T>(a & b);
    case ElementwiseOp::kBitwiseOr: return static_cast<T>(a | b);
    case ElementwiseOp::kBitwiseXor: return static_cast<T>(a ^ b);
    case ElementwiseOp::kInvert: return static_cast<T>(~a);
    case ElementwiseOp::kLeftShift: return tooFar ? T{0} : static_cast<T>(static_cast<U>(a) << b);
    case ElementwiseOp::kRightShift: return tooFar ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> b);
    case ElementwiseOp::kDivide:
    case ElementwiseOp::kFabs:
    case ElementwiseOp::kRint:
    case ElementwiseOp::kReciprocal:
    case ElementwiseOp::kSqrt:
    case ElementwiseOp::kClip:
    case ElementwiseOp::kCopysign:
    case ElementwiseOp::kSignbit:
    case ElementwiseOp::kIsnan:
    case ElementwiseOp::kIsinf:
    case ElementwiseOp::kIsfinite:
    case ElementwiseOp::kEqual:
    case ElementwiseOp::kNotEqual:
    case ElementwiseOp::kLess:
    case ElementwiseOp::kLessEqual:
    case ElementwiseOp::kGreater:
    case ElementwiseOp::kGreaterEqual:
    case ElementwiseOp::kLogicalAnd:
    case ElementwiseOp::kLogicalOr:
    case ElementwiseOp::kLogicalXor:
    case ElementwiseOp::kLogicalNot:
    case ElementwiseOp::kReal:
    case ElementwiseOp::kImag:
    case ElementwiseOp::kAngle:
    case ElementwiseOp::kComplex:
    case ElementwiseOp::kFma:
    case ElementwiseOp::kWhere:
    case ElementwiseOp::kCast: break;  // answered elsewhere, or NumPy has no such loop
  }
  return unknown(op, dtype);
}

absl::StatusOr<bool> boolOp(Op op, bool a, bool b) {
  const std::optional<ElementwiseOp> row = elementwiseOp(op);
  if (!row) return unknown(op, DType::kBool);
  switch (*row) {
    case ElementwiseOp::kAdd:
    case ElementwiseOp::kMaximum:
    case ElementwiseOp::kFmax:
    case ElementwiseOp::kBitwiseOr: return a || b;
    case ElementwiseOp::kMultiply:
    case ElementwiseOp::kMinimum:
    case ElementwiseOp::kFmin:
    case ElementwiseOp::kBitwiseAnd: return a && b;
    case ElementwiseOp::kBitwiseXor: return a != b;
    case ElementwiseOp::kInvert: return !a;
    case ElementwiseOp::kAbsolute:
    case ElementwiseOp::kFloor:
    case ElementwiseOp::kCeil:
    case ElementwiseOp::kTrunc: return a;
    case ElementwiseOp::kSubtract:
    case ElementwiseOp::kDivide:
    case ElementwiseOp::kFloorDivide:
    case ElementwiseOp::kRemainder:
    case ElementwiseOp::kFmod:
    case ElementwiseOp::kNegative:
    case ElementwiseOp::kPositive:
    case ElementwiseOp::kFabs:
    case ElementwiseOp::kSign:
    case ElementwiseOp::kRint:
    case ElementwiseOp::kSquare:
    case ElementwiseOp::kReciprocal:
    case ElementwiseOp::kSqrt:
    case ElementwiseOp::kClip:
    case ElementwiseOp::kCopysign:
    case ElementwiseOp::kSignbit:
    case ElementwiseOp::kIsnan:
    case ElementwiseOp::kIsinf:
    case ElementwiseOp::kIsfinite:
    case ElementwiseOp::kEqual:
    case ElementwiseOp::kNotEqual:
    case ElementwiseOp::kLess:
    case ElementwiseOp::kLessEqual:
    case ElementwiseOp::kGreater:
    case ElementwiseOp::kGreaterEqual:
    case ElementwiseOp::kLogicalAnd:
    case ElementwiseOp::kLogicalOr:
    case ElementwiseOp::kLogicalXor:
    case ElementwiseOp::kLogicalNot:
    case ElementwiseOp::kLeftShift:
    case ElementwiseOp::kRightShift:
    case ElementwiseOp::kConjugate:
    case ElementwiseOp::kReal:
    case ElementwiseOp::kImag:
    case ElementwiseOp::kAngle:
    case ElementwiseOp::kComplex:
    case ElementwiseOp::kFma:
    case ElementwiseOp::kWhere:
    case ElementwiseOp::kCast: break;  // answered elsewhere, or NumPy has no such loop
  }
  return unknown(op, DType::kBool);
}

/// Python's divmod as NumPy computes it.
template <class T>
void floatDivmod(T a, T b, T& quotient, T& remainder) {
  remainder = std::fmod(a, b);
  if (b == 0) {
    quotient = a / b;
    return;
  }
  T q = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      q -= 1;
    }
  } else {
    remainder = std::copysign(T{0}, b);
  }
  if (q != 0) {
    quotient = std::floor(q);
    if (q - quotient > T{0.5}) quotient += 1;
  } else {
    quotient = std::copysign(T{0}, a / b);
  }
}

template <class T>
absl::StatusOr<T> floatOp(Op op, DType dtype, T a, T b) {
  T quotient{}, remainder{};
  if (std::optional<double> value = realFunction(op, a, b, sizeof(T) == 4)) return static_cast<T>(*value);
  const std::optional<ElementwiseOp> row = elementwiseOp(op);
  if (!row) return unknown(op, dtype);
  switch (*row) {
    case ElementwiseOp::kAdd: return a + b;
    case ElementwiseOp::kSubtract: return a - b;
    case ElementwiseOp::kMultiply: return a * b;
    case ElementwiseOp::kSquare: return a * a;
    case ElementwiseOp::kDivide: return a / b;
    case ElementwiseOp::kReciprocal: return 1 / a;
    case ElementwiseOp::kFloorDivide: floatDivmod(a, b, quotient, remainder); return quotient;
    case ElementwiseOp::kRemainder: floatDivmod(a, b, quotient, remainder); return remainder;
    case ElementwiseOp::kFmod: return std::fmod(a, b);
    case ElementwiseOp::kNegative: return -a;
    case ElementwiseOp::kPositive:
    case ElementwiseOp::kConjugate: return a;
    case ElementwiseOp::kAbsolute:
    case ElementwiseOp::kFabs: return std::fabs(a);
    case ElementwiseOp::kSign: return a > 0 ? T{1} : a < 0 ? T{-1} : a == 0 ? T{0} : a;
    case ElementwiseOp::kFloor: return std::floor(a);
    case ElementwiseOp::kCeil: return std::ceil(a);
    case ElementwiseOp::kTrunc: return std::trunc(a);
    case ElementwiseOp::kRint: return std::nearbyint(a);
    case ElementwiseOp::kSqrt: return std::sqrt(a);
    case ElementwiseOp::kMaximum:
      return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b;  // of equal zeros the second
    case ElementwiseOp::kMinimum: return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b;
    case ElementwiseOp::kFmax: return std::isnan(a) ? b : std::isnan(b) ? a : a > b ? a : b;
    case ElementwiseOp::kFmin: return std::isnan(a) ? b : std::isnan(b) ? a : a < b ? a : b;
    case ElementwiseOp::kCopysign: return std::copysign(a, b);
    case ElementwiseOp::kReal: return a;
    case ElementwiseOp::kImag: return T{0};
    case ElementwiseOp::kAngle: return std::isnan(a) ? a : std::signbit(a) && a != 0 ? static_cast<T>(M_PI) : T{0};
    case ElementwiseOp::kClip:
    case ElementwiseOp::kSignbit:
    case ElementwiseOp::kIsnan:
    case ElementwiseOp::kIsinf:
    case ElementwiseOp::kIsfinite:
    case ElementwiseOp::kEqual:
    case ElementwiseOp::kNotEqual:
    case ElementwiseOp::kLess:
    case ElementwiseOp::kLessEqual:
    case ElementwiseOp::kGreater:
    case ElementwiseOp::kGreaterEqual:
    case ElementwiseOp::kLogicalAnd:
    case ElementwiseOp::kLogicalOr:
    case ElementwiseOp::kLogicalXor:
    case ElementwiseOp::kLogicalNot:
    case ElementwiseOp::kBitwiseAnd:
    case ElementwiseOp::kBitwiseOr:
    case ElementwiseOp::kBitwiseXor:
    case ElementwiseOp::kInvert:
    case ElementwiseOp::kLeftShift:
    case ElementwiseOp::kRightShift:
    case ElementwiseOp::kFma:
    case ElementwiseOp::kWhere:
    case ElementwiseOp::kCast: break;  // answered elsewhere, or NumPy has no such loop
  }
  return unknown(op, dtype);
}

template <class T>
std::complex<double> smithQuotient(std::complex<double> x, std::complex<double> y) {
  const T ar = static_cast<T>(x.real()), ai = static_cast<T>(x.imag());
  const T br = static_cast<T>(y.real()), bi = static_cast<T>(y.imag());
  if (std::fabs(br) >= std::fabs(bi)) {
    if (br == 0 && bi == 0) return {static_cast<T>(ar / std::fabs(br)), static_cast<T>(ai / std::fabs(br))};
    const T ratio = bi / br, tail = bi * ratio, scale = 1 / static_cast<T>(br + tail);
    const T p = ai * ratio, q = ar * ratio;
    return {static_cast<T>(static_cast<T>(ar + p) * scale), static_cast<T>(static_cast<T>(ai - q) * scale)};
  }
  const T ratio = br / bi, tail = br * ratio, scale = 1 / static_cast<T>(bi + tail);
  const T p = ar * ratio, q = ai * ratio;
  return {static_cast<T>(static_cast<T>(p + ai) * scale), static_cast<T>(static_cast<T>(q - ar) * scale)};
}

/// NumPy orders complex numbers by real part, then imaginary part.
std::optional<bool> compareComplex(Op op, std::complex<double> a, std::complex<double> b) {
  const bool nan = std::isnan(a.real()) || std::isnan(a.imag()) || std::isnan(b.real()) || std::isnan(b.imag());
  const bool less = !nan && (a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag()));
  const bool greater = !nan && (a.real() > b.real() || (a.real() == b.real() && a.imag() > b.imag()));
  return compare(op, less, !nan && a == b, greater);
}

absl::StatusOr<std::complex<double>> complexOp(Op op, DType dtype, std::complex<double> a, std::complex<double> b) {
  const bool single = dtype == DType::kC64;
  const auto nan = [](std::complex<double> v) { return std::isnan(v.real()) || std::isnan(v.imag()); };
  if (auto value = complexFunction(op, a, b, single)) return *value;
  const std::optional<ElementwiseOp> row = elementwiseOp(op);
  if (!row) return unknown(op, dtype);
  switch (*row) {
    case ElementwiseOp::kAdd:
      return a + b;  // parts are exact in double for c64 but for one rounding, made by the caller
    case ElementwiseOp::kSubtract: return a - b;
    case ElementwiseOp::kMultiply: return complexProduct(a, b, single);
    case ElementwiseOp::kSquare: return complexProduct(a, a, single);
    case ElementwiseOp::kDivide: return single ? smithQuotient<float>(a, b) : smithQuotient<double>(a, b);
    case ElementwiseOp::kNegative: return std::complex<double>(-a.real(), -a.imag());
    case ElementwiseOp::kPositive: return a;
    case ElementwiseOp::kConjugate: return std::conj(a);
    case ElementwiseOp::kSqrt: return std::sqrt(a);
    case ElementwiseOp::kRint: return std::complex<double>(std::nearbyint(a.real()), std::nearbyint(a.imag()));
    case ElementwiseOp::kMaximum: return nan(a) ? a : nan(b) ? b : *compareComplex(Op::kGreaterEqual, a, b) ? a : b;
    case ElementwiseOp::kMinimum: return nan(a) ? a : nan(b) ? b : *compareComplex(Op::kLessEqual, a, b) ? a : b;
    case ElementwiseOp::kFmax: return nan(a) ? b : nan(b) ? a : *compareComplex(Op::kGreaterEqual, a, b) ? a : b;
    case ElementwiseOp::kFmin: return nan(a) ? b : nan(b) ? a : *compareComplex(Op::kLessEqual, a, b) ? a : b;
    case ElementwiseOp::kFloorDivide:
    case ElementwiseOp::kRemainder:
    case ElementwiseOp::kFmod:
    case ElementwiseOp::kAbsolute:
    case ElementwiseOp::kFabs:
    case ElementwiseOp::kSign:
    case ElementwiseOp::kFloor:
    case ElementwiseOp::kCeil:
    case ElementwiseOp::kTrunc:
    case ElementwiseOp::kReciprocal:
    case ElementwiseOp::kClip:
    case ElementwiseOp::kCopysign:
    case ElementwiseOp::kSignbit:
    case ElementwiseOp::kIsnan:
    case ElementwiseOp::kIsinf:
    case ElementwiseOp::kIsfinite:
    case ElementwiseOp::kEqual:
    case ElementwiseOp::kNotEqual:
    case ElementwiseOp::kLess:
    case ElementwiseOp::kLessEqual:
    case ElementwiseOp::kGreater:
    case ElementwiseOp::kGreaterEqual:
    case ElementwiseOp::kLogicalAnd:
    case ElementwiseOp::kLogicalOr:
    case ElementwiseOp::kLogicalXor:
    case ElementwiseOp::kLogicalNot:
    case ElementwiseOp::kBitwiseAnd:
    case ElementwiseOp::kBitwiseOr:
    case ElementwiseOp::kBitwiseXor:
    case ElementwiseOp::kInvert:
    case ElementwiseOp::kLeftShift:
    case ElementwiseOp::kRightShift:
    case ElementwiseOp::kReal:
    case ElementwiseOp::kImag:
    case ElementwiseOp::kAngle:
    case ElementwiseOp::kComplex:
    case ElementwiseOp::kFma:
    case ElementwiseOp::kWhere:
    case ElementwiseOp::kCast: break;  // answered elsewhere, or NumPy has no such loop
  }
  return unknown(op, dtype);
}

template <class T>
absl::StatusOr<Scalar> integerElement(Op op, const Scalar& a, const Scalar& b) {
  const T x = static_cast<T>(a.asInt()), y = static_cast<T>(b.asInt());
  if (auto answer = compare(op, x < y, x == y, x > y)) return Scalar::ofBool(*answer);
  absl::StatusOr<T> value = integerOp<T>(op, a.dtype, x, y);
  if (!value.ok()) return value.status();
  return Scalar::ofInt(a.dtype, static_cast<int64_t>(*value));
}

absl::StatusOr<Scalar> floatElement(Op op, const Scalar& a, const Scalar& b) {
  const double x = a.asDouble(), y = b.asDouble();
  if (auto answer = compare(op, x < y, x == y, x > y)) return Scalar::ofBool(*answer);
  if (op == Op::kIsnan) return Scalar::ofBool(std::isnan(x));
  if (op == Op::kIsinf) return Scalar::ofBool(std::isinf(x));
  if (op == Op::kIsfinite) return Scalar::ofBool(std::isfinite(x));
  if (op == Op::kSignbit) return Scalar::ofBool(std::signbit(x));
  if (a.dtype == DType::kF64) {
    absl::StatusOr<double> value = floatOp<double>(op, a.dtype, x, y);
    if (!value.ok()) return value.status();
    return Scalar::ofDouble(a.dtype, *value);
  }
  absl::StatusOr<float> value = floatOp<float>(op, a.dtype, static_cast<float>(x), static_cast<float>(y));
  if (!value.ok()) return value.status();
  return Scalar::ofDouble(a.dtype, *value);
}

absl::StatusOr<Scalar> complexElement(Op op, const Scalar& a, const Scalar& b) {
  const std::complex<double> x = a.asComplex(), y = b.asComplex();
  const DType part = realOf(a.dtype);
  if (auto answer = compareComplex(op, x, y)) return Scalar::ofBool(*answer);
  if (op == Op::kIsnan) return Scalar::ofBool(std::isnan(x.real()) || std::isnan(x.imag()));
  if (op == Op::kIsinf) return Scalar::ofBool(std::isinf(x.real()) || std::isinf(x.imag()));
  if (op == Op::kIsfinite) return Scalar::ofBool(std::isfinite(x.real()) && std::isfinite(x.imag()));
  if (op == Op::kReal) return Scalar::ofDouble(part, x.real());
  if (op == Op::kImag) return Scalar::ofDouble(part, x.imag());
  if (op == Op::kAbsolute) return Scalar::ofDouble(part, std::hypot(x.real(), x.imag()));
  if (op == Op::kAngle)
    return Scalar::ofDouble(part, *realFunction(Op::kArctan2, x.imag(), x.real(), part == DType::kF32));
  absl::StatusOr<std::complex<double>> value = complexOp(op, a.dtype, x, y);
  if (!value.ok()) return value.status();
  return Scalar::ofComplex(a.dtype, *value);
}

absl::StatusOr<Scalar> clipElement(const Scalar& x, const Scalar& lo, const Scalar& hi) {
  const auto less = [](const Scalar& a, const Scalar& b) {
    if (isFloat(a.dtype)) return a.asDouble() < b.asDouble();
    return isSigned(a.dtype) ? a.asInt() < b.asInt() : a.lo < b.lo;
  };
  const auto nan = [](const Scalar& a) { return isFloat(a.dtype) && std::isnan(a.asDouble()); };
  if (isComplex(x.dtype)) return unknown(Op::kClip, x.dtype);
  Scalar value = less(x, lo) || nan(lo) ? lo : x;
  return less(hi, value) || nan(hi) ? hi : value;
}

/// The machine's conversion to a signed integer: everything it cannot represent becomes the smallest number.
template <class T>
T truncated(double v) {
  constexpr double kEnd = sizeof(T) == 4 ? 0x1p31 : 0x1p63;
  if (!(v > -kEnd - (sizeof(T) == 4 ? 1 : 0)) && v != -kEnd) return std::numeric_limits<T>::min();
  return v < kEnd ? static_cast<T>(v) : std::numeric_limits<T>::min();
}

int64_t floatToInteger(double v, DType to) {
  switch (to) {
    case DType::kU64:
      if (v < 0x1p63) return truncated<int64_t>(v);
      return static_cast<int64_t>(static_cast<uint64_t>(truncated<int64_t>(v - 0x1p63)) ^ (uint64_t{1} << 63));
    case DType::kI64:
    case DType::kU32: return truncated<int64_t>(v);
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32: return truncated<int32_t>(v);  // narrower types take the low bits
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kC64:
    case DType::kC128: break;
  }
  FW_UNREACHABLE();
}

}  // namespace

Scalar castElement(const Scalar& value, DType to) {
  if (value.dtype == to) return value;
  if (to == DType::kBool) return Scalar::ofBool(truth(value));
  if (isComplex(to)) {
    if (isComplex(value.dtype)) return Scalar::ofComplex(to, value.asComplex());
    return Scalar::ofComplex(to, castElement(value, realOf(to)).asDouble());
  }
  const bool fromInteger = !isInexact(value.dtype);
  if (isFloat(to)) {
    if (!fromInteger) return Scalar::ofDouble(to, value.asDouble());
    const auto as = [&](auto number) {  // rounded once by the machine's conversion
      using T = decltype(number);
      return isSigned(value.dtype) ? static_cast<T>(value.asInt()) : static_cast<T>(value.lo);
    };
    return Scalar::ofDouble(to, to == DType::kF64 ? as(double{}) : static_cast<double>(as(float{})));
  }
  if (fromInteger) return Scalar::ofInt(to, value.asInt());
  return Scalar::ofInt(to, floatToInteger(value.asDouble(), to));
}

namespace {

absl::StatusOr<Scalar> fmaElement(const Scalar& a, const Scalar& b, const Scalar& c) {
  const double x = a.asDouble(), y = b.asDouble(), z = c.asDouble();
  if (a.dtype == DType::kF64) return Scalar::ofDouble(a.dtype, std::fma(x, y, z));
  if (a.dtype != DType::kF32) return unknown(Op::kFma, a.dtype);
  return Scalar::ofDouble(a.dtype, std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
}

}  // namespace

absl::StatusOr<Scalar> evaluateElement(Op op, absl::Span<const Scalar> in, DType result) {
  FW_CHECK(!in.empty());
  const Scalar& a = in[0];
  const Scalar& b = in.size() > 1 ? in[1] : in[0];
  if (op == Op::kWhere) return truth(a) ? in[1] : in[2];
  if (op == Op::kFma) return fmaElement(a, b, in[2]);
  if (op == Op::kCast) return castElement(a, result);
  if (op == Op::kCopy) return a;
  if (op == Op::kComplex) return Scalar::ofComplex(complexOf(a.dtype), {a.asDouble(), b.asDouble()});
  if (op == Op::kClip) return clipElement(in[0], in[1], in[2]);
  if (auto answer = logic(op, truth(a), truth(b))) return Scalar::ofBool(*answer);
  if (isComplex(a.dtype)) return complexElement(op, a, b);
  if (isFloat(a.dtype)) return floatElement(op, a, b);
  if (op == Op::kIsnan || op == Op::kIsinf) return Scalar::ofBool(false);
  if (op == Op::kIsfinite) return Scalar::ofBool(true);
  if (op == Op::kReal) return a;
  if (op == Op::kImag) return Scalar::zero(a.dtype);
  if (op == Op::kReciprocal) return castElement(Scalar::ofDouble(DType::kF64, 1 / a.asDouble()), a.dtype);
  switch (a.dtype) {
    case DType::kBool: {
      if (auto answer = compare(op, a.lo < b.lo, a.lo == b.lo, a.lo > b.lo)) return Scalar::ofBool(*answer);
      absl::StatusOr<bool> value = boolOp(op, a.lo != 0, b.lo != 0);
      if (!value.ok()) return value.status();
      return Scalar::ofBool(*value);
    }
    case DType::kI8: return integerElement<int8_t>(op, a, b);
    case DType::kU8: return integerElement<uint8_t>(op, a, b);
    case DType::kI16: return integerElement<int16_t>(op, a, b);
    case DType::kU16: return integerElement<uint16_t>(op, a, b);
    case DType::kI32: return integerElement<int32_t>(op, a, b);
    case DType::kU32: return integerElement<uint32_t>(op, a, b);
    case DType::kI64: return integerElement<int64_t>(op, a, b);
    case DType::kU64: return integerElement<uint64_t>(op, a, b);
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kC64:
    case DType::kC128: break;
  }
  FW_UNREACHABLE();
}

}  // namespace fw::graph
