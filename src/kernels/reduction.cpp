// Order of combination and accumulators of single reductions.
//
// Floating extremes keep a second accumulator, whether a NaN was seen, because the vector instruction for max drops
// NaNs. argmax and argmin are two passes: the extreme, then the least index that has it.
#include "kernels/reduction.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/linear_sum.h"
#include "graph/pairwise_order.h"
#include "graph/support/check.h"

namespace fw::kernels {

using graph::AttrKey;
using graph::contains;
using graph::Op;

namespace {

bool isExtreme(Op op) { return op == Op::kMax || op == Op::kMin; }
bool isMax(Op op) { return op == Op::kMax; }

/// Reduced axes of `order`, kept in sequence.
IntList onlyReduced(const IntList& order, const IntList& reduced) {
  IntList result;
  for (int64_t axis : order)
    if (std::find(reduced.begin(), reduced.end(), axis) != reduced.end()) result.push_back(axis);
  return result;
}

/// True if neighbours outer and inner of the operand's axes are one run for NumPy (rule 2).
absl::StatusOr<bool> oneRun(graph::SymContext& syms, const MemoryRef* memory, const graph::Layout& layout,
                            SymId innerSize, int64_t outer, int64_t inner) {
  if (memory == nullptr) {
    if (layout.contiguity == graph::Contiguity::kPacked && !layout.broadcastAxes) return true;
    return absl::UnimplementedError("float sum over several axes of a value that is not packed");
  }
  const SymId step = syms.canonical(syms.mul(memory->strides[inner], innerSize));
  const auto equal = syms.provablyEqual(syms.canonical(memory->strides[outer]), step);
  if (!equal) return absl::UnimplementedError("float sum over axes that may or may not be contiguous");
  return *equal;
}

/// The operand is a copy made for this sum: the reduced axes are its innermost ones and one loop.
void orderLinearSum(const graph::Graph& graph, const graph::Group& group, const GroupEmitter& emitter, Reduction& r) {
  const graph::Node& node = graph.node(r.id);
  const IntList domainAxes = emitter.operandAxes(r.id, 0);
  IntList order;
  for (int8_t axis : graph.type(node.operands[0]).layout.order)
    if (domainAxes[axis] >= 0) order.push_back(domainAxes[axis]);
  r.order = onlyReduced(order, group.reducedAxes);
  r.method = Reduction::Method::kPairwise;
  r.linear = true;
  r.run = r.order.size();
  r.runStrides = node.attrs.syms(graph::kRunStrides);
  if (r.order.size() > 1) r.notUnit = order;
}

/// Rules 2, 4 and 5 for sums of floats.
absl::Status orderFloatSum(const graph::Graph& graph, const graph::Group& group, const GroupEmitter& emitter,
                           Reduction& r) {
  ValueId source = graph.node(r.id).operands[0];
  const IntList domainAxes = emitter.operandAxes(r.id, 0);
  const graph::Layout* layout = &graph.type(source).layout;
  const Operand* operand = &emitter.operand(r.id, 0);
  if (r.buffered && operand->kind == Operand::Kind::kMember && graph.node(operand->value).op == Op::kCast &&
      graph.type(operand->value).rank() == graph.type(source).rank()) {
    layout = &graph.type(graph.node(operand->value).operands[0]).layout;
    operand = &emitter.operand(operand->value, 0);
  }
  const MemoryRef* memory = operand->kind == Operand::Kind::kMemory ? &operand->memory : nullptr;
  IntList order;  // all non-unit axes of the operand, outermost first
  for (int8_t axis : layout->order)
    if (domainAxes[axis] >= 0) order.push_back(domainAxes[axis]);
  r.order = onlyReduced(order, group.reducedAxes);
  bool below = false;  // a kept axis inside of a reduced one: without it the rows would join
  for (int64_t axis : order) {
    const bool reduced = contains(group.reducedAxes, axis);
    if (!reduced && below) r.notUnit.push_back(axis);
    below |= reduced;
  }
  r.method = Reduction::Method::kSequential;
  if (order.empty() || !contains(group.reducedAxes, order.back())) return absl::OkStatus();
  r.method = Reduction::Method::kPairwise;
  r.run = 1;
  size_t leading = 1;
  while (leading < order.size() && contains(group.reducedAxes, order[order.size() - 1 - leading])) ++leading;
  SymId size = group.domain[order.back()];
  for (; r.run < leading; ++r.run) {
    const int64_t inner = order[order.size() - r.run], outer = order[order.size() - r.run - 1];
    absl::StatusOr<bool> one = oneRun(graph.syms(), memory, *layout, group.domain[inner], outer, inner);
    if (!one.ok()) return one.status();
    if (!*one) return absl::UnimplementedError("float sum over several axes that are not contiguous");
    size = graph.syms().mul(size, group.domain[outer]);
  }
  return absl::OkStatus();
}

/// Where the order is not known, any will do.
void orderListedSum(const graph::Graph& graph, const graph::Group& group, const GroupEmitter& emitter, Reduction& r) {
  const graph::Node& node = graph.node(r.id);
  const bool casting = std::exchange(r.buffered, false);
  if (r.op != Op::kSum) return;  // products of one element after the other would keep a device waiting
  const ValueId source = graph::orderingOperand(graph, node);
  const IntList iteration = graph::iterationOrder(graph, source), domainAxes = emitter.operandAxes(r.id, 0);
  IntList order;  // innermost first
  for (int64_t axis : iteration)
    if (domainAxes[axis] >= 0) order.push_back(domainAxes[axis]);
  ListedSum list;
  list.casting = casting;
  size_t leading = 0;
  while (leading < order.size() && contains(group.reducedAxes, order[leading])) ++leading;
  graph::SymContext& syms = graph.syms();
  for (size_t i = 0; i < leading; ++i) list.sizes.push_back(group.domain[order[i]]);
  if (leading > 0) list.by = graph::isComplex(r.dtype) ? ListedSum::By::kPairsOfParts : ListedSum::By::kPairs;
  if (node.attrs.has(graph::kRunStrides)) {
    const SymList& strides = node.attrs.syms(graph::kRunStrides);
    if (strides.size() != leading) return;
    list.strides.assign(strides.begin(), strides.end());
  } else if (leading == 1) {
    list.strides.push_back(syms.constant(graph::itemSize(graph.type(source).dtype)));
  } else if (leading > 1) {
    const std::optional<SymList> strides = graph::numpyStrides(graph, source);
    if (!strides) return;
    for (int64_t axis : iteration)
      if (list.strides.size() < leading && domainAxes[axis] >= 0) list.strides.push_back((*strides)[axis]);
  }
  r.method = Reduction::Method::kListed;
  r.list = std::move(list);
  std::reverse(order.begin(), order.end());
  r.order = onlyReduced(order, group.reducedAxes);
}

}  // namespace

absl::StatusOr<Reduction> analyseReduction(const graph::Graph& graph, const graph::Group& group,
                                           const GroupEmitter& emitter, ValueId id, const IntList& order) {
  const graph::Node& node = graph.node(id);
  Reduction r;
  r.id = id;
  r.op = node.op;
  r.dtype = graph.type(node.operands[0]).dtype;
  r.buffered = node.attrs.integerOr(AttrKey::kBuffered, 0) != 0;
  r.order = onlyReduced(order, group.reducedAxes);
  if (node.op == Op::kArgmax || node.op == Op::kArgmin) r.method = Reduction::Method::kArg;
  if (graph::isComplex(r.dtype) && r.op != Op::kSum && r.op != Op::kAny && r.op != Op::kAll)
    return absl::UnimplementedError(std::string(graph::info(r.op).text) + " of complex numbers");
  const bool ordered = graph::isInexact(r.dtype) && (r.op == Op::kSum || r.op == Op::kProd);
  if (!ordered || !emitter.target().numpySums) {
    r.buffered = false;
    return r;
  }
  if (emitter.target().listedSums) {
    orderListedSum(graph, group, emitter, r);
    return r;
  }
  if (node.attrs.has(graph::kRunStrides))
    orderLinearSum(graph, group, emitter, r);
  else if (absl::Status s = orderFloatSum(graph, group, emitter, r); !s.ok())
    return s;
  if (r.op == Op::kProd) {  // no tree, and chunks do not show but for f16
    const bool oneCall = r.method == Reduction::Method::kPairwise && r.run == r.order.size() && !r.linear;
    if (r.dtype != DType::kF16) r.notUnit.clear();
    if (r.dtype == DType::kF16 && !oneCall) return absl::UnimplementedError("prod of f16 in several stretches");
    r.method = Reduction::Method::kSequential;
    r.run = 0;
    r.buffered = r.linear = false;
    r.runStrides.clear();
  }
  return r;
}

namespace {

Val lowestOrHighest(KernelBuilder& b, DType d, bool lowest) {
  if (graph::isFloat(d)) {
    const double inf = std::numeric_limits<double>::infinity();
    return b.constant(d, lowest ? -inf : inf);
  }
  if (d == DType::kBool) return b.constantInt(d, lowest ? 0 : 1);
  const int bits = 8 * graph::itemSize(d);
  const uint64_t ones = ~uint64_t{0} >> (64 - bits);
  if (!graph::isSigned(d)) return b.constantBits(d, lowest ? 0 : ones);
  return b.constantBits(d, lowest ? uint64_t{1} << (bits - 1) : ones >> 1);
}

/// Type in which accumulators of `d` live.
DType accumulatorType(DType d) { return d == DType::kF16 ? DType::kF32 : graph::realOf(d); }

Accumulation accumulateExtreme(KernelBuilder& b, const Reduction& r) {
  const DType d = accumulatorType(r.dtype);
  const bool max = isMax(r.op);
  Accumulation a;
  const ScalarOp combine =
      d == DType::kBool ? (max ? ScalarOp::kOr : ScalarOp::kAnd) : (max ? ScalarOp::kMaxSecond : ScalarOp::kMinSecond);
  a.accumulators.push_back({d, combine, lowestOrHighest(b, d, max)});
  const DType result = r.dtype;
  if (!graph::isFloat(d)) {
    a.elements = [](const Value& v) { return std::vector<Val>{v.re}; };
    a.finish = [result](absl::Span<const Val> v) { return Value{result, v[0], {}}; };
    return a;
  }
  a.accumulators.push_back({DType::kBool, ScalarOp::kOr, b.constantInt(DType::kBool, 0)});
  a.elements = [&b, d](const Value& v) {
    const Val x = b.cast(v.re, d);
    return std::vector<Val>{x, b.op(ScalarOp::kIsNan, x)};
  };
  a.finish = [&b, d, result](absl::Span<const Val> v) {
    const Val nan = b.constantBits(d, d == DType::kF32 ? 0x7fc00000u : 0x7ff8000000000000u);
    return Value{result, b.cast(b.select(v[1], nan, v[0]), result), {}};
  };
  return a;
}

}  // namespace

absl::StatusOr<Accumulation> accumulationOf(KernelBuilder& b, const Reduction& r) {
  if (isExtreme(r.op)) return accumulateExtreme(b, r);
  Accumulation a;
  if (r.op == Op::kAny || r.op == Op::kAll) {
    const bool any = r.op == Op::kAny;
    a.accumulators.push_back({DType::kBool, any ? ScalarOp::kOr : ScalarOp::kAnd, b.constantInt(DType::kBool, !any)});
    a.elements = [&b](const Value& v) { return std::vector<Val>{truth(b, v)}; };
    a.finish = [](absl::Span<const Val> v) { return Value{DType::kBool, v[0], {}}; };
    return a;
  }
  if (r.op != Op::kSum && r.op != Op::kProd)
    return absl::UnimplementedError("no kernel form of " + std::string(graph::info(r.op).text));
  const bool sum = r.op == Op::kSum;
  const DType d = accumulatorType(r.dtype), result = r.dtype;
  ScalarOp op = sum ? ScalarOp::kAdd : ScalarOp::kMul;
  if (d == DType::kBool) op = sum ? ScalarOp::kOr : ScalarOp::kAnd;
  const Val init = graph::isFloat(d) ? b.constant(d, sum ? 0 : 1) : b.constantInt(d, sum ? 0 : 1);
  a.accumulators.push_back({d, op, init});
  if (graph::isComplex(result)) {
    a.accumulators.push_back({d, op, init});
    a.elements = [](const Value& v) { return std::vector<Val>{v.re, v.im}; };
    a.finish = [result](absl::Span<const Val> v) { return Value{result, v[0], v[1]}; };
    return a;
  }
  a.elements = [&b, d](const Value& v) { return std::vector<Val>{b.cast(v.re, d)}; };
  a.finish = [&b, result](absl::Span<const Val> v) { return Value{result, b.cast(v[0], result), {}}; };
  return a;
}

Value identityOf(KernelBuilder& b, const Reduction& r) {
  if (r.op == Op::kAny || r.op == Op::kAll) return {DType::kBool, b.constantInt(DType::kBool, r.op == Op::kAll), {}};
  if (isExtreme(r.op)) {
    if (r.dtype == DType::kF16) return {r.dtype, b.cast(lowestOrHighest(b, DType::kF32, isMax(r.op)), r.dtype), {}};
    return {r.dtype, lowestOrHighest(b, r.dtype, isMax(r.op)), {}};
  }
  const graph::Scalar scalar = r.op == Op::kSum ? graph::Scalar::zero(r.dtype) : graph::Scalar::one(r.dtype);
  return constantValue(b, scalar);
}

absl::StatusOr<Value> combine(KernelBuilder& b, const Reduction& r, const Value& acc, const Value& element) {
  const bool logical = r.op == Op::kAny || r.op == Op::kAll;
  Op step = Op::kAdd;
  if (r.op == Op::kProd)
    step = Op::kMultiply;
  else if (r.op == Op::kMax)
    step = Op::kMaximum;
  else if (r.op == Op::kMin)
    step = Op::kMinimum;
  else if (r.op == Op::kAny)
    step = Op::kLogicalOr;
  else if (r.op == Op::kAll)
    step = Op::kLogicalAnd;
  else
    FW_CHECK_MSG(r.op == Op::kSum, "reduction without a combining step");
  return lowerOp(b, step, logical ? DType::kBool : r.dtype, {acc, element});
}

}  // namespace fw::kernels
