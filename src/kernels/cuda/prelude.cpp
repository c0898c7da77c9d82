// What every source begins with. It needs no headers.
#include <string>

#include "kernels/cuda/text.h"

namespace fw::kernels::cuda {
namespace {

constexpr std::string_view kScalars = R"(typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16, f16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#ifndef FW_SHARED_BY_SIZE  // shared memory whose size the launch says
#define FW_SHARED_BY_SIZE(name) extern __shared__ __align__(128) char name[]
#endif

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

// The rest of a division by a size, which is not negative. Most indices are inside: no division then.
__device__ __forceinline__ i64 fw_wrap(i64 index, i64 size) {
  if (u64(index) < u64(size)) return index;
  index %= size;
  return index < 0 ? index + size : index;
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

)";

constexpr std::string_view kPacks = R"(template <class T, int N>
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

// To shared memory, at most 16 bytes at once.
template <class T, int N>
__device__ __forceinline__ void fw_put(T* to, const T (&from)[N]) {
  constexpr int kMost = 16 / sizeof(T), kEach = N < kMost ? N : kMost;
#pragma unroll
  for (int first = 0; first < N; first += kEach) {
    fw_pack<T, kEach> pack;
#pragma unroll
    for (int l = 0; l < kEach; ++l) pack.at[l] = from[first + l];
    *reinterpret_cast<fw_pack<T, kEach>*>(to + first) = pack;
  }
}

)";

constexpr std::string_view kTeams =
    R"(// What the thread has whose lane differs by `distance`, or the one at `from` of `width`. Several numbers go word by
// word.
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

constexpr std::string_view kSums =
    R"(// Sums in NumPy's order (graph/pairwise_order.h). The elements of a list stand in shared memory, with room for eight
// more after every 128, so that threads that add neighbouring parts meet different banks.

// As the host adds: denormal numbers count.
__device__ __forceinline__ f32 fw_plus(f32 f, f32 h) {
  asm("add.rn.f32 %0, %0, %1;" : "+f"(f) : "f"(h));
  return f;
}
__device__ __forceinline__ f64 fw_plus(f64 a, f64 b) { return __dadd_rn(a, b); }
__device__ __forceinline__ void fw_sync(i32 team) {
  if (team <= 32)
    __syncwarp();
  else
    __syncthreads();
}
__device__ __forceinline__ i32 fw_at(i32 i) { return i + (i >> 7) * 8; }

// A list as NumPy takes it: stretches of `stretch` elements, `per` of them in each period, the last of which is shorter
// if need be. The host cuts it into tiles: `together` stretches, or, where `depth` is not 0, a part of one.
struct fw_cut {
  i64 length, stretch, period, per, stretches;
  i32 together, depth;
};
struct fw_range {
  i64 first;
  i32 count;
};
__device__ __forceinline__ void fw_stretch(const fw_cut& cut, i64 number, i64& first, i64& count) {
  const i64 period = cut.per == 1 ? number : number / cut.per;
  first = period * cut.period + (number - period * cut.per) * cut.stretch;
  i64 end = (period + 1) * cut.period;
  if (first + cut.stretch < end) end = first + cut.stretch;
  if (cut.length < end) end = cut.length;
  count = end > first ? end - first : 0;
}

__device__ __forceinline__ i32 fw_bits(i32 n) { return 32 - __clz(n); }
__device__ __forceinline__ i32 fw_bits(i64 n) { return 64 - __clzll(n); }
// How often a list of n numbers is halved before a half is one that is added directly, by J accumulators; then halves
// are one or two of those.
template <int J, class N>
__device__ __forceinline__ i32 fw_depth(N n) {
  const N units = n / J;
  if (units < 17) return 0;
  const i32 bits = fw_bits(units);
  return units >> (bits - 5) > 16 ? bits - 4 : bits - 5;
}
// Part `node` of the 2^depth parts of a list of n numbers.
template <int J, class N>
__device__ __forceinline__ fw_range fw_part(N n, i32 depth, i32 node) {
  N units = n / J, first = 0;
  for (i32 bit = depth; bit-- > 0;) {
    const N half = units >> 1;
    const bool right = node >> bit & 1;
    first += right ? half : 0;
    units = right ? units - half : half;
  }
  return {i64(first) * J, i32(node + 1 == 1 << depth ? n - first * J : units * J)};
}
// The elements of a tile.
template <int J>
__device__ __forceinline__ fw_range fw_tile(const fw_cut& cut, i64 tile) {
  i64 first, count;
  if (cut.depth == 0) {
    fw_stretch(cut, tile * cut.together, first, count);
    if (cut.together == 1) return {first, i32(count)};
    i64 last, more;
    const i64 end = (tile + 1) * cut.together;
    fw_stretch(cut, (end < cut.stretches ? end : cut.stretches) - 1, last, more);
    return {first, i32((last + more < cut.length ? last + more : cut.length) - first)};
  }
  fw_stretch(cut, tile >> cut.depth, first, count);
  const i32 node = i32(tile & ((i64(1) << cut.depth) - 1));
  const i32 own = fw_depth<J>(count), depth = own < cut.depth ? own : cut.depth;
  if (node >> depth) return {first, 0};
  const fw_range part = count >> 31 ? fw_part<J>(count, depth, node) : fw_part<J>(i32(count), depth, node);
  return {first + part.first, part.count};
}

// The sum of J numbers of neighbouring threads, for all of them.
template <int J, class T>
__device__ __forceinline__ T fw_group(T sum) {
#pragma unroll
  for (int d = 1; d < J; d <<= 1) sum = fw_plus(sum, fw_across(sum, d));
  return sum;
}
// At most 16 * J + J - 1 numbers, by J neighbouring threads, which all get the sum.
template <int J, class T>
__device__ __forceinline__ T fw_leaf(const T* list, i32 first, i32 n) {
  const i32 lane = threadIdx.x & (J - 1), whole = n & ~(J - 1);
  T few = T(-0.0);
  if (n < J)
    for (i32 i = 0; i < n; ++i) few = fw_plus(few, list[fw_at(first + i)]);
  // At most one of the places that are left out lies in between.
  const T* const own = list + fw_at(first) + lane;
  const i32 near = 128 - (first & 127) - lane;
  T sum = whole ? own[near > 0 ? 0 : 8] : few;
#pragma unroll 4
  for (i32 i = J; i < whole; i += J) sum = fw_plus(sum, own[i < near ? i : i + 8]);
  sum = fw_group<J>(sum);
  if (n < J) return few;
  for (i32 i = whole; i < n; ++i) sum = fw_plus(sum, list[fw_at(first + i)]);
  return sum;
}
// One or two of those. `two`: some of the threads of the warp have two.
template <int J, class T>
__device__ __forceinline__ T fw_node(const T* list, i32 first, i32 n, bool two) {
  const i32 half = n > 16 * J ? n / J / 2 * J : n;
  T sum = fw_leaf<J>(list, first, half);
  if (!two) return sum;
  const T other = fw_leaf<J>(list, first + half, n - half);
  return half < n ? fw_plus(sum, other) : sum;
}
// What the parts of a list of n numbers add up to.
template <int J, class T>
__device__ __forceinline__ void fw_leaves(T* parts, const T* list, i32 n, i32 rank, i32 team) {
  const i32 depth = fw_depth<J>(n), nodes = 1 << depth, units = n / J;
  if (n == 16 * J << depth) {  // all parts are whole, and none has such a place in between
    for (i32 begin = 0; begin < nodes; begin += team / J) {
      const i32 node = begin + rank / J;
      const T* const own = list + fw_at(node < nodes ? node * 16 * J : 0) + (threadIdx.x & (J - 1));
      T sum = own[0];
#pragma unroll
      for (i32 i = J; i < 16 * J; i += J) sum = fw_plus(sum, own[i]);
      sum = fw_group<J>(sum);
      if (node < nodes && (rank & (J - 1)) == 0) parts[node] = sum;
    }
    return;
  }
  const bool two = ((units + nodes - 1) >> depth) * J + n % J > 16 * J;
  for (i32 begin = 0; begin < nodes; begin += team / J) {
    const i32 node = begin + rank / J;
    const fw_range part = node < nodes ? fw_part<J>(n, depth, node) : fw_range{0, 0};
    const T sum = fw_node<J>(list, i32(part.first), part.count, two);
    if (node < nodes && (rank & (J - 1)) == 0) parts[node] = sum;
  }
}
// The same of several stretches: as many parts for each as the longest has.
template <int J, class T>
__device__ __forceinline__ void fw_leaves(T* parts, const T* list, const fw_cut& cut, i64 tile, i32 rank, i32 team) {
  const i64 from = tile * cut.together, left = cut.stretches - from;
  const i32 depth = fw_depth<J>(cut.stretch), count = (left < cut.together ? i32(left) : cut.together) << depth;
  i64 origin, first, n;
  fw_stretch(cut, from, origin, n);
  for (i32 begin = 0; begin < count; begin += team / J) {
    const i32 at = begin + rank / J, node = at & ((1 << depth) - 1);
    fw_stretch(cut, from + (at >> depth), first, n);
    const i32 own = fw_depth<J>(n);
    const bool any = at < count && node < 1 << own;
    const fw_range part = any ? fw_part<J>(n, own, node) : fw_range{0, 0};
    const T sum = fw_node<J>(list, any ? i32(first - origin + part.first) : 0, part.count, true);
    if (at < count && (rank & (J - 1)) == 0) parts[at] = sum;
  }
}

template <int N, class T>
__device__ __forceinline__ T fw_pairs(const T* parts) {
  if constexpr (N == 1)
    return parts[0];
  else
    return fw_plus(fw_pairs<N / 2>(parts), fw_pairs<N / 2>(parts + N / 2));
}
// 2^n parts, at most 32 for each of the threads of a warp, which all get the sum.
template <class T>
__device__ __forceinline__ T fw_tree(const T* parts, i32 nodes, i32 team) {
  const i32 width = team < 32 ? team : 32, each = nodes > width ? nodes / width : 1, lane = threadIdx.x & (width - 1);
  T sum = T(0);
  if (lane * each < nodes) {
    const T* own = parts + lane * each;
    if (each == 1) sum = fw_pairs<1>(own);
    if (each == 2) sum = fw_pairs<2>(own);
    if (each == 4) sum = fw_pairs<4>(own);
    if (each == 8) sum = fw_pairs<8>(own);
    if (each == 16) sum = fw_pairs<16>(own);
    if (each == 32) sum = fw_pairs<32>(own);
  }
  for (i32 d = 1; d * each < nodes; d <<= 1) sum = fw_plus(sum, fw_across(sum, d));
  return fw_from(sum, 0, width);
}
// 2^n parts that come one after the other: what is complete on each level.
template <class T>
struct fw_spine {
  T at[48];
  __device__ __forceinline__ void push(i64 node, T sum) {
    int level = 0;
    for (; node >> level & 1; ++level) sum = fw_plus(at[level], sum);
    at[level] = sum;
  }
};
template <class T, class F>
__device__ __forceinline__ T fw_climb(i64 nodes, F part) {
  fw_spine<T> spine;
  i32 depth = 0;
  for (i64 node = 0; node < nodes; ++node) spine.push(node, part(node));
  while (i64(1) << depth < nodes) ++depth;
  return spine.at[depth];
}
// One element after the other.
template <class T>
__device__ __forceinline__ T fw_chain(T sum, const T* list, i32 n) {
#pragma unroll 8
  for (i32 i = 0; i < n; ++i) sum = fw_plus(sum, list[fw_at(i)]);
  return sum;
}
// The same of elements that are a row of the block apart.
template <class T>
__device__ __forceinline__ T fw_chain_column(T sum, const T* list, i32 n) {
  const i32 stride = blockDim.x;
#pragma unroll 8
  for (i32 i = 0; i < n; ++i) sum = fw_plus(sum, list[i * stride]);
  return sum;
}

// What the stretches of a tile add up to, each handed on by one thread; answers how many there are.
template <int J, class T, class Keep>
__device__ __forceinline__ i32 fw_totals(const T* parts, const fw_cut& cut, i64 tile, i32 rank, i32 team, Keep keep) {
  const i64 from = tile * cut.together, left = cut.stretches - from;
  const i32 depth = fw_depth<J>(cut.stretch), count = left < cut.together ? i32(left) : cut.together;
  i64 first, own;
  for (i32 at = rank; at < count; at += team) {
    fw_stretch(cut, from + at, first, own);
    keep(at, fw_climb<T>(i64(1) << fw_depth<J>(own), [&](i64 node) { return parts[(at << depth) + node]; }));
  }
  return count;
}

// A tile behind the other tiles of its list, whose sum the thread of rank 0 gets.
template <int J, class T>
__device__ __forceinline__ void fw_take(T& sum, fw_spine<T>& spine, const T* parts, T* totals, const fw_cut& cut,
                                        i64 tile, i32 n, i32 rank, i32 team) {
  if (cut.together == 1) {
    const T part = fw_tree(parts, 1 << fw_depth<J>(n), team);
    if (cut.depth == 0) {
      if (n > 0) sum = fw_plus(sum, part);
      return;
    }
    if (rank != 0 || n == 0) return;
    i64 first, count;
    fw_stretch(cut, tile >> cut.depth, first, count);
    const i64 node = tile & ((i64(1) << cut.depth) - 1);
    const i32 own = fw_depth<J>(count), depth = own < cut.depth ? own : cut.depth;
    spine.push(node, part);
    if (node + 1 == i64(1) << depth) sum = fw_plus(sum, spine.at[depth]);
    return;
  }
  const i32 count = fw_totals<J>(parts, cut, tile, rank, team, [&](i32 at, const T& total) { totals[at] = total; });
  fw_sync(team);
  if (rank == 0)
    for (i32 at = 0; at < count; ++at) sum = fw_plus(sum, totals[at]);
}
// The same, into the slots of the list: one for each tile where a tile is no more than a stretch, else for each
// stretch.
template <int J, class T>
__device__ __forceinline__ void fw_leave(char* slots, const T* parts, const fw_cut& cut, i64 tile, i32 n, i32 rank,
                                         i32 team) {
  if (cut.together == 1) {
    const T part = fw_tree(parts, 1 << fw_depth<J>(n), team);
    if (rank == 0) *reinterpret_cast<T*>(slots + 8 * tile) = part;
    return;
  }
  fw_totals<J>(parts, cut, tile, rank, team, [&](i32 at, const T& total) {
    *reinterpret_cast<T*>(slots + 8 * (tile * cut.together + at)) = total;
  });
}
// What the slots of a list add up to, for all threads.
template <int J, class T>
__device__ __forceinline__ T fw_gather(T sum, const char* slots, T* parts, const fw_cut& cut, i32 rank, i32 team) {
  const auto slot = [&](i64 at) { return *reinterpret_cast<const T*>(slots + 8 * at); };
  i64 first, n;
  if (cut.stretches == 1) {
    fw_stretch(cut, 0, first, n);
    const i32 own = fw_depth<J>(n), depth = own < cut.depth ? own : cut.depth;
    const i64 nodes = i64(1) << depth;
    const i32 chunk = nodes < 32 * team ? i32(nodes) : 32 * team;
    const T all = fw_climb<T>(nodes / chunk, [&](i64 number) {
      fw_sync(team);
#pragma unroll 8
      for (i32 begin = 0; begin < chunk; begin += team) {
        const i32 at = begin + rank;
        T part = at < chunk ? slot(number * chunk + at) : T(0);
        for (i32 d = 1; d < 32 && d < chunk; d <<= 1) part = fw_plus(part, fw_across(part, d));
        if (at < chunk && (rank & 31) == 0) parts[at / 32] = part;
      }
      fw_sync(team);
      return fw_tree(parts, chunk > 32 ? chunk / 32 : 1, team);
    });
    return fw_plus(sum, all);
  }
  for (i64 begin = 0; begin < cut.stretches; begin += team) {
    const i64 at = begin + rank;
    fw_sync(team);
    if (at < cut.stretches) {
      fw_stretch(cut, at, first, n);
      const i32 own = fw_depth<J>(n), depth = own < cut.depth ? own : cut.depth;
      parts[rank] = fw_climb<T>(i64(1) << depth, [&](i64 node) { return slot((at << cut.depth) + node); });
    }
    fw_sync(team);
    const i64 left = cut.stretches - begin;
    for (i32 k = 0; k < team && k < left; ++k) sum = fw_plus(sum, parts[k]);
  }
  return sum;
}
)";

}  // namespace

std::string_view prelude() {
  static const auto& all = *new std::string(std::string(kScalars).append(kPacks).append(kTeams).append(kSums));
  return all;
}

}  // namespace fw::kernels::cuda
