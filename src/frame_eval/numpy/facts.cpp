// Questions about types and shapes: answered while tracing.
#include "cpython/numpy_api.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/numpy/binding.h"
#include "guards/array_layout.h"

namespace fw::capture::numpy::handlers {
namespace {

using cpython::checked;

bool isComplexValue(Bound& a) { return graph::isComplex(a.trace.graph().type(a.array("x")).dtype); }

}  // namespace

Value* ndim(Bound& a) {
  return a.trace.pyInt(a.trace.syms().constant(int64_t{a.trace.graph().type(a.array("a")).rank()}));
}

Value* shape(Bound& a) {
  std::vector<Value*> sizes;
  for (SymId s : shapeOf(a.trace, a.array("a"))) sizes.push_back(a.trace.pyInt(s));
  return a.trace.tuple(std::move(sizes));
}

Value* size(Bound& a) {
  SymShape shape = shapeOf(a.trace, a.array("a"));
  if (absent(a["axis"])) return a.trace.pyInt(elementCount(a.trace, shape));
  if (sequenceItems(a.trace, a["axis"])) a.refuse("several axes");
  return a.trace.pyInt(shape[static_cast<size_t>(axisArg(a.trace, a["axis"], static_cast<int>(shape.size())))]);
}

Value* iscomplexobj(Bound& a) { return boolean(a.trace, isComplexValue(a)); }
Value* isrealobj(Bound& a) { return boolean(a.trace, !isComplexValue(a)); }

Value* isscalar(Bound& a) {
  Value* v = a["element"];
  if (v->kind == ValueKind::kArray) return boolean(a.trace, false);
  if (v->isNumeric()) return boolean(a.trace, true);
  const Ref object = a.trace.asObject(v);
  if (!object || !isPlain(object.get())) a.refuse("this object");
  return boolean(a.trace, PyNumber_Check(object.get()) || PyUnicode_Check(object.get()) || PyBytes_Check(object.get()));
}

Value* normalizeAxisIndex(Bound& a) {
  const int64_t rank = knownInt(a.trace, a["ndim"]);
  return a.trace.constant(checked(PyLong_FromLong(axisArg(a.trace, a["axis"], static_cast<int>(rank)))));
}

Value* resultType(Bound& a) {
  std::vector<graph::OperandType> types;
  for (Value* v : a.rest) {
    Ref object = v->isNumeric() ? Ref() : a.trace.asObject(v);
    auto dtype = object ? dtypeOfObject(object.get()) : std::nullopt;
    types.push_back(dtype ? graph::OperandType{*dtype} : operandType(a.trace, a.trace.operand(v)));
  }
  if (types.empty()) raises("at least one array or dtype is required");
  DType result = graph::resultType(types.data(), static_cast<int>(types.size()));
  return a.trace.constant(reinterpret_cast<PyObject*>(guards::builtinDescr(result)));
}

Value* broadcastShapes(Bound& a) {
  SymShape result;
  for (Value* v : a.rest) {
    SymShape shape = shapeArg(a.trace, v);
    while (result.size() < shape.size()) result.insert(result.begin(), a.trace.syms().constant(1));
    size_t shift = result.size() - shape.size();
    for (size_t i = shape.size(); i-- > 0;) result[i + shift] = unifySizes(a.trace, result[i + shift], shape[i]);
  }
  std::vector<Value*> sizes;
  for (SymId s : result) sizes.push_back(a.trace.pyInt(s));
  return a.trace.tuple(std::move(sizes));
}

}  // namespace fw::capture::numpy::handlers
