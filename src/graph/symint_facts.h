// What guards teach about symbolic integers after they were made.
#pragma once

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "graph/symint.h"

namespace fw::graph {

/// Range of an expression with what has been learnt about its symbols since it was made; the expression keeps it.
SymRange refinedRange(SymContext& context, SymId id);

/// Whether the symbol, or one of the symbols, is in the expression.
bool mentions(const SymContext& context, SymId id, SymId symbol);
bool mentions(const SymContext& context, SymId id, const absl::flat_hash_set<SymId>& symbols);
/// The expression with `value` in place of the symbol. None where the symbol is part of a divisor.
std::optional<SymId> withValue(SymContext& context, SymId id, SymId symbol, SymId value);
/// By how much the expression grows when the symbol grows by 1, if that is the same for every value of the symbol.
std::optional<SymId> slopeOf(SymContext& context, SymId id, SymId symbol);

/// a / b, where a is a multiple of b whatever the symbols are; b is not 0.
std::optional<SymId> exactQuotient(SymContext& context, SymId a, SymId b);

}  // namespace fw::graph
