"""Claims of the simulations of Sections 7.1 to 7.4, with the published matrices."""

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.hemispheres import chord
from analysis.claims.consensus.instances.printed_attention import before, everything, printed_field
from analysis.dynamics.convergence import worst_increase
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.tokens.consensus import diameter, distance_to_point, min_inner_product, misalignment
from analysis.tokens.energies import consensus_potential, hemisphere_lyapunov
from dynsim._core.orientation import oriented
from dynsim._core.types import Key, Tokens
from dynsim.integrators import AbstractIntegrator, InSpan
from dynsim.simulation.simulate import simulate
from dynsim.spaces import AbstractSpace, Sphere
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.interactions.masks import AbstractMask, Window
from dynsim.systems.tokens.published import (
    GRADIENT_MATRIX,
    HEMISPHERE_AXIS,
    SYMMETRIC_VALUE,
    published_ensemble_flow,
    published_gradient_flow,
    published_hemisphere_flow,
    published_symmetric_flow,
)


def _matrix(text: str) -> np.ndarray:
    return np.array([[float(number) for number in row.split()] for row in text.split(";")])


P_OF_7_1 = _matrix("0.9432 0.0587 -0.1813; 0.0587 0.8450 -0.1013; -0.1813 -0.1013 0.5519")
P1_OF_7_2 = _matrix("0.0805 -0.1929 0.1991; -0.2312 0.3131 -0.2335; 0.1788 -0.1732 -0.1594")
P2_OF_7_2 = _matrix("-0.3067 0.0349 0.1107; 0.0572 -0.0557 0.1343; 0.1375 0.1083 0.1018")
P_OF_7_3 = _matrix("0.3598 0.4150 0.1319; 0.0971 -0.0668 -0.2046; 0.1548 -0.2102 0.1220")
U_OF_7_3 = _matrix("-0.2590 0.4965 0.5609; 0.4965 -0.7174 -0.5003; 0.5609 -0.5003 -0.0247")


def _diagonal(first: float, third: float, t: float) -> np.ndarray:
    a, b = first * np.pi * t, third * np.pi * t
    return np.diag([2 * np.cos(a), 2 * np.sin(a), 2 * np.cos(b)])


def heads_of_7_2(t: float) -> np.ndarray:
    """Return P_1(t) = D_1(t) P_1' and P_2(t) = D_2(t) P_2', shape (2, 3, 3)."""
    return np.stack([_diagonal(10, 6, t) @ P1_OF_7_2, _diagonal(6, 4, t) @ P2_OF_7_2])


def head_of_7_3(t: float) -> np.ndarray:
    """Return P(t) = D(t) P', shape (1, 3, 3)."""
    return (_diagonal(10, 6, t) @ P_OF_7_3)[None]


N, D = 10, 3
STEP = 1e-2
NON_SMOOTH = 1e-4  # ten times the tolerance requested for a field that is not differentiable in time


WHEN = 0.137  # a time at which no sine or cosine of the printed D(t) is special


def _late_rate(ts: np.ndarray, widths: np.ndarray, span: float) -> float:
    """Return the exponential rate at which the diameter decreases over `span`, from where it is below 3/100."""
    small = np.flatnonzero(widths < 0.03)
    first = small[0] if small.size else len(ts)
    last = first + round(span / (ts[1] - ts[0]))
    return math.log(widths[first] / widths[last]) / span if last < len(ts) else math.nan


def _field(flow: TokenFlow, x: Tokens, P: np.ndarray, U: np.ndarray, W: np.ndarray, sees=everything) -> Measurement:
    """Compare the field that ships with (7) for the printed matrices at time `WHEN`."""
    return agrees("the field that ships", flow.vector_field(WHEN, x), printed_field(x, P, U, W, sees))


def _gradient_trial(key: Key, integrator: AbstractIntegrator, space: AbstractSpace | None) -> Trial:
    """Measure V_P and the diameter, on the ellipsoid of P if no other `space` is given."""
    model, P = published_gradient_flow(), jnp.asarray(GRADIENT_MATRIX)
    flow = model if space is None else TokenFlow(P, space=space)
    W = np.asarray(P) if space is None else np.eye(D)
    x0 = initial_tokens("box", key, (N, D), flow.space)
    path = simulate(flow, x0, np.linspace(0.0, 60.0, 121), integrator=integrator)
    energy = lambda x: consensus_potential(x, P)
    rise = worst_increase(path, energy)
    widths = np.asarray(path.along(diameter))
    late = _late_rate(np.asarray(path.ts), widths, 4.0)
    return Trial(
        hypotheses=(
            at_least("smallest eigenvalue of the printed P", np.linalg.eigvalsh(P)[0], 0.0, tolerance=ROUNDING),
            at_most("largest entry of P - P^T", np.abs(P - P.T).max(), 0.0, tolerance=0.0),
        ),
        conclusions=(
            agrees("P as it ships", P, P_OF_7_1),
            _field(flow, x0, P_OF_7_1[None], np.eye(D)[None], W),
            at_most("largest increase of V_P", rise.amount, 0.0, tolerance=rise.error + SOLVER),
            at_most("diameter at t=60", widths[-1], 1e-2, tolerance=SOLVER),
            equal("least y_i^T P y_j at t=60", min_inner_product(path.final, P), 1.0, tolerance=1e-3),
            equal(
                "V_P at t=60, against its least value -n^2 e / 2",
                energy(path.final),
                -N * N * math.e / 2,
                tolerance=1e-4,
            ),
            equal("late rate of decay of the diameter, against 1/sqrt(d)", late, 1 / math.sqrt(D), tolerance=1e-2),
        ),
        witness={"x0": np.asarray(x0)},
        parameters={"n": N, "d": D},
    )


published_gradient_run = claim(
    "consensus/experiment-7.1",
    statement="The printed P is symmetric positive definite; ten random tokens reach consensus under (8), "
    "and V_P decreases.",
    trial=partial(_gradient_trial, space=None),
    # Tokens on the sphere in place of the ellipsoid of P.
    control=lambda key, integrator: _gradient_trial(key, integrator, Sphere()),
    num_trials=16,
    note="initial tokens uniform in a box and projected: the paper gives neither initial tokens nor final times",
)


def _hemisphere_trial(key: Key, integrator: AbstractIntegrator, second: float) -> Trial:
    """Measure V of (13) and the diameter; the value matrix of the second head is `second` times I."""
    model, v = published_hemisphere_flow(), jnp.asarray(HEMISPHERE_AXIS)
    flow = TokenFlow(model.query_key, ScaledIdentity([1.0, second], D))
    x0 = initial_tokens("hemisphere", key, (N, D), flow.space)
    path = simulate(flow, x0, np.linspace(0.0, 20.0, 81), integrator=integrator)
    rise = worst_increase(path, lambda x: hemisphere_lyapunov(x, v))
    widths = np.asarray(path.along(diameter))
    late = _late_rate(np.asarray(path.ts), widths, 2.0)
    expected = printed_field(x0, heads_of_7_2(WHEN), np.stack([np.eye(D)] * 2), np.eye(D))
    return Trial(
        hypotheses=(at_least("least initial v^T y_i", jnp.min(x0 @ v), 0.0, tolerance=ROUNDING),),
        conclusions=(
            agrees("v as it ships", v, [1.0, 0.0, 0.0]),
            agrees("P_1(t), P_2(t) as they ship", model.query_key(WHEN), heads_of_7_2(WHEN)),
            agrees("the field that ships", model.vector_field(WHEN, x0), expected),
            agrees("V of (13) as it ships", hemisphere_lyapunov(x0, v), 1 - min(float(x[0]) for x in x0)),
            at_most("largest increase of V of (13)", rise.amount, 0.0, tolerance=rise.error + SOLVER),
            at_least(
                "least v^T y_i over time, against its initial value",
                jnp.min(path.ys @ v),
                jnp.min(x0 @ v),
                tolerance=SOLVER,
            ),
            chord("diameter at t=20", widths[-1], 1e-2),
            equal("late rate of decay of the diameter, against 2/sqrt(d)", late, 2 / math.sqrt(D), tolerance=2e-2),
        ),
        witness={"x0": np.asarray(x0)},
        parameters={"n": N, "d": D, "heads": 2},
    )


published_hemisphere_run = claim(
    "consensus/experiment-7.2",
    statement="With the printed P_1(t), P_2(t), ten tokens that start in the hemisphere of v remain there and reach "
    "consensus, and V of (13) decreases.",
    trial=partial(_hemisphere_trial, second=1.0),
    control=partial(_hemisphere_trial, second=-1.0),  # The value matrix -I for the second head.
    num_trials=8,
    note="initial tokens uniform in the hemisphere of the printed v",
)


def _symmetric_trial(key: Key, integrator: AbstractIntegrator, changed: float) -> Trial:
    """Measure convergence to v; in the flow the two equal entries in the first row and column of U are `changed` by."""
    model = published_symmetric_flow()
    used = SYMMETRIC_VALUE + changed * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    values, vectors = np.linalg.eigh(SYMMETRIC_VALUE)
    v = jnp.asarray(oriented(vectors[:, -1]))
    x = Sphere().sample(key, (N, D))
    x = x * jnp.sign(x @ v)[:, None]
    # the first token starts at 45 degrees from v, and the second one near v, from where U y_1 first draws it away
    across = oriented(vectors[:, 0]) + 0.5 * (x[0] - (v @ x[0]) * v)  # not near the kernel of U
    x = x.at[0].set(Sphere().project(v + across / jnp.linalg.norm(across)))
    aside = SYMMETRIC_VALUE @ x[0] - (v @ SYMMETRIC_VALUE @ x[0]) * v
    x0 = x.at[1].set(Sphere().project(v + 0.02 * aside / jnp.linalg.norm(aside)))
    flow = TokenFlow(model.query_key, used, mask=model.mask)
    path = simulate(flow, x0, np.linspace(0.0, 60.0, 241), integrator=integrator)
    far = path.along(lambda y: distance_to_point(y, v))
    rise = worst_increase(path, lambda y: 1 - y[1] @ v)
    first, second = np.asarray(1 - path.ys[:, 0] @ v), np.asarray(1 - path.ys[:, 1] @ v)
    expected = max(b - a for k, b in enumerate(second) for a in second[: k + 1])
    return Trial(
        hypotheses=(
            at_least("top eigenvalue of the printed U", values[-1], 0.0, tolerance=ROUNDING),
            at_least("spectral gap below it", values[-1] - values[-2], 0.0, tolerance=ROUNDING),
            at_least("least initial v^T y_i", jnp.min(x0 @ v), 0.0, tolerance=ROUNDING),
            at_least("initial distance of the first token from v", jnp.linalg.norm(x0[0] - v), 0.1, tolerance=SOLVER),
        ),
        conclusions=(
            agrees("U as it ships", model.value(0.0), U_OF_7_3[None]),
            agrees("P(t) as it ships", model.query_key(WHEN), head_of_7_3(WHEN)),
            _field(model, x0, head_of_7_3(WHEN), U_OF_7_3[None], np.eye(D), before),
            agrees(
                "the distance from v as it ships", far[0], max(np.linalg.norm(np.asarray(x0) - np.asarray(v), axis=1))
            ),
            chord("distance from (v, ..., v) at t=60", far[-1], 1e-2),
            at_most("largest increase of V_1 from one time to the next", np.max(np.diff(first)), 0.0, tolerance=SOLVER),
            agrees("the largest increase of V_2 as it ships", rise.amount, expected),
            at_least("largest increase of V_2", rise.amount, 1e-5, tolerance=rise.error + SOLVER),
        ),
        witness={"x0": np.asarray(x0), "v": np.asarray(v)},
        parameters={"n": N, "d": D},
    )


@claim("consensus/experiment-7.3", num_trials=8)
def published_symmetric_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the printed U and P(t), ten tokens in the hemisphere of the top eigenvector v converge to (v, ..., v), while
    V_2 = 1 - y_2^T v may increase: it does for the initial tokens constructed here. V_1 = 1 - y_1^T v does not.
    """
    return _symmetric_trial(key, integrator, 0.0)


@published_symmetric_run.with_control
def published_symmetric_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The flow of a matrix U with another second entry in its first row and column, 0.3965 in place of 0.4965."""
    return _symmetric_trial(key, integrator, -0.1)


def _ensemble_trial(key: Key, integrator: AbstractIntegrator, mask: AbstractMask | None) -> Trial:
    """Measure E and the distance from the first token, under the causal mask if no other `mask` is given."""
    a, b = jax.random.split(key)
    model = published_ensemble_flow(a)
    x0 = initial_tokens("box", b, (50, 500))
    flow = model if mask is None else TokenFlow(model.query_key, model.value, mask=mask)
    # P(t) has a thousand kinks of |sin| in every period, which limit the order: a tight tolerance would only cost steps
    moderate = InSpan(replace(integrator, rtol=1e-5, atol=1e-7))  # pyright: ignore[reportCallIssue]
    path = simulate(flow, x0, [0.0, STEP, 100.0, 200.0], integrator=moderate)
    E, far = path.along(misalignment), path.along(lambda x: distance_to_point(x, x0[0]))
    P, eye = model.query_key, np.eye(500)
    slopes = [
        printed_field(x, np.asarray(P(t)), np.stack([eye] * 2), eye, before)
        for t, x in zip((0.0, STEP), path.ys[:2], strict=True)
    ]
    early, late = np.asarray(P(0.0)), np.asarray(P(3.0))  # D(t) has turned by up to 3 radians, P' is in ]-1/2, 1/2[
    change = np.max(np.abs(np.asarray(P(STEP)) - early)) / STEP
    w, phi, base = (np.asarray(table) for table in (P.frequency, P.phase, P.base))  # pyright: ignore[reportAttributeAccessIssue]
    drawn = (w, np.mod(phi, np.pi), np.ravel(base)[: w.size])  # of frequencies, phases, and some entries of P_h'
    between = [np.corrcoef(*table.reshape(2, -1)[:, :500])[0, 1] for table in (w, phi, base)]
    apart = 6 / math.sqrt(500)
    step = np.max(np.abs(np.asarray(path.ys[1] - x0) - STEP * (slopes[0] + slopes[1]) / 2))
    return Trial(
        hypotheses=(at_least("initial E", E[0], 0.1, tolerance=SOLVER),),
        conclusions=(
            holds("no entry of P_h(t) changes its sign", bool(np.all(early * late >= 0))),
            equal("largest entry of P_h(0)", np.max(np.abs(early)), 1.0, tolerance=0.02),
            equal("largest rate of change of an entry there", change, 1.0, tolerance=0.1),
            at_most(
                "largest correlation of frequencies, phases (|sin| has the period pi) and entries of P_h'",
                np.max(np.abs(np.corrcoef([np.ravel(table) for table in drawn]) - np.eye(3))),
                apart,
                tolerance=0.0,
                within=(0, 1),
            ),
            at_most("the same between the heads", np.max(np.abs(between)), apart, tolerance=0.0, within=(0, 1)),
            equal("share of positive coordinates at the start", np.mean(x0 > 0), 0.5, tolerance=0.02, within=(0, 1)),
            equal("share of positive entries of P_h(0)", np.mean(early > 0), 0.5, tolerance=0.01, within=(0, 1)),
            at_most("E at t=200, against a tenth of that at t=100", E[3], 0.1 * E[2], tolerance=NON_SMOOTH),
            at_most("E at t=200", E[3], 1e-3, tolerance=NON_SMOOTH, within=(0, 1)),
            at_most("distance from the first token at t=200", far[3], 0.1, tolerance=NON_SMOOTH, within=(0, 2)),
            at_most(
                "error of a first step by the trapezoidal rule, over its length", step / STEP, 0.0, tolerance=NON_SMOOTH
            ),
        ),
        witness={"seed of P and start": np.asarray(jax.random.key_data(key)), "E": np.asarray(E)},
        parameters={"n": 50, "d": 500, "heads": 2},
    )


published_ensemble_run = claim(
    "consensus/experiment-7.4",
    statement="50 tokens in R^500, two heads, random P_h(t): E of (25) converges to zero along all trajectories of "
    "(15).",
    trial=partial(_ensemble_trial, mask=None),
    control=lambda key, integrator: _ensemble_trial(key, integrator, Window(1)),  # A token attends to itself only.
    num_trials=8,
    note="one solution for each trial, with new weights; since E ignores signs, the distance of tokens from the first "
    "one, which does not move, is measured besides",
)
