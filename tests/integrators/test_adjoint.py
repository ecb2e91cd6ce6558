"""Values that do not count have no part in derivatives in reverse mode, and leave no NaN there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators.adjoint import without_derivative_unless


def _root(x):
    return jnp.sqrt(x), x > 0


def _kept(x):
    root, counts = without_derivative_unless(_root, x)
    return jnp.where(counts, root, 0.0)


@pytest.mark.parametrize(("x", "slope"), [(4.0, 0.25), (0.0, 0.0), (-1.0, 0.0)])
def test_what_does_not_count_has_derivative_zero(x, slope):
    assert float(jax.grad(_kept)(x)) == slope
    assert float(jax.jit(jax.grad(_kept))(x)) == slope


def test_each_member_of_a_batch_counts_by_itself():
    np.testing.assert_array_equal(jax.vmap(jax.grad(_kept))(jnp.asarray([4.0, -1.0, 1.0])), [0.25, 0.0, 0.5])


def test_without_it_the_derivative_is_not_a_number():
    bare = lambda x: jnp.where(_root(x)[1], _root(x)[0], 0.0)
    assert np.isnan(jax.grad(bare)(-1.0))
