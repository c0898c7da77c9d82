// See measure.h. Overflowed and zero results count as right if the correctly rounded result is the same or one ULP
// away.
#include "measure.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

namespace fw::kernels::testing {

uint64_t pack(DType t, double v) {
  uint64_t bits = 0;
  if (t == DType::kF32) {
    const float f = static_cast<float>(v);
    std::memcpy(&bits, &f, 4);
  } else {
    std::memcpy(&bits, &v, 8);
  }
  return bits;
}

double unpack(DType t, uint64_t bits) {
  if (t == DType::kF64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

namespace {

double draw(std::mt19937_64& rng, Range r) {
  const double u = std::uniform_real_distribution<double>(0, 1)(rng);
  if (r.lo == r.hi) return r.lo;
  if (r.lo > 0) return std::exp2(std::log2(r.lo) + u * (std::log2(r.hi) - std::log2(r.lo)));
  if (r.hi < 0) return -std::exp2(std::log2(-r.lo) + u * (std::log2(-r.hi) - std::log2(-r.lo)));
  return r.lo + u * (r.hi - r.lo);
}

#define MPFR1(fn) [](mpfr_t r, const mpfr_t x, const mpfr_t) { fn(r, x, MPFR_RNDN); }
#define MPFR2(fn) [](mpfr_t r, const mpfr_t x, const mpfr_t y) { fn(r, x, y, MPFR_RNDN); }
#define UNARY(name)                                                                                \
  Subject {                                                                                        \
    #name, 1, [](KernelBuilder& b, Val x, Val) { return math::name(b, x); }, MPFR1(mpfr_##name),   \
        [](double x, double) { return std::name(x); }, [](float x, float) { return std::name(x); } \
  }
#define BINARY(name)                                                                                         \
  Subject {                                                                                                  \
    #name, 2, [](KernelBuilder& b, Val x, Val y) { return math::name(b, x, y); }, MPFR2(mpfr_##name),        \
        [](double x, double y) { return std::name(x, y); }, [](float x, float y) { return std::name(x, y); } \
  }

}  // namespace

/// x to a constant power.
Subject power(const char* name, double y) {
  return {name,
          1,
          [y](KernelBuilder& b, Val x, Val) { return math::power(b, x, y); },
          [y](mpfr_t r, const mpfr_t x, const mpfr_t) {
            mpfr_t exponent;
            mpfr_init2(exponent, 64);
            mpfr_set_d(exponent, y, MPFR_RNDN);
            mpfr_pow(r, x, exponent, MPFR_RNDN);
            mpfr_clear(exponent);
          },
          [y](double x, double) { return std::pow(x, y); },
          [y](float x, float) { return std::pow(x, static_cast<float>(y)); }};
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = {
      power("power2", 2),
      power("power3", 3),
      power("power4", 4),
      power("power7", 7),
      power("power12", 12),
      power("power16", 16),
      power("power_minus1", -1),
      power("power_minus2", -2),
      power("power_minus3", -3),
      power("power_minus6", -6),
      power("power_minus13", -13),
      power("power_half", 0.5),
      power("power1_5", 1.5),
      power("power2_5", 2.5),
      power("power_minus_half", -0.5),
      power("power_minus1_5", -1.5),
      power("power_minus8_5", -8.5),
      UNARY(exp),
      UNARY(exp2),
      UNARY(expm1),
      UNARY(log),
      UNARY(log2),
      UNARY(log10),
      UNARY(log1p),
      UNARY(sin),
      UNARY(cos),
      UNARY(tan),
      UNARY(asin),
      UNARY(acos),
      UNARY(atan),
      BINARY(atan2),
      UNARY(sinh),
      UNARY(cosh),
      UNARY(tanh),
      UNARY(cbrt),
      BINARY(hypot),
      BINARY(pow),
  };
  return all;
}

const Subject& subject(const std::string& name) {
  for (const Subject& s : subjects()) {
    if (s.name == name) return s;
  }
  throw std::logic_error("no function " + name);
}

Compiled::Compiled(const Subject& subject, DType type) : subject_(subject), type_(type) {
  KernelBuilder builder(syms_, subject.name);
  auto access = [&](int buffer) {
    Access a;
    a.buffer = graph::BufferId(buffer);
    a.offset = syms_.constant(0);
    return a;
  };
  const Val x = builder.load(access(0), type);
  const Val y = subject.arity == 2 ? builder.load(access(1), type) : x;
  builder.store(access(2), subject.build(builder, x, y));
  kernel_ = std::make_unique<Kernel>(std::move(builder).take());
  evaluator_ = std::make_unique<Evaluator>(*kernel_);
}

void Compiled::run(const uint64_t* x, const uint64_t* y, uint64_t* out, int n) { evaluator_->run({x, y}, out, n); }

uint64_t Compiled::runWithStatus(const uint64_t* x, const uint64_t* y, uint64_t* out, int n) {
  evaluator_->takeStatus();
  std::feclearexcept(FE_ALL_EXCEPT);
  run(x, y, out, n);
  const int flags = std::fetestexcept(FE_ALL_EXCEPT);
  return evaluator_->takeStatus() | (flags & FE_INVALID ? 1 : 0) | (flags & FE_DIVBYZERO ? 2 : 0) |
         (flags & FE_OVERFLOW ? 4 : 0);
}

double ulpError64(double got, const mpfr_t exact) {
  const double rounded = mpfr_get_d(exact, MPFR_RNDN);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) && std::isnan(rounded) ? 0 : 1e30;
  if (std::isinf(rounded) && got == rounded) return 0;
  mpfr_t diff;
  mpfr_init2(diff, 160);
  if (std::isinf(got)) {
    mpfr_set_si_2exp(diff, std::signbit(got) ? -1 : 1, 1024, MPFR_RNDN);
  } else {
    mpfr_set_d(diff, got, MPFR_RNDN);
  }
  mpfr_sub(diff, diff, exact, MPFR_RNDN);
  const long e = mpfr_zero_p(exact) ? -1021 : std::clamp<long>(mpfr_get_exp(exact), -1021, 1024);
  mpfr_mul_2si(diff, diff, 53 - e, MPFR_RNDN);
  const double r = std::fabs(mpfr_get_d(diff, MPFR_RNDN));
  mpfr_clear(diff);
  return r;
}

double ulpError32(float got, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) && std::isnan(exact) ? 0 : 1e30;
  if (std::isinf(rounded) && got == rounded) return 0;
  double g = got;
  if (std::isinf(got)) g = std::copysign(std::ldexp(1.0, 128), got);
  int e = exact == 0 ? -125 : std::ilogb(exact) + 1;
  if (e < -125) e = -125;
  if (e > 128) e = 128;
  return std::fabs(std::ldexp(g - exact, 24 - e));
}

Accuracy measure(Compiled& f, Range xr, Range yr, int n) {
  std::mt19937_64 rng(20240607);
  return measurePoints(f, n, [&](int) { return Point{draw(rng, xr), f.subject().arity == 2 ? draw(rng, yr) : 0}; });
}

Accuracy measurePoints(Compiled& f, int n, const std::function<Point(int)>& point) {
  mpfr_t mx, my, mr;
  mpfr_inits2(120, mx, my, mr, static_cast<mpfr_ptr>(nullptr));
  Accuracy result;
  const DType t = f.type();
  uint64_t x[Evaluator::kBlock], y[Evaluator::kBlock], out[Evaluator::kBlock];
  for (int done = 0; done < n; done += Evaluator::kBlock) {
    for (int i = 0; i < Evaluator::kBlock; ++i) {
      const Point p = point(done + i);
      x[i] = pack(t, p.x);
      y[i] = pack(t, p.y);
    }
    result.status |= f.runWithStatus(x, y, out, Evaluator::kBlock);
    for (int i = 0; i < Evaluator::kBlock; ++i) {
      const double dx = unpack(t, x[i]), dy = unpack(t, y[i]), got = unpack(t, out[i]);
      double err;
      if (t == DType::kF32) {
        err = ulpError32(static_cast<float>(got), f.subject().libm64(dx, dy));
      } else {
        mpfr_set_d(mx, dx, MPFR_RNDN);
        mpfr_set_d(my, dy, MPFR_RNDN);
        f.subject().exact(mr, mx, my);
        err = ulpError64(got, mr);
      }
      if (err > result.maxUlp) {
        result.maxUlp = err;
        result.worstX = dx;
        result.worstY = dy;
      }
      ++result.count;
    }
  }
  mpfr_clears(mx, my, mr, static_cast<mpfr_ptr>(nullptr));
  return result;
}

}  // namespace fw::kernels::testing
