// Blocks of middle size are kept by the thread that gives them back, one of each class: malloc would return the end of
// its heap to the system after every call, and the next call would meet fresh pages.
#include "runtime/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <utility>

#include "runtime/block_pool.h"

namespace fw::runtime {
namespace {

/// Memory of calls changes hands with each, so that it uses the pool earlier than results do.
constexpr size_t kPooledBytes = size_t{1} << 20;

std::atomic<int64_t> untilFailure{0};  // 0: none is planted

/// Classes are powers of two from the first to below kPooledBytes.
constexpr size_t kFirstClass = size_t{4} << 10;
constexpr size_t kClasses = std::bit_width(kPooledBytes) - std::bit_width(kFirstClass) + 1;

struct Kept {
  ~Kept() {
    for (void* block : blocks) std::free(block);
  }
  std::array<void*, kClasses> blocks{};
};
thread_local Kept kept;

bool isKept(size_t bytes) { return bytes >= kFirstClass; }

/// Where blocks for `bytes` are kept.
void*& keptFor(size_t bytes) {
  return kept.blocks[static_cast<size_t>(std::bit_width(bytes - 1) - std::bit_width(kFirstClass - 1))];
}

}  // namespace

int64_t plantAllocationFailure(int64_t number) {
  return std::max(untilFailure.exchange(number, std::memory_order_relaxed), int64_t{0});
}

bool mayAllocate() {
  if (untilFailure.load(std::memory_order_relaxed) <= 0) [[likely]]
    return true;
  return untilFailure.fetch_sub(1, std::memory_order_relaxed) != 1;
}

void* allocate(size_t bytes) {
  if (!mayAllocate()) return nullptr;
  if (bytes >= kPooledBytes) return takeBlock(bytes);
  if (!isKept(bytes)) return std::aligned_alloc(64, bytes == 0 ? 64 : (bytes + 63) / 64 * 64);
  if (void* block = std::exchange(keptFor(bytes), nullptr)) return block;
  return std::aligned_alloc(64, std::bit_ceil(bytes));
}

void release(void* data, size_t bytes) {
  if (!data) return;
  if (bytes >= kPooledBytes) return giveBlock(data);
  std::free(isKept(bytes) ? std::exchange(keptFor(bytes), data) : data);
}

}  // namespace fw::runtime
