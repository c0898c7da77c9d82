// Number guards. Short programs of machine arithmetic on floats, and their comparisons, stay in vector registers, one
// per step; everything else is a call of runNumber().
#include <cstring>

#include "cpython/numpy_api.h"
#include "graph/support/check.h"
#include "guards/emitter.h"

namespace fw::guards {

namespace {

constexpr size_t kRegisters = 12;  // xmm13 to xmm15 are scratch

int callNumber(const Guard* g, PyObject* const* objects, CallFrame* frame, const GuardSet* set, int symbol,
               int input) noexcept {
  NumberValue value;
  if (!runNumber(*g->number, *set->syms, objects, frame->symbols, frame->scalars, &value)) return 0;
  if (g->number->type() != NumberType::kFloat && (value.i < g->lo || value.i > g->hi)) return 0;
  if (symbol >= 0) frame->symbols[symbol] = value.i;
  if (input >= 0) std::memcpy(frame->scalars + 2 * input, &value, sizeof(value));
  return 1;
}

bool isComparison(NumberOp op) { return op >= NumberOp::kLess && op <= NumberOp::kGreaterEqual; }

}  // namespace

bool Emitter::canEmitNumber(const NumberProgram& program) const {
  if (program.steps.size() > kRegisters || program.type() == NumberType::kInt || program.ordinal >= 0) return false;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const NumberStep& step = program.steps[i];
    bool last = i + 1 == program.steps.size();
    switch (step.op) {
      case NumberOp::kConstant:
      case NumberOp::kObject:
        if (step.type != NumberType::kFloat || step.dtype != graph::DType::kF64) return false;
        break;
      case NumberOp::kSymbol:
        if (!canEmitExpr(step.sym, 0)) return false;
        break;
      case NumberOp::kToFloat:
        if (program.steps[step.operands[0]].op != NumberOp::kSymbol) return false;
        break;
      case NumberOp::kAdd:
      case NumberOp::kSubtract:
      case NumberOp::kMultiply:
      case NumberOp::kDivide:
      case NumberOp::kNegative:
      case NumberOp::kAbsolute: break;
      case NumberOp::kLess:
      case NumberOp::kLessEqual:
      case NumberOp::kEqual:
      case NumberOp::kNotEqual:
      case NumberOp::kGreater:
      case NumberOp::kGreaterEqual:
        if (!last || program.steps[step.operands[0]].type != NumberType::kFloat) return false;
        break;
      case NumberOp::kTruth:
        if (!last || program.steps[step.operands[0]].type != NumberType::kFloat) return false;
        break;
      case NumberOp::kInput:
      case NumberOp::kToSingle:
      case NumberOp::kNot:
      case NumberOp::kSameBits:
      case NumberOp::kCall: return false;
    }
  }
  return isComparison(program.steps.back().op) || program.steps.back().op == NumberOp::kTruth;
}

void Emitter::emitNumber(const Guard& g) {
  const NumberProgram& program = *g.number;
  // Loads may call C++, which leaves vector registers undefined: all come first, a second load of the same source calls
  // nothing.
  for (size_t i = 0; i < g.list.size(); ++i) {
    load(g.list[i]);
    mov(ptr[rsp + listOffset_ + 8 * i], rax);
  }
  if (g.lo == g.hi && canEmitNumber(program)) return emitNumberInline(g);
  inRax_ = {};
  const std::vector<int>& symbols = index_.symbolsOf[guard_];
  lea(rsi, ptr[rsp + listOffset_]);
  mov(rdx, rdi);
  loadPointer(rdi, &g);
  loadPointer(rcx, &set_);
  mov(r8d, symbols.empty() ? -1 : symbols[0]);
  mov(r9d, index_.numberInputOf[guard_]);
  callAddress(reinterpret_cast<const void*>(&callNumber));
  test(eax, eax);
  jz(failLabel());
}

void Emitter::emitNumberInline(const Guard& g) {
  const NumberProgram& program = *g.number;
  inRax_ = {};
  auto in = [](size_t step) { return Xbyak::Xmm(static_cast<int>(step)); };
  auto set = [&](const Xbyak::Xmm& out, double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    mov(rcx, bits);
    movq(out, rcx);
  };
  auto setBits = [&](const Xbyak::Xmm& out, uint64_t bits) {
    mov(rcx, bits);
    movq(out, rcx);
  };
  // Jumps to the failure if the outcome of a comparison is not the one wanted. NaN compares as in Python.
  const bool wanted = g.lo != 0;
  auto ordered = [&](const Xbyak::Xmm& small, const Xbyak::Xmm& large, bool orEqual) {  // small < large
    ucomisd(large, small);
    if (orEqual)
      wanted ? jb(failLabel()) : jae(failLabel());
    else
      wanted ? jbe(failLabel()) : ja(failLabel());
  };
  auto equal = [&](const Xbyak::Xmm& a, const Xbyak::Xmm& b, bool expected) {
    ucomisd(a, b);
    if (expected) {
      jne(failLabel());
      jp(failLabel());
    } else {
      Xbyak::Label unordered;
      jp(unordered);
      je(failLabel());
      L(unordered);
    }
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const NumberStep& step = program.steps[i];
    auto operand = [&](size_t k) { return in(step.operands[k]); };
    switch (step.op) {
      case NumberOp::kConstant: set(in(i), step.value.f); break;
      case NumberOp::kObject: {
        mov(rax, ptr[rsp + listOffset_ + 8 * step.index]);
        movsd(in(i),
              ptr[rax + (step.numpyScalar ? kNumpyScalarOffset : static_cast<int>(offsetof(PyFloatObject, ob_fval)))]);
        break;
      }
      case NumberOp::kSymbol:
        emitExpr(step.sym, 0);
        movq(in(i), rcx);
        break;
      case NumberOp::kToFloat:
        movq(rcx, operand(0));
        xorps(in(i), in(i));
        cvtsi2sd(in(i), rcx);
        break;
      case NumberOp::kAdd:
        movaps(in(i), operand(0));
        addsd(in(i), operand(1));
        break;
      case NumberOp::kSubtract:
        movaps(in(i), operand(0));
        subsd(in(i), operand(1));
        break;
      case NumberOp::kMultiply:
        movaps(in(i), operand(0));
        mulsd(in(i), operand(1));
        break;
      case NumberOp::kDivide:
        movaps(in(i), operand(0));
        divsd(in(i), operand(1));
        break;
      case NumberOp::kNegative:
        setBits(in(i), uint64_t{1} << 63);
        xorps(in(i), operand(0));
        break;
      case NumberOp::kAbsolute:
        setBits(in(i), ~(uint64_t{1} << 63));
        andps(in(i), operand(0));
        break;
      case NumberOp::kLess: ordered(operand(0), operand(1), false); break;
      case NumberOp::kLessEqual: ordered(operand(0), operand(1), true); break;
      case NumberOp::kGreater: ordered(operand(1), operand(0), false); break;
      case NumberOp::kGreaterEqual: ordered(operand(1), operand(0), true); break;
      case NumberOp::kEqual: equal(operand(0), operand(1), wanted); break;
      case NumberOp::kNotEqual: equal(operand(0), operand(1), !wanted); break;
      case NumberOp::kTruth:
        xorps(xmm15, xmm15);
        equal(operand(0), xmm15, !wanted);
        break;
      case NumberOp::kInput:
      case NumberOp::kToSingle:
      case NumberOp::kNot:
      case NumberOp::kSameBits:
      case NumberOp::kCall: FW_UNREACHABLE();
    }
  }
}

}  // namespace fw::guards
