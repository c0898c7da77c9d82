// One lowering per row of the op table: elementwise operations on element types of the graph become scalar expressions
// of the kernel IR. The declarations and the dispatch table come from the `cpu` column of graph/ops/*.def, so a row
// without a lowering does not link.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/builder.h"

namespace fw::kernels {

/// One element of any type of the graph. Complex: re and im of the part's type. Others: re, which for f16 is an f16
/// expression (loaded or cast), good only for Cast, Bitcast, Select and stores.
struct Value {
  DType dtype = DType::kF64;
  Val re, im;

  bool isComplex() const { return graph::isComplex(dtype); }
};

/// What a lowering works with.
struct Lowering {
  KernelBuilder& b;
  DType result;         ///< type to answer; f32 where the graph says f16 (lowerOp narrows)
  bool half = false;    ///< the operation is one of f16, computed in f32
  bool scalar = false;  ///< the operation is one of NumPy's scalars (rank 0), not of arrays

  bool cupy() const { return b.numbers() == Numbers::kCuPy; }
};

using LowerFn = absl::StatusOr<Value>(Lowering& l, absl::Span<const Value> v);

#define FW_OP(Id, text, arity, cls, loops, result, numpy, cpu, contract, raises, cost) LowerFn lower##cpu;
#include "graph/ops/all.def"

/// `op` on operands of one element each; answers an element of type `result`. kUnimplemented where no exact (or good
/// enough) formula is known. `scalar` says that NumPy works on scalars here, which matters for complex products.
absl::StatusOr<Value> lowerOp(KernelBuilder& b, graph::Op op, DType result, absl::Span<const Value> operands,
                              bool scalar = false);

/// np.ndarray.astype(to, casting="unsafe") of one element.
Value castValue(KernelBuilder& b, const Value& v, DType to);
Value constantValue(KernelBuilder& b, const graph::Scalar& scalar);
/// x != 0 as NumPy's truth of an element.
Val truth(KernelBuilder& b, const Value& v);

// Pieces shared by lowerings and reductions.

Val constantOf(KernelBuilder& b, DType d, double v);  ///< real types; integers must be exact
Val isZero(KernelBuilder& b, Val v);
Val maximum(KernelBuilder& b, Val a, Val b2, bool firstOfEqual);  ///< NaN if one is NaN
Val minimum(KernelBuilder& b, Val a, Val b2, bool firstOfEqual);
/// NumPy's array loops fuse the second product where the machine has FMA; scalars round every product.
Value complexMultiply(KernelBuilder& b, const Value& x, const Value& y, bool fused);
Value complexDivide(KernelBuilder& b, const Value& x, const Value& y);
/// NumPy's array loop takes larger * sqrt(1 + (smaller / larger)^2), its scalars the C library's hypot.
Val complexAbsolute(KernelBuilder& b, const Value& x, bool scalar);
/// Lexicographic order as NumPy defines it: false if an imaginary part that matters is NaN. op is Lt, Le, Gt or Ge.
Val complexCompare(KernelBuilder& b, ScalarOp op, const Value& x, const Value& y);
Val isNanValue(KernelBuilder& b, const Value& v);

}  // namespace fw::kernels
