// The status word: which IEEE flags and RaiseIf conditions a call reports, and that it leaves the caller's
// floating-point environment alone.
#include <immintrin.h>

#include <cfenv>
#include <cmath>

#include "jit/compile.h"
#include "kernel_case.h"

namespace fw::jit::testing {
namespace {

using BodyFn = std::function<Val(KernelBuilder&, Val, Val)>;

/// Status of out[i] = body(a[i], b[i]) over f32 arrays.
class BinaryCase {
 public:
  BinaryCase(DType d, const BodyFn& body, Isa isa) : d_(d) {
    SymId n = syms_.symbol("s0", {0, 1 << 20});
    const SymId item = syms_.constant(graph::itemSize(d)), zero = syms_.constant(0);
    KernelBuilder b(syms_, "flags");
    b.declareStored(BufferId(2));
    b.loop(b.constantInt(DType::kI64, 0), b.param(n), true, true, [&](AxisId i) {
      Val x = b.load({BufferId(0), zero, {{i, item}}}, d), y = b.load({BufferId(1), zero, {{i, item}}}, d);
      b.store({BufferId(2), zero, {{i, item}}}, body(b, x, y));
    });
    executable_ = mustCompile(std::move(b).take(), syms_, 3, isa);
  }

  template <class T>
  int32_t status(std::vector<T> a, std::vector<T> b) {
    std::vector<T> out(a.size() + 1);
    void* buffers[] = {a.data(), b.data(), out.data()};
    int64_t n = int64_t(a.size());
    Context context{.symbols = &n, .buffers = buffers};
    return executable_->compute(context);
  }

 private:
  DType d_;
  SymContext syms_;
  std::unique_ptr<Executable> executable_;
};

Val less(KernelBuilder& b, Val x, Val y, ScalarOp o) { return b.select(b.op(o, x, y), x, y); }

TEST(Flags, ComparisonsAndMinMaxAreQuiet) {
  for (Isa isa : availableIsas()) {
    for (ScalarOp o : {ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe,
                       ScalarOp::kMinSecond, ScalarOp::kMaxSecond}) {
      const bool select = o != ScalarOp::kMinSecond && o != ScalarOp::kMaxSecond;
      auto body = [&](KernelBuilder& b, Val x, Val y) { return select ? less(b, x, y, o) : b.op(o, x, y); };
      BinaryCase f32(DType::kF32, body, isa), f64(DType::kF64, body, isa);
      for (size_t n : {1, 2, 3, 5, 8, 16, 17, 37, 64}) {
        for (size_t at = 0; at < n; ++at) {
          std::vector<float> a(n, 1.f), c(n, 2.f);
          (at % 2 ? a : c)[at] = NAN;
          EXPECT_EQ(f32.status<float>(a, c), 0) << isaName(isa) << " " << kernels::name(o) << " n=" << n;
          EXPECT_EQ(f64.status<double>({a.begin(), a.end()}, {c.begin(), c.end()}), 0) << kernels::name(o);
        }
      }
    }
  }
}

TEST(Flags, ComparisonsWithConstantsAreQuiet) {
  for (Isa isa : availableIsas()) {
    for (ScalarOp o : {ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe}) {
      for (double value : {0.0, 1.0, HUGE_VAL, -HUGE_VAL, 3e38}) {
        for (bool magnitude : {false, true}) {
          auto body = [&](KernelBuilder& b, Val x, Val y) {
            const Val limit = b.constant(x.dtype, value);
            return b.select(b.op(o, magnitude ? b.op(ScalarOp::kAbs, x) : x, limit), y, x);
          };
          BinaryCase f32(DType::kF32, body, isa), f64(DType::kF64, body, isa);
          for (size_t n : {1, 2, 5, 17}) {
            EXPECT_EQ(f32.status<float>(std::vector<float>(n, NAN), std::vector<float>(n, 1.f)), 0)
                << isaName(isa) << " " << kernels::name(o) << " " << value << " n=" << n;
            EXPECT_EQ(f64.status<double>(std::vector<double>(n, NAN), std::vector<double>(n, 1)), 0)
                << isaName(isa) << " " << kernels::name(o) << " " << value << " n=" << n;
          }
        }
      }
    }
  }
}

TEST(Flags, OneLaneOfManyRaises) {
  for (Isa isa : availableIsas()) {
    BinaryCase f32(DType::kF32, [](KernelBuilder& b, Val x, Val y) { return b.op(ScalarOp::kDiv, x, y); }, isa);
    BinaryCase f64(DType::kF64, [](KernelBuilder& b, Val x, Val y) { return b.op(ScalarOp::kDiv, x, y); }, isa);
    for (size_t n : {1, 2, 3, 5, 8, 16, 17, 37, 64}) {
      std::vector<float> a(n, 1.f), c(n, 2.f);
      EXPECT_EQ(f32.status<float>(a, c), 0) << "n=" << n;  // inactive lanes must not divide 0 by 0
      EXPECT_EQ(f64.status<double>({a.begin(), a.end()}, {c.begin(), c.end()}), 0);
      for (size_t at = 0; at < n; ++at) {
        auto zero = c;
        zero[at] = 0;
        EXPECT_EQ(f32.status<float>(a, zero), kStatusDivide) << isaName(isa) << " n=" << n << " at " << at;
        auto both = a;
        both[at] = 0;
        EXPECT_EQ(f32.status<float>(both, zero), kStatusInvalid) << isaName(isa) << " n=" << n << " at " << at;
        auto big = a, small = c;
        big[at] = 3e38f;
        small[at] = 1e-3f;
        EXPECT_EQ(f32.status<float>(big, small), kStatusOverflow);
        big[at] = 1e-38f;
        small[at] = 3e3f;
        EXPECT_EQ(f32.status<float>(big, small), kStatusUnderflow);
      }
    }
  }
}

TEST(Flags, RaiseIf) {
  for (Isa isa : availableIsas()) {
    BinaryCase f32(
        DType::kF32,
        [](KernelBuilder& b, Val x, Val y) {
          b.raiseIf(b.op(ScalarOp::kGt, x, b.constant(DType::kF32, 100)), kStatusDecline);
          b.raiseIf(b.op(ScalarOp::kGt, y, b.constant(DType::kF32, 100)), kStatusOverflow);
          return b.op(ScalarOp::kAdd, x, y);
        },
        isa);
    for (size_t n = 0; n < 70; ++n) {
      std::vector<float> a(n, 1.f), c(n, 2.f);
      EXPECT_EQ(f32.status<float>(a, c), 0);
      for (size_t at = 0; at < n; ++at) {
        auto big = a;
        big[at] = 200;
        EXPECT_EQ(f32.status<float>(big, c), kStatusDecline) << isaName(isa) << " n=" << n << " at " << at;
        EXPECT_EQ(f32.status<float>(c, big), kStatusOverflow);
        EXPECT_EQ(f32.status<float>(big, big), kStatusOverflow | kStatusDecline);
      }
    }
  }
}

TEST(Flags, CallersEnvironmentStays) {
  for (Isa isa : availableIsas()) {
    BinaryCase f32(DType::kF32, [](KernelBuilder& b, Val x, Val y) { return b.op(ScalarOp::kDiv, x, y); }, isa);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_UNDERFLOW);
    std::fesetround(FE_UPWARD);
    EXPECT_EQ(f32.status<float>({1, 2, 3}, {0, 1, 1}), kStatusDivide);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT), FE_UNDERFLOW);
    std::fesetround(FE_TONEAREST);
    std::feclearexcept(FE_ALL_EXCEPT);
  }
}

TEST(Flags, EachStateOfTheCallerStaysAndDoesNotMatter) {
  constexpr unsigned kClean = 0x1f80, kInexact = 0x20, kInvalid = 1, kUnmasksDivide = 0x0200, kDenormalsAreZero = 0x40;
  for (Isa isa : availableIsas()) {
    BinaryCase f32(DType::kF32, [](KernelBuilder& b, Val x, Val y) { return b.op(ScalarOp::kDiv, x, y); }, isa);
    const unsigned states[] = {kClean,
                               kClean | kInexact,
                               kClean | kInvalid,
                               kClean | kInvalid | kInexact,
                               kClean & ~kUnmasksDivide,
                               kClean | kDenormalsAreZero};
    for (const unsigned state : states)
      for (const bool raises : {false, true, false}) {
        _mm_setcsr(state);
        const auto status = f32.status<float>({1, 2, 3}, {raises ? 0.f : 3.f, 1, 1});
        const unsigned after = _mm_getcsr();
        _mm_setcsr(kClean);
        EXPECT_EQ(status, raises ? kStatusDivide : 0) << isaName(isa) << " " << std::hex << state;
        EXPECT_EQ(after | kInexact, state | kInexact) << isaName(isa) << " " << std::hex << state << " " << after;
      }
  }
}

}  // namespace
}  // namespace fw::jit::testing
