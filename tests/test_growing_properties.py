"""The growing system: its invariances, both integrators through its events, and its arrays of fixed size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.keys import stream
from dynsim.systems.growing.forces import head_forces
from dynsim.systems.prototypes.assignments import distance_variance
from dynsim.systems.prototypes.losses import PrototypeLoss
from tests.test_growing import D, N


def draw(name: str, *shape: int) -> np.ndarray:
    return np.asarray(jax.random.normal(stream(3, name), shape))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("gradient", "reduction"), [("full", "mean"), ("frozen", "sum")])
def test_the_forces_of_all_heads_are_the_gradients_and_variances_of_each(gradient, reduction, shared):
    loss = PrototypeLoss(gradient, barrier=0.2, ridge=0.3, reduction=reduction)
    z, p, T = jnp.asarray(draw("z", 3, N, D)) + 5, jnp.asarray(draw("p", 3, 4, D)) + 5, jnp.asarray([0.3, 1.0, 2.0])
    z = jnp.broadcast_to(z[:1], z.shape) if shared else z
    found = head_forces(loss, z[0] if shared else z, p, T)
    expected = (*jax.vmap(loss.gradients)(z, p, T), jax.vmap(distance_variance)(z, p, T))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
