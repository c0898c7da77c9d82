// The index of every open loop becomes a symbol that lies within the loop's bounds, in a copy of the context; an
// address is then one polynomial, and that it is neither too small nor too large are two inequalities for
// graph::BoundProver. Loops that run over nothing make everything inside of them true: their index would have to lie in
// an empty range.
#include "kernels/access_proof.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/support/check.h"

namespace fw::kernels {

using graph::SymRange;

namespace {

constexpr size_t kMaxChoices = 4;

}  // namespace

/// State of the walk over one kernel.
struct AccessProver::Walk {
  const Kernel& kernel;
  struct Axis {
    SymId index;         ///< a symbol
    SymId below, above;  ///< distance of the index from the first and the last, both >= 0
  };
  std::vector<Axis> axes;     ///< by axis, while its loop is open
  std::vector<SymId> values;  ///< by expression: i64 values met so far
  std::vector<uint32_t> unproved;
};

AccessProver::AccessProver(const graph::Plan& plan, const graph::SymContext& syms, absl::Span<const SymId> guarded)
    : plan_(plan),
      prover_(syms, guarded),
      syms_(prover_.syms()) {
  for (const graph::Buffer& buffer : plan.buffers) extents_.push_back(extentOf(buffer));
}

SymId AccessProver::fresh(SymRange range) {
  return syms_.symbol(absl::StrCat("#", symbols_++), range);  // a name that no symbol of the program has
}

AccessProver::Extent AccessProver::extentOf(const graph::Buffer& buffer) {
  const SymId one = syms_.constant(1);
  Extent extent{syms_.constant(0), syms_.constant(graph::itemSize(buffer.dtype)), false, {}};
  extent.mayBeEmpty = buffer.kind == graph::BufferKind::kInput &&
                      (buffer.layout.contiguity != graph::Contiguity::kPacked || buffer.layout.broadcastAxes != 0);
  for (size_t axis = 0; axis < buffer.shape.size(); ++axis) {
    const SymId size = syms_.canonical(buffer.shape[axis]), stride = syms_.canonical(buffer.strides[axis]);
    extent.shape.push_back(size);
    const bool negative = buffer.layout.isNegative(static_cast<int>(axis));
    // The class of the layout, which is guarded, has the sign. Along one element any stride will do.
    if (buffer.kind == graph::BufferKind::kInput && !syms_.asConst(stride)) {
      syms_.assumeWithin(stride, negative ? SymRange{INT64_MIN, 0} : SymRange{0, INT64_MAX});
      prover_.addFact(negative ? syms_.neg(stride) : stride);
    }
    const SymId reach = syms_.mul(syms_.sub(size, one), stride);
    SymId& end = negative ? extent.first : extent.end;
    end = syms_.add(end, reach);
  }
  return extent;
}

bool AccessProver::inside(graph::BufferId buffer, SymId address, int64_t bytes) {
  const Extent& extent = extents_.at(buffer.index);
  address = syms_.canonical(address);
  if (reaches(extent, address, bytes)) return true;
  std::vector<SymId> choices;
  for (SymId iterations : running_) collectChoices(iterations, choices);
  return insideInAllCases(extent, address, bytes, choices);
}

/// Where the bounds of loops are extremes, each of these is one of its operands.
bool AccessProver::insideInAllCases(const Extent& extent, SymId address, int64_t bytes,
                                    absl::Span<const SymId> choices) {
  // Inside of a loop that turns out to run over nothing there is no access.
  const auto runsNever = [&](SymId iterations) { return prover_.lessEqual(iterations, syms_.constant(0)); };
  if (std::any_of(running_.begin(), running_.end(), runsNever)) return true;
  if (choices.empty() || choices.size() > kMaxChoices) return false;
  const absl::InlinedVector<SymId, 2> operands = syms_.node(choices[0]).operands;
  return std::all_of(operands.begin(), operands.end(), [&](SymId operand) {
    const size_t mark = prover_.mark();
    prover_.addFact(syms_.sub(choices[0], operand));
    prover_.addFact(syms_.sub(operand, choices[0]));
    const bool holds = reaches(extent, address, bytes) || insideInAllCases(extent, address, bytes, choices.subspan(1));
    prover_.release(mark);
    return holds;
  });
}

void AccessProver::collectChoices(SymId id, std::vector<SymId>& choices) const {
  const graph::SymNode& n = syms_.node(id);
  const bool extreme = n.op == graph::SymOp::kMin || n.op == graph::SymOp::kMax;
  if (extreme && std::find(choices.begin(), choices.end(), id) == choices.end()) choices.push_back(id);
  for (SymId operand : n.operands) collectChoices(operand, choices);
}

bool AccessProver::reaches(const Extent& extent, SymId address, int64_t bytes) {
  if (!prover_.lessEqual(extent.first, address)) return false;
  if (!prover_.lessEqual(syms_.add(address, syms_.constant(bytes)), extent.end)) return false;
  return !extent.mayBeEmpty || std::all_of(extent.shape.begin(), extent.shape.end(),
                                           [&](SymId size) { return prover_.lessEqual(syms_.constant(1), size); });
}

std::vector<uint32_t> AccessProver::unproved(const Kernel& kernel) {
  Walk walk{kernel, std::vector<Walk::Axis>(kernel.axisCount), std::vector<SymId>(kernel.exprs.size()), {}};
  const size_t mark = prover_.mark();
  block(walk, kernel.body);
  prover_.release(mark);
  return std::move(walk.unproved);
}

void AccessProver::access(Walk& walk, uint32_t number, int64_t bytes) {
  const Access& a = walk.kernel.accesses[number];
  const size_t mark = prover_.mark();
  SymId address = a.offset;
  bool known = true;
  for (const Access::Term& t : a.terms) {
    const Walk::Axis& axis = walk.axes[t.axis.index];
    known &= axis.index.valid();
    if (!known) break;
    address = syms_.add(address, syms_.mul(axis.index, t.stride));
    if (syms_.node(t.stride).op != graph::SymOp::kAdd) continue;
    // The prover multiplies facts by products, not by sums.
    const SymId size = prover_.nonNegative(t.stride) ? t.stride : syms_.neg(t.stride);
    if (size != t.stride && !prover_.nonNegative(size)) continue;
    prover_.addFact(syms_.mul(axis.below, size));
    prover_.addFact(syms_.mul(axis.above, size));
  }
  if (!known || !inside(a.buffer, address, bytes)) walk.unproved.push_back(number);
  prover_.release(mark);
}

void AccessProver::block(Walk& walk, const Block& b) {
  for (const Item& item : b.items) {
    if (item.expr.valid()) {
      const Expr& e = walk.kernel.exprs[item.expr.index];
      if (e.op == ScalarOp::kLoad) access(walk, e.access, graph::itemSize(e.dtype));
      continue;
    }
    const Stmt& s = walk.kernel.stmts[item.stmt.index];
    switch (s.kind) {
      case StmtKind::kStore: access(walk, s.access, graph::itemSize(walk.kernel.exprs[s.value.index].dtype)); break;
      case StmtKind::kLoop:
      case StmtKind::kReduce: loop(walk, s); break;
      case StmtKind::kIf: block(walk, s.body); break;
      case StmtKind::kObserve: break;
    }
  }
}

void AccessProver::loop(Walk& walk, const Stmt& s) {
  const SymId one = syms_.constant(1), lower = value(walk, s.lower), upper = value(walk, s.upper);
  SymRange range = syms_.range(lower);
  range.hi = INT64_MAX;
  const SymId index = fresh(range);
  const size_t mark = prover_.mark();
  running_.push_back(syms_.canonical(syms_.sub(upper, lower)));
  prover_.addFact(syms_.sub(running_.back(), one));
  Walk::Axis& axis = walk.axes[s.axis.index];
  axis = {index, syms_.sub(index, lower), syms_.sub(syms_.sub(upper, index), one)};
  prover_.addFact(axis.below);
  prover_.addFact(axis.above);
  block(walk, s.body);
  walk.axes[s.axis.index] = {};
  running_.pop_back();
  prover_.release(mark);
}

SymId AccessProver::value(Walk& walk, ExprId id) {
  SymId& known = walk.values[id.index];
  if (!known.valid()) {
    const SymId made = syms_.canonical(compute(walk, walk.kernel.exprs[id.index]));
    known = made;
  }
  return known;
}

/// Bounds of loops are arithmetic on parameters and outer indices. Of what is more than that a range remains.
SymId AccessProver::compute(Walk& walk, const Expr& e) {
  if (e.dtype != DType::kI64) return fresh({});
  if (e.op == ScalarOp::kConst) return syms_.constant(static_cast<int64_t>(e.imm));
  if (e.op == ScalarOp::kParam) return e.sym;
  if (e.op == ScalarOp::kAxis) return walk.axes[e.axis.index].index.valid() ? walk.axes[e.axis.index].index : fresh({});
  absl::InlinedVector<SymId, 3> x;
  for (ExprId operand : e.operands) x.push_back(value(walk, operand));
  const auto lo = [&](size_t i) { return syms_.range(x[i]).lo; };
  if (e.op == ScalarOp::kAdd) return syms_.add(x[0], x[1]);
  if (e.op == ScalarOp::kSub) return syms_.sub(x[0], x[1]);
  if (e.op == ScalarOp::kMul) return syms_.mul(x[0], x[1]);
  if (e.op == ScalarOp::kMinSecond) return syms_.min(x[0], x[1]);
  if (e.op == ScalarOp::kMaxSecond) return syms_.max(x[0], x[1]);
  if (e.op == ScalarOp::kDiv && lo(0) >= 0 && lo(1) >= 1) return syms_.floorDiv(x[0], x[1]);
  if (e.op == ScalarOp::kRem && lo(0) >= 0 && lo(1) >= 1) return syms_.mod(x[0], x[1]);
  if (e.op == ScalarOp::kSelect)
    return fresh({std::min(lo(1), lo(2)), std::max(syms_.range(x[1]).hi, syms_.range(x[2]).hi)});
  return fresh({});
}

std::vector<std::string> AccessProver::unprovedResults() {
  std::vector<std::string> problems;
  const SymId one = syms_.constant(1);
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const graph::OutputBinding& output = plan_.outputs[i];
    if (!output.isView) continue;
    const size_t mark = prover_.mark();
    SymId address = output.offset;
    for (size_t axis = 0; axis < output.shape.size(); ++axis) {
      const SymId size = syms_.canonical(output.shape[axis]), index = fresh({0, INT64_MAX});
      prover_.addFact(syms_.sub(size, one));
      prover_.addFact(syms_.sub(syms_.sub(size, index), one));
      address = syms_.add(address, syms_.mul(index, output.strides[axis]));
    }
    if (!inside(output.buffer, address, graph::itemSize(plan_.buffers[output.buffer.index].dtype)))
      problems.push_back(absl::StrCat("result ", i, " may not lie in buffer ", output.buffer.index));
    prover_.release(mark);
  }
  return problems;
}

std::string describeAccess(const Kernel& kernel, uint32_t access, const graph::Plan& plan,
                           const graph::SymContext& syms) {
  const Access& a = kernel.accesses[access];
  const graph::Buffer& buffer = plan.buffers[a.buffer.index];
  std::string text = absl::StrCat(kernel.name, ": byte ", syms.print(a.offset));
  for (const Access::Term& t : a.terms) absl::StrAppend(&text, " + a", t.axis.index, "*(", syms.print(t.stride), ")");
  absl::StrAppend(&text, " of buffer ", a.buffer.index, " ", std::string(graph::name(buffer.dtype)), "[");
  for (size_t i = 0; i < buffer.shape.size(); ++i) absl::StrAppend(&text, i ? ", " : "", syms.print(buffer.shape[i]));
  return text + "]";
}

}  // namespace fw::kernels
