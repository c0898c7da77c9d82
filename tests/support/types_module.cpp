// _fw_types_test: types as an extension may leave them behind: one that nobody has readied, and readied ones without an
// MRO, bases or a dict. Their instances hold one number and know indexing, iteration and calls by C slots alone.
#include <Python.h>

namespace {

struct Object {
  PyObject_HEAD
  Py_ssize_t value;
};

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  Py_ssize_t value = 0;
  if (!PyArg_ParseTuple(args, "|n", &value)) return nullptr;
  auto* self = PyObject_New(Object, type);
  if (self) self->value = value;
  return reinterpret_cast<PyObject*>(self);
}
PyObject* call(PyObject* self, PyObject*, PyObject*) {
  return PyLong_FromSsize_t(reinterpret_cast<Object*>(self)->value);
}
Py_ssize_t length(PyObject* self) { return reinterpret_cast<Object*>(self)->value; }
PyObject* item(PyObject*, Py_ssize_t i) { return PyLong_FromSsize_t(i); }
PyObject* add(PyObject*, PyObject*) { return PyLong_FromLong(7); }
int truth(PyObject* self) { return reinterpret_cast<Object*>(self)->value != 0; }

PySequenceMethods sequence{.sq_length = length, .sq_item = item};
PyNumberMethods number{.nb_add = add, .nb_bool = truth};

PyTypeObject typeNamed(const char* name) {
  PyTypeObject type{PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = sizeof(Object);
  type.tp_dealloc = reinterpret_cast<destructor>(PyObject_Free);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  type.tp_new = make;
  type.tp_call = call;
  type.tp_as_sequence = &sequence;
  type.tp_as_number = &number;
  return type;
}

PyTypeObject types[] = {typeNamed("fw.Unready"), typeNamed("fw.WithoutMro"), typeNamed("fw.WithoutBases"),
                        typeNamed("fw.WithoutDict")};

/// is_ready(type) -> whether PyType_Ready has been called for it
PyObject* isReady(PyObject*, PyObject* type) {
  return PyBool_FromLong((reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_READY) != 0);
}

PyMethodDef methods[] = {{"is_ready", isReady, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_fw_types_test", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__fw_types_test() {
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  for (PyTypeObject& type : types) {
    Py_SET_TYPE(&type, &PyType_Type);
    if (&type != &types[0] && PyType_Ready(&type) < 0) return nullptr;
    // By the dict: PyModule_AddType would ready it.
    const char* name = type.tp_name + 3;
    if (PyDict_SetItemString(PyModule_GetDict(module), name, reinterpret_cast<PyObject*>(&type)) < 0) return nullptr;
  }
  Py_CLEAR(types[1].tp_mro);
  Py_CLEAR(types[2].tp_bases);
  Py_CLEAR(types[3].tp_dict);
  return module;
}
