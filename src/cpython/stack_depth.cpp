// The value stack, by a walk over the control flow: what an instruction pushes and pops comes from CPython's own stack
// effects (opcode_layout.inc). A handler begins with the stack cut to its depth, the offset of the failing
// instruction if it wants that, and the exception. Depths of two paths that meet must agree: CPython relies on it, so
// an edit that breaks it is found here, before the code runs.
#include <algorithm>

#include "cpython/assembler.h"
#include "cpython/opcode_layout.h"

namespace fw::cpython {
namespace {

class Walk {
 public:
  explicit Walk(const Assembly& assembly) : assembly_(assembly), in_(assembly.instructions), depth_(in_.size(), -1) {
    handlerOf_.assign(in_.size(), nullptr);
    for (const Handler& h : assembly.handlers) {
      for (int i = std::max(h.start, 0); i < h.end && i < size(); ++i) handlerOf_[i] = &h;
    }
  }

  void run() {
    reach(0, 0, 0);
    while (!work_.empty()) {
      int i = work_.back();
      work_.pop_back();
      visit(i);
    }
  }

  std::vector<int> take() { return std::move(depth_); }
  int largest() const { return largest_; }

 private:
  int size() const { return static_cast<int>(in_.size()); }

  void visit(int i) {
    const RawInstr& instr = in_[i];
    if (const Handler* h = handlerOf_[i]) {
      if (depth_[i] < h->depth) fail("less on the stack than its exception handler expects", i);
      reach(i, h->target, h->depth + (h->lasti ? 1 : 0) + 1);
    }
    Flow flow = layoutOf(instr.opcode).flow;
    if (flow == Flow::kBranch || flow == Flow::kJump) {
      reach(i, instr.target, depth_[i] + stackEffect(instr.opcode, instr.arg, true));
    }
    int after = depth_[i] + stackEffect(instr.opcode, instr.arg, false);
    if (flow == Flow::kBranch || flow == Flow::kNext) {
      reach(i, i + 1, after);
    } else if (after < 0) {
      fail("takes more from the stack than there is", i);
    }
  }

  void reach(int from, int to, int depth) {
    if (to < 0 || to >= size()) fail("control runs out of the code", from);
    if (depth < 0) fail("takes more from the stack than there is", from);
    largest_ = std::max(largest_, depth);
    if (depth_[to] == depth) return;
    if (depth_[to] >= 0) fail("paths with different stack depths meet behind it", from);
    depth_[to] = depth;
    work_.push_back(to);
  }

  [[noreturn]] void fail(const char* what, int index) const {
    PyErr_Format(PyExc_SystemError, "assembler: %s (instruction %d of %U)", what, index, assembly_.qualname.get());
    throw PythonError();
  }

  const Assembly& assembly_;
  const std::vector<RawInstr>& in_;
  std::vector<int> depth_;
  std::vector<const Handler*> handlerOf_;
  std::vector<int> work_;
  int largest_ = 0;
};

}  // namespace

std::vector<int> stackDepths(const Assembly& assembly, int* largest) {
  Walk walk(assembly);
  walk.run();
  if (largest) *largest = walk.largest();
  return walk.take();
}

Successors successors(const Assembly& assembly, int index) {
  const RawInstr& instr = assembly.instructions[index];
  Flow flow = layoutOf(instr.opcode).flow;
  Successors result;
  if (flow == Flow::kNext || flow == Flow::kBranch) result.next = index + 1;
  if (flow == Flow::kJump || flow == Flow::kBranch) {
    result.jump = instr.target + (instr.opcode == raw::kFOR_ITER ? kForIterSkip : 0);
  }
  return result;
}

int stackSize(const Assembly& assembly) {
  int largest = 0;
  stackDepths(assembly, &largest);
  return largest;
}

}  // namespace fw::cpython
