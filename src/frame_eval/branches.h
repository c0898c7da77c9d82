// Branches on array data that a trace has taken both ways.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "frame_eval/raising.h"
#include "frame_eval/region_graph.h"
#include "frame_eval/break_reason.h"
#include "frame_eval/value.h"

namespace fw::capture {

/// A Value was looked at of which is not known what it is behind a branch: the branch breaks, instead.
class UnjoinedUse : public CaptureBreak {
 public:
  UnjoinedUse(std::string detail, int at, unsigned branch)
      : CaptureBreak(BreakReason::kDataDependentBranch, std::move(detail), at),
        branch(branch) {}
  unsigned branch;  ///< number of the branch, in the order of their ends
};

class Branches {
 public:
  explicit Branches(Trace& trace);

  RegionGraph graph;
  unsigned ended = 0;  ///< joined so far
  struct Site {
    const void* code;  ///< Bytecode::identity()
    int at, join;      ///< instructions
  };
  std::vector<Site> sites;        ///< of those, by number
  unsigned begun = 0, depth = 0;  ///< nesting of those being traced
  /// What has been found out about a key of a dict or set (work_table.h), by what it depends on.
  struct FoundKey {
    graph::ValueId index, length;
    std::vector<graph::ValueId> leaves;
    Value *entry = nullptr, *place = nullptr;  ///< the entry, or any number below the room; its place in the index, or
                                               ///< one that is free
    graph::ValueId isThere = {};               ///< bool
    bool isEmpty = false;                      ///< nothing is there, for certain
  };
  std::vector<FoundKey> foundKeys;
  Raising* raising = nullptr;  ///< innermost; null: nobody handles what is raised
  struct {
    const void* frame = nullptr;
    int at = 0;
    std::vector<RaisingCheck> known{};
  } assumed;                       ///< Raising::known of the instruction that is traced next, if it is that one
  std::vector<Value*> things;      ///< that data has chosen from, by number (choices.h)
  std::optional<int64_t> payload;  ///< number of those that are another one in each choice
  bool mayReturnTwice = false;     ///< what comes behind a branch may be traced on both sides
  unsigned returning = 0;          ///< branches of which it was

  /// Whether what is raised where the bool is false is no concern here: it is known to be true, or handled elsewhere.
  bool handles(graph::ValueId holds, PyObject* type);
  /// What was traced from node `begin` on, in front of which that many branches had begun, is not wanted.
  void drop(size_t begin, unsigned branches);
  /// The Value ceases to be known, because of the branch at hand.
  void forget(Value* value, const std::string& why);
  /// What the arms go on with as `value`, an array whose memory is that of the one or of the other.
  void noteJoined(Value* value, Value* first, Value* second);
  /// Behind a branch or a loop, the array is that Value: what may be the one may be the other.
  void noteSuccessor(Value* successor, const Value* array);
  /// A number about which the branch at hand decides: who needs to know more of it has the branch break.
  void noteNumber(Value* value, const std::string& why);
  /// A list holds the array from now on, as it is now: who writes it has the list forgotten.
  void hold(Value* list, Value* array) { held_.push_back({list, array}); }
  /// A tuple that stands for an item of a list: the list's own is another object.
  struct HeldTuple {
    Value *list, *tuple;
    size_t at;  ///< nodes that there were
  };
  void holdTuple(Value* list, Value* tuple);
  bool isHeld(const Value* tuple) const {
    return std::any_of(tuples_.begin(), tuples_.end(), [&](const HeldTuple& held) { return held.tuple == tuple; });
  }
  /// The list is filled anew.
  void releaseAllOf(const Value* list) {
    std::erase_if(tuples_, [&](const auto& held) { return held.list == list; });
  }
  /// It has been taken out of the list that held it.
  void release(const Value* tuple);
  const std::vector<HeldTuple>& tuples() const { return tuples_; }
  void setTuples(std::vector<HeldTuple> tuples) { tuples_ = std::move(tuples); }
  /// The list gets a tuple that a list has or had: it cannot leave, as one object would be several.
  void noteDoubled(const Value* list) { doubled_.insert(keyOf(list)); }
  bool isDoubled(const Value* list) const { return doubled_.contains(keyOf(list)); }
  void forgetDoubled(const Value* list) { doubled_.erase(keyOf(list)); }  ///< each stands there once again
  /// An array that a list holds, nobody knows which.
  void noteItem(Value* array, const Value* list);
  /// What lists hold, by list and array; in the order of the holding.
  const std::vector<std::pair<Value*, Value*>>& held() const { return held_; }
  /// The arrays that a joined one may be; an array that is not joined is itself.
  std::vector<Value*> owners(Value* array) const;
  /// `array`, which owns memory, is about to be written: what may be the same array is not known any more. Breaks if it
  /// is joined and may exist outside.
  void write(Value* array);
  /// Breaks at the branch behind which the Value is not known or, if joined, not known well enough; here if it is a
  /// number of one of several classes.
  [[noreturn]] void refuse(const Value* value);
  /// Whether a joined array can be no array but those that the trace has made, none of them as a view.
  static bool isOwn(const Value* joined) { return joined->opened; }

 private:
  struct JoinedArray {
    Value* value;
    std::vector<Value*> owners;
  };
  /// By where it is made: turns hand it on as other Values.
  static std::pair<const void*, size_t> keyOf(const Value* list) {
    return list->site.first ? list->site : std::pair<const void*, size_t>(list, 0);
  }
  void forgetAs(const Value* joined, Value* array);
  void forgetHolders(const std::vector<Value*>& written);

  Trace& trace_;
  std::vector<JoinedArray> joined_;
  std::vector<std::pair<Value*, Value*>> held_;
  std::vector<HeldTuple> tuples_;
  absl::flat_hash_set<std::pair<const void*, size_t>> doubled_;  ///< lists, by keyOf()
};

}  // namespace fw::capture
