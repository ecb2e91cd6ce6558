"""Measures that are a largest or a smallest value over parts: each is that of the parts, taken one by one.

The parts are unequal, some of them vanish, and the decisive one stands at every place and has either sign.
"""

import itertools
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.chains.lumping import lumping
from analysis.chains.mixing import mixing_time, total_variation
from analysis.chains.relaxation import Relaxation
from analysis.chains.reversibility import reversibility
from analysis.chains.stationary import _residual, stationary_distribution
from analysis.dynamics.convergence import worst_increase
from analysis.growing.step_sizes import gradient_lipschitz
from analysis.hardmax.candidates import support_gap
from analysis.hardmax.polytopes import polytope
from analysis.networks.leaks import worst_leak
from analysis.tokens.clusters import merging
from analysis.tokens.consensus import (
    antipode_distance,
    diameter,
    distance_to_point,
    effective_rank,
    min_inner_product,
    misalignment,
)
from analysis.tokens.densities import EqualAreaGrid, density_clusters, merge_times
from analysis.tokens.energies import hemisphere_lyapunov, hemisphere_lyapunov_rate, upper_dini
from analysis.tokens.hemispheres import margin_along
from dynsim.errors import Outcome
from dynsim.integrators import Stats
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Ellipsoid, Euclidean, Product, Simplex, Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.master_equation.generators import generator_from_rates
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.schedules import Constant, Modulated, PiecewiseConstant, ScaledIdentity

RNG = np.random.default_rng(4)
TOKENS = RNG.normal(size=(5, 3)) * np.array([[0.1], [3.0], [1.0], [0.5], [2.0]])
TURNS = [np.roll(np.arange(5), k) for k in range(5)]
"""Orders in which each token is the first, and each is the last."""


@pytest.mark.parametrize("order", TURNS, ids=str)
def test_distances_and_products_of_tokens(order):
    x, v = TOKENS[order], np.array([0.3, -0.2, 1.0])
    pairs = list(itertools.product(x, x))
    found = [float(fn(jnp.asarray(x))) for fn in (diameter, min_inner_product)]
    assert found == pytest.approx([max(np.linalg.norm(a - b) for a, b in pairs), min(a @ b for a, b in pairs)])
    along = [fn(jnp.asarray(x), jnp.asarray(v)) for fn in (distance_to_point, margin_along, hemisphere_lyapunov)]
    assert along == pytest.approx([max(np.linalg.norm(a - v) for a in x), min(x @ v), max(1 - x @ v)])
    opposite = antipode_distance(jnp.asarray(x))
    assert float(opposite) == pytest.approx(min(np.linalg.norm(a + x[0]) for a in x[1:]))
    assert float(antipode_distance(jnp.asarray(x[:1]))) == np.inf
    away = 1 - np.mean([abs(a @ x[0]) / np.linalg.norm(a) / np.linalg.norm(x[0]) for a in x])
    assert float(misalignment(jnp.asarray(x))) == pytest.approx(away)
    shares = np.linalg.svd(x, compute_uv=False) ** 2 / np.sum(x**2)
    for tokens in (x, x.T):
        assert float(effective_rank(jnp.asarray(tokens))) == pytest.approx(np.exp(-shares @ np.log(shares)))
    metric = np.array([[2.0, 1.0, 0.0], [-3.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    least = min(a @ metric @ b for a, b in pairs)
    assert float(min_inner_product(jnp.asarray(x), jnp.asarray(metric))) == pytest.approx(least)
    speeds = RNG.normal(size=(5, 3))
    flow = FunctionFlow(lambda t, x: jnp.asarray(speeds))
    for tolerance in (0.0, 1.0):
        near = 1 - x @ v >= max(1 - x @ v) - tolerance
        found = hemisphere_lyapunov_rate(flow, 0.0, jnp.asarray(x), jnp.asarray(v), tolerance=tolerance)
        assert float(found.rate) == pytest.approx(max(-(speeds @ v)[near]))
        assert found.active.tolist() == near.tolist()
    values, rates = np.array([1.0, 3.0, 2.0, 3.0, 3.0 - 1e-9])[order], np.array([9.0, -1.0, 7.0, -2.0, 5.0])[order]
    assert float(upper_dini(values, rates).rate) == -1.0
    assert float(upper_dini(values, rates, tolerance=1e-6).rate) == 5.0


@pytest.mark.parametrize("order", TURNS, ids=str)
def test_approaches_and_imbalances_of_clusters(order):
    pulls = RNG.normal(size=(5, 7, 3)) * np.array([0.0, 1e-3, 1.0, 1.0, 1.0])[:, None, None]
    pulls[2] += 3.0  # of one direction: little cancels
    found = merging(TOKENS[order], pulls[order])
    v = pulls.sum(axis=1)
    rates = [
        -(TOKENS[i] - TOKENS[j]) @ (v[i] - v[j]) / np.sum((TOKENS[i] - TOKENS[j]) ** 2)
        for i, j in itertools.combinations(range(5), 2)
    ]
    assert found.rate == pytest.approx(max(rates))
    shares = [np.linalg.norm(p.sum(axis=0)) / np.sum(np.linalg.norm(p, axis=1)) for p in pulls[1:]]
    assert found.imbalance == pytest.approx(max(shares))
    np.testing.assert_allclose(found.velocities, v[order], rtol=1e-12)


@pytest.mark.parametrize("sizes", [(1.0, 0.7), (0.7, 1.0), (1.2, 1.0, 1.0), (1.0, 0.9, 1.3), (1.0, 1.0, 0.5)], ids=str)
def test_defects_of_points_beside_their_space_and_of_parts_of_a_product(sizes):
    worst = max(abs(size - 1) for size in sizes)
    metric = np.diag([1.0, 2.0, 5.0])
    units, count = np.eye(3), len(sizes)
    spaces = [
        (Sphere(), units),
        (Ellipsoid(metric), units / np.sqrt(np.diag(metric))[:, None]),
        (Simplex(), units / 2 + 1 / 6),
    ]
    for space, points in spaces:
        off = np.array(sizes)[:, None] * points[:count]
        assert float(space.defect(jnp.asarray(off))) == pytest.approx(worst)
        parts = tuple(jnp.asarray(row[None]) for row in off)
        assert float(Product((space,) * count).defect(parts)) == pytest.approx(worst)
    assert float(Product((Euclidean(), Sphere())).defect((jnp.ones(2), jnp.array([0.0, 1.5])))) == pytest.approx(0.5)
    negative = jnp.array([[0.5, 0.5, 0.0], [1.3, -0.3, 0.0], [0.7, 0.4, -0.1]])
    assert float(Simplex().defect(negative)) == pytest.approx(0.3)


def test_bounds_of_schedules_are_the_largest_norms_of_their_matrices():
    """Spectral norms, of matrices with several singular values, whichever layer or head has the largest."""
    for place in range(3):
        layers = RNG.normal(size=(3, 2, 3, 3))
        layers[place, 1] *= 5
        largest = max(np.linalg.svd(m)[1][0] for m in layers.reshape(-1, 3, 3))
        assert PiecewiseConstant(layers).norm_bound() == pytest.approx(largest)
        assert Constant(layers[place]).norm_bound() == pytest.approx(largest)
        factors = np.roll([0.5, -3.0, 1.0], place)
        assert ScaledIdentity(factors, 2).norm_bound() == 3.0
        waves = Modulated(np.eye(2)[None] * np.ones((3, 1, 1)), 1.0, np.stack([factors, 0 * factors], axis=1), 0.0)
        assert waves.fastest_period() == pytest.approx(2 * np.pi / 3)
    assert Modulated(np.eye(2), 1.0, [0.0, -4.0], 0.0, rectified=True).fastest_period() == pytest.approx(np.pi / 4)


def test_defects_of_lumping_are_the_largest_differences_within_blocks():
    rates = RNG.integers(0, 6, (6, 6)) * (1 - np.eye(6, dtype=int))
    exact = np.vectorize(Fraction, otypes=[object])(rates)
    for labels in ([0, 0, 1, 1, 1, 2], [1, 0, 2, 0, 2, 1]):
        blocks = np.array(labels)
        for Q in (generator_from_rates(rates.astype(float)), generator_from_rates(exact)):
            found, members = lumping(Q, blocks), [np.flatnonzero(blocks == b) for b in range(3)]
            into = np.array([[Q[m, j].sum() for j in range(6)] for m in members])
            out = np.array([[Q[i, m].sum() for i in range(6)] for m in members])
            for defect, sums in ((found.ordinary_defect, into), (found.exact_defect, out)):
                assert float(defect) == float(max(np.ptp(row[m].astype(float)) for row in sums for m in members))
            mean = np.array([[into[a, m].sum() / len(m) for m in members] for a in range(3)])
            np.testing.assert_allclose(found.generator.astype(float), mean.astype(float), rtol=1e-14)


@pytest.mark.parametrize("distance", [0.1, 0.25, 0.4])
def test_a_chain_is_mixed_when_the_last_of_all_starts_is(distance):
    """With a start in a corner that is far from the others, and rates that differ by their direction."""
    Q = generator_from_rates([[0.0, 0.05, 0.0, 1.0], [0.02, 0.0, 3.0, 0.0], [0.0, 1.0, 0.0, 2.0], [2.0, 0.0, 0.5, 0.0]])
    found, p = mixing_time(Q, distance=distance), stationary_distribution(Q).probabilities
    values, vectors = np.linalg.eig(Q)
    at = lambda t: np.real(vectors * np.exp(values * t) @ np.linalg.inv(vectors))
    furthest = lambda t: max(float(total_variation(at(t)[:, j], p)) for j in range(4))
    assert furthest(found.lower * (1 - 1e-9)) >= distance >= furthest(found.upper * (1 + 1e-9))
    assert found.upper - found.lower <= 2**-15 * found.upper
    assert found.distance == distance


def test_what_a_chain_reports_is_that_of_its_worst_state():
    shares = np.array([[0.5, 0.5, 0.0], [0.7, 0.6, -0.25], [0.2, 0.2, 0.3]])
    for order in itertools.permutations(range(3)):
        found = Relaxation(np.arange(3.0), shares[list(order)], np.zeros(3), "none")
        assert found.mass_defect == pytest.approx(0.3)
        assert found.most_negative == 0.25
    rates = np.array([[0.0, 2.0, 5.0], [3.0, 0.0, 1.0], [4.0, 7.0, 0.0]])
    Q, p = generator_from_rates(rates), np.array([0.2, 0.5, 0.3])
    through = np.sum(rates, axis=0) * p
    assert _residual(Q, p) == pytest.approx(max(abs(Q @ p) / through))
    found = reversibility(Q)
    weights = np.exp(found.log_weights.astype(float))
    off = np.abs(np.log(rates * weights + np.eye(3)) - np.log(rates * weights + np.eye(3)).T)
    assert found.violation == pytest.approx(np.max(off))
    assert found.accumulated == pytest.approx(np.sum(np.max(off, axis=0)))
    assert off[found.edge] == pytest.approx(np.max(off))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_a_lipschitz_constant_is_the_largest_norm_at_a_point(order):
    z, banks = RNG.normal(size=(6, 2)), np.array([0.1, 1.0, 4.0])[:, None, None] * np.array([[1.0, 0.5], [-0.5, 0.2]])
    one = lambda *banks: float(
        gradient_lipschitz(PrototypeLoss(), jnp.asarray(z), jnp.asarray(banks), jnp.asarray(0.5))
    )
    alone = [one(bank, bank, bank) for bank in banks]
    assert one(*banks[list(order)]) == pytest.approx(max(alone))
    assert max(alone) > 1.2 * min(alone)


def test_the_worst_increase_is_the_largest_of_all_pairs_of_times():
    still = FunctionMap(lambda k, x: x)
    stats = Stats(True, Outcome.FINISHED.value, 1, 0, 0.0, 1.0)
    for _ in range(40):
        values = RNG.integers(-5, 6, 7).astype(float)
        path = Trajectory(np.arange(7.0), values, still, stats)
        found = worst_increase(path, lambda x: x)
        assert found.amount == max(b - a for a, b in itertools.combinations_with_replacement(values, 2))
        if found.amount:
            assert values[int(found.end)] - values[int(found.start)] == found.amount
            assert found.start < found.end


def test_the_largest_error_of_a_run_is_that_of_its_worst_part():
    parts = [np.array([1e-9, np.nan]), np.array([[2e-3, 1e-5]]), np.array(1e-4), np.zeros((0, 2))]
    for order in itertools.permutations(range(4)):
        error = tuple(jnp.asarray(parts[k]) for k in order)
        assert Stats(True, Outcome.FINISHED.value, 1, 0, 0.0, 1.0, error).max_error == 2e-3


def test_the_worst_of_a_table_and_of_a_polytope():
    for i, j in itertools.permutations(range(4), 2):
        leaks = np.full((4, 4), 0.1)
        leaks[i, j] = 2.0
        assert float(worst_leak(jnp.asarray(leaks))) == (2.0 if i < j else 0.1)
    points = RNG.normal(size=(6, 2))
    body, metric = polytope(points), np.array([[2.0, 0.5], [0.5, 1.0]])
    for x in RNG.normal(size=(8, 2)) * 3:
        assert support_gap(body, x, metric) == pytest.approx(max((v - x) @ metric @ x for v in points))


def test_clusters_of_a_density_are_those_with_mass_by_decreasing_mass():
    grid = EqualAreaGrid(2, 40)
    p = np.full(40, 1e-6)
    p[3:5], p[20], p[33:36] = 0.05, 4e-4, 0.2
    for level, least, masses in ((1.0, 1e-3, [0.6, 0.1]), (0.01, 3e-4, [0.6, 0.1, 4e-4]), (1.0, 0.3, [0.6])):
        found = density_clusters(grid, p, level=level, least=least)
        assert found.masses == pytest.approx(masses)
        angles = np.arctan2(found.centres[:, 1], found.centres[:, 0]) % (2 * np.pi)
        assert angles[0] == pytest.approx(2 * np.pi * 34.5 / 40)
    counts = [5, 3, 4, 4, 2, 3, 1, 1]
    times = np.arange(8.0)
    gone = [next(t for t in times if all(c <= k for c in counts[int(t) :])) for k in (4, 3, 2, 1)]
    assert merge_times(times, counts).tolist() == gone
