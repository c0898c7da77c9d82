// Comparisons with constants that run no Python code. They are finer than ==, because a constant may be burnt into the
// code: whatever could be told apart by the program must differ here.
#include <cstring>

#include "cpython/elements.h"
#include "cpython/hash_tables.h"
#include "cpython/objects.h"
#include "guards/access.h"

namespace fw::guards {

namespace {

constexpr int kMaxDepth = 64;  // of nested constants

bool isConstant(PyObject* c, int depth) {
  if (depth > kMaxDepth) return false;
  PyTypeObject* type = Py_TYPE(c);
  if (type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c); ++i)
      if (!isConstant(PyTuple_GET_ITEM(c, i), depth + 1)) return false;
    return true;
  }
  if (type == &PyFrozenSet_Type) {
    Py_ssize_t pos = 0;
    while (PyObject* item = cpython::nextMember(c, &pos))
      if (!isConstant(item, depth + 1)) return false;
    return true;
  }
  if (type == &PySlice_Type) {
    auto* s = reinterpret_cast<PySliceObject*>(c);
    return isConstant(s->start, depth + 1) && isConstant(s->stop, depth + 1) && isConstant(s->step, depth + 1);
  }
  return c == Py_None || c == Py_Ellipsis || type == &PyBool_Type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyComplex_Type || type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyType_Type;
}

bool sameFrozenSet(PyObject* a, PyObject* b) {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  Py_ssize_t i = 0, j = 0;
  while (PyObject* item = cpython::nextMember(a, &i)) {
    PyObject* other = cpython::nextMember(b, &j);
    if (!other || !equalsExact(item, other)) return false;
  }
  return true;
}

bool sameInt(PyObject* a, PyObject* b) {
  int64_t x = 0, y = 0;
  bool fitsA = cpython::asInt64(a, &x), fitsB = cpython::asInt64(b, &y);
  if (fitsA || fitsB) return fitsA && fitsB && x == y;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;  // two exact ints: no Python code
}

bool sameSlice(PyObject* a, PyObject* b) {
  auto *x = reinterpret_cast<PySliceObject*>(a), *y = reinterpret_cast<PySliceObject*>(b);
  return equalsExact(x->start, y->start) && equalsExact(x->stop, y->stop) && equalsExact(x->step, y->step);
}

}  // namespace

bool isEqualsConstant(PyObject* c) { return isConstant(c, 0); }

// No deeper than `constant`, whose depth isEqualsConstant has bounded.
bool equalsExact(PyObject* object, PyObject* constant) {
  if (object == constant) return true;
  PyTypeObject* type = Py_TYPE(constant);
  if (Py_TYPE(object) != type) return false;
  if (type == &PyLong_Type) return sameInt(object, constant);
  if (type == &PyFloat_Type)
    return std::memcmp(&reinterpret_cast<PyFloatObject*>(object)->ob_fval,
                       &reinterpret_cast<PyFloatObject*>(constant)->ob_fval, sizeof(double)) == 0;
  if (type == &PyComplex_Type)
    return std::memcmp(&reinterpret_cast<PyComplexObject*>(object)->cval,
                       &reinterpret_cast<PyComplexObject*>(constant)->cval, sizeof(Py_complex)) == 0;
  if (type == &PyUnicode_Type) return cpython::strEqual(object, constant);
  if (type == &PyBytes_Type)
    return Py_SIZE(object) == Py_SIZE(constant) && std::memcmp(PyBytes_AS_STRING(object), PyBytes_AS_STRING(constant),
                                                               static_cast<size_t>(Py_SIZE(object))) == 0;
  if (type == &PyTuple_Type) {
    if (Py_SIZE(object) != Py_SIZE(constant)) return false;
    for (Py_ssize_t i = 0; i < Py_SIZE(object); ++i)
      if (!equalsExact(PyTuple_GET_ITEM(object, i), PyTuple_GET_ITEM(constant, i))) return false;
    return true;
  }
  if (type == &PyFrozenSet_Type) return sameFrozenSet(object, constant);
  if (type == &PySlice_Type) return sameSlice(object, constant);
  return false;  // None, True, Ellipsis, types: only identity
}

bool dictHasKeys(PyObject* dict, PyObject* keys) {
  if (!PyDict_CheckExact(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  Py_ssize_t pos = 0, i = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &pos, &key, &value))
    if (!equalsExact(key, PyTuple_GET_ITEM(keys, i++))) return false;
  return true;
}

bool holdsElements(PyObject* object, PyObject* keys, int64_t count, int64_t limit) {
  int64_t lengthAndLimit[2];
  if (!keys)
    return cpython::readElements(object, lengthAndLimit) && lengthAndLimit[0] == count && lengthAndLimit[1] == limit;
  if (!PyDict_Check(object) || PyDict_GET_SIZE(object) != PyTuple_GET_SIZE(keys)) return false;
  PyObject* key = nullptr;
  Py_ssize_t i = 0;
  for (cpython::DictWalk walk(object); (key = walk.next());) {
    if (i == PyTuple_GET_SIZE(keys) || !equalsExact(key, PyTuple_GET_ITEM(keys, i++))) return false;
  }
  return i == PyTuple_GET_SIZE(keys);
}

bool itemsAre(PyObject* sequence, PyObject* items) {
  bool isTuple = PyTuple_CheckExact(sequence);
  if (!isTuple && !PyList_CheckExact(sequence)) return false;
  Py_ssize_t count = PyTuple_GET_SIZE(items);
  if (Py_SIZE(sequence) != count) return false;
  PyObject** own = isTuple ? &PyTuple_GET_ITEM(sequence, 0) : reinterpret_cast<PyListObject*>(sequence)->ob_item;
  return count == 0 ||
         std::memcmp(own, &PyTuple_GET_ITEM(items, 0), sizeof(PyObject*) * static_cast<size_t>(count)) == 0;
}

}  // namespace fw::guards
