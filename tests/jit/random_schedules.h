// Random graphs of nested loops, branches, binds, definitions and library calls, with carried values, views, arrays
// that regions change where they are, sizes that data decides, commits, and accepts that fail: numbers that are out of
// range, calls that raise.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/evaluator.h"
#include "graph/graph.h"

namespace fw::jit::testing {

/// What the library calls of random schedules answer. An error: the function raises.
absl::StatusOr<std::vector<graph::HostArray>> randomLibrary(int64_t site, absl::Span<const graph::HostArray> operands);

/// The graph of a seed, and arguments for it.
class RandomSchedule {
 public:
  explicit RandomSchedule(uint64_t seed);

  std::string text() const { return print(graph_); }
  std::vector<int64_t> symbols;
  std::vector<graph::HostArray> inputs;

 private:
  /// What there is at some place of a graph.
  struct Scope {
    graph::Graph& graph;
    std::vector<graph::ValueId> values;
    std::vector<graph::SymId> sizes;    ///< at least 1
    std::vector<graph::SymId> indices;  ///< bound symbols that are indices of arrays whose first size is that of `of`
    std::vector<graph::SymId> of = {};
  };
  using Region = std::unique_ptr<graph::Graph>;

  size_t pick(size_t n) { return static_cast<size_t>(rng_() % n); }
  bool chance(int percent) { return pick(100) < static_cast<size_t>(percent); }
  template <class List>
  auto oneOf(const List& list) {
    return list[pick(list.size())];
  }
  graph::ValueId any(const Scope& s) { return chance(40) ? s.values.back() : oneOf(s.values); }
  graph::SymId constant(int64_t v) { return graph_.syms().constant(v); }
  graph::SymId bound(graph::SymRange range);
  graph::ValueType arrayType(const Scope& s, graph::DType dtype, int rank);
  graph::ValueId number(Scope& s, graph::DType dtype, double value);
  graph::ValueId ofType(Scope& s, const graph::ValueType& type);
  graph::ValueId copy(Scope& s, graph::ValueId value);
  graph::ValueId fresh(Scope& s, graph::ValueId value);
  graph::ValueId scalar(Scope& s);
  graph::ValueId decision(Scope& s);
  graph::ValueId whole(Scope& s, graph::SymId least, graph::SymId most);

  void body(Scope& s, size_t steps, int depth);
  void step(Scope& s, int depth);
  void arithmetic(Scope& s);
  void update(Scope& s);
  void row(Scope& s);
  void part(Scope& s);
  void firstOnes(Scope& s);
  void reverse(Scope& s);
  void reduce(Scope& s);
  void sym(Scope& s);
  void call(Scope& s);
  void define(Scope& s);
  void loop(Scope& s, int depth);
  void cond(Scope& s, int depth);
  void bind(Scope& s, int depth);
  void store(Scope& s);

  /// The array with some part of it stored anew.
  graph::ValueId updated(Scope& s, graph::ValueId base);
  /// The latest of a few versions of an array, made by updates and by regions that change it.
  graph::ValueId changed(Scope& s, graph::ValueId base, int depth);

  /// Operands for a region; the first is `first` if that is given.
  std::vector<graph::ValueId> operands(Scope& s, std::optional<graph::ValueId> first);
  Scope inside(const Scope& s, graph::Graph& region, const std::vector<graph::ValueId>& given);
  void results(Scope& s, graph::ValueId control, const std::vector<graph::ValueType>& types);
  graph::ValueId project(Scope& s, graph::ValueId control, const graph::ValueType& type, size_t index);
  /// What a region answers for a result: some value of the type, or an array that it was given, as it left it.
  graph::ValueId answer(Scope& s, const std::vector<graph::ValueId>& given, const graph::ValueType& type, int depth);
  /// Nodes with regions that answer values of these types; `first`: result 0 is the first operand, changed or not.
  graph::ValueId addLoop(Scope& s, const std::vector<graph::ValueId>& given, bool first, int depth);
  graph::ValueId addCond(Scope& s, std::vector<graph::ValueId> given, const std::vector<graph::ValueType>& types,
                         bool first, int depth);
  graph::ValueId addBind(Scope& s, std::vector<graph::ValueId> given, const std::vector<graph::ValueType>& types,
                         bool first, int depth);
  Region arm(Scope& s, const std::vector<graph::ValueId>& given, const std::vector<graph::ValueType>& types, bool first,
             int depth, std::optional<graph::SymId> index, graph::SymId size);

  std::mt19937_64 rng_;
  graph::Graph graph_;
  graph::SymId trip_;
  int bound_ = 0;
};

}  // namespace fw::jit::testing
