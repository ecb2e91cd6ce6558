"""Claims of Section 3: attention with symmetric P as a gradient field, and convergence of its flow (8)."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.printed_attention import (
    printed_field,
    printed_metric_factors,
    printed_output,
    printed_potential,
)
from analysis.claims.consensus.instances.sizes import SIZES, number_of_tokens, shape_of_tokens
from analysis.claims.rational_instances import (
    factor_and_points,
    identity,
    matrix,
    on_ellipsoid,
    rational_matrix,
    rational_unit,
    tangent_part,
)
from analysis.dynamics.linearisation import eigenvalues, tangent_basis, tangent_jacobian
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.tokens.energies import consensus_potential, consensus_potential_gradient, metric_factors, rate_along
from dynsim._core.types import Key, Scalar, Tokens
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.spaces import AbstractSpace, Ellipsoid, Sphere
from dynsim.systems.gradient import GradientFlow
from dynsim.systems.tokens.flow import TokenFlow, gradient_token_flow

N, D = 4, 3
CASES = (1, 2, 4)


def _size(key: Key, sizes: tuple[int, ...] = CASES) -> int:
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


EXCEPTIONAL = ("an antipodal split", "symmetric about the origin")
STARTS = ("random", "two places", "near an antipodal split", *EXCEPTIONAL)


def start(name: str, key: Key, space: AbstractSpace, shape: tuple[int, int]) -> Tokens:
    """Return n tokens in dimension d, n = 1 or even: random, or hard for convergence.

    Tokens at two places, in equal numbers, move like a system of two tokens. Tokens that are symmetric about the origin
    stay so, and their limit is a saddle; an antipodal split is a saddle; near one the field is small for long.
    """
    x = space.sample(key, shape)
    n, half = len(x), (len(x) + 1) // 2
    if name == "random":
        return x
    if name == "two places":
        return x[jnp.arange(n) % 2]
    split = x[:1] * jnp.where(jnp.arange(n) < half, 1.0, -1.0)[:, None]
    if name == "an antipodal split":
        return split
    if name == "near an antipodal split":
        return space.project(split + 1e-3 * x)
    return jnp.concatenate([x[:half], -x[:half]])[:n]


def _times(name: str) -> np.ndarray:
    """Return nine times; rounding errors have not yet led an exceptional start away from its saddle at the last."""
    return np.linspace(0.0, 120.0 if name in EXCEPTIONAL else 320.0, 9)


def _drawn(key: Key) -> str:
    return STARTS[int(jax.random.randint(jax.random.fold_in(key, 5), (), 0, len(STARTS)))]


def _squared_gradient(flow: TokenFlow, x: Tokens, P: jax.Array) -> Scalar:
    """Return |Y_P|^2 for the metric (9)."""
    Y = flow.vector_field(0.0, x)
    return jnp.sum(metric_factors(x, P) * jnp.sum(Y * (Y @ P), axis=1))


def _descent_trial(key: Key, integrator: AbstractIntegrator, name: str, space: AbstractSpace | None = None) -> Trial:
    """Measure V_P and its gradient along a trajectory, on the ellipsoid of P if no other `space` is given."""
    a, b = jax.random.split(key)
    n, d = shape_of_tokens(key) if space is None else (N, D)
    P = jnp.asarray(definite(a, d))
    flow = TokenFlow(P, space=space or gradient_token_flow(P).space)
    y0 = start(name, b, flow.space, (n, d))
    path = simulate(flow, y0, _times(name), integrator=integrator)
    energy = lambda x: consensus_potential(x, P)
    values = np.asarray(path.along(energy))
    squares = np.asarray(path.along(lambda x: _squared_gradient(flow, x, P)))
    rates = np.asarray(path.along(lambda x: rate_along(flow, 0.0, x, energy)))
    size = 1 + np.max(np.abs(values))
    return Trial(
        hypotheses=(
            at_least("smallest eigenvalue of P", np.linalg.eigvalsh(P)[0], 0.0, tolerance=ROUNDING),
            at_most("distance of the tokens from their space", flow.space.defect(y0), ROUNDING, tolerance=0.0),
        ),
        conclusions=(
            at_most("dV_P/dt + |grad V_P|^2", np.max(np.abs(rates + squares)), 0.0, tolerance=ROUNDING * size),
            at_most("increase of V_P", np.max(np.diff(values)), 0.0, tolerance=SOLVER),
            at_most("|grad V_P| at the last time", np.sqrt(squares[-1]), 1e-3, tolerance=SOLVER),
            at_most("the same, against half of it at half the time", squares[-1], squares[4] / 4, tolerance=SOLVER),
        ),
        witness={"P": np.asarray(P), "y0": np.asarray(y0)},
        parameters={"n": n, "d": d, "start": name},
    )


trajectories_reach_the_critical_set = claim(
    "consensus/lemma-3.3",
    statement="""Every trajectory of (8) converges to the critical set of V_P.

    Read, with the proof: dV_P/dt = -|grad V_P|^2, and grad V_P tends to zero, measured at two times.
    """,
    trial=lambda key, integrator: _descent_trial(key, integrator, _drawn(key)),
    # Tokens on the sphere in place of the ellipsoid of P.
    control=lambda key, integrator: _descent_trial(key, integrator, "random", Sphere()),
    num_trials=16,
)


def _limit_trial(key: Key, integrator: AbstractIntegrator, name: str, turning: float) -> Trial:
    """Measure the motion in the second half of the time, for U = I + `turning` J with a skew-symmetric J in a plane."""
    a, b = jax.random.split(key)
    n, d = (N, D) if turning else shape_of_tokens(key)
    P = definite(a, d)
    model = gradient_token_flow(P)
    U = np.eye(d)
    U[:2, :2] += turning * SKEW_SYMMETRIC
    flow = TokenFlow(P, U, space=model.space)
    y0 = start(name, b, flow.space, (n, d))
    path = simulate(flow, y0, _times(name), integrator=integrator)
    speeds = path.along(lambda x: jnp.max(jnp.linalg.norm(flow.vector_field(0.0, x), axis=1)))
    late = jnp.max(jnp.linalg.norm(path.ys[4:] - path.final[None], axis=-1), axis=1)
    return Trial(
        hypotheses=(
            at_least("smallest eigenvalue of P", np.linalg.eigvalsh(P)[0], 0.0, tolerance=ROUNDING),
            at_most("distance of the tokens from the ellipsoid", flow.space.defect(y0), ROUNDING, tolerance=0.0),
        ),
        conclusions=(
            agrees("the field that ships", flow.vector_field(0.0, y0), printed_field(y0, P[None], U[None], P)),
            at_most("distance from the last state after half the time", late[0], 1e-2, tolerance=SOLVER),
            at_most("the same after three quarters, against half of that", late[2], late[0] / 2, tolerance=SOLVER),
            at_most("largest speed of a token at the last time", speeds[-1], 1e-3, tolerance=SOLVER),
        ),
        witness={"P": P, "y0": np.asarray(y0)},
        parameters={"n": n, "d": d, "start": name},
    )


SKEW_SYMMETRIC = np.array([[0.0, -1.0], [1.0, 0.0]])


trajectories_converge_to_an_equilibrium = claim(
    "consensus/theorem-3.2",
    statement="""Every trajectory of (8) converges to one equilibrium.

    Read: in the second half of the time the state moves little, and less in the last quarter, and the field tends to
    zero. The theorem holds because V_P is analytic, by the inequality of `theorem-3.2-lojasiewicz/corrected`, not by
    the one in the proof.
    """,
    trial=lambda key, integrator: _limit_trial(key, integrator, _drawn(key), 0.0),
    # The value matrix I + J/4 with a skew-symmetric J, for which tokens reach consensus but do not come to rest.
    control=partial(_limit_trial, name="random", turning=0.25),
    num_trials=16,
)


@certified(
    "consensus/theorem-3.2-lojasiewicz",
    num_trials=4,
    note="no control: at an equilibrium the right-hand side is zero for every constant; the corrected inequality, "
    "measured at tokens that approach such a point, is its positive case",
)
def printed_lojasiewicz_inequality(key: Key) -> Trial:
    """There is lambda > 0 with |V_P| <= lambda |grad V_P| on all of (E_P)^l.

    Evaluated for P = I at rational consensus points.
    """
    n = number_of_tokens(key)
    u = rational_unit(key, D)
    eye = identity(D)
    # at y_1 = ... = y_l = u the exponentials are all e: the field is a multiple of u - (u.u) u, and V = -l^2 e / 2
    field = tangent_part(eye, u, u)
    coefficient = -Fraction(n * n, 2)
    x = jnp.asarray(np.tile(u.astype(float), (n, 1)))
    return Trial(
        hypotheses=(
            holds("u is a unit vector exactly", sum(u * u) == 1),
            agrees("V as it ships", consensus_potential(x, jnp.eye(D)), float(coefficient) * np.e),
            agrees("the field that ships", gradient_token_flow(np.eye(D)).vector_field(0.0, x), np.zeros((n, D))),
        ),
        conclusions=(holds("grad V is not zero where V is not", any(f != 0 for f in field) or coefficient == 0),),
        witness={"P": eye, "tokens": np.stack([u] * n), "V / e": coefficient},
        parameters={"n": n, "d": D},
    )


def _lojasiewicz_trial(key: Key, n: int, ahead: int, printed: bool) -> Trial:
    """Measure the ratio |V - V*|^(1/2) / |grad V|, or |V| / |grad V| if `printed`, at tokens that approach a point.

    The point has `ahead` of n >= 2 tokens at one place and the others at its antipode. Where the Hessian in the metric
    (9) has the eigenvalues mu on the complement of its kernel, the first ratio is at most (2 min |mu|)^(-1/2) in the
    limit; at consensus every mu is 1 / sqrt(d), and it is equal to that.
    """
    a, b, c = jax.random.split(key, 3)
    P = jnp.asarray(definite(a))
    flow = gradient_token_flow(P)
    signs = jnp.where(jnp.arange(n) < ahead, 1.0, -1.0)
    rest = signs[:, None] * flow.space.sample(b, (1, D))
    noise = flow.space.tangent(rest, jax.random.normal(c, (n, D)))
    least = -(ahead**2 + (n - ahead) ** 2) * np.e / 2 - ahead * (n - ahead) / np.e
    ratios = []
    for size in (0.1, 0.01, 0.001):
        x = flow.space.project(rest + size * noise)
        V, slope = float(consensus_potential(x, P)), float(jnp.sqrt(_squared_gradient(flow, x, P)))
        ratios.append(abs(V) / slope if printed else np.sqrt(abs(V - least)) / slope)
    values = np.abs(eigenvalues(tangent_jacobian(flow, rest)))
    sharp = (2 * np.min(values[values > 1e-6])) ** -0.5
    limits = [at_most("ratio at the last tokens, over its bound", ratios[-1] / sharp, 1.01, tolerance=SOLVER)]
    if ahead == n:
        limits.append(equal("the same over d^(1/4) / sqrt(2)", ratios[-1] / (D**0.25 / 2**0.5), 1.0, tolerance=1e-3))
    return Trial(
        hypotheses=(
            at_least("smallest eigenvalue of P", np.linalg.eigvalsh(P)[0], 0.0, tolerance=ROUNDING),
            agrees("rest at the point", flow.vector_field(0.0, rest), np.zeros((n, D))),
        ),
        conclusions=(
            agrees("the value V* as it ships", consensus_potential(rest, P), least),
            at_most("growth of the ratio towards the point", max(ratios) / ratios[0], 4.0, tolerance=SOLVER),
            *limits,
        ),
        witness={"P": np.asarray(P), "point": np.asarray(rest), "noise": np.asarray(noise)},
        parameters={"n": n, "d": D, "tokens ahead": ahead},
    )


@claim(
    "consensus/theorem-3.2-lojasiewicz/corrected",
    control=partial(_lojasiewicz_trial, n=N, ahead=N, printed=True),  # V in place of V - V*, as printed.
    num_trials=12,
)
def lojasiewicz_inequality(key: Key) -> Trial:
    """Near an equilibrium with value V*, |V_P - V*|^theta <= lambda |grad V_P| with some theta in [1/2, 1).

    Added: the value V* at the equilibrium and the exponent. Measured at consensus points and antipodal splits with
    theta = 1/2 and the least lambda, which is d^(1/4) / sqrt(2) at consensus.
    """
    n = number_of_tokens(key, SIZES[1:])
    return _lojasiewicz_trial(key, n, n - int(jax.random.randint(key, (), 0, 3 if n > 2 else 2)), False)
