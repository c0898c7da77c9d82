// Functions by context and name; the name is the content.
#include "jit/cuda/device.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "graph/support/event.h"
#include "kernels/cuda/text.h"
#include "nlohmann/json.hpp"

namespace fw::jit::cuda {

using runtime::cuda::Function;

namespace {

constexpr int kMostSharedBytes = 8;  // CUfunction_attribute

/// A file with the source, for a report; "" if it could not be written.
std::string writeSource(const std::string& source) {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "fusewire_XXXXXX.cu").string();
  const int file = error ? -1 : mkstemps(path.data(), 3);
  if (file < 0) return "";
  close(file);
  std::ofstream(path) << source;
  return path;
}

}  // namespace

absl::StatusOr<runtime::cuda::Function*> Device::function(const kernels::cuda::Source& source, bool wait) {
  absl::StatusOr<void*> context = runtime::cuda::currentContext(driver_);
  if (!context.ok()) return context.status();
  absl::MutexLock lock(&mutex_);
  const auto answer = [](const absl::StatusOr<std::unique_ptr<Function>>& of) -> absl::StatusOr<Function*> {
    if (!of.ok()) return of.status();
    return of->get();
  };
  const auto known = functions_.find({*context, source.name});
  if (known != functions_.end()) return answer(known->second);
  const std::string text = absl::StrCat(std::string(kernels::cuda::prelude()), source.text);
  absl::StatusOr<std::unique_ptr<Function>> function = absl::UnavailableError("it is being compiled");
  for (bool again = true; again;) {
    again = false;
    const std::shared_ptr<const Images::Image> image = images_.find(source.name, text, wait);
    if (!image) return function.status();
    count(source, *image);
    function = image->code.ok() ? load(*image->code, source) : image->code.status();
    if (image->code.ok() && !function.ok()) again = images_.discard(source.name, text);
  }
  if (!function.ok()) function = refuse(source, function.status());
  return answer(functions_.insert_or_assign({*context, source.name}, std::move(function)).first->second);
}

absl::StatusOr<std::unique_ptr<Function>> Device::load(const std::string& image,
                                                       const kernels::cuda::Source& source) const {
  void *module = nullptr, *function = nullptr;
  int result = driver_.moduleLoadData(&module, image.data());
  if (absl::Status s = runtime::cuda::check(driver_, result, "cuModuleLoadData"); !s.ok()) return s;
  result = driver_.moduleGetFunction(&function, module, source.name.c_str());
  if (absl::Status s = runtime::cuda::check(driver_, result, "cuModuleGetFunction"); !s.ok()) {
    driver_.moduleUnload(module);
    return s;
  }
  if (source.sharesBySize) {
    result = driver_.funcSetAttribute(function, kMostSharedBytes, static_cast<int>(facts_.sharedBytes));
    if (absl::Status s = runtime::cuda::check(driver_, result, "cuFuncSetAttribute"); !s.ok()) return s;
  }
  return std::make_unique<Function>(driver_, function);
}

void Device::count(const kernels::cuda::Source& source, const Images::Image& image) {
  ++(image.kept ? compiled_.kept : compiled_.count);
  compiled_.milliseconds += image.milliseconds;
  if (channelEnabled(Channel::kOutputCode))
    emit(Channel::kOutputCode, "cuda_source", source.text,
         {{"name", source.name},
          {"architecture", facts_.architecture},
          {"ms", image.milliseconds},
          {"kept", image.kept}});
}

/// Reported once; calls that need it are left to CuPy.
absl::Status Device::refuse(const kernels::cuda::Source& source, const absl::Status& status) const {
  const std::string file = writeSource(absl::StrCat(std::string(kernels::cuda::prelude()), source.text));
  report(Channel::kOutputCode, "cuda_failed",
         absl::StrCat("CUDA: ", status.ToString(), "\nCuPy runs calls like this one instead. Please report it",
                      file.empty() ? "" : " with the source " + file),
         {{"status", status.ToString()}, {"name", source.name}, {"reproducer", file}});
  return absl::FailedPreconditionError(absl::StrCat("a kernel that was refused before: ", source.name));
}

Device::Compiled Device::compiled() const {
  absl::MutexLock lock(&mutex_);
  return compiled_;
}

}  // namespace fw::jit::cuda
