// Iterators that go through several loops, one inside the other: itertools.product(), combinations() and
// permutations(), ndarray.flat, np.ndindex() and np.ndenumerate(). A `for` that walks many items of one takes the loops
// themselves, from a generator of _substitutes.py, whose code then stands in its own (inlined_generators.h). Others ask
// for one item after the other, which are known.
#pragma once

#include <functional>

#include "frame_eval/interpreter.h"

namespace fw::capture {

/// The loops that an iterator goes through, where none of its items has been taken; none: it is another.
std::optional<VirtualIterator::Loops> loopsOf(Interpreter& in, Value* iterator);

struct NestedIteration {
  Interpreter& in;
  Trace& trace;
  int64_t few;  ///< so many items are walked one by one

  using Rows = std::function<std::vector<Value*>(const std::vector<Value*>& pools)>;  ///< all items at once

  /// Whether it is product(), combinations(), combinations_with_replacement() or permutations().
  static bool isOf(PyObject* callable);
  /// Null where the items are few, or a pool is one that may change.
  Value* product(PyObject* callable, const std::vector<Value*>& pools, Rows rows);
  /// Of `length` items of the pool; the same.
  Value* combinations(PyObject* callable, Value* pool, int64_t length, Rows rows);
  /// The items of an array, in the order of C.
  static Value* flat(Trace& trace, Value* array);

 private:
  struct Pool {
    Value* items;
    graph::SymId size;
  };
  std::optional<Pool> poolOf(Value* iterable);
  std::vector<Value*> boundsOf(const Value* range) const;
  bool areMany(const std::vector<graph::SymId>& sizes, bool areKnown) const;
};

}  // namespace fw::capture
