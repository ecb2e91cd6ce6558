"""Claims of Section 6: causal attention with a symmetric value matrix U."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.rational_instances import integers
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.orientation import oriented
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.spaces import Sphere
from dynsim.systems.schedules import Modulated
from dynsim.systems.tokens.flow import causal_symmetric_flow

N, D = 4, 3


def _value(key: Key) -> np.ndarray:
    """Return a random symmetric U with top eigenvalue in (0.5, 1) and the others at least 0.5 below it, down to -2."""
    a, b, c = jax.random.split(key, 3)
    Q = np.linalg.qr(np.asarray(jax.random.normal(a, (D, D))))[0]
    top = float(jax.random.uniform(b, (), minval=0.5, maxval=1.0))
    rest = top - 0.5 - 2 * np.asarray(jax.random.uniform(c, (D - 1,)))
    U = Q @ np.diag([top, *rest]) @ Q.T
    return (U + U.T) / 2


def _convergence_trial(key: Key, integrator: AbstractIntegrator, sign: float, near: float) -> Trial:
    a, b, c, d = jax.random.split(key, 4)
    U = _value(a)
    values, vectors = np.linalg.eigh(U)
    v = oriented(vectors[:, -1])
    P = Modulated(
        jax.random.uniform(b, (1, D, D), minval=-0.5, maxval=0.5), 2.0, jax.random.uniform(c, (1, D)) + 0.5, 0.3
    )
    x0 = Sphere().sample(d, (N, D))
    x0 = Sphere().project(x0 * jnp.sign(x0 @ v)[:, None] + near * v[None])
    path = simulate(causal_symmetric_flow(P, sign * U), x0, np.linspace(0.0, 120.0, 61), integrator=integrator)
    margins = path.along(lambda x: jnp.min(x @ v))
    far = path.along(lambda x: jnp.max(jnp.linalg.norm(x - v[None], axis=-1)))
    norm = float(np.linalg.norm(np.asarray(P.base), 2, axis=(1, 2)).max() * 2)
    return Trial(
        hypotheses=(
            at_least("top eigenvalue of U", values[-1], 0.0, tolerance=ROUNDING),
            at_least("spectral gap below it", values[-1] - values[-2], 0.0, tolerance=ROUNDING),
            at_most("sup |P|", norm, 10.0, tolerance=ROUNDING),
            at_least("least initial v^T y_i", margins[0], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_least("least v^T y_i over time", jnp.min(margins), 0.0, tolerance=SOLVER),
            at_most(
                "distance from (v, ..., v) at t=60, against half of that at t=0",
                far[30],
                0.5 * far[0],
                tolerance=SOLVER,
            ),
            at_most("distance from (v, ..., v) at t=120", far[60], 1e-2, tolerance=SOLVER),
            at_most("largest distance from (v, ..., v)", jnp.max(far), max(1.5, 3 * near) * far[0], tolerance=SOLVER),
        )[: 4 if near else 3],
        witness={"U": U, "P'": np.asarray(P.base), "x0": np.asarray(x0)},
    )


@claim("consensus/theorem-6.1", CONSENSUS.at("Theorem 6.1", "(21)"), num_trials=16)
def tokens_reach_the_top_eigenvector(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Let U be symmetric with simple top eigenvalue lambda > 0, eigenvector v, and sup |P(t)| < b: every solution of
    (21) with initial values v^T y_i > 0 for all i converges to (v, ..., v).

    Sampled: sinusoidal P(t), other eigenvalues of U down to -2. Stability is the claim `/stability`.
    """
    return _convergence_trial(key, integrator, 1.0, 0.0)


@tokens_reach_the_top_eigenvector.with_control
def tokens_reach_the_top_eigenvector(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The flow for -U, while the hypotheses are measured on U."""
    return _convergence_trial(key, integrator, -1.0, 0.0)


@claim("consensus/theorem-6.1/stability", CONSENSUS.at("Theorem 6.1", "(21)"), num_trials=8)
def top_eigenvector_is_stable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Under the hypotheses of Theorem 6.1, (v, ..., v) is an asymptotically stable equilibrium.

    Read: solutions that start near it stay within a multiple of their initial distance and converge to it.
    """
    return _convergence_trial(key, integrator, 1.0, 20.0)


@top_eigenvector_is_stable.with_control
def top_eigenvector_is_stable(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The flow for -U."""
    return _convergence_trial(key, integrator, -1.0, 20.0)


def _equilibria_trial(key: Key, lowest: int, sign: int) -> Trial:
    """Measure, exactly, whether (23) has an equilibrium in (`lowest`, 1), for d = 2 and e = 0.

    b' = (1 - b^2) (A lambda + alpha_ii (lambda - mu) b), A the sum of alpha_ij, j < i, and mu the other eigenvalue.
    """
    draw = [int(k) for k in integers(key, (3,), 1, 9)]
    lam, mu = Fraction(draw[0]), -Fraction(draw[1] + 2 * draw[0] + 1)
    own = Fraction(1, 2)  # P = 0 and i = 2: both weights are equal
    root = -sign * (1 - own) * lam / (own * (lam - mu))
    slope = lambda b: (1 - b * b) * (sign * (1 - own) * lam + own * (lam - mu) * b)
    return Trial(
        hypotheses=(
            holds("lambda > 0 is the simple top eigenvalue", lam > 0 and mu < lam),
            holds("b* is a root of the right-hand side", slope(root) == 0),
        ),
        conclusions=(holds("there is no other equilibrium in the interval", not lowest < root < 1),),
        witness={"lambda": lam, "mu": mu, "weights": (1 - own, own), "b*": root},
    )


@claim(
    "consensus/theorem-6.1-equilibria",
    CONSENSUS.at("Theorem 6.1, proof", "(23)"),
    evidence="certified",
    num_trials=8,
    note="fails only for b < 0, which the theorem does not need; no control: the corrected claim is measured by the "
    "same function",
)
def ends_are_the_only_equilibria(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For e = 0 and lambda > 0 the only equilibria of (23) in [-1, 1] are b_i = 1 and b_i = -1."""
    return _equilibria_trial(key, -1, 1)


@claim(
    "consensus/theorem-6.1-equilibria/corrected",
    CONSENSUS.at("Theorem 6.1, proof", "(23)"),
    variant="corrected",
    evidence="certified",
    num_trials=8,
)
def top_is_the_only_equilibrium_in_the_hemisphere(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For e = 0 and lambda > 0 the only equilibrium of (23) in [0, 1] is b_i = 1. Changed: the interval."""
    return _equilibria_trial(key, 0, 1)


@top_is_the_only_equilibrium_in_the_hemisphere.with_control
def top_is_the_only_equilibrium_in_the_hemisphere(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The first sum of (23) with the opposite sign: earlier tokens repel."""
    return _equilibria_trial(key, 0, -1)
