// Values of a trace and the decisions made while it is recorded. A decision is answered from the hint (the value that a
// symbol has in the call being traced) and guarded, unless it holds for every value; an equality is also told to the
// SymContext, so that equal sizes have equal SymIds from then on.
#include "frame_eval/trace.h"

#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/unseen_list.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using cpython::checked;
using guards::Guard;
using guards::GuardKind;
using guards::Relation;

bool isPlain(PyObject* object) {
  if (object == Py_None || object == Py_Ellipsis || PyBool_Check(object) || PyLong_CheckExact(object) ||
      PyFloat_CheckExact(object) || PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
      PyBytes_CheckExact(object)) {
    return true;
  }
  if (PyFrozenSet_CheckExact(object)) {
    Ref items = checked(PySequence_List(object));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      if (!isPlain(PyList_GET_ITEM(items.get(), i))) return false;
    }
    return true;
  }
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (!isPlain(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}

namespace {

/// Far more than what compiling can pay for: a trace that comes to so much is given up.
constexpr size_t kMostValues = 1 << 16, kMostGuards = 1 << 14;

}  // namespace

Trace::Trace() {
  guards_.sources = std::make_shared<guards::SourceTable>();
  guards_.syms = graph_.sharedSyms();
}

void Trace::fail(BreakReason reason, const std::string& detail) { throw CaptureBreak(reason, detail); }

// ---- values -------------------------------------------------------------------------------------------------------

Value* Trace::make(ValueKind kind) {
  if (values_.size() >= kMostValues)
    fail(BreakReason::kGraphLimit, "more than " + std::to_string(kMostValues) + " values");
  values_.emplace_back();
  values_.back().kind = kind;
  values_.back().madeAt = at;
  values_.back().number = values_.size();
  if (!values_.back().isNumeric() || kind == ValueKind::kArray) notNumbers_.push_back(&values_.back());
  return &values_.back();
}

Value* Trace::constant(PyObject* borrowed) { return constant(Ref::create(borrowed)); }

Value* Trace::constant(Ref owned) {
  FW_CHECK(owned);
  if (auto it = standIns.find(owned.get()); it != standIns.end()) return it->second;
  Value* v = make(ValueKind::kConstant);
  v->object = std::move(owned);
  return v;
}

void Trace::useArrays(const guards::ArrayLibrary& library) {
  if (&library != &arrays()) {
    // Numbers that were computed so far are in the graph, and would be computed on the device.
    bool computed = hasArrays_;
    for (size_t i = 0; i < graph_.size() && library.onDevice(); ++i)
      computed |= !graph_.node(graph::ValueId(i)).operands.empty();
    if (computed)
      fail(BreakReason::kUnsupportedArray, "arrays of " + arrays().name + " and " + library.name + " in one region");
  }
  guards_.arrays = &library;
  hasArrays_ = true;
}

bool Trace::isReturned(graph::ValueId node) const {
  if (!node.valid() || graph_.node(node).op != graph::Op::kProject) return false;
  return graph_.node(graph_.node(node).operands[0]).op == graph::Op::kCall;
}

Value* Trace::array(graph::ValueId node, Value* base) {
  hasArrays_ = true;
  Value* v = make(ValueKind::kArray);
  v->node = node;
  v->base = base;
  if (base) v->frozen = base->frozen;
  v->returned = !base && isReturned(node);
  return v;
}

Value* Trace::arrayOrScalar(graph::ValueId node) {
  if (onDevice()) return array(numpy::freshOnDevice(*this, node));
  if (graph_.type(node).rank() != 0) return array(node);
  return number(ValueKind::kArrayScalar, node);
}

namespace {

/// Arithmetic of floats and comparisons, which is all there is for numbers that a device computes, are what they are in
/// Python. Ints count turns.
bool isExactOnDevice(ValueKind kind, graph::Op op) {
  using graph::Op;
  if (kind != ValueKind::kDataInt) return kind == ValueKind::kPyFloat || kind == ValueKind::kPyBool;
  return op == Op::kSym || op == Op::kConstant || op == Op::kProject || op == Op::kAdd || op == Op::kSubtract;
}

}  // namespace

Value* Trace::number(ValueKind kind, graph::ValueId node) {
  FW_CHECK(kind == ValueKind::kArrayScalar || kind == ValueKind::kPyFloat || kind == ValueKind::kPyBool ||
           kind == ValueKind::kDataInt || kind == ValueKind::kPyComplex);
  FW_CHECK(graph_.type(node).rank() == 0);
  if (onDevice() && graph_.node(node).op != graph::Op::kInput) {
    // Numbers of the host are computed there, by the guards; what comes of arrays and of turns is on the device.
    auto number = kind == ValueKind::kArrayScalar ? std::nullopt : numbers_.of(node);
    Value* bound = number ? numbers_.bind(*number) : nullptr;
    if (bound && bound->kind == kind) return bound;
    if (!isExactOnDevice(kind, graph_.node(node).op))
      fail(BreakReason::kUnsupportedArray, "a number that " + arrays().name + " computes");
  }
  Value* v = make(kind);
  v->node = node;
  return v;
}

Value* Trace::pyInt(graph::SymId sym) {
  if (auto known = syms().asConst(sym)) return constant(checked(PyLong_FromLongLong(*known)));
  Value* v = make(ValueKind::kPyInt);
  v->sym = sym;
  return v;
}

Value* Trace::tuple(std::vector<Value*> items) {
  Value* v = make(ValueKind::kTuple);
  v->items = std::move(items);
  return v;
}

Value* Trace::list(std::vector<Value*> items) {
  Value* v = make(ValueKind::kList);
  v->items = std::move(items);
  return v;
}

Value* Trace::slice(Value* start, Value* stop, Value* step) {
  Value* v = make(ValueKind::kSlice);
  v->items = {start, stop, step};
  return v;
}

// ---- decisions ----------------------------------------------------------------------------------------------------

void Trace::guard(Guard guard) {
  if (guards_.guards.size() >= kMostGuards)
    fail(BreakReason::kGraphLimit, "more than " + std::to_string(kMostGuards) + " guards");
  if (!guard.line) guard.line = static_cast<uint32_t>(line);
  guard.at = at;
  if (again && guard.pin == guards::Pin::kNone) guard.pin = guards::Pin::kValue;  // of so many turns
  guards_.guards.push_back(std::move(guard));
}

void Trace::pinFrom(size_t first) {
  for (size_t i = first; i < guards_.guards.size(); ++i) guards_.guards[i].pin = guards::Pin::kValue;
}

int64_t Trace::hint(graph::SymId sym) const {
  if (decided.contains(sym))
    throw CaptureBreak(BreakReason::kDataDependentShape, "a size that array data decides has to be known");
  if (turns.contains(sym)) turns.refuse();
  auto value = guards_.syms->evaluate(sym, hints_);
  if (!value.ok()) {
    throw CaptureBreak(BreakReason::kUnsupportedObject, "an integer expression leaves the range of int64");
  }
  return *value;
}

namespace {

/// What is known of `left relation right` without looking at the hints.
std::optional<bool> proven(graph::SymContext& syms, graph::SymId left, Relation relation, graph::SymId right) {
  std::optional<bool> answer;
  switch (relation) {
    case Relation::kEq: return syms.provablyEqual(left, right);
    case Relation::kNe:
      answer = syms.provablyEqual(left, right);
      if (answer) answer = !*answer;
      return answer;
    case Relation::kLt: return syms.provablyLess(left, right);
    case Relation::kLe:
      answer = syms.provablyLess(right, left);
      if (answer) answer = !*answer;
      return answer;
  }
  FW_UNREACHABLE();
}

bool holds(int64_t a, Relation relation, int64_t b) {
  switch (relation) {
    case Relation::kEq: return a == b;
    case Relation::kNe: return a != b;
    case Relation::kLt: return a < b;
    case Relation::kLe: return a <= b;
  }
  FW_UNREACHABLE();
}

}  // namespace

namespace {

/// A sum as constant + rest.
struct Split {
  graph::SymId rest;
  int64_t constant;
};

Split split(graph::SymContext& syms, graph::SymId id) {
  int64_t constant = 0;
  const graph::SymNode& node = syms.node(id);
  if (auto known = syms.asConst(id)) {
    constant = *known;
  } else if (node.op == graph::SymOp::kAdd) {
    for (graph::SymId term : node.operands) {
      if (auto value = syms.asConst(term)) constant = *value;
    }
  }
  return {syms.canonical(syms.sub(id, syms.constant(constant))), constant};
}

}  // namespace

std::optional<bool> Trace::decidedBefore(graph::SymId left, Relation relation, graph::SymId right) {
  graph::SymContext& s = syms();
  auto atLeast = [&](graph::SymId a, graph::SymId b, int64_t margin) {  // a - b >= margin, as far as guarded
    Split d = split(s, s.canonical(s.sub(a, b)));
    auto it = lowerBounds_.find(d.rest);
    return it != lowerBounds_.end() && it->second + d.constant >= margin;
  };
  bool below = atLeast(right, left, 1), above = atLeast(left, right, 1);
  switch (relation) {
    case Relation::kEq:
    case Relation::kNe: {
      bool unequal = below || above || nonZero_.contains(s.canonical(s.sub(left, right))) ||
                     nonZero_.contains(s.canonical(s.sub(right, left)));
      if (unequal) return relation == Relation::kNe;
      return std::nullopt;
    }
    case Relation::kLt:
      if (below) return true;
      if (atLeast(left, right, 0)) return false;
      return std::nullopt;
    case Relation::kLe:
      if (atLeast(right, left, 0)) return true;
      if (above) return false;
      return std::nullopt;
  }
  FW_UNREACHABLE();
}

std::optional<bool> Trace::known(graph::SymId left, Relation relation, graph::SymId right) {
  left = syms().canonical(left);
  right = syms().canonical(right);
  if (const auto answer = proven(syms(), left, relation, right)) return answer;
  return decidedBefore(left, relation, right);
}

bool Trace::decide(graph::SymId left, Relation relation, graph::SymId right) {
  if (const auto answer = tell(left, relation, right)) return *answer;
  if (decided.contains(left) || decided.contains(right))
    fail(BreakReason::kDataDependentShape, "a size that array data decides is compared");
  turns.refuse();
}

std::optional<bool> Trace::tell(graph::SymId left, Relation relation, graph::SymId right) {
  if (const auto answer = known(left, relation, right)) return answer;
  left = syms().canonical(left);
  right = syms().canonical(right);
  const bool ofTurns = turns.contains(left) || turns.contains(right);
  if (decided.contains(left) || decided.contains(right)) {
    const std::optional<bool> answer = ofTurns ? turns.decide(left, relation, right) : std::nullopt;
    return answer ? answer : decided.tell(left, relation, right);
  }
  if (ofTurns) return turns.decide(left, relation, right);
  bool answer = holds(hint(left), relation, hint(right));
  Guard g{.kind = GuardKind::kSymRelation, .relation = relation, .left = left, .right = right};
  if (!answer) {
    switch (relation) {
      case Relation::kEq: g.relation = Relation::kNe; break;
      case Relation::kNe: g.relation = Relation::kEq; break;
      case Relation::kLt:
        g.relation = Relation::kLe;
        std::swap(g.left, g.right);
        break;
      case Relation::kLe:
        g.relation = Relation::kLt;
        std::swap(g.left, g.right);
        break;
    }
  }
  graph::SymId difference = syms().canonical(syms().sub(g.right, g.left));
  if (g.relation == Relation::kEq) {
    syms().assumeEqual(left, right);
  } else if (g.relation == Relation::kNe) {
    nonZero_.insert(difference);
    // What is not 0 and not below it is at least 1.
    for (graph::SymId side : {difference, syms().neg(difference)}) {
      if (graph::refinedRange(syms(), side).lo != 0) continue;
      Split d = split(syms(), side);
      lowerBounds_[d.rest] = std::max(lowerBounds_.try_emplace(d.rest, INT64_MIN).first->second, 1 - d.constant);
      syms().assumeWithin(d.rest, {1 - d.constant, INT64_MAX});
    }
  } else {
    Split d = split(syms(), difference);
    int64_t bound = (g.relation == Relation::kLt ? 1 : 0) - d.constant;
    auto [it, added] = lowerBounds_.try_emplace(d.rest, bound);
    it->second = std::max(it->second, bound);
    syms().assumeWithin(d.rest, {it->second, INT64_MAX});
    // Bounds from both sides may meet.
    const int64_t low = it->second;
    auto high = lowerBounds_.find(syms().neg(d.rest));
    if (high != lowerBounds_.end() && low == -high->second) syms().assumeEqual(d.rest, syms().constant(low));
  }
  guard(std::move(g));
  return answer;
}

int64_t Trace::specialize(graph::SymId sym) {
  sym = syms().canonical(sym);
  if (auto known = syms().asConst(sym)) return *known;
  int64_t value = hint(sym);
  const size_t first = guards_.guards.size();
  bool same = decide(sym, Relation::kEq, syms().constant(value));
  FW_CHECK(same);
  pinFrom(first);
  return value;
}

bool Trace::ensureWithin(graph::SymId sym, int64_t lo, int64_t hi) {
  graph::SymRange range = syms().range(syms().canonical(sym));
  bool above = range.lo >= lo || decide(syms().constant(lo), Relation::kLe, sym);
  bool below = range.hi <= hi || decide(sym, Relation::kLe, syms().constant(hi));
  return above && below;
}

bool Trace::truth(Value* value) {
  if (isUnseenList(value)) return UnseenList{*this, value}.truth();
  open(value);
  switch (value->kind) {
    case ValueKind::kConstant: {
      PyObject* object = value->object.get();
      if (isPlain(object)) return checked(PyObject_IsTrue(object)) != 0;
      if (PyFunction_Check(object) || PyModule_Check(object) || Py_TYPE(object) == &PyType_Type ||
          PyCFunction_Check(object)) {
        return true;
      }
      if (PyRange_Check(object)) return checked(static_cast<int>(PyObject_Size(object))) != 0;
      fail(BreakReason::kUnsupportedObject, std::string("truth of a ") + Py_TYPE(object)->tp_name);
    }
    case ValueKind::kPyInt:
      if (decided.contains(value->sym))
        fail(BreakReason::kDataDependentBranch, "the condition is a size that data decides");
      return decide(value->sym, Relation::kNe, syms().constant(0));
    case ValueKind::kDataInt: fail(BreakReason::kDataDependentBranch, "the condition is computed from array data");
    case ValueKind::kPyFloat:
    case ValueKind::kPyBool: {
      auto number = numbers_.of(value);
      if (!number) fail(BreakReason::kDataDependentBranch, "the condition is computed from array data");
      return numbers_.truth(*number);
    }
    case ValueKind::kPyComplex: {
      Value* known = specializeNumber(value);
      if (!known) fail(BreakReason::kDataDependentBranch, "the condition is computed from array data");
      return checked(PyObject_IsTrue(known->object.get())) != 0;
    }
    case ValueKind::kArrayScalar:
      if (auto number = numbers_.of(value)) return numbers_.truth(*number);
      [[fallthrough]];
    case ValueKind::kArray: fail(BreakReason::kDataDependentBranch, "the condition is array data");
    case ValueKind::kTuple:
    case ValueKind::kDict:
      if (isSubclassValue(value)) return objectTruth(value);
      return !value->items.empty();
    case ValueKind::kLongList: return LongList{*this, value}.truth();
    case ValueKind::kPooledList: return PooledList{*this, value}.truth();
    case ValueKind::kWorkTable: fail(BreakReason::kDataDependentBranch, "array data decides whether a dict is empty");
    case ValueKind::kList:
    case ValueKind::kDeque: return !value->items.empty();
    case ValueKind::kSet: return checked(PyObject_IsTrue(value->object.get())) != 0;
    case ValueKind::kOpaque:
      if (numpy::isSelection(value)) fail(BreakReason::kDataDependentBranch, "the condition is array data");
      return true;
    case ValueKind::kException:
    case ValueKind::kSlice:
    case ValueKind::kFunction:
    case ValueKind::kMethod:
    case ValueKind::kSuper:
    case ValueKind::kIterator: return true;
    case ValueKind::kObject:
    case ValueKind::kInstance: return objectTruth(value);
    case ValueKind::kNull:
    case ValueKind::kCell:
    case ValueKind::kChosen:
    case ValueKind::kUnjoined: branches.refuse(value);
    case ValueKind::kRange:
    case ValueKind::kUnread: break;
  }
  FW_UNREACHABLE();
}

}  // namespace fw::capture
