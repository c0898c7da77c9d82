// How the hook answers for a frame or re-targets it.
//
// A fresh frame is the top of its thread's data stack and has never run: it has no frame object, no stack, no cells. So
// it can be grown or shrunk in place and pointed at other code (no second frame is built), or cleared by giving up its
// references. Who clears it after the evaluation function differs: the caller on 3.11, the evaluation function from
// 3.12 on.
//
// Hooked calls from Python to Python recurse on the C stack, which CPython's C recursion budget was not made for: the
// evaluator is run with a compensated budget as long as the real stack has room, so that the recursion limit that users
// see stays.
#include "cpython/hook.h"

#include <pthread.h>

#include <algorithm>

#include "cpython/code_facts.h"
#include "cpython/frame.h"

namespace fw::cpython {

namespace {

FrameHandler* handler = nullptr;  // guarded by the GIL, as the rest
int installed = 0;
_PyFrameEvalFunction previous = nullptr;  // what ran frames before us
bool weAreSet = false;                    // evaluateFrame is in the interpreter, or below somebody's function
thread_local bool inHandler = false;
thread_local uintptr_t stackFloor = 0;  // lowest address at which hooked calls may still nest

/// Room left for C functions that a Python function at the limit may call.
constexpr size_t kStackReserve = 256 * 1024;

__attribute__((noinline)) uintptr_t findStackFloor() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  // Small thread stacks keep a quarter; an unknown stack (low == 0) answers 1, which always has room.
  stackFloor = reinterpret_cast<uintptr_t>(low) + (low ? std::min(kStackReserve, size / 4) : 1);
  return stackFloor;
}

bool stackHasRoom() {
  uintptr_t floor = stackFloor ? stackFloor : findStackFloor();
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) > floor;
}

template <class Evaluate>
PyObject* withBudget(PyThreadState* state, Evaluate&& evaluate) {
#if FW_PY_MINOR == 11
  // One budget only, the user's recursion limit. If that was raised beyond what the C stack holds, this is the last
  // chance.
  (void)state;
  if (__builtin_expect(!stackHasRoom(), 0)) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
    return nullptr;
  }
  return evaluate();
#else
  // One evaluation takes two units of the C budget; they are given back in advance while there is stack, and all are
  // taken away when there is none, so that the evaluator raises RecursionError itself.
  int saved = state->c_recursion_remaining;
  state->c_recursion_remaining = __builtin_expect(stackHasRoom(), 1) ? saved + 2 : 0;
  PyObject* result = evaluate();
  state->c_recursion_remaining = saved;
  return result;
#endif
}

PyObject* runNested(PyThreadState* state, Frame* frame) {
  return withBudget(state, [&] { return previous(state, frame, 0); });
}

/// Clears a frame that never ran and takes it off the data stack, where that is the evaluation function's duty.
void clearAndPop(PyThreadState* state, Frame* frame) {
#if FW_PY_MINOR == 11
  (void)state, (void)frame;
#elif FW_PY_MINOR == 13
  _PyEval_FrameClearAndPop(state, frame);
#else
  auto** base = reinterpret_cast<PyObject**>(frame);
  --state->c_recursion_remaining;  // destructors below run Python code; CPython counts this level too
  for (int i = 0; i < frame->stacktop; ++i) Py_XDECREF(frame->localsplus[i]);
  Py_XDECREF(frame->f_locals);
  Py_DECREF(frame->f_funcobj);
  Py_DECREF(frame->f_code);
  ++state->c_recursion_remaining;
  _PyStackChunk* chunk = state->datastack_chunk;
  if (__builtin_expect(base != &chunk->data[0], 1)) {
    state->datastack_top = base;
    return;
  }
  // The first frame of a chunk takes the chunk with it; the root chunk is never empty, so there is one below.
  _PyStackChunk* below = chunk->previous;
  state->datastack_top = &below->data[below->top];
  state->datastack_chunk = below;
  state->datastack_limit = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(below) + below->size);
  PyObjectArenaAllocator allocator;
  PyObject_GetArenaAllocator(&allocator);
  allocator.free(allocator.ctx, chunk, chunk->size);
#endif
}

bool retarget(PyThreadState* state, Frame* frame, PyCodeObject* code) {
  PyCodeObject* old = codeOf(frame);
  int arguments = boundArguments(old);
  if (boundArguments(code) != arguments || code->co_nfreevars != old->co_nfreevars) return false;
  auto** base = reinterpret_cast<PyObject**>(frame);
  int oldWords = frameWords(old), words = frameWords(code);
  if (state->datastack_top != base + oldWords) return false;
  if (words > oldWords && state->datastack_limit - base <= words) return false;
  state->datastack_top = base + words;
  for (int i = arguments; i < code->co_nlocalsplus; ++i) frame->localsplus[i] = nullptr;
  setCode(frame, code);
  return true;
}

bool isOurs(PyThreadState* state, Frame* frame) {
  if (!handler || installed == 0 || inHandler) return false;
  int flags = codeOf(frame)->co_flags;
  constexpr int kPlain = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
  return (flags & kPlain) == kPlain && !(flags & kSuspends) && !frame->f_locals && atStart(frame) && !isTraced(state);
}

/// Asks the handler and does what it says; true if *result is the answer of the call. Not inlined, so that nested calls
/// do not carry its locals on the C stack.
__attribute__((noinline)) bool decide(PyThreadState* state, Frame* frame, PyObject** result) {
  PyCodeObject* code = codeOf(frame);
  inHandler = true;
  HookDecision decision = handler->onFrame({functionOf(frame), code, frame->localsplus, boundArguments(code)});
  inHandler = false;
  if (decision.kind == HookDecision::Kind::kReturn) {
    *result = decision.value.release();
    if (!*result && !PyErr_Occurred())
      PyErr_SetString(PyExc_SystemError, "a compiled call failed without an exception");
    clearAndPop(state, frame);
    return true;
  }
  if (__builtin_expect(PyErr_Occurred() != nullptr, 0)) PyErr_Clear();
  if (decision.kind == HookDecision::Kind::kReplace)
    retarget(state, frame, reinterpret_cast<PyCodeObject*>(decision.code.get()));
  if (!decision.watch) return false;
  *result = runNested(state, frame);
  if (*result) decision.watch->returned();
  return true;
}

PyObject* evaluateFrame(PyThreadState* state, Frame* frame, int throwing) {
  // Resumed generators are not nested more deeply by the hook and do not pay for the compensation.
  if (throwing || frame->owner != FRAME_OWNED_BY_THREAD) return previous(state, frame, throwing);
  PyObject* result = nullptr;
  if (isOurs(state, frame) && decide(state, frame, &result)) return result;
  return runNested(state, frame);
}

}  // namespace

void setFrameHandler(FrameHandler* next) { handler = next; }

void installHook() {
  if (installed++ > 0 || weAreSet) return;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluateFrame);
  weAreSet = true;
}

void uninstallHook() {
  if (--installed > 0) return;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  // Somebody who installed his function after us calls ours; it stays and passes frames on.
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluateFrame) return;
  // `previous` is kept: frames that entered the hook before are still on the stack and in other threads.
  _PyInterpreterState_SetEvalFrameFunc(interpreter, previous);
  weAreSet = false;
}

PyObject* callNested(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  return withBudget(PyThreadState_Get(), [&] { return PyObject_Vectorcall(callable, args, nargsf, keywordNames); });
}

int hookInstallCount() { return installed; }

}  // namespace fw::cpython
