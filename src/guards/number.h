// Numbers that are computed from Python numbers and sizes of the call before the compiled code runs: decisions ("c >
// 0.5"), and what Python computes and the graph has no form for (c ** 0.3, math.sin(c), int(c), n << k). They run as a
// flat program in doubles and 64-bit integers; operations without a form of their own are calls of CPython's own
// builtins on boxed values, so that they answer, to the bit, what Python answers. A step that raises, or answers
// another type or an int that does not fit into 64 bits, fails the guard.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "cpython/ref.h"
#include "graph/graph.h"
#include "guards/source.h"

namespace fw::guards {

enum class NumberOp : uint8_t {
#define FW_NUMBER_OP(Id, text, arity) k##Id,
#include "guards/number_ops.def"
};

enum class NumberType : uint8_t { kBool, kInt, kFloat };

/// Value of a number of known type: `i` for bools and ints, `f` for floats.
union NumberValue {
  int64_t i;
  double f;
};

struct NumberStep {
  NumberOp op;
  NumberType type;
  absl::InlinedVector<uint16_t, 2> operands;  ///< earlier steps
  NumberValue value{.i = 0};                  ///< kConstant
  int index = 0;                              ///< kObject: place in sources; kInput: number of the input
  graph::DType dtype = graph::DType::kF64;    ///< kObject
  bool numpyScalar = false;                   ///< kObject: else a Python float or bool
  graph::SymId sym;                           ///< kSymbol
  cpython::Ref callable;                      ///< kCall
};

/// The last step is the result.
struct NumberProgram {
  std::vector<NumberStep> steps;
  std::vector<SourceId> sources;  ///< of objects, each with a Type guard
  int ordinal = -1;               ///< how a symbol or an input names the number; -1: it is only tested

  NumberType type() const { return steps.back().type; }
  /// As the user would write it.
  std::string text(const SourceTable& table, const graph::SymContext& syms, PyObject* code) const;
};

/// Element types whose NumPy scalars can be read as numbers without loss.
bool isNumberType(graph::DType dtype);
/// Value of a float, bool or NumPy scalar of the type that the step names.
NumberValue readNumber(const NumberStep& step, PyObject* object);
/// One step on the values of its operands. False if it fails; no exception is left. Not for leaves.
bool applyNumber(const NumberStep& step, const NumberType* types, const NumberValue* operands,
                 NumberValue* out) noexcept;
/// All steps. objects[i] is that of sources[i], scalars the frame's.
bool runNumber(const NumberProgram& program, const graph::SymContext& syms, PyObject* const* objects,
               const int64_t* symbols, const uint64_t* scalars, NumberValue* out) noexcept;

/// Boxes a value.
cpython::Ref boxNumber(NumberType type, NumberValue value);
/// Value of an exact bool, float or int within 64 bits; false for anything else.
bool unboxNumber(PyObject* object, NumberType* type, NumberValue* value);

}  // namespace fw::guards
