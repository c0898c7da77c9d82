"""Writes two tables for the interpreter that runs this script. opcode_table.inc, for decoding: number -> row of
opcodes.def, cache sizes, and the conventions in which the versions differ. opcode_layout.inc, for assembling: cache
sizes, control flow, stack effects, and the numbers that neutral instructions become.
Usage: gen_opcodes.py OPCODES_DEF OPCODE_TABLE [OPCODE_LAYOUT]"""
import dis
import opcode
import os
import re
import sys

# Instructions that nothing follows, beside the unconditional jumps.
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "INTERPRETER_EXIT")
# Instructions that the assembler asks for by name; -1 where a version lacks one.
NAMED = """CACHE EXTENDED_ARG RESUME LOAD_FAST_CHECK LOAD_GLOBAL LOAD_ATTR LOAD_SUPER_ATTR COMPARE_OP UNARY_NOT KW_NAMES
PRECALL CALL CALL_INTRINSIC_1 CALL_INTRINSIC_2 FORMAT_VALUE FOR_ITER YIELD_VALUE SEND END_SEND LOAD_FAST STORE_FAST
LOAD_FAST_LOAD_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST JUMP_BACKWARD_NO_INTERRUPT""".split()
SUPPORTED = ((3, 11), (3, 12), (3, 13))


def caches(name, number):
    table = opcode._inline_cache_entries
    if isinstance(table, dict):                  # 3.13: by name, entries without caches are missing
        return table.get(name, 0)
    return table[number] if number < len(table) else 0


def conventions():
    """Constants in which the versions differ."""
    version = sys.version_info[:2]
    intrinsics = list(getattr(opcode, "_intrinsic_1_descs", []))
    yield f"inline constexpr int kCompareShift = {({11: 0, 12: 4, 13: 5})[version[1]]};"
    yield f"inline constexpr int kCompareBoolBit = {16 if version >= (3, 13) else 0};"
    yield f"inline constexpr bool kAttrHasMethodBit = {str(version >= (3, 12)).lower()};"
    yield f"inline constexpr bool kNullAfterCallable = {str(version >= (3, 13)).lower()};"
    yield f"inline constexpr int kForIterSkip = {version[1] - 11};"
    yield f"inline constexpr int kSendSkip = {int(version >= (3, 12))};"
    for constant, name in (("Positive", "UNARY_POSITIVE"), ("ListToTuple", "LIST_TO_TUPLE"),
                           ("StopIterationError", "STOPITERATION_ERROR")):
        number = intrinsics.index("INTRINSIC_" + name) if intrinsics else -1
        yield f"inline constexpr int kIntrinsic{constant} = {number};"
    binary = list(getattr(opcode, "_intrinsic_2_descs", []))
    number = binary.index("INTRINSIC_PREP_RERAISE_STAR") if binary else -1
    yield f"inline constexpr int kIntrinsicPrepReraiseStar = {number};"


def takes_argument(number):
    return number in opcode.hasarg if hasattr(opcode, "hasarg") else number >= opcode.HAVE_ARGUMENT


def effect_shape(number, jump):
    """(perArg, perHigh, low): the stack effect is perArg * arg + perHigh * (arg >> 8) + low[arg & 15], for every
    instruction of these versions; checked on samples, so that a rule of another form stops the build."""
    def effect(arg):
        if opcode.opname[number] == "RETURN_GENERATOR":
            return 1                             # what it leaves for the frame that goes on; 3.11 and 3.12 say 0
        return dis.stack_effect(number, arg, jump=jump)

    if not takes_argument(number):
        return 0, 0, (effect(None),) * 16
    per_arg = (effect(48) - effect(32)) // 16
    per_high = effect(512) - effect(256) - per_arg * 256
    low = tuple(effect(i) - per_arg * i for i in range(16))
    for arg in [*range(300), 1000, 3000, 70000]:
        if opcode.opname[number] == "BUILD_SLICE" and arg > 15:
            break                                # 2 or 3 only
        if effect(arg) != per_arg * arg + per_high * (arg >> 8) + low[arg & 15]:
            sys.exit(f"the stack effect of {opcode.opname[number]} has a new form")
    return per_arg, per_high, low


def compare_args():
    """COMPARE_OP's argument for each comparison, as the compiler writes it (the specialiser reads its low bits)."""
    for operator in "< <= == != > >=".split():
        code = compile(f"a {operator} b", "", "eval")
        yield next(i.arg for i in dis.get_instructions(code) if i.opname == "COMPARE_OP")


def flow_of(name, number):
    if number in opcode.hasjrel or number in opcode.hasjabs:
        if name in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"):
            return "kJump"
        return "kBranch"
    return "kEnd" if name in ENDS else "kNext"


def opposite_of(name):
    """The jump that goes the other way, where there is one."""
    for here, there in (("FORWARD", "BACKWARD"), ("BACKWARD", "FORWARD")):
        other = name.replace("_NO_INTERRUPT", "").replace(here, there)
        if here in name and other in opcode.opmap:
            return opcode.opmap[other]
    return -1


def layout_lines(definitions):
    """opcode_layout.inc."""
    names = {n: name for name, n in opcode.opmap.items() if n < 256 and not name.startswith("INSTRUMENTED_")}
    shapes, rows = {}, []
    for number in range(256):
        name = names.get(number)
        if name is None:
            rows.append(f'  {{false, 0, Flow::kNext, false, 0, 0, -1}},  // {number}')
            continue
        index = [shapes.setdefault(effect_shape(number, jump), len(shapes)) for jump in (False, True)]
        rows.append(f'  {{true, {caches(name, number)}, Flow::{flow_of(name, number)}, '
                    f'{str("BACKWARD" in name).lower()}, {index[0]}, {index[1]}, {opposite_of(name)}}},  // {name}')
    yield "// Generated by gen_opcodes.py; do not edit."
    yield f"inline constexpr int kLayoutVersion = {sys.version_info[0] << 8 | sys.version_info[1]};"
    yield "inline constexpr EffectShape kEffectShapes[] = {"
    for per_arg, per_high, low in shapes:
        yield f"  {{{per_arg}, {per_high}, {{{', '.join(map(str, low))}}}}},"
    yield "};"
    yield "inline constexpr OpcodeLayout kLayouts[256] = {"
    yield from rows
    yield "};"
    yield f"inline constexpr int kCompareArgs[] = {{{', '.join(map(str, compare_args()))}}};"
    yield "// The instruction that has the meaning and the argument of a neutral one (or is the same forward jump),"
    yield "// else -1. The first row of opcodes.def counts."
    yield "inline constexpr int plainOpcode(Opcode op) {"
    yield "  switch (op) {"
    seen = set()
    for name, neutral, rule in definitions:
        same = rule in ("Plain", "Jump", "ForIter") and opcode.opmap.get(name, 256) < 256
        if same and neutral not in seen:
            seen.add(neutral)
            yield f"    case Opcode::k{neutral}: return {opcode.opmap[name]};  // {name}"
    for neutral in sorted({row[1] for row in definitions} | {"Unsupported"}):
        if neutral in seen:
            continue
        yield f"    case Opcode::k{neutral}: return -1;"
    yield "  }"
    yield "  return -1;"
    yield "}"
    yield from conventions()
    yield "namespace raw {"
    for name in NAMED:
        yield f"inline constexpr int k{name} = {opcode.opmap.get(name, -1)};"
    yield "}"


def main(definitions, output, layout=None):
    version = sys.version_info[:2]
    if version not in SUPPORTED:
        sys.exit(f"unsupported Python version {version}")
    with open(os.path.join(os.path.dirname(definitions), "binary_operators.def")) as f:
        binary = [re.sub(r"\B([A-Z])", r"_\1", name).upper() for name in re.findall(r"^FW_BINARY_OPERATOR\((\w+),", f.read(), re.M)]
    wanted = ["NB_" + name for name in binary] + ["NB_INPLACE_" + name for name in binary]
    if [name for name, _ in opcode._nb_ops] != wanted:
        sys.exit("the operators of BINARY_OP have changed")
    with open(definitions) as f:
        rows = set(re.findall(r"^FW_RAW\((\w+),", f.read(), re.M))
    names = {number: name for name, number in opcode.opmap.items() if number < 256}
    lines = ["// Generated by gen_opcodes.py; do not edit.",
             f"inline constexpr int kTableVersion = {version[0] << 8 | version[1]};",
             "inline constexpr RawOpcode kRawOpcodes[256] = {"]
    for number in range(256):
        name = names.get(number, "")
        raw = name if name in rows else "kUnknown"
        raw = "k" + raw if raw != "kUnknown" else raw
        lines.append(f'  {{Raw::{raw}, {caches(name, number) if name else 0}, "{name or number}"}},')
    lines.append("};")
    with open(output, "w") as f:
        f.write("\n".join(lines) + "\n")
    if layout:
        with open(definitions) as f:
            table = re.findall(r"^FW_RAW\((\w+), (\w+), (\w+)\)", f.read(), re.M)
        with open(layout, "w") as f:
            f.write("\n".join(layout_lines(table)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
