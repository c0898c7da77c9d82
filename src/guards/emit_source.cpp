// Access paths in machine code. Each step checks what it relies on (exact type, bounds, presence) unless a guard or an
// earlier step has proven it; a step that cannot be taken fails the guard that asked for it.
#include "cpython/elements.h"
#include "cpython/hash_tables.h"
#include "cpython/objects.h"
#include "guards/access.h"
#include "guards/emitter.h"
#include "graph/support/check.h"

namespace fw::guards {

using cpython::AttributeCell;

namespace {
PyObject* callDictItem(PyObject* dict, AttributeCell* cell) noexcept { return cpython::dictItem(dict, *cell).value; }
PyObject* callInstanceAttribute(PyObject* object, AttributeCell* cell) noexcept {
  return cpython::instanceAttribute(object, *cell).value;
}
PyObject* callElement(PyObject* object, int64_t index) noexcept { return cpython::elementOf(object, index); }
PyObject* callHeldItem(PyObject* dict, AttributeCell* cell) noexcept {
  return cpython::probeTable(dict, cell->key.get(), cell->hash).value;
}
PyObject* callTypeAttribute(PyObject* type, PyObject* name) noexcept { return cpython::typeAttribute(type, name); }
}  // namespace

AttributeCell* Emitter::newCell(PyObject* key, Py_hash_t hash) {
  return cells_.emplace_back(std::make_unique<AttributeCell>(key, hash)).get();
}

void Emitter::load(SourceId id) {
  if (inRax_ == id) return;
  const Source& source = (*set_.sources)[id];
  if (source.kind == SourceKind::kArg) {
    mov(rax, ptr[rsi + 8 * source.index]);
    if (source.index >= set_.boundSlots) requireObject(id);
  } else if (source.kind == SourceKind::kFunction) {
    mov(rax, ptr[rdi + offsetof(CallFrame, function)]);
  } else if (source.kind == SourceKind::kConst) {
    loadPointer(rax, source.object.get());
  } else if (spilled_[id.index]) {
    mov(rax, ptr[rsp + slots_[id.index]]);
  } else {
    if (source.base.valid()) load(source.base);
    emitStep(id, source);
    if (slots_[id.index] >= 0) {
      mov(ptr[rsp + slots_[id.index]], rax);
      spilled_[id.index] = true;
    }
  }
  inRax_ = id;
}

void Emitter::requireObject(SourceId id) {
  if (present_[id.index]) return;
  test(rax, rax);
  jz(failLabel());
  present_[id.index] = true;
}

void Emitter::emitContents() {
  mov(rax, ptr[rax + offsetof(PyCellObject, ob_ref)]);
  test(rax, rax);
  jz(failLabel());
}

void Emitter::emitWeakTarget(PyObject* reference) {
  loadPointer(rax, reference);
  mov(rax, ptr[rax + offsetof(PyWeakReference, wr_object)]);
  loadPointer(rcx, Py_None);
  cmp(rax, rcx);
  je(failLabel());
  cmp(qword[rax + offsetof(PyObject, ob_refcnt)], 0);
  jle(failLabel());
}

void Emitter::emitIterated(SourceId base) {
  if (!types_[base.index] || !cpython::isIndexIterator(types_[base.index])) {
    Xbyak::Label known;
    for (PyTypeObject* type : {&PyListIter_Type, &PyTupleIter_Type, &PyEnum_Type}) {
      comparePointer(ptr[rax + offsetof(PyObject, ob_type)], type);
      if (type == &PyEnum_Type)
        jne(failLabel());
      else
        je(known);
    }
    L(known);
  }
  mov(rax, ptr[rax + cpython::IndexIteratorLayout::kIterated]);
  test(rax, rax);
  jz(failLabel());
}

void Emitter::requireType(SourceId id, PyTypeObject* type) {
  if (types_[id.index] == type) return;
  comparePointer(ptr[rax + offsetof(PyObject, ob_type)], type);
  jne(failLabel());
  types_[id.index] = type;
}

void Emitter::requireTypeObject(SourceId id) {
  if (isType_[id.index] || (*set_.sources)[id].kind == SourceKind::kTypeOf) return;
  static_assert(Py_TPFLAGS_TYPE_SUBCLASS == 1ul << 31);
  mov(rcx, ptr[rax + offsetof(PyObject, ob_type)]);
  test(dword[rcx + offsetof(PyTypeObject, tp_flags)], static_cast<uint32_t>(Py_TPFLAGS_TYPE_SUBCLASS));
  jz(failLabel());
  isType_[id.index] = true;
}

void Emitter::emitTupleField(int offset, int64_t index) {
  mov(rax, ptr[rax + offset]);
  test(rax, rax);
  jz(failLabel());
  cmp(qword[rax + offsetof(PyVarObject, ob_size)], static_cast<int>(index));
  jle(failLabel());
  mov(rax, ptr[rax + offsetof(PyTupleObject, ob_item) + 8 * index]);
}

void Emitter::emitItem(SourceId base, int64_t index) {
  if (index < 0) return emitItemFromEnd(base, index);
  PyTypeObject* type = types_[base.index];
  // A tuple's items are in the object, a list's behind a pointer at the same offset.
  static_assert(offsetof(PyTupleObject, ob_item) == offsetof(PyListObject, ob_item));
  constexpr int kItems = offsetof(PyTupleObject, ob_item);
  auto requireLength = [&] {
    if (lengths_[base.index] > index) return;
    cmp(qword[rax + offsetof(PyVarObject, ob_size)], static_cast<int>(index));
    jle(failLabel());
  };
  if (type == &PyTuple_Type || type == &PyList_Type) {
    requireLength();
    if (type == &PyList_Type) mov(rax, ptr[rax + kItems]);
    mov(rax, ptr[rax + 8 * index + (type == &PyTuple_Type ? kItems : 0)]);
    return;
  }
  Xbyak::Label isTuple, sized;
  lea(rdx, ptr[rax + kItems]);
  comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyTuple_Type);
  je(isTuple);
  comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyList_Type);
  jne(failLabel());
  mov(rdx, ptr[rax + kItems]);
  L(isTuple);
  requireLength();
  mov(rax, ptr[rdx + 8 * index]);
}

void Emitter::emitItemFromEnd(SourceId base, int64_t index) {
  requireType(base, &PyList_Type);
  mov(rcx, ptr[rax + offsetof(PyVarObject, ob_size)]);
  add(rcx, static_cast<int>(index));
  js(failLabel());
  mov(rax, ptr[rax + offsetof(PyListObject, ob_item)]);
  mov(rax, ptr[rax + 8 * rcx]);
}

void Emitter::emitDictItem(PyObject* name, Py_hash_t hash) {
  using cpython::DictLayout;
  AttributeCell* cell = newCell(name, hash);
  auto labels = std::make_shared<std::pair<Xbyak::Label, Xbyak::Label>>();
  comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyDict_Type);
  jne(failLabel());
  loadPointer(r9, cell);
  mov(rcx, ptr[rax + DictLayout::kKeys]);
  movzx(edx, word[rcx + DictLayout::kKeysTag]);
  cmp(ptr[r9 + offsetof(AttributeCell, keysTag)], dx);
  jne(labels->first);
  mov(rdx, ptr[r9 + offsetof(AttributeCell, hint)]);
  cmp(rdx, ptr[rcx + DictLayout::kEntryCount]);
  jge(labels->first);
  cmp(qword[rax + DictLayout::kValues], 0);
  jne(labels->first);
  add(rcx, ptr[r9 + offsetof(AttributeCell, entryOffset)]);
  mov(rdx, ptr[r9 + offsetof(AttributeCell, stored)]);
  cmp(ptr[rcx], rdx);
  jne(labels->first);
  mov(rax, ptr[rcx + 8]);
  L(labels->second);
  outOfLine([this, labels] {
    L(labels->first);
    mov(rdi, rax);
    mov(rsi, r9);
    callAddress(reinterpret_cast<const void*>(&callDictItem));
    test(rax, rax);
    jz(failLabel());
    jmp(labels->second);
  });
}

/// A known module, or one by a Type guard. A module has all that can be found as an instance attribute in one dict,
/// whatever class it is given later: only classes without slots of their own can be assigned.
bool Emitter::isModule(SourceId id) const {
  const Source& source = (*set_.sources)[id];
  auto known = [&](PyObject* object) { return object && PyModule_CheckExact(object); };
  return types_[id.index] == &PyModule_Type || (source.kind == SourceKind::kConst && known(source.object.get())) ||
         (source.kind == SourceKind::kWeak && known(cpython::weakTarget(source.object.get())));
}

void Emitter::emitStep(SourceId id, const Source& source) {
  SourceId base = source.base;
  PyObject* name = source.object.get();
  auto requireFunction = [&] {
    if ((*set_.sources)[base].kind != SourceKind::kFunction) requireType(base, &PyFunction_Type);
  };
  auto callFor = [&](const void* fn, const void* second) {
    mov(rdi, rax);
    loadPointer(rsi, second);
    callAddress(fn);
    test(rax, rax);
    jz(failLabel());
  };
  switch (source.kind) {
    case SourceKind::kArg:
    case SourceKind::kFunction:
    case SourceKind::kConst: FW_UNREACHABLE();  // load() has them
    case SourceKind::kGlobals:
      requireFunction();
      mov(rax, ptr[rax + offsetof(PyFunctionObject, func_globals)]);
      return;
    case SourceKind::kBuiltins:
      requireFunction();
      mov(rax, ptr[rax + offsetof(PyFunctionObject, func_builtins)]);
      return;
    case SourceKind::kCell:
      requireFunction();
      emitTupleField(offsetof(PyFunctionObject, func_closure), source.index);
      return emitContents();
    case SourceKind::kClosureCell:
      requireFunction();
      return emitTupleField(offsetof(PyFunctionObject, func_closure), source.index);
    case SourceKind::kContents:
      if ((*set_.sources)[base].kind != SourceKind::kClosureCell) requireType(base, &PyCell_Type);
      return emitContents();
    case SourceKind::kWeak: {
      PyObject* target = cpython::weakTarget(name);
      isType_[id.index] = target && PyType_Check(target);
      return emitWeakTarget(name);
    }
    case SourceKind::kModuleDict:
      if (!isModule(base)) requireType(base, &PyModule_Type);
      mov(rax, ptr[rax + PyModule_Type.tp_dictoffset]);
      test(rax, rax);
      jz(failLabel());
      return;
    case SourceKind::kElement:
      return callFor(reinterpret_cast<const void*>(&callElement), reinterpret_cast<const void*>(source.index));
    case SourceKind::kHeldItem:
      return callFor(reinterpret_cast<const void*>(&callHeldItem), newCell(name, source.index));
    case SourceKind::kIterated: return emitIterated(base);
    case SourceKind::kTypeOf: mov(rax, ptr[rax + offsetof(PyObject, ob_type)]); return;
    case SourceKind::kAttr:
      if (isModule(base)) {
        mov(rax, ptr[rax + PyModule_Type.tp_dictoffset]);
        test(rax, rax);
        jz(failLabel());
        return emitDictItem(name);
      }
      return callFor(reinterpret_cast<const void*>(&callInstanceAttribute), newCell(name));
    case SourceKind::kTypeAttr:
      requireTypeObject(base);
      return callFor(reinterpret_cast<const void*>(&callTypeAttribute), name);
    case SourceKind::kItem: return emitItem(base, source.index);
    case SourceKind::kDictItem: return emitDictItem(name, source.index);
    case SourceKind::kDefault:
      requireFunction();
      return emitTupleField(offsetof(PyFunctionObject, func_defaults), source.index);
    case SourceKind::kKwDefault:
      requireFunction();
      mov(rax, ptr[rax + offsetof(PyFunctionObject, func_kwdefaults)]);
      test(rax, rax);
      jz(failLabel());
      return emitDictItem(name);
    case SourceKind::kBoundSelf:
      requireType(base, &PyMethod_Type);
      mov(rax, ptr[rax + offsetof(PyMethodObject, im_self)]);
      return;
    case SourceKind::kBoundFunc:
      requireType(base, &PyMethod_Type);
      mov(rax, ptr[rax + offsetof(PyMethodObject, im_func)]);
      return;
  }
  FW_UNREACHABLE();
}

}  // namespace fw::guards
