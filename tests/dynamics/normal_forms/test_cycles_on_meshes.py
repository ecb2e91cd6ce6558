"""Normal forms of cycles from their collocation: a circle on which the solution is exact, closed forms beside it."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.collocation.intervals import CycleField, rule
from analysis.dynamics.normal_forms.collocated_cycles import OrbitOnMesh, cycle_coefficient
from dynsim.systems.base import FunctionFlow

Q, A, B = -0.7, 0.6, 0.9


def circle(field, size, sizes, multipliers):
    """The unit circle in the first two coordinates, gone round in 2 pi, on twelve uneven intervals."""
    mesh = 2 * np.pi * np.append(0.0, np.cumsum(np.tile([1.0, 1.3, 0.7], 4))) / 12
    inner = mesh[:-1, None] + np.diff(mesh)[:, None] * rule().c
    stages = np.zeros((*inner.shape, size))
    stages[..., 0], stages[..., 1] = np.cos(inner), np.sin(inner)
    given = CycleField(FunctionFlow(field), None, np.zeros(size))
    return OrbitOnMesh(
        given, mesh[:-1], np.diff(mesh), stages, 0.0, np.zeros((12, size)), True, np.array(sizes), multipliers
    )


def around(x, square, along):
    """Circles that move out by A times a square, and are passed faster with it; `along` is the velocity across them."""
    rest = 1 - x[0] ** 2 - x[1] ** 2
    out = rest + A * square
    whole = jnp.stack([out * x[0] - x[1], x[0] + out * x[1], *along(Q * square - B * rest)])
    return (1 + 0.5 * square + 0.3 * rest) * whole


@pytest.mark.parametrize("unit", [1.0, 4.0])
def test_a_cusp_has_the_cubic_term_at_the_radius_that_follows(unit):
    """The radius is 1 + A z^2 / 2, so that z' = (Q + A B) z^3; z is measured in a unit."""
    field = lambda t, x: around(x, x[2] ** 2, lambda growth: [growth * x[2]])
    found = cycle_coefficient("cusp", circle(field, 3, [1.0, 1.0, unit], np.array([1.0, np.exp(-4 * np.pi)])), 0.0)
    assert found.value == pytest.approx((Q + A * B) / unit**2, rel=1e-6)
    assert found.size >= abs(found.value)


def test_a_cusp_in_which_the_period_changes_with_the_radius():
    """Of the distance s from the circle: s' = Q s^3 + B z s, where z = A s^2 / 0.7; both change the speed."""

    def field(t, x):
        del t
        r, z = jnp.sqrt(x[0] ** 2 + x[1] ** 2), x[2]
        s = r - 1
        out, turn = (Q * s**3 + B * z * s) / r, 1 + 0.8 * s + 0.5 * z
        return jnp.stack([out * x[0] - turn * x[1], turn * x[0] + out * x[1], A * s**2 - 0.7 * z])

    found = cycle_coefficient("cusp", circle(field, 3, np.ones(3), np.array([1.0, np.exp(-1.4 * np.pi)])), 0.0)
    assert found.value == pytest.approx(Q + A * B / 0.7, rel=1e-6)


def test_a_pair_has_the_cubic_term_at_the_radius_that_follows():
    """The same of a number w that turns by 0.35 a unit of time; |w|^2 is twice that of the amplitude of the vector."""
    field = lambda t, x: around(
        x, x[2] ** 2 + x[3] ** 2, lambda growth: [growth * x[2] - 0.35 * x[3], 0.35 * x[2] + growth * x[3]]
    )
    turn = np.exp(0.7j * np.pi)
    at = circle(field, 4, [1.0, 1.0, 2.0, 2.0], np.array([turn, turn.conj(), np.exp(-4 * np.pi)]))
    found = cycle_coefficient("Neimark-Sacker point", at, 0.7 * np.pi)
    assert found.value == pytest.approx(2 * (Q + A * B) / 4, rel=1e-6)


def test_a_doubling_has_the_cubic_term_at_the_radius_that_follows():
    """The same of the distance u in a frame that makes half a turn; the distance v across it decays and shears u.

    The frame is that of the circle: at the radius 1 + A u^2 / 2 it mixes in the decay, which adds 0.3 A / 4, and
    drives v, which adds the square of the shear times A / 1.2. Without shear the change of the period has no effect.
    """
    shear = 0.2

    def field(t, x):
        del t
        square = ((1 + x[0]) * x[2] ** 2 + (1 - x[0]) * x[3] ** 2) / 2 + x[1] * x[2] * x[3]
        across = [x[0] * x[2] + x[1] * x[3], x[1] * x[2] - x[0] * x[3]]
        sheared = [(1 + x[0]) * x[3] - x[1] * x[2], x[1] * x[3] - (1 - x[0]) * x[2]]

        def along(growth):
            mean, half = (growth - 0.3) / 2, (growth + 0.3) / 2
            turned = [mean * x[2] - x[3] / 2, x[2] / 2 + mean * x[3]]
            return [a + half * b + shear / 2 * c for a, b, c in zip(turned, across, sheared, strict=True)]

        return around(x, square, along)

    at = circle(field, 4, [1.0, 1.0, 2.0, 2.0], np.array([-1.0, -np.exp(-0.6 * np.pi), np.exp(-4 * np.pi)]))
    expected = (Q + A * B + 0.3 * A / 4 + shear**2 * A / 1.2) / 4
    assert cycle_coefficient("period doubling", at, 0.0).value == pytest.approx(expected, rel=1e-6)
    other = at._replace(multipliers=np.array([-1.0, 1.0, 0.5]))
    assert "another multiplier is critical" in cycle_coefficient("period doubling", other, 0.0).why
