// One emit##Id per row of guard_kinds.def: common cases in machine code, the rest as a call.
#include <cstring>

#include "cpython/objects.h"
#include "graph/support/check.h"
#include "guards/access.h"
#include "guards/emitter.h"

namespace fw::guards {

using cpython::AttributeCell;
using cpython::LookupState;

namespace {

// What stubs call. Answers are int: 1 to pass, 0 to fail.
int callEquals(PyObject* object, PyObject* constant) noexcept { return equalsExact(object, constant); }
int callDictHasKeys(PyObject* dict, PyObject* keys) noexcept { return cpython::dictHasKeys(dict, keys); }
int callDictNotContains(PyObject* dict, AttributeCell* cell) noexcept {
  return cpython::dictItem(dict, *cell).state == LookupState::kAbsent;
}
int callNoInstanceAttr(PyObject* object, AttributeCell* cell) noexcept {
  return cpython::instanceDictItem(object, *cell).state == LookupState::kAbsent;
}
int callDescrMatches(PyArray_Descr* descr, int dtype) noexcept { return dtypeOf(descr) == static_cast<graph::DType>(dtype); }
int callLayoutMatches(PyArrayObject* array, const graph::Layout* layout) noexcept { return layoutMatches(array, *layout); }
int callDisjoint(PyArrayObject* a, PyArrayObject* b) noexcept { return !mayOverlap(a, b); }
int callRelation(const graph::SymContext* syms, const Guard* guard, const int64_t* symbols) noexcept {
  return relationHolds(*syms, *guard, symbols);
}

constexpr int kNd = offsetof(PyArrayObject_fields, nd), kDescr = offsetof(PyArrayObject_fields, descr),
              kFlags = offsetof(PyArrayObject_fields, flags);

bool isPackedF(const graph::Layout& layout) {
  return layout.contiguity == graph::Contiguity::kPacked && layout.isFOrder() && !layout.broadcastAxes && !layout.negativeAxes;
}

}  // namespace

void Emitter::emitIdentity(const Guard& g) {
  load(g.source);
  loadPointer(rcx, g.object.get());
  cmp(rax, rcx);
  jne(failLabel());
}

void Emitter::emitType(const Guard& g) {
  load(g.source);
  requireType(g.source, reinterpret_cast<PyTypeObject*>(g.object.get()));
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
    checkedCall(&callEquals, [&] { mov(rdi, rax); mov(rsi, rcx); });
    jmp(labels->second);
  });
}

void Emitter::emitIntRange(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyLong_Type);
  emitUnpackInt();
  if (g.lo != INT64_MIN) {
    compareImm(rcx, g.lo);
    jl(failLabel());
  }
  if (g.hi != INT64_MAX) {
    compareImm(rcx, g.hi);
    jg(failLabel());
  }
  storeInt(g.source);
}

void Emitter::emitLength(const Guard& g) {
  load(g.source);
  PyTypeObject* type = types_[g.source.index];
  if (type != &PyTuple_Type && type != &PyList_Type) {
    Xbyak::Label sized;
    comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyTuple_Type);
    je(sized);
    comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyList_Type);
    jne(failLabel());
    L(sized);
  }
  mov(rcx, ptr[rax + offsetof(PyVarObject, ob_size)]);
  compareImm(rcx, g.lo);
  jne(failLabel());
  lengths_[g.source.index] = g.lo;
}

void Emitter::emitDictKeys(const Guard& g) {
  load(g.source);
  checkedCall(&callDictHasKeys, [&] { mov(rdi, rax); loadPointer(rsi, g.object.get()); });
}

void Emitter::emitDictContains(const Guard& g) {
  load(g.source);
  emitDictItem(g.object.get());
  inRax_ = {};
}

void Emitter::emitDictNotContains(const Guard& g) {
  load(g.source);
  AttributeCell* cell = newCell(g.object.get());
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  requireType(g.source, &PyDict_Type);
  loadPointer(r9, cell);
  mov(rcx, ptr[rax + cpython::DictLayout::kVersion]);
  cmp(rcx, ptr[r9 + offsetof(AttributeCell, absentVersion)]);
  jne(labels->first);
  L(labels->second);
  outOfLine([this, labels] {
    L(labels->first);
    checkedCall(&callDictNotContains, [&] { mov(rdi, rax); mov(rsi, r9); });
    jmp(labels->second);
  });
}

void Emitter::emitNoInstanceAttr(const Guard& g) {
  load(g.source);
  checkedCall(&callNoInstanceAttr, [&] { mov(rdi, rax); loadPointer(rsi, newCell(g.object.get())); });
}

void Emitter::emitTypeVersion(const Guard& g) {
  load(g.source);
  requireTypeObject(g.source);
  cmp(dword[rax + offsetof(PyTypeObject, tp_version_tag)], static_cast<uint32_t>(g.lo));
  jne(failLabel());
}

void Emitter::emitFunctionCode(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyFunction_Type);
  comparePointer(ptr[rax + offsetof(PyFunctionObject, func_code)], g.object.get());
  jne(failLabel());
}

void Emitter::emitArrayMeta(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyArray_Type);
  cmp(dword[rax + kNd], g.meta.rank());
  jne(failLabel());
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  comparePointer(ptr[rax + kDescr], builtinDescr(g.meta.dtype));
  jne(labels->first);
  L(labels->second);
  outOfLine([this, labels, dtype = static_cast<int>(g.meta.dtype)] {
    L(labels->first);
    checkedCall(&callDescrMatches, [&] { mov(rdi, ptr[rax + kDescr]); mov(esi, dtype); });
    jmp(labels->second);
  });

  constexpr int kC = NPY_ARRAY_C_CONTIGUOUS, kF = NPY_ARRAY_F_CONTIGUOUS, kAligned = NPY_ARRAY_ALIGNED;
  bool c = g.meta.layout.isPackedC(), f = !c && isPackedF(g.meta.layout);
  int mask = c ? kAligned | kC : kAligned | kC | kF;
  int want = c ? kAligned | kC : f ? kAligned | kF : kAligned;
  mov(ecx, ptr[rax + kFlags]);
  and_(ecx, mask);
  cmp(ecx, want);
  jne(failLabel());
  if (!c && !f) checkedCall(&callLayoutMatches, [&] { mov(rdi, rax); loadPointer(rsi, &g.meta.layout); });
  storeDims(g.source);
}

void Emitter::emitWriteable(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyArray_Type);
  test(dword[rax + kFlags], NPY_ARRAY_WRITEABLE);
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
  if (std::optional<int64_t> value = set_.syms->asConst(g.right)) {
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

void Emitter::emitNotSameObject(const Guard& g) {
  load(g.source);
  load(g.other);
  // Both are loaded now; loading them again calls nothing and keeps r9.
  load(g.source);
  mov(r9, rax);
  load(g.other);
  cmp(rax, r9);
  je(failLabel());
}

void Emitter::emitNoOverlap(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyArray_Type);
  load(g.other);
  requireType(g.other, &PyArray_Type);
  load(g.source);
  mov(r9, rax);
  load(g.other);
  checkedCall(&callDisjoint, [&] { mov(rdi, r9); mov(rsi, rax); });
}

void Emitter::emitGlobalState(const Guard& g) {
  mov(rcx, static_cast<uint64_t>(g.lo));
  mov(rcx, ptr[rcx]);
  compareImm(rcx, g.hi);
  jne(failLabel());
}

}  // namespace fw::guards
