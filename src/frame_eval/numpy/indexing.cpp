// Basic indexing: integers, slices, newaxis and Ellipsis. Bounds and the clipping of slices are decided from the values
// seen now and guarded; the sizes that result are expressions of the sizes and integers that went in.
#include <algorithm>

#include "cpython/numpy_names.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/nesting.h"
#include "frame_eval/numpy/data_slices.h"
#include "frame_eval/numpy/masks.h"
#include "frame_eval/raising.h"
#include "graph/alias.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture::numpy {
namespace {

/// One operand axis under an index.
struct AxisIndex {
  SymId start, step, size;
  bool dropped = false;  ///< integer index
};

struct Parsed {
  std::vector<AxisIndex> axes;  ///< one per operand axis
  IntList newAxes;              ///< positions in the result
  bool ellipsis = false;
  bool whole = true;  ///< every axis is taken as it is
};

class IndexParser {
 public:
  IndexParser(Trace& trace, SymShape shape) : trace_(trace), syms_(trace.syms()), shape_(std::move(shape)) {}

  Parsed parse(Value* index) {
    std::vector<Value*> items{index};
    bool tuple = index->kind == ValueKind::kTuple || (index->isConstant() && PyTuple_CheckExact(index->object.get()));
    if (tuple) items = *sequenceItems(trace_, index);
    size_t used = 0;
    for (Value* item : items) {
      if (isEllipsis(item)) {
        if (parsed_.ellipsis) raises("an index can only have a single ellipsis ('...')");
        parsed_.ellipsis = true;
      } else if (!isNewAxis(item)) {
        checkBasic(item);
        ++used;
      }
    }
    if (used > shape_.size()) raises("too many indices for array");
    size_t rest = shape_.size() - used;
    for (Value* item : items) {
      if (isEllipsis(item)) {
        for (; rest > 0; --rest) addWhole();
      } else if (isNewAxis(item)) {
        parsed_.newAxes.push_back(position_++);
      } else {
        addItem(item);
      }
    }
    for (; rest > 0; --rest) addWhole();
    return std::move(parsed_);
  }

 private:
  static bool isEllipsis(Value* v) { return v->isConstant() && v->object.get() == Py_Ellipsis; }
  static bool isNewAxis(Value* v) { return v->isConstant() && v->object.get() == Py_None; }

  bool isData(Value* item) const { return isDataIndex(trace_, item); }

  void checkBasic(Value* item) const {
    if (isData(item)) return;
    switch (item->kind) {
      case ValueKind::kPyInt:
      case ValueKind::kSlice: return;
      case ValueKind::kConstant: {
        PyObject* o = item->object.get();
        if ((PyLong_CheckExact(o) || PySlice_Check(o))) return;
        if (PyBool_Check(o)) unsupported("indexing with a bool");
        if (PyUnicode_Check(o) || PyFloat_Check(o)) raises("only integers, slices ... are valid indices");
        // NumPy integer scalars; asSym() tells them from the rest.
        if (cpython::isNumpyType(Py_TYPE(o))) return;
        unsupported("this index");
      }
      case ValueKind::kArray:
      case ValueKind::kArrayScalar: unsupported("indexing with an array or a NumPy scalar");
      case ValueKind::kList: unsupported("indexing with a list");
      default: unsupported("this index");
    }
  }

  SymId constant(int64_t v) { return syms_.constant(v); }
  bool less(SymId a, SymId b) { return trace_.decide(a, Relation::kLt, b); }
  SymId size() { return syms_.canonical(shape_[parsed_.axes.size()]); }

  void addWhole() {
    parsed_.axes.push_back({constant(0), constant(1), size()});
    ++position_;
  }

  void addItem(Value* item) {
    if (item->kind == ValueKind::kSlice) return addSlice(item->items[0], item->items[1], item->items[2]);
    if (item->isConstant() && PySlice_Check(item->object.get())) {
      auto* s = reinterpret_cast<PySliceObject*>(item->object.get());
      return addSlice(trace_.constant(s->start), trace_.constant(s->stop), trace_.constant(s->step));
    }
    if (isData(item)) return addData(item);
    SymId i = trace_.asSym(item), n = size();
    if (undecided(i)) return addData(item);
    if (less(i, constant(0))) {
      if (less(i, syms_.neg(n))) raiseCertain(trace_, PyExc_IndexError, "index is out of bounds");
      i = syms_.add(i, n);
    } else if (!less(i, n)) {
      raiseCertain(trace_, PyExc_IndexError, "index is out of bounds");
    }
    parsed_.axes.push_back({i, constant(1), constant(1), true});
    parsed_.whole = false;
  }

  /// Of the turn of a loop or of data, and not known to be inside of the array in every turn.
  bool undecided(SymId i) {
    if (trace_.decided.contains(i)) return true;
    if (!trace_.turns.contains(i)) return false;
    const auto negative = trace_.turns.decide(i, Relation::kLt, constant(0));
    if (!negative) return true;
    return !*negative ? !trace_.turns.decide(i, Relation::kLt, size())
                      : !trace_.turns.decide(i, Relation::kLt, syms_.neg(size()));
  }

  /// The kernel looks whether it is in the array; where it is not, the call fails and Python raises.
  void addData(Value* item) {
    DataInts ints{trace_};
    graph::Graph& g = trace_.graph();
    Value* index = item->kind == ValueKind::kArrayScalar ? ints.fromNumber(item->node) : ints.of(item);
    if (!index) unsupported("an index beyond 62 bits");
    const SymId n = size();
    ValueId node = index->node;
    if (index->range.lo < 0) {
      const ValueId fromEnd = g.binary(Op::kAdd, node, g.sym(n));
      const ValueId zero = g.constant(graph::Scalar::ofInt(DType::kI64, 0));
      node = index->range.hi < 0 ? fromEnd
                                 : ufuncNode(trace_, Op::kWhere, {g.binary(Op::kLess, node, zero), fromEnd, node});
    }
    const SymId last = syms_.sub(n, constant(1));
    ints.requireWithin(index, syms_.canonical(syms_.neg(n)), last);
    const int64_t most = std::max<int64_t>(0, graph::refinedRange(syms_, n).hi - 1);
    const SymId place = trace_.decided.define(node, constant(0), last, {0, most});
    parsed_.axes.push_back({place, constant(1), constant(1), true});
    parsed_.whole = false;
  }

  /// A bound of a slice as PySlice_AdjustIndices() clips it to [low, high]. nullopt: array data decides, or the turn.
  std::optional<SymId> clip(Value* bound, SymId n, SymId low, SymId high) {
    if (isData(bound)) return std::nullopt;
    SymId b = trace_.asSym(bound);
    const auto negative = tell(b, constant(0));
    if (!negative) return std::nullopt;
    if (*negative) b = syms_.add(b, n);
    const auto beyond = *negative ? tell(b, low) : tell(high, b);
    if (!beyond) return std::nullopt;
    return !*beyond ? b : *negative ? low : high;
  }

  /// left < right. That a size which data decides is not smaller than a bound is taken for granted where a bound takes
  /// off an end (`p[1:]`, `p[:-1]`); where it takes one (`p[:5]`), there may well be less.
  std::optional<bool> tell(SymId left, SymId right) {
    const bool likely = takesOff_ || !(trace_.decided.contains(left) || trace_.decided.contains(right));
    return likely ? trace_.tell(left, Relation::kLt, right) : trace_.known(left, Relation::kLt, right);
  }

  /// Whether a bound takes off what is in front of a start, or behind a stop.
  bool takesOff(Value* bound, bool start, int64_t by) {
    if (!bound->isConstant()) return false;
    const auto now = syms_.asConst(trace_.asSym(bound));
    return now && (*now >= 0) == (start == (by > 0));
  }

  void addSlice(Value* start, Value* stop, Value* step) {
    SymId n = size();
    constexpr int64_t kMostElements = int64_t{1} << 46;
    int64_t by = isNone(step) ? 1 : knownInt(trace_, step);
    if (by == 0) raises("ValueError: slice step cannot be zero");
    by = std::clamp(by, -kMostElements, kMostElements);  // longer steps do the same, and overflow
    SymId low = by > 0 ? constant(0) : constant(-1);
    SymId high = by > 0 ? n : syms_.sub(n, constant(1));
    const auto boundOf = [&](Value* bound, bool isStart) -> std::optional<SymId> {
      if (isNone(bound)) return isStart == (by > 0) ? low : high;
      takesOff_ = !isData(bound) && takesOff(bound, isStart, by);
      return clip(bound, n, low, high);
    };
    const std::optional<SymId> first = boundOf(start, true);
    const std::optional<SymId> last = first ? boundOf(stop, false) : std::nullopt;
    const std::optional<SymId> span =
        last ? std::optional(syms_.canonical(by > 0 ? syms_.sub(*last, *first) : syms_.sub(*first, *last)))
             : std::nullopt;
    bool whole = isNone(start) && isNone(stop);
    const std::optional<bool> some = whole  ? std::optional(true)
                                     : span ? trace_.tell(constant(0), Relation::kLe, *span)
                                            : std::nullopt;
    AxisIndex axis{constant(0), constant(1), constant(0)};
    if (!some) {
      const SliceOf part = sliceByData(trace_, n, start, stop, by);
      axis = {part.start, part.step, part.size};
    } else if (*some) {
      int64_t stride = by > 0 ? by : -by;
      // ceil(span / stride)
      axis = {*first, constant(by),
              stride == 1 ? *span : syms_.floorDiv(syms_.add(*span, constant(stride - 1)), constant(stride))};
    }
    axis.size = syms_.canonical(axis.size);
    if (by != 1 || !syms_.isConst(axis.start, 0) || axis.size != n) parsed_.whole = false;
    parsed_.axes.push_back(axis);
    ++position_;
  }

  Trace& trace_;
  graph::SymContext& syms_;
  SymShape shape_;
  Parsed parsed_;
  int64_t position_ = 0;   ///< next axis of the result
  bool takesOff_ = false;  ///< see tell()
};

/// The indexed part as views of `node`.
ValueId viewOf(Trace& trace, ValueId node, const Parsed& parsed) {
  SymList starts, steps;
  SymShape shape;
  IntList dropped;
  for (size_t i = 0; i < parsed.axes.size(); ++i) {
    const AxisIndex& a = parsed.axes[i];
    starts.push_back(a.start);
    steps.push_back(a.step);
    shape.push_back(a.size);
    if (a.dropped) dropped.push_back(static_cast<int64_t>(i));
  }
  graph::Graph& g = trace.graph();
  const auto keepsOrder = [&](SymId step) { return trace.syms().isConst(step, 1) || trace.syms().isConst(step, -1); };
  if (g.type(node).layout.interleaved && !std::all_of(steps.begin(), steps.end(), keepsOrder))
    unsupported("steps through an array whose axes interleave");
  if (!parsed.whole) node = g.slice(node, starts, steps, shape);
  if (!dropped.empty()) node = g.squeeze(node, dropped);
  if (!parsed.newAxes.empty()) node = g.expand(node, parsed.newAxes);
  return node;
}

}  // namespace

ValueId basicPart(Trace& trace, ValueId node, Value* index) {
  return viewOf(trace, node, IndexParser(trace, shapeOf(trace, node)).parse(index));
}

ValueId elementOf(Trace& trace, Value* value, DType dtype) {
  graph::UfuncOperand operand = trace.operand(value);
  DType from = trace.graph().type(operand.value).dtype;
  if (graph::isComplex(from) && !graph::isComplex(dtype)) unsupported("assignment of complex values to a real array");
  // A float is stored as int() of it, and a NumPy integer as the int. What the dtype has no room for is an error, or
  // wraps, by what it is: Python's business.
  const bool narrows = graph::isInexact(from) ||
                       (operand.weak == Weak::kNo && graph::isInteger(from) && !graph::canCastSafely(from, dtype));
  if (value->kind != ValueKind::kArray && graph::isInteger(dtype) && narrows) {
    if (trace.onDevice()) unsupported("assignment of a scalar to an array of a narrower type");
    DataInts ints{trace};
    return *ints.inDtype(ints.fromNumber(operand.value), dtype);
  }
  return castOperand(trace, value, dtype);
}

Value* getItem(Trace& trace, Value* array, Value* index) {
  if (array->kind != ValueKind::kArray) unsupported("indexing of a NumPy scalar");
  if (isMask(trace, index)) return select(trace, array, index);
  const bool inLoop = trace.turns.bodies > 0;
  const bool number = index->kind == ValueKind::kArrayScalar || index->kind == ValueKind::kDataInt;
  const bool element = (inLoop && number) || (index->which && !MixedNumbers::mayBeNone(index));
  if (Value* gathered = element ? nullptr : gather(trace, array, index)) return gathered;
  graph::Graph& g = trace.graph();
  Parsed parsed = IndexParser(trace, shapeOf(trace, array->node)).parse(index);
  const ValueId node = viewOf(trace, array->node, parsed);
  if (g.type(node).rank() == 0 && !parsed.ellipsis && !trace.onDevice())
    return trace.number(ValueKind::kArrayScalar, node);
  return makeView(trace, array, node);
}

/// NumPy stores the items of a sequence one by one: what shares memory with the target is read when some of that has
/// been written already.
void refuseOwnItems(Trace& trace, ValueId part, Value* value) {
  const Nesting nesting(trace);
  if (const auto items = sequenceItems(trace, value)) {
    for (Value* item : *items) refuseOwnItems(trace, part, item);
  } else if (value->kind == ValueKind::kArray &&
             graph::alias(trace.graph(), part, value->node) != graph::Alias::kNone) {
    throw CaptureBreak(BreakReason::kUnsupportedWrite, "an array gets parts of its own in a sequence");
  }
}

ValueId assignedNode(Trace& trace, Value* value, DType dtype, const SymShape& shape) {
  value = MixedNumbers{trace}.present(value);
  graph::Graph& g = trace.graph();
  ValueId node;
  if (sequenceItems(trace, value)) {
    node = asArray(trace, value);
    if (!graph::canCastSameKind(g.type(node).dtype, dtype)) unsupported("assignment of a sequence of another kind");
    node = g.cast(node, dtype);
  } else {
    const DType is = value->which ? g.type(value->node).dtype : DType::kBool;
    const bool alike = MixedNumbers::mayBeInt(value) && (is == dtype || dtype == DType::kF64 || dtype == DType::kC128 ||
                                                         (is == DType::kF64 && graph::isInexact(dtype)));
    node = alike ? g.cast(value->node, dtype) : elementOf(trace, value, dtype);
  }
  return broadcastInto(trace, node, shape, true);
}

void setItem(Trace& trace, Value* array, Value* index, Value* value) {
  if (array->kind != ValueKind::kArray) raises("item assignment to a NumPy scalar");
  checkWriteable(trace, array);
  if (isMask(trace, index)) return storeSelected(trace, array, index, value);
  if (scatter(trace, array, index, value)) return;
  graph::Graph& g = trace.graph();
  Parsed parsed = IndexParser(trace, shapeOf(trace, array->node)).parse(index);
  const ValueId part = viewOf(trace, array->node, parsed);
  // An element takes no array of one element, a part of rank 0 (with an Ellipsis) does.
  const bool element = g.type(part).rank() == 0 && !parsed.ellipsis && g.type(array->node).rank() > 0;
  if (element && !trace.onDevice() && !isScalar(value) && g.type(asArray(trace, value)).rank() > 0)
    unsupported("an array as an element");
  if (sequenceItems(trace, value)) {
    if (g.type(asArray(trace, value)).rank() > g.type(part).rank())
      raises("a sequence is nested deeper than the array");
    refuseOwnItems(trace, part, value);
  }
  writePart(trace, array, part, assignedNode(trace, value, g.type(part).dtype, shapeOf(trace, part)));
}

Value* length(Trace& trace, Value* array) {
  if (array->kind != ValueKind::kArray) raises("TypeError: object of this type has no len()");
  SymShape shape = shapeOf(trace, array->node);
  if (shape.empty()) raises("TypeError: len() of unsized object");
  return trace.pyInt(shape[0]);
}

}  // namespace fw::capture::numpy
