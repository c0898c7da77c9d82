// Regions of a memory file with a free list each. The smallest free block that is large enough is taken and joined with
// free neighbours when it comes back; a region that fork() has retired only counts down and is unmapped when its last
// block goes.
#include "guards/arena.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "graph/support/check.h"

namespace fw::guards {

namespace {

struct Region {
  uint8_t* writable = nullptr;
  uint8_t* executable = nullptr;
  size_t bytes = 0;
  bool retired = false;                        // by fork
  std::map<size_t, size_t> free;               // offset -> bytes
  std::set<std::pair<size_t, size_t>> bySize;  // the same as (bytes, offset)
  std::map<size_t, size_t> live;

  ~Region() {
    if (writable) munmap(writable, bytes);
    if (executable) munmap(executable, bytes);
  }

  bool contains(const void* code) const {
    auto* p = static_cast<const uint8_t*>(code);
    return p >= executable && p < executable + bytes;
  }

  /// Offset of a free block, or `bytes` if there is none.
  size_t allocate(size_t size) {
    const auto fit = bySize.lower_bound({size, 0});
    if (fit == bySize.end()) return bytes;
    const auto [available, offset] = *fit;
    take(free.find(offset));
    if (available > size) give(offset + size, available - size);
    live[offset] = size;
    return offset;
  }

  void give(size_t offset, size_t size) {
    free[offset] = size;
    bySize.emplace(size, offset);
  }
  std::map<size_t, size_t>::iterator take(std::map<size_t, size_t>::iterator block) {
    bySize.erase({block->second, block->first});
    return free.erase(block);
  }

  void release(size_t offset) {
    auto block = live.find(offset);
    FW_CHECK(block != live.end());
    size_t size = block->second;
    live.erase(block);
    if (retired) return;
    std::memset(writable + offset, 0xcc, size);  // int3: running a dead stub traps
    auto next = free.lower_bound(offset);
    if (next != free.end() && next->first == offset + size) {
      size += next->second;
      next = take(next);
    }
    if (next != free.begin()) {
      auto previous = std::prev(next);
      if (previous->first + previous->second == offset) {
        offset = previous->first;
        size += previous->second;
        take(previous);
      }
    }
    give(offset, size);
  }
};

absl::StatusOr<std::unique_ptr<Region>> mapRegion(size_t bytes) {
  auto failed = [](const char* what) {
    return absl::ResourceExhaustedError(std::string("no executable memory for guards: ") + what + ": " +
                                        std::strerror(errno));
  };
  int fd = memfd_create("fusewire-guards", MFD_CLOEXEC);
  if (fd < 0) return failed("memfd_create");
  auto region = std::make_unique<Region>();
  region->bytes = bytes;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    absl::Status status = failed("ftruncate");
    close(fd);
    return status;
  }
  void* writable = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (writable != MAP_FAILED) region->writable = static_cast<uint8_t*>(writable);
  void* executable = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  if (executable != MAP_FAILED) region->executable = static_cast<uint8_t*>(executable);
  absl::Status status = region->writable && region->executable ? absl::OkStatus() : failed("mmap");
  close(fd);
  if (!status.ok()) return status;
  region->give(0, bytes);
  return region;
}

}  // namespace

struct CodeArena::State {
  std::mutex mutex;
  std::vector<std::unique_ptr<Region>> regions;

  void retireLocked() {
    for (auto& region : regions) region->retired = true;
    dropEmptyLocked();
  }
  void dropEmptyLocked() {
    std::erase_if(regions, [](const std::unique_ptr<Region>& r) { return r->retired && r->live.empty(); });
  }
};

CodeArena::CodeArena() : state_(new State) {}

CodeArena& CodeArena::process() {
  static CodeArena* arena = [] {
    auto* fresh = new CodeArena;
    // The mutex is held across fork() so that the child does not inherit it locked by a thread that it does not have.
    pthread_atfork([] { process().state_->mutex.lock(); },
                   [] {
                     process().state_->retireLocked();
                     process().state_->mutex.unlock();
                   },
                   [] {
                     process().state_->retireLocked();
                     process().state_->mutex.unlock();
                   });
    return fresh;
  }();
  return *arena;
}

absl::StatusOr<const void*> CodeArena::publish(absl::Span<const uint8_t> code) {
  size_t size = std::max<size_t>((code.size() + kLine - 1) / kLine, 1) * kLine;
  std::lock_guard<std::mutex> lock(state_->mutex);
  for (auto& region : state_->regions) {
    if (region->retired) continue;
    size_t offset = region->allocate(size);
    if (offset == region->bytes) continue;
    std::memcpy(region->writable + offset, code.data(), code.size());
    return region->executable + offset;
  }
  size_t bytes = std::max(kRegionBytes, (size + 4095) / 4096 * 4096);
  absl::StatusOr<std::unique_ptr<Region>> fresh = mapRegion(bytes);
  if (!fresh.ok()) return fresh.status();
  Region& region = *state_->regions.emplace_back(*std::move(fresh));
  size_t offset = region.allocate(size);
  std::memcpy(region.writable + offset, code.data(), code.size());
  return region.executable + offset;
}

void CodeArena::release(const void* code) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  for (auto& region : state_->regions) {
    if (!region->contains(code)) continue;
    region->release(static_cast<size_t>(static_cast<const uint8_t*>(code) - region->executable));
    state_->dropEmptyLocked();
    return;
  }
  FW_UNREACHABLE();
}

CodeArena::Stats CodeArena::stats() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  Stats stats{state_->regions.size(), 0, 0, 0};
  for (const auto& region : state_->regions) {
    stats.reservedBytes += region->bytes;
    stats.liveBlocks += region->live.size();
    for (const auto& [offset, size] : region->live) stats.liveBytes += size;
  }
  return stats;
}

}  // namespace fw::guards
