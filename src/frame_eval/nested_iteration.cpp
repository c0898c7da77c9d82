#include "frame_eval/nested_iteration.h"

#include <algorithm>
#include <array>

#include "frame_eval/chosen_item.h"
#include "frame_eval/declared_calls.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using cpython::checked;
using graph::SymId;

namespace {

constexpr size_t kMostLoops = 4;
using Row = std::array<const char*, kMostLoops>;  ///< by how many loops
constexpr Row kProduct = {"_product_1", "_product_2", "_product_3", "_product_4"};
constexpr Row kFlat = {"_flat_1", "_flat_2", "_flat_3", "_flat_4"};
constexpr Row kNumbered = {"_numbered_1", "_numbered_2", "_numbered_3", "_numbered_4"};

Value* rangeOf(Trace& trace) { return trace.constant(reinterpret_cast<PyObject*>(&PyRange_Type)); }

Ref ofNumpy(const char* name) { return functionOfOurs("numpy", name); }

/// Of itertools: made anew by a call of it, and walked by loops as long as nothing has been taken.
struct PooledStep {
  Trace& trace;
  VirtualIterator::Recipe made;
  VirtualIterator::Loops nested;
  std::vector<Value*> pools;  ///< as they were when it was made
  NestedIteration::Rows all;
  std::optional<std::vector<Value*>> rows;

  Value* operator()(Interpreter&) {
    if (!rows) rows = all(pools);
    return made.taken < rows->size() ? (*rows)[made.taken++] : nullptr;
  }
  std::optional<VirtualIterator::Recipe> recipe(Trace&) { return made; }
  std::optional<VirtualIterator::Loops> loops(Interpreter&) {
    return made.taken == 0 ? std::optional(nested) : std::nullopt;
  }
};

/// ndarray.flat.
struct FlatStep {
  Trace& trace;
  Value* array;
  int64_t at = 0;

  Value* operator()(Interpreter& in) {
    const auto shape = trace.graph().type(array->node).shape;
    std::vector<Value*> index(shape.size());
    int64_t rest = at;
    for (size_t axis = shape.size(); axis-- > 0;) {
      const int64_t size = trace.specialize(shape[axis]);
      if (size == 0) return nullptr;
      index[axis] = trace.pyInt(trace.syms().constant(rest % size));
      rest /= size;
    }
    if (rest > 0) return nullptr;
    ++at;
    return in.getItem(array, trace.tuple(std::move(index)));
  }
  std::optional<VirtualIterator::Recipe> recipe(Trace&) {
    static PyObject* const read =
        checked(PyObject_CallFunction(functionOfOurs("operator", "attrgetter").get(), "s", "flat")).release();
    return VirtualIterator::Recipe{read, {array}, static_cast<size_t>(at)};
  }
  std::optional<VirtualIterator::Loops> loops(Interpreter&) { return through(kFlat); }
  std::optional<VirtualIterator::Loops> through(const Row& row) const {
    const auto& shape = trace.graph().type(array->node).shape;
    if (at > 0 || shape.empty() || shape.size() > kMostLoops) return std::nullopt;
    VirtualIterator::Loops nested{row[shape.size() - 1], {array, rangeOf(trace)}};
    for (const SymId size : shape) nested.args.push_back(trace.pyInt(size));
    return nested;
  }
};

/// What an instance of NumPy's class holds; null for others.
Value* heldBy(const Value* instance, const char* cls) {
  if (instance->kind != ValueKind::kInstance || instance->overlay.size() != 1) return nullptr;
  if (instance->object.get() != ofNumpy(cls).get()) return nullptr;
  Value* held = instance->overlay[0].second;
  return held && held->kind == ValueKind::kIterator && held->lazy ? held : nullptr;
}

}  // namespace

std::optional<VirtualIterator::Loops> loopsOf(Interpreter& in, Value* iterator) {
  if (const Value* held = heldBy(iterator, "ndindex")) return held->lazy->loops(in);
  if (const Value* held = heldBy(iterator, "ndenumerate")) {
    const auto* flat = dynamic_cast<const StepIterator<FlatStep>*>(held->lazy.get());
    return flat ? flat->step().through(kNumbered) : std::nullopt;
  }
  const bool lazy = iterator->kind == ValueKind::kIterator && iterator->lazy;
  return lazy ? iterator->lazy->loops(in) : std::nullopt;
}

bool NestedIteration::isOf(PyObject* callable) {
  static const std::array<PyObject*, 4> kTypes = [] {
    std::array<PyObject*, 4> types;
    const std::array names = {"product", "combinations", "combinations_with_replacement", "permutations"};
    for (size_t i = 0; i < names.size(); ++i) types[i] = functionOfOurs("itertools", names[i]).release();
    return types;
  }();
  return std::find(kTypes.begin(), kTypes.end(), callable) != kTypes.end();
}

/// Ranges and what cannot change: they are what they are when the iterator is made.
std::optional<NestedIteration::Pool> NestedIteration::poolOf(Value* iterable) {
  if (iterable->kind != ValueKind::kRange) trace.open(iterable);  // whose bounds need not be known
  if (iterable->kind == ValueKind::kRange || (iterable->isConstant() && PyRange_Check(iterable->object.get()))) {
    const Value* iterator = in.iteratorOf(iterable);
    const auto items = iterator->lazy ? iterator->lazy->items(in) : std::nullopt;
    return items ? std::optional(Pool{iterable, items->count}) : std::nullopt;
  }
  if (iterable->kind == ValueKind::kArray) {
    const graph::ValueType type = trace.graph().type(iterable->node);
    if (type.rank() == 0) return std::nullopt;
    // Numbers of before; rows are views.
    if (type.rank() == 1) iterable = trace.array(numpy::copyAs(trace, iterable->node, graph::Layout::c(1)));
    return Pool{iterable, type.shape[0]};
  }
  if (iterable->kind == ValueKind::kList) iterable = trace.tuple(iterable->items);
  if (iterable->kind != ValueKind::kTuple || !mayBeChosen(trace, iterable->items)) return std::nullopt;
  return Pool{iterable, trace.syms().constant(static_cast<int64_t>(iterable->items.size()))};
}

/// Where a range begins and ends, and its step.
std::vector<Value*> NestedIteration::boundsOf(const Value* range) const {
  if (range->kind == ValueKind::kRange) return range->items;
  std::vector<Value*> bounds;
  for (const char* part : {"start", "stop", "step"})
    bounds.push_back(trace.constant(checked(PyObject_GetAttrString(range->object.get(), part))));
  return bounds;
}

/// Few numbers may be items of many statements, and are cheap to count; few constants are best known.
bool NestedIteration::areMany(const std::vector<SymId>& sizes, bool areKnown) const {
  constexpr double kFewNumbers = 16;
  if (trace.onDevice()) return false;
  const auto isLate = [&](SymId size) { return trace.turns.contains(size) || trace.decided.contains(size); };
  if (std::any_of(sizes.begin(), sizes.end(), isLate)) return true;
  double all = 1;
  for (const SymId size : sizes) all *= static_cast<double>(trace.hint(size));
  return all > (areKnown ? static_cast<double>(few) : kFewNumbers);
}

Value* NestedIteration::product(PyObject* callable, const std::vector<Value*>& pools, Rows rows) {
  if (pools.empty() || pools.size() > kMostLoops) return nullptr;
  std::vector<SymId> sizes;
  std::vector<Value*> items;
  bool ofTuples = true;
  for (Value* iterable : pools) {
    const auto pool = poolOf(iterable);
    if (!pool) return nullptr;
    items.push_back(pool->items);
    sizes.push_back(pool->size);
    ofTuples = ofTuples && pool->items->kind == ValueKind::kTuple;
  }
  if (!areMany(sizes, ofTuples)) return nullptr;
  return makeIterator(
      trace, reinterpret_cast<PyTypeObject*>(callable),
      PooledStep{trace, {callable, items}, {kProduct[items.size() - 1], items}, items, std::move(rows), {}});
}

Value* NestedIteration::combinations(PyObject* callable, Value* pool, int64_t length, Rows rows) {
  struct Known {
    const char* type;
    const char* functions[2];  ///< of two items, of three
  };
  static constexpr Known kKnown[] = {
      {"combinations", {"_combinations_2", "_combinations_3"}},
      {"combinations_with_replacement", {"_repeated_2", "_repeated_3"}},
      {"permutations", {"_permutations_2", "_permutations_3"}},
  };
  const auto own = length == 2 || length == 3 ? poolOf(pool) : std::nullopt;
  Value *items = own ? own->items : nullptr, *first = nullptr, *last = nullptr;
  if (own && (items->kind == ValueKind::kTuple || items->kind == ValueKind::kArray)) {
    first = trace.pyInt(trace.syms().constant(0)), last = trace.pyInt(own->size);
  } else if (own) {  // the numbers themselves
    const std::vector<Value*> parts = boundsOf(items);
    const Value* step = parts[2];
    const bool isOne = step->kind == ValueKind::kDataInt ? step->range.lo == 1 && step->range.hi == 1
                                                         : trace.syms().asConst(trace.asSym(parts[2])) == 1;
    if (!isOne) return nullptr;
    first = parts[0], last = parts[1], items = trace.constant(Py_None);
  }
  const bool ofTuple = own && items->kind == ValueKind::kTuple;
  if (!own || !areMany(std::vector<SymId>(static_cast<size_t>(length), own->size), ofTuple)) return nullptr;
  for (const Known& known : kKnown) {
    if (callable != functionOfOurs("itertools", known.type).get()) continue;
    return makeIterator(trace, reinterpret_cast<PyTypeObject*>(callable),
                        PooledStep{trace,
                                   {callable, {own->items, trace.pyInt(trace.syms().constant(length))}},
                                   {known.functions[length - 2], {items, rangeOf(trace), first, last}},
                                   {own->items},
                                   std::move(rows),
                                   {}});
  }
  return nullptr;
}

Value* NestedIteration::flat(Trace& trace, Value* array) {
  static PyObject* const type = ofNumpy("flatiter").release();
  return makeIterator(trace, reinterpret_cast<PyTypeObject*>(type), FlatStep{trace, array});
}

}  // namespace fw::capture
