// Reader of the text form of plans. Regions are numbered as they come, which is how they are numbered; operations and
// operands of values stand in the text for people, and are compared with the graph.
#include "graph/plan_text.h"
#include "graph/support/check.h"
#include "graph/text_cursor.h"

namespace fw::graph {
namespace {

class PlanParser {
 public:
  PlanParser(std::string_view text, const Graph& graph, const Target& target)
      : cursor_(text),
        graph_(graph),
        syms_(graph.syms()) {
    plan_.target = target;
    plan_.regions.push_back({{-1, ValueId()}, 0});
  }

  Plan run() {
    steps(0, plan_.steps);
    while (cursor_.accept("buffer ")) buffer();
    numberAllocs(plan_.steps);
    cursor_.expect("workspace ");
    plan_.workspaceBytes = bracketed();
    while (cursor_.accept("return buffer ")) output();
    if (!cursor_.atEnd()) cursor_.fail("text after the plan");
    return std::move(plan_);
  }

 private:
  const Graph& in(int region) const { return regionOf(plan_, graph_, region); }

  SymId bracketed() {
    cursor_.expect("[");
    const SymId id = cursor_.expression(syms_);
    cursor_.expect("]");
    return id;
  }
  /// What may stand in brackets behind a name.
  std::optional<SymId> option(std::string_view name) {
    return cursor_.accept(name) ? std::optional(bracketed()) : std::nullopt;
  }
  BufferId bufferId() { return BufferId(size_t{cursor_.number<uint32_t>()}); }
  IntList numbers() {
    return cursor_.list<IntList>([&] { return cursor_.number<int64_t>(); });
  }

  /// %n, with the region's number and a point in front if that is not 0.
  Place place() {
    const size_t start = cursor_.next();
    int region = 0;
    if (!cursor_.peek("%")) {
      region = cursor_.number<int>();
      cursor_.expect(".");
    }
    if (region < 0 || static_cast<size_t>(region) >= plan_.regions.size())
      TextCursor::failAt(start, "there is no region " + std::to_string(region));
    return {region, cursor_.value(in(region))};
  }

  SymList strides() {
    cursor_.expect("strides=");
    return cursor_.list<SymList>([&] { return cursor_.expression(syms_); });
  }

  /// Arrays are numbered in the order of their steps, when it is known which are arrays.
  void numberAllocs(Steps& steps) {
    if (allocs_.empty()) return;
    for (Step& step : steps) {
      if (auto* alloc = std::get_if<AllocStep>(&step.what)) {
        const bool known = alloc->buffer.index < plan_.buffers.size();
        const bool array = known && plan_.buffers[alloc->buffer.index].kind == BufferKind::kGiven;
        if (array) alloc->number = plan_.madeArrays++;
      }
      if (ControlStep* control = controlOf(step))
        for (ControlStep::Body& body : control->bodies) numberAllocs(body.steps);
    }
  }

  // ---- steps

  void steps(int region, Steps& out) {
    while (true) {
      const size_t start = cursor_.next();
      if (cursor_.accept("group ")) {
        if (cursor_.number<size_t>() != plan_.groups.size()) TextCursor::failAt(start, "groups come in order");
        out.push_back({KernelStep{static_cast<int>(plan_.groups.size())}});
        plan_.groups.push_back(group(region));
      } else if (cursor_.accept("then ")) {
        if (cursor_.number<size_t>() != plan_.commits.size()) TextCursor::failAt(start, "commits come in order");
        out.push_back({CommitStep{static_cast<int>(plan_.commits.size())}});
        plan_.commits.push_back(group(region));
      } else if (cursor_.accept("accept")) {
        out.push_back({AcceptStep{}});
      } else if (cursor_.accept("copy buffer ")) {
        CopyStep copy;
        copy.from = bufferId();
        cursor_.expect("to buffer ");
        copy.to = bufferId();
        out.push_back({copy});
      } else if (cursor_.accept("call ")) {
        out.push_back({call()});
      } else if (cursor_.accept("alloc buffer ")) {
        allocs_.push_back(bufferId());
        out.push_back({AllocStep{allocs_.back(), -1}});
      } else if (cursor_.accept("free buffer ")) {
        out.push_back({FreeStep{bufferId()}});
      } else if (cursor_.accept("loop ")) {
        out.push_back({loop()});
      } else if (cursor_.accept("cond ")) {
        out.push_back({cond()});
      } else if (cursor_.accept("bind ")) {
        out.push_back({bind()});
      } else if (cursor_.accept("define ")) {
        out.push_back({define()});
      } else {
        return;
      }
    }
  }

  Group::Kind groupKind() {
    const size_t start = cursor_.next();
    const std::string_view text = cursor_.word("kind of group");
    for (const Group::Kind kind : {Group::Kind::kMap, Group::Kind::kReduce, Group::Kind::kJoin, Group::Kind::kUpdate,
                                   Group::Kind::kCommit, Group::Kind::kCheck})
      if (kindName(kind) == text) return kind;
    TextCursor::failAt(start, "unknown kind of group");
  }

  Group group(int region) {
    const Graph& graph = in(region);
    Group group;
    cursor_.expect(":");
    group.kind = groupKind();
    group.region = region;
    group.domain = cursor_.shape(syms_);
    if (cursor_.accept("over ")) group.reducedAxes = numbers();
    cursor_.expect("->");
    group.outputs = cursor_.list<std::vector<ValueId>>([&] { return cursor_.value(graph); });
    if (cursor_.accept("held ")) {
      Group::Held held;
      held.delay = cursor_.number<int64_t>();
      cursor_.expect("along ");
      held.axis = cursor_.number<int64_t>();
      cursor_.expect("rows ");
      held.rows = cursor_.number<int64_t>();
      cursor_.expect("in ");
      held.buffers = cursor_.list<std::vector<BufferId>>([&] { return bufferId(); });
      group.held = std::move(held);
    }
    while (cursor_.peek("%")) {
      const size_t start = cursor_.next();
      const ValueId id = cursor_.value(graph);
      cursor_.expect("=");
      std::vector<ValueId> operands;
      const bool sameOp = cursor_.word("operation") == info(graph.node(id).op).text;
      cursor_.expect("(");
      if (!cursor_.peek(")")) {
        do {
          operands.push_back(cursor_.value(graph));
        } while (cursor_.accept(","));
      }
      cursor_.expect(")");
      if (!sameOp ||
          !std::equal(operands.begin(), operands.end(), graph.node(id).operands.begin(), graph.node(id).operands.end()))
        TextCursor::failAt(start, "the graph says something else");
      cursor_.expect("axes=");
      group.values.push_back(id);
      group.axisMap[id] = numbers();
    }
    return group;
  }

  CallStep call() {
    CallStep step;
    const size_t start = cursor_.next();
    step.node = place();
    const Node& node = in(step.node.region).node(step.node.value);
    const std::string callee = cursor_.quoted();
    cursor_.expect("site ");
    step.site = cursor_.number<int>();
    if (node.op != Op::kCall || callee != node.attrs.text(AttrKey::kCallee) ||
        step.site != node.attrs.integer(AttrKey::kSite))
      TextCursor::failAt(start, "the graph has something else there");
    step.number = plan_.calls++;
    cursor_.expect("(");
    while (cursor_.accept("buffer ")) {
      Window window{bufferId(), {}, {}, {}};
      cursor_.expect("offset=");
      window.offset = bracketed();
      window.shape = cursor_.shape(syms_);
      window.strides = strides();
      step.operands.push_back(std::move(window));
      cursor_.accept(",");
    }
    cursor_.expect(")");
    cursor_.expect("->");
    step.projects = cursor_.list<std::vector<ValueId>>([&] {
      step.results.emplace_back();
      if (cursor_.accept("_")) return ValueId();
      const ValueId project = cursor_.value(in(step.node.region));
      cursor_.expect("in ");
      step.results.back() = bufferId();
      return project;
    });
    if (cursor_.accept("sizes ")) {
      step.sizes = cursor_.list<std::vector<SymId>>([&] { return cursor_.expression(syms_); });
      plan_.bound.insert(step.sizes.begin(), step.sizes.end());
    }
    return step;
  }

  // ---- loops, branches, binds

  void begin(ControlStep& step, Op op) {
    const size_t start = cursor_.next();
    step.node = place();
    const Graph& graph = in(step.node.region);
    if (graph.node(step.node.value).op != op) TextCursor::failAt(start, "the graph has something else there");
    cursor_.expect("->");
    step.results = cursor_.list<std::vector<ValueId>>([&] {
      if (cursor_.accept("_")) return ValueId();
      return cursor_.value(in(step.node.region));
    });
  }

  void bodies(ControlStep& step) {
    const size_t count = in(step.node.region).node(step.node.value).regions.size();
    for (size_t i = 0; i < count; ++i) {
      cursor_.expect("{");
      const int number = static_cast<int>(plan_.regions.size());
      plan_.regions.push_back({step.node, static_cast<int>(i)});
      step.bodies.push_back({number, {}});
      steps(number, step.bodies.back().steps);
      cursor_.expect("}");
    }
  }

  LoopStep loop() {
    LoopStep step;
    begin(step, Op::kLoop);
    cursor_.expect("while buffer ");
    step.again = bufferId();
    step.trip = option("trip=");
    if ((step.index = option("symbol="))) plan_.bound.insert(*step.index);
    if (cursor_.accept("rewriting ")) step.rewrites = cursor_.list<std::vector<BufferId>>([&] { return bufferId(); });
    plan_.rewrites |= !step.rewrites.empty();
    bodies(step);
    if (cursor_.accept("handles ")) step.handles = cursor_.list<std::vector<BufferId>>([&] { return bufferId(); });
    if (cursor_.accept("moves "))
      step.moves = cursor_.list<std::vector<std::pair<BufferId, BufferId>>>([&] {
        const BufferId to = bufferId();
        cursor_.expect("<-");
        return std::pair(to, bufferId());
      });
    return step;
  }

  CondStep cond() {
    CondStep step;
    begin(step, Op::kCond);
    cursor_.expect("if buffer ");
    step.predicate = bufferId();
    bodies(step);
    return step;
  }

  /// The symbol that a step gives its value, where that stands, and its range.
  template <class Step>
  void symbolOf(Step& step) {
    plan_.bound.insert(step.symbol = bracketed());
    cursor_.expect("= buffer ");
    step.from = bufferId();
    cursor_.expect("in ");
    const SymShape range = cursor_.shape(syms_);
    if (range.size() != 2) cursor_.fail("two bounds expected");
    step.least = range[0];
    step.most = range[1];
  }

  BindStep bind() {
    BindStep step;
    begin(step, Op::kBind);
    symbolOf(step);
    bodies(step);
    return step;
  }

  DefineStep define() {
    DefineStep step;
    const size_t start = cursor_.next();
    step.node = place();
    if (in(step.node.region).node(step.node.value).op != Op::kDefine)
      TextCursor::failAt(start, "the graph has something else there");
    symbolOf(step);
    ++plan_.definitions;
    return step;
  }

  // ---- memory

  BufferKind bufferKind() {
    const size_t start = cursor_.next();
    const std::string_view text = cursor_.word("kind of buffer");
    for (const BufferKind kind : {BufferKind::kInput, BufferKind::kOutput, BufferKind::kTemp, BufferKind::kHandle,
                                  BufferKind::kGiven, BufferKind::kHeap})
      if (kindName(kind) == text) return kind;
    TextCursor::failAt(start, "unknown kind of buffer");
  }

  void buffer() {
    const size_t start = cursor_.next();
    if (cursor_.number<size_t>() != plan_.buffers.size()) TextCursor::failAt(start, "buffers come in order");
    cursor_.expect(":");
    Buffer buffer{};
    buffer.kind = bufferKind();
    buffer.index = cursor_.number<int>();
    buffer.dtype = cursor_.dtype();
    buffer.shape = cursor_.shape(syms_);
    buffer.layout = cursor_.layout(static_cast<int>(buffer.shape.size()));
    buffer.strides = strides();
    buffer.offset = syms_.constant(0);
    if (cursor_.accept("at ")) buffer.offset = bracketed();
    if (cursor_.accept("from ")) buffer.home = bufferId();
    cursor_.expect("holds ");
    const BufferId id(plan_.buffers.size());
    for (const Place& held : cursor_.list<std::vector<Place>>([&] { return place(); }))
      if (!plan_.memory.emplace(held, id).second) TextCursor::failAt(start, "a value has two places");
    plan_.buffers.push_back(std::move(buffer));
  }

  void output() {
    OutputBinding output{bufferId(), cursor_.accept("view "), syms_.constant(0), {}, {}};
    if (output.isView) {
      cursor_.expect("offset=");
      output.offset = bracketed();
    }
    output.shape = cursor_.shape(syms_);
    output.strides = strides();
    plan_.outputs.push_back(std::move(output));
  }

  TextCursor cursor_;
  const Graph& graph_;
  SymContext& syms_;
  Plan plan_;
  std::vector<BufferId> allocs_;
};

}  // namespace

absl::StatusOr<Plan> parsePlan(std::string_view text, const Graph& graph, const Target& target) {
  try {
    Plan plan = PlanParser(text, graph, target).run();
    const std::vector<std::string> problems = verify(plan, graph);
    if (problems.empty()) return plan;
    return absl::InvalidArgumentError("unsound plan: " + problems[0]);
  } catch (const SyntaxError& e) {
    return toStatus(text, e);
  }
}

}  // namespace fw::graph
