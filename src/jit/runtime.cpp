// C++ functions that generated code calls: the C library, and conversions that the portable instruction set
// does not have.
#include "jit/runtime.h"

#include <immintrin.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

#include "graph/support/check.h"
#include "jit/undo_log.h"
#include "runtime/host.h"

namespace fw::jit {

using graph::DType;

namespace {

struct LibmEntry {
  RuntimeSymbol f32, f64;
};

template <class F>
const void* address(F* function) {
  return reinterpret_cast<const void*>(function);
}

template <class T>
using Fn1 = T(T);
template <class T>
using Fn2 = T(T, T);

template <int kArity, class T>
using FnOf = std::conditional_t<kArity == 1, Fn1<T>, Fn2<T>>;

const LibmEntry kLibm[] = {
#define FW_LIBM(Id, symbolF32, symbolF64, arity, vector)                \
  {{"fusewire_" #symbolF32, address<FnOf<arity, float>>(&::symbolF32)}, \
   {"fusewire_" #symbolF64, address<FnOf<arity, double>>(&::symbolF64)}},
#include "kernels/libm.def"
};

float halfToFloat(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}

/// The conversion reports in the status word of the x87 where compiled code asks that of SSE, so what the result tells
/// is raised here once more.
template <class T>
uint16_t toHalf(T value) {
  const _Float16 half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  const int magnitude = bits & 0x7fff;
  if (magnitude == 0x7c00 && std::isfinite(value)) {
    volatile float largest = FLT_MAX;
    largest = largest * 2;
  } else if (magnitude < 0x0400 && static_cast<T>(half) != value) {
    volatile float smallest = FLT_MIN;
    smallest = smallest * smallest;
  }
  return bits;
}

/// No flags are up, and nothing traps, while code of others runs; what it raises is not ours. Changing the register
/// takes longer than short calls, so a result that was not exact, which nobody looks for, stays noted.
class CleanFlags {
 public:
  CleanFlags() : own_(_mm_getcsr()) {
    if (!isClean(own_)) _mm_setcsr(kCleanControl);
  }
  ~CleanFlags() {
    if (!isClean(own_) || !isClean(_mm_getcsr())) _mm_setcsr(own_);
  }
  CleanFlags(const CleanFlags&) = delete;

 private:
  static bool isClean(unsigned state) { return (state & ~kInexactControl) == kCleanControl; }
  const unsigned own_;
};

int32_t look(runtime::Context* context, int32_t heavy) {
  if (!heavy && --context->untilLook[0] > 0) return 0;
  runtime::Host* host = context->host;
  if (host == nullptr) {
    context->untilLook[heavy] = INT32_MAX;
    return 0;
  }
  const CleanFlags clean;  // a handler may run
  return host->look(*context, heavy != 0);
}

int32_t callLibrary(runtime::Context* context, int32_t number) {
  const CleanFlags clean;
  return context->host->call(*context, number);
}

int32_t allocateBuffer(runtime::Context* context, int32_t buffer, int64_t bytes) {
  void* data = context->host->allocate(bytes);
  context->buffers[buffer] = data;
  return data ? 0 : runtime::kStatusDecline;
}

void releaseBuffer(runtime::Context* context, int32_t buffer) { context->host->release(context->buffers[buffer]); }

int32_t makeArray(runtime::Context* context, int32_t number) {
  return context->host->make(*context, number) ? 0 : runtime::kStatusDecline;
}

void copy(void* to, const void* from, int64_t bytes) {
  if (to != from) std::memcpy(to, from, static_cast<size_t>(bytes));
}

void putBack(const UndoEntry* entries, int64_t count) {
  for (const UndoEntry* entry = entries + count; entry-- != entries;)
    std::memcpy(entry->place, entry->saved, static_cast<size_t>(entry->bytes));
}

template <class T>
using Fn3 = T(T, T, T);

}  // namespace

const char* libmSymbol(uint64_t function, DType d) {
  FW_CHECK(function < std::size(kLibm) && (d == DType::kF32 || d == DType::kF64));
  return (d == DType::kF32 ? kLibm[function].f32 : kLibm[function].f64).name;
}

absl::Span<const RuntimeSymbol> runtimeSymbols() {
  static const std::vector<RuntimeSymbol> all = [] {
    std::vector<RuntimeSymbol> symbols = {
        {kHalfToFloat, address(&halfToFloat)},
        {kFloatToHalf, address(&toHalf<float>)},
        {kDoubleToHalf, address(&toHalf<double>)},
        {kCopy, address(&copy)},
        {kPutBack, address(&putBack)},
        {kLook, address(&look)},
        {kCallLibrary, address(&callLibrary)},
        {kAllocate, address(&allocateBuffer)},
        {kRelease, address(&releaseBuffer)},
        {kMakeArray, address(&makeArray)},
        {kFmaFloat, address<Fn3<float>>(&::fmaf)},
        {kFmaDouble, address<Fn3<double>>(&::fma)},
    };
    for (const LibmEntry& entry : kLibm) symbols.insert(symbols.end(), {entry.f32, entry.f64});
    return symbols;
  }();
  return all;
}

}  // namespace fw::jit
