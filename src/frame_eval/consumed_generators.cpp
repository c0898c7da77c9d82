#include "frame_eval/consumed_generators.h"

#include "frame_eval/builtins.h"
#include "frame_eval/declared_calls.h"
#include "frame_eval/generator.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/mixed_numbers.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::Instr;
using cpython::Opcode;

namespace {

/// The iterator that an expression walks is its only argument. Its slot is free from there on.
constexpr int kIteratorSlot = 0;

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
  void putJump(Opcode op, int target) { out[put(op)].target = target; }
  void land(size_t jump) {
    out[jump].target = static_cast<int>(out.size());
    own.push_back(static_cast<int>(jump));
  }
};

bool folds(Consumer consumer) {
  return consumer == Consumer::kSum || consumer == Consumer::kMin || consumer == Consumer::kMax;
}

/// What happens to the item on top of the stack; goes on with the old instruction `next`.
void putConsumer(Snippet& code, Consumer consumer, int next, int none) {
  switch (consumer) {
    case Consumer::kAny:
    case Consumer::kAll:
      code.putJump(consumer == Consumer::kAny ? Opcode::kPopJumpIfFalse : Opcode::kPopJumpIfTrue, next);
      code.put(Opcode::kLoadConst, none);
      code.put(Opcode::kUnaryNot);
      if (consumer == Consumer::kAll) code.put(Opcode::kUnaryNot);
      code.put(Opcode::kReturnValue);
      return;
    case Consumer::kNext: code.put(Opcode::kReturnValue); return;
    case Consumer::kSum:
      code.put(Opcode::kYieldValue);  // which only looks at it
      code.put(Opcode::kLoadFast, kIteratorSlot);
      code.put(Opcode::kSwap, 2);
      code.put(Opcode::kBinaryOp, cpython::kNbAdd);
      code.put(Opcode::kStoreFast, kIteratorSlot);
      code.putJump(Opcode::kJump, next);
      return;
    case Consumer::kMin:
    case Consumer::kMax: {
      code.put(Opcode::kLoadFast, kIteratorSlot);
      const size_t first = code.put(Opcode::kPopJumpIfNone);
      code.put(Opcode::kCopy, 1);
      code.put(Opcode::kLoadFast, kIteratorSlot);
      code.put(Opcode::kCompareOp, consumer == Consumer::kMin ? Py_LT : Py_GT);
      const size_t worse = code.put(Opcode::kPopJumpIfFalse);
      code.land(first);
      code.put(Opcode::kStoreFast, kIteratorSlot);
      code.putJump(Opcode::kJump, next);
      code.land(worse);
      code.put(Opcode::kPopTop);
      code.putJump(Opcode::kJump, next);
      return;
    }
  }
  FW_UNREACHABLE();
}

/// Where an expression yields, and what it ends with.
struct Form {
  int walk = -1, yield = -1, drop = -1, end = -1;
};

std::optional<Form> formOf(const Bytecode& code) {
  const std::vector<Instr>& instructions = code.instructions;
  const int size = static_cast<int>(instructions.size());
  if (text(code.object()->co_name) != "<genexpr>") return std::nullopt;
  Form form;
  const auto once = [](int& place, int at) {
    const bool first = place < 0;
    place = at;
    return first;
  };
  for (int i = 0; i < size; ++i) {
    const Instr& instr = instructions[static_cast<size_t>(i)];
    const auto next = [&](int k) { return i + k < size ? instructions[static_cast<size_t>(i + k)].op : Opcode::kNop; };
    bool expected = true;
    if (instr.op == Opcode::kSend || instr.op == Opcode::kStoreDeref) expected = false;
    if (instr.op == Opcode::kLoadFast && instr.arg == kIteratorSlot)
      expected = next(1) == Opcode::kForIter && once(form.walk, i);
    if (instr.op == Opcode::kYieldValue) expected = once(form.yield, i);
    if (instr.op == Opcode::kReturnValue) {
      const bool none = i > 0 && instructions[static_cast<size_t>(i - 1)].op == Opcode::kLoadConst;
      expected = none && once(form.end, i - 1);
    }
    if (!expected) return std::nullopt;
  }
  if (form.walk < 0 || form.yield < 0 || form.end < 0) return std::nullopt;
  form.drop = form.yield + 1;
  while (form.drop < size && instructions[static_cast<size_t>(form.drop)].op == Opcode::kResume) ++form.drop;
  const bool drops = form.drop < size && instructions[static_cast<size_t>(form.drop)].op == Opcode::kPopTop;
  return drops ? std::optional(form) : std::nullopt;
}

}  // namespace

std::unique_ptr<Bytecode> withConsumer(const Bytecode& code, Consumer consumer) {
  const std::optional<Form> form = formOf(code);
  if (!form) return nullptr;
  auto result = std::make_unique<Bytecode>();
  result->decoded = code.decoded;
  result->code = code.code;
  const int size = static_cast<int>(code.instructions.size());
  const int none = code.instructions[static_cast<size_t>(form->end)].arg;
  std::vector<int> where;  // by old instruction, and behind the last one
  std::vector<bool> settled;
  for (int i = 0; i < size; ++i) {
    const Instr& instr = code.instructions[static_cast<size_t>(i)];
    where.push_back(static_cast<int>(result->instructions.size()));
    Snippet snippet{instr, result->instructions, {}};
    if (i == form->walk && folds(consumer)) {
      snippet.put(Opcode::kLoadFast, kIteratorSlot);
      snippet.put(Opcode::kSwap, 2);
      snippet.put(Opcode::kStoreFast, kIteratorSlot);
    } else if (i == form->yield) {
      putConsumer(snippet, consumer, form->drop + 1, none);
    } else if (i > form->yield && i <= form->drop) {
      snippet.put(Opcode::kNop);
    } else if (i == form->end) {
      folds(consumer) ? snippet.put(Opcode::kLoadFast, kIteratorSlot) : snippet.put(Opcode::kNop);
    } else {
      result->instructions.push_back(instr);
    }
    settled.resize(result->instructions.size());
    for (int own : snippet.own) settled[static_cast<size_t>(own)] = true;
  }
  where.push_back(static_cast<int>(result->instructions.size()));
  const auto moved = [&](int at) { return where[static_cast<size_t>(at)]; };
  for (size_t i = 0; i < result->instructions.size(); ++i) {
    int& target = result->instructions[i].target;
    if (target >= 0 && !settled[i]) target = moved(target);
  }
  for (cpython::Handler handler : code.handlers) {
    handler.start = moved(handler.start), handler.end = moved(handler.end), handler.target = moved(handler.target);
    result->handlers.push_back(handler);
  }
  return result;
}

Value* ConsumedGenerators::run(GeneratorIterator& generator, const Bytecode& code, Value* bottom, bool* floats) {
  Frame& frame = *generator.frame;
  frame.code = &code;
  frame.yieldsFloats = floats;
  // It stands behind RETURN_GENERATOR, and nothing has come before that but cells.
  frame.stack.insert(frame.stack.begin(), bottom);
  (void)in.resume(generator, nullptr, nullptr);
  return generator.returned;
}

Value* ConsumedGenerators::byUs(const char* function, std::vector<Value*> args) {
  const Ref callable = functionOfOurs("fusewire._substitutes", function);
  return in.callConstant(trace.constant(callable.get()), {.positional = std::move(args), .keywords = {}});
}

Value* ConsumedGenerators::consume(Value* iterable, Consumer consumer, Value* otherwise) {
  GeneratorIterator* generator = in.generatorOf(iterable);
  const bool whole = in.mayRoll() && generator && generator->frame && !generator->started && !generator->running;
  // What another name is left with is Python's business.
  if (!whole || (!folds(consumer) && in.isHeld(iterable))) return nullptr;
  PyCodeObject* code = generator->frame->object();
  std::unique_ptr<Bytecode>& known = in.consumed_[{code, static_cast<int>(consumer)}];
  if (!known) known = withConsumer(in.decoded(code), consumer);
  if (!known) return nullptr;
  switch (consumer) {
    case Consumer::kAny: return run(*generator, *known, trace.constant(Py_False), nullptr);
    case Consumer::kAll: return run(*generator, *known, trace.constant(Py_True), nullptr);
    case Consumer::kSum: {
      bool floats = false;
      Value* total = run(*generator, *known, otherwise, &floats);
      if (floats && !sumsPlainly()) trace.fail(BreakReason::kUnsupportedCall, "sum() of Python floats");
      return total;
    }
    case Consumer::kNext:
      if (otherwise) return run(*generator, *known, otherwise, nullptr);
      break;
    case Consumer::kMin:
    case Consumer::kMax: break;
  }
  Value* nothing = trace.constant(Py_None);
  Value* result = run(*generator, *known, nothing, nullptr);
  if (result == nothing) {
    if (otherwise) return otherwise;
    if (consumer == Consumer::kNext) in.stopIteration(nullptr);
    in.raiseAbout(PyExc_ValueError, "min() or max() of an empty sequence");
  }
  if (result->isConstant() && result->object.get() == Py_None)
    trace.fail(BreakReason::kUnsupportedCall, "min(), max() or next() of what may be None");
  if (otherwise) return byUs("_or_default", {result, otherwise});
  return MixedNumbers::mayBeNone(result) ? byUs("_if_any", {result}) : result;
}

}  // namespace fw::capture
