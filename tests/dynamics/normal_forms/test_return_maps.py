"""Maps between oblique sections of a flow with a closed form: their derivatives to third order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.normal_forms import return_maps
from analysis.dynamics.normal_forms.return_maps import ReturnChart
from dynsim.systems.base import FunctionFlow

pytestmark = pytest.mark.retraced

SHEAR = 0.5


def spiral(t, x):
    """The equations r' = r (1 - r^2) and theta' = 1 + a (r^2 - 1) of polar coordinates."""
    square = x @ x
    return (1 - square) * x + (1 + SHEAR * (square - 1)) * jnp.stack([-x[1], x[0]])


def after(x, t):
    """The solution: 1 / r^2 - 1 decays as exp(-2 t), and the angle grows by t - a ln(r(t) / r(0))."""
    square = x @ x
    grown = 1 / jnp.sqrt(square + (1 - square) * jnp.exp(-2 * t))
    angle = t - SHEAR * jnp.log(grown)
    c, s = jnp.cos(angle), jnp.sin(angle)
    return grown * jnp.stack([c * x[0] - s * x[1], s * x[0] + c * x[1]])


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    solved = lambda x, *, field, begin, end, rtol: after(x, end - begin)
    monkeypatch.setattr(return_maps, "_solved", solved)


def derivatives(function):
    """The value and the first three derivatives at 0 of a function of one coordinate."""
    orders = [function]
    for _ in range(3):
        orders.append(lambda u, f=orders[-1]: jax.jvp(f, (u,), (jnp.ones(1),))[1])
    return np.concatenate(jax.jit(lambda u: [f(u) for f in orders])(jnp.zeros(1)))


def test_maps_between_sections_have_the_derivatives_of_the_closed_form():
    """The coordinate v and the delay s solve phi(x + b u, T + s) = y + c v; each iteration gains one order in u."""
    x, b, duration = jnp.asarray([1.5, 0.0]), jnp.asarray([0.8, 0.6]), 0.3
    y = after(x, duration)
    v = spiral(0.0, y)
    c = jnp.stack([-v[1], v[0]]) / jnp.linalg.norm(v)

    def implicit(u):
        miss = lambda u, z: after(x + b * u[0], duration + z[1]) - y - c * z[0]
        slope, z = jax.jacfwd(miss, argnums=1)(jnp.zeros(1), jnp.zeros(2)), jnp.zeros(2)
        for _ in range(3):
            z = z - jnp.linalg.solve(slope, miss(u, z))
        return z[:1]

    chart = ReturnChart(
        FunctionFlow(spiral), x, b[:, None], duration, 1e-9, forced=False, onto=(y, c[:, None]), begin=0.5
    )
    assert derivatives(chart) == pytest.approx(derivatives(implicit), rel=1e-9, abs=1e-9)


def test_the_map_of_a_forced_flow_is_that_over_its_time():
    x, turn = jnp.asarray([0.5, 0.2]), jnp.asarray([[0.6, -0.8], [0.8, 0.6]])
    chart = ReturnChart(FunctionFlow(spiral), x, turn, 1.5, 1e-9, forced=True)
    u = jnp.asarray([0.1, -0.3])
    np.testing.assert_allclose(chart(u), turn.T @ (after(x + turn @ u, 1.5) - x), rtol=1e-12)
