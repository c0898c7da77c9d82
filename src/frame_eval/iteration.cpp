// The iterator protocol: iter(), next(), for loops, unpacking. An iterator over a list reads the list as it goes;
// one over a tuple, string or array has its items from the start; all others compute them when asked, so that what
// their functions do happens in Python's order. Iterators of dicts and sets refuse to go on after a change of their
// container, as in CPython.
#include "frame_eval/iteration.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "cpython/objects.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/collections.h"
#include "frame_eval/inlined_generators.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/unwind.h"
#include "frame_eval/work_table.h"
#include "frame_eval/sets.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using guards::Relation;

namespace {

constexpr size_t kMaxTurns = 4096;

/// Whose next() is C code that is not followed here.
bool isForeignIterator(PyObject* o) { return Py_TYPE(o)->tp_iternext && !isUserClass(Py_TYPE(o)); }

bool isView(const Value* v) { return v->kind == ValueKind::kIterator && !v->name.empty(); }

}  // namespace

// ---- dicts and sets -----------------------------------------------------------------------------------------------

Value* Interpreter::viewOf(Value* dict, const std::string& name) {
  Value* view = trace_.make(ValueKind::kIterator);
  view->name = name;
  view->base = dict;
  PyTypeObject* type = name == "keys" ? &PyDictKeys_Type : name == "values" ? &PyDictValues_Type : &PyDictItems_Type;
  view->cls = Ref::create(reinterpret_cast<PyObject*>(type));
  return view;
}

Value* Interpreter::viewItem(Value* view, size_t index) {
  Value* dict = view->base;
  if (view->name == "keys") return dict->keys[index];
  if (view->name == "values") return dict->items[index];
  return trace_.tuple({dict->keys[index], dict->items[index]});
}

std::vector<Value*> Interpreter::viewItems(Value* view) {
  if (WorkTable::is(view->base))
    trace_.fail(BreakReason::kUnsupportedObject, "all of a dict with keys that array data decides");
  std::vector<Value*> items;
  for (size_t i = 0; i < view->base->keys.size(); ++i) items.push_back(viewItem(view, i));
  return items;
}

namespace {

struct DictStep {
  Trace& trace;
  Value* view;
  bool reversed;
  std::vector<Value*> keys;
  size_t at = 0;

  Value* operator()(Interpreter& in) {
    const std::vector<Value*>& now = view->base->keys;
    if (now != keys && isOrdered(view->base))
      trace.fail(BreakReason::kUnsupportedObject, "an OrderedDict that changes during iteration");
    if (now.size() != keys.size()) in.raiseError(PyExc_RuntimeError, "dictionary changed size during iteration");
    if (now != keys) trace.fail(BreakReason::kUnsupportedObject, "a dict that changes during iteration");
    if (at == now.size()) return nullptr;
    size_t index = reversed ? now.size() - 1 - at : at;
    ++at;
    return in.viewItem(view, index);
  }

  std::optional<VirtualIterator::Recipe> recipe(Trace& t) {
    Value* dict = view->base;
    bool same = dict->keys == keys && !dict->cls && (!dict->written || !dict->source.valid());
    if (!same) return std::nullopt;
    return VirtualIterator::Recipe{
        reversed ? reversedType() : iterFunction(t), {view->name == "keys" ? dict : view}, at};
  }

  static PyObject* reversedType() { return reinterpret_cast<PyObject*>(&PyReversed_Type); }
};

/// Those that are left of a few that may be chosen from; none: they may not.
std::optional<VirtualIterator::Items> chosenItems(Trace& trace, const std::vector<Value*>& items, size_t taken) {
  if (!mayBeChosen(trace, items)) return std::nullopt;
  graph::SymContext& syms = trace.syms();
  return VirtualIterator::Items{
      syms.constant(static_cast<int64_t>(items.size() - taken)), [&trace, items, taken](graph::SymId number) {
        graph::SymContext& s = trace.syms();
        const graph::SymId at = s.canonical(s.add(number, s.constant(static_cast<int64_t>(taken))));
        if (const auto known = s.asConst(at)) return items[static_cast<size_t>(*known)];
        Value* item = chosenItem(trace, items, trace.pyInt(at));
        if (!item) trace.fail(BreakReason::kUnsupportedObject, "items of several kinds, of which a turn takes one");
        return item;
      }};
}

/// Of a str, bytes or constant tuple.
struct ConstantStep {
  Trace& trace;
  Value* over;
  std::vector<Value*> known;
  size_t at = 0;

  Value* operator()(Interpreter&) { return at < known.size() ? known[at++] : nullptr; }
  std::optional<VirtualIterator::Recipe> recipe(Trace& t) {
    return VirtualIterator::Recipe{iterFunction(t), {over}, at};
  }
  std::optional<VirtualIterator::Items> items(Interpreter&) { return chosenItems(trace, known, at); }
  void skip() { ++at; }
};

/// Of a list or a tuple of numbers that are known, or of tuples of those: read as it goes.
struct KnownNumbersStep {
  Trace& trace;
  Value* over;
  std::vector<Value*> known;
  size_t at = 0;

  Value* operator()(Interpreter&) { return at < over->items.size() ? over->items[at++] : nullptr; }
  std::optional<VirtualIterator::Recipe> recipe(Trace& t) {
    if (over->items != known) return std::nullopt;
    return VirtualIterator::Recipe{iterFunction(t), {over}, at};
  }
  std::optional<VirtualIterator::Items> items(Interpreter&) {
    return over->items == known ? chosenItems(trace, known, at) : std::nullopt;
  }
  void skip() { ++at; }
};

/// Of an array: what an element is when its turn comes, which may have been written since the beginning.
struct ArrayItem {
  Trace& trace;
  Value* array;
  graph::SymId size;
  int most;  ///< items that may be asked for one by one
  bool reversed;

  void check(int64_t at) const {
    if (at == 0 && trace.hint(size) > most)
      trace.fail(BreakReason::kLoopLimit, "iteration over an array of " + std::to_string(trace.hint(size)) + " items");
  }
  Value* operator()(graph::SymId number) const {
    graph::SymContext& syms = trace.syms();
    if (reversed) number = syms.sub(syms.sub(size, syms.constant(1)), number);
    return numpy::getItem(trace, array, trace.pyInt(syms.canonical(number)));
  }
};

}  // namespace

PyObject* iterFunction(Trace&) {
  static PyObject* const function = [] {
    PyObject* builtins = PyImport_GetModule(checked(PyUnicode_FromString("builtins")).get());
    return builtins ? Py_XNewRef(PyDict_GetItemString(PyModule_GetDict(builtins), "iter")) : nullptr;
  }();
  FW_CHECK(function);
  return function;
}

Value* Interpreter::dictIterator(Value* view, bool reversed) {
  if (WorkTable::is(view->base)) {
    if (reversed) trace_.fail(BreakReason::kUnsupportedCall, "reversed() of a dict with keys that array data decides");
    return WorkTable{*this, trace_, view->base}.iterator(view->name);
  }
  return makeIterator(trace_, nullptr, DictStep{trace_, view, reversed, view->base->keys});
}

Value* Interpreter::setIterator(Value* set) {
  std::vector<Value*> items = Sets{*this, trace_}.elements(set);
  size_t size = items.size();
  return makeIterator(trace_, nullptr, [this, set, items, size, at = size_t{0}](Interpreter&) mutable -> Value* {
    if (set->kind == ValueKind::kSet && set->items.size() != size) {
      raiseError(PyExc_RuntimeError, "Set changed size during iteration");
    }
    return at == items.size() ? nullptr : items[at++];
  });
}

// ---- iter() and next() --------------------------------------------------------------------------------------------

Value* Interpreter::iteratorOf(Value* iterable) {
  if (Value* range = rangeIterator(iterable, false)) return range;
  numpy::settled(trace_, trace_.open(iterable));
  if (isView(iterable)) return dictIterator(iterable, false);
  switch (iterable->kind) {
    case ValueKind::kIterator: return iterable;
    case ValueKind::kDict:
    case ValueKind::kWorkTable: return dictIterator(viewOf(iterable, "keys"), false);
    case ValueKind::kSet: return setIterator(iterable);
    case ValueKind::kInstance:
    case ValueKind::kObject:
      if (iterable->kind == ValueKind::kObject && isForeignIterator(iterable->object.get())) {
        (void)trace_.typeOf(iterable);
        return iterable;  // is its own iterator; next() says why it is not followed
      }
      if (Value* method = boundSpecial(iterable, "__iter__")) {
        Value* iterator = call(method, {});
        if (iterator->kind == ValueKind::kIterator && iterator->name.empty()) return iterator;
        if (boundSpecial(iterator, "__next__")) return iterator;
      }
      break;
    case ValueKind::kConstant:
      if (isConstantOf(iterable, &PyFrozenSet_Type)) return setIterator(iterable);
      if (Value* members = Collections{*this, trace_}.metaSpecial(iterable, "__iter__", {})) return members;
      return makeIterator(trace_, isTuple(iterable) ? &PyTupleIter_Type : nullptr,
                          ConstantStep{trace_, iterable, iterate(iterable)});
    case ValueKind::kDeque: return Collections{*this, trace_}.dequeIterator(iterable, false);
    case ValueKind::kArray: return arrayIterator(iterable, false);
    case ValueKind::kLongList: return LongList{trace_, iterable}.iterator();
    case ValueKind::kPooledList:
      return iterable->base ? PooledList{trace_, iterable}.iterator() : iteratorOf(trace_.list({}));
    default: break;
  }
  Value* iterator = trace_.make(ValueKind::kIterator);
  if (iterable->kind == ValueKind::kList || iterable->kind == ValueKind::kTuple) {
    if (mayRoll() && iterable->items.size() > static_cast<size_t>(options_.maxUnroll))
      LongList::standOutside(trace_, iterable);
    iterator->base = iterable;
    PyTypeObject* type = iterable->kind == ValueKind::kList ? &PyListIter_Type : &PyTupleIter_Type;
    const bool stays = iterable->kind == ValueKind::kTuple || !iterable->source.valid();
    if (mayRoll() && stays && !iterable->cls && mayBeChosen(trace_, iterable->items))
      return makeIterator(trace_, type, KnownNumbersStep{trace_, iterable, iterable->items});
    iterator->cls = Ref::create(reinterpret_cast<PyObject*>(type));
  } else {
    iterator->items = iterate(iterable);
  }
  return iterator;
}

Value* Interpreter::nextOf(Value* iterator) {
  trace_.open(iterator);
  if (iterator->kind == ValueKind::kInstance || iterator->kind == ValueKind::kObject) {
    trace_.refuseOpaque(iterator);
    if (iterator->kind == ValueKind::kObject && isForeignIterator(iterator->object.get())) {
      bool generator = PyGen_CheckExact(iterator->object.get());
      trace_.fail(
          generator ? BreakReason::kGenerator : BreakReason::kUnsupportedObject,
          std::string("an item of a ") + trace_.typeOf(iterator)->tp_name + " made outside of the compiled code");
    }
    Value* method = boundSpecial(iterator, "__next__");
    if (!method)
      trace_.fail(BreakReason::kUnsupportedObject, std::string("next() of a ") + trace_.typeOf(iterator)->tp_name);
    CatchScope scope(catchers_);
    try {
      return call(method, {});
    } catch (const VirtualRaise& raise) {
      landed();
      if (isInstanceOf(raise.exception, PyExc_StopIteration)) return nullptr;
      throw;
    }
  }
  if (iterator->kind != ValueKind::kIterator || isView(iterator)) {
    raiseAbout(PyExc_TypeError, std::string("'") + trace_.typeOf(iterator)->tp_name + "' object is not an iterator");
  }
  if (iterator->lazy) {
    ++iterator->position;
    VirtualIterator& lazy = *iterator->lazy;
    if (lazy.isAsked && !generatorOf(iterator))
      trace_.fail(BreakReason::kUnsupportedObject, "an iterator that asks itself for an item");
    const bool outer = std::exchange(lazy.isAsked, true);
    const absl::Cleanup asked = [&] { lazy.isAsked = outer; };
    return lazy.next(*this);
  }
  std::vector<Value*>& items = iterator->base ? iterator->base->items : iterator->items;
  if (iterator->position < items.size()) return items[iterator->position++];
  iterator->base = nullptr;  // a list that grows later does not revive it
  iterator->items.clear();
  return nullptr;
}

std::vector<Value*> Interpreter::iterate(Value* iterable, bool asArguments) {
  numpy::settled(trace_, trace_.open(iterable));
  if (isView(iterable)) return viewItems(iterable);
  switch (iterable->kind) {
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kDeque: return iterable->items;
    case ValueKind::kDict: return iterable->keys;
    case ValueKind::kSet: return Sets{*this, trace_}.elements(iterable);
    case ValueKind::kIterator:
    case ValueKind::kInstance:
    case ValueKind::kObject: {
      if (iterable->kind != ValueKind::kIterator && !boundSpecial(iterable, "__iter__")) break;
      Value* iterator = iteratorOf(iterable);
      std::vector<Value*> items;
      while (Value* item = nextOf(iterator)) {
        items.push_back(asArguments ? trace_.openRange(item) : trace_.open(item));
        if (items.size() > kMaxTurns)
          trace_.fail(BreakReason::kLoopLimit, "more than " + std::to_string(kMaxTurns) + " items");
      }
      return items;
    }
    case ValueKind::kConstant:
      if (isConstantOf(iterable, &PyFrozenSet_Type)) return Sets{*this, trace_}.elements(iterable);
      if (Value* members = Collections{*this, trace_}.metaSpecial(iterable, "__iter__", {})) return iterate(members);
      return constantItems(iterable);
    case ValueKind::kArray: return iterate(arrayIterator(iterable, false));
    default: break;
  }
  trace_.fail(BreakReason::kUnsupportedObject, std::string("iteration over a ") + trace_.typeOf(iterable)->tp_name);
}

std::vector<Value*> Interpreter::constantItems(Value* iterable) {
  PyObject* o = iterable->object.get();
  bool known = PyTuple_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o);
  if (!known && isPlain(o))
    raiseAbout(PyExc_TypeError, std::string("'") + Py_TYPE(o)->tp_name + "' object is not iterable");
  if (!known) trace_.fail(BreakReason::kUnsupportedObject, std::string("iteration over a ") + Py_TYPE(o)->tp_name);
  Py_ssize_t size = PyObject_Size(o);
  if (size < 0) raisesPending();
  if (size > static_cast<Py_ssize_t>(kMaxTurns)) trace_.fail(BreakReason::kLoopLimit, std::to_string(size) + " items");
  std::vector<Value*> items;
  for (Py_ssize_t i = 0; i < size; ++i) items.push_back(trace_.constant(checked(PySequence_GetItem(o, i))));
  return items;
}

Value* Interpreter::arrayIterator(Value* array, bool reversed) {
  const graph::SymShape& shape = trace_.graph().type(array->node).shape;
  if (shape.empty()) raises("TypeError: iteration over a 0-d array");
  return makeIterator(
      trace_, reversed ? &PyReversed_Type : &PySeqIter_Type,
      NumberedStep<ArrayItem>{trace_, shape[0], {trace_, array, shape[0], options_.maxUnroll, reversed}});
}

// ---- instructions -------------------------------------------------------------------------------------------------

void Interpreter::onGetIter(const Instr&) { push(iteratorOf(popRaw())); }

void Interpreter::onForIter(const Instr& instr) {
  InlinedGenerators{*this, trace_}.offer();
  Value* iterator = trace_.open(top());
  Rolling rolling(*this, *frame_, frame_->pc - 1);
  if (rolling.takeFor(instr)) return;
  trace_.turns.unrolled = true;
  auto limit = static_cast<size_t>(options_.maxUnroll);
  bool sized = iterator->kind == ValueKind::kIterator && !iterator->lazy;
  if (sized) {
    std::vector<Value*>& items = iterator->base ? iterator->base->items : iterator->items;
    size_t rest = items.size() - std::min(iterator->position, items.size());
    if (rest > limit) rolling.tooLong(std::to_string(items.size()) + " iterations");
  }
  Value* item = nullptr;
  try {
    item = nextOf(iterator);
  } catch (const CaptureBreak& b) {
    if (b.reason == BreakReason::kLoopLimit && !rolling.whyNot().empty()) rolling.tooLong(b.detail);
    throw;
  }
  if (item) {
    if (!sized) rolling.noteUnrolled();
    bool endless = sized ? iterator->position > limit : ++frame_->backJumps[frame_->pc] > options_.maxUnroll;
    if (endless) rolling.tooLong("more than " + std::to_string(limit) + " iterations");
    if (auto why = limitUnrolled(iterator)) {
      if (sized && iterator->base && mayRoll()) LongList::standOutside(trace_, iterator->base);
      rolling.tooLong(*why);
    }
    return push(item);
  }
  frame_->backJumps[frame_->pc] = 0;
  popRaw();
  frame_->pc = static_cast<size_t>(instr.target);
}

void Interpreter::onEndFor(const Instr&) { FW_UNREACHABLE(); }

void Interpreter::onUnpackSequence(const Instr& instr) {
  Value* sequence = numpy::settled(trace_, pop());
  auto wanted = static_cast<size_t>(instr.arg);
  if (sequence->kind == ValueKind::kArray) {
    const graph::SymShape& shape = trace_.graph().type(sequence->node).shape;
    if (!shape.empty() && !trace_.decide(shape[0], Relation::kEq, trace_.syms().constant(instr.arg))) {
      raises("ValueError: wrong number of values to unpack");
    }
  }
  std::vector<Value*> items;
  if (PooledList::is(sequence) && sequence->base) {
    items = PooledList{trace_, sequence}.unpacked(wanted);
  } else if (isLongList(sequence) && LongList{trace_, sequence}.isOf(wanted)) {
    items = LongList{trace_, sequence}.unpacked(wanted);
  } else if (sequence->kind == ValueKind::kIterator || sequence->kind == ValueKind::kInstance) {
    Value* iterator = iteratorOf(sequence);  // takes no more than one item too many
    while (items.size() <= wanted) {
      Value* item = nextOf(iterator);
      if (!item) break;
      items.push_back(item);
    }
  } else {
    items = iterate(sequence);
  }
  if (items.size() > wanted) {
    raiseError(PyExc_ValueError, "too many values to unpack (expected " + std::to_string(wanted) + ")");
  }
  if (items.size() < wanted) {
    raiseError(PyExc_ValueError, "not enough values to unpack (expected " + std::to_string(wanted) + ", got " +
                                     std::to_string(items.size()) + ")");
  }
  for (auto it = items.rbegin(); it != items.rend(); ++it) push(*it);
}

void Interpreter::onUnpackEx(const Instr& instr) {
  std::vector<Value*> items = iterate(pop());
  size_t before = static_cast<size_t>(instr.arg & 255), after = static_cast<size_t>(instr.arg >> 8);
  if (items.size() < before + after) {
    raiseError(PyExc_ValueError, "not enough values to unpack (expected at least " + std::to_string(before + after) +
                                     ", got " + std::to_string(items.size()) + ")");
  }
  size_t end = items.size() - after;
  for (size_t i = items.size(); i > end; --i) push(items[i - 1]);
  push(trace_.list({items.begin() + static_cast<ptrdiff_t>(before), items.begin() + static_cast<ptrdiff_t>(end)}));
  for (size_t i = before; i > 0; --i) push(items[i - 1]);
}

}  // namespace fw::capture
