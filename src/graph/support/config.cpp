// Parsing of settings and of the FUSEWIRE_ environment.
#include "graph/support/config.h"

#include <cctype>
#include <charconv>
#include <cstdlib>

extern char** environ;

namespace fw {

const std::vector<SettingInfo>& settings() {
  static const std::vector<SettingInfo> table = {
#define FW_SETTING(Id, name, type, fallback, help) {Setting::k##Id, name, SettingType::k##type, fallback, help},
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

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

Config::Config() : numbers_(settings().size()), texts_(settings().size()) {
  for (const SettingInfo& info : settings()) set(info.setting, info.fallback);
}

std::string Config::set(Setting s, std::string_view value) {
  const SettingInfo& info = settings()[index(s)];
  const std::string quoted = "setting '" + std::string(info.name) + "': '" + std::string(value) + "' ";
  switch (info.type) {
    case SettingType::kBool:
      if (value != "0" && value != "1") return quoted + "is not 0 or 1";
      numbers_[index(s)] = value == "1";
      break;
    case SettingType::kInt: {
      int64_t number = 0;
      auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc() || end != value.data() + value.size() || number < 0)
        return quoted + "is not a non-negative integer";
      numbers_[index(s)] = number;
      break;
    }
    case SettingType::kText:
      if (!isAllowedChoice(info.help, value))
        return quoted + "is not one of " + std::string(info.help.substr(0, info.help.find(" - ")));
      break;
  }
  texts_[index(s)] = std::string(value);
  return "";
}

std::string configFromEnvironment(Config& config, std::vector<std::string>& unknown) {
  constexpr std::string_view kPrefix = "FUSEWIRE_", kPassPrefix = "FUSEWIRE_PASS_";
  for (char** entry = environ; *entry; ++entry) {
    std::string_view variable = *entry;
    if (variable.substr(0, kPrefix.size()) != kPrefix) continue;
    const size_t equals = variable.find('=');
    const std::string_view name = variable.substr(0, equals), value = variable.substr(equals + 1);
    if (name == "FUSEWIRE_LOGS" || name == "FUSEWIRE_TRACE" || name == "FUSEWIRE_UPDATE_GOLDENS") continue;
    if (name.substr(0, kPassPrefix.size()) == kPassPrefix) {
      if (value != "0" && value != "1") return std::string(name) + ": '" + std::string(value) + "' is not 0 or 1";
      std::string list = config.text(Setting::kDisablePasses);
      if (value == "0")
        config.set(Setting::kDisablePasses, (list.empty() ? "" : list + ",") + lower(name.substr(kPassPrefix.size())));
      continue;
    }
    const SettingInfo* found = nullptr;
    for (const SettingInfo& info : settings())
      if (lower(name.substr(kPrefix.size())) == info.name) found = &info;
    if (!found) {
      unknown.emplace_back(name);
      continue;
    }
    std::string error = config.set(found->setting, value);
    if (!error.empty()) return std::string(name) + ": " + error;
  }
  return "";
}

}  // namespace fw
