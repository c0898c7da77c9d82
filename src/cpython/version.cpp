// The tripwire for unknown versions. A layout that cannot be asserted at compile time, because CPython's header for it
// does not compile as C++, is tried here on live objects.
#include "cpython/version.h"

#include "cpython/attributes.h"
#include "cpython/hash_tables.h"
#include "cpython/objects.h"
#include "cpython/ref.h"

namespace fw::cpython {

std::string versionMismatch(unsigned long compiled, unsigned long running) {
  auto text = [](unsigned long v) { return std::to_string(v >> 24) + "." + std::to_string((v >> 16) & 0xff); };
  if ((running >> 16) < 0x030B || (running >> 16) > 0x030D) return "Python " + text(running) + " is not supported";
  if ((running >> 16) != (compiled >> 16))
    return "compiled for Python " + text(compiled) + ", running " + text(running);
  return "";
}

namespace {

/// Runs `source` and answers its names.
Ref run(const char* source) {
  Ref scope = checked(PyDict_New());
  checked(PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins()));
  checked(PyRun_String(source, Py_file_input, scope.get(), scope.get()));
  return scope;
}

/// Reads an int, a dict and an instance through our own layouts and through the API.
bool layoutsHold() {
  for (int64_t v :
       {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{123456789}, -(int64_t{1} << 31), INT64_MIN, INT64_MAX}) {
    Ref number = checked(PyLong_FromLongLong(v));
    int64_t got = 0;
    if (!asInt64(number.get(), &got) || got != v) return false;
  }
  Ref scope =
      run("class Plain: pass\n"
          "class Slotted: __slots__ = ('first', 'second')\n"
          "a, b, s = Plain(), Plain(), Slotted()\n"
          "for o in (a, b, s): o.first, o.second = 11, 'two'\n"
          "b.__dict__['third'] = 3\n"
          "d = {'first': 11, 'second': 'two'}\n"
          "g = {'first': 11, 2: 0, 'second': 'two'}\n");
  for (const char* name : {"first", "second", "third"}) {
    Ref key = checked(PyUnicode_InternFromString(name));
    AttributeCell cell(key.get());
    for (const char* holder : {"a", "b", "s", "a"}) {
      PyObject* object = PyDict_GetItemString(scope.get(), holder);
      Ref want = Ref::steal(PyObject_GetAttr(object, key.get()));
      if (!want) PyErr_Clear();
      Lookup got = instanceAttribute(object, cell);
      if (got.state == LookupState::kRefused || got.value != want.get()) return false;
    }
    for (const char* holder : {"d", "g"}) {
      PyObject* dict = PyDict_GetItemString(scope.get(), holder);
      for (int pass = 0; pass < 2; ++pass) {
        Lookup got = dictItem(dict, cell);
        if (got.state == LookupState::kRefused || got.value != PyDict_GetItem(dict, key.get())) return false;
      }
    }
  }
  return true;
}

/// Probes dicts and sets that have collisions and deleted entries, against the API.
bool tablesHold() {
  Ref scope =
      run("d = {i << (i % 40): i for i in range(300)}\n"
          "d.update({str(i): i for i in range(300)})\n"
          "for k in list(d)[::3]: del d[k]\n"
          "s = set(d)\n"
          "for k in list(s)[::3]: s.discard(k)\n"
          "s.add(7)\n"
          "keys = [i << (i % 40) for i in range(320)] + [str(i) for i in range(320)]\n");
  auto get = [&](const char* name) { return PyDict_GetItemString(scope.get(), name); };
  PyObject *dict = get("d"), *set = get("s"), *keys = get("keys");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); ++i) {
    PyObject* key = PyList_GET_ITEM(keys, i);
    Py_hash_t hash = PyObject_Hash(key);
    if (probeDict(dict, key, hash).value != PyDict_GetItem(dict, key)) return false;
    if ((probeSet(set, key, hash) == LookupState::kFound) != (PySet_Contains(set, key) == 1)) return false;
  }
  return true;
}

/// Reads ranges and iterators through our own layouts.
bool iteratorsHold() {
  Ref scope =
      run("r = range(5, 50, 3)\n"
          "n, l, t, e = iter(r), iter([1, 2, 3, 4]), iter((1, 2, 3, 4)), enumerate([1], 9)\n"
          "for i in (n, l, t): next(i)\n");
  auto get = [&](const char* name) { return PyDict_GetItemString(scope.get(), name); };
  int64_t r[4], n[3], i[2];
  if (!readRange(get("r"), r) || r[0] != 5 || r[1] != 50 || r[2] != 3 || r[3] != 15) return false;
  if (!readRangeIterator(get("n"), n) || n[0] != 8 || n[1] != 3 || n[2] != 14) return false;
  for (const char* name : {"l", "t"})
    if (!readIndexIterator(get(name), i) || i[0] != 1 || i[1] != 3) return false;
  return readIndexIterator(get("e"), i) && i[0] == 9 && Py_TYPE(iteratedOf(get("e"))) == &PyListIter_Type;
}

}  // namespace

std::string checkRuntimeVersion() {
  std::string mismatch = versionMismatch(PY_VERSION_HEX, Py_Version);
  if (!mismatch.empty()) return mismatch;
  try {
    if (!layoutsHold() || !tablesHold() || !iteratorsHold())
      return std::string("objects of Python ") + Py_GetVersion() + " have an unknown layout";
  } catch (const PythonError&) {
    PyErr_Clear();
    return "the check of object layouts failed";
  }
  return "";
}

bool isFinalizing() {
#if FW_PY_MINOR >= 13
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

unsigned int ensureTypeVersion(PyTypeObject* type) {
#if FW_PY_MINOR == 11
  // A cacheable look-up assigns the tag as a side effect.
  static PyObject* const name = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, name);
  if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#else
  if (!PyUnstable_Type_AssignVersionTag(type)) return 0;
#endif
  return type->tp_version_tag;
}

}  // namespace fw::cpython
