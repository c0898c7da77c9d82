// Guard sets as data: validation, order and text. What a guard means is in checker.cpp, how it is emitted in
// emit_guards.cpp.
#include "guards/guard_set.h"

#include <algorithm>

#include "guards/access.h"
#include "guards/array_layout.h"

namespace fw::guards {

namespace {
struct KindInfo {
  std::string_view text;
  int cost;
};
constexpr KindInfo kKinds[] = {
#define FW_GUARD(Id, text, cost) {text, cost},
#include "guards/guard_kinds.def"
};

absl::Status invalid(std::string what) { return absl::InvalidArgumentError(what); }

bool isType(const Guard& g, PyTypeObject* type) {
  PyObject* object = g.object.get();
  if (g.kind == GuardKind::kType) return object == reinterpret_cast<PyObject*>(type);
  return g.kind == GuardKind::kEquals && Py_TYPE(object) == type;
}

bool isScalarType(PyObject* type) {
  for (const graph::DTypeInfo& info : graph::kDTypes)
    if (type == reinterpret_cast<PyObject*>(scalarType(info.dtype))) return true;
  return false;
}

/// Whether a pass of `g` proves that its source can be read as `from` says.
bool proves(const Guard& g, InputBinding::From from) {
  switch (from) {
    case InputBinding::From::kArrayData: return g.kind == GuardKind::kArrayMeta;
    case InputBinding::From::kPyFloat: return isType(g, &PyFloat_Type);
    case InputBinding::From::kPyInt: return g.kind == GuardKind::kIntRange;
    case InputBinding::From::kPyBool: return isType(g, &PyBool_Type);
    case InputBinding::From::kPyComplex: return isType(g, &PyComplex_Type);
    case InputBinding::From::kNumpyScalar: return g.kind == GuardKind::kType && isScalarType(g.object.get());
  }
  return false;
}

void symbolsIn(const graph::SymContext& syms, graph::SymId id, std::vector<int64_t>& out) {
  const graph::SymNode& node = syms.node(id);
  if (node.op == graph::SymOp::kSymbol) out.push_back(node.value);
  for (graph::SymId operand : node.operands) symbolsIn(syms, operand, out);
}

bool isInternedStr(PyObject* object) { return object && PyUnicode_CheckExact(object) && PyUnicode_CHECK_INTERNED(object); }

std::string operandProblem(const Guard& g) {
  PyObject* object = g.object.get();
  switch (g.kind) {
    case GuardKind::kIdentity: return object ? "" : "has no object";
    case GuardKind::kType: return object && PyType_Check(object) ? "" : "has no type";
    case GuardKind::kEquals: return object && isEqualsConstant(object) ? "" : "has no constant that can be compared";
    case GuardKind::kDictKeys: {
      if (!object || !PyTuple_CheckExact(object)) return "has no tuple of keys";
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(object, i))) return "has a key that is not a str";
      return "";
    }
    case GuardKind::kDictContains:
    case GuardKind::kDictNotContains:
    case GuardKind::kNoInstanceAttr: return isInternedStr(object) ? "" : "has no interned key";
    case GuardKind::kTypeVersion: return g.lo > 0 && g.lo <= UINT32_MAX ? "" : "has no version tag";
    case GuardKind::kFunctionCode: return object && PyCode_Check(object) ? "" : "has no code object";
    case GuardKind::kLength: return g.lo >= 0 ? "" : "has a negative length";
    case GuardKind::kNotSameObject:
    case GuardKind::kNoOverlap: return g.other.valid() ? "" : "has no second source";
    case GuardKind::kSymRelation: return g.left.valid() && g.right.valid() ? "" : "has no expressions";
    case GuardKind::kGlobalState: return g.lo != 0 ? "" : "has no address";
    case GuardKind::kIntRange:
    case GuardKind::kArrayMeta:
    case GuardKind::kWriteable: return "";
  }
  return "is of no known kind";
}

bool needsSource(GuardKind kind) { return kind != GuardKind::kSymRelation && kind != GuardKind::kGlobalState; }

/// Whether `ancestor` is `id` or lies on its path.
bool onPath(const SourceTable& table, SourceId ancestor, SourceId id) {
  for (; id.valid(); id = table[id].base) if (id == ancestor) return true;
  return false;
}

bool isShapeGuard(GuardKind kind) {
  return kind == GuardKind::kType || kind == GuardKind::kArrayMeta || kind == GuardKind::kTypeVersion ||
         kind == GuardKind::kLength || kind == GuardKind::kFunctionCode || kind == GuardKind::kIdentity;
}

bool dependsOn(const GuardSet& set, const Guard& g, const Guard& on, const std::vector<bool>& establishes, size_t index) {
  if (g.kind == GuardKind::kSymRelation) return establishes[index];
  for (SourceId source : {g.source, g.other}) {
    if (!source.valid() || !on.source.valid()) continue;
    if (on.source != source && onPath(*set.sources, on.source, source)) return true;
    if (on.source == source && isShapeGuard(on.kind) && !isShapeGuard(g.kind)) return true;
  }
  return false;
}

absl::Status validateSources(const GuardSet& set) {
  for (size_t i = 0; i < set.sources->size(); ++i) {
    const Source& s = (*set.sources)[SourceId(i)];
    bool named = usesCell(s.kind) || s.kind == SourceKind::kTypeAttr;
    if (named && !isInternedStr(s.object.get())) return invalid("source " + std::to_string(i) + " has no interned name");
    if (s.kind == SourceKind::kConst && !s.object) return invalid("source " + std::to_string(i) + " has no object");
    if (s.base.valid() && s.base.index >= i) return invalid("source " + std::to_string(i) + " stands before its base");
    // Indices become displacements of instructions.
    if (s.index < 0 || s.index >= (1 << 26)) return invalid("source " + std::to_string(i) + " has an index out of range");
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view guardName(GuardKind kind) { return kKinds[static_cast<int>(kind)].text; }
int guardCost(GuardKind kind) { return kKinds[static_cast<int>(kind)].cost; }

int establishingGuard(const GuardSet& set, const SymbolBinding& binding) {
  for (size_t i = 0; i < set.guards.size(); ++i) {
    const Guard& g = set.guards[i];
    if (g.source != binding.source) continue;
    if (binding.from == SymbolBinding::From::kPyInt ? g.kind == GuardKind::kIntRange
                                                    : g.kind == GuardKind::kArrayMeta && binding.axis >= 0 &&
                                                          binding.axis < g.meta.rank())
      return static_cast<int>(i);
  }
  return -1;
}

absl::Status validate(const GuardSet& set) {
  if (!set.sources) return invalid("guard set without sources");
  if (absl::Status status = validateSources(set); !status.ok()) return status;
  auto known = [&](SourceId id) { return id.valid() && id.index < set.sources->size(); };
  for (size_t i = 0; i < set.guards.size(); ++i) {
    const Guard& g = set.guards[i];
    std::string name = "guard " + std::to_string(i) + " (" + std::string(guardName(g.kind)) + ") ";
    if (needsSource(g.kind) && !known(g.source)) return invalid(name + "has no source");
    if (g.other.valid() && !known(g.other)) return invalid(name + "has an unknown second source");
    if (std::string problem = operandProblem(g); !problem.empty()) return invalid(name + problem);
    if (g.kind != GuardKind::kSymRelation) continue;
    if (!set.syms) return invalid(name + "without symbols");
    std::vector<int64_t> used;
    symbolsIn(*set.syms, g.left, used);
    symbolsIn(*set.syms, g.right, used);
    for (int64_t symbol : used) {
      if (symbol < 0 || symbol >= static_cast<int64_t>(set.symbols.size())) return invalid(name + "uses an unbound symbol");
      int by = establishingGuard(set, set.symbols[symbol]);
      if (by < 0 || by >= static_cast<int>(i)) return invalid(name + "stands before the guard that makes its symbol readable");
    }
  }
  for (size_t i = 0; i < set.symbols.size(); ++i) {
    std::string name = "symbol " + std::to_string(i) + " ";
    if (!known(set.symbols[i].source)) return invalid(name + "has no source");
    if (establishingGuard(set, set.symbols[i]) < 0) return invalid(name + "is read from an object without a guard");
  }
  for (size_t i = 0; i < set.inputs.size(); ++i) {
    const InputBinding& input = set.inputs[i];
    if (!known(input.source)) return invalid("input " + std::to_string(i) + " has no source");
    bool proven = std::any_of(set.guards.begin(), set.guards.end(),
                              [&](const Guard& g) { return g.source == input.source && proves(g, input.from); });
    if (!proven) return invalid("input " + std::to_string(i) + " is read from an object without a guard of its type");
  }
  for (SourceId object : set.objects) if (!known(object)) return invalid("an object for the exit plan has no source");
  return absl::OkStatus();
}

void sortGuards(GuardSet& set) {
  std::vector<bool> establishes(set.guards.size());
  for (const SymbolBinding& binding : set.symbols)
    if (int by = establishingGuard(set, binding); by >= 0) establishes[by] = true;
  std::vector<size_t> waiting(set.guards.size());
  for (size_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](size_t a, size_t b) { return guardCost(set.guards[a].kind) < guardCost(set.guards[b].kind); });
  std::vector<Guard> sorted;
  while (!waiting.empty()) {
    // The cheapest guard that depends on none of those still waiting; two guards of one source never wait for each
    // other, so that one always exists. If our rules ever made a circle, the cheapest goes first.
    size_t pick = 0;
    for (size_t i = 0; i < waiting.size(); ++i) {
      bool ready = std::none_of(waiting.begin(), waiting.end(), [&](size_t other) {
        return other != waiting[i] && dependsOn(set, set.guards[waiting[i]], set.guards[other], establishes, other);
      });
      if (ready) { pick = i; break; }
    }
    sorted.push_back(set.guards[waiting[pick]]);
    waiting.erase(waiting.begin() + static_cast<long>(pick));
  }
  set.guards = std::move(sorted);
}

std::string print(const GuardSet& set, PyObject* code) {
  std::string out;
  for (const Guard& g : set.guards) {
    out += std::string(guardName(g.kind));
    if (g.source.valid()) out += " " + set.sources->describe(g.source, code);
    if (g.other.valid()) out += ", " + set.sources->describe(g.other, code);
    switch (g.kind) {
      case GuardKind::kIdentity:
      case GuardKind::kEquals:
      case GuardKind::kType: {
        SourceTable constants;
        out += ": " + constants.describe(constants.intern(SourceKind::kConst, {}, 0, g.object.get()), code);
        break;
      }
      case GuardKind::kIntRange: out += ": [" + std::to_string(g.lo) + ", " + std::to_string(g.hi) + "]"; break;
      case GuardKind::kLength:
      case GuardKind::kTypeVersion: out += ": " + std::to_string(g.lo); break;
      case GuardKind::kArrayMeta:
        out += ": " + std::string(graph::name(g.meta.dtype)) + ", rank " + std::to_string(g.meta.rank()) + ", " +
               g.meta.layout.print();
        break;
      case GuardKind::kSymRelation: {
        constexpr const char* kRelations[] = {" == ", " != ", " < ", " <= "};
        out += " " + set.syms->print(g.left) + kRelations[static_cast<int>(g.relation)] + set.syms->print(g.right);
        break;
      }
      case GuardKind::kDictContains:
      case GuardKind::kDictNotContains:
      case GuardKind::kNoInstanceAttr: {
        const char* key = PyUnicode_AsUTF8(g.object.get());
        if (!key) PyErr_Clear();
        out += std::string(": '") + (key ? key : "?") + "'";
        break;
      }
      case GuardKind::kDictKeys:
      case GuardKind::kFunctionCode:
      case GuardKind::kWriteable:
      case GuardKind::kNotSameObject:
      case GuardKind::kNoOverlap:
      case GuardKind::kGlobalState: break;
    }
    if (g.line) out += "  line " + std::to_string(g.line);
    out += "\n";
  }
  return out;
}

}  // namespace fw::guards
