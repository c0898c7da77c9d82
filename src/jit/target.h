// What machine code is made for: instruction set, vector width and the facts the emitters ask about.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "jit/compile.h"

namespace fw::jit {

/// Processor names are fixed per instruction set (not the host's own name), so that the same graph gives the same code
/// on every machine of a class and objects can be shared through the disk cache.
struct TargetSpec {
  CompileOptions::Isa isa;  ///< never kHost
  const char* name;         ///< of the setting `isa`
  const char* cpu;          ///< LLVM's name
  const char* features;     ///< LLVM feature string on top of cpu
  int vectorBits;
  bool masks;  ///< AVX-512 mask registers: masked tails, gather, scatter
  bool fma;
  bool f16c;
};

/// What graphs are planned for that this room makes code of: the processor, with NumPy's numbers. One and the same for
/// all instruction sets, so that a plan does not depend on the machine.
graph::Target planningTarget();

/// kHost resolves to the widest set of this machine; a set that it does not have is kInvalidArgument.
absl::StatusOr<const TargetSpec*> resolveTarget(CompileOptions::Isa isa);

}  // namespace fw::jit
