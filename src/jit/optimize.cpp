// Numbers to registers, common expressions and invariant code; then vectors, where a loop allows it, and unrolling.
// Passes are named one by one: LLVM's own pipelines take several times as long, and link all passes there are.
#include "jit/optimize.h"

#include <optional>

#include "jit/element_loops.h"
#include "jit/float_outcomes.h"
#include "jit/hoist_checks.h"
#include "jit/observers.h"
#include "jit/spare_doubts.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/DemandedBits.h"
#include "llvm/Analysis/LastRunTrackingAnalysis.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryDependenceAnalysis.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScopedNoAliasAA.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/PassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopLoadElimination.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/ExtraPassManager.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

namespace fw::jit {

namespace {

/// What the passes ask about functions and loops.
struct Analyses {
  explicit Analyses(llvm::TargetMachine& machine) : library(machine.getTargetTriple()) {
    library.disableAllFunctions();  // no loop is a memcpy or a call of anything
    const auto none = [] { return llvm::PassInstrumentationAnalysis(); };
    modules.registerPass(none);
    modules.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
    functions.registerPass(none);
    functions.registerPass([] {
      llvm::AAManager manager;
      manager.registerFunctionAnalysis<llvm::BasicAA>();
      manager.registerFunctionAnalysis<llvm::ScopedNoAliasAA>();
      return manager;
    });
    functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
    functions.registerPass([&] { return machine.getTargetIRAnalysis(); });
    functions.registerPass([] { return llvm::AssumptionAnalysis(); });
    functions.registerPass([] { return llvm::BasicAA(); });
    functions.registerPass([] { return llvm::BlockFrequencyAnalysis(); });
    functions.registerPass([] { return llvm::BranchProbabilityAnalysis(); });
    functions.registerPass([] { return llvm::DemandedBitsAnalysis(); });
    functions.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::LastRunTrackingAnalysis(); });
    functions.registerPass([] { return llvm::LoopAccessAnalysis(); });
    functions.registerPass([] { return llvm::LoopAnalysis(); });
    functions.registerPass([] { return llvm::MemoryDependenceAnalysis(); });
    functions.registerPass([] { return llvm::MemorySSAAnalysis(); });
    functions.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
    functions.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
    functions.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
    functions.registerPass([] { return llvm::ScopedNoAliasAA(); });
    functions.registerPass([] { return llvm::ShouldRunExtraVectorPasses(); });
    functions.registerPass([&] { return llvm::ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([&] { return llvm::LoopAnalysisManagerFunctionProxy(loops); });
    loops.registerPass(none);
    loops.registerPass([] { return llvm::ShouldRunExtraSimpleLoopUnswitch(); });
    loops.registerPass([&] { return llvm::FunctionAnalysisManagerLoopProxy(functions); });
  }
  llvm::TargetLibraryInfoImpl library;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::ModuleAnalysisManager modules;
};

/// `exact`: what is computed in some turns only raises its flags there only.
llvm::FunctionPassManager passes(const llvm::TargetMachine& machine, bool exact) {
  const auto simplifyFlow = [](bool sink) {
    return llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().sinkCommonInsts(sink).hoistCommonInsts(sink));
  };
  llvm::FunctionPassManager list;
  list.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  list.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  list.addPass(simplifyFlow(false));
  list.addPass(llvm::InstCombinePass());
  {
    llvm::LoopPassManager loops;
    llvm::LICMOptions options;
    options.AllowSpeculation = !exact;
    loops.addPass(llvm::LICMPass(options));
    list.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  }
  {
    llvm::LoopPassManager loops;
    loops.addPass(llvm::IndVarSimplifyPass());
    loops.addPass(llvm::LoopFullUnrollPass());
    list.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
  }
  list.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  list.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  if (!exact) list.addPass(HoistChecks());
  list.addPass(simplifyFlow(true));
  list.addPass(llvm::GVNPass());
  list.addPass(DropObservers(exact));
  list.addPass(CarriedLoads());
  list.addPass(llvm::LoopLoadEliminationPass());
  if (!exact) list.addPass(SpareDoubts());
  list.addPass(llvm::LoopVectorizePass());
  list.addPass(llvm::InstCombinePass());
  list.addPass(simplifyFlow(false));
  list.addPass(HoistIndices());
  list.addPass(CarriedLast());
  list.addPass(CarriedProducts());
  list.addPass(llvm::LoopUnrollPass());
  list.addPass(BranchOneByOne());
  if (machine.getMCSubtargetInfo()->checkFeatures("+avx")) list.addPass(SelectByMask());
  return list;
}

}  // namespace

bool wantsOptimization(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& f) { return f.hasFnAttribute(kOptimizeAttribute); });
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  Analyses analyses(machine);
  std::optional<llvm::FunctionPassManager> exact, free;
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(kOptimizeAttribute)) continue;
    const bool isExact = function.getFnAttribute(kOptimizeAttribute).getValueAsString() == kExact;
    auto& list = isExact ? exact : free;
    if (!list) list = passes(machine, isExact);
    list->run(function, analyses.functions);
  }
}

}  // namespace fw::jit
