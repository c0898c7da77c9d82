// The C interface of tests/cuda/cuda_graph.py: graphs as text, compiled for CUDA and run on memory of the device.
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "fake_driver.h"
#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "graph/support/event.h"
#include "jit/cuda/compile.h"
#include "jit/cuda/target.h"
#include "jit/cuda/nvrtc.h"
#include "nlohmann/json.hpp"
#include "runtime/cuda/host.h"
#include "runtime/sym_program.h"

namespace {

using namespace fw;  // NOLINT: a file of a test

/// Blocks that are used again on the stream that they were first used on.
class StreamMemory : public runtime::cuda::Host {
 public:
  StreamMemory(const runtime::cuda::Driver& driver, void* stream) : driver_(driver), stream_(stream) {}
  void* allocate(int64_t bytes) override {
    const auto found = free_.lower_bound(bytes);
    if (found != free_.end()) {
      void* block = found->second;
      used_[block] = found->first;
      free_.erase(found);
      return block;
    }
    uint64_t address = 0;
    if (driver_.memAllocAsync(&address, static_cast<size_t>(bytes), stream_) != 0) return nullptr;
    used_[reinterpret_cast<void*>(address)] = bytes;
    return reinterpret_cast<void*>(address);
  }
  void release(void* data) override {
    free_.emplace(used_.at(data), data);
    used_.erase(data);
  }
  int32_t call(runtime::Context&, int) override { return runtime::kStatusDecline; }
  void* stream() override { return stream_; }

 private:
  const runtime::cuda::Driver& driver_;
  void* stream_;
  std::multimap<int64_t, void*> free_;
  std::map<void*, int64_t> used_;
};

struct Opened {
  std::unique_ptr<jit::cuda::Device> device;
  std::map<void*, std::unique_ptr<StreamMemory>> memory;  ///< by stream
  std::string error;
};

struct Built {
  Opened* opened;
  runtime::SymProgram program;  ///< what describe() tells, in its order
  std::unique_ptr<runtime::Executable> executable;
  std::string text;  ///< of the last answer
};

runtime::SymProgram describing(const graph::Graph& graph, const graph::Plan& plan) {
  std::vector<graph::SymId> wanted{plan.workspaceBytes};
  for (const graph::Buffer& buffer : plan.buffers)
    wanted.insert(wanted.end(), buffer.shape.begin(), buffer.shape.end());
  for (const graph::OutputBinding& output : plan.outputs) {
    wanted.push_back(output.isView ? output.offset : graph.syms().constant(0));
    wanted.insert(wanted.end(), output.shape.begin(), output.shape.end());
    wanted.insert(wanted.end(), output.strides.begin(), output.strides.end());
  }
  return runtime::SymProgram(graph.syms(), wanted);
}

int fail(char* error, int size, const std::string& message) {
  std::strncpy(error, message.c_str(), static_cast<size_t>(size) - 1);
  error[size - 1] = 0;
  return 0;
}

}  // namespace

#define FW_EXPORT extern "C" __attribute__((visibility("default")))

/// `fake`: 1: a driver without a device; 2: kernels run on the host, where `nvrtc` is the folder of emulation.h.
FW_EXPORT void* fwc_open(const char* nvrtc, int fake, char* error, int size) {
  if (const char* logs = std::getenv("FUSEWIRE_LOGS")) configureLogs(logs);
  const runtime::cuda::Driver* driver = &testing::fakeDriver();
  if (!fake) {
    auto opened = runtime::cuda::openDriver();
    if (!opened.ok()) return fail(error, size, opened.status().ToString()), nullptr;
    driver = *opened;
  }
  if (fake == 2) {
    auto* result = new Opened;
    const auto compile = [folder = std::string(nvrtc)](const std::string& source, const std::string&) {
      return testing::emulate(source, folder);
    };
    result->device = std::make_unique<jit::cuda::Device>(*driver, jit::cuda::Compiler{compile},
                                                         runtime::cuda::DeviceFacts{"sm_90", 132});
    return result;
  }
  std::vector<std::string> places;
  if (*nvrtc) places.push_back(nvrtc);
  auto compiler = jit::cuda::Nvrtc::open(places);
  if (!compiler.ok()) return fail(error, size, compiler.status().ToString()), nullptr;
  auto facts = runtime::cuda::deviceFacts(*driver);
  if (!facts.ok()) return fail(error, size, facts.status().ToString()), nullptr;
  auto* result = new Opened;
  const auto compile = [nvrtc = *std::move(compiler)](const std::string& source, const std::string& architecture) {
    return nvrtc.compile(source, architecture);
  };
  result->device = std::make_unique<jit::cuda::Device>(*driver, jit::cuda::Compiler{compile}, *std::move(facts));
  return result;
}

FW_EXPORT void* fwc_build(void* opened, const char* text, char* error, int size) {
  auto* device = static_cast<Opened*>(opened);
  try {
    auto graph = graph::parse(text);
    if (!graph.ok()) return fail(error, size, graph.status().ToString()), nullptr;
    if (absl::Status s = graph::runPasses(*graph, {}); !s.ok()) return fail(error, size, s.ToString()), nullptr;
    auto plan = graph::makePlan(*graph, {.target = jit::cuda::planningTarget()});
    if (!plan.ok()) return fail(error, size, plan.status().ToString()), nullptr;
    runtime::SymProgram program = describing(*graph, *plan);
    auto lowered = kernels::cuda::lowerPlan(*graph, *plan);
    if (!lowered.ok()) return fail(error, size, lowered.status().ToString()), nullptr;
    auto executable =
        jit::cuda::compile(*device->device, *std::move(graph), *std::move(plan), *std::move(lowered), {.wait = true});
    if (!executable.ok()) return fail(error, size, executable.status().ToString()), nullptr;
    return new Built{device, std::move(program), *std::move(executable), ""};
  } catch (const std::exception& e) {
    return fail(error, size, e.what()), nullptr;
  }
}

/// Buffers and results under these symbols, as JSON.
FW_EXPORT const char* fwc_describe(void* built, const int64_t* symbols) {
  auto& b = *static_cast<Built*>(built);
  const graph::Plan& plan = b.executable->plan();
  std::vector<int64_t> numbers(b.program.resultCount());
  b.program.run(symbols, numbers.data());
  size_t next = 0;
  const auto take = [&](const auto& list) {
    nlohmann::json values = nlohmann::json::array();
    for (size_t i = 0; i < list.size(); ++i) values.push_back(numbers[next++]);
    return values;
  };
  nlohmann::json answer;
  answer["workspace"] = numbers[next++];
  answer["buffers"] = answer["outputs"] = nlohmann::json::array();
  for (const graph::Buffer& buffer : plan.buffers)
    answer["buffers"].push_back({{"kind", static_cast<int>(buffer.kind)},
                                 {"index", buffer.index},
                                 {"dtype", std::string(graph::name(buffer.dtype))},
                                 {"shape", take(buffer.shape)}});
  for (const graph::OutputBinding& output : plan.outputs)
    answer["outputs"].push_back({{"buffer", output.buffer.index},
                                 {"offset", output.isView ? numbers[next] : 0},
                                 {"shape", (++next, take(output.shape))},
                                 {"strides", take(output.strides)}});
  b.text = answer.dump();
  return b.text.c_str();
}

/// 0: done, and everything is enqueued.
FW_EXPORT int fwc_run(void* built, const int64_t* symbols, int count, void** buffers, void* workspace, void* stream) {
  auto& b = *static_cast<Built*>(built);
  std::unique_ptr<StreamMemory>& memory = b.opened->memory[stream];
  if (!memory) memory = std::make_unique<StreamMemory>(b.opened->device->driver(), stream);
  std::vector<int64_t> own(symbols, symbols + count);
  const size_t n = b.executable->plan().buffers.size();
  std::vector<void*> addresses(buffers, buffers + n);
  runtime::Context context{own.data(), addresses.data(), workspace, nullptr, memory.get()};
  if (int32_t status = b.executable->compute(context)) return status;
  return b.executable->commit(context);
}

FW_EXPORT void fwc_compiled(void* opened, int* count, double* milliseconds) {
  const auto compiled = static_cast<Opened*>(opened)->device->compiled();
  *count = compiled.count;
  *milliseconds = compiled.milliseconds;
}
