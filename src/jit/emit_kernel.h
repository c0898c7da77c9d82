// One kernel as LLVM IR inside the function under construction.
#pragma once

#include <optional>
#include <vector>

#include "jit/emit_function.h"
#include "jit/emit_ops.h"
#include "kernels/kernel.h"

namespace fw::jit {

/// Byte stride of an access along the vector axis.
struct LaneStride {
  std::optional<int64_t> constant;
  llvm::Value* runtime = nullptr;  ///< i64, if not constant
};

class KernelEmitter {
 public:
  /// `checked`: accesses are compared with their buffers before they are made.
  KernelEmitter(FunctionState& fn, const kernels::Kernel& kernel, bool checked = false);
  /// What stands for a constant (kConst) in code that several kernels share.
  void bind(kernels::ExprId constant, llvm::Value* value) { numbers_[constant] = value; }
  void run();
  /// The iterations [from, to) of its outermost loop, the only one: rows of large arrays. Vectors begin where a store
  /// is aligned, and rows that need not follow each other go in pairs.
  void runBetween(llvm::Value* from, llvm::Value* to);
  /// Computes what the kernel stores and drops it, for what it raises on the way.
  void observe();
  /// Makes the checks of all accesses, but no access: what is loaded counts as 0.
  void probe();
  /// Runs the kernel of commit number `index` part by part, saving what each overwrites: see CommitProgress.
  void runWatched(int64_t index);

 private:
  using ExprId = kernels::ExprId;
  using StmtId = kernels::StmtId;
  using AxisId = kernels::AxisId;
  using Stmt = kernels::Stmt;
  using Carried = FunctionState::Carried;

  /// How a body is being emitted: one element, or several lanes along `axis`.
  struct Lanes {
    unsigned count = 1;
    AxisId axis;
    llvm::Value* mask = nullptr;    ///< <count x i1>: lanes to store; nullptr: all
    llvm::Value* active = nullptr;  ///< i64 number of active lanes (with mask)
    llvm::Value* index = nullptr;   ///< <count x i64> offset of each lane; inactive lanes repeat lane 0
  };

  // emit_kernel.cpp
  void locate();
  void emitPart(const Stmt& stmt, llvm::Value* from, llvm::Value* to);
  void emitWatched(const Stmt& stmt, int64_t index);
  void emitParts(const Stmt& stmt, int64_t index, llvm::Value* first, llvm::Value* watched, llvm::Value* inner);
  /// Elements that one iteration of the loop stores; fills saveSteps_.
  llvm::Value* layOut(const Stmt& loop);
  llvm::Type* saveType();
  void emitBlock(const kernels::Block& block);
  void emitExpr(ExprId id);
  bool isFloatOperation(const kernels::Expr& expr) const;
  void findKept();
  llvm::Value* leaf(ExprId id, bool inLanes);
  llvm::Value* computed(const kernels::Expr& expr, bool inLanes);
  void emitStmt(StmtId id);
  void emitRaise(const kernels::Expr& expr);
  llvm::Value* scalar(ExprId id);
  llvm::Value* value(ExprId id);  ///< with lanes_.count lanes, if emitting lanes
  DType operandType(const kernels::Expr& expr) const;
  bool varies(ExprId id) const { return varying_[id.index]; }
  /// Marks the expressions below `body` that depend on `axis`; answers the widest varying element in bytes.
  unsigned markVarying(const kernels::Block& body, AxisId axis);
  bool accessVaries(const kernels::Access& access, AxisId axis) const;
  bool accumulatorVaries(const Stmt& reduce, const kernels::Accumulator& acc) const;
  bool markExpr(const kernels::Expr& expr, AxisId axis) const;
  unsigned chooseLanes(unsigned widest, bool hasSingle) const;
  void collectAccesses(const kernels::Block& body, std::vector<uint32_t>& out) const;

  // emit_loops.cpp
  void emitLoop(const Stmt& stmt);
  /// The vectorised loop in the body of `stmt`, if two of its iterations can go through it together; else null.
  const Stmt* pairedIn(const Stmt& stmt) const;
  void emitPair(const Stmt& stmt, const Stmt& inner, llvm::Value* index);
  void findRaised(const Stmt& stmt);
  void emitVectorLoop(const Stmt& stmt);
  /// The first index of a loop over [lower, upper) from which on what it stores is aligned to so many lanes.
  llvm::Value* firstAligned(const Stmt& stmt, unsigned lanes, llvm::Value* lower, llvm::Value* upper);
  void emitBody(const Stmt& stmt, llvm::Value* index);
  /// The same in each of the rows at hand.
  void emitRows(const Stmt& stmt, llvm::Value* index);
  /// Binds the axis, moves the pointers of the body's accesses along it, runs `body`, and restores both.
  void withAxis(const Stmt& stmt, llvm::Value* index, llvm::function_ref<void()> body);
  Lanes fullLanes(unsigned count, AxisId axis);
  Lanes tailLanes(unsigned count, AxisId axis, llvm::Value* remaining);
  unsigned unrollOf(const Stmt& stmt) const;
  unsigned registersOf(const Stmt& stmt, unsigned widest) const;
  bool hasInnerLoops(const Stmt& stmt) const;

  // emit_reduce.cpp
  void emitReduce(StmtId id);
  Carried sequentialReduce(const Stmt& stmt);
  Carried vectorReduce(const Stmt& stmt, unsigned lanes);
  Carried elements(const Stmt& stmt, llvm::Value* index);
  Carried combined(const Stmt& stmt, llvm::ArrayRef<llvm::Value*> acc, llvm::ArrayRef<llvm::Value*> next);
  /// The same of two accumulations, neither of which comes first.
  Carried joined(const Stmt& stmt, llvm::ArrayRef<llvm::Value*> a, llvm::ArrayRef<llvm::Value*> b);
  Carried extremeOf(const Stmt& stmt, llvm::ArrayRef<llvm::Value*> acc, llvm::ArrayRef<llvm::Value*> next, bool first);
  llvm::Value* identity(const kernels::Accumulator& acc);
  Carried acrossLanes(const Stmt& stmt, const Carried& vectors);

  // emit_pairwise.cpp
  Carried pairwiseReduce(const Stmt& stmt);
  Carried pairwiseLeaf(const Stmt& stmt, llvm::Value* first, llvm::Value* count);
  Carried pairwiseVectorLeaf(const Stmt& stmt, llvm::Value* first, llvm::Value* count);
  Carried pairwiseScalarLeaf(const Stmt& stmt, llvm::Value* first, llvm::Value* count);

  // emit_memory.cpp
  llvm::Value* emitLoad(const kernels::Expr& expr);
  /// What is stored: of a place (FunctionState::isPlace) that counts from the end where it is negative, the number.
  ExprId storedBy(const Stmt& stmt) const;
  /// Compares what `access` reaches at this point with its buffer, if the code is checked.
  void check(uint32_t access, llvm::Type* element);
  void emitStore(const Stmt& stmt);
  void emitObserve(const Stmt& stmt);
  LaneStride laneStride(const kernels::Access& access);
  llvm::Value* loadLanes(llvm::Type* element, llvm::Value* pointer, const LaneStride& stride);
  void storeLanes(llvm::Value* lanes, llvm::Value* pointer, const LaneStride& stride);
  llvm::Value* strideValue(const LaneStride& stride);
  llvm::Value* lanePointers(llvm::Value* pointer, const LaneStride& stride);
  llvm::Value* loadEachLane(llvm::Type* element, llvm::Value* pointer, const LaneStride& stride);
  void storeEachLane(llvm::Value* lanes, llvm::Value* pointer, const LaneStride& stride);
  llvm::Value* advance(llvm::Value* pointer, graph::SymId stride, llvm::Value* index);

  FunctionState& fn_;
  OpEmitter ops_;
  llvm::IRBuilder<>& ir_;
  const kernels::Kernel& kernel_;
  Lanes lanes_;
  absl::flat_hash_map<ExprId, llvm::Value*> numbers_;  ///< that are bound
  std::vector<llvm::Value*> values_;                   ///< by expression
  std::vector<bool> varying_;                          ///< by expression, for the vector statement being emitted
  std::vector<bool> kept_;              ///< by expression, in optimized code: another raises flags itself
  std::vector<llvm::Value*> axes_;      ///< by axis: i64 index (of lane 0)
  std::vector<llvm::Value*> pointers_;  ///< by access: address with the terms of all bound axes
  std::vector<Carried> reduced_;        ///< by statement
  bool hasSingle_ = false;              ///< markVarying met f32
  struct Raised {
    uint64_t bit;
    llvm::Value* any;  ///< lanes that raised, carried around the vector loop
  };
  std::vector<Raised> raised_;
  const bool checked_;
  bool probing_ = false;                 ///< accesses are checked and not made
  bool observing_ = false;               ///< values are computed instead of stored
  llvm::Value* save_ = nullptr;          ///< where what the next store overwrites is saved; nullptr: nowhere
  std::vector<llvm::Value*> saveSteps_;  ///< by axis: elements of save_ per iteration
  absl::flat_hash_map<uint32_t, llvm::Value*> saveShift_;  ///< by access of a store: elements from save_ to its part
  llvm::Value* from_ = nullptr;                            ///< part of the next loop to run; nullptr: all
  llvm::Value* to_ = nullptr;
  bool unrolls_ = true;                          ///< vector loops of short bodies
  bool ofRows_ = false;                          ///< of large arrays: see runBetween
  std::vector<std::vector<llvm::Value*>> rows_;  ///< pointers_ of each of a pair; empty: there is one row
  int depth_ = 0;                                ///< blocks below the vector statement's own body
};

}  // namespace fw::jit
