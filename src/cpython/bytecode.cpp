// Decoding. PyCode_GetCode() answers the code as compiled (specialisation and instrumentation mapped back, caches
// zeroed), so that the table of the compiler's own opcodes is all that is needed. One raw instruction becomes one to
// four neutral ones (Decoder::expand), jump targets are rewritten from code units to neutral indices at the end. What
// differs between versions is in constants of the generated table; no version test stands here.
#include "cpython/bytecode.h"

#include <bit>

#include "cpython/code_tables.h"
#include "cpython/opcode_layout.h"

namespace fw::cpython {
namespace {

enum class Raw : uint8_t {
  kUnknown,
#define FW_RAW(NAME, neutral, rule) k##NAME,
#include "cpython/opcodes.def"
};

struct RawOpcode {
  Raw raw;
  uint8_t caches;
  std::string_view name;
};

#include "opcode_table.inc"

static_assert(kTableVersion == (PY_VERSION_HEX >> 16), "opcode table of another Python version");

enum class Rule : uint8_t {
  kDrop,
  kPlain,
  kRefused,
  kLoadLoad,
  kStoreLoad,
  kStoreStore,
  kLoadGlobal,
  kLoadAttr,
  kLoadSuperAttr,
  kCompareOp,
  kSlice,
  kFormatValue,
  kJump,
  kJumpBack,
  kJumpOrPop,
  kForIter,
  kSend,
  kKwNames,
  kCall,
  kIntrinsic1,
  kIntrinsic2,
  kReturnConst,
};

struct RawRow {
  Opcode neutral;
  Rule rule;
};

constexpr RawRow kRows[] = {
    {Opcode::kUnsupported, Rule::kPlain},
#define FW_RAW(NAME, neutral, rule) {Opcode::k##neutral, Rule::k##rule},
#include "cpython/opcodes.def"
};

constexpr OpcodeInfo kOpcodeInfo[] = {
#define FW_OPCODE(Id, text, arg, pops, pushes, counted) {text, OpcodeArg::k##arg, pops, pushes, counted},
#include "cpython/neutral_ops.def"
};

/// Varints of the exception table: six bits per byte, 0x40 says that more follow.
class ExceptionTable {
 public:
  explicit ExceptionTable(PyObject* bytes)
      : at_(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes))),
        end_(at_ + PyBytes_GET_SIZE(bytes)) {}
  bool more() const { return at_ < end_; }
  int next() {
    int value = *at_ & 63;
    while (*at_++ & 64) value = value << 6 | (*at_ & 63);
    return value;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

class Decoder {
 public:
  explicit Decoder(PyCodeObject* code) : code_(code) {}

  Bytecode run() {
    Ref bytes = checked(PyCode_GetCode(code_));
    raw_ = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes.get()));
    units_ = static_cast<int>(PyBytes_GET_SIZE(bytes.get()) / 2);
    unitToIndex_.assign(units_ + 1, -1);
    const std::string_view table(PyBytes_AS_STRING(code_->co_linetable),
                                 static_cast<size_t>(PyBytes_GET_SIZE(code_->co_linetable)));
    const std::vector<Position> positions = readPositions(table, units_, code_->co_firstlineno);
    int extended = 0;
    for (int unit = 0, start = 0; unit < units_;) {
      if (!extended) start = unit;
      int number = raw_[2 * unit], arg = raw_[2 * unit + 1] | extended << 8;
      const RawOpcode& opcode = kRawOpcodes[number];
      for (int i = start; i <= unit; ++i) unitToIndex_[i] = static_cast<int>(out_.size());
      int next = unit + 1 + opcode.caches;
      if (opcode.raw == Raw::kEXTENDED_ARG) {
        extended = arg;
      } else {
        extended = 0;
        unit_ = start;
        position_ = positions[unit];
        expand(number, opcode.raw, arg, next);
      }
      unit = next;
    }
    unitToIndex_[units_] = static_cast<int>(out_.size());
    for (Instr& instr : out_) {
      if (instr.target >= 0) instr.target = indexAt(instr.target);
    }
    Bytecode result;
    result.decoded = code_;
    result.code = Ref::create(reinterpret_cast<PyObject*>(code_));
    result.instructions = std::move(out_);
    readHandlers(result);
    return result;
  }

 private:
  Instr& emit(Opcode op, int arg = 0) {
    out_.push_back({.op = op, .arg = arg, .unit = unit_, .position = position_});
    return out_.back();
  }
  void jump(Opcode op, int targetUnit) { emit(op).target = targetUnit; }

  int indexAt(int unit) const {
    if (unit >= 0 && unit <= units_ && unitToIndex_[unit] >= 0) return unitToIndex_[unit];
    PyErr_SetString(PyExc_SystemError, "a jump of this bytecode has no target");
    throw PythonError();
  }

  /// The unit behind `count` instructions from `unit` on.
  int skip(int unit, int count) const {
    while (count-- > 0) unit += 1 + kRawOpcodes[raw_[2 * unit]].caches;
    return unit;
  }

  void expand(int number, Raw raw, int arg, int next) {
    const RawRow& row = kRows[static_cast<int>(raw)];
    switch (row.rule) {
      case Rule::kDrop: break;
      case Rule::kRefused: emit(row.neutral, number); break;
      case Rule::kPlain: emit(row.neutral, raw == Raw::kUnknown ? number : arg); break;
      case Rule::kLoadLoad:
      case Rule::kStoreLoad:
      case Rule::kStoreStore:
        emit(row.neutral, arg >> 4);
        emit(row.rule == Rule::kStoreStore ? Opcode::kStoreFast : Opcode::kLoadFast, arg & 15);
        break;
      case Rule::kLoadGlobal:
        if ((arg & 1) && !kNullAfterCallable) emit(Opcode::kPushNull);
        emit(Opcode::kLoadGlobal, arg >> 1);
        if ((arg & 1) && kNullAfterCallable) emit(Opcode::kPushNull);
        break;
      case Rule::kLoadAttr:
        if (!kAttrHasMethodBit) {
          emit(Opcode::kLoadAttr, arg);
        } else {
          emit(arg & 1 ? Opcode::kLoadMethod : Opcode::kLoadAttr, arg >> 1);
        }
        break;
      case Rule::kLoadSuperAttr: emit(Opcode::kLoadSuperAttr, arg >> 2).flags = arg & 3; break;
      case Rule::kCompareOp:
        emit(Opcode::kCompareOp, arg >> kCompareShift);
        if (arg & kCompareBoolBit) emit(Opcode::kToBool);
        break;
      case Rule::kSlice:
        emit(Opcode::kBuildSlice, 2);
        emit(row.neutral);
        break;
      case Rule::kFormatValue: expandFormat(arg); break;
      case Rule::kJump: jump(row.neutral, next + arg); break;
      case Rule::kJumpBack: jump(row.neutral, next - arg); break;
      case Rule::kJumpOrPop:
        emit(Opcode::kCopy, 1);
        jump(row.neutral, next + arg);
        emit(Opcode::kPopTop);
        break;
      case Rule::kForIter: jump(Opcode::kForIter, skip(next + arg, kForIterSkip)); break;
      case Rule::kSend: jump(Opcode::kSend, skip(next + arg, kSendSkip)); break;
      case Rule::kKwNames:
        emit(Opcode::kLoadConst, arg);
        keywords_ = true;
        break;
      case Rule::kCall:
        emit(keywords_ ? Opcode::kCallKw : Opcode::kCall, arg);
        keywords_ = false;
        break;
      case Rule::kIntrinsic1:
        if (arg == kIntrinsicPositive) {
          emit(Opcode::kUnaryPositive);
        } else if (arg == kIntrinsicListToTuple) {
          emit(Opcode::kListToTuple);
        } else if (arg == kIntrinsicStopIterationError) {
          emit(Opcode::kStopIterationError);
        } else {
          emit(Opcode::kUnsupported, number);
        }
        break;
      case Rule::kIntrinsic2: {
        const bool star = arg == kIntrinsicPrepReraiseStar;
        emit(star ? Opcode::kPrepReraiseStar : Opcode::kUnsupported, star ? 0 : number);
        break;
      }
      case Rule::kReturnConst:
        emit(Opcode::kLoadConst, arg);
        emit(Opcode::kReturnValue);
        break;
    }
  }

  /// 3.11, 3.12: low two bits convert the value, bit 2 says that a format spec lies on top of it.
  void expandFormat(int arg) {
    bool spec = arg & 4;
    if (arg & 3) {
      if (spec) emit(Opcode::kSwap, 2);
      emit(Opcode::kConvertValue, arg & 3);
      if (spec) emit(Opcode::kSwap, 2);
    }
    emit(spec ? Opcode::kFormatWithSpec : Opcode::kFormatSimple);
  }

  void readHandlers(Bytecode& result) const {
    ExceptionTable table(code_->co_exceptiontable);
    while (table.more()) {
      int start = table.next(), length = table.next(), target = table.next(), depth = table.next();
      result.handlers.push_back(
          {indexAt(start), indexAt(start + length), indexAt(target), depth >> 1, (depth & 1) != 0});
    }
  }

  PyCodeObject* code_;
  const uint8_t* raw_ = nullptr;
  int units_ = 0;
  int unit_ = 0;
  Position position_;
  bool keywords_ = false;
  std::vector<int> unitToIndex_;
  std::vector<Instr> out_;
};

}  // namespace

const OpcodeInfo& info(Opcode op) { return kOpcodeInfo[static_cast<int>(op)]; }

StackEffect stackEffect(const Instr& instr) {
  const OpcodeInfo& row = info(instr.op);
  StackEffect effect{row.pops + row.counted * instr.arg, row.pushes};
  if (instr.op == Opcode::kCallEx) effect.pops += instr.arg & 1;
  if (instr.op == Opcode::kMakeFunction) effect.pops += std::popcount(static_cast<unsigned>(instr.arg));
  if (instr.op == Opcode::kLoadSuperAttr) effect.pushes += instr.flags & 1;
  if (instr.op == Opcode::kUnpackSequence) effect.pushes += instr.arg;
  if (instr.op == Opcode::kUnpackEx) effect.pushes += (instr.arg & 0xff) + (instr.arg >> 8);
  return effect;
}

std::string_view rawName(int opcode) { return kRawOpcodes[opcode & 255].name; }

Bytecode decode(PyCodeObject* code) { return Decoder(code).run(); }

std::string print(const Bytecode& code) {
  std::string text;
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const Instr& instr = code.instructions[i];
    text += std::to_string(i) + " ";
    text += instr.op == Opcode::kUnsupported ? rawName(instr.arg) : info(instr.op).text;
    if (instr.target >= 0) {
      text += " -> " + std::to_string(instr.target);
    } else if (info(instr.op).arg != OpcodeArg::kNone && instr.op != Opcode::kUnsupported) {
      text += " " + std::to_string(instr.arg);
    }
    text += "\n";
  }
  return text;
}

}  // namespace fw::cpython
