#include "jit/hoist_checks.h"

#include "jit/observers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

namespace fw::jit {

namespace {

using llvm::BasicBlock;
using llvm::BranchInst;
using llvm::ICmpInst;
using llvm::Loop;
using llvm::SCEV;
using llvm::Value;

constexpr char kAhead[] = "fusewire_checks_ahead";

/// Asks whether `number` is below `end`, both without a sign, and gives the run up if not.
struct Check {
  llvm::Use* outcome;  ///< of a branch or of what joins several outcomes
  bool stays;          ///< the outcome with which the turn goes on
  const llvm::SCEVAddRecExpr* number;
  const SCEV* end;
};

class LoopOfChecks {
 public:
  LoopOfChecks(Loop& loop, llvm::ScalarEvolution& evolution, llvm::DominatorTree& dominators)
      : loop_(loop),
        evolution_(evolution),
        dominators_(dominators) {}

  /// Whether one of the checks would fail, computed in front of `at`, which comes to the loop or leaves; null if there
  /// is none. They are gone then.
  Value* hoist(llvm::Instruction* at) {
    BasicBlock* latch = loop_.getLoopLatch();
    if (!latch || !loop_.isLoopExiting(latch) || !endsWithItsTurns(latch)) return nullptr;
    const SCEV* turns = evolution_.getExitCount(&loop_, latch);
    llvm::SCEVExpander expander(evolution_, "ahead");
    if (!isKnown(turns, at, expander)) return nullptr;
    std::vector<Check> checks;
    for (BasicBlock* block : loop_.blocks()) {
      auto* branch = llvm::dyn_cast<BranchInst>(block->getTerminator());
      if (!branch || !branch->isConditional() || block == latch || !dominators_.dominates(block, latch)) continue;
      const bool firstStays = loop_.contains(branch->getSuccessor(0));
      if (firstStays == loop_.contains(branch->getSuccessor(1))) continue;
      collect(branch->getOperandUse(0), firstStays, at, expander, checks);
    }
    if (checks.empty()) return nullptr;

    llvm::Type* type = llvm::Type::getInt64Ty(at->getContext());
    Value* count = expander.expandCodeFor(turns, type, at->getIterator());
    llvm::IRBuilder<> ir(at);
    Value* fails = ir.CreateICmpUGT(count, ir.getInt64(kMostTurns));
    llvm::MapVector<const llvm::SCEVAddRecExpr*, Value*> nearest;  // of the ends of one number, the nearest
    for (const Check& check : checks) {
      Value* end = expander.expandCodeFor(check.end, type, at->getIterator());
      const auto [known, isNew] = nearest.try_emplace(check.number, end);
      if (!isNew && known->second != end)
        known->second = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, known->second, end);
    }
    for (const auto& [number, end] : nearest) {
      const SCEV* step = number->getStepRecurrence(evolution_);
      Value* first = expander.expandCodeFor(number->getStart(), type, at->getIterator());
      // Small steps, few turns, and a first number below 2^63: the last one may wrap to a negative number at most.
      Value* by = expander.expandCodeFor(step, type, at->getIterator());
      if (!llvm::isa<llvm::Constant>(by)) {
        Value* large = ir.CreateICmpUGT(ir.CreateAdd(by, ir.getInt64(kLargestStep)), ir.getInt64(2 * kLargestStep));
        fails = ir.CreateOr(fails, ir.CreateAnd(large, ir.CreateICmpNE(count, ir.getInt64(0))));
      }
      Value* way = ir.CreateMul(count, by);
      fails = ir.CreateOr(fails, ir.CreateICmpSLT(end, ir.getInt64(0)));
      fails = ir.CreateOr(fails, ir.CreateICmpUGE(first, end));
      fails = ir.CreateOr(fails, ir.CreateICmpUGE(ir.CreateAdd(first, way), end));
    }
    for (const Check& check : checks) check.outcome->set(ir.getInt1(check.stays));
    for (llvm::Instruction* join : joined_) {
      Value* simple = llvm::simplifyInstruction(join, {join->getDataLayout()});
      if (!simple) continue;
      join->replaceAllUsesWith(simple);
      join->eraseFromParent();
    }
    return fails;
  }

 private:
  static constexpr uint64_t kMostTurns = uint64_t{1} << 32;
  static constexpr int64_t kLargestStep = 1 << 30;

  bool endsWithItsTurns(const BasicBlock* latch) {
    llvm::SmallVector<BasicBlock*, 8> exiting;
    loop_.getExitingBlocks(exiting);
    return llvm::all_of(exiting, [&](BasicBlock* block) {
      return block == latch || llvm::all_of(llvm::successors(block),
                                            [&](BasicBlock* next) { return loop_.contains(next) || isGivenUp(next); });
    });
  }

  bool isKnown(const SCEV* number, const llvm::Instruction* at, const llvm::SCEVExpander& expander) {
    return !llvm::isa<llvm::SCEVCouldNotCompute>(number) && evolution_.isLoopInvariant(number, &loop_) &&
           number->getType()->isIntegerTy(64) && evolution_.dominates(number, at->getParent()) &&
           expander.isSafeToExpandAt(number, at);
  }

  /// What `outcome` is joined of, if the turn goes on only where all of it says so.
  void collect(llvm::Use& outcome, bool stays, const llvm::Instruction* at, const llvm::SCEVExpander& expander,
               std::vector<Check>& checks) {
    using namespace llvm::PatternMatch;
    Value *first, *second;
    const bool joins = stays ? match(outcome.get(), m_LogicalAnd(m_Value(first), m_Value(second)))
                             : match(outcome.get(), m_LogicalOr(m_Value(first), m_Value(second)));
    if (joins && outcome->hasOneUse()) {
      for (llvm::Use& part : llvm::cast<llvm::Instruction>(outcome)->operands())
        if (part == first || part == second) collect(part, stays, at, expander, checks);
      joined_.push_back(llvm::cast<llvm::Instruction>(outcome));
      return;
    }
    const auto* compare = llvm::dyn_cast<ICmpInst>(outcome);
    if (!compare || !compare->getOperand(0)->getType()->isIntegerTy(64)) return;
    auto predicate = stays ? compare->getPredicate() : compare->getInversePredicate();
    const SCEV* number = evolution_.getSCEV(compare->getOperand(0));
    const SCEV* end = evolution_.getSCEV(compare->getOperand(1));
    if (evolution_.isLoopInvariant(number, &loop_)) {
      std::swap(number, end);
      predicate = ICmpInst::getSwappedPredicate(predicate);
    }
    if (predicate == ICmpInst::ICMP_ULE)
      end = evolution_.getAddExpr(end, evolution_.getOne(end->getType()));
    else if (predicate != ICmpInst::ICMP_ULT)
      return;
    const auto* linear = llvm::dyn_cast<llvm::SCEVAddRecExpr>(number);
    if (!linear || linear->getLoop() != &loop_ || !linear->isAffine()) return;
    const SCEV* step = linear->getStepRecurrence(evolution_);
    const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(step);
    if (constant ? constant->getAPInt().abs().ugt(kLargestStep) : !isKnown(step, at, expander)) return;
    if (isKnown(linear->getStart(), at, expander) && isKnown(end, at, expander))
      checks.push_back({&outcome, stays, linear, end});
  }

  Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  llvm::DominatorTree& dominators_;
  std::vector<llvm::Instruction*> joined_;  ///< of several outcomes, after those
};

/// That begins where `branch`, on a false outcome, goes on; null if there is none.
Loop* loopBehind(const BranchInst& branch, const llvm::LoopInfo& loops) {
  BasicBlock* at = branch.getSuccessor(1);
  for (int i = 0; i < 3; ++i) {
    Loop* loop = loops.getLoopFor(at);
    if (loop && loop->getHeader() == at && !loop->contains(branch.getParent())) return loop;
    at = at->getSingleSuccessor();
    if (!at) return nullptr;
  }
  return nullptr;
}

}  // namespace

Value* checksAhead(llvm::IRBuilder<>& ir) {
  llvm::Module* module = ir.GetInsertBlock()->getModule();
  auto* type = llvm::FunctionType::get(ir.getInt1Ty(), false);
  llvm::CallInst* ahead = ir.CreateCall(module->getOrInsertFunction(kAhead, type));
  ahead->setDoesNotThrow();
  ahead->setOnlyAccessesInaccessibleMemory();  // each stands for its own loop
  ahead->addFnAttr(llvm::Attribute::WillReturn);
  return ahead;
}

llvm::PreservedAnalyses HoistChecks::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const llvm::Function* ahead = function.getParent()->getFunction(kAhead);
  llvm::SmallVector<llvm::CallInst*, 8> calls;
  for (BasicBlock& block : function)
    for (llvm::Instruction& instruction : block)
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->getCalledFunction() == ahead)
        calls.push_back(call);
  if (!ahead || calls.empty()) return llvm::PreservedAnalyses::all();
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  for (llvm::CallInst* call : calls) {
    auto* branch = llvm::dyn_cast<BranchInst>(call->getParent()->getTerminator());
    const bool decides = branch && branch->isConditional() && branch->getCondition() == call;
    Loop* loop = decides ? loopBehind(*branch, loops) : nullptr;
    Value* fails = loop ? LoopOfChecks(*loop, evolution, dominators).hoist(branch) : nullptr;
    call->replaceAllUsesWith(fails ? fails : llvm::ConstantInt::getFalse(call->getContext()));
    call->eraseFromParent();
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace fw::jit
