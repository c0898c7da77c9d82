#include "cpython/numpy_names.h"

namespace fw::cpython {

namespace {

constexpr std::string_view kPackage = "numpy";
constexpr std::string_view kArrayPackages[] = {kPackage, "cupy", "cupyx", "cupy_backends"};

}  // namespace

bool isNumpyName(std::string_view name) {
  for (const std::string_view package : kArrayPackages)
    if (name.substr(0, package.size()) == package && (name.size() == package.size() || name[package.size()] == '.'))
      return true;
  return false;
}

std::string publicName(std::string name) {
  if (name.rfind("_io.", 0) == 0) name.erase(0, 1);
  for (size_t from = name.find('.'); from != name.npos;) {
    const size_t to = name.find('.', from + 1);
    const bool hidden = to != name.npos && name[from + 1] == '_' && name[from + 2] != '_';
    if (hidden) name.erase(from, to - from);
    from = hidden ? from : to;
  }
  return name;
}

bool isNumpyModule(PyObject* object) {
  const char* name = PyModule_Check(object) ? PyModule_GetName(object) : nullptr;
  if (!name) PyErr_Clear();
  return name && name == kPackage;
}

bool isNumpyType(PyTypeObject* type) { return isNumpyName(type->tp_name); }

bool isNoValue(PyObject* object) { return Py_TYPE(object)->tp_name == std::string_view("_NoValueType"); }

bool isUfunc(PyObject* object) { return Py_TYPE(object)->tp_name == std::string_view("numpy.ufunc"); }

bool isArrayFunction(PyObject* object) {
  return Py_TYPE(object)->tp_name == std::string_view("numpy._ArrayFunctionDispatcher");
}

}  // namespace fw::cpython
