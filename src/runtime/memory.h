// The one place through which memory of a call comes: its workspace, what commits save, and, asked before, results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fw::runtime {

/// 64-byte aligned bytes, at least one; null if there is no memory. Small ones come from malloc, which recycles them,
/// large ones from the pool of blocks. Thread-safe.
void* allocate(size_t bytes);
/// Gives back what allocate(bytes) answered; null is nothing.
void release(void* data, size_t bytes);

/// Allocation number `number` from now on, in this process, finds no memory; 0: all do. Answers how many were still
/// missing to the failure that was planted before, 0 if it has happened. For tests.
int64_t plantAllocationFailure(int64_t number);
/// Counts an allocation that is about to be made elsewhere; false if it is the one to fail.
bool mayAllocate();

}  // namespace fw::runtime
