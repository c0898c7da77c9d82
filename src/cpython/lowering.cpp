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
    const int plain = plainOpcode(instr.op), arg = instr.arg;
    switch (instr.op) {
      case Opcode::kYieldValue:
      case Opcode::kGetYieldFromIter:
      case Opcode::kSend:
      case Opcode::kEndSend:
      case Opcode::kCleanupThrow:
      case Opcode::kStopIterationError: fail("an instruction of a generator");
      case Opcode::kUnsupported: fail("an instruction without neutral form");
      case Opcode::kLoadFast:
        // An unbound local must raise; from 3.12 on LOAD_FAST does not look.
        return emitFirst(raw::kLOAD_FAST_CHECK, arg, plain, arg);
      case Opcode::kLoadConst: return namesOfCall() ? void() : emit(plain, arg);
      case Opcode::kLoadGlobal: return emit(raw::kLOAD_GLOBAL, arg << 1);
      case Opcode::kLoadAttr: return emit(raw::kLOAD_ATTR, kAttrHasMethodBit ? arg << 1 : arg);
      case Opcode::kLoadMethod: return kAttrHasMethodBit ? emit(raw::kLOAD_ATTR, arg << 1 | 1) : emit(plain, arg);
      case Opcode::kLoadSuperAttr: return emit(raw::kLOAD_SUPER_ATTR, arg << 2 | instr.flags);
      case Opcode::kCompareOp:
        if (arg < 0 || arg > Py_GE) fail("an unknown comparison");
        return emit(raw::kCOMPARE_OP, kCompareArgs[arg]);
      case Opcode::kToBool:
        if (plain >= 0) return emit(plain, 0);
        emit(raw::kUNARY_NOT, 0);
        return emit(raw::kUNARY_NOT, 0);
      case Opcode::kUnaryPositive: return emitFirst(plain, 0, raw::kCALL_INTRINSIC_1, kIntrinsicPositive);
      case Opcode::kListToTuple: return emitFirst(plain, 0, raw::kCALL_INTRINSIC_1, kIntrinsicListToTuple);
      case Opcode::kPrepReraiseStar: return emitFirst(plain, 0, raw::kCALL_INTRINSIC_2, kIntrinsicPrepReraiseStar);
      case Opcode::kConvertValue:
        return emitFirst(plain, arg, raw::kFORMAT_VALUE, arg);  // formats too; a string without spec stays itself
      case Opcode::kFormatSimple: return emitFirst(plain, 0, raw::kFORMAT_VALUE, 0);
      case Opcode::kFormatWithSpec: return emitFirst(plain, 0, raw::kFORMAT_VALUE, 4);
      case Opcode::kCallKw:
        if (plain >= 0) return emit(plain, arg);
        if (at_ == 0 || in_[at_ - 1].op != Opcode::kLoadConst) fail("keyword names that are no constant");
        emit(raw::kKW_NAMES, in_[at_ - 1].arg);
        return call(arg);
      case Opcode::kCall: return call(arg);
      case Opcode::kForIter:
        if (instr.target < 0) fail("a for loop with its end elsewhere");
        [[fallthrough]];
      case Opcode::kJump:
        if (instr.op == Opcode::kJump && instr.flags & kUninterrupted) {
          return jump(raw::kJUMP_BACKWARD_NO_INTERRUPT, instr.target);
        }
        [[fallthrough]];
      case Opcode::kPopJumpIfFalse:
      case Opcode::kPopJumpIfTrue:
      case Opcode::kPopJumpIfNone:
      case Opcode::kPopJumpIfNotNone: return jump(plain, instr.target);
      case Opcode::kNop:
      case Opcode::kResume:
      case Opcode::kPopTop:
      case Opcode::kPushNull:
      case Opcode::kCopy:
      case Opcode::kSwap:
      case Opcode::kLoadFastAndClear:
      case Opcode::kStoreFast:
      case Opcode::kDeleteFast:
      case Opcode::kMakeCell:
      case Opcode::kCopyFreeVars:
      case Opcode::kLoadDeref:
      case Opcode::kStoreDeref:
      case Opcode::kDeleteDeref:
      case Opcode::kStoreGlobal:
      case Opcode::kDeleteGlobal:
      case Opcode::kStoreAttr:
      case Opcode::kDeleteAttr:
      case Opcode::kUnaryNegative:
      case Opcode::kUnaryInvert:
      case Opcode::kUnaryNot:
      case Opcode::kBinaryOp:
      case Opcode::kIsOp:
      case Opcode::kContainsOp:
      case Opcode::kBinarySubscr:
      case Opcode::kStoreSubscr:
      case Opcode::kDeleteSubscr:
      case Opcode::kBuildTuple:
      case Opcode::kBuildList:
      case Opcode::kBuildSet:
      case Opcode::kBuildMap:
      case Opcode::kBuildConstKeyMap:
      case Opcode::kBuildSlice:
      case Opcode::kBuildString:
      case Opcode::kListAppend:
      case Opcode::kListExtend:
      case Opcode::kSetAdd:
      case Opcode::kSetUpdate:
      case Opcode::kMapAdd:
      case Opcode::kDictMerge:
      case Opcode::kDictUpdate:
      case Opcode::kUnpackSequence:
      case Opcode::kUnpackEx:
      case Opcode::kGetIter:
      case Opcode::kEndFor:
      case Opcode::kCallEx:
      case Opcode::kMakeFunction:
      case Opcode::kSetFunctionAttribute:
      case Opcode::kReturnValue:
      case Opcode::kReturnGenerator:
      case Opcode::kLoadAssertionError:
      case Opcode::kRaiseVarargs:
      case Opcode::kImportName:
      case Opcode::kImportFrom:
      case Opcode::kBeforeWith:
      case Opcode::kPushExcInfo:
      case Opcode::kPopExcept:
      case Opcode::kCheckExcMatch:
      case Opcode::kWithExceptStart:
      case Opcode::kReraise:
      case Opcode::kGetLen:
      case Opcode::kMatchSequence:
      case Opcode::kMatchMapping:
      case Opcode::kMatchKeys:
      case Opcode::kMatchClass:
      case Opcode::kLoadBuildClass:
      case Opcode::kLoadName:
      case Opcode::kStoreName:
      case Opcode::kDeleteName:
      case Opcode::kLoadLocals:
      case Opcode::kLoadClassDeref:
      case Opcode::kLoadFromDictOrDeref:
      case Opcode::kLoadFromDictOrGlobals:
      case Opcode::kSetupAnnotations:
      case Opcode::kCheckEgMatch: return emit(plain, arg);
    }
  }

  void jump(int opcode, int target) {
    emit(opcode, 0);
    out_.back().target = target;
  }

  void call(int arg) {
    if (raw::kPRECALL >= 0) emit(raw::kPRECALL, arg);
    emit(raw::kCALL, arg);
  }

  /// Up to 3.12 the names of a call with keywords are the argument of KW_NAMES, not a value on the stack.
  bool namesOfCall() const { return raw::kKW_NAMES >= 0 && at_ + 1 < in_.size() && in_[at_ + 1].op == Opcode::kCallKw; }

  /// The first if this version has it, else the second.
  void emitFirst(int opcode, int arg, int otherwise, int otherArg) {
    if (opcode >= 0) {
      emit(opcode, arg);
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
