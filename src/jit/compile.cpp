// From kernels to an Executable: LLVM IR for all of them in one function, then machine code.
#include "jit/compile.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "graph/support/stopwatch.h"
#include "jit/emit_module.h"
#include "jit/session.h"
#include "jit/target.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace fw::jit {

namespace {

class NativeExecutable : public Executable {
 public:
  NativeExecutable(graph::Plan plan, std::unique_ptr<LoadedCode> code, CompileTimings timings,
                   std::vector<DeferredCommit> deferred, bool checked)
      : plan_(std::move(plan)),
        code_(std::move(code)),
        timings_(timings),
        deferred_(std::move(deferred)),
        checked_(checked) {
    size_t next = 0;
    const auto take = [&] { return reinterpret_cast<Function>(code_->entry(next++)); };
    compute_ = take();
    if (!plan_.commits.empty()) commit_ = take();
    if (!deferred_.empty()) check_ = take();
  }
  int32_t compute(Context& context) const override { return compute_(&context); }
  int32_t check(Context& context) const override { return check_ ? check_(&context) : 0; }
  int32_t commit(Context& context) const override { return commit_ ? commit_(&context) : 0; }
  absl::Span<const DeferredCommit> deferred() const override { return deferred_; }
  bool isChecked() const override { return checked_; }
  const graph::Plan& plan() const override { return plan_; }
  CompileTimings timings() const override { return timings_; }
  size_t codeSize() const override { return code_->codeSize(); }

 private:
  using Function = int32_t (*)(Context*);

  graph::Plan plan_;
  std::unique_ptr<LoadedCode> code_;
  CompileTimings timings_;
  std::vector<DeferredCommit> deferred_;
  bool checked_;
  Function compute_ = nullptr, commit_ = nullptr, check_ = nullptr;
};

// Symbols are unique in the process, because all objects share one symbol table.
std::string nextName() {
  static std::atomic<uint64_t> counter{0};
  return "fw" + std::to_string(counter.fetch_add(1, std::memory_order_relaxed));
}

// What the emitters assume and a wrong kernel would break inside LLVM, where errors end the process.
absl::Status checkKernel(const kernels::Kernel& kernel) {
  for (const kernels::Expr& expr : kernel.exprs) {
    if (graph::isComplex(expr.dtype)) {
      return absl::UnimplementedError(absl::StrCat("kernel ", kernel.name, ": complex scalar expression"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> compile(kernels::KernelProgram program, const graph::SymContext& syms,
                                                    graph::Plan plan, const CompileOptions& options, CompiledText* text,
                                                    CompileTimings timings) {
  for (const auto* list : {&program.kernels, &program.commits}) {
    for (const kernels::Kernel& kernel : *list)
      if (absl::Status status = checkKernel(kernel); !status.ok()) return status;
  }
  auto target = resolveTarget(options.isa);
  if (!target.ok()) return target.status();
  Stopwatch watch;
  const std::string name = nextName();
  llvm::LLVMContext context;
  llvm::Module module("fusewire", context);
  Session& session = Session::instance();
  session.prepare(module, **target, options.optLevel);
  const ModuleState state{module, **target, syms, plan, program, options.checked};
  emitEntry(state, name);
  std::vector<std::string> entries = {name};
  if (!plan.commits.empty()) {
    entries.push_back(name + "_commit");
    emitCommits(state, entries.back());
  }
  if (!program.deferred.empty()) {
    entries.push_back(name + "_check");
    emitCheck(state, entries.back());
  }
  // Always on, for about 0.1 ms: what it misses ends the process inside the code generator.
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  if (llvm::verifyModule(module, &errorStream)) return absl::InternalError(absl::StrCat("bad LLVM IR: ", errors));
  if (text != nullptr && options.keepText) {
    llvm::raw_string_ostream stream(text->llvm);
    module.print(stream, nullptr);
    auto assembly = session.assembly(module, **target, options.optLevel);
    if (!assembly.ok()) return assembly.status();
    text->assembly = *std::move(assembly);
  }
  timings.irMs = watch.lapMs();
  if (absl::Status late = options.deadline.check("code generation"); !late.ok()) return late;
  auto generated = session.generate(module, **target, options.optLevel, entries, options.deadline);
  if (!generated.ok()) return generated.status();
  timings.codegenMs = generated->codegenMs;
  timings.linkMs = generated->linkMs;
  return std::make_unique<NativeExecutable>(std::move(plan), std::move(generated->code), timings,
                                            std::move(program.deferred), options.checked || !program.reaches.empty());
}

}  // namespace fw::jit
