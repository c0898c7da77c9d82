#include "frame_eval/numpy/vectors.h"

#include <optional>

#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {

using cpython::checked;

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
  if (absent(a["axis"])) return std::nullopt;
  const Value* axis = a["axis"];
  const bool whole = axis->isConstant() ? PyLong_CheckExact(axis->object.get()) != 0 : axis->kind == ValueKind::kPyInt;
  if (!whole) return std::nullopt;
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

namespace handlers {

/// Of vectors of three, as NumPy computes it: two products and their difference for each part.
Value* cross(Bound& a) {
  if (a.trace.onDevice()) a.refuse("arrays of a device");
  const SymId three = a.trace.syms().constant(3);
  Value* part[2][3];
  for (const bool second : {false, true}) {
    const char* name = second ? "b" : "a";
    Value* vectors = a[name];
    if (vectors->kind != ValueKind::kArray) a.refuse(name);
    const graph::ValueType& type = a.trace.graph().type(vectors->node);
    if (type.dtype == DType::kBool) a.refuse("bools");
    const SymShape shape = type.shape;
    if (shape.size() > 2) a.refuse("more than two axes");  // the result is in C order, whatever the order of these
    if (shape.size() == 2 && !isPositive(a.trace, shape[0])) a.refuse("an empty array");
    if (shape.empty() || !sameSize(a.trace, shape.back(), three)) a.refuse("vectors that are not of size 3");
    for (int i = 0; i < 3; ++i) {
      Value* all = a.trace.constant(Py_Ellipsis);
      Value* place = a.trace.constant(checked(PyLong_FromLong(i)).get());
      part[second][i] = getItem(a.trace, vectors, a.trace.tuple({all, place}));
    }
  }
  std::vector<Value*> parts;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    Value* one = ufunc(a.trace, Op::kMultiply, {part[0][j], part[1][k]});
    Value* other = ufunc(a.trace, Op::kMultiply, {part[0][k], part[1][j]});
    parts.push_back(ufunc(a.trace, Op::kSubtract, {one, other}));
  }
  CallArgs joined{{a.trace.list(std::move(parts))}, {}};
  joined.keywords.emplace_back("axis", a.trace.constant(checked(PyLong_FromLong(-1)).get()));
  Value* whole = callNamed(a.trace, "np.stack", joined);
  return makeView(a.trace, whole, whole->node);
}

}  // namespace handlers
}  // namespace fw::capture::numpy
