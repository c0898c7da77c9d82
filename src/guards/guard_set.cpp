// Guard sets as text. Their validation is in validate.cpp, their order in ordering.cpp; what a guard means is in
// check_*.cpp, how it is emitted in emit_*.cpp.
#include "guards/guard_set.h"

#include <algorithm>

#include "cpython/objects.h"

namespace fw::guards {

int GuardSet::objectIndex(SourceId source) {
  const auto at = std::find(objects.begin(), objects.end(), source);
  const auto index = static_cast<int>(at - objects.begin());
  if (at == objects.end()) objects.push_back(source);
  return index;
}

namespace {
struct KindInfo {
  std::string_view text;
  int cost;
  Cure cure;
};
constexpr KindInfo kKinds[] = {
#define FW_GUARD(Id, text, cost, cure) {text, cost, Cure::k##cure},
#include "guards/guard_kinds.def"
};

}  // namespace

std::string_view guardName(GuardKind kind) { return kKinds[static_cast<int>(kind)].text; }
int guardCost(GuardKind kind) { return kKinds[static_cast<int>(kind)].cost; }
Cure guardCure(GuardKind kind) { return kKinds[static_cast<int>(kind)].cure; }

namespace {

std::string constantText(PyObject* object) {
  SourceTable constants;
  return object ? constants.describe(constants.intern(SourceKind::kConst, {}, 0, object), nullptr) : "none";
}

std::string listText(const GuardSet& set, const std::vector<SourceId>& list, PyObject* code) {
  std::string out;
  for (SourceId id : list) out += (out.empty() ? "" : ", ") + set.sources->describe(id, code);
  return out;
}

std::string operandText(const GuardSet& set, const Guard& g, PyObject* code) {
  switch (g.kind) {
    case GuardKind::kIdentity:
    case GuardKind::kEquals:
    case GuardKind::kType:
    case GuardKind::kIterator:
    case GuardKind::kDictContains:
    case GuardKind::kDictNotContains:
    case GuardKind::kSetContains:
    case GuardKind::kSetNotContains:
    case GuardKind::kHasAttr:
    case GuardKind::kNoHasAttr:
    case GuardKind::kNoInstanceAttr: return ": " + constantText(g.object.get());
    case GuardKind::kIntRange: return ": [" + std::to_string(g.lo) + ", " + std::to_string(g.hi) + "]";
    case GuardKind::kElements:
    case GuardKind::kLength:
    case GuardKind::kDictVersion:
    case GuardKind::kTypeVersion: return ": " + std::to_string(g.lo);
    case GuardKind::kItemsAre:
    case GuardKind::kDictKeys: return ": " + std::to_string(PyTuple_GET_SIZE(g.object.get())) + " items";
    case GuardKind::kArrayMeta:
      return ": " + std::string(graph::name(g.meta.dtype)) + ", rank " + std::to_string(g.meta.rank()) + ", " +
             g.meta.layout.print();
    case GuardKind::kSymRelation: {
      constexpr const char* kRelations[] = {" == ", " != ", " < ", " <= "};
      return " " + set.syms->print(g.left) + kRelations[static_cast<int>(g.relation)] + set.syms->print(g.right);
    }
    case GuardKind::kNumber: {
      std::string text = " " + g.number->text(*set.sources, *set.syms, code);
      if (g.number->type() == NumberType::kFloat) return text;
      if (g.number->type() == NumberType::kBool) return text + (g.lo != g.hi ? "" : g.lo ? " is True" : " is False");
      return text + ": [" + std::to_string(g.lo) + ", " + std::to_string(g.hi) + "]";
    }
    case GuardKind::kDisjoint:
      return ": " + listText(set, g.list, code) + " (the first " + std::to_string(g.lo) + " are written)";
    case GuardKind::kClosure:
    case GuardKind::kDefaults:
    case GuardKind::kKwDefaults: return g.object ? "" : ": none";
    case GuardKind::kWeakType: {
      PyObject* type = cpython::weakTarget(g.object.get());
      return ": " + (type ? constantText(type) : "a dead type");
    }
    case GuardKind::kWeakIdentity:
    case GuardKind::kFunctionCode:
    case GuardKind::kWeakFunctionCode:
    case GuardKind::kWriteable:
    case GuardKind::kRange:
    case GuardKind::kSameObject:
    case GuardKind::kUnbound:
    case GuardKind::kNotSameObject:
    case GuardKind::kNoOverlap:
    case GuardKind::kGlobalState:
    case GuardKind::kNumpyErrors: return "";
  }
  return "";
}

}  // namespace

std::string print(const GuardSet& set, PyObject* code) {
  std::string out;
  for (const Guard& g : set.guards) {
    out += std::string(guardName(g.kind));
    if (g.source.valid()) out += " " + set.sources->describe(g.source, code);
    if (g.other.valid()) out += ", " + set.sources->describe(g.other, code);
    out += operandText(set, g, code);
    if (g.line) out += "  line " + std::to_string(g.line);
    out += "\n";
  }
  return out;
}

}  // namespace fw::guards
