"""Claims of Appendix A on the fast and the slow subsystem, the slow manifold and the reduced flow."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.hessians import hessian, pair_hessian
from analysis.claims.prototypes.instances.lattices import lattice_point
from analysis.claims.prototypes.instances.partly_trained import Minimum, minimum, random_pair
from analysis.claims.prototypes.section_04_small_ratios import exact_velocities, moving, shipped_field
from analysis.dynamics.convergence import observed_order
from analysis.dynamics.equilibria.newton import newton
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, agrees, at_least, equal, holds
from analysis.prototypes.hessian import hessian_blocks
from analysis.prototypes.slow_manifold import (
    FRAMES,
    effective_loss,
    effective_loss_hessian,
    manifold_distances,
    relaxed_prototypes,
)
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.papers import PROTOTYPES
from dynsim.simulation.simulate import simulate
from dynsim.systems.fast_slow.flow import FastSubsystem
from dynsim.systems.prototypes.flow import Coupled

EPSILONS = np.array([8e-3, 4e-3, 2e-3])


def _source(equation: str):
    return PROTOTYPES.at("Appendix A", equation=equation)


@certified(
    "prototypes/appendix-a-systems",
    num_trials=4,
    note="in that time dtheta/dt = -eps F: it is the encoder that is slow, and (A.3) exchanges the roles; the variable "
    "with eps in (A.3) is theta, and (A.5) takes P for the fast one; mode frozen",
)
def systems_in_prototype_time(key: Key) -> Trial:
    """In the time eta_P t the flow is eps dtheta/dt = -F, dP/dt = -G."""
    at = lattice_point(key, linear=False)
    v, (F, G) = exact_velocities(at), at.gradients
    return Trial(
        hypotheses=(shipped_field(at), moving(at), holds("the ratio is below 1", at.ratio < 1)),
        conclusions=(
            holds("(A.3)", bool(np.all(at.ratio * v.encoder / at.rate == -F))),
            holds("(A.4)", bool(np.all(v.prototypes / at.rate == -G))),
        ),
        witness={"z": at.x, "p": at.p, "eta_theta": at.encoder_rate, "eta_P": at.rate},
        parameters={"eps": float(at.ratio)},
    )


def _off(at: Minimum, key: Key) -> Coupled:
    """Return a state at a distance from the critical point."""
    rng = numpy_rng(key, "off")
    return Coupled(at.state.encoder + 0.2, at.state.prototypes + 0.2 * rng.normal(size=(3, 2)))


def _subsystem_trial(key: Key, integrator: AbstractIntegrator, shift: float) -> Trial:
    """Compare the fast subsystem with the flow of the prototypes alone, and with the flow at small ratios."""
    at = minimum(key, mode="full")
    start, rate = _off(at, key), float(at.flow.prototype_rate)
    theta = start.encoder + shift
    fast = FastSubsystem(at.flow.fast_slow(theta), theta).velocity(0.0, start.prototypes)
    alone = at.flow.frozen_encoder(start.encoder).velocity(0.0, start.prototypes)
    end = lambda e: simulate(at.flow.with_ratio(e), start, [0.0, 1 / rate], integrator=integrator).final
    limit, ratios = end(1e-12), EPSILONS / 5
    errors = [float(jnp.max(jnp.abs(end(e).prototypes - limit.prototypes))) for e in ratios]
    return Trial(
        hypotheses=(at_least("distance from the critical point", 0.2, 0.0, tolerance=ROUNDING),),
        conclusions=(
            agrees("the fast subsystem: dP/d(eta_P t) at fixed theta", fast, np.asarray(alone) / rate),
            equal(
                "order in eps of the distance from it at eta_P t = 1",
                observed_order(EPSILONS, errors).rate,
                1.0,
                tolerance=0.05,
            ),
            equal(
                "change of theta in the limit", jnp.max(jnp.abs(limit.encoder - start.encoder)), 0.0, tolerance=SOLVER
            ),
        ),
        witness={"start": start, "errors": errors},
    )


@claim(
    "prototypes/appendix-a-systems/corrected",
    control=partial(_subsystem_trial, shift=0.05),  # The fast subsystem at another theta.
    num_trials=3,
    note="changed: the roles; with claim-rescaling/corrected for the slow time eta_theta t. Mode full",
)
def prototypes_are_the_fast_subsystem(key: Key, integrator: AbstractIntegrator) -> Trial:
    """In the time eta_P t the flow is dP/dt = -G, dtheta/dt = -eps F; as eps tends to 0 it tends, with an error of
    order eps on bounded intervals, to the fast subsystem dP/dt = -G at fixed theta.
    """
    return _subsystem_trial(key, integrator, 0.0)


@certified(
    "prototypes/appendix-a-6",
    num_trials=4,
    note="theta is slow: it stays where it starts for times eta_P t of order one. Mode frozen",
)
def encoder_is_near_its_quasi_static_equilibrium(key: Key) -> Trial:
    """On a bounded interval of the time eta_P t, |theta - theta*(P)| <= C eps.

    The instance: two data (+-a, +-y), the encoder (x_0, theta x_1), both prototypes at 0: they rest, and dtheta/dt =
    -4 y^2 eps theta, so that theta* = 0 and theta(t) >= theta_0 (1 - 4 y^2 eps t).
    """
    rng = numpy_rng(key, "instance")
    pair = random_pair(key, separated=False)
    C, end, start = (Fraction(int(rng.integers(1, 50))) for _ in range(3))
    epsilon = start / (2 * (C + 4 * pair.y**2 * end * start))
    flow = pair.flow(encoder_rate=float(epsilon))
    v = flow.velocity(0.0, Coupled(jnp.asarray([float(start)]), jnp.zeros((2, 2))))
    rate = 4 * pair.y**2 * epsilon
    return Trial(
        hypotheses=(
            agrees(
                "dtheta/dt of the flow that ships, over theta_0", v.encoder / float(start), np.array([-float(rate)])
            ),
            agrees("dP/dt", v.prototypes / float(start), np.zeros((2, 2))),
            holds("eps > 0", epsilon > 0),
        ),
        conclusions=(holds("|theta - theta*(P)| <= C eps at the end", start * (1 - rate * end) <= C * epsilon),),
        witness={"y": pair.y, "theta_0": start, "t": end, "C and eps": [(C, epsilon)]},
    )


def _manifold_trial(key: Key, integrator: AbstractIntegrator, end: Callable[[float], float]) -> Trial:
    """Measure P - P*(theta) at eta_theta t = end(eps): the order of its size, and its coefficient at the least eps."""
    at = minimum(key, mode="full")
    start, distances = _off(at, key), []
    for e in EPSILONS:
        flow, horizon = at.flow.with_ratio(e), end(e)
        ts = np.append(0.0, np.linspace(0.5, 1.0, FRAMES)) * horizon / float(flow.encoder_rate)
        states = simulate(flow, start, ts, integrator=integrator).ys
        state = Coupled(states.encoder[-1], states.prototypes[-1])
        rest = relaxed_prototypes(at.flow, state.encoder, state.prototypes)
        found = np.ravel(state.prototypes - rest.prototypes)
        distances.append(float(np.linalg.norm(found)))
    on_the_way = max(
        float(np.max(np.abs(P - relaxed_prototypes(at.flow, theta, P).prototypes)))
        for theta, P in zip(states.encoder[1:], states.prototypes[1:], strict=True)
    )
    shipped = manifold_distances(at.flow, start, EPSILONS[-1:].tolist(), horizon, integrator=integrator)
    on = Coupled(state.encoder, jnp.asarray(rest.prototypes))
    H, slope = hessian_blocks(at.flow, on), np.asarray(at.flow.gradient(0.0, on).encoder)
    inverse = np.linalg.inv(H.prototypes)
    first = -EPSILONS[-1] * inverse @ inverse @ H.mixed.T @ slope
    return Trial(
        hypotheses=(at_least("rate mu_P at the end", rest.rate, 0.1, tolerance=SOLVER),),
        conclusions=(
            equal("order in eps of |P - P*|", observed_order(EPSILONS, distances).rate, 1.0, tolerance=0.1),
            equal("its coefficient over that of the expansion", found @ first / (first @ first), 1.0, tolerance=0.1),
            equal("`manifold_distances` over the largest on the way", shipped[0] / on_the_way, 1.0, tolerance=1e-5),
            equal(
                "mu_P over the least eigenvalue of H_PP", rest.rate * np.linalg.norm(inverse, 2), 1.0, tolerance=1e-8
            ),
        ),
        witness={"start": start, "distances": distances, "first order": first},
    )


prototypes_are_near_their_quasi_static_equilibrium = claim(
    "prototypes/appendix-a-6/corrected",
    statement="""After an initial layer |P - P*(theta)| = O(eps), at bounded times eta_theta t.

    To first order it is -eps H_PP^-2 H_Ptheta grad_theta L.
    """,
    trial=partial(_manifold_trial, end=lambda _: 0.4),
    control=partial(_manifold_trial, end=lambda e: 0.1 * e),  # Within the initial layer, at eta_P t = 1 / 10.
    num_trials=3,
    note="changed: the roles, and an initial layer is left out; near a nondegenerate minimum. Mode full",
)


@certified(
    "prototypes/appendix-a-7",
    num_trials=2,
    note="a bounded Hessian makes the field Lipschitz, not contracting: below the critical temperature 2 a^2 two "
    "solutions near the collapse move apart. Mode frozen",
)
def reduced_flow_is_a_contraction(key: Key) -> Trial:
    """If the Hessian of the reduced loss is at most L, the reduced flow dP/dt = -grad L~(P) contracts distances.

    The instance: two data, the encoder (x_0, theta x_1), two prototypes at 0, theta*(P) = 0. There H_thetatheta > 0 and
    H_Ptheta = 0, and the eigenvalues of the Hessian of the reduced loss are 2 and 2 - 4 a^2 / T.
    """
    factor = Fraction(int(jax.random.randint(key, (), 3, 8)), 8)
    pair = random_pair(key, separated=False, factor=factor)
    least, other = (e.low for e in pair.fixed_eigenvalues)
    L = max(abs(least), other, Fraction(2))
    return Trial(
        hypotheses=(
            *pair_hessian(pair),
            holds("theta*(P) is attracting, and independent of P to first order", pair.y != 0 and pair.r == 0),
            holds("the Hessian of the reduced loss is at most L", max(abs(least), abs(other)) <= L),
        ),
        conclusions=(holds("the least eigenvalue of that Hessian is positive", least > 0),),
        witness={"a": pair.a, "y": pair.y, "1 / T": pair.inverse_temperature.low, "eigenvalue": least},
    )


def _contraction_trial(key: Key, curvature: Callable[[Minimum], np.ndarray]) -> Trial:
    """Compare one-sided Lipschitz constants of the reduced field between points near a minimum with its curvatures."""
    at = minimum(key, mode="full")
    values, vectors = np.linalg.eigh(curvature(at))
    directions = [*vectors.T, numpy_rng(key, "direction").normal(size=2)]
    quotients = []
    for v in directions:
        ends = []
        for sign in (1, -1):
            theta = at.state.encoder + jnp.asarray(sign * 1e-3 * v)
            p = newton(at.flow.frozen_encoder(theta), at.state.prototypes)[0]
            ends.append(np.asarray(at.flow.gradient(0.0, Coupled(theta, p)).encoder))
        quotients.append(float(v @ (ends[0] - ends[1]) / (2e-3 * v @ v)))
    heights = [
        effective_loss(at.flow, at.state.encoder + s * vectors[:, 1], at.state.prototypes) for s in (-0.01, 0, 0.01)
    ]
    bend = (heights[0] - 2 * heights[1] + heights[2]) / 1e-4
    return Trial(
        hypotheses=(at_least("least curvature of the reduced loss", values[0], 0.0, tolerance=SOLVER),),
        conclusions=(
            equal("rate at which points approach along the first eigenvector", quotients[0], values[0], tolerance=1e-3),
            equal("and along the second", quotients[1], values[1], tolerance=1e-3),
            equal("bend of the reduced loss along it, over that", bend / values[1], 1.0, tolerance=0.05),
            agrees("the reduced loss at the minimum", heights[1], at.flow.value(0.0, at.state)),
            at_least("rate along another, less the least curvature", quotients[2], values[0], tolerance=1e-3),
            at_least("the largest curvature, less that rate", values[1], quotients[2], tolerance=1e-3),
        ),
        witness={"state": at.state, "curvatures": values, "rates": quotients},
        parameters={"mode": at.flow.loss.gradient},
    )


reduced_flow_contracts_near_a_minimum = claim(
    "prototypes/appendix-a-7/corrected",
    statement="Near a nondegenerate minimum of the reduced loss L~(theta), with Hessian between l > 0 and L, the "
    "distance of two solutions of dtheta/dt = -grad L~ decreases at a rate between l and L.",
    trial=partial(
        _contraction_trial, curvature=lambda at: effective_loss_hessian(at.flow, at.state.encoder, at.state.prototypes)
    ),
    # The Hessian by theta at fixed prototypes in place of that of the reduced loss.
    control=partial(_contraction_trial, curvature=lambda at: hessian(at)[:2, :2]),
    num_trials=4,
    note="added: a neighbourhood of a nondegenerate minimum, where the Hessian is also at least l > 0; changed: the "
    "roles. Mode full",
)
