#include "bindings/direct_loops.h"

#include <xmmintrin.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "cpython/numpy_names.h"
#include "cpython/ref.h"
#include "guards/array_layout.h"

namespace fw::bindings {

using capture::LibraryCall;
using cpython::checked;
using cpython::Ref;
using runtime::CallArray;

namespace {

/// Steps that may be made without letting other threads run, as NumPy does for long calls.
constexpr int64_t kMostSteps = 1 << 17;

constexpr unsigned kInvalid = _MM_EXCEPT_INVALID;
constexpr unsigned kAll = kInvalid | _MM_EXCEPT_DIV_ZERO | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW;

/// A generalised ufunc, and what the function around it reports of floating-point conditions: solvers only that there
/// is no answer.
struct LoopRow {
  std::string_view name;
  const char* module;
  unsigned reported;
};
constexpr char kLinalg[] = "numpy.linalg._umath_linalg";
constexpr LoopRow kLoopRows[] = {
    {"matmul", "numpy", kAll},          {"det", kLinalg, kAll},         {"inv", kLinalg, kInvalid},
    {"solve", kLinalg, kInvalid},       {"solve1", kLinalg, kInvalid},  {"cholesky_lo", kLinalg, kInvalid},
    {"eigvalsh_lo", kLinalg, kInvalid}, {"eigh_lo", kLinalg, kInvalid},
};

/// The number of the loop for operands and results of one type; -1 if there is none.
int loopOf(const PyUFuncObject* ufunc, int type) {
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const char* types = ufunc->types + i * ufunc->nargs;
    if (ufunc->functions[i] && std::all_of(types, types + ufunc->nargs, [&](char own) { return own == type; }))
      return i;
  }
  return -1;
}

/// The sizes of the core dimensions, and the strides of all operands along theirs: those of length one do not move.
class CoreSizes {
 public:
  explicit CoreSizes(const PyUFuncObject* ufunc)
      : ufunc_(ufunc),
        sizes_(static_cast<size_t>(ufunc->core_num_dim_ix) + 1, -1),
        steps_(static_cast<size_t>(ufunc->nargs), 0) {
    sizes_[0] = 1;  // times
  }

  /// False if the array does not fit.
  bool add(int operand, const CallArray& array) {
    const int axes = ufunc_->core_num_dims[operand];
    int missing = axes - array.rank, axis = 0;
    for (int i = 0; i < axes; ++i) {
      const int dimension = ufunc_->core_dim_ixs[ufunc_->core_offsets[operand] + i];
      const bool left = missing > 0 && ufunc_->core_dim_flags[dimension] & UFUNC_CORE_DIM_CAN_IGNORE;
      if (!left && axis == array.rank) return false;
      const npy_intp size = left ? 1 : array.shape[axis];
      npy_intp& known = sizes_[static_cast<size_t>(dimension) + 1];
      if (known >= 0 && known != size) return false;
      known = size;
      steps_.push_back(size == 1 ? 0 : array.strides[axis]);
      left ? --missing : ++axis;
    }
    return axis == array.rank;
  }

  /// As many as there can be, for products and solvers of matrices.
  double steps() const {
    double most = 1, product = 1;
    for (const npy_intp size : sizes_) {
      product *= static_cast<double>(size);
      most = std::max(most, static_cast<double>(size));
    }
    return sizes_.size() > 3 ? product : most * most * most;
  }

  bool isEmpty() const { return std::find(sizes_.begin(), sizes_.end(), 0) != sizes_.end(); }
  const npy_intp* sizes() const { return sizes_.data(); }
  const npy_intp* strides() const { return steps_.data(); }

 private:
  const PyUFuncObject* ufunc_;
  absl::InlinedVector<npy_intp, 4> sizes_;
  absl::InlinedVector<npy_intp, 12> steps_;
};

/// Conditions of the x87 unit, whose bits are those of MXCSR: the C library raises overflows there.
unsigned conditionsOfX87() {
  unsigned short status;
  asm volatile("fnstsw %0" : "=am"(status));
  return status & kAll;
}
void clearX87() { asm volatile("fnclex"); }

/// Null if there is none.
PyArray_DotFunc* dotOf(int type) {
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  PyArray_DotFunc* function = PyDataType_GetArrFuncs(descr)->dotfunc;
  Py_DECREF(descr);
  return function;
}

}  // namespace

runtime::CallShortcut DirectLoop::ofVectors() const {
  return {.function = reinterpret_cast<void*>(vectors_), .most = kMostSteps, .mask = item_ - 1};
}

std::optional<DirectLoop> DirectLoop::of(const LibraryCall& site) {
  DirectLoop loop;
  const int type = guards::typeNumber(site.type);
  if (site.direct == LibraryCall::Direct::kDot) {
    loop.dot_ = loop.vectors_ = dotOf(type);
    loop.item_ = graph::itemSize(site.type);
    loop.reported_ = kAll;
    return loop.dot_ ? std::optional(loop) : std::nullopt;
  }
  if (site.direct == LibraryCall::Direct::kQuantile) {
    loop.place_ = site.place;
    loop.reported_ = kAll;
    return loop;
  }
  if (site.direct == LibraryCall::Direct::kSort || site.direct == LibraryCall::Direct::kArgsort) {
    PyArray_Descr* descr = PyArray_DescrFromType(type);
    const bool places = site.direct == LibraryCall::Direct::kArgsort;
    if (places)
      loop.argsort_ = PyDataType_GetArrFuncs(descr)->argsort[NPY_QUICKSORT];
    else
      loop.sort_ = PyDataType_GetArrFuncs(descr)->sort[NPY_QUICKSORT];
    Py_DECREF(descr);
    return loop.sort_ || loop.argsort_ ? std::optional(loop) : std::nullopt;
  }
  if (site.direct == LibraryCall::Direct::kMedian) {
    loop.median_ = medianOf(site.type);
    loop.reported_ = kAll;
    return loop.median_ ? std::optional(loop) : std::nullopt;
  }
  if (site.direct != LibraryCall::Direct::kLoop) return std::nullopt;
  const auto* row =
      std::find_if(std::begin(kLoopRows), std::end(kLoopRows), [&](const LoopRow& r) { return r.name == site.method; });
  if (row == std::end(kLoopRows)) return std::nullopt;
  try {
    const Ref module = checked(PyImport_ImportModule(row->module));
    const Ref found = checked(PyObject_GetAttrString(module.get(), std::string(row->name).c_str()));
    if (!cpython::isUfunc(found.get())) return std::nullopt;
    loop.ufunc_ = reinterpret_cast<PyUFuncObject*>(found.get());
  } catch (const cpython::PythonError&) {
    PyErr_Clear();
    return std::nullopt;
  }
  const bool own = site.function.get() == reinterpret_cast<const PyObject*>(loop.ufunc_) || row->module == kLinalg;
  loop.loop_ = loop.ufunc_->core_enabled && own ? loopOf(loop.ufunc_, type) : -1;
  loop.reported_ = row->reported;
  const bool isReal = site.type == graph::DType::kF64 || site.type == graph::DType::kF32;
  if (row->name == "matmul" && isReal) {
    loop.vectors_ = dotOf(type);
    loop.item_ = graph::itemSize(site.type);
  }
  return loop.loop_ >= 0 ? std::optional(loop) : std::nullopt;
}

bool DirectLoop::compute(absl::Span<const CallArray> operands, absl::Span<const CallArray> results,
                         Memory memory) const {
  // Conditions that stand from before are others' to report.
  const unsigned before = _mm_getcsr();
  if (before & kAll) _mm_setcsr(before & ~kAll);  // which takes its time, as below
  if (conditionsOfX87()) clearX87();
  bool done = false;
  if (ufunc_)
    done = run(operands, results, memory);
  else if (void* out = memory(results[0]))
    done = dot_                ? dot(operands[0], operands[1], out)
           : sort_ || argsort_ ? sort(operands[0], out)
           : place_            ? quantile(operands[0], *place_, out)
                               : median_(operands[0], out);
  const unsigned after = _mm_getcsr();
  if ((after | before) & kAll) _mm_setcsr(before);
  return done && !((after | conditionsOfX87()) & reported_);
}

bool DirectLoop::run(absl::Span<const CallArray> operands, absl::Span<const CallArray> results, Memory memory) const {
  if (static_cast<int>(operands.size()) != ufunc_->nin || static_cast<int>(results.size()) != ufunc_->nout)
    return false;
  CoreSizes core(ufunc_);
  int number = 0;
  for (const auto& arrays : {operands, results})
    for (const CallArray& array : arrays)
      if (!core.add(number++, array)) return false;
  if (core.steps() > double{kMostSteps} || core.isEmpty()) return false;
  absl::InlinedVector<char*, 4> places;
  for (const CallArray& operand : operands) places.push_back(static_cast<char*>(operand.data));
  for (const CallArray& result : results) {
    places.push_back(static_cast<char*>(memory(result)));
    if (!places.back()) return false;
  }
  void* data = ufunc_->data ? ufunc_->data[loop_] : nullptr;
  ufunc_->functions[loop_](places.data(), core.sizes(), core.strides(), data);
  return true;
}

/// np.dot multiplies vectors of one element in another way, and copies those that do not go forwards element by
/// element.
bool DirectLoop::dot(const CallArray& left, const CallArray& right, void* out) const {
  const int64_t size = left.shape[0];
  if (size < 2 || size > kMostSteps || right.shape[0] != size) return false;
  const int64_t item = graph::itemSize(left.dtype);
  for (const int64_t stride : {left.strides[0], right.strides[0]})
    if (stride <= 0 || stride % item != 0) return false;
  dot_(left.data, left.strides[0], right.data, right.strides[0], out, size, nullptr);
  return true;
}

bool DirectLoop::sort(const CallArray& array, void* out) const {
  constexpr int64_t kMost = 4096;  // beyond that, a call costs little beside what it computes
  const int64_t size = array.shape[0], item = graph::itemSize(array.dtype);
  if (array.rank != 1 || size > kMost) return false;
  absl::InlinedVector<char, 512> copy;
  char* numbers = static_cast<char*>(out);
  if (argsort_) {
    copy.resize(static_cast<size_t>(size * item));
    numbers = copy.data();
  }
  for (int64_t i = 0; i < size; ++i)
    std::memcpy(numbers + i * item, static_cast<const char*>(array.data) + i * array.strides[0],
                static_cast<size_t>(item));
  if (!argsort_) return sort_(numbers, size, nullptr) == 0;
  auto* places = static_cast<npy_intp*>(out);
  std::iota(places, places + size, npy_intp{0});
  return argsort_(numbers, places, size, nullptr) == 0;
}

}  // namespace fw::bindings
