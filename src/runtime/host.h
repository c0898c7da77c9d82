// What code asks of its surroundings while it runs.
#pragma once

#include <cstdint>

#include "runtime/context.h"

namespace fw::runtime {

class Host {
 public:
  virtual ~Host() = default;
  /// Memory of a buffer whose size is known only now, 64-byte aligned; null if there is none.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void release(void* data) = 0;
  /// Library call `number` of the plan (calls.h): computes its results, and puts the addresses of those that are not of
  /// rank 0 into the table of the call. Their memory lasts as long as the run, or, in a loop, until the same call is
  /// made again. Answers Status bits: anything but 0 ends the run.
  virtual int32_t call(Context& context, int number) = 0;
};

}  // namespace fw::runtime
