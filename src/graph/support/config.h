// Settings: one row each in config.def. A Config is an immutable snapshot; every compile works on the one it was given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fw {

enum class Setting : uint8_t {
#define FW_SETTING(Id, name, type, fallback, help) k##Id,
#include "graph/support/config.def"
};
enum class SettingType : uint8_t { kBool, kInt, kText, kPasses };

struct SettingKind {
  SettingType type;
  int64_t lowest = 0, highest = 0;  ///< of an int
};

struct SettingInfo {
  Setting setting;
  std::string_view name;
  SettingKind kind;
  std::string_view fallback;
  std::string_view help;
};
const std::vector<SettingInfo>& settings();

/// Names of the graph passes and of those steps of planning that can be switched off.
const std::vector<std::string_view>& switchablePasses();

class Config {
 public:
  Config();  ///< the fallbacks
  bool flag(Setting s) const { return numbers_[index(s)] != 0; }
  int64_t number(Setting s) const { return numbers_[index(s)]; }
  const std::string& text(Setting s) const { return texts_[index(s)]; }
  /// Sets a value from its text. Answers "" or a sentence that names setting, value and what is allowed: by the table
  /// and by restrictSetting().
  std::string set(Setting s, std::string_view value);

 private:
  static size_t index(Setting s) { return static_cast<size_t>(s); }
  std::vector<int64_t> numbers_;
  std::vector<std::string> texts_;
};

/// Adds what the table cannot know: answers what a value that is not allowed here should have been ("one of ..."), or
/// "". For the life of the process, before any setting is read.
void restrictSetting(Setting s, std::string (*expected)(std::string_view value));

/// A variable that changed nothing.
struct IgnoredVariable {
  std::string name;
  std::string why;  ///< empty if no setting has this name
};

/// Applies FUSEWIRE_<NAME> variables to `config`; FUSEWIRE_PASS_<NAME>=0 adds to disable_passes. FUSEWIRE_LOGS and
/// FUSEWIRE_TRACE belong to event.h.
std::vector<IgnoredVariable> configFromEnvironment(Config& config);

}  // namespace fw
