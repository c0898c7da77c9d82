// Callable objects of types written in C that were there before: partials, getters of `operator`, staticmethods. Their
// parts are read through guarded sources, or known for good because nothing can change them. (Those that the trace
// makes: callMade().)
#include <algorithm>

#include "frame_eval/caches.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;
using guards::SourceKind;

namespace {

/// The type `name` of the C module, as the module was found first; null if there is none.
PyObject* moduleType(const char* module, const char* name) {
  Ref key = checked(PyUnicode_InternFromString(module));
  PyObject* found = PyDict_GetItemWithError(PyImport_GetModuleDict(), key.get());
  PyObject* type = found && PyModule_CheckExact(found) ? PyDict_GetItemString(PyModule_GetDict(found), name) : nullptr;
  bool ofC =
      type && PyType_Check(type) && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(type), Py_TPFLAGS_BASETYPE);
  bool partial = type && std::string_view(name) == "partial" && PyType_Check(type);  // may be inherited from
  return ofC || partial ? Py_NewRef(type) : nullptr;
}

bool isGetter(PyTypeObject* type) {
  static PyObject* const kTypes[] = {moduleType("_operator", "itemgetter"), moduleType("_operator", "attrgetter"),
                                     moduleType("_operator", "methodcaller")};
  for (PyObject* one : kTypes) {
    if (one && one == reinterpret_cast<PyObject*>(type)) return true;
  }
  return false;
}

bool isPartial(PyTypeObject* type) {
  static PyObject* const partial = moduleType("_functools", "partial");
  return partial && partial == reinterpret_cast<PyObject*>(type);
}

}  // namespace

/// Call of such an object; null if it is none.
Value* Interpreter::callFound(Value* callable, const CallArgs& args) {
  PyTypeObject* type = Py_TYPE(callable->object.get());
  if (type == &PyStaticMethod_Type) {
    (void)trace_.typeOf(callable);
    return callRaw(memberOf(callable, "__func__"), args);
  }
  if (Caches::isCachedFunction(type)) return Caches{*this, trace_}.call(callable, args);
  if (isPartial(type)) {
    (void)trace_.typeOf(callable);
    std::vector<Value*> positional = iterate(trace_.open(memberOf(callable, "args")));
    Value* keywords = trace_.open(memberOf(callable, "keywords"));
    if (keywords->kind != ValueKind::kDict)
      trace_.fail(BreakReason::kUnsupportedCall, "functools.partial with these keywords");
    CallArgs all{.positional = std::move(positional), .keywords = {}};
    all.positional.insert(all.positional.end(), args.positional.begin(), args.positional.end());
    for (size_t i = 0; i < keywords->keys.size(); ++i) {
      std::string key = text(keywords->keys[i]->object.get());
      Value* value = keywords->items[i];
      for (auto& [given, replacement] : args.keywords) {
        if (given == key) value = replacement;
      }
      all.keywords.emplace_back(std::move(key), value);
    }
    for (auto& keyword : args.keywords) {
      auto named = [&](const auto& other) { return other.first == keyword.first; };
      if (std::none_of(all.keywords.begin(), all.keywords.end(), named)) all.keywords.push_back(keyword);
    }
    return callRaw(memberOf(callable, "func"), std::move(all));
  }
  if (!isGetter(type)) return nullptr;
  // Immutable: what it was made of says everything, and its identity guards that.
  trace_.guard(guards::identityGuard(callable->source, callable->object.get()));
  Ref reduced = checked(PyObject_CallMethod(callable->object.get(), "__reduce__", nullptr));
  PyObject* parts = PyTuple_CheckExact(reduced.get()) && PyTuple_GET_SIZE(reduced.get()) == 2
                        ? PyTuple_GET_ITEM(reduced.get(), 1)
                        : nullptr;
  if (!parts || PyTuple_GET_ITEM(reduced.get(), 0) != reinterpret_cast<PyObject*>(type) || !isPlain(parts)) {
    trace_.fail(BreakReason::kUnsupportedCall, std::string(type->tp_name) + " object");
  }
  Value* made = trace_.make(ValueKind::kOpaque);
  made->cls = Ref::create(reinterpret_cast<PyObject*>(type));
  made->name = type->tp_name;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); ++i)
    made->items.push_back(trace_.constant(PyTuple_GET_ITEM(parts, i)));
  return callMade(made, args);
}

/// A member that the object always has, as it lies there.
Value* Interpreter::memberOf(Value* object, const char* name) {
  Ref key = internedName(name);
  Ref value = checked(PyObject_GenericGetAttr(object->object.get(), key.get()));
  return trace_.fromSource(trace_.sources().intern(SourceKind::kAttr, object->source, 0, key.get()), value.get());
}

}  // namespace fw::capture
