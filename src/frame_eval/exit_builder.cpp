// The exit plan. Every distinct array Value becomes an output of its own, even where hash-consing gave two of them one
// node: NumPy would have made two arrays. A value that came from outside leaves as that very object.
#include "frame_eval/exit_builder.h"

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

  ExitPlan run(Value* result) {
    add(result);
    return std::move(plan_);
  }

 private:
  int add(Value* value) {
    int at = static_cast<int>(plan_.nodes.size());
    if (auto it = seen_.find(value); it != seen_.end()) {
      plan_.nodes.push_back({.kind = ExitNode::Kind::kShared, .index = it->second});
      return at;
    }
    seen_[value] = at;
    plan_.nodes.push_back({.kind = ExitNode::Kind::kConstant});
    ExitNode node = describe(value);
    plan_.nodes[at] = std::move(node);
    return at;
  }

  ExitNode describe(Value* value) {
    using Kind = ExitNode::Kind;
    // Also constants: an equal str of another call is another object.
    if (value->source.valid()) return {.kind = Kind::kObject, .index = objectIndex(value->source)};
    if (value->isConstant()) return {.kind = Kind::kConstant, .object = value->object};
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
      case ValueKind::kFunction: trace_.fail(BreakReason::kUnsupportedObject, "a function made here is returned");
      case ValueKind::kMethod: trace_.fail(BreakReason::kUnsupportedObject, "a bound method is returned");
      case ValueKind::kIterator: trace_.fail(BreakReason::kUnsupportedObject, "an iterator is returned");
      case ValueKind::kConstant:
      case ValueKind::kNull:
      case ValueKind::kCell:
      case ValueKind::kObject:
        break;
    }
    FW_UNREACHABLE();
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
    for (size_t i = 0; i < objects.size(); ++i) {
      if (objects[i] == source) return static_cast<int>(i);
    }
    objects.push_back(source);
    return static_cast<int>(objects.size()) - 1;
  }

  Trace& trace_;
  ExitPlan plan_;
  absl::flat_hash_map<Value*, int> seen_, fresh_;
  absl::flat_hash_map<ValueId, bool> taken_;
  absl::flat_hash_map<ValueId, int> scalars_;
};

}  // namespace

ExitPlan buildExit(Trace& trace, Value* result) { return ExitBuilder(trace).run(result); }

}  // namespace fw::capture
