// By the op table's inner loops, and a list of those float operations that only move, compare or test numbers.
#include "graph/raising.h"

#include <algorithm>
#include <iterator>

#include "graph/op.h"

namespace fw::graph {
namespace {

/// Operations on floats that raise nothing, whatever they are given.
bool isQuiet(Op op) {
  static constexpr Op kQuiet[] = {
      Op::kNegative, Op::kPositive, Op::kFabs,      Op::kSign,         Op::kRint, Op::kMaximum,
      Op::kMinimum,  Op::kClip,     Op::kReal,      Op::kImag,         Op::kCopy, Op::kCopysign,
      Op::kSignbit,  Op::kWhere,    Op::kConjugate, Op::kMax,          Op::kMin,  Op::kAny,
      Op::kAll,      Op::kArgmax,   Op::kArgmin,    Op::kCountNonzero,
  };
  const Loops loops = info(op).loops;
  return std::find(std::begin(kQuiet), std::end(kQuiet), op) != std::end(kQuiet) || loops == Loops::kCompare ||
         loops == Loops::kLogical || loops == Loops::kPredicate || loops == Loops::kBitwise || loops == Loops::kShift ||
         loops == Loops::kRound;
}

int partSize(DType d) { return itemSize(d) / (isComplex(d) ? 2 : 1); }

bool isQuietCast(DType from, DType to) {
  if (to == DType::kBool) return true;
  if (to == DType::kF16) return from == DType::kF16 || from == DType::kBool;
  return !isInexact(from) || (isInexact(to) && partSize(to) >= partSize(from));
}

}  // namespace

bool mayRaise(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  switch (info(node.op).cls) {
    case OpClass::kSource:
    case OpClass::kView:
    case OpClass::kCreation:
    case OpClass::kJoin:
    case OpClass::kUpdate: return false;
    case OpClass::kControl: return true;
    case OpClass::kElementwise:
    case OpClass::kReduction:
    case OpClass::kScan: break;
  }
  const DType from = graph.type(node.operands[0]).dtype;
  if (node.op == Op::kCast) return !isQuietCast(from, node.type.dtype);
  if (node.op == Op::kAbsolute) return isComplex(from);
  const bool orders =
      node.op == Op::kLess || node.op == Op::kLessEqual || node.op == Op::kGreater || node.op == Op::kGreaterEqual;
  if (orders) return isComplex(from);  // NumPy compares their parts by comparisons that signal
  const bool integersToo = node.op == Op::kFloorDivide || node.op == Op::kRemainder || node.op == Op::kFmod ||
                           node.op == Op::kPower || node.op == Op::kReciprocal;
  return !isQuiet(node.op) && (integersToo || isInexact(from) || isInexact(node.type.dtype));
}

}  // namespace fw::graph
