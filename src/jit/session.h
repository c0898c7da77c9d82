// The LLVM session: from an LLVM module to callable machine code. One per process, living as long as the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "graph/support/deadline.h"
#include "jit/object_cache.h"
#include "jit/profilers.h"
#include "jit/target.h"

namespace llvm {
class MemoryBuffer;
class Module;
}  // namespace llvm

namespace fw::jit {

/// Machine code in memory; freed with this object.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  /// Address of the i-th function that generate() was asked for.
  virtual void* entry(size_t i) const = 0;
  virtual size_t codeSize() const = 0;
  /// All of its functions, named by what stands behind the first entry's name; empty unless profilers are open.
  virtual std::vector<CodeFunction> functions() const = 0;
};

class Session {
 public:
  /// Initialises LLVM on first use.
  static Session& instance();

  /// Sets triple and data layout, as the code generator for `target` wants them.
  void prepare(llvm::Module& module, const TargetSpec& target, int optLevel);

  /// Runs LLVM's passes on the functions that want them (optimize.h).
  void improve(llvm::Module& module, const TargetSpec& target, int optLevel);

  struct Generated {
    std::shared_ptr<const LoadedCode> code;  ///< null: see find()
    double codegenMs = 0, linkMs = 0;
  };
  /// Code that generate() has made before of a module with these entries: that which somebody still has, or its object,
  /// linked again. Null if it has to be made. The first entry is what it is known by: a content name.
  absl::StatusOr<Generated> find(const std::vector<std::string>& entries);
  /// Compiles the module and links it; `entries` names its exported functions. Threads compile side by side.
  /// kDeadlineExceeded if it came before the last function, kAborted for what LLVM cannot generate code for.
  absl::StatusOr<Generated> generate(llvm::Module& module, const TargetSpec& target, int optLevel,
                                     const std::vector<std::string>& entries, const Deadline& deadline = {});
  /// The object of code known by `name`, as long as it is kept; empty if it is not.
  std::string object(const std::string& name);
  /// Assembly text, through a pipeline of its own (slow; for logs).
  absl::StatusOr<std::string> assembly(const llvm::Module& module, const TargetSpec& target, int optLevel);

 private:
  Session();
  class Linker;
  class Compiler;
  class Borrowed;

  absl::StatusOr<Generated> loadLocked(std::unique_ptr<llvm::MemoryBuffer> object,
                                       const std::vector<std::string>& entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  ObjectCache objects_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::weak_ptr<const LoadedCode>> loaded_ ABSL_GUARDED_BY(mutex_);
  size_t sweepAt_ ABSL_GUARDED_BY(mutex_) = 64;  ///< entries of loaded_ at which those of code that is gone are dropped
  std::unique_ptr<Linker> linker_ ABSL_GUARDED_BY(mutex_);
  /// That nobody uses at the moment, by instruction set and optLevel > 0.
  std::vector<std::unique_ptr<Compiler>> compilers_[3][2] ABSL_GUARDED_BY(mutex_);
};

}  // namespace fw::jit
