// Formats: Objects/locations.md and Objects/exception_handling_notes.txt of CPython; the same in 3.11 to 3.13.
//   positions   entries of at most eight units. First byte: 0x80 | form << 3 | units - 1. Form 0-9: same line,
//               column in form and second byte; 10-12: one line, one or two further; 13: a line without columns; 14:
//               everything, as varints; 15: nothing. Varints have six bits per byte, low bits first, 0x40 says that
//               more follow.
//   exceptions  start, length, target, depth << 1 | lasti as varints with the high bits first; 0x80 marks an entry's
//               first byte (CPython searches the table by bisection).
#include "cpython/code_tables.h"

#include <algorithm>

#include "cpython/version.h"

namespace fw::cpython {
namespace {

constexpr int kMaxUnits = 8;
constexpr int kNoColumns = 13, kLong = 14, kNoPosition = 15, kOneLine = 10;

/// Bytes of a table; reading past the end answers zeros.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool more() const { return at_ < bytes_.size(); }
  int byte() { return more() ? static_cast<uint8_t>(bytes_[at_++]) : 0; }
  int lowFirst() {
    unsigned value = 0;
    for (int shift = 0;; shift += 6) {
      int b = byte();
      value |= static_cast<unsigned>(b & 63) << (shift & 31);
      if (!(b & 64)) return static_cast<int>(value);
    }
  }
  int lowFirstSigned() {
    int value = lowFirst();
    return value & 1 ? -(value >> 1) : value >> 1;
  }
  int highFirst() {
    int b = byte(), value = b & 63;
    while (b & 64) {
      b = byte();
      value = value << 6 | (b & 63);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

/// Reads what follows the first byte of an entry; `line` is the running line of the table.
Position readEntry(Reader& in, int form, int& line) {
  Position none{-1, -1, -1, -1};
  if (form == kNoPosition) return none;
  if (form == kLong) {
    line += in.lowFirstSigned();
    Position p{.line = line, .endLine = line + in.lowFirst()};
    p.column = in.lowFirst() - 1;
    p.endColumn = in.lowFirst() - 1;
    return p;
  }
  if (form == kNoColumns) {
    line += in.lowFirstSigned();
    return {line, line, -1, -1};
  }
  if (form >= kOneLine) {
    line += form - kOneLine;
    int column = in.byte();
    return {line, line, column, in.byte()};
  }
  int second = in.byte();
  int column = form << 3 | second >> 4;
  return {line, line, column, column + (second & 15)};
}

}  // namespace

std::vector<Position> readPositions(std::string_view table, int units, int firstLine) {
  std::vector<Position> positions;
  positions.reserve(units);
  Reader in(table);
  int line = firstLine;
  while (in.more() && static_cast<int>(positions.size()) < units) {
    int first = in.byte();
    Position p = readEntry(in, first >> 3 & 15, line);
    positions.insert(positions.end(), (first & 7) + 1, p);
  }
  positions.resize(units, Position{-1, -1, -1, -1});
  return positions;
}

void PositionWriter::add(const Position& position, int units) {
  // co_lines() shows the entries of 3.11, whose compiler writes one per instruction; later ones join equal positions.
  if (kIs311 || !(position == pending_)) flush();
  pending_ = position;
  pendingUnits_ += units;
}

std::string PositionWriter::finish() {
  flush();
  return std::move(out_);
}

void PositionWriter::flush() {
  for (; pendingUnits_ > 0; pendingUnits_ -= kMaxUnits) entry(std::min(pendingUnits_, kMaxUnits));
  pendingUnits_ = 0;
}

void PositionWriter::entry(int units) {
  const Position& p = pending_;
  auto first = [&](int form) { out_.push_back(static_cast<char>(0x80 | form << 3 | (units - 1))); };
  if (p.line < 0) {
    first(kNoPosition);
    return;
  }
  int delta = p.line - line_;
  line_ = p.line;
  bool oneLine = p.endLine == p.line || p.endLine < 0;
  if (oneLine && (p.column < 0 || p.endColumn < 0)) {
    first(kNoColumns);
    signedVarint(delta);
  } else if (oneLine && delta == 0 && p.column < 80 && p.endColumn >= p.column && p.endColumn - p.column < 16) {
    first(p.column >> 3);
    out_.push_back(static_cast<char>((p.column & 7) << 4 | (p.endColumn - p.column)));
  } else if (oneLine && delta >= 0 && delta < 3 && p.column < 128 && p.endColumn < 128) {
    first(kOneLine + delta);
    out_.push_back(static_cast<char>(p.column));
    out_.push_back(static_cast<char>(p.endColumn));
  } else {
    first(kLong);
    signedVarint(delta);
    varint(static_cast<unsigned>(std::max(p.endLine - p.line, 0)));
    varint(static_cast<unsigned>(p.column + 1));
    varint(static_cast<unsigned>(p.endColumn + 1));
  }
}

void PositionWriter::varint(unsigned value) {
  for (; value >= 64; value >>= 6) out_.push_back(static_cast<char>(64 | (value & 63)));
  out_.push_back(static_cast<char>(value));
}

std::vector<Handler> readHandlers(std::string_view table) {
  std::vector<Handler> handlers;
  Reader in(table);
  while (in.more()) {
    int start = in.highFirst(), length = in.highFirst(), target = in.highFirst(), depth = in.highFirst();
    handlers.push_back({start, start + length, target, depth >> 1, (depth & 1) != 0});
  }
  return handlers;
}

std::string writeHandlers(const std::vector<Handler>& handlers) {
  std::string out;
  auto number = [&](int value, int mark) {
    int shift = 24;
    while (shift > 0 && value >> shift == 0) shift -= 6;
    for (; shift >= 0; shift -= 6, mark = 0) {
      out.push_back(static_cast<char>(mark | (shift > 0 ? 64 : 0) | (value >> shift & 63)));
    }
  };
  for (const Handler& h : handlers) {
    if (h.start >= h.end) continue;
    number(h.start, 0x80);
    number(h.end - h.start, 0);
    number(h.target, 0);
    number(h.depth << 1 | (h.lasti ? 1 : 0), 0);
  }
  return out;
}

}  // namespace fw::cpython
