// The native function under construction: prologue values, status and small IR helpers shared by all emitters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/plan.h"
#include "jit/target.h"
#include "llvm/IR/IRBuilder.h"

namespace fw::jit {

using graph::DType;

struct ModuleState;
struct ScalarLoop;

class FunctionState {
 public:
  enum class Kind : uint8_t {
    kEntry,   ///< int32_t (Context*), with the floating-point environment saved and cleared
    kPart,    ///< of one of those: int32_t (Context*, status); 1 if all is to end here
    kShared,  ///< void (status, ...): a kernel for several places (shared_kernels.h), which are bound
    kLoop,    ///< as kPart: a loop over numbers (scalar_loops.h), for LLVM's passes
    kMath,    ///< T (status, T...): a function of vector mathematics (emit_math.h)
  };
  FunctionState(const ModuleState& m, const std::string& name, Kind kind, llvm::ArrayRef<llvm::Type*> more = {},
                const ScalarLoop* loop = nullptr);

  const ModuleState& module() const { return module_; }
  llvm::IRBuilder<>& ir() { return ir_; }
  const TargetSpec& target() const { return target_; }
  const graph::SymContext& syms() const { return syms_; }

  /// i64 value of a symbolic integer, computed once in the prologue, or, if it depends on a symbol that is bound on the
  /// way, once since the last renew().
  llvm::Value* sym(graph::SymId id);
  /// Symbols have been bound or handles moved: values of theirs are not used any further. Goes on in a new block.
  void renew();
  void bindSymbol(graph::SymId symbol, llvm::Value* value);
  /// Handles on the left get what those on the right, or homes, had.
  void exchange(absl::Span<const std::pair<graph::BufferId, graph::BufferId>> moves);
  /// `offset` bytes into a buffer's data.
  llvm::Value* address(graph::BufferId buffer, graph::SymId offset);
  /// Start of a buffer's data.
  llvm::Value* buffer(graph::BufferId id);
  /// Address of the first byte of a buffer, or of the one behind its last: as the caller says (EntryFn).
  llvm::Value* extent(graph::BufferId id, bool end);
  /// Ends the function with kStatusOutside if one of the `bytes` bytes at `pointer` is not the buffer's.
  void checkInside(graph::BufferId id, llvm::Value* pointer, int64_t bytes);
  /// kLoop: numbers get the values that they have in front of the loop; and others get to see those behind it.
  void enter();
  void leave();
  /// Whether it stays in a register: kLoop.
  bool isNumber(graph::BufferId id) const { return numbers_.contains(id); }
  /// Whether LLVM's passes will see the code, to which operations have no effects.
  bool isOptimized() const { return kind_ == Kind::kLoop; }
  /// Of ModuleState.
  bool takesLiberties() const;
  /// kLoop with liberties: a number that is nothing but a place, which is expected not to count from the end.
  bool isPlace(graph::BufferId id) const;
  /// kLoop with liberties: nobody asks for the symbol, so that it may turn out later that there is none.
  bool isUnused(graph::SymId symbol) const;
  /// kLoop with liberties: a later definition of the turn asks the same, and more.
  bool isCovered(graph::SymId symbol) const;
  /// kLoop with liberties: what the definition of the symbol has to ask besides.
  std::optional<int64_t> limitOf(graph::SymId symbol) const;
  /// From now on the run is in doubt if `number` (i64, no sign) has more than so many bits. Those who leave ask, and
  /// loops now and then.
  void doubt(llvm::Value* number, int bits);
  void leaveIfInDoubt();
  /// kLoop: says which memory a load or store is of, and which it cannot be of.
  void annotate(llvm::Instruction* access, graph::BufferId id);
  /// Runs a part of this function that stands in one of its own; `mayLeave` says that it may end this one, too.
  void callPart(FunctionState& part, bool mayLeave);
  /// kShared: what stands for a symbolic integer, and for a place, of the kernel whose code this is.
  void bind(graph::SymId id, llvm::Value* value) { symValues_[id] = value; }
  void bind(graph::BufferId buffer, graph::SymId offset, llvm::Value* value) { addresses_[{buffer, offset}] = value; }
  llvm::Function* function() { return function_; }
  llvm::Value* status() { return status_; }
  /// Stack storage that lives as long as the function.
  llvm::Value* slot(llvm::Type* type, unsigned count);
  /// A constant that LLVM does not compute with, made once.
  llvm::Value* fenced(llvm::Constant* constant);
  /// Sets the status bit if `condition` (i1) holds.
  void raise(llvm::Value* condition, uint64_t bit);
  /// Writes the epilogue: status from the flags, environment restored. A part or loop runs what `beforeLeaving` emits
  /// where it ends before its end.
  void finish(bool answersFlags = true, llvm::function_ref<void()> beforeLeaving = {});
  /// Ends the function here if `condition` holds, after `before`.
  void leaveIf(llvm::Value* condition, llvm::function_ref<void()> before);
  /// Those of `bits` (Status, i32) whose flags are up by now, in a block of its own.
  llvm::Value* raisedFlags(llvm::Value* bits);
  /// Lowers all flags, in a block of its own.
  void clearFlags();
  /// Runs what `body` emits with flags of its own: those that these rules leave join the others behind it, and those
  /// that they report raise `verdict`.
  void withRules(graph::ErrorRules rules, llvm::function_ref<void()> body, uint32_t verdict = runtime::kStatusDecline);
  /// Stores the Status of the flags that are up by now, in a block of its own, as element `index` (i32) of the array
  /// whose address stands at `array`; lowers them.
  void storeFlags(llvm::Value* array, int64_t index);
  /// Context::times.
  llvm::Value* times();
  /// Address of what Context::untilLook says of loops that work on more than a few numbers.
  llvm::Value* untilLook();
  /// Context::shortcuts.
  llvm::Value* shortcuts();
  /// The host is to put a number into memory of the call, where it asks for it, and has done so: the number is to be
  /// where code of this function finds it.
  void lend(graph::BufferId number);
  void fetch(graph::BufferId number);
  /// Context::reported, as i32.
  llvm::Value* reported();
  /// Address of a field of CommitProgress.
  llvm::Value* progress(size_t offset);

  // Types and constants.
  llvm::Type* scalarType(DType d);  ///< in registers: bool is i1, f16 is its bits (i16)
  llvm::Type* memoryType(DType d);  ///< in memory: bool is i8
  llvm::Value* i64(int64_t v) { return ir_.getInt64(static_cast<uint64_t>(v)); }
  llvm::Value* splat(llvm::Value* scalar, unsigned lanes) {
    return lanes == 1 ? scalar : ir_.CreateVectorSplat(lanes, scalar);
  }
  /// <0, 1, 2, ...> of the integer type.
  llvm::Value* iota(llvm::Type* type, unsigned lanes);
  /// Goes on in a block that was made without a place in the function.
  void place(llvm::BasicBlock* block) {
    block->insertInto(function_);
    ir_.SetInsertPoint(block);
  }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(ir_.getContext(), name, function_); }

  using Carried = llvm::SmallVector<llvm::Value*, 4>;
  using LoopBody = llvm::function_ref<Carried(llvm::Value* index, const Carried& values)>;
  /// for (index = lower; index < upper; index += step), with values carried around; answers their last values.
  Carried loop(llvm::Value* lower, llvm::Value* upper, int64_t step, Carried init, LoopBody body);
  /// Runs `body` under an i1 condition.
  void when(llvm::Value* condition, llvm::function_ref<void()> body);

 private:
  void openEnvironment();
  /// Whether the state of MXCSR that stands at `control` is that of an entry: no flags, nothing traps.
  llvm::Value* isClean(llvm::IRBuilder<>& at, llvm::Value* control);
  void openLoop();
  llvm::Value* emitSym(llvm::IRBuilder<>& at, graph::SymId id);
  bool isBound(graph::SymId id);
  /// Its address is another one after renew().
  bool moves(graph::BufferId id) const;
  /// Where a buffer is in memory: numbers too.
  llvm::Value* memory(graph::BufferId id);
  llvm::Value* homeOf(graph::BufferId id);
  bool isHandle(graph::BufferId id) const;
  llvm::Value* tableEntry(llvm::IRBuilder<>& at, graph::BufferId id);  ///< of Context::buffers
  using Number = llvm::SmallVector<llvm::Value*, 2>;                   ///< its parts
  Number loadNumber(graph::BufferId id, llvm::Value* from);
  void storeNumber(const Number& parts, llvm::Value* to);
  /// The pointer that stands in a field of Context.
  llvm::Value* field(size_t offset);
  /// Address of a symbol's value, or of a buffer's address, in the tables of the call.
  llvm::Value* symbolSlot(llvm::IRBuilder<>& at, graph::SymId symbol);
  llvm::Value* bufferSlot(llvm::IRBuilder<>& at, graph::BufferId id);
  /// Goes on in a new block.
  void separate(const char* name);
  llvm::Value* statusOf(llvm::Value* control);

  const ModuleState& module_;
  const TargetSpec& target_;
  const graph::SymContext& syms_;
  const graph::Plan& plan_;
  const Kind kind_;
  const ScalarLoop* const loop_;
  llvm::IRBuilder<> ir_;     ///< where code goes
  llvm::IRBuilder<> entry_;  ///< before the terminator of the entry block
  llvm::Function* function_;
  llvm::Value* savedControl_ = nullptr;
  llvm::Value* control_ = nullptr;
  llvm::Value* status_ = nullptr;                     ///< address
  llvm::BasicBlock* last_ = nullptr;                  ///< the epilogue
  absl::flat_hash_map<size_t, llvm::Value*> fields_;  ///< of Context, by offset
  absl::flat_hash_map<graph::SymId, llvm::Value*> symValues_;
  absl::flat_hash_map<graph::BufferId, llvm::Value*> bufferValues_;
  // The same since the last renew(), of what depends on bound symbols and handles, and where it is computed.
  llvm::IRBuilder<> renewed_;
  llvm::IRBuilder<>* scope_ = &entry_;
  absl::flat_hash_map<graph::SymId, llvm::Value*> scopedSyms_;
  absl::flat_hash_map<graph::BufferId, llvm::Value*> scopedBuffers_;
  absl::flat_hash_map<graph::SymId, bool> bound_;
  // kLoop: slots of numbers, and what stands for entries of the tables of the call.
  absl::flat_hash_map<graph::BufferId, llvm::Value*> numbers_, handleSlots_;
  absl::flat_hash_map<graph::SymId, llvm::Value*> symbolSlots_;
  std::map<int, llvm::Value*> doubts_;  ///< by number of bits: address of an i64, which has more if the run is in doubt
  absl::flat_hash_map<llvm::Constant*, llvm::Value*> fenced_;
  struct Scope {
    llvm::MDNode *own, *others;
  };
  absl::flat_hash_map<int, Scope> scopes_;                                                 ///< by memory
  absl::flat_hash_map<std::pair<graph::BufferId, graph::SymId>, llvm::Value*> addresses_;  ///< that are bound
  absl::flat_hash_map<int64_t, llvm::Value*> extents_;                                     ///< by 2 * buffer + end
};

}  // namespace fw::jit
