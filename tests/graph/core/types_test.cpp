// Type resolution against NumPy's: types.golden is written by gen_types.py from what NumPy answers.
#include <fstream>
#include <sstream>

#include "graph/infer.h"
#include "graph/numpy_types.h"
#include "gtest/gtest.h"

namespace fw::graph {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::stringstream in(text);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

OperandType operandOf(const std::string& name) {
  if (name == "int") return {DType::kI64, Weak::kInt};
  if (name == "float") return {DType::kF64, Weak::kFloat};
  if (name == "complex") return {DType::kC128, Weak::kComplex};
  return {*dtypeFromText(name), Weak::kNo};
}

/// "bb>b" as the golden writes it, "!" for a TypeError, "" where we decline.
std::string answer(Op op, const std::vector<OperandType>& operands) {
  absl::StatusOr<UfuncSignature> s = resolveUfunc(op, operands);
  if (!s.ok()) return s.status().code() == absl::StatusCode::kUnimplemented ? "" : "!";
  std::string out;
  for (DType d : s->inputs) out += info(d).numpyChar;
  return out + ">" + info(s->output).numpyChar;
}

class Golden {
 public:
  Golden() : file_(FW_TEST_DATA "/types.golden") {}

  void run() {
    ASSERT_TRUE(file_) << "types.golden is missing";
    for (std::string line; std::getline(file_, line);) {
      std::vector<std::string> w = words(line);
      ASSERT_FALSE(w.empty());
      if (w[0] == "order:") {
        order_.assign(w.begin() + 1, w.end());
      } else if (w[0] == "ufunc") {
        arity_ = std::stoi(w[1]);
        ops_.assign(w.begin() + 2, w.end());
      } else if (w[0] == "reduce") {
        checkReduction(w);
      } else if (w[0] == "where") {
        checkWhere(w);
      } else if (w[0] == "pair") {
        checkPairs(w);
      } else {
        checkUfuncs(w);
      }
    }
  }

  int cells() const { return cells_; }
  int declined() const { return declined_; }

 private:
  void checkUfuncs(const std::vector<std::string>& w) {
    size_t head = static_cast<size_t>(arity_ - 1);
    ASSERT_EQ(w.size(), head + order_.size());
    for (const std::string& text : ops_) {
      for (size_t i = 0; i < order_.size(); ++i) {
        std::vector<OperandType> operands;
        for (size_t k = 0; k < head; ++k) operands.push_back(operandOf(w[k]));
        operands.push_back(operandOf(order_[i]));
        std::string ours = answer(*opFromText(text), operands);
        ++cells_;
        declined_ += ours.empty();
        if (ours.empty()) continue;
        EXPECT_EQ(ours, w[head + i]) << text << " of " << (head ? w[0] : "") << (head > 1 ? " " + w[1] : "") << " "
                                     << order_[i];
      }
    }
  }

  void checkReduction(const std::vector<std::string>& w) {
    std::string text = w[1].substr(0, w[1].size() - 1);
    for (size_t i = 2; i < w.size(); ++i) {
      size_t arrow = w[i].find('>');
      absl::StatusOr<ReductionTypes> t = resolveReduction(*opFromText(text), *dtypeFromText(w[i].substr(0, arrow)), {});
      std::string ours = t.ok() ? std::string(1, info(t->output).numpyChar) : "!";
      EXPECT_EQ(ours, w[i].substr(arrow + 1)) << text << " " << w[i];
      ++cells_;
    }
  }

  void checkWhere(const std::vector<std::string>& w) {
    OperandType x = operandOf(w[1].substr(0, w[1].size() - 1));
    for (size_t i = 0; i < order_.size(); ++i) {
      std::string ours = answer(Op::kWhere, {{DType::kBool}, x, operandOf(order_[i])});
      EXPECT_EQ(ours.back(), w[i + 2][0]) << "where " << w[1] << " " << order_[i];
    }
  }

  void checkPairs(const std::vector<std::string>& w) {
    DType a = *dtypeFromText(w[1].substr(0, w[1].size() - 1));
    for (int i = 0; i < kNumDTypes; ++i) {
      DType b = kDTypes[i].dtype;
      std::string ours{info(promote(a, b)).numpyChar, canCastSafely(a, b) ? '1' : '0',
                       canCastSameKind(a, b) ? '1' : '0'};
      EXPECT_EQ(ours, w[static_cast<size_t>(i) + 2]) << "pair " << w[1] << " " << kDTypes[i].text;
    }
  }

  std::ifstream file_;
  int arity_ = 0, cells_ = 0, declined_ = 0;
  std::vector<std::string> ops_, order_;
};

TEST(Types, AgreeWithNumPy) {
  Golden golden;
  golden.run();
  EXPECT_GT(golden.cells(), 12000);
  // Declined are only the comparisons: u64 with signed integers either way round, and of two Python integers.
  EXPECT_EQ(golden.declined(), 6 * (2 * 4 + 1));
}

TEST(Types, LoopsAcceptWhatTheyResolveTo) {
  for (const OpInfo& row : opTable()) {
    if (row.cls != OpClass::kElementwise || row.loops == Loops::kNone) continue;
    for (const DTypeInfo& d : kDTypes) {
      std::vector<OperandType> operands(static_cast<size_t>(row.arity), OperandType{d.dtype});
      absl::StatusOr<UfuncSignature> s = resolveUfunc(row.op, operands);
      EXPECT_EQ(s.ok() && s->inputs[0] == d.dtype, loopAccepts(row.op, d.dtype)) << row.text << " " << d.text;
      EXPECT_TRUE(!s.ok() || loopAccepts(row.op, s->inputs[0])) << row.text << " " << d.text;
    }
  }
}

// ---- addUfunc

class AddUfunc : public testing::Test {
 protected:
  ValueId array(DType d, SymShape shape, std::string_view layout = "c") {
    ValueType t{d, shape, *Layout::parse(layout, static_cast<int>(shape.size())), {}};
    return g.input(inputs++, t);
  }
  SymId dim(const char* name) { return g.syms().symbol(name, {1, INT64_MAX}); }
  std::string typeText(absl::StatusOr<ValueId> v) {
    return v.ok() ? print(g.syms(), g.type(*v)) : std::string(v.status().message());
  }

  Graph g;
  int inputs = 0;
};

TEST_F(AddUfunc, CastsAndBroadcasts) {
  SymId n = dim("n"), m = dim("m");
  ValueId a = array(DType::kF32, {n, m}), b = array(DType::kI16, {m});
  absl::StatusOr<ValueId> c = addUfunc(g, Op::kAdd, {{a}, {b}});
  EXPECT_EQ(typeText(c), "f32[n, m]");
  EXPECT_EQ(g.node(g.node(*c).operands[1]).op, Op::kCast);
  EXPECT_EQ(typeText(addUfunc(g, Op::kLess, {{a}, {b}})), "bool[n, m]");
  EXPECT_NE(typeText(addUfunc(g, Op::kAdd, {{a}, {array(DType::kF32, {n})}})).find("do not provably broadcast"),
            std::string::npos);
}

TEST_F(AddUfunc, ResultOrderComesFromUnconvertedOperands) {
  SymId n = dim("n"), m = dim("m");
  // A broadcast f32 row does not vote, and its conversion to f64 does not make it vote.
  ValueId row = g.broadcastTo(array(DType::kF32, {m}), {n, m}), f = array(DType::kF64, {n, m}, "f");
  EXPECT_EQ(typeText(addUfunc(g, Op::kAdd, {{row}, {f}})), "f64[n, m] layout=f");
}

TEST_F(AddUfunc, WeakConstantsTakeTheArraysType) {
  ValueId a = array(DType::kU8, {dim("n")});
  ValueId two = g.constant(Scalar::ofInt(DType::kI64, 2)), big = g.constant(Scalar::ofInt(DType::kI64, 300));
  absl::StatusOr<ValueId> sum = addUfunc(g, Op::kAdd, {{a}, {two, Weak::kInt}});
  EXPECT_EQ(typeText(sum), "u8[n]");
  EXPECT_EQ(print(g.node(g.node(*sum).operands[1]).attrs.scalar(AttrKey::kValue)), "u8(2)");
  absl::StatusOr<ValueId> wrong = addUfunc(g, Op::kAdd, {{a}, {big, Weak::kInt}});
  EXPECT_EQ(wrong.status().message(), "Python integer 300 out of bounds for u8");
  EXPECT_EQ(addUfunc(g, Op::kLess, {{a}, {big, Weak::kInt}}).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(AddUfunc, WeakRuntimeIntegersMustBeKnownToFit) {
  ValueId a = array(DType::kI8, {dim("n")});
  ValueId small = g.sym(g.syms().symbol("i", {0, 100})), any = g.sym(g.syms().symbol("j", {}));
  EXPECT_EQ(typeText(addUfunc(g, Op::kMultiply, {{a}, {small, Weak::kInt}})), "i8[n]");
  EXPECT_EQ(addUfunc(g, Op::kMultiply, {{a}, {any, Weak::kInt}}).status().code(), absl::StatusCode::kUnimplemented);
  ValueId f = array(DType::kF32, {});
  absl::StatusOr<ValueId> p = addUfunc(g, Op::kMultiply, {{f}, {any, Weak::kInt}});
  ASSERT_TRUE(p.ok());
  ValueId narrowed = g.node(*p).operands[1];
  EXPECT_EQ(g.type(g.node(narrowed).operands[0]).dtype, DType::kF64) << "rounded by way of double, as NumPy does";
}

TEST_F(AddUfunc, WeakFloatsThatOverflowAreDeclined) {
  ValueId a = array(DType::kF32, {});
  ValueId huge = g.constant(Scalar::ofDouble(DType::kF64, 1e300));
  EXPECT_EQ(addUfunc(g, Op::kAdd, {{a}, {huge, Weak::kFloat}}).status().code(), absl::StatusCode::kUnimplemented);
  ValueId inf = g.constant(Scalar::ofDouble(DType::kF64, HUGE_VAL));
  EXPECT_EQ(typeText(addUfunc(g, Op::kAdd, {{a}, {inf, Weak::kFloat}})), "f32");
}

}  // namespace
}  // namespace fw::graph
