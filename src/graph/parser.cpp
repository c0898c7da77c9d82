// Reader of the text form. One pass over the characters (text_cursor.h); expressions and layouts are cut out and given
// to their own parsers. Types are taken as written (the verifier checks them), so that goldens can hold graphs that
// inference would not make.
#include "graph/parser.h"

#include <cctype>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "graph/rank.h"
#include "graph/support/check.h"
#include "graph/text_cursor.h"

namespace fw::graph {
namespace {

class GraphParser : TextCursor {
 public:
  explicit GraphParser(std::string_view text) : TextCursor(text) {}

  Graph run() {
    Graph graph;
    expect("graph");
    expect("(");
    parseSymbols(graph.syms());
    expect(")");
    parseBody(graph);
    if (!atEnd()) fail("text after the graph");
    return graph;
  }

 private:
  // ---- symbols and expressions

  int64_t bound() {
    if (accept("-inf")) return INT64_MIN;
    if (accept("inf")) return INT64_MAX;
    return number<int64_t>();
  }

  void parseSymbols(SymContext& syms) {
    if (peek(")")) return;
    do {
      size_t start = next();
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

  // ---- scalars

  uint64_t realBits(DType d) {
    if (accept("0x")) return hexadecimal();
    // f32 is read as float, because rounding twice may give another value.
    if (d == DType::kF32) return Scalar::ofDouble(d, number<float>()).lo;
    return Scalar::ofDouble(d, number<double>()).lo;
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
      size_t start = next();
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
    if (touches('[')) t.shape = shape(syms);
    t.layout = layout(t.rank());
    return t;
  }

  // ---- nodes

  void parseNode(Graph& graph) {
    if (++depth_ > 100) fail("regions are nested too deeply");
    size_t start = next();
    expect("%");
    if (number<uint32_t>() != graph.size()) failAt(start, "%" + std::to_string(graph.size()) + " comes next");
    expect("=");
    start = next();
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

  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Graph> parse(std::string_view text) {
  try {
    return GraphParser(text).run();
  } catch (const SyntaxError& e) {
    return toStatus(text, e);
  } catch (const TooManyAxes& e) {
    return absl::InvalidArgumentError(e.what());
  }
}

}  // namespace fw::graph
