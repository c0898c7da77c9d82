// The LLVM session: from an LLVM module to callable machine code. One per process, living as long as the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "graph/support/deadline.h"
#include "jit/target.h"

namespace llvm {
class Module;
}

namespace fw::jit {

/// Machine code in memory; freed with this object.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  /// Address of the i-th function that generate() was asked for.
  virtual void* entry(size_t i) const = 0;
  virtual size_t codeSize() const = 0;
};

class Session {
 public:
  /// Initialises LLVM on first use.
  static Session& instance();

  /// Sets triple and data layout, as the code generator for `target` wants them.
  void prepare(llvm::Module& module, const TargetSpec& target, int optLevel);

  struct Generated {
    std::unique_ptr<LoadedCode> code;
    double codegenMs = 0, linkMs = 0;
  };
  /// Compiles the module and links it; `entries` names its exported functions, unique in the process.
  /// Thread-safe: one module at a time. kDeadlineExceeded if it came before the last function.
  absl::StatusOr<Generated> generate(llvm::Module& module, const TargetSpec& target, int optLevel,
                                     const std::vector<std::string>& entries, const Deadline& deadline = {});
  /// Assembly text, through a pipeline of its own (slow; for logs).
  absl::StatusOr<std::string> assembly(const llvm::Module& module, const TargetSpec& target, int optLevel);

 private:
  Session();
  class Linker;
  class Compiler;
  Compiler& compilerLocked(const TargetSpec& target, int optLevel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::unique_ptr<Linker> linker_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Compiler> compilers_[3][2] ABSL_GUARDED_BY(mutex_);  ///< by instruction set and optLevel > 0
};

}  // namespace fw::jit
