// How the axes of a value lie under those of what reads it. Whether an axis is repeated (size 1 under any other) has
// one answer, here: NumPy's rule leaves two cases, and where the sizes are not known to be equal it is the other one.
// Nobody asks whether a size is 1 for that: it may be known by a range or a guard as well as by a constant, and later
// rather than sooner. The verifier demands that what is repeated is provably 1.
#pragma once

#include "graph/graph.h"

namespace fw::graph {

/// An axis of size `from`, broadcast to size `to`, is repeated along it.
bool isStretched(SymContext& syms, SymId from, SymId to);

/// Axis of the result, of rank `rank`, that every axis of a gather's source, of rank `from`, runs along; -1 for those
/// that are gathered.
IntList gatheredAlong(int from, int rank, const Attrs& attrs);

/// Domain axis of every axis of operand `index` of `user`, -1 where it does not run along one. `axes` is the entry of
/// `user` in Group::axisMap, `reduced` are the group's reduced axes.
IntList operandAxes(const Graph& graph, const IntList& axes, const IntList& reduced, ValueId user, size_t index);

}  // namespace fw::graph
