"""Derivatives of hybrid runs: a bouncing ball against the closed form, a moving floor against differences, errors."""

from types import SimpleNamespace

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import saltation
from analysis.dynamics.saltation import _at_once, final_state, fundamental_matrix, saltation_matrix
from dynsim.integrators import Diffrax, Event, Scipy
from dynsim.integrators.base import Stats
from dynsim.simulation.hybrid import HybridRecipe, Transition, simulate_hybrid, unchanged
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.parameters import parameter

pytestmark = pytest.mark.retraced

TIGHT = Diffrax(rtol=1e-11, atol=1e-13)


class Spring(AbstractFlow):
    """An oscillator under gravity, x'' = - stiffness x - damping x' - gravity."""

    stiffness: object = parameter("stiffness", 0.0)
    damping: object = parameter("damping", 0.0)
    gravity: object = parameter("gravity", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        return jnp.stack([x[1], -self.stiffness * x[0] - self.damping * x[1] - self.gravity])


BALL, WAVE, DAMPED, FREE = Spring(gravity=1.0), Spring(stiffness=1.0), Spring(stiffness=1.0, damping=0.5), Spring()
END = 3.2


class Floor(eqx.Module):
    """The height above a floor that may move."""

    level: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)
    swing: jax.Array = eqx.field(converter=jnp.asarray, default=0.0)

    def __call__(self, t, x):
        return x[0] - self.level - self.swing * jnp.sin(t)


GROUND = Event(Floor())


class Bounce(eqx.Module):
    """A reset that turns the velocity and keeps a share of it."""

    share: jax.Array

    def __call__(self, flow, t, x):
        return flow, jnp.stack([x[0], -self.share * x[1]])


def bounces(share):
    return [Transition("bounce", GROUND, Bounce(jnp.asarray(share)))]


def state_after(h, e, count):
    """Return height and velocity of a ball, from h at rest under gravity 1, at END after bounces with the share e."""
    fall = jnp.sqrt(2 * h)
    late = END - fall * (1 + 2 * sum(e**k for k in range(1, count)))
    return jnp.stack([e**count * fall * late - late**2 / 2, e**count * fall - late])


@pytest.mark.slow
def test_a_ball_has_the_derivatives_of_the_closed_form_by_height_and_restitution():
    """Two bounces, at 1 and 2.4."""
    given = jnp.asarray(0.5), jnp.asarray(0.7)
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, END], bounces(0.7), integrator=TIGHT)
    assert len(run.jumps) == 2
    value, back = jax.vjp(lambda h, e: final_state(run, BALL, jnp.stack([h, jnp.zeros(())]), bounces(e)), *given)
    np.testing.assert_allclose(value, run.final, atol=1e-9)
    exact = jax.jacfwd(state_after, argnums=(0, 1))(*given, 2)
    np.testing.assert_allclose(jax.vmap(back)(jnp.eye(2)), exact, rtol=1e-8)


def fallen(flow, own, x, begin, end, rtol):
    """Where a ball is after a phase."""
    del own, rtol
    late = end - begin
    return jnp.stack([x[0] + x[1] * late - flow.gravity * late**2 / 2, x[1] - flow.gravity * late])


def written(rules, times, before, after, ending=Ending.FINISHED):
    """A run of a ball from the height 1/2 that is written by hand, with its transitions."""
    stats = Stats(True, 0, 1, 0, 0.0, 0.0)
    phases = [Trajectory(np.array([0.0, 1.0]), jnp.zeros((2, 2)), BALL, stats)] * (len(times) + 1)
    jumps = [
        Jump(0, "bounce", *one) for one in zip(times, map(jnp.asarray, before), map(jnp.asarray, after), strict=True)
    ]
    recipe = HybridRecipe(BALL, jnp.asarray([0.5, 0.0]), np.array([0.0, END]), rules, 0.0, 10, TIGHT)
    return HybridTrajectory(tuple(phases), tuple(jumps), ending, recipe)


def test_derivatives_of_a_run_that_is_written_by_hand_are_those_of_the_closed_form(monkeypatch):
    monkeypatch.setattr(saltation, "_moved", fallen)
    run = written(bounces(0.7), (1.0, 2.4), ([0.0, -1.0], [0.0, -0.7]), ([0.0, 0.7], [0.0, 0.49]))
    given = jnp.asarray(0.5), jnp.asarray(0.7)
    ends = lambda h, e: final_state(run, BALL, jnp.stack([h, jnp.zeros(())]), bounces(e))
    both = lambda function: (function(*given), jax.jacrev(function, (0, 1))(*given))
    found, expected = jax.jit(lambda: (both(ends), both(lambda h, e: state_after(h, e, 2))))()
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), found, expected)
    heavier = lambda flow, t, x: (Spring(gravity=2.0), jnp.stack([x[0], -0.7 * x[1] + 0 * t]))
    run = written([Transition("bounce", GROUND, heavier)], (1.0,), ([0.0, -1.0],), ([0.0, 0.7],))
    late = END - 1.0  # d/dh of 0.7 s l - l^2 and 0.7 s - 2 l, where s = sqrt(2 h) and l = END - s
    expected = [0.7 * (late - 1.0) + 2 * late, 0.7 + 2.0]
    np.testing.assert_allclose(fundamental_matrix(run)[:, 0], expected, rtol=1e-13)


def test_a_run_that_ends_on_a_guard_stays_on_it(monkeypatch):
    """The ball reaches the ground with the velocity - sqrt(2 h), and the derivative of its height there is 0."""
    monkeypatch.setattr(saltation, "_moved", fallen)
    stop = [Transition("stop", GROUND, lambda flow, t, x: (flow, x), terminal=True)]
    run = written(stop, (1.0,), ([0.0, -1.0],), ([0.0, -1.0],), Ending.TERMINAL)
    np.testing.assert_allclose(fundamental_matrix(run), [[0.0, 0.0], [-1.0, 0.0]], atol=1e-14)


def test_the_saltation_matrix_of_a_bounce_is_that_of_textbooks():
    """For the velocity v < 0 and gravity 1: -e on the diagonal, and -(1 + e) / v below it."""
    (bounce,) = bounces(0.7)
    found = saltation_matrix(BALL, bounce, 1.0, jnp.asarray([0.0, -2.0]))
    np.testing.assert_allclose(found, [[-0.7, 0.0], [1.7 / 2.0, -0.7]], atol=1e-14)


def _onto_damped(flow, t, x):
    del flow
    return DAMPED, jnp.stack([x[0] + 0.05 * x[1] ** 2, -0.8 * x[1] + 0.3 * jnp.cos(t)])


@pytest.mark.slow
def test_a_moving_floor_and_another_flow_after_it_agree_with_differences():
    rules = [Transition("floor", Event(Floor(0.0, 0.1)), _onto_damped)]
    ends = lambda x: simulate_hybrid(WAVE, x, [0.0, 3.0], rules, integrator=TIGHT)
    start, step = np.array([0.5, 0.2]), 1e-4
    run = ends(start)
    assert len(run.jumps) == 1
    assert bool(run.phases[1].system.damping)
    columns = [(np.asarray(ends(start + d).final) - np.asarray(ends(start - d).final)) / (2 * step)
               for d in step * np.eye(2)]  # fmt: skip
    np.testing.assert_allclose(fundamental_matrix(run), np.stack(columns, axis=1), atol=2e-8)  # of order step^2


def test_the_saltation_matrix_onto_another_flow_is_the_formula():
    rule, t, x = Transition("floor", Event(Floor(0.0, 0.1)), _onto_damped), 0.4, jnp.asarray([0.1 * np.sin(0.4), -2.0])
    reset = lambda s, y: _onto_damped(WAVE, s, y)[1]
    slope, moved = jax.jacfwd(reset, argnums=1)(t, x), jax.jacfwd(reset)(t, x)
    before, after = WAVE.velocity(t, x), DAMPED.velocity(t, reset(t, x))
    rate = before[0] - 0.1 * np.cos(t)
    expected = slope + np.outer(after - slope @ before - moved, [1.0, 0.0]) / rate
    np.testing.assert_allclose(saltation_matrix(WAVE, rule, t, x), expected, atol=1e-13)


@pytest.mark.slow
def test_a_condition_that_holds_after_the_dwell_time_moves_with_the_transition_before():
    """At the speed v = 1: halved at (1 - x_0) / v, and at 1.2 after the dwell time.

    x(T) = (0.5 + 0.7 v) / 2 + v (T - (1 - x_0) / v - 0.7).
    """
    half = Transition("half", Event(Floor(1.0)), lambda flow, t, x: (flow, x * jnp.array([0.5, 1.0])), immediate=True)
    run = simulate_hybrid(FREE, [0.2, 1.0], [0.0, 1.7], [half], dwell=0.7, integrator=TIGHT)
    assert [jump.time for jump in run.jumps] == pytest.approx([0.8, 1.5])
    np.testing.assert_allclose(fundamental_matrix(run), [[1.0, 0.35 + 1.7 - 0.7], [0.0, 1.0]], atol=1e-9)


def test_a_transition_at_once_is_at_the_start_of_a_run_or_after_the_dwell_time():
    held, met = (Transition("one", GROUND, unchanged, immediate=known) for known in (True, False))
    recipe = HybridRecipe(FREE, jnp.zeros(2), np.array([0.0, 9.0]), [held, met], 0.75, 10, TIGHT)
    for begin, time, first, found in (
        (0.0, 0.0, True, True), (0.0, 0.75, True, False), (2.0, 2.75, False, True), (2.0, 2.0, False, False),
        (2.0, 2.8, False, False),
    ):  # fmt: skip
        assert _at_once(held, recipe, begin, time, first=first) == found
        assert not _at_once(met, recipe, begin, time, first=first)


@pytest.mark.slow
def test_a_run_that_a_transition_ends_has_the_derivative_on_the_guard():
    """The ball reaches the ground with the velocity - sqrt(2 h)."""
    stop = [Transition("stop", GROUND, lambda flow, t, x: (flow, x), terminal=True)]
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, END], stop, integrator=TIGHT)
    np.testing.assert_allclose(fundamental_matrix(run)[:, 0], [0.0, -1.0], atol=1e-8)


@pytest.mark.slow
def test_bad_runs_are_refused_in_one_sentence():
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, END], bounces(0.7), integrator=TIGHT)
    with pytest.raises(ValueError, match="Argument `run` must be a run of `simulate_hybrid` or `crossings`"):
        fundamental_matrix(HybridTrajectory(run.phases, run.jumps, run.ending))
    with pytest.raises(ValueError, match="Argument `transition` must cross its guards transversally, but touches"):
        saltation_matrix(BALL, bounces(0.7)[0], 0.0, jnp.zeros(2))
    with pytest.raises(ValueError, match="Argument `transition` must be a `Transition`"):
        saltation_matrix(BALL, GROUND, 0.0, jnp.zeros(2))
    end = lambda x: final_state(run, BALL, x, bounces(0.7))[0]
    for derivative in (jax.jacfwd(end), jax.hessian(end), jax.jacrev(jax.grad(end))):
        with pytest.raises(ValueError, match=r"`run` must be differentiated once, in reverse mode \(`jax.grad`"):
            jax.eval_shape(derivative, jnp.array([0.5, 0.0]))
    late = simulate_hybrid(
        FREE, [0.0, 1.0], [0.0, 1.0], [Transition("one", Event(Floor(1.0)), unchanged)], integrator=TIGHT
    )
    with pytest.raises(ValueError, match="Argument `run` must end between two transitions, but has one at its last"):
        fundamental_matrix(late)


@pytest.mark.slow
def test_a_solver_that_fails_gives_nan():
    run = simulate_hybrid(BALL, [0.5, 0.0], [0.0, 2.4], bounces(0.5), integrator=TIGHT)
    assert np.all(np.isnan(final_state(run, BALL, jnp.asarray([0.5, 0.0]), bounces(0.5), rtol=1e-30)))


def test_phases_are_solved_with_the_breakpoints_and_the_step_limit_of_their_flow(monkeypatch):
    seen = []

    def solved(field, begin, end, y0, **options):
        seen.append({name: None if value is None else jnp.shape(value) for name, value in options.items()})
        return SimpleNamespace(result=dfx.RESULTS.successful, ys=y0[None] + end)

    monkeypatch.setattr(saltation, "solve_within", solved)
    flow = FunctionFlow(lambda t, x: -x, breaks=(0.3, 0.4, 2.0), fastest_period=0.2)
    x = jnp.ones(1)
    assert saltation._moved(flow, flow, x, 0.0, 1.0, jnp.asarray(1e-9)).tolist() == [2.0]
    saltation._moved(flow, FunctionFlow(lambda t, x: -x), x, 0.0, 1.0, jnp.asarray(1e-9))
    expected = {"rtol": (), "longest": (), "jumps": (2,), "reverse": ()}
    assert seen == [expected, expected | {"longest": None, "jumps": (0,)}]


@pytest.mark.slow
def test_the_time_of_a_transition_that_a_reset_causes_is_that_of_the_reset():
    """The first clock rings at 1 and sets the second beyond its alarm, which halves a third clock."""
    clock = FunctionFlow(lambda t, x: jnp.stack([1 + 0 * x[0], x[0], x[2]]))
    first = Transition(
        "first", Event(lambda t, x: x[0] - 1, 1), lambda flow, t, x: (flow, x.at[0].set(-9).at[1].add(2))
    )
    second = Transition("second", Event(lambda t, x: x[1] - 1, 1), lambda flow, t, x: (flow, x.at[2].multiply(x[1])))
    end = lambda x: simulate_hybrid(clock, x, [0.0, 1.5], [first, second], integrator=Scipy())
    start = np.array([0.2, -0.5, 1.0])
    run = end(start)
    assert [jump.by_reset for jump in run.jumps] == [False, True]
    moved = [(np.asarray(end(start + h).final) - np.asarray(end(start - h).final)) / 2e-5 for h in 1e-5 * np.eye(3)]
    np.testing.assert_allclose(fundamental_matrix(run), np.transpose(moved), atol=1e-6)
