// Guards and sources made from live objects, with the choices that are easy to get wrong: what is held weakly, which hash a
// key has. Capture should come here for both.
#pragma once

#include <optional>

#include "guards/guard_set.h"

namespace fw::guards {

/// Whether a variant may hold a strong reference: builtin values, types, modules, and what cannot be referred to weakly.
/// Everything else (instances of user classes, functions, arrays) belongs to the user, who may wait for it to die, and may
/// lead back to the compiled function, a cycle that the collector cannot see.
bool mayHoldStrongly(PyObject* object);

/// Source of an object known at compile time: kConst or kWeak.
SourceId constantSource(SourceTable& sources, PyObject* object);

/// Guard that the source is this object: kIdentity or kWeakIdentity.
Guard identityGuard(SourceId source, PyObject* object);

/// base[key] for a key that the exact dict `dict` holds now; none if the key is not one that guards can look up.
std::optional<SourceId> dictItemSource(SourceTable& sources, SourceId base, PyObject* dict, PyObject* key);

/// kDictContains, kDictNotContains, kSetContains or kSetNotContains for what holds now of an exact dict, set or frozenset;
/// none if that cannot be told without running Python code.
std::optional<Guard> membershipGuard(SourceId source, PyObject* container, PyObject* key);

}  // namespace fw::guards
