"""Claims on the identities in Sections 5 and 6: exact, for rational attention weights, and for the shipped fields."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.printed_attention import before, printed_weights
from analysis.claims.rational_instances import (
    Exact,
    factor_and_points,
    identity,
    matrix,
    rational_matrix,
    rational_unit,
    rational_weights,
)
from analysis.hardmax.exact_geometry import determinant
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.systems.tokens.flow import ProjectedValueFlow, causal_identity_flow, causal_symmetric_flow

N, D, HEADS = 4, 3, 2


def _units(key: Key, n: int) -> Exact:
    return np.stack([rational_unit(k, D) for k in jax.random.split(key, n)])


def _shipped_cascade(key: Key, y: Exact) -> tuple[Measurement, ...]:
    """Measure the field (15) that ships against (18) and (19) with the printed weights, for every token."""
    P, x = rational_matrix(key, HEADS, D, D).astype(float) / 4, y.astype(float)
    field = np.asarray(causal_identity_flow(P).vector_field(0.3, jnp.asarray(x)))
    alpha = np.sum([printed_weights(x, p, before) for p in P], axis=0)
    rows = []
    for i in range(len(x)):
        pulls = [x[0] - (x[i] @ x[0]) * x[i] + x[j] - x[0] - (x[i] @ (x[j] - x[0])) * x[i] for j in range(i)]
        rows.append(sum((alpha[i, j] * pulls[j] for j in range(i)), np.zeros(D)))
    a, e = x @ x[0], x - x[0]
    slopes = [
        sum(alpha[i, :i]) * (1 - a[i] ** 2) + sum(alpha[i, j] * e[j] @ (x[0] - a[i] * x[i]) for j in range(1, i))
        for i in range(len(x))
    ]
    return (
        agrees("the field of (15), against (18)", field, np.stack(rows)),
        agrees("the derivative of a_i = y_1^T y_i, against (19)", field @ x[0], np.array(slopes)),
    )


def _cascade_trial(key: Key, first: int) -> Trial:
    """Compare (18) and (19), exactly, with (15) for token i = N; the second sums begin at j = `first`, 2 as printed."""
    a, b = jax.random.split(key)
    y, alpha = _units(a, N), rational_weights(b, HEADS, N)
    yi, y1 = y[-1], y[0]
    zero = matrix(np.zeros(D, int))
    field = sum((alpha[h, j] * (y[j] - (yi @ y[j]) * yi) for h in range(HEADS) for j in range(N)), zero)
    e = y - y1
    late = range(first - 1, N - 1)
    first_sum = sum((alpha[h, j] * (y1 - (yi @ y1) * yi) for h in range(HEADS) for j in range(N - 1)), zero)
    second_sum = sum((alpha[h, j] * (e[j] - (yi @ e[j]) * yi) for h in range(HEADS) for j in late), zero)
    a_i, both = y1 @ yi, alpha.sum(axis=0)  # summed over heads, as the second sum of (19) should be
    perturbation = sum((both[j] * (e[j] @ (y1 - a_i * yi)) for j in late), Fraction(0))
    slope = sum(both[: N - 1]) * (1 - a_i * a_i) + perturbation
    return Trial(
        hypotheses=(holds("tokens are on the sphere, exactly", all(v @ v == 1 for v in y)),),
        conclusions=(
            holds("(18) is the right-hand side of (15)", bool(np.all(field == first_sum + second_sum))),
            holds("(19) is the derivative of y_1^T y_i", y1 @ field == slope),
            *_shipped_cascade(b, y),
        ),
        witness={"y": y, "alpha": alpha},
        parameters={"n": N, "d": D, "heads": HEADS},
    )


cascade_is_rewritten = certified(
    "consensus/equation-18-19",
    statement="""With e_j = y_j - y_1 the equation of token i in (15) is (18), and a_i = y_1^T y_i satisfies (19).

    Read: in the second sum of (19) the weight without head index is the sum over heads. For any weights and tokens.
    """,
    trial=partial(_cascade_trial, first=2),
    control=partial(_cascade_trial, first=3),  # The second sums from j = 3.
    num_trials=16,
    note="in (19) the printed second sum lacks the sum over heads; the weight without head index is read as that sum",
)


def _invertible(key: Key) -> tuple[Exact, Exact, Exact]:
    """Return a unit upper triangular U, its inverse, and N points of the ellipsoid of W = U^T U."""
    lower, y = factor_and_points(key, D, N)
    U, inverse = lower.T, identity(D)
    for i in reversed(range(D)):
        for j in range(i + 1, D):
            inverse[i] = inverse[i] - U[i, j] * inverse[j]
    return U, inverse, y


def _coordinates_trial(key: Key, transformed: bool) -> Trial:
    a, b, c = jax.random.split(key, 3)
    U, inverse, y = _invertible(a)
    alpha, P = rational_weights(b, N), rational_matrix(c, D, D)
    change = U if transformed else identity(D)
    z = y @ change.T
    zero = matrix(np.zeros(D, int))
    fields = []
    for i in range(N):
        drift = sum((alpha[j] * (U @ y[j]) for j in range(i + 1)), zero)
        on_ellipsoid = inverse @ (drift - (U @ y[i]) * ((U @ y[i]) @ drift))  # (20), its projection as printed
        on_sphere = sum((alpha[j] * (z[j] - (z[i] @ z[j]) * z[i]) for j in range(i + 1)), zero)  # (15)
        fields.append(all(change @ on_ellipsoid == on_sphere))
    scores = all(y[i] @ P @ y[j] == z[i] @ inverse.T @ P @ inverse @ z[j] for i in range(N) for j in range(N))
    form = inverse.T @ P @ inverse if transformed else P
    x, w = jnp.asarray(y.astype(float)), jnp.asarray(z.astype(float))
    flow = ProjectedValueFlow(P.astype(float), U.astype(float))
    shipped, target = flow.velocity(0.3, x), causal_identity_flow(form.astype(float)).vector_field(0.3, w)
    return Trial(
        hypotheses=(
            holds("U is invertible", bool(np.all(inverse @ U == identity(D)))),
            holds("tokens are on the ellipsoid, exactly", all(v @ U.T @ U @ v == 1 for v in y)),
            holds("U is not the identity", bool(np.any(identity(D) != U))),
        ),
        conclusions=(
            holds("z = U y is on the sphere", all(v @ v == 1 for v in z)),
            holds("U times the field (20) is the field (15) at z", all(fields)),
            holds("the scores at z are those of U^{-T} P U^{-1}", scores),
            agrees("U times the field (20) that ships, against (15)", shipped @ change.astype(float).T, target),
            agrees("the field (20), against its second form", shipped, _second_form(y, P, U)),
            agrees("W of the ellipsoid that ships", flow.space.matrix, (U.T @ U).astype(float)),
        ),
        witness={"U": U, "y": y, "alpha": alpha},
        parameters={"n": N, "d": D, "heads": 1},
    )


def _second_form(y: Exact, P: Exact, U: Exact) -> np.ndarray:
    """Return the sum of alpha_ij (y_j - (y_i^T W y_j) y_i) over j <= i, W = U^T U, the last member of (20)."""
    x, W = y.astype(float), (U.T @ U).astype(float)
    alpha = printed_weights(x, P.astype(float), before)
    return np.stack([sum(alpha[i, j] * (x[j] - (x[i] @ W @ x[j]) * x[i]) for j in range(i + 1)) for i in range(len(x))])


coordinates_turn_20_into_15 = certified(
    "consensus/remark-5.1-coordinates",
    statement="For U invertible and W = U^T U, z = U y takes (20) to (15) with one head and beta(t, z) = alpha(t, "
    "U^{-1} z).",
    trial=partial(_coordinates_trial, transformed=True),
    control=partial(_coordinates_trial, transformed=False),  # The coordinates z = y.
    num_trials=16,
    note="the remark's conclusion from Theorem 5.1 is subject to `theorem-5.1-domain`",
)


def _projection_trial(key: Key, kind: str, *, idempotent: bool = True) -> Trial:
    U, inverse, points = _invertible(key)
    y, W = points[0], U.T @ U
    printed = inverse @ (identity(D) - np.outer(U @ y, U @ y))
    map = {"printed": printed, "after the value": printed @ U, "sphere": identity(D) - np.outer(y, y)}[kind]
    tangent = holds("its images Y are tangent, y^T W Y = 0", all(v == 0 for v in y @ W @ map))
    once = holds("it is idempotent", bool(np.all(map @ map == map)))
    flow = ProjectedValueFlow(np.zeros((1, D, D)), U.astype(float))  # all weights of (20) are equal
    shipped = flow.velocity(0.0, jnp.asarray(points.astype(float)))[1] * np.sqrt(D)
    mean, second = (points[0] + points[1]) / 2, points[1]
    applied = inverse @ (identity(D) - np.outer(U @ second, U @ second)) @ U @ mean
    minors = [np.delete(np.delete(map, i, 0), k, 1) for i in range(D) for k in range(D)]
    onto = holds("they span the tangent space, of d - 1 dimensions", any(determinant(m) != 0 for m in minors))
    ships = agrees("Pi_W applied to U times the mean of two tokens, as it ships", shipped, applied)
    return Trial(
        hypotheses=(
            holds("y^T W y = 1 exactly", y @ W @ y == 1),
            holds("U is not the identity", bool(np.any(identity(D) != U))),
        ),
        conclusions=(tangent, onto, once, ships) if idempotent else (tangent, onto, ships),
        witness={"U": U, "inverse of U": inverse, "y": y},
        parameters={"d": D},
    )


new_projection_is_one = certified(
    "consensus/remark-5.1-projection",
    statement="""For U invertible, W = U^T U and y in E_W, Pi_W = U^{-1} (I - U y y^T U^T) is a projection to T_y E_W.

    Read: a linear map onto the tangent space that fixes tangent vectors.
    """,
    trial=partial(_projection_trial, kind="printed"),
    num_trials=8,
    note="it maps onto the tangent space, but does not fix tangent vectors unless U = I; the remark needs no more; no "
    "control: the corrected claim is measured by the same function",
)


new_projection_after_the_value = certified(
    "consensus/remark-5.1-projection/corrected",
    statement="U^{-1} (I - U y y^T U^T) U is a projection to T_y E_W. Added: the factor U, with which (20) applies it.",
    trial=partial(_projection_trial, kind="after the value"),
    control=partial(_projection_trial, kind="printed"),  # Without the factor U.
    num_trials=16,
)


new_projection_has_tangent_images = certified(
    "consensus/remark-5.1-projection/onto",
    statement="Read: Pi_W maps R^d onto the tangent space; it need not be idempotent.",
    trial=partial(_projection_trial, kind="printed", idempotent=False),
    control=partial(_projection_trial, kind="sphere", idempotent=False),  # The projection of the sphere, I - y y^T.
    variant="reading",
    num_trials=16,
)


def _symmetric_cascade_trial(key: Key, sign: int) -> Trial:
    """Compare (23) and (24), exactly, with (21) for token i = N; U = Q diag Q with a rational reflection Q."""
    a, b, c, d = jax.random.split(key, 4)
    u = rational_unit(a, D)
    Q = identity(D) - 2 * np.outer(u, u)
    drop = rational_weights(b, D)
    values = np.array([drop[0], -drop[1], -drop[1] - drop[2]], object)  # simple top, positive; |U| = max |value|
    U, v = Q @ np.diag(values) @ Q, Q[:, 0]
    y, raw = _units(c, N), rational_weights(d, N)
    alpha = raw / (2 * sum(raw))  # rows of (14) sum to 1 / sqrt(d) <= 1
    yi, zero = y[-1], matrix(np.zeros(D, int))
    field = sum((alpha[j] * (U @ y[j] - (yi @ U @ y[j]) * yi) for j in range(N)), zero)
    lam, b_i, e = values[0], v @ yi, y - v
    g = sum((alpha[j] * ((lam * v - sign * b_i * (U @ yi)) @ e[j]) for j in range(N - 1)), Fraction(0))
    slope = sum(alpha[:-1]) * lam * (1 - b_i * b_i) + alpha[-1] * (lam - yi @ U @ yi) * b_i + g
    # (24) squared, term by term: |g| <= C_2 sum |e_j| follows from it with c_2 = 1 <= exp(2 K^2 b)
    norm = max(abs(w) for w in values)
    terms = [
        (alpha[j] * ((lam * v - b_i * (U @ yi)) @ e[j])) ** 2 <= (lam + norm) ** 2 * (e[j] @ e[j]) for j in range(N - 1)
    ]
    P = rational_matrix(jax.random.fold_in(key, 7), D, D).astype(float) / 4
    x, top = y.astype(float), v.astype(float)
    flow = causal_symmetric_flow(P, U.astype(float))
    ships = _printed_slopes(x, P, U.astype(float), top, float(lam), sign)
    return Trial(
        hypotheses=(
            holds(
                "lambda > 0 is the simple top eigenvalue of v",
                lam > 0 and all(U @ v == lam * v) and max(values[1:]) < lam,
            ),
            holds("tokens are on the sphere, exactly", all(w @ w == 1 for w in y)),
        ),
        conclusions=(
            holds("(23) is the derivative of v^T y_i", v @ field == slope),
            holds("every term of g satisfies (24)", all(terms)),
            agrees("the derivative of every v^T y_i that ships", flow.vector_field(0.3, jnp.asarray(x)) @ top, ships),
        ),
        witness={"U": U, "v": v, "y": y, "alpha": alpha},
        parameters={"n": N, "d": D, "heads": 1},
    )


def _printed_slopes(x: np.ndarray, P: np.ndarray, U: np.ndarray, v: np.ndarray, lam: float, sign: int) -> np.ndarray:
    """Return the right-hand side of (23) for every token, with the printed weights."""
    alpha, b, e = printed_weights(x, P, before), x @ v, x - v
    slopes = []
    for i in range(len(x)):
        g = sum(alpha[i, j] * (lam * v - sign * b[i] * (U @ x[i])) @ e[j] for j in range(i))
        own = alpha[i, i] * (lam - x[i] @ U @ x[i]) * b[i]
        slopes.append(sum(alpha[i, :i]) * lam * (1 - b[i] ** 2) + own + g)
    return np.array(slopes)


top_coordinate_is_rewritten = certified(
    "consensus/equation-23-24",
    statement="b_i = v^T y_i satisfies (23) under (21), and |g(t, e)| <= C_2 sum_{j<i} |e_j| with C_2 = c_2 (lambda + "
    "|U|).",
    trial=partial(_symmetric_cascade_trial, sign=1),
    control=partial(_symmetric_cascade_trial, sign=-1),  # The second term of g with the opposite sign.
    num_trials=16,
    note="with c_2 = exp(2 K^2 b) >= 1 of Lemma 4.1; c_2 = 1 already bounds the causal weights",
)
