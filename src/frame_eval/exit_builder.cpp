// The exit plan: result, side effects, slots of the frame. Every distinct array Value becomes an output of its own,
// even where hash-consing gave two of them one node: NumPy would have made two arrays. A value that came from outside
// leaves as that very object. What cannot be made again outside is a break at the instruction that made it.
#include "frame_eval/exit_builder.h"

#include <algorithm>

#include "cpython/elements.h"
#include "frame_eval/classes.h"
#include "frame_eval/choices.h"
#include "frame_eval/generator.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/keys.h"
#include "frame_eval/locks.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/nesting.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/refers_to.h"
#include "frame_eval/sets.h"
#include "frame_eval/work_table.h"
#include "graph/op.h"
#include "graph/support/check.h"
#include "graph/views.h"
#include "guards/builders.h"

namespace fw::capture {

using graph::Op;
using graph::OpClass;
using graph::ValueId;

namespace {

class ExitBuilder {
 public:
  explicit ExitBuilder(Trace& trace) : trace_(trace) {}

  ExitPlan run(const FrameEnd& end) {
    if (end.result) add(end.result);
    for (const SideEffect& effect : trace_.effects()) addEffect(effect);
    for (auto [slot, value] : end.slots) plan_.slots.push_back({slot, orNone(value)});
    for (size_t i = 0; i < filledLater_.size(); ++i) {
      Value* cell = filledLater_[i];
      plan_.effects.push_back({.kind = Effect::Kind::kSetCell, .target = add(cell), .value = add(cell->items[0])});
    }
    plan_.cellsFilled = filledLater_.size();
    for (const Value* lock : trace_.locks) plan_.locks.push_back(objectIndex(lock->source));
    plan_.atomic = trace_.atomic;
    plan_.end = end.result ? ExitPlan::kReturn : end.instruction;
    plan_.depth = end.depth;
    return std::move(plan_);
  }

 private:
  /// -1 for what is unbound or NULL.
  int orNone(Value* value) { return value && value->kind != ValueKind::kNull ? add(value) : -1; }

  int add(Value* value) {
    Nesting nesting(trace_);
    int at = static_cast<int>(plan_.nodes.size());
    if (auto it = seen_.find(value); it != seen_.end()) {
      if (open_.contains(value)) cannotLeave(value, "a container that contains itself");
      plan_.nodes.push_back({.kind = ExitNode::Kind::kShared, .index = it->second});
      return at;
    }
    seen_[value] = at;
    open_.insert(value);
    plan_.nodes.push_back({.kind = ExitNode::Kind::kConstant});
    ExitNode node = describe(value);
    plan_.nodes[at] = std::move(node);
    open_.erase(value);
    return at;
  }

  int addNode(ExitNode node) {
    plan_.nodes.push_back(std::move(node));
    return static_cast<int>(plan_.nodes.size()) - 1;
  }

  void addEffect(const SideEffect& effect) {
    Effect out{.kind = effect.kind, .lo = effect.lo, .hi = effect.hi};
    if (effect.kind == Effect::Kind::kSetItem && !isHashedNatively(trace_, effect.key)) {
      throw CaptureBreak(BreakReason::kUnsupportedWrite, "an item under a key that its class hashes", effect.at);
    }
    out.target = add(effect.target);
    if (effect.key) out.key = add(effect.key);
    if (effect.value) out.value = add(effect.value);
    if (!effect.value && (effect.kind == Effect::Kind::kListSlice || effect.kind == Effect::Kind::kCall)) {
      ExitNode list{.kind = effect.kind == Effect::Kind::kCall ? ExitNode::Kind::kTuple : ExitNode::Kind::kList};
      for (Value* item : effect.items) list.children.push_back(add(item));
      out.value = addNode(std::move(list));
    }
    plan_.effects.push_back(out);
  }

  [[noreturn]] void cannotLeave(Value* value, const std::string& what) {
    throw CaptureBreak(BreakReason::kUnsupportedObject, what + " outlives the compiled code", value->madeAt);
  }

  ExitNode describe(Value* value) {
    using Kind = ExitNode::Kind;
    // Also constants: an equal str of another call is another object.
    if (value->source.valid()) return {.kind = Kind::kObject, .index = objectIndex(value->source)};
    if (isMadeClass(trace_, value)) return madeByCall(value);
    if (value->isConstant()) {
      if (guards::leadsToUsers(value->object.get()) && PyTuple_Check(value->object.get()))
        cannotLeave(value, "a tuple of classes");
      return {.kind = Kind::kConstant, .object = value->object};
    }
    switch (numpy::settled(trace_, value)->kind) {
      case ValueKind::kArray: return array(value);
      case ValueKind::kArrayScalar:
        if (value->which)
          return {
              .kind = Kind::kMixed, .index = output(scalar(value->node)), .which = output(scalar(value->which->node))};
        return {.kind = Kind::kArrayScalar, .index = output(scalar(value->node))};
      case ValueKind::kPyFloat: return {.kind = Kind::kPyFloat, .index = output(scalar(value->node))};
      case ValueKind::kDataInt: return {.kind = Kind::kDataInt, .index = output(scalar(value->node))};
      case ValueKind::kPyBool: return {.kind = Kind::kPyBool, .index = output(scalar(value->node))};
      case ValueKind::kPyComplex: return {.kind = Kind::kPyComplex, .index = output(scalar(value->node))};
      case ValueKind::kPyInt: return {.kind = Kind::kPyInt, .sym = trace_.syms().canonical(value->sym)};
      case ValueKind::kTuple:
        if (Value* as = leaving_.try_emplace(value, value).first->second; as != value) trace_.branches.refuse(as);
        return value->cls ? subclass(Kind::kTuple, value) : container(Kind::kTuple, value);
      case ValueKind::kList: return container(Kind::kList, value);
      case ValueKind::kLongList: return longList(value);
      case ValueKind::kPooledList: return pooledList(value);
      case ValueKind::kWorkTable: return workTable(value);
      case ValueKind::kDict: return value->cls ? subclass(Kind::kDict, value) : container(Kind::kDict, value);
      case ValueKind::kDeque: return deque(value);
      case ValueKind::kSlice: return container(Kind::kSlice, value);
      case ValueKind::kRange: return container(Kind::kRange, value);
      case ValueKind::kFunction: return function(value);
      case ValueKind::kMethod: return method(value);
      case ValueKind::kIterator: return iterator(value);
      case ValueKind::kCell: return cell(value);
      case ValueKind::kInstance: return instance(value);
      case ValueKind::kSet: return set(value);
      case ValueKind::kException: return exception(value);
      case ValueKind::kOpaque: return callable(value);
      case ValueKind::kSuper: cannotLeave(value, "super()");
      case ValueKind::kConstant:
      case ValueKind::kNull:
      case ValueKind::kObject:
      case ValueKind::kUnread: break;
      case ValueKind::kChosen: return chosen(value, output(scalar(value->which->node)));
      case ValueKind::kUnjoined: trace_.branches.refuse(value);
    }
    FW_UNREACHABLE();
  }

  /// By output `index`. Its things are what they are wherever they leave: none is shared, as it may not be made.
  ExitNode chosen(const Value* choice, int index) {
    Choices choices{trace_};
    const graph::SymRange range = choices.rangeOf(choice->items);
    ExitNode node{.kind = ExitNode::Kind::kChosen, .index = index, .which = static_cast<int>(range.lo)};
    node.children.resize(static_cast<size_t>(range.hi - range.lo) + 1, -1);
    const auto seen = seen_;
    for (Value* thing : choice->items)
      node.children[static_cast<size_t>(choices.numberOf(thing) - range.lo)] =
          Choices::isPayload(thing) && seen.contains(thing) ? add(thing) : addNode(describe(thing));
    seen_ = seen;
    return node;
  }

  ExitNode function(Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kFunction, .object = value->code};
    const FunctionParts& parts = *value->parts;
    int globals =
        value->globals ? addNode({.kind = ExitNode::Kind::kObject, .index = objectIndex(globalsOf(value))}) : -1;
    int qualname = addNode({.kind = ExitNode::Kind::kConstant, .object = value->qualname});
    node.children = {globals, qualname};
    for (Value* part : {parts.defaults, parts.kwdefaults, parts.closure, parts.annotations, parts.dict}) {
      node.children.push_back(orNone(part));
    }
    for (auto& [name, item] : value->overlay) {
      node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = name}));
      node.children.push_back(add(item));
    }
    return node;
  }

  SourceId globalsOf(Value* function) {
    return trace_.sources().intern(guards::SourceKind::kGlobals, function->globalsOf);
  }

  /// One that was never raised, and of a class that does no more than to keep the arguments: made by a call of it.
  ExitNode exception(Value* value) {
    // Capture marks it `opened` as long as class(*items) would make its equal.
    if (!value->opened || !value->name.empty() || value->base || !value->overlay.empty())
      cannotLeave(value, "an exception");
    ExitNode node{.kind = ExitNode::Kind::kCall};
    node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = value->object}));
    for (Value* item : value->items) node.children.push_back(add(item));
    return node;
  }

  /// type(name, bases, namespace).
  ExitNode madeByCall(Value* cls) {
    if (!cls->overlay.empty())
      throw CaptureBreak(BreakReason::kUnsupportedWrite, "an attribute of a class", static_cast<int>(cls->position));
    ExitNode node{.kind = ExitNode::Kind::kCall};
    auto type = cpython::Ref::create(reinterpret_cast<PyObject*>(&PyType_Type));
    node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = std::move(type)}));
    for (Value* part : cls->items) node.children.push_back(add(part));
    return node;
  }

  /// partial(), the getters of `operator` and descriptors are made again by their own types.
  ExitNode callable(Value* value) {
    bool known =
        isMadeDescriptor(value) || value->name == "functools.partial" || value->name.rfind("operator.", 0) == 0;
    if (!known || value->items.empty()) cannotLeave(value, std::string("a ") + trace_.typeOf(value)->tp_name);
    ExitNode node{.kind = ExitNode::Kind::kCall};
    node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = value->cls}));
    for (Value* item : value->items) node.children.push_back(add(item));
    if (value->kwdefaults.empty()) return node;
    node.object = cpython::checked(PyTuple_New(static_cast<Py_ssize_t>(value->kwdefaults.size())));
    for (size_t i = 0; i < value->kwdefaults.size(); ++i) {
      PyTuple_SET_ITEM(node.object.get(), i, cpython::Ref(value->kwdefaults[i].first).release());
      node.children.push_back(add(value->kwdefaults[i].second));
    }
    return node;
  }

  /// A cell that holds what refers to it, as that of a recursive function does, is filled when both exist.
  ExitNode cell(Value* value) {
    absl::flat_hash_set<Value*> seen;
    bool cycle = refersTo(trace_, value->items[0], value, seen);
    if (cycle) filledLater_.push_back(value);
    return {.kind = ExitNode::Kind::kCell, .children = {cycle ? -1 : orNone(value->items[0])}};
  }

  ExitNode method(Value* value) {
    if (value->name.empty()) {
      bool python = value->items[0]->kind == ValueKind::kFunction || isConstantOf(value->items[0], &PyFunction_Type);
      if (!python) cannotLeave(value, "a method of this object");
      ExitNode node{.kind = ExitNode::Kind::kMethod};
      for (Value* item : value->items) node.children.push_back(add(item));
      return node;
    }
    Value* self = value->items.back();
    PyTypeObject* type = trace_.typeOf(self);
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !Locks::isLock(type)) cannotLeave(value, "a method of this object");
    cpython::Ref name = cpython::checked(PyUnicode_InternFromString(value->name.c_str()));
    ExitNode node{.kind = ExitNode::Kind::kAttribute, .object = std::move(name)};
    node.children = {add(self)};
    return node;
  }

  /// A generator that nobody has asked anything yet: the call of its function only makes it.
  ExitNode unstarted(Value* value, const GeneratorIterator& generator) {
    if (generator.started || !generator.frame || !generator.function) cannotLeave(value, "a generator");
    ExitNode node{.kind = ExitNode::Kind::kCall};
    node.children.push_back(add(generator.function));
    for (Value* arg : generator.args.positional) node.children.push_back(add(arg));
    const auto& keywords = generator.args.keywords;
    if (keywords.empty()) return node;
    node.object = cpython::checked(PyTuple_New(static_cast<Py_ssize_t>(keywords.size())));
    for (size_t i = 0; i < keywords.size(); ++i) {
      cpython::Ref name = cpython::checked(PyUnicode_InternFromString(keywords[i].first.c_str()));
      PyTuple_SET_ITEM(node.object.get(), static_cast<Py_ssize_t>(i), name.release());
      node.children.push_back(add(keywords[i].second));
    }
    return node;
  }

  /// Iterators are made again as they were at first, or as they are now (VirtualIterator::recipe).
  ExitNode iterator(Value* value) {
    if (auto* generator = dynamic_cast<GeneratorIterator*>(value->lazy.get())) return unstarted(value, *generator);
    if (value->lazy) {
      auto recipe = value->lazy->recipe(trace_);
      if (!recipe) cannotLeave(value, "an iterator");
      ExitNode node{.kind = ExitNode::Kind::kCall, .index = static_cast<int>(recipe->taken)};
      node.children = {addNode({.kind = ExitNode::Kind::kConstant, .object = cpython::Ref::create(recipe->callable)})};
      for (Value* arg : recipe->args) node.children.push_back(add(arg));
      return node;
    }
    if (!value->name.empty()) return dictView(value);
    Value* over = value->base;
    // Items are taken from it before effects change what it walks.
    bool changed = over && value->position > 0 && (over->written || value->position > over->items.size());
    if (!over || changed || (over->kind != ValueKind::kList && over->written)) cannotLeave(value, "an iterator");
    return {.kind = ExitNode::Kind::kIterator, .index = static_cast<int>(value->position), .children = {add(over)}};
  }

  ExitNode dictView(Value* value) {
    if (value->base->cls) cannotLeave(value, "a view of a dict");
    cpython::Ref name = cpython::checked(PyUnicode_InternFromString(value->name.c_str()));
    Value* method = trace_.make(ValueKind::kMethod);
    method->items = {nullptr, value->base};
    method->name = value->name;
    return {.kind = ExitNode::Kind::kCall, .children = {add(method)}};
  }

  ExitNode deque(Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kCall};
    auto type = cpython::Ref::create(reinterpret_cast<PyObject*>(cpython::dequeType()));
    node.children = {addNode({.kind = ExitNode::Kind::kConstant, .object = std::move(type)}),
                     addNode(container(ExitNode::Kind::kList, value))};
    if (value->position != SIZE_MAX) {
      cpython::Ref limit = cpython::checked(PyLong_FromSize_t(value->position));
      node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = std::move(limit)}));
    }
    return node;
  }

  /// An instance of a class derived from tuple or dict.
  ExitNode subclass(ExitNode::Kind kind, Value* value) { return subclass(container(kind, value), value); }

  ExitNode subclass(ExitNode held, Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kSubclass, .object = value->cls};
    node.children = {addNode(std::move(held))};
    auto attribute = [&](cpython::Ref name, Value* item) {
      node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = std::move(name)}));
      node.children.push_back(add(item));
    };
    if (value->base) attribute(cpython::checked(PyUnicode_InternFromString("default_factory")), value->base);
    for (auto& [name, item] : value->overlay) {
      if (item) attribute(name, item);
    }
    return node;
  }

  ExitNode instance(Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kInstance, .object = value->object};
    if (Value* cls = madeClass(trace_, value->object.get())) {
      node.object = cpython::Ref();
      node.children.push_back(add(cls));
    }
    for (auto& [name, item] : value->overlay) {
      if (!item) continue;
      node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = name}));
      node.children.push_back(add(item));
    }
    return node;
  }

  /// The order of a set comes from its history, which only adding in the same order repeats.
  ExitNode set(Value* value) {
    bool frozen = value->cls.get() == reinterpret_cast<PyObject*>(&PyFrozenSet_Type);
    ExitNode node{.kind = frozen ? ExitNode::Kind::kFrozenSet : ExitNode::Kind::kSet};
    for (Value* item : value->items) {
      if (!isHashedNatively(trace_, item)) cannotLeave(value, "a set of this order");
      if (value->opened) node.children.push_back(add(item));  // whose order is that of addresses
    }
    if (value->opened) return node;
    if (!isInOrderOfAdding(value)) cannotLeave(value, "a set of this order");
    for (Value* item : value->items) node.children.push_back(add(item));
    return node;
  }

  ExitNode container(ExitNode::Kind kind, Value* value) {
    ExitNode node{.kind = kind};
    for (size_t i = 0; i < value->items.size(); ++i) {
      if (kind == ExitNode::Kind::kDict) {
        if (!isHashedNatively(trace_, value->keys[i])) cannotLeave(value, "a dict with keys that their class hashes");
        node.children.push_back(add(value->keys[i]));
      }
      node.children.push_back(add(value->items[i]));
    }
    return node;
  }

  ExitNode longList(Value* value) {
    if (value->cls || !value->overlay.empty()) cannotLeave(value, "a queue of which array data decides how long it is");
    if (trace_.branches.isDoubled(value)) cannotLeave(value, "a list that may have one tuple several times");
    if (LongList{trace_, value}.isCounted()) cannotLeave(value, "a list of which array data decides how long it is");
    for (const auto& [list, array] : trace_.branches.held()) {
      if (list != value) continue;
      Value* as = leaving_.try_emplace(array, value).first->second;
      if (as != value) trace_.branches.refuse(value);
    }
    for (const Branches::HeldTuple& held : trace_.branches.tuples())
      if (held.list == value && leaving_.try_emplace(held.tuple, value).first->second != value) {
        if (value->name.empty()) cannotLeave(value, "two lists with one tuple");
        trace_.branches.refuse(value);
      }
    ExitNode node{.kind = ExitNode::Kind::kItems};
    node.children.push_back(addNode(describe(LongList{trace_, value}.length())));
    const absl::Span<Value* const> arrays = LongList{trace_, value}.arrays();
    if (value->joined && LongList{trace_, value}.isOutside()) cannotLeave(value, "a list in a list of the caller's");
    for (Value* array : arrays) checkIdentity(array);
    if (value->joined || isLongList(value->base)) requireAlone(LongList::ownerOf(arrays[0]), value);
    if (PooledList::isIn(value->base))
      for (Value* array : arrays) requireAlone(array, value);
    size_t part = 0;
    const LongList list{trace_, value};
    const bool isWorked = value->position == LongList::kWorked;  // most of its room has not been used
    const std::vector<Value*> own = isWorked ? list.entries(list.length()) : std::vector<Value*>();
    node.children.push_back(itemOf(value->base, isWorked ? absl::MakeConstSpan(own) : arrays, part));
    return node;
  }

  /// One that is in no list, or whose list does not leave.
  ExitNode pooledList(Value* value) {
    const PooledList list{trace_, value};
    if (list.isOutside()) cannotLeave(value, "a list in a list of the caller's");
    if (list.isItem()) requireAlone(value->items[PooledList::kLength], value);
    Value* copy = list.copy();
    return isLongList(copy) ? longList(copy) : container(ExitNode::Kind::kList, copy);
  }

  /// Either a list of lists leaves, or one of those.
  void requireAlone(Value* owner, Value* list) {
    if (listOf_.try_emplace(owner, list).first->second != list) cannotLeave(list, "a list of lists and one of those");
  }

  /// What it holds is put into a new one, in the same order, which is that of a dict, and makes that of a set.
  ExitNode workTable(Value* value) {
    const auto call = [&](PyTypeObject* type, std::vector<int> args) {
      ExitNode node{.kind = ExitNode::Kind::kCall};
      auto object = cpython::Ref::create(reinterpret_cast<PyObject*>(type));
      node.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = std::move(object)}));
      node.children.insert(node.children.end(), args.begin(), args.end());
      return node;
    };
    const int length = addNode(describe(trace_.open(value->items[0])));
    const auto items = [&](size_t part) {
      size_t array = 0;
      const LongList list{trace_, value->items[part]};
      const int item = itemOf(list.list->base, list.entries(value->items[0]), array);
      return addNode({.kind = ExitNode::Kind::kItems, .children = {length, item}});
    };
    if (value->opened) cannotLeave(value, "a set of this order");
    const int keys = items(WorkTable::kKeys);
    if (WorkTable::isSet(value)) return call(&PySet_Type, {keys});
    const int pairs = addNode(call(&PyZip_Type, {keys, items(WorkTable::kItems)}));
    ExitNode dict = call(&PyDict_Type, {pairs});
    return trace_.typeOf(value) == &PyDict_Type ? std::move(dict) : subclass(std::move(dict), value);
  }

  /// A list in a list, by its length and where its items begin among those of the pool.
  ExitNode poolItem(const Value* form, int length, int start) {
    ExitNode block{.kind = ExitNode::Kind::kBlock, .index = length, .which = start};
    if (!form->base) return block.children = {addNode({.kind = ExitNode::Kind::kTuple})}, block;  // they are empty
    const ListPool& pool = trace_.pools.bySite.at(form->site);
    if (trace_.branches.isDoubled(pool.items)) cannotLeave(pool.items, "a list that may have one tuple several times");
    const std::vector<Value*> own = PooledList::entries(trace_, pool);
    size_t part = 0;
    if (pool.record) block = {.kind = ExitNode::Kind::kRecord, .index = start};
    for (const Value* item : pool.record ? form->base->items : std::vector<Value*>{form->base})
      block.children.push_back(itemOf(item, own, part));
    return block;
  }

  /// Of an array that a list's items stand in, which may be a view of those of a list of lists.
  int numberOutput(const Value* array) { return output(array->base ? copyOf(array->node) : array->node); }

  int itemOf(const Value* form, absl::Span<Value* const> arrays, size_t& part) {
    if (form->kind == ValueKind::kTuple) {
      ExitNode node{.kind = ExitNode::Kind::kTuple};
      for (const Value* item : form->items) node.children.push_back(itemOf(item, arrays, part));
      return addNode(std::move(node));
    }
    if (isLongList(form)) {
      const int item = itemOf(form->base, arrays, part);
      return addNode({.kind = ExitNode::Kind::kRowList,
                      .index = plan_.nodes[static_cast<size_t>(item)].index,
                      .children = {item}});
    }
    const int index = numberOutput(arrays[part++]);
    if (PooledList::is(form)) {
      const int start = numberOutput(arrays[part]);
      part += 2;  // how many fit in is of no use to others
      return addNode(poolItem(form, index, start));
    }
    if (Choices::is(form)) return addNode(chosen(form, index));
    if (form->which)
      return addNode({.kind = ExitNode::Kind::kMixed, .index = index, .which = numberOutput(arrays[part++])});
    switch (form->kind) {
      case ValueKind::kArray: return addNode({.kind = ExitNode::Kind::kRow, .index = index});
      case ValueKind::kArrayScalar: return addNode({.kind = ExitNode::Kind::kArrayScalar, .index = index});
      case ValueKind::kPyFloat: return addNode({.kind = ExitNode::Kind::kPyFloat, .index = index});
      case ValueKind::kDataInt: return addNode({.kind = ExitNode::Kind::kDataInt, .index = index});
      case ValueKind::kPyBool: return addNode({.kind = ExitNode::Kind::kPyBool, .index = index});
      case ValueKind::kPyComplex: return addNode({.kind = ExitNode::Kind::kPyComplex, .index = index});
      default: FW_UNREACHABLE();
    }
  }

  ExitNode array(Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kArray, .writeable = !value->frozen};
    Value* root = value;
    while (root->base && !root->source.valid()) root = root->base;
    checkIdentity(root);
    if (root == value) {
      node.index = freshOutput(value);
      return node;
    }
    // A view: it must still be a view of what the root holds now.
    if (viewBase(value->node) != viewBase(root->node)) {
      trace_.fail(BreakReason::kUnsupportedWrite, "an array was written after a view of it was taken");
    }
    if (root->source.valid()) {
      node.baseObject = objectIndex(root->source);
    } else {
      ValueId before = root->node;
      node.baseNode = freshOutput(root);
      if (trace_.graph().outputs()[node.baseNode] != before) {
        trace_.fail(BreakReason::kUnsupportedNumpy,
                    "a view of an array that shares its computation with another result");
      }
    }
    node.index = appendOutput(value->node);
    return node;
  }

  /// Which array leaves must be known: an array may leave as one that may be another only if that does not leave, too.
  void checkIdentity(Value* root) {
    if (root->kind == ValueKind::kUnjoined || (root->joined && !Branches::isOwn(root))) trace_.branches.refuse(root);
    if (auto as = leaving_.find(root); as != leaving_.end() && as->second->kind == ValueKind::kLongList)
      trace_.branches.refuse(as->second);
    for (Value* owner : trace_.branches.owners(root)) {
      Value* as = leaving_.try_emplace(owner, root).first->second;
      if (as != root) trace_.branches.refuse(as->joined ? as : root);
    }
  }

  ValueId viewBase(ValueId id) const { return graph::viewBase(trace_.graph(), id); }

  /// Output that owns its memory, one per Value.
  int freshOutput(Value* value) {
    if (auto it = fresh_.find(value); it != fresh_.end()) return it->second;
    ValueId id = value->node;
    OpClass cls = graph::info(trace_.graph().node(id).op).cls;
    const bool borrowed = cls == OpClass::kView || trace_.graph().node(id).op == Op::kInput ||
                          (!value->returned && trace_.isReturned(id));  // which may be a view of what the library made
    if (borrowed) id = copyOf(id);
    while (taken_.contains(id)) id = copyOf(id);
    taken_[id] = true;
    return fresh_[value] = appendOutput(id);
  }

  ValueId copyOf(ValueId id) {
    graph::ValueType type = trace_.graph().type(id);
    type.layout = type.layout.packed();
    return trace_.graph().addTyped(Op::kCopy, {id}, type);
  }

  /// A scalar that was read from an array of the user's is a value of its own, whatever is written there afterwards. So
  /// is one that was read from what the call has made of such an array: passes may find that it is there already.
  ValueId scalar(ValueId id) {
    if (trace_.graph().commits().empty()) return id;
    return trace_.graph().node(memoryOf(id)).op == Op::kInput ? copyOf(id) : id;
  }

  /// First version of the memory that the value lives in, if it lives in any: below views and updates.
  ValueId memoryOf(ValueId id) {
    const graph::Graph& g = trace_.graph();
    for (size_t i = memory_.size(); i <= id.index; ++i) {
      const graph::Node& node = g.node(ValueId(i));
      const bool within = graph::info(node.op).cls == OpClass::kView || node.op == Op::kUpdate;
      memory_.push_back(within ? memory_[node.operands[0].index] : ValueId(i));
    }
    return memory_[id.index];
  }

  /// Scalars are immutable: equal nodes share an output.
  int output(ValueId id) {
    auto [it, added] = scalars_.try_emplace(id, 0);
    if (added) it->second = appendOutput(id);
    return it->second;
  }

  int appendOutput(ValueId id) {
    trace_.graph().outputs().push_back(id);
    return static_cast<int>(trace_.graph().outputs().size()) - 1;
  }

  int objectIndex(SourceId source) {
    auto& objects = trace_.guardSet().objects;
    for (; indexed_ < objects.size(); ++indexed_) objectAt_.try_emplace(objects[indexed_], static_cast<int>(indexed_));
    auto [it, added] = objectAt_.try_emplace(source, static_cast<int>(objects.size()));
    if (added) objects.push_back(source);
    return it->second;
  }

  Trace& trace_;
  ExitPlan plan_;
  absl::flat_hash_map<Value*, int> seen_, fresh_;
  absl::flat_hash_map<Value*, Value*> leaving_;  ///< arrays, by what they may be, and tuples
  absl::flat_hash_map<Value*, Value*> listOf_;   ///< arrays that lists in a list stand in, by the list that leaves
  absl::flat_hash_set<Value*> open_;             ///< being described
  std::vector<Value*> filledLater_;              ///< cells
  absl::flat_hash_map<ValueId, bool> taken_;
  absl::flat_hash_map<ValueId, int> scalars_;
  std::vector<ValueId> memory_;                  ///< of every value so far
  absl::flat_hash_map<SourceId, int> objectAt_;  ///< places in the guard set's list of objects
  size_t indexed_ = 0;                           ///< how many of them are in objectAt_
};

}  // namespace

ExitPlan buildExit(Trace& trace, const FrameEnd& end) { return ExitBuilder(trace).run(end); }

}  // namespace fw::capture
