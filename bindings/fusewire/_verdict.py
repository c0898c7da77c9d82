"""What explain() says first: how much of a call is compiled, what that brings, what it cost, and what remains."""

from __future__ import annotations

import linecache
import re
import textwrap

from fusewire._errors import counted, left_calls

# Parts of the time of a call: below the first one a line is not worth a change; above the second the call is compiled.
WORTH, MOSTLY = 0.03, 0.85
_WIDTH = 150
_HEADERS = ("for ", "while ", "if ", "elif ", "else", "try", "with ", "async ")


def time_text(ns: float) -> str:
    """1.85 us, 20.7 ms, 3.10 s."""
    for limit, unit in ((1e3, "ns"), (1e6, "us"), (1e9, "ms")):
        if ns < limit * 0.9995:
            return f"{ns / limit * 1e3:.3g} {unit}" if unit != "ns" else f"{ns:.0f} ns"
    return f"{ns / 1e9:.3g} s"


def measured(variants) -> dict | None:
    """Of the trials that are decided: how often as fast as Python, and what that saves; None if there is none."""
    compiled = python = count = 0.0
    at_least = False
    for trial in (trial for variant in variants for trial in variant["trials"] if trial["kept"]):
        runs = max(trial["runs"], 1)
        compiled += runs * trial["compiled_ns"]
        python += runs * trial["python_ns"]
        count += runs
        at_least |= trial["at_least"]
    if not compiled:
        return None
    return {"ratio": python / compiled, "saved_ns": python - compiled, "per_run_ns": (python - compiled) / count, "at_least": at_least}


def _against(trial: dict) -> str:
    return f"{time_text(trial['python_ns'])} against {time_text(trial['compiled_ns'])} compiled"


def given_up(variants) -> dict | None:
    """The trial that Python has won by most."""
    lost = [trial for variant in variants for trial in variant["trials"] if not trial["kept"]]
    return max(lost, key=lambda trial: trial["compiled_ns"] / trial["python_ns"], default=None)


def text_of(facts: dict, line: int) -> str:
    """A source line; of the first one, where decorators may stand, the line of the name."""
    file = facts.get("file", "")
    text = linecache.getline(file, line).strip()
    for below in range(line + 1, line + 20 if line == facts.get("line") and text.startswith("@") else 0):
        if (named := linecache.getline(file, below).strip()).startswith(("def ", "async def ")):
            return named
    return text


def breaks_of(facts: dict) -> dict[int, dict]:
    """By line of the function itself: the break that says most. Reading a method and calling it are one."""
    breaks: dict[int, dict] = {}
    for stop in facts["breaks"]:
        line = stop["own_line"]
        known = breaks.get(line)
        if known is None or (known["reason"] == "unsupported-attribute" and stop["reason"] != known["reason"]):
            breaks[line] = stop
    return breaks


def lines_of(facts: dict) -> list[dict]:
    """The lines that the watched call has come by: where they ran, how often, for how long, and what to do about it.

    Times of a stretch of several lines stand at one of them; the others have `with`, its number.
    """
    call, breaks = facts["call"], breaks_of(facts)
    if not call:
        return []
    lines: dict[int, dict] = {}

    def line_at(number: int) -> dict:
        return lines.setdefault(number, {"line": number, "where": "native", "runs": 0, "native_ns": 0, "python_ns": 0})

    whole = max(call["ns"] - call["own_ns"], 1)
    one_liner = all(n == facts["line"] for stretch in call["stretches"] for n in stretch["lines"])
    for stretch in sorted(call["stretches"], key=lambda s: (not s["native"], s["lines"])):
        numbers = [n for n in stretch["lines"] if n > facts["line"] or one_liner]
        if not numbers:  # from the call to the first stub
            continue
        if stretch["native"]:
            best = [n for n in numbers if n not in breaks and not text_of(facts, n).startswith(_HEADERS)]
        else:
            best = [n for n in numbers if n in breaks]
        owner = (best or numbers)[0]
        if not stretch["native"] and not best and stretch["ns"] < WORTH * whole:
            if all(n in lines for n in numbers):  # the header of a loop, a jump
                lines[owner]["python_ns"] += stretch["ns"]
                continue
        for number in [owner, *numbers]:
            entry = line_at(number)
            entry["runs"] = max(entry["runs"], stretch["runs"])
            if number != owner and not entry["native_ns"] + entry["python_ns"]:
                entry.setdefault("with", owner)
        entry = lines[owner]
        entry.pop("with", None)
        entry["native_ns"] += stretch["ns"] if stretch["native"] else stretch["native_ns"]
        entry["python_ns"] += 0 if stretch["native"] else max(stretch["ns"] - stretch["native_ns"], 0)
        if not stretch["native"]:
            # Of its time nobody knows which part is NumPy's, where other lines call something, too.
            if any("(" in text_of(facts, n) and breaks.get(n, {}).get("runs_in") != "numpy" for n in numbers):
                entry["shared"] = True
            for number in numbers:
                if number == owner or number in breaks or not lines[number]["native_ns"]:
                    lines[number]["where"] = "Python"
    slower = {region["start_line"]: lost for region in facts["regions"] if (lost := given_up(region["variants"]))}
    for number, entry in lines.items():
        stop = breaks.get(number)
        if stop and entry["where"] == "Python" or (stop and entry["python_ns"]):
            numpys = stop["runs_in"] == "numpy"
            inside = stop["line"] != stop["own_line"] and "/numpy/" not in stop["file"]   # of a function of the user's, all of which Python runs
            shared = entry.get("shared") or inside
            entry["where"] = "NumPy" if numpys and not shared else "Python"
            entry.update(_verdict(stop, entry["python_ns"] / whole))
            if numpys and shared:
                entry["because"] += "; Python runs what is around it"
        elif entry["python_ns"] > max(WORTH * whole, entry["native_ns"]):
            entry["where"] = "Python"
        elif entry["native_ns"]:
            entry["where"] = "native"
        if entry["where"] == "Python" and "because" not in entry and number in slower:
            entry.update(advice="ignore", because=f"Python is faster here, {_against(slower[number])}")
        entry["source"] = text_of(facts, number)
    return [lines[number] for number in sorted(lines)]


def _place(stop: dict) -> str:
    """"line 26, reflect()": of a break in a function that is called, by its source."""
    def indent(text: str) -> int:
        return len(text) - len(text.lstrip())

    depth = indent(linecache.getline(stop["file"], stop["line"]))
    for line in range(stop["line"] - 1, 0, -1):
        text = linecache.getline(stop["file"], line)
        if (found := re.match(r"\s*(?:async )?def (\w+)", text)) and indent(text) < depth:
            own = line <= stop["own_line"] < stop["line"]
            return f"line {stop['line']}" + ("" if own else f", {found[1]}()")
    return f"line {stop['line']}"


def reason_text(stop: dict) -> str:
    """Why, and where if that is in a function that is called from the line."""
    detail = f": {stop['detail']}" if stop["detail"] else ""
    inside = f" (met in {_place(stop)})" if stop["own_line"] != stop["line"] else ""
    return f"{stop['message']}{detail}{inside}"


def _verdict(stop: dict, share: float) -> dict:
    if stop["runs_in"] == "numpy":
        return {"advice": "ignore", "because": f"NumPy computes it, usually fine: {stop['detail']}"}
    if share < WORTH:
        return {"advice": "ignore", "because": f"{max(share, 0.001):.1%} of the call{' at most' if share < 0.001 else ''}: {reason_text(stop)}"}
    return {"advice": stop["advice"], "because": reason_text(stop), "how": stop["hint"]}


def verdict_of(facts: dict) -> dict:
    """State of the function as it was called, with the numbers that the opening lines are made of."""
    call = facts["call"]
    regions = [r for r in facts["regions"] if r["hits"]]
    everything = [*facts["variants"], *(v for r in facts["regions"] for v in r["variants"])]
    if not call:
        return {"state": "unknown" if facts["variants"] or regions else "python", "lines": []}
    lines = lines_of(facts)
    whole = max(call["ns"] - call["own_ns"], 1)
    native = sum(s["ns"] if s["native"] else s["native_ns"] for s in call["stretches"])
    numpys = sum(entry["python_ns"] for entry in lines if entry["where"] == "NumPy")
    result = {"lines": lines, "ns": whole, "own_ns": call["own_ns"], "native_ns": native, "numpy_ns": numpys,
              "python_ns": max(whole - native - numpys, 0)}
    if call["compiled"]:
        result["state"] = "compiled"
        result["native_ns"], result["python_ns"] = whole, 0
        result["speed"] = measured(facts["variants"])
    else:
        ran = {s["start"] for s in call["stretches"] if s["native"]}
        parts = [measured(r["variants"]) for r in facts["regions"] if r["start"] in ran]
        known = {r["start"]: m for r in facts["regions"] if (m := measured(r["variants"]))}
        saved = sum(s["runs"] * known[s["start"]]["per_run_ns"] for s in call["stretches"] if s["native"] and s["start"] in known)
        if any(parts):
            result["speed"] = {"ratio": (whole + saved) / whole, "per_run_ns": saved, "at_least": any(p and p["at_least"] for p in parts),
                               "parts": len(parts), "parts_measured": sum(p is not None for p in parts)}
        share = (native + numpys) / whole
        result["state"] = ("python" if not ran else "numpy" if numpys > whole / 2 else "mostly" if share >= MOSTLY else "partly")
    duel = facts.get("whole")   # with what the parts cost the rest of the call
    if duel and not call["compiled"]:
        result["speed"] = {"ratio": duel["python_ns"] / duel["compiled_ns"], "per_run_ns": duel["python_ns"] - duel["compiled_ns"], "at_least": False} if duel["kept"] else None
    result["lost"] = duel if duel and not duel["kept"] else given_up(everything)
    result["compiling"] = bool(everything) and result["state"] != "compiled" and call["own_ns"] > WORTH * call["ns"]
    return result


def opening(facts: dict) -> list[str]:
    """At most ten lines."""
    verdict = facts["verdict"]
    place = f" ({facts['file']}:{facts['line']})" if "file" in facts else ""
    state = {"compiled": "compiled", "mostly": "mostly compiled", "partly": "partly compiled", "numpy": "compiled, around NumPy's own functions, which take most of the time",
             "python": "runs as Python",
             "unknown": "compiled, but this call was not watched"}[verdict["state"]]
    lines = [f"{facts['name']}{place}: {state}{' so far' if verdict.get('compiling') else ''}"]
    if "ns" in verdict:
        lines.append(f"  this call    {_call_text(verdict, facts.get('verified', False))}")
    lines.append(f"  speed        {_speed_text(facts, verdict)}")
    lines += [f"  compiling    {text}" for text in [_cost_text(facts, verdict)] if text]
    counts = _counts(facts)
    lines.append(f"  calls        {counts}")
    overhead = facts.get("overhead", {})
    if overhead.get("told"):
        state = "left to Python" if overhead["left_to_python"] else "had been left to Python"
        lines.append(f"  {state}: it was looked into for {overhead['in_vain_ms']:.0f} ms in vain, which is more than a tenth of "
                     "the time that Python runs it")
    if failures := [stop for stop in facts["breaks"] if stop["class"] == "bug"]:
        detail = failures[0]["detail"].partition("\n")[0][:100]
        lines.append(f"  Fusewire itself has failed here, and Python runs in its place: {failures[0]['message']}: {detail}")
    return (lines + _remaining(facts, verdict))[:10]


def _call_text(verdict: dict, verified: bool) -> str:
    total = verdict["ns"]
    if verified:
        text = f"{time_text(total)}, compiled and as Python"
    elif verdict["state"] == "compiled":
        text = f"{time_text(total)}, all of it native"
    else:
        parts = [f"{time_text(verdict[key])} {name} ({verdict[key] / total:.0%})"
                 for key, name in (("native_ns", "native"), ("numpy_ns", "NumPy's own functions"), ("python_ns", "Python"))
                 if verdict[key] >= 0.005 * total]
        text = f"{time_text(total)}: {', '.join(parts)}" if verdict["native_ns"] or verdict["numpy_ns"] else time_text(total)
    return text + (f"; besides, {time_text(verdict['own_ns'])} for compiling" if verdict["own_ns"] > 0.01 * total else "")


def times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 20 else f"{ratio:.0f}"


def _speed_text(facts: dict, verdict: dict) -> str:
    speed, lost = verdict.get("speed"), verdict.get("lost")
    if facts.get("verified"):
        return "not measured: with mode='verify' every call runs as Python, too"
    if speed:
        least = "at least " if speed["at_least"] else ""
        text = f"{least}{times(speed['ratio'])} times as fast as Python" if speed["ratio"] >= 1.05 else "about as fast as Python"
        text += ", measured"
        if speed.get("parts", 0) > speed.get("parts_measured", 0):
            text += f" in {speed['parts_measured']} of {speed['parts']} compiled parts so far"
        return text
    if lost:
        return f"Python is faster here and runs it, {_against(lost)}"
    if verdict.get("compiling"):
        return "not measured yet: this call has compiled parts that run from the next calls on; explain one of those"
    if verdict["state"] == "python":
        return "as Python"
    return "not measured yet: some 6 calls that take longer than 0.2 ms, or 70 shorter ones, tell"


def _cost_text(facts: dict, verdict: dict) -> str:
    overhead = facts.get("overhead")
    if not overhead or overhead["ms"] < 0.05:
        return ""
    variants = len(facts["variants"])
    text = f"took {time_text(overhead['ms'] * 1e6)} so far" + (f", for {variants} variants (FUSEWIRE_LOGS=recompiles tells why)" if variants > 2 else "")
    if overhead["in_vain_ms"] >= 0.1 * overhead["ms"] and overhead["in_vain_ms"] >= 1:
        text += f", {time_text(overhead['in_vain_ms'] * 1e6)} of it in vain"
    speed = verdict.get("speed")
    if speed and speed["ratio"] >= 1.05:
        count = max(round(overhead["ms"] * 1e6 / speed["per_run_ns"]), 1)
        text += f"; earned back by about {counted(count, 'call')} like this one (estimated)"
    return text


def _counts(facts: dict) -> str:
    hits = sum(v["hits"] for v in facts["variants"])
    partly = facts["partly_calls"]
    python = facts["python_calls"] - partly
    kinds = [f"{hits} native as a whole" if hits else "", f"{partly} with compiled parts" if partly else "",
             f"{python} ran as Python" if python else ""]
    declined = sum(v["declines"] for v in facts["variants"])
    kinds.append(left_calls(declined) if declined else "")
    return "; ".join(kind for kind in kinds if kind) or "none"


def _remaining(facts: dict, verdict: dict) -> list[str]:
    lines, total = verdict["lines"], verdict.get("ns", 1)
    if verdict["state"] == "python" and facts["call"] and facts["call"]["why"]:
        return [f"  as Python, since {facts['call']['why']}"]
    costs = sorted((entry for entry in lines if entry["where"] != "native"), key=lambda entry: -entry["python_ns"])
    costs = [entry for entry in costs if entry["python_ns"] >= WORTH * total]
    if costs:
        top = costs[0]
        where = f"line {top['line']}, {time_text(top['python_ns'])} ({top['python_ns'] / total:.0%}) in {top['where']}"
        result = [f"  biggest remaining cost: {where}: {top['source']}"]
        return result + _advice_lines(top, "    ")[:3]
    if verdict["state"] in ("python", "unknown"):
        stops = list(breaks_of(facts).values())
        if stops:
            stop = stops[0]
            where = f"line {stop['own_line']}: " if stop["own_line"] else ""
            advice = _verdict(stop, 1.0)
            return [f"  biggest remaining cost: {where}{text_of(facts, stop['own_line']) or 'all of it'}", *_advice_lines(advice, "    ")[:3]]
    return ["  biggest remaining cost: none that is worth a change"] if lines or verdict["state"] == "compiled" else []


def shown_lines(facts: dict) -> list[dict]:
    """In order; of long functions without those that are one with another line, and only the most expensive ones."""
    lines = facts["verdict"]["lines"]
    most = 40
    if len(lines) > most:
        lines = [entry for entry in lines if "with" not in entry]
    if len(lines) > most:
        least = sorted((entry["native_ns"] + entry["python_ns"] for entry in lines), reverse=True)[most - 1]
        lines = [entry for entry in lines if entry["native_ns"] + entry["python_ns"] >= least]
    return lines


def table(facts: dict) -> list[str]:
    lines = shown_lines(facts)
    if not lines:
        return []
    head = f"  {'line':>6} {'runs':>6} {'native':>9} {'Python':>9}  "
    result = [head]
    for entry in lines:
        cells = [time_text(entry[key]) if entry[key] else "" for key in ("native_ns", "python_ns")]
        if "with" in entry and not entry["native_ns"] + entry["python_ns"]:
            cells[entry["where"] != "native"] = f"in {entry['with']}"
        result.append(f"  {entry['line']:>6} {entry['runs']:>6} {cells[0]:>9} {cells[1]:>9}  {entry['where']:<6}  {entry['source'][:90]}")
        result += _advice_lines(entry, " " * 45)
    return result


def _advice_lines(entry: dict, indent: str) -> list[str]:
    """What to do about a line, and how."""
    if "because" not in entry:
        return []
    lines = textwrap.wrap(f"{entry['advice']}: {entry['because']}", _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
    if how := entry.get("how"):
        lines += textwrap.wrap(how, _WIDTH, initial_indent=indent + "  ", subsequent_indent=indent + "  ")
    return lines
