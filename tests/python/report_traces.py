"""Traces made up for tests of the report: large ones, hostile ones."""

import json

# Each would do something if a page took it for HTML, code or an address.
HOSTILE = ["<img src=x onerror=\"document.title='bad'\">", "</script><script>document.title='bad'</script>", "javascript:document.title='bad'",
           "\"><svg onload=\"document.title='bad'\">", "{{7*7}}<b>bold</b>", "${document.title='bad'}", "__proto__", "\u202e\u0000\u2028<!--"]


def event(kind, time_ns, pid=1, text="", **data):
    return {"schema": 1, "pid": pid, "time_ns": time_ns, "channel": "trace", "kind": kind, "text": text, "data": data}


def write_trace(folder, events):
    """Events, or lines of JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "fusewire-1.jsonl", "w") as file:
        for one in events:
            file.write((one if isinstance(one, str) else json.dumps(one)) + "\n")
    return folder


def _variant(line, name):
    graph = f"graph(s0: [0, inf]) {{\n  %0 = input() {{index=0}} : f64[s0] line={line}\n  %1 = {name}(%0) : f64[s0] line={line}\n  return %1\n}}\n"
    plan = f"group 0: map [s0] -> [%1]\n  %1 = {name}(%0) axes=[0]\nbuffer 0: input 0 f64[s0] strides=[8] holds [%0]\nreturn buffer 1 [s0] strides=[8]\n"
    return graph, plan


def _facts(name, file, line, graph, plan, breaks=()):
    guards = [{"text": f"array x: f64, rank 1, c {name}", "kind": "array", "line": line, "cost": 40}]
    variant = {"guards": guards[0]["text"], "guard_list": guards, "sizes": [], "graph": graph, "plan": plan, "kernels": 1, "hits": 5, "declines": 0,
               "guard_ns": 5.0, "trials": [], "on_trial": False, "ms": {"total": 1.0}, "symbols": {"s0": 100, name: 3},
               "parts": [{"name": f"k0_{name}", "group": 0, "commit": False, "runs": 3, "ns": 900.0, "bytes": 4800.0, "operations": 300.0,
                          "best": {"ns": 200.0, "bytes": 1600.0, "operations": 100.0}}, {"name": "call 0", "group": -1, "commit": False, "runs": 1, "ns": 50.0}]}
    return {"name": name, "file": file, "line": line, "python_calls": 1, "partly_calls": 0, "variants": [variant], "breaks": list(breaks), "regions": [], "stops": []}


def _break(file, line, detail):
    return {"reason": "input-output", "class": "user", "message": detail, "detail": detail, "hint": detail, "file": file, "line": line, "own_line": line,
            "advice": "fix", "runs_in": "python", "kinds": 1}


def _call(name, file, line, at, ns=50_000, thread=7):
    return event("call", at, function=name, file=file, line=line, thread=thread, number=1, start_ns=at - ns, ns=ns, own_ns=0, native_ns=ns // 2, compiled=False,
                 stretches=[{"start": -1, "native": False, "lines": [line + 1], "runs": 1, "ns": ns // 2, "native_ns": 0},
                            {"start": 4, "native": True, "lines": [line + 2], "runs": 1, "ns": ns // 2, "native_ns": ns // 2}])


def hostile_trace(folder):
    events = [event("start", 1, versions={"fusewire": HOSTILE[0], "numpy": HOSTILE[1]})]
    source = "\n".join(["", "", *(f"x = 1  # {text}" for text in HOSTILE)])
    for i, text in enumerate(HOSTILE):
        file = f"/tmp/{text}.py"
        graph, plan = _variant(3, text)
        events += [_call(text, file, 1, 10_000_000 * (i + 1)), event("graph_break", 10_000_000 * (i + 1), function=text, **{k: v for k, v in _break(file, 2, text).items() if k not in ("own_line", "kinds")}),
                   event("recompile", 10_000_000 * (i + 1), function=text, misses=[{"variant": 0, "reason": text, "guard": text, "source": text, "line": 2, "advice": text}]),
                   event("kernels", 10_000_000 * (i + 1), text=f"kernel k0_{text} {{\n  {text}\n}}\n"), event("graph", 10_000_000 * (i + 1), function=text, text=graph),
                   event("compiled", 10_000_000 * (i + 1), function=text, ms={"total": 3.0, text: 1.0}),
                   event("source", 10_000_000 * (i + 1), file=file, text=source), event("function", 10_000_000 * (i + 1), **_facts(text, file, 1, graph, plan, [_break(file, 2, text)]))]
    return write_trace(folder, [*events, event("process", 10**9, arguments=HOSTILE, overhead={"ms": 1.0}, machine=HOSTILE[0],
                                              ceiling={"processor": HOSTILE[1], "operations": 4e10, "memory": 1e10, "cache": 5e10})])


def large_trace(folder, count, functions=40):
    """`count` events, in the mixture of a long run: calls, recompiles, breaks, compiles with their texts."""
    kernels = ["kernel k0_x {\n" + "\n".join(f"  %{k} = fma %{k - 1}, %{n % 97}, {n * k % 1013} : f64" for k in range(30)) + "\n}\n" for n in range(1000)]
    file, events, at = "/work/simulation.py", [event("start", 1, versions={"fusewire": "0"})], 1000
    events.append(event("source", 2, file=file, text="\n".join(f"value_{n} = np.tanh(value_{n - 1}) + {n}" for n in range(1, 6 * functions + 1)) + "\n"))
    for n in range(count):
        i = n * 7919 % functions
        name, line = f"kernel_{i}", 6 * i + 1
        at += 20_000 + n * 31 % 9000
        if n % 13 == 0:
            graph, plan = _variant(line + 2, f"op{n % 600}")
            kernel = kernels[n // 13 % len(kernels)]
            events += [event("pass", at, name="fuse", text=graph), event("kernels", at, text=kernel), event("code", at, llvm="define void @k()\n" + kernel, assembly=".text\n" + kernel * 2),
                       event("graph", at, function=name, text=graph), event("plan", at, function=name, text=plan), event("compiled", at, function=name, ms={"capture": 0.1, "codegen": 2.0, "total": 2.1})]
        elif n % 13 == 5:
            events.append(event("recompile", at, function=name, misses=[{"variant": 0, "reason": f"s0 is {n}, compiled for {n - 1}", "guard": "sym", "source": "x.shape[0]", "line": line + 1, "advice": "mark_dynamic"}]))
        elif n % 13 == 7:
            stop = _break(file, line + 1, f"print{n % 50}()")
            events.append(event("graph_break", at, function=name, **{k: v for k, v in stop.items() if k not in ("own_line", "kinds")}))
        else:
            ns = 8_000 + n % 7000
            events.append(f'{{"schema": 1, "pid": 1, "time_ns": {at}, "channel": "trace", "kind": "call", "text": "", "data": {{"function": "{name}", "file": "{file}", '
                          f'"line": {line}, "thread": {7 + i % 3}, "number": 1, "start_ns": {at - ns}, "ns": {ns}, "own_ns": 0, "native_ns": {ns // 2}, "compiled": false, '
                          f'"stretches": [{{"start": -1, "native": false, "lines": [{line + 1}], "runs": 1, "ns": {ns // 2}, "native_ns": 0}}, '
                          f'{{"start": 4, "native": true, "lines": [{line + 2}], "runs": 1, "ns": {ns // 2}, "native_ns": {ns // 2}}}]}}}}')
    for i in range(functions):
        graph, plan = _variant(6 * i + 3, f"op{i}")
        events.append(event("function", at + 1, **_facts(f"kernel_{i}", file, 6 * i + 1, graph, plan, [_break(file, 6 * i + 2, "print0()")])))
    return write_trace(folder, events)
