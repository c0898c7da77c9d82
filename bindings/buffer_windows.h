// What backends that run Python share: arrays over the memory of a call, and errors as text.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cpython/numpy_api.h"
#include "cpython/ref.h"
#include "graph/graph.h"

namespace fw::bindings {

/// Values of these expressions under the symbols of a call.
std::vector<npy_intp> evaluated(const graph::SymContext& syms, absl::Span<const graph::SymId> ids,
                                absl::Span<const int64_t> symbols);

/// A writeable array of this shape and these strides (in bytes) over `data`, which it does not own: for the time of the
/// call only.
cpython::Ref windowOf(graph::DType dtype, const std::vector<npy_intp>& shape, const std::vector<npy_intp>& strides,
                      void* data);

/// "ValueError: text" of the pending exception, which is cleared; a wish to leave passes on as PythonError.
std::string takeError();

/// Reports, once per flag, that a backend failed and Python runs instead. Floating-point conditions that the user's
/// error state raises for are NumPy's to report.
void reportFailure(const std::string& backend, const std::string& why, bool& reported);

class GilScope {
 public:
  GilScope() : state_(PyGILState_Ensure()) {}
  ~GilScope() { PyGILState_Release(state_); }
  GilScope(const GilScope&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace fw::bindings
