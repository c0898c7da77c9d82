// Threads that compile while others go on.
#pragma once

#include <functional>

namespace fw::jit::cuda {

/// Hands a job to one of a few threads of this process, which are started when they are first needed. Jobs may wait for
/// locks of nobody who waits for them, Python's among them. When the process ends, jobs that run are waited for, the
/// others are dropped. False in a child of the process that has begun them: there are no threads, and nobody runs it.
bool runInBackground(std::function<void()> job);

}  // namespace fw::jit::cuda
