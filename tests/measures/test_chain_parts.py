"""Parts of the methods for chains that only special inputs need: rounded rates, lost mass, series and small spaces."""

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from analysis.chains import elimination
from analysis.chains.classes import transition_classes
from analysis.chains.elimination import absorbed
from analysis.chains.entropies import relative_entropy
from analysis.chains.integrator import Exponential
from analysis.chains.krylov_exponential import MAX_DIMENSION, _KrylovSpace
from analysis.chains.mixing import mixing_bounds
from analysis.chains.rational_exponential import _weighted_norm, by_partial_fractions
from analysis.chains.reversibility import reversibility
from analysis.chains.spectra import euler_bounds, spectral_gap
from analysis.chains.stationary import _residual
from dynsim import simulate
from dynsim.systems.master_equation.flow import MasterEquationFlow
from dynsim.systems.master_equation.generators import birth_death, walk_in_potential

CYCLE = np.roll(np.eye(3), 1, axis=0) - np.eye(3)


def test_classes_of_weights_follow_the_attention_of_rows():
    """Row 0 reaches row 1, which reaches row 2; the last one keeps its mass."""
    found = transition_classes([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    assert (found.num_closed, found.states(0).tolist(), found.transient.tolist()) == (1, [2], [0, 1])


@pytest.mark.parametrize("rate", [1.0, 49.0, 98.0, 103.0])
def test_a_turn_remains_periodic_where_its_rate_times_the_bound_is_rounded(rate):
    """For the rate 49 the product with 1 / 49 is less than 1, and would leave states a probability to stay."""
    assert euler_bounds(rate * CYCLE).period == 3


def test_a_factorisation_that_keeps_the_mass_replaces_elimination(monkeypatch):
    """Of two states on the way, of masses 0.25 and 0.75, one leads to both ends alike, the other to it or an end."""
    rates, to, out_of = np.array([1.0, 1.0, 3.0, 1.0]), np.array([2, 3, 0, 3]), np.array([0, 0, 1, 1])
    monkeypatch.setattr(elimination, "LARGEST", 1)
    found = absorbed(rates, to, out_of, np.array([0.25, 0.75]), 2, 1)
    np.testing.assert_allclose(found, [0.125 + 0.75 * 0.375, 0.125 + 0.75 * 0.625], rtol=1e-14)
    np.testing.assert_allclose(absorbed(rates, to, out_of, np.array([0.25, 0.75]), 2, 2), found, rtol=1e-14)


def test_the_series_of_relative_entropy_has_all_its_terms():
    """Just within the distance at which it is used, y^6 / 30 is 3e-17 beside y^2 / 2: weights keep it out of y^3."""
    y = 0.9e-3
    pi = np.array([0.5, 0.5])
    exact = math.fsum(y**n / n / (n - 1) for n in (2, 4, 6))
    assert float(relative_entropy(pi * [1 + y, 1 - y], pi)) == pytest.approx(exact, rel=4e-13)


def test_a_bound_of_a_mixing_time_is_infinite_with_transient_states():
    found = mixing_bounds([[-1.0, 0.0], [1.0, 0.0]])
    assert (found.lower, found.upper) == (pytest.approx(math.log(2)), math.inf)


def test_a_krylov_space_stops_growing_where_the_solution_stays():
    """The line of 200 states needs few vectors for a long time, and evaluates the solution at every fourth."""
    Q = walk_in_potential(np.zeros(200))
    p = np.eye(200)[0] - 1 / 200
    space = _KrylovSpace(Q, np.ones(200), p, 1e3, symmetric=True)
    found, error = space.evolved(np.array([1e4]), 1e-13)
    used = int(np.count_nonzero(np.any(space.V, axis=1))) - 1
    assert used % 4 == 0
    assert used < MAX_DIMENSION / 2
    exact = scipy.linalg.expm(1e4 * Q.toarray()) @ p
    assert np.max(np.abs(found[0] - exact)) <= error[0] < 1e-9


def test_the_weighted_norm_of_a_distribution_on_a_line():
    """With rates up twice those down, pi is (1, 2, 4) / 7, and |p|^2 at the first state is 4 beside the largest 4."""
    birth, death = np.array([2.0, 2.0]), np.array([1.0, 1.0])
    assert _weighted_norm(birth, death, np.array([1.0, 0.0, 0.0])) == pytest.approx(2.0)
    assert _weighted_norm(birth, death, np.array([0.5, 0.0, 0.5])) == pytest.approx(math.sqrt(1.25))
    assert _weighted_norm(np.array([2.0, 0.0]), death, np.array([1.0, 0.0, 0.0])) == math.inf
    assert _weighted_norm(birth, np.array([0.0, 1.0]), np.array([1.0, 0.0, 0.0])) == math.inf
    found, error = by_partial_fractions(birth, death, np.array([1.0, 0.0, 0.0]), 0.7)
    assert error == pytest.approx(3e-14 + 8 * np.finfo(float).eps)
    exact = scipy.linalg.expm(0.7 * scipy.sparse.csc_array(birth_death(birth, death)).toarray())[:, 0]
    assert np.max(np.abs(found - exact)) <= error


def test_distributions_in_single_precision_have_the_sum_one():
    """Their sums are one up to the rounding of float32. The first time is that of the initial distribution."""
    p = np.full(3, 1 / 3, np.float32) * np.float32(1 + 3e-7)
    flow = MasterEquationFlow(2 * CYCLE)
    path = simulate(flow, p, [3.0, 3.5, 4.0], integrator=Exponential())
    assert path.ys.dtype == np.float32
    np.testing.assert_allclose(path.ys, np.full((3, 3), 1 / 3), rtol=2e-7)
    assert (int(path.stats.num_steps), float(path.stats.last_time)) == (2, 4.0)
    start = np.array([1.0, 0.0, 0.0])
    path = simulate(flow, start, [3.0, 3.5, 4.0], integrator=Exponential())
    np.testing.assert_allclose(path.ys[-1], scipy.linalg.expm(2 * CYCLE)[:, 0], atol=1e-14)


def test_a_chain_without_rates_has_no_residual():
    assert _residual(np.zeros((2, 2)), np.array([0.5, 0.5])) == 0.0
    assert _residual(CYCLE, np.array([0.5, 0.25, 0.25])) == pytest.approx(1.0)


@pytest.mark.parametrize("lean", [0.0, 0.5])
def test_the_gap_of_two_deep_wells_is_the_sum_of_both_rates_of_escape(lean):
    """Mean first passage times of a line have exact sums, and their inverses are the rates of Kramers.

    Source: P. Hanggi, P. Talkner, M. Borkovec, Rev. Mod. Phys. 62 (1990), (2.5) and (7.5).
    """
    x, height = np.linspace(-1.6, 1.6, 321), 8.0
    step = x[1] - x[0]
    V = height * (x**2 - 1) ** 2 + lean * x  # at the temperature 1, with friction 1
    curvature = np.abs(height * (12 * x**2 - 4))

    def passage(V):
        """The time from the minimum of the left half to that of the right one, and Kramers' rate."""
        half = len(V) // 2
        left, top, right = (
            np.argmin(V[:half]),
            np.argmax(V[half - 80 : half + 80]) + half - 80,
            np.argmin(V[half:]) + half,
        )
        flux = np.exp(-(V[:-1] + V[1:]) / 2) / step**2
        time = np.sum((np.cumsum(np.exp(-V))[:-1] / flux)[left:right])
        return time, np.sqrt(curvature[left] * curvature[top]) / (2 * np.pi) * np.exp(V[left] - V[top])

    there, back = passage(V), passage(V[::-1])
    gap = spectral_gap(walk_in_potential(V, rate=1 / step**2))
    assert gap.value == pytest.approx(1 / there[0] + 1 / back[0], rel=5e-3)
    for time, rate in (there, back):
        assert 1 / time == pytest.approx(rate, rel=0.1)


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(float).eps, reason="there is no extended precision")
def test_likely_states_of_a_long_line_keep_the_digits_of_their_logarithms():
    """The last state is 1e240 times as likely as the first: its logarithm alone is rounded by more than 1e-14."""
    found = reversibility(birth_death(np.full(60, 1e4), np.ones(60))).stationary
    weights = np.longdouble(np.log(1e4)) * np.arange(-60, 1)
    np.testing.assert_allclose(found, (np.exp(weights) / np.sum(np.exp(weights))).astype(float), rtol=1e-15)
