// A kernel is launched, a copy is enqueued, and a loop, branch or bind waits for the number that it depends on. Turns
// that do the same at the same places are noted once and launched as a graph of some turns, again and again.
#include "jit/cuda/run.h"

#include <algorithm>
#include <cstring>

namespace fw::jit::cuda {

using graph::BufferId;
using graph::SymId;

Run::Run(const DeviceProgram& of, runtime::Context& context)
    : of_(of),
      context_(context),
      host_(static_cast<runtime::cuda::Host&>(*context.host)),
      offsets_(of.plan.buffers.size()),
      stream_(host_) {
  of.offsets.run(context.symbols, offsets_.data());
}

absl::Status Run::compute() {
  absl::Status status;
  for (const Launchers& commit : of_.commits) status.Update(prepare(commit));
  // Until all of it has been there once, nothing is launched in vain.
  if (!of_.complete.load(std::memory_order_relaxed)) status.Update(prepareSteps(of_.plan.steps));
  if (status.ok()) status = steps(of_.plan.steps);
  of_.complete.store(status.ok(), std::memory_order_relaxed);
  return status;
}

absl::Status Run::commit() {
  absl::Status status;
  for (const Launchers& commit : of_.commits)
    if (status.ok()) status = launch(commit);
  return status;
}

absl::Status Run::steps(const graph::Steps& steps) {
  for (const graph::Step& step : steps)
    if (absl::Status s = std::visit([&](const auto& what) { return run(what); }, step.what); !s.ok()) {
      if (absl::IsUnavailable(s)) s.Update(prepareSteps(steps));
      return s;
    }
  return absl::OkStatus();
}

/// The kernels among these steps, and those of loops whose turns are all alike. Of others numbers are not known.
absl::Status Run::prepareSteps(const graph::Steps& steps) {
  absl::Status status;
  for (const graph::Step& step : steps) {
    if (const auto* kernel = std::get_if<graph::KernelStep>(&step.what))
      status.Update(prepare(of_.groups[static_cast<size_t>(kernel->group)]));
    const auto* loop = std::get_if<graph::LoopStep>(&step.what);
    if (!loop || of_.loops.at(loop).turns == 0) continue;
    beginHandles(*loop);
    status.Update(prepareSteps(loop->bodies[0].steps));
  }
  return status;
}

absl::Status Run::prepare(const Launchers& launchers) {
  absl::Status status;
  for (const std::unique_ptr<Launcher>& launcher : launchers) {
    const auto address = [&](BufferId id) { return this->address(id); };
    status.Update(launcher->prepare(context_.symbols, address));
  }
  return status;
}

absl::Status Run::launch(const Launchers& launchers) {
  for (const std::unique_ptr<Launcher>& launcher : launchers) {
    const auto address = [&](BufferId id) { return this->address(id); };
    if (absl::Status s = launcher->launch(context_.symbols, address, *sink_); !s.ok()) return s;
  }
  return absl::OkStatus();
}

bool Run::isOnHost(BufferId id) const {
  return std::find(of_.hostNumbers.begin(), of_.hostNumbers.end(), id) != of_.hostNumbers.end();
}

uint64_t Run::address(BufferId id) const {
  if (buffer(id).kind == graph::BufferKind::kTemp)
    return reinterpret_cast<uint64_t>(context_.workspace) + static_cast<uint64_t>(offsets_[id.index]);
  return reinterpret_cast<uint64_t>(context_.buffers[id.index]);
}

absl::StatusOr<int64_t> Run::number(SymId id) const {
  return of_.graph.syms().evaluate(id, {context_.symbols, static_cast<size_t>(of_.graph.syms().symbolCount())});
}

void Run::setSymbol(SymId symbol, int64_t value) { context_.symbols[of_.graph.syms().node(symbol).value] = value; }

template <class T>
absl::StatusOr<T> Run::read(BufferId id) {
  T value{};
  if (isOnHost(id)) return std::memcpy(&value, reinterpret_cast<const void*>(address(id)), sizeof value), value;
  int result = driver().memcpyDtoHAsync(&value, address(id), sizeof value, host_.stream());
  if (result == 0) result = driver().streamSynchronize(host_.stream());
  if (absl::Status s = runtime::cuda::check(driver(), result, "reading a number back"); !s.ok()) return s;
  return value;
}

absl::Status Run::run(const graph::KernelStep& step) { return launch(of_.groups[static_cast<size_t>(step.group)]); }

/// The library gets memory of the device, and works on the stream of the host.
absl::Status Run::run(const graph::CallStep& step) {
  return host_.call(context_, step.number) == 0 ? absl::OkStatus() : absl::OutOfRangeError("a library call");
}

/// Memory of the device of sizes that it decides: the stream would have to be waited for.
absl::Status Run::run(const graph::AllocStep&) {
  return absl::UnimplementedError("memory of a size that data decides");
}

absl::Status Run::run(const graph::CopyStep& step) {
  const uint64_t to = address(step.to), from = address(step.from);
  int64_t bytes = graph::itemSize(buffer(step.to).dtype);
  for (SymId size : buffer(step.to).shape) {
    absl::StatusOr<int64_t> n = number(size);
    if (!n.ok()) return n.status();
    bytes *= *n;
  }
  if (bytes <= 0 || to == from) return absl::OkStatus();
  return runtime::cuda::check(driver(), driver().memcpyDtoDAsync(to, from, static_cast<size_t>(bytes), host_.stream()),
                              "cuMemcpyDtoDAsync");
}

void Run::beginHandles(const graph::LoopStep& step) {
  for (BufferId handle : step.handles)
    context_.buffers[handle.index] = reinterpret_cast<void*>(address(buffer(handle).home));
}

/// The body, and what moves behind it.
absl::Status Run::turn(const graph::LoopStep& step, int64_t number) {
  if (step.index) setSymbol(*step.index, number);
  if (absl::Status s = steps(step.bodies[0].steps); !s.ok()) return s;
  std::vector<uint64_t> addresses;
  for (const auto& [to, from] : step.moves) addresses.push_back(address(from));
  for (size_t k = 0; k < addresses.size(); ++k)
    context_.buffers[step.moves[k].first.index] = reinterpret_cast<void*>(addresses[k]);
  return absl::OkStatus();
}

/// Somebody may want the run to end; what has been launched goes on, and nobody sees it.
absl::Status Run::look() {
  return host_.look(context_, true) == 0 ? absl::OkStatus() : absl::OutOfRangeError("a signal");
}

absl::StatusOr<int64_t> Run::repeat(const graph::LoopStep& step, const LoopFacts& loop, int64_t trip) {
  if (loop.turns == 0 || trip < loop.turns) return 0;
  RecordingSink recorded(host_);
  sink_ = &recorded;
  absl::Status status;
  for (int64_t i = 0; i < loop.turns && status.ok(); ++i) status = turn(step, i);
  sink_ = &stream_;
  if (!status.ok()) return status;
  const int64_t times = trip / loop.turns;
  for (int64_t i = 0; i < times && status.ok(); ++i) {
    status = loop.graph->launch(recorded.launches(), host_.stream());
    if (status.ok()) status = look();
  }
  if (!status.ok()) return status;
  return times * loop.turns;
}

absl::Status Run::run(const graph::LoopStep& step) {
  beginHandles(step);
  int64_t trip = INT64_MAX;
  if (step.trip) {
    absl::StatusOr<int64_t> n = number(*step.trip);
    if (!n.ok()) return n.status();
    trip = *n;
  }
  const LoopFacts& loop = of_.loops.at(&step);
  absl::StatusOr<int64_t> done = repeat(step, loop, trip);
  if (!done.ok()) return done.status();
  bool again = true;
  for (int64_t i = *done; i < trip && again; ++i) {
    if (absl::Status s = turn(step, i); !s.ok()) return s;
    if (!loop.endless) {
      absl::StatusOr<uint8_t> byte = read<uint8_t>(step.again);
      if (!byte.ok()) return byte.status();
      again = *byte != 0;
    }
    if (absl::Status s = look(); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Run::run(const graph::CondStep& step) {
  absl::StatusOr<uint8_t> taken = read<uint8_t>(step.predicate);
  if (!taken.ok()) return taken.status();
  return steps(step.bodies[*taken != 0 ? 0 : 1].steps);
}

absl::Status Run::define(SymId symbol, BufferId from, SymId least, SymId most) {
  absl::StatusOr<int64_t> value = read<int64_t>(from), low = number(least), high = number(most);
  for (const auto* n : {&value, &low, &high})
    if (!n->ok()) return n->status();
  if (*value < *low || *value > *high) return absl::OutOfRangeError("a number out of its range");
  setSymbol(symbol, *value);
  return absl::OkStatus();
}

absl::Status Run::run(const graph::BindStep& step) {
  if (absl::Status s = define(step.symbol, step.from, step.least, step.most); !s.ok()) return s;
  return steps(step.bodies[0].steps);
}

absl::Status Run::run(const graph::DefineStep& step) { return define(step.symbol, step.from, step.least, step.most); }

}  // namespace fw::jit::cuda
