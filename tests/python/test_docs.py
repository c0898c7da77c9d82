"""The generated docs match the tables, and the README's example does what it says."""

import opcode
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_generated_docs_are_current():
    result = subprocess.run([sys.executable, ROOT / "scripts" / "gen_docs.py", "--check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_readme_example_runs():
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    result = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_every_instruction_of_this_interpreter_is_listed():
    listed = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "instructions.md").read_text(), re.M))
    specialized = set(getattr(opcode, "_specialized_opmap", ())) | set(getattr(opcode, "_specialized_instructions", ()))
    pseudo = set(getattr(opcode, "_pseudo_ops", ()))
    own = {name for name, number in opcode.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")}
    assert len(listed) > 100 and not own - specialized - pseudo - listed
