"""Measures of heads around a pruning, step-size conditions, and cycles of growth and pruning."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.growing.cycles import growth_cycle, growth_history
from analysis.growing.pruning import heads_at, pruned
from analysis.growing.separation import separation_force
from analysis.growing.step_sizes import (
    GateSteps,
    Measured,
    StepSizes,
    common_bound,
    cooling_steps,
    exchange_lipschitz,
    gradient_lipschitz,
    step_conditions,
    unmet,
)
from dynsim.keys import random_key
from dynsim.simulation.growing import descend
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.assignments import assignments
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss

MEASURED = Measured(2.0, 1.0, 0.5, 0.25, 4.0, 1.0, 0.16, 5)


def system(**options):
    m = np.zeros((4, 4))
    m[0, 1], m[2, 3] = 2.0, 1.0
    own = {name: options.pop(name) for name in ("encoder", "prototype_rate", "temperature_rate") if name in options}
    rules = GrowthRules(**{"threshold": 0.2, "capacity": 3, "prototypes": 2, **options})
    z = 0.1 * np.cos(np.arange(20.0)).reshape(5, 4)
    loss = PrototypeLoss("full", reduction="mean")
    return GrowingFlow(z, m - m.T, rules=rules, loss=loss, **own)


def with_heads(count=2, **options):
    flow = system(**options)
    x = flow.start(random_key(0, "heads"))
    for _ in range(count):
        flow, x = grow(flow, 0.0, x)
    return flow, x


def test_empty_slots_have_no_measures():
    flow, x = with_heads()
    found = heads_at(flow, x)
    for values in found:
        assert np.all(np.asarray(values)[:2] > 0)
        assert float(values[2]) == 0
    assert np.allclose(found.energies[:2], np.array([2.0, 1.0]) / np.sqrt(10.0))
    assert np.allclose(found.separations[:2], 4.0)  # two prototypes at the ends of a line of length 2
    assert np.sum(np.asarray(found.shares)) == pytest.approx(1.0)


def test_the_measures_of_a_head_are_those_of_its_prototypes_and_inputs():
    flow, x = with_heads(encoder=LinearEncoder(4, 4), prototypes=3)
    x = x._replace(prototypes=jnp.asarray(np.random.default_rng(3).normal(size=x.prototypes.shape)))
    found, z, T = jax.jit(lambda x: (heads_at(flow, x), flow.head_inputs(x), flow.temperatures(x)))(x)
    slopes = jax.jit(jax.jacobian(lambda encoder: flow.head_losses(x._replace(encoder=encoder))))(x.encoder)
    of_head = jax.jit(lambda p, z, T: (assignments(z, p, T), separation_force(p, z, T)))
    z, T, slopes = map(np.asarray, (z, T, slopes))
    for h, p in enumerate(np.asarray(x.prototypes)[:2]):
        between = np.sum((p[:, None] - p[None]) ** 2, axis=-1)[np.triu_indices(3, 1)]
        assert found.separations[h] == pytest.approx(np.min(between))
        assert found.diameters[h] == pytest.approx(np.max(between))
        q, force = map(np.asarray, of_head(p, z[h], T[h]))
        d = np.sum((z[h][:, None] - p[None]) ** 2, axis=-1)
        assert found.diversities[h] == pytest.approx(np.sum(q - q**2))
        assert found.activities[h] == pytest.approx(np.mean(np.sum(q * d**2, axis=1) - np.sum(q * d, axis=1) ** 2))
        assert found.forces[h] == pytest.approx(float(force))
        assert found.gradients[h] == pytest.approx(np.linalg.norm(slopes[h]))
    np.testing.assert_allclose(found.shares, np.asarray(found.gradients) / np.sum(found.gradients))


def test_a_pruning_takes_the_force_of_the_head():
    flow, x = with_heads()
    found = pruned(flow, x, 0)
    assert list(found.survivors) == [1]
    assert found.drop == pytest.approx(float(found.before.forces[0]))
    assert found.gains[0] == pytest.approx(1 / float(found.before.shares[1]))


def test_a_pruning_needs_another_head():
    with pytest.raises(ValueError, match="at least two heads"):
        pruned(*with_heads(1), 0)


def test_the_conditions_are_those_of_the_paper():
    rates = StepSizes(0.1, 0.19, GateSteps(10.0, 1.0))
    found = {c.name: c for c in step_conditions(rates, MEASURED, least_steps=100, separated=1.0)}
    assert found["E1"].bound == pytest.approx(1 / 1.5)
    assert found["E2"].bound == pytest.approx(0.5)
    assert found["E3"].bound == pytest.approx(0.2)
    assert cooling_steps(rates, MEASURED) == 95  # 7 / (3 * 0.1 * 0.25) = 93.3
    assert found["E6"].bound == 95
    assert all(c.met for c in found.values())
    assert common_bound(rates, MEASURED) == pytest.approx(0.2 / 0.19)
    assert unmet(tuple(found.values())) == "All conditions are met."


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("E1", {"temperatures": 0.7}),
        ("E2", {"prototypes": 0.6}),
        ("E3", {"prototypes": 0.25}),
        ("E4", {"gate": GateSteps(10.0, 0.5)}),
        ("E4", {"gate": GateSteps(10.0, 1.1)}),
        ("E5, prototypes", {"gate": GateSteps(0.1, 1.0)}),
        ("E5, temperatures", {"temperatures": 0.2}),
        ("E6", {"temperatures": 0.05}),
    ],
)
def test_each_condition_can_fail(name, change):
    rates = StepSizes(0.1, 0.19, GateSteps(10.0, 1.0))._replace(**change)
    found = step_conditions(rates, MEASURED, least_steps=100, separated=1.0)
    assert name in [c.name for c in found if not c.met]
    assert name in unmet(found)


def test_conditions_at_their_bounds():
    """(E1), (E2) and (E6) ask for less or more than their bounds, (E5) for no more."""
    base = StepSizes(0.1, 0.19, GateSteps(10.0, 1.0))
    for name, change, options, met in (
        ("E1", {"temperatures": 1 / 1.5}, {}, False), ("E2", {"prototypes": 0.5}, {}, False),
        ("E5, temperatures", {}, {"separated": 0.1 / 0.19}, True), ("E6", {}, {"least_steps": 95}, False),
        ("E6", {}, {"least_steps": 96}, True), ("E4", {"gate": GateSteps(10.0, 1.0)}, {}, True),
    ):  # fmt: skip
        options = {"least_steps": 100, "separated": 1.0, **options}
        found = {c.name: c for c in step_conditions(base._replace(**change), MEASURED, **options)}
        assert found[name].met == met
    slow = {c.name: c for c in step_conditions(base, MEASURED._replace(gate_steps=200), least_steps=100)}
    assert (slow["E6"].bound, slow["E6"].met) == (200.0, False)
    flat = {c.name: c for c in step_conditions(base, MEASURED._replace(curvature=-1.0), least_steps=100)}
    assert (flat["E3"].bound, flat["E3"].met) == (0.0, False)


def test_square_summable_gate_steps_leave_the_hierarchy_of_rates():
    rates = StepSizes(0.01, 0.1, GateSteps(10.0, 1.0))
    last = lambda steps: step_conditions(rates, MEASURED, least_steps=10**6, num_steps=steps)[5]
    assert last(10).met
    assert not last(20).met  # eta_P / eta+ = 0.1 * 20 / 10


def test_the_lipschitz_constant_is_that_of_a_quadratic_loss():
    z, one = jnp.zeros((3, 2)), jnp.asarray([[[1.0, 0.0]], [[0.3, 2.0]]])
    assert gradient_lipschitz(PrototypeLoss("frozen"), z, one, jnp.asarray(1.0)) == pytest.approx(6.0)
    two = jnp.asarray([[1.0, 0.0], [-1.0, 0.0]])
    assert exchange_lipschitz(PrototypeLoss("frozen"), z, two, jnp.asarray(100.0)) == pytest.approx(3.0, rel=0.02)


def test_the_gradient_is_bounded_at_nine_points_between_a_bank_and_each_exchange_of_two():
    z, p, T = jnp.asarray([[-1.0], [1.0], [0.3]]), np.array([[0.5], [-0.2], [1.0]]), jnp.asarray(0.3)
    loss, banks = PrototypeLoss("frozen"), []
    for order in ([1, 0, 2], [2, 1, 0], [0, 2, 1]):
        banks += [p + share * (p[order] - p) for share in np.arange(9) / 8]
    whole = [float(gradient_lipschitz(loss, z, jnp.asarray([bank]), T)) for bank in banks]
    assert max(whole) > 1.05 * max(whole[k] for k in (0, 8, 17, 26))  # it is largest in between
    assert float(exchange_lipschitz(loss, z, jnp.asarray(p), T)) == pytest.approx(max(whole))


def cycling(steps, **options):
    rules = {"pruning": 0.1, "dwell": 3.0, "spread": 0.3, "initial_temperature": 0.5, "least_temperature": 0.3}
    flow = system(prototype_rate=0.5, **{**rules, **options})
    return descend(flow, flow.start(random_key(0, "cycle")), steps)


def test_a_cycle_of_growth_and_pruning_is_found():
    found = growth_cycle(cycling(60, release="release"))
    assert found.found
    assert sorted(set(found.word)) == ["grow", "prune"]
    assert found.drift == 0
    assert "cycle" in str(found)
    assert found.period == len(found.word) * 3


def test_a_cycle_needs_three_repeats_of_the_same_residual():
    path = cycling(60, release="release")
    last = lambda count: dataclasses.replace(path, jumps=path.jumps[-4 * count :])
    assert [growth_cycle(last(count)).repeats for count in (2, 3)] == [0, 3]
    assert [growth_cycle(last(count), least_repeats=2).repeats for count in (1, 2)] == [0, 2]
    middle = next(k for k, phase in enumerate(path.phases) if phase.ts[-1] == path.jumps[9].time)
    level = lambda run: run.phases[middle].system.flow.dominant
    other = eqx.tree_at(level, path, level(path) + 1e-4)
    assert not growth_cycle(other).found
    assert growth_cycle(other, tolerance=1e-3).drift == pytest.approx(1e-4)
    slower = tuple(dataclasses.replace(jump, time=jump.time**2) for jump in path.jumps)
    found = growth_cycle(dataclasses.replace(path, jumps=slower))
    first = slower[len(slower) - found.repeats * len(found.word)].time
    assert found.period == pytest.approx((slower[-len(found.word)].time - first) / (found.repeats - 1))
    history = growth_history(path)
    np.testing.assert_array_equal(history.times, 3.0 * np.arange(20))
    np.testing.assert_array_equal(history.heads[:4], [1, 2, 1, 2])


def test_growth_comes_before_pruning_after_a_dwell_each_and_every_fourth_step_is_kept():
    flow, x = with_heads(1, pruning=0.1, dwell=3.0, prototype_rate=1e-4)
    path = descend(flow, x._replace(prototypes=0.01 * x.prototypes), 10, every=4)  # both are due once the dwell is over
    assert [(jump.name, jump.time) for jump in path.jumps] == [("grow", 3.0), ("prune", 6.0)]
    assert [phase.ts.tolist() for phase in path.phases] == [[0.0, 3.0], [3.0, 4.0, 6.0], [6.0, 8.0, 10.0]]
    assert [int(phase.stats.num_steps) for phase in path.phases] == [3, 3, 4]


def test_pruning_that_retains_directions_is_no_cycle():
    path = cycling(60, release="retain")
    assert not growth_cycle(path).found
    assert "does not end" in str(growth_cycle(path))
    history = growth_history(path)
    assert history.heads[-1] == 0
    assert history.residuals[-1] == 0
    assert np.all(np.diff(history.times) > 0)


def test_step_sizes_keep_their_ratios_when_multiplied():
    found = StepSizes(0.5, 0.25, GateSteps(2.0, 0.75)).times(3.0)
    assert found == StepSizes(1.5, 0.75, GateSteps(6.0, 0.75))
    assert [found.gate.at(k) for k in (0, 15)] == pytest.approx([6.0, 0.75])
