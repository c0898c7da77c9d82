// Where the launches of a call go: to the stream, or into a list that is launched again and again.
#pragma once

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "runtime/cuda/host.h"
#include "runtime/cuda/launch_graph.h"

namespace fw::jit::cuda {

class LaunchSink {
 public:
  virtual ~LaunchSink() = default;
  /// `parameters`: the structure that the function is launched with. Copied.
  virtual absl::Status launch(runtime::cuda::Function& function, const runtime::cuda::LaunchSize& size,
                              absl::Span<uint64_t> parameters) = 0;
  /// Memory for what one kernel hands to the next; null if there is none.
  virtual void* allocate(int64_t bytes) = 0;
  /// What is launched from now on does not need it.
  virtual void release(void* data) = 0;
};

class StreamSink final : public LaunchSink {
 public:
  explicit StreamSink(runtime::cuda::Host& host) : host_(host) {}
  absl::Status launch(runtime::cuda::Function& function, const runtime::cuda::LaunchSize& size,
                      absl::Span<uint64_t> parameters) override {
    return function.launch(size, parameters.data(), host_.stream());
  }
  void* allocate(int64_t bytes) override { return host_.allocate(bytes); }
  void release(void* data) override { host_.release(data); }

 private:
  runtime::cuda::Host& host_;
};

/// Memory stays allocated as long as the list lives, and is used again by what comes behind.
class RecordingSink final : public LaunchSink {
 public:
  explicit RecordingSink(runtime::cuda::Host& host) : host_(host) {}
  ~RecordingSink() override {
    for (const Block& block : blocks_) host_.release(block.data);
  }
  RecordingSink(const RecordingSink&) = delete;

  absl::Span<const runtime::cuda::KernelLaunch> launches() const { return launches_; }
  absl::Status launch(runtime::cuda::Function& function, const runtime::cuda::LaunchSize& size,
                      absl::Span<uint64_t> parameters) override {
    launches_.push_back({&function, size, {parameters.begin(), parameters.end()}});
    return absl::OkStatus();
  }
  void* allocate(int64_t bytes) override {
    for (Block& block : blocks_)
      if (!block.used && block.bytes >= bytes) return block.used = true, block.data;
    void* data = host_.allocate(bytes);
    if (data) blocks_.push_back({data, bytes, true});
    return data;
  }
  void release(void* data) override {
    for (Block& block : blocks_)
      if (block.data == data) block.used = false;
  }

 private:
  struct Block {
    void* data;
    int64_t bytes;
    bool used;
  };
  runtime::cuda::Host& host_;
  std::vector<runtime::cuda::KernelLaunch> launches_;
  std::vector<Block> blocks_;
};

}  // namespace fw::jit::cuda
