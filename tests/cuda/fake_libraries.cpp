// The fake driver as libcuda.so.1, and, under the name of NVRTC, a compiler that makes code for the host of sources
// (emulate()): with both in front of the linker's path a process runs code for CUDA on memory of the host.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "fake_driver.h"

using namespace fw;  // NOLINT: a file of a test

#define FW_EXPORT extern "C" __attribute__((visibility("default")))

FW_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, void*) {
  const runtime::cuda::Driver& driver = testing::fakeDriver();
  static const std::map<std::string, void*> all = {
#define FW_CUDA_SYMBOL(Id, text, ...) {text, reinterpret_cast<void*>(driver.Id)},
#include "runtime/cuda/symbols.def"
  };
  const auto found = all.find(name);
  if (found == all.end()) return 500;
  *function = found->second;
  return 0;
}

/// Launches since the last time it was asked.
FW_EXPORT int fake_launches() {
  const auto count = static_cast<int>(testing::fakeEvents().launches.size());
  testing::fakeEvents().launches.clear();
  return count;
}
/// Launches of graphs of several kernels, so far.
FW_EXPORT int fake_chain_launches() { return testing::fakeEvents().chainLaunches; }
/// The launch of that number from now on fails; -1: none.
FW_EXPORT void fake_fail_at(int number) {
  testing::fakeEvents().failAt = number < 0 ? -1 : static_cast<int>(testing::fakeEvents().launches.size()) + number;
}

namespace {
struct Program {
  std::string source, image;
};
Program* at(void* program) { return static_cast<Program*>(program); }
}  // namespace

FW_EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
FW_EXPORT int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                                 const char* const*) {
  *program = new Program{source, ""};
  return 0;
}
/// FW_FAKE_KERNELS=none: kernels do nothing, for times of the host.
FW_EXPORT int nvrtcCompileProgram(void* program, int, const char* const*) {
  const char* kernels = std::getenv("FW_FAKE_KERNELS");
  if (kernels && std::strcmp(kernels, "none") == 0)
    return at(program)->image =
               "\x7f"
               "ELF",
           0;
  auto image = testing::emulate(at(program)->source, FW_EMULATION);
  at(program)->image = image.ok() ? *image : std::string(image.status().message());
  return image.ok() ? 0 : 6;
}
FW_EXPORT int nvrtcDestroyProgram(void** program) { return delete at(*program), 0; }
FW_EXPORT int nvrtcGetProgramLogSize(void* program, size_t* size) { return *size = at(program)->image.size(), 0; }
FW_EXPORT int nvrtcGetProgramLog(void* program, char* text) {
  return std::memcpy(text, at(program)->image.data(), at(program)->image.size()), 0;
}
FW_EXPORT int nvrtcGetCUBINSize(void* program, size_t* size) { return *size = at(program)->image.size() + 1, 0; }
FW_EXPORT int nvrtcGetCUBIN(void* program, char* bytes) {
  return std::memcpy(bytes, at(program)->image.c_str(), at(program)->image.size() + 1), 0;
}

/// What stands for CuPy's function of the current stream, which asks a driver that is not there.
FW_EXPORT intptr_t fake_stream() { return 0; }
