// Where the arms of a branch meet again: what each Value is from there on.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "frame_eval/branch_state.h"
#include "frame_eval/trace.h"

namespace fw::capture {

/// Kind of number that a Value is at run time, kNull for what is none. Ints are symbols, not numbers of the graph.
ValueKind numberKind(const Value* value);
/// A float or a np.float64.
bool isFloat64(Trace& trace, const Value* value);
/// Values of one type, shape and layout.
bool areAlike(Trace& trace, graph::ValueId first, graph::ValueId second);
/// Both are constants of a type whose objects nobody tells apart, and equal.
bool areEqualConstants(const Value* first, const Value* second);

/// How an arm has left what it could change.
struct ArmEnd {
  std::vector<Value*> slots, stack;  ///< of the frame
  Value* result = nullptr;
  Value *goesOn = nullptr, *way = nullptr;
  std::vector<std::pair<Value*, Contents>> changed;
  std::vector<Handled> handled{};  ///< exceptions that are still being handled
  int leftTo = -1;                 ///< the instruction behind the loop that it has left
};

/// The trace is as it was at the branch when this is made. The arms stand in the order of the regions of a cond.
class Join {
 public:
  Join(Trace& trace, const BranchState& before, const ArmEnd& first, const ArmEnd& second);

  /// Null is an unbound variable. Values that cannot be told apart before the predicate is known become kUnjoined:
  /// whoever looks at one ends the trace in favour of a break at the branch.
  Value* merge(Value* first, Value* second, const std::string& what);
  /// Everything that the arms have left in what was there before. False if there is an object that exists outside which
  /// would hold something that nobody knows.
  bool mergeContents();
  /// Once, behind all merge(): adds the branch to the graph.
  void finish(graph::ValueId predicate, ArmNodes arms);

 private:
  using Pair = RegionGraph::Pair;
  Value* mergeNew(Value* first, Value* second, const std::string& what);
  Value* numbers(Value* first, Value* second, const std::string& what);
  Value* things(Value* first, Value* second, const std::string& what);
  Value* arrays(Value* first, Value* second, const std::string& what);
  Value* containers(Value* first, Value* second, const std::string& what);
  Value* pooledLists(Value* first, Value* second, const std::string& what);
  Value* unjoined(const Value* first, const Value* second, const std::string& why);
  bool mergeParts(Value* owner, graph::ValueId first, graph::ValueId second);
  void addPart(Value* owner, graph::ValueId update, Pair pair);
  bool mergeFilled(Value* list, const Contents& first, const Contents& second);
  bool mergeContainer(Value* value, const Contents& first, const Contents& second);
  const Contents& contentsOf(const Value* value, int arm) const;
  graph::ValueId nodeOf(Value* value, int arm) const;
  bool isFresh(const Value* array) const;
  bool pair(Value* first, Value* second);
  void addResult(Value* holder, const Pair& pair, bool rewritten);

  /// A part of an array that an arm has written: that of the update; what the part holds now is a result.
  struct Part {
    Value* owner;
    graph::ValueId update;
    size_t result;
  };

  Trace& trace_;
  const BranchState& before_;
  const ArmEnd* ends_[2];
  absl::flat_hash_map<const Value*, const Contents*> changed_[2];
  absl::flat_hash_map<std::pair<Value*, Value*>, Value*> known_;
  /// Of objects made in an arm, the one of the other arm; of arrays that are one of many, null.
  absl::flat_hash_map<Value*, Value*> partners_[2];
  std::vector<Pair> results_;
  std::vector<Value*> holders_;  ///< by result: whose node it will be; null for parts of arrays
  std::vector<bool> rewritten_;  ///< by result: the holder was there before
  std::vector<Part> parts_;      ///< in the order of the writes
  std::vector<Value*> retired_;  ///< from before, and one of several lists from here on
};

}  // namespace fw::capture
