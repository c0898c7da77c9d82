"""Guards, graph, fusion plan and times of the variants of a function, in words: what explain() tells when it is asked."""

from __future__ import annotations

from fusewire._errors import break_lines, counted, left_calls


def variants_of(facts: dict):
    """(title, variant) of the whole function and of its regions."""
    for i, variant in enumerate(facts["variants"]):
        yield f"variant {i}", variant
    for region in facts["regions"]:
        for i, variant in enumerate(region["variants"]):
            yield f"region from line {region['start_line']}, variant {i}", variant


def details(facts: dict) -> list[str]:
    lines = []
    for i, variant in enumerate(facts["variants"]):
        lines += variant_lines(f"variant {i}", variant)
    for region in (r for r in facts["regions"] if r["variants"] or r["hits"]):
        lines += _region_lines(region)
    for stop in facts["breaks"]:
        head, *rest = break_lines(stop, "")
        lines += [f"  break {head}", *(f"  {line}" for line in rest)]
    total = sum(variant["ms"]["total"] for _, variant in variants_of(facts))
    if total:
        lines.append(f"  compiled in {total:.1f} ms altogether")
    return lines


def guard_lines(variant: dict) -> list[str]:
    return [guard["text"] + (f"  # line {guard['line']}" if guard["line"] else "") for guard in variant["guard_list"]]


def part(facts: dict, name: str) -> str:
    """One part of every variant: guards, graph or plan."""
    lines = []
    for title, variant in variants_of(facts):
        rows = guard_lines(variant) if name == "guards" else variant[name].rstrip().splitlines()
        lines += [f"{title}:", *(f"  {row}" for row in rows)]
    return "\n".join(lines)


def _region_lines(region: dict) -> list[str]:
    ends = ", ".join("return" if end == "return" else f"line {end}" for end in dict.fromkeys(region["end_lines"]))
    counts = f"{counted(region['hits'], 'run')}, {region['misses']} left to Python"
    lines = [f"  region from line {region['start_line']} to {ends or 'nowhere'}: {counts}"]
    for i, variant in enumerate(region["variants"]):
        lines += ["  " + line for line in variant_lines(f"variant {i}", variant)]
    return lines


def variant_lines(title: str, variant: dict) -> list[str]:
    ms = variant["ms"]
    kernels, calls = counted(variant["kernels"], "kernel"), counted(variant["hits"], "call")
    lines = [f"  {title}: {kernels}, {calls}, compiled in {ms['total']:.1f} ms"]
    if variant["declines"]:
        lines.append("    " + left_calls(variant["declines"]))
    for trial in variant["trials"]:
        times = f"{trial['compiled_ns'] / 1e3:.2f} us against {trial['python_ns'] / 1e3:.2f} us"
        if not trial["kept"]:
            lines.append(f"    left to Python for arguments of some sizes: slower than Python, {times}")
        else:
            least = " or more" if trial["at_least"] else ""
            lines.append(f"    faster than Python, {times}{least}; {counted(trial['runs'], 'run')} of these sizes")
    lines.append(
        "    " + ", ".join(f"{phase} {t:.2f} ms" for phase, t in ms.items() if phase != "total" and t >= 0.005)
    )
    lines.append("    guards:" + (f" {variant['guard_ns']:.0f} ns" if variant["guard_ns"] >= 0 else ""))
    lines += [f"      {line}" for line in guard_lines(variant)]
    for name in ("graph", "plan"):
        lines.append(f"    {name}:")
        lines += ["      " + line for line in variant[name].rstrip().splitlines()]
    return lines
