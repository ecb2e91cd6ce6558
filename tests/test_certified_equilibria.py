"""Equilibria and periodic points certified in ball arithmetic: counts, uniqueness, types, what cannot be enclosed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.ball_arithmetic import BallFunction, ball
from analysis.dynamics.certified_equilibria import certified_count, certified_equilibrium
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Henon, Logistic
from dynsim.systems.catalogue.oscillators import DoubleWell
from dynsim.systems.tokens.scalar_driven import OjaFlow

pytest.importorskip("flint")


def test_three_equilibria_of_the_double_well_are_counted_exactly():
    found = certified_count(DoubleWell(), [[-2.0], [2.0]])
    assert found.exact
    assert [e.kind for e in found.found] == ["stable", "stable", "unstable"]
    assert sorted(float(e.state[0]) for e in found.found) == pytest.approx([-1.0, 0.0, 1.0], abs=1e-14)
    assert "exactly 3 equilibria (2 stable, 1 unstable) in the box" in repr(found)


def test_a_box_that_holds_none_is_proved_empty():
    found = certified_count(FunctionFlow(lambda t, x: 1.0 + x**2), [[-2.0], [2.0]])
    assert found.exact
    assert found.found == ()


def test_a_double_zero_stays_undecided():
    found = certified_count(FunctionFlow(lambda t, x: x**2), [[-2.0], [1.5]])
    assert not found.exact
    assert "at least 0 equilibria in the box, 1 undecided boxes" in repr(found)


def test_the_cap_on_boxes_is_reported():
    found = certified_count(FunctionFlow(lambda t, x: jnp.sin(3 * x)), [[-1.2, -1.2], [1.3, 1.3]], max_boxes=5)
    assert found.end == "boxes"
    assert "the cap on boxes was reached" in repr(found)
    assert not found.exact


def test_an_equilibrium_of_lorenz_is_a_certified_saddle():
    found = certified_equilibrium(Lorenz(), [8.4, 8.4, 27.0])
    exact = np.array([np.sqrt(8 / 3 * 27), np.sqrt(8 / 3 * 27), 27.0])
    assert np.max(np.abs(found.state - exact)) <= found.radius + 1e-14
    assert found.radius < 1e-12
    assert found.kind == "saddle"
    assert np.all(found.unique[0] < exact)
    assert np.all(exact < found.unique[1])


@pytest.mark.slow
def test_periodic_points_of_maps_are_counted():
    four = certified_count(Logistic(r=3.9), [[0.1], [1.0]], period=3)
    assert four.exact
    assert len(four.found) == 7  # the fixed point, and two orbits of period 3
    both = certified_count(Henon(), [[-2.0, -2.0], [2.0, 2.0]], period=2)
    assert both.exact
    assert len(both.found) == 4  # two fixed points, and one orbit of period 2
    assert {e.kind for e in both.found} == {"saddle"}


def test_on_the_sphere_an_equilibrium_is_certified_in_ambient_coordinates():
    found = certified_equilibrium(OjaFlow(np.diag([3.0, 2.0, 1.0])), [0.99, 0.05, 0.0])
    assert np.allclose(found.state, [1.0, 0.0, 0.0], atol=1e-14)
    assert found.kind == "stable"
    assert certified_equilibrium(OjaFlow(np.diag([3.0, 2.0, 1.0])), [0.05, 0.99, 0.0]).kind == "saddle"


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


def test_bad_input_is_one_sentence():
    loop = FunctionFlow(lambda t, x: jax.lax.while_loop(lambda y: y[0] < 1, lambda y: y + 1, x))
    with pytest.raises(ValueError, match="only operations that ball arithmetic can enclose, but uses `while`"):
        certified_equilibrium(loop, [0.0])
    with pytest.raises(ValueError, match="Argument `near` must be near a regular equilibrium"):
        certified_equilibrium(FunctionFlow(lambda t, x: 1.0 + x**2), [0.0])
    with pytest.raises(ValueError, match="Argument `period` must be 1 for a flow"):
        certified_equilibrium(DoubleWell(), [0.0], period=2)
    with pytest.raises(ValueError, match="Argument `system` must be on Euclidean space"):
        certified_count(OjaFlow(np.eye(3)), [[-1.0] * 3, [1.0] * 3])
