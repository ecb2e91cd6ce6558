"""Densities on grids of equal area, clusters of them, and the growth rates of the uniform density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.tokens import density
from analysis.experiments.tokens.density import DensityConfig, growth_rate, plateaus, run_densities
from analysis.tokens.clusters import drift
from analysis.tokens.densities import DensityClusters, EqualAreaGrid, cluster_drift, density_clusters, merge_times
from analysis.tokens.growth_rates import fastest_degree, uniform_growth_rates
from dynsim.keys import random_key
from dynsim.spaces import Sphere
from dynsim.systems.schedules import Modulated
from dynsim.systems.tokens.flow import TokenFlow


@pytest.mark.parametrize("d", [2, 3])
def test_the_cells_have_equal_areas_and_hold_their_centres(d):
    grid = EqualAreaGrid(d, 500)
    assert abs(grid.cells - 500) <= 5
    np.testing.assert_array_equal(jax.jit(lambda x: grid.cell(x))(grid.centres()), np.arange(grid.cells))
    x = Sphere().sample(random_key(4, "x"), (40_000, d))
    shares = np.asarray(jax.jit(lambda x: grid.shares(x))(x))
    assert abs(shares.sum() - 1) < 1e-12
    np.testing.assert_allclose(shares * grid.cells, 1.0, atol=6 * np.sqrt(grid.cells / len(x)))  # standard errors
    degree = np.bincount(grid.neighbours().ravel(), minlength=grid.cells)
    assert degree.min() >= (2 if d == 2 else 3)
    assert degree.max() <= (2 if d == 2 else 9)  # as many as are around a square


def _blobs(grid, middles, sizes, width):
    near = [
        s * np.exp(-np.sum((grid.centres() - m) ** 2, axis=1) / (2 * width**2))
        for m, s in zip(middles, sizes, strict=True)
    ]
    return sum(near) / np.sum(near)


@pytest.mark.parametrize("d", [2, 3])
def test_clusters_of_a_density_have_their_masses_and_centres(d):
    grid = EqualAreaGrid(d, 4000)
    middles = np.array([[-1.0, 1e-9, 0.0], [0.6, 0.8, 0.0], [0.6, -0.8, 0.0]])[:, :d]  # the first where angles jump
    found = density_clusters(
        grid, 0.9 * _blobs(grid, middles, [5.0, 3.0, 2.0], 0.01 if d == 2 else 0.05) + 0.1 / grid.cells
    )
    np.testing.assert_allclose(found.masses, [0.45, 0.27, 0.18], rtol=0.05)
    np.testing.assert_allclose(found.centres, middles, atol=2e-3)
    assert len(density_clusters(grid, np.full(grid.cells, 1 / grid.cells)).masses) == 0


def test_background_below_four_times_the_uniform_share_and_light_clusters_are_left_out():
    grid, shares = EqualAreaGrid(2, 10_000), np.zeros(10_000)
    shares[10], shares[500], shares[1000:1004] = 1.2e-3, 0.9e-3, 0.39e-3
    np.testing.assert_allclose(density_clusters(grid, shares).masses, [1.2e-3])
    np.testing.assert_allclose(density_clusters(grid, shares, level=3.8).masses, [1.56e-3, 1.2e-3])
    np.testing.assert_allclose(density_clusters(grid, shares, least=5e-4).masses, [1.2e-3, 0.9e-3])


def test_clusters_drift_as_points_of_equal_mass_do():
    base = [[[4.0, 1.0, 0.0], [0.0, 3.0, 0.5], [0.2, 0.0, 2.0]], 2 * np.eye(3)]
    flow = TokenFlow(Modulated(base, 1.0, [1.0, 2.0, 0.5], 0.3), 0.7)
    x = np.asarray(Sphere().sample(random_key(4, "c"), (4, 3)))
    found, expected = cluster_drift(flow, DensityClusters(np.full(4, 0.25), x), 1.3), drift(flow, x, 1.3)
    np.testing.assert_allclose(found.velocities, expected.velocities, atol=1e-14)
    assert abs(found.rate - expected.rate) < 1e-13
    double = drift(flow, np.concatenate([x, x[:1]]), 1.3)  # the first of twice the mass
    heavy = cluster_drift(flow, DensityClusters(np.array([0.4, 0.2, 0.2, 0.2]), x), 1.3)
    np.testing.assert_allclose(heavy.velocities, double.velocities, atol=1e-14)


def test_merge_times_are_those_after_which_no_more_clusters_return():
    ts = np.arange(7.0)
    np.testing.assert_array_equal(merge_times(ts, [4, 3, 4, 2, 2, 1, 1]), [3.0, 3.0, 5.0])
    assert merge_times(ts, [2] * 7).size == 0


@pytest.mark.parametrize("beta", [1.0, 7.0])
def test_a_perturbed_circle_grows_as_the_mean_field_predicts(beta):
    n, degree, push = 200, 3, 1e-6
    flow = TokenFlow(beta * np.eye(2))
    angles = 2 * np.pi * np.arange(n) / n
    moved = angles + push * np.sin(degree * angles)  # the density has the Fourier coefficient of degree 3
    x = np.stack([np.cos(moved), np.sin(moved)], axis=1)
    field = jax.jit(lambda x: flow.vector_field(0.0, x))
    speeds = np.sum(np.asarray(field(x)) * np.stack([-x[:, 1], x[:, 0]], axis=1), axis=1)
    rate = 2 * np.mean(speeds * np.sin(degree * angles)) / push
    assert abs(rate - uniform_growth_rates(beta, 2, 5, scale=float(flow.scale))[degree]) < 1e-5 * rate


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_a_perturbed_sphere_grows_as_the_mean_field_predicts(degree):
    # the field of the density 1 + push P_l(z), by quadrature that is exact: nodes in z, and one meridian by symmetry
    beta, push = 5.0, 1e-6
    z, w = np.polynomial.legendre.leggauss(40)
    phi = 2 * np.pi * np.arange(80) / 80
    y = np.stack(
        [
            a.ravel()
            for a in np.broadcast_arrays(
                np.sqrt(1 - z**2)[:, None] * np.cos(phi), np.sqrt(1 - z**2)[:, None] * np.sin(phi), z[:, None]
            )
        ],
        axis=1,
    )
    legendre = np.polynomial.legendre.Legendre.basis(degree)
    mass = np.repeat(w * (1 + push * legendre(z)), len(phi))
    x = np.array([0.8, 0.0, 0.6])
    weights = mass * np.exp(beta * (y @ x))
    field = weights @ y / weights.sum()
    tangent = field - (field @ x) * x
    gradient = legendre.deriv()(0.6) * (np.array([0.0, 0.0, 1.0]) - 0.6 * x)
    factor = tangent @ gradient / (gradient @ gradient) / push  # of grad P_l, whose divergence is -l (l + 1) P_l
    expected = uniform_growth_rates(beta, 3, 5)[degree]
    assert abs(factor * degree * (degree + 1) - expected) < 1e-5 * expected


def test_larger_beta_makes_more_clusters():
    assert [fastest_degree(beta, 2) for beta in (0.5, 4.0, 25.0)] == [1, 3, 7]
    for beta in (100.0, 1e3, 1e4):
        assert fastest_degree(beta, 2) == np.argmax(uniform_growth_rates(beta, 2, 1000))


def test_plateaus_and_growth_rates_are_read_off():
    ts = np.arange(6.0)
    assert list(plateaus(ts, np.array([1, 3, 3, 2, 1, 1]))) == [2.0, 1.0]
    assert abs(growth_rate(ts, 0.01 * np.exp(0.3 * ts)) - 0.3) < 1e-12
    assert np.isnan(growth_rate(ts, np.ones(6)))


def test_a_rate_is_fitted_up_to_four_times_the_first_size():
    logarithms = np.array([0.0, 0.5, 0.8, 1.2, 1.5, 1.5, 1.5])  # above ln 4 from the fifth on
    assert growth_rate(np.arange(7.0), 0.01 * np.exp(logarithms)) == pytest.approx(0.37)  # (-0.5 + 1.2 + 3) / 10
    assert np.isnan(growth_rate(np.arange(7.0), np.array([1.0, 1, 5, 5, 5, 5, 5])))  # two points before


def test_shares_of_cells_and_moduli_of_coefficients_are_kept():
    grid = EqualAreaGrid(2, 8)
    kept = density._Kept(grid, 2)
    tokens = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    found = np.asarray(kept(jnp.asarray(0.0), jnp.asarray(tokens)))
    np.testing.assert_allclose(found[:8], np.bincount(np.asarray(grid.cell(tokens)), minlength=8) / 3)
    once = tokens[:, 0] + 1j * tokens[:, 1]
    np.testing.assert_allclose(found[8:], [abs(np.mean(once)), abs(np.mean(once**2))])


def test_every_ensemble_has_its_beta_and_starts_anew(tmp_path, monkeypatch):
    flows, starts = [], []

    def solved(flow, y0s, ts, kept, **options):
        flows.append(np.asarray(flow.query_key(0.0)))
        starts.append(np.asarray(y0s))
        return type("Found", (), {"values": np.zeros((2, 3, 4))})

    monkeypatch.setattr(density, "ensemble", solved)
    config = DensityConfig((1.0, 4.0), (5,), 2, 10.0, 8)
    for beta, key in ((1.0, random_key(0, "a")), (4.0, random_key(0, "b"))):
        density._values(config, beta, 5, EqualAreaGrid(2, 8), np.arange(3.0), key, tmp_path)
    np.testing.assert_array_equal(flows, [[np.eye(2)], [4 * np.eye(2)]])
    assert starts[0].shape == (2, 5, 2)
    assert not np.allclose(starts[0][0], starts[0][1])


def test_times_counts_and_rates_are_read_off_the_densities(tmp_path, monkeypatch):
    config, keys = DensityConfig((1.0, 4.0), (30, 60), 1, 100.0, 40), []
    one, two, light, uniform = np.zeros(120), np.zeros(120), np.full(120, 0.2 / 119), np.full(120, 1 / 120)
    one[3], two[[3, 60]], light[3] = 1.0, 0.5, 0.8

    def values(config, beta, n, grid, ts, key, folder):
        keys.append(jax.random.key_data(key).tolist())
        early = [uniform] * 6 + [two] * 2 + [uniform] * 2 + [two] * 6 + [light] * 4
        shares = np.stack(early + [one] * (len(ts) - 20))
        sizes = np.stack([np.ones(len(ts)), np.exp(0.7 * ts), np.exp(0.3 * ts)], axis=1)  # of degrees 1 to 3
        return np.concatenate([shares, sizes], axis=1)[None]

    monkeypatch.setattr(density, "_values", values)
    found = run_densities(config, random_key(0, "density"), tmp_path)
    ts = found["ts"]
    np.testing.assert_allclose(ts[:20], np.arange(20.0))  # one apart up to 20, then by a factor to the end
    np.testing.assert_allclose(ts[20:], 20 * 5 ** (np.arange(20) / 19))
    assert len({tuple(key) for key in keys}) == 4
    assert found["clusters"][0, 0, 0].tolist() == [0] * 6 + [2] * 2 + [0] * 2 + [2] * 6 + [1] * 24
    np.testing.assert_array_equal(found["time to one"], np.full((2, 2, 1), 20.0))  # 0.8 of the tokens are not all
    np.testing.assert_array_equal(found["plateau"], np.full((2, 2, 1), 6.0))
    assert found["degree"].tolist() == [fastest_degree(1.0, 2), 3]
    np.testing.assert_allclose(found["rate"][1], 0.3)  # of the degree that grows fastest at beta = 4
    scale = float(TokenFlow(np.eye(2)).scale)
    predicted = [uniform_growth_rates(beta, 2, 40, scale=scale).max() for beta in (1.0, 4.0)]
    np.testing.assert_allclose(found["predicted rate"], predicted)


def test_a_line_has_medians_and_the_middle_half():
    arrays = {
        "ts": np.array([0.0, 9.0]), "beta": np.array([2.0]), "tokens": np.array([7]), "degree": np.array([3]),
        "clusters": np.array([[[[4, 1], [5, 2], [2, 1], [2, 1], [2, 1], [2, 1]]]]), "predicted rate": np.array([0.25]),
        "time to one": np.array([[[0.0, 1, 2, 3, 4, np.nan]]]), "plateau": np.array([[np.full(6, 1.5)]]),
        "rate": np.array([[[0.1, 0.2, 0.3, 0.4, 0.5, np.nan]]]),
    }  # fmt: skip
    assert density.summarise_densities(arrays) == (
        "beta 2, n 7: one cluster in 5 of 6 at t = 2 [1, 3]; at most 5 clusters, longest plateau 1.5 [1.5, 1.5]; "
        "degree 3 grows at 0.3 [0.2, 0.4] (mean field 0.25)"
    )


@pytest.mark.slow
def test_the_experiment_finds_the_rate_of_the_mean_field(tmp_path):
    config = DensityConfig(betas=(2.0,), tokens=(4000,), members=4, end=30.0, frames=40)
    found = run_densities(config, random_key(0, "density"), tmp_path)
    rates = found["rate"][0, 0]
    assert abs(np.median(rates) - found["predicted rate"][0]) < 0.03 * found["predicted rate"][0]
    assert found["degree"][0] == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: EqualAreaGrid(4, 100), "`dimension` must be 2 or 3 for a grid of equal area, but is 4"),
        (lambda: EqualAreaGrid(3, 7), "`cells` must be at least 8"),
        (lambda: density_clusters(EqualAreaGrid(2, 8), np.ones(9)), "`shares` must have one number for each of 8"),
        (lambda: density_clusters(EqualAreaGrid(2, 8), np.ones(8), level=0.0), "`level` must be positive"),
        (lambda: uniform_growth_rates(1.0, 4, 3), "`dimension` must be 2 or 3"),
        (
            lambda: cluster_drift(TokenFlow(np.eye(3), np.eye(3)), DensityClusters(np.ones(1), np.eye(3)[:1])),
            "`flow` must have the value c I and live on a sphere",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
