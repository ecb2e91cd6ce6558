"""Claims of the simulations of Sections 7.1 to 7.4, with the published matrices."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.monotone import worst_increase
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most
from analysis.tokens.consensus import diameter, misalignment
from analysis.tokens.energies import consensus_potential, hemisphere_lyapunov
from dynsim._types import Key
from dynsim.initial_distributions import initial
from dynsim.integrators import AbstractIntegrator, InSpan
from dynsim.orientation import oriented
from dynsim.papers import CONSENSUS
from dynsim.simulation import simulate
from dynsim.spaces import Sphere
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.published import (
    GRADIENT_MATRIX,
    HEMISPHERE_AXIS,
    SYMMETRIC_VALUE,
    published_ensemble_flow,
    published_gradient_flow,
    published_hemisphere_flow,
    published_symmetric_flow,
)

N, D = 10, 3
NON_SMOOTH = 1e-4  # ten times the tolerance requested for a field that is not differentiable in time


def _with_negated_value(flow: TokenFlow) -> TokenFlow:
    """Return the flow with -U in place of U."""
    value = -1.0 if isinstance(flow.value, ScaledIdentity) else -flow.value(0.0)
    return TokenFlow(flow.query_key, value, space=flow.space, mask=flow.mask)


def _gradient_trial(key: Key, integrator: AbstractIntegrator, negated: bool) -> Trial:
    flow = published_gradient_flow()
    x0 = initial("box", key, (N, D), flow.space)
    P = jnp.asarray(GRADIENT_MATRIX)
    path = simulate(
        _with_negated_value(flow) if negated else flow, x0, np.linspace(0.0, 60.0, 121), integrator=integrator
    )
    rise = worst_increase(path, lambda x: consensus_potential(x, P))
    widths = path.along(diameter)
    return Trial(
        hypotheses=(
            at_least(
                "smallest eigenvalue of the printed P", np.linalg.eigvalsh(GRADIENT_MATRIX)[0], 0.0, tolerance=ROUNDING
            ),
            at_most("largest entry of P - P^T", np.abs(GRADIENT_MATRIX - GRADIENT_MATRIX.T).max(), 0.0, tolerance=0.0),
        ),
        conclusions=(
            at_most("largest increase of V_P", rise.amount, 0.0, tolerance=rise.error + SOLVER),
            at_most("diameter at t=60", widths[-1], 1e-2, tolerance=SOLVER),
        ),
        witness={"x0": np.asarray(x0)},
    )


@claim(
    "consensus/experiment-7.1",
    CONSENSUS.at("Section 7.1, Figure 1"),
    num_trials=16,
    note="initial tokens uniform in a box and projected: the paper gives neither initial tokens nor final times",
)
def published_gradient_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The printed P is symmetric positive definite; ten random tokens reach consensus under (8), and V_P decreases."""
    return _gradient_trial(key, integrator, False)


@published_gradient_run.with_control
def published_gradient_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _gradient_trial(key, integrator, True)


def _hemisphere_trial(key: Key, integrator: AbstractIntegrator, negated: bool) -> Trial:
    flow, v = published_hemisphere_flow(), jnp.asarray(HEMISPHERE_AXIS)
    x0 = initial("hemisphere", key, (N, D), flow.space)
    path = simulate(
        _with_negated_value(flow) if negated else flow, x0, np.linspace(0.0, 20.0, 81), integrator=integrator
    )
    rise = worst_increase(path, lambda x: hemisphere_lyapunov(x, v))
    widths = path.along(diameter)
    return Trial(
        hypotheses=(at_least("least initial v^T y_i", jnp.min(x0 @ v), 0.0, tolerance=ROUNDING),),
        conclusions=(
            at_most("largest increase of V of (13)", rise.amount, 0.0, tolerance=rise.error + SOLVER),
            at_least(
                "least v^T y_i over time, against its initial value",
                jnp.min(path.ys @ v),
                jnp.min(x0 @ v),
                tolerance=SOLVER,
            ),
            at_most("diameter at t=20", widths[-1], 1e-2, tolerance=SOLVER),
        ),
        witness={"x0": np.asarray(x0)},
    )


@claim(
    "consensus/experiment-7.2",
    CONSENSUS.at("Section 7.2, Figures 2 and 3"),
    num_trials=8,
    note="initial tokens uniform in the hemisphere of the printed v",
)
def published_hemisphere_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the printed P_1(t), P_2(t), ten tokens that start in the hemisphere of v remain there and reach consensus,
    and V of (13) decreases.
    """
    return _hemisphere_trial(key, integrator, False)


@published_hemisphere_run.with_control
def published_hemisphere_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _hemisphere_trial(key, integrator, True)


def _symmetric_trial(key: Key, integrator: AbstractIntegrator, negated: bool) -> Trial:
    flow = published_symmetric_flow()
    values, vectors = np.linalg.eigh(SYMMETRIC_VALUE)
    v = jnp.asarray(oriented(vectors[:, -1]))
    x = Sphere().sample(key, (N, D))
    x = x * jnp.sign(x @ v)[:, None]
    # the second token starts near v and first moves away from it, towards the first token, which is far from v
    aside = SYMMETRIC_VALUE @ x[0] - (v @ SYMMETRIC_VALUE @ x[0]) * v
    x0 = x.at[1].set(Sphere().project(v + 0.05 * aside / jnp.linalg.norm(aside)))
    path = simulate(
        _with_negated_value(flow) if negated else flow, x0, np.linspace(0.0, 60.0, 241), integrator=integrator
    )
    far = path.along(lambda y: jnp.max(jnp.linalg.norm(y - v[None], axis=-1)))
    rise = worst_increase(path, lambda y: 1 - y[1] @ v)
    return Trial(
        hypotheses=(
            at_least("top eigenvalue of the printed U", values[-1], 0.0, tolerance=ROUNDING),
            at_least("spectral gap below it", values[-1] - values[-2], 0.0, tolerance=ROUNDING),
            at_least("least initial v^T y_i", jnp.min(x0 @ v), 0.0, tolerance=ROUNDING),
            at_least("initial distance of the first token from v", jnp.linalg.norm(x0[0] - v), 0.1, tolerance=SOLVER),
        ),
        conclusions=(
            at_most("distance from (v, ..., v) at t=60", far[-1], 1e-2, tolerance=SOLVER),
            at_least("largest increase of V_2", rise.amount, 1e-5, tolerance=rise.error + SOLVER),
        ),
        witness={"x0": np.asarray(x0), "v": np.asarray(v)},
    )


@claim("consensus/experiment-7.3", CONSENSUS.at("Section 7.3, Figure 4"), num_trials=8)
def published_symmetric_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the printed U and P(t), ten tokens in the hemisphere of the top eigenvector v converge to (v, ..., v), while
    V_2 = 1 - y_2^T v may increase: it does for the initial tokens constructed here.
    """
    return _symmetric_trial(key, integrator, False)


@published_symmetric_run.with_control
def published_symmetric_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -U."""
    return _symmetric_trial(key, integrator, True)


def _ensemble_trial(key: Key, integrator: AbstractIntegrator, negated: bool) -> Trial:
    a, b = jax.random.split(key)
    flow = published_ensemble_flow(a)
    x0 = initial("box", b, (50, 500))
    flow = _with_negated_value(flow) if negated else flow
    # P(t) has a thousand kinks of |sin| in every period, which limit the order: a tight tolerance would only cost steps
    moderate = InSpan(replace(integrator, rtol=1e-5, atol=1e-7))  # pyright: ignore[reportCallIssue]
    path = simulate(flow, x0, [0.0, 100.0, 200.0], integrator=moderate)
    E, widths = path.along(misalignment), path.along(diameter)
    return Trial(
        hypotheses=(at_least("initial E", E[0], 0.1, tolerance=SOLVER),),
        conclusions=(
            at_most("E at t=200, against a tenth of that at t=100", E[2], 0.1 * E[1], tolerance=NON_SMOOTH),
            at_most("E at t=200", E[2], 1e-3, tolerance=NON_SMOOTH),
            at_most("diameter at t=200", widths[2], 0.1, tolerance=NON_SMOOTH),
        ),
        witness={"seed of P and start": np.asarray(jax.random.key_data(key)), "E": np.asarray(E)},
    )


@claim(
    "consensus/experiment-7.4",
    CONSENSUS.at("Section 7.4, Figure 5"),
    num_trials=8,
    note="one solution for each trial, with new weights; the diameter is measured besides E, which ignores signs",
)
def published_ensemble_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """50 tokens in R^500, two heads, random P_h(t): E of (25) converges to zero along all trajectories of (15)."""
    return _ensemble_trial(key, integrator, False)


@published_ensemble_run.with_control
def published_ensemble_run(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The value matrix -I."""
    return _ensemble_trial(key, integrator, True)
