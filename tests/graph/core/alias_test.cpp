// Whether views share memory: every answer is compared with the elements themselves, one by one, for many values of the
// symbols; and the answers that passes live on must not be "perhaps".
#include "graph/alias.h"

#include <numeric>
#include <random>
#include <set>

#include "gtest/gtest.h"

namespace fw::graph {
namespace {

using Index = std::vector<int64_t>;

/// Shape of a view and, in C order, which element of the base each of its elements is.
struct Elements {
  Index shape, at;
};

int64_t count(const Index& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

Index unravel(int64_t flat, const Index& shape) {
  Index index(shape.size());
  for (size_t i = shape.size(); i-- > 0; flat /= shape[i]) index[i] = flat % shape[i];
  return index;
}

/// -1: outside of the shape.
int64_t ravel(const Index& index, const Index& shape) {
  int64_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (index[i] < 0 || index[i] >= shape[i]) return -1;
    flat = flat * shape[i] + index[i];
  }
  return flat;
}

/// What a view is under these values of the symbols; nullopt if it is none then.
class Walk {
 public:
  Walk(const Graph& graph, Index symbols) : graph_(graph), symbols_(std::move(symbols)) {}

  std::optional<Elements> of(ValueId id) const {
    const Node& node = graph_.node(id);
    Elements to{values(node.type.shape), {}};
    for (int64_t size : to.shape)
      if (size < 0) return std::nullopt;
    if (node.op == Op::kInput) {
      to.at.resize(static_cast<size_t>(count(to.shape)));
      std::iota(to.at.begin(), to.at.end(), 0);
      return to;
    }
    const std::optional<Elements> from = of(node.operands[0]);
    if (!from) return std::nullopt;
    if (node.op == Op::kReshape || node.op == Op::kExpand || node.op == Op::kSqueeze) {
      if (count(to.shape) != count(from->shape)) return std::nullopt;
      to.at = from->at;
      return to;
    }
    for (int64_t i = 0; i < count(to.shape); ++i) {
      const std::optional<Index> index = operandIndex(node, unravel(i, to.shape), from->shape);
      const int64_t flat = index ? ravel(*index, from->shape) : -1;
      if (flat < 0) return std::nullopt;
      to.at.push_back(from->at[static_cast<size_t>(flat)]);
    }
    return to;
  }

 private:
  int64_t value(SymId id) const { return graph_.syms().evaluate(id, symbols_).value(); }

  Index values(absl::Span<const SymId> ids) const {
    Index result;
    for (SymId id : ids) result.push_back(value(id));
    return result;
  }

  std::optional<Index> operandIndex(const Node& node, Index index, const Index& from) const {
    if (node.op == Op::kSlice) {
      const Index starts = values(node.attrs.syms(AttrKey::kStarts)), steps = values(node.attrs.syms(AttrKey::kSteps));
      for (size_t i = 0; i < index.size(); ++i) index[i] = starts[i] + index[i] * steps[i];
    } else if (node.op == Op::kTranspose) {
      const IntList& perm = node.attrs.ints(AttrKey::kPerm);
      Index result(index.size());
      for (size_t i = 0; i < index.size(); ++i) result[static_cast<size_t>(perm[i])] = index[i];
      return result;
    } else if (node.op == Op::kDiagonal) {
      return Index{index[0], index[0]};
    } else {
      index.erase(index.begin(), index.begin() + static_cast<ptrdiff_t>(index.size() - from.size()));
      const Index to = values(node.type.shape);
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i] == 1)
          index[i] = 0;
        else if (from[i] != to[to.size() - from.size() + i])
          return std::nullopt;
      }
    }
    return index;
  }

  const Graph& graph_;
  Index symbols_;
};

class Case {
 public:
  explicit Case(uint32_t seed) : engine_(seed) {
    symbols_ = {{0, 5}, {1, 6}, {2, 7}, {0, 3}};
    for (size_t i = 0; i < symbols_.size(); ++i)
      ids_.push_back(graph.syms().symbol("s" + std::to_string(i), {symbols_[i].first, symbols_[i].second}));
    SymShape shape;
    for (size_t rank = 1 + pick(3); rank > 0; --rank)
      shape.push_back(pick(3) ? ids_[pick(3)] : constant(1 + static_cast<int64_t>(pick(5))));
    base_ = graph.input(0, {DType::kF64, shape, Layout::c(static_cast<int>(shape.size())), {}});
  }

  ValueId view() {
    ValueId at = base_;
    for (size_t steps = pick(4); steps > 0; --steps) at = step(at);
    return at;
  }

  /// The same steps once more, or others.
  ValueId step(ValueId at) {
    switch (pick(10)) {
      case 5: return diagonal(at);
      case 0: return transpose(at);
      case 1: return expand(at);
      case 2: return squeeze(at);
      case 3: return broadcast(at);
      case 4: return reshape(at);
      default: return slice(at);
    }
  }

  Index values() {
    Index result;
    for (auto [low, high] : symbols_)
      result.push_back(low + static_cast<int64_t>(pick(static_cast<size_t>(high - low + 1))));
    return result;
  }

  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(engine_); }

  Graph graph;

 private:
  SymId constant(int64_t v) { return graph.syms().constant(v); }
  const SymShape& shape(ValueId at) { return graph.type(at).shape; }

  /// A piece of an axis as Python programs have it: x[1:], x[:-1], x[::2], x[1::2], x[::-1], x[k], x[k:k + 2] ...
  Progression piece(SymId n) {
    SymContext& s = graph.syms();
    const int64_t start = static_cast<int64_t>(pick(3));
    switch (pick(8)) {
      case 0: return {constant(0), constant(1), n};
      case 1: return {constant(start), constant(1), s.sub(n, constant(start))};
      case 2: return {constant(0), constant(1), s.sub(n, constant(start))};
      case 3:
        return {constant(start % 2), constant(2),
                s.floorDiv(s.sub(s.add(n, constant(1)), constant(start % 2)), constant(2))};
      case 4: return {s.sub(n, constant(1)), constant(-1), n};
      case 5: return {constant(start), constant(1), constant(1)};
      case 6: return {s.add(ids_[3], constant(start)), constant(1), constant(1 + static_cast<int64_t>(pick(2)))};
      default: return {s.sub(n, constant(1 + start)), constant(1), constant(1)};
    }
  }

  ValueId slice(ValueId at) {
    SymList starts, steps;
    SymShape sizes;
    for (SymId n : shape(at)) {
      const Progression p = piece(n);
      starts.push_back(p.start);
      steps.push_back(p.step);
      sizes.push_back(p.count);
    }
    return graph.slice(at, starts, steps, sizes);
  }

  ValueId transpose(ValueId at) {
    IntList perm(shape(at).size());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), engine_);
    return graph.transpose(at, perm);
  }

  ValueId expand(ValueId at) {
    const size_t rank = shape(at).size();
    return rank > 3 ? at : graph.expand(at, {static_cast<int64_t>(pick(rank + 1))});
  }

  ValueId squeeze(ValueId at) {
    for (size_t d = 0; d < shape(at).size(); ++d)
      if (graph.syms().isConst(shape(at)[d], 1)) return graph.squeeze(at, {static_cast<int64_t>(d)});
    return at;
  }

  ValueId diagonal(ValueId at) {
    if (shape(at).size() != 2 || graph.type(at).layout.negativeAxes != 0) return at;
    SymContext& syms = graph.syms();
    return syms.canonical(shape(at)[0]) == syms.canonical(shape(at)[1]) ? graph.diagonal(at) : at;
  }

  ValueId broadcast(ValueId at) {
    SymShape to = shape(at);
    for (SymId& n : to)
      if (pick(2)) n = graph.syms().isConst(n, 1) ? constant(3) : ids_[pick(3)];
    if (to.size() < 4 && pick(3) == 0) to.insert(to.begin(), constant(2));
    return graph.broadcastTo(at, to);
  }

  /// Merges two neighbours, turns the sizes round, or guesses.
  ValueId reshape(ValueId at) {
    SymShape to = shape(at);
    if (to.size() >= 2 && pick(2)) {
      const size_t d = pick(to.size() - 1);
      to[d] = graph.syms().mul(to[d], to[d + 1]);
      to.erase(to.begin() + static_cast<ptrdiff_t>(d) + 1);
    } else if (pick(2)) {
      std::reverse(to.begin(), to.end());
    } else if (!to.empty()) {
      to[pick(to.size())] = ids_[pick(3)];
    }
    return graph.reshape(at, to, false);
  }

  std::mt19937 engine_;
  std::vector<std::pair<int64_t, int64_t>> symbols_;
  std::vector<SymId> ids_;
  ValueId base_;
};

bool meet(const Elements& a, const Elements& b) {
  const std::set<int64_t> other(b.at.begin(), b.at.end());
  return std::any_of(a.at.begin(), a.at.end(), [&](int64_t at) { return other.contains(at); });
}

TEST(Alias, AnswersHoldForEveryElement) {
  int none = 0, same = 0, equalAddresses = 0, checked = 0;
  for (uint32_t seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
    Case c(seed);
    const ValueId a = c.view(), b = c.view();
    const Alias answer = alias(c.graph, a, b);
    EXPECT_EQ(alias(c.graph, b, a), answer);
    const ValueId base = viewBase(c.graph, a);
    const SymList strides =
        packedStrides(c.graph.syms(), c.graph.type(base).shape, c.graph.type(base).layout, DType::kF64);
    const auto x = resolveView(c.graph, a, strides), y = resolveView(c.graph, b, strides);
    const bool addresses = x.ok() && y.ok() && sameElements(c.graph.syms(), *x, *y);
    none += answer == Alias::kNone;
    same += answer == Alias::kSame && a != b;
    equalAddresses += addresses && a != b;
    if (answer == Alias::kMay && !addresses) continue;
    for (int i = 0; i < 30; ++i) {
      const Index symbols = c.values();
      const Walk walk(c.graph, symbols);
      const std::optional<Elements> first = walk.of(a), second = walk.of(b);
      if (!first || !second) continue;
      ++checked;
      const bool equal = first->shape == second->shape && first->at == second->at;
      if (answer == Alias::kNone) EXPECT_FALSE(meet(*first, *second)) << "seed " << seed << "\n" << print(c.graph);
      if (answer == Alias::kSame) EXPECT_TRUE(equal) << "seed " << seed << "\n" << print(c.graph);
      if (addresses) EXPECT_TRUE(equal) << "seed " << seed << "\n" << print(c.graph);
    }
  }
  EXPECT_GT(none, 250) << "it must not simply give up";
  EXPECT_GT(same, 50);
  EXPECT_GT(equalAddresses, 50);
  EXPECT_GT(checked, 2500);
}

/// Elements of a progression.
Index walk(const SymContext& syms, const Progression& p, absl::Span<const int64_t> symbols) {
  Index result;
  const auto value = [&](SymId id) { return syms.evaluate(id, symbols).value(); };
  for (int64_t i = 0; i < value(p.count); ++i) result.push_back(value(p.start) + i * value(p.step));
  return result;
}

TEST(Alias, CommonPartsHoldForEveryElement) {
  std::mt19937 engine(1);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  };
  int answered = 0, partial = 0;
  for (int round = 0; round < 4000 && !testing::Test::HasFailure(); ++round) {
    SymContext s;
    const SymId n = s.symbol("n", {0, 8}), m = s.symbol("m", {0, 4}), size = s.add(n, s.constant(20));
    const SymId terms[] = {n, m, s.constant(0), s.constant(0), s.constant(0)};
    const auto expression = [&](int64_t most) { return s.add(terms[pick(0, 4)], s.constant(pick(0, most))); };
    const int64_t step = pick(0, 2) ? 1 : pick(1, 3) * (pick(0, 1) ? 1 : -1);
    const Progression read{expression(6), s.constant(step), expression(2)},
        stored{expression(6), s.constant(pick(0, 3) ? step : pick(1, 3)), expression(4)};
    const std::optional<CommonPart> common = commonPart(s, read, stored, size);
    if (!common) continue;
    ++answered;
    partial += !common->all;
    for (int i = 0; i < 10; ++i) {
      const int64_t symbols[] = {pick(0, 8), pick(0, 4)};
      const Index r = walk(s, read, symbols), w = walk(s, stored, symbols);
      Index both, said;
      for (int64_t at : r)
        if (std::find(w.begin(), w.end(), at) != w.end()) both.push_back(at);
      const auto value = [&](SymId id) { return s.evaluate(id, symbols).value(); };
      for (int64_t k = 0; k < value(common->count); ++k) {
        const auto in = static_cast<size_t>(value(common->inRead) + k);
        const auto from = static_cast<size_t>(value(common->inStored) + k * value(common->storedStep));
        ASSERT_LT(in, r.size());
        ASSERT_LT(from, w.size());
        EXPECT_EQ(r[in], w[from]);
        said.push_back(r[in]);
      }
      EXPECT_EQ(said, both);
      if (common->all) EXPECT_EQ(said, r);
    }
  }
  EXPECT_GT(answered, 1000);
  EXPECT_GT(partial, 300);
}

/// What programs are made of must be told apart.
TEST(Alias, CommonForms) {
  Graph g;
  SymContext& s = g.syms();
  const SymId n = s.symbol("n", {3, INT64_MAX}), m = s.symbol("m", {3, INT64_MAX}), k = s.symbol("k", {0, 9});
  const SymId zero = s.constant(0), one = s.constant(1), two = s.constant(2), last = s.sub(n, one);
  const ValueId x = g.input(0, {DType::kF64, {n, m}, Layout::c(2), {}}), y = g.input(1, g.type(x));
  const auto rows = [&](SymId start, SymId step, SymId count) {
    return g.slice(x, {start, zero}, {step, one}, {count, m});
  };
  const auto row = [&](SymId at) { return g.squeeze(rows(at, one, one), {0}); };
  const auto column = [&](SymId at) { return g.squeeze(g.slice(x, {zero, at}, {one, one}, {n, one}), {1}); };
  EXPECT_EQ(alias(g, x, y), Alias::kNone);
  EXPECT_EQ(alias(g, x, x), Alias::kSame);
  EXPECT_EQ(alias(g, x, rows(zero, one, n)), Alias::kSame);
  EXPECT_EQ(alias(g, row(zero), row(last)), Alias::kNone);
  EXPECT_EQ(alias(g, row(zero), row(k)), Alias::kMay);
  EXPECT_EQ(alias(g, row(k), row(s.add(k, one))), Alias::kNone);
  EXPECT_EQ(alias(g, row(zero), rows(one, one, last)), Alias::kNone);
  EXPECT_EQ(alias(g, rows(zero, two, s.floorDiv(s.add(n, one), two)), rows(one, two, s.floorDiv(n, two))),
            Alias::kNone);
  EXPECT_EQ(alias(g, column(zero), column(one)), Alias::kNone);
  EXPECT_EQ(alias(g, column(zero), row(zero)), Alias::kMay);
  EXPECT_EQ(alias(g, g.transpose(g.transpose(x, {1, 0}), {1, 0}), x), Alias::kSame);
  EXPECT_EQ(alias(g, g.transpose(x, {1, 0}), x), Alias::kMay);
  const ValueId back = rows(last, s.constant(-1), n);
  EXPECT_EQ(alias(g, back, x), Alias::kMay);
  EXPECT_EQ(alias(g, g.slice(back, {last, zero}, {s.constant(-1), one}, {n, m}), x), Alias::kSame);
  EXPECT_EQ(alias(g, g.reshape(x, {s.mul(n, m)}, false), row(one)), Alias::kMay);
  EXPECT_EQ(alias(g, rows(one, one, zero), x), Alias::kNone);
}

TEST(Alias, WritesRememberTargets) {
  Graph g;
  SymContext& s = g.syms();
  const SymId n = s.symbol("n", {100, INT64_MAX});
  const ValueId x = g.input(0, {DType::kF64, {n}, Layout::c(1), {}}), y = g.input(1, g.type(x));
  const auto element = [&](int64_t at) { return g.slice(x, {s.constant(at)}, {s.constant(1)}, {s.constant(1)}); };
  Writes writes;
  EXPECT_FALSE(writes.mayAlias(g, x));
  for (int at = 0; at < 40; ++at) {
    EXPECT_FALSE(writes.mayAlias(g, y));
    EXPECT_TRUE(at < 1 || writes.mayAlias(g, element(at - 1)));
    // Beyond a number of targets, everything may be meant.
    EXPECT_EQ(writes.mayAlias(g, element(at)), at > 16);
    writes.add(g, g.commit(element(at), g.slice(y, {s.constant(at)}, {s.constant(1)}, {s.constant(1)})));
  }
}

}  // namespace
}  // namespace fw::graph
