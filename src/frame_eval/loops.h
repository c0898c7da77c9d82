// Loops whose turns are traced once: a `for` over what can be counted becomes one loop of the graph. What a turn hands
// to the next one - numbers, arrays, what arrays hold - is found out by tracing a turn and looking what it has changed.
// docs/loops.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "frame_eval/branch_state.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/region_graph.h"
#include "frame_eval/turns.h"

namespace fw::capture {

/// Where turns find something and leave it: a slot of the frame, or an item or attribute of what the trace has made.
struct CarriedPlace {
  Value* owner = nullptr;  ///< null: the frame
  size_t at = 0;           ///< slot, item (of a cell: 0), entry of the overlay
  bool attribute = false;
  friend bool operator==(const CarriedPlace&, const CarriedPlace&) = default;
};

/// What a place holds, as far as turns hand it on: a variable, those that a tuple consists of, or the arrays of a list
/// that is another one behind each turn.
struct CarriedParts {
  CarriedPlace place;
  size_t first;  ///< number of the first variable
  std::vector<int>
      shape;  ///< of tuples, outside first: numbers of items; -1 for a variable, -2 for a list, and those of its arrays
  std::vector<Value*> lists{};             ///< those, in front of the loop
  Value *end = nullptr, *after = nullptr;  ///< what the turn leaves, and what is there behind the loop
};

/// What a turn may read and writes.
struct CarriedVariable {
  using Kind = CarriedKind;
  Kind kind;
  size_t part;                        ///< number of its CarriedParts
  Value* begin;                       ///< in front of the loop
  size_t id = 0;                      ///< the same in all traces of the loop
  graph::SymId step{};                ///< kInt: by which it grows in a round
  graph::SymRange range = kTurnInts;  ///< kDataInt: where it is in all turns
  bool settled = false;               ///< that has been tried in vain
  std::vector<Value*> things{};       ///< kChosen: that turns choose from (choices.h)
  /// `begin` is any number of that kind and type: nothing is there.
  std::optional<std::pair<ValueKind, graph::DType>> zero{};
  graph::ValueId from{};                ///< kNumber, kDataInt, kChosen, kArray: the node of `begin`
  std::optional<graph::DType> mixes{};  ///< kNumber: of one of several classes, by that type (mixed_numbers.h)
  graph::SymRange classes{};            ///< of these: those of them
  graph::ValueId fromClass{}, classPlaceholder{};  ///< of these
  Value* given = nullptr;                          ///< what the body finds; null for kSame
  graph::ValueId placeholder{};                    ///< kNumber, kDataInt, kArray: its node
  Value* end = nullptr;                            ///< what it leaves
  Value* after = nullptr;                          ///< what it is behind the loop
  graph::ValueId answer{};  ///< kDataInt, kChosen, mixes: the node of that; kInt: the same where turns are not counted
};

/// What the place holds, made of what stands for its variables.
Value* assemble(Trace& trace, const CarriedParts& parts, absl::FunctionRef<Value*(size_t variable)> value);
Value*& valueAt(Frame& frame, const CarriedPlace& place);
/// An int of Python's that is a symbol, or known and of 64 bits.
bool isSymbolicInt(const Value* value);

/// An array that a turn writes into.
struct CarriedContent {
  Value* owner;
  graph::ValueId from{}, given{}, end{};
};

/// A loop, traced for any of its turns.
struct TracedLoop {
  size_t begin, end;                    ///< nodes of the body
  graph::SymId symbol;                  ///< counts the rounds: turns, or a few turns each
  std::optional<graph::SymId> rounds;   ///< how many, at most if `again`
  std::optional<graph::ValueId> again;  ///< whether there is another one
  bool certain = false;                 ///< there is at least one
  bool counted = false;                 ///< `rounds` says how many there are
  std::vector<CarriedParts> parts;
  std::vector<CarriedVariable> variables;
  std::vector<CarriedContent> contents;
  std::vector<std::pair<Value*, graph::SymId>> rooms;  ///< of lists that are counted (long_list.h), behind it
  std::vector<std::pair<size_t, Value*>> temporaries;  ///< slots that are only read behind the loop; what a turn leaves
  std::vector<Value*> forgotten;                       ///< arrays that are not known any more
  graph::ValueId way;                                  ///< by which edge it is left; invalid if there are none
};

/// What is known behind a loop by how it has been left.
struct LoopLeft {
  Value* way = nullptr;
  std::vector<std::pair<size_t, Value*>> slots;  ///< what those have if it has been left by an edge
};

/// Adds the loop to the graph and makes the frame and the arrays what they are behind it. The trace is as it was in
/// front of the loop.
LoopLeft endLoop(Trace& trace, Frame& frame, const BranchState& before, TracedLoop& loop, LoopDecisions::Key key);

class Rolling {
 public:
  /// `header`: the instruction of the frame that begins a turn.
  Rolling(Interpreter& interpreter, Frame& frame, size_t header);

  /// At the instruction that asks an iterator for an item, which stands on top of the stack. True if that has been
  /// done: the frame stands behind the loop, or somewhere in a turn that is traced by itself. False: the loop is
  /// unrolled, as far as it may be.
  bool takeFor(const Instr& instr);
  /// The same before the first instruction of a loop without an iterator.
  bool takeWhile();
  /// Whether a loop that array data decides about is to become one of the graph. Has the trace made again if nobody has
  /// thought of it.
  bool isWanted();
  /// The innermost loop around the instruction at hand is to become one of the graph, if there is one. Has the trace
  /// made again if nobody has thought of it.
  static void require(Interpreter& interpreter, Frame& frame);
  /// Behind a break at an instruction: has the trace made again without turns by themselves in which data decides, or
  /// with them if that has led no further.
  static void reconsiderFirstTurns(Interpreter& interpreter, int at);
  /// A trace that unrolls loops is too long: has it made again without.
  static void requireAll(Interpreter& interpreter);
  void noteUnrolled() const { in_.unrolled_.insert(key()); }
  bool isPlanned() const { return mayRoll() && trace_.loops->tooLong.contains(key()); }
  /// Why it is none; empty if nobody has tried.
  std::string whyNot() const;
  /// Who unrolls the loop has found out that it is too long. Has it traced again as a loop of the graph, or breaks.
  [[noreturn]] void tooLong(const std::string& why);

 private:
  using Kind = CarriedVariable::Kind;

  LoopDecisions::Key key() const;
  bool mayRoll() const;
  template <typename Roll>
  bool guarded(Roll roll);
  bool rollFor(const VirtualIterator::Items& items, graph::SymId count);
  bool rollWhile();
  bool isLate(graph::SymId count) const;
  void countBegun();
  void doubtCounters(bool alsoKnown);
  void findVariables();
  bool mayKeep(size_t slot) const;
  void runBody(Value* item);
  /// kOthers: leaves other kinds of things, and is forgotten; so is what leaves the loop, whatever data is.
  enum class Probed : uint8_t { kSame, kKept, kOthers, kLeaves };
  Probed probe(absl::FunctionRef<Value*()> item, bool mayKeep);
  bool findParts(const std::vector<Value*>& slots, const BranchState& before);
  bool recall();
  void remember();
  bool isNarrowed(size_t begin);
  std::string nameOf(const CarriedVariable& variable) const;
  bool addParts(const CarriedPlace& place, Value* begin, Value* end, const BranchState& before);
  bool split(CarriedParts& parts, Value* begin, Value* end, const BranchState& before);
  static size_t idOf(const CarriedPlace& place, size_t part);
  bool addVariable(CarriedParts& parts, Value* begin, Value* end, const BranchState& before);
  bool isAnother(Value* begin, Value* end, const BranchState& before) const;
  bool addThings(CarriedVariable& variable) const;
  bool mayHavePayload(Value* begin, Value* end, const BranchState& before) const;
  bool addPayload(const CarriedVariable& variable, const BranchState& before);
  bool addPayload(CarriedParts& parts, Value* begin, Value* end, const BranchState& before);
  bool classify(CarriedVariable& variable, const BranchState& before) const;
  /// What is found out about a turn: kMore was not known before; kOthers cannot be handed on.
  enum class Found : uint8_t { kNothing, kMore, kOthers };
  Found addHeld(Value* container, const Contents& now, const BranchState& before);
  // Lists that turns append to (long_list.h).
  struct Grown {
    Value* list;
    Value* form;
    Value* end;                          ///< how long it is behind a turn
    bool counts = false;                 ///< it is counted in turns
    std::optional<graph::SymId> room{};  ///< how many it gets room for
  };
  bool findRooms(const BranchState& before);
  void growLists(const BranchState& before), closeLists();
  std::optional<graph::SymId> mostInTurn(graph::SymId growth) const;
  void findEnds();
  int period() const;
  bool attempt(const VirtualIterator::Items* items, std::optional<graph::SymId> count);
  void giveValues(graph::SymId symbol);
  bool mayBeWritten(Value* joined) const;
  void goOnBehind(), exhaust(Value* iterator);
  bool holdsHandedOn(const BranchState& before);
  bool isClosed(BranchState& before, std::vector<Value*>& forgotten);
  Found addContents(BranchState& before, std::vector<Value*>* forgotten);
  [[noreturn]] void refuse(const std::string& why);

  Interpreter& in_;
  Trace& trace_;
  Frame& frame_;
  size_t header_;
  int line_ = 0;
  Value* iterator_ = nullptr;
  const Loop* loop_ = nullptr;
  std::vector<size_t> live_;         ///< slots that the body writes and a turn may read
  std::vector<size_t> temporaries_;  ///< slots that the body writes, and that may be read behind the loop only
  std::vector<CarriedParts> parts_;
  std::vector<CarriedVariable> variables_;
  std::vector<CarriedContent> contents_;
  std::vector<Grown> grown_;
  std::vector<Value*> unknown_;  ///< what turns leave in a state that is not known
  std::vector<std::pair<Value*, graph::SymId>> rooms_;
  std::optional<graph::SymId> symbol_, rounds_;  ///< of the turns being traced
  size_t held_ = 0;                              ///< how many arrays lists held in front of the turn
  std::vector<LoopEdge> edges_;                  ///< by which turns leave it, to go on differently (RollingBody)
  absl::flat_hash_set<size_t> data_;             ///< ids of ints that array data decides
  absl::flat_hash_set<size_t> mixed_;            ///< ids of numbers of one of several classes
  bool mayHaveNoTurn_ = false;
  bool decides_ = false;       ///< data does, about what happens in the turn that was looked at
  bool handsListsOn_ = false;  ///< lists are what stands in their arrays: they change places, and do not come back
  bool recalled_ = false;      ///< what it hands on has been found out before
  LoopLeft left_;
  bool endless_ = true;  ///< no turn leaves it from inside
  bool leaves_ = false;  ///< the turn that was traced last ends outside of the loop
  int exit_ = -1;        ///< where turns go that leave the loop from inside
  int period_ = 1;       ///< turns until arrays that change places are where they were: these are one round
};

}  // namespace fw::capture
