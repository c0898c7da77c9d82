// Reads CPython's own frame chain; no frame object is made.
#include "cpython/current_frame.h"

#include "cpython/frame.h"

namespace fw::cpython {

CurrentFrame currentFrame() {
  PyThreadState* state = PyThreadState_Get();
#if FW_PY_MINOR == 13
  Frame* frame = state->current_frame;
#else
  Frame* frame = state->cframe->current_frame;
#endif
  // From 3.12 on, an owner behind these is no Python frame but the evaluator's own entry on the C stack.
  if (!frame || frame->owner > FRAME_OWNED_BY_FRAME_OBJECT) return {nullptr, nullptr, nullptr};
  return {functionOf(frame), codeOf(frame), frame->localsplus};
}

bool isThreadTraced() { return isTraced(PyThreadState_Get()); }

}  // namespace fw::cpython
