// The op table: one row per operation in ops/*.def, everything else derives from the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"

namespace fw::graph {

enum class Op : uint16_t {
#define FW_OP(Id, text, arity, cls, loops, result, numpy, cpu, contract, raises, cost) k##Id,
#include "graph/ops/all.def"
};

/// What kind of operation a row is; passes and builders dispatch on this, not on single ops.
enum class OpClass : uint8_t {
  kSource,       ///< input, constant, symbolic value: no operands
  kElementwise,  ///< operands broadcast to the result's shape
  kReduction,    ///< attrs axes, keepdims; one operand
  kScan,         ///< attr axis; same shape
  kView,         ///< result aliases the operand: an affine map of its index space
  kCreation,     ///< new array from symbolic sizes and scalars
  kJoin,         ///< concatenate and friends: operands laid side by side
  kGather,       ///< elements of its first operand, which is memory, by numbers
  kUpdate,       ///< write of a value into a view of a base: functional (update), or into an input (store)
  kControl,      ///< loop, cond and their projections
};

/// NumPy type resolution of a call (which inner loops exist), see numpy_types.h.
enum class Loops : uint8_t {
  kNone,          ///< not a ufunc: operand types are used as they are
  kNumber,        ///< ?bBhHiIlLefdFD
  kNumberNoBool,  ///< as kNumber, bool is a TypeError
  kBitwise,       ///< bool and integers
  kShift,         ///< integers; bool becomes i8
  kInexact,       ///< efdFD; bool and integers become the float NumPy picks by size
  kFloat,         ///< efd;   the same promotion, complex is a TypeError
  kDivide,        ///< true_divide: efdFD, all integers and bool become f64
  kReal,          ///< bBhHiIlLefd; bool becomes i8, complex is a TypeError
  kCompare,       ///< any two, compared in their promoted type (u64 with signed integers: exactly)
  kLogical,       ///< any, tested for truth; operands of different types are converted to bool first
  kPredicate,     ///< any one operand, answers bool
  kPower,         ///< bBhHiIlLefdFD; bool becomes i8 (power, square, reciprocal, conjugate)
  kRound,         ///< floor, ceil, trunc: bool and integers pass unchanged (NumPy >= 2.1), float otherwise; no complex
};

/// Element type of the result, given operands already converted to the loop's type.
enum class ResultType : uint8_t {
  kSame,    ///< type of the first operand
  kSecond,  ///< type of the second operand (where)
  kBool,
  kReal,     ///< realOf(first)
  kComplex,  ///< complexOf(first)
  kI64,
  kAttr,  ///< attr dtype
};

/// Promise about the numbers.
enum class Contract : uint8_t {
  kExact,  ///< bitwise NumPy's
  kUlp,    ///< within 1 ULP (f64) or 2 ULP (f32) of the true value; f16 is the rounded f32 result
};

/// When computing the operation can be noticed by more than its result: by floating-point flags, a division of integers
/// by zero, or a kernel that declines (fmax of zeros). mayRaise() (raising.h) answers for a node.
enum class Raises : uint8_t {
  kNothing,   ///< moves, compares or tests numbers
  kFloats,    ///< if an operand or the result is a floating-point number
  kComplex,   ///< if the operands are complex
  kNumbers,   ///< of integers, too
  kByTypes,   ///< a cast: by both types
  kAnything,  ///< whatever its regions raise
};

/// What one element costs. costOf() (cost.h) answers for a node.
enum class Cost : uint8_t {
  kFree,      ///< nothing is computed
  kCheap,     ///< a few quick instructions
  kCostly,    ///< one slow instruction: a division, a root
  kFunction,  ///< dozens of instructions
  kModulus,   ///< kFunction of a complex number, kCheap of any other
};

struct OpInfo {
  Op op;
  std::string_view text;  ///< name in the text IR
  int arity;              ///< number of operands, -1 for variadic
  OpClass cls;
  Loops loops;
  ResultType result;
  std::string_view numpy;  ///< '|'-separated ufuncs ("np.add") and operators ("operator.add") that mean this op
  std::string_view cpu;    ///< name of the CPU lowering; "decompose" and "structural" are special
  Contract contract;
  Raises raises;
  Cost cost;
};

std::string_view name(OpClass cls);
std::string_view name(Raises raises);

absl::Span<const OpInfo> opTable();
const OpInfo& info(Op op);
std::optional<Op> opFromText(std::string_view text);
/// Row with `name` ("np.add", "operator.add") among its NumPy names. Functions and methods stand in
/// frame_eval/numpy/numpy_functions.def.
std::optional<Op> opFromNumpyName(std::string_view name);

}  // namespace fw::graph
