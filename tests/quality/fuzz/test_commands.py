"""Random command lines and files: an exit status and a sentence, never an exception, and nothing else is touched.

`make test` tries a few; `make fuzz` sets DYNSIM_FUZZ, the number of examples of each test.
"""

import contextlib
import dataclasses
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynsim import load
from dynsim.__main__ import main
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.simulate.fast_slow import FastSlowOptions
from dynsim.cli.simulate.hardmax import Hardmax
from dynsim.cli.simulate.master_equation import MasterEquation
from dynsim.cli.simulate.multirate import Multirate
from dynsim.cli.simulate.prototypes.options import Prototypes
from dynsim.io.npz import read_arrays, write_arrays

EXAMPLES = int(os.environ.get("DYNSIM_FUZZ", "12"))
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="DYNSIM_FUZZ" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)

ODD_NUMBERS = ("-1", "0", "1", "2", "3", "1e400", "-1e400", "nan", "inf", "1/3", "1e-300", "9" * 30, "-" + "9" * 30)
ODD_WORDS = ("", "x", "é\u2028", "\udcff", "-", "--", "None", "../x", "[1]", "a:b", ":", "nowhere.py:f", "missing.npy")
FILES = ("matrix.npy", "matrix.csv", "run.npz", "mine.py:f", "mine.py:g", "options.toml")
values = st.one_of(st.sampled_from(ODD_NUMBERS), st.sampled_from(ODD_WORDS), st.sampled_from(FILES))

# Each system with what keeps it small: SciPy compiles nothing, and only the first of two equal flags is replaced.
SMALL = {
    "causal": ("--tokens=2", "--end=0.1", "--frames=2", "--integrator=scipy"),
    "token-flow": ("--tokens=2", "--end=0.1", "--frames=2", "--integrator=scipy"),
    "oja": ("--tokens=2", "--end=0.1", "--frames=2", "--integrator=scipy"),
    "mine.py:f": ("--end=0.1", "--frames=2", "--integrator=scipy"),
    "mine.py:g": ("--end=0.1", "--frames=2", "--integrator=scipy"),
    "hardmax": ("--tokens=3", "--layers=3"),
    "master-equation": ("--size=3", "--frames=3"),
    "fast-slow": ("--epsilon=0.1", "--end=0.1", "--frames=3", "--rtol=1e-3"),
    "multirate": ("--bytes=1", "--block=2"),
    "prototypes": ("--points=4", "--prototypes=2", "--end=0.1", "--frames=2", "--integrator=scipy"),
    "run.npz": (),
    "nothing": (),
}
OWN = {
    "hardmax": Hardmax,
    "master-equation": MasterEquation,
    "fast-slow": FastSlowOptions,
    "multirate": Multirate,
    "prototypes": Prototypes,
}
FLAGS = ("system", "force", "causal", "detached", "growth")
LONG = "9" * 30  # a horizon that is no fault but takes its time


def odd_options(system: str) -> st.SearchStrategy:
    """Return one or two options of a system, with odd values."""
    names = [f.name for f in dataclasses.fields(OWN.get(system, Simulate)) if f.name not in FLAGS]
    option = st.tuples(st.sampled_from(names), values).filter(lambda option: option != ("end", LONG))
    return st.tuples(st.just(system), st.lists(option, min_size=1, max_size=2))


scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 10**20), st.floats(), st.text(max_size=3))
TAGS = st.sampled_from(("class", "fields", "name", "tuple", "list", "dict", "float", "fraction", "jax", "numpy", "key"))


def nested(part: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(part, max_size=2) | st.dictionaries(TAGS, part, max_size=2)


trees = st.one_of(scalars, nested(scalars), nested(nested(scalars)))

cells = st.one_of(st.sampled_from(ODD_NUMBERS[:10]), st.text(max_size=3))
tables = st.lists(st.lists(cells, max_size=3), max_size=3).map(lambda rows: "\n".join(",".join(row) for row in rows))
arrays = st.builds(
    lambda shape, kind: np.zeros(shape, kind),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sampled_from(("f8", "f4", "f2", "i8", "u1", "?", "c16", "U2", "S2", "M8[s]", "i4,f8")),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a user with valid files, in which all commands run."""
    made, before = tmp_path_factory.mktemp("user"), Path.cwd()
    os.chdir(made)
    np.save("matrix.npy", np.eye(3))
    Path("matrix.csv").write_text("1,0,0\n0,1,0\n0,0,1\n")
    Path("options.toml").write_text('system = "causal"\ntokens = 2\nframes = 2\nend = 0.1\nintegrator = "scipy"\n')
    Path("mine.py").write_text("def f(t, x):\n    return -x\n\ndef g(t, x):\n    return x[7]\n")
    assert status_of(["simulate", "attracted", *SMALL["causal"], "--out", "run.npz"]) == 0
    Path("out").mkdir()
    yield made
    os.chdir(before)


def status_of(words: list[str]) -> int:
    """Run a command: its exit status is 0, 1 or 2, and for 2 it says why in one sentence."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    assert status in (0, 1, 2), (words, status)
    assert "Traceback" not in out.getvalue() + err.getvalue()
    if status == 2:
        assert len(err.getvalue().strip("\n").split("\n")) == 1, (words, err.getvalue())
        assert err.getvalue().startswith("dynsim: "), (words, err.getvalue())
    return status


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder outside `out` and Python's own cache, with their bytes."""
    files = (path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return {name: text for name, text in named.items() if not name.startswith(("out/", "__pycache__/"))}


@fuzzed
@given(line=st.sampled_from(list(SMALL)).flatmap(odd_options), written=st.booleans())
def test_command_lines(folder, line, written):
    system, extra = line
    before, result = contents(folder), folder / "out" / "result.npz"
    result.unlink(missing_ok=True)
    given_by_hand = [
        f"--{name}={value if name not in ('out', 'figure') else 'out/x' + value[-4:]}" for name, value in extra
    ]
    small = list(SMALL[system])
    status = status_of(["simulate", system, *small, *given_by_hand, *(["--out=out/result.npz"] if written else [])])
    assert contents(folder) == before
    if status == 0 and result.exists() and system != "multirate":  # which writes arrays, no run
        load(result, trust=("mine.py:f", "mine.py:g"))


@fuzzed
@given(command=st.sampled_from(["list", "demo", "check", "figure", "report", "experiment", "", "--", "é"]), word=values)
def test_words_of_other_commands(folder, command, word):
    before = contents(folder)
    status_of([command, f"--{word}", word])
    assert contents(folder) == before


@fuzzed
@given(
    name=st.sampled_from(["system", "out", "trust", "end", "seed", "precision", "no"]),
    value=scalars | st.lists(scalars),
)
def test_toml(folder, name, value):
    text = json.dumps(value).replace("null", "1979-05-27").replace("Infinity", "inf").replace("NaN", "nan")
    (folder / "out" / "x.toml").write_text(f"frames = 1\n{name} = {text}\n", encoding="utf-8")
    assert status_of(["simulate", "--config", "out/x.toml"]) == 2  # one frame is too few, whatever else is given


@fuzzed
@given(text=tables, exact=st.booleans())
def test_csv(folder, text, exact):
    (folder / "out" / "x.csv").write_text(text, encoding="utf-8", errors="replace")
    words = ["--initial=out/x.csv", "--layers=2", *(["--arithmetic=exact"] if exact else [])]
    status_of(["simulate", "hardmax", *words])
    status_of(["simulate", "master-equation", "--generator=out/x.csv", "--frames=3"])


@fuzzed
@given(array=arrays, cut=st.integers(0, 200), option=st.sampled_from(["--initial", "--query-key", "--value"]))
def test_npy(folder, array, cut, option):
    path = folder / "out" / "x.npy"
    np.save(path, array)
    path.write_bytes(path.read_bytes()[: cut or None])
    status_of(["simulate", "token-flow", f"{option}=out/x.npy", *SMALL["token-flow"]])


@fuzzed
@given(
    part=st.sampled_from(["ts", "ys", "system", "stats", "integrator", "whole"]),
    tree=trees,
    name=st.sampled_from(["ts", "ys", "header", "other"]),
    array=arrays,
)
def test_run_files(folder, part, tree, name, array):
    stored = read_arrays(folder / "run.npz")
    header = json.loads(str(stored["header"]))
    if part == "whole":
        header["run"] = tree
    else:
        header["run"]["fields"][part] = tree
    for changed in ({"header": np.array(json.dumps(header))}, {name: array}):
        write_arrays(folder / "out" / "x.npz", {**stored, **changed})
        status_of(["simulate", "out/x.npz"])
