// Settings in force: those of the process (environment, then fusewire.config), and over them what compile() was given
// for one function. A compile works on an immutable snapshot.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/support/config.h"

namespace fw::bindings {

/// Of the process. The GIL guards them.
std::shared_ptr<const Config> processSettings();
void setProcessSettings(std::shared_ptr<const Config> config);

class FunctionSettings {
 public:
  FunctionSettings() = default;
  /// From {name: text}. False with TypeError (unknown name) or ValueError (bad value) set.
  bool read(PyObject* overrides);
  /// What compile() was given.
  const std::vector<std::pair<Setting, std::string>>& overrides() const { return overrides_; }
  /// The process's settings of the moment under the function's own.
  std::shared_ptr<const Config> current() const;

 private:
  std::vector<std::pair<Setting, std::string>> overrides_;
  // Guarded by the GIL: what current() answered last, and for which settings of the process.
  mutable std::shared_ptr<const Config> base_, merged_;
};

/// Row of the setting with this name, or nullptr.
const SettingInfo* findSetting(std::string_view name);

}  // namespace fw::bindings
