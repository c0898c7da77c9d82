// Steps along access paths and comparisons that run no Python code; shared by the slow checker and by the stubs' calls.
#pragma once

#include <optional>

#include "cpython/attributes.h"
#include "guards/guard_set.h"

namespace fw::guards {

/// One step along a path: the object that `source` names, given its base (nullptr for roots). Borrowed; nullptr if the
/// base is not of the kind that the step needs or has no such item. `cell` is for the kinds that usesCell() names.
PyObject* stepTo(const Source& source, PyObject* base, const CallFrame& frame, cpython::AttributeCell* cell);
bool usesCell(SourceKind kind);

/// Same exact type and value, all the way down, for what Equals guards take: NaNs by bits, 0.0 differs from -0.0,
/// tuples and slices item by item, frozensets member by member in the order in which they are iterated over, types by
/// identity.
bool equalsExact(PyObject* object, PyObject* constant);
/// Whether equalsExact handles `constant`, items included.
bool isEqualsConstant(PyObject* constant);

/// Exact dict with exactly these keys in this order: the same objects, or equal in the sense of equalsExact.
bool dictHasKeys(PyObject* dict, PyObject* keysTuple);
/// What Elements guards ask; `keys` is null but for dicts, `limit` is the maxlen of a deque or -1.
bool holdsElements(PyObject* object, PyObject* keys, int64_t count, int64_t limit);
/// Exact list or tuple of exactly these objects.
bool itemsAre(PyObject* sequence, PyObject* items);

/// Whether `left relation right` holds for these symbol values; false on overflow or division by zero.
bool relationHolds(const graph::SymContext& syms, const Guard& guard, const int64_t* symbols);

}  // namespace fw::guards
