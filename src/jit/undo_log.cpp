#include "jit/undo_log.h"

#include <algorithm>

#include "jit/compile.h"
#include "jit/emit_module.h"
#include "jit/runtime.h"
#include "llvm/IR/Intrinsics.h"

namespace fw::jit {

using llvm::Value;

namespace {

constexpr int64_t kAreaBytes = 8 << 10;  ///< stays in the first cache, with what the loop works on
constexpr int64_t kEntries = 256;
constexpr int64_t kWords = sizeof(UndoEntry) / sizeof(int64_t);

}  // namespace

UndoLog::UndoLog(FunctionState& fn, const Places& places) : fn_(fn), ir_(fn.ir()), places_(places) {
  if (places_.empty()) return;
  llvm::Type* word = ir_.getInt64Ty();
  area_ = fn_.slot(word, kAreaBytes / sizeof(int64_t));
  entries_ = fn_.slot(word, kEntries * kWords);
  for (Value** counter : {&used_, &count_}) {
    *counter = fn_.slot(word, 1);
    ir_.CreateStore(fn_.i64(0), *counter);
  }
}

Value* UndoLog::load(Value* counter) { return ir_.CreateLoad(ir_.getInt64Ty(), counter); }

/// In a turn, at the first turn of each short loop or, where its bit of `corner` is set, at the last one.
Value* UndoLog::offset(const graph::LoopStep& loop, const RewrittenPlace& place, Value* turn, size_t corner) {
  if (loop.index) fn_.bindSymbol(*loop.index, turn);
  for (size_t i = 0; i < place.shorts.size(); ++i) {
    const int64_t last = std::max<int64_t>(place.shorts[i].trip, 1) - 1;
    fn_.bindSymbol(place.shorts[i].symbol, fn_.i64(corner >> i & 1 ? last : 0));
  }
  fn_.renew();
  return fn_.sym(place.offset);
}

UndoLog::Reach UndoLog::reach(const graph::LoopStep& loop, const RewrittenPlace& place, Value* turn) {
  Value* here = offset(loop, place, turn, 0);
  Reach reach{here, here, nullptr};
  for (size_t corner = 1; corner >> place.shorts.size() == 0; ++corner) {
    Value* at = offset(loop, place, turn, corner);
    reach.low = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, reach.low, at);
    reach.high = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, reach.high, at);
  }
  reach.step = ir_.CreateSub(offset(loop, place, ir_.CreateAdd(turn, fn_.i64(1)), 0), here);
  return reach;
}

Value* UndoLog::strip(const graph::LoopStep& loop, Value* first, Value* most, Value* trip) {
  const auto endOf = [&](Value* turns) {
    return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(first, turns), trip);
  };
  const auto known = places_.find(&loop);
  if (known == places_.end()) return endOf(most);
  const std::vector<RewrittenPlace>& places = known->second;
  std::vector<Reach> reaches;
  const auto share = kAreaBytes / static_cast<int64_t>(places.size()) - 64;
  for (const RewrittenPlace& place : places) {
    const Reach& one = reaches.emplace_back(reach(loop, place, first));
    Value* step = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, one.step, ir_.getFalse());
    Value* room = ir_.CreateSub(fn_.i64(share + place.low - place.high), ir_.CreateSub(one.high, one.low));
    Value* fits = ir_.CreateSDiv(room, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, step, fn_.i64(1)));
    most = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, most, fits);
  }
  Value* end = endOf(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, most, fn_.i64(1)));
  Value* more = ir_.CreateSub(ir_.CreateSub(end, fn_.i64(1)), first);
  struct Stretch {
    graph::BufferId buffer;
    Value *low, *bytes, *room;
  };
  std::vector<Stretch> stretches;
  Value* needed = fn_.i64(0);
  for (size_t i = 0; i < places.size(); ++i) {
    const RewrittenPlace& place = places[i];
    const Reach& one = reaches[i];
    Value* way = ir_.CreateMul(one.step, more);
    const graph::Buffer& buffer = fn_.module().plan.buffers[place.buffer.index];
    Value* size = fn_.i64(graph::itemSize(buffer.dtype));
    for (graph::SymId axis : buffer.shape) size = ir_.CreateMul(size, fn_.sym(axis));
    Value* low = ir_.CreateAdd(one.low, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, way, fn_.i64(0)));
    Value* high = ir_.CreateAdd(one.high, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, way, fn_.i64(0)));
    // A turn that stores nothing may be none of the array.
    low = ir_.CreateAdd(low, fn_.i64(place.low));
    low = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, low, fn_.i64(0));
    high = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(high, fn_.i64(place.high)), size);
    Value* bytes = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.CreateSub(high, low), fn_.i64(0));
    Value* room = ir_.CreateAnd(ir_.CreateAdd(bytes, fn_.i64(7)), fn_.i64(-8));
    stretches.push_back({place.buffer, low, bytes, room});
    needed = ir_.CreateAdd(needed, room);
  }
  Value* isFull = ir_.CreateICmpSGT(ir_.CreateAdd(load(used_), needed), fn_.i64(kAreaBytes));
  isFull =
      ir_.CreateOr(isFull, ir_.CreateICmpSGT(load(count_), fn_.i64(kEntries - static_cast<int64_t>(stretches.size()))));
  fn_.when(isFull, [&] { settle(); });
  for (const Stretch& stretch : stretches) {
    Value *used = load(used_), *count = load(count_);
    Value* place = ir_.CreateGEP(ir_.getInt8Ty(), fn_.buffer(stretch.buffer), stretch.low);
    Value* saved = ir_.CreateGEP(ir_.getInt8Ty(), area_, used);
    auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getPtrTy(), ir_.getInt64Ty()}, false);
    ir_.CreateCall(fn_.module().module.getOrInsertFunction(kCopy, type), {saved, place, stretch.bytes});
    Value* entry = ir_.CreateGEP(ir_.getInt64Ty(), entries_, ir_.CreateMul(count, fn_.i64(kWords)));
    ir_.CreateStore(place, entry);
    ir_.CreateStore(saved, ir_.CreateConstGEP1_64(ir_.getInt64Ty(), entry, 1));
    ir_.CreateStore(stretch.bytes, ir_.CreateConstGEP1_64(ir_.getInt64Ty(), entry, 2));
    ir_.CreateStore(ir_.CreateAdd(used, stretch.room), used_);
    ir_.CreateStore(ir_.CreateAdd(count, fn_.i64(1)), count_);
  }
  return end;
}

void UndoLog::settle() {
  if (places_.empty()) return;
  fn_.leaveIfInDoubt();
  Value* before = ir_.CreateLoad(ir_.getInt32Ty(), fn_.function()->getArg(1));
  Value* status = ir_.CreateOr(before, ir_.CreateLoad(ir_.getInt32Ty(), fn_.status()));
  Value* reported = ir_.CreateOr(fn_.reported(), ir_.getInt32(kStatusDecline | kStatusOutside | kStatusDoubt));
  Value* raised = fn_.raisedFlags(reported);
  raised = ir_.CreateOr(raised, ir_.CreateAnd(status, reported));
  const uint64_t verdict = fn_.takesLiberties() ? kStatusDoubt : kStatusDecline;
  fn_.leaveIf(ir_.CreateICmpNE(raised, ir_.getInt32(0)), [&] { fn_.raise(ir_.getTrue(), verdict); });
  ir_.CreateStore(fn_.i64(0), used_);
  ir_.CreateStore(fn_.i64(0), count_);
}

void UndoLog::putBack() {
  if (places_.empty()) return;
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getInt64Ty()}, false);
  ir_.CreateCall(fn_.module().module.getOrInsertFunction(kPutBack, type), {entries_, load(count_)});
}

}  // namespace fw::jit
