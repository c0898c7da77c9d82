// Variants outlive what they were compiled for: a class made in a function, a module that is loaded anew. What can die
// is referred to by weak references, which guards read in place; CPython empties them before the memory is used again,
// so a dead object is never taken for a new one at its address.
#include "cpython/objects.h"
#include "guards/builders.h"
#include "guards/set_index.h"

namespace fw::guards {

using cpython::Ref;

namespace {

bool isUsers(const Ref& object) { return object && !mayHoldStrongly(object.get()); }

Ref weakReference(PyObject* object) { return cpython::checked(PyWeakref_NewRef(object, nullptr)); }

/// A tuple is compared item by item where it would keep something alive.
void expandEquals(GuardSet& set, SourceId source, PyObject* object, uint32_t line) {
  if (!leadsToUsers(object)) {
    set.guards.push_back({.kind = GuardKind::kEquals, .source = source, .object = Ref::create(object), .line = line});
    return;
  }
  if (!PyTuple_CheckExact(object)) {
    set.guards.push_back(
        {.kind = GuardKind::kWeakIdentity, .source = source, .object = weakReference(object), .line = line});
    return;
  }
  auto* type = reinterpret_cast<PyObject*>(&PyTuple_Type);
  set.guards.push_back({.kind = GuardKind::kType, .source = source, .object = Ref::create(type), .line = line});
  set.guards.push_back({.kind = GuardKind::kLength, .source = source, .lo = PyTuple_GET_SIZE(object), .line = line});
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    expandEquals(set, set.sources->intern(SourceKind::kItem, source, i), PyTuple_GET_ITEM(object, i), line);
}

void weakenGuards(GuardSet& set) {
  std::vector<Guard> guards = std::move(set.guards);
  set.guards.clear();
  for (Guard& g : guards) {
    PyObject* object = g.object.get();
    if (g.kind == GuardKind::kEquals && leadsToUsers(object)) {
      expandEquals(set, g.source, object, g.line);
      continue;
    }
    if (g.kind == GuardKind::kTypeVersion) g.object = Ref();
    GuardKind weak = g.kind == GuardKind::kType           ? GuardKind::kWeakType
                     : g.kind == GuardKind::kIdentity     ? GuardKind::kWeakIdentity
                     : g.kind == GuardKind::kFunctionCode ? GuardKind::kWeakFunctionCode
                                                          : g.kind;
    if (weak != g.kind && isUsers(g.object)) {
      g.kind = weak;
      g.object = weakReference(object);
    }
    set.guards.push_back(std::move(g));
  }
}

/// Objects that guards and bindings start from become weak; those of roots that nothing starts from are let go.
void weakenSources(GuardSet& set) {
  SourceTable& sources = *set.sources;
  std::vector<bool> used(sources.size());
  auto use = [&](SourceId id) {
    for (; id.valid() && !used[id.index]; id = sources[id].base) used[id.index] = true;
  };
  for (const Guard& g : set.guards) forEachSource(g, use);
  for (const SymbolBinding& b : set.symbols) use(b.source);
  for (const InputBinding& b : set.inputs) use(b.source);
  for (SourceId object : set.objects) use(object);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[SourceId(i)];
    if (source.kind != SourceKind::kConst && source.kind != SourceKind::kWeak) continue;
    const bool pinned = source.kind == SourceKind::kWeak || source.index == kPinned;
    if (!used[i])
      sources.replace(SourceId(i), {SourceKind::kConst, {}, 0, Ref::create(Py_None)});
    else if (!pinned && isUsers(source.object))
      sources.replace(SourceId(i), {SourceKind::kWeak, {}, 0, weakReference(source.object.get())});
  }
}

bool isWeak(GuardKind kind) {
  return kind == GuardKind::kWeakIdentity || kind == GuardKind::kWeakType || kind == GuardKind::kWeakFunctionCode;
}

}  // namespace

bool leadsToUsers(PyObject* object) {
  if (!PyTuple_CheckExact(object)) return PyType_Check(object) && !mayHoldStrongly(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (leadsToUsers(PyTuple_GET_ITEM(object, i))) return true;
  return false;
}

void holdWeakly(GuardSet& set) {
  weakenGuards(set);
  weakenSources(set);
}

bool hasDied(const GuardSet& set) {
  for (const Guard& g : set.guards)
    if (isWeak(g.kind) && !cpython::weakTarget(g.object.get())) return true;
  for (size_t i = 0; i < set.sources->size(); ++i) {
    const Source& source = (*set.sources)[SourceId(i)];
    if (source.kind == SourceKind::kWeak && !cpython::weakTarget(source.object.get())) return true;
  }
  return false;
}

}  // namespace fw::guards
