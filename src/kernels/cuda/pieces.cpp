// Which loops become threads. Parallel loops at the root are a map, unless they reduce: then each iteration is a row
// and the reductions inside are shared by a team of threads. Whatever is not of these forms is run by one thread in the
// order of the text, which is always right.
#include "kernels/cuda/pieces.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"

namespace fw::kernels::cuda {
namespace {

class Splitter {
 public:
  Splitter(const Kernel& kernel, graph::SymContext& syms) : kernel_(kernel), syms_(syms) {}

  absl::StatusOr<std::vector<Piece>> run() {
    for (const Expr& e : kernel_.exprs)
      if (e.op == ScalarOp::kRaiseIf && (e.imm & kDecline))
        return absl::UnimplementedError("a kernel that may decline, on CUDA: " + kernel_.name);
    std::vector<Piece> pieces;
    const std::vector<Item>& root = kernel_.body.items;
    const bool reduces = std::any_of(root.begin(), root.end(), [&](const Item& item) {
      return item.stmt.valid() && stmt(item.stmt).kind == StmtKind::kReduce;
    });
    if (reduces) {
      pieces.push_back(rows({}, root).value_or(Piece{Piece::Kind::kMap, {}, root, {}}));
      pieces.back().root = true;
    } else {
      for (const Item& item : kernel_.body.items)
        if (item.stmt.valid()) add(pieces, item);
    }
    if (pieces.size() > 1 && readsStoredAtRoot())
      return absl::UnimplementedError("a kernel that reads in front of its loops what they store, on CUDA");
    return pieces;
  }

 private:
  const Stmt& stmt(StmtId id) const { return kernel_.stmts[id.index]; }
  bool isLoop(const Item& item, bool parallel) const {
    return item.stmt.valid() && stmt(item.stmt).kind == StmtKind::kLoop && (!parallel || stmt(item.stmt).parallel);
  }

  /// The size of a loop that runs from 0 to a number known to the host.
  std::optional<SymId> sizeOf(const Stmt& s) const {
    const Expr &lower = kernel_.exprs[s.lower.index], &upper = kernel_.exprs[s.upper.index];
    if (lower.op != ScalarOp::kConst || lower.imm != 0) return std::nullopt;
    if (upper.op == ScalarOp::kConst) return syms_.constant(static_cast<int64_t>(upper.imm));
    if (upper.op == ScalarOp::kParam) return upper.sym;
    return std::nullopt;
  }

  /// The one statement of a block, if it is alone there.
  std::optional<StmtId> onlyStatement(const Block& block) const {
    std::optional<StmtId> only;
    for (const Item& item : block.items) {
      if (!item.stmt.valid()) continue;
      if (only) return std::nullopt;
      only = item.stmt;
    }
    return only;
  }

  /// Whether `inner` only carries on with what `outer` combines: one element of each is one of the other.
  bool continues(const Stmt& outer, StmtId innerId) const {
    const Stmt& inner = stmt(innerId);
    if (inner.kind != outer.kind) return false;
    if (inner.accumulators.size() != outer.accumulators.size()) return false;
    for (size_t i = 0; i < inner.accumulators.size(); ++i) {
      const Expr& element = kernel_.exprs[outer.accumulators[i].element.index];
      if (element.op != ScalarOp::kReduceResult || element.stmt != innerId || element.imm != i) return false;
      if (inner.accumulators[i].combine != outer.accumulators[i].combine) return false;
    }
    return true;
  }

  /// Loops from `first` inwards. `parallel`: only those whose iterations are independent.
  std::optional<Nest> nestAt(StmtId first, bool parallel) const {
    const ReduceOrder order = stmt(first).order;
    if (order != ReduceOrder::kAny && order != ReduceOrder::kListed) return std::nullopt;
    const auto fits = [&](const Stmt& s) {
      return sizeOf(s) && s.order == order && (s.sum < 0 || &s == &stmt(first)) && (!parallel || s.parallel);
    };
    Nest nest;
    for (StmtId at = first; fits(stmt(at));) {
      const Stmt& s = stmt(at);
      nest.axes.push_back({s.axis, *sizeOf(s)});
      nest.levels.push_back(&s.body);
      nest.outermost = first;
      nest.innermost = at;
      const std::optional<StmtId> inner = onlyStatement(s.body);
      if (!inner || !continues(s, *inner)) break;
      at = *inner;
    }
    if (nest.axes.empty()) return std::nullopt;
    return nest;
  }

  /// `items` as a row that begins with a reduction, if a team can share it.
  std::optional<Piece> rows(Nest nest, const std::vector<Item>& items) const {
    Piece piece{Piece::Kind::kRows, std::move(nest), items, {}};
    bool reduces = false, adjacent = false;
    for (const Item& item : items) {
      if (!item.stmt.valid()) continue;
      const Stmt& s = stmt(item.stmt);
      RowStep step{RowStep::Kind::kSingle, item.stmt, {}};
      if (s.kind == StmtKind::kReduce || s.kind == StmtKind::kLoop) {
        std::optional<Nest> inner = nestAt(item.stmt, false);
        if (!inner) return std::nullopt;
        const bool reduce = s.kind == StmtKind::kReduce;
        if (hasReduction(*inner->levels.back())) return std::nullopt;
        step = {reduce ? RowStep::Kind::kReduce : RowStep::Kind::kLoop, item.stmt, *std::move(inner)};
        if (s.sum >= 0) step.list = &kernel_.sums[static_cast<size_t>(s.sum)];
        adjacent |= step.list && step.list->by != ListedSum::By::kElement;
        reduces |= reduce;
      } else if (s.kind == StmtKind::kIf) {
        return std::nullopt;
      }
      piece.steps.push_back(std::move(step));
    }
    if (!reduces) return std::nullopt;
    piece.columns = !adjacent && !piece.nest.axes.empty() && stmt(piece.nest.innermost).vectorize;
    return piece;
  }

  bool hasReduction(const Block& block) const {
    return std::any_of(block.items.begin(), block.items.end(), [&](const Item& item) {
      return item.stmt.valid() && (stmt(item.stmt).kind == StmtKind::kReduce || hasReduction(stmt(item.stmt).body));
    });
  }

  void add(std::vector<Piece>& pieces, const Item& item) const {
    if (stmt(item.stmt).kind == StmtKind::kObserve) return;
    if (isLoop(item, true)) {
      if (std::optional<Nest> nest = nestAt(item.stmt, true)) {
        const std::vector<Item>& body = nest->levels.back()->items;
        if (std::optional<Piece> piece = rows(*nest, body))
          pieces.push_back(*std::move(piece));
        else
          pieces.push_back({Piece::Kind::kMap, *nest, body, {}});
        return;
      }
    }
    // One thread, together with what stood before.
    const bool joins = !pieces.empty() && pieces.back().kind == Piece::Kind::kMap && pieces.back().nest.axes.empty();
    if (!joins) pieces.push_back({Piece::Kind::kMap, {}, {}, {}});
    pieces.back().items.push_back(item);
  }

  bool readsStoredAtRoot() const {
    absl::flat_hash_set<graph::BufferId> stored;
    for (const Stmt& s : kernel_.stmts)
      if (s.kind == StmtKind::kStore) stored.insert(kernel_.accesses[s.access].buffer);
    return std::any_of(kernel_.body.items.begin(), kernel_.body.items.end(), [&](const Item& item) {
      if (!item.expr.valid() || !isLoad(kernel_.exprs[item.expr.index].op)) return false;
      return stored.contains(kernel_.accesses[kernel_.exprs[item.expr.index].access].buffer);
    });
  }

  const Kernel& kernel_;
  graph::SymContext& syms_;
};

}  // namespace

absl::StatusOr<std::vector<Piece>> piecesOf(const Kernel& kernel, graph::SymContext& syms) {
  return Splitter(kernel, syms).run();
}

std::vector<Item> iterationOf(const Nest& nest) {
  std::vector<Item> items;
  for (size_t i = 0; i + 1 < nest.levels.size(); ++i)
    for (const Item& item : nest.levels[i]->items) {
      if (item.stmt.valid()) break;
      items.push_back(item);
    }
  if (!nest.levels.empty())
    items.insert(items.end(), nest.levels.back()->items.begin(), nest.levels.back()->items.end());
  return items;
}

std::vector<ExprId> rootExpressions(const Kernel& kernel) {
  std::vector<ExprId> result;
  for (const Item& item : kernel.body.items)
    if (item.expr.valid()) result.push_back(item.expr);
  return result;
}

}  // namespace fw::kernels::cuda
