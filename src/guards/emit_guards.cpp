// One emit##Id per row of guard_kinds.def: common cases in machine code, the rest as a call. Here those about identity,
// types, numbers, arrays and sizes; emit_objects.cpp has the others.
#include <cstring>

#include "cpython/objects.h"
#include "graph/support/check.h"
#include "guards/access.h"
#include "guards/emitter.h"
#include "guards/numpy_state.h"
#include "guards/overlap.h"

namespace fw::guards {

namespace {

// What stubs call. Answers are int: 1 to pass, 0 to fail.
int callEquals(PyObject* object, PyObject* constant) noexcept { return equalsExact(object, constant); }
int callDescrMatches(PyArray_Descr* descr, int dtype) noexcept {
  return dtypeOf(descr) == static_cast<graph::DType>(dtype);
}
int callLayoutMatches(PyObject* array, const graph::Layout* layout) noexcept {
  return layoutMatches(viewOf(array), *layout);
}
int callDisjoint(PyObject* a, PyObject* b) noexcept { return !mayOverlap(viewOf(a), viewOf(b)); }
int callAreDisjoint(PyObject* const* arrays, size_t count, size_t written) noexcept {
  return areDisjoint({arrays, count}, written);
}
int callNumpyErrors(int64_t token) noexcept { return numpyErrorToken() == token; }
int callRelation(const graph::SymContext* syms, const Guard* guard, const int64_t* symbols) noexcept {
  return relationHolds(*syms, *guard, symbols);
}

bool isPackedF(const graph::Layout& layout) {
  return layout.contiguity == graph::Contiguity::kPacked && layout.isFOrder() && !layout.broadcastAxes &&
         !layout.negativeAxes;
}

}  // namespace

void Emitter::emitIdentity(const Guard& g) {
  load(g.source);
  loadPointer(rcx, g.object.get());
  cmp(rax, rcx);
  jne(failLabel());
}

void Emitter::emitWeakIdentity(const Guard& g) {
  // A dead reference refers to None; nothing else that is alive compares equal to a dead referent.
  load(g.source);
  loadPointer(rcx, g.object.get());
  cmp(rax, ptr[rcx + offsetof(PyWeakReference, wr_object)]);
  jne(failLabel());
  loadPointer(rcx, Py_None);
  cmp(rax, rcx);
  je(failLabel());
}

void Emitter::emitType(const Guard& g) {
  load(g.source);
  requireType(g.source, reinterpret_cast<PyTypeObject*>(g.object.get()));
  storeSymbols(g.source);
}

void Emitter::emitWeakType(const Guard& g) {
  // None, to which a dead reference refers, is no type; and what the reference says is compared afresh on every run, so
  // that another type at the address of a dead one does not pass.
  load(g.source);
  loadPointer(rcx, g.object.get());
  mov(rcx, ptr[rcx + offsetof(PyWeakReference, wr_object)]);
  cmp(ptr[rax + offsetof(PyObject, ob_type)], rcx);
  jne(failLabel());
  types_[g.source.index] = reinterpret_cast<PyTypeObject*>(cpython::weakTarget(g.object.get()));
}

void Emitter::emitEquals(const Guard& g) {
  load(g.source);
  PyObject* constant = g.object.get();
  PyTypeObject* type = Py_TYPE(constant);
  if (type == &PyFloat_Type) {
    requireType(g.source, type);
    uint64_t bits = 0;
    std::memcpy(&bits, &reinterpret_cast<PyFloatObject*>(constant)->ob_fval, sizeof(bits));
    mov(rcx, bits);
    cmp(ptr[rax + offsetof(PyFloatObject, ob_fval)], rcx);
    jne(failLabel());
    return;
  }
  if (type == &PyLong_Type && cpython::isCompactInt(constant)) {
    requireType(g.source, type);
    auto* bytes = reinterpret_cast<const char*>(constant);
    int64_t word = 0;
    uint32_t digit = 0;
    std::memcpy(&word, bytes + cpython::LongLayout::kWord, sizeof(word));
    std::memcpy(&digit, bytes + cpython::LongLayout::kDigit, sizeof(digit));
    cmp(qword[rax + cpython::LongLayout::kWord], static_cast<int>(word));
    jne(failLabel());
    int64_t value = 0;
    cpython::asInt64(constant, &value);
    if (value == 0) return;
    cmp(dword[rax + cpython::LongLayout::kDigit], digit);
    jne(failLabel());
    return;
  }
  loadPointer(rcx, constant);
  cmp(rax, rcx);
  if (type == &PyBool_Type || constant == Py_None || constant == Py_Ellipsis) {
    jne(failLabel());
    types_[g.source.index] = type;
    return;
  }
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  jne(labels->first);
  L(labels->second);
  types_[g.source.index] = type;
  outOfLine([this, labels] {
    L(labels->first);
    checkedCall(&callEquals, [&] {
      mov(rdi, rax);
      mov(rsi, rcx);
    });
    jmp(labels->second);
  });
}

void Emitter::emitIntRange(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyLong_Type);
  auto requireRange = [this, &g] {
    if (g.lo != INT64_MIN) {
      compareImm(rcx, g.lo);
      jl(failLabel());
    }
    if (g.hi != INT64_MAX) {
      compareImm(rcx, g.hi);
      jg(failLabel());
    }
  };
  // Where every int of one digit is within the range, only longer ones are compared.
  constexpr int64_t kDigit = (int64_t{1} << PyLong_SHIFT) - 1;
  bool holdsDigits = g.lo <= -kDigit && g.hi >= kDigit;
  emitUnpackInt([=] {
    if (holdsDigits) requireRange();
  });
  if (!holdsDigits) requireRange();
  storeInt(g.source);
}

void Emitter::emitArrayMeta(const Guard& g) {
  load(g.source);
  requireType(g.source, set_.arrays->type);
  const ArrayFields& fields = set_.arrays->fields;
  if (fields.rank >= 0) {
    cmp(dword[rax + fields.rank], g.meta.rank());
  } else {
    mov(rcx, ptr[rax + fields.shapeEnd]);
    sub(rcx, ptr[rax + fields.shape]);
    cmp(rcx, 8 * g.meta.rank());
  }
  jne(failLabel());
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  comparePointer(ptr[rax + fields.descr], builtinDescr(g.meta.dtype));
  jne(labels->first);
  L(labels->second);
  outOfLine([this, labels, at = fields.descr, dtype = static_cast<int>(g.meta.dtype)] {
    L(labels->first);
    checkedCall(&callDescrMatches, [&] {
      mov(rdi, ptr[rax + at]);
      mov(esi, dtype);
    });
    jmp(labels->second);
  });

  constexpr int kC = NPY_ARRAY_C_CONTIGUOUS, kF = NPY_ARRAY_F_CONTIGUOUS, kAligned = NPY_ARRAY_ALIGNED;
  bool c = g.meta.layout.isPackedC(), f = !c && isPackedF(g.meta.layout);
  if (fields.flags >= 0) {
    int mask = c ? kAligned | kC : kAligned | kC | kF;
    int want = c ? kAligned | kC : f ? kAligned | kF : kAligned;
    mov(ecx, ptr[rax + fields.flags]);
    and_(ecx, mask);
    cmp(ecx, want);
    jne(failLabel());
  } else {
    cmp(dword[rax + fields.contiguous], c);
    jne(failLabel());
    if (!c) {
      cmp(dword[rax + fields.contiguous + 4], f);
      jne(failLabel());
    }
  }
  if (fields.deviceIn >= 0) {
    mov(rcx, ptr[rax + fields.data]);
    cmp(dword[rcx + fields.deviceIn], g.meta.device);
    jne(failLabel());
  }
  if (!c && !f)
    checkedCall(&callLayoutMatches, [&] {
      mov(rdi, rax);
      loadPointer(rsi, &g.meta.layout);
    });
  storeSymbols(g.source);
}

void Emitter::emitWriteable(const Guard& g) {
  load(g.source);
  requireType(g.source, set_.arrays->type);
  if (set_.arrays->fields.flags < 0) return;  // such arrays are never read-only
  test(dword[rax + set_.arrays->fields.flags], NPY_ARRAY_WRITEABLE);
  jz(failLabel());
}

void Emitter::emitSymRelation(const Guard& g) {
  if (!canEmitExpr(g.left, 0) || !canEmitExpr(g.right, 1)) {
    inRax_ = {};
    mov(rdx, r8);
    loadPointer(rdi, set_.syms.get());
    loadPointer(rsi, &g);
    callAddress(reinterpret_cast<const void*>(&callRelation));
    test(eax, eax);
    jz(failLabel());
    return;
  }
  emitExpr(g.left, 0);
  if (std::optional<int64_t> value = literal(*set_.syms, g.right)) {
    compareImm(rcx, *value);
  } else {
    emitExpr(g.right, 1);
    cmp(rcx, rdx);
  }
  switch (g.relation) {
    case Relation::kEq: jne(failLabel()); return;
    case Relation::kNe: je(failLabel()); return;
    case Relation::kLt: jge(failLabel()); return;
    case Relation::kLe: jg(failLabel()); return;
  }
}

void Emitter::loadPair(const Guard& g) {
  load(g.source);
  load(g.other);
  // Both are loaded now; loading them again calls nothing and keeps r9.
  load(g.source);
  mov(r9, rax);
  load(g.other);
}

void Emitter::emitNotSameObject(const Guard& g) {
  loadPair(g);
  cmp(rax, r9);
  je(failLabel());
}

void Emitter::emitSameObject(const Guard& g) {
  loadPair(g);
  cmp(rax, r9);
  jne(failLabel());
}

void Emitter::emitUnbound(const Guard& g) {
  const Source& source = (*set_.sources)[g.source];
  if (source.kind == SourceKind::kArg) {
    cmp(qword[rsi + 8 * source.index], 0);
    jne(failLabel());
    return;
  }
  load(source.base);
  requireType(source.base, &PyCell_Type);
  cmp(qword[rax + offsetof(PyCellObject, ob_ref)], 0);
  jne(failLabel());
}

void Emitter::emitNoOverlap(const Guard& g) {
  load(g.source);
  requireType(g.source, set_.arrays->type);
  load(g.other);
  requireType(g.other, set_.arrays->type);
  loadPair(g);
  checkedCall(&callDisjoint, [&] {
    mov(rdi, r9);
    mov(rsi, rax);
  });
}

void Emitter::emitDisjoint(const Guard& g) {
  for (size_t i = 0; i < g.list.size(); ++i) {
    load(g.list[i]);
    requireType(g.list[i], set_.arrays->type);
    mov(ptr[rsp + listOffset_ + 8 * i], rax);
  }
  inRax_ = {};
  lea(rdi, ptr[rsp + listOffset_]);
  mov(esi, static_cast<uint32_t>(g.list.size()));
  mov(edx, static_cast<uint32_t>(g.lo));
  callAddress(reinterpret_cast<const void*>(&callAreDisjoint));
  test(eax, eax);
  jz(failLabel());
}

void Emitter::emitNumpyErrors(const Guard& g) {
  inRax_ = {};
  mov(rdi, static_cast<uint64_t>(g.lo));
  callAddress(reinterpret_cast<const void*>(&callNumpyErrors));
  test(eax, eax);
  jz(failLabel());
}

void Emitter::emitGlobalState(const Guard& g) {
  mov(rcx, static_cast<uint64_t>(g.lo));
  mov(rcx, ptr[rcx]);
  compareImm(rcx, g.hi);
  jne(failLabel());
}

}  // namespace fw::guards
