"""Sliding on surfaces on which a field jumps: trajectories, states at rest, attractors, portraits, and refusals."""

import re
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.linalg import expm
from scipy.optimize import brentq

from analysis.dynamics import lyapunov
from analysis.dynamics.attractors.search import find_attractors
from analysis.dynamics.continuation.orbits import continue_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.equilibria.search import find_equilibria
from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.equilibria.sliding import _segment, on_surface, pseudo_equilibria, rest_in_corner, surface_points
from analysis.dynamics.flow_maps import unit_speed
from analysis.dynamics.flow_maps.unit_speed import POINTS, curves
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.periodic_orbits.limit_cycles import limit_cycles
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.poincare import _is_quick, poincare_section
from analysis.dynamics.portraits.plane import KEPT, _switched, beside_poles, phase_plane
from dynsim.errors import IntegrationError, Outcome
from dynsim.integrators import Diffrax, Event, Scipy, sliding, switched_solver
from dynsim.integrators.base import Stats
from dynsim.integrators.corners import Corner, _along, _left_on, corner_at, corner_motion, through_corners
from dynsim.integrators.switched_field import jumps_left_out, switched_field
from dynsim.keys import random_key
from dynsim.programs import without_compiling
from dynsim.simulation.dense import dense_output
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.simulation.sliding_members import member_that_slides
from dynsim.spaces import AbstractSpace, Euclidean, Sphere
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.parameter import Parameter
from tests.support.annotations import unchecked

pytestmark = pytest.mark.retraced

FRICTION = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 0.5 * jnp.sign(x[1])]))
SLIDES = FunctionFlow(lambda t, x: jnp.stack([-0.3 * x[0] - 0.2 * jnp.sign(x[1]), 0.5 - jnp.sign(x[1])]))
BOTH = FunctionFlow(lambda t, x: -jnp.sign(x) * jnp.array([1.0, 2.0]))
BELT = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] + jnp.sign(0.2 - x[1]) / (1 + 3 * jnp.abs(0.2 - x[1]))]))
FEW = Diffrax(max_steps=2000)
KEY = random_key(0, "starts")


def test_dry_friction_takes_two_halves_off_the_amplitude_each_half_period_and_stops():
    at_rest = np.array([3.2, -2.2, 1.2, -0.2, -0.2, -0.2])
    for integrator in (FEW, Scipy(max_steps=10**9)):
        path = simulate(FRICTION, [3.2, 0.0], np.pi * np.arange(6), integrator=integrator)
        np.testing.assert_allclose(path.ys[:, 0], at_rest, atol=1e-8)
        np.testing.assert_allclose(path.ys[:, 1], 0.0, atol=1e-8)
        assert bool(path.stats.succeeded)
    between = dense_output(path)(np.array([3.5 * np.pi, 0.0, np.pi / 2, np.pi]))  # amplitudes about -0.5 and 0.5
    np.testing.assert_allclose(between[:, 0], [-0.2, 3.2, 0.5, -2.2], atol=1e-7)
    np.testing.assert_allclose(between[:, 1], [0.0, 0.0, -2.7, 0.0], atol=1e-7)
    many = dense_output(path)(np.pi / 16 * np.arange(81))  # more than one window
    np.testing.assert_allclose(many[::16, 0], at_rest, atol=1e-7)


def test_many_steps_without_sliding_are_taken_once_more(monkeypatch):
    monkeypatch.setattr("dynsim.simulation.simulate.CHATTERS", 20)
    path = simulate(FRICTION, [3.2, 0.0], np.pi * np.arange(3) / 4, integrator=Scipy(longest_step=0.05))
    assert int(path.stats.num_steps) >= 30
    np.testing.assert_allclose(path.ys[-1], [0.5, -2.7], atol=1e-6)


def test_sections_of_commands_slide_too():
    with without_compiling():
        assert _is_quick(FunctionFlow(lambda t, x: -x), jnp.zeros(2), 1.0, Diffrax())
        assert not _is_quick(FRICTION, jnp.zeros(2), 1.0, Diffrax())


def test_a_jump_of_the_field_is_seen_by_curves(monkeypatch):
    monkeypatch.setattr(unit_speed, "_sliding", lambda *_: np.full((1, 2, 2), 7.0))
    relay = FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.sign(x[0])]))
    found = unit_speed.followed(relay, np.ones((1, 2)), np.array([0.0, 1.0]), signs=[1.0], rtol=1e-6, atol=1e-9)
    assert np.all(found == 7.0)


@pytest.mark.slow
def test_curves_slide_and_end_at_rest():
    starts = np.array([[0.3, 0.2], [2.0, 0.0], [2.0, 0.0]])
    stick, before, slip = curves(FRICTION, starts, 8.0, signs=[1.0, -1.0, 1.0])
    assert np.min(before[:, 0]) == pytest.approx(-3.0, abs=1e-3)  # half a turn about -0.5
    np.testing.assert_allclose(stick[-1], [np.sqrt(0.8**2 + 0.2**2) - 0.5, 0.0], atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(np.diff(slip[:100], axis=0), axis=1), 8.0 / (POINTS - 1), rtol=1e-3)
    assert np.min(slip[:, 0]) == pytest.approx(-1.0, abs=1e-3)  # half a turn about 0.5


def test_a_state_rests_where_two_surfaces_meet_by_the_bilinear_combination_of_four_fields():
    """The signs are 0.4 and 0.45 in the mean, so that z' = 0.18 - z there."""

    def field(t, x):
        s, r = jnp.sign(x[:2])
        return jnp.stack([0.4 - s, 0.5 + s - 2 * r, s * r - x[2]])

    switched = switched_field(FunctionFlow(field), np.zeros(3))
    rest = lambda *x: rest_in_corner(switched, 0.0, np.array(x))
    points, word, values = rest(0.0, 1e-17, 0.18)
    assert (points.tolist(), word) == ([[0.0, 1e-17, 0.18]], "stable")
    np.testing.assert_allclose(values, [-1.0, -np.inf, -np.inf], atol=1e-12)
    assert rest(0.0, 0.0, 0.19) is rest(0.0, 1e-3, 0.18) is rest(0.3, -0.2, 0.18) is None


THREE = FunctionFlow(lambda t, x: -jnp.sign(x) * jnp.array([1.0, 2.0, 1.0]))
LEAVES = FunctionFlow(
    lambda t, x: jnp.stack([
        0.4 - jnp.sign(x[0]), 0.5 * x[2] - jnp.sign(x[1]) + 0.2 * jnp.sign(x[0]),
        1.0 + 0.5 * jnp.sign(x[0]) * jnp.sign(x[1]),
    ])
)  # fmt: skip
UNTIL = 10 * np.log(12 / 10.16)


def leaving(t):
    """Return the state of `LEAVES` from 0: on x = y = 0 the signs are 0.4 and z / 2 + 0.08 in the mean, up to 1."""
    z, late = 10.16 * np.expm1(0.1 * t), np.maximum(t - UNTIL, 0.0)
    return np.stack([0 * t, 0.3 * late**2, np.where(t < UNTIL, z, 1.84 + 1.2 * late)], axis=-1)


def test_a_trajectory_slides_along_the_intersection_of_two_surfaces_and_leaves_it_on_one():
    field = switched_field(LEAVES, np.zeros(3))
    given = jnp.asarray(1e-10), jnp.asarray(np.inf)
    through = lambda begin, end, x: through_corners(field, begin, end, jnp.asarray(x), *given)
    for begin, end in ((0.0, 1.0), (1.0, 5.0), (3.0, 4.0)):
        found = through(begin, end, leaving(np.array(begin)))
        assert (found.t, found.failed, found.blocked) == (end, False, False)
        np.testing.assert_allclose(found.x, leaving(np.array(end)), atol=1e-7)
    slides = (0.795 - np.sqrt(0.795**2 - 1.2 * (0.15 - 0.8 / 6 + 0.375 / 36))) / 0.6  # on x = 0, to which it takes 1/6
    begun = 0.25 + 1.2 * slides
    found = through(0.0, 1.0, [0.1, 0.15, 0.0])
    z = (begun + 10.16) * np.exp(0.1 * (1 - 1 / 6 - slides)) - 10.16
    np.testing.assert_allclose(found.x, [0.0, 0.0, z], atol=1e-7)
    corner = eqx.filter_jit(corner_at)(field, jnp.zeros(()), jnp.zeros(3))
    move = eqx.filter_jit(lambda x: corner_motion(field, jnp.zeros(()), x, corner))
    motion = move(jnp.array([0.0, 0.0, 1.0]))
    assert bool(motion.holds)
    np.testing.assert_allclose(motion.velocity, [0.0, 0.0, 1.116], atol=1e-9)
    share = [0.3, 0.21]  # of the far sides, for signs 0.4 and 0.58 in the mean
    np.testing.assert_allclose(motion.shares, share, atol=1e-9)
    assert not bool(move(jnp.array([0.0, 0.0, 1.9])).holds)
    t, x, inside, free = _along(field, corner, 0.0, 1.0, jnp.zeros(3), jnp.asarray(np.nan))  # a solve that fails
    assert (t, inside, free) == (1.0, True, True)
    assert np.all(np.isnan(x))


@pytest.mark.parametrize("speed", [pytest.param(0.125, marks=pytest.mark.slow), 3.0])
def test_where_all_fields_run_along_a_surface_the_other_one_decides(speed):
    """Across x = 0 they have the rates -2 and 4 times a speed, which cancel at a third of the far side."""
    signs = lambda x: jnp.stack([speed * (1 - 3 * jnp.sign(x[0])), -x[1] * jnp.sign(x[1]), jnp.asarray(2.0)])
    field = switched_field(FunctionFlow(lambda t, x: signs(x)), np.zeros(3))
    corner = corner_at(field, jnp.zeros(()), jnp.zeros(3))
    motion = corner_motion(field, jnp.zeros(()), jnp.zeros(3), corner)
    assert bool(motion.holds)
    np.testing.assert_allclose(motion.velocity, [0.0, 0.0, 2.0], atol=1e-12)
    assert float(motion.shares[0]) == pytest.approx(1 / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("shares", "beside"), [((0, 0.3), (0, 2)), ((1, 0.3), (1, 3)), ((0.4, 0), (0, 1)), ((0.4, 1), (2, 3))]
)
def test_the_surface_on_which_a_trajectory_stays_is_that_of_the_share_inside(shares, beside):
    modes = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    found = _left_on(Corner(jnp.asarray(modes), jnp.arange(2), jnp.asarray(True)), np.array(shares))
    np.testing.assert_array_equal(found, modes[list(beside)])


def test_a_corner_is_where_exactly_two_surfaces_meet():
    field, zero = switched_field(THREE, np.zeros(3)), jnp.zeros(())
    ones = [bool(corner_at(field, zero, jnp.array(x)).is_one) for x in ([0.0] * 3, [0.0, 0.0, 1.0], [1.0, 0.0, 1.0])]
    assert ones == [False, True, False]


@pytest.mark.slow
def test_runs_and_dense_output_go_along_intersections():
    times = np.linspace(0.0, 4.0, 70)  # more than one window
    path = simulate(LEAVES, np.zeros(3), times, integrator=FEW)
    np.testing.assert_allclose(path.ys, leaving(times), atol=1e-7)
    np.testing.assert_allclose(dense_output(path)(np.array([3.3, 0.7])), leaving(np.array([3.3, 0.7])), atol=1e-7)
    late = np.array([0.0, 0.3, 0.45, 1.0])
    np.testing.assert_allclose(
        simulate(BOTH, [0.5, 0.7], late, integrator=FEW).ys[:, 0], [0.5, 0.2, 0.05, 0.0], atol=1e-9
    )


@pytest.mark.slow
def test_starts_that_slide_on_two_surfaces_to_their_intersection_have_one_attractor():
    found = find_attractors(BOTH, [[0.0, 0.0], [0.5, 0.5], [0.0, 0.2], [0.3, 0.7]])
    assert [str(one) for one in found.attractors] == ["stable equilibrium at [0., 0.]"]
    assert found.labels.tolist() == [0] * 4


@pytest.mark.slow
def test_what_is_not_followed_is_said_in_a_sentence():
    said = r"^The trajectory slides on two surfaces at once and meets a third one, of those where .*, after t = 0\.6\.$"
    with pytest.raises(IntegrationError, match=said):
        simulate(THREE, [0.5, 0.7, 0.9], [0.0, 0.6, 1.0], integrator=FEW)
    never = Event(lambda t, x: x[0] - 9.0)
    assert simulate_until(FRICTION, [0.2, 0.1], [0.0, 9.0], [never], integrator=FEW).event == -1


@pytest.mark.slow
def test_states_at_rest_on_a_surface_are_equilibria_of_a_search():
    box = [[-3.0, 3.0], [-3.0, 3.0]]
    found = find_equilibria(SLIDES, random_key(0, "starts"), box=box)
    assert not found.found
    (one,) = found.pseudo
    np.testing.assert_allclose(one.state, [-1 / 3, 0.0], atol=1e-9)
    np.testing.assert_allclose(one.values, [-0.3], atol=1e-9)
    assert str(found).endswith("stable pseudo-equilibrium (-0.333333, 0), where trajectories slide")
    wells = FunctionFlow(lambda t, x: jnp.stack([x[1], x[0] - x[0] ** 3 - 0.3 * x[1] - 0.05 * jnp.sign(x[1])]))
    segments = sorted((tuple(p.state), tuple(p.last)) for p in find_equilibria(wells, KEY, box=box).pseudo)
    ends = np.sort(np.roots([1, 0, -1, 0.05]).tolist() + np.roots([1, 0, -1, -0.05]).tolist())  # |x - x^3| = 0.05
    np.testing.assert_allclose(np.array(segments)[..., 0].ravel(), ends, atol=1e-6)
    (stick,) = find_equilibria(FRICTION, random_key(0, "starts"), box=box).pseudo
    np.testing.assert_allclose([stick.state, stick.last], [[-0.5, 0.0], [0.5, 0.0]], atol=1e-6)


def test_states_at_rest_are_followed_to_both_ends_of_their_segment_or_out_of_the_window():
    look = lambda y: (y, bool(abs(y[0]) <= 1.0), bool(y[0] < 0.75))  # at rest, and held until 0.75
    walk = lambda begin, step, inside=lambda y: True: _segment(look, np.array([begin]), np.array([step]), inside)[:, 0]
    found = walk(0.2, 0.3)
    assert found[[0, -1]] == pytest.approx([-1.0, 0.75], abs=1e-7)
    assert np.all(np.diff(found) > 0)
    assert 0.2 in found
    assert np.min(np.abs(found + 0.4)) < 1e-12
    assert walk(0.2, 0.3, lambda y: y[0] > -0.5)[0] == pytest.approx(-0.5, abs=1e-7)
    assert walk(0.2, -0.3)[[0, -1]] == pytest.approx([0.75, -1.0], abs=1e-7)


def test_portraits_show_the_surface_and_no_nullcline_along_it():
    side = np.linspace(-2.0, 2.0, 24)
    surfaces = _switched(FRICTION, side, side, 0.0)
    assert surfaces is not None
    found, surfaces = surfaces.without((), np.full(2, -2.0), np.full(2, 2.0))
    pieces, slides, (stick,) = surfaces.drawn([0, 1])
    np.testing.assert_allclose(pieces[..., 1], 0.0, atol=1e-12)
    np.testing.assert_array_equal(slides, np.max(np.abs(pieces[..., 0]), axis=1) < 0.5)
    assert found == ()
    assert not stick.is_isolated
    field = lambda p: np.stack([p[:, 1], -p[:, 0] - 0.5 * np.sign(p[:, 1])], axis=1)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    values = field(grid.reshape(-1, 2)).reshape(grid.shape)
    hidden = beside_poles(field, side, side, values, KEPT)
    beside = np.abs(grid[..., 1]) < 0.1
    np.testing.assert_array_equal(hidden[..., 1], beside & (np.abs(grid[..., 0]) < 0.5))
    assert not np.any(hidden[..., 0])  # x is at rest there
    smooth = FunctionFlow(lambda t, x: jnp.stack([jnp.where(x[0] > 0, -2.0, -1.0) * x[0], -x[1]]))
    assert _switched(smooth, side, side, 0.0) is None


def test_the_places_of_surfaces_are_found_between_states():
    field = switched_field(SLIDES, jnp.zeros(2))
    assert field is not None
    ends = np.array([[1.0, 0.3], [1.0, -0.2]]), np.array([[1.0, -0.1], [1.0, -0.3]])
    near = surface_points(field, 0.0, *ends)
    np.testing.assert_array_equal(near.which, [0])
    np.testing.assert_allclose(near.points, [[1.0, 0.0]], atol=1e-15)
    assert near.slides.all()
    np.testing.assert_array_equal(on_surface(field, 0.0, np.array([[3.0, 0.0], [3.0, 0.1]]), np.ones(2)), [True, False])
    assert pseudo_equilibria(field, 0.0, near, lambda x: x[0] > 0, np.ones(2)) == ()


def test_jumps_are_reported_where_a_field_has_no_pieces(monkeypatch):
    turns = FunctionFlow(lambda t, x: jnp.array([x[1], -x[0], jnp.sign(x[2])]) * 0.1, space=Sphere())
    states = np.array([[0.6, 0.0, 0.8], [0.6, 0.8, 0.0], [0.6, 0.0, -0.8]])
    assert jumps_left_out(turns, jnp.asarray(states), 0.0) == "the sign changes of x_1, x_2, x_3"
    assert jumps_left_out(turns, jnp.asarray(states[:1].repeat(2, 0)), 0.0) == ""
    pair: Any = SimpleNamespace(system=turns, restored=lambda x: x)
    times: list[float] = []
    ahead = lambda x, V, t: (jnp.asarray(states[len(times) % 3]), V, times.append(t))
    monkeypatch.setattr(lyapunov, "PASSED", 8)
    with unchecked(), pytest.raises(ValueError, match="has one that jumps where the sign changes of x_1, x_2, x_3"):
        lyapunov._check_jumps(pair, ahead, jnp.asarray(states[0]), jnp.eye(3), 1.0, 0.5)
    assert times == [1.0 + 0.5 * k for k in range(8)]
    many = FunctionFlow(lambda t, x: jnp.where(x > 0, 1.0, jnp.cos(x)) * jnp.sum(jnp.sin(x[:, None] * x[None]), axis=0))
    line = jnp.asarray(np.linspace(-1.0, 1.0, 5)[:, None] * np.ones(40))
    assert switched_field(many, line[0]) is None  # more than 2,000 operations
    assert jumps_left_out(many, line, 0.0) == ""  # it is continuous: the cosine is 1 at 0
    other = FunctionFlow(
        lambda t, x: jnp.where(x > 0, 2.0, jnp.cos(x)) + jnp.sum(jnp.sin(x[:, None] * x[None]), axis=0)
    )
    assert jumps_left_out(other, line, 0.0).startswith("a comparison changes of x_1; a comparison changes of x_2")


@pytest.mark.slow
def test_attractors_and_limits_may_slide():
    found = find_attractors(FRICTION, [[-3, 3], [-3, 3]]).attractors
    assert [(a.kind, a.stability) for a in found] == [("curve of equilibria", "stable")]
    np.testing.assert_allclose(np.sort(np.asarray(found[0].states)[[0, -1], 0]), [-0.5, 0.5], atol=1e-5)
    (cycle,) = find_attractors(BELT, [[-3, 3], [-3, 3]]).attractors
    assert (cycle.kind, cycle.stability) == ("periodic orbit", "stable")
    np.testing.assert_allclose(cycle.period, 12.001031, atol=1e-5)
    limit = settle(FRICTION, jnp.array([3.2, 0.0]))
    assert limit.settled
    np.testing.assert_allclose(limit.state, [-0.2, 0.0], atol=1e-8)


@pytest.mark.slow
def test_a_portrait_has_the_stick_slip_cycle():
    (cycle,) = limit_cycles(BELT, np.array([[1.5, 0.0], [0.5, -0.1]]), backwards=False)
    np.testing.assert_allclose([cycle.period, *cycle.multipliers], [12.001031, 0.0], atol=1e-6)
    plan = phase_plane(SLIDES, [-2.0, 2.0, -1.0, 1.0], grid=16)
    assert str(plan) == "stable pseudo-equilibrium (-0.333333, 0), where trajectories slide"


@pytest.mark.slow
def test_exponents_of_a_jump_that_is_not_followed_are_refused():
    turns = FunctionFlow(lambda t, x: jnp.array([-x[1], x[0], 0.2 * jnp.sign(x[0])]), space=Sphere())
    with pytest.raises(ValueError, match=r"a field without jumps along the trajectory.* jumps where the sign changes"):
        lyapunov_spectrum(turns, jnp.array([0.6, 0.0, 0.8]), 100.0)


class Relay(AbstractFlow):
    """Relay feedback u = -sign(y) of (s - a)^2 / (s + 1)^3, which slides on y = 0, where it is unstable."""

    a: Array
    space: AbstractSpace = Euclidean()

    def velocity(self, t, x):
        """The system in observer form; y is the first component."""
        u = -jnp.sign(x[0])
        return jnp.stack([-3 * x[0] + x[1] + u, -3 * x[0] + x[2] - 2 * self.a * u, -x[0] + self.a**2 * u])


def half_period(a):
    """Half of the period of the relay's limit cycle, piece by piece with matrix exponentials.

    It begins on y = 0 with x_1 = -1, where it stops sliding: there the relay is at 1.
    """
    A, b = np.array([[-3.0, 1, 0], [-3, 0, 1], [-1, 0, 0]]), np.array([1, -2 * a, a * a])
    rest = -np.linalg.solve(A, b)
    free = lambda w, t: rest + expm(A * t) @ ([0.0, -1.0, w] - rest)
    S = np.array([[2 * a, 1.0], [-a * a, 0]])  # the sliding motion, u = -x_1
    slide = lambda x, t: expm(S * t) @ x

    def once(w):
        falls = np.linspace(1e-3, 20.0, 2000)
        ys = np.array([free(w, t)[0] for t in falls])
        k = np.argmax(ys * np.sign(ys[0]) < 0)
        flight = brentq(lambda t: free(w, t)[0], falls[k - 1], falls[k])
        x = free(w, flight)[1:]
        ts = np.linspace(0.0, 20.0, 2000)
        sizes = np.array([abs(slide(x, t)[0]) for t in ts])
        k = np.argmax(sizes > 1)
        stay = brentq(lambda t: abs(slide(x, t)[0]) - 1, ts[k - 1], ts[k])
        end = slide(x, stay)
        return flight + stay, end[1] * -end[0]

    w = 0.0
    for _ in range(12):
        time, w = once(w)
    return time


@pytest.mark.slow
def test_the_limit_cycle_of_a_relay_that_slides_is_that_of_its_pieces():
    flow = Relay(jnp.asarray(1.0))
    start = simulate(flow, [0.5, 0.3, -0.2], [0.0, 40.0]).final
    orbit = periodic_orbit(flow, start, 8.86)
    assert orbit.period == pytest.approx(2 * half_period(1.0), rel=1e-9)
    lands = poincare_section(flow, start, lambda t, x: x[0], 1, integrator=Diffrax(rtol=1e-10, atol=1e-12)).states[0]
    for begin in (lands, lands * jnp.array([0.0, 1.0, 1.0]) + jnp.array([1e-9, 0.0, 0.0])):
        again = periodic_orbit(flow, begin, 8.86)
        np.testing.assert_allclose(again.multipliers, orbit.multipliers, atol=1e-9)
    assert abs(orbit.multipliers[1]) < 1e-9  # vectors across the surface are lost where it begins to slide
    found = continue_orbits(Parameter(flow, "a", 0.8, 1.1), orbit, steps=Steps(first=0.1))
    ends = [float(period) for period in found.states.period[[0, -1]]]
    np.testing.assert_allclose(ends, [2 * half_period(a) for a in (0.8, 1.1)], rtol=1e-8)
    assert {*found.kinds} == {"stable"}
    crossings = poincare_section(flow, start, lambda t, x: x[2], 3).times
    np.testing.assert_allclose(np.diff(crossings), orbit.period, rtol=1e-6)


@pytest.mark.slow  # the search of events on a trajectory that slides is compiled
def test_an_event_occurs_while_a_trajectory_slides():
    """A block on a belt sticks after a time 1 / 0.7, and moves on with it at unit speed."""
    belt = FunctionFlow(lambda t, x: jnp.stack([1.0 + 0 * x[1], 0.3 - jnp.sign(x[1])]))
    events = [Event(lambda t, x: x[0] - 5.0), Event(lambda t, x: x[0] - 4.0, direction=1)]
    stop = simulate_until(belt, [0.0, 1.0], [0.0, 3.0, 6.0], events)
    assert (stop.event, stop.events) == (1, (1,))
    assert stop.path.ts == pytest.approx([0.0, 3.0, 4.0], abs=1e-12)
    assert np.allclose(stop.path.ys, [[0, 1], [3, 0], [4, 0]], atol=1e-9)
    assert stop.path.stats.succeeded


def test_events_are_looked_for_at_the_samples_of_the_one_that_asks_for_most():
    events = [Event(lambda t, x: x[0], samples=count) for count in (2, 5, 3)]
    found = sliding._sampled(np.array([0.0, 0.25, 2.0]), 2, events)
    np.testing.assert_allclose(found, np.sort([0.25, *np.arange(1, 11) / 5]))


def test_events_that_are_not_finite_at_the_start_are_refused_on_trajectories_that_slide(monkeypatch):
    free = sliding.SlidingStates(switched_field(SLIDES, np.zeros(2)), *(jnp.zeros(()) for _ in range(5)))
    monkeypatch.setattr(sliding, "sliding_states", lambda *_: (free, SimpleNamespace(succeeded=True, num_steps=3)))
    monkeypatch.setattr(sliding, "_velocity", lambda states, t, y: -y)
    events = [Event(lambda t, x: x[0] - 3.0), Event(lambda t, x: jnp.log(x[1]))]
    with pytest.raises(ValueError, match="`events` must be finite at the start, but number 1 is -inf"):
        sliding.slid_until(SLIDES, jnp.array([1.0, 0.0]), np.array([0.0, 1.0]), events, 1e-8)


def test_states_after_a_failure_and_after_a_place_that_is_not_passed_are_none(monkeypatch):
    """Each interval adds 1 to the states; in the second one the first trajectory is blocked, and the other fails."""

    def over(field, begin, end, first, x, *rest, atol=None):
        ends = {"blocked": (begin >= 1) & (x[0] < 5), "failed": (begin >= 1) & (x[0] > 5)}
        return switched_solver.SwitchedEnd(end, x + 1, rest[0], jnp.asarray(3), **ends, slid=jnp.asarray(False))

    monkeypatch.setattr(sliding, "switched_over", over)
    rows = sliding.sliding_paths(SLIDES, np.array([[0.0, 0.0], [9.0, 9.0]]), np.arange(4.0), 1e-6, 1e-8)
    ends = [[np.nan] * 2] * 2
    np.testing.assert_array_equal(rows, [[[0.0, 0.0], [1.0, 1.0], *ends], [[9.0, 9.0], [10.0, 10.0], *ends]])


def test_absolute_tolerances_are_a_hundredth_in_units_of_the_components(monkeypatch):
    """Those of tangent vectors have no units."""
    kept = lambda field, s, end, longest, tolerances, n: s._replace(t=end, y=tolerances[0])
    monkeypatch.setattr(switched_solver, "_advanced", kept)
    field, zero, one = switched_field(SLIDES, np.zeros(2)), jnp.zeros(()), jnp.ones(())
    over = lambda **given: switched_solver.switched_over(
        field, zero, one, one, jnp.zeros(2), jnp.eye(2), jnp.asarray(1e-6), np.inf, **given
    )
    plain, given = over(), over(atol=jnp.asarray(1e-3), sizes=jnp.array([2.0, 5.0]))
    np.testing.assert_allclose(np.vstack([plain.x, plain.V]), 1e-8)
    np.testing.assert_allclose(np.vstack([given.x, given.V]), [[2e-3, 5e-3], [1e-3, 1e-3], [1e-3, 1e-3]])


def test_a_surface_that_jumps_past_the_trajectory_in_time_is_not_tried_100_000_times():
    ramp = FunctionFlow(lambda t, x: jnp.where(x < 2.5 + jnp.mod(t, 1.0), 1.0, -1.0))
    field, at = switched_field(ramp, np.zeros(1)), lambda t: jnp.asarray(t, float)
    found = switched_solver.switched_over(
        field, at(0.0), at(1.5), at(0.1), jnp.array([2.1]), jnp.zeros((1, 0)), at(1e-9), np.inf
    )
    assert (bool(found.failed), round(float(found.t), 6)) == (True, 1.0)
    assert int(found.steps) <= 1100


@jax.jit
def onwards(x, V, sides):
    """How the motion goes on from the end of a step, in a field that jumps on x = 0 and y = 0."""
    rates = lambda x: jnp.stack(
        [jnp.where(x[0] > 0, -1.0, 1.0 - x[2]), jnp.where(x[1] > 0, -x[2], 2.0), jnp.where(x[1] > 0, 0.0, 1.0)]
    )
    field = switched_field(FunctionFlow(lambda t, x: rates(x)), np.zeros(3))
    y = jnp.concatenate([x, jnp.ravel(V)])
    found = switched_solver._onwards(field, jnp.zeros(()), y, 3, sides, jnp.asarray(True))
    return found.y[3:].reshape(3, -1), found.velocity, found.sides, found.blocked


def test_where_a_step_ends_on_a_surface_the_motion_slides_touches_or_is_blocked():
    both, on_y = np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, -1.0]])
    V, sides, blocked = (
        np.array([[1.0], [2.0], [0.0]]),
        lambda found: np.asarray(found[2]).tolist(),
        lambda f: bool(f[3]),
    )
    slides = onwards(np.array([0.0, 0.5, 0.5]), V, both)  # the field behind x = 0 points back
    assert (sides(slides), blocked(slides)) == ([[1.0, 1.0], [-1.0, 1.0]], False)
    rests = onwards(np.array([0.0, 0.5, 1.0]), V, both)  # and here along it
    assert sides(rests) == [[1.0, 1.0], [-1.0, 1.0]]
    touches = onwards(np.array([0.5, 0.0, 1e-12]), V, both)
    np.testing.assert_allclose(touches[0][:, 0], [1.0, 0.0, 0.0], atol=1e-6)  # projected, and not divided by the rate
    assert blocked(onwards(np.array([0.0, 0.0, 0.5]), V, on_y))  # it slides on y = 0 to x = 0


def turning(t, x, inner=0.5):
    """Turn around x = y = 0 ever faster; z' = 1 - z / 10."""
    y = -jnp.sign(x[0]) - inner * jnp.sign(x[1])
    return jnp.stack([x[1], y, 1.0 - 0.1 * x[2]])


@pytest.mark.slow
def test_where_crossings_accumulate_the_trajectory_stays_on_both_surfaces_if_that_determines_it():
    """From (0.5, 0) speeds at x = 0 shrink by sqrt(3) each half turn, which takes the sum of |dv| / 1.5 and / 0.5."""
    field, given = switched_field(FunctionFlow(turning), np.zeros(3)), (jnp.asarray(1e-9), jnp.asarray(np.inf))
    last = np.sqrt(0.5) * (2 + (2 / 1.5) / (np.sqrt(3) - 1))  # to x = 0, and then both ways of all half turns
    for begin, end, x in ((0.0, 10.0, [0.5, 0.0, 0.0]), (0.0, 0.999 * last, [0.5, 0.0, 0.0]), (0.0, 1.0, [0.0] * 3)):
        found = through_corners(field, begin, end, jnp.asarray(x), *given)
        assert (found.t, found.failed, found.blocked) == (end, False, False)
        np.testing.assert_allclose(found.x[2], 10 * -np.expm1(-0.1 * end), rtol=1e-8)
        assert (np.max(np.abs(found.x[:2])) == 0) == (end != 0.999 * last)
    between = through_corners(field, 0.999 * last, 10.0, jnp.asarray([1e-15, -1e-7, 0.0]), *given)
    assert (between.failed, between.blocked, np.max(np.abs(between.x[:2]))) == (False, False, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("x", [0.0, 0.5])
def test_events_are_located_on_two_surfaces_also_after_their_crossings_have_accumulated(x):
    """In the corner z alone moves, z = 10 (1 - exp(-t / 10))."""
    flow, y0, ts = FunctionFlow(turning), jnp.array([x, 0.0, 0.0]), jnp.array([0.0, 5.0, 9.0])
    stuck = Stats(jnp.asarray(False), jnp.asarray(int(Outcome.MAX_STEPS)), 0, 0, jnp.zeros(()), jnp.zeros(()))
    half = Event(lambda t, x: x[2] - 5.0)
    found = member_that_slides(flow, y0, ts, 1e-9, stuck, (half,))
    assert found is not None
    ys, final, stats = found
    assert (bool(stats.succeeded), int(np.asarray(stats.event))) == (True, 0)
    np.testing.assert_allclose(stats.last_time, 10 * np.log(2), rtol=1e-8)
    np.testing.assert_allclose(final, [0.0, 0.0, 5.0], atol=1e-8)
    np.testing.assert_allclose(ys[1], [0.0, 0.0, 10 * -np.expm1(-0.5)], rtol=1e-8)


def test_a_velocity_that_accumulating_crossings_leave_open_is_refused_in_a_sentence():
    open_ = FunctionFlow(lambda t, x: turning(t, x).at[2].set(jnp.sign(x[0])))
    said = (
        r"^Infinitely many crossings of surfaces accumulate at t = \d\.\d+, after which .* is not determined, of those"
    )
    stuck = Stats(False, int(Outcome.MAX_STEPS), 0, 0, jnp.zeros(()), jnp.zeros(()))
    found = sliding.slid(open_, jnp.array([0.5, 0.0, 0.0]), np.array([0.0, 10.0]), 1e-9, stuck)
    assert found is not None
    assert re.match(said, found[2])


def test_a_start_on_a_surface_that_repels_takes_the_side_to_which_the_velocity_points():
    fn = lambda t, x: jnp.stack([2 * jnp.heaviside(x[0], 0.5) - 1.3])
    field = switched_field(FunctionFlow(fn), np.zeros(1))
    assert field is not None
    found = jax.jit(lambda x: switched_solver.switched_velocity(field, jnp.zeros(()), x))(jnp.zeros(1))
    np.testing.assert_allclose(found, [-1.3])


def relay(t, y, size, away, time):
    """On the surface x_2 = 0 the first component slides to -0.5 or 0.6, from both sides of 0.2."""
    x, v = (y[0] - away) / size, y[1] / size
    sliding = -(x - 0.2) * (x + 0.5) * (x - 0.6)
    return size * jnp.stack([sliding, jnp.where(v > 0, -1.0, 1.0)]) / time


@pytest.mark.parametrize(
    ("size", "away", "time"), [pytest.param(1.0, 0.0, 1.0, marks=pytest.mark.slow), (1e-6, 0.0, 1e9), (1.0, 1e5, 1.0)]
)
def test_states_at_rest_on_a_surface_are_the_same_in_all_units(size, away, time):
    flow = FunctionFlow(relay, parameters={"size": size, "away": away, "time": time})
    centre, unit = np.array([away, 0.0]), size * np.ones(2)
    found = find_equilibria(flow, random_key(0, "starts"), box=np.stack([centre - 1.1 * unit, centre + 0.8 * unit], 1))
    rests = sorted((round(float((e.state[0] - away) / size), 4), e.kind) for e in found.pseudo)
    assert rests == [(-0.5, "stable"), (0.2, "unstable"), (0.6, "stable")]
    limit = settle(flow, centre + unit * [0.5, 0.4], first_time=2 * time, max_time=256 * time)
    assert limit.verdict == "stationary"
    assert (float(limit.state[0]) - away) / size == pytest.approx(0.6, abs=1e-3)
