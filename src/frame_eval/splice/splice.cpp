// The stub of a region, h being its headroom:
//
//     one end                            several ends
//     LOAD_CONST None       h times      LOAD_CONST None       h times
//     CALL callable                      CALL callable
//     POP_JUMP_IF_NONE declined          COPY; POP_JUMP_IF_NONE declined
//     POP_TOP               drop         COPY; LOAD_CONST 0; IS_OP; POP_JUMP_IF_FALSE next
//     JUMP end                           POP_TOP               answer, drop
//   declined:                            JUMP end 0
//     POP_TOP               h times    next: ... the last end needs no comparison
//     original instructions            declined: POP_TOP       h + 1 times
//
// Conditional jumps go forward only, as 3.12 wants it. From the first end up to `declined` no exception handler covers
// the stub: the end may lie outside of the `with` or `try` that the region begins in, with less on the stack than its
// handler expects, and nothing there can raise: dropped entries raise nothing, and a jump back does not look for
// signals (the CALL has done that, so that a loop made of regions can be interrupted). Small ints are immortal or
// cached: identity is enough.
#include "frame_eval/splice/splice.h"

#include <algorithm>

#include "frame_eval/exit_plan.h"

namespace fw::capture {
namespace {

using cpython::inside;
using cpython::Instr;
using cpython::Opcode;

[[noreturn]] void fail(const CodeMap& map, const char* what, int instr) {
  PyErr_Format(PyExc_SystemError, "splice: %s (instruction %d of %U)", what, instr, map.object()->co_qualname);
  throw cpython::PythonError();
}

class StubBuilder {
 public:
  StubBuilder(const CodeMap& map, const Stub& stub, cpython::Assembly& assembly)
      : map_(map),
        stub_(stub),
        assembly_(assembly),
        height_(map.depth(stub.start) + stubHeadroom(map, stub)) {}

  cpython::Insertion build() {
    const int headroom = stubHeadroom(map_, stub_);
    for (int i = 0; i < headroom; ++i) emit(Opcode::kLoadConst, assembly_.addConstant(Py_None));
    appendCallable(code_, assembly_.addConstant(stub_.callable.get()), {});
    emit(Opcode::kCall, 0);
    if (stub_.ends.empty()) {
      emit(Opcode::kPopTop);
      return {map_.rawIndex(stub_.start), std::move(code_), true, {0, 0}};
    }
    const bool several = stub_.ends.size() > 1;
    if (several) emit(Opcode::kCopy, 1);
    const int test = emit(Opcode::kPopJumpIfNone);
    const int first = size();
    for (size_t k = 0; k < stub_.ends.size(); ++k) leaveBy(static_cast<int>(k), several);
    code_[test].target = inside(size());
    const int last = size();
    drop(headroom + (several ? 1 : 0));
    if (size() == last) {
      // Not executed. While a Python function runs that an instruction has called, 3.13 looks for the handler of what
      // stands before that instruction; this must not be the part without handlers.
      code_[test].target = inside(size() + 1);
      emit(Opcode::kNop);
    }
    return {map_.rawIndex(stub_.start), std::move(code_), true, {first, last}};
  }

 private:
  int size() const { return static_cast<int>(code_.size()); }
  int emit(Opcode op, int arg = 0) {
    code_.push_back({.op = op, .arg = arg});
    return size() - 1;
  }
  void drop(int count) {
    for (int i = 0; i < count; ++i) emit(Opcode::kPopTop);
  }

  void leaveBy(int number, bool several) {
    const StubEnd& end = stub_.ends[number];
    const bool returns = end.target == ExitPlan::kReturn;
    const int depth = returns ? 1 : end.depth;
    int test = -1;
    if (number + 1 < static_cast<int>(stub_.ends.size())) {
      emit(Opcode::kCopy, 1);
      emit(Opcode::kLoadConst, assembly_.addConstant(cpython::checked(PyLong_FromLong(number)).get()));
      emit(Opcode::kIsOp);
      test = emit(Opcode::kPopJumpIfFalse);
    }
    drop(height_ - depth + (several ? 1 : 0));
    if (returns) {
      emit(Opcode::kReturnValue);
    } else {
      const int jump = emit(Opcode::kJump);
      code_[jump].target = map_.rawIndex(end.target);
      code_[jump].flags = cpython::kUninterrupted;
    }
    if (test >= 0) code_[test].target = inside(size());
  }

  const CodeMap& map_;
  const Stub& stub_;
  cpython::Assembly& assembly_;
  const int height_;  // of the stack when the region runs
  std::vector<Instr> code_;
};

void check(const CodeMap& map, const std::vector<Stub>& stubs) {
  std::vector<int> starts;
  for (const Stub& stub : stubs) {
    if (!map.allows(stub.start)) fail(map, "no region may begin there", stub.start);
    for (const StubEnd& end : stub.ends) {
      if (end.target == ExitPlan::kReturn) continue;
      if (!map.allows(end.target)) fail(map, "no region may end there", end.target);
      if (map.depth(end.target) != end.depth) fail(map, "an end with another stack depth", end.target);
    }
    starts.push_back(stub.start);
  }
  std::sort(starts.begin(), starts.end());
  auto twice = std::adjacent_find(starts.begin(), starts.end());
  if (twice != starts.end()) fail(map, "two regions begin there", *twice);
}

}  // namespace

int stubHeadroom(const CodeMap& map, const Stub& stub) {
  int height = map.depth(stub.start);
  for (const StubEnd& end : stub.ends) height = std::max(height, end.target == ExitPlan::kReturn ? 1 : end.depth);
  return height - map.depth(stub.start);
}

cpython::Ref splice(const CodeMap& map, const std::vector<Stub>& stubs) {
  check(map, stubs);
  cpython::Assembly assembly = map.assembly();
  std::vector<cpython::Insertion> insertions;
  for (const Stub& stub : stubs) insertions.push_back(StubBuilder(map, stub, assembly).build());
  cpython::insert(assembly, insertions);
  cpython::joinPairs(assembly);
  return cpython::assemble(assembly);
}

}  // namespace fw::capture
