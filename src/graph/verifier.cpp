// The verifier derives its rules from the op table, the attribute table and type inference; it knows single ops only
// where they have regions. It reports and goes on, so that one run shows everything that is wrong.
#include "graph/verifier.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/bound_sizes.h"
#include "graph/infer.h"

namespace fw::graph {
namespace {

struct RequiredAttr {
  Op op;
  AttrKey key;
};
constexpr RequiredAttr kRequired[] = {
    {Op::kInput, AttrKey::kIndex},  {Op::kConstant, AttrKey::kValue},   {Op::kSym, AttrKey::kExpr},
    {Op::kSlice, AttrKey::kStarts}, {Op::kSlice, AttrKey::kSteps},      {Op::kTranspose, AttrKey::kPerm},
    {Op::kExpand, AttrKey::kAxes},  {Op::kSqueeze, AttrKey::kAxes},     {Op::kUpdate, AttrKey::kStarts},
    {Op::kUpdate, AttrKey::kSteps}, {Op::kConcatenate, AttrKey::kAxis}, {Op::kWindows, AttrKey::kAxis},
    {Op::kWindows, AttrKey::kExpr}, {Op::kProject, AttrKey::kIndex},    {Op::kCall, AttrKey::kSite},
    {Op::kCall, AttrKey::kCallee},  {Op::kGather, AttrKey::kAxes},      {Op::kGather, AttrKey::kAxis},
    {Op::kEmpty, AttrKey::kIndex},
};

class Verifier {
 public:
  Verifier(const Graph& graph, Stage stage, std::string path, std::vector<std::string>& out)
      : graph_(graph),
        stage_(stage),
        path_(std::move(path)),
        out_(out) {}

  void run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      at_ = ValueId(i);
      checkNode(graph_.node(at_));
    }
    at_ = ValueId();
    for (ValueId o : graph_.outputs()) {
      if (o.index >= graph_.size()) report("output %" + std::to_string(o.index) + " does not exist");
    }
    checkCommits();
    checkInputs();
  }

 private:
  void report(const std::string& what) {
    std::string where = path_;
    if (at_.valid())
      where += "%" + std::to_string(at_.index) + " = " + std::string(info(graph_.node(at_).op).text) + ": ";
    out_.push_back(where + what);
  }

  std::string text(const ValueType& t) const { return print(graph_.syms(), t); }

  void checkNode(const Node& node) {
    bool operandsExist = true;
    for (ValueId o : node.operands) {
      if (o.index < at_.index) continue;
      operandsExist = false;
      report(o.index < graph_.size() ? "operand %" + std::to_string(o.index) + " comes later"
                                     : "operand %" + std::to_string(o.index) + " does not exist");
    }
    bool attrsPresent = checkAttrs(node);
    checkLayout(node.type);
    if (stage_ == Stage::kDecomposed && info(node.op).cpu == "Decompose") report("must have been decomposed");
    checkRegions(node, operandsExist);
    if (operandsExist && attrsPresent && info(node.op).cls != OpClass::kControl) checkType(node);
    if (operandsExist && attrsPresent && node.op == Op::kProject) checkType(node);
  }

  bool checkAttrs(const Node& node) {
    bool ok = true;
    auto require = [&](AttrKey key) {
      if (node.attrs.has(key)) return;
      report("attribute " + std::string(attrName(key)) + " is missing");
      ok = false;
    };
    for (const RequiredAttr& r : kRequired) {
      if (r.op == node.op) require(r.key);
    }
    if (info(node.op).cls == OpClass::kReduction) {
      require(AttrKey::kAxes);
      require(AttrKey::kKeepdims);
    }
    for (const auto& [key, value] : node.attrs.entries()) {
      if (value.index() == static_cast<size_t>(info(key).kind)) continue;
      report("attribute " + std::string(attrName(key)) + " has the wrong kind");
      ok = false;
    }
    return ok;
  }

  void checkLayout(const ValueType& type) {
    if (!type.tuple.empty()) {
      for (const ValueType& t : type.tuple) checkLayout(t);
      return;
    }
    const Layout& l = type.layout;
    uint32_t seen = 0;
    for (int8_t axis : l.order) {
      if (axis >= 0 && axis < 32) seen |= 1u << axis;
    }
    uint32_t all = type.rank() < 32 ? (1u << type.rank()) - 1 : ~0u;
    if (l.rank() != type.rank() || seen != all) {
      report("layout " + l.print() + " does not order the axes of " + text(type));
    }
    if (((l.broadcastAxes | l.negativeAxes | l.tiedAxes) & ~all) != 0) {
      report("layout " + l.print() + " names axes that do not exist");
    }
    for (SymId s : type.shape) {
      if (s.index >= graph_.syms().size()) {
        report("a size is no expression of this graph's context");
      } else if (graph_.syms().range(s).hi < 0) {
        report("size " + graph_.syms().print(s) + " is negative");
      }
    }
  }

  bool equalShapes(const SymShape& a, const SymShape& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [this](SymId x, SymId y) {
             return x == y || graph_.syms().provablyEqual(x, y) == true;
           });
  }

  bool sameArray(const ValueType& a, const ValueType& b) {
    if (a.tuple.size() != b.tuple.size()) return false;
    for (size_t i = 0; i < a.tuple.size(); ++i) {
      if (!sameArray(a.tuple[i], b.tuple[i])) return false;
    }
    return !a.tuple.empty() || (a.dtype == b.dtype && equalShapes(a.shape, b.shape));
  }

  /// Shape and element type must be what inference finds. Layouts may differ: a ufunc takes the order of its
  /// unconverted operands, a copy any order.
  void checkType(const Node& node) {
    absl::InlinedVector<const ValueType*, 4> operands;
    for (ValueId o : node.operands) operands.push_back(&graph_.type(o));
    absl::StatusOr<ValueType> type = completeType(graph_.syms(), node.op, operands, node.attrs, node.type);
    if (!type.ok()) {
      report(std::string(type.status().message()));
    } else if (!sameArray(*type, node.type)) {
      report("has type " + text(node.type) + ", not " + text(*type));
    }
    if (node.op == Op::kUpdate) checkUpdate(node);
    if (node.op == Op::kInput && !node.operands.empty()) report("has operands");
  }

  /// The value must fit into the base; how it lies there is in starts and steps.
  void checkUpdate(const Node& node) {
    const SymShape& base = graph_.type(node.operands[0]).shape;
    const SymShape& value = graph_.type(node.operands[1]).shape;
    for (size_t i = 0; i < std::min(base.size(), value.size()); ++i) {
      if (graph_.syms().provablyLess(base[i], value[i]) == true) {
        report("value of size " + graph_.syms().print(value[i]) + " along axis " + std::to_string(i) +
               " exceeds the base");
      }
    }
  }

  /// Commits are stores in ascending order into views of inputs that have memory of their own for every element.
  void checkCommits() {
    ValueId last;
    for (ValueId id : graph_.commits()) {
      at_ = ValueId();
      if (id.index >= graph_.size() || graph_.node(id).op != Op::kStore) {
        report("commit %" + std::to_string(id.index) + " is no store");
        continue;
      }
      at_ = id;
      if (!path_.empty()) report("a region commits");
      if (last.valid() && id.index <= last.index) report("commits are out of order");
      last = id;
      ValueId target = graph_.node(id).operands[0];
      while (target.index < graph_.size() && info(graph_.node(target).op).cls == OpClass::kView) {
        const Node& view = graph_.node(target);
        const bool copies = view.op == Op::kReshape && view.attrs.integerOr(AttrKey::kCopy, 0) != 0;
        if (view.op == Op::kBroadcast || copies) report("stores through a " + std::string(info(view.op).text));
        target = view.operands[0];
      }
      if (target.index >= graph_.size() || graph_.node(target).op != Op::kInput)
        report("the target is no view of an input");
    }
    at_ = ValueId();
  }

  void checkRegions(const Node& node, bool operandsExist) {
    size_t wanted = node.op == Op::kLoop || node.op == Op::kBind ? 1 : node.op == Op::kCond ? 2 : 0;
    if (node.regions.size() != wanted) {
      report("has " + std::to_string(node.regions.size()) + " regions, not " + std::to_string(wanted));
      return;
    }
    for (size_t i = 0; i < wanted; ++i) {
      const Graph& region = *node.regions[i];
      std::string path = path_ + "%" + std::to_string(at_.index) + "." + std::to_string(i) + ": ";
      if (&region.syms() != &graph_.syms()) report("region " + std::to_string(i) + " has a context of its own");
      size_t before = out_.size();
      Verifier(region, stage_, path, out_).run();
      if (operandsExist && out_.size() == before) checkInterface(node, region, i);
    }
    checkResults(node);
    if ((wanted > 0 || node.op == Op::kCall) && node.type.tuple.empty()) report("has no tuple type");
    if (node.op == Op::kCond && operandsExist) {
      bool scalarBool = !node.operands.empty() && graph_.type(node.operands[0]).dtype == DType::kBool &&
                        graph_.type(node.operands[0]).rank() == 0;
      if (!scalarBool) report("the condition is no bool scalar");
    }
    if ((node.op == Op::kBind || node.op == Op::kDefine) && operandsExist) {
      const bool number = !node.operands.empty() && graph_.type(node.operands[0]).dtype == DType::kI64 &&
                          graph_.type(node.operands[0]).rank() == 0;
      if (!number) report("what it binds is no i64 scalar");
      for (AttrKey key : {AttrKey::kSymbol, AttrKey::kLeast, AttrKey::kMost})
        if (!node.attrs.has(key)) report("has no attribute " + std::string(attrName(key)));
    }
    if (node.attrs.has(AttrKey::kSymbol)) {
      const SymId symbol = node.attrs.sym(AttrKey::kSymbol);
      if (graph_.syms().node(symbol).op != SymOp::kSymbol) report("binds what is no symbol");
    }
    if (node.attrs.has(AttrKey::kSizes)) checkSizes(node);
    if (node.attrs.has(AttrKey::kRewrites)) checkRewrites(node);
  }

  void checkRewrites(const Node& node) {
    if (node.op != Op::kLoop) report("only a loop rewrites inputs");
    for (int64_t index : node.attrs.ints(AttrKey::kRewrites)) {
      const bool exists = index >= 0 && static_cast<size_t>(index) < node.operands.size();
      const bool input = exists && graph_.node(node.operands[static_cast<size_t>(index)]).op == Op::kInput;
      if (!input || graph_.isRegion()) report("rewrites what is no input");
    }
  }

  /// Symbols that a call binds are sizes of its results, and nothing in front of it knows them.
  void checkSizes(const Node& node) {
    if (node.op != Op::kCall) report("only a library call binds sizes");
    for (SymId size : node.attrs.syms(AttrKey::kSizes)) {
      if (graph_.syms().node(size).op != SymOp::kSymbol) report("binds what is no symbol");
      const bool answered = std::any_of(node.type.tuple.begin(), node.type.tuple.end(), [&](const ValueType& type) {
        return std::find(type.shape.begin(), type.shape.end(), size) != type.shape.end();
      });
      if (!answered) report("binds " + graph_.syms().print(size) + ", which is no size of its results");
      for (size_t i = 0; i < at_.index; ++i)
        if (mentionsSize(graph_.node(ValueId(i)), size)) {
          report("binds " + graph_.syms().print(size) + ", which %" + std::to_string(i) + " knows");
          break;
        }
    }
  }

  /// What regions bind is bound nowhere else: memory of a result would have any size.
  void checkResults(const Node& node) {
    absl::flat_hash_set<SymId> bound;
    for (const std::unique_ptr<Graph>& region : node.regions)
      for (size_t i = 0; i < region->size(); ++i) collectBound(region->node(ValueId(i)), bound);
    if (bound.empty()) return;
    for (const ValueType& type : node.type.tuple)
      for (SymId size : type.shape)
        if (mentions(graph_.syms(), size, bound)) {
          report("a result has the size " + graph_.syms().print(size) + ", which is bound in a region");
          return;
        }
  }

  bool mentionsSize(const Node& node, SymId symbol) const {
    const absl::flat_hash_set<SymId> symbols = {symbol};
    bool found = false;
    forEachSym(node, [&](SymId id) { found |= mentions(graph_.syms(), id, symbols); });
    return found;
  }

  /// Operands against the region's inputs, the region's outputs against the result.
  void checkInterface(const Node& node, const Graph& region, size_t index) {
    size_t skipOperands = node.op == Op::kLoop ? 0 : 1, skipOutputs = node.op == Op::kLoop ? 1 : 0;
    std::string name = "region " + std::to_string(index);
    std::vector<ValueId> inputs = region.inputs();
    size_t arguments = node.operands.size() - std::min(skipOperands, node.operands.size());
    if (inputs.size() > arguments) {
      report(name + " has " + std::to_string(inputs.size()) + " inputs for " + std::to_string(arguments) + " operands");
    }
    for (size_t i = 0; i < std::min(inputs.size(), arguments); ++i) {
      const ValueType& operand = graph_.type(node.operands[i + skipOperands]);
      if (inputs[i].valid() && !sameArray(operand, region.type(inputs[i]))) {
        report(name + ": input " + std::to_string(i) + " is " + text(region.type(inputs[i])) + ", the operand " +
               text(operand));
      }
    }
    if (region.outputs().size() != node.type.tuple.size() + skipOutputs) {
      report(name + " returns " + std::to_string(region.outputs().size()) + " values for a tuple of " +
             std::to_string(node.type.tuple.size()));
      return;
    }
    if (node.op == Op::kLoop) {
      const ValueType& again = region.type(region.outputs()[0]);
      if (again.dtype != DType::kBool || again.rank() != 0) report("the body's first result is no bool scalar");
      if (node.type.tuple.size() != node.operands.size()) {
        report("carries another number of values than it starts with");
      }
    }
    for (size_t i = 0; i < node.type.tuple.size(); ++i) {
      const ValueType& result = region.type(region.outputs()[i + skipOutputs]);
      if (!sameArray(result, node.type.tuple[i])) {
        report(name + ": result " + std::to_string(i) + " is " + text(result) + ", the tuple has " +
               text(node.type.tuple[i]));
      }
    }
  }

  void checkInputs() {
    absl::flat_hash_set<int64_t> seen;
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node(ValueId(i));
      if (node.op != Op::kInput || !node.attrs.has(AttrKey::kIndex)) continue;
      int64_t index = node.attrs.integer(AttrKey::kIndex);
      at_ = ValueId(i);
      if (index < 0) report("index is negative");
      if (!seen.insert(index).second) report("input " + std::to_string(index) + " exists twice");
    }
  }

  const Graph& graph_;
  Stage stage_;
  std::string path_;
  std::vector<std::string>& out_;
  ValueId at_;
};

}  // namespace

std::vector<std::string> verify(const Graph& graph, Stage stage) {
  std::vector<std::string> violations;
  Verifier(graph, stage, "", violations).run();
  return violations;
}

}  // namespace fw::graph
