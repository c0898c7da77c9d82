"""The page. Data travel as compressed JSON that the page's script unpacks: nothing from a trace is ever read as HTML or as code."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import zlib
from pathlib import Path

_PAGE = Path(__file__).parent / "page"
SCRIPTS = ("base.js", "text.js", "route.js", "summary.js", "source.js", "function.js", "memory.js", "graph.js", "timeline.js", "kernels.js", "compare.js", "search.js", "main.js")
# Of compressed texts: what makes the page larger than it should be is left out, the least expensive first.
_BUDGET = 1_000_000
_MISSING = "fusewire: reports need {}: pip install \"fusewire[report]\""


def _import_tools():
    try:
        import jinja2
        import pygments
    except ImportError as error:
        raise ImportError(_MISSING.format(error.name), name=error.name) from None
    return jinja2, pygments


def _tokens(text: str) -> list[list[str]]:
    """Per line: class, text, class, text ..."""
    from pygments.lexers import PythonLexer
    from pygments.token import STANDARD_TYPES

    lines: list[list[str]] = [[]]
    for kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        while kind not in STANDARD_TYPES:
            kind = kind.parent
        for i, part in enumerate(value.split("\n")):
            if i:
                lines.append([])
            if part:
                lines[-1] += [STANDARD_TYPES[kind][:1], part]  # families of tokens: k, n, s, m, o, c
    return lines


def _in_order(model: dict) -> list[int]:
    """Indices of texts, those first that are looked at first."""
    order: dict[int, None] = {}
    functions = sorted(model["functions"], key=lambda f: -f["ns"])
    for keys in (("graph", "plan", "planned"), ("kernel", "effects"), ("passes",), ("assembly",), ("llvm",)):
        for function in functions:
            for variant in function["variants"]:
                for key in keys:
                    for index in [i for _, i in variant["passes"]] if key == "passes" else [variant[key]]:
                        if index >= 0:
                            order[index] = None
    return list(order)


def _chosen(model: dict) -> list[str | None]:
    texts, chosen = model["texts"], [None] * len(model["texts"])
    left = _BUDGET
    for index in _in_order(model):
        size = len(zlib.compress(texts[index].encode("utf-8", "replace"), 1))
        if size * 0.7 <= left:
            left -= size * 0.7
            chosen[index] = texts[index]
    return chosen


def _packed(value) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


def _finite(value):
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return value


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(model: dict, comparison: dict | None = None) -> str:
    """The whole page. ImportError, with what to install, where Jinja2 or Pygments are missing."""
    jinja2, _ = _import_tools()
    texts = model["texts"]
    shown = {key: value for key, value in model.items() if key != "texts"}
    shown["files"] = [{"name": f["name"], "short": f["short"], "lines": _tokens(texts[f["text"]]) if f["text"] >= 0 else []} for f in model["files"]]
    shown["comparison"] = comparison
    script = "\"use strict\";\n(() => {\n" + "\n".join((_PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS) + "})();\n"
    style = (_PAGE / "page.css").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, keep_trailing_newline=True)
    template = environment.from_string((_PAGE / "page.html.j2").read_text(encoding="utf-8"))
    names = ", ".join(f["name"] for f in sorted(model["functions"], key=lambda f: -f["ns"])[:3])
    return template.render(script=script, style=style, script_hash=_hash(script), style_hash=_hash(style), names=names,
                           model=_packed(_finite(shown)), texts=_packed(_chosen(model)))


def write(text: str, path: str) -> None:
    """As a whole or not at all."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
