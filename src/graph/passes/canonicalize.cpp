// Local rewrites that keep every bit. One visit per node, operands first, so that patterns see operands already
// rewritten.
//
// What may be dropped: a view that changes nothing, always. An operation that answers its operand's values only if the
// operand has the same layout (layouts decide summation order and result strides) and the result is no output, nor what
// an output is an update of, where a fresh array must not become an alias; otherwise it becomes a copy.
//
// What is dropped with its operands (the condition of where(c, x, x)) may be the last reader of a value that may raise.
// A graph keeps such a value as a further output; a region answers what it answers, so there nothing may lose its
// reader.
//
// Not bitwise: x + 0.0 (-0.0 becomes 0.0), x * 0, x - x, and anything with complex numbers (infinities and NaN spread
// between the parts). x + -0.0, x - 0.0, x * 1 and x / 1 are.
#include <cfenv>
#include <cmath>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "graph/alias.h"
#include "graph/evaluator_scalar.h"
#include "graph/passes/control.h"
#include "graph/passes/pass_manager.h"
#include "graph/passes/planning.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/slice_of_update.h"
#include "graph/passes/unit_reduction.h"
#include "graph/raising.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

/// The second operand that changes nothing.
struct Neutral {
  Op op;
  bool one;  ///< else 0
  bool integersOnly = false;
};
constexpr Neutral kNeutral[] = {
    {Op::kAdd, false},        {Op::kSubtract, false},         {Op::kMultiply, true},
    {Op::kDivide, true},      {Op::kFloorDivide, true, true}, {Op::kBitwiseOr, false},
    {Op::kBitwiseXor, false}, {Op::kLeftShift, false},        {Op::kRightShift, false},
};

class Canonicalizer {
 public:
  explicit Canonicalizer(const Graph& graph) {
    // What an output is a view of, too, and what it is an update of, which an update that changes nothing becomes.
    for (ValueId value : graph.outputs())
      while (escapes_.insert(value).second && (isView(graph, value) || graph.node(value).op == Op::kUpdate))
        value = graph.node(value).operands[0];
    // Users have greater ids: downwards, everything that reads a value is met before it.
    reduced_.resize(graph.size());
    for (size_t i = graph.size(); i-- > 0;) {
      const Node& node = graph.node(ValueId(i));
      const OpClass cls = info(node.op).cls;
      const bool ordered = cls == OpClass::kReduction || cls == OpClass::kScan || cls == OpClass::kControl ||
                           (cls == OpClass::kView && reduced_[i]);
      for (ValueId operand : node.operands)
        if (ordered) reduced_[operand.index] = true;
    }
    if (graph.isRegion()) findLoud(graph);
  }

  absl::Status visit(Rewriter& rw, ValueId id) {
    const Node& node = rw.in().node(id);
    absl::InlinedVector<ValueId, 3> in;
    for (ValueId operand : node.operands) in.push_back(rw.map(operand));
    if (std::optional<ValueId> now = simplify(rw, id, node, in)) {
      rw.set(id, *now);
      return absl::OkStatus();
    }
    rw.copyNode(id);
    return absl::OkStatus();
  }

 private:
  using Operands = absl::Span<const ValueId>;

  void findLoud(const Graph& graph) {
    const std::vector<bool> live = liveValues(graph);
    loud_.resize(graph.size());
    stays_.resize(graph.size());
    for (ValueId value : graph.outputs()) stays_[value.index] = true;
    for (size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(ValueId(i));
      loud_[i] = info(node.op).cls == OpClass::kControl || mayRaise(graph, ValueId(i));
      for (ValueId operand : node.operands) {
        if (loud_[operand.index]) loud_[i] = true;
        if (live[i] && node.op != Op::kSlice) stays_[operand.index] = true;
      }
    }
  }

  /// Whether nobody would report what the value (of the graph as it was) and what it is computed from may raise, if it
  /// lost a reader.
  bool wouldBeMissed(ValueId old) const { return !loud_.empty() && loud_[old.index]; }

  std::optional<ValueId> simplify(Rewriter& rw, ValueId id, const Node& node, Operands in) {
    switch (info(node.op).cls) {
      case OpClass::kView:
        if (node.op == Op::kSlice && !reduced_[id.index] && !escapes_.contains(id) &&
            (!wouldBeMissed(node.operands[0]) || stays_[node.operands[0].index]))
          if (std::optional<ValueId> stored = sliceOfUpdate(rw.out(), in[0], node.attrs.syms(AttrKey::kStarts),
                                                            node.attrs.syms(AttrKey::kSteps), node.type))
            return stored;
        return view(rw.out(), node, in[0]);
      case OpClass::kElementwise:
        if (std::optional<ValueId> folded = fold(rw.out(), node, in)) return folded;
        return elementwise(rw, id, node, in);
      case OpClass::kReduction: {
        const bool reads = node.op != Op::kArgmax && node.op != Op::kArgmin;  // the index 0 needs no element
        if (!reads && wouldBeMissed(node.operands[0])) return std::nullopt;
        std::optional<ValueId> now = reduceUnitAxes(rw.out(), node, in[0]);
        // A fresh array stays one; makePlan copies there.
        if (now && escapes_.contains(id) && viewBase(rw.out(), *now) == viewBase(rw.out(), in[0])) return std::nullopt;
        return now;
      }
      case OpClass::kSource:
      case OpClass::kScan:
      case OpClass::kCreation:
      case OpClass::kJoin:
      case OpClass::kGather: return std::nullopt;
      case OpClass::kControl: {
        if (node.op != Op::kProject) return std::nullopt;
        const auto index = static_cast<size_t>(node.attrs.integer(AttrKey::kIndex));
        const ValueId given = handedOn(rw.out(), in[0], index);
        return given.valid() ? instead(rw.out(), id, node, given) : std::nullopt;
      }
      case OpClass::kUpdate:
        if (node.op == Op::kStore) return store(rw.out(), in);
        if (!writesBack(rw.out(), node, in)) return std::nullopt;
        // A fresh array must not become the caller's.
        if (rw.out().node(viewBase(rw.out(), in[0])).op == Op::kInput) return instead(rw.out(), id, node, in[0]);
        return in[0];
    }
    FW_UNREACHABLE();
  }

  /// A store of what its target held before the call is dropped where no earlier commit has written; elsewhere it
  /// restores. A copy that is stored need not be made first.
  std::optional<ValueId> store(Graph& g, Operands in) {
    ValueId value = in[1];
    while (g.node(value).op == Op::kCopy) value = g.node(value).operands[0];
    if (alias(g, in[0], value) == Alias::kSame && !writes_.mayAlias(g, in[0])) return in[0];
    const ValueId store = *g.add(Op::kStore, {in[0], value});
    writes_.add(g, store);
    return store;
  }

  /// An update with the very elements it replaces: the second half of `y[0] += 2`, which Python runs as a write into
  /// the view y[0] and then y[0] = that view.
  static bool writesBack(const Graph& g, const Node& node, Operands in) {
    ValueId value = in[1];
    while (g.node(value).op == Op::kExpand || g.node(value).op == Op::kSqueeze) value = g.node(value).operands[0];
    const Node& slice = g.node(value);
    return slice.op == Op::kSlice && slice.operands[0] == in[0] && slice.type.shape == g.type(in[1]).shape &&
           slice.attrs.syms(AttrKey::kStarts) == node.attrs.syms(AttrKey::kStarts) &&
           slice.attrs.syms(AttrKey::kSteps) == node.attrs.syms(AttrKey::kSteps);
  }

  static std::optional<ValueId> view(Graph& g, const Node& node, ValueId in) {
    if (node.op == Op::kTranspose) return transpose(g, node, in);
    if (node.op == Op::kExpand || node.op == Op::kSqueeze) return unitAxes(g, node, in);
    if (node.op == Op::kBroadcast) return broadcast(g, node, in);
    if (node.op == Op::kSlice) return slice(g, g.syms(), node, in);
    if (node.op == Op::kDiagonal || node.op == Op::kWindows) return std::nullopt;
    FW_CHECK(node.op == Op::kReshape);
    const bool same = g.type(in).shape == node.type.shape && node.attrs.integerOr(AttrKey::kCopy, 0) == 0;
    return same ? std::optional(in) : std::nullopt;
  }

  static std::optional<ValueId> transpose(Graph& g, const Node& node, ValueId in) {
    const Node& below = g.node(in);
    IntList joint = node.attrs.ints(AttrKey::kPerm);
    const bool twice = below.op == Op::kTranspose;
    if (twice)
      for (int64_t& axis : joint) axis = below.attrs.ints(AttrKey::kPerm)[axis];
    bool identity = true;
    for (size_t i = 0; i < joint.size(); ++i) identity &= joint[i] == static_cast<int64_t>(i);
    if (identity) return twice ? below.operands[0] : in;
    if (!twice) return std::nullopt;
    Attrs attrs;
    attrs.set(AttrKey::kPerm, std::move(joint));
    return g.addTyped(Op::kTranspose, {below.operands[0]}, node.type, std::move(attrs));
  }

  /// expand and squeeze undo each other.
  static std::optional<ValueId> unitAxes(const Graph& g, const Node& node, ValueId in) {
    const Node& below = g.node(in);
    const IntList& axes = node.attrs.ints(AttrKey::kAxes);
    if (axes.empty()) return in;
    const Op inverse = node.op == Op::kExpand ? Op::kSqueeze : Op::kExpand;
    if (below.op == inverse && below.attrs.ints(AttrKey::kAxes) == axes &&
        g.type(below.operands[0]).layout == node.type.layout)
      return below.operands[0];
    return std::nullopt;
  }

  static std::optional<ValueId> broadcast(Graph& g, const Node& node, ValueId in) {
    if (g.type(in).shape == node.type.shape) return in;
    if (g.node(in).op != Op::kBroadcast) return std::nullopt;
    return g.addTyped(Op::kBroadcast, {g.node(in).operands[0]}, node.type);
  }

  static std::optional<ValueId> slice(Graph& g, SymContext& syms, const Node& node, ValueId in) {
    const SymList& starts = node.attrs.syms(AttrKey::kStarts);
    const SymList& steps = node.attrs.syms(AttrKey::kSteps);
    bool whole = g.type(in).shape == node.type.shape;
    for (size_t i = 0; i < starts.size(); ++i) whole &= syms.isConst(starts[i], 0) && syms.isConst(steps[i], 1);
    if (whole) return in;
    const Node& below = g.node(in);
    if (below.op != Op::kSlice) return std::nullopt;
    SymList jointStarts, jointSteps;
    for (size_t i = 0; i < starts.size(); ++i) {
      const SymId step = below.attrs.syms(AttrKey::kSteps)[i];
      jointStarts.push_back(syms.add(below.attrs.syms(AttrKey::kStarts)[i], syms.mul(starts[i], step)));
      jointSteps.push_back(syms.mul(steps[i], step));
    }
    Attrs attrs;
    attrs.set(AttrKey::kStarts, std::move(jointStarts)).set(AttrKey::kSteps, std::move(jointSteps));
    return g.addTyped(Op::kSlice, {below.operands[0]}, node.type, std::move(attrs));
  }

  /// Exact operations on constants, unless they would raise a floating-point flag that NumPy reports.
  static std::optional<ValueId> fold(Graph& g, const Node& node, Operands in) {
    if (node.type.rank() != 0 || info(node.op).contract != Contract::kExact || node.op == Op::kCopy)
      return std::nullopt;
    std::vector<Scalar> values;
    for (ValueId operand : in) {
      if (g.node(operand).op != Op::kConstant) return std::nullopt;
      values.push_back(g.node(operand).attrs.scalar(AttrKey::kValue));
    }
    if (isComplex(values[0].dtype)) return std::nullopt;  // scalars and arrays differ in NumPy
    if (areUnlikeZeros(node.op, values)) return std::nullopt;
    if (node.op == Op::kCast && isFloat(values[0].dtype) && isInteger(node.type.dtype) &&
        !fits(values[0], node.type.dtype))
      return std::nullopt;
    // By zero, and the least number by -1.
    if (info(node.op).raises == Raises::kNumbers && isInteger(values[0].dtype)) {
      const DType type = values.back().dtype;
      if (values.back().lo == 0 || (isSigned(type) && values.back().lo == Scalar::ofInt(type, -1).lo))
        return std::nullopt;
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    absl::StatusOr<Scalar> value = evaluateElement(node.op, values, node.type.dtype);
    const bool flags = std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID) != 0;
    std::feclearexcept(FE_ALL_EXCEPT);
    if (!value.ok() || flags) return std::nullopt;
    if (isFloat(value->dtype) && !std::isfinite(value->asDouble())) return std::nullopt;  // f16 overflows on rounding
    return g.constant(*value);
  }

  /// Which of two zeros of different sign is the greater one is the kernels' business: it depends on the dtype, and
  /// fmax and fmin decline.
  static bool areUnlikeZeros(Op op, const std::vector<Scalar>& values) {
    const bool extreme = op == Op::kMaximum || op == Op::kMinimum || op == Op::kFmax || op == Op::kFmin;
    return extreme && isFloat(values[0].dtype) && values[0].asDouble() == 0 && values[1].asDouble() == 0 &&
           std::signbit(values[0].asDouble()) != std::signbit(values[1].asDouble());
  }

  /// Whether the integral part is a number of the type: NumPy reports a cast where it is none.
  static bool fits(const Scalar& value, DType integer) {
    const int bits = 8 * itemSize(integer) - (isSigned(integer) ? 1 : 0);
    const double whole = std::trunc(value.asDouble()), end = std::ldexp(1.0, bits);
    return whole < end && whole >= (isSigned(integer) ? -end : 0.0);
  }

  std::optional<ValueId> elementwise(Rewriter& rw, ValueId id, const Node& node, Operands in) {
    Graph& g = rw.out();
    if (node.op == Op::kCast) return cast(rw, id, node, in[0]);
    if (node.op == Op::kCopy)
      return sameArray(g, node, in[0]) && !escapes_.contains(id) ? std::optional(in[0]) : std::nullopt;
    if (node.op == Op::kWhere) {
      if (in[1] == in[2]) return wouldBeMissed(node.operands[0]) ? std::nullopt : instead(g, id, node, in[1]);
      const Node& condition = g.node(in[0]);
      if (condition.op != Op::kConstant) return std::nullopt;
      const size_t taken = condition.attrs.scalar(AttrKey::kValue).lo ? 1 : 2;
      return wouldBeMissed(node.operands[3 - taken]) ? std::nullopt : instead(g, id, node, in[taken]);
    }
    const bool undoesItself = node.op == Op::kNegative || node.op == Op::kConjugate || node.op == Op::kInvert;
    if (undoesItself && g.node(in[0]).op == node.op) return instead(g, id, node, g.node(in[0]).operands[0]);
    if (in.size() != 2 || isComplex(node.type.dtype)) return std::nullopt;
    if (neutral(g, node.op, in[1])) return instead(g, id, node, in[0]);
    const bool commutes = node.op == Op::kAdd || node.op == Op::kMultiply;
    if (commutes && neutral(g, node.op, in[0])) return instead(g, id, node, in[1]);
    return std::nullopt;
  }

  /// True if `value` is the constant that leaves every first operand of `op` unchanged, bit for bit.
  static bool neutral(const Graph& g, Op op, ValueId value) {
    const Node& node = g.node(value);
    if (node.op != Op::kConstant) return false;
    const Scalar& c = node.attrs.scalar(AttrKey::kValue);
    if (op == Op::kAdd && isFloat(c.dtype)) return c == Scalar::ofDouble(c.dtype, -0.0);  // -0.0 + 0.0 is 0.0
    for (const Neutral& row : kNeutral)
      if (row.op == op)
        return (!row.integersOnly || isInteger(c.dtype)) && c == (row.one ? Scalar::one : Scalar::zero)(c.dtype);
    return false;
  }

  std::optional<ValueId> cast(Rewriter& rw, ValueId id, const Node& node, ValueId in) {
    Graph& g = rw.out();
    const DType to = node.type.dtype, from = g.type(in).dtype;
    if (to == from) return instead(g, id, node, in);
    const Node& below = g.node(in);
    if (below.op != Op::kCast) return std::nullopt;
    const ValueId origin = below.operands[0];
    const DType first = g.type(origin).dtype;
    if (!lossless(first, from)) return std::nullopt;
    if (first == to) return instead(g, id, node, origin);
    const bool direct = (isFloat(first) && isFloat(to)) || (!isInexact(first) && !isInexact(from) && !isInexact(to));
    if (!direct || to == DType::kBool) return std::nullopt;
    return g.addTyped(Op::kCast, {origin}, node.type);
  }

  /// Every value survives the conversion (NumPy calls i64 to f64 safe; it is not).
  static bool lossless(DType from, DType to) {
    const bool big = from == DType::kI64 || from == DType::kU64;
    return canCastSafely(from, to) && !(big && isInexact(to));
  }

  static bool sameArray(const Graph& g, const Node& node, ValueId value) {
    const ValueType& type = g.type(value);
    return type.dtype == node.type.dtype && type.shape == node.type.shape && type.layout == node.type.layout;
  }

  /// `value` in place of a node that answers the same elements, or a copy where it would not be the same array.
  std::optional<ValueId> instead(Graph& g, ValueId id, const Node& node, ValueId value) const {
    if (g.type(value).dtype != node.type.dtype) return std::nullopt;
    if (sameArray(g, node, value) && !escapes_.contains(id)) return value;
    if (g.type(value).shape != node.type.shape) return std::nullopt;
    return g.addTyped(Op::kCopy, {value}, node.type);
  }

  absl::flat_hash_set<ValueId> escapes_;  // outputs and what they are views and updates of
  std::vector<bool> reduced_;             // read, perhaps through views, by what depends on strides
  std::vector<bool> loud_;                // in a region: may raise, or is computed from what may
  std::vector<bool> stays_;               // in a region: read by something else than slices
  Writes writes_;                         // by the commits that are kept so far
};

}  // namespace

namespace {

absl::Status canonicalizeAll(Graph& graph, Unneeded unneeded) {
  const auto inside = [](Graph& region) { return canonicalizeAll(region, Unneeded::kDrop); };
  if (absl::Status s = forEachRegion(graph, inside); !s.ok()) return s;
  graph.canonicalizeSyms();
  Canonicalizer canonicalizer(graph);
  return rewrite(graph, [&](Rewriter& rw, ValueId id) { return canonicalizer.visit(rw, id); }, unneeded);
}

}  // namespace

absl::Status canonicalize(Graph& graph, const PassContext& context) {
  return canonicalizeAll(graph, context.target.reportsFlags ? Unneeded::kKeepRaising : Unneeded::kDrop);
}

}  // namespace fw::graph
