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
  /// The library call number `site` of the plan. Answers Status bits.
  virtual int32_t call(Context& context, int site) = 0;
  /// Somebody wants the run to end early: it leaves where it can.
  virtual bool interrupted() = 0;
};

}  // namespace fw::runtime
