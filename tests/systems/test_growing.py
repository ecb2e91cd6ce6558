"""The growing system: residual matrices, gate, events, the flow between them, and the discrete Algorithm."""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.growing import _Descent, descend, simulate_growing
from dynsim.simulation.hybrid_trajectory import Ending
from dynsim.simulation.simulate import simulate
from dynsim.systems.base import FunctionMap
from dynsim.systems.growing.descent import GrowingStep, temperature_step
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.gate import GateFlow, gate_velocity
from dynsim.systems.growing.residual import antisymmetric_part, dominant_plane, dominant_value, residual_matrix
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import GrowthGuard, PruningGuard, bank_along, clip, gate_margin, grow, prune
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss

N, D = 12, 6
KEY = random_key(0, "test of the growing system")
LEVELS = (2.0, 1.0, 0.4)


def interaction(levels=LEVELS, dimension: int = D) -> np.ndarray:
    """Return a rotated antisymmetric matrix with given singular values, each twice, and a symmetric part."""
    m = np.zeros((dimension, dimension))
    for k, level in enumerate(levels):
        m[2 * k, 2 * k + 1], m[2 * k + 1, 2 * k] = -level, level
    q = np.linalg.qr(np.asarray(jax.random.normal(KEY, (dimension, dimension))))[0]
    s = np.asarray(jax.random.normal(random_key(0, "symmetric part"), (dimension, dimension)))
    return q @ m @ q.T + s + s.T


def data() -> np.ndarray:
    return np.asarray(jax.random.normal(random_key(0, "tokens"), (N, D)))


def flow(**options) -> GrowingFlow:
    names = ("prototype_rate", "temperature_rate", "gate_rate", "encoder_rate", "encoder", "loss", "task",
        "regulariser")  # fmt: skip
    own = {name: options.pop(name) for name in names if name in options}
    rules = GrowthRules(**{"threshold": 0.5, "capacity": 4, "prototypes": 3, "dwell": 0.5, **options})
    own = {"loss": PrototypeLoss("full", reduction="mean"), **own}
    return GrowingFlow(data(), interaction(), rules=rules, **own)


def run(f: GrowingFlow, until: float = 4.0, **options):
    return simulate_growing(f, f.start(KEY), np.linspace(0.0, until, 5), **options)


def test_the_residual_is_the_antisymmetric_part_outside_the_frames():
    m = interaction()
    assert np.allclose(np.linalg.svd(antisymmetric_part(m))[1], np.repeat(LEVELS, 2))
    plane = dominant_plane(antisymmetric_part(m))
    rest = residual_matrix(m, plane[:1])
    assert dominant_value(rest) == pytest.approx(LEVELS[1])  # one direction takes its whole plane
    assert np.allclose(rest, residual_matrix(m, plane))
    assert np.allclose(rest, -rest.T)
    assert np.allclose(rest @ plane.T, 0)


def test_the_readings_weigh_the_interaction_by_the_tokens():
    m, x = interaction(), data()
    a = antisymmetric_part(m)
    tokens = residual_matrix(m, tokens=x, reading="tokens")
    assert np.allclose(tokens, x @ a @ x.T)
    weighted = residual_matrix(m, tokens=x, reading="data")
    # X M X^T and G^(1/2) M G^(1/2) have the same singular values that are not zero
    assert np.allclose(np.linalg.svd(tokens)[1][:D], N * np.linalg.svd(weighted)[1])


def test_the_dominant_plane_holds_the_dominant_vectors():
    a = antisymmetric_part(interaction())
    v, w = dominant_plane(a)
    assert np.allclose(a @ v, LEVELS[0] * w)
    assert np.allclose(a @ w, -LEVELS[0] * v)
    assert np.allclose(dominant_plane(np.zeros((3, 3))), 0)
    assert dominant_value(np.zeros((3, 3))) == 0


def test_the_velocity_of_a_gate_is_its_formula():
    a, w = np.arange(9.0).reshape(3, 3) / 9, np.array([0.3, -1.2, 0.7])
    E, square, moved = a.T @ a, w @ w, functools.partial(gate_velocity, jnp.asarray(a), jnp.asarray(w))
    np.testing.assert_allclose(moved("oja"), E @ w - (w @ E @ w) * w, rtol=1e-13)
    np.testing.assert_allclose(moved("exin"), (E @ w - (w @ E @ w) / square * w) / square, rtol=1e-13)


def test_a_gate_takes_decreasing_steps_and_keeps_its_length():
    f = flow(gate="oja", gate_rate=0.3)
    w = f.gate_start()
    moved = w + 0.3 / 4**0.75 * gate_velocity(f.tracked, w, "oja")
    found = GrowingStep(f, gate_power=0.75)._gate(3, w)  # alone: a whole step would compile for seconds
    np.testing.assert_allclose(found, moved / np.linalg.norm(moved), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("normalisation", ["oja", "exin"])
def test_the_gate_converges_to_the_dominant_plane(normalisation):
    a = antisymmetric_part(interaction())
    start = np.asarray(jax.random.normal(random_key(1, "gate"), (D,)))
    path = simulate(GateFlow(a, normalisation, rate=2.0), start, [0.0, 10.0, 20.0])
    w, plane = np.asarray(path.final), dominant_plane(a)
    expected = plane.T @ (plane @ start)
    assert np.allclose(w / np.linalg.norm(w), expected / np.linalg.norm(expected), atol=1e-8)
    assert np.linalg.norm(w) == pytest.approx(1.0 if normalisation == "oja" else np.linalg.norm(start), rel=1e-6)


@pytest.mark.slow
def test_heads_are_added_in_the_order_of_the_planes_until_the_threshold():
    path = run(flow())
    last = path.phases[-1].system
    assert [jump.name for jump in path.jumps] == ["grow", "grow"]
    assert np.allclose(path.times("grow"), [0.0, 0.5])
    assert np.allclose(last.levels[:2], LEVELS[:2])
    assert np.array_equal(last.order, [0, 1, -1, -1])
    assert last.dominant == pytest.approx(LEVELS[2])
    frames = np.asarray(last.frames[:2, 0])
    assert np.allclose(frames @ frames.T, np.eye(2))


@pytest.mark.slow  # a flow is compiled; the claim lemma-23/corrected has gates
def test_a_settled_gate_chooses_the_direction():
    path = run(flow(gate="oja", gate_rate=4.0, settled=1e-4))
    assert [jump.name for jump in path.jumps] == ["grow", "grow"]
    assert np.allclose(path.phases[-1].system.levels[:2], LEVELS[:2], rtol=1e-6)


def test_a_gate_of_any_length_has_settled_at_the_same_angle():
    f = flow(gate="oja", gate_rate=4.0, settled=0.1)
    x, (u, v) = f.start(KEY), np.asarray(f.plane)
    outside = np.linalg.svd(np.stack([u, v]))[2][2]
    for length in (1e-3, 1.0, 7.0):
        for sine, sign in ((0.05, 1), (0.2, -1)):
            gate = length * (np.sqrt(1 - sine**2) * (0.6 * u + 0.8 * v) + sine * outside)
            margin = float(gate_margin(f, x._replace(gate=jnp.asarray(gate))))
            assert margin == pytest.approx(0.1**2 - sine**2, abs=1e-12)
            assert np.sign(margin) == sign
    assert float(gate_margin(f, x._replace(gate=jnp.zeros(D)))) < 0


@eqx.filter_jit
def slopes(f: GrowingFlow, x):
    """Return the derivatives of the loss by prototypes and by cubes of temperatures, and the velocity."""
    value = lambda p, cubes: f.value(0.0, x._replace(prototypes=p, cubes=cubes))
    return *jax.grad(value, (0, 1))(x.prototypes, x.cubes), f.velocity(0.0, x)


def test_the_flow_is_the_gradient_of_its_loss():
    f = flow(prototype_rate=2.0)
    f, x = grow(f, 0.0, f.start(KEY))
    by_prototypes, by_cubes, v = slopes(f, x)
    assert np.allclose(v.prototypes, -2.0 * by_prototypes)
    # at fixed prototypes (T^3)' = 3 T^2 T', and T' is minus the rate times the derivative by T
    T = np.asarray(f.temperatures(x))
    assert np.allclose(v.cubes, -0.01 * by_cubes * (3 * T**2) ** 2)


def test_the_encoder_descends_the_losses_of_heads_and_task_and_the_regulariser():
    task = lambda z: jnp.sum(jnp.sin(z))
    f = flow(encoder=LinearEncoder(D, D), encoder_rate=0.3, regulariser=0.2, task=task, first="random")
    x = f.start(KEY)
    value = lambda x, theta: f.value(0.0, x._replace(encoder=theta))
    slope, v = jax.jit(lambda x: (jax.grad(value, 1)(x, x.encoder), f.velocity(0.0, x)))(x)
    np.testing.assert_allclose(v.encoder, -0.3 * slope, rtol=1e-10)


@pytest.mark.slow  # a flow is compiled; tests/systems/test_growing_properties.py has clips
def test_a_temperature_that_reaches_the_least_one_stays():
    f = flow(prototype_rate=0.0, temperature_rate=0.2, capacity=2)
    path = run(f, 20.0)
    assert [jump.name for jump in path.jumps].count("clip") == 2
    assert np.allclose(path.phases[-1].system.temperatures(path.final), 0.1)
    T = np.asarray(path.phases[-1].along(path.phases[-1].system.temperatures))
    assert np.min(T) >= 0.1 - 1e-12


def test_pruning_drops_the_head_of_the_least_separation_and_keeps_or_releases_its_direction():
    f = flow(spread=0.1)
    f, x = grow(f, 0.0, f.start(KEY))
    f, x = grow(f, 0.0, x)
    x = x._replace(prototypes=x.prototypes.at[0].multiply(2.0))
    kept, y = prune(f, 0.0, x)
    assert np.array_equal(kept.active, [True, False, False, False])
    assert np.array_equal(y.prototypes[0], x.prototypes[0])
    assert kept.dominant == pytest.approx(LEVELS[2])
    released, _ = prune(flow_with(f, release="release"), 0.0, x)
    assert released.dominant == pytest.approx(LEVELS[1])


@pytest.mark.parametrize("removal", ["direction", "plane"])
@pytest.mark.parametrize("reading", ["features", "data", "tokens"])
def test_what_a_flow_keeps_of_its_residual_belongs_to_the_heads_after_every_event(reading, removal):
    """The matrix, its largest singular value, and a plane that the tracked matrix stretches by that value."""
    f = flow(reading=reading, removal=removal, release="release", dwell=0.0, threshold=1e-3, spread=0.1)
    x, values, grown = f.start(KEY), [float(f.dominant)], 0
    for event in (grow, grow, lambda f, t, x: prune(f, t, x, head=0), grow):
        last = float(f.dominant)
        f, x = event(f, 0.0, x)
        if event is grow:
            assert float(f.last_level) == last
            assert float(f.levels[int(np.argmax(f.order))]) == last
            grown += 1
            assert int(np.max(f.order)) == grown - 1  # also where a head has been removed
        matrix = residual_matrix(interaction(), np.asarray(f.frames).reshape(-1, D), tokens=data(), reading=reading)
        np.testing.assert_allclose(f.residual, matrix, atol=1e-12)
        assert float(f.dominant) == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-9)
        np.testing.assert_allclose(np.linalg.norm(f.plane @ f.tracked, axis=1), float(f.dominant), rtol=1e-9)
        assert np.array_equal(~np.isnan(f.levels), f.active)
        values.append(float(f.dominant))
    assert values[0] > values[1] > values[2]  # each head takes the plane that was the largest


def test_a_random_first_head_has_the_spread_of_the_data_in_each_coordinate():
    """Also where coordinates have units of their own; the other slots hold what fills empty ones."""
    z = data() * 2.0 ** np.arange(D) + np.arange(D)
    bank = GrowingFlow(z, interaction(), rules=GrowthRules(first="random", prototypes=3, capacity=4)).start(KEY)[2]
    noise = np.asarray(jax.random.normal(jax.random.split(KEY)[1], (3, D)))
    np.testing.assert_allclose(bank[0], np.mean(z, axis=0) + np.std(z, axis=0) * noise, rtol=1e-12)
    assert np.array_equal(bank[1:], flow().start(KEY).prototypes[1:])


@eqx.filter_jit
def guards(f: GrowingFlow, x):
    """Return the values of the guards of growth and pruning."""
    return GrowthGuard(f)(0.0, x), PruningGuard(f)(0.0, x)


def test_the_guards_of_growth_and_pruning_are_positive_where_their_conditions_hold():
    """Heads of different separations, in any slot, closer or farther apart than what fills empty slots."""
    f = flow(spread=4.0, dwell=0.0, threshold=1e-3, pruning=1.0)
    x, dropped = f.start(KEY), []
    assert np.sign(guards(f, x)).tolist() == [1, -1]  # no head to remove
    for _ in range(3):
        f, x = grow(f, 0.0, x)
    for head, scale in ((0, 0.3), (2, 0.2), (1, 0.1)):
        banks = np.array(x.prototypes)
        banks[head] *= scale
        x = x._replace(prototypes=jnp.asarray(banks))
        least = min(np.sum((p[1:] - p[:-1]) ** 2, axis=1).min() for p in banks[:3])
        for threshold in (0.0, 0.9 * least, 1.1 * least):
            rules = eqx.tree_at(lambda r: r.pruning, f.rules, jnp.asarray(threshold))
            _, guard = guards(eqx.tree_at(lambda g: g.rules, f, rules), x)
            assert guard == pytest.approx(np.clip(threshold - least, -1, 1) if threshold else -1)  # 0 removes none
        dropped.append(int(np.argmin(np.asarray(prune(f, 0.0, x)[0].active)[:3])))
    assert dropped == [0, 2, 1]
    banks[:3] *= 100
    far = x._replace(prototypes=jnp.asarray(banks))  # farther apart than the points in the empty slot
    assert np.sum(np.asarray(prune(f, 0.0, far)[0].active)) == 2


@pytest.mark.parametrize("scaling", ["fixed", "tokens", "eigenvalue"])
def test_prototypes_begin_on_a_line_of_the_length_that_the_rules_say(scaling):
    u, level, z = np.eye(D)[2], 3.0, data() * np.arange(1.0, D + 1)
    unit = {"fixed": 1.0, "tokens": np.std(z[:, 2]), "eigenvalue": level}[scaling]
    for count in (1, 2, 5):
        bank = bank_along(z, u, GrowthRules(prototypes=count, spread=0.7, scaling=scaling), level)
        along = 0.7 * unit * (np.linspace(-1, 1, count) if count > 1 else np.zeros(1))
        np.testing.assert_allclose(bank, np.mean(z, axis=0) + along[:, None] * u, rtol=1e-12)


def test_prototypes_at_quantiles_have_equal_shares_of_the_tokens():
    z = data()[:, :1] * np.eye(D)[1]
    bank = bank_along(z, np.eye(D)[1], GrowthRules(prototypes=4, birth="quantiles"), 1.0)[:, 1]
    assert bank == pytest.approx(np.quantile(z[:, 1], [0.125, 0.375, 0.625, 0.875]))
    assert bank[::-1] == pytest.approx(
        -bank_along(-z, np.eye(D)[1], GrowthRules(prototypes=4, birth="quantiles"), 1.0)[:, 1]
    )


def flow_with(f: GrowingFlow, **options) -> GrowingFlow:
    """Return a flow with some static rules exchanged."""
    rules = GrowthRules(threshold=0.5, capacity=4, prototypes=3, dwell=0.5, **options)
    grown = GrowingFlow(data(), interaction(), rules=rules, loss=f.loss)
    return grown.with_heads(active=f.active, frames=f.frames, levels=f.levels, order=f.order)


def test_growth_and_pruning_without_dwell_stop_at_the_cap_with_the_cycle():
    f = flow(dwell=0.0, pruning=1.0, threshold=1.5, spread=1e-3, release="release", prototype_rate=0.0)
    path = run(f, max_transitions=10)
    assert path.ending is Ending.CAPPED
    assert {"grow", "prune"} == {jump.name for jump in path.jumps}
    assert "a dwell time separates them" in str(path)


@pytest.mark.slow
def test_the_algorithm_agrees_with_the_flow_for_small_steps():
    rates = {"prototype_rate": 2e-4, "temperature_rate": 2e-5}
    f = flow(**rates, dwell=200.0)
    steps = descend(f, f.start(KEY), 1000, every=250)
    path = simulate_growing(f, f.start(KEY), [0.0, 500.0, 1000.0], integrator=Scipy())
    assert [jump.time for jump in steps.jumps] == [0.0, 200.0]
    assert np.allclose(steps.final.prototypes, path.final.prototypes, atol=2e-4)
    assert np.allclose(steps.final.cubes, path.final.cubes, atol=2e-4)


def test_a_step_is_eq_37_with_and_without_the_clip():
    f = flow(temperature_rate=0.5, capacity=1)
    f, x = grow(f, 0.0, f.start(KEY))
    sigma = float(f.activity(x)[0])
    printed = GrowingStep(f, clipping=False).temperatures_after(x)
    assert printed[0] == pytest.approx(temperature_step(1.0, sigma, 0.5))
    assert GrowingStep(f).temperatures_after(x)[0] == pytest.approx(max(temperature_step(1.0, sigma, 0.5), 0.1))
    assert temperature_step(1.0, 10.0, 0.5, 0.1) == 0.1


def test_clip_keeps_the_temperatures_at_the_least_one():
    f = flow()
    f, x = grow(f, 0.0, f.start(KEY))
    f, x = grow(f, 0.0, x)
    clipped, y = clip(f, 0.0, x._replace(cubes=x.cubes.at[1].set(0.1**3 * (1 + 1e-12))))
    assert np.array_equal(clipped.clipped, [False, True, False, False])
    assert y.cubes[1] == pytest.approx(0.1**3, rel=1e-15)
    assert y.cubes[0] == x.cubes[0]
    assert slopes(clipped, y)[2].cubes[1] == 0
    located = clip(f, 0.0, x._replace(cubes=x.cubes.at[0].set(0.1**3 * (1 + 1e-6))))[0]  # up to an error of the event
    assert np.array_equal(located.clipped, [True, False, False, False])


@pytest.mark.parametrize(("build", "words"), [
    (lambda: GrowthRules(threshold=0.0), "`threshold` must be positive"),
    (lambda: GrowthRules(least_temperature=1.0), "`least_temperature` must be below `initial_temperature`, 1"),
    (lambda: GrowthRules(pruning=-1.0), "`pruning` must not be negative"),
    (lambda: GrowthRules(reading="words"), "`reading` must be one of features, data, tokens"),
    (lambda: GrowingFlow(data(), np.eye(D)), "`interaction` must have an antisymmetric part"),
    (lambda: GrowingFlow(data(), np.eye(D + 1)), "`interaction` must have shape"),
    (lambda: flow(prototype_rate=-1.0), "`prototype_rate` must not be negative"),
    (lambda: residual_matrix(interaction(), reading="data"), "`tokens` must be given for the reading `data`"),
    (lambda: residual_matrix(interaction(), np.ones((1, D))), "`frames` must be orthonormal rows"),
    (lambda: residual_matrix(interaction(), 2 * np.eye(D)[:2]), "`frames` must be orthonormal rows"),
    (lambda: residual_matrix(interaction(), np.eye(D)[[0, 0]]), "`frames` must be orthonormal rows"),
    (lambda: temperature_and_gate_power(), "`gate_power` must not be negative"),
])  # fmt: skip
def test_bad_input_is_one_sentence(build, words):
    with pytest.raises(ValueError, match=r".") as caught:
        build()
    assert words in str(caught.value)


def temperature_and_gate_power():
    return GrowingStep(flow(), gate_power=-1.0)


def test_thresholds_against_the_papers_condition_are_allowed_and_said():
    assert "not below the growth threshold" in GrowthRules(threshold=0.1, pruning=0.2).say()
    assert GrowthRules().say() == ""


def test_coincident_prototypes_have_one_velocity():
    f = flow(prototype_rate=2.0)
    f, x = grow(f, 0.0, f.start(KEY))
    x = x._replace(prototypes=x.prototypes.at[0, 1].set(x.prototypes[0, 0]))
    v = slopes(f, x)[2].prototypes[0]
    np.testing.assert_array_equal(v[0], v[1])
    assert np.linalg.norm(v[0]) > 1e-3


@pytest.mark.slow
def test_coincident_prototypes_run_and_stay_together():
    f = flow(capacity=1)
    f, x = grow(f, 0.0, f.start(KEY))
    x = x._replace(prototypes=x.prototypes.at[0, 1].set(x.prototypes[0, 0]))
    path = simulate(f, x, [0.0, 1.0])
    assert jnp.all(path.final.prototypes[0, 0] == path.final.prototypes[0, 1])


def test_heads_that_are_not_active_do_not_move():
    f = flow(first="random")
    v = slopes(f, f.start(KEY))[2]
    idle = ~np.asarray(f.with_heads(active=f.active).active)
    assert np.array_equal(idle, [False, True, True, True])
    assert not np.any(np.asarray(v.prototypes)[idle])
    assert not np.any(np.asarray(v.cubes)[idle])
    assert np.all(np.any(np.asarray(v.prototypes)[~idle] != 0, axis=(1, 2)))


class Clocked(NamedTuple):
    """A state with a clock."""

    clock: jax.Array
    v: jax.Array


@pytest.mark.parametrize(("times", "k", "expected"), [([0, 2], 3, [0, 2, 3]), ([0, 3], 3, [0, 3]), ([3], 3, None)])
def test_a_phase_of_the_algorithm_ends_at_its_event(times, k, expected):
    at = lambda k: Clocked(jnp.asarray(float(k)), jnp.asarray(10.0 * k))
    run: Any = object.__new__(_Descent)
    run.step, run.x, run.k, run.phases = FunctionMap(lambda k, x: x), at(k), k, []
    run._kept, run._times = [at(time) for time in times], list(times)
    run.close()
    found = [(phase.ts.tolist(), (phase.ys.v / 10).tolist(), int(phase.stats.num_steps)) for phase in run.phases]
    assert found == ([] if expected is None else [(expected, expected, 3)])
