"""Claims of Fact 1 and Section 4.4 on convergence: prototypes that escape to infinity, and what a ridge repairs."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.escapes import Escape, escape
from analysis.claims.prototypes.instances.schedules import Relaxing
from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, equal, holds
from analysis.prototypes.boundedness import escape_constant
from analysis.prototypes.certificates import bounding_radius
from dynsim._core.types import Key, Scalar, State, Time
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import AbstractTemperature


def _escape_trial(key: Key, at: Escape, temperature: AbstractTemperature | None = None) -> Trial:
    """Measure that a region is invariant and its prototypes move apart, by inequalities and in the flow."""
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(K, 2)", at.condition),
            holds("the prototypes are distinct at the start", at.b0 > 0),
            at_least(
                "least speed in the region, of the flow that ships, less the bound",
                at.lowest_speed(key, temperature),
                0.0,
                tolerance=1e-9,  # rounding, over the strength of the repulsion
            ),
        ),
        conclusions=(holds("some trajectory in the region has a limit point", not at.invariant),),
        witness=at.witness(),
        parameters={"mode": at.mode, "lambda / eta_P": float(at.barrier / at.rate)},
    )


def _mode(key: Key) -> str:
    return ("full", "frozen")[int(jax.random.randint(key, (), 0, 2))]


frozen_encoder_flow_converges = certified(
    "prototypes/fact-1",
    statement="""
    For lambda > 2 eta_P C(K, 2) the flow P' = -eta_P grad_P of the loss with the barrier has a global Lyapunov
    function and converges to the set of its critical points with distinct prototypes.

    The instance has one embedding and two prototypes on a line, started at a distance.
    """,
    trial=lambda key: _escape_trial(key, escape(key, mode=_mode(key), coupled=False)),
    num_trials=4,
    note="a Lyapunov function exists; convergence fails for every lambda > 0 in both modes: a prototype far from the "
    "embeddings and the others is repelled like 2 lambda / r^3 and attracted at most like r e^(-r^2 / T), so that r^4 "
    "grows at least like 4 lambda eta_P t",
)


coupled_flow_converges = certified(
    "prototypes/theorem-2-convergence",
    statement="""
    For lambda > 2 eta_P C(K, 2) the flow of encoder and prototypes with the barrier converges to the set of its
    critical points with distinct prototypes, for any ratio of rates.

    The instance has one free embedding and two prototypes on a line.
    """,
    trial=lambda key: _escape_trial(key, escape(key, mode=_mode(key), coupled=True)),
    num_trials=4,
    note="as Fact 1, with a free embedding that moves at its own rate; both modes, each with the gradient of its own "
    "potential; the growth law is the claim `growth`",
)


@certified(
    "prototypes/theorem-3-convergence",
    num_trials=4,
    note="the region of the escape at the first temperature is one at every lower temperature; both modes",
)
def annealed_flow_converges(key: Key) -> Trial:
    """For any decreasing T(t) with limit T_min > 0 the flow converges to the critical set at T_min."""
    at = escape(key, mode=_mode(key), coupled=True)
    cooled = at._replace(temperature=at.temperature / 4)
    trial = _escape_trial(key, cooled, Relaxing(float(at.temperature), float(cooled.temperature), 2.0))
    first = holds("the region is one at the first temperature too", at.invariant)
    witness = {**at.witness(), "T_min": cooled.temperature}
    return replace(trial, hypotheses=(*trial.hypotheses, first), witness=witness)


FRAMES = 17
LONGEST = 8192.0  # time within which a trajectory must have settled
FARTHEST = 2.0  # the factor by which the distance grows: its fourth power by a decade
CURVED = 0.02  # of the slope of r^4: the squares of the other distances, of order one, over r^2 > 144


@claim(
    "prototypes/theorem-2-convergence/growth",
    num_trials=2,
    note="five embeddings and three prototypes in the plane, frozen encoder, mode full: r^4 = 8 lambda eta_P (K - 1) t "
    "over a decade",
)
def trajectories_do_not_escape(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For lambda > 2 eta_P C(K, 2) trajectories do not escape to infinity.

    Read: the fourth power of the distance of a prototype that starts far from the embeddings and the others does not
    grow at the rate 8 lambda eta_P (K - 1), with which it would be infinite in the limit.
    """
    flow, p = plane_bank(key, far=12.0, ridge=0.0)
    growth = escape_constant(flow.loss, 3, float(flow.rate))
    end = (FARTHEST**4 - 1) * 12.0**4 / growth
    ts = np.append(0.0, np.geomspace(end / 30, end, FRAMES - 1))
    path = simulate(flow, p, ts, integrator=integrator)
    far = np.asarray(path.along(lambda y: jnp.linalg.norm(y[2] - (y[0] + y[1]) / 2)))
    slopes = np.diff(far**4) / np.diff(ts) / growth
    return Trial(
        hypotheses=(
            at_least("lambda less 2 eta_P C(3, 2)", flow.loss.barrier - 6 * flow.rate, 0.0, tolerance=ROUNDING),
            equal("slope of r^4 over 8 lambda eta_P (K - 1), at the end", slopes[-1], 1.0, tolerance=CURVED),
            equal("the same at the beginning", slopes[1], 1.0, tolerance=5 * CURVED),
        ),
        conclusions=(at_most("the slope at the end", slopes[-1], 0.0, tolerance=SOLVER),),
        witness={"embeddings": flow.embeddings, "p": p, "r": far, "ts": ts},
        parameters={"mode": flow.loss.gradient, "r": f"{far[0]:.1f} to {far[-1]:.1f}"},
    )


def plane_bank(key: Key, *, far: float, ridge: float) -> tuple[PrototypeFlow, jax.Array]:
    """Return a flow with 5 embeddings in the plane, and 3 prototypes, one of them at the distance `far`, to start."""
    rng = numpy_rng(key, "bank")
    angle, eta = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 1.0)
    loss = PrototypeLoss("full", barrier=rng.uniform(6.5, 9) * eta, ridge=ridge)
    p = jnp.asarray([[-0.5, 0.2], [0.6, -0.1], [far * np.cos(angle), far * np.sin(angle)]])
    return PrototypeFlow(rng.normal(size=(5, 2)), rng.uniform(0.5, 1), loss=loss, rate=eta), p


def line_bank(key: Key, *, far: float, ridge: float, annealed: bool = False) -> tuple[CoupledFlow, Coupled]:
    """Return a coupled flow with 5 data, a linear encoder to the line, and 3 prototypes, one at the distance `far`."""
    rng = numpy_rng(key, "line")
    loss = PrototypeLoss("frozen", barrier=rng.uniform(0.2, 1), ridge=ridge)
    T = rng.uniform(0.5, 1)
    flow = CoupledFlow(
        rng.normal(size=(5, 2)),
        LinearEncoder(2, 1),
        Relaxing(4 * T, T, 1.0) if annealed else T,
        loss=loss,
        encoder_rate=rng.uniform(0.2, 2),
        prototype_rate=rng.uniform(0.5, 1),
    )
    return flow, Coupled(jnp.asarray(rng.normal(size=(1, 2))), jnp.asarray([[-0.5], [0.6], [far]]))


def lyapunov(flow: PrototypeFlow | CoupledFlow, t: Time, x: State) -> Scalar:
    """Return the potential, in the mode `frozen` raised by N T log K, which makes it positive and decrease with T."""
    count = (flow.embeddings if isinstance(flow, PrototypeFlow) else flow.data).shape[0]
    raised = 0.0 if flow.loss.gradient == "full" else count * jnp.log(3.0)
    return flow.potential(t, x) + raised * flow.temperature(t)


def _ridge_trial(flow: PrototypeFlow | CoupledFlow, start: State, integrator: AbstractIntegrator) -> Trial:
    """Measure the potential, the bounds on the prototypes, the limit and the rate of approach."""
    path = simulate(flow, start, np.linspace(0.0, 8.0, FRAMES), integrator=integrator)
    values = np.asarray(path.along_time(lambda t, y: lyapunov(flow, t, y)))
    sizes = np.asarray(path.along(lambda y: jnp.sum(flow.prototypes(y) ** 2)))
    gaps = np.asarray(path.along(lambda y: separation(flow.prototypes(y))))
    lam, rho = float(flow.loss.barrier), float(flow.loss.ridge)
    hypotheses = (
        at_least("separation at the start", separation(flow.prototypes(start)), 0.0, tolerance=SOLVER),
        at_least("lambda", lam, 0.0, tolerance=ROUNDING),
    )
    share = rho * np.max(sizes) / (2 * values[0])
    bounded = at_most("rho |P|^2 over 2 W(0)", share, 1.0, tolerance=SOLVER)
    if share > 1 + SOLVER:  # prototypes that leave the bound may overflow on the way to a limit
        return Trial(hypotheses, (bounded,), witness={"start": start, "sizes": sizes})
    limit = settle(flow, start, max_time=LONGEST, integrator=integrator)
    if limit.verdict in ("metastable", "undecided"):
        return Trial.unfinished(f"the state at t = {limit.time:g} is {limit.verdict}")
    certified = () if isinstance(flow.temperature, Relaxing) else _certificate(flow, start, path, rho / (2 * values[0]))
    resting = max(float(jnp.max(jnp.abs(v))) for v in jax.tree.leaves(flow.velocity(1e6, limit.state)))
    values_there = np.linalg.eigvals(tangent_jacobian(flow, limit.state, limit.time))
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            holds("the trajectory has a limit", limit.settled),
            at_most("speed there, at the last temperature", resting, 1e-5, tolerance=SOLVER),
            at_least("separation there", separation(flow.prototypes(limit.state)), 0.0, tolerance=SOLVER),
            at_most("largest growth rate there", np.max(np.real(values_there)), 0.0, tolerance=SOLVER),
            at_most("increase of W", np.max(np.diff(values)), 0.0, tolerance=SOLVER * values[0]),
            at_least("S over lambda / W(0)", np.min(gaps) * values[0] / lam, 1.0, tolerance=SOLVER),
            *certified,
            bounded,
        ),
        witness={"start": start, "limit": limit.state, "verdict": limit.verdict, "time": limit.time},
        parameters={"mode": flow.loss.gradient, "lambda": lam},
    )


def _certificate(
    flow: PrototypeFlow | CoupledFlow, start: State, path: Trajectory, scale: float
) -> tuple[Measurement, Measurement]:
    """Measure the radius that is certified at the start, whose square is 1 / scale, and that no prototype leaves it."""
    radius, _ = bounding_radius(flow, start)
    farthest = np.max(path.along(lambda y: jnp.max(jnp.linalg.norm(flow.prototypes(y), axis=1))))
    square = scale * radius**2 if np.isfinite(radius) else 0.0  # without a ridge none is certified
    return (
        equal("rho r^2 over 2 W(0), r being the certified radius", square, 1.0, tolerance=1e-6),
        at_most("largest |p_k| over that radius", farthest / radius, 1.0, tolerance=SOLVER),
    )


def _far(key: Key) -> float:
    """Return the position of the far prototype: near another one, at a generic place, or far away."""
    return (0.75, 2.0, 9.0)[int(jax.random.randint(key, (), 0, 3))]


frozen_encoder_flow_with_a_ridge_converges = claim(
    "prototypes/fact-1/corrected",
    statement="With the barrier, lambda > 0, and a ridge, rho > 0, every trajectory of the prototypes that starts "
    "with distinct prototypes converges to a critical point with distinct prototypes; W decreases, S >= lambda / W(0).",
    trial=lambda key, integrator: _ridge_trial(*plane_bank(key, far=_far(key), ridge=0.3), integrator),
    # No ridge, and a prototype far away.
    control=lambda key, integrator: _ridge_trial(*plane_bank(key, far=9.0, ridge=0.0), integrator),
    num_trials=4,
    note="added: a ridge rho / 2 |P|^2; then any lambda > 0 does. Mode full, in which W is L_q "
    "plus barrier and ridge; for the mode frozen see theorem-2-convergence/corrected",
)


coupled_flow_with_a_ridge_converges = claim(
    "prototypes/theorem-2-convergence/corrected",
    statement="With the barrier, lambda > 0, and a ridge, rho > 0, every trajectory of a linear encoder and distinct "
    "prototypes converges to a critical point with distinct prototypes, at any ratio of rates.",
    trial=lambda key, integrator: _ridge_trial(*line_bank(key, far=_far(key), ridge=0.3), integrator),
    # No ridge, and a prototype far away.
    control=lambda key, integrator: _ridge_trial(*line_bank(key, far=9.0, ridge=0.0), integrator),
    num_trials=4,
    note="added: a ridge, and a linear encoder of data that span their space (or free embeddings), which W bounds; any "
    "lambda > 0 and any ratio of rates do. Mode frozen, in which W is F + N T log K plus barrier and ridge",
)


@claim(
    "prototypes/theorem-3-convergence/corrected",
    # No ridge, and a prototype far away.
    control=lambda key, integrator: _ridge_trial(*line_bank(key, far=9.0, ridge=0.0, annealed=True), integrator),
    num_trials=2,
    note="added: a ridge, and a linear encoder of data that span their space; T(t) tends to T_min without reaching it. "
    "Mode frozen, in which W is F + N T log K plus barrier and ridge",
)
def annealed_flow_with_a_ridge_converges(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With barrier and ridge, for a decreasing T(t) with limit T_min > 0, every trajectory of a linear encoder and
    distinct prototypes converges to the critical points at T_min with distinct prototypes, here to one of them.
    """
    return _ridge_trial(*line_bank(key, far=_far(key), ridge=0.3, annealed=True), integrator)
