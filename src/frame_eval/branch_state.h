// What the traced code may change while an arm of a branch is traced, so that the other arm finds it as it was.
//
// Most of a trace only grows: guards, inputs, facts about objects outside, which hold for the whole call whichever arm
// has found them. The rest is here: the frame of the branch, what containers made by the trace hold, what arrays hold.
// Changes of other objects that exist outside are side effects. Those of what objects hold - attributes, items of lists
// and dicts, cells - are undone; no arm may have others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "frame_eval/contents.h"
#include "frame_eval/interpreter_state.h"

namespace fw::capture {

/// The state at one point of a trace, as far as code can change it.
class BranchState {
 public:
  BranchState(InterpreterState& state, Frame& frame);
  BranchState(const BranchState&) = delete;
  ~BranchState();

  /// Why the trace cannot go back from where it is now; nothing if it can.
  std::optional<std::string> irreversible() const;
  /// Arrays that exist outside have been written since then that the trace did not know then.
  bool writesNewArrays() const;
  /// Values that hold something else now than they did here, in the order of their making; with what they hold now.
  std::vector<std::pair<Value*, Contents>> changed();
  /// Everything as it was here.
  void restore();
  /// What has been written since then into arrays that exist outside will be done by who writes what they hold now.
  void dropWrites();

  /// Whether the Value was there.
  bool knows(const Value* value) const {
    const bool isPlain = value->kind == ValueKind::kTuple && !value->source.valid() && value->number <= made_;
    return isPlain || before_.contains(value);
  }
  const Contents& of(const Value* value) const {
    const auto known = before_.find(value);
    return known != before_.end() ? known->second : outside_.at(value);
  }
  /// The same; null for what has been nothing then that holds others.
  const Contents* find(const Value* value) const {
    const auto known = before_.find(value);
    return known != before_.end() ? &known->second : nullptr;
  }

 private:
  struct Saved {
    Value* value;
    std::unique_ptr<VirtualIterator> lazy;  ///< a copy, or null
    size_t views;
    std::vector<std::pair<Ref, Value*>> overlay;
    std::string name;
    int madeAt;
  };
  InterpreterState& state_;
  Frame& frame_;
  std::vector<Value*> slots_, stack_;
  Value *goesOn_, *way_;
  std::vector<Saved> saved_;
  absl::flat_hash_map<const Value*, Contents> before_;
  absl::flat_hash_map<const Value*, Contents> outside_;  ///< what objects held that have been found changed since
  size_t made_;                                          ///< Values that there were
  size_t effects_, undone_, writes_, locks_;
  std::vector<Handled> handled_;
  int inFlight_;
  graph::ErrorRules errors_;
  int64_t advanced_;  ///< of the last effect, which grows where it is another step of an iterator
};

}  // namespace fw::capture
