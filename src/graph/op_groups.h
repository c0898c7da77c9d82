// The rows of each file of the op table as an enumeration of its own: a switch over one names all of its rows, and the
// compiler says which it forgets.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>

#include "graph/op.h"

namespace fw::graph {

// Values are those of Op.
enum class ElementwiseOp : uint8_t {
#define FW_OP(Id, ...) k##Id = static_cast<uint8_t>(Op::k##Id),
#include "graph/ops/elementwise.def"
};
enum class MathOp : uint8_t {
#include "graph/ops/math.def"
};
enum class ReductionOp : uint8_t {
#include "graph/ops/reductions.def"
};
enum class StructureOp : uint8_t {
#include "graph/ops/structure.def"
#undef FW_OP
};

namespace group_rows {
#define FW_OP(Id, ...) Op::k##Id,
inline constexpr Op kElementwise[] = {
#include "graph/ops/elementwise.def"
};
inline constexpr Op kMath[] = {
#include "graph/ops/math.def"
};
inline constexpr Op kReductions[] = {
#include "graph/ops/reductions.def"
};
inline constexpr Op kStructure[] = {
#include "graph/ops/structure.def"
};
#undef FW_OP

/// The files stand one behind the other in the table.
template <class Group, size_t kCount>
constexpr std::optional<Group> find(const Op (&rows)[kCount], Op op) {
  if (op < rows[0] || op > rows[kCount - 1]) return std::nullopt;
  return static_cast<Group>(op);
}
}  // namespace group_rows

constexpr std::optional<ElementwiseOp> elementwiseOp(Op op) {
  return group_rows::find<ElementwiseOp>(group_rows::kElementwise, op);
}
constexpr std::optional<MathOp> mathOp(Op op) { return group_rows::find<MathOp>(group_rows::kMath, op); }
constexpr std::optional<ReductionOp> reductionOp(Op op) {
  return group_rows::find<ReductionOp>(group_rows::kReductions, op);
}
constexpr std::optional<StructureOp> structureOp(Op op) {
  return group_rows::find<StructureOp>(group_rows::kStructure, op);
}

}  // namespace fw::graph
