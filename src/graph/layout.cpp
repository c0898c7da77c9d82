// Layouts and the three ways in which NumPy orders the axes of a fresh result. All of them are insertion sorts over
// pairwise comparisons that may be undecided, so the outcome depends on the order in which the pairs are visited; the
// loops below visit them as NumPy does (nditer_constr.c: npyiter_find_best_axis_ordering; shape.c:
// PyArray_CreateMultiSortedStridePerm and PyArray_CreateSortedStridePerm).
#include "graph/layout.h"

#include <algorithm>
#include <charconv>

#include "graph/support/check.h"

namespace fw::graph {
namespace {

using Order = absl::InlinedVector<int8_t, 4>;

/// Place of every axis in the order: smaller is a larger stride.
absl::InlinedVector<int, 4> placesOf(const Layout& layout) {
  absl::InlinedVector<int, 4> places(layout.order.size());
  for (size_t i = 0; i < layout.order.size(); ++i) places[static_cast<size_t>(layout.order[i])] = static_cast<int>(i);
  return places;
}

enum class Verdict { kKeep, kSwap, kUndecided };

/// Stable insertion sort of `axes`; verdict(later, earlier) says whether the later one has to move in front of the
/// earlier.
template <class F>
void insertionSort(Order& axes, F verdict) {
  for (size_t i = 1; i < axes.size(); ++i) {
    int8_t moving = axes[i];
    size_t target = i;
    for (size_t j = i; j-- > 0;) {
      Verdict v = verdict(moving, axes[j]);
      if (v == Verdict::kKeep) break;
      if (v == Verdict::kSwap) target = j;
    }
    axes.erase(axes.begin() + static_cast<ptrdiff_t>(i));
    axes.insert(axes.begin() + static_cast<ptrdiff_t>(target), moving);
  }
}

struct Ranked {
  absl::InlinedVector<int, 4> places;
  uint32_t absent;  // bit per axis of the result: this operand does not vote on it
  int shift;        // axes that the result has in front
};

Ranked rankOperand(const LayoutOperand& operand, int rank, bool zeroStridesVote) {
  Ranked r;
  r.places = placesOf(*operand.layout);
  r.shift = rank - operand.layout->rank();
  FW_CHECK(r.shift >= 0);
  uint32_t silent = operand.unitAxes;
  if (!zeroStridesVote) silent |= operand.layout->broadcastAxes;
  r.absent = silent << r.shift | ((1u << r.shift) - 1);
  if (zeroStridesVote) {
    for (int a = 0; a < operand.layout->rank(); ++a) {
      if (operand.layout->isBroadcast(a)) r.places[static_cast<size_t>(a)] = operand.layout->rank();
    }
  }
  return r;
}

}  // namespace

Layout Layout::c(int rank) {
  Layout l;
  for (int i = 0; i < rank; ++i) l.order.push_back(static_cast<int8_t>(i));
  return l;
}

Layout Layout::f(int rank) {
  Layout l = c(rank);
  std::reverse(l.order.begin(), l.order.end());
  return l;
}

bool Layout::isCOrder() const { return std::is_sorted(order.begin(), order.end()); }

bool Layout::isFOrder() const { return std::is_sorted(order.rbegin(), order.rend()); }

Layout Layout::packed() const {
  Layout l;
  l.order = order;
  return l;
}

std::string Layout::print() const {
  std::string out;
  if (isCOrder()) {
    out = "c";
  } else if (isFOrder()) {
    out = "f";
  } else {
    out = "perm(";
    for (size_t i = 0; i < order.size(); ++i) out += (i ? "," : "") + std::to_string(order[i]);
    out += ")";
  }
  if (contiguity == Contiguity::kInner) out += "/inner";
  if (contiguity == Contiguity::kStrided) out += "/strided";
  auto bits = [&](const char* name, uint32_t set) {
    if (set == 0) return;
    std::string list;
    for (int i = 0; i < 32; ++i) {
      if (set >> i & 1) list += (list.empty() ? "" : ",") + std::to_string(i);
    }
    out += std::string("/") + name + "(" + list + ")";
  };
  bits("bcast", broadcastAxes);
  bits("neg", negativeAxes);
  bits("tied", tiedAxes);
  if (interleaved) out += "/interleaved";
  return out;
}

namespace {

/// "name(1,0,2)" -> {1, 0, 2}, all below rank.
std::optional<Order> parseAxes(std::string_view text, std::string_view name, int rank) {
  if (text.size() < name.size() + 2 || text.substr(0, name.size()) != name || text[name.size()] != '(' ||
      text.back() != ')') {
    return std::nullopt;
  }
  text = text.substr(name.size() + 1, text.size() - name.size() - 2);
  Order axes;
  while (true) {
    size_t comma = std::min(text.find(','), text.size());
    int axis = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + comma, axis);
    if (problem != std::errc() || end != text.data() + comma || axis < 0 || axis >= rank) return std::nullopt;
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return std::nullopt;
    axes.push_back(static_cast<int8_t>(axis));
    if (comma == text.size()) return axes;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<Layout> Layout::parse(std::string_view text, int rank) {
  auto next = [&text] {
    size_t slash = std::min(text.find('/'), text.size());
    std::string_view part = text.substr(0, slash);
    text.remove_prefix(std::min(slash + 1, text.size()));
    return part;
  };
  std::string_view part = next();
  Layout l;
  if (part == "c") {
    l = c(rank);
  } else if (part == "f") {
    l = f(rank);
  } else {
    std::optional<Order> order = parseAxes(part, "perm", rank);
    if (!order || static_cast<int>(order->size()) != rank) return std::nullopt;
    l.order = *order;
  }
  while (!text.empty()) {
    part = next();
    if (part == "inner") {
      l.contiguity = Contiguity::kInner;
    } else if (part == "strided") {
      l.contiguity = Contiguity::kStrided;
    } else if (part == "interleaved") {
      l.interleaved = true;
    } else {
      const std::string_view name = part.substr(0, part.find('('));
      std::optional<Order> axes = parseAxes(part, name, rank);
      uint32_t* set = name == "neg"     ? &l.negativeAxes
                      : name == "bcast" ? &l.broadcastAxes
                      : name == "tied"  ? &l.tiedAxes
                                        : nullptr;
      if (!axes || !set) return std::nullopt;
      for (int8_t a : *axes) *set |= 1u << a;
    }
  }
  return l;
}

namespace {

/// Decides a pair of axes by majority of none: any operand for C order wins, otherwise the first that votes.
Verdict compareAxes(absl::Span<const Ranked> operands, int later, int earlier, bool wantLaterLarger) {
  Verdict v = Verdict::kUndecided;
  for (const Ranked& r : operands) {
    if ((r.absent >> later & 1) != 0 || (r.absent >> earlier & 1) != 0) continue;
    int p = r.places[static_cast<size_t>(later - r.shift)], q = r.places[static_cast<size_t>(earlier - r.shift)];
    bool swap = wantLaterLarger ? p < q : p > q;
    if (!swap) return Verdict::kKeep;
    v = Verdict::kSwap;
  }
  return v;
}

}  // namespace

Layout ufuncResultLayout(int rank, absl::Span<const LayoutOperand> operands) {
  absl::InlinedVector<Ranked, 4> ranked;
  for (const LayoutOperand& o : operands) ranked.push_back(rankOperand(o, rank, false));
  Order axes = Layout::f(rank).order;  // NumPy sorts from the smallest stride, starting from C order
  insertionSort(axes, [&](int later, int earlier) { return compareAxes(ranked, later, earlier, false); });
  Layout result;
  result.order.assign(axes.rbegin(), axes.rend());
  return result;
}

Layout concatenateLayout(int rank, absl::Span<const LayoutOperand> operands) {
  absl::InlinedVector<Ranked, 4> ranked;
  for (const LayoutOperand& o : operands) ranked.push_back(rankOperand(o, rank, true));
  Layout result = Layout::c(rank);
  insertionSort(result.order, [&](int later, int earlier) { return compareAxes(ranked, later, earlier, true); });
  return result;
}

Layout likeLayout(const Layout& layout, uint32_t unitAxes) {
  Layout result;
  for (int8_t a : layout.order) {
    if (!layout.isBroadcast(a)) result.order.push_back(a);
  }
  for (int8_t a = 0; a < layout.rank(); ++a) {
    if (layout.isBroadcast(a)) result.order.push_back(a);
  }
  // Where the axes that matter are in C order, NumPy takes plain C order; unit axes only matter for looks.
  Order voting;
  for (int8_t a : result.order) {
    if ((unitAxes >> a & 1) == 0) voting.push_back(a);
  }
  return std::is_sorted(voting.begin(), voting.end()) ? Layout::c(layout.rank()) : result;
}

}  // namespace fw::graph
