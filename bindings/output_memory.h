// Memory of large results: they get blocks of the pool through NumPy's data-allocator interface.
#pragma once

#include <Python.h>

#include <cstddef>

namespace fw::bindings {

/// Results of at least this many bytes use the pool; smaller ones are recycled by malloc itself.
inline constexpr size_t kPooledBytes = size_t{32} << 20;

/// While alive, arrays that this thread allocates take their data from the pool. Needs the GIL. ok() is false with a
/// Python exception set if NumPy refused the allocator.
class PooledAllocation {
 public:
  PooledAllocation();
  ~PooledAllocation();
  PooledAllocation(const PooledAllocation&) = delete;
  bool ok() const { return previous_ != nullptr; }

 private:
  PyObject* previous_;
};

}  // namespace fw::bindings
