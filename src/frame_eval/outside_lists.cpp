// Lists of the caller's that are longer than what is read item by item, or of which turns of a loop ask for items by an
// index: lists of floats, of ints, of tuples of those, and of such lists, of one length or of any (pooled_list.h). The
// call copies their numbers into arrays of the graph (bindings/list_items.h); what it finds to be of another kind then
// is Python's. Items that the trace has set, numbers of lists of one length, are set in the caller's list at the end.
#include <algorithm>

#include "cpython/objects.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"

namespace fw::capture {

using graph::DType;
using graph::SymId;
using guards::GuardKind;
using guards::Relation;
using guards::SourceKind;

namespace {

using guards::InputBinding;

/// What a list holds: numbers, or tuples of as many; or lists of those, each of one length or of any.
struct Held {
  std::vector<DType> columns;  ///< none: nothing is known
  int width = 0;               ///< of tuples; 0: numbers
  bool nested = false, pooled = false;
  int64_t total = 0;  ///< in all lists
};

/// Room for as many items as lists of any length have, and more: what is not used of it costs nothing.
constexpr int64_t kLeastRoom = int64_t{1} << 20, kSpare = 4;

bool isNumber(PyObject* item, DType dtype) {
  if (dtype == DType::kF64) return PyFloat_CheckExact(item);
  int64_t value = 0;
  return PyLong_CheckExact(item) && cpython::asInt64(item, &value) && std::abs(value) <= kMostDataInt;
}

/// Adds the items of a list to what is known; false if they are of another kind.
bool addItems(PyObject* list, Held& held) {
  const Py_ssize_t count = PyList_GET_SIZE(list);
  held.total += count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    const bool tuple = PyTuple_CheckExact(item);
    const Py_ssize_t width = tuple ? PyTuple_GET_SIZE(item) : 0;
    const auto part = [&](Py_ssize_t column) { return tuple ? PyTuple_GET_ITEM(item, column) : item; };
    if (tuple && width == 0) return false;
    if (held.columns.empty()) {
      held.width = static_cast<int>(width);
      for (Py_ssize_t column = 0; column < std::max<Py_ssize_t>(1, width); ++column)
        held.columns.push_back(PyFloat_CheckExact(part(column)) ? DType::kF64 : DType::kI64);
    }
    if (width != held.width) return false;
    for (size_t column = 0; column < held.columns.size(); ++column)
      if (!isNumber(part(static_cast<Py_ssize_t>(column)), held.columns[column])) return false;
  }
  return true;
}

std::optional<Held> heldBy(PyObject* list) {
  if (!PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0) return std::nullopt;
  Held held;
  PyObject* first = PyList_GET_ITEM(list, 0);
  held.nested = PyList_CheckExact(first);
  if (!held.nested) return addItems(list, held) ? std::optional(held) : std::nullopt;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!PyList_CheckExact(item) || !addItems(item, held)) return std::nullopt;
    held.pooled |= PyList_GET_SIZE(item) != PyList_GET_SIZE(first);
  }
  held.pooled |= held.width > 0;
  return held.columns.empty() ? std::nullopt : std::optional(held);
}

}  // namespace

/// What has been found out about a list of the caller's, as a list of the trace.
struct OutsideList {
  Trace& trace;
  const Value* list;
  const Held& held;

  SymId length(guards::SourceId source, PyObject* of, SymId known) const {
    requireType(source, reinterpret_cast<PyObject*>(&PyList_Type));
    return known.valid() ? known : trace.lengthOf(source, PyList_GET_SIZE(of));
  }

  void requireType(guards::SourceId source, PyObject* type) const {
    trace.guard({.kind = GuardKind::kType, .source = source, .object = cpython::Ref::create(type)});
  }

  Value* input(InputBinding::From from, DType dtype, graph::SymShape shape, int column, int64_t room) const {
    const auto layout = graph::Layout::c(static_cast<int>(shape.size()));
    Value* array = trace.array(trace.addInput(from, list->source, {dtype, std::move(shape), layout, {}}));
    InputBinding& binding = trace.guardSet().inputs.back();
    binding.width = held.width;
    binding.column = column;
    binding.room = room;
    array->outside = true;
    trace.writtenArrays.emplace_back(array, array->node);
    return array;
  }

  /// What the items stand in, one array for each column.
  std::vector<Value*> columns(const graph::SymShape& shape, int64_t room) const {
    std::vector<Value*> arrays;
    for (size_t column = 0; column < held.columns.size(); ++column) {
      const DType dtype = held.columns[column];
      const auto from = dtype == DType::kI64 ? InputBinding::From::kListOfInts : InputBinding::From::kListOfFloats;
      arrays.push_back(input(from, dtype, shape, static_cast<int>(column), room));
    }
    return arrays;
  }

  Value* form() const {
    std::vector<Value*> forms;
    for (const DType dtype : held.columns) {
      const ValueKind kind = dtype == DType::kI64 ? ValueKind::kDataInt : ValueKind::kPyFloat;
      forms.push_back(trace.number(kind, trace.graph().constant(graph::Scalar::zero(dtype))));
    }
    return held.width > 0 ? trace.tuple(std::move(forms)) : forms[0];
  }

  /// The lists of any lengths: a pool that nobody changes.
  std::pair<Value*, std::vector<Value*>> pooled(SymId count) const {
    int64_t room = kLeastRoom;
    while (room < kSpare * held.total) room *= 2;
    const SymId size = trace.syms().constant(room);
    Value* all = LongList::full(trace, form(), trace.pyInt(size), columns({size}, room), {});
    all->position = LongList::kWorked;
    const PooledList::Site site{list->object.get(), 0};
    trace.pools.bySite.insert_or_assign(site, ListPool{all, nullptr, true});
    Value* lengths = input(InputBinding::From::kListLengths, DType::kI64, {count}, 0, room);
    Value* starts = input(InputBinding::From::kListStarts, DType::kI64, {count}, 0, room);
    return {PooledList::formOf(trace, site), {lengths, starts, lengths}};
  }
};

Value* LongList::ofOutside(Trace& trace, const Value* list) {
  PyObject* object = list->object.get();
  const auto held = standsOutside(trace, list) ? heldBy(object) : std::nullopt;
  if (!held) return nullptr;
  const OutsideList outside{trace, list, *held};
  const SymId count = outside.length(list->source, object, list->sym), zero = trace.syms().constant(0);
  (void)trace.decide(zero, Relation::kLt, count);
  PyObject* first = PyList_GET_ITEM(object, 0);
  guards::SourceId source = trace.sources().intern(SourceKind::kItem, list->source, 0);
  // Tells most lists of other things apart before anything is copied.
  const auto requireFirst = [&](PyObject* of) {
    if (PyList_GET_SIZE(of) == 0) return;
    PyObject* item = PyList_GET_ITEM(of, 0);
    const guards::SourceId at = of == object ? source : trace.sources().intern(SourceKind::kItem, source, 0);
    outside.requireType(at, reinterpret_cast<PyObject*>(Py_TYPE(item)));
  };
  if (held->pooled) {
    outside.requireType(source, reinterpret_cast<PyObject*>(&PyList_Type));
    requireFirst(first);
    const auto [form, numbers] = outside.pooled(count);
    return full(trace, form, trace.pyInt(count), numbers, {});
  }
  graph::SymShape shape{count};
  if (held->nested) {
    shape.push_back(outside.length(source, first, {}));
    (void)trace.decide(zero, Relation::kLt, shape[1]);
  }
  requireFirst(held->nested ? first : object);
  const std::vector<Value*> arrays = outside.columns(shape, 0);
  Value* form = outside.form();
  if (held->nested) {
    Value* leaf = trace.make(ValueKind::kArray);
    leaf->node = trace.graph().full(form->node, {shape[1]});
    form = full(trace, form, trace.pyInt(shape[1]), {leaf}, {});
  }
  return full(trace, form, trace.pyInt(count), arrays, {});
}

void LongList::standOutside(Trace& trace, const Value* list) {
  const bool may = trace.loops && !trace.keepsWrites && !trace.onDevice() && list->source.valid() && list->object;
  if (!may || standsOutside(trace, list) || !heldBy(list->object.get())) return;
  trace.loops->outside.insert(list->object.get());
  throw LoopsDecided{};  // from the beginning: a list in it is no Value of its own then
}

void LongList::findOutside(Trace& trace, const Value* list, const Value* index) {
  if (isOfTheTurn(trace, index)) standOutside(trace, list);
}

Value* LongList::ownerOf(Value* array) { return array->base ? array->base : array; }

bool LongList::isOutside() const { return list->source.valid() || (!isCounted() && ownerOf(arrays()[0])->outside); }

/// The items of lists in a list are no Values of their own: nothing says which of them are the same list as another one
/// that the trace knows. Among those that are copied, the call finds that out.
void LongList::finishWrites(Trace& trace) {
  std::vector<Value*> written;
  bool nested = false, others = false;  // others: that have been looked at
  for (Value& value : trace.values()) {
    if (!value.source.valid() || !value.object || !PyList_CheckExact(value.object.get())) continue;
    if (!isLongList(&value)) {
      others |= value.kind != ValueKind::kObject || value.typed || value.written;
      continue;
    }
    nested |= isLongList(value.base) || PooledList::is(value.base);
    if (trace.graph().node(value.items[kFirstPart]->node).op != graph::Op::kInput) written.push_back(&value);
  }
  const std::vector<SideEffect>& effects = trace.effects();
  const bool changes = std::any_of(effects.begin(), effects.end(), [](const SideEffect& effect) {
    return effect.target->object && PyList_CheckExact(effect.target->object.get());
  });
  if (nested && (changes || (!written.empty() && others)))
    trace.fail(BreakReason::kUnsupportedWrite, "a list is written, and there are lists in a list that may be the same");
  for (Value* list : written) {
    Value* array = trace.array(list->items[kFirstPart]->node);
    trace.effectNumbers(list, full(trace, list->base, list->items[0], {array}, {}));
    for (guards::InputBinding& input : trace.guardSet().inputs)
      if (input.source == list->source && guards::isList(input.from)) input.written = true;
  }
}

}  // namespace fw::capture
