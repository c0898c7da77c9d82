// Until commits are stored, any failure leaves the arguments as they were. Then nothing may fail any more: what storing
// needs is there before it begins.
#include "runtime/transaction.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "absl/container/inlined_vector.h"
#include "runtime/host.h"
#include "runtime/workspace.h"

namespace fw::runtime {
namespace {

/// Deferred commits of at least this many bytes are watched rather than computed twice; those of one operation, where
/// there is nothing to save, from fewer on, where asking what is to be reported costs less.
constexpr int64_t kWatchedBytes = 32 << 10, kWholeBytes = 4 << 10;
/// Memory for what a part of a watched commit overwrites; longer rows are computed twice.
constexpr int64_t kMaxSavedBytes = 1 << 20;
/// A workspace of up to this many bytes stands on the stack: aligned memory costs as much as a small kernel.
constexpr int64_t kNearBytes = 2048;
/// Work on at least this many bytes is long.
constexpr int64_t kUnlockBytes = 256 << 10;

class Unlocked {
 public:
  Unlocked(Policy& policy, bool unlock) : policy_(unlock ? &policy : nullptr) {
    if (policy_) policy_->unlock();
  }
  ~Unlocked() {
    if (policy_) policy_->lock();
  }
  Unlocked(const Unlocked&) = delete;

 private:
  Policy* policy_;
};

template <class Work>
auto unlocked(Policy& policy, bool unlock, Work work) {
  const Unlocked scope(policy, unlock);
  return work();
}

bool isRefused(int32_t status, Policy& policy) {
  if (status == 0 || (status & kStatusOutside)) return false;
  return (status & kStatusDoubt) || policy.mustReport(status);
}

/// It may have to be made first.
const Executable* exactly(const Executable& executable, int32_t status, bool unlock, Policy& policy) {
  return unlocked(policy, unlock, [&] { return executable.exact(status); });
}

int32_t reported(Policy& policy) {
  int32_t bits = 0;
  for (const int32_t bit : {kStatusInvalid, kStatusDivide, kStatusOverflow, kStatusUnderflow})
    if (policy.mustReport(bit)) bits |= bit;
  return bits;
}

}  // namespace

/// What deferred commits have to look out for, and what it takes.
struct Transaction::Watch {
  int32_t flags = 0;
  std::vector<int64_t> geometry;  ///< CommitReporter's
  std::optional<Workspace> saved;
  CommitReporter::Scratch scratch;
};

/// Whether flags can be reported once everything is stored: then `watch` says which. Where more than a report may come
/// of them, the arrays are too small to matter or memory is short, the commits are computed once more beforehand.
bool Transaction::watch(const Executable& executable, const Context& context, int64_t bytes, Policy& policy,
                        Watch& watch) const {
  const absl::Span<const DeferredCommit> deferred = executable.deferred();
  const bool whole = std::all_of(deferred.begin(), deferred.end(), [](const DeferredCommit& d) { return d.whole; });
  if (bytes < (whole ? kWholeBytes : kWatchedBytes)) return false;
  const std::optional<int32_t> reported = policy.reportable();
  if (!reported || *reported == 0) return reported.has_value();
  try {
    if (!whole) {
      watch.geometry = reporter_->geometry(context.symbols);
      const int64_t saved = reporter_->savedBytes(deferred, watch.geometry);
      if (saved > kMaxSavedBytes || !watch.saved.emplace(saved).ok()) return false;
    }
    if (!reporter_->prepare(deferred, watch.scratch)) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  watch.flags = *reported;
  return true;
}

Outcome Transaction::store(const Executable& executable, Context& context, Watch& watch, bool unlock,
                           Policy& policy) const {
  const absl::Span<const DeferredCommit> deferred = executable.deferred();
  {
    absl::InlinedVector<int32_t, 16> flags;
    try {
      flags.resize(deferred.empty() ? 0 : executable.plan().commits.size());
    } catch (const std::bad_alloc&) {
      return Outcome::kOutOfMemory;
    }
    CommitProgress progress{.watched = watch.flags, .raised = flags.data()};
    if (watch.saved) progress.saved = watch.saved->data();
    context.progress = &progress;
    const Unlocked unlocked(policy, unlock);
    while (executable.commit(context) != 0) {
      const auto isThis = [&](const DeferredCommit& d) { return d.commit == progress.commit; };
      const auto at = std::find_if(deferred.begin(), deferred.end(), isThis);
      reporter_->inspect(*at, progress, watch.geometry, context, watch.scratch);
      progress.unwatched = progress.commit;
    }
    if (watch.flags != 0)
      for (const DeferredCommit& d : deferred)
        if (d.whole) reporter_->report(d, flags[static_cast<size_t>(d.commit)] & watch.flags, watch.scratch);
    context.progress = nullptr;
  }
  std::vector<RaisedFlags>& raised = watch.scratch.raised;
  return raised.empty() || policy.report(std::move(raised), watch.flags) ? Outcome::kDone : Outcome::kFailed;
}

/// Nothing is reported there, so that nothing has to be known before it is stored. Memory of the host of the call is
/// used in the order of its stream.
Outcome Transaction::runOnDevice(const Executable& executable, Context& context, const Work& work,
                                 Policy& policy) const {
  const bool some = work.workspaceBytes > 0;
  context.workspace = some ? context.host->allocate(work.workspaceBytes) : nullptr;
  if (some && !context.workspace) return Outcome::kOutOfMemory;
  const auto run = [&] {
    const int32_t status = executable.compute(context);
    if (status & kStatusNotYet) return Outcome::kNotYet;
    if (status != 0 && policy.mustReport(status)) return Outcome::kDeclined;
    if (executable.plan().commits.empty()) return Outcome::kDone;
    return executable.commit(context) == 0 ? Outcome::kDone : Outcome::kFailed;
  };
  const Outcome outcome = run();
  if (some) context.host->release(context.workspace);
  return outcome;
}

Outcome Transaction::run(const Executable& executable, Context& context, const Work& work, Policy& policy) const {
  if (executable.plan().target.space == graph::MemorySpace::kDevice)
    return runOnDevice(executable, context, work, policy);
  if (work.workspaceBytes == 0) return runOnHost(executable, context, work, policy);
  if (work.workspaceBytes <= kNearBytes) return runNear(executable, context, work, policy);
  const Workspace workspace(work.workspaceBytes);
  if (!workspace.ok()) return Outcome::kOutOfMemory;
  context.workspace = workspace.data();
  return runOnHost(executable, context, work, policy);
}

/// Apart, for calls without a workspace would have these bytes in their frame, too.
[[gnu::noinline]] Outcome Transaction::runNear(const Executable& executable, Context& context, const Work& work,
                                               Policy& policy) const {
  alignas(64) std::byte near[kNearBytes];  // not initialised
  context.workspace = near;
  return runOnHost(executable, context, work, policy);
}

Outcome Transaction::runOnHost(const Executable& executable, Context& context, const Work& work, Policy& policy) const {
  const bool unlock = work.mayUnlock && work.workspaceBytes + work.resultBytes >= kUnlockBytes;
  if (executable.plan().rewrites) context.reported = reported(policy);
  int32_t status = unlocked(policy, unlock, [&] { return executable.compute(context); });
  if (status != 0) [[unlikely]] {
    bool refused = isRefused(status, policy);
    if (const Executable* exact = refused ? exactly(executable, status, work.mayUnlock, policy) : nullptr) {
      if (context.host) context.host->beginAgain();
      status = unlocked(policy, unlock, [&] { return exact->compute(context); });
      refused = isRefused(status, policy);
    }
    if (status & kStatusOutside) return Outcome::kOutside;
    if (refused) return Outcome::kDeclined;
  }
  return executable.plan().commits.empty() ? Outcome::kDone : commit(executable, context, work, unlock, policy);
}

Outcome Transaction::commit(const Executable& executable, Context& context, const Work& work, bool unlock,
                            Policy& policy) const {
  Watch watch;
  if (!executable.deferred().empty() && !this->watch(executable, context, work.resultBytes, policy, watch)) {
    const int32_t raised = unlocked(policy, unlock, [&] { return executable.check(context); });
    if (raised & kStatusOutside) return Outcome::kOutside;
    if (raised != 0 && policy.mustReport(raised)) return Outcome::kDeclined;
  }
  return store(executable, context, watch, unlock, policy);
}

}  // namespace fw::runtime
