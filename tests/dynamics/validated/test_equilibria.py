"""Equilibria and periodic points certified in ball arithmetic: counts, uniqueness, types, what cannot be enclosed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.validated.ball_operations import ball
from analysis.dynamics.validated.balls import BallFunction, balls
from analysis.dynamics.validated.equilibria import _Problem, _Subdivision, certified_count, certified_equilibrium
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.catalogue.oscillators import DoubleWell
from dynsim.systems.tokens.scalar_driven import OjaFlow

pytest.importorskip("flint")


@pytest.mark.slow
def test_three_equilibria_of_the_double_well_are_counted_exactly():
    found = certified_count(DoubleWell(), [[-2.0, 2.0]])
    assert found.exact
    assert [e.kind for e in found.found] == ["stable", "stable", "unstable"]
    assert sorted(float(e.state[0]) for e in found.found) == pytest.approx([-1.0, 0.0, 1.0], abs=1e-14)
    assert "exactly 3 equilibria (2 stable, 1 unstable) in the box" in str(found)


def test_an_equilibrium_that_newton_leads_near_from_two_sides_is_counted_once(monkeypatch):
    """From both it is certified, with boxes in which it is alone, neither of which holds the other start."""
    monkeypatch.setattr(_Problem, "newton", lambda self, x: x)
    sides = np.array([[0.3], [1.9]])
    counted = _Subdivision(_Problem(DoubleWell(), sides[0], 1), sides, 9, 0.1)
    for near in (0.935, 1.135):
        assert counted.problem.certified(np.array([near])) is not None
        counted._add(np.array([near]))
    assert len(counted.found) == 1
    assert counted.found[0].enclosure[0, 0] <= 1 <= counted.found[0].enclosure[0, 1]
    assert np.all(counted.found[0].unique < 1.135)


def test_one_equilibrium_does_not_stand_for_another_nearby(monkeypatch):
    """Of two zeros 1e-3 apart, Newton's method always leads to the first one: the second is left undecided."""
    monkeypatch.setattr(_Problem, "newton", lambda self, x: np.array([0.5]))
    found = certified_count(FunctionFlow(lambda t, x: (x - 0.5) * (x - 0.501)), [[0.0, 1.0]])
    assert len(found.found) == 1
    assert not found.exact


def test_a_box_that_holds_none_is_proved_empty():
    found = certified_count(FunctionFlow(lambda t, x: 1.0 + x**2), [[-2.0, 2.0]])
    assert found.exact
    assert found.found == ()


def test_a_double_zero_stays_undecided():
    found = certified_count(FunctionFlow(lambda t, x: x**2), [[-2.0, 1.5]])
    assert not found.exact
    assert "at least 0 equilibria in the box, 1 undecided boxes" in str(found)


@pytest.mark.slow
def test_the_cap_on_boxes_is_reported():
    found = certified_count(FunctionFlow(lambda t, x: jnp.sin(3 * x)), [[-1.2, 1.3], [-1.2, 1.3]], max_boxes=5)
    assert found.end == "boxes"
    assert "the cap on boxes was reached" in str(found)
    assert not found.exact


@pytest.mark.slow
def test_what_is_isolated_is_counted_beside_a_circle_of_equilibria_that_never_closes():
    found = certified_count(FunctionFlow(lambda t, x: x * (1 - x @ x)), [[-2.0, 2.0], [-2.0, 2.0]], max_boxes=400)
    assert [e.kind for e in found.found] == ["unstable"]
    assert found.end == "boxes"


@pytest.mark.slow
def test_an_equilibrium_of_lorenz_is_a_certified_saddle():
    found = certified_equilibrium(Lorenz(), [8.4, 8.4, 27.0])
    exact = np.array([np.sqrt(8 / 3 * 27), np.sqrt(8 / 3 * 27), 27.0])
    assert np.max(np.abs(found.state - exact)) <= found.radius + 1e-14
    assert found.radius < 1e-12
    assert found.kind == "saddle"
    assert np.all(found.unique[:, 0] < exact)
    assert np.all(exact < found.unique[:, 1])


@pytest.mark.slow
def test_periodic_points_of_maps_are_counted():
    four = certified_count(Logistic(r=3.9), [[0.1, 1.0]], period=3)
    assert four.exact
    assert len(four.found) == 7  # the fixed point, and two orbits of period 3
    both = certified_count(Henon(), [[-2.0, 2.0], [-2.0, 2.0]], period=2)
    assert both.exact
    assert len(both.found) == 4  # two fixed points, and one orbit of period 2
    assert {e.kind for e in both.found} == {"saddle"}


def test_on_the_sphere_an_equilibrium_is_certified_in_ambient_coordinates():
    found = certified_equilibrium(OjaFlow(np.diag([3.0, 2.0, 1.0])), [0.99, 0.05, 0.0])
    assert np.allclose(found.state, [1.0, 0.0, 0.0], atol=1e-14)
    assert found.kind == "stable"
    assert certified_equilibrium(OjaFlow(np.diag([3.0, 2.0, 1.0])), [0.05, 0.99, 0.0]).kind == "saddle"
    assert certified_equilibrium(OjaFlow(np.diag([3.0, 2.0, 1.0])), [0.0, 0.05, 0.99]).kind == "unstable"


@pytest.mark.slow
def test_balls_enclose_the_values_of_random_points():
    def fn(x):
        y = jnp.stack([jnp.tanh(x[0] * x[1]), jnp.exp(-(x[1] ** 2)), jnp.where(x[0] > 5.0, x[0], jnp.abs(x[2]) + 1)])
        return jax.nn.softmax(y) @ jnp.outer(x, jnp.sin(x)) / (1 + x[0] ** 4) + jnp.max(x) - x**3

    exact, middle = BallFunction(fn, 3), np.array([0.3, -0.2, 0.05])
    radius = 0.1
    box = np.array([ball(m, radius) for m in middle], dtype=object)
    values = exact(box)
    rng = np.random.default_rng(0)
    for _ in range(50):
        at = np.asarray(fn(jnp.asarray(middle + radius * rng.uniform(-1, 1, 3))))
        assert all(v.contains(ball(float(a), 1e-14)) for v, a in zip(values, at, strict=True))
    point = exact.jacobian(np.array([ball(m) for m in middle], dtype=object))
    J = np.asarray(jax.jacfwd(fn)(jnp.asarray(middle)))
    assert np.allclose(np.array([[float(e.mid()) for e in row] for row in point]), J, atol=1e-12)


def operations(x):
    """Return every operation that has an enclosure, at a in [0.2, 0.6] and b in [-0.5, 0.3]."""
    a, b = x[0], x[1]
    both, either = jnp.logical_and(a > 0.4, b < 0.0), jnp.logical_or(a < 0.4, b > 0.0)
    broken = [
        jnp.minimum(a - 0.6, b), jnp.maximum(a, 3 * b), jnp.min(x), jnp.max(x), jnp.abs(b), jnp.sign(b),
        jnp.where(b < 0, a, b), jnp.where(both, a, b), jnp.where(either, a, -a),
        jnp.where(jnp.logical_not(b <= 0), a, b), jnp.where(a >= 0.7, 5.0, a), jnp.clip(b, -0.3, 0.1),
        jnp.where(jnp.all(x > 0.0), 1.0, b), jnp.where(jnp.any(x > 0.5), 1.0, b),
    ]  # fmt: skip
    return jnp.concatenate([smooth_operations(x), jnp.stack(broken)])


def smooth_operations(x):
    """Return every operation that has a Taylor series."""
    a, b = x[0], x[1]
    smooth = [
        a - b, a / (2 + b), -a, jnp.sin(a), jnp.cos(b), jnp.tan(b), jnp.arcsin(b), jnp.arccos(b), jnp.arctan(b),
        jnp.sinh(b), jnp.cosh(b), jnp.tanh(b), jnp.exp(b), jnp.exp2(a), jnp.log(a), jnp.log1p(b), jnp.expm1(b),
        jnp.sqrt(a), jax.lax.rsqrt(a), jax.lax.erf(b), jax.nn.sigmoid(b), a**b, jnp.square(b), b**3, b**4, a**-2,
        jnp.arctan2(b, a), jnp.cbrt(a), jnp.prod(x), x @ jnp.asarray([2.0, -3.0]),
    ]  # fmt: skip
    return jnp.stack(smooth)


def test_every_operation_is_enclosed_on_a_box_and_exact_at_a_point():
    exact, middle, radius = BallFunction(operations, 2), np.array([0.4, -0.1]), np.array([0.2, 0.4])
    values = exact(np.array([ball(m, r) for m, r in zip(middle, radius, strict=True)], dtype=object))
    shares = np.array([[x, y] for x in (-0.999, -0.3, 0.2, 0.999) for y in (-0.999, -0.4, 0.251, 0.6, 0.999)])
    at = np.array([0.3, -0.2])
    computed = jax.jit(lambda many, x: (jax.vmap(operations)(many), operations(x), jax.jacfwd(operations)(x)))
    found, expected, J = map(np.asarray, computed(jnp.asarray(middle + radius * shares), jnp.asarray(at)))
    for enclosure, samples in zip(values, found.T, strict=True):
        assert all(enclosure.contains(ball(float(v), 1e-14)) for v in samples)
        assert float(enclosure.rad()) < 40 * max(1e-3, np.ptp(samples))  # and not by everything
    assert all(float(values[k].lower()) > -1e-6 for k in (22, 24))  # even powers of a ball about zero
    point = np.array([ball(m) for m in at], dtype=object)
    assert np.allclose([float(v.mid()) for v in exact(point)], expected, atol=1e-13)
    assert np.allclose([[float(e.mid()) for e in row] for row in exact.jacobian(point)], J, atol=1e-12)


def test_a_product_with_zero_keeps_the_domain_of_the_other_factor():
    exact = BallFunction(lambda x: x[:1] + 0.0 * jnp.log(x[1:]), 2)
    assert float(exact(balls([2.0, 3.0]))[0].mid()) == 2.0
    assert not exact(balls([2.0, -3.0]))[0].is_finite()


def test_a_scan_is_enclosed():
    def fn(x, reverse):
        def turn(carry, k):
            return carry * k + x[1], carry[0] - k

        last, passed = jax.lax.scan(turn, x, jnp.asarray([1.5, -0.5, 2.0]), reverse=reverse)
        return jnp.concatenate([last, passed])

    for reverse in (False, True):
        found = BallFunction(lambda x, reverse=reverse: fn(x, reverse), 2)(balls([0.3, 0.7]))
        assert np.allclose([float(v.mid()) for v in found], fn(jnp.asarray([0.3, 0.7]), reverse), atol=1e-14)


def test_an_equilibrium_is_alone_only_where_the_derivative_has_one_sign():
    found = certified_equilibrium(FunctionFlow(lambda t, x: jnp.sin(9 * x)), [0.01])  # cos(9 x) vanishes at pi / 18
    assert -np.pi / 18 < found.unique[0, 0] < 0 < found.unique[0, 1] < np.pi / 18
    assert np.diff(found.unique[0])[0] > 0.01


def test_periodic_points_have_the_type_of_their_multiplier():
    for r, near, kind in ((2.8, 0.6, "stable"), (3.9, 0.74, "unstable")):
        found = certified_equilibrium(Logistic(r=r), [near])
        assert found.state[0] == pytest.approx(1 - 1 / r, abs=1e-14)
        assert found.kind == kind
    assert float(found.eigenvalues[0].real.mid()) == pytest.approx(2 - 3.9)
    two = certified_equilibrium(Logistic(r=3.2), [0.51], period=2)
    assert two.kind == "stable"
    assert float(two.eigenvalues[0].real.mid()) == pytest.approx(4 + 2 * 3.2 - 3.2**2)


def test_what_lies_on_the_boundary_of_a_box_is_undecided_and_what_lies_outside_is_left_out():
    edge = certified_count(DoubleWell(), [[-1.0, 2.0]])
    assert (len(edge.found), len(edge.undecided)) == (2, 1)
    inner = certified_count(DoubleWell(), [[-0.9999, 2.0]])
    assert inner.exact
    assert sorted(float(e.state[0]) for e in inner.found) == pytest.approx([0.0, 1.0], abs=1e-14)


@pytest.mark.slow
def test_bad_input_is_one_sentence():
    loop = FunctionFlow(lambda t, x: jax.lax.while_loop(lambda y: y[0] < 1, lambda y: y + 1, x))
    with pytest.raises(ValueError, match="only operations that ball arithmetic can enclose, but uses `while`"):
        certified_equilibrium(loop, [0.0])
    with pytest.raises(ValueError, match="Argument `near` must be near a regular equilibrium"):
        certified_equilibrium(FunctionFlow(lambda t, x: 1.0 + x**2), [0.0])
    with pytest.raises(ValueError, match="Argument `period` must be 1 for a flow"):
        certified_equilibrium(DoubleWell(), [0.0], period=2)
    with pytest.raises(ValueError, match="Argument `system` must be on Euclidean space"):
        certified_count(OjaFlow(np.eye(3)), [[-1.0, 1.0]] * 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "box", "count"),
    [
        (FunctionFlow(lambda t, x: jnp.where(x > 0, x - 1, x + 1)), (-2.0, 2.0), 2),
        (FunctionFlow(lambda t, x: x - jnp.sign(x)), (-2.0, 2.05), 2),  # and zero, where the field jumps
        (FunctionFlow(lambda t, x: -x + 2.0 * (x > 0).astype(float) - 1.0), (-3.0, 3.2), 2),
        (FunctionMap(lambda k, x: jnp.where(x < 0.5, 2 * x, 2 * x - 1)), (-0.2, 1.2), 2),
        (FunctionFlow(lambda t, x: jnp.arctan2(x, -1 + 0 * x) - 2.0), (-3.0, 3.0), 1),
    ],
)
def test_a_field_that_jumps_is_not_counted_as_a_smooth_one(system, box, count):
    """The slopes are the same on both sides: only the jump tells that there are several zeros."""
    found = certified_count(system, np.array([box]))
    assert not found.exact
    assert len(found.found) == count


@pytest.mark.slow
def test_a_kink_of_a_continuous_field_does_not_hide_its_zeros():
    tent = FunctionMap(lambda k, x: jnp.where(x < 0.5, 1.9 * x, 1.9 - 1.9 * x))
    for system, box in ((tent, (-0.2, 1.2)), (FunctionMap(lambda k, x: 1.2 - 1.9 * jnp.abs(x)), (-2.0, 1.2))):
        found = certified_count(system, np.array([box]))
        assert found.exact
        assert len(found.found) == 2
