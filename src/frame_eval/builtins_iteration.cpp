// Builtins that walk or make iterables. What is lazy in Python is lazy here: items are computed when they are asked
// for.
#include <algorithm>

#include "frame_eval/branch_join.h"
#include "frame_eval/branching.h"
#include "frame_eval/builtins.h"
#include "frame_eval/consumed_generators.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/generator.h"
#include "frame_eval/nested_iteration.h"
#include "frame_eval/work_table.h"
#include "frame_eval/unwind.h"
#include "frame_eval/sets.h"

namespace fw::capture {

using cpython::checked;

namespace {

std::optional<VirtualIterator::Recipe> typeCall(PyTypeObject& type, std::vector<Value*> args) {
  return VirtualIterator::Recipe{reinterpret_cast<PyObject*>(&type), std::move(args)};
}

Value* firstOf(Value* function, std::vector<Value*> args, Interpreter& in) {
  return in.call(function, {.positional = std::move(args), .keywords = {}});
}

}  // namespace

std::vector<Value*> Builtins::iterators(const std::vector<Value*>& iterables) {
  std::vector<Value*> result;
  for (Value* iterable : iterables) result.push_back(interpreter.iteratorOf(iterable));
  return result;
}

// ---- consuming ----------------------------------------------------------------------------------------------------

Value* Builtins::callAny(const CallArgs& args) {
  expect(args, 1, 1);
  if (Value* answer = consumed(args.positional[0], Consumer::kAny)) return answer;
  Value* iterator = interpreter.iteratorOf(args.positional[0]);
  while (Value* item = interpreter.nextOf(iterator)) {
    if (trace.truth(trace.open(item))) return boolean(trace, true);
  }
  return boolean(trace, false);
}

Value* Builtins::callAll(const CallArgs& args) {
  expect(args, 1, 1);
  if (Value* answer = consumed(args.positional[0], Consumer::kAll)) return answer;
  Value* iterator = interpreter.iteratorOf(args.positional[0]);
  while (Value* item = interpreter.nextOf(iterator)) {
    if (!trace.truth(trace.open(item))) return boolean(trace, false);
  }
  return boolean(trace, true);
}

namespace {

std::optional<VirtualIterator::Items> itemsOf(Interpreter& in, const Value* iterator) {
  const bool lazy = iterator->kind == ValueKind::kIterator && iterator->lazy;
  return lazy ? iterator->lazy->items(in) : std::nullopt;
}

}  // namespace

/// By a key, of what may be a loop of the graph; null for others.
/// A range of more numbers than are looked at one by one.
bool Builtins::isManyNumbers(Value* iterable) {
  const bool range =
      iterable->kind == ValueKind::kRange || (iterable->isConstant() && PyRange_Check(iterable->object.get()));
  if (!interpreter.mayRoll() || trace.onDevice() || !range) return false;
  const auto items = itemsOf(interpreter, interpreter.iteratorOf(iterable));
  if (!items) return false;
  return trace.turns.contains(items->count) || trace.decided.contains(items->count) ||
         trace.hint(items->count) > interpreter.options_.maxUnroll;
}

Value* Builtins::extremeByKey(Value* iterable, Value* key, int op) {
  const bool view = iterable->kind == ValueKind::kIterator && !iterable->name.empty() && WorkTable::is(iterable->base);
  if (view || WorkTable::is(iterable)) iterable = interpreter.collected(iterable);
  const bool isMany = iterable->kind == ValueKind::kList &&
                      iterable->items.size() > static_cast<size_t>(interpreter.options_.maxUnroll);
  if (isMany && interpreter.mayRoll()) LongList::standInArrays(trace, iterable);
  if (interpreter.mayRoll() && (isLongList(iterable) || (PooledList::is(iterable) && iterable->base)))
    return Collections{interpreter, trace}.bySteps("_extreme_of", {iterable, key, boolean(trace, op == Py_GT)});
  const bool numbers = iterable->kind == ValueKind::kRange || iterable->kind == ValueKind::kArray ||
                       (iterable->isConstant() && PyRange_Check(iterable->object.get()));
  const bool lazy = iterable->kind == ValueKind::kIterator && iterable->lazy && !interpreter.generatorOf(iterable);
  if (!interpreter.mayRoll() || !(numbers || lazy)) return nullptr;
  Value* iterator = interpreter.iteratorOf(iterable);
  if (!itemsOf(interpreter, iterator)) return nullptr;
  return ConsumedGenerators{interpreter, trace}.byUs("_extreme_by", {iterator, key, boolean(trace, op == Py_GT)});
}

Value* Builtins::extreme(const CallArgs& original, int op) {
  CallArgs args = original;
  Value* key = take(args, "key");
  if (key && interpreter.isNone(key)) key = nullptr;
  Value* fallback = take(args, "default");
  if (!args.keywords.empty() || args.positional.empty()) refuse("with these arguments");
  std::vector<Value*> items = args.positional;
  if (items.size() == 1) {
    items[0] = Collections{interpreter, trace}.asGenerator(items[0]);
    if (!key) items[0] = WorkTable::unordered(interpreter, trace, items[0]);
    Value* of = !key        ? consumed(items[0], op == Py_LT ? Consumer::kMin : Consumer::kMax, fallback)
                : !fallback ? extremeByKey(items[0], key, op)
                            : nullptr;
    if (of) return of;
    if (Value* list = interpreter.collected(items[0])) items[0] = list;
    if (!key && isLong(items[0])) {
      Value* best = extremeOfMany(items[0], op);
      if (!best && !fallback) interpreter.raiseAbout(PyExc_ValueError, std::string(name) + "() of an empty sequence");
      return best ? best : fallback;
    }
    items = interpreter.iterate(items[0]);
  } else if (fallback) {
    refuse("with default");
  }
  if (items.empty() && fallback) return fallback;
  if (items.empty()) interpreter.raiseAbout(PyExc_ValueError, std::string(name) + "() of an empty sequence");
  auto keyOf = [&](Value* item) { return key ? firstOf(key, {item}, interpreter) : item; };
  Value *best = items[0], *bestKey = keyOf(best);
  for (size_t i = 1; i < items.size(); ++i) {
    Value* itemKey = keyOf(items[i]);
    Value* better = interpreter.compare(op, itemKey, bestKey);
    if (const auto data = Branching{interpreter, trace}.condition(better)) {
      if (key) refuse("by a key of array data");
      Value* chosen = oneOf(*data, items[i], best);
      if (DataInts::isWhole(items[i]) && DataInts::isWhole(best)) {
        DataInts ints{trace};
        const graph::SymRange a = ints.of(items[i])->range, b = ints.of(best)->range;
        const auto choose = [&](int64_t x, int64_t y) { return op == Py_GT ? std::max(x, y) : std::min(x, y); };
        chosen->range = {choose(a.lo, b.lo), choose(a.hi, b.hi)};
      }
      best = bestKey = chosen;
      continue;
    }
    if (!trace.truth(better)) continue;
    best = items[i];
    bestKey = itemKey;
  }
  return best;
}

/// The first if the condition holds, else the second. They are numbers of one type: another one would be that of the
/// result where data wants it so.
Value* Builtins::oneOf(graph::ValueId condition, Value* first, Value* second) {
  const auto where = [&](graph::ValueId a, graph::ValueId b) {
    return numpy::ufuncNode(trace, graph::Op::kWhere, {condition, a, b});
  };
  if (DataInts::isWhole(first) && DataInts::isWhole(second)) {
    DataInts ints{trace};
    Value *a = ints.of(first), *b = ints.of(second);
    if (!a || !b) refuse("of ints beyond 62 bits");
    return ints.make(where(a->node, b->node), hull(a->range, b->range));
  }
  // max(0, x[i])
  MixedNumbers numbers{trace};
  if (numbers.common(first, second)) return numbers.choose(condition, first, second);
  const ValueKind kind = numberKind(first);
  const auto typeOf = [&](Value* v) { return trace.graph().type(trace.operand(v).value).dtype; };
  if (kind == ValueKind::kNull || kind != numberKind(second) || typeOf(first) != typeOf(second)) {
    Value* isFirst = trace.number(ValueKind::kPyBool, condition);
    return ConsumedGenerators{interpreter, trace}.byUs("_either", {isFirst, first, second});
  }
  return trace.number(kind, where(trace.operand(first).value, trace.operand(second).value));
}

Value* Builtins::callMin(const CallArgs& args) { return extreme(args, Py_LT); }
Value* Builtins::callMax(const CallArgs& args) { return extreme(args, Py_GT); }

Value* Builtins::callSum(const CallArgs& original) {
  CallArgs args = original;
  if (Value* start = take(args, "start")) args.positional.push_back(start);
  expect(args, 1, 2);
  Value* total = args.positional.size() == 2 ? args.positional[1] : number(0);
  args.positional[0] = Collections{interpreter, trace}.asGenerator(args.positional[0]);
  if (Value* sum = consumed(args.positional[0], Consumer::kSum, total)) return sum;
  if (WorkTable::holdsInts(args.positional[0]))  // whose sums are exact
    args.positional[0] = WorkTable::unordered(interpreter, trace, args.positional[0]);
  if (Value* list = interpreter.collected(args.positional[0])) args.positional[0] = list;
  if (isLong(args.positional[0])) return sumOfMany(args.positional[0], total);
  std::vector<Value*> items = interpreter.iterate(args.positional[0]);
  // 3.12 sums floats with compensation: only CPython knows how.
  bool floats = false, known = true;
  for (Value* item : items) {
    floats |= trace.typeOf(item) == &PyFloat_Type || trace.typeOf(item) == &PyComplex_Type;
    known &= item->isConstant() && isPlain(item->object.get());
  }
  if (floats && known) return callPure({.positional = {trace.list(items), total}, .keywords = {}});
  const bool few = items.size() <= static_cast<size_t>(interpreter.options_.maxUnroll);
  if (floats && !(few && sumsPlainly())) refuse("of Python floats");
  if (trace.typeOf(total) == &PyUnicode_Type) refuse("of strings");
  for (Value* item : items) total = interpreter.binary(cpython::kNbAdd, false, total, item);
  return total;
}

std::vector<Value*> Builtins::sortedItems(const std::vector<Value*>& items, Value* key, Value* reverse) {
  bool keyed = key && !interpreter.isNone(key);
  return interpreter.sorted(items, keyed ? key : nullptr, reverse && trace.truth(reverse));
}

Value* Builtins::callSorted(const CallArgs& original) {
  CallArgs args = original;
  Value *key = take(args, "key"), *reverse = take(args, "reverse");
  expect(args, 1, 1);
  Value* list = args.positional[0];
  if (key && interpreter.isNone(key)) key = nullptr;
  if (!key) list = WorkTable::unordered(interpreter, trace, list);
  args.positional[0] = list = Collections{interpreter, trace}.fromQueue(list);
  if (list->kind == ValueKind::kWorkTable || list->kind == ValueKind::kIterator)
    if (Value* items = interpreter.collected(list)) args.positional[0] = list = items;
  if (Collections collections{interpreter, trace}; list->kind == ValueKind::kIterator && collections.isLong(list))
    args.positional[0] = list = collections.bySteps("_listed", {list});
  if (isLongList(list) || PooledList::is(list) || list->kind == ValueKind::kList) {
    Value* descends = reverse ? reverse : boolean(trace, false);
    if (Value* sorted = Collections{interpreter, trace}.sortedWork(list, key, descends, false)) return sorted;
  }
  if (key && key->kind != ValueKind::kOpaque && isManyNumbers(list))
    return Collections{interpreter, trace}.bySteps("_sorted_by",
                                                   {list, key, reverse ? reverse : boolean(trace, false)});
  return trace.list(sortedItems(interpreter.iterate(args.positional[0]), key, reverse));
}

Value* Builtins::callReduce(const CallArgs& args) {
  expect(args, 2, 3);
  Value* iterator = interpreter.iteratorOf(args.positional[1]);
  Value* total = args.positional.size() == 3 ? args.positional[2] : interpreter.nextOf(iterator);
  if (!total) interpreter.raiseError(PyExc_TypeError, "reduce() of empty iterable with no initial value");
  while (Value* item = interpreter.nextOf(iterator)) total = firstOf(args.positional[0], {total, item}, interpreter);
  return total;
}

// ---- iterators ----------------------------------------------------------------------------------------------------

Value* Builtins::callIter(const CallArgs& args) {
  expect(args, 1, 1);
  return interpreter.iteratorOf(args.positional[0]);
}

/// The next item of an iterator of which a loop of the graph may take the others; null if there may be none.
Value* Builtins::firstOfMany(Value* iterator) {
  const auto items = interpreter.mayRoll() ? itemsOf(interpreter, iterator) : std::nullopt;
  if (!items || trace.turns.contains(items->count) || trace.decided.contains(items->count)) return nullptr;
  graph::SymContext& syms = trace.syms();
  if (!trace.decide(syms.constant(0), guards::Relation::kLt, items->count)) return nullptr;
  Value* item = trace.open(items->item(syms.constant(0)));
  iterator->lazy->skip();
  ++iterator->position;
  return item;
}

Value* Builtins::callNext(const CallArgs& args) {
  expect(args, 1, 2);
  Value* otherwise = args.positional.size() == 2 ? args.positional[1] : nullptr;
  if (Value* item = consumed(args.positional[0], Consumer::kNext, otherwise)) return item;
  if (Value* item = firstOfMany(args.positional[0])) return item;
  if (Value* item = interpreter.nextOf(args.positional[0])) return trace.open(item);
  if (otherwise) return otherwise;
  Value* returned = interpreter.returnedBy(args.positional[0]);
  interpreter.stopIteration(returned);
}

namespace {

/// No iterator is among them twice, also as the source of another one: zip(it, it).
bool areDistinct(const std::vector<Value*>& iterators) {
  std::vector<Value*> all = iterators;
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::count(all.begin(), all.end(), all[i]) > 1) return false;
    if (all[i]->kind != ValueKind::kIterator || !all[i]->lazy) continue;
    const std::vector<Value*> more = all[i]->lazy->sources();
    all.insert(all.end(), more.begin(), more.end());
  }
  return true;
}

}  // namespace

Value* Builtins::callEnumerate(const CallArgs& original) {
  CallArgs args = original;
  if (Value* start = take(args, "start")) args.positional.push_back(start);
  expect(args, 1, 2);
  Value* index = args.positional.size() == 2 ? args.positional[1] : number(0);
  Value* source = interpreter.iteratorOf(args.positional[0]);
  struct Step {
    Value *index, *one;
    std::vector<Value*> sources;  ///< one
    Value* operator()(Interpreter& in) {
      Value* item = in.nextOf(sources[0]);
      if (!item) return nullptr;
      Value* pair = in.tupleOf({index, in.opened(item)});
      index = in.binary(cpython::kNbAdd, false, index, one);
      return pair;
    }
    std::optional<VirtualIterator::Recipe> recipe(Trace&) { return typeCall(PyEnum_Type, {sources[0], index}); }
    std::optional<VirtualIterator::Loops> loops(Interpreter& in) {
      const GeneratorIterator* source = in.generatorOf(sources[0]);
      const bool fits = source ? source->isNew() : loopsOf(in, sources[0]).has_value();
      return fits ? std::optional(VirtualIterator::Loops{"_enumerate", {sources[0], index}}) : std::nullopt;
    }
    std::optional<VirtualIterator::Items> items(Interpreter& in) {
      auto inner = itemsOf(in, sources[0]);
      if (!inner) return std::nullopt;
      return VirtualIterator::Items{
          inner->count, [step = *this, item = inner->item, &in](graph::SymId number) {
            Value* at = step.trace.pyInt(number);
            return in.tupleOf({in.binary(cpython::kNbAdd, false, step.index, at), in.opened(item(number))});
          }};
    }
    void skip() {
      index = trace.pyInt(trace.syms().add(trace.asSym(index), trace.syms().constant(1)));
      sources[0]->lazy->skip();
      ++sources[0]->position;
    }
    Trace& trace;
  };
  return makeIterator(trace, &PyEnum_Type, Step{index, number(1), {source}, trace});
}

Value* Builtins::callZip(const CallArgs& original) {
  CallArgs args = original;
  Value* strictness = take(args, "strict");
  bool strict = strictness && trace.truth(strictness);
  expect(args, 0, SIZE_MAX);
  std::vector<Value*> sources = iterators(args.positional);
  auto step = [sources, strict, &t = trace](Interpreter& in) -> Value* {
    std::vector<Value*> row;
    for (Value* source : sources) {
      Value* item = in.nextOf(source);
      if (item) {
        row.push_back(t.open(item));
        continue;
      }
      if (!strict) return nullptr;
      size_t ended = row.size();
      auto about = [&](size_t at, const char* how) {
        std::string others = at == 1 ? "argument 1" : "arguments 1-" + std::to_string(at);
        in.raiseError(PyExc_ValueError, "zip() argument " + std::to_string(at + 1) + " is " + how + " than " + others);
      };
      if (ended > 0) about(ended, "shorter");
      for (size_t i = 1; i < sources.size(); ++i) {
        if (in.nextOf(sources[i])) about(i, "longer");
      }
      return nullptr;
    }
    return sources.empty() ? nullptr : t.tuple(std::move(row));
  };
  struct Step {
    decltype(step) take;
    std::vector<Value*> sources;
    bool strict, isGiven;
    Value* operator()(Interpreter& in) { return take(in); }
    std::optional<VirtualIterator::Recipe> recipe(Trace&) {
      return strict ? std::nullopt : typeCall(PyZip_Type, sources);
    }
    /// As many as all of the sources have, or the shortest of them, which is guarded.
    std::optional<VirtualIterator::Items> items(Interpreter& in) {
      std::vector<std::function<Value*(graph::SymId)>> each;
      graph::SymId count;
      if (!areDistinct(sources)) return std::nullopt;
      for (Value* source : sources) {
        auto inner = itemsOf(in, source);
        if (!inner || trace.turns.contains(inner->count)) return std::nullopt;
        if (!count.valid()) {
          count = inner->count;
        } else if (!trace.decide(count, guards::Relation::kEq, inner->count)) {
          if (strict || isGiven) return std::nullopt;  // who has the iterators may find out what is left of each
          if (trace.decide(inner->count, guards::Relation::kLt, count)) count = inner->count;
        }
        each.push_back(std::move(inner->item));
      }
      if (each.empty()) return std::nullopt;
      return VirtualIterator::Items{count, [each, &in](graph::SymId number) {
                                      std::vector<Value*> row;
                                      for (const auto& item : each) row.push_back(in.opened(item(number)));
                                      return in.tupleOf(std::move(row));
                                    }};
    }
    void skip() {
      for (Value* source : sources) {
        source->lazy->skip();
        ++source->position;
      }
    }
    Trace& trace;
  };
  const bool isGiven = std::any_of(sources.begin(), sources.end(), [&](const Value* source) {
    return std::find(args.positional.begin(), args.positional.end(), source) != args.positional.end();
  });
  return makeIterator(trace, &PyZip_Type, Step{std::move(step), sources, strict, isGiven, trace});
}

Value* Builtins::callReversed(const CallArgs& args) {
  expect(args, 1, 1);
  Value* v = args.positional[0];
  if (Value* range = interpreter.rangeIterator(v, true)) return range;
  numpy::settled(trace, v);
  if (v->kind == ValueKind::kDict) return interpreter.dictIterator(interpreter.viewOf(v, "keys"), true);
  if (v->kind == ValueKind::kIterator && !v->name.empty()) return interpreter.dictIterator(v, true);
  if (v->kind == ValueKind::kDeque) return Collections{interpreter, trace}.dequeIterator(v, true);
  if (v->kind == ValueKind::kArray) return interpreter.arrayIterator(v, true);
  if (isLongList(v)) return LongList{trace, v}.iterator(true);
  if (PooledList::is(v) && v->base) return PooledList{trace, v}.iterator(true);
  bool sequence = v->kind == ValueKind::kTuple || v->kind == ValueKind::kList || v->isConstant();
  if (!sequence) refuse("of this object");
  if (v->kind == ValueKind::kList) {
    auto at = static_cast<int64_t>(v->items.size()) - 1;
    return makeIterator(trace, &PyReversed_Type, [v, at](Interpreter&) mutable -> Value* {
      if (at < 0 || at >= static_cast<int64_t>(v->items.size())) return nullptr;
      return v->items[static_cast<size_t>(at--)];
    });
  }
  Value* iterator = trace.make(ValueKind::kIterator);
  iterator->items = interpreter.iterate(v);
  std::reverse(iterator->items.begin(), iterator->items.end());
  return iterator;
}

/// Bounds of ranges need not be known, as long as nobody looks at them.
Value* Builtins::mapped(Interpreter& in, Value* function, std::vector<Value*> items) {
  CallArgs args{.positional = std::move(items), .keywords = {}};
  const bool makesRanges = function->object.get() == reinterpret_cast<PyObject*>(&PyRange_Type);
  return makesRanges ? in.callRaw(function, std::move(args)) : in.call(function, std::move(args));
}

Value* Builtins::callMap(const CallArgs& args) {
  expect(args, 2, SIZE_MAX);
  std::vector<Value*> sources = iterators({args.positional.begin() + 1, args.positional.end()});
  struct Step {
    Value* function;
    std::vector<Value*> sources;
    Value* operator()(Interpreter& in) {
      std::vector<Value*> row;
      for (Value* source : sources) {
        Value* item = in.nextOf(source);
        if (!item) return nullptr;
        row.push_back(item);
      }
      return mapped(in, function, std::move(row));
    }
    std::optional<VirtualIterator::Recipe> recipe(Trace&) {
      std::vector<Value*> all{function};
      all.insert(all.end(), sources.begin(), sources.end());
      return typeCall(PyMap_Type, std::move(all));
    }
  };
  return makeIterator(trace, &PyMap_Type, Step{args.positional[0], sources});
}

/// filter() and the like: items for which the truth of function(item) is `wanted`.
Value* Builtins::choose(const CallArgs& args, bool wanted) {
  expect(args, 2, 2);
  Value* function = args.positional[0];
  PyObject* boolType = reinterpret_cast<PyObject*>(&PyBool_Type);
  bool identity = interpreter.isNone(function) || (function->isConstant() && function->object.get() == boolType);
  Value* source = interpreter.iteratorOf(args.positional[1]);
  return makeIterator(trace, wanted ? &PyFilter_Type : nullptr,
                      [function, identity, source, wanted, &t = trace](Interpreter& in) -> Value* {
                        while (Value* item = in.nextOf(source)) {
                          t.open(item);
                          if (t.truth(identity ? item : firstOf(function, {item}, in)) == wanted) return item;
                        }
                        return nullptr;
                      });
}

Value* Builtins::callFilter(const CallArgs& args) { return choose(args, true); }
Value* Builtins::callFilterfalse(const CallArgs& args) { return choose(args, false); }

// ---- containers ---------------------------------------------------------------------------------------------------

Value* Builtins::callTuple(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return trace.tuple({});
  Value* v = args.positional[0];
  if (isTuple(v) && !v->cls) return v;
  if (isLongList(v))
    if (auto items = LongList{trace, v}.few()) return trace.tuple(std::move(*items));
  return trace.tuple(interpreter.iterate(v));
}

Value* Builtins::callList(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return Collections{interpreter, trace}.emptyList();
  Value* iterable = args.positional[0];
  if (Value* list = interpreter.collected(iterable)) return list;
  const LoopDecisions::Key site = interpreter.site();
  Collections collections{interpreter, trace};
  if (Value* list = LongList::copied(trace, iterable, site)) return collections.workedIfFound(list);
  if (PooledList::is(iterable)) return PooledList{trace, iterable}.copy();
  if (isLongList(iterable) && !iterable->cls) {
    Value* whole = trace.make(ValueKind::kSlice);
    whole->items.assign(3, trace.constant(Py_None));
    return LongList{trace, iterable}.item(whole);
  }
  if (site.first && trace.loops->lists.contains(site))
    if (Value* list = LongList::ofRange(trace, iterable, site)) return collections.workedIfFound(list);
  const bool numbers = iterable->kind == ValueKind::kRange || iterable->kind == ValueKind::kList ||
                       (iterable->isConstant() && PyRange_Check(iterable->object.get()));
  Value* list = trace.list(interpreter.iterate(iterable));
  if (numbers) list->site = site;
  return collections.workedIfFound(list);
}

Value* Builtins::callSet(const CallArgs& args) {
  expect(args, 0, 1);
  Collections collections{interpreter, trace};
  const bool isLong = !args.positional.empty() && collections.isLong(args.positional[0]);
  Value* given = args.positional.empty() || isLong ? nullptr : args.positional[0];
  Value* set = Sets{interpreter, trace}.make(&PySet_Type, given);
  collections.workTable(set);
  const bool isFromTable = given && (given->kind == ValueKind::kSet || given->kind == ValueKind::kDict ||
                                     isConstantOf(given, &PyFrozenSet_Type));
  if (set->kind == ValueKind::kWorkTable) set->opened = isFromTable;
  if (isLong) (void)collections.bySteps("_fill_set", {set, args.positional[0]});
  return set;
}

Value* Builtins::callFrozenset(const CallArgs& args) {
  expect(args, 0, 1);
  return Sets{interpreter, trace}.make(&PyFrozenSet_Type, args.positional.empty() ? nullptr : args.positional[0]);
}

Value* Builtins::callDict(const CallArgs& args) {
  if (args.positional.size() > 1) refuse("with these arguments");
  const bool copies = args.positional.size() == 1 && args.keywords.empty() && WorkTable::is(args.positional[0]);
  if (copies && !WorkTable::isSet(args.positional[0]))
    return WorkTable{interpreter, trace, args.positional[0]}.copy(&PyDict_Type);
  Value* dict = trace.make(ValueKind::kDict);
  Collections collections{interpreter, trace};
  const bool isLong = args.positional.size() == 1 && args.keywords.empty() && collections.isLong(args.positional[0]);
  if (!isLong) interpreter.updateDict(dict, args);
  collections.workTable(dict);
  if (isLong) (void)collections.bySteps("_fill_dict", {dict, args.positional[0]});
  return dict;
}

/// OrderedDict and defaultdict.
Value* Builtins::callDictLike(const CallArgs& args) {
  Value* dict = trace.make(ValueKind::kDict);
  dict->cls = Ref::create(callable);
  Collections{interpreter, trace}.fill(dict, args);
  return dict;
}

Value* Builtins::callFromkeys(const CallArgs& args) {
  expect(args, 1, 2);
  if (reinterpret_cast<PyCFunctionObject*>(callable)->m_self != reinterpret_cast<PyObject*>(&PyDict_Type))
    refuse("of a subclass");
  Value* dict = trace.make(ValueKind::kDict);
  Value* value = args.positional.size() == 2 ? args.positional[1] : trace.constant(Py_None);
  for (Value* item : interpreter.iterate(args.positional[0])) interpreter.setKey(dict, interpreter.key(item), value);
  return dict;
}

Value* Builtins::callSlice(const CallArgs& args) {
  expect(args, 1, 3);
  Value* none = trace.constant(Py_None);
  const auto& a = args.positional;
  return trace.slice(a.size() == 1 ? none : a[0], a.size() == 1 ? a[0] : a[1], a.size() == 3 ? a[2] : none);
}

}  // namespace fw::capture
