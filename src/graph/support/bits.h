// Numbers as the low bytes of a word, which is how scalar constants and interpreted kernels carry them.
#pragma once

#include <cstdint>
#include <cstring>

namespace fw {

template <class T>
uint64_t bitsOf(T v) {
  static_assert(sizeof v <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

template <class T>
T fromBits(uint64_t bits) {
  static_assert(sizeof(T) <= sizeof bits);
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

}  // namespace fw
