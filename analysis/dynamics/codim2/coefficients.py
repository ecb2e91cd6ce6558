"""Compute normal form coefficients at codimension-two points, in the units of the given system."""

import math

import numpy as np
from jaxtyping import Float

from analysis.dynamics.codim2.equilibria import AbstractCritical, CriticalEquations, critical_of
from analysis.dynamics.codim2.orbits import CriticalReturns
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibrium_curve import FixedPointCurve
from analysis.dynamics.linearisation import eigenvectors_near, null_vectors, tangent_basis, tangent_jacobian
from analysis.dynamics.normal_forms.charts import Chart
from analysis.dynamics.normal_forms.cycles import Sections, cycle_cusp
from analysis.dynamics.normal_forms.flows import (
    bogdanov_takens_coefficients,
    crossing_pair,
    double_coefficients,
    double_hopf_coefficients,
    flow_chart,
    fold_hopf_coefficients,
    second_lyapunov_coefficient,
)
from analysis.dynamics.normal_forms.maps import (
    chenciner_coefficient,
    fourth_resonance_coefficient,
    generalised_flip_coefficient,
    third_resonance_coefficient,
)
from analysis.dynamics.scaling.flat import flat_state
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow

CRITICAL = {"cusp": 1.0, "1:1 resonance": 1.0, "generalised period doubling": -1.0}
"""Critical multiplier at codimension-two points of orbits."""
RETURNING = (*CRITICAL, "Chenciner point", "1:3 resonance", "1:4 resonance")
"""Codimension-two points of orbits that have coefficients."""

# Most unknowns of an equilibrium whose coefficients are computed, with dense matrices.
DENSE = 2000


def degenerate_coefficients(curve: AbstractCritical, name: str, point: CurvePoint) -> tuple[float, ...]:
    """Compute the normal form coefficients of a codimension-two point; none for kinds without coefficients."""
    if isinstance(curve, CriticalEquations):
        return _of_equilibrium(curve, name, point) if len(flat_state(critical_of(point).state)) <= DENSE else ()
    return _of_return(curve, name, point) if isinstance(curve, CriticalReturns) else ()


def _of_return(curve: CriticalReturns, name: str, point: CurvePoint) -> tuple[float, ...]:
    """Compute the coefficients of a codimension-two point of orbits.

    For periodic orbits of flows these are cusps only, because derivatives of return maps beyond the third order are
    expensive. For fixed points of maps, they include points where fifth-order terms decide, and strong resonances.
    """
    if name not in RETURNING:
        return ()
    inner, here = curve.inner_at(point)
    if not isinstance(inner, FixedPointCurve):
        return (inner.coefficient("cusp", here, 0.0).value,) if name == "cusp" else ()
    angle, (chart, A) = float(critical_of(point).frequency), inner.chart(here)
    if name == "1:3 resonance":  # a coefficient without unit
        return (third_resonance_coefficient(chart, A),)
    if name == "1:4 resonance":
        return fourth_resonance_coefficient(chart, A)
    length = inner.critical_length(here, {"Chenciner point": np.exp(1j * angle), **CRITICAL}[name])
    if name == "cusp":
        return (cusp_coefficient(chart, here.J) / length**2,)
    if name == "1:1 resonance":
        return tuple(value / length for value in double_coefficients(chart, here.J))
    if name == "Chenciner point":
        return (chenciner_coefficient(chart, A, angle) / length**4,)
    return (generalised_flip_coefficient(chart, A) / length**4,)


def _of_equilibrium(curve: CriticalEquations, name: str, point: CurvePoint) -> tuple[float, ...]:
    at = critical_of(point)
    flow, found = curve.moved(float(at.parameter), point.parameter), ()
    size, time = _length(curve, flow, at.state, 0.0), 1.0 if curve.units is None else curve.units.time
    if name == "cusp":
        found = (cusp_coefficient(*flow_chart(flow, at.state)) / (time * size**2),)
    if name == "Bogdanov-Takens point":
        a, b = bogdanov_takens_coefficients(flow, at.state)
        found = (a / (time**2 * size), b / (time * size))
    if name == "fold-Hopf point":  # a coefficient without unit
        pair = crossing_pair(curve.others(point))[1] if at.frequency == 0 else 1j * float(at.frequency)
        found = fold_hopf_coefficients(flow, at.state, abs(pair.imag))
    if name == "Bautin point":
        length = _length(curve, flow, at.state, 1j * float(at.frequency))
        found = (second_lyapunov_coefficient(flow, at.state, float(at.frequency)) / length**4,)
    if name == "double Hopf point":
        found = _double_hopf(
            curve, flow, at.state, (float(at.frequency), abs(crossing_pair(curve.others(point))[1].imag))
        )
    return found


def cusp_coefficient(chart: Chart, J: Float[np.ndarray, "d d"]) -> float:
    """Compute c of a cusp of a field with Jacobian J, or a map with J + I; NaN if the eigenvalue is not simple."""
    found = cycle_cusp(Sections([chart], (J + np.eye(len(J)))[None]))
    return math.nan if found is None else found.coefficient.value


def _double_hopf(
    curve: CriticalEquations, flow: AbstractFlow, state: State, frequencies: tuple[float, float]
) -> tuple[float, ...]:
    """Compute the coefficients of a double Hopf point in the units of the given flow."""
    squares = [_length(curve, flow, state, 1j * w) ** 2 for w in sorted(frequencies, reverse=True)]
    sizes = np.array(2 * squares) * (1.0 if curve.units is None else curve.units.time)
    p = double_hopf_coefficients(flow, state, frequencies)
    return (*(p[:4] / sizes).tolist(), *p[4:])


def _length(curve: CriticalEquations, flow: AbstractFlow, state: State, critical: complex) -> float:
    """Compute the norm, in the units of the given flow, of the unit eigenvector of an eigenvalue in rescaled units."""
    if curve.units is None:
        return 1.0
    J = tangent_jacobian(flow, state)
    vector = eigenvectors_near(J, critical)[0] if critical else null_vectors(J)[0]
    return float(np.linalg.norm(curve.units.flat(state) * (tangent_basis(flow.space, state) @ vector)))
