// Memory for the temporaries of one call.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace fw::bindings {

/// 64-byte aligned bytes. Small ones come from malloc; a large one is kept per thread for the next call, because fresh pages
/// cost more than computing into them.
class Workspace {
 public:
  explicit Workspace(int64_t bytes) : bytes_(bytes) {
    if (bytes_ == 0) return;
    Kept& kept = keptByThread();
    if (bytes_ <= kept.capacity && !kept.inUse) {
      data_ = kept.data;
      kept.inUse = fromKept_ = true;
      return;
    }
    const int64_t rounded = (bytes_ + 63) / 64 * 64;
    data_ = std::aligned_alloc(64, rounded);
    if (data_ && !kept.inUse && rounded <= kKeepAtMost) {
      kept.replace(data_, rounded);
      kept.inUse = fromKept_ = true;
    }
  }
  ~Workspace() {
    if (fromKept_)
      keptByThread().inUse = false;
    else
      std::free(data_);
  }
  Workspace(const Workspace&) = delete;
  bool ok() const { return bytes_ == 0 || data_; }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int64_t kKeepAtMost = int64_t{256} << 20;
  struct Kept {
    void* data = nullptr;
    int64_t capacity = 0;
    bool inUse = false;
    ~Kept() { std::free(data); }
    void replace(void* fresh, int64_t bytes) {
      std::free(data);
      data = fresh;
      capacity = bytes;
    }
  };
  static Kept& keptByThread() {
    static thread_local Kept kept;
    return kept;
  }

  int64_t bytes_;
  void* data_ = nullptr;
  bool fromKept_ = false;
};

}  // namespace fw::bindings
