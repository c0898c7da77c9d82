// Chains of views: the affine map and the layout are compared with what happens to the address of every element.
#include <numeric>
#include <random>

#include "graph/verifier.h"
#include "graph/views.h"
#include "gtest/gtest.h"

namespace fw::graph {
namespace {

/// Addresses of the elements of an array, in C order of its shape.
struct Addresses {
  std::vector<int64_t> shape, at;
};

std::vector<int64_t> unravel(int64_t flat, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

int64_t ravel(const std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  int64_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
  return flat;
}

int64_t count(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

template <class F>
Addresses gather(const Addresses& from, std::vector<int64_t> shape, F indexOf) {
  Addresses to{shape, {}};
  for (int64_t i = 0; i < count(shape); ++i) {
    to.at.push_back(from.at[static_cast<size_t>(ravel(indexOf(unravel(i, shape)), from.shape))]);
  }
  return to;
}

class Chain {
 public:
  explicit Chain(uint32_t seed) : engine_(seed) {
    size_t rank = 1 + pick(3);
    std::vector<int64_t> shape;
    for (size_t i = 0; i < rank; ++i) shape.push_back(static_cast<int64_t>(1 + pick(4)));
    ValueType t{DType::kF32, sizes(shape), Layout::c(static_cast<int>(rank)), {}};
    std::shuffle(t.layout.order.begin(), t.layout.order.end(), engine_);
    value_ = graph.input(0, t);
    strides_ = packedStrides(graph.syms(), t.shape, t.layout, t.dtype);
    address_.shape = shape;
    for (int64_t i = 0; i < count(shape); ++i) {
      std::vector<int64_t> index = unravel(i, shape);
      int64_t at = 0;
      for (size_t d = 0; d < rank; ++d) at += index[d] * constant(strides_[d]);
      address_.at.push_back(at);
    }
  }

  void step() {
    switch (pick(7)) {
      case 0: return slice();
      case 1: return transpose();
      case 2: return expand();
      case 3: return squeeze();
      case 4: return broadcast();
      case 5: return diagonal();
      default: return reshape();
    }
  }

  /// Compares map and layout with the addresses.
  void check() {
    absl::StatusOr<AffineView> view = resolveView(graph, value_, strides_);
    ASSERT_TRUE(view.ok()) << view.status() << "\n" << print(graph);
    const ValueType& t = graph.type(value_);
    ASSERT_EQ(view->shape.size(), address_.shape.size());
    for (int64_t i = 0; i < count(address_.shape); ++i) {
      std::vector<int64_t> index = unravel(i, address_.shape);
      int64_t at = constant(view->offset);
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * constant(view->strides[d]);
      ASSERT_EQ(at, address_.at[static_cast<size_t>(i)]) << print(graph);
    }
    int64_t previous = INT64_MAX;
    bool packed = t.layout.contiguity == Contiguity::kPacked;
    SymList expected = packedStrides(graph.syms(), t.shape, t.layout, t.dtype);
    int64_t innermost = 0;
    for (int8_t a : t.layout.order) {
      auto axis = static_cast<size_t>(a);
      if (address_.shape[axis] == 1) continue;
      int64_t stride = constant(view->strides[axis]);
      ASSERT_EQ(t.layout.isBroadcast(a), stride == 0) << print(graph);
      ASSERT_EQ(t.layout.isNegative(a), stride < 0) << print(graph);
      if (stride == 0) continue;
      ASSERT_LE(std::abs(stride), previous) << print(graph);
      previous = innermost = std::abs(stride);
      if (packed) ASSERT_EQ(stride, constant(expected[axis])) << print(graph);
    }
    if (t.layout.contiguity == Contiguity::kInner && innermost != 0) ASSERT_EQ(innermost, 4) << print(graph);
    packedSeen += packed;
  }

  Graph graph;
  int packedSeen = 0;

 private:
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(engine_); }
  int64_t constant(SymId id) { return graph.syms().asConst(id).value(); }
  size_t rank() const { return address_.shape.size(); }
  SymShape sizes(const std::vector<int64_t>& shape) {
    SymShape s;
    for (int64_t n : shape) s.push_back(graph.syms().constant(n));
    return s;
  }

  void slice() {
    SymList starts, steps;
    std::vector<int64_t> begin, stride, shape;
    for (int64_t n : address_.shape) {
      int64_t step = std::vector<int64_t>{1, 1, 1, 2, -1, -2}[pick(6)],
              start = pick(2) ? 0 : static_cast<int64_t>(pick(static_cast<size_t>(n)));
      if (step < 0) start = n - 1 - start;
      int64_t most = step > 0 ? (n - start + step - 1) / step : (start - step) / -step;
      int64_t size = pick(3) ? most : 1 + static_cast<int64_t>(pick(static_cast<size_t>(most)));
      begin.push_back(start);
      stride.push_back(step);
      shape.push_back(size);
      starts.push_back(graph.syms().constant(start));
      steps.push_back(graph.syms().constant(step));
    }
    value_ = graph.slice(value_, starts, steps, sizes(shape));
    address_ = gather(address_, shape, [&](std::vector<int64_t> i) {
      for (size_t d = 0; d < i.size(); ++d) i[d] = begin[d] + i[d] * stride[d];
      return i;
    });
  }

  void transpose() {
    IntList perm(rank());
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), engine_);
    std::vector<int64_t> shape;
    for (int64_t p : perm) shape.push_back(address_.shape[static_cast<size_t>(p)]);
    value_ = graph.transpose(value_, perm);
    address_ = gather(address_, shape, [&](const std::vector<int64_t>& i) {
      std::vector<int64_t> out(i.size());
      for (size_t d = 0; d < i.size(); ++d) out[static_cast<size_t>(perm[d])] = i[d];
      return out;
    });
  }

  void expand() {
    if (rank() > 4) return;
    size_t axis = pick(rank() + 1);
    value_ = graph.expand(value_, {static_cast<int64_t>(axis)});
    address_.shape.insert(address_.shape.begin() + static_cast<ptrdiff_t>(axis), 1);
  }

  void squeeze() {
    for (size_t d = 0; d < rank(); ++d) {
      if (address_.shape[d] != 1 || pick(2)) continue;
      value_ = graph.squeeze(value_, {static_cast<int64_t>(d)});
      address_.shape.erase(address_.shape.begin() + static_cast<ptrdiff_t>(d));
      return;
    }
  }

  /// Of squares whose axes run in one direction.
  void diagonal() {
    const Layout& layout = graph.type(value_).layout;
    if (rank() != 2 || address_.shape[0] != address_.shape[1] || (layout.negativeAxes != 0 && layout.negativeAxes != 3))
      return;
    value_ = graph.diagonal(value_);
    address_ = gather(address_, {address_.shape[0]},
                      [](const std::vector<int64_t>& i) { return std::vector<int64_t>{i[0], i[0]}; });
  }

  void broadcast() {
    std::vector<int64_t> shape = address_.shape;
    for (int64_t& n : shape) {
      if (n == 1 && pick(2)) n = static_cast<int64_t>(1 + pick(3));
    }
    size_t more = rank() < 4 ? pick(2) : 0;
    if (more) shape.insert(shape.begin(), static_cast<int64_t>(1 + pick(3)));
    if (shape == address_.shape || count(shape) > 200) return;
    value_ = graph.broadcastTo(value_, sizes(shape));
    std::vector<int64_t> from = address_.shape;
    address_ = gather(address_, shape, [&](std::vector<int64_t> i) {
      if (more) i.erase(i.begin());
      for (size_t d = 0; d < i.size(); ++d) i[d] = from[d] == 1 ? 0 : i[d];
      return i;
    });
  }

  /// Merges two neighbours or splits an axis; tried only where NumPy would find a view.
  void reshape() {
    std::vector<int64_t> shape = address_.shape;
    if (rank() >= 2 && pick(2)) {
      size_t d = pick(rank() - 1);
      shape[d] *= shape[d + 1];
      shape.erase(shape.begin() + static_cast<ptrdiff_t>(d) + 1);
    } else if (rank() >= 1 && rank() < 5) {
      size_t d = pick(rank());
      int64_t n = shape[d], parts = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : 1;
      shape[d] = parts;
      shape.insert(shape.begin() + static_cast<ptrdiff_t>(d) + 1, n / parts);
    } else {
      return;
    }
    Addresses to{shape, address_.at};
    ValueId next = graph.reshape(value_, sizes(shape), false);
    if (!resolveView(graph, next, strides_).ok()) {
      EXPECT_FALSE(isAffine(to)) << print(graph);
      return;
    }
    value_ = next;
    address_ = to;
  }

  /// Whether strides exist that give these addresses.
  static bool isAffine(const Addresses& a) {
    std::vector<int64_t> strides;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      std::vector<int64_t> unit(a.shape.size(), 0);
      unit[d] = a.shape[d] > 1 ? 1 : 0;
      strides.push_back(a.at[static_cast<size_t>(ravel(unit, a.shape))] - a.at[0]);
    }
    for (int64_t i = 0; i < count(a.shape); ++i) {
      std::vector<int64_t> index = unravel(i, a.shape);
      int64_t at = a.at[0];
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
      if (at != a.at[static_cast<size_t>(i)]) return false;
    }
    return true;
  }

  std::mt19937 engine_;
  ValueId value_;
  SymList strides_;
  Addresses address_;
};

TEST(Views, RandomChainsKeepAddressesAndLayouts) {
  int packed = 0;
  for (uint32_t seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed) {
    Chain chain(seed);
    for (int i = 0; i < 6; ++i) {
      chain.step();
      ASSERT_NO_FATAL_FAILURE(chain.check()) << "seed " << seed;
    }
    packed += chain.packedSeen;
  }
  EXPECT_GT(packed, 2000) << "layouts must not simply give up";
}

TEST(Views, ReshapeGroupsOfSymbolicShapes) {
  SymContext s;
  SymId a = s.symbol("a", {1, 9}), b = s.symbol("b", {1, 9}), one = s.constant(1);
  auto text = [&](const SymShape& from, const SymShape& to) {
    std::string out;
    for (const AxisGroup& g : reshapeGroups(s, from, to)) {
      out += std::to_string(g.from) + "-" + std::to_string(g.fromEnd) + ">" + std::to_string(g.to) + "-" +
             std::to_string(g.toEnd) + " ";
    }
    return out;
  };
  EXPECT_EQ(text({a, b}, {s.mul(a, b)}), "0-2>0-1 ");
  EXPECT_EQ(text({a, s.constant(12)}, {a, s.constant(3), s.constant(4)}), "0-1>0-1 1-2>1-3 ");
  EXPECT_EQ(text({a, b}, {a, one, b}), "0-1>0-1 1-1>1-2 1-2>2-3 ");
  EXPECT_EQ(text({a, one, b}, {s.mul(a, b)}), "0-3>0-1 ");
  EXPECT_EQ(text({a, b}, {b, a}), "0-2>0-2 ");
  EXPECT_EQ(text({}, {one}), "0-0>0-1 ");
}

TEST(Views, MergingStridedAxesIsRefused) {
  Graph g;
  SymId n = g.syms().symbol("n", {1, 99}), m = g.syms().symbol("m", {1, 99}), t = g.syms().symbol("t0", {});
  ValueId a = g.input(0, {DType::kF32, {n, m}, *Layout::parse("c/strided", 2), {}});
  ValueId flat = g.reshape(a, {g.syms().mul(n, m)}, false);
  SymId four = g.syms().constant(4);
  EXPECT_EQ(resolveView(g, flat, {t, four}).status().code(), absl::StatusCode::kFailedPrecondition);
  g.syms().assumeEqual(t, g.syms().mul(m, four));
  EXPECT_TRUE(resolveView(g, flat, {t, four}).ok());
  EXPECT_EQ(viewBase(g, flat), a);
  ValueId copied = g.reshape(a, {g.syms().mul(n, m)}, true);
  EXPECT_EQ(viewBase(g, copied), copied);
}

}  // namespace
}  // namespace fw::graph
