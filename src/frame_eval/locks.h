// Locks (threading.Lock, threading.RLock) taken in a `with` statement or by their methods. A region takes all its locks
// at once, without waiting, when its guards have passed and before anything is computed: what the guards have read and
// what the arrays hold is then as the lock protects it. If one is not free, the region declines, and Python waits. The
// lock is given back in the order of the side effects. It is held longer than Python would hold it, by the computation
// before and behind; what could run code of the user in that time is refused here.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

struct Locks {
  Interpreter& in;
  Trace& trace;

  static bool isLock(PyTypeObject* type);
  /// lock.name; breaks for what is not followed.
  Value* method(Value* lock, const std::string& name);
  Value* call(Value* lock, const std::string& name, const CallArgs& args);
  void acquire(Value* lock);
  void release(Value* lock);

  /// The last effect is known to let go of nothing.
  static void calmLast(Trace& trace);
  /// Breaks where an array is written behind a lock that was given back: its warnings would run with the lock held.
  static void check(Trace& trace);
};

}  // namespace fw::capture
