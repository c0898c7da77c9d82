// The code of a generator in that of who walks it: where it yields stands the body of the `for`, so that both are
// ordinary code of one frame. It stands behind the caller's own, whose instructions keep their places; its variables
// are further slots, behind those of the caller.
#pragma once

#include <optional>

#include "cpython/bytecode.h"

namespace fw::capture {

/// `walk`: the FOR_ITER that walks the generator; becomes ENTER_GENERATOR. Its argument is the number of
/// Bytecode::inlined, and it pushes the variables that a generator has when it is made (startSlots), in their order.
/// None where handlers of exceptions are involved, `yield from`, or more code than it is worth.
std::optional<cpython::Bytecode> inlineGenerator(const cpython::Bytecode& caller, int walk,
                                                 const cpython::Bytecode& generator);

/// Slots of a generator's code that hold something when it has been called and has not run: arguments, cells, what it
/// closes over.
std::vector<int> startSlots(const cpython::Bytecode& generator);

/// Whether no handler of exceptions and no `yield from` stands in the way of running the generator's code as a part of
/// other code.
bool runsThrough(const cpython::Bytecode& generator);

}  // namespace fw::capture
