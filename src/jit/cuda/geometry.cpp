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
// Of lists: a block that adds columns keeps 64 bytes of each thread, tiles have 32 KB and room for halves that are
// longer than those of a power of two, and eight threads add a part.
constexpr int64_t kChainBytes = 64, kTileBytes = (32 << 10) + 256, kLeastTeam = 8;
constexpr int64_t kListTeam = 256, kMostParts = 32 << 10;
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
  for (const RowStep& step : piece.steps) {
    axes(step.nest, steps_.emplace_back());
    List& list = lists_.emplace_back();
    if (!step.list) continue;
    for (graph::SymId size : step.list->sizes) list.sizes.push_back(need(size));
    for (graph::SymId stride : step.list->strides) list.strides.push_back(need(stride));
    listedBytes_ = std::max(listedBytes_, kernels::cuda::accumulatorBytes(kernel, step));
  }
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
      if (e.op == kernels::ScalarOp::kLoadAt) addReach(kernel_.accesses[e.access], e.dtype, nullptr);
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
                        const runtime::cuda::DeviceFacts& device) const {
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
  layout.sums.assign(steps_.size(), {});
  if (layout.total == 0) return layout;
  const bool wide = largest > kMaxIndex || needsWide(values.data());
  if (piece_.kind == Piece::Kind::kMap)
    layOutMap(layout, values.data(), address, wide);
  else
    layOutRows(layout, values.data(), address, device, wide);
  return layout;
}

graph::ReductionChunk Geometry::chunkOf(size_t step, const int64_t* values) const {
  absl::InlinedVector<int64_t, 4> sizes, strides;
  for (size_t size : lists_[step].sizes) sizes.push_back(values[size]);
  for (size_t stride : lists_[step].strides) strides.push_back(values[stride]);
  return graph::chunkOfAxes(sizes, strides, piece_.steps[step].list->casting);
}

void Geometry::layOutSums(Layout& layout, const int64_t* values, int64_t tile) const {
  layout.stage = layOutStage(tile);
  for (size_t i = 0; i < steps_.size(); ++i)
    if (const kernels::ListedSum* list = piece_.steps[i].list)
      layout.sums[i] = layOutSum(*list, chunkOf(i, values), layout.lengths[i], tile);
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

/// Whether a row of at most `most` elements may be done in one round: its lists have one stretch, and fit where blocks
/// share memory.
bool Geometry::fitsOneRound(const Layout& layout, const int64_t* values, int64_t most,
                            const runtime::cuda::DeviceFacts& device) const {
  int64_t longest = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    longest = std::max(longest, layout.lengths[i]);
    const kernels::ListedSum* list = piece_.steps[i].list;
    if (!list) continue;
    if (list->by != kernels::ListedSum::By::kElement && chunkOf(i, values).length < layout.lengths[i]) return false;
  }
  return longest <= most && layOutStage(longest).all * listedBytes_ <= device.sharedBytes;
}

void Geometry::layOutColumns(Layout& layout, Launch launch, const runtime::cuda::DeviceFacts& device) const {
  const int64_t length = *std::max_element(layout.lengths.begin(), layout.lengths.end());
  const int64_t width = std::min(kColumns, ceilPower(layout.total));
  const int64_t most = std::max<int64_t>(kernels::cuda::columnThreads(kernel_, piece_) / width, 1);
  launch.team = std::clamp<int64_t>(ceilPower(ceilDiv(length, kRoundLanes)), 1, most);
  if (listedBytes_ > 0) {
    // As much as is needed on the way is read at once, while others add.
    launch.team = std::min(most, kernels::cuda::kChainThreads / width);
    launch.form.threads = kernels::cuda::kChainThreads;
    launch.form.lanes = static_cast<int>(std::max<int64_t>(kChainBytes / listedBytes_, 1));
    for (const RowStep& step : piece_.steps)
      if (step.list)
        launch.sharedBytes = std::max(launch.sharedBytes, kernels::cuda::chainBytes(kernel_, step, launch.form.lanes));
  }
  launch.blockX = static_cast<uint32_t>(width);
  launch.blockY = static_cast<uint32_t>(launch.team);
  const int64_t blocks = ceilDiv(layout.total, width);
  launch.gridX = static_cast<uint32_t>(blocks);
  // Rows that are added one after the other are not spread.
  const bool spreads = std::any_of(piece_.steps.begin(), piece_.steps.end(), [](const RowStep& step) {
    return step.kind != RowStep::Kind::kSingle && !step.list;
  });
  const int64_t perPart = launch.team * kRoundLanes * 2;
  if (spreads && blocks < 2 * int64_t{device.multiprocessors} && length >= 2 * perPart)
    return split(layout, blocks, perPart, device, launch);
  layout.launches.push_back(launch);
}

void Geometry::layOutRows(Layout& layout, const int64_t* values, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                          const runtime::cuda::DeviceFacts& device, bool wide) const {
  const int64_t length = *std::max_element(layout.lengths.begin(), layout.lengths.end());
  Launch launch;
  launch.form.wide = wide;
  launch.form.lanes = static_cast<int>(kRoundLanes);
  if (piece_.columns) return layOutColumns(layout, launch, device);
  const bool lists = listedBytes_ > 0;
  launch.form.packed = packs(values, address);
  if (launch.form.packed) launch.form.pack = packLanes_;
  const int64_t few = launch.form.packed ? kRowPacks * packLanes_ : kRowLanes;
  const int64_t many = launch.form.packed ? std::min(2 * few, kMostLanes) : few;
  const int64_t listTeam = launch.form.packed ? kListTeam : kSplitTeam;
  // What is read once gains nothing from a block that waits for a whole row.
  const int64_t most = lists && steps_.size() == 1 ? listTeam * many : kBlock * many;
  launch.form.whole = lists ? fitsOneRound(layout, values, most, device) : length <= most;
  const int64_t round = lists ? many : launch.form.packed ? few : kRoundLanes;
  const int64_t lanes = !launch.form.whole ? round : length <= kSmallBlock * few ? few : many;
  launch.form.lanes = static_cast<int>(lanes);
  int64_t least = launch.form.packed ? 1 : std::min<int64_t>(32, ceilPower(length));
  if (lists) least = std::max<int64_t>(least, launch.form.whole ? kLeastTeam : 32);
  const int64_t fits = std::max(least, ceilPower(ceilDiv(length, lanes)));
  launch.team = launch.form.whole ? fits : lists ? std::min(fits, listTeam) : kBlock;
  int64_t rowsPerBlock = std::max<int64_t>(1, launch.team <= 32 ? kSmallBlock / launch.team : 1);
  launch.blockX = static_cast<uint32_t>(std::max(launch.team * rowsPerBlock, int64_t{32}));
  if (launch.team * rowsPerBlock < 32) rowsPerBlock = 32 / launch.team;
  if ((launch.form.whole || lists) && launch.team <= kMediumBlock) launch.form.threads = static_cast<int>(kMediumBlock);
  const int64_t tile = lists ? std::max(kTileBytes / listedBytes_, kSplitTeam) : 0;
  if (lists) {
    layOutSums(layout, values, launch.form.whole ? length : std::min(length, tile));
    launch.sharedBytes = rowsPerBlock * listBytes(layout);
  }
  const int64_t blocks = ceilDiv(layout.total, rowsPerBlock);
  launch.gridX = static_cast<uint32_t>(blocks);
  const int64_t perPart = kSplitTeam * kRoundLanes * 2;
  const bool isFew = blocks < 2 * int64_t{device.multiprocessors};
  if (isFew && length >= (lists ? 4 : 2) * perPart) {
    launch.team = lists ? listTeam : kSplitTeam;
    if (lists) layOutSums(layout, values, tile);
    return split(layout, blocks, perPart, device, launch);
  }
  layout.launches.push_back(launch);
}

/// One launch for every step that iterates, one more for each list, and one for what stands between.
void Geometry::split(Layout& layout, int64_t blocks, int64_t perPart, const runtime::cuda::DeviceFacts& device,
                     Launch launch) const {
  launch.form.whole = false;
  launch.form.threads = static_cast<int>(listedBytes_ > 0 ? kMediumBlock : kBlock);
  if (!launch.form.packed && listedBytes_ == 0) launch.form.lanes = static_cast<int>(kRoundLanes);
  if (!piece_.columns) {
    launch.blockX = static_cast<uint32_t>(launch.team);
    launch.gridX = static_cast<uint32_t>(layout.total);
    launch.sharedBytes = listBytes(layout);
  }
  const int64_t wanted = ceilDiv(8 * int64_t{device.multiprocessors}, blocks);
  const auto singles = [&](size_t& i) {
    while (i + 1 < piece_.steps.size() && piece_.steps[i + 1].kind == RowStep::Kind::kSingle) ++i;
  };
  for (size_t i = 0; i < piece_.steps.size(); ++i) {
    const RowStep& step = piece_.steps[i];
    const size_t number = i;
    const bool tiles = step.list && step.list->by != kernels::ListedSum::By::kElement;
    Launch one = launch;
    one.form.from = static_cast<int>(i);
    if (step.kind == RowStep::Kind::kSingle) {
      singles(i);
    } else if (tiles) {
      one.gridY = static_cast<uint32_t>(std::clamp<int64_t>(layout.sums[i].tiles, 1, kMostParts));
      layout.parts[i] = layout.sums[i].slots + 1;
    } else if (!step.list) {
      layout.parts[i] = std::clamp<int64_t>(ceilDiv(layout.lengths[i], perPart), 1, wanted);
      layout.chunks[i] = ceilDiv(ceilDiv(layout.lengths[i], layout.parts[i]), one.form.pack) * one.form.pack;
      one.gridY = static_cast<uint32_t>(layout.parts[i]);
    }
    one.form.to = static_cast<int>(i) + 1;
    layout.launches.push_back(one);
    if (step.kind != RowStep::Kind::kReduce) continue;
    const auto count = static_cast<int64_t>(kernel_.stmts[step.stmt.index].accumulators.size());
    layout.scratch[number] = layout.scratchBytes;
    layout.scratchBytes += 8 * count * layout.total * layout.parts[number];
    if (!tiles) continue;
    singles(i);
    one.gridY = 1;
    one.form.gathers = true;
    one.team = kSplitTeam;
    one.blockX = static_cast<uint32_t>(kSplitTeam);
    one.form.to = static_cast<int>(i) + 1;
    layout.launches.push_back(one);
  }
}

}  // namespace fw::jit::cuda
