// The reference evaluator against NumPy 2.4: results of reductions as hashes of their bytes, elementwise semantics by
// value.
#include "graph/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/evaluator_scalar.h"
#include "graph/parser.h"

namespace fw::graph {
namespace {

struct Row {
  const char *op, *dtype, *result;
  std::vector<int64_t> shape;
  const char* layout;
  std::vector<int64_t> axes;
  uint64_t hash;  // FNV-1a of the result's bytes in C order
};

// np.<op>(x, axis) of x[i] = ((i * 2654435761 mod 2^32) / 2^28 - 8) * (1 + i mod 7), filled in memory order.
const Row kRows[] = {
    {"sum", "f16", "f16", {1000}, "c", {0}, 0x99413000c44d2531u},
    {"var", "f16", "f16", {1000}, "c", {0}, 0x9a695f00c5493a1fu},
    {"std", "f16", "f16", {1000}, "c", {0}, 0x9a695f00c5493a1fu},
    {"sum", "f16", "f16", {9000}, "c", {0}, 0x99e8c300c4dc6921u},
    {"mean", "f16", "f16", {9000}, "c", {0}, 0x9bd0b700c679c5adu},
    {"sum", "f16", "f16", {7, 300}, "c", {0}, 0x0e416967fcff26f2u},
    {"mean", "f16", "f16", {7, 300}, "c", {0}, 0x88d7b194b5d736f3u},
    {"sum", "f16", "f16", {7, 300}, "c", {1}, 0xb54856f28f590e2bu},
    {"mean", "f16", "f16", {7, 300}, "c", {1}, 0xeb89d7a524c4daadu},
    {"sum", "f16", "f16", {7, 300}, "c", {0, 1}, 0x99770100c47a64c4u},
    {"mean", "f16", "f16", {7, 300}, "c", {0, 1}, 0x991f1100c4300a1eu},
    {"sum", "f16", "f16", {7, 300}, "f", {0}, 0x3a4199b0f5f073f2u},
    {"mean", "f16", "f16", {7, 300}, "f", {0}, 0x8f2a2ff3208318c3u},
    {"sum", "f16", "f16", {7, 300}, "f", {1}, 0xe1a4e074d74cca60u},
    {"mean", "f16", "f16", {7, 300}, "f", {1}, 0x3a76772162ef1ebfu},
    {"sum", "f16", "f16", {7, 300}, "f", {0, 1}, 0x99770100c47a64c4u},
    {"mean", "f16", "f16", {7, 300}, "f", {0, 1}, 0x991f1100c4300a1eu},
    {"sum", "f16", "f16", {300, 7}, "c", {0}, 0xe1a4e074d74cca60u},
    {"var", "f16", "f16", {300, 7}, "c", {0}, 0xa668daf48c5f3a88u},
    {"std", "f16", "f16", {300, 7}, "c", {0}, 0x1f543dd60424c1f2u},
    {"sum", "f16", "f16", {300, 7}, "c", {1}, 0x3a4199b0f5f073f2u},
    {"var", "f16", "f16", {300, 7}, "c", {1}, 0x5e18c5db179744dcu},
    {"std", "f16", "f16", {300, 7}, "c", {1}, 0x1883a1195e0dda67u},
    {"sum", "f16", "f16", {300, 7}, "c", {0, 1}, 0x99770100c47a64c4u},
    {"var", "f16", "f16", {300, 7}, "c", {0, 1}, 0x9a695f00c5493a1fu},
    {"std", "f16", "f16", {300, 7}, "c", {0, 1}, 0x9a695f00c5493a1fu},
    {"sum", "f16", "f16", {300, 7}, "f", {0}, 0xb54856f28f590e2bu},
    {"var", "f16", "f16", {300, 7}, "f", {0}, 0xf7abd3254057a33fu},
    {"std", "f16", "f16", {300, 7}, "f", {0}, 0xf7abd3254057a33fu},
    {"sum", "f16", "f16", {300, 7}, "f", {1}, 0x0e416967fcff26f2u},
    {"var", "f16", "f16", {300, 7}, "f", {1}, 0xbce66d6220e11d0du},
    {"std", "f16", "f16", {300, 7}, "f", {1}, 0xa99af3d0fcd1acedu},
    {"sum", "f16", "f16", {300, 7}, "f", {0, 1}, 0x99770100c47a64c4u},
    {"var", "f16", "f16", {300, 7}, "f", {0, 1}, 0x9a695f00c5493a1fu},
    {"std", "f16", "f16", {300, 7}, "f", {0, 1}, 0x9a695f00c5493a1fu},
    {"sum", "f16", "f16", {5, 40, 60}, "c", {0, 2}, 0xd7544a9128f91030u},
    {"sum", "f16", "f16", {5, 40, 60}, "f", {0, 2}, 0x399c34ef776dc29eu},
    {"sum", "f16", "f16", {5, 40, 60}, "c", {1}, 0xbc9ef26fcd595d6cu},
    {"max", "f16", "f16", {40, 60}, "c", {1}, 0xf90dc9bad4d58124u},
    {"sum", "f16", "f16", {30, 1, 300}, "c", {0, 1}, 0xb64059c0c8f004b1u},
    {"sum", "f32", "f32", {1000}, "c", {0}, 0x77f084ebe39264a2u},
    {"var", "f32", "f32", {1000}, "c", {0}, 0xdd855e2ab66879eeu},
    {"std", "f32", "f32", {1000}, "c", {0}, 0x54d4d3aad9f63c2bu},
    {"sum", "f32", "f32", {9000}, "c", {0}, 0x6269dcf13b81e86du},
    {"mean", "f32", "f32", {9000}, "c", {0}, 0x88f84b8184fb6f38u},
    {"sum", "f32", "f32", {7, 300}, "c", {0}, 0x5040652579e8002du},
    {"mean", "f32", "f32", {7, 300}, "c", {0}, 0xdcf691ab365d7310u},
    {"sum", "f32", "f32", {7, 300}, "c", {1}, 0x9387d4f9cdf1f81bu},
    {"mean", "f32", "f32", {7, 300}, "c", {1}, 0xf25c4bce4dd84d61u},
    {"sum", "f32", "f32", {7, 300}, "c", {0, 1}, 0xd6212611204648a8u},
    {"mean", "f32", "f32", {7, 300}, "c", {0, 1}, 0x69afc7b6c64462bcu},
    {"sum", "f32", "f32", {7, 300}, "f", {0}, 0x90d7c42b4c957d10u},
    {"mean", "f32", "f32", {7, 300}, "f", {0}, 0x31798f0aa511b714u},
    {"sum", "f32", "f32", {7, 300}, "f", {1}, 0x0e1b8cb70e4757f5u},
    {"mean", "f32", "f32", {7, 300}, "f", {1}, 0x6ad2fb32be77489bu},
    {"sum", "f32", "f32", {7, 300}, "f", {0, 1}, 0xd6212611204648a8u},
    {"mean", "f32", "f32", {7, 300}, "f", {0, 1}, 0x69afc7b6c64462bcu},
    {"sum", "f32", "f32", {300, 7}, "c", {0}, 0x0e1b8cb70e4757f5u},
    {"var", "f32", "f32", {300, 7}, "c", {0}, 0x21a3880802c130cbu},
    {"std", "f32", "f32", {300, 7}, "c", {0}, 0xcc949333af71fe65u},
    {"sum", "f32", "f32", {300, 7}, "c", {1}, 0x90d7c42b4c957d10u},
    {"var", "f32", "f32", {300, 7}, "c", {1}, 0xce970d72be478611u},
    {"std", "f32", "f32", {300, 7}, "c", {1}, 0x65773ba29f9aca5cu},
    {"sum", "f32", "f32", {300, 7}, "c", {0, 1}, 0xd6212611204648a8u},
    {"var", "f32", "f32", {300, 7}, "c", {0, 1}, 0x4f82e9ab17bc8956u},
    {"std", "f32", "f32", {300, 7}, "c", {0, 1}, 0xbbebb2bfab9cf91eu},
    {"sum", "f32", "f32", {300, 7}, "f", {0}, 0x9387d4f9cdf1f81bu},
    {"var", "f32", "f32", {300, 7}, "f", {0}, 0x50cc7ef6242ef056u},
    {"std", "f32", "f32", {300, 7}, "f", {0}, 0xae3a6b5f8697c15fu},
    {"sum", "f32", "f32", {300, 7}, "f", {1}, 0x5040652579e8002du},
    {"var", "f32", "f32", {300, 7}, "f", {1}, 0x61577fc989159458u},
    {"std", "f32", "f32", {300, 7}, "f", {1}, 0x744122cc40193de7u},
    {"sum", "f32", "f32", {300, 7}, "f", {0, 1}, 0xd6212611204648a8u},
    {"var", "f32", "f32", {300, 7}, "f", {0, 1}, 0x4f82e9ab17bc8956u},
    {"std", "f32", "f32", {300, 7}, "f", {0, 1}, 0xbbebb2bfab9cf91eu},
    {"sum", "f32", "f32", {5, 40, 60}, "c", {0, 2}, 0xde8bca444d30d4dcu},
    {"sum", "f32", "f32", {5, 40, 60}, "f", {0, 2}, 0x703fe7f69b53bf5eu},
    {"sum", "f32", "f32", {5, 40, 60}, "c", {1}, 0x61fc5674b3576bccu},
    {"max", "f32", "f32", {40, 60}, "c", {1}, 0x7714a43a126ca56du},
    {"sum", "f32", "f32", {30, 1, 300}, "c", {0, 1}, 0xe29f817ec661622cu},
    {"sum", "f64", "f64", {1000}, "c", {0}, 0x0ac437b2df8b16eau},
    {"var", "f64", "f64", {1000}, "c", {0}, 0x69f636189f160620u},
    {"std", "f64", "f64", {1000}, "c", {0}, 0xf72c38f525a78ba8u},
    {"sum", "f64", "f64", {9000}, "c", {0}, 0xd6dfb793ef0c98b4u},
    {"mean", "f64", "f64", {9000}, "c", {0}, 0x454159b16630ace1u},
    {"sum", "f64", "f64", {7, 300}, "c", {0}, 0x39bb11e59f806a97u},
    {"mean", "f64", "f64", {7, 300}, "c", {0}, 0x0fb64a3efde82db7u},
    {"sum", "f64", "f64", {7, 300}, "c", {1}, 0x9a219454a18f0bdfu},
    {"mean", "f64", "f64", {7, 300}, "c", {1}, 0x2b4c5c1eb336afe3u},
    {"sum", "f64", "f64", {7, 300}, "c", {0, 1}, 0x67e93c002902eebau},
    {"mean", "f64", "f64", {7, 300}, "c", {0, 1}, 0x3b0fe1bc859a1e04u},
    {"sum", "f64", "f64", {7, 300}, "f", {0}, 0x958b2731cf640556u},
    {"mean", "f64", "f64", {7, 300}, "f", {0}, 0x0fae16219dbd97e9u},
    {"sum", "f64", "f64", {7, 300}, "f", {1}, 0x57124819687c43f5u},
    {"mean", "f64", "f64", {7, 300}, "f", {1}, 0x8d18e16e2a7e5f7fu},
    {"sum", "f64", "f64", {7, 300}, "f", {0, 1}, 0x67e93c002902eebau},
    {"mean", "f64", "f64", {7, 300}, "f", {0, 1}, 0x3b0fe1bc859a1e04u},
    {"sum", "f64", "f64", {300, 7}, "c", {0}, 0x57124819687c43f5u},
    {"var", "f64", "f64", {300, 7}, "c", {0}, 0xad78f3d278a7bd43u},
    {"std", "f64", "f64", {300, 7}, "c", {0}, 0x5d64f3dae68d78a4u},
    {"sum", "f64", "f64", {300, 7}, "c", {1}, 0x958b2731cf640556u},
    {"var", "f64", "f64", {300, 7}, "c", {1}, 0x2a912204ccedcdfeu},
    {"std", "f64", "f64", {300, 7}, "c", {1}, 0xc0dd43d2f2e94e9cu},
    {"sum", "f64", "f64", {300, 7}, "c", {0, 1}, 0x67e93c002902eebau},
    {"var", "f64", "f64", {300, 7}, "c", {0, 1}, 0x0a9d65e9bc247ff5u},
    {"std", "f64", "f64", {300, 7}, "c", {0, 1}, 0x8f4434250fe8ad2fu},
    {"sum", "f64", "f64", {300, 7}, "f", {0}, 0x9a219454a18f0bdfu},
    {"var", "f64", "f64", {300, 7}, "f", {0}, 0xb36f9b74f0f79312u},
    {"std", "f64", "f64", {300, 7}, "f", {0}, 0xf781dea26cd2b395u},
    {"sum", "f64", "f64", {300, 7}, "f", {1}, 0x39bb11e59f806a97u},
    {"var", "f64", "f64", {300, 7}, "f", {1}, 0x992b1aaec38f0242u},
    {"std", "f64", "f64", {300, 7}, "f", {1}, 0xec01c3940fae087bu},
    {"sum", "f64", "f64", {300, 7}, "f", {0, 1}, 0x67e93c002902eebau},
    {"var", "f64", "f64", {300, 7}, "f", {0, 1}, 0x0a9d65e9bc247ff5u},
    {"std", "f64", "f64", {300, 7}, "f", {0, 1}, 0x8f4434250fe8ad2fu},
    {"sum", "f64", "f64", {5, 40, 60}, "c", {0, 2}, 0xf95aa9d00f9d6494u},
    {"sum", "f64", "f64", {5, 40, 60}, "f", {0, 2}, 0x8ba3f4061e7d2adfu},
    {"sum", "f64", "f64", {5, 40, 60}, "c", {1}, 0xb7a0e7bb7418055fu},
    {"max", "f64", "f64", {40, 60}, "c", {1}, 0xefc9ae04cbd8dc0bu},
    {"sum", "f64", "f64", {30, 1, 300}, "c", {0, 1}, 0x7d8100cf6f2b1980u},
};

double element(int64_t i) {
  const auto mixed = static_cast<double>((static_cast<uint64_t>(i) * 2654435761u) % (uint64_t{1} << 32));
  return (mixed / 0x1p28 - 8) * (1 + static_cast<double>(i % 7));
}

std::string listText(const std::vector<int64_t>& list) {
  std::string text;
  for (int64_t n : list) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}

TEST(Evaluator, ReductionsAreNumPys) {
  for (const Row& row : kRows) {
    const bool f = row.layout[0] == 'f';
    std::vector<int64_t> kept;
    for (size_t axis = 0; axis < row.shape.size(); ++axis)
      if (std::find(row.axes.begin(), row.axes.end(), static_cast<int64_t>(axis)) == row.axes.end())
        kept.push_back(row.shape[axis]);
    const std::string type = std::string(row.dtype) + listText(row.shape) + (f ? " layout=f" : "");
    const std::string result = std::string(row.result) + (kept.empty() ? "" : listText(kept));
    const std::string ir = "graph() {\n  %0 = input() {index=0} : " + type + "\n  %1 = " + row.op +
                           "(%0) {axes=" + listText(row.axes) + ", keepdims=0} : " + result + "\n  return %1\n}\n";
    SCOPED_TRACE(ir);
    absl::StatusOr<Graph> graph = parse(ir);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const DType dtype = graph->type(ValueId(0)).dtype;
    HostArray in = HostArray::zeros(dtype, row.shape);
    std::vector<int64_t> weights(row.shape.size(), 1);  // memory order
    if (f)
      for (size_t i = 1; i < weights.size(); ++i) weights[i] = weights[i - 1] * row.shape[i - 1];
    else
      for (size_t i = weights.size(); i-- > 1;) weights[i - 1] = weights[i] * row.shape[i];
    for (int64_t flat = 0; flat < in.elements(); ++flat) {
      int64_t rest = flat, at = 0;
      for (size_t axis = row.shape.size(); axis-- > 0; rest /= row.shape[axis])
        at += rest % row.shape[axis] * weights[axis];
      in.set(flat, Scalar::ofDouble(dtype, element(at)));
    }
    absl::StatusOr<std::vector<HostArray>> out = evaluate(*graph, {in}, {});
    ASSERT_TRUE(out.ok()) << out.status().message();
    uint64_t hash = 1469598103934665603u;
    for (std::byte b : out->front().data) hash = (hash ^ static_cast<uint8_t>(b)) * 1099511628211u;
    EXPECT_EQ(hash, row.hash);
  }
}

Scalar run(Op op, std::vector<Scalar> in, DType result) {
  absl::StatusOr<Scalar> value = evaluateElement(op, in, result);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : Scalar::zero(result);
}

TEST(Evaluator, IntegerCornersAreNumPys) {
  const auto i32 = [](int64_t v) { return Scalar::ofInt(DType::kI32, v); };
  EXPECT_EQ(run(Op::kFloorDivide, {i32(7), i32(0)}, DType::kI32), i32(0));
  EXPECT_EQ(run(Op::kFloorDivide, {i32(INT32_MIN), i32(-1)}, DType::kI32), i32(INT32_MIN));
  EXPECT_EQ(run(Op::kFloorDivide, {i32(-7), i32(2)}, DType::kI32), i32(-4));
  EXPECT_EQ(run(Op::kRemainder, {i32(-7), i32(2)}, DType::kI32), i32(1));
  EXPECT_EQ(run(Op::kRemainder, {i32(7), i32(0)}, DType::kI32), i32(0));
  EXPECT_EQ(run(Op::kLeftShift, {i32(1), i32(32)}, DType::kI32), i32(0));
  EXPECT_EQ(run(Op::kRightShift, {i32(-5), i32(40)}, DType::kI32), i32(-1));
  EXPECT_EQ(run(Op::kPower, {i32(3), i32(21)}, DType::kI32), i32(1870418611));
  EXPECT_EQ(run(Op::kReciprocal, {i32(0)}, DType::kI32), i32(INT32_MIN));
  EXPECT_FALSE(evaluateElement(Op::kPower, {i32(2), i32(-1)}, DType::kI32).ok());
}

TEST(Evaluator, FloatCornersAreNumPys) {
  const auto f64 = [](double v) { return Scalar::ofDouble(DType::kF64, v); };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(Op::kMaximum, {f64(-0.0), f64(0.0)}, DType::kF64), f64(0.0));
  EXPECT_EQ(run(Op::kMaximum, {f64(0.0), f64(-0.0)}, DType::kF64), f64(-0.0));
  EXPECT_EQ(run(Op::kClip, {f64(-0.0), f64(0.0), f64(1.0)}, DType::kF64), f64(-0.0));
  EXPECT_EQ(run(Op::kRemainder, {f64(-1.0), f64(inf)}, DType::kF64), f64(inf));
  EXPECT_EQ(run(Op::kFma, {f64(1 + 0x1p-52), f64(1 - 0x1p-52), f64(-1.0)}, DType::kF64), f64(-0x1p-104));
  EXPECT_EQ(run(Op::kFloorDivide, {f64(-1.0), f64(inf)}, DType::kF64), f64(-1.0));
  EXPECT_EQ(castElement(f64(1e20), DType::kI32), Scalar::ofInt(DType::kI32, INT32_MIN));
  EXPECT_EQ(castElement(f64(300.7), DType::kU8), Scalar::ofInt(DType::kU8, 44));
  EXPECT_EQ(castElement(f64(-1.0), DType::kU32), Scalar::ofInt(DType::kU32, 0xffffffff));
  EXPECT_EQ(castElement(f64(std::nan("")), DType::kBool), Scalar::ofBool(true));
}

TEST(Evaluator, UpdatesAndViews) {
  absl::StatusOr<Graph> graph = parse(R"(graph() {
  %0 = input() {index=0} : f64[4]
  %1 = constant() {value=f64(5)} : f64
  %2 = full(%1) : f64[2]
  %3 = update(%0, %2) {starts=[1], steps=[2]} : f64[4]
  %4 = slice(%3) {starts=[3], steps=[-1]} : f64[4] layout=c/neg(0)
  return %4
}
)");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  HostArray in = HostArray::zeros(DType::kF64, {4});
  for (int i = 0; i < 4; ++i) in.set(i, Scalar::ofDouble(DType::kF64, i));
  absl::StatusOr<std::vector<HostArray>> out = evaluate(*graph, {in}, {});
  ASSERT_TRUE(out.ok()) << out.status().message();
  const double want[] = {5, 2, 5, 0};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out->front().at(i).asDouble(), want[i]);
}

/// Runs a graph of f64 vectors of 3 elements; `n` is symbol s0.
std::vector<double> runVector(std::string_view text, std::vector<double> input, int64_t n) {
  absl::StatusOr<Graph> graph = parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  HostArray in = HostArray::zeros(DType::kF64, {static_cast<int64_t>(input.size())});
  for (size_t i = 0; i < input.size(); ++i) in.set(static_cast<int64_t>(i), Scalar::ofDouble(DType::kF64, input[i]));
  absl::StatusOr<std::vector<HostArray>> out = evaluate(*graph, {in}, {n});
  EXPECT_TRUE(out.ok()) << out.status().message();
  std::vector<double> result;
  for (int64_t i = 0; out.ok() && i < out->front().elements(); ++i) result.push_back(out->front().at(i).asDouble());
  return result;
}

TEST(Evaluator, LoopRunsTripTimes) {
  const char* text = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[3]
  %1 = loop(%0) {trip=s0} : (f64[3]) {
    %0 = input() {index=0} : f64[3]
    %1 = constant() {value=bool(true)} : bool
    %2 = add(%0, %0) : f64[3]
    return %1, %2
  }
  %2 = project(%1) {index=0} : f64[3]
  return %2
}
)";
  EXPECT_EQ(runVector(text, {1, 2, -3}, 0), (std::vector<double>{1, 2, -3}));
  EXPECT_EQ(runVector(text, {1, 2, -3}, 4), (std::vector<double>{16, 32, -48}));
}

TEST(Evaluator, LoopStopsWhenItsConditionFails) {
  const char* text = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[3]
  %1 = loop(%0) {trip=s0} : (f64[3]) {
    %0 = input() {index=0} : f64[3]
    %1 = constant() {value=f64(100)} : f64
    %2 = add(%0, %0) : f64[3]
    %3 = max(%2) {axes=[0], keepdims=0} : f64
    %4 = less(%3, %1) : bool
    return %4, %2
  }
  %2 = project(%1) {index=0} : f64[3]
  return %2
}
)";
  EXPECT_EQ(runVector(text, {1, 2, 10}, 1000), (std::vector<double>{16, 32, 160}));
  EXPECT_EQ(runVector(text, {1, 2, 10}, 2), (std::vector<double>{4, 8, 40}));
}

TEST(Evaluator, CondTakesOneRegion) {
  const char* text = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[3]
  %1 = sum(%0) {axes=[0], keepdims=0} : f64
  %2 = constant() {value=f64(0)} : f64
  %3 = less(%1, %2) : bool
  %4 = cond(%3, %0) : (f64[3]) {
    %0 = input() {index=0} : f64[3]
    %1 = negative(%0) : f64[3]
    return %1
  } {
    %0 = input() {index=0} : f64[3]
    %1 = multiply(%0, %0) : f64[3]
    return %1
  }
  %5 = project(%4) {index=0} : f64[3]
  return %5
}
)";
  EXPECT_EQ(runVector(text, {1, 2, -4}, 0), (std::vector<double>{-1, -2, 4}));
  EXPECT_EQ(runVector(text, {1, 2, 4}, 0), (std::vector<double>{1, 4, 16}));
}

}  // namespace
}  // namespace fw::graph
