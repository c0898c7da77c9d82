// A turn is traced by itself first. If it leaves other kinds of things than it has found (s = 0; s += x[i]), it stays
// as it is, and the next one is looked at. Then a turn is traced for all: what the first one has changed stands for the
// value of any turn, ints that grow are expressions of the turn. If that turn changes more, it is traced again.
//
// A turn may change numbers, arrays that it makes, and what arrays hold; a variable that is an array made by the turn
// before, or the one from in front of the loop, is a joined array (branches.h). Arrays that change places are where
// they were after a few turns, which are traced as one round then.
//
// What cannot be such a loop is noted, and the trace is made again without it.
#include "frame_eval/loops.h"

#include <algorithm>

#include "frame_eval/branch_join.h"
#include "frame_eval/branching.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/long_list.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/unwind.h"
#include "frame_eval/work_table.h"
#include "graph/rank.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"
#include "guards/set_index.h"

namespace fw::capture {

using graph::SymId;
using graph::ValueId;
using guards::Relation;

namespace {

/// Turns in front of the loop that may leave other kinds of things than they find.
constexpr int kMostBegun = 3;
/// Bodies that are traced until nothing more is found out.
constexpr int kMostAttempts = 12;
/// Turns of a loop in a loop that are unrolled where a size decides about their number: vectors, colours, small
/// windows.
constexpr int kMostInside = 8;
/// The same where several numbers decide about it: how often a window fits into a size, say, which are many as a rule.
constexpr int kMostOfSeveral = 2;
constexpr int kMostPeriod = 4;

bool isOfSeveral(const graph::SymContext& syms, SymId count) {
  std::vector<int64_t> symbols;
  guards::symbolsIn(syms, count, symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](int64_t symbol) { return symbol != symbols.front(); });
}

struct Exhausted {
  Value* operator()(Interpreter&) { return nullptr; }
};

}  // namespace

Rolling::Rolling(Interpreter& interpreter, Frame& frame, size_t header)
    : in_(interpreter),
      trace_(interpreter.trace_),
      frame_(frame),
      header_(header),
      line_(trace_.line) {}

LoopDecisions::Key Rolling::key() const { return {frame_.code->identity(), header_}; }

bool Rolling::mayRoll() const { return in_.mayRoll() && in_.resumeAt() < 0 && !trace_.loops->refused.contains(key()); }

template <typename Roll>
bool Rolling::guarded(Roll roll) {
  try {
    return roll();
  } catch (const CaptureBreak& b) {
    if (in_.options_.isLate(trace_.loops)) throw;
    const bool decides = b.reason == BreakReason::kDataDependentBranch;
    if (decides) doubtCounters(true);
    if (trace_.loops->mayHelp(b.remedy)) throw LoopsDecided{};
    refuse(decides ? "in line " + std::to_string(trace_.line) + ", " + b.detail : b.inLine(trace_.line));
  } catch (const VirtualRaise&) {
    refuse("in line " + std::to_string(trace_.line) + ", it raises");
  } catch (const graph::TooManyAxes& e) {
    refuse(std::string("a result has ") + e.what());
  }
}

bool Rolling::takeFor(const Instr& instr) {
  if (!mayRoll()) return false;
  iterator_ = in_.top();
  if (iterator_->kind != ValueKind::kIterator || !iterator_->lazy) return false;
  const std::optional<VirtualIterator::Items> items = iterator_->lazy->items(in_);
  if (!items) return false;
  graph::SymContext& syms = trace_.syms();
  const SymId count = syms.canonical(items->count);
  if (!isLate(count)) {
    auto known = frame_.rolled.find(header_);
    const bool begun = known != frame_.rolled.end() && known->second.iterator == iterator_;
    const int64_t now = trace_.hint(count);
    // In a loop of the graph, code that is unrolled is paid for by a guard of the size, and cannot become vectors.
    const bool isSize = trace_.turns.bodies > 0 && syms.range(count).lo != syms.range(count).hi;
    const int most = isOfSeveral(syms, count) ? kMostOfSeveral : isSize ? kMostInside : in_.options_.maxUnroll;
    const bool isLong = now > std::min(most, in_.options_.maxUnroll) || begun || trace_.loops->tooLong.contains(key());
    if (now < 2 || !isLong) return false;
  }
  findVariables();
  exit_ = instr.target;
  return guarded([&] { return rollFor(*items, count); });
}

/// Known on the way only: of the turn of a loop around, or of array data.
bool Rolling::isLate(SymId count) const { return trace_.turns.contains(count) || trace_.decided.contains(count); }

/// A turn that leaves other kinds of things than it finds is traced by itself.
void Rolling::countBegun() {
  if (++frame_.rolled[header_].begun > kMostBegun) refuse("its variables are of other kinds in each turn");
}

bool Rolling::rollFor(const VirtualIterator::Items& items, SymId count) {
  graph::SymContext& syms = trace_.syms();
  const bool varies = isLate(count);
  const SymId zero = syms.constant(0);
  if (!varies) FW_CHECK(trace_.decide(zero, Relation::kLt, count));
  RolledLoop& known = frame_.rolled[header_];
  if (known.iterator != iterator_) known = {iterator_};
  auto skip = [&] {
    iterator_->lazy->skip();
    ++iterator_->position;
  };
  auto goOn = [&] {  // with a turn by itself
    Value* item = items.item(zero);
    skip();
    frame_.stack.push_back(item);
    frame_.pc = header_ + 1;
    return true;
  };
  if (known.plain > 0) {
    --known.plain;
    return goOn();
  }
  // Where there may be no turn, what is decided in one holds for any.
  SymId number = zero;
  mayHaveNoTurn_ = varies;
  symbol_.reset();
  if (varies) symbol_ = number = trace_.turns.enter(syms.canonical(syms.sub(count, syms.constant(1))));
  const Probed probed = recall() ? Probed::kSame : probe([&] { return items.item(number); }, !varies);
  if (varies) trace_.turns.leave();
  if (decides_ && (probed == Probed::kKept || probed == Probed::kOthers)) in_.begun_.insert(key());
  if (probed != Probed::kSame) {
    if (varies) refuse("a variable is of another kind behind the first turn");
    if (probed == Probed::kLeaves) return goOn();
    countBegun();
    if (probed == Probed::kOthers) return goOn();
    skip();
    return true;
  }
  if (period_ > 1) {
    if (varies) refuse("arrays change places in a loop whose length is not known");
    const int64_t rest = trace_.specialize(syms.mod(count, syms.constant(period_)));
    frame_.rolled[header_].plain = static_cast<int>(rest) - 1;
    if (rest > 0) return goOn();
    if (!trace_.decide(syms.constant(period_), Relation::kLe, count)) return false;
    for (CarriedVariable& v : variables_) {
      if (v.kind == Kind::kArray) v.kind = Kind::kSame;  // behind a round
      if (v.kind == Kind::kInt) v.step = syms.mul(v.step, syms.constant(period_));
    }
  }
  for (int i = 0; i < kMostAttempts; ++i) {
    if (!attempt(&items, count)) continue;
    FW_CHECK(frame_.stack.back() == iterator_);
    frame_.stack.pop_back();
    exhaust(iterator_);
    goOnBehind();
    return true;
  }
  refuse("it changes more and more");
}

bool Rolling::takeWhile() {
  if (!mayRoll()) return false;
  const auto inside = [&](const RollingBody& body) { return body.header == header_; };
  if (std::any_of(frame_.rolling.begin(), frame_.rolling.end(), inside)) return false;
  findVariables();
  return guarded([&] { return rollWhile(); });
}

bool Rolling::rollWhile() {
  mayHaveNoTurn_ = true;
  const Probed probed = recall() ? Probed::kSame : probe([] { return nullptr; }, false);
  if (probed != Probed::kSame) {
    if (probed != Probed::kLeaves) countBegun();
    return false;
  }
  if (period_ > 1) refuse("arrays change places in a loop whose length is not known");
  for (int i = 0; i < kMostAttempts; ++i)
    if (attempt(nullptr, std::nullopt)) {
      frame_.rolled.erase(header_);  // it may be entered again
      goOnBehind();
      return true;
    }
  refuse("it changes more and more");
}

/// All items have been taken; or as many as there were turns, and who goes on with the iterator has to know.
void Rolling::exhaust(Value* iterator) {
  for (Value* source : iterator->lazy->sources()) exhaust(source);
  iterator->lazy = std::make_unique<StepIterator<Exhausted>>(Exhausted{});
  ++iterator->position;  // it is another one now
  if (endless_) return;
  trace_.branches.forget(iterator, "behind the loop, an iterator has been left by it on the way");
  trace_.loops->unknownBehind[iterator] = key();
}

/// Goes on where the loop has been left.
void Rolling::goOnBehind() {
  if (edges_.empty()) {
    frame_.pc = static_cast<size_t>(exit_);
    return;
  }
  std::vector<Branching::Way> ways;
  for (size_t i = 0; i < edges_.size(); ++i)
    ways.push_back({static_cast<int>(i) + 1, edges_[i].pc, [this, edge = edges_[i]] {
                      frame_.pc = static_cast<size_t>(edge.pc);
                      if (iterator_) frame_.stack.push_back(iterator_);
                      frame_.stack.insert(frame_.stack.end(), edge.iterators.begin(), edge.iterators.end());
                      for (const auto& [slot, value] : left_.slots) frame_.slots[slot] = value;
                    }});
  if (exit_ >= 0) ways.push_back({0, exit_, [this] { frame_.pc = static_cast<size_t>(exit_); }});
  Branching{in_, trace_}.choose(left_.way, ways);
}

/// Which slots the body writes, and who may read them.
void Rolling::findVariables() {
  const Bytecode& code = *frame_.code;
  const CodeFlow& flow = in_.flowIn(code);
  auto found = std::find_if(flow.loops.begin(), flow.loops.end(),
                            [&](const Loop& loop) { return loop.header == static_cast<int>(header_); });
  if (found == flow.loops.end()) refuse("it has no way back");
  loop_ = &*found;
  std::vector<bool> written(frame_.slots.size());
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const Instr& instr = code.instructions[i];
    if (loop_->contains[i] && writesSlot(instr.op)) written[static_cast<size_t>(instr.arg)] = true;
  }
  if (auto known = trace_.loops->computed.find(key()); known != trace_.loops->computed.end()) data_ = known->second;
  const std::vector<bool>& again = flow.live.before(static_cast<int>(header_));
  for (size_t slot = 0; slot < written.size(); ++slot) {
    if (!written[slot]) continue;
    // What is live behind the loop is live here, too: what turns read counts, or leave as it was.
    if (again[slot] && mayKeep(slot))
      live_.push_back(slot);
    else
      temporaries_.push_back(slot);
  }
  for (size_t slot : live_)
    if (frame_.slots[slot]) openKnown(trace_, in_.look(frame_.slots[slot]));
  // What a turn would be the first to settle is settled in front of all.
  for (size_t slot = 0; slot < frame_.slots.size() && !trace_.onDevice(); ++slot)
    if (again[slot] && frame_.slots[slot]) numpy::settled(trace_, frame_.slots[slot]);
}

/// Whether a turn may read the slot before it writes it, or leave it as it was.
bool Rolling::mayKeep(size_t slot) const {
  const Bytecode& code = *frame_.code;
  const ControlFlow& flow = in_.flowIn(code).flow;
  std::vector<bool> seen(code.instructions.size());
  std::vector<int> open = {static_cast<int>(header_)};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at < 0 || seen[static_cast<size_t>(at)]) continue;
    seen[static_cast<size_t>(at)] = true;
    const Instr& instr = code.instructions[static_cast<size_t>(at)];
    if (instr.arg == static_cast<int>(slot)) {
      if (readsSlot(instr.op)) return true;
      if (writesSlot(instr.op)) continue;
    }
    bool ends = false;
    flow.forEach(at, [&](int to) {
      ends |= to == static_cast<int>(header_) ||
              (at != static_cast<int>(header_) && !loop_->contains[static_cast<size_t>(to)]);
      if (loop_->contains[static_cast<size_t>(to)]) open.push_back(to);
    });
    if (ends) return true;
  }
  return false;
}

/// One turn. Those that leave the loop from inside end here as well (branching.cpp), and say so by Frame::goesOn.
void Rolling::runBody(Value* item) {
  const size_t depth = frame_.stack.size();
  const int header = static_cast<int>(header_);
  frame_.pc = header_;
  ++frame_.arms;
  ++trace_.turns.bodies;
  frame_.rolling.push_back({loop_, header_, iterator_, frame_.stack, &edges_, iterator_ ? exit_ : -1});
  if (item) {
    frame_.stack.push_back(item);
    ++frame_.pc;
  } else {
    in_.step(frame_);
  }
  in_.runTo(frame_, header, -1, &loop_->contains);
  const int exit = frame_.rolling.back().exit;
  frame_.rolling.pop_back();
  --frame_.arms;
  --trace_.turns.bodies;
  const bool back = !frame_.result && !frame_.yielded && frame_.pc == header_ && frame_.stack.size() == depth &&
                    (!iterator_ || frame_.stack.back() == iterator_);
  leaves_ = !back;
  if (back && exit >= 0) exit_ = exit;
}

// ---- one turn by itself -------------------------------------------------------------------------------------------

/// Traces the turn at hand, and forgets it: only what it changes matters. One that leaves other kinds of things than it
/// has found has been a turn, if it may be one.
Rolling::Probed Rolling::probe(absl::FunctionRef<Value*()> item, bool mayKeep) {
  BranchState before(in_, frame_);
  const std::vector<Value*> slots = frame_.slots;
  const size_t begin = trace_.graph().size();
  const unsigned branches = trace_.branches.begun;
  Value* outer = std::exchange(frame_.goesOn, trace_.constant(Py_True));
  Value* outerWay = std::exchange(frame_.way, trace_.pyInt(trace_.syms().constant(0)));
  runBody(item());  // what the item is made of is forgotten as well
  decides_ = trace_.branches.begun > branches;
  if (frame_.yielded) refuse("it yields to who asks for one item after the other");
  if (leaves_) {  // for certain, in this turn
    if (auto why = before.irreversible()) refuse("a turn " + *why);
    before.restore();
    frame_.pc = header_;
    frame_.goesOn = outer;
    frame_.way = outerWay;
    trace_.branches.drop(begin, branches);
    return Probed::kLeaves;
  }
  const bool leaves = !frame_.goesOn->isConstant() || frame_.goesOn->object.get() != Py_True;
  frame_.goesOn = outer;
  frame_.way = outerWay;
  bool same = findParts(slots, before);
  const auto isMoved = [](const CarriedVariable& v) {
    return v.kind == Kind::kArray && (isLongList(v.begin) || WorkTable::is(v.begin));
  };
  handsListsOn_ = same && std::any_of(variables_.begin(), variables_.end(), isMoved) && period() == 1;
  if (handsListsOn_) same = findParts(slots, before);
  contents_.clear();
  grown_.clear();
  same = addContents(before, nullptr) != Found::kOthers && same;
  if (!same && mayKeep && !leaves) return Probed::kKept;
  if (auto why = before.irreversible()) refuse("a turn " + *why);
  if (same) period_ = period();
  if (same && period_ == 1 && std::any_of(variables_.begin(), variables_.end(), isMoved))
    refuse("a variable becomes another name of a list");
  before.restore();
  trace_.branches.drop(begin, branches);
  if (same) growLists(before);
  return same ? Probed::kSame : Probed::kOthers;
}

/// What the slots held in front of the turn and hold now. False if some hold things of other kinds.
bool Rolling::findParts(const std::vector<Value*>& slots, const BranchState& before) {
  variables_.clear();
  parts_.clear();
  bool same = true;
  for (size_t slot : live_) {
    Value* end = frame_.slots[slot];
    if (end) openKnown(trace_, end);
    same = addParts({nullptr, slot}, slots[slot], end, before) && same;
  }
  return same;
}

/// After how many turns arrays that change places are where they were; 1 if something else happens, too.
int Rolling::period() const {
  std::vector<size_t> moved;  // indices of variables
  for (size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].kind == Kind::kArray) moved.push_back(i);
  if (moved.empty()) return 1;
  auto from = [&](size_t i) -> std::optional<size_t> {  // whose array it gets
    for (size_t k : moved)
      if (variables_[k].begin == variables_[i].end) return k;
    return std::nullopt;
  };
  int period = 1;
  for (size_t i : moved) {
    size_t at = i;
    int turns = 0;
    do {
      const std::optional<size_t> next = from(at);
      if (!next || ++turns > kMostPeriod) return 1;
      at = *next;
    } while (at != i);
    while (period % turns != 0) ++period;
  }
  return period <= kMostPeriod ? period : 1;
}

/// Arrays and containers that hold something else now.
Rolling::Found Rolling::addContents(BranchState& before, std::vector<Value*>* forgotten) {
  Found found = Found::kNothing;
  auto add = [&](Value* owner) {
    const bool known =
        std::any_of(contents_.begin(), contents_.end(), [&](const CarriedContent& c) { return c.owner == owner; });
    if (known) return;
    contents_.push_back({owner});
    found = std::max(found, Found::kMore);
  };
  for (const auto& [value, contents] : before.changed()) {
    if (value->kind == ValueKind::kUnjoined) {
      if (forgotten) forgotten->push_back(value);
    } else if (value->kind == ValueKind::kArray) {
      if (before.of(value).kind != ValueKind::kArray) refuse("what a mask selects is an array behind the first turn");
      if (!value->base) add(value);
    } else if (value != iterator_) {
      found = std::max(found, addHeld(value, contents, before));
    }
  }
  for (const auto& [owner, input] : trace_.writtenArrays)
    if (!before.knows(owner) && owner->node != input) add(owner);
  return found;
}

}  // namespace fw::capture
