// Functions of the standard library written in Python that are answered here instead of being inlined: copy.copy and
// copy.deepcopy, whose memo is keyed by addresses. And what of the library is never followed: input and output.
#include "frame_eval/builtins.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/keys.h"
#include "frame_eval/nesting.h"
#include "frame_eval/sets.h"
#include "frame_eval/type_lookups.h"

namespace fw::capture {

using cpython::checked;

namespace {

/// Whether this is `module.name` of the module that sys.modules holds, by its globals.
bool isLibraryFunction(PyObject* function, const char* module, const char* name) {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  if (PyUnicode_CompareWithASCIIString(f->func_qualname, name) != 0) return false;
  PyObject* loaded = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  return loaded && PyModule_CheckExact(loaded) && f->func_globals == PyModule_GetDict(loaded) &&
         PyDict_GetItemString(f->func_globals, name) == function;
}

/// A class that leaves copying to object.__reduce_ex__, with all state in attributes.
bool copiesPlainly(PyTypeObject* type) {
  for (const char* name : {"__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
                           "__getnewargs__", "__getnewargs_ex__"}) {
    Ref key = checked(PyUnicode_InternFromString(name));
    if (lookUp(type, key.get()) != lookUp(&PyBaseObject_Type, key.get())) return false;
  }
  return true;
}

}  // namespace

struct Copier {
  Interpreter& in;
  Trace& trace;
  bool deep;
  absl::flat_hash_map<Value*, Value*> memo;

  [[noreturn]] void refuse(const std::string& what) const {
    trace.fail(BreakReason::kUnsupportedCall, std::string(deep ? "copy.deepcopy" : "copy.copy") + "() of " + what);
  }

  Value* part(Value* value) { return deep ? copy(trace.open(value)) : value; }

  Value* copy(Value* value) {
    Nesting nesting(trace);
    trace.open(value);
    if (auto it = memo.find(value); it != memo.end()) {
      if (!it->second) refuse("an object that contains itself");
      return it->second;
    }
    Value* made = fresh(value);
    return memo[value] = made;
  }

  Value* fresh(Value* value) {
    if (value->isNumeric() && value->kind != ValueKind::kArray) return value;
    std::string type = trace.typeOf(value)->tp_name;
    switch (value->kind) {
      case ValueKind::kConstant: {
        PyObject* o = value->object.get();
        bool atomic =
            isPlain(o) || PyFunction_Check(o) || PyCFunction_Check(o) || Py_TYPE(o) == &PyType_Type || PyRange_Check(o);
        if (!atomic) refuse("a " + type);
        return value;
      }
      case ValueKind::kFunction: return value;
      case ValueKind::kArray:
        return in.call(in.getAttribute(value, interned("copy")),
                       {.positional = {}, .keywords = {{"order", text("K")}}});
      case ValueKind::kTuple: {
        if (value->cls && !copiesAsTuple(trace.typeOf(value))) refuse("a " + type);
        if (!deep && !value->cls) return value;
        std::vector<Value*> items;
        bool same = true;
        for (Value* item : value->items) {
          items.push_back(part(item));
          same &= items.back() == item;
        }
        if (same && !value->cls) return value;
        Value* made = trace.tuple(std::move(items));
        made->cls = value->cls;
        return made;
      }
      case ValueKind::kList: {
        Value* made = trace.list({});
        memo[value] = nullptr;  // lists may contain themselves: not followed
        for (Value* item : std::vector<Value*>(value->items)) made->items.push_back(part(item));
        return made;
      }
      case ValueKind::kDeque: {
        Value* made = trace.make(ValueKind::kDeque);
        made->position = value->position;
        memo[value] = nullptr;
        for (Value* item : std::vector<Value*>(value->items)) made->items.push_back(part(item));
        return made;
      }
      case ValueKind::kDict: {
        if (isSubclassValue(value)) refuse("a " + type);
        Value* made = trace.make(ValueKind::kDict);
        made->cls = value->cls;
        made->base = value->base;
        memo[value] = nullptr;
        for (size_t i = 0; i < value->keys.size(); ++i) {
          made->keys.push_back(part(value->keys[i]));
          made->items.push_back(part(value->items[i]));
        }
        return made;
      }
      case ValueKind::kSet:
        if (deep) refuse("a " + type);
        return Sets{in, trace}.method(value, "copy", {});
      case ValueKind::kObject:
        if (isEnumMember(value->object.get())) return value;
        refuse("a " + type + " made outside of the compiled code");
      case ValueKind::kInstance: {
        PyTypeObject* cls = trace.typeOf(value);
        in.guardTypeVersion(cls);
        if (!copiesPlainly(cls)) refuse("a " + type);
        Value* made = trace.make(ValueKind::kInstance);
        made->object = value->object;
        memo[value] = nullptr;
        for (auto& [name, attribute] : value->overlay) {
          if (attribute) made->overlay.emplace_back(name, part(attribute));
        }
        return made;
      }
      default: refuse("a " + type);
    }
  }

  /// namedtuples: what they are made from again is their items.
  static bool copiesAsTuple(PyTypeObject* type) {
    Ref fields = checked(PyUnicode_InternFromString("_fields"));
    PyObject* found = lookUp(type, fields.get());
    bool plain =
        found && PyTuple_CheckExact(found) && type->tp_dictoffset == 0 && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    for (const char* name : {"__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__setstate__"}) {
      Ref key = checked(PyUnicode_InternFromString(name));
      plain = plain && lookUp(type, key.get()) == lookUp(&PyBaseObject_Type, key.get());
    }
    return plain;
  }

  Value* text(const char* s) const { return trace.constant(checked(PyUnicode_InternFromString(s))); }
};

namespace {

/// Modules that only exist to bring something out or in.
bool isOutputModule(const std::string& module) { return module == "logging" || module.rfind("logging.", 0) == 0; }

}  // namespace

bool isOutput(PyObject* callable) {
  if (PyFunction_Check(callable)) {
    PyObject* module = PyDict_GetItemString(reinterpret_cast<PyFunctionObject*>(callable)->func_globals, "__name__");
    return module && PyUnicode_Check(module) && isOutputModule(text(module));
  }
  if (!PyCFunction_Check(callable)) return false;
  std::string name = calleeName(callable);
  for (const char* known : {"print", "input", "io.open", "_io.open", "open", "_warnings.warn", "builtins.print"}) {
    if (name == known) return true;
  }
  return false;
}

void refuseOutput(PyObject* callable) {
  if (!isOutput(callable)) return;
  CaptureBreak why(BreakReason::kInputOutput, calleeName(callable) + "()");
  why.warns = why.detail == "_warnings.warn()";
  throw why;
}

Value* callLibrary(Interpreter& interpreter, Trace& trace, PyObject* function, const CallArgs& args) {
  bool shallow = isLibraryFunction(function, "copy", "copy");
  if (!shallow && !isLibraryFunction(function, "copy", "deepcopy")) return nullptr;
  if (args.positional.size() != 1 || !args.keywords.empty())
    trace.fail(BreakReason::kUnsupportedCall, "copy with these arguments");
  (void)interpreter.codeOf(trace.constant(function));
  return Copier{interpreter, trace, !shallow, {}}.copy(args.positional[0]);
}

}  // namespace fw::capture
