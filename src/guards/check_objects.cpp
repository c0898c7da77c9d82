// Guards about identity, types, constants, containers, attributes, functions and iterators.
#include "cpython/code_facts.h"
#include "cpython/hash_tables.h"
#include "cpython/objects.h"
#include "guards/access.h"
#include "guards/checker.h"

namespace fw::guards {

using cpython::LookupState;

bool Checker::checkIdentity(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  return object == g.object.get() ||
         fail(name(g.source) + " is another object than when compiled (" + constantText(g.object.get()) + ")");
}

bool Checker::checkType(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) == g.object.get()) return bindSymbols();
  return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for " + constantText(g.object.get()));
}

bool Checker::checkEquals(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (equalsExact(object, g.object.get())) return true;
  std::string now =
      isEqualsConstant(object) && !PyTuple_CheckExact(object) ? constantText(object) : "a " + typeName(Py_TYPE(object));
  return fail(name(g.source) + " is " + now + ", compiled for " + constantText(g.object.get()));
}

bool Checker::checkIntRange(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (Py_TYPE(object) != &PyLong_Type)
    return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for int");
  int64_t value = 0;
  if (!cpython::asInt64(object, &value)) return fail(name(g.source) + " does not fit into 64 bits");
  if (value < g.lo || value > g.hi)
    return fail(name(g.source) + " is " + std::to_string(value) + ", compiled for " + std::to_string(g.lo) + " to " +
                std::to_string(g.hi));
  return bindSymbols();
}

bool Checker::checkLength(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object))
    return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a tuple or list");
  return Py_SIZE(object) == g.lo || fail("len(" + name(g.source) + ") is " + std::to_string(Py_SIZE(object)) +
                                         ", compiled for " + std::to_string(g.lo));
}

bool Checker::checkElements(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  return holdsElements(object, g.object.get(), g.lo, g.hi) ||
         fail(name(g.source) + " has other elements than when compiled");
}

bool Checker::checkDictKeys(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  return dictHasKeys(object, g.object.get()) || fail(name(g.source) + " has other keys than when compiled");
}

bool Checker::checkDictContains(const Guard& g) { return hasMember(g, LookupState::kFound); }
bool Checker::checkDictNotContains(const Guard& g) { return hasMember(g, LookupState::kAbsent); }
bool Checker::checkSetContains(const Guard& g) { return hasMember(g, LookupState::kFound); }
bool Checker::checkSetNotContains(const Guard& g) { return hasMember(g, LookupState::kAbsent); }

bool Checker::hasMember(const Guard& g, LookupState wanted) {
  PyObject* object = load(g.source);
  if (!object) return false;
  bool isDict = g.kind == GuardKind::kDictContains || g.kind == GuardKind::kDictNotContains;
  cpython::AttributeCell cell(g.object.get(), g.lo);
  LookupState state =
      isDict ? cpython::dictItem(object, cell).state : cpython::probeSet(object, g.object.get(), cell.hash);
  if (state == wanted) return true;
  std::string x = name(g.source), key = constantText(g.object.get());
  if (state == LookupState::kFound) return fail(x + " has " + (isDict ? "a key " : "a member ") + key + " now");
  if (state == LookupState::kAbsent) return fail(x + " has no " + (isDict ? "key " : "member ") + key);
  return fail("whether " + x + ", a " + typeName(Py_TYPE(object)) + ", has " + key +
              " cannot be told without running Python code");
}

bool Checker::checkDictVersion(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (!PyDict_CheckExact(object))
    return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a dict");
  return cpython::dictVersion(object) == static_cast<uint64_t>(g.lo) ||
         fail(name(g.source) + " has been changed since it was compiled");
}

bool Checker::checkItemsAre(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  return itemsAre(object, g.object.get()) || fail(name(g.source) + " has other items than when compiled");
}

bool Checker::checkHasAttr(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  cpython::AttributeCell cell(g.object.get());
  return cpython::plainAttribute(object, cell) == LookupState::kFound ||
         fail(name(g.source) + " has no attribute " + constantText(g.object.get()) +
              " that can be found without running Python code");
}

bool Checker::checkNoHasAttr(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  cpython::AttributeCell cell(g.object.get());
  return cpython::plainAttribute(object, cell) == LookupState::kAbsent ||
         fail(name(g.source) + " has or may have an attribute " + constantText(g.object.get()) + " now");
}

bool Checker::checkNoInstanceAttr(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  cpython::AttributeCell cell(g.object.get());
  return cpython::instanceDictItem(object, cell).state == LookupState::kAbsent ||
         fail(name(g.source) + " has an instance attribute " + constantText(g.object.get()) + " now");
}

bool Checker::checkTypeVersion(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (!PyType_Check(object)) return fail(name(g.source) + " is not a type");
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  if (g.lo != 0 && type->tp_version_tag == static_cast<uint64_t>(g.lo)) return true;
  if (!g.facts) return fail("attributes of " + name(g.source) + " have changed since it was compiled");
  return g.facts->hold(type) || fail(g.facts->change(type) + " since it was compiled");
}

PyFunctionObject* Checker::loadFunction(SourceId id) {
  PyObject* object = load(id);
  if (!object) return nullptr;
  if (PyFunction_Check(object)) return reinterpret_cast<PyFunctionObject*>(object);
  fail(name(id) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a function");
  return nullptr;
}

bool Checker::runsCode(SourceId id, PyObject* code) {
  PyFunctionObject* f = loadFunction(id);
  if (!f) return false;
  if (!code || f->func_code != code) return fail(name(id) + " is another function than when compiled");
  return cpython::hasPlainVectorcall(reinterpret_cast<PyObject*>(f)) ||
         fail(name(id) + " is called in a way of its own");
}

bool Checker::checkFunctionCode(const Guard& g) { return runsCode(g.source, g.object.get()); }

bool Checker::checkClosure(const Guard& g) {
  PyFunctionObject* f = loadFunction(g.source);
  return f && (f->func_closure == g.object.get() || fail(name(g.source) + " has another closure than when compiled"));
}

bool Checker::checkDefaults(const Guard& g) {
  PyFunctionObject* f = loadFunction(g.source);
  return f && (f->func_defaults == g.object.get() || fail(name(g.source) + " has other defaults than when compiled"));
}

bool Checker::checkKwDefaults(const Guard& g) {
  PyFunctionObject* f = loadFunction(g.source);
  return f && (f->func_kwdefaults == g.object.get() ||
               fail(name(g.source) + " has other keyword defaults than when compiled"));
}

bool Checker::checkRange(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (Py_TYPE(object) != &PyRange_Type)
    return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a range");
  int64_t fields[4];
  return cpython::readRange(object, fields) ? bindSymbols() : fail(name(g.source) + " does not fit into 64 bits");
}

bool Checker::checkIterator(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  PyTypeObject* type = Py_TYPE(object);
  if (reinterpret_cast<PyObject*>(type) != g.object.get())
    return fail(name(g.source) + " is a " + typeName(type) + ", compiled for " + constantText(g.object.get()));
  int64_t fields[3];
  bool isRange = type == &PyRangeIter_Type;
  if (!(isRange ? cpython::readRangeIterator(object, fields) : cpython::readIndexIterator(object, fields)))
    return fail(name(g.source) + " is exhausted");
  return bindSymbols();
}

bool Checker::checkWeakIdentity(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  PyObject* target = cpython::weakTarget(g.object.get());
  if (!target) return fail("the object that " + name(g.source) + " was when compiled has died");
  return object == target ||
         fail(name(g.source) + " is another object than when compiled (" + constantText(target) + ")");
}

bool Checker::checkWeakType(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  PyObject* type = cpython::weakTarget(g.object.get());
  if (!type) return fail("the type that " + name(g.source) + " had when compiled has died");
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type ||
         fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for " + constantText(type));
}

bool Checker::checkWeakFunctionCode(const Guard& g) { return runsCode(g.source, cpython::weakTarget(g.object.get())); }

bool Checker::checkNotSameObject(const Guard& g) {
  PyObject* a = load(g.source);
  PyObject* b = a ? load(g.other) : nullptr;
  return b && (a != b || fail(name(g.source) + " and " + name(g.other) + " are the same object"));
}

bool Checker::checkSameObject(const Guard& g) {
  PyObject* a = load(g.source);
  PyObject* b = a ? load(g.other) : nullptr;
  return b && (a == b || fail(name(g.source) + " and " + name(g.other) + " are different objects"));
}

bool Checker::checkUnbound(const Guard& g) {
  const Source& source = (*set_.sources)[g.source];
  PyObject* base = nullptr;
  if (source.base.valid()) {
    if (!(base = load(source.base))) return false;
    if (Py_TYPE(base) != &PyCell_Type)
      return fail(name(source.base) + " is a " + typeName(Py_TYPE(base)) + ", compiled for a cell");
  }
  return !stepTo(source, base, frame_, nullptr) || fail(name(g.source) + " is bound now");
}

}  // namespace fw::guards
