// Machine code by source: from the disk, or from the compiler, for which nobody waits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/disk_cache.h"

namespace fw::jit::cuda {

struct Compiler {
  /// Machine code of a source for an architecture: Nvrtc::compile. Called by several threads at once.
  std::function<absl::StatusOr<std::string>(const std::string& source, const std::string& architecture)> compile;
  /// What decides the code besides: version, options. Without it nothing is kept.
  std::string identity;
};

/// Of one architecture. Thread-safe.
class Images {
 public:
  /// `disk`: where images are kept, if at all.
  Images(Compiler compiler, std::string architecture, std::optional<runtime::DiskCache> disk);

  struct Image {
    absl::StatusOr<std::string> code;
    double milliseconds = 0;  ///< of the compiler
    bool kept = false;        ///< found on the disk
  };
  /// Of the source of this name. Null: it is being compiled, ask again. What the compiler refuses is refused for ever.
  /// `wait`: it is there when this returns; no other thread may need a lock of the caller's for that.
  std::shared_ptr<const Image> find(const std::string& name, const std::string& source, bool wait)
      ABSL_LOCKS_EXCLUDED(shared_->mutex);
  /// The driver does not take what find() has answered: it is found no more on the disk, and compiled anew. False if it
  /// has been compiled by this process.
  bool discard(const std::string& name, const std::string& source) ABSL_LOCKS_EXCLUDED(shared_->mutex);

 private:
  /// What the threads of the compiler hold on to.
  struct Shared {
    Compiler compiler;
    std::string architecture;
    std::optional<runtime::DiskCache> disk;
    absl::Mutex mutex;
    absl::CondVar finished;
    absl::flat_hash_map<std::string, std::shared_ptr<const Image>> images ABSL_GUARDED_BY(mutex);  ///< null: at work

    std::string keyOf(const std::string& source) const;
    void compile(const std::string& name, const std::string& source) ABSL_LOCKS_EXCLUDED(mutex);
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace fw::jit::cuda
