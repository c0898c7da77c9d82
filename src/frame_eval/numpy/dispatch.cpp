// Which live objects are NumPy functions that we know. Rows are resolved to objects once: ufuncs of the op table,
// functions of numpy_functions.def, scalar types (np.float32(x)), and functions that answer constants for constant
// arguments.
#include "cpython/numpy_api.h"
#include "cpython/warning_watch.h"
#include "frame_eval/numpy/binding.h"
#include "frame_eval/numpy/complex_length.h"
#include "frame_eval/numpy/device.h"
#include "frame_eval/numpy/masks.h"
#include "frame_eval/numpy/random.h"
#include "graph/support/check.h"
#include "guards/array_layout.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;

/// Functions of constants without effects: called while tracing when every argument is a constant.
constexpr std::string_view kFoldable[] = {
    "dtype", "finfo", "iinfo", "promote_types", "can_cast", "issubdtype", "isdtype", "min_scalar_type",
};

struct Entry {
  enum class Kind : uint8_t { kUfunc, kFunction, kScalarType, kFold } kind;
  Op op = Op::kAdd;
  const FunctionInfo* function = nullptr;
  DType dtype = DType::kF64;
  std::string name;
  const guards::ArrayLibrary* library = &guards::numpyArrays();  ///< whose function it is
};

struct Registry {
  bool ready = false, hasCupy = false;
  absl::flat_hash_map<PyObject*, Entry> entries;
  std::vector<Ref> keep;

  void add(Ref object, Entry entry) {
    entries.try_emplace(object.get(), std::move(entry));
    keep.push_back(std::move(object));
  }
};

/// The only state of this room: NumPy's objects, the same for the whole process. Filled under the GIL.
Registry& registry() {
  static auto* r = new Registry;  // never destroyed: it holds references that outlive the interpreter's end
  return *r;
}

/// "add", "linalg.inv": null if there is none.
Ref numpyAttribute(PyObject* module, std::string_view name) {
  Ref object = Ref::create(module);
  while (object && !name.empty()) {
    const size_t end = std::min(name.find('.'), name.size());
    object = Ref::steal(PyObject_GetAttrString(object.get(), std::string(name.substr(0, end)).c_str()));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  if (!object) PyErr_Clear();
  return object;
}

void addUfuncs(PyObject* module, Registry& r, const guards::ArrayLibrary& library) {
  const Ref add = numpyAttribute(module, "add");
  if (!add) return;
  PyObject* ufuncType = reinterpret_cast<PyObject*>(Py_TYPE(add.get()));
  for (const graph::OpInfo& row : graph::opTable()) {
    if (row.cls != graph::OpClass::kElementwise || row.loops == graph::Loops::kNone) continue;
    std::string_view names = row.numpy;
    while (!names.empty()) {
      size_t end = std::min(names.find('|'), names.size());
      std::string_view name = names.substr(0, end);
      names.remove_prefix(std::min(end + 1, names.size()));
      if (name.substr(0, 3) != "np.") continue;
      Ref object = numpyAttribute(module, name.substr(3));
      if (!object || reinterpret_cast<PyObject*>(Py_TYPE(object.get())) != ufuncType) continue;
      r.add(std::move(object),
            {.kind = Entry::Kind::kUfunc, .op = row.op, .name = std::string(name), .library = &library});
    }
  }
}

void addFunctions(PyObject* module, Registry& r, const std::vector<FunctionInfo>& table,
                  const guards::ArrayLibrary& library) {
  for (const FunctionInfo& f : table) {
    if (f.name.substr(0, 3) != "np.") continue;
    if (Ref object = numpyAttribute(module, f.name.substr(3))) {
      r.add(std::move(object),
            {.kind = Entry::Kind::kFunction, .function = &f, .name = std::string(f.name), .library = &library});
    }
  }
}

void fill(PyObject* module, Registry& r) {
  addUfuncs(module, r, guards::numpyArrays());
  addFunctions(module, r, functionTable(), guards::numpyArrays());
  for (const graph::DTypeInfo& row : graph::kDTypes) {
    Ref type = Ref::create(reinterpret_cast<PyObject*>(guards::scalarType(row.dtype)));
    r.add(std::move(type), {.kind = Entry::Kind::kScalarType, .dtype = row.dtype, .name = std::string(row.text)});
  }
  for (std::string_view name : kFoldable) {
    if (Ref object = numpyAttribute(module, name)) {
      r.add(std::move(object), {.kind = Entry::Kind::kFold, .name = "np." + std::string(name)});
    }
  }
}

const Entry* find(PyObject* callable) {
  auto it = registry().entries.find(callable);
  return it == registry().entries.end() ? nullptr : &it->second;
}

/// Keyword arguments of a ufunc that ask for what happens anyway.
bool isDefault(const std::string& name, Value* value) {
  if (isNone(value)) {  // "no value" for `where` is true
    const bool noValue = name == "where" && value->object.get() != Py_None;
    return noValue || name == "out" || name == "dtype" || name == "signature" || name == "sig";
  }
  if (!value->isConstant()) return false;
  if (name == "where") return value->object.get() == Py_True;
  if (name == "subok") return PyBool_Check(value->object.get());  // there are no subclasses
  auto text = textOf(value);
  return text && ((name == "casting" && *text == "same_kind") || (name == "order" && *text == "K"));
}

Value* callUfunc(Trace& trace, const Entry& entry, const CallArgs& args) {
  auto arity = static_cast<size_t>(graph::info(entry.op).arity);
  std::vector<Value*> operands = args.positional;
  if (operands.size() < arity) raises(entry.name + " takes more arguments");
  if (operands.size() > arity + 1) raises(entry.name + " takes fewer arguments");
  Value* out = operands.size() > arity ? operands[arity] : nullptr;
  const bool deprecated = entry.op == Op::kMaximum || entry.op == Op::kMinimum;
  if (out && deprecated) unsupported(entry.name + " with a third positional argument (NumPy may warn)");
  Value* where = nullptr;
  bool unsafe = false;
  for (auto& [name, value] : args.keywords) {
    if (name == "where" && value->kind == ValueKind::kArray) {
      where = value;
      continue;
    }
    if (name == "casting" && textOf(value) == "unsafe") {
      unsafe = true;
      continue;
    }
    if (name == "out" && out) raises(entry.name + " got out twice");
    if (name == "out")
      out = value;
    else if (!isDefault(name, value))
      unsupported(entry.name + " with " + name);
  }
  operands.resize(arity);
  out = outArg(trace, out);
  if (where && !out) unsupported(entry.name + " with where and without out");
  if (where) checkOwnProduct(trace, entry.op, out);
  if (where) return ufuncWhere(trace, entry.op, std::move(operands), where, out);
  const ValueId node = ufuncNode(trace, entry.op, operands);
  if (entry.op == Op::kAbsolute && !trace.onDevice()) checkComplexLength(trace, node);
  trace.ufuncCalls += countsAsArithmetic(trace.graph().node(node));
  if (!out) return trace.arrayOrScalar(node);
  checkOwnProduct(trace, entry.op, out);
  const graph::Graph& g = trace.graph();
  if (unsafe && !graph::canCastSameKind(g.type(node).dtype, g.type(out->node).dtype))
    unsupported(entry.name + " with an unsafe cast");
  return writeOut(trace, out, node, true);
}

/// np.float32(x) and its like.
Value* callScalarType(Trace& trace, const Entry& entry, const CallArgs& args) {
  if (!args.keywords.empty() || args.positional.size() > 1) unsupported("this call of a NumPy scalar type");
  graph::Graph& g = trace.graph();
  if (args.positional.empty()) return trace.number(ValueKind::kArrayScalar, scalarNode(trace, entry.dtype, 0));
  Value* value = args.positional[0];
  if (!value->isNumeric() && !value->isConstant()) unsupported("np." + entry.name + " of this object");
  graph::UfuncOperand operand = trace.operand(value);
  DType from = g.type(operand.value).dtype;
  if (graph::isComplex(from) && !graph::isComplex(entry.dtype)) unsupported("a complex value as np." + entry.name);
  if (value->kind != ValueKind::kArray && graph::isInexact(from) && graph::isInteger(entry.dtype)) {
    unsupported("a float scalar as np." + entry.name + " (NaN and infinity raise)");
  }
  bool integers = graph::isInteger(from) && graph::isInteger(entry.dtype);
  if (value->kind != ValueKind::kArray && operand.weak == Weak::kNo && integers &&
      !graph::canCastSafely(from, entry.dtype)) {
    unsupported("a wider NumPy integer as np." + entry.name);
  }
  // An array of the type itself is the answer, but of rank 0, which becomes a scalar.
  const bool array = value->kind == ValueKind::kArray && g.type(operand.value).rank() != 0;
  if (array && from == entry.dtype) return value;
  const ValueId node = castOperand(trace, value, entry.dtype);
  if (!array) return trace.arrayOrScalar(node);
  const ValueType type = g.type(operand.value);
  graph::Layout layout = graph::likeLayout(type.layout, graph::unitAxes(trace.syms(), shapeOf(trace, operand.value)));
  return trace.array(g.type(node).layout == layout ? node : copyAs(trace, node, std::move(layout)));
}

Value* fold(Trace& trace, PyObject* callable, const Entry& entry, const CallArgs& args) {
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i) {
    Ref object = trace.asObject(args.positional[i]);
    bool plain = object && (isPlain(object.get()) || PyType_Check(object.get()) || PyArray_DescrCheck(object.get()));
    if (!plain) unsupported(entry.name + " of something that is not a constant");
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), object.release());
  }
  if (!args.keywords.empty()) unsupported(entry.name + " with keywords");
  const cpython::WarningWatch watch;
  Ref result = Ref::steal(PyObject_CallObject(callable, positional.get()));
  if (watch.hasWarned()) unsupported(entry.name + " of something that it warns of");
  if (!result) {
    PyErr_Clear();
    raises(entry.name + " raises");
  }
  return trace.constant(std::move(result));
}

/// In a trace of arrays of a device: their library's functions, and NumPy's that the arrays take for those.
Value* callOnDevice(Trace& trace, PyObject* callable, const Entry& entry, const CallArgs& args) {
  switch (entry.kind) {
    case Entry::Kind::kUfunc:
      needsArray(entry.name, args);
      for (const auto& [name, value] : args.keywords)
        if (name != "out") unsupported(entry.name + " with " + name);
      return callUfunc(trace, entry, args);
    case Entry::Kind::kFunction: {
      const FunctionInfo* function = findFunction(trace, entry.name);
      if (!function) unsupported(entry.name + " of arrays of " + trace.arrays().name);
      if (!entry.library->onDevice()) needsArray(entry.name, args);
      return invoke(trace, *function, args, callable);
    }
    case Entry::Kind::kScalarType:  // a number of the host
    case Entry::Kind::kFold: return fold(trace, callable, entry, args);
  }
  FW_UNREACHABLE();
}

}  // namespace

bool initialize() {
  Registry& r = registry();
  if (r.ready) return true;
  Ref module = Ref::steal(PyImport_ImportModule("numpy"));
  if (!module) return false;
  fill(module.get(), r);
  r.ready = true;
  return true;
}

void findLibraries() {
  Registry& r = registry();
  const guards::ArrayLibrary* cupy = r.hasCupy ? nullptr : guards::findCupy();
  if (!cupy) return;
  r.hasCupy = true;
  const Ref module = Ref::steal(PyImport_ImportModule(cupy->name.c_str()));
  if (!module) return PyErr_Clear();
  addUfuncs(module.get(), r, *cupy);
  addFunctions(module.get(), r, deviceFunctionTable(), *cupy);
}

std::vector<KnownName> knownNames() {
  std::vector<KnownName> names;
  for (const FunctionInfo& f : functionTable()) names.push_back({std::string(f.name), f.signature, "function"});
  for (std::string_view name : attributeNames()) names.push_back({"ndarray." + std::string(name), "", "attribute"});
  for (std::string_view name : kFoldable) names.push_back({"np." + std::string(name), "", "constant"});
  return names;
}

namespace {

/// The ufunc whose method this is, if it is one of ours.
const Entry* ufuncOf(PyObject* method) {
  const Entry* entry = isMethodOfUfunc(method) ? find(PyCFunction_GET_SELF(method)) : nullptr;
  return entry && entry->kind == Entry::Kind::kUfunc && !entry->library->onDevice() ? entry : nullptr;
}

}  // namespace

bool isKnown(PyObject* callable) { return find(callable) || isDraw(callable) || ufuncOf(callable); }

Value* call(Trace& trace, PyObject* callable, const CallArgs& args) {
  const Entry* entry = find(callable);
  if (!entry && isDraw(callable)) return drawBy(trace, callable, args);
  if (const Entry* ufunc = entry ? nullptr : ufuncOf(callable)) {
    trace.graph().setLine(static_cast<uint32_t>(trace.line));
    return callUfuncMethod(trace, callable, {ufunc->name, ufunc->op}, args);
  }
  FW_CHECK(entry);
  trace.graph().setLine(static_cast<uint32_t>(trace.line));
  if (entry->library->onDevice()) {
    if (!guards::deviceRefusal().empty()) unsupported(entry->name + ": " + guards::deviceRefusal());
    trace.useArrays(*entry->library);
  }
  if (trace.onDevice()) return callOnDevice(trace, callable, *entry, args);
  switch (entry->kind) {
    case Entry::Kind::kUfunc: return callUfunc(trace, *entry, args);
    case Entry::Kind::kFunction: return invoke(trace, *entry->function, args, callable);
    case Entry::Kind::kScalarType: return callScalarType(trace, *entry, args);
    case Entry::Kind::kFold: return fold(trace, callable, *entry, args);
  }
  FW_UNREACHABLE();
}

Value* callNamed(Trace& trace, std::string_view name, const CallArgs& args) {
  for (const auto& [callable, entry] : registry().entries)
    if (entry.name == name && entry.library == &trace.arrays()) return call(trace, callable, args);
  unsupported(std::string(name));
}

}  // namespace fw::capture::numpy
