#include "frame_eval/policy.h"

#include "absl/container/flat_hash_set.h"
#include "cpython/ref.h"

namespace fw::capture {
namespace {

// Both are guarded by the GIL.
absl::flat_hash_set<PyObject*>& disabledCodes() {
  static auto* set = new absl::flat_hash_set<PyObject*>;
  return *set;
}
PyObject* isCompilingFunction = nullptr;
UnwrapHook unwrapHook = nullptr;

}  // namespace

void disableCode(PyObject* code) {
  if (disabledCodes().insert(code).second) Py_INCREF(code);
}
bool isDisabled(PyObject* code) { return disabledCodes().contains(code); }

void setIsCompiling(PyObject* function) { isCompilingFunction = Py_NewRef(function); }
bool isIsCompiling(PyObject* object) { return object == isCompilingFunction; }


void setUnwrapHook(UnwrapHook hook) { unwrapHook = hook; }
PyObject* unwrapCompiled(PyObject* object) { return unwrapHook ? unwrapHook(object) : nullptr; }

}  // namespace fw::capture
