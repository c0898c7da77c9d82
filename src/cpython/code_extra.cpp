// co_extra is { Py_ssize_t size; void* slots[]; } in 3.11 to 3.13. It is read without a call once initCodeExtra() has
// seen that this agrees with the API, else through the API.
#include "cpython/code_extra.h"

#include "cpython/ref.h"
#include "cpython/version.h"

namespace fw::cpython {

namespace {

struct Extra {
  Py_ssize_t size;
  void* slots[1];
};

Py_ssize_t slot = -1;
bool peekable = false;

int apiSet(PyObject* code, void* pointer) {
#if FW_PY_MINOR == 11
  return _PyCode_SetExtra(code, slot, pointer);
#else
  return PyUnstable_Code_SetExtra(code, slot, pointer);
#endif
}

void* apiGet(PyObject* code) {
  void* pointer = nullptr;
#if FW_PY_MINOR == 11
  int status = _PyCode_GetExtra(code, slot, &pointer);
#else
  int status = PyUnstable_Code_GetExtra(code, slot, &pointer);
#endif
  if (status < 0) PyErr_Clear();
  return status < 0 ? nullptr : pointer;
}

void* peek(PyCodeObject* code) {
  auto* extra = static_cast<Extra*>(code->co_extra);
  return extra && extra->size > slot ? extra->slots[slot] : nullptr;
}

void (*destroyExtra)(void*) = nullptr;
bool probing = false;
void destroy(void* pointer) {
  if (pointer && destroyExtra && !probing) destroyExtra(pointer);
}

}  // namespace

bool initCodeExtra(void (*destroyPointer)(void*)) {
  if (slot >= 0) return true;
#if FW_PY_MINOR == 11
  slot = _PyEval_RequestCodeExtraIndex(destroy);
#else
  slot = PyUnstable_Eval_RequestCodeExtraIndex(destroy);
#endif
  if (slot < 0) {
    PyErr_SetString(PyExc_RuntimeError, "no free slot for extra data of code objects");
    return false;
  }
  destroyExtra = destroyPointer;
  Ref probe = Ref::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty("probe", "probe", 1)));
  if (!probe) return false;
  auto* code = reinterpret_cast<PyCodeObject*>(probe.get());
  bool same = peek(code) == nullptr;
  probing = true;
  if (apiSet(probe.get(), &slot) < 0) {
    probing = false;
    return false;
  }
  same = same && peek(code) == &slot && apiGet(probe.get()) == &slot;
  apiSet(probe.get(), nullptr);
  probing = false;
  peekable = same;
  return true;
}

void* codeExtra(PyCodeObject* code) {
  if (slot < 0) return nullptr;
  return peekable ? peek(code) : apiGet(reinterpret_cast<PyObject*>(code));
}

bool setCodeExtra(PyCodeObject* code, void* pointer) {
  if (slot < 0) {
    PyErr_SetString(PyExc_SystemError, "initCodeExtra() has not been called");
    return false;
  }
  return apiSet(reinterpret_cast<PyObject*>(code), pointer) == 0;
}

}  // namespace fw::cpython
