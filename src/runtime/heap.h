// Memory that a run asks for on the way. Whatever is left goes with it, so that no way out of a run has to think of it.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "runtime/memory.h"

namespace fw::runtime {

class Heap {
 public:
  Heap() = default;
  Heap(const Heap&) = delete;
  ~Heap() {
    for (const auto& [data, bytes] : blocks_) runtime::release(data, bytes);
  }

  /// Null if there is no memory.
  void* allocate(int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    void* data = runtime::allocate(size);
    if (data) blocks_[data] = size;
    return data;
  }

  void release(void* data) {
    const auto at = blocks_.find(data);
    if (at == blocks_.end()) return;
    runtime::release(data, at->second);
    blocks_.erase(at);
  }

 private:
  absl::flat_hash_map<void*, size_t> blocks_;
};

}  // namespace fw::runtime
