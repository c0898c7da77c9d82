// Python's integer division on int64, total: a zero divisor or an overflow answers 0 (a guard has excluded them).
#pragma once

#include <cstdint>

namespace fw::jit {

inline int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return 0;
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

inline int64_t floorMod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

}  // namespace fw::jit
