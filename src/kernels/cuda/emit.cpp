// Maps: a thread does `lanes` iterations at once. It reads for all of them first, so that the reads are in flight
// together, then computes and stores. In a packed map they are neighbours along the last axis and move by accesses of
// up to 16 bytes; else they lie a block apart.
//
// Rows are in emit_rows.cpp.
#include "kernels/cuda/emit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/emit_rows.h"
#include "kernels/cuda/emit_tiles.h"
#include "kernels/cuda/text.h"
#include "kernels/cuda/writer.h"

namespace fw::kernels::cuda {
namespace {

class MapEmitter {
 public:
  MapEmitter(Writer& w, const Piece& piece, const Form& form) : w_(w), piece_(piece), form_(form) {}

  void run() {
    const std::string index = w_.index();
    if (!piece_.root)
      for (ExprId id : rootExpressions(w_.kernel())) w_.expression(id);
    if (piece_.nest.axes.empty()) return w_.block(piece_.items);
    const std::string total = absl::StrCat(index, "(", w_.field({Parameter::Kind::kTotal}), ")");
    w_.line(absl::StrCat("const ", index, " n = ", total, ";"));
    const std::string first = absl::StrCat(index, "(blockIdx.x) * (blockDim.x * ", form_.lanes, ") + threadIdx.x");
    if (form_.packed) {
      w_.line(absl::StrCat("const ", index, " first = (", index, "(blockIdx.x) * blockDim.x + threadIdx.x) * ",
                           form_.lanes, ";"));
      w_.line("if (first >= n) return;");
      w_.line(absl::StrCat("const bool full = first + ", form_.lanes, " <= n;"));
      packed();
    } else {
      w_.line(absl::StrCat("const ", index, " first = ", first, ";"));
      apart();
    }
  }

 private:
  const Kernel& kernel() const { return w_.kernel(); }
  const Expr& expr(ExprId id) const { return kernel().exprs[id.index]; }

  /// Loads that stand between and in the loops, not in loops of the body.
  std::vector<ExprId> loads() const {
    std::vector<ExprId> result;
    for (const Item& item : iterationOf(piece_.nest))
      if (item.expr.valid() && expr(item.expr).op == ScalarOp::kLoad) result.push_back(item.expr);
    return result;
  }

  bool isPacked(uint32_t access, DType d) const {
    return packedBytes(w_.syms(), piece_.nest, kernel().accesses[access], d, form_.lanes) > 0;
  }

  bool runsAlong(uint32_t access) const {
    const auto& terms = kernel().accesses[access].terms;
    return std::any_of(terms.begin(), terms.end(),
                       [&](const Access::Term& t) { return t.axis == piece_.nest.axes.back().id; });
  }

  static std::string array(const char* what, uint32_t index) { return absl::StrCat(what, index); }
  void declare(DType d, const std::string& name) {
    w_.line(absl::StrCat(std::string(memoryType(d)), " ", name, "[", form_.lanes, "];"));
  }
  static std::string element(DType d, const std::string& name) {
    return name + (d == DType::kBool ? "[l] != 0" : "[l]");
  }

  void body() { w_.block(iterationOf(piece_.nest)); }

  void apart() {
    const auto lane = [&] {
      w_.unrolled(form_.lanes);
      w_.line(absl::StrCat("const ", w_.index(), " i = first + l * ", w_.index(), "(blockDim.x);"));
      w_.open("if (i < n)");
      w_.decode(piece_.nest, "i");
    };
    const auto end = [&] {
      w_.close();
      w_.close();
    };
    std::vector<ExprId> early;
    if (form_.lanes > 1) early = loads();
    for (ExprId id : early) declare(expr(id).dtype, array("a", id.index));
    if (!early.empty()) {
      lane();
      for (ExprId id : early) {
        const std::string name = array("a", id.index);
        w_.line(absl::StrCat(name, "[l] = *reinterpret_cast<const ", std::string(memoryType(expr(id).dtype)), "*>(",
                             w_.address(expr(id).access), ");"));
        w_.preload(id, element(expr(id).dtype, name));
      }
      end();
    }
    lane();
    body();
    end();
  }

  /// The lane's place along the last axis, in a block of its own.
  void openLane() {
    w_.unrolled(form_.lanes);
    w_.open("if (first + l < n)");
    const std::string last = absl::StrCat("x", piece_.nest.axes.back().id.index);
    w_.line(absl::StrCat("const ", w_.index(), " ", last, " = ", last, "_0 + l;"));
  }
  void closeLane() {
    w_.close();
    w_.close();
  }

  void packed() {
    // Lane 0 gives the axes their values; the last one gets its own in every lane.
    const uint32_t axis = piece_.nest.axes.back().id.index;
    const std::string last = absl::StrCat("x", axis);
    w_.decode(piece_.nest, "first");
    w_.line(absl::StrCat("const ", w_.index(), " ", last, "_0 = ", last, ";"));
    for (ExprId id : loads()) {
      const Expr& e = expr(id);
      const std::string name = array("a", id.index), type(memoryType(e.dtype));
      if (!runsAlong(e.access)) {  // the same for all lanes
        w_.line(absl::StrCat("const ", type, " ", name, " = *reinterpret_cast<const ", type, "*>(",
                             w_.address(e.access), ");"));
        w_.preload(id, name + (e.dtype == DType::kBool ? " != 0" : ""));
        continue;
      }
      declare(e.dtype, name);
      const std::string each =
          absl::StrCat(name, "[l] = *reinterpret_cast<const ", type, "*>(", w_.address(e.access), ");");
      const bool pack = isPacked(e.access, e.dtype);
      if (pack) {
        w_.open("if (full)");
        w_.line(absl::StrCat("fw_load(", name, ", ", w_.address(e.access), ");"));
        w_.close();
        w_.open("else");
      }
      openLane();
      w_.line(each);
      closeLane();
      if (pack) w_.close();
      w_.preload(id, element(e.dtype, name));
    }
    std::vector<StmtId> stores;
    for (const Item& item : piece_.items) {
      if (!item.stmt.valid()) continue;
      const Stmt& s = kernel().stmts[item.stmt.index];
      if (s.kind != StmtKind::kStore || !isPacked(s.access, expr(s.value).dtype)) continue;
      stores.push_back(item.stmt);
      declare(expr(s.value).dtype, array("o", item.stmt.index));
      w_.divert(item.stmt, array("o", item.stmt.index) + "[l]");
    }
    openLane();
    body();
    closeLane();
    for (StmtId id : stores) {
      const Stmt& s = kernel().stmts[id.index];
      const std::string name = array("o", id.index);
      w_.open("if (full)");
      w_.line(absl::StrCat("fw_store(", w_.address(s.access), ", ", name, ");"));
      w_.close();
      w_.open("else");
      openLane();
      w_.storeTo(expr(s.value).dtype, w_.address(s.access), name + "[l]");
      closeLane();
      w_.close();
    }
  }

  Writer& w_;
  const Piece& piece_;
  const Form& form_;
};

}  // namespace

int packedBytes(const graph::SymContext& syms, const Nest& nest, const Access& access, DType dtype, int lanes) {
  if (nest.axes.empty()) return 0;
  for (const Access::Term& t : access.terms)
    if (t.axis == nest.axes.back().id)
      return syms.isConst(t.stride, graph::itemSize(dtype)) ? graph::itemSize(dtype) * lanes : 0;
  return 0;
}

absl::StatusOr<Source> emit(const Kernel& kernel, const graph::SymContext& syms, const Piece& piece, const Form& form) {
  Writer writer(kernel, syms, form.wide);
  if (piece.kind == Piece::Kind::kRows) {
    emitRows(writer, piece, form);
    return std::move(writer).finish(absl::StrCat("__launch_bounds__(", form.threads, ")"));
  }
  if (form.tile >= 0)
    emitTiles(writer, piece, form);
  else
    MapEmitter(writer, piece, form).run();
  return std::move(writer).finish("__launch_bounds__(256)");
}

size_t accumulatorWords(const Kernel& kernel, const Piece& piece) {
  size_t words = 1;
  for (const RowStep& step : piece.steps)
    if (step.kind == RowStep::Kind::kReduce) words = std::max(words, kernel.stmts[step.stmt.index].accumulators.size());
  return words;
}

int columnThreads(const Kernel& kernel, const Piece& piece) {
  constexpr size_t kSharedWords = (48 << 10) / 8;
  int threads = 512;
  while (threads > 32 && static_cast<size_t>(threads) * accumulatorWords(kernel, piece) > kSharedWords) threads /= 2;
  return threads;
}

uint64_t divisorOf(int64_t divisor) {
  if (divisor <= 1) return 0;
  int shift = 0;  // the least with 2^(shift + 1) >= divisor: then the factor fits 32 bits
  while ((int64_t{2} << shift) < divisor) ++shift;
  const auto power = static_cast<unsigned __int128>(1) << (32 + shift);
  const auto d = static_cast<unsigned __int128>(divisor);
  return static_cast<uint64_t>((power + d - 1) / d) | static_cast<uint64_t>(shift) << 32;
}

}  // namespace fw::kernels::cuda
