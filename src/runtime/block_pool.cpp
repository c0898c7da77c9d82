// A block is its own anonymous mapping, aligned to huge pages and advised to use them. At most kKeptBlocks free blocks
// of kKeptBytes in total are kept; the rest goes back to the system.
#include "runtime/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace fw::runtime {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kKeptBlocks = 8;
constexpr size_t kKeptBytes = size_t{512} << 20;

struct Block {
  void* data;
  size_t bytes;
};

class Pool {
 public:
  Pool() { free_.reserve(kKeptBlocks + 1); }

  void* take(size_t bytes) {
    bytes = roundUp(bytes);
    {
      std::lock_guard lock(mutex_);
      auto it = free_.end();  // the smallest that fits and is not far too large
      for (auto block = free_.begin(); block != free_.end(); ++block)
        if (block->bytes >= bytes && block->bytes <= 2 * bytes && (it == free_.end() || block->bytes < it->bytes))
          it = block;
      if (it != free_.end()) {
        live_.push_back(*it);
        free_.erase(it);
        return live_.back().data;
      }
    }
    void* data = map(bytes);
    if (!data) return nullptr;
    try {
      std::lock_guard lock(mutex_);
      live_.push_back({data, bytes});
    } catch (...) {
      munmap(data, bytes);
      throw;
    }
    return data;
  }

  /// Capacity of a block in use.
  size_t capacity(void* data) {
    std::lock_guard lock(mutex_);
    return findLiveLocked(data)->bytes;
  }

  void give(void* data) noexcept {
    std::array<Block, kKeptBlocks + 1> surplus;
    size_t surplusCount = 0;
    {
      std::lock_guard lock(mutex_);
      auto it = findLiveLocked(data);
      free_.push_back(*it);
      live_.erase(it);
      size_t total = 0;
      for (const Block& b : free_) total += b.bytes;
      while (free_.size() > kKeptBlocks || total > kKeptBytes) {
        total -= free_.front().bytes;
        surplus[surplusCount++] = free_.front();
        free_.erase(free_.begin());
      }
    }
    for (size_t i = 0; i < surplusCount; ++i) munmap(surplus[i].data, surplus[i].bytes);
  }

 private:
  static size_t roundUp(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

  static void* map(size_t bytes) {
    // Over-allocate by one huge page and trim, which leaves an aligned block.
    void* raw = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    const uintptr_t start = reinterpret_cast<uintptr_t>(raw), aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
    if (aligned > start) munmap(raw, aligned - start);
    const size_t tail = start + bytes + kHugePage - (aligned + bytes);
    if (tail) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
    madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
    return reinterpret_cast<void*>(aligned);
  }

  std::vector<Block>::iterator findLiveLocked(void* data) {
    return std::find_if(live_.begin(), live_.end(), [&](const Block& b) { return b.data == data; });
  }

  std::mutex mutex_;
  std::vector<Block> free_;  // guarded by mutex_, oldest first; never grows beyond what is reserved
  std::vector<Block> live_;  // guarded by mutex_; blocks are large, so there are few
};

Pool& pool() {
  static Pool* instance = new Pool;  // never destroyed: arrays may outlive static destruction
  return *instance;
}

}  // namespace

// NumPy calls these, so that nothing may be thrown.
void* takeBlock(size_t bytes) noexcept try { return pool().take(bytes); } catch (const std::bad_alloc&) {
  return nullptr;
}
void giveBlock(void* data) noexcept { pool().give(data); }
size_t blockBytes(void* data) { return pool().capacity(data); }

}  // namespace fw::runtime
