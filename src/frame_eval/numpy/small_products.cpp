// A product of floats is a sum whose bits depend on its order, which is that of a kernel of NumPy's BLAS: it goes by
// the machine, the function, the element type, the sizes and the layouts. So NumPy itself is asked, once per process
// for each of them: it multiplies random operands, and the first order of product_orders.def that has all of its bits
// is compiled. No order has them: the product stays a call. Sizes become constants for that, as long as the function is
// not seen with many (CaptureOptions::changing).
//
// - Operands are packed in C or Fortran order and have at least two elements along every axis: all of their memory is
//   known then. Others go through loops and copies that NumPy chooses by strides.
// - One order is that of all elements of a result. Kernels whose last rows are summed differently fit none.
// - What holds for a matrix in a stack is asked of stacks of three, and holds for as many as there are.
// - Of many points times a small matrix (one axis is long), NumPy is also asked about lengths that end in every way in
//   which a kernel, or the share of a thread, may end; rows at both ends and some between them are compared.
// - A matrix times its own transpose is computed by another kernel (syrk). Whether two arrays are one is seen when the
//   product runs, so that an order must be that of both.
// - Kernels that begin with zero answer -0.0 for no sum of zeros, but for one that becomes too small for a number if
// they
//   add the first product without rounding it: the zero is added first or last, or both.
// - Kernels that work in whole vectors compute on what stands beside the operands, too, and report what comes of zeros
//   and an infinity there; what the threads of a long product report, nobody sees. NumPy is asked for that as well;
//   then only results that are finite are the graph's.
// - Sums of integers wrap, in any order.
#include "frame_eval/numpy/small_products.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "cpython/numpy_api.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/errors_as.h"
#include "frame_eval/numpy/library.h"
#include "graph/support/check.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;

enum class Order : uint8_t {
#define FW_PRODUCT_ORDER(Id, text, source) k##Id,
#include "frame_eval/numpy/product_orders.def"
};
constexpr Order kOrders[] = {
#define FW_PRODUCT_ORDER(Id, text, source) Order::k##Id,
#include "frame_eval/numpy/product_orders.def"
};

/// What a sum is made of: `product(i)`, `fma(i, sum)`, `add(x, y)` of some type of values.
template <class Terms>
auto consecutive(Terms& terms, int64_t begin, int64_t end) {
  auto sum = terms.product(begin);
  for (int64_t i = begin + 1; i < end; ++i) sum = terms.fma(i, sum);
  return sum;
}

template <class Terms>
auto plain(Terms& terms, int64_t k) {
  auto sum = terms.product(0);
  for (int64_t i = 1; i < k; ++i) sum = terms.add(sum, terms.product(i));
  return sum;
}

/// What compilers make of a(0) * b(0) + a(1) * b(1) + ...: the first product is added to the second.
template <class Terms>
auto contracted(Terms& terms, int64_t begin, int64_t end) {
  auto sum = end - begin > 1 ? terms.fma(begin, terms.product(begin + 1)) : terms.product(begin);
  for (int64_t i = begin + 2; i < end; ++i) sum = terms.fma(i, sum);
  return sum;
}

template <class Terms>
auto lanes(Terms& terms, int64_t k) {
  const int64_t whole = k / 4 * 4;
  if (!whole) return contracted(terms, 0, k);
  const auto lane = [&](int64_t first) {
    auto sum = terms.product(first);
    for (int64_t i = first + 4; i < whole; i += 4) sum = terms.fma(i, sum);
    return sum;
  };
  const auto sum = terms.add(terms.add(lane(0), lane(2)), terms.add(lane(1), lane(3)));
  if (k == whole) return sum;
  return k == whole + 1 ? terms.fma(whole, sum) : terms.add(sum, contracted(terms, whole, k));
}

template <class Terms>
auto blocks(Terms& terms, int64_t k) {
  const auto size = [&](int64_t begin) -> int64_t { return k - begin >= 4 ? 4 : k - begin >= 2 ? 2 : 1; };
  auto sum = contracted(terms, 0, size(0));
  for (int64_t at = size(0); at < k; at += size(at)) sum = terms.add(sum, contracted(terms, at, at + size(at)));
  return sum;
}

template <class Terms>
auto sumOf(Order order, Terms& terms, int64_t k) {
  switch (order) {
    case Order::kSequence: return consecutive(terms, 0, k);
    case Order::kPlain: return plain(terms, k);
    case Order::kLanes: return lanes(terms, k);
    case Order::kBlocks: return blocks(terms, k);
  }
  FW_UNREACHABLE();
}

/// An order, where its sums have a zero added, and whether only products of finite results are sure to be reported
/// alike.
struct Summation {
  Order order;
  bool zeroFirst, zeroLast;  ///< to products that begin a sum, which are rounded with it; to the whole
  bool reportsOtherwise = false;
};

/// One kind of product of floats.
struct Kind {
  PyObject* function;
  DType dtype;
  int leftRank, rightRank;  ///< 3: a stack of matrices
  bool leftFortran, rightFortran;
  int64_t m, k, n;  ///< m or n is 1 for a vector

  bool isLong() const { return std::max(m, n) > kSmallProduct; }
  /// The same of another length.
  Kind withLength(int64_t length) const {
    Kind other = *this;
    (m > n ? other.m : other.n) = length;
    return other;
  }
  auto key() const { return std::tuple(function, dtype, leftRank, rightRank, leftFortran, rightFortran, m, k, n); }
};

// ---- asking NumPy ---------------------------------------------------------------------------------------------------

template <class T>
class Trial {
 public:
  explicit Trial(const Kind& kind)
      : kind_(kind),
        a_(static_cast<size_t>(kind.m * kind.k * inStack(kind.leftRank)) + kMostOffset),
        b_(static_cast<size_t>(kind.k * kind.n * inStack(kind.rightRank)) + kMostOffset) {}

  /// Takes away those that NumPy does not add like. `brief`: by three draws, of numbers, of small ones, and of zeros
  /// among them.
  void filter(std::vector<Summation>& fitting, bool brief = false) {
    const bool maybeSquare =
        kind_.leftRank == 2 && kind_.rightRank == 2 && kind_.m == kind_.n && kind_.leftFortran != kind_.rightFortran;
    // Two orders agree on about every other element; every draw has its own scale of zeros, and its own alignment.
    const int64_t draws = kind_.isLong() ? 4 : std::max<int64_t>(12, 400 / (kind_.m * kind_.n));
    for (int64_t draw = brief; draw < draws && !fitting.empty(); ++draw) {
      fill(draw);
      const bool own = maybeSquare && draw % 2;
      const size_t offset = static_cast<size_t>(draw / 2) % kMostOffset;
      const T* left = a_.data() + offset;
      const T* right = own ? left : b_.data() + offset;
      Ref answer = multiply(left, right);
      std::erase_if(fitting, [&](const Summation& s) { return !agrees(s, left, right, answer.get()); });
    }
  }

  /// Whether NumPy reports what no result tells of: sums of positive numbers of which one is infinite have nothing
  /// invalid about them.
  bool reportsMore() {
    const auto small = [&](size_t) { return T{1} + static_cast<T>(random_() % 8); };
    for (int draw = 0; draw < 8; ++draw) {
      for (std::vector<T>* values : {&a_, &b_}) repeat(*values, small);
      std::vector<T>& values = draw % 2 ? b_ : a_;
      const size_t count = values.size() - kMostOffset, place = random_() % std::min(count, kPattern);
      values[draw % 4 < 2 ? count - 1 - place : place] = std::numeric_limits<T>::infinity();
      if (raises("invalid")) return true;
    }
    return false;
  }

  /// Whether NumPy does not report all that results tell of: a sum that overflows is not if another thread has added
  /// it.
  bool reportsLess() {
    std::vector<T>& values = kind_.m > kind_.n ? a_ : b_;
    for (const size_t place : {size_t{0}, values.size() - kMostOffset - 1}) {
      for (std::vector<T>* all : {&a_, &b_}) std::fill(all->begin(), all->end(), T{2});
      values[place] = std::numeric_limits<T>::max();
      if (!raises("over")) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kMostOffset = 8;
  static constexpr size_t kPattern = 1021;  ///< numbers that are drawn for a long operand, which has them repeatedly

  template <class Make>
  static void repeat(std::vector<T>& values, Make make) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = i < kPattern ? make(i) : values[i - kPattern];
  }

  void fill(int64_t draw) {
    std::normal_distribution<T> normal;
    const bool sparse = draw % 4 == 3;
    const auto value = [&](size_t) {
      if (sparse && random_() % 2) return random_() % 2 ? T{0} : -T{0};
      return normal(random_);
    };
    for (std::vector<T>* values : {&a_, &b_}) repeat(*values, value);
    if (draw % 4 == 2) {  // products that are too small to be numbers, or nearly so
      const T scale = std::ldexp(T{1}, std::numeric_limits<T>::min_exponent / 2 - std::numeric_limits<T>::digits / 2);
      for (std::vector<T>* values : {&a_, &b_})
        for (T& value : *values) value *= scale;
    }
    if (draw == 0) {  // products that are all -0.0
      std::fill(a_.begin(), a_.end(), T{0});
      std::fill(b_.begin(), b_.end(), T{-1});
    }
  }

  /// How many matrices an operand of the trial has.
  static int64_t inStack(int rank) { return rank == 3 ? 3 : 1; }

  Ref array(const T* data, int rank, bool fortran, int64_t rows, int64_t columns) const {
    constexpr npy_intp kItem = sizeof(T);
    npy_intp shape[] = {inStack(rank), rows, columns};
    npy_intp strides[] = {kItem * rows * columns, fortran ? kItem : kItem * columns, fortran ? kItem * rows : kItem};
    if (rank == 1) {
      shape[2] = rows * columns;
      strides[2] = kItem;
    }
    return checked(PyArray_New(&PyArray_Type, rank, shape + 3 - rank, sizeof(T) == 4 ? NPY_FLOAT32 : NPY_FLOAT64,
                               strides + 3 - rank, const_cast<T*>(data), 0, NPY_ARRAY_ALIGNED, nullptr));
  }

  Ref multiply(const T* left, const T* right) const {
    Ref l = array(left, kind_.leftRank, kind_.leftFortran, kind_.m, kind_.k);
    Ref r = array(right, kind_.rightRank, kind_.rightFortran, kind_.k, kind_.n);
    return checked(PyObject_CallFunctionObjArgs(kind_.function, l.get(), r.get(), nullptr));
  }

  /// Whether a product of what the operands hold now is an error where reports of that kind are.
  bool raises(const char* kind) const {
    const ErrorsAs raised(kind, "raise");
    try {
      multiply(a_.data(), b_.data());
    } catch (const cpython::PythonError&) {
      if (!PyErr_ExceptionMatches(PyExc_FloatingPointError)) throw;
      PyErr_Clear();
      return true;
    }
    return false;
  }

  struct Terms {
    const T *a, *b;
    int64_t strideA, strideB;
    bool zeroFirst;
    T product(int64_t i) const { return zeroFirst ? fma(i, 0) : a[i * strideA] * b[i * strideB]; }
    T fma(int64_t i, T sum) const { return std::fma(a[i * strideA], b[i * strideB], sum); }
    T add(T x, T y) const { return x + y; }
  };

  /// The index to look at next: all at the ends, every 61st between them.
  static int64_t next(int64_t i, int64_t size) {
    constexpr int64_t kEnds = 64, kStep = 61;
    return i < kEnds || i + kStep >= size - kEnds ? i + 1 : i + kStep;
  }

  bool agrees(const Summation& s, const T* left, const T* right, PyObject* answer) const {
    T scalar{};
    const T* got = &scalar;
    const int64_t count = std::max(inStack(kind_.leftRank), inStack(kind_.rightRank));
    if (PyArray_Check(answer)) {
      auto* array = reinterpret_cast<PyArrayObject*>(answer);
      if (PyArray_SIZE(array) != kind_.m * kind_.n * count || !PyArray_IS_C_CONTIGUOUS(array)) return false;
      got = static_cast<const T*>(PyArray_DATA(array));
    } else {
      PyArray_ScalarAsCtype(answer, &scalar);
    }
    for (int64_t at = 0; at < count; ++at) {
      if (!agree(s, left, right, got)) return false;
      left += kind_.leftRank == 3 ? kind_.m * kind_.k : 0;
      right += kind_.rightRank == 3 ? kind_.k * kind_.n : 0;
      got += kind_.m * kind_.n;
    }
    return true;
  }

  bool agree(const Summation& s, const T* left, const T* right, const T* got) const {
    const int64_t stepA = kind_.leftFortran ? kind_.m : 1, stepB = kind_.rightFortran ? 1 : kind_.n;
    for (int64_t i = 0; i < kind_.m; i = next(i, kind_.m)) {
      for (int64_t j = 0; j < kind_.n; j = next(j, kind_.n)) {
        Terms terms{left + (kind_.leftFortran ? i : i * kind_.k), right + (kind_.rightFortran ? j * kind_.k : j), stepA,
                    stepB, s.zeroFirst};
        T sum = sumOf(s.order, terms, kind_.k);
        if (s.zeroLast) sum = sum + T{0};
        if (std::memcmp(&sum, got + i * kind_.n + j, sizeof(T)) != 0) return false;
      }
    }
    return true;
  }

  const Kind kind_;
  std::vector<T> a_, b_;
  std::mt19937 random_{1};
};

template <class T>
std::optional<Summation> find(const Kind& kind) {
  std::vector<Summation> fitting;
  for (Order order : kOrders)
    for (bool zeroFirst : {false, true})
      for (bool zeroLast : {true, false}) fitting.push_back({order, zeroFirst, zeroLast});
  Trial<T> trial(kind);
  trial.filter(fitting, kind.isLong());
  if (!kind.isLong()) {
    if (fitting.empty()) return std::nullopt;
    fitting.front().reportsOtherwise = trial.reportsMore();
    return fitting.front();
  }
  constexpr int64_t kLengths = 1024, kEnds = 16;
  const int64_t least = std::max(kind.m, kind.n) < kLengths ? kSmallProduct + 1 : kLengths;
  bool reportsOtherwise = trial.reportsLess();
  for (int64_t end = 0; end < kEnds && !fitting.empty(); ++end) {
    Trial<T> shorter(kind.withLength(least + end));
    shorter.filter(fitting);
    reportsOtherwise = reportsOtherwise || shorter.reportsMore();
  }
  if (fitting.empty()) return std::nullopt;
  fitting.front().reportsOtherwise = reportsOtherwise;
  return fitting.front();
}

std::optional<Summation> summationOf(const Kind& kind) {
  using Key = decltype(kind.key());
  static auto& known = *new std::map<Key, std::optional<Summation>>;  // guarded by the GIL
  if (auto found = known.find(kind.key()); found != known.end()) return found->second;
  const ErrorsAs ignored("all", "ignore");
  const auto summation = kind.dtype == DType::kF32 ? find<float>(kind) : find<double>(kind);
  Py_INCREF(kind.function);  // its address is part of the key
  known.emplace(kind.key(), summation);
  return summation;
}

// ---- the graph ------------------------------------------------------------------------------------------------------

/// The elements at `index` of one axis of the operand: of a matrix with an axis of size 1 left in its place, or
/// without.
ValueId along(graph::Graph& g, ValueId operand, size_t axis, int64_t index, bool keeps) {
  const ValueType& type = g.type(operand);
  graph::SymContext& syms = g.syms();
  SymList starts(type.shape.size(), syms.constant(0)), steps(type.shape.size(), syms.constant(1));
  SymShape shape = type.shape;
  starts[axis] = syms.constant(index);
  shape[axis] = syms.constant(1);
  const ValueId slice = g.slice(operand, std::move(starts), std::move(steps), std::move(shape));
  return keeps ? slice : g.squeeze(slice, {static_cast<int64_t>(axis)});
}

struct Nodes {
  graph::Graph& g;
  ValueId left, right;
  const ValueType& type;
  bool zeroFirst;

  ValueId a(int64_t i) const {
    return along(g, left, g.type(left).shape.size() - 1, i, isMatrix(left) && isMatrix(right));
  }
  ValueId b(int64_t i) const {
    const size_t rank = g.type(right).shape.size();
    return along(g, right, rank < 2 ? 0 : rank - 2, i, rank > 2 && isMatrix(left));
  }
  bool isMatrix(ValueId operand) const { return g.type(operand).shape.size() >= 2; }
  ValueId product(int64_t i) const {
    return zeroFirst ? fma(i, g.constant(Scalar::zero(type.dtype))) : g.addTyped(Op::kMultiply, {a(i), b(i)}, type);
  }
  ValueId fma(int64_t i, ValueId sum) const { return g.addTyped(Op::kFma, {a(i), b(i), sum}, type); }
  ValueId add(ValueId x, ValueId y) const { return g.addTyped(Op::kAdd, {x, y}, type); }
};

/// The size as a constant, if it may be guarded.
std::optional<int64_t> fixedSize(Trace& trace, SymId size) {
  size = trace.syms().canonical(size);
  std::optional<int64_t> known = trace.syms().asConst(size);
  if (!known) {
    if (!trace.fixesSizes || trace.decided.contains(size) || trace.turns.contains(size)) return std::nullopt;
    known = trace.hint(size);
  }
  return known;
}

/// Whether everything is small, or of one axis so long that memory is what counts all that lies beside it is.
bool isSmall(int64_t m, int64_t k, int64_t n, bool inStack) {
  const auto [less, more] = std::minmax(m, n);
  if (inStack) return more <= kSmallInStack && k <= kSmallInStack;
  if (more <= kSmallProduct) return k <= kSmallProduct;
  return less <= kShortBesideLong && k <= kShortBesideLong && more <= kLongProduct;
}

}  // namespace

Value* smallProduct(Trace& trace, PyObject* function, ValueId left, ValueId right, SymShape shape) {
  graph::Graph& g = trace.graph();
  if (trace.onDevice()) return nullptr;
  const DType result = graph::promote(g.type(left).dtype, g.type(right).dtype);
  const bool integers = graph::isInteger(result);
  if (!integers && result != DType::kF32 && result != DType::kF64) return nullptr;
  if (!integers && g.type(left).dtype != g.type(right).dtype) return nullptr;
  const SymShape l = shapeOf(trace, left), r = shapeOf(trace, right);
  if (l.empty() || r.empty()) return nullptr;
  const bool leftVector = l.size() == 1, rightVector = r.size() == 1, inStack = l.size() > 2 || r.size() > 2;
  for (ValueId operand : {left, right}) {
    const graph::Layout& layout = g.type(operand).layout;
    if (!integers && (!layout.isPacked() || !(layout.isCOrder() || layout.isFOrder()))) return nullptr;
  }
  const std::optional<int64_t> k = fixedSize(trace, l.back()), m = leftVector ? 1 : fixedSize(trace, l[l.size() - 2]),
                               n = rightVector ? 1 : fixedSize(trace, r.back());
  if (!k || !m || !n || !isSmall(*m, *k, *n, inStack)) return nullptr;
  const int64_t least = integers ? 1 : 2;
  if (*k < least || (!leftVector && *m < least) || (!rightVector && *n < least)) return nullptr;
  Summation summation{Order::kPlain, false, false};
  if (!integers) {
    const auto rank = [](const SymShape& sizes) { return static_cast<int>(std::min<size_t>(sizes.size(), 3)); };
    const Kind kind{
        function, result, rank(l), rank(r), !g.type(left).layout.isCOrder(), !g.type(right).layout.isCOrder(),
        *m,       *k,     *n};
    const auto fitting = summationOf(kind);
    if (!fitting) return nullptr;
    summation = *fitting;
  }
  const size_t before = trace.guardSet().guards.size();
  for (const SymShape& sizes : {l, r})
    for (size_t axis = sizes.size() > 2 ? sizes.size() - 2 : 0; axis < sizes.size(); ++axis)
      trace.specialize(sizes[axis]);
  for (size_t i = before; i < trace.guardSet().guards.size(); ++i) trace.guardSet().guards[i].pin = guards::Pin::kSize;
  for (SymId& size : shape) size = trace.syms().canonical(size);
  const ValueType type = freshType(result, std::move(shape));
  Nodes nodes{g, g.cast(left, result), g.cast(right, result), type, summation.zeroFirst};
  ValueId sum = sumOf(summation.order, nodes, *k);
  if (summation.zeroLast) sum = nodes.add(sum, g.constant(Scalar::zero(result)));
  if (summation.reportsOtherwise) {
    graph::IntList axes;
    for (int axis = 0; axis < type.rank(); ++axis) axes.push_back(axis);
    const ValueId finite = g.unary(Op::kIsfinite, sum);
    DataInts{trace}.require(axes.empty() ? finite : g.reduce(Op::kAll, finite, std::move(axes), false));
  }
  return trace.arrayOrScalar(sum);
}

}  // namespace fw::capture::numpy
