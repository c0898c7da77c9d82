// Python objects and side effects of exit plans, once their parts exist.
#pragma once

#include <Python.h>

#include "absl/types/span.h"
#include "frame_eval/exit_plan.h"

namespace fw::bindings {

/// A container, function, method ... from its children (borrowed; null where the plan says -1). A new reference;
/// nullptr with a Python exception set. Only kinds of nodes that have children; `object` is the node's own or what it
/// has in `live`.
PyObject* makeObject(const capture::ExitNode& node, PyObject* object, absl::Span<PyObject* const> children);

/// Replays one side effect; operands are borrowed. False with a Python exception set.
bool applyEffect(const capture::Effect& effect, PyObject* target, PyObject* key, PyObject* value);

}  // namespace fw::bindings
