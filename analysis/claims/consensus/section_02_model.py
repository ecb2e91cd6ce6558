"""Claims of Section 2: the tangent map of the projection, the matrix form (5) of the layer (6), and the flow (7)."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.printed_attention import (
    before,
    beside,
    everything,
    printed_field,
    printed_output,
    rational_instance,
    retracted,
)
from analysis.claims.rational_instances import (
    identity,
    integers,
    matrix,
    on_ellipsoid,
    rational_matrix,
    rational_weights,
    tangent_part,
)
from analysis.dynamics.linearisation import tangent_basis
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.spaces import Ellipsoid, Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import LayerMap, TokenFlow
from dynsim.systems.tokens.interactions.masks import Causal, Full, Window

N, D = 4, 3
SIZES = (1, 2, 4)
MASKS = (("full", Full(), everything), ("causal", Causal(), before), ("window", Window(2), beside))


def _tangent_map_trial(key: Key, metric_of: str) -> Trial:
    """Compare (3) with the exact derivative of x / |x|_W at a rational point of rational norm, by computer algebra."""
    import sympy as sp

    W, y = on_ellipsoid(key, D)
    norm = 1 + abs(rational_matrix(jax.random.fold_in(key, 7), 1)[0])
    X = rational_matrix(jax.random.fold_in(key, 8), D)
    number = lambda v: sp.Rational(*v.as_integer_ratio())
    rational = lambda a: sp.Matrix(a.shape[0], a.size // a.shape[0], [number(v) for v in a.flat])
    s, S, T = sp.Symbol("s"), rational(W), rational(W if metric_of == "W" else identity(D))
    x = rational(norm * y)
    moved = x + s * rational(X)
    derivative = (moved / sp.sqrt((moved.T * S * moved)[0])).diff(s).subs(s, 0)
    printed = (rational(X) - x * (x.T * T * rational(X))[0] / number(norm) ** 2) / sp.sqrt((x.T * S * x)[0])
    tangents = [tangent_part(W, y, np.eye(D, dtype=int)[k]) for k in range(D)]
    rank = sp.Matrix([[number(v) for v in t] for t in tangents]).rank()
    return Trial(
        hypotheses=(holds("y^T W y = 1 exactly", y @ W @ y == 1),),
        conclusions=(
            holds("the derivative equals the printed map", (derivative - printed).is_zero_matrix),
            holds("its images satisfy y^T W Y = 0", all(y @ W @ t == 0 for t in tangents)),
            holds("its images span that hyperplane", rank == D - 1),
            *_shipped_projection(W, y, norm, X),
        ),
        witness={"W": W, "x": norm * y, "X": X},
        parameters={"d": D},
    )


def _shipped_projection(W: Exact, y: Exact, norm: Fraction, X: Exact) -> tuple[Measurement, ...]:
    """Compare the ellipsoid that ships, and the sphere, with (2) and (3) at x = norm y, y^T W y = 1."""
    at, along = jnp.asarray(y.astype(float)), jnp.asarray(X.astype(float))
    space, sphere = Ellipsoid(W.astype(float)), Sphere()
    moved = jax.jvp(space.project, (float(norm) * at,), (along,))[1]
    basis = tangent_basis(space, at)
    u = at / jnp.linalg.norm(at)
    lifted = FunctionFlow(lambda t, x: along, space)
    return (
        agrees("pi_W(x) as it ships", space.project(float(norm) * at), y),
        agrees("the derivative of pi_W as it ships", moved, tangent_part(W, y, X) / norm),
        agrees("the tangent part as it ships", space.tangent(at, along), tangent_part(W, y, X)),
        agrees(
            "the extension of a field along fibres", lifted.vector_field(0.0, float(norm) * at), tangent_part(W, y, X)
        ),
        agrees("W-orthogonality of the basis of the tangent space as it ships", basis.T @ (W @ y).astype(float), 0),
        holds("this basis has d - 1 vectors", basis.shape == (len(y), len(y) - 1)),
        agrees("its inner products", basis.T @ basis, np.eye(basis.shape[1])),
        agrees("the tangent part on the sphere as it ships", sphere.tangent(u, along), along - (u @ along) * u),
        agrees("pi on the sphere as it ships", sphere.project(at), u),
        agrees("the defect of a point, and of another", [space.defect(p * at[None]) for p in (1, 1.5)], [0, 0.5]),
        agrees("that on the sphere", sphere.defect(jnp.stack([u, 0.75 * u])), 0.25),
    )


tangent_map_of_the_projection = certified(
    "consensus/equation-3",
    statement="T_x pi_W X = |x|_W^{-1} (I - x x^T W |x|_W^{-2}) X for x != 0, and T_y E_W = {Y : y^T W Y = 0}.",
    trial=partial(_tangent_map_trial, metric_of="W"),
    control=partial(_tangent_map_trial, metric_of="I"),  # I in place of W inside the bracket.
    num_trials=8,
)


def _matrix_form_trial(key: Key, side: str) -> Trial:
    """Compare (5) and (6), exactly: K^T Q is ln 2 times an integer matrix, so that exponentials are powers of two.

    Two heads. Tokens are signed coordinate vectors, on an ellipsoid whose W has a unit diagonal; `side` is where the
    diagonal matrices D stand. The values are V = V'/4, and the layer that ships has V' and the step 1/4.
    """
    a, b, c, e = jax.random.split(key, 4)
    d = 4  # so that sqrt(d) is rational
    axes, signs = (integers(k, (N,), 0, top) for k, top in ((a, d), (b, 2)))
    y = matrix((2 * signs[:, None] - 1) * np.eye(d, dtype=int)[axes])  # tokens are rows here, columns in the paper
    exponents = integers(c, (2, d, d), -3, 4)
    W_h, V = rational_matrix(jax.random.fold_in(key, 3), 2, 2, d, d)
    upper = np.triu(integers(e, (d, d), -6, 7), 1)
    W = identity(d) + matrix(upper + upper.T) / 24
    before, after = y.T.copy(), y.T.copy()
    for h in range(2):
        R = y @ matrix(exponents[h]) @ y.T
        E = np.array([[Fraction(2) ** int(r) for r in row] for row in R], object)
        # D_ii = 1 / (sqrt(d) sum_l exp(R_li))
        weights = np.diag(matrix([Fraction(1, 2) / sum(E[:, i]) for i in range(N)]))
        before = before + W_h[h] @ V[h] / 4 @ y.T @ (weights @ E if side == "left" else E @ weights)
        layer = [W_h[h] @ V[h] / 4 @ sum(weights[i, i] * E[j, i] * y[j] for j in range(N)) for i in range(N)]
        after = after + np.array(layer).T
    # two vectors have the same projection to an ellipsoid if and only if one is a positive multiple of the other
    parallel = lambda u, v: all(u[k] * v[m] == u[m] * v[k] for k in range(d) for m in range(k)) and u @ v > 0
    same = all(parallel(before[:, i], after[:, i]) for i in range(N))
    nonzero = all(any(v != 0 for v in M[:, i]) for M in (before, after) for i in range(N))
    P, U = math.log(2) * exponents.transpose(0, 2, 1), (W_h @ V).astype(float)  # P = Q^T K
    shipped = LayerMap(TokenFlow(P, U, space=Ellipsoid(W.astype(float))), 0.25).step(0, jnp.asarray(y.astype(float)))
    printed = retracted(after.T.astype(float), W)
    return Trial(
        hypotheses=(
            holds("tokens are on the ellipsoid of W", all(row @ W @ row == 1 for row in y)),
            holds("no token is mapped to zero", nonzero),
        ),
        conclusions=(
            holds("(5) and (6) map every token to the same point", same),
            agrees("the layer that ships, against (6)", shipped, printed),
        ),
        witness={
            "tokens": y,
            "W": W,
            "W_h V_h": np.stack([W_h[h] @ V[h] / 4 for h in range(2)]),
            "exponents of two": exponents,
        },
        parameters={"n": N, "d": d, "heads": 2},
    )


@certified(
    "consensus/equation-5",
    num_trials=8,
    note="(4) and (5) normalise by D_jj, j being the index of the key, but (6) by D_ii, i being that of the query; all "
    "that follows uses (6); no control: the corrected claim is measured by the same function",
)
def matrix_form_is_the_layer(key: Key) -> Trial:
    """For all weight matrices and tokens, y(k+1) = pi_W(y + sum_h W_h V_h y D_h exp(y^T K_h^T Q_h y)), (5), is (6).

    D is the diagonal matrix defined below (4), one for each head.
    """
    return _matrix_form_trial(key, "left")


matrix_form_with_the_diagonal_on_the_right = certified(
    "consensus/equation-5/corrected",
    statement="y(k+1) = pi_W(y + sum_h W_h V_h y exp(y^T K_h^T Q_h y) D_h) is (6). Changed: "
    "D_h multiplies from the right.",
    trial=partial(_matrix_form_trial, side="right"),
    control=partial(_matrix_form_trial, side="left"),  # D multiplying from the left, as printed.
    num_trials=8,
)


def _tangency_trial(key: Key, n: int, metric_of: str) -> Trial:
    """Measure y_i^T W Y_i exactly for rational weights; hold the field that ships against (7) at the same tokens."""
    instance = rational_instance(key, n, D)
    W, y, alpha = instance.W, instance.tokens, rational_weights(jax.random.fold_in(key, 1), 2, n, n)
    metric = W if metric_of == "W" else identity(D)
    inner = []
    for i in range(n):
        parts = [alpha[h, i, j] * tangent_part(metric, y[i], instance.U[h] @ y[j]) for h in range(2) for j in range(n)]
        inner.append(y[i] @ W @ sum(parts))
    name, mask, sees = MASKS[int(jax.random.randint(jax.random.fold_in(key, 2), (), 0, len(MASKS)))]
    flow, x = instance.flow(mask), jnp.asarray(instance.x)
    field = np.asarray(flow.vector_field(0.0, x))
    radial = [instance.x[i] @ W.astype(float) @ field[i] for i in range(n)]
    factors = rational_matrix(jax.random.fold_in(key, 3), 2).astype(float)
    scaled = TokenFlow(flow.query_key, ScaledIdentity(factors, D), space=flow.space, mask=mask)
    expected = printed_field(y, instance.P, factors[:, None, None] * np.eye(D), W, sees)
    return Trial(
        hypotheses=(holds("every token is on the ellipsoid, exactly", all(v @ W @ v == 1 for v in y)),),
        conclusions=(
            holds("y_i^T W Y_i = 0 for every token", all(v == 0 for v in inner)),
            agrees("the field that ships, against (7)", field, instance.field(sees)),
            agrees(
                "its heads, not yet tangent", flow.velocity(0.0, x), printed_output(y, instance.P, instance.U, sees)
            ),
            agrees("y_i^T W Y_i of the field that ships, over its size", radial / (1 + np.abs(field).max()), 0),
            agrees("the field that ships for U_h = c_h I, against (7)", scaled.vector_field(0.0, x), expected),
            agrees("the sum of its pulls", np.sum(scaled.pulls(0.0, x), axis=1), expected),
        ),
        witness={"W": W, "y": y, "P": instance.P, "U": instance.U},
        parameters={"n": n, "d": D, "heads": 2, "mask": name},
    )


def _size(key: Key) -> int:
    return SIZES[int(jax.random.randint(key, (), 0, len(SIZES)))]


flow_is_tangent = certified(
    "consensus/equation-7-tangency",
    statement="""The right-hand side of (7) is tangent to (E_W)^l at each of its points: y_i^T W Y_i = 0.

    It is so for any weights alpha, so that rational numbers may replace the exponentials.
    """,
    trial=lambda key: _tangency_trial(key, _size(key), "W"),
    control=partial(_tangency_trial, n=N, metric_of="I"),  # The tangent projection of the sphere.
    num_trials=8,
)
