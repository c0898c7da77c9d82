// CarriedLoads sees addresses of innermost loops as linear functions of the turn (scalar evolution): where that of a
// load is what that of a store was a turn ago, the value stored becomes a phi, whose first value is loaded in front of
// the loop.
//
// The load in front is one that the first turn would make: it must be certain that every turn makes it. What else is
// stored in the loop must be elsewhere: in other memory (alias scopes), or at a known distance that is no overlap in
// the turn of the store and the turn behind it.
#include "jit/element_loops.h"

#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/MustExecute.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace fw::jit {
namespace {

using llvm::Loop;
using llvm::SCEV;

/// Whole numbers and addresses that may be computed in vain: no division, no memory, no float.
bool isIndex(const llvm::Instruction& instruction) {
  const auto isWhole = [](const llvm::Type* type) { return type->isIntegerTy() || type->isPointerTy(); };
  return llvm::isa<llvm::BinaryOperator, llvm::GetElementPtrInst, llvm::CastInst, llvm::ICmpInst,
                   llvm::MinMaxIntrinsic>(instruction) &&
         isWhole(instruction.getType()) && llvm::isSafeToSpeculativelyExecute(&instruction) &&
         llvm::all_of(instruction.operands(), [&](const llvm::Use& operand) { return isWhole(operand->getType()); });
}

/// An access whose address grows by the same in each turn.
struct Walking {
  const SCEV* start;
  const SCEV* step;
};

class LoopOfElements {
 public:
  LoopOfElements(Loop& loop, llvm::ScalarEvolution& evolution, llvm::DominatorTree& dominators,
                 llvm::AAResults& aliases)
      : loop_(loop),
        evolution_(evolution),
        dominators_(dominators),
        aliases_(aliases),
        layout_(loop.getHeader()->getModule()->getDataLayout()) {}

  bool run() {
    if (!loop_.getLoopPreheader() || !loop_.getLoopLatch() || !collect() || stores_.empty()) return false;
    safety_.computeLoopSafetyInfo(&loop_);
    bool changed = false;
    for (llvm::LoadInst* load : loads_) {
      if (!safety_.isGuaranteedToExecute(*load, &dominators_, &loop_)) continue;
      for (llvm::StoreInst* store : stores_)
        if (isCarried(*load, *store)) {
          changed |= replace(*load, *store);
          break;
        }
    }
    return changed;
  }

 private:
  /// False if something else writes.
  bool collect() {
    for (llvm::BasicBlock* block : loop_.blocks())
      for (llvm::Instruction& instruction : *block) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load && load->isSimple()) {
          loads_.push_back(load);
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store && store->isSimple()) {
          stores_.push_back(store);
        } else if (instruction.mayWriteToMemory() && !writesNothingOfOurs(instruction)) {
          return false;
        }
      }
    return true;
  }
  /// Observers (optimize.cpp) and calls like them.
  static bool writesNothingOfOurs(const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call && call->onlyAccessesInaccessibleMemory();
  }

  std::optional<Walking> walking(llvm::Value* pointer) const {
    const auto* linear = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(pointer));
    if (!linear || linear->getLoop() != &loop_ || !linear->isAffine()) return std::nullopt;
    return Walking{linear->getStart(), linear->getStepRecurrence(evolution_)};
  }

  bool isCarried(llvm::LoadInst& load, llvm::StoreInst& store) {
    if (load.getType() != store.getValueOperand()->getType()) return false;
    if (!dominators_.dominates(store.getParent(), loop_.getLoopLatch())) return false;
    const std::optional<Walking> read = walking(load.getPointerOperand()), written = walking(store.getPointerOperand());
    if (!read || !written || read->step != written->step) return false;
    if (distance(written->start, read->start) != read->step) return false;
    // A store in front of the load, in the same turn, must not reach it either.
    if (dominators_.dominates(&store, &load) && !isApart(*read, load, *written, store, 0)) return false;
    return llvm::all_of(stores_,
                        [&](llvm::StoreInst* other) { return other == &store || isElsewhere(*read, load, *other); });
  }

  bool isElsewhere(const Walking& read, llvm::LoadInst& load, llvm::StoreInst& other) {
    // In any two turns: that two places of one turn are apart says nothing of the next one.
    const auto allAround = [](const llvm::Instruction& access) {
      return llvm::MemoryLocation::get(&access).getWithNewSize(llvm::LocationSize::beforeOrAfterPointer());
    };
    if (aliases_.isNoAlias(allAround(other), allAround(load))) return true;
    const std::optional<Walking> written = walking(other.getPointerOperand());
    return written && written->step == read.step && isApart(read, load, *written, other, 0) &&
           isApart(read, load, *written, other, 1);
  }

  /// Whether what a store wrote `turns` ago is not what the load reads.
  bool isApart(const Walking& read, llvm::LoadInst& load, const Walking& written, llvm::StoreInst& store, int turns) {
    const auto* apart = llvm::dyn_cast_or_null<llvm::SCEVConstant>(distance(written.start, read.start));
    const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(read.step);
    if (!apart || !step) return false;
    const int64_t begin = apart->getAPInt().getSExtValue() - turns * step->getAPInt().getSExtValue();
    const auto bytesOf = [&](llvm::Type* type) { return static_cast<int64_t>(layout_.getTypeStoreSize(type)); };
    return begin >= bytesOf(load.getType()) || begin <= -bytesOf(store.getValueOperand()->getType());
  }

  const SCEV* distance(const SCEV* to, const SCEV* from) {
    const SCEV* bytes = evolution_.getMinusSCEV(to, from);
    return llvm::isa<llvm::SCEVCouldNotCompute>(bytes) ? nullptr : bytes;
  }

  bool replace(llvm::LoadInst& load, llvm::StoreInst& store) {
    llvm::Instruction* before = loop_.getLoopPreheader()->getTerminator();
    llvm::SCEVExpander expander(evolution_, "carried");
    const SCEV* start = walking(load.getPointerOperand())->start;
    if (!expander.isSafeToExpandAt(start, before)) return false;
    llvm::Value* address = expander.expandCodeFor(start, load.getPointerOperandType(), before);
    auto* first = new llvm::LoadInst(load.getType(), address, "first", /*isVolatile=*/false, load.getAlign(),
                                     before->getIterator());
    first->setAAMetadata(load.getAAMetadata());
    llvm::PHINode* carried = llvm::PHINode::Create(load.getType(), 2, "carried");
    carried->insertBefore(loop_.getHeader()->begin());
    carried->addIncoming(first, loop_.getLoopPreheader());
    carried->addIncoming(store.getValueOperand(), loop_.getLoopLatch());
    evolution_.forgetValue(&load);
    load.replaceAllUsesWith(carried);
    load.eraseFromParent();
    return true;
  }

  Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  llvm::DominatorTree& dominators_;
  llvm::AAResults& aliases_;
  const llvm::DataLayout& layout_;
  llvm::SimpleLoopSafetyInfo safety_;
  llvm::SmallVector<llvm::LoadInst*, 16> loads_;
  llvm::SmallVector<llvm::StoreInst*, 8> stores_;
};

/// Whether a value comes from one that the turn before has handed on, by few steps, and not from a mere count.
bool isHandedOn(const llvm::Value* value, const Loop& loop, int steps = 4) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction || !loop.contains(instruction) || steps == 0) return false;
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction); phi && phi->getParent() == loop.getHeader()) {
    const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi->getIncomingValueForBlock(loop.getLoopLatch()));
    return !next || !llvm::is_contained(next->operands(), phi);
  }
  return llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction) &&
         llvm::any_of(instruction->operands(),
                      [&](const llvm::Use& operand) { return isHandedOn(operand, loop, steps - 1); });
}

/// The operand of `minimum` that is handed on, if the other one is not.
std::optional<unsigned> carriedOperand(const llvm::MinMaxIntrinsic& minimum, const Loop& loop) {
  const bool left = isHandedOn(minimum.getLHS(), loop), right = isHandedOn(minimum.getRHS(), loop);
  return left != right ? std::optional(left ? 0U : 1U) : std::nullopt;
}

/// min(min(carried, a), b) as min(min(a, b), carried).
bool takeCarriedLast(llvm::MinMaxIntrinsic& outer, const Loop& loop) {
  for (const unsigned side : {0U, 1U}) {
    auto* inner = llvm::dyn_cast<llvm::MinMaxIntrinsic>(outer.getArgOperand(side));
    if (!inner || inner->getIntrinsicID() != outer.getIntrinsicID() || !inner->hasOneUse() || !loop.contains(inner))
      continue;
    const std::optional<unsigned> carried = carriedOperand(*inner, loop);
    if (!carried || isHandedOn(outer.getArgOperand(1 - side), loop)) continue;
    llvm::Value* late = inner->getArgOperand(*carried);
    inner->setArgOperand(*carried, outer.getArgOperand(1 - side));
    outer.setArgOperand(1 - side, late);
    inner->moveBefore(outer.getIterator());
    return true;
  }
  return false;
}

/// Products and sums of numbers handed on, in the block that every turn begins with.
class LoopOfProducts {
 public:
  LoopOfProducts(Loop& loop, const llvm::DominatorTree& dominators)
      : loop_(loop),
        dominators_(dominators),
        before_(loop.getLoopPreheader()),
        latch_(loop.getLoopLatch()) {}

  bool run() {
    if (!before_ || !latch_) return false;
    bool changed = false;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*loop_.getHeader())) {
      if (!isWorthwhile(instruction)) continue;
      llvm::Instruction* next = nextOf(instruction);
      if (!next) continue;
      replace(instruction, *next);
      changed = true;
    }
    return changed;
  }

 private:
  static bool isWorthwhile(const llvm::Instruction& instruction) {
    return llvm::isa<llvm::BinaryOperator>(instruction) &&
           (instruction.getType()->isFloatingPointTy() || instruction.getOpcode() == llvm::Instruction::Mul);
  }

  /// What `value` will be in the next turn (or is in the first one); null if that is not known.
  llvm::Value* along(llvm::Value* value, llvm::BasicBlock* from) const {
    auto* phi = llvm::dyn_cast<llvm::PHINode>(value);
    if (phi && phi->getParent() == loop_.getHeader()) return phi->getIncomingValueForBlock(from);
    return loop_.isLoopInvariant(value) ? value : nullptr;
  }

  /// Computes in each turn what `instruction` will in the next one.
  llvm::Instruction* nextOf(llvm::Instruction& instruction) const {
    llvm::Value *first = along(instruction.getOperand(0), latch_), *second = along(instruction.getOperand(1), latch_);
    if (!first || !second) return nullptr;
    llvm::Value* varies = loop_.isLoopInvariant(first) ? second : first;
    if (loop_.isLoopInvariant(varies)) return nullptr;
    for (llvm::User* user : varies->users()) {
      auto* other = llvm::dyn_cast<llvm::Instruction>(user);
      if (!other || other == &instruction || other->getOpcode() != instruction.getOpcode()) continue;
      const bool same = other->getOperand(0) == first && other->getOperand(1) == second;
      const bool turned = other->isCommutative() && other->getOperand(0) == second && other->getOperand(1) == first;
      if ((same || turned) && loop_.contains(other) && dominators_.dominates(other->getParent(), latch_)) return other;
    }
    return nullptr;
  }

  void replace(llvm::Instruction& instruction, llvm::Instruction& next) {
    llvm::Instruction* first = instruction.clone();
    for (llvm::Use& operand : first->operands()) operand.set(along(operand.get(), before_));
    first->insertBefore(before_->getTerminator()->getIterator());
    next.andIRFlags(&instruction);
    first->andIRFlags(&next);
    auto* carried = llvm::PHINode::Create(instruction.getType(), 2, "carried");
    carried->insertBefore(loop_.getHeader()->begin());
    carried->addIncoming(first, before_);
    carried->addIncoming(&next, latch_);
    instruction.replaceAllUsesWith(carried);
    instruction.eraseFromParent();
  }

  Loop& loop_;
  const llvm::DominatorTree& dominators_;
  llvm::BasicBlock *before_, *latch_;
};

/// None of the passes adds or removes a block.
llvm::PreservedAnalyses whatIsKept(bool changed) {
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace

llvm::PreservedAnalyses HoistIndices::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  bool changed = false;
  const auto outsideIn = loops.getLoopsInPreorder();
  for (Loop* loop : llvm::reverse(outsideIn)) {
    llvm::BasicBlock* before = loop->getLoopPreheader();
    if (!before) continue;
    llvm::LoopBlocksRPO blocks(loop);
    blocks.perform(&loops);
    for (llvm::BasicBlock* block : blocks)
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
        if (!isIndex(instruction) || !loop->hasLoopInvariantOperands(&instruction)) continue;
        instruction.moveBefore(before->getTerminator()->getIterator());
        changed = true;
      }
  }
  return whatIsKept(changed);
}

llvm::PreservedAnalyses CarriedProducts::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  bool changed = false;
  for (Loop* loop : loops.getLoopsInPreorder()) changed |= LoopOfProducts(*loop, dominators).run();
  return whatIsKept(changed);
}

llvm::PreservedAnalyses CarriedLast::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  bool changed = false;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || !loop->getLoopLatch()) continue;
    for (llvm::BasicBlock* block : loop->blocks())
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block))
        if (auto* minimum = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction))
          changed |= takeCarriedLast(*minimum, *loop);
  }
  return whatIsKept(changed);
}

llvm::PreservedAnalyses CarriedLoads::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  auto& aliases = analyses.getResult<llvm::AAManager>(function);
  bool changed = false;
  for (Loop* loop : loops.getLoopsInPreorder())
    if (loop->isInnermost()) changed |= LoopOfElements(*loop, evolution, dominators, aliases).run();
  return whatIsKept(changed);
}

}  // namespace fw::jit
