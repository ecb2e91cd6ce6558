"""Claims of Section 4.2 on the rescaled equations of the two time scales."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.lattices import LatticePoint, lattice_point
from analysis.claims.rational_instances import Exact
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, holds
from dynsim._core.types import Key
from dynsim.papers import PROTOTYPES
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.prototypes.flow import Coupled

SECTION = PROTOTYPES.at("Section 4.2")


class Velocities(NamedTuple):
    """The velocities of the encoder's parameters and of the prototypes, exactly."""

    encoder: Exact
    prototypes: Exact


def exact_velocities(at: LatticePoint) -> Velocities:
    """Return the right-hand sides of (11) and (12) in the mode `frozen`."""
    by_encoder, by_prototypes = at.gradients
    return Velocities(-at.encoder_rate * by_encoder, -at.rate * by_prototypes)


def shipped_field(at: LatticePoint) -> Measurement:
    """Measure that the field that ships is that of (11) and (12)."""
    v, exact = at.flow().velocity(0.0, jax.tree.map(jnp.asarray, at.state())), exact_velocities(at)
    found = np.concatenate([np.asarray(v.encoder), np.asarray(v.prototypes)])
    return agrees("the field that ships", found, np.concatenate(exact))


def moving(at: LatticePoint) -> Measurement:
    """Measure that neither variable is at rest."""
    return holds("both derivatives are nonzero", all(np.any(g != 0) for g in at.gradients))


@certified(
    "prototypes/claim-rescaling",
    SECTION,
    num_trials=4,
    note="in tau = t / eps both derivatives are eps times those in t, so that eps dtheta/dtau = -eps^2 eta_theta "
    "grad_theta; no rescaling of time makes the encoder the fast variable; mode frozen; no control: the corrected "
    "claim is the positive case",
)
def rescaled_time_is_the_standard_form(key: Key) -> Trial:
    """With tau = t / eps, eps = eta_theta / eta_P, equations (11) and (12) become eps dtheta/dtau = -grad_theta L_q /
    eta_P and dP/dtau = -grad_P L_q.
    """
    at = lattice_point(key, linear=True)
    v, (by_encoder, by_prototypes) = exact_velocities(at), at.gradients
    return Trial(
        hypotheses=(shipped_field(at), moving(at), holds("the ratio is below 1", at.ratio < 1)),
        conclusions=(
            holds("eps dtheta/dtau", bool(np.all(at.ratio**2 * v.encoder == -by_encoder / at.rate))),
            holds("dP/dtau", bool(np.all(at.ratio * v.prototypes == -by_prototypes))),
        ),
        witness={"x": at.x, "W": at.W, "p": at.p, "eta_theta": at.encoder_rate, "eta_P": at.rate},
        parameters={"eps": float(at.ratio)},
    )


def _rescaled_trial(key: Key, exponent: int) -> Trial:
    """Compare the flow and its fast-slow form, in the time eta_theta t, with the gradients."""
    at = lattice_point(key, linear=True)
    flow, state = at.flow(), Coupled(*map(jnp.asarray, at.state()))
    scale, epsilon = float(at.encoder_rate) ** exponent, float(at.ratio)
    form = flow.fast_slow(state.encoder)
    start = FastSlow(state.prototypes, jnp.ravel(state.encoder))
    v, w = flow.velocity(0.0, state), form.velocity(0.0, start)
    by_encoder, by_prototypes = (g.astype(float) for g in at.gradients)
    return Trial(
        hypotheses=(moving(at), at_least("epsilon", epsilon, 0.0, tolerance=ROUNDING)),
        conclusions=(
            shipped_field(at),
            agrees("dtheta/ds", np.ravel(v.encoder) / scale, np.ravel(-by_encoder)),
            agrees("eps dP/ds", epsilon * np.asarray(v.prototypes) / scale, -by_prototypes),
            agrees("the field of the fast-slow form", w.slow, np.ravel(-by_encoder)),
            agrees("its fast part, times eps", epsilon * np.asarray(w.fast), -by_prototypes),
        ),
        witness={"x": at.x, "W": at.W, "p": at.p, "eta_theta": at.encoder_rate, "eta_P": at.rate},
        parameters={"eps": epsilon},
    )


@claim(
    "prototypes/claim-rescaling/corrected",
    SECTION,
    num_trials=6,
    note="changed: the variable with eps, which is the prototypes, and the time s = eta_theta t",
)
def encoder_time_is_the_standard_form(key: Key) -> Trial:
    """With s = eta_theta t equations (11) and (12) become eps dP/ds = -grad_P L_q and dtheta/ds = -grad_theta L_q."""
    return _rescaled_trial(key, 1)


@encoder_time_is_the_standard_form.with_control
def encoder_time_is_the_standard_form(key: Key) -> Trial:
    """The time eta_theta^2 t."""
    at = lattice_point(key, linear=True)
    return _rescaled_trial(key if at.encoder_rate != 1 else jax.random.fold_in(key, 1), 2)
