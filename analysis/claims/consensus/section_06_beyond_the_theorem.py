"""Claims of the abstract and the introduction beyond Theorem 6.1: other hemispheres, and several heads."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.hemispheres import chord
from analysis.claims.consensus.instances.modulated_heads import (
    has_the_printed_field,
    is_bounded,
    modulated_heads,
    printed_heads,
)
from analysis.claims.consensus.instances.printed_attention import before, printed_field
from analysis.claims.consensus.instances.sizes import number_of_tokens
from analysis.claims.rational_instances import matrix, rational_unit
from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, agrees, at_least, at_most, equal, holds
from analysis.tokens.consensus import diameter, distance_to_point
from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import Causal

N, D = 4, 3


def _rotation(key: Key) -> Exact:
    """Return a random rational rotation of the plane, (2, 2)."""
    c, s = rational_unit(key, 2)
    return np.array([[c, -s], [s, c]], object)


def _opposite_trial(key: Key) -> Trial:
    """Certify a set of initial points of two causal tokens that never leave it, P = 0 and U = diag(1, -3), rotated.

    Token 1 is at the angle f from v, and token 2 at the angle g from -v, |sin f| <= 5/13 and |sin g| <= 3/5. With
    weights 1/2, sqrt(2) f' = -4 sin f cos f, and at g > 0
    2 sqrt(2) g' = sin g cos f + 3 cos g sin f - 4 sin g cos g <= sin g + 3 cos g (5/13) - 4 sin g cos g.
    """
    R = _rotation(key)
    U = R @ matrix(np.diag([1, -3])) @ R.T
    sine, cosine = Fraction(3, 5), Fraction(4, 5)
    tilt, run = Fraction(5, 13), Fraction(12, 13)
    inward = sine + 3 * cosine * tilt - 4 * sine * cosine
    flow = TokenFlow(np.zeros((1, 2, 2)), U.astype(float), mask=Causal())
    corners, shipped, exact = [], [], []
    for up in (1, -1):
        for right in (1, -1):
            x = np.stack([R @ np.array([run, up * tilt]), R @ np.array([-cosine, right * sine])])
            corners.append(x)
            mean = [U @ x[0], U @ (x[0] + x[1]) / 2]
            exact.append(np.stack([m - (y @ m) * y for m, y in zip(mean, x, strict=True)]).astype(float) / math.sqrt(2))
            shipped.append(np.asarray(flow.vector_field(0.0, jnp.asarray(x.astype(float)))))
    v = R[:, 0]
    return Trial(
        hypotheses=(
            holds("U is symmetric with the simple top eigenvalue 1 > 0, of v", all(U @ v == v) and np.trace(U) == -2),
            holds("the corners are on the circle, exactly", all(y @ y == 1 for x in corners for y in x)),
        ),
        conclusions=(
            holds("some initial point of the set leaves it, so that the tokens can meet", not inward < 0),
            agrees("the field at the corners of the set", np.stack(shipped), np.stack(exact)),
        ),
        witness={
            "U": U,
            "v": v,
            "lambda": 1,
            "mu": -3,
            "delta": [tilt, run],
            "eta": [sine, cosine],
            "corners (y_1, y_2)": np.stack(corners),
            "bound of 2 sqrt(2) g'": inward,
        },
        parameters={"n": 2, "d": 2, "heads": 1},
    )


tokens_converge_whatever_the_value = certified(
    "consensus/claim-value-matrix-consensus",
    statement="""All tokens converge to each other, also outside the hemispheres of Theorem 6.1 for its value matrices.

    Read: from almost every initial condition, for U symmetric with a simple positive top eigenvalue. Evaluated for an
    open set of two causal tokens on the circle, one near v and one near -v, at whose boundary the field points inwards.
    """,
    trial=_opposite_trial,
    num_trials=4,
    note="refuted on an open set of initial conditions, not only on a null set: tokens near v and -v stay there; no "
    "control: the special case U = I is its positive case, and its control the same refutation by simulation",
)


def _signs_trial(key: Key, integrator: AbstractIntegrator, lower: float) -> Trial:
    """Measure causal tokens that start near v, -v, v and so on for U = diag(1, lower, lower)."""
    v = jnp.eye(D)[0]
    P, U = modulated_heads(key, 1, D), np.diag([1.0, lower, lower])
    n = number_of_tokens(key) if lower == 1 else N
    signs = jnp.where(jnp.arange(n) % 2 == 0, 1.0, -1.0)[:, None]
    x0 = Sphere().project(signs * v[None] + 0.2 * jax.random.normal(key, (n, D)))
    path = simulate(TokenFlow(P, U, mask=Causal()), x0, np.linspace(0.0, 120.0, 3), integrator=integrator)
    final = path.final
    return Trial(
        hypotheses=(
            at_least("top eigenvalue of U", np.linalg.eigvalsh(U)[-1], 0.0, tolerance=ROUNDING),
            at_least(
                "initial distance from the equator v^T y = 0", jnp.min(jnp.abs(x0[:, 0])), 0.0, tolerance=ROUNDING
            ),
            is_bounded(P),
        ),
        conclusions=(
            chord("diameter at t=120", diameter(final), 1e-3),
            chord("distance from y_1(0) at t=120", distance_to_point(final, x0[0]), 1e-3),
            has_the_printed_field(path, lambda t: printed_heads(P, t), U[None], np.eye(D)),
        ),
        witness={"U": U, "P'": np.asarray(P.base), "x0": np.asarray(x0)},
        parameters={"n": n, "d": D, "heads": 1},
    )


tokens_converge_for_the_identity = claim(
    "consensus/claim-value-matrix-consensus/identity",
    statement="""For U = I and causal attention all tokens converge to each other from almost every initial condition.

    Added: U = I.
    """,
    trial=partial(_signs_trial, lower=1.0),
    control=partial(_signs_trial, lower=-0.25),  # Lower eigenvalues of -1/4, for which a token near -v stays there.
    variant="special case",
    num_trials=8,
)


def _turning(g: float) -> float:
    """Return g' for the second token of `_barrier_trial` at the angle g from v."""
    c, w = math.cos(g), 1 / (1 + math.exp(-5 * (1 - math.cos(g))))
    return math.sin(g) * (w * (10.5 * c - 1) - 5.5 * c) / math.sqrt(2)


def _rest_angle(low: float, high: float) -> tuple[Fraction, Fraction]:
    """Return two angles around the one between `low` and `high` at which that token is at rest, by bisection."""
    while high - low > 1e-14:
        middle = (low + high) / 2
        low, high = (middle, high) if _turning(middle) > 0 else (low, middle)
    margin = Fraction(1, 10**10)
    return Fraction(low) - margin, Fraction(high) + margin


def _barrier_trial(key: Key) -> Trial:
    """Certify a barrier for token 2: U_1 = diag(0, 5), U_2 = diag(1, -9/2), P_1 = 5 I, P_2 = -5 I, y_1 = v, rotated.

    For c = v^T y_2 = cos g, sqrt(2) g' = sin g (w (21 c / 2 - 1) - 11 c / 2) with w = 1 / (1 + exp(-5 (1 - c))), the
    weight of y_2 in head 1 and of y_1 in head 2. At c = 4/5 this is positive if 22/5 (1 + 1/e) < 37/5, or e > 22/15:
    then c does not exceed 4/5, if it does not at first. At c = 1/10 it is negative, since w < 1.
    """
    R = _rotation(key)
    U = np.stack([R @ (matrix(np.diag(twice)) / 2) @ R.T for twice in ([0, 10], [2, -9])])
    P = np.stack([5 * matrix(np.eye(2, dtype=int)), -5 * matrix(np.eye(2, dtype=int))])
    v, c, s = R[:, 0], Fraction(4, 5), Fraction(3, 5)
    x = np.stack([v, R @ np.array([c, s])])
    e = sum((Fraction(1, math.factorial(k)) for k in range(8)), Fraction(0))  # a lower bound of e
    outwards = Fraction(21, 2) * c - 1 - Fraction(11, 2) * c * (1 + 1 / e)
    speed = _turning(math.acos(float(c)))
    low, high = _rest_angle(math.acos(float(c)), math.acos(0.2))
    flow = TokenFlow(P.astype(float), U.astype(float), mask=Causal())
    field = np.asarray(flow.vector_field(0.0, jnp.asarray(x.astype(float))))
    turn = (R @ np.array([-s, c])).astype(float)  # the direction of increasing g
    frame, g = R.astype(float), float(low + high) / 2
    resting = frame @ np.array([math.cos(g), math.sin(g)])
    at_rest = flow.vector_field(0.0, jnp.asarray(np.stack([frame[:, 0], resting])))
    total = U.sum(axis=0)
    return Trial(
        hypotheses=(
            holds("every U_h is symmetric", all(bool(np.all(u == u.T)) for u in U)),
            holds(
                "the top eigenvalue of their sum, 1, is simple, of v", all(total @ v == v) and np.trace(total) == 3 / 2
            ),
            holds(
                "the tokens are on the circle, in the open hemisphere of v", all(y @ y == 1 and v @ y > 0 for y in x)
            ),
        ),
        conclusions=(
            holds("v^T y_2 can exceed its initial value 4/5", not outwards > 0),
            agrees("the field at the barrier", field, printed_field(x, P, U, np.eye(2), before)),
            agrees("the velocity of y_2 away from v", field[1] @ turn, speed),
            agrees("the velocity of y_1 = v", field[0], np.zeros(2)),
            agrees("the field where y_2 comes to rest", at_rest, np.zeros((2, 2))),
        ),
        witness={
            "U": U,
            "P": P,
            "v": v,
            "tokens": x,
            "interval": [Fraction(1, 5), c],
            "angle": [low, high],
            "least e": e,
        },
        parameters={"n": 2, "d": 2, "heads": 2},
    )


theorem_for_the_sum_of_the_values = certified(
    "consensus/claim-multihead-value",
    statement="""Theorem 6.1 holds for several heads.

    Read: if all U_h are symmetric and the top eigenvalue of their sum is simple and positive, of v, then every solution
    with initial values v^T y_i > 0 for all i converges to (v, ..., v). Evaluated for y_1 = v,
    which is at rest, and y_2 with v^T y_2 = 4/5, at which the field turns y_2 away from v.
    """,
    trial=_barrier_trial,
    num_trials=4,
    note="the hypotheses on several value matrices are not stated; read for their sum, which takes the place of U at "
    "consensus; refuted where v is the top eigenvector of the sum, but not of every U_h; no control: the corrected "
    "claim is its positive case",
)


def _heads_trial(key: Key, integrator: AbstractIntegrator, lower: float) -> Trial:
    """Measure convergence with three heads, symmetric U_h with a common eigenvector, general P_h(t).

    Its eigenvalue is the top one of every U_h if `lower` is negative. One token starts near the boundary.
    """
    a, b, c, d = jax.random.split(key, 4)
    Q = np.linalg.qr(np.asarray(jax.random.normal(a, (D, D))))[0]
    turns = [np.linalg.qr(np.asarray(k))[0] for k in jax.random.normal(b, (3, D - 1, D - 1))]
    tops = 0.5 + np.asarray(jax.random.uniform(c, (3,)))
    U = np.zeros((3, D, D))
    for h, turn in enumerate(turns):
        inner = np.zeros((D, D))
        inner[0, 0], inner[1:, 1:] = tops[h], turn @ np.diag(tops[h] + lower - np.arange(D - 1.0)) @ turn.T
        U[h] = Q @ inner @ Q.T
    U, v = (U + U.transpose(0, 2, 1)) / 2, jnp.asarray(Q[:, 0])
    P = modulated_heads(jax.random.fold_in(key, 9), 3, D)
    n = number_of_tokens(key) if lower < 0 else N
    x = Sphere().sample(d, (n, D))
    low = min(1, n - 1)  # this token starts near the boundary
    x = x.at[low].set(Sphere().project(x[low] - (x[low] @ v) * v + 0.01 * v))
    x0 = x * jnp.sign(x @ v)[:, None]
    flow = TokenFlow(P, U, mask=Causal())
    path = simulate(flow, x0, [0.0, 30.0, 60.0], integrator=integrator)
    values = np.linalg.eigvalsh(U)
    # at (v, ..., v) all weights of token i are 1 / (i sqrt d), at any time
    across = np.linalg.eigvalsh(Q[:, 1:].T @ U.sum(axis=0) @ Q[:, 1:])
    rates = np.concatenate([across / i - tops.sum() for i in range(1, n + 1)]) / math.sqrt(D)
    found = np.real(eigenvalues(tangent_jacobian(flow, jnp.tile(v, (n, 1)), 0.7)))
    gap = at_least(
        "least gap of v below the top of a U_h", np.min(tops[:, None] - values[:, :-1]), 0.0, tolerance=SOLVER
    )
    return Trial(
        hypotheses=(
            at_least("least top eigenvalue of a U_h", values[:, -1].min(), 0.0, tolerance=ROUNDING),
            *((gap,) if lower < 0 else ()),
            at_most(
                "residual of v as a common eigenvector",
                np.abs(U @ v - tops[:, None] * v[None]).max(),
                1e-9,
                tolerance=ROUNDING,
            ),
            is_bounded(P),
            at_least("least initial v^T y_i", jnp.min(x0 @ v), 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            chord("distance from (v, ..., v) at t=60", distance_to_point(path.final, v), 1e-2),
            at_most("largest eigenvalue at (v, ..., v)", np.max(found), 0.0, tolerance=ROUNDING),
            equal(
                "error of the eigenvalues there", np.max(np.abs(np.sort(found) - np.sort(rates))), 0.0, tolerance=1e-5
            ),
            has_the_printed_field(path, lambda t: printed_heads(P, t), U, np.eye(D)),
        ),
        witness={"U": U, "P'": np.asarray(P.base), "x0": np.asarray(x0)},
        parameters={"n": n, "d": D, "heads": 3},
    )


heads_with_a_common_eigenvector = claim(
    "consensus/claim-multihead-value/common-eigenvector",
    statement="""If all U_h are symmetric and have simple positive top eigenvalues lambda_h with a common eigenvector v,
    (v, ..., v) is asymptotically stable, and every solution with initial values v^T y_i > 0 for all i converges to it.
    Added: v is the top eigenvector of every U_h.

    Read, for stability: the linearisation at (v, ..., v), the same at all times whatever P, has for token i the
    eigenvalues of the sum over h of U_h / i - lambda_h, across v and over sqrt d, all of them negative.
    """,
    trial=partial(_heads_trial, lower=-0.5),
    control=partial(_heads_trial, lower=0.5),  # Another eigenvalue of every U_h above that of v, by 1/2.
    variant="corrected",
    num_trials=16,
)
