// Products of vectors and matrices, inverses, solutions: by the loops that NumPy's own functions run on them, in the
// way that they run them: the same bits, without what stands around the loops, which takes longer than small matrices
// do.
#pragma once

#include <Python.h>

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "bindings/direct_orders.h"
#include "cpython/numpy_api.h"
#include "frame_eval/library_call.h"
#include "numpy/ufuncobject.h"
#include "runtime/calls.h"
#include "runtime/context.h"

namespace fw::bindings {

class DirectLoop {
 public:
  /// What computes the calls of the site; nullopt where a call of the function has to. Needs the GIL.
  static std::optional<DirectLoop> of(const capture::LibraryCall& site);

  /// Memory of the sizes and strides of a result; null if there is none.
  using Memory = absl::FunctionRef<void*(const runtime::CallArray& result)>;

  /// Of two vectors, a number: NumPy's function for it (runtime::CallShortcut); no function if it computes other
  /// things.
  runtime::CallShortcut ofVectors() const;

  /// Writes the results to memory that it asks for when it knows that it can. False: the function is to be called,
  /// which knows what to report, or does it in another way. Needs no lock.
  bool compute(absl::Span<const runtime::CallArray> operands, absl::Span<const runtime::CallArray> results,
               Memory memory) const;

 private:
  bool run(absl::Span<const runtime::CallArray> operands, absl::Span<const runtime::CallArray> results,
           Memory memory) const;
  bool dot(const runtime::CallArray& left, const runtime::CallArray& right, void* out) const;
  bool sort(const runtime::CallArray& array, void* out) const;

  const PyUFuncObject* ufunc_ = nullptr;  ///< a generalised one, which lives as long as NumPy; or else
  int loop_ = 0;                          ///< number of its loop
  unsigned reported_ = 0;                 ///< conditions that the function looks for, as bits of MXCSR
  PyArray_DotFunc* dot_ = nullptr;
  PyArray_DotFunc* vectors_ = nullptr;  ///< what np.dot and np.matmul do with vectors
  int64_t item_ = 0;                    ///< bytes of an element of theirs
  DirectMedian* median_ = nullptr;
  std::optional<double> place_;  ///< of a quantile
  PyArray_SortFunc* sort_ = nullptr;
  PyArray_ArgSortFunc* argsort_ = nullptr;
};

}  // namespace fw::bindings
