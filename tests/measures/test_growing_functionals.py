"""The piecewise functional of growing systems, greedy growth and the coupling condition, against closed forms."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.growing.couplings import LearningRates, _range, couplings, curvatures
from analysis.growing.functionals import energy_along, free_energy_terms, piecewise_free_energy, rate_of_change
from analysis.growing.greedy import coverage, energy_coverage, greedy_growth, least_residual_energy, residual_energy
from analysis.growing.residuals import paired_spectrum
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from dynsim.simulation.simulate import map_stats
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.growing.descent import GrowingStep
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.residual import antisymmetric_part
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss

PLANES = np.kron(np.diag([3.0, 1.0]), np.array([[0.0, 1.0], [-1.0, 0.0]]))


def grown(encoder=None):
    rng = np.random.default_rng(0)
    flow = GrowingFlow(
        rng.normal(size=(3, 4)),
        PLANES,
        rules=GrowthRules(0.5, capacity=2, prototypes=2),
        loss=PrototypeLoss("full", barrier=0.3, reduction="mean"),
        encoder=encoder,
    )
    flow, x = grow(flow, 0.0, flow.start(jax.random.key(0)))
    return flow, x._replace(cubes=x.cubes * 0.4)


def test_greedy_growth_takes_the_planes_in_order():
    values, rows = greedy_growth(PLANES + np.ones((4, 4)), 0.5)
    np.testing.assert_allclose(values, [3, 1])
    assert residual_energy(PLANES, rows[:1]) == pytest.approx(least_residual_energy(PLANES, 1)) == pytest.approx(2)
    np.testing.assert_allclose(paired_spectrum(antisymmetric_part(PLANES)).values, [3, 1])
    assert coverage(PLANES, values) == pytest.approx(4 / 20)
    assert energy_coverage(PLANES, values) == pytest.approx(2 * sum(value**2 for value in values) / 20)


def test_greedy_growth_stops_at_the_threshold():
    assert len(greedy_growth(PLANES, 2.0)[0]) == 1
    assert greedy_growth(PLANES, 4.0)[1].shape == (0, 4)


@pytest.mark.parametrize("threshold", [0, -1, np.nan])
def test_greedy_growth_refuses_a_threshold_that_is_not_positive(threshold):
    with pytest.raises(ValueError, match="Argument `threshold` must be positive"):
        greedy_growth(PLANES, threshold)


@pytest.mark.parametrize("share", [coverage, energy_coverage])
def test_the_coverage_of_a_symmetric_interaction_is_refused(share):
    with pytest.raises(ValueError, match="Argument `interaction` must have an antisymmetric part, but is symmetric"):
        share(np.eye(4), [1.0])


def test_greedy_growth_refuses_an_interaction_that_is_not_square():
    with pytest.raises(ValueError, match="Argument `interaction` must be a square matrix, but has shape"):
        greedy_growth(np.ones((2, 3)), 1.0)


def test_the_potentials_are_those_of_their_formulas():
    flow, x = grown()
    terms = jax.jit(lambda x: [free_energy_terms(flow, x, potential=word) for word in ("printed", "repaired", "none")])
    printed, repaired, none = terms(x)
    assert float(printed.potentials[0]) == pytest.approx((1 - 0.4) / 0.03)
    assert float(repaired.potentials[0]) == pytest.approx((0.4 - 0.001) / 0.03)
    assert float(none.potentials[0]) == 0
    assert float(printed.heads[1]) == 0
    assert float(none.total) == pytest.approx(float(flow.value(0.0, x)))


def test_an_unknown_potential_is_refused():
    with pytest.raises(ValueError, match="Argument `potential` must be one of printed, repaired, none"):
        piecewise_free_energy(*grown(), potential="other")


def test_the_range_of_a_block_leaves_zeros_out():
    turned = np.linalg.qr(np.arange(16.0).reshape(4, 4) + np.eye(4))[0]
    assert _range(turned @ np.diag([-3.0, 0.0, 1.0, 2.0]) @ turned.T) == pytest.approx((-3, 2))


def test_the_rate_of_change_is_a_difference_quotient():
    flow, x = grown()
    v, h = eqx.filter_jit(type(flow).velocity)(flow, np.asarray(0.0), x), 1e-5
    moved = lambda step: jax.tree.map(lambda y, w: jnp.asarray(np.asarray(y) + step * np.asarray(w)), x, v)
    at = lambda step: piecewise_free_energy(flow, moved(step))
    found = rate_of_change(flow, x)
    assert float(found.total) == pytest.approx(float(at(h) - at(-h)) / (2 * h), rel=1e-6)
    assert found.state == pytest.approx(-float(flow.prototype_rate * found.prototypes))  # there is no encoder
    assert found.potentials == pytest.approx(float(jnp.sum(found.activity)))  # T^3 falls at the rate 3 eta sigma
    assert found.dissipation == pytest.approx(float(found.prototypes + jnp.sum(found.activity)))


def test_the_energy_of_a_run_has_its_jumps():
    flow, x = grown()
    after, y = grow(flow, 1.0, x)
    rows = lambda state, warm: jax.tree.map(lambda leaf: jnp.stack([leaf, leaf * warm]), state)
    path = lambda f, s, t: Trajectory(jnp.asarray([t, t + 1.0]), rows(s, 1.0), f, map_stats(True, 1, jnp.zeros(())))
    run = HybridTrajectory((path(flow, x, 0.0), path(after, y, 1.0)), (Jump(2, "grow", 1.0, x, y),), Ending.FINISHED)
    found = energy_along(run, potential="repaired")
    assert found.names == (("grow",),)
    assert found.jump_times[0] == 1
    added = free_energy_terms(after, y, potential="repaired").heads[1]
    np.testing.assert_allclose(found.jumps, [float(added)])
    np.testing.assert_allclose(found.rises, 0, atol=1e-12)
    assert len(found.times) == len(found.values) == 4
    turned = lambda path: eqx.tree_at(lambda p: p.ys, path, jax.tree.map(lambda y: y[::-1], path.ys))
    cooler = Trajectory(jnp.asarray([0.0, 1.0]), rows(x, 0.9), flow, map_stats(True, 1, jnp.zeros(())))
    down_and_up = dataclasses.replace(run, phases=(cooler, turned(cooler)))
    found = energy_along(down_and_up, potential="repaired")
    ridge = energy_along(down_and_up, potential="repaired", loss=PrototypeLoss("full", ridge=2.0, reduction="mean"))
    added = [float(jnp.sum(state.prototypes[0] ** 2)) for state in (x, jax.tree.map(lambda leaf: 0.9 * leaf, x))]
    barriers = [flow.loss.penalty(size * x.prototypes[0]) for size in (1.0, 0.9)]
    np.testing.assert_allclose(ridge.values[:2] - found.values[:2], np.array(added) - np.array(barriers), rtol=1e-9)
    step = found.values[1] - found.values[0]
    assert step != 0
    np.testing.assert_allclose(found.rises, [step, -step])  # one of them is a fall
    in_steps = eqx.tree_at(lambda p: p.system, cooler, GrowingStep(flow))  # as a phase of `descend` is
    discrete = energy_along(dataclasses.replace(run, phases=(in_steps,), jumps=()), potential="repaired")
    assert discrete.values.tolist() == found.values[:2].tolist()
    with pytest.raises(ValueError, match="Argument `path` must have a phase of positive length"):
        energy_along(dataclasses.replace(run, phases=()))


def test_the_third_coupling_does_not_depend_on_the_ratio_of_the_rates():
    found = curvatures(*grown(LinearEncoder(4, 4)))
    assert found.prototypes[1] > 0 < found.cross
    found = found._replace(cross=1.0, encoder=(1.0, 2.0), prototypes=(1.0, 2.0))
    first, second, third, least = couplings(found, LearningRates(100.0, 1.0, 0.1, 0.01), 1.0, 1.0)
    assert (first, second, third, least) == pytest.approx((0.01, 0.1, 0.005, 0.01))
    assert found.needs == pytest.approx(1.5)


def test_curvatures_refuse_an_encoder_without_parameters():
    with pytest.raises(ValueError, match="Argument `flow` must have an encoder with parameters, but has one without"):
        curvatures(*grown())
