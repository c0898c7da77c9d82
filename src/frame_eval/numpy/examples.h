// What a library function answers that no rule is written for: found out by calling it on small arrays of the same
// kinds. A function that is called so must do nothing but compute: examples.def lists them.
//
// From a few examples with different sizes and numbers follow types, ranks and memory order of the results, and how
// their sizes depend on those of the arguments; a size that depends on the numbers is one that the call decides. What
// is found out is a guess that every call is compared with: a call that answers something else declines.
#pragma once

#include <Python.h>

#include "frame_eval/numpy/numpy_ops.h"

namespace fw::capture::numpy {

/// Whether calls of the function may be tried.
bool hasExamples(PyObject* callable);

/// Its work is the product of the sizes of the letters in its first argument, as that of einsum.
bool worksByLetters(PyObject* callable);

/// The method of arrays of that name, borrowed, if calls of it may be tried; null if not.
PyObject* methodWithExamples(const Trace& trace, const std::string& name);

/// The call as a node of the graph. Breaks where examples do not tell what it answers.
Value* callByExample(Trace& trace, PyObject* callable, const CallArgs& args);

}  // namespace fw::capture::numpy
