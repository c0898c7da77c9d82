// Elements by arrays of indices, as CuPy takes them: what is out of bounds is wrapped into its axis, nothing raises,
// and results are in C order. So a gather is computed where its elements are used, like any other operation element by
// element. What is left to CuPy: arrays of bools, whose number of true elements decides a size; indices of uint64,
// which it wraps by one rule alone and by another among others; axes without elements.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/numpy/device.h"
#include "frame_eval/numpy/masks.h"

namespace fw::capture::numpy {
namespace {

bool isWholeSlice(const Value* item) { return item->isConstant() && PySlice_Check(item->object.get()); }

/// One subscript: its basic items as a view, and the arrays along axes of that.
struct Subscript {
  std::vector<Value*> basic;     ///< with whole slices in place of arrays
  std::vector<ValueId> indices;  ///< the arrays
  IntList axes;                  ///< of the view, one per array
  bool together = true;          ///< no slice, new axis or ellipsis stands between them, nor between them and ints
};

class Reader {
 public:
  Reader(Trace& trace, Value* array, const std::vector<Value*>& items) : trace_(trace), array_(array), items_(items) {}

  /// nullopt: something among the items is none of CuPy's indices, or not known here.
  std::optional<Subscript> read() {
    const auto rank = static_cast<size_t>(trace_.graph().type(array_->node).rank());
    const auto used = static_cast<size_t>(std::count_if(
        items_.begin(), items_.end(), [](Value* item) { return !is(item, Py_None) && !is(item, Py_Ellipsis); }));
    if (used > rank) return std::nullopt;
    int64_t axis = 0;  // of the view
    for (Value* item : items_) {
      const bool among =
          is(item, Py_None) || is(item, Py_Ellipsis) || item->kind == ValueKind::kSlice || isWholeSlice(item);
      const std::optional<ValueId> index = among ? std::nullopt : indexOf(item);
      if (!among && !index && !isInt(item)) return std::nullopt;
      note(!among);
      result_.basic.push_back(index ? whole() : item);
      if (index) {
        result_.indices.push_back(*index);
        result_.axes.push_back(axis);
      }
      axis += is(item, Py_Ellipsis) ? static_cast<int64_t>(rank - used) : among || index ? 1 : 0;
    }
    return std::move(result_);
  }

 private:
  static bool is(const Value* item, PyObject* object) { return item->isConstant() && item->object.get() == object; }

  static bool isInt(const Value* item) {
    return item->kind == ValueKind::kPyInt || (item->isConstant() && PyLong_CheckExact(item->object.get()));
  }

  Value* whole() { return trace_.constant(cpython::checked(PySlice_New(nullptr, nullptr, nullptr)).get()); }

  std::optional<ValueId> indexOf(Value* item) {
    graph::Graph& g = trace_.graph();
    if (isIntList(trace_, item)) return listed(*sequenceItems(trace_, item));
    if (item->kind != ValueKind::kArray) return std::nullopt;
    const DType dtype = g.type(item->node).dtype;
    if (!graph::isInteger(dtype) || dtype == DType::kU64) return std::nullopt;
    return g.cast(item->node, DType::kI64);
  }

  /// A few are chosen by their position, which takes no memory.
  ValueId listed(const std::vector<Value*>& items) {
    constexpr size_t kFew = 16;
    graph::Graph& g = trace_.graph();
    const auto number = [&](size_t i) {
      const ValueId value = trace_.operand(items[i]).value;
      return g.cast(value, DType::kI64);
    };
    const SymId size = trace_.syms().constant(static_cast<int64_t>(items.size()));
    if (items.size() > kFew) return g.cast(asArray(trace_, trace_.tuple(items)), DType::kI64);
    const ValueId position = g.addTyped(Op::kIota, {}, {DType::kI64, {size}, graph::Layout::c(1), {}});
    ValueId chosen = broadcastInto(trace_, number(items.size() - 1), {size}, false);
    for (size_t i = items.size() - 1; i-- > 0;) {
      const ValueId here =
          ufuncNode(trace_, Op::kEqual, {position, scalarNode(trace_, DType::kI64, static_cast<double>(i))});
      chosen = ufuncNode(trace_, Op::kWhere, {here, number(i), chosen});
    }
    return chosen;
  }

  /// Ints count as arrays where it matters whether these stand together.
  void note(bool arrayLike) {
    if (arrayLike && ended_) result_.together = false;
    ended_ |= begun_ && !arrayLike;
    begun_ |= arrayLike;
  }

  Trace& trace_;
  Value* array_;
  const std::vector<Value*>& items_;
  Subscript result_;
  bool begun_ = false, ended_ = false;
};

/// `index`, of the rank of what is chosen or less, along the result's axes from `axis` on.
ValueId placed(Trace& trace, ValueId index, const SymShape& chosen, int64_t axis, int64_t rank) {
  graph::Graph& g = trace.graph();
  index = broadcastInto(trace, index, chosen, false);
  IntList others;
  for (int64_t at = 0; at < rank; ++at)
    if (at < axis || at >= axis + static_cast<int64_t>(chosen.size())) others.push_back(at);
  return others.empty() ? index : g.expand(index, others);
}

/// Null where an axis has no elements.
Value* gathered(Trace& trace, ValueId source, const std::vector<ValueId>& indices, const IntList& axes, int64_t axis) {
  const SymShape from = shapeOf(trace, source);
  for (int64_t gone : axes)
    if (!isPositive(trace, from[static_cast<size_t>(gone)])) return nullptr;
  const SymShape chosen = unify(trace, indices);
  const auto rank = static_cast<int64_t>(from.size() - axes.size() + chosen.size());
  std::vector<ValueId> operands = {source};
  for (ValueId index : indices) operands.push_back(placed(trace, index, chosen, axis, rank));
  Attrs attrs;
  attrs.set(AttrKey::kAxes, axes);
  attrs.set(AttrKey::kAxis, axis);
  return trace.array(orBreak(trace.graph().add(Op::kGather, operands, std::move(attrs))));
}

}  // namespace

Value* gatherOnDevice(Trace& trace, Value* array, const std::vector<Value*>& items) {
  std::optional<Subscript> subscript = Reader(trace, array, items).read();
  if (!subscript || subscript->indices.empty()) return nullptr;
  const ValueId view = basicPart(trace, array->node, trace.tuple(subscript->basic));
  const int64_t axis = subscript->together ? subscript->axes.front() : 0;
  return gathered(trace, view, subscript->indices, subscript->axes, axis);
}

Value* takeOnDevice(Bound& a) {
  Trace& trace = a.trace;
  graph::Graph& g = trace.graph();
  if (a["a"]->kind != ValueKind::kArray || a["indices"]->kind != ValueKind::kArray) return nullptr;
  const ValueId source = a["a"]->node, indices = a["indices"]->node;
  const DType dtype = g.type(indices).dtype;
  const int rank = g.type(source).rank();
  const bool flat = absent(a["axis"]);
  if (!graph::isInteger(dtype) || dtype == DType::kU64 || rank == 0 || (flat && rank != 1)) return nullptr;
  const int64_t axis = flat ? 0 : axisArg(trace, a["axis"], rank);
  return gathered(trace, source, {g.cast(indices, DType::kI64)}, {axis}, axis);
}

}  // namespace fw::capture::numpy
