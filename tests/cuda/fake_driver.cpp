#include "fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace fw::testing {
namespace {

std::map<void*, std::string>& functions() {
  static std::map<void*, std::string> names;
  return names;
}

runtime::cuda::Driver make() {
  runtime::cuda::Driver d;
  static char context, module;
  d.init = [](unsigned) { return 0; };
  d.driverGetVersion = [](int* version) { return *version = 13000, 0; };
  d.getErrorString = [](int, const char** text) { return *text = "planted", 0; };
  d.deviceGet = [](int* device, int) { return *device = 0, 0; };
  d.deviceGetAttribute = [](int* value, int attribute, int) {
    *value = attribute == 16 ? 132 : attribute == 75 ? 9 : 0;
    return 0;
  };
  d.primaryCtxRetain = [](void** to, int) { return *to = &context, 0; };
  d.ctxGetCurrent = [](void** to) { return *to = &context, 0; };
  d.ctxSetCurrent = [](void*) { return 0; };
  d.ctxGetDevice = [](int* device) { return *device = 0, 0; };
  d.moduleLoadData = [](void** to, const void* image) {
    return *to = &module, std::memcmp(image,
                                      "\x7f"
                                      "ELF",
                                      4)
                              ? 200
                              : 0;
  };
  d.moduleUnload = [](void*) { return 0; };
  d.moduleGetFunction = [](void** to, void*, const char* name) {
    *to = std::malloc(1);
    functions()[*to] = name;
    return 0;
  };
  d.launchKernel = [](void* function, unsigned gridX, unsigned gridY, unsigned, unsigned blockX, unsigned blockY,
                      unsigned, unsigned, void* stream, void**, void**) {
    FakeEvents& events = fakeEvents();
    if (events.failAt == static_cast<int>(events.launches.size())) return 1;
    events.launches.push_back({functions()[function], gridX, gridY, blockX, blockY, stream});
    return 0;
  };
  d.memcpyDtoDAsync = [](uint64_t to, uint64_t from, size_t bytes, void*) {
    fakeEvents().calls.push_back("copy " + std::to_string(bytes));
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return 0;
  };
  d.memcpyDtoHAsync = [](void* to, uint64_t from, size_t bytes, void*) {
    fakeEvents().calls.push_back("read " + std::to_string(bytes));
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return 0;
  };
  d.streamSynchronize = [](void*) { return fakeEvents().calls.push_back("synchronize"), 0; };
  d.memAllocAsync = [](uint64_t* to, size_t bytes, void*) {
    fakeEvents().calls.push_back("allocate " + std::to_string(bytes));
    *to = reinterpret_cast<uint64_t>(std::malloc(bytes));
    return 0;
  };
  d.memFreeAsync = [](uint64_t address, void*) { return std::free(reinterpret_cast<void*>(address)), 0; };
  return d;
}

}  // namespace

FakeEvents& fakeEvents() {
  static FakeEvents events;
  return events;
}

const runtime::cuda::Driver& fakeDriver() {
  static const runtime::cuda::Driver driver = make();
  return driver;
}

}  // namespace fw::testing
