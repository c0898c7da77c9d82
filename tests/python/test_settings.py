"""Settings: what a variable says wrongly warns and is ignored, what code says wrongly raises; both tell what was meant."""

import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import fusewire
from fusewire import _fusewire

ROWS = {row["name"]: row for row in _fusewire.settings()}
INTS = [name for name, row in ROWS.items() if row["type"] == "int"]


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})


BAD_VARIABLES = {
    "FUSEWIRE_OPT_LEVEL": ("7", "'7' is not an integer from 0 to 2"),
    "FUSEWIRE_RECOMPILE_LIMIT": ("-1", "'-1' is not an integer from 0 to 1000000"),
    "FUSEWIRE_MAX_UNROLL": ("99999999999999999999", "is not an integer"),
    "FUSEWIRE_CHURN_LIMIT": ("4.0", "'4.0' is not an integer"),
    "FUSEWIRE_MAX_INLINE_DEPTH": ("", "'' is not an integer"),
    "FUSEWIRE_ENABLE": ("yes", "'yes' is not 0 or 1"),
    "FUSEWIRE_ISA": ("avx51", "'avx51' is not one of host|avx512|avx2|portable"),
    "FUSEWIRE_DISABLE_PASSES": ("cse,dse", "'dse' is not one of"),
    "FUSEWIRE_PASS_CSE": ("off", "'off' is not 0 or 1"),
    "FUSEWIRE_PASS_CS": ("0", "is not a setting; did you mean 'FUSEWIRE_PASS_CSE'"),
    "FUSEWIRE_RECOMPILE_LIMITS": ("4", "is not a setting; did you mean 'FUSEWIRE_RECOMPILE_LIMIT'"),
    "FUSEWIRE_LOG": ("all", "is not a setting; did you mean 'FUSEWIRE_LOGS'"),
    "FUSEWIRE_QUITE_ELSE": ("1", "is not a setting"),
    "FUSEWIRE_LOGS": ("graph_brakes,guards", "'graph_brakes' is not a log channel; did you mean 'graph_breaks'"),
    "FUSEWIRE_TRACE": ("/dev/null/folder", "cannot create"),
}


def test_variables_that_mean_nothing():
    """All at once: one must not hide the others, and good ones count."""
    code = ("import warnings\n"
            "with warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n"
            "    import fusewire\n"
            "for w in seen: print(w.category.__name__, w.message)\n"
            "print('values', fusewire.config.opt_level, fusewire.config.enable, fusewire.config.isa, fusewire.config.warm_up)\n")
    result = run_python(code, FUSEWIRE_WARM_UP="3", **{name: value for name, (value, _) in BAD_VARIABLES.items()})
    assert result.returncode == 0 and result.stderr == "", result.stderr
    told = result.stdout.splitlines()
    for name, (_, why) in BAD_VARIABLES.items():
        mine = [line for line in told if re.search(rf"variable {name}\b", line)]
        assert len(mine) == 1 and why in mine[0] and "ignored" in mine[0], (name, mine or told)
    assert told[-1] == "values 2 True host 3"
    assert len(told) == len(BAD_VARIABLES) + 1, told


def test_a_bad_channel_leaves_the_others():
    code = "import numpy as np, fusewire; fusewire.compile(lambda x: x + 1)(np.ones(3))"
    result = run_python(code, FUSEWIRE_LOGS="graph_brakes, guards ,,-perf")
    assert result.returncode == 0 and "fusewire:guards]" in result.stderr and "graph_brakes" in result.stderr


@pytest.mark.parametrize("name", INTS)
def test_ranges(name):
    low, high = map(int, ROWS[name]["values"].split(" to "))
    before = getattr(fusewire.config, name)
    for value in (low, high):
        with fusewire.config.patch(**{name: value}):
            assert getattr(fusewire.config, name) == value
        fusewire.compile(**{name: value})
    for value in (low - 1, high + 1, -(1 << 70), 1 << 70, "many", "", " 1"):
        with pytest.raises(ValueError, match=f"{name}.*is not an integer from {low} to {high}"):
            setattr(fusewire.config, name, value)
        with pytest.raises(ValueError, match=name):
            fusewire.config.patch(**{name: value})
        with pytest.raises(ValueError, match=name):
            fusewire.compile(**{name: value})
    for value in (1.5, None, [1], np.ones(2)):
        with pytest.raises(TypeError, match=name):
            setattr(fusewire.config, name, value)
        with pytest.raises(TypeError, match=name):
            fusewire.compile(len, **{name: value})
    assert getattr(fusewire.config, name) == before


def test_an_instruction_set_that_this_machine_lacks_is_refused():
    """Not as late as by the code generator, and not as a failure of ours."""
    has = fusewire._fusewire.target().split()[0]
    lacks = {"avx512": [], "avx2": ["avx512"], "portable": ["avx512", "avx2"]}[has]
    for isa in lacks:
        with pytest.raises(ValueError, match=f"'{isa}' is not an instruction set of this machine: host.*portable"):
            fusewire.compile(isa=isa)
        told = run_python("import fusewire; print(fusewire.config.isa)", FUSEWIRE_ISA=isa)
        assert told.stdout == "host\n" and f"'{isa}' is not an instruction set of this machine" in told.stderr
    for isa in {"avx512", "avx2", "portable"} - set(lacks):
        assert run_python("import fusewire; print(fusewire.config.isa)", FUSEWIRE_ISA=isa).stdout == f"{isa}\n"


def test_code_is_told_what_was_meant():
    for raises in (lambda: setattr(fusewire.config, "recompile_limits", 3), lambda: fusewire.config.recompile_limits,
                   lambda: fusewire.config.patch(recompile_limits=3)):
        with pytest.raises(AttributeError, match="no setting 'recompile_limits'; did you mean 'recompile_limit'"):
            raises()
    with pytest.raises(TypeError, match="unknown option.*'full_graph'; did you mean 'fullgraph'"):
        fusewire.compile(full_graph=True)
    with pytest.raises(ValueError, match="'avx51' is not one of host.*did you mean 'avx512'"):
        fusewire.compile(isa="avx51")
    with pytest.raises(ValueError, match="'llvm_o' is not a backend; did you mean 'llvm"):
        fusewire.compile(backend="llvm_o")
    with pytest.raises(ValueError, match="is not a backend"):
        fusewire.compile(backend="@nobody")
    with pytest.raises(ValueError, match="'graph_brakes' is not a log channel; did you mean 'graph_breaks'"):
        fusewire.configure_logs("guards,graph_brakes")
    with pytest.raises(ValueError, match="not one of default.*did you mean 'force_eager'"):
        fusewire.set_stance("force_eagre")
    with pytest.raises(ValueError, match="'dse' is not one of canonicalize"):
        fusewire.config.disable_passes = "dse"


def test_values_of_python():
    with fusewire.config.patch(enable=np.int64(0), recompile_limit=np.int32(3), dynamic=True, disable_passes="cse,dce"):
        assert fusewire.config.enable is False and fusewire.config.recompile_limit == 3 and fusewire.config.dynamic is True
        assert fusewire.config.disable_passes == "cse,dce"
    with fusewire.config.patch(dynamic=None):
        assert fusewire.config.dynamic is None


def test_a_bad_change_changes_nothing():
    before = _fusewire.process_settings()
    with pytest.raises(ValueError):
        fusewire.config.patch(enable=False, opt_level=9)
    with pytest.raises(AttributeError):
        fusewire.config.patch(enable=False, nonsense=9)
    assert _fusewire.process_settings() == before



def test_the_deepest_inlining():
    """The highest max_inline_depth fits on the stack of a thread as small as they come."""
    code = ("import threading, numpy as np, fusewire\n"
            f"fusewire.config.max_inline_depth = {ROWS['max_inline_depth']['values'].split(' to ')[1]}\n"
            "def deep(x, n): return x * 2 if n == 0 else deep(x, n - 1) + 1\n"
            "f = fusewire.compile(deep)\n"
            "out = []\n"
            "threading.stack_size(1 << 20)\n"
            "t = threading.Thread(target=lambda: out.append(f(np.ones(3), 400).tolist())); t.start(); t.join()\n"
            "print(out)\n")
    result = run_python(code)
    assert result.stdout.strip() == "[[402.0, 402.0, 402.0]]", (result.returncode, result.stderr)


STEPS = """
import numpy as np, fusewire
@fusewire.compile(fullgraph=True)
def f(x, y):
    s = np.sqrt(x) + y
    t = s * s - x
    x[...] = t + 1
    return t.sum(axis=0), t
x = np.arange(12.0).reshape(3, 4)
print([r.tolist() for r in f(x, np.ones(4))], x.tolist())
"""


def test_passes_and_steps_of_planning_can_be_seen_and_switched_off():
    plain = run_python(STEPS, FUSEWIRE_LOGS="passes")
    assert plain.returncode == 0, plain.stderr
    for name in ("canonicalize", "decompose", "cse", "dce", "prepare", "commits", "fuse", "memory"):
        assert f"after {name}:" in plain.stderr
    for steps in ("commits", "fuse", "memory", "commits,fuse,memory,cse,dce,canonicalize"):
        off = run_python(STEPS, FUSEWIRE_DISABLE_PASSES=steps, FUSEWIRE_VERIFY_PASSES="1")
        assert (off.returncode, off.stdout) == (0, plain.stdout), (steps, off.stderr)
    needed = run_python(STEPS, FUSEWIRE_PASS_PREPARE="0", FUSEWIRE_PASS_FUSE="0", FUSEWIRE_LOGS="passes")
    assert "FUSEWIRE_PASS_PREPARE" in needed.stderr and needed.stdout == plain.stdout
    assert needed.stderr.count("group ") > plain.stderr.count("group ")
