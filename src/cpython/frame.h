// CPython's internal frames under one set of names for 3.11, 3.12 and 3.13. Only files of this folder include it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

#include "cpython/version.h"

#include <cstdint>
#include <cstring>

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED  // gh-105268: core and non-core headers define it both
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if FW_PY_MINOR >= 12
#undef HAVE_STD_ATOMIC  // stdatomic.h is C only; the same layouts come with the compiler's builtins
#include <internal/pycore_interp.h>
#endif
#undef Py_BUILD_CORE

#if FW_PY_MINOR == 13
extern "C" PyAPI_FUNC(void) _PyEval_FrameClearAndPop(PyThreadState*, struct _PyInterpreterFrame*);
#endif

namespace fw::cpython {

using Frame = _PyInterpreterFrame;

inline PyCodeObject* codeOf(Frame* frame) {
#if FW_PY_MINOR == 13
  return reinterpret_cast<PyCodeObject*>(frame->f_executable);
#else
  return frame->f_code;
#endif
}

inline PyFunctionObject* functionOf(Frame* frame) {
#if FW_PY_MINOR == 11
  return frame->f_func;
#else
  return reinterpret_cast<PyFunctionObject*>(frame->f_funcobj);
#endif
}

/// Words that a frame of this code takes on the data stack.
inline int frameWords(PyCodeObject* code) {
#if FW_PY_MINOR == 11
  return code->co_nlocalsplus + code->co_stacksize + static_cast<int>(FRAME_SPECIALS_SIZE);
#else
  return code->co_framesize;
#endif
}

/// Whether no instruction of the frame has run.
inline bool atStart(Frame* frame) {
#if FW_PY_MINOR == 13
  return frame->instr_ptr == _PyCode_CODE(codeOf(frame));
#else
  return frame->prev_instr == _PyCode_CODE(codeOf(frame)) - 1;
#endif
}

/// Points a fresh frame at the first instruction of `code`; takes a reference to it and gives the old one up.
inline void setCode(Frame* frame, PyCodeObject* code) {
  auto* old = reinterpret_cast<PyObject*>(codeOf(frame));
  Py_INCREF(code);
#if FW_PY_MINOR == 13
  frame->f_executable = reinterpret_cast<PyObject*>(code);
  frame->instr_ptr = _PyCode_CODE(code);
#else
  frame->f_code = code;
  frame->prev_instr = _PyCode_CODE(code) - 1;
#endif
  frame->stacktop = code->co_nlocalsplus;
  Py_DECREF(old);
}

/// Whether a tracer, profiler or tool of sys.monitoring watches the thread, or its callback is running.
inline bool isTraced(PyThreadState* state) {
#if FW_PY_MINOR == 11
  return state->tracing || state->cframe->use_tracing;
#else
  // One byte per event with a bit per tool; the two words overlap, since their number is no multiple of eight.
  constexpr size_t kEvents = sizeof(_Py_GlobalMonitors);
  static_assert(kEvents >= 8 && kEvents <= 16);
  const auto* tools = reinterpret_cast<const char*>(&state->interp->monitors);
  uint64_t first, last;
  std::memcpy(&first, tools, 8);
  std::memcpy(&last, tools + kEvents - 8, 8);
  return state->tracing || (first | last);
#endif
}

}  // namespace fw::cpython
