// Classification of live arrays. Capture makes Layouts from arrays with classifyLayout and guards compare with it, so
// that it alone defines what a layout class is.
#include "guards/array_layout.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fw::guards {

using graph::Contiguity;
using graph::DType;
using graph::Layout;

namespace {

/// A layout class in fixed storage: stubs compare it on every call.
struct Class {
  int8_t order[NPY_MAXDIMS];
  Contiguity contiguity = Contiguity::kPacked;
  uint32_t broadcastAxes = 0, negativeAxes = 0, tiedAxes = 0;
  bool interleaved = false;
};

/// NumPy's insertion sort of the axes by absolute stride (npyiter_find_best_axis_ordering); votes[i] is the absolute
/// stride of axis i or 0 if it has none.
void sortAxes(const npy_intp* votes, int rank, int8_t* order) {
  // order is kept outermost first; the iterator works from the innermost axis on, which is the end.
  for (int i = rank - 1; i >= 0; --i) {
    int place = i;
    for (int j = i + 1; j < rank; ++j) {
      npy_intp other = votes[order[j]];
      if (votes[i] == 0 || other == 0) continue;  // no vote: look further in
      if (votes[i] >= other) break;
      place = j;
    }
    for (int j = i; j < place; ++j) order[j] = order[j + 1];
    order[place] = static_cast<int8_t>(i);
  }
}

Contiguity contiguityOf(const ArrayView& array, const Class& c) {
  npy_intp item = array.itemSize(), expected = item;
  bool packed = c.broadcastAxes == 0 && c.negativeAxes == 0, inner = false, first = true;
  for (int i = array.rank - 1; i >= 0; --i) {
    int axis = c.order[i];
    npy_intp size = array.shape[axis], stride = array.strides[axis];
    if (size == 1) continue;
    if (first) inner = stride == item;
    first = false;
    packed = packed && stride == expected;
    expected *= size;
  }
  return packed ? Contiguity::kPacked : inner ? Contiguity::kInner : Contiguity::kStrided;
}

/// Axes of one stride, and whether an axis reaches as far as the next stride: order that a step can change.
void compareStrides(const ArrayView& array, const npy_intp* votes, Class& c) {
  npy_intp below = 0, reach = 0;  // stride of the axes further in, and how far the longest of them goes
  int last = -1;                  // the outermost of them
  for (int i = array.rank - 1; i >= 0; --i) {
    const int axis = c.order[i];
    const npy_intp stride = votes[axis];
    if (stride == 0) continue;
    const bool tied = stride == below;
    if (tied && last < 32) c.tiedAxes |= 1u << last;
    if (!tied && stride <= reach) c.interleaved = true;
    const npy_intp span = stride * (array.shape[axis] - 1);
    reach = tied ? std::max(reach, span) : span;
    below = stride;
    last = axis;
  }
}

void classify(const ArrayView& array, Class& c) {
  int rank = array.rank, flags = array.flags;
  if (flags & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) {
    bool isC = flags & NPY_ARRAY_C_CONTIGUOUS;
    for (int i = 0; i < rank; ++i) c.order[i] = static_cast<int8_t>(isC ? i : rank - 1 - i);
    return;
  }
  npy_intp votes[NPY_MAXDIMS];
  for (int i = 0; i < rank; ++i) {
    npy_intp stride = array.strides[i];
    bool single = array.shape[i] == 1;
    votes[i] = single ? 0 : std::abs(stride);
    if (!single && stride == 0 && i < 32) c.broadcastAxes |= 1u << i;
    if (!single && stride < 0 && i < 32) c.negativeAxes |= 1u << i;
  }
  sortAxes(votes, rank, c.order);
  c.contiguity = contiguityOf(array, c);
  compareStrides(array, votes, c);
}

constexpr int kTypeNumbers[] = {NPY_BOOL, NPY_BYTE,  NPY_UBYTE, NPY_SHORT, NPY_USHORT, NPY_INT,    NPY_UINT,
                                NPY_LONG, NPY_ULONG, NPY_HALF,  NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
constexpr char kTypeChars[] = {NPY_BOOLLTR,  NPY_BYTELTR,   NPY_UBYTELTR,  NPY_SHORTLTR,  NPY_USHORTLTR,
                               NPY_INTLTR,   NPY_UINTLTR,   NPY_LONGLTR,   NPY_ULONGLTR,  NPY_HALFLTR,
                               NPY_FLOATLTR, NPY_DOUBLELTR, NPY_CFLOATLTR, NPY_CDOUBLELTR};
constexpr bool tableMatches() {
  for (int i = 0; i < graph::kNumDTypes; ++i)
    if (graph::kDTypes[i].numpyChar != kTypeChars[i]) return false;
  return true;
}
static_assert(std::size(kTypeNumbers) == graph::kNumDTypes && std::size(kTypeChars) == graph::kNumDTypes &&
                  tableMatches(),
              "the table of NumPy type numbers follows the rows of dtypes.def");

}  // namespace

Layout classifyLayout(const ArrayView& array) {
  Class c;
  classify(array, c);
  Layout layout;
  layout.order.assign(c.order, c.order + array.rank);
  layout.contiguity = c.contiguity;
  layout.broadcastAxes = c.broadcastAxes;
  layout.negativeAxes = c.negativeAxes;
  layout.tiedAxes = c.tiedAxes;
  layout.interleaved = c.interleaved;
  return layout;
}

bool layoutMatches(const ArrayView& array, const Layout& layout) {
  if (array.rank != layout.rank()) return false;
  Class c;
  classify(array, c);
  return c.contiguity == layout.contiguity && c.broadcastAxes == layout.broadcastAxes &&
         c.negativeAxes == layout.negativeAxes && c.tiedAxes == layout.tiedAxes &&
         c.interleaved == layout.interleaved && std::memcmp(c.order, layout.order.data(), layout.order.size()) == 0;
}

std::optional<DType> dtypeOf(PyArray_Descr* descr) {
  for (int i = 0; i < graph::kNumDTypes; ++i) {
    if (kTypeNumbers[i] != descr->type_num) continue;
    if (descr == builtinDescr(static_cast<DType>(i))) return static_cast<DType>(i);
    if (!PyArray_ISNBO(descr->byteorder) || PyDataType_METADATA(descr) || PyDataType_HASFIELDS(descr))
      return std::nullopt;
    return static_cast<DType>(i);
  }
  return std::nullopt;
}

int typeNumber(DType dtype) { return kTypeNumbers[static_cast<int>(dtype)]; }

PyArray_Descr* builtinDescr(DType dtype) {
  static PyArray_Descr* descrs[graph::kNumDTypes];
  PyArray_Descr*& descr = descrs[static_cast<int>(dtype)];
  if (!descr) descr = PyArray_DescrFromType(typeNumber(dtype));
  return descr;
}

PyTypeObject* scalarType(DType dtype) { return builtinDescr(dtype)->typeobj; }

std::optional<DType> dtypeOfScalarType(const PyTypeObject* type) {
  for (const graph::DTypeInfo& info : graph::kDTypes)
    if (type == scalarType(info.dtype)) return info.dtype;
  return std::nullopt;
}

}  // namespace fw::guards
