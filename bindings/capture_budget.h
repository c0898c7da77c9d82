// What may be spent on captures that nobody has asked for. Code that is not decorated is captured in the hope of array
// work; where it finds none, the time is lost. All that is lost may come to a small share of the time that the program
// has run, beyond which code that is not decorated waits. The GIL guards all of it.
#pragma once

#include <chrono>

namespace fw::bindings {

class CaptureBudget {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether code that is not decorated may be captured now.
  bool isOpen() const;

  /// Charges the budget with the time until its end, unless the capture has paid.
  class Charge {
   public:
    Charge(CaptureBudget& budget, bool unasked) : budget_(unasked ? &budget : nullptr), start_(Clock::now()) {}
    ~Charge() {
      if (budget_) budget_->spent_ += Clock::now() - start_;
    }
    Charge(const Charge&) = delete;
    void paid() { budget_ = nullptr; }

   private:
    CaptureBudget* budget_;
    Clock::time_point start_;
  };

 private:
  Clock::time_point start_ = Clock::now();
  Clock::duration spent_{};
};

/// The one of the process.
CaptureBudget& captureBudget();

}  // namespace fw::bindings
