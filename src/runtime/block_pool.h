// Large blocks of memory that are used again: fresh pages cost more than computing into them.
#pragma once

#include <cstddef>

namespace fw::runtime {

/// A block of at least `bytes`, aligned to huge pages; nullptr if there is no memory. Thread-safe.
void* takeBlock(size_t bytes) noexcept;
/// Gives back a block that was taken.
void giveBlock(void* data) noexcept;
/// Bytes of a block that was taken.
size_t blockBytes(void* data);

}  // namespace fw::runtime
