// The index, and the rule of which guard makes which symbol readable.
#include "guards/set_index.h"

#include "absl/container/flat_hash_map.h"
#include "cpython/objects.h"
#include "graph/support/check.h"

namespace fw::guards {

using From = SymbolBinding::From;

namespace {

bool isType(const Guard& g, PyTypeObject* type) { return g.object.get() == reinterpret_cast<PyObject*>(type); }

bool isSized(const Guard& g) {
  return isType(g, &PyTuple_Type) || isType(g, &PyList_Type) || isType(g, &PyDict_Type) || isType(g, &PySet_Type) ||
         isType(g, &PyFrozenSet_Type);
}

}  // namespace

bool establishes(const Guard& g, const SymbolBinding& binding) {
  bool overSequence = g.kind == GuardKind::kIterator && (isType(g, &PyListIter_Type) || isType(g, &PyTupleIter_Type));
  bool overRange = g.kind == GuardKind::kIterator && isType(g, &PyRangeIter_Type);
  switch (binding.from) {
    case From::kDim:
    case From::kStride: return g.kind == GuardKind::kArrayMeta && binding.axis >= 0 && binding.axis < g.meta.rank();
    case From::kAddress: return g.kind == GuardKind::kArrayMeta;
    case From::kPyInt: return g.kind == GuardKind::kIntRange;
    case From::kLength: return g.kind == GuardKind::kRange || (g.kind == GuardKind::kType && isSized(g));
    case From::kRangeStart:
    case From::kRangeStep: return g.kind == GuardKind::kRange || overRange;
    case From::kRangeStop: return g.kind == GuardKind::kRange;
    case From::kIterIndex: return overSequence || (g.kind == GuardKind::kIterator && isType(g, &PyEnum_Type));
    case From::kIterRemaining: return overSequence || overRange;
    case From::kNumber:
      return g.kind == GuardKind::kNumber && g.number->ordinal == binding.axis && g.number->type() == NumberType::kInt;
    case From::kCall:
    case From::kTurn: return false;
  }
  FW_UNREACHABLE();
}

SetIndex::SetIndex(const GuardSet& set)
    : establishing(set.symbols.size(), -1),
      symbolsOf(set.guards.size()),
      guardsOf(set.sources->size()),
      intInputsOf(set.sources->size()),
      numberInputOf(set.guards.size(), -1),
      computing(set.inputs.size(), -1) {
  absl::flat_hash_map<int, int> numbers;  // ordinal -> guard
  for (size_t i = 0; i < set.guards.size(); ++i)
    if (const auto& number = set.guards[i].number; number && number->ordinal >= 0)
      numbers[number->ordinal] = static_cast<int>(i);
  auto computedBy = [&](int ordinal) {
    auto it = numbers.find(ordinal);
    return it == numbers.end() ? -1 : it->second;
  };
  for (size_t i = 0; i < set.guards.size(); ++i)
    if (set.guards[i].source.valid()) guardsOf[set.guards[i].source.index].push_back(static_cast<int>(i));
  for (size_t i = 0; i < set.symbols.size(); ++i) {
    const SymbolBinding& binding = set.symbols[i];
    if (int guard = binding.from == From::kNumber ? computedBy(binding.axis) : -1; guard >= 0) {
      if (!establishes(set.guards[guard], binding)) continue;
      establishing[i] = guard;
      symbolsOf[guard].push_back(static_cast<int>(i));
    }
    if (!binding.source.valid() || binding.source.index >= guardsOf.size()) continue;
    for (int guard : guardsOf[binding.source.index]) {
      if (!establishes(set.guards[guard], binding)) continue;
      establishing[i] = guard;
      symbolsOf[guard].push_back(static_cast<int>(i));
      break;
    }
  }
  for (size_t i = 0; i < set.inputs.size(); ++i) {
    const InputBinding& input = set.inputs[i];
    if (int guard = input.from == InputBinding::From::kNumber ? computedBy(input.ordinal) : -1; guard >= 0) {
      numberInputOf[guard] = static_cast<int>(i);
      computing[i] = guard;
    }
    bool known = input.source.valid() && input.source.index < intInputsOf.size();
    if (known && input.from == InputBinding::From::kPyInt)
      intInputsOf[input.source.index].push_back(static_cast<int>(i));
  }
}

void symbolsIn(const graph::SymContext& syms, graph::SymId id, std::vector<int64_t>& out) {
  const graph::SymNode& node = syms.node(id);
  if (node.op == graph::SymOp::kSymbol) out.push_back(node.value);
  for (graph::SymId operand : node.operands) symbolsIn(syms, operand, out);
}

}  // namespace fw::guards
