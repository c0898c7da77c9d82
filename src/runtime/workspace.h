// Memory for the temporaries of one call.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "runtime/block_pool.h"

namespace fw::runtime {

/// Workspaces change hands with every call, so they use the pool earlier than results do.
inline constexpr size_t kPooledWorkspaceBytes = size_t{1} << 20;

/// 64-byte aligned bytes for the time of one call: from malloc, which recycles what is small, or from the pool of large
/// blocks.
class Workspace {
 public:
  explicit Workspace(int64_t bytes) : bytes_(bytes) {
    if (bytes_ == 0) return;
    data_ = pooled() ? takeBlock(static_cast<size_t>(bytes_)) : std::aligned_alloc(64, (bytes_ + 63) / 64 * 64);
  }
  ~Workspace() {
    if (data_ && pooled())
      giveBlock(data_);
    else
      std::free(data_);
  }
  Workspace(const Workspace&) = delete;
  bool ok() const { return bytes_ == 0 || data_; }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  bool pooled() const { return bytes_ >= static_cast<int64_t>(kPooledWorkspaceBytes); }
  int64_t bytes_;
  void* data_ = nullptr;
};

}  // namespace fw::runtime
