"""The growing system: its invariances, both integrators through its events, and its arrays of fixed size.

The runs below have growth, pruning that gives directions back, and temperatures that are clipped, in this order: grow,
grow, prune, grow, prune, clip. All solves save as many times, and only numbers differ, so that one program serves them.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from dynsim.integrators import AbstractIntegrator, Diffrax, Scipy
from dynsim.keys import random_key
from dynsim.simulation.dense import dense_output
from dynsim.simulation.growing import simulate_growing
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory
from dynsim.systems.base import FunctionFlow
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.forces import head_forces
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import clip, grow, prune
from dynsim.systems.prototypes.assignments import distance_variance
from dynsim.systems.prototypes.losses import PrototypeLoss
from tests.systems.test_growing import D, N, data, interaction

KEY = random_key(0, "test of the growing system")
ORDER = ["grow", "grow", "prune", "grow", "prune", "clip"]
RULES = {"threshold": 0.5, "pruning": 0.06, "capacity": 4, "prototypes": 3, "least_temperature": 0.965, "dwell": 0.5,
    "gate": "oja", "settled": 0.05, "release": "release", "spread": 0.3}  # fmt: skip


def draw(name: str, *shape: int) -> np.ndarray:
    return np.asarray(jax.random.normal(random_key(3, name), shape))


def growing(x=None, m=None, *, prototype_rate=1.0, temperature_rate=0.1, **rules) -> GrowingFlow:
    loss = PrototypeLoss("full", reduction="mean")
    rates = {"prototype_rate": prototype_rate, "temperature_rate": temperature_rate, "gate_rate": 4.0}
    x, m = 0.4 * data() if x is None else x, interaction() if m is None else m
    return GrowingFlow(x, m, rules=GrowthRules(**{**RULES, **rules}), loss=loss, **rates)


def run(flow: GrowingFlow, until: float = 5.0, *, start=None, integrator: AbstractIntegrator = Scipy(), **options):
    begin = flow.start(KEY) if start is None else start
    return simulate_growing(flow, begin, np.linspace(0.0, until, 3), integrator=integrator, **options)


@functools.cache
def usual() -> HybridTrajectory:
    return run(growing())


def names(path: HybridTrajectory) -> list[str]:
    return [jump.name for jump in path.jumps]


def times(path: HybridTrajectory) -> np.ndarray:
    return np.array([jump.time for jump in path.jumps])


def same_heads(path: HybridTrajectory, other: HybridTrajectory, move=lambda p: p, near: float = 1e-7) -> None:
    """Check that the events of two runs are the same, and at the end the heads, up to a move of the prototypes."""
    assert names(path) == names(other)
    np.testing.assert_allclose(times(path), times(other), atol=near)
    first, second = path.phases[-1].system, other.phases[-1].system
    count = min(first.rules.capacity, second.rules.capacity)
    for field in ("active", "clipped", "levels"):
        np.testing.assert_allclose(getattr(first, field)[:count], getattr(second, field)[:count], atol=near)
    here = np.asarray(first.active)[:count]
    np.testing.assert_allclose(
        move(path.final.prototypes)[:count][here], other.final.prototypes[:count][here], atol=near
    )
    np.testing.assert_allclose(path.final.cubes[:count], other.final.cubes[:count], atol=near)


@pytest.mark.parametrize(
    ("gradient", "reduction", "shared"),
    [pytest.param("full", "mean", True, marks=pytest.mark.slow), ("full", "mean", False), ("frozen", "sum", True)],
)
def test_the_forces_of_all_heads_are_the_gradients_and_variances_of_each(gradient, reduction, shared):
    loss = PrototypeLoss(gradient, barrier=0.2, ridge=0.3, reduction=reduction)
    z, p, T = jnp.asarray(draw("z", 3, N, D)) + 5, jnp.asarray(draw("p", 3, 4, D)) + 5, jnp.asarray([0.3, 1.0, 2.0])
    z = jnp.broadcast_to(z[:1], z.shape) if shared else z
    each = lambda z, p, T: (*jax.vmap(loss.gradients)(z, p, T), jax.vmap(distance_variance)(z, p, T))
    both = jax.jit(lambda z, p, T: (head_forces(loss, z[0] if shared else z, p, T), each(z, p, T)))
    for a, b in zip(*both(z, p, T), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
def test_both_integrators_agree_through_growth_pruning_and_clipping():
    path, other = usual(), run(growing(), integrator=Diffrax(rtol=1e-10, atol=1e-12))
    assert names(path) == ORDER
    same_heads(path, other, near=1e-6)


@pytest.mark.slow
def test_later_events_compile_nothing():
    usual(), dense_output(usual(), integrator=Scipy())
    compiled = []
    listen = lambda name, _, **options: compiled.append(name)
    jax.monitoring.register_event_duration_secs_listener(listen)
    longer = run(growing(), 7.0)
    assert len(longer.jumps) > len(ORDER)
    assert not [name for name in compiled if "backend_compile" in name]


@pytest.mark.slow
def test_a_dense_output_has_both_sides_of_an_event():
    path = dense_output(usual(), integrator=Scipy())
    first = usual().jumps[0]
    assert not np.any(path(first.time, before=True).prototypes[0] - first.before.prototypes[0])
    assert np.array_equal(path(first.time).prototypes[0], first.after.prototypes[0])
    clocks = path.along([0.7, 1.0, 1.5], lambda x: x.clock)
    np.testing.assert_allclose(clocks, [0.7 - times(usual())[0], 1.0 - times(usual())[0], 1.5 - times(usual())[1]])


@pytest.mark.slow
def test_a_rotation_of_the_space_rotates_the_run():
    q = np.linalg.qr(draw("rotation", D, D))[0]
    flow = growing(0.4 * data() @ q.T, q @ interaction() @ q.T)
    turned = eqx.tree_at(lambda f: f.probe, flow, jnp.asarray(q) @ flow.probe)
    path = run(turned)
    same_heads(usual(), path, move=lambda p: p @ q.T)
    frames, expected = path.phases[-1].system.frames, usual().phases[-1].system.frames
    np.testing.assert_allclose(frames, expected @ q.T, atol=1e-7)


@pytest.mark.slow
def test_the_order_of_tokens_does_not_count():
    order = np.asarray(jax.random.permutation(KEY, N))
    same_heads(usual(), run(growing(0.4 * data()[order])))


def test_a_multiple_of_the_interaction_needs_that_of_the_threshold_only():
    """For an ideal gate: another one is faster by the square of the factor."""
    first, second = growing(gate="ideal"), growing(m=3 * interaction(), gate="ideal", threshold=1.5)
    for _ in range(2):
        first, x = grow(first, 0.0, first.start(KEY))
        second, y = grow(second, 0.0, second.start(KEY))
        np.testing.assert_allclose(3 * first.levels, second.levels, rtol=1e-12)
        np.testing.assert_allclose(first.frames, second.frames, atol=1e-12)
        np.testing.assert_allclose(x.prototypes, y.prototypes, atol=1e-12)


def test_the_order_of_prototypes_does_not_count():
    flow, start = usual().phases[1].system, usual().jumps[0].after
    order = jnp.asarray([2, 0, 1])
    swapped = start._replace(prototypes=start.prototypes.at[0].set(start.prototypes[0, order]))
    first, second = (run(flow, 1.0, start=x) for x in (start, swapped))
    same_heads(first, second, move=lambda p: p.at[0].set(p[0, order]))


@pytest.mark.slow
def test_room_for_more_heads_changes_nothing():
    same_heads(usual(), run(growing(capacity=6)), near=1e-9)


def activity(p: np.ndarray, temperature: float) -> float:
    """Return the mean variance of squared distances, in NumPy."""
    x = 0.4 * data()
    d = np.sum((x[:, None] - p[None]) ** 2, axis=-1)
    q = np.exp(-(d - d.min(axis=1, keepdims=True)) / temperature)
    q /= q.sum(axis=1, keepdims=True)
    return float(np.mean(np.sum(q * d**2, axis=1) - np.sum(q * d, axis=1) ** 2))


def test_the_temperature_itself_gives_the_same_curve_and_the_quadrature_the_time_of_the_clip():
    """At rest, T' = -eta sigma(T) / T^2, and T reaches T_min after the integral of T^2 / (eta sigma(T))."""
    flow, x = grow(growing(prototype_rate=0.0), 0.0, growing().start(KEY))
    path = run(flow, 8.0, start=x)
    p, rate = np.asarray(x.prototypes[0]), 0.1
    expected = scipy.integrate.quad(lambda T: T**2 / (rate * activity(p, T)), 0.965, 1.0, epsabs=1e-12)[0]
    assert path.times("clip")[0] == pytest.approx(expected, abs=1e-9)
    t = path.phases[0].ts[-1] / 2
    direct = scipy.integrate.solve_ivp(
        lambda t, T: -rate * activity(p, T[0]) / T**2, (0.0, float(t)), [1.0], rtol=1e-11, atol=1e-12
    )
    followed = dense_output(path, integrator=Scipy())(float(t))
    assert np.cbrt(followed.cubes[0]) == pytest.approx(direct.y[0, -1], abs=1e-9)


def test_growth_at_an_ideal_gate_comes_at_multiples_of_the_dwell_time():
    path = run(growing(gate="ideal", pruning=0.0, threshold=0.3), 4.0)
    np.testing.assert_allclose(path.times("grow"), [0.0, 0.5, 1.0], atol=1e-9)


def test_events_without_a_dwell_time_end_at_the_cap_with_their_cycle():
    path = run(growing(gate="ideal", dwell=0.0, pruning=2.0), max_transitions=9)
    assert path.ending is Ending.CAPPED
    assert set(names(path)) == {"grow", "prune"}
    assert "occurred at the same time: a dwell time separates them" in str(path)


def test_in_an_odd_dimension_one_direction_is_never_captured():
    rotated = np.linalg.qr(draw("odd", 5, 5))[0]
    m = np.zeros((5, 5))
    m[:4, :4] = [[0, -2, 0, 0], [2, 0, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0]]
    flow = growing(0.4 * data()[:, :5], rotated @ m @ rotated.T)
    levels = []
    while float(flow.dominant) > 0:
        levels.append(float(flow.dominant))
        flow, _ = grow(flow, 0.0, flow.start(KEY)._replace(gate=flow.plane[0]))
    np.testing.assert_allclose(levels, [2.0, 1.0])
    with pytest.raises(ValueError, match="Argument `flow` must have a residual for growth, but has none"):
        grow(flow, 0.0, flow.start(KEY))


def test_bad_resets_are_one_sentence():
    flow = growing(capacity=1)
    with pytest.raises(ValueError, match="Argument `flow` must have a head to remove, but has none"):
        prune(flow, 0.0, flow.start(KEY))
    grown, x = grow(flow, 0.0, flow.start(KEY))
    with pytest.raises(ValueError, match="Argument `capacity` must exceed the number of heads for growth, but is 1"):
        grow(grown, 0.0, x)
    with pytest.raises(ValueError, match="Argument `head` must be the slot of a head, but is 1"):
        prune(grown, 0.0, x, 1)
    with pytest.raises(ValueError, match="Argument `flow` must be a `GrowingFlow`"):
        clip(FunctionFlow(lambda t, y: y), 0.0, x)
