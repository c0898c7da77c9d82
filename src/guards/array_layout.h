// Live arrays in the terms of the graph: element type, layout class.
#pragma once

#include <optional>

#include "cpython/numpy_api.h"
#include "graph/dtype.h"
#include "graph/layout.h"
#include "guards/array_library.h"

namespace fw::guards {

/// Layout class of a live array. Deterministic, so that the classes of variants exclude each other:
///   1. flag C_CONTIGUOUS: packed C (also rank 0, empty arrays, and whatever the strides of size-1 axes are);
///   2. flag F_CONTIGUOUS: packed F;
///   3. otherwise axes in the order that NumPy's iterator gives a single operand: by falling absolute stride, axes of
/// stride 0 or
///      size 1 do not vote and keep their C position. broadcastAxes and negativeAxes name axes of size above 1 only.
///      kPacked if there are neither of those and no gaps; kInner if the innermost axis of size above 1 has stride
///      +itemsize; else kStrided. tiedAxes and interleaved follow from the strides of the axes that vote.
graph::Layout classifyLayout(const ArrayView& array);

/// classifyLayout(array) == layout.
bool layoutMatches(const ArrayView& array, const graph::Layout& layout);

/// Element type of a dtype object that our arithmetic covers: native byte order, no metadata, no fields. 'q' and 'Q'
/// (long long) are refused, because NumPy answers them with a dtype object other than that of 'l' and 'L'.
std::optional<graph::DType> dtypeOf(PyArray_Descr* descr);

/// NumPy's type number of a dtype.
int typeNumber(graph::DType dtype);
/// The builtin dtype object; borrowed, lives for ever.
PyArray_Descr* builtinDescr(graph::DType dtype);

/// Exact NumPy scalar type of a dtype (np.float32 ...).
PyTypeObject* scalarType(graph::DType dtype);
/// The dtype of which this is the exact scalar type. NumPy is not asked for a scalar's dtype: it reads attributes that
/// classes of the user may define, and raises over them.
std::optional<graph::DType> dtypeOfScalarType(const PyTypeObject* type);

/// NumPy scalars of our dtypes keep their value at this offset in the object.
inline constexpr int kNumpyScalarOffset = 16;
static_assert(offsetof(PyBoolScalarObject, obval) == 16 && offsetof(PyHalfScalarObject, obval) == 16 &&
              offsetof(PyFloatScalarObject, obval) == 16 && offsetof(PyDoubleScalarObject, obval) == 16 &&
              offsetof(PyLongScalarObject, obval) == 16 && offsetof(PyCFloatScalarObject, obval) == 16 &&
              offsetof(PyCDoubleScalarObject, obval) == 16 && offsetof(PyByteScalarObject, obval) == 16);

}  // namespace fw::guards
