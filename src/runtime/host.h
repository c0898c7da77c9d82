// What code asks of its surroundings while it runs.
#pragma once

#include <cstdint>

#include "runtime/context.h"

namespace fw::runtime {

class Host {
 public:
  virtual ~Host() = default;
  /// Memory whose size is known only now, 64-byte aligned; null if there is none. What is not released lasts as long as
  /// the host.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void release(void* data) = 0;
  /// Array number `number` of those that the plan makes on the way (calls.h): puts its address into the table of the
  /// call. False if there is no memory.
  virtual bool make(Context&, int /*number*/) { return false; }
  /// Library call `number` of the plan (calls.h): computes its results, and puts the addresses of those that are not of
  /// rank 0 into the table of the call. Their memory lasts as long as the run, or, in a loop, until the same call is
  /// made again. Binds the symbols that the call binds. Answers Status bits: anything but 0 ends the run.
  virtual int32_t call(Context& context, int number) = 0;
  /// Looks whether somebody wants the run to end: a signal has come. Status bits, as of call(). Compiled loops ask
  /// between turns, each kind of them once Context::untilLook has come down to 0; look() says when the next time is.
  virtual int32_t look(Context&, bool /*heavy*/) { return 0; }
  /// The same run begins once more: what it has drawn is put back.
  virtual void beginAgain() {}
};

}  // namespace fw::runtime
