// Where the buffers of a call begin and end, for checked code (setting "checked"): taken from the arrays themselves,
// not from what was compiled for them.
#pragma once

#include <vector>

#include "bindings/result_builder.h"
#include "guards/guard_set.h"

namespace fw::bindings {

/// The bytes that an array reaches, from the first to the one behind the last; none if it has no elements.
struct ByteRange {
  char *first, *end;
};
inline ByteRange reachOf(char* data, int64_t itemSize, int rank, const int64_t* shape, const int64_t* strides) {
  ByteRange range{data, data + itemSize};
  for (int axis = 0; axis < rank; ++axis) {
    if (shape[axis] == 0) return {data, data};
    const int64_t reach = (shape[axis] - 1) * strides[axis];
    (reach < 0 ? range.first : range.end) += reach;
  }
  return range;
}

class BufferExtents {
 public:
  /// The arrays of the call become objects of its frames (GuardSet::objects).
  BufferExtents(const graph::Plan& plan, guards::GuardSet& guards);

  /// Addresses per buffer of the plan, behind its data pointers.
  static constexpr size_t kWordsPerBuffer = 2;
  /// Fills them in, once everything else of the frame and call is there.
  void fill(const guards::CallFrame& frame, const ResultBuilder::Call& call) const;

 private:
  struct Memory {
    int object = -1;                 ///< number of the array among the objects; none: a scalar, an output
    int list = -1;                   ///< the same of a list whose numbers have been copied
    guards::InputBinding binding{};  ///< of that list
    bool block = false;              ///< the input is a block of memory that the array is a part of
    bool asked = false;              ///< code knows the extent of all others itself; their address may not be there yet
    int64_t bytes = 0;               ///< of one element
  };
  std::vector<Memory> buffers_;
  std::vector<int> members_;  ///< objects that blocks have as parts: arrays whose addresses are compared
};

}  // namespace fw::bindings
