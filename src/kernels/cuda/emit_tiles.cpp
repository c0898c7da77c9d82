// Maps that read along one axis and store along another. A block does a square tile of both: what lies along the other
// axis is read in that order into shared memory, whose rows are one element longer, so that reading it back by columns
// meets every bank once.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/emit_tiles.h"
#include "kernels/cuda/text.h"

namespace fw::kernels::cuda {
namespace {

/// Static shared memory of a block is limited to 48 KB.
constexpr int kSharedBytes = 40 << 10;

class TileEmitter {
 public:
  TileEmitter(Writer& w, const Piece& piece, const Form& form)
      : w_(w),
        nest_(piece.nest),
        lane_(piece.nest.axes.back()),
        line_(piece.nest.axes[static_cast<size_t>(form.tile)]),
        form_(form) {}

  void run() {
    for (ExprId id : rootExpressions(w_.kernel())) w_.expression(id);
    place();
    const std::vector<Item> items = iterationOf(nest_);
    std::vector<ExprId> direct, crossed;
    int shared = 0;
    for (const Item& item : items) {
      if (!item.expr.valid() || expr(item.expr).op != ScalarOp::kLoad) continue;
      const int bytes = kTile * (kTile + 1) * graph::itemSize(expr(item.expr).dtype);
      const bool crosses = isCrossed(item.expr) && shared + bytes <= kSharedBytes;
      if (crosses) shared += bytes;
      (crosses ? crossed : direct).push_back(item.expr);
    }
    for (ExprId id : crossed) w_.line(absl::StrCat("__shared__ ", type(id), " t", id.index, "[32][33];"));
    for (ExprId id : direct) w_.line(absl::StrCat(type(id), " a", id.index, "[", form_.lanes, "];"));
    openLane(line_, lane_);
    for (ExprId id : crossed) read(id, absl::StrCat("t", id.index, "[threadIdx.y + 8 * l][threadIdx.x]"));
    closeLane();
    if (!direct.empty()) {
      openLane(lane_, line_);
      for (ExprId id : direct) read(id, absl::StrCat("a", id.index, "[l]"));
      closeLane();
    }
    w_.line("__syncthreads();");
    for (ExprId id : crossed) keep(id, absl::StrCat("t", id.index, "[threadIdx.x][threadIdx.y + 8 * l]"));
    for (ExprId id : direct) keep(id, absl::StrCat("a", id.index, "[l]"));
    openLane(lane_, line_);
    w_.block(items);
    closeLane();
  }

 private:
  const Expr& expr(ExprId id) const { return w_.kernel().exprs[id.index]; }
  std::string type(ExprId id) const { return std::string(memoryType(expr(id).dtype)); }
  std::string size(const Nest::Axis& axis) { return absl::StrCat(w_.index(), "(", w_.number(axis.size), ")"); }
  static std::string first(const Nest::Axis& axis) { return absl::StrCat("first", axis.id.index); }

  bool isCrossed(ExprId id) const {
    const Access& access = w_.kernel().accesses[expr(id).access];
    return std::any_of(access.terms.begin(), access.terms.end(), [&](const Access::Term& t) {
      return t.axis == line_.id && w_.syms().isConst(t.stride, graph::itemSize(expr(id).dtype));
    });
  }

  /// Which tile the block does; the other axes have one value in it.
  void place() {
    const std::string index = w_.index();
    std::string rest = absl::StrCat(index, "(blockIdx.x)");
    int number = 0;
    for (const Nest::Axis* axis : {&lane_, &line_}) {
      const std::string tiles = absl::StrCat("tiles", axis->id.index), next = absl::StrCat("rest", number++);
      w_.line(absl::StrCat("const ", index, " ", tiles, " = (", size(*axis), " + 31) / 32, ", next, " = ", rest, " / ",
                           tiles, ";"));
      w_.line(absl::StrCat("const ", index, " ", first(*axis), " = (", rest, " - ", next, " * ", tiles, ") * 32;"));
      rest = next;
    }
    for (size_t i = nest_.axes.size(); i-- > 0;) {
      const Nest::Axis& axis = nest_.axes[i];
      if (axis.id == lane_.id || axis.id == line_.id) continue;
      const std::string next = absl::StrCat("rest", number++);
      w_.line(absl::StrCat("const ", index, " ", next, " = ", rest, " / ", size(axis), ";"));
      w_.line(absl::StrCat("const ", index, " x", axis.id.index, " = ", rest, " - ", next, " * ", size(axis), ";"));
      rest = next;
    }
  }

  /// Neighbouring threads go along `fast`, lanes along `slow`.
  void openLane(const Nest::Axis& fast, const Nest::Axis& slow) {
    const std::string index = w_.index(), x = absl::StrCat("x", fast.id.index), y = absl::StrCat("x", slow.id.index);
    w_.unrolled(form_.lanes);
    w_.line(absl::StrCat("const ", index, " ", x, " = ", first(fast), " + threadIdx.x;"));
    w_.line(absl::StrCat("const ", index, " ", y, " = ", first(slow), " + threadIdx.y + 8 * l;"));
    w_.open(absl::StrCat("if (", x, " < ", size(fast), " && ", y, " < ", size(slow), ")"));
  }
  void closeLane() {
    w_.close();
    w_.close();
  }

  void read(ExprId id, const std::string& to) {
    w_.line(absl::StrCat(to, " = *reinterpret_cast<const ", type(id), "*>(", w_.address(expr(id).access), ");"));
  }
  void keep(ExprId id, const std::string& at) { w_.preload(id, at + (expr(id).dtype == DType::kBool ? " != 0" : "")); }

  Writer& w_;
  const Nest& nest_;
  const Nest::Axis lane_, line_;
  const Form& form_;
};

}  // namespace

int tileAxis(const Kernel& kernel, const graph::SymContext& syms, const Piece& piece) {
  const std::vector<Nest::Axis>& axes = piece.nest.axes;
  for (const Item& item : iterationOf(piece.nest)) {
    if (!item.expr.valid() || kernel.exprs[item.expr.index].op != ScalarOp::kLoad) continue;
    const Expr& e = kernel.exprs[item.expr.index];
    const Access& access = kernel.accesses[e.access];
    if (packedBytes(syms, piece.nest, access, e.dtype, 1) > 0) continue;
    const auto isAlong = [&](const Access::Term& t) { return t.axis == axes.back().id; };
    if (std::none_of(access.terms.begin(), access.terms.end(), isAlong)) continue;  // the same along the last axis
    for (size_t k = 0; k + 1 < axes.size(); ++k)
      for (const Access::Term& t : access.terms)
        if (t.axis == axes[k].id && syms.isConst(t.stride, graph::itemSize(e.dtype))) return static_cast<int>(k);
  }
  return -1;
}

void emitTiles(Writer& w, const Piece& piece, const Form& form) { TileEmitter(w, piece, form).run(); }

}  // namespace fw::kernels::cuda
