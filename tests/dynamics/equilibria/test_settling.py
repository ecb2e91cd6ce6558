"""Limits: stationary, metastable, undecided, moving; clusters and the rate at which they merge."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.equilibria.settling import _merging, leads_on, look, settle
from analysis.tokens.clusters import clusters, drift
from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Ellipsoid, Euclidean, Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.schedules import Modulated
from dynsim.systems.tokens.flow import TokenFlow, gradient_token_flow
from dynsim.systems.tokens.published import published_hemisphere_flow


def two_clusters(angle: float, members: int = 2) -> jnp.ndarray:
    a, b = np.array([1.0, 0.0, 0.0]), np.array([np.cos(angle), np.sin(angle), 0.0])
    return jnp.asarray(np.stack([a] * members + [b] * members))


@pytest.mark.parametrize("beta", [4.0, 9.0, 16.0, 25.0, 40.0])
def test_two_clusters_are_never_stationary(beta):
    flow = TokenFlow(beta * np.eye(3))
    found = settle(flow, two_clusters(1.5), max_time=512.0)
    count = len(set(clusters(found.state, 1e-3)))
    assert not (found.settled and count > 1)
    if beta >= 25:  # below, they still move at more than 1e-8
        assert (found.verdict, count) == ("metastable", 2)
        assert 0 < found.rate < 1e-5


@pytest.mark.parametrize("beta", [1.0, 9.0, 40.0, 300.0])
def test_the_merge_rate_is_the_closed_form_far_below_rounding(beta):
    angle = 1.2
    found = drift(TokenFlow(beta * np.eye(3)), two_clusters(angle))
    weight = 1 / (1 + np.exp(beta * (1 - np.cos(angle))))
    expected = weight * np.sin(angle) / np.tan(angle / 2) / np.sqrt(3)
    assert found.rate == pytest.approx(expected, rel=1e-10, abs=0)
    assert found.imbalance == pytest.approx(1.0)


def test_the_merge_rate_is_what_a_trajectory_does():
    flow, x0 = TokenFlow(6.0 * np.eye(3)), two_clusters(1.0)
    path = simulate(flow, x0, [0.0, 1e-2, 2e-2], integrator=Scipy())
    gaps = np.log(np.asarray(path.along(lambda x: jnp.linalg.norm(x[0] - x[-1]))))
    assert drift(flow, path.ys[1]).rate == pytest.approx(-(gaps[2] - gaps[0]) / 2e-2, rel=1e-5)


def test_the_drift_is_the_field_of_the_means_of_clusters_at_its_time():
    base = [[4.0, 1.0, 0.3], [-0.5, 3.0, 0.2], [0.1, -0.7, 2.0]]
    flow = TokenFlow(Modulated(base, 1.0, [1.0, 2.0, 0.5], 0.3), 0.7, space=Ellipsoid(np.diag([0.5, 1.0, 2.0])))
    members, first = np.repeat(np.arange(3), [1, 2, 3]), np.array([0, 1, 3])
    x = np.asarray(flow.space.sample(random_key(2, "c"), (3, 3)))[members]
    x[1] += 4e-7
    found = drift(flow, x, 1.3)
    means = np.asarray(flow.space.project(np.stack([np.mean(x[members == k], axis=0) for k in range(3)])))
    np.testing.assert_allclose(found.centres, means, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        found.velocities, eqx.filter_jit(flow.vector_field)(1.3, means[members])[first], rtol=0, atol=1e-13
    )
    gaps, moves = (z[[0, 0, 1]] - z[[1, 2, 2]] for z in (found.centres, found.velocities))
    assert found.rate == pytest.approx(np.max(-np.sum(gaps * moves, axis=1) / np.sum(gaps**2, axis=1)), rel=1e-12)
    sizes = np.linalg.norm(flow.pulls(1.3, means[members]), axis=-1)[first].sum(axis=1)
    speeds = np.linalg.norm(found.velocities, axis=1)
    assert found.imbalance == pytest.approx(np.max(speeds / sizes), rel=1e-9)
    apart = lambda gap: len(set(clusters(np.array([[0.0], [gap]]))))
    assert (apart(0.9e-6), apart(1.1e-6)) == (1, 2)


def test_clusters_a_hundredth_apart_are_two_that_merge():
    flow = TokenFlow(4.0 * np.eye(3))
    assert _merging(flow, two_clusters(0.01), [0.0]) == drift(flow, two_clusters(0.01)).rate > 0.1
    assert _merging(flow, two_clusters(1e-5), [0.0]) == 0


def test_equilibria_on_one_side_are_no_curve_of_them():
    half = FunctionFlow(lambda t, x: -jnp.minimum(x, 0) * jnp.array([1.0, 0.0]))
    origin, along = jnp.zeros(2), np.array([1.0, 0.0])
    assert not leads_on(half, origin, along, 0.0)
    assert leads_on(half, jnp.array([1.0, 0.0]), along, 0.0)


def test_consensus_is_stationary_for_the_identity_for_a_metric_and_for_moving_P():
    A = np.diag([0.5, 1.0, 2.0])
    for flow in (TokenFlow(np.eye(3)), gradient_token_flow(A), published_hemisphere_flow()):
        x = flow.space.sample(random_key(0, "x"), (4, 3))
        found = settle(flow, x * jnp.sign(x[:, :1]), integrator=Scipy())
        assert found.settled, found
        assert len(set(clusters(found.state, 1e-4))) == 1
        assert found.rate == 0


def test_saddles_are_not_limits():
    antipodal = jnp.asarray(np.outer([1.0, 1, 1, -1], np.eye(3)[0]))
    found = settle(TokenFlow(np.eye(3)), antipodal)
    assert found.verdict == "metastable"
    assert found.rate > 0.1  # it stays by symmetry only


def test_an_eigenvector_is_a_limit_and_a_centre_is_none():
    oja = FunctionFlow(lambda t, x: x @ jnp.diag(jnp.array([2.0, 1.0, -1.0])), Sphere())
    found = settle(oja, np.ones(3) / np.sqrt(3), integrator=Scipy())
    assert found.settled
    np.testing.assert_allclose(found.state, [1.0, 0, 0], atol=1e-6)
    circle = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]), Euclidean())
    turning = settle(circle, jnp.ones(2), max_time=64.0, integrator=Scipy())
    assert (turning.verdict, turning.settled) == ("moving", False)
    assert look(circle, jnp.zeros(2)).verdict == "undecided"


def test_a_power_law_is_undecided():
    flow = FunctionFlow(lambda t, x: -(x**3), Euclidean())
    found = settle(flow, jnp.ones(1), max_time=2.0**20, integrator=Scipy())
    assert found.verdict == "undecided"


def two_sides(t, x, rate, size):
    return rate * (x - x**3 / size**2)


@pytest.mark.parametrize(
    ("size", "rate", "start", "max_time", "verdict"),
    [
        (1.0, 1e-9, 0.3, 1e4, "moving"), (1.0, 1e-9, 0.0, 1e4, "metastable"), (1e6, 1e-7, 0.3, 1e9, "stationary"),
        pytest.param(1.0, 1.0, 1e-3, 1e4, "stationary", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_verdicts_do_not_depend_on_the_units(size, rate, start, max_time, verdict):
    flow = FunctionFlow(two_sides, Euclidean(), parameters={"rate": rate, "size": size})
    found = settle(flow, [size * start], first_time=max_time / 8, max_time=max_time)
    assert found.verdict == verdict
    assert found.rate == pytest.approx(rate if verdict == "metastable" else 0.0, rel=1e-9)


@pytest.mark.parametrize(("size", "away"), [(1e-6, 0.0), (1.0, 1e3), (1.0, 1e5)])
@pytest.mark.parametrize(
    ("start", "verdict", "rate"), [([0.3, 0.2], "stationary", 0.0), ([0.0, 0.2], "metastable", 1.0)]
)
def test_errors_of_the_solver_do_not_keep_a_state_from_settling(size, away, start, verdict, rate):
    base = lambda x: jnp.stack([x[0] - x[0] ** 3, -x[1]])
    flow = FunctionFlow(
        lambda t, s, size, away: size * base((s - away) / size), parameters={"size": size, "away": away}
    )
    limit = settle(flow, away + size * np.array(start), max_time=2.0**10)
    assert (limit.verdict, limit.rate) == (verdict, pytest.approx(rate))
    assert (np.asarray(limit.state) - away) / size == pytest.approx([1.0 - rate, 0.0], abs=1e-3)


def test_repelling_tokens_rest_on_a_manifold_of_equilibria():
    flow = TokenFlow(np.eye(2), -1.0)
    angles = np.array([0.1, 2.0, 4.5])
    found = settle(flow, np.stack([np.cos(angles), np.sin(angles)], 1), integrator=Scipy())
    assert found.settled
    assert float(jnp.linalg.norm(jnp.sum(found.state, axis=0))) < 1e-6


def test_a_field_that_decays_at_changing_rates_settles():
    flow = FunctionFlow(lambda t, x: -(2 + jnp.sin(t)) * x, Euclidean(), fastest_period=6.28)
    found = settle(flow, jnp.ones(2), integrator=Scipy())
    assert found.settled
    swings = FunctionFlow(lambda t, x: -jnp.sin(t) * x, Euclidean(), fastest_period=6.28)
    assert look(swings, jnp.zeros(2), [0.0, 1.0, 4.0]).verdict == "undecided"


def test_clusters_are_chains():
    x = np.array([[0.0], [1.0], [0.9], [0.05], [5.0]])
    assert clusters(x, 0.2).tolist() == [0, 1, 1, 0, 2]
    assert clusters(x, 1.0).tolist() == [0, 0, 0, 0, 1]
    assert clusters(x[:1]).tolist() == [0]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"first_time` must lie in \(0, max_time"):
        settle(TokenFlow(np.eye(3)), two_clusters(1.0), first_time=0.0)
    with pytest.raises(ValueError, match="x` must be finite"):
        clusters([[np.nan, 0.0]])
    with pytest.raises(ValueError, match="radius` must be at least 0"):
        clusters([[0.0]], -1.0)
    with pytest.raises(ValueError, match="flow` must provide its pairwise pulls"):
        drift(TokenFlow(np.eye(3), np.eye(3)), two_clusters(1.0))
