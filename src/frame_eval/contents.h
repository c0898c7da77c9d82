// What a Value of the trace holds, as far as code can change it.
#pragma once

#include <utility>
#include <vector>

#include "frame_eval/value.h"

namespace fw::capture {

struct Contents {
  explicit Contents(const Value& value);
  friend bool operator==(const Contents&, const Contents&) = default;

  ValueKind kind;
  graph::ValueId node;
  std::vector<Value*> items;  ///< not of arrays, which list their views there
  std::vector<Value*> keys;
  std::vector<std::pair<PyObject*, Value*>> overlay;
  Value* base;
  size_t position;
  unsigned changes;
  bool frozen;
  const void* generator = nullptr;  ///< its frame, and the next instruction there
  size_t pc = 0;
};

}  // namespace fw::capture
