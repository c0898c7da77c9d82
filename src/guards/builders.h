// Guards and sources made from live objects, with the choices that are easy to get wrong: what is held weakly, which
// hash a key has. Capture should come here for both.
#pragma once

#include <optional>

#include "guards/guard_set.h"

namespace fw::guards {

/// Whether a variant may hold a strong reference: builtin values, static types, modules written in C, and what cannot
/// be referred to weakly. Everything else (classes, modules, functions and their code, instances, arrays) belongs to
/// the user, who may wait for it to die, and may lead back to the compiled function, a cycle that the collector cannot
/// see.
bool mayHoldStrongly(PyObject* object);

/// Whether a constant is a user's class, or a tuple that holds one at any depth.
bool leadsToUsers(PyObject* object);

/// Source of an object known at compile time: kConst or kWeak.
SourceId constantSource(SourceTable& sources, PyObject* object);

/// Guard that the source is this object: kIdentity or kWeakIdentity.
Guard identityGuard(SourceId source, PyObject* object);

/// At the end of a capture: turns what the set holds of the user's objects into weak references. A variant whose
/// objects have died never matches again: see hasDied().
void holdWeakly(GuardSet& set);

/// Whether an object that the guards wait for has died, so that no call can pass them any more.
bool hasDied(const GuardSet& set);

/// base[key] for a key that the exact dict `dict` holds now; none if the key is not one that guards can look up.
std::optional<SourceId> dictItemSource(SourceTable& sources, SourceId base, PyObject* dict, PyObject* key);

/// kDictContains, kDictNotContains, kSetContains or kSetNotContains for what holds now of an exact dict, set or
/// frozenset; none if that cannot be told without running Python code.
std::optional<Guard> membershipGuard(SourceId source, PyObject* container, PyObject* key);

}  // namespace fw::guards
