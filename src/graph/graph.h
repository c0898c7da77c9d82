// The SSA graph. Nodes live in one arena, in topological order; a ValueId is the index of the node that makes it.
// Pure nodes are hash-consed: adding an equal node returns the existing id.
//
// Text form, read back by parse() (parser.h):
//
//   graph(s0: [1, inf], s1: [1, inf]) {
//     %0 = input() {index=0} : f32[s0, s1]
//     %1 = input() {index=1} : f32[s0, s1] layout=f
//     %2 = add(%0, %1) : f32[s0, s1] line=7
//     %3 = sum(%2) {axes=[1], keepdims=0} : f32[s0]
//     return %3
//   }
//
// A graph is functional but for its commits: `store` nodes that, after everything else is computed and accepted, write
// into the memory of inputs, in order. Every other node that reads an input reads what it held before. A `commit %7,
// %9` line before `return` lists them.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/dtype.h"
#include "graph/error_rules.h"
#include "graph/layout.h"
#include "graph/op.h"
#include "graph/support/ids.h"
#include "graph/symint.h"

namespace fw::graph {

struct ValueTag;
using ValueId = StrongId<ValueTag>;
class Graph;

/// Type of a value: an array; rank 0 stands for scalars too. Tuples (of loop and cond) list their elements.
struct ValueType {
  DType dtype = DType::kF64;
  SymShape shape;
  Layout layout;                 ///< NumPy's memory layout of the value at this point
  std::vector<ValueType> tuple;  ///< non-empty only for loop, cond, bind and call

  int rank() const { return static_cast<int>(shape.size()); }
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// Bits of the axes whose size is statically 1.
uint32_t unitAxes(const SymContext& syms, const SymShape& shape);
std::string print(const SymContext& syms, const ValueType& type);

/// A scalar constant: bits of one element.
struct Scalar {
  DType dtype = DType::kF64;
  uint64_t lo = 0;  ///< the element's bytes, little endian, zero-extended (real part of c128)
  uint64_t hi = 0;  ///< imaginary part of c128

  static Scalar ofBool(bool v);
  static Scalar ofInt(DType d, int64_t v);    ///< any integer or bool type; wraps
  static Scalar ofDouble(DType d, double v);  ///< any float type; rounds
  static Scalar ofComplex(DType d, std::complex<double> v);
  static Scalar zero(DType d);
  static Scalar one(DType d);
  std::complex<double> asComplex() const;
  double asDouble() const;  ///< real part
  int64_t asInt() const;
  friend bool operator==(const Scalar&, const Scalar&) = default;  // bitwise: NaN == NaN, 0.0 != -0.0
};

/// Names and kinds of attributes; one list for printing, parsing and verification.
enum class AttrKey : uint8_t {
#define FW_ATTR(Id, text, kind, help) k##Id,
#include "graph/attrs.def"
};
enum class AttrKind : uint8_t {
  kInt,
  kSym,
  kScalar,
  kInts,
  kSyms,
  kText
};  ///< in the order of AttrValue's alternatives

struct AttrInfo {
  AttrKey key;
  std::string_view text;
  AttrKind kind;
};
inline constexpr AttrInfo kAttrs[] = {
#define FW_ATTR(Id, text, kind, help) {AttrKey::k##Id, text, AttrKind::k##kind},
#include "graph/attrs.def"
};
constexpr const AttrInfo& info(AttrKey key) { return kAttrs[static_cast<int>(key)]; }
std::string_view attrName(AttrKey key);

using IntList = absl::InlinedVector<int64_t, 4>;
template <class List, class T>
  requires requires(const List& list) { list.begin(); }
bool contains(const List& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}
using SymList = absl::InlinedVector<SymId, 4>;
using AttrValue = std::variant<int64_t, SymId, Scalar, IntList, SymList, std::string>;

/// Small sorted map of attributes.
class Attrs {
 public:
  Attrs& set(AttrKey key, AttrValue value);
  bool has(AttrKey key) const;
  int64_t integer(AttrKey key) const;  ///< FW_CHECKs presence and type, as the others
  int64_t integerOr(AttrKey key, int64_t fallback) const;
  SymId sym(AttrKey key) const;
  const Scalar& scalar(AttrKey key) const;
  const IntList& ints(AttrKey key) const;
  const SymList& syms(AttrKey key) const;
  const std::string& text(AttrKey key) const;
  absl::Span<const std::pair<AttrKey, AttrValue>> entries() const { return entries_; }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  absl::InlinedVector<std::pair<AttrKey, AttrValue>, 2> entries_;
};

/// Of a node with that attribute; else the error state of the call is in force.
inline ErrorRules rulesOf(const Attrs& attrs) { return ErrorRules::of(attrs.integerOr(AttrKey::kErrors, 0)); }

struct Node {
  Op op;
  absl::InlinedVector<ValueId, 3> operands;
  Attrs attrs;
  ValueType type;
  uint32_t line = 0;                            ///< line in the user's source, 0 if none
  std::vector<std::unique_ptr<Graph>> regions;  ///< loop: 1, cond: 2; share the SymContext of the outermost graph
};

class Graph {
 public:
  Graph();                        ///< with a SymContext of its own
  explicit Graph(Graph& parent);  ///< region: shares the parent's SymContext
  /// An empty graph in the place of this one: a region if this is one.
  Graph another() const;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  /// Its inputs are values of the graph around, in memory of ours, rather than arrays of the call.
  bool isRegion() const { return region_; }
  SymContext& syms() const { return *syms_; }
  std::shared_ptr<SymContext> sharedSyms() const { return syms_; }

  /// Source line given to nodes added from here on.
  void setLine(uint32_t line) { line_ = line; }
  /// What becomes of conditions that nodes raise which are added from here on.
  void setErrors(ErrorRules rules) { errors_ = rules; }
  ErrorRules errors() const { return errors_; }

  // Typed constructors of sources.
  ValueId input(int index, ValueType type);
  ValueId constant(Scalar value);
  ValueId sym(SymId expr);

  /// Adds a node whose type follows from op, operands and attrs (infer.h). Illegal combinations are an error that
  /// names operands and types.
  absl::StatusOr<ValueId> add(Op op, absl::Span<const ValueId> operands, Attrs attrs = {});
  /// Adds a node with a type the caller vouches for: reshape, broadcast, slice, full, iota, cast need the result's
  /// shape or dtype. Checked by the verifier. A layout left empty (of rank 0) is filled in by NumPy's rules.
  ValueId addTyped(Op op, absl::Span<const ValueId> operands, ValueType type, Attrs attrs = {},
                   std::vector<std::unique_ptr<Graph>> regions = {});

  /// Appends a node as it is: no type inference, no search for an equal node. For the parser and for passes that copy.
  ValueId append(Node node);

  // Shorthands used everywhere; all FW_CHECK on misuse.
  ValueId unary(Op op, ValueId a);
  ValueId binary(Op op, ValueId a, ValueId b);
  ValueId cast(ValueId a, DType to);  ///< a itself if it has the type already
  ValueId broadcastTo(ValueId a, const SymShape& shape);
  ValueId reduce(Op op, ValueId a, IntList axes, bool keepdims);
  ValueId slice(ValueId a, SymList starts, SymList steps, SymShape shape);
  ValueId transpose(ValueId a, IntList perm);
  ValueId expand(ValueId a, IntList axes);   ///< positions in the result, sorted
  ValueId squeeze(ValueId a, IntList axes);  ///< positions in the operand, sorted
  ValueId diagonal(ValueId a);
  ValueId windows(ValueId a, int axis, SymId size);
  ValueId reshape(ValueId a, SymShape shape, bool copy);
  ValueId full(ValueId value, SymShape shape);
  ValueId empty(DType dtype, SymShape shape);
  ValueId update(ValueId base, ValueId value, SymList starts, SymList steps);
  /// Adds a store of `value` into `target`, a view of an input of the same type, as the last commit.
  ValueId commit(ValueId target, ValueId value);

  const Node& node(ValueId id) const { return *nodes_[id.index]; }
  Node& mutableNode(ValueId id) { return *nodes_[id.index]; }
  const ValueType& type(ValueId id) const { return node(id).type; }
  size_t size() const { return nodes_.size(); }

  uint32_t line() const { return line_; }
  std::vector<ValueId>& outputs() { return outputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  /// Store nodes in program order, which is also the order of their ids.
  std::vector<ValueId>& commits() { return commits_; }
  const std::vector<ValueId>& commits() const { return commits_; }
  /// Inputs by index (ids of the `input` nodes).
  std::vector<ValueId> inputs() const;

  /// Replaces every SymId of types and attributes by its canonical form (after SymContext::assumeEqual).
  void canonicalizeSyms();

  /// Number of uses of every value, graph outputs and commits included.
  std::vector<uint32_t> useCounts() const;

 private:
  ValueId addPure(Node node);

  std::shared_ptr<SymContext> syms_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<ValueId> outputs_, commits_;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<ValueId, 1>> consed_;
  uint32_t line_ = 0;
  ErrorRules errors_;
  bool region_ = false;
};

std::string print(const Graph& graph);
std::string print(const Scalar& value);

}  // namespace fw::graph
