"""The theorem of Hartman and Grobman: near a hyperbolic equilibrium a flow looks like its linear part."""

from typing import Any

import numpy as np

from analysis.dynamics.validated.ball_operations import flint
from analysis.dynamics.validated.balls import BallFunction, Balls
from analysis.dynamics.validated.enclosures import enclosed_eigenvalues
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.fields import field_of, smooth
from analysis.theorems.regions import point, written
from dynsim._core.types import ArrayLike
from dynsim.systems.base import AbstractFlow

BITS = 256
"""Precision of the balls, so that real parts far below rounding errors are told from zero."""


@theorem
def hartman_grobman(flow: AbstractFlow, near: ArrayLike) -> Conditions:
    """Check whether an equilibrium is hyperbolic, so that the flow nearby looks like its linear part, of which type.

    The equilibrium is certified, or its coordinates are exact, and the eigenvalues are enclosed in balls there. In the
    plane the type, such as a stable focus, is told by the trace and the determinant.

    Args:
        flow: an autonomous flow on Euclidean space.
        near: a point near the equilibrium, (n,).

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: L. Perko, Differential Equations and Dynamical Systems, Springer 2001, section 2.8.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import hartman_grobman
        >>> found = hartman_grobman(ds.system("x' = y; y' = -sin(x) - 0.5*y"), [3.1, 0.0])
        >>> found.applies, found.numbers
        (True, {'stable': 1.0, 'unstable': 1.0})
    """
    at = point("near", near)
    n = len(at)
    field = field_of(flow, n, "the theorem of Hartman and Grobman")
    rows, numbers, kind = [smooth(field, n)], {}, "a hyperbolic equilibrium"
    with arithmetic(BITS, 1):
        equations = BallFunction(field, n)
        x = zero_near(equations, at)
        words, sense = "there is an equilibrium, regular or with exact coordinates", "f(x) = 0"
        if x is None:
            rows.append(Hypothesis(words, f"{sense} nearby", UNDECIDED, decided="balls"))
        else:
            J, middle = equations.jacobian(x), np.array([float(v.mid()) for v in x])
            rows += [Hypothesis(words, f"{sense} at {written(middle)}", HOLDS, decided="balls"), _hyperbolic(J)]
            if rows[-1].status == HOLDS:
                stable = sum(bool(v.real < 0) for v in enclosed_eigenvalues(J))
                numbers, kind = {"stable": float(stable), "unstable": float(n - stable)}, _kind(J, stable)
    return Conditions(
        "Theorem of Hartman and Grobman",
        tuple(rows),
        f"a homeomorphism near the equilibrium takes solutions to those of the linear part, {kind}",
        "the linear part does not determine the flow near the equilibrium",
        None, flow, numbers,
    )  # fmt: skip


def _hyperbolic(J: Balls) -> Hypothesis:
    """Decide whether no eigenvalue is on the imaginary axis; one at zero, or a pair in the plane, is proved."""
    words, sense = "no eigenvalue is on the imaginary axis", "Re lambda != 0"
    n, values = len(J), enclosed_eigenvalues(J)
    gaps = [abs(v.real) for v in values if bool(v.real != 0)]
    if len(gaps) == n:
        return Hypothesis(words, sense, HOLDS, min(float(gap.lower()) for gap in gaps), "balls")
    trace, det = sum(J[k, k] for k in range(n)), flint().arb_mat(J.tolist()).det()
    on_axis = bool(det == 0) or (n == 2 and bool(trace == 0) and bool(det > 0))
    return Hypothesis(words, sense, FAILS if on_axis else UNDECIDED, decided="balls")


def _kind(J: Balls, stable: int) -> str:
    n = len(J)
    if 0 < stable < n:
        return f"a saddle with {stable} stable and {n - stable} unstable directions"
    name = "node or focus"
    if n == 2:
        turning: Any = (J[0, 0] - J[1, 1]) ** 2 + 4 * J[0, 1] * J[1, 0]
        name = "node" if bool(turning >= 0) else "focus" if bool(turning < 0) else name
    return f"{'a stable' if stable else 'an unstable'} {name if n > 1 else 'node'}"
