"""Codimension-two points in the plane of two parameters, and the curves of bifurcations that meet there."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.linearisation import eigenvalues, tangent_jacobian
from analysis.dynamics.scaling.flat import flat_state
from dynsim._core.printing import one_line, printed
from dynsim._core.types import State
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractMap
from dynsim.systems.named import with_parameter
from dynsim.systems.parameter import Parameter

LETTERS = {
    "cusp": ("c",),
    "Bogdanov-Takens point": ("a", "b"),
    "fold-Hopf point": ("s", "theta"),
    "Bautin point": ("l2",),
    "double Hopf point": ("p11", "p12", "p21", "p22", "theta", "delta"),
    "1:1 resonance": ("a", "b"),
    "1:3 resonance": ("a",),
    "1:4 resonance": ("Re A", "Im A"),
    "generalised period doubling": ("e",),
    "Chenciner point": ("L2",),
}
"""Names of the coefficients of codimension-two points, by kind."""


class Degeneracy(NamedTuple):
    """Codimension-two point on a curve of bifurcations.

    It is a `cusp`, a `Bogdanov-Takens point`, where a curve of Hopf points begins at one of folds, a `Bautin point`,
    where the first Lyapunov coefficient of Hopf points changes its sign, a `fold-Hopf point` (zero-Hopf), where a fold
    is a Hopf point, too, or a `double Hopf point`, with two pairs of imaginary eigenvalues.

    Of orbits it is a `cusp`, a strong resonance, `1:1 resonance` or `1:2 resonance`, where the multiplier 1 or -1 is
    double and curves of Neimark-Sacker points begin, `1:3 resonance` or `1:4 resonance` on these, a `generalised period
    doubling` or a `Chenciner point`, where the coefficient of a period doubling or of a Neimark-Sacker point changes
    its sign and folds of doubled cycles, or of invariant curves, begin, or a point with two bifurcations, `fold-flip
    point`, `fold-Neimark-Sacker point`, `flip-Neimark-Sacker point` or `double Neimark-Sacker point`.

    `coefficients` are those of the normal form, see `analysis.dynamics.normal_forms`: c of
    a cusp, a and b of a Bogdanov-Takens point or a 1:1 resonance, s and theta of a fold-Hopf point, the second Lyapunov
    coefficient of a Bautin point, p11, p12, p21, p22, theta and delta of a double Hopf point, e of a generalised period
    doubling, L2 of a Chenciner point, a of a 1:3 resonance, the real and the imaginary part of A of a 1:4 resonance.
    Those that are not defined are NaN. Of periodic orbits of a flow only cusps have one.
    """

    kind: str
    state: State
    first: float
    second: float
    coefficients: tuple[float, ...] = ()

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the kind, the parameters and the coefficients in one line."""
        return self.sized((1.0, 1.0))

    def sized(self, sizes: Sequence[float]) -> str:
        """Describe the point in one line; values that are tiny relative to these sizes of the parameters print as 0."""
        place = ", ".join(printed(v, size) for v, size in zip((self.first, self.second), sizes, strict=True))
        names = LETTERS.get(self.kind, ())
        found = ", ".join(f"{n} = {c:.4g}" for n, c in zip(names, self.coefficients, strict=False))
        return f"{self.kind} at ({place})" + (f" with {found}" if found else "")


LEAVING = {
    "cusp": ("fold",), "Bogdanov-Takens point": ("fold", "Hopf point"), "Bautin point": ("Hopf point",),
    "fold-Hopf point": ("fold", "Hopf point"), "double Hopf point": ("Hopf point",),
}  # fmt: skip
"""Kinds of the curves of bifurcations of equilibria that meet at a codimension-two point."""
WITH_ORBITS = {"Bautin point": "fold of periodic orbits", "double Hopf point": "Neimark-Sacker point"}
"""Kinds of the curves of bifurcations of periodic orbits that may begin there."""


def leaving(kind: str) -> tuple[str, ...]:
    """List the kinds of curves that meet at a codimension-two point of equilibria; there are none at other points."""
    return LEAVING.get(kind, ())


def check_leaving(flow: Any, at: Degeneracy, kind: str) -> None:
    """Raise `ValueError` for a codimension-two point from which no curve of a kind is continued."""
    if not leaving(at.kind) or isinstance(flow, AbstractMap) or isinstance(at.state, Cycle):
        raise ArgumentError("at", "be a bifurcation, or a codimension-two point of equilibria", f"is a {at.kind}")
    kinds = (*leaving(at.kind), *([WITH_ORBITS[at.kind]] if at.kind in WITH_ORBITS else []))
    if kind and kind not in kinds:
        raise ArgumentError("kind", f"be {' or '.join(kinds)} at a {at.kind}", f"is {kind}")


def frequencies_at(parameters: tuple[Parameter, Parameter], at: Degeneracy) -> list[float]:
    """Compute the frequencies of the imaginary pairs of eigenvalues at a codimension-two point, in ascending order."""
    count = {"Bautin point": 1, "fold-Hopf point": 1, "double Hopf point": 2}.get(at.kind, 0)
    values = eigenvalues(tangent_jacobian(system_at(parameters, at.first, at.second), at.state))
    upper = values[np.imag(values) > 0]
    return sorted(np.imag(upper[np.argsort(np.abs(np.real(upper)))][:count]).tolist())


def system_at(parameters: tuple[Parameter, Parameter], first: Any, second: Any) -> Any:
    """Build the system at values of both parameters."""
    return with_parameter(parameters[0].take, parameters[1].at(second), jnp.asarray(first))


def bifurcation_at(system: Any, kind: str, state: State, first: float, frequency: float) -> Bifurcation:
    """Build a bifurcation of a kind at an equilibrium of a system, at its value of the first parameter."""
    values = eigenvalues(tangent_jacobian(system, state))
    return Bifurcation(kind, state, first, values, frequency, 0.0, np.append(0 * flat_state(state), 1.0))


def as_bifurcation(
    parameters: tuple[Parameter, Parameter], at: Degeneracy, kind: str, frequency: float | None
) -> tuple[tuple[Parameter, Parameter], Bifurcation]:
    """Turn a codimension-two point into a bifurcation of a kind, of the system at its second parameter."""
    system, known, turn = system_at(parameters, at.first, at.second), frequencies_at(parameters, at), 0.0
    if kind == "Hopf point":
        turn = known[-1] if frequency is None else min(known, key=lambda one: abs(one - frequency))
    first, second = parameters
    return (first.of(system), second.of(system)), bifurcation_at(system, kind, at.state, at.first, turn)
