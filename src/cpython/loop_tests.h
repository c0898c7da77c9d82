// `while` loops have their test twice: in front of the first turn and behind each one, so that a turn ends with one
// jump. A turn that `continue` ends goes back to the first, which makes two loops of one, the one inside of the other.
#pragma once

#include <vector>

#include "cpython/bytecode.h"

namespace fw::cpython {

/// Where `continue` goes to the first test of a loop, what would come to the second one goes there as well: behind
/// that, the second stands there as instructions that do nothing.
void joinLoopTests(std::vector<Instr>& code);

}  // namespace fw::cpython
