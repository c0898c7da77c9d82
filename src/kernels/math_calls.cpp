#include "kernels/math_calls.h"

#include <cstddef>
#include <memory>
#include <mutex>

#include "graph/support/check.h"
#include "kernels/math.h"

namespace fw::kernels {
namespace {

/// Copies of one function in a program.
constexpr uint32_t kMostCopies = 4;

struct Row {
  Val (*unary)(KernelBuilder&, Val) = nullptr;
  Val (*binary)(KernelBuilder&, Val, Val) = nullptr;
};
constexpr Row row(std::nullptr_t) { return {}; }
constexpr Row row(Val (*f)(KernelBuilder&, Val)) { return {f, nullptr}; }
constexpr Row row(Val (*f)(KernelBuilder&, Val, Val)) { return {nullptr, f}; }

constexpr Row kRows[] = {
#define FW_LIBM(Id, symbolF32, symbolF64, arity, vector) row(vector),
#include "kernels/libm.def"
};

size_t indexOf(DType d) {
  FW_CHECK(d == DType::kF32 || d == DType::kF64);
  return d == DType::kF64;
}

Val operations(KernelBuilder& b, Libm function, absl::Span<const Val> operands) {
  const Row& f = kRows[static_cast<size_t>(function)];
  FW_CHECK(f.unary || f.binary);
  return f.unary ? f.unary(b, operands[0]) : f.binary(b, operands[0], operands[1]);
}

std::unique_ptr<const MathFunction> makeFunction(MathCall call, DType d) {
  auto made = std::make_unique<MathFunction>();
  KernelBuilder b(made->syms, std::string(name(call.function)),
                  call.reportsFlags ? graph::ErrorRules{} : graph::ErrorRules{graph::ErrorRules::kAll});
  const SymId start = made->syms.constant(0);
  std::vector<Val> operands;
  const size_t arity = kRows[static_cast<size_t>(call.function)].unary ? 1 : 2;
  const graph::BufferId result(arity);
  b.declareStored(result);
  for (size_t i = 0; i < arity; ++i) operands.push_back(b.load({graph::BufferId(i), start, {}}, d));
  b.store({result, start, {}}, operations(b, call.function, operands));
  made->kernel = std::move(b).take();
  return made;
}

}  // namespace

bool MathCalls::use(Libm function, DType d) {
  Count& count = counts_[static_cast<size_t>(function)][indexOf(d)];
  ++count.uses;
  return count.called;
}

bool MathCalls::settle() {
  bool any = false;
  for (auto& types : counts_)
    for (Count& count : types) any |= count.called = count.uses > kMostCopies;
  return any;
}

const MathFunction& mathFunction(MathCall call, DType d) {
  using Functions = std::array<std::array<std::array<std::unique_ptr<const MathFunction>, 2>, 2>, kLibmCount>;
  static std::mutex mutex;
  static auto& made = *new Functions;  // never destroyed: threads may compile while the process ends
  const std::scoped_lock lock(mutex);
  auto& slot = made[static_cast<size_t>(call.function)][indexOf(d)][call.reportsFlags];
  if (!slot) slot = makeFunction(call, d);
  return *slot;
}

namespace math {

Val apply(KernelBuilder& b, Libm function, absl::Span<const Val> operands) {
  const Row& row = kRows[static_cast<size_t>(function)];
  if (!row.unary && !row.binary) return b.libm(function, operands[0].dtype, operands);
  MathCalls* calls = b.calls();
  return calls && calls->use(function, operands[0].dtype) ? b.callMath(function, operands)
                                                          : operations(b, function, operands);
}

}  // namespace math
}  // namespace fw::kernels
