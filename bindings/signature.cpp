// Argument binding. Values are borrowed from the caller's array, the defaults and the keyword defaults; only a *args
// tuple and a **kwargs dict are made anew.
#include "bindings/signature.h"

#include <algorithm>

namespace fw::bindings {

using cpython::checked;
using cpython::PythonError;
using cpython::Ref;

Signature Signature::of(PyFunctionObject* function) {
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  Signature s;
  s.positional = code->co_argcount;
  s.positionalOnly = code->co_posonlyargcount;
  s.keywordOnly = code->co_kwonlyargcount;
  s.varArgs = code->co_flags & CO_VARARGS;
  s.varKeywords = code->co_flags & CO_VARKEYWORDS;
  s.names = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "co_varnames"));
  return s;
}

bool BoundArguments::bindKeywords(const Signature& signature, PyObject* const* values, PyObject* names,
                                  PyObject* extra) {
  const int named = signature.positional + signature.keywordOnly;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
    PyObject* key = PyTuple_GET_ITEM(names, k);
    int slot = -1;
    // Keyword names are interned almost always: identity first, equality for the rest.
    for (int i = signature.positionalOnly; i < named && slot < 0; ++i)
      if (PyTuple_GET_ITEM(signature.names.get(), i) == key) slot = i;
    for (int i = signature.positionalOnly; i < named && slot < 0; ++i)
      if (PyUnicode_Compare(PyTuple_GET_ITEM(signature.names.get(), i), key) == 0) slot = i;
    if (PyErr_Occurred()) throw PythonError();
    if (slot >= 0) {
      if (slots_[slot]) return false;  // given twice
      slots_[slot] = values[k];
    } else {
      if (!extra) return false;  // unexpected keyword
      checked(PyDict_SetItem(extra, key, values[k]));
    }
  }
  return true;
}

bool BoundArguments::bind(const Signature& signature, PyFunctionObject* function, PyObject* const* args,
                          Py_ssize_t count, PyObject* keywordNames) {
  const int total = signature.slots(), named = signature.positional + signature.keywordOnly;
  if (total <= kInline) {
    slots_ = inline_.data();
  } else {
    heap_.resize(total);
    slots_ = heap_.data();
  }
  std::fill_n(slots_, total, nullptr);
  const Py_ssize_t direct = std::min<Py_ssize_t>(count, signature.positional);
  std::copy_n(args, direct, slots_);

  int next = named;
  if (signature.varArgs) {
    varArgs_ = checked(PyTuple_New(count - direct));
    for (Py_ssize_t i = direct; i < count; ++i) PyTuple_SET_ITEM(varArgs_.get(), i - direct, Py_NewRef(args[i]));
    slots_[next++] = varArgs_.get();
  } else if (count > direct) {
    return false;
  }
  if (signature.varKeywords) {
    varKeywords_ = checked(PyDict_New());
    slots_[next++] = varKeywords_.get();
  }
  if (keywordNames && !bindKeywords(signature, args + count, keywordNames, varKeywords_.get())) return false;

  PyObject* defaults = function->func_defaults;
  const Py_ssize_t defaultCount = defaults ? PyTuple_GET_SIZE(defaults) : 0;
  for (int i = static_cast<int>(direct); i < signature.positional; ++i) {
    if (slots_[i]) continue;
    const Py_ssize_t d = i - (signature.positional - defaultCount);
    if (d < 0) return false;  // missing positional argument
    slots_[i] = PyTuple_GET_ITEM(defaults, d);
  }
  for (int i = signature.positional; i < named; ++i) {
    if (slots_[i]) continue;
    PyObject* keywordDefaults = function->func_kwdefaults;
    PyObject* value = keywordDefaults
                          ? PyDict_GetItemWithError(keywordDefaults, PyTuple_GET_ITEM(signature.names.get(), i))
                          : nullptr;
    if (!value && PyErr_Occurred()) throw PythonError();
    if (!value) return false;  // missing keyword-only argument
    slots_[i] = value;
  }
  return true;
}

}  // namespace fw::bindings
