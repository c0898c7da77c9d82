// Calls of functions of an array library: by the rule that we have for it; else its own Python code is traced, which
// says the same as NumPy's documentation, and says it exactly; else the function is called from compiled code. Where no
// way succeeds the call is Python's, between two regions.
#include "absl/container/inlined_vector.h"
#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/collections.h"
#include "frame_eval/declared_calls.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/library_calls.h"
#include "frame_eval/numpy/examples.h"
#include "frame_eval/policy.h"
#include "frame_eval/refusals.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

/// The Python function that a callable is made of: itself, or what stands behind a dispatcher of NumPy's. Null if it is
/// none.
Ref pythonOf(PyObject* callable) {
  Ref function = Ref::create(callable);
  if (cpython::isArrayFunction(callable)) function = checked(PyObject_GetAttrString(callable, "_implementation"));
  return PyFunction_Check(function.get()) ? function : Ref();
}

/// It stands in a file of NumPy's or CuPy's.
bool isOfArrays(PyObject* function) {
  PyObject* name = PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "__name__");
  return name && PyUnicode_Check(name) && cpython::isNumpyName(text(name));
}

/// What another way may do better with, and what is no business of the user's.
bool isAboutTheWay(const CaptureBreak& b) {
  const bool limit = b.reason == BreakReason::kLoopLimit || b.reason == BreakReason::kInlineLimit;
  return info(b.reason).cls == BreakClass::kUnsupported || limit || b.warns;
}

}  // namespace

Value* LibraryCalls::call(PyObject* callable, const CallArgs& given) {
  if (Py_TYPE(callable) == &PyMethodDescr_Type) return nullptr;  // callMethod
  const Ref python = pythonOf(callable);
  const bool known = numpy::isKnown(callable), called = numpy::hasExamples(callable);
  const bool ofArrays = python && isOfArrays(python.get());
  if (!known && !called && !ofArrays) return nullptr;
  CallArgs args = given;
  for (Value*& value : args.positional) value = Collections{interpreter, trace}.fromQueue(value);
  absl::InlinedVector<LibraryWay, 3> ways;
  if (known) ways.push_back(LibraryWay::kRule);
  // CuPy's are not followed: what they do with memory of the device is not for us to repeat. Code of NumPy and of the
  // user becomes kernels; that of other libraries mostly prepares for a call of theirs.
  if (!trace.onDevice()) {
    const bool first = ofArrays || isAllowedInGraph(callable);
    if (python && first) ways.push_back(LibraryWay::kFollow);
    if (called) ways.push_back(LibraryWay::kCall);
    if (python && !first) ways.push_back(LibraryWay::kFollow);
  }
  if (ways.empty()) trace.fail(BreakReason::kUnsupportedNumpy, calleeName(callable));

  const auto take = [&](size_t way) -> Value* {
    switch (ways[way]) {
      case LibraryWay::kRule: {
        const size_t nodes = trace.graph().size();
        Value* value = numpy::call(trace, callable, args);
        checkRefusals(trace.graph(), nodes);
        return value;
      }
      case LibraryWay::kCall: return numpy::callByExample(trace, callable, args);
      case LibraryWay::kFollow: return interpreter.callFunction(trace.constant(python.get()), args);
    }
    FW_UNREACHABLE();
  };
  return takeWays(callable, ways.size(), take, ways.back() == LibraryWay::kRule ? "" : calleeName(callable));
}

Value* LibraryCalls::takeWays(PyObject* callable, size_t count, const std::function<Value*(size_t)>& take,
                              const std::string& name) {
  auto& frames = interpreter.frames_;
  auto& frame = interpreter.frame_;
  const LibraryWays::Site site{identityOf(callable), frame->code->identity(), frame->pc};
  const size_t way = std::min(trace.ways->tried(site), count - 1);
  const int line = trace.line;
  const size_t depth = frames.size();
  Frame* const caller = frame;
  try {
    return take(way);
  } catch (const CaptureBreak& b) {
    // Whatever library code does that cannot be followed is no concern of who calls it.
    const bool inside = frames.size() > depth;
    if (!isAboutTheWay(b) && !(inside && way + 1 < count)) throw;
    // What code inside of the call does is told of as something that is not compiled.
    LibraryWays::Refusal refusal{b.reason, b.detail};
    if (inside && b.reason != BreakReason::kUnsupportedNumpy)
      refusal = {BreakReason::kUnsupportedNumpy, std::string(info(b.reason).message) + ": " + b.detail};
    if (way + 1 < count && trace.ways->mayRefuse()) {
      trace.ways->refuse(site, std::move(refusal));
      throw WayRefused{};
    }
    if (name.empty()) throw;
    // What stands in a library's files is nothing that the user could change.
    trace.line = line;
    frames.resize(depth);
    frame = caller;
    if (const LibraryWays::Refusal* first = trace.ways->first(site)) refusal = *first;
    trace.fail(refusal.reason, refusal.why.empty() || refusal.why == name ? name : name + ": " + refusal.why);
  }
}

/// By the rule that we have for it, or as a call of the method.
Value* LibraryCalls::callMethod(Value* self, const std::string& name, CallArgs args) {
  if (self->kind == ValueKind::kArray) {
    Ref attribute = cpython::checked(PyUnicode_InternFromString(name.c_str()));
    PyObject* descriptor = lookUp(trace.typeOf(self), attribute.get());
    if (descriptor && declarationOf(descriptor).kind == Declaration::kSmallCall) {
      CallArgs given = args;
      given.positional.insert(given.positional.begin(), self);
      if (Value* result = DeclaredCalls{interpreter, trace}.call(trace.constant(descriptor), given)) return result;
    }
  }
  PyObject* method = self->kind == ValueKind::kArray ? numpy::methodWithExamples(trace, name) : nullptr;
  const auto byRule = [&] {
    if (auto result = numpy::callMethod(trace, self, name, args)) return *result;
    trace.fail(BreakReason::kUnsupportedNumpy, "ndarray." + name);
  };
  if (!method) return byRule();
  const auto take = [&](size_t way) {
    if (way == 0) return byRule();
    CallArgs given = args;
    given.positional.insert(given.positional.begin(), self);
    return numpy::callByExample(trace, method, given);
  };
  return takeWays(method, 2, take, "ndarray." + name);
}

}  // namespace fw::capture
