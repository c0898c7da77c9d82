"""Events of a trace, gathered by function. Memory is bounded: texts are kept once, long lists are counted beyond a limit."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field

_TEXT_BYTES = 256 << 20
_RECOMPILES, _TIMELINE, _COMPILES = 400, 120_000, 2_000
_REGION_NAME = re.compile(r"(.*) line (\d+)$", re.S)


class Texts:
    """Long texts, each once; an index stands for a text. -1: there is none, or it was too much."""

    def __init__(self):
        self.texts: list[str] = []
        self._known: dict[bytes, int] = {}
        self._bytes = 0
        self.left_out = 0

    def add(self, text) -> int:
        if not isinstance(text, str) or not text:
            return -1
        data = text.encode("utf-8", "replace")
        key = hashlib.blake2b(data, digest_size=16).digest()
        if key in self._known:
            return self._known[key]
        if self._bytes + len(data) > _TEXT_BYTES:
            self.left_out += 1
            return -1
        self._bytes += len(data)
        self._known[key] = len(self.texts)
        self.texts.append(text)
        return self._known[key]


@dataclass
class Function:
    name: str
    facts: dict[int, dict] = field(default_factory=dict)  # by process: what describe() told last
    file: str = ""
    line: int = 0
    sampled: dict = field(default_factory=lambda: {"count": 0, "calls": 0, "ns": 0, "own_ns": 0, "own_once_ns": 0, "native_ns": 0, "compiled": 0, "compiled_ns": 0})
    last_number: dict[int, int] = field(default_factory=dict)  # by process: of the last call that was watched
    stretches: dict[tuple, list] = field(default_factory=dict)  # (start, native, lines): runs, ns, native_ns
    compiles: list[dict] = field(default_factory=list)
    compile_ms: float = 0.0
    compile_count: int = 0
    recompiles: list[dict] = field(default_factory=list)
    recompile_count: int = 0
    breaks: dict[tuple, dict] = field(default_factory=dict)
    left: dict | None = None
    failures: list[dict] = field(default_factory=list)


def _text(value, limit: int = 400) -> str:
    return value[:limit] if isinstance(value, str) else ""


def _number(value, fallback=0):
    if type(value) is int and -(1 << 63) < value < 1 << 63:
        return value
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
    return value if known else fallback


def _dicts(value) -> list[dict]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# What facts have to hold to be worked with: a type, a list of one form, a dict of forms.
_NUMBERS = (int, float)
_TRIAL = {"kept": bool, "compiled_ns": _NUMBERS, "python_ns": _NUMBERS, "at_least": bool, "runs": int}
_VARIANT = {"guards": str, "guard_list": [{"text": str, "line": int, "cost": _NUMBERS}], "sizes": [{"argument": str, "axis": int, "policy": str}], "graph": str, "plan": str,
            "kernels": int, "hits": int, "declines": int, "guard_ns": _NUMBERS, "trials": [_TRIAL], "ms": dict}
_PART = {"name": str, "group": int, "commit": bool, "runs": int, "ns": _NUMBERS}  # in newer traces
_BREAK = {"reason": str, "class": str, "message": str, "detail": str, "hint": str, "advice": str, "runs_in": str, "file": str, "line": int, "own_line": int}
_REGION = {"start": int, "start_line": int, "end_lines": list, "hits": int, "misses": int, "status": str, "variants": [_VARIANT]}
_FACTS = {"name": str, "python_calls": int, "partly_calls": int, "variants": [_VARIANT], "regions": [_REGION], "breaks": [_BREAK]}


def _expect(value, form) -> None:
    """TypeError or KeyError if it does not have the form."""
    if isinstance(form, list):
        _expect(value, list)
        for one in value:
            _expect(one, form[0])
    elif isinstance(form, dict):
        _expect(value, dict)
        for key, inner in form.items():
            _expect(value[key], inner)
    elif not isinstance(value, form) or (isinstance(value, bool) and form is not bool):
        raise TypeError(f"{type(value).__name__} is not expected")


class Collector:
    def __init__(self):
        self.functions: dict[str, Function] = {}
        self.texts = Texts()
        self.sources: dict[str, str] = {}
        self.timeline: list[tuple] = []  # (process, thread, time, duration, kind, function, text)
        self.timeline_left_out = 0
        self.process_facts: dict[int, dict] = {}
        self._code: dict[int, dict] = {}  # by the text of its kernels
        self._pending: dict[int, dict] = {}  # by process: texts of the variant that is being compiled

    def function(self, name: str, file: str = "", line: int = 0) -> Function:
        name = name or "?"
        one = self.functions.setdefault(name, Function(name))
        if file and one.file and (file, line) != (one.file, one.line):  # another function of this name
            name = f"{name} ({os.path.basename(file)}:{line})"
            one = self.functions.setdefault(name, Function(name))
        if file and not one.file:
            one.file, one.line = file, line
        return one

    def add(self, process, at: int, event: dict) -> None:
        handler = getattr(self, "_on_" + event["kind"], None)
        if handler is not None:
            handler(process, at, event["data"], event)

    def _note(self, process, thread: int, at: int, duration: int, kind: str, function: str, text: str) -> None:
        if len(self.timeline) < _TIMELINE:
            self.timeline.append((process.number, thread, at, duration, kind, function, text))
        else:
            self.timeline_left_out += 1

    def _split(self, data: dict) -> tuple[str, int | None]:
        """Events of a region say "name line 5"."""
        name = _text(data.get("function"))
        found = _REGION_NAME.match(name)
        return (found[1], int(found[2])) if found else (name, None)

    # --- what a variant is made of, in the order in which it is told
    def _of_variant(self, process) -> dict:
        return self._pending.setdefault(process.number, {"passes": []})

    def _on_pass(self, process, at, data, event):
        waiting = self._of_variant(process)
        text = self.texts.add(data.get("text"))
        if isinstance(data.get("text"), str) and data["text"].startswith("graph("):
            waiting["planned"] = text  # the last one is what the plan is about
        if len(waiting["passes"]) < 40:
            waiting["passes"].append((_text(data.get("name"), 60), text))

    def _on_kernels(self, process, at, data, event):
        self._of_variant(process)["kernels"] = self.texts.add(data.get("text"))

    def _on_code(self, process, at, data, event):
        self._of_variant(process).update(llvm=self.texts.add(data.get("llvm")), assembly=self.texts.add(data.get("assembly")))

    def _on_cuda_source(self, process, at, data, event):
        self._of_variant(process)["kernels"] = self.texts.add(event.get("text"))

    def _on_graph(self, process, at, data, event):
        self._of_variant(process)["graph"] = self.texts.add(data.get("text"))

    def _on_plan(self, process, at, data, event):
        self._of_variant(process)["plan"] = self.texts.add(data.get("text"))

    def _on_guards(self, process, at, data, event):
        self._of_variant(process).update(guards=_dicts(data.get("guards")), guard_ns=_number(data.get("ns"), -1))

    def _on_sizes(self, process, at, data, event):
        self._of_variant(process)["sizes"] = _dicts(data.get("sizes"))

    def _on_side_effects(self, process, at, data, event):
        self._of_variant(process)["effects"] = self.texts.add(data.get("text"))

    def _on_compiled(self, process, at, data, event):
        name, region = self._split(data)
        one = self.function(name)
        ms = {key: _number(value) for key, value in data["ms"].items()} if isinstance(data.get("ms"), dict) else {}
        waiting = self._pending.pop(process.number, {"passes": []})
        if waiting.get("kernels", -1) >= 0:  # the same code is told once
            code = {key: waiting[key] for key in ("llvm", "assembly") if key in waiting}
            waiting.update(self._code.setdefault(waiting["kernels"], code))
        total = ms.get("total", 0.0)
        one.compile_count += 1
        one.compile_ms += total
        if len(one.compiles) < _COMPILES:
            one.compiles.append({"process": process.number, "at": at, "region": region, "ms": ms, **waiting})
        start = at - int(total * 1e6)
        self._note(process, -1, start, int(total * 1e6), "compile", name, f"compiled{f', region from line {region}' if region else ''}")
        for phase in ("capture", "passes", "plan", "kernels", "llvm_ir", "codegen", "link", "guards"):
            if (took := int(ms.get(phase, 0.0) * 1e6)) > 0:
                self._note(process, -2, start, took, "phase", name, phase)
                start += took

    # --- what happens
    def _on_graph_break(self, process, at, data, event):
        name, _ = self._split(data)
        key = tuple(_text(data.get(k)) for k in ("reason", "detail", "file")) + (_number(data.get("line")),)
        one = self.function(name)
        known = one.breaks.get(key)
        if known is None and len(one.breaks) < _RECOMPILES:
            known = one.breaks[key] = {k: data.get(k) if k == "line" else _text(data.get(k), 2000) for k in (
                "reason", "class", "message", "detail", "hint", "file", "line", "advice", "runs_in", "reproducer")}
            known.update(line=int(_number(data.get("line"))), count=0, at=at)
        if known is not None:
            known["count"] += 1
        self._note(process, -3, at, 0, "break", name, f"{_text(data.get('message'))}: {_text(data.get('detail'))}")

    def _on_internal_failure(self, process, at, data, event):
        self._on_graph_break(process, at, data, event)
        self.function(self._split(data)[0]).failures.append({"text": _text(event.get("text"), 2000), "reproducer": _text(data.get("reproducer"))})

    def _on_verify_mismatch(self, process, at, data, event):
        self.function(self._split(data)[0]).failures.append({"text": _text(event.get("text"), 2000), "reproducer": _text(data.get("reproducer"))})

    def _on_recompile(self, process, at, data, event):
        name, region = self._split(data)
        one = self.function(name)
        one.recompile_count += 1
        misses = [{key: _text(miss.get(key), 1000) if key != "line" and key != "variant" else int(_number(miss.get(key)))
                   for key in ("variant", "reason", "guard", "source", "line", "advice")} for miss in _dicts(data.get("misses"))]
        cause = misses[-1] if misses else {"variant": 0, "reason": "", "guard": "", "source": "", "line": 0, "advice": ""}
        if len(one.recompiles) < _RECOMPILES:
            one.recompiles.append({"process": process.number, "at": at, "region": region, **cause, "others": misses[:-1][-8:]})
        self._note(process, -3, at, 0, "recompile", name, cause["reason"])

    def _on_left_to_python(self, process, at, data, event):
        self.function(self._split(data)[0]).left = {key: _number(data.get(key)) for key in ("ran_ms", "in_vain_ms")}

    def _on_call(self, process, at, data, event):
        name, ns = _text(data.get("function")), int(_number(data.get("ns")))
        one = self.function(name, _text(data.get("file"), 4000), int(_number(data.get("line"))))
        # A call that was watched stands for those since the one before, which were not.
        number = int(_number(data.get("number"), 1))
        weight = max(number - one.last_number.get(process.number, 0), 1)
        one.last_number[process.number] = number
        one.sampled["count"] += 1
        one.sampled["calls"] += weight
        one.sampled["own_once_ns"] += int(_number(data.get("own_ns")))
        if data.get("compiled") is True:
            one.sampled["compiled"] += weight
            one.sampled["compiled_ns"] += weight * max(int(_number(data.get("ns"))) - int(_number(data.get("own_ns"))), 0)
        for key in ("ns", "own_ns", "native_ns"):
            one.sampled[key] += weight * int(_number(data.get(key)))
        for stretch in _dicts(data.get("stretches")):
            lines = stretch.get("lines")
            lines = tuple(n for n in lines if isinstance(n, int)) if isinstance(lines, list) else ()
            key = (int(_number(stretch.get("start"))), stretch.get("native") is True, lines)
            if key not in one.stretches and len(one.stretches) > 4000:
                continue
            sums = one.stretches.setdefault(key, [0, 0, 0])
            for i, part in enumerate(("runs", "ns", "native_ns")):
                sums[i] += weight * int(_number(stretch.get(part)))
        kind = "native" if data.get("compiled") is True else "partly" if _number(data.get("native_ns")) else "python"
        self._note(process, int(_number(data.get("thread"))), at - ns, ns, kind, name, "")

    # --- what is told at the end
    def _on_function(self, process, at, data, event):
        _expect(data, _FACTS)
        for variant in [*data["variants"], *(v for region in data["regions"] for v in region["variants"])]:
            _expect(variant.get("parts", []), [_PART])
        name = _text(data.get("name"))
        one = self.function(name, _text(data.get("file"), 4000), int(_number(data.get("line"))))
        one.facts[process.number] = data

    def _on_source(self, process, at, data, event):
        if isinstance(data.get("file"), str) and isinstance(data.get("text"), str):
            self.sources.setdefault(data["file"], data["text"])

    def _on_process(self, process, at, data, event):
        _expect(data, {"arguments": [str], "overhead": dict, "machine": str})
        self.process_facts[process.number] = data
