// A cached property that is missed is computed by inlining its function, and stored as an effect; up to 3.11 under the
// lock of the descriptor. A call of a cached function reads the result where it is kept, so that it is that very
// object, and is made once more at the exit, for what it does to the counters and to the order of what is kept: it
// finds its result there, as nothing else may run from the guards on (Trace::atomic).
#include "frame_eval/caches.h"

#include "cpython/elements.h"
#include "cpython/hash_tables.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/locks.h"
#include "frame_eval/type_lookups.h"
#include "frame_eval/unwind.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;
using guards::SourceKind;

bool Caches::isCachedProperty(PyObject* descriptor) {
  PyTypeObject* type = Py_TYPE(descriptor);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || std::string_view(type->tp_name) != "cached_property") return false;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "functools");
  bool known = module && PyModule_CheckExact(module) &&
               PyDict_GetItemString(PyModule_GetDict(module), "cached_property") == reinterpret_cast<PyObject*>(type);
  static PyObject* const name = PyUnicode_InternFromString("__get__");
  PyObject* get = known ? lookUp(type, name) : nullptr;
  return get && PyFunction_Check(get) &&
         reinterpret_cast<PyFunctionObject*>(get)->func_globals == PyModule_GetDict(module);
}

Value* Caches::property(Value* self, PyTypeObject* type, Value* property, PyObject* name) {
  static PyObject* const func = PyUnicode_InternFromString("func");
  static PyObject* const attrname = PyUnicode_InternFromString("attrname");
  static PyObject* const lock = PyUnicode_InternFromString("lock");
  static PyObject* const dict = PyUnicode_InternFromString("__dict__");
  static PyObject* const getattribute = PyUnicode_InternFromString("__getattribute__");
  trace.open(property);
  type = trace.typeOf(self);
  in.guardTypeVersion(Py_TYPE(property->object.get()));
  PyObject* dictOf = lookUp(type, dict);
  bool plain = isUserObject(self) && hasInstanceDict(type) && dictOf && Py_TYPE(dictOf) == &PyGetSetDescr_Type &&
               lookUp(type, getattribute) == lookUp(&PyBaseObject_Type, getattribute);
  Value* stored = plain ? in.getAttribute(property, attrname) : nullptr;
  bool same = stored && isConstantOf(stored, &PyUnicode_Type) && PyUnicode_Compare(stored->object.get(), name) == 0;
  if (!same) trace.fail(BreakReason::kUnsupportedAttribute, "functools.cached_property " + text(name));
  if (Value* kept = in.storedAttribute(self, name, false)) return kept;  // super().name, which a subclass has too
  const bool locks = self->source.valid() && in.hasAttribute(property, lock);
  Value* held = locks ? in.getAttribute(property, lock) : nullptr;
  Locks lockOf{in, trace};
  if (held) lockOf.acquire(held);
  Value* value = nullptr;
  try {
    value = in.call(in.getAttribute(property, func), {.positional = {self}, .keywords = {}});
  } catch (const VirtualRaise&) {
    if (held) lockOf.release(held);
    throw;
  }
  const bool fresh = !in.storedAttribute(self, name, false);
  in.genericStore(self, type, name, value);
  if (fresh) Locks::calmLast(trace);
  if (held) lockOf.release(held);
  return value;
}

bool Caches::isCachedFunction(PyTypeObject* type) { return cpython::isCachedFunction(type); }

Value* Caches::call(Value* cached, const CallArgs& args) {
  PyObject* object = cached->object.get();
  Ref key = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  bool known = args.keywords.empty() && !cpython::keysHaveTypes(object) && cpython::resultsKept(object) != 0;
  for (size_t i = 0; known && i < args.positional.size(); ++i) {
    Value* arg = trace.open(args.positional[i]);
    known = arg->isConstant() && isPlain(arg->object.get()) && cpython::isPlainKey(arg->object.get());
    if (known) PyTuple_SET_ITEM(key.get(), static_cast<Py_ssize_t>(i), Ref(arg->object).release());
  }
  if (!known)
    trace.fail(BreakReason::kUnsupportedCall, "a cached function with arguments that are not the same in every call");
  if (PyTuple_GET_SIZE(key.get()) == 1) {  // as lru_cache_make_key does
    PyObject* only = PyTuple_GET_ITEM(key.get(), 0);
    if (PyUnicode_CheckExact(only) || PyLong_CheckExact(only)) key = Ref::create(only);
  }
  trace.guard(guards::identityGuard(cached->source, object));
  auto& sources = trace.sources();
  SourceId dict = sources.intern(SourceKind::kElement, cached->source, 0);
  PyObject* kept = cpython::elementOf(object, 0);
  PyObject* found = PyDict_GetItemWithError(kept, key.get());
  if (!found && PyErr_Occurred()) throw cpython::PythonError();
  if (!found) trace.fail(BreakReason::kCacheMiss, "a call of a cached function");
  auto source = guards::dictItemSource(sources, dict, kept, key.get());
  if (!source) trace.fail(BreakReason::kUnsupportedCall, "a cached function with such arguments");
  if (cpython::resultsKept(object) > 0) {
    source = sources.intern(SourceKind::kElement, *source, 0);
    found = cpython::elementOf(found, 0);
  }
  if (!found) trace.fail(BreakReason::kUnsupportedCall, "a cached function");
  Value* result = trace.fromSource(*source, found);
  trace.effectCall(cached, "__call__", args.positional);
  trace.atomic = true;
  return result;
}

}  // namespace fw::capture
