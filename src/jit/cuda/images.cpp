// The disk is asked by whoever wants the image: that takes some 30 microseconds. The compiler takes a thousand times as
// long and runs elsewhere.
#include "jit/cuda/images.h"

#include <chrono>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/background.h"

namespace fw::jit::cuda {

Images::Images(Compiler compiler, std::string architecture, std::optional<runtime::DiskCache> disk)
    : shared_(std::make_shared<Shared>()) {
  shared_->compiler = std::move(compiler);
  shared_->architecture = std::move(architecture);
  if (!shared_->compiler.identity.empty()) shared_->disk = std::move(disk);
}

std::string Images::Shared::keyOf(const std::string& source) const {
  return absl::StrCat(compiler.identity, "\n", architecture, "\n", source);
}

void Images::Shared::compile(const std::string& name, const std::string& source) {
  const auto start = std::chrono::steady_clock::now();
  Image image{absl::InternalError("the compiler has thrown")};
  try {
    const runtime::CompilerUse inside;
    image.code = compiler.compile(source, architecture);
    if (disk && image.code.ok()) disk->keep(keyOf(source), *image.code);
  } catch (const std::exception& error) {
    image.code = absl::InternalError(error.what());
  }
  image.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  absl::MutexLock lock(&mutex);
  images[name] = std::make_shared<const Image>(std::move(image));
  finished.SignalAll();
}

std::shared_ptr<const Images::Image> Images::find(const std::string& name, const std::string& source, bool wait) {
  Shared& all = *shared_;
  absl::MutexLock lock(&all.mutex);
  const auto [entry, added] = all.images.try_emplace(name);
  if (entry->second) return entry->second;
  if (added) {
    if (all.disk) {
      if (std::optional<std::string> kept = all.disk->find(all.keyOf(source)))
        return entry->second = std::make_shared<const Image>(Image{*std::move(kept), 0, true});
    }
    const auto job = [shared = shared_, name, source] { shared->compile(name, source); };
    if (!runtime::runInBackground(job))
      return entry->second = std::make_shared<const Image>(Image{absl::UnavailableError("no threads to compile in")});
  }
  if (!wait) return nullptr;
  while (true) {
    if (const auto& image = all.images[name]) return image;
    all.finished.Wait(&all.mutex);
  }
}

bool Images::discard(const std::string& name, const std::string& source) {
  Shared& all = *shared_;
  absl::MutexLock lock(&all.mutex);
  const auto entry = all.images.find(name);
  const bool kept = all.disk && entry != all.images.end() && entry->second && entry->second->kept;
  if (!kept) return false;
  all.disk->forget(all.keyOf(source));
  all.images.erase(entry);
  return true;
}

}  // namespace fw::jit::cuda
