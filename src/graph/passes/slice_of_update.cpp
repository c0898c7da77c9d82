// Per axis, the slice that is read (T) and the slice that was stored (S) are two arithmetic progressions. Where they
// have the same step, or S is the whole axis, their common elements are a range of each. If no axis has any, the update
// does not matter. If all elements of T are common, T is a slice of the stored value. Otherwise T is a slice of the
// older version with the common part replaced, which pays where T is a line or a point of the array: a large T is
// better served by the updated array itself, which all its readers share.
#include "graph/passes/slice_of_update.h"

#include <algorithm>

namespace fw::graph {
namespace {

struct Common {
  SymId inValue, inRead;   ///< first common element, counted in S and in T
  SymId count, valueStep;  ///< of the common elements; they are next to each other in T
  bool all = false;        ///< every element of T
  bool none = false;
};

class Axis {
 public:
  Axis(SymContext& syms, SymId start, SymId step, SymId count)
      : syms_(syms),
        start_(start),
        step_(step),
        count_(count) {}

  /// What [start, step, count] has in common with what was stored in an axis of `size` elements; nullopt if unknown.
  std::optional<Common> with(const Axis& stored, SymId size) const {
    if (const auto own = interval(), other = stored.interval();
        own && other && (own->second < other->first || other->second < own->first))
      return nothing();
    const SymId zero = syms_.constant(0), one = syms_.constant(1);
    const auto equal = [&](SymId a, SymId b) { return a == b || syms_.provablyEqual(a, b) == true; };
    if (equal(stored.start_, zero) && syms_.isConst(stored.step_, 1) && equal(stored.count_, size))
      return Common{start_, zero, count_, step_, true, false};
    SymId step = stored.step_;
    if (!syms_.isConst(count_, 1) && !equal(step, step_)) return apart(stored);  // one element has any step
    const std::optional<int64_t> by = syms_.asConst(step);
    if (!by)
      return equal(start_, stored.start_) && equal(count_, stored.count_) && equal(step_, step)
                 ? std::optional(Common{zero, zero, count_, one, true, false})
                 : std::nullopt;
    const SymId distance = syms_.sub(start_, stored.start_);
    const std::optional<int64_t> rest = syms_.asConst(syms_.mod(distance, step));
    if (rest && *rest != 0) return nothing();
    if (!rest) return apart(stored);
    // T begins at element `shift` of S.
    const SymId shift = syms_.floorDiv(distance, step);
    const SymId from = syms_.max(shift, zero), to = syms_.min(stored.count_, syms_.add(shift, count_));
    if (syms_.provablyLessEqual(to, from)) return nothing();
    const SymId count = syms_.max(syms_.sub(to, from), zero);
    return Common{from, syms_.sub(from, shift), count, one, equal(count, count_), false};
  }

 private:
  Common nothing() const {
    Common common;
    common.none = true;
    return common;
  }

  /// Least and greatest index, if everything is constant and there are some: a quick answer for most pairs.
  std::optional<std::pair<int64_t, int64_t>> interval() const {
    const std::optional<int64_t> start = syms_.asConst(start_), step = syms_.asConst(step_),
                                 count = syms_.asConst(count_);
    if (!start || !step || !count || *count < 1) return std::nullopt;
    const int64_t last = *start + *step * (*count - 1);
    return std::minmax(*start, last);
  }

  /// Nothing, if the two lie in ranges that do not meet.
  std::optional<Common> apart(const Axis& other) const {
    const auto [low, high] = bounds();
    const auto [otherLow, otherHigh] = other.bounds();
    if (!low || !otherLow) return std::nullopt;
    if (syms_.provablyLess(*high, *otherLow) == true || syms_.provablyLess(*otherHigh, *low) == true) return nothing();
    return std::nullopt;
  }

  /// Least and greatest index, if the sign of the step is known.
  std::pair<std::optional<SymId>, std::optional<SymId>> bounds() const {
    const SymId last = syms_.add(start_, syms_.mul(step_, syms_.sub(count_, syms_.constant(1))));
    if (syms_.range(step_).lo > 0) return {start_, last};
    if (syms_.range(step_).hi < 0) return {last, start_};
    return {};
  }

  SymContext& syms_;
  SymId start_, step_, count_;
};

/// Updates that one slice is followed through: without a limit, n reads behind n updates would take n * n steps.
constexpr int kMaxDepth = 256;

/// See sliceOfUpdate(). `depth` counts the updates that have been passed.
std::optional<ValueId> follow(Graph& graph, ValueId updated, const SymList& starts, const SymList& steps,
                              const ValueType& type, int depth) {
  SymContext& syms = graph.syms();
  const Node& update = graph.node(updated);
  if (update.op != Op::kUpdate || depth == kMaxDepth) return std::nullopt;
  const ValueId base = update.operands[0], value = update.operands[1];
  const SymList storedStarts = update.attrs.syms(AttrKey::kStarts), storedSteps = update.attrs.syms(AttrKey::kSteps);
  const SymShape size = graph.type(base).shape, stored = graph.type(value).shape;
  SymList inValue, valueSteps, inRead;
  SymShape counts;
  bool all = true, known = true, thin = false;
  for (size_t i = 0; i < size.size(); ++i) {
    const Axis read(syms, starts[i], steps[i], type.shape[i]);
    const std::optional<Common> common = read.with(Axis(syms, storedStarts[i], storedSteps[i], stored[i]), size[i]);
    if (common && common->none) {
      if (std::optional<ValueId> older = follow(graph, base, starts, steps, type, depth + 1)) return older;
      return graph.slice(base, starts, steps, type.shape);
    }
    known &= common.has_value();
    thin |= syms.isConst(type.shape[i], 1) && !syms.isConst(size[i], 1);
    if (!known) continue;
    all &= common->all;
    inValue.push_back(common->inValue);
    valueSteps.push_back(common->valueStep);
    inRead.push_back(common->inRead);
    counts.push_back(common->count);
  }
  if (!known) return std::nullopt;
  if (all) {
    if (std::optional<ValueId> older = follow(graph, value, inValue, valueSteps, type, depth + 1)) return older;
    return graph.slice(value, inValue, valueSteps, type.shape);
  }
  if (!thin) return std::nullopt;
  std::optional<ValueId> line = follow(graph, base, starts, steps, type, depth + 1);
  if (!line) line = graph.slice(base, starts, steps, type.shape);
  const ValueId part = graph.slice(value, inValue, valueSteps, counts);
  return graph.update(*line, part, inRead, SymList(size.size(), syms.constant(1)));
}

}  // namespace

std::optional<ValueId> sliceOfUpdate(Graph& graph, ValueId updated, const SymList& starts, const SymList& steps,
                                     const ValueType& type) {
  return follow(graph, updated, starts, steps, type, 0);
}

}  // namespace fw::graph
