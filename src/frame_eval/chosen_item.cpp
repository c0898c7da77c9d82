#include "frame_eval/chosen_item.h"

#include <algorithm>
#include <numeric>

#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {
namespace {

using graph::Op;
using graph::ValueId;

/// Comparisons and choices one after the other: a table in memory is faster from there on.
constexpr size_t kMostItems = 16;

class Choice {
 public:
  Choice(Trace& trace, ValueId index, const std::vector<int64_t>& numbers)
      : trace_(trace),
        index_(index),
        numbers_(numbers) {}

  Value* among(const std::vector<Value*>& items) {
    const auto all = [&](const auto& is) { return std::all_of(items.begin(), items.end(), is); };
    if (all([&](const Value* v) { return Choices::isSame(items[0], v); })) return items[0];
    if (all(DataInts::isWhole)) return amongInts(items);
    if (all([](const Value* v) { return numberKind(v) == ValueKind::kPyFloat; }))
      return amongNumbers(items, ValueKind::kPyFloat);
    if (all([](const Value* v) { return numberKind(v) == ValueKind::kPyBool && !v->joined; }))
      return amongNumbers(items, ValueKind::kPyBool);
    if (all(isTuple))
      if (Value* tuple = amongTuples(items)) return tuple;
    Choices choices{trace_};
    return all([&](const Value* v) { return choices.mayBe(v); }) ? amongThings(items) : nullptr;
  }

 private:
  ValueId amongNodes(const std::vector<ValueId>& nodes) {
    graph::Graph& g = trace_.graph();
    ValueId chosen = nodes[0];
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (nodes[i] == chosen) continue;
      const ValueId number = g.constant(graph::Scalar::ofInt(graph::DType::kI64, numbers_[i]));
      chosen = numpy::ufuncNode(trace_, Op::kWhere, {g.binary(Op::kEqual, index_, number), nodes[i], chosen});
    }
    return chosen;
  }

  Value* amongInts(const std::vector<Value*>& items) {
    DataInts ints{trace_};
    std::vector<ValueId> nodes;
    graph::SymRange range{INT64_MAX, INT64_MIN};
    for (Value* item : items) {
      const Value* number = ints.of(item);
      if (!number) return nullptr;
      nodes.push_back(number->node);
      range = hull(range, number->range);
    }
    return ints.make(amongNodes(nodes), range);
  }

  Value* amongNumbers(const std::vector<Value*>& items, ValueKind kind) {
    std::vector<ValueId> nodes;
    for (Value* item : items) nodes.push_back(trace_.operand(item).value);
    return trace_.number(kind, amongNodes(nodes));
  }

  Value* amongThings(const std::vector<Value*>& items) {
    Choices choices{trace_};
    std::vector<Value*> things;
    std::vector<ValueId> nodes;
    for (Value* item : items) {
      things = choices.joined(std::move(things), item);
      nodes.push_back(choices.node(item));
    }
    return choices.make(std::move(things), amongNodes(nodes), "array data decides which of several things it is");
  }

  Value* amongTuples(const std::vector<Value*>& items) {
    std::vector<std::vector<Value*>> columns;
    for (size_t i = 0; i < items.size(); ++i) {
      const auto own = tupleItems(trace_, items[i]);
      if (own && i == 0) columns.resize(own->size());
      if (!own || own->size() != columns.size()) return nullptr;
      for (size_t k = 0; k < own->size(); ++k) columns[k].push_back((*own)[k]);
    }
    std::vector<Value*> chosen;
    for (const std::vector<Value*>& column : columns) {
      Value* item = among(column);
      if (!item) return nullptr;
      chosen.push_back(item);
    }
    return trace_.tuple(std::move(chosen));
  }

  Trace& trace_;
  ValueId index_;
  const std::vector<int64_t>& numbers_;
};

}  // namespace

std::optional<std::vector<Value*>> tupleItems(Trace& trace, Value* value) {
  if (value->cls || !value->overlay.empty() || !isTuple(value)) return std::nullopt;
  return numpy::sequenceItems(trace, value);
}

bool isLateIndex(Trace& trace, const Value* index) {
  if (index->kind == ValueKind::kDataInt) return true;
  if (index->kind == ValueKind::kArrayScalar) return graph::isInteger(trace.graph().type(index->node).dtype);
  return index->kind == ValueKind::kPyInt && (trace.turns.contains(index->sym) || trace.decided.contains(index->sym));
}

bool mayBeChosen(Trace& trace, const std::vector<Value*>& items) {
  const auto isKnown = [&](const auto& self, Value* item) -> bool {
    trace.open(item);
    if (const auto parts = tupleItems(trace, item))
      return std::all_of(parts->begin(), parts->end(), [&](Value* part) { return self(self, part); });
    if (item->isConstant()) return Choices{trace}.mayBe(item);
    return item->source.valid() && (item->kind == ValueKind::kPyInt || item->kind == ValueKind::kPyFloat);
  };
  return items.size() > 1 && items.size() <= kMostItems &&
         std::all_of(items.begin(), items.end(), [&](Value* item) { return isKnown(isKnown, item); });
}

Value* chosenItem(Trace& trace, const std::vector<Value*>& items, Value* index) {
  if (items.empty() || items.size() > kMostItems) return nullptr;
  DataInts ints{trace};
  Value* number = ints.ofScalar(index);
  if (!number) return nullptr;
  const auto size = static_cast<int64_t>(items.size());
  ints.requireWithin(number, trace.syms().constant(-size), trace.syms().constant(size - 1));
  number = ints.within(number, {-size, size - 1});
  ValueId place = number->node;
  if (number->range.lo < 0) {
    graph::Graph& g = trace.graph();
    const auto constant = [&](int64_t v) { return g.constant(graph::Scalar::ofInt(graph::DType::kI64, v)); };
    const ValueId fromEnd = g.binary(Op::kLess, place, constant(0));
    place = numpy::ufuncNode(trace, Op::kWhere, {fromEnd, g.binary(Op::kAdd, place, constant(size)), place});
  }
  std::vector<int64_t> numbers(items.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return Choice{trace, place, numbers}.among(items);
}

Value* chosenAmong(Trace& trace, ValueId index, const std::vector<int64_t>& numbers,
                   const std::vector<Value*>& values) {
  return Choice{trace, index, numbers}.among(values);
}

}  // namespace fw::capture
