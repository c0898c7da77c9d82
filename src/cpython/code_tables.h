// The compressed tables of a code object: positions (co_linetable) and exception ranges (co_exceptiontable). In units
// of two bytes of code. For the .cpp files of this folder only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/bytecode.h"

namespace fw::cpython {

/// Position of each code unit; line -1 where there is none.
std::vector<Position> readPositions(std::string_view table, int units, int firstLine);

/// Entries must be added in the order of the code.
class PositionWriter {
 public:
  explicit PositionWriter(int firstLine) : line_(firstLine) {}
  void add(const Position& position, int units);
  std::string finish();

 private:
  void flush();
  void entry(int units);
  void varint(unsigned value);
  void signedVarint(int value) { varint(value < 0 ? (0u - static_cast<unsigned>(value)) << 1 | 1 : value * 2u); }

  std::string out_;
  int line_;
  Position pending_;
  int pendingUnits_ = 0;
};

/// Handler::start, end and target as code units.
std::vector<Handler> readHandlers(std::string_view table);
std::string writeHandlers(const std::vector<Handler>& handlers);

}  // namespace fw::cpython
