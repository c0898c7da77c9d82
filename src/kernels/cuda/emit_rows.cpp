// A team of threads shares each row: the iterations of its reductions and loops go round the team, and what the threads
// have reduced is combined when all are through.
//
//   rows       a team are neighbours along threadIdx.x; above 32 it is the block
//   columns    a team are the threads of one threadIdx.x: neighbours read neighbouring columns
//
// Where one round of lanes covers the row (Form::whole), what it reads is kept in registers from step to step, and so
// is what took long to compute. The lanes of a thread lie a team apart, or, in a packed row, packs of them do. A split
// row is spread over gridDim.y blocks, one launch per step; each block leaves its part of a reduction in memory, and
// those of later steps combine the parts before they begin, all in the same order.
#include "kernels/cuda/emit_rows.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/emit_sums.h"
#include "kernels/cuda/text.h"

namespace fw::kernels::cuda {
namespace {

class RowEmitter {
 public:
  RowEmitter(Writer& w, const Piece& piece, const Form& form)
      : w_(w),
        piece_(piece),
        form_(form),
        sums_(w, piece, form) {}

  void run() {
    findRepeated();
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
    const auto senders = static_cast<size_t>(piece_.columns ? columnThreads(kernel(), piece_) : 32);
    w_.line(absl::StrCat("__shared__ u64 room[", senders * accumulatorWords(kernel(), piece_), "];"));
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
    sums_.place();
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
        if (step.list) return sum(number, step);
        share(number, step);
        combineTeam(step.stmt);
        if (form_.split()) leave(number, step.stmt);
        return;
    }
  }

  /// A listed sum.
  void sum(int number, const RowStep& step) {
    sums_.open(step);
    if (form_.gathers && number == form_.from) return sums_.gather(number, step);
    const std::string index = w_.index(), n = std::to_string(number);
    const std::string length = this->number(Parameter::Kind::kLength, number);
    if (piece_.columns) return sumColumns(number, step, length);
    begin_ = "begin" + n;
    end_ = "end" + n;
    if (form_.whole) {
      w_.line(absl::StrCat("const ", index, " ", begin_, " = 0, ", end_, " = ", length, ";"));
      place_ = "fw_at(i32(i))";
      round(step);
      return sums_.whole(step, end_);
    }
    sums_.openTiles(number, step);
    w_.line(absl::StrCat("const ", index, " ", begin_, " = ", index, "(range.first), ", end_, " = ", begin_,
                         " + range.count;"));
    place_ = absl::StrCat("fw_at(i32(i - ", begin_, "))");
    w_.open(absl::StrCat("for (", index, " base = ", begin_, "; base < ", end_, "; base += team * ", form_.lanes, ")"));
    begin_ = "base";
    round(step);
    w_.close();
    sums_.closeTiles(number, step);
  }

  /// What the next rows hold is read while the threads of the first row add up the last ones.
  void sumColumns(int number, const RowStep& step, const std::string& length) {
    const std::string index = w_.index(), n = std::to_string(number), begin = "begin" + n, rows = "rows" + n;
    end_ = "end" + n;
    w_.line(absl::StrCat("const ", index, " ", end_, " = ", length, ", ", rows, " = team * ", form_.lanes, ";"));
    w_.line("i32 flip = 0;");
    const std::vector<ExprId> early = loadsOf(step);
    declare(early);
    begin_ = "0";
    loadAll(early, step);
    w_.open(absl::StrCat("for (", index, " ", begin, " = 0; ", begin, " < ", end_, "; ", begin, " += ", rows, ")"));
    begin_ = begin;
    place_ = "flip + (l * team + rank) * i32(blockDim.x) + threadIdx.x";
    compute(step, {});
    w_.line(absl::StrCat("const ", index, " next = ", begin, " + ", rows, ";"));
    begin_ = "next";
    loadAll(early, step);
    sums_.chain(step, absl::StrCat("i32(next < ", end_, " ? ", rows, " : ", end_, " - ", begin, ")"));
    w_.close();
    sums_.endChain(number, step);
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

  int groups() const { return form_.lanes / form_.pack; }
  bool isPacked() const { return form_.packed; }
  /// What a lane finds in an array of the thread's lanes, and what the pack of a group does.
  std::string lane(const std::string& array) const { return array + (isPacked() ? "[k][l]" : "[l]"); }
  std::string declared(const std::string& array) const {
    return isPacked() ? absl::StrCat(array, "[", groups(), "][", form_.pack, "]")
                      : absl::StrCat(array, "[", form_.lanes, "]");
  }

  /// Around a group: a pack, or a single lane.
  void openGroup(const RowStep& step) {
    const char* group = isPacked() ? "k" : "l";
    w_.line("#pragma unroll");
    w_.open(absl::StrCat("for (int ", group, " = 0; ", group, " < ", groups(), "; ++", group, ")"));
    const std::string at = isPacked() ? absl::StrCat("(k * team + rank) * ", form_.pack) : "l * team + rank";
    w_.line(absl::StrCat("const ", w_.index(), " i = ", begin_, " + ", at, ";"));
    w_.open(absl::StrCat("if (active && i < ", end_, ")"));
    w_.decode(step.nest, "i");
  }
  void closeGroup() {
    w_.close();
    w_.close();
  }

  /// Around the lanes of a pack; the last axis gets its own value in each.
  void openPack(const RowStep& step) {
    const std::string last = absl::StrCat("x", step.nest.axes.back().id.index);
    w_.line(absl::StrCat("const ", w_.index(), " ", last, "_0 = ", last, ";"));
    w_.unrolled(form_.pack);
    w_.line(absl::StrCat("const ", w_.index(), " ", last, " = ", last, "_0 + l;"));
  }

  bool movesPacks(uint32_t access, DType d, const Nest& nest) const {
    return isPacked() && packedBytes(w_.syms(), nest, kernel().accesses[access], d, form_.pack) > 0;
  }

  void load(ExprId id, const RowStep& step) {
    const Expr& e = expr(id);
    if (movesPacks(e.access, e.dtype, step.nest))
      return w_.line(absl::StrCat("fw_load(", array(id), "[k], ", w_.address(e.access), ");"));
    const std::string read = absl::StrCat(lane(array(id)), " = *reinterpret_cast<const ",
                                          std::string(memoryType(e.dtype)), "*>(", w_.address(e.access), ");");
    if (!isPacked()) return w_.line(read);
    w_.open("");
    openPack(step);
    w_.line(read);
    w_.close();
    w_.close();
  }

  void declare(const std::vector<ExprId>& loads) {
    for (ExprId id : loads)
      w_.line(absl::StrCat(std::string(memoryType(expr(id).dtype)), " ", declared(array(id)), ";"));
  }

  /// What comes from memory is read for all lanes first, so that it is in flight together. What is the same for all
  /// rows comes from a cache.
  void round(const RowStep& step) {
    std::vector<ExprId> early, late;
    for (ExprId id : loadsOf(step)) (form_.whole && !variesByRow(id) ? late : early).push_back(id);
    declare(early);
    loadAll(early, step);
    declare(late);
    compute(step, late);
  }

  /// What has to be read.
  std::vector<ExprId> loadsOf(const RowStep& step) {
    std::vector<ExprId> loads;
    for (const Item& item : iterationOf(step.nest))
      if (item.expr.valid() && expr(item.expr).op == ScalarOp::kLoad && !isKept(item.expr, step.nest))
        loads.push_back(item.expr);
    return loads;
  }

  void loadAll(const std::vector<ExprId>& loads, const RowStep& step) {
    if (loads.empty()) return;
    openGroup(step);
    for (ExprId id : loads) load(id, step);
    closeGroup();
  }

  /// `late`: what is read on the way.
  void compute(const RowStep& step, const std::vector<ExprId>& late) {
    const std::vector<Item> items = iterationOf(step.nest);
    for (const Item& item : items)
      if (const auto kept = item.expr.valid() ? repeated_.find(item.expr) : repeated_.end(); kept != repeated_.end()) {
        const auto [known, added] = values_.try_emplace(kept->second, absl::StrCat("k", item.expr.index));
        if (added)
          w_.line(absl::StrCat(std::string(registerType(expr(item.expr).dtype)), " ", declared(known->second), ";"));
        else
          w_.preload(item.expr, lane(known->second));
      }
    openGroup(step);
    for (ExprId id : late) load(id, step);
    const std::vector<StmtId> stores = divert(step, items);
    if (isPacked() && step.list) sums_.openPack(step);
    if (isPacked()) openPack(step);
    for (const Item& item : items) {
      w_.item(item);
      if (item.expr.valid() && isFirst(item.expr))
        w_.line(absl::StrCat(lane(absl::StrCat("k", item.expr.index)), " = v", item.expr.index, ";"));
    }
    if (step.list)
      sums_.lane(step, place_);
    else if (step.kind == RowStep::Kind::kReduce)
      accumulate(step);
    if (isPacked()) w_.close();
    if (isPacked() && step.list) sums_.closePack(step, place_);
    for (StmtId id : stores) w_.line(absl::StrCat("fw_store(", w_.address(stmt(id).access), ", o", id.index, ");"));
    closeGroup();
  }

  /// Stores of packs wait until the pack is complete.
  std::vector<StmtId> divert(const RowStep& step, const std::vector<Item>& items) {
    std::vector<StmtId> stores;
    for (const Item& item : items) {
      if (!item.stmt.valid() || stmt(item.stmt).kind != StmtKind::kStore) continue;
      const DType d = expr(stmt(item.stmt).value).dtype;
      if (!movesPacks(stmt(item.stmt).access, d, step.nest)) continue;
      stores.push_back(item.stmt);
      w_.line(absl::StrCat(std::string(memoryType(d)), " o", item.stmt.index, "[", form_.pack, "];"));
      w_.divert(item.stmt, absl::StrCat("o", item.stmt.index, "[l]"));
    }
    return stores;
  }

  bool variesByRow(ExprId load) const {
    if (piece_.nest.axes.empty()) return true;
    const auto& terms = kernel().accesses[expr(load).access].terms;
    return std::any_of(terms.begin(), terms.end(), [&](const Access::Term& t) {
      return std::any_of(piece_.nest.axes.begin(), piece_.nest.axes.end(),
                         [&](const Nest::Axis& axis) { return axis.id == t.axis; });
    });
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
    w_.preload(id, lane(name) + (e.dtype == DType::kBool ? " != 0" : ""));
    return kept;
  }

  /// Whether this is what values_ got its array for.
  bool isFirst(ExprId id) const {
    const auto found = repeated_.find(id);
    return found != repeated_.end() && values_.at(found->second) == absl::StrCat("k", id.index);
  }

  static bool takesLong(const Expr& e) {
    return e.op == ScalarOp::kCallLibm || e.op == ScalarOp::kDiv || e.op == ScalarOp::kSqrt ||
           e.op == ScalarOp::kLoadAt;
  }

  /// Long computations, and reads by numbers, that several steps do on the same element.
  void findRepeated() {
    if (!form_.whole) return;
    absl::flat_hash_map<std::string, int> steps;
    std::vector<std::pair<ExprId, std::string>> found;
    for (const RowStep& step : piece_.steps) {
      absl::flat_hash_map<ExprId, std::string> keys;
      absl::flat_hash_set<std::string> own;
      for (const Item& item : iterationOf(step.nest)) {
        if (!item.expr.valid()) continue;
        const std::string key = keyOf(item.expr, step.nest, keys);
        keys[item.expr] = key;
        if (!takesLong(expr(item.expr)) || !own.insert(key).second) continue;
        ++steps[key];
        found.push_back({item.expr, key});
      }
    }
    for (const auto& [id, key] : found)
      if (steps[key] > 1) repeated_[id] = key;
  }

  /// Equal for expressions of steps that compute the same in the same iteration; of what stands around them, its name.
  std::string keyOf(ExprId id, const Nest& nest, const absl::flat_hash_map<ExprId, std::string>& keys) const {
    const Expr& e = expr(id);
    if (e.op == ScalarOp::kConst) return w_.value(id);
    if (isLoad(e.op) && isStored(kernel().accesses[e.access].buffer)) return absl::StrCat("v", id.index);
    if (e.op == ScalarOp::kLoad) return keyOf(e, nest);
    if (e.op == ScalarOp::kAxis) {
      for (size_t i = 0; i < nest.axes.size(); ++i)
        if (nest.axes[i].id == e.axis) return absl::StrCat("axis", i, "/", nest.axes[i].size.index);
      return absl::StrCat("x", e.axis.index);
    }
    std::string key = absl::StrCat(static_cast<int>(e.op), ":", static_cast<int>(e.dtype), ":", e.imm, ":",
                                   e.sym.valid() ? e.sym.index : 0, "(");
    if (e.op == ScalarOp::kLoadAt) absl::StrAppend(&key, keyOf(e, nest), ",");
    if (e.operands.empty() && e.op != ScalarOp::kParam) absl::StrAppend(&key, "v", id.index);
    for (ExprId operand : e.operands) {
      const auto inside = keys.find(operand);
      const bool fixed = expr(operand).op == ScalarOp::kConst;
      absl::StrAppend(&key,
                      inside != keys.end() ? inside->second
                      : fixed              ? absl::StrCat(static_cast<int>(expr(operand).dtype), w_.value(operand))
                                           : absl::StrCat("v", operand.index),
                      ",");
    }
    return key + ")";
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
    if (step.list) return sums_.recall(number, step);
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
  SumEmitter sums_;
  std::string begin_, end_;                               ///< of the iterations that are being written
  std::string place_;                                     ///< where their elements go that are listed
  absl::flat_hash_map<std::string, std::string> kept_;    ///< Form::whole: arrays by what they hold
  absl::flat_hash_map<ExprId, std::string> repeated_;     ///< what several steps compute, by expression
  absl::flat_hash_map<std::string, std::string> values_;  ///< arrays of those that have been computed
};

}  // namespace

void emitRows(Writer& w, const Piece& piece, const Form& form) { RowEmitter(w, piece, form).run(); }

}  // namespace fw::kernels::cuda
