"""Coefficients of the normal forms at degenerate points of curves of folds and Hopf points, in given units."""

import numpy as np

from analysis.dynamics.codimension_two import (
    bogdanov_takens_coefficients,
    crossing_pair,
    cusp_coefficient,
    fold_hopf_coefficients,
)
from analysis.dynamics.critical_equations import CriticalEquations, critical_of
from analysis.dynamics.curves import CurvePoint
from analysis.dynamics.hopf_degeneracies import (
    critical_length,
    double_hopf_coefficients,
    second_lyapunov_coefficient,
)
from analysis.dynamics.linearisation import null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.units import Units
from dynsim._types import State
from dynsim.systems.base import AbstractFlow


def degenerate_coefficients(curve: CriticalEquations, name: str, point: CurvePoint) -> tuple[float, ...]:
    """Return the coefficients of a kind of degenerate point in the units of the given flow; none for other kinds."""
    at = critical_of(point)
    flow, found = curve.moved(float(at.parameter), point.parameter), ()
    size, time = (1.0, 1.0) if curve.units is None else (_length(curve.units, flow, at.state), curve.units.time)
    if name == "cusp":
        found = (cusp_coefficient(flow, at.state)[0] / (time * size**2),)
    if name == "Bogdanov-Takens point":
        a, b = bogdanov_takens_coefficients(flow, at.state)
        found = (a / (time**2 * size), b / (time * size))
    if name == "fold-Hopf point":  # which has no unit
        pair = crossing_pair(curve.others(point))[1] if at.frequency == 0 else 1j * float(at.frequency)
        found = fold_hopf_coefficients(flow, at.state, abs(pair.imag))
    if name == "Bautin point":
        length = _critical_length(curve, flow, at.state, float(at.frequency))
        found = (second_lyapunov_coefficient(flow, at.state, float(at.frequency)) / length**4,)
    if name == "double Hopf point":
        found = _double_hopf(
            curve, flow, at.state, (float(at.frequency), abs(crossing_pair(curve.others(point))[1].imag))
        )
    return found


def _double_hopf(
    curve: CriticalEquations, flow: AbstractFlow, state: State, frequencies: tuple[float, float]
) -> tuple[float, ...]:
    """Return the coefficients of a double Hopf point in the units of the given flow."""
    squares = [_critical_length(curve, flow, state, w) ** 2 for w in sorted(frequencies, reverse=True)]
    sizes = np.array(2 * squares) * (1.0 if curve.units is None else curve.units.time)
    p = double_hopf_coefficients(flow, state, frequencies)
    return (*(p[:4] / sizes).tolist(), *p[4:])


def _critical_length(curve: CriticalEquations, flow: AbstractFlow, state: State, frequency: float) -> float:
    """Return the length, in the units of the given flow, of the critical vector that has the length one in these."""
    if curve.units is None:
        return 1.0
    sizes = curve.units.flat(state)[:, None] * tangent_basis(flow.space, state)
    return critical_length(tangent_jacobian(flow, state), frequency, sizes)


def _length(units: Units, flow: AbstractFlow, state: State) -> float:
    """Return the length, in the units of the given flow, of the null vector that has the length one in these units."""
    null = tangent_basis(flow.space, state) @ null_vectors(tangent_jacobian(flow, state))[0]
    return float(np.linalg.norm(units.flat(state) * null))
