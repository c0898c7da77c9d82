// Look-up in order of age, and the one way from a capture to a variant.
#include "bindings/variant_set.h"

#include <algorithm>
#include <chrono>

#include "bindings/describe.h"
#include "bindings/stance.h"
#include "cpython/numpy_api.h"
#include "graph/support/check.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::BreakReason;

namespace {

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
    if (!slots[i] || !PyArray_Check(slots[i])) continue;
    auto* array = reinterpret_cast<PyArrayObject*>(slots[i]);
    mix(reinterpret_cast<uintptr_t>(PyArray_DESCR(array)));
    mix(static_cast<uint64_t>(PyArray_NDIM(array)) << 32 | static_cast<uint64_t>(PyArray_FLAGS(array)));
  }
  return hash;
}

RunOutcome VariantSet::run(const Invocation& call, PyObject** result, Variant** ran) {
  Scope scope(activeCalls_);
  Invocation one = call;
  one.alone = variants_.size() == 1;
  for (size_t i = 0; i < variants_.size(); ++i) {
    Variant* variant = variants_[i].get();   // alive while activeCalls_ counts us, even if another thread clears the set
    if (!call.knows(variant->endIndex)) continue;
    try {
      const RunOutcome outcome = variant->run(one, result);
      if (outcome == RunOutcome::kMiss) continue;
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

bool VariantSet::fitsElsewhere(const Invocation& call) const {
  return std::any_of(variants_.begin(), variants_.end(), [&](const auto& variant) {
    return !call.knows(variant->endIndex) && variant->accepts(call.args, call.function);
  });
}

Variant* VariantSet::add(std::unique_ptr<Variant> variant) {
  variants_.push_back(std::move(variant));
  return variants_.back().get();
}

void VariantSet::retire(Variant* variant) {
  auto at = std::find_if(variants_.begin(), variants_.end(), [&](const auto& v) { return v.get() == variant; });
  if (at == variants_.end()) return;
  retired_.push_back(std::move(*at));
  variants_.erase(at);
}

void VariantSet::clear() {
  for (auto& variant : variants_) retired_.push_back(std::move(variant));
  variants_.clear();
  // Dropping variants drops references, which may run Python code that comes back here.
  if (activeCalls_ == 0) auto dead = std::exchange(retired_, {});
  pythonKinds_.clear();
}

nlohmann::json VariantSet::misses(const Invocation& call) const {
  nlohmann::json list = nlohmann::json::array();
  PyObject* code = reinterpret_cast<PyFunctionObject*>(call.function)->func_code;
  for (size_t i = 0; i < variants_.size(); ++i)
    list.push_back(describeMiss(i, variants_[i]->guardSet(), variants_[i]->miss(call.args, call.function), code));
  return list;
}

void VariantSet::logMisses(const std::string& name, const Invocation& call) const {
  if (!variants_.empty() && channelEnabled(Channel::kRecompiles)) logRecompile(name, misses(call));
}

bool isGraphBreak(const capture::Break& what) {
  return what.reason != BreakReason::kNothingToCompile && what.reason != BreakReason::kPythonException &&
         what.reason != BreakReason::kRecompileLimit;
}

void refuseBreaks(const std::string& function, const capture::Break& what) {
  const bool control = what.reason == BreakReason::kControl || what.reason == BreakReason::kDisabled;
  if (!errorOnGraphBreak() || control || !isGraphBreak(what)) return;
  raiseGraphBreakError(function, nlohmann::json::array({describeBreak(what)}));
  throw cpython::PythonError();
}

std::variant<std::unique_ptr<Variant>, capture::Break> buildVariant(
    const Config& config, const std::function<std::variant<capture::Captured, capture::Break>(const capture::CaptureOptions&)>& capture) {
  const auto start = std::chrono::steady_clock::now();
  capture::CaptureOptions options;
  options.maxUnroll = static_cast<int>(config.number(Setting::kMaxUnroll));
  options.maxInlineDepth = static_cast<int>(config.number(Setting::kMaxInlineDepth));
  const std::string& dynamic = config.text(Setting::kDynamic);
  options.sizes = dynamic == "1"   ? capture::SizePolicy::kDynamic
                  : dynamic == "0" ? capture::SizePolicy::kStatic
                                   : capture::SizePolicy::kAuto;
  options.evenWithoutArrays = config.flag(Setting::kCompileAll);
  auto broken = [](capture::BreakReason reason, std::string_view detail) {
    return capture::Break{reason, std::string(detail), "", 0};
  };
  try {
    auto captured = capture(options);
    if (auto* stop = std::get_if<capture::Break>(&captured)) return std::move(*stop);
    if (config.text(Setting::kBackend) == "capture") return broken(capture::BreakReason::kDisabled, "backend=capture");
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    auto variant = Variant::build(std::get<capture::Captured>(std::move(captured)), config, ms);
    if (variant.ok()) return *std::move(variant);
    return broken(absl::IsUnimplemented(variant.status()) ? capture::BreakReason::kUnsupportedOperation
                  : absl::IsAborted(variant.status())     ? capture::BreakReason::kBackendFailed
                                                          : capture::BreakReason::kCompileFailed,
                  std::string(variant.status().message()));
  } catch (const InternalError& error) {
    return broken(capture::BreakReason::kInternalError, error.what());
  }
}

}  // namespace fw::bindings
