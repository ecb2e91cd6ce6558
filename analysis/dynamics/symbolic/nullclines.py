"""Nullclines of planar flows in closed form."""

from typing import Any, NamedTuple

from analysis.dynamics.symbolic.effort import bounded_effort
from analysis.dynamics.symbolic.expressions import factors_with, solved_for
from analysis.dynamics.symbolic.fields import SymbolicField, aligned, symbolic_field, text
from dynsim._core.printing import one_line
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow


class Nullcline(NamedTuple):
    """Part of a nullcline.

    Attributes:
        of: name of the component whose derivative vanishes.
        variable: symbol of the component that is given as a function of the other one, or None for an implicit curve.
        formula: the function, or the expression that vanishes.
    """

    of: str
    variable: Any
    formula: Any

    __repr__ = one_line

    def __str__(self) -> str:
        """Write the curve as an equation."""
        return f"{self.of}' = 0: {'0' if self.variable is None else self.variable} = {text(self.formula)}"


class Nullclines(NamedTuple):
    """Nullclines of a planar flow, each in one or more parts."""

    parts: tuple[Nullcline, ...]

    __repr__ = one_line

    def __str__(self) -> str:
        """List the parts."""
        return "\n".join(map(str, self.parts))

    @property
    def latex(self) -> str:
        """The curves as an aligned display."""
        import sympy as sp

        left = ["0" if one.variable is None else sp.latex(one.variable) for one in self.parts]
        return aligned(left, [one.formula for one in self.parts])


def nullcline_formulas(flow: AbstractFlow) -> Nullclines:
    """Solve for the nullclines of a planar flow, where it is possible in closed form.

    Each factor of a component of the field is solved for the variable in which it is linear, or else quadratic; other
    factors are given as they are. All parameters are kept.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> print(ad.nullcline_formulas(ds.catalogue.FitzHughNagumo()))
    v' = 0: w = current - v^3/3 + v
    w' = 0: w = (a + v)/b
    ```

    Args:
        flow: a flow in the plane as in `symbolic_field`.
    """
    field = symbolic_field(flow)
    if len(field.names) != 2 or field.is_map:
        raise ArgumentError("flow", "be a flow in the plane", f"has {len(field.names)} components")
    return Nullclines(nullclines(field))


@bounded_effort()
def nullclines(field: SymbolicField) -> tuple[Nullcline, ...]:
    """The parts of the nullclines of a planar field."""
    x, y = field.states
    found = []
    for name, e in zip(field.names, field.right, strict=True):
        for factor in factors_with(e, {x, y}):
            solved = solved_for(factor, y) or solved_for(factor, x)
            found += [Nullcline(name, *one) for one in solved or [(None, factor)]]
    return tuple(found)
