// From neutral instructions to this interpreter's. Most are one instruction with the same argument (plainOpcode(), from
// the table); the rest is here: the inverse of Decoder::expand() in bytecode.cpp.
#include "cpython/assembler.h"
#include "cpython/opcode_layout.h"
#include "cpython/version.h"

namespace fw::cpython {
namespace {

class Lowering {
 public:
  explicit Lowering(const std::vector<Instr>& code) : in_(code) {}

  std::vector<RawInstr> run(std::vector<int>& begin) {
    for (at_ = 0; at_ < in_.size(); ++at_) {
      begin.push_back(static_cast<int>(out_.size()));
      one(in_[at_]);
    }
    begin.push_back(static_cast<int>(out_.size()));
    for (RawInstr& instr : out_) {
      if (instr.target < 0) continue;
      if (instr.target >= static_cast<int>(begin.size())) fail("a jump without target");
      instr.target = begin[instr.target] - (instr.opcode == raw::kFOR_ITER ? kForIterSkip : 0);
    }
    return std::move(out_);
  }

 private:
  void one(const Instr& instr) {
    int plain = plainOpcode(instr.op);
    switch (instr.op) {
      case Opcode::kUnsupported:
        fail("an instruction without neutral form");
      case Opcode::kLoadFast:
        // An unbound local must raise; from 3.12 on LOAD_FAST does not look.
        emit(raw::kLOAD_FAST_CHECK >= 0 ? raw::kLOAD_FAST_CHECK : plain, instr.arg);
        break;
      case Opcode::kLoadConst:
        if (!namesOfCall()) emit(plain, instr.arg);
        break;
      case Opcode::kLoadGlobal:
        emit(raw::kLOAD_GLOBAL, instr.arg << 1);
        break;
      case Opcode::kLoadAttr:
        emit(raw::kLOAD_ATTR, kAttrHasMethodBit ? instr.arg << 1 : instr.arg);
        break;
      case Opcode::kLoadMethod:
        if (kAttrHasMethodBit) {
          emit(raw::kLOAD_ATTR, instr.arg << 1 | 1);
        } else {
          emit(plain, instr.arg);
        }
        break;
      case Opcode::kLoadSuperAttr:
        emit(raw::kLOAD_SUPER_ATTR, instr.arg << 2 | instr.flags);
        break;
      case Opcode::kCompareOp:
        if (instr.arg < 0 || instr.arg > Py_GE) fail("an unknown comparison");
        emit(raw::kCOMPARE_OP, kCompareArgs[instr.arg]);
        break;
      case Opcode::kToBool:
        if (plain >= 0) {
          emit(plain, 0);
        } else {
          emit(raw::kUNARY_NOT, 0);
          emit(raw::kUNARY_NOT, 0);
        }
        break;
      case Opcode::kUnaryPositive:
        plainOr(plain, 0, raw::kCALL_INTRINSIC_1, kIntrinsicPositive);
        break;
      case Opcode::kListToTuple:
        plainOr(plain, 0, raw::kCALL_INTRINSIC_1, kIntrinsicListToTuple);
        break;
      case Opcode::kConvertValue:
        plainOr(plain, instr.arg, raw::kFORMAT_VALUE, instr.arg);   // formats too; a string without spec stays itself
        break;
      case Opcode::kFormatSimple:
        plainOr(plain, 0, raw::kFORMAT_VALUE, 0);
        break;
      case Opcode::kFormatWithSpec:
        plainOr(plain, 0, raw::kFORMAT_VALUE, 4);
        break;
      case Opcode::kCallKw:
        if (plain >= 0) {
          emit(plain, instr.arg);
          break;
        }
        if (at_ == 0 || in_[at_ - 1].op != Opcode::kLoadConst) fail("keyword names that are no constant");
        emit(raw::kKW_NAMES, in_[at_ - 1].arg);
        [[fallthrough]];
      case Opcode::kCall:
        if (raw::kPRECALL >= 0) emit(raw::kPRECALL, instr.arg);
        emit(raw::kCALL, instr.arg);
        break;
#define FW_SAME(Id) case Opcode::k##Id:
      FW_SAME(Nop) FW_SAME(Resume) FW_SAME(PopTop) FW_SAME(PushNull) FW_SAME(Copy) FW_SAME(Swap)
      FW_SAME(LoadFastAndClear) FW_SAME(StoreFast) FW_SAME(DeleteFast) FW_SAME(MakeCell) FW_SAME(CopyFreeVars)
      FW_SAME(LoadDeref) FW_SAME(StoreDeref) FW_SAME(DeleteDeref) FW_SAME(StoreGlobal) FW_SAME(DeleteGlobal)
      FW_SAME(StoreAttr) FW_SAME(DeleteAttr) FW_SAME(UnaryNegative) FW_SAME(UnaryInvert) FW_SAME(UnaryNot)
      FW_SAME(BinaryOp) FW_SAME(IsOp) FW_SAME(ContainsOp) FW_SAME(BinarySubscr) FW_SAME(StoreSubscr)
      FW_SAME(DeleteSubscr) FW_SAME(BuildTuple) FW_SAME(BuildList) FW_SAME(BuildSet) FW_SAME(BuildMap)
      FW_SAME(BuildConstKeyMap) FW_SAME(BuildSlice) FW_SAME(BuildString) FW_SAME(ListAppend) FW_SAME(ListExtend)
      FW_SAME(SetAdd) FW_SAME(SetUpdate) FW_SAME(MapAdd) FW_SAME(DictMerge) FW_SAME(DictUpdate)
      FW_SAME(UnpackSequence) FW_SAME(UnpackEx) FW_SAME(GetIter) FW_SAME(EndFor) FW_SAME(CallEx)
      FW_SAME(MakeFunction) FW_SAME(SetFunctionAttribute) FW_SAME(ReturnValue) FW_SAME(ReturnGenerator)
      FW_SAME(LoadAssertionError) FW_SAME(RaiseVarargs) FW_SAME(ImportName) FW_SAME(ImportFrom) FW_SAME(BeforeWith)
      FW_SAME(PushExcInfo) FW_SAME(PopExcept) FW_SAME(CheckExcMatch) FW_SAME(WithExceptStart) FW_SAME(Reraise)
      FW_SAME(GetLen)
#undef FW_SAME
        emit(plain, instr.arg);
        break;
      case Opcode::kJump:
      case Opcode::kPopJumpIfFalse:
      case Opcode::kPopJumpIfTrue:
      case Opcode::kPopJumpIfNone:
      case Opcode::kPopJumpIfNotNone:
      case Opcode::kForIter:
        emit(plain, 0);
        out_.back().target = instr.target;
        if (instr.op == Opcode::kForIter && instr.target < 0) fail("a for loop with its end elsewhere");
        break;
    }
  }

  /// Up to 3.12 the names of a call with keywords are the argument of KW_NAMES, not a value on the stack.
  bool namesOfCall() const {
    return raw::kKW_NAMES >= 0 && at_ + 1 < in_.size() && in_[at_ + 1].op == Opcode::kCallKw;
  }

  void plainOr(int plain, int arg, int otherwise, int otherArg) {
    if (plain >= 0) {
      emit(plain, arg);
    } else {
      emit(otherwise, otherArg);
    }
  }

  void emit(int opcode, int arg) {
    if (opcode < 0) fail("an instruction that this version does not have");
    out_.push_back({.opcode = static_cast<uint8_t>(opcode), .arg = arg, .position = in_[at_].position});
  }

  [[noreturn]] void fail(const char* what) const {
    std::string_view text = at_ < in_.size() ? info(in_[at_].op).text : "end";
    PyErr_Format(PyExc_SystemError, "assembler: %s (neutral instruction %d, %s)", what, static_cast<int>(at_),
                 std::string(text).c_str());
    throw PythonError();
  }

  const std::vector<Instr>& in_;
  size_t at_ = 0;
  std::vector<RawInstr> out_;
};

}  // namespace

std::vector<RawInstr> lower(const std::vector<Instr>& code, std::vector<int>* begin) {
  std::vector<int> starts;
  return Lowering(code).run(begin ? *begin : starts);
}

void appendCallable(std::vector<Instr>& code, int constant, const Position& position) {
  Instr null{.op = Opcode::kPushNull, .position = position};
  if (!kNullAfterCallable) code.push_back(null);
  code.push_back({.op = Opcode::kLoadConst, .arg = constant, .position = position});
  if (kNullAfterCallable) code.push_back(null);
}

}  // namespace fw::cpython
