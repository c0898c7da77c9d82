// Functions of loops over numbers. Numbers stand in slots of the stack, one each, which LLVM turns into registers; so
// do the symbols and handles that the nest gives its values. Elsewhere they stand in memory of the call, where parts,
// library calls and commits find them: from there they come in front of the loop, and there they are put behind it. A
// loop that ends the run puts nothing anywhere: nobody looks.
//
// LLVM takes operations on floats for free of effects. What keeps their flags: every constant is fenced, so that
// nothing is computed at compile time, and values that no store needs are observed (emit_kernel.cpp). Where flags may
// be invented, comparisons are plain ones, and what branches choose may be computed on both sides.
#include <algorithm>
#include <cstddef>

#include "jit/compile.h"
#include "jit/emit_function.h"
#include "jit/optimize.h"
#include "jit/scalar_loops.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"

namespace fw::jit {

using graph::BufferId;
using graph::SymId;
using llvm::Value;

Value* FunctionState::homeOf(BufferId id) { return memory(plan_.buffers.at(id.index).home); }

bool FunctionState::isHandle(BufferId id) const {
  return plan_.buffers.at(id.index).kind == graph::BufferKind::kHandle;
}

void FunctionState::exchange(absl::Span<const std::pair<BufferId, BufferId>> moves) {
  std::vector<Number> had;
  for (const auto& [to, from] : moves)
    had.push_back(isNumber(to) ? loadNumber(to, buffer(from)) : Number{buffer(from)});
  for (size_t i = 0; i < had.size(); ++i) {
    const BufferId to = moves[i].first;
    if (isNumber(to))
      storeNumber(had[i], buffer(to));
    else
      ir_.CreateStore(had[i][0], bufferSlot(ir_, to));
  }
}

bool FunctionState::isPlace(BufferId id) const { return takesLiberties() && loop_->places.contains(id); }

bool FunctionState::isUnused(SymId symbol) const { return takesLiberties() && loop_->unused.contains(symbol); }

bool FunctionState::isCovered(SymId symbol) const { return takesLiberties() && loop_->covered.contains(symbol); }

std::optional<int64_t> FunctionState::limitOf(SymId symbol) const {
  if (!takesLiberties()) return std::nullopt;
  const auto limit = loop_->limits.find(symbol);
  return limit == loop_->limits.end() ? std::nullopt : std::optional(limit->second);
}

// All numbers of as many bits in one: a bit that one of them has too much stays.
void FunctionState::doubt(Value* number, int bits) {
  Value*& all = doubts_[bits];
  if (!all) {
    all = slot(ir_.getInt64Ty(), 1);
    entry_.CreateStore(i64(0), all);
  }
  ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(ir_.getInt64Ty(), all), number), all);
}

void FunctionState::leaveIfInDoubt() {
  if (doubts_.empty()) return;
  Value* any = ir_.getFalse();
  for (const auto& [bits, all] : doubts_) {
    Value* tooMuch = ir_.CreateLShr(ir_.CreateLoad(ir_.getInt64Ty(), all), i64(bits));
    any = ir_.CreateOr(any, ir_.CreateICmpNE(tooMuch, i64(0)));
  }
  leaveIf(any, [&] { raise(ir_.getTrue(), kStatusDoubt); });
}

bool FunctionState::takesLiberties() const { return isOptimized() && module_.liberties; }

void FunctionState::openLoop() {
  function_->addFnAttr(kOptimizeAttribute, takesLiberties() ? kFree : kExact);
  status_ = slot(ir_.getInt32Ty(), 1);
  control_ = slot(ir_.getInt32Ty(), 1);
  entry_.CreateStore(ir_.getInt32(0), status_);
  for (BufferId id : loop_->numbers) {
    const DType d = plan_.buffers.at(id.index).dtype;
    llvm::Type* part = memoryType(graph::isComplex(d) ? graph::realOf(d) : d);
    numbers_[id] = slot(part, graph::isComplex(d) ? 2 : 1);
  }
  for (BufferId id : loop_->handles) handleSlots_[id] = slot(ir_.getPtrTy(), 1);
  for (SymId id : loop_->symbols) symbolSlots_[id] = slot(ir_.getInt64Ty(), 1);
}

void FunctionState::annotate(llvm::Instruction* access, BufferId id) {
  if (!loop_ || isNumber(id)) return;
  if (scopes_.empty()) {
    llvm::MDBuilder metadata(ir_.getContext());
    llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
    std::vector<int> memories;
    for (const auto& [buffer, memory] : loop_->memories) memories.push_back(memory);
    std::sort(memories.begin(), memories.end());
    memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
    std::vector<llvm::Metadata*> scopes;
    for (size_t i = 0; i < memories.size(); ++i) scopes.push_back(metadata.createAnonymousAliasScope(domain));
    for (size_t i = 0; i < memories.size(); ++i) {
      std::vector<llvm::Metadata*> others = scopes;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      scopes_[memories[i]] = {llvm::MDNode::get(ir_.getContext(), {scopes[i]}),
                              llvm::MDNode::get(ir_.getContext(), others)};
    }
  }
  const Scope& scope = scopes_.at(loop_->memories.at(id));
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, scope.own);
  access->setMetadata(llvm::LLVMContext::MD_noalias, scope.others);
}

FunctionState::Number FunctionState::loadNumber(BufferId id, Value* from) {
  const DType d = plan_.buffers.at(id.index).dtype;
  if (!graph::isComplex(d)) return {ir_.CreateLoad(memoryType(d), from)};
  llvm::Type* part = memoryType(graph::realOf(d));
  return {ir_.CreateLoad(part, from), ir_.CreateLoad(part, ir_.CreateConstGEP1_64(part, from, 1))};
}

void FunctionState::storeNumber(const Number& parts, Value* to) {
  for (size_t i = 0; i < parts.size(); ++i)
    ir_.CreateStore(parts[i], ir_.CreateConstGEP1_64(parts[i]->getType(), to, i));
}

void FunctionState::enter() {
  for (BufferId id : loop_->entering) storeNumber(loadNumber(id, memory(id)), buffer(id));
}

void FunctionState::lend(BufferId number) {
  if (isNumber(number) && isHandle(number)) ir_.CreateStore(homeOf(number), tableEntry(ir_, number));
}

void FunctionState::fetch(BufferId number) {
  if (!isNumber(number)) return;
  Value* from = isHandle(number) ? homeOf(number) : memory(number);
  storeNumber(loadNumber(number, from), buffer(number));
}

void FunctionState::leave() {
  leaveIfInDoubt();
  for (BufferId id : loop_->leaving) storeNumber(loadNumber(id, buffer(id)), memory(id));
  for (BufferId id : loop_->results) {
    if (isNumber(id)) storeNumber(loadNumber(id, buffer(id)), homeOf(id));
    ir_.CreateStore(isNumber(id) ? homeOf(id) : buffer(id), tableEntry(ir_, id));
  }
}

Value* FunctionState::fenced(llvm::Constant* constant) {
  Value*& known = fenced_[constant];
  if (!known) known = entry_.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {constant->getType()}, {constant});
  return known;
}

}  // namespace fw::jit
