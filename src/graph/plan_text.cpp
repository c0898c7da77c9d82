// Writer of the text form, which goldens and the log channel "kernels" show.
#include "graph/plan_text.h"

#include <algorithm>

#include "graph/support/check.h"

namespace fw::graph {
namespace {

template <class List, class Text>
std::string listOf(const List& list, const Text& text) {
  std::string result = "[";
  for (const auto& item : list) result += (result.size() > 1 ? ", " : "") + text(item);
  return result + "]";
}

std::string number(int64_t n) { return std::to_string(n); }
std::string valueName(ValueId id) { return "%" + std::to_string(id.index); }
std::string bufferName(BufferId id) { return std::to_string(id.index); }
/// Values of regions have the region's number in front.
std::string placeName(const Place& place) {
  return (place.region == 0 ? "" : std::to_string(place.region) + ".") + valueName(place.value);
}

class Printer {
 public:
  Printer(const Plan& plan, const Graph& graph, bool whole)
      : plan_(plan),
        graph_(graph),
        syms_(graph.syms()),
        whole_(whole) {}

  std::string run() {
    steps(plan_.steps, "");
    buffers();
    text_ += "workspace " + option("", plan_.workspaceBytes) + "\n";
    for (const OutputBinding& output : plan_.outputs) {
      text_ += "return buffer " + bufferName(output.buffer);
      if (output.isView) text_ += option(" view offset=", output.offset);
      text_ += " " + shape(output.shape) + " strides=" + shape(output.strides) + "\n";
    }
    return std::move(text_);
  }

 private:
  std::string sym(SymId id) const {
    // Offsets are sums over all that lies in front: written out, they would be longer than everything else.
    constexpr size_t kMaxOperands = 16;
    const size_t count = syms_.node(id).operands.size();
    return whole_ || count <= kMaxOperands ? syms_.print(id) : "<" + std::to_string(count) + " terms>";
  }
  std::string option(const std::string& name, SymId id) const { return name + "[" + sym(id) + "]"; }
  template <class List>
  std::string shape(const List& list) const {
    return listOf(list, [&](SymId id) { return sym(id); });
  }

  void group(const Group& group, const std::string& title, const std::string& indent) {
    const Graph& graph = regionOf(plan_, graph_, group.region);
    text_ += indent + title + ": " + std::string(kindName(group.kind)) + " " + shape(group.domain);
    if (!group.reducedAxes.empty()) text_ += " over " + listOf(group.reducedAxes, number);
    text_ += " -> " + listOf(group.outputs, valueName);
    if (group.held)
      text_ += " held " + number(group.held->delay) + " along " + number(group.held->axis) + " rows " +
               number(group.held->rows) + " in " + listOf(group.held->buffers, bufferName);
    text_ += "\n";
    for (ValueId id : group.values) {
      const Node& node = graph.node(id);
      text_ += indent + "  " + valueName(id) + " = " + std::string(info(node.op).text) + "(";
      for (size_t k = 0; k < node.operands.size(); ++k) text_ += (k ? ", " : "") + valueName(node.operands[k]);
      text_ += ") axes=" + listOf(group.axisMap.at(id), number) + "\n";
    }
  }

  void steps(const Steps& steps, const std::string& indent) {
    for (const Step& step : steps) std::visit([&](const auto& what) { show(what, indent); }, step.what);
  }

  void show(const KernelStep& step, const std::string& indent) {
    group(plan_.groups[step.group], "group " + std::to_string(step.group), indent);
  }
  void show(const CommitStep& step, const std::string& indent) {
    group(plan_.commits[step.commit], "then " + std::to_string(step.commit), indent);
  }
  void show(const AcceptStep&, const std::string& indent) { text_ += indent + "accept\n"; }
  void show(const CopyStep& step, const std::string& indent) {
    text_ += indent + "copy buffer " + bufferName(step.from) + " to buffer " + bufferName(step.to) + "\n";
  }

  void show(const LoopStep& step, const std::string& indent) {
    begin("loop ", step, indent);
    text_ += " while buffer " + bufferName(step.again);
    if (step.trip) text_ += option(" trip=", *step.trip);
    if (step.index) text_ += option(" symbol=", *step.index);
    if (!step.rewrites.empty()) text_ += " rewriting " + listOf(step.rewrites, bufferName);
    bodies(step, indent);
    if (!step.handles.empty()) text_ += indent + "handles " + listOf(step.handles, bufferName) + "\n";
    if (!step.moves.empty())
      text_ += indent + "moves " +
               listOf(step.moves,
                      [](const auto& move) { return bufferName(move.first) + " <- " + bufferName(move.second); }) +
               "\n";
  }
  void show(const CondStep& step, const std::string& indent) {
    begin("cond ", step, indent);
    text_ += " if buffer " + bufferName(step.predicate);
    bodies(step, indent);
  }
  void show(const BindStep& step, const std::string& indent) {
    begin("bind ", step, indent);
    text_ += option(" ", step.symbol) + " = buffer " + bufferName(step.from) + " in [" + sym(step.least) + ", " +
             sym(step.most) + "]";
    bodies(step, indent);
  }

  void show(const DefineStep& step, const std::string& indent) {
    text_ += indent + "define " + placeName(step.node) + option(" ", step.symbol) + " = buffer " +
             bufferName(step.from) + " in [" + sym(step.least) + ", " + sym(step.most) + "]\n";
  }

  void begin(const std::string& what, const ControlStep& step, const std::string& indent) {
    text_ += indent + what + placeName(step.node) + " -> " +
             listOf(step.results, [](ValueId id) { return id.valid() ? valueName(id) : "_"; });
  }

  void show(const CallStep& step, const std::string& indent) {
    const Node& node = regionOf(plan_, graph_, step.node.region).node(step.node.value);
    text_ += indent + "call " + placeName(step.node) + " \"" + node.attrs.text(AttrKey::kCallee) + "\" site " +
             std::to_string(step.site) + " (";
    for (const Window& operand : step.operands) {
      text_ += (&operand == step.operands.data() ? "" : ", ") + ("buffer " + bufferName(operand.buffer));
      text_ += option(" offset=", operand.offset) + " " + shape(operand.shape) + " strides=" + shape(operand.strides);
    }
    std::vector<std::string> results;
    for (size_t i = 0; i < step.projects.size(); ++i)
      results.push_back(step.projects[i].valid() ? valueName(step.projects[i]) + " in " + bufferName(step.results[i])
                                                 : "_");
    text_ += ") -> " + listOf(results, [](const std::string& text) { return text; });
    if (!step.sizes.empty()) text_ += " sizes " + shape(step.sizes);
    text_ += "\n";
  }
  void show(const AllocStep& step, const std::string& indent) {
    text_ += indent + "alloc buffer " + bufferName(step.buffer) + "\n";
  }
  void show(const FreeStep& step, const std::string& indent) {
    text_ += indent + "free buffer " + bufferName(step.buffer) + "\n";
  }

  void bodies(const ControlStep& step, const std::string& indent) {
    for (const ControlStep::Body& body : step.bodies) {
      text_ += " {  # region " + std::to_string(body.region) + "\n";
      steps(body.steps, indent + "  ");
      text_ += indent + "}";
    }
    text_ += "\n";
  }

  void buffers() {
    std::vector<std::vector<Place>> held(plan_.buffers.size());
    for (const auto& [place, id] : plan_.memory) held[id.index].push_back(place);
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      text_ += "buffer " + std::to_string(i) + ": " + std::string(kindName(buffer.kind)) + " " +
               std::to_string(buffer.index) + " " + std::string(name(buffer.dtype)) + shape(buffer.shape);
      if (buffer.layout != Layout::c(buffer.layout.rank())) text_ += " layout=" + buffer.layout.print();
      text_ += " strides=" + shape(buffer.strides);
      if (buffer.kind == BufferKind::kTemp) text_ += option(" at ", buffer.offset);
      if (buffer.kind == BufferKind::kHandle) text_ += " from " + bufferName(buffer.home);
      std::sort(held[i].begin(), held[i].end(), [](const Place& a, const Place& b) {
        return std::pair(a.region, a.value) < std::pair(b.region, b.value);
      });
      text_ += " holds " + listOf(held[i], placeName) + "\n";
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  const SymContext& syms_;
  const bool whole_;
  std::string text_;
};

}  // namespace

std::string_view kindName(Group::Kind kind) {
  switch (kind) {
    case Group::Kind::kMap: return "map";
    case Group::Kind::kReduce: return "reduce";
    case Group::Kind::kJoin: return "join";
    case Group::Kind::kUpdate: return "update";
    case Group::Kind::kCommit: return "commit";
    case Group::Kind::kCheck: return "check";
    case Group::Kind::kControl: return "control";
  }
  FW_UNREACHABLE();
}

std::string_view kindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput: return "input";
    case BufferKind::kOutput: return "output";
    case BufferKind::kTemp: return "temp";
    case BufferKind::kHandle: return "handle";
    case BufferKind::kGiven: return "given";
    case BufferKind::kHeap: return "heap";
  }
  FW_UNREACHABLE();
}

std::string print(const Plan& plan, const Graph& graph) { return Printer(plan, graph, false).run(); }
std::string printWhole(const Plan& plan, const Graph& graph) { return Printer(plan, graph, true).run(); }

}  // namespace fw::graph
