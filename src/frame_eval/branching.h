// Decisions on array data: both ways are traced, and meet again where all paths do.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "frame_eval/branch_join.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

struct Branching {
  Interpreter& interpreter;
  Trace& trace;
  std::string loopRefused{};   ///< why the loop that the branch decides about is none of the graph
  PyObject* raised = nullptr;  ///< what an arm has raised that a frame around it handles

  /// The truth of a value that is array data, as a bool of the graph; none if the truth is known, can be guarded, or is
  /// an error.
  std::optional<graph::ValueId> condition(Value* value);
  /// What a decision tells about a value that one of several things may be: in each arm it is less.
  struct Told {
    Value* of;
    std::array<Value*, 2> as;  ///< where the predicate is true, and where it is false
  };
  /// At a jump of the frame being executed that is taken where the predicate is `jumpsIf`. Goes on where the arms have
  /// joined. Breaks at the jump if one of them cannot be traced.
  void take(const Instr& instr, graph::ValueId predicate, bool jumpsIf, const std::optional<Told>& told = {});
  /// Where the trace may go on behind a loop.
  struct Way {
    int number, pc;
    std::function<void()> enter;  ///< makes the frame what it is there
  };
  /// Behind a loop that is left by several ways: goes on with the one that `number` says, a DataInt; the last one is
  /// where it is none of those before.
  void choose(Value* number, absl::Span<const Way> ways);

  // ---- exceptions that the frame handles (raising.cpp)
  /// Of the instruction that the frame has begun.
  std::optional<Raising> raisingAt(Frame& frame) const;
  /// Whether the handler of what has been raised in an arm of the frame leads to where the arm ends, anywhere if
  /// `leaves`; breaks if it does not.
  void checkUnwinds(const Frame& frame, int end, bool leaves, Value* exception) const;
  /// At the instruction, which takes that stack, and has been found to raise where data says so.
  void fork(Frame& frame, size_t pc, const std::vector<Value*>& stack, const DataRaise& raise);

  // ---- what nobody knows behind a branch, or of a choice, is known in its arms (late_joins.cpp)
  /// At an instruction that has been found not to know what to do with one thing or another (choices.h): it, and what
  /// follows in its statement, is traced for each of them. False if it takes none.
  bool split(Frame& frame);
  /// Of what the instruction of the frame has broken for: a branch that ends behind its statement.
  std::optional<Remedy> remedyFor(const Frame& frame, const CaptureBreak& unknown) const;

 private:
  struct Place;
  struct BothArms;
  struct WritesNewArrays;
  void takeBoth(const BothArms& both);
  bool tryBoth(const BothArms& both, bool last);
  void leaveNothing(const Place& place, std::optional<ArmEnd>& first, std::optional<ArmEnd>& second);
  int joinOf(const Frame& frame, int branch);
  int joinOfBoth(const Frame& frame, int first, int second) const;
  bool hasStop(const Frame& frame, int from, int to) const;
  bool splitAt(Frame& frame, int at, size_t operand);
  void findLeaves(Place& place);
  void enter(const Place& place), rollAround();
  std::optional<ArmEnd> run(const Place& place, BranchState& before, const std::function<void()>& begin);
  void leaveLoop(const Place& place);
  void bindUnread(const Place& place, ArmEnd& arm, const ArmEnd& other);
  void join(const BothArms& both, BranchState& before, ArmEnd& first, ArmEnd& second, ArmNodes arms);
  void backTo(const Place& place);
  [[noreturn]] void refuse(const Place& place, const std::string& why, const std::optional<Remedy>& remedy = {});
};

}  // namespace fw::capture
