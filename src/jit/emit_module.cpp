#include "jit/emit_module.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "graph/support/check.h"
#include "jit/emit_kernel.h"
#include "jit/emit_reach.h"
#include "jit/shared_kernels.h"

namespace fw::jit {
namespace {

using kernels::Kernel;
using Kind = FunctionState::Kind;

/// Beyond this a function is cut, and parts are about as long.
constexpr size_t kPartWeight = 1500;

/// Expressions and loops of a kernel: a measure for its code.
size_t weightOf(const Kernel& kernel) { return kernel.exprs.size() + 16 * kernel.stmts.size(); }

/// One function over a list of kernels.
class Emitter {
 public:
  enum class Use : uint8_t { kRun, kCommit, kObserve };

  Emitter(const ModuleState& m, std::string name, Use use, std::vector<const Kernel*> list)
      : m_(m),
        name_(std::move(name)),
        use_(use),
        list_(std::move(list)),
        sharedBy_(list_.size(), -1) {}

  /// Finds what is alike among the kernels that are no `exception`, and makes its code.
  void share(const std::vector<bool>& exception) {
    if (m_.checked) return;  // shared code does not know whose buffer it is in
    std::vector<const Kernel*> candidates;
    std::vector<size_t> positions;
    for (size_t i = 0; i < list_.size(); ++i) {
      if (exception[i]) continue;
      candidates.push_back(list_[i]);
      positions.push_back(i);
    }
    shared_ = findShared(candidates, m_.syms);
    for (size_t s = 0; s < shared_.size(); ++s) {
      for (size_t& user : shared_[s].users) sharedBy_[user = positions[user]] = static_cast<int>(s);
      functions_.push_back(emitShared(shared_[s], name_ + "_shared" + std::to_string(s)));
    }
    nextUser_.resize(shared_.size());
  }

  /// Emits kernel number `i`, or a call of its shared code.
  void kernel(FunctionState& fn, size_t i) {
    if (sharedBy_[i] >= 0) return call(fn, static_cast<size_t>(sharedBy_[i]), i);
    KernelEmitter emitter(fn, *list_[i], m_.checked && use_ != Use::kCommit);
    use_ == Use::kObserve ? emitter.observe() : emitter.run();
  }

  /// Calls `emit` for every kernel, in `main` or in parts of it.
  void all(FunctionState& main, bool mayLeave, const std::function<void(FunctionState&, size_t)>& emit) {
    std::vector<size_t> weights;
    for (size_t i = 0; i < list_.size(); ++i) weights.push_back(weight(i));
    size_t total = 0;
    for (size_t w : weights) total += w;
    if (total <= kPartWeight) {
      for (size_t i = 0; i < list_.size(); ++i) emit(main, i);
      return;
    }
    for (size_t i = 0, number = 0; i < list_.size(); ++number) {
      FunctionState part = open(name_ + "_part" + std::to_string(number), Kind::kPart);
      for (size_t length = 0; i < list_.size() && (length == 0 || length + weights[i] <= kPartWeight); ++i) {
        emit(part, i);
        length += weights[i];
      }
      part.finish();
      main.callPart(part, mayLeave);
    }
  }

  FunctionState open(const std::string& name, Kind kind, llvm::ArrayRef<llvm::Type*> more = {}) {
    return FunctionState(m_.module, m_.target, m_.syms, m_.plan, name, kind, more);
  }

 private:
  size_t weight(size_t i) const {
    if (sharedBy_[i] < 0) return weightOf(*list_[i]);
    const KernelArguments& a = shared_[static_cast<size_t>(sharedBy_[i])].arguments[0];
    return 4 + a.places.size() + a.syms.size() + a.numbers.size();
  }

  llvm::Function* emitShared(const SharedKernel& shared, const std::string& name) {
    const Kernel& kernel = *list_[shared.users[0]];
    const KernelArguments& own = shared.arguments[0];
    llvm::LLVMContext& context = m_.module.getContext();
    std::vector<llvm::Type*> types(own.places.size(), llvm::PointerType::get(context, 0));
    types.resize(types.size() + own.syms.size(), llvm::Type::getInt64Ty(context));
    for (kernels::ExprId id : own.numbers)
      types.push_back(kernel.exprs[id.index].dtype == graph::DType::kF32 ? llvm::Type::getFloatTy(context)
                                                                         : llvm::Type::getDoubleTy(context));
    FunctionState fn = open(name, Kind::kShared, types);
    KernelEmitter emitter(fn, kernel);
    unsigned next = 1;
    for (const auto& [buffer, offset] : own.places) fn.bind(buffer, offset, fn.function()->getArg(next++));
    for (graph::SymId sym : own.syms) fn.bind(sym, fn.function()->getArg(next++));
    for (kernels::ExprId id : own.numbers) emitter.bind(id, fn.function()->getArg(next++));
    use_ == Use::kObserve ? emitter.observe() : emitter.run();
    fn.finish();
    return fn.function();
  }

  void call(FunctionState& fn, size_t shared, size_t i) {
    size_t& user = nextUser_[shared];  // kernels come in order
    FW_CHECK(shared_[shared].users[user] == i);
    const KernelArguments& arguments = shared_[shared].arguments[user++];
    std::vector<llvm::Value*> values = {fn.status()};
    for (const auto& [buffer, offset] : arguments.places) values.push_back(fn.address(buffer, offset));
    for (graph::SymId sym : arguments.syms) values.push_back(fn.sym(sym));
    OpEmitter ops(fn);
    for (kernels::ExprId id : arguments.numbers) {
      const kernels::Expr& expr = list_[i]->exprs[id.index];
      values.push_back(ops.constant(expr.dtype, expr.imm));
    }
    fn.ir().CreateCall(functions_[shared], values);
  }

  const ModuleState& m_;
  const std::string name_;
  const Use use_;
  const std::vector<const Kernel*> list_;
  std::vector<int> sharedBy_;  // by kernel: entry of shared_, or -1
  std::vector<SharedKernel> shared_;
  std::vector<llvm::Function*> functions_;
  std::vector<size_t> nextUser_;
};

std::vector<const Kernel*> pointersTo(const std::vector<Kernel>& kernels) {
  std::vector<const Kernel*> list;
  for (const Kernel& kernel : kernels) list.push_back(&kernel);
  return list;
}

/// The deferred commit of each kernel, or null.
std::vector<const DeferredCommit*> deferredOf(const ModuleState& m, size_t commits) {
  std::vector<const DeferredCommit*> result(commits, nullptr);
  for (const DeferredCommit& d : m.deferred) result[static_cast<size_t>(d.commit)] = &d;
  return result;
}

}  // namespace

void emitEntry(const ModuleState& m, const std::string& name, const std::vector<Kernel>& kernels,
               const std::vector<Kernel>& commits) {
  Emitter emitter(m, name, Emitter::Use::kRun, pointersTo(kernels));
  emitter.share(std::vector<bool>(kernels.size()));
  FunctionState fn = emitter.open(name, Kind::kEntry);
  emitReachChecks(fn, m.reaches);
  if (m.checked && !commits.empty()) {
    for (const Kernel& commit : commits) KernelEmitter(fn, commit, /*checked=*/true).probe();
    fn.clearFlags();
  }
  emitter.all(fn, /*mayLeave=*/m.checked, [&](FunctionState& part, size_t i) { emitter.kernel(part, i); });
  fn.finish();
}

void emitCommits(const ModuleState& m, const std::string& name, const std::vector<Kernel>& commits) {
  const std::vector<const DeferredCommit*> deferred = deferredOf(m, commits.size());
  std::vector<bool> watched;  // those run part by part
  for (const DeferredCommit* d : deferred) watched.push_back(d && !d->whole);
  Emitter emitter(m, name, Emitter::Use::kCommit, pointersTo(commits));
  emitter.share(watched);
  FunctionState fn = emitter.open(name, Kind::kCommit);
  emitter.all(fn, /*mayLeave=*/true, [&](FunctionState& part, size_t i) {
    const auto index = static_cast<int64_t>(i);
    auto emit = [&] {
      if (watched[i]) return KernelEmitter(part, commits[i]).runWatched(index);
      if (deferred[i]) part.clearFlags();
      emitter.kernel(part, i);
      if (deferred[i]) part.storeFlags(part.progress(offsetof(CommitProgress, raised)), index);
    };
    if (m.deferred.empty()) return emit();
    llvm::Value* reached =
        part.ir().CreateLoad(part.ir().getInt64Ty(), part.progress(offsetof(CommitProgress, commit)));
    part.when(part.ir().CreateICmpSLE(reached, part.i64(index)), emit);
  });
  fn.finish(/*answersFlags=*/false);
}

void emitCheck(const ModuleState& m, const std::string& name, const std::vector<Kernel>& commits) {
  std::vector<const Kernel*> list;
  for (const DeferredCommit& d : m.deferred) list.push_back(&commits[static_cast<size_t>(d.commit)]);
  Emitter emitter(m, name, Emitter::Use::kObserve, std::move(list));
  emitter.share(std::vector<bool>(m.deferred.size()));
  FunctionState fn = emitter.open(name, Kind::kEntry);
  emitter.all(fn, /*mayLeave=*/m.checked, [&](FunctionState& part, size_t i) { emitter.kernel(part, i); });
  fn.finish();
}

}  // namespace fw::jit
