// The exit plan: result, side effects, slots of the frame. Every distinct array Value becomes an output of its own, even where
// hash-consing gave two of them one node: NumPy would have made two arrays. A value that came from outside leaves as that very
// object. What cannot be made again outside is a break at the instruction that made it.
#include "frame_eval/exit_builder.h"

#include "frame_eval/interpret_common.h"
#include "graph/op.h"
#include "graph/support/check.h"
#include "graph/views.h"

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
    out.target = add(effect.target);
    if (effect.key) out.key = add(effect.key);
    if (effect.value) out.value = add(effect.value);
    if (effect.kind == Effect::Kind::kListSlice) {
      ExitNode list{.kind = ExitNode::Kind::kList};
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
    if (value->isConstant()) return {.kind = Kind::kConstant, .object = value->object};
    if (value->cls && value->kind != ValueKind::kSet) {
      cannotLeave(value, std::string("a ") + trace_.typeOf(value)->tp_name + " made here");
    }
    switch (value->kind) {
      case ValueKind::kArray: return array(value);
      case ValueKind::kArrayScalar: return {.kind = Kind::kArrayScalar, .index = output(scalar(value->node))};
      case ValueKind::kPyFloat: return {.kind = Kind::kPyFloat, .index = output(scalar(value->node))};
      case ValueKind::kPyBool: return {.kind = Kind::kPyBool, .index = output(scalar(value->node))};
      case ValueKind::kPyComplex: return {.kind = Kind::kPyComplex, .index = output(scalar(value->node))};
      case ValueKind::kPyInt: return {.kind = Kind::kPyInt, .sym = trace_.syms().canonical(value->sym)};
      case ValueKind::kTuple: return container(Kind::kTuple, value);
      case ValueKind::kList: return container(Kind::kList, value);
      case ValueKind::kDict: return container(Kind::kDict, value);
      case ValueKind::kSlice: return container(Kind::kSlice, value);
      case ValueKind::kFunction: return function(value);
      case ValueKind::kMethod: return method(value);
      case ValueKind::kIterator: return iterator(value);
      case ValueKind::kCell: {
        ExitNode node{.kind = Kind::kCell};
        node.children = {orNone(value->items[0])};
        return node;
      }
      case ValueKind::kInstance: return instance(value);
      case ValueKind::kSet: return set(value);
      case ValueKind::kException: cannotLeave(value, "an exception");
      case ValueKind::kOpaque: cannotLeave(value, std::string("a ") + trace_.typeOf(value)->tp_name);
      case ValueKind::kSuper: cannotLeave(value, "super()");
      case ValueKind::kConstant:
      case ValueKind::kNull:
      case ValueKind::kObject:
      case ValueKind::kUnread:
        break;
    }
    FW_UNREACHABLE();
  }

  /// Parts: globals, qualname, defaults, kwdefaults, closure.
  ExitNode function(Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kFunction, .object = value->code};
    int globals = value->globals ? addNode({.kind = ExitNode::Kind::kObject, .index = objectIndex(globalsOf(value))}) : -1;
    int qualname = addNode({.kind = ExitNode::Kind::kConstant, .object = value->qualname});
    int defaults = value->defaults.empty() ? -1 : sequence(value->defaults);
    int kwdefaults = -1;
    if (!value->kwdefaults.empty()) {
      ExitNode dict{.kind = ExitNode::Kind::kDict};
      for (auto& [name, item] : value->kwdefaults) {
        dict.children.push_back(addNode({.kind = ExitNode::Kind::kConstant, .object = name}));
        dict.children.push_back(add(item));
      }
      kwdefaults = addNode(std::move(dict));
    }
    int closure = value->closure.empty() ? -1 : sequence(value->closure);
    node.children = {globals, qualname, defaults, kwdefaults, closure};
    if (value->annotated) cannotLeave(value, "a function with annotations made here");
    return node;
  }

  SourceId globalsOf(Value* function) {
    return trace_.sources().intern(guards::SourceKind::kGlobals, function->globalsOf);
  }

  int sequence(const std::vector<Value*>& items) {
    ExitNode tuple{.kind = ExitNode::Kind::kTuple};
    for (Value* item : items) tuple.children.push_back(add(item));
    return addNode(std::move(tuple));
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
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) cannotLeave(value, "a method of this object");
    cpython::Ref name = cpython::checked(PyUnicode_InternFromString(value->name.c_str()));
    ExitNode node{.kind = ExitNode::Kind::kAttribute, .object = std::move(name)};
    node.children = {add(self)};
    return node;
  }

  ExitNode iterator(Value* value) {
    bool fresh = !value->lazy && value->name.empty() && value->position == 0 && value->base &&
                 (value->base->kind == ValueKind::kList || !value->base->written);
    if (!fresh) cannotLeave(value, value->name.empty() ? "an iterator" : "a view of a dict");
    ExitNode node{.kind = ExitNode::Kind::kIterator};
    node.children = {add(value->base)};
    return node;
  }

  ExitNode instance(Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kInstance, .object = value->object};
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
    cpython::Ref rebuilt = cpython::checked(PySet_New(nullptr));
    for (Value* item : value->items) cpython::checked(PySet_Add(rebuilt.get(), item->object.get()));
    cpython::Ref was = cpython::checked(PySequence_List(value->object.get()));
    cpython::Ref is = cpython::checked(PySequence_List(rebuilt.get()));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(was.get()); ++i) {
      if (PyList_GET_ITEM(was.get(), i) != PyList_GET_ITEM(is.get(), i)) cannotLeave(value, "a set of this order");
    }
    for (Value* item : value->items) node.children.push_back(add(item));
    return node;
  }

  ExitNode container(ExitNode::Kind kind, Value* value) {
    ExitNode node{.kind = kind};
    for (size_t i = 0; i < value->items.size(); ++i) {
      if (kind == ExitNode::Kind::kDict) node.children.push_back(add(value->keys[i]));
      node.children.push_back(add(value->items[i]));
    }
    return node;
  }

  ExitNode array(Value* value) {
    ExitNode node{.kind = ExitNode::Kind::kArray, .writeable = value->writeable};
    Value* root = value;
    while (root->base && !root->source.valid()) root = root->base;
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
        trace_.fail(BreakReason::kUnsupportedNumpy, "a view of an array that shares its computation with another result");
      }
    }
    node.index = appendOutput(value->node);
    return node;
  }

  ValueId viewBase(ValueId id) const { return graph::viewBase(trace_.graph(), id); }

  /// Output that owns its memory, one per Value.
  int freshOutput(Value* value) {
    if (auto it = fresh_.find(value); it != fresh_.end()) return it->second;
    ValueId id = value->node;
    OpClass cls = graph::info(trace_.graph().node(id).op).cls;
    bool borrowed = cls == OpClass::kView || trace_.graph().node(id).op == Op::kInput;
    if (borrowed) id = copyOf(id);
    while (taken_.contains(id)) id = copyOf(id);
    taken_[id] = true;
    return fresh_[value] = appendOutput(id);
  }

  ValueId copyOf(ValueId id) {
    graph::ValueType type = trace_.graph().type(id);
    type.layout.contiguity = graph::Contiguity::kPacked;
    type.layout.broadcastAxes = type.layout.negativeAxes = 0;
    return trace_.graph().addTyped(Op::kCopy, {id}, type);
  }

  ValueId scalar(ValueId id) const { return id; }

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
  absl::flat_hash_set<Value*> open_;                    ///< being described
  absl::flat_hash_map<ValueId, bool> taken_;
  absl::flat_hash_map<ValueId, int> scalars_;
  absl::flat_hash_map<SourceId, int> objectAt_;         ///< places in the guard set's list of objects
  size_t indexed_ = 0;                                  ///< how many of them are in objectAt_
};

}  // namespace

ExitPlan buildExit(Trace& trace, const FrameEnd& end) { return ExitBuilder(trace).run(end); }

}  // namespace fw::capture
