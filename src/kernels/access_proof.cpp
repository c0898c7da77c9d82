// Most accesses run over their buffer element by element, in one go or in tiles: that is seen by comparing the loops
// with the buffer's axes. For any other there is a PlaceProver, with a symbol for the index of every loop around.
#include "kernels/access_proof.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/symint_facts.h"
#include "kernels/place_proof.h"

namespace fw::kernels {

using graph::SymRange;

namespace {

/// Range of an expression by what is known of its symbols now: s - 1 may be older than the guard that made s positive.
SymRange rangeNow(graph::SymContext& syms, SymId id) {
  const absl::InlinedVector<SymId, 2> operands = syms.node(id).operands;
  for (SymId operand : operands) rangeNow(syms, operand);
  return graph::refinedRange(syms, id);
}

}  // namespace

struct AccessProver::Search {
  PlaceProver places;
  Search(const graph::Plan& plan, const graph::SymContext& syms, absl::Span<const SymId> guarded)
      : places(plan, syms, guarded) {}
};

/// State of the walk over one kernel.
struct AccessProver::Walk {
  AccessProver& owner;
  const Kernel& kernel;
  struct Loop {
    const Stmt* stmt;
    SymId index;  ///< for the PlaceProver, once it knows of the loop
  };
  std::vector<Loop> loops;    ///< open, from the outermost
  std::vector<SymId> values;  ///< by expression: i64 values met so far
  std::vector<uint32_t> unproved;

  /// The loop over `axis`, or loops.size().
  size_t find(AxisId axis) const {
    const auto at = std::find_if(loops.begin(), loops.end(), [&](const Loop& l) { return l.stmt->axis == axis; });
    return static_cast<size_t>(at - loops.begin());
  }

  /// Whether `id` is seen to be at least 0: constants, parameters, indices of open loops, sums and products of these.
  bool isNonNegative(ExprId id) const {
    const Expr& e = kernel.exprs[id.index];
    const auto both = [&] { return isNonNegative(e.operands[0]) && isNonNegative(e.operands[1]); };
    if (e.op == ScalarOp::kConst) return static_cast<int64_t>(e.imm) >= 0;
    if (e.op == ScalarOp::kParam) return owner.syms_.range(e.sym).lo >= 0 && owner.isKnown(e.sym);
    if (e.op == ScalarOp::kAxis) {
      const size_t number = find(e.axis);
      return number < loops.size() && isNonNegative(loops[number].stmt->lower);
    }
    return (e.op == ScalarOp::kAdd || e.op == ScalarOp::kMul) && both();
  }

  /// Whether `id` is seen to be at most `size`: it is, or a minimum with it.
  bool isAtMost(ExprId id, SymId size) const {
    const Expr& e = kernel.exprs[id.index];
    if (e.op == ScalarOp::kParam) return e.sym == size;
    return e.op == ScalarOp::kMinSecond && (isAtMost(e.operands[0], size) || isAtMost(e.operands[1], size));
  }

  /// Tells the PlaceProver of all open loops.
  PlaceProver& places() {
    PlaceProver& result = owner.search().places;
    for (Loop& loop : loops)
      if (!loop.index.valid()) loop.index = result.openLoop(value(loop.stmt->lower), value(loop.stmt->upper));
    return result;
  }

  SymId value(ExprId id) {
    if (!values[id.index].valid()) {
      const SymId made = compute(kernel.exprs[id.index]);
      values[id.index] = made;
    }
    return values[id.index];
  }

  /// Bounds of loops are arithmetic on parameters and outer indices. Of what is more than that a range remains.
  SymId compute(const Expr& e) {
    PlaceProver& prover = owner.search().places;
    graph::SymContext& syms = prover.syms();
    if (e.dtype != DType::kI64) return prover.fresh({});
    if (e.op == ScalarOp::kConst) return syms.constant(static_cast<int64_t>(e.imm));
    if (e.op == ScalarOp::kParam) return owner.isKnown(e.sym) ? syms.canonical(e.sym) : prover.fresh({});
    if (e.op == ScalarOp::kAxis) {
      const size_t number = find(e.axis);
      return number < loops.size() && loops[number].index.valid() ? loops[number].index : prover.fresh({});
    }
    absl::InlinedVector<SymId, 3> x;
    for (ExprId operand : e.operands) x.push_back(value(operand));
    const auto lo = [&](size_t i) { return rangeNow(syms, x[i]).lo; };
    if (e.op == ScalarOp::kAdd) return syms.add(x[0], x[1]);
    if (e.op == ScalarOp::kSub) return syms.sub(x[0], x[1]);
    if (e.op == ScalarOp::kMul) return syms.mul(x[0], x[1]);
    if (e.op == ScalarOp::kMinSecond) return syms.min(x[0], x[1]);
    if (e.op == ScalarOp::kMaxSecond) return syms.max(x[0], x[1]);
    if (e.op == ScalarOp::kDiv && lo(0) >= 0 && lo(1) >= 1) return syms.floorDiv(x[0], x[1]);
    if (e.op == ScalarOp::kRem && lo(0) >= 0 && lo(1) >= 1) return syms.mod(x[0], x[1]);
    if (e.op == ScalarOp::kSelect)
      return prover.fresh({std::min(lo(1), lo(2)), std::max(syms.range(x[1]).hi, syms.range(x[2]).hi)});
    return prover.fresh({});
  }
};

AccessProver::AccessProver(const graph::Plan& plan, const graph::SymContext& syms, absl::Span<const SymId> guarded,
                           absl::Span<const SymId> scoped)
    : plan_(plan),
      syms_(syms),
      guarded_(guarded.begin(), guarded.end()),
      unbound_(scoped.begin(), scoped.end()) {}

AccessProver::~AccessProver() = default;

AccessProver::Search& AccessProver::search() {
  if (search_) return *search_;
  search_ = std::make_unique<Search>(plan_, syms_, guarded_);
  for (SymId fact : scopeFacts_) search_->places.addFact(fact);
  return *search_;
}

AccessProver::Scope::Scope(AccessProver& prover, absl::Span<const SymId> symbols, absl::Span<const SymId> facts)
    : prover_(prover),
      facts_(prover.scopeFacts_.size()),
      symbols_(symbols.begin(), symbols.end()) {
  const auto opened = [&](SymId s) { return std::find(symbols.begin(), symbols.end(), s) != symbols.end(); };
  std::erase_if(prover.unbound_, opened);
  prover.scopeFacts_.insert(prover.scopeFacts_.end(), facts.begin(), facts.end());
  prover.search_.reset();
}

AccessProver::Scope::~Scope() {
  prover_.scopeFacts_.resize(facts_);
  prover_.unbound_.insert(prover_.unbound_.end(), symbols_.begin(), symbols_.end());
  prover_.search_.reset();
}

/// False if `id` mentions a symbol that has no value here.
bool AccessProver::isKnown(SymId id) const {
  if (unbound_.empty()) return true;
  absl::flat_hash_set<SymId> seen = {id};
  std::vector<SymId> open = {id};
  while (!open.empty()) {
    const SymId next = open.back();
    open.pop_back();
    if (std::find(unbound_.begin(), unbound_.end(), next) != unbound_.end()) return false;
    for (SymId operand : syms_.node(next).operands)
      if (seen.insert(operand).second) open.push_back(operand);
  }
  return true;
}

std::vector<uint32_t> AccessProver::unproved(const Kernel& kernel) {
  Walk walk{*this, kernel, {}, std::vector<SymId>(kernel.exprs.size()), {}};
  block(walk, kernel.body);
  std::sort(walk.unproved.begin(), walk.unproved.end());
  walk.unproved.erase(std::unique(walk.unproved.begin(), walk.unproved.end()), walk.unproved.end());
  return std::move(walk.unproved);
}

/// Every loop runs over another axis of the buffer or a part of it, and no axis is left out.
bool AccessProver::runsAlongAxes(const Walk& walk, const Access& a, int64_t bytes) const {
  const graph::Buffer& buffer = plan_.buffers[a.buffer.index];
  if (!syms_.isConst(a.offset, 0) || bytes > graph::itemSize(buffer.dtype)) return false;
  if (a.terms.size() != buffer.shape.size() || a.terms.size() > 32) return false;
  uint32_t seen = 0;
  for (const Access::Term& t : a.terms) {
    const size_t number = walk.find(t.axis);
    if (number == walk.loops.size()) return false;
    const Stmt& loop = *walk.loops[number].stmt;
    if (!walk.isNonNegative(loop.lower)) return false;
    size_t axis = 0;
    const auto fits = [&] { return buffer.strides[axis] == t.stride && walk.isAtMost(loop.upper, buffer.shape[axis]); };
    while (axis < buffer.shape.size() && ((seen >> axis & 1) != 0 || !fits())) ++axis;
    if (axis == buffer.shape.size()) return false;
    seen |= 1u << axis;
  }
  return true;
}

/// `places` are the operands of a LoadAt: each index is, once it is wrapped, that of a loop over its size.
void AccessProver::access(Walk& walk, uint32_t number, int64_t bytes, absl::Span<const ExprId> places) {
  const Access& a = walk.kernel.accesses[number];
  const graph::Buffer& buffer = plan_.buffers.at(a.buffer.index);
  const auto known = [&](SymId id) { return isKnown(id); };
  bool sound = isKnown(a.offset) && std::all_of(buffer.shape.begin(), buffer.shape.end(), known) &&
               std::all_of(buffer.strides.begin(), buffer.strides.end(), known);
  for (const Access::Term& t : a.terms) sound &= isKnown(t.stride) && walk.find(t.axis) < walk.loops.size();
  if (sound && places.empty() && runsAlongAxes(walk, a, bytes)) return;
  if (sound) {
    PlaceProver& prover = walk.places();
    std::vector<PlaceProver::Term> terms;
    for (const Access::Term& t : a.terms) terms.push_back({walk.find(t.axis), t.stride});
    size_t opened = 0;
    bool exist = true;
    for (size_t i = 0; i + 2 < places.size() && exist; i += 3) {
      const SymId size = walk.value(places[i + 1]);
      exist = rangeNow(prover.syms(), size).lo >= 1;
      if (!exist) break;
      prover.openLoop(prover.syms().constant(0), size);
      terms.push_back({walk.loops.size() + opened++, walk.value(places[i + 2])});
    }
    const bool inside = exist && prover.inside(a.buffer, a.offset, terms, bytes);
    for (; opened > 0; --opened) prover.closeLoop();
    if (inside) return;
  }
  walk.unproved.push_back(number);
}

void AccessProver::block(Walk& walk, const Block& b) {
  for (const Item& item : b.items) {
    if (item.expr.valid()) {
      const Expr& e = walk.kernel.exprs[item.expr.index];
      if (isLoad(e.op)) access(walk, e.access, graph::itemSize(e.dtype), e.operands);
      continue;
    }
    const Stmt& s = walk.kernel.stmts[item.stmt.index];
    switch (s.kind) {
      case StmtKind::kStore: access(walk, s.access, graph::itemSize(walk.kernel.exprs[s.value.index].dtype), {}); break;
      case StmtKind::kLoop:
      case StmtKind::kReduce: loop(walk, s); break;
      case StmtKind::kIf: block(walk, s.body); break;
      case StmtKind::kObserve: break;
    }
  }
}

void AccessProver::loop(Walk& walk, const Stmt& s) {
  walk.loops.push_back({&s, SymId()});
  block(walk, s.body);
  if (walk.loops.back().index.valid()) search_->places.closeLoop();
  walk.loops.pop_back();
}

/// A packed array of as many elements as its buffer has, which a search would have to find out axis by axis.
static bool isWhole(const graph::OutputBinding& output, const graph::Plan& plan, graph::SymContext& syms) {
  const graph::Buffer& buffer = plan.buffers[output.buffer.index];
  const SymId bytes = syms.constant(graph::itemSize(buffer.dtype));
  SymId size = bytes, all = bytes;
  for (size_t axis = output.shape.size(); axis-- > 0;) {
    if (syms.canonical(output.strides[axis]) != syms.canonical(size)) return false;
    size = syms.mul(size, output.shape[axis]);
  }
  for (SymId length : buffer.shape) all = syms.mul(all, length);
  return syms.isConst(output.offset, 0) && syms.canonical(size) == syms.canonical(all);
}

std::vector<size_t> AccessProver::unprovedResults() {
  std::vector<size_t> result;
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const graph::OutputBinding& output = plan_.outputs[i];
    if (!output.isView) continue;
    PlaceProver& places = search().places;
    if (isWhole(output, plan_, places.syms())) continue;
    std::vector<PlaceProver::Term> terms;
    for (size_t axis = 0; axis < output.shape.size(); ++axis) {
      places.openLoop(places.syms().constant(0), output.shape[axis]);
      terms.push_back({axis, output.strides[axis]});
    }
    const int64_t bytes = graph::itemSize(plan_.buffers[output.buffer.index].dtype);
    if (!places.inside(output.buffer, output.offset, terms, bytes)) result.push_back(i);
    for (size_t axis = 0; axis < output.shape.size(); ++axis) places.closeLoop();
  }
  return result;
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
