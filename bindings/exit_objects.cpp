// Each kind of node is made as CPython itself makes it. None of this runs user code: what capture allows here are exact
// builtin types and plain instances.
#include "bindings/exit_objects.h"

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

/// children: globals, qualname, defaults, kwdefaults, closure.
PyObject* makeFunction(const ExitNode& node, absl::Span<PyObject* const> parts) {
  FW_CHECK(parts.size() == 5 && parts[0]);
  Ref function = Ref::steal(PyFunction_NewWithQualName(node.object.get(), parts[0], parts[1]));
  if (!function) return nullptr;
  if (parts[2] && PyFunction_SetDefaults(function.get(), parts[2]) < 0) return nullptr;
  if (parts[3] && PyFunction_SetKwDefaults(function.get(), parts[3]) < 0) return nullptr;
  if (parts[4] && PyFunction_SetClosure(function.get(), parts[4]) < 0) return nullptr;
  return function.release();
}

PyObject* makeInstance(const ExitNode& node, absl::Span<PyObject* const> attributes) {
  auto* type = reinterpret_cast<PyTypeObject*>(node.object.get());
  Ref none = Ref::steal(PyTuple_New(0));
  Ref self = Ref::steal(none ? PyBaseObject_Type.tp_new(type, none.get(), nullptr) : nullptr);
  for (size_t i = 0; self && i + 1 < attributes.size(); i += 2)
    if (PyObject_GenericSetAttr(self.get(), attributes[i], attributes[i + 1]) < 0) return nullptr;
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

}  // namespace

PyObject* makeObject(const ExitNode& node, absl::Span<PyObject* const> children) {
  using Kind = ExitNode::Kind;
  switch (node.kind) {
    case Kind::kTuple: return makeSequence(children, true);
    case Kind::kList: return makeSequence(children, false);
    case Kind::kSet: return makeSet(children, false);
    case Kind::kFrozenSet: return makeSet(children, true);
    case Kind::kDict: return makeDict(children);
    case Kind::kSlice: return PySlice_New(children[0], children[1], children[2]);
    case Kind::kRange:
      return PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyRange_Type), children[0], children[1], children[2], nullptr);
    case Kind::kIterator: return PyObject_GetIter(children[0]);
    case Kind::kAttribute: return PyObject_GenericGetAttr(children[0], node.object.get());
    case Kind::kMethod: return PyMethod_New(children[0], children[1]);
    case Kind::kFunction: return makeFunction(node, children);
    case Kind::kCell: return PyCell_New(children.empty() ? nullptr : children[0]);
    case Kind::kInstance: return makeInstance(node, children);
    case Kind::kConstant:
    case Kind::kObject:
    case Kind::kArray:
    case Kind::kArrayScalar:
    case Kind::kPyFloat:
    case Kind::kPyBool:
    case Kind::kPyComplex:
    case Kind::kPyInt:
    case Kind::kShared: break;
  }
  FW_UNREACHABLE();
}

bool applyEffect(const Effect& effect, PyObject* target, PyObject* key, PyObject* value) {
  switch (effect.kind) {
    case Effect::Kind::kSetAttr: return PyObject_GenericSetAttr(target, key, value) == 0;
    case Effect::Kind::kSetItem: return (value ? PyDict_SetItem(target, key, value) : PyDict_DelItem(target, key)) == 0;
    case Effect::Kind::kListSlice: return PyList_SetSlice(target, effect.lo, effect.hi, value) == 0;
    case Effect::Kind::kSetAdd: return PySet_Add(target, key) == 0;
    case Effect::Kind::kSetDiscard: return PySet_Discard(target, key) >= 0;
    case Effect::Kind::kSetCell: return PyCell_Set(target, value) == 0;
    case Effect::Kind::kAdvance: return advance(target, effect.lo);
  }
  FW_UNREACHABLE();
}

}  // namespace fw::bindings
