"""The instances behind the claims on master equations and attention, held against numbers worked out by hand."""

import math
import sys
from dataclasses import replace
from fractions import Fraction as F

import jax
import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.chains.classes import communicating_classes
from analysis.chains.entropies import dissipation, relative_entropy
from analysis.chains.lumping import lumping
from analysis.chains.reversibility import tree_balance
from analysis.chains.stationary import stationary_distribution
from analysis.claims.multirate import chain_comparisons as comparisons
from analysis.claims.multirate import section_07_learned_projector as projector
from analysis.claims.multirate import section_07_relaxation as relaxations
from analysis.claims.multirate import section_07_stationary_distribution as stationary
from analysis.claims.multirate import section_07_trained_blocks as trained_blocks
from analysis.claims.multirate import section_08_exponential as exponentials
from analysis.claims.multirate import section_08_lumping as lumpings
from analysis.claims.multirate import sections_06_08_entropies as entropies
from analysis.claims.multirate.instances import chains as instances
from analysis.claims.multirate.instances import hard_chains
from analysis.claims.rational_instances import identity, matrix
from analysis.claims.rational_logarithms import divergence, entropy, logarithm, twice_atanh
from analysis.hardmax.exact_geometry import determinant
from analysis.ledger.check import check
from analysis.ledger.verdict import Verdict
from dynsim.integrators import Diffrax
from dynsim.keys import random_key
from dynsim.systems.tokens.interactions.masks import Causal, Window

pytestmark = pytest.mark.usefixtures("short_draws")

KEYS = [random_key(0, "chains", index) for index in range(24)]
SWAP = instances.Chain(matrix([[-1, 1], [1, -1]]))
numbers = st.integers(1, 10**9)


def outcomes(trial):
    return [m.slack > 0 for m in trial.conclusions]


@settings(max_examples=60, deadline=None)
@given(numbers, numbers)
def test_logarithms_of_fractions_lie_in_narrow_enclosures(a, b):
    found = logarithm(F(a, b))
    with mpmath.workdps(80):
        expected = mpmath.log(mpmath.mpf(a) / b)
        ends = [mpmath.mpf(e.numerator) / e.denominator for e in found]
        assert ends[0] - mpmath.mpf(10) ** -75 <= expected <= ends[1] + mpmath.mpf(10) ** -75
    assert found.low <= found.high < found.low + F(1, 10**40)


def test_a_few_terms_of_the_series_enclose_the_logarithm_of_two():
    assert twice_atanh(F(1, 3), 1) == (F(2, 3), F(2, 3) + F(1, 36))  # 2/3 + 2 (1/27) / (3 * 8/9)
    for terms in range(1, 8):
        for sign in (1, -1):
            found = twice_atanh(sign * F(1, 3), terms)
            assert found.low < sign * F(math.log(2)) < found.high


def test_the_logarithm_of_one_is_zero_and_of_huge_numbers_is_found():
    assert logarithm(F(1)) == (0, 0)
    assert float(logarithm(F(10) ** 400).low) == pytest.approx(400 * math.log(10), rel=1e-15)
    assert float(logarithm(F(1, 10**400)).high) == pytest.approx(-400 * math.log(10), rel=1e-15)


def test_entropies_of_coins():
    coin, sure = matrix([1, 1]) / 2, matrix([1, 0])
    assert entropy(sure) == (0, 0)
    assert float(entropy(coin).low) == pytest.approx(math.log(2), rel=1e-15)
    assert float(divergence(sure, coin).high) == pytest.approx(math.log(2), rel=1e-15)
    assert divergence(coin, coin) == (0, 0)


def test_instances_are_what_they_are_called():
    rates, sizes = set(), set()
    for key in KEYS:
        whole = instances.irreducible_chain(key)
        assert communicating_classes(whole.generator).irreducible
        rates |= {v for v in whole.generator.flat if v > 0}
        sizes.add(whole.size)
        assert (
            len(instances.two_closed_classes(key).stationary_distributions)
            == len(instances.two_closed_classes(key, transient=False).stationary_distributions)
            == 2
        )
        assert 0 in instances.two_closed_classes(key).stationary_distributions[0]
        assert len(instances.with_transient(key).stationary_distributions) == 1
        assert instances.with_transient(key).stationary_distributions[0][-1] == 0
        assert instances.distribution(key, 4).sum() == 1
        assert instances.is_attention(instances.attention(key)).slack > 0
        assert instances.is_attention(instances.attention(key, causal=True), Causal()).slack > 0
        assert instances.is_attention(instances.attention(key, causal=True)).slack < 0
        lumpable, labels = lumpings.lumpable(key)
        assert lumping(lumpable.generator, labels).ordinary_defect == 0
    assert {F(1, 10**6), F(10**6)} <= rates
    assert sizes == {2, 3, 4, 5}


def test_what_is_measured_of_a_chain_tells_no_generator():
    wrong = instances.Chain(matrix([[1, 2], [-1, -2]]))
    assert [m.slack > 0 for m in wrong.measured(irreducible=False)] == [False, True]
    assert [m.slack > 0 for m in instances.Chain(matrix([[-1, 0], [1, 1]])).measured(irreducible=False)] == [
        True,
        False,
    ]
    assert [m.slack > 0 for m in instances.Chain(matrix([[-1, 0], [1, 0]])).measured()] == [True, True, False]


def test_kernel_contraction_and_power_by_hand():
    assert instances.null_space(matrix([[1, 2, 3], [2, 4, 6]])).tolist() == [[-2, 1, 0], [-3, 0, 1]]
    M = matrix([[3, 1], [1, 3]]) / 4
    assert instances.dobrushin_coefficient(M) == F(1, 2)
    assert instances.matrix_power(M, 3)[0, 0] == F(9, 16)
    assert instances.dobrushin_coefficient(identity(3)) == 1


def test_the_symmetric_chain_of_two_states_has_period_two_at_the_step_bound():
    p = matrix([1, 0])
    at, below = (relaxations._euler_trial(SWAP, share, p, ()) for share in (F(1), F(1, 2)))
    assert outcomes(at)[:3] == [True, False, True]  # the iterate keeps its distance: p, then the other state, then p
    assert at.witness["factor"] == 1
    assert all(outcomes(below))
    assert below.witness["factor"] == 0  # half of the bound reaches (1/2, 1/2) at once


def test_exact_transition_matrices_are_those_of_scipy_and_form_a_semigroup():
    for key in KEYS[:6]:
        whole = instances.irreducible_chain(key)
        t = 3 * whole.half_step
        found = comparisons.exact_transition_matrix(whole.generator, t)
        expected = scipy.linalg.expm((t * whole.generator).astype(float))
        np.testing.assert_allclose(found.astype(float), expected, atol=1e-14)
        twice = comparisons.exact_transition_matrix(whole.generator, 2 * t)
        assert np.max(abs(found @ found - twice)) < relaxations.ERROR


def test_the_exact_transition_matrix_of_two_states_by_hand():
    # e^{Qt} of the symmetric chain is (1 + e^{-2t}) / 2 on its diagonal
    found = comparisons.exact_transition_matrix(SWAP.generator, F(30))
    with mpmath.workdps(80):
        expected = (1 + mpmath.exp(-60)) / 2
        value = mpmath.mpf(found[0, 0].numerator) / found[0, 0].denominator
        assert abs(value - expected) < mpmath.mpf(2) ** -190


def test_what_is_known_of_hard_chains_is_true_of_them():
    for one in hard_chains.KNOWN:
        Q, expected = one.chain.generator.astype(float), np.array([0, *one.eigenvalues])
        size = np.max(abs(expected)) + 1
        # a product over eigenvalues is as accurate for a Jordan block, of which each eigenvalue is off by 1e-8
        for z in (0.3 * size, size, 1j * size):
            found = np.linalg.det((Q - z * np.eye(len(Q))) / size)
            assert found == pytest.approx(np.prod((expected - z) / size), rel=1e-10)
        assert not np.any(one.chain.generator @ one.stationary)
        assert one.stationary.sum() == 1
        assert instances.is_irreducible(one.chain.generator)
        assert tree_balance(one.chain.generator).reversible == one.reversible
        assert hard_chains.known(one.chain) is one
    assert all(not instances.is_irreducible(chain.generator) for chain in hard_chains.REDUCIBLE)
    names = [one.chain.name for one in hard_chains.KNOWN] + [chain.name for chain in hard_chains.REDUCIBLE]
    assert len(set(names)) == len(names)


def test_an_error_where_nothing_is_added_is_infinite():
    assert comparisons.relative_error([1e-30, 1.0], [0.0, 1.0], [0.0, 1.0]) == math.inf
    assert comparisons.relative_error([0.0, 1.5], [0.0, 1.0], [0.0, 2.0]) == 0.25


def test_a_line_of_equilibria_has_one_distribution():
    free, held = (stationary._equilibrium_trial(SWAP, (), mass=mass) for mass in (False, True))
    assert free.witness["directions"].tolist() == [[1, 1]]
    assert outcomes(free) == [True, False]
    assert outcomes(held) == [True, True]


def test_the_growth_of_relative_entropy_is_minus_the_dissipation():
    checked = 0
    for key in KEYS:
        whole = instances.irreducible_chain(key)
        law, p = whole.stationary_distributions[0], instances.distribution(key, whole.size)
        found = float(entropies.growth(whole.generator, p, law))
        if math.isfinite(found) and min(law) > F(1, 10**12):
            expected = dissipation(whole.generator, p.astype(float), law.astype(float))
            assert found == pytest.approx(-expected, rel=1e-6)  # the law in floats
            checked += 1
    assert checked > 3


def test_entropy_falls_without_bound_where_an_empty_state_fills_and_is_infinite_off_the_law():
    law = matrix([1, 1]) / 2
    assert entropies.growth(SWAP.generator, matrix([1, 0]), law) == -math.inf
    assert entropies.growth(SWAP.generator, law, law) == 0
    # p = (3/4, 1/4): -1/2 log(3/2) + 1/2 log(1/2) = -log(3) / 2
    assert float(entropies.growth(SWAP.generator, matrix([3, 1]) / 4, law)) == pytest.approx(-math.log(3) / 2)
    assert float(entropies.growth(-SWAP.generator, matrix([3, 1]) / 4, law)) == pytest.approx(math.log(3) / 2)
    drain = matrix([[0, 1], [0, -1]])
    assert entropies.growth(drain, matrix([1, 1]) / 2, matrix([1, 0])) == 0


def test_two_tokens_that_attend_to_each_other_have_a_negative_determinant():
    trial = exponentials.attention_is_an_exponential.trial(KEYS[0], Diffrax())
    A = trial.witness["A"]
    w = A[0, 1] / A[0, 0]
    assert determinant(A) == (1 - w * w) / (1 + w) ** 2 < 0
    assert not outcomes(trial)[0]


def test_half_a_step_of_three_causal_tokens_by_hand():
    # m = 2, q = 4: rows (1), (3, 1) / 4, (1, 14, 1) / 16; b21 = 1/2, b32 = 7/6, b31 = (1/16 - 7/12) / (5/4) = -5/12
    A = instances.softmax_of_logarithms(matrix([[1, 1, 1], [3, 1, 1], [1, 14, 1]]), causal=True)
    B = exponentials.half_step(A)
    assert B.tolist() == [[1, 0, 0], [F(1, 2), F(1, 2), 0], [F(-5, 12), F(7, 6), F(1, 4)]]
    assert (B @ B).tolist() == A.tolist()
    log = scipy.linalg.logm(A.astype(float))
    assert np.min(log - np.diag(np.diagonal(log))) < -0.1  # the only candidate for a generator has a negative rate


def test_half_a_step_that_is_stochastic_is_found():
    B = matrix([[6, 0, 0], [3, 3, 0], [2, 2, 2]]) / 6
    assert exponentials.half_step(B @ B).tolist() == B.tolist()


def test_exponentials_that_are_seen_are_exponentials():
    A = matrix([[1, 0, 0], [0, 1, 0], [F(1, 2), F(1, 4), F(1, 4)]])
    assert exponentials.is_exponential(A)
    c = math.log(0.25) / (0.25 - 1)
    np.testing.assert_allclose(scipy.linalg.expm(c * (A - identity(3)).astype(float)), A.astype(float), atol=1e-15)
    assert exponentials.is_exponential(identity(2))
    assert not exponentials.is_exponential(matrix([[1, 2], [2, 1]]) / 3)  # lambda = -1/3
    assert not exponentials.is_exponential(matrix([[1, 0], [1, 0]]))  # lambda = 0
    assert not exponentials.is_exponential(matrix([[2, 0], [0, 1]]))
    assert not exponentials.is_exponential(matrix([[6, 0, 0], [3, 3, 0], [2, 2, 2]]) / 6)  # two rates


def test_causal_attention_is_the_product_of_its_tokens_in_their_order():
    A = matrix([[6, 0, 0], [3, 3, 0], [2, 2, 2]]) / 6
    first, second = exponentials.one_token_moves(A)
    assert (first @ second).tolist() == A.tolist()
    assert (second @ first).tolist() != A.tolist()


def test_a_chain_that_is_lumped_from_one_start_only():
    trial = lumpings._one_start_trial(KEYS[1])
    assert all(m.slack > 0 for m in trial.hypotheses)
    Q, p = trial.witness["Q"], matrix([2, 0, 2]) / 4
    M = identity(3) + Q / 100
    assert Q[2, 0] > Q[2, 1]
    assert not lumpings._markov(M, np.array([0, 0, 1]), p)  # another filling of the first block


def test_lumpable_chains_are_lumpable_and_random_ones_are_not():
    closed = [lumpings._partition_trial(*lumpings.lumpable(key)).witness["the blocks are a chain"] for key in KEYS[:6]]
    assert all(closed)
    labels = np.array([0, 0, 1])
    Q = matrix([[-3, 0, 1], [1, -2, 1], [2, 2, -2]])
    assert lumpings.blocks_are_markov(instances.Chain(Q).step(F(1, 8)), labels)
    Q = matrix([[-3, 0, 1], [2, -2, 1], [1, 2, -2]])
    assert not lumpings.blocks_are_markov(instances.Chain(Q).step(F(1, 8)), labels)


def test_pooling_two_causal_tokens_by_hand():
    # of two tokens the first is given 1 + 1/2 and the second 1/2: their mean becomes 3/4 x_0 + 1/4 x_1
    A = matrix([[2, 0], [1, 1]]) / 2
    found = lumpings.attention_lumping(A, np.array([0, 0]))
    assert found.exact_defect == 1
    assert found.ordinary_defect == 0


def test_a_fixed_point_by_hand():
    # x -> (x + y, -y) / 2 + (1, 3): y = 2, x = 4; directions (1, 0) for 1/2 and (1, -2) for -1/2
    given = trained_blocks.AffineMap(matrix([[1, 1], [0, -2]]), matrix([1, -1]) / 2, matrix([1, 3]))
    assert given.matrix.tolist() == [[F(1, 2), F(1, 2)], [0, F(-1, 2)]]
    assert given.fixed_points.tolist() == [[4, 2]]
    still = given._replace(eigenvalues=matrix([1, 0]), offset=matrix([0, 0]))
    assert still.fixed_points.tolist() == [[1, 0]]


def test_trained_blocks_without_data_decide_nothing(monkeypatch):
    monkeypatch.delenv("DYNSIM_DATA", raising=False)
    found = check(replace(trained_blocks.trained_blocks_have_other_column_sums, control=None))
    assert (found.verdict, found.broken) == (Verdict.INCONCLUSIVE, "")
    assert "stories260k.npz" in found.doubt


def test_targets_of_the_projector_are_stationary_laws():
    Q = projector._generators(KEYS[0], 50)
    laws = projector.stationary_of(Q)
    for generator, law in zip(np.asarray(Q), np.asarray(laws), strict=True):
        np.testing.assert_allclose(law, stationary_distribution(generator).probabilities, rtol=1e-12)
    once, tau = projector._euler(np.asarray(Q), 1), 1 / np.max(-np.diagonal(np.asarray(Q[0])))
    np.testing.assert_allclose(once[0], 0.2 + tau * np.asarray(Q[0]) @ np.full(5, 0.2), rtol=1e-14)
    np.testing.assert_allclose(np.sum(projector._euler(np.asarray(Q), 3), axis=1), 1.0, rtol=1e-14)


def test_the_loss_of_the_projector_is_the_mean_relative_entropy():
    model, Q = projector.trained_projector(0, 0), projector._generators(KEYS[0], 50)
    p = projector.stationary_of(Q)
    expected = np.mean([relative_entropy(a, b) for a, b in zip(np.asarray(p), np.exp(model(Q)), strict=True)])
    assert float(projector._loss(model, (Q, p), KEYS[0])) == pytest.approx(expected, rel=1e-12)


def test_the_projector_before_training_returns_distributions_that_are_no_laws():
    trial = projector._projector_trial(jax.random.exponential(KEYS[0], (50, 5, 5)), 0)
    assert all(m.holds_clearly for m in trial.hypotheses)
    assert trial.contradicts
    assert not trial.conclusions[-1].fails_clearly


def test_training_without_optax_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "optax", None)
    projector._adam.cache_clear()
    with pytest.raises(ValueError, match=r"needs optax .*dynsim\[train\]"):
        projector._adam()


def test_power_iteration_comes_closer_by_a_factor_known_by_hand():
    # at a share s of the bound the two columns are (1 - s, s) and (s, 1 - s): |1 - 2 s| apart
    trial = projector._iteration_trial(SWAP.generator.astype(float), 0.6, ())
    assert trial.witness["factor"] == pytest.approx(0.2)
    assert not trial.contradicts


def test_the_dissipation_is_accurate_where_a_ratio_of_probabilities_is_tiny():
    # two states with rates 10^-6 and 10^6, p = (1/2, 1/2): sum_i (Q p)_i log(p_i / pi_i) = -(b - a) / 2 log(b / a)
    a, b = 1e-6, 1e6
    Q, law = np.array([[-a, b], [a, -b]]), np.array([b, a]) / (a + b)
    assert dissipation(Q, np.full(2, 0.5), law) == pytest.approx((b - a) / 2 * math.log(b / a), rel=1e-13)


def test_the_dissipation_at_an_empty_state_raises_no_warning():
    ring = np.roll(np.eye(3), 1, axis=0) - np.eye(3)
    assert dissipation(ring, np.eye(3)[0], np.full(3, 1 / 3)) == math.inf


def test_masks_by_hand():
    assert instances.seen_by(Window(2), 3).tolist() == [[True, False, False], [True, True, False], [False, True, True]]
    for mask in (Causal(), Window(2), Window(1)):
        np.testing.assert_array_equal(instances.seen_by(mask, 5), np.asarray(mask(5)))


def test_what_is_no_exponential_has_an_infinite_error():
    assert exponentials.exponential_error(matrix([[1, 2], [2, 1]]) / 3) == math.inf
    assert exponentials.exponential_error(identity(2)) == 0.0
    assert exponentials.exponential_error(matrix([[2, 1], [1, 2]]) / 3) < 1e-15  # at c = log(1/3) / (1/3 - 1)
