#include "runtime/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "runtime/block_pool.h"

namespace fw::runtime {
namespace {

/// Memory of calls changes hands with each, so that it uses the pool earlier than results do.
constexpr size_t kPooledBytes = size_t{1} << 20;

std::atomic<int64_t> untilFailure{0};  // 0: none is planted

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
  return std::aligned_alloc(64, bytes == 0 ? 64 : (bytes + 63) / 64 * 64);
}

void release(void* data, size_t bytes) {
  if (data && bytes >= kPooledBytes)
    giveBlock(data);
  else
    std::free(data);
}

}  // namespace fw::runtime
