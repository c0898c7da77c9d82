// Functions that generated code calls, by name: each process has them at another address.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "graph/dtype.h"

namespace fw::jit {

/// Of MXCSR: all exceptions masked, round to nearest, denormals kept, no flag set - what NumPy's results are defined
/// under; and the flag of results that were not exact, which nobody asks for.
inline constexpr uint32_t kCleanControl = 0x1f80, kInexactControl = 0x20;

/// Symbols of code begin with a prefix of ours: LLVM thinks that it knows what `sin` is.
inline constexpr char kHalfToFloat[] = "fusewire_half_to_float";    ///< float (uint16_t)
inline constexpr char kFloatToHalf[] = "fusewire_float_to_half";    ///< uint16_t (float)
inline constexpr char kDoubleToHalf[] = "fusewire_double_to_half";  ///< uint16_t (double)
inline constexpr char kFmaFloat[] = "fusewire_fma_f32";
inline constexpr char kFmaDouble[] = "fusewire_fma_f64";
/// void (void* to, const void* from, int64_t bytes), unless both are one memory.
inline constexpr char kCopy[] = "fusewire_copy";
/// void (const UndoEntry* entries, int64_t count): puts back what was saved (undo_log.h), the latest first.
inline constexpr char kPutBack[] = "fusewire_put_back";
/// int32_t (Context*, int32_t number): that library call, through the context's host, in an environment of its own:
/// neither sees the floating-point flags of the other. Answers Status bits.
inline constexpr char kCallLibrary[] = "fusewire_call_library";
/// int32_t (Context*, int32_t buffer, int64_t bytes): memory for a kHeap buffer. Answers Status bits.
inline constexpr char kAllocate[] = "fusewire_allocate";
/// void (Context*, int32_t buffer)
inline constexpr char kRelease[] = "fusewire_release";
/// int32_t (Context*, int32_t number): an array that the plan makes on the way. Answers Status bits.
inline constexpr char kMakeArray[] = "fusewire_make_array";
/// int32_t (Context*, int32_t heavy): Host::look(). Of heavy ones the caller knows that its time has come.
inline constexpr char kLook[] = "fusewire_look";
/// Of a function of kernels/libm.def, for f32 or f64.
const char* libmSymbol(uint64_t function, graph::DType d);

struct RuntimeSymbol {
  const char* name;
  const void* address;
};
absl::Span<const RuntimeSymbol> runtimeSymbols();

}  // namespace fw::jit
