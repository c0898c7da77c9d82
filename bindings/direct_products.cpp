#include "bindings/direct_products.h"

#include <xmmintrin.h>

#include "guards/array_layout.h"

namespace fw::bindings {

using capture::LibraryCall;
using runtime::CallArray;

namespace {

/// Steps of a product that may be made without letting other threads run, as NumPy does for long ones.
constexpr double kMostSteps = 1 << 17;

struct Loop {
  PyUFuncGenericFunction function;
  void* data;
};

/// The loop of a ufunc for operands and results of one type.
std::optional<Loop> loopOf(PyObject* function, int type) {
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(function);
  const int operands = ufunc->nin + ufunc->nout;
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const char* types = ufunc->types + i * operands;
    bool same = true;
    for (int operand = 0; operand < operands; ++operand) same = same && types[operand] == type;
    if (same && ufunc->functions[i]) return Loop{ufunc->functions[i], ufunc->data ? ufunc->data[i] : nullptr};
  }
  return std::nullopt;
}

/// The size and step of an axis as generalised ufuncs give them to their loops: axes of length one do not move.
struct Axis {
  npy_intp size = 1, step = 0;
};
Axis axisOf(const CallArray& array, int axis) {
  if (axis < 0) return {};
  return {array.shape[axis], array.shape[axis] == 1 ? 0 : array.strides[axis]};
}

}  // namespace

std::optional<DirectProduct> DirectProduct::of(const LibraryCall& site) {
  DirectProduct product;
  const int type = guards::typeNumber(site.type);
  if (site.direct == LibraryCall::Direct::kMatmul) {
    const auto loop = loopOf(site.function.get(), type);
    if (!loop) return std::nullopt;
    product.loop_ = loop->function;
    product.loopData_ = loop->data;
    return product;
  }
  if (site.direct != LibraryCall::Direct::kDot) return std::nullopt;
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  product.dot_ = PyDataType_GetArrFuncs(descr)->dotfunc;
  Py_DECREF(descr);
  if (!product.dot_) return std::nullopt;
  return product;
}

bool DirectProduct::compute(const CallArray& left, const CallArray& right, const CallArray& result, void* out) const {
  // Conditions that stand from before are others' to report.
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before & ~_MM_EXCEPT_MASK);
  const bool done = loop_ ? multiply(left, right, result, out) : dot(left, right, out);
  const unsigned raised =
      _mm_getcsr() & (_MM_EXCEPT_INVALID | _MM_EXCEPT_DIV_ZERO | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW);
  _mm_setcsr(before);
  return done && (!raised || dot_);  // np.dot reports none
}

/// left: m by n, right: n by p; vectors are a row and a column.
bool DirectProduct::multiply(const CallArray& left, const CallArray& right, const CallArray& result, void* out) const {
  const bool row = left.rank == 1, column = right.rank == 1;
  const Axis m = axisOf(left, row ? -1 : 0), n = axisOf(left, left.rank - 1);
  const Axis inner = axisOf(right, 0), p = axisOf(right, column ? -1 : 1);
  if (n.size != inner.size) return false;
  if (static_cast<double>(m.size) * static_cast<double>(n.size) * static_cast<double>(p.size) > kMostSteps)
    return false;
  char* arrays[] = {static_cast<char*>(left.data), static_cast<char*>(right.data), static_cast<char*>(out)};
  const npy_intp sizes[] = {1, m.size, n.size, p.size};
  const npy_intp steps[] = {0,
                            0,
                            0,
                            m.step,
                            n.step,
                            inner.step,
                            p.step,
                            axisOf(result, row ? -1 : 0).step,
                            axisOf(result, column ? -1 : result.rank - 1).step};
  loop_(arrays, sizes, steps, loopData_);
  return true;
}

/// NumPy multiplies vectors of one element in another way, and copies those that do not go forwards element by element.
bool DirectProduct::dot(const CallArray& left, const CallArray& right, void* out) const {
  const int64_t size = left.shape[0];
  if (size < 2 || static_cast<double>(size) > kMostSteps || right.shape[0] != size) return false;
  const int64_t item = graph::itemSize(left.dtype);
  for (const int64_t stride : {left.strides[0], right.strides[0]})
    if (stride <= 0 || stride % item != 0) return false;
  dot_(left.data, left.strides[0], right.data, right.strides[0], out, size, nullptr);
  return true;
}

}  // namespace fw::bindings
