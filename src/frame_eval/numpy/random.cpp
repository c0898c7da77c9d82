// What draws answer. A scalar is a number of Python's, but for Generator.integers() and elements of arrays.
#include "frame_eval/numpy/random.h"

#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/library.h"
#include "graph/symint_facts.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;

struct GeneratorClass {
  const char *name, *module;
  bool hasFunctions;  ///< functions of the module are methods of an instance
  bool hasDict;       ///< an instance may have attributes of its own
};
constexpr GeneratorClass kClasses[] = {{"Generator", "numpy.random", false, false},
                                       {"RandomState", "numpy.random", true, false},
                                       {"Random", "random", true, true}};

/// Once somebody has imported the module. Held for the life of the process.
PyTypeObject* classOf(const GeneratorClass& row) {
  static Ref known[std::size(kClasses)];
  Ref& type = known[&row - kClasses];
  if (!type) {
    Ref module = Ref::steal(PyImport_GetModule(checked(PyUnicode_FromString(row.module)).get()));
    if (module) type = Ref::steal(PyObject_GetAttrString(module.get(), row.name));
    PyErr_Clear();
  }
  return reinterpret_cast<PyTypeObject*>(type.get());
}

const GeneratorClass* classOf(PyObject* object) {
  for (const GeneratorClass& row : kClasses)
    if (object && Py_TYPE(object) == classOf(row)) return &row;
  return nullptr;
}

/// The generator that a function of the module is bound to.
PyObject* stateOf(PyObject* function) {
  PyObject* self = PyMethod_Check(function)      ? PyMethod_GET_SELF(function)
                   : PyCFunction_Check(function) ? PyCFunction_GET_SELF(function)
                                                 : nullptr;
  const GeneratorClass* row = classOf(self);
  return row && row->hasFunctions ? self : nullptr;
}

std::string nameOf(PyObject* function) {
  Ref name = checked(PyObject_GetAttrString(function, "__name__"));
  const char* text = PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

const FunctionInfo* rowOf(const GeneratorClass* cls, const std::string& name) {
  return cls ? findFunction(std::string(cls->name) + "." + name) : nullptr;
}

/// The shape that was asked for, or that of the distribution's parameters; nullopt for one number.
std::optional<SymShape> shapeOfDraw(Bound& a, std::initializer_list<std::string_view> others) {
  std::vector<ValueId> arrays;
  for (const auto& [name, value] : a.values) {
    if (name == "self" || name == "size" || std::find(others.begin(), others.end(), name) != others.end()) continue;
    if (value->kind == ValueKind::kArray)
      arrays.push_back(value->node);
    else if (!isScalar(value))
      a.refuse(name);
  }
  if (absent(a["size"])) {
    if (arrays.empty()) return std::nullopt;
    SymShape shape = unify(a.trace, arrays);
    if (shape.empty()) a.refuse("an array of rank 0");
    return shape;
  }
  if (!arrays.empty()) a.refuse("size and an array");
  SymShape shape = shapeArg(a.trace, a["size"]);
  if (shape.empty()) a.refuse("size");
  return shape;
}

/// `python`: a single number is Python's.
Value* drawn(Bound& a, DType dtype, std::optional<SymShape> shape, bool python) {
  Value* self = a["self"];
  const std::string method(a.function.substr(a.function.find('.') + 1));
  LibraryNode node{.name = a.function,
                   .function = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self->object.get())),
                                                              method.c_str())),
                   .positional = {},
                   .quiet = true,
                   .draws = true,
                   .python = python && !shape};
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (i < a.positional)
      node.positional.push_back(a.values[i].second);
    else
      node.keywords.push_back(a.values[i]);
  }
  node.positional.insert(node.positional.end(), a.rest.begin(), a.rest.end());
  // Another thread could draw between this run and Python's, if it is given up.
  a.trace.atomic = true;
  const ValueId result = libraryNode(a.trace, std::move(node), [&](ValueId) {
    return std::vector<ValueType>{freshType(dtype, shape.value_or(SymShape{}))};
  })[0];
  if (!shape && (dtype == DType::kF64 || dtype == DType::kI64)) {
    a.trace.libraryCalls.back().direct = LibraryCall::Direct::kDraw;
    a.trace.libraryCalls.back().method = a.function;
  }
  if (shape || !python) return a.trace.arrayOrScalar(result);
  if (dtype == DType::kF64) return a.trace.number(ValueKind::kPyFloat, result);
  return DataInts{a.trace}.fromNumber(result);
}

/// The elements that choice() and permutation() take: their type, and how many there are.
struct Chosen {
  DType dtype = DType::kI64;
  SymId count;
  bool ofArray = false;
};
Chosen chosenFrom(Bound& a, std::string_view name) {
  Value* from = a[name];
  if (from->kind == ValueKind::kArray) {
    const ValueType& type = a.trace.graph().type(from->node);
    if (type.rank() != 1) a.refuse("an array that is not of rank 1");
    return {type.dtype, shapeOf(a.trace, from->node)[0], true};
  }
  if (!DataInts::isWhole(from)) a.refuse(name);
  return {DType::kI64, a.trace.asSym(from), false};
}

/// choice(a) and choice(a, p=p): what NumPy's code does.
Value* chosenOne(Bound& a) {
  Trace& trace = a.trace;
  const bool legacy = a.function[0] == 'R';
  graph::Graph& g = trace.graph();
  DataInts ints{trace};
  const auto zero = trace.syms().constant(0);
  const SymId count = chosenFrom(a, "a").count;
  if (!trace.decide(zero, Relation::kLt, count)) raises("choice");
  Value* place = nullptr;
  if (absent(a["p"])) {
    const CallArgs range{{trace.pyInt(zero), trace.pyInt(count)}, {}};
    place = draw(trace, a["self"], legacy ? "randint" : "integers", range);
  } else {
    Value* p = a["p"];
    const bool isVector = p->kind == ValueKind::kArray && g.type(p->node).rank() == 1;
    if (!isVector || g.type(p->node).dtype != DType::kF64) a.refuse("p");
    if (!trace.decide(count, Relation::kEq, shapeOf(trace, p->node)[0])) raises("choice");
    // NumPy accepts more; what is beyond that is for it to say.
    const auto constant = [&](double v) { return g.constant(graph::Scalar::ofDouble(DType::kF64, v)); };
    const ValueId sum = trace.operand(callNamed(trace, "np.sum", {{p}, {}})).value;
    const ValueId least = trace.operand(callNamed(trace, "np.min", {{p}, {}})).value;
    const ValueId far = g.unary(Op::kAbsolute, g.binary(Op::kSubtract, sum, constant(1)));
    ints.require(g.binary(Op::kLess, far, constant(1e-9)));
    ints.require(g.binary(Op::kGreaterEqual, least, constant(0)));
    Value* sums = callNamed(trace, "np.cumsum", {{p}, {}});
    Value* last = getItem(trace, sums, trace.pyInt(trace.syms().constant(-1)));
    Value* parts = callNamed(trace, "np.true_divide", {{sums, last}, {}});
    Value* drawn = draw(trace, a["self"], legacy ? "random_sample" : "random", {});
    // Where NumPy searches: the parts grow.
    place = callNamed(trace, "np.sum", {{callNamed(trace, "np.less_equal", {{parts, drawn}, {}})}, {}});
  }
  const ValueId node = ints.ofScalar(place)->node;
  Value* index = ints.make(node, {0, graph::refinedRange(trace.syms(), count).hi - 1});
  return a["a"]->kind == ValueKind::kArray ? getItem(trace, a["a"], index) : index;
}

}  // namespace

const char* generatorClass(PyObject* object) {
  const GeneratorClass* row = classOf(object);
  return row ? row->name : nullptr;
}

bool isGenerator(Trace& trace, Value* value) {
  if (value->kind != ValueKind::kObject && !value->isConstant()) return false;
  const bool is = classOf(value->object.get()) != nullptr;
  if (is && !value->isConstant()) (void)trace.typeOf(value);
  return is;
}

namespace {

const FunctionInfo* methodOf(Trace& trace, Value* generator, const std::string& name) {
  return isGenerator(trace, generator) ? rowOf(classOf(generator->object.get()), name) : nullptr;
}

}  // namespace

Value* drawMethod(Trace& trace, Value* generator, const std::string& name, bool ofClass) {
  if (!methodOf(trace, generator, name)) return nullptr;
  if (!ofClass && classOf(generator->object.get())->hasDict) return nullptr;
  Value* method = trace.make(ValueKind::kMethod);
  method->items = {nullptr, generator};
  method->name = name;
  return method;
}

Value* draw(Trace& trace, Value* generator, const std::string& name, const CallArgs& args) {
  const FunctionInfo* row = methodOf(trace, generator, name);
  if (!row) return nullptr;
  trace.graph().setLine(static_cast<uint32_t>(trace.line));
  CallArgs bound = args;
  bound.positional.insert(bound.positional.begin(), generator);
  return invoke(trace, *row, bound);
}

bool isDraw(PyObject* function) {
  PyObject* state = stateOf(function);
  return state && rowOf(classOf(state), nameOf(function));
}

Value* drawBy(Trace& trace, PyObject* function, const CallArgs& args) {
  return draw(trace, trace.constant(stateOf(function)), nameOf(function), args);
}

namespace handlers {

Value* drawFloats(Bound& a) {
  DType dtype = DType::kF64;
  if (!absent(a["dtype"])) dtype = dtypeArg(a.trace, a["dtype"]);
  if (dtype != DType::kF64 && dtype != DType::kF32) a.refuse("dtype");
  std::optional<SymShape> shape = shapeOfDraw(a, {"dtype", "method"});
  if (!shape && dtype != DType::kF64) a.refuse("a single number of this dtype");
  return drawn(a, dtype, std::move(shape), true);
}

Value* drawFloat(Bound& a) { return drawn(a, DType::kF64, std::nullopt, true); }

/// From [0, 2 ** k).
Value* drawBits(Bound& a) {
  Value* k = a["k"];
  int overflow = 0;
  const bool known = k->isConstant() && PyLong_CheckExact(k->object.get());
  const long bits = known ? PyLong_AsLongAndOverflow(k->object.get(), &overflow) : 0;
  if (bits < 1 || bits > 62 || overflow != 0) a.refuse("k");
  return DataInts{a.trace}.make(drawn(a, DType::kI64, std::nullopt, true)->node, {0, (int64_t{1} << bits) - 1});
}

Value* drawOfShape(Bound& a) {
  SymShape shape;
  for (Value* size : a.rest) {
    const SymShape one = shapeArg(a.trace, size);
    if (one.size() != 1 || sequenceItems(a.trace, size)) a.refuse("size");
    shape.push_back(one[0]);
  }
  const bool one = shape.empty();
  return drawn(a, DType::kF64, one ? std::nullopt : std::optional(std::move(shape)), true);
}

Value* drawInts(Bound& a) { return drawn(a, DType::kI64, shapeOfDraw(a, {}), true); }

Value* drawIntegers(Bound& a) {
  const bool legacy = a.function[0] == 'R';
  Value* asked = a["dtype"];
  const bool python = absent(asked) ? legacy : asked->isConstant() && asked->object.get() == (PyObject*)&PyLong_Type;
  DType dtype = absent(asked) || python ? DType::kI64 : dtypeArg(a.trace, asked);
  if (!graph::isInteger(dtype)) a.refuse("dtype");
  return drawn(a, dtype, shapeOfDraw(a, {"dtype", "endpoint"}), python);
}

Value* drawChoice(Bound& a) {
  for (auto& [name, value] : a.values)
    if ((name == "a" || name == "p") && sequenceItems(a.trace, value)) value = a.trace.array(asArray(a.trace, value));
  const bool plain = absent(a["replace"]) && (absent(a["p"]) || a["p"]->kind == ValueKind::kArray);
  if (absent(a["size"]) && plain) return chosenOne(a);
  const Chosen from = chosenFrom(a, "a");
  if (!absent(a["p"]) && a["p"]->kind != ValueKind::kArray) a.refuse("p");
  std::optional<SymShape> shape;
  if (!absent(a["size"])) {
    shape = shapeArg(a.trace, a["size"]);
    if (shape->empty()) a.refuse("size");
  }
  return drawn(a, from.dtype, std::move(shape), !from.ofArray);
}

Value* drawPermutation(Bound& a) {
  const Chosen from = chosenFrom(a, "x");
  if (!from.ofArray && !a.trace.decide(a.trace.syms().constant(0), Relation::kLe, from.count)) raises("permutation");
  return drawn(a, from.dtype, SymShape{from.count}, false);
}

}  // namespace handlers
}  // namespace fw::capture::numpy
