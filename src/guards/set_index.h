// Who belongs to whom in a guard set, found once in linear time.
#pragma once

#include <vector>

#include "guards/guard_set.h"

namespace fw::guards {

struct SetIndex {
  explicit SetIndex(const GuardSet& set);

  std::vector<int> establishing;              ///< symbol -> first guard whose pass makes it readable, or -1
  std::vector<std::vector<int>> symbolsOf;    ///< guard -> symbols that it makes readable
  std::vector<std::vector<int>> guardsOf;     ///< source -> guards about it, in order
  std::vector<std::vector<int>> intInputsOf;  ///< source -> inputs of kind kPyInt read from it
  std::vector<int> numberInputOf;             ///< guard -> input that it computes, or -1
  std::vector<int> computing;                 ///< input -> Number guard that computes it, or -1
};

/// Whether a pass of `guard` makes `binding` of the same source readable.
bool establishes(const Guard& guard, const SymbolBinding& binding);

/// Sources that a guard is about: source, other, list.
template <class F>
void forEachSource(const Guard& g, F f) {
  if (g.source.valid()) f(g.source);
  if (g.other.valid()) f(g.other);
  for (SourceId id : g.list) f(id);
}

/// Guards that have to pass before `g` can be checked, other than those of the objects it is about: they make its
/// symbols and numbers readable. -1 for a symbol that no guard makes readable.
template <class F>
void forEachPrerequisite(const GuardSet& set, const SetIndex& index, const Guard& g, F f);

/// Symbols in an expression; may name one twice.
void symbolsIn(const graph::SymContext& syms, graph::SymId id, std::vector<int64_t>& out);

template <class F>
void forEachPrerequisite(const GuardSet& set, const SetIndex& index, const Guard& g, F f) {
  std::vector<int64_t> symbols;
  if (g.kind == GuardKind::kSymRelation) {
    symbolsIn(*set.syms, g.left, symbols);
    symbolsIn(*set.syms, g.right, symbols);
  } else if (g.kind == GuardKind::kNumber) {
    for (const NumberStep& step : g.number->steps) {
      if (step.op == NumberOp::kSymbol) symbolsIn(*set.syms, step.sym, symbols);
      if (step.op == NumberOp::kInput)
        f(static_cast<size_t>(step.index) < index.computing.size() ? index.computing[step.index] : -1);
    }
  }
  for (int64_t symbol : symbols)
    f(symbol >= 0 && static_cast<size_t>(symbol) < index.establishing.size() ? index.establishing[symbol] : -1);
}

}  // namespace fw::guards
