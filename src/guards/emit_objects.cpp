// Emitters of guards about containers, attributes, functions and iterators.
#include "cpython/code_facts.h"
#include "cpython/hash_tables.h"
#include "cpython/objects.h"
#include "guards/access.h"
#include "guards/emitter.h"

namespace fw::guards {

using cpython::AttributeCell;
using cpython::LookupState;

namespace {

// What stubs call. Answers are int: 1 to pass, 0 to fail.
int callDictHasKeys(PyObject* dict, PyObject* keys) noexcept { return dictHasKeys(dict, keys); }
int callHoldsElements(PyObject* object, PyObject* keys, int64_t count, int64_t limit) noexcept {
  return holdsElements(object, keys, count, limit);
}
int callItemsAre(PyObject* sequence, PyObject* items) noexcept { return itemsAre(sequence, items); }
int callDictNotContains(PyObject* dict, AttributeCell* cell) noexcept {
  return cpython::dictItem(dict, *cell).state == LookupState::kAbsent;
}
int callSetContains(PyObject* set, AttributeCell* cell) noexcept {
  return cpython::probeSet(set, cell->key.get(), cell->hash) == LookupState::kFound;
}
int callSetNotContains(PyObject* set, AttributeCell* cell) noexcept {
  return cpython::probeSet(set, cell->key.get(), cell->hash) == LookupState::kAbsent;
}
int callHasAttr(PyObject* object, AttributeCell* cell) noexcept {
  return cpython::plainAttribute(object, *cell) == LookupState::kFound;
}
int callNoHasAttr(PyObject* object, AttributeCell* cell) noexcept {
  return cpython::plainAttribute(object, *cell) == LookupState::kAbsent;
}
int callNoInstanceAttr(PyObject* object, AttributeCell* cell) noexcept {
  return cpython::instanceDictItem(object, *cell).state == LookupState::kAbsent;
}
int callFactsHold(ClassFacts* facts, PyTypeObject* type) noexcept {
  try {
    return facts->hold(type);
  } catch (const cpython::PythonError&) {  // out of memory
    PyErr_Clear();
    return 0;
  }
}
int callReadRange(PyObject* range, int64_t* out) noexcept { return cpython::readRange(range, out); }
int callReadRangeIterator(PyObject* iterator, int64_t* out) noexcept {
  return cpython::readRangeIterator(iterator, out);
}
int callReadIndexIterator(PyObject* iterator, int64_t* out) noexcept {
  return cpython::readIndexIterator(iterator, out);
}

}  // namespace

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

void Emitter::emitItemsAre(const Guard& g) {
  load(g.source);
  checkedCall(&callItemsAre, [&] {
    mov(rdi, rax);
    loadPointer(rsi, g.object.get());
  });
}

void Emitter::emitDictKeys(const Guard& g) {
  load(g.source);
  checkedCall(&callDictHasKeys, [&] {
    mov(rdi, rax);
    loadPointer(rsi, g.object.get());
  });
}

void Emitter::emitElements(const Guard& g) {
  load(g.source);
  checkedCall(&callHoldsElements, [&] {
    mov(rdi, rax);
    loadPointer(rsi, g.object.get());
    mov(rdx, g.lo);
    mov(rcx, g.hi);
  });
}

void Emitter::emitDictContains(const Guard& g) {
  load(g.source);
  emitDictItem(g.object.get(), g.lo);
  inRax_ = {};
}

void Emitter::emitDictNotContains(const Guard& g) {
  load(g.source);
  AttributeCell* cell = newCell(g.object.get(), g.lo);
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  requireType(g.source, &PyDict_Type);
  loadPointer(r9, cell);
  mov(rcx, ptr[rax + cpython::DictLayout::kVersion]);
  cmp(rcx, ptr[r9 + offsetof(AttributeCell, absentVersion)]);
  jne(labels->first);
  L(labels->second);
  outOfLine([this, labels] {
    L(labels->first);
    checkedCall(&callDictNotContains, [&] {
      mov(rdi, rax);
      mov(rsi, r9);
    });
    jmp(labels->second);
  });
}

void Emitter::emitDictVersion(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyDict_Type);
  mov(rcx, static_cast<uint64_t>(g.lo));
  cmp(ptr[rax + cpython::DictLayout::kVersion], rcx);
  jne(failLabel());
}

template <class Fn>
void Emitter::emitKeyCall(const Guard& g, Fn* fn) {
  load(g.source);
  checkedCall(fn, [&] {
    mov(rdi, rax);
    loadPointer(rsi, newCell(g.object.get(), g.lo));
  });
}

void Emitter::emitSetContains(const Guard& g) { emitKeyCall(g, &callSetContains); }
void Emitter::emitSetNotContains(const Guard& g) { emitKeyCall(g, &callSetNotContains); }
void Emitter::emitHasAttr(const Guard& g) { emitKeyCall(g, &callHasAttr); }
void Emitter::emitNoHasAttr(const Guard& g) { emitKeyCall(g, &callNoHasAttr); }
void Emitter::emitNoInstanceAttr(const Guard& g) { emitKeyCall(g, &callNoInstanceAttr); }

void Emitter::emitTypeVersion(const Guard& g) {
  load(g.source);
  requireTypeObject(g.source);
  if (!g.facts) {
    cmp(dword[rax + offsetof(PyTypeObject, tp_version_tag)], static_cast<uint32_t>(g.lo));
    jne(failLabel());
    return;
  }
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  loadPointer(rcx, g.facts->version());
  mov(ecx, dword[rcx]);
  cmp(dword[rax + offsetof(PyTypeObject, tp_version_tag)], ecx);
  jne(labels->first);
  L(labels->second);
  outOfLine([this, labels, facts = g.facts.get()] {
    L(labels->first);
    checkedCall(&callFactsHold, [&] {
      mov(rsi, rax);
      loadPointer(rdi, facts);
    });
    jmp(labels->second);
  });
}

void Emitter::emitFunctionField(const Guard& g, int offset) {
  load(g.source);
  requireType(g.source, &PyFunction_Type);
  comparePointer(ptr[rax + offset], g.object.get());
  jne(failLabel());
}

/// rax: the function. Its code is what runs only if nobody has given it another way of being called.
void Emitter::requirePlainVectorcall() {
  mov(rcx, reinterpret_cast<uintptr_t>(cpython::plainVectorcall()));
  cmp(ptr[rax + offsetof(PyFunctionObject, vectorcall)], rcx);
  jne(failLabel());
}

void Emitter::emitFunctionCode(const Guard& g) {
  emitFunctionField(g, offsetof(PyFunctionObject, func_code));
  requirePlainVectorcall();
}

void Emitter::emitWeakFunctionCode(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyFunction_Type);
  loadPointer(rcx, g.object.get());
  mov(rcx, ptr[rcx + offsetof(PyWeakReference, wr_object)]);
  cmp(ptr[rax + offsetof(PyFunctionObject, func_code)], rcx);
  jne(failLabel());
  requirePlainVectorcall();
}

void Emitter::emitClosure(const Guard& g) { emitFunctionField(g, offsetof(PyFunctionObject, func_closure)); }
void Emitter::emitDefaults(const Guard& g) { emitFunctionField(g, offsetof(PyFunctionObject, func_defaults)); }
void Emitter::emitKwDefaults(const Guard& g) { emitFunctionField(g, offsetof(PyFunctionObject, func_kwdefaults)); }

void Emitter::emitRange(const Guard& g) {
  load(g.source);
  requireType(g.source, &PyRange_Type);
  checkedCall(&callReadRange, [&] {
    mov(rdi, rax);
    lea(rsi, ptr[rsp + kIntOut]);
  });
  storeSymbols(g.source);
}

void Emitter::emitIterator(const Guard& g) {
  load(g.source);
  auto* type = reinterpret_cast<PyTypeObject*>(g.object.get());
  requireType(g.source, type);
  checkedCall(type == &PyRangeIter_Type ? &callReadRangeIterator : &callReadIndexIterator, [&] {
    mov(rdi, rax);
    lea(rsi, ptr[rsp + kIntOut]);
  });
  storeSymbols(g.source);
}

}  // namespace fw::guards
