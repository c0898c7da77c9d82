// Functions as objects: made by the traced code, and their attributes read and set. A function made here keeps its
// parts as Values (FunctionParts) until it leaves. Of one that was there before, attributes are read through guarded
// sources, and those that were set stand in the overlay of one Value per function, with an effect.
#include <algorithm>

#include "cpython/attributes.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/type_lookups.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;
using guards::GuardKind;
using guards::SourceKind;

namespace {

PyFunctionObject* functionObject(const Value* v) { return reinterpret_cast<PyFunctionObject*>(v->object.get()); }

/// Attributes that descriptors of the function type keep, with a str in them.
bool isName(std::string_view attribute) { return attribute == "__name__" || attribute == "__qualname__"; }

/// ... and with any object.
bool isPlainMember(std::string_view attribute) { return attribute == "__doc__" || attribute == "__module__"; }

Value* overlaid(const Value* function, PyObject* name) {
  for (auto& [key, value] : function->overlay) {
    if (key.get() == name) return value;
  }
  return nullptr;
}

/// Which Python has on functions from 3.12 on.
bool isTypeParameters(PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "__type_params__") == 0 && lookUp(&PyFunction_Type, name);
}

void overlay(Value* function, PyObject* name, Value* value) {
  for (auto& [key, old] : function->overlay) {
    if (key.get() != name) continue;
    old = value;
    return;
  }
  function->overlay.emplace_back(Ref::create(name), value);
}

}  // namespace

// ---- making -------------------------------------------------------------------------------------------------------

void Interpreter::onMakeFunction(const Instr& instr) {
  Value* code = pop();
  Value* v = trace_.make(ValueKind::kFunction);
  v->code = code->object;
  FW_CHECK(PyCode_Check(v->code.get()));
  v->qualname = Ref::create(reinterpret_cast<PyCodeObject*>(v->code.get())->co_qualname);
  v->globals = frame_->globals;
  v->builtins = frame_->builtins;
  v->globalsOf = frame_->function;
  v->parts = std::make_unique<FunctionParts>();
  push(v);
  // 3.11 and 3.12 pass the attributes below the code, those with the highest flags on top.
  for (int flag : {8, 4, 2, 1}) {
    if (!(instr.arg & flag)) continue;
    Value* attribute = top(2);
    frame_->stack.erase(frame_->stack.end() - 2);
    push(attribute);
    onSwap({.arg = 2});
    onSetFunctionAttribute({.arg = flag});
  }
}

/// Stack: attribute, function. One that a region finds half made on the stack is finished by Python.
void Interpreter::onSetFunctionAttribute(const Instr& instr) {
  Value* function = pop();
  Value* attribute = pop();
  bool own = function->kind == ValueKind::kFunction && function->parts;
  if (!own) trace_.fail(BreakReason::kUnsupportedInstruction, "SET_FUNCTION_ATTRIBUTE");
  FunctionParts& parts = *function->parts;
  switch (instr.arg) {
    case 1:
      parts.defaults = attribute;
      function->defaults = iterate(attribute);
      break;
    case 2:
      if (attribute->kind != ValueKind::kDict) trace_.fail(BreakReason::kUnsupportedInstruction, "MAKE_FUNCTION");
      parts.kwdefaults = attribute;
      break;
    case 4: {  // a flat tuple of names and values; whoever asks for it gets a dict
      std::vector<Value*> flat = iterate(attribute);
      parts.annotations = trace_.make(ValueKind::kDict);
      for (size_t i = 0; i + 1 < flat.size(); i += 2) setKey(parts.annotations, flat[i], flat[i + 1]);
      break;
    }
    case 8:
      parts.closure = attribute;
      function->closure = iterate(attribute);
      break;
    default: trace_.fail(BreakReason::kUnsupportedInstruction, "SET_FUNCTION_ATTRIBUTE");
  }
  push(function);
}

// ---- calling ------------------------------------------------------------------------------------------------------

/// types.MethodType(function, self).
Value* Interpreter::makeMethod(const CallArgs& args) {
  bool plain = args.keywords.empty() && args.positional.size() == 2 && isFunction(args.positional[0]) &&
               !isNone(args.positional[1]);
  if (!plain) trace_.fail(BreakReason::kUnsupportedCall, "method() with these arguments");
  Value* v = trace_.make(ValueKind::kMethod);
  v->items = args.positional;
  return v;
}

/// f.__call__(...) and f.__get__(...); null if it is another slot.
Value* Interpreter::callFunctionSlot(PyObject* wrapper, const CallArgs& args) {
  if (PyDescr_TYPE(wrapper) != &PyFunction_Type || args.positional.empty() || !isFunction(args.positional[0]))
    return nullptr;
  std::string slot = text(PyDescr_NAME(wrapper));
  Value* function = args.positional[0];
  CallArgs rest{.positional = {args.positional.begin() + 1, args.positional.end()}, .keywords = args.keywords};
  if (slot == "__call__") return callRaw(function, std::move(rest));
  size_t count = rest.positional.size();
  if (slot != "__get__" || !rest.keywords.empty() || count < 1 || count > 2) return nullptr;
  if (isNone(rest.positional[0])) return count == 2 && !isNone(rest.positional[1]) ? function : nullptr;
  return makeMethod({.positional = {function, rest.positional[0]}, .keywords = {}});
}

// ---- reading ------------------------------------------------------------------------------------------------------

bool Interpreter::isFunction(const Value* v) {
  return v->kind == ValueKind::kFunction || isConstantOf(v, &PyFunction_Type);
}

/// The Value that holds what was set on a function that was there before.
Value* Interpreter::knownFunction(Value* function) {
  auto [it, added] = functions_.try_emplace(function->object.get(), nullptr);
  if (!added) return it->second;
  Value* v = trace_.constant(function->object);
  v->source = guards::constantSource(trace_.sources(), function->object.get());
  return it->second = v;
}

/// func.name, which may raise AttributeError.
Value* Interpreter::functionAttribute(Value* self, PyObject* name) {
  std::string attribute = text(name);
  if (attribute == "__class__") return trace_.constant(reinterpret_cast<PyObject*>(&PyFunction_Type));
  if (attribute == "__code__") return trace_.constant(codeOf(self));
  if (Value* value = self->parts ? madeFunctionAttribute(self, name) : foundFunctionAttribute(self, name)) return value;
  PyObject* found = lookUp(&PyFunction_Type, name);
  if (!found) raiseAbout(PyExc_AttributeError, "'function' object has no attribute '" + attribute + "'");
  if (Py_TYPE(found) != &PyWrapperDescr_Type) trace_.fail(BreakReason::kUnsupportedAttribute, "function." + attribute);
  return bindDescriptor(self, trace_.constant(reinterpret_cast<PyObject*>(&PyFunction_Type)), &PyFunction_Type, name,
                        found);
}

/// Null if neither a descriptor that is known nor the function's dict has it.
Value* Interpreter::madeFunctionAttribute(Value* self, PyObject* name) {
  std::string attribute = text(name);
  FunctionParts& parts = *self->parts;
  auto orNone = [&](Value* part) { return part ? part : trace_.constant(Py_None); };
  if (Value* set = overlaid(self, name)) return set;
  if (attribute == "__name__") return trace_.constant(reinterpret_cast<PyCodeObject*>(self->code.get())->co_name);
  if (attribute == "__qualname__") return trace_.constant(self->qualname);
  if (attribute == "__doc__") {
    Ref like = checked(PyFunction_NewWithQualName(self->code.get(), self->globals.get(), self->qualname.get()));
    return trace_.constant(reinterpret_cast<PyFunctionObject*>(like.get())->func_doc);
  }
  if (attribute == "__module__") {
    SourceId globals = trace_.sources().intern(SourceKind::kGlobals, self->globalsOf);
    PyObject* module = PyDict_GetItemWithError(self->globals.get(), internedName("__name__").get());
    if (!module) trace_.fail(BreakReason::kUnsupportedAttribute, "function.__module__");
    trace_.readNamespace(globals, self->globals.get());
    return setting(trace_.sources().intern(SourceKind::kDictItem, globals, 0, internedName("__name__").get()), module);
  }
  if (attribute == "__defaults__") return orNone(parts.defaults);
  if (attribute == "__kwdefaults__") return orNone(parts.kwdefaults);
  if (attribute == "__closure__") return orNone(parts.closure);
  if (attribute == "__globals__") {
    return trace_.fromSource(trace_.sources().intern(SourceKind::kGlobals, self->globalsOf), self->globals.get());
  }
  if (isTypeParameters(name)) return trace_.tuple({});
  if (attribute == "__annotations__" || attribute == "__dict__") {
    Value*& dict = attribute == "__dict__" ? parts.dict : parts.annotations;
    if (!dict) dict = trace_.make(ValueKind::kDict);
    return dict;
  }
  int at = parts.dict && !lookUp(&PyFunction_Type, name) ? findKey(parts.dict, trace_.constant(name)) : -1;
  return at < 0 ? nullptr : parts.dict->items[static_cast<size_t>(at)];
}

/// The same of a function that was there before.
Value* Interpreter::foundFunctionAttribute(Value* self, PyObject* name) {
  std::string attribute = text(name);
  Value* known = knownFunction(self);
  if (Value* set = overlaid(known, name)) return set;
  SourceId function = sourceOf(self);
  auto& sources = trace_.sources();
  SourceId source = sources.intern(SourceKind::kAttr, function, 0, name);
  PyFunctionObject* f = functionObject(self);
  auto absent = [&](GuardKind kind) {
    trace_.guard({.kind = kind, .source = function});
    return trace_.constant(Py_None);
  };
  if (attribute == "__globals__")
    return trace_.fromSource(sources.intern(SourceKind::kGlobals, function), f->func_globals);
  if (attribute == "__defaults__" && !f->func_defaults) return absent(GuardKind::kDefaults);
  if (attribute == "__kwdefaults__" && !f->func_kwdefaults) return absent(GuardKind::kKwDefaults);
  if (attribute == "__closure__" && !f->func_closure) return absent(GuardKind::kClosure);
  cpython::AttributeCell cell(name);
  if (isTypeParameters(name)) {
    if (cpython::instanceAttribute(self->object.get(), cell).value != Py_None) return nullptr;  // it has some
    (void)trace_.guardedConstant(source, Py_None, GuardKind::kIdentity);
    return trace_.tuple({});
  }
  if (attribute == "__annotations__" || attribute == "__dict__") {
    // Those of functions that are made anew for every call are different objects each time.
    if (self->kind == ValueKind::kFunction) trace_.fail(BreakReason::kUnsupportedAttribute, "function." + attribute);
    if (attribute == "__dict__" && known->written) {
      trace_.fail(BreakReason::kUnsupportedAttribute, "__dict__ of a function whose attributes were set");
    }
    (void)checked(PyObject_GenericGetAttr(self->object.get(), name));  // makes the dict, or makes one of the pairs
  } else if (!lookUp(&PyFunction_Type, name)) {
    Value* dict = trace_.valueOf(sources.intern(SourceKind::kAttr, function, 0, internedName("__dict__").get()));
    if (dict && dict->written)
      trace_.fail(BreakReason::kUnsupportedAttribute, "function." + attribute + ": its __dict__ was changed");
  }
  cpython::Lookup found = cpython::instanceAttribute(self->object.get(), cell);
  if (found.state == cpython::LookupState::kRefused)
    trace_.fail(BreakReason::kUnsupportedAttribute, "function." + attribute);
  if (found.state == cpython::LookupState::kFound) return trace_.fromSource(source, found.value);
  if (!lookUp(&PyFunction_Type, name) && absentAttributes_.insert({function, name}).second) {
    trace_.guard({.kind = GuardKind::kNoInstanceAttr, .source = function, .object = Ref::create(name)});
  }
  return nullptr;
}

// ---- setting ------------------------------------------------------------------------------------------------------

/// func.name = value; null deletes.
void Interpreter::setFunctionAttribute(Value* self, PyObject* name, Value* value) {
  std::string attribute = text(name);
  auto refuse = [&] { trace_.fail(BreakReason::kUnsupportedWrite, "function." + attribute); };
  bool own = self->parts != nullptr;
  if (isName(attribute)) {
    if (!value || trace_.typeOf(value) != &PyUnicode_Type) {
      raiseError(PyExc_TypeError, attribute + " must be set to a string object");
    }
  } else if (isPlainMember(attribute)) {
    if (!value) refuse();
  } else if (isTypeParameters(name)) {
    if (!value || trace_.typeOf(value) != &PyTuple_Type) refuse();
  } else if (attribute == "__annotations__") {
    if (!own || !value || trace_.open(value)->kind != ValueKind::kDict || value->cls) refuse();
    self->parts->annotations = value;
    return;
  } else if (attribute == "__defaults__" && own && value && trace_.typeOf(value) == &PyTuple_Type) {
    self->defaults = iterate(value);
    self->parts->defaults = value;
    return;
  } else if (lookUp(&PyFunction_Type, name)) {
    refuse();
  } else if (own) {
    FunctionParts& parts = *self->parts;
    if (!parts.dict) parts.dict = trace_.make(ValueKind::kDict);
    if (value) return setKey(parts.dict, trace_.constant(name), value);
    int at = findKey(parts.dict, trace_.constant(name));
    if (at < 0) raiseAbout(PyExc_AttributeError, attribute);
    return eraseKey(parts.dict, at);
  }
  if (own) return overlay(self, name, value);
  if (!value) refuse();
  if (self->kind == ValueKind::kFunction) trace_.guard(guards::identityGuard(self->source, self->object.get()));
  Value* dict =
      trace_.valueOf(trace_.sources().intern(SourceKind::kAttr, sourceOf(self), 0, internedName("__dict__").get()));
  if (dict) refuse();
  Value* known = knownFunction(self);
  trace_.effectAttr(known, trace_.constant(name), value);
  overlay(known, name, value);
}

}  // namespace fw::capture
