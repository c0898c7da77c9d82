// From kernels to an Executable: LLVM IR for all of them in one function, then machine code; or the code that there is
// already for a program of the same content.
#include "jit/compile.h"

#include <atomic>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/support/event.h"
#include "graph/support/stopwatch.h"
#include "jit/content_name.h"
#include "jit/emit_module.h"
#include "jit/scalar_loops.h"
#include "jit/session.h"
#include "jit/target.h"
#include "kernels/work.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "runtime/background.h"

namespace fw::jit {

namespace {

/// Machine code and what its making took.
struct Made {
  std::shared_ptr<const LoadedCode> code;
  CompileTimings timings;
};

class NativeExecutable : public Executable {
 public:
  NativeExecutable(graph::Plan plan, std::shared_ptr<const Made> made, std::vector<DeferredCommit> deferred,
                   bool checked, std::unique_ptr<runtime::PartMeter> meter, std::shared_ptr<runtime::Job> job = nullptr)
      : meter_(std::move(meter)),
        plan_(std::move(plan)),
        made_(std::move(made)),
        deferred_(std::move(deferred)),
        checked_(checked),
        job_(std::move(job)) {
    if (!job_) takeCode();
  }
  int32_t compute(Context& context) const override {
    if (!isReady_.load(std::memory_order_acquire)) return kStatusNotYet;
    if (!exact_) return compute_(&context);
    if (prefersExact_.load(std::memory_order_relaxed)) return exact_->compute(context);
    runs_.store(runs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return compute_(&context);
  }
  int32_t check(Context& context) const override { return check_ ? check_(&context) : 0; }
  int32_t commit(Context& context) const override { return commit_ ? commit_(&context) : 0; }
  absl::Span<const DeferredCommit> deferred() const override { return deferred_; }
  const Executable* exact(int32_t status) const override {
    constexpr int32_t kFlags = kStatusInvalid | kStatusDivide | kStatusOverflow | kStatusUnderflow;
    if (!exact_ || (status & ~(kFlags | kStatusDoubt)) || prefersExact_ || !exact_->wait().ok()) return nullptr;
    // Where one run of eight is made twice, the slower code is faster.
    const int64_t asked = asked_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (asked >= 4 && 8 * asked > runs_.load(std::memory_order_relaxed)) prefersExact_ = true;
    return exact_.get();
  }
  /// This one takes no liberties.
  void takeExact(std::unique_ptr<NativeExecutable> exact) { exact_ = std::move(exact); }
  bool isChecked() const override { return checked_; }
  absl::Status ready() const override { return isReady_ ? absl::OkStatus() : settled(job_->state()); }
  absl::Status wait() const override { return isReady_ ? absl::OkStatus() : settled(job_->wait()); }
  const graph::Plan& plan() const override { return plan_; }
  CompileTimings timings() const override { return isReady_ ? made_->timings : CompileTimings{}; }
  size_t codeSize() const override { return isReady_ ? made_->code->codeSize() : 0; }
  runtime::PartMeter* meter() const override { return meter_.get(); }
  void announce(std::string_view label) const override {
    if (isReady_ && areProfilersOpen()) names_ = tellProfilers(label, made_->code->functions());
  }

 private:
  using Function = int32_t (*)(Context*);

  /// The job is through, or not.
  absl::Status settled(absl::Status state) const {
    if (state.ok()) std::call_once(taken_, [this] { takeCode(); });
    return state;
  }
  void takeCode() const {
    size_t next = 0;
    const auto take = [&] { return reinterpret_cast<Function>(made_->code->entry(next++)); };
    compute_ = take();
    if (!plan_.commits.empty()) commit_ = take();
    if (!deferred_.empty()) check_ = take();
    isReady_.store(true, std::memory_order_release);
  }

  std::unique_ptr<runtime::PartMeter> meter_;
  std::unique_ptr<NativeExecutable> exact_;
  mutable std::atomic<bool> prefersExact_ = false;
  mutable std::atomic<int64_t> runs_ = 0, asked_ = 0;  ///< about
  graph::Plan plan_;
  std::shared_ptr<const Made> made_;  ///< filled by the job
  std::vector<DeferredCommit> deferred_;
  bool checked_;
  mutable std::shared_ptr<void> names_;  ///< gone before the code is
  std::shared_ptr<runtime::Job> job_;    ///< null: there has been none
  mutable std::once_flag taken_;
  mutable std::atomic<bool> isReady_ = false;  ///< what follows is there
  mutable Function compute_ = nullptr, commit_ = nullptr, check_ = nullptr;
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

/// Of the parts in the order of ModuleState.
std::unique_ptr<runtime::PartMeter> makeMeter(const kernels::KernelProgram& program, const graph::SymContext& syms,
                                              const graph::Plan& plan) {
  using Part = runtime::PartMeter::Part;
  struct Shared {
    kernels::KernelProgram program;
    graph::SymContext syms;
    graph::Plan plan;
  };
  const auto shared = std::make_shared<const Shared>(program, syms, plan);
  std::vector<Part> parts;
  const auto add = [&](const kernels::Kernel& kernel, int group, bool commit) {
    const auto work = [&kernel, shared](absl::Span<const int64_t> symbols) -> std::optional<runtime::Work> {
      const auto known = kernels::workOf(kernel, shared->syms, shared->plan, symbols);
      return known ? std::optional(runtime::Work{known->bytes, known->operations}) : std::nullopt;
    };
    parts.push_back({kernel.name, group, commit, work});
  };
  int group = 0;
  for (size_t i = 0; i < shared->program.kernels.size(); ++i) {
    const std::vector<size_t>& upTo = shared->program.kernelsUpTo;
    if (upTo.empty()) group = static_cast<int>(i);
    while (!upTo.empty() && upTo[static_cast<size_t>(group)] <= i) ++group;
    add(shared->program.kernels[i], group, false);
  }
  for (size_t i = 0; i < shared->program.commits.size(); ++i)
    add(shared->program.commits[i], static_cast<int>(i), true);
  for (int i = 0; i < plan.calls; ++i) parts.push_back({"call " + std::to_string(i)});
  return std::make_unique<runtime::PartMeter>(std::move(parts), static_cast<size_t>(syms.symbolCount()));
}

/// Of CompileOptions: no liberties are taken.
constexpr int kExactLevel = 1;

/// LLVM IR on its way to machine code. It depends on nothing else, so that another thread may go on with it.
struct Draft {
  explicit Draft(const TargetSpec& spec) : target(spec) {}
  const TargetSpec& target;  ///< of the process
  std::vector<std::string> entries;
  llvm::LLVMContext context;
  llvm::Module module{"fusewire", context};
};

ModuleState stateOf(const ProgramParts& parts, const CompileOptions& options, llvm::Module& module) {
  return {module,        parts.target,    parts.syms,    parts.plan,
          parts.program, options.checked, options.timed, options.optLevel > kExactLevel};
}

absl::Status draw(const ProgramParts& parts, const CompileOptions& options, Draft& draft) {
  Session::instance().prepare(draft.module, parts.target, options.optLevel);
  const ModuleState state = stateOf(parts, options, draft.module);
  size_t next = 0;
  emitEntry(state, draft.entries[next++]);
  if (!parts.plan.commits.empty()) emitCommits(state, draft.entries[next++]);
  if (!parts.program.deferred.empty()) emitCheck(state, draft.entries[next++]);
  // Always on, for about 0.1 ms: what it misses ends the process inside the code generator.
  std::string errors;
  llvm::raw_string_ostream errorStream(errors);
  if (llvm::verifyModule(draft.module, &errorStream)) return absl::InternalError(absl::StrCat("bad LLVM IR: ", errors));
  return absl::OkStatus();
}

std::vector<std::string> entriesOf(const ProgramParts& parts, const CompileOptions& options) {
  const std::string name = contentName(parts.program, parts.syms, parts.plan, parts.target, options);
  std::vector<std::string> entries = {name};
  if (!parts.plan.commits.empty()) entries.push_back(name + "_commit");
  if (!parts.program.deferred.empty()) entries.push_back(name + "_check");
  return entries;
}

/// Code that there is already; none if there is none.
absl::StatusOr<Made> findMade(const std::vector<std::string>& entries, CompileTimings timings) {
  absl::StatusOr<Session::Generated> known = Session::instance().find(entries);
  if (!known.ok()) return known.status();
  timings.linkMs = known->linkMs;
  return Made{std::move(known->code), timings};
}

/// What the code generator will take, by the number of operations of the kernels: 15 to 26 us each in programs of 800
/// to 8,000 of them, more in small ones, which are quick all the same (docs/schedules.md).
double predictedMs(const kernels::KernelProgram& program) {
  constexpr double kMsPerOperation = 0.02;
  size_t operations = 0;
  for (const auto* list : {&program.kernels, &program.commits})
    for (const kernels::Kernel& kernel : *list) operations += kernel.exprs.size() + kernel.stmts.size();
  return kMsPerOperation * static_cast<double>(operations);
}

/// LLVM IR and assembly of the draft.
absl::Status tell(const Draft& draft, int optLevel, CompiledText& text) {
  const Telling telling;
  llvm::raw_string_ostream stream(text.llvm);
  draft.module.print(stream, nullptr);
  auto assembly = Session::instance().assembly(draft.module, draft.target, optLevel);
  if (assembly.ok()) text.assembly = *std::move(assembly);
  return assembly.status();
}

/// Machine code of `module`, which is the draft's or a copy.
absl::StatusOr<Made> generate(const Draft& draft, llvm::Module& module, int optLevel, CompileTimings timings,
                              const Deadline& deadline) {
  if (absl::Status late = deadline.check("code generation"); !late.ok()) return late;
  auto generated = Session::instance().generate(module, draft.target, optLevel, draft.entries, deadline);
  if (!generated.ok()) return generated.status();
  timings.codegenMs = generated->codegenMs;
  timings.linkMs = generated->linkMs;
  return Made{std::move(generated->code), timings};
}

/// Now and then LLVM's register allocator finds no way; the simple one, which keeps values in memory, always does.
constexpr int kSimple = 0;
bool wantsSimple(const absl::Status& status, int optLevel) { return absl::IsAborted(status) && optLevel > kSimple; }

/// In the thread that waits for it.
absl::StatusOr<Made> makeNow(const ProgramParts& parts, const CompileOptions& options, std::unique_ptr<Draft> draft,
                             CompiledText* text, CompileTimings timings) {
  Stopwatch watch;
  Session::instance().improve(draft->module, draft->target, options.optLevel);
  timings.irMs += watch.lapMs();
  if (text != nullptr && options.keepText)
    if (absl::Status s = tell(*draft, options.optLevel, *text); !s.ok()) return s;
  absl::StatusOr<Made> made = generate(*draft, draft->module, options.optLevel, timings, options.deadline);
  if (!wantsSimple(made.status(), options.optLevel)) return made;
  Draft again(draft->target);
  again.entries = draft->entries;
  CompileOptions simple = options;
  simple.optLevel = kSimple;
  if (absl::Status s = draw(parts, simple, again); !s.ok()) return s;
  return generate(again, again.module, kSimple, timings, options.deadline);
}

/// In another thread: `made` is filled when the job is through.
std::shared_ptr<runtime::Job> makeLater(std::shared_ptr<Draft> draft, const CompileOptions& options,
                                        CompileTimings timings, std::shared_ptr<Made> made) {
  const auto work = [draft = std::move(draft), made = std::move(made), level = options.optLevel,
                     limit = options.limitNs, timings]() -> absl::Status {
    const Deadline deadline = limit > 0 ? Deadline::after(limit) : Deadline();
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(draft->module);  // for the simple allocator
    Session::instance().improve(draft->module, draft->target, level);
    absl::StatusOr<Made> done = generate(*draft, draft->module, level, timings, deadline);
    if (wantsSimple(done.status(), level)) done = generate(*draft, *copy, kSimple, timings, deadline);
    if (done.ok()) *made = *std::move(done);
    return done.status();
  };
  auto job = std::make_shared<runtime::Job>(work);
  job->begin();
  return job;
}

/// The exact code, which the first that asks for it makes.
std::unique_ptr<NativeExecutable> makeExact(const ProgramParts& parts, CompileOptions options) {
  struct Source {
    kernels::KernelProgram program;
    graph::SymContext syms;
    graph::Plan plan;
  };
  options.optLevel = kExactLevel;
  auto made = std::make_shared<Made>();
  const auto work = [source = Source{parts.program, parts.syms, parts.plan}, target = &parts.target, options,
                     made]() mutable -> absl::Status {
    const ProgramParts own{source.program, source.syms, source.plan, *target};
    options.deadline = options.limitNs > 0 ? Deadline::after(options.limitNs) : Deadline();
    auto draft = std::make_unique<Draft>(*target);
    draft->entries = entriesOf(own, options);
    absl::StatusOr<Made> done = findMade(draft->entries, {});
    if (done.ok() && !done->code) {
      if (absl::Status s = draw(own, options, *draft); !s.ok()) return s;
      done = makeNow(own, options, std::move(draft), nullptr, {});
    }
    if (done.ok()) *made = *std::move(done);
    return done.status();
  };
  const bool checked = options.checked || !parts.program.reaches.empty();
  return std::make_unique<NativeExecutable>(parts.plan, made, parts.program.deferred, checked, nullptr,
                                            std::make_shared<runtime::Job>(work));
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
  std::optional<runtime::CompilerUse> inside(std::in_place);
  Stopwatch watch;
  const ProgramParts parts{program, syms, plan, **target};
  auto draft = std::make_unique<Draft>(**target);
  draft->entries = entriesOf(parts, options);
  std::unique_ptr<NativeExecutable> exact;
  if (options.optLevel > kExactLevel && takesLiberties(stateOf(parts, options, draft->module)))
    exact = makeExact(parts, options);
  auto made = std::make_shared<Made>(Made{nullptr, timings});
  std::shared_ptr<runtime::Job> job;
  if (!options.textOfKnown) {
    absl::StatusOr<Made> known = findMade(draft->entries, timings);
    if (!known.ok()) return known.status();
    *made = *std::move(known);
  }
  auto meter = options.timed ? makeMeter(program, syms, plan) : nullptr;
  if (!made->code) {
    if (absl::Status s = draw(parts, options, *draft); !s.ok()) return s;
    timings.irMs = watch.lapMs();
    // Profilers are told of code when its executable is made.
    const bool later = options.background && text == nullptr && plan.isStraight() && !areProfilersOpen();
    if (later && predictedMs(program) > kForegroundMs) {
      inside.reset();
      job = makeLater(std::move(draft), options, timings, made);
    } else {
      absl::StatusOr<Made> now = makeNow(parts, options, std::move(draft), text, timings);
      if (!now.ok()) return now.status();
      *made = *std::move(now);
    }
  }
  auto executable =
      std::make_unique<NativeExecutable>(std::move(plan), std::move(made), std::move(program.deferred),
                                         options.checked || !program.reaches.empty(), std::move(meter), std::move(job));
  executable->takeExact(std::move(exact));
  return executable;
}

}  // namespace fw::jit
