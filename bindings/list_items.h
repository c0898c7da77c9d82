// Arrays of the numbers in lists of the caller's, made for one call.
#pragma once

#include <memory>
#include <vector>

#include "guards/guard_set.h"

namespace fw::bindings {

/// An input of the graph that is such a list.
struct ListInput {
  size_t input;  ///< of the graph
  int object;    ///< index into CallFrame::objects
  bool ints;     ///< within 62 bits, i64; else floats, f64
  bool written;  ///< the call sets items
};

/// The lists among a set's inputs, which become objects of the frame.
std::vector<ListInput> listInputs(guards::GuardSet& guards);

/// How many numbers are in a list, or in the lists of one length in it.
int64_t numbersIn(PyObject* list);

class ListItems {
 public:
  /// Copies the lists' numbers, C order, and points the frame's buffers to them. False where an item is of another
  /// class than the first, or too great, or a list in a list of another length; where some are written and a list is
  /// there twice; and where there is no memory.
  bool fill(const guards::CallFrame& frame, const std::vector<ListInput>& inputs);

 private:
  std::vector<std::unique_ptr<int64_t[]>> memory_;
};

}  // namespace fw::bindings
