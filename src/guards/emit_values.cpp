// Values on the way: ints, dimensions, symbolic expressions, and what a call reads after the last guard.
#include "cpython/objects.h"
#include "graph/support/check.h"
#include "guards/emitter.h"

namespace fw::guards {

namespace {

int callUnpack(PyObject* number, int64_t* out) noexcept { return cpython::asInt64(number, out); }

constexpr int kBuffers = offsetof(CallFrame, buffers), kScalars = offsetof(CallFrame, scalars),
              kObjects = offsetof(CallFrame, objects);

bool fitsImm32(int64_t value) { return value == static_cast<int32_t>(value); }

/// log2 of a positive power of two, -1 for anything else.
int exactLog2(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0 ? __builtin_ctzll(static_cast<uint64_t>(value)) : -1;
}

/// Where an object of this type has its number of items.
int sizeOffset(PyTypeObject* type) {
  if (type == &PyDict_Type) return offsetof(PyDictObject, ma_used);
  if (type == &PySet_Type || type == &PyFrozenSet_Type) return offsetof(PySetObject, used);
  return offsetof(PyVarObject, ob_size);
}

const Xbyak::Reg64 kScratch[] = {Xbyak::util::rcx, Xbyak::util::rdx, Xbyak::util::r9, Xbyak::util::r10};

}  // namespace

void Emitter::compareImm(const Xbyak::Reg64& reg, int64_t value) {
  if (fitsImm32(value)) {
    cmp(reg, static_cast<int>(value));
  } else {
    mov(r11, static_cast<uint64_t>(value));
    cmp(reg, r11);
  }
}

void Emitter::comparePointer(const Xbyak::Address& at, const void* pointer) {
  for (const auto& [pinned, reg] : pinned_) {
    if (pinned != pointer) continue;
    cmp(at, reg);
    return;
  }
  loadPointer(rcx, pointer);
  cmp(at, rcx);
}

void Emitter::emitUnpackInt(const std::function<void()>& ifLong) {
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  mov(rcx, ptr[rax + cpython::LongLayout::kWord]);
  if constexpr (cpython::kIs311) {
    lea(rdx, ptr[rcx + 1]);
    cmp(rdx, 2);
    ja(labels->first);
    mov(edx, ptr[rax + cpython::LongLayout::kDigit]);
    imul(rcx, rdx);
  } else {
    cmp(rcx, static_cast<int>(cpython::LongLayout::kCompactLimit));
    jae(labels->first);
    and_(ecx, 3);
    mov(edx, 1);
    sub(rdx, rcx);
    mov(ecx, ptr[rax + cpython::LongLayout::kDigit]);
    imul(rcx, rdx);
  }
  L(labels->second);
  outOfLine([this, labels, ifLong] {
    L(labels->first);
    checkedCall(&callUnpack, [&] {
      mov(rdi, rax);
      lea(rsi, ptr[rsp + kIntOut]);
    });
    mov(rcx, ptr[rsp + kIntOut]);
    ifLong();
    jmp(labels->second);
  });
}

bool Emitter::isPowerOfTwo(graph::SymId id) const { return exactLog2(literal(*set_.syms, id).value_or(0)) >= 0; }

bool Emitter::canEmitExpr(graph::SymId id, size_t depth) const {
  if (depth >= std::size(kScratch)) return false;
  const graph::SymNode& node = set_.syms->node(id);
  switch (node.op) {
    case graph::SymOp::kConst:
    case graph::SymOp::kSymbol: return true;
    case graph::SymOp::kFloorDiv:
    case graph::SymOp::kMod:
      if (!canEmitExpr(node.operands[0], depth)) return false;
      return isPowerOfTwo(node.operands[1]) || canEmitExpr(node.operands[1], depth + 1);
    case graph::SymOp::kAdd:
    case graph::SymOp::kMul:
    case graph::SymOp::kMin:
    case graph::SymOp::kMax:
      for (size_t i = 0; i < node.operands.size(); ++i)
        if (!canEmitExpr(node.operands[i], depth + (i > 0))) return false;
      return true;
  }
  return false;
}

void Emitter::emitDivision(graph::SymOp op, const Xbyak::Reg64& out, const Xbyak::Reg64& divisor) {
  Xbyak::Label divide, done;
  test(divisor, divisor);
  jz(failLabel());
  cmp(divisor, -1);  // the processor traps where the quotient is 2^63
  jne(divide);
  if (op == graph::SymOp::kFloorDiv) {
    neg(out);
    jo(failLabel());
  } else {
    xor_(out, out);
  }
  jmp(done);

  L(divide);
  movq(xmm13, rax);
  movq(xmm14, rdx);
  mov(r11, divisor);
  mov(rax, out);
  cqo();
  idiv(r11);
  Xbyak::Label floored;  // a rest of the other sign than the divisor is one divisor off
  test(rdx, rdx);
  jz(floored);
  if (op == graph::SymOp::kFloorDiv) {
    xor_(rdx, r11);
    jns(floored);
    dec(rax);
  } else {
    mov(rax, rdx);
    xor_(rax, r11);
    jns(floored);
    add(rdx, r11);
  }
  L(floored);
  mov(r11, op == graph::SymOp::kFloorDiv ? rax : rdx);
  movq(rax, xmm13);
  movq(rdx, xmm14);
  mov(out, r11);
  L(done);
}

bool Emitter::emitExpr(graph::SymId id, size_t depth) {
  const Xbyak::Reg64 out = kScratch[depth];
  const graph::SymNode& node = set_.syms->node(id);
  if (node.op == graph::SymOp::kConst) {
    mov(out, static_cast<uint64_t>(node.value));
    return true;
  }
  if (node.op == graph::SymOp::kSymbol) {
    mov(out, ptr[r8 + 8 * node.value]);
    return true;
  }
  emitExpr(node.operands[0], depth);
  if ((node.op == graph::SymOp::kFloorDiv || node.op == graph::SymOp::kMod) && !isPowerOfTwo(node.operands[1])) {
    emitExpr(node.operands[1], depth + 1);
    emitDivision(node.op, out, kScratch[depth + 1]);
    return true;
  }
  if (node.op == graph::SymOp::kFloorDiv || node.op == graph::SymOp::kMod) {
    int log2 = exactLog2(*literal(*set_.syms, node.operands[1]));
    if (node.op == graph::SymOp::kFloorDiv) {
      sar(out, log2);
    } else {
      mov(r11, (uint64_t{1} << log2) - 1);
      and_(out, r11);
    }
    return true;
  }
  for (size_t i = 1; i < node.operands.size(); ++i) {
    emitExpr(node.operands[i], depth + 1);
    const Xbyak::Reg64 next = kScratch[depth + 1];
    switch (node.op) {
      case graph::SymOp::kAdd:
        add(out, next);
        jo(failLabel());
        break;
      case graph::SymOp::kMul:
        imul(out, next);
        jo(failLabel());
        break;
      case graph::SymOp::kMin:
        cmp(next, out);
        cmovl(out, next);
        break;
      case graph::SymOp::kMax:
        cmp(next, out);
        cmovg(out, next);
        break;
      case graph::SymOp::kConst:
      case graph::SymOp::kSymbol:
      case graph::SymOp::kFloorDiv:
      case graph::SymOp::kMod: FW_UNREACHABLE();
    }
  }
  return true;
}

void Emitter::storeInt(SourceId source) {
  for (int symbol : index_.symbolsOf[guard_]) mov(ptr[r8 + 8 * symbol], rcx);
  if (stored_[source.index]) return;
  stored_[source.index] = true;
  for (int input : index_.intInputsOf[source.index]) {
    mov(r9, ptr[rdi + kScalars]);
    mov(ptr[r9 + 16 * input], rcx);
  }
}

void Emitter::storeSymbols(SourceId source) {
  using From = SymbolBinding::From;
  int loadedField = -1;  // of an array, in rcx
  bool isRange = types_[source.index] == &PyRange_Type, isRangeIterator = types_[source.index] == &PyRangeIter_Type;
  for (int symbol : index_.symbolsOf[guard_]) {
    const SymbolBinding& b = set_.symbols[symbol];
    auto word = [&](int index) { mov(rdx, ptr[rsp + kIntOut + 8 * index]); };  // where the guard has unpacked them to
    switch (b.from) {
      case From::kDim:
      case From::kStride: {
        int field = b.from == From::kDim ? set_.arrays->fields.shape : set_.arrays->fields.strides;
        if (loadedField != field) mov(rcx, ptr[rax + field]);
        loadedField = field;
        mov(rdx, ptr[rcx + 8 * b.axis]);
        break;
      }
      case From::kAddress: loadArrayData(rdx); break;
      case From::kPyInt:   // storeInt
      case From::kNumber:  // emitNumber
      case From::kCall:
      case From::kTurn: FW_UNREACHABLE();
      case From::kLength:
        if (isRange)
          word(3);
        else
          mov(rdx, ptr[rax + sizeOffset(types_[source.index])]);
        break;
      case From::kRangeStart:
      case From::kIterIndex: word(0); break;
      case From::kRangeStop: word(1); break;
      case From::kRangeStep: word(isRange ? 2 : 1); break;
      case From::kIterRemaining: word(isRangeIterator ? 2 : 1); break;
    }
    mov(ptr[r8 + 8 * symbol], rdx);
  }
}

/// Of the array in rax.
void Emitter::loadArrayData(const Xbyak::Reg64& to) {
  mov(to, ptr[rax + set_.arrays->fields.data]);
  if (set_.arrays->fields.dataIn >= 0) mov(to, ptr[to + set_.arrays->fields.dataIn]);
}

void Emitter::bindInputs() {
  // load() may call C++, which leaves r9 and r10 undefined: they are read again for every input from a path not loaded
  // yet.
  for (size_t i = 0; i < set_.inputs.size(); ++i) {
    const InputBinding& input = set_.inputs[i];
    if (isList(input.from)) continue;
    if (input.from != InputBinding::From::kPyInt && input.from != InputBinding::From::kNumber) load(input.source);
    mov(r9, ptr[rdi + kBuffers]);
    if (input.from == InputBinding::From::kArrayData) {
      loadArrayData(rcx);
      mov(ptr[r9 + 8 * i], rcx);
      continue;
    }
    if (input.from == InputBinding::From::kNumpyScalar) {
      lea(rcx, ptr[rax + kNumpyScalarOffset]);
      mov(ptr[r9 + 8 * i], rcx);
      continue;
    }
    mov(r10, ptr[rdi + kScalars]);
    lea(rcx, ptr[r10 + 16 * i]);
    mov(ptr[r9 + 8 * i], rcx);
    switch (input.from) {
      case InputBinding::From::kArrayData:
      case InputBinding::From::kNumpyScalar:
      case InputBinding::From::kListOfFloats:
      case InputBinding::From::kListOfInts:
      case InputBinding::From::kListLengths:
      case InputBinding::From::kListStarts:
      case InputBinding::From::kPyInt:          // storeInt has written it
      case InputBinding::From::kNumber: break;  // emitNumber
      case InputBinding::From::kPyFloat:
        mov(rdx, ptr[rax + offsetof(PyFloatObject, ob_fval)]);
        mov(ptr[rcx], rdx);
        break;
      case InputBinding::From::kPyBool:
        loadPointer(r11, Py_True);
        xor_(edx, edx);
        cmp(rax, r11);
        sete(dl);
        mov(ptr[rcx], rdx);
        break;
      case InputBinding::From::kPyComplex:
        movups(xmm0, ptr[rax + offsetof(PyComplexObject, cval)]);
        movups(ptr[rcx], xmm0);
        break;
    }
  }
}

void Emitter::bindObjects() {
  for (size_t i = 0; i < set_.objects.size(); ++i) {
    load(set_.objects[i]);
    mov(rcx, ptr[rdi + kObjects]);
    mov(ptr[rcx + 8 * i], rax);
  }
}

}  // namespace fw::guards
