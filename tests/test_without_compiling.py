"""Answers computed by NumPy, for commands that end with one answer, are those of compiled programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.dop853 import A, C, STAGES
from analysis.dynamics.equilibria import equilibria
from analysis.dynamics.lyapunov import lyapunov_spectrum
from analysis.dynamics.numpy_least_squares import least_squares
from analysis.dynamics.numpy_solver import follow, sampled
from analysis.dynamics.periodic_orbits import periodic_orbit
from analysis.dynamics.phase_plane import phase_plane
from dynsim.programs import Programmed, without_compiling
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.catalogue.oscillators import VanDerPol

PLANES = ("van-der-pol", "fitzhugh-nagumo", "duffing", "pendulum", "lotka-volterra", "brusselator")


def both(compute):
    """Return what a function computes by compiled programs and by NumPy."""
    compiled = compute()
    with without_compiling():
        return compiled, compute()


@pytest.mark.parametrize("name", [n if n == "van-der-pol" else pytest.param(n, marks=pytest.mark.slow) for n in PLANES])
def test_a_portrait_shows_the_same(name):
    entry = CATALOGUE[name]
    one, other = both(lambda: phase_plane(entry.system(), entry.box, trajectories=4, grid=21))
    assert repr(one) == repr(other)
    assert np.allclose(one.velocity, other.velocity, rtol=1e-13, atol=1e-13)
    assert one.forced == other.forced
    size = np.ptp(np.reshape(entry.box, (-1, 2)), axis=1)
    for curves, others in zip(one[10:13], other[10:13], strict=True):
        assert np.array_equal(np.isnan(curves), np.isnan(others))
        assert np.all(np.nan_to_num(np.abs(curves - others)) < 1e-3 * size)
    for path, again in zip(one.cycles, other.cycles, strict=True):
        assert np.max(np.abs(path[:, None] - again[None, ::20]).max(2).min(0)) < 1e-2 * np.max(size)


def test_nothing_is_compiled_for_a_portrait(capfd):
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], 0.71 * (1 - x[0] ** 2) * x[1] - x[0]]))
    with jax.log_compiles(), without_compiling():
        phase_plane(flow, (-3.0, 3.0, -3.0, 3.0), grid=17)
    said = capfd.readouterr().err
    assert not [row for row in said.splitlines() if "Finished XLA compilation of jit(run)" in row or "_observe" in row]
