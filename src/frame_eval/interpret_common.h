// Small helpers that several families of instructions use.
#pragma once

#include <string>

#include "cpython/numpy_names.h"
#include "frame_eval/trace.h"
#include "frame_eval/value.h"

namespace fw::capture {

inline std::string text(PyObject* str) {
  const char* s = PyUnicode_AsUTF8(str);
  if (!s) throw cpython::PythonError();
  return s;
}

inline constexpr int64_t kExactFloat = int64_t{1} << 53;  ///< ints up to it are floats, too

/// The string `name`, kept for ever.
inline PyObject* interned(const char* name) {
  PyObject* s = PyUnicode_InternFromString(name);
  if (!s) throw cpython::PythonError();
  return s;
}

inline Value* boolean(Trace& trace, bool value) { return trace.constant(value ? Py_True : Py_False); }

/// "Box.content", for messages.
inline std::string describeAttribute(PyTypeObject* type, PyObject* name) {
  return cpython::publicName(std::string(type->tp_name) + "." + text(name));
}

/// Of _substitutes.py, which stands for code of others.
inline bool isSubstitute(PyCodeObject* code) { return text(code->co_filename).ends_with("/fusewire/_substitutes.py"); }

/// Written in Python.
inline bool isUserClass(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

inline bool isNumpyValue(const Value* v) { return v->kind == ValueKind::kArray || v->kind == ValueKind::kArrayScalar; }

inline bool isConstantOf(const Value* v, PyTypeObject* type) {
  return v->isConstant() && Py_TYPE(v->object.get()) == type;
}

inline bool hasInstanceDict(PyTypeObject* type) {
  return type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
}

/// Whether an attribute that the class holds comes before the instance dict when it is read: a data descriptor with
/// __get__. One that only sets does not.
inline bool isReadFirst(PyObject* found) {
  return found && Py_TYPE(found)->tp_descr_set && Py_TYPE(found)->tp_descr_get;
}

/// An instance of a class written in Python that is derived from tuple or dict (collections.h).
inline bool isSubclassValue(const Value* v) {
  if (!v->cls || (v->kind != ValueKind::kTuple && v->kind != ValueKind::kDict)) return false;
  return isUserClass(reinterpret_cast<PyTypeObject*>(v->cls.get()));
}

/// An object of a class written in Python, seen from outside or made here.
inline bool isUserObject(const Value* v) {
  return isSubclassValue(v) || v->kind == ValueKind::kInstance ||
         (v->kind == ValueKind::kObject && v->opened && v->name.empty());
}

/// Known to be one object: what `is` would say before == is asked.
inline bool isSameObject(const Value* a, const Value* b) {
  return a == b || (a->isConstant() && b->isConstant() && a->object.get() == b->object.get());
}

/// A constant whose value alone says what it is equal to.
inline bool isPlainConstant(const Value* v) { return v->isConstant() && isPlain(v->object.get()); }

/// Opened, where it is known what it is.
inline Value* openKnown(Trace& trace, Value* v) { return v->isUnknown() ? v : trace.open(v); }

/// A function that was there before and is known by its code and cells, not by its identity.
inline bool isFunctionByCode(const Value* v) { return v->kind == ValueKind::kFunction && v->source.valid(); }

inline bool isTuple(const Value* v) { return v->kind == ValueKind::kTuple || isConstantOf(v, &PyTuple_Type); }

}  // namespace fw::capture
