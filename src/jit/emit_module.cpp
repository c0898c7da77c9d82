#include "jit/emit_module.h"

#include <cstddef>

#include "jit/emit_kernel.h"
#include "jit/emit_reach.h"
#include "jit/emit_steps.h"
#include "jit/kernel_list.h"
#include "jit/scalar_loops.h"

namespace fw::jit {
namespace {

using kernels::Kernel;
using Kind = FunctionState::Kind;

std::vector<const Kernel*> pointersTo(const std::vector<Kernel>& kernels) {
  std::vector<const Kernel*> list;
  for (const Kernel& kernel : kernels) list.push_back(&kernel);
  return list;
}

/// The deferred commit of each kernel, or null.
std::vector<const DeferredCommit*> deferredOf(const ModuleState& m, size_t commits) {
  std::vector<const DeferredCommit*> result(commits, nullptr);
  for (const DeferredCommit& d : m.program.deferred) result[static_cast<size_t>(d.commit)] = &d;
  return result;
}

}  // namespace

void emitEntry(const ModuleState& m, const std::string& name) {
  const std::vector<Kernel>&kernels = m.program.kernels, &commits = m.program.commits;
  KernelList emitter(m, name, KernelList::Use::kRun, pointersTo(kernels));
  emitter.share(inLoopsOfTheirOwn(m));
  FunctionState fn = emitter.open("", Kind::kEntry);
  emitReachChecks(fn, m.program.reaches);
  const auto probe = [&] {
    if (!m.checked) return;
    for (const Kernel& commit : commits) KernelEmitter(fn, commit, /*checked=*/true).probe();
  };
  const bool known = m.plan.isStraight() && m.plan.calls == 0;  // where commits store
  if (known) {
    probe();
    if (m.checked && !commits.empty()) fn.clearFlags();
  }
  if (m.program.kernelsUpTo.empty() && m.plan.isStraight() && m.plan.calls == 0)
    emitter.all(fn, /*mayLeave=*/m.checked, [&](FunctionState& part, size_t i) { emitter.kernel(part, i); });
  else
    emitSteps(m, emitter, fn, m.plan.steps);
  if (!known) probe();  // it may follow from what has been computed
  fn.finish();
}

void emitCommits(const ModuleState& m, const std::string& name) {
  const std::vector<Kernel>& commits = m.program.commits;
  const std::vector<const DeferredCommit*> deferred = deferredOf(m, commits.size());
  std::vector<bool> watched;  // those run part by part
  for (const DeferredCommit* d : deferred) watched.push_back(d && !d->whole);
  KernelList emitter(m, name, KernelList::Use::kCommit, pointersTo(commits));
  emitter.share(watched);
  FunctionState fn = emitter.open("", Kind::kEntry);
  emitter.all(fn, /*mayLeave=*/true, [&](FunctionState& part, size_t i) {
    const auto index = static_cast<int64_t>(i);
    auto emit = [&] {
      if (watched[i]) return KernelEmitter(part, commits[i]).runWatched(index);
      if (deferred[i]) part.clearFlags();
      emitter.kernel(part, i);
      if (deferred[i]) part.storeFlags(part.progress(offsetof(CommitProgress, raised)), index);
    };
    if (m.program.deferred.empty()) return emit();
    llvm::Value* reached =
        part.ir().CreateLoad(part.ir().getInt64Ty(), part.progress(offsetof(CommitProgress, commit)));
    part.when(part.ir().CreateICmpSLE(reached, part.i64(index)), emit);
  });
  fn.finish(/*answersFlags=*/false);
}

void emitCheck(const ModuleState& m, const std::string& name) {
  std::vector<const Kernel*> list;
  for (const DeferredCommit& d : m.program.deferred) list.push_back(&m.program.commits[static_cast<size_t>(d.commit)]);
  KernelList emitter(m, name, KernelList::Use::kObserve, std::move(list));
  emitter.share(std::vector<bool>(m.program.deferred.size()));
  FunctionState fn = emitter.open("", Kind::kEntry);
  emitter.all(fn, /*mayLeave=*/m.checked, [&](FunctionState& part, size_t i) { emitter.kernel(part, i); });
  fn.finish();
}

}  // namespace fw::jit
