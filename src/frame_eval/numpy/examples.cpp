// Every argument is made anew for every example: arrays of the type and memory order that the call's have, with sizes
// that tell one axis from another. Of numbers there are two sets, benign ones: matrices are well conditioned, vectors
// positive and, in the first set, rising. What differs between the sets is decided by data.
//
// Sizes that need to be the same are found out by making all those the same that are so in the call at hand, and then
// each by itself different again. That they are is guarded.
#include "frame_eval/numpy/examples.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/library_ways.h"
#include "frame_eval/numpy/binding.h"
#include "frame_eval/numpy/example_call.h"
#include "frame_eval/numpy/example_sizes.h"
#include "frame_eval/numpy/library.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;

/// How large the arguments of an example are.
struct Sizes {
  std::vector<int64_t> symbols;  ///< values of all symbols of the trace
  bool second = false;           ///< of the two sets of numbers
};

/// A rule for a call, good for every call of its kind.
struct Found {
  struct Result {
    Answer::Result like;
    std::vector<SizeRule> shape;
  };
  Ref cls;
  std::vector<Result> results;
  std::vector<std::pair<size_t, size_t>> equal;  ///< base symbols, by number
  bool fixesInts = false;                        ///< other ints than those at hand would be other functions: axes

  /// Sizes of results that no rule tells.
  int64_t decided() const {
    int64_t count = 0;
    for (const Result& result : results)
      count += std::count_if(result.shape.begin(), result.shape.end(),
                             [](const SizeRule& rule) { return rule.form == SizeRule::Form::kDecided; });
    return count;
  }
};

class Examples {
 public:
  Examples(Trace& trace, PyObject* callable, const CallArgs& args)
      : trace_(trace),
        callable_(callable),
        args_(args),
        name_(cpython::publicName(calleeName(callable))) {}

  Value* run() {
    const CalleeIdentity callee = identityOf(callable_);
    std::string kind = absl::StrCat(absl::Hex(callee.object), ".", absl::Hex(callee.method), " ");
    for (Value* value : args_.positional) kind += describe(value) + ',';
    for (const auto& [keyword, value] : args_.keywords) {
      // A ufunc leaves alone what `where` leaves out, in memory that nobody has written.
      const bool changes = keyword == "out" || keyword == "output" || keyword.starts_with("overwrite") ||
                           (keyword == "where" && cpython::isUfunc(callable_));
      const bool off = value->isConstant() && (value->object.get() == Py_None || value->object.get() == Py_False);
      if (changes && !off) unsupported(name_ + " with " + keyword);
      kind += keyword + '=' + describe(value) + ',';
    }
    for (size_t i = 0; i < base_.size(); ++i)  // which are the same, and which number an int is, is tried
      for (size_t j = 0; j < i; ++j)
        if (isSameNow(base_[i], base_[j])) kind += std::to_string(j) + '=' + std::to_string(i);
    for (const Base& base : base_)
      if (!base.isSize) kind += '#' + std::to_string(hint(base.symbol).value_or(0));
    static auto* known = new absl::flat_hash_map<std::string, std::optional<Found>>;  // guarded by the GIL
    constexpr size_t kMostKnown = 4096;
    auto at = known->find(kind);
    if (at == known->end()) {
      std::optional<Found> found = find();  // runs Python: the table may change meanwhile
      if (known->size() >= kMostKnown) known->clear();
      at = known->insert_or_assign(kind, std::move(found)).first;
    }
    if (!at->second) unsupported(name_);
    const Found found = *at->second;
    return build(found);
  }

 private:
  struct Base {
    SymId symbol;
    bool isSize = false;  ///< of an array
  };

  // ---- the arguments ----

  /// The kind of an argument as text, and its sizes among the variables.
  std::string describe(Value* value) {
    switch (value->kind) {
      case ValueKind::kArray: {
        const ValueType type = typeOf(value);
        if (type.layout.broadcastAxes || type.layout.tiedAxes || type.layout.interleaved)
          unsupported(name_ + " of an array whose elements share memory");
        std::string text = std::string(graph::info(type.dtype).text) + type.layout.print() + '[';
        for (SymId size : shapeOf(trace_, value->node)) text += sizeText(size, true) + ' ';
        return text + ']';
      }
      case ValueKind::kArrayScalar:
        if (value->which) trace_.branches.refuse(value);
        return std::string(graph::info(typeOf(value).dtype).text);
      case ValueKind::kPyFloat: return "float";
      case ValueKind::kPyBool: return "bool";
      case ValueKind::kPyComplex: return "complex";
      case ValueKind::kDataInt: return "int";
      case ValueKind::kPyInt: return "int " + sizeText(trace_.syms().canonical(value->sym), false);
      case ValueKind::kTuple:
      case ValueKind::kList: {
        std::string text = value->kind == ValueKind::kTuple ? "(" : "[";
        for (Value* item : value->items) text += describe(item) + ',';
        return text + ')';
      }
      default: break;
    }
    const Ref object = trace_.asObject(value);
    const bool fixed =
        object && (isPlain(object.get()) || PyArray_DescrCheck(object.get()) || PySlice_Check(object.get()) ||
                   PyType_Check(object.get()) || object.get() == Py_Ellipsis);
    if (!fixed) unsupported(name_ + " with this argument");
    return text(checked(PyObject_Repr(object.get())).get());
  }

  /// Variables are told apart by their place, constants by what they are.
  std::string sizeText(SymId size, bool array) {
    if (auto constant = trace_.syms().asConst(size)) return std::to_string(*constant);
    auto at = std::find(variables_.begin(), variables_.end(), size);
    if (at == variables_.end()) at = variables_.insert(variables_.end(), size);
    addBase(size, array);
    std::string text = trace_.syms().print(size);  // of one symbol: any
    const auto symbol = trace_.syms().node(size).op == graph::SymOp::kSymbol;
    return symbol ? "v" + std::to_string(at - variables_.begin()) : text;
  }

  void addBase(SymId id, bool array) {
    const graph::SymNode& node = trace_.syms().node(id);
    if (node.op == graph::SymOp::kSymbol) {
      auto at = std::find_if(base_.begin(), base_.end(), [&](const Base& base) { return base.symbol == id; });
      if (at == base_.end()) at = base_.insert(at, Base{id});
      at->isSize |= array;
    }
    for (SymId operand : node.operands) addBase(operand, array);
  }

  const ValueType& typeOf(const Value* value) { return trace_.graph().type(value->node); }

  std::optional<int64_t> evaluate(SymId id, const Sizes& sizes) {
    const auto value = trace_.syms().evaluate(id, sizes.symbols);
    return value.ok() ? std::optional(*value) : std::nullopt;
  }

  /// The argument of an example; null where the sizes make none.
  Ref make(Value* value, const Sizes& sizes) {
    switch (value->kind) {
      case ValueKind::kArray: return makeArray(value, sizes);
      case ValueKind::kArrayScalar: {
        const Ref one = exampleArray(typeOf(value), {}, sizes.second);
        auto* array = reinterpret_cast<PyArrayObject*>(one.get());
        return checked(PyArray_ToScalar(PyArray_DATA(array), array));
      }
      case ValueKind::kPyFloat:
        return value->object && PyFloat_CheckExact(value->object.get()) ? value->object
                                                                        : checked(PyFloat_FromDouble(0.5));
      case ValueKind::kPyBool: return Ref::create(sizes.second ? Py_False : Py_True);
      case ValueKind::kPyComplex: return checked(PyComplex_FromDoubles(0.5, 0.1));
      case ValueKind::kDataInt: return checked(PyLong_FromLong(1));
      case ValueKind::kPyInt: {
        const auto number = evaluate(trace_.syms().canonical(value->sym), sizes);
        return number ? checked(PyLong_FromLongLong(*number)) : Ref();
      }
      case ValueKind::kTuple:
      case ValueKind::kList: {
        const auto count = static_cast<Py_ssize_t>(value->items.size());
        const bool tuple = value->kind == ValueKind::kTuple;
        Ref items = checked(tuple ? PyTuple_New(count) : PyList_New(count));
        for (Py_ssize_t i = 0; i < count; ++i) {
          Ref item = make(value->items[static_cast<size_t>(i)], sizes);
          if (!item) return item;
          tuple ? PyTuple_SET_ITEM(items.get(), i, item.release()) : PyList_SET_ITEM(items.get(), i, item.release());
        }
        return items;
      }
      default: return trace_.asObject(value);
    }
  }

  Ref makeArray(Value* value, const Sizes& sizes) {
    constexpr int64_t kMostElements = 1 << 17;
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (SymId size : shapeOf(trace_, value->node)) {
      const auto number = evaluate(size, sizes);
      if (!number || *number < 0 || *number > kMostElements || (count *= *number) > kMostElements) return {};
      shape.push_back(*number);
    }
    arrays_.push_back(exampleArray(typeOf(value), shape, sizes.second));
    return arrays_.back();
  }

  // ---- examples ----

  std::optional<Answer> tryOne(const Sizes& sizes) {
    arrays_.clear();
    const Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args_.positional.size())));
    for (size_t i = 0; i < args_.positional.size(); ++i) {
      Ref made = make(args_.positional[i], sizes);
      if (!made) return std::nullopt;
      PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), made.release());
    }
    const Ref keywords = checked(PyDict_New());
    for (const auto& [name, value] : args_.keywords) {
      const Ref made = make(value, sizes);
      if (!made) return std::nullopt;
      checked(PyDict_SetItemString(keywords.get(), name.c_str(), made.get()));
    }
    return callForExample(callable_, positional.get(), keywords.get(), arrays_);
  }

  /// Rules from examples with these sizes, each with both sets of numbers if it takes both.
  std::optional<Found> ruleFrom(absl::Span<const std::vector<int64_t>> sizes) {
    if (sizes.empty()) return std::nullopt;
    std::vector<std::vector<int64_t>> arguments;
    std::vector<Answer> answers;
    std::vector<std::vector<std::vector<bool>>> decided;
    for (const std::vector<int64_t>& symbols : sizes) {
      std::vector<int64_t> values;
      for (SymId variable : variables_) {
        const auto value = evaluate(variable, {symbols});
        if (!value) return std::nullopt;
        values.push_back(*value);
      }
      arguments.push_back(std::move(values));
      std::optional<Answer> one = tryOne({symbols});
      if (!one || (!answers.empty() && !answers[0].isLike(*one))) return std::nullopt;
      const std::optional<Answer> other = tryOne({symbols, true});
      if (other && !one->isLike(*other)) return std::nullopt;  // what the numbers are decides about types
      std::vector<std::vector<bool>> differs;
      for (size_t i = 0; i < one->results.size(); ++i) {
        differs.emplace_back(one->results[i].shape.size());
        for (size_t axis = 0; other && axis < differs[i].size(); ++axis)
          differs[i][axis] = one->results[i].shape[axis] != other->results[i].shape[axis];
      }
      decided.push_back(std::move(differs));
      answers.push_back(*std::move(one));
    }
    Found found{.cls = answers[0].cls, .results = {}, .equal = {}};
    for (size_t i = 0; i < answers[0].results.size(); ++i) {
      Found::Result result{.like = answers[0].results[i], .shape = {}};
      for (size_t axis = 0; axis < result.like.shape.size(); ++axis) {
        std::vector<int64_t> observed;
        bool byData = false;
        for (size_t example = 0; example < answers.size(); ++example) {
          observed.push_back(answers[example].results[i].shape[axis]);
          byData |= decided[example][i][axis];
        }
        result.shape.push_back(byData ? SizeRule{} : ruleOf(arguments, observed));
      }
      found.results.push_back(std::move(result));
    }
    return found;
  }

  /// What symbols are taken to be: those of one class are the same. Ints among the arguments are what they are at hand,
  /// or a little more. None where a call may take long.
  std::vector<std::vector<int64_t>> sizesBy(const std::vector<size_t>& classes, bool vary) {
    using Rows = int64_t[3][8];
    constexpr Rows kSizes = {
        {11, 14, 17, 9, 20, 12, 23, 15}, {26, 20, 23, 31, 22, 28, 19, 35}, {18, 29, 14, 25, 36, 16, 27, 13}};
    constexpr Rows kSmall = {{4, 3, 5, 2, 8, 6, 7, 9}, {2, 5, 4, 6, 7, 3, 8, 9}, {5, 2, 3, 8, 6, 7, 9, 4}};
    constexpr double kMostWork = 1 << 20;
    std::vector<size_t> different;  // classes of sizes
    for (size_t i = 0; i < base_.size(); ++i)
      if (base_[i].isSize && !absl::c_linear_search(different, classes[i])) different.push_back(classes[i]);
    const auto sizeIn = [](const int64_t(&row)[8], size_t which) {
      return row[which % std::size(row)] + *absl::c_max_element(row) * static_cast<int64_t>(which / std::size(row));
    };
    const std::optional<int> axes = axesByLetters();
    for (const Rows* rows : {&kSizes, &kSmall}) {
      std::vector<std::vector<int64_t>> all;
      double work = 0;
      for (const auto& row : *rows) {
        double product = 1, most = 1;
        for (size_t which = 0; which < different.size(); ++which) {
          const auto size = static_cast<double>(sizeIn(row, which));
          product *= size, most = std::max(most, size);
        }
        work = std::max(work, axes ? std::pow(most, *axes) : product);
        const int64_t more = vary ? static_cast<int64_t>(all.size()) : 0;
        std::vector<int64_t> symbols(static_cast<size_t>(trace_.syms().symbolCount()), 1);
        for (size_t i = 0; i < base_.size(); ++i) {
          const auto which = static_cast<size_t>(absl::c_find(different, classes[i]) - different.begin());
          symbols[indexOf(base_[i])] = base_[i].isSize ? sizeIn(row, which) : hint(base_[i].symbol).value_or(1) + more;
        }
        all.push_back(std::move(symbols));
      }
      if (work <= kMostWork) return all;
    }
    return {};
  }

  /// The work is the product of the sizes of this many axes, of which two may be of one size; that of other functions
  /// is at most the product of all sizes.
  std::optional<int> axesByLetters() const {
    if (!worksByLetters(callable_)) return std::nullopt;
    absl::flat_hash_set<char> letters;
    int axes = 0;  // those that have no letter
    const auto add = [&](const Value* value) {
      if (value->kind == ValueKind::kArray) axes += trace_.graph().type(value->node).rank();
    };
    const Value* first = args_.positional.empty() ? nullptr : args_.positional[0];
    const bool named = first && first->isConstant() && PyUnicode_Check(first->object.get());
    const std::string subscripts = named ? text(first->object.get()) : "";
    for (const char c : subscripts)
      if (absl::ascii_isalpha(static_cast<unsigned char>(c))) letters.insert(c);
    if (!named || absl::StrContains(subscripts, '.')) absl::c_for_each(args_.positional, add);
    return axes + static_cast<int>(letters.size());
  }

  size_t indexOf(const Base& base) { return static_cast<size_t>(trace_.syms().node(base.symbol).value); }

  std::optional<int64_t> hint(SymId symbol) const {
    try {
      return trace_.hint(symbol);
    } catch (const CaptureBreak&) {
      return std::nullopt;
    }
  }

  std::optional<Found> find() {
    std::vector<size_t> classes(base_.size());
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = i;
    if (auto found = findApart(classes)) return found;
    if (auto found = findEqual(classes)) return found;
    std::vector<int64_t> symbols(static_cast<size_t>(trace_.syms().symbolCount()), 1);
    for (const Base& base : base_) {
      const auto value = hint(base.symbol);
      if (!value) return std::nullopt;
      symbols[indexOf(base)] = *value;
    }
    return ruleFrom({&symbols, 1});
  }

  /// All sizes are told apart. Ints that are more than a size, such as axes, have to be what they are.
  std::optional<Found> findApart(const std::vector<size_t>& classes) {
    std::vector<std::vector<int64_t>> sizes = sizesBy(classes, false);
    std::optional<Found> found = ruleFrom(sizes);
    const auto isInt = [](const Base& base) { return !base.isSize; };
    if (std::none_of(base_.begin(), base_.end(), isInt)) return found;
    for (auto& varied : sizesBy(classes, true)) sizes.push_back(std::move(varied));
    std::optional<Found> whatever = ruleFrom(sizes);
    if (whatever && (!found || whatever->decided() <= found->decided())) return whatever;
    if (found) found->fixesInts = true;
    return found;
  }

  /// Both are sizes, and happen to be the same.
  bool isSameNow(const Base& a, const Base& b) const {
    const auto own = a.isSize && b.isSize ? hint(a.symbol) : std::nullopt;
    return own && own == hint(b.symbol);
  }

  std::optional<Found> findEqual(std::vector<size_t> classes) {
    for (size_t i = 0; i < base_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (classes[i] == i && isSameNow(base_[i], base_[j])) classes[i] = classes[j];
      }
    }
    std::optional<Found> found = ruleFrom(sizesBy(classes, false));
    if (!found) return found;
    for (size_t i = 0; i < base_.size(); ++i) {
      if (classes[i] == i) continue;
      std::vector<size_t> apart = classes;
      apart[i] = i;
      if (auto other = ruleFrom(sizesBy(apart, false))) {
        classes = std::move(apart);
        found = std::move(other);
      }
    }
    for (size_t i = 0; i < base_.size(); ++i)
      if (classes[i] != i) found->equal.emplace_back(classes[i], i);
    return found;
  }

  // ---- the node ----

  Value* build(const Found& found) {
    for (const auto& [a, b] : found.equal)
      if (!sameSize(trace_, base_[a].symbol, base_[b].symbol)) unsupported(name_ + " of sizes that differ");
    for (const Base& base : base_) {
      const bool computed = trace_.turns.contains(base.symbol) || trace_.decided.contains(base.symbol);
      if (found.fixesInts && !base.isSize && !computed) trace_.specialize(base.symbol);
    }
    LibraryNode what{.name = name_, .function = Ref::create(callable_), .positional = args_.positional};
    for (const auto& [name, value] : args_.keywords) what.keywords.emplace_back(name, value);
    what.tuple = bool(found.cls);
    what.guessed = true;
    what.watched = !cpython::isUfunc(callable_) && !isMethodOfUfunc(callable_);
    for (const Found::Result& result : found.results) what.items.push_back({result.like.kind, result.like.fixed});
    const Answer::Kind only = found.results[0].like.kind;
    what.python = !what.tuple && (only == Answer::Kind::kFloat || only == Answer::Kind::kInt);
    const std::vector<ValueId> nodes = libraryNode(trace_, std::move(what), [&](ValueId call) {
      std::vector<ValueType> types;
      for (const Found::Result& result : found.results) {
        if (result.like.kind == Answer::Kind::kFixed) continue;
        SymShape shape;
        for (const SizeRule& rule : result.shape)
          shape.push_back(rule.form == SizeRule::Form::kDecided ? trace_.decided.make(call)
                                                                : rule.build(trace_.syms(), variables_));
        types.push_back(freshType(result.like.dtype, std::move(shape)));
        if (result.like.fortran) types.back().layout = graph::Layout::f(types.back().rank());
      }
      return types;
    });
    std::vector<Value*> items;
    auto node = nodes.begin();
    for (const Found::Result& result : found.results)
      items.push_back(result.like.kind == Answer::Kind::kFixed ? trace_.constant(result.like.fixed.get())
                                                               : valueOf(result.like.kind, *node++));
    if (!found.cls) return items[0];
    if (found.cls.get() == reinterpret_cast<PyObject*>(&PyList_Type)) return trace_.list(std::move(items));
    Value* value = trace_.tuple(std::move(items));
    if (found.cls.get() != reinterpret_cast<PyObject*>(&PyTuple_Type)) value->cls = found.cls;
    return value;
  }

  Value* valueOf(Answer::Kind kind, ValueId node) {
    if (kind == Answer::Kind::kFloat) return trace_.number(ValueKind::kPyFloat, node);
    if (kind == Answer::Kind::kInt) return DataInts{trace_}.fromNumber(node);
    return trace_.arrayOrScalar(node);
  }

  Trace& trace_;
  PyObject* callable_;
  const CallArgs& args_;
  const std::string name_;
  std::vector<SymId> variables_;  ///< sizes and ints of the arguments that are no constants
  std::vector<Base> base_;        ///< the symbols that they are made of
  std::vector<Ref> arrays_;       ///< of the example at hand
};

}  // namespace

Value* callByExample(Trace& trace, PyObject* callable, const CallArgs& args) {
  trace.graph().setLine(static_cast<uint32_t>(trace.line));
  return Examples(trace, callable, args).run();
}

}  // namespace fw::capture::numpy
