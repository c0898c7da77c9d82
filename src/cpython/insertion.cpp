// Inserting code. Everything in an Assembly is by index, so an insertion is one table old index -> new index, applied
// to jumps and exception ranges. Where code may stand is decided here as well: CPython runs or reads some sequences
// as a unit (a PRECALL that skips its CALL, the RESUME that tells where a generator waits, the END_FOR that an
// exhausted FOR_ITER steps over), and nothing may come between these.
#include <algorithm>

#include "cpython/assembler.h"
#include "cpython/opcode_layout.h"

namespace fw::cpython {
namespace {

/// May nothing come between two instructions that follow each other?
bool isUnit(int first, int second) {
  if (second == raw::kRESUME || second == raw::kEND_SEND) return true;
  if (second == raw::kSEND) return true;  // a jump back to anything else is a new line for tracers
  if (first == raw::kSEND && second == raw::kYIELD_VALUE) return true;  // gen.throw() steps from one to the other
  // On 3.11 it goes on at SEND's target by SEND's low byte: what stands between the two must stay short.
  if (first == raw::kRESUME && second == raw::kJUMP_BACKWARD_NO_INTERRUPT) return true;
  if (raw::kKW_NAMES >= 0 && first == raw::kKW_NAMES) return true;
  return raw::kPRECALL >= 0 && first == raw::kPRECALL;
}

/// An insertion in the form of this interpreter.
struct Added {
  const Insertion* insertion;
  std::vector<RawInstr> code;
  int bareBegin, bareEnd;  ///< of `code`: what no handler covers
};

Added lowered(const Insertion& insertion, const Position& position) {
  // lower() counts from 0 within the code and keeps negative targets: swap the two kinds (-1 stays).
  std::vector<Instr> code = insertion.code;
  for (Instr& instr : code) {
    instr.target = -2 - instr.target;
    if (instr.position.line == 0) instr.position = position;
  }
  std::vector<int> begin;
  Added result{&insertion, lower(code, &begin), 0, 0};
  auto [first, second] = insertion.uncovered;
  if (first < 0 || first > second || second >= static_cast<int>(begin.size())) fail("bad uncovered part", first);
  result.bareBegin = begin[first];
  result.bareEnd = begin[second];
  return result;
}

/// The ranges without the gaps; both are sorted.
std::vector<Handler> without(const std::vector<Handler>& handlers, const std::vector<std::pair<int, int>>& gaps) {
  std::vector<Handler> result;
  auto gap = gaps.begin();
  for (Handler h : handlers) {
    while (gap != gaps.end() && gap->second <= h.start) ++gap;
    for (; gap != gaps.end() && gap->first < h.end; ++gap) {
      if (h.start < gap->first) result.push_back({h.start, gap->first, h.target, h.depth, h.lasti});
      h.start = gap->second;
      if (h.end <= gap->second) break;  // the next range may begin in this gap
    }
    if (h.start < h.end) result.push_back(h);
  }
  return result;
}

/// Where old instructions and the code before them come to stand.
class Layout {
 public:
  Layout(size_t count, const std::vector<Added>& added) {
    size_t next = 0;
    int at = 0;
    for (size_t i = 0; i <= count; ++i, ++at) {
      covered_.push_back(at);
      int entry = -1;
      for (; next < added.size() && added[next].insertion->before == static_cast<int>(i); ++next) {
        if (added[next].insertion->jumpsEnter && entry < 0) entry = at;
        at += static_cast<int>(added[next].code.size());
      }
      moved_.push_back(at);
      entry_.push_back(entry < 0 ? at : entry);
    }
  }
  int moved(int i) const { return moved_[i]; }      ///< the instruction itself
  int covered(int i) const { return covered_[i]; }  ///< the first instruction inserted before it
  int entry(int i) const { return entry_[i]; }      ///< where jumps to it go

 private:
  std::vector<int> moved_, covered_, entry_;
};

/// insertionPoints() for known stack depths.
std::vector<bool> pointsAt(const Assembly& assembly, const std::vector<int>& depths) {
  const std::vector<RawInstr>& in = assembly.instructions;
  std::vector<bool> allowed(in.size(), false);
  size_t resume = 0;
  while (resume < in.size() && in[resume].opcode != raw::kRESUME) ++resume;
  for (size_t i = resume + 1; i < in.size(); ++i) {
    allowed[i] = depths[i] >= 0 && !isUnit(in[i - 1].opcode, in[i].opcode);
  }
  for (const RawInstr& instr : in) {
    if (instr.opcode != raw::kFOR_ITER || instr.target < 0) continue;
    int end = std::min(instr.target + kForIterSkip, static_cast<int>(in.size()));
    for (int i = instr.target; i < end; ++i) allowed[i] = false;
  }
  for (const Handler& h : assembly.handlers) {
    if (h.target >= 0 && h.target < static_cast<int>(in.size())) allowed[h.target] = false;
  }
  return allowed;
}

}  // namespace

std::vector<bool> insertionPoints(const Assembly& assembly) { return pointsAt(assembly, stackDepths(assembly)); }

void insert(Assembly& assembly, const std::vector<Insertion>& insertions) {
  std::vector<int> depths = stackDepths(assembly);
  std::vector<bool> allowed = pointsAt(assembly, depths);
  const std::vector<RawInstr>& old = assembly.instructions;
  std::vector<Added> added;
  for (const Insertion& insertion : insertions) {
    if (insertion.before < 0 || insertion.before >= static_cast<int>(old.size()) || !allowed[insertion.before]) {
      fail("no code may be inserted there", insertion.before);
    }
    added.push_back(lowered(insertion, old[insertion.before].position));
  }
  std::stable_sort(added.begin(), added.end(),
                   [](const Added& a, const Added& b) { return a.insertion->before < b.insertion->before; });

  Layout layout(old.size(), added);
  auto entryOf = [&](int target, int from) {
    if (target < 0 || target >= static_cast<int>(old.size())) fail("a jump without target", from);
    return layout.entry(target);
  };
  std::vector<RawInstr> out;
  std::vector<std::pair<int, int>> gaps;
  auto next = added.begin();
  for (size_t i = 0; i < old.size(); ++i) {
    for (; next != added.end() && next->insertion->before == static_cast<int>(i); ++next) {
      int base = static_cast<int>(out.size());
      for (RawInstr instr : next->code) {
        if (isJump(instr.opcode)) {
          instr.target = instr.target >= 0 ? base + instr.target : entryOf(-2 - instr.target, static_cast<int>(i));
        }
        out.push_back(instr);
      }
      if (next->bareBegin < next->bareEnd) gaps.emplace_back(base + next->bareBegin, base + next->bareEnd);
    }
    out.push_back(old[i]);
    if (isJump(old[i].opcode)) out.back().target = entryOf(old[i].target, static_cast<int>(i));
  }
  assembly.instructions = std::move(out);
  for (Handler& h : assembly.handlers) {
    h = {layout.covered(h.start), layout.covered(h.end), layout.moved(h.target), h.depth, h.lasti};
  }
  assembly.handlers = without(assembly.handlers, gaps);
  std::vector<int> after = stackDepths(assembly);
  for (size_t i = 0; i < depths.size(); ++i) {
    int index = static_cast<int>(i), now = after[layout.moved(index)];
    if (now >= 0 && now != depths[i]) fail("inserted code does not leave the stack as it found it", index);
  }
}

void splitPairs(Assembly& assembly) {
  std::vector<RawInstr> out;
  std::vector<int> moved;
  for (const RawInstr& instr : assembly.instructions) {
    moved.push_back(static_cast<int>(out.size()));
    bool pair = instr.opcode == raw::kLOAD_FAST_LOAD_FAST || instr.opcode == raw::kSTORE_FAST_LOAD_FAST ||
                instr.opcode == raw::kSTORE_FAST_STORE_FAST;
    out.push_back(instr);
    if (!pair) continue;
    bool loadsFirst = instr.opcode == raw::kLOAD_FAST_LOAD_FAST;
    bool storesSecond = instr.opcode == raw::kSTORE_FAST_STORE_FAST;
    out.back().opcode = static_cast<uint8_t>(loadsFirst ? raw::kLOAD_FAST : raw::kSTORE_FAST);
    out.back().arg = instr.arg >> 4;
    out.push_back(instr);
    out.back().opcode = static_cast<uint8_t>(storesSecond ? raw::kSTORE_FAST : raw::kLOAD_FAST);
    out.back().arg = instr.arg & 15;
  }
  moved.push_back(static_cast<int>(out.size()));
  for (RawInstr& instr : out) {
    if (instr.target >= 0 && instr.target < static_cast<int>(moved.size())) instr.target = moved[instr.target];
  }
  for (Handler& h : assembly.handlers) h = {moved[h.start], moved[h.end], moved[h.target], h.depth, h.lasti};
  assembly.instructions = std::move(out);
}

void joinPairs(Assembly& assembly) {
  if (raw::kLOAD_FAST_LOAD_FAST < 0) return;
  const std::vector<RawInstr>& old = assembly.instructions;
  std::vector<bool> entered(old.size() + 1, false);
  for (const RawInstr& instr : old) {
    if (instr.target >= 0 && instr.target < static_cast<int>(old.size())) entered[instr.target] = true;
  }
  for (const Handler& h : assembly.handlers) entered[h.start] = entered[h.end] = entered[h.target] = true;
  std::vector<RawInstr> out;
  std::vector<int> moved;
  for (size_t i = 0; i < old.size(); ++i) {
    moved.push_back(static_cast<int>(out.size()));
    out.push_back(old[i]);
    // Nothing but splitPairs() makes two instructions of one code unit.
    if (i + 1 == old.size() || old[i].unit < 0 || old[i].unit != old[i + 1].unit || entered[i + 1]) continue;
    const RawInstr& second = old[i + 1];
    if (old[i].opcode == raw::kLOAD_FAST) {
      out.back().opcode = static_cast<uint8_t>(raw::kLOAD_FAST_LOAD_FAST);
    } else {
      bool stores = second.opcode == raw::kSTORE_FAST;
      out.back().opcode = static_cast<uint8_t>(stores ? raw::kSTORE_FAST_STORE_FAST : raw::kSTORE_FAST_LOAD_FAST);
    }
    out.back().arg = old[i].arg << 4 | second.arg;
    moved.push_back(moved.back());
    ++i;
  }
  moved.push_back(static_cast<int>(out.size()));
  for (RawInstr& instr : out) {
    if (instr.target >= 0 && instr.target < static_cast<int>(moved.size())) instr.target = moved[instr.target];
  }
  for (Handler& h : assembly.handlers) h = {moved[h.start], moved[h.end], moved[h.target], h.depth, h.lasti};
  assembly.instructions = std::move(out);
}

}  // namespace fw::cpython
