"""Claims of Fact 1 on escape: certified prototypes escape, and next to the threshold those that are not return."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.optimize

from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, at_least, holds
from analysis.prototypes.certificates import escaping_prototypes
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

NEAR = 1e-3  # relative distance from a threshold on each of its sides
REDUCTIONS = ("sum", "mean")


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    found: Any = scipy.optimize.brentq(function, low, high)
    return float(found)


def _turned(rng: np.random.Generator, places: list[float]) -> np.ndarray:
    """Return points of a line through the origin of the plane, shape (n, 2)."""
    angle = rng.uniform(0, 2 * np.pi)
    return np.outer(places, [np.cos(angle), np.sin(angle)])


def _outwards(flow: PrototypeFlow, p: np.ndarray) -> float:
    """Return the speed of the last prototype away from the origin."""
    return float(np.asarray(flow.velocity(0.0, jnp.asarray(p)))[-1] @ p[-1] / np.linalg.norm(p[-1]))


def _full(rng: np.random.Generator, reduction: str, *, beyond: float) -> tuple[bool, bool]:
    """Return whether the far of two prototypes is certified, mode full, and whether it moves outwards.

    On a line z = 0 and -A, the prototypes are at -A and x with x^2 = A^2 + u T and A^2 = 7 T or more. The second
    embedding has the loss e^(-4 A^2 / T) 4 A^2, so that the loss is that of the first, <d>, and x^2 > T + <d> means
    u / (1 + e^-u) > 1, which is when the first one repels the prototype. u is that threshold times 1 + `beyond`.
    """
    T = rng.uniform(0.5, 2)
    A = math.sqrt(rng.uniform(7, 9) * T)
    threshold = _root(lambda u: u / (1 + math.exp(-u)) - 1, 1.0, 2.0)
    x = math.sqrt(A**2 + threshold * (1 + beyond) * T)
    line = _turned(rng, [0.0, -A, x])
    flow = PrototypeFlow(line[:2], T, loss=PrototypeLoss("full", reduction=reduction))
    return bool(escaping_prototypes(flow, jnp.asarray(line[1:]))[-1]), _outwards(flow, line[1:]) > 0


def _between(rng: np.random.Generator) -> bool:
    """Return whether a prototype at rest half-way between two embeddings, each with its own one, is certified."""
    T = rng.uniform(0.5, 2)
    line = _turned(rng, [-6 * math.sqrt(T), 6 * math.sqrt(T), 0.0])
    return bool(escaping_prototypes(PrototypeFlow(line[:2], T, loss=PrototypeLoss("full")), jnp.asarray(line))[-1])


def _frozen(rng: np.random.Generator, reduction: str) -> tuple[Measurement, ...]:
    r"""Measure the certificate for two prototypes at -a and b, mode frozen, with N embeddings at 0 and a barrier.

    The far one moves outwards if $N q b g^3 < \lambda$ with g = a + b for the sum, without N for the mean. By the
    certificate's bounds, $q \le e^{(B - b^2) / T}$ and $g \le b + \sqrt B$, B being the sum of free energy, barrier and
    $N T \log 2$, all times N for the mean.
    """
    N, T, a = int(rng.integers(1, 4)), rng.uniform(0.5, 2), rng.uniform(0.1, 0.5)
    lam = rng.uniform(0.02, 0.1) * T**2  # below the maximum of q b g^3, so that there is a turning point
    count = N if reduction == "sum" else 1

    def level(b: float) -> float:
        free = -T * np.logaddexp(-(a**2) / T, -(b**2) / T)
        return (count * (free + T * math.log(2)) + lam / (a + b) ** 2) * (N if reduction == "mean" else 1)

    moves = lambda b: math.log(count * b * (a + b) ** 3 / lam) - np.logaddexp(0.0, (b**2 - a**2) / T)  # log(1/q)
    bound = lambda b: (level(b) - b**2) / T + math.log(count * b * (b + math.sqrt(level(b))) ** 3 / lam)
    far = 20 * math.sqrt(N * T)
    turn = _root(moves, math.sqrt(3 * T), far)  # beyond the maximum of q b g^3
    proved = _root(bound, turn, far)

    def at(b: float) -> tuple[bool, bool]:
        line = _turned(rng, [-a, b])
        loss = PrototypeLoss("frozen", barrier=lam, reduction=reduction)
        flow = PrototypeFlow(np.zeros((N, 2)), T, loss=loss, rate=lam / 4)  # lambda > 2 eta_P C(2, 2)
        return bool(escaping_prototypes(flow, jnp.asarray(line))[-1]), _outwards(flow, line) > 0

    return (
        holds(
            f"{reduction}, frozen: before the turning point it returns, and is not certified",
            at(turn * (1 - NEAR)) == (False, False),
        ),
        holds(
            f"{reduction}, frozen: just before the bounds suffice it is not certified", not at(proved * (1 - NEAR))[0]
        ),
        holds(f"{reduction}, frozen: just beyond it is, and moves outwards", at(proved * (1 + NEAR)) == (True, True)),
    )


def _certificates_trial(key: Key, *, beyond: float) -> Trial:
    rng = numpy_rng(key, "certificates")
    found = []
    for reduction in REDUCTIONS:
        certified = _full(rng, reduction, beyond=beyond)
        found += [
            holds(
                f"{reduction}, full: just beyond the threshold it is certified, and moves outwards",
                certified == (True, True),
            ),
            holds(
                f"{reduction}, full: just before it is neither", _full(rng, reduction, beyond=-NEAR) == (False, False)
            ),
            *_frozen(rng, reduction),
        ]
    return Trial(
        hypotheses=(at_least("distance from the threshold", abs(beyond), 0.0, tolerance=NEAR / 2),),
        conclusions=(*found, holds("one between two embeddings is not certified", not _between(rng))),
        witness={"beyond": beyond},
        parameters={"reductions": len(REDUCTIONS)},
    )


@claim(
    "prototypes/fact-1/certificates",
    PROTOTYPES.at("Fact 1"),
    variant="reading",
    num_trials=6,
    note="which prototypes `escaping_prototypes` certifies; in the mode full without barrier its inequality is sharp "
    "for one embedding, in the mode frozen it is that of its bounds",
)
def certified_prototypes_escape(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: which trajectories do not converge. A prototype that is certified to escape moves away from the embeddings.

    In the mode full it is certified from d > T + L on, and next to that threshold a prototype that is not certified
    moves inwards; with a barrier, in the mode frozen, from where the repulsion exceeds a bound of the attraction.
    """
    return _certificates_trial(key, beyond=NEAR)


@certified_prototypes_escape.with_control
def certified_prototypes_escape(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The certificate from d > .999 T + L on."""
    return _certificates_trial(key, beyond=-NEAR)
