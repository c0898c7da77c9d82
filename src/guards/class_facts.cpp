// A fact holds an attribute so that neither the class lives longer for it nor another object can pass for it:
//   weakly          functions, classes, instances: whatever can be referred to weakly
//   strongly        numbers, strings and other values of builtin types, which lead nowhere
//   by its parts    property, staticmethod, classmethod: the functions inside, weakly
//   by its type     values of builtin types that the variant reads for itself
//   by its place    descriptors that CPython makes for a class, and that live in it: they say what their definition
//   says
#include "guards/class_facts.h"

#include <structmember.h>

#include <cstring>

#include "cpython/attributes.h"
#include "cpython/code_facts.h"
#include "cpython/objects.h"
#include "cpython/types.h"
#include "cpython/version.h"
#include "guards/builders.h"

namespace fw::guards {

using cpython::Ref;

namespace {

Ref weakReference(PyObject* object) { return cpython::checked(PyWeakref_NewRef(object, nullptr)); }

/// Functions inside a wrapper; null entries stand for None. Empty for objects of other types.
std::vector<Ref> partsOf(PyObject* object) {
  static constexpr const char* kProperty[] = {"fget", "fset", "fdel"};
  std::vector<Ref> parts;
  auto add = [&](const char* name) {
    Ref part = cpython::checked(PyObject_GetAttrString(object, name));  // a member of a builtin type: runs nothing
    parts.push_back(part.get() == Py_None ? Ref() : std::move(part));
  };
  if (Py_TYPE(object) == &PyProperty_Type)
    for (const char* name : kProperty) add(name);
  if (Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type) add("__func__");
  return parts;
}

/// What a descriptor of CPython's own does, null for other objects.
const void* definitionOf(PyObject* object) {
  if (Py_TYPE(object) == &PyMemberDescr_Type) return reinterpret_cast<PyMemberDescrObject*>(object)->d_member;
  if (Py_TYPE(object) == &PyGetSetDescr_Type) return reinterpret_cast<PyGetSetDescrObject*>(object)->d_getset;
  if (Py_TYPE(object) == &PyMethodDescr_Type) return reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
  if (Py_TYPE(object) == &PyClassMethodDescr_Type) return reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
  if (Py_TYPE(object) == &PyWrapperDescr_Type) return reinterpret_cast<PyWrapperDescrObject*>(object)->d_base;
  return nullptr;
}

/// The words of a type object that say how its instances behave: those that CPython derives from dunder methods, flags,
/// sizes.
std::vector<uintptr_t> slotsOf(PyTypeObject* type) {
  std::vector<uintptr_t> words;
  auto range = [&](size_t from, size_t to) {
    const size_t start = words.size();
    words.resize(start + (to - from) / sizeof(uintptr_t));
    std::memcpy(words.data() + start, reinterpret_cast<const char*>(type) + from, to - from);
  };
  constexpr unsigned long kOfVersions = Py_TPFLAGS_VALID_VERSION_TAG | Py_TPFLAGS_READY | Py_TPFLAGS_READYING;
  words.push_back(reinterpret_cast<uintptr_t>(Py_TYPE(type)));
  words.push_back(type->tp_flags & ~kOfVersions);
  range(offsetof(PyTypeObject, tp_basicsize), offsetof(PyTypeObject, tp_flags));
  range(offsetof(PyTypeObject, tp_traverse), offsetof(PyTypeObject, tp_methods));
  range(offsetof(PyTypeObject, tp_descr_get), offsetof(PyTypeObject, tp_bases));
  words.push_back(reinterpret_cast<uintptr_t>(type->tp_bases));
  words.push_back(reinterpret_cast<uintptr_t>(type->tp_vectorcall));
  words.push_back(reinterpret_cast<uintptr_t>(type->tp_finalize));
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    range(offsetof(PyHeapTypeObject, as_async), offsetof(PyHeapTypeObject, ht_name));
  return words;
}

}  // namespace

struct ClassFacts::Fact {
  enum class Kept : uint8_t { kAbsent, kStrongly, kWeakly, kByParts, kByType, kByPlace } kept = Kept::kAbsent;
  Ref name;
  Py_ssize_t base = 0;               ///< index into the MRO
  Ref object;                        ///< kStrongly, kWeakly (the reference)
  PyObject* address = nullptr;       ///< kByParts, kByPlace: not owned
  PyTypeObject* type = nullptr;      ///< kByType: a static one
  std::vector<Ref> parts;            ///< kByParts: weak references, null for None
  const void* definition = nullptr;  ///< kByPlace

  bool holds(PyTypeObject* cls) const {
    PyTypeObject* from = cpython::mroOf(cls)[static_cast<size_t>(base)];  // as long as the shape is what it was
    const cpython::Lookup now = cpython::lookUpType(from, name.get());
    if (now.state != cpython::LookupState::kFound)
      return kept == Kept::kAbsent && now.state == cpython::LookupState::kAbsent;
    switch (kept) {
      case Kept::kAbsent: return false;
      case Kept::kStrongly: return now.value == object.get();
      case Kept::kWeakly: return now.value == cpython::weakTarget(object.get());
      case Kept::kByType: return Py_TYPE(now.value) == type;
      case Kept::kByPlace: return now.value == address && definitionOf(now.value) == definition;
      case Kept::kByParts: return now.value == address && hasParts(now.value);
    }
    return false;
  }

  bool hasParts(PyObject* wrapper) const {
    const std::vector<Ref> now = partsOf(wrapper);
    if (now.size() != parts.size()) return false;
    for (size_t i = 0; i < now.size(); ++i)
      if (now[i].get() != (parts[i] ? cpython::weakTarget(parts[i].get()) : nullptr)) return false;
    return true;
  }
};

/// Null if there is no way to hold what was found.
std::shared_ptr<const ClassFacts::Fact> ClassFacts::factOf(const ClassLookup& lookup) {
  using Kept = Fact::Kept;
  auto fact = std::make_shared<Fact>();
  fact->name = lookup.name;
  fact->base = lookup.base;
  PyObject* found = fact->address = lookup.found.get();
  if (!found) return fact;
  PyTypeObject* type = Py_TYPE(found);
  const std::vector<Ref> parts = partsOf(found);
  if (lookup.typeOnly && !type->tp_descr_get && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    fact->kept = Kept::kByType;
    fact->type = type;
  } else if (!PyObject_IS_GC(found)) {
    fact->kept = Kept::kStrongly;
    fact->object = lookup.found;
  } else if (!parts.empty()) {
    fact->kept = Kept::kByParts;
    for (const Ref& part : parts) {
      if (part && Py_TYPE(part.get())->tp_weaklistoffset == 0) return nullptr;
      fact->parts.push_back(part ? weakReference(part.get()) : Ref());
    }
  } else if ((fact->definition = definitionOf(found))) {
    fact->kept = Kept::kByPlace;
  } else if (type->tp_weaklistoffset > 0) {
    fact->kept = Kept::kWeakly;
    fact->object = weakReference(found);
  } else {
    return nullptr;
  }
  return fact;
}

std::shared_ptr<ClassFacts> ClassFacts::create(PyTypeObject* type, const std::vector<ClassLookup>& lookups) {
  if (!cpython::isReady(type)) return nullptr;
  std::shared_ptr<ClassFacts> facts(new ClassFacts);
  for (const ClassLookup& lookup : lookups) {
    facts->facts_.push_back(factOf(lookup));
    if (!facts->facts_.back()) return nullptr;
  }
  for (PyTypeObject* base : cpython::mroOf(type)) {
    auto* object = reinterpret_cast<PyObject*>(base);
    facts->mro_.push_back({object, base->tp_flags & Py_TPFLAGS_HEAPTYPE ? weakReference(object) : Ref()});
  }
  facts->slots_ = slotsOf(type);
  facts->remember(type);
  return facts;
}

void ClassFacts::remember(PyTypeObject* type) {
  const unsigned int version = cpython::ensureTypeVersion(type);
  version_ = version != 0 ? version : kNone;  // CPython gives a class only so many
}

bool ClassFacts::hasShape(PyTypeObject* type) const {
  const std::span<PyTypeObject* const> mro = cpython::mroOf(type);
  if (mro.size() != mro_.size() || slotsOf(type) != slots_) return false;
  for (size_t i = 0; i < mro_.size(); ++i) {
    auto* base = reinterpret_cast<PyObject*>(mro[i]);
    const Weak& known = mro_[i];
    if (base != (known.reference ? cpython::weakTarget(known.reference.get()) : known.address)) return false;
  }
  return true;
}

bool ClassFacts::hold(PyTypeObject* type) {
  if (type->tp_version_tag == version_) return true;
  if (!hasShape(type)) return false;
  for (const auto& fact : facts_)
    if (!fact->holds(type)) return false;
  remember(type);
  return true;
}

std::string ClassFacts::change(PyTypeObject* type) const {
  const std::string name = type->tp_name;
  if (!hasShape(type)) return "the bases or special methods of " + name + " have changed";
  for (const auto& fact : facts_)
    if (!fact->holds(type)) return name + "." + cpython::utf8Or(fact->name.get(), "?") + " has changed";
  return "";
}

}  // namespace fw::guards
