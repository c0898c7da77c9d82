// The tripwire for unknown versions. A layout that cannot be asserted at compile time, because CPython's header for it
// does not compile as C++, is tried here on live objects.
#include "cpython/version.h"

#include "cpython/attributes.h"
#include "cpython/objects.h"
#include "cpython/ref.h"

namespace fw::cpython {

std::string versionMismatch(unsigned long compiled, unsigned long running) {
  auto text = [](unsigned long v) { return std::to_string(v >> 24) + "." + std::to_string((v >> 16) & 0xff); };
  if ((running >> 16) < 0x030B || (running >> 16) > 0x030D) return "Python " + text(running) + " is not supported";
  if ((running >> 16) != (compiled >> 16)) return "compiled for Python " + text(compiled) + ", running " + text(running);
  return "";
}

namespace {

/// Reads an int, a dict and an instance through our own layouts and through the API.
bool layoutsHold() {
  for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{123456789}, -(int64_t{1} << 31), INT64_MIN, INT64_MAX}) {
    Ref number = checked(PyLong_FromLongLong(v));
    int64_t got = 0;
    if (!asInt64(number.get(), &got) || got != v) return false;
  }
  Ref scope = checked(PyDict_New());
  checked(PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins()));
  const char* source =
      "class Plain: pass\n"
      "class Slotted: __slots__ = ('first', 'second')\n"
      "a, b, s = Plain(), Plain(), Slotted()\n"
      "for o in (a, b, s): o.first, o.second = 11, 'two'\n"
      "b.__dict__['third'] = 3\n"
      "d = {'first': 11, 'second': 'two'}\n"
      "g = {'first': 11, 2: 0, 'second': 'two'}\n";
  checked(PyRun_String(source, Py_file_input, scope.get(), scope.get()));
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

}  // namespace

std::string checkRuntimeVersion() {
  std::string mismatch = versionMismatch(PY_VERSION_HEX, Py_Version);
  if (!mismatch.empty()) return mismatch;
  try {
    if (!layoutsHold()) return std::string("objects of Python ") + Py_GetVersion() + " have an unknown layout";
  } catch (const PythonError&) {
    PyErr_Clear();
    return "the check of object layouts failed";
  }
  return "";
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
