// Methods of values that live in the trace: arrays (NumPy side), lists, tuples, dicts, and methods of builtin immutable
// objects, which CPython itself runs on constants.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/classes.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/library_calls.h"
#include "frame_eval/locks.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/numpy/error_state.h"
#include "frame_eval/numpy/random.h"
#include "frame_eval/sets.h"
#include "frame_eval/type_lookups.h"
#include "frame_eval/unseen_list.h"
#include "frame_eval/work_list.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

Value* Interpreter::callMethod(Value* self, const std::string& name, CallArgs args) {
  for (Value* value : args.positional) trace_.open(value);
  for (auto& [keyword, value] : args.keywords) trace_.open(value);
  if (Value* result = blindMethod(self, name, args)) return result;
  if (Value* result = Collections{*this, trace_}.blindMethod(self, name, args)) return result;
  trace_.open(self);
  numpy::settled(trace_, self);
  if (isForeignSet(self)) return Sets{*this, trace_}.foreignMethod(self, name, args);
  switch (self->kind) {
    case ValueKind::kArray:
    case ValueKind::kArrayScalar: return LibraryCalls{*this, trace_}.callMethod(self, name, std::move(args));
    case ValueKind::kLongList:
      if (name == "copy" && args.positional.empty() && args.keywords.empty())
        if (Value* copy = LongList::copied(trace_, self, site())) return Collections{*this, trace_}.workedIfFound(copy);
      if (Value* result = Collections{*this, trace_}.workMethod(self, name, args)) return result;
      if (name == "sort") return sortList(self, args);
      if (!args.keywords.empty() || args.positional.size() != 1 || (name != "append" && name != "extend"))
        trace_.fail(BreakReason::kUnsupportedCall, "list." + name + " of a long list");
      extendList(self, name == "append" ? args.positional : iterate(args.positional[0]));
      return trace_.constant(Py_None);
    case ValueKind::kPooledList:
      if (Value* result = Collections{*this, trace_}.workMethod(self, name, args)) return result;
      if (name == "sort") return sortList(self, args);
      trace_.fail(BreakReason::kUnsupportedCall, "list." + name + " of a list in a list");
    case ValueKind::kList: (void)Collections{*this, trace_}.workMethod(self, name, args); [[fallthrough]];
    case ValueKind::kTuple: return listMethod(self, name, args);
    case ValueKind::kDict: return dictMethod(self, name, args);
    case ValueKind::kWorkTable:
      if (args.positional.empty() && args.keywords.empty() && (name == "keys" || name == "values" || name == "items"))
        return viewOf(self, name);
      return WorkTable{*this, trace_, self}.method(name, args);
    case ValueKind::kDeque: return Collections{*this, trace_}.dequeMethod(self, name, args);
    case ValueKind::kSet: return Sets{*this, trace_}.method(self, name, args);
    case ValueKind::kException: return exceptionMethod(self, name, args);
    case ValueKind::kIterator: return iteratorMethod(self, name, args);
    case ValueKind::kPyFloat:
    case ValueKind::kPyInt:
    case ValueKind::kDataInt:
    case ValueKind::kPyBool: {
      // A method of a number that is known before the compiled code runs: called then, or now on the value seen.
      std::vector<Value*> operands{self};
      operands.insert(operands.end(), args.positional.begin(), args.positional.end());
      const bool isLate = self->kind == ValueKind::kDataInt || self->kind == ValueKind::kPyBool ||
                          (self->kind == ValueKind::kPyInt && trace_.turns.contains(self->sym));
      if (isLate && (name == "bit_length" || name == "bit_count") && operands.size() == 1 && args.keywords.empty())
        return Collections{*this, trace_}.bySteps("_int_" + name, {DataInts{trace_}.of(self)});
      PyObject* method = lookUp(trace_.typeOf(self), internedName(name).get());
      if (method && args.keywords.empty()) {
        if (Value* result = trace_.numbers().apply(method, operands)) return result;
      }
      if (Value* known = trace_.specializeNumber(self)) return constantMethod(known, name, args);
      trace_.fail(BreakReason::kUnsupportedCall, std::string(trace_.typeOf(self)->tp_name) + "." + name);
    }
    case ValueKind::kConstant:
      if (PyFrozenSet_CheckExact(self->object.get())) return Sets{*this, trace_}.method(self, name, args);
      return constantMethod(self, name, args);
    case ValueKind::kOpaque:
      if (self->name == "property") return Classes::changed(trace_, self, name, args);
      [[fallthrough]];
    default:
      if (self->kind == ValueKind::kObject && numpy::holdsErrorState(self->object.get()))
        return numpy::callErrorState(trace_, name, args);
      if (self->kind == ValueKind::kObject && Locks::isLock(Py_TYPE(self->object.get())))
        return Locks{*this, trace_}.call(self, name, args);
      if (Value* drawn = numpy::draw(trace_, self, name, args)) return drawn;
      trace_.fail(BreakReason::kUnsupportedCall, std::string(trace_.typeOf(self)->tp_name) + "." + name);
  }
}

Value* Interpreter::constantMethod(Value* self, const std::string& name, const CallArgs& args) {
  PyObject* object = self->object.get();
  FW_CHECK(isPlain(object) || PyRange_Check(object));
  if (name == "join" && PyUnicode_CheckExact(object) && args.positional.size() == 1) {
    Ref list = checked(PyList_New(0));
    for (Value* part : iterate(args.positional[0])) {
      if (!part->isConstant() || !isPlain(part->object.get())) {
        trace_.fail(BreakReason::kUnsupportedCall, "str.join of this object");
      }
      checked(PyList_Append(list.get(), part->object.get()));
    }
    return fold(PyUnicode_Join(object, list.get()));
  }
  auto plain = [&](Value* v) {
    Value* known = trace_.specializeNumber(v);
    if (!known || !isPlain(known->object.get())) {
      trace_.fail(BreakReason::kUnsupportedCall, std::string(Py_TYPE(object)->tp_name) + "." + name);
    }
    return known->object;
  };
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i) {
    PyTuple_SET_ITEM(positional.get(), i, plain(args.positional[i]).release());
  }
  Ref keywords = checked(PyDict_New());
  for (auto& [key, value] : args.keywords)
    checked(PyDict_SetItemString(keywords.get(), key.c_str(), plain(value).get()));
  Ref method = checked(PyObject_GetAttrString(object, name.c_str()));
  Value* result = fold(PyObject_Call(method.get(), positional.get(), keywords.get()));
  return isSameObject(result, self) ? self : result;
}

Value* Interpreter::listMethod(Value* self, const std::string& name, const CallArgs& args) {
  bool list = self->kind == ValueKind::kList;
  size_t count = args.positional.size();
  bool simple = args.keywords.empty();
  auto& items = self->items;
  auto none = [&] { return trace_.constant(Py_None); };
  if (simple && count == 1 && (name == "index" || name == "count")) {
    Py_ssize_t found = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!isSameObject(items[i], args.positional[0]) && !trace_.truth(compare(Py_EQ, items[i], args.positional[0])))
        continue;
      if (name == "index") return trace_.constant(checked(PyLong_FromSize_t(i)));
      ++found;
    }
    if (name == "index") raiseAbout(PyExc_ValueError, "not in list");
    return trace_.constant(checked(PyLong_FromSsize_t(found)));
  }
  if (list && simple && name == "copy" && count == 0) {
    Value* copy = LongList::copied(trace_, self, site());
    if (!copy) {
      copy = trace_.list(items);
      copy->site = site();
    }
    return Collections{*this, trace_}.workedIfFound(copy);
  }
  if (list && simple && name == "remove" && count == 1) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (!isSameObject(items[i], args.positional[0]) && !trace_.truth(compare(Py_EQ, items[i], args.positional[0])))
        continue;
      spliceList(self, i, i + 1, {});
      return none();
    }
    raiseAbout(PyExc_ValueError, "not in list");
  }
  if (list && name == "sort") return sortList(self, args);
  if (!list || !simple) trace_.fail(BreakReason::kUnsupportedCall, std::string(list ? "list." : "tuple.") + name);
  if (name == "append" && count == 1) {
    extendList(self, args.positional);
    return none();
  }
  if (name == "extend" && count == 1) {
    if (isLongList(args.positional[0]) || PooledList::is(args.positional[0]))
      return Collections{*this, trace_}.bySteps("_list_extend", {self, args.positional[0]});
    extendList(self, iterate(args.positional[0]));
    return none();
  }
  if (name == "pop" && count <= 1) {
    const char* outside = items.empty() ? "pop from empty list" : "pop index out of range";
    Value* index = count ? args.positional[0] : trace_.constant(checked(PyLong_FromLong(-1)));
    size_t at = itemIndex(self, index, outside);
    WorkList::notePop(trace_, self);
    Value* item = items[at];
    spliceList(self, at, at + 1, {});
    return item;
  }
  if (name == "insert" && count == 2) {
    int64_t at = trace_.specialize(trace_.asSym(args.positional[0]));
    auto size = static_cast<int64_t>(items.size());
    at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    spliceList(self, static_cast<size_t>(at), static_cast<size_t>(at), {args.positional[1]});
    return none();
  }
  if (name == "reverse" && count == 0) {
    spliceList(self, 0, items.size(), {items.rbegin(), items.rend()});
    return none();
  }
  if (name == "clear" && count == 0) {
    spliceList(self, 0, items.size(), {});
    return none();
  }
  trace_.fail(BreakReason::kUnsupportedCall, "list." + name);
}

/// Methods that an unseen list goes through unopened. Null if this is something else.
Value* Interpreter::blindMethod(Value* self, const std::string& name, const CallArgs& args) {
  if (!isUnseenList(self) || !args.keywords.empty()) return nullptr;
  if (name == "append" && args.positional.size() == 1) {
    extendList(self, args.positional);
    return trace_.constant(Py_None);
  }
  if (name == "extend" && args.positional.size() == 1 && args.positional[0] != self) {
    extendList(self, iterate(args.positional[0]));
    return trace_.constant(Py_None);
  }
  return name == "pop" && args.positional.empty() ? UnseenList{trace_, self}.pop() : nullptr;
}

/// The same called through the type, as a region finds it that begins between the look-up of a method and its call.
Value* Interpreter::unseenMethod(PyObject* callable, const CallArgs& args) {
  bool ofList = Py_TYPE(callable) == &PyMethodDescr_Type && PyDescr_TYPE(callable) == &PyList_Type;
  if (!ofList || args.positional.empty() || !isUnseenList(args.positional[0])) return nullptr;
  CallArgs rest{.positional = {args.positional.begin() + 1, args.positional.end()}, .keywords = args.keywords};
  for (Value* value : rest.positional) trace_.open(value);
  return blindMethod(args.positional[0], text(PyDescr_NAME(callable)), rest);
}

Value* Interpreter::dictMethod(Value* self, const std::string& name, const CallArgs& args) {
  size_t count = args.positional.size();
  if (isOrdered(self)) {
    if (Value* result = Collections{*this, trace_}.orderedMethod(self, name, args)) return result;
  }
  if (args.keywords.empty() && count == 1 && name == "__getitem__") return plainItem(self, args.positional[0]);
  if (args.keywords.empty() && count == 1 && name == "__contains__") {
    return trace_.constant(findKey(self, key(args.positional[0])) >= 0 ? Py_True : Py_False);
  }
  if (args.keywords.empty() && count == 0) {
    if (name == "keys" || name == "values" || name == "items") {
      return viewOf(self, name);
    }
    if (name == "copy" || name == "__copy__") {
      Value* copy = trace_.make(ValueKind::kDict);
      copy->keys = self->keys;
      copy->items = self->items;
      // dict.copy makes a plain dict, those of OrderedDict and defaultdict call the class.
      bool keeps = self->cls && (isOrdered(self) || isDefaultdict(trace_.typeOf(self)));
      if (keeps && isSubclassValue(self))
        trace_.fail(BreakReason::kUnsupportedCall, std::string(trace_.typeOf(self)->tp_name) + ".copy");
      if (keeps) copy->cls = self->cls;
      if (keeps) copy->base = self->base;  // the factory of a defaultdict
      return copy;
    }
  }
  bool get = name == "get", set = name == "setdefault", remove = name == "pop";
  if (args.keywords.empty() && (get || set || remove) && (count == 1 || count == 2)) {
    Value* fallback = count == 2 ? args.positional[1] : trace_.constant(Py_None);
    if (get && self->keys.size() > 1)
      if (Value* known = Collections{*this, trace_}.entryAmongKnown(self, args.positional[0], fallback)) return known;
    if (!remove && WorkTable::isLate(trace_, args.positional[0])) {
      WorkTable::require(trace_, self, args.positional[0], set ? fallback : nullptr);
      if (get && self->items.empty() && !self->source.valid()) return fallback;
    }
    Value* k = key(args.positional[0]);
    int at = findKey(self, k);
    if (at < 0) {
      if (remove && count == 1) raiseError(PyExc_KeyError, {k});
      if (set) setKey(self, k, fallback);
      return fallback;
    }
    Value* found = self->items[at];
    if (remove) eraseKey(self, at);
    return found;
  }
  if (args.keywords.empty() && count == 0 && name == "popitem") {
    if (self->keys.empty()) raises("KeyError: popitem(): dictionary is empty");
    Value* pair = trace_.tuple({self->keys.back(), self->items.back()});
    eraseKey(self, static_cast<int>(self->keys.size()) - 1);
    return pair;
  }
  if (args.keywords.empty() && count == 0 && name == "clear") {
    while (!self->keys.empty()) eraseKey(self, static_cast<int>(self->keys.size()) - 1);
    return trace_.constant(Py_None);
  }
  if (name == "update" && count <= 1) {
    updateDict(self, args);
    return trace_.constant(Py_None);
  }
  trace_.fail(BreakReason::kUnsupportedCall, "dict." + name);
}

}  // namespace fw::capture
