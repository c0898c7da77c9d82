// Python's random.Random as a source of numbers: its state in memory, and what it draws from that. CPython has had the
// same struct for long (Modules/_randommodule.c); whoever uses this asks the object first whether it is that.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>

#include "cpython/ref.h"
#include "numpy/random/bitgen.h"

namespace fw::bindings::python_random {

/// Exactly of this class.
bool is(PyObject* object);
/// Draws what random() and getrandbits() would, as long as the object lives. Null if its memory is not as expected.
std::unique_ptr<bitgen_t> sourceOf(PyObject* object);
/// getrandbits(k), k from 1 to 62.
int64_t bits(bitgen_t* source, int64_t k);
/// The state, to be compared and set.
cpython::Ref state(PyObject* object);
void setState(PyObject* object, PyObject* state);

}  // namespace fw::bindings::python_random
