"""`dynsim sweep`: functions of the user's, systems of the catalogue and of papers, files, resumption, refusals."""

import pickle
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import xarray

from dynsim.cli.sweep.command import Built, _built_again
from dynsim.cli.sweep.measures import measures
from dynsim.cli.sweep.options import Sweep
from dynsim.errors import IntegrationError, Outcome
from dynsim.keys import random_key
from dynsim.simulation.sweep import digest, points_of, sweep
from tests.support.commands import refused, run

MINE = """
import jax

from dynsim.systems.base import FunctionFlow, FunctionMap


def level(beta, key, gamma=1.0):
    return {"level": beta * jax.random.normal(key) + gamma, "ratio": 1 / (2 - beta)}


def decay(t, x, rate=1.0):
    return -rate * x


def wrong(k, x, rate):
    return rate * jax.numpy.zeros(3)


flow = FunctionFlow(decay, names=("height",), parameters={"rate": 1.0})
wide = FunctionFlow(wrong, names=("height",), parameters={"rate": 1.0})
map = FunctionMap(wrong, names=("height",), parameters={"rate": 1.0})
nameless = FunctionMap(lambda k, x, rate: heigth * x, names=("height",), parameters={"rate": 1.0})


def square(t, x, rate):
    return rate * x**2


def turn(t, x, rate):
    return rate + 0 * x


turning = FunctionFlow(turn, names=("angle",), parameters={"rate": 1.0}, periods={"angle": 4.0})
burst = FunctionFlow(square, names=("height",), parameters={"rate": 1.0})
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_failures_beyond_those_shown_are_counted(here, capsys):
    (here / "odd.py").write_text("def inverse(k):\n    return {'value': 1 / (k % 2)}\n")
    _, said, _ = run(capsys, "sweep", "--function", "odd.py:inverse", "--k", *range(14))
    assert "14 points (k 14): 7 ok, 7 failed" in said
    assert said.count("failed at k = ") == 5
    assert said.strip().splitlines()[-1] == "and 2 more failed"


def test_a_function_of_the_users_is_swept_into_a_file_and_resumes(here, capsys):
    words = ("sweep", "--function", "mine.py:level", "--beta", "1", "2", "4", "--seeds", "2", "--units", "beta=1/s",
        "--out", "f.nc")  # fmt: skip
    status, said, _ = run(capsys, *words)
    assert status == 1
    assert "6 points (beta 3 x seed 2): 4 ok, 2 failed" in said
    assert "failed at beta = 2, seed = 0: ZeroDivisionError: division by zero" in said
    with xarray.open_dataset(here / "f.nc", engine="scipy") as found:
        assert found["level"].dims == ("beta", "seed")
        assert found["beta"].attrs["units"] == "1/s"
        np.testing.assert_array_equal(found["ratio"].sel(seed=1), [1.0, np.nan, -0.5])
        assert found["status"].values.tolist() == [["ok"] * 2, ["failed"] * 2, ["ok"] * 2]
    first = (here / "f.nc").read_bytes()
    (here / "f.nc").unlink()
    (here / "f.parts" / "part-00003.npz").unlink()
    assert run(capsys, *words)[0] == 1
    assert (here / "f.nc").read_bytes() == first
    said = refused(capsys, *words[:4], "3", *words[6:])
    assert "Argument `out` must name a file beside which `f.parts` holds parts of this very run" in said
    assert "it holds parts of another: delete this folder, or give another `--out`." in said


def test_a_finished_sweep_is_run_again_in_csv_too_but_a_stranger_s_table_is_kept(here, capsys):
    words = ("sweep", "--function", "mine.py:level", "--beta", "1", "4", "--out", "f.csv", "--seeds", "1")
    assert run(capsys, *words)[0] == 0
    first = (here / "f.csv").read_bytes()
    assert run(capsys, *words)[0] == 0
    assert (here / "f.csv").read_bytes() == first
    shutil.rmtree(here / "f.parts")
    assert "but `f.csv` may not be: a .csv file has no mark of it" in refused(capsys, *words)
    assert (here / "f.csv").read_bytes() == first


def test_the_function_of_a_command_is_built_again_from_the_same_file_only(here, monkeypatch):
    made = Built(Sweep(function="mine.py:level", seeds=1), (("beta", 1),))
    sent = pickle.dumps(made)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    key = random_key(0, "sweep")
    assert pickle.loads(sent)(beta=3.0, key=key) == made(beta=3.0, key=key)
    assert pickle.loads(sent) is pickle.loads(sent)  # what a worker has compiled stays
    points = points_of({"beta": [1.0]}, 1)
    assert digest(made, points, 1, False) == digest(made.__wrapped__, points, 1, False)
    mine = here / "mine.py"
    mine.write_text(mine.read_text() + "\n")
    _built_again.cache_clear()
    with pytest.raises(ValueError, match="file that is the same on every worker, but `.*mine.py` differs on one"):
        pickle.loads(sent)
    mine.unlink()
    with pytest.raises(ValueError, match="mine.py` does not exist on one"):
        pickle.loads(sent)


def test_a_right_hand_side_of_the_users_is_swept_as_other_commands_take_it(here, capsys, monkeypatch):
    starts = []

    def decayed(flow, start, ts, *, integrator):
        starts.append((np.asarray(start).tolist(), flow.names))
        return SimpleNamespace(ys=np.exp(-float(flow.parameters["rate"]) * ts)[:, None] * np.asarray(start))

    monkeypatch.setattr("dynsim.simulation.simulate.simulate", decayed)
    (here / "rhs.py").write_text("def decay(t, x, rate=1.0, still=False):\n    return 0 * x if still else -rate * x\n")
    line = "sweep rhs.py:decay --rate 0:2 --start 3 --names height --units m rate=1/s --end 1 --frames 3 --out f.nc"
    status, said, _ = run(capsys, *line.split(), "--still")
    assert status == 0, said
    assert "11 points (rate 11): 11 ok, 0 failed" in said
    assert f"height_final: from {3 * np.exp(-2):.6g} to 3 m" in said
    assert starts == [([3.0], ("height",))] * 11
    with xarray.open_dataset(here / "f.nc", engine="scipy") as found:
        np.testing.assert_allclose(found["rate"], np.linspace(0.0, 2.0, 11))
        assert (found["rate"].attrs["units"], found["height_mean"].attrs["units"]) == ("1/s", "m")


@pytest.mark.slow
def test_systems_with_the_same_parameters_are_told_apart(here):
    points = points_of({"beta": [1.0]}, None)
    told = [Sweep("lorenz"), Sweep("token-flow"), Sweep("lorenz", end=2.0), Sweep("lorenz", begin=2.0),
        Sweep("lorenz", start=(1.0, 1.0, 1.0)), Sweep("lorenz", frames=9), Sweep("lorenz", rtol=1e-6),
        Sweep("lorenz", max_steps=9), Sweep("lorenz", atol=1e-14)]  # fmt: skip
    found = [digest(Built(one, (("beta", 1.0),)), points, 1, False) for one in told]
    assert len({*found}) == len(found)
    assert digest(Built(Sweep("lorenz"), (("beta", 1.0),)), points, 1, False) == found[0]


def test_a_point_that_lacks_steps_is_told_the_option(here, capsys, monkeypatch):
    caps = []

    def stopped(*arguments, integrator):
        caps.append(integrator.max_steps)
        raise IntegrationError(f"Stopped: {Outcome.MAX_STEPS.advice}.", outcome=Outcome.MAX_STEPS)

    monkeypatch.setattr("dynsim.simulation.simulate.simulate", stopped)
    status, said, _ = run(capsys, "sweep", "lorenz", "--rho", "28", "--max-steps", "9")
    assert (status, caps) == (1, [9])
    assert said.splitlines()[0] == "1 point (rho 1): 0 ok, 1 failed"
    assert "take a shorter run, a larger `--rtol` or more `--max-steps`\n" in said
    assert "`max_steps`" not in said


POINTS = [{"rate": 0.1}, {"rate": 9.0}, {"rate": -2.0}]


def test_points_of_a_flow_are_solved_in_lanes(here):
    """The equation x' = r x^2, for which 1/x falls by r in a unit of time; one point escapes and is left out."""
    made = Built(Sweep(system="mine.py:burst", end=3.0, frames=9, rtol=1e-7), (("rate", 1.0),))
    assert made.solved == "in lanes"
    first, none, last = made.together(POINTS)
    assert none is None
    assert 1 / last["height_final"] - 1 / last["height_largest"] == pytest.approx(3.0, rel=1e-4)
    assert 1 / first["height_least"] - 1 / first["height_final"] == pytest.approx(0.15, rel=1e-4)


def test_points_of_a_map_are_iterated_in_lanes(here):
    """A cycle of two values, an orbit that escapes, and one that is at its end after an odd number of steps."""
    made = Built(Sweep(system="logistic", end=401.0, start=(0.3,)), (("r", 3.2),))
    assert made.solved == "in lanes"
    rows = [{"r": 3.2}, {"r": 4.5}, {"r": 2.5}]
    two, none, one = made.together(rows)
    low, high = sorted((4.2 + np.array([1, -1]) * np.sqrt(4.2 * 0.2)) / 6.4)
    assert [two["x_least"], two["x_largest"]] == pytest.approx([low, high])
    assert two["x_mean"] == pytest.approx(
        ((101 * low + 100 * high) if two["x_final"] < 0.6 else (100 * low + 101 * high)) / 201
    )
    assert none is None
    assert one["x_final"] == pytest.approx(0.6)
    for found, row in ((two, rows[0]), (one, rows[2])):
        assert made(**row) == pytest.approx(found)


def test_runs_begin_at_any_time_and_run_backwards(here):
    """From 1 at t = 2 the equation x' = x^2 has the solution 1 / (3 - t)."""
    made = Built(Sweep(system="mine.py:burst", start=(1.0,), begin=2.0, end=0.0, frames=3), (("rate", 1.0),))
    assert made.solved == "not in lanes, because they run backwards in time"
    assert made(rate=1.0)["height_final"] == pytest.approx(1 / 3, rel=1e-8)


def test_angles_are_measured_modulo_their_periods(here):
    """An angle of period 4 that turns at rates of 1 and of 0.01 from 1.9, which is near the end of its window."""
    given = {"system": "mine.py:turning", "start": (1.9,), "end": 16.0, "frames": 9, "reduced": True}
    fast, slow = Built(Sweep(**given), (("rate", 1.0),)).together([{"rate": 1.0}, {"rate": 0.01}])
    assert fast["angle_final"] == pytest.approx(1.9, abs=1e-7)
    assert fast["angle_largest"] - fast["angle_least"] == pytest.approx(2.0, abs=1e-7)  # of 0, 2, 0, 2, 0
    assert slow["angle_final"] == pytest.approx(1.9 + 0.16 - 4, abs=1e-7)
    assert slow["angle_mean"] == pytest.approx(1.9 + 0.12 - 4, abs=1e-7)
    assert [slow[f"angle_{end}"] - slow["angle_mean"] for end in ("least", "largest")] == pytest.approx([-0.04, 0.04])


@pytest.mark.parametrize("periods", [(np.inf, np.inf), (np.inf, 4.0)])
def test_values_that_escape_are_measured_without_a_warning(periods):
    """A warning is an error in the tests."""
    values = np.column_stack([[0.0, 1e200, np.inf, np.inf, np.nan], np.arange(5.0)])
    found = measures(("x", "y"), values, periods)
    assert not np.isfinite(found["x_mean"])
    assert found["y_largest"] - found["y_least"] == pytest.approx(2.0)


@pytest.mark.slow
def test_points_in_lanes_are_those_of_each_run(here):
    """A point that fails says why."""
    made = Built(Sweep(system="mine.py:burst", end=3.0, frames=9, rtol=1e-7), (("rate", 1.0),))
    found = made.together(POINTS)
    for k in (0, 2):
        alone = made(**POINTS[k])
        assert found[k].keys() == alone.keys()
        np.testing.assert_allclose([*found[k].values()], [*alone.values()], rtol=2e-6)
    points = sweep(made, POINTS, shown=False)
    assert points["status"].values.tolist() == ["ok", "failed", "ok"]
    assert points["cause"].values[1].startswith("IntegrationError: ")


@pytest.mark.slow
def test_systems_of_the_catalogue_of_papers_and_of_a_file_are_swept(here, capsys):
    _, said, _ = run(capsys, "sweep", "logistic", "--r", "2.5", "3.2", "--end", "400")
    assert f"x_largest: from 0.6 to {0.799455:g}" in said  # 1 - 1/r, and the larger point of the 2-cycle
    _, said, _ = run(capsys, "sweep", "mine.py:flow", "--rate", "1", "2", "--end", "2", "--frames", "3", "--out",
        "flow.nc", "--seeds", "1")  # fmt: skip
    with xarray.open_dataset(here / "flow.nc", engine="scipy") as found:
        share = np.exp([[-1.0], [-2.0]])  # of the value at the middle that is left at the end
        np.testing.assert_allclose(found["height_final"] / found["height_mean"], 2 * share / (1 + share), rtol=1e-6)
    _, said, _ = run(capsys, "sweep", "token-flow", "--beta", "1", "4", "--end", "4", "--frames", "3")
    assert "diameter_final: from " in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--function mine.py:level --bta 1", "(beta, key, gamma), but is not, did you mean `--beta`?"),
        ("--function mine.py:level --gamma 1", "`mine.py:level` needs, but lack beta and key (`--seeds` gives `key`)"),
        ("--function mine.py:decay --rate 1", "a system: `dynsim sweep mine.py:decay` without `--function`"),
        ("mine.py:decay --rate 1", "`start` must be given for `mine.py:decay`, whose dimension is unknown"),
        ("mine.py:level --beta 1", "(`--function mine.py:level` evaluates a function of the parameters), but t"),
        ("mine.py:flow --function mine.py:level --beta 1", "`system` must be left out with `--function`"),
        ("lorenz --rho", "`rho` must be given with a value, but is given without."),
        ("lorenz --start 1 2 3", "`parameters` must be given, such as `--beta 1 2 4`"),
        ("lorenz --rho 1 --start 1", "`start` must have 3 numbers, one for each component, but has 1."),
        ("logistic --r 1 --end 2.5", "`end` must be a whole number of steps for a map, but is 2.5."),
        ("mine.py:decay --rate 1 2 --start 1 --show x_last --figure a.pdf", "`x_last`, did you mean `x_1_least`?"),
        ("--function mine.py:level --beta 1 --end 3", "`end` must be left out with `--function`, on which it"),
        ("--function mine.py:level", "`parameters` must be given, such as `--beta 1 2 4`"),
        ("--function mine.py:level --beta", "`beta` must be given with values"),
        ("--function mine.py:level --beta 1 --out f.txt", "`out` must end in .nc, .npz, .csv or .parquet, but"),
        ("--function mine.py:level --beta 1 --seeds 1 --units beta", "`units` must be given as NAME=UNIT"),
        ("lorenz --rh 1", "(sigma, rho, beta), but is neither, did you mean `--rho`?"),
        ("mine.py:wide --rate 1", "`system` must return an array of shape (1,), but line 15 of"),
        ("mine.py:map --rate 1", "`system` must return an array of shape (1,), but line 15 of"),
        ("mine.py:nameless --rate 1", "`system` must take (k, x) with x of shape (1,) (see `--start`), in JAX, but"),
        ("lorenz --rho 1 --vectorised", "`vectorised` must be left out for a system"),
        ("lorenz --rho 1 --begin 2 --end 2", "`end` must differ from the initial time, 2, but is 2"),
        ("lorenz --rho 1 --reduced", "`reduced` must be left out for a system without angles (`--angle`), but is"),
        ("lorens --rho 1", "did you mean `lorenz`?"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_refused_in_one_sentence(here, capsys, words, sentence):
    assert sentence in refused(capsys, "sweep", *words.split())
