// Loops: a depth-first walk finds the edges that lead back to an instruction on the current path; what such an edge can
// be reached from, going backwards up to the header, is the loop. Addresses say nothing: handlers of a `try` in a loop
// stand behind the loop, and their jump back to the code behind the `try` is no loop. Liveness: the usual backward
// equations, one bit per slot, until nothing changes. An exception may strike before an instruction has any effect, so
// what the handler reads is live before everything that it covers.
#include "frame_eval/splice/control_flow.h"

#include <algorithm>
#include <map>

namespace fw::capture {

using cpython::Instr;
using cpython::Opcode;

bool readsSlot(Opcode op) {
  return op == Opcode::kLoadFast || op == Opcode::kLoadFastAndClear || op == Opcode::kDeleteFast ||
         op == Opcode::kMakeCell || op == Opcode::kLoadDeref || op == Opcode::kStoreDeref || op == Opcode::kDeleteDeref;
}

bool writesSlot(Opcode op) {
  return op == Opcode::kStoreFast || op == Opcode::kLoadFastAndClear || op == Opcode::kDeleteFast;
}

namespace {

struct Edges {
  std::vector<std::vector<int>> into;      ///< predecessors that can be reached
  std::map<int, std::vector<int>> backTo;  ///< header -> instructions with an edge back to it
};

Edges walk(const ControlFlow& flow) {
  Edges edges;
  edges.into.resize(flow.next.size());
  if (flow.next.empty()) return edges;
  enum : uint8_t { kNew, kOnPath, kDone };
  std::vector<uint8_t> state(flow.next.size(), kNew);
  std::vector<std::pair<int, int>> path = {{0, 0}};  // instruction, how many of its edges are done
  state[0] = kOnPath;
  while (!path.empty()) {
    auto& [instr, done] = path.back();
    int from = instr, to = -1;
    while (done < 3 && to < 0) {
      to = done < 2 ? flow.next[from][done] : flow.handler[from];
      ++done;
    }
    if (to < 0) {
      state[from] = kDone;
      path.pop_back();
      continue;
    }
    edges.into[to].push_back(from);
    if (state[to] == kOnPath) edges.backTo[to].push_back(from);
    if (state[to] == kNew) {
      state[to] = kOnPath;
      path.emplace_back(to, 0);
    }
  }
  return edges;
}

/// Bits of slots; one row per instruction.
class Rows {
 public:
  Rows(size_t rows, size_t bits) : words_((bits + 63) / 64), bits_(rows * words_) {}
  uint64_t* row(int i) { return bits_.data() + words_ * i; }
  size_t words() const { return words_; }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace

namespace {

/// Immediate dominators in the graph that is walked from the returns backwards, by the algorithm of Cooper, Harvey and
/// Kennedy.
std::vector<int> postDominators(const std::vector<std::vector<int>>& out, int exit) {
  std::vector<std::vector<int>> into(out.size());
  for (size_t i = 0; i < out.size(); ++i)
    for (int to : out[i]) into[static_cast<size_t>(to)].push_back(static_cast<int>(i));
  std::vector<int> number(out.size(), -1), order;  // postorder
  std::vector<bool> seen(out.size());
  std::vector<std::pair<int, size_t>> path = {{exit, 0}};
  seen[static_cast<size_t>(exit)] = true;
  while (!path.empty()) {
    auto& [at, done] = path.back();
    const std::vector<int>& next = into[static_cast<size_t>(at)];
    if (done == next.size()) {
      number[static_cast<size_t>(at)] = static_cast<int>(order.size());
      order.push_back(at);
      path.pop_back();
      continue;
    }
    const int to = next[done++];
    if (seen[static_cast<size_t>(to)]) continue;
    seen[static_cast<size_t>(to)] = true;
    path.emplace_back(to, 0);
  }
  std::vector<int> dominator(out.size(), -1);
  dominator[static_cast<size_t>(exit)] = exit;
  auto common = [&](int a, int b) {
    while (a != b) {
      int& lower = number[static_cast<size_t>(a)] < number[static_cast<size_t>(b)] ? a : b;
      lower = dominator[static_cast<size_t>(lower)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = order.size() - 1; k-- > 0;) {
      const auto at = static_cast<size_t>(order[k]);
      int now = -1;
      for (int to : out[at])
        if (dominator[static_cast<size_t>(to)] >= 0) now = now < 0 ? to : common(now, to);
      changed |= now != dominator[at];
      dominator[at] = now;
    }
  }
  return dominator;
}

}  // namespace

JoiningFlow flowOf(const cpython::Bytecode& code) {
  const int size = static_cast<int>(code.instructions.size());
  JoiningFlow result{{std::vector<std::array<int, 2>>(static_cast<size_t>(size), {-1, -1}),
                      std::vector<int>(static_cast<size_t>(size), -1)},
                     {}};
  std::vector<std::vector<int>> out(static_cast<size_t>(size) + 1);
  for (int i = 0; i < size; ++i) {
    const Instr& instr = code.instructions[static_cast<size_t>(i)];
    if (instr.op == Opcode::kReturnValue) out[static_cast<size_t>(i)].push_back(size);
    const bool ends = instr.op == Opcode::kReturnValue || instr.op == Opcode::kRaiseVarargs ||
                      instr.op == Opcode::kReraise || instr.op == Opcode::kUnsupported;
    if (ends) continue;
    auto& next = result.flow.next[static_cast<size_t>(i)];
    const bool jumps = instr.op == Opcode::kJump || instr.op == Opcode::kEnterGenerator;
    next = {jumps || i + 1 == size ? -1 : i + 1, instr.target};
    for (int to : next)
      if (to >= 0) out[static_cast<size_t>(i)].push_back(to);
  }
  result.joins = postDominators(out, size);
  return result;
}

bool endsFlow(Opcode op) {
  return op == Opcode::kReturnValue || op == Opcode::kRaiseVarargs || op == Opcode::kReraise || op == Opcode::kJump;
}

StackHeights heightsFrom(const cpython::Bytecode& code, int entry, int height, const std::vector<bool>* inside) {
  StackHeights heights{std::vector<int>(code.instructions.size(), -1), {}};
  std::vector<int> open;
  const auto go = [&](int to, int now) {
    if (inside && !(*inside)[static_cast<size_t>(to)]) {
      heights.behind[to] = now;
    } else if (heights.at[static_cast<size_t>(to)] < 0) {
      heights.at[static_cast<size_t>(to)] = now;
      open.push_back(to);
    }
  };
  go(entry, height);
  while (!open.empty()) {
    const auto i = static_cast<size_t>(open.back());
    open.pop_back();
    const Instr& instr = code.instructions[i];
    const bool raises = instr.op == Opcode::kRaiseVarargs || instr.op == Opcode::kReraise;
    const cpython::StackEffect effect = cpython::stackEffect(instr);
    if (raises) continue;
    if (effect.pops == cpython::kNoEffect) {
      heights.known = false;
      continue;
    }
    const int now = heights.at[i] - effect.pops + effect.pushes;
    if (instr.target >= 0) go(instr.target, instr.op == Opcode::kForIter ? now - 2 : now);
    if (!endsFlow(instr.op) && i + 1 < code.instructions.size()) go(static_cast<int>(i) + 1, now);
  }
  return heights;
}

int endOfStatement(const cpython::Bytecode& code, const JoiningFlow& flow, int from, int instr) {
  const std::vector<int> heights = heightsFrom(code, 0, 0).at;
  int end = -1;
  for (int at = from, next = flow.joins[static_cast<size_t>(at)]; next > at && next < flow.flow.size();
       at = next, next = flow.joins[static_cast<size_t>(at)]) {
    const auto height = [&](int i) { return heights[static_cast<size_t>(i)]; };
    if (next > instr && height(next) >= 0 && (end < 0 || height(next) < height(end))) end = next;
  }
  return end;
}

bool leadsTo(const cpython::Bytecode& code, int from, int to, bool mayDrop) {
  constexpr int kMostSteps = 8;
  const int size = static_cast<int>(code.instructions.size());
  for (int steps = 0; from != to; ++steps) {
    if (from < 0 || from >= size || steps > kMostSteps) return false;
    const Instr& instr = code.instructions[static_cast<size_t>(from)];
    const bool drops = mayDrop && instr.op == Opcode::kPopTop;
    if (instr.op != Opcode::kNop && instr.op != Opcode::kJump && !drops) return false;
    from = instr.op == Opcode::kJump ? instr.target : from + 1;
  }
  return true;
}

std::vector<Loop> naturalLoops(const ControlFlow& flow) {
  Edges edges = walk(flow);
  std::vector<Loop> loops;
  for (const auto& [header, latches] : edges.backTo) {
    Loop loop{header, std::vector<bool>(flow.next.size(), false), 1};
    loop.contains[header] = true;
    std::vector<int> work;
    auto add = [&](int instr) {
      if (loop.contains[instr]) return;
      loop.contains[instr] = true;
      ++loop.size;
      work.push_back(instr);
    };
    for (int latch : latches) add(latch);
    while (!work.empty()) {
      int instr = work.back();
      work.pop_back();
      for (int from : edges.into[instr]) add(from);
    }
    loops.push_back(std::move(loop));
  }
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.size < b.size; });
  return loops;
}

Liveness::Liveness(const cpython::Bytecode& code, const ControlFlow& flow, const std::vector<bool>& always) {
  const size_t slots = always.size();
  Rows live(flow.next.size(), slots);
  std::vector<uint64_t> fixed(live.words()), row(live.words());
  for (size_t s = 0; s < slots; ++s)
    if (always[s]) fixed[s / 64] |= uint64_t{1} << s % 64;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = flow.size() - 1; i >= 0; --i) {
      row = fixed;
      auto join = [&](int from) {
        for (size_t w = 0; w < row.size(); ++w) row[w] |= live.row(from)[w];
      };
      for (int to : flow.next[i])
        if (to >= 0) join(to);
      const Instr& instr = code.instructions[i];
      const size_t word = static_cast<size_t>(instr.arg) / 64;
      const uint64_t bit = uint64_t{1} << instr.arg % 64;
      if (writesSlot(instr.op)) row[word] = (row[word] & ~bit) | (fixed[word] & bit);
      if (readsSlot(instr.op)) row[word] |= bit;
      if (flow.handler[i] >= 0) join(flow.handler[i]);
      if (!std::equal(row.begin(), row.end(), live.row(i))) {
        std::copy(row.begin(), row.end(), live.row(i));
        changed = true;
      }
    }
  }
  for (int i = 0; i < flow.size(); ++i) {
    if (i == 0 || !std::equal(live.row(i), live.row(i) + live.words(), live.row(i - 1))) {
      std::vector<bool>& set = sets_.emplace_back(slots);
      for (size_t s = 0; s < slots; ++s) set[s] = live.row(i)[s / 64] >> s % 64 & 1;
    }
    setOf_.push_back(static_cast<int>(sets_.size()) - 1);
  }
}

}  // namespace fw::capture
