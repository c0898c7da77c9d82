// Transcendental functions and complex arithmetic of the reference evaluator. f32 goes through libm in double, f64
// through libm in long double, each rounded once at the end, so that results are correctly rounded but for rare ties of
// the wider type.
#include <cmath>

#include "graph/evaluator_scalar.h"
#include "graph/op_groups.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

template <class W>
W function(MathOp op, W x, W y) {
  switch (op) {
    case MathOp::kCbrt: return std::cbrt(x);
    case MathOp::kErf: return std::erf(x);
    case MathOp::kErfc: return std::erfc(x);
    case MathOp::kExp: return std::exp(x);
    case MathOp::kExp2: return std::exp2(x);
    case MathOp::kExpm1: return std::expm1(x);
    case MathOp::kLog: return std::log(x);
    case MathOp::kLog2: return std::log2(x);
    case MathOp::kLog10: return std::log10(x);
    case MathOp::kLog1p: return std::log1p(x);
    case MathOp::kSin: return std::sin(x);
    case MathOp::kCos: return std::cos(x);
    case MathOp::kTan: return std::tan(x);
    case MathOp::kArcsin: return std::asin(x);
    case MathOp::kArccos: return std::acos(x);
    case MathOp::kArctan: return std::atan(x);
    case MathOp::kArctan2: return std::atan2(x, y);
    case MathOp::kSinh: return std::sinh(x);
    case MathOp::kCosh: return std::cosh(x);
    case MathOp::kTanh: return std::tanh(x);
    case MathOp::kHypot: return std::hypot(x, y);
    case MathOp::kPower: return std::pow(x, y);
  }
  FW_UNREACHABLE();
}

template <class W>
std::optional<std::complex<W>> function(MathOp op, std::complex<W> x, std::complex<W> y) {
  switch (op) {
    case MathOp::kExp: return std::exp(x);
    case MathOp::kExp2: return std::exp(x * std::log(W{2}));
    case MathOp::kExpm1: {
      const W half = std::sin(x.imag() / 2);
      return std::complex<W>(std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
                             std::exp(x.real()) * std::sin(x.imag()));
    }
    case MathOp::kLog: return std::log(x);
    case MathOp::kLog2: return std::log(x) / std::log(W{2});
    case MathOp::kLog10: return std::log10(x);
    case MathOp::kLog1p:
      return std::complex<W>(std::log(std::hypot(x.real() + 1, x.imag())), std::atan2(x.imag(), x.real() + 1));
    case MathOp::kSin: return std::sin(x);
    case MathOp::kCos: return std::cos(x);
    case MathOp::kTan: return std::tan(x);
    case MathOp::kArcsin: return std::asin(x);
    case MathOp::kArccos: return std::acos(x);
    case MathOp::kArctan: return std::atan(x);
    case MathOp::kSinh: return std::sinh(x);
    case MathOp::kCosh: return std::cosh(x);
    case MathOp::kTanh: return std::tanh(x);
    case MathOp::kPower: return std::pow(x, y);
    case MathOp::kCbrt:
    case MathOp::kErf:
    case MathOp::kErfc:
    case MathOp::kArctan2:
    case MathOp::kHypot: return std::nullopt;  // of real numbers only
  }
  FW_UNREACHABLE();
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
  const std::optional<MathOp> row = mathOp(op);
  if (!row) return std::nullopt;
  return single ? function<double>(*row, x, y) : static_cast<double>(function<long double>(*row, x, y));
}

std::optional<std::complex<double>> complexFunction(Op op, std::complex<double> x, std::complex<double> y,
                                                    bool single) {
  const std::optional<MathOp> row = mathOp(op);
  if (!row) return std::nullopt;
  if (single) return function<double>(*row, x, y);
  const auto wide = function<long double>(*row, std::complex<long double>(x.real(), x.imag()),
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
