// How it works: strides tell which multiples of an offset and of a loop's step run along which axis of the buffer. So
// an address becomes an index for every axis, and that the indices lie within the shape are short inequalities, each
// about one axis: no products of sizes, no signs of strides. Where loops run over several axes at once, axes are taken
// together. The indices are smallest and largest at the ends of the loops; what those ends are is put in where that
// can be told, and graph::BoundProver does the rest.
//
// What has no such form is one polynomial, and that it is neither too small nor too large two inequalities for
// graph::BoundProver. Loops that run over nothing make everything inside of them true: their index would have to lie in
// an empty range.
#include "kernels/place_proof.h"

#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/symint_range.h"

namespace fw::kernels {

using graph::SymPoly;
using graph::SymRange;
using graph::SymTerm;

namespace {

constexpr size_t kMaxChoices = 4;
constexpr uint64_t kMaxValues = 4;  ///< of a symbol, for each of which there is a proof of its own
constexpr int kMaxValued = 2;       ///< symbols at once that are something else in a proof
constexpr int kMaxTried = 32;       ///< values and differences that one prover tries
constexpr size_t kMaxJoints = 4;    ///< pairs of axes that may be taken together or not, in all combinations

/// of / by if that has no remainder.
std::optional<SymTerm> quotient(const SymTerm& of, const SymTerm& by) {
  if (of.coefficient % by.coefficient != 0) return std::nullopt;
  SymTerm rest{of.coefficient / by.coefficient, of.atoms};
  for (SymId atom : by.atoms) {
    const auto at = std::find(rest.atoms.begin(), rest.atoms.end(), atom);
    if (at == rest.atoms.end()) return std::nullopt;
    rest.atoms.erase(at);
  }
  return rest;
}

graph::SymContext with(const graph::SymContext& syms, SymId symbol, int64_t value) {
  graph::SymContext result = syms;
  result.assumeEqual(symbol, result.constant(value));
  return result;
}

int64_t floorOf(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

PlaceProver::PlaceProver(const graph::Plan& plan, const graph::SymContext& syms, std::vector<SymId> known, int depth)
    : plan_(plan),
      prover_(syms, known),
      syms_(prover_.syms()),
      extents_(plan.buffers.size()),
      known_(std::move(known)),
      depth_(depth) {}

PlaceProver::PlaceProver(const graph::Plan& plan, const graph::SymContext& syms, absl::Span<const SymId> guarded)
    : PlaceProver(plan, syms, {guarded.begin(), guarded.end()}, 0) {
  // The class of a layout, which is guarded, has the signs of the strides. Along one element any stride will do.
  for (const graph::Buffer& buffer : plan.buffers) {
    if (buffer.kind != graph::BufferKind::kInput) continue;
    for (size_t axis = 0; axis < buffer.shape.size(); ++axis) {
      const SymId stride = syms_.canonical(buffer.strides[axis]);
      if (syms_.asConst(stride)) continue;
      const bool negative = buffer.layout.isNegative(static_cast<int>(axis));
      syms_.assumeWithin(stride, negative ? SymRange{INT64_MIN, 0} : SymRange{0, INT64_MAX});
      addFact(negative ? syms_.neg(stride) : stride);
    }
  }
}

void PlaceProver::addFact(SymId id) {
  known_.push_back(id);
  prover_.addFact(id);
  if (syms_.node(id).op == graph::SymOp::kSymbol) atLeast0_.push_back(id);
  for (SymId symbol : atLeast0_) {
    const Slope along = slopeAlong(id, symbol);
    if (along.linear && syms_.isConst(along.slope, -1)) turns_.push_back({symbol, along.rest});
  }
}

SymId PlaceProver::fresh(SymRange range) {
  return syms_.symbol(absl::StrCat("#", symbols_++), range);  // a name that no symbol of the program has
}

SymId PlaceProver::openLoop(SymId lower, SymId upper) {
  const SymId from = syms_.canonical(lower);
  const SymId to = syms_.isConst(from, 0) ? ifPositive(syms_.canonical(upper)) : syms_.canonical(upper);
  SymRange range = syms_.range(from);
  range.hi = INT64_MAX;
  const SymId index = fresh(range);
  openLoop(index, from, to);
  return index;
}

void PlaceProver::openLoop(SymId index, SymId from, SymId to) {
  const SymId one = syms_.constant(1);
  const Loop loop{index, from, to, syms_.sub(to, from), prover_.mark()};
  prover_.addFact(syms_.sub(loop.iterations, one));
  prover_.addFact(syms_.sub(loop.index, from));
  prover_.addFact(syms_.sub(syms_.sub(to, loop.index), one));
  loops_.push_back(loop);
}

/// What `atom` is if it is more than 0: then max(x, 0) is x, and so are all operands of a minimum.
SymId PlaceProver::positive(SymId atom) {
  const graph::SymNode n = syms_.node(atom);
  if (n.op == graph::SymOp::kMax && n.operands.size() == 2)
    for (int side : {0, 1})
      if (syms_.isConst(n.operands[side], 0)) return positive(n.operands[1 - side]);
  if (n.op != graph::SymOp::kMin) return atom;
  SymId least = positive(n.operands[0]);
  for (size_t i = 1; i < n.operands.size(); ++i) least = syms_.min(least, positive(n.operands[i]));
  return least;
}

/// What `upper` is if it is more than 0: then all of its factors are.
SymId PlaceProver::ifPositive(SymId upper) {
  graph::SymAlgebra algebra(syms_);
  const SymPoly p = algebra.poly(upper);
  if (p.size() != 1 || p[0].coefficient <= 0) return upper;
  SymId result = syms_.constant(p[0].coefficient);
  for (SymId atom : p[0].atoms) {
    if (p[0].atoms.size() > 1 && syms_.range(atom).lo < 0) return upper;
    result = syms_.mul(result, positive(atom));
  }
  return result;
}

void PlaceProver::closeLoop() {
  prover_.release(loops_.back().mark);
  loops_.pop_back();
}

const PlaceProver::Extent& PlaceProver::extentOf(graph::BufferId id) {
  Extent& extent = extents_.at(id.index);
  if (extent.isSet) return extent;
  const graph::Buffer& buffer = plan_.buffers[id.index];
  const SymId one = syms_.constant(1);
  extent.mayBeEmpty = buffer.kind == graph::BufferKind::kInput &&
                      (buffer.layout.contiguity != graph::Contiguity::kPacked || buffer.layout.broadcastAxes != 0);
  extent.first = syms_.constant(0);
  extent.end = syms_.constant(graph::itemSize(buffer.dtype));
  for (const int8_t number : buffer.layout.order) {
    const auto axis = static_cast<size_t>(number);
    const SymId size = syms_.canonical(buffer.shape[axis]), stride = syms_.canonical(buffer.strides[axis]);
    extent.shape.push_back(size);
    if (syms_.isConst(stride, 0))
      extent.spread.push_back(size);
    else
      extent.axes.push_back({size, stride});
    const SymId reach = syms_.mul(syms_.sub(size, one), stride);
    SymId& end = buffer.layout.isNegative(number) ? extent.first : extent.end;
    end = syms_.add(end, reach);
  }
  for (size_t i = 0; i + 1 < extent.axes.size(); ++i) {
    const Extent::Axis& next = extent.axes[i + 1];
    extent.axes[i].joinsNext = extent.axes[i].stride == syms_.canonical(syms_.mul(next.size, next.stride));
  }
  extent.isSet = true;
  return extent;
}

bool PlaceProver::inside(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes) {
  return proved(buffer, offset, terms, bytes) || forEachValue(buffer, offset, terms, bytes) ||
         byDifference(buffer, offset, terms, bytes);
}

bool PlaceProver::proved(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes) {
  const Extent& extent = extentOf(buffer);
  offset = syms_.canonical(offset);
  if (indexed(extent, offset, terms, bytes, graph::itemSize(plan_.buffers[buffer.index].dtype))) return true;
  const auto runsNever = [&](const Loop& loop) { return prover_.lessEqual(loop.upper, loop.lower); };
  if (std::any_of(loops_.begin(), loops_.end(), runsNever)) return true;
  SymId address = offset;
  for (const Term& t : terms) address = syms_.add(address, syms_.mul(loops_[t.loop].index, syms_.canonical(t.stride)));
  if (reaches(extent, address, bytes)) return true;
  std::vector<SymId> choices;
  for (const Loop& loop : loops_) collectChoices(loop.iterations, choices);
  return inAllCases(extent, address, bytes, choices);
}

// --- an index for every axis

/// The axes of the buffer; where bit i of `joined` is set, axis i and the next one are taken as one.
std::vector<PlaceProver::Part> PlaceProver::parts(const Extent& extent, uint32_t joined) {
  std::vector<Part> result;
  SymId size = syms_.constant(1);
  for (size_t i = 0; i < extent.axes.size(); ++i) {
    size = syms_.mul(size, extent.axes[i].size);
    if (joined >> i & 1) continue;
    result.push_back({size, extent.axes[i].stride, syms_.constant(0)});
    size = syms_.constant(1);
  }
  return result;
}

/// Takes out of `of` what is a multiple of `stride`, and answers how many times.
SymId PlaceProver::takeMultiples(SymId& of, SymId stride) {
  if (of == stride) {
    of = syms_.constant(0);
    return syms_.constant(1);
  }
  graph::SymAlgebra algebra(syms_);
  const SymPoly by = algebra.poly(stride);
  SymId times = syms_.constant(0);
  for (int round = 0; round < 8; ++round) {
    SymPoly multiples;
    for (const SymTerm& t : algebra.poly(of)) {
      std::optional<SymTerm> q = quotient(t, by[0]);
      if (!q && t.atoms.empty() && by[0].atoms.empty() && by.size() == 1)
        q = SymTerm{floorOf(t.coefficient, by[0].coefficient), {}};
      if (q && q->coefficient != 0) multiples.push_back(*std::move(q));
    }
    if (multiples.empty()) break;
    SymId count = syms_.constant(0);
    for (const SymTerm& t : multiples) count = syms_.add(count, algebra.fromPoly({t}));
    times = syms_.add(times, count);
    of = syms_.sub(of, syms_.mul(count, stride));
    if (by.size() == 1) break;
  }
  return times;
}

/// Distributes the place over `parts`; false if more than `slack` bytes are left.
bool PlaceProver::split(std::vector<Part>& parts, SymId offset, absl::Span<const Term> terms, int64_t slack) {
  for (Part& part : parts) part.index = takeMultiples(offset, part.stride);
  const std::optional<int64_t> rest = syms_.asConst(offset);
  if (!rest || *rest < 0 || *rest > slack) return false;
  for (const Term& t : terms) {
    SymId stride = syms_.canonical(t.stride);
    for (Part& part : parts) {
      if (syms_.isConst(stride, 0)) break;
      const SymId step = takeMultiples(stride, part.stride);
      part.index = syms_.add(part.index, syms_.mul(step, loops_[t.loop].index));
    }
    if (!syms_.isConst(stride, 0)) return false;
  }
  return true;
}

bool PlaceProver::indexed(const Extent& extent, SymId offset, absl::Span<const Term> terms, int64_t bytes,
                          int64_t itemSize) {
  const SymId one = syms_.constant(1);
  std::vector<std::vector<SymId>> ways;  // what has to hold, all of one of them
  const size_t joints = std::min(kMaxJoints, extent.axes.empty() ? 0 : extent.axes.size() - 1);
  const bool together = terms.size() < extent.axes.size();  // then a loop is likely to run over several axes
  for (uint32_t number = 0; number < 1u << joints; ++number) {
    const uint32_t joined = together ? (1u << joints) - 1 - number : number;
    bool possible = bytes <= itemSize;
    for (size_t i = 0; i < joints; ++i) possible &= (joined >> i & 1) == 0 || extent.axes[i].joinsNext;
    if (!possible) continue;
    std::vector<Part> along = parts(extent, joined);
    if (!split(along, offset, terms, itemSize - bytes)) continue;
    std::vector<SymId> claims;
    for (const Part& part : along)
      for (SymId claim : {part.index, syms_.sub(syms_.sub(part.size, part.index), one)}) claims.push_back(claim);
    for (SymId size : extent.spread) claims.push_back(syms_.sub(size, one));
    std::erase_if(claims, [&](SymId claim) { return holdsInLoops(claim, /*search=*/false); });
    if (claims.empty()) return true;
    ways.push_back(std::move(claims));
  }
  std::stable_sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return std::any_of(ways.begin(), ways.end(), [&](const std::vector<SymId>& claims) {
    return std::all_of(claims.begin(), claims.end(), [&](SymId claim) { return holdsInLoops(claim, /*search=*/true); });
  });
}

/// Whether `id` is at least 0 at all points of the loops. What has been shown is remembered: the accesses of one loop
/// run along the same axes.
bool PlaceProver::holdsInLoops(SymId id, bool search) {
  if (std::any_of(loops_.begin(), loops_.end(), [&](const Loop& loop) { return loop.shown.contains(id); })) return true;
  if (!holdsAtEnds(id, turns_.size() + loops_.size(), search) && !holds(lowest(id), search)) return false;
  if (!loops_.empty()) loops_.back().shown.insert(id);
  return true;
}

/// `id` as slope * index + rest.
PlaceProver::Slope PlaceProver::slopeAlong(SymId id, SymId index) {
  graph::SymAlgebra algebra(syms_);
  Slope result{syms_.constant(0), id};
  SymPoly rest;
  for (SymTerm& t : algebra.poly(id)) {
    const auto at = std::find(t.atoms.begin(), t.atoms.end(), index);
    if (at == t.atoms.end()) {
      rest.push_back(std::move(t));
      continue;
    }
    t.atoms.erase(at);
    result.linear &= std::find(t.atoms.begin(), t.atoms.end(), index) == t.atoms.end();
    result.slope = syms_.add(result.slope, algebra.fromPoly({t}));
  }
  if (!syms_.isConst(result.slope, 0)) result.rest = algebra.fromPoly(rest);
  return result;
}

/// Whether `id` is at least 0 at the ends of the outermost `ranges` - loops of the schedule, then loops - where it is
/// smallest: at both ends, where nobody knows which one that is. A loop that begins at the greatest of several bounds
/// begins at none below any of them, and likewise it ends: one of them is enough.
bool PlaceProver::holdsAtEnds(SymId id, size_t ranges, bool search) {
  const auto operandsOf = [&](SymId bound, graph::SymOp op) {
    const graph::SymNode& n = syms_.node(bound);
    if (n.op == op) return absl::InlinedVector<SymId, 2>(n.operands.begin(), n.operands.end());
    return absl::InlinedVector<SymId, 2>{bound};
  };
  while (ranges-- > 0) {
    const Loop* loop = ranges >= turns_.size() ? &loops_[ranges - turns_.size()] : nullptr;
    const auto [slope, rest, linear] = slopeAlong(id, loop ? loop->index : turns_[ranges].index);
    if (!linear || syms_.isConst(slope, 0)) continue;
    const auto holdsAt = [&, slope = slope, rest = rest](SymId end) {
      return holdsAtEnds(syms_.add(rest, syms_.mul(slope, end)), ranges, search);
    };
    const auto holdsAtFirst = [&] {
      if (!loop) return holdsAt(syms_.constant(0));
      const auto bounds = operandsOf(loop->lower, graph::SymOp::kMax);
      return std::any_of(bounds.begin(), bounds.end(), holdsAt);
    };
    const auto holdsAtLast = [&] {
      if (!loop) return holdsAt(turns_[ranges].last);
      const auto bounds = operandsOf(loop->upper, graph::SymOp::kMin);
      return std::any_of(bounds.begin(), bounds.end(),
                         [&](SymId bound) { return holdsAt(syms_.sub(bound, syms_.constant(1))); });
    };
    if (prover_.holdsAtOnce(slope)) return holdsAtFirst();
    if (prover_.holdsAtOnce(syms_.neg(slope))) return holdsAtLast();
    if (holdsAtFirst() && holdsAtLast()) return true;
  }
  return holds(id, search);
}

/// `id` at the ends of the loops where it is smallest, from the innermost outwards, as far as that can be told.
SymId PlaceProver::lowest(SymId id) {
  for (size_t i = loops_.size(); i-- > 0;) {
    const Loop& loop = loops_[i];
    const auto [slope, rest, linear] = slopeAlong(id, loop.index);
    if (!linear || syms_.isConst(slope, 0)) continue;
    if (prover_.holdsAtOnce(slope))
      id = syms_.add(rest, syms_.mul(slope, loop.lower));
    else if (prover_.holdsAtOnce(syms_.neg(slope)))
      id = syms_.add(rest, syms_.mul(slope, syms_.sub(loop.upper, syms_.constant(1))));
  }
  return id;
}

bool PlaceProver::holds(SymId id, bool search) { return search ? prover_.nonNegative(id) : prover_.holdsAtOnce(id); }

// --- a few values of a symbol, or another in its place

PlaceProver::PlaceProver(const PlaceProver& outer, const graph::SymContext& syms)
    : PlaceProver(outer.plan_, syms, outer.known_, outer.depth_ + 1) {
  symbols_ = outer.symbols_;
  prover_.continueFrom(outer.prover_);
  for (const Turn& turn : outer.turns_)
    if (syms_.canonical(turn.index) == turn.index) turns_.push_back({turn.index, syms_.canonical(turn.last)});
  for (const Loop& loop : outer.loops_) openLoop(loop.index, syms_.canonical(loop.lower), syms_.canonical(loop.upper));
}

/// Guards may leave a size only a few values, 3 or 4: for each of them by itself a quotient of it is a number, and a
/// loop over what it lacks to 4 may not run.
bool PlaceProver::forEachValue(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes) {
  if (depth_ == kMaxValued || values_ >= kMaxTried) return false;
  const std::optional<SymId> symbol = ofFewValues(extentOf(buffer), offset, terms);
  if (!symbol) return false;
  const SymRange range = syms_.range(*symbol);
  for (int64_t value = range.lo; value <= range.hi; ++value) {
    ++values_;
    PlaceProver valued(*this, with(syms_, *symbol, value));
    const bool holds = valued.inside(buffer, offset, terms, bytes);
    prover_.continueFrom(valued.prover_);
    if (!holds) return false;
  }
  return true;
}

/// x[k:] has s - k rows. That s >= k is a guard: with k + d in the place of s sizes, strides and offsets are products
/// again, where there were sums of them.
bool PlaceProver::byDifference(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes) {
  if (depth_ == kMaxValued || values_ >= kMaxTried) return false;
  const absl::flat_hash_set<SymId> named = symbolsOf(extentOf(buffer), offset, terms);
  absl::flat_hash_set<SymId> tried;
  for (SymId fact : known_) {
    graph::SymAlgebra algebra(syms_);
    const SymPoly p = algebra.poly(syms_.canonical(fact));
    const auto isNamed = [&](const SymTerm& t) { return t.atoms.size() == 1 && named.contains(t.atoms[0]); };
    if (p.size() < 2 || p.size() > 3 || !isNamed(p[0]) || !isNamed(p[1]) || (p.size() == 3 && !p[2].atoms.empty()))
      continue;
    const size_t larger = p[0].coefficient == 1 ? 0 : 1;
    const SymId symbol = p[larger].atoms[0];
    if (p[larger].coefficient != 1 || std::abs(p[1 - larger].coefficient) != 1 || !tried.insert(symbol).second)
      continue;
    ++values_;
    graph::SymContext measured = syms_;
    const SymId difference = measured.symbol(absl::StrCat("#", symbols_++), SymRange{0, INT64_MAX});
    graph::SymAlgebra(measured).replace(symbol, measured.add(difference, measured.sub(symbol, algebra.fromPoly(p))));
    PlaceProver inner(*this, measured);
    const bool holds = inner.inside(buffer, offset, terms, bytes);
    prover_.continueFrom(inner.prover_);
    if (holds) return true;
  }
  return false;
}

/// The symbols that the place, the loops around it and the extent of the buffer depend on.
absl::flat_hash_set<SymId> PlaceProver::symbolsOf(const Extent& extent, SymId offset, absl::Span<const Term> terms) {
  std::vector<SymId> open = {offset};
  for (const Term& t : terms) open.push_back(t.stride);
  for (const Loop& loop : loops_) open.insert(open.end(), {loop.lower, loop.upper});
  open.insert(open.end(), extent.shape.begin(), extent.shape.end());
  for (const Extent::Axis& axis : extent.axes) open.push_back(axis.stride);
  absl::flat_hash_set<SymId> seen(open.begin(), open.end()), symbols;
  while (!open.empty()) {
    const SymId id = syms_.canonical(open.back());
    open.pop_back();
    const graph::SymNode& n = syms_.node(id);
    for (SymId operand : n.operands)
      if (seen.insert(operand).second) open.push_back(operand);
    const bool isIndex = std::any_of(loops_.begin(), loops_.end(), [&](const Loop& l) { return l.index == id; });
    if (n.op == graph::SymOp::kSymbol && !isIndex) symbols.insert(id);
  }
  return symbols;
}

/// Of the symbols that the place depends on, the one with the fewest values; none if all have many.
std::optional<SymId> PlaceProver::ofFewValues(const Extent& extent, SymId offset, absl::Span<const Term> terms) {
  std::optional<SymId> best;
  const auto count = [&](SymId id) { return static_cast<uint64_t>(syms_.range(id).hi - syms_.range(id).lo); };
  for (SymId id : symbolsOf(extent, offset, terms)) {
    if (!graph::bounded(syms_.range(id)) || count(id) >= kMaxValues) continue;
    if (!best || count(id) < count(*best) || (count(id) == count(*best) && id < *best)) best = id;
  }
  return best;
}

// --- an address as a whole

/// Where the bounds of loops are extremes, each of these is one of its operands.
bool PlaceProver::inAllCases(const Extent& extent, SymId address, int64_t bytes, absl::Span<const SymId> choices) {
  if (choices.empty() || choices.size() > kMaxChoices) return false;
  const absl::InlinedVector<SymId, 2> operands = syms_.node(choices[0]).operands;
  return std::all_of(operands.begin(), operands.end(), [&](SymId operand) {
    const size_t mark = prover_.mark();
    prover_.addFact(syms_.sub(choices[0], operand));
    prover_.addFact(syms_.sub(operand, choices[0]));
    const bool holds = reaches(extent, address, bytes) || inAllCases(extent, address, bytes, choices.subspan(1));
    prover_.release(mark);
    return holds;
  });
}

void PlaceProver::collectChoices(SymId id, std::vector<SymId>& choices) const {
  const graph::SymNode& n = syms_.node(id);
  const bool extreme = n.op == graph::SymOp::kMin || n.op == graph::SymOp::kMax;
  if (extreme && std::find(choices.begin(), choices.end(), id) == choices.end()) choices.push_back(id);
  for (SymId operand : n.operands) collectChoices(operand, choices);
}

bool PlaceProver::reaches(const Extent& extent, SymId address, int64_t bytes) {
  if (!prover_.lessEqual(extent.first, address)) return false;
  if (!prover_.lessEqual(syms_.add(address, syms_.constant(bytes)), extent.end)) return false;
  return !extent.mayBeEmpty || std::all_of(extent.shape.begin(), extent.shape.end(),
                                           [&](SymId size) { return prover_.lessEqual(syms_.constant(1), size); });
}

}  // namespace fw::kernels
