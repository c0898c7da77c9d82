// Calls: what is called, binding of arguments, inlining of Python functions. Functions that exist outside the trace are
// known by identity (guarded where they were read), so that only what can change in place is guarded here: code and
// defaults.
#include "cpython/code_facts.h"
#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/builtins.h"
#include "frame_eval/collections.h"
#include "frame_eval/declared_calls.h"
#include "frame_eval/generator.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/nested_iteration.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/library_calls.h"
#include "frame_eval/policy.h"
#include "frame_eval/type_lookups.h"
#include "frame_eval/unseen_list.h"
#include "frame_eval/unwind.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;
using guards::SourceKind;

namespace {

/// A str attribute of an object whose type runs no user code on look-up, or "".
std::string attributeText(PyObject* object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value && PyUnicode_Check(value.get()) ? text(value.get()) : "";
}

/// Asks its arguments for their items, and no more.
bool walksOnly(PyObject* callable) {
  for (const PyTypeObject* type :
       {&PyEnum_Type, &PyZip_Type, &PyReversed_Type, &PyMap_Type, &PyFilter_Type, &PyList_Type})
    if (callable == reinterpret_cast<const PyObject*>(type)) return true;
  return NestedIteration::isOf(callable);
}

}  // namespace

std::string calleeName(PyObject* callable) {
  if (PyFunction_Check(callable)) return text(reinterpret_cast<PyFunctionObject*>(callable)->func_qualname);
  std::string type = Py_TYPE(callable)->tp_name;
  bool known = PyCFunction_Check(callable) || cpython::isNumpyType(Py_TYPE(callable)) ||
               Py_TYPE(callable) == &PyType_Type || type.ends_with("cython_function_or_method");
  if (!known) return type + " object";
  std::string module = attributeText(callable, "__module__");
  std::string name = attributeText(callable, "__qualname__");
  if (name.empty()) name = attributeText(callable, "__name__");
  if (cpython::isUfunc(callable)) module = "numpy";
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

// ---- instructions -------------------------------------------------------------------------------------------------

CallArgs Interpreter::popArguments(size_t count, Value* names) {
  CallArgs args;
  args.positional = popManyRaw(count);
  if (!names) return args;
  PyObject* tuple = names->object.get();
  FW_CHECK(names->isConstant() && PyTuple_CheckExact(tuple));
  auto keywords = static_cast<size_t>(PyTuple_GET_SIZE(tuple));
  FW_CHECK(keywords <= count);
  for (size_t i = 0; i < keywords; ++i) {
    args.keywords.emplace_back(text(PyTuple_GET_ITEM(tuple, i)), args.positional[count - keywords + i]);
  }
  args.positional.resize(count - keywords);
  return args;
}

/// The callable and its self or NULL lie on the stack; either order of callable and NULL occurs.
void Interpreter::finishCall(CallArgs args) {
  Value* second = popRaw();
  Value* first = popRaw();
  Value* callable = first;
  if (first->kind == ValueKind::kNull) {
    callable = second;
  } else if (second->kind != ValueKind::kNull) {
    args.positional.insert(args.positional.begin(), second);
  }
  push(callRaw(callable, std::move(args)));
}

void Interpreter::onCall(const Instr& instr) { finishCall(popArguments(static_cast<size_t>(instr.arg), nullptr)); }

void Interpreter::onCallKw(const Instr& instr) {
  Value* names = pop();
  finishCall(popArguments(static_cast<size_t>(instr.arg), names));
}

void Interpreter::onCallEx(const Instr& instr) {
  CallArgs args;
  Value* keywords = instr.arg & 1 ? pop() : nullptr;
  Value* positional = pop();
  args.positional = iterate(positional, true);
  if (keywords) {
    if (keywords->kind != ValueKind::kDict) trace_.fail(BreakReason::kUnsupportedCall, "** of something not a dict");
    for (size_t i = 0; i < keywords->keys.size(); ++i) {
      PyObject* name = keywords->keys[i]->object.get();
      if (!name || !PyUnicode_CheckExact(name)) raises("TypeError: keywords must be strings");
      args.keywords.emplace_back(text(name), keywords->items[i]);
    }
  }
  finishCall(std::move(args));
}

// ---- what is called -----------------------------------------------------------------------------------------------

Value* Interpreter::callRaw(Value* callable, CallArgs args) {
  trace_.open(callable);
  switch (callable->kind) {
    case ValueKind::kConstant: return callConstant(callable, std::move(args));
    case ValueKind::kOpaque: return callMade(callable, std::move(args));
    case ValueKind::kFunction: return callFunction(callable, std::move(args));
    case ValueKind::kMethod:
      if (!callable->name.empty()) return callMethod(callable->items.back(), callable->name, std::move(args));
      args.positional.insert(args.positional.begin(), callable->items[1]);
      return callRaw(callable->items[0], std::move(args));
    case ValueKind::kInstance:
    case ValueKind::kObject: {
      if (PyObject* inner = callable->kind == ValueKind::kObject ? unwrapCompiled(callable->object.get()) : nullptr) {
        trace_.guard(guards::identityGuard(callable->source, callable->object.get()));
        return callFunction(trace_.constant(inner), std::move(args));
      }
      if (callable->kind == ValueKind::kObject) {
        if (Value* result = callFound(callable, args)) return result;
      }
      PyTypeObject* type = trace_.typeOf(callable);
      Ref name = checked(PyUnicode_InternFromString("__call__"));
      PyObject* found = lookUp(type, name.get());
      if (!found || !PyFunction_Check(found)) {
        const bool real = callable->kind == ValueKind::kObject;
        trace_.fail(BreakReason::kUnsupportedCall, real ? cpython::publicName(calleeName(callable->object.get()))
                                                        : "a " + cpython::publicName(type->tp_name) + " object");
      }
      guardTypeVersion(type);
      args.positional.insert(args.positional.begin(), callable);
      return callRaw(trace_.constant(found), std::move(args));
    }
    default: trace_.fail(BreakReason::kUnsupportedCall, std::string(trace_.typeOf(callable)->tp_name) + " object");
  }
}

Value* Interpreter::callConstant(Value* callable, CallArgs args, bool asDeclared) {
  PyObject* object = callable->object.get();
  if (isIsCompiling(object)) return trace_.constant(Py_True);
  if (asDeclared)
    if (Value* result = DeclaredCalls{*this, trace_}.call(callable, args)) return result;
  if (PyObject* inner = unwrapCompiled(object)) return callFunction(trace_.constant(inner), std::move(args));
  if (!PyFunction_Check(object)) {
    bool one = args.positional.size() == 1 && args.keywords.empty();
    if (one && isUnseenList(args.positional[0]) && PyCFunction_Check(object) && calleeName(object) == "len")
      return length(args.positional[0]);
    if (Value* result = unseenMethod(object, args)) return result;
    for (Value* value : args.positional)
      if (value->kind != ValueKind::kRange || !walksOnly(object)) trace_.open(value);
    for (auto& [name, value] : args.keywords) trace_.open(value);
  }
  if (Value* result = LibraryCalls{*this, trace_}.call(object, args)) return result;
  refuseOutput(object);
  if (Value* result = callBuiltin(*this, trace_, object, args)) return result;
  if (PyFunction_Check(object)) {
    if (Value* result = callLibrary(*this, trace_, object, args)) return result;
    return callFunction(callable, std::move(args));
  }
  if (PyExceptionClass_Check(object)) return makeException(object, std::move(args));
  if (object == reinterpret_cast<PyObject*>(&PySuper_Type)) return makeSuper(args);
  if (object == reinterpret_cast<PyObject*>(&PyMethod_Type)) return makeMethod(args);
  if (Py_TYPE(object) == &PyMethodDescr_Type && !args.positional.empty()) {
    auto* descriptor = reinterpret_cast<PyDescrObject*>(object);
    Value* self = args.positional[0];
    if (trace_.typeOf(self) == descriptor->d_type || isSubclassValue(self)) {
      args.positional.erase(args.positional.begin());
      return callMethod(self, text(descriptor->d_name), std::move(args));
    }
  }
  if (Py_TYPE(object) == &PyWrapperDescr_Type) {
    if (!args.positional.empty() && args.positional[0]->kind == ValueKind::kException) {
      Value* self = args.positional[0];
      args.positional.erase(args.positional.begin());
      return exceptionMethod(self, text(reinterpret_cast<PyDescrObject*>(object)->d_name), args);
    }
    if (Value* result = callObjectSlot(object, args)) return result;
    if (Value* result = callFunctionSlot(object, args)) return result;
    if (Value* result = Collections{*this, trace_}.callSlot(object, args)) return result;
  }
  if (PyType_Check(object)) {
    if (Value* instance = makeInstance(callable, args)) return instance;
    if (Value* instance = Collections{*this, trace_}.construct(callable, args)) return instance;
    if (Value* result = Collections{*this, trace_}.metaSpecial(callable, "__call__", args)) return result;
  }
  std::string name = calleeName(object);
  const bool numpyObject = cpython::isNumpyName(name) || cpython::isNumpyType(Py_TYPE(object));
  trace_.fail(numpyObject ? BreakReason::kUnsupportedNumpy : BreakReason::kUnsupportedCall, name);
}

// ---- inlining -----------------------------------------------------------------------------------------------------

SourceId Interpreter::sourceOf(Value* function) {
  if (function->kind == ValueKind::kFunction) return function->source;
  return guards::constantSource(trace_.sources(), function->object.get());
}

Ref Interpreter::codeOf(Value* function) {
  if (function->kind == ValueKind::kFunction) return function->code;
  PyObject* code = reinterpret_cast<PyFunctionObject*>(function->object.get())->func_code;
  if (!cpython::hasPlainVectorcall(function->object.get()))
    trace_.fail(BreakReason::kUnsupportedCall, "a function with a vectorcall of its own");
  SourceId source = sourceOf(function);
  if (guardedFunctions_.insert(source).second) {
    trace_.guard({.kind = guards::GuardKind::kFunctionCode, .source = source, .object = Ref::create(code)});
  }
  return Ref::create(code);
}

/// Numbers among defaults are settings, as those among globals.
Value* Interpreter::setting(SourceId source, PyObject* object) {
  if (!PyLong_CheckExact(object) && !PyFloat_CheckExact(object) && !PyComplex_CheckExact(object)) {
    return trace_.fromSource(source, object);
  }
  if (options_.changing && options_.changing->contains(trace_.at)) return trace_.fromSource(source, object);
  Value*& known = settings_[source];
  if (!known) {
    known = trace_.guardedConstant(source, object, guards::GuardKind::kEquals);
    trace_.guardSet().guards.back().pin = guards::Pin::kSetting;
  }
  return known;
}

Value* Interpreter::defaultOf(Value* function, Py_ssize_t index) {
  if (function->kind == ValueKind::kFunction) {
    return index < static_cast<Py_ssize_t>(function->defaults.size()) ? function->defaults[index] : nullptr;
  }
  PyObject* defaults = reinterpret_cast<PyFunctionObject*>(function->object.get())->func_defaults;
  if (!defaults || index >= PyTuple_GET_SIZE(defaults)) return nullptr;
  return setting(trace_.sources().intern(SourceKind::kDefault, sourceOf(function), index),
                 PyTuple_GET_ITEM(defaults, index));
}

Value* Interpreter::kwDefaultOf(Value* function, PyObject* name) {
  if (function->kind == ValueKind::kFunction) {
    Value* dict = function->parts ? function->parts->kwdefaults : nullptr;
    int at = dict ? findKey(dict, trace_.constant(name)) : -1;
    return at < 0 ? nullptr : dict->items[static_cast<size_t>(at)];
  }
  PyObject* defaults = reinterpret_cast<PyFunctionObject*>(function->object.get())->func_kwdefaults;
  PyObject* found = defaults ? PyDict_GetItemWithError(defaults, name) : nullptr;
  if (!found) return nullptr;
  return setting(trace_.sources().intern(SourceKind::kKwDefault, sourceOf(function), 0, name), found);
}

void Interpreter::bind(Frame& frame, Value* function, CallArgs args) {
  PyCodeObject* code = frame.object();
  std::string callee = text(code->co_qualname);
  int positional = code->co_argcount, total = positional + code->co_kwonlyargcount;
  auto nameOf = [&](int i) { return PyTuple_GET_ITEM(code->co_localsplusnames, i); };
  frame.slots.assign(static_cast<size_t>(frame.code->slotCount()), nullptr);

  size_t given = args.positional.size();
  for (size_t i = 0; i < std::min<size_t>(given, positional); ++i) frame.slots[i] = args.positional[i];
  int next = total;
  if (code->co_flags & CO_VARARGS) {
    std::vector<Value*> rest;
    if (given > static_cast<size_t>(positional))
      rest.assign(args.positional.begin() + positional, args.positional.end());
    frame.slots[next++] = trace_.tuple(std::move(rest));
  } else if (given > static_cast<size_t>(positional)) {
    raises("TypeError: " + callee + "() takes " + std::to_string(positional) + " positional arguments");
  }
  Value* extra = nullptr;
  if (code->co_flags & CO_VARKEYWORDS) extra = frame.slots[next++] = trace_.make(ValueKind::kDict);
  for (auto& [name, value] : args.keywords) {
    int slot = code->co_posonlyargcount;
    while (slot < total && text(nameOf(slot)) != name) ++slot;
    if (slot < total) {
      if (frame.slots[slot]) raises("TypeError: " + callee + "() got multiple values for argument '" + name + "'");
      frame.slots[slot] = value;
    } else if (extra) {
      setKey(extra, trace_.constant(checked(PyUnicode_InternFromString(name.c_str()))), value);
    } else {
      raises("TypeError: " + callee + "() got an unexpected keyword argument '" + name + "'");
    }
  }
  Py_ssize_t defaults = 0;
  if (function->kind == ValueKind::kFunction) {
    defaults = static_cast<Py_ssize_t>(function->defaults.size());
  } else if (PyObject* tuple = reinterpret_cast<PyFunctionObject*>(function->object.get())->func_defaults) {
    defaults = PyTuple_GET_SIZE(tuple);
  }
  for (int i = 0; i < total; ++i) {
    if (frame.slots[i]) continue;
    Value* value = nullptr;
    if (i >= positional) {
      value = kwDefaultOf(function, nameOf(i));
    } else if (i >= positional - defaults) {
      value = defaultOf(function, i - (positional - defaults));
    }
    if (!value) raises("TypeError: " + callee + "() misses argument '" + text(nameOf(i)) + "'");
    frame.slots[i] = value;
  }
}

/// Calls of a function by itself, in loops or behind branches that array data decides about.
constexpr int kMostNested = 3;

Value* Interpreter::callFunction(Value* function, CallArgs args, Value* names) {
  Ref code = codeOf(function);
  auto* object = reinterpret_cast<PyCodeObject*>(code.get());
  if (isDisabled(code.get())) trace_.fail(BreakReason::kDisabled, disabledDetail(code.get()));
  // Each loop that is traced for all of its turns is traced a few times, and so is all that is called in it.
  const auto isAround = [&](const auto& f) { return f->object() == object && (!f->rolling.empty() || f->arms > 0); };
  const bool nests = std::count_if(frames_.begin(), frames_.end(), isAround) >= kMostNested;
  if (nests || static_cast<int>(frames_.size()) > options_.maxInlineDepth) {
    trace_.fail(BreakReason::kInlineLimit, text(object->co_qualname));
  }
  int callLine = trace_.line;
  auto owned = std::make_unique<Frame>();
  Frame& frame = *owned;
  frame.names = names;
  frame.code = &decoded(object);
  if (function->kind == ValueKind::kFunction) {
    frame.globals = function->globals;
    frame.builtins = function->builtins;
    frame.function = function->globalsOf;
    frame.closure = function->closure;
  } else {
    auto* f = reinterpret_cast<PyFunctionObject*>(function->object.get());
    frame.globals = Ref::create(f->func_globals);
    frame.builtins = Ref::create(f->func_builtins);
    frame.function = sourceOf(function);
    for (Py_ssize_t i = 0; f->func_closure && i < PyTuple_GET_SIZE(f->func_closure); ++i) {
      frame.closure.push_back(closureCell(frame.function, f->func_closure, i));
    }
  }
  const bool generator = object->co_flags & CO_GENERATOR;
  CallArgs given = generator ? args : CallArgs();
  bind(frame, function, std::move(args));
  trace_.inlines = true;
  frames_.push_back(std::move(owned));
  try {
    execute(frame);
  } catch (const VirtualRaise&) {
    frames_.pop_back();
    trace_.line = callLine;
    throw;
  }
  Value* result = frame.result;
  if (frame.generator) {
    frame.generator->function = function;
    frame.generator->args = std::move(given);
    suspend();
  }
  frames_.pop_back();
  trace_.line = callLine;
  trace_.graph().setLine(static_cast<uint32_t>(callLine));
  return result;
}

}  // namespace fw::capture
