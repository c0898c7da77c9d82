// The newest variant shares with the call what has not changed lately; what it is rejected for is what changes. Values
// that come and go in turns (a flag, one of three modes) have their variants before the count is full.
#include "bindings/churn.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "guards/set_index.h"

namespace fw::bindings {

namespace {

/// Whether Python, running the instruction, would spare the variant the guard. Arguments and locals of several types
/// are no matter of one instruction.
bool isCurable(const guards::GuardSet& set, const guards::Guard& guard) {
  using guards::GuardKind;
  const bool relation = guard.kind == GuardKind::kSymRelation || guard.kind == GuardKind::kNumber;
  if (relation && guard.pin == guards::Pin::kNone) return false;  // the other answer has a variant of its own
  if (guard.at < 0 || guards::guardCure(guard.kind) != guards::Cure::kStop) return false;
  const bool ofType = guard.kind == GuardKind::kType || guard.kind == GuardKind::kWeakType;
  return !ofType || (*set.sources)[guard.source].kind != guards::SourceKind::kArg;
}

using capture::kProductSizes;
using capture::kSharedPlaces;

/// Sizes of matrices that have a variant of their own before one is made for all of them.
constexpr int kMostSizes = 3;

/// Whether the guard holds fast how arrays lie in memory: an equation of addresses or strides.
bool isOfPlaces(const guards::GuardSet& set, const guards::Guard& guard) {
  using From = guards::SymbolBinding::From;
  if (guard.kind != guards::GuardKind::kSymRelation || guard.relation != guards::Relation::kEq) return false;
  std::vector<int64_t> symbols;
  for (const graph::SymId side : {guard.left, guard.right}) guards::symbolsIn(*set.syms, side, symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](int64_t symbol) {
    const From from = set.symbols[static_cast<size_t>(symbol)].from;
    return from == From::kAddress || from == From::kStride;
  });
}

bool sharesMemory(const guards::GuardSet& set) {
  return std::any_of(set.symbols.begin(), set.symbols.end(), [](const guards::SymbolBinding& binding) {
    return binding.from == guards::SymbolBinding::From::kAddress;
  });
}

}  // namespace

std::optional<Churn::Blame> Churn::blame(const Variant& newest, const Invocation& call, int limit) {
  guards::SlowResult miss = newest.miss(call.args, call.function);
  const guards::GuardSet& set = newest.guardSet();
  if (miss.failed < 0 || static_cast<size_t>(miss.failed) >= set.guards.size()) return std::nullopt;
  const guards::Guard& guard = set.guards[static_cast<size_t>(miss.failed)];
  if (isOfPlaces(set, guard) && sharesMemory(set)) {
    if (changing_.contains(kSharedPlaces) || limit <= 0 || ++counts_[kSharedPlaces] < limit) return std::nullopt;
    changing_.insert(kSharedPlaces);
    return Blame{guard.at, std::move(miss.reason), true, true};
  }
  if (guard.pin == guards::Pin::kSize) {
    if (changing_.contains(kProductSizes) || ++counts_[kProductSizes] < kMostSizes) return std::nullopt;
    changing_.insert(kProductSizes);
    return Blame{guard.at, std::move(miss.reason), true};
  }
  if (!isCurable(set, guard)) return std::nullopt;
  if (guard.pin == guards::Pin::kSetting && changing_.insert(guard.at).second)
    return Blame{guard.at, std::move(miss.reason), true};
  if (limit <= 0 || ++counts_[guard.at] < limit) return std::nullopt;
  counts_.erase(guard.at);
  return Blame{guard.at, std::move(miss.reason), false};
}

void Churn::clear() {
  counts_.clear();
  changing_.clear();
}

bool Churn::reliesOn(const Variant& variant, const Blame& blame) {
  const guards::GuardSet& set = variant.guardSet();
  return std::any_of(set.guards.begin(), set.guards.end(), [&](const guards::Guard& guard) {
    return blame.ofPlaces ? isOfPlaces(set, guard) : guard.at == blame.at && isCurable(set, guard);
  });
}

}  // namespace fw::bindings
