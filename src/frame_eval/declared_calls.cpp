// What a declaration makes of a call. graph_break and functions that steer Fusewire are breaks of their own kind, a
// substitute is inlined in place of the original, and a function declared constant is called here and now: the one
// place where capture runs user code, because the user has said that it may.
#include "frame_eval/declared_calls.h"

#include <algorithm>

#include "frame_eval/library_ways.h"
#include "frame_eval/numpy/binding.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/policy.h"

namespace fw::capture {

using cpython::checked;

Value* DeclaredCalls::call(Value* callable, CallArgs& args) {
  PyObject* object = callable->object.get();
  if (numpy::isMethodOfUfunc(object)) return methodOfUfunc(object, args);
  const Declared declared = declarationOf(object);
  switch (declared.kind) {
    case Declaration::kNone: return nullptr;
    case Declaration::kAllowInGraph:
      if (!declared.replacement || numpy::isKnown(object)) return nullptr;
      return interpreter.callConstant(trace.constant(declared.replacement), std::move(args));
    case Declaration::kGraphBreak:
    case Declaration::kLeftToNumpy: {
      std::string why;
      for (Value* value : args.positional)
        if (Ref text = trace.asObject(value); text && PyUnicode_Check(text.get()))
          if (const char* s = PyUnicode_AsUTF8(text.get())) why = s;
      trace.fail(declared.kind == Declaration::kGraphBreak ? BreakReason::kGraphBreak : BreakReason::kUnsupportedNumpy,
                 why);
    }
    case Declaration::kControl: trace.fail(BreakReason::kControl, calleeName(object));
    case Declaration::kSubstitute:
      return interpreter.callConstant(trace.constant(declared.replacement), std::move(args));
    case Declaration::kStandsForNumpy: {
      const int line = trace.line;
      try {
        return interpreter.callConstant(trace.constant(declared.replacement), std::move(args));
      } catch (const CaptureBreak&) {
        trace.line = line;
        throw;
      }
    }
    case Declaration::kSmallCall: return smallCall(callable, declared.replacement, args);
    case Declaration::kAsWithout: {
      Value* function = args.positional.at(0);
      args.positional.erase(args.positional.begin());
      return interpreter.callConstant(function, std::move(args), false);
    }
    case Declaration::kAssumeConstant: return assumeConstant(object, args);
  }
  return nullptr;
}

Ref functionOfOurs(const char* module, const char* name) {
  const Ref found = checked(PyImport_ImportModule(module));
  return checked(PyObject_GetAttrString(found.get(), name));
}

/// A function of _places.py, in a loop: elsewhere NumPy is as fast. `others` may be arrays, but share no memory with
/// it.
Value* DeclaredCalls::atPlaces(const char* name, Value* array, Value* index, absl::Span<Value* const> others,
                               std::vector<Value*> arguments) {
  if (trace.turns.bodies == 0 || !numpy::arePlaces(trace, array, index)) return nullptr;
  const auto shares = [&](Value* value) { return numpy::mayShareMemory(trace, array, value); };
  if (std::any_of(others.begin(), others.end(), shares)) return nullptr;
  const Ref function = functionOfOurs("fusewire._places", name);
  return smallCall(trace.constant(function.get()), function.get(), {std::move(arguments), {}});
}

/// np.add.at(array, index, ...)
Value* DeclaredCalls::methodOfUfunc(PyObject* method, const CallArgs& args) {
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(method)->m_ml->ml_name;
  if (name != "at" || !args.keywords.empty() || args.positional.size() < 2) return nullptr;
  std::vector<Value*> given = args.positional;
  given.insert(given.begin(), trace.constant(PyCFunction_GET_SELF(method)));
  return atPlaces("at", args.positional[0], args.positional[1], absl::MakeSpan(args.positional).subspan(2),
                  std::move(given));
}

bool DeclaredCalls::storeAtPlaces(Value* array, Value* index, Value* value) {
  return atPlaces("setitem", array, index, {value}, {array, index, value}) != nullptr;
}

Value* DeclaredCalls::smallCall(Value* callable, PyObject* replacement, const CallArgs& args) {
  // The function's own ways are told apart by the function alone.
  const LibraryWays::Site site{
      {callable->object.get(), replacement}, interpreter.frame_->code->object(), interpreter.frame_->pc};
  if (trace.ways->tried(site) > 0) return nullptr;
  const int line = trace.line;
  try {
    return interpreter.callConstant(trace.constant(replacement), args);
  } catch (const CaptureBreak& b) {
    if (trace.ways->mayRefuse()) {
      trace.ways->refuse(site, {b.reason, b.detail});
      throw WayRefused{};
    }
    trace.line = line;
    throw;
  }
}

/// The object behind an argument, guarded so that the call would get the same again.
Ref DeclaredCalls::constantOf(Value* value) {
  if (Ref object = trace.asObject(value)) return object;
  if (Value* number = trace.specializeNumber(value)) return number->object;
  if (value->kind == ValueKind::kObject && value->source.valid())
    return trace.guardedConstant(value->source, value->object.get(), guards::GuardKind::kIdentity)->object;
  trace.fail(BreakReason::kUnsupportedCall,
             "an argument of a function declared with assume_constant_result is not constant");
}

Value* DeclaredCalls::assumeConstant(PyObject* function, const CallArgs& args) {
  if (PyFunction_Check(function)) interpreter.codeOf(trace.constant(function));  // guards its code
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), constantOf(args.positional[i]).release());
  Ref keywords = checked(PyDict_New());
  for (const auto& [name, value] : args.keywords)
    checked(PyDict_SetItemString(keywords.get(), name.c_str(), constantOf(value).get()));
  Ref result = Ref::steal(PyObject_Call(function, positional.get(), keywords.get()));
  if (!result) {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) || PyErr_ExceptionMatches(PyExc_SystemExit))
      throw cpython::PythonError();
    PyErr_Clear();
    trace.fail(BreakReason::kPythonException, calleeName(function) + " raises while its result is taken as a constant");
  }
  // An array or an object is read like any that exists outside the trace; its place in the sources keeps it alive.
  return trace.fromSource(trace.sources().intern(guards::SourceKind::kConst, {}, guards::kPinned, result.get()),
                          result.get());
}

}  // namespace fw::capture
