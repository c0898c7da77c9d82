// Random generators of the user: np.random.Generator and RandomState, and the functions of np.random, which draw from a
// RandomState of their own. NumPy draws (library.h), from the same stream and in the same order as Python would: calls
// stand in compiled code as often and in the order in which they stand in the program. What a run has drawn that is
// given up is put back (bindings/draws.h).
#pragma once

#include <string>

#include "frame_eval/numpy/numpy_ops.h"

namespace fw::capture::numpy {

/// "Generator" or "RandomState" if the value is exactly one of these, as the trace then relies on; null for others.
const char* generatorOf(Trace& trace, Value* value);
/// generator.name as a method, and its call; null if there is none that is followed.
Value* drawMethod(Trace& trace, Value* generator, const std::string& name);
Value* draw(Trace& trace, Value* generator, const std::string& name, const CallArgs& args);
/// A call of a function of np.random: null for others.
Value* drawBy(Trace& trace, PyObject* function, const CallArgs& args);
bool isDraw(PyObject* function);

}  // namespace fw::capture::numpy
