// Operators. Arrays and NumPy scalars go to the NumPy side; numbers known while tracing are computed by CPython itself;
// runtime numbers go to interpret_numbers.cpp, sequences to interpret_containers.cpp.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/collections.h"
#include "frame_eval/complex_numbers.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/long_list.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/nesting.h"
#include "frame_eval/unseen_list.h"
#include "frame_eval/sets.h"
#include "frame_eval/watched_items.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;
using numpy::Unary;

namespace {

constexpr int kFirstInplace = cpython::kNbFirstInplace;

bool isNumpyOperand(Value* v) {
  if (numpy::isSelection(v)) return true;
  if (v->kind == ValueKind::kArray || v->kind == ValueKind::kArrayScalar) return true;
  return v->isConstant() && PyArray_IsScalar(v->object.get(), Generic);
}

bool isRuntimeNumber(Value* v) {
  return v->kind == ValueKind::kPyFloat || v->kind == ValueKind::kPyInt || v->kind == ValueKind::kPyBool ||
         v->kind == ValueKind::kDataInt || v->kind == ValueKind::kPyComplex;
}

bool isNumber(Value* v) {
  if (isRuntimeNumber(v)) return true;
  if (!v->isConstant()) return false;
  PyObject* o = v->object.get();
  return PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o);
}

bool isSequence(Value* v) {
  return v->kind == ValueKind::kTuple || v->kind == ValueKind::kList ||
         (v->isConstant() && PyTuple_CheckExact(v->object.get()));
}

const char* const kOperators[] = {"+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"};
const char* const kComparisonSigns[] = {"<", "<=", "==", "!=", ">", ">="};

/// The np.float64 of a sum or product whose left side is a complex, as the float that it is there.
Value* floatBesideComplex(Trace& trace, int op, Value* left, Value* right) {
  const bool computes =
      op == cpython::kNbAdd || op == cpython::kNbSubtract || op == cpython::kNbMultiply || op == cpython::kNbTrueDivide;
  if (!computes || !ComplexNumbers::is(left) || right->kind != ValueKind::kArrayScalar || right->which ||
      trace.onDevice() || trace.graph().type(right->node).dtype != graph::DType::kF64)
    return right;
  return trace.number(ValueKind::kPyFloat, right->node);
}

/// complex takes every float for its own kind, np.float64 is one, and answers a complex, or a bool to == and !=. It has
/// no order, which it leaves to the other side.
void refuseFloatOfComplex(Trace& trace, Value* left, Value* right) {
  if (left->kind != ValueKind::kPyComplex && !isConstantOf(left, &PyComplex_Type)) return;
  PyTypeObject* other = trace.typeOf(right);
  if (other != &PyFloat_Type && PyType_IsSubtype(other, &PyFloat_Type))
    trace.fail(BreakReason::kUnsupportedNumpy, "a Python complex and a np.float64");
}

using BinaryFunction = PyObject* (*)(PyObject*, PyObject*);
PyObject* power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }
constexpr BinaryFunction kNumberFunctions[] = {
    PyNumber_Add,      PyNumber_And,        PyNumber_FloorDivide, PyNumber_Lshift, PyNumber_MatrixMultiply,
    PyNumber_Multiply, PyNumber_Remainder,  PyNumber_Or,          power,           PyNumber_Rshift,
    PyNumber_Subtract, PyNumber_TrueDivide, PyNumber_Xor};

/// True for results that could take forever or fill memory: they are left to run time.
bool isHuge(int op, PyObject* left, PyObject* right) {
  constexpr size_t kMostBits = 4096;
  if (PyLong_Check(left) && PyLong_Check(right) &&
      (_PyLong_NumBits(left) > kMostBits || _PyLong_NumBits(right) > kMostBits))
    return true;
  if (op == cpython::kNbPower || op == cpython::kNbLshift) {
    if (!PyLong_Check(left) || !PyLong_Check(right)) return false;
    int overflow = 0;
    long long amount = PyLong_AsLongLongAndOverflow(right, &overflow);
    return overflow || amount > 1024;
  }
  if (op != cpython::kNbMultiply && op != cpython::kNbRemainder) return false;
  bool sequence = PyUnicode_Check(left) || PyBytes_Check(left) || PyTuple_Check(left) || PyUnicode_Check(right) ||
                  PyBytes_Check(right) || PyTuple_Check(right);
  if (!sequence || op == cpython::kNbRemainder) return false;
  PyObject* count = PyLong_Check(left) ? left : right;
  if (!PyLong_Check(count)) return false;
  int overflow = 0;
  long long times = PyLong_AsLongLongAndOverflow(count, &overflow);
  return overflow || times > 4096;
}

}  // namespace

void Interpreter::onBinaryOp(const Instr& instr) {
  auto [left, right] = popPair();
  bool inplace = instr.arg >= kFirstInplace;
  const int op = inplace ? instr.arg - kFirstInplace : instr.arg;
  // `path = path + [i]`: a list that has no other name might as well grow.
  const Instr& next = frame_->code->instructions[frame_->pc];
  const auto isOwnList = [](const Value* v) {
    return (v->kind == ValueKind::kList || isLongList(v)) && !v->source.valid() && !v->cls;
  };
  if (!inplace && op == cpython::kNbAdd && next.op == cpython::Opcode::kStoreFast && isOwnList(left) &&
      isOwnList(right) && left != right) {
    Value*& slot = frame_->slots[static_cast<size_t>(next.arg)];
    if (slot == left) {
      slot = nullptr;
      const auto& rows = trace_.branches.held();
      const auto isRow = [&](const auto& held) {
        return std::find(left->items.begin(), left->items.end(), held.second) != left->items.end();
      };
      inplace = !isHeld(left) && std::none_of(rows.begin(), rows.end(), isRow);
      slot = left;
    }
  }
  push(binary(op, inplace, left, right));
}

Value* Interpreter::foldBinary(int op, Value* left, Value* right) {
  PyObject *a = left->object.get(), *b = right->object.get();
  if (isHuge(op, a, b))
    trace_.fail(BreakReason::kUnsupportedInstruction, std::string("a huge result of ") + kOperators[op]);
  Value* result = fold(kNumberFunctions[op](a, b));
  if (isSameObject(result, left)) return left;  // "s" * 1
  return isSameObject(result, right) ? right : result;
}

LoopDecisions::Key InterpreterState::site() const {
  if (!mayRoll() || trace_.onDevice()) return {};
  const Bytecode& code = *frame_->code;
  size_t at = frame_->pc - 1, depth = frames_.size();
  // Code of ours stands where it is called, and makes another thing at each place.
  if (!isSubstitute(frame_->object())) return {code.identity(), at};
  while (depth > 1 && isSubstitute(frames_[depth - 1]->object())) --depth;
  const Frame& caller = *frames_[depth - 1];
  constexpr int kBits = 20;
  at |= caller.pc << kBits;
  return {caller.code->identity(), at ^ (absl::HashOf(code.identity()) << 2 * kBits)};
}

bool InterpreterState::isHeld(const Value* value) const {
  const auto has = [&](const std::vector<Value*>& values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (const auto& frame : frames_)
    if (has(frame->slots) || has(frame->stack) || has(frame->closure)) return true;
  for (const Value& other : trace_.values()) {
    const bool holds = has(other.items) || has(other.keys) || other.base == value;
    if (holds && (other.kind != ValueKind::kMethod || isHeld(&other))) return true;  // methods are made for a call
    for (const auto& [name, held] : other.overlay)
      if (held == value) return true;
  }
  return false;
}

Value* Interpreter::binary(int op, bool inplace, Value* left, Value* right) {
  trace_.refuseOpaque(left);
  trace_.refuseOpaque(right);
  right = floatBesideComplex(trace_, op, left, right);
  refuseFloatOfComplex(trace_, left, right);
  left = MixedNumbers{trace_}.present(left);
  right = MixedNumbers{trace_}.present(right);
  if (MixedNumbers::is(left) || MixedNumbers::is(right)) {
    if (Value* result = MixedNumbers{trace_}.binary(op, left, right)) return result;
  }
  if (isNumpyOperand(left) || isNumpyOperand(right)) {
    Value* result = numpy::binaryOp(trace_, op, inplace, left, right);
    if (inplace) return result;
    return numpy::inPlaceOfTemporary(trace_, op, left, right, result, [&](const Value* v) { return isHeld(v); });
  }
  if (isPlainConstant(left) && isPlainConstant(right)) return foldBinary(op, left, right);
  if (isNumber(left) && isNumber(right)) {
    bool floating = left->kind == ValueKind::kPyFloat || right->kind == ValueKind::kPyFloat ||
                    left->kind == ValueKind::kPyComplex || right->kind == ValueKind::kPyComplex ||
                    (left->isConstant() && !PyLong_Check(left->object.get())) ||
                    (right->isConstant() && !PyLong_Check(right->object.get()));
    return floating ? floatBinary(op, left, right) : intBinary(op, left, right);
  }
  if (isSubclassValue(left) || isSubclassValue(right)) {
    if (Value* result = objectBinary(op, inplace, left, right)) return result;
  }
  if (Value* result = dictUnion(op, inplace, left, right)) return result;
  if (Value* result = Sets{*this, trace_}.binary(op, inplace, left, right)) return result;
  if (isSequence(left) || isSequence(right)) {
    if (Value* result = sequenceBinary(op, inplace, left, right)) return result;
  }
  if (Value* result = objectBinary(op, inplace, left, right)) return result;
  trace_.fail(BreakReason::kUnsupportedObject,
              std::string(trace_.typeOf(left)->tp_name) + " " + kOperators[op] + " " + trace_.typeOf(right)->tp_name);
}

// ---- unary --------------------------------------------------------------------------------------------------------

Value* Interpreter::unary(Unary op, Value* value) {
  trace_.refuseOpaque(value);
  value = MixedNumbers{trace_}.present(value);
  if (MixedNumbers::is(value)) {
    if (op != Unary::kNegative) trace_.branches.refuse(value);
    return MixedNumbers{trace_}.negative(value);
  }
  if (isNumpyOperand(value)) return numpy::unaryOp(trace_, op, value);
  if (isPlainConstant(value)) {
    PyObject* o = value->object.get();
    switch (op) {
      case Unary::kNegative: return fold(PyNumber_Negative(o));
      case Unary::kPositive: return fold(PyNumber_Positive(o));
      case Unary::kInvert:
        if (PyBool_Check(o)) break;  // deprecated: warns
        return fold(PyNumber_Invert(o));
    }
  }
  graph::SymContext& syms = trace_.syms();
  if (value->kind == ValueKind::kPyInt) {
    if (op == Unary::kPositive) return value;
    if (!trace_.ensureWithin(value->sym, -INT64_MAX, INT64_MAX)) raises("integer overflow");
    graph::SymId negative = syms.neg(value->sym);
    return trace_.pyInt(op == Unary::kNegative ? negative : syms.add(negative, syms.constant(-1)));
  }
  if (value->kind == ValueKind::kDataInt) {
    if (op == Unary::kPositive) return value;
    DataInts ints{trace_};
    return op == Unary::kNegative
               ? ints.negative(value)
               : ints.binary(cpython::kNbSubtract, ints.negative(value), trace_.pyInt(syms.constant(1)));
  }
  if (value->kind == ValueKind::kPyFloat && op == Unary::kPositive) return value;
  if (value->kind == ValueKind::kPyFloat && op == Unary::kNegative) {
    return trace_.number(ValueKind::kPyFloat, trace_.graph().unary(graph::Op::kNegative, value->node));
  }
  if (value->kind == ValueKind::kPyComplex && op == Unary::kNegative)
    if (Value* result = ComplexNumbers{*this, trace_}.negative(value)) return result;
  if (isRuntimeNumber(value)) {
    if (Value* known = trace_.specializeNumber(value)) return unary(op, known);
  }
  if (Value* result = objectUnary(op, value)) return result;
  trace_.fail(BreakReason::kUnsupportedObject, std::string("unary operator on ") + trace_.typeOf(value)->tp_name);
}

void Interpreter::onUnaryNegative(const Instr&) { push(unary(Unary::kNegative, pop())); }
void Interpreter::onUnaryPositive(const Instr&) { push(unary(Unary::kPositive, pop())); }
void Interpreter::onUnaryInvert(const Instr&) { push(unary(Unary::kInvert, pop())); }

// ---- comparisons --------------------------------------------------------------------------------------------------

void Interpreter::onCompareOp(const Instr& instr) {
  if (Choices::is(top(1)) || Choices::is(top(2)))
    return Choices{trace_}.answer(
        *this, [&](Value* left, Value* right) { return compare(instr.arg, trace_.open(left), trace_.open(right)); });
  auto [left, right] = popPair();
  Value* result = compare(instr.arg, left, right);
  // A bool or a np.bool_: nobody but a branch may look at it.
  if (result->kind == ValueKind::kPyBool && result->joined) {
    const auto& code = frame_->code->instructions;
    size_t next = frame_->pc;
    while (next < code.size() && (code[next].op == cpython::Opcode::kToBool || code[next].op == cpython::Opcode::kNop))
      ++next;
    const bool decides = next < code.size() && (code[next].op == cpython::Opcode::kPopJumpIfFalse ||
                                                code[next].op == cpython::Opcode::kPopJumpIfTrue ||
                                                code[next].op == cpython::Opcode::kUnaryNot);
    if (!decides)
      trace_.fail(BreakReason::kDataDependentBranch, "array data decides whether a bool is Python's or NumPy's");
  }
  push(result);
}

/// == and != of numbers one of which is None, or may be. Null: neither is.
Value* Interpreter::equalsOrNone(int op, Value* left, Value* right) {
  const auto isNumeric = [](Value* v) {
    const bool known = numberKind(v) != ValueKind::kNull || isConstantOf(v, &PyLong_Type);
    return known || (v->isNumeric() && v->kind != ValueKind::kArray);
  };
  const bool none = isNone(left) != isNone(right), wanted = op == Py_EQ;
  if (!MixedNumbers::mayBeNone(left) && !MixedNumbers::mayBeNone(right)) {
    const bool number = none && isNumeric(isNone(left) ? right : left);
    return number ? trace_.constant(wanted ? Py_False : Py_True) : nullptr;
  }
  graph::Graph& g = trace_.graph();
  MixedNumbers numbers{trace_};
  const auto inverted = [&](graph::ValueId node) { return g.unary(graph::Op::kLogicalNot, node); };
  if (none) {
    const graph::ValueId node = numbers.isNone(isNone(left) ? right : left)->node;
    return trace_.number(ValueKind::kPyBool, wanted ? node : inverted(node));
  }
  if (!isNumeric(left) || !isNumeric(right)) return nullptr;
  const auto isNoneNode = [&](Value* v) {
    return MixedNumbers::mayBeNone(v) ? numbers.isNone(v)->node : g.constant(graph::Scalar::ofBool(false));
  };
  const graph::ValueId a = isNoneNode(left), b = isNoneNode(right);
  const graph::ValueId same =
      g.cast(trace_.operand(compare(Py_EQ, numbers.assumed(left), numbers.assumed(right))).value, graph::DType::kBool);
  const graph::ValueId neither = g.binary(graph::Op::kLogicalAnd, inverted(a), inverted(b));
  const graph::ValueId node = g.binary(graph::Op::kLogicalOr, g.binary(graph::Op::kLogicalAnd, a, b),
                                       g.binary(graph::Op::kLogicalAnd, neither, same));
  Value* result = trace_.number(ValueKind::kPyBool, wanted ? node : inverted(node));
  result->joined = true;
  return result;
}

Value* Interpreter::compare(int op, Value* left, Value* right) {
  trace_.refuseOpaque(left);
  trace_.refuseOpaque(right);
  if (op == Py_EQ || op == Py_NE) {
    refuseFloatOfComplex(trace_, left, right);
    if (Value* result = equalsOrNone(op, left, right)) return result;
  }
  left = MixedNumbers{trace_}.present(left);
  right = MixedNumbers{trace_}.present(right);
  if (MixedNumbers::is(left) || MixedNumbers::is(right)) {
    if (Value* result = MixedNumbers{trace_}.compare(op, left, right)) return result;
  }
  if (isNumpyOperand(left) || isNumpyOperand(right)) return numpy::compare(trace_, op, left, right);
  if (isPlainConstant(left) && isPlainConstant(right)) {
    return fold(PyObject_RichCompare(left->object.get(), right->object.get(), op));
  }
  if (isNumber(left) && isNumber(right)) return numberCompare(op, left, right);
  if (Value* result = Sets{*this, trace_}.compare(op, left, right)) return result;
  if (Value* result = objectCompare(op, left, right)) return result;
  bool equality = op == Py_EQ || op == Py_NE;
  if (equality) {
    // == of dtypes with dtypes, scalar types and names converts the other operand; all of that is NumPy's own code.
    auto dtypeLike = [](Value* v) {
      if (!v->isConstant()) return false;
      PyObject* o = v->object.get();
      return PyArray_DescrCheck(o) || PyUnicode_CheckExact(o) ||
             (PyType_Check(o) && !(reinterpret_cast<PyTypeObject*>(o)->tp_flags & Py_TPFLAGS_HEAPTYPE));
    };
    bool dtype = (left->isConstant() && PyArray_DescrCheck(left->object.get())) ||
                 (right->isConstant() && PyArray_DescrCheck(right->object.get()));
    if (dtype && dtypeLike(left) && dtypeLike(right)) {
      return fold(PyObject_RichCompare(left->object.get(), right->object.get(), op));
    }
    if (Value* result = Collections{*this, trace_}.equalTuples(op, left, right)) return result;
    return trace_.constant(equal(left, right) == (op == Py_EQ) ? Py_True : Py_False);
  }
  if (Value* result = Collections{*this, trace_}.orderSequences(op, left, right)) return result;
  const auto isPlainKind = [&](Value* v) {
    return isTuple(v) ? !v->cls : isNone(v) || isNumber(v) || isPlainConstant(v);
  };
  if (isNone(left) != isNone(right) && isPlainKind(left) && isPlainKind(right))
    raiseAbout(PyExc_TypeError, std::string("'") + kComparisonSigns[op] + "' not supported between instances of '" +
                                    trace_.typeOf(left)->tp_name + "' and '" + trace_.typeOf(right)->tp_name + "'");
  trace_.fail(BreakReason::kUnsupportedObject, std::string(trace_.typeOf(left)->tp_name) + " " + kComparisonSigns[op] +
                                                   " " + trace_.typeOf(right)->tp_name);
}

/// How containers compare their items: a NaN is in a list that holds it, and in no other.
bool Interpreter::isOrEquals(Value* left, Value* right) {
  if (isSameObject(left, right)) return true;
  for (Value* v : {left, right})
    if (v->isUnsure()) trace_.branches.refuse(v);
  auto isFloat = [](Value* v) { return v->source.valid() && v->object && PyFloat_CheckExact(v->object.get()); };
  const bool floats = isFloat(left) && isFloat(right), same = floats && left->object == right->object;
  if (!same && trace_.truth(compare(Py_EQ, left, right))) return true;
  if (floats) {
    trace_.guard({.kind = same ? guards::GuardKind::kSameObject : guards::GuardKind::kNotSameObject,
                  .source = left->source,
                  .other = right->source});
  }
  return same;
}

/// == of values that are not both numbers, where it is known without running user code.
bool Interpreter::equal(Value* left, Value* right) {
  if (left == right && left->kind != ValueKind::kPyFloat && left->kind != ValueKind::kArray) return true;
  const bool users = isUserObject(left) || isUserObject(right);  // whose class has a say
  if (!users && (isFunctionByCode(left) || isFunctionByCode(right))) return is(left, right);
  Nesting nesting(trace_);
  if (left->kind == ValueKind::kDict && right->kind == ValueKind::kDict)
    return Collections{*this, trace_}.equalDicts(left, right);
  if (left->kind == ValueKind::kDeque && right->kind == ValueKind::kDeque) {
    if (left->items.size() != right->items.size()) return false;
    const WatchedItems one(trace_, left), other(trace_, right);
    for (size_t i = 0; i < left->items.size(); ++i) {
      const bool same = isOrEquals(left->items[i], right->items[i]);
      one.check(), other.check();
      if (!same) return false;
    }
    return true;
  }
  auto byIdentity = [](Value* v) {
    if (v->kind == ValueKind::kFunction) return true;
    if (!v->isConstant()) return false;
    PyObject* o = v->object.get();
    return o == Py_None || o == Py_Ellipsis || PyFunction_Check(o) || PyModule_Check(o) || Py_TYPE(o) == &PyType_Type ||
           PyCFunction_Check(o) || cpython::isNoValue(o);
  };
  auto builtin = [&](Value* v) {
    return byIdentity(v) || isPlainConstant(v) || isRuntimeNumber(v) || isSequence(v) || v->kind == ValueKind::kDict ||
           v->kind == ValueKind::kSlice || v->kind == ValueKind::kDeque;
  };
  if (byIdentity(left) || byIdentity(right)) {
    if (left->isConstant() && right->isConstant() && builtin(left) && builtin(right)) {
      return left->object == right->object;
    }
    if (builtin(left) && builtin(right)) return false;
  } else if (isSequence(left) && isSequence(right)) {
    bool tuples = left->kind != ValueKind::kList;
    if (tuples != (right->kind != ValueKind::kList)) return false;
    std::vector<Value*> a = iterate(left), b = iterate(right);
    if (a.size() != b.size()) return false;
    const WatchedItems one(trace_, left), other(trace_, right);
    for (size_t i = 0; i < a.size(); ++i) {
      const bool same = isOrEquals(a[i], b[i]);
      one.check(), other.check();
      if (!same) return false;
    }
    return true;
  } else if (builtin(left) && builtin(right) && trace_.typeOf(left) != trace_.typeOf(right)) {
    return false;
  }
  trace_.fail(BreakReason::kUnsupportedObject,
              std::string(trace_.typeOf(left)->tp_name) + " == " + trace_.typeOf(right)->tp_name);
}

// ---- identity and membership --------------------------------------------------------------------------------------

bool Interpreter::is(Value* left, Value* right) {
  if (left == right) return true;
  for (Value* v : {left, right})
    if (v->isUnsure()) trace_.branches.refuse(v);
  for (Value* v : {left, right}) {
    if (v->kind != ValueKind::kObject) continue;
    if (!Trace::isMutable(v->object.get())) trace_.open(v);
    if (v->kind == ValueKind::kObject) (void)trace_.typeOf(v);  // its contents do not matter
  }
  if (isFunctionByCode(left) || isFunctionByCode(right)) {
    if (!left->source.valid() || !right->source.valid()) {
      Value* other = isFunctionByCode(left) ? right : left;
      bool none = other->isConstant() && !PyFunction_Check(other->object.get());
      if (none || other->kind != ValueKind::kConstant) return false;
      trace_.fail(BreakReason::kUnsupportedObject, "identity of a nested function");
    }
    bool same = left->object == right->object;
    trace_.guard({.kind = same ? guards::GuardKind::kSameObject : guards::GuardKind::kNotSameObject,
                  .source = left->source,
                  .other = right->source});
    return same;
  }
  auto singleton = [](Value* v) {
    if (!v->isConstant()) return false;
    PyObject* o = v->object.get();
    return o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || PyBool_Check(o) || PyType_Check(o) ||
           PyFunction_Check(o) || PyModule_Check(o) || PyCFunction_Check(o) || PyArray_DescrCheck(o) ||
           cpython::isNoValue(o);
  };
  if (singleton(left) || singleton(right)) {
    Value* other = singleton(left) ? right : left;
    if (left->isConstant() && right->isConstant()) return left->object == right->object;
    if (other->kind != ValueKind::kPyBool) return false;
    Value* known = trace_.specializeNumber(other);
    if (!known) trace_.fail(BreakReason::kDataDependentBranch, "`is` of a bool computed from array data");
    return known->object == (other == left ? right : left)->object;
  }
  // A constant may be the object that came from outside by another way.
  if (left->isConstant() != right->isConstant()) {
    Value* known = left->isConstant() ? left : right;
    Value* other = known == left ? right : left;
    if (other->kind == ValueKind::kObject && Py_TYPE(other->object.get()) == Py_TYPE(known->object.get())) {
      const bool same = other->object == known->object;
      SourceId constant =
          known->source.valid() ? known->source : guards::constantSource(trace_.sources(), known->object.get());
      trace_.guard({.kind = same ? guards::GuardKind::kSameObject : guards::GuardKind::kNotSameObject,
                    .source = other->source,
                    .other = constant});
      return same;
    }
  }
  // One Value per mutable object, so that these are two; what has a source may be another object in the next call.
  auto identifiable = [](Value* v) {
    return v->kind == ValueKind::kArray || v->kind == ValueKind::kList || isLongList(v) ||
           v->kind == ValueKind::kDict || v->kind == ValueKind::kSet || v->kind == ValueKind::kDeque ||
           v->kind == ValueKind::kException || v->kind == ValueKind::kOpaque || v->kind == ValueKind::kObject ||
           v->kind == ValueKind::kInstance || v->kind == ValueKind::kCell || v->kind == ValueKind::kFunction ||
           v->kind == ValueKind::kIterator;
  };
  if (identifiable(left) && identifiable(right)) {
    bool outside = left->source.valid() && right->source.valid();
    if (outside && Py_TYPE(left->object.get()) == Py_TYPE(right->object.get())) {
      trace_.guard({.kind = guards::GuardKind::kNotSameObject, .source = left->source, .other = right->source});
    }
    return false;
  }
  if (identifiable(left) != identifiable(right)) return false;
  // There is one object of each small int.
  constexpr int64_t kLeast = -5, kMost = 256;
  const auto mayBeSmall = [](Value* v) {
    if (v->kind == ValueKind::kPyInt) return true;
    if (!isConstantOf(v, &PyLong_Type)) return false;
    int overflow = 0;
    const long number = PyLong_AsLongAndOverflow(v->object.get(), &overflow);
    return overflow == 0 && number >= kLeast && number <= kMost;
  };
  if (mayBeSmall(left) && mayBeSmall(right)) {
    const graph::SymId number = trace_.asSym(left);
    if (!trace_.decide(number, guards::Relation::kEq, trace_.asSym(right))) return false;
    if (trace_.ensureWithin(number, kLeast, kMost)) return true;
  }
  trace_.fail(BreakReason::kUnsupportedObject, "identity of numbers, strings or tuples");
}

void Interpreter::onIsOp(const Instr& instr) {
  if (Choices::is(top(1)) || Choices::is(top(2)))
    return Choices{trace_}.answer(*this, [&](Value* left, Value* right) {
      return trace_.constant(is(left, right) != (instr.arg == 1) ? Py_True : Py_False);
    });
  Value* right = popRaw();
  Value* left = popRaw();
  for (Value* v : {left, right}) {
    if (!MixedNumbers::is(v) || !isNone(v == left ? right : left)) continue;
    Value* none = MixedNumbers{trace_}.isNone(v);
    return push(instr.arg == 1
                    ? trace_.number(ValueKind::kPyBool, trace_.graph().unary(graph::Op::kLogicalNot, none->node))
                    : none);
  }
  push(trace_.constant(is(left, right) != (instr.arg == 1) ? Py_True : Py_False));
}

bool Interpreter::contains(Value* container, Value* item) {
  trace_.refuseOpaque(container);
  if (isForeignSet(container)) return Sets{*this, trace_}.foreignContains(container, item);
  if (auto answer = objectContains(container, item)) return *answer;
  CallArgs one{.positional = {item}, .keywords = {}};
  if (Value* answer = Collections{*this, trace_}.metaSpecial(container, "__contains__", one))
    return trace_.truth(answer);
  if (container->kind == ValueKind::kDict) return findKey(container, key(item)) >= 0;
  if (container->kind == ValueKind::kSet) return Sets{*this, trace_}.contains(container, item);
  if (isPlainConstant(container) && isPlainConstant(item)) {
    int found = PySequence_Contains(container->object.get(), item->object.get());
    if (found < 0) raisesPending();
    return found != 0;
  }
  bool range = container->isConstant() && PyRange_Check(container->object.get());
  if (!isSequence(container) && !range && container->kind != ValueKind::kDeque) {
    trace_.fail(BreakReason::kUnsupportedObject, std::string("in ") + trace_.typeOf(container)->tp_name);
  }
  const std::vector<Value*> candidates = iterate(container);
  const WatchedItems items(trace_, container);
  for (Value* candidate : candidates) {
    const bool found = isOrEquals(candidate, item);
    items.check();
    if (found) return true;
  }
  return false;
}

void Interpreter::onContainsOp(const Instr& instr) {
  if (Choices::is(top(2)) && !WorkTable::is(top(1)))
    return Choices{trace_}.answer(*this, [&](Value* item, Value* container) {
      const bool holds = contains(trace_.open(container), trace_.open(item));
      return trace_.constant(holds != (instr.arg == 1) ? Py_True : Py_False);
    });
  Value* container = popRaw();
  Value* item = openKnown(trace_, popRaw());
  trace_.open(container);
  if (Value* holds = Collections{*this, trace_}.holdsLate(container, item)) {
    const bool isKnown = holds->isConstant();
    if (isKnown)
      return push(trace_.constant((holds->object.get() == Py_True) != (instr.arg == 1) ? Py_True : Py_False));
    const graph::ValueId node =
        instr.arg == 1 ? trace_.graph().unary(graph::Op::kLogicalNot, holds->node) : holds->node;
    return push(trace_.number(ValueKind::kPyBool, node));
  }
  PyObject* own = isUserObject(container) ? specialMethod(container, "__contains__") : nullptr;
  if (own && PyFunction_Check(own)) {  // whose answer array data may decide
    push(callSpecial(container, "__contains__", {item}));
    return instr.arg == 1 ? onUnaryNot(instr) : onToBool(instr);
  }
  push(trace_.constant(contains(container, item) != (instr.arg == 1) ? Py_True : Py_False));
}

}  // namespace fw::capture
