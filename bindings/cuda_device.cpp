#include "bindings/cuda_device.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bindings/settings.h"
#include "cpython/ref.h"
#include "graph/support/config.h"
#include "graph/support/event.h"
#include "jit/cuda/nvrtc.h"
#include "nlohmann/json.hpp"
#include "runtime/cuda/driver.h"

namespace fw::bindings {
namespace {

struct Opened {
  const runtime::cuda::Driver* driver = nullptr;
  std::optional<jit::cuda::Nvrtc> nvrtc;
  std::string refusal;
  std::map<int, std::unique_ptr<jit::cuda::Device>> devices;
};

/// Where NVRTC may lie: the setting, CUDA's packages among Python's, the toolkit.
std::vector<std::string> places() {
  std::vector<std::string> found;
  if (const std::string& set = processSettings()->text(Setting::kNvrtc); !set.empty()) found.push_back(set);
  PyObject* path = PySys_GetObject("path");  // borrowed
  for (Py_ssize_t i = 0; path && PyList_Check(path) && i < PyList_GET_SIZE(path); ++i) {
    PyObject* item = PyList_GET_ITEM(path, i);
    const char* folder = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : nullptr;
    if (!folder) {
      PyErr_Clear();
      continue;
    }
    for (const char* package : {"/nvidia/cu13/lib", "/nvidia/cuda_nvrtc/lib"})
      found.push_back(absl::StrCat(folder, package));
  }
  found.push_back("/usr/local/cuda/lib64");
  return found;
}

Opened& opened() {
  static Opened* const all = [] {
    auto* made = new Opened;  // executables use it as long as the process lives
    auto driver = runtime::cuda::openDriver();
    if (!driver.ok()) {
      made->refusal = absl::StrCat("is on a device: ", driver.status().message());
      return made;
    }
    made->driver = *driver;
    auto nvrtc = jit::cuda::Nvrtc::open(places());
    if (nvrtc.ok())
      made->nvrtc = *std::move(nvrtc);
    else
      made->refusal = absl::StrCat("is on a device: ", nvrtc.status().message());
    return made;
  }();
  return *all;
}

constexpr int64_t kMostKept = 256 << 20;

std::optional<runtime::DiskCache> diskCache() {
  std::string folder = processSettings()->text(Setting::kCacheDir);
  if (folder == "none") return std::nullopt;
  if (folder.empty()) folder = runtime::defaultCacheFolder();
  if (folder.empty()) return std::nullopt;
  absl::StatusOr<runtime::DiskCache> cache = runtime::DiskCache::open(folder + "/cuda", kMostKept);
  if (cache.ok()) return *std::move(cache);
  const std::string why(cache.status().message());
  const auto tell = absl::IsFailedPrecondition(cache.status()) ? report : emit;
  tell(Channel::kCache, "cache_unavailable", "code for CUDA is not kept: " + why, {{"reason", why}});
  return std::nullopt;
}

}  // namespace

const std::string& cudaRefusal() {
  static const bool told = [] {
    const Opened& all = opened();
    if (!all.refusal.empty())
      report(Channel::kOutputCode, "cuda_unavailable", "arrays of CuPy are not compiled: what " + all.refusal,
             {{"reason", all.refusal}});
    return true;
  }();
  (void)told;
  return opened().refusal;
}

int currentDevice() {
  const Opened& all = opened();
  int current = -1;
  if (!all.driver || all.driver->ctxGetDevice(&current) == 0) return current;
  // A fresh thread has no context.
  if (!runtime::cuda::currentContext(*all.driver).ok() || all.driver->ctxGetDevice(&current) != 0) return -1;
  return current;
}

bool isCurrentDevice(int number) { return number >= 0 && currentDevice() == number; }

absl::StatusOr<jit::cuda::Device*> cudaDevice(int number) {
  Opened& all = opened();
  if (!all.refusal.empty()) return absl::UnavailableError(all.refusal);
  if (const auto found = all.devices.find(number); found != all.devices.end()) return found->second.get();
  auto context = runtime::cuda::currentContext(*all.driver);
  if (!context.ok()) return context.status();
  int current = 0;
  if (absl::Status s = runtime::cuda::check(*all.driver, all.driver->ctxGetDevice(&current), "cuCtxGetDevice"); !s.ok())
    return s;
  if (current != number) return absl::UnimplementedError("arrays of a device that is not the current one");
  auto facts = runtime::cuda::deviceFacts(*all.driver);
  if (!facts.ok()) return facts.status();
  const auto compile = [nvrtc = *all.nvrtc](const std::string& source, const std::string& architecture) {
    return nvrtc.compile(source, architecture);
  };
  auto& device = all.devices[number];
  device = std::make_unique<jit::cuda::Device>(*all.driver, jit::cuda::Compiler{compile, all.nvrtc->identity()},
                                               *std::move(facts), diskCache());
  return device.get();
}

}  // namespace fw::bindings
