// A team of threads shares each row: the iterations of its reductions and loops go round the team, and what the threads
// have reduced is combined when all are through.
//
//   rows       a team are neighbours along threadIdx.x; above 32 it is the block
//   columns    a team are the threads of one threadIdx.x: neighbours read neighbouring columns
//
// Where one round of lanes covers the row (Form::whole), what it reads is kept in registers from step to step. A split
// row is spread over gridDim.y blocks, one launch per step; each block leaves its part of a reduction in memory, and
// those of later steps combine the parts before they begin, all in the same order.
#include "kernels/cuda/emit_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/text.h"

namespace fw::kernels::cuda {
namespace {

class RowEmitter {
 public:
  RowEmitter(Writer& w, const Piece& piece, const Form& form) : w_(w), piece_(piece), form_(form) {}

  void run() {
    place();
    if (!piece_.root)
      for (ExprId id : rootExpressions(w_.kernel())) w_.expression(id);
    for (const Block* level : piece_.nest.levels) {
      if (level == piece_.nest.levels.back()) break;
      for (const Item& item : level->items)
        if (item.expr.valid()) w_.expression(item.expr);
    }
    int step = 0;
    const int end = form_.split() ? form_.to : static_cast<int>(piece_.steps.size());
    for (const Item& item : piece_.items) {
      if (item.expr.valid()) {
        w_.expression(item.expr);
        continue;
      }
      if (step == end) break;
      if (step < form_.from)
        recall(step);
      else
        perform(step);
      ++step;
    }
  }

 private:
  const Kernel& kernel() const { return w_.kernel(); }
  const Stmt& stmt(StmtId id) const { return kernel().stmts[id.index]; }
  const Expr& expr(ExprId id) const { return kernel().exprs[id.index]; }
  std::string number(Parameter::Kind kind, int step = 0) {
    return absl::StrCat(w_.index(), "(", w_.field({kind, {}, {}, step}), ")");
  }

  /// Which row, and which of its team a thread is. Threads without a row do the first one and keep it to themselves.
  void place() {
    const std::string index = w_.index();
    w_.line(absl::StrCat("__shared__ u64 room[", (piece_.columns ? 512 : 32) * accumulatorWords(), "];"));
    if (piece_.columns) {
      w_.line("const i32 team = blockDim.y, rank = threadIdx.y;");
      w_.line(absl::StrCat("const ", index, " place = ", index, "(blockIdx.x) * blockDim.x + threadIdx.x;"));
    } else {
      w_.line(absl::StrCat("const i32 team = i32(", w_.field({Parameter::Kind::kTeam}),
                           "), rank = threadIdx.x & (team - 1);"));
      w_.line(absl::StrCat("const ", index, " place = ", index,
                           "(blockIdx.x) * (blockDim.x / team) + threadIdx.x / team;"));
    }
    w_.line(absl::StrCat("const bool active = place < ", number(Parameter::Kind::kTotal), ";"));
    w_.line(absl::StrCat("const ", index, " row = active ? place : 0;"));
    w_.decode(piece_.nest, "row");
  }

  void perform(int number) {
    const RowStep& step = piece_.steps[static_cast<size_t>(number)];
    switch (step.kind) {
      case RowStep::Kind::kSingle:
        if (stmt(step.stmt).kind != StmtKind::kStore) return;
        w_.open(form_.split() ? "if (active && rank == 0 && blockIdx.y == 0)" : "if (active && rank == 0)");
        w_.item({{}, step.stmt});
        return w_.close();
      case RowStep::Kind::kLoop: return share(number, step);
      case RowStep::Kind::kReduce:
        w_.declareResults(step.stmt);
        share(number, step);
        combineTeam(step.stmt);
        if (form_.split()) leave(number, step.stmt);
        return;
    }
  }

  /// The iterations of a nest, `lanes` of them at once.
  void share(int number, const RowStep& step) {
    const std::string index = w_.index(), n = std::to_string(number);
    const std::string length = this->number(Parameter::Kind::kLength, number);
    begin_ = "begin" + n;
    end_ = "end" + n;
    if (form_.split()) {
      const std::string chunk = this->number(Parameter::Kind::kChunk, number);
      w_.line(absl::StrCat("const ", index, " ", begin_, " = ", index, "(blockIdx.y) * ", chunk, ";"));
      w_.line(absl::StrCat("const ", index, " ", end_, " = ", begin_, " + ", chunk, " < ", length, " ? ", begin_, " + ",
                           chunk, " : ", length, ";"));
    } else {
      w_.line(absl::StrCat("const ", index, " ", begin_, " = 0, ", end_, " = ", length, ";"));
    }
    if (form_.whole) return round(step);
    w_.open(absl::StrCat("for (", index, " base = ", begin_, "; base < ", end_, "; base += team * ", form_.lanes, ")"));
    begin_ = "base";
    round(step);
    w_.close();
  }

  void openLane(const RowStep& step) {
    w_.unrolled(form_.lanes);
    w_.line(absl::StrCat("const ", w_.index(), " i = ", begin_, " + l * team + rank;"));
    w_.open(absl::StrCat("if (active && i < ", end_, ")"));
    w_.decode(step.nest, "i");
  }
  void closeLane() {
    w_.close();
    w_.close();
  }

  void round(const RowStep& step) {
    std::vector<ExprId> fresh;
    const std::vector<Item> items = iterationOf(step.nest);
    for (const Item& item : items)
      if (item.expr.valid() && expr(item.expr).op == ScalarOp::kLoad && !isKept(item.expr, step.nest))
        fresh.push_back(item.expr);
    for (ExprId id : fresh)
      w_.line(absl::StrCat(std::string(memoryType(expr(id).dtype)), " ", array(id), "[", form_.lanes, "];"));
    if (!fresh.empty()) {
      openLane(step);
      for (ExprId id : fresh)
        w_.line(absl::StrCat(array(id), "[l] = *reinterpret_cast<const ", std::string(memoryType(expr(id).dtype)),
                             "*>(", w_.address(expr(id).access), ");"));
      closeLane();
    }
    openLane(step);
    w_.block(items);
    if (step.kind == RowStep::Kind::kReduce) accumulate(step);
    closeLane();
  }

  static std::string array(ExprId id) { return absl::StrCat("a", id.index); }

  /// Whether an earlier step has read the same into registers; else the load gets an array of its own.
  bool isKept(ExprId id, const Nest& nest) {
    const Expr& e = expr(id);
    std::string name = array(id);
    bool kept = false;
    if (form_.whole && !isStored(kernel().accesses[e.access].buffer)) {
      const auto [known, added] = kept_.try_emplace(keyOf(e, nest), name);
      name = known->second;
      kept = !added;
    }
    w_.preload(id, name + (e.dtype == DType::kBool ? "[l] != 0" : "[l]"));
    return kept;
  }

  bool isStored(graph::BufferId buffer) const {
    return std::any_of(kernel().stmts.begin(), kernel().stmts.end(), [&](const Stmt& s) {
      return s.kind == StmtKind::kStore && kernel().accesses[s.access].buffer == buffer;
    });
  }

  /// The accumulators of the outermost statement take the elements of the innermost.
  void accumulate(const RowStep& step) {
    const Stmt &outer = stmt(step.stmt), &inner = stmt(step.nest.innermost);
    for (size_t i = 0; i < outer.accumulators.size(); ++i) {
      const std::string name = Writer::result(step.stmt, i);
      w_.line(absl::StrCat(name, " = ",
                           w_.combined(outer.accumulators[i], name, w_.value(inner.accumulators[i].element)), ";"));
    }
  }

  /// All accumulators at once: what costs is that threads wait for each other.
  void combineTeam(StmtId reduce) {
    const Stmt& s = stmt(reduce);
    const std::string type = absl::StrCat("c", reduce.index), all = absl::StrCat("all", reduce.index);
    std::string members, values, step;
    for (size_t i = 0; i < s.accumulators.size(); ++i) {
      absl::StrAppend(&members, std::string(registerType(s.accumulators[i].dtype)), " at", i, "; ");
      absl::StrAppend(&values, i ? ", " : "", Writer::result(reduce, i));
      absl::StrAppend(&step, i ? ", " : "",
                      w_.combined(s.accumulators[i], absl::StrCat("a.at", i), absl::StrCat("b.at", i)));
    }
    w_.line(absl::StrCat("struct ", type, " { ", members, "};"));
    const std::string function = absl::StrCat("[](", type, " a, ", type, " b) -> ", type, " { return {", step, "}; }");
    const std::string room = absl::StrCat("reinterpret_cast<", type, "*>(room)");
    const std::string call = piece_.columns ? absl::StrCat("fw_combine_columns(", type, "{", values, "}, ", room, ", ")
                                            : absl::StrCat("fw_combine(", type, "{", values, "}, team, ", room, ", ");
    w_.line(absl::StrCat("const ", type, " ", all, " = ", call, function, ");"));
    for (size_t i = 0; i < s.accumulators.size(); ++i)
      w_.line(absl::StrCat(Writer::result(reduce, i), " = ", all, ".at", i, ";"));
  }

  /// Words of shared memory for the accumulators of a thread.
  size_t accumulatorWords() const {
    size_t words = 1;
    for (const RowStep& step : piece_.steps)
      if (step.kind == RowStep::Kind::kReduce) words = std::max(words, stmt(step.stmt).accumulators.size());
    return words;
  }

  /// Address of what a part of a row has left of an accumulator.
  std::string slot(int step, size_t accumulator, const std::string& part) {
    Parameter scratch{Parameter::Kind::kScratch, {}, {}, step, static_cast<int>(accumulator)};
    return absl::StrCat(w_.field(scratch), " + (i64(row) * ", w_.field({Parameter::Kind::kParts, {}, {}, step}), " + ",
                        part, ") * 8");
  }

  void leave(int step, StmtId reduce) {
    const Stmt& s = stmt(reduce);
    w_.open("if (active && rank == 0)");
    for (size_t i = 0; i < s.accumulators.size(); ++i)
      w_.line(absl::StrCat("*reinterpret_cast<", std::string(registerType(s.accumulators[i].dtype)), "*>(",
                           slot(step, i, "blockIdx.y"), ") = ", Writer::result(reduce, i), ";"));
    w_.close();
  }

  /// The results of a step that an earlier launch did.
  void recall(int number) {
    const RowStep& step = piece_.steps[static_cast<size_t>(number)];
    if (step.kind != RowStep::Kind::kReduce) return;
    const Stmt& s = stmt(step.stmt);
    w_.declareResults(step.stmt);
    w_.open(absl::StrCat("for (i32 part = rank; part < i32(", w_.field({Parameter::Kind::kParts, {}, {}, number}),
                         "); part += team)"));
    for (size_t i = 0; i < s.accumulators.size(); ++i) {
      const std::string name = Writer::result(step.stmt, i), type(registerType(s.accumulators[i].dtype));
      const std::string left = absl::StrCat("*reinterpret_cast<const ", type, "*>(", slot(number, i, "part"), ")");
      w_.line(absl::StrCat("const ", type, " left", i, " = ", left, ";"));
      w_.line(absl::StrCat(name, " = ", w_.combined(s.accumulators[i], name, absl::StrCat("left", i)), ";"));
    }
    w_.close();
    combineTeam(step.stmt);
  }

  /// Equal for loads of steps that read the same element in the same iteration.
  std::string keyOf(const Expr& e, const Nest& nest) const {
    const Access& a = kernel().accesses[e.access];
    std::string key = absl::StrCat(static_cast<int>(e.dtype), "@", a.buffer.index, "+", a.offset.index);
    for (const Access::Term& t : a.terms) {
      const auto own =
          std::find_if(nest.axes.begin(), nest.axes.end(), [&](const Nest::Axis& x) { return x.id == t.axis; });
      absl::StrAppend(
          &key, own == nest.axes.end() ? absl::StrCat(",x", t.axis.index) : absl::StrCat(",", own - nest.axes.begin()),
          "*", t.stride.index);
    }
    for (const Nest::Axis& axis : nest.axes) absl::StrAppend(&key, "/", axis.size.index);
    return key;
  }

  Writer& w_;
  const Piece& piece_;
  const Form& form_;
  std::string begin_, end_;                             ///< of the iterations that are being written
  absl::flat_hash_map<std::string, std::string> kept_;  ///< Form::whole: arrays by what they hold
};

}  // namespace

void emitRows(Writer& w, const Piece& piece, const Form& form) { RowEmitter(w, piece, form).run(); }

}  // namespace fw::kernels::cuda
