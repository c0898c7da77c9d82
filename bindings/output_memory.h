// Memory of large results and workspaces. Fresh pages cost more than computing into them, so blocks above a threshold
// are those that earlier ones gave back; results get theirs through NumPy's data-allocator interface.
#pragma once

#include <Python.h>

#include <cstddef>

namespace fw::bindings {

/// Results of at least this many bytes use the pool; smaller ones are recycled by malloc itself.
inline constexpr size_t kPooledBytes = size_t{32} << 20;
/// Workspaces change hands with every call, so they use it earlier.
inline constexpr size_t kPooledWorkspaceBytes = size_t{1} << 20;

/// A block of at least `bytes`, aligned to huge pages; nullptr if there is no memory. Thread-safe, no GIL needed.
void* takeBlock(size_t bytes);
void giveBlock(void* data);

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
