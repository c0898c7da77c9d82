// What stands behind a loop. A variable that turns hand on has what the last one has left; one that only the last turn
// matters for is a result of the loop if it can be one. What is not known - a view into what the loop has written, an
// array that may be the one from in front of the loop - is unjoined, as behind a branch.
#include <algorithm>
#include <utility>

#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using graph::DType;
using graph::Graph;
using graph::Op;
using graph::Scalar;
using graph::SymId;
using graph::ValueId;

namespace {

constexpr const char* kWhyChosen = "behind the loop, a variable is one thing or another";

class LoopEnd {
 public:
  LoopEnd(Trace& trace, Frame& frame, const BranchState& before, TracedLoop& loop, LoopDecisions::Key key)
      : trace_(trace),
        frame_(frame),
        before_(before),
        loop_(loop),
        key_(key) {}

  LoopLeft run() {
    for (CarriedVariable& v : loop_.variables) addVariable(v);
    for (CarriedParts& parts : loop_.parts) {
      parts.after = assemble(trace_, parts, [&](size_t variable) { return loop_.variables[variable].after; });
      if (parts.shape.size() == 1) continue;
      if (isLongList(parts.after)) after_[parts.end] = parts.after;
      if (!Choices::is(parts.after)) continue;
      if (Choices::is(parts.end)) after_[parts.end] = parts.after;
      if (Choices::isPayload(parts.end)) after_[parts.end] = Choices::payloadOf(parts.after);
    }
    for (const CarriedContent& c : loop_.contents) {
      contents_.push_back(carried_.size());
      carried_.push_back({c.from, c.given, c.end});
    }
    for (const auto& [slot, end] : loop_.temporaries) addTemporary(slot, end);
    std::optional<size_t> way;
    if (loop_.way.valid()) way = addExtra(loop_.way);
    const std::vector<ValueId> results = trace_.branches.graph.add(
        RegionGraph::Loop{loop_.begin, loop_.end, loop_.symbol, loop_.rounds, loop_.again, std::move(carried_)});
    for (size_t i = 0; i < contents_.size(); ++i)
      numpy::replaceContent(trace_, loop_.contents[i].owner, results[contents_[i]]);
    for (const auto& [value, result] : made_) value->node = results[result];
    for (const auto& [slot, value] : slots_) frame_.slots[slot] = value;
    for (const CarriedParts& parts : loop_.parts) {
      const bool same = parts.shape.size() == 1 && loop_.variables[parts.first].kind == CarriedKind::kSame;
      if (same) continue;
      const CarriedPlace& place = parts.place;
      if (place.owner) {
        trace_.effectHeld(place.owner, place.at, place.attribute, parts.after);
        ++place.owner->changes;
      }
      valueAt(frame_, place) = parts.after;
    }
    for (const auto& [list, room] : loop_.rooms) list->items[1] = trace_.pyInt(room);
    for (Value* value : loop_.forgotten) forget(value, "an array is written in the loop that it may be");
    if (way) left_.way = DataInts{trace_}.make(results[*way], {0, 16});
    return std::move(left_);
  }

 private:
  void forget(Value* value, const std::string& why) {
    trace_.branches.forget(value, "behind the loop, " + why);
    trace_.loops->unknownBehind[value] = key_;
  }

  Value* unknown(const std::string& what, const std::string& why) {
    Value* v = trace_.make(ValueKind::kUnjoined);
    forget(v, what + " " + why);
    return v;
  }
  std::string nameOf(size_t slot) const { return text(frame_.code->variableAt(static_cast<int>(slot))); }

  /// Whether it may be another in each turn. What calls decide may be, wherever they are.
  bool varies(SymId size) const {
    return graph::mentions(trace_.syms(), size, loop_.symbol) || trace_.decided.contains(size);
  }

  bool varies(ValueId node) const {
    const graph::SymShape& shape = trace_.graph().type(node).shape;
    return std::any_of(shape.begin(), shape.end(), [&](SymId size) { return varies(size); });
  }

  /// The Value whose node will be that result.
  Value* result(Value* made, size_t number) {
    made_.emplace_back(made, number);
    return made;
  }

  void addVariable(CarriedVariable& v) {
    using Kind = CarriedVariable::Kind;
    if (v.kind == Kind::kSame) {
      v.after = v.begin;
      return;
    }
    if (v.kind == Kind::kInt) {
      graph::SymContext& syms = trace_.syms();
      const bool counted = loop_.rounds && !loop_.again && (loop_.certain || loop_.counted);
      if (!counted && v.answer.valid()) {
        v.after = result(dataInt(kTurnInts), carried_.size());
        carried_.push_back({v.from, {}, v.answer});
        return;
      }
      v.after = counted ? trace_.pyInt(syms.canonical(syms.add(trace_.asSym(v.begin), syms.mul(v.step, *loop_.rounds))))
                        : unknown("a number", "depends on the number of turns");
      return;
    }
    const size_t number = carried_.size();
    const ValueId answer = v.kind == Kind::kDataInt || v.kind == Kind::kChosen || v.mixes ? v.answer
                           : v.kind == Kind::kNumber                                      ? trace_.operand(v.end).value
                                                                                          : v.end->node;
    carried_.push_back({v.from, v.placeholder, answer});
    if (v.kind == Kind::kDataInt) {
      Value* value = dataInt(v.range);
      after_[v.end] = value;
      v.after = result(value, number);
      return;
    }
    if (v.kind == Kind::kChosen) {
      Choices choices{trace_};
      Value* which = result(dataInt(choices.rangeOf(v.things)), number);
      v.after = choices.make(v.things, which, kWhyChosen);
      if (!Choices::payloadOf(v.after)) after_[v.end] = v.after;
      return;
    }
    if (v.kind == Kind::kNumber) {
      Value* value = trace_.make(v.mixes ? ValueKind::kArrayScalar : numberKind(v.begin));
      if (v.mixes) {
        Value* which = result(dataInt(v.given->which->range), carried_.size());
        carried_.push_back({v.fromClass, v.classPlaceholder, MixedNumbers{trace_}.classOf(v.end)->node});
        mix(value, which, v.given->range);
        after_[v.end] = value;
      }
      v.after = result(value, number);
      return;
    }
    Value* value = trace_.array(ValueId());
    const bool fresh = !v.end->joined;
    value->frozen = v.end->frozen;
    if (!loop_.certain || !fresh) trace_.branches.noteJoined(value, v.begin, fresh ? v.begin : v.end);
    if (fresh) trace_.branches.noteSuccessor(value, v.end);
    after_[v.end] = value;
    v.after = result(value, number);
  }

  void addTemporary(size_t slot, Value* end) {
    if (end == frame_.slots[slot]) return;
    Value* known = end && end->kind != ValueKind::kNull ? temporary(slot, end) : end;
    if (!loop_.certain && known) {  // a turn that has left the loop has been one
      if (loop_.way.valid()) left_.slots.emplace_back(slot, known);
      known = unknown(nameOf(slot), "is known only if there is a turn");
    }
    slots_.emplace_back(slot, known);
  }

  void mix(Value* number, Value* which, graph::SymRange range) {
    MixedNumbers{trace_}.note(number, which, range, "behind the loop, a number is an int, a float or a np.float64");
  }

  Value* dataInt(graph::SymRange range) {
    Value* v = trace_.make(ValueKind::kDataInt);
    v->range = range;
    return v;
  }

  Value* temporary(size_t slot, Value* end) {
    if (end->kind == ValueKind::kUnjoined) return end;
    if (end->isConstant() && !trace_.standIns.contains(end->object.get())) return end;
    if (end->kind == ValueKind::kPyInt) {
      const SymId number = trace_.syms().canonical(end->sym);
      if (!varies(number)) return end;
      const std::optional<SymId> last =
          loop_.again || trace_.decided.contains(number) ? std::nullopt : trace_.turns.inLastTurn(end->sym);
      return last ? trace_.pyInt(*last) : unknown(nameOf(slot), "is not known");
    }
    if (auto known = after_.find(end); known != after_.end()) return known->second;
    if (Choices::is(end)) {
      const bool inside = end->which->node.index >= loop_.begin;
      Value* payload = Choices::payloadOf(end);
      if (!inside && !payload) return end;
      Value* which = inside ? result(dataInt(end->which->range), addExtra(end->which->node)) : end->which;
      Value* chosen = Choices{trace_}.make(end->items, which, kWhyChosen);
      return after_[end] = payload ? Choices{trace_}.withPayload(chosen, temporary(slot, payload)) : chosen;
    }
    if (before_.knows(end)) return end;
    if (const ValueKind kind = numberKind(end); kind != ValueKind::kNull) {
      if (end->node.index < loop_.begin) return end;
      Value* value = trace_.make(kind);
      value->range = end->range;
      if (MixedNumbers::is(end)) {
        const bool inside = end->which->node.index >= loop_.begin;
        Value* which = inside ? result(dataInt(end->which->range), addExtra(end->which->node)) : end->which;
        mix(value, which, end->range);
      }
      return after_[end] = result(value, addExtra(end->node));
    }
    if (end->kind == ValueKind::kTuple && !end->cls && !end->source.valid() && end->overlay.empty()) {
      std::vector<Value*> items;
      for (Value* item : end->items) items.push_back(temporary(slot, item));
      return after_[end] = trace_.tuple(std::move(items));
    }
    const bool fresh =
        end->kind == ValueKind::kArray && !end->source.valid() && !end->base && !end->joined && !varies(end->node);
    if (!fresh) return unknown(nameOf(slot), "is not known");
    Value* value = trace_.array(ValueId());
    value->frozen = end->frozen;
    trace_.branches.noteSuccessor(value, end);
    return after_[end] = result(value, addExtra(end->node));
  }

  /// A result that no turn reads. It has to begin as something.
  size_t addExtra(ValueId answer) {
    Graph& g = trace_.graph();
    const graph::ValueType type = g.type(answer);
    ValueId begin = g.constant(Scalar::zero(type.dtype));
    if (type.rank() > 0) begin = g.addTyped(Op::kFull, {begin}, {type.dtype, type.shape, type.layout, {}});
    carried_.push_back({begin, {}, answer});
    return carried_.size() - 1;
  }

  Trace& trace_;
  Frame& frame_;
  const BranchState& before_;
  TracedLoop& loop_;
  LoopDecisions::Key key_;
  std::vector<RegionGraph::Carried> carried_;
  std::vector<size_t> contents_;                  ///< numbers of results
  std::vector<std::pair<Value*, size_t>> made_;   ///< and the result that each is
  std::vector<std::pair<size_t, Value*>> slots_;  ///< what they hold behind the loop
  LoopLeft left_;
  absl::flat_hash_map<Value*, Value*> after_;  ///< what a turn leaves, and what that is behind the loop
};

}  // namespace

LoopLeft endLoop(Trace& trace, Frame& frame, const BranchState& before, TracedLoop& loop, LoopDecisions::Key key) {
  return LoopEnd(trace, frame, before, loop, key).run();
}

}  // namespace fw::capture
