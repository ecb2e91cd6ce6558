"""The command line, as a user types it: results, and every bad input in one sentence."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

from dynsim import load
from dynsim.__main__ import LISTS
from dynsim.cli.list import List
from dynsim.cli.simulate import flows
from dynsim.cli.simulate.flows import drawn_steps, escape
from dynsim.simulation import run_files
from tests.support.commands import answer, refused, run

SCIPY = ("--integrator", "scipy")  # compiles less


def test_help_and_import_load_nothing_heavy():
    code = (
        "import sys, dynsim, dynsim.__main__ as m; m.main(['--help']); heavy = {'jax', 'scipy', 'matplotlib', 'numpy'}"
    )
    code += "; print(sorted(heavy & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("[]")
    assert all(verb in out for verb in ("demo", "list", "simulate", "experiment", "check", "figure", "report"))


def test_every_exported_name_is_there():
    import dynsim

    for name in dynsim.__all__:
        assert getattr(dynsim, name) is not None


def test_a_run_is_written_and_made_again_to_the_bit(capsys, tmp_path):
    out, drawn = tmp_path / "run.npz", tmp_path / "run.pdf"
    said = answer(
        capsys, "simulate", "published-gradient", "--end", 5, "--frames", 11, *SCIPY, "--out", out, "--figure", drawn
    )
    assert "The integration finished" in said
    assert drawn.read_bytes().startswith(b"%PDF")
    said = answer(capsys, "simulate", out)
    assert "identical bit for bit" in said
    out.write_bytes(out.read_bytes()[:-200])
    assert "run.npz" in refused(capsys, "simulate", out)


@pytest.mark.parametrize(
    ("again", "status", "said"),
    [
        ([[1.0, 2.0], [3.0]], 0, "identical bit for bit"), ([[1.0, 2.0], [3.5]], 1, "differs by 0.5 "),
        ([[1.25, 2.0], [3.125]], 1, "differs by 0.25 "), ([[1.0, 2.0, 2.0], [3.0]], 1, "differs by inf "),
    ],
)  # fmt: skip
def test_a_run_is_the_same_if_each_of_its_arrays_is(again, status, said, capsys, monkeypatch):
    monkeypatch.setattr(run_files, "load", lambda path, trust: [[1.0, 2.0], [3.0]])
    monkeypatch.setattr(run_files, "rerun", lambda path, trust: again)
    monkeypatch.setattr(flows, "states", lambda run: [*map(np.array, run)])
    assert flows.rerun_file(Path("run.npz"), ()) == status
    assert said in capsys.readouterr().out
    monkeypatch.setattr(run_files, "load", lambda path, trust: [[1.0, np.nan], [np.nan]])
    assert flows.rerun_file(Path("run.npz"), ()) == 1
    assert "because 2 entries of its states are NaN" in capsys.readouterr().out


def test_tokens_are_normalised_elsewhere_and_then_no_theorem_applies(capsys, tmp_path):
    out, words = tmp_path / "run.npz", ("--tokens", 2, "--theorems", "--end", 0.1, "--frames", 2, *SCIPY)
    said = answer(capsys, "simulate", "token-flow", "--norm", "peri", *words, "--out", out)
    assert "0 of 4 theorems apply." in said
    assert "fails     tokens are normalised after attention (post)" in said
    assert "attention is multiplied by 1/sqrt(3)" in said
    assert load(out).system.placement == "peri"


def test_the_theorems_that_apply_to_a_start_are_told_with_margins(capsys):
    words = ("simulate", "token-flow", "--causal", "--tokens", 4, "--seed", 3, "--theorems", "--end", 0.1)
    said = answer(capsys, *words)
    assert "1 of 4 theorems apply: Theorem 5.1." in said
    assert "fails     every token attends to every token" in said


def test_an_ensemble_and_a_toml_file(capsys, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text(
        'system = "token-flow"\nbeta = 2\nmembers = 3\nend = 4.0\nframes = 5\ninitial = "hemisphere"\n'
        'integrator = "scipy"\n'
    )
    said = answer(capsys, "simulate", "--config", config)
    assert "3 of 3 members finished" in said
    again = answer(capsys, "simulate", "--config", config, "--members", 2)
    assert "2 of 2 members finished" in again


def test_a_function_of_your_own(capsys, tmp_path):
    source = tmp_path / "mine.py"
    source.write_text(
        "import jax.numpy as jnp\n\ndef spiral(t, x):\n    return jnp.stack([-x[1] - x[0], x[0] - x[1]])\n"
    )
    np.savetxt(tmp_path / "start.csv", [[1.0, 0.0]], delimiter=",")
    np.save(tmp_path / "start.npy", np.array([1.0, 0.0]))
    words = ("--space", "euclidean", "--initial", tmp_path / "start.npy", "--end", 1, "--frames", 3, *SCIPY)
    said = answer(capsys, "simulate", f"{source}:spiral", *words, "--figure", tmp_path / "spiral.svg")
    assert "states (3, 2)" in said
    assert "from (1, 0) at t = 0 to (" in said
    assert "did you mean `spiral`" in refused(capsys, "simulate", f"{source}:spirl", *words)
    assert "states (201, 2)" in run(capsys, "simulate", f"{source}:spiral", "--space", "euclidean", "--dimension", 2)[1]
    source.write_text("import jax.numpy as jnp\n\ndef sum(t, x):\n    return x @ jnp.ones((2, 2))\n")
    said = refused(capsys, "simulate", f"{source}:sum", "--space", "euclidean", "--dimension", 3)
    assert "take (t, x) with x of shape (3,)" in said
    assert "raised TypeError" in said


def test_an_ensemble_of_vectors_keeps_and_draws_its_named_components(capsys, tmp_path):
    source, out, drawn = tmp_path / "mine.py", tmp_path / "many.npz", tmp_path / "many.svg"
    source.write_text("def decay(t, x):\n    return -x\n")
    own = (f"{source}:decay", "--space", "euclidean")
    words = ("--members", 3, "--end", 1, "--frames", 3, *SCIPY)
    named = ("--names", "rate", "level", "--units", "1/s", "m", "--dimension", 2, "--out", out, "--figure", drawn)
    said = answer(capsys, "simulate", *own, *words, *named)
    values = np.asarray(load(out, trust=(str(source),)).values)
    assert values.shape == (3, 3, 2)
    low, middle, high = np.quantile(values[:, -1], [0.05, 0.5, 0.95], axis=0)
    for k, name in enumerate(("rate (1/s)", "level (m)")):
        assert f"{name} at t = 1: median {middle[k]:.6g}, 5 to 95 % from {low[k]:.6g} to {high[k]:.6g}\n" in said
        assert drawn.read_text().count(f">{name}<") == 1
    said = run(capsys, "simulate", *own, *words, "--dimension", 8, "--figure", drawn)[1]
    assert "x_6 at t = 1: median" in said
    assert "and 2 more components" in said
    assert "medians of the components" in drawn.read_text()
    run(capsys, "simulate", "causal", *words, "--out", tmp_path / "tokens.npz")
    assert load(tmp_path / "tokens.npz").values.shape == (3, 3, 2)
    assert "`movie` must be left out for an ensemble" in refused(
        capsys, "simulate", *own, *words, "--dimension", 2, "--movie", tmp_path / "x.gif"
    )


def test_a_figure_of_an_ensemble_ends_with_its_last_member(capsys, tmp_path):
    source, drawn = tmp_path / "mine.py", tmp_path / "many.svg"
    source.write_text("def square(t, x):\n    return x**2 + 1\n")
    words = (f"{source}:square", "--space", "euclidean", "--dimension", 1, "--members", 2, "--frames", 3, *SCIPY)
    status, said, _ = run(capsys, "simulate", *words, "--end", 6, "--figure", drawn)
    assert status == 1
    assert "0 of 2 members finished" in said
    steps, advice = said.splitlines()[1:3]
    assert re.fullmatch(r"from \d+ to \d+ steps each", steps)
    assert advice.startswith("where the step size fell to rounding error: the state may escape to infinity there, ")
    assert "median" not in said
    assert "no figure is drawn, because no member reaches the second output time" in said
    assert not drawn.exists()


def test_the_matrices_of_a_system_fix_the_dimension_of_the_tokens(capsys, tmp_path):
    np.save(tmp_path / "four.npy", np.diag([1.0, 2.0, 3.0, 4.0]))
    for system, option in (("token-flow", "--query-key"), ("oja", "--value")):
        words = ("simulate", system, option, tmp_path / "four.npy", "--end", 1, "--frames", 3, *SCIPY)
        assert "states (3, 10, 4)" in run(capsys, *words)[1]


def test_a_reader_that_has_seen_enough_is_no_error():
    command = f"set -o pipefail; {sys.executable} -m dynsim list | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("systems:\n", "")


def test_a_word_that_names_a_list_prints_it(capsys):
    kinds = get_args(get_args(get_type_hints(List, include_extras=True)["what"])[0])
    assert set(LISTS) <= set(kinds)
    assert answer(capsys, "theorems") == answer(capsys, "list", "theorems")
    assert "  poincare-bendixson " in answer(capsys, "theorems")


@pytest.mark.parametrize(("words", "sentence"), [
    (("smulate",), "did you mean `simulate`"),
    (("simulate", "tokenflow"), "did you mean `token-flow`"),
    (("simulate", "nowhere.py:f"), "`nowhere.py` does not exist"),
    (("simulate", "causal", "--initial", "hemispher"), "did you mean `hemisphere`"),
    (("simulate", "causal", "--space", "spere"), "`space` must be left out for `causal`"),
    (("simulate", "token-flow", "--space", "spere"), "did you mean `sphere`"),
    (("simulate", "causal", "--frames", "1"), "`frames` must be at least 2"),
    (("simulate", "causal", "--end", "-1", "--members", "2"), "`end` must be after the initial time, 0, for an"),
    (("simulate", "causal", "--tokens", "0"), "`heads` and `members` must be at least 1, but `tokens` is 0"),
    (("simulate", "causal", "--rtol", "-1"), "must be positive"),
    (("simulate", "causal", "--out", "/proc/nowhere/run.npz"), "must be a folder"),
    (("simulate", "causal", "--query-key", "missing.npy"), "be a file that can be read"),
    (("simulate", "--config", "missing.toml"), "`missing.toml` is not"),
    (("simulate", "nothing.npz"), "nothing.npz"),
    (("check", "theorem-3.11"), "did you mean `theorem-3.1`"),
    (("check", "theorem-3.1", "--trials", "0"), "`trials` must be at least 1"),
    (("figure", "consensus/figure-11"), "did you mean"),
    (("experiment", "7.4x"), "did you mean `7.4`"),
    (("check", "theorem-3.1", "--results", "nowhere"), "`results` must be a folder of records of experiments"),
    (("report", "--results", "nowhere"), "`nowhere` is not a folder"),
    (("figure", "figure-6", "--results", "nowhere"), "`nowhere` is not a folder"),
])  # fmt: skip
def test_bad_input_is_one_sentence(capsys, words, sentence):
    assert sentence in refused(capsys, *words)


def test_a_toml_file_with_an_unknown_key_is_refused(capsys, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text('system = "causal"\nmember = 3\n')
    assert "did you mean `members`" in refused(capsys, "simulate", "--config", config)
    config.write_text("system = causal")
    assert "be TOML" in refused(capsys, "simulate", "--config", config)
    config.write_text('system = "causal"\ntokens = "ten"\n')
    assert "give `tokens` as a whole number" in refused(capsys, "simulate", "--config", config)
    config.write_text('system = "causal"\nintegrator = "euler"\n')
    assert "give `integrator` as `diffrax` or `scipy`" in refused(capsys, "simulate", "--config", config)


def test_a_horizon_that_cannot_be_reached_says_why(capsys, tmp_path):
    source = tmp_path / "escape.py"
    source.write_text("def square(t, x):\n    return x**2\n")
    np.save(tmp_path / "one.npy", np.array([1.0]))
    words = ("--space", "euclidean", "--initial", tmp_path / "one.npy", "--end", 2, *SCIPY)
    out, drawn = tmp_path / "run.npz", tmp_path / "run.svg"
    status, said, err = run(capsys, "simulate", f"{source}:square", *words, "--out", out, "--figure", drawn)
    assert status == 1
    assert "only reached t = 1" in err
    assert "may escape to infinity" in err
    assert "files hold the part of the run up to t = 1\n" in said
    assert "is drawn: the state grows fast after it" in said
    assert drawn.exists()
    path = load(out, trust=[f"{source}:square"])
    assert len(path.ts) > 190
    np.testing.assert_allclose(path.ys[:190, 0], 1 / (1 - path.ts[:190]), rtol=1e-6)
    assert "identical bit for bit" in answer(capsys, "simulate", out, "--trust", f"{source}:square")


def test_a_run_that_fails_at_its_start_writes_nothing(capsys, tmp_path):
    (tmp_path / "mine.py").write_text("def f(t, x):\n    return x / (0 * x)\n")
    words = ("--start", 1, "--end", 1, *SCIPY, "--out", tmp_path / "run.npz")
    status, said, _ = run(capsys, "simulate", f"{tmp_path}/mine.py:f", *words)
    assert (status, (tmp_path / "run.npz").exists()) == (1, False)
    assert "nothing is written, because the run ends at t = 0, where it begins" in said


def test_the_finite_part_of_an_orbit_that_escapes_is_drawn(capsys, tmp_path):
    drawn = tmp_path / "orbit.svg"
    words = ("simulate", "henon", "--end", 50, "--figure", drawn)
    status, said, _ = run(capsys, *words, "--start", 5, 5)
    assert status == 1
    assert "the orbit escapes to infinity" in said
    assert "only the steps before step 3 are drawn: the orbit escapes, exceeding 1e+150 at step 8" in said
    assert drawn.stat().st_size > 1000
    drawn.unlink()
    status, said, _ = run(capsys, *words, "--start", 1e90, 5)
    assert status == 1
    assert "nothing is drawn, because the orbit exceeds 1e+150 at step 1" in said
    assert not drawn.exists()


def test_an_orbit_that_escapes_late_is_drawn_until_it_runs_away():
    sizes = np.array([1.0, 2.0, 1.5, 1.0, 2.5, 1.0, 9.0, 80.0, 1e4, 1e9, 1e19, np.inf])
    assert escape(sizes) == 11
    assert drawn_steps(sizes, 11) == 7
    assert drawn_steps(sizes[9:], 2) == 2
    assert escape(sizes[:9]) is None
    assert escape(np.array([1.0, np.nan])) == 1


def test_checks_are_written_as_json_lines(capsys, tmp_path):
    path = tmp_path / "lines.jsonl"
    said = answer(capsys, "check", "theorem-6.1-equilibria", "--trials", 2, "--json", path)
    assert "REFUTED" in said
    (row,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert row["statement"] == "consensus/theorem-6.1-equilibria"
    assert row["finding"] == "HOLDS_CORRECTED"
    assert {c["variant"] for c in row["claims"]} == {"printed", "corrected"}


def test_the_lists_are_complete(capsys):
    from analysis.claims import claims

    said = answer(capsys, "list")
    assert all(claim.id in said for claim in claims())
    assert "published-ensemble" in said
    assert "consensus/figure-1" in said
    assert run(capsys, "list", "initial-distributions")[1].startswith("initial distributions:\n  uniform ")


def test_the_demonstration_leaves_a_run_and_a_figure(capsys, tmp_path):
    said = answer(capsys, "demo", "--out", tmp_path)
    assert "supported on 4 instances" in said
    assert "refuted, certified" in said
    assert (tmp_path / "demo.npz").exists()
    assert (tmp_path / "consensus" / "figure-1.pdf").exists()
