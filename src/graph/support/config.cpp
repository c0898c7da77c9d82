// Parsing of settings and of the FUSEWIRE_ environment.
#include "graph/support/config.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

extern char** environ;

namespace fw {

namespace kinds {

constexpr int64_t kMany = 1'000'000;
constexpr SettingKind Bool{SettingType::kBool}, Text{SettingType::kText}, Passes{SettingType::kPasses};
constexpr SettingKind Int(int64_t lowest, int64_t highest) { return {SettingType::kInt, lowest, highest}; }

}  // namespace kinds

const std::vector<SettingInfo>& settings() {
  using namespace kinds;
  static const std::vector<SettingInfo> table = {
#define FW_SETTING(Id, name, kind, fallback, help) {Setting::k##Id, name, kind, fallback, help},
#include "graph/support/config.def"
  };
  return table;
}

namespace {

/// "a|b|@name - meaning" lists the values a text setting may take, "@name" any that begins with "@"; without " - "
/// anything goes.
bool isAllowedChoice(std::string_view help, std::string_view value) {
  size_t dash = help.find(" - ");
  if (dash == std::string_view::npos) return true;
  std::string_view choices = help.substr(0, dash);
  while (!choices.empty()) {
    size_t bar = choices.find('|');
    const std::string_view choice = choices.substr(0, bar);
    if (choice == value || (choice.front() == '@' && value.size() > 1 && value.front() == '@')) return true;
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
  return false;
}

constexpr std::string_view kPassNames[] = {
#define FW_PASS(Id, text, function) text,
#include "graph/passes/passes.def"
};

struct StepName {
  std::string_view name, off;
};
constexpr StepName kStepNames[] = {
#define FW_PLAN_STEP(Id, text, function, off) {text, off},
#include "graph/passes/plan_steps.def"
};

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The first name of a comma-separated list that is no pass, "" if there is none.
std::string_view unknownPass(std::string_view list) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    if (!name.empty() && !contains(switchablePasses(), name)) return name;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return "";
}

using Restriction = std::string (*)(std::string_view);
std::vector<Restriction>& restrictions() {
  static auto* all = new std::vector<Restriction>(settings().size());
  return *all;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

const std::vector<std::string_view>& switchablePasses() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all(std::begin(kPassNames), std::end(kPassNames));
    for (const StepName& step : kStepNames)
      if (!step.off.empty()) all.push_back(step.name);
    return all;
  }();
  return names;
}

void restrictSetting(Setting s, Restriction expected) { restrictions()[static_cast<size_t>(s)] = expected; }

Config::Config() : numbers_(settings().size()), texts_(settings().size()) {
  for (const SettingInfo& info : settings()) set(info.setting, info.fallback);
}

std::string Config::set(Setting s, std::string_view value) {
  const SettingInfo& info = settings()[index(s)];
  auto wrong = [&](std::string_view what, const std::string& why) {
    return "setting '" + std::string(info.name) + "': '" + std::string(what) + "' is not " + why;
  };
  switch (info.kind.type) {
    case SettingType::kBool:
      if (value != "0" && value != "1") return wrong(value, "0 or 1");
      numbers_[index(s)] = value == "1";
      break;
    case SettingType::kInt: {
      int64_t number = 0;
      auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      const bool whole = error == std::errc() && end == value.data() + value.size();
      if (!whole || number < info.kind.lowest || number > info.kind.highest)
        return wrong(
            value, "an integer from " + std::to_string(info.kind.lowest) + " to " + std::to_string(info.kind.highest));
      numbers_[index(s)] = number;
      break;
    }
    case SettingType::kText:
      if (!isAllowedChoice(info.help, value))
        return wrong(value, "one of " + std::string(info.help.substr(0, info.help.find(" - "))));
      if (const Restriction expected = restrictions()[index(s)])
        if (const std::string why = expected(value); !why.empty()) return wrong(value, why);
      break;
    case SettingType::kPasses:
      if (const std::string_view unknown = unknownPass(value); !unknown.empty()) {
        std::string known;
        for (std::string_view name : switchablePasses()) known += (known.empty() ? "" : "|") + std::string(name);
        return wrong(unknown, "one of " + known);
      }
      break;
  }
  texts_[index(s)] = std::string(value);
  return "";
}

namespace {

/// FUSEWIRE_PASS_<NAME>=0 or 1. Answers why it means nothing, or "".
std::string switchPass(Config& config, const std::string& pass, std::string_view value) {
  if (value != "0" && value != "1") return "'" + std::string(value) + "' is not 0 or 1";
  const std::string list = config.text(Setting::kDisablePasses);
  return config.set(Setting::kDisablePasses, value == "1" ? list : (list.empty() ? "" : list + ",") + pass);
}

}  // namespace

std::vector<IgnoredVariable> configFromEnvironment(Config& config) {
  constexpr std::string_view kPrefix = "FUSEWIRE_", kPassPrefix = "FUSEWIRE_PASS_";
  std::vector<IgnoredVariable> ignored;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    if (variable.substr(0, kPrefix.size()) != kPrefix) continue;
    const size_t equals = std::min(variable.find('='), variable.size());
    const std::string name(variable.substr(0, equals));
    const std::string_view value = variable.substr(std::min(equals + 1, variable.size()));
    static const std::vector<std::string_view> kOthers = {"LOGS", "TRACE", "TRACE_LIMIT", "PERF", "UPDATE_GOLDENS"};
    if (contains(kOthers, std::string_view(name).substr(kPrefix.size()))) continue;
    std::string why;
    if (name.starts_with(kPassPrefix)) {
      const std::string pass = lower(name.substr(kPassPrefix.size()));
      if (contains(switchablePasses(), pass)) why = switchPass(config, pass, value);
      if (!contains(switchablePasses(), pass) || !why.empty()) ignored.push_back({name, why});
      continue;
    }
    const std::string wanted = lower(name.substr(kPrefix.size()));
    const auto& all = settings();
    const auto found = std::find_if(all.begin(), all.end(), [&](const SettingInfo& i) { return i.name == wanted; });
    if (found != all.end()) why = config.set(found->setting, value);
    if (found == all.end() || !why.empty()) ignored.push_back({name, why});
  }
  return ignored;
}

}  // namespace fw
