// Who belongs to whom in a guard set, found once in linear time.
#pragma once

#include <vector>

#include "guards/guard_set.h"

namespace fw::guards {

struct SetIndex {
  explicit SetIndex(const GuardSet& set);

  std::vector<int> establishing;                  ///< symbol -> first guard whose pass makes it readable, or -1
  std::vector<std::vector<int>> symbolsOf;        ///< guard -> symbols that it makes readable
  std::vector<std::vector<int>> guardsOf;         ///< source -> guards about it, in order
  std::vector<std::vector<int>> intInputsOf;      ///< source -> inputs of kind kPyInt read from it
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

/// Symbols in an expression; may name one twice.
void symbolsIn(const graph::SymContext& syms, graph::SymId id, std::vector<int64_t>& out);

}  // namespace fw::guards
