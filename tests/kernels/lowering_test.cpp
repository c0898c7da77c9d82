// Every elementwise row on every type that it accepts, on special and ordinary values, against the reference
// evaluator's definition of one element. Transcendental rows have their own accuracy tests (tests/kernels_math);
// here they must build and verify.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/evaluator_scalar.h"
#include "graph/infer.h"
#include "harness.h"

namespace fw::kernels::testing {
namespace {

using graph::Op;
using graph::OpClass;
using graph::Scalar;

std::vector<Scalar> samples(DType d) {
  std::vector<Scalar> result;
  if (d == DType::kBool) return {Scalar::ofBool(false), Scalar::ofBool(true)};
  if (graph::isInteger(d)) {
    const int bits = 8 * graph::itemSize(d);
    for (int64_t v : {0, 1, 2, 3, 5, 7, 31, 64, 100, -1, -2, -3, -7, -100}) result.push_back(Scalar::ofInt(d, v));
    result.push_back(Scalar::ofInt(d, static_cast<int64_t>(uint64_t{1} << (bits - 1))));
    result.push_back(Scalar::ofInt(d, static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1)));
    return result;
  }
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> reals = {0.0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.5,
                                     -0.5,
                                     1.5,
                                     2.5,
                                     -2.5,
                                     3,
                                     7.25,
                                     -1e4,
                                     6e-8,
                                     1e-3,
                                     inf,
                                     -inf,
                                     std::numeric_limits<double>::quiet_NaN()};
  if (!graph::isComplex(d)) {
    for (double v : reals) result.push_back(Scalar::ofDouble(d, v));
    return result;
  }
  for (double re : {0.0, -0.0, 1.5, -3.0, inf, reals.back()})
    for (double im : {0.0, -0.0, 2.0, -0.25, -inf, reals.back()}) result.push_back(Scalar::ofComplex(d, {re, im}));
  return result;
}

bool isNanPart(DType d, uint64_t bits) {
  if (d == DType::kF16) return (bits & 0x7fff) > 0x7c00;
  if (d == DType::kF32) return (bits & 0x7fffffff) > 0x7f800000;
  return d == DType::kF64 && (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
}

/// Equal bits; any NaN equals any other.
bool same(const Scalar& a, const Scalar& b) {
  if (a == b) return true;
  const auto part = [](DType d, uint64_t x, uint64_t y) { return x == y || (isNanPart(d, x) && isNanPart(d, y)); };
  if (a.dtype == DType::kC64)
    return part(DType::kF32, a.lo & 0xffffffff, b.lo & 0xffffffff) && part(DType::kF32, a.lo >> 32, b.lo >> 32);
  if (a.dtype == DType::kC128) return part(DType::kF64, a.lo, b.lo) && part(DType::kF64, a.hi, b.hi);
  return part(a.dtype, a.lo, b.lo);
}

Scalar readScalar(DType d, const std::byte* p) {
  Scalar s{d, 0, 0};
  std::memcpy(&s.lo, p, std::min(graph::itemSize(d), 8));
  if (d == DType::kC128) std::memcpy(&s.hi, p + 8, 8);
  return s;
}

void append(std::vector<std::byte>& data, const Scalar& s) {
  const size_t at = data.size(), bytes = graph::itemSize(s.dtype);
  data.resize(at + bytes);
  std::memcpy(data.data() + at, &s.lo, std::min<size_t>(bytes, 8));
  if (bytes == 16) std::memcpy(data.data() + at + 8, &s.hi, 8);
}

/// All pairs (triples are not needed: where is the only row with three operands, its first is bool).
std::vector<std::vector<Scalar>> tuples(const std::vector<DType>& types) {
  std::vector<std::vector<Scalar>> all = {{}};
  for (DType d : types) {
    std::vector<std::vector<Scalar>> next;
    for (const auto& t : all)
      for (const Scalar& s : samples(d)) {
        next.push_back(t);
        next.back().push_back(s);
      }
    all = std::move(next);
  }
  return all;
}

/// Where the evaluator's definition is known to differ from NumPy; the facts themselves are tested below.
bool evaluatorDiffers(Op op, const std::vector<Scalar>& in, DType result) {
  const bool ignoresNan = op == Op::kFmax || op == Op::kFmin;
  const bool extreme = ignoresNan || op == Op::kMaximum || op == Op::kMinimum;
  const auto nan = [](const Scalar& s) { return std::isnan(s.asComplex().real()) || std::isnan(s.asComplex().imag()); };
  // The evaluator answers hypot, as scalars do; NumPy's loop, which kernels follow bit for bit, has a formula of its
  // own.
  if (op == Op::kAbsolute && graph::isComplex(in[0].dtype)) {
    const double length = std::hypot(in[0].asComplex().real(), in[0].asComplex().imag());
    return std::isfinite(length) && length != 0;
  }
  if (op == Op::kCast && result == DType::kU64) return graph::isInexact(in[0].dtype) && std::isnan(in[0].asDouble());
  if (extreme && in[0].dtype == DType::kF16) return in[0].asDouble() == 0 && in[1].asDouble() == 0;
  return ignoresNan && graph::isComplex(in[0].dtype) && (nan(in[0]) || nan(in[1]));
}

struct Outcome {
  bool built = false;
  int wrong = 0;
  std::string text;
};

Outcome tryRow(const graph::OpInfo& row, const std::vector<DType>& types, DType result) {
  Outcome outcome;
  std::string text = "graph(s0: [0, inf]) {\n", operands;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string n = std::to_string(i);
    text += "  %" + n + " = input() {index=" + n + "} : " + std::string(graph::name(types[i])) + "[s0]\n";
    operands += (i ? ", %" : "%") + n;
  }
  const std::string last = "%" + std::to_string(types.size());
  text += "  " + last + " = " + std::string(row.text) + "(" + operands + ") : " + std::string(graph::name(result)) +
          "[s0]\n  return " + last + "\n}\n";
  absl::StatusOr<BuiltGraph> built = build(text);
  if (!built.ok()) {
    EXPECT_NE(built.status().code(), absl::StatusCode::kInternal) << text << built.status();
    return outcome;
  }
  outcome.built = true;
  const auto all = tuples(types);
  for (const auto& tuple : all) {  // one by one, so that a status belongs to one element
    std::vector<std::vector<std::byte>> data(types.size());
    std::vector<void*> inputs;
    for (size_t i = 0; i < types.size(); ++i) {
      append(data[i], tuple[i]);
      inputs.push_back(data[i].data());
    }
    const int64_t one[] = {1};
    absl::StatusOr<Result> r = run(*built, inputs, one);
    EXPECT_TRUE(r.ok()) << r.status();
    if (!r.ok() || (r->status & kDecline)) continue;
    const absl::StatusOr<Scalar> want = graph::evaluateElement(row.op, tuple, result);
    if (!want.ok() || evaluatorDiffers(row.op, tuple, result)) continue;
    const Scalar got = readScalar(result, r->outputs[0].data());
    if (same(got, *want)) continue;
    ++outcome.wrong;
    outcome.text = text;
    for (const Scalar& s : tuple) outcome.text += " " + std::to_string(s.asDouble());
    outcome.text += " gives " + std::to_string(got.asDouble()) + ", not " + std::to_string(want->asDouble());
  }
  return outcome;
}

TEST(Lowering, EveryRowAgreesWithItsDefinition) {
  int cases = 0;
  for (const graph::OpInfo& row : graph::opTable()) {
    if (row.cls != OpClass::kElementwise || row.cpu == "Decompose" || row.arity < 1 || row.op == Op::kCast) continue;
    for (const graph::DTypeInfo& type : graph::kDTypes) {
      if (!graph::loopAccepts(row.op, type.dtype)) continue;
      std::vector<DType> types(row.arity, type.dtype);
      if (row.op == Op::kWhere) types[0] = DType::kBool;
      DType result = type.dtype;
      if (row.result == graph::ResultType::kBool) result = DType::kBool;
      if (row.result == graph::ResultType::kReal) result = graph::realOf(type.dtype);
      if (row.result == graph::ResultType::kComplex) result = graph::complexOf(type.dtype);
      const Outcome outcome = tryRow(row, types, result);
      cases += outcome.built;
      if (row.contract == graph::Contract::kExact) EXPECT_EQ(outcome.wrong, 0) << outcome.text;
    }
  }
  EXPECT_GT(cases, 350);  // rows must not vanish behind refusals
}

Scalar evaluateOne(Op op, const std::vector<Scalar>& in, DType result) {
  std::string text = "graph(s0: [0, inf]) {\n", operands;
  std::vector<std::vector<std::byte>> data(in.size());
  std::vector<void*> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    const std::string n = std::to_string(i);
    text += "  %" + n + " = input() {index=" + n + "} : " + std::string(graph::name(in[i].dtype)) + "[s0]\n";
    operands += (i ? ", %" : "%") + n;
    append(data[i], in[i]);
    inputs.push_back(data[i].data());
  }
  const std::string last = "%" + std::to_string(in.size());
  text += "  " + last + " = " + std::string(graph::info(op).text) + "(" + operands +
          ") : " + std::string(graph::name(result)) + "[s0]\n  return " + last + "\n}\n";
  absl::StatusOr<BuiltGraph> built = build(text);
  EXPECT_TRUE(built.ok()) << built.status();
  const int64_t one[] = {1};
  absl::StatusOr<Result> r = run(*built, inputs, one);
  EXPECT_TRUE(r.ok()) << r.status();
  return readScalar(result, r->outputs[0].data());
}

TEST(Lowering, FlagsAreNumPys) {
  const auto statusOf = [](Op op, double x, double y) {
    const std::string declared = "  %0 = input() {index=0} : f64[s0]\n  %1 = input() {index=1} : f64[s0]\n";
    absl::StatusOr<BuiltGraph> built =
        build("graph(s0: [0, inf]) {\n" + declared + "  %2 = " + std::string(graph::info(op).text) +
              "(%0, %1) : f64[s0]\n  return %2\n}\n");
    EXPECT_TRUE(built.ok()) << built.status();
    void* inputs[] = {&x, &y};
    const int64_t one[] = {1};
    return run(*built, inputs, one)->status;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(statusOf(Op::kFloorDivide, 1, 0), kDivide);
  EXPECT_EQ(statusOf(Op::kFloorDivide, 7, 2), 0u);
  EXPECT_EQ(statusOf(Op::kRemainder, 1, 0), kInvalid);
  EXPECT_EQ(statusOf(Op::kMaximum, 1, nan), 0u);
  EXPECT_EQ(statusOf(Op::kDivide, 1, 0), kDivide);
  EXPECT_EQ(statusOf(Op::kMultiply, 1e300, 1e300), kOverflow);
  EXPECT_EQ(statusOf(Op::kFmax, 0.0, -0.0), kDecline);
}

// Observed with NumPy 2.4 and 2.5.
TEST(Lowering, AnswersWhatNumPyAnswers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (DType d : {DType::kF16, DType::kF32, DType::kF64})
    EXPECT_EQ(evaluateOne(Op::kCast, {Scalar::ofDouble(d, nan)}, DType::kU64).lo, uint64_t{1} << 63);
  for (Op op : {Op::kMaximum, Op::kMinimum}) {
    const DType h = DType::kF16, f = DType::kF32;
    EXPECT_EQ(evaluateOne(op, {Scalar::ofDouble(h, -0.0), Scalar::ofDouble(h, 0.0)}, h).lo, 0x8000u);
    EXPECT_EQ(evaluateOne(op, {Scalar::ofDouble(f, -0.0), Scalar::ofDouble(f, 0.0)}, f).lo, 0u);
  }
  const DType c = DType::kC128;
  const auto pair = [&](double re, double im) { return Scalar::ofComplex(c, {re, im}); };
  EXPECT_TRUE(same(evaluateOne(Op::kFmax, {pair(nan, 1), pair(2, nan)}, c), pair(nan, 1)));
  EXPECT_TRUE(same(evaluateOne(Op::kFmax, {pair(nan, 2), pair(1, 1)}, c), pair(1, 1)));
  EXPECT_TRUE(same(evaluateOne(Op::kFmin, {pair(3, 1), pair(nan, 2)}, c), pair(3, 1)));
}

TEST(Lowering, EveryCastAgreesWithItsDefinition) {
  for (const graph::DTypeInfo& from : graph::kDTypes)
    for (const graph::DTypeInfo& to : graph::kDTypes) {
      if (from.dtype == to.dtype) continue;
      const Outcome outcome = tryRow(graph::info(Op::kCast), {from.dtype}, to.dtype);
      EXPECT_TRUE(outcome.built) << from.text << " to " << to.text;
      EXPECT_EQ(outcome.wrong, 0) << outcome.text;
    }
}

}  // namespace
}  // namespace fw::kernels::testing
