// The kernels of a function: what is alike is code that is shared, and a long function is cut into parts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/emit_function.h"
#include "jit/emit_module.h"
#include "jit/shared_kernels.h"

namespace fw::jit {

class KernelList {
 public:
  enum class Use : uint8_t { kRun, kCommit, kObserve };

  KernelList(const ModuleState& m, std::string name, Use use, std::vector<const kernels::Kernel*> list);

  /// Finds what is alike among the kernels that are no `exception`, and makes its code.
  void share(const std::vector<bool>& exception);

  /// Emits kernel number `i`, or a call of its shared code.
  void kernel(FunctionState& fn, size_t i);

  using Emit = std::function<void(FunctionState&, size_t)>;
  /// Calls `emit` for every kernel, in `main` or in parts of it.
  void all(FunctionState& main, bool mayLeave, const Emit& emit) { range(main, mayLeave, 0, list_.size(), emit); }
  /// The same for the kernels [from, to).
  void range(FunctionState& main, bool mayLeave, size_t from, size_t to, const Emit& emit);

  /// A function of this list, with a name of its own.
  FunctionState open(const char* what, FunctionState::Kind kind, llvm::ArrayRef<llvm::Type*> more = {},
                     const ScalarLoop* loop = nullptr);

 private:
  size_t weight(size_t i) const;
  llvm::Function* emitShared(const SharedKernel& shared);
  void call(FunctionState& fn, size_t shared, size_t i);

  const ModuleState& m_;
  const std::string name_;
  const Use use_;
  const std::vector<const kernels::Kernel*> list_;
  std::vector<int> sharedBy_;  // by kernel: entry of shared_, or -1
  std::vector<SharedKernel> shared_;
  std::vector<llvm::Function*> functions_;
  std::vector<size_t> nextUser_;
  size_t opened_ = 0;
};

}  // namespace fw::jit
