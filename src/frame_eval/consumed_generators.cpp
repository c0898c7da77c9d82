#include "frame_eval/consumed_generators.h"

#include <algorithm>

#include "frame_eval/builtins.h"
#include "frame_eval/choices.h"
#include "frame_eval/declared_calls.h"
#include "frame_eval/generator.h"
#include "frame_eval/inlined_generators.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/splice/inlined_generator.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using cpython::Instr;
using cpython::Opcode;

namespace {

/// Instructions that take the place of one.
struct Snippet {
  const Instr& at;
  std::vector<Instr>& out;
  std::vector<int> own;  ///< which of `out` jump within the snippet: their targets are positions in `out`

  size_t put(Opcode op, int arg = 0) {
    Instr instr = at;
    instr.op = op;
    instr.arg = arg;
    instr.target = -1;
    out.push_back(instr);
    return out.size() - 1;
  }
  void land(size_t jump) {
    out[jump].target = static_cast<int>(out.size());
    own.push_back(static_cast<int>(jump));
  }
};

bool folds(Consumer consumer) {
  return consumer == Consumer::kSum || consumer == Consumer::kMin || consumer == Consumer::kMax ||
         consumer == Consumer::kList;
}

/// Code that is being made, of `code`.
class Rewriting {
 public:
  Rewriting(const Bytecode& code, Consumer consumer) : code_(code), consumer_(consumer), total_(code.slotCount()) {}

  std::unique_ptr<Bytecode> run() {
    const int size = static_cast<int>(code_.instructions.size());
    auto result = std::make_unique<Bytecode>(code_);
    result->instructions.clear();
    result->variant = reinterpret_cast<const char*>(code_.object()) + 1 + static_cast<int>(consumer_);
    nones_ = static_cast<int>(PyTuple_GET_SIZE(code_.object()->co_consts));
    const Ref more = checked(PyTuple_Pack(3, Py_None, Py_True, Py_False)), name = checked(Py_BuildValue("(s)", "it"));
    result->constants = checked(PySequence_Concat(code_.object()->co_consts, more.get()));
    result->variables = checked(PySequence_Concat(code_.object()->co_localsplusnames, name.get()));
    std::vector<int> where;  // by old instruction, and behind the last one
    std::vector<bool> settled;
    bool begun = false;
    for (int i = 0; i < size; ++i) {
      const Instr& instr = code_.instructions[static_cast<size_t>(i)];
      Snippet snippet{instr, result->instructions, {}};
      const bool begins = i >= 2 && code_.instructions[static_cast<size_t>(i) - 2].op == Opcode::kReturnGenerator;
      if (begins && consumer_ == Consumer::kList) {
        snippet.put(Opcode::kBuildList, 0);
        snippet.put(Opcode::kStoreFast, total_);
      }
      begun |= begins;
      where.push_back(static_cast<int>(result->instructions.size()));
      if (instr.op == Opcode::kYieldValue) {
        putConsumer(snippet);
      } else if (instr.op == Opcode::kReturnValue) {
        snippet.put(Opcode::kPopTop);
        snippet.put(Opcode::kLoadFast, total_);
        snippet.put(Opcode::kReturnValue);
      } else {
        result->instructions.push_back(instr);
      }
      settled.resize(result->instructions.size());
      for (int own : snippet.own) settled[static_cast<size_t>(own)] = true;
    }
    if (!begun) return nullptr;
    where.push_back(static_cast<int>(result->instructions.size()));
    const auto moved = [&](int at) { return where[static_cast<size_t>(at)]; };
    for (size_t i = 0; i < result->instructions.size(); ++i) {
      int& target = result->instructions[i].target;
      if (target >= 0 && !settled[i]) target = moved(target);
    }
    for (cpython::Handler& handler : result->handlers)
      handler.start = moved(handler.start), handler.end = moved(handler.end), handler.target = moved(handler.target);
    return result;
  }

 private:
  enum Constant : uint8_t { kNone, kTrue, kFalse };
  void putConstant(Snippet& code, Constant which) const { code.put(Opcode::kLoadConst, nones_ + which); }

  /// What happens to the item on top of the stack. Leaves what the generator is sent.
  void putConsumer(Snippet& code) const {
    switch (consumer_) {
      case Consumer::kAny:
      case Consumer::kAll: {
        const bool any = consumer_ == Consumer::kAny;
        const size_t next = code.put(any ? Opcode::kPopJumpIfFalse : Opcode::kPopJumpIfTrue);
        putConstant(code, any ? kTrue : kFalse);
        code.put(Opcode::kReturnValue);
        code.land(next);
        break;
      }
      case Consumer::kNext: code.put(Opcode::kReturnValue); break;
      case Consumer::kSum:
        code.put(Opcode::kYieldValue);  // which only looks at it
        code.put(Opcode::kLoadFast, total_);
        code.put(Opcode::kSwap, 2);
        code.put(Opcode::kBinaryOp, cpython::kNbAdd);
        code.put(Opcode::kStoreFast, total_);
        break;
      case Consumer::kMin:
      case Consumer::kMax: {
        code.put(Opcode::kLoadFast, total_);
        const size_t first = code.put(Opcode::kPopJumpIfNone);
        code.put(Opcode::kCopy, 1);
        code.put(Opcode::kLoadFast, total_);
        code.put(Opcode::kCompareOp, consumer_ == Consumer::kMin ? Py_LT : Py_GT);
        const size_t worse = code.put(Opcode::kPopJumpIfFalse);
        code.land(first);
        code.put(Opcode::kStoreFast, total_);
        const size_t next = code.put(Opcode::kJump);
        code.land(worse);
        code.put(Opcode::kPopTop);
        code.land(next);
        break;
      }
      case Consumer::kList:
        code.put(Opcode::kLoadFast, total_);
        code.put(Opcode::kSwap, 2);
        code.put(Opcode::kListAppend, 1);
        code.put(Opcode::kPopTop);
        break;
    }
    putConstant(code, kNone);
  }

  const Bytecode& code_;
  const Consumer consumer_;
  const int total_;  ///< slot of what has been found so far
  int nones_ = 0;    ///< Constant::kNone among the constants
};

}  // namespace

std::unique_ptr<Bytecode> withConsumer(const Bytecode& code, Consumer consumer) {
  return runsThrough(code) ? Rewriting(code, consumer).run() : nullptr;
}

Value* ConsumedGenerators::run(GeneratorIterator& generator, Consumer consumer, Value* first, bool* floats) {
  Frame& frame = *generator.frame;
  const Bytecode& own = in.decodedAlone(frame.object());
  const Bytecode& code =
      InlinedGenerators{in, trace}.codeWith(*in.consumed_.at({frame.object(), static_cast<int>(consumer)}));
  frame.code = &code;
  frame.yieldsFloats = floats;
  frame.slots.resize(static_cast<size_t>(own.slotCount()));
  frame.slots.push_back(first);
  frame.slots.resize(static_cast<size_t>(code.slotCount()));
  (void)in.resume(generator, nullptr, nullptr);
  return generator.returned;
}

Value* ConsumedGenerators::byUs(const char* function, std::vector<Value*> args) {
  const Ref callable = functionOfOurs("fusewire._substitutes", function);
  return in.callConstant(trace.constant(callable.get()), {.positional = std::move(args), .keywords = {}});
}

Value* ConsumedGenerators::consume(Value* iterable, Consumer consumer, Value* otherwise) {
  GeneratorIterator* generator = in.generatorOf(iterable);
  const bool whole = in.mayRoll() && generator && generator->isNew();
  // What another name is left with is Python's business.
  if (!whole || (!folds(consumer) && in.isHeld(iterable))) return nullptr;
  PyCodeObject* code = generator->frame->object();
  std::unique_ptr<Bytecode>& known = in.consumed_[{code, static_cast<int>(consumer)}];
  if (!known) known = withConsumer(in.decodedAlone(code), consumer);
  if (!known) return nullptr;
  switch (consumer) {
    case Consumer::kAny: return run(*generator, consumer, trace.constant(Py_False), nullptr);
    case Consumer::kAll: return run(*generator, consumer, trace.constant(Py_True), nullptr);
    case Consumer::kSum: {
      bool floats = false;
      Value* total = run(*generator, consumer, otherwise, &floats);
      if (floats && !sumsPlainly()) trace.fail(BreakReason::kUnsupportedCall, "sum() of Python floats");
      return total;
    }
    case Consumer::kNext:
      if (otherwise) return run(*generator, consumer, otherwise, nullptr);
      break;
    case Consumer::kList: return run(*generator, consumer, nullptr, nullptr);
    case Consumer::kMin:
    case Consumer::kMax: break;
  }
  Value* nothing = trace.constant(Py_None);
  Value* result = run(*generator, consumer, nothing, nullptr);
  if (result == nothing) {
    if (otherwise) return otherwise;
    if (consumer == Consumer::kNext) in.stopIteration(nullptr);
    in.raiseAbout(PyExc_ValueError, "min() or max() of an empty sequence");
  }
  const bool isChoice = Choices::is(result) && std::any_of(result->items.begin(), result->items.end(),
                                                           [](const Value* thing) { return thing->isNone(); });
  // One of its items may be None.
  if (result->isNone() || (isChoice && otherwise && !otherwise->isNone()))
    trace.fail(BreakReason::kUnsupportedCall, "min(), max() or next() of what may be None");
  if (otherwise) return byUs("_or_default", {result, otherwise});
  return isChoice || MixedNumbers::mayBeNone(result) ? byUs("_if_any", {result}) : result;
}

}  // namespace fw::capture
