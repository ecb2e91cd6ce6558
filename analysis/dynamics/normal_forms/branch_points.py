r"""Tell pitchforks from transcritical bifurcations at simple branch points, by the reduced equation.

At a branch point the derivatives [J, F_p] of the equations F(x, p) = 0 have a null space of two dimensions: the
critical vector (v, 0), and a direction (h, 1) along which the parameter changes. With the left null vector w and
<w, v> = 1 the equations reduce (Lyapunov and Schmidt) to

$$ \dot s = \tfrac12 a_{20} s^2 + a_{11} s q + \tfrac12 a_{02} q^2 + \tfrac16 a_{30} s^3 + \dots = 0, \qquad
    a_{20} = \langle w, B(v, v) \rangle, \quad a_{30} = \langle w, C(v, v, v) - 3 B(v, J^+ B(v, v)) \rangle $$

with second and third derivatives B and C. If $a_{20} \ne 0$ and $a_{11}^2 > a_{20} a_{02}$, two branches cross and
exchange stability: a transcritical bifurcation. If $a_{20} = 0$, $a_{11} \ne 0$ and $a_{30} \ne 0$, it is a pitchfork,
supercritical for $a_{30} < 0$: its new solutions are stable on the centre manifold. The type does not depend on the
coordinates, nor on which of the branches was continued.

Derivatives are differences of the Jacobian. Those with two steps must agree, and give the errors of coefficients.

Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 7.4; W. Govaerts, Numerical Methods for
Bifurcations of Dynamical Equilibria (2000), chapter 7; R. Seydel, Practical Bifurcation and Stability Analysis (2010).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.linearisation import null_vectors
from analysis.dynamics.normal_forms.flows import UNKNOWN, Coefficient
from analysis.dynamics.sparse.matrices import Extended, SparseMatrix, pseudo_inverse
from dynsim._core.printing import one_line, report

# Steps of the differences, in the units of the curve: with rounding the error of third derivatives is 1e-9 of them.
STEPS = (4e-3, 1e-3)
# Coefficients up to this share of the sizes of their terms, and of those of the next order, count as zero.
ZERO = 1e-6
# Share of the Jacobian that counts as a size of coefficients: what is less by `ZERO` is far below rounding errors.
ROUNDED = 1e-6
# Number of their errors up to which coefficients are not told from zero.
ERRORS = 10.0
# Product of the critical vectors below which the eigenvalue zero is not simple.
SIMPLE = 1e-6

Derivatives = Callable[[np.ndarray], Any]  # [J, F_p] at a displacement of state and parameter, (d, d + 1)


class BranchForm(NamedTuple):
    """Normal form of a branch point: `pitchfork`, `transcritical`, `degenerate`, or "" where it is not decided.

    `coefficient` is that of s^3 at a pitchfork, and of s^2 at a transcritical bifurcation, for a critical vector of
    length one. `why` is the reason where the form is degenerate or not decided.
    """

    kind: str
    coefficient: Coefficient = UNKNOWN
    why: str = ""

    __repr__ = one_line
    __str__ = report


def branch_form(derivatives: Derivatives, here: Float[np.ndarray, "d n"] | Extended) -> BranchForm:
    """Compute the normal form of a simple branch point from the derivatives of the equations near it.

    Args:
        derivatives: gives [J, F_p] at a displacement of the state and the parameter from the branch point.
        here: [J, F_p] at the branch point, (d, d + 1).

    Example:
        >>> pitchfork = lambda z: np.array([[z[1] - 3 * z[0] ** 2, z[0]]])  # of p x - x^3
        >>> found = branch_form(pitchfork, pitchfork(np.zeros(2)))
        >>> found.kind, round(found.coefficient.value, 6)
        ('pitchfork', -1.0)
    """
    J, slope = (here.inner, here.column) if isinstance(here, Extended) else (here[:, :-1], here[:, -1])
    v, w = null_vectors(J)
    if abs(float(w @ v)) <= SIMPLE:
        return BranchForm("degenerate", why="the eigenvalue 0 is not simple")
    found = [_reduced(derivatives, J, slope, v, w / (w @ v), step) for step in STEPS]
    if not all(np.isfinite(one.value) for pair in found for one in pair):
        return BranchForm("", why="the equations are not finite beside it")
    errors = [abs(one.value - other.value) for one, other in zip(*found, strict=True)]
    (square, mixed, other, cube), least = found[-1], [ERRORS * error for error in errors]
    is_zero = [abs(c.value) <= ZERO * c.size + error for c, error in zip(found[-1], least, strict=True)]
    unclear = [error > ZERO * c.size and abs(c.value) <= error for c, error in zip(found[-1], least, strict=True)]
    if unclear[0] or is_zero[0] and (unclear[1] or unclear[3]):
        return BranchForm("", why="the coefficients are as small as their errors")
    if not is_zero[0]:
        inside, size = mixed.value**2 - square.value * other.value, mixed.size**2 + abs(square.value) * other.size
        if inside > ZERO * size:
            return BranchForm("transcritical", Coefficient(square.value / 2, square.size / 2))
        return BranchForm("degenerate", why="the branches are tangent to each other")
    if is_zero[1]:
        return BranchForm("degenerate", why="the eigenvalue does not cross 0 at first order")
    if is_zero[3]:
        return BranchForm("degenerate", why="the cubic coefficient is 0")
    return BranchForm("pitchfork", Coefficient(cube.value / 6, cube.size / 6))


def _reduced(
    derivatives: Derivatives, J: np.ndarray | SparseMatrix, slope: np.ndarray, v: np.ndarray, w: np.ndarray, step: float
) -> tuple[Coefficient, Coefficient, Coefficient, Coefficient]:
    """Compute a20, a11, a02 and a30 by differences; sizes include the next order, and J, at a distance of one."""
    solved = pseudo_inverse(J, v, w)
    along, across = np.append(v, 0.0), np.append(-solved(slope), 1.0)
    across = across / np.linalg.norm(across)
    first, second = (_differences(derivatives, way, step) for way in (along, across))
    square = first[0] @ along
    bent = np.append(-solved(square), 0.0)
    cube = first[1] @ along + 3 * first[0] @ bent
    # rounding errors of these terms remain where all terms of higher order vanish
    linear = abs(J) @ np.abs(v) + ROUNDED * (abs(J) @ np.ones(len(v)))
    size = lambda *vectors: sum(float(np.abs(w) @ np.abs(one)) for one in (linear, *vectors))
    return (
        Coefficient(float(w @ square), size(square, first[1] @ along)),
        Coefficient(float(w @ (second[0] @ along)), size(second[0] @ along, second[1] @ along, first[1] @ across)),
        Coefficient(float(w @ (second[0] @ across)), size(second[0] @ across)),
        Coefficient(float(w @ cube), size(first[1] @ along, 3 * first[0] @ bent)),
    )


def _differences(derivatives: Derivatives, way: np.ndarray, step: float) -> tuple[Any, Any]:
    """Compute first and second derivatives of [J, F_p] along a direction by central differences of order four."""
    far, near, here, after, beyond = (derivatives(k * step * way) for k in (-2, -1, 0, 1, 2))
    first = (8 * (after - near) - (beyond - far)) / (12 * step)
    second = (16 * (after + near) - 30 * here - (beyond + far)) / (12 * step**2)
    return first, second
