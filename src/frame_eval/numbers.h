// Python numbers of a trace that depend on numbers and sizes of the call alone, not on array data. What the graph
// computes exactly stays in the graph; here is the rest: decisions about such numbers, guarded by their outcome rather
// than by the value, and results of Python operations that the graph has no form for, computed before the compiled code
// runs and handed to it as symbols and inputs (guards/number.h).
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "frame_eval/value.h"
#include "guards/number.h"

namespace fw::capture {

class Trace;
struct NumberTag;
using NumberId = StrongId<NumberTag>;

class Numbers {
 public:
  explicit Numbers(Trace& trace) : trace_(trace) {}

  /// The number that a Value is, none if it depends on array data or is no number.
  std::optional<NumberId> of(Value* value);
  std::optional<NumberId> of(graph::ValueId node) { return ofNode(node, 0); }
  NumberId constant(double value);
  NumberId constant(int64_t value);
  /// One step on numbers; the type of the result is that of the operands, but for comparisons and conversions.
  NumberId step(guards::NumberOp op, std::initializer_list<NumberId> operands);
  /// Call of a builtin on these numbers. None if it raises now, or answers what is no number.
  std::optional<NumberId> call(PyObject* callable, absl::Span<const NumberId> operands);

  /// Outcome of a bool, guarded.
  bool decide(NumberId condition);
  /// Truth of a number, guarded.
  bool truth(NumberId number);
  /// Guards that the number is to the bit what it is now.
  Value* specialize(NumberId number);
  /// The number as a runtime Value of the trace: a float, bool or int. Null where an int is too large, or there are too
  /// many.
  Value* bind(NumberId number);
  /// An int in a symbol of its own that is guarded to be in the range; null as bind().
  Value* bindInt(NumberId number, graph::SymRange range);

  /// callable(*values) if all are numbers and at least one is not a constant: bound. Null if it cannot be computed like
  /// this.
  Value* apply(PyObject* callable, absl::Span<Value* const> values);
  /// The function of module `_operator` of this name (borrowed).
  static PyObject* operatorFunction(const char* name);

  guards::NumberType type(NumberId id) const { return nodes_[id.index].step.type; }
  guards::NumberValue hint(NumberId id) const { return nodes_[id.index].hint; }
  double hintFloat(NumberId id) const { return hint(id).f; }

 private:
  struct Node {
    guards::NumberStep step;  ///< operands are indices of nodes
    absl::InlinedVector<NumberId, 2> operands;
    SourceId source;  ///< kObject
    guards::NumberValue hint{.i = 0};
    bool numpy = false;  ///< computed from NumPy scalars, whose arithmetic warns
  };

  std::optional<NumberId> ofNode(graph::ValueId node, int depth);
  std::optional<NumberId> ofInput(size_t index);
  std::optional<NumberId> ofCast(const graph::Node& node, NumberId operand);
  bool fits(NumberId number, graph::DType dtype) const;
  bool isQuiet(NumberId result, graph::DType dtype);
  NumberId add(Node node);
  NumberId knownNumber(guards::NumberType type, guards::NumberValue value);
  bool isKnown(const Node& node) const;
  std::shared_ptr<const guards::NumberProgram> program(NumberId id, int ordinal) const;
  void guard(NumberId id, int64_t lo, int64_t hi, int ordinal);

  Trace& trace_;
  std::vector<Node> nodes_;
  absl::flat_hash_map<std::string, NumberId> ids_;
  absl::flat_hash_map<graph::ValueId, std::optional<NumberId>> ofNodes_;
  absl::flat_hash_map<NumberId, graph::ValueId> inputs_;  ///< floats and bools bound
  absl::flat_hash_map<NumberId, graph::SymId> symbols_;   ///< ints bound
  absl::flat_hash_map<int, NumberId> boundInputs_;        ///< input number -> what it is
  absl::flat_hash_map<NumberId, bool> decided_;
  int ordinals_ = 0;
};

}  // namespace fw::capture
