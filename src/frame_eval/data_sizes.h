// Sizes that library calls decide; see data_sizes.cpp.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"
#include "guards/guard_set.h"

namespace fw::capture {

class Trace;

class DataSizes {
 public:
  explicit DataSizes(Trace& trace) : trace_(trace) {}

  /// A size that library call `call` (the next node of the graph) decides: a symbol that means something from there on.
  graph::SymId make(graph::ValueId call);
  /// A symbol for an i64 of the graph, from here on: what is not in the range fails the call.
  graph::SymId define(graph::ValueId number, graph::SymId least, graph::SymId most, graph::SymRange range);
  /// Whether a library call or a definition decides about the number.
  bool contains(graph::SymId sym) const;
  /// The same, of sizes of arrays that calls have made: memory for as many elements has been there.
  bool areOfArrays(graph::SymId sym) const;
  /// left == right from here on, one of which is decided by a call: that is checked when the call has returned. Breaks
  /// where it cannot be.
  void assumeSame(graph::SymId left, graph::SymId right);
  /// left relation right, one of which is decided by a call: what is likely holds from here on, and is checked when the
  /// call has returned. nullopt where nothing is likely.
  std::optional<bool> tell(graph::SymId left, guards::Relation relation, graph::SymId right);

  /// An arm of a branch begins with the next node, or ends. What is likely of a size that is known outside of it is
  /// checked in it, and holds there only.
  void enterArm(), leaveArm();

  /// How many elements of a node are true, if a call has told.
  std::optional<graph::SymId> trueCount(graph::ValueId node) const;
  void setTrueCount(graph::ValueId node, graph::SymId count, graph::ValueId call);
  /// Calls from node `begin` on have been in an arm of a branch that is left: nobody outside knows their sizes.
  void forget(size_t begin);

  /// Once, when the graph is complete: of the calls that decide about one size, the first binds it.
  void settle();

 private:
  struct TrueCount {
    graph::ValueId node, call;
    graph::SymId count;
  };
  struct Defined {
    graph::ValueId number, definition;
    graph::SymId least, most, symbol;
  };
  void narrow(graph::SymId symbol, int64_t least);
  bool checkInArm(graph::SymId symbol, int64_t least);
  void checkEqual(graph::SymId symbol, graph::SymId other);
  Defined* definitionOf(graph::SymId symbol);

  Trace& trace_;
  std::vector<Defined> defined_;
  absl::flat_hash_set<graph::SymId> symbols_;
  absl::flat_hash_map<graph::SymId, size_t> madeBy_;  ///< the node from which on it means something
  std::vector<size_t> arms_;                          ///< the first node of each that is traced
  std::vector<TrueCount> trueCounts_;
};

}  // namespace fw::capture
