"""Solves within programs: steps in closed form for an error that counts as zero, and the accuracy of the default."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators.embedded import solve_within

JUMP = 1 / 3


@jax.jit
def _steps():
    field = lambda t, y, args: jnp.stack([jnp.where(t < JUMP, 1.0, -1.0), 1e3 * jnp.cos(50 * t)])
    found = solve_within(
        field, jnp.zeros(()), jnp.ones(()), jnp.zeros(2),
        rtol=1e-6, first=jnp.asarray(1e-3), longest=jnp.asarray(0.15), jumps=jnp.asarray([JUMP]),
        norm=lambda error: jnp.zeros(()), saveat=dfx.SaveAt(t0=True, steps=True), max_steps=64,
    )  # fmt: skip
    return found.ts, found.ys


@pytest.mark.slow
def test_steps_begin_as_given_grow_to_the_longest_and_end_at_jumps():
    """A step is ten times the one before, the most that diffrax allows, as the norm says that there is no error."""
    ts, ys = (np.asarray(a) for a in _steps())
    known = np.isfinite(ts)
    ts, ys = ts[known], ys[known, 0]
    np.testing.assert_allclose(ts[:5], [0.0, 0.001, 0.011, 0.111, 0.261], atol=1e-14)
    assert np.min(np.abs(ts - JUMP)) <= 1e-15
    assert np.max(np.diff(ts)) <= 0.15 + 1e-14
    np.testing.assert_allclose(ys, np.where(ts < JUMP, ts, 2 * JUMP - ts), atol=1e-14)


@pytest.mark.slow
def test_the_absolute_tolerance_is_a_hundredth_of_the_relative_one():
    """A state of size 1e-9 is below it, so that the steps grow as if there were no error; one of size 1 is not."""
    turn = lambda t, y, args: 10.0 * jnp.stack([y[1], -y[0]])
    solved = lambda size: solve_within(turn, jnp.zeros(()), jnp.ones(()), size * jnp.asarray([0.0, 1.0]), rtol=1e-5)
    found = jax.jit(jax.vmap(lambda size: (lambda s: (s.stats["num_accepted_steps"], s.ys[0]))(solved(size))))
    counts, ends = found(jnp.asarray([1e-9, 1e-5, 1.0]))
    assert counts[0] < counts[1] < counts[2]
    np.testing.assert_allclose(ends[2], [np.sin(10.0), np.cos(10.0)], atol=1e-4)
    np.testing.assert_allclose(
        ends[1] / 1e-5, [np.sin(10.0), np.cos(10.0)], atol=0.1
    )  # some ten steps, each wrong by 1e-2
