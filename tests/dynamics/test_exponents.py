"""Lyapunov exponents of many trajectories: closed forms, in lanes, by the kernel's text, and one by one."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import exponents
from analysis.dynamics.exponents import lyapunov_ensemble
from analysis.dynamics.lyapunov import lyapunov_spectrum
from dynsim.integrators import Diffrax
from dynsim.spaces import Circle, Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from tests.support.as_if_kernels import as_if_kernels
from tests.support.cuda_on_host import COMPILER, WHY_NOT


def saddle(t, x, k):
    """Rates k and -2k in turned axes; the second equation is forced, which does not change them."""
    u, v = (x[0] + x[1]) / 2, (x[0] - x[1]) / 2
    du, dv = k * u, -2 * k * v + jnp.cos(t)
    return jnp.stack([du + dv, du - dv])


FLOWS = [FunctionFlow(saddle, parameters={"k": k}) for k in (0.1, 0.2, 0.3)]
STARTS = np.array([[1.0, 0.0], [0.0, 1.0], [np.sqrt(0.5), -0.1]])
EXACT = np.array([[0.1, -0.2], [0.2, -0.4], [0.3, -0.6]])
OPTIONS = {"transient": 20.0, "interval": 0.5}


def test_linear_flows_have_their_rates():
    found = lyapunov_ensemble(FLOWS, STARTS, 20.0, **OPTIONS)
    assert found.solved == "in lanes, in JAX"
    np.testing.assert_allclose(found.exponents, EXACT, atol=1e-6)
    assert (found.errors < 1e-6).all()
    assert str(found) == "largest Lyapunov exponents of 3 trajectories from 0.1 to 0.3; 0 failed"


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)
def test_the_kernel_has_the_same_rates(monkeypatch):
    as_if_kernels(monkeypatch)
    again = lyapunov_ensemble(FLOWS, STARTS, 20.0, **OPTIONS)
    assert again.solved == "in lanes, by a kernel"
    np.testing.assert_allclose(again.exponents, EXACT, atol=1e-6)


@pytest.mark.slow
def test_chaotic_and_escaping_members():
    """Lorenz beside its own spectrum; an equation that escapes from one start only, and one on a sphere."""
    flows = [Lorenz(rho=rho) for rho in (28.0, 13.0)]
    found = lyapunov_ensemble(flows, np.ones((2, 3)), 100.0, count=2)
    for flow, row, error in zip(flows, found.exponents, found.errors, strict=True):
        alone = lyapunov_spectrum(flow, np.ones(3), 100.0, count=2)
        assert (np.abs(row - alone.exponents) < 5 * (error + alone.errors) + 1e-3).all()
    escaping = lyapunov_ensemble(FunctionFlow(lambda t, x: x**2), np.array([[1.0], [-1.0]]), 40.0)
    assert np.isnan(escaping.exponents[:, 0]).tolist() == [True, False]
    turn = FunctionFlow(lambda t, x: jnp.stack([-x[:, 1], x[:, 0]], axis=1), space=Sphere())
    sphere = lyapunov_ensemble(turn, np.array([[[0.6, 0.8]]]), 40.0)
    assert sphere.solved == "not in lanes, because the states lie on Sphere"
    np.testing.assert_allclose(sphere.exponents, 0, atol=1e-6)


def test_bad_ensembles_are_one_sentence():
    with pytest.raises(ValueError, match="Argument `flow` must be one flow or one for each of 3 starts, but holds 2"):
        lyapunov_ensemble(FLOWS[:2], STARTS)
    with pytest.raises(ValueError, match="Argument `duration` must be at least 20 intervals of 1, but is 10"):
        lyapunov_ensemble(FLOWS, STARTS, 10.0)
    with pytest.raises(ValueError, match="Argument `count` must be at most the dimension, 2, but is 3"):
        lyapunov_ensemble(FLOWS, STARTS, count=3, integrator=Diffrax())


def test_exponents_of_a_forced_flow_begin_after_the_transient_and_have_the_errors_of_their_blocks():
    flow = FunctionFlow(lambda t, x: -(1 + 0.5 * jnp.cos(t)) * x)
    found = lyapunov_ensemble(flow, np.ones((2, 1)), 20.0, transient=20.0)
    ends = np.arange(20.0, 41.0)
    blocks = -1 - 0.5 * np.diff(np.sin(ends))  # of one interval each
    assert found.exponents[:, 0] == pytest.approx(np.mean(blocks), rel=1e-6)
    assert found.errors[:, 0] == pytest.approx(np.std(blocks, ddof=1) / np.sqrt(20), rel=1e-5)
    usual, given = (lyapunov_ensemble(flow, np.ones((2, 1)), 30.0, interval=0.1, **o) for o in ({}, {"transient": 3.0}))
    assert np.array_equal(usual.exponents, given.exponents)


def test_each_member_that_is_followed_alone_has_its_own_flow_and_start(monkeypatch):
    def rates(flow, start, duration, **options):
        return SimpleNamespace(exponents=-flow.parameters["k"] * start, errors=np.full(1, duration))

    monkeypatch.setattr(exponents, "lyapunov_spectrum", rates)
    flows = [FunctionFlow(lambda t, x, k: k * x, Circle(), parameters={"k": k}) for k in (1.0, 2.0)]
    found = lyapunov_ensemble(flows, np.array([[1.0], [3.0]]), 40.0)
    assert found.solved == "not in lanes, because the states lie on Circle"
    assert found.exponents[:, 0].tolist() == [-1.0, -6.0]
    assert found.errors[:, 0].tolist() == [40.0, 40.0]
