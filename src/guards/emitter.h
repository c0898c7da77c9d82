// The machine-code emitter of guard stubs; included only by the emit_*.cpp files and stub.cpp, which are its parts.
//
// Registers: rdi = frame, rsi = frame->args, r8 = frame->symbols, rax = the object of the source loaded last; rcx, rdx,
// r9-r11 are scratch. A call to C++ saves what it needs in the stub's own stack frame. Large sets keep the pointers
// that they compare most in callee-saved registers, because their code outgrows the first cache
//   [rsp + 0] frame   [rsp + 8] what a call has unpacked, 4 words   [rsp + 40] rax across a call
//   [rsp + 48 + 8*i] sources that are read more than once   behind them: the caller's registers, the list of a Disjoint
//   guard
// Everything is one straight line with jumps out to the failure exits and out and back to slow paths, so that what was
// loaded or proven once holds from there on.
#pragma once

#include <xbyak/xbyak.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cpython/attributes.h"
#include "guards/array_layout.h"
#include "guards/set_index.h"

namespace fw::guards {

/// The number that an expression stands for as it is written. What the symbols are known to be beyond that follows from
/// the guards themselves, which must not rely on it.
inline std::optional<int64_t> literal(const graph::SymContext& syms, graph::SymId id) {
  const graph::SymNode& node = syms.node(id);
  return node.op == graph::SymOp::kConst ? std::optional(node.value) : std::nullopt;
}

class Emitter : public Xbyak::CodeGenerator {
 public:
  Emitter(const GuardSet& set, void* buffer, size_t bytes);
  /// Emits the whole stub. Throws Xbyak::Error if the buffer is too small.
  void emitAll();
  int frameBytes() const { return frameBytes_; }  ///< of stack
  std::vector<std::unique_ptr<cpython::AttributeCell>> takeCells() { return std::move(cells_); }

 private:
#define FW_GUARD(Id, text, cost, cure) void emit##Id(const Guard& g);
#include "guards/guard_kinds.def"
  void emitGuard(const Guard& g);

  // Paths (emit_source.cpp).
  void load(SourceId id);  ///< into rax
  void emitStep(SourceId id, const Source& source);
  void emitItem(SourceId base, int64_t index);
  void emitItemFromEnd(SourceId base, int64_t index);
  void emitTupleField(int offset, int64_t index);  ///< rax = ((tuple at [rax + offset]))[index]
  void requireObject(SourceId id);                 ///< rax is not null
  void emitContents();                             ///< rax = content of the cell in rax
  void emitWeakTarget(PyObject* reference);        ///< into rax
  void emitIterated(SourceId base);
  bool isModule(SourceId id) const;
  void requireType(SourceId id, PyTypeObject* type);  ///< object in rax; fails the guard unless of exactly that type
  void requireTypeObject(SourceId id);                ///< object in rax is a type
  cpython::AttributeCell* newCell(PyObject* key, Py_hash_t hash = 0);
  void emitDictItem(
      PyObject* key,
      Py_hash_t hash = 0);  ///< rax = value of the key in the dict in rax; fails the guard if there is none

  // Pieces (emit_guards.cpp, emit_objects.cpp, emit_values.cpp).
  void emitFunctionField(const Guard& g, int offset);
  void requirePlainVectorcall();
  template <class Fn>
  void emitKeyCall(const Guard& g, Fn* fn);
  void loadPair(const Guard& g);  ///< r9 = object of g.source, rax = that of g.other
  void emitUnpackInt(const std::function<void()>&
                         ifLong);  ///< rcx = value of the exact int in rax; ifLong: behind those of more than a digit
  void compareImm(const Xbyak::Reg64& reg, int64_t value);             ///< clobbers r11
  void comparePointer(const Xbyak::Address& at, const void* pointer);  ///< clobbers rcx
  bool emitExpr(graph::SymId id, size_t depth);            ///< into scratch register `depth`; false: not inline
  bool canEmitNumber(const NumberProgram& program) const;  ///< in registers, without calls
  void emitNumberInline(const Guard& g);
  bool canEmitExpr(graph::SymId id, size_t depth) const;
  /// out = out // divisor or out % divisor as Python has them; fails the guard for 0. Clobbers r11, xmm13 and xmm14.
  void emitDivision(graph::SymOp op, const Xbyak::Reg64& out, const Xbyak::Reg64& divisor);
  bool isPowerOfTwo(graph::SymId id) const;
  void storeInt(SourceId source);      ///< rcx to the symbols and scalars that read this source
  void storeSymbols(SourceId source);  ///< those that the guard at hand makes readable, of the object in rax
  void loadArrayData(const Xbyak::Reg64& to);
  void bindInputs();
  void bindObjects();

  void assignSlots();  ///< places in the stack frame
  void pinPointers();  ///< pointers compared often to registers

  // Calls (stub.cpp).
  template <class Fn>
  void call0(Fn* fn) {
    callAddress(reinterpret_cast<const void*>(fn));
  }
  void callAddress(const void* fn);  ///< arguments are set; rdi, rsi and r8 are restored after
  void loadPointer(const Xbyak::Reg64& reg, const void* pointer) { mov(reg, reinterpret_cast<uint64_t>(pointer)); }
  /// Emits `body` behind the stub's end; it may jump back to labels of the caller.
  void outOfLine(std::function<void()> body) { slowPaths_.push_back({guard_, std::move(body)}); }
  /// Call that keeps rax: `arguments` may read it.
  template <class Fn>
  void checkedCall(Fn* fn, const std::function<void()>& arguments) {
    mov(ptr[rsp + kSavedRax], rax);
    arguments();
    callAddress(reinterpret_cast<const void*>(fn));
    test(eax, eax);
    mov(rax, ptr[rsp + kSavedRax]);
    jz(failLabel());
  }
  Xbyak::Label& failLabel() {
    failed_[guard_] = true;
    return fails_[guard_];
  }

  static constexpr int kFrame = 0, kIntOut = 8, kSavedRax = 40, kSources = 48;
  const GuardSet& set_;
  const SetIndex index_;
  int frameBytes_ = 0, listOffset_ = 0, savedOffset_ = 0;
  std::vector<std::pair<const void*, Xbyak::Reg64>> pinned_;
  size_t guard_ = 0;  ///< being emitted; guards.size() for the bindings
  SourceId inRax_;
  std::vector<int> slots_;  ///< offset from rsp by source; -1: not kept
  std::vector<bool> spilled_;
  std::vector<PyTypeObject*> types_;  ///< proven exact types by source
  std::vector<bool> present_;         ///< proven to be there
  std::vector<bool> isType_;          ///< proven to be type objects
  std::vector<int64_t> lengths_;      ///< proven minimal lengths
  std::vector<bool> stored_;          ///< ints stored for inputs
  std::vector<Xbyak::Label> fails_;
  std::vector<bool> failed_;
  std::vector<std::pair<size_t, std::function<void()>>> slowPaths_;
  std::vector<std::unique_ptr<cpython::AttributeCell>> cells_;
};

}  // namespace fw::guards
