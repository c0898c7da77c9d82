// What NumPy's own functions answer: types, shapes and layouts of their results, from those of their arguments. A
// function that is a row here runs inside of compiled code; whatever a rule does not know is refused, so that Python
// calls the function between two regions.
#include "cpython/numpy_api.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/numpy/device.h"
#include "frame_eval/numpy/library.h"
#include "frame_eval/numpy/small_products.h"
#include "frame_eval/numpy/vectors.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;

/// The node of an argument that is an ndarray, or becomes one: a list of numbers that stands in arrays.
ValueId arrayOf(Bound& a, std::string_view name) {
  for (auto& [key, value] : a.values) {
    if (key != name || !value) continue;
    if (PooledList::is(value)) value = PooledList{a.trace, value}.copy();
    if (isLongList(value)) value = a.trace.array(LongList{a.trace, value}.array());
  }
  Value* value = a[name];
  if (!value || value->kind != ValueKind::kArray) a.refuse(name);
  return value->node;
}

const ValueType& typeOf(Bound& a, ValueId node) { return a.trace.graph().type(node); }
DType dtypeOf(Bound& a, ValueId node) { return typeOf(a, node).dtype; }

/// Packed in C order, or so that a result of order K is.
ValueId inOrder(Bound& a, std::string_view name) {
  const ValueId node = arrayOf(a, name);
  const graph::Layout& layout = typeOf(a, node).layout;
  if (layout.rank() > 1 && (!layout.isCOrder() || layout.broadcastAxes)) a.refuse("an array that is not in C order");
  return node;
}

/// What linear algebra computes in, and breaks for types that it does not take.
DType solverType(Bound& a, std::initializer_list<ValueId> nodes) {
  DType type = DType::kF32;
  for (ValueId node : nodes) {
    const DType own = dtypeOf(a, node);
    if (own == DType::kF16) a.refuse("half precision");
    type = graph::promote(type, graph::isInexact(own) ? own : DType::kF64);
  }
  return type;
}

/// Sizes of the two last axes of a square matrix, or of a stack of them.
SymId square(Bound& a, ValueId node) {
  const SymShape shape = shapeOf(a.trace, node);
  if (shape.size() < 2) raises("LinAlgError: at least two axes are needed");
  if (!sameSize(a.trace, shape[shape.size() - 2], shape.back())) raises("LinAlgError: the last two axes must be equal");
  return shape.back();
}

SymShape withoutLast(SymShape shape, size_t count) {
  shape.resize(shape.size() - count);
  return shape;
}

Value* tupleOf(Bound& a, const std::vector<ValueId>& nodes, const char* className = nullptr) {
  std::vector<Value*> items;
  for (ValueId node : nodes) items.push_back(a.trace.arrayOrScalar(node));
  Value* tuple = a.trace.tuple(std::move(items));
  if (className) {
    Ref module = checked(PyImport_ImportModule("numpy.linalg._linalg"));
    tuple->cls = checked(PyObject_GetAttrString(module.get(), className));
  }
  return tuple;
}

/// Shape of a product of matrices, as np.matmul has it.
SymShape productShape(Trace& trace, ValueId left, ValueId right) {
  SymShape l = shapeOf(trace, left), r = shapeOf(trace, right);
  if (l.empty() || r.empty()) raises("matmul of a scalar");
  const bool row = l.size() == 1, column = r.size() == 1;
  if (row) l.insert(l.begin(), trace.syms().constant(1));
  if (column) r.push_back(trace.syms().constant(1));
  if (!sameSize(trace, l.back(), r[r.size() - 2])) raises("matmul: the inner sizes differ");
  SymShape shape;
  const size_t stacks = std::max(l.size(), r.size()) - 2;
  for (size_t axis = 0; axis < stacks; ++axis) {
    const bool inLeft = axis + l.size() >= stacks + 2, inRight = axis + r.size() >= stacks + 2;
    const SymId fromLeft = inLeft ? l[axis + l.size() - stacks - 2] : SymId();
    const SymId fromRight = inRight ? r[axis + r.size() - stacks - 2] : SymId();
    shape.push_back(inLeft && inRight ? unifySizes(trace, fromLeft, fromRight) : inLeft ? fromLeft : fromRight);
  }
  if (!row) shape.push_back(l[l.size() - 2]);
  if (!column) shape.push_back(r.back());
  return shape;
}

void checkStack(Trace& trace, ValueId node) {
  const graph::Layout& layout = trace.graph().type(node).layout;
  if (layout.rank() > 2 && !layout.isPackedC()) unsupported("a product of stacks that are not packed");
}

int64_t constantInt(Bound& a, std::string_view name, int64_t otherwise) {
  Value* value = a[name];
  if (absent(value)) return otherwise;
  if (!value->isConstant() || !PyLong_Check(value->object.get())) a.refuse(name);
  return knownInt(a.trace, value);
}

bool constantFlag(Bound& a, const char* name, bool otherwise) {
  return absent(a[name]) ? otherwise : flag(a[name], name);
}

std::string constantText(Bound& a, std::string_view name, const char* otherwise) {
  if (!a[name]) return otherwise;
  const auto text = textOf(a[name]);
  if (!text) a.refuse(name);
  return *text;
}

/// The type that sums of this type are accumulated in.
DType summed(DType type) {
  if (type == DType::kBool) return DType::kI64;
  if (!graph::isInteger(type)) return type;
  const bool isSigned = graph::promote(type, DType::kI8) == type;
  return isSigned ? DType::kI64 : DType::kU64;
}

/// What means and interpolations are in.
DType averaged(DType type) { return graph::isInexact(type) ? type : DType::kF64; }

/// Breaks unless there are elements: NumPy raises or warns where there are none.
void notEmpty(Bound& a, ValueId node) {
  for (SymId size : shapeOf(a.trace, node))
    if (!isPositive(a.trace, size)) a.refuse("an empty array");
}

/// A result like the array, along whose axis something is accumulated or sorted; flat without an axis.
Value* alongAxis(Bound& a, ValueId node, DType type, bool flat, Value* (*call)(Bound&, ValueType)) {
  SymShape shape = shapeOf(a.trace, node);
  if (flat) return call(a, freshType(type, {elementCount(a.trace, shape)}));
  if (shape.empty()) a.refuse("an array of rank 0");
  const auto rank = static_cast<int>(shape.size());
  if (!absent(a["axis"]) && axisArg(a.trace, a["axis"], rank) != rank - 1 && a.trace.onDevice())
    a.refuse("another than the last axis on a device");
  return call(a, freshType(type, std::move(shape)));
}

/// A result that has lost the axes over which something is computed.
Value* reduced(Bound& a, ValueId node, DType type) {
  const SymShape shape = shapeOf(a.trace, node);
  const IntList axes = axesArg(a.trace, a["axis"], static_cast<int>(shape.size()));
  SymShape rest;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) == axes.end()) rest.push_back(shape[axis]);
  if (rest.size() > 1) a.refuse("more than one axis that is kept");
  return libraryValue(a, freshType(type, std::move(rest)));
}

/// median, percentile and quantile, with one number or no number to look for.
Value* orderStatistic(Bound& a, std::string_view array, std::string_view place) {
  const ValueId node = arrayOf(a, array);
  notEmpty(a, node);
  const DType type = dtypeOf(a, node);
  if (graph::isComplex(type) || type == DType::kBool || type == DType::kF16) a.refuse("this type");
  if (!place.empty() && (!a[place]->isConstant() || !PyNumber_Check(a[place]->object.get()))) a.refuse(place);
  return reduced(a, node, averaged(type));
}

enum class Transform : uint8_t { kComplex, kFromReal, kToReal };

/// np.fft: over the last axis, of its own length.
Value* fourier(Bound& a, Transform kind) {
  const ValueId node = inOrder(a, "a");
  const DType type = dtypeOf(a, node);
  if (type == DType::kF16) a.refuse("half precision");
  const bool single = type == DType::kF32 || type == DType::kC64;
  SymShape shape = shapeOf(a.trace, node);
  if (shape.empty()) raises("a transform of a scalar");
  if (!absent(a["axis"]) &&
      axisArg(a.trace, a["axis"], static_cast<int>(shape.size())) + 1 != static_cast<int>(shape.size()))
    a.refuse("axis");
  if (!isPositive(a.trace, shape.back())) raises("a transform of no points");
  graph::SymContext& syms = a.trace.syms();
  const bool asked = !absent(a["n"]);
  if (asked) {
    if (!DataInts::isWhole(a["n"])) a.refuse("n");
    shape.back() = a.trace.asSym(a["n"]);
    if (!isPositive(a.trace, shape.back())) raises("a transform of no points");
  }
  DType result = single ? DType::kC64 : DType::kC128;
  if (kind == Transform::kFromReal) {
    if (graph::isComplex(type)) raises("rfft of complex numbers");
    shape.back() = syms.add(syms.floorDiv(shape.back(), syms.constant(2)), syms.constant(1));
  } else if (kind == Transform::kToReal) {
    if (!asked) shape.back() = syms.mul(syms.constant(2), syms.sub(shape.back(), syms.constant(1)));
    if (!isPositive(a.trace, shape.back())) raises("a transform of no points");
    result = single ? DType::kF32 : DType::kF64;
  }
  return libraryValue(a, freshType(result, std::move(shape)));
}

/// The same over the last two axes or all of them.
Value* fourierOfAll(Bound& a) {
  const ValueId node = inOrder(a, "a");
  const DType type = dtypeOf(a, node);
  if (type == DType::kF16) a.refuse("half precision");
  if (typeOf(a, node).rank() < 2) a.refuse("an array of rank below 2");
  notEmpty(a, node);
  const bool single = type == DType::kF32 || type == DType::kC64;
  return libraryValue(a, freshType(single ? DType::kC64 : DType::kC128, shapeOf(a.trace, node)));
}

/// np.convolve and np.correlate.
Value* slide(Bound& a, const char* mode) {
  const ValueId left = arrayOf(a, "a"), right = arrayOf(a, "v");
  graph::SymContext& syms = a.trace.syms();
  const SymShape l = shapeOf(a.trace, left), r = shapeOf(a.trace, right);
  if (l.size() != 1 || r.size() != 1) a.refuse("arrays that are not of rank 1");
  notEmpty(a, left);
  notEmpty(a, right);
  const std::string wanted = constantText(a, "mode", mode);
  const bool longer = a.trace.decide(r[0], Relation::kLe, l[0]);
  const SymId most = longer ? l[0] : r[0], least = longer ? r[0] : l[0];
  SymId size = most;
  if (wanted == "full")
    size = syms.sub(syms.add(most, least), syms.constant(1));
  else if (wanted == "valid")
    size = syms.add(syms.sub(most, least), syms.constant(1));
  else if (wanted != "same")
    a.refuse("mode");
  return libraryValue(a, freshType(graph::promote(dtypeOf(a, left), dtypeOf(a, right)), {size}));
}

}  // namespace

namespace handlers {

Value* matmul(Bound& a) {
  const ValueId left = arrayOf(a, "x1"), right = arrayOf(a, "x2");
  checkStack(a.trace, left);
  checkStack(a.trace, right);
  SymShape shape = productShape(a.trace, left, right);
  if (Value* small = smallProduct(a.trace, functionOf(a).get(), left, right, shape)) return small;
  const DType l = dtypeOf(a, left), r = dtypeOf(a, right);
  const bool stacks = typeOf(a, left).rank() > 2 || typeOf(a, right).rank() > 2;
  Value* value = libraryValue(a, freshType(graph::promote(l, r), std::move(shape)));
  if (l == r && !stacks) directly(a, LibraryCall::Direct::kLoop, "matmul", l, 2);
  return value;
}

Value* dot(Bound& a) {
  const ValueId left = arrayOf(a, "a"), right = arrayOf(a, "b");
  const SymShape l = shapeOf(a.trace, left), r = shapeOf(a.trace, right);
  if (l.empty() || r.empty()) a.refuse("a scalar");
  const SymId inner = r.size() == 1 ? r[0] : r[r.size() - 2];
  if (!sameSize(a.trace, l.back(), inner)) raises("dot: the shapes are not aligned");
  SymShape shape = withoutLast(l, 1);
  for (size_t i = 0; i < r.size(); ++i)
    if (i + 2 != r.size() && r.size() > 1) shape.push_back(r[i]);
  const bool stacks = l.size() > 2 || r.size() > 2;  // dot() combines those, and does not pair them
  if (Value* small = stacks ? nullptr : smallProduct(a.trace, functionOf(a).get(), left, right, shape)) return small;
  const DType type = dtypeOf(a, left);
  const bool blas = type == dtypeOf(a, right) && graph::isInexact(type) && type != DType::kF16;
  Value* value = libraryValue(a, freshType(graph::promote(type, dtypeOf(a, right)), std::move(shape)));
  if (blas && l.size() == 1 && r.size() == 1) directly(a, LibraryCall::Direct::kDot, "", type, 2);
  return value;
}

Value* inner(Bound& a) {
  const ValueId left = arrayOf(a, "a"), right = arrayOf(a, "b");
  SymShape l = shapeOf(a.trace, left), r = shapeOf(a.trace, right);
  if (l.empty() || r.empty()) a.refuse("a scalar");
  if (!sameSize(a.trace, l.back(), r.back())) raises("inner: the shapes are not aligned");
  SymShape shape = withoutLast(l, 1);
  shape.insert(shape.end(), r.begin(), r.end() - 1);
  return libraryValue(a, freshType(graph::promote(dtypeOf(a, left), dtypeOf(a, right)), std::move(shape)));
}

Value* vdot(Bound& a) {
  const ValueId left = arrayOf(a, "a"), right = arrayOf(a, "b");
  const SymId l = elementCount(a.trace, shapeOf(a.trace, left)), r = elementCount(a.trace, shapeOf(a.trace, right));
  if (!sameSize(a.trace, l, r)) raises("vdot: the sizes differ");
  return libraryValue(a, freshType(graph::promote(dtypeOf(a, left), dtypeOf(a, right)), {}));
}

Value* tensordot(Bound& a) {
  const ValueId left = arrayOf(a, "a"), right = arrayOf(a, "b");
  const int64_t axes = constantInt(a, "axes", 2);
  const SymShape l = shapeOf(a.trace, left), r = shapeOf(a.trace, right);
  const auto count = static_cast<size_t>(axes);
  if (axes < 0 || count > l.size() || count > r.size()) a.refuse("axes");
  for (size_t i = 0; i < count; ++i)
    if (!sameSize(a.trace, l[l.size() - count + i], r[i])) raises("tensordot: the shapes do not match");
  SymShape shape = withoutLast(l, count);
  shape.insert(shape.end(), r.begin() + axes, r.end());
  if (shape.empty()) a.refuse("a result of rank 0");
  return libraryValue(a, freshType(graph::promote(dtypeOf(a, left), dtypeOf(a, right)), std::move(shape)));
}

Value* kron(Bound& a) {
  const ValueId left = arrayOf(a, "a"), right = arrayOf(a, "b");
  const SymShape l = shapeOf(a.trace, left), r = shapeOf(a.trace, right);
  if (l.size() != r.size() || l.empty()) a.refuse("arrays of different ranks");
  SymShape shape;
  for (size_t i = 0; i < l.size(); ++i) shape.push_back(a.trace.syms().mul(l[i], r[i]));
  inOrder(a, "a");
  inOrder(a, "b");
  return libraryValue(a, freshType(graph::promote(dtypeOf(a, left), dtypeOf(a, right)), std::move(shape)));
}

/// Of a square matrix, of its shape: inverses, factors.
Value* squareResult(Bound& a) {
  const ValueId node = inOrder(a, "a");
  square(a, node);
  const ValueType result = freshType(solverType(a, {node}), shapeOf(a.trace, node));
  return solverValue(a, result, a.function == "np.linalg.inv" ? "inv" : "cholesky_lo", {node});
}

Value* solve(Bound& a) {
  const ValueId left = inOrder(a, "a"), right = inOrder(a, "b");
  const SymShape b = shapeOf(a.trace, right);
  if (typeOf(a, left).rank() != 2 || b.empty() || b.size() > 2) a.refuse("stacks");
  if (a.trace.onDevice() && b.size() == 2) a.refuse("a matrix on a device, whose result is in F order");
  if (!sameSize(a.trace, square(a, left), b[0])) raises("solve: the sizes differ");
  const std::string_view method = b.size() == 1 ? "solve1" : "solve";
  return solverValue(a, freshType(solverType(a, {left, right}), b), method, {left, right});
}

Value* determinant(Bound& a) {
  const ValueId node = inOrder(a, "a");
  square(a, node);
  return solverValue(a, freshType(solverType(a, {node}), withoutLast(shapeOf(a.trace, node), 2)), "det", {node});
}

Value* signAndLogOfDeterminant(Bound& a) {
  const ValueId node = inOrder(a, "a");
  square(a, node);
  const DType type = solverType(a, {node});
  const SymShape shape = withoutLast(shapeOf(a.trace, node), 2);
  return tupleOf(a, libraryCall(a, {freshType(type, shape), freshType(graph::realOf(type), shape)}, true),
                 "SlogdetResult");
}

Value* hermitianEigenvalues(Bound& a) {
  const ValueId node = inOrder(a, "a");
  square(a, node);
  const DType type = graph::realOf(solverType(a, {node}));
  return solverValue(a, freshType(type, withoutLast(shapeOf(a.trace, node), 1)), "eigvalsh_lo", {node});
}

Value* hermitianEigen(Bound& a) {
  const ValueId node = inOrder(a, "a");
  square(a, node);
  const DType type = solverType(a, {node});
  const SymShape shape = shapeOf(a.trace, node);
  const auto parts =
      libraryCall(a, {freshType(graph::realOf(type), withoutLast(shape, 1)), freshType(type, shape)}, true);
  solvedDirectly(a, "eigh_lo", {node});
  return tupleOf(a, parts, "EighResult");
}

Value* qr(Bound& a) {
  const ValueId node = inOrder(a, "a");
  const SymShape shape = shapeOf(a.trace, node);
  if (shape.size() != 2) a.refuse("stacks");
  if (constantText(a, "mode", "reduced") != "reduced") a.refuse("mode");
  const SymId k = a.trace.decide(shape[0], Relation::kLe, shape[1]) ? shape[0] : shape[1];
  const DType type = solverType(a, {node});
  return tupleOf(a, libraryCall(a, {freshType(type, {shape[0], k}), freshType(type, {k, shape[1]})}, true), "QRResult");
}

Value* svd(Bound& a) {
  const ValueId node = inOrder(a, "a");
  const SymShape shape = shapeOf(a.trace, node);
  if (shape.size() != 2 || constantFlag(a, "hermitian", false)) a.refuse("stacks or hermitian");
  notEmpty(a, node);
  const SymId k = a.trace.decide(shape[0], Relation::kLe, shape[1]) ? shape[0] : shape[1];
  const DType type = solverType(a, {node}), real = graph::realOf(type);
  if (!constantFlag(a, "compute_uv", true)) return libraryValue(a, freshType(real, {k}));
  const bool full = constantFlag(a, "full_matrices", true);
  return tupleOf(a,
                 libraryCall(a,
                             {freshType(type, {shape[0], full ? shape[0] : k}), freshType(real, {k}),
                              freshType(type, {full ? shape[1] : k, shape[1]})},
                             true),
                 "SVDResult");
}

Value* pinv(Bound& a) {
  const ValueId node = inOrder(a, "a");
  const SymShape shape = shapeOf(a.trace, node);
  if (shape.size() != 2) a.refuse("stacks");
  notEmpty(a, node);
  return libraryValue(a, freshType(solverType(a, {node}), {shape[1], shape[0]}));
}

Value* matrixPower(Bound& a) {
  const ValueId node = inOrder(a, "a");
  square(a, node);
  if (typeOf(a, node).rank() != 2) a.refuse("stacks");
  const int64_t n = constantInt(a, "n", 0);
  const DType own = dtypeOf(a, node);
  if (n < 1 || own == DType::kF16 || own == DType::kBool) a.refuse("n");
  return libraryValue(a, freshType(own, shapeOf(a.trace, node)));
}

Value* norm(Bound& a) {
  const ValueId node = inOrder(a, "x");
  DType type = graph::realOf(dtypeOf(a, node));
  if (!graph::isInexact(type)) type = DType::kF64;
  if (type == DType::kF16) a.refuse("half precision");
  notEmpty(a, node);
  const int rank = typeOf(a, node).rank();
  if (!absent(a["ord"]) && !a["ord"]->isConstant()) a.refuse("ord");
  if (Value* sums = type == dtypeOf(a, node) ? normBySums(a) : nullptr) return sums;
  if (constantFlag(a, "keepdims", false)) a.refuse("keepdims");
  if (absent(a["axis"])) {
    if (!absent(a["ord"]) && rank > 2) raises("norm: improper number of dimensions");
    return libraryValue(a, freshType(type, {}));
  }
  return reduced(a, node, type);
}

Value* trace(Bound& a) {
  const ValueId node = arrayOf(a, "a");
  if (typeOf(a, node).rank() != 2) a.refuse("an array that is no matrix");
  return libraryValue(a, freshType(summed(dtypeOf(a, node)), {}));
}

Value* sortedDirectly(Bound& a, ValueId node, Value* sorted, LibraryCall::Direct how) {
  if (const DType type = dtypeOf(a, node);
      typeOf(a, node).rank() == 1 && type != DType::kBool && !graph::isComplex(type))
    directly(a, how, "", type, 1);
  return sorted;
}

Value* sort(Bound& a) {
  const ValueId node = inOrder(a, "a");
  const bool flat = a["axis"] && isNone(a["axis"]);
  return sortedDirectly(a, node, alongAxis(a, node, dtypeOf(a, node), flat, quietValue), LibraryCall::Direct::kSort);
}

Value* argsort(Bound& a) {
  const ValueId node = inOrder(a, "a");
  const bool flat = a["axis"] && isNone(a["axis"]);
  return sortedDirectly(a, node, alongAxis(a, node, DType::kI64, flat, quietValue), LibraryCall::Direct::kArgsort);
}

Value* cumulative(Bound& a) {
  const ValueId node = inOrder(a, "a");
  return alongAxis(a, node, summed(dtypeOf(a, node)), absent(a["axis"]), libraryValue);
}

Value* searchsorted(Bound& a) {
  const ValueId node = arrayOf(a, "a");
  if (typeOf(a, node).rank() != 1) a.refuse("an array that is not of rank 1");
  const ValueId wanted = asArray(a.trace, a["v"]);
  if (a["v"]->kind != ValueKind::kArray && !isScalar(a["v"])) a.refuse("v");
  return quietValue(a, freshType(DType::kI64, shapeOf(a.trace, wanted)));
}

Value* digitize(Bound& a) {
  const ValueId node = arrayOf(a, "x");
  if (typeOf(a, arrayOf(a, "bins")).rank() != 1 || typeOf(a, node).rank() == 0) a.refuse("bins");
  if (graph::isComplex(dtypeOf(a, node))) raises("x may not be complex");
  return quietValue(a, freshType(DType::kI64, shapeOf(a.trace, node)));
}

Value* interp(Bound& a) {
  const ValueId x = asArray(a.trace, a["x"]), xp = arrayOf(a, "xp"), fp = arrayOf(a, "fp");
  if (a["x"]->kind != ValueKind::kArray && !isScalar(a["x"])) a.refuse("x");
  for (ValueId node : {x, xp})
    if (graph::isComplex(dtypeOf(a, node))) a.refuse("complex places");
  const SymShape places = shapeOf(a.trace, xp), values = shapeOf(a.trace, fp);
  if (places.size() != 1 || values.size() != 1) a.refuse("arrays that are not of rank 1");
  if (!sameSize(a.trace, places[0], values[0])) raises("interp: xp and fp are not of the same length");
  notEmpty(a, xp);
  const DType type = graph::isComplex(dtypeOf(a, fp)) ? DType::kC128 : DType::kF64;
  return libraryValue(a, freshType(type, shapeOf(a.trace, x)));
}

Value* convolve(Bound& a) { return slide(a, "full"); }
Value* correlate(Bound& a) { return slide(a, "valid"); }
Value* median(Bound& a) {
  Value* value = orderStatistic(a, "a", "");
  directly(a, LibraryCall::Direct::kMedian, "", dtypeOf(a, arrayOf(a, "a")), 1);
  return value;
}
Value* percentile(Bound& a) {
  Value* value = orderStatistic(a, "a", "q");
  if (dtypeOf(a, arrayOf(a, "a")) == DType::kF64 && absent(a["axis"]))
    quantileDirectly(a, a.function == "np.percentile" ? 100 : 1);
  return value;
}

Value* fft(Bound& a) { return fourier(a, Transform::kComplex); }
Value* rfft(Bound& a) { return fourier(a, Transform::kFromReal); }
Value* irfft(Bound& a) { return fourier(a, Transform::kToReal); }
Value* fftn(Bound& a) { return fourierOfAll(a); }

Value* frequencies(Bound& a) {
  if (!DataInts::isWhole(a["n"])) a.refuse("n");
  if (!absent(a["d"]) && (!isScalar(a["d"]) || a["d"]->kind == ValueKind::kPyComplex)) a.refuse("d");
  graph::SymContext& syms = a.trace.syms();
  SymId n = a.trace.asSym(a["n"]);
  if (!isPositive(a.trace, n)) raises("frequencies of no points");
  if (a.function == "np.fft.rfftfreq") n = syms.add(syms.floorDiv(n, syms.constant(2)), syms.constant(1));
  return libraryValue(a, freshType(DType::kF64, {n}));
}

Value* covariance(Bound& a) {
  const std::string_view data = a.function == "np.cov" ? "m" : "x";
  const ValueId node = arrayOf(a, data);
  const DType type = dtypeOf(a, node);
  if (typeOf(a, node).rank() != 2 || graph::isComplex(type) || type == DType::kF16) a.refuse(data);
  const SymShape shape = shapeOf(a.trace, node);
  const bool rows = absent(a["rowvar"]) || flag(a["rowvar"], "rowvar");
  graph::SymContext& syms = a.trace.syms();
  const SymId variables = rows ? shape[0] : shape[1], samples = rows ? shape[1] : shape[0];
  // A single variable is no matrix; with too few samples NumPy warns by other means than conditions.
  for (const SymId size : {variables, samples})
    if (!a.trace.decide(syms.constant(2), Relation::kLe, size)) a.refuse("fewer than two variables or samples");
  return libraryValue(a, freshType(DType::kF64, {variables, variables}));
}

Value* triangle(Bound& a) {
  const ValueId node = inOrder(a, "m");
  if (typeOf(a, node).rank() < 2) a.refuse("an array of rank below 2");
  return quietValue(a, freshType(dtypeOf(a, node), shapeOf(a.trace, node)));
}

Value* repeat(Bound& a) {
  const ValueId node = inOrder(a, "a");
  graph::SymContext& syms = a.trace.syms();
  if (a["repeats"]->kind == ValueKind::kArray) {  // the sum of the counts is known when NumPy has added them up
    if (!graph::isInteger(dtypeOf(a, a["repeats"]->node))) a.refuse("repeats");
    return a.trace.array(decidingCall(a, false, [&](ValueId call) {
      SymShape shape = shapeOf(a.trace, node);
      size_t axis = 0;
      if (absent(a["axis"]))
        shape = {SymId()};
      else
        axis = static_cast<size_t>(axisArg(a.trace, a["axis"], static_cast<int>(shape.size())));
      shape[axis] = a.trace.decided.make(call);
      return std::vector{freshType(dtypeOf(a, node), std::move(shape))};
    })[0]);
  }
  const int64_t count = constantInt(a, "repeats", -1);
  if (count < 0) a.refuse("repeats");
  SymShape shape = shapeOf(a.trace, node);
  if (absent(a["axis"])) {
    shape = {elementCount(a.trace, shape)};
    shape[0] = syms.mul(shape[0], syms.constant(count));
  } else {
    SymId& size = shape[static_cast<size_t>(axisArg(a.trace, a["axis"], static_cast<int>(shape.size())))];
    size = syms.mul(size, syms.constant(count));
  }
  checkElementCount(a.trace, shape);
  return quietValue(a, freshType(dtypeOf(a, node), std::move(shape)));
}

Value* tile(Bound& a) {
  const ValueId node = inOrder(a, "A");
  if (!a["reps"]->isConstant() && !sequenceItems(a.trace, a["reps"])) a.refuse("reps");
  std::vector<int64_t> counts;
  if (auto items = sequenceItems(a.trace, a["reps"])) {
    for (Value* item : *items) counts.push_back(item->isConstant() ? knownInt(a.trace, item) : -1);
  } else {
    counts.push_back(knownInt(a.trace, a["reps"]));
  }
  SymShape shape = shapeOf(a.trace, node);
  if (counts.size() > shape.size() || shape.empty()) a.refuse("more repetitions than axes");
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) a.refuse("reps");
    SymId& size = shape[shape.size() - counts.size() + i];
    size = a.trace.syms().mul(size, a.trace.syms().constant(counts[i]));
  }
  checkElementCount(a.trace, shape);
  return quietValue(a, freshType(dtypeOf(a, node), std::move(shape)));
}

Value* take(Bound& a) {
  if (Value* gathered = a.trace.onDevice() ? takeOnDevice(a) : nullptr) return gathered;
  const ValueId node = inOrder(a, "a"), indices = arrayOf(a, "indices");
  if (!graph::isInteger(dtypeOf(a, indices))) a.refuse("indices");
  const SymShape chosen = shapeOf(a.trace, indices), from = shapeOf(a.trace, node);
  if (chosen.empty() || from.empty()) a.refuse("a scalar");
  if (absent(a["axis"])) return quietValue(a, freshType(dtypeOf(a, node), chosen));
  const auto axis = static_cast<size_t>(axisArg(a.trace, a["axis"], static_cast<int>(from.size())));
  SymShape shape(from.begin(), from.begin() + static_cast<ptrdiff_t>(axis));
  shape.insert(shape.end(), chosen.begin(), chosen.end());
  shape.insert(shape.end(), from.begin() + static_cast<ptrdiff_t>(axis) + 1, from.end());
  return quietValue(a, freshType(dtypeOf(a, node), std::move(shape)));
}

}  // namespace handlers

}  // namespace fw::capture::numpy
