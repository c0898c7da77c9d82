// What becomes of floating-point conditions that an operation raises: np.errstate around it, as far as it differs from
// the error state of the call.
#pragma once

#include <cstdint>

namespace fw::graph {

/// Sets of conditions, by bits of runtime::Status: invalid 1, divide 2, overflow 4, underflow 8. What is in neither is
/// the business of the call's error state.
struct ErrorRules {
  static constexpr uint8_t kAll = 15;
  uint8_t ignored = 0;   ///< nobody is told
  uint8_t reported = 0;  ///< reported, so that Python computes the call, whatever that state is

  bool any() const { return ignored != 0 || reported != 0; }
  /// As attribute `errors` of a node.
  int64_t code() const { return ignored | reported << 4; }
  static ErrorRules of(int64_t code) {
    return {static_cast<uint8_t>(code & kAll), static_cast<uint8_t>(code >> 4 & kAll)};
  }
  friend bool operator==(const ErrorRules&, const ErrorRules&) = default;
};

}  // namespace fw::graph
