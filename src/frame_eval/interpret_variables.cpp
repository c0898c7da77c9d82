// Variables: locals, cells, globals; and the frames that hold them. The frame of a region begins with unread slots: an
// object becomes a Value when it is first loaded, so that what the region does not touch is not guarded.
#include <algorithm>

#include "cpython/code_facts.h"
#include "cpython/numpy_api.h"
#include "frame_eval/inlined_generators.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/policy.h"
#include "frame_eval/splice/code_map.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using cpython::Opcode;
using guards::SourceKind;

// ---- outermost frames ---------------------------------------------------------------------------------------------

namespace {

/// Numbers that are computed before the first array is looked at belong with it.
void expectArrays(Trace& trace, absl::Span<PyObject* const> objects) {
  numpy::findLibraries();
  const guards::ArrayLibrary* cupy = guards::findCupy();
  for (PyObject* object : objects) {
    const guards::ArrayLibrary* library = object && cupy ? guards::arrayLibraryOf(Py_TYPE(object)) : nullptr;
    if (library && library->onDevice()) {
      trace.guardSet().arrays = library;
      return;
    }
  }
}

}  // namespace

Value* Interpreter::run(const CallView& view) {
  auto* code = reinterpret_cast<PyCodeObject*>(view.function->func_code);
  trace_.code = view.function->func_code;
  frames_.push_back(std::make_unique<Frame>());
  Frame& frame = *frames_.back();
  frame.code = &decoded(code);
  frame.function = trace_.sources().intern(SourceKind::kFunction);
  frame.globals = Ref::create(view.function->func_globals);
  frame.builtins = Ref::create(view.function->func_builtins);
  trace_.line = code->co_firstlineno;
  if (isDisabled(view.function->func_code))
    trace_.fail(BreakReason::kDisabled, disabledDetail(view.function->func_code));
  if (!cpython::hasPlainVectorcall(reinterpret_cast<PyObject*>(view.function)))
    trace_.fail(BreakReason::kUnsupportedCall, "a function with a vectorcall of its own");
  trace_.guard({.kind = guards::GuardKind::kFunctionCode,
                .source = frame.function,
                .object = Ref::create(view.function->func_code)});
  frame.slots.assign(static_cast<size_t>(frame.code->slotCount()), nullptr);
  const int count = cpython::boundArguments(code);
  trace_.guardSet().boundSlots = count;
  expectArrays(trace_, {view.args, static_cast<size_t>(count)});
  for (int i = 0; i < count; ++i) {
    frame.slots[i] = trace_.fromSource(trace_.sources().intern(SourceKind::kArg, {}, i), view.args[i]);
    // Inputs of the graph in the order of the arguments; nearly all are used.
    PyObject* object = view.args[i];
    if (guards::isArray(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object)) trace_.open(frame.slots[i]);
  }
  if (PyObject* closure = view.function->func_closure) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); ++i) {
      frame.closure.push_back(closureCell(frame.function, closure, i));
    }
  }
  execute(frame);
  return frame.result;
}

FrameEnd Interpreter::runRegion(const RegionView& view) {
  const CodeMap& map = *view.map;
  trace_.code = reinterpret_cast<PyObject*>(map.object());
  frames_.push_back(std::make_unique<Frame>());
  Frame& frame = *frames_.back();
  frame.code = &InlinedGenerators{*this, trace_}.codeWith(map.code());
  frame.function = trace_.sources().intern(SourceKind::kFunction);
  frame.globals = Ref::create(view.function->func_globals);
  frame.builtins = Ref::create(view.function->func_builtins);
  frame.pc = static_cast<size_t>(view.start);
  stops_ = view.stops;
  liveSlots_ = view.slots;
  int locals = map.slotCount(), depth = map.depth(view.start);
  FW_CHECK(depth >= 0);
  expectArrays(trace_, {view.slots, static_cast<size_t>(locals + depth)});
  for (int i = 0; i < locals + depth; ++i) {
    Value* unread = trace_.make(ValueKind::kUnread);
    unread->position = static_cast<size_t>(i);
    (i < locals ? frame.slots : frame.stack).push_back(unread);
  }
  frame.initial.assign(static_cast<size_t>(locals + depth), nullptr);
  frame.slots.resize(static_cast<size_t>(frame.code->slotCount()));
  trace_.line = frame.code->instructions[frame.pc].position.line;
  execute(frame);
  return frameEnd(frame, view);
}

FrameEnd Interpreter::frameEnd(Frame& frame, const RegionView& view) {
  FrameEnd end;
  end.result = frame.result;
  frame.slots.resize(static_cast<size_t>(view.map->slotCount()));  // without those of inlined generators
  if (frame.result) {  // a traceback may keep the frame, which must not keep what was deleted
    for (size_t i = 0; i < frame.slots.size(); ++i) {
      const bool wasUnbound = frame.initial[i] && frame.initial[i]->kind == ValueKind::kNull;
      if (!frame.slots[i] && !wasUnbound) end.slots.emplace_back(static_cast<int>(i), nullptr);
    }
    return end;
  }
  end.instruction = static_cast<int>(frame.pc);
  end.depth = static_cast<int>(frame.stack.size());
  auto unchanged = [&](size_t slot, Value* v) {
    if (v && v->kind == ValueKind::kUnread) return v->position == slot;
    return slot < frame.initial.size() && v && v == frame.initial[slot];
  };
  const std::vector<bool>& live = view.map->liveBefore(end.instruction);
  // A variable that is not read again may yet keep alive what a weak reference is made to.
  auto kept = [&](Value* v) {
    return v && v->kind != ValueKind::kUnread &&
           (v->source.valid() || v->kind == ValueKind::kChosen || (v->kind == ValueKind::kUnjoined && v->opened) ||
            std::find(frame.stack.begin(), frame.stack.end(), v) != frame.stack.end());
  };
  for (size_t i = 0; i < frame.slots.size(); ++i) {
    if (unchanged(i, frame.slots[i])) continue;
    end.slots.emplace_back(static_cast<int>(i), live[i] || kept(frame.slots[i]) ? look(frame.slots[i]) : nullptr);
  }
  size_t same = 0;
  while (same < frame.stack.size() && unchanged(frame.slots.size() + same, frame.stack[same])) ++same;
  for (size_t i = same; i < frame.stack.size(); ++i) {
    end.slots.emplace_back(static_cast<int>(frame.slots.size() + i), look(frame.stack[i]));
  }
  return end;
}

Value* Interpreter::look(Value*& entry) {
  if (entry && entry->kind == ValueKind::kUnjoined) trace_.branches.refuse(entry);
  if (!entry || entry->kind != ValueKind::kUnread) return entry;
  size_t slot = entry->position;
  Value*& known = frames_.front()->initial[slot];
  if (!known) {
    SourceId source = trace_.sources().intern(SourceKind::kArg, {}, static_cast<int64_t>(slot));
    if (PyObject* object = liveSlots_[slot]) {
      known = trace_.fromSource(source, object);
    } else {
      trace_.guard({.kind = guards::GuardKind::kUnbound, .source = source});
      known = trace_.make(ValueKind::kNull);
    }
  }
  return entry = known;
}

/// A slot or stack entry of a region loses its object. Breaks if its death runs code, which may not come after later
/// side effects.
void Interpreter::drop(Value*& entry) {
  if (!entry || !liveSlots_ || frame_ != frames_.front().get()) return;
  bool read = entry->source.valid() && trace_.sources()[entry->source].kind == SourceKind::kArg;
  PyObject* object = entry->kind == ValueKind::kUnread ? liveSlots_[entry->position]
                     : read                            ? entry->object.get()
                                                       : nullptr;
  if (!object) return;
  PyTypeObject* type = Py_TYPE(object);
  bool code = type->tp_finalize || type->tp_del;
  if (code)
    trace_.fail(BreakReason::kUnsupportedObject, std::string("a ") + type->tp_name + " that runs code when it dies");
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && look(entry)->kind == ValueKind::kObject) (void)trace_.typeOf(entry);
}

/// The cell object number `index` of a function's closure.
Value* Interpreter::closureCell(SourceId function, PyObject* closure, Py_ssize_t index) {
  // Through the function also where it is known: cells cannot be held weakly, and hold what belongs to the user.
  SourceId source = trace_.sources().intern(SourceKind::kClosureCell, function, index);
  return trace_.open(trace_.fromSource(source, PyTuple_GET_ITEM(closure, index)));
}

// ---- locals -------------------------------------------------------------------------------------------------------

/// Null if unbound.
Value* Interpreter::local(int slot) {
  Value*& entry = frame_->slots.at(static_cast<size_t>(slot));
  if (!entry) return nullptr;
  if (entry->kind == ValueKind::kUnread && !liveSlots_[entry->position]) return nullptr;  // the caller guards or breaks
  Value* value = look(entry);
  return value->kind == ValueKind::kNull ? nullptr : value;  // somebody has looked, and guarded that
}

void Interpreter::onLoadConst(const Instr& instr) { push(trace_.constant(frame_->code->constantAt(instr.arg))); }

void Interpreter::onLoadFast(const Instr& instr) {
  Value* v = local(instr.arg);
  if (!v) raises("UnboundLocalError: " + text(frame_->code->variableAt(instr.arg)));
  push(v);
}

void Interpreter::onLoadFastAndClear(const Instr& instr) {
  Value*& slot = frame_->slots.at(static_cast<size_t>(instr.arg));
  push(slot ? slot : trace_.make(ValueKind::kNull));
  slot = nullptr;
}

void Interpreter::onStoreFast(const Instr& instr) {
  FW_CHECK(!frame_->stack.empty());
  // What LOAD_FAST_AND_CLEAR has put aside goes back without being looked at.
  Value* v = frame_->stack.back();
  if (v->kind == ValueKind::kUnread || v->kind == ValueKind::kUnjoined) {
    frame_->stack.pop_back();
  } else {
    v = popRaw();
  }
  Value*& slot = frame_->slots.at(static_cast<size_t>(instr.arg));
  if (slot != v) drop(slot);
  slot = v->kind == ValueKind::kNull ? nullptr : v;
}

void Interpreter::onDeleteFast(const Instr& instr) {
  if (!local(instr.arg)) raises("UnboundLocalError: " + text(frame_->code->variableAt(instr.arg)));
  drop(frame_->slots[static_cast<size_t>(instr.arg)]);
  frame_->slots[static_cast<size_t>(instr.arg)] = nullptr;
}

// ---- cells --------------------------------------------------------------------------------------------------------

void Interpreter::onMakeCell(const Instr& instr) {
  Value*& slot = frame_->slots.at(static_cast<size_t>(instr.arg));
  Value* cell = trace_.make(ValueKind::kCell);
  cell->items = {slot};
  slot = cell;
}

void Interpreter::onCopyFreeVars(const Instr& instr) {
  FW_CHECK(frame_->closure.size() == static_cast<size_t>(instr.arg));
  // Those of generators that stand in the code are behind its own.
  const std::vector<Bytecode::Inlined>& inlined = frame_->code->inlined;
  const size_t own = inlined.empty() ? frame_->slots.size() : static_cast<size_t>(inlined.front().firstSlot);
  const size_t first = own - frame_->closure.size();
  for (size_t i = 0; i < frame_->closure.size(); ++i) frame_->slots[first + i] = frame_->closure[i];
}

Value* Interpreter::cellAt(int slot) {
  Value* cell = local(slot);
  if (!cell) trace_.fail(BreakReason::kUnsupportedObject, "a cell that has not been made");
  trace_.open(cell);
  FW_CHECK(cell->kind == ValueKind::kCell);
  return cell;
}

/// Content of a cell, null if it is empty.
Value* Interpreter::contentOf(Value* cell) {
  if (cell->contents.valid() && !cell->opened) {
    cell->opened = true;
    PyObject* content = PyCell_GET(cell->object.get());
    if (content) cell->items[0] = trace_.fromSource(cell->contents, content);
  }
  return cell->items[0];
}

void Interpreter::onLoadDeref(const Instr& instr) {
  Value* content = contentOf(cellAt(instr.arg));
  if (!content) raises("NameError: " + text(frame_->code->variableAt(instr.arg)) + " is not bound");
  push(content);
}

void Interpreter::onStoreDeref(const Instr& instr) {
  Value* cell = cellAt(instr.arg);
  Value* content = popRaw();
  if (trace_.watchers > 0) (void)contentOf(cell);
  trace_.effectCell(cell, content);
  cell->items[0] = content;
  cell->opened = true;
}

void Interpreter::onDeleteDeref(const Instr& instr) {
  Value* cell = cellAt(instr.arg);
  if (!contentOf(cell)) raises("NameError");
  trace_.effectCell(cell, nullptr);
  cell->items[0] = nullptr;
}

// ---- globals ------------------------------------------------------------------------------------------------------

std::optional<Value*> Interpreter::writtenGlobal(PyObject* globals, PyObject* name) {
  auto it = writtenGlobals_.find({globals, name});
  if (it == writtenGlobals_.end()) return std::nullopt;
  return it->second;
}

void Interpreter::onLoadGlobal(const Instr& instr) {
  PyObject* name = nameAt(instr.arg);
  auto& sources = trace_.sources();
  SourceId globals = sources.intern(SourceKind::kGlobals, frame_->function);
  SourceId item = sources.intern(SourceKind::kDictItem, globals, 0, name);
  auto written = writtenGlobal(frame_->globals.get(), name);
  if (written && *written) return push(*written);
  trace_.readNamespace(globals, frame_->globals.get());
  if (!writtenGlobals_.empty()) (void)trace_.fromSource(globals, frame_->globals.get());  // whether it is a written one
  Value*& known = globals_[item];
  if (known && !written) return push(known);
  PyObject* found = written ? nullptr : PyDict_GetItemWithError(frame_->globals.get(), name);
  if (!found && PyErr_Occurred()) throw cpython::PythonError();
  if (!found) {
    if (!PyDict_CheckExact(frame_->builtins.get())) trace_.fail(BreakReason::kUnsupportedObject, "replaced builtins");
    found = PyDict_GetItemWithError(frame_->builtins.get(), name);
    if (!found && PyErr_Occurred()) throw cpython::PythonError();
    if (!found) raises("NameError: " + text(name));
    if (!written)
      trace_.guard({.kind = guards::GuardKind::kDictNotContains, .source = globals, .object = Ref::create(name)});
    item = sources.intern(SourceKind::kDictItem, sources.intern(SourceKind::kBuiltins, frame_->function), 0, name);
  }
  Value* value = setting(item, found);
  if (!written) globals_[sources.intern(SourceKind::kDictItem, globals, 0, name)] = value;
  push(value);
}

void Interpreter::onStoreGlobal(const Instr& instr) { storeGlobal(nameAt(instr.arg), popRaw()); }

void Interpreter::onDeleteGlobal(const Instr& instr) {
  PyObject* name = nameAt(instr.arg);
  auto written = writtenGlobal(frame_->globals.get(), name);
  PyObject* found = PyDict_GetItemWithError(frame_->globals.get(), name);
  if (written ? !*written : !found) raises("NameError: " + text(name));
  if (!written) {
    SourceId globals = trace_.sources().intern(SourceKind::kGlobals, frame_->function);
    trace_.guard({.kind = guards::GuardKind::kDictContains, .source = globals, .object = Ref::create(name)});
  }
  storeGlobal(name, nullptr);
}

/// Reading through a module or another function sees the writing: theirs is guarded to be this dict, or another one.
void Interpreter::storeGlobal(PyObject* name, Value* value) {
  PyObject* dict = frame_->globals.get();
  auto& sources = trace_.sources();
  SourceId outer = sources.intern(SourceKind::kGlobals, frames_.front()->function);
  SourceId own = sources.intern(SourceKind::kGlobals, frame_->function);
  Value* target = trace_.fromSource(dict == frames_.front()->globals.get() ? outer : own, dict);
  (void)trace_.fromSource(own, dict);
  if (target->opened)
    trace_.fail(BreakReason::kUnsupportedWrite, "global " + text(name) + ": globals() is used as a dict");
  trace_.effectItem(target, trace_.constant(name), value);
  writtenGlobals_[{dict, name}] = value;
}

}  // namespace fw::capture
