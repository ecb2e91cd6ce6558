"""Claims of Theorem 6.1: causal attention with a symmetric value matrix U."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.hemispheres import chord
from analysis.claims.consensus.instances.modulated_heads import (
    BOUND,
    Heads,
    has_the_printed_field,
    modulated_heads,
    printed_heads,
    query_key_bound,
    stored,
)
from analysis.claims.consensus.instances.sizes import number_of_tokens
from analysis.claims.rational_instances import integers
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, holds
from analysis.tokens.consensus import distance_to_point
from analysis.tokens.hemispheres import margin_along
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import causal_symmetric_flow
from dynsim.systems.tokens.scalar_driven import OjaFlow

N, D = 4, 3
TIMES = 61


def _value(key: Key, *, positive: bool, simple: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a random symmetric U, its eigenvalues from the top, and its eigenvectors.

    The top eigenvalue is in (1/2, 1), the others are between 1/2 and 5/2 below it; unless it is `simple`, the second
    one is equal to it; unless `positive`, they are -0.3, -0.35 and -0.9.
    """
    a, b, c = jax.random.split(key, 3)
    Q = np.linalg.qr(np.asarray(jax.random.normal(a, (D, D))))[0]
    top = float(jax.random.uniform(b, (), minval=0.5, maxval=1.0))
    rest = np.sort(top - 0.5 - 2 * np.asarray(jax.random.uniform(c, (D - 1,))))[::-1]
    values = np.array([top, *rest]) if positive else np.array([-0.3, -0.35, -0.9])
    values[1] = values[1] if simple else values[0]
    U = Q @ np.diag(values) @ Q.T
    return (U + U.T) / 2, values, Q


def _hypotheses(
    P: Heads, U: np.ndarray, margin: jax.Array, *, positive: bool, simple: bool = True
) -> tuple[Measurement, ...]:
    values = np.linalg.eigvalsh(U)
    top = at_least("top eigenvalue of U", values[-1], 0.0, tolerance=ROUNDING)
    gap = at_least("spectral gap below the top eigenvalue of U", values[-1] - values[-2], 0.0, tolerance=ROUNDING)
    return (
        *((gap,) if simple else ()),
        at_most("sup |P|", query_key_bound(P), BOUND, tolerance=ROUNDING),
        at_least("least initial v^T y_i", margin, 0.0, tolerance=ROUNDING),
        *((top,) if positive else ()),
    )


def _first_token(path: Trajectory, U: np.ndarray) -> Measurement:
    """Measure token 1 against the closed form of (22) with the rate alpha_11 = 1 / sqrt(d)."""
    oja = OjaFlow(U, 1 / math.sqrt(D))
    expected = np.stack([oja.solution(t, path.ys[0, 0]) for t in path.ts[:: TIMES // 6]])
    gap = float(np.max(np.abs(np.asarray(path.ys[:: TIMES // 6, 0]) - expected)))
    return chord("error of token 1, against the closed form of (22)", gap, 0.0)


def convergence_trial(
    key: Key, integrator: AbstractIntegrator, *, positive: bool = True, simple: bool = True, heads: Heads | None = None
) -> Trial:
    """Measure a solution that starts in the hemisphere of v: the limit, token 1, and the least v^T y_i over time.

    By default P(t) is a sinusoid. The top eigenvalue of U is `positive` and `simple`, or one of these is dropped.
    """
    a, b, c, d = jax.random.split(key, 4)
    U, values, Q = _value(a, positive=positive, simple=simple)
    v, P = jnp.asarray(Q[:, 0]), modulated_heads(b, 1, D) if heads is None else heads
    n = number_of_tokens(key) if positive and heads is None else N
    x0 = Sphere().sample(d, (n, D))
    height = float(10.0 ** -jax.random.uniform(c, (), minval=0.0, maxval=6.0))
    low = int(jax.random.randint(c, (), 0, n))  # this token starts near the equator
    level = Sphere().project(x0[low] - (x0[low] @ v) * v)
    x0 = x0.at[low].set(Sphere().project(level + height * v))
    x0 = x0 * jnp.sign(x0 @ v)[:, None]
    path = simulate(causal_symmetric_flow(P, U), x0, np.linspace(0.0, 120.0, TIMES), integrator=integrator)
    margins = path.along(lambda x: margin_along(x, v))
    return Trial(
        hypotheses=_hypotheses(P, U, margins[0], positive=positive, simple=simple),
        conclusions=(
            has_the_printed_field(path, lambda t: printed_heads(P, t), U[None], np.eye(D)),
            at_least("least v^T y_i over time", jnp.min(margins), 0.0, tolerance=SOLVER, within=(-1, 1)),
            chord("distance from (v, ..., v) at t=120", distance_to_point(path.final, v), 1e-4),
            _first_token(path, U),
            agrees(
                "the largest distance from v, and the least v^T y_i, at t=0",
                [distance_to_point(x0, v), margins[0]],
                [max(np.linalg.norm(y - v) for y in np.asarray(x0)), min(np.asarray(x0) @ np.asarray(v))],
            ),
        ),
        witness={"U": U, "P'": stored(P), "x0": np.asarray(x0)},
        parameters={"n": n, "d": D, "heads": 1, "least initial v^T y": float(margins[0]), "least of U": values[-1]},
    )


tokens_reach_the_top_eigenvector = claim(
    "consensus/theorem-6.1",
    statement="""
    Let U be symmetric with simple top eigenvalue lambda > 0, eigenvector v, and sup |P(t)| < b: every solution of
    (21) with initial values v^T y_i > 0 for all i converges to (v, ..., v).

    Sampled: sinusoidal P(t), other eigenvalues of U down to -2, one of the tokens down to 1e-6 from the equator.
    Stability is the claim `/stability`.
    """,
    trial=convergence_trial,
    control=partial(convergence_trial, positive=False),  # A simple top eigenvalue that is negative.
    num_trials=16,
)


def _amplification(values: np.ndarray, n: int) -> float:
    """Return the bound of sup |e_i| / max |e_j(0)|, i <= n, for the linearisation at (v, ..., v), infinite if it grows.

    There e_i' = sum_j<i U e_j / (i sqrt d) + (U / i - lambda) e_i / sqrt d orthogonally to v, so that with
    r_i = min (lambda - mu / i) / sqrt d, sup |e_i| <= |e_i(0)| + max |mu| sum_j<i sup |e_j| / (i sqrt(d) r_i).
    """
    sups: list[float] = []
    for i in range(1, n + 1):
        rate = float(np.min(values[0] - values[1:] / i))
        if rate <= 0:
            return math.inf
        sups.append(1 + float(np.max(np.abs(values[1:]))) * sum(sups) / (i * rate))
    return max(sups)


def _stability_trial(key: Key, integrator: AbstractIntegrator, *, positive: bool = True) -> Trial:
    a, b, c = jax.random.split(key, 3)
    U, values, Q = _value(a, positive=positive)
    v, P = jnp.asarray(Q[:, 0]), modulated_heads(b, 1, D)
    n = number_of_tokens(key) if positive else N
    factor = _amplification(values, n) if positive else 10.0
    noise = jax.random.normal(c, (n, D))
    paths = [
        simulate(
            causal_symmetric_flow(P, U),
            Sphere().project(v[None] + size * noise),
            np.linspace(0.0, 120.0, TIMES),
            integrator=integrator,
        )
        for size in (1e-3, 1e-5)
    ]
    far, near = (np.asarray(path.along(lambda x: distance_to_point(x, v))) for path in paths)
    return Trial(
        hypotheses=_hypotheses(P, U, margin_along(paths[0].initial, v), positive=positive),
        conclusions=(
            chord(
                "largest distance from (v, ..., v), against its bound by the linearisation",
                far.max(),
                1.1 * factor * far[0],
            ),
            chord("the same, starting nearer", near.max(), 1.1 * factor * near[0]),
            chord("distance from (v, ..., v) at t=120", far[-1], 0.0),
            has_the_printed_field(paths[0], lambda t: printed_heads(P, t), U[None], np.eye(D)),
        ),
        witness={"U": U, "P'": np.asarray(P.base), "noise": np.asarray(noise)},
        parameters={"n": n, "d": D, "heads": 1, "initial distance": float(near[0]), "bound of its growth": factor},
    )


top_eigenvector_is_stable = claim(
    "consensus/theorem-6.1/stability",
    statement="""Under the hypotheses of Theorem 6.1, (v, ..., v) is an asymptotically stable equilibrium.

    Read: solutions that start near it stay within the multiple of their initial distance that the linearisation gives
    (and a tenth of it), and converge to it.
    """,
    trial=_stability_trial,
    control=partial(_stability_trial, positive=False),  # A simple top eigenvalue that is negative.
    num_trials=8,
)


def _equilibria_trial(key: Key, lowest: int) -> Trial:
    """Measure, exactly, whether (23) has an equilibrium in (`lowest`, 1), for d = 2, P = 0 and e = 0.

    b' = (1 - b^2) (A lambda + alpha_ii (lambda - mu) b), A the sum of alpha_ij, j < i, and mu the other eigenvalue.
    """
    draw = [int(k) for k in integers(key, (4,), 1, 9)]
    i = 2 + draw[2] % 3
    lam = Fraction(draw[0])
    t = Fraction(draw[1], 10)
    root, side = (t * t - 1) / (t * t + 1), 2 * t / (t * t + 1)  # a rational point of the circle, left of the equator
    mu = lam + lam * (i - 1) / root  # so that it is a root
    own = Fraction(1, i)  # P = 0: all weights are equal
    slope = lambda b: (1 - b * b) * ((1 - own) * lam + own * (lam - mu) * b)
    other = Fraction(draw[3] - 5, 5)
    flow = causal_symmetric_flow(np.zeros((1, 2, 2)), np.diag([float(lam), float(mu)]))
    speeds = []
    earlier = [[Fraction(1), Fraction(0)]] * (i - 1)
    for b, s in ((root, side), (other, math.sqrt(1 - float(other) ** 2))):
        x = np.array([*earlier, [b, s]], float)
        speeds.append(float(flow.vector_field(0.0, jnp.asarray(x))[-1, 0]) * math.sqrt(2))
    least = min((1 - own) * lam + own * (lam - mu) * b for b in (Fraction(0), Fraction(1)))
    return Trial(
        hypotheses=(
            holds("lambda > 0 is the simple top eigenvalue", lam > 0 and mu < lam),
            holds("b* is a root of the right-hand side", slope(root) == 0),
        ),
        conclusions=(
            holds("there is no other equilibrium in the interval", not lowest < root < 1),
            holds("on [0, 1] the other factor, linear in b, is positive", lowest < 0 or least > 0),
            agrees("the velocity of v^T y_i at b* and elsewhere", speeds, [0.0, float(slope(other))]),
        ),
        witness={"lambda": lam, "mu": mu, "tokens": [*earlier, [root, side]], "weights": (1 - own, own), "b*": root},
        parameters={"n": i, "d": 2, "heads": 1},
    )


ends_are_the_only_equilibria = certified(
    "consensus/theorem-6.1-equilibria",
    statement="For e = 0 and lambda > 0 the only equilibria of (23) in [-1, 1] are b_i = 1 and b_i = -1.",
    trial=partial(_equilibria_trial, lowest=-1),
    num_trials=8,
    note="fails only for b < 0, which the theorem does not need; no control: the corrected claim is measured by the "
    "same function",
)


top_is_the_only_equilibrium_in_the_hemisphere = certified(
    "consensus/theorem-6.1-equilibria/corrected",
    statement="For e = 0 and lambda > 0 the only equilibrium of (23) in [0, 1] is b_i = 1. Changed: the interval.",
    trial=partial(_equilibria_trial, lowest=0),
    control=partial(_equilibria_trial, lowest=-1),  # The interval extended below 0, down to -1.
    num_trials=8,
)
