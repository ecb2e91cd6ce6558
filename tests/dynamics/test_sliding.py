"""Sliding on surfaces on which a field jumps: trajectories, states at rest, attractors, portraits, and refusals."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.attractors.search import find_attractors
from analysis.dynamics.equilibria.search import find_equilibria
from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.equilibria.sliding import on_surface, pseudo_equilibria, surface_points
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.periodic_orbits.limit_cycles import limit_cycles
from analysis.dynamics.portraits.plane import KEPT, _switched, beside_poles, phase_plane
from dynsim.errors import IntegrationError
from dynsim.integrators import Diffrax, Event
from dynsim.integrators.switched_field import jumps_left_out, switched_field
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow

FRICTION = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - 0.5 * jnp.sign(x[1])]))
SLIDES = FunctionFlow(lambda t, x: jnp.stack([-0.3 * x[0] - 0.2 * jnp.sign(x[1]), 0.5 - jnp.sign(x[1])]))
BOTH = FunctionFlow(lambda t, x: -jnp.sign(x) * jnp.array([1.0, 2.0]))
BELT = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] + jnp.sign(0.2 - x[1]) / (1 + 3 * jnp.abs(0.2 - x[1]))]))
FEW = Diffrax(max_steps=2000)


def test_dry_friction_takes_two_halves_off_the_amplitude_each_half_period_and_stops():
    path = simulate(FRICTION, [3.2, 0.0], np.pi * np.arange(6), integrator=FEW)
    np.testing.assert_allclose(path.ys[:, 0], [3.2, -2.2, 1.2, -0.2, -0.2, -0.2], atol=1e-8)
    np.testing.assert_allclose(path.ys[:, 1], 0.0, atol=1e-8)
    assert bool(path.stats.succeeded)


@pytest.mark.slow
def test_what_is_not_followed_is_said_in_a_sentence():
    with pytest.raises(IntegrationError, match=r"^The trajectory slides on two surfaces at once, of those where"):
        simulate(BOTH, [0.5, 0.7], [0.0, 1.0], integrator=FEW)
    never = Event(lambda t, x: x[0] - 9.0)
    with pytest.raises(IntegrationError, match="may jump where the sign changes of x_2: a trajectory that slides"):
        simulate_until(FRICTION, [0.2, 0.1], [0.0, 9.0], [never], integrator=FEW)


@pytest.mark.slow
def test_states_at_rest_on_a_surface_are_equilibria_of_a_search():
    box = [[-3.0, 3.0], [-3.0, 3.0]]
    found = find_equilibria(SLIDES, random_key(0, "starts"), box=box)
    assert not found.found
    (one,) = found.pseudo
    np.testing.assert_allclose(one.state, [-1 / 3, 0.0], atol=1e-9)
    np.testing.assert_allclose(one.values, [-0.3], atol=1e-9)
    assert str(found).endswith("stable pseudo-equilibrium (-0.333333, 0), where trajectories slide")
    (stick,) = find_equilibria(FRICTION, random_key(0, "starts"), box=box).pseudo
    np.testing.assert_allclose([stick.state, stick.last], [[-0.5, 0.0], [0.5, 0.0]], atol=1e-6)


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
    np.testing.assert_array_equal(on_surface(field, 0.0, np.array([[3.0, 0.0], [3.0, 0.1]])), [True, False])
    assert pseudo_equilibria(field, 0.0, near, lambda x: x[0] > 0) == ()


def test_jumps_are_reported_where_a_field_has_no_pieces():
    turns = FunctionFlow(lambda t, x: jnp.array([x[1], -x[0], jnp.sign(x[2])]) * 0.1, space=Sphere())
    states = np.array([[0.6, 0.0, 0.8], [0.6, 0.8, 0.0], [0.6, 0.0, -0.8]])
    assert jumps_left_out(turns, jnp.asarray(states), 0.0) == "the sign changes of x_1, x_2, x_3"
    assert jumps_left_out(turns, jnp.asarray(states[:1].repeat(2, 0)), 0.0) == ""
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
