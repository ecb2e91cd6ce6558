"""A user's folder or file called `analysis` or `figures` hides ours: the first import that fails says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PORTRAIT = ("-m", "dynsim", "portrait", "double-well", "--figure", "x.svg")
HIDING = {"analysis.py": "file", "figures.py": "file", "analysis/__init__.py": "folder",
    "figures/__init__.py": "folder"}  # fmt: skip


def python(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Run Python in a folder, where it finds our packages only if none of the folder's own comes first."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


def written(folder: Path, name: str) -> Path:
    """Write a file of a user's that must not be executed."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("raise SystemExit('executed')\n")
    return path


@pytest.mark.parametrize("name", HIDING)
def test_a_command_names_what_hides_a_package_and_executes_nothing(tmp_path, name):
    path = written(tmp_path, name)
    done = python(tmp_path, *PORTRAIT)
    kind, package = HIDING[name], Path(name).parts[0].removesuffix(".py")
    shown = path if kind == "file" else path.parent
    sentence = f"The {kind} `{shown}` hides dynsim's package `{package}`: rename it, or work in another folder."
    assert (done.returncode, done.stderr) == (2, f"dynsim: {sentence}\n")


def test_the_help_is_printed_all_the_same(tmp_path):
    written(tmp_path, "analysis.py")
    assert python(tmp_path, "-m", "dynsim", "--help").returncode == 0


def test_a_folder_of_pictures_hides_nothing(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "analysis").mkdir()
    done = python(tmp_path, "-c", "import analysis, figures; print(analysis.__file__, figures.__file__)")
    assert done.stdout.split() == [str(ROOT / name / "__init__.py") for name in ("analysis", "figures")]


@pytest.mark.parametrize(("hiding", "code"), [
    ("figures/__init__.py", "import dynsim\ndynsim.explore(dynsim.FunctionFlow(lambda t, x: -x), [1.0])"),
    ("figures.py", "import dynsim\nfrom dynsim.notebook import picture\npicture(1)"),
    ("analysis.py", "from figures import figure"),
])  # fmt: skip
def test_a_script_beside_it_is_told_so(tmp_path, hiding, code):
    path = written(tmp_path, hiding)
    (tmp_path / "script.py").write_text(code)
    done = python(tmp_path, "script.py")
    shown = path.parent if path.name == "__init__.py" else path
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("dynsim._core.siblings.HiddenPackageError: The f")
    assert f"`{shown}` hides dynsim's package `{Path(hiding).parts[0].removesuffix('.py')}`" in last


def test_what_needs_neither_package_works_beside_them(tmp_path):
    written(tmp_path, "figures.py")
    written(tmp_path, "analysis.py")
    assert python(tmp_path, "-c", "import dynsim; print(dynsim.simulate, dynsim.tokens.TokenFlow)").returncode == 0
