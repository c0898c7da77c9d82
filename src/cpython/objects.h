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
  static constexpr uint64_t kCompactLimit = 16;   ///< 3.12, 3.13: lv_tag below this has at most one digit
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
