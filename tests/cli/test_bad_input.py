"""Bad input of every kind: one sentence on stderr that names the argument, exit status 2, and no traceback."""

import importlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dynsim.__main__ import main
from dynsim.cli.parsing.sizes import check_memory, memory_limit
from tests.support.commands import refused, run

SHORT = ("--end", "1", "--frames", "3", "--integrator", "scipy", "--dimension", "3")


def in_shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess:
    """Run a shell line in which `dynsim` is this command."""
    text = f'dynsim() {{ "{sys.executable}" -m dynsim "$@"; }}; set -o pipefail; {line}'
    return subprocess.run(
        ["bash", "-c", text], cwd=folder, capture_output=True, text=True, env={**os.environ, **variables}
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder of a user, with files of several kinds."""
    monkeypatch.chdir(tmp_path)
    np.save("narrow.npy", np.ones((4, 2)))
    np.save("three.npy", np.ones(3))
    np.save("four.npy", np.eye(4))
    np.save("number.npy", np.array(3.0))
    np.save("complex.npy", np.eye(3) * 1j)
    np.save("nan.npy", np.full((3, 3), np.nan))
    np.save("words.npy", np.array([["a"]]))
    with Path("promise.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)})
    Path("thirds.csv").write_text("1/3,0,0\n0,1/3,0\n0,0,1/3\n")
    Path("large.csv").write_text("1e999999999,1\n")
    return tmp_path


@pytest.mark.parametrize(("line", "sentence"), [
    ("simulate causal --foo 3", "`--foo` must be an option of `dynsim simulate`"),
    ("simulate causal --frame 3", "did you mean `--frames`?"),
    ("simulate lorenz --T-end 3", "did you mean `--end`?"),
    ("lyapunov lorenz --end 3", "did you mean `--duration`?"),
    ("section lorenz --duration 3", "did you mean `--longest`?"),
    ("portrait pendulum --xlim 0", "did you mean `--box`?"),
    ("simulate lorenz --x0 1 1 1", "did you mean `--start`?"),
    ("simulate causal --tokens abc", "`tokens` must be a whole number, but is `abc`"),
    ("simulate causal --rtol 1,2", "`rtol` must be a number, but is `1,2`"),
    ("simulate causal --integrator scip", "be one of diffrax, scipy, rkc2, stiff, symplectic, but is `scip`, did you"),
    ("simulate lorenz --start [-40,1e-2,x]", "numbers with spaces between them, as in `--start -40 1e-2`, but is `["),
    ("simulate lorenz --start=a", "be numbers with spaces between them, as in `--start 0.5 -2`, but is `a`"),
    ("basins henon --shape 9x8", "be whole numbers with spaces between them, as in `--shape 9 8`, but is `9x8`"),
    ("continue lorenz --parameter rho 0 2", "`0` must belong to an option (see `dynsim continue --help`), but follows"),
    ("simulate lorenz 5", "`5` must belong to an option (see `dynsim simulate --help`), but does not"),
    ("simulate lorenz --force=yes", "`yes` must belong to an option (see `dynsim simulate --help`), but follows `--f"),
    ("report --papers x", "`papers` must be a word of its own, without `--papers`"),
    ("simulate causal --rtol 10", "`rtol` must be less than 1, because it is relative to the state, but is 10"),
    ("section lorenz --count 3", "`surface` must be NAME=VALUE with one of x, y, z, but is not given"),
    ("sweep lorenz --against rho=0:1", "`sweep` takes `--rho VALUES`, such as `--rho 1 2 4` or `0:1`, but has `rho=0"),
    ("list fools", "`what` must be one of all, systems, initial"),
    ("simulate", "`system` must be given"),
    ("simulate causal --seed -1", "`seed` must be from 0 to 9223372036854775807, but is -1"),
    ("check --seed 18446744073709551616", "`seed` must be from 0"),
    ("demo --seed -1", "`seed` must be from 0"),
    ("simulate causal --initial narrow.npy", "`initial` must have 3 columns"),
    ("simulate token-flow --query-key four.npy --initial narrow.npy", "`initial` must have 4 columns"),
    ("simulate causal --initial thirds.csv --tokens 4", "`initial` must have 4 rows to match `--tokens`"),
    ("simulate causal --initial three.npy --tokens 3", "`initial` must have 3 rows to match `--tokens`"),
    ("simulate causal --initial number.npy", "`initial` must have 1 or 2 axes"),
    ("simulate causal --query-key promise.npy", "its header announces 8000000000000000000 bytes"),
    ("simulate causal --query-key complex.npy", "`complex.npy` holds complex128 of shape (3, 3)"),
    ("simulate causal --query-key nan.npy", "be finite, but entry (0, 0) is nan in `nan.npy`"),
    ("simulate causal --query-key words.npy", "`query_key` must hold real numbers"),
    ("simulate causal --query-key number.npy", "`query_key` must have 2 or 3 axes"),
    ("simulate causal --members 1000000000", "`members` must be at most "),
    ("simulate causal --tokens 1000000000", "`tokens` must be at most "),
    ("simulate causal --dimension 1000000000", "`dimension` must be at most "),
    ("simulate causal --frames 1000000000000", "`frames` must be at most "),
    ("simulate causal --heads 10000000000", "`heads` must be at most "),
    ("simulate causal --end inf", "`end` must be a finite number, but is inf"),
    ("simulate causal --space euclidean", "`space` must be left out for `causal`"),
    ("simulate attracted --beta 3", "`beta` must be left out for `attracted`"),
    ("simulate published-gradient --dimension 4", "`dimension` must be 3"),
    ("simulate causal --trust a:b", "`trust` must be left out"),
    ("simulate run.npz --figure g.pdf --tokens 4", "`tokens` must be left out for a run file"),
    ("simulate hardmax --alpha 1e400", "`alpha` must be a finite number such as `0.5` or `1/3`"),
    ("simulate hardmax --alpha 1e999999999", "but is `1e999999999`"),
    ("simulate hardmax --layers 100000000", "`layers` must be at most "),
    ("simulate hardmax --layers 7 --every 2", "`layers` must be a multiple of `--every` (2)"),
    ("simulate hardmax --initial large.csv --arithmetic exact", "line 1 of `large.csv` holds `1e999999999`"),
    ("simulate hardmax --initial large.csv", "`initial` must be finite"),
    ("simulate hardmax --initial narrow.npy --tokens 3", "`tokens` must be left out"),
    ("simulate hardmax --temperature 2", "`temperature` must be left out in float arithmetic"),
    ("simulate hardmax --arithmetic softmax --attention four.npy", "`attention` must have shape (2, 2)"),
    ("simulate master-equation --size 100000000000", "`size` must be at most "),
    ("simulate master-equation --euler 1e-300", "`euler` must be positive, with at most 1000000000 steps"),
    ("simulate master-equation --generator four.npy --birth 2", "`birth` must be left out"),
    ("simulate multirate --gate nan", "`gate` must be finite, but is nan"),
    ("simulate multirate --bytes 1000000000", "`bytes` must be at most "),
    ("simulate multirate --variant coupled-9", "`variant` must be left out for random weights"),
    ("simulate fast-slow --epsilon nan", "`epsilon` must be a positive number, but is nan"),
    ("simulate fast-slow --frames 10000000000000", "`frames` must be at most "),
])  # fmt: skip
def test_the_sentence_names_the_argument(capsys, folder, line, sentence):
    assert sentence in refused(capsys, *line.split())


def test_the_largest_size_that_fits_is_named():
    with pytest.raises(ValueError, match=rf"`rows` must be at most {memory_limit() // 8} to fit"):
        check_memory(lambda rows, columns: 8 * rows * columns, rows=10**15, columns=1)
    with pytest.raises(ValueError, match="`rows` and `columns` must fit in half of the memory"):
        check_memory(lambda rows, columns: 10**30, rows=2, columns=1)
    check_memory(lambda rows, columns: 8 * rows * columns, rows=100, columns=1)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_frames_of_the_parser_become_one_sentence_on_every_terminal(capsys, monkeypatch, encoding):
    sentences = []
    for line in ("simulate causal --foo 3", "check --jobs x", "simulate", "simulate causal --integrator eule"):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
            assert main(line.split()) == 2
        sentences.append(capsys.readouterr().err)
    assert "`--foo` must be an option of `dynsim simulate`, but is not" in sentences[0]
    assert "`jobs` must be a whole number, but is `x`" in sentences[1]
    assert "`system` must be given" in sentences[2]
    assert "must be one of diffrax, scipy, rkc2, stiff, symplectic, but is `eule`" in sentences[3]
    assert all(len(sentence.splitlines()) == 1 for sentence in sentences)


@pytest.mark.parametrize(("text", "sentence"), [
    ('system = ["causal"]', "give `system` as a text, but"),
    ('system = "causal"\nintegrator = ["scipy"]', "give `integrator` as `diffrax` or `scipy`"),
    ('system = "causal"\nout = [1]', "give `out` as a text, but"),
    ('system = "causal"\ntrust = "a:b"', "give `trust` as a list of texts, but"),
    ('system = "causal"\ntrust = [1]', "give `trust` as a list of texts, but"),
    ('system = "causal"\nend = true', "give `end` as a number, but"),
    ('system = "causal"\nend = 1' + 400 * "0", "hold numbers that floats can hold"),
    ('system = "causal"\nseed = -1', "`seed` must be from 0"),
    ("x = " + 3000 * "[", "be TOML"),
])  # fmt: skip
def test_values_of_another_type_in_toml_are_refused(capsys, folder, text, sentence):
    Path("run.toml").write_text(text)
    assert sentence in refused(capsys, "simulate", "--config", "run.toml")
    assert sentence in refused(capsys, "simulate", "--config=run.toml")


def test_a_file_that_is_no_text_is_no_toml(capsys, folder):
    Path("run.toml").write_bytes(b"\xff\xfe")
    assert "be TOML" in refused(capsys, "simulate", "--config", "run.toml")
    Path("bad.csv").write_bytes(b"1,\xff\n")
    assert "`bad.csv` is not" in refused(capsys, "simulate", "oja", "--value", "bad.csv")


@pytest.mark.parametrize(("body", "sentence"), [
    ("return -x * x[7]", "line 4 of `mine.py`, `return -x * x[7]`, raised IndexError: index 7 is out of bounds"),
    ("raise KeyError('no')", "line 4 of `mine.py`, `raise KeyError('no')`, raised KeyError"),
    ("raise SystemExit(3)", "line 4 of `mine.py`, `raise SystemExit(3)`, raised SystemExit"),
    ("return y", "line 4 of `mine.py`, `return y`, raised NameError"),
    ("return jnp.dot(x, jnp.ones(4))", "line 4 of `mine.py`, `return jnp.dot(x, jnp.ones(4))`, raised TypeError"),
    ("return 1.0", "return an array of shape (3,), but line 3 of `mine.py`, `def f(t, x):`, returns float"),
    ("return x[0]", "line 3 of `mine.py`, `def f(t, x):`, returns one of shape ()"),
    ("return 'text'", "line 3 of `mine.py`, `def f(t, x):`, returns str"),
    ("return [x, x]", "line 3 of `mine.py`, `def f(t, x):`, returns one of shape (2, 3)"),
    ("return []", "line 3 of `mine.py`, `def f(t, x):`, returns list"),
    ("pass", "line 3 of `mine.py`, `def f(t, x):`, returns NoneType"),
    ("return x.astype(complex)", "return real numbers, but line 3 of `mine.py`, `def f(t, x):`, returns complex"),
])  # fmt: skip
def test_a_function_that_fails_is_refused_with_the_users_own_line(capsys, folder, body, sentence):
    Path("mine.py").write_text(f"import jax.numpy as jnp\n\ndef f(t, x):\n    {body}\n")
    assert sentence in refused(capsys, "simulate", "mine.py:f", *SHORT)


def test_a_numpy_function_runs_with_scipy_and_is_told_apart_without(capsys, folder):
    Path("mine.py").write_text("import math\n\ndef f(t, x):\n    return [-math.sin(v) for v in x]\n")
    sentence = "in JAX (`--integrator scipy` takes NumPy too), but line 4 of `mine.py`"
    assert sentence in refused(capsys, "simulate", "mine.py:f", "--end", "0.1", "--dimension", "3")
    assert main(["simulate", "mine.py:f", *SHORT, "--out", "run.npz"]) == 0
    Path("mine.py").write_text("import math\n\ndef f(t, x):\n    return [-math.sin(x[7])]\n")
    failed = refused(capsys, "simulate", "mine.py:f", *SHORT)
    assert "`return [-math.sin(x[7])]`, raised IndexError" in failed


@pytest.mark.parametrize(("content", "sentence"), [
    (b"def f(t, x)\n    return x\n", "line 1 of `mine.py`, `def f(t, x)`, raised SyntaxError"),
    (b"x = 1\nimport nowhere\n", "line 2 of `mine.py`, `import nowhere`, raised ModuleNotFoundError"),
    (b"1 / 0\n", "line 1 of `mine.py`, `1 / 0`, raised ZeroDivisionError"),
    (b"x = '\xff'\n", "line 1 of `mine.py`, raised SyntaxError: (unicode error)"),
    (b"x = 'a\0b'\n", "`mine.py`, but it raised SyntaxError"),
])  # fmt: skip
def test_a_file_that_cannot_be_imported_is_refused_with_its_line(capsys, folder, content, sentence):
    Path("mine.py").write_bytes(content)
    assert sentence in refused(capsys, "simulate", "mine.py:f", *SHORT)
    assert sentence in refused(capsys, "simulate", "fast-slow", "mine.py:f", "--fast", 1, "--slow", 1)


def test_a_function_that_is_no_fast_slow_system_is_refused(capsys, folder):
    Path("u.py").write_text("def ok(t, x):\n    return -x\n")
    said = refused(capsys, "simulate", "fast-slow", "u.py:ok", "--fast", 1, "--slow", 1)
    assert "be a `FastSlowFlow`, or a function of epsilon that returns one" in said
    said = refused(capsys, "simulate", "u.py:ok", "--space", "ellipsoid:four.npy", *SHORT)
    assert "`space` must have dimension 3" in said


def test_fractions_are_read_from_every_csv_file(capsys, folder):
    status, said, _ = run(capsys, "simulate", "oja", "--value", "thirds.csv", "--tokens", 2, *SHORT)
    assert (status, "states (3, 2, 3)" in said) == (0, True)
    Path("chain.csv").write_text("-1/3,1/7\n1/3,-1/7\n")
    assert run(capsys, "simulate", "master-equation", "--generator", "chain.csv", "--frames", 3)[0] == 0


def test_the_version_is_printed(capsys):
    assert run(capsys, "--version") == (0, f"dynsim {importlib.metadata.version('dynsim')}\n", "")


def test_closed_and_ascii_streams_are_no_error(tmp_path):
    closed = in_shell("dynsim --help >&-", tmp_path)
    assert (closed.returncode, closed.stdout, closed.stderr) == (0, "", "")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ascii_only = in_shell("dynsim simuläte", tmp_path, **plain)
    assert ascii_only.returncode == 2
    assert "did you mean `simulate`" in ascii_only.stderr
    helped = in_shell("dynsim simulate --help | head -1", tmp_path)
    assert (helped.returncode in (0, 141), helped.stderr) == (True, "")  # all may be written before the pipe closes


@pytest.fixture
def stored(folder):
    """Return the arrays and the header of a short run, and a function that writes them after a change."""
    from dynsim.io.npz import read_arrays, write_arrays

    main(["simulate", "attracted", "--tokens", "2", *SHORT, "--out", "run.npz"])
    arrays = read_arrays("run.npz")
    header = json.loads(str(arrays["header"]))

    def write(**changed):
        write_arrays("bad.npz", {**arrays, "header": np.array(json.dumps(header)), **changed})
        return "bad.npz"

    return header["run"]["fields"], write


@pytest.mark.parametrize(("name", "value", "sentence"), [
    ("ts", np.empty(0), "the array `ts` of `bad.npz`"),
    ("ts", np.array(["a", "b", "c"]), "`system` must be a complete run file"),
    ("ts", np.array([0.0, np.nan, 1.0]), "the array `ts` of `bad.npz`"),
    ("ts", np.array([1.0, 0.5, 0.7]), "the array `ts` of `bad.npz`"),
    ("ts", np.array([0.0, 1.0]), "the array `ys` of `bad.npz`"),
    ("ys", np.array(1.0), "the array `ys` of `bad.npz`"),
    ("ys", np.array(["a", "b", "c"]), "`system` must be a complete run file"),
    ("ys", np.ones((3, 2, 7)), "`system` must be a run file whose run can be computed again"),
    ("header", np.array("[" * 5000), "has no header"),
    ("header", np.array(3.0), "has the header of something else"),
])  # fmt: skip
def test_run_files_with_impossible_arrays_are_refused(capsys, stored, name, value, sentence):
    file = stored[1](**{name: value})
    capsys.readouterr()
    assert sentence in refused(capsys, "simulate", file)


@pytest.mark.parametrize(("part", "value"), [
    ("ts", 3),
    ("ts", {"jax": ["ts"]}),
    ("ts", {"fraction": "1e999999999"}),
    ("ts", {"fraction": "1/0"}),
    ("ys", {"tuple": {"a": 1}}),
    ("ys", None),
    ("system", "text"),
    ("system", {"class": 3, "fields": {}}),
    ("system", {"class": "dynsim.systems.tokens.flow:TokenFlow", "fields": []}),
    ("system", {"name": "dynsim.simulation.simulate:simulate"}),
    ("stats", None),
    ("stats", {"float": "text"}),
    ("integrator", 1.0),
    ("integrator", {"key": "ts", "impl": "text"}),
])  # fmt: skip
def test_recipes_of_wrong_types_are_refused(capsys, stored, part, value):
    fields, write = stored
    fields[part] = value
    file = write()
    capsys.readouterr()
    assert "Argument `system` must" in refused(capsys, "simulate", file)


@pytest.mark.parametrize(("option", "value"), [("rtol", -1.0), ("rtol", "text"), ("method", "Euler"), ("atol", None)])
def test_impossible_options_of_the_integrator_are_the_fault_of_the_file(capsys, stored, option, value):
    fields, write = stored
    fields["integrator"]["fields"][option] = value
    file = write()
    capsys.readouterr()
    said = refused(capsys, "simulate", file)
    assert "`system` must be a run file whose run can be computed again, but `bad.npz` is not (" in said


def test_a_run_of_nan_is_not_called_identical(capsys, stored):
    file = stored[1](ys=np.full((3, 2, 3), np.nan))
    capsys.readouterr()
    status, said, _ = run(capsys, "simulate", file)
    assert status == 1
    assert "18 entries of its states are NaN" in said
    assert "identical" not in said


@pytest.mark.parametrize("command", ["figure figure-1", "check theorem-3.1", "report", "experiment 7.4"])
def test_every_command_that_may_need_data_takes_its_folder(capsys, folder, command):
    said = refused(capsys, *command.split(), "--data", "nowhere")
    assert "`data` must name a folder, but `nowhere` is not one" in said


def test_figures_without_data_are_named_and_the_others_are_drawn(capsys, folder, monkeypatch):
    from figures import gallery

    class One:
        compute_paper_size = None

        def __init__(self, name):
            self.name = name

        def at_size(self, size):
            return self

    def save(one, *args, **options):
        from dynsim.io.data import data_file

        return [data_file("weights.safetensors")] if one.name.startswith("trained") else [f"{one.name}.pdf"]

    monkeypatch.delenv("DYNSIM_DATA", raising=False)
    monkeypatch.setattr(
        gallery, "find_figures", lambda name, figures: [One("trained-1"), One("plain"), One("trained-2")]
    )
    monkeypatch.setattr(importlib.import_module("figures.figure"), "save", save)
    status, out, err = run(capsys, "figure", "some")
    assert (status, out) == (2, "plain.pdf\n")
    assert "the folder of data files that `trained-1`, `trained-2` need (`--data FOLDER`)" in err
    assert len(err.splitlines()) == 1
    assert "`dynsim list figures` shows" in refused(capsys, "figure")


@pytest.mark.parametrize("command", ["check theorem-3.1", "report"])
def test_more_processes_or_trials_than_memory_holds_are_refused(capsys, folder, command):
    assert "`jobs` must be at most " in refused(capsys, *command.split(), "--jobs", 10**6)
    assert "`trials` must be at most " in refused(capsys, *command.split(), "--trials", 10**12)
    assert "`jobs` must be at least 1, but is 0" in refused(capsys, *command.split(), "--trials", 1, "--jobs", 0)


def test_the_components_of_one_vector_are_named_in_a_figure(capsys, folder):
    Path("mine.py").write_text("import jax.numpy as jnp\n\ndef field(t, x):\n    return jnp.roll(x, 1) - x\n")
    words = ("simulate", "mine.py:field", *SHORT[:-2], "--figure", "x.svg", "--space")
    for space in ("euclidean", "sphere"):
        assert run(capsys, *words, space, "--dimension", 2, "--force")[0] == 0
        drawn = Path("x.svg").read_text()
        assert drawn.count("$x_{1}$") == drawn.count("$x_{2}$") == 2  # in the plane, and over time
        assert "median" not in drawn
    assert run(capsys, *words[:-3], "--start", 2, 0)[0] == 0  # on Euclidean space by default


def test_the_help_of_every_command_loads_nothing_heavy():
    commands = ["simulate", "simulate fast-slow", "simulate prototypes", "demo", "experiment", "check", "figure",
        "report", "list"]  # fmt: skip
    code = f"import sys, dynsim.__main__ as m; s = [m.main([*c.split(), '--help']) for c in {commands}]"
    code += "; print('loaded', s, sorted({'jax', 'scipy', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == f"loaded {[0] * len(commands)} []", done.stderr


@pytest.mark.parametrize("words", [
    "lyapunov --start 1 0.5 --duration 60",
    "section --start 1 0.5 --surface x_1=0 --count 10",
    "portrait --box -3 3 -3 3 --grid 21",
    "basins --box -3 3 -3 3 --shape 8",
    "continue --box -3 3 -3 3 --parameter mu=0:2",
])  # fmt: skip
@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ("np.array([x[1], -mu * x[0]])", "must take (t, x) with x of shape (2,) (see `--start`"),
        ("1.0", "must return an array of shape (2,), but"),
    ],
)  # fmt: skip
def test_a_function_that_fails_is_refused_by_every_command(capsys, tmp_path, monkeypatch, words, returned, sentence):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(f"import numpy as np\n\ndef field(t, x, mu=1.0):\n    return {returned}\n")
    command, *options = words.split()
    said = refused(capsys, command, "mine.py:field", *options)
    assert f"Argument `system` {sentence}" in said
    assert " line " in said
