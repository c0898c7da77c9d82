// Numbers are hash-consed steps, each with the value that it has in the call being traced. A graph node becomes a
// number when somebody asks for it; a guard takes the steps that its number needs, in order, as a flat program.
#include "frame_eval/numbers.h"

#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/trace.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using cpython::checked;
using graph::DType;
using graph::Op;
using guards::InputBinding;
using guards::NumberOp;
using guards::NumberStep;
using guards::NumberType;
using guards::NumberValue;
using guards::SymbolBinding;

namespace {

constexpr int kMaxDepth = 64;         ///< of graph nodes that become one number
constexpr size_t kMaxSteps = 96;      ///< of one program
constexpr size_t kMaxNumbers = 4096;  ///< of a trace
constexpr int kMaxBound = 256;        ///< results of a trace that guards compute
constexpr int64_t kNarrow = int64_t{1} << 31, kWide = int64_t{1} << 62;

std::optional<NumberOp> find(absl::Span<const std::pair<Op, NumberOp>> table, Op op) {
  for (auto [from, to] : table)
    if (from == op) return to;
  return std::nullopt;
}

std::optional<NumberOp> comparisonOf(Op op) {
  static constexpr std::pair<Op, NumberOp> kTable[] = {
      {Op::kLess, NumberOp::kLess},       {Op::kLessEqual, NumberOp::kLessEqual},
      {Op::kEqual, NumberOp::kEqual},     {Op::kNotEqual, NumberOp::kNotEqual},
      {Op::kGreater, NumberOp::kGreater}, {Op::kGreaterEqual, NumberOp::kGreaterEqual},
  };
  return find(kTable, op);
}

std::optional<NumberOp> arithmeticOf(Op op) {
  static constexpr std::pair<Op, NumberOp> kTable[] = {
      {Op::kAdd, NumberOp::kAdd},       {Op::kSubtract, NumberOp::kSubtract}, {Op::kMultiply, NumberOp::kMultiply},
      {Op::kDivide, NumberOp::kDivide}, {Op::kNegative, NumberOp::kNegative}, {Op::kAbsolute, NumberOp::kAbsolute},
  };
  return find(kTable, op);
}

std::optional<NumberType> typeOf(DType dtype) {
  if (!guards::isNumberType(dtype)) return std::nullopt;
  if (dtype == DType::kBool) return NumberType::kBool;
  return graph::isInteger(dtype) ? NumberType::kInt : NumberType::kFloat;
}

bool isComparison(NumberOp op) { return op >= NumberOp::kLess && op <= NumberOp::kSameBits; }

}  // namespace

NumberId Numbers::add(Node node) {
  std::string key;
  auto put = [&](const auto& word) { key.append(reinterpret_cast<const char*>(&word), sizeof(word)); };
  put(node.step.op);
  put(node.step.type);
  for (NumberId operand : node.operands) put(operand.index);
  if (node.step.op == NumberOp::kConstant) put(node.step.value.i);
  if (node.step.op == NumberOp::kObject) put(node.source.index);
  if (node.step.op == NumberOp::kInput) put(node.step.index);
  if (node.step.op == NumberOp::kSymbol) put(node.step.sym.index);
  PyObject* callable = node.step.callable.get();
  put(callable);
  node.numpy = node.step.numpyScalar;
  for (NumberId operand : node.operands) node.numpy |= nodes_[operand.index].numpy;
  auto [it, added] = ids_.try_emplace(key, NumberId(nodes_.size()));
  if (added) nodes_.push_back(std::move(node));
  return it->second;
}

NumberId Numbers::constant(double value) { return knownNumber(NumberType::kFloat, {.f = value}); }

NumberId Numbers::constant(int64_t value) { return knownNumber(NumberType::kInt, {.i = value}); }

NumberId Numbers::knownNumber(NumberType type, NumberValue v) {
  return add({.step = {.op = NumberOp::kConstant, .type = type, .value = v}, .hint = v});
}

/// All operands are constants.
bool Numbers::isKnown(const Node& node) const {
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](NumberId operand) { return nodes_[operand.index].step.op == NumberOp::kConstant; });
}

NumberId Numbers::step(NumberOp op, std::initializer_list<NumberId> operands) {
  Node node{.step = {.op = op, .type = type(*operands.begin())}};
  if (isComparison(op) || op == NumberOp::kTruth || op == NumberOp::kNot) node.step.type = NumberType::kBool;
  if (op == NumberOp::kToFloat) node.step.type = NumberType::kFloat;
  std::vector<NumberType> types;
  std::vector<NumberValue> values;
  for (NumberId operand : operands) {
    node.operands.push_back(operand);
    types.push_back(type(operand));
    values.push_back(hint(operand));
  }
  FW_CHECK(guards::applyNumber(node.step, types.data(), values.data(), &node.hint));
  return isKnown(node) ? knownNumber(node.step.type, node.hint) : add(std::move(node));
}

std::optional<NumberId> Numbers::call(PyObject* callable, absl::Span<const NumberId> operands) {
  Node node{.step = {.op = NumberOp::kCall, .type = NumberType::kFloat, .callable = Ref::create(callable)}};
  std::vector<NumberType> types;
  std::vector<NumberValue> values;
  for (NumberId operand : operands) {
    node.operands.push_back(operand);
    types.push_back(type(operand));
    values.push_back(hint(operand));
    node.step.operands.push_back(0);  // counted by applyNumber
  }
  for (NumberType type : {NumberType::kFloat, NumberType::kInt, NumberType::kBool}) {
    node.step.type = type;
    if (!guards::applyNumber(node.step, types.data(), values.data(), &node.hint)) continue;
    node.step.operands.clear();
    return isKnown(node) ? knownNumber(type, node.hint) : add(std::move(node));
  }
  return std::nullopt;
}

// ---- from values --------------------------------------------------------------------------------------------------

std::optional<NumberId> Numbers::of(Value* value) {
  trace_.open(value);
  switch (value->kind) {
    case ValueKind::kConstant: {
      NumberType type;
      NumberValue v;
      if (!guards::unboxNumber(value->object.get(), &type, &v)) return std::nullopt;
      return knownNumber(type, v);
    }
    case ValueKind::kPyInt: {
      graph::SymId sym = trace_.syms().canonical(value->sym);
      if (auto known = trace_.syms().asConst(sym)) return constant(*known);
      if (trace_.decided.contains(sym) || trace_.turns.contains(sym)) return std::nullopt;
      return add(
          {.step = {.op = NumberOp::kSymbol, .type = NumberType::kInt, .sym = sym}, .hint = {.i = trace_.hint(sym)}});
    }
    case ValueKind::kPyFloat:
    case ValueKind::kPyBool:
    case ValueKind::kArrayScalar: return of(value->node);
    case ValueKind::kDataInt:
    case ValueKind::kNull:
    case ValueKind::kArray:
    case ValueKind::kPyComplex:
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kLongList:
    case ValueKind::kPooledList:
    case ValueKind::kDict:
    case ValueKind::kSlice:
    case ValueKind::kRange:
    case ValueKind::kIterator:
    case ValueKind::kFunction:
    case ValueKind::kMethod:
    case ValueKind::kCell:
    case ValueKind::kObject:
    case ValueKind::kInstance:
    case ValueKind::kSet:
    case ValueKind::kWorkTable:
    case ValueKind::kDeque:
    case ValueKind::kException:
    case ValueKind::kOpaque:
    case ValueKind::kSuper:
    case ValueKind::kChosen:
    case ValueKind::kUnjoined:
    case ValueKind::kUnread: return std::nullopt;
  }
  FW_UNREACHABLE();
}

std::optional<NumberId> Numbers::ofInput(size_t index) {
  if (auto it = boundInputs_.find(static_cast<int>(index)); it != boundInputs_.end()) {
    const Node& bound = nodes_[it->second.index];
    return add({.step = {.op = NumberOp::kInput, .type = bound.step.type, .index = static_cast<int>(index)},
                .hint = bound.hint});
  }
  const InputBinding& binding = trace_.guardSet().inputs[index];
  bool scalar = binding.from == InputBinding::From::kNumpyScalar;
  if (!scalar && binding.from != InputBinding::From::kPyFloat && binding.from != InputBinding::From::kPyBool)
    return std::nullopt;
  Value* value = trace_.valueOf(binding.source);
  if (!value || !value->object) return std::nullopt;
  DType dtype = binding.from == InputBinding::From::kPyFloat ? DType::kF64 : DType::kBool;
  if (scalar) dtype = trace_.graph().type(trace_.graph().inputs()[index]).dtype;
  auto type = typeOf(dtype);
  if (!type) return std::nullopt;
  Node node{.step = {.op = NumberOp::kObject, .type = *type, .dtype = dtype, .numpyScalar = scalar},
            .source = binding.source};
  node.hint = guards::readNumber(node.step, value->object.get());
  return add(std::move(node));
}

/// NumPy reports overflow, underflow and the like, which nobody would see of arithmetic that only decides a branch:
/// guards that the result is far from all of them. False if it is not now.
bool Numbers::isQuiet(NumberId result, DType dtype) {
  if (nodes_[result.index].step.op == NumberOp::kConstant) return true;
  const NumberId size = step(NumberOp::kAbsolute, {result});
  const bool single = dtype == DType::kF32;
  return decide(step(NumberOp::kLess, {size, constant(single ? 1e38 : 1e307)})) &&
         decide(step(NumberOp::kGreater, {size, constant(single ? 1e-37 : 1e-306)}));
}

/// An int that provably fits into a type.
bool Numbers::fits(NumberId number, DType dtype) const {
  const NumberStep& step = nodes_[number.index].step;
  graph::SymRange range{INT64_MIN, INT64_MAX};
  if (step.op == NumberOp::kConstant) range = {step.value.i, step.value.i};
  if (step.op == NumberOp::kSymbol) range = graph::refinedRange(trace_.syms(), step.sym);
  const int bits = graph::itemSize(dtype) * 8 - (graph::isSigned(dtype) ? 1 : 0);
  const int64_t hi = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  return range.lo >= (graph::isSigned(dtype) ? -hi - 1 : 0) && range.hi <= hi;
}

/// Conversions that lose nothing, or round once.
std::optional<NumberId> Numbers::ofCast(const graph::Node& node, NumberId operand) {
  DType from = trace_.graph().type(node.operands[0]).dtype, to = node.type.dtype;
  if (from == to) return operand;
  bool whole = type(operand) != NumberType::kFloat;
  if (to == DType::kBool) return step(NumberOp::kTruth, {operand});
  if (to == DType::kF64) return whole ? step(NumberOp::kToFloat, {operand}) : operand;
  if (to == DType::kF32) {
    if (whole && graph::itemSize(from) > 4) return std::nullopt;  // would round twice
    if (whole) return step(NumberOp::kToSingle, {step(NumberOp::kToFloat, {operand})});
    const NumberId single = step(NumberOp::kToSingle, {operand});
    return isQuiet(single, to) ? std::optional(single) : std::nullopt;
  }
  if (!graph::isInteger(to) || !whole || to == DType::kU64) return std::nullopt;
  if (!graph::canCastSafely(from, to) && !fits(operand, to)) return std::nullopt;
  if (type(operand) == NumberType::kInt) return operand;
  return call(reinterpret_cast<PyObject*>(&PyLong_Type), {operand});
}

std::optional<NumberId> Numbers::ofNode(graph::ValueId id, int depth) {
  if (auto it = ofNodes_.find(id); it != ofNodes_.end()) return it->second;
  if (depth > kMaxDepth || nodes_.size() > kMaxNumbers) return std::nullopt;
  const graph::Graph& g = trace_.graph();
  const graph::Node& n = g.node(id);
  auto type = typeOf(n.type.dtype);
  if (n.type.rank() != 0 || !type) return std::nullopt;
  auto found = [&]() -> std::optional<NumberId> {
    if (n.op == Op::kConstant) {
      graph::Scalar s = n.attrs.scalar(graph::AttrKey::kValue);
      NumberValue v{.i = 0};
      if (*type == NumberType::kFloat)
        v.f = s.asDouble();
      else
        v.i = s.asInt();
      return knownNumber(*type, v);
    }
    if (n.op == Op::kSym) {
      graph::SymId sym = trace_.syms().canonical(n.attrs.sym(graph::AttrKey::kExpr));
      if (auto known = trace_.syms().asConst(sym)) return constant(*known);
      if (trace_.decided.contains(sym) || trace_.turns.contains(sym)) return std::nullopt;
      return add(
          {.step = {.op = NumberOp::kSymbol, .type = NumberType::kInt, .sym = sym}, .hint = {.i = trace_.hint(sym)}});
    }
    if (n.op == Op::kInput) return ofInput(static_cast<size_t>(n.attrs.integer(graph::AttrKey::kIndex)));
    auto comparison = comparisonOf(n.op), arithmetic = arithmeticOf(n.op);
    if (!comparison && !arithmetic && n.op != Op::kCast && n.op != Op::kLogicalNot) return std::nullopt;
    if (arithmetic && *type != NumberType::kFloat) return std::nullopt;
    absl::InlinedVector<NumberId, 2> operands;
    for (graph::ValueId operand : n.operands) {
      auto number = ofNode(operand, depth + 1);
      if (!number) return std::nullopt;
      operands.push_back(*number);
    }
    if (n.op == Op::kCast) return ofCast(n, operands[0]);
    if (n.op == Op::kLogicalNot) return step(NumberOp::kNot, {step(NumberOp::kTruth, {operands[0]})});
    NumberOp op = comparison ? *comparison : *arithmetic;
    NumberId result = operands.size() == 1 ? step(op, {operands[0]}) : step(op, {operands[0], operands[1]});
    if (arithmetic && n.type.dtype == DType::kF32) result = step(NumberOp::kToSingle, {result});
    const bool rounds = arithmetic && op != NumberOp::kNegative && op != NumberOp::kAbsolute;
    if (rounds && nodes_[result.index].numpy && !isQuiet(result, n.type.dtype)) return std::nullopt;
    return result;
  };
  auto result = found();
  ofNodes_[id] = result;
  return result;
}

// ---- guards and bound values --------------------------------------------------------------------------------------

std::shared_ptr<const guards::NumberProgram> Numbers::program(NumberId id, int ordinal) const {
  auto out = std::make_shared<guards::NumberProgram>();
  out->ordinal = ordinal;
  absl::flat_hash_map<NumberId, uint16_t> done;
  std::vector<std::pair<NumberId, bool>> work{{id, false}};
  while (!work.empty()) {
    auto [at, ready] = work.back();
    work.pop_back();
    if (done.contains(at)) continue;
    const Node& node = nodes_[at.index];
    if (!ready) {
      work.push_back({at, true});
      for (NumberId operand : node.operands) work.push_back({operand, false});
      continue;
    }
    NumberStep step = node.step;
    step.operands.clear();
    for (NumberId operand : node.operands) step.operands.push_back(done.at(operand));
    if (step.op == NumberOp::kObject) {
      step.index = static_cast<int>(out->sources.size());
      out->sources.push_back(node.source);
    }
    done[at] = static_cast<uint16_t>(out->steps.size());
    out->steps.push_back(std::move(step));
    if (out->steps.size() > kMaxSteps) return nullptr;
  }
  return out;
}

void Numbers::guard(NumberId id, int64_t lo, int64_t hi, int ordinal) {
  auto number = program(id, ordinal);
  if (!number) throw CaptureBreak::ofUnrolled(BreakReason::kUnsupportedObject, "a number that many operations compute");
  guards::Guard g{.kind = guards::GuardKind::kNumber, .lo = lo, .hi = hi, .list = number->sources};
  g.number = std::move(number);
  trace_.guard(std::move(g));
}

bool Numbers::decide(NumberId condition) {
  FW_CHECK(type(condition) == NumberType::kBool);
  bool answer = hint(condition).i != 0;
  if (nodes_[condition.index].step.op == NumberOp::kConstant) return answer;
  auto [it, added] = decided_.try_emplace(condition, answer);
  if (added) guard(condition, answer, answer, -1);
  return answer;
}

bool Numbers::truth(NumberId number) {
  if (type(number) == NumberType::kBool) return decide(number);
  return decide(step(NumberOp::kTruth, {number}));
}

Value* Numbers::specialize(NumberId number) {
  NumberValue v = hint(number);
  const size_t first = trace_.guardSet().guards.size();
  switch (type(number)) {
    case NumberType::kBool: return trace_.constant(decide(number) ? Py_True : Py_False);
    case NumberType::kFloat: decide(step(NumberOp::kSameBits, {number, constant(v.f)})); break;
    case NumberType::kInt: decide(step(NumberOp::kEqual, {number, constant(v.i)})); break;
  }
  trace_.pinFrom(first);
  return trace_.constant(guards::boxNumber(type(number), v));
}

Value* Numbers::bindInt(NumberId number, graph::SymRange range) {
  int64_t v = hint(number).i;
  if (v < range.lo || v > range.hi) return nullptr;
  if (nodes_[number.index].step.op == NumberOp::kConstant) return trace_.pyInt(trace_.syms().constant(v));
  if (nodes_[number.index].step.op == NumberOp::kSymbol) return trace_.pyInt(nodes_[number.index].step.sym);
  if (auto it = symbols_.find(number); it != symbols_.end()) return trace_.pyInt(trace_.syms().canonical(it->second));
  if (ordinals_ >= kMaxBound) return nullptr;
  int ordinal = ordinals_++;
  guard(number, range.lo, range.hi, ordinal);
  graph::SymId sym =
      trace_.addSymbol("n" + std::to_string(ordinal), range, v, {SymbolBinding::From::kNumber, {}, ordinal});
  symbols_[number] = sym;
  return trace_.pyInt(sym);
}

Value* Numbers::bind(NumberId number) {
  const NumberType kind = type(number);
  if (kind == NumberType::kInt) {
    int64_t v = hint(number).i;
    int64_t limit = v >= -kNarrow && v <= kNarrow ? kNarrow : kWide;
    return bindInt(number, {-limit, limit});
  }
  const ValueKind valueKind = kind == NumberType::kFloat ? ValueKind::kPyFloat : ValueKind::kPyBool;
  if (auto it = inputs_.find(number); it != inputs_.end()) return trace_.number(valueKind, it->second);
  if (ordinals_ >= kMaxBound) return nullptr;
  int ordinal = ordinals_++;
  guard(number, 0, 1, ordinal);
  int index = static_cast<int>(trace_.guardSet().inputs.size());
  graph::ValueId node = trace_.addInput(InputBinding::From::kNumber, {},
                                        {.dtype = kind == NumberType::kFloat ? DType::kF64 : DType::kBool});
  trace_.guardSet().inputs.back().ordinal = ordinal;
  boundInputs_[index] = number;
  inputs_[number] = node;
  return trace_.number(valueKind, node);
}

Value* Numbers::apply(PyObject* callable, absl::Span<Value* const> values) {
  bool runtime = false;
  std::vector<NumberId> operands;
  for (Value* value : values) {
    if (value->kind == ValueKind::kArrayScalar) return nullptr;  // other operators than Python's
    auto number = of(value);
    if (!number) return nullptr;
    operands.push_back(*number);
    runtime |= nodes_[number->index].step.op != NumberOp::kConstant;
  }
  if (!runtime) return nullptr;
  auto result = call(callable, operands);
  if (!result || !program(*result, -1)) return nullptr;
  return bind(*result);
}

PyObject* Numbers::operatorFunction(const char* name) {
  static PyObject* module = checked(PyImport_ImportModule("_operator")).release();
  Ref function = checked(PyObject_GetAttrString(module, name));
  return function.get();  // held by the module
}

}  // namespace fw::capture
