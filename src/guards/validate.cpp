// What stubs and checkers rely on, tested before either runs: they do not test it again.
#include <algorithm>

#include "cpython/hash_tables.h"
#include "cpython/objects.h"
#include "guards/access.h"
#include "guards/array_layout.h"
#include "guards/numpy_state.h"
#include "guards/overlap.h"
#include "guards/set_index.h"

namespace fw::guards {

namespace {

absl::Status invalid(std::string what) { return absl::InvalidArgumentError(what); }

bool isType(const Guard& g, PyTypeObject* type) {
  PyObject* object = g.object.get();
  if (g.kind == GuardKind::kType) return object == reinterpret_cast<PyObject*>(type);
  return g.kind == GuardKind::kEquals && Py_TYPE(object) == type;
}

bool isScalarType(PyObject* type) { return dtypeOfScalarType(reinterpret_cast<PyTypeObject*>(type)).has_value(); }

/// Whether a pass of `g` proves that its source can be read as `from` says.
bool proves(const Guard& g, InputBinding::From from) {
  switch (from) {
    case InputBinding::From::kArrayData: return g.kind == GuardKind::kArrayMeta;
    case InputBinding::From::kPyFloat: return isType(g, &PyFloat_Type);
    case InputBinding::From::kPyInt: return g.kind == GuardKind::kIntRange;
    case InputBinding::From::kPyBool: return isType(g, &PyBool_Type);
    case InputBinding::From::kPyComplex: return isType(g, &PyComplex_Type);
    case InputBinding::From::kNumpyScalar: return g.kind == GuardKind::kType && isScalarType(g.object.get());
    case InputBinding::From::kListOfFloats:
    case InputBinding::From::kListOfInts:
    case InputBinding::From::kListLengths:
    case InputBinding::From::kListStarts: return isType(g, &PyList_Type);
    case InputBinding::From::kNumber: return false;  // has no source
  }
  return false;
}

bool isWeakReference(PyObject* object) { return object && PyWeakref_CheckRefExact(object); }

bool isTupleOf(PyObject* object, bool (*accepts)(PyObject*)) {
  if (!object || !PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!accepts(PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

bool isIteratorType(PyObject* object) {
  if (!object || !PyType_Check(object)) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  return cpython::isIndexIterator(type) || type == &PyRangeIter_Type;
}

std::string disjointProblem(const GuardSet& set, const Guard& g) {
  if (g.list.size() > kMaxDisjointArrays) return "has more than " + std::to_string(kMaxDisjointArrays) + " arrays";
  if (g.lo < 0 || g.lo > static_cast<int64_t>(g.list.size())) return "has a wrong number of written arrays";
  for (SourceId id : g.list)
    if (!id.valid() || id.index >= set.sources->size()) return "has an unknown source";
  return "";
}

std::string numberProblem(const Guard& g) {
  if (!g.number || g.number->steps.empty() || g.number->steps.size() > UINT16_MAX) return "has no program";
  if (g.list != g.number->sources) return "names other sources than its program";
  for (size_t i = 0; i < g.number->steps.size(); ++i) {
    const NumberStep& step = g.number->steps[i];
    for (uint16_t operand : step.operands)
      if (operand >= i) return "has a step before its operand";
    if (step.op == NumberOp::kObject && static_cast<size_t>(step.index) >= g.list.size())
      return "reads an unknown source";
    if (step.op == NumberOp::kCall && !step.callable) return "calls nothing";
  }
  return "";
}

std::string operandProblem(const GuardSet& set, const Guard& g) {
  PyObject* object = g.object.get();
  auto unless = [](bool good, const char* problem) { return good ? std::string() : std::string(problem); };
  switch (g.kind) {
    case GuardKind::kIdentity: return unless(object, "has no object");
    case GuardKind::kWeakType:
    case GuardKind::kWeakFunctionCode:
    case GuardKind::kWeakIdentity: return unless(isWeakReference(object), "has no weak reference");
    case GuardKind::kType: return unless(object && PyType_Check(object), "has no type");
    case GuardKind::kEquals: return unless(object && isEqualsConstant(object), "has no constant that can be compared");
    case GuardKind::kItemsAre: return unless(object && PyTuple_CheckExact(object), "has no tuple of objects");
    case GuardKind::kDictKeys:
      return unless(isTupleOf(object, cpython::isTableKey), "has no tuple of keys that can be compared");
    case GuardKind::kDictContains:
    case GuardKind::kDictNotContains:
    case GuardKind::kSetContains:
    case GuardKind::kSetNotContains:
      return unless(object && cpython::isTableKey(object), "has no key that can be looked up without Python code");
    case GuardKind::kHasAttr:
    case GuardKind::kNoHasAttr:
    case GuardKind::kNoInstanceAttr: return unless(cpython::isInternedStr(object), "has no interned name");
    case GuardKind::kDictVersion: return unless(g.lo > 0, "has no version");
    case GuardKind::kTypeVersion: return unless((g.lo > 0 || g.facts) && g.lo <= UINT32_MAX, "has no version tag");
    case GuardKind::kFunctionCode: return unless(object && PyCode_Check(object), "has no code object");
    case GuardKind::kClosure:
    case GuardKind::kDefaults: return unless(!object || PyTuple_CheckExact(object), "has neither a tuple nor none");
    case GuardKind::kKwDefaults: return unless(!object || PyDict_CheckExact(object), "has neither a dict nor none");
    case GuardKind::kElements:
      return unless(g.lo >= 0 && (!object || isTupleOf(object, cpython::isTableKey)),
                    "has a negative number or keys that cannot be compared");
    case GuardKind::kLength: return unless(g.lo >= 0, "has a negative length");
    case GuardKind::kIterator: return unless(isIteratorType(object), "has no type of iterators that can be read");
    case GuardKind::kNotSameObject:
    case GuardKind::kSameObject:
    case GuardKind::kNoOverlap: return unless(g.other.valid(), "has no second source");
    case GuardKind::kSymRelation: return unless(g.left.valid() && g.right.valid() && set.syms, "has no expressions");
    case GuardKind::kNumber: return numberProblem(g);
    case GuardKind::kGlobalState: return unless(g.lo != 0, "has no address");
    case GuardKind::kNumpyErrors: return unless(g.lo >= 0 && numpyErrorToken() >= 0, "has no token");
    case GuardKind::kDisjoint: return disjointProblem(set, g);
    case GuardKind::kUnbound: {
      SourceKind kind = (*set.sources)[g.source].kind;
      return unless(kind == SourceKind::kArg || kind == SourceKind::kContents,
                    "is about a source that is always bound");
    }
    case GuardKind::kIntRange:
    case GuardKind::kArrayMeta:
    case GuardKind::kRange:
    case GuardKind::kWriteable: return "";
  }
  return "is of no known kind";
}

bool needsSource(GuardKind kind) {
  return kind != GuardKind::kSymRelation && kind != GuardKind::kGlobalState && kind != GuardKind::kNumpyErrors &&
         kind != GuardKind::kDisjoint && kind != GuardKind::kNumber;
}

absl::Status validateSources(const GuardSet& set) {
  for (size_t i = 0; i < set.sources->size(); ++i) {
    const Source& s = (*set.sources)[SourceId(i)];
    std::string name = "source " + std::to_string(i) + " ";
    bool isItem = s.kind == SourceKind::kDictItem || s.kind == SourceKind::kHeldItem,
         isNamed = s.kind == SourceKind::kTypeAttr || usesCell(s.kind);
    if (isItem && !(s.object && cpython::isTableKey(s.object.get())))
      return invalid(name + "has no key that can be looked up");
    if (isNamed && !isItem && !cpython::isInternedStr(s.object.get())) return invalid(name + "has no interned name");
    if (s.kind == SourceKind::kWeak && !isWeakReference(s.object.get())) return invalid(name + "has no weak reference");
    if (s.kind == SourceKind::kConst && !s.object) return invalid(name + "has no object");
    if (s.base.valid() && s.base.index >= i) return invalid(name + "stands before its base");
    // Indices become displacements of instructions; that of a dict item is a hash.
    constexpr int64_t kMaxIndex = 1 << 26;
    const int64_t least = s.kind == SourceKind::kItem ? -kMaxIndex : 0;  // counted from the end of a list
    if (!isItem && (s.index < least || s.index >= kMaxIndex)) return invalid(name + "has an index out of range");
  }
  return absl::OkStatus();
}

/// The types of the objects that a number reads are proven before it.
bool readsProvenTypes(const GuardSet& set, const SetIndex& index, size_t i) {
  const Guard& g = set.guards[i];
  for (const NumberStep& step : g.number->steps) {
    if (step.op != NumberOp::kObject) continue;
    SourceId source = g.list[static_cast<size_t>(step.index)];
    PyTypeObject* type = step.numpyScalar                  ? scalarType(step.dtype)
                         : step.type == NumberType::kFloat ? &PyFloat_Type
                                                           : &PyBool_Type;
    const std::vector<int>& guards = index.guardsOf[source.index];
    auto proves = [&](int by) { return by < static_cast<int>(i) && isType(set.guards[by], type); };
    if (std::none_of(guards.begin(), guards.end(), proves)) return false;
  }
  return true;
}

absl::Status validateOrder(const GuardSet& set, const SetIndex& index, size_t i, const std::string& name) {
  bool good = true;
  forEachPrerequisite(set, index, set.guards[i], [&](int by) { good &= by >= 0 && by < static_cast<int>(i); });
  if (!good) return invalid(name + "stands before the guard that makes its symbol readable, or there is none");
  if (set.guards[i].kind == GuardKind::kNumber && !readsProvenTypes(set, index, i)) {
    return invalid(name + "reads an object whose type is not guarded before");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status validate(const GuardSet& set) {
  if (!set.sources) return invalid("guard set without sources");
  if (absl::Status status = validateSources(set); !status.ok()) return status;
  auto known = [&](SourceId id) { return id.valid() && id.index < set.sources->size(); };
  auto nameOf = [&](size_t i) {
    return "guard " + std::to_string(i) + " (" + std::string(guardName(set.guards[i].kind)) + ") ";
  };
  for (size_t i = 0; i < set.guards.size(); ++i) {
    const Guard& g = set.guards[i];
    if (needsSource(g.kind) ? !known(g.source) : g.source.valid() && !known(g.source))
      return invalid(nameOf(i) + "has no source");
    if (g.other.valid() && !known(g.other)) return invalid(nameOf(i) + "has an unknown second source");
    if (std::string problem = operandProblem(set, g); !problem.empty()) return invalid(nameOf(i) + problem);
  }
  SetIndex index(set);
  for (size_t i = 0; i < set.guards.size(); ++i)
    if (absl::Status status = validateOrder(set, index, i, nameOf(i)); !status.ok()) return status;
  for (size_t i = 0; i < set.symbols.size(); ++i) {
    using From = SymbolBinding::From;
    if (set.symbols[i].from == From::kCall || set.symbols[i].from == From::kTurn) continue;
    std::string name = "symbol " + std::to_string(i) + " ";
    bool number = set.symbols[i].from == SymbolBinding::From::kNumber;
    if (!number && !known(set.symbols[i].source)) return invalid(name + "has no source");
    if (index.establishing[i] < 0) return invalid(name + "is read from an object without a guard");
  }
  for (size_t i = 0; i < set.inputs.size(); ++i) {
    const InputBinding& input = set.inputs[i];
    if (input.from == InputBinding::From::kNumber) {
      if (index.computing[i] < 0) return invalid("input " + std::to_string(i) + " is a number that no guard computes");
      continue;
    }
    if (!known(input.source)) return invalid("input " + std::to_string(i) + " has no source");
    const std::vector<int>& guards = index.guardsOf[input.source.index];
    bool proven = std::any_of(guards.begin(), guards.end(), [&](int by) { return proves(set.guards[by], input.from); });
    if (!proven) return invalid("input " + std::to_string(i) + " is read from an object without a guard of its type");
  }
  for (SourceId object : set.objects)
    if (!known(object)) return invalid("an object for the exit plan has no source");
  return absl::OkStatus();
}

}  // namespace fw::guards
