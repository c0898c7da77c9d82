// Each is read by the C slot of the builtin type itself, never by what a subclass has put in its place.
#include "cpython/elements.h"

#include "cpython/objects.h"

namespace fw::cpython {

namespace {

/// Where dequeobject of _collectionsmodule.c keeps maxlen: behind the head, two blocks, two indices and a counter (3.11
/// to 3.13).
constexpr Py_ssize_t kMaxlen = 64;

Py_ssize_t wordAt(PyObject* object, Py_ssize_t offset) {
  return *reinterpret_cast<Py_ssize_t*>(reinterpret_cast<char*>(object) + offset);
}

/// The deque type, if one of its instances shows its maxlen where we expect it.
PyTypeObject* findDeque() {
  Ref module = Ref::steal(PyImport_ImportModule("_collections"));
  Ref type = module ? Ref::steal(PyObject_GetAttrString(module.get(), "deque")) : Ref();
  Ref trial = type ? Ref::steal(PyObject_CallFunction(type.get(), "(ii)i", 7, 8, 41)) : Ref();
  if (!trial || !PyType_Check(type.get())) {
    PyErr_Clear();
    return nullptr;
  }
  auto* found = reinterpret_cast<PyTypeObject*>(type.get());
  bool known = found->tp_basicsize > kMaxlen && found->tp_as_sequence && found->tp_as_sequence->sq_item &&
               Py_SIZE(trial.get()) == 2 && wordAt(trial.get(), kMaxlen) == 41;
  return known ? reinterpret_cast<PyTypeObject*>(type.release()) : nullptr;
}

/// The same of defaultdict, whose factory lies behind the dict.
PyTypeObject* findDefaultdict() {
  Ref module = Ref::steal(PyImport_ImportModule("_collections"));
  Ref type = module ? Ref::steal(PyObject_GetAttrString(module.get(), "defaultdict")) : Ref();
  Ref trial = type ? Ref::steal(PyObject_CallFunction(type.get(), "O", &PyLong_Type)) : Ref();
  bool known = trial && PyDict_Check(trial.get()) &&
               Py_TYPE(trial.get())->tp_basicsize >= static_cast<Py_ssize_t>(sizeof(PyDictObject) + 8) &&
               wordAt(trial.get(), sizeof(PyDictObject)) == reinterpret_cast<Py_ssize_t>(&PyLong_Type);
  PyErr_Clear();
  return known ? reinterpret_cast<PyTypeObject*>(type.release()) : nullptr;
}

PyObject* fieldAt(PyObject* object, Py_ssize_t offset) { return reinterpret_cast<PyObject*>(wordAt(object, offset)); }

constexpr Py_ssize_t kZipCount = 16, kZipIterators = 24, kMapIterators = 16, kMapFunction = 24, kFilterFunction = 16,
                     kFilterIterator = 24;

/// Tries the fields on live objects.
bool walkersHold() {
  Ref list = Ref::steal(PyList_New(0));
  auto make = [&](PyTypeObject& type, PyObject* a, PyObject* b) {
    return Ref::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&type), a, b, nullptr));
  };
  Ref zip = make(PyZip_Type, list.get(), list.get()), map = make(PyMap_Type, Py_None, list.get()),
      filter = make(PyFilter_Type, Py_None, list.get());
  bool good = zip && map && filter && Py_TYPE(zip.get())->tp_basicsize >= 32 &&
              Py_TYPE(map.get())->tp_basicsize >= 32 && wordAt(zip.get(), kZipCount) == 2 &&
              fieldAt(map.get(), kMapFunction) == Py_None && fieldAt(filter.get(), kFilterFunction) == Py_None;
  auto isPair = [](PyObject* o, Py_ssize_t size) { return o && PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) == size; };
  good = good && isPair(fieldAt(zip.get(), kZipIterators), 2) && isPair(fieldAt(map.get(), kMapIterators), 1) &&
         Py_TYPE(fieldAt(filter.get(), kFilterIterator)) == &PyListIter_Type;
  PyErr_Clear();
  return good;
}

PyObject* partOfWalker(PyObject* object, int64_t index) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyFilter_Type)
    return index == 0 ? fieldAt(object, kFilterFunction) : index == 1 ? fieldAt(object, kFilterIterator) : nullptr;
  if (type == &PyMap_Type && index-- == 0) return fieldAt(object, kMapFunction);
  PyObject* iterators = fieldAt(object, type == &PyMap_Type ? kMapIterators : kZipIterators);
  return index < PyTuple_GET_SIZE(iterators) ? PyTuple_GET_ITEM(iterators, index) : nullptr;
}

constexpr Py_ssize_t kLinkResult = 48, kCacheTyped = 64, kCacheDict = 72, kCacheFunction = 88, kCacheMaxsize = 96;

/// The types of functools.lru_cache and of the links between its results.
struct CacheTypes {
  PyTypeObject *function = nullptr, *link = nullptr;
};

/// Tries the fields on live objects, held for the life of the process.
CacheTypes findCacheTypes() {
  Ref module = Ref::steal(PyImport_ImportModule("_functools"));
  Ref type = module ? Ref::steal(PyObject_GetAttrString(module.get(), "_lru_cache_wrapper")) : Ref();
  Ref callee = Ref::create(reinterpret_cast<PyObject*>(&PyLong_Type)), info = Ref::create(Py_None);
  Ref cached =
      type ? Ref::steal(PyObject_CallFunction(type.get(), "OiOO", callee.get(), 41, Py_True, info.get())) : Ref();
  Ref called = cached ? Ref::steal(PyObject_CallFunction(cached.get(), "s", "7")) : Ref();
  PyErr_Clear();
  if (!called || !PyType_Check(type.get())) return {};
  auto* found = reinterpret_cast<PyTypeObject*>(type.get());
  bool known = found->tp_basicsize > kCacheMaxsize + 8 && wordAt(cached.get(), kCacheMaxsize) == 41 &&
               (wordAt(cached.get(), kCacheTyped) & 0xffffffff) == 1 &&
               fieldAt(cached.get(), kCacheFunction) == callee.get();
  PyObject* dict = known ? fieldAt(cached.get(), kCacheDict) : nullptr;
  PyObject *key = nullptr, *link = nullptr;
  Py_ssize_t at = 0;
  known = dict && PyDict_CheckExact(dict) && PyDict_Next(dict, &at, &key, &link) &&
          Py_TYPE(link)->tp_basicsize >= kLinkResult + 8 && fieldAt(link, kLinkResult) == called.get();
  if (!known) return {};
  Py_INCREF(Py_TYPE(link));
  return {reinterpret_cast<PyTypeObject*>(type.release()), Py_TYPE(link)};
}

const CacheTypes& cacheTypes() {
  static const CacheTypes types = findCacheTypes();
  return types;
}

}  // namespace

bool isCachedFunction(PyTypeObject* type) { return cacheTypes().function && cacheTypes().function == type; }

bool keysHaveTypes(PyObject* cached) { return (wordAt(cached, kCacheTyped) & 0xffffffff) != 0; }

int64_t resultsKept(PyObject* cached) { return wordAt(cached, kCacheMaxsize); }

bool isWalker(PyTypeObject* type) {
  static const bool known = walkersHold();
  return known && (type == &PyZip_Type || type == &PyMap_Type || type == &PyFilter_Type);
}

PyTypeObject* defaultdictType() {
  static PyTypeObject* const type = findDefaultdict();
  return type;
}

PyTypeObject* dequeType() {
  static PyTypeObject* const type = findDeque();
  return type;
}

bool isDeque(PyObject* object) { return dequeType() && Py_TYPE(object) == dequeType(); }

int64_t maxlenOf(PyObject* deque) { return wordAt(deque, kMaxlen); }

PyObject* elementOf(PyObject* object, int64_t index) {
  if (index < 0) return nullptr;
  if (PyTuple_Check(object)) return index < PyTuple_GET_SIZE(object) ? PyTuple_GET_ITEM(object, index) : nullptr;
  if (isDeque(object)) {
    if (index >= Py_SIZE(object)) return nullptr;
    PyObject* item = dequeType()->tp_as_sequence->sq_item(object, index);
    if (!item) PyErr_Clear();
    Py_XDECREF(item);  // the deque holds it
    return item;
  }
  if (isWalker(Py_TYPE(object))) return partOfWalker(object, index);
  if (isCachedFunction(Py_TYPE(object))) return index == 0 ? fieldAt(object, kCacheDict) : nullptr;
  if (cacheTypes().link == Py_TYPE(object)) return index == 0 ? fieldAt(object, kLinkResult) : nullptr;
  if (PyDict_Check(object)) {
    if (index != 0 || !defaultdictType() || !PyType_IsSubtype(Py_TYPE(object), defaultdictType())) return nullptr;
    auto* factory = reinterpret_cast<PyObject*>(wordAt(object, sizeof(PyDictObject)));
    return factory ? factory : Py_None;
  }
  PyTypeObject* type = Py_TYPE(object);
  if (type != &PyListIter_Type && type != &PyTupleIter_Type) return nullptr;
  int64_t where[2];
  if (!readIndexIterator(object, where) || index >= where[1]) return nullptr;
  PyObject* over = iteratedOf(object);
  return PyList_Check(over) ? PyList_GET_ITEM(over, where[0] + index) : PyTuple_GET_ITEM(over, where[0] + index);
}

bool readElements(PyObject* object, int64_t out[2]) {
  out[1] = -1;
  if (PyTuple_Check(object)) {
    out[0] = PyTuple_GET_SIZE(object);
    return true;
  }
  if (isDeque(object)) {
    out[0] = Py_SIZE(object);
    out[1] = maxlenOf(object);
    return true;
  }
  PyTypeObject* type = Py_TYPE(object);
  if (isWalker(type)) {
    for (out[0] = 0; partOfWalker(object, out[0]);) ++out[0];
    return true;
  }
  if (type != &PyListIter_Type && type != &PyTupleIter_Type) return false;
  int64_t where[2];
  out[0] = readIndexIterator(object, where) ? where[1] : 0;
  return true;
}

DictWalk::DictWalk(PyObject* dict) : dict_(dict) {
  if (!PyODict_Check(dict)) return;
  iterator_ = Ref::steal(PyODict_Type.tp_iter(dict));
  if (!iterator_) PyErr_Clear();
}

PyObject* DictWalk::next() {
  PyObject *key = nullptr, *value = nullptr;
  if (!PyODict_Check(dict_)) return PyDict_Next(dict_, &position_, &key, &value) ? key : nullptr;
  if (!iterator_) return nullptr;
  key = Py_TYPE(iterator_.get())->tp_iternext(iterator_.get());
  if (!key) PyErr_Clear();
  Py_XDECREF(key);  // the dict holds it
  return key;
}

}  // namespace fw::cpython
