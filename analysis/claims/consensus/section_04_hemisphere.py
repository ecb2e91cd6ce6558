"""Claims of Theorem 4.1: consensus of tokens that start in a hemisphere, for U = I, and the domain of attraction."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.hemispheres import (
    HEADS,
    IDENTITIES,
    D,
    in_hemisphere,
    longest_semi_axis,
    near_the_boundary,
    random_flow,
)
from analysis.claims.consensus.instances.modulated_heads import (
    has_the_printed_field,
    is_bounded,
    printed_heads,
    query_key_bound,
)
from analysis.claims.consensus.instances.printed_attention import everything
from analysis.claims.rational_instances import integers, rational_unit
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.tokens.consensus import diameter
from analysis.tokens.hemispheres import margin_along
from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Ellipsoid
from dynsim.systems.tokens.flow import TokenFlow, identity_value_flow

SIZES = (1, 2, 5, 9)  # numbers of tokens
RATE = HEADS / math.sqrt(D)
"""The rate at which tokens approach their mean near consensus, where all weights are 1 / (n sqrt(d))."""


def _rate(ts: np.ndarray, widths: np.ndarray, P: object, W: np.ndarray) -> Measurement:
    """Measure the decay rate of the diameter between 1e-4 and 1e-6 against h / sqrt(d), the same for all W and P.

    Scores differ by at most b K times the diameter, and weights by that factor; an error of 1e-9 of the solution at a
    diameter of 1e-6 changes the rate by less than 1e-3.
    """
    used = np.flatnonzero((widths <= 1e-4) & (widths >= 1e-6))
    if len(used) < 2:
        return equal("decay rate of the diameter near consensus (none is reached)", 0.0, RATE, tolerance=0.0)
    first, last = used[0], used[-1]
    rate = np.log(widths[first] / widths[last]) / (ts[last] - ts[first])
    slack = RATE * 4 * query_key_bound(P) * longest_semi_axis(W) * 1e-4  # pyright: ignore[reportArgumentType]
    return equal("decay rate of the diameter near consensus", rate, RATE, tolerance=slack + 1e-3)


def _attraction_trial(key: Key, integrator: AbstractIntegrator, *, closed: bool = False) -> Trial:
    """Measure a solution that starts in the open hemisphere, or in the closed one: on its boundary, antipodal."""
    a, b, c, e = jax.random.split(key, 4)
    n = SIZES[int(jax.random.randint(e, (), 0, len(SIZES)))]
    flow, P, W = random_flow(a)
    v, x0 = in_hemisphere(b, W, n)
    height = float(10.0 ** -jax.random.uniform(c, (), minval=0.0, maxval=6.0))
    if closed:
        W = np.diag([1.0, 0.25, 4.0])
        flow = identity_value_flow(P, space=Ellipsoid(W))
        v, x0 = jnp.array([0.0, 2.0, 0.0]), jnp.outer(jnp.array([1.0, -1.0, 1.0, -1.0, 1.0]), jnp.eye(D)[0])
    elif height < 0.1:
        x0 = near_the_boundary(c, W, v, x0, height)
    ts = np.linspace(0.0, 80.0, 161)
    path = simulate(flow, x0, ts, integrator=integrator)
    margins, widths = path.along(lambda x: margin_along(x, v)), np.asarray(path.along(diameter))
    inside = at_least("least initial v^T y_i", margins[0], 0.0, tolerance=0.0 if closed else ROUNDING)
    return Trial(
        hypotheses=(is_bounded(P), inside),
        conclusions=(
            has_the_printed_field(path, lambda t: printed_heads(P, t), IDENTITIES, W, everything),
            at_least(
                "least v^T y_i over time, against the initial one", jnp.min(margins), margins[0], tolerance=SOLVER
            ),
            at_most("diameter at t=80", widths[-1], 1e-4, tolerance=SOLVER, within=(0, 2 * longest_semi_axis(W))),
            *((_rate(ts, widths, P, W),) if len(x0) > 1 else ()),
        ),
        witness={"W": W, "v": np.asarray(v), "x0": np.asarray(x0)},
        parameters={"n": len(x0), "d": D, "heads": HEADS, "least initial v^T y": float(margins[0])},
    )


hemisphere_reaches_consensus = claim(
    "consensus/theorem-4.1",
    statement="""
    If the P_h are bounded and uniformly continuous, then for every v in E_W every solution of (11) with initial
    v^T y_i > 0 for all i converges to the consensus set of the hemisphere of v.

    Read: the diameter tends to zero, at last at the rate h / sqrt(d), while the least v^T y_i never falls below its
    initial value. Most of the solutions start near the boundary of the hemisphere, down to v^T y = 1e-6.
    """,
    trial=_attraction_trial,
    control=partial(_attraction_trial, closed=True),  # The closed hemisphere, with antipodal tokens on its boundary.
    num_trials=16,
)


domain_contains_the_hemisphere = claim(
    "consensus/theorem-4.1-domain/corrected",
    statement="The domain of attraction of the consensus set of the hemisphere contains the hemisphere. Changed: "
    "contains.",
    trial=_attraction_trial,
    control=partial(_attraction_trial, closed=True),  # The closed hemisphere, with antipodal tokens on its boundary.
    num_trials=16,
    same_trial_as="consensus/theorem-4.1",
)


def _turned(c: Exact, by: Exact) -> Exact:
    """Return the vector c turned by the angle of the unit vector `by`, both in the plane."""
    return np.array([c[0] * by[0] - c[1] * by[1], c[1] * by[0] + c[0] * by[1]], object)


def _mirror_trial(key: Key) -> Trial:
    """Certify a start outside of a hemisphere that converges in it: two tokens on the circle, P = k I, k rational.

    The tokens are at the angles m + s and m - s from v. The field commutes with the reflection along m and with
    exchanging them, so that they stay mirror images, and sqrt(2) s' = -w sin(2 s) with the weight
    w = 1 / (1 + exp(k (1 - cos 2 s))) of the other token: s decreases to zero from below 90 degrees.
    """
    draw = integers(key, (3,), 1, 10)
    k = int(draw[2]) - 5
    turn = rational_unit(key, 2)  # of the whole picture
    m = _turned(np.array([1, 0], object), _angle(int(draw[0]), 20))  # between 5 and 49 degrees from v
    half = _turned(np.array([0, 1], object), _angle(-int(draw[0]), 40))  # 90 degrees minus less than half of that
    x = np.stack([_turned(_turned(m, half * np.array([1, sign], object)), turn) for sign in (1, -1)])
    v, middle = turn, _turned(m, turn)
    mirror = 2 * np.outer(middle, middle) - np.eye(2, dtype=int)
    flow = TokenFlow(float(k) * np.eye(2))
    field = np.asarray(flow.vector_field(0.0, jnp.asarray(x.astype(float))))
    sine2, cosine2 = 2 * half[0] * half[1], half[0] ** 2 - half[1] ** 2
    speed = -float(sine2) / (1 + math.exp(k * float(1 - cosine2))) / math.sqrt(2)
    outside, meets = v @ x[0] < 0, half[0] > 0 and half[1] > 0 and v @ middle > 0
    normal = np.array([-middle[1], middle[0]])
    velocity = float(speed) * (half[0] * normal - half[1] * middle).astype(float)
    return Trial(
        hypotheses=(
            holds("the tokens are on the circle, exactly", all(y @ y == 1 for y in x)),
            holds("a token starts outside of the hemisphere of v", outside),
            holds("the tokens are mirror images", all(mirror @ x[0] == x[1])),
        ),
        conclusions=(
            holds("the solution does not reach the consensus set of the hemisphere", not meets),
            agrees("the field at the start", field, np.stack([velocity, mirror.astype(float) @ velocity])),
        ),
        witness={"v": v, "y1": x[0], "y2": x[1], "they meet at": middle, "P / I": k},
        parameters={"n": 2, "d": 2, "heads": 1, "P / I": k},
    )


def _angle(p: int, q: int) -> Exact:
    """Return the rational unit vector at the angle 2 arctan(p / q)."""
    t = p * p + q * q
    return np.array([(q * q - p * p), 2 * p * q], object) * Fraction(1, t)


domain_is_exactly_the_hemisphere = certified(
    "consensus/theorem-4.1-domain",
    statement="""The domain of attraction of the consensus set of the hemisphere of v is exactly the open hemisphere.

    Evaluated for two tokens at the angles m + s and m - s from v with m + s > 90 degrees, both less than 90 degrees
    from m: they converge to m, in the hemisphere of v.
    """,
    trial=_mirror_trial,
    num_trials=4,
    note="two tokens on the circle, P a multiple of I: their bisector is invariant by symmetry; no control: that the "
    "domain contains the hemisphere is its positive case",
)
