// Templates of scalar_ops.def and libm.def filled in.
#include "kernels/cuda/text.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/support/bits.h"
#include "graph/support/check.h"

namespace fw::kernels::cuda {
namespace {

struct Row {
  std::string_view f32, f64, integer;
};
constexpr Row kRows[] = {
#define FW_SCALAR_OP(Id, text, arity, result, flags, cudaF32, cudaF64, cudaInt) {cudaF32, cudaF64, cudaInt},
#include "kernels/scalar_ops.def"
};

struct Function {
  std::string_view f32, f64;
};
constexpr Function kFunctions[] = {
#define FW_LIBM(Id, symbolF32, symbolF64, arity, vector) {#symbolF32, #symbolF64},
#include "kernels/libm.def"
};

std::string_view column(const Row& row, DType d) {
  return d == DType::kF32 ? row.f32 : d == DType::kF64 ? row.f64 : row.integer;
}

std::string integerName(DType d, char kind) { return absl::StrCat(std::string(1, kind), 8 * graph::itemSize(d)); }

std::string fill(std::string_view text, DType result, absl::Span<const std::string> operands) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    switch (const char what = text[++i]) {
      case 'T': out += registerType(result); break;
      case 'S': out += integerName(result, 'i'); break;
      case 'U': out += integerName(result, 'u'); break;
      default: out += operands[static_cast<size_t>(what - '0')];
    }
  }
  return out;
}

/// By value; what has no other type in the language goes through f32.
absl::StatusOr<std::string> conversion(DType from, DType to, const std::string& x) {
  if (from == DType::kF16 && to == DType::kF32) return "fw_from_half(" + x + ")";
  if (from == DType::kF32 && to == DType::kF16) return "fw_to_half(" + x + ")";
  if (from == DType::kF16 || to == DType::kF16) return absl::UnimplementedError("conversion of float16");
  return absl::StrCat(std::string(registerType(to)), "(", x, ")");
}

absl::StatusOr<std::string> reinterpretation(DType from, DType to, const std::string& x) {
  if (from == DType::kF32) return absl::StrCat(std::string(registerType(to)), "(__float_as_int(", x, "))");
  if (from == DType::kF64) return absl::StrCat(std::string(registerType(to)), "(__double_as_longlong(", x, "))");
  if (to == DType::kF32) return absl::StrCat("__int_as_float(int(", x, "))");
  if (to == DType::kF64) return absl::StrCat("__longlong_as_double(i64(", x, "))");
  return absl::StrCat(std::string(registerType(to)), "(", x, ")");
}

}  // namespace

std::string_view registerType(DType d) { return graph::name(d); }
std::string_view memoryType(DType d) { return d == DType::kBool ? "u8" : graph::name(d); }

std::string literal(DType d, uint64_t bits) {
  switch (d) {
    case DType::kBool: return bits != 0 ? "true" : "false";
    case DType::kF32: {
      const auto v = fromBits<float>(bits);
      if (!std::isfinite(v)) return absl::StrFormat("__int_as_float(0x%x)", static_cast<uint32_t>(bits));
      return std::signbit(v) ? absl::StrFormat("(%af)", v) : absl::StrFormat("%af", v);
    }
    case DType::kF64: {
      const auto v = fromBits<double>(bits);
      if (!std::isfinite(v)) return absl::StrFormat("__longlong_as_double(0x%xll)", bits);
      return std::signbit(v) ? absl::StrFormat("(%a)", v) : absl::StrFormat("%a", v);
    }
    case DType::kI8: return absl::StrCat("i8(", static_cast<int>(fromBits<int8_t>(bits)), ")");
    case DType::kI16: return absl::StrCat("i16(", fromBits<int16_t>(bits), ")");
    case DType::kI32: return absl::StrFormat("i32(0x%xu)", static_cast<uint32_t>(bits));
    case DType::kI64: return absl::StrFormat("i64(0x%xull)", bits);
    case DType::kU8: return absl::StrCat("u8(", static_cast<int>(fromBits<uint8_t>(bits)), ")");
    case DType::kU16: return absl::StrCat("u16(", fromBits<uint16_t>(bits), ")");
    case DType::kU32: return absl::StrFormat("0x%xu", static_cast<uint32_t>(bits));
    case DType::kU64: return absl::StrFormat("0x%xull", bits);
    case DType::kF16: return absl::StrFormat("f16(0x%x)", static_cast<uint32_t>(bits));
    case DType::kC64:
    case DType::kC128: break;
  }
  FW_UNREACHABLE();
}

absl::StatusOr<std::string> operation(const Expr& e, DType operand, absl::Span<const std::string> operands) {
  if (e.op == ScalarOp::kCast) return conversion(operand, e.dtype, operands[0]);
  if (e.op == ScalarOp::kBitcast) return reinterpretation(operand, e.dtype, operands[0]);
  if (e.op == ScalarOp::kCallLibm) {
    const Function& f = kFunctions[e.imm];
    std::string text = absl::StrCat(std::string(e.dtype == DType::kF32 ? f.f32 : f.f64), "(");
    for (size_t i = 0; i < operands.size(); ++i) absl::StrAppend(&text, i ? ", " : "", operands[i]);
    return text + ")";
  }
  std::string_view text = column(kRows[static_cast<int>(e.op)], operand);
  // A choice is the same on every type, f16 included.
  if (e.op == ScalarOp::kSelect) text = kRows[static_cast<int>(e.op)].integer;
  if (text.empty())
    return absl::UnimplementedError(
        absl::StrCat("no CUDA text for ", std::string(name(e.op)), " of ", std::string(graph::name(operand))));
  return fill(text, e.dtype, operands);
}

absl::StatusOr<std::string> combining(ScalarOp op, DType d, const std::string& a, const std::string& b) {
  Expr e;
  e.op = op;
  e.dtype = d;
  return operation(e, d, {a, b});
}

std::string_view prelude() {
  return R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16, f16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

__device__ __forceinline__ f32 fw_from_half(f16 h) {
  f32 f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
__device__ __forceinline__ f16 fw_to_half(f32 f) {
  f16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}

// n / d for n < 2^31, where the host has d as a factor (low half) and a shift; 0 stands for 1.
__device__ __forceinline__ i32 fw_divide(i32 n, u64 d) {
  const u32 factor = u32(d);
  return factor == 0 ? n : i32(__umulhi(u32(n), factor) >> u32(d >> 32));
}

// a / d, with the bits of __fdiv_rn, which takes several times as long where a is 0: what a mask has left out, say.
__device__ __forceinline__ f32 fw_div(f32 a, f32 d) {
  const bool zero = a == 0 && d != 0 && d - d == 0;  // d is a number other than 0
  const f32 q = __fdiv_rn(zero ? d : a, d);
  return zero ? __fmul_rn(a, d) : q;
}
// f32(f64(a) / d). Where d has 24 bits, the division of f32 rounds to the same: f64 has more than twice its bits.
__device__ __forceinline__ f32 fw_quotient(f32 a, f64 d) {
  const f32 narrow = f32(d);
  return f64(narrow) == d ? __fdiv_rn(a, narrow) : f32(__ddiv_rn(f64(a), d));
}

template <class T, int N>
struct alignas(sizeof(T) * N) fw_pack {
  T at[N];
};
template <class T, int N>
__device__ __forceinline__ void fw_load(T (&to)[N], const char* from) {
  const fw_pack<T, N> pack = *reinterpret_cast<const fw_pack<T, N>*>(from);
#pragma unroll
  for (int l = 0; l < N; ++l) to[l] = pack.at[l];
}
template <class T, int N>
__device__ __forceinline__ void fw_store(char* to, const T (&from)[N]) {
  fw_pack<T, N> pack;
#pragma unroll
  for (int l = 0; l < N; ++l) pack.at[l] = from[l];
  *reinterpret_cast<fw_pack<T, N>*>(to) = pack;
}

// What the thread has whose lane differs by `distance`, or the one at `from` of `width`. Several numbers go word by word.
template <class T>
__device__ __forceinline__ T fw_across(T v, int distance) {
  u32 words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &v, sizeof v);
#pragma unroll
  for (int i = 0; i < int(sizeof(T) + 3) / 4; ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], distance);
  memcpy(&v, words, sizeof v);
  return v;
}
template <class T>
__device__ __forceinline__ T fw_from(T v, int from, int width) {
  u32 words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &v, sizeof v);
#pragma unroll
  for (int i = 0; i < int(sizeof(T) + 3) / 4; ++i) words[i] = __shfl_sync(0xffffffffu, words[i], from, width);
  memcpy(&v, words, sizeof v);
  return v;
}

// All threads of a team of `size` neighbours (a power of two; above 32 the whole block) get what they have combined, in
// an order that depends on nothing else. `room`: 32 elements of shared memory.
template <class T, class F>
__device__ __forceinline__ T fw_combine(T v, int size, T* room, F combine) {
  const int within = size < 32 ? size : 32;
  for (int d = within >> 1; d > 0; d >>= 1) v = combine(v, fw_across(v, d));
  v = fw_from(v, 0, within);
  if (size <= 32) return v;
  const int lane = threadIdx.x & 31, warps = size >> 5;
  __syncthreads();
  if (lane == 0) room[threadIdx.x >> 5] = v;
  __syncthreads();
  v = room[lane < warps ? lane : 0];
  for (int d = warps >> 1; d > 0; d >>= 1) v = combine(v, fw_across(v, d));
  return fw_from(v, 0, 32);
}

// The same over threadIdx.y, for each threadIdx.x by itself. `room`: an element per thread.
template <class T, class F>
__device__ __forceinline__ T fw_combine_columns(T v, T* room, F combine) {
  T* own = room + threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();
  *own = v;
  for (int d = blockDim.y >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (threadIdx.y < d) *own = combine(*own, own[d * blockDim.x]);
  }
  __syncthreads();
  return room[threadIdx.x];
}
)";
}

}  // namespace fw::kernels::cuda
