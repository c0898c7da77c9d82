// Machine code for guard sets: one stub per variant, packed in one dual-mapped W^X arena.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "guards/guard_set.h"

namespace fw::guards {

/// Answers 0 on a pass, 1 + index of the failing guard otherwise (1 + number of guards if the path of an input or of an
/// object for the exit plan broke). Runs no Python code, allocates nothing, leaves no
/// pending exception. Needs the GIL.
using StubFn = int64_t (*)(CallFrame* frame);

class Stub {
 public:
  virtual ~Stub() = default;  ///< gives the code back to the arena
  virtual StubFn entry() const = 0;
  virtual size_t codeSize() const = 0;
};

/// The stub keeps `set` alive (its code embeds pointers to the objects in it). kInvalidArgument if validate() refuses
/// the set, kResourceExhausted if the arena cannot grow.
absl::StatusOr<std::unique_ptr<Stub>> emitStub(std::shared_ptr<const GuardSet> set);

}  // namespace fw::guards
