// Machine code with names for what looks at a process from outside: perf (its map and its dump of code) and GDB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fw::jit {

/// A function of machine code.
struct CodeFunction {
  std::string name;  ///< what is behind the label: "" for the whole, "_part0"
  const char* address;
  size_t size;
};

/// From now on code has frame pointers and names: /tmp/perf-PID.map and /tmp/jit-PID.dump for perf, GDB's interface.
/// Before anything is compiled. Error message or "".
std::string openProfilers();
bool areProfilersOpen();

/// Tells of functions under a name of the user's: "softmax:12-15". What it answers lives as long as the code.
std::shared_ptr<void> tellProfilers(std::string_view label, const std::vector<CodeFunction>& functions);

}  // namespace fw::jit
