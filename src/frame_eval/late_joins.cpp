// A branch ends where all ways from it meet; what its arms leave different in kind - one list or another, a function or
// another - is not known there. It is in the arms. So a branch behind which somebody needs to know ends later, behind
// the statement that does: up to there both ways are traced. A choice (choices.h), where no branch is near, becomes
// branches at the instruction that needs to know which of the things it is.
#include <algorithm>
#include <optional>
#include <utility>

#include "frame_eval/branching.h"
#include "frame_eval/branching_place.h"
#include "frame_eval/choices.h"
#include "frame_eval/interpret_common.h"

namespace fw::capture {

namespace {

/// Instructions between where the arms of a branch meet and where they end instead.
constexpr int kMostLater = 200;

/// A choice that an instruction takes, as it is or in a tuple that it takes.
struct Operand {
  Value *given, *choice;
  size_t index;  ///< in the tuple

  static std::optional<Operand> of(Value* value) {
    if (Choices::is(value)) return Operand{value, value, 0};
    const bool isPlain = value->kind == ValueKind::kTuple && !value->cls && value->overlay.empty();
    if (!isPlain || value->source.valid()) return std::nullopt;
    const auto at = std::find_if(value->items.begin(), value->items.end(), Choices::is);
    if (at == value->items.end()) return std::nullopt;
    return Operand{value, *at, static_cast<size_t>(at - value->items.begin())};
  }
  /// What it takes where that is known.
  Value* with(Trace& trace, Value* thing) const {
    if (given == choice) return thing;
    std::vector<Value*> items = given->items;
    items[index] = thing;
    return trace.tuple(std::move(items));
  }
};

}  // namespace

bool LoopDecisions::mayHelp(const std::optional<Remedy>& remedy) {
  if (!remedy) return false;
  const Key key{remedy->code, remedy->at};
  if (remedy->join < 0) return splits.insert(key).second;
  int& join = laterJoins[key];
  return std::exchange(join, std::max(join, remedy->join)) < remedy->join;
}

std::optional<Remedy> Branching::remedyFor(const Frame& frame, const CaptureBreak& unknown) const {
  const Bytecode& code = *frame.code;
  const int at = static_cast<int>(frame.pc) - 1;
  if (!interpreter.mayRoll() || interpreter.resumeAt() >= 0 || at < 0) return std::nullopt;
  if (unknown.splits) return Remedy{code.identity(), static_cast<size_t>(at), -1};
  const auto* use = dynamic_cast<const UnjoinedUse*>(&unknown);
  if (!use || use->branch >= trace.branches.sites.size()) return std::nullopt;
  const Branches::Site& site = trace.branches.sites[use->branch];
  if (site.code != code.identity() || site.at < 0 || at < site.join || at - site.join > kMostLater) return std::nullopt;
  const int join = endOfStatement(code, interpreter.flowIn(code).joining, site.join, at);
  if (join < 0 || hasStop(frame, site.join, join)) return std::nullopt;
  if (!frame.rolling.empty() && !frame.rolling.back().contains(join)) return std::nullopt;
  return Remedy{code.identity(), static_cast<size_t>(site.at), join};
}

/// Whether Python has to run something there.
bool Branching::hasStop(const Frame& frame, int from, int to) const {
  const std::vector<bool>* stops = interpreter.stops_;
  if (!stops || &frame != interpreter.frames_.front().get()) return false;
  return std::find(stops->begin() + from, stops->begin() + to, true) != stops->begin() + to;
}

bool Branching::split(Frame& frame) {
  const int at = static_cast<int>(frame.pc) - 1;
  const cpython::StackEffect effect = cpython::stackEffect(frame.code->instructions[static_cast<size_t>(at)]);
  if (effect.pops == cpython::kNoEffect) return false;
  const size_t count = std::min(frame.stack.size(), static_cast<size_t>(effect.pops));
  for (size_t i = frame.stack.size() - count; i < frame.stack.size(); ++i) {
    if (frame.stack[i] && Operand::of(frame.stack[i])) return splitAt(frame, at, i);
  }
  return false;
}

/// Two arms: one of the things, and all the others.
bool Branching::splitAt(Frame& frame, int at, size_t operand) {
  const JoiningFlow& flow = interpreter.flowIn(*frame.code).joining;
  Place place{frame, trace.at, trace.line, endOfStatement(*frame.code, flow, at, at), trace.branches.ended, -1};
  const Operand found = *Operand::of(frame.stack[operand]);
  Value* const choice = found.choice;
  if (choice->items.size() < 2 || place.join < 0 || hasStop(frame, at, place.join)) return false;
  enter(place);
  const auto as = [&](Value* thing) {
    frame.stack[operand] = found.with(trace, thing);
    frame.pc = static_cast<size_t>(at);
  };
  Choices choices{trace};
  Value* const first = choice->items[0];
  Value* const others = choices.without(choice, first);
  const Told told{choice, {first, others}};
  takeBoth({place, {[&] { as(first); }, [&] { as(others); }}, choices.isThing(choice, first), told});
  return true;
}

}  // namespace fw::capture
