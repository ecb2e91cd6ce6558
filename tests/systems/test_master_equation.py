"""Generators and what is refused of them, the flow on the simplex, and the forward-Euler map with its bounds."""

from fractions import Fraction as F

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.chains.spectra import euler_bounds
from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.run_files import load, rerun, save
from dynsim.simulation.simulate import iterate, simulate
from dynsim.systems.euler import EulerMap
from dynsim.systems.master_equation.checks import (
    check_distribution,
    check_generator,
    check_transition,
    entries,
    exit_rates,
)
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap, step_bound
from dynsim.systems.master_equation.generators import (
    attention_generator,
    birth_death,
    generator_from_rates,
    random_generator,
    walk_in_potential,
)
from dynsim.systems.master_equation.rates import DrivenRates, SparseGenerator
from dynsim.systems.schedules import Constant, PiecewiseConstant

SWAP = np.array([[-1.0, 1.0], [1.0, -1.0]])
CYCLE = np.roll(np.eye(3), 1, axis=0) - np.eye(3)
CHAIN = birth_death([1.0, 2.0, 0.5], [3.0, 0.7, 1.0])
START = np.array([0.4, 0.3, 0.2, 0.1])
UP = np.array([1.0, 0.0])


def test_rates_go_from_the_column_to_the_row():
    Q = generator_from_rates([[0.0, 3.0], [2.0, 0.0]])
    np.testing.assert_array_equal(Q, [[-2.0, 3.0], [2.0, -3.0]])
    np.testing.assert_array_equal(CHAIN.toarray()[:, 1], [3.0, -5.0, 2.0, 0.0])
    exact = birth_death(np.array(["1/3", 2], object), [3, 4])
    assert exact[0, 0] == F(-1, 3)
    assert exact[2, 2] == -4
    assert all(entry == 0 for entry in exact.sum(axis=0))


def test_attention_moves_distributions_by_its_transpose():
    A = np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    Q = attention_generator(A, rate=2.0)
    np.testing.assert_allclose(Q, 2 * (A.T - np.eye(3)), atol=1e-15)
    exact = attention_generator([[F(1, 3), F(2, 3)], [F(1), F(0)]])
    assert exact[1, 0] == F(2, 3)
    sparse = attention_generator(scipy.sparse.csr_array(A))
    np.testing.assert_allclose(sparse.toarray(), A.T - np.eye(3), atol=1e-15)


def test_a_walk_in_a_potential_is_balanced_by_its_gibbs_law():
    V = np.array([[0.0, 1.0, 0.3], [0.2, -1.0, 2.0]])
    Q = walk_in_potential(V, temperature=0.5).toarray()
    law = np.exp(-V.ravel() / 0.5)
    flux = Q * law[None]
    np.testing.assert_allclose(flux, flux.T, rtol=1e-14)
    assert Q[1, 0] > 0
    assert Q[3, 0] > 0
    assert Q[4, 0] == 0
    np.testing.assert_allclose(walk_in_potential(V, temperature=0.5, rate=3.0).toarray(), 3 * Q, rtol=1e-14)
    one = walk_in_potential(np.zeros(1))
    assert one.nnz == 0


def test_random_generators_are_made_again_by_their_key():
    key = random_key(0, "random")
    np.testing.assert_array_equal(random_generator(key, 5), random_generator(key, 5))
    assert not np.array_equal(random_generator(key, 5), random_generator(random_key(1, "random"), 5))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**31 - 1), st.booleans())
def test_what_is_made_is_a_generator_and_exit_rates_are_its_diagonal(k, seed, sparse):
    rates = np.random.default_rng(seed).exponential(size=(k, k)) * (1 - np.eye(k))
    Q = generator_from_rates(scipy.sparse.csc_array(rates) if sparse else rates)
    np.testing.assert_allclose(-Q.diagonal(), exit_rates(check_generator(Q)), atol=1e-14)
    rows, columns, values = entries(Q)
    assert np.array_equal(scipy.sparse.csc_array((values, (rows, columns)), shape=(k, k)).toarray(), _dense(Q))


def _dense(Q):
    return Q.toarray() if scipy.sparse.issparse(Q) else Q


@pytest.mark.parametrize(("bad", "sentence"), [
    ([[-1.0, 1.0], [1.0, -1.1]], r"column 1 sums to -0\.1, with an exit rate of 1\."),
    ([[1.0, 1.0], [-1.0, -1.0]], r"entry \(1, 0\) is -1\."),
    ([[-1.0, np.nan], [1.0, -1.0]], r"be finite, but entry \(0, 1\) is nan"),
    ([[-np.inf, 0.0], [1.0, 0.0]], r"entry \(0, 0\) is -inf"),
    ([[1.0, 2.0, 3.0]], r"have shape \(k, k\), but has shape \(1, 3\)"),
    (np.zeros((0, 0)), r"has shape \(0, 0\)"),
    (np.zeros(3), r"has shape \(3,\)"),
    ([[F(-1), F(1)], [F(1), F(-1, 2)]], "column 1 sums to 1/2, with an exit rate of 1"),
    ([["a"]], "must hold real numbers"),
    (scipy.sparse.csc_array([[-1.0, 1.0], [1.0, -2.0]]), "column 1 sums to -1"),
])  # fmt: skip
def test_what_is_no_generator_is_refused_by_its_entry(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_generator(bad)


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: check_transition([[0.5, 0.6], [0.5, 0.5]]), r"row 0 sums to 1\.1"),
    (lambda: check_transition([[F(1, 3), F(1, 3)], [F(1), F(0)]]), "row 0 sums to 2/3"),
    (lambda: check_transition([[1.5, -0.5], [0.5, 0.5]]), r"entry \(0, 1\) is -0\.5"),
    (lambda: check_distribution([0.5, 0.6], 2), r"`p0` must be a distribution, but sums to 1\.1"),
    (lambda: check_distribution([1.5, -0.5], 2), "entry 1 is -0.5"),
    (lambda: check_distribution([np.nan, 1.0], 2), "entry 0 is nan"),
    (lambda: check_distribution([1.0], 2), r"have shape \(2,\)"),
    (lambda: check_distribution(["a", "b"], 2), "`p0` must hold real numbers"),
    (lambda: check_distribution([[1.0], [0.5, 0.5]], 2), "`p0` must hold numbers, but does not"),
    (lambda: generator_from_rates([[0.0, -1.0], [1.0, 0.0]]), r"entry \(0, 1\) is -1"),
    (lambda: generator_from_rates([[1.0, 1.0], [1.0, 0.0]]), r"entry \(0, 0\) is 1"),
    (lambda: birth_death([1.0, 2.0], [1.0]), "have the shape of `birth`"),
    (lambda: birth_death([1.0, np.nan], [1.0, 2.0]), "`birth` must hold finite rates of at least zero"),
    (lambda: birth_death([1.0], [-2.0]), "`death` must hold .* entry 0 is -2"),
    (lambda: walk_in_potential(np.array([0.0, np.inf])), "`potential` must hold finite numbers"),
    (lambda: walk_in_potential(np.zeros(2), temperature=0.0), "`temperature` must be positive"),
    (lambda: walk_in_potential(np.array([0.0, 1e4])), "be finite"),
    (lambda: random_generator(jax.random.key(0), 0), "`size` must be at least 1"),
    (lambda: attention_generator(np.eye(2), rate=0.0), "`rate` must be positive"),
    (lambda: MasterEquationFlow(np.eye(2)), "columns that sum to zero"),
    (lambda: MasterEquationFlow(Constant(np.zeros((2, 3, 3)))), "have one head"),
    (lambda: MasterEquationMap(SWAP, 1.01), "`step_size` must be at most .* = 1.0, .* but is 1.01"),
    (lambda: MasterEquationMap(SWAP, 0.0), "`step_size` must be positive"),
    (lambda: DrivenRates(3.0), "be a function of t"),
    (lambda: DrivenRates(lambda t: jnp.zeros(3)), "return shape"),
    (lambda: DrivenRates(lambda t: jnp.zeros((2, 2)), fastest_period=0.0), "`fastest_period` must be positive"),
    (lambda: simulate(MasterEquationFlow(SWAP), np.array([0.2, 0.3, 0.5]), [0.0, 1.0]), "have 2 states"),
    (lambda: simulate(MasterEquationFlow(SWAP), np.array([0.2, 0.3]), [0.0, 1.0]), "lie on the space, Simplex"),
    (lambda: MasterEquationMap(SWAP, 0.5).step(0, np.ones(3) / 3), "`x0` must have 2 states"),
])  # fmt: skip
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_flow_agrees_with_the_matrix_exponential_in_both_forms(kind):
    flow = MasterEquationFlow(CHAIN if kind == "sparse" else CHAIN.toarray())
    expected = scipy.linalg.expm(3.0 * CHAIN.toarray()) @ START
    if kind == "sparse":
        np.testing.assert_allclose(simulate(flow, START, [0.0, 3.0]).final, expected, atol=1e-9)
    np.testing.assert_allclose(simulate(flow, START, [0.0, 3.0], integrator=Scipy()).final, expected, atol=1e-11)
    batch = jnp.stack([START, START[::-1]])
    np.testing.assert_allclose(flow.velocity(0.0, batch), batch @ CHAIN.toarray().T, atol=1e-15)
    np.testing.assert_allclose(jnp.sum(flow.velocity(0.0, jnp.asarray(START))), 0.0, atol=1e-15)


def test_a_sparse_generator_is_the_matrix_it_was_made_of():
    schedule = SparseGenerator(CHAIN)
    np.testing.assert_array_equal(schedule(0.0)[0], CHAIN.toarray())
    assert schedule.shape == (1, 4, 4)


def _breathing(t):
    return jnp.array([[5.0, 1.0], [3.0, 7.0]]) * (1 + 0.5 * jnp.sin(t))  # its diagonal does not count


def test_rates_that_breathe_together_only_change_the_clock():
    flow = MasterEquationFlow(DrivenRates(_breathing, fastest_period=2 * np.pi))
    assert flow.step_limit() == pytest.approx(np.pi)
    clock = 2.0 + 0.5 * (1 - np.cos(2.0))
    law = np.array([1, 3]) / 4
    expected = law + np.exp(-4 * clock) * (UP - law)
    np.testing.assert_allclose(simulate(flow, UP, [0.0, 2.0]).final, expected, atol=1e-9)


def _overshooting(t):
    return jnp.array([[0.0, 1.0], [1.0, 0.0]]) * (1 + 1.5 * jnp.sin(t))


def test_rates_that_turn_negative_on_the_way_are_refused_with_the_time():
    flow = MasterEquationFlow(DrivenRates(_overshooting))
    with pytest.raises(ValueError, match=r"t = 3\.9.* no negative rate off its diagonal, but entry \(1, 0\)"):
        simulate(flow, UP, [0.0, 5.0])
    simulate(flow, UP, [0.0, 3.0], integrator=Scipy())


def test_a_piecewise_generator_is_followed_across_its_jump_and_not_beyond_its_end():
    flow = MasterEquationFlow(PiecewiseConstant(np.stack([SWAP, 3 * SWAP])[:, None], [1.0, 0.5], periodic=False))
    np.testing.assert_array_equal(flow.breakpoints(0.0, 1.5), [1.0])
    expected = 0.5 + 0.5 * np.exp(-2 * (1 + 3 * 0.5))
    assert simulate(flow, UP, [0.0, 1.5], integrator=Scipy()).final[0] == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match=r"inside the schedule of `generator`, \[0, 1\.5\]"):
        simulate(flow, UP, [0.0, 1.6])
    broken = MasterEquationFlow(PiecewiseConstant(np.stack([SWAP, np.eye(2)])[:, None]))
    with pytest.raises(ValueError, match="columns that sum to zero"):
        simulate(broken, UP, [0.0, 2.0])


def test_the_euler_map_is_exact_in_fractions_and_equal_in_all_forms():
    exact = MasterEquationMap(birth_death([F(1), F(2)], [F(3), F(4)]), "1/10")
    x = np.array([F(1), F(0), F(0)])
    path = iterate(exact, x, 40)
    assert path.final.sum() == 1
    Q = birth_death([1.0, 2.0], [3.0, 4.0])
    for other in (Q, Q.toarray()):
        floats = iterate(MasterEquationMap(other, 0.1), x.astype(float), 40)
        np.testing.assert_allclose(floats.final, path.final.astype(float), atol=1e-14)
    scanned = iterate(EulerMap(MasterEquationFlow(Q), 0.1), jnp.asarray(x.astype(float)), 40)
    np.testing.assert_allclose(scanned.final, path.final.astype(float), atol=1e-14)
    assert path.ys[1].tolist() == [F(9, 10), F(1, 10), 0]


@pytest.mark.parametrize(("Q", "period"), [(SWAP, 2), (CYCLE, 3)])
def test_at_the_step_bound_a_chain_may_be_periodic_and_below_it_converges(Q, period):
    bounds = euler_bounds(Q)
    assert bounds.nonnegative == step_bound(Q) == 1.0
    assert bounds.convergent == pytest.approx(1.0, rel=1e-14)
    assert bounds.period == period
    assert f"period {period}" in str(bounds)
    p = np.eye(len(Q))[0]
    at = iterate(MasterEquationMap(Q, 1.0), p, 6 * period)
    np.testing.assert_array_equal(at.final, p)
    np.testing.assert_array_equal(at.ys[1], np.eye(len(Q))[1])
    below = iterate(MasterEquationMap(Q, 0.9), p, 400, every=400)
    np.testing.assert_allclose(below.final, 1 / len(Q), atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(2, 6))
def test_beyond_the_convergent_bound_the_iterates_grow_and_below_they_fall(seed, k):
    rates = np.random.default_rng(seed).exponential(size=(k, k)) * (1 - np.eye(k))
    Q = generator_from_rates(rates)
    bounds = euler_bounds(Q)
    assert bounds.convergent >= bounds.nonnegative * (1 - 1e-12)
    for factor, grows in ((1.02, True), (0.98, False)):
        step = np.eye(k) + factor * bounds.convergent * Q
        modes = np.sort(abs(np.linalg.eigvals(step)))
        assert (modes[-1] > 1 + 1e-9) == grows
    M = np.eye(k) + bounds.nonnegative * Q
    assert np.min(M) >= -1e-15
    assert np.min(np.eye(k) + 1.01 * bounds.nonnegative * Q) < 0


def test_a_stored_run_of_each_kind_is_made_again_to_the_bit(tmp_path):
    exact = iterate(MasterEquationMap(birth_death([F(1, 3)], [F(1)]), "1/2"), np.array([F(1), F(0)]), 3)
    runs = {
        "sparse": simulate(MasterEquationFlow(CHAIN), START, [0.0, 1.0]),
        "driven": simulate(MasterEquationFlow(DrivenRates(_breathing, fastest_period=2 * np.pi)), UP, [0.0, 1.0]),
        "map": iterate(MasterEquationMap(CHAIN, 0.1), START, 4),
        "exact": exact,
    }
    for name, path in runs.items():
        save(tmp_path / f"{name}.npz", path, seed=0)
        trust = (f"{__name__}:_breathing",) if name == "driven" else ()
        again = rerun(tmp_path / f"{name}.npz", trust=trust)
        assert np.array_equal(np.asarray(again.ys), np.asarray(path.ys))
    assert load(tmp_path / "exact.npz").final.tolist() == exact.final.tolist()


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_a_missing_rate_is_judged_by_the_rates_out_of_its_own_state(slow):
    """A state whose rates are a millionth of the others'."""
    rates = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [2.0, 1.0, 0.0]]) * np.where(np.arange(3) == slow, 1e-6, 1.0)
    Q = rates - np.diag(np.sum(rates, axis=0))
    for off, fine in ((1e-10, True), (1e-8, False)):
        for column in range(3):
            changed = Q.copy()
            changed[column, column] *= 1 + off
            if fine:
                assert np.array_equal(check_generator(changed), changed)
            else:
                with pytest.raises(ValueError, match=f"but column {column} sums to"):
                    check_generator(changed)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("off", "tolerance", "fits"), [(1e-10, 1e-9, True), (1e-8, 1e-9, False), (1e-5, 1e-4, True), (1e-3, 1e-4, False)]
)
def test_sums_may_be_off_by_the_tolerance_relative_to_the_exit_rate(scale, off, tolerance, fits):
    Q = scale * np.array([[-1.0, 2.0], [1.0 + off, -2.0]])
    A, p = np.array([[0.3, 0.7 + off], [0.5, 0.5]]), np.array([0.25, 0.75 - off])
    generator = lambda Q: check_generator(Q, tolerance=tolerance)
    checks = [(generator, (Q,), "column 0 sums")]
    if tolerance == 1e-9:  # which the other two have
        checks += [(check_transition, (A,), "row 0 sums"), (check_distribution, (p, 2), "but sums")]
    for check, arguments, says in checks:
        if fits:
            np.testing.assert_array_equal(check(*arguments), arguments[0])
        else:
            with pytest.raises(ValueError, match=says):
                check(*arguments)
