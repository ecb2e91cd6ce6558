"""Claims of Section 4: consensus of tokens that start in a hemisphere, for U = I."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.rational_instances import rational_unit
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, holds
from analysis.tokens.consensus import diameter
from analysis.tokens.energies import hemisphere_lyapunov_rate
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.spaces import Ellipsoid
from dynsim.systems.schedules import Modulated
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.masks import Causal, Full

N, D, HEADS = 5, 3, 2
BOUND = 10.0


def random_flow(key: Key, value: float = 1.0) -> TokenFlow:
    """Return the flow (11) on a random ellipsoid, with bounded and uniformly continuous P_h(t) and U = `value` I."""
    a, b, c = jax.random.split(key, 3)
    A = np.asarray(jax.random.normal(a, (D, D)))
    base = jax.random.uniform(b, (HEADS, D, D), minval=-0.5, maxval=0.5)
    P = Modulated(base, 2.0, jax.random.uniform(c, (HEADS, D), minval=0.5, maxval=3.0), 0.4)
    return TokenFlow(P, value, space=Ellipsoid(A @ A.T / D + 0.3 * np.eye(D)))


def metric(flow: TokenFlow) -> np.ndarray:
    """Return the matrix W of the ellipsoid of a flow, (d, d)."""
    space: Any = flow.space
    return np.asarray(space.matrix)


def query_key_bound(P: Any) -> float:
    """Return an upper bound of sup |P_h(t)| for P_h = D_h(t) P_h': the largest |D_h| |P_h'|, in the spectral norm."""
    return float(np.max(np.linalg.norm(np.asarray(P.base), 2, axis=(1, 2)) * np.max(np.abs(P.amplitude), axis=1)))


def start_in_hemisphere(key: Key, flow: TokenFlow, n: int = N) -> tuple[jax.Array, jax.Array]:
    """Return a random point v of the ellipsoid and `n` tokens in its open hemisphere v^T y > 0."""
    a, b = jax.random.split(key)
    v = flow.space.sample(a, (1, D))[0]
    x = flow.space.sample(b, (n, D))
    return v, x * jnp.sign(x @ v)[:, None]


def _attraction_trial(key: Key, integrator: AbstractIntegrator, value: float) -> Trial:
    a, b = jax.random.split(key)
    flow = random_flow(a, value)
    v, x0 = start_in_hemisphere(b, flow)
    path = simulate(flow, x0, np.linspace(0.0, 80.0, 41), integrator=integrator)
    margins, widths = path.along(lambda x: jnp.min(x @ v)), path.along(diameter)
    return Trial(
        hypotheses=(
            at_most("sup |P_h|", query_key_bound(flow.query_key), BOUND, tolerance=ROUNDING),
            at_least("least initial v^T y_i", margins[0], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_least("least v^T y_i, against its initial value", jnp.min(margins), margins[0], tolerance=SOLVER),
            at_most("diameter at t=40, against 0.3 of the initial one", widths[20], 0.3 * widths[0], tolerance=SOLVER),
            at_most("diameter at t=80, against half of that at t=40", widths[40], 0.5 * widths[20], tolerance=SOLVER),
        ),
        witness={"W": metric(flow), "v": np.asarray(v), "x0": np.asarray(x0)},
    )


@claim("consensus/theorem-4.1", CONSENSUS.at("Theorem 4.1", "(11)"), num_trials=16)
def hemisphere_reaches_consensus(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If the P_h are bounded and uniformly continuous, then for every v in E_W every solution of (11) with initial
    v^T y_i > 0 for all i converges to the consensus set of the hemisphere of v.

    Read: the diameter decreases between two horizons while the least v^T y_i never falls below its initial value.
    """
    return _attraction_trial(key, integrator, 1.0)


@hemisphere_reaches_consensus.with_control
def hemisphere_reaches_consensus(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _attraction_trial(key, integrator, -1.0)


@claim("consensus/theorem-4.1-domain/corrected", CONSENSUS.at("Theorem 4.1"), variant="corrected", num_trials=16)
def domain_contains_the_hemisphere(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The domain of attraction of the consensus set of the hemisphere contains the hemisphere. Changed: contains."""
    return _attraction_trial(key, integrator, 1.0)


@domain_contains_the_hemisphere.with_control
def domain_contains_the_hemisphere(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _attraction_trial(key, integrator, -1.0)


@claim(
    "consensus/theorem-4.1-domain",
    CONSENSUS.at("Theorem 4.1"),
    num_trials=4,
    note="two tokens on the circle, P = I: their bisector is invariant by symmetry; no control: that the domain "
    "contains the hemisphere is its positive case",
)
def domain_is_exactly_the_hemisphere(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The domain of attraction of the consensus set of the hemisphere of v is exactly the open hemisphere.

    Two tokens start at the angles m + s and m - s from v with m + s > 90 degrees, and converge to m, in the hemisphere.
    """
    a, b = jax.random.split(key)
    middle = float(jax.random.uniform(a, (), minval=0.3, maxval=1.0))
    spread = float(jax.random.uniform(b, (), minval=np.pi / 2 - middle + 0.05, maxval=1.4))
    angles = np.array([middle + spread, middle - spread])
    x0 = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    path = simulate(TokenFlow(np.eye(2)), x0, [0.0, 40.0, 80.0], integrator=integrator)
    widths, margins = path.along(diameter), path.along(lambda x: jnp.min(x[:, 0]))
    converges = (widths[2] < 1e-4) & (margins[2] > 0.3)
    return Trial(
        hypotheses=(
            at_most("initial v^T y_1", margins[0], 0.0, tolerance=SOLVER),
            at_most("diameter at t=80, against 1/1000 of that at t=0", widths[2], 1e-3 * widths[0], tolerance=SOLVER),
        ),
        conclusions=(holds("the solution does not reach the consensus set of the hemisphere", not bool(converges)),),
        witness={"angles": angles, "meet at": np.asarray(path.final[0])},
    )


def _dini_trial(key: Key, value: float, tie: bool) -> Trial:
    a, b = jax.random.split(key)
    flow = random_flow(a, value)
    v, x = start_in_hemisphere(b, flow)
    if tie:  # the second token is a mirror image of the first with the same v^T y
        W = metric(flow)
        w = flow.space.tangent(v, x[1])
        w = w / jnp.sqrt(w @ W @ w)
        lift = jnp.linalg.solve(W, v)
        w = w - (v @ w) / (v @ lift) * lift  # v^T w = 0: both signs give the same v^T y
        y = 0.5 * lift / jnp.sqrt(v @ lift)
        for k, sign in ((0, 1.0), (1, -1.0)):
            x = x.at[k].set(flow.space.project(y + sign * 0.5 * w))
    found = hemisphere_lyapunov_rate(flow, 0.7, x, v, tolerance=ROUNDING if tie else 0.0)
    return Trial(
        hypotheses=(
            at_least("least v^T y_i", jnp.min(x @ v), 0.0, tolerance=ROUNDING),
            at_least("diameter", diameter(x), 0.0, tolerance=SOLVER),
        ),
        conclusions=(at_most("upper Dini derivative off consensus", found.rate, -ROUNDING, tolerance=ROUNDING),),
        witness={"v": np.asarray(v), "x": np.asarray(x), "active": np.asarray(found.active).tolist()},
    )


@claim("consensus/theorem-4.1-dini-sign", CONSENSUS.at("Theorem 4.1, proof", "(13)"), num_trials=32)
def dini_derivative_is_negative(key: Key, integrator: AbstractIntegrator) -> Trial:
    """On the hemisphere V of (13) has a Dini derivative <= 0 along (11), and 0 only at consensus.

    Half of the instances have two tokens that attain the maximum in (13).
    """
    return _dini_trial(key, 1.0, bool(jax.random.bernoulli(key)))


@dini_derivative_is_negative.with_control
def dini_derivative_is_negative(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _dini_trial(key, -1.0, False)


def _values_at_consensus(key: Key) -> tuple[Fraction, Fraction, Fraction]:
    """Return |v|^2 and V at two rational consensus points of the hemisphere of v, for W = I."""
    u, v = rational_unit(key, D), rational_unit(jax.random.fold_in(key, 1), D)
    near = v
    far = u if sum(u * v) > 0 else -u
    return np.dot(v, v), 1 - np.dot(near, v), 1 - np.dot(far, v)


@claim(
    "consensus/theorem-4.1-lyapunov",
    CONSENSUS.at("Theorem 4.1, proof", "(13)"),
    evidence="certified",
    num_trials=8,
    note="a strict Lyapunov function for a set is constant and minimal on the set; no control: the weaker reading is "
    "its positive case",
)
def potential_is_a_strict_lyapunov_function(key: Key, integrator: AbstractIntegrator) -> Trial:
    """V of (13) is a strict Lyapunov function for the consensus set of the hemisphere: equal to its minimum on the set,
    larger off it, and decreasing off it.
    """
    norm, near, far = _values_at_consensus(key)
    return Trial(
        hypotheses=(holds("v is a unit vector, and the points are in its hemisphere", norm == 1 and far < 1),),
        conclusions=(holds("V is the same at both points of the consensus set", near == far),),
        witness={"V at v": near, "V at another consensus point": far},
    )


@claim("consensus/theorem-4.1-lyapunov/weak", CONSENSUS.at("Theorem 4.1, proof", "(13)"), variant="reading")
def potential_decreases_off_the_set(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: V decreases strictly along every trajectory off the consensus set; it need not be constant on the set."""
    return _dini_trial(key, 1.0, False)


@potential_decreases_off_the_set.with_control
def potential_decreases_off_the_set(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _dini_trial(key, -1.0, False)


def _bounds_trial(key: Key, causal: bool, lower_triangle: bool, shrink: float) -> Trial:
    a, b = jax.random.split(key)
    full = random_flow(a)
    flow = TokenFlow(full.query_key, 1.0, space=full.space, mask=Causal() if causal else Full())
    x = flow.space.sample(b, (N, D))
    K = 1 / np.sqrt(float(np.linalg.eigvalsh(metric(full))[0]))  # the longest semi-axis
    limit = query_key_bound(full.query_key)
    exponent = shrink * 2 * K * K * limit
    c1, c2 = np.exp(-exponent) / (np.sqrt(D) * N), np.exp(exponent)
    alpha = np.asarray(flow.scale * flow.weights(0.3, x))
    counted = alpha[:, np.tril(np.ones((N, N), bool))] if lower_triangle else alpha.reshape(HEADS, -1)
    return Trial(
        hypotheses=(
            at_most("largest token norm", float(jnp.max(jnp.linalg.norm(x, axis=1))), K, tolerance=0.0),
            at_most("sup |P_h|", limit, BOUND, tolerance=ROUNDING),
        ),
        conclusions=(
            at_least("smallest alpha_ij / c_1", counted.min() / c1, 1.0, tolerance=ROUNDING),
            at_most("largest alpha_ij / c_2", counted.max() / c2, 1.0, tolerance=ROUNDING),
        ),
        witness={"x": np.asarray(x), "c_1": c1, "c_2": c2},
    )


@claim(
    "consensus/lemma-4.1",
    CONSENSUS.at("Lemma 4.1"),
    note="for the full attention of Section 4; for the causal weights of Sections 5 and 6 only for j <= i (`/causal`)",
)
def weights_are_bounded(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If |P_h(t)| <= b then c_1 <= alpha_ij <= c_2 for all i and j, with c_1 = e^{-2 K^2 b} / (l sqrt d) and
    c_2 = e^{2 K^2 b}, K being the longest semi-axis of E_W.
    """
    return _bounds_trial(key, causal=False, lower_triangle=False, shrink=1.0)


@weights_are_bounded.with_control
def weights_are_bounded(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The exponent divided by 100."""
    return _bounds_trial(key, causal=False, lower_triangle=False, shrink=0.01)


@claim("consensus/lemma-4.1/causal", CONSENSUS.at("Lemma 4.1"), variant="reading", num_trials=8)
def causal_weights_are_bounded(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read for the causal weights: c_1 <= alpha_ij <= c_2 for j <= i; the other weights are zero."""
    return _bounds_trial(key, causal=True, lower_triangle=True, shrink=1.0)


@causal_weights_are_bounded.with_control
def causal_weights_are_bounded(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The bounds for all i and j, as in the lemma, although alpha_ij = 0 for j > i."""
    return _bounds_trial(key, causal=True, lower_triangle=False, shrink=1.0)
