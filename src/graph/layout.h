// How NumPy lays a value out in memory. The graph is functional, but NumPy's results depend on layout in two visible
// ways: the stride order of a fresh result (order='K') and the order in which reductions add. So every array
// value carries the layout that the array would have in NumPy at that point of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace fw::graph {

/// How far memory of one array is known to be regular; each class implies the ones after it.
enum class Contiguity : uint8_t {
  kPacked,   ///< no gaps: the strides follow from shape and order
  kInner,    ///< the innermost axis (in memory order) has stride itemsize, the others are free
  kStrided,  ///< any strides
};

/// Every statement about strides is about their absolute values; the sign is in negativeAxes. Axes of size statically 1
/// and broadcast axes take part in `order` (somewhere) but say nothing about strides: kPacked and kInner leave them
/// out.
struct Layout {
  /// Axes from the largest to the smallest stride, axes of one stride as in C order; {0,1,...,n-1} is C order, the
  /// reverse is F order.
  absl::InlinedVector<int8_t, 4> order;
  Contiguity contiguity = Contiguity::kPacked;
  uint32_t broadcastAxes = 0;  ///< bit i: axis i has stride 0 (and a size that is not statically 1)
  uint32_t negativeAxes = 0;   ///< bit i: axis i has a negative stride
  /// Bit i: axis i has the stride of the nearest axis ahead of it in `order` that has one (sliding windows). Elements
  /// are shared then, and only inputs and their views are so.
  uint32_t tiedAxes = 0;
  /// An axis reaches as far as the stride of one further out, or further: a step along it may change the order of the
  /// axes. Other than that every view keeps it.
  bool interleaved = false;

  static Layout c(int rank);
  static Layout f(int rank);
  bool isCOrder() const;
  bool isFOrder() const;
  /// This order in memory of its own.
  Layout packed() const;
  bool isPacked() const { return contiguity == Contiguity::kPacked && !broadcastAxes && !negativeAxes; }
  bool isPackedC() const { return isPacked() && isCOrder(); }
  int rank() const { return static_cast<int>(order.size()); }
  bool isBroadcast(int axis) const { return (broadcastAxes >> axis & 1) != 0; }
  bool isNegative(int axis) const { return (negativeAxes >> axis & 1) != 0; }
  friend bool operator==(const Layout&, const Layout&) = default;
  /// "c", "f", "perm(1,0,2)", with suffixes "/inner", "/strided", "/bcast(0)", "/neg(1)", "/tied(1)", "/interleaved".
  /// Packed C prints as "c".
  std::string print() const;
  /// Reads what print() writes; nullopt if the text is no layout of that rank.
  static std::optional<Layout> parse(std::string_view text, int rank);
};

/// One operand of a ufunc as NumPy's iterator sees it.
struct LayoutOperand {
  const Layout* layout;
  uint32_t unitAxes;  ///< bit i: axis i has size statically 1 (stride counts as 0)
};

/// Layout of the result that a ufunc allocates with order='K': the axis order that NumPy's iterator finds by comparing
/// the operands' absolute strides pairwise (C order wins a conflict, zero strides do not vote). `rank` is the result's;
/// operands of lower rank are aligned at the right.
Layout ufuncResultLayout(int rank, absl::Span<const LayoutOperand> operands);

/// Layout of a fresh array "like" this one with order='K' (astype, copy, *_like): axes by decreasing absolute stride.
/// Other than in a ufunc, broadcast axes count as the smallest strides.
Layout likeLayout(const Layout& layout, uint32_t unitAxes);

/// Layout that np.concatenate gives its result: as a ufunc's, but only unit axes abstain, zero strides vote.
Layout concatenateLayout(int rank, absl::Span<const LayoutOperand> operands);

}  // namespace fw::graph
