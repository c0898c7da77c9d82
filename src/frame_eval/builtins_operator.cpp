// The operator module, and callables that are made by a call: partial, itemgetter, attrgetter, methodcaller. Such a
// callable is a kOpaque of its class with what it was made from in items (the function first for partial) and
// kwdefaults.
#include <algorithm>

#include "frame_eval/builtins.h"
#include "frame_eval/interpret_common.h"

namespace fw::capture {

using cpython::checked;

namespace {

struct NamedOperator {
  std::string_view name;
  int op;
};

constexpr NamedOperator kBinary[] = {
#define FW_BINARY_OPERATOR(Id, name, inplace) {name, cpython::kNb##Id},
#include "cpython/binary_operators.def"
};
constexpr NamedOperator kInplace[] = {
#define FW_BINARY_OPERATOR(Id, name, inplace) {inplace, cpython::kNb##Id},
#include "cpython/binary_operators.def"
};
constexpr NamedOperator kCompare[] = {{"lt", Py_LT}, {"le", Py_LE}, {"eq", Py_EQ},
                                      {"ne", Py_NE}, {"gt", Py_GT}, {"ge", Py_GE}};

template <size_t N>
int find(const NamedOperator (&table)[N], std::string_view name) {
  for (const NamedOperator& row : table) {
    if (row.name == name) return row.op;
  }
  return -1;
}

}  // namespace

Value* Builtins::callOperator(const CallArgs& args) {
  std::string_view op = std::string_view(name).substr(std::string_view("_operator.").size());
  auto boolean = [&](bool value) { return trace.constant(value ? Py_True : Py_False); };
  const std::vector<Value*>& a = args.positional;
  if (args.keywords.empty() && a.size() == 2) {
    if (int nb = find(kBinary, op); nb >= 0) return interpreter.binary(nb, false, a[0], a[1]);
    if (int nb = find(kInplace, op); nb >= 0) return interpreter.binary(nb, true, a[0], a[1]);
    if (int cmp = find(kCompare, op); cmp >= 0) return interpreter.compare(cmp, a[0], a[1]);
    if (op == "is_") return boolean(interpreter.is(a[0], a[1]));
    if (op == "is_not") return boolean(!interpreter.is(a[0], a[1]));
    if (op == "getitem") return interpreter.getItem(a[0], a[1]);
    if (op == "contains") return boolean(interpreter.contains(a[0], a[1]));
    bool sequences = (a[0]->kind == ValueKind::kList || isTuple(a[0])) && a[1]->kind == a[0]->kind;
    if (op == "concat" && sequences) return interpreter.binary(cpython::kNbAdd, false, a[0], a[1]);
  }
  if (args.keywords.empty() && a.size() == 1) {
    if (op == "neg") return interpreter.unary(numpy::Unary::kNegative, a[0]);
    if (op == "pos") return interpreter.unary(numpy::Unary::kPositive, a[0]);
    if (op == "invert" || op == "inv") return interpreter.unary(numpy::Unary::kInvert, a[0]);
    if (op == "abs") return callAbs(args);
    if (op == "truth") return callBool(args);
    if (op == "not_" && a[0]->kind != ValueKind::kPyBool && !isNumpyValue(a[0])) return boolean(!trace.truth(a[0]));
    if (op == "index" && a[0]->kind == ValueKind::kPyInt) return a[0];
  }
  return callPure(args);
}

Value* Builtins::callPartial(const CallArgs& args) {
  bool partial = std::string_view(name) == "functools.partial";
  if (args.positional.empty()) refuse("without arguments");
  Value* made = trace.make(ValueKind::kOpaque);
  made->cls = Ref::create(callable);
  made->name = name;
  made->items = args.positional;
  if (!partial && std::string_view(name) != "operator.methodcaller" && !args.keywords.empty()) refuse("with keywords");
  for (auto& [key, value] : args.keywords)
    made->kwdefaults.emplace_back(checked(PyUnicode_InternFromString(key.c_str())), value);
  if (partial && made->items[0]->name == "functools.partial" && made->items[0]->kind == ValueKind::kOpaque) {
    Value* inner = made->items[0];  // partials of partials are flattened
    made->items.erase(made->items.begin());
    made->items.insert(made->items.begin(), inner->items.begin(), inner->items.end());
    auto own = std::move(made->kwdefaults);
    made->kwdefaults = inner->kwdefaults;
    for (auto& [key, value] : own) {
      auto it = std::find_if(made->kwdefaults.begin(), made->kwdefaults.end(),
                             [&](auto& p) { return p.first.get() == key.get(); });
      if (it == made->kwdefaults.end()) {
        made->kwdefaults.emplace_back(key, value);
      } else {
        it->second = value;
      }
    }
  }
  return made;
}

/// Only sorting understands what it makes.
Value* Builtins::callCmpToKey(const CallArgs& original) {
  CallArgs args = original;
  if (Value* function = take(args, "mycmp")) args.positional.push_back(function);
  expect(args, 1, 1);
  Value* made = trace.make(ValueKind::kOpaque);
  Ref like = checked(PyObject_CallOneArg(callable, Py_None));
  made->cls = Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(like.get())));
  made->name = "functools.cmp_to_key";
  made->items = args.positional;
  return made;
}

/// Call of a callable that callPartial() made; null if it is none.
Value* Interpreter::callMade(Value* made, CallArgs args) {
  if (made->name == "functools.partial") {
    CallArgs all{.positional = {made->items.begin() + 1, made->items.end()}, .keywords = {}};
    all.positional.insert(all.positional.end(), args.positional.begin(), args.positional.end());
    for (auto& [key, value] : made->kwdefaults) {
      std::string keyword = text(key.get());
      bool replaced =
          std::any_of(args.keywords.begin(), args.keywords.end(), [&](auto& p) { return p.first == keyword; });
      if (!replaced) all.keywords.emplace_back(keyword, value);
    }
    for (auto& keyword : args.keywords) all.keywords.push_back(keyword);
    return call(made->items[0], std::move(all));
  }
  bool one = args.positional.size() == 1 && args.keywords.empty();
  if (!one) trace_.fail(BreakReason::kUnsupportedCall, made->name);
  Value* object = args.positional[0];
  auto nameOf = [&](Value* v) {
    if (!isConstantOf(v, &PyUnicode_Type)) trace_.fail(BreakReason::kUnsupportedCall, made->name);
    return checked(PyUnicode_InternFromString(text(v->object.get()).c_str()));
  };
  if (made->name == "operator.methodcaller") {
    CallArgs rest{.positional = {made->items.begin() + 1, made->items.end()}, .keywords = {}};
    for (auto& [key, value] : made->kwdefaults) rest.keywords.emplace_back(text(key.get()), value);
    return call(getAttribute(object, nameOf(made->items[0]).get()), std::move(rest));
  }
  std::vector<Value*> results;
  for (Value* item : made->items) {
    if (made->name == "operator.itemgetter") {
      results.push_back(getItem(object, item));
      continue;
    }
    if (made->name != "operator.attrgetter") trace_.fail(BreakReason::kUnsupportedCall, made->name);
    Value* at = object;
    std::string path = text(nameOf(item).get());
    for (size_t from = 0; from != std::string::npos;) {
      size_t dot = path.find('.', from);
      Ref part =
          checked(PyUnicode_InternFromString(path.substr(from, dot == std::string::npos ? dot : dot - from).c_str()));
      at = getAttribute(at, part.get());
      from = dot == std::string::npos ? dot : dot + 1;
    }
    results.push_back(at);
  }
  return results.size() == 1 ? results[0] : trace_.tuple(std::move(results));
}

}  // namespace fw::capture
