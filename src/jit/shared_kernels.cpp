#include "jit/shared_kernels.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace fw::jit {
namespace {

using kernels::ExprId;
using kernels::Kernel;

/// Drops the constants that are the same for all users.
void dropEqualNumbers(SharedKernel& shared, absl::Span<const Kernel* const> list) {
  const auto bits = [&](size_t user, size_t at) {
    return list[shared.users[user]]->exprs[shared.arguments[user].numbers[at].index].imm;
  };
  std::vector<bool> differs(shared.arguments[0].numbers.size());
  for (size_t at = 0; at < differs.size(); ++at)
    for (size_t user = 1; user < shared.users.size(); ++user)
      differs[at] = differs[at] || bits(user, at) != bits(0, at);
  for (KernelArguments& arguments : shared.arguments) {
    std::vector<ExprId> kept;
    for (size_t at = 0; at < differs.size(); ++at)
      if (differs[at]) kept.push_back(arguments.numbers[at]);
    arguments.numbers = std::move(kept);
  }
}

}  // namespace

std::vector<SharedKernel> findShared(absl::Span<const Kernel* const> list, const graph::SymContext& syms) {
  std::vector<SharedKernel> all;
  absl::flat_hash_map<std::string, size_t> byText;
  for (size_t i = 0; i < list.size(); ++i) {
    KernelText written = writeDown(*list[i], syms);
    const auto [at, fresh] = byText.try_emplace(std::move(written.text), all.size());
    if (fresh) all.emplace_back();
    all[at->second].users.push_back(i);
    all[at->second].arguments.push_back(std::move(written.arguments));
  }
  std::erase_if(all, [](const SharedKernel& kernel) { return kernel.users.size() < 2; });
  for (SharedKernel& kernel : all) dropEqualNumbers(kernel, list);
  return all;
}

}  // namespace fw::jit
