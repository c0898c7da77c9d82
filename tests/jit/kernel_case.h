// Runs a kernel built by hand natively and in the interpreter, on equal memory, and compares every byte.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/target.h"
#include "kernels/builder.h"
#include "kernels/interpreter.h"

namespace fw::jit::testing {

using graph::BufferId;
using graph::DType;
using graph::SymContext;
using graph::SymId;
using kernels::Access;
using kernels::AxisId;
using kernels::KernelBuilder;
using kernels::ReduceOrder;
using kernels::ScalarOp;
using kernels::Val;
using Isa = CompileOptions::Isa;

inline std::vector<Isa> availableIsas() {
  std::vector<Isa> out;
  for (Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kPortable}) {
    if (resolveTarget(isa).ok()) out.push_back(isa);
  }
  return out;
}
inline std::string isaName(Isa isa) { return isa == Isa::kAvx512 ? "avx512" : isa == Isa::kAvx2 ? "avx2" : "portable"; }

/// Memory of the buffers of one call, with guard bytes around each.
struct Memory {
  static constexpr size_t kGuard = 64;
  std::vector<std::vector<uint8_t>> storage;
  std::vector<void*> data;
  std::vector<size_t> origin;

  /// `bytes` of storage, the data pointer `start` bytes into it (for negative strides).
  void add(size_t bytes, size_t start = 0) {
    storage.emplace_back(bytes + 2 * kGuard, uint8_t{0xa5});
    origin.push_back(start + kGuard);
    relink();
  }
  uint8_t* bytes(size_t buffer) { return storage[buffer].data() + kGuard; }
  void relink() {
    data.clear();
    for (size_t i = 0; i < storage.size(); ++i) data.push_back(storage[i].data() + origin[i]);
  }
};

/// Fills n elements with interesting values of the type.
inline void fill(DType d, uint8_t* to, size_t n, std::mt19937_64& rng, bool special) {
  for (size_t i = 0; i < n; ++i) {
    uint64_t bits = rng();
    if (d == DType::kBool) bits &= 1;
    auto put = [&](auto v) { std::memcpy(to + i * sizeof v, &v, sizeof v); };
    const bool odd = special && rng() % 4 == 0;
    if (d == DType::kF32) {
      static const float kOdd[] = {0.f, -0.f, 1e-40f, -1e-42f, NAN, INFINITY, -INFINITY, 3e38f, 1e-38f, 2.f};
      put(odd ? kOdd[rng() % 10] : float(int64_t(bits % 20011) - 10000) / 313.f);
    } else if (d == DType::kF64) {
      static const double kOdd[] = {0., -0., 1e-310, -5e-324, NAN, INFINITY, -INFINITY, 1.7e308, 1e-308, 2.};
      put(odd ? kOdd[rng() % 10] : double(int64_t(bits % 2000011) - 1000000) / 31337.);
    } else if (d == DType::kF16) {
      put(uint16_t(special ? bits : 0x3000 + bits % 0x1000));
      if ((bits & 0x7c00) == 0x7c00) put(uint16_t(0x7c00));  // no signalling NaNs
    } else {
      std::memcpy(to + i * graph::itemSize(d), &bits, graph::itemSize(d));
    }
  }
}

inline graph::Plan planOf(size_t buffers, SymContext& syms) {
  graph::Plan plan;
  for (size_t i = 0; i < buffers; ++i) {
    graph::Buffer b{};
    b.kind = graph::BufferKind::kInput;
    b.index = int(i);
    plan.buffers.push_back(b);
  }
  plan.workspaceBytes = syms.constant(0);
  return plan;
}

struct Outcome {
  int32_t status = 0;
  uint64_t expectedStatus = 0;
};

/// Compares NaNs as equal whatever their payload, if `floats` says what the bytes are.
inline bool sameBytes(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, DType d) {
  if (a == b) return true;
  auto each = [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i + sizeof(T) <= a.size(); i += sizeof(T)) {
      T x, y;
      std::memcpy(&x, &a[i], sizeof x);
      std::memcpy(&y, &b[i], sizeof y);
      if (std::memcmp(&x, &y, sizeof x) != 0 && !(x != x && y != y)) return false;
    }
    return true;
  };
  if (d == DType::kF32) return each(float{});
  if (d == DType::kF64) return each(double{});
  return false;
}

/// `types[b]`: element type of buffer b, for comparing NaNs.
inline Outcome runBoth(const kernels::Kernel& kernel, SymContext& syms, Executable& executable,
                       const std::vector<int64_t>& symbols, Memory memory, const std::vector<DType>& types,
                       const std::string& what) {
  Outcome out;
  Memory reference = memory;
  memory.relink();
  reference.relink();
  auto expected = kernels::interpret(kernel, syms, symbols, reference.data);
  EXPECT_TRUE(expected.ok()) << expected.status();
  if (!expected.ok()) return out;
  out.expectedStatus = *expected;
  std::vector<int64_t> values = symbols;
  Context context{.symbols = values.data(), .buffers = memory.data.data()};
  out.status = executable.compute(context);
  for (size_t b = 0; b < memory.storage.size(); ++b) {
    if (sameBytes(memory.storage[b], reference.storage[b], types[b])) continue;
    size_t at = 0;
    while (memory.storage[b][at] == reference.storage[b][at]) ++at;
    ADD_FAILURE() << what << ": buffer " << b << " differs at byte " << int64_t(at) - int64_t(memory.origin[b]);
    break;
  }
  return out;
}

inline std::unique_ptr<Executable> mustCompile(const kernels::Kernel& kernel, SymContext& syms, size_t buffers, Isa isa,
                                               int optLevel = 2, bool checked = true) {
  const auto problems = checked ? kernels::verify(kernel, syms) : std::vector<std::string>{};
  EXPECT_TRUE(problems.empty()) << (problems.empty() ? "" : problems[0]) << "\n" << kernels::print(kernel, syms);
  CompileOptions options;
  options.isa = isa;
  options.optLevel = optLevel;
  auto executable = compile({.kernels = {kernel}}, syms, planOf(buffers, syms), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.ok() ? *std::move(executable) : nullptr;
}

inline std::vector<int64_t> lengths() {
  std::vector<int64_t> out;
  for (int64_t n = 0; n <= 70; ++n) out.push_back(n);
  for (int64_t n = 127; n <= 260; ++n) out.push_back(n);
  out.push_back(1000);
  return out;
}

}  // namespace fw::jit::testing
