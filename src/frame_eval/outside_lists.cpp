// Lists of the caller's that are longer than what is read item by item, or of which turns of a loop ask for items by an
// index: lists of floats, of ints, and of as many such lists of one length. The call copies their numbers into an array
// of the graph (bindings/list_items.h); what it finds to be of another kind then is Python's. Items that the trace has
// set are set in the caller's list at the end.
#include <algorithm>

#include "cpython/objects.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"

namespace fw::capture {

using graph::DType;
using graph::SymId;
using guards::GuardKind;
using guards::Relation;
using guards::SourceKind;

namespace {

/// Items of lists, and of lists in them, by the class of the first.
struct Numbers {
  DType dtype = DType::kF64;
  bool nested = false;
};

bool isNumber(PyObject* item, DType dtype) {
  if (dtype == DType::kF64) return PyFloat_CheckExact(item);
  int64_t value = 0;
  return PyLong_CheckExact(item) && cpython::asInt64(item, &value) && std::abs(value) <= kMostDataInt;
}

std::optional<Numbers> numbersOf(PyObject* list) {
  if (!PyList_CheckExact(list) || PyList_GET_SIZE(list) == 0) return std::nullopt;
  PyObject* first = PyList_GET_ITEM(list, 0);
  Numbers numbers;
  numbers.nested = PyList_CheckExact(first);
  if (numbers.nested && PyList_GET_SIZE(first) == 0) return std::nullopt;
  if (!PyFloat_CheckExact(numbers.nested ? PyList_GET_ITEM(first, 0) : first)) numbers.dtype = DType::kI64;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!numbers.nested && !isNumber(item, numbers.dtype)) return std::nullopt;
    if (!numbers.nested) continue;
    if (!PyList_CheckExact(item) || PyList_GET_SIZE(item) != PyList_GET_SIZE(first)) return std::nullopt;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(item); ++k)
      if (!isNumber(PyList_GET_ITEM(item, k), numbers.dtype)) return std::nullopt;
  }
  return numbers;
}

}  // namespace

Value* LongList::ofOutside(Trace& trace, const Value* list) {
  PyObject* object = list->object.get();
  const auto numbers = standsOutside(trace, list) ? numbersOf(object) : std::nullopt;
  if (!numbers) return nullptr;
  const auto length = [&](guards::SourceId source, PyObject* of, SymId known) {
    trace.guard({.kind = GuardKind::kType,
                 .source = source,
                 .object = cpython::Ref::create(reinterpret_cast<PyObject*>(&PyList_Type))});
    const SymId size = known.valid() ? known : trace.lengthOf(source, PyList_GET_SIZE(of));
    (void)trace.decide(trace.syms().constant(0), Relation::kLt, size);
    return size;
  };
  graph::SymShape shape{length(list->source, object, list->sym)};
  guards::SourceId source = trace.sources().intern(SourceKind::kItem, list->source, 0);
  PyObject* first = PyList_GET_ITEM(object, 0);
  if (numbers->nested) {
    shape.push_back(length(source, first, {}));
    source = trace.sources().intern(SourceKind::kItem, source, 0);
    first = PyList_GET_ITEM(first, 0);
  }
  // Tells most lists of other things apart before anything is copied.
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(first));
  trace.guard({.kind = GuardKind::kType, .source = source, .object = cpython::Ref::create(type)});
  const auto layout = graph::Layout::c(static_cast<int>(shape.size()));
  const bool ints = numbers->dtype == DType::kI64;
  Value* array = trace.array(
      trace.addInput(ints ? guards::InputBinding::From::kListOfInts : guards::InputBinding::From::kListOfFloats,
                     list->source, {numbers->dtype, shape, layout, {}}));
  array->outside = true;
  trace.writtenArrays.emplace_back(array, array->node);
  Value* form = trace.make(ints ? ValueKind::kDataInt : ValueKind::kPyFloat);
  form->node = trace.graph().constant(graph::Scalar::zero(numbers->dtype));
  if (numbers->nested) {
    Value* leaf = trace.make(ValueKind::kArray);
    leaf->node = trace.graph().full(form->node, {shape[1]});
    form = full(trace, form, trace.pyInt(shape[1]), {leaf}, {});
  }
  return full(trace, form, trace.pyInt(shape[0]), {array}, {});
}

void LongList::standOutside(Trace& trace, const Value* list) {
  const bool may = trace.loops && !trace.keepsWrites && !trace.onDevice() && list->source.valid() && list->object;
  if (!may || standsOutside(trace, list) || !numbersOf(list->object.get())) return;
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
    nested |= isLongList(value.base);
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
