// Handlers of exit() run in the opposite order of their registration, destructors of libraries among them: the one here
// is registered after the compiler has been loaded, so that its threads are through when the compiler is taken down.
#include "jit/cuda/compile_threads.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace fw::jit::cuda {
namespace {

/// NVRTC compiles 4 sources in two thirds of the time that it takes one after the other.
constexpr size_t kMostThreads = 4;

class Threads {
 public:
  Threads() {
    std::atexit([] { all().stop(); });
  }
  static Threads& all() {
    static auto* threads = new Threads;
    return *threads;
  }

  bool add(std::function<void()> job) {
    if (getpid() != process_) return false;
    absl::MutexLock lock(&mutex_);
    if (stopping_) return false;
    jobs_.push_back(std::move(job));
    const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 1, kMostThreads);
    if (idle_ < jobs_.size() && threads_.size() < most) threads_.emplace_back([this] { work(); });
    return true;
  }

 private:
  void work() {
    absl::MutexLock lock(&mutex_);
    const auto due = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !jobs_.empty(); };
    while (true) {
      ++idle_;
      mutex_.Await(absl::Condition(&due));
      --idle_;
      if (stopping_) return;
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      mutex_.Unlock();
      job();
      job = nullptr;
      mutex_.Lock();
    }
  }

  void stop() {
    if (getpid() != process_) return;
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      jobs_.clear();
    }
    for (std::thread& thread : threads_) thread.join();  // nobody adds any
  }

  const pid_t process_ = getpid();
  absl::Mutex mutex_;
  std::deque<std::function<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;  ///< grows under mutex_ until stopping_
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

bool runInBackground(std::function<void()> job) { return Threads::all().add(std::move(job)); }

}  // namespace fw::jit::cuda
