"""The README's blocks run as they are printed, one after the other in one folder."""

import ast
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dynsim.__main__ import main
from tests import data_or_skip

TEXT = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = {
    kind: re.findall(rf"^```{kind}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL) for kind in ("sh", "python")
}


NAMES = ("by name", "from files", "workbench", "own theorem")
LONG = ("equilibria(flow", "leak_matrix(", "critical_temperature(", "simulate_growing(", "certified_periodic_orbit(",
        "reduction_error(", "lyapunov_spectrum(", "load_transformer(", "Sharded(", "by name",
        "from files", "workbench")  # fmt: skip
"""What only `make test-all` runs: a call of each block of Python that compiles much, and names of those of a shell."""
PYTHON = [
    pytest.param(block, id=block.split()[1], marks=[pytest.mark.slow] if any(call in block for call in LONG) else [])
    for block in BLOCKS["python"]
]


@pytest.mark.parametrize("block", BLOCKS["python"], ids=lambda text: text.split()[1])
def test_python_imports_what_is_there(block):
    for line in ast.walk(ast.parse(block)):
        if isinstance(line, ast.ImportFrom):
            module = importlib.import_module(line.module)
            assert all(hasattr(module, name.name) for name in line.names)


def test_long_blocks_are_blocks():
    assert sum(bool(one.marks) for one in PYTHON + SHELL) == len(LONG)


@pytest.mark.parametrize("block", PYTHON)
def test_python_runs(block, tmp_path, monkeypatch, capsys):
    if "data_file" in block:
        data_or_skip()
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert " at 0x" not in capsys.readouterr().out  # what is printed is a result, not the address of an object


def commands(block: str):
    """Yield the words of each command of a shell block, after writing the files that stand before it."""
    lines = iter(block.splitlines())
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[:2] == ["cat", ">"]:
            end = words[-1].removeprefix("<<")
            Path(words[2]).write_text("\n".join(iter(lambda: next(lines), end)) + "\n")
        elif words:
            yield words


SHELL = [
    pytest.param(block, id=name, marks=[pytest.mark.slow] if name in LONG else [])
    for block, name in zip(BLOCKS["sh"], NAMES, strict=True)
]


@pytest.mark.parametrize("block", SHELL)
def test_commands_run(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for program, *words in commands(block):
        assert program == "dynsim"
        assert main(words) == 0, capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS["sh"], ids=NAMES)
def test_a_shell_runs_them_as_they_are_pasted(block, tmp_path):
    places = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(["bash", "-e"], input=block, text=True, cwd=tmp_path, env=os.environ | places, check=False)
    assert ran.returncode == 0


def test_what_it_names_is_there():
    for path in re.findall(r"`((?:dynsim|analysis|figures|tests)/[\w/]*\w(?:\.py|/)?)`", TEXT):
        if "<" not in path:
            assert (Path(__file__).parents[2] / path).exists(), path
    assert "### " not in TEXT.split("## Precision")[0]
