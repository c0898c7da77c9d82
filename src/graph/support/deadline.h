// A limit to the time that a piece of work may take of its thread, looked at between its steps. Time that other
// programs on the machine take is not counted, so that what is given up depends on the work and not on the load.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace fw {

/// The processor time of the calling thread, in ns; takes some 0.3 us.
inline int64_t threadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Of the thread that made it. There is none unless it was made by after().
class Deadline {
 public:
  Deadline() = default;
  static Deadline after(int64_t ns) {
    Deadline result;
    result.endNs_ = threadCpuNs() + ns;
    return result;
  }

  bool isOver() const { return endNs_ != INT64_MAX && threadCpuNs() > endNs_; }
  /// kDeadlineExceeded if it is over, with the step that will not be made.
  absl::Status check(std::string_view step) const {
    if (!isOver()) return absl::OkStatus();
    return absl::DeadlineExceededError("it takes too long: given up before " + std::string(step));
  }

 private:
  int64_t endNs_ = INT64_MAX;
};

}  // namespace fw
