// What the builder merges, moves and folds, what it must leave in place, and that verify() sees unsound kernels.
#include <gtest/gtest.h>

#include "graph/support/check.h"
#include "kernels/builder.h"
#include "kernels/interpreter.h"

namespace fw::kernels {
namespace {

class BuilderTest : public ::testing::Test {
 protected:
  graph::SymContext syms;
  KernelBuilder b{syms, "test"};
  const graph::BufferId in{0}, out{1};

  Access at(graph::BufferId buffer, std::vector<std::pair<AxisId, int64_t>> terms = {}) {
    Access a{buffer, syms.constant(0), {}};
    for (const auto& [axis, stride] : terms) a.terms.push_back({axis, syms.constant(stride)});
    return a;
  }
  Val i64(int64_t v) { return b.constantInt(DType::kI64, v); }
  Val f64(double v) { return b.constant(DType::kF64, v); }
};

int countOf(const Kernel& k, ScalarOp op) {
  int n = 0;
  for (const Expr& e : k.exprs) n += e.op == op;
  return n;
}

/// Expressions with `op` that stand directly in the kernel's outermost block.
int outermost(const Kernel& k, ScalarOp op) {
  int n = 0;
  for (const Item& item : k.body.items) n += item.expr.valid() && k.exprs[item.expr.index].op == op;
  return n;
}

TEST_F(BuilderTest, MergesAndHoists) {
  b.loop(i64(0), i64(4), true, false, [&](AxisId i) {
    const Val uniform = b.load(at(in), DType::kF64);
    const Val x = b.load(at(in, {{i, 8}}), DType::kF64);
    const Val a = b.op(ScalarOp::kMul, uniform, f64(3));
    const Val again = b.op(ScalarOp::kMul, b.load(at(in), DType::kF64), f64(3));
    EXPECT_EQ(a.id, again.id);
    b.store(at(out, {{i, 8}}), b.op(ScalarOp::kAdd, x, a));
  });
  const Kernel k = std::move(b).take();
  EXPECT_TRUE(verify(k, syms).empty());
  EXPECT_EQ(countOf(k, ScalarOp::kLoad), 2);
  EXPECT_EQ(outermost(k, ScalarOp::kLoad), 1);
  EXPECT_EQ(outermost(k, ScalarOp::kMul), 1);
  EXPECT_EQ(outermost(k, ScalarOp::kAdd), 0);
}

TEST_F(BuilderTest, ReportsStandWhereTheirConditionStands) {
  b.loop(i64(0), i64(4), true, false, [&](AxisId i) {
    const Val uniform = b.load(at(in), DType::kF64);
    const Val x = b.load(at(in, {{i, 8}}), DType::kF64);
    b.raiseIf(b.op(ScalarOp::kLt, uniform, f64(0)), kInvalid);
    b.raiseIf(b.op(ScalarOp::kLt, uniform, f64(0)), kInvalid);
    b.raiseIf(b.op(ScalarOp::kLt, x, f64(0)), kDivide);
    b.store(at(out, {{i, 8}}), x);
  });
  const Kernel k = std::move(b).take();
  EXPECT_TRUE(verify(k, syms).empty());
  EXPECT_EQ(countOf(k, ScalarOp::kRaiseIf), 2);
  EXPECT_EQ(outermost(k, ScalarOp::kRaiseIf), 1);
}

TEST_F(BuilderTest, StoredBuffersKeepTheirOrder) {
  b.declareStored(out);
  b.loop(i64(0), i64(3), false, false, [&](AxisId) {
    const Val x = b.load(at(out), DType::kF64);
    b.store(at(out), b.op(ScalarOp::kAdd, x, f64(1)));
  });
  const Kernel k = std::move(b).take();
  EXPECT_EQ(outermost(k, ScalarOp::kLoad), 0);
  double data = 0;
  void* buffers[] = {nullptr, &data};
  ASSERT_TRUE(interpret(k, syms, {}, buffers).ok());
  EXPECT_EQ(data, 3);
}

TEST_F(BuilderTest, StoreAfterAMovedLoadIsOurBug) {
  const Val x = b.load(at(out), DType::kF64);
  EXPECT_THROW(b.store(at(out), x), InternalError);
}

TEST_F(BuilderTest, NothingLeavesAnIf) {
  const Val n = b.load(at(in), DType::kI64);
  const Val zero = b.op(ScalarOp::kEq, n, i64(0));
  b.branch(b.op(ScalarOp::kNot, zero), [&] { b.store(at(out), b.op(ScalarOp::kDiv, i64(7), n)); });
  const Kernel k = std::move(b).take();
  EXPECT_TRUE(verify(k, syms).empty());
  EXPECT_EQ(outermost(k, ScalarOp::kDiv), 0);
  int64_t divisor = 0, result = 42;
  void* buffers[] = {&divisor, &result};
  ASSERT_TRUE(interpret(k, syms, {}, buffers).ok());
  EXPECT_EQ(result, 42);
}

TEST_F(BuilderTest, FoldsWhatRaisesNoFlag) {
  EXPECT_TRUE(b.asConstant(b.op(ScalarOp::kAdd, f64(1), f64(2))));
  EXPECT_TRUE(b.asConstant(b.op(ScalarOp::kMul, i64(3), i64(5))));
  EXPECT_FALSE(b.asConstant(b.op(ScalarOp::kDiv, f64(1), f64(0))));
  EXPECT_FALSE(b.asConstant(b.op(ScalarOp::kMul, f64(1e300), f64(1e300))));
  EXPECT_FALSE(b.asConstant(b.op(ScalarOp::kMul, f64(1e-300), f64(1e-300))));
  EXPECT_FALSE(b.asConstant(b.op(ScalarOp::kDiv, i64(1), i64(0))));
  EXPECT_FALSE(b.asConstant(b.op(ScalarOp::kSqrt, f64(-1))));
  const Val x = b.load(at(in), DType::kI64), y = b.load(at(in), DType::kF64);
  EXPECT_EQ(b.op(ScalarOp::kAdd, x, i64(0)).id, x.id);
  EXPECT_EQ(b.op(ScalarOp::kMul, i64(1), x).id, x.id);
  EXPECT_NE(b.op(ScalarOp::kAdd, y, f64(0)).id, y.id);  // -0.0 + 0.0 is 0.0
}

TEST_F(BuilderTest, RangesDecideComparisons) {
  const auto param = [&](int64_t lo, int64_t hi) {
    return b.param(syms.symbol("r" + std::to_string(hi - lo), {lo, hi}));
  };
  const auto decided = [&](ScalarOp op, Val x, Val y) -> std::optional<bool> {
    const auto constant = b.asConstant(b.op(op, x, y));
    return constant ? std::optional(*constant != 0) : std::nullopt;
  };
  const Val small = param(2, 9), any = param(INT64_MIN, INT64_MAX), large = param(10, INT64_MAX);
  EXPECT_EQ(decided(ScalarOp::kEq, small, i64(0)), false);
  EXPECT_EQ(decided(ScalarOp::kNe, i64(10), small), true);
  EXPECT_EQ(decided(ScalarOp::kEq, small, i64(2)), std::nullopt);
  EXPECT_EQ(decided(ScalarOp::kLt, small, large), true);
  EXPECT_EQ(decided(ScalarOp::kLe, small, i64(9)), true);
  EXPECT_EQ(decided(ScalarOp::kGt, small, i64(9)), false);
  EXPECT_EQ(decided(ScalarOp::kGe, large, i64(11)), std::nullopt);
  EXPECT_EQ(decided(ScalarOp::kLt, any, i64(0)), std::nullopt);
  const Val outcome = b.op(ScalarOp::kLt, any, i64(0)), never = b.op(ScalarOp::kLt, small, i64(0));
  EXPECT_EQ(b.op(ScalarOp::kNe, never, outcome).id, outcome.id);
}

TEST_F(BuilderTest, ValuesDieWithTheirBlock) {
  Val inside;
  b.loop(i64(0), i64(2), false, false, [&](AxisId i) { inside = b.axisValue(i); });
  EXPECT_THROW(b.op(ScalarOp::kAdd, inside, inside), InternalError);
}

TEST_F(BuilderTest, VerifySeesUnsoundKernels) {
  b.loop(i64(0), i64(2), true, false, [&](AxisId i) { b.store(at(out, {{i, 8}}), f64(1)); });
  const Kernel sound = std::move(b).take();
  EXPECT_TRUE(verify(sound, syms).empty());
  Kernel k = sound;
  for (Access& a : k.accesses) a.terms.clear();
  EXPECT_FALSE(verify(k, syms).empty()) << "uniform store";
  k = sound;
  k.stmts.back().upper = ExprId(99);
  EXPECT_FALSE(verify(k, syms).empty()) << "undefined bound";
  k = sound;
  std::swap(k.body.items.front(), k.body.items.back());
  EXPECT_FALSE(verify(k, syms).empty()) << "use before definition";
  k = sound;
  k.exprs[0].dtype = DType::kF32;
  EXPECT_FALSE(verify(k, syms).empty()) << "type of bound";
}

}  // namespace
}  // namespace fw::kernels
