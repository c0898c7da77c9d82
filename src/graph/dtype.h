// Element types and NumPy 2 type promotion.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fw::graph {

enum class DType : uint8_t {
#define FW_DTYPE(Id, text, kind, bytes, numpyChar) k##Id,
#include "graph/dtypes.def"
};

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex };

struct DTypeInfo {
  DType dtype;
  std::string_view text;
  DTypeKind kind;
  int bytes;
  char numpyChar;
};

inline constexpr DTypeInfo kDTypes[] = {
#define FW_DTYPE(Id, text, kind, bytes, numpyChar) {DType::k##Id, text, DTypeKind::k##kind, bytes, numpyChar},
#include "graph/dtypes.def"
};
inline constexpr int kNumDTypes = static_cast<int>(std::size(kDTypes));

constexpr const DTypeInfo& info(DType d) { return kDTypes[static_cast<int>(d)]; }
constexpr int itemSize(DType d) { return info(d).bytes; }
constexpr DTypeKind kindOf(DType d) { return info(d).kind; }
constexpr std::string_view name(DType d) { return info(d).text; }
constexpr bool isFloat(DType d) { return kindOf(d) == DTypeKind::kFloat; }
constexpr bool isComplex(DType d) { return kindOf(d) == DTypeKind::kComplex; }
constexpr bool isInexact(DType d) { return isFloat(d) || isComplex(d); }
constexpr bool isInteger(DType d) { return kindOf(d) == DTypeKind::kSigned || kindOf(d) == DTypeKind::kUnsigned; }
constexpr bool isSigned(DType d) { return kindOf(d) == DTypeKind::kSigned; }

/// Type of the real and imaginary parts of a complex type; other types map to themselves.
constexpr DType complexOf(DType d) { return d == DType::kF32 ? DType::kC64 : d == DType::kF64 ? DType::kC128 : d; }
constexpr DType realOf(DType d) { return d == DType::kC64 ? DType::kF32 : d == DType::kC128 ? DType::kF64 : d; }

std::optional<DType> dtypeFromText(std::string_view text);
std::optional<DType> dtypeFromNumpyChar(char c);

/// np.promote_types(a, b) for the types of the table (total: every pair has a result).
DType promote(DType a, DType b);

/// np.can_cast(from, to, casting="safe").
bool canCastSafely(DType from, DType to);
/// np.can_cast(from, to, casting="same_kind").
bool canCastSameKind(DType from, DType to);

/// Python scalars are weak in NumPy 2 (NEP 50): they adopt the array's type if its kind is high enough.
/// A Python bool is not weak: it is an ordinary DType::kBool.
enum class Weak : uint8_t { kNo, kInt, kFloat, kComplex };

/// Type of one operand of a NumPy call.
struct OperandType {
  DType dtype;  ///< for a weak operand the default type: i64, f64 or c128
  Weak weak = Weak::kNo;
};

/// np.result_type of operands with weak scalars among them.
DType resultType(const OperandType* operands, int count);

}  // namespace fw::graph
