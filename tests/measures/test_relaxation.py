"""p(t) = e^{Qt} p_0 by every method: against each other, closed forms, many digits, and its own error estimate."""

import functools
import importlib
from fractions import Fraction as F

import jax
import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.chains.dense_exponential import column_stochastic, transition_matrix
from analysis.chains.krylov_exponential import _decades
from analysis.chains.polynomial_exponential import chebyshev_terms, poisson_weights
from analysis.chains.rational_exponential import (
    AT_INFINITY,
    POLES,
    RESIDUES,
    ROUNDING,
    by_partial_fractions,
)
from analysis.chains.relaxation import _METHODS, relaxation
from analysis.chains.stationary import stationary_distribution
from dynsim.errors import IntegrationError
from dynsim.simulation.simulate import simulate
from dynsim.systems.master_equation.flow import MasterEquationFlow
from dynsim.systems.master_equation.generators import (
    birth_death,
    generator_from_rates,
    random_generator,
    random_sparse_generator,
    walk_in_potential,
)

pytestmark = pytest.mark.untraced

SWAP = np.array([[-1.0, 1.0], [1.0, -1.0]])
LINE = birth_death(np.linspace(1.0, 3.0, 39), np.linspace(2.0, 0.5, 39))
GRID = walk_in_potential(np.sin(np.arange(30.0)).reshape(5, 6))


@functools.cache
def web():
    return random_sparse_generator(jax.random.key(2), 60, 3)


METHODS = {
    "line": (lambda: LINE, ("dense", "rational", "chebyshev", "shift-invert", "uniformisation")),
    "grid": (lambda: GRID, ("dense", "chebyshev", "shift-invert", "uniformisation")),
    "web": (web, ("dense", "shift-invert", "uniformisation")),
}


def kept(found):
    """Assert what every answer keeps: mass, and no entry below minus the error."""
    assert found.mass_defect < 1e-12
    assert np.all(-np.min(found.probabilities, axis=1) <= found.errors)
    assert np.all(np.isfinite(found.errors))


@pytest.mark.parametrize("name", METHODS)
def test_all_methods_agree_within_their_errors(name):
    make, methods = METHODS[name]
    Q = make()
    start = np.eye(Q.shape[0])[3]
    ts = np.array([0.0, 0.01, 0.3, 2.0, 25.0, 400.0])
    exact = np.stack([scipy.linalg.expm(t * Q.toarray()) @ start for t in ts])
    for method in methods:
        found = relaxation(Q, start, ts, method=method)
        kept(found)
        assert found.method == method
        assert np.all(np.max(abs(found.probabilities - exact), axis=1) <= found.errors + 3e-13)
        assert np.max(found.errors) < (1e-8 if method == "chebyshev" else 1e-10)
        np.testing.assert_array_equal(found.probabilities[0], start)
    if name != "line":  # which has two wells
        assert np.max(abs(found.final - stationary_distribution(Q).probabilities)) < 1e-6


def test_two_states_relax_as_the_closed_form():
    ts = np.array([0.0, 0.1, 1.0, 10.0, 1e3, 1e6])
    found = relaxation(SWAP, [1.0, 0.0], ts)
    np.testing.assert_allclose(found.probabilities[:, 0], (1 + np.exp(-2 * ts)) / 2, atol=1e-15)
    exact = np.array([[F(-1), F(1)], [F(1), F(-1)]])
    np.testing.assert_array_equal(relaxation(exact, [F(1), F(0)], ts).probabilities, found.probabilities)


@pytest.mark.parametrize("reach", [1e-3, 1.0, 1e3, 1e8])
def test_balls_in_urns_move_independently(reach):
    n = 40
    Q = birth_death(np.arange(n, 0, -1.0), np.arange(1.0, n + 1))
    up = (1 - np.exp(-2 * reach)) / 2
    ball = np.array([1 - up, up])
    expected = ball
    for _ in range(n - 1):
        expected = np.convolve(expected, ball)
    for method in ("rational", "dense", "shift-invert"):
        found = relaxation(Q, np.eye(n + 1)[0], [reach], method=method)
        kept(found)
        assert np.max(abs(found.final - expected)) <= found.errors[0] + 1e-14


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(2, 7), st.floats(-4, 4), st.integers(0, 12))
def test_the_error_covers_the_distance_from_many_digits(seed, k, exponent, spread):
    rng = np.random.default_rng(seed)
    R = rng.exponential(size=(k, k)) * 10.0 ** rng.uniform(-spread, 0, (k, k)) * (1 - np.eye(k))
    Q, t, p = generator_from_rates(R), 10.0**exponent, rng.dirichlet(np.ones(k))
    with mpmath.workdps(60):
        M = mpmath.matrix(R.tolist())
        for j in range(k):
            M[j, j] = -mpmath.fsum(M[i, j] for i in range(k) if i != j)
        expected = np.array([float(x) for x in mpmath.expm(M * t) * mpmath.matrix(p.tolist())])
    for method in ("dense", "uniformisation"):
        if method == "uniformisation" and t * R.sum() > 1e4:
            continue
        found = relaxation(Q, p, [t], method=method)
        kept(found)
        assert np.max(abs(found.final - expected)) <= found.errors[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31 - 1), st.floats(-3, 5))
def test_the_error_of_birth_death_chains_covers_their_distance_from_the_dense_answer(seed, exponent):
    rng = np.random.default_rng(seed)
    birth, death = 10.0 ** rng.uniform(-3, 3, (2, 45))
    p, t = rng.dirichlet(np.ones(46)), 10.0**exponent
    dense = relaxation(birth_death(birth, death), p, [t], method="dense")
    for method in ("auto", "shift-invert") if t <= 1e3 else ("auto",):
        found = relaxation(birth_death(birth, death), p, [t], method=method)
        kept(found)
        assert np.max(abs(found.final - dense.final)) <= found.errors[0] + dense.errors[0]


@pytest.mark.parametrize("name", METHODS)
def test_two_steps_are_one(name):
    Q = METHODS[name][0]()
    start = np.eye(Q.shape[0])[0]
    middle = relaxation(Q, start, [1.3]).final
    middle = middle / middle.sum()
    twice = relaxation(Q, np.maximum(middle, 0) / np.maximum(middle, 0).sum(), [2.2])
    once = relaxation(Q, start, [3.5])
    assert np.max(abs(twice.final - once.final)) < 1e-12


def test_the_integrators_agree_with_the_exponential():
    flow = MasterEquationFlow(GRID)
    start = np.eye(30)[7]
    ts = np.array([0.0, 0.5, 2.0])
    np.testing.assert_allclose(simulate(flow, start, ts).ys, relaxation(GRID, start, ts).probabilities, atol=1e-9)


def test_the_method_follows_the_structure():
    assert relaxation(SWAP, [1.0, 0.0], [1.0]).method == "dense"
    assert relaxation(LINE, np.eye(40)[0], [1.0]).method == "rational"
    grid, start = walk_in_potential(np.zeros((20, 20))), np.eye(400)[0]
    assert relaxation(grid, start, [10.0]).method == "chebyshev"
    assert relaxation(grid, start, [1e6]).method == "shift-invert"
    web, start = random_sparse_generator(jax.random.key(1), 400, 3), np.eye(400)[0]
    assert relaxation(web, start, [1.0]).method == "uniformisation"
    assert relaxation(web, start, [1e4]).method == "shift-invert"


def test_the_sizes_at_which_the_method_changes(monkeypatch):
    module = importlib.import_module("analysis.chains.relaxation")

    def chosen(Q, t, **constants):
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)
        return relaxation(Q, np.eye(Q.shape[0])[0], [0.1, t]).method

    assert [chosen(LINE, 1.0, MIN_TRIDIAGONAL=n) for n in (40, 41)] == ["rational", "dense"]
    assert [chosen(GRID, 1.0, DENSE=n) for n in (30, 29)] == ["dense", "chebyshev"]
    terms = chebyshev_terms(np.max(-GRID.diagonal()) * 5.0, 1e8)
    assert [chosen(GRID, 5.0, MAX_PRODUCTS=n) for n in (terms, terms - 1)] == ["chebyshev", "shift-invert"]
    reach = np.max(-web().diagonal()) * 5.0
    assert [chosen(web(), 5.0, MAX_PRODUCTS=n) for n in (reach, reach - 1)] == ["uniformisation", "shift-invert"]


def test_the_errors_of_two_states_are_those_of_rounding():
    eps, z = np.finfo(float).eps, 9.0
    told = {m: relaxation(SWAP, [1.0, 0.0], [z], method=m).errors[0] for m in ("dense", "uniformisation", "chebyshev")}
    assert told["dense"] == pytest.approx(eps * 2 * (4 + 18))  # after 4 squarings
    assert eps * 28 <= told["uniformisation"] <= eps * 32
    assert eps * 6.5 + 1e-15 <= told["chebyshev"] <= eps * 8.5 + 1e-15  # polynomials of the difference are +-1/2
    uphill = by_partial_fractions(np.full(4, 2.0), np.full(4, 1.0), np.eye(5)[0], 1.0)[1]
    assert uphill == pytest.approx(ROUNDING + 4 * eps * 4, rel=1e-9)  # the last state is 16 times as likely


@pytest.mark.parametrize("end", [5.0, 500.0, 1e6])
def test_a_flat_grid_is_a_product_of_lines(end):
    side = 24
    line = relaxation(walk_in_potential(np.zeros(side)), np.eye(side)[2], [end], method="dense").final
    found = relaxation(walk_in_potential(np.zeros((side, side))), np.eye(side**2)[2 * side + 2], [end])
    kept(found)
    assert np.max(abs(found.final - np.outer(line, line).ravel())) <= found.errors[0] + 1e-14
    assert found.errors[0] < 1e-10


def test_mass_is_kept_however_stiff_the_chain_is():
    n = 500
    Q = birth_death(np.full(n - 1, 1e9), np.full(n - 1, 1.001e9))
    found = relaxation(Q, np.eye(n)[n // 2], [1e-9, 1e-3, 1.0, 1e3])
    kept(found)
    law = stationary_distribution(Q).probabilities
    assert np.max(abs(found.final - law)) < 1e-12
    slow = np.array([[0.0, 2e-12, 0.0], [1e-12, 0.0, 1.0], [0.0, 1.0, 0.0]])
    late = relaxation(generator_from_rates(slow), [1.0, 0.0, 0.0], [1e11, 1e15])
    rate = 2e-12  # leaves at 1e-12, comes back from half of the rest at 2e-12
    left = 0.5 + 0.5 * np.exp(-rate * 1e11)
    assert late.probabilities[0, 0] == pytest.approx(left, rel=1e-10)
    np.testing.assert_allclose(
        late.final, stationary_distribution(generator_from_rates(slow)).probabilities, rtol=1e-12
    )


def test_nothing_moves_without_rates_or_time():
    start = np.array([0.25, 0.75])
    np.testing.assert_array_equal(relaxation(np.zeros((2, 2)), start, [1.0, 5.0]).probabilities, [start, start])
    np.testing.assert_array_equal(relaxation(SWAP, start, 0.0).final, start)
    apart = scipy.sparse.block_diag([scipy.sparse.csc_array(SWAP)] * 30, format="csc")
    start = np.eye(60)[10]
    found = relaxation(apart, start, [50.0], method="shift-invert")
    assert found.final[10] == pytest.approx(0.5)
    assert found.final[11] == pytest.approx(0.5)
    assert np.max(abs(np.delete(found.final, [10, 11]))) < 1e-14


def test_the_rational_approximation_is_the_published_one():
    with mpmath.workdps(40):
        poles, residues = ([mpmath.mpc(complex(z)) for z in values] for values in (POLES, RESIDUES))
        worst = 0.0
        for x in -np.concatenate([[0.0], np.logspace(-4, 5, 400)]):
            x = mpmath.mpf(float(x))
            value = AT_INFINITY + 2 * mpmath.re(mpmath.fsum(a / (x - z) for a, z in zip(residues, poles, strict=True)))
            worst = max(worst, float(abs(value - mpmath.exp(x))))
    assert worst < 6e-15


def test_series_are_cut_where_their_bound_says():
    for reach in (0.0, 0.1, 7.0, 1e3, 1e6):
        terms = chebyshev_terms(reach, 1e6)
        assert terms < 14 * np.sqrt(reach) + 60
        series = 2 * scipy.special.ive(np.arange(terms + 4000), reach)
        assert np.sum(series[terms:]) <= 1e-21
        assert terms == 2 or np.sum(series[terms - 2 :]) > 1e-21
    weights = poisson_weights(50.0, 200)
    assert weights @ np.arange(200) == pytest.approx(50.0, rel=1e-12)
    assert np.sum(weights) == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_array_equal(poisson_weights(0.0, 3), [1, 0, 0])
    for mean in (0.3, 4.0, 9.5, 60.0):  # up to means beyond the last term
        expected = scipy.stats.poisson.pmf(np.arange(12), mean)
        np.testing.assert_allclose(poisson_weights(mean, 12), expected / np.sum(expected), rtol=1e-12)


def test_a_series_is_cut_for_the_latest_time_and_the_distance_in_the_weighted_norm(monkeypatch):
    seen = []
    count = lambda reach, norm: seen.append((reach, norm)) or chebyshev_terms(reach, norm)
    monkeypatch.setattr("analysis.chains.polynomial_exponential.chebyshev_terms", count)
    law, start = stationary_distribution(LINE).probabilities, np.eye(40)[7]
    relaxation(LINE, start, [0.5, 2.0, 1.0], method="chebyshev")
    norm = np.sqrt(np.sum((start - law) ** 2 / law) * np.max(law))
    assert norm > 10
    assert seen == [pytest.approx((np.max(-LINE.diagonal()) * 2, norm))]
    relaxation(LINE, law, [2.0], method="chebyshev")
    assert seen[1][1] == 1


@pytest.mark.parametrize("states", [2, 3, 5, 9])
@pytest.mark.parametrize("reversible", [True, False])
def test_a_krylov_space_that_holds_all_vectors_has_converged(states, reversible):
    rates = np.roll(np.diag(np.arange(1.0, states + 1)), 1, axis=0)
    Q, start, ts = generator_from_rates(rates + rates.T if reversible else rates), np.eye(states)[0], [0.03, 1.0]
    found, exact = (relaxation(Q, start, ts, method=method) for method in ("shift-invert", "dense"))
    assert np.max(abs(found.probabilities - exact.probabilities)) <= np.max(found.errors) + np.max(exact.errors)
    assert np.max(found.errors) < 1e-12


def test_an_eigenvector_is_its_own_krylov_space():
    wave, rate = np.cos(np.pi * (np.arange(40) + 0.5) / 40), 2 - 2 * np.cos(np.pi / 40)
    found = relaxation(walk_in_potential(np.zeros(40)), (1 + 0.5 * wave) / 40, [1.0, 9.0], method="shift-invert")
    for t, p, error in zip(found.ts, found.probabilities, found.errors, strict=True):
        np.testing.assert_allclose(p, (1 + 0.5 * np.exp(-rate * t) * wave) / 40, atol=error)
        assert error < 1e-14
    eps = np.finfo(float).eps
    error = relaxation(SWAP, [1.0, 0.0], [3.0], method="shift-invert").errors[0]
    assert error == pytest.approx(32 * eps * (np.sqrt(0.5) + 0.3 * np.exp(-6) / 2))  # of a start of norm one


def test_times_within_a_factor_of_ten_share_a_space():
    groups = _decades(np.array([1.0, 10.0, 100.0, 5.0, 0.5, 10.5]))
    assert [group.tolist() for group in groups] == [[2, 5], [1, 3], [0, 4]]


def test_a_transition_matrix_has_no_negative_entry_and_columns_of_sum_one():
    P, error = transition_matrix(random_generator(jax.random.key(0), 20), 3.0)
    assert np.min(P) > 0
    np.testing.assert_allclose(P.sum(axis=0), 1, atol=4e-15)
    assert error < 1e-12


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: relaxation(SWAP, [1.0, 0.5], [1.0]), r"`p0` must be a distribution, but sums to 1\.5"),
        (lambda: relaxation(SWAP, [1.0, 0.0, 0.0], [1.0]), r"`p0` must have shape \(2,\)"),
        (lambda: relaxation(np.eye(2), [1.0, 0.0], [1.0]), "columns that sum to zero"),
        (lambda: relaxation(SWAP, [1.0, 0.0], [-1.0]), "`ts` must be finite and not negative"),
        (lambda: relaxation(SWAP, [1.0, 0.0], [np.inf]), "`ts` must be finite and not negative"),
        (lambda: relaxation(SWAP, [1.0, 0.0], [1.0], method="cram"), "`method` must be one of auto, dense"),
        (lambda: relaxation(GRID, np.eye(30)[0], [1.0], method="rational"), "is `rational`, which needs a tri"),
        (
            lambda: relaxation(web(), np.eye(60)[0], [1.0], method="chebyshev"),
            "is `chebyshev`, which needs a reversible",
        ),
        (
            lambda: relaxation(np.kron(np.eye(2), SWAP), np.eye(4)[0], [1.0], method="chebyshev"),
            "reversible and irreducible generator",
        ),
        (lambda: relaxation(SWAP, [1.0, 0.0], [1e12], method="uniformisation"), "needs? .*coefficients.* needs 1e"),
        (lambda: relaxation(SWAP, [1.0, 0.0], [1e200], method="chebyshev"), "is `chebyshev`, which needs"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_space_that_does_not_settle_is_said_or_replaced(monkeypatch):
    monkeypatch.setattr("analysis.chains.krylov_exponential.MAX_DIMENSION", 4)
    web, start = random_sparse_generator(jax.random.key(1), 400, 3), np.eye(400)[0]
    with pytest.raises(IntegrationError, match="has not converged at t = 1: take `uniformisation`"):
        relaxation(web, start, [1.0, 3.0], method="shift-invert")
    monkeypatch.setattr(importlib.import_module("analysis.chains.relaxation"), "MAX_PRODUCTS", 10)
    assert relaxation(web, start, [10.0]).method == "uniformisation"
    monkeypatch.setattr(importlib.import_module("analysis.chains.relaxation"), "MOST", 10)
    with pytest.raises(IntegrationError, match="for short times, or `dense`"):
        relaxation(web, start, [10.0])


def test_what_an_answer_breaks_is_measured_and_no_error_is_below_it(monkeypatch):
    wrong = np.array([[0.9, 0.25], [1.1, -0.2]])
    monkeypatch.setitem(_METHODS, "dense", lambda chain, p, ts: (wrong, np.array([1e-9, 1e-9])))
    found = relaxation(SWAP, [1.0, 0.0], [1.0, 2.0], method="dense")
    assert found.mass_defect == pytest.approx(0.15)
    assert found.most_negative == pytest.approx(0.2)
    np.testing.assert_allclose(found.errors, [0.15, 0.2])
    assert relaxation(SWAP, [1.0, 0.0], [0.0]).most_negative == 0


def test_far_from_uniform_the_error_is_four_times_the_difference_of_two_half_steps():
    birth, death, t = np.full(39, 1.0), np.full(39, 30.0), 2.7
    start = np.eye(40)[30]
    once, error = by_partial_fractions(birth, death, start, t)
    twice = start
    for _ in range(2):
        twice = by_partial_fractions(birth, death, twice, t / 2)[0]
    difference = float(np.max(abs(once - twice)))
    assert difference > 0
    assert error == pytest.approx(4 * difference + ROUNDING, rel=1e-12)


def test_columns_keep_the_digits_of_the_smaller_of_what_stays_and_what_leaves():
    for stays in (1e-20, 1e-3, 0.4, 0.6, 1 - 1e-9):
        P = np.array([[stays, 0.2], [(1 - stays) / 4, 0.5], [3 * (1 - stays) / 4, 0.3]])
        P = np.column_stack([P, [0.1, 0.1, 0.8]]) * (1 + 1e-13)
        found = column_stochastic(P)
        np.testing.assert_allclose(found, P, rtol=1e-12)
        np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-15)
