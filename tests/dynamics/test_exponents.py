"""Lyapunov exponents of many trajectories: closed forms, in lanes, by the kernel's text, and one by one."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics import exponents
from analysis.dynamics.exponents import lyapunov_ensemble, lyapunov_spectra
from analysis.dynamics.lyapunov import lyapunov_spectrum
from dynsim.integrators import Diffrax
from dynsim.spaces import Circle, Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.maps import Logistic
from tests.support.as_if_kernels import as_if_kernels
from tests.support.cuda_on_host import COMPILER, WHY_NOT


def saddle(t, x, k):
    """Rates k and -2k in turned axes; the second equation is forced, which does not change them."""
    u, v = (x[0] + x[1]) / 2, (x[0] - x[1]) / 2
    du, dv = k * u, -2 * k * v + jnp.cos(t)
    return jnp.stack([du + dv, du - dv])


FLOWS = [FunctionFlow(saddle, parameters={"k": k}) for k in (0.1, 0.2)]
STARTS = np.array([[1.0, 0.0], [np.sqrt(0.5), -0.1]])
EXACT = np.array([[0.1, -0.2], [0.2, -0.4]])
OPTIONS = {"transient": 20.0, "interval": 0.5}


def test_linear_flows_have_their_rates():
    found = lyapunov_ensemble(FLOWS, STARTS, 20.0, **OPTIONS)
    assert found.solved == "in lanes, in JAX"
    np.testing.assert_allclose(found.exponents, EXACT, atol=1e-6)
    assert (found.errors < 1e-6).all()
    assert str(found) == "largest Lyapunov exponents of 2 trajectories from 0.1 to 0.2; 0 failed"


def test_spectra_in_lanes_are_those_of_each_system():
    found = lyapunov_spectra(FLOWS, STARTS[0], 20.0, **OPTIONS)
    assert found.solved == "in lanes, in JAX"
    alone = lyapunov_spectrum(FLOWS[1], STARTS[0], 20.0, **OPTIONS)
    both = found.spectra[1], alone
    assert {(one.converged, one.resolved, one.running.shape) for one in both} == {(True, (True, True), (40, 2))}
    for name in ("exponents", "errors", "times", "running"):
        np.testing.assert_allclose(getattr(both[0], name), getattr(alone, name), atol=2e-7)
    assert [str(one) for one in found.spectra] == str(found).splitlines()
    np.testing.assert_allclose([one.exponents for one in found.spectra], EXACT, atol=1e-6)


def test_spectra_of_maps_that_are_iterated_together():
    """One has a period, one is chaotic, one is superstable and left to itself, and one escapes."""
    maps = [Logistic(r) for r in (2.5, 3.9, 2.0, 4.5)]
    found = lyapunov_spectra(maps, [0.3], 1000)
    assert found.solved == (
        "3 in lanes, in JAX; others not in lanes, because a factor may be lost in rounding, or the trajectory escapes"
    )
    for k, one in enumerate(found.spectra):
        alone = lyapunov_spectrum(maps[k], [0.3], 1000)
        assert (one.converged, one.reason, one.resolved) == (alone.converged, alone.reason, alone.resolved)
        np.testing.assert_allclose(one.exponents, alone.exponents, atol=3 * float(np.nan_to_num(alone.errors[0])))
    np.testing.assert_allclose(found.spectra[0].exponents, np.log(0.5), atol=1e-9)
    assert found.spectra[2].resolved == (False,)


@pytest.mark.slow
def test_spectra_that_lanes_leave_to_others():
    flows = [FunctionFlow(saddle, parameters={"k": k}) for k in (0.1, 6.0)]  # exp(-12) is near the tolerance
    found = lyapunov_spectra(flows, STARTS[0], 40.0, count=1, rtol=1e-6)
    assert found.solved == "in lanes, in JAX"
    assert len(found.spectra[1].times) == len(found.spectra[0].times)
    deep = lyapunov_spectra(flows, STARTS[0], 40.0, rtol=1e-6)
    assert len(deep.spectra[1].times) >= 4 * len(deep.spectra[0].times)
    np.testing.assert_allclose(deep.spectra[1].exponents, [6.0, -12.0], atol=1e-5)
    square = lambda t, x, k: k * x**2
    escaping = [FunctionFlow(square, parameters={"k": k}) for k in (-1.0, 1.0)]
    found = lyapunov_spectra([*escaping, FunctionFlow(lambda t, x: -x)], [1.0], 40.0)
    assert found.spectra[0] is not None
    assert found.spectra[1] is None or np.isnan(found.spectra[1].exponents).all()
    assert found.solved.startswith("1 in lanes, in JAX; others not in lanes, because ")


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


def test_a_factor_that_the_tolerance_hides_is_found_by_shorter_intervals_or_not_told():
    """Rates -1 and -40: within a unit of time the second vector shrinks to 4e-18."""
    flow = FunctionFlow(lambda t, x: jnp.stack([-x[0] + 0.3 * x[1], -40 * x[1]]))
    found = lyapunov_ensemble(flow, np.ones((1, 2)), 20.0)
    np.testing.assert_allclose(found.exponents, [[-1.0, -40.0]], rtol=1e-6)
    assert (found.errors < 1e-6).all()
    given = lyapunov_ensemble(flow, np.ones((1, 2)), 20.0, interval=1.0).exponents[0]
    assert given[0] == pytest.approx(-1.0, rel=1e-6)
    assert np.isnan(given[1])


def test_bad_ensembles_are_one_sentence():
    with pytest.raises(ValueError, match="Argument `flow` must be one flow or one for each of 3 starts, but holds 2"):
        lyapunov_ensemble(FLOWS, np.ones((3, 2)))
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
        found = -flow.parameters["k"] * start
        return SimpleNamespace(exponents=found, errors=np.full(1, duration), resolved=(options["interval"] < 1,))

    monkeypatch.setattr(exponents, "lyapunov_spectrum", rates)
    flows = [FunctionFlow(lambda t, x, k: k * x, Circle(), parameters={"k": k}) for k in (1.0, 2.0)]
    found = lyapunov_ensemble(flows, np.array([[1.0], [3.0]]), 40.0)
    assert found.solved == "not in lanes, because the states lie on Circle"
    assert found.exponents[:, 0].tolist() == [-1.0, -6.0]
    assert found.errors[:, 0].tolist() == [40.0, 40.0]


def test_exponents_of_many_trajectories_are_the_same_in_units_far_apart():
    """A tolerance and tangent vectors in units of 1e-6 and of 1e6 at once took minutes, and gave no answer."""
    units, A = np.array([1e-6, 1e6]), jnp.asarray([[-0.2, 0.1], [0.0, -1.0]])
    flow = FunctionFlow(lambda t, x: units * (A @ (x / units)))
    found = lyapunov_ensemble(flow, np.array([[1.0, 0.5], [0.2, 1.0]]) * units, 40.0, transient=0.0)
    np.testing.assert_allclose(found.exponents, [[-0.2, -1.0]] * 2, atol=0.03)  # of 40 units of time
