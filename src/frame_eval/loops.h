// Loops whose turns are traced once: a `for` over what can be counted becomes one loop of the graph. What a turn hands
// to the next one - numbers, arrays, what arrays hold - is found out by tracing a turn and looking what it has changed.
// docs/loops.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "frame_eval/branch_state.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/region_graph.h"
#include "frame_eval/turns.h"

namespace fw::capture {

/// A variable that a turn may read and writes.
struct CarriedVariable {
  using Kind = CarriedKind;
  Kind kind;
  size_t slot;
  Value* begin;                         ///< in front of the loop
  int item = -1, items = 0;             ///< of a tuple that the slot holds: which, of how many
  graph::SymId step{};                  ///< kInt: by which it grows in a round
  graph::ValueId from{};                ///< kNumber, kDataInt, kArray: the node of `begin`
  std::optional<graph::DType> mixes{};  ///< kNumber: of one of several classes, by that type (mixed_numbers.h)
  MixedNumbers::Class least{};          ///< of these: the least class
  graph::ValueId fromClass{}, classPlaceholder{};  ///< of these
  Value* given = nullptr;                          ///< what the body finds; null for kSame
  graph::ValueId placeholder{};                    ///< kNumber, kDataInt, kArray: its node
  Value* end = nullptr;                            ///< what it leaves
  graph::ValueId answer{};  ///< kDataInt, mixes: the node of that; kInt: the same where turns are not counted

  static size_t idOf(size_t slot, int item) { return slot | static_cast<size_t>(item + 1) << 32; }
  size_t id() const { return idOf(slot, item); }
};

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
  std::vector<CarriedVariable> variables;
  std::vector<CarriedContent> contents;
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
  void findVariables();
  bool mayKeep(size_t slot) const;
  void runBody(Value* item);
  /// kOthers: leaves other kinds of things, and is forgotten; so is what leaves the loop, whatever data is.
  enum class Probed : uint8_t { kSame, kKept, kOthers, kLeaves };
  Probed probe(absl::FunctionRef<Value*()> item, bool mayKeep);
  bool recall();
  void remember();
  std::optional<CarriedVariable> classify(size_t slot, Value* begin, Value* end, const BranchState& before,
                                          int item = -1) const;
  bool classifyAll(size_t slot, Value* begin, const BranchState& before, std::vector<Value*>& ends);
  std::optional<std::vector<Value*>> itemsOf(const Value* tuple) const;
  Value* endOf(const CarriedVariable& variable) const;
  void giveTuples();
  int periodOf(const std::vector<Value*>& ends) const;
  bool attempt(const VirtualIterator::Items* items, std::optional<graph::SymId> count);
  void giveValues(graph::SymId symbol);
  bool mayBeWritten(Value* joined) const;
  void goOnBehind(), exhaust(Value* iterator);
  bool isClosed(const BranchState& before, std::vector<Value*>& forgotten);
  bool addContents(const BranchState& before, std::vector<Value*>* forgotten);
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
  std::vector<CarriedVariable> variables_;
  std::vector<CarriedContent> contents_;
  std::vector<LoopEdge> edges_;        ///< by which turns leave it, to go on differently (RollingBody)
  absl::flat_hash_set<size_t> data_;   ///< ids of ints that array data decides
  absl::flat_hash_set<size_t> mixed_;  ///< ids of numbers of one of several classes
  bool mayHaveNoTurn_ = false;
  bool recalled_ = false;  ///< what it hands on has been found out before
  LoopLeft left_;
  bool endless_ = true;  ///< no turn leaves it from inside
  bool leaves_ = false;  ///< the turn that was traced last ends outside of the loop
  int exit_ = -1;        ///< where turns go that leave the loop from inside
  int period_ = 1;       ///< turns until arrays that change places are where they were: these are one round
};

}  // namespace fw::capture
