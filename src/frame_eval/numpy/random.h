// Random generators of the user: np.random.Generator and RandomState, the functions of np.random, which draw from a
// RandomState of their own, and Python's random.Random and the functions of random. The generator draws (library.h),
// from the same stream and in the same order as Python would: calls stand in compiled code as often and in the order in
// which they stand in the program. What a run has drawn that is given up is put back (bindings/draws.h).
#pragma once

#include <string>

#include "frame_eval/numpy/numpy_ops.h"

namespace fw::capture::numpy {

/// "Generator", "RandomState" or "Random" if the object is exactly one of these; null for others. Needs the GIL.
const char* generatorClass(PyObject* object);
/// Whether the value is exactly one of these, as the trace then relies on.
bool isGenerator(Trace& trace, Value* value);
/// generator.name as a method, and its call; null if there is none that is followed. `ofClass`: it has been found in
/// the class, and the generator has no attribute of that name.
Value* drawMethod(Trace& trace, Value* generator, const std::string& name, bool ofClass);
Value* draw(Trace& trace, Value* generator, const std::string& name, const CallArgs& args);
/// A call of a function of np.random or random: null for others.
Value* drawBy(Trace& trace, PyObject* function, const CallArgs& args);
bool isDraw(PyObject* function);

}  // namespace fw::capture::numpy
