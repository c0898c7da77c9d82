// Executable memory for guard stubs: one memory file mapped twice, once writable and once executable, so that no page
// is ever both. Stubs lie side by side on cache-line boundaries, because guards of many functions on pages of their own
// compete for the same cache sets.
//
// Lock rule: every member function takes the arena's own mutex. After fork() neither process reuses or writes memory
// that existed before it (the mapping is shared between them); both go on in fresh regions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fw::guards {

class CodeArena {
 public:
  /// The arena of this process. Never destroyed: stubs may run until exit.
  static CodeArena& process();

  /// Copies position-independent code; answers where it can be executed (64-byte aligned). kResourceExhausted if the
  /// system gives no memory or forbids executable mappings.
  absl::StatusOr<const void*> publish(absl::Span<const uint8_t> code);
  /// Gives back what publish() answered.
  void release(const void* code);

  struct Stats {
    size_t regions;  ///< mapped
    size_t liveBlocks;
    size_t liveBytes;  ///< of live blocks, rounded up to cache lines
    size_t reservedBytes;
  };
  Stats stats() const;

  static constexpr size_t kLine = 64;
  static constexpr size_t kRegionBytes = size_t{1} << 20;  ///< more for a single larger stub

  CodeArena(const CodeArena&) = delete;
  CodeArena& operator=(const CodeArena&) = delete;

 private:
  CodeArena();
  struct State;
  State* state_;
};

}  // namespace fw::guards
