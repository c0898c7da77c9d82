// Memory for the time of one call.
#pragma once

#include <cstdint>

#include "runtime/memory.h"

namespace fw::runtime {

/// 64-byte aligned bytes; none is no allocation.
class Workspace {
 public:
  explicit Workspace(int64_t bytes)
      : bytes_(static_cast<size_t>(bytes)),
        data_(bytes == 0 ? nullptr : allocate(bytes_)) {}
  ~Workspace() {
    if (data_) release(data_, bytes_);
  }
  Workspace(const Workspace&) = delete;
  bool ok() const { return bytes_ == 0 || data_; }
  void* data() const { return data_; }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace fw::runtime
