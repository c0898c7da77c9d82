// Functions whose data decides how large their results are: selections by masks and places, counts. NumPy computes them
// (library.h); the sizes are symbols that are bound when it has. How many elements of one node are true is one symbol,
// whoever is asked first, so that what is selected by one mask fits together without a check.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/device.h"
#include "frame_eval/numpy/examples.h"
#include "frame_eval/numpy/in_place.h"
#include "frame_eval/numpy/library.h"
#include "frame_eval/numpy/masks.h"
#include "graph/alias.h"
#include "graph/support/check.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;

const ValueType& typeOf(Trace& trace, ValueId node) { return trace.graph().type(node); }

/// NumPy lays results of fancy indexing out as it goes through the operand.
void refuseOrder(Trace& trace, ValueId node) {
  const graph::Layout& layout = typeOf(trace, node).layout;
  if (layout.rank() > 1 && (!layout.isCOrder() || layout.broadcastAxes || layout.negativeAxes))
    unsupported("a selection from an array that is not in C order");
}

/// The number of true elements of a node, which call `call` tells if nobody has yet.
SymId countOf(Trace& trace, ValueId node, ValueId call) {
  if (std::optional<SymId> known = trace.decided.trueCount(node)) return trace.syms().canonical(*known);
  const SymId count = trace.decided.make(call);
  trace.decided.setTrueCount(node, count, call);
  return count;
}

Ref operatorFunction(const char* name) {
  Ref module = checked(PyImport_ImportModule("operator"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

ValueId indexed(Trace& trace, Value* array, Value* index, const MakeResults& results) {
  LibraryNode node{.name = "operator.getitem", .function = operatorFunction("getitem"), .positional = {array, index}};
  node.quiet = true;
  return libraryNode(trace, std::move(node), results)[0];
}

/// The array whose columns np.nonzero answers.
PyObject* columnsOfNonzero(PyObject*, PyObject* array) {
  if (!PyArray_Check(array)) return PyErr_Format(PyExc_TypeError, "not an array");
  Ref columns = Ref::steal(PyArray_Nonzero(reinterpret_cast<PyArrayObject*>(array)));
  if (!columns) return nullptr;
  PyObject* first = PyTuple_GET_ITEM(columns.get(), 0);
  PyObject* owner = PyArray_BASE(reinterpret_cast<PyArrayObject*>(first));
  if (!owner) return PyErr_Format(PyExc_TypeError, "np.nonzero answers no columns of one array");
  return Py_NewRef(owner);
}

Ref columnsFunction() {
  static PyMethodDef method = {"nonzero", columnsOfNonzero, METH_O, nullptr};
  return checked(PyCFunction_New(&method, nullptr));
}

/// An array argument of a function that looks at which elements are true.
ValueId conditionOf(Bound& a, std::string_view name) {
  Value* value = a[name];
  if (value->kind != ValueKind::kArray) a.refuse(name);
  if (typeOf(a.trace, value->node).rank() == 0) a.refuse("an array of rank 0");
  return value->node;
}

}  // namespace

ValueId selectByMask(Trace& trace, ValueId node, ValueId mask) {
  if (typeOf(trace, mask).rank() < typeOf(trace, node).rank()) refuseOrder(trace, node);  // else it has one axis
  return indexed(trace, trace.array(node), trace.array(mask), [&](ValueId call) {
    SymShape shape = shapeOf(trace, node);
    shape.erase(shape.begin(), shape.begin() + typeOf(trace, mask).rank());
    shape.insert(shape.begin(), countOf(trace, mask, call));
    return std::vector{freshType(typeOf(trace, node).dtype, std::move(shape))};
  });
}

bool isIntList(Trace& trace, Value* item) {
  if (item->kind != ValueKind::kList && !(item->isConstant() && PyList_CheckExact(item->object.get()))) return false;
  const auto items = sequenceItems(trace, item);
  return items && !items->empty() && std::all_of(items->begin(), items->end(), [](Value* i) {
           return i->isConstant() && PyLong_CheckExact(i->object.get());
         });
}

namespace {

/// Indices of one subscript that is not a basic one.
class Gather {
 public:
  Gather(Trace& trace, Value* array, std::vector<Value*> items)
      : trace_(trace),
        array_(array),
        items_(std::move(items)) {}

  Value* run() {
    refuseOrder(trace_, array_->node);
    const SymShape from = shapeOf(trace_, array_->node);
    if (items_.size() > from.size() && std::none_of(items_.begin(), items_.end(), isOther))
      raises("too many indices for array");
    if (items_.size() > from.size()) return byExample();
    SymShape before, chosen, after;
    std::vector<Value*> index;
    bool masked = false, ended = false, arrays = false;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      Value* item = axis < items_.size() ? items_[axis] : nullptr;
      if (!item || isWhole(item)) {
        ended |= arrays;
        (arrays ? after : before).push_back(from[axis]);
        if (item) index.push_back(item);
        continue;
      }
      if (ended || masked || (arrays && isMask(trace_, item)) || isOther(item)) return byExample();
      masked = isMask(trace_, item);
      const SymShape own = masked ? maskShape(item, from[axis]) : shapeOfIndex(item);
      chosen = arrays ? broadcast(chosen, own) : own;
      arrays = true;
      index.push_back(item);
    }
    Value* given = index.size() == 1 ? index[0] : trace_.tuple(index);
    const ValueId result = indexed(trace_, array_, given, [&](ValueId call) {
      if (masked) chosen = {countOf(trace_, mask_, call)};
      SymShape shape = before;
      shape.insert(shape.end(), chosen.begin(), chosen.end());
      shape.insert(shape.end(), after.begin(), after.end());
      ValueType type = freshType(typeOf(trace_, array_->node).dtype, std::move(shape));
      auto& order = type.layout.order;
      if (!trace_.onDevice() && before.empty() && after.empty())
        order = layoutOfIndices(chosen.size()).order;
      else if (!trace_.onDevice())  // NumPy walks what the indices choose outermost
        std::rotate(order.begin(), order.begin() + static_cast<ptrdiff_t>(before.size()),
                    order.begin() + static_cast<ptrdiff_t>(before.size() + chosen.size()));
      return std::vector{std::move(type)};
    });
    return trace_.arrayOrScalar(result);
  }

 private:
  /// Other rules than those of indices side by side among whole axes: the library tells.
  Value* byExample() {
    Value* index = items_.size() == 1 ? items_[0] : trace_.tuple(items_);
    return callByExample(trace_, operatorFunction("getitem").get(), {.positional = {array_, index}, .keywords = {}});
  }

  /// Part of an axis, a new axis, or an Ellipsis.
  static bool isOther(Value* item) {
    if (item->kind == ValueKind::kSlice) return true;
    if (!item->isConstant()) return false;
    PyObject* object = item->object.get();
    return object == Py_None || object == Py_Ellipsis || PySlice_Check(object);
  }

  static bool isWhole(Value* item) {
    const auto none = [](Value* v) { return v->isConstant() && v->object.get() == Py_None; };
    if (item->kind == ValueKind::kSlice) return std::all_of(item->items.begin(), item->items.end(), none);
    if (!item->isConstant() || !PySlice_Check(item->object.get())) return false;
    auto* slice = reinterpret_cast<PySliceObject*>(item->object.get());
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
  }

  SymShape maskShape(Value* item, SymId size) {
    const SymShape own = shapeOf(trace_, item->node);
    if (own.size() != 1) unsupported("a mask of several axes among other indices");
    if (!sameSize(trace_, own[0], size)) raises("IndexError: boolean index did not match indexed array");
    mask_ = item->node;
    return {};
  }

  SymShape shapeOfIndex(Value* item) {
    if (isIntList(trace_, item))
      return {trace_.syms().constant(static_cast<int64_t>(sequenceItems(trace_, item)->size()))};
    if (item->kind == ValueKind::kPyInt || (item->isConstant() && PyLong_CheckExact(item->object.get()))) return {};
    const bool array = item->kind == ValueKind::kArray || item->kind == ValueKind::kArrayScalar;
    if (!array || !graph::isInteger(typeOf(trace_, item->node).dtype)) unsupported("this index");
    return shapeOf(trace_, item->node);
  }

  /// The order in which arrays that choose all axes lie in memory: NumPy walks them so.
  graph::Layout layoutOfIndices(size_t chosen) {
    std::vector<graph::LayoutOperand> indices;
    for (Value* item : items_) {
      if (item->kind != ValueKind::kArray || isMask(trace_, item)) continue;
      const ValueType& type = typeOf(trace_, item->node);
      indices.push_back({&type.layout, graph::unitAxes(trace_.syms(), type.shape)});
    }
    return graph::ufuncResultLayout(static_cast<int>(chosen), indices);
  }

  SymShape broadcast(SymShape left, SymShape right) {
    const SymId one = trace_.syms().constant(1);
    while (left.size() < right.size()) left.insert(left.begin(), one);
    while (right.size() < left.size()) right.insert(right.begin(), one);
    for (size_t i = left.size(); i-- > 0;) left[i] = unifySizes(trace_, left[i], right[i]);
    return left;
  }

  Trace& trace_;
  Value* array_;
  std::vector<Value*> items_;
  ValueId mask_;
};

}  // namespace

namespace {

/// array[[i, j]]: a few places along the first axis, numbers of data and of turns among them, are taken one by one.
std::optional<std::vector<Value*>> fewPlaces(Trace& trace, Value* array, Value* index) {
  constexpr size_t kMostPlaces = 8;
  if (index->kind != ValueKind::kList || index->cls || trace.onDevice()) return std::nullopt;
  const std::vector<Value*>& items = index->items;
  if (items.empty() || items.size() > kMostPlaces || typeOf(trace, array->node).rank() == 0) return std::nullopt;
  if (!std::all_of(items.begin(), items.end(), [&](const Value* item) { return isPlace(trace, item); }))
    return std::nullopt;
  return items;
}

Value* rowsAt(Trace& trace, Value* array, const std::vector<Value*>& places) {
  refuseOrder(trace, array->node);
  Value* rows = trace.make(ValueKind::kList);
  for (Value* place : places) rows->items.push_back(getItem(trace, array, place));
  return trace.array(asArray(trace, rows));
}

/// The last one of equal places wins, as with NumPy.
void storeRows(Trace& trace, Value* array, const std::vector<Value*>& places, Value* value) {
  settled(trace, value);
  if (sequenceItems(trace, value)) value = trace.array(asArray(trace, value));
  if (value->kind != ValueKind::kArray && !isScalar(value)) unsupported("assignment of this object by indices");
  graph::SymContext& syms = trace.syms();
  bool each = false;  // gets a row of its own
  if (value->kind == ValueKind::kArray) {
    const ValueType type = typeOf(trace, value->node);
    const int rank = typeOf(trace, array->node).rank();
    if (type.rank() > rank) raises("shape mismatch: the value has more axes");
    each = type.rank() == rank;
    if (each && !sameSize(trace, type.shape[0], syms.constant(static_cast<int64_t>(places.size()))))
      unsupported("assignment by indices of rows that are fewer");
    // What is stored is what was there before.
    if (graph::alias(trace.graph(), array->node, value->node) != graph::Alias::kNone)
      value = trace.array(copyAs(trace, value->node, graph::Layout::c(type.rank())));
  }
  for (size_t i = 0; i < places.size(); ++i)
    setItem(trace, array, places[i],
            each ? getItem(trace, value, trace.pyInt(syms.constant(static_cast<int64_t>(i)))) : value);
}

}  // namespace

Value* gather(Trace& trace, Value* array, Value* index) {
  if (const auto places = fewPlaces(trace, array, index); places && !isIntList(trace, index))
    return rowsAt(trace, array, *places);
  std::vector<Value*> items{index};
  if (index->kind == ValueKind::kTuple) items = *sequenceItems(trace, index);
  for (Value* item : items) settled(trace, item);
  const auto isArray = [&](Value* item) {
    const bool array = item->kind == ValueKind::kArray;  // of a device's, also those of rank 0
    return (array && (typeOf(trace, item->node).rank() > 0 || trace.onDevice())) || isIntList(trace, item);
  };
  // A number that is computed from data picks an element; what it leaves of a matrix would be a view.
  const bool element = items.size() == 1 && index->kind == ValueKind::kArrayScalar &&
                       graph::isInteger(typeOf(trace, index->node).dtype) && typeOf(trace, array->node).rank() == 1;
  if (!element && std::none_of(items.begin(), items.end(), isArray)) return nullptr;
  if (Value* result = trace.onDevice() ? gatherOnDevice(trace, array, items) : nullptr) return result;
  return Gather(trace, array, std::move(items)).run();
}

namespace {

/// What is stored into is copied: that is worth it where much of it is stored, or where there is little of it. Calls of
/// which that is not so are other variants.
bool isWorthACopy(Trace& trace, SymId size, const std::vector<Value*>& items) {
  constexpr int64_t kSmall = 2048, kShare = 4;
  graph::SymContext& syms = trace.syms();
  const auto holds = [&](SymId most) {
    return trace.hint(size) <= trace.hint(most) && trace.tell(size, Relation::kLe, most) != false;
  };
  if (holds(syms.constant(kSmall))) return true;
  return std::any_of(items.begin(), items.end(), [&](Value* item) {
    if (item->kind != ValueKind::kArray) return false;
    const SymId count = elementCount(trace, shapeOf(trace, item->node));  // places, or the elements of a mask
    return !trace.decided.contains(count) && holds(syms.mul(syms.constant(kShare), count));
  });
}

}  // namespace

void assignThrough(Trace& trace, Value* array, Value* index, Value* value) {
  // CuPy changes the array where it stands: a copy of all of it would take longer than going on behind the statement.
  if (trace.onDevice()) unsupported("an assignment by indices or a mask on a device");
  graph::Graph& g = trace.graph();
  refuseOrder(trace, array->node);
  settled(trace, value);
  if (value->kind != ValueKind::kArray && !isScalar(value)) unsupported("assignment of this object by indices");
  const ValueId node = trace.operand(value).value;
  const ValueType type = g.type(array->node);
  const DType from = g.type(node).dtype;
  if (graph::isComplex(from) && !graph::isComplex(type.dtype))
    unsupported("assignment of complex values to a real array");
  if (value->kind == ValueKind::kArray && graph::alias(g, array->node, node) != graph::Alias::kNone)
    throw CaptureBreak(BreakReason::kUnsupportedWrite, "an array gets parts of its own by indices");
  LibraryNode what{.name = "ndarray.__setitem__",
                   .function = changing(operatorFunction("setitem")),
                   .positional = {trace.array(array->node), index, value}};
  what.quiet = graph::canCastSafely(from, type.dtype);
  const ValueId result = libraryNode(trace, std::move(what), [&](ValueId) {
    return std::vector{freshType(type.dtype, shapeOf(trace, array->node))};
  })[0];
  writeAll(trace, array, result);
}

bool mayShareMemory(Trace& trace, Value* first, Value* second) {
  return first->kind == ValueKind::kArray && second->kind == ValueKind::kArray &&
         graph::alias(trace.graph(), first->node, second->node) != graph::Alias::kNone;
}

bool arePlaces(Trace& trace, Value* array, Value* index) {
  if (trace.onDevice() || array->kind != ValueKind::kArray) return false;
  std::vector<Value*> items{index};
  if (index->kind == ValueKind::kTuple) items = index->items;
  const auto rank = static_cast<size_t>(typeOf(trace, array->node).rank());
  if (items.size() != rank || rank > 2) return false;
  const auto isArray = [&](Value* item) {
    if (item->kind != ValueKind::kArray || mayShareMemory(trace, array, item)) return false;
    const ValueType type = typeOf(trace, item->node);
    return type.rank() == 1 && graph::isInteger(type.dtype) && graph::isSigned(type.dtype);
  };
  const auto isNumber = [&](Value* item) { return DataInts::isWhole(item); };
  return std::any_of(items.begin(), items.end(), isArray) &&
         std::all_of(items.begin(), items.end(), [&](Value* item) { return isArray(item) || isNumber(item); });
}

bool scatter(Trace& trace, Value* array, Value* index, Value* value) {
  if (const auto places = fewPlaces(trace, array, index)) {
    storeRows(trace, array, *places, value);
    return true;
  }
  std::vector<Value*> items{index};
  if (index->kind == ValueKind::kTuple) items = *sequenceItems(trace, index);
  for (Value* item : items) settled(trace, item);
  const auto isArray = [&](Value* item) {
    return item->kind == ValueKind::kArray && typeOf(trace, item->node).rank() > 0;
  };
  if (std::none_of(items.begin(), items.end(), isArray)) return false;
  if (!isWorthACopy(trace, elementCount(trace, shapeOf(trace, array->node)), items))
    unsupported("assignment by indices to few elements of a large array");
  assignThrough(trace, array, index, value);
  return true;
}

namespace handlers {

/// Places of the true elements. Those of an array of several axes are the columns of one array.
Value* nonzero(Bound& a) {
  Trace& t = a.trace;
  const ValueId node = conditionOf(a, a.function == "np.where" ? "condition" : "a");
  const int rank = typeOf(t, node).rank();
  if (rank == 1) {
    const std::vector<ValueId> found = decidingCall(
        a, true, [&](ValueId call) { return std::vector{freshType(DType::kI64, {countOf(t, node, call)})}; });
    return t.tuple({t.array(found[0])});
  }
  LibraryNode what{.name = a.function, .function = columnsFunction(), .positional = {t.array(node)}};
  what.quiet = true;
  SymId count;
  const ValueId all = libraryNode(t, std::move(what), [&](ValueId call) {
    count = countOf(t, node, call);
    return std::vector{freshType(DType::kI64, {count, t.syms().constant(rank)})};
  })[0];
  graph::Graph& g = t.graph();
  const SymId zero = t.syms().constant(0), one = t.syms().constant(1);
  Value* owner = t.array(all);
  std::vector<Value*> columns;
  for (int axis = 0; axis < rank; ++axis) {
    const ValueId column = g.slice(all, {zero, t.syms().constant(axis)}, {one, one}, {count, one});
    columns.push_back(makeView(t, owner, g.squeeze(column, {1})));
  }
  return t.tuple(std::move(columns));
}

Value* flatnonzero(Bound& a) {
  const ValueId node = conditionOf(a, "a");
  const std::vector<ValueId> found = decidingCall(
      a, false, [&](ValueId call) { return std::vector{freshType(DType::kI64, {countOf(a.trace, node, call)})}; });
  return a.trace.array(found[0]);
}

Value* argwhere(Bound& a) {
  const ValueId node = conditionOf(a, "a");
  const int rank = typeOf(a.trace, node).rank();
  const std::vector<ValueId> found = decidingCall(a, false, [&](ValueId call) {
    ValueType type = freshType(DType::kI64, {countOf(a.trace, node, call), a.trace.syms().constant(rank)});
    type.layout = graph::Layout::f(2);  // a transpose
    return std::vector{std::move(type)};
  });
  return a.trace.array(found[0]);
}

/// The condition may be shorter than the axis.
Value* compress(Bound& a) {
  const ValueId condition = conditionOf(a, "condition"), node = conditionOf(a, "a");
  refuseOrder(a.trace, node);
  if (typeOf(a.trace, condition).rank() != 1) raises("condition must be a 1-d array");
  SymShape shape = shapeOf(a.trace, node);
  size_t axis = 0;
  if (absent(a["axis"]))
    shape = {elementCount(a.trace, shape)};
  else
    axis = static_cast<size_t>(axisArg(a.trace, a["axis"], static_cast<int>(shape.size())));
  const std::vector<ValueId> found = decidingCall(a, false, [&](ValueId call) {
    shape[axis] = countOf(a.trace, condition, call);
    return std::vector{freshType(typeOf(a.trace, node).dtype, shape)};
  });
  return a.trace.array(found[0]);
}

Value* extract(Bound& a) {
  const ValueId condition = conditionOf(a, "condition"), node = conditionOf(a, "arr");
  const std::vector<ValueId> found = decidingCall(a, false, [&](ValueId call) {
    return std::vector{freshType(typeOf(a.trace, node).dtype, {countOf(a.trace, condition, call)})};
  });
  return a.trace.array(found[0]);
}

/// The plain form, and the one with counts.
Value* unique(Bound& a) {
  const ValueId node = conditionOf(a, "ar");
  for (const char* name : {"return_index", "return_inverse"})
    if (!absent(a[name]) && flag(a[name], name)) a.refuse(name);
  if (!absent(a["equal_nan"]) && !a["equal_nan"]->isConstant()) a.refuse("equal_nan");
  const bool counts = !absent(a["return_counts"]) && flag(a["return_counts"], "return_counts");
  const std::vector<ValueId> found = decidingCall(a, counts, [&](ValueId call) {
    const SymId size = a.trace.decided.make(call);
    std::vector<ValueType> types = {freshType(typeOf(a.trace, node).dtype, {size})};
    if (counts) types.push_back(freshType(DType::kI64, {size}));
    return types;
  });
  if (!counts) return a.trace.array(found[0]);
  return a.trace.tuple({a.trace.array(found[0]), a.trace.array(found[1])});
}

Value* bincount(Bound& a) {
  const ValueId node = conditionOf(a, "x");
  const ValueType& type = typeOf(a.trace, node);
  if (type.rank() != 1) raises("object too deep for desired array");
  if (!graph::isInteger(type.dtype) || !graph::canCastSafely(type.dtype, DType::kI64)) a.refuse("x");
  const bool weighted = !absent(a["weights"]);
  if (weighted && graph::isComplex(typeOf(a.trace, conditionOf(a, "weights")).dtype)) a.refuse("complex weights");
  const std::vector<ValueId> found = decidingCall(a, false, [&](ValueId call) {
    return std::vector{freshType(weighted ? DType::kF64 : DType::kI64, {a.trace.decided.make(call)})};
  });
  return a.trace.array(found[0]);
}

/// A number of bins of one width: their sizes are known.
Value* histogram(Bound& a) {
  const ValueId node = conditionOf(a, "a");
  const DType type = typeOf(a.trace, node).dtype;
  if (type == DType::kF16 || type == DType::kBool || graph::isComplex(type)) a.refuse("this type");
  graph::SymContext& syms = a.trace.syms();
  SymId bins = syms.constant(10);
  if (Value* given = a["bins"]; given && !isNone(given)) {
    const bool number =
        given->kind == ValueKind::kPyInt || (given->isConstant() && PyLong_CheckExact(given->object.get()));
    if (!number) a.refuse("bins");
    bins = a.trace.asSym(given);
  }
  if (!isPositive(a.trace, bins)) raises("`bins` must be positive, when an integer");
  if (Value* range = a["range"]; range && !isNone(range)) {
    const auto ends = sequenceItems(a.trace, range);
    if (!ends || ends->size() != 2) a.refuse("range");
    for (Value* end : *ends) {
      const bool number =
          end->kind == ValueKind::kPyFloat || end->kind == ValueKind::kPyInt ||
          (end->isConstant() && (PyFloat_CheckExact(end->object.get()) || PyLong_CheckExact(end->object.get())));
      if (!number) a.refuse("range");
    }
  }
  const bool density = !absent(a["density"]) && flag(a["density"], "density");
  const DType edges = graph::isInexact(type) ? type : DType::kF64;
  const std::vector<ValueId> found = libraryCall(
      a, {freshType(density ? DType::kF64 : DType::kI64, {bins}), freshType(edges, {syms.add(bins, syms.constant(1))})},
      true);
  return a.trace.tuple({a.trace.array(found[0]), a.trace.array(found[1])});
}

}  // namespace handlers
}  // namespace fw::capture::numpy
