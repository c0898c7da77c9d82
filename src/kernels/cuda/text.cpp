// Templates of scalar_ops.def and libm.def filled in.
#include "kernels/cuda/text.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/support/bits.h"
#include "graph/support/check.h"

namespace fw::kernels::cuda {
namespace {

struct Row {
  std::string_view f32, f64, integer;
};
constexpr Row kRows[] = {
#define FW_SCALAR_OP(Id, text, arity, result, flags, cudaF32, cudaF64, cudaInt) {cudaF32, cudaF64, cudaInt},
#include "kernels/scalar_ops.def"
};

struct Function {
  std::string_view f32, f64;
};
constexpr Function kFunctions[] = {
#define FW_LIBM(Id, symbolF32, symbolF64, arity, vector) {#symbolF32, #symbolF64},
#include "kernels/libm.def"
};

std::string_view column(const Row& row, DType d) {
  return d == DType::kF32 ? row.f32 : d == DType::kF64 ? row.f64 : row.integer;
}

std::string integerName(DType d, char kind) { return absl::StrCat(std::string(1, kind), 8 * graph::itemSize(d)); }

std::string fill(std::string_view text, DType result, absl::Span<const std::string> operands) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    switch (const char what = text[++i]) {
      case 'T': out += registerType(result); break;
      case 'S': out += integerName(result, 'i'); break;
      case 'U': out += integerName(result, 'u'); break;
      default: out += operands[static_cast<size_t>(what - '0')];
    }
  }
  return out;
}

/// By value; what has no other type in the language goes through f32.
absl::StatusOr<std::string> conversion(DType from, DType to, const std::string& x) {
  if (from == DType::kF16 && to == DType::kF32) return "fw_from_half(" + x + ")";
  if (from == DType::kF32 && to == DType::kF16) return "fw_to_half(" + x + ")";
  if (from == DType::kF16 || to == DType::kF16) return absl::UnimplementedError("conversion of float16");
  return absl::StrCat(std::string(registerType(to)), "(", x, ")");
}

absl::StatusOr<std::string> reinterpretation(DType from, DType to, const std::string& x) {
  if (from == DType::kF32) return absl::StrCat(std::string(registerType(to)), "(__float_as_int(", x, "))");
  if (from == DType::kF64) return absl::StrCat(std::string(registerType(to)), "(__double_as_longlong(", x, "))");
  if (to == DType::kF32) return absl::StrCat("__int_as_float(int(", x, "))");
  if (to == DType::kF64) return absl::StrCat("__longlong_as_double(i64(", x, "))");
  return absl::StrCat(std::string(registerType(to)), "(", x, ")");
}

}  // namespace

std::string_view registerType(DType d) { return graph::name(d); }
std::string_view memoryType(DType d) { return d == DType::kBool ? "u8" : graph::name(d); }

std::string literal(DType d, uint64_t bits) {
  switch (d) {
    case DType::kBool: return bits != 0 ? "true" : "false";
    case DType::kF32: {
      const auto v = fromBits<float>(bits);
      if (!std::isfinite(v)) return absl::StrFormat("__int_as_float(0x%x)", static_cast<uint32_t>(bits));
      return std::signbit(v) ? absl::StrFormat("(%af)", v) : absl::StrFormat("%af", v);
    }
    case DType::kF64: {
      const auto v = fromBits<double>(bits);
      if (!std::isfinite(v)) return absl::StrFormat("__longlong_as_double(0x%xll)", bits);
      return std::signbit(v) ? absl::StrFormat("(%a)", v) : absl::StrFormat("%a", v);
    }
    case DType::kI8: return absl::StrCat("i8(", static_cast<int>(fromBits<int8_t>(bits)), ")");
    case DType::kI16: return absl::StrCat("i16(", fromBits<int16_t>(bits), ")");
    case DType::kI32: return absl::StrFormat("i32(0x%xu)", static_cast<uint32_t>(bits));
    case DType::kI64: return absl::StrFormat("i64(0x%xull)", bits);
    case DType::kU8: return absl::StrCat("u8(", static_cast<int>(fromBits<uint8_t>(bits)), ")");
    case DType::kU16: return absl::StrCat("u16(", fromBits<uint16_t>(bits), ")");
    case DType::kU32: return absl::StrFormat("0x%xu", static_cast<uint32_t>(bits));
    case DType::kU64: return absl::StrFormat("0x%xull", bits);
    case DType::kF16: return absl::StrFormat("f16(0x%x)", static_cast<uint32_t>(bits));
    case DType::kC64:
    case DType::kC128: break;
  }
  FW_UNREACHABLE();
}

absl::StatusOr<std::string> operation(const Expr& e, DType operand, absl::Span<const std::string> operands) {
  if (e.op == ScalarOp::kCast) return conversion(operand, e.dtype, operands[0]);
  if (e.op == ScalarOp::kBitcast) return reinterpretation(operand, e.dtype, operands[0]);
  if (e.op == ScalarOp::kCallLibm) {
    const Function& f = kFunctions[e.imm];
    std::string text = absl::StrCat(std::string(e.dtype == DType::kF32 ? f.f32 : f.f64), "(");
    for (size_t i = 0; i < operands.size(); ++i) absl::StrAppend(&text, i ? ", " : "", operands[i]);
    return text + ")";
  }
  std::string_view text = column(kRows[static_cast<int>(e.op)], operand);
  // A choice is the same on every type, f16 included.
  if (e.op == ScalarOp::kSelect) text = kRows[static_cast<int>(e.op)].integer;
  if (text.empty())
    return absl::UnimplementedError(
        absl::StrCat("no CUDA text for ", std::string(name(e.op)), " of ", std::string(graph::name(operand))));
  return fill(text, e.dtype, operands);
}

absl::StatusOr<std::string> combining(ScalarOp op, DType d, const std::string& a, const std::string& b) {
  Expr e;
  e.op = op;
  e.dtype = d;
  return operation(e, d, {a, b});
}

}  // namespace fw::kernels::cuda
