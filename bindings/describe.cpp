// What explain() shows of a function: its variants, breaks and regions.
#include "bindings/describe.h"

#include "bindings/call_samples.h"
#include "bindings/duel.h"
#include "bindings/internal_failures.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "bindings/overhead.h"
#include "bindings/spliced_code.h"
#include "bindings/to_python.h"
#include "bindings/variant_set.h"
#include "cpython/numpy_names.h"
#include "graph/support/event.h"
#include "jit/profilers.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using nlohmann::json;

namespace {

json timesOf(const Variant& variant) {
  const PhaseTimes& t = variant.times();
  return {{"capture", t.captureMs}, {"passes", t.passesMs},
          {"plan", t.planMs},       {"kernels", t.jit.kernelMs},
          {"llvm_ir", t.jit.irMs},  {"codegen", t.jit.codegenMs},
          {"link", t.jit.linkMs},   {"compile", t.compileMs},
          {"guards", t.stubMs},     {"total", t.captureMs + t.passesMs + t.planMs + t.compileMs + t.stubMs}};
}

/// One entry per guard, in the order in which they are checked.
json guardList(const guards::GuardSet& set, PyObject* code) {
  json list = json::array();
  const std::string text = guards::print(set, code);
  size_t at = 0;
  for (const guards::Guard& guard : set.guards) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string one = text.substr(at, end - at);
    one.resize(std::min(one.size(), one.rfind("  line ")));  // told by its own field
    list.push_back({{"text", one},
                    {"kind", std::string(guards::guardName(guard.kind))},
                    {"line", guard.line},
                    {"cost", guards::guardCost(guard.kind)}});
    at = std::min(end + 1, text.size());
  }
  return list;
}

/// Which axes of which arguments are symbols of the graph, and which are constants, for profiles.
json sizesOf(const guards::GuardSet& set, PyObject* code) {
  json sizes = json::array();
  for (size_t i = 0; i < set.symbols.size(); ++i) {
    const guards::SymbolBinding& binding = set.symbols[i];
    if (binding.from != guards::SymbolBinding::From::kDim) continue;
    if ((*set.sources)[binding.source].kind != guards::SourceKind::kArg) continue;
    const auto value = set.syms->asConst(set.syms->canonical(set.syms->symbolId(static_cast<int>(i))));
    sizes.push_back({{"argument", set.sources->describe(binding.source, code)},
                     {"axis", binding.axis},
                     {"policy", value ? "static" : "dynamic"}});
    if (value) sizes.back()["value"] = *value;
  }
  return sizes;
}

/// Of the trials that are decided.
json describeTrials(const Variant& variant) {
  json list = json::array();
  if (!variant.trial()) return list;
  for (const Trial::Case& one : variant.trial()->cases())
    if (one.verdict != Trial::Verdict::kNone && one.samples[1] > 0)
      list.push_back({{"kept", one.verdict == Trial::Verdict::kKept},
                      {"compiled_ns", one.best[0]},
                      {"python_ns", one.best[1]},
                      {"at_least", one.cut},
                      {"runs", one.runs - std::min<uint64_t>(one.runs, one.samples[1])}});
  return list;
}

/// What kernels and library calls took in runs that were watched, and how much they did. Bytes and operations are of
/// all those runs; they are left out where data decide on them.
json describeParts(const Variant& variant) {
  json list = json::array();
  if (!variant.meter()) return list;
  for (const runtime::PartMeter::Sum& sum : variant.meter()->sums()) {
    list.push_back({{"name", sum.part->name},
                    {"group", sum.part->group},
                    {"commit", sum.part->commit},
                    {"runs", sum.runs},
                    {"ns", sum.ns}});
    if (!sum.isKnown) continue;
    list.back().update({{"bytes", sum.work.bytes}, {"operations", sum.work.operations}});
    list.back()["best"] = {{"ns", sum.bestNs}, {"bytes", sum.bestWork.bytes}, {"operations", sum.bestWork.operations}};
  }
  return list;
}

/// Values of the graph's symbols when a run was watched last.
json describeSymbols(const Variant& variant) {
  json values = json::object();
  if (!variant.meter()) return values;
  const std::vector<int64_t>& last = variant.meter()->lastSymbols();
  for (size_t i = 0; i < last.size(); ++i) values[variant.guardSet().syms->symbolName(static_cast<int>(i))] = last[i];
  return values;
}

json describeVariant(const Variant& variant, PyObject* code) {
  return {{"guards", guards::print(variant.guardSet(), code)},
          {"guard_list", guardList(variant.guardSet(), code)},
          {"sizes", sizesOf(variant.guardSet(), code)},
          {"graph", variant.graphText()},
          {"plan", variant.planText()},
          {"kernels", variant.kernelCount()},
          {"hits", variant.hits()},
          {"pending", variant.isPending()},
          {"declines", variant.declines()},
          {"guard_ns", variant.guardNs},
          {"trials", describeTrials(variant)},
          {"on_trial", variant.trial() != nullptr},
          {"parts", describeParts(variant)},
          {"symbols", describeSymbols(variant)},
          {"ms", timesOf(variant)}};
}

std::string_view statusName(Region::Status status) {
  switch (status) {
    case Region::Status::kProbe: return "probe";
    case Region::Status::kActive: return "active";
    case Region::Status::kDead: return "dead";
  }
  return "";
}

json describeRegion(const SplicedCode& code, const Region& region, PyObject* object) {
  json ends = json::array(), variants = json::array();
  for (const capture::StubEnd& end : region.ends())
    ends.push_back(end.target == capture::ExitPlan::kReturn ? json("return") : json(code.lineOf(end.target)));
  for (const auto& variant : region.variants().variants()) {
    variants.push_back(describeVariant(*variant, object));
    variants.back()["end"] = ends[variant->endIndex];
  }
  return {{"start", region.start()},    {"start_line", code.lineOf(region.start())},
          {"end_lines", ends},          {"status", std::string(statusName(region.status()))},
          {"variants", variants},       {"hits", region.hits()},
          {"misses", region.declines()}};
}

void logGuards(const std::string& name, const Variant& variant, PyObject* code) {
  const json list = guardList(variant.guardSet(), code);
  json data = {{"function", name}, {"guards", list}};
  std::string text = name + ": " + std::to_string(list.size()) + (list.size() == 1 ? " guard" : " guards");
  if (variant.guardNs >= 0) {
    text += ", " + std::to_string(static_cast<int64_t>(variant.guardNs + 0.5)) + " ns per check";
    data["ns"] = variant.guardNs;
  }
  for (const json& guard : list) {
    text += "\n    " + guard["text"].get<std::string>();
    if (guard["line"] != 0) text += "  # line " + std::to_string(guard["line"].get<int>());
  }
  emit(Channel::kGuards, "guards", text, data);
}

void logSizes(const std::string& name, const Variant& variant, PyObject* code) {
  const json sizes = sizesOf(variant.guardSet(), code);
  std::string text = name + ":";
  for (const json& size : sizes) {
    const std::string axis = std::to_string(size["axis"].get<int>());
    text += "\n    " + size["argument"].get<std::string>() + ".shape[" + axis + "] is ";
    text += size.contains("value") ? std::to_string(size["value"].get<int64_t>()) + ", a constant" : "a symbol";
  }
  if (!sizes.empty()) emit(Channel::kDynamic, "sizes", text, {{"function", name}, {"sizes", sizes}});
}

void logTimes(const std::string& name, const Variant& variant) {
  const json times = timesOf(variant);
  std::string phases;
  for (const auto& [phase, ms] : times.items())
    if (phase != "total")
      absl::StrAppendFormat(&phases, "%s%s %.2f", phases.empty() ? "" : ", ", phase, ms.get<double>());
  emit(Channel::kPerf, "compiled",
       absl::StrFormat("%s: compiled in %.2f ms (%s)", name, times["total"].get<double>(), phases),
       {{"function", name}, {"ms", times}});
}

/// What the variant changes, one line each, arrays first; "" if nothing. Objects have the names by which guards reach
/// them.
std::string sideEffects(const Variant& variant, PyObject* code) {
  const guards::GuardSet& set = variant.guardSet();
  std::vector<std::string> lines;
  for (const graph::Group& commit : variant.plan().commits) {
    for (graph::ValueId store : commit.outputs) {
      const int input = variant.plan().buffers[variant.plan().bufferOf(store).index].index;
      const guards::SourceId source = set.inputs[input].source;
      const std::string line = "writes into " + (source.valid() ? set.sources->describe(source, code) : "an array");
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
    }
  }
  std::string effects = capture::print(variant.exit(), *set.syms);
  for (size_t i = set.objects.size(); i-- > 0;)  // the highest first: "object 1" is the beginning of "object 12"
    absl::StrReplaceAll({{"object " + std::to_string(i), set.sources->describe(set.objects[i], code)}}, &effects);
  std::vector<std::string> rest = absl::StrSplit(effects, '\n');
  rest.resize(std::min(rest.size(), variant.exit().effects.size()));  // behind them: where and with what it ends
  lines.insert(lines.end(), rest.begin(), rest.end());
  return absl::StrJoin(lines, "\n");
}

}  // namespace

namespace {

/// NumPy's own code runs there, whether it is reached by a call or by an attribute.
bool isNumpys(const capture::Break& what) {
  if (what.reason == capture::BreakReason::kUnsupportedNumpy) return true;
  const bool reached = what.reason == capture::BreakReason::kUnsupportedCall ||
                       what.reason == capture::BreakReason::kUnsupportedAttribute;
  return reached && (cpython::isNumpyName(what.detail) || what.detail.rfind("ndarray.", 0) == 0);
}

}  // namespace

json describeBreak(const capture::Break& what) {
  static constexpr const char* kClasses[] = {"user", "unsupported", "limit", "bug"};
  const capture::BreakInfo& info = capture::info(what.reason);
  const bool numpys = isNumpys(what);
  const capture::BreakInfo& told = numpys ? capture::info(capture::BreakReason::kUnsupportedNumpy) : info;
  const bool fine = told.advice == capture::BreakAdvice::kFine;
  return {{"reason", std::string(info.text)},
          {"class", kClasses[static_cast<int>(info.cls)]},
          {"message", std::string(told.message)},
          {"detail", what.detail},
          {"hint", std::string(told.hint)},
          {"advice", fine ? "ignore" : "fix"},
          {"runs_in", numpys ? "numpy" : "python"},
          {"file", what.file},
          {"line", what.line}};
}

json describeBreaks(const std::vector<RecordedBreak>& breaks, const SplicedCode* spliced) {
  json list = json::array();
  auto add = [&](const RecordedBreak& b) {
    json one = describeBreak(b.what);
    // A break of the whole function is met again by the region in front of it.
    for (const json& known : list)
      if (known["line"] == one["line"] && known["reason"] == one["reason"] && known["detail"] == one["detail"]) return;
    one["kinds"] = b.count;
    one["own_line"] = spliced && b.what.at >= 0 ? spliced->lineOf(b.what.at) : b.what.line;
    list.push_back(std::move(one));
  };
  for (const RecordedBreak& b : breaks) add(b);
  if (spliced)
    for (const RecordedBreak& b : spliced->breaks()) add(b);
  return list;
}

PyObject* describeFunction(const FunctionFacts& facts) {
  json description = {{"name", facts.name},
                      {"python_calls", facts.pythonCalls},
                      {"partly_calls", facts.partlyCalls},
                      {"variants", json::array()},
                      {"breaks", describeBreaks(facts.breaks, facts.spliced)},
                      {"regions", json::array()},
                      {"stops", json::array()}};
  PyObject* code = nullptr;
  if (facts.isFunction) {
    code = reinterpret_cast<PyFunctionObject*>(facts.callable)->func_code;
    const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code)->co_filename);
    if (!file) return nullptr;
    description["file"] = file;
    description["line"] = reinterpret_cast<PyCodeObject*>(code)->co_firstlineno;
  }
  for (const auto& variant : facts.variants) description["variants"].push_back(describeVariant(*variant, code));
  if (facts.spliced) {
    for (const auto& [start, region] : facts.spliced->regions())
      description["regions"].push_back(describeRegion(*facts.spliced, *region, code));
    for (int stop : facts.spliced->pythonStops()) description["stops"].push_back(stop);
  }
  if (facts.duel && facts.duel->pythonNs() > 0)
    description["whole"] = {{"compiled_ns", facts.duel->splicedNs()},
                            {"python_ns", facts.duel->pythonNs()},
                            {"kept", !facts.duel->isLost()}};
  if (facts.overhead) {
    constexpr double kMs = 1e6;
    description["overhead"] = {{"ms", facts.overhead->spentNs() / kMs},
                               {"in_vain_ms", facts.overhead->lostNs() / kMs},
                               {"ran_ms", facts.overhead->ranNs() / kMs},
                               {"told", facts.overhead->isTold()},
                               {"left_to_python", !facts.overhead->isOpen()}};
  }
  if (facts.samples && facts.samples->calls())
    description["timed"] = {{"calls", facts.samples->calls()}, {"ns", facts.samples->ns()}};
  return toPython(description);
}

void logBreak(const std::string& function, const capture::Break& what) {
  const capture::BreakInfo& info = capture::info(what.reason);
  const bool ours =
      info.cls == capture::BreakClass::kBug && !isInternalFailure(what.reason);  // has a report of its own
  if (!ours && !channelEnabled(Channel::kGraphBreaks)) return;
  const std::string where = what.file.empty() ? function : what.file + ":" + std::to_string(what.line);
  json data = describeBreak(what);
  const std::string text = where + ": " + data["message"].get<std::string>() +
                           (what.detail.empty() ? "" : ": " + what.detail) +
                           " (hint: " + data["hint"].get<std::string>() + ")";
  data["function"] = function;
  (ours ? report : emit)(Channel::kGraphBreaks, "graph_break", text, data);
}

/// "softmax:12-15" of "softmax line 12", by the lines of the graph.
std::string profilerName(const std::string& name, const std::string& graph) {
  int first = INT_MAX, last = 0;
  constexpr std::string_view kLine = " line=";
  for (size_t at = graph.find(kLine); at != std::string::npos; at = graph.find(kLine, at + 1)) {
    const int line = std::atoi(graph.c_str() + at + kLine.size());
    first = std::min(first, line);
    last = std::max(last, line);
  }
  const std::string own = name.substr(0, name.rfind(" line "));
  if (last == 0) return own;
  return own + ":" + std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
}

void noteVariant(const std::string& name, Variant& variant, PyFunctionObject* function, PyObject* const* args) {
  if (jit::areProfilersOpen()) variant.announce(profilerName(name, variant.graphText()));
  constexpr int kChecks = 20;
  variant.guardNs = variant.timeGuards(args, reinterpret_cast<PyObject*>(function), kChecks);
  auto log = [&](Channel channel, std::string_view kind, const std::string& text) {
    if (channelEnabled(channel) && !text.empty())
      emit(channel, kind, name + ":\n" + text, {{"function", name}, {"text", text}});
  };
  log(Channel::kGraph, "graph", variant.graphText());
  log(Channel::kKernels, "plan", variant.planText());
  if (channelEnabled(Channel::kGuards)) logGuards(name, variant, function->func_code);
  if (channelEnabled(Channel::kDynamic)) logSizes(name, variant, function->func_code);
  if (channelEnabled(Channel::kSideEffects))
    log(Channel::kSideEffects, "side_effects", sideEffects(variant, function->func_code));
  if (!channelEnabled(Channel::kPerf)) return;
  if (variant.isPending())
    variant.whenReady([name](const Variant& ready) { logTimes(name, ready); });
  else
    logTimes(name, variant);
}

}  // namespace fw::bindings
