// CompiledFunction behaves like the function it wraps: it binds as a method, is called by vectorcall without a Python
// frame, carries its own __dict__, and passes every attribute it does not have itself to the wrapped function.
#include "bindings/compiled_function.h"

#include <structmember.h>

#include "bindings/boundary.h"
#include "bindings/function_state.h"

namespace fw::bindings {
namespace {

struct CompiledFunction {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weakReferences;
  FunctionState* state;
};

PyTypeObject* compiledFunctionType = nullptr;  // owned for the life of the process

FunctionState& stateOf(PyObject* self) { return *reinterpret_cast<CompiledFunction*>(self)->state; }

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  return stateOf(self).call(args, nargsf, keywordNames);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* f = reinterpret_cast<CompiledFunction*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(f->dict);
  return f->state ? f->state->visit(visit, arg) : 0;
}

int clear(PyObject* self) {
  auto* f = reinterpret_cast<CompiledFunction*>(self);
  Py_CLEAR(f->dict);
  if (f->state) f->state->clear();
  return 0;
}

void dealloc(PyObject* self) {
  auto* f = reinterpret_cast<CompiledFunction*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (f->weakReferences) PyObject_ClearWeakRefs(self);
  Py_CLEAR(f->dict);
  delete f->state;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* describeGet(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyObject* getAttribute(PyObject* self, PyObject* name) {
  PyObject* value = PyObject_GenericGetAttr(self, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  PyErr_Clear();
  return PyObject_GetAttr(stateOf(self).callable(), name);
}

/// Attributes that change what a call does belong to the wrapped function; the rest is the decorated object's own.
int setAttribute(PyObject* self, PyObject* name, PyObject* value) {
  for (const char* forwarded : {"__code__", "__defaults__", "__kwdefaults__"})
    if (PyUnicode_CompareWithASCIIString(name, forwarded) == 0)
      return PyObject_SetAttr(stateOf(self).callable(), name, value);
  return PyObject_GenericSetAttr(self, name, value);
}

PyObject* represent(PyObject* self) { return PyUnicode_FromFormat("<fusewire.compile(%R)>", stateOf(self).callable()); }

PyObject* sameObject(PyObject* self, PyObject*) { return Py_NewRef(self); }

/// _pickling.py has it in Python.
PyObject* reduce(PyObject* self, PyObject* protocol) {
  cpython::Ref module = cpython::Ref::steal(PyImport_ImportModule("fusewire._pickling"));
  return module ? PyObject_CallMethod(module.get(), "reduce", "OO", self, protocol) : nullptr;
}
PyObject* standIn(PyObject* self, void*) {
  cpython::Ref module = cpython::Ref::steal(PyImport_ImportModule("fusewire._pickling"));
  return module ? PyObject_CallMethod(module.get(), "stand_in", "O", self) : nullptr;
}

PyObject* wrapped(PyObject* self, void*) { return Py_NewRef(stateOf(self).callable()); }

PyMethodDef methods[] = {{"__copy__", sameObject, METH_NOARGS, nullptr},
                         {"__deepcopy__", sameObject, METH_O, nullptr},
                         {"__reduce_ex__", reduce, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"__wrapped__", wrapped, nullptr, "the function that was decorated", nullptr},
                            {"__fusewire_function__", standIn, nullptr, "what is pickled in its place", nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunction, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledFunction, weakReferences), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

template <class F>
void* slotFunction(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

bool addCompiledFunctionType(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_call, slotFunction(PyVectorcall_Call)},
                         {Py_tp_dealloc, slotFunction(dealloc)},
                         {Py_tp_traverse, slotFunction(traverse)},
                         {Py_tp_clear, slotFunction(clear)},
                         {Py_tp_descr_get, slotFunction(describeGet)},
                         {Py_tp_getattro, slotFunction(getAttribute)},
                         {Py_tp_setattro, slotFunction(setAttribute)},
                         {Py_tp_repr, slotFunction(represent)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {Py_tp_members, members},
                         {0, nullptr}};
  PyType_Spec spec = {"fusewire.CompiledFunction", sizeof(CompiledFunction), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  compiledFunctionType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return compiledFunctionType && PyModule_AddType(module, compiledFunctionType) == 0;
}

PyObject* newCompiledFunction(PyObject* callable, FunctionSettings settings) {
  auto* self = reinterpret_cast<CompiledFunction*>(compiledFunctionType->tp_alloc(compiledFunctionType, 0));
  if (!self) return nullptr;
  self->vectorcall = vectorcall;
  if (!guarded([&] { self->state = new FunctionState(callable, std::move(settings)); })) {
    Py_DECREF(self);
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(self);
}

bool isCompiledFunction(PyObject* object) { return Py_IS_TYPE(object, compiledFunctionType); }
PyObject* wrappedCallable(PyObject* compiledFunction) { return stateOf(compiledFunction).callable(); }
const FunctionSettings& settingsOf(PyObject* compiledFunction) { return stateOf(compiledFunction).settings(); }
void resetCompiledFunction(PyObject* compiledFunction) { stateOf(compiledFunction).reset(); }
PyObject* describeCompiledFunction(PyObject* compiledFunction) { return stateOf(compiledFunction).describe(); }
PyObject* watchCallOf(PyObject* compiledFunction) {
  return guarded([&] { stateOf(compiledFunction).watch(); }) ? Py_NewRef(Py_None) : nullptr;
}
PyObject* watchedCallOf(PyObject* compiledFunction) {
  PyObject* result = nullptr;
  return guarded([&] { result = stateOf(compiledFunction).watched(); }) ? result : nullptr;
}
PyObject* timeGuardsOf(PyObject* compiledFunction, PyObject* arguments, int64_t repeats) {
  double ns = -1;
  const bool ok = guarded([&] {
    ns = stateOf(compiledFunction)
             .timeGuards(PySequence_Fast_ITEMS(arguments), PySequence_Fast_GET_SIZE(arguments), repeats);
  });
  return ok ? PyFloat_FromDouble(ns) : nullptr;
}

}  // namespace fw::bindings
