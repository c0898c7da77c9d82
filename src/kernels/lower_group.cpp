// buildKernel: maps, updates, commits with their checks, and joins. Reductions are in lower_reduce.cpp, updates that
// read what they overwrite in lower_held.cpp.
//
// A map is one perfect nest: axes in the memory order of the output, merged where all operands allow it, the innermost
// vectorised, all of them parallel.
#include "kernels/lower_group.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/raising.h"
#include "graph/refused.h"
#include "graph/support/check.h"
#include "graph/views.h"
#include "kernels/lower.h"

namespace fw::kernels {

IntList loopOrder(const graph::Layout& layout, const IntList& domainAxes) {
  IntList order;
  for (int8_t axis : layout.order)
    if (domainAxes[axis] >= 0) order.push_back(domainAxes[axis]);
  return order;
}

absl::StatusOr<std::vector<Value>> elementsOf(GroupEmitter& emitter, const std::vector<ValueId>& outputs) {
  std::vector<Value> values;
  std::vector<Val> used;
  for (ValueId id : outputs) {
    absl::StatusOr<Value> v = emitter.element(id);
    if (!v.ok()) return v.status();
    used.push_back(v->re);
    if (v->isComplex()) used.push_back(v->im);
    values.push_back(*std::move(v));
  }
  emitter.observeUnused(used);
  return values;
}

namespace {

/// Computes `stores` at the current point.
absl::Status observe(GroupEmitter& emitter, const std::vector<ValueId>& stores) {
  absl::StatusOr<std::vector<Value>> values = elementsOf(emitter, stores);
  if (!values.ok()) return values.status();
  for (const Value& value : *values) emitter.observe(value);
  return absl::OkStatus();
}

}  // namespace

absl::Status storeOutputs(GroupEmitter& emitter, const std::vector<ValueId>& outputs) {
  absl::StatusOr<std::vector<Value>> values = elementsOf(emitter, outputs);
  if (!values.ok()) return values.status();
  for (size_t i = 0; i < outputs.size(); ++i) emitter.store(emitter.outputRef(outputs[i]), (*values)[i]);
  return absl::OkStatus();
}

namespace {

/// One nest for outputs that run along the same axes.
absl::Status mapNest(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
                     GroupEmitter& emitter, const std::vector<ValueId>& outputs) {
  const ValueId leader = outputs[0];
  const bool checks = group.kind == graph::Group::Kind::kCheck;
  const bool commits = checks || group.kind == graph::Group::Kind::kCommit;
  const graph::Layout& layout = commits ? graph.type(graph.node(leader).operands[0]).layout
                                        : plan.buffers[emitter.outputRef(leader).buffer.index].layout;
  const IntList order = loopOrder(layout, group.axisMap.at(leader));
  const std::vector<NestAxis> axes = mergeAxes(b.syms(), group.domain, order, emitter.refs(), {}, emitter.indexAxes());
  absl::Status status;
  emitter.scoped([&] {
    openLoops(b, axes, true, true, [&](const std::vector<AxisId>& axisOf) {
      emitter.setAxes(&axes, axisOf);
      status = checks ? observe(emitter, outputs) : storeOutputs(emitter, outputs);
    });
  });
  return status;
}

absl::Status buildMap(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
                      GroupEmitter& emitter) {
  std::vector<std::pair<IntList, std::vector<ValueId>>> nests;  // by the axes they run along
  for (ValueId id : group.outputs) {
    if (graph.node(id).op == graph::Op::kEmpty) continue;
    IntList runs = loopOrder(graph::Layout::c(static_cast<int>(group.axisMap.at(id).size())), group.axisMap.at(id));
    std::sort(runs.begin(), runs.end());
    auto nest = std::find_if(nests.begin(), nests.end(), [&](const auto& n) { return n.first == runs; });
    if (nest == nests.end())
      nests.push_back({runs, {id}});
    else
      nest->second.push_back(id);
  }
  // Updates run along all axes: what runs along fewer is computed before, from what is there before.
  const size_t rank = group.domain.size();
  std::stable_partition(nests.begin(), nests.end(), [&](const auto& nest) { return nest.first.size() < rank; });
  for (const auto& [runs, outputs] : nests) {
    const bool held = group.held && runs.size() == rank;
    const absl::Status status =
        held ? buildHeld(b, graph, plan, group, emitter, outputs) : mapNest(b, graph, plan, group, emitter, outputs);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

/// Copies operands of a concatenate, from `at` on up to `end`, into their parts of the output, the first of which
/// begins at `start` along the axis. Leaves it where the next one begins.
absl::Status buildJoin(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
                       size_t at, size_t end, SymId& start) {
  graph::SymContext& syms = b.syms();
  const ValueId id = group.outputs[0];
  const graph::Node& node = graph.node(id);
  const int64_t joined = node.attrs.integer(graph::AttrKey::kAxis);
  const graph::BufferId out = plan.bufferOf(id, group.region);
  const graph::Buffer& outBuffer = plan.buffers[out.index];
  for (; at < end; ++at) {
    const ValueId operand = node.operands[at];
    const SymShape& shape = graph.type(operand).shape;
    const auto found = plan.findBuffer(graph::viewBase(graph, operand), group.region);
    if (!found) return absl::InternalError("operand of concatenate has no buffer");
    const graph::Buffer& buffer = plan.buffers[found->index];
    absl::StatusOr<graph::AffineView> view = graph::resolveView(graph, operand, buffer.strides);
    if (!view.ok()) return view.status();
    const MemoryRef source{*found, buffer.dtype, view->offset, view->strides};
    const MemoryRef target{out, outBuffer.dtype, syms.mul(start, outBuffer.strides[joined]), outBuffer.strides};
    if (source.dtype != target.dtype) return absl::UnimplementedError("concatenate of different types");
    IntList map;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      map.push_back(syms.isConst(shape[axis], 1) ? -1 : static_cast<int64_t>(axis));
    IntList order;
    for (int8_t axis : outBuffer.layout.order)
      if (map[axis] >= 0) order.push_back(axis);
    const std::vector<NestAxis> axes = mergeAxes(syms, shape, order, {&source, &target}, {}, {});
    GroupEmitter emitter(b, graph, plan, group);
    openLoops(b, axes, true, true, [&](const std::vector<AxisId>& axisOf) {
      emitter.setAxes(&axes, axisOf);
      emitter.store(target, emitter.load(source));
    });
    start = syms.add(start, shape[joined]);
  }
  return absl::OkStatus();
}

std::string kernelName(const graph::Graph& graph, const graph::Group& group, int ordinal) {
  std::string name = absl::StrCat("k", ordinal);
  int shown = 0;
  for (ValueId id : group.values) {
    if (shown++ == 4) break;
    absl::StrAppend(&name, "_", std::string(graph::info(graph.node(id).op).text));
  }
  return name;
}

/// Takes the reports out of `block`; true if there were any.
bool dropReports(Kernel& kernel, Block& block) {
  const auto isReport = [&](const Item& item) {
    return item.expr.valid() && kernel.exprs[item.expr.index].op == ScalarOp::kRaiseIf;
  };
  bool any = std::erase_if(block.items, isReport) > 0;
  for (const Item& item : block.items)
    if (item.stmt.valid()) any |= dropReports(kernel, kernel.stmts[item.stmt.index].body);
  return any;
}

/// What a commit computes has been judged before it begins to store: in its kCheck group, or because it raises nothing.
absl::Status keepQuiet(const graph::Plan& plan, const graph::Group& commit, Kernel& kernel) {
  const auto checks = [&](const graph::Group& group) {
    return group.kind == graph::Group::Kind::kCheck && group.outputs == commit.outputs;
  };
  const bool checked = std::any_of(plan.groups.begin(), plan.groups.end(), checks);
  if (dropReports(kernel, kernel.body) && !checked)
    return absl::InternalError("a commit that may decline: " + kernel.name);
  return absl::OkStatus();
}

/// The operation that a kernel which cannot be built is about: most likely its reduction.
ValueId mainValue(const graph::Graph& graph, const graph::Group& group) {
  for (ValueId id : group.values)
    if (graph::info(graph.node(id).op).cls == graph::OpClass::kReduction) return id;
  return group.outputs[0];
}

/// What becomes of flags that the group raises; nullopt: it raises none that anybody asks for.
std::optional<graph::ErrorRules> errorsOf(const graph::Graph& graph, const graph::Plan& plan,
                                          const graph::Group& group) {
  if (plan.target.reportsFlags) return graph::commonRules(graph, group.values);
  return graph::ErrorRules{graph::ErrorRules::kAll};
}

absl::StatusOr<Kernel> build(const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group, int ordinal,
                             Arithmetic arithmetic) {
  const std::optional<graph::ErrorRules> errors = errorsOf(graph, plan, group);
  const graph::ErrorRules rules = errors.value_or(graph::ErrorRules{});
  // Functions that are called know all reports, or none.
  if (rules.reported || (rules.ignored && rules.ignored != graph::ErrorRules::kAll)) arithmetic.calls = nullptr;
  KernelBuilder b(graph.syms(), kernelName(graph, group, ordinal), rules, arithmetic);
  GroupEmitter emitter(b, graph, plan, group);
  const bool stores = group.kind != graph::Group::Kind::kCheck;
  for (ValueId id : group.outputs)
    if (stores) b.declareStored(plan.bufferOf(id, group.region));
  absl::Status status = emitter.collect();
  if (status.ok() && arithmetic.numbers == Numbers::kNumPy && group.kind != graph::Group::Kind::kReduce)
    status = keepRaising(b, graph, group, emitter, Rows::kOneByOne);
  if (!status.ok()) return status;
  switch (group.kind) {
    case graph::Group::Kind::kMap:
    case graph::Group::Kind::kUpdate:
    case graph::Group::Kind::kCommit:
    case graph::Group::Kind::kCheck: status = buildMap(b, graph, plan, group, emitter); break;
    case graph::Group::Kind::kJoin: {
      SymId start = graph.syms().constant(0);
      status = buildJoin(b, graph, plan, group, 0, graph.node(group.outputs[0]).operands.size(), start);
      break;
    }
    case graph::Group::Kind::kReduce: status = buildReduce(b, graph, group, emitter); break;
    case graph::Group::Kind::kControl: FW_UNREACHABLE();  // steps of the plan
  }
  if (!status.ok()) return status;
  Kernel kernel = std::move(b).take();
  if (plan.target.reportsFlags) kernel.errors = errors;
  if (group.kind == graph::Group::Kind::kCommit)
    if (absl::Status s = keepQuiet(plan, group, kernel); !s.ok()) return s;
  return kernel;
}

}  // namespace

absl::StatusOr<Kernel> buildKernel(const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
                                   int ordinal, Arithmetic arithmetic) {
  absl::StatusOr<Kernel> kernel = build(graph, plan, group, ordinal, arithmetic);
  if (!kernel.ok()) return graph::Refused::of(graph, mainValue(graph, group)).in(kernel.status());
  return kernel;
}

absl::Status buildKernels(const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group, int ordinal,
                          std::vector<Kernel>& out, Arithmetic arithmetic) {
  const size_t joined =
      group.kind == graph::Group::Kind::kJoin ? graph.node(group.outputs[0]).operands.size() : size_t{0};
  if (joined <= plan.target.joinedTogether) {
    absl::StatusOr<Kernel> kernel = buildKernel(graph, plan, group, ordinal, arithmetic);
    if (kernel.ok()) out.push_back(*std::move(kernel));
    return kernel.status();
  }
  SymId start = graph.syms().constant(0);
  for (size_t at = 0; at < joined; ++at) {
    KernelBuilder b(graph.syms(), kernelName(graph, group, ordinal), {}, arithmetic);
    b.declareStored(plan.bufferOf(group.outputs[0], group.region));
    if (absl::Status s = buildJoin(b, graph, plan, group, at, at + 1, start); !s.ok())
      return graph::Refused::of(graph, group.outputs[0]).in(s);
    out.push_back(std::move(b).take());
  }
  return absl::OkStatus();
}

}  // namespace fw::kernels
