// The numbers were measured: a tile of 2 to 4 KB per block, 64 or 128 bytes of a row per thread, so that blocks have
// 512 threads where they can, parts of rows where there are too few rows to fill the device.
#include "jit/cuda/geometry.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "absl/container/inlined_vector.h"

namespace fw::jit::cuda {

using kernels::cuda::Form;
using kernels::cuda::Piece;
using kernels::cuda::RowStep;

namespace {

constexpr int kPackBytes = 16;
constexpr int64_t kSmallTile = 16;  // shorter axes leave most of a tile idle
constexpr int64_t kMapThreads = 256, kMapLanes = 4;
constexpr int64_t kRowLanes = 16, kRoundLanes = 4, kRowPacks = 4, kMostLanes = 32;
constexpr int64_t kBlock = 1024, kMediumBlock = 512, kSmallBlock = 128, kSplitTeam = 512, kColumns = 32;
constexpr int64_t kMaxIndex = INT32_MAX - (int64_t{1} << 20);  // room for the last block's threads

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t ceilPower(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

}  // namespace

Geometry::Geometry(const kernels::Kernel& kernel, const graph::SymContext& syms, const Piece& piece)
    : kernel_(kernel),
      syms_(syms),
      piece_(piece) {
  const auto axes = [&](const kernels::cuda::Nest& nest, std::vector<size_t>& into) {
    for (const auto& axis : nest.axes) {
      into.push_back(need(axis.size));
      sizes_[axis.id] = into.back();
    }
  };
  axes(piece.nest, outer_);
  for (const RowStep& step : piece.steps) axes(step.nest, steps_.emplace_back());
  walk(piece.nest.levels.empty() ? piece.items : piece.nest.levels[0]->items,
       piece.kind == Piece::Kind::kMap ? &piece.nest : nullptr);
  int widest = 0;
  for (const Reach& reach : reaches_) widest = std::max(widest, reach.bytes);
  if (widest > 0) packLanes_ = kPackBytes / widest;
  if (piece.kind == Piece::Kind::kMap && !single_) tileAxis_ = kernels::cuda::tileAxis(kernel, syms, piece);
  program_ = runtime::SymProgram(syms, needed_);
}

size_t Geometry::need(graph::SymId id) {
  const auto [place, added] = places_.try_emplace(id, needed_.size());
  if (added) needed_.push_back(id);
  return place->second;
}

void Geometry::walk(const std::vector<kernels::Item>& items, const kernels::cuda::Nest* packed) {
  for (const kernels::Item& item : items) {
    if (item.expr.valid()) {
      const kernels::Expr& e = kernel_.exprs[item.expr.index];
      if (e.op == kernels::ScalarOp::kLoad) addReach(kernel_.accesses[e.access], e.dtype, packed);
      continue;
    }
    const kernels::Stmt& s = kernel_.stmts[item.stmt.index];
    if (s.kind == kernels::StmtKind::kStore)
      addReach(kernel_.accesses[s.access], kernel_.exprs[s.value.index].dtype, packed);
    single_ |= s.axis.valid() && !sizes_.contains(s.axis);
    const auto step = std::find_if(piece_.steps.begin(), piece_.steps.end(),
                                   [&](const RowStep& one) { return one.stmt == item.stmt && !one.nest.axes.empty(); });
    walk(s.body.items, step == piece_.steps.end() ? packed : &step->nest);
  }
}

void Geometry::addReach(const kernels::Access& access, graph::DType dtype, const kernels::cuda::Nest* packed) {
  Reach reach{access.buffer, need(access.offset), {}, -1, 0};
  for (const kernels::Access::Term& t : access.terms) {
    const auto size = sizes_.find(t.axis);
    unknownSizes_ |= size == sizes_.end();
    if (packed && !packed->axes.empty() && t.axis == packed->axes.back().id)
      reach.innermost = static_cast<int>(reach.terms.size());
    reach.terms.push_back({size == sizes_.end() ? -1 : static_cast<int>(size->second), need(t.stride)});
  }
  reach.bytes = packed ? kernels::cuda::packedBytes(syms_, *packed, access, dtype, 1) : 0;
  reaches_.push_back(std::move(reach));
}

bool Geometry::needsWide(const int64_t* values) const {
  if (unknownSizes_) return true;
  return std::any_of(reaches_.begin(), reaches_.end(), [&](const Reach& reach) {
    int64_t distance = 0;
    for (const auto& [size, stride] : reach.terms)
      distance += std::max<int64_t>(values[size] - 1, 0) * std::abs(values[stride]);
    return distance > kMaxIndex;
  });
}

bool Geometry::packs(const int64_t* values, absl::FunctionRef<uint64_t(graph::BufferId)> address) const {
  if (packLanes_ < 2 || single_) return false;
  const auto isOdd = [&](const std::vector<size_t>& axes) {
    return !axes.empty() && values[axes.back()] % packLanes_ != 0;
  };
  const bool rows = piece_.kind == Piece::Kind::kRows;  // else only the last pack of all may be cut
  if (rows ? std::any_of(steps_.begin(), steps_.end(), isOdd) : outer_.size() > 1 && isOdd(outer_)) return false;
  return std::all_of(reaches_.begin(), reaches_.end(), [&](const Reach& reach) {
    if (reach.bytes == 0) return true;
    const int64_t pack = int64_t{reach.bytes} * packLanes_;
    if ((address(reach.buffer) + static_cast<uint64_t>(values[reach.offset])) % static_cast<uint64_t>(pack) != 0)
      return false;
    for (size_t i = 0; i < reach.terms.size(); ++i)
      if (static_cast<int>(i) != reach.innermost && values[reach.terms[i].second] % pack != 0) return false;
    return true;
  });
}

Layout Geometry::layOut(const int64_t* symbols, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                        int multiprocessors) const {
  absl::InlinedVector<int64_t, 32> values(needed_.size());
  program_.run(symbols, values.data());
  Layout layout;
  layout.total = 1;
  for (size_t size : outer_) layout.total *= std::max<int64_t>(values[size], 0);
  int64_t largest = layout.total;
  for (const std::vector<size_t>& step : steps_) {
    int64_t length = 1;
    for (size_t size : step) length *= std::max<int64_t>(values[size], 0);
    layout.lengths.push_back(length);
    largest = std::max(largest, length);
  }
  layout.parts.assign(steps_.size(), 1);
  layout.chunks = layout.lengths;
  layout.scratch.assign(steps_.size(), 0);
  if (layout.total == 0) return layout;
  const bool wide = largest > kMaxIndex || needsWide(values.data());
  if (piece_.kind == Piece::Kind::kMap)
    layOutMap(layout, values.data(), address, wide);
  else
    layOutRows(layout, values.data(), address, multiprocessors, wide);
  return layout;
}

void Geometry::layOutMap(Layout& layout, const int64_t* values, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                         bool wide) const {
  Launch launch;
  launch.form.wide = wide;
  const int64_t last = outer_.empty() ? 0 : values[outer_.back()];
  const int64_t line = tileAxis_ < 0 ? 0 : values[outer_[static_cast<size_t>(tileAxis_)]];
  if (std::min(last, line) >= kSmallTile) {
    launch.form.tile = tileAxis_;
    launch.form.lanes = kernels::cuda::kTile / kernels::cuda::kTileThreads;
    launch.blockX = kernels::cuda::kTile;
    launch.blockY = kernels::cuda::kTileThreads;
    const int64_t tiles = ceilDiv(last, kernels::cuda::kTile) * ceilDiv(line, kernels::cuda::kTile);
    launch.gridX = static_cast<uint32_t>(tiles * (layout.total / (last * line)));
  } else if (!outer_.empty()) {
    launch.form.packed = packs(values, address);
    launch.form.lanes = launch.form.packed ? packLanes_ : single_ ? 1 : static_cast<int>(kMapLanes);
    launch.blockX = static_cast<uint32_t>(kMapThreads);
    launch.gridX = static_cast<uint32_t>(ceilDiv(layout.total, kMapThreads * launch.form.lanes));
  }
  layout.launches.push_back(launch);
}

void Geometry::layOutRows(Layout& layout, const int64_t* values, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                          int multiprocessors, bool wide) const {
  const int64_t length = *std::max_element(layout.lengths.begin(), layout.lengths.end());
  Launch launch;
  launch.form.wide = wide;
  launch.form.lanes = static_cast<int>(kRoundLanes);
  int64_t rowsPerBlock = 1;
  if (piece_.columns) {
    const int64_t width = std::min(kColumns, ceilPower(layout.total));
    launch.team = std::clamp<int64_t>(ceilPower(ceilDiv(length, kRoundLanes)), 1,
                                      std::max<int64_t>(kernels::cuda::columnThreads(kernel_, piece_) / width, 1));
    launch.blockX = static_cast<uint32_t>(width);
    launch.blockY = static_cast<uint32_t>(launch.team);
    rowsPerBlock = width;
  } else {
    launch.form.packed = packs(values, address);
    if (launch.form.packed) launch.form.pack = packLanes_;
    const int64_t few = launch.form.packed ? kRowPacks * packLanes_ : kRowLanes;
    const int64_t many = launch.form.packed ? std::min(2 * few, kMostLanes) : few;
    launch.form.whole = length <= kBlock * many;
    const int64_t round = launch.form.packed ? few : kRoundLanes;
    const int64_t lanes = !launch.form.whole ? round : length <= kSmallBlock * few ? few : many;
    launch.form.lanes = static_cast<int>(lanes);
    const int64_t least = launch.form.packed ? 1 : std::min<int64_t>(32, ceilPower(length));
    launch.team = launch.form.whole ? std::max(least, ceilPower(ceilDiv(length, lanes))) : kBlock;
    rowsPerBlock = std::max<int64_t>(1, launch.team <= 32 ? kSmallBlock / launch.team : 1);
    launch.blockX = static_cast<uint32_t>(std::max(launch.team * rowsPerBlock, int64_t{32}));
    if (launch.team * rowsPerBlock < 32) rowsPerBlock = 32 / launch.team;
    if (launch.form.whole && launch.team <= kMediumBlock) launch.form.threads = static_cast<int>(kMediumBlock);
  }
  const int64_t blocks = ceilDiv(layout.total, rowsPerBlock);
  launch.gridX = static_cast<uint32_t>(blocks);
  const int64_t perPart = piece_.columns ? launch.team * kRoundLanes * 2 : kSplitTeam * kRoundLanes * 2;
  const bool few = blocks < 2 * int64_t{multiprocessors};
  if (few && length >= 2 * perPart) return split(layout, blocks, perPart, multiprocessors, launch);
  layout.launches.push_back(launch);
}

/// One launch for every step that iterates, and one for what stands between.
void Geometry::split(Layout& layout, int64_t blocks, int64_t perPart, int multiprocessors, Launch launch) const {
  launch.form.whole = false;
  launch.form.threads = static_cast<int>(kBlock);
  if (!launch.form.packed) launch.form.lanes = static_cast<int>(kRoundLanes);
  if (!piece_.columns) {
    launch.team = kSplitTeam;
    launch.blockX = static_cast<uint32_t>(kSplitTeam);
    launch.gridX = static_cast<uint32_t>(layout.total);
  }
  const int64_t wanted = ceilDiv(8 * int64_t{multiprocessors}, blocks);
  for (size_t i = 0; i < piece_.steps.size(); ++i) {
    const RowStep& step = piece_.steps[i];
    Launch one = launch;
    one.form.from = static_cast<int>(i);
    if (step.kind == RowStep::Kind::kSingle) {
      while (i + 1 < piece_.steps.size() && piece_.steps[i + 1].kind == RowStep::Kind::kSingle) ++i;
    } else {
      layout.parts[i] = std::clamp<int64_t>(ceilDiv(layout.lengths[i], perPart), 1, wanted);
      layout.chunks[i] = ceilDiv(ceilDiv(layout.lengths[i], layout.parts[i]), one.form.pack) * one.form.pack;
      one.gridY = static_cast<uint32_t>(layout.parts[i]);
    }
    one.form.to = static_cast<int>(i) + 1;
    layout.launches.push_back(one);
    if (step.kind != RowStep::Kind::kReduce) continue;
    const auto count = static_cast<int64_t>(kernel_.stmts[step.stmt.index].accumulators.size());
    layout.scratch[i] = layout.scratchBytes;
    layout.scratchBytes += 8 * count * layout.total * layout.parts[i];
  }
}

}  // namespace fw::jit::cuda
