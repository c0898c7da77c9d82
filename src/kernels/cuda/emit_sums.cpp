// Lists are written into shared memory, and added up from there by the functions of the prelude: the threads that have
// computed the elements are others than those that add them. Columns have two buffers of some rows each: while the
// threads of the first row of the block add up the one, element after element, the next one is on its way.
#include "kernels/cuda/emit_sums.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/text.h"

namespace fw::kernels::cuda {

int64_t accumulatorBytes(const Kernel& kernel, const RowStep& step) {
  int64_t bytes = 0;
  for (const Accumulator& a : kernel.stmts[step.stmt.index].accumulators) bytes += graph::itemSize(a.dtype);
  return bytes;
}

int64_t chainBytes(const Kernel& kernel, const RowStep& step, int lanes) {
  return 2 * int64_t{kChainThreads} * lanes * accumulatorBytes(kernel, step);
}

std::string SumEmitter::type(const RowStep& step, size_t i) const {
  return std::string(registerType(stmt(step).accumulators[i].dtype));
}
std::string SumEmitter::name(const char* what, const RowStep& step, size_t i) const {
  return absl::StrCat(what, step.stmt.index, "_", i);
}
std::string SumEmitter::element(const RowStep& step, size_t i) const {
  return w_.value(w_.kernel().stmts[step.nest.innermost.index].accumulators[i].element);
}
std::string SumEmitter::group(const RowStep& step) const { return absl::StrCat("<", listGroup(*step.list), ">"); }
std::string SumEmitter::stage(StageNumber what) {
  return w_.field({.kind = Parameter::Kind::kStage, .slot = static_cast<int>(what)});
}
std::string SumEmitter::cut(int number, CutNumber what) {
  return w_.field({.kind = Parameter::Kind::kCut, .step = number, .slot = static_cast<int>(what)});
}
std::string SumEmitter::slots(int number, size_t i) {
  Parameter scratch{Parameter::Kind::kScratch, {}, {}, number, static_cast<int>(i)};
  return absl::StrCat(w_.field(scratch), " + i64(row) * ", w_.field({Parameter::Kind::kParts, {}, {}, number}), " * 8");
}

void SumEmitter::place() {
  int64_t bytes = 0;
  for (const RowStep& step : piece_.steps)
    if (step.list) bytes = std::max(bytes, accumulatorBytes(w_.kernel(), step));
  if (bytes == 0) return;
  w_.sharesBySize();
  w_.line("FW_SHARED_BY_SIZE(memory);");
  if (piece_.columns) return w_.line("char* const lists = memory;");
  w_.line(absl::StrCat("char* const lists = memory + threadIdx.x / team * (i32(", stage(StageNumber::kAll), ") * ",
                       bytes, ");"));
}

void SumEmitter::open(const RowStep& step) {
  // Lists of another layout lie where somebody may still be reading.
  if (last_ && !alike(*last_, step)) w_.line(piece_.columns ? "__syncthreads();" : "fw_sync(team);");
  last_ = &step;
  int64_t before = 0;
  for (size_t i = 0; i < count(step); ++i) {
    const std::string t = type(step, i), size = piece_.columns ? absl::StrCat(2 * kChainThreads * form_.lanes)
                                                               : absl::StrCat("i32(", stage(StageNumber::kAll), ")");
    const std::string list = name("list", step, i);
    w_.line(absl::StrCat(t, "* const ", list, " = reinterpret_cast<", t, "*>(lists + ", size, " * ", before, ");"));
    before += graph::itemSize(stmt(step).accumulators[i].dtype);
    if (piece_.columns) continue;
    w_.line(absl::StrCat(t, "* const ", name("part", step, i), " = ", list, " + ", stage(StageNumber::kParts), ";"));
  }
}

bool SumEmitter::alike(const RowStep& a, const RowStep& b) const {
  return std::equal(stmt(a).accumulators.begin(), stmt(a).accumulators.end(), stmt(b).accumulators.begin(),
                    stmt(b).accumulators.end(),
                    [](const Accumulator& x, const Accumulator& y) { return x.dtype == y.dtype; });
}

void SumEmitter::openPack(const RowStep& step) {
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat(type(step, i), " ", name("e", step, i), "[", form_.pack, "];"));
}
void SumEmitter::lane(const RowStep& step, const std::string& at) {
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat(form_.packed ? name("e", step, i) + "[l]" : absl::StrCat(name("list", step, i), "[", at, "]"),
                         " = ", element(step, i), ";"));
}
void SumEmitter::closePack(const RowStep& step, const std::string& at) {
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat("fw_put(", name("list", step, i), " + ", at, ", ", name("e", step, i), ");"));
}

/// What the thread of rank 0 knows, for all.
void SumEmitter::share(const RowStep& step) {
  const std::string totals = stage(StageNumber::kTotals);
  w_.open("if (rank == 0)");
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat(name("list", step, i), "[", totals, "] = ", Writer::result(step.stmt, i), ";"));
  w_.close();
  w_.line("fw_sync(team);");
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat(Writer::result(step.stmt, i), " = ", name("list", step, i), "[", totals, "];"));
}

void SumEmitter::whole(const RowStep& step, const std::string& length) {
  w_.line("fw_sync(team);");
  if (step.list->by == ListedSum::By::kElement) {
    w_.open("if (rank == 0)");
    for (size_t i = 0; i < count(step); ++i) {
      const std::string r = Writer::result(step.stmt, i);
      w_.line(absl::StrCat(r, " = fw_chain(", r, ", ", name("list", step, i), ", i32(", length, "));"));
    }
    w_.close();
    return share(step);
  }
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat("fw_leaves", group(step), "(", name("part", step, i), ", ", name("list", step, i), ", i32(",
                         length, "), rank, team);"));
  w_.line("fw_sync(team);");
  for (size_t i = 0; i < count(step); ++i) {
    const std::string r = Writer::result(step.stmt, i);
    w_.line(absl::StrCat("if (", length, " > 0) ", r, " = fw_plus(", r, ", fw_tree(", name("part", step, i),
                         ", 1 << fw_depth", group(step), "(", length, "), team));"));
  }
}

void SumEmitter::declareCut(int number) {
  std::string fields = w_.field({Parameter::Kind::kLength, {}, {}, number});
  for (CutNumber n : {CutNumber::kStretch, CutNumber::kPeriod, CutNumber::kPer, CutNumber::kStretches})
    absl::StrAppend(&fields, ", ", cut(number, n));
  for (CutNumber n : {CutNumber::kTogether, CutNumber::kDepth}) absl::StrAppend(&fields, ", i32(", cut(number, n), ")");
  w_.line(absl::StrCat("const fw_cut cut", number, " = {", fields, "};"));
}

void SumEmitter::openTiles(int number, const RowStep& step) {
  declareCut(number);
  const bool pairs = step.list->by != ListedSum::By::kElement, spread = form_.split() && pairs;
  if (pairs && !spread)
    for (size_t i = 0; i < count(step); ++i)
      w_.line(absl::StrCat("fw_spine<", type(step, i), "> ", name("spine", step, i), ";"));
  w_.open(absl::StrCat("for (i64 tile = ", spread ? "blockIdx.y" : "0", "; tile < ", cut(number, CutNumber::kTiles),
                       "; tile += ", spread ? "gridDim.y" : "1", ")"));
  w_.line(absl::StrCat("const fw_range range = fw_tile", group(step), "(cut", number, ", tile);"));
}

void SumEmitter::closeTiles(int number, const RowStep& step) {
  const bool pairs = step.list->by != ListedSum::By::kElement, spread = form_.split() && pairs;
  const std::string cut = absl::StrCat("cut", number);
  const auto each = [&](const auto& text) {
    for (size_t i = 0; i < count(step); ++i) w_.line(text(i, name("list", step, i), name("part", step, i)));
  };
  w_.line("fw_sync(team);");
  if (!pairs) {
    w_.open("if (rank == 0)");
    each([&](size_t i, const std::string& list, const std::string&) {
      const std::string r = Writer::result(step.stmt, i);
      return absl::StrCat(r, " = fw_chain(", r, ", ", list, ", range.count);");
    });
    w_.close();
    w_.line("fw_sync(team);");
    w_.close();
    share(step);
    return form_.split() ? keep(number, step) : void();
  }
  w_.open(absl::StrCat("if (", cut, ".together == 1)"));
  each([&](size_t, const std::string& list, const std::string& part) {
    return absl::StrCat("fw_leaves", group(step), "(", part, ", ", list, ", range.count, rank, team);");
  });
  w_.close();
  w_.open("else");
  each([&](size_t, const std::string& list, const std::string& part) {
    return absl::StrCat("fw_leaves", group(step), "(", part, ", ", list, ", ", cut, ", tile, rank, team);");
  });
  w_.close();
  w_.line("fw_sync(team);");
  each([&](size_t i, const std::string& list, const std::string& part) {
    if (spread)
      return absl::StrCat("if (active) fw_leave", group(step), "(", slots(number, i), ", ", part, ", ", cut,
                          ", tile, range.count, rank, team);");
    return absl::StrCat("fw_take", group(step), "(", Writer::result(step.stmt, i), ", ", name("spine", step, i), ", ",
                        part, ", ", list, " + ", stage(StageNumber::kTotals), ", ", cut,
                        ", tile, range.count, rank, team);");
  });
  w_.close();
  if (!spread) share(step);
}

void SumEmitter::gather(int number, const RowStep& step) {
  declareCut(number);
  for (size_t i = 0; i < count(step); ++i) {
    const std::string r = Writer::result(step.stmt, i);
    w_.line(absl::StrCat(r, " = fw_gather", group(step), "(", r, ", ", slots(number, i), ", ", name("list", step, i),
                         ", cut", number, ", rank, team);"));
  }
  keep(number, step);
}

/// The sum, behind the slots.
void SumEmitter::keep(int number, const RowStep& step) {
  w_.open("if (active && rank == 0)");
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat("*reinterpret_cast<", type(step, i), "*>(", slots(number, i), " + (",
                         w_.field({Parameter::Kind::kParts, {}, {}, number}),
                         " - 1) * 8) = ", Writer::result(step.stmt, i), ";"));
  w_.close();
}

void SumEmitter::recall(int number, const RowStep& step) {
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat(Writer::result(step.stmt, i), " = *reinterpret_cast<const ", type(step, i), "*>(",
                         slots(number, i), " + (", w_.field({Parameter::Kind::kParts, {}, {}, number}), " - 1) * 8);"));
}

void SumEmitter::chain(const RowStep& step, const std::string& rows) {
  w_.line("__syncthreads();");
  w_.open("if (rank == 0)");
  for (size_t i = 0; i < count(step); ++i) {
    const std::string r = Writer::result(step.stmt, i);
    w_.line(
        absl::StrCat(r, " = fw_chain_column(", r, ", ", name("list", step, i), " + flip + threadIdx.x, ", rows, ");"));
  }
  w_.close();
  w_.line(absl::StrCat("flip = ", kChainThreads * form_.lanes, " - flip;"));
}

void SumEmitter::endChain(int number, const RowStep& step) {
  w_.line("__syncthreads();");
  for (size_t i = 0; i < count(step); ++i) {
    const std::string r = Writer::result(step.stmt, i), list = name("list", step, i);
    w_.line(absl::StrCat("if (rank == 0) ", list, "[threadIdx.x] = ", r, ";"));
  }
  w_.line("__syncthreads();");
  for (size_t i = 0; i < count(step); ++i)
    w_.line(absl::StrCat(Writer::result(step.stmt, i), " = ", name("list", step, i), "[threadIdx.x];"));
  w_.line("__syncthreads();");
  if (form_.split()) keep(number, step);
}

}  // namespace fw::kernels::cuda
