// Generated code links: whatever an operation of any type is computed by, next to whatever else, the code generator
// calls no library function that nobody has. A name that is missing shows when the code is linked, as an error.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/numpy_types.h"
#include "graph/op.h"
#include "graph/passes/pass_manager.h"
#include "jit/compile.h"
#include "kernel_case.h"
#include "native_graph.h"

namespace fw::jit::testing {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpClass;
using graph::ValueId;

constexpr DType kTypes[] = {DType::kBool, DType::kI8,  DType::kU8,  DType::kI16, DType::kU16,
                            DType::kI32,  DType::kU32, DType::kI64, DType::kU64, DType::kF16,
                            DType::kF32,  DType::kF64, DType::kC64, DType::kC128};

/// A graph over arrays of n elements, or over scalars.
class Program {
 public:
  explicit Program(int rank) : size_(graph_.syms().symbol("s0", {0, 1 << 20})) {
    if (rank) shape_ = {size_};
  }

  ValueId input(DType d) {
    return graph_.input(inputs_++, graph::ValueType{d, shape_, graph::Layout::c(static_cast<int>(shape_.size())), {}});
  }

  /// op(operands) as an output; nothing where NumPy has no such loop.
  std::optional<ValueId> add(Op op, const std::vector<ValueId>& values) {
    std::vector<graph::UfuncOperand> operands;
    for (size_t i = 0; i < static_cast<size_t>(graph::info(op).arity); ++i)
      operands.push_back({values[i % values.size()]});
    const absl::StatusOr<ValueId> added = graph::addUfunc(graph_, op, operands);
    if (!added.ok()) return std::nullopt;
    return *added;
  }

  void output(ValueId id) { graph_.outputs().push_back(id); }
  Graph& graph() { return graph_; }

  absl::Status compileFor(Isa isa, int optLevel) {
    if (absl::Status s = graph::runPasses(graph_, {}); !s.ok()) return s;
    absl::StatusOr<graph::Plan> plan = graph::makePlan(graph_, {});
    if (!plan.ok()) return plan.status();
    CompileOptions options;
    options.isa = isa;
    options.optLevel = optLevel;
    return compilePlan(graph_, *plan, options).status();
  }

 private:
  Graph graph_;
  graph::SymId size_;
  graph::SymShape shape_;
  int inputs_ = 0;
};

std::vector<Op> ufuncs() {
  std::vector<Op> ops;
  for (const graph::OpInfo& row : graph::opTable())
    if (row.cls == OpClass::kElementwise && row.loops != graph::Loops::kNone) ops.push_back(row.op);
  return ops;
}

/// Whether there is native code for `op` on this type, alone.
bool isSupported(Op op, DType d) {
  Program program(1);
  const auto value = program.add(op, {program.input(d), program.input(d)});
  if (!value) return false;
  program.output(*value);
  const absl::Status status = program.compileFor(Isa::kHost, 2);
  EXPECT_TRUE(status.ok() || absl::IsUnimplemented(status)) << graph::info(op).text << " " << graph::name(d) << status;
  return status.ok();
}

TEST(Symbols, OperationsSideBySide) {
  constexpr Op kNeighbours[] = {Op::kCopysign, Op::kMultiply, Op::kNegative, Op::kMaximum, Op::kSqrt, Op::kFloor};
  for (DType d : kTypes) {
    std::vector<Op> supported;
    for (Op op : ufuncs())
      if (isSupported(op, d)) supported.push_back(op);
    for (int rank : {0, 1}) {
      for (Isa isa : availableIsas()) {
        for (int optLevel : {0, 2}) {
          if (optLevel == 0 && rank == 1 && isa != availableIsas().front()) continue;
          Program program(rank);
          const ValueId x = program.input(d), y = program.input(d), z = program.input(DType::kF64);
          for (Op op : supported) {
            const std::optional<ValueId> value = program.add(op, {x, y});
            ASSERT_TRUE(value);
            program.output(*value);
            const DType answer = program.graph().type(*value).dtype;
            if (!graph::isFloat(answer)) continue;
            const ValueId other = program.graph().cast(z, answer);
            for (Op next : kNeighbours)
              if (const auto after = program.add(next, {*value, other})) program.output(*after);
            if (const auto before =
                    program.add(op, {program.graph().cast(*program.add(Op::kCopysign, {other, *value}), d), y}))
              program.output(*before);
          }
          const absl::Status status = program.compileFor(isa, optLevel);
          EXPECT_TRUE(status.ok()) << graph::name(d) << " rank " << rank << " " << isaName(isa) << " O" << optLevel
                                   << status;
        }
      }
    }
  }
}

TEST(Symbols, Conversions) {
  for (int rank : {0, 1}) {
    for (Isa isa : availableIsas()) {
      Program program(rank);
      for (DType from : kTypes) {
        const ValueId x = program.input(from);
        for (DType to : kTypes)
          for (DType then : {DType::kF16, DType::kF64, DType::kI32, DType::kBool})
            if (!graph::isComplex(from) || graph::isComplex(to))
              if (!graph::isComplex(to)) program.output(program.graph().cast(program.graph().cast(x, to), then));
      }
      const absl::Status status = program.compileFor(isa, 2);
      EXPECT_TRUE(status.ok()) << "rank " << rank << " " << isaName(isa) << status;
    }
  }
}

}  // namespace
}  // namespace fw::jit::testing
