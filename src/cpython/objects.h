// Layouts of ints, functions, cells and methods as machine code and C++ read them without calling the API.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

#include "cpython/version.h"

namespace fw::cpython {

/// Ints of at most one digit: value = digit * sign, the sign being found from one 64-bit word.
///   3.11: word = ob_size, -1, 0 or 1; sign = word.
///   3.12, 3.13: word = lv_tag, below 16 for one digit; sign = 1 - (word & 3).
struct LongLayout {
#if FW_PY_MINOR == 11
  static constexpr int kWord = offsetof(PyVarObject, ob_size);
  static constexpr int kDigit = offsetof(PyLongObject, ob_digit);
#else
  static constexpr int kWord = offsetof(PyLongObject, long_value.lv_tag);
  static constexpr int kDigit = offsetof(PyLongObject, long_value.ob_digit);
#endif
  static constexpr uint64_t kCompactLimit = 16;  ///< 3.12, 3.13: lv_tag below this has at most one digit
};
static_assert(LongLayout::kWord == 16 && LongLayout::kDigit == 24 && sizeof(digit) == 4 && PyLong_SHIFT == 30);
static_assert(offsetof(PyFloatObject, ob_fval) == 16);
static_assert(offsetof(PyComplexObject, cval) == 16);
static_assert(offsetof(PyTupleObject, ob_item) == 24 && offsetof(PyListObject, ob_item) == 24);
static_assert(offsetof(PyCellObject, ob_ref) == 16);
static_assert(offsetof(PyMethodObject, im_func) == 16 && offsetof(PyMethodObject, im_self) == 24);
static_assert(offsetof(PyFunctionObject, func_globals) == 16 && offsetof(PyFunctionObject, func_builtins) == 24 &&
              offsetof(PyFunctionObject, func_code) == 48 && offsetof(PyFunctionObject, func_defaults) == 56 &&
              offsetof(PyFunctionObject, func_kwdefaults) == 64 && offsetof(PyFunctionObject, func_closure) == 72);

/// Referent of a weak reference, nullptr if it has died. An object waiting in a chain of deallocations counts as dead.
inline PyObject* weakTarget(PyObject* reference) {
  PyObject* target = reinterpret_cast<PyWeakReference*>(reference)->wr_object;
  return target == Py_None || Py_REFCNT(target) <= 0 ? nullptr : target;
}
static_assert(offsetof(PyWeakReference, wr_object) == 16 && offsetof(PyObject, ob_refcnt) == 0);

/// Iterators that are a position and what they go over: of lists, tuples, and enumerate (whose position is its count
/// and which goes over another iterator). The fields are private to CPython; checkRuntimeVersion() tries them on live
/// objects.
struct IndexIteratorLayout {
  static constexpr int kIndex = 16, kIterated = 24;
};
inline bool isIndexIterator(PyTypeObject* type) {
  return type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyEnum_Type;
}
/// nullptr if the iterator is exhausted.
inline PyObject* iteratedOf(PyObject* iterator) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(iterator) + IndexIteratorLayout::kIterated);
}

/// Value of an int (exactly an int or a subclass's int part) that fits; false if it does not. Leaves no exception.
inline bool asInt64(PyObject* number, int64_t* out) {
  auto* v = reinterpret_cast<PyLongObject*>(number);
#if FW_PY_MINOR == 11
  Py_ssize_t size = Py_SIZE(v);
  if (size >= -1 && size <= 1) {
    *out = size == 0 ? 0 : size * static_cast<int64_t>(v->ob_digit[0]);
    return true;
  }
#else
  if (v->long_value.lv_tag < LongLayout::kCompactLimit) {
    *out = (1 - static_cast<int64_t>(v->long_value.lv_tag & 3)) * static_cast<int64_t>(v->long_value.ob_digit[0]);
    return true;
  }
#endif
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow == 0;
}

/// Fields of range objects, all ints, and of range iterators, C longs: private to CPython, tried by
/// checkRuntimeVersion().
struct RangeLayout {
  static constexpr int kStart = 16, kStop = 24, kStep = 32, kLength = 40;
};
struct RangeIteratorLayout {
#if FW_PY_MINOR == 11
  static constexpr int kIndex = 16, kStart = 24, kStep = 32, kLength = 40;  ///< start and length stay, index goes up
#else
  static constexpr int kStart = 16, kStep = 24, kLength = 32;  ///< start goes up, length down
#endif
};

/// start, stop, step, length of an exact range; false if one does not fit.
inline bool readRange(PyObject* range, int64_t out[4]) {
  auto* fields = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(range) + RangeLayout::kStart);
  for (int i = 0; i < 4; ++i)
    if (!asInt64(fields[i], &out[i])) return false;
  return true;
}

/// Next value, step, values left of a range iterator; false if it is exhausted.
inline bool readRangeIterator(PyObject* iterator, int64_t out[3]) {
  auto* fields = reinterpret_cast<const int64_t*>(reinterpret_cast<char*>(iterator) + 16);
#if FW_PY_MINOR == 11
  out[0] = static_cast<int64_t>(static_cast<uint64_t>(fields[1]) +
                                static_cast<uint64_t>(fields[0]) * static_cast<uint64_t>(fields[2]));
  out[1] = fields[2];
  out[2] = fields[3] - fields[0];
#else
  for (int i = 0; i < 3; ++i) out[i] = fields[i];
#endif
  return out[2] > 0;
}

/// Position and items left of a list or tuple iterator, count of an enumerate (of which nobody knows how many are left:
/// -1); false if it is exhausted or counts beyond 64 bits.
inline bool readIndexIterator(PyObject* iterator, int64_t out[2]) {
  PyObject* over = iteratedOf(iterator);
  if (!over) return false;
  out[0] = *reinterpret_cast<int64_t*>(reinterpret_cast<char*>(iterator) + IndexIteratorLayout::kIndex);
  bool counts = Py_TYPE(iterator) == &PyEnum_Type;
  out[1] = counts ? -1 : Py_SIZE(over) - out[0];
  return counts ? out[0] != PY_SSIZE_T_MAX : out[1] > 0;
}

/// Number of items of an exact tuple, list, dict, set or frozenset.
inline int64_t sizeOf(PyObject* object) {
  if (PyDict_CheckExact(object)) return PyDict_GET_SIZE(object);
  if (PyAnySet_CheckExact(object)) return PySet_GET_SIZE(object);
  return Py_SIZE(object);
}

/// True for ints of one digit or none, whose word and digit the stub compares inline.
inline bool isCompactInt(PyObject* number) {
  auto* v = reinterpret_cast<PyLongObject*>(number);
#if FW_PY_MINOR == 11
  return Py_SIZE(v) >= -1 && Py_SIZE(v) <= 1;
#else
  return v->long_value.lv_tag < LongLayout::kCompactLimit;
#endif
}

}  // namespace fw::cpython
