// NumPy's pairwise summation, addition for addition (graph/pairwise_order.h).
//
// The recursion over halves is a loop over an explicit stack, so that the body is emitted once: "descend" pushes right
// halves until at most one block is left, "leaf" sums that block, "ascend" adds a finished right half to the left sum
// waiting on the stack or starts the right half. A leaf keeps NumPy's accumulators (eight, or four for one part of
// complex numbers) as the lanes of one vector. They start from -0.0, to which adding the first group is exact.
#include "graph/support/check.h"
#include "jit/emit_kernel.h"
#include "llvm/IR/Intrinsics.h"

namespace fw::jit {

using kernels::Accumulator;
using kernels::ReduceOrder;
using llvm::Value;

namespace {

constexpr unsigned kStackDepth = 64;  ///< halves of an int64

/// Accumulators per leaf; a block is 16 groups of them.
unsigned groupOf(const kernels::Stmt& stmt) { return stmt.order == ReduceOrder::kPairwise ? 8 : 4; }

}  // namespace

KernelEmitter::Carried KernelEmitter::pairwiseReduce(const Stmt& stmt) {
  const unsigned group = groupOf(stmt);
  const size_t n = stmt.accumulators.size();
  llvm::Type* i64 = ir_.getInt64Ty();
  Carried init;
  for (const Accumulator& acc : stmt.accumulators) {
    FW_CHECK(acc.combine == kernels::ScalarOp::kAdd && graph::isFloat(acc.dtype));
    const bool wide = lanes_.count > 1 && (varies(acc.init) || varies(acc.element));
    init.push_back(wide ? value(acc.init) : scalar(acc.init));
  }
  Value *firsts = fn_.slot(i64, kStackDepth), *counts = fn_.slot(i64, kStackDepth);
  Carried sums;
  for (Value* v : init) sums.push_back(fn_.slot(v->getType(), kStackDepth));
  auto at = [&](llvm::Type* type, Value* base, Value* index) { return ir_.CreateGEP(type, base, index); };

  Value* total = ir_.CreateSub(scalar(stmt.upper), scalar(stmt.lower));
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *descend = fn_.block("descend"), *halve = fn_.block("halve"),
                   *leaf = fn_.block("leaf"), *ascend = fn_.block("ascend"), *pop = fn_.block("pop"),
                   *turn = fn_.block("turn"), *add = fn_.block("add"), *done = fn_.block("done");
  ir_.CreateBr(descend);

  ir_.SetInsertPoint(descend);
  llvm::PHINode *first = ir_.CreatePHI(i64, 3), *count = ir_.CreatePHI(i64, 3), *depth = ir_.CreatePHI(i64, 3);
  first->addIncoming(scalar(stmt.lower), before);
  count->addIncoming(total, before);
  depth->addIncoming(fn_.i64(0), before);
  ir_.CreateCondBr(ir_.CreateICmpSGT(count, fn_.i64(16 * group)), halve, leaf);

  ir_.SetInsertPoint(halve);
  // Rounded down to whole groups of eight reals, of which one part of complex numbers holds half.
  Value* left = group == 8 ? ir_.CreateAnd(ir_.CreateLShr(count, 1), fn_.i64(-8))
                           : ir_.CreateLShr(ir_.CreateAnd(count, fn_.i64(-8)), 1);
  ir_.CreateStore(ir_.CreateAdd(first, left), at(i64, firsts, depth));
  ir_.CreateStore(ir_.CreateSub(count, left), at(i64, counts, depth));
  first->addIncoming(first, halve);
  count->addIncoming(left, halve);
  depth->addIncoming(ir_.CreateAdd(depth, fn_.i64(1)), halve);
  ir_.CreateBr(descend);

  ir_.SetInsertPoint(leaf);
  Carried block = pairwiseLeaf(stmt, first, count);
  llvm::BasicBlock* leafEnd = ir_.GetInsertBlock();
  ir_.CreateBr(ascend);

  ir_.SetInsertPoint(ascend);
  llvm::PHINode* height = ir_.CreatePHI(i64, 2);
  height->addIncoming(depth, leafEnd);
  llvm::SmallVector<llvm::PHINode*, 4> current;
  for (size_t i = 0; i < n; ++i) {
    current.push_back(ir_.CreatePHI(init[i]->getType(), 2));
    current.back()->addIncoming(block[i], leafEnd);
  }
  ir_.CreateCondBr(ir_.CreateICmpEQ(height, fn_.i64(0)), done, pop);

  ir_.SetInsertPoint(pop);
  Value* top = ir_.CreateSub(height, fn_.i64(1));
  Value* waiting = ir_.CreateLoad(i64, at(i64, counts, top));
  ir_.CreateCondBr(ir_.CreateICmpSLT(waiting, fn_.i64(0)), add, turn);

  ir_.SetInsertPoint(turn);  // this was a left half: keep its sum, do the right half
  ir_.CreateStore(fn_.i64(-1), at(i64, counts, top));
  for (size_t i = 0; i < n; ++i) ir_.CreateStore(current[i], at(init[i]->getType(), sums[i], top));
  first->addIncoming(ir_.CreateLoad(i64, at(i64, firsts, top)), turn);
  count->addIncoming(waiting, turn);
  depth->addIncoming(height, turn);
  ir_.CreateBr(descend);

  ir_.SetInsertPoint(add);  // this was a right half
  height->addIncoming(top, add);
  for (size_t i = 0; i < n; ++i) {
    Value* leftSum = ir_.CreateLoad(init[i]->getType(), at(init[i]->getType(), sums[i], top));
    current[i]->addIncoming(ir_.CreateFAdd(leftSum, current[i]), add);
  }
  ir_.CreateBr(ascend);

  ir_.SetInsertPoint(done);
  Carried out;
  for (size_t i = 0; i < n; ++i) out.push_back(ir_.CreateFAdd(init[i], current[i]));
  return out;
}

KernelEmitter::Carried KernelEmitter::pairwiseLeaf(const Stmt& stmt, Value* first, Value* count) {
  const bool vector = stmt.vectorize && lanes_.count == 1;
  return vector ? pairwiseVectorLeaf(stmt, first, count) : pairwiseScalarLeaf(stmt, first, count);
}

// ((r0+r1)+(r2+r3))+((r4+r5)+(r6+r7)), or (r0+r1)+(r2+r3).
static Value* foldTree(llvm::IRBuilder<>& ir, Value* r) {
  const unsigned group = lanesOf(r);
  for (unsigned distance = 1; distance < group; distance *= 2) {
    llvm::SmallVector<int, 8> picks;
    for (unsigned i = 0; i < group; ++i) picks.push_back(int(i ^ distance));
    r = ir.CreateFAdd(r, ir.CreateShuffleVector(r, picks));
  }
  return ir.CreateExtractElement(r, uint64_t{0});
}

KernelEmitter::Carried KernelEmitter::pairwiseVectorLeaf(const Stmt& stmt, Value* first, Value* count) {
  const unsigned group = groupOf(stmt);
  const unsigned widest = markVarying(stmt.body, stmt.axis);
  const unsigned lanes = !fn_.target().masks ? group : widest <= 4 ? 16 : 8;
  const size_t n = stmt.accumulators.size();
  auto vectorOf = [&](size_t i) {
    return llvm::FixedVectorType::get(fn_.scalarType(stmt.accumulators[i].dtype), group);
  };
  Value* whole = ir_.CreateAnd(count, fn_.i64(-int64_t{lanes}));
  Value *split = ir_.CreateAdd(first, whole), *end = ir_.CreateAdd(first, count);
  Carried start;
  for (size_t i = 0; i < n; ++i) start.push_back(llvm::ConstantFP::getNegativeZero(vectorOf(i)));
  Carried r = fn_.loop(first, split, lanes, start, [&](Value* index, const Carried& values) {
    lanes_ = fullLanes(lanes, stmt.axis);
    Carried got = elements(stmt, index), next = values;
    for (size_t i = 0; i < n; ++i) {
      for (unsigned g = 0; g < lanes; g += group) {
        llvm::SmallVector<int, 8> picks;
        for (unsigned j = 0; j < group; ++j) picks.push_back(int(g + j));
        next[i] = ir_.CreateFAdd(next[i], lanes == group ? got[i] : ir_.CreateShuffleVector(got[i], picks));
      }
    }
    return next;
  });
  lanes_ = Lanes{};
  Carried sums;
  if (!fn_.target().masks) {
    for (Value* v : r) sums.push_back(foldTree(ir_, v));
    return fn_.loop(split, end, 1, sums, [&](Value* index, const Carried& values) {
      Carried next = elements(stmt, index);
      for (size_t i = 0; i < n; ++i) next[i] = ir_.CreateFAdd(values[i], next[i]);
      return next;
    });
  }
  // The rest, less than one vector, is computed at once under a mask; whole groups of it join the accumulators,
  // and what then remains is added one by one after them.
  Carried buffers;
  for (size_t i = 0; i < n; ++i) {
    buffers.push_back(fn_.slot(llvm::FixedVectorType::get(fn_.scalarType(stmt.accumulators[i].dtype), lanes), 1));
  }
  Value* rest = ir_.CreateSub(count, whole);
  fn_.when(ir_.CreateICmpSGT(rest, fn_.i64(0)), [&] {
    lanes_ = tailLanes(lanes, stmt.axis, rest);
    Carried got = elements(stmt, split);
    for (size_t i = 0; i < n; ++i) ir_.CreateStore(got[i], buffers[i]);
    lanes_ = Lanes{};
  });
  Value* grouped = ir_.CreateAnd(rest, fn_.i64(-int64_t{group}));
  r = fn_.loop(fn_.i64(0), grouped, group, r, [&](Value* index, const Carried& values) {
    Carried next;
    for (size_t i = 0; i < n; ++i) {
      llvm::Type* element = vectorOf(i)->getElementType();
      Value* from = ir_.CreateGEP(element, buffers[i], index);
      next.push_back(ir_.CreateFAdd(values[i], ir_.CreateAlignedLoad(vectorOf(i), from, llvm::Align(16))));
    }
    return next;
  });
  for (Value* v : r) sums.push_back(foldTree(ir_, v));
  return fn_.loop(grouped, rest, 1, sums, [&](Value* index, const Carried& values) {
    Carried next;
    for (size_t i = 0; i < n; ++i) {
      llvm::Type* element = vectorOf(i)->getElementType();
      next.push_back(ir_.CreateFAdd(values[i], ir_.CreateLoad(element, ir_.CreateGEP(element, buffers[i], index))));
    }
    return next;
  });
}

// One element at a time (of every lane, inside a vector loop): accumulators in memory, the rest parked behind them.
KernelEmitter::Carried KernelEmitter::pairwiseScalarLeaf(const Stmt& stmt, Value* first, Value* count) {
  const unsigned group = groupOf(stmt);
  const size_t n = stmt.accumulators.size();
  llvm::SmallVector<llvm::Type*, 4> types;
  Carried cells;
  for (const Accumulator& acc : stmt.accumulators) {
    llvm::Type* type = fn_.scalarType(acc.dtype);
    const bool wide = lanes_.count > 1 && (varies(acc.init) || varies(acc.element));
    types.push_back(wide ? llvm::FixedVectorType::get(type, lanes_.count) : type);
    cells.push_back(fn_.slot(types.back(), 2 * group));
  }
  auto cell = [&](size_t i, Value* index) { return ir_.CreateGEP(types[i], cells[i], index); };
  for (size_t i = 0; i < n; ++i) {
    for (unsigned j = 0; j < 2 * group; ++j) {
      ir_.CreateStore(llvm::ConstantFP::getNegativeZero(types[i]), cell(i, fn_.i64(j)));
    }
  }
  Value* grouped = ir_.CreateAnd(count, fn_.i64(-int64_t{group}));
  fn_.loop(fn_.i64(0), count, 1, {}, [&](Value* index, const Carried&) {
    Carried got = elements(stmt, ir_.CreateAdd(first, index));
    Value* behind = ir_.CreateAdd(ir_.CreateSub(index, grouped), fn_.i64(group));
    Value* inGroup = ir_.CreateAnd(index, fn_.i64(group - 1));
    Value* place = ir_.CreateSelect(ir_.CreateICmpSLT(index, grouped), inGroup, behind);
    for (size_t i = 0; i < n; ++i) {
      ir_.CreateStore(ir_.CreateFAdd(ir_.CreateLoad(types[i], cell(i, place)), got[i]), cell(i, place));
    }
    return Carried{};
  });
  Carried sums;
  for (size_t i = 0; i < n; ++i) {
    llvm::SmallVector<Value*, 8> r;
    for (unsigned j = 0; j < group; ++j) r.push_back(ir_.CreateLoad(types[i], cell(i, fn_.i64(j))));
    for (; r.size() > 1; r.resize(r.size() / 2)) {
      for (size_t j = 0; j + 1 < r.size(); j += 2) r[j / 2] = ir_.CreateFAdd(r[j], r[j + 1]);
    }
    sums.push_back(r[0]);
  }
  return fn_.loop(grouped, count, 1, sums, [&](Value* index, const Carried& values) {
    Carried next;
    Value* behind = ir_.CreateAdd(ir_.CreateSub(index, grouped), fn_.i64(group));
    for (size_t i = 0; i < n; ++i) next.push_back(ir_.CreateFAdd(values[i], ir_.CreateLoad(types[i], cell(i, behind))));
    return next;
  });
}

}  // namespace fw::jit
