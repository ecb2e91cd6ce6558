"""Claims on V of (13) in the proof of Theorem 4.1: its Dini derivative along (11), and what kind of function it is."""

from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.hemispheres import IDENTITIES, D, at_height, in_hemisphere, random_flow
from analysis.claims.consensus.instances.modulated_heads import is_bounded, printed_heads
from analysis.claims.consensus.instances.printed_attention import everything, printed_field, printed_weights
from analysis.claims.rational_instances import rational_unit
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, agrees, at_least, at_most, equal, holds
from analysis.tokens.consensus import diameter
from analysis.tokens.energies import hemisphere_lyapunov, hemisphere_lyapunov_rate
from analysis.tokens.hemispheres import margin_along
from dynsim._core.types import Key
from dynsim.papers import CONSENSUS

TIME = 0.7
KINDS = ("in general position", "two attain the maximum", "all attain it, at two points", "all but one at one point")


def _tokens(key: Key, W: np.ndarray, n: int, kind: int, *, below: bool) -> tuple[jax.Array, jax.Array]:
    """Return v and n tokens of a kind; those that attain the least v^T y do so exactly, up to rounding errors."""
    v, x = in_hemisphere(key, W, n)
    directions = jax.random.normal(jax.random.fold_in(key, 1), (2, D))
    low = float(0.5 * jnp.min(x @ v)) * (-1 if below else 1)
    pair = at_height(W, v, low, directions)
    if kind == 1:
        x = x.at[:2].set(pair)
    elif kind == 2:
        x = pair[jnp.arange(n) % 2]
    elif kind == 3:
        x = jnp.broadcast_to(x[:1], x.shape).at[n - 1].set(pair[0])
    return v, x


def _dini_trial(key: Key, *, below: bool = False) -> Trial:
    """Measure the Dini derivative of V at tokens in the hemisphere, or `below` its boundary.

    An active token i has the least v^T y_i > 0, so that its f_i is at least the sum of
    alpha_ij v^T y_i (1 - y_i^T W y_j), which is positive unless all tokens are equal.
    """
    a, b, c = jax.random.split(key, 3)
    flow, P, W = random_flow(a)
    n = 2 if bool(jax.random.bernoulli(c)) else 5
    kind = 2 if below else int(jax.random.randint(b, (), 0, len(KINDS)))
    v, x = _tokens(b, W, n, kind, below=below)
    found = hemisphere_lyapunov_rate(flow, TIME, x, v, tolerance=ROUNDING)
    y, axis, heads = np.asarray(x), np.asarray(v), printed_heads(P, TIME)
    heights = y @ axis
    active = heights <= heights.min() + ROUNDING
    rates = -printed_field(y, heads, IDENTITIES, W, everything) @ axis
    alpha = sum(printed_weights(y, p) for p in heads)
    bound = np.sum(alpha * heights[:, None] * (1 - y @ W @ y.T), axis=1)[active].min()
    inside = at_least("least v^T y_i", margin_along(x, v), 0.0, tolerance=ROUNDING)
    same = jnp.broadcast_to(x[:1], x.shape)
    return Trial(
        hypotheses=(
            is_bounded(P),
            at_least("diameter", diameter(x), 0.0, tolerance=SOLVER),
            *(() if below else (inside,)),
        ),
        conclusions=(
            at_most(
                "upper Dini derivative, against its bound off consensus", found.rate, -abs(bound), tolerance=ROUNDING
            ),
            agrees("the upper Dini derivative, against the printed rates", found.rate, rates[active].max()),
            holds("the active tokens are those of the least v^T y", bool(np.all(np.asarray(found.active) == active))),
            agrees("V of (13)", hemisphere_lyapunov(x, v), 1 - heights.min()),
            equal(
                "upper Dini derivative at consensus",
                hemisphere_lyapunov_rate(flow, TIME, same, v, tolerance=ROUNDING).rate,
                0.0,
                tolerance=ROUNDING,
            ),
        ),
        witness={"W": W, "v": axis, "x": y, "active": active.tolist(), "P'": np.asarray(P.base)},
        parameters={"n": n, "d": D, "tokens": KINDS[kind], "active tokens": int(active.sum())},
    )


dini_derivative_is_negative = claim(
    "consensus/theorem-4.1-dini-sign",
    CONSENSUS.at("Theorem 4.1, proof", "(13)"),
    statement="""On the hemisphere V of (13) has a Dini derivative <= 0 along (11), and 0 only at consensus.

    Read: off consensus it is at most minus the sum over h and j of alpha_ij v^T y_i (1 - y_i^T W y_j), for one of the
    active i. In most instances two or more tokens attain the maximum in (13).
    """,
    trial=_dini_trial,
    control=partial(_dini_trial, below=True),  # Tokens just outside of the hemisphere, v^T y < 0.
    num_trials=32,
)


def _values_at_consensus(key: Key) -> Trial:
    """Compare V at two rational points of the consensus set of the hemisphere of v, for W = I."""
    u, v = rational_unit(key, D), rational_unit(jax.random.fold_in(key, 1), D)
    far = u if u @ v > 0 else -u
    states = [np.stack([point, point]) for point in (v, far)]
    values = [max(1 - y @ v for y in x) for x in states]
    shipped = [hemisphere_lyapunov(jnp.asarray(x.astype(float)), jnp.asarray(v.astype(float))) for x in states]
    return Trial(
        hypotheses=(
            holds("v is a unit vector, and the points are in its hemisphere", bool(v @ v == 1 and far @ v > 0)),
            holds("the two points differ", bool(np.any(far != v))),
        ),
        conclusions=(
            holds("V is the same at both points of the consensus set", values[0] == values[1]),
            agrees("V of (13) at both", np.asarray(shipped), values),
        ),
        witness={"v": v, "u": far, "V at v": values[0], "V at u": values[1]},
        parameters={"n": 2, "d": D, "V at the other": float(Fraction(values[1]))},
    )


@certified(
    "consensus/theorem-4.1-lyapunov",
    CONSENSUS.at("Theorem 4.1, proof", "(13)"),
    num_trials=8,
    note="a strict Lyapunov function for a set is constant and minimal on the set; no control: the weaker reading is "
    "its positive case",
)
def potential_is_a_strict_lyapunov_function(key: Key) -> Trial:
    """V of (13) is a strict Lyapunov function for the consensus set of the hemisphere: equal to its minimum on the set,
    larger off it, and decreasing off it.
    """
    return _values_at_consensus(key)


potential_decreases_off_the_set = claim(
    "consensus/theorem-4.1-lyapunov/weak",
    CONSENSUS.at("Theorem 4.1, proof", "(13)"),
    statement="Read: V decreases strictly along every trajectory off the consensus set; "
    "it need not be constant on the set.",
    trial=_dini_trial,
    control=partial(_dini_trial, below=True),  # Tokens just outside of the hemisphere, v^T y < 0.
    variant="reading",
    same_trial_as="consensus/theorem-4.1-dini-sign",
)
