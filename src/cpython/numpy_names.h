// What belongs to NumPy and to CuPy, by the names that they give: for messages, and for objects that NumPy's C API
// cannot tell. The only place that compares such names.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

namespace fw::cpython {

/// np._NoValue, the only instance of its class: an argument that was not given.
bool isNoValue(PyObject* object);
/// "numpy", or another library of arrays, or something in it: a module, or the full name of a function.
bool isNumpyName(std::string_view name);
/// A dotted name as users write it: "numpy.random._generator.Generator" is numpy.random.Generator.
std::string publicName(std::string name);
/// The package itself.
bool isNumpyModule(PyObject* object);
/// A type of NumPy's own.
bool isNumpyType(PyTypeObject* type);
bool isUfunc(PyObject* object);
/// A function that NumPy dispatches by __array_function__.
bool isArrayFunction(PyObject* object);

}  // namespace fw::cpython
