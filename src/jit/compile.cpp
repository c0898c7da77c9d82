// From kernels to an Executable: LLVM IR for all of them in one function, then machine code; or the code that there is
// already for a program of the same content.
#include "jit/compile.h"

#include "absl/strings/str_cat.h"
#include "graph/support/event.h"
#include "graph/support/stopwatch.h"
#include "jit/content_name.h"
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
  NativeExecutable(graph::Plan plan, std::shared_ptr<const LoadedCode> code, CompileTimings timings,
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
  std::shared_ptr<const LoadedCode> code_;
  CompileTimings timings_;
  std::vector<DeferredCommit> deferred_;
  bool checked_;
  Function compute_ = nullptr, commit_ = nullptr, check_ = nullptr;
};

// What the emitters assume and a wrong kernel would break inside LLVM, where errors end the process.
absl::Status checkKernel(const kernels::Kernel& kernel) {
  for (const kernels::Expr& expr : kernel.exprs) {
    if (graph::isComplex(expr.dtype)) {
      return absl::UnimplementedError(absl::StrCat("kernel ", kernel.name, ": complex scalar expression"));
    }
  }
  return absl::OkStatus();
}

struct ProgramParts {
  const kernels::KernelProgram& program;
  const graph::SymContext& syms;
  const graph::Plan& plan;
  const TargetSpec& target;
};

/// Code for the entries that the program has.
absl::StatusOr<Session::Generated> make(const ProgramParts& parts, const std::vector<std::string>& entries,
                                        const CompileOptions& options, CompiledText* text, CompileTimings& timings) {
  Stopwatch watch;
  Session& session = Session::instance();
  llvm::LLVMContext context;
  llvm::Module module("fusewire", context);
  session.prepare(module, parts.target, options.optLevel);
  const ModuleState state{module, parts.target, parts.syms, parts.plan, parts.program, options.checked};
  size_t next = 0;
  emitEntry(state, entries[next++]);
  if (!parts.plan.commits.empty()) emitCommits(state, entries[next++]);
  if (!parts.program.deferred.empty()) emitCheck(state, entries[next++]);
  // Always on, for about 0.1 ms: what it misses ends the process inside the code generator.
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  if (llvm::verifyModule(module, &errorStream)) return absl::InternalError(absl::StrCat("bad LLVM IR: ", errors));
  session.improve(module, parts.target, options.optLevel);
  const int64_t told = toldNs();
  if (text != nullptr && options.keepText) {
    const Telling telling;
    llvm::raw_string_ostream stream(text->llvm);
    module.print(stream, nullptr);
    auto assembly = session.assembly(module, parts.target, options.optLevel);
    if (!assembly.ok()) return assembly.status();
    text->assembly = *std::move(assembly);
  }
  timings.irMs = watch.lapMs() - static_cast<double>(toldNs() - told) / 1e6;
  if (absl::Status late = options.deadline.check("code generation"); !late.ok()) return late;
  return session.generate(module, parts.target, options.optLevel, entries, options.deadline);
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
  Session& session = Session::instance();
  const std::string name = contentName(program, syms, plan, **target, options);
  std::vector<std::string> entries = {name};
  if (!plan.commits.empty()) entries.push_back(name + "_commit");
  if (!program.deferred.empty()) entries.push_back(name + "_check");
  absl::StatusOr<Session::Generated> generated = Session::Generated{};
  if (!options.textOfKnown) generated = session.find(entries);
  if (!generated.ok()) return generated.status();
  if (!generated->code) {
    const ProgramParts parts{program, syms, plan, **target};
    generated = make(parts, entries, options, text, timings);
    if (absl::IsAborted(generated.status()) && options.optLevel > 0) {
      // Now and then LLVM's register allocator finds no way; the simple one, which keeps values in memory, always does.
      CompileOptions simple = options;
      simple.optLevel = 0;
      generated = make(parts, entries, simple, text, timings);
    }
    if (!generated.ok()) return generated.status();
  }
  timings.codegenMs = generated->codegenMs;
  timings.linkMs = generated->linkMs;
  return std::make_unique<NativeExecutable>(std::move(plan), std::move(generated->code), timings,
                                            std::move(program.deferred), options.checked || !program.reaches.empty());
}

}  // namespace fw::jit
