// One call of a program: its steps as host code.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "jit/cuda/program.h"
#include "runtime/context.h"

namespace fw::jit::cuda {

/// What is launched happens in the order of the host's stream; only steps that decide something wait for it.
/// kUnavailable: a kernel is being compiled. kOutOfRange and kFailedPrecondition have been reported.
class Run {
 public:
  Run(const DeviceProgram& of, runtime::Context& context);

  absl::Status compute();
  absl::Status commit();

 private:
  absl::Status steps(const graph::Steps& steps);
  absl::Status prepareSteps(const graph::Steps& steps);
  absl::Status prepare(const Launchers& launchers);
  absl::Status launch(const Launchers& launchers);

  const runtime::cuda::Driver& driver() const { return of_.device.driver(); }
  const graph::Buffer& buffer(graph::BufferId id) const { return of_.plan.buffers[id.index]; }
  bool isOnHost(graph::BufferId id) const;
  uint64_t address(graph::BufferId id) const;
  absl::StatusOr<int64_t> number(graph::SymId id) const;
  void setSymbol(graph::SymId symbol, int64_t value);
  /// Waits for the stream.
  template <class T>
  absl::StatusOr<T> read(graph::BufferId id);
  absl::Status define(graph::SymId symbol, graph::BufferId from, graph::SymId least, graph::SymId most);

  absl::Status run(const graph::KernelStep& step);
  absl::Status run(const graph::AcceptStep&) { return absl::OkStatus(); }
  absl::Status run(const graph::CommitStep&) { return absl::OkStatus(); }  // commit()
  absl::Status run(const graph::CallStep& step);
  absl::Status run(const graph::AllocStep&);
  absl::Status run(const graph::FreeStep&) { return absl::OkStatus(); }
  absl::Status run(const graph::CopyStep& step);
  absl::Status run(const graph::LoopStep& step);
  absl::Status run(const graph::CondStep& step);
  absl::Status run(const graph::BindStep& step);
  absl::Status run(const graph::DefineStep& step);

  void beginHandles(const graph::LoopStep& step);
  absl::Status turn(const graph::LoopStep& step, int64_t number);
  /// Turns that have been enqueued as graphs.
  absl::StatusOr<int64_t> repeat(const graph::LoopStep& step, const LoopFacts& loop, int64_t trip);
  absl::Status look();

  const DeviceProgram& of_;
  runtime::Context& context_;
  runtime::cuda::Host& host_;
  std::vector<int64_t> offsets_;
  StreamSink stream_;
  LaunchSink* sink_ = &stream_;
};

}  // namespace fw::jit::cuda
