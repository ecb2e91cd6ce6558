"""Claims of the abstract and the introduction beyond the theorems, and on the misalignment E of (25)."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.rational_instances import rational_unit
from analysis.ledger.claim import claim, rule
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, holds
from analysis.ledger.verdict import Verdict
from analysis.tokens.consensus import diameter
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.masks import Causal

D = 3


def _value_matrix_trial(key: Key, integrator: AbstractIntegrator, U: np.ndarray, *, both_signs: bool) -> Trial:
    """Measure consensus of four causal tokens with P = 0 that start near v and -v if `both_signs`, else near v."""
    v = jnp.eye(D)[0]
    signs = jnp.array([1.0, -1.0, 1.0, -1.0])[:, None] if both_signs else jnp.ones((4, 1))
    x0 = Sphere().project(signs * v[None] + 0.2 * jax.random.normal(key, (4, D)))
    flow = TokenFlow(np.zeros((1, D, D)), U, mask=Causal())
    widths = simulate(flow, x0, [0.0, 60.0, 120.0], integrator=integrator).along(diameter)
    values = np.linalg.eigvalsh(U)
    return Trial(
        hypotheses=(
            at_least("top eigenvalue of U", values[-1], 0.0, tolerance=ROUNDING),
            at_least(
                "initial distance from the equator v^T y = 0", jnp.min(jnp.abs(x0[:, 0])), 0.0, tolerance=ROUNDING
            ),
        ),
        conclusions=(
            at_most("diameter at t=60", widths[1], 0.1, tolerance=SOLVER),
            at_most("diameter at t=120", widths[2], 1e-2, tolerance=SOLVER),
        ),
        witness={"U": U, "x0": np.asarray(x0)},
    )


INDEFINITE = np.diag([1.0, -3.0, -3.0])


@claim(
    "consensus/claim-value-matrix-consensus",
    CONSENSUS.at("Abstract, Section 1"),
    num_trials=4,
    note="refuted on an open set of initial conditions, not only on a null set: P = 0, one head, causal, "
    "U = diag(1, -3, -3), tokens near v and -v stay there; no control: the special case is measured by the same "
    "function",
)
def tokens_converge_whatever_the_value(key: Key, integrator: AbstractIntegrator) -> Trial:
    """All tokens converge to each other, also outside the hemispheres of Theorem 6.1 for its value matrices.

    Read: from almost every initial condition, for U symmetric with a simple positive top eigenvalue.
    """
    return _value_matrix_trial(key, integrator, INDEFINITE, both_signs=True)


@claim(
    "consensus/claim-value-matrix-consensus/identity",
    CONSENSUS.at("Abstract, Section 1"),
    variant="special case",
    num_trials=8,
)
def tokens_converge_for_the_identity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For U = I and causal attention all tokens converge to each other from almost every initial condition.

    Added: U = I.
    """
    return _value_matrix_trial(key, integrator, np.eye(D), both_signs=True)


@tokens_converge_for_the_identity.with_control
def tokens_converge_for_the_identity(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The indefinite value matrix."""
    return _value_matrix_trial(key, integrator, INDEFINITE, both_signs=True)


multihead = rule(
    "consensus/claim-multihead-value",
    CONSENSUS.at("Section 1"),
    Verdict.ILL_POSED,
    "Theorem 6.1 is believed to hold beyond the single-head case, but the hypotheses on several value matrices (a "
    "common U, a common eigenvector, or neither) are not stated; without a common eigenvector the limit (v, ..., v) is "
    "undefined.",
)


def _heads_trial(key: Key, integrator: AbstractIntegrator, sign: float) -> Trial:
    """Measure convergence with three heads: symmetric U_h with a common top eigenvector, general P_h."""
    a, b, c, d = jax.random.split(key, 4)
    Q = np.linalg.qr(np.asarray(jax.random.normal(a, (D, D))))[0]
    turns = [np.linalg.qr(np.asarray(k))[0] for k in jax.random.normal(b, (3, D - 1, D - 1))]
    tops = 0.5 + np.asarray(jax.random.uniform(c, (3,)))
    U = np.zeros((3, D, D))
    for h, turn in enumerate(turns):
        inner = np.zeros((D, D))
        inner[0, 0], inner[1:, 1:] = tops[h], turn @ np.diag(tops[h] - 0.5 - np.arange(D - 1.0)) @ turn.T
        U[h] = Q @ inner @ Q.T
    U, v = (U + U.transpose(0, 2, 1)) / 2, jnp.asarray(Q[:, 0])
    P = jax.random.normal(jax.random.fold_in(key, 9), (3, D, D))
    x = Sphere().sample(d, (4, D))
    x0 = x * jnp.sign(x @ v)[:, None]
    path = simulate(TokenFlow(P, sign * U, mask=Causal()), x0, [0.0, 30.0, 60.0], integrator=integrator)
    far = path.along(lambda y: jnp.max(jnp.linalg.norm(y - v[None], axis=-1)))
    values = np.linalg.eigvalsh(U)
    return Trial(
        hypotheses=(
            at_least("least top eigenvalue of a U_h", values[:, -1].min(), 0.0, tolerance=ROUNDING),
            at_least(
                "least spectral gap below a top eigenvalue",
                (values[:, -1] - values[:, -2]).min(),
                0.0,
                tolerance=ROUNDING,
            ),
            at_most(
                "residual of v as a common eigenvector",
                np.abs(U @ v - tops[:, None] * v[None]).max(),
                1e-9,
                tolerance=ROUNDING,
            ),
            at_least("least initial v^T y_i", jnp.min(x0 @ v), 0.0, tolerance=ROUNDING),
        ),
        conclusions=(at_most("distance from (v, ..., v) at t=60", far[2], 1e-2, tolerance=SOLVER),),
        witness={"U": U, "P": np.asarray(P), "x0": np.asarray(x0)},
    )


@claim(
    "consensus/claim-multihead-value/common-eigenvector", CONSENSUS.at("Section 1"), variant="reading", num_trials=16
)
def heads_with_a_common_eigenvector(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: all U_h are symmetric and have simple positive top eigenvalues with a common eigenvector v. Every solution
    with initial values v^T y_i > 0 for all i converges to (v, ..., v).
    """
    return _heads_trial(key, integrator, 1.0)


@heads_with_a_common_eigenvector.with_control
def heads_with_a_common_eigenvector(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The flow of -U_h."""
    return _heads_trial(key, integrator, -1.0)


def _misalignment_trial(key: Key, signs: bool, opposite: bool) -> Trial:
    """Measure, exactly, that E is not zero on three rational unit tokens that do not all coincide.

    Args:
        key: random key.
        signs: drop the absolute value in E.
        opposite: tokens y, -y, y; otherwise y, another token, y.
    """
    first = rational_unit(key, D)
    tokens = [first, -first, first] if opposite else [first, rational_unit(jax.random.fold_in(key, 1), D), first]
    products = [first @ y for y in tokens]
    E = 1 - sum((p if signs else abs(p) for p in products), Fraction(0)) / len(tokens)
    same = all(bool(np.all(y == first)) for y in tokens)
    return Trial(
        hypotheses=(
            holds("tokens are on the sphere, exactly", all(y @ y == 1 for y in tokens)),
            holds("the tokens do not all coincide", not same),
        ),
        conclusions=(holds("E is not zero", E != 0),),
        witness={"tokens": tokens, "E": E},
    )


@claim(
    "consensus/equation-25",
    CONSENSUS.at("Section 7.4", "(25)"),
    evidence="certified",
    num_trials=4,
    note="E does not depend on the signs of tokens and vanishes for tokens y and -y; its sum is read from i = 1, since "
    "there is no y_0; no control: the corrected claim is measured by the same function",
)
def misalignment_vanishes_at_consensus_only(key: Key, integrator: AbstractIntegrator) -> Trial:
    """E of (25) becomes zero only when all tokens are located at the same configuration."""
    return _misalignment_trial(key, False, True)


@claim(
    "consensus/equation-25/corrected", CONSENSUS.at("Section 7.4", "(25)"), variant="corrected", evidence="certified"
)
def signed_misalignment_vanishes_at_consensus_only(key: Key, integrator: AbstractIntegrator) -> Trial:
    """E without the absolute value is zero only when all tokens coincide. Changed: the absolute value is dropped."""
    trials = [_misalignment_trial(key, True, opposite) for opposite in (True, False)]
    return Trial(
        hypotheses=tuple(m for t in trials for m in t.hypotheses),
        conclusions=tuple(m for t in trials for m in t.conclusions),
        witness=trials[1].witness,
    )


@signed_misalignment_vanishes_at_consensus_only.with_control
def signed_misalignment_vanishes_at_consensus_only(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the absolute value, for tokens y and -y."""
    return _misalignment_trial(key, False, True)
