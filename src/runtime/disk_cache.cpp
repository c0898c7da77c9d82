// A file is a header, the whole key and the content. Its name is a hash of the key; since the key is compared, equal
// hashes of other keys do no harm. Files are written under another name, and renamed when they are complete.
#include "runtime/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fw::runtime {
namespace {

constexpr uint64_t kMagic = 0x3165686361637766;  // "fwcache1"
constexpr std::string_view kSuffix = ".image", kUnfinished = ".part";
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

struct Header {
  uint64_t magic, keyBytes, contentBytes, hash[2];
};

/// Eight bytes at once, with a multiplication and a fold for each: against damage and for names, not against intent.
uint64_t hashOf(std::string_view text, uint64_t seed) {
  const auto mix = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = seed ^ mix(text.size() + 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    hash = mix(hash ^ word ^ 0x2d358dccaa6c78a5u, 0x8bb84b93962eacc9u) + at;
  }
  return mix(hash ^ 0x4b33a62ed433d4a3u, 0x94d049bb133111ebu);
}

constexpr uint64_t kSeeds[] = {0x243f6a8885a308d3u, 0x13198a2e03707344u};

bool isOurs(const struct stat& facts) { return facts.st_uid == geteuid() && (facts.st_mode & kOthersWrite) == 0; }

bool readAll(int file, char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = read(file, to, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

Header headerOf(std::string_view key, std::string_view content) {
  Header header{kMagic, key.size(), content.size(), {}};
  for (int i = 0; i < 2; ++i) header.hash[i] = hashOf(content, hashOf(key, kSeeds[i]));
  return header;
}

absl::Status makeFolders(const std::string& folder) {
  for (size_t at = folder.find('/', 1);; at = folder.find('/', at + 1)) {
    const std::string part = folder.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return absl::UnavailableError(absl::StrCat(part, ": ", std::strerror(errno)));
    if (at == std::string::npos) return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<DiskCache> DiskCache::open(std::string folder, int64_t limit) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (folder.empty() || folder[0] != '/') return absl::UnavailableError("not an absolute path: \"" + folder + "\"");
  if (absl::Status s = makeFolders(folder); !s.ok()) return s;
  struct stat facts;
  if (lstat(folder.c_str(), &facts) != 0) return absl::UnavailableError(folder + ": " + std::strerror(errno));
  if (!S_ISDIR(facts.st_mode)) return absl::FailedPreconditionError(folder + " is no folder");
  if (!isOurs(facts)) return absl::FailedPreconditionError(folder + " belongs to others, or others may write there");
  return DiskCache(std::move(folder), limit);
}

std::string DiskCache::pathOf(std::string_view key) const {
  return absl::StrFormat("%s/%016x%016x%s", folder_, hashOf(key, kSeeds[0]), hashOf(key, kSeeds[1]), kSuffix);
}

std::optional<std::string> DiskCache::find(std::string_view key) const {
  const std::string path = pathOf(key);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  const absl::Cleanup close = [file] { ::close(file); };
  struct stat facts;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || !isOurs(facts)) return std::nullopt;
  const auto bytes = static_cast<size_t>(facts.st_size);
  Header header{};
  std::string all(bytes, '\0');
  if (!readAll(file, all.data(), bytes)) return std::nullopt;
  if (bytes >= sizeof header) std::memcpy(&header, all.data(), sizeof header);
  const bool whole = header.magic == kMagic && header.keyBytes <= bytes && header.contentBytes <= bytes &&
                     sizeof header + header.keyBytes + header.contentBytes == bytes;
  const std::string_view rest = std::string_view(all).substr(std::min(bytes, sizeof header));
  if (whole && rest.substr(0, header.keyBytes) != key) return std::nullopt;  // another key of the same name
  const std::string_view content = whole ? rest.substr(header.keyBytes) : "";
  const Header right = headerOf(key, content);
  if (!whole || std::memcmp(&right, &header, sizeof header) != 0) {
    unlink(path.c_str());
    return std::nullopt;
  }
  return std::string(content);
}

void DiskCache::keep(std::string_view key, std::string_view content) const {
  std::string unfinished = folder_ + "/XXXXXX" + std::string(kUnfinished);
  const int file = mkostemps(unfinished.data(), static_cast<int>(kUnfinished.size()), O_CLOEXEC);  // mode 0600
  if (file < 0) return;
  const Header header = headerOf(key, content);
  const std::string_view start(reinterpret_cast<const char*>(&header), sizeof header);
  const bool written = writeAll(file, start) && writeAll(file, key) && writeAll(file, content);
  const bool closed = close(file) == 0;
  if (!written || !closed || rename(unfinished.c_str(), pathOf(key).c_str()) != 0) unlink(unfinished.c_str());
  makeRoom();
}

void DiskCache::forget(std::string_view key) const { unlink(pathOf(key).c_str()); }

/// The oldest go until three quarters are left. What somebody else reads meanwhile stays readable.
void DiskCache::makeRoom() const {
  DIR* folder = opendir(folder_.c_str());
  if (!folder) return;
  const absl::Cleanup close = [folder] { closedir(folder); };
  struct File {
    int64_t time, bytes;
    std::string path;
  };
  std::vector<File> files;
  int64_t total = 0;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(kSuffix) && !name.ends_with(kUnfinished)) continue;
    File file{0, 0, folder_ + "/" + std::string(name)};
    struct stat facts;
    if (lstat(file.path.c_str(), &facts) != 0) continue;
    file.time = facts.st_mtim.tv_sec;
    file.bytes = facts.st_size;
    total += file.bytes;
    files.push_back(std::move(file));
  }
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
  for (const File& file : files) {
    if (total <= limit_ / 4 * 3) break;
    if (unlink(file.path.c_str()) == 0) total -= file.bytes;
  }
}

std::string defaultCacheFolder() {
  if (const char* set = std::getenv("XDG_CACHE_HOME"); set && *set == '/') return absl::StrCat(set, "/fusewire");
  const char* home = std::getenv("HOME");
  if (!home || *home != '/') {
    const passwd* user = getpwuid(geteuid());
    home = user ? user->pw_dir : nullptr;
  }
  return home && *home == '/' ? absl::StrCat(home, "/.cache/fusewire") : "";
}

}  // namespace fw::runtime
