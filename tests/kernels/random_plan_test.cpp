// Random small graphs through the whole pipeline: passes, plan, kernels, kernel interpreter, against the reference
// evaluator, which knows nothing of fusion, memory or loops. Values must be equal, sums bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <map>
#include <random>

#include "graph/evaluator.h"
#include "graph/passes/pass_manager.h"
#include "graph/support/check.h"
#include "kernels/interpreter.h"
#include "kernels/lower.h"

namespace fw::kernels::testing {
namespace {

using graph::AttrKey;
using graph::Attrs;
using graph::Graph;
using graph::HostArray;
using graph::IntList;
using graph::Layout;
using graph::Op;
using graph::Scalar;
using graph::SymList;
using graph::SymShape;
using graph::ValueType;

constexpr int kGraphs = 4000;
constexpr int64_t kMaxElements = 30000;

/// A graph, the values of its symbols, and its inputs twice: dense for the evaluator, in their layout for kernels.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : rng_(seed) {
    const bool large = seed % 40 == 7;
    const std::vector<int64_t> sizes =
        large ? std::vector<int64_t>{3, 5000, 9000} : std::vector<int64_t>{1, 2, 3, 4, 8, 9, 17};
    for (int i = 0; i < 3; ++i) {
      int64_t size = sizes[pick(sizes.size())];
      if (large && i > 0) size = 1 + static_cast<int64_t>(pick(3));
      addSymbol("s" + std::to_string(i), {0, INT64_MAX}, size);
    }
    const size_t inputs = 1 + pick(3);
    for (size_t i = 0; i < inputs; ++i) addInput(static_cast<int>(i));
    const size_t steps = 3 + pick(10);
    for (size_t i = 0; i < steps && usable; ++i) step();
    const size_t outputs = 1 + pick(2);
    for (size_t i = 0; i < outputs; ++i)
      g.outputs().push_back(pool_[pool_.size() - 1 - pick(std::min<size_t>(3, pool_.size()))]);
  }

  bool usable = true;  ///< small enough
  Graph g;
  std::vector<int64_t> symbols;
  std::vector<HostArray> dense;
  std::vector<std::vector<std::byte>> memory;

 private:
  size_t pick(size_t n) { return static_cast<size_t>(rng_() % n); }
  bool chance(int percent) { return pick(100) < static_cast<size_t>(percent); }
  ValueId any() { return pool_[chance(50) ? pool_.size() - 1 : pick(pool_.size())]; }
  int64_t valueOf(SymId id) { return *g.syms().evaluate(id, symbols); }
  SymId constant(int64_t v) { return g.syms().constant(v); }

  SymId addSymbol(const std::string& name, graph::SymRange range, int64_t value) {
    symbols.push_back(value);
    return g.syms().symbol(name, range);
  }

  SymId randomSize() { return chance(8) ? constant(1) : g.syms().symbolId(static_cast<int>(pick(3))); }

  void addInput(int index) {
    static constexpr DType kTypes[] = {DType::kF64, DType::kF64,  DType::kF64, DType::kF32,
                                       DType::kI64, DType::kC128, DType::kF16};
    ValueType type;
    type.dtype = kTypes[pick(std::size(kTypes))];
    const int rank = 1 + static_cast<int>(pick(3));
    int64_t elements = 1;
    for (int i = 0; i < rank; ++i) {
      type.shape.push_back(randomSize());
      elements *= valueOf(type.shape.back());
      if (elements <= kMaxElements) continue;
      elements /= valueOf(type.shape.back());
      type.shape.back() = constant(1);
    }
    type.layout = chance(25) ? Layout::f(rank) : Layout::c(rank);
    const bool strided = chance(35), inner = strided && chance(40);
    if (strided) type.layout.contiguity = inner ? graph::Contiguity::kInner : graph::Contiguity::kStrided;
    HostArray array{type.dtype, {}, {}};
    for (SymId size : type.shape) array.shape.push_back(valueOf(size));
    array = HostArray::zeros(type.dtype, array.shape);
    for (int64_t i = 0; i < array.elements(); ++i) array.set(i, draw(type.dtype));
    std::vector<int64_t> strides(array.shape.size());
    int64_t step = graph::itemSize(type.dtype);
    for (size_t i = strides.size(); i-- > 0;) {
      const int axis = type.layout.order[i];
      const bool fixed = !strided || (inner && i + 1 == strides.size());
      if (!fixed && chance(60)) step *= 2;
      strides[axis] = step;
      if (!fixed) addSymbol("t" + std::to_string(index) + "_" + std::to_string(axis), {}, step);
      step *= array.shape[axis];
    }
    std::vector<std::byte> bytes(static_cast<size_t>(step), std::byte{0x5a});
    forEach(array.shape, strides, [&](int64_t flat, int64_t offset) {
      const Scalar v = array.at(flat);
      const size_t size = static_cast<size_t>(graph::itemSize(type.dtype));
      std::memcpy(bytes.data() + offset, &v.lo, std::min<size_t>(size, 8));
      if (size == 16) std::memcpy(bytes.data() + offset + 8, &v.hi, 8);
    });
    pool_.push_back(g.input(index, type));
    dense.push_back(std::move(array));
    memory.push_back(std::move(bytes));
  }

  Scalar draw(DType d) {
    if (d == DType::kI64) return Scalar::ofInt(d, static_cast<int64_t>(pick(2001)) - 1000);
    std::normal_distribution<double> normal;
    const auto real = [&] { return normal(rng_) * std::exp(2 * normal(rng_)); };
    return graph::isComplex(d) ? Scalar::ofComplex(d, {real(), real()}) : Scalar::ofDouble(d, real());
  }

 public:
  /// body(flat index in C order, offset by the strides).
  template <class Body>
  static void forEach(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, const Body& body) {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t rest = flat, offset = 0;
      for (size_t axis = shape.size(); axis-- > 0;) {
        offset += rest % shape[axis] * strides[axis];
        rest /= shape[axis];
      }
      body(flat, offset);
    }
  }

 private:
  void keep(absl::StatusOr<ValueId> value) {
    if (!value.ok()) return;
    int64_t elements = 1;
    for (SymId size : g.type(*value).shape) elements *= valueOf(size);
    if (elements > kMaxElements) usable = false;
    pool_.push_back(*value);
  }

  void step() {
    const size_t kind = pick(100);
    if (kind < 40) return elementwise();
    if (kind < 62) return view();
    if (kind < 92) return reduction();
    if (kind < 97) return update();
    join();
  }

  /// `v` as `to`; nothing becomes an integer or real again.
  std::optional<ValueId> as(ValueId v, DType to) {
    const DType from = g.type(v).dtype;
    if (from == to) return v;
    if (!graph::isInexact(to) || (graph::isComplex(from) && !graph::isComplex(to))) return std::nullopt;
    return g.cast(v, to);
  }

  void elementwise() {
    static constexpr Op kBinary[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum, Op::kMinimum};
    const ValueId a = any();
    const DType d = g.type(a).dtype;
    if (d == DType::kBool) return keep(g.cast(a, chance(50) ? DType::kF64 : DType::kI64));
    if (chance(12)) return keep(g.unary(chance(50) || graph::isComplex(d) ? Op::kNegative : Op::kAbsolute, a));
    if (chance(10)) {
      if (std::optional<ValueId> v = as(a, graph::isComplex(d) ? DType::kC128 : chance(50) ? DType::kF64 : DType::kF32))
        keep(*v);
      return;
    }
    std::optional<ValueId> b = as(any(), d);
    if (!b || chance(15))
      b = g.constant(graph::isComplex(d)   ? Scalar::ofComplex(d, {2, 0})
                     : graph::isInexact(d) ? Scalar::ofDouble(d, 1.5)
                                           : Scalar::ofInt(d, 3));
    const Op op = kBinary[pick(graph::isComplex(d) ? 2 : 5)];
    if (chance(10) && !graph::isComplex(d)) {
      absl::StatusOr<ValueId> less = g.add(Op::kLess, {a, *b});
      if (less.ok()) keep(g.add(Op::kWhere, {*less, a, *b}));
      return;
    }
    keep(g.add(op, {a, *b}));
  }

  struct Cut {
    SymList starts, steps;
    SymShape shape;
  };
  Cut cutOf(const SymShape& shape) {
    graph::SymContext& syms = g.syms();
    Cut cut;
    for (SymId size : shape) {
      const int64_t n = valueOf(size);
      int64_t start = 0, step = 1;
      SymId count = size;
      const size_t kind = pick(6);
      if (kind == 1 && n >= 2) start = 1, count = syms.sub(size, constant(1));
      if (kind == 2 && n >= 3) start = 1, count = syms.sub(size, constant(2));
      if (kind == 3) step = 2, count = syms.floorDiv(syms.add(size, constant(1)), constant(2));
      cut.starts.push_back(kind == 4 && n >= 1 ? syms.sub(size, constant(1)) : constant(start));
      cut.steps.push_back(constant(kind == 4 && n >= 1 ? -1 : step));
      cut.shape.push_back(count);
    }
    return cut;
  }

  void view() {
    const ValueId v = any();
    const ValueType type = g.type(v);
    const int rank = type.rank();
    if (rank == 0) return;
    switch (pick(5)) {
      case 0:
      case 1: {
        const Cut cut = cutOf(type.shape);
        return keep(g.slice(v, cut.starts, cut.steps, cut.shape));
      }
      case 2: {
        IntList perm;
        for (int i = 0; i < rank; ++i) perm.push_back(i);
        std::shuffle(perm.begin(), perm.end(), rng_);
        return keep(g.transpose(v, perm));
      }
      case 3: {
        if (rank == 3) return;
        const int64_t at = static_cast<int64_t>(pick(static_cast<size_t>(rank) + 1));
        const ValueId wide = g.expand(v, {at});
        pool_.push_back(wide);
        SymShape shape = g.type(wide).shape;
        shape[at] = g.syms().symbolId(static_cast<int>(pick(3)));
        if (chance(50)) keep(g.broadcastTo(wide, shape));
        return;
      }
      default:
        if (type.layout.isPackedC()) keep(g.reshape(v, {g.syms().product(type.shape)}, false));
    }
  }

  void reduction() {
    static constexpr Op kOps[] = {Op::kSum, Op::kSum, Op::kSum, Op::kMean, Op::kMax,
                                  Op::kMin, Op::kAny, Op::kVar, Op::kProd, Op::kArgmax};
    Op op = kOps[pick(std::size(kOps))];
    ValueId v = any();
    const ValueType type = g.type(v);
    if (type.rank() == 0) return;
    if (graph::isComplex(type.dtype) || type.dtype == DType::kBool)
      op = graph::isComplex(type.dtype) ? Op::kSum : Op::kAny;
    if (op == Op::kAny) v = g.cast(v, DType::kBool);
    Attrs attrs;
    IntList axes;
    for (int axis = 0; axis < type.rank(); ++axis)
      if (chance(60)) axes.push_back(axis);
    if (axes.empty() || (op == Op::kArgmax && axes.size() > 1)) axes = {static_cast<int64_t>(pick(type.rank()))};
    attrs.set(AttrKey::kAxes, axes).set(AttrKey::kKeepdims, int64_t{chance(30)});
    const bool floats = op == Op::kMean || op == Op::kVar;
    if (floats && !graph::isInexact(type.dtype)) v = g.cast(v, DType::kF64);
    if ((op == Op::kSum && chance(15) && !graph::isComplex(type.dtype)) || g.type(v).dtype != type.dtype) {
      if (op != Op::kAny) {
        v = g.cast(v, DType::kF64);
        if (type.dtype != DType::kF64) attrs.set(AttrKey::kBuffered, int64_t{1});
      }
    }
    keep(g.add(op, {v}, attrs));
  }

  void update() {
    const ValueId base = any();
    const ValueType type = g.type(base);
    if (type.rank() == 0 || type.dtype == DType::kBool || type.layout.broadcastAxes) return;
    const Cut cut = cutOf(type.shape);
    const ValueId part = g.slice(base, cut.starts, cut.steps, cut.shape);
    keep(g.update(base, g.unary(Op::kNegative, part), cut.starts, cut.steps));
  }

  void join() {
    const ValueId a = any(), b = any();
    if (g.type(a).rank() == 0 || g.type(a).dtype != g.type(b).dtype) return;
    Attrs attrs;
    attrs.set(AttrKey::kAxis, static_cast<int64_t>(pick(g.type(a).rank())));
    keep(g.add(Op::kConcatenate, {a, b}, attrs));
  }

  std::mt19937_64 rng_;
  std::vector<ValueId> pool_;
};

/// What the kernels leave in memory, output by output in C order.
absl::StatusOr<std::vector<HostArray>> runKernels(RandomProgram& p, uint64_t& flags,
                                                  absl::Span<const std::string_view> off = {}) {
  graph::SymContext& syms = p.g.syms();
  const auto number = [&](SymId id) { return *syms.evaluate(id, p.symbols); };
  const graph::PassContext context{.disabled = off};
  if (absl::Status s = graph::runPasses(p.g, context); !s.ok()) return s;
  absl::StatusOr<graph::Plan> plan = graph::makePlan(p.g, context);
  if (!plan.ok()) return plan.status();
  std::vector<std::byte> workspace(static_cast<size_t>(number(plan->workspaceBytes)) + 64, std::byte{0xcd});
  std::vector<std::vector<std::byte>> outputs;
  outputs.reserve(plan->buffers.size());
  std::vector<void*> buffers;
  for (const graph::Buffer& buffer : plan->buffers) {
    int64_t bytes = graph::itemSize(buffer.dtype);
    for (SymId size : buffer.shape) bytes *= number(size);
    if (buffer.kind == graph::BufferKind::kOutput)
      outputs.emplace_back(static_cast<size_t>(bytes) + 1, std::byte{0xcd});
    buffers.push_back(buffer.kind == graph::BufferKind::kInput    ? p.memory[static_cast<size_t>(buffer.index)].data()
                      : buffer.kind == graph::BufferKind::kOutput ? outputs.back().data()
                                                                  : workspace.data() + number(buffer.offset));
  }
  int ordinal = 0;
  for (const graph::Group& group : plan->groups) {
    absl::StatusOr<Kernel> kernel = buildKernel(p.g, *plan, group, ordinal++);
    if (!kernel.ok()) return kernel.status();
    const std::vector<std::string> problems = verify(*kernel, syms);
    if (!problems.empty()) return absl::InternalError(problems[0] + "\n" + print(*kernel, syms));
    absl::StatusOr<uint64_t> status = interpret(*kernel, syms, p.symbols, buffers);
    if (!status.ok()) return status.status();
    flags |= *status;
  }
  std::vector<HostArray> results;
  for (const graph::OutputBinding& binding : plan->outputs) {
    std::vector<int64_t> shape, strides;
    for (SymId size : binding.shape) shape.push_back(number(size));
    for (SymId stride : binding.strides) strides.push_back(number(stride));
    HostArray array = HostArray::zeros(plan->buffers[binding.buffer.index].dtype, shape);
    const std::byte* data = static_cast<std::byte*>(buffers[binding.buffer.index]) + number(binding.offset);
    const size_t size = static_cast<size_t>(graph::itemSize(array.dtype));
    RandomProgram::forEach(shape, strides, [&](int64_t flat, int64_t offset) {
      Scalar v{array.dtype, 0, 0};
      std::memcpy(&v.lo, data + offset, std::min<size_t>(size, 8));
      if (size == 16) std::memcpy(&v.hi, data + offset + 8, 8);
      array.set(flat, v);
    });
    results.push_back(std::move(array));
  }
  return results;
}

/// Equal values; zeros of either sign and any NaNs are equal (extremes of equal zeros may answer either).
bool same(const Scalar& a, const Scalar& b) {
  if (a == b) return true;
  const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return graph::isInexact(a.dtype) && equal(a.asComplex().real(), b.asComplex().real()) &&
         equal(a.asComplex().imag(), b.asComplex().imag());
}

std::string difference(const std::vector<HostArray>& want, const std::vector<HostArray>& got) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].shape != got[i].shape) return "shape of output " + std::to_string(i);
    for (int64_t k = 0; k < want[i].elements(); ++k)
      if (!same(want[i].at(k), got[i].at(k)))
        return "output " + std::to_string(i) + " element " + std::to_string(k) + ": " + print(got[i].at(k)) + ", not " +
               print(want[i].at(k));
  }
  return "";
}

/// Programs 0 to `graphs` with steps of planning switched off.
void compare(uint64_t graphs, absl::Span<const std::string_view> off) {
  int compared = 0, refused = 0, declined = 0, wrong = 0;
  std::map<std::string, int> reasons;
  for (uint64_t seed = 0; seed < graphs && wrong < 5; ++seed) {
    RandomProgram program(seed);
    if (!program.usable) continue;
    const std::string text = print(program.g);
    absl::StatusOr<std::vector<HostArray>> want = graph::evaluate(program.g, program.dense, program.symbols);
    if (!want.ok()) continue;
    uint64_t flags = 0;
    absl::StatusOr<std::vector<HostArray>> got = absl::InternalError("");
    try {
      got = runKernels(program, flags, off);
    } catch (const InternalError& error) {
      got = absl::InternalError(error.what());
    }
    if (got.status().code() == absl::StatusCode::kUnimplemented) {
      ++refused;
      ++reasons[std::string(got.status().message())];
      continue;
    }
    declined += (flags & kDecline) != 0;
    if (got.ok() && (flags & kDecline)) continue;
    ++compared;
    const std::string what = got.ok() ? difference(*want, *got) : got.status().ToString();
    if (what.empty()) continue;
    ++wrong;
    std::string values;
    for (int64_t v : program.symbols) values += std::to_string(v) + " ";
    ADD_FAILURE() << "seed " << seed << ", symbols " << values << "\n" << text << what;
  }
  ::testing::Test::RecordProperty("compared", compared);
  for (const auto& [reason, count] : reasons) std::cout << count << " refused: " << reason << "\n";
  std::cout << compared << " compared, " << refused << " refused, " << declined << " declined\n";
  EXPECT_GT(compared, static_cast<int>(graphs) * 7 / 10);
}

TEST(RandomPlans, ComputeWhatTheEvaluatorComputes) { compare(kGraphs, {}); }

TEST(RandomPlans, ComputeTheSameWithStepsSwitchedOff) {
  for (const std::string_view step : {"fuse", "memory"}) compare(kGraphs / 8, {&step, 1});
}

}  // namespace
}  // namespace fw::kernels::testing
