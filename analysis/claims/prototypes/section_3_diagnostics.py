"""Claims of Section 3.3 on separation and entropy along the coupled flow with a slow encoder."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.clouds import RATIO, in_some_mode, mode_of, slow_flow, two_clusters
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most
from analysis.prototypes.bank import bank_measures
from analysis.prototypes.collapse import collapse
from dynsim._types import Key, Scalar
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import PROTOTYPES
from dynsim.simulation import simulate
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow

TIMES = [0.0, 1.0, 2.0, 4.0, 8.0]
Diagnostic = Callable[[CoupledFlow, Coupled], Scalar]


def _coupled(key: Key, gradient: str, heat: float, spread: float) -> tuple[CoupledFlow, Coupled]:
    """Return a flow with a slow encoder, and prototypes at `spread` times the means of two clusters about their mean.

    The temperature is `heat` times the critical one of the mode; for a spread of one the prototypes start
    where k-means puts them. The encoder is linear and starts at the identity.
    """
    data = two_clusters(key)
    flow = slow_flow(data.z, heat, gradient)
    mean = collapse(data.z, 2)
    return flow, Coupled(jnp.eye(2), jnp.asarray(mean + spread * (data.means - mean)))


def _separation(flow: CoupledFlow, x: Coupled) -> Scalar:
    return bank_measures(flow.embed(x), x.prototypes, flow.temperature(0.0)).separation


def _minus_entropy(flow: CoupledFlow, x: Coupled) -> Scalar:
    return -bank_measures(flow.embed(x), x.prototypes, flow.temperature(0.0)).entropy


@functools.partial(jax.jit, static_argnums=2)
def _along(flow: CoupledFlow, xs: Coupled, measure: Diagnostic) -> jax.Array:
    return jax.vmap(lambda x: measure(flow, x))(xs)


@jax.jit
def _stiffness(flow: PrototypeFlow, p: jax.Array) -> jax.Array:
    """Return the eigenvalues of the Hessian by the prototypes, ascending."""
    return jnp.linalg.eigvalsh(jax.jacfwd(lambda p: flow.gradient(0.0, p))(p).reshape(p.size, p.size))


def _growth_trial(
    key: Key, integrator: AbstractIntegrator, gradient: str, spread: float, measure: Diagnostic, name: str
) -> Trial:
    """Measure that a diagnostic does not decrease along the coupled flow, and changes, from prototypes of a spread."""
    flow, x0 = _coupled(key, gradient, 7 / 8, spread)
    path = simulate(flow, x0, TIMES, integrator=integrator)
    values = np.asarray(_along(flow, path.ys, measure))
    final = path.final
    stiffness = _stiffness(flow.frozen_encoder(final.encoder), final.prototypes)
    return Trial(
        (
            at_most("eps", flow.ratio, 0.01, tolerance=ROUNDING),
            at_most("change of the encoder", jnp.max(jnp.abs(final.encoder - jnp.eye(2))), 0.05, tolerance=SOLVER),
            at_least("S(P) at the start", separation(x0.prototypes), 0.0, tolerance=SOLVER),
            at_least("least eigenvalue of H_PP at t = 8", stiffness[0], 0.0, tolerance=SOLVER),
        ),
        (
            at_least(f"least increase of {name} between samples", np.min(np.diff(values)), 0.0, tolerance=SOLVER),
            at_least(f"increase of {name} from t = 0 to 1", values[1] - values[0], 1e-3, tolerance=SOLVER),
        ),
        {"z": np.asarray(flow.data), "p0": np.asarray(x0.prototypes), name: values},
        parameters={"n": 6, "k": 2, "mode": flow.loss.gradient, "T": float(flow.temperature(0.0)), "eps": RATIO},
    )


COUNTERED = (
    "in both modes: at 7/8 of the critical temperature two prototypes that start at the means of two clusters, where "
    "k-means puts them, move towards each other; no control: the special case is the positive case"
)


@claim("prototypes/claim-separation-monotone", PROTOTYPES.at("Section 3.3"), num_trials=4, note=COUNTERED)
def separation_grows(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 the separation S(P) grows monotonically along the coupled flow, from any start with S(P) > 0.

    Read: here eps is 1/1000, and prototypes at fixed encoder approach a nondegenerate minimum.
    """
    return in_some_mode(lambda mode: _growth_trial(key, integrator, mode, 1.0, _separation, "S(P)"))


@claim(
    "prototypes/claim-separation-monotone/near-collapse",
    PROTOTYPES.at("Section 3.3"),
    variant="special case",
    num_trials=4,
    note="times up to 8 in units of the prototypes, before the encoder has moved by five percent",
)
def separation_grows_from_near_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 S(P) grows monotonically in the time of the prototypes.

    Added: two prototypes, two clusters, T below the critical temperature, and a start near collapse, on the line
    between the clusters.
    """
    return _growth_trial(key, integrator, mode_of(key), 0.2, _separation, "S(P)")


@separation_grows_from_near_collapse.with_control
def separation_grows_from_near_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A start at the means of the clusters."""
    return _growth_trial(key, integrator, mode_of(key), 1.0, _separation, "S(P)")


@claim("prototypes/claim-entropy-decreases", PROTOTYPES.at("Section 3.3"), num_trials=4, note=COUNTERED)
def entropy_decreases(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 the entropy H(Q) decreases along the coupled flow, at a constant temperature.

    Read: here eps is 1/1000, and prototypes at fixed encoder approach a nondegenerate minimum.
    """
    return in_some_mode(lambda mode: _growth_trial(key, integrator, mode, 1.0, _minus_entropy, "-H(Q)"))


@claim(
    "prototypes/claim-entropy-decreases/near-collapse",
    PROTOTYPES.at("Section 3.3"),
    variant="special case",
    num_trials=4,
    note="times up to 8 in units of the prototypes, before the encoder has moved by five percent",
)
def entropy_decreases_from_near_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For eps << 1 H(Q) decreases in the time of the prototypes.

    Added: two prototypes, two clusters, T below the critical temperature, and a start near collapse, on the line
    between the clusters.
    """
    return _growth_trial(key, integrator, mode_of(key), 0.2, _minus_entropy, "-H(Q)")


@entropy_decreases_from_near_collapse.with_control
def entropy_decreases_from_near_collapse(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A start at the means of the clusters."""
    return _growth_trial(key, integrator, mode_of(key), 1.0, _minus_entropy, "-H(Q)")
