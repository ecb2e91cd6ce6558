"""Powers of two against longer floats, at the ends of their range, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.systems.tokens.interactions.powers import power_of_two

FROM_TO = {np.float32: (-126, 127), np.float64: (-1022, 1023)}


@pytest.mark.parametrize("kind", FROM_TO)
def test_powers_are_right_to_a_rounding_over_the_whole_range(kind):
    t = np.concatenate([np.linspace(*FROM_TO[kind], 20_001), np.linspace(-1, 1, 2001)]).astype(kind)
    found = np.asarray(power_of_two(jnp.asarray(t)))
    assert found.dtype == kind
    apart = np.abs(found / np.exp2(t.astype(np.longdouble)) - 1)
    assert np.max(apart) < 2 * np.finfo(kind).eps
    assert np.all(found[t == np.round(t)] == np.exp2(t[t == np.round(t)].astype(float)).astype(kind))


@pytest.mark.parametrize("kind", FROM_TO)
def test_a_hidden_score_has_no_weight_and_nan_stays(kind):
    low = FROM_TO[kind][0]
    found = np.asarray(power_of_two(jnp.asarray([-np.inf, 10 * low, low - 1, np.nan], kind)))
    assert np.all(found[:3] == 0)
    assert np.isnan(found[3])


def test_derivatives_of_first_and_second_order():
    rate = np.log(2)
    assert abs(jax.grad(power_of_two)(jnp.asarray(1.5)) - rate * 2**1.5) < 1e-14
    assert abs(jax.grad(jax.grad(power_of_two))(jnp.asarray(-0.3)) - rate**2 * 2**-0.3) < 1e-14
    assert jax.grad(power_of_two)(jnp.asarray(-jnp.inf)) == 0
