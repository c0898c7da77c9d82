// Writes Kernel IR: typed helpers over the raw arrays, with hash-consing, constant folding and placement of every
// expression in the outermost block where its operands exist.
#pragma once

#include <functional>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "graph/error_rules.h"
#include "kernels/kernel.h"

namespace fw::kernels {

/// Whose arithmetic kernels follow, bit by bit where it can be.
enum class Numbers : uint8_t {
  kNumPy,  ///< NumPy's formulas and order of addition; what NumPy reports is raised
  kCuPy,   ///< CuPy's formulas and CUDA's functions, sums in any order, nothing is reported
};

class MathCalls;

/// How kernels compute.
struct Arithmetic {
  Arithmetic(Numbers n = Numbers::kNumPy, MathCalls* c = nullptr) : numbers(n), calls(c) {}

  Numbers numbers;
  MathCalls* calls;  ///< functions that are code of their own (math_calls.h); null: none
};

/// A typed scalar value under construction.
struct Val {
  ExprId id;
  DType dtype = DType::kF64;
};

/// An element along one axis by a number, which is wrapped into its size: see LoadAt.
struct Place {
  Val index;
  SymId size, stride;  ///< in bytes
};

class KernelBuilder {
 public:
  /// raiseIf() keeps what is not ignored by these rules, and declines for what they say is reported. CuPy's numbers
  /// report nothing.
  KernelBuilder(graph::SymContext& syms, std::string name, graph::ErrorRules errors = {}, Arithmetic arithmetic = {});

  Numbers numbers() const { return arithmetic_.numbers; }
  MathCalls* calls() const { return arithmetic_.calls; }

  graph::SymContext& syms() { return syms_; }
  Kernel take() &&;

  /// Says that the kernel will store to `buffer`: its loads stay where they are written, in order with the stores. Must
  /// come before the first load of such a buffer (checked by store()).
  void declareStored(graph::BufferId buffer);

  // What has been built so far.
  const Expr& expr(Val v) const { return kernel_.exprs[v.id.index]; }
  /// Bits of a constant, nullopt for anything else.
  std::optional<uint64_t> asConstant(Val v) const;

  // Leaves.
  Val constant(DType d, double v);      ///< real types; integers must be exact
  Val constantInt(DType d, int64_t v);  ///< integers and bool
  Val constantBits(DType d, uint64_t bits);
  Val param(SymId sym);                               ///< i64
  Val axisValue(AxisId axis, DType d = DType::kI64);  ///< cut to the integer type `d`
  /// A load that `stays` is made where it is written, also if it is the same in all iterations of a loop around.
  /// `places` move it on.
  Val load(Access access, DType d, bool stays = false, absl::Span<const Place> places = {});

  // Operations; operand types must agree (see scalar_ops.def).
  Val op(ScalarOp o, Val a);
  Val op(ScalarOp o, Val a, Val b);
  Val op(ScalarOp o, Val a, Val b, Val c);
  Val select(Val cond, Val a, Val b);
  Val cast(Val a, DType to);
  Val bitcast(Val a, DType to);
  Val libm(Libm function, DType result, absl::Span<const Val> args);
  Val callMath(Libm function, absl::Span<const Val> args);
  /// Nothing for the flags of Numbers that report none.
  void raiseIf(Val cond, uint64_t statusBit);
  /// Says that NumPy computes `v` for every element, whatever reads it (Expr::whole).
  void keepWhole(Val v) { kernel_.exprs[v.id.index].whole = true; }

  // Statements. `body` is called once with the builder positioned inside.
  void loop(Val lower, Val upper, bool vectorize, bool parallel, const std::function<void(AxisId)>& body);
  struct Acc {
    DType dtype;
    ScalarOp combine;
    Val init;
  };
  /// `body` answers one element per accumulator; the results come back in the same order.
  std::vector<Val> reduce(Val lower, Val upper, bool vectorize, ReduceOrder order, std::vector<Acc> accumulators,
                          const std::function<std::vector<Val>(AxisId)>& body);
  /// The last reduction that was built is the outermost of a kListed sum.
  void listSum(ListedSum sum);
  void store(Access access, Val value);
  void observe(Val value);
  void branch(Val cond, const std::function<void()>& body);

 private:
  /// One open block. Its serial number tells a value of a block that has been closed from one of its successor.
  struct Scope {
    Block block;
    bool conditional = false;  ///< body of an If: nothing but leaves moves out of it
    uint32_t serial = 0;
    absl::flat_hash_map<uint64_t, absl::InlinedVector<ExprId, 1>> consed;
  };
  struct Home {  ///< where an expression or an axis is defined
    uint32_t depth = 0;
    uint32_t serial = 0;
  };

  Val emit(Expr expr, uint32_t depth, bool movable = true);
  Val emitOp(ScalarOp o, DType result, std::initializer_list<Val> operands);
  Val emitCall(ScalarOp o, uint64_t imm, DType result, absl::Span<const Val> args);
  uint32_t depthOf(ExprId id) const;
  uint32_t placement(const Expr& expr, uint32_t depth) const;
  bool sameExpr(const Expr& a, const Expr& b) const;
  uint64_t hashExpr(const Expr& e) const;
  void append(uint32_t depth, ExprId id);
  void open(bool conditional);
  Block close();
  AxisId newAxis();
  uint32_t addAccess(Access access);
  std::optional<Val> simplify(ScalarOp o, Val a, Val b);
  std::optional<bool> orderByRange(ScalarOp o, Val a, Val b) const;

  graph::SymContext& syms_;
  const graph::ErrorRules errors_;
  const Arithmetic arithmetic_;
  Kernel kernel_;
  std::vector<Scope> scopes_;
  std::vector<Home> exprHome_, axisHome_;
  absl::flat_hash_set<graph::BufferId> stored_, moved_;
  uint32_t nextSerial_ = 0;
};

}  // namespace fw::kernels
