// Layouts of results against NumPy's: layouts.golden is written by gen_layouts.py from what NumPy allocates.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "graph/infer.h"
#include "graph/views.h"
#include "gtest/gtest.h"

namespace fw::graph {
namespace {

struct Array {
  std::vector<int64_t> shape, strides;
  char mark = 0;  // 0, '~' (8 bytes, converted) or '?' (bool)
};

std::vector<int64_t> parseList(const std::string& text, char separator) {
  std::vector<int64_t> values;
  std::stringstream in(text);
  for (std::string item; std::getline(in, item, separator);) {
    if (item != "-") values.push_back(std::stoll(item));
  }
  return values;
}

Array parseArray(std::string text) {
  Array a;
  if (text[0] == '~' || text[0] == '?') {
    a.mark = text[0];
    text.erase(0, 1);
  }
  size_t colon = text.find(':');
  a.shape = parseList(text.substr(0, colon), 'x');
  a.strides = parseList(text.substr(colon + 1), ',');
  if (text.substr(colon + 1) == "-") a.strides.clear();
  return a;
}

/// The layout that describes these strides, as capture finds it on an array.
ValueType typeOf(SymContext& syms, const Array& a) {
  ValueType t{a.mark == '~' ? DType::kF64 : a.mark == '?' ? DType::kBool : DType::kF32, {}, {}, {}};
  auto rank = static_cast<int>(a.shape.size());
  t.layout = Layout::c(rank);
  t.layout.contiguity = Contiguity::kStrided;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    t.shape.push_back(syms.constant(a.shape[i]));
    if (a.shape[i] == 1) continue;
    if (a.strides[i] == 0) t.layout.broadcastAxes |= 1u << i;
    if (a.strides[i] < 0) t.layout.negativeAxes |= 1u << i;
  }
  std::stable_sort(t.layout.order.begin(), t.layout.order.end(), [&](int8_t x, int8_t y) {
    return std::abs(a.strides[static_cast<size_t>(x)]) > std::abs(a.strides[static_cast<size_t>(y)]);
  });
  return t;
}

struct Case {
  std::string op;
  Attrs attrs;
  std::vector<Array> operands;
  Array result;
};

IntList axesOf(const std::string& text) {
  IntList axes;
  for (int64_t i : parseList(text, ',')) axes.push_back(i);
  return axes;
}

Case parseCase(const std::string& line) {
  Case c;
  std::stringstream in(line);
  in >> c.op;
  bool inAttrs = true, afterArrow = false;
  for (std::string word; in >> word;) {
    if (inAttrs) {
      inAttrs = word.back() != '}';
      std::erase_if(word, [](char ch) { return ch == '{' || ch == '}'; });
      size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      std::string key = word.substr(0, equals), value = word.substr(equals + 1);
      if (key == "axes") c.attrs.set(AttrKey::kAxes, axesOf(value));
      if (key == "keepdims") c.attrs.set(AttrKey::kKeepdims, int64_t{std::stoll(value)});
      if (key == "axis") c.attrs.set(AttrKey::kAxis, int64_t{std::stoll(value)});
    } else if (word == "->") {
      afterArrow = true;
    } else if (afterArrow) {
      c.result = parseArray(word);
    } else {
      c.operands.push_back(parseArray(word));
    }
  }
  return c;
}

/// Strides in elements along axes longer than 1; those of axes of size 1 mean nothing.
std::vector<int64_t> comparable(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t unit = INT64_MAX;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) unit = std::min(unit, strides[i]);
  }
  std::vector<int64_t> out;
  for (size_t i = 0; i < shape.size(); ++i) out.push_back(shape[i] > 1 ? strides[i] / unit : 0);
  return out;
}

std::vector<int64_t> predicted(SymContext& syms, const Case& c) {
  Op op = *opFromText(c.op);
  std::vector<ValueType> types;
  for (const Array& a : c.operands) types.push_back(typeOf(syms, a));
  // Conversions happen in buffers: the layouts that count are those of the operands as they are.
  for (size_t i = op == Op::kWhere ? 1 : 0; i < types.size(); ++i) types[i].dtype = DType::kF64;
  std::vector<const ValueType*> pointers;
  for (const ValueType& t : types) pointers.push_back(&t);
  ValueType given{DType::kI32, types[0].shape, {}, {}};
  absl::StatusOr<ValueType> t = completeType(syms, op, pointers, c.attrs, given);
  EXPECT_TRUE(t.ok()) << t.status();
  std::vector<int64_t> strides;
  if (!t.ok()) return strides;
  EXPECT_EQ(t->layout.contiguity, Contiguity::kPacked);
  for (SymId s : packedStrides(syms, t->shape, t->layout, t->dtype)) strides.push_back(*syms.asConst(s));
  return strides;
}

TEST(Layouts, ResultsAreLaidOutLikeNumPys) {
  std::ifstream golden(FW_TEST_DATA "/layouts.golden");
  ASSERT_TRUE(golden) << "layouts.golden is missing";
  int cases = 0;
  for (std::string line; std::getline(golden, line); ++cases) {
    SymContext syms;
    Case c = parseCase(line);
    ASSERT_TRUE(opFromText(c.op)) << line;
    EXPECT_EQ(comparable(c.result.shape, predicted(syms, c)), comparable(c.result.shape, c.result.strides)) << line;
  }
  EXPECT_GT(cases, 900);
}

TEST(Layouts, TextRoundTrip) {
  Layout l = Layout::c(3);
  EXPECT_EQ(l.print(), "c");
  l.order = {1, 0, 2};
  l.contiguity = Contiguity::kInner;
  l.broadcastAxes = 0b100;
  l.negativeAxes = 0b011;
  EXPECT_EQ(l.print(), "perm(1,0,2)/inner/bcast(2)/neg(0,1)");
  EXPECT_EQ(Layout::parse(l.print(), 3), l);
  EXPECT_EQ(Layout::parse("f/strided", 2)->contiguity, Contiguity::kStrided);
  EXPECT_EQ(Layout::parse("f/strided", 2)->order, Layout::f(2).order);
  EXPECT_EQ(Layout::parse("c/inner/tied(1)/interleaved", 2)->print(), "c/inner/tied(1)/interleaved");
  for (const char* bad :
       {"", "d", "perm(0)", "perm(0,0)", "perm(0,2)", "c/neg", "c/neg(2)", "c/inne", "perm(0,1", "perm(0,)"}) {
    EXPECT_FALSE(Layout::parse(bad, 2)) << bad;
  }
}

}  // namespace
}  // namespace fw::graph
