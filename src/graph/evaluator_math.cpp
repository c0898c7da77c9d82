// Transcendental functions and complex arithmetic of the reference evaluator. f32 goes through libm in double, f64
// through libm in long double, each rounded once at the end, so that results are correctly rounded but for rare ties of
// the wider type.
#include <cmath>

#include "graph/evaluator_scalar.h"

namespace fw::graph {
namespace {

template <class W>
std::optional<W> function(Op op, W x, W y) {
  switch (op) {
    case Op::kCbrt: return std::cbrt(x);
    case Op::kExp: return std::exp(x);
    case Op::kExp2: return std::exp2(x);
    case Op::kExpm1: return std::expm1(x);
    case Op::kLog: return std::log(x);
    case Op::kLog2: return std::log2(x);
    case Op::kLog10: return std::log10(x);
    case Op::kLog1p: return std::log1p(x);
    case Op::kSin: return std::sin(x);
    case Op::kCos: return std::cos(x);
    case Op::kTan: return std::tan(x);
    case Op::kArcsin: return std::asin(x);
    case Op::kArccos: return std::acos(x);
    case Op::kArctan: return std::atan(x);
    case Op::kArctan2: return std::atan2(x, y);
    case Op::kSinh: return std::sinh(x);
    case Op::kCosh: return std::cosh(x);
    case Op::kTanh: return std::tanh(x);
    case Op::kHypot: return std::hypot(x, y);
    case Op::kPower: return std::pow(x, y);
    default: return std::nullopt;  // not a row of math.def
  }
}

template <class W>
std::optional<std::complex<W>> function(Op op, std::complex<W> x, std::complex<W> y) {
  switch (op) {
    case Op::kExp: return std::exp(x);
    case Op::kExp2: return std::exp(x * std::log(W{2}));
    case Op::kExpm1: {
      const W half = std::sin(x.imag() / 2);
      return std::complex<W>(std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
                             std::exp(x.real()) * std::sin(x.imag()));
    }
    case Op::kLog: return std::log(x);
    case Op::kLog2: return std::log(x) / std::log(W{2});
    case Op::kLog10: return std::log10(x);
    case Op::kLog1p:
      return std::complex<W>(std::log(std::hypot(x.real() + 1, x.imag())), std::atan2(x.imag(), x.real() + 1));
    case Op::kSin: return std::sin(x);
    case Op::kCos: return std::cos(x);
    case Op::kTan: return std::tan(x);
    case Op::kArcsin: return std::asin(x);
    case Op::kArccos: return std::acos(x);
    case Op::kArctan: return std::atan(x);
    case Op::kSinh: return std::sinh(x);
    case Op::kCosh: return std::cosh(x);
    case Op::kTanh: return std::tanh(x);
    case Op::kPower: return std::pow(x, y);
    default: return std::nullopt;
  }
}

template <class T>
std::complex<double> fusedProduct(std::complex<double> a, std::complex<double> b) {
  const T ar = static_cast<T>(a.real()), ai = static_cast<T>(a.imag());
  const T br = static_cast<T>(b.real()), bi = static_cast<T>(b.imag());
  const T re = ai * bi, im = ai * br;
  return {std::fma(ar, br, -re), std::fma(ar, bi, im)};
}

template <class T>
std::complex<double> plainProduct(std::complex<double> a, std::complex<double> b) {
  const T ar = static_cast<T>(a.real()), ai = static_cast<T>(a.imag());
  const T br = static_cast<T>(b.real()), bi = static_cast<T>(b.imag());
  const T rr = ar * br, ii = ai * bi, ri = ar * bi, ir = ai * br;
  return {static_cast<T>(rr - ii), static_cast<T>(ri + ir)};
}

}  // namespace

std::optional<double> realFunction(Op op, double x, double y, bool single) {
  if (single) return function<double>(op, x, y);
  if (std::optional<long double> wide = function<long double>(op, x, y)) return static_cast<double>(*wide);
  return std::nullopt;
}

std::optional<std::complex<double>> complexFunction(Op op, std::complex<double> x, std::complex<double> y,
                                                    bool single) {
  if (single) return function<double>(op, x, y);
  const auto wide = function<long double>(op, std::complex<long double>(x.real(), x.imag()),
                                          std::complex<long double>(y.real(), y.imag()));
  if (!wide) return std::nullopt;
  return std::complex<double>(static_cast<double>(wide->real()), static_cast<double>(wide->imag()));
}

std::complex<double> complexProduct(std::complex<double> a, std::complex<double> b, bool single) {
  return single ? fusedProduct<float>(a, b) : fusedProduct<double>(a, b);
}

std::complex<double> plainComplexProduct(std::complex<double> a, std::complex<double> b, bool single) {
  return single ? plainProduct<float>(a, b) : plainProduct<double>(a, b);
}

}  // namespace fw::graph
