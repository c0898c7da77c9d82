// Two parts: which traces to run (Survey), and how one of them passes an instruction that cannot be executed
// symbolically (Interpreter::passUnknown). Only the outermost frame knows unknown values: a call that gets one is not
// followed.
#include "frame_eval/survey.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "frame_eval/builtins.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/policy.h"

namespace fw::capture {

using cpython::Opcode;

namespace {

constexpr int kMaxRuns = 200;
constexpr size_t kMaxLooks = 200;  ///< values that one look for unknown ones visits
constexpr const char* kUnknownName = "fusewire.unknown";

/// Entries of the stack that an instruction takes and leaves.
struct StackEffect {
  int pops, pushes;
};

constexpr int kEnd = -1;
/// `counted` entries more are taken per unit of the argument. kEnd: a survey does not go on behind it.
struct StackEffectRow {
  Opcode op;
  int pops, pushes, counted = 0;
};
constexpr StackEffectRow kEffects[] = {{Opcode::kNop, 0, 0},
                                       {Opcode::kResume, 0, 0},
                                       {Opcode::kMakeCell, 0, 0},
                                       {Opcode::kCopyFreeVars, 0, 0},
                                       {Opcode::kPopTop, 1, 0},
                                       {Opcode::kPushNull, 0, 1},
                                       {Opcode::kCopy, 0, 0},
                                       {Opcode::kSwap, 0, 0},
                                       {Opcode::kLoadConst, 0, 1},
                                       {Opcode::kLoadFast, 0, 1},
                                       {Opcode::kLoadFastAndClear, 0, 1},
                                       {Opcode::kLoadDeref, 0, 1},
                                       {Opcode::kLoadGlobal, 0, 1},
                                       {Opcode::kLoadAssertionError, 0, 1},
                                       {Opcode::kStoreFast, 1, 0},
                                       {Opcode::kStoreDeref, 1, 0},
                                       {Opcode::kStoreGlobal, 1, 0},
                                       {Opcode::kDeleteFast, 0, 0},
                                       {Opcode::kDeleteDeref, 0, 0},
                                       {Opcode::kDeleteGlobal, 0, 0},
                                       {Opcode::kLoadAttr, 1, 1},
                                       {Opcode::kLoadMethod, 1, 2},
                                       {Opcode::kLoadSuperAttr, 3, 1},
                                       {Opcode::kStoreAttr, 2, 0},
                                       {Opcode::kDeleteAttr, 1, 0},
                                       {Opcode::kUnaryNegative, 1, 1},
                                       {Opcode::kUnaryPositive, 1, 1},
                                       {Opcode::kUnaryInvert, 1, 1},
                                       {Opcode::kUnaryNot, 1, 1},
                                       {Opcode::kToBool, 1, 1},
                                       {Opcode::kBinaryOp, 2, 1},
                                       {Opcode::kCompareOp, 2, 1},
                                       {Opcode::kIsOp, 2, 1},
                                       {Opcode::kContainsOp, 2, 1},
                                       {Opcode::kBinarySubscr, 2, 1},
                                       {Opcode::kStoreSubscr, 3, 0},
                                       {Opcode::kDeleteSubscr, 2, 0},
                                       {Opcode::kBuildTuple, 0, 1, 1},
                                       {Opcode::kBuildList, 0, 1, 1},
                                       {Opcode::kBuildSet, 0, 1, 1},
                                       {Opcode::kBuildMap, 0, 1, 2},
                                       {Opcode::kBuildConstKeyMap, 1, 1, 1},
                                       {Opcode::kBuildSlice, 0, 1, 1},
                                       {Opcode::kBuildString, 0, 1, 1},
                                       {Opcode::kListAppend, 1, 0},
                                       {Opcode::kListExtend, 1, 0},
                                       {Opcode::kListToTuple, 1, 1},
                                       {Opcode::kSetAdd, 1, 0},
                                       {Opcode::kSetUpdate, 1, 0},
                                       {Opcode::kMapAdd, 2, 0},
                                       {Opcode::kDictMerge, 1, 0},
                                       {Opcode::kDictUpdate, 1, 0},
                                       {Opcode::kUnpackSequence, 1, 0},
                                       {Opcode::kUnpackEx, 1, 1},
                                       {Opcode::kConvertValue, 1, 1},
                                       {Opcode::kFormatSimple, 1, 1},
                                       {Opcode::kFormatWithSpec, 2, 1},
                                       {Opcode::kJump, 0, 0},
                                       {Opcode::kPopJumpIfFalse, 1, 0},
                                       {Opcode::kPopJumpIfTrue, 1, 0},
                                       {Opcode::kPopJumpIfNone, 1, 0},
                                       {Opcode::kPopJumpIfNotNone, 1, 0},
                                       {Opcode::kGetIter, 1, 1},
                                       {Opcode::kForIter, 1, 2},
                                       {Opcode::kEndFor, kEnd, 0},
                                       {Opcode::kCall, 2, 1, 1},
                                       {Opcode::kCallKw, 3, 1, 1},
                                       {Opcode::kCallEx, 3, 1},
                                       {Opcode::kMakeFunction, 1, 1},
                                       {Opcode::kSetFunctionAttribute, 2, 1},
                                       {Opcode::kReturnValue, 1, 0},
                                       {Opcode::kReturnGenerator, kEnd, 0},
                                       {Opcode::kRaiseVarargs, kEnd, 0},
                                       {Opcode::kImportName, 2, 1},
                                       {Opcode::kImportFrom, 1, 2},
                                       {Opcode::kBeforeWith, 1, 2},
                                       {Opcode::kPushExcInfo, kEnd, 0},
                                       {Opcode::kPopExcept, kEnd, 0},
                                       {Opcode::kCheckExcMatch, 1, 1},
                                       {Opcode::kWithExceptStart, kEnd, 0},
                                       {Opcode::kReraise, kEnd, 0},
                                       {Opcode::kGetLen, 1, 2},
                                       {Opcode::kMatchSequence, 1, 2},
                                       {Opcode::kMatchMapping, 1, 2},
                                       {Opcode::kMatchKeys, 2, 3},
                                       {Opcode::kMatchClass, 3, 1},
                                       {Opcode::kYieldValue, 1, 1},
                                       {Opcode::kGetYieldFromIter, 1, 1},
                                       {Opcode::kSend, kEnd, 0},
                                       {Opcode::kEndSend, kEnd, 0},
                                       {Opcode::kCleanupThrow, kEnd, 0},
                                       {Opcode::kStopIterationError, 1, 1},
                                       {Opcode::kLoadBuildClass, 0, 1},
                                       {Opcode::kLoadName, 0, 1},
                                       {Opcode::kStoreName, 1, 0},
                                       {Opcode::kDeleteName, 0, 0},
                                       {Opcode::kLoadLocals, 0, 1},
                                       {Opcode::kLoadClassDeref, 0, 1},
                                       {Opcode::kLoadFromDictOrDeref, 1, 1},
                                       {Opcode::kLoadFromDictOrGlobals, 1, 1},
                                       {Opcode::kSetupAnnotations, 0, 0},
                                       {Opcode::kCheckEgMatch, kEnd, 0},
                                       {Opcode::kPrepReraiseStar, kEnd, 0},
                                       {Opcode::kUnsupported, kEnd, 0}};

constexpr const StackEffectRow* rowOf(Opcode op) {
  for (const StackEffectRow& row : kEffects)
    if (row.op == op) return &row;
  return nullptr;
}
#define FW_OPCODE(Id, text, arg) static_assert(rowOf(Opcode::k##Id));
#include "cpython/neutral_ops.def"

StackEffect effectOf(const Instr& instr) {
  const StackEffectRow& row = *rowOf(instr.op);
  StackEffect effect{row.pops + row.counted * instr.arg, row.pushes};
  if (instr.op == Opcode::kCallEx) effect.pops += instr.arg & 1;
  if (instr.op == Opcode::kMakeFunction) effect.pops += std::popcount(static_cast<unsigned>(instr.arg));
  if (instr.op == Opcode::kLoadSuperAttr) effect.pushes += instr.flags & 1;
  if (instr.op == Opcode::kUnpackSequence) effect.pushes += instr.arg;
  if (instr.op == Opcode::kUnpackEx) effect.pushes += (instr.arg & 0xff) + (instr.arg >> 8);
  return effect;
}

/// Instructions that pass values on without a look at them.
bool onlyMoves(Opcode op) {
  return op == Opcode::kPopTop || op == Opcode::kStoreFast || op == Opcode::kStoreDeref || op == Opcode::kStoreGlobal ||
         op == Opcode::kReturnValue || op == Opcode::kBuildTuple || op == Opcode::kBuildList;
}

bool isCall(Opcode op) { return op == Opcode::kCall || op == Opcode::kCallKw || op == Opcode::kCallEx; }

/// Where the container lies that an instruction fills, counted from the top behind its operands; 0: it fills none.
int filled(const Instr& instr) {
  for (Opcode op : {Opcode::kListAppend, Opcode::kListExtend, Opcode::kSetAdd, Opcode::kSetUpdate, Opcode::kMapAdd,
                    Opcode::kDictMerge, Opcode::kDictUpdate})
    if (instr.op == op) return instr.arg;
  return 0;
}

/// Why a call of this breaks whatever its arguments are; nothing if that depends on them.
std::optional<std::pair<BreakReason, std::string>> breaksAnyway(const Value* callable) {
  PyObject* object = callable->isConstant() || callable->kind == ValueKind::kObject ? callable->object.get() : nullptr;
  if (!object) return std::nullopt;
  if (PyFunction_Check(object)) {
    PyObject* code = reinterpret_cast<PyFunctionObject*>(object)->func_code;
    if (isDisabled(code)) return std::pair{BreakReason::kDisabled, disabledDetail(code)};
  }
  switch (declarationOf(object).kind) {
    case Declaration::kGraphBreak: return std::pair{BreakReason::kGraphBreak, std::string()};
    case Declaration::kControl: return std::pair{BreakReason::kControl, calleeName(object)};
    case Declaration::kAllowInGraph:
    case Declaration::kSubstitute:
    case Declaration::kAssumeConstant: return std::nullopt;
    case Declaration::kNone: break;
  }
  if (isOutput(object)) return std::pair{BreakReason::kInputOutput, calleeName(object) + "()"};
  if (!PyCFunction_Check(object) || numpy::isKnown(object) || isKnownBuiltin(object)) return std::nullopt;
  return std::pair{BreakReason::kUnsupportedCall, calleeName(object)};
}

}  // namespace

// ---- which traces to run ------------------------------------------------------------------------------------------

void Survey::add(Break what) {
  if (what.at >= 0) broken_.insert(what.at);
  breaks_.push_back(std::move(what));
}

bool Survey::next() {
  if (++runs_ > kMaxRuns || todo_.empty()) return false;
  given_ = std::move(todo_.back());
  todo_.pop_back();
  made_.clear();
  uses_.clear();
  passed_.clear();
  taken_ = 0;
  return true;
}

void Survey::ended(Break what) {
  const bool ours = what.reason == BreakReason::kPythonException || what.reason == BreakReason::kCacheMiss ||
                    what.reason == BreakReason::kNothingToCompile ||
                    what.reason == BreakReason::kGraphLimit;  // of values or of paths that Python may not have
  if (ours || what.at < 0 || broken_.contains(what.at)) return;
  add(std::move(what));
  todo_.push_back(std::move(made_));  // the same path once more
}

bool Survey::choose(int instr) {
  bool jump;
  if (taken_ < given_.size() && given_[taken_].first == instr) {
    jump = given_[taken_++].second;
  } else if (!seen_.contains({instr, false})) {
    jump = false;
  } else {  // in a loop: one after the other
    jump = uses_[{instr, true}] < uses_[{instr, false}];
  }
  seen_.insert({instr, jump});
  if (seen_.insert({instr, !jump}).second) {
    todo_.push_back(made_);
    todo_.back().emplace_back(instr, !jump);
  }
  made_.emplace_back(instr, jump);
  ++uses_[{instr, jump}];
  return jump;
}

void Survey::passLoop(int instr) {
  if (!passed_.insert(instr).second) throw SurveyEnd{};
}

int Survey::depth(PyCodeObject* code, int instr) {
  if (!map_) map_.emplace(code);
  return map_->depth(instr);
}

std::vector<Break> Survey::take() {
  std::stable_sort(breaks_.begin(), breaks_.end(), [](const Break& a, const Break& b) { return a.at < b.at; });
  std::vector<Break> result;
  for (Break& what : breaks_) {  // the compiler may have written a condition or a `finally` twice
    auto same = [&](const Break& b) {
      return b.reason == what.reason && b.detail == what.detail && b.line == what.line && b.file == what.file;
    };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(std::move(what));
  }
  return result;
}

// ---- unknown values -----------------------------------------------------------------------------------------------

Value* unknownValue(Trace& trace) {
  Value* value = trace.make(ValueKind::kOpaque);
  value->cls = Ref::create(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  value->name = kUnknownName;
  return value;
}

bool holdsUnknown(const Value* value) {
  std::vector<const Value*> work{value};
  absl::flat_hash_set<const Value*> seen;
  while (!work.empty() && seen.size() < kMaxLooks) {
    const Value* v = work.back();
    work.pop_back();
    if (!v || !seen.insert(v).second) continue;
    if (v->kind == ValueKind::kOpaque && v->name == kUnknownName) return true;
    for (const auto* list : {&v->items, &v->keys, &v->defaults, &v->closure})
      work.insert(work.end(), list->begin(), list->end());
    for (const auto* list : {&v->overlay, &v->kwdefaults})
      for (const auto& [name, item] : *list) work.push_back(item);
    work.push_back(v->base);
  }
  return false;
}

/// At the instruction that comes next in the outermost frame. True if it is done, without having been executed.
bool Interpreter::passUnknown(Frame& frame) {
  const int at = static_cast<int>(frame.pc);
  const Instr& instr = frame.code->instructions[frame.pc];
  const bool broken = survey_->breaksAt(at);
  StackEffect effect = effectOf(instr);
  if (instr.op == Opcode::kUnsupported && broken) {  // they push one value, as far as we know
    const int net = survey_->depth(frame.object(), at + 1) - static_cast<int>(frame.stack.size());
    if (net <= 1) effect = {1 - net, 1};
  }
  if (effect.pops == kEnd) {
    if (broken) throw SurveyEnd{};
    return false;
  }
  auto& stack = frame.stack;
  const auto pops = static_cast<size_t>(effect.pops), container = static_cast<size_t>(filled(instr));
  if (stack.size() < pops + container) throw SurveyEnd{};
  const size_t bottom = stack.size() - pops;
  auto tainted = [&](size_t from, size_t to) {
    const auto first = stack.begin() + static_cast<ptrdiff_t>(from);
    return std::any_of(first, first + static_cast<ptrdiff_t>(to - from), holdsUnknown);
  };
  const bool unknown =
      tainted(bottom, stack.size()) || (container && tainted(bottom - container, bottom - container + 1));
  if (!broken && (!unknown || onlyMoves(instr.op))) return false;

  if (!broken && isCall(instr.op)) {
    const Value* callable = stack[bottom]->kind == ValueKind::kNull ? stack[bottom + 1] : stack[bottom];
    if (auto why = breaksAnyway(callable))
      survey_->add({why->first, why->second, text(frame.object()->co_filename), instr.position.line, at});
  }
  if (container) stack[bottom - container] = unknownValue(trace_);
  stack.resize(bottom);
  for (int i = 0; i < effect.pushes; ++i) push(unknownValue(trace_));
  ++frame.pc;
  if (instr.op == Opcode::kJump) return followLoopOnce(frame, instr), true;
  if (info(instr.op).arg != cpython::OpcodeArg::kJump || !survey_->choose(at)) return true;
  if (instr.op == Opcode::kForIter) stack.resize(bottom);  // exhausted
  frame.pc = static_cast<size_t>(instr.target);
  return true;
}

/// A loop of too many iterations: whatever it may have changed is unknown, its condition included.
void Interpreter::followLoopOnce(Frame& frame, const Instr& back) {
  survey_->passLoop(static_cast<int>(frame.pc));
  for (Value*& slot : frame.slots)
    if (slot && slot->kind != ValueKind::kCell) slot = unknownValue(trace_);
  frame.pc = static_cast<size_t>(back.target);
}

}  // namespace fw::capture
