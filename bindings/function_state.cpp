// Dispatch of a decorated call. Hit: bind, guards, native code. Miss: capture and compile once per kind of arguments; kinds
// that cannot be compiled are remembered and run as Python at once.
#include "bindings/function_state.h"

#include <chrono>

#include "bindings/boundary.h"
#include "bindings/describe.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using cpython::Ref;

namespace {

/// After this many kinds of arguments have failed and none was compiled, the function is left to Python for good.
constexpr size_t kGiveUpKinds = 32;

class Scope {
 public:
  explicit Scope(int& counter) : counter_(counter) { ++counter_; }
  ~Scope() { --counter_; }

 private:
  int& counter_;
};

/// While a function is being captured, calls of it from other threads or from within run as Python.
class Compiling {
 public:
  explicit Compiling(bool& flag) : flag_(flag) { flag_ = true; }
  ~Compiling() { flag_ = false; }

 private:
  bool& flag_;
};

}  // namespace

uint64_t kindKey(PyObject* const* slots, int count) {
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  auto mix = [&](uint64_t v) { hash = (hash ^ v) * 0xff51afd7ed558ccdull, hash ^= hash >> 32; };
  for (int i = 0; i < count; ++i) {
    mix(reinterpret_cast<uintptr_t>(Py_TYPE(slots[i])));
    if (!PyArray_Check(slots[i])) continue;
    auto* array = reinterpret_cast<PyArrayObject*>(slots[i]);
    mix(reinterpret_cast<uintptr_t>(PyArray_DESCR(array)));
    mix(static_cast<uint64_t>(PyArray_NDIM(array)) << 32 | static_cast<uint64_t>(PyArray_FLAGS(array)));
  }
  return hash;
}

FunctionState::FunctionState(PyObject* callable, std::shared_ptr<const Config> config)
    : callable_(Ref::create(callable)), config_(std::move(config)), isFunction_(PyFunction_Check(callable)) {
  if (isFunction_) {
    adoptCode();
    return;
  }
  alwaysPython_ = true;
  breaks_.push_back({{capture::BreakReason::kUnsupportedCall, std::string("a ") + Py_TYPE(callable)->tp_name +
                      " is not a Python function", "", 0}, 0});
}

/// The function's code is new (at first) or was assigned to: what was compiled from the old code is dropped.
void FunctionState::adoptCode() {
  code_ = Ref::create(function()->func_code);
  signature_ = Signature::of(function());
  reset();
}

PyObject* FunctionState::callAsPython(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  ++pythonCalls_;
  if (!callable_) return PyErr_Format(PyExc_ReferenceError, "the compiled function has been collected");
  return PyObject_Vectorcall(callable_.get(), args, nargsf, keywordNames);
}

PyObject* FunctionState::call(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  PyObject* result = nullptr;
  return guarded([&] { result = dispatch(args, nargsf, keywordNames); }) ? result : nullptr;
}

/// Native code of a variant. A failed check of ours retires the variant: nothing visible has happened, Python runs.
RunOutcome FunctionState::runVariant(size_t index, PyObject* const* slots, PyObject** result) {
  try {
    return variants_[index]->run(slots, callable_.get(), result);
  } catch (const InternalError& error) {
    retired_.push_back(std::move(variants_[index]));
    variants_.erase(variants_.begin() + static_cast<ptrdiff_t>(index));
    record({capture::BreakReason::kInternalError, error.what(), "", 0}, kindKey(slots, signature_.slots()));
    return RunOutcome::kDeclined;
  }
}

PyObject* FunctionState::dispatch(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  if (isFunction_ && function()->func_code != code_.get()) adoptCode();
  if (alwaysPython_ || compiling_) return callAsPython(args, nargsf, keywordNames);
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  BoundArguments bound;
  PyObject* const* slots = args;
  if (keywordNames || count != signature_.positional || signature_.slots() != signature_.positional) {
    if (!bound.bind(signature_, function(), args, count, keywordNames)) return callAsPython(args, nargsf, keywordNames);
    slots = bound.slots();
  }
  Scope scope(activeCalls_);
  for (size_t i = 0; i < variants_.size(); ++i) {
    PyObject* result = nullptr;
    switch (runVariant(i, slots, &result)) {
      case RunOutcome::kDone: return result;
      case RunOutcome::kMiss: continue;
      case RunOutcome::kDeclined: return callAsPython(args, nargsf, keywordNames);
      case RunOutcome::kError: return nullptr;
    }
  }
  return callMissed(args, nargsf, keywordNames, slots);
}

PyObject* FunctionState::callMissed(PyObject* const* args, size_t nargsf, PyObject* keywordNames, PyObject* const* slots) {
  const uint64_t key = kindKey(slots, signature_.slots());
  if (pythonKeys_.contains(key)) return callAsPython(args, nargsf, keywordNames);
  const size_t before = variants_.size();
  compileFor(slots, key);
  PyObject* result = nullptr;
  switch (variants_.size() > before ? runVariant(before, slots, &result) : RunOutcome::kDeclined) {
    case RunOutcome::kDone: return result;
    case RunOutcome::kError: return nullptr;
    case RunOutcome::kMiss:              // the guards reject the very arguments they were made from
      record({capture::BreakReason::kInternalError, "a new variant rejects its own arguments: " +
              variants_[before]->explainMiss(slots, callable_.get()), "", 0}, key);
      break;
    case RunOutcome::kDeclined: break;
  }
  return callAsPython(args, nargsf, keywordNames);
}

void FunctionState::compileFor(PyObject* const* slots, uint64_t key) {
  if (!config_->flag(Setting::kEnable)) return;
  Compiling compiling(compiling_);
  if (variants_.size() >= static_cast<size_t>(config_->number(Setting::kRecompileLimit))) {
    record({capture::BreakReason::kRecompileLimit, displayName() + " has " + std::to_string(variants_.size()) + " variants",
            "", 0}, key);
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "fusewire: %s reached its recompile limit of %zu variants; other kinds of arguments run as Python "
                         "(FUSEWIRE_LOGS=recompiles explains)", displayName().c_str(), variants_.size()) < 0)
      throw cpython::PythonError();
    return;
  }
  if (!variants_.empty() && channelEnabled(Channel::kRecompiles)) logRecompile(slots);

  const auto start = std::chrono::steady_clock::now();
  capture::CaptureOptions options;
  options.maxUnroll = static_cast<int>(config_->number(Setting::kMaxUnroll));
  options.maxInlineDepth = static_cast<int>(config_->number(Setting::kMaxInlineDepth));
  std::variant<capture::Captured, capture::Break> captured;
  std::string failure;
  try {
    captured = capture::capture({function(), slots}, options);
    if (auto* stop = std::get_if<capture::Break>(&captured)) {
      record(std::move(*stop), key);
      return;
    }
    if (config_->text(Setting::kBackend) == "capture") {
      pythonKeys_.insert(key);
      return;
    }
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    auto variant = Variant::build(std::get<capture::Captured>(std::move(captured)), *config_, ms);
    if (variant.ok()) {
      variants_.push_back(*std::move(variant));
      logVariant(displayName(), *variants_.back(), function());
      return;
    }
    const auto reason = absl::IsUnimplemented(variant.status()) ? capture::BreakReason::kUnsupportedOperation
                                                                : capture::BreakReason::kCompileFailed;
    record({reason, std::string(variant.status().message()), "", 0}, key);
  } catch (const InternalError& error) {
    record({capture::BreakReason::kInternalError, error.what(), "", 0}, key);
  }
}

std::string FunctionState::displayName() const {
  if (!isFunction_) return Py_TYPE(callable_.get())->tp_name;
  const char* name = PyUnicode_AsUTF8(function()->func_qualname);
  if (!name) PyErr_Clear();
  return name ? name : "<function>";
}

void FunctionState::record(capture::Break what, uint64_t key) {
  pythonKeys_.insert(key);
  if (variants_.empty() && pythonKeys_.size() >= kGiveUpKinds) alwaysPython_ = true;
  const capture::BreakInfo& info = capture::info(what.reason);
  const std::string where = what.file.empty() ? displayName() : what.file + ":" + std::to_string(what.line);
  const std::string text = where + ": " + std::string(info.message) + (what.detail.empty() ? "" : ": " + what.detail) +
                           (info.hint.empty() ? "" : " (hint: " + std::string(info.hint) + ")");
  if (info.cls == capture::BreakClass::kBug || channelEnabled(Channel::kGraphBreaks))
    emit(Channel::kGraphBreaks, "graph_break", text,
         {{"function", displayName()}, {"reason", std::string(info.text)}, {"detail", what.detail}, {"file", what.file},
          {"line", what.line}, {"hint", std::string(info.hint)}});
  for (RecordedBreak& known : breaks_)
    if (known.what.reason == what.reason && known.what.detail == what.detail && known.what.line == what.line) {
      ++known.count;
      return;
    }
  breaks_.push_back({std::move(what), 1});
}

void FunctionState::logRecompile(PyObject* const* slots) const {
  nlohmann::json misses = nlohmann::json::array();
  std::string text = displayName() + ": no variant fits";
  for (size_t i = 0; i < variants_.size(); ++i) {
    const std::string reason = variants_[i]->explainMiss(slots, callable_.get());
    misses.push_back({{"variant", i}, {"reason", reason}});
    text += "\n    variant " + std::to_string(i) + ": " + reason;
  }
  emit(Channel::kRecompiles, "recompile", text, {{"function", displayName()}, {"misses", misses}});
}

void FunctionState::reset() {
  for (auto& variant : variants_) retired_.push_back(std::move(variant));
  variants_.clear();
  if (activeCalls_ == 0) retired_.clear();
  if (isFunction_) {
    breaks_.clear();
    alwaysPython_ = false;
  }
  pythonKeys_.clear();
  pythonCalls_ = 0;
}

PyObject* FunctionState::describe() const {
  return describeFunction({displayName(), callable_.get(), isFunction_, variants_, breaks_, pythonCalls_});
}

double FunctionState::timeGuards(PyObject* const* args, Py_ssize_t count, int64_t repeats) {
  BoundArguments bound;
  if (!isFunction_ || !bound.bind(signature_, function(), args, count, nullptr)) return -1;
  for (const auto& variant : variants_)
    if (double ns = variant->timeGuards(bound.slots(), callable_.get(), repeats); ns >= 0) return ns;
  return -1;
}

int FunctionState::visit(visitproc visit, void* arg) {
  Py_VISIT(callable_.get());
  return 0;
}

/// The collector breaks a cycle: a last call from a finalizer finds nothing to run.
void FunctionState::clear() {
  isFunction_ = false;
  alwaysPython_ = true;
  callable_ = Ref();
}

}  // namespace fw::bindings
