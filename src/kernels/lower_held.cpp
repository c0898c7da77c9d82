// Updates that read what they overwrite at other places (graph::Group::Held). What is computed goes into a buffer of
// rows + delay rows, and from there into the array once nobody reads any more what it overwrites:
//
//   for blocks of rows
//     for rows of the block: everything; what updates store into the buffer, behind `delay` rows of the block before
//     for as many rows from the beginning of the buffer: into the array, `delay` rows further up
//     for `delay` rows: from the end of the buffer to its beginning
//
// Blocks run over the domain and `delay` rows beyond, so that the last rows leave the buffer, too.
#include <algorithm>

#include "kernels/lower_group.h"

namespace fw::kernels {
namespace {

using graph::Op;

class HeldBuilder {
 public:
  HeldBuilder(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
              GroupEmitter& emitter, const std::vector<ValueId>& outputs)
      : b_(b),
        group_(group),
        held_(*group.held),
        emitter_(emitter),
        outputs_(outputs),
        size_(b.syms().canonical(group.domain[held_.axis])) {
    size_t next = 0;
    for (ValueId id : outputs) {
      if (graph.node(id).op != Op::kUpdate) continue;
      const graph::Buffer& buffer = plan.buffers[held_.buffers[next].index];
      const MemoryRef ref{held_.buffers[next++], buffer.dtype, b.syms().constant(0), buffer.strides, false};
      stores_.push_back({id, ref, {buffer.layout.order.begin(), buffer.layout.order.end()}});
      b.declareStored(ref.buffer);
    }
  }

  absl::Status run() {
    graph::SymContext& syms = b_.syms();
    const SymId all = syms.add(size_, syms.constant(held_.delay + held_.rows - 1));
    const SymId blocks = syms.canonical(syms.floorDiv(all, syms.constant(held_.rows)));
    b_.loop(number(0), b_.param(blocks), false, false, [&](AxisId block) {
      compute(block);
      for (const Store& store : stores_) release(block, store);
      if (held_.delay == 0) return;
      for (const Store& store : stores_) keep(store);
    });
    return status_;
  }

 private:
  struct Store {
    ValueId update;
    MemoryRef buffer;
    IntList order;  ///< of the loops that copy
  };

  Val number(int64_t v) { return b_.constantInt(DType::kI64, v); }

  /// A ref, so many rows further on.
  MemoryRef moved(MemoryRef ref, int64_t rows) const {
    graph::SymContext& syms = b_.syms();
    ref.offset = syms.canonical(syms.add(ref.offset, syms.mul(syms.constant(rows), ref.strides[held_.axis])));
    return ref;
  }

  /// Rows stay an axis of their own.
  std::vector<NestAxis> loops(const IntList& order, const std::vector<const MemoryRef*>& refs) const {
    IntList alone = emitter_.indexAxes();
    alone.push_back(held_.axis);
    return mergeAxes(b_.syms(), group_.domain, order, refs, {}, alone);
  }

  /// The axes of a buffer that begins with a row of the block: rows are counted from the first of the domain.
  std::vector<NestAxis> inBlock(std::vector<NestAxis> axes) const {
    axes.insert(axes.begin(), NestAxis{{held_.axis}, size_, false, b_.syms().constant(-held_.rows)});
    return axes;
  }
  static std::vector<AxisId> with(AxisId first, std::vector<AxisId> axes) {
    axes.insert(axes.begin(), first);
    return axes;
  }

  /// Loops over rows, the first of `axes`, and over the others.
  void over(const std::vector<NestAxis>& axes, Val lower, Val upper,
            const std::function<void(const std::vector<AxisId>&)>& body) {
    const std::vector<NestAxis> inner(axes.begin() + 1, axes.end());
    b_.loop(lower, upper, inner.empty(), false, [&](AxisId rows) {
      openLoops(b_, inner, true, false,
                [&](const std::vector<AxisId>& axisOf) { emitter_.scoped([&] { body(with(rows, axisOf)); }); });
    });
  }

  /// Loops over the rows of the block, or over those that lie `behind` them, as far as there are any.
  void overBlock(const std::vector<NestAxis>& axes, AxisId block, int64_t behind,
                 const std::function<void(const std::vector<AxisId>&)>& body) {
    Val lower = b_.op(ScalarOp::kMul, b_.axisValue(block), number(held_.rows));
    if (behind > 0) lower = b_.op(ScalarOp::kSub, lower, number(behind));
    const Val next = b_.op(ScalarOp::kAdd, lower, number(held_.rows));
    const Val upper = b_.op(ScalarOp::kMinSecond, next, b_.param(size_));
    if (behind > 0) lower = b_.op(ScalarOp::kMaxSecond, lower, number(0));
    over(axes, lower, upper, body);
  }

  void compute(AxisId block) {
    std::vector<const MemoryRef*> refs = emitter_.refs();
    for (const Store& store : stores_) refs.push_back(&store.buffer);
    const std::vector<NestAxis> axes = loops(stores_[0].order, refs);
    const std::vector<NestAxis> buffered = inBlock(axes);
    overBlock(axes, block, 0, [&](const std::vector<AxisId>& axisOf) {
      emitter_.setAxes(&axes, axisOf);
      absl::StatusOr<std::vector<Value>> values = elementsOf(emitter_, outputs_);
      if (!values.ok()) {
        status_ = values.status();
        return;
      }
      size_t next = 0;
      for (size_t i = 0; i < outputs_.size(); ++i) {
        const bool held = next < stores_.size() && stores_[next].update == outputs_[i];
        emitter_.setAxes(held ? &buffered : &axes, held ? with(block, axisOf) : axisOf);
        emitter_.store(held ? moved(stores_[next++].buffer, held_.delay) : emitter_.outputRef(outputs_[i]),
                       (*values)[i]);
      }
    });
  }

  /// Rows that nobody reads any more go where they belong.
  void release(AxisId block, const Store& store) {
    const MemoryRef& target = emitter_.outputRef(store.update);
    const std::vector<NestAxis> axes = loops(store.order, {&store.buffer, &target});
    const std::vector<NestAxis> buffered = inBlock(axes);
    overBlock(axes, block, held_.delay, [&](const std::vector<AxisId>& axisOf) {
      emitter_.setAxes(&buffered, with(block, axisOf));
      const Value value = emitter_.load(moved(store.buffer, held_.delay));
      emitter_.setAxes(&axes, axisOf);
      emitter_.store(target, value);
    });
  }

  /// The last rows of the buffer stay for the next block.
  void keep(const Store& store) {
    const std::vector<NestAxis> axes = loops(store.order, {&store.buffer});
    over(axes, number(0), number(held_.delay), [&](const std::vector<AxisId>& axisOf) {
      emitter_.setAxes(&axes, axisOf);
      emitter_.store(store.buffer, emitter_.load(moved(store.buffer, held_.rows)));
    });
  }

  KernelBuilder& b_;
  const graph::Group& group_;
  const graph::Group::Held& held_;
  GroupEmitter& emitter_;
  const std::vector<ValueId>& outputs_;
  const SymId size_;  ///< rows of the domain
  std::vector<Store> stores_;
  absl::Status status_;
};

}  // namespace

absl::Status buildHeld(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
                       GroupEmitter& emitter, const std::vector<ValueId>& outputs) {
  return HeldBuilder(b, graph, plan, group, emitter, outputs).run();
}

}  // namespace fw::kernels
