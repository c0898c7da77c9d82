// Files that outlive the process: what compilers have made, by everything that has decided it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fw::runtime {

/// One folder. Thread-safe, and safe beside other processes. Nothing in it is trusted that somebody else could have
/// written: the folder and its files must belong to this user, and only this user may write them. A file that is not
/// whole is deleted. Whatever goes wrong, there is only nothing found.
class DiskCache {
 public:
  /// Makes the folder where it is missing. kFailedPrecondition says why it cannot be trusted, kUnavailable why it is
  /// not there. When more than `limit` bytes lie in it, the oldest files go.
  static absl::StatusOr<DiskCache> open(std::string folder, int64_t limit);

  std::optional<std::string> find(std::string_view key) const;
  void keep(std::string_view key, std::string_view content) const;
  void forget(std::string_view key) const;
  const std::string& folder() const { return folder_; }

 private:
  DiskCache(std::string folder, int64_t limit) : folder_(std::move(folder)), limit_(limit) {}
  std::string pathOf(std::string_view key) const;
  void makeRoom() const;

  std::string folder_;
  int64_t limit_;
};

/// $XDG_CACHE_HOME/fusewire or ~/.cache/fusewire; "" if there is no home.
std::string defaultCacheFolder();

}  // namespace fw::runtime
