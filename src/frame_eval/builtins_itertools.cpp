// itertools. The infinite ones end where what consumes them ends, or at the limit on iterations.
#include "frame_eval/builtins.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/nested_iteration.h"

namespace fw::capture {

using cpython::checked;

namespace {

using Items = std::vector<Value*>;

constexpr size_t kMaxTuples = 4096;

}  // namespace

int64_t Builtins::count(Value* value) { return trace.specialize(trace.asSym(value)); }

Value* Builtins::callChain(const CallArgs& args) {
  expect(args, 0, SIZE_MAX);
  return callChainFrom({.positional = {trace.tuple(args.positional)}, .keywords = {}});
}

Value* Builtins::callChainFrom(const CallArgs& args) {
  expect(args, 1, 1);
  Value* outer = interpreter.iteratorOf(args.positional[0]);
  return makeIterator(trace, nullptr, [outer, inner = static_cast<Value*>(nullptr)](Interpreter& in) mutable -> Value* {
    for (;;) {
      if (inner) {
        if (Value* item = in.nextOf(inner)) return item;
      }
      Value* next = in.nextOf(outer);
      if (!next) return nullptr;
      inner = in.iteratorOf(next);
    }
  });
}

Value* Builtins::callRepeat(const CallArgs& original) {
  CallArgs args = original;
  if (Value* times = take(args, "times")) args.positional.push_back(times);
  expect(args, 1, 2);
  int64_t left = args.positional.size() == 2 ? std::max<int64_t>(0, count(args.positional[1])) : -1;
  return makeIterator(trace, nullptr, [item = args.positional[0], left](Interpreter&) mutable -> Value* {
    if (left == 0) return nullptr;
    if (left > 0) --left;
    return item;
  });
}

Value* Builtins::callCount(const CallArgs& original) {
  CallArgs args = original;
  Value *start = take(args, "start"), *step = take(args, "step");
  expect(args, 0, 2);
  if (!args.positional.empty()) start = args.positional[0];
  if (args.positional.size() == 2) step = args.positional[1];
  if (!start) start = number(0);
  if (!step) step = number(1);
  return makeIterator(trace, nullptr, [at = start, step](Interpreter& in) mutable -> Value* {
    Value* item = at;
    at = in.binary(cpython::kNbAdd, false, at, step);
    return item;
  });
}

Value* Builtins::callCycle(const CallArgs& args) {
  expect(args, 1, 1);
  Value* source = interpreter.iteratorOf(args.positional[0]);
  return makeIterator(trace, nullptr, [source, saved = Items(), at = size_t{0}](Interpreter& in) mutable -> Value* {
    if (source) {
      if (Value* item = in.nextOf(source)) {
        saved.push_back(item);
        return item;
      }
      source = nullptr;
    }
    return saved.empty() ? nullptr : saved[at++ % saved.size()];
  });
}

Value* Builtins::callIslice(const CallArgs& args) {
  expect(args, 2, 4);
  size_t given = args.positional.size();
  auto bound = [&](size_t i, int64_t none) {
    if (interpreter.isNone(args.positional[i])) return none;
    int64_t value = count(args.positional[i]);
    if (value < 0) refuse("with negative bounds");
    return value;
  };
  int64_t start = given == 2 ? 0 : bound(1, 0), stop = bound(given == 2 ? 1 : 2, -1),
          step = given == 4 ? bound(3, 1) : 1;
  if (step < 1) refuse("with step 0");
  Value* source = interpreter.iteratorOf(args.positional[0]);
  // CPython's own counting: never takes more from the source than it must.
  return makeIterator(trace, nullptr,
                      [source, next = start, stop, step, at = int64_t{0}](Interpreter& in) mutable -> Value* {
                        for (; at < next; ++at) {
                          if (stop >= 0 && at >= stop) return nullptr;
                          if (!in.nextOf(source)) return nullptr;
                        }
                        if (stop >= 0 && at >= stop) return nullptr;
                        Value* item = in.nextOf(source);
                        ++at;
                        if (__builtin_add_overflow(next, step, &next) || (stop >= 0 && next > stop)) next = stop;
                        return item;
                      });
}

Value* Builtins::callZipLongest(const CallArgs& original) {
  CallArgs args = original;
  Value* fill = take(args, "fillvalue");
  if (!fill) fill = trace.constant(Py_None);
  expect(args, 0, SIZE_MAX);
  Items sources = iterators(args.positional);
  size_t active = sources.size();
  return makeIterator(trace, nullptr, [sources, fill, active, &t = trace](Interpreter& in) mutable -> Value* {
    if (active == 0) return nullptr;
    Items row;
    for (Value*& source : sources) {
      Value* item = source ? in.nextOf(source) : nullptr;
      if (!item && source) {
        source = nullptr;
        if (--active == 0) return nullptr;
      }
      row.push_back(item ? t.open(item) : fill);
    }
    return t.tuple(std::move(row));
  });
}

Value* Builtins::callAccumulate(const CallArgs& original) {
  CallArgs args = original;
  Value* initial = take(args, "initial");
  if (Value* function = take(args, "func")) args.positional.push_back(function);
  expect(args, 1, 2);
  Value* function =
      args.positional.size() == 2 && !interpreter.isNone(args.positional[1]) ? args.positional[1] : nullptr;
  if (initial && interpreter.isNone(initial)) initial = nullptr;
  Value* source = interpreter.iteratorOf(args.positional[0]);
  return makeIterator(
      trace, nullptr,
      [source, function, initial, total = static_cast<Value*>(nullptr)](Interpreter& in) mutable -> Value* {
        if (initial) {
          total = initial;
          initial = nullptr;
          return total;
        }
        Value* item = in.nextOf(source);
        if (!item) return nullptr;
        if (!total) return total = item;
        if (!function) return total = in.binary(cpython::kNbAdd, false, total, item);
        return total = in.call(function, {.positional = {total, item}, .keywords = {}});
      });
}

// ---- combinations: by the module itself, on indices ---------------------------------------------------------------

namespace {

/// Tuples of indices that the itertools function makes of range(size).
Ref indexTuples(PyObject* function, Py_ssize_t size, PyObject* length) {
  Ref range = checked(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "n", size));
  Ref all = checked(length ? PyObject_CallFunctionObjArgs(function, range.get(), length, nullptr)
                           : PyObject_CallFunctionObjArgs(function, range.get(), nullptr));
  Ref list = checked(PyList_New(0));
  while (Ref tuple = Ref::steal(PyIter_Next(all.get()))) {
    checked(PyList_Append(list.get(), tuple.get()));
    if (PyList_GET_SIZE(list.get()) > static_cast<Py_ssize_t>(kMaxTuples)) return {};
  }
  if (PyErr_Occurred()) throw cpython::PythonError();
  return list;
}

}  // namespace

Value* Builtins::callCombinations(const CallArgs& original) {
  CallArgs args = original;
  if (Value* length = take(args, "r")) args.positional.push_back(length);
  expect(args, 1, 2);
  Value* pool = args.positional[0];
  const bool isGiven = args.positional.size() == 2 && !interpreter.isNone(args.positional[1]);
  const std::optional<int64_t> length = isGiven ? std::optional(count(args.positional[1])) : std::nullopt;
  if (length && *length < 0) refuse("with a negative length");
  const auto rows = [own = *this, length](const Items& pools) { return own.combinations(pools[0], length); };
  if (length && interpreter.mayRoll())
    if (Value* iterator = NestedIteration{interpreter, trace, interpreter.options_.maxUnroll}.combinations(
            callable, pool, *length, rows))
      return iterator;
  Value* iterator = trace.make(ValueKind::kIterator);
  iterator->items = combinations(pool, length);
  return iterator;
}

Items Builtins::combinations(Value* pool, std::optional<int64_t> length) const {
  const Items items = interpreter.iterate(pool);
  const Ref size = length ? checked(PyLong_FromLongLong(*length)) : Ref();
  const Ref tuples = indexTuples(callable, static_cast<Py_ssize_t>(items.size()), size.get());
  if (!tuples) trace.fail(BreakReason::kLoopLimit, std::string(name) + " of more than 4096 tuples");
  Items rows;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tuples.get()); ++i) {
    PyObject* indices = PyList_GET_ITEM(tuples.get(), i);
    Items row;
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(indices); ++j)
      row.push_back(items[PyLong_AsSize_t(PyTuple_GET_ITEM(indices, j))]);
    rows.push_back(trace.tuple(std::move(row)));
  }
  return rows;
}

Value* Builtins::callProduct(const CallArgs& original) {
  CallArgs args = original;
  Value* repeat = take(args, "repeat");
  expect(args, 0, SIZE_MAX);
  const int64_t times = repeat ? count(repeat) : 1;
  if (times < 1 || times > 16) refuse("with this repeat");
  const auto rows = [own = *this](const Items& pools) { return own.product(pools, 1); };
  Items pools;
  for (int64_t i = 0; i < times; ++i) pools.insert(pools.end(), args.positional.begin(), args.positional.end());
  if (interpreter.mayRoll())
    if (Value* iterator =
            NestedIteration{interpreter, trace, interpreter.options_.maxUnroll}.product(callable, pools, rows))
      return iterator;
  Value* iterator = trace.make(ValueKind::kIterator);
  iterator->items = product(args.positional, times);
  return iterator;
}

Items Builtins::product(const Items& iterables, int64_t times) const {
  std::vector<Items> pools, rows{{}};
  for (Value* iterable : iterables) pools.push_back(interpreter.iterate(iterable));
  const size_t once = pools.size();
  for (int64_t i = 1; i < times; ++i)
    for (size_t j = 0; j < once; ++j) pools.push_back(pools[j]);
  for (const Items& pool : pools) {
    std::vector<Items> longer;
    for (const Items& row : rows) {
      for (Value* item : pool) {
        longer.push_back(row);
        longer.back().push_back(item);
      }
      if (longer.size() > kMaxTuples) trace.fail(BreakReason::kLoopLimit, "product of more than 4096 tuples");
    }
    rows = std::move(longer);
  }
  Items tuples;
  for (Items& row : rows) tuples.push_back(trace.tuple(std::move(row)));
  return tuples;
}

// ---- by functions -------------------------------------------------------------------------------------------------

Value* Builtins::callStarmap(const CallArgs& args) {
  expect(args, 2, 2);
  Value* source = interpreter.iteratorOf(args.positional[1]);
  return makeIterator(trace, nullptr, [source, function = args.positional[0]](Interpreter& in) -> Value* {
    Value* row = in.nextOf(source);
    return row ? in.call(function, {.positional = in.iterate(row), .keywords = {}}) : nullptr;
  });
}

Value* Builtins::callTakewhile(const CallArgs& args) {
  expect(args, 2, 2);
  Value* source = interpreter.iteratorOf(args.positional[1]);
  return makeIterator(trace, nullptr, [source, test = args.positional[0], &t = trace](Interpreter& in) -> Value* {
    Value* item = in.nextOf(source);
    return item && t.truth(in.call(test, {.positional = {item}, .keywords = {}})) ? item : nullptr;
  });
}

Value* Builtins::callDropwhile(const CallArgs& args) {
  expect(args, 2, 2);
  Value* source = interpreter.iteratorOf(args.positional[1]);
  return makeIterator(
      trace, nullptr,
      [source, test = args.positional[0], started = false, &t = trace](Interpreter& in) mutable -> Value* {
        while (Value* item = in.nextOf(source)) {
          started = started || !t.truth(in.call(test, {.positional = {item}, .keywords = {}}));
          if (started) return item;
        }
        return nullptr;
      });
}

Value* Builtins::callPairwise(const CallArgs& args) {
  expect(args, 1, 1);
  Value* source = interpreter.iteratorOf(args.positional[0]);
  return makeIterator(trace, nullptr,
                      [source, last = static_cast<Value*>(nullptr), &t = trace](Interpreter& in) mutable -> Value* {
                        if (!last && !(last = in.nextOf(source))) return nullptr;
                        Value* item = in.nextOf(source);
                        if (!item) return nullptr;
                        Value* pair = t.tuple({t.open(last), t.open(item)});
                        last = item;
                        return pair;
                      });
}

Value* Builtins::callCompress(const CallArgs& args) {
  expect(args, 2, 2);
  Value *data = interpreter.iteratorOf(args.positional[0]), *selectors = interpreter.iteratorOf(args.positional[1]);
  return makeIterator(trace, nullptr, [data, selectors, &t = trace](Interpreter& in) -> Value* {
    for (;;) {
      Value* item = in.nextOf(data);
      Value* selector = item ? in.nextOf(selectors) : nullptr;
      if (!selector) return nullptr;
      if (t.truth(t.open(selector))) return item;
    }
  });
}

}  // namespace fw::capture
