// dlopen of libcuda.so.1; all other functions come from cuGetProcAddress, which hands out the version that was asked
// for.
#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fw::runtime::cuda {
namespace {

/// Of the functions' signatures.
constexpr int kInterface = 12000;
// CUdevice_attribute
constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76, kSharedBytesOnDemand = 97;
/// Memory that blocks share by the text of a kernel, at most.
constexpr int kSharedByText = 8 << 10;

using GetProcAddress = int (*)(const char* name, void** function, int version, uint64_t flags, void* status);

absl::StatusOr<Driver> load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return absl::UnavailableError(absl::StrCat("no CUDA driver: ", dlerror()));
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!get) return absl::UnavailableError("the CUDA driver is older than 12.0");
  Driver driver;
  const auto find = [&](const char* name, auto& function) {
    void* address = nullptr;
    if (get(name, &address, kInterface, 0, nullptr) != 0 || !address)
      return absl::UnavailableError(absl::StrCat("the CUDA driver has no ", name));
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
    return absl::OkStatus();
  };
#define FW_CUDA_SYMBOL(Id, name, ...) \
  if (absl::Status s = find(name, driver.Id); !s.ok()) return s;
#include "runtime/cuda/symbols.def"
  if (absl::Status s = check(driver, driver.init(0), "cuInit"); !s.ok()) return absl::UnavailableError(s.message());
  return driver;
}

}  // namespace

absl::StatusOr<const Driver*> openDriver() {
  static const absl::StatusOr<Driver> driver = load();
  if (!driver.ok()) return driver.status();
  return &*driver;
}

absl::Status check(const Driver& driver, int result, const char* what) {
  if (result == 0) return absl::OkStatus();
  const char* text = nullptr;
  if (driver.getErrorString) driver.getErrorString(result, &text);
  return absl::InternalError(absl::StrCat(what, ": ", text ? text : "error", " (", result, ")"));
}

absl::StatusOr<void*> currentContext(const Driver& driver) {
  void* context = nullptr;
  if (absl::Status s = check(driver, driver.ctxGetCurrent(&context), "cuCtxGetCurrent"); !s.ok()) return s;
  if (context) return context;
  int device = 0;
  if (absl::Status s = check(driver, driver.deviceGet(&device, 0), "cuDeviceGet"); !s.ok()) return s;
  if (absl::Status s = check(driver, driver.primaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"); !s.ok())
    return s;
  if (absl::Status s = check(driver, driver.ctxSetCurrent(context), "cuCtxSetCurrent"); !s.ok()) return s;
  return context;
}

absl::StatusOr<DeviceFacts> deviceFacts(const Driver& driver) {
  if (absl::StatusOr<void*> context = currentContext(driver); !context.ok()) return context.status();
  int device = 0, major = 0, minor = 0, processors = 0, shared = 0;
  int result = driver.ctxGetDevice(&device);
  if (result == 0) result = driver.deviceGetAttribute(&major, kMajor, device);
  if (result == 0) result = driver.deviceGetAttribute(&minor, kMinor, device);
  if (result == 0) result = driver.deviceGetAttribute(&processors, kMultiprocessors, device);
  if (result == 0) result = driver.deviceGetAttribute(&shared, kSharedBytesOnDemand, device);
  if (absl::Status s = check(driver, result, "properties of the device"); !s.ok()) return s;
  DeviceFacts facts{absl::StrCat("sm_", major, minor), processors};
  facts.sharedBytes = std::max<int64_t>(facts.sharedBytes, shared - kSharedByText);
  return facts;
}

}  // namespace fw::runtime::cuda
