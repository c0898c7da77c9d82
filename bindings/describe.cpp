// What explain() shows of a function: its variants, breaks and regions.
#include "bindings/describe.h"

#include "bindings/spliced_code.h"
#include "bindings/to_python.h"
#include "bindings/variant_set.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using nlohmann::json;

namespace {

json timesOf(const Variant& variant) {
  const PhaseTimes& t = variant.times();
  return {{"capture", t.captureMs}, {"passes", t.passesMs},       {"plan", t.planMs},
          {"kernels", t.jit.kernelMs}, {"llvm_ir", t.jit.irMs},   {"codegen", t.jit.codegenMs},
          {"link", t.jit.linkMs},   {"compile", t.compileMs},     {"guards", t.stubMs},
          {"total", t.captureMs + t.passesMs + t.planMs + t.compileMs + t.stubMs}};
}

/// One entry per guard, in the order in which they are checked.
json guardList(const guards::GuardSet& set, PyObject* code) {
  json list = json::array();
  const std::string text = guards::print(set, code);
  size_t at = 0;
  for (const guards::Guard& guard : set.guards) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string one = text.substr(at, end - at);
    one.resize(std::min(one.size(), one.rfind("  line ")));   // told by its own field
    list.push_back({{"text", one}, {"kind", std::string(guards::guardName(guard.kind))},
                    {"line", guard.line}, {"cost", guards::guardCost(guard.kind)}});
    at = std::min(end + 1, text.size());
  }
  return list;
}

/// Which axes of which arguments are symbols of the graph, and which are constants, for profiles.
json sizesOf(const guards::GuardSet& set, PyObject* code) {
  json sizes = json::array();
  for (size_t i = 0; i < set.symbols.size(); ++i) {
    const guards::SymbolBinding& binding = set.symbols[i];
    if (binding.from != guards::SymbolBinding::From::kDim || (*set.sources)[binding.source].kind != guards::SourceKind::kArg) continue;
    const auto value = set.syms->asConst(set.syms->canonical(set.syms->symbolId(static_cast<int>(i))));
    sizes.push_back({{"argument", set.sources->describe(binding.source, code)}, {"axis", binding.axis},
                     {"policy", value ? "static" : "dynamic"}});
    if (value) sizes.back()["value"] = *value;
  }
  return sizes;
}

json describeVariant(const Variant& variant, PyObject* code) {
  return {{"guards", guards::print(variant.guardSet(), code)},
          {"guard_list", guardList(variant.guardSet(), code)},
          {"sizes", sizesOf(variant.guardSet(), code)},
          {"graph", variant.graphText()},
          {"plan", variant.planText()},
          {"kernels", variant.kernelCount()},
          {"hits", variant.hits()},
          {"declines", variant.declines()},
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
  return {{"start", region.start()}, {"start_line", code.lineOf(region.start())}, {"end_lines", ends},
          {"status", std::string(statusName(region.status()))}, {"variants", variants}, {"hits", region.hits()},
          {"misses", region.declines()}};
}

}  // namespace

json describeBreak(const capture::Break& what) {
  static constexpr const char* kClasses[] = {"user", "unsupported", "limit", "bug"};
  const capture::BreakInfo& info = capture::info(what.reason);
  return {{"reason", std::string(info.text)}, {"class", kClasses[static_cast<int>(info.cls)]}, {"message", std::string(info.message)},
          {"detail", what.detail}, {"hint", std::string(info.hint)}, {"file", what.file}, {"line", what.line}};
}

json describeBreaks(const std::vector<RecordedBreak>& breaks, const SplicedCode* spliced) {
  json list = json::array();
  auto add = [&](const RecordedBreak& b) {
    json one = describeBreak(b.what);
    // A break of the whole function is met again by the region in front of it.
    for (const json& known : list)
      if (known["line"] == one["line"] && known["reason"] == one["reason"] && known["detail"] == one["detail"]) return;
    one["kinds"] = b.count;
    list.push_back(std::move(one));
  };
  for (const RecordedBreak& b : breaks) add(b);
  if (spliced)
    for (const RecordedBreak& b : spliced->breaks()) add(b);
  return list;
}

PyObject* describeFunction(const FunctionFacts& facts) {
  json description = {{"name", facts.name}, {"python_calls", facts.pythonCalls}, {"variants", json::array()},
                      {"breaks", describeBreaks(facts.breaks, facts.spliced)}, {"regions", json::array()}, {"stops", json::array()}};
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
  return toPython(description);
}

void logBreak(const std::string& function, const capture::Break& what) {
  const capture::BreakInfo& info = capture::info(what.reason);
  const bool ours = info.cls == capture::BreakClass::kBug;
  if (!ours && !channelEnabled(Channel::kGraphBreaks)) return;
  const std::string where = what.file.empty() ? function : what.file + ":" + std::to_string(what.line);
  const std::string text = where + ": " + std::string(info.message) + (what.detail.empty() ? "" : ": " + what.detail) +
                           (info.hint.empty() ? "" : " (hint: " + std::string(info.hint) + ")");
  json data = describeBreak(what);
  data["function"] = function;
  (ours ? report : emit)(Channel::kGraphBreaks, "graph_break", text, data);
}

void logVariant(const std::string& name, const Variant& variant, PyFunctionObject* function, PyObject* const* args) {
  auto log = [&](Channel channel, std::string_view kind, const std::string& text) {
    if (channelEnabled(channel)) emit(channel, kind, name + ":\n" + text, {{"function", name}, {"text", text}});
  };
  log(Channel::kGraph, "graph", variant.graphText());
  log(Channel::kKernels, "plan", variant.planText());
  if (channelEnabled(Channel::kGuards)) {
    const json list = guardList(variant.guardSet(), function->func_code);
    const double ns = args ? variant.timeGuards(args, reinterpret_cast<PyObject*>(function), 100) : -1;
    std::string text = name + ": " + std::to_string(list.size()) + " guards";
    if (ns >= 0) text += ", " + std::to_string(static_cast<int64_t>(ns + 0.5)) + " ns per check";
    for (const json& guard : list) {
      text += "\n    " + guard["text"].get<std::string>();
      if (guard["line"] != 0) text += "  # line " + std::to_string(guard["line"].get<int>());
    }
    json data = {{"function", name}, {"guards", list}};
    if (ns >= 0) data["ns"] = ns;
    emit(Channel::kGuards, "guards", text, data);
  }
  if (channelEnabled(Channel::kDynamic)) {
    std::string text = name + ":";
    const json sizes = sizesOf(variant.guardSet(), function->func_code);
    for (const json& size : sizes) {
      text += "\n    " + size["argument"].get<std::string>() + ".shape[" + std::to_string(size["axis"].get<int>()) + "] is ";
      text += size.contains("value") ? std::to_string(size["value"].get<int64_t>()) + ", a constant" : "a symbol";
    }
    if (!sizes.empty()) emit(Channel::kDynamic, "sizes", text, {{"function", name}, {"sizes", sizes}});
  }
  if (channelEnabled(Channel::kSideEffects) && (!variant.exit().effects.empty() || !variant.plan().commits.empty())) {
    std::string text = capture::print(variant.exit(), *variant.guardSet().syms);
    for (size_t i = 0; i < variant.plan().commits.size(); ++i) text = "write into an argument's memory\n" + text;
    emit(Channel::kSideEffects, "side_effects", name + ":\n" + text, {{"function", name}, {"text", text}});
  }
  if (channelEnabled(Channel::kPerf)) {
    const json times = timesOf(variant);
    std::string text = name + ": compiled in";
    for (const auto& [phase, ms] : times.items()) text += " " + phase + " " + std::to_string(ms.get<double>()) + " ms";
    emit(Channel::kPerf, "compiled", text, {{"function", name}, {"ms", times}});
  }
}

}  // namespace fw::bindings
