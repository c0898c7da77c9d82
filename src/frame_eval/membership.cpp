// What array data decides about is looked for among a few things that are known: `k in (1, 2, 7)`, `TABLE[state, bit]`.
// Each of them is compared, which is what a hash finds as well: numbers, names (choices.h), and tuples of those are
// equal if and only if dicts and sets take them for the same.
#include <algorithm>
#include <cmath>
#include <optional>

#include "frame_eval/choices.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/collections.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using graph::Op;
using graph::ValueId;

namespace {

/// Comparisons one after the other.
constexpr size_t kMostKnown = 64;

/// A number of which array data, or the turn, decides the value.
bool isData(Trace& trace, Value* value) {
  if (value->kind == ValueKind::kDataInt || value->kind == ValueKind::kArrayScalar) return true;
  if (value->kind == ValueKind::kPyInt) return isLateIndex(trace, value);
  const bool number = value->kind == ValueKind::kPyFloat || value->kind == ValueKind::kPyBool;
  return number && !value->source.valid() && !trace.numbers().of(value);
}

/// Nobody knows what it is, as a whole or in a part of it.
bool isLate(Trace& trace, Value* value) {
  if (Choices::is(value)) return true;
  if (const auto items = tupleItems(trace, openKnown(trace, value)))
    return std::any_of(items->begin(), items->end(), [&](Value* item) { return isLate(trace, item); });
  return !value->isUnknown() && isData(trace, value);
}

struct Matching {
  Interpreter& in;
  Trace& trace;

  /// And one more.
  ValueId with(Op op, std::optional<ValueId> others, ValueId one) const {
    return others ? trace.graph().binary(op, *others, one) : one;
  }
  ValueId known(bool answer) const { return trace.graph().constant(graph::Scalar::ofBool(answer)); }

  /// Whether they are equal, as a bool of the graph; none if nobody knows how to find out.
  std::optional<ValueId> equal(Value* thing, Value* wanted) const {
    if (Choices::is(wanted)) return equalName(thing, wanted);
    if (wanted->isUnknown() || thing->isUnknown()) return std::nullopt;
    trace.open(thing);
    const auto things = tupleItems(trace, thing), items = tupleItems(trace, trace.open(wanted));
    if (things && items) return equalItems(*things, *items);
    if (isData(trace, wanted)) return equalNumber(thing, wanted);
    if (!isPlainConstant(thing) || !isPlainConstant(wanted)) return std::nullopt;
    const int answer = PyObject_RichCompareBool(thing->object.get(), wanted->object.get(), Py_EQ);
    if (answer < 0) throw cpython::PythonError();
    return known(answer != 0);
  }

 private:
  std::optional<ValueId> equalName(Value* thing, Value* wanted) const {
    if (!Choices::areNames(wanted) || thing->isUnknown() || !trace.open(thing)->isConstant()) return std::nullopt;
    std::optional<ValueId> any;
    for (Value* name : wanted->items)
      if (Choices::isName(thing) && Choices::areEqualNames(name, thing))
        any = with(Op::kLogicalOr, any, Choices{trace}.isThing(wanted, name));
    return any ? *any : known(false);
  }

  std::optional<ValueId> equalItems(const std::vector<Value*>& things, const std::vector<Value*>& items) const {
    if (things.size() != items.size()) return known(false);
    std::optional<ValueId> all;
    for (size_t i = 0; i < items.size(); ++i) {
      const auto one = equal(things[i], items[i]);
      if (!one) return std::nullopt;
      all = with(Op::kLogicalAnd, all, *one);
    }
    return all ? *all : known(true);
  }

  /// Of a number that is not the same object, so that one that is not equal to itself is not found.
  std::optional<ValueId> equalNumber(Value* thing, Value* wanted) const {
    const bool isConstant = thing->isConstant() && isPlainConstant(thing);
    if (!isConstant && !(DataInts::isWhole(thing) && DataInts::isWhole(wanted))) return std::nullopt;
    if (isConstant) {
      PyObject* object = thing->object.get();
      if (object == Py_None && MixedNumbers::mayBeNone(wanted)) return MixedNumbers{trace}.isNone(wanted)->node;
      if (PyFloat_CheckExact(object) && std::isnan(PyFloat_AS_DOUBLE(object))) return std::nullopt;
      if (PyUnicode_CheckExact(object) || object == Py_None || PyTuple_CheckExact(object)) return known(false);
      if (!PyLong_CheckExact(object) && !PyBool_Check(object) && !PyFloat_CheckExact(object)) return std::nullopt;
    }
    Value* same = in.compare(Py_EQ, thing, wanted);
    if (same->isConstant()) return known(same->object.get() == Py_True);
    return trace.graph().cast(trace.operand(same).value, graph::DType::kBool);
  }
};

}  // namespace

Value* Collections::holdsAmongKnown(Value* container, Value* item) {
  if (!isLate(trace, item)) return nullptr;
  const bool isSequence = (container->kind == ValueKind::kList || isTuple(container)) && !container->cls;
  const bool isPlain = container->kind == ValueKind::kDict && !container->cls;
  if (!isSequence && !isPlain && container->kind != ValueKind::kSet && !isConstantOf(container, &PyFrozenSet_Type))
    return nullptr;
  const bool isConstant = container->isConstant();
  const auto size = isConstant ? static_cast<size_t>(PyObject_Size(container->object.get())) : container->items.size();
  if (size > kMostKnown) return nullptr;
  const std::vector<Value*> things = in.iterate(container);
  const Matching matching{in, trace};
  std::optional<ValueId> any;
  for (Value* thing : things) {
    if (thing == item) return nullptr;
    const auto one = matching.equal(thing, item);
    if (!one) return nullptr;
    any = matching.with(Op::kLogicalOr, any, *one);
  }
  return any ? trace.number(ValueKind::kPyBool, *any) : trace.constant(Py_False);
}

Value* Collections::entryAmongKnown(Value* dict, Value* key, Value* otherwise) {
  const bool isKnown = dict->kind == ValueKind::kDict && !dict->cls && !dict->base;
  if (!isKnown || dict->keys.empty() || dict->keys.size() > kMostKnown || !isLate(trace, key)) return nullptr;
  DataInts ints{trace};
  const Matching matching{in, trace};
  const auto constant = [&](size_t v) {
    return trace.graph().constant(graph::Scalar::ofInt(graph::DType::kI64, static_cast<int64_t>(v)));
  };
  const size_t none = dict->keys.size();
  ValueId number = constant(none);
  std::vector<int64_t> numbers;
  std::vector<Value*> values;
  for (size_t i = 0; i < none; ++i) {
    const auto same = matching.equal(dict->keys[i], key);
    if (!same) return nullptr;
    number = numpy::ufuncNode(trace, Op::kWhere, {*same, constant(i), number});
    numbers.push_back(static_cast<int64_t>(i));
    values.push_back(openKnown(trace, dict->items[i]));
  }
  if (otherwise) {
    numbers.push_back(static_cast<int64_t>(none));
    values.push_back(openKnown(trace, otherwise));
  }
  Value* value = chosenAmong(trace, number, numbers, values);
  if (value && !otherwise) ints.require(trace.graph().binary(Op::kLess, number, constant(none)), PyExc_KeyError);
  return value;
}

}  // namespace fw::capture
