// Functions by context and name; the name is the content.
#include "jit/cuda/device.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "graph/support/event.h"
#include "kernels/cuda/text.h"
#include "nlohmann/json.hpp"

namespace fw::jit::cuda {

absl::StatusOr<void*> Device::function(const kernels::cuda::Source& source) {
  absl::StatusOr<void*> context = runtime::cuda::currentContext(driver_);
  if (!context.ok()) return context.status();
  absl::MutexLock lock(&mutex_);
  const auto known = functions_.find({*context, source.name});
  if (known != functions_.end()) return known->second;
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::string> image =
      compiler_(absl::StrCat(std::string(kernels::cuda::prelude()), source.text), facts_.architecture);
  if (!image.ok()) return image.status();
  compiled_.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  ++compiled_.count;
  if (channelEnabled(Channel::kOutputCode))
    emit(Channel::kOutputCode, "cuda_source", source.text,
         {{"name", source.name}, {"architecture", facts_.architecture}});
  void *module = nullptr, *function = nullptr;
  int result = driver_.moduleLoadData(&module, image->data());
  if (absl::Status s = runtime::cuda::check(driver_, result, "cuModuleLoadData"); !s.ok()) return s;
  result = driver_.moduleGetFunction(&function, module, source.name.c_str());
  if (absl::Status s = runtime::cuda::check(driver_, result, "cuModuleGetFunction"); !s.ok()) {
    driver_.moduleUnload(module);
    return s;
  }
  functions_[{*context, source.name}] = function;
  return function;
}

Device::Compiled Device::compiled() const {
  absl::MutexLock lock(&mutex_);
  return compiled_;
}

}  // namespace fw::jit::cuda
