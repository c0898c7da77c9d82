// The geometry of loop nests: memory operands as strides per domain axis, order of loops, merging of axes.
#pragma once

#include <functional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/plan.h"
#include "kernels/builder.h"

namespace fw::kernels {

using graph::IntList;
using graph::SymList;
using graph::SymShape;

/// An array in memory, addressed by the axes of a domain.
struct MemoryRef {
  graph::BufferId buffer;
  DType dtype;
  SymId offset;     ///< bytes
  SymList strides;  ///< bytes per domain axis, 0 along axes it does not have
  /// Along an axis that it does have the stride is 0, too, and that axis may be empty: what has no element must not be
  /// loaded ahead of the loop over it.
  bool mayBeEmpty = false;
};

/// One loop: domain axes that run together, outermost first.
struct NestAxis {
  IntList members;
  SymId size;
  bool reduced = false;
  SymId scale;  ///< if valid: one step of the loop is that many along the axis
  bool covers(int64_t axis) const;
  int64_t innermost() const { return members.back(); }
};

/// Domain axes `order` (outermost first) as loops, with neighbours merged where every ref, and every list of `strides`,
/// walks them as one axis: stride(outer) == stride(inner) * size(inner), provably. Axes of `alone` stay alone; kept
/// and reduced axes do not mix.
std::vector<NestAxis> mergeAxes(graph::SymContext& syms, const SymShape& domain, const IntList& order,
                                const std::vector<const MemoryRef*>& refs, const IntList& reduced,
                                const IntList& alone);

/// Opens one loop per axis and calls `body` in the innermost. `axisOf` (indexed like `axes`) receives the open axes.
/// Every loop is marked parallel if `parallel`; the last one is vectorised if `vectorize`.
void openLoops(KernelBuilder& b, const std::vector<NestAxis>& axes, bool vectorize, bool parallel,
               const std::function<void(const std::vector<AxisId>& axisOf)>& body);

/// Where element [axes...] of `ref` lies. The part is 0 (real, or everything) or 1 (imaginary).
Access accessOf(KernelBuilder& b, const MemoryRef& ref, const std::vector<NestAxis>& axes,
                const std::vector<AxisId>& axisOf, int part);

}  // namespace fw::kernels
