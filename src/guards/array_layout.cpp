// Classification of live arrays. Capture makes Layouts from arrays with classifyLayout and guards compare with it, so that it
// alone defines what a layout class is.
#include "guards/array_layout.h"

#include <cstdlib>

namespace fw::guards {

using graph::Contiguity;
using graph::DType;
using graph::Layout;

namespace {

/// NumPy's insertion sort of the axes by absolute stride (npyiter_find_best_axis_ordering), from the outermost axis; votes[i] is the
/// absolute stride of axis i or 0 if it has none.
void sortAxes(const absl::InlinedVector<npy_intp, 4>& votes, Layout& layout) {
  int rank = static_cast<int>(votes.size());
  // Innermost first, as the iterator keeps them.
  absl::InlinedVector<int8_t, 4> axes(rank);
  for (int i = 0; i < rank; ++i) axes[i] = static_cast<int8_t>(rank - 1 - i);
  for (int i = 1; i < rank; ++i) {
    int8_t moving = axes[i];
    int place = i;
    for (int j = i - 1; j >= 0; --j) {
      if (votes[moving] == 0 || votes[axes[j]] == 0) continue;   // no vote: look further in
      if (votes[moving] >= votes[axes[j]]) break;
      place = j;
    }
    for (int j = i; j > place; --j) axes[j] = axes[j - 1];
    axes[place] = moving;
  }
  layout.order.assign(axes.rbegin(), axes.rend());
}

Contiguity contiguityOf(PyArrayObject* array, const Layout& layout) {
  npy_intp item = PyArray_ITEMSIZE(array), expected = item;
  bool packed = layout.broadcastAxes == 0 && layout.negativeAxes == 0, inner = false, first = true;
  for (int i = layout.rank() - 1; i >= 0; --i) {
    int axis = layout.order[i];
    npy_intp size = PyArray_DIM(array, axis), stride = PyArray_STRIDE(array, axis);
    if (size == 1) continue;
    if (first) inner = stride == item;
    first = false;
    packed = packed && stride == expected;
    expected *= size;
  }
  return packed ? Contiguity::kPacked : inner ? Contiguity::kInner : Contiguity::kStrided;
}

constexpr int kTypeNumbers[] = {NPY_BOOL, NPY_BYTE, NPY_UBYTE, NPY_SHORT, NPY_USHORT, NPY_INT, NPY_UINT, NPY_LONG, NPY_ULONG,
                                NPY_HALF, NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
constexpr char kTypeChars[] = {NPY_BOOLLTR, NPY_BYTELTR, NPY_UBYTELTR, NPY_SHORTLTR, NPY_USHORTLTR, NPY_INTLTR, NPY_UINTLTR,
                               NPY_LONGLTR, NPY_ULONGLTR, NPY_HALFLTR, NPY_FLOATLTR, NPY_DOUBLELTR, NPY_CFLOATLTR, NPY_CDOUBLELTR};
constexpr bool tableMatches() {
  for (int i = 0; i < graph::kNumDTypes; ++i) if (graph::kDTypes[i].numpyChar != kTypeChars[i]) return false;
  return true;
}
static_assert(std::size(kTypeNumbers) == graph::kNumDTypes && std::size(kTypeChars) == graph::kNumDTypes && tableMatches(),
              "the table of NumPy type numbers follows the rows of dtypes.def");

}  // namespace

Layout classifyLayout(PyArrayObject* array) {
  int rank = PyArray_NDIM(array);
  Layout layout;
  int flags = PyArray_FLAGS(array);
  if (flags & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) {
    bool c = flags & NPY_ARRAY_C_CONTIGUOUS;
    for (int i = 0; i < rank; ++i) layout.order.push_back(static_cast<int8_t>(c ? i : rank - 1 - i));
    return layout;
  }
  absl::InlinedVector<npy_intp, 4> votes(rank);
  for (int i = 0; i < rank; ++i) {
    npy_intp stride = PyArray_STRIDE(array, i);
    if (PyArray_DIM(array, i) == 1) continue;
    votes[i] = std::abs(stride);
    if (stride == 0 && i < 32) layout.broadcastAxes |= 1u << i;
    if (stride < 0 && i < 32) layout.negativeAxes |= 1u << i;
  }
  sortAxes(votes, layout);
  layout.contiguity = contiguityOf(array, layout);
  return layout;
}

bool layoutMatches(PyArrayObject* array, const Layout& layout) { return classifyLayout(array) == layout; }

std::optional<DType> dtypeOf(PyArray_Descr* descr) {
  for (int i = 0; i < graph::kNumDTypes; ++i) {
    if (kTypeNumbers[i] != descr->type_num) continue;
    if (descr == builtinDescr(static_cast<DType>(i))) return static_cast<DType>(i);
    if (!PyArray_ISNBO(descr->byteorder) || PyDataType_METADATA(descr) || PyDataType_HASFIELDS(descr)) return std::nullopt;
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

namespace {
struct Extent {
  const char *lo, *hi;   // empty if equal
};
Extent extentOf(PyArrayObject* array) {
  auto* lo = static_cast<const char*>(PyArray_DATA(array));
  const char* hi = lo;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    npy_intp size = PyArray_DIM(array, i), reach = (size - 1) * PyArray_STRIDE(array, i);
    if (size == 0) return {lo, lo};
    (reach < 0 ? lo : hi) += reach;
  }
  return {lo, hi + PyArray_ITEMSIZE(array)};
}
}  // namespace

bool mayOverlap(PyArrayObject* a, PyArrayObject* b) {
  Extent x = extentOf(a), y = extentOf(b);
  if (x.lo == x.hi || y.lo == y.hi) return false;
  return x.lo < y.hi && y.lo < x.hi;
}

}  // namespace fw::guards
