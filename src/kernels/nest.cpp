// Axis merging and loop opening; nothing here knows what is computed.
#include "kernels/nest.h"

#include <algorithm>

#include "graph/support/check.h"

namespace fw::kernels {

using graph::contains;

namespace {

bool equal(graph::SymContext& syms, SymId a, SymId b) {
  a = syms.canonical(a);
  b = syms.canonical(b);
  return a == b || syms.provablyEqual(a, b) == true;
}

}  // namespace

bool NestAxis::covers(int64_t axis) const { return contains(members, axis); }

std::vector<NestAxis> mergeAxes(graph::SymContext& syms, const SymShape& domain, const IntList& order,
                                const std::vector<const MemoryRef*>& refs, const IntList& reduced,
                                const IntList& alone) {
  std::vector<NestAxis> axes;
  for (int64_t axis : order) {
    const SymId size = syms.canonical(domain[axis]);
    const bool isReduced = contains(reduced, axis);
    bool merges = !axes.empty() && axes.back().reduced == isReduced && !contains(alone, axis) &&
                  !contains(alone, axes.back().innermost());
    for (const MemoryRef* ref : refs) {
      if (!merges) break;
      merges = equal(syms, ref->strides[axes.back().innermost()], syms.mul(ref->strides[axis], size));
    }
    if (merges) {
      axes.back().members.push_back(axis);
      axes.back().size = syms.mul(axes.back().size, size);
    } else {
      axes.push_back(NestAxis{{axis}, size, isReduced, {}});
    }
  }
  return axes;
}

namespace {

void openFrom(KernelBuilder& b, const std::vector<NestAxis>& axes, bool vectorize, bool parallel,
              std::vector<AxisId>& open, const std::function<void(const std::vector<AxisId>&)>& body) {
  if (open.size() == axes.size()) return body(open);
  const NestAxis& axis = axes[open.size()];
  const bool last = open.size() + 1 == axes.size();
  b.loop(b.constantInt(DType::kI64, 0), b.param(axis.size), vectorize && last, parallel, [&](AxisId id) {
    open.push_back(id);
    openFrom(b, axes, vectorize, parallel, open, body);
    open.pop_back();
  });
}

}  // namespace

void openLoops(KernelBuilder& b, const std::vector<NestAxis>& axes, bool vectorize, bool parallel,
               const std::function<void(const std::vector<AxisId>& axisOf)>& body) {
  std::vector<AxisId> open;
  openFrom(b, axes, vectorize, parallel, open, body);
}

Access accessOf(KernelBuilder& b, const MemoryRef& ref, const std::vector<NestAxis>& axes,
                const std::vector<AxisId>& axisOf, int part) {
  graph::SymContext& syms = b.syms();
  const int64_t partOffset = part * graph::itemSize(graph::realOf(ref.dtype));
  Access access{ref.buffer, syms.canonical(syms.add(ref.offset, syms.constant(partOffset))), {}};
  for (size_t i = 0; i < axes.size(); ++i) {
    SymId stride = ref.strides[axes[i].innermost()];
    if (axes[i].scale.valid()) stride = syms.mul(stride, axes[i].scale);
    stride = syms.canonical(stride);
    if (syms.isConst(stride, 0)) continue;
    FW_CHECK_MSG(axisOf[i].valid(), "memory operand runs along an axis that is not open");
    access.terms.push_back({axisOf[i], stride});
  }
  return access;
}

}  // namespace fw::kernels
