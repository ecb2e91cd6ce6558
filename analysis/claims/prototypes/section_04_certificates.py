"""Claims of Fact 1 on escape: certified prototypes escape, those next to the threshold return; laws of growth."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array

from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, equal, holds
from analysis.prototypes.boundedness import LogTimeFlow, escape_constant, growth
from analysis.prototypes.certificates import escaping_prototypes
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator, stiff
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import simulate
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing

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


certified_prototypes_escape = claim(
    "prototypes/fact-1/certificates",
    statement="""
    Read: which trajectories do not converge. A prototype that is certified to escape moves away from the embeddings.

    In the mode full it is certified from d > T + L on, and next to that threshold a prototype that is not certified
    moves inwards; with a barrier, in the mode frozen, from where the repulsion exceeds a bound of the attraction.
    """,
    trial=partial(_certificates_trial, beyond=NEAR),
    control=partial(_certificates_trial, beyond=-NEAR),  # The certificate from d > .999 T + L on.
    variant="reading",
    num_trials=6,
    note="which prototypes `escaping_prototypes` certifies; in the mode full without barrier its inequality is sharp "
    "for one embedding, in the mode frozen it is that of its bounds",
)


DECADES = 8  # of the trajectories from which laws of growth are read
ON_THE_LINE = {"far": [0.0, 6.0], "near": [-0.2, 0.3]}


def _line(rng: np.random.Generator, mode: str, temperature: Any = None) -> PrototypeFlow:
    """Return a flow of prototypes on a line with three embeddings near -1/2, 0 and 1/2, and a weak barrier."""
    loss = PrototypeLoss(mode, barrier=rng.uniform(0.1, 0.25))
    z = np.array([[-0.5], [0.0], [0.5]]) + rng.uniform(-0.1, 0.1, (3, 1))
    T = rng.uniform(0.6, 0.8) if temperature is None else temperature
    return PrototypeFlow(z, T, loss=loss, rate=rng.uniform(0.5, 1.5))


def _in_logarithmic_time(flow: PrototypeFlow, p: Array, integrator: AbstractIntegrator) -> tuple[Measurement, ...]:
    """Measure that a cooled flow has the same states in the time log(1 + t), and its kink where T reaches its floor."""
    ts = np.array([0.0, 1.0, 4.0, 10.0])
    known = simulate(flow, p, ts, integrator=integrator)
    slow = simulate(LogTimeFlow(flow), p, np.log1p(ts), integrator=integrator)
    kink = LogTimeFlow(flow).breakpoints(0.0, 2.0)
    radii = np.max(np.abs(np.asarray(known.ys) - np.mean(flow.embeddings)), axis=(1, 2))
    found = growth(flow, p, decades=DECADES)
    at = [int(np.argmin(np.abs(found.times - t))) for t in ts[[0, 1, 3]]]
    return (
        equal("error of states in logarithmic time", np.max(np.abs(slow.ys - known.ys)), 0.0, tolerance=10 * SOLVER),
        holds("the kink in that time", kink.shape == (1,) and math.isclose(kink[0], math.log1p(3.0 * math.log(4.0)))),
        equal("error of the radii", np.max(np.abs(found.radii[at] - radii[[0, 1, 3]])), 0.0, tolerance=10 * SOLVER),
        holds("it converges", found[:3] == ("bounded", "equilibrium", math.inf)),
    )


def _growth_trial(key: Key, integrator: AbstractIntegrator, *, repelling: int) -> Trial:
    """Measure what `growth` decides of prototypes on a line, and its law for one that `repelling` others repel."""
    rng = numpy_rng(key, "growth")
    far, near = (jnp.asarray(ON_THE_LINE[name])[:, None] for name in ("far", "near"))
    third = jnp.concatenate([far[:1], far[:1] + 0.5, far[1:]])
    law = _line(rng, "full")
    found = growth(law, third, decades=DECADES)
    expected = 8 * float(law.loss.barrier) * float(law.rate) * repelling
    last = simulate(LogTimeFlow(law), third, [0.0, math.log1p(10.0**DECADES)], integrator=stiff(1e-8)).final
    slopes = np.diff(np.log10(found.radii[[-9, -5, -1]]))  # four times to a decade
    slope = (found.radii[-1] ** 4 - found.radii[-5] ** 4) / (found.times[-1] - found.times[-5])
    cooled = eqx.tree_at(lambda f: f.loss.barrier, _line(rng, "full", Annealing(2.4, 0.6, 3.0)), jnp.asarray(0.03))
    ridge = eqx.tree_at(lambda f: f.loss.ridge, cooled, jnp.asarray(0.1))
    pushed = _line(rng, "frozen")
    hull = eqx.tree_at(lambda f: f.loss.barrier, pushed, jnp.asarray(0.0))
    saddle = eqx.tree_at(
        lambda f: (f.embeddings, f.loss.barrier), cooled, (jnp.array([[-1.0], [0], [1]]), jnp.zeros(()))
    )
    widest = float(np.max(np.abs(hull.embeddings)))
    decided = {
        "a ridge": (growth(ridge, far)[:2], ("bounded", "ridge")),
        "frozen assignments without barrier": (growth(hull, far)[:3], ("bounded", "hull", 6.0)),
        "the same, nearer than an embedding": (growth(hull, far / 60)[:3], ("bounded", "hull", widest)),
        "two prototypes that repel": (growth(pushed, far)[:2], ("escaping", "certificate")),
        "three that repel": (found[:2], ("escaping", "law")),
        "a saddle": (growth(saddle, 0 * far)[:2], ("undecided", "none")),
    }
    return Trial(
        hypotheses=(
            at_least("lambda", law.loss.barrier, 0.0, tolerance=ROUNDING),
            at_most(
                "largest distance of the others from 0 at the end", jnp.max(jnp.abs(last[:2])), 2.0, tolerance=SOLVER
            ),
        ),
        conclusions=(
            *(holds(f"what is decided of {name}", got == known) for name, (got, known) in decided.items()),
            equal("last time over 10^decades", found.times[-1] / 10.0**DECADES, 1.0, tolerance=1e-9),
            equal("slope of r^4 over 8 lambda eta_P (K - 1)", slope / expected, 1.0, tolerance=0.02),
            equal("the same as it ships", found.constant / slope, 1.0, tolerance=1e-9),
            equal(
                "`escape_constant` over it",
                escape_constant(law.loss, 3, float(law.rate)) / expected,
                1.0,
                tolerance=1e-12,
            ),
            equal("error of the exponents", np.max(np.abs(slopes - found.exponents)), 0.0, tolerance=1e-9),
            equal("distance of the exponents from 1/4", np.max(np.abs(slopes - 0.25)), 0.0, tolerance=0.01),
            *_in_logarithmic_time(cooled, near, integrator),
        ),
        witness={"embeddings": law.embeddings, "lambda": law.loss.barrier, "eta_P": law.rate, "radii": found.radii},
        parameters={"decades of t": DECADES},
    )


prototypes_stay_bounded_or_grow_as_a_fourth_root = claim(
    "prototypes/fact-1/growth",
    statement="Read: which trajectories stay bounded. Prototypes with a ridge, or with frozen assignments and no "
    "barrier, do; with a barrier they converge to an equilibrium or escape; r^4 of one that escapes alone grows at "
    "the rate 8 lambda eta_P (K - 1).",
    trial=partial(_growth_trial, repelling=2),
    control=partial(_growth_trial, repelling=3),  # K in place of K - 1.
    variant="reading",
    num_trials=2,
    note="what `growth` decides of prototypes on a line; where neither a certificate, nor an equilibrium, nor the law "
    "of growth applies, as on a saddle, it says that it is undecided",
)
