"""Classes, stationary distributions, gaps, mixing, entropy and lumping of chains, against exact and closed forms."""

import math
import warnings
from fractions import Fraction as F

import jax
import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.chains import mixing, spectra
from analysis.chains.classes import communicating_classes, periods, shown, transition_classes
from analysis.chains.elimination import by_inverse_iteration
from analysis.chains.entropies import attention_entropy, dissipation, entropy_rate, relative_entropy
from analysis.chains.lumping import attention_lumping, blocks_of, lumping
from analysis.chains.mixing import mixing_bounds, mixing_time, total_variation
from analysis.chains.relaxation import relaxation
from analysis.chains.reversibility import reversibility
from analysis.chains.spectra import euler_bounds, reversibilised_gap, spectral_gap
from analysis.chains.stationary import _residual, stationary_distribution, stationary_distributions
from dynsim.errors import ArgumentError, IntegrationError
from dynsim.systems.master_equation.generators import (
    attention_generator,
    birth_death,
    generator_from_rates,
    random_generator,
    walk_in_potential,
)
from tests.support.sparse_chains import random_sparse_generator

SWAP = np.array([[-1.0, 1.0], [1.0, -1.0]])
CYCLE = np.roll(np.eye(3), 1, axis=0) - np.eye(3)
# Two traps, {1} and {2}, and two states on the way.
TRAPS = np.array([[-1.0, 0, 0, 0.5], [1, 0, 0, 0.25], [0, 0, 0, 0.25], [0, 0, 0, -1]])


def ehrenfest(n: int):
    """Return n balls in two urns, each changing urns at rate one."""
    return birth_death(np.arange(n, 0, -1.0), np.arange(1.0, n + 1))


@st.composite
def exact_chains(draw, largest=6):
    """Return rates of irreducible chains in Fractions: a cycle through all states, and some more rates."""
    k = draw(st.integers(2, largest))
    rate = st.integers(1, 40).map(lambda n: F(n, 7))
    R = np.full((k, k), F(0), dtype=object)
    for j in range(k):
        R[(j + 1) % k, j] = draw(rate)
    for i, j in draw(st.lists(st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)), max_size=12)):
        if i != j:
            R[i, j] = draw(rate)
    return R


@settings(max_examples=40, deadline=None)
@given(exact_chains())
def test_all_methods_agree_with_exact_elimination(rates):
    Q = generator_from_rates(rates)
    exact = stationary_distribution(Q)
    assert exact.error == 0
    assert exact.probabilities.sum() == 1
    assert all(entry == 0 for entry in Q @ exact.probabilities)
    expected = exact.probabilities.astype(float)
    for method in ("elimination", "lu", "inverse-iteration"):
        law = stationary_distribution(Q.astype(float), method=method)
        off = np.max(abs(law.probabilities / expected - 1))
        assert off <= max(law.error, 1e-14) + 1e-15
        assert law.residual < 1e-13
        assert law.method == method


@settings(max_examples=25, deadline=None)
@given(exact_chains(5), st.permutations(range(5)))
def test_the_law_goes_with_the_names_of_the_states(rates, order):
    Q = generator_from_rates(rates)
    order = [i for i in order if i < len(Q)]
    renamed = stationary_distribution(Q[order][:, order]).probabilities
    assert renamed.tolist() == stationary_distribution(Q).probabilities[order].tolist()


def test_the_tree_agrees_with_the_gibbs_law_and_with_lu_on_a_grid():
    x = np.linspace(-2.0, 2.0, 40)
    V = 3 * (x[:, None] ** 2 - 1) ** 2 + x[None] ** 2 + 0.5 * x[:, None]
    Q = walk_in_potential(V)
    expected = np.exp(-V.ravel())
    expected /= expected.sum()
    for method, how in (("auto", "tree"), ("lu", "lu"), ("inverse-iteration", "inverse-iteration")):
        law = stationary_distribution(Q, method=method)
        assert law.method == how
        assert np.max(abs(law.probabilities / expected - 1)) <= law.error + 1e-14
        assert law.error < 1e-10


def test_small_probabilities_keep_their_relative_precision():
    Q = birth_death(np.full(299, 0.1), np.ones(299))
    expected = 0.1 ** np.arange(300.0) * 0.9
    for method in ("elimination", "tree", "lu"):
        law = stationary_distribution(Q, method=method)
        np.testing.assert_allclose(law.probabilities, expected, rtol=1e-12)
        assert law.error < 1e-12
    upwards = stationary_distribution(birth_death(np.ones(299), np.full(299, 0.1)), method="elimination")
    np.testing.assert_allclose(upwards.probabilities[::-1], expected, rtol=1e-12)


def test_closed_forms_of_queues_urns_and_cycles():
    rho, k = 0.7, 30
    queue = stationary_distribution(birth_death(np.full(k, rho), np.ones(k))).probabilities
    np.testing.assert_allclose(queue, (1 - rho) / (1 - rho ** (k + 1)) * rho ** np.arange(k + 1), rtol=1e-13)
    urns = stationary_distribution(ehrenfest(10)).probabilities
    np.testing.assert_allclose(urns, [math.comb(10, i) / 2**10 for i in range(11)], rtol=1e-13)
    np.testing.assert_allclose(stationary_distribution(CYCLE).probabilities, 1 / 3, rtol=1e-15)
    speeds = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(
        stationary_distribution(CYCLE * speeds).probabilities, np.array([4, 2, 1]) / 7, rtol=1e-15
    )


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_unit_of_time_changes_no_probability(scale):
    Q = random_generator(jax.random.key(3), 12)
    for method in ("elimination", "lu", "inverse-iteration"):
        one, other = (stationary_distribution(size * Q, method=method) for size in (1.0, scale))
        np.testing.assert_allclose(other.probabilities, one.probabilities, rtol=1e-13)
        assert max(one.error, other.error) < 1e-13
    assert spectral_gap(scale * Q).value == pytest.approx(scale * spectral_gap(Q).value, rel=1e-10)
    assert reversibilised_gap(scale * Q) == pytest.approx(scale * reversibilised_gap(Q), rel=1e-10)
    before, after = mixing_time(Q), mixing_time(scale * Q)
    assert (after.lower, after.upper) == pytest.approx((before.lower / scale, before.upper / scale), rel=1e-9)


def test_a_nearly_decoupled_chain_is_solved_or_said_not_to_be():
    Q = np.kron(np.eye(2), SWAP)
    Q[0, 2], Q[2, 2] = 1e-14, -1 - 1e-14
    Q[2, 0], Q[0, 0] = 3e-14, -1 - 3e-14
    expected = np.array([1, 1, 3, 3]) / 8
    np.testing.assert_allclose(stationary_distribution(Q, method="elimination").probabilities, expected, rtol=1e-14)
    with pytest.raises(IntegrationError, match="gap is far below"):
        by_inverse_iteration(scipy.sparse.csc_array(Q))


def test_a_reducible_chain_is_answered_for_each_closed_class():
    found = stationary_distributions(TRAPS)
    assert not found.unique
    assert [law.states.tolist() for law in found.distributions] == [[1], [2]]
    assert "2 stationary distributions, one for each closed class" in str(found)
    assert "4 classes, 2 of them closed: {1}, {2}; 2 states transient" in str(found.classes)
    with pytest.raises(ValueError, match=r"have one closed class, but has 2: \{1\}, \{2\}"):
        stationary_distribution(TRAPS)
    np.testing.assert_allclose(found.limit([0.0, 0.0, 0.0, 1.0]), [0, 0.75, 0.25, 0], atol=1e-15)
    exact = stationary_distributions(np.vectorize(F)(TRAPS).astype(object))
    assert exact.limit([F(0), F(0), F(0), F(1)]).tolist() == [0, F(3, 4), F(1, 4), 0]
    late = relaxation(TRAPS, [0.0, 0.0, 0.0, 1.0], [200.0]).final
    np.testing.assert_allclose(late, found.limit([0.0, 0.0, 0.0, 1.0]), atol=1e-14)


@pytest.mark.parametrize("fast", [1.0, 1e8, 1e15])
def test_absorption_keeps_rates_that_are_small_beside_others(fast, monkeypatch):
    """Two transient states exchange mass, and leave slowly for two absorbing ones; a line is left at both ends."""
    R = np.zeros((4, 4))
    R[1, 0], R[0, 1], R[2, 0], R[3, 1] = fast, fast, 1e-3, 2e-3
    exact = stationary_distributions(generator_from_rates(np.vectorize(F, otypes=[object])(R)))
    start = [F(1), F(0), F(0), F(0)]
    for dense in (200, 1):
        monkeypatch.setattr("analysis.chains.stationary.DENSE", dense)
        found = stationary_distributions(generator_from_rates(R)).limit([1.0, 0.0, 0.0, 0.0])
        np.testing.assert_allclose(found, exact.limit(start).astype(float), rtol=1e-6)
    ruin = np.zeros((61, 61))
    ruin[np.arange(2, 61), np.arange(1, 60)], ruin[np.arange(59), np.arange(1, 60)] = 1.0, 3.0
    reached = stationary_distributions(generator_from_rates(ruin)).limit(np.eye(61)[5])[60]
    assert reached == pytest.approx((3.0**5 - 1) / (3.0**60 - 1), rel=1e-13)


def test_a_factorisation_without_a_digit_is_not_believed(monkeypatch):
    monkeypatch.setattr("analysis.chains.stationary.DENSE", 1)
    monkeypatch.setattr("analysis.chains.stationary.by_lu", lambda Q: (np.array([2.0, -1.0, 0.0]), 1e6))
    found = stationary_distribution(CYCLE)
    assert found.method == "inverse-iteration"
    np.testing.assert_allclose(found.probabilities, 1 / 3, rtol=1e-12)


def test_one_closed_class_with_transient_states_has_one_law():
    Q = np.array([[-1.0, 1.0, 0.0], [1.0, -1.0, 2.0], [0.0, 0.0, -2.0]])
    found = stationary_distributions(Q)
    assert found.unique
    assert "unique" in str(found)
    np.testing.assert_allclose(found.only.probabilities, [0.5, 0.5, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.limit([0.0, 0.0, 1.0]), [0.5, 0.5, 0.0], atol=1e-15)
    large = random_sparse_generator(1, 900, 3)
    laws = stationary_distributions(large)
    assert laws.classes.transient.size > 0
    assert laws.only.method == "lu"
    assert np.all(laws.only.probabilities[laws.classes.transient] == 0)


def test_closed_classes_come_first_and_then_those_of_smaller_states():
    classes = communicating_classes(TRAPS)
    assert classes.labels.tolist() == [2, 0, 1, 3]
    assert (classes.num_classes, classes.num_closed) == (4, 2)
    assert shown(np.arange(8)).endswith(", 6, 7}")
    assert shown(np.arange(9)).endswith(", 6, 7, ...}")
    assert str(communicating_classes([[0.0]])) == "The chain is irreducible: its 1 state form one class."


EPSILON = np.finfo(float).eps


def test_errors_are_at_least_the_rounding_of_each_method():
    """The smallest errors that are told: of chains whose results are exact."""
    k, half = 3, [0.5, 0.5]
    for method, error in (("elimination", 2 * EPSILON), ("lu", EPSILON), ("inverse-iteration", EPSILON)):
        law = stationary_distribution(SWAP, method=method)
        assert (law.probabilities.tolist(), law.error) == (half, error)
    assert stationary_distribution(SWAP, method="tree").error == pytest.approx(2 * 4 * EPSILON, rel=1e-6)
    assert stationary_distribution(np.zeros((1, 1))).error == 0
    assert spectral_gap(SWAP).error == pytest.approx(4 * EPSILON * math.sqrt(2))
    norm = np.linalg.norm(CYCLE, 2)
    assert spectral_gap(CYCLE).error == pytest.approx(EPSILON * norm * math.sqrt(k))  # eigenvectors are orthogonal


def test_rates_that_span_more_than_the_floats_give_the_likely_states():
    up = stationary_distribution(birth_death(np.full(249, 1e3), np.ones(249)), method="elimination").probabilities
    np.testing.assert_allclose(up[:-90:-1], 1e-3 ** np.arange(89.0) * 0.999, rtol=1e-12)


@pytest.mark.parametrize(("limit", "way"), [(20, "all"), (19, "few")])
def test_all_eigenvalues_are_computed_up_to_a_number_of_states(limit, way, monkeypatch):
    monkeypatch.setattr(spectra, "DENSE", limit)
    turning = generator_from_rates(np.roll(np.diag(np.linspace(1, 2, 20)), 1, axis=0))
    line = birth_death(np.linspace(1, 2, 19), np.linspace(2, 1, 19))
    names = ("all eigenvalues", "all eigenvalues, symmetrised")
    if way == "few":
        names = ("arnoldi, shift-invert", "lanczos, shift-invert")
        with pytest.raises(ValueError, match="have at most 19 states"):
            euler_bounds(turning)
    assert tuple(spectral_gap(Q).method for Q in (turning, line)) == names
    eigenvalues = np.linalg.eigvals(line.toarray())
    assert euler_bounds(line).convergent == pytest.approx(-2 / np.min(eigenvalues.real), rel=1e-9)


@pytest.mark.parametrize(("states", "method"), [(80, "all eigenvalues, symmetrised"), (100, "all eigenvalues")])
def test_a_chain_is_symmetrised_if_the_roots_of_its_weights_are_floats(states, method):
    found = spectral_gap(birth_death(np.full(states - 1, 1e3), np.ones(states - 1)))
    assert found.method == method
    exact = 1001 - 2 * math.sqrt(1e3) * math.cos(math.pi / states)
    assert abs(found.value - exact) <= found.error  # which is small if the chain is symmetrised
    assert (found.error < 1e-9) == method.endswith("symmetrised")


def test_the_way_to_a_mixing_time_depends_on_the_number_of_states(monkeypatch):
    monkeypatch.setattr(mixing, "DENSE", 3)
    assert mixing_time(CYCLE).method == "relaxation"
    assert mixing_time(ehrenfest(3)).method == "spectrum"
    for distance in (0.49, 0.25, 1e-6):
        found, exact = mixing_time(SWAP, distance=distance), -math.log(2 * distance) / 2
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower <= max(2**-16, 2**-15 * exact)


def test_a_chain_without_transitions_is_balanced():
    still = reversibility(np.zeros((3, 3)))
    assert (still.violation, still.edge, still.accumulated) == (0.0, (0, 0), 0.0)
    np.testing.assert_allclose(still.stationary, 1 / 3)
    assert spectra.SpectralGap(0.0, 0j, 0.0, "none").relaxation_time == math.inf


def test_causal_attention_ends_in_its_first_token():
    A = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    found = stationary_distributions(attention_generator(A))
    assert not found.classes.irreducible
    assert found.classes.transient.tolist() == [1, 2, 3]
    np.testing.assert_allclose(found.only.probabilities, [1, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(found.only.probabilities @ A, found.only.probabilities, atol=1e-15)


@pytest.mark.parametrize(
    ("A", "expected"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], (2,)),
        (np.roll(np.eye(5), 1, axis=1), (5,)),
        ([[0.5, 0.5], [1.0, 0.0]], (1,)),
        (np.eye(2), (1, 1)),
        ([[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0]], (2,)),
        ([[0, 0.5, 0.5], [0, 0, 1], [1, 0, 0]], (1,)),
        ([[0, 1, 0], [1, 0, 0], [0.5, 0, 0.5]], (2,)),
    ],
)
def test_periods_are_counted_for_each_closed_class(A, expected):
    assert periods(A) == expected
    assert transition_classes(A).num_closed == len(expected)


def test_reversibility_names_the_edge_of_the_worst_cycle():
    assert reversibility(ehrenfest(5)).reversible
    loop = np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]])
    assert reversibility(generator_from_rates(loop)).violation < 1e-15
    loop[1, 0] = 2.0
    found = reversibility(generator_from_rates(loop))
    assert found.violation == pytest.approx(math.log(2), rel=1e-14)
    assert not found.reversible
    one_way = reversibility(CYCLE)
    assert one_way.violation == math.inf
    assert CYCLE[one_way.edge] == 1
    with pytest.raises(ValueError, match=r"be reversible for the tree method, but violates detailed balance by inf"):
        stationary_distribution(CYCLE, method="tree")
    two = scipy.sparse.block_diag([scipy.sparse.csc_array(SWAP), 2 * SWAP], format="csc")
    assert reversibility(two).reversible


@pytest.mark.parametrize("rates", [(1e200, 1e-200), (1e-200, 1e200), (1e300, 1e300), (3.0, 2.0)])
def test_detailed_balance_of_rates_whose_quotient_is_no_float(rates):
    """A line of three states, whose log weights are sums of logarithms of rates; the first pair is moderate."""
    up, down = rates
    R = np.array([[0.0, 5.0, 0.0], [7.0, 0.0, down], [0.0, up, 0.0]])
    found = reversibility(generator_from_rates(R))
    expected = np.cumsum([0.0, math.log(7) - math.log(5), math.log(up) - math.log(down)])
    weights = found.log_weights.astype(float)
    np.testing.assert_allclose(weights - weights[0], expected, rtol=1e-13, atol=1e-13)
    assert found.reversible
    assert found.accumulated < 1e-12


@pytest.mark.parametrize("coupling", [1e-6, 1e-9, 1e-12, 1e-14])
def test_the_error_of_a_factorisation_bounds_that_of_weakly_coupled_parts(coupling):
    """Against fractions: what rounding of the rates out of a state does grows as the parts are decoupled."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        R = rng.uniform(0.3, 2.0, (8, 8)) * np.where(np.kron(np.eye(2), np.ones((4, 4))), 1.0, coupling)
        np.fill_diagonal(R, 0.0)
        exact = stationary_distribution(generator_from_rates(np.vectorize(F, otypes=[object])(R))).probabilities
        found = stationary_distribution(generator_from_rates(R), method="lu")
        off = [abs(float(F(p) / q - 1)) for p, q in zip(found.probabilities.tolist(), exact, strict=True)]
        assert max(off) <= found.error < 1e-4


@pytest.mark.parametrize("n", [6, 40])
def test_the_gap_of_the_urns_is_two(n):
    gap = spectral_gap(ehrenfest(n))
    assert abs(gap.value - 2) <= max(gap.error, 1e-13) * 10
    assert gap.relaxation_time == pytest.approx(0.5)


@pytest.mark.parametrize("rate", [1e-3, 1e3])
def test_the_residual_is_relative_to_the_flux_whatever_the_unit_of_time(rate):
    Q = rate * np.array([[-1.0, 2.0], [1.0, -2.0]])
    assert _residual(Q, np.array([2 / 3, 1 / 3])) < 1e-15
    assert _residual(Q, np.array([0.5, 0.5])) == pytest.approx(1.0)  # |-1 + 2| / 1, more than |1 - 2| / 2


def test_gaps_of_a_line_a_cycle_and_a_reducible_chain():
    line = spectral_gap(walk_in_potential(np.zeros(1200)))
    assert line.method.startswith("lanczos")
    assert abs(line.value - (2 - 2 * math.cos(math.pi / 1200))) <= line.error + 1e-15
    cycle = spectral_gap(CYCLE)
    assert cycle.value == pytest.approx(1.5)
    assert abs(cycle.eigenvalue.imag) == pytest.approx(math.sqrt(3) / 2)
    assert spectral_gap(TRAPS).value == pytest.approx(1.0)
    assert spectral_gap(np.zeros((3, 3))).value == math.inf
    large = np.roll(np.eye(1100), 1, axis=0) - np.eye(1100)
    far = spectral_gap(scipy.sparse.csc_array(large))
    assert far.method.startswith("arnoldi")
    assert far.value == pytest.approx(1 - math.cos(2 * math.pi / 1100), rel=1e-6)
    assert far.error < 1e-9
    assert reversibilised_gap(CYCLE) == pytest.approx(1.5)
    assert reversibilised_gap(TRAPS[[0, 1, 3]][:, [0, 1, 3]] + np.diag([0, 0, 0.25])) == 0


@pytest.mark.parametrize("closed", [1, 2])
@pytest.mark.parametrize("reversible", [True, False])
def test_the_methods_for_large_chains_find_the_gap_of_all_eigenvalues(reversible, closed, monkeypatch):
    """Chains of sixty states with unequal rates, of one closed class and of two, by both methods."""
    rng = np.random.default_rng(3)
    n = 60 // closed
    line = np.diag(rng.uniform(0.5, 2.0, n - 1), 1) + np.diag(rng.uniform(0.5, 2.0, n - 1), -1)
    one = line if reversible else np.roll(np.diag(rng.uniform(0.5, 2.0, n)), 1, axis=0) + 0.1 * line
    Q = generator_from_rates(scipy.linalg.block_diag(*[one * (1 + k) for k in range(closed)]))
    every = spectral_gap(Q)
    monkeypatch.setattr(spectra, "DENSE", 20)
    few = spectral_gap(scipy.sparse.csc_array(Q))
    assert every.method.startswith("all")
    assert few.method.startswith("lanczos" if reversible else "arnoldi")
    assert few.value == pytest.approx(every.value, rel=1e-6)
    assert abs(few.eigenvalue.imag) == pytest.approx(abs(every.eigenvalue.imag), rel=1e-6, abs=1e-12)
    assert all(0 < one.error < 1e-6 * one.value for one in (few, every))
    if reversible:
        assert abs(few.value - every.value) <= few.error + every.error


@pytest.mark.parametrize("fast", [1.0, 30.0, 1e3])
def test_the_gap_of_several_closed_classes_is_that_of_the_slowest(fast):
    """A cycle turns faster than it mixes: its eigenvalues have a small real part, but not the least modulus."""
    cycle = fast * np.roll(np.eye(12), 1, axis=0)
    pair = np.array([[0.0, 4.0], [6.0, 0.0]])
    gaps = [spectral_gap(generator_from_rates(part)).value for part in (cycle, pair)]
    assert gaps == pytest.approx([fast * (1 - np.cos(np.pi / 6)), 10.0])
    both = spectral_gap(generator_from_rates(scipy.linalg.block_diag(cycle, pair)))
    assert both.value == pytest.approx(min(gaps))
    assert both.eigenvalue.real == pytest.approx(-min(gaps))


def test_the_mixing_time_of_two_states_and_its_bounds():
    found = mixing_time(SWAP)
    assert found.lower <= math.log(2) / 2 <= found.upper
    assert found.upper - found.lower < 1e-4
    for Q in (ehrenfest(12), CYCLE, random_generator(jax.random.key(1), 7)):
        measured, bounds = mixing_time(Q, distance=0.1), mixing_bounds(Q, distance=0.1)
        assert bounds.lower <= measured.upper
        assert measured.lower <= bounds.upper
        law = stationary_distribution(Q).probabilities
        k = len(law)
        ends = [relaxation(Q, np.eye(k)[j], [measured.lower, measured.upper]).probabilities for j in range(k)]
        distances = np.max([total_variation(end, law) for end in ends], axis=0)
        assert distances[0] >= 0.1 - 1e-12
        assert distances[1] <= 0.1 + 1e-12
    assert mixing_time(walk_in_potential(np.zeros(400))).method == "spectrum"
    assert mixing_time(np.zeros((1, 1))).upper == 0
    with pytest.raises(ValueError, match="have one closed class"):
        mixing_time(TRAPS)
    with pytest.raises(ValueError, match="`distance` must lie in"):
        mixing_time(SWAP, distance=0.5)


def test_the_bounds_of_a_mixing_time_hold_where_the_gap_is_lost_in_rounding():
    R = np.zeros((3, 3))
    R[1, 0], R[0, 1] = 1e9, 1.37e9
    R[2, 1], R[1, 2] = 3e-12, 1e-12
    measured, bounds = mixing_time(generator_from_rates(R)), mixing_bounds(generator_from_rates(R))
    assert bounds.lower <= measured.upper
    assert measured.lower <= bounds.upper


def test_the_bounds_of_the_mixing_time_of_two_states_are_their_closed_forms():
    out, back, distance = 0.3, 1.1, 0.1
    found = mixing_bounds(np.array([[-out, back], [out, -back]]), distance=distance)
    least = out / (out + back)
    assert found.lower == pytest.approx(-math.log(2 * distance) / (out + back), rel=1e-9)
    assert found.upper == pytest.approx(-math.log(2 * distance * math.sqrt(least)) / (out + back), rel=1e-9)


def three_states(violation: float):
    """Return rates between three states whose only cycle is off detailed balance by this much."""
    rates = np.array([[0, 0.7, 2.0], [0.4, 0, 1.3], [0.5, 0.6, 0]])
    rates[0, 2] *= (
        np.exp(violation) * (rates[0, 1] * rates[1, 2] * rates[2, 0]) / (rates[1, 0] * rates[2, 1] * rates[0, 2])
    )
    return generator_from_rates(rates)


def test_a_violated_cycle_is_measured_bounds_the_error_and_is_refused():
    found = reversibility(three_states(0.2))
    assert found.violation == pytest.approx(0.2, rel=1e-12)
    assert found.accumulated == pytest.approx(0.4, rel=1e-12)  # at both ends of the edge that closes the cycle
    law = stationary_distribution(three_states(5e-12), method="tree")
    assert law.error == pytest.approx(1e-11, rel=1e-2)
    with pytest.raises(ValueError, match="`generator` must be reversible for the tree method"):
        stationary_distribution(three_states(2e-11), method="tree")


def test_the_error_that_is_told_is_the_largest():
    two = np.zeros((4, 4))
    two[:3, :3] = three_states(0.2)
    found = stationary_distributions(two)
    errors = [one.error for one in found.distributions]
    assert min(errors) == 0 < max(errors)
    assert f"relative error at most {max(errors):.2g}" in str(found)


def test_euler_bounds_of_large_chains_need_reversibility():
    bounds = euler_bounds(walk_in_potential(np.zeros(1100)))
    assert bounds.nonnegative == 0.5
    assert bounds.period == 1
    assert bounds.convergent == pytest.approx(2 / (2 + 2 * math.cos(math.pi / 1100)), rel=1e-9)
    large = np.roll(np.eye(1100), 1, axis=0) - np.eye(1100)
    with pytest.raises(ValueError, match="have at most 1000 states or be reversible"):
        euler_bounds(large)
    assert euler_bounds(np.zeros((2, 2))).nonnegative == math.inf


@settings(max_examples=30, deadline=None)
@given(exact_chains(5), st.integers(0, 2**31 - 1), st.sampled_from([1.0, 1e-3, 1e-7]))
def test_dissipation_is_the_slope_of_relative_entropy(rates, seed, size):
    Q = generator_from_rates(rates.astype(float))
    law = stationary_distribution(Q).probabilities
    p = (1 - size) * law + size * np.random.default_rng(seed).dirichlet(np.ones(len(law)))
    rate = dissipation(Q, p, law)
    plain = -np.sum((Q @ p) * np.log(p / law))
    assert rate >= 0
    assert rate == pytest.approx(plain, rel=1e-6, abs=1e-13 * size)
    later = relaxation(Q, p, [0.3, 0.6]).probabilities
    values = [relative_entropy(p, law), *relative_entropy(later, law)]
    assert values[0] >= values[1] * (1 - 1e-9)
    assert values[1] >= values[2] * (1 - 1e-9)


def test_relative_entropy_near_and_off_its_law():
    law = np.array([0.25, 0.75])
    for e in (1e-3, 1e-6, 1e-9):
        expected = (0.25 + e) * math.log1p(e / 0.25) + (0.75 - e) * math.log1p(-e / 0.75)
        near = e**2 * (2 + 2 / 3)  # of second order; the next is smaller by e
        assert relative_entropy(law + [e, -e], law) == pytest.approx(near if e < 1e-5 else expected, rel=1e-5, abs=0)
    assert relative_entropy(law, law) == 0
    assert relative_entropy(np.array([1.0, 0.0]), law) == pytest.approx(math.log(4))
    assert relative_entropy(law, np.array([1.0, 0.0])) == math.inf
    assert np.isnan(relative_entropy(np.array([1.1, -0.1]), law))
    assert dissipation(SWAP, np.array([1.0, 0.0]), np.array([0.5, 0.5])) == math.inf
    with pytest.raises(ValueError, match="`stationary` must be positive, but is 0 in state 1"):
        dissipation(SWAP, law, np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="`stationary` must be stationary for the generator, but changes"):
        dissipation(SWAP, law, law)


@pytest.mark.parametrize("size", [0.3, 1.1e-3, 9e-4, 7e-4, 1e-4, 1e-6])
def test_entropy_and_dissipation_near_the_law_keep_twelve_digits(size):
    law, y = np.array([0.25, 0.75]), np.array([size, -size / 3])
    p = law * (1 + y)
    with mpmath.workdps(50):
        exact = [mpmath.mpf(float(x)) for x in p]
        laws = [mpmath.mpf(1) / 4, mpmath.mpf(3) / 4]
        ratios = [a / b for a, b in zip(exact, laws, strict=True)]
        entropy = float(mpmath.fsum(a * mpmath.log(r) - a + b for a, b, r in zip(exact, laws, ratios, strict=True)))
        slope = float((3 * exact[0] - exact[1]) * mpmath.log(ratios[0] / ratios[1]))
    assert relative_entropy(p, law) == pytest.approx(entropy, rel=1e-12, abs=0)
    Q = np.array([[-3.0, 1.0], [3.0, -1.0]])
    assert dissipation(Q, p, law) == pytest.approx(slope, rel=1e-11, abs=0)


def test_dissipation_around_a_cycle_keeps_twelve_digits():
    step = 4.5e-4  # in a cycle terms of odd order do not cancel
    p = np.array([1.0, 1.0 + step, (1.0 + step) ** 2])
    p /= np.sum(p)
    with mpmath.workdps(50):
        a, b, c = (mpmath.mpf(float(x)) for x in p)
        slope = float((a - b) * mpmath.log(b) + (b - c) * mpmath.log(c) + (c - a) * mpmath.log(a)) * -1
    Q = np.array([[-1.0, 0.0, 1.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    assert dissipation(Q, p, np.full(3, 1 / 3)) == pytest.approx(slope, rel=1e-11, abs=0)


def test_attention_entropy_is_not_relative_entropy():
    A = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(attention_entropy(A), [math.log(2), 1.5 * math.log(2), 0.0], atol=1e-15)
    law = stationary_distribution(attention_generator(A)).probabilities
    assert entropy_rate(A, law) == pytest.approx(float(law @ attention_entropy(A)))


def test_lumping_of_both_kinds_in_fractions():
    # From either state of a block the same rates into the other block; what is received is not the same.
    R = np.array([[0, 1, 2, 1], [3, 0, 1, 2], [1, 2, 0, 5], [1, 0, 4, 0]], dtype=object)
    found = lumping(generator_from_rates(R), [0, 0, 1, 1])
    assert found.ordinary_defect == 0
    assert found.exact_defect == 4
    assert found.generator.tolist() == [[-2, 3], [2, -3]]
    turned = lumping(generator_from_rates(R.T), [0, 0, 1, 1])
    assert turned.ordinary_defect == 2
    whole = lumping(generator_from_rates(R), [0, 1, 2, 3])
    assert whole.ordinary_defect == whole.exact_defect == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_block_probabilities_and_block_values_close_under_ordinary_lumping(seed):
    rng = np.random.default_rng(seed)
    labels = np.array([0, 0, 1, 1, 1, 2])
    V = np.eye(3)[labels]
    R = rng.exponential(size=(6, 6))
    R = R * (rng.exponential(size=(3, 3))[labels] / (R.T @ V))[:, labels].T
    np.fill_diagonal(R, 0.0)
    Q = generator_from_rates(R)
    inside = lumping(Q, labels)
    assert inside.ordinary_defect < 1e-12  # rates within a block do not count
    assert inside.exact_defect > 1e-3
    p, values = rng.dirichlet(np.ones(6)), rng.normal(size=3)[labels]
    np.testing.assert_allclose(V.T @ Q @ p, inside.generator @ (V.T @ p), atol=1e-12)
    assert np.ptp((Q.T @ values)[2:5]) < 1e-12


def test_uniform_blocks_and_block_means_close_under_exact_lumping_alone():
    R = np.array([[0, 4, 3, 0], [4, 0, 2, 1], [1, 1, 0, 3], [1, 1, 1, 0]], dtype=object)
    Q = generator_from_rates(R)
    found = lumping(Q, [0, 0, 1, 1])
    assert found.exact_defect == 0
    assert found.ordinary_defect == 4
    moved = Q @ np.array([F(1, 2), F(1, 2), F(0), F(0)])
    assert moved[0] == moved[1]
    assert moved[2] == moved[3]
    one, other = np.array([F(1), F(5), F(2), F(2)]), np.array([F(3), F(3), F(0), F(4)])  # of equal block means
    means = [(Q.T @ x)[:2].sum() for x in (one, other)] + [(Q.T @ x)[2:].sum() for x in (one, other)]
    assert means[0] == means[1]
    assert means[2] == means[3]


def test_pooling_by_block_means_is_closed_under_exactly_lumpable_attention():
    A = np.array([[0.5, 0.1, 0.4], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]])
    found = attention_lumping(A, [0, 0, 1])
    assert found.ordinary_defect < 1e-15
    assert found.exact_defect < 1e-15
    means = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    x = np.array([[1.0], [5.0], [2.0]])
    pooled = found.generator.T + np.eye(2)
    np.testing.assert_allclose(means @ A @ x, pooled @ means @ x, atol=1e-15)
    assert blocks_of(5, 2).tolist() == [0, 0, 1, 1, 2]
    sparse = lumping(scipy.sparse.csc_array(attention_generator(A)), [0, 0, 1])
    np.testing.assert_allclose(sparse.generator, found.generator, atol=1e-15)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: stationary_distributions(SWAP, method="power"), "`method` must be one of auto, elimination"),
        (lambda: stationary_distributions(np.eye(2)), "columns that sum to zero"),
        (lambda: stationary_distributions(SWAP).limit([1.0]), r"have shape \(2,\)"),
        (lambda: lumping(SWAP, [0]), "`labels` must be 2 block numbers"),
        (lambda: lumping(SWAP, [0, 2]), "leave none empty"),
        (lambda: lumping(SWAP, [0.0, 1.0]), "`labels` must be 2 block numbers"),
        (lambda: blocks_of(0, 2), "be at least 1"),
        (lambda: periods([[0.5, 0.4], [1.0, 0.0]]), "row 0 sums to 0.9"),
        (lambda: attention_entropy([[2.0, -1.0], [1.0, 0.0]]), r"entry \(0, 1\) is -1"),
        (lambda: communicating_classes([[0.0, 1.0]]), r"have shape \(k, k\)"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


PROJECTED = np.array([[0.0, 2.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])


@pytest.mark.parametrize("rates", [1e30 * np.array([[0.0, 1.0], [1.0, 0.0]]), 1e150 * PROJECTED])
def test_a_singular_factorisation_or_projection_is_a_method_that_has_not_converged(rates):
    """Beside the rates times t the identity vanishes: a pivot of 1 - t Q is zero, or its projection is singular."""
    Q = generator_from_rates(rates)
    with warnings.catch_warnings(action="error"), pytest.raises(IntegrationError, match="has not converged"):
        relaxation(Q, np.eye(len(rates))[0], [1.0], method="shift-invert")


def test_times_beyond_which_rates_overflow_are_refused():
    with pytest.raises(
        ArgumentError, match=r"`ts` must be at most 1\.8e\+08 for these rates, but is \[1000000000\.0\]"
    ):
        relaxation(birth_death([1e300], [1e300]), [1.0, 0.0], [1e9])
