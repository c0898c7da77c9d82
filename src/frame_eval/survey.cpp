// Two parts: which traces to run (Survey), and how one of them passes an instruction that cannot be executed
// symbolically (Interpreter::passUnknown). Only the outermost frame knows unknown values: a call that gets one is not
// followed.
#include "frame_eval/survey.h"

#include <algorithm>
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
    case Declaration::kStandsForNumpy:
    case Declaration::kLeftToNumpy:
    case Declaration::kSmallCall:
    case Declaration::kAsWithout:
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
  cpython::StackEffect effect = cpython::stackEffect(instr);
  if (instr.op == Opcode::kUnsupported && broken) {  // they push one value, as far as we know
    const int net = survey_->depth(frame.object(), at + 1) - static_cast<int>(frame.stack.size());
    if (net <= 1) effect = {1 - net, 1};
  }
  if (effect.pops == cpython::kNoEffect) {
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
