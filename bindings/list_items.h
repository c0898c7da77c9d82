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
  guards::InputBinding binding;
};

/// The lists among a set's inputs, which become objects of the frame.
std::vector<ListInput> listInputs(guards::GuardSet& guards);

/// For how many numbers there is room in the array that the input is.
int64_t numbersIn(PyObject* list, const guards::InputBinding& binding);

class ListItems {
 public:
  /// Copies the lists' numbers, C order, and points the frame's buffers to them. False where an item is of another
  /// class than the first, or too great, a tuple of another length, or a list in a list, if they are of one length, or
  /// all of them longer than the input has room for; where some are written and a list is there twice; and where there
  /// is no memory.
  bool fill(const guards::CallFrame& frame, const std::vector<ListInput>& inputs);

 private:
  std::vector<std::unique_ptr<int64_t[]>> memory_;
};

}  // namespace fw::bindings
