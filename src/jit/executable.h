// A compiled graph: one native function plus what its caller needs to know.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/support/deadline.h"

namespace fw::jit {

/// Bits of the native function's answer; 0 means done. They name what NumPy would report; the caller compares them with
/// the error state in force and, if one is not ignored, throws the results away and lets NumPy run.
enum Status : int32_t {
  kStatusInvalid = 1,  ///< IEEE flags raised during the call
  kStatusDivide = 2,
  kStatusOverflow = 4,
  kStatusUnderflow = 8,
  kStatusDecline = 16,  ///< a kernel refused: always run as Python
  kStatusOutside = 32,  ///< checked code: an access would have gone outside of its buffer, and was not made
};

/// The native function. symbols[i] is the value of symbol i of the graph's SymContext; buffers[b] is the data of
/// Plan::buffers[b] for inputs and outputs (entries of temporaries are unused); workspace has workspaceBytes, 64-byte
/// aligned (nullptr if 0). Answers Status bits. Never throws, never calls Python.
/// Checked code (CompileOptions::checked) finds two more addresses per buffer behind those: of its first byte, and of
/// the one behind its last.
using EntryFn = int32_t (*)(const int64_t* symbols, void* const* buffers, void* workspace);

constexpr int64_t kPartElements = 1024;  // with operands and what is saved of them in the first-level cache

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

/// Elements of the largest part of a deferred commit whose outermost loop has iterations of `inner` elements.
inline int64_t partElements(int64_t inner) { return inner > kPartElements ? inner : kPartElements; }

/// Stores the plan's commits into the inputs: called after entry() on the same arguments and workspace, once its status
/// was accepted. Answers 0 when everything is stored. Else a watched flag came up in the part [position, end) of a
/// deferred commit. Nothing before it has raised a watched flag, and nothing behind it is stored; what stood in the
/// part itself lies in `saved`, partElements() for each of the commit's stores, in the order of DeferredCommit::order.
/// When the caller has put it back, another call goes on there.
using CommitFn = int32_t (*)(const int64_t* symbols, void* const* buffers, void* workspace, CommitProgress* progress);

/// A commit whose floating-point flags are looked at while it runs, rather than by entry(): part by part, or of all its
/// elements at once if they can only be those of one operation.
struct DeferredCommit {
  int commit;            ///< its number in Plan::commits
  graph::IntList order;  ///< axes of its domain from the outermost loop to the innermost
  int outer = 0;         ///< how many of them make up the outermost loop
  bool whole = false;    ///< nothing stops it: its flags are left in CommitProgress::raised
};

/// Evaluates several SymIds at once, quickly: a flat postfix program over int64 registers.
class SymProgram {
 public:
  SymProgram() = default;
  SymProgram(const graph::SymContext& syms, absl::Span<const graph::SymId> results);
  /// results[i] is the value of the i-th SymId given to the constructor. No overflow checks: dimensions of live arrays.
  void run(const int64_t* symbols, int64_t* results) const;
  size_t resultCount() const { return results_.size(); }

 private:
  struct Step {
    graph::SymOp op;
    uint16_t a, b;  ///< registers
    int64_t value;  ///< kConst value, kSymbol index
  };
  std::vector<Step> steps_;
  std::vector<uint16_t> results_;
};

struct CompileTimings {
  double planMs = 0, kernelMs = 0, irMs = 0, codegenMs = 0, linkMs = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  virtual EntryFn entry() const = 0;
  /// nullptr if the plan has no commits.
  virtual CommitFn commit() const = 0;
  /// Computes what deferred commits will store, for the flags only: after entry(). nullptr if there are none.
  virtual EntryFn check() const { return nullptr; }
  virtual absl::Span<const DeferredCommit> deferred() const { return {}; }
  /// The functions read the extents of the buffers: see EntryFn.
  virtual bool isChecked() const { return false; }
  virtual const graph::Plan& plan() const = 0;
  virtual const CompileTimings& timings() const = 0;
  /// Size of the machine code in bytes.
  virtual size_t codeSize() const = 0;
};

struct CompileOptions {
  enum class Isa : uint8_t { kHost, kAvx512, kAvx2, kPortable };
  Isa isa = Isa::kHost;      ///< kHost: the widest that this machine has; asking for more than it has is an error
  int optLevel = 2;          ///< 0: fast code generation, for isolating faults
  bool deferChecks = false;  ///< commits may be interrupted: kCheck groups need not run before them
  /// Every access is compared with its buffer first, and not made if it is outside: kStatusOutside. The functions then
  /// read the extents of the buffers (EntryFn).
  bool checked = false;
  bool refuseUnproved = false;        ///< accesses that are not proved to stay inside are an error
  std::vector<graph::SymId> guarded;  ///< expressions that guards keep from falling below 0, for the proof
  Deadline deadline;                  ///< kDeadlineExceeded beyond it, between kernels and between functions
  bool keepText = false;              ///< keep LLVM IR and assembly text for FUSEWIRE_LOGS=output_code
};

struct CompiledText {
  std::string kernels, llvm, assembly;
};

/// Compiles a planned graph. Thread-safe: one code generator, guarded by a mutex inside.
absl::StatusOr<std::unique_ptr<Executable>> compile(const graph::Graph& graph, graph::Plan plan,
                                                    const CompileOptions& options, CompiledText* text = nullptr);

/// Name and vector width in bits of what kHost means here, e.g. "avx512 (sapphirerapids)", for reports.
std::string hostTargetDescription();

}  // namespace fw::jit
