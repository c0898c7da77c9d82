#include "frame_eval/splice/inlined_generator.h"

#include <algorithm>
#include <map>

#include "cpython/code_facts.h"
#include "frame_eval/splice/control_flow.h"

namespace fw::capture {

using cpython::Bytecode;
using cpython::checked;
using cpython::Instr;
using cpython::Opcode;
using cpython::OpcodeArg;
using cpython::Ref;

namespace {

constexpr size_t kMostInstructions = 4000;
/// Instructions of bodies in all, where a generator yields at several places.
constexpr size_t kMostCopied = 1500;
/// Entries of the stack that are dropped where the loop is left, and those above them.
constexpr int kMostDropped = 4;

bool adds(Opcode op) { return op == Opcode::kListAppend || op == Opcode::kSetAdd || op == Opcode::kMapAdd; }

/// What a handler does that only puts variables back in order (comprehensions) or says what StopIteration becomes.
bool isHarmless(const Bytecode& code, const cpython::Handler& handler) {
  const Opcode op = code.instructions[static_cast<size_t>(handler.target)].op;
  return op == Opcode::kSwap || op == Opcode::kStopIterationError;
}

bool handles(const Bytecode& code, const std::vector<bool>* inside) {
  return std::any_of(code.handlers.begin(), code.handlers.end(), [&](const cpython::Handler& handler) {
    if (isHarmless(code, handler)) return false;
    if (!inside) return true;
    for (int i = handler.start; i < handler.end; ++i)
      if ((*inside)[static_cast<size_t>(i)]) return true;
    return false;
  });
}

Ref joined(PyObject* first, PyObject* second) { return checked(PySequence_Concat(first, second)); }

class Inliner {
 public:
  Inliner(const Bytecode& caller, int walk, const Bytecode& generator)
      : caller_(caller),
        generator_(generator),
        walk_(walk),
        out_(caller) {}

  std::optional<Bytecode> run() {
    if (!prepare()) return std::nullopt;
    joinTables();
    enter();
    const int size = static_cast<int>(generator_.instructions.size());
    std::vector<int> places(static_cast<size_t>(size), -1);
    std::vector<std::pair<size_t, int>> jumps;
    for (int i = begin_; i < size; ++i) {
      places[static_cast<size_t>(i)] = here();
      const Instr& instr = generator_.instructions[static_cast<size_t>(i)];
      if (heights_.at[static_cast<size_t>(i)] < 0) continue;
      if (instr.op == Opcode::kYieldValue) {
        putBody(instr, heights_.at[static_cast<size_t>(i)] - 1);
      } else if (instr.op == Opcode::kReturnValue) {
        put(instr, Opcode::kPopTop);
        put(instr, Opcode::kPopTop);
        leaveFor(instr, exit_);
      } else {
        Instr own = shifted(instr);
        if (own.target >= 0) jumps.emplace_back(out_.instructions.size(), own.target);
        out_.instructions.push_back(own);
      }
    }
    for (const auto& [at, target] : jumps) out_.instructions[at].target = places[static_cast<size_t>(target)];
    if (out_.instructions.size() > kMostInstructions || refused_) return std::nullopt;
    return std::move(out_);
  }

 private:
  int here() const { return static_cast<int>(out_.instructions.size()); }
  Instr& put(const Instr& like, Opcode op, int arg = 0) {
    out_.instructions.push_back({.op = op, .arg = arg, .unit = like.unit, .copy = copy_, .position = like.position});
    return out_.instructions.back();
  }
  void leaveFor(const Instr& like, int target) {
    Instr& jump = put(like, Opcode::kJump);
    jump.target = target;
    jump.flags = 1;
  }

  /// Finds out whether it can be done, and how.
  bool prepare() {
    const std::vector<Instr>& own = generator_.instructions;
    const auto made =
        std::find_if(own.begin(), own.end(), [](const Instr& i) { return i.op == Opcode::kReturnGenerator; });
    if (own.end() - made < 2 || (made + 1)->op != Opcode::kPopTop || !runsThrough(generator_)) return false;
    begin_ = static_cast<int>(made - own.begin()) + 2;
    heights_ = heightsFrom(generator_, begin_, 0, nullptr);
    if (!heights_.known) return false;
    size_t yields = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      if (heights_.at[i] < 0) continue;
      yields += own[i].op == Opcode::kYieldValue;
      const bool needsOwnFrame = own[i].op == Opcode::kLoadSuperAttr || own[i].op == Opcode::kLoadLocals ||
                                 (own[i].op == Opcode::kReturnValue && heights_.at[i] != 1);
      if (needsOwnFrame) return false;
    }
    exit_ = caller_.instructions[static_cast<size_t>(walk_)].target;
    for (const Loop& loop : naturalLoops(flowOf(caller_).flow))
      if (loop.header == walk_) body_ = loop.contains;
    body_.resize(caller_.instructions.size());
    body_[static_cast<size_t>(walk_)] = false;
    const size_t copied = yields * static_cast<size_t>(std::count(body_.begin(), body_.end(), true));
    std::vector<bool> covered = body_;
    covered[static_cast<size_t>(walk_)] = true;
    if (copied > kMostCopied || handles(caller_, &covered)) return false;
    inBody_ = heightsFrom(caller_, walk_ + 1, 1, &body_);
    return inBody_.known;
  }

  void joinTables() {
    PyCodeObject* own = generator_.object();
    PyCodeObject* code = caller_.object();
    PyObject* constants = out_.constants ? out_.constants.get() : code->co_consts;
    PyObject* names = out_.names ? out_.names.get() : code->co_names;
    PyObject* variables = out_.variables ? out_.variables.get() : code->co_localsplusnames;
    firstConstant_ = static_cast<int>(PyTuple_GET_SIZE(constants));
    firstName_ = static_cast<int>(PyTuple_GET_SIZE(names));
    firstSlot_ = static_cast<int>(PyTuple_GET_SIZE(variables));
    Ref none = checked(PyTuple_Pack(1, Py_None));
    none_ = firstConstant_ + static_cast<int>(PyTuple_GET_SIZE(own->co_consts));
    out_.constants = joined(joined(constants, own->co_consts).get(), none.get());
    out_.names = joined(names, own->co_names);
    out_.variables = joined(variables, own->co_localsplusnames);
    isOfOtherFile_ = PyUnicode_Compare(own->co_filename, code->co_filename) != 0;
    out_.inlined.push_back({Ref::create(reinterpret_cast<PyObject*>(own)), firstSlot_, here(), walk_,
                            caller_.instructions[static_cast<size_t>(walk_)]});
  }

  void enter() {
    Instr& walk = out_.instructions[static_cast<size_t>(walk_)];
    walk.op = Opcode::kEnterGenerator;
    walk.arg = static_cast<int>(out_.inlined.size()) - 1;
    walk.target = here();
    const Instr like = walk;
    std::vector<int> slots = startSlots(generator_);
    for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) put(like, Opcode::kStoreFast, firstSlot_ + *slot);
  }

  Instr shifted(Instr instr) const {
    if (isOfOtherFile_) instr.position = caller_.instructions[static_cast<size_t>(walk_)].position;
    switch (cpython::info(instr.op).arg) {
      case OpcodeArg::kConst: instr.arg += firstConstant_; break;
      case OpcodeArg::kName: instr.arg += firstName_; break;
      case OpcodeArg::kSlot: instr.arg += firstSlot_; break;
      case OpcodeArg::kNone:
      case OpcodeArg::kCount:
      case OpcodeArg::kJump:
      case OpcodeArg::kOp:
      case OpcodeArg::kFlags: break;
    }
    return instr;
  }

  /// The loop's body. The item is on the stack, below it `below` entries of the generator's own and the iterator.
  void putBody(const Instr& yield, int below) {
    copy_ = static_cast<int>(out_.instructions.size());  // no other copy begins here
    std::vector<int> places(body_.size(), -1);
    std::vector<std::pair<size_t, int>> jumps;
    const auto putJump = [&](const Instr& like, int target) {
      put(like, Opcode::kJump);
      jumps.emplace_back(out_.instructions.size() - 1, target);
    };
    int next = walk_ + 1;  // what has to come now
    for (size_t i = 0; i < body_.size(); ++i) {
      if (!body_[i]) continue;
      const Instr& instr = caller_.instructions[i];
      if (next >= 0 && next != static_cast<int>(i)) putJump(yield, next);
      places[i] = here();
      Instr own = instr;
      own.copy = copy_;
      if (const int height = inBody_.at[i] - cpython::stackEffect(instr).pops; adds(instr.op) && instr.arg > height)
        own.arg += below;  // of a comprehension, which lies below the iterator
      if (own.target >= 0) jumps.emplace_back(out_.instructions.size(), own.target);
      out_.instructions.push_back(own);
      next = endsFlow(instr.op) ? -1 : static_cast<int>(i) + 1;
    }
    if (next >= 0) putJump(yield, next);
    std::map<int, int> leavesAt;  // by where the caller goes on
    for (const auto& [target, height] : inBody_.behind) {
      if (target == walk_) continue;
      leavesAt[target] = here();
      drop(yield, below, height);
      leaveFor(caller_.instructions[static_cast<size_t>(target)], target);
    }
    const int back = here();
    put(yield, Opcode::kLoadConst, none_);
    for (const auto& [at, target] : jumps) {
      const int place = target == walk_ ? back : places[static_cast<size_t>(target)];
      out_.instructions[at].target = place >= 0 ? place : leavesAt.at(target);
    }
    copy_ = 0;
  }

  /// Takes `count` entries from below `above` others.
  void drop(const Instr& like, int count, int above) {
    refused_ |= count > kMostDropped || above > kMostDropped;
    for (int i = 0; i < count && !refused_; ++i) {
      if (above > 0) put(like, Opcode::kSwap, above + 1);
      put(like, Opcode::kPopTop);
      for (int k = 2; k <= above; ++k) put(like, Opcode::kSwap, k);
    }
  }

  const Bytecode &caller_, &generator_;
  const int walk_;
  Bytecode out_;
  int begin_ = 0;  ///< of the generator's own code, behind what makes it
  int exit_ = 0;   ///< where the caller goes on behind the loop
  StackHeights heights_, inBody_;
  std::vector<bool> body_;
  int firstConstant_ = 0, firstName_ = 0, firstSlot_ = 0, none_ = 0;
  int copy_ = 0;
  bool refused_ = false, isOfOtherFile_ = false;
};

}  // namespace

std::vector<int> startSlots(const Bytecode& generator) {
  const PyCodeObject* code = generator.object();
  std::vector<int> slots;
  for (int i = 0; i < cpython::boundArguments(code); ++i) slots.push_back(i);
  for (const Instr& instr : generator.instructions) {
    if (instr.op == Opcode::kReturnGenerator) break;
    if (instr.op == Opcode::kMakeCell) slots.push_back(instr.arg);
    if (instr.op == Opcode::kCopyFreeVars)
      for (int i = code->co_nlocalsplus - instr.arg; i < code->co_nlocalsplus; ++i) slots.push_back(i);
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

bool runsThrough(const Bytecode& generator) {
  const auto delegates = [](const Instr& instr) { return instr.op == Opcode::kSend; };
  const std::vector<Instr>& code = generator.instructions;
  return !handles(generator, nullptr) && std::none_of(code.begin(), code.end(), delegates);
}

std::optional<Bytecode> inlineGenerator(const Bytecode& caller, int walk, const Bytecode& generator) {
  return Inliner(caller, walk, generator).run();
}

}  // namespace fw::capture
