// Per axis, the slice that is read (T) and the slice that was stored (S) are two progressions (alias.h). If they have
// nothing in common along one axis, the update does not matter. If all elements of T are common, T is a slice of the
// stored value. Otherwise T is a slice of the older version with the common part replaced, which pays where T is a line
// or a point of the array: a large T is better served by the updated array itself, which all its readers share.
//
// What a loop changes in place has one memory for all of its versions. A reader of an older one would need a copy of
// everything in every turn: in regions only what was stored is read from somewhere else. So it is with the room of a
// list (kEmpty), most of which nobody uses.
#include "graph/passes/slice_of_update.h"

#include "graph/alias.h"

namespace fw::graph {
namespace {

/// Versions that one slice is looked for in: as many reads as writes would otherwise be quadratic work.
constexpr int kMaxVersions = 256;
/// Stored values that it may be put together of: what is known of no two places whether they are the same (pixels that
/// ints of the user say) would be put together of all writes before it, in every read.
constexpr int kMostParts = 8;

bool isRoom(const Graph& graph, ValueId array) {
  while (graph.node(array).op == Op::kUpdate) array = graph.node(array).operands[0];
  return graph.node(array).op == Op::kEmpty;
}

std::optional<ValueId> sliceOf(Graph& graph, ValueId updated, const SymList& starts, const SymList& steps,
                               const ValueType& type, int versions, int& parts) {
  SymContext& syms = graph.syms();
  const Node& update = graph.node(updated);
  if (update.op != Op::kUpdate || versions == 0) return std::nullopt;
  const ValueId base = update.operands[0], value = update.operands[1];
  const SymList storedStarts = update.attrs.syms(AttrKey::kStarts), storedSteps = update.attrs.syms(AttrKey::kSteps);
  const SymShape size = graph.type(base).shape, stored = graph.type(value).shape;
  SymList inValue, valueSteps, inRead;
  SymShape counts;
  bool all = true, known = true, thin = false;
  for (size_t i = 0; i < size.size(); ++i) {
    const Progression here{starts[i], steps[i], type.shape[i]}, there{storedStarts[i], storedSteps[i], stored[i]};
    const std::optional<CommonPart> common = commonPart(syms, here, there, size[i]);
    if (!(common && common->all) && alias(syms, here, there) == Alias::kNone) {
      if (std::optional<ValueId> older = sliceOf(graph, base, starts, steps, type, versions - 1, parts)) return older;
      if (graph.isRegion() || parts == 0) return std::nullopt;
      return graph.slice(base, starts, steps, type.shape);
    }
    known &= common.has_value();
    thin |= syms.isConst(type.shape[i], 1) && !syms.isConst(size[i], 1);
    if (!known) continue;
    all &= common->all;
    inValue.push_back(common->inStored);
    valueSteps.push_back(common->storedStep);
    inRead.push_back(common->inRead);
    counts.push_back(common->count);
  }
  if (!known) return std::nullopt;
  if (all) {
    if (std::optional<ValueId> older = sliceOf(graph, value, inValue, valueSteps, type, versions - 1, parts))
      return older;
    if (parts == 0) return std::nullopt;
    return graph.slice(value, inValue, valueSteps, type.shape);
  }
  if (!thin || graph.isRegion() || isRoom(graph, base) || --parts == 0) return std::nullopt;
  std::optional<ValueId> line = sliceOf(graph, base, starts, steps, type, versions - 1, parts);
  if (parts == 0) return std::nullopt;
  if (!line) line = graph.slice(base, starts, steps, type.shape);
  const ValueId part = graph.slice(value, inValue, valueSteps, counts);
  return graph.update(*line, part, inRead, SymList(size.size(), syms.constant(1)));
}

}  // namespace

std::optional<ValueId> sliceOfUpdate(Graph& graph, ValueId updated, const SymList& starts, const SymList& steps,
                                     const ValueType& type) {
  int parts = kMostParts;
  return sliceOf(graph, updated, starts, steps, type, kMaxVersions, parts);
}

}  // namespace fw::graph
