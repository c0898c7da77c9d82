// Reader of the text form. One pass over the characters; expressions and layouts are cut out and given to their own
// parsers. Types are taken as written (the verifier checks them), so that goldens can hold graphs that inference
// would not make.
#include "graph/parser.h"

#include <cctype>
#include <charconv>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "graph/rank.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

/// Thrown inside this file only; parse() turns it into a Status.
struct SyntaxError {
  size_t at;
  std::string what;
};

class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : text_(text) {}

  Graph run() {
    Graph graph;
    expect("graph");
    expect("(");
    parseSymbols(graph.syms());
    expect(")");
    parseBody(graph);
    skip();
    if (at_ != text_.size()) fail("text after the graph");
    return graph;
  }

 private:
  // ---- characters and tokens

  [[noreturn]] void fail(const std::string& what) const { throw SyntaxError{at_, what}; }
  [[noreturn]] void failAt(size_t at, const std::string& what) const { throw SyntaxError{at, what}; }

  /// White space and comments from # to the end of the line.
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  bool peek(std::string_view token) {
    skip();
    return text_.substr(at_, token.size()) == token;
  }
  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail("'" + std::string(token) + "' expected");
  }

  static bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  std::string_view word(std::string_view what) {
    skip();
    size_t end = at_;
    while (end < text_.size() && isWordChar(text_[end])) ++end;
    if (end == at_) fail(std::string(what) + " expected");
    std::string_view w = text_.substr(at_, end - at_);
    at_ = end;
    return w;
  }

  template <class T>
  T number() {
    skip();
    T v{};
    auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (problem != std::errc()) fail("number expected");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }

  // ---- symbols and expressions

  int64_t bound() {
    if (accept("-inf")) return INT64_MIN;
    if (accept("inf")) return INT64_MAX;
    return number<int64_t>();
  }

  void parseSymbols(SymContext& syms) {
    if (peek(")")) return;
    do {
      size_t start = (skip(), at_);
      std::string name(word("symbol"));
      if (std::isdigit(static_cast<unsigned char>(name[0])) || name == "min" || name == "max" || name == "inf") {
        failAt(start, "a symbol cannot be called " + name);
      }
      if (syms.findSymbol(name)) failAt(start, "symbol " + name + " exists already");
      expect(":");
      expect("[");
      SymRange range;
      range.lo = bound();
      expect(",");
      range.hi = bound();
      expect("]");
      if (range.lo > range.hi) failAt(start, "the range of " + name + " is empty");
      syms.symbol(std::move(name), range);
    } while (accept(","));
  }

  /// Text up to a ',' or closing bracket of this level.
  SymId expression(SymContext& syms) {
    skip();
    size_t start = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (depth == 0 && (c == ',' || c == ')' || c == ']' || c == '}' || c == '\n')) break;
      if (c == '(') ++depth;
      if (c == ')') --depth;
    }
    absl::StatusOr<SymId> id = syms.parse(text_.substr(start, at_ - start));
    if (!id.ok()) failAt(start, "in expression, at " + std::string(id.status().message()));
    return *id;
  }

  // ---- scalars

  uint64_t realBits(DType d) {
    skip();
    if (accept("0x")) {
      uint64_t bits = 0;
      auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), bits, 16);
      if (problem != std::errc()) fail("hexadecimal digits expected");
      at_ = static_cast<size_t>(end - text_.data());
      return bits;
    }
    // f32 is read as float, because rounding twice may give another value.
    if (d == DType::kF32) return Scalar::ofDouble(d, number<float>()).lo;
    return Scalar::ofDouble(d, number<double>()).lo;
  }

  DType dtype() {
    size_t start = (skip(), at_);
    std::optional<DType> d = dtypeFromText(word("element type"));
    if (!d) failAt(start, "unknown element type");
    return *d;
  }

  Scalar scalar() {
    DType d = dtype();
    expect("(");
    Scalar v{d, 0, 0};
    if (d == DType::kBool) {
      bool yes = accept("true");
      if (!yes) expect("false");
      v = Scalar::ofBool(yes);
    } else if (d == DType::kU64) {
      v.lo = number<uint64_t>();
    } else if (isInteger(d)) {
      int64_t i = number<int64_t>();
      v = Scalar::ofInt(d, i);
      if (v.asInt() != i) fail("out of range for " + std::string(name(d)));
    } else if (isFloat(d)) {
      v.lo = realBits(d);
    } else {
      uint64_t real = realBits(realOf(d));
      expect(",");
      uint64_t imaginary = realBits(realOf(d));
      v = d == DType::kC128 ? Scalar{d, real, imaginary} : Scalar{d, real | imaginary << 32, 0};
    }
    expect(")");
    return v;
  }

  // ---- attributes and types

  template <class List, class F>
  List list(F element) {
    List items;
    expect("[");
    if (accept("]")) return items;
    do {
      items.push_back(element());
    } while (accept(","));
    expect("]");
    return items;
  }

  /// Nothing is escaped: names of functions.
  std::string quoted() {
    expect("\"");
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) fail("no closing quotation mark");
    std::string text(text_.substr(at_, end - at_));
    at_ = end + 1;
    return text;
  }

  AttrValue attribute(SymContext& syms, AttrKind kind) {
    switch (kind) {
      case AttrKind::kInt: return number<int64_t>();
      case AttrKind::kSym: return expression(syms);
      case AttrKind::kScalar: return scalar();
      case AttrKind::kInts: return list<IntList>([this] { return number<int64_t>(); });
      case AttrKind::kText: return quoted();
      case AttrKind::kSyms: return list<SymList>([this, &syms] { return expression(syms); });
    }
    FW_UNREACHABLE();
  }

  Attrs attributes(SymContext& syms) {
    Attrs attrs;
    if (!accept("{")) return attrs;
    do {
      size_t start = (skip(), at_);
      std::string_view text = word("attribute");
      const AttrInfo* found = nullptr;
      for (const AttrInfo& row : kAttrs) {
        if (row.text == text) found = &row;
      }
      if (found == nullptr) failAt(start, "unknown attribute " + std::string(text));
      if (attrs.has(found->key)) failAt(start, "attribute " + std::string(text) + " is given twice");
      expect("=");
      attrs.set(found->key, attribute(syms, found->kind));
    } while (accept(","));
    expect("}");
    return attrs;
  }

  ValueType type(SymContext& syms) {
    ValueType t;
    if (accept("(")) {
      do {
        t.tuple.push_back(type(syms));
      } while (accept(","));
      expect(")");
      return t;
    }
    t.dtype = dtype();
    if (at_ < text_.size() && text_[at_] == '[') t.shape = list<SymShape>([this, &syms] { return expression(syms); });
    t.layout = Layout::c(t.rank());
    if (accept("layout=")) {
      size_t start = at_;
      int depth = 0;  // a comma or ')' outside the layout's own parentheses belongs to a tuple
      for (; at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_])); ++at_) {
        if (text_[at_] == '(') ++depth;
        if (depth == 0 && (text_[at_] == ')' || text_[at_] == ',')) break;
        if (text_[at_] == ')') --depth;
      }
      std::optional<Layout> layout = Layout::parse(text_.substr(start, at_ - start), t.rank());
      if (!layout) failAt(start, "no layout of rank " + std::to_string(t.rank()));
      t.layout = *layout;
    }
    return t;
  }

  // ---- nodes

  ValueId value(const Graph& graph) {
    size_t start = (skip(), at_);
    expect("%");
    auto index = number<uint32_t>();
    if (index >= graph.size()) failAt(start, "%" + std::to_string(index) + " is not defined yet");
    return ValueId(static_cast<size_t>(index));
  }

  void parseNode(Graph& graph) {
    if (++depth_ > 100) fail("regions are nested too deeply");
    size_t start = (skip(), at_);
    expect("%");
    if (number<uint32_t>() != graph.size()) failAt(start, "%" + std::to_string(graph.size()) + " comes next");
    expect("=");
    start = (skip(), at_);
    std::string_view text = word("operation");
    std::optional<Op> op = opFromText(text);
    if (!op) failAt(start, "unknown operation " + std::string(text));
    Node node{*op, {}, {}, {}, 0, {}};
    expect("(");
    if (!peek(")")) {
      do {
        node.operands.push_back(value(graph));
      } while (accept(","));
    }
    expect(")");
    node.attrs = attributes(graph.syms());
    expect(":");
    node.type = type(graph.syms());
    if (accept("line=")) node.line = number<uint32_t>();
    while (peek("{")) {
      auto region = std::make_unique<Graph>(graph);
      parseBody(*region);
      node.regions.push_back(std::move(region));
    }
    graph.append(std::move(node));
    --depth_;
  }

  void parseValues(const Graph& graph, std::vector<ValueId>& list) {
    do {
      list.push_back(value(graph));
    } while (accept(","));
  }

  void parseBody(Graph& graph) {
    expect("{");
    while (peek("%")) parseNode(graph);
    if (accept("commit")) parseValues(graph, graph.commits());
    expect("return");
    if (peek("%")) parseValues(graph, graph.outputs());
    expect("}");
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string position(std::string_view text, size_t at) {
  size_t line = 1, column = 1;
  for (char c : text.substr(0, at)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace

absl::StatusOr<Graph> parse(std::string_view text) {
  try {
    return GraphParser(text).run();
  } catch (const SyntaxError& e) {
    return absl::InvalidArgumentError(position(text, e.at) + ": " + e.what);
  } catch (const TooManyAxes& e) {
    return absl::InvalidArgumentError(e.what());
  }
}

}  // namespace fw::graph
