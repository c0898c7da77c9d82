#include "bindings/buffer_windows.h"

#include <utility>

#include "graph/support/check.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using cpython::checked;
using cpython::PythonError;
using cpython::Ref;

std::vector<npy_intp> evaluated(const graph::SymContext& syms, absl::Span<const graph::SymId> ids,
                                absl::Span<const int64_t> symbols) {
  std::vector<npy_intp> values;
  for (graph::SymId id : ids) {
    auto value = syms.evaluate(id, symbols);
    FW_CHECK(value.ok());
    values.push_back(static_cast<npy_intp>(*value));
  }
  return values;
}

/// Arrays without elements may be nowhere, which NumPy would take for an order to allocate.
Ref windowOf(graph::DType dtype, const std::vector<npy_intp>& shape, const std::vector<npy_intp>& strides, void* data) {
  alignas(16) static char nothing[16];
  if (!data) data = nothing;
  return checked(PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(graph::info(dtype).numpyChar),
                                      static_cast<int>(shape.size()), const_cast<npy_intp*>(shape.data()),
                                      const_cast<npy_intp*>(strides.data()), data, NPY_ARRAY_WRITEABLE, nullptr));
}

std::string takeError() {
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) || PyErr_ExceptionMatches(PyExc_SystemExit)) throw PythonError();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Ref t = Ref::steal(type), v = Ref::steal(value), tb = Ref::steal(trace);
  Ref text = Ref::steal(value ? PyObject_Str(value) : nullptr);
  const char* chars = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  const std::string name = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  return name + (chars && *chars ? std::string(": ") + chars : "");
}

void reportFailure(const std::string& backend, const std::string& why, bool& reported) {
  if (why.rfind("FloatingPointError", 0) == 0 || std::exchange(reported, true)) return;
  report(Channel::kGraphBreaks, "backend_failed", "backend '" + backend + "' failed, Python runs instead: " + why,
         {{"backend", backend}, {"error", why}});
}

}  // namespace fw::bindings
