// Lists that keys stand for, each of a length of its own (pooled_list.h): what dict.setdefault(key, []) and a
// defaultdict(list) answer is the list of the entry, which is empty if there has been none. So it need not be known
// whether there has been one.
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/work_table.h"

namespace fw::capture {

bool WorkTable::holdsLists() const { return !isSet() && PooledList::isIn(table->items[kItems]->base); }

bool WorkTable::isOf(const Found& found, Value* list) const {
  const bool may = PooledList::is(table->items[kItems]->base) && PooledList::is(list) && !found.isEmpty;
  return may && PooledList{trace, list}.standsAt(found.entry, table->items[kItems]->items[LongList::kFirstPart]);
}

Value* WorkTable::listOrEmpty(const Found& found, Value* key, Value* empty) const {
  if (!found.isEmpty) {
    const PooledList own{trace, load(kItems, found.entry)}, other{trace, empty};
    std::vector<Value*> numbers;
    for (auto part : {PooledList::kLength, PooledList::kStart, PooledList::kRoom}) {
      Value *is = own.number(part), *made = other.number(part);
      const graph::ValueId node = numpy::ufuncNode(trace, graph::Op::kWhere, {found.isThere, is->node, made->node});
      numbers.push_back(DataInts{trace}.make(node, is->range));
    }
    empty = other.with(numbers);
  }
  put(found, key, empty);
  return empty;
}

Value* WorkTable::madeList(const Found& found, Value* key) const {
  const Value* form = table->items[kItems]->base;
  if (!table->base || !PooledList::is(form)) return nullptr;
  if (table->base->object.get() != reinterpret_cast<PyObject*>(&PyList_Type)) refuse("a factory of lists");
  return listOrEmpty(found, key, PooledList::make(trace, form->site));
}

Value* WorkTable::listOrDefault(const Found& found, Value* key, Value* otherwise) const {
  const Value* form = table->items[kItems]->base;
  if (!PooledList::is(form)) return nullptr;
  PooledList::makeAlike(trace, form, otherwise);
  const PooledList list{trace, otherwise};
  const bool isNew = PooledList::fits(form, otherwise) && !list.isItem() && list.isNew();
  if (!isNew) refuse("such a default");
  Value* answer = listOrEmpty(found, key, otherwise);
  if (answer != otherwise) {
    trace.noteChange(otherwise);
    trace.branches.forget(otherwise, "a list may be the one that a dict has got");
  }
  return answer;
}

}  // namespace fw::capture
