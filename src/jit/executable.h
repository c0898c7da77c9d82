// A compiled graph: one native function plus what its caller needs to know.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"

namespace fw::jit {

/// Bits of the native function's answer; 0 means done. They name what NumPy would report; the caller compares them with
/// the error state in force and, if one is not ignored, throws the results away and lets NumPy run.
enum Status : int32_t {
  kStatusInvalid = 1,       ///< IEEE flags raised during the call
  kStatusDivide = 2,
  kStatusOverflow = 4,
  kStatusUnderflow = 8,
  kStatusDecline = 16,      ///< a kernel refused: always run as Python
};

/// The native function. symbols[i] is the value of symbol i of the graph's SymContext; buffers[b] is the data of
/// Plan::buffers[b] for inputs and outputs (entries of temporaries are unused); workspace has workspaceBytes, 64-byte
/// aligned (nullptr if 0). Answers Status bits. Never throws, never calls Python.
using EntryFn = int32_t (*)(const int64_t* symbols, void* const* buffers, void* workspace);

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
    uint16_t a, b;           ///< registers
    int64_t value;           ///< kConst value, kSymbol index
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
  /// Stores the plan's commits into the inputs: called after entry() on the same arguments and workspace, if its status was
  /// accepted. Cannot fail; its answer means nothing. nullptr if the plan has no commits.
  virtual EntryFn commit() const = 0;
  virtual const graph::Plan& plan() const = 0;
  virtual const CompileTimings& timings() const = 0;
  /// Size of the machine code in bytes.
  virtual size_t codeSize() const = 0;
};

struct CompileOptions {
  enum class Isa : uint8_t { kHost, kAvx512, kAvx2, kPortable };
  Isa isa = Isa::kHost;        ///< kHost: the widest that this machine has; asking for more than it has is an error
  int optLevel = 2;            ///< 0: fast code generation, for isolating faults
  bool keepText = false;       ///< keep LLVM IR and assembly text for FUSEWIRE_LOGS=output_code
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
