#include "frame_eval/choices.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "frame_eval/branch_join.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/collections.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/keys.h"
#include "frame_eval/unwind.h"
#include "frame_eval/work_table.h"

namespace fw::capture {

using graph::Op;
using graph::ValueId;

namespace {

ValueId constant(Trace& trace, int64_t number) {
  return trace.graph().constant(graph::Scalar::ofInt(graph::DType::kI64, number));
}

/// Of what it may be.
size_t itemsOf(Value* value) {
  size_t count = 0;
  for (const Value* thing : Choices::thingsOf(value)) count += thing->items.size();
  return count;
}

}  // namespace

bool Choices::isSame(const Value* first, const Value* second) {
  return first == second || areEqualConstants(first, second);
}

bool Choices::mayBe(const Value* value) const {
  if (is(value)) return !hasPayload(value->items);
  if (value->isConstant()) return !trace_.standIns.contains(value->object.get());
  return value->kind == ValueKind::kObject && value->source.valid() && value->opened && !value->written;
}

bool Choices::isPayload(const Value* value) {
  if (value->kind == ValueKind::kTuple) return !value->cls && value->overlay.empty() && !value->source.valid();
  return value->isNumeric() && value->kind != ValueKind::kArray && !value->source.valid() && !value->isUnsure();
}

Value* Choices::payloadOf(Value* value) {
  if (!is(value)) return isPayload(value) ? value : nullptr;
  const auto at = std::find_if(value->items.begin(), value->items.end(), isPayload);
  return at == value->items.end() ? nullptr : *at;
}

Value* Choices::withPayload(Value* choice, Value* payload) {
  std::vector<Value*> things = choice->items;
  std::replace_if(things.begin(), things.end(), isPayload, payload);
  return make(std::move(things), choice->which, choice->name);
}

Value* Choices::anyLike(Value* payload) {
  if (payload->isConstant()) return payload;
  if (is(payload)) return payload->items[0]->isConstant() ? payload->items[0] : nullptr;
  if (payload->kind == ValueKind::kTuple && isPayload(payload)) {
    std::vector<Value*> items;
    for (Value* item : payload->items) {
      items.push_back(anyLike(openKnown(trace_, item)));
      if (!items.back()) return nullptr;
    }
    return trace_.tuple(std::move(items));
  }
  if (MixedNumbers::is(payload) || DataInts::isWhole(payload))
    return trace_.constant(cpython::checked(PyLong_FromLong(0)));
  const ValueKind kind = numberKind(payload);
  if (kind == ValueKind::kNull || payload->joined) return nullptr;
  return trace_.number(
      kind, trace_.graph().constant(graph::Scalar::zero(trace_.graph().type(trace_.operand(payload).value).dtype)));
}

std::vector<Value*> Choices::joined(std::vector<Value*> things, Value* with) const {
  for (Value* thing : thingsOf(with)) {
    const auto isIt = [&](const Value* known) {
      return isSame(known, thing) || (isPayload(known) && isPayload(thing));
    };
    if (std::none_of(things.begin(), things.end(), isIt)) things.push_back(thing);
  }
  return things;
}

int64_t Choices::numberOf(Value* thing) {
  std::vector<Value*>& table = trace_.branches.things;
  std::optional<int64_t>& payload = trace_.branches.payload;
  if (isPayload(thing)) {
    if (!payload) {
      payload = std::ssize(table);
      table.push_back(trace_.make(ValueKind::kNull));
    }
    return *payload;
  }
  const auto known = std::find_if(table.begin(), table.end(), [&](Value* v) { return isSame(v, thing); });
  if (known != table.end()) return known - table.begin();
  table.push_back(thing);
  return std::ssize(table) - 1;
}

ValueId Choices::isThing(const Value* choice, Value* thing) {
  return trace_.graph().binary(Op::kEqual, choice->which->node, constant(trace_, numberOf(thing)));
}

Value* Choices::without(Value* choice, const Value* thing) {
  std::vector<Value*> others = choice->items;
  std::erase(others, thing);
  return others.size() == 1 ? others[0] : make(std::move(others), choice->which, choice->name);
}

graph::SymRange Choices::rangeOf(const std::vector<Value*>& things) {
  graph::SymRange range{INT64_MAX, INT64_MIN};
  for (Value* thing : things) {
    const int64_t number = numberOf(thing);
    range = hull(range, {number, number});
  }
  return range;
}

Value* Choices::make(std::vector<Value*> things, Value* number, const std::string& why) {
  if (things.size() > kMostThings) return nullptr;
  Value* v = trace_.make(ValueKind::kChosen);
  trace_.branches.noteNumber(v, why);
  v->items = std::move(things);
  v->which = number;
  return v;
}

Value* Choices::make(std::vector<Value*> things, ValueId number, const std::string& why) {
  const graph::SymRange range = rangeOf(things);
  return make(std::move(things), DataInts{trace_}.make(number, range), why);
}

Value* Choices::number(Value* value) {
  if (is(value)) return value->which;
  const int64_t number = numberOf(value);
  return DataInts{trace_}.make(constant(trace_, number), {number, number});
}

bool Choices::isName(const Value* value) {
  if (!value->isConstant()) return false;
  return PyUnicode_CheckExact(value->object.get()) || isEnumMember(value->object.get());
}

bool Choices::areEqualNames(const Value* first, const Value* second) {
  if (isSame(first, second)) return true;
  PyObject *a = first->object.get(), *b = second->object.get();
  return PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b) && PyUnicode_Compare(a, b) == 0;
}

bool Choices::areTold(Value* value) {
  for (Value* name : thingsOf(value)) {
    const int64_t own = numberOf(name);
    const std::vector<Value*>& table = trace_.branches.things;
    for (size_t i = 0; i < table.size(); ++i)
      if (static_cast<int64_t>(i) != own && isName(table[i]) && areEqualNames(table[i], name)) return false;
  }
  return true;
}

bool Choices::areConstants(const Value* value) {
  const auto isOne = [](const Value* thing) { return thing->isConstant(); };
  return is(value) && std::all_of(value->items.begin(), value->items.end(), isOne);
}

bool Choices::areNames(const Value* value) {
  return is(value) && std::all_of(value->items.begin(), value->items.end(), isName);
}

Value* Choices::form(Value* item) { return form(thingsOf(item)); }

Value* Choices::form(std::vector<Value*> things) {
  if (things.size() > kMostThings) return nullptr;
  Value* v = trace_.make(ValueKind::kChosen);
  v->items = std::move(things);
  v->node = constant(trace_, 0);
  return v;
}

bool Choices::mayHold(Value* form, Value* item) {
  if (!is(item)) trace_.open(item);
  if (!mayBe(item)) return false;
  std::vector<Value*> things = joined(form->items, item);
  if (things.size() == form->items.size()) return true;
  if (form->opened || things.size() > kMostThings) return false;
  form->items = std::move(things);
  return true;
}

Value* Choices::item(Value* form, ValueId number) {
  form->opened = true;
  if (form->items.size() == 1) return form->items[0];
  return make(form->items, number, "an item of a list is one thing or another");
}

Value* Choices::ofEach(Interpreter& in, Value* value, absl::FunctionRef<Value*(Value*)> ask) {
  if (!is(value)) return ask(value);
  // What code of the user's does for one of the things, nobody must have done where it is another.
  const size_t effects = trace_.effects().size();
  const absl::Cleanup noted = [this, inlined = trace_.inlines] { trace_.inlines |= inlined; };
  bool runsCode = false;
  std::vector<int64_t> numbers, raising;
  std::vector<Value*> answers;
  for (Value* thing : value->items) {
    trace_.inlines = false;
    try {
      CatchScope scope(in.catchers_);
      answers.push_back(ask(thing));
      numbers.push_back(numberOf(thing));
    } catch (const VirtualRaise&) {
      in.landed();
      raising.push_back(numberOf(thing));
    }
    runsCode |= trace_.inlines && !(thing->object && isEnumMember(thing->object.get()));
  }
  if (runsCode || answers.empty() || trace_.effects().size() != effects) trace_.branches.refuse(value);
  const ValueId number = value->which->node;
  Value* answer = chosenAmong(trace_, number, numbers, answers);
  if (!answer) trace_.branches.refuse(value);
  for (const int64_t other : raising)
    DataInts{trace_}.require(trace_.graph().binary(Op::kNotEqual, number, constant(trace_, other)));
  return answer;
}

Value* Choices::ofEach(Interpreter& in, Value* left, Value* right, absl::FunctionRef<Value*(Value*, Value*)> ask) {
  return ofEach(in, left,
                [&](Value* first) { return ofEach(in, right, [&](Value* second) { return ask(first, second); }); });
}

void Choices::answer(Interpreter& in, absl::FunctionRef<Value*(Value*, Value*)> ask) {
  Value* right = in.popRaw();
  Value* left = in.popRaw();
  const size_t held = itemsOf(left);
  Value* answer = ofEach(in, left, right, ask);
  if (itemsOf(left) != held) trace_.branches.refuse(is(right) ? right : left);  // a defaultdict has made one
  in.push(answer);
}

void Choices::storeItem(Interpreter& in) {
  Value* key = in.popRaw();
  Value* dict = in.pop();
  Value* value = in.popRaw();
  if (WorkTable::is(dict)) return WorkTable{in, trace_, dict}.setItem(key, openKnown(trace_, value));
  const bool plain = dict->kind == ValueKind::kDict && !dict->cls && dict->overlay.empty();
  if (!plain) trace_.branches.refuse(key);
  openKnown(trace_, value);
  for (Value* thing : key->items) {
    const auto at = in.findKey(dict, in.key(trace_.open(thing)));
    if (at < 0) WorkTable::require(trace_, dict, key, value);
    if (at < 0) trace_.branches.refuse(key);
    Value* was = openKnown(trace_, dict->items[static_cast<size_t>(at)]);
    const ValueId isIt = trace_.graph().cast(isThing(key, thing), graph::DType::kI64);
    Value* now = chosenAmong(trace_, isIt, {0, 1}, {was, value});
    if (!now) trace_.branches.refuse(key);
    Collections{in, trace_}.storeKey(dict, thing, now);
  }
}

}  // namespace fw::capture
