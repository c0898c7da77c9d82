// Argument binding. A signature is a list of words:
//   name    required          name?   optional
//   name!   optional, not supported: any value but None, NumPy's "no value" and True (where=) breaks, naming it
//   *       the following parameters are keyword-only
//   /       those before it have another name for the user
//   *name   takes the remaining positional arguments
#include "frame_eval/numpy/binding.h"

#include <algorithm>

#include "frame_eval/numpy/device.h"
#include "graph/support/check.h"

namespace fw::capture::numpy {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

struct Parameter {
  std::string_view name;
  char mark;  ///< ' ' required, '?' optional, '!' unsupported
  bool keywordOnly;
  bool nameless = false;  ///< given by position only
};

/// A value that an unsupported parameter may have because it is the default.
bool isHarmless(std::string_view name, Value* value) {
  if (isNone(value)) return true;
  if (!value->isConstant()) return false;
  if (name == "where" || name == "subok") return value->object.get() == Py_True;
  return false;
}

}  // namespace

Value* Bound::operator[](std::string_view name) const {
  for (auto& [key, value] : values) {
    if (key == name) return value;
  }
  return nullptr;
}

void Bound::refuse(std::string_view argument) const {
  unsupported(std::string(function) + " with " + std::string(argument));
}

Value* invoke(Trace& trace, const FunctionInfo& function, const CallArgs& args, PyObject* callable) {
  for (Value* value : args.positional) settled(trace, value);
  for (const auto& [name, value] : args.keywords) settled(trace, value);
  Bound bound(trace, function.name);
  bound.callable = callable;
  std::vector<Parameter> parameters;
  bool keywordOnly = false, variadic = false;
  for (std::string_view word : split(function.signature, ' ')) {
    if (word == "/") {
      for (Parameter& p : parameters) p.nameless = true;
    } else if (word == "*") {
      keywordOnly = true;
    } else if (word.front() == '*') {
      variadic = keywordOnly = true;
    } else {
      bool marked = word.back() == '?' || word.back() == '!';
      parameters.push_back({marked ? word.substr(0, word.size() - 1) : word, marked ? word.back() : ' ', keywordOnly});
    }
  }
  auto assign = [&](const Parameter& p, Value* value) {
    if (bound[p.name]) raises(std::string(function.name) + " got multiple values for argument " + std::string(p.name));
    if (p.mark == '!' && !isHarmless(p.name, value)) bound.refuse(p.name);
    bound.values.emplace_back(p.name, value);
  };
  for (size_t i = 0; i < args.positional.size(); ++i) {
    if (i < parameters.size() && !parameters[i].keywordOnly) {
      assign(parameters[i], args.positional[i]);
      ++bound.positional;
    } else if (variadic) {
      bound.rest.push_back(args.positional[i]);
    } else {
      raises(std::string(function.name) + " takes fewer positional arguments");
    }
  }
  for (auto& [name, value] : args.keywords) {
    auto p = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& q) { return q.name == name; });
    if (p == parameters.end() || p->nameless) bound.refuse(name);
    assign(*p, value);
  }
  for (const Parameter& p : parameters) {
    if (p.mark == ' ' && !bound[p.name]) {
      raises(std::string(function.name) + " misses the argument " + std::string(p.name));
    }
  }
  Value* result = function.handler(bound);
  return trace.onDevice() ? orderedOnDevice(trace, function, result) : result;
}

namespace {

struct Row {
  std::string_view names, signature;
  Handler handler;
};

#define FW_NUMPY(names, signature, handler) {names, signature, handlers::handler},
constexpr Row kRows[] = {
#include "frame_eval/numpy/numpy_functions.def"
};

constexpr Row kDeviceRows[] = {
#define FW_NUMPY(names, signature, handler) {names, signature, handlers::handler},
#include "frame_eval/numpy/cupy_functions.def"
};

std::vector<FunctionInfo> byName(absl::Span<const Row> rows) {
  std::vector<FunctionInfo> entries;
  for (const Row& row : rows) {
    for (std::string_view name : split(row.names, '|')) entries.push_back({name, row.signature, row.handler});
  }
  return entries;
}

const FunctionInfo* find(const std::vector<FunctionInfo>& table, std::string_view name) {
  for (const FunctionInfo& f : table) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

}  // namespace

const std::vector<FunctionInfo>& functionTable() {
  static const std::vector<FunctionInfo> table = byName(kRows);
  return table;
}

const std::vector<FunctionInfo>& deviceFunctionTable() {
  static const std::vector<FunctionInfo> table = byName(kDeviceRows);
  return table;
}

const FunctionInfo* findFunction(std::string_view name) { return find(functionTable(), name); }

const FunctionInfo* findFunction(const Trace& trace, std::string_view name) {
  return find(trace.onDevice() ? deviceFunctionTable() : functionTable(), name);
}

}  // namespace fw::capture::numpy
