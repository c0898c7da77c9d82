// Threads that are never joined would go on in compilers that exit() takes down, piece by piece. Its handlers run in
// the opposite order of their registration, and a compiler registers some while it works: so the threads end before.
#include "runtime/background.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace fw::runtime {
namespace {

/// NVRTC compiles 4 sources in two thirds of the time that it takes one after the other; LLVM shares next to nothing.
constexpr size_t kMostThreads = 4;

class Threads {
 public:
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

  void stop() {
    if (getpid() != process_) return;
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
      isStopping_.store(true, std::memory_order_relaxed);
      jobs_.clear();
    }
    for (std::thread& thread : threads_) thread.join();  // nobody adds any
  }

  /// Read without a lock by jobs that could stop half-way.
  bool isStopping() const { return isStopping_.load(std::memory_order_relaxed); }

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

  const pid_t process_ = getpid();
  absl::Mutex mutex_;
  std::deque<std::function<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;  ///< grows under mutex_ until stopping_
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> isStopping_ = false;
};

/// Of all compilers of the process. The locks are the C library's, which fork() may leave to a child; to wait by
/// std::condition_variable would take a newer C++ library than anything else in the wheel.
struct Gate {
  std::mutex mutex;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  int inside = 0;
  bool closed = false;

  static Gate& instance() {
    static Gate& gate = *new Gate;
    return gate;
  }

  void enter() {
    const std::scoped_lock lock(mutex);
    while (closed) waitForChange();
    ++inside;
  }
  void leave() {
    const std::scoped_lock lock(mutex);
    if (--inside == 0) pthread_cond_broadcast(&changed);
  }

  /// When nobody is inside.
  void close() {
    const std::scoped_lock lock(mutex);
    while (inside > 0) waitForChange();
    closed = true;
  }

  static void beforeFork() { instance().close(); }
  static void inParent() {
    Gate& gate = instance();
    const std::scoped_lock lock(gate.mutex);
    gate.closed = false;
    pthread_cond_broadcast(&gate.changed);
  }
  /// Those who have been waiting are not there.
  static void inChild() { new (&instance()) Gate; }

 private:
  /// With the mutex held, and held again.
  void waitForChange() { pthread_cond_wait(&changed, mutex.native_handle()); }
};

}  // namespace

bool runInBackground(std::function<void()> job) { return Threads::all().add(std::move(job)); }

void endBackground() {
  Threads::all().stop();
  Gate::instance().close();
}

bool isEnding() { return Threads::all().isStopping(); }

CompilerUse::CompilerUse() {
  [[maybe_unused]] static const int registered = pthread_atfork(Gate::beforeFork, Gate::inParent, Gate::inChild);
  Gate::instance().enter();
}

CompilerUse::~CompilerUse() { Gate::instance().leave(); }

void Job::begin() {
  process_ = getpid();
  inBackground_ = runInBackground([job = shared_from_this()] { job->run(); });
}

void Job::run() {
  const CompilerUse inside;  // a child of the process finds it done or not begun
  {
    absl::MutexLock lock(&mutex_);
    if (state_ != State::kWaiting) return;
    state_ = State::kRunning;
  }
  absl::Status result;
  try {
    result = work_();
  } catch (const std::exception& error) {
    result = absl::InternalError(error.what());
  }
  work_ = nullptr;
  absl::MutexLock lock(&mutex_);
  result_ = std::move(result);
  state_ = State::kDone;
}

absl::Status Job::state() {
  if (!inBackground_ || getpid() != process_) return wait();  // nobody else does it
  absl::MutexLock lock(&mutex_);
  return state_ == State::kDone ? result_ : absl::UnavailableError("it is still being made");
}

absl::Status Job::wait() {
  run();
  absl::MutexLock lock(&mutex_);
  const auto isDone = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return state_ == State::kDone; };
  mutex_.Await(absl::Condition(&isDone));
  return result_;
}

}  // namespace fw::runtime
