// Lists of numbers that a function makes whole - [0] * n, list(range(n)) - and those that short loops fill: they are
// lists of the trace, item by item, until somebody finds that turns of a loop ask for an item by an index. From then on
// what their instruction makes stands in arrays (LoopDecisions::lists).
#include <algorithm>
#include <array>
#include <utility>

#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/pooled_list.h"

namespace fw::capture {

using graph::DType;
using graph::SymId;
using graph::ValueId;

Value* LongList::mixedForm(Trace& trace, DType dtype, MixedNumbers::Class least) {
  graph::Graph& g = trace.graph();
  Value* form = trace.make(ValueKind::kArrayScalar);
  form->node = g.constant(graph::Scalar::zero(dtype));
  form->which = DataInts{trace}.make(g.constant(graph::Scalar::ofInt(DType::kI64, 0)), {least, MixedNumbers::kNumpy});
  return form;
}

/// A list that is full of the items in the arrays, one for each leaf of the form.
Value* LongList::full(Trace& trace, Value* form, Value* length, const std::vector<Value*>& arrays, Site site) {
  Value* list = trace.list({length, length});
  list->kind = ValueKind::kLongList;
  list->base = form;
  list->position = kClosed;
  list->site = site;
  list->items.insert(list->items.end(), arrays.begin(), arrays.end());
  return list;
}

/// The same of nodes, if it is not too long.
Value* LongList::of(Trace& trace, Value* form, const std::vector<ValueId>& nodes, SymId count, Site site) {
  std::vector<Value*> arrays;
  int64_t bytes = 0;  // of an item; the list that leaves has a pointer to each number
  for (ValueId node : nodes) {
    arrays.push_back(trace.array(node));
    bytes += std::max<int64_t>(graph::itemSize(trace.graph().type(node).dtype), sizeof(PyObject*));
  }
  Value* list = full(trace, form, trace.pyInt(count), arrays, site);
  LongList{trace, list}.requireWorth(trace.syms().mul(count, trace.syms().constant(bytes)));
  return list;
}

Value* LongList::filled(Trace& trace, Value* item, SymId count, Site site) {
  const LoopDecisions::NumberList known = trace.loops->lists.at(site);
  MixedNumbers numbers{trace};
  Value* form = formOf(trace, item);
  if (!form || !isNumber(form)) return nullptr;
  if (!numpy::isPositive(trace, count)) return nullptr;
  if (known.mixes) {
    if (!numbers.canBe(item, *known.mixes)) return nullptr;
    form = mixedForm(trace, *known.mixes,
                     std::min(static_cast<MixedNumbers::Class>(known.least), numbers.leastClass(item)));
  }
  graph::Graph& g = trace.graph();
  const auto full = [&](ValueId number) { return g.full(number, {count}); };
  const ValueId number =
      form->which ? numbers.handOn(item, trace.graph().type(form->node).dtype) : trace.operand(item).value;
  std::vector<ValueId> arrays{full(g.cast(number, trace.graph().type(form->node).dtype))};
  if (form->which) arrays.push_back(full(numbers.classOf(item)->node));
  return of(trace, form, arrays, count, site);
}

Value* LongList::ofArray(Trace& trace, ValueId array) {
  graph::Graph& g = trace.graph();
  const DType dtype = g.type(array).dtype;
  const size_t rank = g.type(array).rank();
  const bool known = (rank == 1 || rank == 2) && !graph::isComplex(dtype) && dtype != DType::kU64;
  if (!known) return nullptr;
  const SymId count = trace.syms().canonical(g.type(array).shape[0]);
  const bool whole = graph::isInteger(dtype);
  if (dtype == DType::kI64) {
    const auto bound = [&](int64_t v) { return g.constant(graph::Scalar::ofInt(DType::kI64, v)); };
    const ValueId above = g.binary(graph::Op::kLessEqual, bound(-kMostDataInt), array);
    const ValueId below = g.binary(graph::Op::kLessEqual, array, bound(kMostDataInt));
    const graph::IntList all = rank == 1 ? graph::IntList{0} : graph::IntList{0, 1};
    DataInts{trace}.require(g.reduce(graph::Op::kAll, g.binary(graph::Op::kLogicalAnd, above, below), all, false));
  }
  const DType own = whole ? DType::kI64 : dtype == DType::kBool ? DType::kBool : DType::kF64;
  const ValueKind kind = whole ? ValueKind::kDataInt : own == DType::kBool ? ValueKind::kPyBool : ValueKind::kPyFloat;
  const ValueId zero = g.constant(graph::Scalar::zero(own));
  Value* form = trace.number(kind, zero);
  if (rank == 2) {  // lists of one length
    const SymId size = trace.syms().canonical(g.type(array).shape[1]);
    form = of(trace, form, {g.full(zero, {size})}, size, {});
  }
  return of(trace, form, {numpy::copyAs(trace, g.cast(array, own), graph::Layout::c(rank))}, count, {});
}

Value* LongList::ofRange(Trace& trace, Value* range, Site site) {
  const LoopDecisions::NumberList known = trace.loops->lists.at(site);
  const bool symbolic = range->kind == ValueKind::kRange && !range->opened;
  const bool constant = range->isConstant() && PyRange_Check(range->object.get());
  if (!symbolic && !constant) return nullptr;
  graph::SymContext& syms = trace.syms();
  graph::Graph& g = trace.graph();
  SymId first, step, count;
  if (symbolic) {
    first = trace.asSym(range->items[0]), step = trace.asSym(range->items[2]), count = syms.canonical(range->sym);
  } else {
    const auto part = [&](const char* name) -> std::optional<SymId> {
      const Ref number = cpython::checked(PyObject_GetAttrString(range->object.get(), name));
      int overflow = 0;
      const int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
      return overflow || std::abs(value) > kMostDataInt ? std::nullopt : std::optional(syms.constant(value));
    };
    const auto from = part("start"), to = part("stop"), by = part("step");
    if (!from || !to || !by) return nullptr;
    first = *from, step = *by, count = syms.constant(PyObject_Size(range->object.get()));
  }
  if (!numpy::isPositive(trace, count)) return nullptr;
  ValueId numbers = g.addTyped(graph::Op::kIota, {}, {DType::kI64, {count}, graph::Layout::c(1), {}});
  if (!syms.isConst(step, 1)) numbers = g.binary(graph::Op::kMultiply, numbers, g.sym(step));
  if (!syms.isConst(first, 0)) numbers = g.binary(graph::Op::kAdd, numbers, g.sym(first));
  if (!known.mixes) return of(trace, formOf(trace, trace.pyInt(first)), {numbers}, count, site);
  constexpr int64_t kSmall = int64_t{1} << 24;  // times the greatest count: still exact in f64
  if (!trace.ensureWithin(first, -kSmall, kSmall) || !trace.ensureWithin(step, -kSmall, kSmall)) return nullptr;
  const auto least = std::min(static_cast<MixedNumbers::Class>(known.least), MixedNumbers::kInt);
  const ValueId classes = g.full(g.constant(graph::Scalar::ofInt(DType::kI64, MixedNumbers::kInt)), {count});
  return of(trace, mixedForm(trace, *known.mixes, least), {g.cast(numbers, *known.mixes), classes}, count, site);
}

/// It says another item in each turn.
bool LongList::isOfTheTurn(Trace& trace, const Value* index) {
  const bool known = index->isConstant() || (index->kind == ValueKind::kPyInt && !trace.turns.contains(index->sym));
  return !known && isPlace(trace, index);
}

void LongList::findIndexed(Trace& trace, const Value* list, const Value* index) {
  // Of a few numbers that are written out, one is chosen (chosen_item.h).
  const bool chosen = list->opened && std::all_of(list->items.begin(), list->items.end(), [](const Value* item) {
                        return item->kind != ValueKind::kList && !PooledList::is(item);
                      });
  if (!chosen && isOfTheTurn(trace, index)) standInArrays(trace, list);
}

void LongList::standInArrays(Trace& trace, const Value* list, bool written) {
  if (written) standOutside(trace, list);
  if (list->opened && !written && list->kind == ValueKind::kList) return;
  if (!list->site.first || list->kind != ValueKind::kList || trace.loops->lists.contains(list->site)) return;
  const Value* form = formOf(trace, list->items);
  if (!mayStand(form)) return;
  trace.loops->lists.try_emplace(list->site);
  throw LoopsDecided{};
}

Value* LongList::ofItems(Trace& trace, const Value* list) {
  if (!isIndexed(trace, list)) return nullptr;
  Value* form = formOf(trace, list->items);
  Value* made = mayStand(form) ? closed(trace, formFor(trace, list, form), list->items) : nullptr;
  if (made) made->site = list->site;
  return made;
}

Value* LongList::joined(Trace& trace, Value* left, Value* right, Site site) {
  std::array<Value*, 2> both{left, right};
  for (Value*& list : both) {
    if (isLongList(list)) continue;
    if (list->items.size() > 1) standInArrays(trace, list);
    Value* form = formOf(trace, list->items);
    if (!form || !isNumber(form)) return nullptr;
    list = closed(trace, form, list->items);
    if (!list) return nullptr;
  }
  const LongList first{trace, both[0]}, second{trace, both[1]};
  if (!first.isKnown() || !second.isKnown()) return nullptr;
  const auto known = trace.loops->lists.find(site);
  const auto mixes = known == trace.loops->lists.end() ? std::nullopt : known->second.mixes;
  Value* form = both[0]->base;
  if (mixes) {
    MixedNumbers numbers{trace};
    int64_t least = known->second.least;
    for (const Value* list : both) {
      if (!numbers.canBe(list->base, *mixes)) return nullptr;
      least = std::min<int64_t>(least, numbers.leastClass(list->base));
    }
    form = mixedForm(trace, *mixes, static_cast<MixedNumbers::Class>(least));
  } else if (!areAlike(trace, form, both[1]->base)) {
    return nullptr;
  }
  graph::Attrs attrs;
  attrs.set(graph::AttrKey::kAxis, int64_t{0});
  std::vector<ValueId> arrays;
  for (size_t i = 0; i < (form->which ? 2 : 1); ++i) {
    const std::vector<ValueId> parts{first.partOf(i, form), second.partOf(i, form)};
    arrays.push_back(numpy::orBreak(trace.graph().add(graph::Op::kConcatenate, parts, attrs)));
  }
  graph::SymContext& syms = trace.syms();
  const SymId count = syms.canonical(syms.add(trace.asSym(first.length()), trace.asSym(second.length())));
  return of(trace, form, arrays, count, site);
}

/// Its numbers, or the classes of those, as a list of the form has them.
ValueId LongList::partOf(size_t number, const Value* form) const {
  graph::Graph& g = trace.graph();
  if (number == 0) return g.cast(part(0), g.type(form->node).dtype);
  if (list->base->which) return part(1);
  const int64_t least = MixedNumbers{trace}.leastClass(list->base);
  return g.full(g.constant(graph::Scalar::ofInt(DType::kI64, least)), {trace.asSym(length())});
}

/// A list of numbers of which it is known how many there are.
std::vector<Value*> LongList::entries(Value* length) const {
  DataInts ints{trace};
  const SymId size = ints.symbol(ints.of(length), trace.syms().constant(0), room());
  std::vector<Value*> own;
  for (const Value* array : arrays())
    own.push_back(trace.array(numpy::copyAs(trace, firstOf(array->node, size), graph::Layout::c(1))));
  return own;
}

bool LongList::isKnown() const { return !isCounted() && isNumber(list->base) && length()->kind != ValueKind::kDataInt; }

Value* LongList::copied(Trace& trace, Value* list, Site site) {
  if (list->kind == ValueKind::kList && site.first && trace.loops->lists.contains(site)) standInArrays(trace, list);
  const LongList known{trace, list};
  return isLongList(list) && known.isKnown() ? known.copy(site) : nullptr;
}

Value* LongList::copy(Site site) const {
  const SymId count = trace.syms().canonical(trace.asSym(length()));
  std::vector<ValueId> arrays;
  for (size_t i = 0; i < this->arrays().size(); ++i)
    arrays.push_back(numpy::copyAs(trace, part(i), graph::Layout::c(1)));
  return of(trace, list->base, arrays, count, site);
}

std::optional<LoopDecisions::NumberList> LongList::widened(Trace& trace, Value* form, Value* item) {
  MixedNumbers numbers{trace};
  if (Value* both = formOf(trace, {form, item}); both && isNumber(both))
    return LoopDecisions::NumberList{trace.graph().type(both->node).dtype, numbers.leastClass(both)};
  // A list may begin with ints that f64 has.
  const bool floats = form->kind == ValueKind::kDataInt && numbers.canBe(item, DType::kF64);
  return floats ? std::optional(LoopDecisions::NumberList{DType::kF64, MixedNumbers::kInt}) : std::nullopt;
}

bool LongList::widen(Trace& trace, const Value* list, LoopDecisions::NumberList wider) {
  if (!list->site.first) return false;
  LoopDecisions::NumberList& known = trace.loops->lists[list->site];
  if (known.mixes) {  // it only ever becomes wider, so that traces come to an end
    wider.least = std::min(wider.least, known.least);
    if (*known.mixes == DType::kF64) wider.mixes = known.mixes;
  }
  return std::exchange(known, wider) != wider;
}

Value* LongList::formFor(Trace& trace, const Value* list, Value* form) {
  if (!isIndexed(trace, list) || !isNumber(form)) return form;
  const LoopDecisions::NumberList known = trace.loops->lists.at(list->site);
  MixedNumbers numbers{trace};
  if (!known.mixes || !numbers.canBe(form, *known.mixes)) return form;
  return mixedForm(trace, *known.mixes,
                   std::min(static_cast<MixedNumbers::Class>(known.least), numbers.leastClass(form)));
}

}  // namespace fw::capture
