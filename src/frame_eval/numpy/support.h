// Shared by the files of this room: the ways a call ends early, reading of arguments, views and writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/trace.h"

namespace fw::capture::numpy {

using graph::AttrKey;
using graph::Attrs;
using graph::DType;
using graph::IntList;
using graph::Op;
using graph::Scalar;
using graph::SymId;
using graph::SymList;
using graph::SymShape;
using graph::ValueId;
using graph::ValueType;
using graph::Weak;
using guards::Relation;

// ---- ends ---------------------------------------------------------------------------------------------------------

/// kUnsupportedNumpy: `what` names the function and the argument.
[[noreturn]] void unsupported(const std::string& what);
/// kPythonException: NumPy raises here.
[[noreturn]] void raises(const std::string& what);
/// The value; an invalid argument is what NumPy raises for, anything else is unsupported.
ValueId orBreak(absl::StatusOr<ValueId> value);

// ---- arguments ----------------------------------------------------------------------------------------------------

/// The object is None or NumPy's "no value" default.
bool isNone(Value* value);
/// Absent, None or NumPy's "no value".
bool absent(Value* value);
/// Known truth of a flag such as keepdims; breaks naming `what` if it is not a plain bool or int.
bool flag(Value* value, const char* what);
/// Items of a tuple or list, known or virtual; nullopt for other values.
std::optional<std::vector<Value*>> sequenceItems(Trace& trace, Value* value);
/// Python int known at compile time (a symbolic one is specialised).
int64_t knownInt(Trace& trace, Value* value);
/// dtype argument, or break.
DType dtypeArg(Trace& trace, Value* value);
/// dtype that an object means (np.float32, "f4", float ...), if it is one of ours. `object` must be a constant.
std::optional<DType> dtypeOfObject(PyObject* object);
/// One axis, made non-negative; raises where NumPy does.
int axisArg(Trace& trace, Value* axis, int rank);
/// axis=None (all), int or tuple of ints: sorted, non-negative, distinct.
IntList axesArg(Trace& trace, Value* axis, int rank);
/// An int that is no bool.
SymId sizeArg(Trace& trace, Value* size);
/// An int or a sequence of ints, each guarded to be non-negative.
SymShape shapeArg(Trace& trace, Value* shape);
/// Guards that sizes that come from numbers are not too many elements for any memory; raises if they are now.
void checkElementCount(Trace& trace, const SymShape& shape);
/// order= of a function that answers C order for these: breaks unless absent, 'C' or one of `also`.
void checkOrder(Value* order, const char* also);
/// Whether it picks one item of a sequence: an int, or a NumPy scalar of an integer type.
bool isPlace(Trace& trace, const Value* index);
/// A str constant, or nullopt.
std::optional<std::string> textOf(Value* value);
/// Guards size > 0, answers false if it is empty now.
bool isPositive(Trace& trace, SymId size);

// ---- conversion ---------------------------------------------------------------------------------------------------

/// np.asarray(value): arrays as they are, Python scalars with their default type, nested sequences stacked.
ValueId asArray(Trace& trace, Value* value);
/// Type of an operand with its weakness.
graph::OperandType operandType(Trace& trace, const graph::UfuncOperand& operand);
/// A Python or NumPy scalar, that is, anything numeric but an ndarray.
bool isScalar(Value* value);
/// Number constant of that type as a rank-0 node; `value` must be exact in it.
ValueId scalarNode(Trace& trace, DType dtype, double value);
/// Converts an operand to `dtype` as a ufunc does with a weak scalar: raises or guards where it does not fit.
ValueId castOperand(Trace& trace, Value* value, DType dtype);
/// Makes sure that a Python int operand fits into `dtype`; false if it does not now.
bool intFits(Trace& trace, Value* value, DType dtype);

// ---- shapes -------------------------------------------------------------------------------------------------------

/// Canonical shape of a node.
SymShape shapeOf(Trace& trace, ValueId node);
/// Common shape of the operands, after which their types broadcast provably; raises where NumPy does.
SymShape unify(Trace& trace, absl::Span<const ValueId> operands);
/// Operands in several axis orders: which of their axes are of size 1, since those have no say in the order of the
/// result's.
void decideUnitAxes(Trace& trace, absl::Span<const ValueId> operands, bool zeroStridesVote = false);
/// Size after broadcasting a against b.
SymId unifySizes(Trace& trace, SymId a, SymId b);
/// Guards left == right; false if they differ now.
bool sameSize(Trace& trace, SymId left, SymId right);
/// node broadcast to exactly `shape`; raises if it does not fit. Leading axes of size 1 are dropped if `dropLeading`.
ValueId broadcastInto(Trace& trace, ValueId node, const SymShape& shape, bool dropLeading);
/// Product of the sizes.
SymId elementCount(Trace& trace, const SymShape& shape);

// ---- memory -------------------------------------------------------------------------------------------------------

/// A value for `node`, which is a chain of view nodes over parent's node. A parent that is no ndarray (a scalar) gives
/// a fresh array.
Value* makeView(Trace& trace, Value* parent, ValueId node);
/// Replaces the content of a writeable array by `node`, which has its type; every view of the same memory sees it.
/// Raises if read-only, breaks where the array's memory cannot be written in compiled code.
void writeAll(Trace& trace, Value* target, ValueId node);
/// The memory that `owner` owns holds `after` from now on; its views look at that.
void setContent(Trace& trace, Value* owner, ValueId after);
/// The same for what a branch or loop has left in `owner`, as a write of the whole array.
void replaceContent(Trace& trace, Value* owner, ValueId after);
/// The same for a part: `part` is a chain of slices, expands and squeezes over target's node.
void writePart(Trace& trace, Value* target, ValueId part, ValueId node);
/// Raises or breaks as writeAll() would.
void checkWriteable(Trace& trace, Value* target);
/// An element of type `dtype` that a value is stored as: NumPy raises if a Python scalar does not fit.
ValueId elementOf(Trace& trace, Value* value, DType dtype);
/// The part of `node` that a basic index says, as views of it.
ValueId basicPart(Trace& trace, ValueId node, Value* index);
/// What target[...] = value stores: converted and broadcast to `shape`; raises or breaks where NumPy raises.
ValueId assignedNode(Trace& trace, Value* value, DType dtype, const SymShape& shape);
/// out= of a call that computed `node`: converts it as a ufunc does, writes it and answers the array. A ufunc
/// broadcasts into the array, a reduction does not.
Value* writeOut(Trace& trace, Value* out, ValueId node, bool broadcasts);
/// Breaks for products of single complex elements that are stored into an operand: NumPy takes them for a reduction,
/// whose loop rounds differently.
void checkOwnProduct(Trace& trace, Op op, Value* out);
/// The array given as out=, alone or as a tuple of one; null if there is none.
Value* outArg(Trace& trace, Value* out);
/// node as a fresh array with this layout.
ValueId copyAs(Trace& trace, ValueId node, graph::Layout layout);

// ---- calls between files ------------------------------------------------------------------------------------------

/// x.real and x.imag of complex values.
Value* partOf(Trace& trace, Value* self, bool real);
/// The array itself, or np.asarray(value) as a fresh one.
Value* arrayValue(Trace& trace, Value* value);
/// np.atleast_1d and np.atleast_2d of one value.
Value* atLeastRank(Trace& trace, Value* value, int rank);
/// np.ravel.
Value* ravelValue(Trace& trace, Value* value);
/// A ufunc call: converts, broadcasts, checks, adds.
Value* ufunc(Trace& trace, Op op, std::vector<Value*> operands);
ValueId ufuncNode(Trace& trace, Op op, const std::vector<Value*>& operands);
/// The exponent of a power of an array: Python numbers by value, anything else as it is.
Value* knownExponent(Trace& trace, Value* base, Value* exponent);
/// The same for nodes that are not weak.
ValueId ufuncNode(Trace& trace, Op op, std::initializer_list<ValueId> operands);
/// max, min, argmax or argmin of a node over axes, guarded against empty axes.
ValueId reduceNode(Trace& trace, Op op, ValueId node, const IntList& axes, bool keepdims);

}  // namespace fw::capture::numpy
