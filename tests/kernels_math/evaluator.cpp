// See evaluator.h. One template per operation shape; a slot holds the raw bits of one value per lane in 64 bits.
#include "evaluator.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace fw::kernels::testing {
namespace {

template <class T>
T get(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof(T));
  return v;
}
template <class T>
uint64_t put(T v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof(T));
  return bits;
}

template <class T>
bool compare(ScalarOp op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case ScalarOp::kLt: return std::isless(a, b);
      case ScalarOp::kLe: return std::islessequal(a, b);
      case ScalarOp::kGt: return std::isgreater(a, b);
      case ScalarOp::kGe: return std::isgreaterequal(a, b);
      case ScalarOp::kEq: return a == b;
      default: return a != b;
    }
  } else {
    switch (op) {
      case ScalarOp::kLt: return a < b;
      case ScalarOp::kLe: return a <= b;
      case ScalarOp::kGt: return a > b;
      case ScalarOp::kGe: return a >= b;
      case ScalarOp::kEq: return a == b;
      default: return a != b;
    }
  }
}

template <class T>
T scaleB(T x, T n) {
  if (std::isnan(n)) return x + n;
  if (n > T(5000)) n = T(5000);
  if (n < T(-5000)) n = T(-5000);
  return std::scalbn(x, static_cast<int>(n));
}

template <class T>
T arith(ScalarOp op, T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case ScalarOp::kAdd: return a + b;
      case ScalarOp::kSub: return a - b;
      case ScalarOp::kMul: return a * b;
      case ScalarOp::kDiv: return a / b;
      case ScalarOp::kFma: return std::fma(a, b, c);
      case ScalarOp::kNeg: return -a;
      case ScalarOp::kAbs: return std::fabs(a);
      case ScalarOp::kSqrt: return std::sqrt(a);
      case ScalarOp::kFloor: return std::floor(a);
      case ScalarOp::kCeil: return std::ceil(a);
      case ScalarOp::kTrunc: return std::trunc(a);
      case ScalarOp::kRint: return std::nearbyint(a);
      case ScalarOp::kCopySign: return std::copysign(a, b);
      case ScalarOp::kMinSecond: return a < b ? a : b;
      case ScalarOp::kMaxSecond: return a > b ? a : b;
      case ScalarOp::kScaleB: return scaleB(a, b);
      default: throw std::logic_error("evaluator: operation not on floats");
    }
  } else {
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    constexpr int kBits = 8 * sizeof(T);
    switch (op) {
      case ScalarOp::kAdd: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case ScalarOp::kSub: return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
      case ScalarOp::kMul: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
      case ScalarOp::kNeg: return static_cast<T>(-static_cast<U>(a));
      case ScalarOp::kAbs: return static_cast<T>(a < T(0) ? -static_cast<U>(a) : static_cast<U>(a));
      case ScalarOp::kMinSecond: return a < b ? a : b;
      case ScalarOp::kMaxSecond: return a > b ? a : b;
      case ScalarOp::kAnd: return a & b;
      case ScalarOp::kOr: return a | b;
      case ScalarOp::kXor: return a ^ b;
      case ScalarOp::kNot: return static_cast<T>(~a);
      case ScalarOp::kShl: return static_cast<T>(static_cast<U>(a) << (b & (kBits - 1)));
      case ScalarOp::kShrLogical: return static_cast<T>(static_cast<U>(a) >> (b & (kBits - 1)));
      case ScalarOp::kShrArith: return static_cast<T>(static_cast<S>(a) >> (b & (kBits - 1)));
      default: throw std::logic_error("evaluator: operation not on integers");
    }
  }
}

uint64_t logic(ScalarOp op, uint64_t a, uint64_t b) {
  switch (op) {
    case ScalarOp::kNot: return !a;
    case ScalarOp::kAnd: return a & b;
    case ScalarOp::kOr: return a | b;
    case ScalarOp::kXor: return a ^ b;
    default: throw std::logic_error("evaluator: operation not on bool");
  }
}

template <class F>
void withType(DType d, F f) {
  switch (d) {
    case DType::kF32: return f(float{});
    case DType::kF64: return f(double{});
    case DType::kI32: return f(int32_t{});
    case DType::kI64: return f(int64_t{});
    case DType::kU32: return f(uint32_t{});
    case DType::kU64: return f(uint64_t{});
    default: throw std::logic_error("evaluator: type");
  }
}

template <class To, class From>
To convert(From v) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const double lo = -std::ldexp(1.0, 8 * sizeof(To) - 1), hi = -lo;
    const double d = static_cast<double>(v);
    if (!(std::isgreaterequal(d, lo) && std::isless(d, hi))) {
      volatile double zero = 0;
      volatile double invalid = zero / zero;
      (void)invalid;
      return std::numeric_limits<To>::min();
    }
  }
  return static_cast<To>(v);
}

}  // namespace

Evaluator::Evaluator(const Kernel& kernel) {
  for (const Expr& e : kernel.exprs) {
    slots_.emplace_back(kBlock, 0);
    types_.push_back(e.dtype);
    addPass(kernel, e, static_cast<int>(slots_.size()) - 1);
  }
  for (const Stmt& s : kernel.stmts) {
    if (s.kind == StmtKind::kStore) result_ = static_cast<int>(s.value.index);
  }
  if (result_ < 0) throw std::logic_error("evaluator: nothing is stored");
}

void Evaluator::run(const std::vector<const uint64_t*>& in, uint64_t* out, int n) {
  inputs_ = in;
  for (const Pass& pass : passes_) pass(n);
  std::copy_n(slots_[result_].data(), n, out);
}

void Evaluator::addPass(const Kernel& kernel, const Expr& e, int index) {
  uint64_t* r = slots_[index].data();
  auto operand = [&](size_t i) -> const uint64_t* {
    return i < e.operands.size() ? slots_[e.operands[i].index].data() : r;
  };
  const uint64_t *a = operand(0), *b = operand(1), *c = operand(2);
  if (e.op != ScalarOp::kConst && e.op != ScalarOp::kLoad && e.op != ScalarOp::kBitcast) ++operationCount_;
  switch (e.op) {
    case ScalarOp::kConst: std::fill_n(slots_[index].data(), kBlock, e.imm); return;
    case ScalarOp::kLoad: {
      const size_t number = kernel.accesses.at(e.access).buffer.index;
      passes_.push_back([this, r, number](int n) { std::copy_n(inputs_.at(number), n, r); });
      return;
    }
    case ScalarOp::kBitcast: passes_.push_back([=](int n) { std::copy_n(a, n, r); }); return;
    case ScalarOp::kSelect:
      passes_.push_back([=](int n) {
        for (int i = 0; i < n; ++i) r[i] = a[i] ? b[i] : c[i];
      });
      return;
    case ScalarOp::kRaiseIf: {
      const uint64_t bit = e.imm;
      passes_.push_back([this, a, bit](int n) {
        for (int i = 0; i < n; ++i)
          if (a[i]) status_ |= bit;
      });
      return;
    }
    default: break;
  }
  const size_t first = e.operands.at(0).index;
  const DType from = types_[first];
  const ScalarOp op = e.op;
  if (from == DType::kBool) {
    passes_.push_back([=](int n) {
      for (int i = 0; i < n; ++i) {
        r[i] = logic(op, a[i], b[i]);
      }
    });
    return;
  }
  withType(from, [&](auto zero) {
    using T = decltype(zero);
    if (op == ScalarOp::kCast) {
      withType(e.dtype, [&](auto to) {
        using To = decltype(to);
        passes_.push_back([=](int n) {
          for (int i = 0; i < n; ++i) r[i] = put(convert<To>(get<T>(a[i])));
        });
      });
    } else if (op == ScalarOp::kIsNan) {
      passes_.push_back([=](int n) {
        for (int i = 0; i < n; ++i) r[i] = get<T>(a[i]) != get<T>(a[i]);
      });
    } else if (e.dtype == DType::kBool) {
      passes_.push_back([=](int n) {
        for (int i = 0; i < n; ++i) r[i] = compare(op, get<T>(a[i]), get<T>(b[i]));
      });
    } else {
      passes_.push_back([=](int n) {
        for (int i = 0; i < n; ++i) r[i] = put(arith(op, get<T>(a[i]), get<T>(b[i]), get<T>(c[i])));
      });
    }
  });
}

}  // namespace fw::kernels::testing
