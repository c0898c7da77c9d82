// Snapshots are replaced, never changed: a compile that runs keeps the one it began with.
#include "bindings/settings.h"

#include "bindings/plain_calls.h"
#include "graph/support/check.h"

namespace fw::bindings {
namespace {

std::shared_ptr<const Config>& process() {
  static auto* config = new std::shared_ptr<const Config>(std::make_shared<const Config>());
  return *config;
}

}  // namespace

std::shared_ptr<const Config> processSettings() { return process(); }
void setProcessSettings(std::shared_ptr<const Config> config) {
  process() = std::move(config);
  ++plainEpoch;
}

const SettingInfo* findSetting(std::string_view name) {
  for (const SettingInfo& info : settings())
    if (info.name == name) return &info;
  return nullptr;
}

bool FunctionSettings::read(PyObject* overrides) {
  Config probe;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(overrides, &at, &key, &value);) {
    const char* name = PyUnicode_AsUTF8(key);
    const char* wanted = name ? PyUnicode_AsUTF8(value) : nullptr;
    if (!wanted) return false;
    const SettingInfo* found = findSetting(name);
    if (!found) {
      PyErr_Format(PyExc_TypeError, "fusewire.compile: unknown option '%s'", name);
      return false;
    }
    if (std::string error = probe.set(found->setting, wanted); !error.empty()) {
      PyErr_Format(PyExc_ValueError, "fusewire.compile: %s", error.c_str());
      return false;
    }
    overrides_.emplace_back(found->setting, wanted);
  }
  return true;
}

std::shared_ptr<const Config> FunctionSettings::current() const {
  if (overrides_.empty()) return process();
  if (base_ != process()) {
    auto merged = std::make_shared<Config>(*process());
    for (const auto& [setting, value] : overrides_) FW_CHECK(merged->set(setting, value).empty());
    base_ = process();
    merged_ = std::move(merged);
  }
  return merged_;
}

}  // namespace fw::bindings
