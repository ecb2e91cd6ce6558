"""Claims of Lemmas 1-3 and 5 and of (12): Sigma_q, and derivatives of assignments and of F_sep, by power series."""

from fractions import Fraction
from functools import partial
from itertools import combinations

import jax
import numpy as np

from analysis.claims.growing.instances.expansions import (
    Expansion,
    along_dominant,
    expansion_computed,
    random_expansion,
    shipped,
    times,
)
from analysis.claims.prototype_banks import hard_bank
from analysis.claims.rational_instances import Exact, matrix
from analysis.hardmax.exact_geometry import determinant
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.assignments import assignment_covariance

KINDS = ("softmax", "random", "some hard", "hard")

_covariance = jax.jit(assignment_covariance)


def _weights(key: Key, kind: str) -> Exact:
    """Return weights with rows that sum to one: soft assignments, random ones, or some or all rows hard, (n, k)."""
    if kind == "softmax":
        return hard_bank(key).q
    rng = numpy_rng(key, "weights")
    q = matrix(rng.integers(1, 9, (5, 3)))
    q = q / np.sum(q, axis=1)[:, None]
    rows = {"random": 0, "some hard": 3, "hard": 5}[kind]
    q[:rows] = matrix(np.eye(3, dtype=int)[rng.integers(0, 3, rows)])
    return q


def _covariance_trial(key: Key, kind: str, diversity: str) -> Trial:
    """Measure Lemma 1 for weights of a kind, with H_2 of each row, or of their mean."""
    q = _weights(key, kind)
    n, k = q.shape
    Sigma = np.sum([np.diag(row) - np.outer(row, row) for row in q], axis=0)
    rows = q if diversity == "rows" else np.tile(np.sum(q, axis=0) / n, (n, 1))
    one_hot = all(set(row) <= {Fraction(0), Fraction(1)} for row in q)
    subsets = (list(chosen) for size in range(1, k + 1) for chosen in combinations(range(k), size))
    minors = [determinant(Sigma[np.ix_(chosen, chosen)]) for chosen in subsets]
    return Trial(
        (
            holds("weights are not negative", bool(np.all(q >= 0))),
            holds("their rows sum to one", bool(np.all(np.sum(q, axis=1) == 1))),
        ),
        (
            holds("Sigma_q >= 0: no principal minor is negative", min(minors) >= 0),
            holds("tr Sigma_q = sum_n H_2(q_n)", np.trace(Sigma) == np.sum(rows * (1 - rows))),
            holds("tr Sigma_q = 0 if and only if every token has one prototype", (np.trace(Sigma) == 0) == one_hot),
            agrees("Sigma_q that ships", _covariance(jax.numpy.asarray(q.astype(float))), Sigma),
        ),
        {"q": q},
        parameters={"n": n, "k": k, "weights": kind},
    )


assignment_covariance_and_its_trace = certified(
    "growing/lemma-1",
    statement="Sigma_q >= 0, tr Sigma_q = sum_n H_2(q_n) with H_2(q_n) = sum_k q_nk (1 - q_nk), and tr Sigma_q = 0 if "
    "and only if all tokens are hard-assigned to a single prototype.",
    trial=lambda key: _covariance_trial(key, str(numpy_rng(key, "kind").choice(KINDS)), "rows"),
    control=partial(_covariance_trial, kind="random", diversity="mean"),  # The Gini diversity of the mean assignments.
    num_trials=16,
    note="`a single prototype` is one for each token, and not the same for all; soft assignments of a positive "
    "temperature are never hard for K > 1, so that hard ones are given as weights",
)


def _expansion_trial(at: Expansion, *conclusions: Measurement, hypotheses: tuple[Measurement, ...] = ()) -> Trial:
    return Trial((*along_dominant(at), *hypotheses), conclusions, at.witness(), parameters=at.parameters)


def _trace_slope(at: Expansion) -> Fraction:
    """Return T times the derivative of tr Sigma_q, of the power series of sum_nk q_nk (1 - q_nk)."""
    q = at.assignments(1)
    return np.sum(q[1]) - np.sum(times(q, q)[1])


def _trace_formula(at: Expansion, share: Exact) -> Fraction:
    """Return 2 sum_nk q_nk s_nk <p_k - mu_n, u> alpha_n for given factors s, (n, k)."""
    q = at.bank.q
    delta = at.starred[None] - (q @ at.starred)[:, None]
    return 2 * np.sum(q * share * delta * at.projections[:, None])


@certified(
    "growing/lemma-2",
    num_trials=4,
    note="the sign is the opposite, from that of dq/dz in the proof; Lemma 3 has the right one",
)
def trace_varies_as_printed(key: Key) -> Trial:
    """Under z_n -> z_n + eps alpha_n u the derivative of tr Sigma_q at eps = 0 is
    (2/T) sum_nk q_nk (1 - 2 q_nk) <mu_n - p_k, u> alpha_n.
    """
    at = random_expansion(key)
    slope, formula = _trace_slope(at), -_trace_formula(at, 1 - 2 * at.bank.q)
    shipping = agrees(
        "the derivative that ships, times T", shipped(*at.floats).trace * at.bank.temperature, float(slope)
    )
    return _expansion_trial(at, holds("the derivative is the formula", slope == formula), hypotheses=(shipping,))


def _trace_trial(at: Expansion, share: Exact) -> Trial:
    slope = _trace_slope(at)
    return _expansion_trial(
        at,
        holds("the derivative is the formula", slope == _trace_formula(at, share)),
        agrees("the derivative that ships, times T", shipped(*at.floats).trace * at.bank.temperature, float(slope)),
    )


@certified("growing/lemma-2/corrected", num_trials=8)
def trace_varies_with_the_other_sign(key: Key) -> Trial:
    """Under z_n -> z_n + eps alpha_n u the derivative of tr Sigma_q at eps = 0 is
    (2/T) sum_nk q_nk (1 - 2 q_nk) <p_k - mu_n, u> alpha_n. Changed: p_k - mu_n in place of mu_n - p_k.
    """
    at = random_expansion(key)
    return _trace_trial(at, 1 - 2 * at.bank.q)


@trace_varies_with_the_other_sign.with_control
def trace_varies_with_the_other_sign(key: Key) -> Trial:
    """The factor 1 - q_nk in place of 1 - 2 q_nk."""
    at = random_expansion(key)
    return _trace_trial(at, 1 - at.bank.q)


def _first_trial(at: Expansion, centre: Exact) -> Trial:
    """Measure (6) with given centres of the projections p*, (n,)."""
    q, T = at.assignments(1), at.bank.temperature
    formula = 2 * at.projections[:, None] * q[0] * (at.starred[None] - centre[:, None])
    return _expansion_trial(
        at,
        holds("dq/d eps is the formula", bool(np.all(q[1] == formula))),
        agrees("the derivatives that ship, times T", shipped(*at.floats).assignments.first * T, q[1]),
    )


@certified("growing/lemma-3", num_trials=8)
def assignments_vary_as_printed(key: Key) -> Trial:
    """Under the same perturbation dq_nk / d eps at eps = 0 is (2 alpha_n / T) q_nk (p*_k - pbar*_n)."""
    at = random_expansion(key)
    return _first_trial(at, at.bank.q @ at.starred)


@assignments_vary_as_printed.with_control
def assignments_vary_as_printed(key: Key) -> Trial:
    """The unweighted mean of the p* in place of pbar*_n."""
    at = random_expansion(key)
    return _first_trial(at, np.tile(np.sum(at.starred) / len(at.starred), len(at.projections)))


def _second_trial(at: Expansion, *, mean: bool) -> Trial:
    """Measure (14) with the variance of each embedding, or with their mean."""
    q, T = at.assignments(), at.bank.temperature
    delta = at.starred[None] - (q[0] @ at.starred)[:, None]
    variance = np.sum(q[0] * delta**2, axis=1)
    taken = np.tile(np.sum(variance) / len(variance), len(variance)) if mean else variance
    formula = 4 * at.projections[:, None] ** 2 * q[0] * (delta**2 - taken[:, None])
    return _expansion_trial(
        at,
        holds("the second derivative of q is the formula", bool(np.all(2 * q[2] == formula))),
        holds("the variances are not negative", bool(np.all(variance >= 0))),
        agrees("the second derivatives that ship, times T^2", shipped(*at.floats).assignments.second * T**2, 2 * q[2]),
    )


@certified(
    "growing/lemma-5",
    # The mean of the variances over the embeddings.
    control=lambda key: _second_trial(random_expansion(key), mean=True),
    num_trials=8,
)
def assignments_have_the_printed_second_derivative(key: Key) -> Trial:
    """The second derivative of q_nk at eps = 0 is (4 alpha_n^2 / T^2) q_nk [(p*_k - pbar*_n)^2 - Var_{q_n}[p*]], with
    Var_{q_n}[p*] = sum_k q_nk (p*_k)^2 - (pbar*_n)^2 >= 0.
    """
    return _second_trial(random_expansion(key), mean=False)


def _slope_trial(at: Expansion, *, literal: bool) -> Trial:
    """Measure (12), with q_nk' in its last sum, or with q_nk as it is printed."""
    q, r, p = at.bank.q, at.forces(0)[0], at.bank.p
    mu = q @ p
    delta = at.starred[None] - (q @ at.starred)[:, None]
    products = r @ p.T  # <r_k', p_k>
    inner = q * np.sum(products, axis=0)[None] if literal else q @ products
    away = np.sum(r[None] * (p[None] - mu[:, None]), axis=2)
    formula = 16 * np.sum(at.projections[:, None] * q * delta * (away - inner))
    slope = at.force(1)[1]
    return _expansion_trial(at, holds("phi'(0) is the formula", slope == formula), *expansion_computed(at))


first_derivative_of_the_force = certified(
    "growing/equation-12",
    statement="phi'(0) = (16/T) sum_nk alpha_n q_nk (p*_k - pbar*_n) [<r_k, p_k - mu_n> - sum_k' q_nk' <r_k', p_k>].",
    trial=lambda key: _slope_trial(random_expansion(key), literal=False),
    control=lambda key: _slope_trial(random_expansion(key), literal=True),  # The weight q_nk in the sum over k'.
    num_trials=8,
    note="read: in the last sum the weight is q_{nk'}, as in the definition of the derivative of mu_n; printed is "
    "q_{nk} with a prime, with which it is false, see the control",
)
