// Keys of dicts in the trace: plain constants, objects that equal only themselves, objects whose class compares and
// hashes them in Python, and tuples of such keys.
#pragma once

#include "frame_eval/trace.h"

namespace fw::capture {

/// Why a dict with a key for which isGuardedKey() is false is not read.
inline constexpr const char* kRefusedKeys = "has keys that guards cannot compare";

/// Key of a dict that exists outside the trace which guards can compare and may hold: plain ones, types, members of
/// enums.
bool isGuardedKey(PyObject* key);
/// Its Value.
Value* keyFromOutside(Trace& trace, PyObject* key);

/// Member of an enum that hashes and compares as enums do.
bool isEnumMember(PyObject* object);
/// A type whose instances equal only themselves and are hashed by their address.
bool isIdentityType(PyTypeObject* type);
/// Whether a real dict can take the key without running code of the user.
bool isHashedNatively(Trace& trace, Value* key);

}  // namespace fw::capture
