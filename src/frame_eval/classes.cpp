// How a class comes into being here: __build_class__ runs the body with a namespace (interpret_classes.cpp has its
// instructions), every entry gets its stand-in, and `type` makes the class that look-ups go to. What `type` would call
// of the user's while it makes a class (metaclasses, __init_subclass__, __set_name__) is refused, so that the moment at
// which the class is really made cannot be told.
#include "frame_eval/classes.h"

#include "frame_eval/builtins.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/type_lookups.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

bool isDunder(const std::string& name) { return name.size() > 4 && name.starts_with("__") && name.ends_with("__"); }

bool sameAsObjects(PyTypeObject* type, const char* name) {
  PyObject* key = interned(name);
  return lookUp(type, key) == lookUp(&PyBaseObject_Type, key);
}

PyObject* qualnameOf(PyTypeObject* type) { return reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname; }

}  // namespace

void Classes::refuse(const std::string& why) const {
  trace.fail(BreakReason::kUnsupportedCall, "a class statement " + why);
}

/// Only plain classes, written in Python, that are told nothing of their subclasses.
void Classes::checkBase(Value* base) {
  if (!base->isConstant() || !PyType_Check(base->object.get())) refuse("with a base that is no class");
  auto* type = reinterpret_cast<PyTypeObject*>(base->object.get());
  if (Py_TYPE(type) != &PyType_Type) refuse("with a metaclass");
  for (PyTypeObject* one : mroOf(type))
    if (one != &PyBaseObject_Type && !isUserClass(one)) refuse("with a base written in C");
  in.guardTypeVersion(type);
  if (!sameAsObjects(type, "__init_subclass__")) refuse("with __init_subclass__");
}

/// An object for the namespace of the stand-in class, of the kind that decides what a look-up makes of it.
Ref Classes::standInFor(Value* value, const std::string& name) {
  auto standsFor = [&](Ref made) {
    trace.standIns[made.get()] = value;
    trace.heldStandIns.push_back(made);
    return made;
  };
  trace.open(value);
  if (value->kind == ValueKind::kFunction && !value->source.valid()) {
    return standsFor(
        checked(PyFunction_NewWithQualName(value->code.get(), value->globals.get(), value->qualname.get())));
  }
  if (isMadeDescriptor(value)) {
    Ref args = checked(PyTuple_New(static_cast<Py_ssize_t>(value->items.size())));
    for (size_t i = 0; i < value->items.size(); ++i)
      PyTuple_SET_ITEM(args.get(), i, standInFor(value->items[i], name).release());
    return standsFor(checked(PyObject_CallObject(value->cls.get(), args.get())));
  }
  if (value->isConstant() && !PyType_Check(value->object.get())) {
    if (Py_TYPE(value->object.get())->tp_flags & Py_TPFLAGS_HEAPTYPE) refuse("with such an attribute: " + name);
    return value->object;
  }
  if (value->isConstant()) {
    if (!sameAsObjects(Py_TYPE(value->object.get()), "__set_name__")) refuse("with such an attribute: " + name);
    return value->object;
  }
  const bool data = value->isNumeric() || value->kind == ValueKind::kTuple || value->kind == ValueKind::kList ||
                    value->kind == ValueKind::kDict || value->kind == ValueKind::kSet;
  if (!data || value->cls) refuse("with such an attribute: " + name);
  if (Ref real = trace.asObject(value)) return real;
  if (isDunder(name) && name != "__annotations__") refuse("with such an attribute: " + name);
  return standsFor(checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))));
}

Value* Classes::build(const CallArgs& args) {
  if (!args.keywords.empty()) refuse("with keywords");
  const auto& positional = args.positional;
  bool known = positional.size() >= 2 && positional[0]->kind == ValueKind::kFunction && positional[0]->parts &&
               isConstantOf(positional[1], &PyUnicode_Type);
  if (!known) refuse("in this form");
  std::vector<Value*> bases(positional.begin() + 2, positional.end());
  for (Value* base : bases) checkBase(base);

  Value* names = trace.make(ValueKind::kDict);
  Value* result = in.callFunction(positional[0], {}, names);
  Value* cell = trace.open(result)->kind == ValueKind::kCell ? result : nullptr;
  if (int at = in.findKey(names, trace.constant(interned("__classcell__"))); at >= 0) in.eraseKey(names, at);

  Ref dict = checked(PyDict_New());
  for (size_t i = 0; i < names->keys.size(); ++i) {
    PyObject* key = names->keys[i]->object.get();
    if (!key || !PyUnicode_CheckExact(key)) refuse("with such names");
    const std::string name = text(key);
    for (const char* refused : {"__slots__", "__del__", "__new__", "__getattribute__", "__init_subclass__", "__dict__"})
      if (name == refused) refuse("with " + name);
    Ref value = standInFor(names->items[i], name);
    checked(PyDict_SetItem(dict.get(), key, value.get()));
  }
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(bases.size())));
  for (size_t i = 0; i < bases.size(); ++i) PyTuple_SET_ITEM(tuple.get(), i, Ref(bases[i]->object).release());
  Ref made = Ref::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyType_Type),
                                                     positional[1]->object.get(), tuple.get(), dict.get(), nullptr));
  if (!made) {
    PyErr_Clear();
    trace.fail(BreakReason::kPythonException, "a class that cannot be made");
  }
  Value* cls = trace.constant(made);
  cls->items = {positional[1], trace.tuple(std::move(bases)), names};
  trace.standIns[made.get()] = cls;
  if (cell) cell->items = {cls};
  return cls;
}

void Classes::setAttribute(Value* cls, PyObject* name, Value* value) {
  PyObject* above = lookUp(&PyType_Type, name);
  if ((above && Py_TYPE(above)->tp_descr_set) || isDunder(text(name)))
    trace.fail(BreakReason::kUnsupportedWrite, "attribute " + text(name) + " of a class");
  Ref standIn = standInFor(value, text(name));
  if (cls->overlay.empty()) cls->position = static_cast<size_t>(trace.at);
  cls->overlay.emplace_back(Ref::create(name), value);
  checked(PyObject_SetAttr(cls->object.get(), name, standIn.get()));
}

Value* Classes::descriptor(Trace& trace, PyObject* type, const CallArgs& args) {
  const std::string name = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  const bool property = name == "property";
  size_t count = args.positional.size();
  bool known = args.keywords.empty() && count >= 1 && count <= (property ? 3u : 1u);
  for (Value* part : args.positional)
    known = known && (part->kind == ValueKind::kFunction || isConstantOf(part, &PyFunction_Type) ||
                      (property && isConstantOf(part, Py_TYPE(Py_None))));
  if (!known) trace.fail(BreakReason::kUnsupportedCall, name + "() with these arguments");
  Value* made = trace.make(ValueKind::kOpaque);
  made->cls = Ref::create(type);
  made->name = name;
  made->items = args.positional;
  return made;
}

Value* Classes::changed(Trace& trace, Value* property, const std::string& name, const CallArgs& args) {
  const size_t at = name == "getter" ? 0 : name == "setter" ? 1 : name == "deleter" ? 2 : 3;
  if (at == 3 || args.positional.size() != 1) trace.fail(BreakReason::kUnsupportedCall, "property." + name);
  std::vector<Value*> parts = property->items;
  while (parts.size() <= at) parts.push_back(trace.constant(Py_None));
  parts[at] = args.positional[0];
  return descriptor(trace, property->cls.get(), {.positional = std::move(parts), .keywords = args.keywords});
}

void Classes::check(Trace& trace) {
  if (trace.standIns.empty()) return;
  auto refuse = [&](PyObject* object) {
    auto it = object ? trace.standIns.find(object) : trace.standIns.end();
    if (it == trace.standIns.end()) return;
    throw CaptureBreak(BreakReason::kUnsupportedObject, "a class made by the call that is used in this way",
                       it->second->madeAt);
  };
  for (size_t i = 0; i < trace.sources().size(); ++i) refuse(trace.sources()[SourceId(i)].object.get());
  for (const guards::Guard& guard : trace.guardSet().guards) refuse(guard.object.get());
}

bool isMadeByEveryCall(PyTypeObject* type, PyObject* code) {
  if (!isUserClass(type)) return false;
  const std::string name = text(qualnameOf(type));
  if (name.find("<locals>") == std::string::npos) return false;
  if (code && PyCode_Check(code)) {
    const std::string own = text(reinterpret_cast<PyCodeObject*>(code)->co_qualname) + ".<locals>.";
    if (name.starts_with(own)) return true;
  }
  // Others of that name in the same module, made by earlier calls.
  constexpr int kOthers = 3;
  auto moduleOf = [](PyTypeObject* t) {
    PyObject* module = PyDict_GetItemWithError(t->tp_dict, interned("__module__"));
    return module && PyUnicode_Check(module) ? text(module) : std::string();
  };
  Ref all = Ref::steal(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyType_Type), "__subclasses__", "O",
                                           reinterpret_cast<PyObject*>(type->tp_base)));
  if (!all) {
    PyErr_Clear();
    return false;
  }
  int others = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i) {
    auto* other = reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(all.get(), i));
    others +=
        other != type && isUserClass(other) && text(qualnameOf(other)) == name && moduleOf(other) == moduleOf(type);
  }
  return others >= kOthers;
}

}  // namespace fw::capture
