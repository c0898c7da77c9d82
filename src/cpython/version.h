// The Python versions we know. Only this folder tests versions; the rest of the code asks the constants and accessors
// here and in objects.h, attributes.h and hook.h.
#pragma once

#include <Python.h>

#include <string>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "this version of Python is not supported: check every layout in src/cpython, then widen the range"
#endif
#ifdef Py_GIL_DISABLED
#error "free-threaded builds are not supported"
#endif

/// For #if around struct members that exist in some versions only; `if constexpr` on the constants below elsewhere.
#define FW_PY_MINOR ((PY_VERSION_HEX >> 16) & 0xff)

namespace fw::cpython {

inline constexpr int kPythonMinor = FW_PY_MINOR;
inline constexpr bool kIs311 = kPythonMinor == 11;
inline constexpr bool kIs312 = kPythonMinor == 12;
inline constexpr bool kIs313 = kPythonMinor == 13;
/// Order on the value stack of a callable and the NULL that stands for "no self".
inline constexpr bool kNullBeforeCallable = !kIs313;

/// What is wrong with running code compiled for `compiled` under an interpreter of version `running` (both in the form
/// of PY_VERSION_HEX); "" if nothing. The minor versions must be equal and known.
std::string versionMismatch(unsigned long compiled, unsigned long running);

/// The tripwire, to be called at module init: the version of this process and the private layouts that attributes.cpp
/// reads, tried on live objects. "" if all is well, else a sentence for the ImportError.
std::string checkRuntimeVersion();

/// The interpreter is ending: destructors still run Python code, but modules may be gone.
bool isFinalizing();

/// Version tag of a type, assigned if it has none; 0 if it cannot have one (CPython ran out of tags).
unsigned int ensureTypeVersion(PyTypeObject* type);

}  // namespace fw::cpython
