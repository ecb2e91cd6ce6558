"""The short loop of a solve: the same floats and the same steps as diffrax's own."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators.adjoint import Checkpointed, prevbefore


def neighbours(end, count):
    tiny = np.finfo(end.dtype).tiny
    for _ in range(count):
        end = np.nextafter(end, np.asarray(-np.inf, end.dtype)) if end else -tiny
    return end


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("end", [15.0, 1.0, 0.0, -2.5])
def test_a_float_below_is_the_neighbour_of_neighbours(end, dtype):
    end = np.asarray(end, dtype)
    for count in (1, 100):
        below, found = prevbefore(jnp.asarray(end)), neighbours(end, count)
        for _ in range(count - 1):
            below = prevbefore(below)
        assert below.value() == found
        assert below.value().dtype == dtype
        assert not jnp.asarray(found) > below
        assert jnp.asarray(np.nextafter(found, found + 1)) > below


def solved(adjoint, rate):
    field = lambda t, y, rate: rate * y * (1 - y)
    return dfx.diffeqsolve(
        dfx.ODETerm(field), dfx.Tsit5(), jnp.asarray(-3.0), jnp.asarray(2.0), None, jnp.asarray([0.01, 0.5]), rate,
        saveat=dfx.SaveAt(ts=jnp.asarray([-3.0, -1.0, 2.0])), adjoint=adjoint, max_steps=100,
        stepsize_controller=dfx.PIDController(rtol=1e-6, atol=1e-8),
    )  # fmt: skip


def _kept(solution):
    return solution.ys, solution.stats


def test_steps_and_states_are_those_of_diffrax():
    ways = (Checkpointed(), dfx.RecursiveCheckpointAdjoint())
    runs = [jax.jit(lambda rate, way=way: _kept(solved(way, rate))) for way in ways]
    assert jax.tree.all(jax.tree.map(np.array_equal, *(run(jnp.asarray(2.0)) for run in runs)))


def test_the_loop_has_fewer_operations():
    size = lambda way: len(str(jax.make_jaxpr(lambda rate: solved(way, rate).ys)(jnp.asarray(2.0))).splitlines())
    assert size(Checkpointed()) + 100 < size(dfx.RecursiveCheckpointAdjoint())
