// One element of one op: the definition that the reference evaluator and constant folding share.
#pragma once

#include <complex>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace fw::graph {

/// op(in...) for an elementwise row, operands in the loop's types; `result` is the node's element type. Where NumPy
/// raises (integers to negative powers) or we do not know its result bit for bit, an error.
absl::StatusOr<Scalar> evaluateElement(Op op, absl::Span<const Scalar> in, DType result);

/// NumPy's astype(casting="unsafe") on x86-64.
Scalar castElement(const Scalar& value, DType to);

/// The transcendental rows, correctly rounded up to the error of libm in the next wider type; nullopt for other ops.
std::optional<double> realFunction(Op op, double x, double y, bool single);
std::optional<std::complex<double>> complexFunction(Op op, std::complex<double> x, std::complex<double> y, bool single);

/// a * b as NumPy's array loops compute it: one product fused into the sum.
std::complex<double> complexProduct(std::complex<double> a, std::complex<double> b, bool single);
/// a * b as NumPy's scalars and its inner reduction loop compute it.
std::complex<double> plainComplexProduct(std::complex<double> a, std::complex<double> b, bool single);

}  // namespace fw::graph
