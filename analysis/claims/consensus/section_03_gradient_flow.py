"""Claims of Sections 3.1 and 3.2: attention with P symmetric positive definite as a gradient field."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.printed_attention import (
    printed_metric_factors,
    printed_output,
    printed_potential,
)
from analysis.claims.rational_instances import (
    factor_and_points,
    identity,
    matrix,
    on_ellipsoid,
    rational_matrix,
    tangent_part,
)
from analysis.dynamics.linearisation import tangent_basis
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, equal, holds
from analysis.tokens.energies import consensus_potential, consensus_potential_gradient, metric_factors
from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.spaces import Ellipsoid
from dynsim.systems.gradient import GradientFlow
from dynsim.systems.tokens.flow import TokenFlow, gradient_token_flow

D = 3
SIZES = (1, 2, 4)


def _size(key: Key, sizes: tuple[int, ...] = SIZES) -> int:
    return sizes[int(jax.random.randint(key, (), 0, len(sizes)))]


def _projection_trial(key: Key, n: int, metric_of: str) -> Trial:
    """Compare the tangent map of pi_P with the orthogonal projection at n rational tokens."""
    lower, y = factor_and_points(key, D, n)
    P = lower @ lower.T
    metric = P if metric_of == "P" else identity(D)
    X = rational_matrix(jax.random.fold_in(key, 1), n, D)
    parts = [tangent_part(metric, y[i], X[i]) for i in range(n)]
    unit = matrix(np.eye(D, dtype=int))
    space, at = Ellipsoid(P.astype(float)), jnp.asarray(y.astype(float))
    return Trial(
        hypotheses=(holds("y_i^T P y_i = 1 exactly", all(v @ P @ v == 1 for v in y)),),
        conclusions=(
            holds("the projection is tangent", all(y[i] @ P @ parts[i] == 0 for i in range(n))),
            holds(
                "the remainder is orthogonal to every tangent vector",
                all((X[i] - parts[i]) @ P @ tangent_part(P, y[i], e) == 0 for i in range(n) for e in unit),
            ),
            agrees("the projection that ships", space.tangent(at, jnp.asarray(X.astype(float))), np.stack(parts)),
            agrees("Z_i as they ship", metric_factors(at, space.matrix), printed_metric_factors(y, P)),
        ),
        witness={"P": P, "y": y},
        parameters={"n": n, "d": D},
    )


@certified("consensus/lemma-3.1", num_trials=8)
def projection_is_orthogonal(key: Key) -> Trial:
    """For every P symmetric positive definite, the orthogonal projection for the metric (9) is the tangent map of pi_P.

    The factor Z_i of the metric is a positive number for each token and cancels.
    """
    return _projection_trial(key, _size(key), "P")


@projection_is_orthogonal.with_control
def projection_is_orthogonal(key: Key) -> Trial:
    """The tangent map of the projection to the sphere in place of pi_P."""
    return _projection_trial(key, 4, "I")


def _gradient_trial(key: Key, factor: int) -> Trial:
    """Compare both sides exactly: times the factor Z_k of the metric they are sums of exponentials of rationals."""
    import sympy as sp

    n, d = _size(key, (1, 2, 3)), 2
    P = on_ellipsoid(key, d)[0]
    symbols = sp.symbols(f"x0:{n * d}")
    x = sp.Matrix(n, d, symbols)
    S = sp.Matrix(d, d, [sp.Rational(p.numerator, p.denominator) for p in P.ravel()])
    terms = [sp.exp((x.row(i) * S * x.row(j).T)[0]) for i in range(n) for j in range(n)]
    V = sp.Rational(-1, factor) * sp.Add(*terms)
    values = rational_matrix(jax.random.fold_in(key, 2), n, d)
    at = {s: sp.Rational(v.numerator, v.denominator) for s, v in zip(symbols, values.ravel(), strict=True)}
    left, slopes = [], np.empty((n, d))
    for k in range(n):
        dV = sp.Matrix([sp.diff(V, x[k, c]) for c in range(d)])
        ZX = sum((sp.exp((x.row(k) * S * x.row(j).T)[0]) * x.row(j).T for j in range(n)), sp.zeros(d, 1))
        left.extend(sp.expand(sp.powsimp((S.inv() * dV + ZX).subs(at).applyfunc(sp.expand)[c])) for c in range(d))
        slopes[k] = [float(e) for e in dV.subs(at)]
    return Trial(
        hypotheses=(holds("P is positive definite", P[0, 0] > 0 and P[0, 0] * P[1, 1] > P[0, 1] ** 2),),
        conclusions=(
            holds("Z_k (grad_g V + X_P)_k = 0 for every token", all(e == 0 for e in left)),
            *_shipped_gradient(P, values, float(V.subs(at)), slopes),
        ),
        witness={"P": P, "x": values},
        parameters={"n": n, "d": d},
    )


def _shipped_gradient(P: Exact, values: Exact, energy: float, slopes: np.ndarray) -> tuple[Measurement, ...]:
    """Compare V, its gradient, Z_k and X_P as they ship with `energy`, `slopes` and the printed sums."""
    x, S = jnp.asarray(values.astype(float)), jnp.asarray(P.astype(float))
    field, Z = TokenFlow(S).velocity(0.0, x), metric_factors(x, S)
    descent = GradientFlow(lambda y: consensus_potential(y, S)).velocity(0.0, x)
    return (
        agrees("V as it ships", consensus_potential(x, S), energy),
        agrees("V as printed", consensus_potential(x, S), printed_potential(values, P)),
        agrees("its gradient in closed form as it ships", consensus_potential_gradient(x, S), slopes),
        agrees("minus its gradient by differentiation as it ships", descent, -slopes),
        agrees("Z_k as they ship", Z, printed_metric_factors(values, P)),
        agrees("X_P as it ships", field, printed_output(values, P[None], identity(len(P))[None])),
        agrees("Z_k P (X_P)_k as they ship, against minus the gradient", Z[:, None] * (field @ S), -slopes),
    )


@certified("consensus/lemma-3.2", num_trials=4)
def attention_is_a_gradient(key: Key) -> Trial:
    """grad_g V = -X_P on the ambient space for V = -1/2 sum_ij exp(x_i^T P x_j), P symmetric positive definite.

    The derivative is taken by computer algebra and evaluated at rational tokens that lie on no ellipsoid.
    """
    return _gradient_trial(key, 2)


@attention_is_a_gradient.with_control
def attention_is_a_gradient(key: Key) -> Trial:
    """V without its factor 1/2."""
    return _gradient_trial(key, 1)


def definite(key: Key, d: int = D) -> np.ndarray:
    """Return a random symmetric matrix whose eigenvalues are at least 0.3, shape (d, d)."""
    A = np.asarray(jax.random.normal(key, (d, d)))
    return A @ A.T / d + 0.3 * np.eye(d)


def _restricted_gradient_trial(key: Key, n: int, metric_of: str) -> Trial:
    """Compare dV_P(Z) and -<Y_P, Z> for every Z of a basis of the tangent space at n tokens."""
    a, b = jax.random.split(key)
    P = definite(a)
    flow = gradient_token_flow(P)
    y = flow.space.sample(b, (n, D))
    basis = tangent_basis(flow.space, y).reshape(n, D, -1)
    descent = GradientFlow(lambda x: consensus_potential(x, jnp.asarray(P)), flow.space).velocity(0.0, y)
    change = -np.einsum("id,idk->k", np.asarray(descent), basis)
    metric = P if metric_of == "P" else np.eye(D)
    dual = np.asarray(metric_factors(y, jnp.asarray(P)))[:, None] * (np.asarray(flow.vector_field(0.0, y)) @ metric)
    gap = np.max(np.abs(change + np.einsum("id,idk->k", dual, basis)))
    scale = 1 + np.max(np.abs(np.asarray(descent)))
    return Trial(
        hypotheses=(at_least("smallest eigenvalue of P", np.linalg.eigvalsh(P)[0], 0.0, tolerance=ROUNDING),),
        conclusions=(
            holds("the basis has n (d - 1) vectors", basis.shape[-1] == n * (D - 1)),
            equal("largest dV(Z) + <Y_P, Z> of a basis", gap, 0.0, tolerance=ROUNDING * scale),
        ),
        witness={"P": P, "y": np.asarray(y)},
        parameters={"n": n, "d": D},
    )


flow_is_a_gradient_flow = claim(
    "consensus/theorem-3.1",
    statement="grad_{g_P} V_P = -Y_P on (E_P)^l: dV_P(Z) = -<Y_P, Z>_{g_P} for every tangent Z.",
    trial=lambda key: _restricted_gradient_trial(key, _size(key), "P"),
    control=partial(_restricted_gradient_trial, n=4, metric_of="I"),  # The metric with I in place of P.
    num_trials=16,
)
