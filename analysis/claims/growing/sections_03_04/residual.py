"""Claims of Section 3.2 on the residual matrix (3) and its largest eigenvalue, in each reading."""

from fractions import Fraction
from functools import partial

import jax
import numpy as np

from analysis.claims.growing.instances.residuals import PAIRS, Planted, planted
from analysis.claims.prototype_banks import squared_norms
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.claim import certified, claim, rule
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.residual import dominant_plane, dominant_value, residual_matrix
from dynsim.systems.growing.transitions import grow

ANGLES = ((1, 0), (0, 1), (3, 4), (5, -12), (-8, 15))
"""Legs of triangles with whole hypotenuses, for rational unit vectors of a plane."""

as_printed = rule(
    "growing/equation-3",
    Verdict.ILL_POSED,
    "P is d x d and X M_a X^T is N x N, so that the product is undefined for N other than d; for N = d it is "
    "antisymmetric and has no real eigenvalue but 0, see `square`. Three readings: `features` (the reference), `data`, "
    "`tokens`; the largest eigenvalue is read as that of i A_res, which belongs to a plane and not to a line",
)


def _characteristic(A: Exact) -> list[Fraction]:
    """Return the coefficients of det(x - A), the leading one first, by Faddeev and LeVerrier."""
    found, power = [Fraction(1)], A
    for k in range(1, len(A) + 1):
        found.append(-np.trace(power) / k)
        power = A @ (power + found[-1] * identity(len(A)))
    return found


@certified(
    "growing/equation-3/square",
    variant="reading",
    num_trials=4,
    note="det(x - A) has no negative coefficient, and so no positive root, for any antisymmetric A: no head would ever "
    "be added. no control: the readings with i A_res are the positive cases",
)
def printed_residual_has_a_positive_eigenvalue(key: Key) -> Trial:
    """For N = d and A_res as printed, not 0, lambda_max(A_res) exceeds some theta_w > 0. Read: real eigenvalues."""
    rng = numpy_rng(key, "square")
    X, M, q = matrix(rng.integers(-2, 3, (4, 4))), matrix(rng.integers(-2, 3, (4, 4))), matrix(rng.integers(-2, 3, 4))
    q[0] += Fraction(3)
    rest = identity(4) - np.outer(q, q) / squared_norms(q)
    A = rest @ X @ (M - M.T) / 2 @ X.T @ rest
    signs = [c > 0 for c in _characteristic(A) if c != 0]
    changes = sum(a != b for a, b in zip(signs, signs[1:], strict=False))
    return Trial(
        (holds("A_res is not 0", bool(np.any(A != 0))),),
        (holds("the coefficients of det(x - A) change their sign, as for a positive root", changes > 0),),
        {"X": X, "M": M, "q": q, "A": A},
        parameters={"n": 4, "d": 4},
    )


def _direction(key: Key, at: Planted) -> tuple[Exact, Exact]:
    """Return a unit vector w of the top plane, with rational entries, and the direction of features that it leads to.

    In the reading `tokens` w is a vector of the features that stands for tokens X root^-1 w; otherwise both are one.
    """
    a, b = ANGLES[int(numpy_rng(key, "angle").integers(len(ANGLES)))]
    w = (a * at.axes[0] + b * at.axes[1]) / Fraction(round((a * a + b * b) ** 0.5))
    return (w, at.antisymmetric @ at.root @ w) if at.reading == "tokens" else (w, w)


def _in_tokens(at: Planted, w: Exact) -> Exact:
    """Return the vector that a vector of the plane stands for: of tokens, X root^-1 w, in the reading `tokens`."""
    if at.reading != "tokens":
        return w
    return at.tokens @ _solve(at.root, w)


def _solve(G: Exact, b: Exact) -> Exact:
    """Return the solution of G x = b by elimination, for a positive definite G."""
    rows = [np.append(row, value) for row, value in zip(G, b, strict=True)]
    for k in range(len(rows)):
        rows[k] = rows[k] / rows[k][k]
        rows = [row if i == k else row - row[k] * rows[k] for i, row in enumerate(rows)]
    return np.array([row[-1] for row in rows], object)


def _grown(at: Planted) -> tuple[list[float], list[int]]:
    """Return the dominant values and the ranks of the residual of the system that ships, before and after each head."""
    flow = at.flow()
    x = flow.start(jax.random.key(0))
    values, ranks = [], []
    for head in range(PAIRS + 1):
        values.append(float(flow.dominant))
        ranks.append(int(np.linalg.matrix_rank(np.asarray(flow.residual), tol=1e-9 * values[0])))
        if head < PAIRS:
            flow, x = grow(flow, 0.0, x)
    return values, ranks


def _reading_trial(key: Key, reading: str, *, per_head: int) -> Trial:
    """Measure the residual of a reading, and that each head removes so many dimensions of its range."""
    at = planted(key, reading)
    w, u = _direction(key, at)
    A, v, s = at.residual(at.none), _in_tokens(at, w), at.values[0]
    rest = at.residual(u[None])
    found = residual_matrix(at.interaction.astype(float), tokens=at.tokens.astype(float), reading=reading)
    values, ranks = _grown(at)
    plane = dominant_plane(found)
    return Trial(
        (
            holds("w is a unit vector of the top plane", squared_norms(w) == 1),
            holds("the root is that of X^T X", bool(np.all(at.root @ at.root == at.tokens.T @ at.tokens))),
        ),
        (
            holds("A_res is antisymmetric", bool(np.all(A.T == -A))),
            holds("A^T A v = s_1^2 v", bool(np.all(A.T @ (A @ v) == s**2 * v))),
            agrees("the residual that ships", found, A),
            agrees("lambda_max(i A_res)", np.linalg.eigvalsh(1j * found)[-1], float(s)),
            agrees("the dominant value that ships", dominant_value(found), float(s)),
            agrees("the second row of its plane, A v / s", plane[1], found @ plane[0] / float(s)),
            *_after(at, rest, v, values, per_head),
            holds("rank of the residual before and after each head", ranks == _falling(2 * PAIRS, per_head)),
        ),
        {**at.witness(), "w": w, "values": values},
        parameters={"n": len(at.tokens), "d": len(w), "reading": reading},
    )


def _falling(rank: int, per_head: int) -> list[int]:
    return [max(rank - per_head * head, 0) for head in range(PAIRS + 1)]


def _after(at: Planted, rest: Exact, v: Exact, values: list[float], per_head: int) -> tuple[Measurement, ...]:
    """Measure the residual when v has been captured: the plane has gone, or for tokens v is mapped to 0."""
    if at.reading == "tokens":
        return (holds("A_res v = 0 when v has been captured", not np.any(rest @ v)),)
    counted = [s for s in at.values for _ in range(2)] + [Fraction(0)]
    return (
        holds("A_res = 0 on the whole plane of v when v has been captured", not np.any(rest @ at.axes[:2].T)),
        agrees(
            "dominant values before and after each head", values, np.array(counted[::per_head][: PAIRS + 1], object)
        ),
    )


@claim(
    "growing/equation-3/features",
    control=partial(_reading_trial, reading="features", per_head=1),  # One head for each eigenvalue of a pair.
    variant="reading",
    num_trials=6,
    note="the reference reading. Interaction alone: tokens do not occur",
)
def residual_of_features(key: Key) -> Trial:
    """Read: A_res = P M_a P, (d, d). It is antisymmetric; lambda_max(i A_res) = |A_res|_2 = s_1 belongs to a plane, and
    any of its unit vectors is dominant; when it has been captured, s_2 is dominant: one head for each pair.
    """
    return _reading_trial(key, "features", per_head=2)


@claim(
    "growing/equation-3/data",
    control=partial(_reading_trial, reading="data", per_head=1),  # One head for each eigenvalue of a pair.
    variant="reading",
    num_trials=6,
)
def residual_of_data(key: Key) -> Trial:
    """Read: A_res = P G^(1/2) M_a G^(1/2) P / N with G = X^T X, (d, d). As in the reading `features`, with other s."""
    return _reading_trial(key, "data", per_head=2)


residual_of_tokens = claim(
    "growing/equation-3/tokens",
    statement="Read: A_res = X P M_a P X^T, (N, N). It is antisymmetric; lambda_max(i A_res) = |A_res|_2 belongs to a "
    "plane; when a vector v of it has been captured, A_res v = 0, and the rank has fallen by two.",
    trial=partial(_reading_trial, reading="tokens", per_head=2),
    control=partial(_reading_trial, reading="tokens", per_head=1),  # A rank that falls by one with each head.
    variant="reading",
    num_trials=6,
    note="the dominant vector v is one of tokens, and the direction captured is M_a G^(1/2) w with v = X G^(-1/2) w. "
    "The projector stands between X and M_a, so that the residual is no compression of the one before: its dominant "
    "value may rise when a head is added, which it cannot in the other readings",
)
