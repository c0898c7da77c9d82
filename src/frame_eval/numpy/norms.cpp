#include "frame_eval/numpy/norms.h"

#include <optional>

#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {
namespace {

/// A norm that is the root of the dot product of all numbers with themselves, which is how NumPy computes it.
bool isRootOfDot(Bound& a, int rank) {
  if (!absent(a["axis"])) return false;
  if (absent(a["ord"])) return true;
  if (rank == 1 && PyLong_Check(a["ord"]->object.get())) return knownInt(a.trace, a["ord"]) == 2;
  const auto name = rank == 2 ? textOf(a["ord"]) : std::nullopt;
  return name == "fro" || name == "f";
}

/// 1 or 2, of norms along one axis that NumPy computes as sums.
std::optional<int> orderOfVectorNorm(Bound& a) {
  if (absent(a["axis"]) || a["axis"]->kind != ValueKind::kPyInt && !a["axis"]->isConstant()) return std::nullopt;
  if (a["axis"]->isConstant() && !PyLong_CheckExact(a["axis"]->object.get())) return std::nullopt;
  if (absent(a["ord"])) return 2;
  if (!PyLong_CheckExact(a["ord"]->object.get())) return std::nullopt;
  const int64_t order = knownInt(a.trace, a["ord"]);
  return order == 1 || order == 2 ? std::optional(static_cast<int>(order)) : std::nullopt;
}

Value* vectorNorm(Bound& a, int order) {
  Value* x = a["x"];
  Value* parts = order == 1 ? ufunc(a.trace, Op::kAbsolute, {x}) : ufunc(a.trace, Op::kMultiply, {x, x});
  CallArgs sum{{parts, a["axis"]}, {}};
  if (a["keepdims"]) sum.keywords.emplace_back("keepdims", a["keepdims"]);
  Value* total = callNamed(a.trace, "np.sum", sum);
  return order == 1 ? total : ufunc(a.trace, Op::kSqrt, {total});
}

}  // namespace

Value* normBySums(Bound& a) {
  if (a.trace.onDevice()) return nullptr;
  const bool keepdims = !absent(a["keepdims"]) && flag(a["keepdims"], "keepdims");
  if (isRootOfDot(a, a.trace.graph().type(a.array("x")).rank()) && !keepdims) {
    Value* flat = ravelValue(a.trace, a["x"]);
    return ufunc(a.trace, Op::kSqrt, {callNamed(a.trace, "np.dot", {{flat, flat}, {}})});
  }
  const auto order = orderOfVectorNorm(a);
  return order ? vectorNorm(a, *order) : nullptr;
}

}  // namespace fw::capture::numpy
