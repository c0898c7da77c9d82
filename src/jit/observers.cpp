// A value is needed where it is computed if something else is done whenever it is, and would come out wrong without it:
// - a store keeps what it stores, unless every turn stores to one place, or another store may overwrite it;
// - an operation that may raise a flag keeps its operands: it is kept itself, by an observer or by what needs it;
// - what a turn hands on to the next one, or the sides of a branch to the instructions behind it, is needed where those
//   need it;
// - a comparison is, if its outcome decides about a store, about the way out of the loop, or about what is handed on.
//
// "Whenever it is" leaves aside the ways out of the function by which the run is given up: nobody looks at flags then.
// What is looked at behind the loop only is not needed: a pass could move its computation there, and the last turn
// would be the only one that does it. Nor is what is chosen among others needed: an instruction under a mask would
// compute it only where it is chosen.
//
// Where flags are to be exact, what some turns only compute stays observed: nothing else keeps it from being computed
// in all of them.
#include "jit/observers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace fw::jit {

bool isGivenUp(const llvm::BasicBlock* block) {
  const llvm::BasicBlock* from = nullptr;
  for (int i = 0; i < 4 && block; ++i) {
    const llvm::Instruction* end = block->getTerminator();
    if (const auto* leaves = llvm::dyn_cast<llvm::ReturnInst>(end)) {
      const llvm::Value* answer = leaves->getReturnValue();
      const auto* joined = llvm::dyn_cast_or_null<llvm::PHINode>(answer);
      if (joined && from && joined->getParent() == block) answer = joined->getIncomingValueForBlock(from);
      const auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(answer);
      return constant && !constant->isZero();
    }
    const auto* on = llvm::dyn_cast<llvm::BranchInst>(end);
    if (!on || on->isConditional()) return false;
    from = block;
    block = on->getSuccessor(0);
  }
  return false;
}

namespace {

using llvm::BasicBlock;
using llvm::BranchInst;
using llvm::Instruction;
using llvm::Loop;
using llvm::Value;

bool isObserver(const Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const auto* code = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return code && code->hasSideEffects() && call->getType()->isVoidTy() && code->getAsmString().empty();
}

/// Where control comes to for certain.
class Ways {
 public:
  explicit Ways(llvm::LoopInfo& loops) : loops_(loops) {}

  /// `block` and the blocks that come behind it whatever happens, in their order, as far as `loop` goes; no further
  /// than its turn.
  llvm::SmallVector<BasicBlock*, 8> behind(BasicBlock* block, const Loop* loop) {
    llvm::SmallVector<BasicBlock*, 8> way;
    for (; block && way.size() < kLongest; block = next(block)) {
      if (loop && (!loop->contains(block) || (!way.empty() && block == loop->getHeader()))) break;
      way.push_back(block);
    }
    return way;
  }

 private:
  static constexpr size_t kLongest = 64;
  static constexpr int kDeepest = 8;

  BasicBlock* next(BasicBlock* block) {
    if (const auto known = next_.find(block); known != next_.end()) return known->second;
    if (depth_ == kDeepest) return nullptr;
    next_[block] = nullptr;  // nothing is known of a way that comes back to it
    ++depth_;
    BasicBlock* found = find(block);
    --depth_;
    return next_[block] = found;
  }

  BasicBlock* find(BasicBlock* block) {
    const auto* branch = llvm::dyn_cast<BranchInst>(block->getTerminator());
    if (!branch) return nullptr;
    BasicBlock* first = branch->getSuccessor(0);
    if (!branch->isConditional()) return first;
    BasicBlock* second = branch->getSuccessor(1);
    if (isGivenUp(first)) return second;
    if (isGivenUp(second)) return first;
    const Loop* loop = loops_.getLoopFor(block);
    if (loop && loop->getHeader() == first) return second;  // the end of a turn: behind the last one
    if (loop && loop->getHeader() == second) return first;
    const auto way = behind(first, nullptr), other = behind(second, nullptr);
    const auto meeting = llvm::find_if(other, [&](BasicBlock* at) { return llvm::is_contained(way, at); });
    return meeting == other.end() ? nullptr : *meeting;
  }

  llvm::LoopInfo& loops_;
  llvm::DenseMap<BasicBlock*, BasicBlock*> next_;
  int depth_ = 0;
};

/// Whether the value of an instruction is needed where it is computed.
class Need {
 public:
  Need(llvm::Function& function, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution,
       llvm::DominatorTree& dominators)
      : loops_(loops),
        evolution_(evolution),
        dominators_(dominators),
        ways_(loops) {
    for (BasicBlock& block : function)
      for (Instruction& one : block)
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&one)) stores_.push_back(store);
  }

  bool isNeeded(Instruction& value) {
    loop_ = loops_.getLoopFor(value.getParent());
    asked_.clear();
    return isUsed(value) && hasEffect(value);
  }

  /// Every turn of the loop around it computes it, or every run of the function.
  bool isInEachTurn(const Instruction& value) {
    const BasicBlock* block = value.getParent();
    const Loop* loop = loops_.getLoopFor(block);
    BasicBlock* first = loop ? loop->getHeader() : const_cast<BasicBlock*>(&block->getParent()->getEntryBlock());
    return llvm::is_contained(ways_.behind(first, loop), block);
  }

 private:
  bool isUsed(Instruction& value) {
    if (!asked_.insert(&value).second) return true;  // handed on from turn to turn
    const auto way = ways_.behind(value.getParent(), loop_);
    return llvm::any_of(value.uses(), [&](llvm::Use& use) {
      auto& user = llvm::cast<Instruction>(*use.getUser());
      if (auto* joined = llvm::dyn_cast<llvm::PHINode>(&user)) {
        const bool inside = !loop_ || loop_->contains(joined->getParent());
        return inside && llvm::is_contained(way, joined->getIncomingBlock(use)) && isUsed(*joined);
      }
      return llvm::is_contained(way, user.getParent()) && needs(user, use);
    });
  }

  /// Whether `user`, which is certain to be reached, needs its operand.
  bool needs(Instruction& user, const llvm::Use& operand) {
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&user)) return operand.getOperandNo() == 1 || storesEach(*store);
    if (auto* branch = llvm::dyn_cast<BranchInst>(&user)) return decides(*branch);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&user)) {
      const bool chooses = operand.getOperandNo() == 0 || select->getType()->isIntegerTy(1);
      return chooses && isUsed(*select);
    }
    if (llvm::isa<llvm::BinaryOperator>(user) && user.getType()->isFloatingPointTy()) return true;
    return isPure(user) && isUsed(user);
  }

  static bool isPure(const Instruction& user) {
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&user)) return !call->mayHaveSideEffects();
    return llvm::isa<llvm::UnaryOperator, llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::InsertElementInst,
                     llvm::ExtractElementInst, llvm::GetElementPtrInst, llvm::LoadInst>(user);
  }

  /// Every turn to another place, or no loop around it, and what it stores stays there.
  bool storesEach(llvm::StoreInst& store) {
    const Loop* loop = loops_.getLoopFor(store.getParent());
    const llvm::SCEV* place = evolution_.getSCEV(store.getPointerOperand());
    if (loop && evolution_.isLoopInvariant(place, loop)) return false;
    return llvm::none_of(stores_, [&](llvm::StoreInst* other) {
      return other != &store && evolution_.getSCEV(other->getPointerOperand()) == place &&
             !dominators_.dominates(other, &store);
    });
  }

  /// Whether it matters which way a branch goes.
  bool decides(BranchInst& branch) {
    BasicBlock *first = branch.getSuccessor(0), *second = branch.getSuccessor(1);
    if (isGivenUp(first) || isGivenUp(second)) return true;
    if (loop_ && (!loop_->contains(first) || !loop_->contains(second))) return true;
    const auto way = ways_.behind(first, loop_), other = ways_.behind(second, loop_);
    const auto meeting = llvm::find_if(other, [&](BasicBlock* at) { return llvm::is_contained(way, at); });
    if (meeting == other.end()) return false;
    const auto stores = [&](llvm::ArrayRef<BasicBlock*> side) {
      for (BasicBlock* block : side) {
        if (block == *meeting) return false;
        for (Instruction& one : *block)
          if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&one); store && storesEach(*store)) return true;
      }
      return false;
    };
    return stores(way) || stores(other) ||
           llvm::any_of((*meeting)->phis(), [&](llvm::PHINode& joined) { return isUsed(joined); });
  }

  /// Whether anything that is done in the end depends on it: what turns hand on may go round for nothing.
  static bool hasEffect(Instruction& value) {
    constexpr size_t kMost = 256;
    llvm::SmallPtrSet<Instruction*, 16> seen = {&value};
    llvm::SmallVector<Instruction*, 16> open = {&value};
    while (!open.empty() && seen.size() < kMost) {
      for (llvm::User* one : open.pop_back_val()->users()) {
        auto* user = llvm::cast<Instruction>(one);
        if (isObserver(*user)) continue;
        if (user->isTerminator() || user->mayHaveSideEffects()) return true;
        if (seen.insert(user).second) open.push_back(user);
      }
    }
    return false;
  }

  llvm::LoopInfo& loops_;
  llvm::ScalarEvolution& evolution_;
  llvm::DominatorTree& dominators_;
  Ways ways_;
  llvm::SmallVector<llvm::StoreInst*, 8> stores_;
  Loop* loop_ = nullptr;  ///< around the value
  llvm::SmallPtrSet<Instruction*, 16> asked_;
};

}  // namespace

llvm::PreservedAnalyses DropObservers::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  Need need(function, analyses.getResult<llvm::LoopAnalysis>(function), evolution,
            analyses.getResult<llvm::DominatorTreeAnalysis>(function));
  llvm::SmallVector<Instruction*, 16> observers;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      if (isObserver(instruction)) observers.push_back(&instruction);
  llvm::SmallPtrSet<Value*, 16> seen;
  for (Instruction* observer : observers) {
    auto* value = llvm::dyn_cast<Instruction>(observer->getOperand(0));
    const bool raises = value && !llvm::isa<llvm::PHINode, llvm::LoadInst>(value);
    const bool first = seen.insert(value).second;
    if (raises && first && !((!exact_ || need.isInEachTurn(*value)) && need.isNeeded(*value)))
      observer->moveAfter(value);  // invariant code has moved: once is enough
    else
      observer->eraseFromParent();
  }
  if (observers.empty()) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace fw::jit
