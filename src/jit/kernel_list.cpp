#include "jit/kernel_list.h"

#include <optional>
#include <utility>

#include "graph/support/check.h"
#include "jit/emit_clock.h"
#include "jit/emit_kernel.h"
#include "jit/scalar_loops.h"

namespace fw::jit {

using kernels::Kernel;
using Kind = FunctionState::Kind;

KernelList::KernelList(const ModuleState& m, std::string name, Use use, std::vector<const Kernel*> list)
    : m_(m),
      name_(std::move(name)),
      use_(use),
      list_(std::move(list)),
      sharedBy_(list_.size(), -1) {}

FunctionState KernelList::open(const char* what, Kind kind, llvm::ArrayRef<llvm::Type*> more, const ScalarLoop* loop) {
  const std::string name = kind == Kind::kEntry ? name_ : name_ + what + std::to_string(opened_++);
  return FunctionState(m_, name, kind, more, loop);
}

void KernelList::share(const std::vector<bool>& exception) {
  if (m_.checked) return;  // shared code does not know whose buffer it is in
  std::vector<const Kernel*> candidates;
  std::vector<size_t> positions;
  for (size_t i = 0; i < list_.size(); ++i) {
    if (exception[i]) continue;
    candidates.push_back(list_[i]);
    positions.push_back(i);
  }
  shared_ = findShared(candidates, m_.syms);
  for (size_t s = 0; s < shared_.size(); ++s) {
    for (size_t& user : shared_[s].users) sharedBy_[user = positions[user]] = static_cast<int>(s);
    functions_.push_back(emitShared(shared_[s]));
  }
  nextUser_.resize(shared_.size());
}

void KernelList::kernel(FunctionState& fn, size_t i) {
  std::optional<EmitClock> clock;
  if (use_ != Use::kObserve) clock.emplace(fn, use_ == Use::kRun ? m_.partOfKernel(i) : m_.partOfCommit(i));
  // A loop over numbers has the rules of all that is in it. What commits compute goes by none.
  const bool own = use_ == Use::kRun && !fn.isOptimized() && list_[i]->errors;
  fn.withRules(own ? *list_[i]->errors : graph::ErrorRules{}, [&] {
    if (sharedBy_[i] >= 0) return call(fn, static_cast<size_t>(sharedBy_[i]), i);
    KernelEmitter emitter(fn, *list_[i], m_.checked && use_ != Use::kCommit);
    use_ == Use::kObserve ? emitter.observe() : emitter.run();
  });
}

void KernelList::range(FunctionState& main, bool mayLeave, size_t from, size_t to, const Emit& emit) {
  size_t total = 0;
  for (size_t i = from; i < to; ++i) total += weight(i);
  // A loop over numbers has its symbols and numbers in registers, where no other function finds them.
  if (total <= kPartWeight || main.isOptimized()) {
    for (size_t i = from; i < to; ++i) emit(main, i);
    return;
  }
  for (size_t i = from; i < to;) {
    FunctionState part = open("_part", Kind::kPart);
    for (size_t length = 0; i < to && (length == 0 || length + weight(i) <= kPartWeight); ++i) {
      emit(part, i);
      length += weight(i);
    }
    part.finish();
    main.callPart(part, mayLeave);
  }
}

size_t KernelList::weight(size_t i) const {
  if (sharedBy_[i] < 0) return weightOf(*list_[i]);
  const KernelArguments& a = shared_[static_cast<size_t>(sharedBy_[i])].arguments[0];
  return 4 + a.places.size() + a.syms.size() + a.numbers.size();
}

llvm::Function* KernelList::emitShared(const SharedKernel& shared) {
  const Kernel& kernel = *list_[shared.users[0]];
  const KernelArguments& own = shared.arguments[0];
  llvm::LLVMContext& context = m_.module.getContext();
  std::vector<llvm::Type*> types(own.places.size(), llvm::PointerType::get(context, 0));
  types.resize(types.size() + own.syms.size(), llvm::Type::getInt64Ty(context));
  for (kernels::ExprId id : own.numbers)
    types.push_back(kernel.exprs[id.index].dtype == graph::DType::kF32 ? llvm::Type::getFloatTy(context)
                                                                       : llvm::Type::getDoubleTy(context));
  FunctionState fn = open("_shared", Kind::kShared, types);
  KernelEmitter emitter(fn, kernel);
  unsigned next = 1;
  for (const auto& [buffer, offset] : own.places) fn.bind(buffer, offset, fn.function()->getArg(next++));
  for (graph::SymId sym : own.syms) fn.bind(sym, fn.function()->getArg(next++));
  for (kernels::ExprId id : own.numbers) emitter.bind(id, fn.function()->getArg(next++));
  use_ == Use::kObserve ? emitter.observe() : emitter.run();
  fn.finish();
  return fn.function();
}

void KernelList::call(FunctionState& fn, size_t shared, size_t i) {
  size_t& user = nextUser_[shared];  // kernels come in order
  FW_CHECK(shared_[shared].users[user] == i);
  const KernelArguments& arguments = shared_[shared].arguments[user++];
  std::vector<llvm::Value*> values = {fn.status()};
  for (const auto& [buffer, offset] : arguments.places) values.push_back(fn.address(buffer, offset));
  for (graph::SymId sym : arguments.syms) values.push_back(fn.sym(sym));
  OpEmitter ops(fn);
  for (kernels::ExprId id : arguments.numbers) {
    const kernels::Expr& expr = list_[i]->exprs[id.index];
    values.push_back(ops.constant(expr.dtype, expr.imm));
  }
  fn.ir().CreateCall(functions_[shared], values);
}

}  // namespace fw::jit
