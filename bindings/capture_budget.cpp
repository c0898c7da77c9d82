#include "bindings/capture_budget.h"

namespace fw::bindings {

namespace {

/// What a program may lose in any case, and which part of its time beyond that.
constexpr std::chrono::milliseconds kAllowance{200};
constexpr int kShare = 10;

}  // namespace

bool CaptureBudget::isOpen() const {
  return spent_ < kAllowance || spent_ < kAllowance + (Clock::now() - start_) / kShare;
}

CaptureBudget& captureBudget() {
  static CaptureBudget budget;
  return budget;
}

}  // namespace fw::bindings
