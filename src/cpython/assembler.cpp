// Taking code objects apart and writing them. Between the two, whatever CPython gives by offset (jump targets,
// exception ranges, positions) is by index of instruction, so that editing needs no arithmetic. EXTENDED_ARGs are
// found by a fix point from below: jumps grow until every argument fits. It starts from the prefixes that were there
// (CPython's own iteration may end with one that only its own size makes necessary), so that unchanged code comes out
// byte for byte. Elsewhere: stack depths (stack_depth.cpp), new instructions (lowering.cpp), insertion
// (insertion.cpp), the packed tables (code_tables.cpp).
#include "cpython/assembler.h"

#include "cpython/code_tables.h"
#include "cpython/opcode_layout.h"
#include "cpython/version.h"

namespace fw::cpython {
namespace {

std::string_view viewOf(PyObject* bytes) {
  return {PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

std::vector<Ref> itemsOf(PyObject* tuple) {
  std::vector<Ref> items;
  items.reserve(PyTuple_GET_SIZE(tuple));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) items.push_back(Ref::create(PyTuple_GET_ITEM(tuple, i)));
  return items;
}

Ref tupleOf(const std::vector<Ref>& items) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Ref(items[i]).release());
  }
  return tuple;
}

/// A variable of an inlined comprehension outside functions; PyCode_New has no argument for it.
bool hasHiddenVariables([[maybe_unused]] PyCodeObject* code) {
#if FW_PY_MINOR >= 12
  constexpr char kFastHidden = 0x10;
  for (char kind : viewOf(code->co_localspluskinds)) {
    if (kind & kFastHidden) return true;
  }
#endif
  return false;
}

/// Reads the instructions; jump targets are units still. `unitToIndex` gets one entry per unit and one for the end.
std::vector<RawInstr> readInstructions(PyCodeObject* code, std::vector<int>& unitToIndex) {
  Ref bytes = checked(PyCode_GetCode(code));
  std::string_view raw = viewOf(bytes.get());
  int units = static_cast<int>(raw.size() / 2);
  std::vector<Position> positions = readPositions(viewOf(code->co_linetable), units, code->co_firstlineno);
  std::vector<RawInstr> out;
  unitToIndex.assign(units + 1, -1);
  int extended = 0;
  uint8_t prefixes = 0;
  for (int unit = 0; unit < units;) {
    int opcode = static_cast<uint8_t>(raw[2 * unit]), arg = static_cast<uint8_t>(raw[2 * unit + 1]) | extended << 8;
    const OpcodeLayout& layout = layoutOf(opcode);
    int index = static_cast<int>(out.size());
    if (!layout.known) fail("unknown opcode", index);
    unitToIndex[unit] = index;
    int next = unit + 1 + layout.caches;
    if (opcode == raw::kEXTENDED_ARG) {
      extended = arg;
      if (prefixes < 3) ++prefixes;
    } else {
      RawInstr instr{.opcode = static_cast<uint8_t>(opcode),
                     .prefixes = prefixes,
                     .arg = arg,
                     .unit = unit - prefixes,
                     .position = positions[unit]};
      extended = prefixes = 0;
      if (isJump(opcode)) {
        instr.arg = 0;
        instr.target = layout.backward ? next - arg : next + arg;
      }
      out.push_back(instr);
    }
    unit = next;
  }
  unitToIndex[units] = static_cast<int>(out.size());
  return out;
}

/// The bytes of an assembly, and at which unit each instruction begins.
class Encoder {
 public:
  explicit Encoder(const Assembly& assembly) : in_(assembly.instructions), assembly_(assembly) {}

  Ref code() {
    chooseDirections();
    args_.assign(in_.size(), 0);
    for (size_t i = 0; i < in_.size(); ++i) {
      prefixes_.push_back(in_[i].prefixes);
      setArg(i, isJump(opcodes_[i]) ? 0 : in_[i].arg);
    }
    do place();
    while (resolveJumps());
    std::string bytes;
    for (size_t i = 0; i < in_.size(); ++i) {
      for (int k = prefixes_[i]; k > 0; --k) put(bytes, raw::kEXTENDED_ARG, args_[i] >> (8 * k));
      put(bytes, opcodes_[i], args_[i]);
      for (int k = layoutOf(opcodes_[i]).caches; k > 0; --k) put(bytes, raw::kCACHE, 0);
    }
    return bytesOf(bytes);
  }

  Ref positions() const {
    PositionWriter writer(assembly_.firstLine);
    for (size_t i = 0; i < in_.size(); ++i) writer.add(in_[i].position, starts_[i + 1] - starts_[i]);
    return bytesOf(writer.finish());
  }

  Ref handlers() const {
    std::vector<Handler> ranges = assembly_.handlers;
    int last = 0, size = static_cast<int>(in_.size());
    for (Handler& h : ranges) {
      if (h.start < last || h.end < h.start || h.end > size || h.target < 0 || h.target >= size || h.depth < 0) {
        fail("bad exception range", h.start);
      }
      last = h.end;
      h = {starts_[h.start], starts_[h.end], starts_[h.target], h.depth, h.lasti};
    }
    return bytesOf(writeHandlers(ranges));
  }

 private:
  static Ref bytesOf(const std::string& s) {
    return checked(PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
  }
  static void put(std::string& bytes, int opcode, int arg) {
    bytes.push_back(static_cast<char>(opcode));
    bytes.push_back(static_cast<char>(arg & 255));
  }

  void chooseDirections() {
    opcodes_.reserve(in_.size());
    for (size_t i = 0; i < in_.size(); ++i) {
      const OpcodeLayout& layout = layoutOf(in_[i].opcode);
      int opcode = in_[i].opcode, index = static_cast<int>(i), target = in_[i].target;
      if (!layout.known || in_[i].arg < 0) fail("unknown opcode or negative argument", index);
      if (isJump(opcode)) {
        if (target < 0 || target >= static_cast<int>(in_.size())) fail("a jump without target", index);
        if (layout.backward != (target <= index)) opcode = layout.opposite;
        if (opcode < 0) fail("this version cannot make the jump in that direction", index);
      }
      opcodes_.push_back(opcode);
    }
  }

  /// True if the argument needs more prefixes than before.
  bool setArg(size_t i, int arg) {
    args_[i] = arg;
    int needed = arg > 0xffffff ? 3 : arg > 0xffff ? 2 : arg > 0xff ? 1 : 0;
    if (needed <= prefixes_[i]) return false;
    prefixes_[i] = needed;
    return true;
  }

  void place() {
    starts_.assign(1, 0);
    starts_.reserve(in_.size() + 1);
    for (size_t i = 0; i < in_.size(); ++i) {
      starts_.push_back(starts_[i] + prefixes_[i] + 1 + layoutOf(opcodes_[i]).caches);
    }
  }

  bool resolveJumps() {
    bool grown = false;
    for (size_t i = 0; i < in_.size(); ++i) {
      if (!isJump(opcodes_[i])) continue;
      int next = starts_[i + 1], target = starts_[in_[i].target];
      grown |= setArg(i, layoutOf(opcodes_[i]).backward ? next - target : target - next);
    }
    return grown;
  }

  const std::vector<RawInstr>& in_;
  const Assembly& assembly_;
  std::vector<int> opcodes_, prefixes_, args_;
  std::vector<int> starts_;
};

}  // namespace

int Assembly::addConstant(PyObject* object) {
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i].get() == object) return static_cast<int>(i);
  }
  constants.push_back(Ref::create(object));
  return static_cast<int>(constants.size()) - 1;
}

int Assembly::addName(std::string_view text) {
  Ref added = checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  for (size_t i = 0; i < names.size(); ++i) {
    if (PyUnicode_Compare(names[i].get(), added.get()) == 0) return static_cast<int>(i);
  }
  names.push_back(std::move(added));
  return static_cast<int>(names.size()) - 1;
}

Assembly disassemble(PyCodeObject* code) {
  if (hasHiddenVariables(code)) {
    PyErr_SetString(PyExc_SystemError, "assembler: code with hidden comprehension variables cannot be made again");
    throw PythonError();
  }
  Assembly a;
  std::vector<int> unitToIndex;
  a.instructions = readInstructions(code, unitToIndex);
  auto indexAt = [&](int unit) {
    bool known = unit >= 0 && unit < static_cast<int>(unitToIndex.size()) && unitToIndex[unit] >= 0;
    if (!known) fail("an offset between instructions", unit);
    return unitToIndex[unit];
  };
  for (RawInstr& instr : a.instructions) {
    if (instr.target >= 0) instr.target = indexAt(instr.target);
  }
  a.handlers = readHandlers(viewOf(code->co_exceptiontable));
  for (Handler& h : a.handlers) h = {indexAt(h.start), indexAt(h.end), indexAt(h.target), h.depth, h.lasti};
  a.constants = itemsOf(code->co_consts);
  a.names = itemsOf(code->co_names);
  a.varnames = itemsOf(checked(PyCode_GetVarnames(code)).get());
  a.cellvars = itemsOf(checked(PyCode_GetCellvars(code)).get());
  a.freevars = itemsOf(checked(PyCode_GetFreevars(code)).get());
  a.argCount = code->co_argcount;
  a.posOnlyCount = code->co_posonlyargcount;
  a.kwOnlyCount = code->co_kwonlyargcount;
  a.flags = code->co_flags;
  a.firstLine = code->co_firstlineno;
  a.name = Ref::create(code->co_name);
  a.qualname = Ref::create(code->co_qualname);
  a.filename = Ref::create(code->co_filename);
  return a;
}

Ref assemble(const Assembly& a) {
  int depth = stackSize(a);
  Encoder encoder(a);
  Ref code = encoder.code();
  Ref positions = encoder.positions(), handlers = encoder.handlers();
  Ref constants = tupleOf(a.constants), names = tupleOf(a.names), varnames = tupleOf(a.varnames);
  Ref freevars = tupleOf(a.freevars), cellvars = tupleOf(a.cellvars);
#if FW_PY_MINOR == 11
  auto* make = PyCode_NewWithPosOnlyArgs;
#else
  auto* make = PyUnstable_Code_NewWithPosOnlyArgs;
#endif
  return checked(reinterpret_cast<PyObject*>(
      make(a.argCount, a.posOnlyCount, a.kwOnlyCount, static_cast<int>(a.varnames.size()), depth, a.flags, code.get(),
           constants.get(), names.get(), varnames.get(), freevars.get(), cellvars.get(), a.filename.get(), a.name.get(),
           a.qualname.get(), a.firstLine, positions.get(), handlers.get())));
}

}  // namespace fw::cpython
