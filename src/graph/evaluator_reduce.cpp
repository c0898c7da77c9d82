// Reductions of the reference evaluator, in the order of pairwise_order.h.
#include <algorithm>
#include <cmath>

#include "graph/evaluator_internal.h"
#include "graph/evaluator_scalar.h"
#include "graph/pairwise_order.h"
#include "graph/support/check.h"
#include "graph/op_groups.h"

namespace fw::graph::eval {
namespace {

/// Rule 1: axes of size above 1, innermost first.
std::vector<size_t> iterationAxes(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  std::vector<size_t> order;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    size_t at = order.size();
    for (size_t i = order.size(); i-- > 0;) {
      const int64_t mine = std::abs(strides[axis]), other = std::abs(strides[order[i]]);
      if (mine == 0 || other == 0) continue;
      if (other <= mine) break;
      at = i;
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), axis);
  }
  return order;
}

/// How one result is added up: positions of its elements in iteration order, relative to the first, and the calls.
struct Schedule {
  std::vector<int64_t> positions;
  ReductionChunk chunk;  // length 1: one element per call
  bool innermostKept = false;
};

Schedule scheduleOf(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                    const std::vector<bool>& reduced, bool buffered) {
  Schedule schedule;
  const std::vector<size_t> order = iterationAxes(shape, strides);
  const std::vector<int64_t> weights = rowMajor(shape);
  std::vector<int64_t> runs;  // leading reduced runs
  schedule.innermostKept = order.empty() || !reduced[order[0]];
  int64_t nextStride = 0;
  for (size_t axis : order) {
    if (!reduced[axis]) break;
    if (!runs.empty() && strides[axis] == nextStride)
      runs.back() *= shape[axis];
    else
      runs.push_back(shape[axis]);
    nextStride = strides[axis] * shape[axis];
  }
  schedule.chunk =
      runs.empty() || std::count(runs.begin(), runs.end(), 0) ? ReductionChunk{1, 1} : chunkOf(runs, buffered);
  std::vector<int64_t> sizes, steps;
  for (size_t i = order.size(); i-- > 0;) {  // outermost first
    if (!reduced[order[i]]) continue;
    sizes.push_back(shape[order[i]]);
    steps.push_back(weights[order[i]]);
  }
  forEachIndex(sizes, [&](absl::Span<const int64_t> index) { schedule.positions.push_back(flatIndex(index, steps)); });
  return schedule;
}

template <class T>
T typedAt(const HostArray& in, int64_t at) {
  return static_cast<T>(in.at(at).asDouble());
}

/// Calls body(first, count) for every call of NumPy's inner loop.
void forEachCall(const Schedule& s, absl::FunctionRef<void(int64_t, int64_t)> body) {
  const auto total = static_cast<int64_t>(s.positions.size());
  for (int64_t period = 0; period < total; period += s.chunk.period) {
    const int64_t end = std::min(total, period + s.chunk.period);
    for (int64_t first = period; first < end; first += s.chunk.length)
      body(first, std::min(s.chunk.length, end - first));
  }
}

template <class T>
Scalar floatSum(const HostArray& in, int64_t base, const Schedule& s) {
  Scalar acc = Scalar::zero(in.dtype);
  forEachCall(s, [&](int64_t first, int64_t count) {
    const auto get = [&](int64_t i) { return typedAt<T>(in, base + s.positions[static_cast<size_t>(i)]); };
    const T more = s.innermostKept ? get(first) : pairwiseSum<T>(first, count, get);
    acc = Scalar::ofDouble(in.dtype, static_cast<T>(static_cast<T>(acc.asDouble()) + more));
  });
  return acc;
}

template <class T>
Scalar complexSum(const HostArray& in, int64_t base, const Schedule& s) {
  T re = 0, im = 0;
  forEachCall(s, [&](int64_t first, int64_t count) {
    const auto at = [&](int64_t i) { return in.at(base + s.positions[static_cast<size_t>(i)]).asComplex(); };
    const auto real = [&](int64_t i) { return static_cast<T>(at(i).real()); };
    const auto imag = [&](int64_t i) { return static_cast<T>(at(i).imag()); };
    re += s.innermostKept ? real(first) : pairwiseSumOfPart<T>(first, count, real);
    im += s.innermostKept ? imag(first) : pairwiseSumOfPart<T>(first, count, imag);
  });
  return Scalar::ofComplex(in.dtype, {re, im});
}

/// f16 multiplies in float within a call.
Scalar halfProduct(const HostArray& in, int64_t base, const Schedule& s) {
  Scalar acc = Scalar::one(in.dtype);
  forEachCall(s, [&](int64_t first, int64_t count) {
    float product = static_cast<float>(acc.asDouble());
    for (int64_t i = first; i < first + count; ++i)
      product *= typedAt<float>(in, base + s.positions[static_cast<size_t>(i)]);
    acc = Scalar::ofDouble(in.dtype, product);
  });
  return acc;
}

Scalar complexProductOf(const HostArray& in, int64_t base, const Schedule& s) {
  const bool single = in.dtype == DType::kC64;
  std::complex<double> acc = 1.0;
  for (int64_t at : s.positions) {
    const std::complex<double> x = in.at(base + at).asComplex();
    acc = s.innermostKept ? complexProduct(acc, x, single) : plainComplexProduct(acc, x, single);
  }
  return Scalar::ofComplex(in.dtype, acc);
}

absl::StatusOr<Scalar> fold(Op step, Scalar acc, const HostArray& in, int64_t base, const Schedule& s, size_t from) {
  for (size_t i = from; i < s.positions.size(); ++i) {
    const Scalar operands[] = {acc, in.at(base + s.positions[i])};
    absl::StatusOr<Scalar> next = evaluateElement(step, operands, acc.dtype);
    if (!next.ok()) return next;
    acc = *next;
  }
  return acc;
}

bool isNan(const Scalar& v) {
  return isInexact(v.dtype) && (std::isnan(v.asComplex().real()) || std::isnan(v.asComplex().imag()));
}

/// First position of the extreme, or of the first NaN.
absl::StatusOr<Scalar> argExtreme(Op compare, const HostArray& in, int64_t base, absl::Span<const int64_t> positions) {
  if (positions.empty()) return absl::InvalidArgumentError("attempt to get argmax of an empty sequence");
  size_t best = 0;
  for (size_t i = 1; i < positions.size(); ++i) {
    const Scalar operands[] = {in.at(base + positions[i]), in.at(base + positions[best])};
    if (isNan(operands[1])) break;
    absl::StatusOr<Scalar> better = evaluateElement(compare, operands, DType::kBool);
    if (!better.ok()) return better;
    if (better->lo || isNan(operands[0])) best = i;
  }
  return Scalar::ofInt(DType::kI64, static_cast<int64_t>(best));
}

absl::StatusOr<Scalar> reduceOne(const Node& node, const HostArray& in, int64_t base, const Schedule& s) {
  const DType dtype = in.dtype;
  switch (*reductionOp(node.op)) {
    case ReductionOp::kSum:
      if (dtype == DType::kF64) return floatSum<double>(in, base, s);
      if (isFloat(dtype)) return floatSum<float>(in, base, s);
      if (isComplex(dtype))
        return dtype == DType::kC64 ? complexSum<float>(in, base, s) : complexSum<double>(in, base, s);
      return fold(Op::kAdd, Scalar::zero(dtype), in, base, s, 0);
    case ReductionOp::kProd:
      if (dtype == DType::kF16) return halfProduct(in, base, s);
      if (isComplex(dtype)) return complexProductOf(in, base, s);
      return fold(Op::kMultiply, Scalar::one(dtype), in, base, s, 0);
    case ReductionOp::kMax:
    case ReductionOp::kMin:
      if (s.positions.empty())
        return absl::InvalidArgumentError("zero-size array to reduction operation " + std::string(info(node.op).text) +
                                          "imum which has no identity");
      return fold(node.op == Op::kMax ? Op::kMaximum : Op::kMinimum, in.at(base + s.positions[0]), in, base, s, 1);
    case ReductionOp::kAny: return fold(Op::kLogicalOr, Scalar::ofBool(false), in, base, s, 0);
    case ReductionOp::kAll: return fold(Op::kLogicalAnd, Scalar::ofBool(true), in, base, s, 0);
    case ReductionOp::kArgmax: return argExtreme(Op::kGreater, in, base, s.positions);
    case ReductionOp::kArgmin: return argExtreme(Op::kLess, in, base, s.positions);
    case ReductionOp::kMean:
    case ReductionOp::kVar:
    case ReductionOp::kStd:
    case ReductionOp::kCountNonzero:
    case ReductionOp::kPtp: break;  // composite: decomposed first
  }
  return absl::UnimplementedError("reference evaluator: " + std::string(info(node.op).text));
}

}  // namespace

absl::StatusOr<HostArray> reduce(const Node& node, const HostArray& in, absl::Span<const int64_t> strides,
                                 bool buffered, const std::vector<int64_t>& shape) {
  std::vector<bool> reduced(in.shape.size(), false);
  for (int64_t axis : node.attrs.ints(AttrKey::kAxes)) reduced[static_cast<size_t>(axis)] = true;
  const bool positional = node.op == Op::kArgmax || node.op == Op::kArgmin;
  const std::vector<int64_t> cOrder = rowMajor(in.shape);
  Schedule schedule = scheduleOf(in.shape, positional ? absl::MakeConstSpan(cOrder) : strides, reduced, buffered);
  HostArray out = HostArray::zeros(node.type.dtype, shape);
  std::vector<int64_t> sizes, steps;
  for (size_t axis = 0; axis < in.shape.size(); ++axis) {
    if (reduced[axis]) continue;
    sizes.push_back(in.shape[axis]);
    steps.push_back(cOrder[axis]);
  }
  absl::Status status;
  int64_t flat = 0;
  forEachIndex(sizes, [&](absl::Span<const int64_t> index) {
    absl::StatusOr<Scalar> value = reduceOne(node, in, flatIndex(index, steps), schedule);
    if (value.ok())
      out.set(flat, *value);
    else
      status = value.status();
    ++flat;
  });
  if (!status.ok()) return status;
  return out;
}

}  // namespace fw::graph::eval
