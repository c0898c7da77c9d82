// Which functions may be called to see what they answer.
#include "absl/container/flat_hash_map.h"
#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/numpy/binding.h"
#include "frame_eval/numpy/examples.h"
#include "frame_eval/policy.h"
#include "numpy/ufuncobject.h"

namespace fw::capture::numpy {
namespace {

struct Row {
  std::string_view module, names;
  bool letters = false;
};
constexpr Row kRows[] = {
#define FW_EXAMPLES(module, names) {module, names},
#define FW_EXAMPLES_OF_LETTERS(module, names) {module, names, true},
#include "frame_eval/numpy/examples.def"
};

/// Functions of the rows whose modules have been imported. Guarded by the GIL.
struct Registry {
  Py_ssize_t modules = 0;  ///< that there were when it was last looked for more of them
  bool seen[std::size(kRows)] = {};
  absl::flat_hash_map<PyObject*, const Row*> functions;  // keys are owned
};

void add(Registry& registry, const Row& row, PyObject* owner, std::string_view name) {
  Ref function = Ref::steal(PyObject_GetAttrString(owner, std::string(name).c_str()));
  PyErr_Clear();
  if (!function || PyType_Check(function.get()) || !PyCallable_Check(function.get())) return;
  if (registry.functions.emplace(function.get(), &row).second) (void)function.release();
}

void addRow(Registry& registry, const Row& row, PyObject* owner) {
  std::string_view names = row.names;
  if (names == "*") {
    const Ref all = Ref::steal(PyObject_GetAttrString(owner, "__all__"));
    PyErr_Clear();
    for (Py_ssize_t i = 0; all && PyList_CheckExact(all.get()) && i < PyList_GET_SIZE(all.get()); ++i)
      if (const char* name = PyUnicode_AsUTF8(PyList_GET_ITEM(all.get(), i))) add(registry, row, owner, name);
    return;
  }
  while (!names.empty()) {
    const size_t end = std::min(names.find('|'), names.size());
    add(registry, row, owner, names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

/// A module, or a class that it holds, if that has been imported; borrowed.
PyObject* ownerOf(std::string_view name) {
  PyObject* modules = PyImport_GetModuleDict();
  if (PyObject* module = PyDict_GetItemString(modules, std::string(name).c_str())) return module;
  const size_t dot = name.rfind('.');
  PyObject* module = PyDict_GetItemString(modules, std::string(name.substr(0, dot)).c_str());
  if (dot == std::string_view::npos || !module || !PyModule_Check(module)) return nullptr;
  PyObject* cls = PyDict_GetItemString(PyModule_GetDict(module), std::string(name.substr(dot + 1)).c_str());
  return cls && PyType_Check(cls) ? cls : nullptr;
}

const Registry& registry() {
  static auto* r = new Registry;  // never destroyed: it holds references that outlive the interpreter's end
  const Py_ssize_t modules = PyDict_GET_SIZE(PyImport_GetModuleDict());
  if (std::exchange(r->modules, modules) == modules) return *r;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (r->seen[i]) continue;
    PyObject* owner = ownerOf(kRows[i].module);
    if (!owner) continue;
    r->seen[i] = true;
    addRow(*r, kRows[i], owner);
  }
  return *r;
}

/// With a loop that is not one over objects, which would run the user's code.
bool computes(PyObject* ufunc) {
  auto* u = reinterpret_cast<PyUFuncObject*>(ufunc);
  const int width = u->nin + u->nout;
  for (int loop = 0; loop < u->ntypes; ++loop) {
    const char* types = u->types + loop * width;
    if (std::none_of(types, types + width, [](char type) { return type == NPY_OBJECT; })) return true;
  }
  return false;
}

/// add.outer and the like.
bool isPureMethod(PyObject* callable) {
  if (!isMethodOfUfunc(callable) || !computes(PyCFunction_GET_SELF(callable))) return false;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  return name == "reduce" || name == "accumulate" || name == "outer" || name == "reduceat";
}

}  // namespace

PyObject* methodWithExamples(const Trace& trace, const std::string& name) {
  if (trace.arrays().onDevice()) return nullptr;
  PyObject* method = PyDict_GetItemString(PyArray_Type.tp_dict, name.c_str());
  return method && hasExamples(method) ? method : nullptr;
}

bool hasExamples(PyObject* callable) {
  // Those that go over whole axes may be parts of something, and want operands that only that prepares.
  const bool parts = cpython::isUfunc(callable) && reinterpret_cast<PyUFuncObject*>(callable)->core_enabled;
  if (cpython::isUfunc(callable) && !parts) return computes(callable);
  if (isPureMethod(callable)) return true;
  if (isAllowedInGraph(callable)) return true;
  return registry().functions.contains(callable);
}

bool worksByLetters(PyObject* callable) {
  const auto at = registry().functions.find(callable);
  return at != registry().functions.end() && at->second->letters;
}

}  // namespace fw::capture::numpy
