// Values of objects that exist outside the trace: what is guarded, what becomes an input of the graph, what is
// constant. Nothing here runs user code: objects are told apart by exact type and read through the C API of builtin
// types.
#include <algorithm>
#include <utility>

#include "cpython/code_facts.h"
#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/classes.h"
#include "frame_eval/collections.h"
#include "frame_eval/keys.h"
#include "frame_eval/numpy/examples.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/reading.h"
#include "frame_eval/logs.h"
#include "frame_eval/long_list.h"
#include "frame_eval/nesting.h"
#include "frame_eval/trace.h"
#include "graph/rank.h"
#include "graph/support/check.h"
#include "guards/array_layout.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;
using graph::DType;
using guards::Guard;
using guards::GuardKind;
using guards::InputBinding;
using guards::SourceKind;
using guards::SymbolBinding;

namespace {

/// Ints have one of two ranges: most are small, and products of small ones need no guards.
constexpr int64_t kIntLimit = int64_t{1} << 31, kWideIntLimit = int64_t{1} << 62;
constexpr size_t kMaxDepth = 16;

/// Whether an int lies in [-limit, limit].
bool isWithin(PyObject* integer, int64_t limit) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  return !overflow && value >= -limit && value <= limit;
}

/// Objects that are guarded by identity: they are few, long-lived, and compared by identity in Python too.
bool isIdentityConstant(PyObject* o) {
  return o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o) || PyType_Check(o) ||
         PyFunction_Check(o) || PyCFunction_Check(o) || PyModule_Check(o) || PyArray_DescrCheck(o) ||
         Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type || Py_TYPE(o) == &PyGetSetDescr_Type ||
         Py_TYPE(o) == &PyMemberDescr_Type || cpython::isUfunc(o) || cpython::isArrayFunction(o) || numpy::isKnown(o) ||
         numpy::hasExamples(o) || cpython::isNoValue(o);
}

bool isContainer(PyObject* o) { return PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyDict_CheckExact(o); }

/// Counts the items of nested containers, one for every way to them; stops where `refusal` says why they are not read.
struct ContainerWalk {
  Py_ssize_t items = 0;
  std::vector<PyObject*> path;
  const char* refusal = nullptr;

  void walk(PyObject* o) {
    if (refusal || !isContainer(o)) return;
    if (std::find(path.begin(), path.end(), o) != path.end()) return refuse("contains itself");
    if (path.size() >= kMaxDepth) return refuse("is nested too deeply");
    items += PyObject_Size(o);
    if (items > kMaxItems) return refuse(kRefusedSize);
    path.push_back(o);
    if (PyDict_CheckExact(o)) {
      PyObject *key, *item;
      for (Py_ssize_t pos = 0; PyDict_Next(o, &pos, &key, &item);) walk(item);
    } else {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) walk(PySequence_Fast_GET_ITEM(o, i));
    }
    path.pop_back();
  }

  void refuse(const char* why) { refusal = why; }
};

/// Why a tuple, list or dict is not read item by item; null if it is. Those inside were looked at with the outermost.
const char* containerRefusal(Trace& trace, PyObject* o, int depth) {
  ContainerWalk walk;
  if (depth == 1) walk.walk(o);
  if (!walk.refusal && !mayRead(trace, walk.items)) walk.refuse(kRefusedSize);
  if (walk.refusal) return walk.refusal;
  if (PyDict_CheckExact(o)) {
    PyObject *key, *item;
    Py_ssize_t pos = 0;
    while (PyDict_Next(o, &pos, &key, &item)) {
      if (!PyUnicode_CheckExact(key) && !isGuardedKey(key)) return kRefusedKeys;
    }
    if (PyDict_GetItemString(o, "__builtins__")) return "is a namespace";
  }
  return nullptr;
}

const char* arrayRefusal(PyObject* object) {
  const guards::ArrayLibrary* library = guards::arrayLibraryOf(Py_TYPE(object));
  if (!library) return Py_TYPE(object)->tp_name;
  if (library->onDevice() && !guards::deviceRefusal().empty()) return guards::deviceRefusal().c_str();
  const guards::ArrayView a = guards::viewOf(object);
  if (!PyArray_ISNBO(a.descr->byteorder)) return "is byte-swapped";
  if (!guards::dtypeOf(a.descr)) return "has an element type that is not compiled";
  if (a.rank > graph::kMaxRank) return "has more than 31 axes";
  return a.isAligned() ? nullptr : "is not aligned";
}

}  // namespace

bool Trace::isMutable(PyObject* o) {
  bool value = isIdentityConstant(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyLong_CheckExact(o) ||
               PyFloat_CheckExact(o) || PyComplex_CheckExact(o) || PyTuple_CheckExact(o) || PyFrozenSet_CheckExact(o) ||
               PyMethod_Check(o) || PyArray_IsScalar(o, Generic);
  return !value;
}

graph::ValueId Trace::addInput(InputBinding::From from, SourceId source, graph::ValueType type) {
  int index = static_cast<int>(guards_.inputs.size());
  guards_.inputs.push_back({from, source});
  return graph_.input(index, std::move(type));
}

graph::SymId Trace::addSymbol(std::string name, graph::SymRange range, int64_t hint, SymbolBinding binding) {
  FW_CHECK(guards_.symbols.size() == static_cast<size_t>(syms().symbolCount()));
  guards_.symbols.push_back(binding);
  hints_.push_back(hint);
  return syms().symbol(std::move(name), range);
}

Value* Trace::guardedConstant(SourceId source, PyObject* object, GuardKind kind) {
  bool identity = kind == GuardKind::kIdentity;
  guard(identity ? guards::identityGuard(source, object)
                 : Guard{.kind = kind, .source = source, .object = Ref::create(object)});
  Value* v = constant(object);
  v->source = source;
  return v;
}

Value* Trace::fromSource(SourceId source, PyObject* object) {
  if (auto it = bySource_.find(source); it != bySource_.end()) return it->second;
  bool shared = isMutable(object) || (PyFunction_Check(object) && isMadeByFrame(source, object));
  if (auto it = byObject_.find(object); shared && it != byObject_.end()) {
    Value* first = it->second;
    guard({.kind = GuardKind::kSameObject, .source = source, .other = first->source});
    return bySource_[source] = first;
  }
  Value* v = make(ValueKind::kObject);
  v->source = source;
  v->object = Ref::create(object);
  bySource_[source] = v;
  sourced_.push_back(v);
  if (shared) {
    byObject_[object] = v;
    mutables_.push_back(v);
  }
  return v;
}

Value* Trace::open(Value* v) {
  openRange(v);
  if (v->kind == ValueKind::kRange) holdRange(v);
  return v;
}

Value* Trace::openRange(Value* v) {
  if (v->isUnknown()) branches.refuse(v);
  if (v->kind != ValueKind::kObject || v->opened) return v;
  Logs{*this}.settle(v);
  if (v->written && PyDict_CheckExact(v->object.get()))
    fail(BreakReason::kUnsupportedObject, "globals() after writing a global");
  v->opened = true;
  std::vector<Value*> appended = std::move(v->items);                   // to a list or deque, unseen
  auto popped = static_cast<ptrdiff_t>(std::exchange(v->position, 0));  // from a list, unseen
  v->items.clear();
  convertSource(v->source, v->object.get(), v);
  if (v->kind == ValueKind::kList) v->items.erase(v->items.end() - popped, v->items.end());
  v->items.insert(v->items.end(), appended.begin(), appended.end());
  if (v->kind == ValueKind::kDeque && v->items.size() > v->position) {
    v->items.erase(v->items.begin(), v->items.end() - static_cast<ptrdiff_t>(v->position));
  }
  return v;
}

graph::SymId Trace::lengthOf(SourceId source, int64_t seen) {
  return addSymbol("l" + std::to_string(intCount_++), {0, INT64_MAX}, seen, {SymbolBinding::From::kLength, source, 0});
}

void Trace::refuseOpaque(Value* value) {
  if (value->kind != ValueKind::kObject || value->name.empty()) return;
  bool array = PyArray_Check(value->object.get()) || guards::isArray(value->object.get());
  fail(array ? BreakReason::kUnsupportedArray : BreakReason::kUnsupportedObject,
       describe(value->source) + " " + value->name);
}

/// Functions that a call of the user's function may have made anew: nested ones in its variables or on its stack. Their
/// code and what their cells hold tell as much as their identity, and stay the same.
bool Trace::isMadeByFrame(SourceId source, PyObject* function) const {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  bool nested = (reinterpret_cast<PyCodeObject*>(f->func_code)->co_flags & CO_NESTED) != 0;
  if (!nested || f->func_kwdefaults || declarationOf(function).kind != Declaration::kNone) return false;
  if (numpy::hasExamples(function)) return false;  // by which it is known
  const guards::Source* at = &(*guards_.sources)[source];
  while (at->kind == SourceKind::kContents || at->kind == SourceKind::kClosureCell) {
    at = &(*guards_.sources)[at->base];
    if (at->kind == SourceKind::kFunction) return true;
  }
  return at->kind == SourceKind::kArg;
}

Value* Trace::functionFromSource(SourceId source, PyObject* function) {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  Value* v = make(ValueKind::kFunction);
  v->code = Ref::create(f->func_code);
  v->globals = Ref::create(f->func_globals);
  v->builtins = Ref::create(f->func_builtins);
  v->qualname = Ref::create(f->func_qualname);
  v->globalsOf = source;
  for (Py_ssize_t i = 0; f->func_closure && i < PyTuple_GET_SIZE(f->func_closure); ++i) {
    SourceId cell = sources().intern(SourceKind::kClosureCell, source, i);
    v->closure.push_back(open(fromSource(cell, PyTuple_GET_ITEM(f->func_closure, i))));
  }
  for (Py_ssize_t i = 0; f->func_defaults && i < PyTuple_GET_SIZE(f->func_defaults); ++i) {
    v->defaults.push_back(
        fromSource(sources().intern(SourceKind::kDefault, source, i), PyTuple_GET_ITEM(f->func_defaults, i)));
  }
  return v;
}

void Trace::convertSource(SourceId source, PyObject* object, Value* into) {
  const char* refusal = nullptr;
  auto become = [&](Value* made) {
    Value& v = *into;
    int madeAt = v.madeAt;
    Ref seen = v.object;
    bool written = v.written;
    v = std::move(*made);
    v.source = source;
    v.madeAt = madeAt;
    v.written = written;
    if (!v.object) v.object = std::move(seen);
    if (v.kind == ValueKind::kArray && v.base) v.base->items.push_back(&v);  // a view of shared memory
  };
  auto collection = [&] {  // plain containers inside are outermost ones of their own
    Nesting nesting(*this);
    const int depth = std::exchange(sourceDepth_, 0);
    Value* v = openCollection(*this, source, object, &refusal);
    sourceDepth_ = depth;
    return v;
  };
  if (PyArray_Check(object) || guards::isArray(object)) {
    if (const char* why = arrayRefusal(object)) {
      into->name = why;
    } else {
      become(arrayFromSource(source, object));
    }
  } else if (PyFunction_Check(object) && isMadeByFrame(source, object) && cpython::hasPlainVectorcall(object)) {
    guard({.kind = GuardKind::kFunctionCode,
           .source = source,
           .object = Ref::create(reinterpret_cast<PyFunctionObject*>(object)->func_code)});
    Value* v = functionFromSource(source, object);
    into->name.clear();
    become(v);
  } else if (isIdentityConstant(object)) {
    if (PyType_Check(object) && isMadeByEveryCall(reinterpret_cast<PyTypeObject*>(object), code))
      fail(BreakReason::kUnsupportedObject, "a class that every call makes anew");
    become(guardedConstant(source, object, GuardKind::kIdentity));
  } else if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object)) {
    become(guardedConstant(source, object, GuardKind::kEquals));
  } else if (PyLong_CheckExact(object) && !isWithin(object, kWideIntLimit)) {
    into->name = "is beyond 2**62";
  } else if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) {
    become(numberFromSource(source, object));
  } else if (PyArray_IsScalar(object, Generic)) {
    if (Value* number = numberFromSource(source, object)) become(number);
  } else if (Value* numbers = into->written ? nullptr : LongList::ofOutside(*this, into)) {
    become(numbers);
  } else if (PyTuple_CheckExact(object) || PyList_CheckExact(object) || PyDict_CheckExact(object)) {
    ++sourceDepth_;
    if (const char* why = containerRefusal(*this, object, sourceDepth_)) {
      if (!into->written) LongList::standOutside(*this, into);
      into->name = why;
    } else {
      become(containerFromSource(source, object));
    }
    --sourceDepth_;
  } else if (Value* v = collection()) {
    become(v);
  } else if (refusal) {
    into->name = refusal;
  } else if (Value* v = openIterator(*this, source, object)) {
    become(v);
    adoptIterator(into);
  } else if (PyCell_Check(object)) {
    into->kind = ValueKind::kCell;
    into->contents = sources().intern(SourceKind::kContents, source);
    into->opened = false;
    into->items = {nullptr};
  } else if (PyMethod_Check(object)) {
    guard({.kind = GuardKind::kType,
           .source = source,
           .object = Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(object)))});
    Value* v = make(ValueKind::kMethod);
    v->items = {open(fromSource(sources().intern(SourceKind::kBoundFunc, source), PyMethod_GET_FUNCTION(object))),
                fromSource(sources().intern(SourceKind::kBoundSelf, source), PyMethod_GET_SELF(object))};
    become(v);
  }
}

Value* Trace::numberFromSource(SourceId source, PyObject* object) {
  if (PyLong_CheckExact(object)) {
    const int64_t limit = isWithin(object, kIntLimit) ? kIntLimit : kWideIntLimit, value = PyLong_AsLongLong(object);
    guard({.kind = GuardKind::kIntRange, .source = source, .lo = -limit, .hi = limit});
    Value* v = make(ValueKind::kPyInt);
    v->sym =
        addSymbol("i" + std::to_string(intCount_++), {-limit, limit}, value, {SymbolBinding::From::kPyInt, source, 0});
    return v;
  }
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) {
    bool real = PyFloat_CheckExact(object);
    guard({.kind = GuardKind::kType, .source = source, .object = Ref::create(type)});
    graph::ValueType t{.dtype = real ? DType::kF64 : DType::kC128};
    auto from = real ? InputBinding::From::kPyFloat : InputBinding::From::kPyComplex;
    return number(real ? ValueKind::kPyFloat : ValueKind::kPyComplex, addInput(from, source, t));
  }
  auto dtype = guards::dtypeOfScalarType(Py_TYPE(object));
  if (!dtype) return nullptr;
  guard({.kind = GuardKind::kType, .source = source, .object = Ref::create(type)});
  return number(ValueKind::kArrayScalar, addInput(InputBinding::From::kNumpyScalar, source, {.dtype = *dtype}));
}

Value* Trace::containerFromSource(SourceId source, PyObject* object) {
  Py_ssize_t size = PyObject_Size(object);
  if (PyDict_CheckExact(object)) {
    Value* v = make(ValueKind::kDict);
    Ref keys = checked(PyTuple_New(size));
    PyObject *key, *item;
    Py_ssize_t pos = 0, n = 0;
    while (PyDict_Next(object, &pos, &key, &item)) {
      PyObject* known = Ref::create(key).release();
      if (PyUnicode_CheckExact(key)) PyUnicode_InternInPlace(&known);
      PyTuple_SET_ITEM(keys.get(), n++, known);
    }
    guard({.kind = GuardKind::kDictKeys, .source = source, .object = keys});
    for (Py_ssize_t i = 0; i < n; ++i) {
      key = PyTuple_GET_ITEM(keys.get(), i);
      item = PyDict_GetItemWithError(object, key);  // plain keys and members of enums: no code of the user runs
      auto held = item ? guards::dictItemSource(sources(), source, object, key) : std::nullopt;
      if (!held) {
        if (PyErr_Occurred()) throw cpython::PythonError();
        fail(BreakReason::kUnsupportedObject, describe(source) + " " + kRefusedKeys);
      }
      v->keys.push_back(keyFromOutside(*this, key));
      v->items.push_back(open(fromSource(*held, item)));
    }
    return v;
  }
  bool tuple = PyTuple_CheckExact(object);
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  guard({.kind = GuardKind::kType, .source = source, .object = Ref::create(type)});
  guard({.kind = GuardKind::kLength, .source = source, .lo = size});
  std::vector<Value*> items;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i);
    items.push_back(open(fromSource(sources().intern(SourceKind::kItem, source, i), item)));
  }
  return tuple ? this->tuple(std::move(items)) : list(std::move(items));
}

Value* Trace::arrayFromSource(SourceId source, PyObject* object) {
  useArrays(*guards::arrayLibraryOf(Py_TYPE(object)));
  if (Value* part = sharedArray(object)) return part;
  const guards::ArrayView a = guards::viewOf(object);
  auto dtype = guards::dtypeOf(a.descr);
  graph::ValueType type{.dtype = *dtype, .layout = guards::classifyLayout(a)};
  guard({.kind = GuardKind::kArrayMeta, .source = source, .meta = {*dtype, type.layout, arrays().device(object)}});
  const std::string argument = sources()[source].kind == SourceKind::kArg ? describe(source) : std::string();
  for (int axis = 0; axis < a.rank; ++axis) {
    // An array without elements is packed: its layout class is C order, whatever its strides are.
    graph::SymId size = addSymbol("s" + std::to_string(dimCount_++), {type.layout.isPacked() ? 0 : 1, INT64_MAX},
                                  a.shape[axis], {SymbolBinding::From::kDim, source, axis});
    // Which axes are ties, and which interleave, is said of those that have a stride.
    const bool silent = a.shape[axis] == 1 && (type.layout.tiedAxes || type.layout.interleaved);
    const SizePolicy policy = sizePolicy(object, axis, code, argument, sizes);
    if (policy == SizePolicy::kDynamic) fixesSizes = false;
    if (silent || policy == SizePolicy::kStatic) size = syms().constant(specialize(size));
    type.shape.push_back(size);
  }
  if (type.layout.contiguity != graph::Contiguity::kPacked) {
    bool inner = type.layout.contiguity == graph::Contiguity::kInner;
    for (int i = 0; i < type.layout.rank(); ++i) {
      if (inner && i + 1 == type.layout.rank()) break;  // stride itemsize
      int axis = type.layout.order[i];
      addSymbol("t" + std::to_string(guards_.inputs.size()) + "_" + std::to_string(axis), {}, a.strides[axis],
                {SymbolBinding::From::kStride, source, axis});
    }
  }
  return array(addInput(InputBinding::From::kArrayData, source, std::move(type)));
}

}  // namespace fw::capture
