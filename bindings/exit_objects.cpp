// Each kind of node is made as CPython itself makes it. None of this runs user code: what capture allows here are exact
// builtin types and plain instances.
#include "bindings/exit_objects.h"

#include <cstring>

#include "cpython/objects.h"
#include "cpython/ref.h"
#include "graph/support/check.h"

namespace fw::bindings {

using capture::Effect;
using capture::ExitNode;
using cpython::Ref;

namespace {

PyObject* makeSequence(absl::Span<PyObject* const> items, bool tuple) {
  const auto count = static_cast<Py_ssize_t>(items.size());
  PyObject* result = tuple ? PyTuple_New(count) : PyList_New(count);
  for (Py_ssize_t i = 0; result && i < count; ++i) {
    if (tuple)
      PyTuple_SET_ITEM(result, i, Py_NewRef(items[i]));
    else
      PyList_SET_ITEM(result, i, Py_NewRef(items[i]));
  }
  return result;
}

PyObject* makeDict(absl::Span<PyObject* const> items) {
  Ref dict = Ref::steal(PyDict_New());
  for (size_t i = 0; dict && i + 1 < items.size(); i += 2)
    if (PyDict_SetItem(dict.get(), items[i], items[i + 1]) < 0) return nullptr;
  return dict.release();
}

PyObject* makeSet(absl::Span<PyObject* const> items, bool frozen) {
  Ref set = Ref::steal(frozen ? PyFrozenSet_New(nullptr) : PySet_New(nullptr));
  for (size_t i = 0; set && i < items.size(); ++i)
    if (PySet_Add(set.get(), items[i]) < 0) return nullptr;
  return set.release();
}

/// children: globals, qualname, defaults, kwdefaults, closure, annotations, __dict__, then name, value, ...
PyObject* makeFunction(PyObject* code, absl::Span<PyObject* const> parts) {
  FW_CHECK(parts.size() >= 7 && parts[0]);
  Ref function = Ref::steal(PyFunction_NewWithQualName(code, parts[0], parts[1]));
  if (!function) return nullptr;
  if (parts[2] && PyFunction_SetDefaults(function.get(), parts[2]) < 0) return nullptr;
  if (parts[3] && PyFunction_SetKwDefaults(function.get(), parts[3]) < 0) return nullptr;
  if (parts[4] && PyFunction_SetClosure(function.get(), parts[4]) < 0) return nullptr;
  if (parts[5] && PyFunction_SetAnnotations(function.get(), parts[5]) < 0) return nullptr;
  if (parts[6]) Py_XSETREF(reinterpret_cast<PyFunctionObject*>(function.get())->func_dict, Py_NewRef(parts[6]));
  for (size_t i = 7; i + 1 < parts.size(); i += 2)
    if (PyObject_GenericSetAttr(function.get(), parts[i], parts[i + 1]) < 0) return nullptr;
  return function.release();
}

PyObject* makeInstance(PyObject* cls, absl::Span<PyObject* const> attributes) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  Ref none = Ref::steal(PyTuple_New(0));
  Ref self = Ref::steal(none ? PyBaseObject_Type.tp_new(type, none.get(), nullptr) : nullptr);
  for (size_t i = 0; self && i + 1 < attributes.size(); i += 2)
    if (PyObject_GenericSetAttr(self.get(), attributes[i], attributes[i + 1]) < 0) return nullptr;
  return self.release();
}

bool storeItem(PyObject* dict, PyObject* key, PyObject* value) {
  if (PyODict_Check(dict)) return (value ? PyODict_SetItem(dict, key, value) : PyODict_DelItem(dict, key)) == 0;
  return (value ? PyDict_SetItem(dict, key, value) : PyDict_DelItem(dict, key)) == 0;
}

/// As `base.__new__(class)` and its own methods fill it, whatever the class has put in their place.
PyObject* makeSubclass(PyObject* cls, absl::Span<PyObject* const> parts) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  bool tuple = PyTuple_CheckExact(parts[0]);
  Ref args = Ref::steal(tuple ? PyTuple_Pack(1, parts[0]) : PyTuple_New(0));
  auto construct = tuple                                   ? PyTuple_Type.tp_new
                   : PyType_IsSubtype(type, &PyODict_Type) ? PyODict_Type.tp_new
                                                           : PyDict_Type.tp_new;
  Ref self = Ref::steal(args ? construct(type, args.get(), nullptr) : nullptr);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; self && !tuple && PyDict_Next(parts[0], &at, &key, &value);)
    if (!storeItem(self.get(), key, value)) return nullptr;
  for (size_t i = 1; self && i + 1 < parts.size(); i += 2)
    if (PyObject_GenericSetAttr(self.get(), parts[i], parts[i + 1]) < 0) return nullptr;
  return self.release();
}

bool advance(PyObject* iterator, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    PyObject* item = Py_TYPE(iterator)->tp_iternext(iterator);
    if (!item) return !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_StopIteration) ? (PyErr_Clear(), true) : false;
    Py_DECREF(item);
  }
  return true;
}

/// The method of the builtin type, found along the MRO.
PyObject* callMethod(PyObject* target, PyObject* name, PyObject* args) {
  Ref method = Ref::steal(PyObject_GenericGetAttr(target, name));
  return method ? PyObject_CallObject(method.get(), args) : nullptr;
}

PyObject* advanced(PyObject* iterator, int count) {
  Ref self = Ref::steal(iterator);
  return self && (count == 0 || advance(self.get(), count)) ? self.release() : nullptr;
}

}  // namespace

PyObject* makeObject(const ExitNode& node, PyObject* object, absl::Span<PyObject* const> children) {
  using Kind = ExitNode::Kind;
  switch (node.kind) {
    case Kind::kTuple: return makeSequence(children, true);
    case Kind::kList: return makeSequence(children, false);
    case Kind::kSet: return makeSet(children, false);
    case Kind::kFrozenSet: return makeSet(children, true);
    case Kind::kDict: return makeDict(children);
    case Kind::kSlice: return PySlice_New(children[0], children[1], children[2]);
    case Kind::kRange:
      return PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyRange_Type), children[0], children[1],
                                          children[2], nullptr);
    case Kind::kIterator: return advanced(PyObject_GetIter(children[0]), node.index);
    case Kind::kCall: {
      size_t keywords = object ? static_cast<size_t>(PyTuple_GET_SIZE(object)) : 0;
      return advanced(PyObject_Vectorcall(children[0], children.data() + 1, children.size() - 1 - keywords, object),
                      node.index);
    }
    case Kind::kSubclass: return makeSubclass(object, children);
    case Kind::kAttribute: return PyObject_GenericGetAttr(children[0], object);
    case Kind::kMethod: return PyMethod_New(children[0], children[1]);
    case Kind::kFunction: return makeFunction(object, children);
    case Kind::kCell: return PyCell_New(children.empty() ? nullptr : children[0]);
    case Kind::kInstance:
      return object ? makeInstance(object, children) : makeInstance(children[0], children.subspan(1));
    case Kind::kItems:
    case Kind::kRow:
    case Kind::kRowList:
    case Kind::kBlock:
    case Kind::kRecord:
    case Kind::kConstant:
    case Kind::kObject:
    case Kind::kArray:
    case Kind::kArrayScalar:
    case Kind::kPyFloat:
    case Kind::kMixed:
    case Kind::kChosen:
    case Kind::kDataInt:
    case Kind::kPyBool:
    case Kind::kPyComplex:
    case Kind::kPyInt:
    case Kind::kShared: break;
  }
  FW_UNREACHABLE();
}

namespace {

bool isSameNumber(PyObject* a, PyObject* b) {
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a))
    return std::memcmp(&reinterpret_cast<PyFloatObject*>(a)->ob_fval, &reinterpret_cast<PyFloatObject*>(b)->ob_fval,
                       sizeof(double)) == 0;
  int64_t left = 0, right = 0;
  return PyLong_CheckExact(a) && cpython::asInt64(a, &left) && cpython::asInt64(b, &right) && left == right;
}

/// An item that is the number that it was stays the object that it was.
void setNumbers(PyObject* list, PyObject* numbers) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(numbers); ++i) {
    PyObject *was = PyList_GET_ITEM(list, i), *is = PyList_GET_ITEM(numbers, i);
    if (PyList_CheckExact(was)) {
      setNumbers(was, is);
    } else if (!isSameNumber(was, is)) {
      PyList_SET_ITEM(list, i, Py_NewRef(is));
      Py_DECREF(was);
    }
  }
}

}  // namespace

bool applyEffect(const Effect& effect, PyObject* target, PyObject* key, PyObject* value) {
  switch (effect.kind) {
    case Effect::Kind::kSetAttr: return PyObject_GenericSetAttr(target, key, value) == 0;
    case Effect::Kind::kSetItem: return storeItem(target, key, value);
    case Effect::Kind::kListSlice: return PyList_SetSlice(target, effect.lo, effect.hi, value) == 0;
    case Effect::Kind::kListNumbers: setNumbers(target, value); return true;
    case Effect::Kind::kSetAdd: return PySet_Add(target, key) == 0;
    case Effect::Kind::kSetDiscard: return PySet_Discard(target, key) >= 0;
    case Effect::Kind::kSetCell: return PyCell_Set(target, value) == 0;
    case Effect::Kind::kCall: return static_cast<bool>(Ref::steal(callMethod(target, key, value)));
    case Effect::Kind::kAdvance: return advance(target, effect.lo);
    case Effect::Kind::kRelease: break;  // by who holds the lock
  }
  FW_UNREACHABLE();
}

}  // namespace fw::bindings
