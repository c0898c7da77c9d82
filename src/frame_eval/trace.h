// State of one symbolic execution: the graph under construction, guards, values. The Python side (interpreter.cpp) and
// the NumPy side (numpy/*.cpp) both work on it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "frame_eval/break_reason.h"
#include "frame_eval/value.h"
#include "graph/graph.h"
#include "graph/numpy_types.h"
#include "guards/guard_set.h"

namespace fw::capture {

class Trace {
 public:
  Trace();

  graph::Graph& graph() { return graph_; }
  graph::SymContext& syms() { return graph_.syms(); }
  guards::SourceTable& sources() { return *guards_.sources; }
  guards::GuardSet& guardSet() { return guards_; }

  // ---- values -----------------------------------------------------------------------------------------------------
  Value* constant(PyObject* borrowed);                   ///< known object
  Value* constant(Ref owned);
  Value* array(graph::ValueId node, Value* base = nullptr);
  /// A result that NumPy would return as a scalar if its rank is 0, else as an array.
  Value* arrayOrScalar(graph::ValueId node);
  Value* number(ValueKind kind, graph::ValueId node);    ///< kArrayScalar, kPyFloat, kPyBool, kPyComplex
  Value* pyInt(graph::SymId sym);                        ///< constant if the SymId is
  Value* tuple(std::vector<Value*> items);
  Value* list(std::vector<Value*> items);
  Value* slice(Value* start, Value* stop, Value* step);
  Value* make(ValueKind kind);                           ///< blank
  /// The value of an object that exists outside the trace: installs type guards and makes arrays and Python scalars
  /// inputs of the graph, containers virtual, everything else a constant or kObject. One Value per source.
  Value* fromSource(SourceId source, PyObject* object);

  // ---- decisions: answered from the values seen now, and guarded ---------------------------------------------------
  /// left relation right? Proven without a guard where possible. Equality, once decided, is assumed by the SymContext.
  bool decide(graph::SymId left, guards::Relation relation, graph::SymId right);
  /// Specialises a symbolic int to the value seen now.
  int64_t specialize(graph::SymId sym);
  /// Value seen now.
  int64_t hint(graph::SymId sym) const;
  void guard(guards::Guard guard);
  /// Python truth of a value, decided with guards; breaks with kDataDependentBranch on array data.
  bool truth(Value* value);

  // ---- conversions -------------------------------------------------------------------------------------------------
  /// Operand of a NumPy call: graph value and weakness. Breaks if the value is not numeric.
  graph::UfuncOperand operand(Value* value);
  /// Python int, known or symbolic (bools and NumPy integers that are constants included), or break.
  graph::SymId asSym(Value* value);
  /// Known object behind the value (constants; tuples and slices of constants are built), or null.
  Ref asObject(Value* value);
  /// The value's Python type.
  PyTypeObject* typeOf(Value* value);

  [[noreturn]] void fail(BreakReason reason, std::string detail);

  /// A constant equal to a Python number of the trace, whose arguments are specialised (Equals guards); null if the number
  /// depends on array data.
  Value* specializeNumber(Value* value);
  /// Makes sure by a guard that lo <= sym <= hi; false if that does not hold now.
  bool ensureWithin(graph::SymId sym, int64_t lo, int64_t hi);
  /// Constant of a guarded value: one whose guard is already installed.
  Value* guardedConstant(SourceId source, PyObject* object, guards::GuardKind kind);

  /// As the user would write the source.
  std::string describe(SourceId source) const { return guards_.sources->describe(source, code); }

  PyObject* code = nullptr;                              ///< code object of the function being captured (borrowed)
  int line = 0;                                          ///< user's line being executed

 private:
  friend class Interpreter;
  friend struct CaptureSession;
  Value* convertSource(SourceId source, PyObject* object);
  Value* arrayFromSource(SourceId source, PyObject* object);
  Value* numberFromSource(SourceId source, PyObject* object);
  Value* containerFromSource(SourceId source, PyObject* object);
  graph::ValueId addInput(guards::InputBinding::From from, SourceId source, graph::ValueType type);
  graph::SymId addSymbol(std::string name, graph::SymRange range, int64_t hint, guards::SymbolBinding binding);
  std::optional<bool> concreteTruth(Value* value);

  graph::Graph graph_;
  guards::GuardSet guards_;
  std::vector<int64_t> hints_;                           ///< value of symbol i seen now
  std::deque<Value> values_;
  absl::flat_hash_map<SourceId, Value*> bySource_;
  /// Answers `left relation right` from what was guarded before.
  std::optional<bool> decidedBefore(graph::SymId left, guards::Relation relation, graph::SymId right);
  absl::flat_hash_map<graph::SymId, int64_t> lowerBounds_;   ///< guarded: expression without constant term >= bound
  absl::flat_hash_set<graph::SymId> nonZero_;                ///< guarded differences
  int dimCount_ = 0, intCount_ = 0;
  int sourceDepth_ = 0;                                  ///< nesting of containers being read
};

/// True for exact types whose operations run no user code: int, float, complex, str, bytes, bool, None, tuples of them.
bool isPlain(PyObject* object);

}  // namespace fw::capture
