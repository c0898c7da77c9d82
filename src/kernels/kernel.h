// Kernel IR: one loop nest over typed scalar expressions, target-neutral. Both backends and the kernel interpreter
// read only this.
//
// A Kernel is a tree of Blocks. A Block is an ordered list of items: scalar expressions (SSA, evaluated where they
// stand and visible in all blocks nested inside) and statements (loops, reductions, stores). The builder places an
// expression in the outermost block in which its operands exist, so that emitters need no code motion.
//
// Vectors: a Loop or Reduce with `vectorize` set is executed several lanes at a time by the backend, with a masked
// or scalar tail. An expression inside is *varying* if it depends on the vector axis, otherwise *uniform* (one
// scalar). Only one vectorised statement encloses an expression.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/error_rules.h"
#include "graph/plan.h"
#include "graph/support/ids.h"

namespace fw::kernels {

using graph::DType;
using graph::SymId;
using graph::ValueId;

/// Bits that RaiseIf sets (Expr::imm is the mask); equal to jit::Status.
enum StatusBit : uint64_t {
  kInvalid = 1,
  kDivide = 2,
  kOverflow = 4,
  kUnderflow = 8,
  kDecline = 16,
};

struct ExprTag;
struct StmtTag;
struct AxisTag;
using ExprId = StrongId<ExprTag>;
using StmtId = StrongId<StmtTag>;
using AxisId = StrongId<AxisTag>;

enum class ScalarOp : uint8_t {
#define FW_SCALAR_OP(Id, text, arity, result, flags, ...) k##Id,
#include "kernels/scalar_ops.def"
};

/// What Expr::imm of a CallLibm says.
enum class Libm : uint8_t {
#define FW_LIBM(Id, symbolF32, symbolF64, arity, vector) k##Id,
#include "kernels/libm.def"
};
inline constexpr size_t kLibmCount = static_cast<size_t>(Libm::kFmin) + 1;

/// What Expr::imm of a CallMath says.
struct MathCall {
  Libm function = Libm::kExp;
  bool reportsFlags = true;  ///< raises what C raises, and not only kDecline

  static MathCall of(uint64_t imm) { return {static_cast<Libm>(imm >> 1), (imm & 1) != 0}; }
  uint64_t imm() const { return static_cast<uint64_t>(function) << 1 | uint64_t{reportsFlags}; }
};

/// Address of one element: data(buffer) + offset + sum over terms of axis * stride, all in bytes.
struct Access {
  graph::BufferId buffer;
  SymId offset;
  struct Term {
    AxisId axis;
    SymId stride;
  };
  absl::InlinedVector<Term, 4> terms;
};

struct Expr {
  ScalarOp op = ScalarOp::kConst;
  DType dtype = DType::kF64;  ///< of the result
  absl::InlinedVector<ExprId, 3> operands;
  uint64_t imm = 0;     ///< Const bits, function, result index, status bit
  SymId sym;            ///< Param
  AxisId axis;          ///< Axis, as i64 or cut to a shorter integer
  StmtId stmt;          ///< ReduceResult
  uint32_t access = 0;  ///< Load, LoadAt: index into Kernel::accesses
  bool whole = false;   ///< what computing it raises counts in every lane, also where a Select takes the other side
};

struct Item {  ///< exactly one is valid
  ExprId expr;
  StmtId stmt;
};
struct Block {
  std::vector<Item> items;
};

/// Order in which a reduction combines.
enum class ReduceOrder : uint8_t {
  kAny,           ///< exact whatever the order: min, max, integers, logic
  kSequential,    ///< first to last, one at a time
  kPairwise,      ///< init + graph::pairwiseSum(all elements), the tree of NumPy for one stretch; combine is Add on
                  ///< floats. An empty range gives init. Constant init -0.0 adds nothing: the tree alone
  kPairwisePart,  ///< the same with graph::pairwiseSumOfPart: elements are one part of complex numbers
  kFirst,         ///< an extreme and where it stands, two accumulators: an element that beats the first takes both. NaN
                  ///< beats all else. Positions ascend: of equal elements the first one stays
  kLowest,        ///< the same in any order of positions: of equal elements, that of the lowest position
  kListed,        ///< the elements of this loop and of the kListed loops right inside as one list, added as
                  ///< Kernel::sums[Stmt::sum] of the outermost says; for devices
};

/// init + stretch + stretch ..., NumPy's stretches of a list (graph/pairwise_order.h, rule 5), each added up pairwise;
/// or init + element + element ...
struct ListedSum {
  enum class By : uint8_t { kElement, kPairs, kPairsOfParts };  ///< kPairsOfParts: as ReduceOrder::kPairwisePart
  By by = By::kElement;
  bool casting = false;
  /// Of the leading reduced axes, innermost first: sizes, and the strides in NumPy's array that say which are one run.
  absl::InlinedVector<SymId, 4> sizes, strides;

  friend bool operator==(const ListedSum&, const ListedSum&) = default;
};

struct Accumulator {
  DType dtype;
  ScalarOp combine;  ///< Add, Mul, MinSecond, MaxSecond, And, Or, ... accumulator first, element second. In kFirst and
                     ///< kLowest the first one's says which extreme it is, and the second's, MinSecond, nothing
  ExprId init;       ///< in the enclosing block
  ExprId element;    ///< in the body, of type dtype
};

enum class StmtKind : uint8_t {
  kLoop,     ///< for axis in [lower, upper): body
  kReduce,   ///< as kLoop, combining accumulators; its results are ReduceResult expressions placed after it
  kStore,    ///< store value to access (value's type is the buffer's, or the part's for complex)
  kIf,       ///< run body if the (uniform) value is true
  kObserve,  ///< compute value and drop it: what it raises on the way is wanted
};

/// What a body may contain. A body that is not vectorised: anything. The body of a vectorised Loop or Reduce:
/// expressions (RaiseIf and calls too), Stores, Observes, and Loops and Reduces that are not vectorised and have
/// uniform bounds (each lane reduces for itself, in the given order); no If. Its loads may be uniform or varying with
/// any stride along the axis (symbolic, zero and negative too); its stores are varying: their access has a term of the
/// axis, and different iterations store to different elements. The same buffer may be both loaded and stored in one
/// vectorised body if loads come first, and none reads what another iteration of the body's loop stores to. In a
/// vectorised Reduce every accumulator's element may be varying or uniform. Bodies of scalar Reduces may contain loops
/// and reductions, vectorised ones too. lower <= upper is not promised: an empty range runs nothing and a Reduce over
/// it answers its inits.
struct Stmt {
  StmtKind kind = StmtKind::kLoop;
  AxisId axis;
  ExprId lower, upper;  ///< i64, in the enclosing block
  bool vectorize = false;
  bool parallel = false;  ///< iterations are independent: the jit may split them over threads
  ReduceOrder order = ReduceOrder::kAny;
  int sum = -1;  ///< the outermost of kListed loops: in Kernel::sums
  std::vector<Accumulator> accumulators;
  Block body;
  ExprId value;         ///< kStore, kIf, kObserve
  uint32_t access = 0;  ///< kStore
};

struct Kernel {
  std::string name;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<Access> accesses;
  std::vector<ListedSum> sums;
  uint32_t axisCount = 0;
  Block body;
  /// What becomes of floating-point flags that it raises; nullopt: it raises none.
  std::optional<graph::ErrorRules> errors;
  /// Buffers of one number that stand in memory of the host, where the kernel runs elsewhere: it gets their values.
  std::vector<graph::BufferId> hostNumbers;
};

/// kFirst or kLowest.
bool findsExtreme(ReduceOrder order);

/// Whether it reads Expr::access.
constexpr bool isLoad(ScalarOp op) { return op == ScalarOp::kLoad || op == ScalarOp::kLoadAt; }

std::string_view name(ScalarOp op);
std::string_view name(Libm function);
int arity(ScalarOp op);         ///< -1: any number
bool raisesFlags(ScalarOp op);  ///< on floats: with floats for operands or result

/// Whether anything that the kernel does depends on the symbol.
bool mentions(const Kernel& kernel, const graph::SymContext& syms, SymId symbol);
std::string print(const Kernel& kernel, const graph::SymContext& syms);
/// Violations of the rules above (types, dominance, one vector axis); empty if sound.
std::vector<std::string> verify(const Kernel& kernel, const graph::SymContext& syms);

}  // namespace fw::kernels
