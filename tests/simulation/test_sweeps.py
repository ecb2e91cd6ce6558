"""Sweeps: grids, lists and seeds, failures, resumption after a kill, locks, executors, one program, refusals."""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.io.locks import held
from dynsim.keys import random_key
from dynsim.simulation.sweep import _size, digest, points_of, sweep

ROOT = Path(__file__).parents[2]
GRID = {"a": [1.0, 2.0, 4.0], "b": [10, 20]}


class Measured(NamedTuple):
    total: float
    pair: np.ndarray


def measured(a, b):
    return Measured(a + b, np.array([a, b]))


def drawn(a, key):
    return {"x": a + jax.random.normal(key, (2,))}


def picky(a, b):
    if a == 2.0 and b == 20:
        raise ArithmeticError("the map escapes.")
    return np.nan if a == 4.0 and b == 10 else a * b


def waves(beta, key):
    return {
        "level": jnp.sin(beta) + jax.random.uniform(key),
        "pair": jnp.stack([jnp.asarray(beta), 1 / (jnp.asarray(beta) - 2)]),
    }


def test_a_grid_becomes_a_dataset_with_names_and_units():
    found = sweep(measured, GRID, units={"a": "1/s", "total": "m"})
    assert found["total"].dims == ("a", "b")
    assert found["pair"].dims == ("a", "b", "pair_0")
    np.testing.assert_array_equal(found["total"], np.add.outer(GRID["a"], GRID["b"]))
    assert float(found["pair"].sel(a=4.0, b=20)[1]) == 20
    assert (found["a"].attrs["units"], found["total"].attrs["units"]) == ("1/s", "m")
    assert set(np.unique(found["status"])) == {"ok"}
    assert found.attrs["function"] == "measured"


def test_units_of_results_that_no_point_has_are_left_out():
    found = sweep(lambda a: 1 / 0, {"a": [1.0]}, units={"a": "1/s", "total": "m"})
    assert found["a"].attrs["units"] == "1/s"
    assert "total" not in found


def test_a_list_of_points_and_seeds_with_common_random_numbers():
    found = sweep(drawn, [{"a": 0.0}, {"a": np.float64(5.0)}], seeds=3)
    assert found["x"].dims == ("point", "seed", "x_0")
    np.testing.assert_allclose(found["x"][1] - found["x"][0], 5.0)
    expected = jax.random.normal(random_key(2, "sweep"), (2,))
    np.testing.assert_array_equal(found["x"][0, 2], expected)
    np.testing.assert_array_equal(sweep(drawn, {"a": [0.0]}, seeds=[2])["x"][0, 0], expected)


def test_a_point_that_fails_says_why_and_the_others_stay():
    found = sweep(picky, GRID, chunk=2)
    assert found["status"].values.tolist() == [["ok", "ok"], ["ok", "failed"], ["failed", "ok"]]
    assert str(found["cause"].sel(a=2.0, b=20).values) == "ArithmeticError: the map escapes"
    assert str(found["cause"].sel(a=4.0, b=10).values) == "a value is not finite"
    np.testing.assert_array_equal(found["value"], [[10, 20], [20, np.nan], [np.nan, 80]])
    lost = sweep(lambda a: 1 / 0, {"a": [1, 2]})
    assert list(lost.data_vars) == ["status", "cause"]


def test_one_program_gives_what_a_loop_gives():
    grid = {"beta": [0.5, 1.0, 2.0, 3.0, 4.0]}
    one = sweep(waves, grid, seeds=2, vectorised=True, chunk=4)
    loop = sweep(waves, grid, seeds=2)
    np.testing.assert_allclose(one["level"], loop["level"], rtol=1e-14)
    np.testing.assert_array_equal(one["pair"], loop["pair"])
    assert one["cause"].sel(beta=2.0).values.tolist() == ["a value is not finite"] * 2
    assert int((one["status"] == "failed").sum()) == 2


def test_an_executor_gives_the_same_bits():
    with ThreadPoolExecutor(2) as pool:
        found = sweep(drawn, {"a": [0.0, 1.0, 2.0]}, seeds=2, chunk=1, executor=pool)
    assert found.identical(sweep(drawn, {"a": [0.0, 1.0, 2.0]}, seeds=2))


SCRIPT = """
import time
from pathlib import Path
import numpy as np
from dynsim.simulation.sweep import sweep

def slow(a):
    if a >= 3 and not Path("go").exists():
        print("waiting", flush=True)
        time.sleep(600)
    return np.random.default_rng(int(a)).normal(size=3)

found = sweep(slow, {"a": [1, 2, 3, 4]}, chunk=1, folder="parts")
np.save("found.npy", found["value"].values)
"""


@pytest.mark.slow  # three processes
def test_a_killed_sweep_resumes_to_the_same_bits_and_its_lock_does_not_stay(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = lambda: subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with start() as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"waiting\n"
        said = start().communicate()[1].decode()  # a second one, while the first runs
        assert "must not be in use by another run (if none is running, delete `parts/.running`)" in said
        assert f"but `parts` is held by process {first.pid} on" in said
        first.send_signal(signal.SIGKILL)
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
        ".running",
        "part-00000.npz",
        "part-00001.npz",
    ]
    kept = [(tmp_path / "parts" / f"part-0000{k}.npz").stat().st_mtime_ns for k in range(2)]
    (tmp_path / "go").touch()
    last = start()
    last.communicate()
    assert last.returncode == 0
    assert kept == [(tmp_path / "parts" / f"part-0000{k}.npz").stat().st_mtime_ns for k in range(2)]
    assert not (tmp_path / "parts" / ".running").exists()
    expected = [np.random.default_rng(k).normal(size=3) for k in (1, 2, 3, 4)]
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), expected)


def test_the_lock_of_an_ended_process_is_replaced_and_one_of_another_machine_is_not(tmp_path):
    lock = tmp_path / ".running"
    own = {"process": os.getpid(), "machine": socket.gethostname()}
    for stale in ({**own, "began": "another start"}, {**own, "process": 2**22 + 1}, {}):
        lock.write_text(json.dumps(stale))
        with held("folder", tmp_path):
            assert json.loads(lock.read_text())["process"] == os.getpid()
            with pytest.raises(ValueError, match="not be in use by another run"), held("folder", tmp_path):
                pass
        assert not lock.exists()
    lock.write_text(json.dumps({**own, "machine": "elsewhere"}))
    with pytest.raises(ValueError, match="on elsewhere"), held("folder", tmp_path):
        pass
    assert lock.exists()
    assert [path.name for path in tmp_path.iterdir()] == [".running"]


@pytest.mark.slow
@pytest.mark.parametrize("other", [
    lambda folder: sweep(picky, GRID, chunk=2, folder=folder),
    lambda folder: sweep(measured, {**GRID, "b": [10, 30]}, chunk=2, folder=folder),
    lambda folder: sweep(measured, GRID, chunk=3, folder=folder),
    lambda folder: sweep(measured, {"a": [1.0], "b": [10]}, folder=folder),
], ids=["function", "values", "chunk", "one point"])  # fmt: skip
def test_a_folder_takes_no_parts_of_another_sweep(tmp_path, other):
    first = sweep(measured, GRID, chunk=2, folder=tmp_path)
    assert first.identical(sweep(measured, GRID, chunk=2, folder=tmp_path))
    with pytest.raises(ValueError, match="`folder` must .*the same function, parameters, seeds and options"):
        other(tmp_path)


def test_what_a_function_closes_over_tells_sweeps_apart(tmp_path):
    def times(factor):
        return lambda a: factor * a

    sweep(times(2.0), {"a": [1.0]}, folder=tmp_path)
    with pytest.raises(ValueError, match="parts of another"):
        sweep(times(3.0), {"a": [1.0]}, folder=tmp_path)


class Scaled(eqx.Module):
    factor: jax.Array
    exponent: int = eqx.field(static=True, default=1)

    def __call__(self, a):
        return self.factor * a


def power(a, exponent=2, *, shift=0.0):
    return a**exponent + shift


def with_default(exponent):
    return lambda a, exponent=exponent: a**exponent


def with_keyword(shift):
    return lambda a, *, shift=shift: a + shift


def closing_over(values):
    return lambda a: a + values[0]


def closing_over_itself(values):
    def power_of(a):
        return a if a < 1 else power_of(a - values[0])

    return power_of


class Shifted:
    """A function with a field, of no library."""

    def __init__(self, shift):
        self.shift = shift

    def __call__(self, a):
        return a + self.shift

    def less(self, a):
        return a - self.shift


def test_a_digest_tells_functions_points_and_parts_apart():
    points = points_of({"a": [1.0, 2.0]}, None)
    table = np.zeros(2000)
    other = table.copy()
    other[1000] = 1e-12
    functions = [
        power, measured, with_default(2), with_default(3), with_keyword(1.0), with_keyword(2.0), closing_over(table),
        closing_over(other), functools.partial(power, shift=1.0), functools.partial(power, shift=2.0),
        functools.partial(power, exponent=1.0), Scaled(jnp.asarray(2.0)), Scaled(jnp.asarray(3.0)),
        Scaled(jnp.asarray(3.0), 2),
        closing_over([{"b": points_of({"b": [1.0]}, None)}]), closing_over([{"b": points_of({"b": [2.0]}, None)}]),
        Shifted(1.0), Shifted(2.0), Shifted(1.0).less, Shifted(2.0).less, jax.jit(waves),
        jax.jit(closing_over((1.0,))), jax.jit(closing_over((2.0,))), closing_over_itself([1.0]),
        closing_over_itself([2.0]),
    ]  # fmt: skip
    found = [digest(function, points, 1, False) for function in functions]
    found += [digest(power, points, 2, False), digest(power, points, 1, True)]
    found += [digest(power, points_of(p, s), 1, False) for p, s in (
        ({"a": [1.0, 2.5]}, None), ({"a": [1.0, 2.0]}, 1), ({"a": [1.0, 2.0]}, [1]), ([{"a": 1.0}, {"a": 2.0}], None)
    )]  # fmt: skip
    assert len(set(found)) == len(found)
    assert digest(closing_over(table.copy()), points_of({"a": [1.0, 2.0]}, None), 1, False) == found[6]
    assert digest(jax.jit(measured), points, 1, False) == found[1]


REFUSED = {"no points": (lambda: sweep(measured, {"a": [], "b": [1]}), "`parameters` must have at least one point"),
    "names": (lambda: sweep(measured, {"seed": [1]}), "and not key, seed, point, status, cause, but has 'seed'"),
    "no axis": (lambda: sweep(waves, {"beta": np.array(2.0)}), "`parameters` must give `beta` as a sequence of values"),
    "points": (lambda: sweep(measured, [{"a": 1}, {"b": 1}]), "give every point the same names"),
    "values": (lambda: sweep(measured, {"a": [None]}), "have numbers or strings as values, but has None"),
    "texts": (lambda: sweep(waves, {"beta": ["x"]}, vectorised=True), "`beta` has strings"),
    "none": (lambda: sweep(measured, {}), "`parameters` must name at least one parameter, but is empty"),
    "branches": (lambda: sweep(lambda a: a if a > 1 else -a, {"a": [1.0, 2.0]}, vectorised=True),
    "`vectorised` must be left out for a function that calls NumPy or `float`, or branches"),
    "an error": (lambda: sweep(lambda a: a[0], {"a": [1.0, 2.0]}, vectorised=True),
    "`function` must accept its parameters as JAX arrays where it is `vectorised`, but raises IndexError: Too"),
    "a text": (lambda: sweep(lambda a: "x", {"a": [1]}), "`function` must return numbers, .* returns 'x' as `value`"),
    "shapes": (lambda: sweep(lambda a: np.ones(a), {"a": [1, 2]}), r"but `value` has \(1,\) and \(2,\)"),
    "clash": (lambda: sweep(lambda a: {"a": 1.0}, {"a": [1]}), "return names that no parameter has, but returns `a`"),
    "units": (lambda: sweep(measured, GRID, units={"c": "m"}), "`units` must name parameters and results"),
    "seeds": (lambda: sweep(drawn, {"a": [1]}, seeds=0), "`seeds` must be at least 1")}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_swept_is_refused_in_one_sentence(case):
    make, match = REFUSED[case]
    with pytest.raises(ValueError, match=match):
        make()


CALLS: list[float] = []  # no part of what tells functions apart


def counted(a):
    CALLS.append(a)
    if CALLS == [1, 2]:
        raise KeyboardInterrupt
    return 10 * a


def test_a_sweep_that_resumes_evaluates_what_is_missing_in_its_place(tmp_path):
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        sweep(counted, {"a": [1, 2, 3]}, chunk=1, folder=tmp_path)
    for _ in range(2):
        assert sweep(counted, {"a": [1, 2, 3]}, chunk=1, folder=tmp_path)["value"].values.tolist() == [10, 20, 30]
        assert CALLS == [1, 2, 2, 3]
    (tmp_path / "part-00000.npz").unlink()  # those that are left have other numbers
    with pytest.raises(ValueError, match="parts of another"):
        sweep(counted, {"a": [5]}, folder=tmp_path)


def test_parts_are_many_and_not_too_large():
    assert [_size(points, None) for points in (5, 640, 10**6)] == [1, 10, 256]
    assert [_size(5, chunk) for chunk in (3, 9)] == [3, 5]


def test_an_interrupted_sweep_says_what_is_kept(tmp_path):
    def stopping(a):
        if a == 2:
            raise KeyboardInterrupt
        return a

    with pytest.raises(KeyboardInterrupt, match="after 1 of 3 points; they are kept in"):
        sweep(stopping, {"a": [1, 2, 3]}, chunk=1, folder=tmp_path)
    with pytest.raises(KeyboardInterrupt, match="none is kept"):
        sweep(stopping, {"a": [1, 2, 3]}, chunk=1)
