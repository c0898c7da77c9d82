// What an item of a list that stands in arrays is like: a number, an array, a tuple of those, or a list of numbers
// whose length does not change (a row). Its leaves are the numbers and arrays that it consists of; a number that may be
// of several classes is two, and a row is the arrays that its own numbers stand in.
#include <algorithm>
#include <utility>

#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/nesting.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/pooled_list.h"

namespace fw::capture {

using graph::DType;
using graph::SymId;

std::vector<Value*> LongList::leavesOf(Value* form) {
  if (form->kind == ValueKind::kTuple) {
    std::vector<Value*> leaves;
    for (Value* item : form->items)
      for (Value* leaf : leavesOf(item)) leaves.push_back(leaf);
    return leaves;
  }
  if (isLongList(form)) return {form->items.begin() + kFirstPart, form->items.end()};
  if (PooledList::is(form)) return PooledList::leavesOf(form);
  if (form->which) return {form, form->which};
  return {form};
}

DType LongList::typeOf(Trace& trace, const Value* leaf) { return trace.graph().type(leaf->node).dtype; }

/// The form of all of them; null if there is none.
Value* LongList::formOf(Trace& trace, const std::vector<Value*>& items) {
  const LongList any{trace, nullptr};
  Value* form = items.empty() ? nullptr : formOf(trace, items[0]);
  const auto fits = [&](Value* item) { return any.fits(form, item); };
  if (!form || std::all_of(items.begin(), items.end(), fits)) return form;
  if (PooledList::is(form) || PooledList::is(items.back())) {
    for (const Value* item : items) PooledList::makeAlike(trace, form, item);
    return nullptr;
  }
  if (isLongList(form)) {
    for (const Value* item : items) makeAlike(trace, form, item);
    return nullptr;
  }
  if (form->kind == ValueKind::kTuple) {
    std::vector<std::vector<Value*>> columns(form->items.size());
    for (Value* item : items) {
      const auto row = tupleItems(trace, item);
      if (!row || row->size() != columns.size()) return nullptr;
      for (size_t i = 0; i < columns.size(); ++i) columns[i].push_back((*row)[i]);
    }
    std::vector<Value*> forms;
    for (const std::vector<Value*>& column : columns) {
      forms.push_back(formOf(trace, column));
      if (!forms.back()) return nullptr;
    }
    return trace.tuple(std::move(forms));
  }
  if (Choices::is(form)) return nullptr;
  MixedNumbers numbers{trace};
  for (DType dtype : {DType::kF64, DType::kI64}) {
    if (!std::all_of(items.begin(), items.end(), [&](Value* item) { return numbers.canBe(item, dtype); })) continue;
    MixedNumbers::Class least = MixedNumbers::kNumpy;
    for (Value* item : items) least = std::min(least, numbers.leastClass(item));
    return mixedForm(trace, dtype, least);
  }
  return nullptr;
}

Value* LongList::formOf(Trace& trace, Value* item) {
  const Nesting nesting(trace);
  if (Choices::is(item)) return Choices::payloadOf(item) ? nullptr : Choices{trace}.form(item);
  trace.open(item);
  if (Choices::isName(item)) return Choices{trace}.form(item);
  if (item->source.valid() && !item->isNumeric() && !item->isConstant() && !tupleItems(trace, item)) return nullptr;
  if (PooledList::is(item)) return PooledList::formOf(trace, item);
  if (item->kind == ValueKind::kList) {
    if (item->items.empty() || PooledList::mayBeRecord(trace, item)) PooledList::require(trace, item);
    standInArrays(trace, item);
  }
  if (isLongList(item)) {
    Value* row = LongList{trace, item}.rowForm();
    if (!row) PooledList::require(trace, item);
    return row;
  }
  if (const auto items = tupleItems(trace, item)) {
    std::vector<Value*> forms;
    for (Value* part : *items) {
      forms.push_back(formOf(trace, part));
      if (!forms.back()) return nullptr;
    }
    return forms.empty() ? nullptr : trace.tuple(std::move(forms));
  }
  if (MixedNumbers::is(item)) return mixedForm(trace, typeOf(trace, item), MixedNumbers{trace}.leastClass(item));
  if (DataInts::isWhole(item)) {
    Value* form = trace.make(ValueKind::kDataInt);
    form->node = trace.graph().constant(graph::Scalar::ofInt(DType::kI64, 0));
    return form;
  }
  const bool array = item->kind == ValueKind::kArray;
  const ValueKind kind = array ? ValueKind::kArray : numberKind(item);
  if (kind == ValueKind::kNull || (kind == ValueKind::kPyBool && item->joined)) return nullptr;
  Value* form = trace.make(kind);
  form->node = array ? item->node : trace.operand(item).value;
  if (!array) return form;
  const graph::ValueType& type = trace.graph().type(item->node);
  const auto late = [&](SymId size) { return isLate(trace, size); };
  const bool fixed = std::none_of(type.shape.begin(), type.shape.end(), late);
  return fixed && type.rank() > 0 && type.layout.isCOrder() ? form : nullptr;
}

/// The turn or array data decides about it: items may differ.
bool LongList::isLate(Trace& trace, SymId size) { return trace.turns.contains(size) || trace.decided.contains(size); }

/// Of a list that is an item of another; null if it may change its length, or has another one in each turn.
Value* LongList::rowForm() const {
  if (!isFull() || isLate(trace, trace.asSym(length()))) return nullptr;
  std::vector<Value*> leaves;
  for (const Value* array : arrays()) {
    leaves.push_back(trace.make(ValueKind::kArray));
    leaves.back()->node = array->node;
  }
  return full(trace, list->base, list->items[0], leaves, list->site);
}

void LongList::makeAlike(Trace& trace, const Value* list, const Value* other) {
  if (!isLongList(list) || !isLongList(other)) return;
  if (isLongList(list->base)) return makeAlike(trace, list->base, other->base);
  const auto wider = widened(trace, list->base, other->base);
  if (!wider) return;
  const bool first = widen(trace, list, *wider), second = widen(trace, other, *wider);
  if (first || second) throw LoopsDecided{};
}

bool LongList::fits(Value* form, Value* item) const {
  if (isLongList(form)) {
    const LongList row{trace, item};
    return formOf(trace, item) && isLongList(item) &&
           numpy::sameSize(trace, trace.asSym(form->items[0]), trace.asSym(row.length())) &&
           areAlike(trace, form->base, item->base);
  }
  if (form->kind == ValueKind::kTuple) {
    const auto items = tupleItems(trace, item);
    if (!items || items->size() != form->items.size()) return false;
    for (size_t i = 0; i < items->size(); ++i)
      if (!fits(form->items[i], (*items)[i])) return false;
    return true;
  }
  if (PooledList::is(form)) return PooledList::fits(form, item);
  if (Choices::is(form)) return Choices{trace}.mayHold(form, item);
  if (Choices::is(item)) return false;
  if (MixedNumbers::is(form)) {
    MixedNumbers numbers{trace};
    const bool isChecked = trace.open(item)->kind == ValueKind::kDataInt;  // where it is stored
    return (isChecked || numbers.canBe(item, typeOf(trace, form))) &&
           numbers.leastClass(item) >= numbers.leastClass(form);
  }
  // Or None, which is looked at where it is stored.
  const bool isSingle =
      form->kind == ValueKind::kDataInt || form->kind == ValueKind::kPyFloat || form->kind == ValueKind::kArrayScalar;
  if (isSingle && MixedNumbers::mayBeNone(item) && item->which->range.hi == MixedNumbers{trace}.leastClass(form))
    return trace.graph().type(item->node).dtype == typeOf(trace, form);
  Value* own = formOf(trace, item);
  if (!own || MixedNumbers::is(own) || own->kind != form->kind || typeOf(trace, own) != typeOf(trace, form))
    return false;
  if (own->kind != ValueKind::kArray) return true;
  const graph::SymShape a = numpy::shapeOf(trace, own->node), b = numpy::shapeOf(trace, form->node);
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!numpy::sameSize(trace, a[i], b[i])) return false;
  return true;
}

bool LongList::holdsArrays() const {
  const std::vector<Value*> leaves = leavesOf(list->base);
  return std::any_of(leaves.begin(), leaves.end(), [](const Value* v) { return v->kind == ValueKind::kArray; });
}

}  // namespace fw::capture
