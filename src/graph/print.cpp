// Text form of graphs; parser.cpp reads it back. Everything that distinguishes two graphs is printed: source lines
// too, so that reading and printing again gives the same text.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "graph/graph.h"

namespace fw::graph {
namespace {

std::string hex(uint64_t v) {
  char buffer[20];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(v));
  return buffer;
}

/// Shortest text that reads back as the same bits; NaNs other than the usual one in hexadecimal.
std::string printReal(DType d, uint64_t bits) {
  double v = Scalar{d, bits, 0}.asDouble();
  if (std::isnan(v)) return bits == Scalar::ofDouble(d, std::nan("")).lo ? "nan" : hex(bits);
  char buffer[40];
  auto end = d == DType::kF64 ? std::to_chars(buffer, buffer + sizeof buffer, v).ptr
                              : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(v)).ptr;
  return std::string(buffer, end);
}

std::string joinValues(absl::Span<const ValueId> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", %" : "%") + std::to_string(values[i].index);
  return out;
}

std::string printAttr(const SymContext& syms, const AttrValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const auto* s = std::get_if<SymId>(&value)) return syms.print(*s);
  if (const auto* c = std::get_if<Scalar>(&value)) return print(*c);
  if (const auto* text = std::get_if<std::string>(&value)) return '"' + *text + '"';
  std::string out;
  if (const auto* list = std::get_if<IntList>(&value)) {
    for (int64_t i : *list) out += (out.empty() ? "" : ", ") + std::to_string(i);
  }
  if (const auto* list = std::get_if<SymList>(&value)) {
    for (SymId s : *list) out += (out.empty() ? "" : ", ") + syms.print(s);
  }
  return "[" + out + "]";
}

std::string printBound(int64_t v) { return v == INT64_MIN ? "-inf" : v == INT64_MAX ? "inf" : std::to_string(v); }

std::string printHeader(const SymContext& syms) {
  std::string out;
  for (int i = 0; i < syms.symbolCount(); ++i) {
    SymRange r = syms.range(syms.symbolId(i));
    out += (i ? ", " : "") + syms.symbolName(i) + ": [" + printBound(r.lo) + ", " + printBound(r.hi) + "]";
  }
  return "graph(" + out + ")";
}

void printBody(const Graph& graph, const std::string& indent, std::string& out);

void printNode(const Graph& graph, ValueId id, const std::string& indent, std::string& out) {
  const Node& node = graph.node(id);
  out += indent + "%" + std::to_string(id.index) + " = " + std::string(info(node.op).text) + "(" +
         joinValues(node.operands) + ")";
  if (!node.attrs.entries().empty()) {
    std::string list;
    for (const auto& [key, value] : node.attrs.entries()) {
      list += (list.empty() ? "" : ", ") + std::string(attrName(key)) + "=" + printAttr(graph.syms(), value);
    }
    out += " {" + list + "}";
  }
  out += " : " + print(graph.syms(), node.type);
  if (node.line != 0) out += " line=" + std::to_string(node.line);
  for (const auto& region : node.regions) {
    out += " {\n";
    printBody(*region, indent + "  ", out);
    out += indent + "}";
  }
  out += '\n';
}

void printBody(const Graph& graph, const std::string& indent, std::string& out) {
  for (size_t i = 0; i < graph.size(); ++i) printNode(graph, ValueId(i), indent, out);
  if (!graph.commits().empty()) out += indent + "commit " + joinValues(graph.commits()) + "\n";
  out += indent + "return" + (graph.outputs().empty() ? "" : " ") + joinValues(graph.outputs()) + "\n";
}

}  // namespace

std::string print(const Scalar& value) {
  DType d = value.dtype;
  std::string text(name(d));
  if (d == DType::kBool) return text + (value.lo != 0 ? "(true)" : "(false)");
  if (d == DType::kU64) return text + "(" + std::to_string(value.lo) + ")";
  if (isInteger(d)) return text + "(" + std::to_string(value.asInt()) + ")";
  if (isFloat(d)) return text + "(" + printReal(d, value.lo) + ")";
  bool wide = d == DType::kC128;
  uint64_t imaginary = wide ? value.hi : value.lo >> 32, real = wide ? value.lo : value.lo & 0xffffffffu;
  return text + "(" + printReal(realOf(d), real) + ", " + printReal(realOf(d), imaginary) + ")";
}

std::string print(const SymContext& syms, const ValueType& type) {
  if (!type.tuple.empty()) {
    std::string list;
    for (const ValueType& t : type.tuple) list += (list.empty() ? "" : ", ") + print(syms, t);
    return "(" + list + ")";
  }
  std::string out(name(type.dtype));
  if (type.rank() > 0) {
    out += '[';
    for (int i = 0; i < type.rank(); ++i) out += (i ? ", " : "") + syms.print(type.shape[static_cast<size_t>(i)]);
    out += ']';
  }
  std::string layout = type.layout.print();
  if (layout != "c") out += " layout=" + layout;
  return out;
}

std::string print(const Graph& graph) {
  std::string out = printHeader(graph.syms()) + " {\n";
  printBody(graph, "  ", out);
  return out + "}\n";
}

}  // namespace fw::graph
