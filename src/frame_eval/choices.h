// Things of which array data decides which one it is: `state = "idle"`, and under a condition `state = "run"`. They are
// constants - strings, None, members of enums - and objects of the caller's.
//
// All that a trace chooses from stands in one table. A choice is the number of its thing there, which is a value of the
// graph; whatever is asked of it is asked of each thing that it may be.
//
// One of the things may be none that is known: the payload, a tuple or a number that is there if the number of the
// choice says so (`best = None`, and under a condition `best = (i, j)`). Each choice has its own; all are one entry of
// the table.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "frame_eval/trace.h"

namespace fw::capture {

class Interpreter;

class Choices {
 public:
  explicit Choices(Trace& trace) : trace_(trace) {}

  /// Things that one choice is between: each of them is asked.
  static constexpr size_t kMostThings = 12;

  static bool is(const Value* value) { return value->kind == ValueKind::kChosen; }
  /// A choice without payload, or a thing that can become one.
  bool mayBe(const Value* value) const;
  /// Nobody tells the things apart.
  static bool isSame(const Value* first, const Value* second);
  /// What can be the payload of a choice: a tuple or a number that the trace has made.
  static bool isPayload(const Value* value);
  static bool hasPayload(const std::vector<Value*>& things) {
    return std::any_of(things.begin(), things.end(), isPayload);
  }
  /// The value, if it is one, or that of the choice; null if there is none.
  static Value* payloadOf(Value* value);
  /// The choice with another payload.
  Value* withPayload(Value* choice, Value* payload);
  /// Something of the same kind where there is none; null if nothing is.
  Value* anyLike(Value* payload);
  /// A choice with or without payload, something that can become one, or a payload.
  bool mayBeOpen(Value* value) const { return mayBe(value) || payloadOf(value); }
  /// What it may be.
  static std::vector<Value*> thingsOf(Value* value) { return is(value) ? value->items : std::vector<Value*>{value}; }
  /// Those and others, each once.
  std::vector<Value*> joined(std::vector<Value*> things, Value* with) const;
  /// One of the things by its number, a kDataInt that may have no node yet. None if there are too many.
  Value* make(std::vector<Value*> things, Value* number, const std::string& why);
  /// By the number, an i64 of the graph.
  Value* make(std::vector<Value*> things, graph::ValueId number, const std::string& why);
  /// Where the numbers of the things are.
  graph::SymRange rangeOf(const std::vector<Value*>& things);
  int64_t numberOf(Value* thing);
  /// What the choice is where it is not that one of its things.
  Value* without(Value* choice, const Value* thing);
  /// Whether the choice is that one of its things, a bool of the graph.
  graph::ValueId isThing(const Value* choice, Value* thing);
  /// Of a choice or a thing, a kDataInt.
  Value* number(Value* value);
  graph::ValueId node(Value* value) { return number(value)->node; }

  /// A string or a member of an enum: what a list of names holds.
  static bool isName(const Value* value);
  /// Whether two names are equal; those that are may be two things, as strings from outside may be two objects.
  static bool areEqualNames(const Value* first, const Value* second);
  /// Whether the number of each name that it may be says whether it is equal to another one.
  bool areTold(Value* value);
  /// Of a list that stands in arrays (long_list.h), the form whose items are such things: a choice without a number. It
  /// gets more of them as long as none of its items has been taken for one of those it had.
  Value* form(Value* item);
  bool mayHold(Value* form, Value* item);
  /// Of constants; null if there are too many.
  Value* form(std::vector<Value*> things);
  /// The form, or the choice, is between constants.
  static bool areConstants(const Value* value);
  /// The form, or the choice, is between names: their numbers say whether they are equal.
  static bool areNames(const Value* value);
  Value* item(Value* form, graph::ValueId number);

  /// What `ask` answers for what `value` is, where it is a choice; of each of the things if the answers differ. One for
  /// which it raises fails the call. Breaks where the answers cannot be one value, or where code of the user's would
  /// answer for things that it is not.
  Value* ofEach(Interpreter& in, Value* value, absl::FunctionRef<Value*(Value*)> ask);
  Value* ofEach(Interpreter& in, Value* left, Value* right, absl::FunctionRef<Value*(Value*, Value*)> ask);
  /// Of the two operands on the stack, which get off it; the answer gets on.
  void answer(Interpreter& in, absl::FunctionRef<Value*(Value*, Value*)> ask);
  /// dict[key] = value, all of them on the stack, where the key is a choice between keys that the dict has.
  void storeItem(Interpreter& in);

 private:
  Trace& trace_;
};

}  // namespace fw::capture
