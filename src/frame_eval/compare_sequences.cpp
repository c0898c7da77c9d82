// Comparisons of tuples, lists and deques, item by item. Where array data decides whether two items are equal, all of
// them are compared, and the first that differ have the say.
#include <algorithm>

#include "frame_eval/branching.h"
#include "frame_eval/collections.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/numpy/support.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using graph::Op;
using graph::ValueId;

namespace {

/// Of items, Python asks first whether they are one object: a NaN that is in both equals itself. Nobody knows that of
/// what array data decides.
void declineTwoNaNs(Trace& trace, Value* left, Value* right) {
  graph::Graph& g = trace.graph();
  ValueId both;
  for (Value* item : {left, right}) {
    if (item->kind == ValueKind::kPyComplex) trace.fail(BreakReason::kUnsupportedObject, "complex numbers in tuples");
    const bool number = item->kind == ValueKind::kPyFloat || item->kind == ValueKind::kArrayScalar;
    if (!number || !graph::isFloat(g.type(item->node).dtype)) return;
    const ValueId none = g.unary(Op::kIsnan, item->node);
    both = both.valid() ? g.binary(Op::kLogicalAnd, both, none) : none;
  }
  DataInts{trace}.require(g.unary(Op::kLogicalNot, both));
}

/// A bool of which nobody asks whether it is Python's.
Value* decision(Trace& trace, ValueId node) {
  Value* result = trace.number(ValueKind::kPyBool, node);
  result->joined = true;
  return result;
}

}  // namespace

/// Whether it is true, as a bool of the graph.
ValueId Collections::truthNode(Value* value) {
  if (auto data = Branching{in, trace}.condition(value)) return *data;
  return trace.graph().constant(graph::Scalar::ofBool(trace.truth(value)));
}

Value* Collections::orderSequences(int op, Value* left, Value* right) {
  const bool tuples = isTuple(left) && isTuple(right),
             lists = left->kind == ValueKind::kList && right->kind == ValueKind::kList;
  const bool deques = left->kind == ValueKind::kDeque && right->kind == ValueKind::kDeque;
  if (!tuples && !lists && !deques) return nullptr;
  const std::vector<Value*> a = in.iterate(left), b = in.iterate(right);
  std::vector<std::pair<ValueId, Value*>> doubts;  // whether these are equal; what is answered if they are not
  Value* result = nullptr;
  for (size_t i = 0; i < std::min(a.size(), b.size()) && !result; ++i) {
    if (isSameObject(a[i], b[i])) continue;
    Value* equal = in.compare(Py_EQ, a[i], b[i]);
    if (auto data = Branching{in, trace}.condition(equal)) {
      declineTwoNaNs(trace, a[i], b[i]);
      doubts.emplace_back(*data, in.compare(op, a[i], b[i]));
    } else if (!trace.truth(equal)) {
      result = in.compare(op, a[i], b[i]);
    }
  }
  if (!result) {
    Ref sizes[] = {checked(PyLong_FromSize_t(a.size())), checked(PyLong_FromSize_t(b.size()))};
    result = trace.constant(checked(PyObject_RichCompare(sizes[0].get(), sizes[1].get(), op)));
  }
  if (doubts.empty()) return result;
  ValueId node = truthNode(result);
  for (auto at = doubts.rbegin(); at != doubts.rend(); ++at)
    node = numpy::ufuncNode(trace, Op::kWhere, {at->first, node, truthNode(at->second)});
  return decision(trace, node);
}

Value* Collections::equalTuples(int op, Value* left, Value* right) {
  const auto isPlain = [](const Value* v) { return isTuple(v) && !v->cls; };
  if (!isPlain(left) || !isPlain(right)) return nullptr;
  const std::vector<Value*> a = in.iterate(left), b = in.iterate(right);
  const auto isDecided = [&](Value* v) {
    return v->kind == ValueKind::kDataInt || v->kind == ValueKind::kPyFloat || v->kind == ValueKind::kArrayScalar ||
           (v->kind == ValueKind::kPyInt && (trace.turns.contains(v->sym) || trace.decided.contains(v->sym)));
  };
  const bool doubtful = a.size() == b.size() &&
                        (std::any_of(a.begin(), a.end(), isDecided) || std::any_of(b.begin(), b.end(), isDecided));
  if (!doubtful) return nullptr;
  graph::Graph& g = trace.graph();
  ValueId node = g.constant(graph::Scalar::ofBool(true));
  bool known = true;
  for (size_t i = 0; i < a.size(); ++i) {
    if (isSameObject(a[i], b[i])) continue;
    Value* equal = in.compare(Py_EQ, a[i], b[i]);
    const auto data = Branching{in, trace}.condition(equal);
    if (!data) {
      if (trace.truth(equal)) continue;
      return trace.constant(op == Py_EQ ? Py_False : Py_True);
    }
    declineTwoNaNs(trace, a[i], b[i]);
    node = known ? *data : g.binary(Op::kLogicalAnd, node, *data);
    known = false;
  }
  if (known) return trace.constant(op == Py_EQ ? Py_True : Py_False);
  return trace.number(ValueKind::kPyBool, op == Py_EQ ? node : g.unary(Op::kLogicalNot, node));
}

}  // namespace fw::capture
