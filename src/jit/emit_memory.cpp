// Loads and stores. Scalars are one instruction. Lanes depend on the byte stride along the vector axis:
//   itemsize        one vector load or store, masked in a tail
//   -itemsize       the same from the other end, reversed
//   2 * itemsize    (parts of complex numbers) two loads and a shuffle, in full bodies
//   anything else   gather and scatter with AVX-512 for 4 and 8 bytes; otherwise lane by lane
// Masked loads give inactive lanes a copy of lane 0, so that whatever is computed from them raises no flag of its own.
// Bools are bytes 0 and 1 in memory and i1 in registers.
#include "jit/emit_kernel.h"
#include "jit/scalar_loops.h"

#include "llvm/IR/Intrinsics.h"

namespace fw::jit {

using kernels::Access;
using kernels::Expr;
using llvm::Align;
using llvm::Value;

namespace {

int64_t bytesOf(llvm::Type* element) { return element->getScalarSizeInBits() / 8; }

llvm::SmallVector<int, 64> reversedLanes(unsigned count) {
  llvm::SmallVector<int, 64> picks;
  for (unsigned i = 0; i < count; ++i) picks.push_back(int(count - 1 - i));
  return picks;
}

}  // namespace

/// The lanes of a vector lie between the first and the last.
void KernelEmitter::check(uint32_t number, llvm::Type* element) {
  if (!checked_) return;
  const Access& access = kernel_.accesses[number];
  Value* pointer = pointers_[number];
  fn_.checkInside(access.buffer, pointer, bytesOf(element));
  if (lanes_.count == 1 || !accessVaries(access, lanes_.axis)) return;
  Value* active = lanes_.mask ? lanes_.active : fn_.i64(lanes_.count);
  Value* distance = ir_.CreateMul(strideValue(laneStride(access)), ir_.CreateSub(active, fn_.i64(1)));
  fn_.checkInside(access.buffer, ir_.CreateGEP(ir_.getInt8Ty(), pointer, distance), bytesOf(element));
}

Value* KernelEmitter::emitLoad(const Expr& expr) {
  const Access& access = kernel_.accesses[expr.access];
  llvm::Type* element = fn_.memoryType(expr.dtype);
  Value* pointer = pointers_[expr.access];
  check(expr.access, element);
  if (probing_) {
    const bool lanes = lanes_.count > 1 && accessVaries(access, lanes_.axis);
    llvm::Type* type = fn_.scalarType(expr.dtype);
    return llvm::Constant::getNullValue(lanes ? llvm::FixedVectorType::get(type, lanes_.count) : type);
  }
  Value* loaded = nullptr;
  if (lanes_.count > 1 && accessVaries(access, lanes_.axis)) {
    loaded = loadLanes(element, pointer, laneStride(access));
  } else {
    llvm::LoadInst* load = ir_.CreateAlignedLoad(element, pointer, Align(bytesOf(element)));
    fn_.annotate(load, access.buffer);
    loaded = load;
  }
  if (expr.dtype == DType::kBool) loaded = ir_.CreateICmpNE(loaded, llvm::Constant::getNullValue(loaded->getType()));
  return loaded;
}

kernels::ExprId KernelEmitter::storedBy(const Stmt& stmt) const {
  return fn_.isPlace(kernel_.accesses[stmt.access].buffer) ? indexNumber(kernel_, stmt.value) : stmt.value;
}

void KernelEmitter::emitStore(const Stmt& stmt) {
  check(stmt.access, fn_.memoryType(kernel_.exprs[stmt.value.index].dtype));
  const Access& access = kernel_.accesses[stmt.access];
  Value* stored = lanes_.count > 1 ? value(stmt.value) : scalar(storedBy(stmt));
  if (kernel_.exprs[stmt.value.index].dtype == DType::kBool) {
    stored = ir_.CreateZExt(stored, shapedLike(ir_.getInt8Ty(), stored));
  }
  Value* pointer = pointers_[stmt.access];
  if (save_) {
    llvm::Type* element = fn_.memoryType(kernel_.exprs[stmt.value.index].dtype);
    const int64_t bytes = bytesOf(element);
    Value* save = ir_.CreateGEP(element, save_, saveShift_.at(stmt.access));
    if (lanes_.count > 1)
      storeLanes(loadLanes(element, pointer, laneStride(access)), save, {.constant = bytes});
    else
      ir_.CreateAlignedStore(ir_.CreateAlignedLoad(element, pointer, Align(bytes)), save, Align(bytes));
  }
  if (lanes_.count > 1) {
    storeLanes(stored, pointer, laneStride(access));
  } else {
    fn_.annotate(ir_.CreateAlignedStore(stored, pointer, Align(bytesOf(stored->getType()))), access.buffer);
  }
}

/// A volatile store to the stack: the code generator must compute what it stores. The line stays in the first cache.
void KernelEmitter::emitObserve(const Stmt& stmt) {
  if (stmt.kind == kernels::StmtKind::kStore) check(stmt.access, fn_.memoryType(kernel_.exprs[stmt.value.index].dtype));
  if (probing_) return;
  Value* observed = lanes_.count > 1 ? value(stmt.value) : scalar(stmt.value);
  if (kernel_.exprs[stmt.value.index].dtype == DType::kBool) {
    observed = ir_.CreateZExt(observed, shapedLike(ir_.getInt8Ty(), observed));
  }
  if (fn_.isOptimized()) return ops_.observe(observed);
  ir_.CreateStore(observed, fn_.slot(observed->getType(), 1), /*isVolatile=*/true);
}

LaneStride KernelEmitter::laneStride(const Access& access) {
  LaneStride stride{.constant = 0};
  for (const Access::Term& term : access.terms) {
    if (term.axis != lanes_.axis) continue;
    const auto constant = fn_.syms().asConst(term.stride);
    if (constant && stride.constant) {
      stride.constant = *stride.constant + *constant;
      continue;
    }
    Value* sum = ir_.CreateAdd(strideValue(stride), fn_.sym(term.stride));
    stride = {.constant = std::nullopt, .runtime = sum};
  }
  return stride;
}

Value* KernelEmitter::strideValue(const LaneStride& stride) {
  return stride.constant ? fn_.i64(*stride.constant) : stride.runtime;
}

Value* KernelEmitter::advance(Value* pointer, graph::SymId stride, Value* index) {
  const auto constant = fn_.syms().asConst(stride);
  if (constant == 0) return pointer;
  // The scales of an x86 address are left to instruction selection.
  if (constant == 1 || constant == 2 || constant == 4 || constant == 8) {
    return ir_.CreateGEP(ir_.getIntNTy(unsigned(*constant) * 8), pointer, index);
  }
  return ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.CreateMul(index, fn_.sym(stride)));
}

Value* KernelEmitter::lanePointers(Value* pointer, const LaneStride& stride) {
  // Constant small strides take 32-bit offsets: one gather per register instead of two.
  Value* offsets = nullptr;
  if (stride.constant && std::abs(*stride.constant) < (int64_t{1} << 24)) {
    Value* index = lanes_.mask ? ir_.CreateTrunc(lanes_.index, shapedLike(ir_.getInt32Ty(), lanes_.index))
                               : fn_.iota(ir_.getInt32Ty(), lanes_.count);
    Value* scale = fn_.splat(ir_.getInt32(static_cast<uint32_t>(*stride.constant)), lanes_.count);
    offsets = ir_.CreateMul(index, scale);
  } else {
    offsets = ir_.CreateMul(lanes_.index, fn_.splat(strideValue(stride), lanes_.count));
  }
  return ir_.CreateGEP(ir_.getInt8Ty(), pointer, offsets);
}

Value* KernelEmitter::loadLanes(llvm::Type* element, Value* pointer, const LaneStride& stride) {
  const int64_t bytes = bytesOf(element);
  const Align align(bytes);
  auto* type = llvm::FixedVectorType::get(element, lanes_.count);
  auto plain = [&](Value* from, Value* mask) -> Value* {
    if (mask == nullptr) return ir_.CreateAlignedLoad(type, from, align);
    Value* first = ir_.CreateAlignedLoad(element, pointer, align);
    return ir_.CreateMaskedLoad(type, from, align, mask, fn_.splat(first, lanes_.count));
  };
  if (stride.constant == bytes) return plain(pointer, lanes_.mask);
  if (stride.constant == -bytes) {
    const auto picks = reversedLanes(lanes_.count);
    Value* last = ir_.CreateGEP(ir_.getInt8Ty(), pointer, fn_.i64(-bytes * (lanes_.count - 1)));
    Value* mask = lanes_.mask ? ir_.CreateShuffleVector(lanes_.mask, picks) : nullptr;
    return ir_.CreateShuffleVector(plain(last, mask), picks);
  }
  if (stride.constant == 2 * bytes && lanes_.mask == nullptr) {
    // The second load starts one early, so that it ends with the last lane and not behind it.
    const int count = int(lanes_.count);
    Value* low = ir_.CreateAlignedLoad(type, pointer, align);
    Value* high = ir_.CreateAlignedLoad(type, ir_.CreateGEP(element, pointer, fn_.i64(count - 1)), align);
    llvm::SmallVector<int, 64> picks;
    for (int i = 0; i < count; ++i) picks.push_back(2 * i < count ? 2 * i : count + 2 * i - (count - 1));
    return ir_.CreateShuffleVector(low, high, picks);
  }
  if (fn_.target().masks && bytes >= 4) {
    return ir_.CreateMaskedGather(type, lanePointers(pointer, stride), align);  // all lanes are valid addresses
  }
  return loadEachLane(element, pointer, stride);
}

Value* KernelEmitter::loadEachLane(llvm::Type* element, Value* pointer, const LaneStride& stride) {
  const Align align(bytesOf(element));
  auto* type = llvm::FixedVectorType::get(element, lanes_.count);
  Value* step = strideValue(stride);
  if (lanes_.mask == nullptr && lanes_.count <= 8) {
    Value* out = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < lanes_.count; ++i) {
      Value* from = ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.CreateMul(step, fn_.i64(i)));
      out = ir_.CreateInsertElement(out, ir_.CreateAlignedLoad(element, from, align), i);
    }
    return out;
  }
  Value* buffer = fn_.slot(type, 1);
  fn_.loop(fn_.i64(0), fn_.i64(lanes_.count), 1, {}, [&](Value* lane, const Carried&) {
    Value* offset = ir_.CreateMul(step, lane);
    if (lanes_.mask) offset = ir_.CreateSelect(ir_.CreateICmpSLT(lane, lanes_.active), offset, fn_.i64(0));
    Value* loaded = ir_.CreateAlignedLoad(element, ir_.CreateGEP(ir_.getInt8Ty(), pointer, offset), align);
    ir_.CreateStore(loaded, ir_.CreateGEP(element, buffer, lane));
    return Carried{};
  });
  return ir_.CreateLoad(type, buffer);
}

void KernelEmitter::storeLanes(Value* lanes, Value* pointer, const LaneStride& stride) {
  llvm::Type* element = lanes->getType()->getScalarType();
  const int64_t bytes = bytesOf(element);
  const Align align(bytes);
  auto plain = [&](Value* what, Value* to, Value* mask) {
    if (mask) {
      ir_.CreateMaskedStore(what, to, align, mask);
    } else {
      ir_.CreateAlignedStore(what, to, align);
    }
  };
  if (stride.constant == bytes) return plain(lanes, pointer, lanes_.mask);
  if (stride.constant == -bytes) {
    const auto picks = reversedLanes(lanes_.count);
    Value* last = ir_.CreateGEP(ir_.getInt8Ty(), pointer, fn_.i64(-bytes * (lanes_.count - 1)));
    Value* mask = lanes_.mask ? ir_.CreateShuffleVector(lanes_.mask, picks) : nullptr;
    return plain(ir_.CreateShuffleVector(lanes, picks), last, mask);
  }
  if (stride.constant == 2 * bytes && lanes_.mask == nullptr && fn_.target().masks) {
    // Two stores that leave every other element alone; the second reaches one element less, as the load does.
    const unsigned count = lanes_.count;
    for (unsigned half = 0; half < 2; ++half) {
      llvm::SmallVector<int, 64> picks;
      llvm::SmallVector<llvm::Constant*, 64> mask;
      for (unsigned i = 0; i < count; ++i) {
        picks.push_back(int((half * count + i) / 2));
        mask.push_back(ir_.getInt1(i % 2 == 0));
      }
      Value* to = ir_.CreateGEP(element, pointer, fn_.i64(half * count));
      plain(ir_.CreateShuffleVector(lanes, picks), to, llvm::ConstantVector::get(mask));
    }
    return;
  }
  if (fn_.target().masks && bytes >= 4) {
    ir_.CreateMaskedScatter(lanes, lanePointers(pointer, stride), align, lanes_.mask);
    return;
  }
  storeEachLane(lanes, pointer, stride);
}

void KernelEmitter::storeEachLane(Value* lanes, Value* pointer, const LaneStride& stride) {
  llvm::Type* element = lanes->getType()->getScalarType();
  const Align align(bytesOf(element));
  Value* step = strideValue(stride);
  if (lanes_.mask == nullptr && lanes_.count <= 8) {
    for (unsigned i = 0; i < lanes_.count; ++i) {
      Value* to = ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.CreateMul(step, fn_.i64(i)));
      ir_.CreateAlignedStore(ir_.CreateExtractElement(lanes, i), to, align);
    }
    return;
  }
  Value* buffer = fn_.slot(lanes->getType(), 1);
  ir_.CreateStore(lanes, buffer);
  Value* count = lanes_.mask ? lanes_.active : fn_.i64(lanes_.count);
  fn_.loop(fn_.i64(0), count, 1, {}, [&](Value* lane, const Carried&) {
    Value* to = ir_.CreateGEP(ir_.getInt8Ty(), pointer, ir_.CreateMul(step, lane));
    ir_.CreateAlignedStore(ir_.CreateLoad(element, ir_.CreateGEP(element, buffer, lane)), to, align);
    return Carried{};
  });
}

}  // namespace fw::jit
