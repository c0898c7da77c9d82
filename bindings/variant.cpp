// Building a variant: passes, plan, native code, stub. How one runs is in variant_run.cpp.
#include "bindings/variant.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "bindings/cuda_device.h"
#include "graph/passes/pass_manager.h"
#include "graph/support/check.h"
#include "graph/support/event.h"
#include "graph/support/stopwatch.h"
#include "graph/symint_facts.h"
#include "guards/builders.h"
#include "guards/set_index.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {
namespace {

std::vector<std::string_view> splitList(const std::string& text) {
  std::vector<std::string_view> names;
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(std::string_view(text).substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

/// Expressions that are at least 0 in every call that passes the guards: for the proof of accesses.
std::vector<graph::SymId> guardedExpressions(const guards::GuardSet& guards, graph::SymContext& syms) {
  std::vector<graph::SymId> result;
  for (const guards::Guard& g : guards.guards) {
    if (g.kind != guards::GuardKind::kSymRelation) continue;
    const graph::SymId difference = syms.sub(g.right, g.left);
    switch (g.relation) {
      case guards::Relation::kLe: result.push_back(difference); break;
      case guards::Relation::kLt: result.push_back(syms.sub(difference, syms.constant(1))); break;
      case guards::Relation::kEq: result.insert(result.end(), {difference, syms.neg(difference)}); break;
      case guards::Relation::kNe:  // what is not 0 and not below it is at least 1
        for (const graph::SymId side : {difference, syms.neg(difference)})
          if (graph::refinedRange(syms, side).lo >= 0) result.push_back(syms.sub(side, syms.constant(1)));
        break;
    }
  }
  return result;
}

}  // namespace

Variant::~Variant() = default;

absl::StatusOr<std::unique_ptr<Variant>> Variant::build(capture::Captured captured, const Config& config,
                                                        double captureMs, bool background) {
  std::unique_ptr<Variant> v(new Variant);
  v->times_.captureMs = captureMs;
  v->graphText_ = graph::print(captured.graph);
  v->guards_ = std::make_shared<guards::GuardSet>(std::move(captured.guards));

  Stopwatch watch;
  graph::PassContext context;
  context.verifyEach = config.flag(Setting::kVerifyPasses);
  const auto disabled = splitList(config.text(Setting::kDisablePasses));
  context.disabled = disabled;
  if (const int64_t ms = config.number(Setting::kCompileLimit)) context.deadline = Deadline::after(ms * 1'000'000);
  const bool onDevice = v->guards_->arrays->onDevice();
  context.target = planningTarget(config, onDevice);
  const ArrayFactory* arrays = onDevice ? cupyFactory() : &numpyFactory();
  if (!arrays) throw cpython::PythonError();
  v->onDevice_ = onDevice;
  if (channelEnabled(Channel::kPasses)) {
    context.dump = [](std::string_view name, const std::string& text) {
      emit(Channel::kPasses, "pass", "after " + std::string(name) + ":\n" + text,
           {{"name", std::string(name)}, {"text", text}});
    };
  }
  if (absl::Status s = graph::runPasses(captured.graph, context); !s.ok()) return s;
  v->times_.passesMs = watch.lapMs();
  auto plan = graph::makePlan(captured.graph, context);
  if (!plan.ok()) return plan.status();
  v->planText_ = graph::print(*plan, captured.graph);
  v->times_.planMs = watch.lapMs();

  v->library_.calls = runtime::Calls(*plan, captured.graph);
  v->asksHost_ = !plan->isStraight() || !v->library_.calls.empty();
  v->library_.sites = std::move(captured.libraryCalls);
  for (const capture::LibraryCall& site : v->library_.sites) {
    v->library_.loops.push_back(DirectLoop::of(site));
    v->library_.draws.push_back(DirectDraw::of(site));
  }
  v->findShortcuts();
  v->bindObjects();
  if (!drawInOrder(plan->steps, v->library_.sites))
    return absl::UnimplementedError("random numbers would be drawn in another order");
  v->findSizes(captured.graph);
  auto syms = captured.graph.sharedSyms();
  v->symbols_ = static_cast<size_t>(syms->symbolCount());
  for (size_t i = 0; i < v->guards_->symbols.size(); ++i)
    if (v->guards_->symbols[i].from == guards::SymbolBinding::From::kCall) v->boundSymbols_.push_back(i);
  std::vector<int> hostInputs;
  for (size_t i = 0; onDevice && i < v->guards_->inputs.size(); ++i)
    if (v->guards_->inputs[i].from != guards::InputBinding::From::kArrayData) hostInputs.push_back(static_cast<int>(i));
  v->results_ = std::make_unique<ResultBuilder>(*plan, std::move(captured.exit), *syms, *arrays, hostInputs);
  if (v->results_->hasLateCopies() && !captured.graph.commits().empty())
    return absl::UnimplementedError("a copy whose size data decides, behind writes");
  v->leavesRaises_ = captured.leavesRaises;
  if (captured.ufuncsAreOwn) v->transaction_ = runtime::Transaction(captured.graph, *plan);
  BackendOptions options{
      v->transaction_.mayDefer(), {}, context.deadline, background, {v->graphText_, std::move(captured.writes)}};
  options.guarded = guardedExpressions(*v->guards_, *syms);
  options.hostInputs = std::move(hostInputs);
  for (const guards::Guard& g : v->guards_->guards)
    if (g.kind == guards::GuardKind::kArrayMeta) options.device = v->device_ = g.meta.device;
  if (onDevice && v->device_ < 0) options.device = v->device_ = currentDevice();
  const int64_t told = toldNs();
  auto executable = makeExecutable(std::move(captured.graph), *std::move(plan), config, options);
  if (!executable.ok()) return executable.status();
  v->executable_ = *std::move(executable);
  v->isLate_ = !v->executable_->ready().ok();
  v->times_.jit = v->executable_->timings();
  v->times_.compileMs = watch.lapMs() - static_cast<double>(toldNs() - told) / 1e6;

  v->keepInputs();
  v->listInputs_ = listInputs(*v->guards_);
  if (v->executable_->isChecked()) v->extents_.emplace(v->plan(), *v->guards_);
  for (guards::SourceId id : v->guards_->objects)
    v->holdsObjects_ |= (*v->guards_->sources)[id].kind == guards::SourceKind::kWeak;
  auto stub = guards::emitStub(v->guards_);
  if (!stub.ok()) return stub.status();
  v->stub_ = *std::move(stub);
  v->times_.stubMs = watch.lapMs();
  v->layOutScratch();
  return v;
}

void Variant::layOutScratch() {
  size_t words = symbols_;
  const auto carve = [&](size_t count) { return std::exchange(words, words + count); };
  scratch_.buffers = carve(results_->bufferCount() * (extents_ ? 1 + BufferExtents::kWordsPerBuffer : 1));
  scratch_.inputs = carve(guards_->inputs.size() * 2);
  scratch_.objects = carve(guards_->objects.size());
  scratch_.sizes = carve(results_->sizeCount());
  scratch_.scalars = carve(results_->scalarWords());
  scratch_.arrays = carve(results_->arrayCount());
  scratch_.words = words;
}

/// Objects that library calls are given become objects of the frame.
/// Of vectors; those of draws come with the first one of each run.
void Variant::findShortcuts() {
  std::vector<runtime::CallShortcut> found;
  bool any = false;
  for (size_t i = 0; i < library_.calls.count(); ++i) {
    const auto site = static_cast<size_t>(library_.calls.site(static_cast<int>(i)));
    const std::optional<DirectLoop>& loop = library_.loops[site];
    found.push_back(loop && !library_.sites[site].errors.any() ? loop->ofVectors() : runtime::CallShortcut{});
    any |= found.back().function || library_.draws[site];
  }
  if (any) library_.shortcuts = std::move(found);
}

void Variant::bindObjects() {
  for (capture::LibraryCall& site : library_.sites) {
    for (capture::LibraryArgument& argument : site.positional) {
      if (argument.kind != capture::LibraryArgument::Kind::kObject) continue;
      argument.index = guards_->objectIndex(argument.source);
    }
  }
}

/// Arrays that are read from objects rather than passed as arguments become objects of the frame, for Held.
void Variant::keepInputs() {
  auto& objects = guards_->objects;
  absl::flat_hash_set<guards::SourceId> kept(objects.begin(), objects.end());
  for (const guards::InputBinding& input : guards_->inputs) {
    const bool array = input.from == guards::InputBinding::From::kArrayData;
    if (!array || (*guards_->sources)[input.source].kind == guards::SourceKind::kArg) continue;
    if (kept.insert(input.source).second) objects.push_back(input.source);
  }
}

void Variant::findSizes(const graph::Graph& graph) {
  std::vector<int64_t> symbols;
  for (size_t i = 0; i < graph.size(); ++i)
    for (const graph::SymId size : graph.type(graph::ValueId(i)).shape)
      guards::symbolsIn(graph.syms(), graph.syms().canonical(size), symbols);
  for (const int64_t symbol : symbols)
    if (symbol >= 0 && static_cast<size_t>(symbol) < guards_->symbols.size() &&
        guards_->symbols[static_cast<size_t>(symbol)].from != guards::SymbolBinding::From::kCall)
      sizes_.push_back(static_cast<size_t>(symbol));
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
}

void Variant::beginTrial(bool region) {
  if (onDevice_) return;           // times of the host say nothing of work that goes on behind them
  constexpr double kEntryNs = 60;  // finding the variant, besides its guards
  trial_ = std::make_shared<Trial>(region || sizes_.empty() ? kEntryNs + std::max(guardNs, 0.0) : 0.0, region);
}

void Variant::awaitCode() const {
  PyThreadState* const saved = PyEval_SaveThread();
  executable_->wait().IgnoreError();
  PyEval_RestoreThread(saved);
}

/// A CallFrame with memory of its own, for runs of the guards outside of a call.
struct Variant::OwnFrame {
  OwnFrame(const Variant& v, PyObject* const* args, PyObject* function)
      : symbols(v.symbols_),
        buffers(v.results_->bufferCount()),
        scalars(v.guards_->inputs.size() * 2),
        objects(v.guards_->objects.size()),
        frame{args, function, symbols.data(), buffers.data(), scalars.data(), objects.data()} {}
  std::vector<int64_t> symbols;
  std::vector<void*> buffers;
  std::vector<uint64_t> scalars;
  std::vector<PyObject*> objects;
  guards::CallFrame frame;
};

bool Variant::isDead() const { return guards::hasDied(*guards_); }

bool Variant::accepts(PyObject* const* args, PyObject* function) const {
  OwnFrame own(*this, args, function);
  return stub_->entry()(&own.frame) == 0;
}

guards::SlowResult Variant::miss(PyObject* const* args, PyObject* function) const {
  OwnFrame own(*this, args, function);
  return guards::checkSlow(*guards_, own.frame);
}

double Variant::timeGuards(PyObject* const* args, PyObject* function, int64_t count) const {
  OwnFrame own(*this, args, function);
  const guards::StubFn stub = stub_->entry();
  if (stub(&own.frame) != 0) return -1;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) stub(&own.frame);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / count;
}

}  // namespace fw::bindings
