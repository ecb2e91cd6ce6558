"""Sotomayor's theorem: the conditions of a transcritical bifurcation."""

from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.bifurcation.extended import BITS, TERMS, forms_of
from analysis.theorems.bifurcation.resting import resting_point
from analysis.theorems.conditions import HOLDS, Conditions, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from dynsim._core.types import ArrayLike
from dynsim.systems.parameter import Parameter

NAME = "Sotomayor's theorem (transcritical)"


@theorem
@arithmetic(BITS, TERMS)
def transcritical(parameter: Parameter, value: float, state: ArrayLike) -> Conditions:
    """Check the conditions under which another equilibrium crosses one that rests for all parameters.

    On the centre manifold the flow is u' = speed (a - a0) u + bend u^2 + ...; both coefficients, enclosed in balls at
    the certified parameter a0, must not be zero.

    Args:
        parameter: a flow with the parameter.
        value: the parameter near the bifurcation.
        state: the equilibrium, exactly, (n,).

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: L. Perko, Differential Equations and Dynamical Systems, Springer 2001, section 4.2, theorem 1.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import transcritical
        >>> flow = ds.system("x' = (b - 1)*x - b*x^2", b=0.5)
        >>> found = transcritical(ds.Parameter(flow, "b", 0.0, 2.0), 0.9, [0.0])
        >>> found.applies, found.numbers["b"]
        (True, 1.0)
    """
    at = point("state", state)
    found = resting_point(forms_of((parameter,), len(at), NAME), parameter.name, value, at)
    rows, numbers = found.rows(), {}
    if rows[-1].status == HOLDS:
        speed, bend, _ = found.coefficients()
        rows += [
            different_from_zero("the eigenvalue crosses zero", "speed = <p, dA/da q> != 0", speed),
            different_from_zero("the quadratic coefficient is not zero", "bend = <p, B(q, q)> / 2 != 0", bend),
        ]
        numbers = {found.name: found.value, "speed": float(speed.mid()), "bend": float(bend.mid())}
    return Conditions(
        NAME,
        tuple(rows),
        "another equilibrium crosses it, and both exchange their stability along the null vector",
        "the point is no generic transcritical bifurcation",
        None, parameter.system, numbers,
    )  # fmt: skip
