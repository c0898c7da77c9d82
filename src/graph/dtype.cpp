// Type promotion, computed from kinds and sizes instead of a table: NumPy's promotion table is the smallest type of the
// higher kind that holds both, with f64 as the answer where no integer type is large enough.
#include "graph/dtype.h"

#include <algorithm>

namespace fw::graph {
namespace {

DType signedOfSize(int bytes) {
  return bytes == 1 ? DType::kI8 : bytes == 2 ? DType::kI16 : bytes == 4 ? DType::kI32 : DType::kI64;
}

DType floatOfSize(int bytes) { return bytes <= 2 ? DType::kF16 : bytes == 4 ? DType::kF32 : DType::kF64; }

/// Smallest float type that NumPy takes for all values of an integer or bool type.
int floatBytesHolding(DType d) {
  if (isInexact(d)) return itemSize(realOf(d));
  return std::min(2 * itemSize(d), 8);
}

DType promoteIntegers(DType a, DType b) {
  if (isSigned(a) == isSigned(b)) return itemSize(a) >= itemSize(b) ? a : b;
  DType s = isSigned(a) ? a : b;
  DType u = isSigned(a) ? b : a;
  if (itemSize(s) > itemSize(u)) return s;
  if (itemSize(u) == 8) return DType::kF64;
  return signedOfSize(2 * itemSize(u));
}

/// NumPy's order of kinds for same_kind casting.
int castRank(DType d) {
  switch (kindOf(d)) {
    case DTypeKind::kBool: return 0;
    case DTypeKind::kUnsigned: return 1;
    case DTypeKind::kSigned: return 2;
    case DTypeKind::kFloat: return 3;
    case DTypeKind::kComplex: return 4;
  }
  return 0;
}

}  // namespace

std::optional<DType> dtypeFromText(std::string_view text) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.text == text) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtypeFromNumpyChar(char c) {
  if (c == 'q') return DType::kI64;
  if (c == 'Q') return DType::kU64;
  for (const DTypeInfo& row : kDTypes) {
    if (row.numpyChar == c) return row.dtype;
  }
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (isInteger(a) && isInteger(b)) return promoteIntegers(a, b);
  int bytes = std::max(floatBytesHolding(a), floatBytesHolding(b));
  if (isComplex(a) || isComplex(b)) return bytes <= 4 ? DType::kC64 : DType::kC128;
  return floatOfSize(bytes);
}

bool canCastSafely(DType from, DType to) { return promote(from, to) == to; }

bool canCastSameKind(DType from, DType to) { return canCastSafely(from, to) || castRank(from) <= castRank(to); }

DType resultType(const OperandType* operands, int count) {
  std::optional<DType> strong;
  Weak weak = Weak::kNo;
  // Promotion is not associative: NumPy starts from the highest type, so that i8, u8 and f16 give f16 and not f32 by
  // way of i16.
  for (bool inexact : {true, false}) {
    for (int i = 0; i < count; ++i) {
      if (operands[i].weak != Weak::kNo) {
        weak = std::max(weak, operands[i].weak);
      } else if (isInexact(operands[i].dtype) == inexact) {
        strong = strong ? promote(*strong, operands[i].dtype) : operands[i].dtype;
      }
    }
  }
  switch (weak) {
    case Weak::kNo: return strong.value_or(DType::kF64);
    case Weak::kInt: return !strong || *strong == DType::kBool ? DType::kI64 : *strong;
    case Weak::kFloat: return !strong || !isInexact(*strong) ? DType::kF64 : *strong;
    case Weak::kComplex:
      if (!strong || !isInexact(*strong)) return DType::kC128;
      return isComplex(*strong) ? *strong : promote(*strong, DType::kC64);
  }
  return DType::kF64;
}

}  // namespace fw::graph
