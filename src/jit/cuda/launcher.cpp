// Sizes decide the form, the form the function; its parameters are filled in by what they name.
#include "jit/cuda/launcher.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "graph/support/check.h"

namespace fw::jit::cuda {

using kernels::cuda::CutNumber;
using kernels::cuda::Form;
using kernels::cuda::Parameter;
using kernels::cuda::StageNumber;

namespace {

int64_t cutNumber(const SumLayout& sum, CutNumber what) {
  switch (what) {
    case CutNumber::kStretch: return sum.stretch;
    case CutNumber::kPeriod: return sum.period;
    case CutNumber::kPer: return sum.per;
    case CutNumber::kStretches: return sum.stretches;
    case CutNumber::kTogether: return sum.together;
    case CutNumber::kDepth: return sum.depth;
    case CutNumber::kTiles: return sum.tiles;
  }
  FW_UNREACHABLE();
}

int64_t stageNumber(const StageLayout& stage, StageNumber what) {
  switch (what) {
    case StageNumber::kParts: return stage.parts;
    case StageNumber::kTotals: return stage.totals;
    case StageNumber::kAll: return stage.all;
  }
  FW_UNREACHABLE();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Launcher>> Launcher::make(Device& device, kernels::Kernel kernel,
                                                         graph::SymContext& syms, bool wait) {
  std::unique_ptr<Launcher> launcher(new Launcher(device, std::move(kernel), syms, wait));
  absl::StatusOr<std::vector<kernels::cuda::Piece>> pieces = kernels::cuda::piecesOf(launcher->kernel_, syms);
  if (!pieces.ok()) return pieces.status();
  launcher->pieces_ = *std::move(pieces);
  for (const kernels::cuda::Piece& piece : launcher->pieces_) {
    launcher->geometry_.emplace_back(launcher->kernel_, syms, piece);
    // Whether there is text at all is known now.
    if (absl::StatusOr<kernels::cuda::Source> source = kernels::cuda::emit(launcher->kernel_, syms, piece, Form{});
        !source.ok())
      return source.status();
  }
  launcher->last_ = std::make_unique<std::atomic<const Loaded*>[]>(launcher->pieces_.size());
  return launcher;
}

absl::StatusOr<const Launcher::Loaded*> Launcher::loaded(size_t piece, const Form& form) {
  const Loaded* last = last_[piece].load(std::memory_order_acquire);
  if (last && last->form == form) return last;
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<Loaded>& entry = loaded_[{piece, form}];
  if (!entry) {
    absl::StatusOr<kernels::cuda::Source> source = kernels::cuda::emit(kernel_, syms_, pieces_[piece], form);
    if (!source.ok()) return source.status();
    std::vector<graph::SymId> needed;
    for (const Parameter& parameter : source->parameters)
      if (parameter.sym.valid()) needed.push_back(parameter.sym);
    runtime::SymProgram program(syms_, needed);
    entry = std::make_unique<Loaded>(Loaded{form, *std::move(source), nullptr, std::move(program)});
  }
  if (!entry->function) {
    absl::StatusOr<runtime::cuda::Function*> function = device_.function(entry->source, wait_);
    if (!function.ok()) return function.status();
    entry->function = *function;
  }
  last_[piece].store(entry.get(), std::memory_order_release);
  return entry.get();
}

absl::Status Launcher::prepare(const int64_t* symbols, absl::FunctionRef<uint64_t(graph::BufferId)> address) {
  absl::Status status;
  for (size_t i = 0; i < pieces_.size(); ++i)
    for (const Launch& one : geometry_[i].layOut(symbols, address, device_.facts()).launches)
      if (absl::StatusOr<const Loaded*> function = loaded(i, one.form); !function.ok())
        status.Update(function.status());
  return status;
}

absl::Status Launcher::launch(const int64_t* symbols, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                              LaunchSink& sink) {
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Layout layout = geometry_[i].layOut(symbols, address, device_.facts());
    void* scratch = nullptr;
    if (layout.scratchBytes > 0) {
      scratch = sink.allocate(layout.scratchBytes);
      if (!scratch) return absl::ResourceExhaustedError("no device memory for parts of reductions");
    }
    absl::Status status;
    for (const Launch& one : layout.launches) {
      absl::StatusOr<const Loaded*> function = loaded(i, one.form);
      status = function.ok() ? run(**function, layout, one, symbols, address, reinterpret_cast<uint64_t>(scratch), sink)
                             : function.status();
      if (!status.ok()) break;
    }
    if (scratch) sink.release(scratch);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Launcher::run(const Loaded& loaded, const Layout& layout, const Launch& launch, const int64_t* symbols,
                           absl::FunctionRef<uint64_t(graph::BufferId)> address, uint64_t scratch,
                           LaunchSink& sink) const {
  absl::InlinedVector<int64_t, 32> numbers(loaded.program.resultCount());
  loaded.program.run(symbols, numbers.data());
  absl::InlinedVector<uint64_t, 32> values;
  size_t next = 0;
  for (const Parameter& p : loaded.source.parameters) {
    const int64_t number = p.sym.valid() ? numbers[next++] : 0;
    const auto step = static_cast<size_t>(p.step);
    int64_t value = 0;
    switch (p.kind) {
      case Parameter::Kind::kAddress: value = static_cast<int64_t>(address(p.buffer)) + number; break;
      case Parameter::Kind::kNumber: value = number; break;
      case Parameter::Kind::kDivisor: value = static_cast<int64_t>(kernels::cuda::divisorOf(number)); break;
      case Parameter::Kind::kTotal: value = layout.total; break;
      case Parameter::Kind::kLength: value = layout.lengths[step]; break;
      case Parameter::Kind::kParts: value = layout.parts[step]; break;
      case Parameter::Kind::kChunk: value = layout.chunks[step]; break;
      case Parameter::Kind::kTeam: value = launch.team; break;
      case Parameter::Kind::kHost:
        std::memcpy(&value, reinterpret_cast<const char*>(address(p.buffer)) + 8 * p.slot, sizeof value);
        break;
      case Parameter::Kind::kCut: value = cutNumber(layout.sums[step], static_cast<CutNumber>(p.slot)); break;
      case Parameter::Kind::kStage: value = stageNumber(layout.stage, static_cast<StageNumber>(p.slot)); break;
      case Parameter::Kind::kScratch:
        value = static_cast<int64_t>(scratch) + layout.scratch[step] + 8 * p.slot * layout.total * layout.parts[step];
        break;
    }
    values.push_back(static_cast<uint64_t>(value));
  }
  if (values.empty()) values.push_back(0);
  return sink.launch(
      *loaded.function,
      {launch.gridX, launch.gridY, launch.blockX, launch.blockY, static_cast<uint32_t>(launch.sharedBytes)},
      absl::MakeSpan(values));
}

}  // namespace fw::jit::cuda
