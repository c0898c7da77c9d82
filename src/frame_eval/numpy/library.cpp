// Every call has a site of its own. Its arguments are a small tree that says where the operands of the node go.
#include "frame_eval/numpy/library.h"

#include <algorithm>

#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/numpy/random.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;
using Kind = LibraryArgument::Kind;

class ArgumentBuilder {
 public:
  /// `quiet`: it moves, compares or counts.
  ArgumentBuilder(Trace& trace, std::string_view function, bool quiet)
      : trace_(trace),
        function_(function),
        quiet_(quiet) {}

  LibraryArgument build(Value* value) {
    if (isGenerator(trace_, value)) return generator(value);
    switch (value->kind) {
      case ValueKind::kArray: return operand(Kind::kArray, value->node);
      case ValueKind::kArrayScalar:
      case ValueKind::kPyFloat:
      case ValueKind::kPyBool:
      case ValueKind::kPyComplex:
      case ValueKind::kDataInt:
      case ValueKind::kPyInt: return number(value);
      case ValueKind::kTuple:
      case ValueKind::kList:
      case ValueKind::kSlice: return items(value);
      default: break;
    }
    Ref object = trace_.asObject(value);
    const bool fixed =
        object && (isPlain(object.get()) || PyArray_DescrCheck(object.get()) || PySlice_Check(object.get()) ||
                   PyType_Check(object.get()) || object.get() == Py_Ellipsis);
    if (!fixed) unsupported(std::string(function_) + " with this argument");
    return {Kind::kConstant, -1, std::move(object), {}};
  }

  std::vector<ValueId>& operands() { return operands_; }

 private:
  LibraryArgument number(Value* value) {
    // What stands in memory of the device is not known to who calls.
    if (trace_.onDevice() && (value->kind == ValueKind::kPyInt || value->kind == ValueKind::kDataInt ||
                              trace_.graph().node(value->node).op != graph::Op::kInput || !trace_.numbers().of(value)))
      unsupported(std::string(function_) + " with a number that is computed, next to arrays of a device");
    switch (value->kind) {
      case ValueKind::kArrayScalar:
        if (value->which) trace_.branches.refuse(value);
        return operand(Kind::kScalar, value->node);
      case ValueKind::kPyFloat: return operand(Kind::kFloat, value->node);
      case ValueKind::kPyBool: return operand(Kind::kBool, value->node);
      case ValueKind::kPyComplex: return operand(Kind::kComplex, value->node);
      case ValueKind::kDataInt: return operand(Kind::kInt, value->node);
      case ValueKind::kPyInt: return operand(Kind::kInt, trace_.graph().sym(trace_.syms().canonical(value->sym)));
      default: FW_UNREACHABLE();
    }
  }

  static LibraryArgument generator(const Value* value) {
    if (value->isConstant()) return {Kind::kConstant, -1, value->object, {}};
    return {.kind = Kind::kObject, .object = {}, .items = {}, .source = value->source};
  }

  /// A call sees strides, and the bits of what computes may go by them. Memory that goes backwards and has been written
  /// here is handed over as other memory, which goes forwards.
  LibraryArgument operand(Kind kind, ValueId node) {
    const graph::Graph& g = trace_.graph();
    const ValueId base = graph::viewBase(g, node);
    if (!quiet_ && g.node(base).op != Op::kInput && g.type(base).layout.negativeAxes != 0)
      unsupported(std::string(function_) + " of an array that goes backwards and has been written");
    operands_.push_back(node);
    return {kind, static_cast<int>(operands_.size()) - 1, {}, {}};
  }

  LibraryArgument items(Value* value) {
    if (value->cls) unsupported(std::string(function_) + " with an instance of a subclass");
    const bool slice = value->kind == ValueKind::kSlice;
    LibraryArgument list{slice                              ? Kind::kSlice
                         : value->kind == ValueKind::kTuple ? Kind::kTuple
                                                            : Kind::kList,
                         -1,
                         {},
                         {}};
    for (Value* item : value->items) list.items.push_back(build(item));
    return list;
  }

  Trace& trace_;
  std::string_view function_;
  bool quiet_;
  std::vector<ValueId> operands_;
};

}  // namespace

Ref functionOf(const Bound& a) {
  if (a.callable) return Ref::create(a.callable);
  const std::string_view method = a.function.substr(a.function.find('.') + 1);  // ndarray.dot
  return checked(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(a.trace.arrays().type), std::string(method).c_str()));
}

ValueType freshType(DType dtype, SymShape shape) {
  const int rank = static_cast<int>(shape.size());
  return {dtype, std::move(shape), graph::Layout::c(rank), {}};
}

namespace {

LibraryNode calledBy(Bound& a, bool tuple) {
  LibraryNode node{.name = a.function, .function = functionOf(a), .positional = {}, .tuple = tuple};
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (i < a.positional)
      node.positional.push_back(a.values[i].second);
    else
      node.keywords.push_back(a.values[i]);
  }
  node.positional.insert(node.positional.end(), a.rest.begin(), a.rest.end());
  return node;
}

/// Two arrays of Python's that are one here, since they were computed alike: the bits of a product of a matrix with its
/// own transpose are others than those with the transpose of its twin.
void refuseTwins(Trace& trace, const LibraryNode& what) {
  const graph::Graph& g = trace.graph();
  absl::InlinedVector<std::pair<const Value*, ValueId>, 4> arrays;
  for (Value* value : what.positional) {
    if (value->kind != ValueKind::kArray) continue;
    const std::pair<const Value*, ValueId> array(value->base ? value->base : value, graph::viewBase(g, value->node));
    for (const auto& [owner, base] : arrays)
      if (base == array.second && owner != array.first && g.node(base).op != Op::kInput)
        unsupported(std::string(what.name) + " of two arrays that were computed alike");
    arrays.push_back(array);
  }
}

}  // namespace

std::vector<ValueId> libraryNode(Trace& trace, LibraryNode what, const MakeResults& makeResults) {
  if (!what.quiet) refuseTwins(trace, what);
  ArgumentBuilder builder(trace, what.name, what.quiet);
  LibraryCall call{std::move(what.function), {}, {}, what.tuple};
  call.quiet = what.quiet;
  call.draws = what.draws;
  call.python = what.python;
  call.guessed = what.guessed;
  call.watched = what.watched;
  call.items = std::move(what.items);
  call.errors = trace.graph().errors();
  for (Value* value : what.positional) call.positional.push_back(builder.build(value));
  for (const auto& [name, value] : what.keywords)
    call.keywords.emplace_back(checked(PyUnicode_InternFromString(std::string(name).c_str())), builder.build(value));

  graph::Graph& g = trace.graph();
  Attrs attrs;
  attrs.set(AttrKey::kSite, static_cast<int64_t>(trace.libraryCalls.size()));
  attrs.set(AttrKey::kCallee, std::string(what.name));
  ValueType type;
  type.tuple = makeResults(ValueId(g.size()));
  graph::SymList sizes;
  for (const ValueType& result : type.tuple)
    for (SymId size : result.shape)
      if (trace.decided.contains(size) && std::find(sizes.begin(), sizes.end(), size) == sizes.end())
        sizes.push_back(size);
  call.decides = !sizes.empty();
  if (call.decides && trace.onDevice()) unsupported(std::string(what.name) + ": sizes that data of a device decides");
  if (call.decides) attrs.set(AttrKey::kSizes, std::move(sizes));
  trace.libraryCalls.push_back(std::move(call));
  const size_t count = type.tuple.size();
  const ValueId node = g.addTyped(Op::kCall, builder.operands(), std::move(type), std::move(attrs));
  std::vector<ValueId> projects;
  for (size_t i = 0; i < count; ++i) {
    Attrs which;
    which.set(AttrKey::kIndex, static_cast<int64_t>(i));
    projects.push_back(orBreak(g.add(Op::kProject, {node}, std::move(which))));
  }
  return projects;
}

std::vector<ValueId> libraryCall(Bound& a, std::vector<ValueType> results, bool tuple) {
  return libraryNode(a.trace, calledBy(a, tuple), [&](ValueId) { return std::move(results); });
}

std::vector<ValueId> decidingCall(Bound& a, bool tuple, const MakeResults& makeResults) {
  LibraryNode node = calledBy(a, tuple);
  node.quiet = true;
  return libraryNode(a.trace, std::move(node), makeResults);
}

Value* libraryValue(Bound& a, ValueType result) {
  return a.trace.arrayOrScalar(libraryCall(a, {std::move(result)})[0]);
}

Value* quietValue(Bound& a, ValueType result) {
  return a.trace.arrayOrScalar(decidingCall(a, false, [&](ValueId) { return std::vector{std::move(result)}; })[0]);
}

void directly(Bound& a, LibraryCall::Direct how, std::string_view method, DType type, size_t count) {
  LibraryCall& call = a.trace.libraryCalls.back();
  const auto isArray = [](const LibraryArgument& argument) { return argument.kind == Kind::kArray; };
  const bool plain = call.positional.size() == count && std::ranges::all_of(call.positional, isArray);
  if (a.trace.onDevice() || !plain || !call.keywords.empty()) return;
  call.direct = how;
  call.method = method;
  call.type = type;
}

void quantileDirectly(Bound& a, double whole) {
  LibraryCall& call = a.trace.libraryCalls.back();
  if (a.trace.onDevice() || call.positional.size() != 2 || !call.keywords.empty()) return;
  PyObject* q = a["q"]->object.get();
  if (call.positional[0].kind != Kind::kArray || !(PyFloat_CheckExact(q) || PyLong_CheckExact(q))) return;
  const double place = PyFloat_AsDouble(q) / whole;
  if (PyErr_Occurred()) PyErr_Clear();
  if (!(place >= 0 && place <= 1)) return;
  call.direct = LibraryCall::Direct::kQuantile;
  call.type = DType::kF64;
  call.place = place;
}

void solvedDirectly(Bound& a, std::string_view method, std::initializer_list<ValueId> nodes) {
  const ValueType& first = a.trace.graph().type(*nodes.begin());
  const auto isOfType = [&](ValueId node) { return a.trace.graph().type(node).dtype == first.dtype; };
  const bool isDouble = first.dtype == DType::kF64 || first.dtype == DType::kC128;
  if (first.rank() == 2 && isDouble && std::ranges::all_of(nodes, isOfType))
    directly(a, LibraryCall::Direct::kLoop, method, first.dtype, nodes.size());
}

Value* solverValue(Bound& a, ValueType result, std::string_view method, std::initializer_list<ValueId> nodes) {
  Value* value = libraryValue(a, std::move(result));
  solvedDirectly(a, method, nodes);
  return value;
}

}  // namespace fw::capture::numpy
