// What is taken, what is held and what was given back is told from Trace::locks and from the effects that release them.
#include "frame_eval/locks.h"

#include <algorithm>

#include "frame_eval/interpret_common.h"

namespace fw::capture {

using cpython::checked;

namespace {

/// The type of the objects that `function` of _thread makes, held for the life of the process.
PyTypeObject* typeMadeBy(const char* function) {
  Ref module = Ref::steal(PyImport_ImportModule("_thread"));
  Ref made = module ? Ref::steal(PyObject_CallMethod(module.get(), function, nullptr)) : Ref();
  if (!made) PyErr_Clear();
  return made ? reinterpret_cast<PyTypeObject*>(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(made.get())))) : nullptr;
}

PyTypeObject* rlockType() {
  static PyTypeObject* const type = typeMadeBy("RLock");
  return type;
}

PyTypeObject* lockType() {
  static PyTypeObject* const type = typeMadeBy("allocate_lock");
  return type;
}

/// Which of Trace::locks are this lock, taken and not given back; the last of them.
int heldAt(const Trace& trace, const Value* lock) {
  for (int i = static_cast<int>(trace.locks.size()) - 1; i >= 0; --i) {
    if (trace.locks[static_cast<size_t>(i)] != lock) continue;
    auto gives = [&](const SideEffect& effect) { return effect.kind == Effect::Kind::kRelease && effect.lo == i; };
    if (std::none_of(trace.effects().begin(), trace.effects().end(), gives)) return i;
  }
  return -1;
}

}  // namespace

bool Locks::isLock(PyTypeObject* type) { return type && (type == lockType() || type == rlockType()); }

Value* Locks::method(Value* lock, const std::string& name) {
  (void)trace.typeOf(lock);
  for (const char* known : {"__enter__", "__exit__", "acquire", "release"}) {
    if (name != known) continue;
    Value* method = trace.make(ValueKind::kMethod);
    method->items = {nullptr, lock};
    method->name = name;
    return method;
  }
  trace.fail(BreakReason::kUnsupportedAttribute, std::string(Py_TYPE(lock->object.get())->tp_name) + "." + name);
}

Value* Locks::call(Value* lock, const std::string& name, const CallArgs& args) {
  const bool none = args.positional.empty() && args.keywords.empty();
  if ((name == "acquire" || name == "__enter__") && none) {
    acquire(lock);
    return trace.constant(Py_True);
  }
  if ((name == "release" && none) || name == "__exit__") {
    release(lock);
    return trace.constant(Py_None);
  }
  trace.fail(BreakReason::kUnsupportedCall, std::string(Py_TYPE(lock->object.get())->tp_name) + "." + name);
}

void Locks::acquire(Value* lock) {
  if (!lock->source.valid() || lock->kind != ValueKind::kObject || !isLock(trace.typeOf(lock)))
    trace.fail(BreakReason::kUnsupportedCall, "a lock of this kind");
  if (lock->typed && lock->object && Py_TYPE(lock->object.get()) == lockType() && heldAt(trace, lock) >= 0)
    trace.fail(BreakReason::kUnsupportedCall, "a lock is taken twice");
  auto calm = [](const SideEffect& effect) { return effect.calm; };
  const auto& effects = trace.effects();
  if (!std::all_of(effects.begin(), effects.end(), calm) || !trace.arrayWrites.empty())
    trace.fail(BreakReason::kUnsupportedCall, "a lock is taken behind side effects");
  // Given back and taken again: it is held all the time.
  auto given = std::find_if(trace.effects_.rbegin(), trace.effects_.rend(), [&](const SideEffect& effect) {
    return effect.kind == Effect::Kind::kRelease && trace.locks[static_cast<size_t>(effect.lo)] == lock;
  });
  if (given != trace.effects_.rend()) {
    trace.effects_.erase(std::next(given).base());
    return;
  }
  trace.locks.push_back(lock);
}

void Locks::release(Value* lock) {
  const int at = heldAt(trace, lock);
  if (at < 0) trace.fail(BreakReason::kUnsupportedCall, "a lock that was taken outside is given back");
  trace.effectRelease(static_cast<size_t>(at));
  trace.effects_.back().items = {};
  trace.effects_.back().hi = static_cast<int64_t>(trace.arrayWrites.size());
}

void Locks::calmLast(Trace& trace) {
  if (!trace.effects_.empty()) trace.effects_.back().calm = true;
}

void Locks::check(Trace& trace) {
  for (const SideEffect& effect : trace.effects()) {
    if (effect.kind != Effect::Kind::kRelease) continue;
    const auto before = static_cast<size_t>(effect.hi);
    if (before < trace.arrayWrites.size())
      throw CaptureBreak(BreakReason::kUnsupportedWrite, "an array is written behind a lock that was given back",
                         trace.arrayWrites[before].at);
  }
}

}  // namespace fw::capture
