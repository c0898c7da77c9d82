// Symbolic integers: hash-consed expressions over named symbols (array dimensions, byte strides, Python ints).
// Shape inference, guards, kernel bounds and output allocation all speak SymId of one SymContext.
//
// Expressions are kept in canonical form, so that equal polynomials have equal ids: sums are flattened and sorted
// with integer coefficients collected, products are distributed over sums, constants folded; floorDiv and mod by a
// constant are simplified where divisibility is provable; min and max drop dominated operands using ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/support/ids.h"

namespace fw::graph {

struct SymTag;
using SymId = StrongId<SymTag>;
using SymShape = absl::InlinedVector<SymId, 4>;

enum class SymOp : uint8_t { kConst, kSymbol, kAdd, kMul, kFloorDiv, kMod, kMin, kMax };

/// Inclusive bounds known about a value.
struct SymRange {
  int64_t lo = INT64_MIN;
  int64_t hi = INT64_MAX;
  friend bool operator==(const SymRange&, const SymRange&) = default;
};

struct SymNode {
  SymOp op;
  int64_t value = 0;                       ///< kConst: the value; kSymbol: index of the symbol
  absl::InlinedVector<SymId, 2> operands;  ///< kAdd, kMul, kMin, kMax: n >= 2 sorted; kFloorDiv, kMod: 2
  SymRange range;
  bool opaque = false;  ///< kAdd, kMul left unexpanded (a coefficient would overflow)
};

class SymContext {
 public:
  SymContext();

  SymId constant(int64_t v);
  /// New symbol number symbolCount(). `name` is what the text IR prints (s0, s1 ... by convention for
  /// dimensions, t0 ... for byte strides, i0 ... for Python ints).
  SymId symbol(std::string name, SymRange range);
  SymId add(SymId a, SymId b);
  SymId sub(SymId a, SymId b);
  SymId neg(SymId a);
  SymId mul(SymId a, SymId b);
  SymId floorDiv(SymId a, SymId b);  ///< Python's //; b must be provably non-zero
  SymId mod(SymId a, SymId b);       ///< Python's %; b must be provably non-zero
  SymId min(SymId a, SymId b);
  SymId max(SymId a, SymId b);
  SymId product(absl::Span<const SymId> ids);

  const SymNode& node(SymId id) const { return nodes_[id.index]; }
  size_t size() const { return nodes_.size(); }
  int symbolCount() const { return static_cast<int>(symbolIds_.size()); }
  SymId symbolId(int index) const { return symbolIds_[index]; }
  const std::string& symbolName(int index) const { return symbolNames_[index]; }
  std::optional<SymId> findSymbol(std::string_view name) const;

  std::optional<int64_t> asConst(SymId id) const;
  bool isConst(SymId id, int64_t v) const { return asConst(id) == v; }
  SymRange range(SymId id) const { return node(id).range; }

  /// Three-valued: true or false when it holds for all values within the ranges, nullopt when it depends.
  std::optional<bool> provablyEqual(SymId a, SymId b);
  std::optional<bool> provablyLess(SymId a, SymId b);
  /// True if a <= b for all values within the ranges; false if that is not known.
  bool provablyLessEqual(SymId a, SymId b);

  /// Records that a guard makes a and b equal. From then on canonical() replaces the later symbol (or the expression)
  /// by the other, and provablyEqual() knows.
  void assumeEqual(SymId a, SymId b);
  /// Records that a guard keeps a within a range: a symbol (plus or minus a constant) has it from then on.
  void assumeWithin(SymId a, SymRange range) { narrow(a, range); }
  /// id rebuilt with everything assumed so far; equal values have equal canonical ids as far as is known.
  SymId canonical(SymId id);

  /// Value under concrete symbol values (symbols[i] is symbol i). Overflow and division by zero give an error.
  absl::StatusOr<int64_t> evaluate(SymId id, absl::Span<const int64_t> symbols) const;

  /// Canonical text, e.g. "s0", "s0*s1 + 3", "(s0 + -2)//2"; parse() reads it back (unknown names are errors).
  std::string print(SymId id) const;
  absl::StatusOr<SymId> parse(std::string_view text);

 private:
  friend class SymAlgebra;  // symint_algebra.h: polynomials over this context
  SymId intern(SymNode node);
  std::optional<bool> compared(SymId a, SymId b);
  SymId rebuild(SymId id, absl::flat_hash_map<SymId, SymId>& done);
  void addRule(SymId from, SymId to);
  void narrow(SymId value, SymRange range);
  std::vector<SymNode> nodes_;
  std::vector<SymId> symbolIds_;
  std::vector<std::string> symbolNames_;
  /// What a node is made of tells which it is; its range is what is known about it.
  struct SameNode {
    bool operator()(const SymNode& a, const SymNode& b) const {
      return a.op == b.op && a.opaque == b.opaque && a.value == b.value && a.operands == b.operands;
    }
  };
  struct NodeHash {
    size_t operator()(const SymNode& n) const { return absl::HashOf(n.op, n.opaque, n.value, n.operands); }
  };
  absl::flat_hash_map<SymNode, SymId, NodeHash, SameNode> interned_;
  absl::flat_hash_map<std::string, SymId> named_;
  // Answers of canonical() and provablyLess() since something was learnt: nests of loops ask the same of each element.
  absl::flat_hash_map<SymId, SymId> canonical_;
  absl::flat_hash_map<std::pair<SymId, SymId>, std::optional<bool>> less_;
  void forgetAnswers() {
    canonical_.clear();
    less_.clear();
  }
  absl::flat_hash_map<SymId, SymId> assumed_;  // symbols and monomials, and what stands for them
  bool learnt_ = false;                        // a rule, or a range of a symbol
  std::vector<SymId> zeros_;                   // expressions known to be 0 that no rule could be made of
};

/// The sizes are the same, whatever the symbols are.
inline bool equalSizes(SymContext& syms, SymId a, SymId b) { return a == b || syms.provablyEqual(a, b) == true; }

}  // namespace fw::graph
