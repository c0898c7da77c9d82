// One at a time, without waiting: a flag of its owner, held for a scope.
#pragma once

#include <utility>

namespace fw::bindings {

/// Guarded by the GIL, as the flag is. The owner of the flag outlives the claim.
class Claim {
 public:
  explicit Claim(bool& held) : held_(held), mine_(!std::exchange(held, true)) {}
  ~Claim() {
    if (mine_) held_ = false;
  }
  Claim(const Claim&) = delete;
  /// False if somebody else holds the flag.
  explicit operator bool() const { return mine_; }

 private:
  bool& held_;
  bool mine_;
};

}  // namespace fw::bindings
