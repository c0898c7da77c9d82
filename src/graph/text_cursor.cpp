#include "graph/text_cursor.h"

#include <cctype>

namespace fw::graph {

absl::Status toStatus(std::string_view text, const SyntaxError& error) {
  size_t line = 1, column = 1;
  for (char c : text.substr(0, error.at)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return absl::InvalidArgumentError(std::to_string(line) + ":" + std::to_string(column) + ": " + error.what);
}

void TextCursor::skip() {
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

bool TextCursor::peek(std::string_view token) {
  skip();
  return text_.substr(at_, token.size()) == token;
}

bool TextCursor::accept(std::string_view token) {
  if (!peek(token)) return false;
  at_ += token.size();
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!accept(token)) fail("'" + std::string(token) + "' expected");
}

std::string_view TextCursor::word(std::string_view what) {
  const auto isWordChar = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  skip();
  size_t end = at_;
  while (end < text_.size() && isWordChar(text_[end])) ++end;
  if (end == at_) fail(std::string(what) + " expected");
  std::string_view w = text_.substr(at_, end - at_);
  at_ = end;
  return w;
}

uint64_t TextCursor::hexadecimal() {
  uint64_t bits = 0;
  auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), bits, 16);
  if (problem != std::errc()) fail("hexadecimal digits expected");
  at_ = static_cast<size_t>(end - text_.data());
  return bits;
}

std::string TextCursor::quoted() {
  expect("\"");
  const size_t end = text_.find('"', at_);
  if (end == std::string_view::npos) fail("no closing quotation mark");
  std::string text(text_.substr(at_, end - at_));
  at_ = end + 1;
  return text;
}

SymId TextCursor::expression(SymContext& syms) {
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

DType TextCursor::dtype() {
  size_t start = next();
  std::optional<DType> d = dtypeFromText(word("element type"));
  if (!d) failAt(start, "unknown element type");
  return *d;
}

Layout TextCursor::layout(int rank) {
  if (!accept("layout=")) return Layout::c(rank);
  size_t start = at_;
  int depth = 0;  // a comma or ')' outside the layout's own parentheses belongs to a tuple
  for (; at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_])); ++at_) {
    if (text_[at_] == '(') ++depth;
    if (depth == 0 && (text_[at_] == ')' || text_[at_] == ',')) break;
    if (text_[at_] == ')') --depth;
  }
  std::optional<Layout> layout = Layout::parse(text_.substr(start, at_ - start), rank);
  if (!layout) failAt(start, "no layout of rank " + std::to_string(rank));
  return *layout;
}

ValueId TextCursor::value(const Graph& graph) {
  size_t start = next();
  expect("%");
  auto index = number<uint32_t>();
  if (index >= graph.size()) failAt(start, "%" + std::to_string(index) + " is not defined yet");
  return ValueId(static_cast<size_t>(index));
}

}  // namespace fw::graph
