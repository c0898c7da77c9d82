// Arrays of one call that share memory, one of which is written.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "cpython/numpy_api.h"
#include "cpython/ref.h"
#include "graph/graph.h"
#include "guards/source.h"

namespace fw::capture {

struct Value;

/// One array as a part of the block: along axis i of the block it takes `count` elements from `low` on (one, if it has
/// no axis there), every |step|-th, backwards if step < 0.
struct SharedAxis {
  int own = -1;                         ///< axis of the array, -1: an index
  int64_t low = 0, step = 1, span = 1;  ///< as seen now; span = (count - 1) * |step| + 1
  bool atEnd = false;  ///< `low` follows from the end of the block's first array rather than being that number
};

struct SharedMember {
  cpython::Ref object;
  guards::SourceId source;
  std::vector<SharedAxis> axes;  ///< per axis of the block
  Value* view = nullptr;         ///< once opened: this part of the block, as it is now
};

/// Arrays as views of one block of memory, which has the strides of the first array and begins where that begins. The
/// block lies within the memory that its arrays reach over.
struct SharedMemory {
  std::vector<SharedMember> members;
  size_t farthest = 0;     ///< the member that reaches to the end of the block on every axis
  Value* block = nullptr;  ///< once opened
};

/// Ends a trace that ran into arrays that share memory: the next one knows it from the beginning.
struct SharedMemoryFound {
  std::vector<SharedMemory> groups;
  std::shared_ptr<guards::SourceTable> sources;  ///< of the members
};

/// How these arrays lie in one block; nullopt if they are no regular parts of one.
std::optional<SharedMemory> planSharing(absl::Span<PyObject* const> arrays);

/// The path `id` in another table.
guards::SourceId copyPath(const guards::SourceTable& from, guards::SourceId id, guards::SourceTable& to);

}  // namespace fw::capture
