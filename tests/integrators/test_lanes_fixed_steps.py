"""Maps and noise in lanes: beside one member at a time and beside the kernel's text on the host; refusals."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import Outcome
from dynsim.integrators import EulerHeun, EulerMaruyama, StochasticHeun, in_lanes
from dynsim.integrators.base import stacked
from dynsim.integrators.fixed_step import in_lanes as fixed
from dynsim.integrators.fixed_step.maps import Iteration
from dynsim.integrators.lanes.fixed_steps import Schedule
from dynsim.integrators.lanes.recorded import System
from dynsim.keys import hashed, normals, random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import iterate, simulate
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.noisy import NoisyFlow
from tests.support.as_if_kernels import as_if_kernels
from tests.support.cuda_on_host import COMPILER, WHY_NOT

state = lambda t, x: x
STARTS = np.random.default_rng(0).normal(size=(5, 2)) / 4
KEY = random_key(0, "noise")


class OnHost(FunctionMap):
    on_host = True

    def __init__(self):
        super().__init__(lambda k, x: x)


class Pair(NamedTuple):
    a: Any
    b: Any


def turned(k, x, a, shift):
    """Henon's map, pushed at every third step."""
    return jnp.stack([1 - a * x[0] ** 2 + x[1], 0.3 * x[0] + jnp.where(k % 3 == 0, shift[0], 0.0)])


HENON = [FunctionMap(turned, parameters={"a": a, "shift": np.array([0.01, 0.0])}) for a in (0.9, 1.0, 1.1, 1.2, 1.3)]
escaping = FunctionMap(lambda k, x: x**2)


def test_members_of_a_map_are_what_iterate_gives():
    found = ensemble(HENON, STARTS, [0, 5, 7, 20], state)
    assert found.solved == "in lanes, in JAX"
    for k, map in enumerate(HENON):
        alone = iterate(map, STARTS[k], 20).ys
        np.testing.assert_allclose(found.values[k], alone[np.array([0, 5, 7, 20])], rtol=1e-9)
    np.testing.assert_array_equal(found.final, found.values[:, -1])
    assert (found.ts.tolist(), found.stats.num_steps.tolist()) == ([0, 5, 7, 20], [20] * 5)
    later = ensemble(HENON[0], found.values[:1, 1], [5, 7], state)  # the number of the step goes on
    assert later.stats.num_steps.tolist() == [2]
    np.testing.assert_allclose(later.final, ensemble(HENON[0], STARTS[:1], [0, 7], state).final, rtol=1e-12)


def test_a_map_that_leaves_every_bound_fails_alone():
    found = ensemble(escaping, [[2.0], [0.5], [1.0]], [0, 2, 30, 31], lambda k, x: x[0])
    assert [Outcome(k) for k in found.stats.outcome.tolist()] == [Outcome.NON_FINITE] + [Outcome.FINISHED] * 2
    np.testing.assert_array_equal(found.values, [[2, 16, np.nan, np.nan], [0.5, 0.0625, 0, 0], [1, 1, 1, 1]])
    assert found.stats.last_time.tolist() == [2, 31, 31]
    assert np.isnan(found.final[0]).all()
    assert "member 0 failed: the state is not finite" in str(found)


def test_large_states_and_several_arrays():
    product = FunctionMap(lambda k, x: Pair(x.a / 2, x.b + x.a.sum()))
    starts = Pair(np.arange(6.0).reshape(2, 3), np.ones((2, 1)))
    found = ensemble(product, starts, [0, 1, 3], lambda k, x: x.b[0])
    assert found.solved == "in lanes, in JAX"
    np.testing.assert_allclose(found.values, [[1, 4, 6.25], [1, 13, 22.0]])
    large = FunctionMap(lambda k, x: 0.5 * x + k.astype(x.dtype))
    found = ensemble(large, np.ones((2, 300), np.float32), [0, 2, 3], state)
    assert found.solved == "not in lanes, because a state has 300 entries, more than 20"
    assert found.values.dtype == np.float32
    np.testing.assert_array_equal(found.values[1, :, 7], [1, 1.25, 2.625])


def test_bad_input_of_an_ensemble_of_a_map():
    start = [[0.1, 0.2]]

    def said(match, map: Any = HENON[0], ts=(0, 1), **given):
        with pytest.raises(ValueError, match=match):
            ensemble(map, start, ts, state, **given)

    said("Argument `ts` must be numbers of steps", ts=[0.0, 0.5])
    said("Argument `ts` must be numbers of steps", ts=[-1, 5])
    said("Argument `key` must be left out for a map", key=KEY)
    said("Argument `integrator` must be left out for a map", integrator=EulerHeun())
    said("Argument `error_estimate` must be left out for a map", error_estimate=True)
    said("Argument `flow` must hold flows or maps, not both", map=[HENON[0], FunctionFlow(lambda t, x: x)])
    said("which runs on the host", map=OnHost())
    said("Argument `map` must use jax.numpy", map=FunctionMap(lambda k, x: x if x[0] > 0 else -x))


def test_a_run_of_a_map_resumes(tmp_path):
    again = [ensemble(HENON[0], STARTS, [0, 9], state, folder=tmp_path, chunk=2).values for _ in range(2)]
    np.testing.assert_array_equal(*again)
    np.testing.assert_array_equal(again[0], ensemble(HENON[0], STARTS, [0, 9], state).values)


# --- noise ---

DIAGONAL = NoisyFlow(FunctionFlow(lambda t, x: -x + jnp.sin(t)), lambda t, x: 0.3 + 0.1 * x, calculus="ito")
GENERAL = NoisyFlow(
    FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]])), lambda t, x: jnp.outer(x, jnp.array([0.1, 0.2, 0.0])),
    calculus="stratonovich",
)  # fmt: skip
TURN = NoisyFlow(FunctionFlow(lambda t, x: 0 * x, space=Sphere()), 0.5, calculus="stratonovich")
GROWING = NoisyFlow(
    FunctionFlow(lambda t, x: x), lambda t, x: 2.0 * jnp.ones_like(x), calculus="ito", domain=lambda x: jnp.min(x) + 1.0
)
NOISY = {"diagonal": (DIAGONAL, EulerMaruyama(), STARTS), "general": (GENERAL, StochasticHeun(), STARTS),
    "on a sphere": (TURN, EulerHeun(), np.eye(3)), "leaving its domain": (GROWING, EulerMaruyama(), STARTS),
    "single precision": (DIAGONAL, EulerMaruyama(), STARTS.astype(np.float32))}  # fmt: skip


@pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.slow] * (c == "diagonal")) for c in NOISY])
def test_noisy_members_are_what_simulate_gives(case):
    flow, scheme, starts = NOISY[case]
    ts = np.array([0.0, 0.1, 0.4], starts.dtype)
    found = ensemble(flow, starts, ts, state, integrator=scheme, key=KEY)
    assert found.solved == "not in lanes, because noise is drawn in lanes by kernels only"
    close = 1e-5 if starts.dtype == np.float32 else 1e-12
    for k in range(3):
        alone = simulate(flow, starts[k], ts, integrator=scheme, key=jax.random.fold_in(KEY, k), throw=False)
        np.testing.assert_allclose(found.values[k], alone.ys, rtol=close, atol=close)
        assert int(found.stats.outcome[k]) == int(alone.stats.outcome)
        assert int(found.stats.num_steps[k]) == int(alone.stats.num_steps)
        np.testing.assert_allclose(found.stats.last_time[k], alone.stats.last_time, rtol=1e-6)
    part = ensemble(flow, starts, ts, state, integrator=scheme, key=KEY, chunk=2)
    np.testing.assert_allclose(part.values, found.values, rtol=close, atol=close)
    if case == "leaving its domain":
        assert Outcome.LEFT_DOMAIN in found.stats.outcome.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_numbers_are_those_of_jax(dtype):
    shapes = ((), (500, 2))

    def drawn(key):
        words = hashed(jax.random.key_data(key), np.uint32(0), np.uint32(7))
        mine = [normals(hashed(words, np.uint32(0), np.uint32(2)), shape, np.dtype(dtype)) for shape in shapes]
        theirs = jax.random.split(jax.random.fold_in(key, 7), 3)[2]
        return mine, [jax.random.normal(theirs, shape, dtype) for shape in shapes]

    for found, exact in zip(*jax.jit(drawn)(KEY), strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, exact, rtol=1e-6 if dtype == np.float32 else 1e-14)


def test_why_noisy_members_are_not_solved_in_lanes():
    said = lambda scheme, key: scheme.with_key(key).lanes((DIAGONAL,), STARTS, np.array([0.0, 1.0]))
    assert said(EulerMaruyama(path_resolution=0.1), KEY) == "the Brownian path has a resolution"
    assert said(EulerMaruyama(), jax.random.key(0, impl="rbg")).startswith("random keys are of rbg")


# --- kernels ---


@pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)
@pytest.mark.parametrize("case", ["own parameters", "single precision map", *NOISY])
def test_the_kernel_takes_the_steps_of_jax(case, monkeypatch):
    """The text of the kernel, run by the host on a number of threads that is no multiple of the members."""
    flow, scheme, starts = NOISY.get(case, (HENON, None, STARTS))
    starts = starts.astype(np.float32) if case.startswith("single") else starts
    ts = np.array([0.0, 0.1, 0.4], starts.dtype) if scheme else [0, 1, 4, 9]
    given = {"integrator": scheme, "key": KEY} if scheme else {}
    run = lambda: ensemble(flow, starts, ts, state, **given)
    exact = run()
    calls = as_if_kernels(monkeypatch)
    found = run()
    assert calls == [len(starts)]
    assert found.solved == "in lanes, by a kernel"
    close = 1e-4 if starts.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found.values, exact.values, rtol=close, atol=close)
    np.testing.assert_allclose(found.final, exact.final, rtol=close, atol=close)
    np.testing.assert_allclose(found.stats.last_time, exact.stats.last_time, rtol=1e-6)
    np.testing.assert_allclose(found.stats.max_defect, exact.stats.max_defect, atol=close)
    for name in ("outcome", "num_steps"):
        np.testing.assert_array_equal(getattr(found.stats, name), getattr(exact.stats, name))


def test_the_kernel_is_lowered_for_cuda(monkeypatch):
    monkeypatch.setattr(in_lanes, "current", lambda: SimpleNamespace(platform="gpu"))
    monkeypatch.setattr(in_lanes, "kernels_on", lambda: True)
    system, axes = stacked([System(HENON[0])])
    lanes: Any = Iteration().lanes(HENON[:1], STARTS, np.array([0, 3]))
    schedule = Schedule(jnp.array([0, 3]), jnp.array([3]), jnp.asarray(0))
    run = lambda y0s: fixed.march(lanes, system, axes, y0s, schedule, jnp.zeros((0, 5), np.uint32)).saved
    assert "dynsim_fixed_steps_" in jax.jit(run).trace(STARTS).lower(lowering_platforms=("cuda",)).as_text()
    noisy: Any = EulerMaruyama(key=KEY).lanes((DIAGONAL,), STARTS, np.array([0.0, 1.0]))
    assert noisy.programs is not None
    assert not eqx.tree_equal(noisy, lanes)
