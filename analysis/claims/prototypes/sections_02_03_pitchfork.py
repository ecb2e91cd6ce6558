"""Claims of Section 2.2 on collapse at its critical temperature: the separate equilibria that begin there."""

import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.clouds import mode_of, random_cloud
from analysis.dynamics.equilibria.newton import newton
from analysis.dynamics.linearisation import spectrum
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, agrees, at_least, at_most, equal, holds
from analysis.prototypes.bifurcations import branches_in_temperature, pitchfork
from analysis.prototypes.collapse import collapse, collapse_spectrum
from dynsim._core.types import Key
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

BELOW = 1e-3  # the critical temperature less the least one, over the critical one
FACTORS = {"frozen": 32.0, "full": 128.0}  # of the fourth derivative


def _pitchfork_trial(key: Key, mode: str, factor: float) -> Trial:
    """Compare collapse, and the equilibria that leave it below the critical temperature, with the normal form."""
    z, loss = random_cloud(key), PrototypeLoss(mode, reduction="mean")
    found = pitchfork(z, loss)
    y = (np.asarray(z) - np.mean(np.asarray(z), axis=0)) @ found.direction
    fourth = factor * float(np.mean(y**4)) / found.temperature**3
    halves, kinds = [], []
    for below in (BELOW, BELOW / 10):
        T = found.temperature * (1 - below)
        s = float(np.sqrt(-12 * collapse_spectrum(z, 2, T, loss).splitting[0] / fourth))
        flow = PrototypeFlow(z, T, loss=loss)
        apart, speed = newton(flow, jnp.asarray(collapse(z, 2) + s * np.stack([found.direction, -found.direction])))
        halves.append(float(jnp.linalg.norm(apart[0] - apart[1])) / 2 / s)
        kinds += [spectrum(flow, apart).kind, spectrum(flow, jnp.asarray(collapse(z, 2))).kind]
    bounds = found.temperature * (1 - 10 * BELOW), found.temperature * (1 + 10 * BELOW)
    together = branches_in_temperature(z, 2, loss, bounds, key, num_starts=0)[:1]
    turns = [at.parameter / found.temperature for b in together for at in b.bifurcations if at.kind == "branch point"]
    widths = [float(np.max(np.ptp(b.states, axis=1))) for b in together]
    limit = (10 * halves[1] - halves[0]) / 9
    return Trial(
        hypotheses=(at_least("critical temperature", found.temperature, 0.0, tolerance=ROUNDING),),
        conclusions=(
            holds("the separate equilibria are stable, and collapse is a saddle", kinds == ["stable", "saddle"] * 2),
            holds("the pitchfork that ships is supercritical", found.kind == "supercritical"),
            equal("its coefficient, over the closed form", found.coefficient / fourth, 1.0, tolerance=1e-9),
            equal("distance over the normal form's, to first order", limit, 1.0, tolerance=1e-3),
            at_most("speed of the separate equilibria", speed, ROUNDING, tolerance=0.0),
            agrees("branch points of collapse over the critical temperature", turns, np.ones(1)),
            holds("prototypes coincide on the branch of collapse", max(widths, default=0.0) <= SOLVER),
        ),
        witness={"z": z, "T": found.temperature, "direction": found.direction, "distances": halves},
        parameters={"mode": mode},
    )


@claim(
    "prototypes/claim-collapse-saddle/at-its-onset",
    PROTOTYPES.at("Section 2.2"),
    variant="special case",
    num_trials=4,
    note="two prototypes and a simple largest variance; at the critical temperature itself collapse is still "
    "asymptotically stable (proposition-3-iff). Both modes, losses being means",
)
def collapse_becomes_a_saddle_where_separate_prototypes_begin(key: Key) -> Trial:
    """Just below its critical temperature collapse is a saddle, beside which stable separate prototypes have begun.

    They are the mean of the embeddings +- s e, e being the direction of the largest variance, with s^2 = -12 h / phi to
    leading order: h is the negative eigenvalue of collapse, and phi the mean of 32 (mode frozen) or 128 (full)
    <e, z_n - mean>^4 / T^3, the fourth derivative of the potential along s.
    """
    mode = mode_of(key)
    return _pitchfork_trial(key, mode, FACTORS[mode])


@collapse_becomes_a_saddle_where_separate_prototypes_begin.with_control
def collapse_becomes_a_saddle_where_separate_prototypes_begin(key: Key) -> Trial:
    """The fourth derivative of the other mode."""
    mode = mode_of(key)
    return _pitchfork_trial(key, mode, FACTORS["full" if mode == "frozen" else "frozen"])
