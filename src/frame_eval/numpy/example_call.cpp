#include "frame_eval/numpy/example_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpython/numpy_api.h"
#include "cpython/warning_watch.h"
#include "frame_eval/numpy/errors_as.h"
#include "guards/array_layout.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;
using cpython::PythonError;
using cpython::Ref;
using graph::DType;

/// Element `at` of an array of that shape, as a real number.
double element(absl::Span<const int64_t> shape, int64_t at, bool second) {
  if (shape.empty()) return 0.5;
  const int64_t count = shape.back();
  const int64_t column = at % count, row = at / count % (shape.size() > 1 ? shape[shape.size() - 2] : 1);
  if (shape.size() == 1) {
    const auto x = static_cast<double>(column);
    return second ? 0.5 + 0.4 * std::sin(2.3 * x) : (x + 1) / (static_cast<double>(count) + 1);
  }
  const auto distance = static_cast<double>(std::abs(row - column));
  const double near = row == column ? 2.0 : 0.0;
  const double skew = second ? 0.05 * std::sin(static_cast<double>(3 * row + column)) : 0.0;
  return near + 0.25 / (1 + distance * distance) + skew;
}

void fill(PyArrayObject* array, DType dtype, absl::Span<const int64_t> shape, bool second) {
  const int64_t count = PyArray_SIZE(array);
  const Ref flat = checked(PyArray_IterNew(reinterpret_cast<PyObject*>(array)));  // in C order
  auto* at = reinterpret_cast<PyArrayIterObject*>(flat.get());
  for (int64_t i = 0; i < count; ++i) {
    const double real = element(shape, i, second);
    Ref number;
    if (dtype == DType::kBool)
      number = checked(PyBool_FromLong((second ? i % 3 : i % 2) == 0));
    else if (graph::isComplex(dtype))
      number = checked(PyComplex_FromDoubles(real, second ? 0.1 * real : 0));
    else if (graph::isInexact(dtype))
      number = checked(PyFloat_FromDouble(real));
    else
      number = checked(PyLong_FromLongLong(second ? (3 * i + 1) % 4 : i % 2));
    if (PyArray_SETITEM(array, static_cast<char*>(PyArray_ITER_DATA(at)), number.get()) < 0) throw PythonError();
    PyArray_ITER_NEXT(at);
  }
}

std::optional<Answer::Result> resultOf(PyObject* object) {
  if (object == Py_None || PyBool_Check(object) || PyUnicode_CheckExact(object))
    return Answer::Result{.dtype = DType::kBool, .kind = Answer::Kind::kFixed, .fixed = Ref::create(object)};
  if (PyFloat_CheckExact(object)) return Answer::Result{DType::kF64, Answer::Kind::kFloat};
  if (PyLong_CheckExact(object)) return Answer::Result{DType::kI64, Answer::Kind::kInt};
  if (const auto dtype = guards::dtypeOfScalarType(Py_TYPE(object))) return Answer::Result{*dtype};
  if (!PyArray_CheckExact(object)) return std::nullopt;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const auto dtype = guards::dtypeOf(PyArray_DESCR(array));
  const bool c = PyArray_IS_C_CONTIGUOUS(array), f = PyArray_IS_F_CONTIGUOUS(array);
  if (!dtype || PyArray_NDIM(array) == 0 || !(c || f) || !PyArray_ISWRITEABLE(array)) return std::nullopt;
  return Answer::Result{
      *dtype, Answer::Kind::kValue, !c, {PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array)}};
}

/// Its elements lie in memory of an argument: what Python writes into it later would be seen there.
bool isOfAnArgument(PyObject* item, absl::Span<const Ref> arrays) {
  if (!PyArray_Check(item)) return false;
  const auto* data = static_cast<const char*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(item)));
  return std::any_of(arrays.begin(), arrays.end(), [&](const Ref& argument) {
    auto* array = reinterpret_cast<PyArrayObject*>(argument.get());
    const auto* begin = static_cast<const char*>(PyArray_DATA(array));
    return argument.get() == item || (data >= begin && data < begin + std::max<npy_intp>(PyArray_NBYTES(array), 1));
  });
}

std::optional<Answer> answerOf(PyObject* object, absl::Span<const Ref> arrays) {
  Answer answer;
  const bool sequence = PyTuple_Check(object) || PyList_CheckExact(object);
  if (sequence) answer.cls = Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const Py_ssize_t count = sequence ? PySequence_Fast_GET_SIZE(object) : 1;
  if (count == 0) return std::nullopt;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = sequence ? PySequence_Fast_GET_ITEM(object, i) : object;
    std::optional<Answer::Result> result = resultOf(item);
    if (!result || isOfAnArgument(item, arrays)) return std::nullopt;
    if (!sequence && result->kind == Answer::Kind::kFixed) return std::nullopt;
    answer.results.push_back(*std::move(result));
  }
  return answer;
}

}  // namespace

bool Answer::Result::isLike(const Result& other) const {
  if (dtype != other.dtype || kind != other.kind) return false;
  if (kind == Kind::kFixed)
    return Py_TYPE(fixed.get()) == Py_TYPE(other.fixed.get()) &&
           PyObject_RichCompareBool(fixed.get(), other.fixed.get(), Py_EQ) == 1;
  return fortran == other.fortran && shape.size() == other.shape.size();
}

Ref exampleArray(const graph::ValueType& type, absl::Span<const int64_t> shape, bool second) {
  const int rank = type.rank();
  std::vector<npy_intp> strides(static_cast<size_t>(rank));
  npy_intp stride = graph::itemSize(type.dtype);
  for (int i = rank; i-- > 0;) {
    const auto axis = static_cast<size_t>(type.layout.order[static_cast<size_t>(i)]);
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
  }
  Ref array = checked(PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(guards::typeNumber(type.dtype)), rank,
                                           reinterpret_cast<const npy_intp*>(shape.data()), strides.data(), nullptr, 0,
                                           nullptr));
  fill(reinterpret_cast<PyArrayObject*>(array.get()), type.dtype, shape, second);
  return array;
}

std::optional<Answer> callForExample(PyObject* callable, PyObject* positional, PyObject* keywords,
                                     absl::Span<const Ref> arrays) {
  std::vector<Ref> before;
  for (const Ref& array : arrays)
    before.push_back(checked(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(array.get()), NPY_KEEPORDER)));
  Ref answer;
  {
    const ErrorsAs quiet("all", "ignore");
    const cpython::WarningWatch watch;
    answer = Ref::steal(PyObject_Call(callable, positional, keywords));
    if (!answer && !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
    if (!answer) PyErr_Clear();
    if (!answer || watch.hasWarned()) return std::nullopt;
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    auto *now = reinterpret_cast<PyArrayObject*>(arrays[i].get()),
         *then = reinterpret_cast<PyArrayObject*>(before[i].get());
    if (std::memcmp(PyArray_DATA(now), PyArray_DATA(then), static_cast<size_t>(PyArray_NBYTES(now))) != 0)
      return std::nullopt;
  }
  return answerOf(answer.get(), arrays);
}

}  // namespace fw::capture::numpy
