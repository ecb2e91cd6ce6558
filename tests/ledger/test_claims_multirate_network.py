"""The instances behind the claims on the multirate network and its slow manifold, held against numbers by hand."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.claims.multirate import section_03_cost as cost
from analysis.claims.multirate import section_04_causality as causality
from analysis.claims.multirate import section_05_norm_constraints as norms
from analysis.claims.multirate import section_09_training as training
from analysis.claims.multirate import section_11_anderson as anderson
from analysis.claims.multirate import section_11_equilibrium as equilibrium
from analysis.claims.multirate import sections_02_04_forward_pass as forward
from analysis.claims.multirate import sections_02_05_slow_manifold as manifolds
from analysis.claims.multirate import sections_03_04_pooling as pooling
from analysis.claims.multirate.instances import contractions
from analysis.claims.multirate.instances.networks import GENERIC, NextSeen, network, symbols, with_slow_mask
from analysis.claims.multirate.instances.numpy_forward_pass import attended, pooled, rotary, upsampled
from analysis.claims.rational_instances import identity, matrix
from analysis.experiments import Record
from analysis.ledger.check import check
from analysis.ledger.verdict import Verdict
from dynsim.errors import UnavailableError
from dynsim.keys import random_key
from dynsim.networks.multirate.equilibrium import Anderson
from dynsim.systems.tokens.interactions.masks import Causal, Full

pytestmark = pytest.mark.usefixtures("short_draws")

HALF = Fraction(1, 2)
KEY = random_key(0, "multirate claims")


def outcomes(trial):
    return [m.slack >= 0 for m in trial.conclusions]


def test_blocks_are_pooled_and_handed_back_as_by_hand():
    x = np.array([[2.0], [4.0], [6.0], [10.0], [7.0]])
    assert pooled(x, 2).tolist() == [[3], [8], [7]]
    assert upsampled(pooled(x, 2), 5, 2).tolist() == [[0], [0], [3], [3], [8]]
    assert upsampled(pooled(x, 2), 5, 2, shift=0).tolist() == [[3], [3], [8], [8], [7]]
    given = pooling.Blocks(pooling.MULTIPLE * np.array([[2, 0], [4, 1], [6, 0]]), 2)
    assert given.means == [[3 * pooling.MULTIPLE, pooling.MULTIPLE * HALF], [6 * pooling.MULTIPLE, 0]]
    y = np.array([[3.0, 0.5], [6.0, 0.0]]) * pooling.MULTIPLE
    assert not pooling._mean_trial((given, y, y)).contradicts
    assert pooling._mean_trial((given, y / 2, y)).contradicts
    assert pooling._mean_trial((given, y, y + 1)).contradicts  # the first block has seen a later token
    assert pooling._pool(given.x, 2).tolist() == y.tolist()


def test_drawn_blocks_are_of_the_kind_that_is_asked_for():
    for index in range(20):
        key = random_key(0, "blocks", index)
        tail, two = pooling.blocks(key, partial=True), pooling.blocks(key, least=2)
        assert len(tail.x) % tail.block >= 2
        assert two.block >= 2
        assert len(two.x) >= two.block


def test_a_context_that_changes_too_often_or_not_at_its_blocks_is_noticed():
    found = forward.run(KEY).found.rounds[:1]
    n, y = len(found[0].x), np.arange(1.0, 4.0)[:, None]
    judged = lambda c: outcomes(pooling._held_trial(list(found), [y], [c], GENERIC))
    held = lambda period, start=0: ((np.arange(n) + start) // period)[:, None].astype(float)
    assert judged(held(4)) == [True, True, True, True]
    assert judged(held(4) + 1) == [True, True, False, True]  # the block after the one that is read
    assert judged(held(4, 1)) == [True, False, False, True]
    assert judged(held(2)) == [False, False, False, True]
    assert judged(0 * held(4)) == [True, False, False, True]


def test_a_pair_of_coordinates_is_turned_by_its_position():
    x = np.tile([1.0, 0.0, 0.0, 1.0], (3, 1))
    one, slow = 2.0, 2.0 / 10.0  # positions times 1 and times 100^(-1/2)
    expected = [np.cos(one), np.sin(one), -np.sin(slow), np.cos(slow)]
    np.testing.assert_allclose(rotary(x, 100.0)[2], expected, rtol=1e-15)


def test_the_masks_written_out_are_the_causal_and_the_full_one_only():
    assert attended(Causal(), 3).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert np.all(attended(Full(), 3))
    with pytest.raises(ValueError, match="Argument `mask` must be causal or full, but is NextSeen"):
        attended(NextSeen(), 3)


def test_the_sum_of_two_terms_is_the_round_at_a_closed_gate_only():
    closed = forward.run(KEY, gate=0.0)
    sums = lambda given: [np.asarray(r.without_injection + r.injected) for r in given.found.rounds]
    trial = forward._sum_trial(closed, sums(closed))
    assert outcomes(trial) == [True, True]
    assert not trial.applies  # nothing is injected
    near, nearer = (forward.run(KEY, gate=gate) for gate in (2e-4, 1e-4))
    gaps = [np.max(np.abs(sums(given)[0] - given.found.rounds[0].after)) for given in (near, nearer)]
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=1e-2)  # first order in the gate


def test_the_slow_masks_of_networks_are_told_apart():
    causal, full, shifted = network(KEY), network(KEY, causality.FULL), with_slow_mask(network(KEY), NextSeen())
    assert [causality._causal(model).holds_clearly for model in (causal, full, shifted)] == [True, False, False]
    assert [causality._full(model).holds_clearly for model in (causal, full, shifted)] == [False, True, False]
    assert NextSeen()(3).tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]


def test_the_work_of_section_9_is_253_eightieths_of_a_layer():
    # 128 x 128 for q and for the output, 64 x 128 for k and v each, 2 x 128 x 512 for the MLP; 128 for q k^T and w v
    given = cost.count_operations(cost.SECTION_9, 256)
    assert given.layer == (2 * (3 * 128**2 + 2 * 128 * 512), 2 * 2 * 128)
    assert given.whole.on(256) / given.layer.on(256) == Fraction(253, 80)
    assert given.equivalents(Fraction(1, 64)) == Fraction(193, 64)
    assert cost._corrected_trial(given).contradicts is False
    assert cost._corrected_trial(given, omitted="quadratic").contradicts


def test_rms_norm_reaches_its_bound_without_epsilon_and_not_with_it():
    c, one = matrix([3, 4]), matrix([1, 1])
    assert norms.squared_norm(c, one, Fraction(0)) == 2
    assert norms.squared_norm(c, one) == Fraction(25) / (Fraction(25, 2) + norms.EPSILON) < 2
    assert norms.squared_norm(matrix([0, 0]), one) == 0
    assert norms.squared_norm(c, 2 * one, Fraction(0)) == 8


def test_two_tokens_spread_from_the_least_stretched_direction():
    x, z = matrix([[Fraction(4, 5), Fraction(3, 5), 0], [Fraction(4, 5), -Fraction(3, 5), 0]])
    move = lambda x, stretch: stretch * x - (x @ (stretch * x)) * x
    for stretch, growth in ((matrix([-1, 1, 2]), Fraction(32, 25)), (matrix([1, -1, 2]), Fraction(-32, 25))):
        pair = norms.StatePair("the unit sphere", x, z, move(x, stretch), move(z, stretch), 0.0)
        assert pair.distance_growth == growth  # 2 cos^2 of the angle to the axis
        assert norms._contraction_trial(pair, True).contradicts == (growth > 0)


def test_a_mixture_of_permutations_is_doubly_stochastic():
    keys = [random_key(0, "permutations", index) for index in range(8)]
    drawn = [norms.doubly_stochastic_matrix(key) for key in keys]
    assert all(norms._doubly_stochastic(key) for key in keys)
    assert all(np.all(M @ matrix([1, 1, 1, 1]) == 1) for M in drawn)
    assert not all(np.all(np.isin(M, [0, 1])) for M in drawn)


def test_the_graph_over_a_saddle_is_invariant():
    A, b = matrix([[1, 0], [0, -1]]), matrix([[1, 1], [0, 0], [2, 0]])
    given = manifolds.PolynomialSystem(A, b, Fraction(1))
    assert given.hyperbolic
    assert not given.contractive
    quarter = Fraction(1, 4)
    graph = given.coefficients(A, quarter)
    assert graph[0].tolist() == [Fraction(4, 3), Fraction(4, 5)]
    assert graph[2].tolist() == [8, 0]  # 2 / (1 - 3/4)
    for y in (Fraction(1, 3), Fraction(-2)):
        x = sum(k * y**j for j, k in enumerate(graph, 1))
        phi = sum(k * y**j for j, k in enumerate(b, 1))
        speed = sum(j * k * y**j for j, k in enumerate(graph, 1))
        assert np.all(quarter * speed == A @ (x - phi))
    assert given.persists(A, given.epsilon)
    assert not given.persists(given.epsilon * identity(2), given.epsilon)
    assert not manifolds.PolynomialSystem(matrix([[0, 1], [-1, 0]]), b, Fraction(1)).hyperbolic


def test_a_centre_has_no_invariant_graph_at_its_resonances_and_a_saddle_has_one():
    b, saddle, focus = matrix([1, 2]), matrix([[0, 1], [1, 0]]), matrix([[1, 1], [-1, 1]])
    turn = manifolds.centre(KEY)
    assert sum(np.diag(turn)) == 0
    for A, persists in ((saddle, True), (focus, True), (turn, False)):
        given = manifolds.CircleSystem(A, b, Fraction(3, 4))
        assert given.persists(A) == persists
    given = manifolds.CircleSystem(saddle, b, Fraction(1))
    u, v = given.coefficients(saddle, HALF)[0]
    assert np.all(saddle @ u + HALF * v == saddle @ b / 2)  # (A - i/2) (u + i v) = A b / 2
    assert np.all(saddle @ v - HALF * u == 0)


def test_the_reduction_of_an_expanding_system_is_not_called_well_posed():
    for index in range(4):
        expanding, contractive = (
            manifolds.polynomial_system(random_key(0, "polynomial", index), kind)
            for kind in ("expanding", "contractive")
        )
        assert manifolds._necessity_trial(contractive).contradicts
        assert outcomes(manifolds._necessity_trial(expanding)) == [True]


@pytest.mark.slow
@pytest.mark.parametrize("kind", contractions.KINDS)
def test_a_contracting_round_rests_at_its_fixed_point_and_contracts_by_its_constant(kind):
    given = contractions.contracting_round(KEY, kind, distance=0.3)
    forcing = given.round.forcing(jnp.asarray(given.start))
    moved = lambda x: np.asarray(given.round.fast_map(jnp.asarray(x), forcing))
    np.testing.assert_allclose(moved(given.fixed_point), given.fixed_point, atol=1e-14)
    factor = np.linalg.norm(moved(given.start) - given.fixed_point) / 0.3
    assert factor < given.lipschitz < 1
    assert (np.max(np.abs(forcing)) > 0) == (kind == "three tokens")
    told = given._replace(lipschitz=factor / 2)
    assert equilibrium._limit_trial(told).contradicts


def test_exact_maps_have_the_lipschitz_constant_that_is_asked_for():
    assert contractions.random_absolute_value_map(KEY, HALF).lipschitz == HALF
    G = contractions.AbsoluteValueMap(matrix([[HALF, -1], [0, HALF]]), matrix([1, 2]))
    assert G.lipschitz == Fraction(3, 2)
    assert G(matrix([-3, 4])).tolist() == [HALF * 2 - 2 + 1, HALF * 2 + 2]


def test_a_map_that_halves_passes_for_a_contraction_and_one_that_stretches_does_not():
    x = np.array([[1.0, -2.0], [0.5, 3.0]])
    assert not equilibrium.contraction_trial(lambda x: x / 2, x).contradicts
    bent = lambda x: x / 2 + np.array([0.8, 0.0]) * np.sin(x)
    trial = equilibrium.contraction_trial(bent, x)
    assert trial.contradicts
    assert trial.witness["largest expansion"] == pytest.approx(0.5 + 0.8 * np.cos(0.5), abs=1e-6)


def test_the_secant_ends_at_the_fixed_point_of_a_line_and_is_the_step_of_the_network():
    line = anderson.iterates(lambda x: x / 2 + 1, matrix([0]), matrix([1]))
    assert line.coefficient == -1
    assert line.mixed(line.coefficient).tolist() == [2]
    W = matrix([[HALF, 0], [1, Fraction(1, 4)]])
    plane = anderson.iterates(lambda x: W @ x + 1, matrix([0, 0]), matrix([1, 1]))
    step = plane.mixed(plane.coefficient)
    assert np.any(W @ step + 1 != step)
    floats = W.astype(float)
    found = Anderson(2)(lambda x: x @ jnp.asarray(floats).T + 1, jnp.zeros((1, 2)))
    np.testing.assert_allclose(found[0], step.astype(float), rtol=1e-14)


def record(gaps, gates):
    frozen = np.array([2.0, 2.2, 2.1])
    start = np.full((3, 1), 5.5)
    return Record(
        "multirate/section-9",
        "quick",
        0,
        {},
        {
            "steps": np.array([0, 650]),
            "coupled: final validation loss": frozen + gaps,
            "frozen: final validation loss": frozen,
            "coupled: validation loss": np.concatenate([start, frozen[:, None]], axis=1),
            "frozen: validation loss": np.concatenate([start, frozen[:, None]], axis=1),
            "coupled: gates": np.stack([np.zeros((3, 1)), np.array(gates)[:, None]], axis=1),
        },
    )


@pytest.mark.parametrize(
    ("gaps", "gates", "neutral", "paired"),
    [
        ([0.01, -0.01, 0.0], [0.01, -0.02, 0.0], [True, True], [True, True]),
        ([0.01, 0.01, 0.011], [0.01, -0.02, 0.0], [True, True], [False, True]),
        ([0.3, 0.3, 0.31], [0.01, -0.02, 0.0], [False, True], [False, True]),
        ([0.01, -0.01, 0.0], [0.01, -0.2, 0.0], [True, False], [True, False]),
    ],
    ids=["alike", "a little worse at every seed", "worse", "open gate"],
)
def test_coupling_is_judged_by_seeds_and_gates(monkeypatch, gaps, gates, neutral, paired):
    monkeypatch.setattr(training, "best_record", lambda experiment: record(np.array(gaps), gates))
    clear = lambda trial: [not m.fails_clearly for m in trial.conclusions]
    assert clear(training._neutral_trial(True)) == neutral
    assert clear(training._neutral_trial(False)) == paired
    assert training._neutral_trial(True, trained_frozen=False).contradicts


@pytest.mark.parametrize(("steps", "loss", "applies"), [(650, 2.0, True), (649, 2.0, False), (650, 3.25, False)])
def test_a_record_decides_only_after_all_steps_and_if_the_network_has_learned(monkeypatch, steps, loss, applies):
    found = record(np.zeros(3), [0.01, 0.0, 0.0])
    found.arrays["steps"][-1] = steps
    found.arrays["coupled: validation loss"][0, -1] = loss
    monkeypatch.setattr(training, "best_record", lambda experiment: found)
    trial = training._neutral_trial(True)
    assert trial.applies == applies
    assert trial.parameters == {"size": "quick", "steps": steps, "seeds": 3}


def test_without_data_nothing_is_decided_and_the_file_is_named(monkeypatch):
    def missing(experiment):
        raise UnavailableError("Argument `data` must hold the file x.txt.gz, but does not.")

    monkeypatch.setattr(training, "best_record", missing)
    for claim in (training.coupling_is_neutral, training.closing_the_trained_gate_changes_little):
        found = check(claim)
        assert (found.verdict, found.control, found.broken) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE, "")
        assert "x.txt.gz" in found.doubt


def test_networks_are_drawn_from_their_keys():
    one, same, other = (network(key) for key in (KEY, KEY, jax.random.fold_in(KEY, 1)))
    assert np.array_equal(one.token_embedding, same.token_embedding)
    assert not np.array_equal(one.token_embedding, other.token_embedding)
    assert symbols(KEY).tolist() == symbols(KEY).tolist()
