// A state, and the token that says which one was in force before, are values of the trace that nothing but these
// functions understands: what else happens to them breaks.
#include "frame_eval/numpy/error_state.h"

#include "frame_eval/numpy/binding.h"
#include "guards/builders.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;
using graph::ErrorRules;

constexpr const char* kState = "NumPy's error state";

Value* make(Trace& trace, ErrorRules rules, PyTypeObject* type) {
  Value* value = trace.make(ValueKind::kOpaque);
  value->cls = Ref::create(reinterpret_cast<PyObject*>(type));
  value->name = kState;
  value->position = static_cast<size_t>(rules.code());
  return value;
}

ErrorRules rulesIn(const Value* value) {
  if (value->kind != ValueKind::kOpaque || value->name != kState) unsupported("an error state that was made elsewhere");
  return ErrorRules::of(static_cast<int64_t>(value->position));
}

/// The variable, if this NumPy keeps its error state as we know; kept for ever.
PyObject* variable() {
  static PyObject* const found = [] {
    const Ref umath = Ref::steal(PyImport_ImportModule("numpy._core.umath"));
    PyObject* object = umath ? PyObject_GetAttrString(umath.get(), "_extobj_contextvar") : nullptr;
    PyErr_Clear();
    if (object && !PyContextVar_CheckExact(object)) Py_CLEAR(object);
    return object;
  }();
  return found;
}

}  // namespace

bool holdsErrorState(PyObject* object) { return object && object == variable(); }

Value* errorStateMethod(Trace& trace, Value* variable, const std::string& name) {
  if (name != "set" && name != "reset") unsupported("this use of " + std::string(kState));
  trace.guard(guards::identityGuard(variable->source, variable->object.get()));
  Value* method = trace.make(ValueKind::kMethod);
  method->items = {nullptr, variable};
  method->name = name;
  return method;
}

Value* callErrorState(Trace& trace, const std::string& method, const CallArgs& args) {
  graph::Graph& g = trace.graph();
  if (args.positional.size() != 1 || !args.keywords.empty()) unsupported("this use of " + std::string(kState));
  const ErrorRules rules = rulesIn(args.positional[0]);
  if (method == "set") {
    Value* token = make(trace, g.errors(), &PyContextToken_Type);
    if (!g.errors().any()) trace.errorsAt = trace.at;
    g.setErrors(rules);
    return token;
  }
  g.setErrors(rules);
  return trace.constant(Py_None);
}

void checkErrorState(Trace& trace) {
  if (!trace.graph().errors().any()) return;
  throw CaptureBreak(BreakReason::kUnsupportedNumpy, "np.errstate around code that Python runs", trace.errorsAt);
}

namespace handlers {

/// The state in force, with these changes.
Value* errorState(Bound& a) {
  if (a.trace.onDevice()) a.refuse("arrays of a device");
  ErrorRules rules = a.trace.graph().errors();
  const auto change = [&](const char* name, int bits) {
    if (absent(a[name])) return;
    const auto mode = textOf(a[name]);
    if (!mode) a.refuse(name);
    rules.ignored &= static_cast<uint8_t>(~bits);
    rules.reported &= static_cast<uint8_t>(~bits);
    (*mode == "ignore" ? rules.ignored : rules.reported) |= static_cast<uint8_t>(bits);
  };
  change("all", ErrorRules::kAll);
  change("invalid", 1);
  change("divide", 2);
  change("over", 4);
  change("under", 8);
  return make(a.trace, rules, &PyCapsule_Type);
}

}  // namespace handlers
}  // namespace fw::capture::numpy
