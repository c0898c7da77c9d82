// The locks that a region takes while it runs (frame_eval/locks.h).
#pragma once

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "cpython/ref.h"

namespace fw::bindings {

/// Gives back what it holds when it goes, unless keep() was called. Needs the GIL.
class HeldLocks {
 public:
  HeldLocks() = default;
  HeldLocks(const HeldLocks&) = delete;
  ~HeldLocks();

  /// Takes objects[which[i]], all or none, without waiting; false if one is not free. Leaves no exception behind. The
  /// GIL is not given up meanwhile.
  bool take(PyObject* const* objects, absl::Span<const int> which);
  /// Gives back number `index` of them. False with an exception set.
  bool release(size_t index);
  /// What was not given back stays taken: the frame goes on with it.
  void keep() { locks_.clear(); }

 private:
  absl::InlinedVector<cpython::Ref, 2> locks_;  // empty where it was given back
};

}  // namespace fw::bindings
