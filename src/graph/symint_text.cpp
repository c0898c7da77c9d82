// Text form of symbolic integers: printer and a recursive-descent parser over the same grammar.
//
//   sum     = product { ("+" | "-") product }
//   product = unary { ("*" | "//" | "%") unary }
//   unary   = "-" unary | integer | name | "(" sum ")" | ("min" | "max") "(" sum { "," sum } ")"
#include <cctype>
#include <charconv>

#include "absl/status/status.h"
#include "graph/symint.h"
#include "graph/symint_algebra.h"
#include "graph/symint_range.h"

namespace fw::graph {
namespace {

enum class Precedence { kSum, kProduct, kAtom };

void printInto(const SymContext& context, SymId id, Precedence context_precedence, std::string& out) {
  const SymNode& n = context.node(id);
  auto joined = [&](std::string_view separator, Precedence own, Precedence operand) {
    bool parens = context_precedence > own;
    if (parens) out += '(';
    for (size_t i = 0; i < n.operands.size(); ++i) {
      if (i > 0) out += separator;
      // Division does not associate: only its left operand may stand without parentheses, and for readability not
      // even that.
      printInto(context, n.operands[i], operand, out);
    }
    if (parens) out += ')';
  };
  switch (n.op) {
    case SymOp::kConst: out += std::to_string(n.value); return;
    case SymOp::kSymbol: out += context.symbolName(static_cast<int>(n.value)); return;
    case SymOp::kAdd: joined(" + ", Precedence::kSum, Precedence::kProduct); return;
    case SymOp::kMul: joined("*", Precedence::kProduct, Precedence::kAtom); return;
    case SymOp::kFloorDiv: joined("//", Precedence::kProduct, Precedence::kAtom); return;
    case SymOp::kMod: joined("%", Precedence::kProduct, Precedence::kAtom); return;
    case SymOp::kMin:
    case SymOp::kMax:
      out += n.op == SymOp::kMin ? "min(" : "max(";
      for (size_t i = 0; i < n.operands.size(); ++i) {
        if (i > 0) out += ", ";
        printInto(context, n.operands[i], Precedence::kSum, out);
      }
      out += ')';
      return;
  }
}

class SymParser {
 public:
  SymParser(SymContext& context, std::string_view text) : context_(context), text_(text) {}

  absl::StatusOr<SymId> run() {
    absl::StatusOr<SymId> id = sum();
    if (!id.ok()) return id;
    skip();
    if (at_ != text_.size()) return error("unexpected text");
    return id;
  }

 private:
  absl::Status error(const std::string& what) const {
    return absl::InvalidArgumentError(std::to_string(at_ + 1) + ": " + what);
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool accept(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  absl::StatusOr<SymId> sum() {
    absl::StatusOr<SymId> left = product();
    while (left.ok()) {
      bool minus = false;
      if (!accept("+")) {
        minus = accept("-");
        if (!minus) return left;
      }
      absl::StatusOr<SymId> right = product();
      if (!right.ok()) return right;
      left = minus ? context_.sub(*left, *right) : context_.add(*left, *right);
    }
    return left;
  }

  absl::StatusOr<SymId> product() {
    absl::StatusOr<SymId> left = unary();
    while (left.ok()) {
      char op = accept("//") ? '/' : accept("*") ? '*' : accept("%") ? '%' : 0;
      if (op == 0) return left;
      absl::StatusOr<SymId> right = unary();
      if (!right.ok()) return right;
      if (op == '*') {
        left = context_.mul(*left, *right);
        continue;
      }
      if (context_.isConst(*right, 0)) return error("division by 0");
      if (contains(context_.range(*right), 0)) {
        // canonical() makes such divisors, knowing that they are not 0.
        left = SymAlgebra(context_).atom(op == '/' ? SymOp::kFloorDiv : SymOp::kMod, *left, *right);
        continue;
      }
      left = op == '/' ? context_.floorDiv(*left, *right) : context_.mod(*left, *right);
    }
    return left;
  }

  absl::StatusOr<SymId> unary() {
    if (++depth_ > 200) return error("nested too deeply");
    absl::StatusOr<SymId> id = primary();
    --depth_;
    return id;
  }

  absl::StatusOr<SymId> primary() {
    skip();
    if (at_ >= text_.size()) return error("expression expected");
    char c = text_[at_];
    bool negativeNumber =
        c == '-' && at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1]));
    if (std::isdigit(static_cast<unsigned char>(c)) || negativeNumber) return integer();
    if (accept("-")) {
      absl::StatusOr<SymId> id = unary();
      if (id.ok()) id = context_.neg(*id);
      return id;
    }
    if (accept("(")) {
      absl::StatusOr<SymId> id = sum();
      if (id.ok() && !accept(")")) return error("')' expected");
      return id;
    }
    return name();
  }

  absl::StatusOr<SymId> integer() {
    int64_t v = 0;
    auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (problem != std::errc()) return error("integer out of range");
    at_ = static_cast<size_t>(end - text_.data());
    return context_.constant(v);
  }

  absl::StatusOr<SymId> name() {
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return error("expression expected");
    if (std::optional<SymId> id = context_.findSymbol(word)) {
      at_ = end;
      return *id;
    }
    if (word != "min" && word != "max") return error("unknown symbol " + std::string(word));
    at_ = end;
    if (!accept("(")) return error("'(' expected");
    absl::StatusOr<SymId> result = sum();
    while (result.ok() && accept(",")) {
      absl::StatusOr<SymId> next = sum();
      if (!next.ok()) return next;
      result = word == "min" ? context_.min(*result, *next) : context_.max(*result, *next);
    }
    if (result.ok() && !accept(")")) return error("')' expected");
    return result;
  }

  SymContext& context_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string SymContext::print(SymId id) const {
  std::string out;
  printInto(*this, id, Precedence::kSum, out);
  return out;
}

absl::StatusOr<SymId> SymContext::parse(std::string_view text) { return SymParser(*this, text).run(); }

}  // namespace fw::graph
