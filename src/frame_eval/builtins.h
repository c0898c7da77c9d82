// Calls of builtin functions and types, and of C functions of the standard library (the table is builtins.def).
#pragma once

#include "absl/functional/function_ref.h"
#include "frame_eval/consumed_generators.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

/// One call in progress; the handlers are its members.
struct Builtins {
  Interpreter& interpreter;
  Trace& trace;
  const char* name;
  PyObject* callable;

#define FW_BUILTIN(name, handler) Value* handler(const CallArgs& args);
#define FW_BUILTIN_ALIAS(name, handler)
#include "frame_eval/builtins.def"
  Value *rangeOfSymbols(const CallArgs& args), *rangeOfData(Value* first, Value* stop, Value* step);
  Value* scalarAsInt(Value* scalar);
  Value* callMath(const CallArgs& args);
  Value* callOperator(const CallArgs& args);
  Value* callUnbound(PyObject* descriptor, CallArgs args);

  /// Breaks unless there are only positional arguments, in this number.
  void expect(const CallArgs& args, size_t least, size_t most) const;
  [[noreturn]] void refuse(const std::string& why) const;
  Value* take(CallArgs& args, std::string_view key) const;
  Value* byStepsOfOurs(const CallArgs& args);
  Value* number(int64_t value) const;
  Ref realObject(Value* value);
  Value *extreme(const CallArgs& args, int op), *extremeByKey(Value* iterable, Value* key, int op);
  bool isManyNumbers(Value* iterable);
  Value* firstOfMany(Value* iterator);
  /// So many that they are not taken one by one.
  bool isLong(const Value* iterable) const;
  /// What `combine` makes of `first` and all items of such a one; without a `first`, of the items. Null: of nothing.
  Value* fold(Value* iterable, Value* first, absl::FunctionRef<Value*(Value* total, Value* item)> combine);
  Value* consumed(Value* iterable, Consumer consumer, Value* otherwise = nullptr) const {
    return ConsumedGenerators{interpreter, trace}.consume(iterable, consumer, otherwise);
  }
  Value *sumOfMany(Value* iterable, Value* start), *extremeOfMany(Value* iterable, int op);
  Value* oneOf(graph::ValueId condition, Value* first, Value* second);
  PyObject* interned(Value* text);
  bool isSubclass(PyTypeObject* type, Value* cls);
  std::optional<bool> isOfEachClass(Value* number, Value* cls);
  std::vector<Value*> iterators(const std::vector<Value*>& iterables);
  int64_t count(Value* value);
  static Value* mapped(Interpreter& in, Value* function, std::vector<Value*> items);
  Value* ofClass(Value* value, const char* method, PyTypeObject& type);
  std::vector<Value*> product(const std::vector<Value*>& iterables, int64_t times) const;
  std::vector<Value*> combinations(Value* pool, std::optional<int64_t> length) const;
  Value* choose(const CallArgs& args, bool wanted);
  std::vector<Value*> sortedItems(const std::vector<Value*>& items, Value* key, Value* reverse);
};

/// From 3.12 on, sum() of floats makes up for what is lost by rounding.
bool sumsPlainly();
/// x ** y of Python floats that array data decides.
Value* floatPower(Trace& trace, graph::ValueId base, graph::ValueId exponent);
/// Whether callBuiltin() understands calls of it with some arguments.
bool isKnownBuiltin(PyObject* callable);

/// Call of a function of the standard library written in Python that is not inlined; null if it is none.
Value* callLibrary(Interpreter& interpreter, Trace& trace, PyObject* function, const CallArgs& args);
/// Breaks if this brings something in or out: print, open, logging ...
bool isOutput(PyObject* callable);
void refuseOutput(PyObject* callable);

}  // namespace fw::capture
