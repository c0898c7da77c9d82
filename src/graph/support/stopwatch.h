// Wall-clock time of the steps of a piece of work.
#pragma once

#include <chrono>
#include <utility>

namespace fw {

class Stopwatch {
 public:
  /// Since it was made, or since the last call.
  double lapMs() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace fw
