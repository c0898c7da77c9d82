// A tree walk with one 64-bit slot per expression. Addresses and parameters are evaluated once, up front.
#include "kernels/interpreter.h"

#include <cfenv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "graph/pairwise_order.h"
#include "graph/support/bits.h"
#include "graph/support/check.h"
#include "kernels/math_calls.h"
#include "kernels/scalar_eval.h"

namespace fw::kernels {
namespace {

uint64_t ieeeStatus() {
  static constexpr std::pair<int, StatusBit> kFlags[] = {
      {FE_INVALID, kInvalid}, {FE_DIVBYZERO, kDivide}, {FE_OVERFLOW, kOverflow}, {FE_UNDERFLOW, kUnderflow}};
  uint64_t status = 0;
  for (const auto& [flag, bit] : kFlags)
    if (std::fetestexcept(flag)) status |= bit;
  return status;
}

/// init + the tree over `elements`.
template <class T>
uint64_t sumTree(ReduceOrder order, uint64_t init, const std::vector<uint64_t>& elements) {
  const auto get = [&](int64_t i) { return fromBits<T>(elements[i]); };
  const int64_t n = static_cast<int64_t>(elements.size());
  if (n == 0) return init;
  const T tree =
      order == ReduceOrder::kPairwise ? graph::pairwiseSum<T>(0, n, get) : graph::pairwiseSumOfPart<T>(0, n, get);
  const T sum = fromBits<T>(init) + tree;
  return bitsOf(sum);
}

/// init + the elements as `by` adds them, stretch by stretch.
template <class T>
uint64_t sumOfList(ListedSum::By by, graph::ReductionChunk chunk, uint64_t init, const std::vector<uint64_t>& list) {
  const auto get = [&](int64_t i) { return fromBits<T>(list[static_cast<size_t>(i)]); };
  const auto n = static_cast<int64_t>(list.size());
  T sum = fromBits<T>(init);
  for (int64_t i = 0; by == ListedSum::By::kElement && i < n; ++i) sum = sum + get(i);
  for (int64_t period = 0; by != ListedSum::By::kElement && period < n; period += chunk.period)
    for (int64_t first = period, end = std::min(period + chunk.period, n); first < end; first += chunk.length) {
      const int64_t count = std::min(chunk.length, end - first);
      sum = sum + (by == ListedSum::By::kPairs ? graph::pairwiseSum<T>(first, count, get)
                                               : graph::pairwiseSumOfPart<T>(first, count, get));
    }
  return bitsOf(sum);
}

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, absl::Span<void* const> buffers) : kernel_(kernel), buffers_(buffers) {}

  absl::Status prepare(const graph::SymContext& syms, absl::Span<const int64_t> symbols) {
    values_.resize(kernel_.exprs.size());
    axes_.resize(kernel_.axisCount);
    results_.resize(kernel_.stmts.size());
    for (size_t i = 0; i < kernel_.exprs.size(); ++i) {
      if (kernel_.exprs[i].op != ScalarOp::kParam) continue;
      auto v = syms.evaluate(kernel_.exprs[i].sym, symbols);
      if (!v.ok()) return v.status();
      values_[i] = static_cast<uint64_t>(*v);
    }
    for (const ListedSum& sum : kernel_.sums) {
      std::vector<int64_t> numbers[2];
      for (const auto& [from, to] : {std::pair(&sum.sizes, &numbers[0]), std::pair(&sum.strides, &numbers[1])})
        for (SymId id : *from) {
          auto v = syms.evaluate(id, symbols);
          if (!v.ok()) return v.status();
          to->push_back(*v);
        }
      chunks_.push_back(graph::chunkOfAxes(numbers[0], numbers[1], sum.casting));
    }
    for (const Access& a : kernel_.accesses) {
      Address address;
      auto offset = syms.evaluate(a.offset, symbols);
      if (!offset.ok()) return offset.status();
      FW_CHECK(a.buffer.index < buffers_.size());
      address.base = static_cast<std::byte*>(buffers_[a.buffer.index]) + *offset;
      for (const Access::Term& t : a.terms) {
        auto stride = syms.evaluate(t.stride, symbols);
        if (!stride.ok()) return stride.status();
        address.terms.push_back({t.axis, *stride});
      }
      addresses_.push_back(std::move(address));
    }
    return absl::OkStatus();
  }

  absl::Status prepareChecks(const graph::Plan& plan, const graph::SymContext& syms,
                             absl::Span<const int64_t> symbols) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const graph::Buffer& buffer = plan.buffers[b];
      int64_t first = 0, end = graph::itemSize(buffer.dtype);  // bytes from its address
      bool empty = false;
      for (size_t axis = 0; axis < buffer.shape.size(); ++axis) {
        auto size = syms.evaluate(buffer.shape[axis], symbols), stride = syms.evaluate(buffer.strides[axis], symbols);
        if (!size.ok() || !stride.ok()) return size.ok() ? stride.status() : size.status();
        empty |= *size <= 0;
        const int64_t reach = (*size - 1) * *stride;
        (reach < 0 ? first : end) += reach;
      }
      if (empty || !buffers_[b]) first = end = 0;
      auto* at = static_cast<std::byte*>(buffers_[b]);
      extents_.push_back({at + first, at + end});
    }
    return absl::OkStatus();
  }

  uint64_t run() {
    block(kernel_.body);
    return status_;
  }

  /// An access that was not made, if checks are prepared.
  std::optional<uint32_t> outside() const { return outside_; }

 private:
  struct Extent {
    std::byte *first, *end;
  };

  struct Address {
    std::byte* base = nullptr;
    std::vector<std::pair<AxisId, int64_t>> terms;
  };

  std::byte* locate(uint32_t access, DType dtype, int64_t distance = 0) {
    const Address& a = addresses_[access];
    std::byte* p = a.base + distance;
    for (const auto& [axis, stride] : a.terms) p += axes_[axis.index] * stride;
    if (extents_.empty()) return p;
    const Extent& extent = extents_[kernel_.accesses[access].buffer.index];
    if (p >= extent.first && p + graph::itemSize(dtype) <= extent.end) return p;
    outside_ = access;
    return nowhere_;
  }

  void block(const Block& b) {
    for (const Item& item : b.items)
      if (item.expr.valid())
        expression(item.expr);
      else
        statement(item.stmt);
  }

  void expression(ExprId id) {
    const Expr& e = kernel_.exprs[id.index];
    uint64_t& out = values_[id.index];
    if (e.op == ScalarOp::kParam) return;
    if (e.op == ScalarOp::kConst) {
      out = e.imm;
      return;
    }
    if (e.op == ScalarOp::kAxis) {
      out = static_cast<uint64_t>(axes_[e.axis.index]) & (~uint64_t{0} >> (64 - 8 * graph::itemSize(e.dtype)));
      return;
    }
    if (e.op == ScalarOp::kLoad) {
      out = 0;
      std::memcpy(&out, locate(e.access, e.dtype), graph::itemSize(e.dtype));
      return;
    }
    if (e.op == ScalarOp::kLoadAt) {
      int64_t distance = 0;
      for (size_t i = 0; i < e.operands.size(); i += 3) {
        const auto number = [&](size_t k) { return static_cast<int64_t>(values_[e.operands[i + k].index]); };
        FW_CHECK_MSG(number(1) > 0, "an element of an axis that is empty");
        const int64_t place = number(0) % number(1);
        distance += (place < 0 ? place + number(1) : place) * number(2);
      }
      out = 0;
      std::memcpy(&out, locate(e.access, e.dtype, distance), graph::itemSize(e.dtype));
      return;
    }
    if (e.op == ScalarOp::kReduceResult) {
      out = results_[e.stmt.index][e.imm];
      return;
    }
    uint64_t operands[3] = {};
    for (size_t i = 0; i < e.operands.size(); ++i) operands[i] = values_[e.operands[i].index];
    if (e.op == ScalarOp::kRaiseIf) {
      if (operands[0]) status_ |= e.imm;
      return;
    }
    const DType d = kernel_.exprs[e.operands[0].index].dtype;
    if (e.op == ScalarOp::kCallLibm)
      out = evalLibm(e.imm, e.dtype, operands, static_cast<int>(e.operands.size()));
    else if (e.op == ScalarOp::kCallMath)
      out = callMath(e, operands);
    else
      out = evalScalar(e.op, d, e.dtype, operands);
  }

  uint64_t callMath(const Expr& e, uint64_t (&operands)[3]) {
    const MathFunction& function = mathFunction(MathCall::of(e.imm), e.dtype);
    uint64_t result = 0;
    std::vector<void*> buffers;
    for (size_t i = 0; i < e.operands.size(); ++i) buffers.push_back(&operands[i]);
    buffers.push_back(&result);
    Interpreter own(function.kernel, buffers);
    FW_CHECK(own.prepare(function.syms, {}).ok());
    status_ |= own.run();
    return result;
  }

  void statement(StmtId id) {
    const Stmt& s = kernel_.stmts[id.index];
    switch (s.kind) {
      case StmtKind::kStore: {
        const DType dtype = kernel_.exprs[s.value.index].dtype;
        std::memcpy(locate(s.access, dtype), &values_[s.value.index], graph::itemSize(dtype));
        return;
      }
      case StmtKind::kObserve: return;
      case StmtKind::kIf:
        if (values_[s.value.index]) block(s.body);
        return;
      case StmtKind::kLoop: {
        const int64_t upper = static_cast<int64_t>(values_[s.upper.index]);
        for (int64_t i = static_cast<int64_t>(values_[s.lower.index]); i < upper; ++i) {
          axes_[s.axis.index] = i;
          block(s.body);
        }
        return;
      }
      case StmtKind::kReduce: return reduce(id, s);
    }
    FW_UNREACHABLE();
  }

  /// All elements of a nest of kListed loops, by accumulator.
  void list(const Stmt& s, std::vector<std::vector<uint64_t>>& lists) {
    const int64_t upper = static_cast<int64_t>(values_[s.upper.index]);
    for (int64_t i = static_cast<int64_t>(values_[s.lower.index]); i < upper; ++i) {
      axes_[s.axis.index] = i;
      const Stmt* inner = nullptr;
      for (const Item& item : s.body.items) {
        const bool nests = item.stmt.valid() && kernel_.stmts[item.stmt.index].order == ReduceOrder::kListed &&
                           kernel_.stmts[item.stmt.index].sum < 0;
        if (nests)
          list(*(inner = &kernel_.stmts[item.stmt.index]), lists);
        else if (!inner)
          block({{item}});
      }
      for (size_t k = 0; k < lists.size() && !inner; ++k) lists[k].push_back(values_[s.accumulators[k].element.index]);
    }
  }

  void sumList(StmtId id, const Stmt& s) {
    std::vector<std::vector<uint64_t>> lists(s.accumulators.size());
    list(s, lists);
    const auto at = static_cast<size_t>(s.sum);
    std::vector<uint64_t>& results = results_[id.index];
    results.clear();
    for (size_t k = 0; k < lists.size(); ++k) {
      const Accumulator& a = s.accumulators[k];
      const uint64_t init = values_[a.init.index];
      results.push_back(a.dtype == DType::kF32 ? sumOfList<float>(kernel_.sums[at].by, chunks_[at], init, lists[k])
                                               : sumOfList<double>(kernel_.sums[at].by, chunks_[at], init, lists[k]));
    }
  }

  void reduce(StmtId id, const Stmt& s) {
    if (s.order == ReduceOrder::kListed) return sumList(id, s);
    const bool tree = s.order == ReduceOrder::kPairwise || s.order == ReduceOrder::kPairwisePart;
    const size_t n = s.accumulators.size();
    std::vector<uint64_t> acc(n);
    std::vector<std::vector<uint64_t>> elements(tree ? n : 0);
    for (size_t k = 0; k < n; ++k) acc[k] = values_[s.accumulators[k].init.index];
    const int64_t upper = static_cast<int64_t>(values_[s.upper.index]);
    for (int64_t i = static_cast<int64_t>(values_[s.lower.index]); i < upper; ++i) {
      axes_[s.axis.index] = i;
      block(s.body);
      if (findsExtreme(s.order)) takeExtreme(s, acc);
      for (size_t k = 0; k < n && !findsExtreme(s.order); ++k) {
        const Accumulator& a = s.accumulators[k];
        const uint64_t operands[3] = {acc[k], values_[a.element.index], 0};
        if (tree)
          elements[k].push_back(operands[1]);
        else
          acc[k] = evalScalar(a.combine, a.dtype, a.dtype, operands);
      }
    }
    for (size_t k = 0; tree && k < n; ++k)
      acc[k] = s.accumulators[k].dtype == DType::kF32 ? sumTree<float>(s.order, acc[k], elements[k])
                                                      : sumTree<double>(s.order, acc[k], elements[k]);
    results_[id.index] = std::move(acc);
  }

  /// One step of kFirst and kLowest.
  void takeExtreme(const Stmt& s, std::vector<uint64_t>& acc) {
    const DType d = s.accumulators[0].dtype, at = s.accumulators[1].dtype;
    const uint64_t x = values_[s.accumulators[0].element.index], where = values_[s.accumulators[1].element.index];
    const auto is = [](ScalarOp op, DType type, uint64_t a, uint64_t b) {
      const uint64_t operands[3] = {a, b, 0};
      return evalScalar(op, type, DType::kBool, operands) != 0;
    };
    const auto isNan = [&](uint64_t v) { return graph::isFloat(d) && is(ScalarOp::kIsNan, d, v, 0); };
    const ScalarOp better = s.accumulators[0].combine == ScalarOp::kMaxSecond ? ScalarOp::kGt : ScalarOp::kLt;
    bool takes = isNan(x) ? !isNan(acc[0]) : is(better, d, x, acc[0]);
    const bool same = isNan(x) ? isNan(acc[0]) : is(ScalarOp::kEq, d, x, acc[0]);
    takes |= s.order == ReduceOrder::kLowest && same && is(ScalarOp::kLt, at, where, acc[1]);
    if (takes) acc = {x, where};
  }

  const Kernel& kernel_;
  absl::Span<void* const> buffers_;
  std::vector<uint64_t> values_;
  std::vector<int64_t> axes_;
  std::vector<std::vector<uint64_t>> results_;
  std::vector<Address> addresses_;
  std::vector<graph::ReductionChunk> chunks_;  ///< of the kernel's listed sums
  std::vector<Extent> extents_;                ///< of the buffers, if accesses are checked
  std::optional<uint32_t> outside_;
  std::byte nowhere_[16] = {};
  uint64_t status_ = 0;
};

}  // namespace

absl::StatusOr<uint64_t> interpret(const Kernel& kernel, const graph::SymContext& syms,
                                   absl::Span<const int64_t> symbols, absl::Span<void* const> buffers,
                                   const graph::Plan* checked) {
  Interpreter interpreter(kernel, buffers);
  if (absl::Status s = interpreter.prepare(syms, symbols); !s.ok()) return s;
  if (checked)
    if (absl::Status s = interpreter.prepareChecks(*checked, syms, symbols); !s.ok()) return s;
  std::feclearexcept(FE_ALL_EXCEPT);
  const uint64_t raised = interpreter.run();
  if (auto access = interpreter.outside())
    return absl::OutOfRangeError(kernel.name + ": access " + std::to_string(*access) + " is outside of its buffer");
  return raised | ieeeStatus();
}

}  // namespace fw::kernels
