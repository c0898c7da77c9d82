// CUDA C++ as C++ for the host: the threads of a block are fibers that change places at barriers, one block after the
// other. Sources have no divergent barriers, so that a round over all fibers is one.
#pragma once

// Only headers of C, which are read quickly.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

namespace emulation {

constexpr size_t kStack = 16 << 10;
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
inline Index blockIdx, blockDim, gridDim;
struct Fiber {
  ucontext_t context;
  char stack[kStack];
  Index index;
  bool done = false;
};
inline Fiber* fibers = nullptr;
inline ucontext_t scheduler;
inline size_t current = 0;
inline uint64_t slots[1024];
inline void (*body)() = nullptr;

inline void barrier() { swapcontext(&fibers[current].context, &scheduler); }
inline void start() {
  body();
  fibers[current].done = true;
  barrier();
}

inline void runBlock() {
  const size_t threads = size_t{blockDim.x} * blockDim.y;
  if (!fibers) fibers = static_cast<Fiber*>(malloc(1024 * sizeof(Fiber)));
  for (size_t t = 0; t < threads; ++t) {
    Fiber& f = fibers[t];
    f.done = false;
    f.index = {static_cast<unsigned>(t % blockDim.x), static_cast<unsigned>(t / blockDim.x), 0};
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack;
    f.context.uc_stack.ss_size = kStack;
    makecontext(&f.context, start, 0);
  }
  for (bool busy = true; busy;) {
    busy = false;
    for (current = 0; current < threads; ++current) {
      if (fibers[current].done) continue;
      swapcontext(&scheduler, &fibers[current].context);
      busy = true;
    }
  }
}

/// What `lane(own)` of the warp of the thread has.
template <class T, class F>
T exchange(T v, F lane) {
  const size_t own = current;
  memcpy(&slots[own], &v, sizeof v);
  barrier();
  T other;
  memcpy(&other, &slots[own / 32 * 32 + lane(own % 32) % 32], sizeof other);
  barrier();
  return other;
}

inline float widen(uint16_t h) {
  _Float16 x;
  memcpy(&x, &h, sizeof x);
  return static_cast<float>(x);
}
inline uint16_t narrow(float f) {
  const auto x = static_cast<_Float16>(f);
  uint16_t h;
  memcpy(&h, &x, sizeof h);
  return h;
}
inline void assembly(const char* text, float& f, uint16_t& h) {
  if (strstr(text, "cvt.f32.f16"))
    f = widen(h);
  else
    h = narrow(f);
}

template <class To, class From>
To bits(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace emulation

#define threadIdx (emulation::fibers[emulation::current].index)
using emulation::blockDim;
using emulation::blockIdx;
#define asm(...) emulation::assembly(#__VA_ARGS__, f, h)

inline void __syncthreads() { emulation::barrier(); }
template <class T>
T __shfl_xor_sync(unsigned, T v, int distance) {
  return emulation::exchange(v, [&](size_t lane) { return lane ^ static_cast<size_t>(distance); });
}
template <class T>
T __shfl_sync(unsigned, T v, int from, int width = 32) {
  return emulation::exchange(v, [&](size_t lane) {
    return lane / static_cast<size_t>(width) * static_cast<size_t>(width) + static_cast<size_t>(from);
  });
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((uint64_t{a} * b) >> 32); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline int __float2int_rz(float a) { return static_cast<int>(a); }
inline int __double2int_rz(double a) { return static_cast<int>(a); }
inline int __float_as_int(float a) { return emulation::bits<int>(a); }
inline float __int_as_float(int a) { return emulation::bits<float>(a); }
inline long long __double_as_longlong(double a) { return emulation::bits<long long>(a); }
inline double __longlong_as_double(long long a) { return emulation::bits<double>(a); }

/// What the driver calls: every block of a grid.
#define FW_EMULATED(Name, Params)                                                                                    \
  static const Params* emulatedParameters;                                                                           \
  extern "C" void emulated_run(const void* parameters, unsigned gridX, unsigned gridY, unsigned blockX,              \
                               unsigned blockY) {                                                                    \
    emulatedParameters = static_cast<const Params*>(parameters);                                                     \
    emulation::body = [] { Name(*emulatedParameters); };                                                             \
    emulation::blockDim = {blockX, blockY, 1};                                                                       \
    for (emulation::blockIdx.y = 0; emulation::blockIdx.y < gridY; ++emulation::blockIdx.y)                          \
      for (emulation::blockIdx.x = 0; emulation::blockIdx.x < gridX; ++emulation::blockIdx.x) emulation::runBlock(); \
  }
