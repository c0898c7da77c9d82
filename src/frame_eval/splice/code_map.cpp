// Two views of one code object are matched by code unit: neutral instructions, which capture follows, and raw ones,
// between which stubs stand. A raw instruction may be several neutral ones (RETURN_CONST) or none (PRECALL, which
// belongs to the CALL behind it), so a stub can stand before a neutral instruction only if its raw ones begin there;
// everything that is asked for a place elsewhere is moved within its straight line.
#include "frame_eval/splice/code_map.h"

#include <algorithm>
#include <string_view>

namespace fw::capture {

using cpython::Handler;
using cpython::Instr;
using cpython::Opcode;
using cpython::RawInstr;

namespace {

/// Names by which code can reach its own frame.
constexpr std::string_view kFrameReaders[] = {
    "locals",          "vars",  "dir",   "eval",     "exec",      "_getframe",  "currentframe",
    "_current_frames", "stack", "trace", "f_locals", "set_trace", "breakpoint", "breakpointhook"};

bool isCall(Opcode op) { return op == Opcode::kCall || op == Opcode::kCallKw || op == Opcode::kCallEx; }

/// Could it be work on arrays?
bool isWork(Opcode op) {
  return isCall(op) || op == Opcode::kBinaryOp || op == Opcode::kCompareOp || op == Opcode::kUnaryNegative ||
         op == Opcode::kUnaryPositive || op == Opcode::kUnaryInvert || op == Opcode::kUnaryNot ||
         op == Opcode::kBinarySubscr || op == Opcode::kStoreSubscr || op == Opcode::kLoadMethod;
}

/// Where the body begins of the `except` clause whose test `at` is, or of the handler without tests that begins at `at`
/// (a bare `except`, a `finally`); -1 if it is neither.
int handlerBody(const std::vector<Instr>& code, int at) {
  const int size = static_cast<int>(code.size());
  if (code[at].op == Opcode::kCheckExcMatch)
    return at + 3 < size ? at + 3 : -1;  // behind its branch, and what stores it
  if (code[at].op != Opcode::kPushExcInfo) return -1;
  for (int i = at + 1; i < size && code[i].target < 0; ++i) {
    if (code[i].op == Opcode::kPopTop && i == at + 1) return i + 1 < size ? i + 1 : -1;
    for (Opcode test : {Opcode::kCheckExcMatch, Opcode::kCheckEgMatch, Opcode::kWithExceptStart})
      if (code[i].op == test) return -1;
    if (code[i].op == Opcode::kReraise) break;
  }
  return at + 1;
}

/// What an instruction adds to the stack, of those that may stand before another one within the same raw instruction.
int growth(const Instr& instr) {
  const cpython::StackEffect effect = cpython::stackEffect(instr);
  return effect.pops == cpython::kNoEffect ? 0 : effect.pushes - effect.pops;
}

}  // namespace

CodeMap::CodeMap(PyCodeObject* code) : code_(cpython::decode(code)), assembly_(cpython::disassemble(code)) {
  code_.code = cpython::Ref();  // the map may belong to the code object
  cpython::splitPairs(assembly_);
  allowed_ = cpython::insertionPoints(assembly_);
  matchInstructions();
  readFlow();
  findDepths();
  loops_ = naturalLoops(flow_);
  live_.emplace(code_, flow_, slotsReadEverywhere());
}

void CodeMap::matchInstructions() {
  const std::vector<Instr>& neutral = code_.instructions;
  const std::vector<RawInstr>& raw = assembly_.instructions;
  raw_.assign(neutral.size(), -1);
  owner_.assign(neutral.size(), -1);
  size_t next = 0;
  int begin = -1;  // first raw instruction since the last one that has a neutral form
  for (size_t r = 0; r < raw.size(); ++r) {
    const bool half = r + 1 < raw.size() && raw[r + 1].unit == raw[r].unit;  // first part of a pair that was split
    const size_t first = next;
    neutral_.push_back(static_cast<int>(next));
    if (begin < 0) begin = static_cast<int>(r);
    while (next < neutral.size() && neutral[next].unit == raw[r].unit) {
      owner_[next++] = static_cast<int>(r);
      if (half) break;
    }
    if (next == first) continue;
    raw_[first] = begin;
    begin = -1;
  }
  neutral_.push_back(static_cast<int>(next));
  if (next != neutral.size()) {
    PyErr_Format(PyExc_SystemError, "splice: two readings of %U differ", code_.object()->co_qualname);
    throw cpython::PythonError();
  }
}

void CodeMap::readFlow() {
  const std::vector<Instr>& neutral = code_.instructions;
  const int size = static_cast<int>(neutral.size());
  flow_.next.assign(size, {-1, -1});
  flow_.handler.assign(size, -1);
  for (const Handler& h : code_.handlers)
    std::fill(flow_.handler.begin() + h.start, flow_.handler.begin() + h.end, h.target);
  for (int i = 0; i < size; ++i) {
    const Instr& instr = neutral[i];
    std::array<int, 2>& next = flow_.next[i];
    if (instr.op == Opcode::kUnsupported) {
      const cpython::Successors raw = cpython::successors(assembly_, owner_[i]);
      next = {raw.next < 0 ? -1 : neutral_[raw.next], raw.jump < 0 ? -1 : neutral_[raw.jump]};
    } else if (instr.op != Opcode::kReturnValue && instr.op != Opcode::kRaiseVarargs && instr.op != Opcode::kReraise) {
      next = {instr.op == Opcode::kJump ? -1 : i + 1, instr.target};
    }
    for (int& to : next)
      if (to >= size) to = -1;  // an unreachable last instruction
  }
  joined_.assign(size, false);
  for (int i = 0; i < size; ++i) {
    const int to = flow_.next[i][1];
    // No region runs from a SEND back to it, so that only the way from before it counts.
    const bool delegates =
        to >= 0 && neutral[to].op == Opcode::kUnsupported && cpython::rawName(neutral[to].arg) == "SEND";
    if (to >= 0 && !delegates) joined_[to] = true;
    if (flow_.handler[i] >= 0) joined_[flow_.handler[i]] = true;
  }
}

void CodeMap::findDepths() {
  const std::vector<int> raw = cpython::stackDepths(assembly_);
  depth_.assign(owner_.size(), -1);
  for (size_t i = 0; i < owner_.size(); ++i) {
    const Opcode op = code_.instructions[i].op;
    if (raw[owner_[i]] < 0) continue;
    if (raw_[i] < 0) {
      depth_[i] = depth_[i - 1] + growth(code_.instructions[i - 1]);
    } else {
      // PRECALL takes the arguments away already. Up to 3.12 names of keywords are on the stack of the neutral code
      // only.
      const int depth = raw[raw_[i]];
      depth_[i] = depth + (op == Opcode::kCallKw && raw[owner_[i - 1]] == depth ? 1 : 0);
    }
  }
}

std::vector<bool> CodeMap::slotsReadEverywhere() const {
  const PyCodeObject* code = code_.object();
  std::vector<bool> always(slotCount(), false);
  for (int s = slotCount() - code->co_nfreevars; s < slotCount(); ++s) always[s] = true;
  for (const Instr& instr : code_.instructions)
    if (instr.op == Opcode::kMakeCell) always[instr.arg] = true;
  for (const cpython::Ref& name : assembly_.names) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name.get(), &length);
    if (!text) {
      PyErr_Clear();  // a lone surrogate: none of those that we look for
      continue;
    }
    const std::string_view view(text, static_cast<size_t>(length));
    if (view == "super" && !always.empty()) always[0] = true;  // without arguments it reads the first local
    if (std::find(std::begin(kFrameReaders), std::end(kFrameReaders), view) != std::end(kFrameReaders))
      always.assign(always.size(), true);
  }
  return always;
}

int CodeMap::slotCount() const { return code_.object()->co_nlocalsplus; }

int CodeMap::depth(int instr) const { return depth_[instr]; }

bool CodeMap::allows(int instr) const {
  return instr >= 0 && instr < static_cast<int>(raw_.size()) && raw_[instr] >= 0 && allowed_[raw_[instr]] &&
         depth_[instr] >= 0;
}

int CodeMap::forward(int instr) const {
  while (instr >= 0 && !allows(instr)) {
    const auto [next, jump] = flow_.next[instr];
    instr = jump < 0 ? next : -1;
  }
  return instr;
}

int CodeMap::entry() const {
  const std::vector<Instr>& code = code_.instructions;
  auto resume = std::find_if(code.begin(), code.end(), [](const Instr& i) { return i.op == Opcode::kResume; });
  return resume == code.end() ? -1 : forward(static_cast<int>(resume - code.begin()));
}

int CodeMap::stopFor(int instr) const {
  if (instr < 0 || instr >= static_cast<int>(raw_.size())) return -1;
  while (!allows(instr)) {
    if (instr == 0 || joined_[instr] || flow_.next[instr - 1] != std::array<int, 2>{instr, -1}) return -1;
    --instr;
  }
  return instr;
}

std::vector<int> CodeMap::startsAfter(int stop) const {
  std::vector<int> starts;
  if (stop < 0 || stop >= static_cast<int>(raw_.size())) return starts;
  for (int to : flow_.next[stop]) {
    const int start = forward(to);
    if (start >= 0 && std::find(starts.begin(), starts.end(), start) == starts.end()) starts.push_back(start);
  }
  return starts;
}

std::vector<int> CodeMap::headersOf(int instr) const {
  std::vector<int> headers;
  for (const Loop& loop : loops_)
    if (loop.contains[instr]) headers.push_back(loop.header);
  return headers;
}

std::vector<int> CodeMap::candidates() const {
  const std::vector<Instr>& code = code_.instructions;
  const int size = static_cast<int>(code.size());
  std::vector<int> starts = {entry()};
  for (int i = 0; i < size; ++i) {
    if (isCall(code[i].op) || code[i].op == Opcode::kForIter) starts.push_back(forward(i + 1 < size ? i + 1 : -1));
    starts.push_back(forward(handlerBody(code, i)));
  }
  for (const Loop& loop : loops_) {
    const Opcode op = code[loop.header].op;
    if (op != Opcode::kForIter && op != Opcode::kUnsupported) starts.push_back(forward(loop.header));
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  if (!starts.empty() && starts.front() < 0) starts.erase(starts.begin());
  std::vector<bool> works;
  for (const Instr& instr : code) works.push_back(isWork(instr.op));
  for (const Loop& loop : loops_)  // `for v in x` is nothing by itself; what stands in it is
    for (int i = 0; i < size && !works[loop.header]; ++i) works[loop.header] = loop.contains[i] && isWork(code[i].op);
  std::vector<int> worthwhile;
  for (size_t k = 0; k < starts.size(); ++k) {
    const auto first = works.begin() + starts[k],
               last = k + 1 < starts.size() ? works.begin() + starts[k + 1] : works.end();
    if (std::find(first, last, true) != last) worthwhile.push_back(starts[k]);
  }
  return worthwhile;
}

}  // namespace fw::capture
