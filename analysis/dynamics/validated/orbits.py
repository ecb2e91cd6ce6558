"""Periodic orbits of flows certified in ball arithmetic: existence, local uniqueness, period, Floquet multipliers.

The statements are about the field as it is written, its constants being the floating-point numbers that they are.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.continuation.converted_branches import cycle_in_own
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.continuation.scaling import orbit_units
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.validated.ball_operations import ball, flint
from analysis.dynamics.validated.enclosures import enclosed_eigenvalues
from analysis.dynamics.validated.orbit_equations import BITS, ORDER, OrbitEquations, Proof, about, forcing_period
from analysis.dynamics.validated.taylor import arithmetic
from dynsim._core.validation import instance
from dynsim.simulation.checks import check_flow
from dynsim.systems.base import AbstractFlow

DIGITS = 40  # that are printed, at most: of a ball only those that it certifies


class CertifiedOrbit(NamedTuple):
    """A periodic orbit that exists: it passes within `radius` of `state` in every component.

    `period` is a ball of python-flint that holds its period; `least` says whether that is certified to be the least
    one. `multipliers` are balls that hold its Floquet multipliers, without the trivial one. `stability` is `stable`,
    `saddle` or `unstable` where the moduli of all are certified to be less or larger than one, and else `undecided`.

    The orbit is the only one whose states x at certain shares of its period are within `unique` (u + |x|) of the nodes
    in every component, the first one on the plane through its node orthogonal to the flow, and whose period is within
    `unique` (T + period). Here u are the units of the components, T is that of time, and lengths of what is orthogonal
    are measured in these: `units` are u and T, 1 for an orbit of order one, else powers of 1024.
    """

    state: Float[np.ndarray, " d"]
    radius: float
    period: Any
    least: bool
    nodes: Float[np.ndarray, "steps d"]
    unique: float
    multipliers: tuple[Any, ...]
    stability: str
    units: tuple[Any, float] = (1.0, 1.0)

    def __repr__(self) -> str:
        """Return the orbit in a line."""
        values = ", ".join((v.real if v.imag == 0 else v).str(DIGITS) for v in self.multipliers)
        least, period = "least period" if self.least else "period", self.period.str(DIGITS)
        return f"{self.stability} periodic orbit, certified: {least} {period}, multipliers {values}"


def certified_periodic_orbit(
    flow: AbstractFlow, orbit: PeriodicOrbit, *, period: Any = None, shift: Any = None
) -> CertifiedOrbit:
    """Return the periodic orbit of a smooth flow near one found in floating-point numbers, with a proof that it exists.

    The proof is one in units near the ranges of its states and its period, powers of two, which round nothing.

    Args:
        flow: the system, of states that are one array; on curved spaces states are ambient vectors.
        orbit: what `periodic_orbit` returned.
        period: of a forced flow the period of its forcing or a multiple, a ball of python-flint that holds it, such
            as `2 * flint.arb.pi()`. That the field has this period is checked at some times only.
        shift: as for `periodic_orbit`; multiples of 2 pi are taken as such, not as their floating-point values.

    Raises:
        ValueError: for bad input, a field that balls cannot enclose or that is not smooth, or if no proof is found.
        UnavailableError: without python-flint.
    """
    check_flow(flow)
    given = instance("orbit", orbit, PeriodicOrbit, "a periodic orbit that `periodic_orbit` returned")
    flint()
    with arithmetic(BITS, ORDER + 4):
        cycle = Cycle(given.nodes, np.asarray(given.period))
        units = orbit_units(flow, (), cycle, ())
        moved = cycle_in_own(units, cycle)
        own = given._replace(state=units.rescaled(given.state), nodes=moved.nodes, period=float(moved.period))
        equations = OrbitEquations(units, own, period, shift)
        return _in_given(units, _found(equations, equations.proof()), period)


def _in_given(units: Units, found: CertifiedOrbit, period: Any) -> CertifiedOrbit:
    """Return an orbit that was certified in units in those of the given flow."""
    if units.are_given:
        return found
    sizes = units.flat(found.state)
    return found._replace(
        state=found.state * sizes,
        radius=found.radius * float(np.max(sizes)),
        period=found.period * ball(units.time) if period is None else forcing_period(period),
        nodes=found.nodes * sizes,
        units=(sizes, units.time),
    )


def _found(equations: OrbitEquations, proof: Proof) -> CertifiedOrbit:
    """Return what is certified of the orbit in the box of a proof."""
    monodromy = proof.swept.slopes[0]
    for slope in proof.swept.slopes[1:]:
        monodromy = slope * monodromy
    known = [(-proof.period).exp()] * equations.normals + ([] if equations.forced else [ball(1.0)])
    values = enclosed_eigenvalues(np.array(monodromy.tolist(), dtype=object))
    multipliers = _without(values, known)
    stability = _stability(multipliers) if values else "undecided"
    start = about(equations.nodes[0], proof.reached[: equations.size])
    state = np.array([float(x.mid()) for x in start])
    radius = max(float(abs(s - ball(m)).upper()) for s, m in zip(start, state.tolist(), strict=True))
    nodes = np.array([[float(v.mid()) for v in node] for node in equations.nodes])
    period = equations.period if equations.forced else about([equations.period], proof.reached[-1:])[0]
    found = (state, float(np.nextafter(radius, np.inf)), period, _is_least(equations, proof), nodes, proof.share)
    return CertifiedOrbit(*found, multipliers, stability)


def _is_least(equations: OrbitEquations, proof: Proof) -> bool:
    """Return whether no fraction of the period is one, certainly.

    During the first step a component grows or falls all the time, so that no fraction is as short as this step;
    the states after the others are not that of the beginning. A rotation has only the common divisors of its turns.
    """
    if equations.windings is not None:
        divisors = [k for k in range(2, equations.windings + 1) if equations.windings % k == 0]
        return equations.windings > 0 and all(_differs(equations, proof, k) for k in divisors)
    during = equations.with_time(proof.swept.during[0], ball(0.0).union(equations.shares[0]))
    velocity = equations.steps.field(during)[: equations.size]
    if not any(v.is_finite() and not v.contains(0) for v in velocity):
        return False
    k = 2
    while not ball(1.0) / k < equations.shares[0]:
        if not _differs(equations, proof, k):
            return False
        k += 1
    return True


def _differs(equations: OrbitEquations, proof: Proof, k: int) -> bool:
    """Return whether the state after a fraction 1/k of the period is certainly not that of the beginning."""
    done, step, fraction = ball(0.0), 0, ball(1.0) / k
    while done + equations.shares[step] < fraction:
        done, step = done + equations.shares[step], step + 1
    left = (fraction - done) * proof.period
    there = equations.steps.step(equations.with_time(proof.boxes[step], done), left)
    after = proof.boxes[0] + equations.turn / k
    return there is not None and not all(a.overlaps(b) for a, b in zip(there.end, after, strict=False))


def _without(values: tuple[Any, ...], known: list[Any]) -> tuple[Any, ...]:
    """Return enclosures of eigenvalues without known ones, largest modulus first.

    Where several enclosures hold a known one, it is not known which is left out, and their union stands for the others.
    """
    left = [_real(v, values) for v in values]
    for value in known:
        near = [v for v in left if v.overlaps(value)]
        hull = near[:1]
        for v in near[1:]:
            hull = [hull[0].union(v)]
        left = [v for v in left if not v.overlaps(value)] + hull * (len(near) - 1)
    return tuple(sorted(left, key=lambda v: -float(abs(v).mid())))


def _real(value: Any, values: tuple[Any, ...]) -> Any:
    """Return the real part of an enclosed eigenvalue of a real matrix that is alone in a ball about the real axis."""
    alone = sum(value.overlaps(other) or value.conjugate().overlaps(other) for other in values) == 1
    return flint().acb(value.real) if alone and value.imag.contains(0) else value


def _stability(multipliers: tuple[Any, ...]) -> str:
    sizes = [abs(v) for v in multipliers]
    grow, decay = sum(bool(s > 1) for s in sizes), sum(bool(s < 1) for s in sizes)
    if grow + decay < len(multipliers):
        return "undecided"
    if not grow:
        return "stable"
    return "saddle" if decay else "unstable"
