"""Bifurcations on a branch: their record, and its change of units."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from analysis.dynamics.continuation.orbit_curve import Cycle, flat_sizes, moved_states, unit_of_eigenvalues
from analysis.dynamics.scaling.units import Units
from dynsim._core.printing import one_line, printed
from dynsim._core.types import State

CRITICAL = {"Hopf point": -1, "Neimark-Sacker point": -1, "period doubling": 1, "pitchfork": -1}
"""Sign of the coefficient for which the new solutions are stable on the centre manifold, by kind; -1 for cycles."""
# Coefficients below this share of their natural size count as zero, so that criticality stays undecided.
DEGENERATE = 1e-8
# Largest relative distance of an angle from that of a strong resonance that counts as resonant.
RESONANT = 1e-6


class Bifurcation(NamedTuple):
    """A bifurcation on a branch: its kind, and where.

    At a `fold` the branch turns back in the parameter. At a `branch point` other branches cross it; see `switch`. At a
    `Hopf point` a pair of eigenvalues crosses the imaginary axis at +-i `frequency`. Of maps and periodic orbits, a
    multiplier passes -1 at a `period doubling`, a pair leaves the unit circle at the angles +-`frequency` at a
    `Neimark-Sacker point`. At a `corner` the derivative of the field jumps: it is not smooth there. `multiplicity` is
    the number of eigenvalues that cross, 0 at a branch point where one touches zero. `arclength` is where it lies,
    `direction` that of the branch there, in the ambient coordinates of the state and the parameter.

    `coefficient` is that of the normal form: at a fold c, near which the parameter is that of the fold and c s^2 at the
    distance s; at a Hopf point the first Lyapunov coefficient; of maps also those of `normal_forms.cycles`. Of
    periodic orbits s is the root mean square of the distance over the period; at period doublings and Neimark-Sacker
    points the coefficient is that of u' = c u^3, where u is the same mean of the critical Floquet vector, as in
    MatCont: see `OrbitCurve.coefficient`. It is NaN elsewhere, and where further eigenvalues are critical.
    At a branch point `form` is `pitchfork`, `transcritical` or `degenerate`, or "" where it is not known, and the
    coefficient is that of s^3 or of s^2 in the reduced equation; see `normal_forms.branch_points`.
    `natural_size` is the size of the terms whose sum it is, there or as they change towards where the critical
    eigenvalues grow as fast as they turn; it has the units of the coefficient. `unknown` says why it is NaN where the
    kind of the bifurcation has one, or why the form is degenerate or not known.
    """

    kind: str
    state: State
    parameter: float
    eigenvalues: Complex[np.ndarray, " d"]
    frequency: float
    arclength: float
    direction: Float[np.ndarray, " n"]
    multiplicity: int = 1
    coefficient: float = math.nan
    natural_size: float = math.nan
    unknown: str = ""
    form: str = ""

    __repr__ = one_line

    @property
    def criticality(self) -> str:
        """`supercritical`, `subcritical` or `degenerate` by the sign of the coefficient; "" where it does not decide.

        It decides at Hopf points, period doublings, pitchforks, and Neimark-Sacker points without a strong resonance.
        """
        sign = CRITICAL.get(self.form or self.kind, 0)
        sign = -abs(sign) if isinstance(self.state, Cycle) else sign
        if not sign or not math.isfinite(self.coefficient) or self.resonance:
            return ""
        if abs(self.coefficient) <= DEGENERATE * self.natural_size:
            return "degenerate"
        return "supercritical" if sign * self.coefficient > 0 else "subcritical"

    @property
    def resonance(self) -> int:
        """Order of a strong resonance, 3 or 4, at a Neimark-Sacker point with angle 2 pi / 3 or pi / 2; 0 otherwise."""
        if self.kind != "Neimark-Sacker point":
            return 0
        return next((k for k in (3, 4) if abs(k * self.frequency / (2 * math.pi) - 1) <= RESONANT), 0)

    @property
    def title(self) -> str:
        """Kind in full, such as `supercritical Hopf point`, `subcritical pitchfork` or `transcritical bifurcation`."""
        name = {"pitchfork": "pitchfork", "transcritical": "transcritical bifurcation"}.get(self.form, self.kind)
        return f"{self.form if self.form == 'degenerate' else self.criticality} {name}".strip()

    def __str__(self) -> str:
        """Describe the kind, the parameter value, and the criticality or the resonance."""
        return self.sized(1.0)

    def sized(self, size: float) -> str:
        """Describe the bifurcation in one line; a value that is tiny for a parameter of this size prints as 0."""
        said = f"strong resonance 1:{self.resonance}" if self.resonance else self.criticality or self.unknown
        if self.form:
            said = f"{self.form}: {self.unknown}" if self.unknown else f"{self.criticality} {self.form}".strip()
        return f"{self.kind} at {printed(self.parameter, size)}" + (f" ({said})" if said else "")


def moved_bifurcation(units: Units, at: Bifurcation, power: int = -1) -> Bifurcation:
    """Convert a bifurcation, except its coefficient, to rescaled units, or back with power 1."""
    unit, rate = units.parameters[0] ** power, unit_of_eigenvalues(units, at.state) ** power
    away = at.direction * np.append(flat_sizes(units, at.state), units.parameters[0]) ** power
    return at._replace(
        state=moved_states(units, at.state, power),
        parameter=at.parameter * unit,
        arclength=at.arclength * unit,
        eigenvalues=at.eigenvalues / rate,
        frequency=at.frequency / (rate if at.kind == "Hopf point" else 1.0),
        direction=away / max(float(np.linalg.norm(away)), np.finfo(float).tiny),
    )
