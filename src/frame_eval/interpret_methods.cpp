// Methods of values that live in the trace: arrays (NumPy side), lists, tuples, dicts, and methods of builtin immutable
// objects, which CPython itself runs on constants.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

Value* Interpreter::callMethod(Value* self, const std::string& name, CallArgs args) {
  for (Value* value : args.positional) trace_.open(value);
  for (auto& [keyword, value] : args.keywords) trace_.open(value);
  if (Value* result = blindMethod(self, name, args)) return result;
  trace_.open(self);
  switch (self->kind) {
    case ValueKind::kArray:
    case ValueKind::kArrayScalar:
      if (auto result = numpy::callMethod(trace_, self, name, args)) return *result;
      trace_.fail(BreakReason::kUnsupportedNumpy, "ndarray." + name);
    case ValueKind::kList:
    case ValueKind::kTuple:
      return listMethod(self, name, args);
    case ValueKind::kDict:
      return dictMethod(self, name, args);
    case ValueKind::kSet:
      return setMethod(self, name, args);
    case ValueKind::kException:
      return exceptionMethod(self, name, args);
    case ValueKind::kIterator:
      return iteratorMethod(self, name, args);
    case ValueKind::kConstant:
      if (PyFrozenSet_CheckExact(self->object.get())) return setMethod(self, name, args);
      return constantMethod(self, name, args);
    default:
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
  for (auto& [key, value] : args.keywords) checked(PyDict_SetItemString(keywords.get(), key.c_str(), plain(value).get()));
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
      if (!isSameObject(items[i], args.positional[0]) && !trace_.truth(compare(Py_EQ, items[i], args.positional[0]))) continue;
      if (name == "index") return trace_.constant(checked(PyLong_FromSize_t(i)));
      ++found;
    }
    if (name == "index") raiseAbout(PyExc_ValueError, "not in list");
    return trace_.constant(checked(PyLong_FromSsize_t(found)));
  }
  if (list && simple && name == "copy" && count == 0) return trace_.list(items);
  if (list && simple && name == "remove" && count == 1) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (!isSameObject(items[i], args.positional[0]) && !trace_.truth(compare(Py_EQ, items[i], args.positional[0]))) continue;
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
    extendList(self, iterate(args.positional[0]));
    return none();
  }
  if (name == "pop" && count <= 1) {
    if (items.empty()) raiseError(PyExc_IndexError, "pop from empty list");
    size_t at = count ? itemIndex(self, args.positional[0]) : items.size() - 1;
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

/// list.append of a list that nobody has looked into does not look into it either. Null if this is something else.
Value* Interpreter::blindMethod(Value* self, const std::string& name, const CallArgs& args) {
  bool unseen = self->kind == ValueKind::kObject && PyList_CheckExact(self->object.get());
  if (!unseen || name != "append" || args.positional.size() != 1 || !args.keywords.empty()) return nullptr;
  extendList(self, args.positional);
  return trace_.constant(Py_None);
}

/// Items in the order that CPython's own sort gives them by their keys, which must be known.
std::vector<Value*> Interpreter::sorted(std::vector<Value*> items, Value* keyFunction, bool reverse) {
  Ref keys = checked(PyList_New(0)), order = checked(PyList_New(0));
  for (size_t i = 0; i < items.size(); ++i) {
    Value* k = keyFunction ? call(keyFunction, {.positional = {items[i]}, .keywords = {}}) : items[i];
    Ref known = k->kind == ValueKind::kTuple ? trace_.asObject(k) : Ref();
    if (Value* number = known ? nullptr : trace_.specializeNumber(k)) known = number->object;
    if (!known || !isPlain(known.get())) {
      trace_.fail(BreakReason::kUnsupportedCall, std::string("sorting by a ") + trace_.typeOf(k)->tp_name);
    }
    checked(PyList_Append(keys.get(), known.get()));
    Ref index = checked(PyLong_FromSize_t(i));
    checked(PyList_Append(order.get(), index.get()));
  }
  Ref getItem = checked(PyObject_GetAttrString(keys.get(), "__getitem__"));
  Ref sort = checked(PyObject_GetAttrString(order.get(), "sort"));
  Ref none = checked(PyTuple_New(0));
  Ref keywords = checked(PyDict_New());
  checked(PyDict_SetItemString(keywords.get(), "key", getItem.get()));
  checked(PyDict_SetItemString(keywords.get(), "reverse", reverse ? Py_True : Py_False));
  Ref done = Ref::steal(PyObject_Call(sort.get(), none.get(), keywords.get()));
  if (!done) raisesPending();
  std::vector<Value*> result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(order.get()); ++i) {
    result.push_back(items[PyLong_AsSize_t(PyList_GET_ITEM(order.get(), i))]);
  }
  return result;
}

Value* Interpreter::sortList(Value* list, const CallArgs& args) {
  Value* keyFunction = nullptr;
  bool reverse = false;
  for (auto& [name, value] : args.keywords) {
    if (name == "key" && !isNone(value)) keyFunction = value;
    if (name == "reverse") reverse = trace_.truth(value);
  }
  if (!args.positional.empty()) raises("TypeError: sort() takes no positional arguments");
  spliceList(list, 0, list->items.size(), sorted(list->items, keyFunction, reverse));
  return trace_.constant(Py_None);
}

Value* Interpreter::dictMethod(Value* self, const std::string& name, const CallArgs& args) {
  size_t count = args.positional.size();
  if (args.keywords.empty() && count == 0) {
    if (name == "keys" || name == "values" || name == "items") {
      return viewOf(self, name);
    }
    if (name == "copy") {
      Value* copy = trace_.make(ValueKind::kDict);
      copy->keys = self->keys;
      copy->items = self->items;
      copy->cls = self->cls;
      if (self->cls) copy->base = self->base;   // the factory of a defaultdict
      return copy;
    }
  }
  bool get = name == "get", set = name == "setdefault", remove = name == "pop";
  if (args.keywords.empty() && (get || set || remove) && (count == 1 || count == 2)) {
    Value* k = key(args.positional[0]);
    int at = findKey(self, k);
    Value* fallback = count == 2 ? args.positional[1] : trace_.constant(Py_None);
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
    if (count == 1) {
      Value* from = args.positional[0];
      if (from->kind != ValueKind::kDict) trace_.fail(BreakReason::kUnsupportedCall, "dict.update");
      for (size_t i = 0; i < from->keys.size(); ++i) setKey(self, from->keys[i], from->items[i]);
    }
    for (auto& [k, value] : args.keywords) {
      setKey(self, trace_.constant(checked(PyUnicode_InternFromString(k.c_str()))), value);
    }
    return trace_.constant(Py_None);
  }
  trace_.fail(BreakReason::kUnsupportedCall, "dict." + name);
}

}  // namespace fw::capture
