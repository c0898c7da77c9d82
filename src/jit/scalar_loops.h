// Loops over numbers: nests of loops and branches in which no kernel has a loop of its own. What is one becomes a
// function (FunctionState::Kind::kLoop) that keeps numbers in registers and that LLVM's passes see (optimize.h).
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "jit/emit_module.h"

namespace fw::jit {

/// Elements of an input that a loop stores to, in every turn and in those of short loops inside (graph/rewriting.h).
struct RewrittenPlace {
  graph::BufferId buffer;
  graph::SymId offset;  ///< bytes
  int64_t low, high;    ///< bytes: of the first of them and behind the last one, from there
  struct Short {
    graph::SymId symbol;
    int64_t trip;
  };
  std::vector<Short> shorts;
};

struct ScalarLoop {
  using Buffers = std::vector<graph::BufferId>;

  graph::ErrorRules errors;  ///< what becomes of all flags that it raises
  Buffers numbers;   ///< of one element, in registers: temporaries, and handles whose addresses nobody needs meanwhile
  Buffers entering;  ///< of those: have a value when the loop begins
  Buffers leaving;   ///< of those: somebody may read behind the loop what it stores
  Buffers handles;   ///< of arrays, exchanged by loops of the nest
  Buffers results;   ///< handles of the outermost loop: arrays, and numbers that somebody mentions behind it
  absl::flat_hash_map<graph::BufferId, int> memories;  ///< of the nest: those of different numbers do not overlap
  absl::flat_hash_set<graph::SymId> symbols;           ///< that loops and binds of the nest give their values
  absl::flat_hash_set<graph::SymId> unused;            ///< of those: nobody mentions
  absl::flat_hash_set<graph::SymId> covered;           ///< of those: a later definition of the turn asks, with a limit:
  absl::flat_hash_map<graph::SymId, int64_t> limits;   ///< what is defined is not above
  absl::flat_hash_map<const graph::LoopStep*, std::vector<RewrittenPlace>> rewritten;  ///< by the loop to save them in
  absl::flat_hash_set<graph::BufferId> places;  ///< numbers that nobody looks at but a definition from 0 on
};

/// Null if the loop does more than that, or is too long for a function.
std::optional<ScalarLoop> scalarLoop(const graph::LoopStep& loop, const ModuleState& m);

/// Whether a kernel is part of a scalar loop, or of one that is a wavefront, by number.
std::vector<bool> inLoopsOfTheirOwn(const ModuleState& m);

/// Whether there are loops over numbers, and what they do differs where they take liberties (ModuleState).
bool takesLiberties(const ModuleState& m);

/// Of an index that counts from the end where it is negative, the number; of another value, that.
kernels::ExprId indexNumber(const kernels::Kernel& kernel, kernels::ExprId value);

/// The kernels [first, second) of a group.
std::pair<size_t, size_t> kernelsOf(const kernels::KernelProgram& program, int group);

/// Expressions and loops of a kernel: a measure for its code.
size_t weightOf(const kernels::Kernel& kernel);

/// Beyond this a function is cut, and parts are about as long.
inline constexpr size_t kPartWeight = 1500;

/// Beyond this a nest is no function: LLVM's passes grow faster than what they work on. Up to it they take less time
/// than code that keeps numbers in memory.
inline constexpr size_t kNestWeight = 4000;

}  // namespace fw::jit
