"""Claims of Section 2: the discrete layer (6), the flow (7), and the approximation of one by the other."""

from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.rational_instances import (
    factor_and_points,
    identity,
    integers,
    matrix,
    on_ellipsoid,
    rational_matrix,
    rational_weights,
    tangent_part,
)
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, at_most, holds
from dynsim._types import Key, Time, Tokens
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.tokens.flow import LayerMap, TokenFlow

N, D = 4, 3
STEP_SIZES = np.array([2.0**-4, 2.0**-6, 2.0**-8])


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
        ),
        witness={"W": W, "x": norm * y, "X": X},
    )


@claim("consensus/equation-3", CONSENSUS.at("Section 2.1", "(3)"), evidence="certified", num_trials=8)
def tangent_map_of_the_projection(key: Key, integrator: AbstractIntegrator) -> Trial:
    """T_x pi_W X = |x|_W^{-1} (I - x x^T W |x|_W^{-2}) X for x != 0, and T_y E_W = {Y : y^T W Y = 0}."""
    return _tangent_map_trial(key, "W")


@tangent_map_of_the_projection.with_control
def tangent_map_of_the_projection(key: Key, integrator: AbstractIntegrator) -> Trial:
    """I in place of W inside the bracket."""
    return _tangent_map_trial(key, "I")


def _matrix_form_trial(key: Key, side: str) -> Trial:
    """Compare (5) and (6), exactly: K^T Q is ln 2 times an integer matrix, so that exponentials are powers of two.

    Tokens are signed coordinate vectors; `side` is where the diagonal matrix D stands.
    """
    a, b, c = jax.random.split(key, 3)
    d = 4  # so that sqrt(d) is rational
    axes, signs = (integers(k, (N,), 0, top) for k, top in ((a, d), (b, 2)))
    y = matrix((2 * signs[:, None] - 1) * np.eye(d, dtype=int)[axes])  # tokens are rows here, columns in the paper
    exponents = integers(c, (d, d), -3, 4)
    R = y @ matrix(exponents) @ y.T
    E = np.array([[Fraction(2) ** int(r) for r in row] for row in R], object)
    weights = np.diag(matrix([Fraction(1, 2) / sum(E[:, i]) for i in range(N)]))  # D_ii = 1 / (sqrt(d) sum_l exp(R_li))
    V = rational_matrix(jax.random.fold_in(key, 3), d, d)
    form = V @ y.T @ (weights @ E if side == "left" else E @ weights)
    layer = np.array([V @ sum(weights[i, i] * E[j, i] * y[j] for j in range(N)) for i in range(N)]).T
    before, after = y.T + form, y.T + layer
    # two vectors have the same projection to an ellipsoid if and only if one is a positive multiple of the other
    parallel = lambda u, v: all(u[k] * v[m] == u[m] * v[k] for k in range(d) for m in range(k)) and u @ v > 0
    same = all(parallel(before[:, i], after[:, i]) for i in range(N))
    nonzero = all(any(v != 0 for v in M[:, i]) for M in (before, after) for i in range(N))
    return Trial(
        hypotheses=(
            holds("tokens are on the sphere", all(row @ row == 1 for row in y)),
            holds("no token is mapped to zero", nonzero),
        ),
        conclusions=(holds("(5) and (6) map every token to the same point", same),),
        witness={"y": y, "exponents of two": exponents, "V": V},
    )


@claim(
    "consensus/equation-5",
    CONSENSUS.at("Section 2.2", "(4), (5), (6)"),
    evidence="certified",
    num_trials=8,
    note="(4) and (5) normalise by D_jj, j being the index of the key, but (6) by D_ii, i being that of the query; all "
    "that follows uses (6); no control: the corrected claim is measured by the same function",
)
def matrix_form_is_the_layer(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For all weight matrices and tokens, y(k+1) = pi_W(y + W V y D exp(y^T K^T Q y)), (5), is equivalent to (6).

    W = I and W_eta = I; D is the diagonal matrix defined below (4).
    """
    return _matrix_form_trial(key, "left")


@claim(
    "consensus/equation-5/corrected",
    CONSENSUS.at("Section 2.2", "(5), (6)"),
    variant="corrected",
    evidence="certified",
    num_trials=8,
)
def matrix_form_with_the_diagonal_on_the_right(key: Key, integrator: AbstractIntegrator) -> Trial:
    """y(k+1) = pi_W(y + W V y exp(y^T K^T Q y) D) is equivalent to (6). Changed: D multiplies from the right."""
    return _matrix_form_trial(key, "right")


@matrix_form_with_the_diagonal_on_the_right.with_control
def matrix_form_with_the_diagonal_on_the_right(key: Key, integrator: AbstractIntegrator) -> Trial:
    """D multiplying from the left, as printed."""
    return _matrix_form_trial(key, "left")


def _errors(flow, layer, x0: jax.Array, integrator: AbstractIntegrator) -> np.ndarray:
    """Return the distance between one layer and the flow over the same time, for every step in `STEP_SIZES`."""
    path = simulate(flow, x0, np.array([0.0, *STEP_SIZES[::-1]]), integrator=integrator)
    ends = path.ys[1:][::-1]
    return np.array([float(jnp.max(jnp.abs(layer(tau) - end))) for tau, end in zip(STEP_SIZES, ends, strict=True)])


def _order_trial(flow, layer, x0: jax.Array, integrator: AbstractIntegrator) -> Trial:
    """Measure that the error over tau^2 stays bounded as tau decreases; it would grow fourfold per step if O(tau)."""
    scaled = _errors(flow, layer, x0, integrator) / STEP_SIZES**2
    slack = 1e-8 / STEP_SIZES[-1] ** 2  # effect of the solver's error on the last quotient
    return Trial(
        hypotheses=(at_most("largest tau", float(STEP_SIZES[0]), 0.1, tolerance=0.0),),
        conclusions=(at_most("error / tau^2 at the smallest tau", scaled[-1], 2 * max(scaled[:-1]), tolerance=slack),),
        witness={"x0": np.asarray(x0), "error / tau^2": scaled},
    )


def _layer_trial(key: Key, integrator: AbstractIntegrator, factor: float) -> Trial:
    a, b, c = jax.random.split(key, 3)
    flow = TokenFlow(jax.random.normal(a, (2, D, D)), jax.random.normal(b, (2, D, D)))
    x0 = flow.space.sample(c, (N, D))
    return _order_trial(flow, lambda tau: LayerMap(flow, factor * tau).step(0, x0), x0, integrator)


@claim(
    "consensus/equation-6-first-order",
    CONSENSUS.at("Section 2.3", "(6), (7)"),
    num_trials=16,
    note="two heads, general P and U, constant over a layer as in (6)",
)
def layer_is_first_order(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With V = tau V', one layer (6) is within O(tau^2) of the flow of (7) over the time tau, for all tokens."""
    return _layer_trial(key, integrator, 1.0)


@layer_is_first_order.with_control
def layer_is_first_order(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A layer with 0.9 times the step."""
    return _layer_trial(key, integrator, 0.9)


def _tangency_trial(key: Key, metric_of: str) -> Trial:
    a, b, c = jax.random.split(key, 3)
    lower, tokens = factor_and_points(a, D, N)
    W = lower @ lower.T
    U, alpha = rational_matrix(b, 2, D, D), rational_weights(c, 2, N, N)
    metric = W if metric_of == "W" else identity(D)
    inner = []
    for i in range(N):
        Y = sum(alpha[h, i, j] * tangent_part(metric, tokens[i], U[h] @ tokens[j]) for h in range(2) for j in range(N))
        inner.append(tokens[i] @ W @ Y)
    return Trial(
        hypotheses=(holds("every token is on the ellipsoid, exactly", all(y @ W @ y == 1 for y in tokens)),),
        conclusions=(holds("y_i^T W Y_i = 0 for every token", all(v == 0 for v in inner)),),
        witness={"W": W, "y": tokens, "U": U},
    )


@claim("consensus/equation-7-tangency", CONSENSUS.at("Section 2.3", "(7)"), evidence="certified", num_trials=8)
def flow_is_tangent(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The right-hand side of (7) is tangent to (E_W)^l at each of its points: y_i^T W Y_i = 0.

    It is so for any weights alpha, so that rational numbers may replace the exponentials.
    """
    return _tangency_trial(key, "W")


@flow_is_tangent.with_control
def flow_is_tangent(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The tangent projection of the sphere."""
    return _tangency_trial(key, "I")


class _AttentionAndPerceptron(eqx.Module):
    """The sum of attention and perceptron, before the projection to the tangent space."""

    attention: TokenFlow
    inner: Array
    outer: Array
    share: Array

    def __call__(self, t: Time, x: Tokens) -> Tokens:
        return self.attention.velocity(t, x) + self.share * self.perceptron(x)

    def perceptron(self, x: Tokens) -> Tokens:
        return jnp.tanh(x @ self.inner) @ self.outer.T


def _feedforward_trial(key: Key, integrator: AbstractIntegrator, share: float) -> Trial:
    a, b, c, d = jax.random.split(key, 4)
    attention = TokenFlow(jax.random.normal(a, (2, D, D)), jax.random.normal(b, (2, D, D)))
    inner, outer = jax.random.normal(c, (2, D, 2 * D))
    both = _AttentionAndPerceptron(attention, inner, outer, jnp.asarray(share))
    space = Sphere()

    def layer(tau: float) -> Tokens:
        y = LayerMap(attention, tau).step(0, x0)
        return space.project(y + tau * both.perceptron(y))

    x0 = space.sample(d, (N, D))
    return _order_trial(FunctionFlow(both, space), layer, x0, integrator)


@claim(
    "consensus/claim-feedforward-sum",
    CONSENSUS.at("Section 2.3"),
    num_trials=16,
    note="the output of the perceptron is scaled by tau like V; without this scaling layers do not converge to a flow",
)
def feedforward_adds_a_field(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A layer of attention, normalisation, perceptron, normalisation is within O(tau^2) of the flow of Y + W.

    Y is (7), W the vector field of the perceptron; both sublayers have skip connections. Sampled: a tanh perceptron of
    hidden width 2 d.
    """
    return _feedforward_trial(key, integrator, 1.0)


@feedforward_adds_a_field.with_control
def feedforward_adds_a_field(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The flow of Y + W / 2."""
    return _feedforward_trial(key, integrator, 0.5)
