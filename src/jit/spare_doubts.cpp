// The numbers collected have been moved above zero (number + 2^62), and are asked for bits that they should not have
// then (the sign): one is spared where its bound shows that it has none of them.
#include "jit/spare_doubts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "graph/support/check.h"
#include "jit/observers.h"
#include "jit/strip_bounds.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace fw::jit {

namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Loop;
using llvm::PHINode;
using llvm::SCEV;
using llvm::Value;

/// A loop of the turns [begin, end), of which there are `most` at most.
struct Strip {
  Value *begin, *end;
  int64_t most;
};

/// One number into which a loop collects others.
class Collection {
 public:
  Collection(Loop& loop, PHINode& all, const llvm::DominatorTree& dominators)
      : loop_(loop),
        all_(all),
        dominators_(dominators) {}

  /// Finds what the collected numbers become part of in a turn; false if that is not all that is done with them, or
  /// more than the last turn's is used behind.
  bool find() {
    llvm::SmallVector<Instruction*, 16> open = {&all_};
    Value* last = all_.getIncomingValueForBlock(loop_.getLoopLatch());
    chain_.insert(&all_);
    while (!open.empty()) {
      Instruction* one = open.pop_back_val();
      for (llvm::Use& use : one->uses()) {
        auto* user = llvm::cast<Instruction>(use.getUser());
        if (!loop_.contains(user)) {
          if (one != last) return false;
          continue;
        }
        if (!passesOn(use)) return false;
        if (!chain_.insert(user)) continue;
        if (chain_.size() > kLongest) return false;
        open.push_back(user);
      }
    }
    for (Instruction* one : chain_) {
      if (one == &all_ || one->getOpcode() == Instruction::Or) continue;
      for (size_t i = llvm::isa<llvm::SelectInst>(one) ? 1 : 0; i < one->getNumOperands(); ++i)
        if (!isOfChain(one->getOperand(i))) return false;
    }
    return isOfChain(last);
  }

  /// What is the same in each turn is collected in front of the loop, if turns do not choose whether they collect it;
  /// of what walks through the turns, what it is in the first and in the last one.
  bool hoist(const Strip& strip, llvm::ScalarEvolution& evolution, unsigned bits) {
    if (llvm::any_of(chain_, [](Instruction* one) { return llvm::isa<llvm::SelectInst>(one); })) return false;
    BasicBlock* before = loop_.getLoopPreheader();
    Value* begin = all_.getIncomingValueForBlock(before);
    Value* had = begin;
    llvm::IRBuilder<> ir(before->getTerminator());
    llvm::SCEVExpander expander(evolution, "walk");
    forEachCollected([&](llvm::Use& use) {
      const auto* user = llvm::cast<Instruction>(use.getUser());
      if (!dominators_.dominates(user->getParent(), loop_.getLoopLatch())) return;
      if (loop_.isLoopInvariant(use.get())) {
        begin = ir.CreateOr(begin, use.get());
      } else if (const std::optional<Walk> walk = walkOf(use.get(), evolution, bits)) {
        if (!expander.isSafeToExpandAt(walk->number->getStart(), before->getTerminator())) return;
        Value* first = expander.expandCodeFor(walk->number->getStart(), all_.getType(), before->getTerminator());
        Value* turns = ir.CreateSub(ir.CreateSub(strip.end, strip.begin), ir.getInt64(1));
        const SCEV* step = walk->number->getStepRecurrence(evolution);
        Value* way = ir.CreateMul(turns, llvm::cast<llvm::SCEVConstant>(step)->getValue());
        for (Value* number : {first, ir.CreateAdd(first, way)}) {
          if (walk->end) number = ir.CreateZExt(ir.CreateICmpULT(number, walk->end), all_.getType());
          begin = ir.CreateOr(begin, number);
        }
      } else {
        return;
      }
      use.set(llvm::ConstantInt::get(all_.getType(), 0));
    });
    all_.setIncomingValueForBlock(before, begin);
    return begin != had;
  }

  /// How many bits a collected number may have: whether it has others decides in the end whether the run is given up,
  /// and nothing else; nullopt if that cannot be told.
  std::optional<unsigned> findBits() const {
    llvm::SmallSetVector<Instruction*, 32> open;
    for (Instruction* one : chain_) open.insert(one);
    std::optional<unsigned> bits;
    for (size_t i = 0; i < open.size(); ++i) {
      if (i > kLongest) return std::nullopt;
      for (llvm::Use& use : open[i]->uses()) {
        auto* user = llvm::cast<Instruction>(use.getUser());
        if (passesOn(use)) {
          open.insert(user);
          continue;
        }
        const std::optional<unsigned> asked = bitsAskedBy(use);
        if (!asked || (bits && bits != asked)) return std::nullopt;
        bits = asked;
      }
    }
    return bits;
  }

  template <class Visit>
  void forEachCollected(Visit visit) {
    for (Instruction* one : chain_) {
      if (one->getOpcode() != Instruction::Or) continue;
      for (llvm::Use& use : one->operands())
        if (!isOfChain(use.get())) visit(use);
    }
  }

  /// Behind the loop, everything is too large if one of the anchors is.
  void ask(const Anchors& asked) {
    llvm::Type* type = all_.getType();
    const auto zero = llvm::ConstantInt::get(type, 0);
    const auto above = [&](llvm::IRBuilder<>& ir, Value* number) {
      return ir.CreateAdd(number, ir.getInt64(uint64_t{1} << asked.bits));
    };
    llvm::IRBuilder<> before(loop_.getLoopPreheader()->getTerminator());
    Value* begin = zero;
    for (Value* number : asked.outside) {
      const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(number);
      if (constant && constant->getValue().abs().ule(uint64_t{1} << 40)) continue;
      begin = before.CreateOr(begin, above(before, number));
    }
    Value* end = begin;
    if (!asked.inside.empty()) {
      llvm::IRBuilder<> first(&all_);
      PHINode* anchors = first.CreatePHI(type, 2, "anchors");
      anchors->addIncoming(begin, loop_.getLoopPreheader());
      llvm::IRBuilder<> last(loop_.getLoopLatch()->getTerminator());
      end = anchors;
      for (Instruction* anchor : asked.inside) end = last.CreateOr(end, above(last, anchor));
      anchors->addIncoming(end, loop_.getLoopLatch());
    }
    BasicBlock* exit = loop_.getUniqueLatchExitBlock();
    llvm::IRBuilder<> behind(exit, exit->getFirstInsertionPt());
    PHINode* joined = PHINode::Create(type, 1, "anchors.lcssa", exit->begin());
    joined->addIncoming(end, loop_.getLoopLatch());
    Value* large = behind.CreateICmpNE(behind.CreateLShr(joined, static_cast<uint64_t>(asked.bits) + 1), zero);
    Value* doubt = behind.CreateSExt(large, type);
    llvm::SmallVector<PHINode*, 2> leaving;
    for (PHINode& phi : exit->phis())
      if (&phi != joined && isOfChain(phi.getIncomingValue(0))) leaving.push_back(&phi);
    FW_CHECK(!leaving.empty());
    for (PHINode* phi : leaving) {
      Value* all = behind.CreateOr(phi, doubt);
      phi->replaceUsesWithIf(all, [&](llvm::Use& use) { return use.getUser() != all; });
    }
  }

 private:
  static constexpr size_t kLongest = 256;

  /// What is collected grows by the same in each turn, or asks whether something that does is below `end`, without a
  /// sign. Whether it is too large in between is known from both ends.
  struct Walk {
    const llvm::SCEVAddRecExpr* number;
    llvm::ConstantInt* end = nullptr;
  };

  std::optional<Walk> walkOf(Value* value, llvm::ScalarEvolution& evolution, unsigned bits) const {
    using namespace llvm::PatternMatch;
    constexpr int64_t kLargestStep = int64_t{1} << 40;  // in a strip, no way around all numbers of 64 bits
    Value* number = value;
    llvm::ConstantInt* end = nullptr;
    if (match(value, m_ZExt(m_SpecificICmp(llvm::ICmpInst::ICMP_ULT, m_Value(number), m_ConstantInt(end))))) {
      if (end->getValue().ult(uint64_t{1} << 56)) return std::nullopt;
    } else if (bits > 63) {
      return std::nullopt;
    }
    const auto* linear = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(number));
    if (!linear || linear->getLoop() != &loop_ || !linear->isAffine()) return std::nullopt;
    const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(linear->getStepRecurrence(evolution));
    if (!step || step->getAPInt().abs().ugt(kLargestStep)) return std::nullopt;
    return Walk{linear, end};
  }

  static bool passesOn(const llvm::Use& use) {
    const auto* user = llvm::cast<Instruction>(use.getUser());
    return llvm::isa<PHINode>(user) || user->getOpcode() == Instruction::Or ||
           (llvm::isa<llvm::SelectInst>(user) && use.getOperandNo() > 0);
  }

  /// The number of bits that the outcome leaves out, with all others clear if the run goes on.
  static std::optional<unsigned> bitsAskedBy(const llvm::Use& use) {
    using namespace llvm::PatternMatch;
    auto* user = llvm::cast<Instruction>(use.getUser());
    const llvm::APInt* number;
    if (use.getOperandNo() != 0) return std::nullopt;
    if (match(user, m_LShr(m_Value(), m_APInt(number))) && number->ult(64)) {
      const bool decides = llvm::all_of(user->users(), [](llvm::User* test) {
        const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(test);
        return compare && compare->isEquality() && match(compare->getOperand(1), m_Zero()) &&
               givesUp(*test, compare->getPredicate() == llvm::ICmpInst::ICMP_NE);
      });
      return decides ? std::optional(static_cast<unsigned>(number->getZExtValue())) : std::nullopt;
    }
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(user);
    if (!compare || !match(compare->getOperand(1), m_APInt(number))) return std::nullopt;
    const auto asks = [&](bool fits, unsigned bits, bool outcome) {
      return fits && givesUp(*user, outcome) ? std::optional(bits) : std::nullopt;
    };
    switch (compare->getPredicate()) {
      case llvm::ICmpInst::ICMP_SGT: return asks(number->isAllOnes(), 63, false);
      case llvm::ICmpInst::ICMP_SLT: return asks(number->isZero(), 63, true);
      case llvm::ICmpInst::ICMP_UGT: return asks(number->isMask(), number->popcount(), true);
      case llvm::ICmpInst::ICMP_ULT: return asks(number->isPowerOf2(), number->logBase2(), false);
      default: return std::nullopt;
    }
  }

  /// Whether nothing follows from `test` but that the run is given up on that outcome.
  static bool givesUp(llvm::User& test, bool outcome) {
    using namespace llvm::PatternMatch;
    return llvm::all_of(test.users(), [&](llvm::User* user) {
      if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(user)) return isGivenUp(branch->getSuccessor(!outcome));
      if (match(user, m_Not(m_Specific(&test)))) return givesUp(*user, !outcome);
      const bool joins = outcome ? match(user, m_LogicalOr()) : match(user, m_LogicalAnd());
      return joins && givesUp(*user, outcome);
    });
  }

  bool isOfChain(Value* value) const {
    auto* instruction = llvm::dyn_cast<Instruction>(value);
    return instruction && chain_.contains(instruction);
  }

  Loop& loop_;
  PHINode& all_;
  const llvm::DominatorTree& dominators_;
  llvm::SmallSetVector<Instruction*, 32> chain_;
};

/// What the collections of a loop need not ask for.
class Sparing {
 public:
  Sparing(Loop& loop, llvm::ScalarEvolution& evolution, const llvm::DominatorTree& dominators, int64_t turns)
      : loop_(loop),
        evolution_(evolution),
        dominators_(dominators),
        turns_(turns) {}

  void add(Collection& collection, unsigned bits) {
    collection.forEachCollected([&](llvm::Use& use) {
      Candidate candidate{&use, bits, {}};
      if (partsOf(use.get(), candidate.parts) && !candidate.parts.empty()) candidates_.push_back(std::move(candidate));
    });
  }

  /// The anchors to ask for in place of what is not collected any more; nullopt if nothing would be gained.
  std::optional<Anchors> spare() const {
    Proof best;
    int most = 0;
    for (const int bits : kBits) {
      Proof proof = prove(bits);
      const int gain = static_cast<int>(proof.spared.size()) - static_cast<int>(proof.anchors.inside.size());
      if (gain <= most) continue;
      most = gain;
      best = std::move(proof);
    }
    if (most == 0) return std::nullopt;
    for (llvm::Use* use : best.spared) use->set(llvm::ConstantInt::get(use->get()->getType(), 0));
    return std::move(best.anchors);
  }

 private:
  static constexpr int kBits[] = {61, 58, 54, 50, 46, 40};
  static constexpr int kDeepest = 6;

  /// A part of what is collected: `moved` + `by`, which should have few bits.
  struct Part {
    Value* moved;
    Size by;
  };
  struct Candidate {
    llvm::Use* use;
    unsigned bits;  ///< that it may have
    std::vector<Part> parts;
  };
  struct Proof {
    Anchors anchors;
    std::vector<llvm::Use*> spared;
  };

  /// The numbers that `value` is or joins; false if one is of another form.
  bool partsOf(Value* value, std::vector<Part>& parts, int depth = 0) const {
    using namespace llvm::PatternMatch;
    Value *first, *second;
    const llvm::APInt* by;
    if (depth > kDeepest) return false;
    if (match(value, m_Zero())) return true;
    if (match(value, m_Or(m_Value(first), m_Value(second))) ||
        match(value, m_Select(m_Value(), m_Value(first), m_Value(second))))
      return partsOf(first, parts, depth + 1) && partsOf(second, parts, depth + 1);
    if (auto* phi = llvm::dyn_cast<PHINode>(value); phi && loop_.contains(phi) && phi->getParent() != loop_.getHeader())
      return llvm::all_of(phi->incoming_values(), [&](Value* v) { return partsOf(v, parts, depth + 1); });
    if (!match(value, m_Add(m_Value(first), m_APInt(by))) || by->isNegative()) return false;
    parts.push_back({first, by->getSExtValue()});
    return true;
  }

  /// What can be spared if anchors have at most so many bits.
  Proof prove(int bits) const {
    std::vector<std::pair<const Candidate*, Anchors>> proved;
    for (const Candidate& candidate : candidates_)
      if (std::optional<Anchors> anchors = anchorsOf(candidate, bits))
        proved.emplace_back(&candidate, *std::move(anchors));
    // Anchors that one number alone would need are no better than the number.
    for (size_t before = 0; before != proved.size();) {
      before = proved.size();
      llvm::DenseMap<Instruction*, int> users;
      for (const auto& [candidate, anchors] : proved)
        for (Instruction* anchor : anchors.inside) ++users[anchor];
      llvm::erase_if(proved, [&](const auto& one) {
        return llvm::any_of(one.second.inside, [&](Instruction* anchor) { return users[anchor] < 2; });
      });
    }
    Proof proof{{.bits = bits}, {}};
    for (const auto& [candidate, anchors] : proved) {
      proof.spared.push_back(candidate->use);
      proof.anchors.inside.insert_range(anchors.inside);
      proof.anchors.outside.insert_range(anchors.outside);
    }
    return proof;
  }

  /// nullopt if a part may be too large.
  std::optional<Anchors> anchorsOf(const Candidate& candidate, int bits) const {
    Bounds bounds(loop_, evolution_, dominators_, bits);
    std::vector<Bound> of;
    for (const Part& part : candidate.parts) of.push_back(bounds.of(part.moved));
    Size growth = 0;
    for (size_t i = 0; i < bounds.handedOn.size(); ++i) {  // which may find others
      PHINode* phi = bounds.handedOn[i];
      growth = std::max(growth, bounds.of(phi->getIncomingValueForBlock(loop_.getLoopLatch())).beyond);
      bounds.anchors.outside.insert(phi->getIncomingValueForBlock(loop_.getLoopPreheader()));
    }
    const Size all = sum(Size{1} << bits, growth >= kUnbounded >> 20 ? kUnbounded : growth * turns_);
    if (!bounds.handedOn.empty() && all >= Size{1} << 62) return std::nullopt;
    for (size_t i = 0; i < of.size(); ++i) {
      const Size most = std::min(of[i].alone, sum(all, of[i].beyond)), by = candidate.parts[i].by;
      if (most > by || most + by >= Size{1} << candidate.bits) return std::nullopt;
    }
    return bounds.anchors;
  }

  Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  const llvm::DominatorTree& dominators_;
  const int64_t turns_;
  std::vector<Candidate> candidates_;
};

/// Nothing if it is none (see emit_steps.cpp), or is left in other ways than behind its last turn and by giving up.
std::optional<Strip> stripOf(const Loop& loop) {
  using namespace llvm::PatternMatch;
  BasicBlock *latch = loop.getLoopLatch(), *before = loop.getLoopPreheader();
  if (!latch || !before || !loop.isLoopExiting(latch)) return std::nullopt;
  llvm::SmallVector<BasicBlock*, 8> exits;
  loop.getUniqueExitBlocks(exits);
  const BasicBlock* behind = loop.getUniqueLatchExitBlock();
  if (!behind || behind->getSinglePredecessor() != latch) return std::nullopt;
  if (!llvm::all_of(exits, [&](BasicBlock* exit) { return exit == behind || isGivenUp(exit); })) return std::nullopt;
  Value *next, *end, *counter, *begin;
  const llvm::APInt* most;
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (!branch || !branch->isConditional()) return std::nullopt;
  const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (!compare || !compare->isEquality()) return std::nullopt;
  next = compare->getOperand(0);
  end = compare->getOperand(1);
  if (!loop.isLoopInvariant(end)) std::swap(next, end);
  if (!match(end, m_c_SMin(m_Add(m_Value(begin), m_APInt(most)), m_Value())) || most->ugt(4096)) return std::nullopt;
  if (!match(next, m_Add(m_Value(counter), m_One()))) return std::nullopt;
  const auto* phi = llvm::dyn_cast<PHINode>(counter);
  if (!phi || phi->getParent() != loop.getHeader() || phi->getIncomingValueForBlock(before) != begin)
    return std::nullopt;
  return Strip{begin, end, most->getSExtValue()};
}

}  // namespace

llvm::PreservedAnalyses SpareDoubts::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  bool changed = false;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    const auto isNumber = [](const PHINode& phi) { return phi.getType()->isIntegerTy(64); };
    if (llvm::count_if(loop->getHeader()->phis(), isNumber) < 2) continue;
    // It takes away those that are a number already.
    changed |= llvm::simplifyLoop(loop, &dominators, &loops, &evolution, nullptr, nullptr, /*PreserveLCSSA=*/false);
    const std::optional<Strip> strip = stripOf(*loop);
    if (!strip) continue;
    changed |= llvm::formLCSSA(*loop, dominators, &loops, &evolution);
    llvm::SmallVector<PHINode*, 4> numbers;
    for (PHINode& phi : loop->getHeader()->phis())
      if (isNumber(phi)) numbers.push_back(&phi);
    Sparing sparing(*loop, evolution, dominators, strip->most);
    std::vector<Collection> collections;
    for (PHINode* phi : numbers) {
      Collection collection(*loop, *phi, dominators);
      if (!collection.find()) continue;
      const std::optional<unsigned> bits = collection.findBits();
      if (!bits) continue;  // bits of the program itself
      changed |= collection.hoist(*strip, evolution, *bits);
      sparing.add(collection, *bits);
      collections.push_back(std::move(collection));
    }
    const std::optional<Anchors> anchors = sparing.spare();
    if (!anchors) continue;
    collections.front().ask(*anchors);
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace fw::jit
