#include "jit/float_outcomes.h"

#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/PatternMatch.h"

namespace fw::jit {

namespace {

struct Row {
  llvm::Intrinsic::ID comparison, mask, blend;
  uint8_t predicate;
};
const Row* rowOf(const llvm::CallInst* call) {
  using namespace llvm::Intrinsic;
  enum : uint8_t { kGeQuiet = 0x1d, kGtQuiet = 0x1e };
  static constexpr Row kRows[] = {{x86_sse2_ucomige_sd, x86_sse2_cmp_sd, x86_sse41_blendvpd, kGeQuiet},
                                  {x86_sse2_ucomigt_sd, x86_sse2_cmp_sd, x86_sse41_blendvpd, kGtQuiet},
                                  {x86_sse_ucomige_ss, x86_sse_cmp_ss, x86_sse41_blendvps, kGeQuiet},
                                  {x86_sse_ucomigt_ss, x86_sse_cmp_ss, x86_sse41_blendvps, kGtQuiet}};
  const auto* row = call ? llvm::find_if(kRows, [&](const Row& r) { return r.comparison == call->getIntrinsicID(); })
                         : std::end(kRows);
  return row == std::end(kRows) ? nullptr : row;
}

bool replaceByMask(llvm::SelectInst& select) {
  const auto* outcome = llvm::dyn_cast<llvm::ICmpInst>(select.getCondition());
  const bool fits = outcome && outcome->isEquality() && llvm::isa<llvm::ConstantInt>(outcome->getOperand(1)) &&
                    llvm::cast<llvm::ConstantInt>(outcome->getOperand(1))->isZero();
  auto* comparison = fits ? llvm::dyn_cast<llvm::CallInst>(outcome->getOperand(0)) : nullptr;
  const Row* row = rowOf(comparison);
  if (!row || (!select.getType()->isFloatTy() && !select.getType()->isDoubleTy())) return false;
  auto* vector = llvm::cast<llvm::FixedVectorType>(comparison->getArgOperand(0)->getType());
  if (vector->getElementType() != select.getType()) return false;
  llvm::IRBuilder<> ir(&select);
  const auto low = [&](llvm::Value* v) {
    return ir.CreateInsertElement(llvm::PoisonValue::get(vector), v, uint64_t{0});
  };
  const bool chosen = outcome->getPredicate() == llvm::CmpInst::ICMP_NE;
  llvm::Value* mask = ir.CreateIntrinsic(
      row->mask, {comparison->getArgOperand(0), comparison->getArgOperand(1), ir.getInt8(row->predicate)});
  llvm::Value* other = chosen ? select.getFalseValue() : select.getTrueValue();
  llvm::Value* above = chosen ? select.getTrueValue() : select.getFalseValue();
  llvm::Value* both = ir.CreateIntrinsic(row->blend, {low(other), low(above), mask});
  select.replaceAllUsesWith(ir.CreateExtractElement(both, uint64_t{0}));
  select.eraseFromParent();
  return true;
}

/// Where `first` is `asks`, `second` decides; else the outcome is `otherwise`.
struct Decision {
  llvm::Value *first, *second;
  bool asks, otherwise;
};

std::optional<Decision> decisionOf(llvm::Value* condition) {
  using namespace llvm::PatternMatch;
  llvm::Value *first, *second;
  llvm::ConstantInt* known;
  if (match(condition, m_Or(m_Value(first), m_Value(second)))) return Decision{first, second, false, true};
  if (match(condition, m_And(m_Value(first), m_Value(second)))) return Decision{first, second, true, false};
  if (match(condition, m_Select(m_Value(first), m_Value(second), m_ConstantInt(known))))
    return Decision{first, second, true, known->isOne()};
  if (match(condition, m_Select(m_Value(first), m_ConstantInt(known), m_Value(second))))
    return Decision{first, second, false, known->isOne()};
  return std::nullopt;
}

bool branchOneByOne(llvm::BranchInst& branch) {
  auto* condition = llvm::dyn_cast<llvm::Instruction>(branch.getCondition());
  const std::optional<Decision> decision = condition ? decisionOf(condition) : std::nullopt;
  if (!decision || !condition->hasOneUse() || branch.getSuccessor(0) == branch.getSuccessor(1)) return false;
  if (!llvm::isa<llvm::FCmpInst>(decision->first) && !llvm::isa<llvm::FCmpInst>(decision->second)) return false;
  llvm::BasicBlock* block = branch.getParent();
  llvm::BasicBlock* early = branch.getSuccessor(decision->otherwise ? 0 : 1);
  llvm::BasicBlock* late = branch.getSuccessor(decision->otherwise ? 1 : 0);
  llvm::BasicBlock* then =
      llvm::BasicBlock::Create(block->getContext(), "then", block->getParent(), block->getNextNode());
  late->replacePhiUsesWith(block, then);
  for (llvm::PHINode& phi : early->phis()) phi.addIncoming(phi.getIncomingValueForBlock(block), then);
  llvm::BranchInst* last =
      llvm::IRBuilder<>(then).CreateCondBr(decision->second, branch.getSuccessor(0), branch.getSuccessor(1));
  last->setMetadata(llvm::LLVMContext::MD_loop, branch.getMetadata(llvm::LLVMContext::MD_loop));
  branch.setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  branch.setCondition(decision->first);
  branch.setSuccessor(0, decision->asks ? then : early);
  branch.setSuccessor(1, decision->asks ? early : then);
  condition->eraseFromParent();
  branchOneByOne(branch);
  branchOneByOne(*last);
  return true;
}

llvm::PreservedAnalyses kept(bool changed) {
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace

llvm::PreservedAnalyses SelectByMask::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::SelectInst*, 16> selects;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) selects.push_back(select);
  bool changed = false;
  for (llvm::SelectInst* select : selects) changed |= replaceByMask(*select);
  return kept(changed);
}

llvm::PreservedAnalyses BranchOneByOne::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::BranchInst*, 16> branches;
  for (llvm::BasicBlock& block : function)
    if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator()); branch && branch->isConditional())
      branches.push_back(branch);
  bool changed = false;
  for (llvm::BranchInst* branch : branches) changed |= branchOneByOne(*branch);
  return kept(changed);
}

}  // namespace fw::jit
