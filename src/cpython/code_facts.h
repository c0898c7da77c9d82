// What several rooms ask of a code object.
#pragma once

#include <Python.h>

#include <string>

namespace fw::cpython {

/// Slots of localsplus that a call fills: positional, keyword-only, *args, **kwargs.
inline int boundArguments(const PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

/// For messages: `other` if the text is no UTF-8. Leaves no exception.
inline std::string utf8Or(PyObject* str, const char* other) {
  const char* text = PyUnicode_AsUTF8(str);
  if (!text) PyErr_Clear();
  return text ? text : other;
}

inline std::string qualifiedName(const PyCodeObject* code) { return utf8Or(code->co_qualname, "<code>"); }
inline std::string fileName(const PyCodeObject* code) { return utf8Or(code->co_filename, ""); }

/// How CPython calls the functions that it makes; PyFunction_SetVectorcall() gives a function another way.
vectorcallfunc plainVectorcall();

inline bool hasPlainVectorcall(PyObject* function) {
  return reinterpret_cast<PyFunctionObject*>(function)->vectorcall == plainVectorcall();
}

/// Whether the code jumps backwards. Throws PythonError.
bool hasLoop(PyCodeObject* code);

}  // namespace fw::cpython
