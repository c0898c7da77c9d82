// The arena of nodes, hash-consing, and the shorthands for building. Types come from infer.cpp. Equal pure nodes are
// one: equal means same op, operands, attributes and type, so two reshapes of a value to different shapes stay apart.
#include "graph/graph.h"

#include <algorithm>

#include "absl/status/status.h"
#include "graph/infer.h"
#include "graph/rank.h"
#include "graph/support/check.h"

namespace fw::graph {

std::string_view attrName(AttrKey key) { return info(key).text; }

uint32_t unitAxes(const SymContext& syms, const SymShape& shape) {
  uint32_t axes = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (syms.isConst(shape[i], 1)) axes |= 1u << i;
  }
  return axes;
}

// ---- Attrs

Attrs& Attrs::set(AttrKey key, AttrValue value) {
  FW_CHECK_MSG(value.index() == static_cast<size_t>(info(key).kind),
               "wrong kind of value for attribute " + std::string(attrName(key)));
  auto it =
      std::lower_bound(entries_.begin(), entries_.end(), key, [](const auto& e, AttrKey k) { return e.first < k; });
  if (it != entries_.end() && it->first == key) {
    it->second = std::move(value);
  } else {
    entries_.insert(it, {key, std::move(value)});
  }
  return *this;
}

bool Attrs::has(AttrKey key) const {
  return std::any_of(entries_.begin(), entries_.end(), [key](const auto& e) { return e.first == key; });
}

namespace {

template <class T>
const T& attribute(const Attrs& attrs, AttrKey key) {
  for (const auto& [k, v] : attrs.entries()) {
    if (k == key) return std::get<T>(v);
  }
  FW_CHECK_MSG(false, "missing attribute " + std::string(attrName(key)));
}

}  // namespace

int64_t Attrs::integer(AttrKey key) const { return attribute<int64_t>(*this, key); }
int64_t Attrs::integerOr(AttrKey key, int64_t fallback) const { return has(key) ? integer(key) : fallback; }
SymId Attrs::sym(AttrKey key) const { return attribute<SymId>(*this, key); }
const Scalar& Attrs::scalar(AttrKey key) const { return attribute<Scalar>(*this, key); }
const IntList& Attrs::ints(AttrKey key) const { return attribute<IntList>(*this, key); }
const SymList& Attrs::syms(AttrKey key) const { return attribute<SymList>(*this, key); }
const std::string& Attrs::text(AttrKey key) const { return attribute<std::string>(*this, key); }

// ---- hash-consing

namespace {

class Hasher {
 public:
  void mix(uint64_t v) { hash_ = (hash_ ^ v) * 0x9E3779B97F4A7C15ull + (hash_ >> 29); }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0x243F6A8885A308D3ull;
};

void mixAttr(Hasher& h, const AttrValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) h.mix(static_cast<uint64_t>(*i));
  if (const auto* s = std::get_if<SymId>(&value)) h.mix(s->index);
  if (const auto* c = std::get_if<Scalar>(&value)) {
    h.mix(static_cast<uint64_t>(c->dtype));
    h.mix(c->lo);
    h.mix(c->hi);
  }
  if (const auto* l = std::get_if<IntList>(&value)) {
    for (int64_t i : *l) h.mix(static_cast<uint64_t>(i));
  }
  if (const auto* l = std::get_if<SymList>(&value)) {
    for (SymId s : *l) h.mix(s.index);
  }
  if (const auto* text = std::get_if<std::string>(&value)) h.mix(std::hash<std::string>()(*text));
}

uint64_t hashOf(const Node& node) {
  Hasher h;
  h.mix(static_cast<uint64_t>(node.op));
  for (ValueId o : node.operands) h.mix(o.index);
  for (const auto& [key, value] : node.attrs.entries()) {
    h.mix(static_cast<uint64_t>(key));
    mixAttr(h, value);
  }
  h.mix(static_cast<uint64_t>(node.type.dtype));
  for (SymId s : node.type.shape) h.mix(s.index);
  return h.hash();
}

bool sameValue(const Node& a, const Node& b) {
  return a.op == b.op && a.operands == b.operands && a.attrs == b.attrs && a.type == b.type;
}

bool isPure(const Node& node) {
  const bool control = info(node.op).cls == OpClass::kControl && node.op != Op::kProject;
  return node.op != Op::kInput && node.op != Op::kStore && !control && node.regions.empty();
}

}  // namespace

// ---- Graph

Graph::Graph() : syms_(std::make_shared<SymContext>()) {}

Graph::Graph(Graph& parent) : syms_(parent.syms_), line_(parent.line_), errors_(parent.errors_), region_(true) {}

Graph Graph::another() const {
  Graph graph(const_cast<Graph&>(*this));
  graph.region_ = region_;
  return graph;
}

ValueId Graph::append(Node node) {
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  return ValueId(nodes_.size() - 1);
}

/// NB: a node found in the map may have been changed through mutableNode() since; hence the comparison with its
/// present state, and hence a changed node may have an equal twin. eliminateCommonSubexpressions merges those.
ValueId Graph::addPure(Node node) {
  if (node.type.rank() > kMaxRank) throw TooManyAxes();
  if (errors_.any() && info(node.op).raises != Raises::kNothing) node.attrs.set(AttrKey::kErrors, errors_.code());
  if (!isPure(node)) return append(std::move(node));
  auto& candidates = consed_[hashOf(node)];
  for (ValueId id : candidates) {
    if (sameValue(*nodes_[id.index], node)) return id;
  }
  candidates.push_back(ValueId(nodes_.size()));
  return append(std::move(node));
}

ValueId Graph::input(int index, ValueType type) {
  if (type.layout.rank() != type.rank()) type.layout = Layout::c(type.rank());
  Node node{Op::kInput, {}, {}, std::move(type), line_, {}};
  node.attrs.set(AttrKey::kIndex, int64_t{index});
  return append(std::move(node));
}

ValueId Graph::constant(Scalar value) {
  Node node{Op::kConstant, {}, {}, {value.dtype, {}, {}, {}}, line_, {}};
  node.attrs.set(AttrKey::kValue, value);
  return addPure(std::move(node));
}

ValueId Graph::sym(SymId expr) {
  Node node{Op::kSym, {}, {}, {DType::kI64, {}, {}, {}}, line_, {}};
  node.attrs.set(AttrKey::kExpr, expr);
  return addPure(std::move(node));
}

namespace {

absl::InlinedVector<const ValueType*, 4> typesOf(const Graph& graph, absl::Span<const ValueId> operands) {
  absl::InlinedVector<const ValueType*, 4> types;
  for (ValueId o : operands) {
    FW_CHECK(o.index < graph.size());
    types.push_back(&graph.type(o));
  }
  return types;
}

}  // namespace

absl::StatusOr<ValueId> Graph::add(Op op, absl::Span<const ValueId> operands, Attrs attrs) {
  absl::StatusOr<ValueType> type = inferType(*syms_, op, typesOf(*this, operands), attrs);
  if (!type.ok()) {
    std::string text(info(op).text);
    text += '(';
    for (size_t i = 0; i < operands.size(); ++i) {
      text += (i ? ", %" : "%") + std::to_string(operands[i].index) + ": " + print(*syms_, this->type(operands[i]));
    }
    return absl::Status(type.status().code(), text + "): " + std::string(type.status().message()));
  }
  return addPure({op, {operands.begin(), operands.end()}, std::move(attrs), std::move(*type), line_, {}});
}

ValueId Graph::addTyped(Op op, absl::Span<const ValueId> operands, ValueType type, Attrs attrs,
                        std::vector<std::unique_ptr<Graph>> regions) {
  if (type.tuple.empty() && type.layout.rank() != type.rank()) {
    absl::StatusOr<ValueType> complete = completeType(*syms_, op, typesOf(*this, operands), attrs, type);
    // The verifier reports what is wrong; the node still needs a layout of its rank.
    type.layout = complete.ok() && complete->rank() == type.rank() ? complete->layout : Layout::c(type.rank());
  }
  return addPure(
      {op, {operands.begin(), operands.end()}, std::move(attrs), std::move(type), line_, std::move(regions)});
}

namespace {

ValueId orDie(absl::StatusOr<ValueId> id) {
  if (absl::IsOutOfRange(id.status())) throw TooManyAxes();
  FW_CHECK_MSG(id.ok(), std::string(id.status().message()));
  return *id;
}

}  // namespace

ValueId Graph::unary(Op op, ValueId a) { return orDie(add(op, {a})); }

ValueId Graph::binary(Op op, ValueId a, ValueId b) { return orDie(add(op, {a, b})); }

ValueId Graph::cast(ValueId a, DType to) {
  if (type(a).dtype == to) return a;
  return addTyped(Op::kCast, {a}, {to, type(a).shape, {}, {}});
}

ValueId Graph::broadcastTo(ValueId a, const SymShape& shape) {
  if (type(a).shape == shape) return a;
  return addTyped(Op::kBroadcast, {a}, {type(a).dtype, shape, {}, {}});
}

ValueId Graph::reduce(Op op, ValueId a, IntList axes, bool keepdims) {
  Attrs attrs;
  attrs.set(AttrKey::kAxes, std::move(axes)).set(AttrKey::kKeepdims, int64_t{keepdims});
  return orDie(add(op, {a}, std::move(attrs)));
}

ValueId Graph::slice(ValueId a, SymList starts, SymList steps, SymShape shape) {
  Attrs attrs;
  attrs.set(AttrKey::kStarts, std::move(starts)).set(AttrKey::kSteps, std::move(steps));
  return addTyped(Op::kSlice, {a}, {type(a).dtype, std::move(shape), {}, {}}, std::move(attrs));
}

ValueId Graph::transpose(ValueId a, IntList perm) {
  Attrs attrs;
  attrs.set(AttrKey::kPerm, std::move(perm));
  return orDie(add(Op::kTranspose, {a}, std::move(attrs)));
}

ValueId Graph::expand(ValueId a, IntList axes) {
  Attrs attrs;
  attrs.set(AttrKey::kAxes, std::move(axes));
  return orDie(add(Op::kExpand, {a}, std::move(attrs)));
}

ValueId Graph::squeeze(ValueId a, IntList axes) {
  Attrs attrs;
  attrs.set(AttrKey::kAxes, std::move(axes));
  return orDie(add(Op::kSqueeze, {a}, std::move(attrs)));
}

ValueId Graph::windows(ValueId a, int axis, SymId size) {
  Attrs attrs;
  attrs.set(AttrKey::kAxis, int64_t{axis}).set(AttrKey::kExpr, size);
  return orDie(add(Op::kWindows, {a}, std::move(attrs)));
}

ValueId Graph::diagonal(ValueId a) { return orDie(add(Op::kDiagonal, {a})); }

ValueId Graph::reshape(ValueId a, SymShape shape, bool copy) {
  Attrs attrs;
  attrs.set(AttrKey::kCopy, int64_t{copy});
  return addTyped(Op::kReshape, {a}, {type(a).dtype, std::move(shape), {}, {}}, std::move(attrs));
}

ValueId Graph::full(ValueId value, SymShape shape) {
  return addTyped(Op::kFull, {value}, {type(value).dtype, std::move(shape), {}, {}});
}

ValueId Graph::empty(DType dtype, SymShape shape) {
  Attrs attrs;
  attrs.set(AttrKey::kIndex, static_cast<int64_t>(size()));
  return addTyped(Op::kEmpty, {}, {dtype, std::move(shape), {}, {}}, std::move(attrs));
}

ValueId Graph::update(ValueId base, ValueId value, SymList starts, SymList steps) {
  Attrs attrs;
  attrs.set(AttrKey::kStarts, std::move(starts)).set(AttrKey::kSteps, std::move(steps));
  return orDie(add(Op::kUpdate, {base, value}, std::move(attrs)));
}

ValueId Graph::commit(ValueId target, ValueId value) {
  const ValueId store = orDie(add(Op::kStore, {target, value}));
  commits_.push_back(store);
  return store;
}

std::vector<ValueId> Graph::inputs() const {
  std::vector<ValueId> ids;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->op != Op::kInput) continue;
    auto index = static_cast<size_t>(nodes_[i]->attrs.integer(AttrKey::kIndex));
    if (index >= ids.size()) ids.resize(index + 1);
    ids[index] = ValueId(i);
  }
  return ids;
}

namespace {

void canonicalizeType(SymContext& syms, ValueType& type) {
  for (SymId& s : type.shape) s = syms.canonical(s);
  for (ValueType& t : type.tuple) canonicalizeType(syms, t);
}

}  // namespace

void Graph::canonicalizeSyms() {
  consed_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = *nodes_[i];
    canonicalizeType(*syms_, node.type);
    Attrs attrs;
    for (auto [key, value] : node.attrs.entries()) {
      // A definition keeps its name though the number is known by now: it still checks the number.
      auto* s = std::get_if<SymId>(&value);
      if (s && key != AttrKey::kSymbol) *s = syms_->canonical(*s);
      if (auto* list = std::get_if<SymList>(&value)) {
        for (SymId& s : *list) s = syms_->canonical(s);
      }
      attrs.set(key, std::move(value));
    }
    node.attrs = std::move(attrs);
    for (const auto& region : node.regions) region->canonicalizeSyms();
    if (isPure(node)) consed_[hashOf(node)].push_back(ValueId(i));
  }
}

std::vector<uint32_t> Graph::useCounts() const {
  std::vector<uint32_t> counts(nodes_.size(), 0);
  for (const auto& node : nodes_) {
    for (ValueId o : node->operands) ++counts[o.index];
  }
  for (ValueId o : outputs_) ++counts[o.index];
  for (ValueId o : commits_) ++counts[o.index];
  return counts;
}

}  // namespace fw::graph
