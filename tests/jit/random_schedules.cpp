#include "random_schedules.h"

#include <algorithm>
#include <cmath>

namespace fw::jit::testing {

using graph::AttrKey;
using graph::Attrs;
using graph::DType;
using graph::Graph;
using graph::HostArray;
using graph::Layout;
using graph::Op;
using graph::Scalar;
using graph::SymId;
using graph::SymList;
using graph::SymShape;
using graph::ValueId;
using graph::ValueType;

namespace {

/// Library functions. Those of the last two answer as many elements as the data say.
enum Site : int64_t { kDouble, kSum, kSplit, kCheck, kLeading, kPairs };

std::vector<ValueType> typesOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<ValueType> types;
  for (ValueId v : values) types.push_back(graph.type(v));
  return types;
}

ValueType packed(ValueType type) {
  type.layout = Layout::c(type.rank());
  return type;
}

bool isSameType(const ValueType& a, const ValueType& b) { return a.dtype == b.dtype && a.shape == b.shape; }

}  // namespace

absl::StatusOr<std::vector<HostArray>> randomLibrary(int64_t site, absl::Span<const HostArray> operands) {
  const HostArray& from = operands[0];
  const auto at = [&](size_t operand, int64_t i) { return operands[operand].at(i).asDouble(); };
  const auto made = [](std::vector<int64_t> shape, auto&& element) {
    HostArray array = HostArray::zeros(DType::kF64, std::move(shape));
    for (int64_t i = 0; i < array.elements(); ++i) array.set(i, Scalar::ofDouble(DType::kF64, element(i)));
    return array;
  };
  std::vector<HostArray> results;
  switch (static_cast<Site>(site)) {
    case kDouble: results.push_back(made(from.shape, [&](int64_t i) { return 2 * at(0, i); })); break;
    case kSum: results.push_back(made(from.shape, [&](int64_t i) { return at(0, i) + at(1, i); })); break;
    case kSplit:
      results.push_back(made({}, [&](int64_t) { return at(0, from.elements() - 1); }));
      results.push_back(made(from.shape, [&](int64_t i) { return -at(0, i); }));
      break;
    case kCheck:
      if (at(0, 0) < -2.5 && at(0, 0) >= -3) return absl::InvalidArgumentError("what the function does not take");
      results.push_back(from);
      break;
    case kLeading:
    case kPairs: {
      int64_t count = 1;
      for (int64_t i = 1; i < from.elements(); ++i) count += at(0, i) > -1;
      results.push_back(made({count}, [&](int64_t i) { return at(0, i); }));
      if (site == kPairs)
        results.push_back(made({count, 2}, [&](int64_t i) { return at(0, i / 2) + static_cast<double>(i % 2); }));
      break;
    }
  }
  return results;
}

RandomSchedule::RandomSchedule(uint64_t seed) : rng_(seed) {
  graph::SymContext& syms = graph_.syms();
  Scope scope{graph_, {}, {}, {}};
  for (int i = 0; i < 2; ++i) {
    scope.sizes.push_back(syms.symbol("s" + std::to_string(i), {1, INT64_MAX}));
    symbols.push_back(1 + static_cast<int64_t>(pick(5)));
  }
  trip_ = syms.symbol("i0", {0, INT64_MAX});
  symbols.push_back(static_cast<int64_t>(pick(5)));
  for (int i = 0; i < 3; ++i) {
    const bool number = i == 2;
    ValueType type =
        number ? arrayType(scope, DType::kI64, 0) : arrayType(scope, DType::kF64, 1 + static_cast<int>(pick(2)));
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

SymId RandomSchedule::bound(graph::SymRange range) {
  symbols.push_back(0);
  return graph_.syms().symbol("k" + std::to_string(bound_++), range);
}

ValueType RandomSchedule::arrayType(const Scope& s, DType dtype, int rank) {
  ValueType type;
  type.dtype = dtype;
  for (int i = 0; i < rank; ++i) type.shape.push_back(oneOf(s.sizes));
  return packed(type);
}

ValueId RandomSchedule::number(Scope& s, DType dtype, double value) {
  if (dtype == DType::kBool) return s.graph.constant(Scalar::ofBool(value != 0));
  return s.graph.constant(dtype == DType::kI64 ? Scalar::ofInt(dtype, static_cast<int64_t>(value))
                                               : Scalar::ofDouble(dtype, value));
}

/// Some value of this type, made if there is none.
ValueId RandomSchedule::ofType(Scope& s, const ValueType& type) {
  std::vector<ValueId> found;
  for (ValueId v : s.values)
    if (isSameType(s.graph.type(v), type)) found.push_back(v);
  if (!found.empty() && chance(85)) return oneOf(found);
  const ValueId one = number(s, type.dtype, type.dtype == DType::kF64 ? 0.5 : 2);
  return type.rank() == 0 ? one : s.graph.full(one, type.shape);
}

/// Results that are inputs would show what commits have stored.
ValueId RandomSchedule::copy(Scope& s, ValueId value) {
  return s.graph.addTyped(Op::kCopy, {value}, packed(s.graph.type(value)));
}

/// The value as a packed array: what passes borders has the layout there that it has in NumPy.
ValueId RandomSchedule::fresh(Scope& s, ValueId value) {
  return s.graph.type(value).layout.isPackedC() ? value : copy(s, value);
}

/// A scalar of data.
ValueId RandomSchedule::scalar(Scope& s) {
  ValueId value = any(s);
  if (s.graph.type(value).dtype == DType::kBool) value = ofType(s, arrayType(s, DType::kF64, 0));
  while (s.graph.type(value).rank() > 0) value = s.graph.reduce(Op::kMax, value, {0}, false);
  return value;
}

ValueId RandomSchedule::decision(Scope& s) {
  const ValueId value = scalar(s);
  const DType dtype = s.graph.type(value).dtype;
  const ValueId limit = number(s, dtype, dtype == DType::kI64 ? 1 : 1.5);
  return *s.graph.add(chance(50) ? Op::kLess : Op::kGreater, {value, limit});
}

/// A number of data, mostly within the range.
ValueId RandomSchedule::whole(Scope& s, SymId least, SymId most) {
  const ValueId value = ofType(s, arrayType(s, DType::kI64, 0));
  if (chance(15)) return value;
  return s.graph.binary(Op::kMaximum, s.graph.binary(Op::kMinimum, value, s.graph.sym(most)), s.graph.sym(least));
}

void RandomSchedule::body(Scope& s, size_t steps, int depth) {
  for (size_t i = 0; i < steps; ++i) step(s, depth);
}

void RandomSchedule::step(Scope& s, int depth) {
  switch (pick(depth < 3 ? 17 : 12)) {
    case 0:
    case 1:
    case 2: return arithmetic(s);
    case 3: return update(s);
    case 4: return row(s);
    case 5: return part(s);
    case 6: return reduce(s);
    case 7: return reverse(s);
    case 8: return sym(s);
    case 9:
    case 10: return call(s);
    case 11: return define(s);
    case 12:
    case 13: return loop(s, depth);
    case 14:
    case 15: return cond(s, depth);
    default: return bind(s, depth);
  }
}

void RandomSchedule::arithmetic(Scope& s) {
  static constexpr Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum};
  const ValueId a = any(s);
  const ValueType type = s.graph.type(a);
  if (type.dtype == DType::kBool) return;
  const ValueId b = ofType(s, chance(70) ? type : arrayType(s, type.dtype, 0));
  if (absl::StatusOr<ValueId> value = s.graph.add(kOps[pick(4)], {a, b}); value.ok()) s.values.push_back(*value);
}

ValueId RandomSchedule::updated(Scope& s, ValueId base) {
  const ValueType type = s.graph.type(base);
  SymList starts, steps(type.shape.size(), constant(1));
  ValueType part = type;
  for (SymId& size : part.shape) {
    starts.push_back(constant(0));
    if (chance(30)) size = constant(1);
  }
  if (!s.indices.empty() && chance(50)) {
    const size_t at = pick(s.indices.size());
    if (s.of[at] == type.shape[0]) {
      starts[0] = s.indices[at];
      part.shape[0] = constant(1);
    }
  }
  ValueId value = ofType(s, part);
  if (chance(40)) value = *s.graph.add(Op::kAdd, {s.graph.slice(base, starts, steps, part.shape), value});
  return s.graph.update(base, value, starts, steps);
}

void RandomSchedule::update(Scope& s) {
  const ValueId base = any(s);
  const ValueType& type = s.graph.type(base);
  if (type.rank() > 0 && type.layout.isPackedC()) s.values.push_back(updated(s, base));
}

/// x[i] for a bound i.
void RandomSchedule::row(Scope& s) {
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
void RandomSchedule::part(Scope& s) {
  const ValueId base = any(s);
  const ValueType& type = s.graph.type(base);
  if (type.rank() == 0) return;
  SymList starts(type.shape.size(), constant(0)), steps(type.shape.size(), constant(1));
  SymShape shape = type.shape;
  const size_t axis = pick(shape.size());
  shape[axis] = constant(1);
  s.values.push_back(s.graph.squeeze(s.graph.slice(base, starts, steps, shape), {static_cast<int64_t>(axis)}));
}

void RandomSchedule::reverse(Scope& s) {
  const ValueId base = any(s);
  const ValueType& type = s.graph.type(base);
  if (type.rank() == 0) return;
  SymList starts(type.shape.size(), constant(0)), steps(type.shape.size(), constant(1));
  starts[0] = graph_.syms().add(type.shape[0], constant(-1));
  steps[0] = constant(-1);
  s.values.push_back(s.graph.slice(base, starts, steps, type.shape));
}

void RandomSchedule::reduce(Scope& s) {
  const ValueId a = any(s);
  if (s.graph.type(a).rank() == 0 || s.graph.type(a).dtype == DType::kBool) return;
  ValueId least = s.graph.reduce(chance(50) ? Op::kMax : Op::kMin, a, {0}, false);
  // Which of two zeros it is that differ by the sign is open (graph/pairwise_order.h).
  if (s.graph.type(least).dtype == DType::kF64) least = *s.graph.add(Op::kAdd, {least, number(s, DType::kF64, 0)});
  s.values.push_back(least);
}

/// A bound symbol or a size as a number.
void RandomSchedule::sym(Scope& s) {
  s.values.push_back(s.graph.sym(s.indices.empty() || chance(30) ? oneOf(s.sizes) : oneOf(s.indices)));
}

/// A library function of arrays, views of any kind included.
void RandomSchedule::call(Scope& s) {
  const ValueId from = any(s);
  const ValueType type = packed(s.graph.type(from));
  if (type.dtype != DType::kF64 || type.rank() == 0) return;
  std::vector<ValueId> given = {from};
  ValueType answer;
  answer.tuple = {type};
  Attrs attrs;
  int64_t site = static_cast<int64_t>(pick(type.rank() == 1 ? 6 : 4));
  std::optional<SymId> size;
  switch (static_cast<Site>(site)) {
    case kDouble:
    case kCheck: break;
    case kSum: given.push_back(ofType(s, type)); break;
    case kSplit: answer.tuple.insert(answer.tuple.begin(), arrayType(s, DType::kF64, 0)); break;
    case kLeading:
    case kPairs: {
      const bool known = chance(15);  // a size that there is already: if it is not that one, the accept fails
      const SymId count = known ? oneOf(s.sizes) : bound({1, chance(20) ? 3 : INT64_MAX});
      if (!known) attrs.set(AttrKey::kSizes, SymList{*(size = count)});
      answer.tuple[0].shape = {count};
      if (site == kPairs) {
        ValueType pairs = type;
        pairs.shape = {count, constant(2)};
        answer.tuple.push_back(packed(pairs));
      }
      break;
    }
  }
  attrs.set(AttrKey::kSite, site).set(AttrKey::kCallee, std::string("f") + std::to_string(site));
  const std::vector<ValueType> types = answer.tuple;
  results(s, s.graph.addTyped(Op::kCall, given, answer, attrs), types);
  if (size) s.sizes.push_back(*size);
}

/// A number becomes a symbol from here on: an index, or a size.
void RandomSchedule::define(Scope& s) {
  const bool index = chance(50);
  const SymId size = oneOf(s.sizes);
  const SymId least = constant(index ? 0 : 1);
  const SymId most = index ? graph_.syms().add(size, constant(-1)) : constant(4);
  const ValueId value = whole(s, least, most);
  const SymId symbol = bound({index ? 0 : 1, index ? INT64_MAX : 4});
  Attrs attrs;
  attrs.set(AttrKey::kSymbol, symbol).set(AttrKey::kLeast, least).set(AttrKey::kMost, most);
  s.graph.addTyped(Op::kDefine, {value}, {DType::kBool, {}, {}, {}}, attrs);
  if (!index) return s.sizes.push_back(symbol);
  s.indices.push_back(symbol);
  s.of.push_back(size);
}

std::vector<ValueId> RandomSchedule::operands(Scope& s, std::optional<ValueId> first) {
  std::vector<ValueId> result;
  if (first) result.push_back(*first);
  const size_t count = 1 + pick(4);
  for (size_t i = 0; i < count; ++i) {
    const ValueId value = chance(15) && !result.empty() ? result.back() : any(s);
    if (s.graph.type(value).dtype != DType::kBool) result.push_back(chance(30) ? copy(s, value) : fresh(s, value));
  }
  if (result.empty()) result.push_back(ofType(s, arrayType(s, DType::kF64, 1)));
  return result;
}

RandomSchedule::Scope RandomSchedule::inside(const Scope& s, Graph& region, const std::vector<ValueId>& given) {
  Scope scope{region, {}, s.sizes, s.indices, s.of};
  for (size_t i = 0; i < given.size(); ++i)
    scope.values.push_back(region.input(static_cast<int>(i), s.graph.type(given[i])));
  return scope;
}

ValueId RandomSchedule::project(Scope& s, ValueId control, const ValueType& type, size_t index) {
  Attrs attrs;
  attrs.set(AttrKey::kIndex, static_cast<int64_t>(index));
  return s.graph.addTyped(Op::kProject, {control}, type, attrs);
}

void RandomSchedule::results(Scope& s, ValueId control, const std::vector<ValueType>& types) {
  for (size_t i = 0; i < types.size(); ++i)
    if (chance(80)) s.values.push_back(project(s, control, types[i], i));
}

ValueId RandomSchedule::changed(Scope& s, ValueId base, int depth) {
  const ValueType type = s.graph.type(base);
  if (type.rank() == 0 || !type.layout.isPackedC()) return base;
  for (size_t versions = 1 + pick(2); versions > 0; --versions) {
    if (chance(20)) s.values.push_back(base);  // somebody may read the old one
    if (depth >= 3 || chance(60)) {
      base = updated(s, base);
      continue;
    }
    const std::vector<ValueId> given = operands(s, base);
    std::vector<ValueType> types = {type};
    if (chance(40)) types.push_back(s.graph.type(oneOf(given)));
    ValueId control;
    switch (pick(3)) {
      case 0: control = addCond(s, given, types, /*first=*/true, depth); break;
      case 1: control = addBind(s, given, types, /*first=*/true, depth); break;
      default: control = addLoop(s, given, /*first=*/true, depth); break;
    }
    base = project(s, control, type, 0);
  }
  return base;
}

ValueId RandomSchedule::answer(Scope& s, const std::vector<ValueId>& given, const ValueType& type, int depth) {
  std::vector<ValueId> found;
  for (ValueId v : given)
    if (isSameType(s.graph.type(v), type)) found.push_back(v);
  if (found.empty() || chance(60)) return fresh(s, ofType(s, type));
  return chance(25) ? oneOf(found) : changed(s, oneOf(found), depth);
}

ValueId RandomSchedule::addLoop(Scope& s, const std::vector<ValueId>& given, bool first, int depth) {
  const std::vector<ValueType> types = typesOf(s.graph, given);
  auto graph = std::make_unique<Graph>(s.graph);
  Scope scope = inside(s, *graph, given);
  const std::vector<ValueId> carried = scope.values;
  Attrs attrs;
  if (chance(60)) {
    const SymId size = oneOf(s.sizes);
    const SymId index = bound({0, INT64_MAX});
    attrs.set(AttrKey::kTrip, size).set(AttrKey::kSymbol, index);
    scope.indices.push_back(index);
    scope.of.push_back(size);
  } else {
    attrs.set(AttrKey::kTrip, chance(70) ? trip_ : constant(static_cast<int64_t>(pick(4))));
  }
  body(scope, first ? pick(3) : 1 + pick(4), depth + 1);
  graph->outputs().push_back(chance(60) ? number(scope, DType::kBool, 1) : decision(scope));
  for (size_t i = 0; i < types.size(); ++i) {
    const bool stays = chance(20);
    const ValueId next = first && i == 0 ? changed(scope, carried[0], depth + 1)
                         : stays         ? carried[i]
                                         : answer(scope, {carried[i]}, types[i], depth + 1);
    graph->outputs().push_back(next);
  }
  ValueType type;
  type.tuple = types;
  std::vector<Region> regions;
  regions.push_back(std::move(graph));
  return s.graph.addTyped(Op::kLoop, given, type, attrs, std::move(regions));
}

void RandomSchedule::loop(Scope& s, int depth) {
  const std::vector<ValueId> given = operands(s, std::nullopt);
  results(s, addLoop(s, given, /*first=*/false, depth), typesOf(s.graph, given));
}

RandomSchedule::Region RandomSchedule::arm(Scope& s, const std::vector<ValueId>& given,
                                           const std::vector<ValueType>& types, bool first, int depth,
                                           std::optional<SymId> index, SymId size) {
  auto graph = std::make_unique<Graph>(s.graph);
  Scope scope = inside(s, *graph, given);
  const std::vector<ValueId> own = scope.values;
  if (index) {
    scope.indices.push_back(*index);
    scope.of.push_back(size);
  }
  body(scope, pick(first ? 3 : 4), depth + 1);
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId value = first && i == 0 ? (chance(25) ? own[0] : changed(scope, own[0], depth + 1))
                                          : answer(scope, own, types[i], depth + 1);
    graph->outputs().push_back(value);
  }
  return graph;
}

ValueId RandomSchedule::addCond(Scope& s, std::vector<ValueId> given, const std::vector<ValueType>& types, bool first,
                                int depth) {
  const ValueId predicate = decision(s);
  std::vector<Region> regions;
  for (int i = 0; i < 2; ++i) regions.push_back(arm(s, given, types, first, depth, std::nullopt, SymId()));
  ValueType type;
  type.tuple = types;
  given.insert(given.begin(), predicate);
  return s.graph.addTyped(Op::kCond, given, type, {}, std::move(regions));
}

void RandomSchedule::cond(Scope& s, int depth) {
  const std::vector<ValueId> given = operands(s, std::nullopt);
  std::vector<ValueType> types;
  const size_t count = 1 + pick(3);
  for (size_t i = 0; i < count; ++i) types.push_back(s.graph.type(oneOf(given)));
  results(s, addCond(s, given, types, /*first=*/false, depth), types);
}

ValueId RandomSchedule::addBind(Scope& s, std::vector<ValueId> given, const std::vector<ValueType>& types, bool first,
                                int depth) {
  const SymId size = oneOf(s.sizes);
  const SymId index = bound({0, INT64_MAX});
  const SymId least = constant(0), most = graph_.syms().add(size, constant(-1));
  Attrs attrs;
  attrs.set(AttrKey::kSymbol, index).set(AttrKey::kLeast, least).set(AttrKey::kMost, most);
  std::vector<Region> regions;
  regions.push_back(arm(s, given, types, first, depth, index, size));
  ValueType type;
  type.tuple = types;
  given.insert(given.begin(), whole(s, least, most));
  return s.graph.addTyped(Op::kBind, given, type, attrs, std::move(regions));
}

void RandomSchedule::bind(Scope& s, int depth) {
  const std::vector<ValueId> given = operands(s, std::nullopt);
  const std::vector<ValueType> types = typesOf(s.graph, given);
  results(s, addBind(s, given, types, /*first=*/false, depth), types);
}

void RandomSchedule::store(Scope& s) {
  const ValueId target = s.values[pick(2)];
  s.graph.commit(target, fresh(s, ofType(s, s.graph.type(target))));
}

}  // namespace fw::jit::testing
