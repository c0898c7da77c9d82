// Type inference. The element type follows from the row's ResultType, the shape from its OpClass (views and a few
// creations need the caller's shape), the layout from infer_layout.cpp. Errors describe what is wrong; Graph::add()
// and the verifier put op and operands in front of them.
#include "graph/infer.h"

#include <algorithm>

#include "absl/status/status.h"
#include "graph/axes.h"
#include "graph/infer_internal.h"
#include "graph/rank.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

using Operands = absl::Span<const ValueType* const>;

absl::Status invalid(std::string what) { return absl::InvalidArgumentError(std::move(what)); }

std::string printShape(const SymContext& syms, const SymShape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + syms.print(shape[i]);
  return out + "]";
}

absl::StatusOr<SymShape> broadcastTwo(SymContext& syms, const SymShape& a, const SymShape& b) {
  const SymShape& longer = a.size() >= b.size() ? a : b;
  const SymShape& shorter = a.size() >= b.size() ? b : a;
  SymShape out = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    SymId x = longer[i + shift], y = shorter[i];
    if (syms.isConst(y, 1)) continue;
    if (syms.isConst(x, 1)) {
      out[i + shift] = y;
    } else if (!equalSizes(syms, x, y)) {
      return invalid("shapes " + printShape(syms, a) + " and " + printShape(syms, b) + " do not provably broadcast");
    }
  }
  return out;
}

absl::StatusOr<SymShape> broadcastTypes(SymContext& syms, Operands operands) {
  SymShape shape;
  for (const ValueType* t : operands) {
    absl::StatusOr<SymShape> next = broadcastTwo(syms, shape, t->shape);
    if (!next.ok()) return next;
    shape = std::move(*next);
  }
  return shape;
}

/// Sorted, unique axes below rank.
absl::Status checkAxes(const Attrs& attrs, AttrKey key, int rank) {
  if (!attrs.has(key)) return invalid("attribute " + std::string(attrName(key)) + " is missing");
  const IntList& axes = attrs.ints(key);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) return invalid("axis " + std::to_string(axes[i]) + " is out of range");
    if (i > 0 && axes[i] <= axes[i - 1]) return invalid("axes must be sorted and distinct");
  }
  return absl::OkStatus();
}

absl::StatusOr<SymShape> reductionShape(SymContext& syms, const ValueType& operand, const Attrs& attrs) {
  if (absl::Status s = checkAxes(attrs, AttrKey::kAxes, operand.rank()); !s.ok()) return s;
  const IntList& axes = attrs.ints(AttrKey::kAxes);
  bool keepdims = attrs.integerOr(AttrKey::kKeepdims, 0) != 0;
  SymShape shape;
  for (int i = 0; i < operand.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      shape.push_back(operand.shape[static_cast<size_t>(i)]);
    } else if (keepdims) {
      shape.push_back(syms.constant(1));
    }
  }
  return shape;
}

absl::StatusOr<SymShape> transposeShape(const ValueType& operand, const Attrs& attrs) {
  if (!attrs.has(AttrKey::kPerm)) return invalid("attribute perm is missing");
  const IntList& perm = attrs.ints(AttrKey::kPerm);
  if (static_cast<int>(perm.size()) != operand.rank()) return invalid("perm does not have the operand's rank");
  SymShape shape;
  uint32_t seen = 0;
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= operand.rank() || (seen >> axis & 1) != 0) return invalid("perm is no permutation");
    seen |= 1u << axis;
    shape.push_back(operand.shape[static_cast<size_t>(axis)]);
  }
  return shape;
}

absl::StatusOr<SymShape> expandShape(SymContext& syms, const ValueType& operand, const Attrs& attrs) {
  if (!attrs.has(AttrKey::kAxes)) return invalid("attribute axes is missing");
  SymShape shape = operand.shape;
  int rank = operand.rank() + static_cast<int>(attrs.ints(AttrKey::kAxes).size());
  if (absl::Status s = checkAxes(attrs, AttrKey::kAxes, rank); !s.ok()) return s;
  for (int64_t axis : attrs.ints(AttrKey::kAxes)) shape.insert(shape.begin() + axis, syms.constant(1));
  return shape;
}

absl::StatusOr<SymShape> squeezeShape(SymContext& syms, const ValueType& operand, const Attrs& attrs) {
  if (absl::Status s = checkAxes(attrs, AttrKey::kAxes, operand.rank()); !s.ok()) return s;
  const IntList& axes = attrs.ints(AttrKey::kAxes);
  SymShape shape;
  for (int i = 0; i < operand.rank(); ++i) {
    SymId size = operand.shape[static_cast<size_t>(i)];
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      shape.push_back(size);
    } else if (!equalSizes(syms, size, syms.constant(1))) {
      return invalid("axis " + std::to_string(i) + " of size " + syms.print(size) + " is not 1");
    }
  }
  return shape;
}

absl::StatusOr<SymShape> diagonalShape(SymContext& syms, const ValueType& operand) {
  if (operand.rank() != 2 || !equalSizes(syms, operand.shape[0], operand.shape[1]))
    return invalid(printShape(syms, operand.shape) + " is not the shape of a square matrix");
  return SymShape{operand.shape[0]};
}

absl::StatusOr<SymShape> windowsShape(SymContext& syms, const ValueType& operand, const Attrs& attrs) {
  const int64_t axis = attrs.integerOr(AttrKey::kAxis, -1);
  if (axis < 0 || axis >= operand.rank() || !attrs.has(AttrKey::kExpr)) return invalid("windows along no axis");
  SymShape shape = operand.shape;
  SymId& places = shape[static_cast<size_t>(axis)];
  const SymId size = attrs.sym(AttrKey::kExpr);
  places = syms.add(syms.sub(places, size), syms.constant(1));
  shape.push_back(size);
  return shape;
}

absl::Status checkSliceAttrs(SymContext& syms, const ValueType& operand, const Attrs& attrs) {
  for (AttrKey key : {AttrKey::kStarts, AttrKey::kSteps}) {
    if (!attrs.has(key)) return invalid("attribute " + std::string(attrName(key)) + " is missing");
    if (static_cast<int>(attrs.syms(key).size()) != operand.rank()) {
      return invalid("attribute " + std::string(attrName(key)) + " does not have the operand's rank");
    }
  }
  for (SymId step : attrs.syms(AttrKey::kSteps)) {
    SymRange r = syms.range(step);
    if (r.lo <= 0 && r.hi >= 0) return invalid("the sign of step " + syms.print(step) + " is not known");
  }
  return absl::OkStatus();
}

absl::StatusOr<SymShape> broadcastViewShape(SymContext& syms, const ValueType& operand, const SymShape& to) {
  absl::StatusOr<SymShape> joint = broadcastTwo(syms, to, operand.shape);
  bool fits = joint.ok() && joint->size() == to.size();
  for (size_t i = 0; fits && i < to.size(); ++i) fits = equalSizes(syms, (*joint)[i], to[i]);
  if (!fits) return invalid(printShape(syms, operand.shape) + " does not broadcast to " + printShape(syms, to));
  return to;
}

absl::StatusOr<SymShape> viewShape(SymContext& syms, Op op, const ValueType& operand, const Attrs& attrs,
                                   const SymShape* given) {
  if (op == Op::kTranspose) return transposeShape(operand, attrs);
  if (op == Op::kExpand) return expandShape(syms, operand, attrs);
  if (op == Op::kSqueeze) return squeezeShape(syms, operand, attrs);
  if (op == Op::kDiagonal) return diagonalShape(syms, operand);
  if (op == Op::kWindows) return windowsShape(syms, operand, attrs);
  if (given == nullptr) return invalid("needs the result's shape");
  if (op == Op::kSlice) {
    if (absl::Status s = checkSliceAttrs(syms, operand, attrs); !s.ok()) return s;
    if (given->size() != operand.shape.size()) return invalid("the result of a slice keeps the operand's rank");
    return *given;
  }
  if (op == Op::kBroadcast) return broadcastViewShape(syms, operand, *given);
  // reshape
  if (syms.provablyEqual(syms.product(operand.shape), syms.product(*given)) == false) {
    return invalid("cannot reshape " + printShape(syms, operand.shape) + " to " + printShape(syms, *given));
  }
  return *given;
}

absl::StatusOr<SymShape> concatenateShape(SymContext& syms, Operands operands, const Attrs& attrs) {
  if (operands.empty()) return invalid("needs an operand");
  if (!attrs.has(AttrKey::kAxis)) return invalid("attribute axis is missing");
  int64_t axis = attrs.integer(AttrKey::kAxis);
  if (axis < 0 || axis >= operands[0]->rank()) return invalid("axis is out of range");
  SymShape shape = operands[0]->shape;
  for (size_t k = 1; k < operands.size(); ++k) {
    const SymShape& other = operands[k]->shape;
    if (other.size() != shape.size()) return invalid("operands differ in rank");
    for (size_t i = 0; i < shape.size(); ++i) {
      if (static_cast<int64_t>(i) == axis) {
        shape[i] = syms.add(shape[i], other[i]);
      } else if (!equalSizes(syms, shape[i], other[i])) {
        return invalid("sizes " + syms.print(shape[i]) + " and " + syms.print(other[i]) + " are not provably equal");
      }
    }
  }
  return shape;
}

absl::StatusOr<SymShape> gatherShape(SymContext& syms, Operands operands, const Attrs& attrs) {
  if (!attrs.has(AttrKey::kAxes) || !attrs.has(AttrKey::kAxis)) return invalid("attribute axes or axis is missing");
  const IntList& axes = attrs.ints(AttrKey::kAxes);
  const ValueType& source = *operands[0];
  if (axes.empty() || axes.size() + 1 != operands.size()) return invalid("takes an index for each gathered axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < (i > 0 ? axes[i - 1] + 1 : 0) || axes[i] >= source.rank()) return invalid("axes are out of range");
    const SymId size = syms.canonical(source.shape[static_cast<size_t>(axes[i])]);
    if (!syms.provablyLessEqual(syms.constant(1), size)) return invalid("a gathered axis may have no elements");
  }
  absl::StatusOr<SymShape> shape = broadcastTypes(syms, operands.subspan(1));
  if (!shape.ok()) return shape;
  const int rank = static_cast<int>(shape->size()), whole = source.rank() - static_cast<int>(axes.size());
  for (size_t i = 1; i < operands.size(); ++i)
    if (operands[i]->rank() != rank) return invalid("indices do not have the rank of the result");
  const int64_t axis = attrs.integer(AttrKey::kAxis);
  if (axis < 0 || axis > whole || whole > rank) return invalid("axis is out of range");
  const IntList along = gatheredAlong(source.rank(), rank, attrs);
  for (size_t i = 0; i < along.size(); ++i) {
    if (along[i] < 0) continue;
    SymId& size = (*shape)[static_cast<size_t>(along[i])];
    if (!syms.isConst(size, 1)) return invalid("an index runs along an axis of the source");
    size = source.shape[i];
  }
  return shape;
}

absl::StatusOr<SymShape> updateShape(SymContext& syms, Operands operands, const Attrs& attrs) {
  if (absl::Status s = checkSliceAttrs(syms, *operands[0], attrs); !s.ok()) return s;
  if (operands[1]->rank() != operands[0]->rank()) return invalid("base and value differ in rank");
  return operands[0]->shape;
}

absl::StatusOr<SymShape> storeShape(SymContext& syms, Operands operands) {
  const SymShape &target = operands[0]->shape, &value = operands[1]->shape;
  if (target.size() != value.size()) return invalid("target and value differ in rank");
  for (size_t i = 0; i < target.size(); ++i) {
    if (!equalSizes(syms, target[i], value[i])) {
      return invalid("sizes " + syms.print(target[i]) + " and " + syms.print(value[i]) + " are not provably equal");
    }
  }
  return target;
}

absl::StatusOr<SymShape> resultShape(SymContext& syms, Op op, Operands operands, const Attrs& attrs,
                                     const SymShape* given) {
  switch (info(op).cls) {
    case OpClass::kSource:
      if (op == Op::kInput) {
        if (given == nullptr) return invalid("needs the result's type");
        return *given;
      }
      return SymShape{};
    case OpClass::kElementwise: return broadcastTypes(syms, operands);
    case OpClass::kReduction: return reductionShape(syms, *operands[0], attrs);
    case OpClass::kScan: return operands[0]->shape;
    case OpClass::kView: return viewShape(syms, op, *operands[0], attrs, given);
    case OpClass::kCreation:
      if (given == nullptr) return invalid("needs the result's shape");
      if (op == Op::kFull && operands[0]->rank() != 0) return invalid("the value is no scalar");
      if (op == Op::kIota && given->size() != 1) return invalid("the result has rank 1");
      return *given;
    case OpClass::kJoin: return concatenateShape(syms, operands, attrs);
    case OpClass::kGather: return gatherShape(syms, operands, attrs);
    case OpClass::kUpdate: return op == Op::kStore ? storeShape(syms, operands) : updateShape(syms, operands, attrs);
    case OpClass::kControl: return invalid("needs the result's type");
  }
  FW_UNREACHABLE();
}

absl::Status checkOperandTypes(Op op, Operands operands) {
  const OpInfo& row = info(op);
  if (row.arity >= 0 && static_cast<int>(operands.size()) != row.arity) {
    return invalid("takes " + std::to_string(row.arity) + " operands, not " + std::to_string(operands.size()));
  }
  if (row.cls == OpClass::kControl) return absl::OkStatus();
  size_t first = op == Op::kWhere ? 1 : 0;
  if (op == Op::kWhere && operands[0]->dtype != DType::kBool) return invalid("the condition is not bool");
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]->tuple.empty()) return invalid("operand " + std::to_string(i) + " is a tuple");
    if (row.cls == OpClass::kGather) {
      if (i > 0 && operands[i]->dtype != DType::kI64) return invalid("an index is not i64");
    } else if (i > first && operands[i]->dtype != operands[first]->dtype) {
      return invalid("operands differ in element type: " + std::string(name(operands[first]->dtype)) + " and " +
                     std::string(name(operands[i]->dtype)));
    }
  }
  if (!operands.empty() && !loopAccepts(op, operands[first]->dtype)) {
    return invalid("has no loop for " + std::string(name(operands[first]->dtype)));
  }
  return absl::OkStatus();
}

absl::StatusOr<DType> resultDType(Op op, Operands operands, const Attrs& attrs, const DType* given) {
  switch (info(op).result) {
    case ResultType::kSame:
      if (operands.empty()) return invalid("needs an operand");
      return operands[0]->dtype;
    case ResultType::kSecond: return operands[1]->dtype;
    case ResultType::kBool: return DType::kBool;
    case ResultType::kReal: return realOf(operands[0]->dtype);
    case ResultType::kComplex: return complexOf(operands[0]->dtype);
    case ResultType::kI64: return DType::kI64;
    case ResultType::kAttr:
      if (op == Op::kConstant) {
        if (!attrs.has(AttrKey::kValue)) return invalid("attribute value is missing");
        return attrs.scalar(AttrKey::kValue).dtype;
      }
      if (given == nullptr) return invalid("needs the result's element type");
      return *given;
  }
  FW_UNREACHABLE();
}

absl::StatusOr<ValueType> inferImpl(SymContext& syms, Op op, Operands operands, const Attrs& attrs,
                                    const ValueType* given) {
  if (absl::Status s = checkOperandTypes(op, operands); !s.ok()) return s;
  if (op == Op::kProject) {
    if (!attrs.has(AttrKey::kIndex)) return invalid("attribute index is missing");
    int64_t index = attrs.integer(AttrKey::kIndex);
    if (index < 0 || index >= static_cast<int64_t>(operands[0]->tuple.size())) return invalid("no such element");
    return operands[0]->tuple[static_cast<size_t>(index)];
  }
  absl::StatusOr<SymShape> shape = resultShape(syms, op, operands, attrs, given ? &given->shape : nullptr);
  if (!shape.ok()) return shape.status();
  if (shape->size() > kMaxRank) return absl::OutOfRangeError("more than 31 axes");
  absl::StatusOr<DType> dtype = resultDType(op, operands, attrs, given ? &given->dtype : nullptr);
  if (!dtype.ok()) return dtype.status();
  absl::StatusOr<Layout> layout = inferLayout(syms, op, operands, attrs, *shape);
  if (!layout.ok()) return layout.status();
  return ValueType{*dtype, std::move(*shape), std::move(*layout), {}};
}

}  // namespace

bool loopAccepts(Op op, DType d) {
  if (info(op).result == ResultType::kComplex) return d == DType::kF32 || d == DType::kF64;
  switch (info(op).loops) {
    case Loops::kNone:
    case Loops::kNumber:
    case Loops::kCompare:
    case Loops::kLogical:
    case Loops::kPredicate: return true;
    case Loops::kNumberNoBool:
    case Loops::kPower: return d != DType::kBool;
    case Loops::kBitwise: return d == DType::kBool || isInteger(d);
    case Loops::kShift: return isInteger(d);
    case Loops::kInexact:
    case Loops::kDivide: return isInexact(d);
    case Loops::kFloat: return isFloat(d);
    case Loops::kReal: return d != DType::kBool && !isComplex(d);
    case Loops::kRound: return !isComplex(d);
  }
  FW_UNREACHABLE();
}

bool needsGivenType(Op op) {
  OpClass cls = info(op).cls;
  return op == Op::kInput || op == Op::kCast || op == Op::kSlice || op == Op::kBroadcast || op == Op::kReshape ||
         cls == OpClass::kCreation || op == Op::kLoop || op == Op::kCond || op == Op::kBind || op == Op::kDefine ||
         op == Op::kCall;
}

absl::StatusOr<ValueType> inferType(SymContext& syms, Op op, Operands operands, const Attrs& attrs) {
  if (needsGivenType(op)) return invalid("its type does not follow from the operands");
  return inferImpl(syms, op, operands, attrs, nullptr);
}

absl::StatusOr<ValueType> completeType(SymContext& syms, Op op, Operands operands, const Attrs& attrs,
                                       const ValueType& given) {
  return inferImpl(syms, op, operands, attrs, &given);
}

absl::StatusOr<SymShape> broadcastShapes(SymContext& syms, absl::Span<const SymShape* const> shapes) {
  SymShape result;
  for (const SymShape* shape : shapes) {
    absl::StatusOr<SymShape> next = broadcastTwo(syms, result, *shape);
    if (!next.ok()) return next;
    result = std::move(*next);
  }
  return result;
}

}  // namespace fw::graph
