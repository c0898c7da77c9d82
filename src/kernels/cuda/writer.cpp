// Expressions are constants where they stand, parameters, or variables v<number>; axes are x<number>, accumulators
// r<statement>_<number>.
#include "kernels/cuda/writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/support/check.h"
#include "kernels/cuda/text.h"

namespace fw::kernels::cuda {

void Writer::line(const std::string& text) {
  if (text[0] != '#') text_ += std::string(static_cast<size_t>(2 * depth_), ' ');
  absl::StrAppend(&text_, text, "\n");
}

void Writer::open(const std::string& text) {
  line(text.empty() ? "{" : text + " {");
  ++depth_;
}

void Writer::close() {
  --depth_;
  line("}");
}

std::string Writer::field(Parameter parameter) {
  static constexpr const char* kNames[] = {"address", "number", "divisor", "total",   "length", "parts",
                                           "chunk",   "team",   "host",    "scratch", "cut",    "stage"};
  const std::string key = absl::StrCat(static_cast<int>(parameter.kind), ".", parameter.buffer.index, ".",
                                       parameter.sym.index, ".", parameter.step, ".", parameter.slot);
  const auto [found, added] = fields_.try_emplace(key, static_cast<int>(parameters_.size()));
  if (added) parameters_.push_back(parameter);
  return absl::StrCat("p.", kNames[static_cast<int>(parameter.kind)], found->second);
}

std::string Writer::number(SymId sym) {
  if (const auto known = syms_.asConst(sym))
    return *known < 0 ? absl::StrCat("(", *known, "ll)") : absl::StrCat(*known, "ll");
  return field({Parameter::Kind::kNumber, {}, sym});
}

std::string Writer::divisor(SymId sym) { return field({Parameter::Kind::kDivisor, {}, sym}); }

void Writer::decode(const Nest& nest, const std::string& flat) {
  const auto axis = [&](size_t i) { return absl::StrCat("x", nest.axes[i].id.index); };
  if (nest.axes.empty()) return;
  std::string rest = flat;
  for (size_t i = nest.axes.size(); i-- > 1;) {
    const SymId size = nest.axes[i].size;
    const std::string whole = absl::StrCat("q", nest.axes[i].id.index);
    const std::string quotient = wide_ || syms_.asConst(size)
                                     ? absl::StrCat(rest, " / ", index_, "(", number(size), ")")
                                     : absl::StrCat("fw_divide(", rest, ", ", divisor(size), ")");
    line(absl::StrCat("const ", index_, " ", whole, " = ", quotient, ";"));
    line(absl::StrCat("const ", index_, " ", axis(i), " = ", rest, " - ", whole, " * ", index_, "(", number(size),
                      ");"));
    rest = whole;
  }
  line(absl::StrCat("const ", index_, " ", axis(0), " = ", rest, ";"));
}

std::string Writer::address(uint32_t index) {
  const Access& a = kernel_.accesses[index];
  const auto& numbers = kernel_.hostNumbers;
  if (std::find(numbers.begin(), numbers.end(), a.buffer) != numbers.end()) {
    const int64_t at = syms_.asConst(a.offset).value_or(-1);
    if (at < 0 || at >= 16) {
      status_ = absl::UnimplementedError("a part of a number at a place that is not known");
      return "0";
    }
    const std::string word =
        field({.kind = Parameter::Kind::kHost, .buffer = a.buffer, .slot = static_cast<int>(at / 8)});
    return absl::StrCat("(reinterpret_cast<const char*>(&", word, ") + ", at % 8, ")");
  }
  std::string text = field({Parameter::Kind::kAddress, a.buffer, a.offset});
  std::string distance;
  for (const Access::Term& t : a.terms) {
    const auto stride = syms_.asConst(t.stride);
    const std::string bytes = stride ? std::to_string(*stride) : absl::StrCat(index_, "(", number(t.stride), ")");
    absl::StrAppend(&distance, distance.empty() ? "" : " + ", "x", t.axis.index, " * ", bytes);
  }
  return distance.empty() ? text : absl::StrCat(text, " + (", distance, ")");
}

std::string Writer::value(ExprId id) const {
  const Expr& e = kernel_.exprs[id.index];
  if (e.op == ScalarOp::kConst) return literal(e.dtype, e.imm);
  if (e.op == ScalarOp::kAxis) return absl::StrCat("i64(x", e.axis.index, ")");
  return absl::StrCat("v", id.index);
}

std::string Writer::loadFrom(DType d, const std::string& address) {
  return absl::StrCat("*reinterpret_cast<const ", std::string(memoryType(d)), "*>(", address, ")",
                      d == DType::kBool ? " != 0" : "");
}

void Writer::storeTo(DType d, const std::string& address, const std::string& value) {
  line(absl::StrCat("*reinterpret_cast<", std::string(memoryType(d)), "*>(", address, ") = ", value, ";"));
}

void Writer::block(const std::vector<Item>& items) {
  for (const Item& i : items) item(i);
}

void Writer::item(const Item& item) {
  if (item.expr.valid())
    expression(item.expr);
  else
    statement(item.stmt);
}

void Writer::expression(ExprId id) {
  const Expr& e = kernel_.exprs[id.index];
  if (e.op == ScalarOp::kConst || e.op == ScalarOp::kAxis || e.op == ScalarOp::kRaiseIf) return;
  std::string text;
  if (const auto known = preloaded_.find(id); known != preloaded_.end()) {
    text = known->second;
  } else if (e.op == ScalarOp::kParam) {
    text = number(e.sym);
  } else if (e.op == ScalarOp::kLoad) {
    text = loadFrom(e.dtype, address(e.access));
  } else if (e.op == ScalarOp::kLoadAt) {
    std::string at = address(e.access);
    for (size_t i = 0; i < e.operands.size(); i += 3)
      absl::StrAppend(&at, " + fw_wrap(", value(e.operands[i]), ", ", value(e.operands[i + 1]), ") * ",
                      value(e.operands[i + 2]));
    text = loadFrom(e.dtype, at);
  } else if (e.op == ScalarOp::kReduceResult) {
    text = result(e.stmt, e.imm);
  } else if (const std::string divided = quotient(e); !divided.empty()) {
    text = divided;
  } else {
    std::vector<std::string> operands;
    for (ExprId operand : e.operands) operands.push_back(value(operand));
    // A choice goes by the type of what is chosen.
    const ExprId typed = e.operands[e.op == ScalarOp::kSelect ? 1 : 0];
    absl::StatusOr<std::string> written = operation(e, kernel_.exprs[typed.index].dtype, operands);
    if (!written.ok() && status_.ok()) status_ = written.status();
    text = written.ok() ? *std::move(written) : "0";
  }
  line(absl::StrCat("const ", std::string(registerType(e.dtype)), " v", id.index, " = ", text, ";"));
}

/// Means divide a sum of f32 by the count as f64, and convert the result: "" if `e` is nothing of the kind. All threads
/// of a row do so, which takes as long as a good part of the row.
std::string Writer::quotient(const Expr& e) const {
  const auto at = [&](ExprId id) -> const Expr& { return kernel_.exprs[id.index]; };
  if (e.op != ScalarOp::kCast || e.dtype != DType::kF32) return "";
  const Expr& division = at(e.operands[0]);
  if (division.op != ScalarOp::kDiv || division.dtype != DType::kF64) return "";
  const Expr& dividend = at(division.operands[0]);
  if (dividend.op != ScalarOp::kCast) return "";
  const Expr& sum = at(dividend.operands[0]);
  if (sum.op != ScalarOp::kReduceResult || sum.dtype != DType::kF32) return "";
  return absl::StrCat("fw_quotient(", value(dividend.operands[0]), ", ", value(division.operands[1]), ")");
}

void Writer::statement(StmtId id) {
  const Stmt& s = kernel_.stmts[id.index];
  switch (s.kind) {
    case StmtKind::kStore: {
      const DType d = kernel_.exprs[s.value.index].dtype;
      if (const auto target = diverted_.find(id); target != diverted_.end())
        return line(absl::StrCat(target->second, " = ", value(s.value), ";"));
      return storeTo(d, address(s.access), value(s.value));
    }
    case StmtKind::kIf:
      open("if (" + value(s.value) + ")");
      block(s.body.items);
      return close();
    case StmtKind::kLoop:
    case StmtKind::kReduce: return sequential(id);
    case StmtKind::kObserve: return;
  }
  FW_UNREACHABLE();
}

void Writer::sequential(StmtId id) {
  const Stmt& s = kernel_.stmts[id.index];
  if (s.order != ReduceOrder::kAny && s.order != ReduceOrder::kSequential)
    if (status_.ok()) status_ = absl::UnimplementedError("a reduction in this order by one thread, on CUDA");
  if (s.kind == StmtKind::kReduce) declareResults(id);
  const std::string axis = absl::StrCat("x", s.axis.index), index = index_;
  open(absl::StrCat("for (", index, " ", axis, " = ", index, "(", value(s.lower), "); ", axis, " < ", index, "(",
                    value(s.upper), "); ++", axis, ")"));
  block(s.body.items);
  if (s.kind == StmtKind::kReduce) accumulate(id);
  close();
}

std::string Writer::result(StmtId reduce, size_t i) { return absl::StrCat("r", reduce.index, "_", i); }

void Writer::declareResults(StmtId reduce) {
  const Stmt& s = kernel_.stmts[reduce.index];
  for (size_t i = 0; i < s.accumulators.size(); ++i)
    line(absl::StrCat(std::string(registerType(s.accumulators[i].dtype)), " ", result(reduce, i), " = ",
                      value(s.accumulators[i].init), ";"));
}

std::string Writer::combined(const Accumulator& a, const std::string& x, const std::string& y) {
  absl::StatusOr<std::string> text = combining(a.combine, a.dtype, x, y);
  if (text.ok()) return *std::move(text);
  if (status_.ok()) status_ = text.status();
  return x;
}

void Writer::accumulate(StmtId reduce) {
  const Stmt& s = kernel_.stmts[reduce.index];
  for (size_t i = 0; i < s.accumulators.size(); ++i) {
    const std::string name = result(reduce, i);
    line(absl::StrCat(name, " = ", combined(s.accumulators[i], name, value(s.accumulators[i].element)), ";"));
  }
}

namespace {

/// FNV-1a: the same in every process.
uint64_t contentHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

absl::StatusOr<Source> Writer::finish(const std::string& bounds) && {
  if (!status_.ok()) return status_;
  // Parameters of a kernel are limited to 4 KB on every architecture.
  if (parameters_.size() > 500) return absl::UnimplementedError("too many parameters for a CUDA kernel");
  std::string fields;
  std::vector<std::string> names(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const std::string name = field(parameter).substr(2);
    const bool pointer = parameter.kind == Parameter::Kind::kAddress || parameter.kind == Parameter::Kind::kScratch;
    const bool divisor = parameter.kind == Parameter::Kind::kDivisor;
    absl::StrAppend(&fields, "  ", pointer ? "char* " : divisor ? "u64 " : "i64 ", name, ";\n");
  }
  const std::string body = absl::StrCat("(const params p) {\n", text_, "}\n");
  const std::string name = absl::StrFormat("fw_%016x", contentHash(absl::StrCat(bounds, fields, body)));
  std::string inner = body;
  inner.replace(inner.find("params"), 6, name + "_params");
  Source source{name, "", std::move(parameters_), sharesBySize_};
  absl::StrAppend(&source.text, "struct ", name, "_params {\n", fields, "};\n", "extern \"C\" __global__ void ", bounds,
                  " ", name, inner);
  return source;
}

}  // namespace fw::kernels::cuda
