"""Nonlinear least squares: along a curved valley, to minima that are no roots, and from where nothing is finite."""

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.least_squares import least_squares


def test_minima_are_found_and_a_start_without_a_finite_residual_is_left():
    """Rosenbrock's valley leads to (1, 1), and z^2 + 1 has its least value, which is no root, at z = 0."""

    def residual(y):
        values = jnp.stack([10 * (y[1] - y[0] ** 2), 1 - y[0], y[2] ** 2 + 1])
        return jnp.where(y[0] < -3, jnp.nan, values)

    starts = np.array([[-1.2, 1.0, 1.0], [3.0, -2.0, -0.3], [-4.0, 0.0, 0.0]])
    found = np.asarray(jax.jit(jax.vmap(lambda y: least_squares(residual, y)))(starts))
    np.testing.assert_allclose(found[:2, :2], 1.0, atol=1e-9)
    assert np.all(np.abs(found[:2, 2]) < 1e-3)  # approached by a fixed factor in each step
    np.testing.assert_array_equal(found[2], starts[2])
