"""Noise against clustering: growth rates of harmonics, the threshold, the mean field, and the experiment."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ive

from analysis.experiments.tokens.noise import NOISE, noisy_tokens, starts
from analysis.tokens.noise import critical_amplitude, growth_rate, harmonic_ratio, polarisation, stationary_polarisation
from dynsim.integrators import EulerHeun
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate

N = 64


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "degree"), [(0.5, 1), (2.0, 2), (4.0, 1), (4.0, 3)])
def test_the_rates_are_those_of_the_linearised_tokens_on_a_fine_circle(beta, degree):
    angles = jnp.asarray(2 * np.pi * np.arange(N) / N)
    x, tangents = jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1), jnp.stack([-jnp.sin(angles), jnp.cos(angles)], -1)
    wave = jnp.sin(degree * angles)[:, None] * tangents
    drift = noisy_tokens(beta, 0.3, 2).drift
    _, pushed = jax.jvp(lambda y: drift(0.0, y), (x,), (wave,))
    along = jnp.sum(pushed * tangents, -1)
    np.testing.assert_allclose(along, growth_rate(beta, 0.0, degree) * jnp.sin(degree * angles), atol=1e-10)
    assert growth_rate(beta, 0.3, degree) == pytest.approx(growth_rate(beta, 0.0, degree) - degree**2 * 0.3**2 / 2)


def test_the_ratio_is_the_one_of_funk_and_hecke_on_the_sphere():
    legendre = (lambda t: 1.0, lambda t: t, lambda t: (3 * t * t - 1) / 2)
    whole, *others = (quad(lambda t, p=p: np.exp(3 * t) * p(t), -1, 1)[0] for p in legendre)
    for degree, part in enumerate(others, 1):
        assert harmonic_ratio(3.0, degree, 3) == pytest.approx(part / whole, rel=1e-10)
    assert growth_rate(3.0, 1.0, 2, 3) == pytest.approx(6 * (others[1] / whole / 3 - 0.5))


def test_the_first_harmonic_decides_the_threshold():
    for beta, dimension in ((0.3, 2), (5.0, 2), (5.0, 3), (5.0, 7)):
        at = critical_amplitude(beta, dimension)
        assert growth_rate(beta, at, 1, dimension) == pytest.approx(0.0, abs=1e-14)
        assert growth_rate(beta, at, 2, dimension) < 0
    assert critical_amplitude(1e-9, 3) == pytest.approx(np.sqrt(2 / 3))  # every token pulls alike: 2/d
    assert critical_amplitude(1e3, 2) == pytest.approx(np.sqrt(2 / 1e3), rel=1e-3)


@pytest.mark.slow
def test_the_stationary_density_is_uniform_above_the_threshold_only():
    betas = np.array([0.5, 4.0])
    critical = np.array([critical_amplitude(beta) for beta in betas])
    for share, low, high in ((0.3, 0.94, 1.0), (0.9, 0.3, 0.8), (1.1, 0.0, 1e-10)):
        found = np.diagonal(stationary_polarisation(betas, share * critical))
        assert np.all((found >= low) & (found <= high))


def test_the_mean_field_of_flat_scores_is_the_one_of_noisy_phase_oscillators():
    for amplitude in (0.5, 0.8):
        r = stationary_polarisation([1e-4], [amplitude])[0, 0]
        pull = 2 * r / amplitude**2  # of the density exp(pull cos x), as weights are 1 + beta cos (x - y)
        assert r == pytest.approx(ive(1, pull) / ive(0, pull), rel=1e-3)
    assert polarisation(jnp.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])) == pytest.approx(np.hypot(1.6, 1.8) / 3)


@pytest.mark.slow
def test_the_first_harmonic_of_many_tokens_decays_at_its_rate():
    beta, amplitude, n = 2.0, 1.2, 20_000
    rate = growth_rate(beta, amplitude)
    angles = np.linspace(0, 2 * np.pi, n, endpoint=False)
    x0 = jnp.stack([jnp.cos(angles - 0.5 * np.sin(angles)), jnp.sin(angles - 0.5 * np.sin(angles))], -1)
    flow = noisy_tokens(beta, amplitude, 2)
    mean = lambda x: np.asarray(x.mean(axis=0))[0]
    path = simulate(flow, x0[::20], [0.0, 0.5, 1.0], integrator=EulerHeun(0.02), key=random_key(0, "decay"))
    ratio = mean(path.ys[2]) / mean(path.ys[1])
    assert ratio == pytest.approx(np.exp(0.5 * rate), abs=0.12)  # sampling error (2 n)^{-1/2} / mean, n = 1000
    assert rate < 0


def test_one_start_is_uniform_and_the_other_a_cluster_at_the_first_axis():
    uniform, near = np.asarray(starts(random_key(0, "starts"), 2000, 3))
    np.testing.assert_allclose(np.linalg.norm(np.stack([uniform, near]), axis=-1), 1.0)
    assert np.linalg.norm(uniform.mean(axis=0)) < 6 / np.sqrt(2000)
    ahead, aside = near[:, 0], near[:, 1:]
    assert np.median(np.abs(aside / ahead[:, None])) == pytest.approx(0.0674, abs=0.008)  # of a normal with 0.1


def test_the_summary_measures_the_gap_to_the_mean_field_above_the_noise_of_few_tokens():
    arrays = {
        "betas": np.array([1.0]), "amplitudes": np.array([0.5, 2.0]), "tokens": np.array(100), "critical_2": np.ones(1),
        "order_2": np.array([[[[0.8, 0.9], [0.6, 0.7]], [[0.1, 0.12], [0.1, 0.1]]]]),
        "predicted_2": np.array([[0.75, 0.0]]),
    }  # fmt: skip
    text = NOISE.summary(arrays)
    assert "0.5: 0.70 0.80 (0.75)  2: 0.10 0.11 (0.00)" in text
    assert text.endswith("largest difference 0.05")  # 0.11 is 0.02 above sqrt(pi / 400), the mean without order


@pytest.mark.slow
def test_the_experiment_finds_both_phases_and_resumes(tmp_path):
    config = replace(
        NOISE.quick, betas=(1.0,), amplitudes=(0.3, 1.6), dimensions=(2, 3), tokens=24, seeds=2, end=8.0, step_size=0.1
    )
    found = NOISE.run(config, random_key(0, "small"), tmp_path)
    for d in (2, 3):
        order = found[f"order_{d}"]
        assert order.shape == (1, 2, 2, 2)
        assert np.all(order[0, 0, :, 1] > 0.8)  # from uniform starts some are not there yet
        assert np.all(order[0, 1] < 0.6)
    (tmp_path / "d2" / "part-00000.npz").unlink()
    again = NOISE.run(config, random_key(0, "small"), tmp_path)
    assert all(np.array_equal(found[name], again[name]) for name in found)
    text = NOISE.summary(found)
    assert "beta 1, critical sigma 0.945" in text
    assert "largest difference" in text
