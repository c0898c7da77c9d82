// argmax and argmin in one pass: the extreme and where it stands are accumulated together (ReduceOrder::kFirst).
//
//   for outer reduced axes          kLowest, in the order of memory
//     for chunks of the innermost   where positions are shorter than i64
//       for its elements            kFirst, vectorised
//
// A position is counted along its own loop, from the beginning of a chunk, in an integer as wide as the element, so
// that both have as many lanes; outwards it becomes the flat index (C order of the reduced axes). Accumulators start
// from the worst number at position 0: if nothing beats that, all elements equal it.
#include <algorithm>

#include "kernels/lower_reduce.h"

namespace fw::kernels {

namespace {

DType positionType(DType element) {
  switch (graph::itemSize(element)) {
    case 8: return DType::kI64;
    case 4: return DType::kI32;
    default: return DType::kI16;
  }
}

/// Elements whose positions the type can tell.
int64_t chunkOf(DType position) { return position == DType::kI32 ? int64_t{1} << 30 : int64_t{1} << 15; }

class FirstFinder {
 public:
  FirstFinder(KernelBuilder& b, GroupEmitter& emitter, const PositionNest& nest)
      : b_(b),
        emitter_(emitter),
        nest_(nest),
        zero_(b.constantInt(DType::kI64, 0)),
        worst_(nest.worst) {
    type_ = worst_.dtype == DType::kBool ? DType::kU8 : worst_.dtype;
    if (nest.isShort && graph::itemSize(type_) < 4) type_ = DType::kI32;  // no more lanes than are loaded at once
    worst_ = b.cast(worst_, type_);
    position_ = positionType(type_);
  }

  absl::StatusOr<Val> run() {
    const Found found = level(nest_.kept, emitter_.axisOf());
    if (!status_.ok()) return status_;
    return found.flat;
  }

 private:
  struct Found {
    Val value, flat;
  };

  Found reduce(Val lower, Val upper, bool vectorize, ReduceOrder order, DType position,
               const std::function<Found(AxisId)>& body) {
    const std::vector<Val> found =
        b_.reduce(lower, upper, vectorize, order,
                  {{type_, nest_.combine, worst_}, {position, ScalarOp::kMinSecond, b_.constantInt(position, 0)}},
                  [&](AxisId axis) {
                    const Found f = body(axis);
                    return std::vector<Val>{f.value, f.flat};
                  });
    return {found[0], found[1]};
  }

  Found level(size_t at, std::vector<AxisId> open) {
    const NestAxis& axis = nest_.axes[at];
    const Val size = b_.param(axis.size), step = b_.param(nest_.flat.strides[axis.innermost()]);
    if (at + 1 == nest_.axes.size()) {
      const Found found = position_ == DType::kI64 || nest_.isShort ? elements(zero_, size, open) : chunks(size, open);
      return {found.value, b_.op(ScalarOp::kMul, found.flat, step)};
    }
    return reduce(zero_, size, false, ReduceOrder::kLowest, DType::kI64, [&](AxisId id) -> Found {
      std::vector<AxisId> deeper = open;
      deeper.push_back(id);
      const Found inner = level(at + 1, deeper);
      return {inner.value, b_.op(ScalarOp::kAdd, inner.flat, b_.op(ScalarOp::kMul, b_.axisValue(id), step))};
    });
  }

  Found chunks(Val size, const std::vector<AxisId>& open) {
    graph::SymContext& syms = b_.syms();
    const SymId whole = nest_.axes.back().size, chunk = syms.constant(chunkOf(position_));
    const SymId count = syms.floorDiv(syms.add(whole, syms.constant(chunkOf(position_) - 1)), chunk);
    return reduce(zero_, b_.param(count), false, ReduceOrder::kFirst, DType::kI64, [&](AxisId id) -> Found {
      const Val lower = b_.op(ScalarOp::kMul, b_.axisValue(id), b_.param(chunk));
      const Val end = b_.op(ScalarOp::kAdd, lower, b_.param(chunk));
      const Found found = elements(lower, b_.op(ScalarOp::kMinSecond, end, size), open);
      return {found.value, b_.op(ScalarOp::kAdd, found.flat, lower)};
    });
  }

  /// Of the innermost axis; positions from `lower` on.
  Found elements(Val lower, Val upper, const std::vector<AxisId>& open) {
    const Val from = position_ == DType::kI64 ? lower : b_.cast(lower, position_);
    const Found found = reduce(lower, upper, nest_.vectorize, ReduceOrder::kFirst, position_, [&](AxisId id) -> Found {
      std::vector<AxisId> all = open;
      all.push_back(id);
      Val x = worst_;
      emitter_.scoped([&] {
        emitter_.setAxes(&nest_.axes, all);
        absl::StatusOr<Value> v = emitter_.operandElement(nest_.id, 0);
        if (v.ok())
          x = b_.cast(v->re, type_);
        else if (status_.ok())
          status_ = v.status();
        emitter_.observeUnused({x});
      });
      return {x, b_.op(ScalarOp::kSub, b_.axisValue(id, position_), from)};
    });
    return {found.value, position_ == DType::kI64 ? found.flat : b_.cast(found.flat, DType::kI64)};
  }

  KernelBuilder& b_;
  GroupEmitter& emitter_;
  const PositionNest& nest_;
  const Val zero_;
  Val worst_;
  DType type_, position_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Val> positionOfExtreme(KernelBuilder& b, GroupEmitter& emitter, const PositionNest& nest) {
  return FirstFinder(b, emitter, nest).run();
}

}  // namespace fw::kernels
