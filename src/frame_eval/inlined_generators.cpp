#include "frame_eval/inlined_generators.h"

#include <algorithm>

#include "frame_eval/consumed_generators.h"
#include "frame_eval/generator.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/nested_iteration.h"
#include "frame_eval/splice/inlined_generator.h"

namespace fw::capture {

namespace {

/// In one code object.
constexpr size_t kMostInlined = 8;

bool areEqual(PyObject* a, PyObject* b) { return PyUnicode_Compare(a, b) == 0; }

/// What it reads by name, and the lines of its warnings, are what they would be in the frame.
bool fits(const Frame& frame, const Frame& generator) {
  if (PyTuple_GET_SIZE(generator.object()->co_names) == 0 && isSubstitute(generator.object())) return true;
  return frame.globals.get() == generator.globals.get() && frame.builtins.get() == generator.builtins.get() &&
         areEqual(frame.object()->co_filename, generator.object()->co_filename);
}

}  // namespace

const Bytecode& InlinedGenerators::codeWith(const Bytecode& code) const {
  if (!trace.loops) return code;
  const auto known = trace.loops->withGenerators.find(code.identity());
  return known == trace.loops->withGenerators.end() ? code : *known->second.back();
}

/// What is on the stack as a generator; iterators that go through several loops become one (nested_iteration.h).
GeneratorIterator* InlinedGenerators::walked() {
  Value* iterator = trace.open(in.top());
  auto loops = loopsOf(in, iterator);
  if (!loops) return in.generatorOf(iterator);
  if (isHeldElsewhere(iterator)) return nullptr;
  in.frame_->stack.back() = ConsumedGenerators{in, trace}.byUs(loops->function, std::move(loops->args));
  return in.generatorOf(in.frame_->stack.back());
}

void InlinedGenerators::offer() {
  if (!in.mayRoll() || trace.onDevice() || in.resumeAt() >= 0) return;
  const LoopDecisions::Key site(in.frame_->code->identity(), in.frame_->pc - 1);
  if (trace.loops->notInlined.contains(site) || in.frame_->code->inlined.size() >= kMostInlined) return;
  const GeneratorIterator* generator = walked();
  if (!generator || !generator->isNew()) return;
  if (!fits(*in.frame_, *generator->frame) || isHeldElsewhere(generator->value)) return;
  auto code =
      inlineGenerator(*in.frame_->code, static_cast<int>(site.second), in.decodedAlone(generator->frame->object()));
  if (!code) {
    trace.loops->notInlined.insert(site);
    return;
  }
  trace.loops->withGenerators[site.first].push_back(std::make_unique<Bytecode>(std::move(*code)));
  throw LoopsDecided{};
}

/// Has the trace made again with a generator, whose code has been found to stand in another's, as an object.
void InlinedGenerators::takeOut(const void* from, const Bytecode::Inlined& inlined) {
  trace.loops->notInlined.insert({from, static_cast<size_t>(inlined.at)});
  trace.loops->withGenerators.at(from).back()->instructions[static_cast<size_t>(inlined.at)] = inlined.before;
  throw LoopsDecided{};
}

/// Whether more than the stack of the loop refers to it.
bool InlinedGenerators::isHeldElsewhere(Value* iterator) {
  Frame& frame = *in.frame_;
  for (size_t slot = 0; slot < frame.slots.size(); ++slot) {
    if (frame.slots[slot] != iterator) continue;
    // The argument of a comprehension is read once.
    const bool isArgument = PyUnicode_CompareWithASCIIString(frame.code->variableAt(static_cast<int>(slot)), ".0") == 0;
    if (isArgument) frame.slots[slot] = nullptr;
  }
  frame.stack.pop_back();
  const bool held = in.isHeld(iterator);
  frame.stack.push_back(iterator);
  return held;
}

void InlinedGenerators::enter(const Instr& instr) {
  const GeneratorIterator* generator = walked();
  const Bytecode::Inlined& inlined = in.frame_->code->inlined[static_cast<size_t>(instr.arg)];
  const bool isIt = generator && generator->isNew() &&
                    reinterpret_cast<PyObject*>(generator->frame->object()) == inlined.code.get() &&
                    fits(*in.frame_, *generator->frame) && !isHeldElsewhere(generator->value);
  if (!isIt) takeOut(in.frame_->code->identity(), inlined);
  const std::vector<Value*>& slots = generator->frame->slots;
  // Other generators may stand in its own code, which is not what stands here.
  std::fill_n(in.frame_->slots.begin() + inlined.firstSlot, generator->frame->object()->co_nlocalsplus, nullptr);
  for (int slot : startSlots(*generator->frame->code)) in.push(slots[static_cast<size_t>(slot)]);
  in.frame_->pc = static_cast<size_t>(instr.target);
}

void InlinedGenerators::leave() {
  if (!in.mayRoll() || in.options_.isLate(trace.loops)) return;
  for (auto frame = in.frames_.rbegin(); frame != in.frames_.rend(); ++frame) {
    const std::vector<Bytecode::Inlined>& inlined = (*frame)->code->inlined;
    const auto behind = std::find_if(inlined.begin(), inlined.end(), [&](const Bytecode::Inlined& part) {
      return static_cast<size_t>(part.begin) >= (*frame)->pc;
    });
    if (behind == inlined.begin()) continue;
    takeOut((*frame)->code->identity(), *(behind - 1));
  }
}

void Interpreter::onEnterGenerator(const Instr& instr) { InlinedGenerators{*this, trace_}.enter(instr); }

}  // namespace fw::capture
