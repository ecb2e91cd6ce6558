"""Compute normal form coefficients of orbits by shooting, from maps between surfaces across the orbit at its nodes."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.cycle_equations import OrbitSegments
from analysis.dynamics.normal_forms.cycles import Sections, cycle_cusp, cycle_flip, cycle_fold, cycle_neimark_sacker
from analysis.dynamics.normal_forms.flows import Coefficient, unknown
from analysis.dynamics.normal_forms.return_maps import ReturnChart
from analysis.dynamics.periodic_orbits.floquet_vectors import along_orbit, mean_square
from analysis.dynamics.periodic_orbits.multipliers import across
from analysis.dynamics.periodic_orbits.shooting import shots

if TYPE_CHECKING:
    from analysis.dynamics.continuation.orbit_curve import OrbitCurve

MULTIPLIERS = {"fold": 1.0, "cusp": 1.0, "period doubling": -1.0}
"""Critical multiplier, where it is real."""


def section_coefficient(curve: "OrbitCurve", name: str, point: CurvePoint, frequency: float) -> Coefficient:
    """Compute the coefficient of `OrbitCurve.coefficient` from third derivatives of maps between the nodes.

    It serves curved spaces, fields with jumps, and many orbits of one flow, for which it is compiled once.
    """
    shot, bases = curve._shot(point.state, point.parameter), np.stack(curve._bases(point.state))
    if not curve.forced:
        velocities = np.roll(shot.speeds, 1, axis=0)  # segments end at the next nodes
        bases = bases @ across(np.einsum("kij,ki->kj", bases, velocities))
    after = np.roll(bases, -1, axis=0)
    at = Sections(_maps(curve, shot, bases, point.parameter), np.einsum("kji,kjl,klm->kim", after, shot.maps, bases))
    if name == "fold":
        found = cycle_fold(at, np.einsum("kji,kj->ki", after, shot.slopes))
    elif name == "cusp":
        found = cycle_cusp(at)
    else:
        found = cycle_flip(at) if name == "period doubling" else cycle_neimark_sacker(at, frequency)
    if found is None:
        return unknown("another multiplier is critical, too, or the parameter does not move the orbit across it")
    critical = np.exp(1j * frequency) if name == "Neimark-Sacker point" else MULTIPLIERS[name]
    square = _mean_square(curve, shot, point.parameter, np.einsum("kij,kj->ki", bases, found.vectors), critical)
    time = shot.period * (1.0 if curve.units is None else curve.units.time)
    share = (curve.unit if name == "fold" else (-1 if name == "period doubling" else 1) / time) / square
    if not np.isfinite(square):
        return unknown("the critical vector changes too fast within a segment")
    return Coefficient(share * found.coefficient.value, abs(share) * found.coefficient.size)


def _maps(curve: "OrbitCurve", shot: OrbitSegments, bases: np.ndarray, parameter: float) -> list[ReturnChart]:
    """Build the maps between surfaces with given bases at successive nodes."""
    flow, m = curve.parameter.at(parameter), len(bases)
    places = [(curve._restored(jnp.asarray(node)), basis) for node, basis in zip(shot.nodes, bases, strict=True)]
    time = shot.period / m
    return [
        ReturnChart(flow, *places[k], time, curve._rtol, forced=curve.forced, onto=places[(k + 1) % m], begin=k * time)
        for k in range(m)
    ]


def _mean_square(
    curve: "OrbitCurve", shot: OrbitSegments, parameter: float, vectors: np.ndarray, multiplier: complex
) -> float:
    """Compute the mean square of Floquet vectors over the period, in the units of the given system."""
    (m, n), drift = shot.nodes.shape, 0.0
    if not curve.forced:
        velocities = np.roll(shot.speeds, 1, axis=0)
        vectors, drift = along_orbit(vectors, shot.maps, velocities, multiplier, shot.period)
    sizes = np.ones(n) if curve.units is None else curve.units.flat(curve._like)
    rows, time = np.column_stack([shot.nodes, np.full(m, parameter)]), shot.period / m

    def passed(share: float) -> tuple[np.ndarray, np.ndarray]:
        _, maps, speeds, *_ = shots(curve._pair, rows, time * np.arange(m), np.full(m, share * time), curve._rtol)
        return maps[:, :n, :n], speeds[:, :n]

    return mean_square(passed, vectors, drift, time, sizes, phase=bool(multiplier == 1) and not curve.forced)
