// Floating-point flags as NumPy would report them.
#pragma once

#include <cstdint>
#include <string_view>

namespace fw::runtime {

/// Flags that one ufunc call raises.
struct RaisedFlags {
  int32_t status;
  uint32_t line;  ///< of the call
  std::string_view ufunc;
  uint64_t order;  ///< in the program
};

}  // namespace fw::runtime
