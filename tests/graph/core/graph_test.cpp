// Building, printing, parsing and verifying graphs.
#include <random>

#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/parser.h"
#include "graph/support/check.h"
#include "graph/verifier.h"
#include "gtest/gtest.h"

namespace fw::graph {
namespace {

ValueType arrayType(Graph& g, DType d, std::initializer_list<const char*> names) {
  ValueType t{d, {}, {}, {}};
  for (const char* name : names) {
    std::optional<SymId> s = g.syms().findSymbol(name);
    t.shape.push_back(s ? *s : g.syms().symbol(name, {1, INT64_MAX}));
  }
  t.layout = Layout::c(t.rank());
  return t;
}

std::string violations(std::string_view text, Stage stage = Stage::kCaptured) {
  absl::StatusOr<Graph> g = parse(text);
  if (!g.ok()) return std::string(g.status().message());
  std::string out;
  for (const std::string& v : verify(*g, stage)) out += (out.empty() ? "" : "\n") + v;
  return out;
}

// ---- op table

TEST(Ops, NamesAreUniqueAndFound) {
  std::vector<std::string> seen;
  for (const OpInfo& row : opTable()) {
    EXPECT_EQ(opFromText(row.text), row.op);
    std::string rest(row.numpy);
    while (!rest.empty()) {
      std::string one = rest.substr(0, rest.find('|'));
      rest.erase(0, one.size() + 1);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), one), 0) << one << " is claimed twice";
      seen.push_back(one);
      EXPECT_EQ(opFromNumpyName(one), row.op) << one;
    }
  }
  EXPECT_FALSE(opFromText("ad"));
  EXPECT_FALSE(opFromNumpyName("np.ad"));
  EXPECT_FALSE(opFromNumpyName("np.add|operator.add"));
}

// ---- scalars

TEST(Scalars, ConvertAndPrint) {
  EXPECT_EQ(Scalar::ofInt(DType::kI8, -1).lo, 0xffu);
  EXPECT_EQ(Scalar::ofInt(DType::kI8, 300).asInt(), 44);
  EXPECT_EQ(Scalar::ofInt(DType::kU64, -1).asDouble(), 18446744073709551615.0);
  EXPECT_EQ(Scalar::ofDouble(DType::kF16, 65520).asDouble(), HUGE_VAL);
  EXPECT_EQ(Scalar::ofDouble(DType::kF16, 1.0).lo, 0x3c00u);
  EXPECT_EQ(Scalar::ofComplex(DType::kC64, {1.5, -2}).asComplex(), std::complex<double>(1.5, -2));
  EXPECT_NE(Scalar::ofDouble(DType::kF64, 0.0), Scalar::ofDouble(DType::kF64, -0.0));
  EXPECT_EQ(print(Scalar::ofDouble(DType::kF32, 0.1f)), "f32(0.1)");
  EXPECT_EQ(print(Scalar::ofDouble(DType::kF64, -HUGE_VAL)), "f64(-inf)");
  EXPECT_EQ(print(Scalar{DType::kF32, 0x7fc00001, 0}), "f32(0x7fc00001)");
  EXPECT_EQ(print(Scalar::ofComplex(DType::kC128, {1, -0.0})), "c128(1, -0)");
  for (const DTypeInfo& d : kDTypes) EXPECT_EQ(Scalar::one(d.dtype).asComplex(), 1.0) << d.text;
}

// ---- building

TEST(Building, EqualPureNodesAreOne) {
  Graph g;
  ValueId a = g.input(0, arrayType(g, DType::kF32, {"s0", "s1"})),
          b = g.input(1, arrayType(g, DType::kF32, {"s0", "s1"}));
  g.setLine(3);
  ValueId sum = g.binary(Op::kAdd, a, b);
  g.setLine(4);
  EXPECT_EQ(g.binary(Op::kAdd, a, b), sum);
  EXPECT_NE(g.binary(Op::kAdd, b, a), sum);
  EXPECT_NE(g.reduce(Op::kSum, a, {0}, false), g.reduce(Op::kSum, a, {0}, true));
  EXPECT_EQ(g.constant(Scalar::one(DType::kF32)), g.constant(Scalar::one(DType::kF32)));
  EXPECT_NE(g.constant(Scalar::ofDouble(DType::kF32, 0.0)), g.constant(Scalar::ofDouble(DType::kF32, -0.0)));
  EXPECT_NE(g.input(2, g.type(a)), g.input(3, g.type(a)));
  SymShape flat{g.syms().product(g.type(a).shape)};
  EXPECT_NE(g.reshape(a, flat, false), g.reshape(a, flat, true));
  EXPECT_NE(g.reshape(a, flat, false), g.reshape(a, {flat[0], g.syms().constant(1)}, false));
  EXPECT_EQ(g.node(sum).line, 3u);
  EXPECT_TRUE(verify(g).empty());
}

TEST(Building, ErrorsNameOperandsAndTypes) {
  Graph g;
  ValueId a = g.input(0, arrayType(g, DType::kF32, {"s0"})), b = g.input(1, arrayType(g, DType::kF32, {"s1"}));
  ValueId c = g.input(2, arrayType(g, DType::kI32, {"s0"}));
  EXPECT_EQ(g.add(Op::kAdd, {a, b}).status().message(),
            "add(%0: f32[s0], %1: f32[s1]): shapes [s0] and [s1] do not provably broadcast");
  EXPECT_EQ(g.add(Op::kAdd, {a, c}).status().message(),
            "add(%0: f32[s0], %2: i32[s0]): operands differ in element type: f32 and i32");
  EXPECT_EQ(g.add(Op::kSin, {c}).status().message(), "sin(%2: i32[s0]): has no loop for i32");
  EXPECT_FALSE(g.add(Op::kAdd, {a}).ok());
  EXPECT_FALSE(g.add(Op::kSlice, {a}).ok());
  EXPECT_THROW(g.binary(Op::kAdd, a, b), InternalError);
  g.syms().assumeEqual(g.type(a).shape[0], g.type(b).shape[0]);
  EXPECT_TRUE(g.add(Op::kAdd, {a, b}).ok());
  g.canonicalizeSyms();
  EXPECT_EQ(g.type(a).shape, g.type(b).shape);
}

TEST(Building, ViewLayouts) {
  Graph g;
  SymContext& s = g.syms();
  ValueId a = g.input(0, arrayType(g, DType::kF32, {"n", "m"}));
  SymId zero = s.constant(0), one = s.constant(1), n = g.type(a).shape[0], m = g.type(a).shape[1];
  auto layout = [&](ValueId v) { return g.type(v).layout.print(); };
  EXPECT_EQ(layout(g.transpose(a, {1, 0})), "f");
  EXPECT_EQ(layout(g.slice(a, {one, zero}, {one, one}, {s.sub(n, one), m})), "c");
  EXPECT_EQ(layout(g.slice(a, {zero, one}, {one, one}, {n, s.sub(m, one)})), "c/inner");
  EXPECT_EQ(layout(g.slice(a, {zero, zero}, {one, s.constant(2)}, {n, s.floorDiv(m, s.constant(2))})), "c/strided");
  EXPECT_EQ(layout(g.slice(a, {s.sub(n, one), zero}, {s.constant(-1), one}, {n, m})), "c/neg(0)");
  ValueId row = g.slice(a, {zero, zero}, {one, one}, {one, m}), column = g.slice(a, {zero, zero}, {one, one}, {n, one});
  EXPECT_EQ(layout(row), "c");
  EXPECT_EQ(layout(g.squeeze(column, {1})), "c/strided");
  EXPECT_EQ(layout(g.expand(g.transpose(a, {1, 0}), {1})), "f");
  EXPECT_EQ(layout(g.expand(a, {2})), "c");
  EXPECT_EQ(layout(g.broadcastTo(row, {n, m})), "c/bcast(0)");
  EXPECT_EQ(layout(g.broadcastTo(a, {s.symbol("k", {1, 9}), n, m})), "c/bcast(0)");
  EXPECT_EQ(layout(g.reshape(a, {s.mul(n, m)}, false)), "c");
  EXPECT_EQ(layout(g.reshape(g.transpose(a, {1, 0}), {s.mul(n, m)}, true)), "c");
  EXPECT_EQ(layout(g.reshape(g.transpose(a, {1, 0}), {m, one, n}, false)), "perm(2,0,1)");
}

TEST(Building, ViewsOfAxesOfOneStride) {
  Graph g;
  SymContext& s = g.syms();
  ValueType type = arrayType(g, DType::kF64, {"n", "m", "k"});
  type.layout = *Layout::parse("perm(0,2,1)/strided/tied(2)", 3);
  const ValueId a = g.input(0, type);
  const SymId zero = s.constant(0), one = s.constant(1), two = s.constant(2);
  const auto layout = [&](ValueId v) { return g.type(v).layout.print(); };
  const auto part = [&](const SymList& steps, const SymShape& shape) {
    return g.slice(a, {zero, zero, zero}, steps, shape);
  };
  EXPECT_EQ(layout(g.transpose(a, {2, 1, 0})), "perm(0,2,1)/strided/tied(2)");
  EXPECT_EQ(layout(g.transpose(a, {1, 2, 0})), "perm(1,2,0)/strided/tied(2)");
  EXPECT_EQ(layout(g.expand(a, {0})), "perm(0,1,3,2)/strided/tied(3)");
  EXPECT_EQ(layout(part({one, two, s.constant(-1)}, type.shape)), "perm(0,2,1)/strided/neg(2)/tied(2)");
  EXPECT_EQ(layout(part({two, one, two}, type.shape)), "perm(0,2,1)/strided/tied(2)");
  EXPECT_EQ(layout(part({one, one, two}, type.shape)), "perm(2,0,1)/strided/interleaved");
  EXPECT_EQ(layout(part({two, one, one}, type.shape)), "perm(0,2,1)/strided/interleaved");
  EXPECT_EQ(layout(part({one, one, two}, {one, type.shape[1], type.shape[2]})), "perm(0,2,1)/strided");
  EXPECT_EQ(layout(g.unary(Op::kNegative, a)), "perm(0,2,1)");
}

// ---- text

TEST(Text, RoundTripOfEveryFeature) {
  const char* text = R"(graph(s0: [1, inf], s1: [0, 100], i0: [-inf, inf]) {
  %0 = input() {index=0} : f32[s0, s1] layout=f/inner/neg(1)
  %1 = input() {index=1} : f32[s0, s1]
  %2 = add(%0, %1) : f32[s0, s1] line=7
  %3 = sum(%2) {axes=[1], keepdims=0} : f32[s0] line=8
  %4 = constant() {value=f32(1e-45)} : f32
  %5 = constant() {value=c64(1.5, -inf)} : c64
  %6 = sym() {expr=s0*s1 + i0//3 + min(s0, s1)} : i64
  %7 = slice(%3) {starts=[0], steps=[2]} : f32[(s0 + 1)//2]
  %8 = constant() {value=bool(true)} : bool
  %9 = loop(%3) {trip=s0} : (f32[s0]) line=9 {
    %0 = input() {index=0} : f32[s0]
    %1 = constant() {value=bool(false)} : bool
    %2 = multiply(%0, %0) : f32[s0]
    return %1, %2
  }
  %10 = project(%9) {index=0} : f32[s0]
  %11 = cond(%8, %0, %1) : (f32[s0, s1] layout=f, f32[s0, s1]) {
    %0 = input() {index=0} : f32[s0, s1] layout=perm(1,0)
    %1 = input() {index=1} : f32[s0, s1]
    return %0, %1
  } {
    %0 = input() {index=1} : f32[s0, s1]
    return %0, %0
  }
  return %10, %7
}
)";
  absl::StatusOr<Graph> g = parse(text);
  ASSERT_TRUE(g.ok()) << g.status();
  std::string printed = print(*g);
  absl::StatusOr<Graph> again = parse(printed);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(print(*again), printed);
  EXPECT_EQ(verify(*g), std::vector<std::string>());
  // What the printer writes is what was read, but for the spelling of a layout.
  std::string expected = text;
  expected.replace(expected.find("perm(1,0)"), 9, "f");
  EXPECT_EQ(printed, expected);
}

TEST(Text, ErrorsHavePositions) {
  const char* cases[][2] = {
      {"", "1:1: 'graph' expected"},
      {"graph() {\n  %1 = sym() : i64\n  return\n}", "2:3: %0 comes next"},
      {"graph() {\n  %0 = foo() : i64\n  return\n}", "2:8: unknown operation foo"},
      {"graph() {\n  %0 = add(%0, %0) : i64\n  return\n}", "2:12: %0 is not defined yet"},
      {"graph() {\n  %0 = sym() {expr=s0} : i64\n  return\n}", "2:20: in expression, at 1: unknown symbol s0"},
      {"graph() {\n  %0 = sym() {size=3} : i64\n  return\n}", "2:15: unknown attribute size"},
      {"graph() {\n  %0 = input() {index=0} : f99\n  return\n}", "2:28: unknown element type"},
      {"graph() {\n  %0 = constant() {value=i8(200)} : i8\n  return\n}", "2:32: out of range for i8"},
      {"graph(a: [1, 2], a: [1, 2]) {\n  return\n}", "1:18: symbol a exists already"},
      {"graph(a: [3, 2]) {\n  return\n}", "1:7: the range of a is empty"},
      {"graph() {\n  return\n} x", "3:3: text after the graph"},
      {"graph() {\n  %0 = input() {index=0} : f32[2, 3] layout=perm(0)\n  return\n}", "2:45: no layout of rank 2"},
  };
  for (auto& [text, expected] : cases) EXPECT_EQ(std::string(parse(text).status().message()), expected) << text;
}

/// Random graphs: every op whose operands can be found, with random attributes.
Graph randomGraph(uint32_t seed) {
  std::mt19937 engine(seed);
  auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(engine); };
  Graph g;
  constexpr DType kTypes[] = {DType::kBool, DType::kI8,  DType::kI64, DType::kU64,
                              DType::kF16,  DType::kF32, DType::kF64, DType::kC64};
  for (int i = 0; i < 4; ++i) {
    ValueType t = i == 3 ? arrayType(g, kTypes[pick(8)], {}) : arrayType(g, kTypes[pick(8)], {"s0", "s1"});
    if (t.rank() == 2 && pick(2)) t.layout = Layout::f(2);
    g.input(i, t);
  }
  g.constant(Scalar{DType::kF32, engine(), 0});
  g.constant(Scalar{DType::kC128, uint64_t{engine()} << 32 | engine(), uint64_t{engine()} << 32 | engine()});
  g.constant(Scalar{DType::kF16, engine() & 0xffff, 0});
  for (int step = 0; step < 60; ++step) {
    g.setLine(static_cast<uint32_t>(pick(5)));
    const OpInfo& row = opTable()[pick(opTable().size())];
    std::vector<ValueId> operands;
    for (int k = 0; k < (row.arity < 0 ? 2 : row.arity); ++k) operands.push_back(ValueId(pick(g.size())));
    Attrs attrs;
    int rank = operands.empty() ? 0 : g.type(operands[0]).rank();
    IntList axes;
    for (int a = 0; a < rank; ++a) {
      if (pick(2)) axes.push_back(a);
    }
    if (row.cls == OpClass::kReduction) attrs.set(AttrKey::kAxes, axes).set(AttrKey::kKeepdims, int64_t(pick(2)));
    if (row.op == Op::kExpand) attrs.set(AttrKey::kAxes, IntList{int64_t(pick(static_cast<size_t>(rank) + 1))});
    if (row.op == Op::kTranspose && rank == 2) attrs.set(AttrKey::kPerm, IntList{1, 0});
    if (row.op == Op::kConcatenate && rank > 0) attrs.set(AttrKey::kAxis, int64_t(pick(static_cast<size_t>(rank))));
    if (row.op == Op::kCast) {
      g.cast(operands[0], kTypes[pick(8)]);
    } else if (!operands.empty()) {
      (void)g.add(row.op, operands, attrs).ok();
    }
  }
  g.outputs() = {ValueId(g.size() - 1), ValueId(pick(g.size()))};
  return g;
}

TEST(Text, RandomGraphsRoundTripAndVerify) {
  size_t nodes = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Graph g = randomGraph(seed);
    nodes += g.size();
    std::string text = print(g);
    absl::StatusOr<Graph> again = parse(text);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    EXPECT_EQ(print(*again), text);
    EXPECT_EQ(verify(*again), std::vector<std::string>()) << text;
  }
  EXPECT_GT(nodes, 200 * 15u);
}

// ---- verifier

std::string body(const std::string& lines) { return "graph(s0: [1, inf], s1: [1, inf]) {\n" + lines + "\n}\n"; }
const std::string kTwo = "%0 = input() {index=0} : f32[s0] %1 = input() {index=1} : f32[s1]\n";

TEST(Verifier, NamesWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"%2 = add(%0, %1) : f32[s0] return %2", "%2 = add: shapes [s0] and [s1] do not provably broadcast"},
      {"%2 = add(%0, %0) : f64[s0] return %2", "%2 = add: has type f64[s0], not f32[s0]"},
      {"%2 = add(%0, %0) : f32[s1] return %2", "%2 = add: has type f32[s1], not f32[s0]"},
      {"%2 = add(%0) : f32[s0] return %2", "%2 = add: takes 2 operands, not 1"},
      {"%2 = sum(%0) {axes=[0]} : f32 return %2", "%2 = sum: attribute keepdims is missing"},
      {"%2 = sum(%0) {axes=[1], keepdims=0} : f32 return %2", "%2 = sum: axis 1 is out of range"},
      {"%2 = bitwise_and(%0, %0) : f32[s0] return %2", "%2 = bitwise_and: has no loop for f32"},
      {"%2 = slice(%0) {starts=[0], steps=[0]} : f32[s0] return %2", "%2 = slice: the sign of step 0 is not known"},
      {"%2 = reshape(%0) : f32[s0 + 1] return %2", "%2 = reshape: cannot reshape [s0] to [s0 + 1]"},
      {"%2 = broadcast(%0) : f32[s0, s1] return %2", "%2 = broadcast: [s0] does not broadcast to [s0, s1]"},
      {"%2 = squeeze(%0) {axes=[0]} : f32 return %2", "%2 = squeeze: axis 0 of size s0 is not 1"},
      {"%2 = input() {index=2} : i64[s1] %3 = gather(%0, %2) {axes=[0], axis=0} : f32[s1] return %3", ""},
      {"%2 = gather(%0, %1) {axes=[0], axis=0} : f32[s1] return %2", "%2 = gather: an index is not i64"},
      {"%2 = gather(%0) {axes=[0], axis=0} : f32 return %2", "%2 = gather: takes an index for each gathered axis"},
      {"%2 = input() {index=2} : i64[s1] %3 = gather(%0, %2) {axes=[1], axis=0} : f32[s1] return %3",
       "%3 = gather: axes are out of range"},
      {"%2 = input() {index=2} : i64[s1] %3 = gather(%0, %2) {axes=[0], axis=1} : f32[s1] return %3",
       "%3 = gather: axis is out of range"},
      {"%2 = input() {index=2} : i64[s1] %3 = slice(%0) {starts=[1], steps=[1]} : f32[s0 + -1] "
       "%4 = gather(%3, %2) {axes=[0], axis=0} : f32[s1] return %4",
       "%4 = gather: a gathered axis may have no elements"},
      {"%2 = input() {index=1} : f32 return %2", "%2 = input: input 1 exists twice"},
      {"%2 = cond(%0) : (f32) return %2", "%2 = cond: has 0 regions, not 2"},
      {"%2 = loop(%0) : (f32[s0]) { %0 = input() {index=0} : f32[s0] return %0, %0 } return %2",
       "%2 = loop: the body's first result is no bool scalar"},
      {"%2 = loop(%1) : (f32[s0]) { %0 = input() {index=0} : f32[s0] %1 = constant() {value=bool(true)} : bool return "
       "%1, %0 } return %2",
       "%2 = loop: region 0: input 0 is f32[s0], the operand f32[s1]"},
      {"%2 = add(%0, %0) : f32[s0] return %2", ""},
  };
  for (const auto& [lines, expected] : cases) EXPECT_EQ(violations(body(kTwo + lines)), expected) << lines;
}

TEST(Verifier, CollectsEverythingAndKnowsStages) {
  EXPECT_EQ(violations(body(kTwo + "%2 = add(%0, %0) : f64[s0] %3 = sin(%1) : f32 return %2")),
            "%2 = add: has type f64[s0], not f32[s0]\n%3 = sin: has type f32, not f32[s1]");
  std::string square = body(kTwo + "%2 = square(%0) : f32[s0] return %2");
  EXPECT_EQ(violations(square), "");
  EXPECT_EQ(violations(square, Stage::kDecomposed), "%2 = square: must have been decomposed");
}

TEST(Verifier, OperandsMustComeEarlier) {
  Graph g;
  ValueId a = g.input(0, arrayType(g, DType::kF32, {"s0"}));
  ValueId b = g.unary(Op::kSin, a), c = g.unary(Op::kCos, b);
  g.mutableNode(b).operands[0] = c;
  g.outputs() = {ValueId(size_t{9})};
  EXPECT_EQ(verify(g), (std::vector<std::string>{"%1 = sin: operand %2 comes later", "output %9 does not exist"}));
}

}  // namespace
}  // namespace fw::graph
