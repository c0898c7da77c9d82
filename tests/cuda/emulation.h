// CUDA C++ as C++ for the host: the threads of a block are fibers that change places at barriers, one block after the
// other. A barrier lets nobody on before all threads of the block, or of the warp, have come to one of its kind: where
// some wait for others that never come, the process ends.
#pragma once

// Only headers of C, which are read quickly.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
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
enum class Wait : uint8_t { kNobody, kBlock, kWarp, kEver };
struct Fiber {
  ucontext_t context;
  char stack[kStack];
  Index index;
  Wait wait = Wait::kNobody;
};
inline Fiber* fibers = nullptr;
inline ucontext_t scheduler;
inline size_t current = 0;
inline uint64_t slots[1024];
inline void (*body)() = nullptr;
/// Shared memory whose size the launch says; behind that nobody writes.
inline unsigned sharedBytes = 0;
alignas(128) inline char shared[(227 << 10) + 4096];

inline void wait(Wait what) {
  fibers[current].wait = what;
  swapcontext(&fibers[current].context, &scheduler);
}
inline void start() {
  body();
  wait(Wait::kEver);
}

/// Lets on whoever waits for nobody but threads that wait themselves.
inline bool release(size_t from, size_t to, Wait what) {
  bool any = false;
  for (size_t t = from; t < to; ++t) {
    if (fibers[t].wait != what && fibers[t].wait != Wait::kEver) return false;
    any |= fibers[t].wait == what;
  }
  for (size_t t = from; t < to && any; ++t)
    if (fibers[t].wait == what) fibers[t].wait = Wait::kNobody;
  return any;
}

inline void fail(const char* why) {
  fprintf(stderr, "emulated kernel, block %u %u: %s\n", blockIdx.x, blockIdx.y, why);
  abort();
}

inline void runBlock() {
  const size_t threads = size_t{blockDim.x} * blockDim.y;
  if (!fibers) fibers = static_cast<Fiber*>(malloc(1024 * sizeof(Fiber)));
  memset(shared, 0xff, sizeof shared);
  for (size_t t = 0; t < threads; ++t) {
    Fiber& f = fibers[t];
    f.wait = Wait::kNobody;
    f.index = {static_cast<unsigned>(t % blockDim.x), static_cast<unsigned>(t / blockDim.x), 0};
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack;
    f.context.uc_stack.ss_size = kStack;
    makecontext(&f.context, start, 0);
  }
  for (bool busy = true; busy;) {
    busy = false;
    for (current = 0; current < threads; ++current) {
      if (fibers[current].wait != Wait::kNobody) continue;
      swapcontext(&scheduler, &fibers[current].context);
      busy = true;
    }
    for (size_t t = 0; t < threads; t += 32) busy |= release(t, t + 32 < threads ? t + 32 : threads, Wait::kWarp);
    busy |= release(0, threads, Wait::kBlock);
  }
  for (size_t t = 0; t < threads; ++t)
    if (fibers[t].wait != Wait::kEver) fail("threads wait for others that never come");
  for (size_t i = sharedBytes; i < sizeof shared; ++i)
    if (shared[i] != static_cast<char>(0xff)) fail("shared memory is written behind its end");
}

/// What `lane(own)` of the warp of the thread has.
template <class T, class F>
T exchange(T v, F lane) {
  const size_t own = current;
  memcpy(&slots[own], &v, sizeof v);
  wait(Wait::kWarp);
  T other;
  memcpy(&other, &slots[own / 32 * 32 + lane(own % 32) % 32], sizeof other);
  wait(Wait::kWarp);
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
inline void assembly(const char*, float& f, float& h) { f += h; }  // the one addition

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
using emulation::gridDim;
#define asm(...) emulation::assembly(#__VA_ARGS__, f, h)

#define FW_SHARED_BY_SIZE(name) char* const name = emulation::shared

inline void __syncthreads() { emulation::wait(emulation::Wait::kBlock); }
inline void __syncwarp() { emulation::wait(emulation::Wait::kWarp); }
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
inline int __clz(int n) { return n ? __builtin_clz(static_cast<unsigned>(n)) : 32; }
inline int __clzll(long long n) { return n ? __builtin_clzll(static_cast<unsigned long long>(n)) : 64; }
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
                               unsigned blockY, unsigned sharedBytes) {                                              \
    emulatedParameters = static_cast<const Params*>(parameters);                                                     \
    emulation::body = [] { Name(*emulatedParameters); };                                                             \
    emulation::blockDim = {blockX, blockY, 1};                                                                       \
    emulation::gridDim = {gridX, gridY, 1};                                                                          \
    emulation::sharedBytes = sharedBytes;                                                                            \
    for (emulation::blockIdx.y = 0; emulation::blockIdx.y < gridY; ++emulation::blockIdx.y)                          \
      for (emulation::blockIdx.x = 0; emulation::blockIdx.x < gridX; ++emulation::blockIdx.x) emulation::runBlock(); \
  }
