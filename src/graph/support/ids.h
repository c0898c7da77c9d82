// Strong 32-bit ids: an index into one arena that cannot be mixed up with an index into another.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace fw {

template <class Tag>
struct StrongId {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;

  constexpr StrongId() = default;
  constexpr explicit StrongId(uint32_t i) : index(i) {}
  constexpr explicit StrongId(size_t i) : index(static_cast<uint32_t>(i)) {}
  constexpr explicit StrongId(int i) : index(static_cast<uint32_t>(i)) {}
  constexpr bool valid() const { return index != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr bool operator==(StrongId, StrongId) = default;
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  template <typename H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.index);
  }
};

}  // namespace fw

template <class Tag>
struct std::hash<fw::StrongId<Tag>> {
  size_t operator()(fw::StrongId<Tag> id) const noexcept { return id.index * 0x9E3779B97F4A7C15ull; }
};
