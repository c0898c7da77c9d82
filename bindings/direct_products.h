// Products of vectors and matrices by the loops that NumPy's own functions run on them, in the way that they run them:
// the same bits, without what stands around the loops, which takes longer than the product of short vectors.
#pragma once

#include <Python.h>

#include <optional>

#include "cpython/numpy_api.h"
#include "frame_eval/library_call.h"
#include "numpy/ufuncobject.h"
#include "runtime/calls.h"

namespace fw::bindings {

class DirectProduct {
 public:
  /// What computes the calls of the site; nullopt where a call of the function has to. Needs the GIL.
  static std::optional<DirectProduct> of(const capture::LibraryCall& site);

  /// Writes the product to `out`, which has the sizes and strides of `result`. False: the function is to be called,
  /// which knows what to report, or does it in another way. Needs no lock.
  bool compute(const runtime::CallArray& left, const runtime::CallArray& right, const runtime::CallArray& result,
               void* out) const;

 private:
  bool multiply(const runtime::CallArray& left, const runtime::CallArray& right, const runtime::CallArray& result,
                void* out) const;
  bool dot(const runtime::CallArray& left, const runtime::CallArray& right, void* out) const;

  PyUFuncGenericFunction loop_ = nullptr;  ///< of np.matmul; or else
  void* loopData_ = nullptr;
  PyArray_DotFunc* dot_ = nullptr;
};

}  // namespace fw::bindings
