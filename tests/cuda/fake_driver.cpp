#include "fake_driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

namespace fw::testing {
namespace {

/// In front of the path of a library that stands for machine code.
constexpr char kEmulated[] = "emulated:";
using Emulated = void (*)(const void* parameters, unsigned gridX, unsigned gridY, unsigned blockX, unsigned blockY,
                          unsigned sharedBytes);

struct Function {
  std::string name;
  Emulated run = nullptr;
};
std::map<void*, Function>& functions() {
  static auto& all = *new std::map<void*, Function>;
  return all;
}

/// Handles live as long as the process, as those do that the runtime gets from a driver (runtime/cuda/function.h).
template <typename T>
T* kept(T* handle) {
  static auto& all = *new std::vector<void*>;
  all.push_back(handle);
  return handle;
}

/// A node of a graph: what it launches, and its parameters, which are looked at where the caller keeps them: the real
/// driver copies them, as it knows their size.
struct FakeNode {
  runtime::cuda::KernelNode what;
  void* parameters;
};
struct FakeGraph {
  std::vector<FakeNode*> nodes;
};
struct FakeExec {
  std::map<void*, FakeNode> nodes;  ///< by node of the graph
  std::vector<void*> order;
};

runtime::cuda::Driver make() {
  runtime::cuda::Driver d;
  static char context, module;
  d.init = [](unsigned) { return 0; };
  d.driverGetVersion = [](int* version) { return *version = 13000, 0; };
  d.getErrorString = [](int, const char** text) { return *text = "planted", 0; };
  d.deviceGet = [](int* device, int) { return *device = 0, 0; };
  d.deviceGetAttribute = [](int* value, int attribute, int) {
    *value = attribute == 16 ? 132 : attribute == 75 ? 9 : attribute == 97 ? 227 << 10 : 0;
    return 0;
  };
  d.primaryCtxRetain = [](void** to, int) { return *to = &context, 0; };
  d.ctxGetCurrent = [](void** to) { return *to = &context, 0; };
  d.ctxSetCurrent = [](void*) { return 0; };
  d.ctxGetDevice = [](int* device) { return *device = 0, 0; };
  d.moduleLoadData = [](void** to, const void* image) {
    *to = &module;
    const auto* text = static_cast<const char*>(image);
    if (std::strncmp(text, kEmulated, sizeof kEmulated - 1) == 0) {
      *to = dlopen(text + sizeof kEmulated - 1, RTLD_NOW | RTLD_LOCAL);
      std::error_code ignored;
      std::filesystem::remove_all(std::filesystem::path(text + sizeof kEmulated - 1).parent_path(), ignored);
      return *to ? 0 : 200;
    }
    return std::memcmp(image,
                       "\x7f"
                       "ELF",
                       4)
               ? 200
               : 0;
  };
  d.moduleUnload = [](void*) { return 0; };
  d.moduleGetFunction = [](void** to, void* from, const char* name) {
    *to = kept(new char);
    functions()[*to] = {name, from == &module ? nullptr : reinterpret_cast<Emulated>(dlsym(from, "emulated_run"))};
    return 0;
  };
  d.funcSetAttribute = [](void*, int, int) { return 0; };
  d.launchKernel = [](void* function, unsigned gridX, unsigned gridY, unsigned, unsigned blockX, unsigned blockY,
                      unsigned, unsigned sharedBytes, void* stream, void** parameters, void**) {
    FakeEvents& events = fakeEvents();
    if (events.failAt == static_cast<int>(events.launches.size())) return 1;
    const Function& f = functions()[function];
    events.launches.push_back({f.name, gridX, gridY, blockX, blockY, stream});
    if (f.run) f.run(parameters[0], gridX, gridY, blockX, blockY, sharedBytes);
    return 0;
  };
  // What cuGraphLaunch does are the launches of the nodes, with the parameters that each had last.
  d.graphCreate = [](void** graph, unsigned) { return *graph = kept(new FakeGraph), 0; };
  d.graphDestroy = [](void*) { return 0; };
  d.graphAddKernelNode = [](void** node, void* graph, void* const* after, size_t count,
                            const runtime::cuda::KernelNode* what) {
    std::vector<FakeNode*>& nodes = static_cast<FakeGraph*>(graph)->nodes;
    // Chains only: each node stands behind the one before.
    if (count != (nodes.empty() ? 0u : 1u) || (count == 1 && after[0] != nodes.back())) return 1;
    nodes.push_back(kept(new FakeNode{*what, what->parameters[0]}));
    *node = nodes.back();
    return 0;
  };
  d.graphInstantiate = [](void** exec, void* graph, unsigned long long) {
    if (fakeEvents().refusesGraphs) return 801;
    fakeEvents().calls.push_back("instantiate");
    auto* made = kept(new FakeExec);
    for (FakeNode* node : static_cast<FakeGraph*>(graph)->nodes) {
      made->nodes[node] = *node;
      made->order.push_back(node);
    }
    *exec = made;
    return 0;
  };
  d.graphExecDestroy = [](void*) { return fakeEvents().calls.push_back("destroy"), 0; };
  d.graphExecKernelNodeSetParams = [](void* exec, void* node, const runtime::cuda::KernelNode* what) {
    auto* graph = static_cast<FakeExec*>(exec);
    if (!graph->nodes.contains(node)) return 1;
    fakeEvents().calls.push_back("replace");
    graph->nodes[node] = {*what, what->parameters[0]};
    return 0;
  };
  d.graphLaunch = [](void* exec, void* stream) {
    auto* graph = static_cast<FakeExec*>(exec);
    ++fakeEvents().graphLaunches;
    if (fakeEvents().capturing) return 900;
    fakeEvents().chainLaunches += graph->order.size() > 1;
    for (void* at : graph->order) {
      FakeNode& node = graph->nodes[at];
      void* parameters[] = {node.parameters};
      if (int e = fakeDriver().launchKernel(node.what.function, node.what.gridX, node.what.gridY, 1, node.what.blockX,
                                            node.what.blockY, 1, node.what.sharedBytes, stream, parameters, nullptr))
        return e;
    }
    return 0;
  };
  d.streamIsCapturing = [](void*, int* status) { return *status = fakeEvents().capturing, 0; };
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

absl::StatusOr<std::string> emulate(const std::string& source, const std::string& folder) {
  static int number = 0;
  char path[] = "/tmp/emulatedXXXXXX";
  if (!mkdtemp(path)) return absl::InternalError("no temporary folder");
  const std::string file = std::string(path) + "/kernel" + std::to_string(number++);
  const size_t at = source.rfind("struct fw_") + 7;
  const std::string params = source.substr(at, source.find(' ', at) - at);
  FILE* out = std::fopen((file + ".cpp").c_str(), "w");
  std::fprintf(out, "#include \"emulation.h\"\n%s\nFW_EMULATED(%s, %s)\n", source.c_str(),
               params.substr(0, params.size() - 7).c_str(), params.c_str());
  std::fclose(out);
  const std::string command =
      "c++ -std=c++20 -O0 -nostdinc++ -w -shared -fPIC -ffp-contract=off -fno-strict-aliasing -I" + folder + " -o " +
      file + ".so " + file + ".cpp 2> " + file + ".log";
  if (std::system(command.c_str()) != 0) return absl::InternalError("see " + file + ".log");
  return kEmulated + file + ".so";
}

const runtime::cuda::Driver& fakeDriver() {
  static const runtime::cuda::Driver driver = make();
  return driver;
}

}  // namespace fw::testing
