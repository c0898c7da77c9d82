// Access paths in machine code. Each step checks what it relies on (exact type, bounds, presence) unless a guard or an
// earlier step has proven it; a step that cannot be taken fails the guard that asked for it.
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
PyObject* callTypeAttribute(PyObject* type, PyObject* name) noexcept { return cpython::typeAttribute(type, name); }
}  // namespace

AttributeCell* Emitter::newCell(PyObject* name) {
  return cells_.emplace_back(std::make_unique<AttributeCell>(name)).get();
}

void Emitter::load(SourceId id) {
  if (inRax_ == id) return;
  const Source& source = (*set_.sources)[id];
  int slot = kSources + 8 * static_cast<int>(id.index);
  if (source.kind == SourceKind::kArg) {
    mov(rax, ptr[rsi + 8 * source.index]);
  } else if (source.kind == SourceKind::kFunction) {
    mov(rax, ptr[rdi + offsetof(CallFrame, function)]);
  } else if (source.kind == SourceKind::kConst) {
    loadPointer(rax, source.object.get());
  } else if (spilled_[id.index]) {
    mov(rax, ptr[rsp + slot]);
  } else {
    load(source.base);
    emitStep(id, source);
    mov(ptr[rsp + slot], rax);
    spilled_[id.index] = true;
  }
  inRax_ = id;
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
  PyTypeObject* type = types_[base.index];
  Xbyak::Label isTuple, done;
  if (type != &PyTuple_Type && type != &PyList_Type) {
    comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyTuple_Type);
    je(isTuple);
    comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyList_Type);
    jne(failLabel());
    L(isTuple);
  }
  if (lengths_[base.index] <= index) {
    cmp(qword[rax + offsetof(PyVarObject, ob_size)], static_cast<int>(index));
    jle(failLabel());
  }
  if (type == &PyTuple_Type) {
    mov(rax, ptr[rax + offsetof(PyTupleObject, ob_item) + 8 * index]);
    return;
  }
  // A tuple's items are in the object, a list's behind a pointer at the same offset.
  static_assert(offsetof(PyTupleObject, ob_item) == offsetof(PyListObject, ob_item));
  lea(rdx, ptr[rax + offsetof(PyTupleObject, ob_item)]);
  mov(r9, ptr[rax + offsetof(PyListObject, ob_item)]);
  if (type == &PyList_Type) {
    mov(rdx, r9);
  } else {
    comparePointer(ptr[rax + offsetof(PyObject, ob_type)], &PyList_Type);
    cmove(rdx, r9);
  }
  mov(rax, ptr[rdx + 8 * index]);
}

void Emitter::emitDictItem(PyObject* name) {
  using cpython::DictLayout;
  AttributeCell* cell = newCell(name);
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
  loadPointer(rdx, name);
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

void Emitter::emitStep(SourceId, const Source& source) {
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
    case SourceKind::kConst: FW_UNREACHABLE();   // load() has them
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
      mov(rax, ptr[rax + offsetof(PyCellObject, ob_ref)]);
      test(rax, rax);
      jz(failLabel());
      return;
    case SourceKind::kTypeOf: mov(rax, ptr[rax + offsetof(PyObject, ob_type)]); return;
    case SourceKind::kAttr: return callFor(reinterpret_cast<const void*>(&callInstanceAttribute), newCell(name));
    case SourceKind::kTypeAttr:
      requireTypeObject(base);
      return callFor(reinterpret_cast<const void*>(&callTypeAttribute), name);
    case SourceKind::kItem: return emitItem(base, source.index);
    case SourceKind::kDictItem: return emitDictItem(name);
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
