// Descriptions of functions, regions, variants and breaks, for explain(), logs and traces: JSON, which Python gets as
// objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/variant.h"
#include "nlohmann/json_fwd.hpp"

namespace fw::bindings {

struct RecordedBreak;
class Overhead;
class SplicedCode;

class CallSamples;
class Duel;

struct FunctionFacts {
  std::string name;
  PyObject* callable;
  bool isFunction;
  const std::vector<std::unique_ptr<Variant>>& variants;
  const std::vector<RecordedBreak>& breaks;
  uint64_t pythonCalls, partlyCalls;
  const SplicedCode* spliced = nullptr;  ///< null if the function has no compiled regions of its own
  const Overhead* overhead = nullptr;    ///< null if it cannot be compiled
  const CallSamples* samples = nullptr;
  const Duel* duel = nullptr;
};

/// New dict: name, file, line, python_calls (of which partly_calls met compiled regions), variants (guards, graph,
/// plan, times ...), breaks, regions, stops, overhead, and if it is known for calls with compiled regions `whole`:
/// {compiled_ns, python_ns, kept}. nullptr with an exception set.
PyObject* describeFunction(const FunctionFacts& facts);

/// {reason, class, message, detail, hint, advice, runs_in, file, line}; advice: "fix" or "ignore", runs_in: "numpy" or
/// "python"
nlohmann::json describeBreak(const capture::Break& what);
/// Of a function and its regions, each once, with `kinds`: how often it was met.
nlohmann::json describeBreaks(const std::vector<RecordedBreak>& breaks, const SplicedCode* spliced);
/// Emits the event of a break that is new; our own failures are seen without asking.
void logBreak(const std::string& function, const capture::Break& what);

/// A variant is new: measures the cost of its guards on `args`, what they read, and emits its events on every channel
/// that is enabled.
void noteVariant(const std::string& name, Variant& variant, PyFunctionObject* function, PyObject* const* args);

/// {variant, guard, source, line, reason, advice}: the first guard of a variant that rejects a call.
nlohmann::json describeMiss(size_t variant, const guards::GuardSet& set, const guards::SlowResult& miss,
                            PyObject* code);
/// Emits the event of a call that no variant fits. `misses` as describeMiss() makes them.
void logRecompile(const std::string& function, const nlohmann::json& misses);

}  // namespace fw::bindings
