// Every test builds a kernel, compiles it for each instruction set of this machine and compares with the
// interpreter bit for bit, over lengths around all the vector and block boundaries.
#include "kernel_case.h"

namespace fw::jit::testing {
namespace {

using BodyFn = std::function<Val(KernelBuilder&, std::vector<Val>)>;

/// out[i] = body(in0[i], in1[i], ...) over one vectorised loop, with byte strides per buffer (output last).
void checkMap(const std::string& what, const std::vector<DType>& inputs, DType output, const BodyFn& body,
              std::vector<int64_t> strides = {}, bool special = true, bool runtimeStrides = false,
              std::vector<int64_t> sizes = lengths(), bool compareStatus = true) {
  std::vector<DType> types = inputs;
  types.push_back(output);
  if (strides.empty()) {
    for (DType d : types) strides.push_back(graph::itemSize(d));
  }
  SymContext syms;
  SymId n = syms.symbol("s0", {0, 1 << 20});
  std::vector<SymId> strideSyms;
  for (size_t i = 0; i < types.size(); ++i) {
    strideSyms.push_back(runtimeStrides ? syms.symbol("t" + std::to_string(i), {-(1 << 20), 1 << 20})
                                        : syms.constant(strides[i]));
  }
  KernelBuilder b(syms, "map");
  b.declareStored(BufferId(inputs.size()));
  Val zero = b.constantInt(DType::kI64, 0);
  b.loop(zero, b.param(n), true, true, [&](AxisId i) {
    std::vector<Val> loaded;
    for (size_t k = 0; k < inputs.size(); ++k) {
      loaded.push_back(b.load({BufferId(k), syms.constant(0), {{i, strideSyms[k]}}}, inputs[k]));
    }
    b.store({BufferId(inputs.size()), syms.constant(0), {{i, strideSyms.back()}}}, body(b, loaded));
  });
  kernels::Kernel kernel = std::move(b).take();
  for (Isa isa : availableIsas()) {
    auto executable = mustCompile(kernel, syms, types.size(), isa);
    ASSERT_TRUE(executable);
    std::mt19937_64 rng(42);
    for (int64_t size : sizes) {
      Memory memory;
      std::vector<int64_t> symbols = {size};
      for (size_t k = 0; k < types.size(); ++k) {
        const size_t item = graph::itemSize(types[k]);
        const size_t span = size == 0 ? 0 : size_t(size - 1) * size_t(std::abs(strides[k])) + item;
        memory.add(span, strides[k] < 0 && size > 0 ? size_t(size - 1) * size_t(-strides[k]) : 0);
        fill(types[k], memory.bytes(k), span / item, rng, special);
        if (runtimeStrides) symbols.push_back(strides[k]);
      }
      const std::string label = what + " " + isaName(isa) + " n=" + std::to_string(size);
      Outcome got = runBoth(kernel, syms, *executable, symbols, memory, types, label);
      if (compareStatus) EXPECT_EQ(got.status, int32_t(got.expectedStatus)) << label;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

std::string nameOf(DType d) { return std::string(graph::name(d)); }

constexpr DType kReal[] = {DType::kBool, DType::kI8,  DType::kU8,  DType::kI16, DType::kU16, DType::kI32,
                           DType::kU32,  DType::kI64, DType::kU64, DType::kF32, DType::kF64};

TEST(Emit, FloatArithmetic) {
  for (DType d : {DType::kF32, DType::kF64}) {
    for (ScalarOp o : {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kDiv, ScalarOp::kMinSecond,
                       ScalarOp::kMaxSecond, ScalarOp::kCopySign}) {
      checkMap(
          std::string(kernels::name(o)), {d, d}, d,
          [&](KernelBuilder& b, std::vector<Val> v) { return b.op(o, v[0], v[1]); }, {}, true, false, lengths(),
          o != ScalarOp::kMinSecond && o != ScalarOp::kMaxSecond);  // quieter than the interpreter: flags_test.cpp
    }
    for (ScalarOp o : {ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kSqrt, ScalarOp::kFloor, ScalarOp::kCeil,
                       ScalarOp::kTrunc, ScalarOp::kRint}) {
      checkMap(std::string(kernels::name(o)), {d}, d,
               [&](KernelBuilder& b, std::vector<Val> v) { return b.op(o, v[0]); });
    }
    checkMap("fma", {d, d, d}, d,
             [&](KernelBuilder& b, std::vector<Val> v) { return b.op(ScalarOp::kFma, v[0], v[1], v[2]); });
    checkMap("no contraction", {d, d, d}, d, [&](KernelBuilder& b, std::vector<Val> v) {
      return b.op(ScalarOp::kAdd, b.op(ScalarOp::kMul, v[0], v[1]), v[2]);
    });
  }
}

TEST(Emit, Comparisons) {
  for (DType d : kReal) {
    if (d == DType::kBool) continue;
    for (ScalarOp o : {ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe}) {
      checkMap(std::string(kernels::name(o)) + " " + nameOf(d), {d, d}, DType::kBool,
               [&](KernelBuilder& b, std::vector<Val> v) { return b.op(o, v[0], v[1]); }, {}, true, false,
               {5, 67, 128});
    }
  }
  checkMap("isnan", {DType::kF32}, DType::kBool,
           [](KernelBuilder& b, std::vector<Val> v) { return b.op(ScalarOp::kIsNan, v[0]); });
}

TEST(Emit, Integers) {
  for (DType d : kReal) {
    if (!graph::isInteger(d)) continue;
    for (ScalarOp o : {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kXor,
                       ScalarOp::kMinSecond, ScalarOp::kMaxSecond}) {
      checkMap(std::string(kernels::name(o)) + " " + nameOf(d), {d, d}, d,
               [&](KernelBuilder& b, std::vector<Val> v) { return b.op(o, v[0], v[1]); }, {}, true, false, {7, 131});
    }
    for (ScalarOp o : {ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kNot}) {
      checkMap(std::string(kernels::name(o)) + " " + nameOf(d), {d}, d,
               [&](KernelBuilder& b, std::vector<Val> v) { return b.op(o, v[0]); }, {}, true, false, {7, 131});
    }
    for (ScalarOp o : {ScalarOp::kShl, ScalarOp::kShrLogical, ScalarOp::kShrArith}) {
      checkMap(std::string(kernels::name(o)) + " " + nameOf(d), {d, d}, d,
               [&](KernelBuilder& b, std::vector<Val> v) {
                 Val bits = b.constantInt(d, graph::itemSize(d) * 8 - 1);
                 return b.op(o, v[0], b.op(ScalarOp::kAnd, v[1], bits));
               },
               {}, true, false, {7, 131});
    }
    for (ScalarOp o : {ScalarOp::kDiv, ScalarOp::kRem}) {
      checkMap(std::string(kernels::name(o)) + " " + nameOf(d), {d, d}, d,
               [&](KernelBuilder& b, std::vector<Val> v) {
                 Val divisor = b.op(ScalarOp::kOr, v[1], b.constantInt(d, 1));
                 // -1 could overflow with the smallest value.
                 Val isMinusOne = b.op(ScalarOp::kEq, divisor, b.constantInt(d, graph::isSigned(d) ? -1 : 1));
                 return b.op(o, v[0], b.select(isMinusOne, b.constantInt(d, 3), divisor));
               },
               {}, true, false, {7, 64, 131});
    }
  }
}

TEST(Emit, Casts) {
  for (DType from : kReal) {
    for (DType to : kReal) {
      if (from == to || to == DType::kBool) continue;
      // Out of range values are compared too; only the flags are up to the instruction.
      const bool flags = !(graph::isFloat(from) && !graph::isFloat(to));
      checkMap(
          "cast " + nameOf(from) + " to " + nameOf(to), {from}, to,
          [&](KernelBuilder& b, std::vector<Val> v) { return b.cast(v[0], to); }, {}, true, false, {1, 15, 67, 128},
          flags);
    }
  }
}

TEST(Emit, Half) {
  checkMap("f16 to f32", {DType::kF16}, DType::kF32,
           [](KernelBuilder& b, std::vector<Val> v) { return b.cast(v[0], DType::kF32); }, {}, true, false, {5, 77});
  checkMap(
      "f32 to f16", {DType::kF32}, DType::kF16,
      [](KernelBuilder& b, std::vector<Val> v) {
        // NaN payloads are not compared for f16.
        return b.cast(b.select(b.op(ScalarOp::kIsNan, v[0]), b.constant(DType::kF32, 1), v[0]), DType::kF16);
      },
      {}, true, false, {5, 77}, false);
  checkMap(
      "f16 add", {DType::kF16, DType::kF16}, DType::kF16,
      [](KernelBuilder& b, std::vector<Val> v) {
        return b.cast(b.op(ScalarOp::kAdd, b.cast(v[0], DType::kF32), b.cast(v[1], DType::kF32)), DType::kF16);
      },
      {}, false);
}

TEST(Emit, SelectAndBool) {
  for (DType d : kReal) {
    checkMap("select " + nameOf(d), {DType::kBool, d, d}, d,
             [](KernelBuilder& b, std::vector<Val> v) { return b.select(v[0], v[1], v[2]); }, {}, true, false,
             {3, 33, 70, 200});
  }
  for (ScalarOp o : {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kXor}) {
    checkMap("bool", {DType::kBool, DType::kBool}, DType::kBool,
             [&](KernelBuilder& b, std::vector<Val> v) { return b.op(ScalarOp::kNot, b.op(o, v[0], v[1])); });
  }
  checkMap("mixed widths", {DType::kI8, DType::kF64, DType::kF32, DType::kBool}, DType::kF64,
           [](KernelBuilder& b, std::vector<Val> v) {
             Val sum = b.op(ScalarOp::kAdd, b.cast(v[0], DType::kF64), v[1]);
             return b.select(v[3], sum, b.cast(v[2], DType::kF64));
           });
}

TEST(Emit, ScaleB) {
  for (DType d : {DType::kF32, DType::kF64}) {
    checkMap(
        "scaleb", {d, DType::kI16}, d,
        [&](KernelBuilder& b, std::vector<Val> v) {
          const bool single = d == DType::kF32;
          const DType bits = single ? DType::kI32 : DType::kI64;
          const int64_t fraction = single ? 0x7fffff : 0xfffffffffffff, one = single ? 0x3f800000 : 0x3ff0000000000000;
          Val x = b.op(ScalarOp::kAnd, b.bitcast(v[0], bits), b.constantInt(bits, fraction));
          x = b.bitcast(b.op(ScalarOp::kOr, x, b.constantInt(bits, one)), d);
          const int64_t most = single ? 252 : 2044;
          Val n = b.op(ScalarOp::kShrArith, v[1], b.constantInt(DType::kI16, single ? 7 : 4));
          n = b.op(ScalarOp::kMaxSecond, n, b.constantInt(DType::kI16, -most));
          n = b.op(ScalarOp::kMinSecond, n, b.constantInt(DType::kI16, most));
          return b.op(ScalarOp::kScaleB, x, b.cast(n, d));
        },
        {}, true, false, lengths(), false);
  }
}

TEST(Emit, Libm) {
  for (DType d : {DType::kF32, DType::kF64}) {
    checkMap(
        "tanh", {d}, d, [&](KernelBuilder& b, std::vector<Val> v) { return b.libm(kernels::Libm::kTanh, d, {v[0]}); },
        {}, false);
    checkMap(
        "pow", {d, d}, d,
        [&](KernelBuilder& b, std::vector<Val> v) { return b.libm(kernels::Libm::kPow, d, {v[0], v[1]}); }, {}, false);
  }
}

TEST(Emit, Strides) {
  for (DType d : {DType::kBool, DType::kU8, DType::kI16, DType::kF32, DType::kF64}) {
    const int64_t s = graph::itemSize(d);
    const std::vector<std::vector<int64_t>> cases = {{s, s},     {-s, s},         {s, -s},         {-s, -s},
                                                     {2 * s, s}, {s, 2 * s},      {3 * s, s},      {s, 3 * s},
                                                     {0, s},     {-2 * s, 5 * s}, {17 * s, -3 * s}};
    for (const auto& strides : cases) {
      for (bool runtime : {false, true}) {
        checkMap("strides " + nameOf(d) + " " + std::to_string(strides[0]) + "," + std::to_string(strides[1]), {d}, d,
                 [&](KernelBuilder& b, std::vector<Val> v) {
                   return d == DType::kBool ? b.op(ScalarOp::kNot, v[0]) : b.op(ScalarOp::kAdd, v[0], v[0]);
                 },
                 strides, true, runtime, {0, 1, 2, 7, 15, 16, 17, 31, 33, 64, 65, 130});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Emit, OptLevelZero) {
  SymContext syms;
  SymId n = syms.symbol("s0", {0, 1 << 20});
  KernelBuilder b(syms, "o0");
  b.loop(b.constantInt(DType::kI64, 0), b.param(n), true, true, [&](AxisId i) {
    Val x = b.load({BufferId(0), syms.constant(0), {{i, syms.constant(4)}}}, DType::kF32);
    Val y = b.op(ScalarOp::kMul, x, b.op(ScalarOp::kAdd, x, x));
    b.store({BufferId(1), syms.constant(0), {{i, syms.constant(4)}}}, y);
  });
  kernels::Kernel kernel = std::move(b).take();
  for (Isa isa : availableIsas()) {
    auto executable = mustCompile(kernel, syms, 2, isa, 0);
    Memory memory;
    memory.add(400);
    memory.add(400);
    std::mt19937_64 rng(1);
    fill(DType::kF32, memory.bytes(0), 100, rng, true);
    runBoth(kernel, syms, *executable, {100}, memory, {DType::kF32, DType::kF32}, "O0 " + isaName(isa));
  }
}

TEST(Emit, CalledMathematics) {
  using kernels::Libm;
  struct Row {
    Libm function;
    int operands;
    bool isVector;
  };
  static constexpr Row kRows[] = {
#define FW_LIBM(Id, symbolF32, symbolF64, arity, vector) {Libm::k##Id, arity, std::string_view(#vector) != "nullptr"},
#include "kernels/libm.def"
  };
  for (const Row& row : kRows) {
    if (!row.isVector) continue;
    for (DType d : {DType::kF32, DType::kF64}) {
      const std::vector<DType> inputs(static_cast<size_t>(row.operands), d);
      const std::string what = std::string(kernels::name(row.function)) + " of " + nameOf(d);
      // Twice, of which one may stand in lanes that another type decides about.
      const auto body = [&](KernelBuilder& b, std::vector<Val> v) {
        v[0] = b.callMath(row.function, v);
        return b.callMath(row.function, v);
      };
      checkMap(what, inputs, d, body, {}, true, false, {0, 1, 3, 8, 16, 31, 64, 65, 200}, /*compareStatus=*/false);
      const auto narrowed = [&](KernelBuilder& b, std::vector<Val> v) {
        return b.cast(b.callMath(row.function, v), d == DType::kF32 ? DType::kF64 : DType::kF32);
      };
      checkMap(what + " beside another width", inputs, d == DType::kF32 ? DType::kF64 : DType::kF32, narrowed, {}, true,
               false, {1, 17, 64, 65}, /*compareStatus=*/false);
    }
  }
}

TEST(Emit, CalledMathematicsReportsAndDeclines) {
  using kernels::Libm;
  const auto call = [](Libm function) {
    return [function](KernelBuilder& b, std::vector<Val> v) { return b.callMath(function, v); };
  };
  // Arguments are up to 32 in magnitude, of both signs, and 0.
  checkMap("log", {DType::kF64}, DType::kF64, call(Libm::kLog), {}, false, false, {0, 1, 2, 7, 8, 9, 64, 100});
  checkMap("asin", {DType::kF32}, DType::kF32, call(Libm::kAsin), {}, false, false, {0, 1, 2, 7, 8, 9, 64, 100});
  const auto large = [](KernelBuilder& b, std::vector<Val> v) {
    return b.callMath(Libm::kSin, {b.op(ScalarOp::kMul, v[0], b.constant(DType::kF64, 0x1p38))});
  };
  checkMap("sin of large numbers", {DType::kF64}, DType::kF64, large, {}, false, false, {0, 1, 2, 7, 8, 9, 64, 100});
}

}  // namespace
}  // namespace fw::jit::testing
