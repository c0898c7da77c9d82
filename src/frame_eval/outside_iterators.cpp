// Iterators that were made before the trace, perhaps advanced partway: of lists, tuples and ranges, and enumerate, zip,
// map and filter over such. Their items are read ahead through guarded sources, so that one variant serves every
// position; that they are advanced is a side effect. zip, map and filter keep nothing themselves: what they go over is
// advanced.
#include <algorithm>

#include "cpython/elements.h"
#include "cpython/objects.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/reading.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using guards::GuardKind;
using guards::Relation;
using guards::SourceKind;
using From = guards::SymbolBinding::From;

namespace {

/// An iterator with a position of its own.
struct Positioned : VirtualIterator {
  Trace& trace;
  Value* self = nullptr;
  SourceId source;
  PyObject* object;
  bool done = false;
  Positioned(Trace& trace, SourceId source, PyObject* object) : trace(trace), source(source), object(object) {}

  /// The next item, for whoever notes the advance himself.
  virtual Value* take(Interpreter& in) = 0;
  Value* next(Interpreter& in) final {
    if (done) return nullptr;
    Value* item = take(in);
    done = !item;
    trace.effectAdvance(self, 1);  // also to its end, which makes it let go of what it walks
    return item;
  }
};

struct SequenceAhead : Positioned {
  Value* list = nullptr;  ///< null for tuples and where it is exhausted
  int64_t taken = 0;
  using Positioned::Positioned;

  Value* take(Interpreter&) override {
    if (list && list->written) trace.fail(BreakReason::kUnsupportedObject, "an iterator over a list that is changed");
    PyObject* item = cpython::elementOf(object, taken);
    if (item) return trace.fromSource(trace.sources().intern(SourceKind::kElement, source, taken++), item);
    // A list that has grown meanwhile may have been its.
    const std::vector<SideEffect>& effects = trace.effects();
    if (std::any_of(trace.logs.begin(), trace.logs.end(), [](const Trace::Log& log) { return log.list; }) ||
        std::any_of(effects.begin(), effects.end(),
                    [](const SideEffect& effect) { return effect.kind == Effect::Kind::kListSlice; }))
      trace.fail(BreakReason::kUnsupportedObject, "the end of an iterator, after a list was changed");
    trace.guard({.kind = GuardKind::kElements, .source = source, .lo = taken, .hi = -1});
    return nullptr;
  }
};

struct RangeAhead : Positioned {
  graph::SymId start, step, remaining;
  int64_t taken = 0;
  using Positioned::Positioned;

  Value* take(Interpreter&) override {
    graph::SymContext& syms = trace.syms();
    if (!trace.decide(syms.constant(taken), Relation::kLt, remaining)) return nullptr;
    return trace.pyInt(syms.add(start, syms.mul(syms.constant(taken++), step)));
  }
};

struct EnumerateAhead : Positioned {
  graph::SymId index;
  Positioned* inner = nullptr;
  int64_t taken = 0;
  using Positioned::Positioned;

  Value* take(Interpreter& in) override {
    Value* item = inner->done ? nullptr : inner->take(in);
    inner->done = !item;
    if (!item) return nullptr;
    return trace.tuple({trace.pyInt(trace.syms().add(index, trace.syms().constant(taken++))), trace.open(item)});
  }
};

struct ZipAhead : VirtualIterator {
  std::vector<Value*> parts;
  bool done = false;

  Value* next(Interpreter& in) override {
    std::vector<Value*> row;
    for (Value* part : parts) {
      Value* item = done ? nullptr : in.nextOf(part);
      done = !item;
      if (done) return nullptr;
      row.push_back(in.opened(item));
    }
    return in.tupleOf(std::move(row));
  }
};

struct MapAhead : VirtualIterator {
  std::vector<Value*> parts;

  Value* next(Interpreter& in) override {
    std::vector<Value*> row;
    for (size_t i = 1; i < parts.size(); ++i) {
      Value* item = in.nextOf(parts[i]);
      if (!item) return nullptr;
      row.push_back(item);
    }
    return in.call(parts[0], {.positional = std::move(row), .keywords = {}});
  }
};

}  // namespace

/// Has access to what makes symbols of a trace.
struct OutsideIterators {
  Trace& trace;
  SourceId source;
  PyObject* object;

  Value* iterator(std::unique_ptr<VirtualIterator> lazy) const {
    Value* v = trace.make(ValueKind::kIterator);
    v->cls = Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    v->lazy = std::move(lazy);
    return v;
  }

  void guard(GuardKind kind) const {
    trace.guard({.kind = kind, .source = source, .object = Ref::create(reinterpret_cast<PyObject*>(Py_TYPE(object)))});
  }

  graph::SymId symbol(const char* name, From from, int64_t hint) const {
    graph::SymId sym = trace.addSymbol(name + std::to_string(trace.intCount_++), {}, hint, {from, source, 0});
    constexpr int64_t kLimit = int64_t{1} << 31;
    if (!trace.ensureWithin(sym, -kLimit, kLimit))
      trace.fail(BreakReason::kUnsupportedObject, "an iterator over large numbers");
    return sym;
  }

  Value* sequence() const {
    guard(GuardKind::kType);
    auto lazy = std::make_unique<SequenceAhead>(trace, source, object);
    PyObject* over = cpython::iteratedOf(object);
    if (over && PyList_CheckExact(over))
      lazy->list = trace.fromSource(trace.sources().intern(SourceKind::kIterated, source), over);
    return iterator(std::move(lazy));
  }

  /// A range itself.
  Value* numbers() const {
    int64_t fields[4];
    if (!cpython::readRange(object, fields)) return nullptr;
    guard(GuardKind::kRange);
    Value* v = trace.make(ValueKind::kRange);
    const auto part = [&](From from, int64_t hint) { return trace.pyInt(symbol("r", from, hint)); };
    v->items = {part(From::kRangeStart, fields[0]), part(From::kRangeStop, fields[1]),
                part(From::kRangeStep, fields[2])};
    v->sym = symbol("r", From::kLength, fields[3]);
    return v;
  }

  Value* range() const {
    int64_t fields[3];
    if (!cpython::readRangeIterator(object, fields)) return nullptr;
    guard(GuardKind::kIterator);
    auto lazy = std::make_unique<RangeAhead>(trace, source, object);
    lazy->start = symbol("r", From::kRangeStart, fields[0]);
    lazy->step = symbol("r", From::kRangeStep, fields[1]);
    lazy->remaining = symbol("r", From::kIterRemaining, fields[2]);
    return iterator(std::move(lazy));
  }

  Value* enumerated() const {
    int64_t fields[2];
    if (!cpython::readIndexIterator(object, fields)) return nullptr;
    PyObject* over = cpython::iteratedOf(object);
    Value* inner = trace.open(trace.fromSource(trace.sources().intern(SourceKind::kIterated, source), over));
    auto* positioned = inner->kind == ValueKind::kIterator ? dynamic_cast<Positioned*>(inner->lazy.get()) : nullptr;
    if (!positioned) return nullptr;
    guard(GuardKind::kIterator);
    auto lazy = std::make_unique<EnumerateAhead>(trace, source, object);
    lazy->index = symbol("e", From::kIterIndex, fields[0]);
    lazy->inner = positioned;
    return iterator(std::move(lazy));
  }

  Value* walker() const {
    int64_t count[2];
    if (!cpython::readElements(object, count) || !mayRead(trace, count[0])) return nullptr;
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyFilter_Type) return nullptr;
    if (type == &PyZip_Type) {  // a strict one tells more than StopIteration at the end
      Ref state = checked(PyObject_CallMethod(object, "__reduce__", nullptr));
      if (PyTuple_GET_SIZE(state.get()) > 2) return nullptr;
    }
    guard(GuardKind::kType);
    trace.guard({.kind = GuardKind::kElements, .source = source, .lo = count[0], .hi = -1});
    std::vector<Value*> parts;
    for (int64_t i = 0; i < count[0]; ++i) {
      SourceId part = trace.sources().intern(SourceKind::kElement, source, i);
      parts.push_back(trace.open(trace.fromSource(part, cpython::elementOf(object, i))));
    }
    if (type == &PyZip_Type) {
      auto lazy = std::make_unique<ZipAhead>();
      lazy->parts = std::move(parts);
      lazy->done = lazy->parts.empty();
      return iterator(std::move(lazy));
    }
    auto lazy = std::make_unique<MapAhead>();
    lazy->parts = std::move(parts);
    return iterator(std::move(lazy));
  }
};

Value* openIterator(Trace& trace, SourceId source, PyObject* object) {
  OutsideIterators outside{trace, source, object};
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyListIter_Type || type == &PyTupleIter_Type) return outside.sequence();
  if (type == &PyRange_Type) return outside.numbers();
  if (type == &PyRangeIter_Type) return outside.range();
  if (type == &PyEnum_Type) return outside.enumerated();
  return cpython::isWalker(type) ? outside.walker() : nullptr;
}

void adoptIterator(Value* iterator) {
  if (auto* positioned = dynamic_cast<Positioned*>(iterator->lazy.get())) positioned->self = iterator;
}

}  // namespace fw::capture
