// Sizes that library calls decide. There is no value of theirs that a trace could look at, and no guard: what the trace
// takes for granted about one is checked when the call has returned, and Python runs everything else. So an answer is
// never read off a hint. It is proved; or it is what holds of an array that is not tiny (a size is at least so much),
// or of arrays that the program computes with together (a size is another), and becomes the range of the symbol, or the
// other size; or it is a break. Numbers of the graph that become sizes or places (define()) are checked where they do.
#include "frame_eval/data_sizes.h"

#include <algorithm>

#include "frame_eval/trace.h"
#include "graph/bound_sizes.h"
#include "graph/support/check.h"
#include "guards/set_index.h"

namespace fw::capture {

using graph::SymId;
using guards::Relation;

namespace {

/// Sizes in bytes are computed without checks for overflow.
constexpr int64_t kMostElements = int64_t{1} << 46;
/// What a size is taken to be at least without asking.
constexpr int64_t kLikely = 4;

/// The number of the symbol that was made last; -1 if there is none.
int64_t newestSymbol(const graph::SymContext& syms, SymId id) {
  std::vector<int64_t> symbols;
  guards::symbolsIn(syms, id, symbols);
  return symbols.empty() ? -1 : *std::max_element(symbols.begin(), symbols.end());
}

}  // namespace

SymId DataSizes::make(graph::ValueId call) {
  FW_CHECK(call.index == trace_.graph().size());
  const SymId size = trace_.addSymbol("k" + std::to_string(symbols_.size()), {0, kMostElements}, INT64_MIN,
                                      {guards::SymbolBinding::From::kCall, {}, 0});
  symbols_.insert(size);
  madeBy_[size] = call.index;
  return size;
}

void DataSizes::enterArm() { arms_.push_back(trace_.graph().size()); }
void DataSizes::leaveArm() { arms_.pop_back(); }

SymId DataSizes::define(graph::ValueId number, SymId least, SymId most, graph::SymRange range) {
  if (trace_.keepsWrites) trace_.fail(BreakReason::kDataDependentShape, "a number that array data decides is checked");
  for (const Defined& known : defined_)
    if (known.number == number && known.least == least && known.most == most)
      return trace_.syms().canonical(known.symbol);
  const SymId symbol = trace_.addSymbol("k" + std::to_string(symbols_.size()), range, INT64_MIN,
                                        {guards::SymbolBinding::From::kCall, {}, 0});
  symbols_.insert(symbol);
  graph::Attrs attrs;
  attrs.set(graph::AttrKey::kSymbol, symbol).set(graph::AttrKey::kLeast, least).set(graph::AttrKey::kMost, most);
  const graph::ValueId definition =
      trace_.graph().addTyped(graph::Op::kDefine, {number}, {graph::DType::kBool, {}, {}, {}}, std::move(attrs));
  defined_.push_back({number, definition, least, most, symbol});
  madeBy_[symbol] = definition.index;
  return symbol;
}

bool DataSizes::contains(SymId sym) const { return graph::mentions(trace_.syms(), sym, symbols_); }

bool DataSizes::areOfArrays(SymId sym) const {
  return contains(sym) && std::none_of(defined_.begin(), defined_.end(),
                                       [&](const Defined& d) { return graph::mentions(trace_.syms(), sym, d.symbol); });
}

void DataSizes::assumeSame(SymId left, SymId right) {
  graph::SymContext& s = trace_.syms();
  left = s.canonical(left);
  right = s.canonical(right);
  for (const auto& [size, other] : {std::pair(left, right), std::pair(right, left)}) {
    // What the size is compared with has to be there when the call returns.
    const bool known = symbols_.contains(size) && !s.isConst(other, 1) && newestSymbol(s, other) < s.node(size).value;
    if (!known) continue;
    // What has been taken for granted about the one holds of the other from here on.
    if (s.range(size).lo > 0 && !trace_.decide(s.constant(s.range(size).lo), Relation::kLe, other)) break;
    s.assumeEqual(size, other);
    if (s.canonical(size) != s.canonical(other)) break;
    checkEqual(size, other);
    return;
  }
  trace_.fail(BreakReason::kDataDependentShape, "whether two sizes are equal depends on array data");
}

DataSizes::Defined* DataSizes::definitionOf(SymId symbol) {
  const auto at = std::find_if(defined_.begin(), defined_.end(), [&](const Defined& d) { return d.symbol == symbol; });
  return at == defined_.end() ? nullptr : &*at;
}

/// In an arm: that the symbol, which stands in front of it, is at least so much. Other calls go another way, and
/// nothing is taken for granted about it there. False if it is of the arm, or there is none.
bool DataSizes::checkInArm(SymId symbol, int64_t least) {
  const auto made = madeBy_.find(symbol);
  if (arms_.empty() || made == madeBy_.end() || made->second >= arms_.back()) return false;
  graph::SymContext& s = trace_.syms();
  (void)define(trace_.graph().sym(symbol), s.constant(least), s.constant(kMostElements), {least, kMostElements});
  return true;
}

/// From here on the symbol is at least so much. Calls are asked for the range of their symbols when they return,
/// definitions check what they say.
void DataSizes::narrow(SymId symbol, int64_t least) {
  if (checkInArm(symbol, least)) return;
  graph::SymContext& s = trace_.syms();
  s.assumeWithin(symbol, {least, kMostElements});
  const Defined* definition = definitionOf(symbol);
  if (!definition) return;
  graph::Attrs& attrs = trace_.graph().mutableNode(definition->definition).attrs;
  attrs.set(graph::AttrKey::kLeast, s.max(attrs.sym(graph::AttrKey::kLeast), s.constant(least)));
  if (const auto most = s.asConst(attrs.sym(graph::AttrKey::kMost)); most && *most > kMostElements)
    attrs.set(graph::AttrKey::kMost, s.constant(kMostElements));
}

/// The definition of a symbol that is another number from here on: one that nobody reads, and a check.
void DataSizes::checkEqual(SymId symbol, SymId other) {
  const Defined* definition = definitionOf(symbol);
  if (!definition) return;
  graph::Attrs& attrs = trace_.graph().mutableNode(definition->definition).attrs;
  // An array that has to be at least so large is known to be before anything is computed.
  const SymId most = attrs.sym(graph::AttrKey::kMost);
  const Defined* of = definitionOf(other);
  const SymId largest = of ? trace_.graph().node(of->definition).attrs.sym(graph::AttrKey::kMost) : other;
  if (!trace_.decide(largest, Relation::kLe, most))
    trace_.fail(BreakReason::kPythonException, "a size is larger than the array that it is of");
  const SymId unread = trace_.addSymbol("k" + std::to_string(symbols_.size()), trace_.syms().range(symbol), INT64_MIN,
                                        {guards::SymbolBinding::From::kCall, {}, 0});
  symbols_.insert(unread);
  attrs.set(graph::AttrKey::kSymbol, unread).set(graph::AttrKey::kLeast, other).set(graph::AttrKey::kMost, other);
}

std::optional<bool> DataSizes::tell(SymId left, Relation relation, SymId right) {
  graph::SymContext& s = trace_.syms();
  if (relation == Relation::kLt || relation == Relation::kLe) {
    // left <= right is about right - left, a multiple of nothing but a size, and a constant.
    const SymId difference = s.canonical(s.sub(right, left));
    const graph::SymNode node = s.node(difference);
    SymId rest = difference;
    int64_t constant = 0;
    if (node.op == graph::SymOp::kAdd && node.operands.size() == 2)
      for (int i : {0, 1})
        if (auto known = s.asConst(node.operands[static_cast<size_t>(i)])) {
          constant = *known;
          rest = node.operands[static_cast<size_t>(1 - i)];
        }
    const int64_t margin = relation == Relation::kLt ? 1 : 0;
    if (symbols_.contains(rest) && margin - constant <= kLikely) {
      narrow(rest, margin - constant);
      return true;
    }
    const SymId negative = s.neg(rest);
    if (symbols_.contains(negative) && constant - margin + 1 <= kLikely) {
      narrow(negative, constant - margin + 1);
      return false;
    }
    // A product is positive if all of its factors are.
    const graph::SymNode product = s.node(rest);
    if (product.op == graph::SymOp::kMul && margin - constant == 1) {
      const auto isPositive = [&](SymId factor) { return trace_.decide(s.constant(1), Relation::kLe, factor); };
      return std::all_of(product.operands.begin(), product.operands.end(), isPositive);
    }
  }
  return std::nullopt;
}

void DataSizes::forget(size_t begin) {
  std::erase_if(defined_, [&](const Defined& known) { return known.definition.index >= begin; });
  std::erase_if(trueCounts_, [&](const TrueCount& known) { return known.call.index >= begin; });
}

std::optional<SymId> DataSizes::trueCount(graph::ValueId node) const {
  for (const TrueCount& known : trueCounts_)
    if (known.node == node) return known.count;
  return std::nullopt;
}

void DataSizes::setTrueCount(graph::ValueId node, SymId count, graph::ValueId call) {
  trueCounts_.push_back({node, call, count});
}

namespace {

void settleIn(graph::Graph& graph, absl::flat_hash_set<SymId> bound, const absl::flat_hash_set<SymId>& decided) {
  for (size_t i = 0; i < graph.size(); ++i) {
    graph::Node& node = graph.mutableNode(graph::ValueId(i));
    for (const auto& region : node.regions) settleIn(*region, bound, decided);
    if (node.op == graph::Op::kDefine) bound.insert(node.attrs.sym(graph::AttrKey::kSymbol));
    if (!node.attrs.has(graph::AttrKey::kSizes)) continue;
    graph::SymList own;
    graph::Attrs rest;
    for (SymId size : node.attrs.syms(graph::AttrKey::kSizes))
      if (decided.contains(size) && bound.insert(size).second) own.push_back(size);
    for (const auto& [key, value] : node.attrs.entries())
      if (key != graph::AttrKey::kSizes) rest.set(key, value);
    if (!own.empty()) rest.set(graph::AttrKey::kSizes, std::move(own));
    node.attrs = std::move(rest);
  }
}

}  // namespace

void DataSizes::settle() {
  if (symbols_.empty()) return;
  trace_.graph().canonicalizeSyms();
  settleIn(trace_.graph(), {}, symbols_);
}

}  // namespace fw::capture
