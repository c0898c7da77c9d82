// From the JSON that C++ builds to Python objects.
#pragma once

#include <Python.h>

#include "nlohmann/json_fwd.hpp"

namespace fw::bindings {

/// A new reference: dicts, lists, strings (never invalid: bytes that are not UTF-8 are replaced), numbers; nullptr with
/// an exception set.
PyObject* toPython(const nlohmann::json& value);

}  // namespace fw::bindings
