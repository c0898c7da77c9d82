// Steps and comparisons of guards in C++. The stub does the common ones in machine code (emit_source.cpp,
// emit_guards.cpp) and calls these for the rest.
#include "guards/access.h"

#include <cstring>

#include "cpython/elements.h"
#include "cpython/hash_tables.h"
#include "cpython/objects.h"
#include "graph/support/check.h"

namespace fw::guards {

using cpython::AttributeCell;

bool usesCell(SourceKind kind) {
  switch (kind) {
    case SourceKind::kAttr:
    case SourceKind::kDictItem:
    case SourceKind::kHeldItem:
    case SourceKind::kKwDefault: return true;
    case SourceKind::kArg:
    case SourceKind::kFunction:
    case SourceKind::kConst:
    case SourceKind::kGlobals:
    case SourceKind::kBuiltins:
    case SourceKind::kCell:
    case SourceKind::kTypeOf:
    case SourceKind::kTypeAttr:
    case SourceKind::kItem:
    case SourceKind::kDefault:
    case SourceKind::kBoundSelf:
    case SourceKind::kBoundFunc:
    case SourceKind::kContents:
    case SourceKind::kClosureCell:
    case SourceKind::kWeak:
    case SourceKind::kModuleDict:
    case SourceKind::kElement:
    case SourceKind::kIterated: return false;
  }
  FW_UNREACHABLE();
}

namespace {

PyObject* tupleItem(PyObject* tuple, int64_t index) {
  if (!tuple || Py_TYPE(tuple) != &PyTuple_Type || index < 0 || index >= Py_SIZE(tuple)) return nullptr;
  return PyTuple_GET_ITEM(tuple, index);
}

PyObject* itemOf(PyObject* base, int64_t index) {
  if (Py_TYPE(base) == &PyTuple_Type) return tupleItem(base, index);
  if (Py_TYPE(base) != &PyList_Type) return nullptr;
  if (index < 0) index += Py_SIZE(base);
  if (index < 0 || index >= Py_SIZE(base)) return nullptr;
  return PyList_GET_ITEM(base, index);
}

PyFunctionObject* asFunction(PyObject* object) {
  return Py_TYPE(object) == &PyFunction_Type ? reinterpret_cast<PyFunctionObject*>(object) : nullptr;
}

PyObject* cellOf(PyFunctionObject* function, int64_t index) {
  return function ? tupleItem(function->func_closure, index) : nullptr;
}

PyObject* contentsOf(PyObject* cell) { return cell && Py_TYPE(cell) == &PyCell_Type ? PyCell_GET(cell) : nullptr; }

}  // namespace

PyObject* stepTo(const Source& source, PyObject* base, const CallFrame& frame, AttributeCell* cell) {
  switch (source.kind) {
    case SourceKind::kArg: return frame.args[source.index];
    case SourceKind::kFunction: return frame.function;
    case SourceKind::kConst: return source.object.get();
    case SourceKind::kGlobals: return asFunction(base) ? asFunction(base)->func_globals : nullptr;
    case SourceKind::kBuiltins: return asFunction(base) ? asFunction(base)->func_builtins : nullptr;
    case SourceKind::kCell: return contentsOf(cellOf(asFunction(base), source.index));
    case SourceKind::kClosureCell: return cellOf(asFunction(base), source.index);
    case SourceKind::kTypeOf: return reinterpret_cast<PyObject*>(Py_TYPE(base));
    case SourceKind::kAttr: return cpython::instanceAttribute(base, *cell).value;
    case SourceKind::kTypeAttr: return PyType_Check(base) ? cpython::typeAttribute(base, source.object.get()) : nullptr;
    case SourceKind::kItem: return itemOf(base, source.index);
    case SourceKind::kDictItem: return cpython::dictItem(base, *cell).value;
    case SourceKind::kDefault:
      return asFunction(base) ? tupleItem(asFunction(base)->func_defaults, source.index) : nullptr;
    case SourceKind::kKwDefault:
      return asFunction(base) ? cpython::dictItem(asFunction(base)->func_kwdefaults, *cell).value : nullptr;
    case SourceKind::kBoundSelf:
      return Py_TYPE(base) == &PyMethod_Type ? reinterpret_cast<PyMethodObject*>(base)->im_self : nullptr;
    case SourceKind::kBoundFunc:
      return Py_TYPE(base) == &PyMethod_Type ? reinterpret_cast<PyMethodObject*>(base)->im_func : nullptr;
    case SourceKind::kContents: return contentsOf(base);
    case SourceKind::kWeak: return cpython::weakTarget(source.object.get());
    case SourceKind::kModuleDict: return PyModule_CheckExact(base) ? PyModule_GetDict(base) : nullptr;
    case SourceKind::kElement: return cpython::elementOf(base, source.index);
    case SourceKind::kHeldItem: return cpython::probeTable(base, cell->key.get(), cell->hash).value;
    case SourceKind::kIterated: return cpython::isIndexIterator(Py_TYPE(base)) ? cpython::iteratedOf(base) : nullptr;
  }
  FW_UNREACHABLE();
}

namespace {

std::optional<int64_t> combine(graph::SymOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case graph::SymOp::kAdd: return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case graph::SymOp::kMul: return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case graph::SymOp::kFloorDiv:
    case graph::SymOp::kMod: {
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      int64_t q = a / b, m = a % b;
      if (m != 0 && (m < 0) != (b < 0)) --q, m += b;
      return op == graph::SymOp::kMod ? m : q;
    }
    case graph::SymOp::kMin: return std::min(a, b);
    case graph::SymOp::kMax: return std::max(a, b);
    case graph::SymOp::kConst:
    case graph::SymOp::kSymbol: break;
  }
  return std::nullopt;
}

/// As SymContext::evaluate, without the Status of a failure: a stub may call it.
std::optional<int64_t> evaluate(const graph::SymContext& syms, graph::SymId id, const int64_t* symbols) {
  const graph::SymNode& node = syms.node(id);
  if (node.op == graph::SymOp::kConst) return node.value;
  if (node.op == graph::SymOp::kSymbol) return symbols[node.value];
  std::optional<int64_t> value = evaluate(syms, node.operands[0], symbols);
  for (size_t i = 1; i < node.operands.size() && value; ++i) {
    std::optional<int64_t> next = evaluate(syms, node.operands[i], symbols);
    value = next ? combine(node.op, *value, *next) : std::nullopt;
  }
  return value;
}

}  // namespace

bool relationHolds(const graph::SymContext& syms, const Guard& guard, const int64_t* symbols) {
  std::optional<int64_t> a = evaluate(syms, guard.left, symbols), b = evaluate(syms, guard.right, symbols);
  if (!a || !b) return false;
  switch (guard.relation) {
    case Relation::kEq: return *a == *b;
    case Relation::kNe: return *a != *b;
    case Relation::kLt: return *a < *b;
    case Relation::kLe: return *a <= *b;
  }
  FW_UNREACHABLE();
}

}  // namespace fw::guards
