// What graphs are planned for that run on arrays of CuPy.
#pragma once

#include "graph/target.h"

namespace fw::jit::cuda {

/// Of every device: plans depend on none.
inline graph::Target planningTarget() {
  graph::Target target;
  target.heldRows = 0;
  target.stagger = 0;
  target.listedSums = true;
  target.reportsFlags = false;
  target.space = graph::MemorySpace::kDevice;
  return target;
}

}  // namespace fw::jit::cuda
