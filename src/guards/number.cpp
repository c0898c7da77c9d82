// Evaluation and text of number programs. Arithmetic here is one machine operation per step on doubles, compiled
// without contraction; comparisons of ints are exact. Everything whose rounding or errors are CPython's own goes
// through kCall.
#include "guards/number.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "graph/support/check.h"
#include "guards/array_layout.h"

namespace fw::guards {

using graph::DType;

namespace {

constexpr const char* kTexts[] = {
#define FW_NUMBER_OP(Id, text, arity) text,
#include "guards/number_ops.def"
};

template <class T>
bool compare(NumberOp op, T a, T b) {
  switch (op) {
    case NumberOp::kLess: return a < b;
    case NumberOp::kLessEqual: return a <= b;
    case NumberOp::kEqual: return a == b;
    case NumberOp::kNotEqual: return a != b;
    case NumberOp::kGreater: return a > b;
    case NumberOp::kGreaterEqual: return a >= b;
    case NumberOp::kConstant:
    case NumberOp::kObject:
    case NumberOp::kSymbol:
    case NumberOp::kInput:
    case NumberOp::kAdd:
    case NumberOp::kSubtract:
    case NumberOp::kMultiply:
    case NumberOp::kDivide:
    case NumberOp::kNegative:
    case NumberOp::kAbsolute:
    case NumberOp::kToFloat:
    case NumberOp::kToSingle:
    case NumberOp::kTruth:
    case NumberOp::kNot:
    case NumberOp::kSameBits:
    case NumberOp::kCall: break;
  }
  FW_UNREACHABLE();
}

/// Shifts and powers of ints by large amounts would fill memory before they are found not to fit.
bool isLarge(const NumberStep& step, const NumberType* types, const NumberValue* operands) {
  if (step.type != NumberType::kInt || step.operands.size() != 2 || types[1] == NumberType::kFloat) return false;
  auto* function = reinterpret_cast<PyCFunctionObject*>(step.callable.get());
  if (!PyCFunction_Check(function)) return false;
  std::string_view name = function->m_ml->ml_name;
  return (name == "lshift" || name == "pow") && (operands[1].i > 64 || operands[1].i < -64);
}

bool call(const NumberStep& step, const NumberType* types, const NumberValue* operands, NumberValue* out) {
  if (isLarge(step, types, operands)) return false;
  absl::InlinedVector<cpython::Ref, 3> boxes;
  absl::InlinedVector<PyObject*, 4> arguments{nullptr};
  for (size_t i = 0; i < step.operands.size(); ++i) {
    boxes.push_back(boxNumber(types[i], operands[i]));
    arguments.push_back(boxes.back().get());
  }
  cpython::Ref result = cpython::Ref::steal(PyObject_Vectorcall(
      step.callable.get(), arguments.data() + 1, boxes.size() | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  if (!result) {
    PyErr_Clear();
    return false;
  }
  NumberType type;
  return unboxNumber(result.get(), &type, out) && type == step.type;
}

}  // namespace

bool isNumberType(DType dtype) {
  return dtype == DType::kBool || dtype == DType::kF64 || dtype == DType::kF32 ||
         (graph::isInteger(dtype) && dtype != DType::kU64);
}

cpython::Ref boxNumber(NumberType type, NumberValue value) {
  switch (type) {
    case NumberType::kBool: return cpython::Ref::create(value.i ? Py_True : Py_False);
    case NumberType::kInt: return cpython::checked(PyLong_FromLongLong(value.i));
    case NumberType::kFloat: return cpython::checked(PyFloat_FromDouble(value.f));
  }
  FW_UNREACHABLE();
}

bool unboxNumber(PyObject* object, NumberType* type, NumberValue* value) {
  if (PyFloat_CheckExact(object)) {
    *type = NumberType::kFloat;
    value->f = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object)) {
    *type = NumberType::kBool;
    value->i = object == Py_True;
    return true;
  }
  *type = NumberType::kInt;
  return PyLong_CheckExact(object) && cpython::asInt64(object, &value->i);
}

NumberValue readNumber(const NumberStep& step, PyObject* object) {
  if (!step.numpyScalar) {
    if (step.type == NumberType::kFloat) return {.f = PyFloat_AS_DOUBLE(object)};
    return {.i = object == Py_True};
  }
  const char* bytes = reinterpret_cast<char*>(object) + kNumpyScalarOffset;
  if (step.dtype == DType::kF32) {
    float single = 0;
    std::memcpy(&single, bytes, sizeof(single));
    return {.f = single};
  }
  graph::Scalar s{.dtype = step.dtype};
  std::memcpy(&s.lo, bytes, static_cast<size_t>(graph::itemSize(step.dtype)));
  if (step.dtype == DType::kF64) return {.f = s.asDouble()};
  return {.i = s.asInt()};
}

bool applyNumber(const NumberStep& step, const NumberType* types, const NumberValue* v, NumberValue* out) noexcept {
  switch (step.op) {
    case NumberOp::kAdd: out->f = v[0].f + v[1].f; return true;
    case NumberOp::kSubtract: out->f = v[0].f - v[1].f; return true;
    case NumberOp::kMultiply: out->f = v[0].f * v[1].f; return true;
    case NumberOp::kDivide: out->f = v[0].f / v[1].f; return true;
    case NumberOp::kNegative: out->f = -v[0].f; return true;
    case NumberOp::kAbsolute: out->f = std::fabs(v[0].f); return true;
    case NumberOp::kToFloat: out->f = static_cast<double>(v[0].i); return true;
    case NumberOp::kToSingle: out->f = static_cast<float>(v[0].f); return true;
    case NumberOp::kTruth: out->i = types[0] == NumberType::kFloat ? v[0].f != 0 : v[0].i != 0; return true;
    case NumberOp::kNot: out->i = !v[0].i; return true;
    case NumberOp::kLess:
    case NumberOp::kLessEqual:
    case NumberOp::kEqual:
    case NumberOp::kNotEqual:
    case NumberOp::kGreater:
    case NumberOp::kGreaterEqual:
      out->i = types[0] == NumberType::kFloat ? compare(step.op, v[0].f, v[1].f) : compare(step.op, v[0].i, v[1].i);
      return true;
    case NumberOp::kSameBits: out->i = std::bit_cast<uint64_t>(v[0].f) == std::bit_cast<uint64_t>(v[1].f); return true;
    case NumberOp::kCall: try { return call(step, types, v, out);
      } catch (const cpython::PythonError&) {  // no memory for a box
        PyErr_Clear();
        return false;
      }
    case NumberOp::kConstant:
    case NumberOp::kObject:
    case NumberOp::kSymbol:
    case NumberOp::kInput: return false;
  }
  return false;
}

namespace {

bool readSymbol(const graph::SymContext& syms, graph::SymId sym, const int64_t* symbols, int64_t* out) {
  const graph::SymNode& node = syms.node(sym);
  if (node.op == graph::SymOp::kSymbol) {
    *out = symbols[node.value];
    return true;
  }
  auto value = syms.evaluate(sym, {symbols, static_cast<size_t>(syms.symbolCount())});
  if (value.ok()) *out = *value;
  return value.ok();
}

}  // namespace

bool runNumber(const NumberProgram& program, const graph::SymContext& syms, PyObject* const* objects,
               const int64_t* symbols, const uint64_t* scalars, NumberValue* out) noexcept {
  absl::InlinedVector<NumberValue, 16> values(program.steps.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const NumberStep& step = program.steps[i];
    if (step.op == NumberOp::kConstant) {
      values[i] = step.value;
    } else if (step.op == NumberOp::kObject) {
      values[i] = readNumber(step, objects[step.index]);
    } else if (step.op == NumberOp::kInput) {
      std::memcpy(&values[i], scalars + 2 * step.index, sizeof(values[i]));
    } else if (step.op == NumberOp::kSymbol) {
      if (!readSymbol(syms, step.sym, symbols, &values[i].i)) return false;
    } else {
      absl::InlinedVector<NumberValue, 3> operands;
      absl::InlinedVector<NumberType, 3> types;
      for (uint16_t operand : step.operands) {
        operands.push_back(values[operand]);
        types.push_back(program.steps[operand].type);
      }
      if (!applyNumber(step, types.data(), operands.data(), &values[i])) return false;
    }
  }
  *out = values.back();
  return true;
}

std::string NumberProgram::text(const SourceTable& table, const graph::SymContext& syms, PyObject* code) const {
  std::vector<std::string> texts;
  for (const NumberStep& step : steps) {
    auto operand = [&](size_t i) {
      const std::string& text = texts[step.operands[i]];
      return text.find(' ') == std::string::npos || text.back() == ')' ? text : "(" + text + ")";
    };
    const std::string name = kTexts[static_cast<int>(step.op)];
    std::string text;
    if (step.op == NumberOp::kConstant) {
      cpython::Ref shown = cpython::checked(PyObject_Repr(boxNumber(step.type, step.value).get()));
      text = PyUnicode_AsUTF8(shown.get());
    } else if (step.op == NumberOp::kObject) {
      text = table.describe(sources[static_cast<size_t>(step.index)], code);
    } else if (step.op == NumberOp::kSymbol) {
      text = syms.print(step.sym);
    } else if (step.op == NumberOp::kInput) {
      text = "number" + std::to_string(step.index);
    } else if (step.op == NumberOp::kCall) {
      PyObject* callable = step.callable.get();
      text = PyCFunction_Check(callable) ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name : "call";
      if (PyType_Check(callable)) text = reinterpret_cast<PyTypeObject*>(callable)->tp_name;
      text += "(";
      for (size_t i = 0; i < step.operands.size(); ++i) text += (i ? ", " : "") + texts[step.operands[i]];
      text += ")";
    } else if (step.operands.size() == 2) {
      text = operand(0) + name + operand(1);
    } else {
      text = name.back() == ' ' || name == "-" ? name + operand(0) : name + "(" + texts[step.operands[0]] + ")";
    }
    if (text.size() > 200) text = text.substr(0, 197) + "...";
    texts.push_back(std::move(text));
  }
  return texts.back();
}

}  // namespace fw::guards
