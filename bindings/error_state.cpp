// np.geterr() costs about a microsecond; it is asked only for calls that raised a flag, which exclude inexact.
#include "bindings/error_state.h"

#include "cpython/ref.h"
#include "jit/executable.h"

namespace fw::bindings {
namespace {

PyObject* geterr = nullptr;   // numpy.geterr, owned for the life of the process

constexpr struct {
  int32_t bit;
  const char* name;
} kFlags[] = {{jit::kStatusInvalid, "invalid"},
              {jit::kStatusDivide, "divide"},
              {jit::kStatusOverflow, "over"},
              {jit::kStatusUnderflow, "under"}};

}  // namespace

bool initializeErrorState() {
  cpython::Ref numpy = cpython::Ref::steal(PyImport_ImportModule("numpy"));
  if (!numpy) return false;
  geterr = PyObject_GetAttrString(numpy.get(), "geterr");
  return geterr != nullptr;
}

bool mustReport(int32_t status) {
  if (status & jit::kStatusDecline) return true;
  cpython::Ref state = cpython::Ref::steal(PyObject_CallNoArgs(geterr));
  bool report = !state;
  for (const auto& flag : kFlags) {
    if (report || !(status & flag.bit)) continue;
    PyObject* mode = PyDict_GetItemString(state.get(), flag.name);
    report = !mode || PyUnicode_CompareWithASCIIString(mode, "ignore") != 0;
  }
  PyErr_Clear();
  return report;
}

}  // namespace fw::bindings
