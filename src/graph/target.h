// What a graph is planned for: where its memory is, whose numbers are to come out, and what things cost there. Passes,
// planning and lowering assume no machine; where they decide by one, they ask the target. Another device is another
// value of this, made by who generates code for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fw::graph {

enum class MemorySpace : uint8_t { kHost, kDevice };

struct Target {
  MemorySpace space = MemorySpace::kHost;  ///< of temporaries

  /// Floating-point numbers are added up in NumPy's order, so that sums have its bits; else in any order.
  bool numpySums = true;
  /// Kernels take the elements of such a sum as one list, wherever they lie: operands are not copied so that NumPy's
  /// stretches are one axis, and memory may be walked unevenly (kernels/kernel.h, ListedSum).
  bool listedSums = false;
  /// Floating-point errors are noticed, for NumPy's error state; else nobody asks for them, and what is not needed is
  /// not computed for their sake. What NumPy answers with an exception still declines where it is computed.
  bool reportsFlags = true;

  /// Loops may store into inputs while the call may still be given up (rewriting.h).
  bool rewritesInputs = false;

  int64_t alignment = 64;  ///< bytes, of every temporary
  /// Bytes between temporaries that may be large, a multiple of the alignment. Arrays of 2^n bytes one behind the other
  /// would compete for the same few lines of a cache, and processors that compare the last twelve bits of addresses
  /// take a load from the one for a load of what was stored to the other.
  int64_t stagger = 1600;

  // What fusion weighs. An operation costs 1, or what recomputeCost() says.
  size_t groupValues = 128;  ///< computed by one kernel
  int groupReductions = 16;  ///< of one kernel: their loops are the longest code, and what is behind them much like it
  size_t groupOutputs = 8;   ///< of kernels joined because they load the same array: streams that it writes
  int cloneCost = 6;         ///< up to here a scalar or a constant array is computed again wherever it is read
  int recomputeCost = 8;     ///< up to here a value over fewer axes is, for every element of its reader
  size_t commitValues = 24;  ///< computed by one commit
  int checkedCost = 8;       ///< per store; beyond, computing twice costs more than writing and reading a temporary

  // Updates whose values read what they overwrite: results are held back until their readers have been (Group::Held).
  // As much as stays in the first cache:
  int64_t heldRows = 8;         ///< 0: the points of a kernel have no order
  int64_t heldElements = 2048;  ///< where a row is one element

  // What kernels are cut into.
  int64_t columnTile = 4096;      ///< elements of accumulators that stay close while rows are added to them
  int64_t shortRow = 16;          ///< elements of a row that is reduced beside others, a row per lane
  int64_t shortRowsTogether = 8;  ///< as many of them at least
  size_t joinedTogether = 8;      ///< operands of a concatenate that one kernel copies; more get one each
};

}  // namespace fw::graph
