// Reading text forms: characters, tokens and what graphs and plans have in common. Errors are thrown as SyntaxError
// inside of a reader, which turns them into a Status.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace fw::graph {

struct SyntaxError {
  size_t at;
  std::string what;
};
/// "line:column: what"
absl::Status toStatus(std::string_view text, const SyntaxError& error);

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  /// Position of the next token.
  size_t next() { return skip(), at_; }
  bool atEnd() { return next() == text_.size(); }
  [[noreturn]] void fail(const std::string& what) const { throw SyntaxError{at_, what}; }
  [[noreturn]] static void failAt(size_t at, const std::string& what) { throw SyntaxError{at, what}; }

  bool peek(std::string_view token);
  /// Whether the very next character is this one, white space counted.
  bool touches(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool accept(std::string_view token);
  void expect(std::string_view token);
  std::string_view word(std::string_view what);

  template <class T>
  T number() {
    skip();
    T v{};
    auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (problem != std::errc()) fail("number expected");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }
  uint64_t hexadecimal();
  /// Nothing is escaped: names of functions.
  std::string quoted();

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

  /// Text up to a ',' or closing bracket of this level, or the end of the line.
  SymId expression(SymContext& syms);
  SymShape shape(SymContext& syms) {
    return list<SymShape>([&] { return expression(syms); });
  }
  DType dtype();
  /// Behind a shape: the layout, if one is given, else C order.
  Layout layout(int rank);
  /// %n, of a value that the graph has.
  ValueId value(const Graph& graph);

 private:
  /// White space and comments from # to the end of the line.
  void skip();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace fw::graph
