// Look-up in order of age, except that variants for constant sizes stand before those for any size, which would accept
// their arguments, too; and the one way from a capture to a variant.
#include "bindings/variant_set.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "bindings/call_watch.h"
#include "bindings/describe.h"
#include "bindings/internal_failures.h"
#include "bindings/plain_calls.h"
#include "bindings/refusal.h"
#include "bindings/stance.h"
#include "cpython/numpy_api.h"
#include "frame_eval/refusals.h"
#include "graph/refused.h"
#include "graph/support/check.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::BreakReason;

namespace {

std::vector<ArgumentSize> argumentSizes(const guards::GuardSet& set) {
  std::vector<ArgumentSize> sizes;
  for (size_t i = 0; i < set.symbols.size(); ++i) {
    const guards::SymbolBinding& binding = set.symbols[i];
    if (binding.from != guards::SymbolBinding::From::kDim) continue;
    const guards::Source& source = (*set.sources)[binding.source];
    const graph::SymId size = set.syms->canonical(set.syms->symbolId(static_cast<int>(i)));
    if (source.kind == guards::SourceKind::kArg) sizes.push_back({source.index, binding.axis, set.syms->asConst(size)});
  }
  return sizes;
}

size_t constantsOf(const Variant& variant) {
  auto constant = [](const ArgumentSize& size) { return size.constant.has_value(); };
  return static_cast<size_t>(std::count_if(variant.sizes.begin(), variant.sizes.end(), constant));
}

/// Whether a size is a symbol of the variant that the user wants to be a constant for this array.
bool overlooksMarks(const Variant& variant, const Invocation& call) {
  if (!capture::hasStaticMarks()) return false;
  return std::any_of(variant.sizes.begin(), variant.sizes.end(), [&](const ArgumentSize& size) {
    PyObject* array = call.args[size.argument];
    return !size.constant && array && capture::isMarkedStatic(array, size.axis);
  });
}

/// Variants that may come and go, in recompile limits.
constexpr size_t kChurn = 2;

/// What a compile is to its caller that has ended so.
capture::Break failedCompile(const absl::Status& status) {
  const BreakReason reason = absl::IsUnimplemented(status)      ? BreakReason::kUnsupportedOperation
                             : absl::IsDeadlineExceeded(status) ? BreakReason::kCompileLimit
                             : absl::IsAborted(status)          ? BreakReason::kBackendFailed
                                                                : BreakReason::kCompileFailed;
  return {reason, std::string(status.message()), "", 0};
}

RunOutcome runWatched(Variant& variant, const Invocation& call, PyObject** result) {
  const CallWatch::Native native;
  return variant.run(call, result);
}

class Scope {
 public:
  explicit Scope(int& counter) : counter_(counter) { ++counter_; }
  ~Scope() { --counter_; }

 private:
  int& counter_;
};

}  // namespace

uint64_t kindKey(PyObject* const* slots, int count) {
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  auto mix = [&](uint64_t v) { hash = (hash ^ v) * 0xff51afd7ed558ccdull, hash ^= hash >> 32; };
  for (int i = 0; i < count; ++i) {
    mix(slots[i] ? reinterpret_cast<uintptr_t>(Py_TYPE(slots[i])) : 0);
    if (!slots[i] || !(PyArray_Check(slots[i]) || guards::isArray(slots[i]))) continue;
    const guards::ArrayView array =
        PyArray_Check(slots[i]) ? guards::numpyArrays().view(slots[i]) : guards::viewOf(slots[i]);
    mix(reinterpret_cast<uintptr_t>(array.descr));
    mix(static_cast<uint64_t>(array.rank) << 32 | static_cast<uint64_t>(array.flags));
  }
  return hash;
}

RunOutcome VariantSet::run(Invocation& call, PyObject** result, Variant** ran) {
  Scope scope(activeCalls_);
  call.alone = variants_.size() == 1;
  for (size_t i = 0; i < variants_.size(); ++i) {
    Variant* variant = variants_[i].get();  // alive while activeCalls_ counts us, even if a thread clears the set
    if (variant->hasGivenUp() || !call.knows(variant->endIndex) || overlooksMarks(*variant, call)) continue;
    try {
      failIfPlanted(Planted::kRun);
      const RunOutcome outcome = CallWatch::current() ? runWatched(*variant, call, result) : variant->run(call, result);
      if (outcome == RunOutcome::kMiss) continue;
      if (outcome == RunOutcome::kNotYet && !variant->lost().ok()) {
        lost_ = failedCompile(variant->lost());
        retire(variant);
        return RunOutcome::kDeclined;
      }
      if (call.timed && *call.timed) call.timed->addMisses(i);
      *ran = variant;
      return outcome;
    } catch (const InternalError& error) {
      failure_ = error.what();
      retire(variant);
      return RunOutcome::kDeclined;
    }
  }
  return RunOutcome::kMiss;
}

void VariantSet::awaitCode(Overhead& account) {
  Scope scope(activeCalls_);
  for (size_t i = 0; i < variants_.size(); ++i) {
    if (!variants_[i]->isPending()) continue;
    Overhead::Charge charge(account);
    charge.paid();
    variants_[i]->awaitCode();
  }
}

bool VariantSet::fitsElsewhere(const Invocation& call) const {
  return std::any_of(variants_.begin(), variants_.end(), [&](const auto& variant) {
    return !call.knows(variant->endIndex) && !overlooksMarks(*variant, call) &&
           variant->accepts(call.args, call.function);
  });
}

bool VariantSet::allGaveUp() const {
  return std::all_of(variants_.begin(), variants_.end(), [](const auto& variant) { return variant->hasGivenUp(); });
}

Variant* VariantSet::add(std::unique_ptr<Variant> variant) {
  ++made_;
  variant->sizes = argumentSizes(variant->guardSet());
  const size_t constants = constantsOf(*variant);
  auto at = std::find_if(variants_.begin(), variants_.end(),
                         [&](const auto& other) { return constantsOf(*other) < constants; });
  Variant* added = variants_.insert(at, std::move(variant))->get();
  newest_ = added;
  return added;
}

void VariantSet::retire(const Variant* variant) {
  auto at = std::find_if(variants_.begin(), variants_.end(), [&](const auto& v) { return v.get() == variant; });
  if (at == variants_.end()) return;
  if (newest_ == variant) newest_ = nullptr;
  retired_.push_back(std::move(*at));
  variants_.erase(at);
}

bool VariantSet::givesWay(const Variant* variant) {
  const bool gives = variant->keepsDeclining() && churn_.learn(capture::kHandledRaises);
  if (gives) retire(variant);
  return gives;
}

std::optional<Churn::Blame> VariantSet::blame(const Invocation& call, int limit) {
  if (!newest_) return std::nullopt;
  std::optional<Churn::Blame> blame = churn_.blame(*newest_, call, limit);
  if (!blame) return std::nullopt;
  for (size_t i = variants_.size(); i-- > 0;)
    if (variants_[i]->hits() <= 1 && Churn::reliesOn(*variants_[i], *blame)) retire(variants_[i].get());
  if (blame->isLearned) return std::nullopt;
  return blame;
}

capture::CaptureOptions VariantSet::learned(capture::CaptureOptions options) const {
  options.changing = &churn_.changing();
  return options;
}

size_t VariantSet::limit(const Config& config, bool decorated) const {
  constexpr size_t kWithoutArrays = 4;  // guards of more of them cost more than there is to gain
  const auto limit = static_cast<size_t>(config.number(Setting::kRecompileLimit));
  if (decorated || !config.flag(Setting::kEconomy)) return limit;
  const bool arrays =
      std::any_of(variants_.begin(), variants_.end(), [](const auto& variant) { return variant->kernelCount() > 0; });
  return arrays ? limit : std::min(limit, kWithoutArrays);
}

bool VariantSet::isFull(size_t limit) {
  for (size_t i = variants_.size(); i-- > 0;)
    if (variants_[i]->isDead()) retire(variants_[i].get());
  if (activeCalls_ == 0) auto dead = std::exchange(retired_, {});
  return variants_.size() >= limit || made_ >= kChurn * limit;
}

void VariantSet::clear() {
  for (auto& variant : variants_) retired_.push_back(std::move(variant));
  variants_.clear();
  // Dropping variants drops references, which may run Python code that comes back here.
  if (activeCalls_ == 0) auto dead = std::exchange(retired_, {});
  pythonKinds_.clear();
  made_ = 0;
  newest_ = nullptr;
  churn_.clear();
}

bool VariantSet::isLeftToPython(uint64_t kind) const {
  if (pythonKinds_.size() >= kMostKinds) return true;
  const auto at = pythonKinds_.find(kind);
  return at != pythonKinds_.end() && at->second.calls == kForGood;
}

void VariantSet::postpone(uint64_t kind) {
  Rest& rest = pythonKinds_[kind];
  if (rest.calls == kForGood) return;
  rest.length = rest.length == 0 ? kFirstRest : std::min(2 * rest.length, kLongestRest);
  rest.calls = rest.length;
}

uint32_t VariantSet::takeRest(uint64_t kind) {
  if (isLeftToPython(kind)) return PlainCalls::kForever;
  const auto at = pythonKinds_.find(kind);
  return at == pythonKinds_.end() ? 0 : std::exchange(at->second.calls, 0);
}

bool VariantSet::passes(uint64_t kind) {
  if (isLeftToPython(kind)) return true;
  const auto at = pythonKinds_.find(kind);
  return at != pythonKinds_.end() && at->second.calls > 0 && at->second.calls-- > 0;
}

nlohmann::json VariantSet::misses(const Invocation& call) const {
  nlohmann::json list = nlohmann::json::array();
  PyObject* code = reinterpret_cast<PyFunctionObject*>(call.function)->func_code;
  for (size_t i = 0; i < variants_.size(); ++i) {
    list.push_back(describeMiss(i, variants_[i]->guardSet(), variants_[i]->miss(call.args, call.function), code));
    if (overlooksMarks(*variants_[i], call))
      list.back()["reason"] = "mark_static() wants a constant for a size that is a symbol";
  }
  return list;
}

void VariantSet::logMisses(const std::string& name, const Invocation& call) const {
  if (!variants_.empty() && channelEnabled(Channel::kRecompiles)) logRecompile(name, misses(call));
}

void warnRecompileLimit(const std::string& subject, size_t limit, const char* what) {
  const int answer =
      PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                       "fusewire: %s reached its recompile limit of %zu variants; other kinds of %s run as Python "
                       "(FUSEWIRE_LOGS=recompiles explains)",
                       subject.c_str(), limit, what);
  // Where warnings are errors, the call is still one that Python makes without any.
  if (answer < 0) PyErr_Clear();
}

capture::CaptureOptions captureOptions(const Config& config) {
  capture::CaptureOptions options;
  options.maxUnroll = static_cast<int>(config.number(Setting::kMaxUnroll));
  options.maxUnrolledOps = static_cast<int>(config.number(Setting::kMaxUnrolledOps));
  options.maxInlineDepth = static_cast<int>(config.number(Setting::kMaxInlineDepth));
  const std::string& dynamic = config.text(Setting::kDynamic);
  options.sizes = dynamic == "1"   ? capture::SizePolicy::kDynamic
                  : dynamic == "0" ? capture::SizePolicy::kStatic
                                   : capture::SizePolicy::kAuto;
  options.evenWithoutArrays = config.flag(Setting::kCompileAll);
  options.keepWrites = config.text(Setting::kBackend) == "statements";
  return options;
}

bool wantsTrials(const Config& config) {
  return config.flag(Setting::kEconomy) && config.text(Setting::kBackend) == "llvm" &&
         config.text(Setting::kMode) != "verify";
}

namespace {

/// No garbage is collected meanwhile: a program with a large heap would pay for that in the time of a capture, which is
/// short and limited.
class WithoutCollection {
 public:
  WithoutCollection() : wasEnabled_(PyGC_Disable()) {}
  ~WithoutCollection() {
    if (wasEnabled_) PyGC_Enable();
  }
  WithoutCollection(const WithoutCollection&) = delete;

 private:
  const int wasEnabled_;
};

std::variant<capture::Captured, capture::Break> captureOnce(const Capture& capture,
                                                            const capture::CaptureOptions& options) {
  const WithoutCollection scope;
  return capture(options);
}

}  // namespace

std::variant<std::unique_ptr<Variant>, capture::Break> buildVariant(const Config& config, const Capture& capture) {
  constexpr int64_t kCaptureNs = 32'000'000;  // for thousands of instructions; compiling them takes half of that again
  const auto start = std::chrono::steady_clock::now();
  auto broken = [](capture::BreakReason reason, std::string_view detail) {
    return capture::Break{reason, std::string(detail), "", 0};
  };
  try {
    failIfPlanted(Planted::kBuild);
    const auto inTime = [&] {
      capture::CaptureOptions options = captureOptions(config);
      if (config.flag(Setting::kEconomy)) {
        options.deadline = Deadline::after(kCaptureNs);
        options.deadlineOfLoops = Deadline::after(4 * kCaptureNs);
      }
      return captureOnce(capture, options);
    };
    auto captured = inTime();
    if (auto* stop = std::get_if<capture::Break>(&captured)) return std::move(*stop);
    if (config.text(Setting::kBackend) == "capture") return broken(capture::BreakReason::kDisabled, "backend=capture");
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    // Where breaks are errors and where somebody watches, the call is to show what the code does.
    const bool background = !refusesBreaks(config) && !CallWatch::current() && config.text(Setting::kMode) != "verify";
    constexpr size_t kMostRefused = 8;
    struct Scopes : std::deque<capture::RefusalScope> {
      ~Scopes() {
        while (!empty()) pop_back();  // they are nested
      }
    } scopes;
    while (true) {
      auto variant = Variant::build(std::get<capture::Captured>(std::move(captured)), config, ms, background);
      if (variant.ok()) return *std::move(variant);
      const auto refused = graph::Refused::from(variant.status());
      if (!refused || scopes.size() == kMostRefused) return failedCompile(variant.status());
      scopes.emplace_back(*refused, std::string(variant.status().message()));
      captured = inTime();
      if (auto* stop = std::get_if<capture::Break>(&captured)) return std::move(*stop);
    }
  } catch (const cpython::PythonError&) {
    throw;
  } catch (const std::bad_alloc&) {
    return broken(capture::BreakReason::kGraphLimit, "out of memory");
  } catch (const std::exception& error) {
    return broken(capture::BreakReason::kInternalError, error.what());
  }
}

}  // namespace fw::bindings
