#include "cpython/loop_tests.h"

#include <algorithm>

namespace fw::cpython {
namespace {

constexpr int kLongestTest = 64, kLongestExit = 8;

bool isConditional(Opcode op) {
  return op == Opcode::kPopJumpIfFalse || op == Opcode::kPopJumpIfTrue || op == Opcode::kPopJumpIfNone ||
         op == Opcode::kPopJumpIfNotNone;
}

bool areOpposite(Opcode a, Opcode b) {
  const auto pair = [&](Opcode one, Opcode other) { return (a == one && b == other) || (a == other && b == one); };
  return pair(Opcode::kPopJumpIfFalse, Opcode::kPopJumpIfTrue) ||
         pair(Opcode::kPopJumpIfNone, Opcode::kPopJumpIfNotNone);
}

class Tests {
 public:
  explicit Tests(std::vector<Instr>& code) : code_(code) {}

  void join() {
    for (int at = 0; at < size(); ++at) {
      const Instr& back = code_[static_cast<size_t>(at)];
      if (back.target < 0 || back.target >= at) continue;
      if (back.op == Opcode::kJump || isConditional(back.op)) joinAt(at, back.target);
    }
  }

 private:
  int size() const { return static_cast<int>(code_.size()); }
  const Instr& at(int index) const { return code_[static_cast<size_t>(index)]; }

  /// The instruction `last` ends the second test, or follows it and jumps; a turn begins at `body`.
  void joinAt(int last, int body) {
    const bool jumps = at(last).op == Opcode::kJump;
    for (int first = body - 1; first >= 0 && first >= body - kLongestTest; --first) {
      const int length = body - first, second = jumps ? last - length : last - length + 1;
      if (second <= body) return;
      if (!areEqual(first, second, body, last, jumps) || !isContinued(first, body, second, last)) continue;
      if (isEntered(second, last)) return;
      Instr& begin = code_[static_cast<size_t>(second)];
      begin.op = Opcode::kJump;
      begin.arg = begin.flags = 0;
      begin.target = first;
      for (int i = second + 1; i <= last; ++i) {
        Instr& rest = code_[static_cast<size_t>(i)];
        rest.op = Opcode::kNop;
        rest.arg = rest.flags = 0;
        rest.target = -1;
      }
      return;
    }
  }

  /// Some turn goes back to the first test.
  bool isContinued(int first, int body, int second, int last) const {
    for (int i = body; i < size(); ++i)
      if ((i < second || i > last) && at(i).op == Opcode::kJump && at(i).target == first) return true;
    return false;
  }

  /// Something jumps into the middle of the second test.
  bool isEntered(int second, int last) const {
    for (int i = 0; i < size(); ++i)
      if ((i < second || i > last) && at(i).target > second && at(i).target <= last) return true;
    return false;
  }

  bool areEqual(int first, int second, int body, int last, bool jumps) const {
    const int length = body - first;
    for (int i = 0; i < length; ++i) {
      const Instr &a = at(first + i), &b = at(second + i);
      if (a.position != b.position) return false;
      if (!jumps && i == length - 1)
        return isConditional(a.op) && areOpposite(a.op, b.op) && leadToTheSame(a.target, last + 1);
      if (a.op != b.op || a.arg != b.arg || a.flags != b.flags || (a.target < 0) != (b.target < 0)) return false;
      if (a.target < 0 || a.target == b.target) continue;
      const bool inside = a.target > first && a.target < body && a.target - first == b.target - second;
      const bool enters = a.target == body && jumps && b.target == last;
      if (!inside && !enters) return false;
    }
    return true;
  }

  /// The same code, once or twice.
  bool leadToTheSame(int a, int b) const {
    for (int i = 0; i < kLongestExit; ++i) {
      if (a + i == b + i) return true;
      if (a + i >= size() || b + i >= size()) return false;
      const Instr &one = at(a + i), &other = at(b + i);
      if (one.op != other.op || one.arg != other.arg || one.flags != other.flags || one.target != other.target)
        return false;
      if (one.op == Opcode::kReturnValue || one.op == Opcode::kJump) return true;
    }
    return false;
  }

  std::vector<Instr>& code_;
};

}  // namespace

void joinLoopTests(std::vector<Instr>& code) { Tests(code).join(); }

}  // namespace fw::cpython
