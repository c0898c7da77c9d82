// What one run of an executable works on: its sizes, its memory, and how far it has come.
#pragma once

#include <cstdint>
#include <type_traits>

namespace fw::runtime {

class Host;

/// Bits of an executable's answer; 0 means done. They name what NumPy would report; the caller compares them with the
/// error state in force and, if one is not ignored, throws the results away and lets NumPy run.
enum Status : int32_t {
  kStatusInvalid = 1,  ///< IEEE flags raised during the call
  kStatusDivide = 2,
  kStatusOverflow = 4,
  kStatusUnderflow = 8,
  kStatusDecline = 16,  ///< a kernel refused: always run as Python
  kStatusOutside = 32,  ///< an access would have gone outside of its buffer, and was not made
  kStatusNotYet = 64,   ///< the code is still being made: run this call as Python, and ask again the next time
  kStatusDoubt = 128,   ///< the code has met what it does not expect, and answers nothing: see Executable::exact()
};

constexpr int64_t kPartElements = 1024;  // with operands and what is saved of them in the first-level cache

/// Elements of the largest part of a deferred commit whose outermost loop has iterations of `inner` elements.
inline int64_t partElements(int64_t inner) { return inner > kPartElements ? inner : kPartElements; }

/// How far the commits of a call have come.
struct CommitProgress {
  int64_t commit = 0;         ///< in, out: number of the plan's commit to go on with
  int64_t position = 0;       ///< in, out: iterations of its outermost loop that are done
  int64_t unwatched = -1;     ///< in: commit that no flag stops
  int64_t watched = 0;        ///< in: Status bits that stop any other deferred one; 0: none
  void* saved = nullptr;      ///< in: memory for what a part overwrites, if any flag is watched: see partElements()
  int64_t end = 0;            ///< out: end of the part that was stopped, in iterations
  int32_t* raised = nullptr;  ///< out: Status bits of commit i at [i], if it is a DeferredCommit that is `whole`
};

/// Of a kernel or library call; native code adds to it.
struct PartTime {
  int64_t cycles = 0;  ///< of the processor's counter
  int64_t runs = 0;
};

/// A function that makes a library call in place of Host::call(): what it raises counts as the code's own.
/// Of calls without operands, a number: double f(argument, numbers[0], numbers[1]), or int64_t f(argument).
/// Of two vectors, a number: void f(left, its stride, right, its stride, result, size, null), for sizes from 2 to
/// `most` and strides (bytes) above 0 that have no bit of `mask`.
struct CallShortcut {
  void* function = nullptr;  ///< null: there is none for now. The host may change it whenever it is called.
  void* argument = nullptr;
  double numbers[2] = {0, 0};
  int64_t most = 0, mask = 0;
};

/// Native code reads the fields where they stand.
struct Context {
  int64_t* symbols = nullptr;  ///< [i]: value of symbol i of the graph's SymContext; those bound on the way are stored
  /// [b]: data of Plan::buffers[b]; entries of temporaries are unused. Checked code finds two more addresses per buffer
  /// behind those: of its first byte, and of the one behind its last.
  void** buffers = nullptr;
  void* workspace = nullptr;           ///< workspaceBytes, 64-byte aligned; null if 0
  CommitProgress* progress = nullptr;  ///< while commits are stored
  Host* host = nullptr;                ///< null where nothing has to be asked for
  CallShortcut* shortcuts = nullptr;   ///< by library call of the plan; null: there are none
  PartTime* times = nullptr;           ///< by part of the executable's meter; null: nobody watches
  /// Status bits that must be reported: a loop that rewrites inputs is given up where they are up.
  int32_t reported = kStatusInvalid | kStatusDivide | kStatusOverflow | kStatusUnderflow;
  /// Until Host::look() is called: turns of loops that work on more than a few numbers, and of others strips of turns.
  int32_t untilLook[2] = {1, 1};
};
static_assert(std::is_standard_layout_v<Context> && std::is_standard_layout_v<CommitProgress> &&
              std::is_standard_layout_v<PartTime> && std::is_standard_layout_v<CallShortcut>);

}  // namespace fw::runtime
