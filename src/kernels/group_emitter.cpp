// Operands of group members: other members at the same point of the domain, memory through an affine view, constants
// and symbolic integers. Expressions are made on demand and remembered for as long as the loop they stand in is
// open.
#include "kernels/group_emitter.h"

#include <algorithm>
#include <utility>

#include "graph/axes.h"
#include "graph/raising.h"
#include "graph/refused.h"
#include "graph/support/check.h"

namespace fw::kernels {

using graph::Node;
using graph::Op;
using graph::OpClass;

GroupEmitter::GroupEmitter(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan,
                           const graph::Group& group)
    : b_(b),
      graph_(graph),
      plan_(plan),
      group_(group) {}

absl::Status GroupEmitter::collect() {
  for (ValueId id : group_.values) {
    const Node& node = graph_.node(id);
    if (node.op == Op::kIota)
      for (int64_t axis : group_.axisMap.at(id))
        if (axis >= 0) indexAxes_.push_back(axis);
    std::vector<Operand> operands(node.operands.size());
    const OpClass cls = graph::info(node.op).cls;
    for (size_t i = cls == OpClass::kUpdate ? 1 : 0; i < node.operands.size(); ++i) {
      absl::StatusOr<Operand> operand = resolve(id, i);
      if (!operand.ok()) return operand.status();
      operands[i] = *std::move(operand);
    }
    operands_[id] = std::move(operands);
  }
  for (ValueId id : group_.outputs)
    if (absl::Status s = collectOutput(id); !s.ok()) return s;
  for (const auto& [id, operands] : operands_)
    for (const Operand& operand : operands)
      if (operand.kind == Operand::Kind::kMemory && operand.memory.buffer.valid()) refs_.push_back(&operand.memory);
  for (const auto& [id, ref] : outputs_) refs_.push_back(&ref);
  return absl::OkStatus();
}

IntList GroupEmitter::operandAxes(ValueId user, size_t index) const {
  return graph::operandAxes(graph_, group_.axisMap.at(user), group_.reducedAxes, user, index);
}

absl::StatusOr<MemoryRef> GroupEmitter::memoryOf(ValueId value, const IntList& domainAxes) {
  graph::SymContext& syms = graph_.syms();
  const ValueId base = graph::viewBase(graph_, value);
  const std::optional<graph::BufferId> at = plan_.findBuffer(base, group_.region);
  if (!at)
    return absl::InternalError("operand of a kernel has no buffer: " +
                               std::string(graph::info(graph_.node(base).op).text));
  const graph::Buffer& buffer = plan_.buffers[at->index];
  absl::StatusOr<graph::AffineView> view = viewOf(value, *at);
  if (!view.ok()) return view.status();
  MemoryRef ref{*at, buffer.dtype, syms.canonical(view->offset), {}};
  ref.strides.assign(group_.domain.size(), syms.constant(0));
  FW_CHECK(domainAxes.size() == view->strides.size());
  for (size_t axis = 0; axis < domainAxes.size(); ++axis) {
    if (domainAxes[axis] < 0) continue;
    SymId& stride = ref.strides[domainAxes[axis]];
    stride = syms.canonical(view->strides[axis]);
    ref.mayBeEmpty |= syms.isConst(stride, 0) && syms.range(syms.canonical(view->shape[axis])).lo < 1;
  }
  return ref;
}

absl::StatusOr<graph::AffineView> GroupEmitter::viewOf(ValueId value, graph::BufferId buffer) const {
  return graph::resolveView(graph_, value, plan_.buffers[buffer.index].strides);
}

/// The axes that numbers run along: those of the domain that the others run along are in `source.memory`.
absl::Status GroupEmitter::findPlaces(ValueId user, Operand& source) const {
  const Node& node = graph_.node(user);
  absl::StatusOr<graph::AffineView> view = viewOf(node.operands[0], source.memory.buffer);
  if (!view.ok()) return view.status();
  for (int64_t axis : node.attrs.ints(graph::AttrKey::kAxes)) {
    const auto at = static_cast<size_t>(axis);
    source.places.push_back({graph_.syms().canonical(view->shape[at]), graph_.syms().canonical(view->strides[at])});
  }
  return absl::OkStatus();
}

absl::StatusOr<Operand> GroupEmitter::resolve(ValueId user, size_t index) {
  const ValueId value = graph_.node(user).operands[index];
  const ValueId base = graph::viewBase(graph_, value);
  Operand operand;
  operand.value = base;
  if (isMember(base) && graph::info(graph_.node(user).op).cls != OpClass::kJoin) {
    operand.kind = Operand::Kind::kMember;
    return operand;
  }
  const Op op = graph_.node(base).op;
  if (op == Op::kConstant || op == Op::kSym) {
    operand.kind = op == Op::kConstant ? Operand::Kind::kConstant : Operand::Kind::kSym;
    return operand;
  }
  operand.kind = Operand::Kind::kMemory;
  if (graph::info(graph_.node(user).op).cls == OpClass::kJoin) return operand;  // join.cpp has geometry of its own
  absl::StatusOr<MemoryRef> ref = memoryOf(value, operandAxes(user, index));
  if (!ref.ok()) return ref.status();
  operand.memory = *std::move(ref);
  if (graph::info(graph_.node(user).op).cls == OpClass::kGather && index == 0)
    if (absl::Status s = findPlaces(user, operand); !s.ok()) return s;
  return operand;
}

absl::Status GroupEmitter::collectOutput(ValueId id) {
  const Node& node = graph_.node(id);
  const OpClass cls = graph::info(node.op).cls;
  if (cls == OpClass::kJoin) return absl::OkStatus();
  absl::StatusOr<MemoryRef> ref = memoryOf(node.op == Op::kStore ? node.operands[0] : id, group_.axisMap.at(id));
  if (!ref.ok()) return ref.status();
  if (node.op == Op::kUpdate) {
    // The slice of the base: starts and steps on top of the buffer's strides.
    graph::SymContext& syms = graph_.syms();
    const graph::Buffer& buffer = plan_.buffers[ref->buffer.index];
    const SymList& starts = node.attrs.syms(graph::AttrKey::kStarts);
    const SymList& steps = node.attrs.syms(graph::AttrKey::kSteps);
    const IntList& map = group_.axisMap.at(id);
    for (size_t axis = 0; axis < starts.size(); ++axis) {
      ref->offset = syms.add(ref->offset, syms.mul(starts[axis], buffer.strides[axis]));
      if (map[axis] >= 0) ref->strides[map[axis]] = syms.canonical(syms.mul(buffer.strides[axis], steps[axis]));
    }
    ref->offset = syms.canonical(ref->offset);
  }
  outputs_[id] = *std::move(ref);
  return absl::OkStatus();
}

void GroupEmitter::setAxes(const std::vector<NestAxis>* axes, std::vector<AxisId> axisOf) {
  axes_ = axes;
  axisOf_ = std::move(axisOf);
}

void GroupEmitter::scoped(const std::function<void()>& body) {
  const auto memo = memo_;
  const auto axisOf = axisOf_;
  const size_t raising = raising_.size();
  const std::vector<NestAxis>* axes = axes_;
  body();
  memo_ = memo;
  raising_.resize(std::min(raising, raising_.size()));
  axisOf_ = axisOf;
  axes_ = axes;
}

Value GroupEmitter::load(const MemoryRef& ref, absl::Span<const Place> places) {
  const DType part = graph::realOf(ref.dtype);
  const auto read = [&](int which) {
    return b_.load(accessOf(b_, ref, *axes_, axisOf_, which), part, ref.mayBeEmpty, places);
  };
  Value v{ref.dtype, read(0), {}};
  if (v.isComplex()) v.im = read(1);
  return v;
}

/// NumPy raises for indices that are out of bounds, CuPy wraps them.
absl::StatusOr<Value> GroupEmitter::gathered(ValueId member) {
  if (b_.numbers() != Numbers::kCuPy) return absl::UnimplementedError("a gather with NumPy's bounds");
  const Operand& source = operands_.at(member)[0];
  std::vector<Place> places;
  for (size_t i = 0; i < source.places.size(); ++i) {
    absl::StatusOr<Value> index = operandElement(member, i + 1);
    if (!index.ok()) return index;
    places.push_back({index->re, source.places[i].size, source.places[i].stride});
  }
  return load(source.memory, places);
}

void GroupEmitter::store(const MemoryRef& ref, const Value& v) {
  FW_CHECK(ref.dtype == v.dtype);
  b_.store(accessOf(b_, ref, *axes_, axisOf_, 0), v.re);
  if (v.isComplex()) b_.store(accessOf(b_, ref, *axes_, axisOf_, 1), v.im);
}

void GroupEmitter::observe(const Value& v) {
  b_.observe(v.re);
  if (v.isComplex()) b_.observe(v.im);
}

void GroupEmitter::observeUnused(absl::Span<const Val> used) {
  if (raising_.empty()) return;
  absl::flat_hash_set<ExprId> needed;
  std::vector<ExprId> open;
  const auto need = [&](ExprId id) {
    if (needed.insert(id).second) open.push_back(id);
  };
  for (const Val& v : used) need(v.id);
  while (!open.empty()) {
    const ExprId at = open.back();
    open.pop_back();
    for (ExprId operand : b_.expr({at, {}}).operands) need(operand);
  }
  for (const Val& v : std::exchange(raising_, {}))
    if (!needed.contains(v.id) && !b_.asConstant(v)) b_.observe(v);
}

Val GroupEmitter::index(int64_t domainAxis) {
  for (size_t i = 0; i < axes_->size(); ++i)
    if ((*axes_)[i].covers(domainAxis)) {
      FW_CHECK((*axes_)[i].members.size() == 1);
      return b_.axisValue(axisOf_[i]);
    }
  FW_UNREACHABLE();
}

absl::StatusOr<Value> GroupEmitter::operandElement(ValueId user, size_t index) {
  const Operand& operand = operands_.at(user)[index];
  switch (operand.kind) {
    case Operand::Kind::kMember: return element(operand.value);
    case Operand::Kind::kMemory: return load(operand.memory);
    case Operand::Kind::kConstant:
      return constantValue(b_, graph_.node(operand.value).attrs.scalar(graph::AttrKey::kValue));
    case Operand::Kind::kSym:
      return Value{DType::kI64, b_.param(graph_.node(operand.value).attrs.sym(graph::AttrKey::kExpr)), {}};
  }
  FW_UNREACHABLE();
}

absl::StatusOr<Value> GroupEmitter::element(ValueId member) {
  if (auto known = memo_.find(member); known != memo_.end()) return known->second;
  if (auto ref = stored_.find(member); ref != stored_.end()) return memo_[member] = load(*ref->second);
  const Node& node = graph_.node(member);
  const OpClass cls = graph::info(node.op).cls;
  FW_CHECK_MSG(cls != OpClass::kReduction, "reduction read before it is computed");
  if (node.op == Op::kIota) {
    const int64_t axis = group_.axisMap.at(member)[0];
    const Val i = axis < 0 ? b_.constantInt(DType::kI64, 0) : index(axis);
    return memo_[member] = Value{DType::kI64, i, {}};
  }
  if (node.op == Op::kEmpty) return memo_[member] = constantValue(b_, graph::Scalar::zero(node.type.dtype));
  if (cls == OpClass::kGather) {
    absl::StatusOr<Value> v = gathered(member);
    if (!v.ok()) return graph::Refused::of(graph_, member).in(v.status());
    return memo_[member] = *v;
  }
  absl::InlinedVector<Value, 3> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (cls == OpClass::kUpdate && i == 0) continue;
    absl::StatusOr<Value> v = operandElement(member, i);
    if (!v.ok()) return v;
    operands.push_back(*std::move(v));
  }
  if (node.op == Op::kFull || cls == OpClass::kUpdate) return memo_[member] = operands[0];
  absl::StatusOr<Value> v = lowerOp(b_, node.op, node.type.dtype, operands, node.type.rank() == 0);
  if (!v.ok()) return graph::Refused::of(graph_, member).in(v.status());
  if (target().reportsFlags && b_.numbers() == Numbers::kNumPy && graph::mayRaise(graph_, member)) {
    for (const Val& part : {v->re, v->im}) {
      if (!part.id.valid()) continue;
      b_.keepWhole(part);
      raising_.push_back(part);
    }
  }
  return memo_[member] = *v;
}

}  // namespace fw::kernels
