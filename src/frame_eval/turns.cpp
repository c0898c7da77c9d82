// What is linear in the turn and holds in the first and in the last one holds in all. Both are expressions of what is
// known outside of the loop, about which Trace::decide() finds out; in nested loops step by step.
#include "frame_eval/turns.h"

#include <algorithm>

#include "frame_eval/trace.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using graph::SymId;
using guards::Relation;

SymId Turns::enter(std::optional<SymId> last) {
  graph::SymContext& syms = trace_.syms();
  // Nobody waits for more turns.
  constexpr int64_t kMost = int64_t{1} << 50;
  const int64_t most = last ? std::max<int64_t>(0, graph::refinedRange(syms, *last).hi) : kMost;
  const SymId symbol = trace_.addSymbol("turn" + std::to_string(symbols_.size()), {0, most}, 0,
                                        {guards::SymbolBinding::From::kTurn, {}});
  symbols_.insert(symbol);
  open_.push_back({symbol, last});
  return symbol;
}

bool Turns::contains(SymId expr) const { return graph::mentions(trace_.syms(), expr, symbols_); }

/// The most turns that the loop `inner` goes on to, over all turns of the loops between it and open_[outer]: an
/// expression of that loop's turn and of what is around it. nullopt: not known.
std::optional<SymId> Turns::longest(size_t inner, size_t outer) const {
  graph::SymContext& syms = trace_.syms();
  std::optional<SymId> last = open_[inner].last;
  for (size_t between = inner; last && between-- > outer + 1;) {
    const Open& loop = open_[between];
    const auto slope = graph::slopeOf(syms, *last, loop.symbol);
    const std::optional<int64_t> known = slope ? syms.asConst(*slope) : std::nullopt;
    if (!known) return std::nullopt;
    if (*known == 0) continue;
    const std::optional<SymId> at = *known > 0 ? loop.last : std::optional(syms.constant(0));
    last = at ? graph::withValue(syms, *last, loop.symbol, *at) : std::nullopt;
    if (last) last = syms.canonical(*last);
  }
  return last;
}

/// The first and the last turn in which the loops inside of it that are entered have a turn at all: in a triangle, that
/// may be one less.
std::pair<SymId, std::optional<SymId>> Turns::turnsOf(size_t outer) const {
  graph::SymContext& syms = trace_.syms();
  const Open& loop = open_[outer];
  SymId from = syms.constant(0);
  std::optional<SymId> to = loop.last;
  for (size_t inner = outer + 1; inner < open_.size(); ++inner) {
    const std::optional<SymId> last = longest(inner, outer);
    if (!last) continue;
    const auto slope = graph::slopeOf(syms, *last, loop.symbol);
    const auto first = graph::withValue(syms, *last, loop.symbol, syms.constant(0));
    if (!slope || !first) continue;
    if (syms.isConst(*slope, 1)) {
      const SymId least = syms.canonical(syms.neg(*first));
      if (syms.provablyLessEqual(from, least)) from = least;
    } else if (syms.isConst(*slope, -1) && to && syms.provablyLessEqual(*first, *to)) {
      to = syms.canonical(*first);
    }
  }
  return {from, to};
}

std::optional<bool> Turns::decide(SymId left, Relation relation, SymId right) {
  graph::SymContext& syms = trace_.syms();
  const SymId difference = syms.canonical(syms.sub(right, left));
  if (relation == Relation::kLt)
    if (const std::optional<bool> known = syms.provablyLess(left, right)) return known;
  auto loop = std::find_if(open_.rbegin(), open_.rend(),
                           [&](const Open& o) { return graph::mentions(syms, difference, o.symbol); });
  if (loop == open_.rend()) {
    if (contains(difference) || trace_.decided.contains(difference)) return std::nullopt;  // of a loop that is over
    return trace_.decide(syms.constant(0), relation, difference);
  }
  const Open at = *loop;
  const auto slope = graph::slopeOf(syms, difference, at.symbol);
  if (!slope) return std::nullopt;
  const auto [from, to] = turnsOf(static_cast<size_t>(open_.rend() - loop) - 1);
  const auto first = graph::withValue(syms, difference, at.symbol, from);
  // Without a last turn: it grows, or it does not.
  const auto last = to ? graph::withValue(syms, difference, at.symbol, *to)
                       : std::optional(syms.mul(*slope, syms.constant(int64_t{1} << 50)));
  if (!first || !last) return std::nullopt;
  const SymId zero = syms.constant(0);
  auto atBoth = [&](auto holds) -> std::optional<bool> {
    const std::optional<bool> a = holds(*first), b = holds(*last);
    return a && b && *a == *b ? a : std::nullopt;
  };
  auto decided = [&](SymId low, Relation how, SymId high) -> std::optional<bool> {
    if (contains(low) || contains(high) || trace_.decided.contains(low) || trace_.decided.contains(high))
      return decide(low, how, high);
    return trace_.decide(low, how, high);
  };
  if (relation == Relation::kLt || relation == Relation::kLe) {
    // In a turn there is one, however few there may be: what falls is largest in the first.
    const graph::SymRange rises = syms.range(*slope);
    const auto least = rises.lo >= 0 ? first : rises.hi <= 0 && to ? last : std::nullopt;
    if (least && trace_.known(zero, relation, *least) == true) return true;
    return atBoth([&](SymId d) { return decided(zero, relation, d); });
  }
  const bool equal = relation == Relation::kEq;
  if (atBoth([&](SymId d) { return decided(zero, Relation::kLt, d); }) == true) return !equal;
  if (atBoth([&](SymId d) { return decided(d, Relation::kLt, zero); }) == true) return !equal;
  return std::nullopt;
}

void Turns::refuse() const {
  trace_.fail(BreakReason::kDataDependentBranch, "a decision is not the same in every turn of a loop");
}

std::optional<SymId> Turns::inLastTurn(SymId expr) const {
  graph::SymContext& syms = trace_.syms();
  if (!open_.back().last) return std::nullopt;
  const auto value = graph::withValue(syms, syms.canonical(expr), open_.back().symbol, *open_.back().last);
  return value ? std::optional(syms.canonical(*value)) : std::nullopt;
}

}  // namespace fw::capture
