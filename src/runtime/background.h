// Threads that compile while others go on, and what compilers and fork() owe each other.
#pragma once

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace fw::runtime {

/// Hands a job to one of a few threads of this process, which are started when they are first needed. Jobs may wait for
/// locks of nobody who waits for them, Python's among them. False in a child of the process that has begun them, and
/// after endBackground(): there are no threads, and nobody runs it.
bool runInBackground(std::function<void()> job);

/// Waits for jobs that run and for whoever is inside of a compiler, drops the other jobs, and lets nobody in any more.
/// To be called before exit(): what compilers keep is taken down by its handlers.
void endBackground();

/// Whether the process is about to end, and what has not been begun is not worth beginning.
bool isEnding();

/// For as long as a thread is inside of a compiler. A child finds its locks as they are at the fork, held by threads
/// that it does not have: so fork() waits until nobody is inside, and nobody comes in meanwhile. Not to be nested, and
/// not to be held by who waits for a lock that a thread holds while it forks (Python's).
class CompilerUse {
 public:
  CompilerUse();
  ~CompilerUse();
  CompilerUse(const CompilerUse&) = delete;
};

/// Work inside of a compiler that is done once, by a thread in the background or by whoever waits for it first.
/// Thread-safe.
class Job : public std::enable_shared_from_this<Job> {
 public:
  explicit Job(std::function<absl::Status()> work) : work_(std::move(work)) {}

  /// Hands it to the threads. Where there are none, the first that asks does it.
  void begin();
  /// What it has come to, kUnavailable as long as it is under way.
  absl::Status state() ABSL_LOCKS_EXCLUDED(mutex_);
  /// The same when it is done. If nobody has begun with it yet, it is done here.
  absl::Status wait() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  enum class State : uint8_t { kWaiting, kRunning, kDone };
  void run() ABSL_LOCKS_EXCLUDED(mutex_);

  std::function<absl::Status()> work_;  ///< touched by who runs it only
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kWaiting;
  absl::Status result_ ABSL_GUARDED_BY(mutex_);
  bool inBackground_ = false;  ///< set by begin(), before it is shared
  int process_ = 0;            ///< whose threads those are
};

}  // namespace fw::runtime
