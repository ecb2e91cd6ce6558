"""Ensembles with events: each member ends at its own, in lanes, by the kernel's text, and with the other solvers."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Event, Scipy, Symplectic
from dynsim.integrators.lanes.brackets import Bracket, narrowed, sampled
from dynsim.simulation.ensemble import ensemble
from dynsim.systems.base import FunctionFlow
from tests.support.as_if_kernels import as_if_kernels
from tests.support.cuda_on_host import COMPILER, WHY_NOT

BEGIN = -9.0  # all times are negative: nothing may rely on a time of zero
TS = np.array([0.0, 0.5, 1.0, 2.5, 4.0])  # from there
EVENTS = (
    Event(lambda t, x: x[0], direction=-1),
    Event(lambda t, x: x[0] * (x[1] - 0.6)),
    Event(lambda t, x: jnp.sqrt(x[0] + 5) + 1),  # never zero, and no number far to the left
)


def rotation(t, x, w):
    return w * jnp.stack([x[1], -x[0]])


def decay(t, x, r):
    return -r * x


def first(t, x):
    return x[0]


def turning(rate):
    """A flow that turns clockwise."""
    return FunctionFlow(rotation, parameters={"w": rate})


def turned(start, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]]) @ start


# start, rate, first event, its time
MEMBERS = [
    ([1.0, 0.0], 1.0, 0, np.pi / 2),  # both events at one time
    ([0.0, 2.0], 0.5, 1, 2 * np.arccos(0.3)),  # starts on both
    ([0.1, 0.1], 1.0, 0, 0.75 * np.pi),
    ([0.0, -1.0], 2.0, 1, 0.5 * (np.pi - np.arccos(0.6))),  # starts on the first and leaves to the other side
    ([2.0, 0.0], 0.4 * np.pi, 0, 1.25),
    ([1.0, 0.0], 0.1, -1, 4.0),  # meets none
    ([1.0, 0.0], np.pi / 8, 0, 4.0),  # meets them at the last time
    ([0.0, -6.0], 1.0, 2, np.arcsin(5 / 6)),  # fails on the way
    ([-6.0, 0.0], 1.0, 2, 0.0),  # fails at the start
]
STARTS, RATES, FIRST, TIMES = map(np.array, zip(*MEMBERS, strict=True))
FLOWS = [turning(rate) for rate in RATES]
state = lambda t, x: x


def runs(members=slice(None), **options):
    return ensemble(FLOWS[members], STARTS[members], BEGIN + TS, state, events=EVENTS, **options)


def check(found):
    np.testing.assert_array_equal(found.stats.event, np.where(FIRST < 2, FIRST, -1))
    np.testing.assert_allclose(found.stats.last_time - BEGIN, TIMES, atol=1e-8)
    assert [Outcome(k) for k in found.stats.outcome.tolist()] == [Outcome.FINISHED] * 7 + [Outcome.NON_FINITE] * 2
    values, final = np.asarray(found.values), np.asarray(found.final)
    assert np.isnan(final[7:]).all()
    for k, (_, rate, _, time) in enumerate(MEMBERS):
        inside, after = time - TS > 1e-6, TS - time > 1e-6
        wanted = np.reshape([turned(STARTS[k], rate * t) for t in TS[inside]], (-1, 2))
        np.testing.assert_allclose(values[k][inside], wanted, atol=1e-8)
        assert np.isnan(values[k][after]).all()
        if k < 7:
            np.testing.assert_allclose(final[k], turned(STARTS[k], rate * time), atol=1e-8)


@pytest.fixture(scope="module")
def whole():
    return runs(chunk=5)


def test_each_member_ends_at_its_first_event(whole):
    """A start on an event does not count; a member whose event is no number fails."""
    assert whole.solved == "in lanes, in JAX"
    check(whole)


def test_events_do_not_depend_on_the_company(whole):
    part = runs(slice(2, 7))
    same = lambda a, b: np.testing.assert_array_equal(a, b[2:7])
    jax.tree.map(same, (part.stats, part.final, part.values), (whole.stats, whole.final, whole.values))


@pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)
def test_the_kernel_ends_members_at_the_same_events(whole, monkeypatch):
    calls = as_if_kernels(monkeypatch)
    found = runs()
    assert (found.solved, calls) == ("in lanes, by a kernel", [9])
    check(found)
    np.testing.assert_allclose(found.stats.last_time, whole.stats.last_time, rtol=1e-13)


@pytest.mark.slow  # compiles two more solvers
@pytest.mark.parametrize("solver", [Diffrax(dfx.Kvaerno3()), Scipy()], ids=["implicit", "SciPy"])
@pytest.mark.filterwarnings("ignore:Member:RuntimeWarning")
def test_members_end_at_events_without_lanes(solver):
    found = ensemble(turning(1.0), STARTS[[0, 7]], TS, state, events=EVENTS, integrator=solver)
    assert found.solved.startswith("not in lanes, because ")
    np.testing.assert_array_equal(found.stats.event, [0, -1])
    assert found.stats.succeeded.tolist() == [True, False]
    np.testing.assert_allclose(found.stats.last_time[0], np.pi / 2, atol=1e-7)
    np.testing.assert_allclose(found.final[0], [0, -1], atol=1e-7)
    np.testing.assert_array_equal(np.isnan(found.values[0, :, 0]), TS - np.pi / 2 > 0)


def test_members_of_many_components_end_at_events_of_their_own():
    """Decays x' = -r x of more components than lanes have room for, up to where the first one is 1."""
    flows = [FunctionFlow(decay, parameters={"r": r}) for r in (1.0, 0.5, 2.0)]
    starts = np.array([2.0, 1.5, 0.5])[:, None] * np.linspace(1.0, 2.0, 40)
    found = ensemble(flows, starts, TS, first, events=(Event(lambda t, x: x[0] - 1),), integrator=Diffrax(rtol=1e-7))
    assert found.solved == "not in lanes, because a state has 40 entries, more than 20"
    times = np.array([np.log(2.0), 2 * np.log(1.5), 4.0])
    np.testing.assert_array_equal(found.stats.event, [0, 0, -1])
    np.testing.assert_array_equal(found.stats.succeeded, [True] * 3)
    np.testing.assert_allclose(found.stats.last_time, times, atol=1e-6)
    np.testing.assert_allclose(found.final[:, -1], [2.0, 2.0, np.exp(-8.0)], atol=1e-6)
    wanted = starts[:, :1] * np.exp(-np.outer([1.0, 0.5, 2.0], TS))
    np.testing.assert_allclose(found.values, np.where(times[:, None] >= TS, wanted, np.nan), atol=1e-6)


def test_events_that_do_not_fit_are_refused():
    tried = lambda events, **options: ensemble(FLOWS[0], STARTS, TS, state, events=events, **options)
    with pytest.raises(ValueError, match="`events` must return real numbers"):
        tried((Event(lambda t, x: x[0] > 1),))
    with pytest.raises(ValueError, match="`integrator` must be able to locate events, but is Symplectic"):
        tried(EVENTS, integrator=Symplectic(0.1))


def test_samples_one_by_one_find_what_samples_together_find():
    """Beside the search for one member, with values that are often zero or not a number."""
    rng, directions = np.random.default_rng(0), (1, 0, -1)
    events = [Event(state, direction=k) for k in directions]
    ts = np.arange(1.0, 6.0)
    values = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0, np.nan], (100, 5, 3), p=[0.25, 0.25, 0.1, 0.19, 0.2, 0.01])
    sides, quiet = rng.choice([-1.0, 0.0, 1.0], (100, 3)), rng.choice([0.0, 2.0], (100, 3))

    @jax.vmap
    def searched(sides, quiet, values):
        start = Bracket(*map(jnp.asarray, (0.0, 5.0, sides, np.int32(-1), 0.0, quiet)))
        return jax.lax.scan(lambda b, seen: (sampled(b, directions, *seen), None), start, (jnp.asarray(ts), values))[0]

    for k, found in enumerate(zip(*jax.jit(searched)(sides, quiet, values), strict=True)):
        whole = narrowed(events, Bracket(0.0, 5.0, sides[k], np.asarray(-1), np.asarray(0.0), quiet[k]), ts, values[k])
        jax.tree.map(np.testing.assert_array_equal, Bracket(*found), whole)
