"""Answers of commands, which compile little, are those of compiled programs and of closed forms."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from analysis.dynamics.equilibria.least_squares import least_squares
from analysis.dynamics.equilibria.newton import equilibria
from analysis.dynamics.flow_maps.numpy_solver import _first_steps, follow, sampled
from analysis.dynamics.flow_maps.python_solver import StuckError, advanced, steps
from analysis.dynamics.flow_maps.rolled_solver import followed_path
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.poincare import poincare_section
from analysis.dynamics.portraits.plane import phase_plane
from analysis.dynamics.scaling.flat import chord_distances
from dynsim.errors import IntegrationError
from dynsim.integrators.dop853 import EXTENDED, STAGES, A, C
from dynsim.programs import Programmed, compiles_little, without_compiling
from dynsim.programs.programmed import NumbersFunction
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.catalogue.oscillators import DoubleWell, VanDerPol

pytestmark = pytest.mark.retraced

PLANES = ("van-der-pol", "fitzhugh-nagumo", "duffing", "lotka-volterra")


def both(compute):
    """Return what a function computes by compiled programs, and in the context of commands."""
    compiled = compute()
    with without_compiling():
        return compiled, compute()


@pytest.mark.parametrize("name", [n if n == "van-der-pol" else pytest.param(n, marks=pytest.mark.slow) for n in PLANES])
def test_a_portrait_shows_the_same(name):
    entry = CATALOGUE[name]
    one, other = both(lambda: phase_plane(entry.system(), entry.box, trajectories=4, grid=21))
    assert repr(one) == repr(other)
    assert np.allclose(one.velocity, other.velocity, rtol=1e-13, atol=1e-13)
    size = np.ptp(np.reshape(entry.box, (-1, 2)), axis=1)
    for part in ("stable_curves", "unstable_curves", "trajectories"):
        pairs = list(zip(getattr(one, part), getattr(other, part), strict=True))
        for curve, its in [
            *pairs,
            *(pair[::-1] for pair in pairs),
        ]:  # times on closed orbits may differ
            points, chords = (a[~np.isnan(a).any(axis=1)] / size for a in (curve, its))
            assert max((np.min(chord_distances(chords, at)[0]) for at in points), default=0.0) < 1e-3
    assert len(one.cycles) == len(other.cycles)


def test_a_portrait_of_a_new_function_compiles_a_few_small_programs():
    seconds = []
    heard = lambda name, duration, **kw: (
        seconds.append(name) if name.endswith("jaxpr_to_mlir_module_duration") else None
    )
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], 0.71 * (1 - x[0] ** 2) * x[1] - x[0]]))
    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        with without_compiling():
            phase_plane(flow, (-3.0, 3.0, -3.0, 3.0), grid=17)
        few = len(seconds)
        phase_plane(flow, (-3.0, 3.0, -3.0, 3.0), grid=17)
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)
    assert few <= 6
    assert len(seconds) - few >= 4  # those of diffrax and optimistix, without the small ones, which are known by now


@pytest.mark.slow
def test_orbits_exponents_and_sections_are_the_same():
    flow, start = VanDerPol(), jnp.asarray([2.0, 0.1])
    orbit, again = both(lambda: periodic_orbit(flow, start, 6.6))
    assert again.period == pytest.approx(orbit.period, abs=1e-8)
    assert np.allclose(again.multipliers, orbit.multipliers, rtol=1e-6)
    exponents, quick = both(lambda: lyapunov_spectrum(flow, start, 100.0))
    assert np.allclose(exponents.exponents, quick.exponents, atol=1e-6)
    section, found = both(lambda: poincare_section(flow, start, lambda t, x: x[0], 5, transient=3.0))
    assert np.allclose(section.times, found.times, atol=1e-7)
    assert np.allclose(section.states, found.states, atol=1e-7)
    assert np.array_equal(section.directions, found.directions)


def test_equilibria_are_the_same():
    starts = np.linspace(-2.0, 2.0, 9)[:, None]
    one, other = both(lambda: equilibria(DoubleWell(), starts))
    assert [e.kind for e in one] == [e.kind for e in other]
    assert [e.times_found for e in one] == [e.times_found for e in other]
    assert np.allclose([e.state for e in one], [e.state for e in other], atol=1e-12)


def test_the_method_has_its_order_and_consistent_stages():
    assert np.allclose(A.sum(axis=1), C, atol=1e-13)
    assert np.all(np.triu(A) == 0)
    weights = A[STAGES, :STAGES]
    for order in range(1, 9):
        assert weights @ C[:STAGES] ** (order - 1) == pytest.approx(1 / order, abs=1e-13)
    assert len(A) == EXTENDED


def test_many_trajectories_have_steps_of_their_own_and_end_where_they_explode():
    """The solutions of x' = x^2 are x / (1 - x t)."""
    starts, begins = np.array([[1.0], [-1.0], [0.2]]), np.array([0.0, 1.0, 2.0])
    field = lambda which, t, y: y**2
    found = follow(field, starts, begins, np.full(3, 2.0), rtol=1e-10, atol=1e-12, keep=True)
    assert found.succeeded.tolist() == [False, True, True]
    assert np.allclose(found.ends[1:], starts[1:] / (1 - 2 * starts[1:]), rtol=1e-9)
    assert found.counts.tolist() == np.bincount(found.steps.member).tolist()
    assert len(set(found.counts.tolist())) == 3
    ts = np.linspace(0.0, 2.0, 41)
    states = sampled(field, found, starts, begins, ts)[..., 0]
    before = ts < 0.9
    assert np.allclose(states[0, before], 1 / (1 - ts[before]), rtol=1e-7)
    assert np.all(np.isnan(states[0, ts > 1.01]))
    assert np.allclose(states[1:], starts[1:] / (1 - starts[1:] * ts), rtol=1e-8)


def test_first_steps_are_those_of_scipy_for_each_member():
    """Fields that are slow, fast, zero, tiny, and so steep that the remaining time or the change decides."""
    rates, starts = (
        np.array([1.0, -400.0, 0.0, 1e-9, 30.0]),
        np.array([[1.0, 2.0, 3.0, 0.5, 1e-7], [0.3, 1e3, 0, 1, 0]]),
    )
    left, which = np.array([2.0, 2.0, 3.0, 4.0, 0.01]), np.arange(5)
    field = lambda which, t, y: rates[which] * np.stack([y[1] + np.sin(t), y[0] ** 2])
    found = _first_steps(field, which, np.zeros(5), starts, field(which, np.zeros(5), starts), left, 1e-6, 1e-9)
    for k in which:
        one = lambda t, y, k=k: field(k, t, y)
        expected = scipy.integrate.DOP853(one, 0.0, starts[:, k], left[k], rtol=1e-6, atol=1e-9).h_abs
        assert found[k] == pytest.approx(expected, rel=1e-9)


def test_a_step_evaluates_the_stages_that_are_used():
    """The last stage of a step is the first of the next one; three more serve the dense output alone."""
    for options, each in (({}, STAGES), ({"dense": True}, EXTENDED - 1)):
        calls = []
        field = NumbersFunction(lambda entries, calls=calls: calls.append(1) or [entries[1]], [], None, 1)
        with without_compiling():
            taken = list(steps(field, 0.0, 0.1, np.ones(1), 0.01, rtol=1e-3, atol=1e-3, **options))
        assert len(calls) == 1 + each * len(taken)


def test_a_path_is_its_polynomials_over_several_calls(monkeypatch):
    monkeypatch.setattr("analysis.dynamics.flow_maps.rolled_solver.ROOM", 16)
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]) + 0 * t)
    path = followed_path(flow, jnp.asarray([1.0, 0.0]), 0.0, 60.0, rtol=1e-10, atol=1e-12, longest=0.7)
    ts = np.linspace(0.0, 60.0, 777)
    assert np.allclose(path.states_at(ts), np.stack([np.cos(ts), -np.sin(ts)], axis=1), atol=1e-8)
    assert np.all(path.lengths <= 0.7)
    assert np.all(np.diff(path.begins) > 0)
    with without_compiling():
        quick = followed_path(flow, jnp.asarray([1.0, 0.0]), 0.0, 60.0, rtol=1e-10, atol=1e-12, longest=0.7)
    assert np.allclose(quick.begins, path.begins, atol=1e-7)
    assert np.allclose(quick.states_at(ts), path.states_at(ts), atol=1e-11)
    with pytest.raises(IntegrationError, match=r"cannot go on at t = 1\b"):
        followed_path(FunctionFlow(lambda t, x: x**2), jnp.ones(1), 0.0, 2.0, rtol=1e-8, atol=1e-10)


def test_python_takes_steps_until_they_are_too_many_or_rejected(monkeypatch):
    """The solution of x' = x^2 from 1 is 1 / (1 - t)."""
    square = Programmed(lambda t, x: x**2)
    options = {"rtol": 1e-10, "atol": 1e-12}
    with without_compiling():
        field = square.numbers((), np.zeros(()), np.zeros(1))
        assert advanced(field, 0.0, 0.9, np.ones(1), 0.01, **options) == pytest.approx(10.0, rel=1e-8)
        with pytest.raises(StuckError) as stuck:
            advanced(field, 0.0, 2.0, np.ones(1), 0.01, **options)
        assert stuck.value.rejected
        assert stuck.value.t == pytest.approx(1.0)
        inverse = Programmed(lambda x: 1 / x + jnp.exp(x)).numbers((), np.zeros(()))
        assert inverse([0.0]) == inverse([1000.0]) == [math.inf]  # where Python's own numbers raise errors
    monkeypatch.setattr("dynsim.programs.programmed.PATIENCE", 20_000)
    with without_compiling():
        with pytest.raises(StuckError) as stuck:
            advanced(field, 0.0, 0.9, np.ones(1), 0.01, **options)
        assert not stuck.value.rejected
    assert square.numbers((), np.zeros(()), np.zeros(1)) is None  # outside of the context


def test_least_squares_find_minima_also_where_residuals_do_not_vanish_or_are_not_finite():
    def residuals(y):
        r = np.stack([y[:, 0] ** 2 - 1, y[:, 0] - 1 + 0 * y[:, 0], np.full(len(y), 0.5)], axis=1)
        J = np.stack([2 * y[:, :1], np.ones_like(y), np.zeros_like(y)], axis=1)
        r[y[:, 0] > 50] = np.nan
        return r, J

    found = least_squares(residuals, np.array([[3.0], [0.7], [100.0]]))
    assert np.allclose(found[:2], 1.0, atol=1e-9)
    assert found[2] == 100.0


def test_a_function_is_evaluated_by_numpy_only_in_the_context_and_only_if_it_is_short():
    double = Programmed(lambda system, x: system["a"] * x)
    system = {"a": np.asarray(2.0), "name": "any"}
    assert double.at(system, np.ones(2)) is None
    assert not compiles_little()
    with without_compiling():
        assert np.array_equal(double.at(system, np.ones(2))(), [2.0, 2.0])
        assert np.array_equal(double.at({**system, "a": np.asarray(3.0)}, np.ones(2))(), [3.0, 3.0])
        assert np.array_equal(double.rows((system,), np.zeros(2))(np.ones((4, 2))), np.full((4, 2), 2.0))
        long = Programmed(lambda x: jax.lax.fori_loop(0, 5000, lambda k, y: jnp.sin(y), x))
        assert long.at(np.ones(2)) is None
        with pytest.raises(ZeroDivisionError), without_compiling():
            math.fmod(1.0, 1 / 0)
        assert compiles_little()
    assert not compiles_little()
