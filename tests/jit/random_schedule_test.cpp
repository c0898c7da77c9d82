// Random graphs of nested loops, branches and binds, with carried values, views, updates in place, commits and numbers
// that are out of range, as native code against the reference evaluator: equal bits, and no byte outside of a buffer.
// FUSEWIRE_SCHEDULES=20000 tries that many instead of a sample.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "graph/support/check.h"
#include "native_graph.h"

namespace fw::jit::testing {
namespace {

using graph::AttrKey;
using graph::Attrs;
using graph::DType;
using graph::Graph;
using graph::Layout;
using graph::Op;
using graph::Scalar;
using graph::SymId;
using graph::SymList;
using graph::SymShape;
using graph::ValueId;
using graph::ValueType;

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {
    graph::SymContext& syms = graph_.syms();
    for (int i = 0; i < 2; ++i) {
      sizes_.push_back(syms.symbol("s" + std::to_string(i), {1, INT64_MAX}));
      symbols.push_back(1 + static_cast<int64_t>(pick(5)));
    }
    trip_ = syms.symbol("i0", {0, INT64_MAX});
    symbols.push_back(static_cast<int64_t>(pick(5)));
    Scope scope{graph_, {}, {}};
    for (int i = 0; i < 3; ++i) {
      const bool number = i == 2;
      ValueType type = number ? arrayType(DType::kI64, 0) : arrayType(DType::kF64, 1 + static_cast<int>(pick(2)));
      scope.values.push_back(graph_.input(i, type));
      std::vector<int64_t> shape;
      for (SymId size : type.shape) shape.push_back(*syms.evaluate(size, symbols));
      HostArray array = HostArray::zeros(type.dtype, shape);
      for (int64_t k = 0; k < array.elements(); ++k)
        array.set(k, number ? Scalar::ofInt(type.dtype, static_cast<int64_t>(pick(7)) - 1)
                            : Scalar::ofDouble(type.dtype, static_cast<double>(pick(64)) / 8 - 4));
      inputs.push_back(std::move(array));
    }
    body(scope, 4 + pick(6), 0);
    const size_t outputs = 1 + pick(3);
    for (size_t i = 0; i < outputs; ++i) graph_.outputs().push_back(copy(scope, any(scope)));
    if (chance(40)) store(scope);
  }

  std::string text() const { return print(graph_); }
  std::vector<int64_t> symbols;
  std::vector<HostArray> inputs;

 private:
  struct Scope {
    Graph& graph;
    std::vector<ValueId> values;
    std::vector<SymId> indices;  ///< bound symbols that are indices of arrays whose first size is that of `of`
    std::vector<SymId> of = {};
  };

  size_t pick(size_t n) { return static_cast<size_t>(rng_() % n); }
  bool chance(int percent) { return pick(100) < static_cast<size_t>(percent); }
  ValueId any(const Scope& s) { return chance(40) ? s.values.back() : s.values[pick(s.values.size())]; }
  SymId constant(int64_t v) { return graph_.syms().constant(v); }

  ValueType arrayType(DType dtype, int rank) {
    ValueType type;
    type.dtype = dtype;
    for (int i = 0; i < rank; ++i) type.shape.push_back(sizes_[pick(2)]);
    type.layout = Layout::c(rank);
    return type;
  }

  static bool sameType(const ValueType& a, const ValueType& b) { return a.dtype == b.dtype && a.shape == b.shape; }

  /// Some value of this type, made if there is none.
  ValueId ofType(Scope& s, const ValueType& type) {
    std::vector<ValueId> found;
    for (ValueId v : s.values)
      if (sameType(s.graph.type(v), type)) found.push_back(v);
    if (!found.empty() && chance(85)) return found[pick(found.size())];
    const ValueId one = s.graph.constant(type.dtype == DType::kI64    ? Scalar::ofInt(type.dtype, 2)
                                         : type.dtype == DType::kBool ? Scalar::ofBool(true)
                                                                      : Scalar::ofDouble(type.dtype, 0.5));
    return type.rank() == 0 ? one : s.graph.full(one, type.shape);
  }

  /// Results that are inputs would show what commits have stored.
  ValueId copy(Scope& s, ValueId value) {
    ValueType packed = s.graph.type(value);
    packed.layout = Layout::c(packed.rank());
    return s.graph.addTyped(Op::kCopy, {value}, packed);
  }

  /// The value as a packed array: what passes borders has the layout there that it has in NumPy.
  ValueId fresh(Scope& s, ValueId value) { return s.graph.type(value).layout.isPackedC() ? value : copy(s, value); }

  void keep(Scope& s, const absl::StatusOr<ValueId>& value) {
    if (value.ok()) s.values.push_back(*value);
  }

  void body(Scope& s, size_t steps, int depth) {
    for (size_t i = 0; i < steps; ++i) step(s, depth);
  }

  void step(Scope& s, int depth) {
    switch (pick(depth < 3 ? 12 : 8)) {
      case 0:
      case 1: return arithmetic(s);
      case 2: return update(s);
      case 3: return row(s);
      case 4: return part(s);
      case 5: return reduce(s);
      case 6: return reverse(s);
      case 7: return arithmetic(s);
      case 8:
      case 9: return loop(s, depth);
      case 10: return cond(s, depth);
      default: return bind(s, depth);
    }
  }

  void arithmetic(Scope& s) {
    static constexpr Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum};
    const ValueId a = any(s);
    if (s.graph.type(a).dtype == DType::kBool) return;
    const ValueId b = chance(70) ? ofType(s, s.graph.type(a)) : ofType(s, arrayType(s.graph.type(a).dtype, 0));
    keep(s, s.graph.add(kOps[pick(4)], {a, b}));
  }

  void update(Scope& s) {
    const ValueId base = any(s);
    const ValueType type = s.graph.type(base);
    if (type.rank() == 0 || !type.layout.isPackedC()) return;
    SymList starts, steps(type.shape.size(), constant(1));
    ValueType part = type;
    for (SymId& size : part.shape) {
      starts.push_back(constant(0));
      if (!chance(30)) continue;
      size = constant(1);
    }
    if (!s.indices.empty() && chance(50)) {
      const size_t at = pick(s.indices.size());
      if (s.of[at] == type.shape[0]) {
        starts[0] = s.indices[at];
        part.shape[0] = constant(1);
      }
    }
    s.values.push_back(s.graph.update(base, ofType(s, part), starts, steps));
  }

  /// x[i] for a bound i.
  void row(Scope& s) {
    if (s.indices.empty()) return arithmetic(s);
    const size_t at = pick(s.indices.size());
    for (int tries = 0; tries < 4; ++tries) {
      const ValueId base = any(s);
      const ValueType& type = s.graph.type(base);
      if (type.rank() == 0 || type.shape[0] != s.of[at]) continue;
      SymList starts(type.shape.size(), constant(0)), steps(type.shape.size(), constant(1));
      SymShape shape = type.shape;
      starts[0] = s.indices[at];
      shape[0] = constant(1);
      const ValueId row = s.graph.slice(base, starts, steps, shape);
      s.values.push_back(chance(70) ? s.graph.squeeze(row, {0}) : row);
      return;
    }
  }

  /// The first element along an axis.
  void part(Scope& s) {
    const ValueId base = any(s);
    const ValueType& type = s.graph.type(base);
    if (type.rank() == 0) return;
    SymList starts(type.shape.size(), constant(0)), steps(type.shape.size(), constant(1));
    SymShape shape = type.shape;
    const size_t axis = pick(shape.size());
    shape[axis] = constant(1);
    s.values.push_back(s.graph.squeeze(s.graph.slice(base, starts, steps, shape), {static_cast<int64_t>(axis)}));
  }

  void reverse(Scope& s) {
    const ValueId base = any(s);
    const ValueType& type = s.graph.type(base);
    if (type.rank() == 0) return;
    SymList starts(type.shape.size(), constant(0)), steps(type.shape.size(), constant(1));
    starts[0] = graph_.syms().add(type.shape[0], constant(-1));
    steps[0] = constant(-1);
    s.values.push_back(s.graph.slice(base, starts, steps, type.shape));
  }

  void reduce(Scope& s) {
    const ValueId a = any(s);
    if (s.graph.type(a).rank() == 0 || s.graph.type(a).dtype == DType::kBool) return;
    s.values.push_back(s.graph.reduce(chance(50) ? Op::kMax : Op::kMin, a, {0}, false));
  }

  /// A scalar of data.
  ValueId scalar(Scope& s) {
    ValueId value = any(s);
    if (s.graph.type(value).dtype == DType::kBool) value = ofType(s, arrayType(DType::kF64, 0));
    while (s.graph.type(value).rank() > 0) value = s.graph.reduce(Op::kMax, value, {0}, false);
    return value;
  }

  ValueId decision(Scope& s) {
    const ValueId value = scalar(s);
    const bool whole = s.graph.type(value).dtype == DType::kI64;
    const ValueId limit = s.graph.constant(whole ? Scalar::ofInt(DType::kI64, 1) : Scalar::ofDouble(DType::kF64, 1.5));
    return *s.graph.add(chance(50) ? Op::kLess : Op::kGreater, {value, limit});
  }

  /// Operands for a region and their types.
  std::vector<ValueId> operands(Scope& s) {
    std::vector<ValueId> result;
    const size_t count = 1 + pick(4);
    for (size_t i = 0; i < count; ++i) {
      const ValueId value = chance(15) && !result.empty() ? result.back() : fresh(s, any(s));
      if (s.graph.type(value).dtype != DType::kBool) result.push_back(value);
    }
    if (result.empty()) result.push_back(ofType(s, arrayType(DType::kF64, 1)));
    return result;
  }

  std::unique_ptr<Graph> region(Scope& s, const std::vector<ValueId>& given, Scope*& inside) {
    auto graph = std::make_unique<Graph>(s.graph);
    inside = new Scope{*graph, {}, s.indices, s.of};
    for (size_t i = 0; i < given.size(); ++i) {
      ValueType type = s.graph.type(given[i]);
      inside->values.push_back(graph->input(static_cast<int>(i), type));
    }
    return graph;
  }

  void results(Scope& s, ValueId control, const std::vector<ValueType>& types) {
    for (size_t i = 0; i < types.size(); ++i)
      if (chance(80)) {
        Attrs attrs;
        attrs.set(AttrKey::kIndex, static_cast<int64_t>(i));
        s.values.push_back(s.graph.addTyped(Op::kProject, {control}, types[i], attrs));
      }
  }

  void loop(Scope& s, int depth) {
    const std::vector<ValueId> given = operands(s);
    std::vector<ValueType> types;
    for (ValueId v : given) types.push_back(s.graph.type(v));
    Scope* inside;
    std::unique_ptr<Graph> graph = region(s, given, inside);
    const std::unique_ptr<Scope> owned(inside);
    const std::vector<ValueId> carried = inside->values;
    Attrs attrs;
    if (chance(60)) {
      const SymId size = sizes_[pick(2)];
      const SymId index = graph_.syms().symbol("k" + std::to_string(bound_++), {0, INT64_MAX});
      symbols.push_back(0);
      attrs.set(AttrKey::kTrip, size);
      attrs.set(AttrKey::kSymbol, index);
      inside->indices.push_back(index);
      inside->of.push_back(size);
    } else {
      attrs.set(AttrKey::kTrip, chance(70) ? trip_ : constant(static_cast<int64_t>(pick(4))));
    }
    body(*inside, 1 + pick(4), depth + 1);
    const ValueId again = chance(60) ? graph->constant(Scalar::ofBool(true)) : decision(*inside);
    graph->outputs().push_back(again);
    for (size_t i = 0; i < types.size(); ++i) {
      ValueId next = chance(20) ? carried[i] : fresh(*inside, ofType(*inside, types[i]));
      graph->outputs().push_back(next);
    }
    ValueType type;
    type.tuple = types;
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(std::move(graph));
    results(s, s.graph.addTyped(Op::kLoop, given, type, attrs, std::move(regions)), types);
  }

  void cond(Scope& s, int depth) {
    std::vector<ValueId> given = operands(s);
    std::vector<ValueType> types;
    const size_t count = 1 + pick(3);
    for (size_t i = 0; i < count; ++i) types.push_back(s.graph.type(given[pick(given.size())]));
    const ValueId predicate = decision(s);
    std::vector<std::unique_ptr<Graph>> regions;
    for (int i = 0; i < 2; ++i) regions.push_back(branch(s, given, types, depth, std::nullopt, SymId()));
    ValueType type;
    type.tuple = types;
    given.insert(given.begin(), predicate);
    results(s, s.graph.addTyped(Op::kCond, given, type, {}, std::move(regions)), types);
  }

  std::unique_ptr<Graph> branch(Scope& s, const std::vector<ValueId>& given, const std::vector<ValueType>& types,
                                int depth, std::optional<SymId> index, SymId size) {
    Scope* inside;
    std::unique_ptr<Graph> graph = region(s, given, inside);
    const std::unique_ptr<Scope> owned(inside);
    if (index) {
      inside->indices.push_back(*index);
      inside->of.push_back(size);
    }
    body(*inside, pick(4), depth + 1);
    for (const ValueType& type : types) graph->outputs().push_back(fresh(*inside, ofType(*inside, type)));
    return graph;
  }

  void bind(Scope& s, int depth) {
    std::vector<ValueId> given = operands(s);
    std::vector<ValueType> types;
    for (ValueId v : given) types.push_back(s.graph.type(v));
    const SymId size = sizes_[pick(2)];
    const SymId index = graph_.syms().symbol("k" + std::to_string(bound_++), {0, INT64_MAX});
    symbols.push_back(0);
    Attrs attrs;
    attrs.set(AttrKey::kSymbol, index);
    attrs.set(AttrKey::kLeast, constant(0));
    attrs.set(AttrKey::kMost, graph_.syms().add(size, constant(-1)));
    std::vector<std::unique_ptr<Graph>> regions;
    regions.push_back(branch(s, given, types, depth, index, size));
    ValueId number = ofType(s, arrayType(DType::kI64, 0));
    if (chance(60)) {  // mostly within the range
      const ValueId zero = s.graph.constant(Scalar::ofInt(DType::kI64, 0));
      number = s.graph.binary(Op::kMaximum, s.graph.binary(Op::kMinimum, number, zero), zero);
    }
    ValueType type;
    type.tuple = types;
    given.insert(given.begin(), number);
    results(s, s.graph.addTyped(Op::kBind, given, type, attrs, std::move(regions)), types);
  }

  void store(Scope& s) {
    const ValueId target = s.values[pick(2)];
    s.graph.commit(target, fresh(s, ofType(s, s.graph.type(target))));
  }

  std::mt19937_64 rng_;
  Graph graph_;
  std::vector<SymId> sizes_;
  SymId trip_;
  int bound_ = 0;
};

TEST(RandomSchedules, ComputeWhatTheEvaluatorComputes) {
  const char* wanted = std::getenv("FUSEWIRE_SCHEDULES");
  const uint64_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 400;
  static constexpr CompileOptions::Isa kIsas[] = {CompileOptions::Isa::kHost, CompileOptions::Isa::kAvx2,
                                                  CompileOptions::Isa::kPortable};
  uint64_t compared = 0, refused = 0, declined = 0, control = 0;
  for (uint64_t seed = 0; seed < count && !HasFailure(); ++seed) {
    Generator program(seed);
    const std::string text = program.text();
    CompileOptions options;
    options.isa = kIsas[seed % 3];
    std::string what;
    try {
      absl::StatusOr<NativeGraph> native = NativeGraph::build(text, options);
      if (absl::IsUnimplemented(native.status())) {
        ++refused;
        continue;
      }
      if (native.ok()) {
        const Answer want = native->evaluate(program.inputs, program.symbols);
        what = difference(want, native->run(program.inputs, program.symbols));
        declined += (want.status & kStatusDecline) != 0;
        control += !native->plan().isStraight();
        if (!what.empty()) what += "\n" + print(native->plan(), native->planned());
      } else {
        what = native.status().ToString();
      }
    } catch (const InternalError& error) {
      what = error.what();
    }
    ++compared;
    std::string values;
    for (int64_t v : program.symbols) values += std::to_string(v) + " ";
    if (!what.empty()) ADD_FAILURE() << "seed " << seed << ", symbols " << values << "\n" << text << what;
  }
  std::cout << compared << " compared, " << control << " with control, " << refused << " refused, " << declined
            << " declined\n";
  EXPECT_GT(compared, count * 8 / 10);
}

}  // namespace
}  // namespace fw::jit::testing
