// NVRTC comes in the packages of the index, in toolkits and in distributions, under names that hold its major version.
// It opens its own second library by bare name, which the linker finds only if that has been loaded before, from where
// NVRTC lies.
#include "jit/cuda/nvrtc.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fw::jit::cuda {
namespace {

constexpr int kOldestMajor = 12;
/// Denormals as in CuPy. NVRTC's own cache, since 12.9, takes code that was compiled with other options for this one's.
constexpr const char* kOptions[] = {"-ftz=true", "-std=c++17", "-default-device", "--no-cache"};
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

/// Files that `place` may stand for.
std::vector<std::string> candidates(const std::string& place) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(place, ignored)) return {place};
  std::vector<std::string> files;
  for (const char* name : kNames) files.push_back((std::filesystem::path(place) / name).string());
  return files;
}

/// Loads the library beside `file` that NVRTC asks for by its bare name.
void openBuiltins(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (folder.empty()) return;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Size and time of the file: versions of one name have had other code.
std::string factsOf(void* library) {
  link_map* map = nullptr;
  struct stat facts;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || stat(map->l_name, &facts) != 0) return "";
  return absl::StrCat(facts.st_size, "@", facts.st_mtim.tv_sec);
}

}  // namespace

absl::StatusOr<Nvrtc> Nvrtc::open(absl::Span<const std::string> places) {
  std::vector<std::string> files;
  for (const std::string& place : places)
    for (std::string& file : candidates(place)) files.push_back(std::move(file));
  files.insert(files.end(), std::begin(kNames), std::end(kNames));
  std::vector<std::string> tried;
  for (const std::string& file : files) {
    openBuiltins(file);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      tried.push_back(dlerror());
      continue;
    }
    Nvrtc nvrtc;
    bool complete = true;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      complete &= function != nullptr;
    };
    int (*version)(int*, int*) = nullptr;
    find("nvrtcVersion", version);
    find("nvrtcCreateProgram", nvrtc.create_);
    find("nvrtcCompileProgram", nvrtc.compile_);
    find("nvrtcDestroyProgram", nvrtc.destroy_);
    find("nvrtcGetProgramLogSize", nvrtc.logSize_);
    find("nvrtcGetProgramLog", nvrtc.log_);
    find("nvrtcGetCUBINSize", nvrtc.cubinSize_);
    find("nvrtcGetCUBIN", nvrtc.cubin_);
    if (complete && version(&nvrtc.major_, &nvrtc.minor_) == 0 && nvrtc.major_ >= kOldestMajor) {
      nvrtc.identity_ = absl::StrCat("NVRTC ", nvrtc.major_, ".", nvrtc.minor_, " ", factsOf(library), " ",
                                     absl::StrJoin(kOptions, " "));
      return nvrtc;
    }
    tried.push_back(complete ? absl::StrCat(file, " is version ", nvrtc.major_, ".", nvrtc.minor_)
                             : file + " is not NVRTC");
    dlclose(library);
  }
  return absl::UnavailableError(
      absl::StrCat("no NVRTC of CUDA ", kOldestMajor, " or later: ", absl::StrJoin(tried, "; ")));
}

absl::StatusOr<std::string> Nvrtc::compile(const std::string& source, const std::string& architecture) const {
  void* program = nullptr;
  if (int error = create_(&program, source.c_str(), "fusewire.cu", 0, nullptr, nullptr))
    return absl::InternalError(absl::StrCat("nvrtcCreateProgram: error ", error));
  const std::string target = "-arch=" + architecture;
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  const bool hasCache = major_ > 12 || (major_ == 12 && minor_ >= 9);
  if (!hasCache) options.pop_back();
  options.push_back(target.c_str());
  const int result = compile_(program, static_cast<int>(options.size()), options.data());
  std::string answer;
  size_t size = 0;
  if (result != 0) {
    logSize_(program, &size);
    answer.resize(size);
    log_(program, answer.data());
    destroy_(&program);
    return absl::InternalError(absl::StrCat("nvrtcCompileProgram: error ", result, "\n", answer));
  }
  cubinSize_(program, &size);
  answer.resize(size);
  const int got = size == 0 ? -1 : cubin_(program, answer.data());
  destroy_(&program);
  if (got != 0) return absl::InternalError("NVRTC answers no machine code for " + architecture);
  return answer;
}

}  // namespace fw::jit::cuda
