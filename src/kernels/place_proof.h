// Proof that one place, a byte offset plus multiples of loop indices, lies inside of its buffer. Internal to
// access_proof.cpp.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/symint_bounds.h"
#include "kernels/kernel.h"

namespace fw::kernels {

class PlaceProver {
 public:
  PlaceProver(const graph::Plan& plan, const graph::SymContext& syms, absl::Span<const SymId> guarded);
  PlaceProver(const PlaceProver&) = delete;

  /// The copy of the context that proofs are made in.
  graph::SymContext& syms() { return syms_; }
  /// `id` >= 0; only while no loop is open.
  void addFact(SymId id);

  /// Opens a loop over [lower, upper) inside of those that are open, and answers its index: a symbol of syms().
  SymId openLoop(SymId lower, SymId upper);
  void closeLoop();
  /// A symbol of which nothing but a range is known.
  SymId fresh(graph::SymRange range);

  struct Term {
    size_t loop;  ///< number of an open loop, from the outermost
    SymId stride;
  };
  bool inside(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes);

 private:
  /// The same with open loops, in a context that knows more of some symbol.
  PlaceProver(const PlaceProver& outer, const graph::SymContext& syms);
  PlaceProver(const graph::Plan& plan, const graph::SymContext& syms, std::vector<SymId> known, int depth);
  /// First byte of a buffer and the one behind its last, from its data pointer; axes from the largest stride to the
  /// smallest.
  struct Extent {
    SymId first, end;
    bool mayBeEmpty = false;  ///< and `first` and `end` do not show it
    graph::SymShape shape;
    graph::SymShape spread;  ///< sizes of the axes of stride 0, which are not among `axes`
    struct Axis {
      SymId size, stride;
      bool joinsNext = false;  ///< stride is size times stride of the next one
    };
    std::vector<Axis> axes;
    bool isSet = false;
  };
  struct Loop {
    SymId index, lower, upper, iterations;
    size_t mark;                            ///< of the prover, before its facts
    absl::flat_hash_set<SymId> shown = {};  ///< to be at least 0 at all of its points
  };
  /// A symbol of a loop of the schedule, which runs from 0 to `last`, by facts.
  struct Turn {
    SymId index, last;
  };
  /// An element's index along each axis, for a buffer some of whose axes are taken as one.
  struct Part {
    SymId size, stride;
    SymId index;
  };

  void openLoop(SymId index, SymId lower, SymId upper);
  SymId positive(SymId atom);
  SymId ifPositive(SymId upper);
  const Extent& extentOf(graph::BufferId id);
  std::vector<Part> parts(const Extent& extent, uint32_t joined);
  bool split(std::vector<Part>& parts, SymId offset, absl::Span<const Term> terms, int64_t slack);
  SymId takeMultiples(SymId& of, SymId stride);
  bool indexed(const Extent& extent, SymId offset, absl::Span<const Term> terms, int64_t bytes, int64_t itemSize);
  SymId lowest(SymId id);
  bool holdsInLoops(SymId id, bool search);
  bool holdsAtEnds(SymId id, size_t ranges, bool search);
  struct Slope {
    SymId slope, rest;
    bool linear = true;
  };
  Slope slopeAlong(SymId id, SymId index);
  bool holds(SymId id, bool search);
  bool proved(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes);
  bool forEachValue(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes);
  bool byDifference(graph::BufferId buffer, SymId offset, absl::Span<const Term> terms, int64_t bytes);
  absl::flat_hash_set<SymId> symbolsOf(const Extent& extent, SymId offset, absl::Span<const Term> terms);
  std::optional<SymId> ofFewValues(const Extent& extent, SymId offset, absl::Span<const Term> terms);
  bool inAllCases(const Extent& extent, SymId address, int64_t bytes, absl::Span<const SymId> choices);
  void collectChoices(SymId id, std::vector<SymId>& choices) const;
  bool reaches(const Extent& extent, SymId address, int64_t bytes);

  const graph::Plan& plan_;
  graph::BoundProver prover_;
  graph::SymContext& syms_;
  std::vector<Extent> extents_;
  std::vector<Loop> loops_;
  std::vector<SymId> atLeast0_;  ///< symbols of which that is a fact
  std::vector<Turn> turns_;
  std::vector<SymId> known_;  ///< facts that hold in all loops
  int symbols_ = 0;
  int depth_ = 0;   ///< symbols that are something else here
  int values_ = 0;  ///< that were tried
};

}  // namespace fw::kernels
