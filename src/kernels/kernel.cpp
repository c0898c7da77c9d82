// Names of scalar operations and the text form of kernels, for dumps and tests. There is no parser: kernels are
// always built.
#include "kernels/kernel.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"
#include "kernels/scalar_eval.h"

namespace fw::kernels {
namespace {

enum class Flags : bool { kQuiet, kRaises };
struct ScalarOpInfo {
  std::string_view text;
  int arity;
  Flags flags;
};
constexpr ScalarOpInfo kScalarOps[] = {
#define FW_SCALAR_OP(Id, text, arity, result, flags, ...) {text, arity, Flags::k##flags},
#include "kernels/scalar_ops.def"
};

std::string_view name(ReduceOrder order) {
  switch (order) {
    case ReduceOrder::kAny: return "any";
    case ReduceOrder::kSequential: return "sequential";
    case ReduceOrder::kPairwise: return "pairwise";
    case ReduceOrder::kPairwisePart: return "pairwise_part";
    case ReduceOrder::kFirst: return "first";
    case ReduceOrder::kLowest: return "lowest";
    case ReduceOrder::kListed: return "listed";
  }
  FW_UNREACHABLE();
}

std::string typeName(DType d) { return std::string(graph::name(d)); }

std::string constantText(DType d, uint64_t bits) {
  switch (d) {
    case DType::kF16: return absl::StrFormat("%.9g", halfToFloat(static_cast<uint16_t>(bits)));
    case DType::kF32: {
      float f;
      std::memcpy(&f, &bits, sizeof f);
      return absl::StrFormat("%.9g", f);
    }
    case DType::kF64: {
      double v;
      std::memcpy(&v, &bits, sizeof v);
      return absl::StrFormat("%.17g", v);
    }
    case DType::kI8: return std::to_string(static_cast<int8_t>(bits));
    case DType::kI16: return std::to_string(static_cast<int16_t>(bits));
    case DType::kI32: return std::to_string(static_cast<int32_t>(bits));
    case DType::kI64: return std::to_string(static_cast<int64_t>(bits));
    case DType::kBool:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64: return std::to_string(bits);
    case DType::kC64:
    case DType::kC128: break;
  }
  return absl::StrFormat("0x%x", bits);
}

class Printer {
 public:
  Printer(const Kernel& kernel, const graph::SymContext& syms) : kernel_(kernel), syms_(syms) {}

  std::string run() {
    out_ = "kernel " + kernel_.name;
    if (const auto& e = kernel_.errors; e && e->any()) out_ += absl::StrFormat(" errors=%d", e->code());
    out_ += " {\n";
    block(kernel_.body, 1);
    return out_ + "}\n";
  }

 private:
  std::string value(ExprId id) const { return "%" + std::to_string(id.index); }
  std::string axis(AxisId id) const { return "a" + std::to_string(id.index); }

  std::string access(uint32_t index) const {
    const Access& a = kernel_.accesses[index];
    std::string text = "b" + std::to_string(a.buffer.index) + "[" + syms_.print(a.offset);
    for (const Access::Term& t : a.terms) text += " + " + axis(t.axis) + "*(" + syms_.print(t.stride) + ")";
    return text + "]";
  }

  std::string sum(const ListedSum& s) const {
    static constexpr const char* kWays[] = {" by element", " by pairs", " by pairs of parts"};
    std::string text = kWays[static_cast<int>(s.by)];
    for (size_t i = 0; i < s.sizes.size(); ++i)
      text += (i ? ", " : " of ") + syms_.print(s.sizes[i]) + "*(" + syms_.print(s.strides[i]) + ")";
    return text + (s.casting ? " casting" : "");
  }

  void line(int depth, const std::string& text) { out_ += std::string(2 * depth, ' ') + text + "\n"; }

  void expression(ExprId id, int depth) {
    const Expr& e = kernel_.exprs[id.index];
    std::string text = value(id) + " = " + std::string(fw::kernels::name(e.op));
    if (e.op == ScalarOp::kConst) text += " " + constantText(e.dtype, e.imm);
    if (e.op == ScalarOp::kParam) text += " " + syms_.print(e.sym);
    if (e.op == ScalarOp::kAxis) text += " " + axis(e.axis);
    if (isLoad(e.op)) text += " " + access(e.access);
    if (e.op == ScalarOp::kReduceResult) text += absl::StrFormat(" s%d.%d", e.stmt.index, e.imm);
    if (e.op == ScalarOp::kCallLibm || e.op == ScalarOp::kRaiseIf) text += absl::StrFormat(" #%d", e.imm);
    if (e.op == ScalarOp::kCallMath) text += " " + std::string(fw::kernels::name(MathCall::of(e.imm).function));
    for (size_t i = 0; i < e.operands.size(); ++i) text += (i ? ", " : " ") + value(e.operands[i]);
    line(depth, text + " : " + typeName(e.dtype));
  }

  void statement(StmtId id, int depth) {
    const Stmt& s = kernel_.stmts[id.index];
    std::string text;
    switch (s.kind) {
      case StmtKind::kStore: return line(depth, "store " + access(s.access) + " = " + value(s.value));
      case StmtKind::kObserve: return line(depth, "observe " + value(s.value));
      case StmtKind::kIf: text = "if " + value(s.value); break;
      case StmtKind::kLoop: text = "loop"; break;
      case StmtKind::kReduce: text = absl::StrFormat("s%d = reduce %s", id.index, std::string(name(s.order))); break;
    }
    if (s.axis.valid()) text += " " + axis(s.axis) + " in [" + value(s.lower) + ", " + value(s.upper) + ")";
    if (s.sum >= 0) text += sum(kernel_.sums[static_cast<size_t>(s.sum)]);
    if (s.vectorize) text += " vector";
    if (s.parallel) text += " parallel";
    line(depth, text + " {");
    block(s.body, depth + 1);
    for (const Accumulator& a : s.accumulators)
      line(depth + 1, "accumulate " + std::string(fw::kernels::name(a.combine)) + " " + value(a.element) + " from " +
                          value(a.init) + " : " + typeName(a.dtype));
    line(depth, "}");
  }

  void block(const Block& b, int depth) {
    for (const Item& item : b.items)
      if (item.expr.valid())
        expression(item.expr, depth);
      else
        statement(item.stmt, depth);
  }

  const Kernel& kernel_;
  const graph::SymContext& syms_;
  std::string out_;
};

}  // namespace

bool findsExtreme(ReduceOrder order) { return order == ReduceOrder::kFirst || order == ReduceOrder::kLowest; }

std::string_view name(ScalarOp op) { return kScalarOps[static_cast<int>(op)].text; }

std::string_view name(Libm function) {
  static constexpr std::string_view kNames[] = {
#define FW_LIBM(Id, symbolF32, symbolF64, arity, vector) #symbolF64,
#include "kernels/libm.def"
  };
  return kNames[static_cast<int>(function)];
}

int arity(ScalarOp op) { return kScalarOps[static_cast<int>(op)].arity; }
bool raisesFlags(ScalarOp op) { return kScalarOps[static_cast<int>(op)].flags == Flags::kRaises; }

bool mentions(const Kernel& kernel, const graph::SymContext& syms, SymId symbol) {
  const auto does = [&](SymId id) { return id.valid() && graph::mentions(syms, id, symbol); };
  const auto inTerm = [&](const Access::Term& term) { return does(term.stride); };
  return std::any_of(kernel.exprs.begin(), kernel.exprs.end(), [&](const Expr& e) { return does(e.sym); }) ||
         std::any_of(
             kernel.accesses.begin(), kernel.accesses.end(),
             [&](const Access& a) { return does(a.offset) || std::any_of(a.terms.begin(), a.terms.end(), inTerm); }) ||
         std::any_of(kernel.sums.begin(), kernel.sums.end(), [&](const ListedSum& sum) {
           return std::any_of(sum.sizes.begin(), sum.sizes.end(), does) ||
                  std::any_of(sum.strides.begin(), sum.strides.end(), does);
         });
}

std::string print(const Kernel& kernel, const graph::SymContext& syms) { return Printer(kernel, syms).run(); }

}  // namespace fw::kernels
