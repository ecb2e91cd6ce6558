"""The characteristic polynomial of a linearisation, and the conditions of stability of Routh and Hurwitz."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from analysis.dynamics.symbolic.effort import bounded_effort
from analysis.dynamics.symbolic.expressions import tidied
from analysis.dynamics.symbolic.fields import SymbolicField, aligned, symbolic_field, text
from dynsim._core.printing import one_line
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow, AbstractMap

LARGEST = 6
"""Most components; the Hurwitz determinants of six have thousands of terms."""


class StabilityConditions(NamedTuple):
    """Conditions under which all eigenvalues have negative real parts, or for a map are inside the unit circle.

    Attributes:
        variable: the symbol of the eigenvalue.
        polynomial: the characteristic polynomial.
        conditions: expressions that must all be positive; those that always are so are left out.
        state: expressions of the equilibrium, or the symbols of the components.
        is_map: whether the system is a map.
    """

    variable: Any
    polynomial: Any
    conditions: tuple[Any, ...]
    state: tuple[Any, ...]
    is_map: bool = False

    __repr__ = one_line

    def __str__(self) -> str:
        """Write the polynomial and the conditions."""
        at = ", ".join(map(text, self.state))
        head = f"at ({at}): {text(self.polynomial)} = 0"
        where = "are inside the unit circle" if self.is_map else "have negative real parts"
        if any(e.is_positive is False for e in self.conditions):
            return f"{head}\nnot all eigenvalues {where}"
        rows = [f"  {text(e)} > 0" for e in self.conditions]
        return "\n".join([head, f"all eigenvalues {where}{' if and only if' if rows else ''}", *rows])

    @property
    def latex(self) -> str:
        """The polynomial and the conditions as aligned displays."""
        from sympy import Integer, latex

        first = aligned(["0"], [self.polynomial])
        return f"{first}\n{aligned([latex(e) for e in self.conditions], [Integer(0)] * len(self.conditions), '>')}"


@bounded_effort()
def routh_hurwitz_conditions(
    system: AbstractFlow | AbstractMap, at: Sequence[Any] | None = None, *, state: Any = None
) -> StabilityConditions:
    r"""Compute the characteristic polynomial of a linearisation, and its Routh-Hurwitz conditions, with parameters.

    Of $\lambda^n + a_1 \lambda^{n-1} + \dots + a_n$ the conditions are that all coefficients and every second Hurwitz
    determinant are positive (Lienard and Chipart). For a map the unit circle becomes the imaginary axis by
    $\lambda = (1 + s)/(1 - s)$.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> flow = ds.catalogue.Brusselator()
    >>> equilibrium = ad.equilibrium_formulas(flow).found[0]
    >>> print(ad.routh_hurwitz_conditions(flow, equilibrium.state))
    at (a, b/a): a^2 + lambda^2 + lambda*(a^2 - b + 1) = 0
    all eigenvalues have negative real parts if and only if
      a^2 - b + 1 > 0
      a^2 > 0
    ```

    Args:
        system: a flow or a map as in `symbolic_field`, with at most six components.
        at: an expression of sympy for each component, such as `state` of an `EquilibriumFormula`, or numbers; by
            default the components themselves.
        state: any state, for a system that does not name its components.

    Source: F. R. Gantmacher, The Theory of Matrices, vol. 2 (1959), chapter XV.
    """
    import sympy as sp

    field = symbolic_field(system, state=state)
    size = len(field.states)
    if size > LARGEST:
        raise ArgumentError("system", f"have at most {LARGEST} components", f"has {size}")
    if at is not None and len(at) != size:
        raise ArgumentError("at", f"hold one expression for each of {size} components", f"holds {len(at)}")
    place = field.states if at is None else tuple(map(sp.sympify, at))
    polynomial, coefficients = characteristic(field, place)
    variable = polynomial.gen
    if field.is_map:
        s = sp.Dummy("s")
        moved = sp.expand(sp.together(polynomial.as_expr().subs(variable, (1 + s) / (1 - s)) * (1 - s) ** size))
        coefficients = sp.Poly(sp.cancel(moved), s).all_coeffs()
        coefficients = [sp.Integer(0)] * (size + 1 - len(coefficients)) + coefficients
    listed = list(dict.fromkeys(map(tidied, _conditions(coefficients))))
    conditions = tuple(e for e in listed if not e.is_positive)
    shown = sp.collect(polynomial.as_expr(), variable)
    return StabilityConditions(variable, shown, conditions, place, field.is_map)


def characteristic(field: SymbolicField, place: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The characteristic polynomial at a state, and its coefficients with the leading one first."""
    import sympy as sp

    names = {str(symbol) for symbol in (*field.states, *field.values)}
    variable = sp.Symbol("lambda" if "lambda" not in names else "s")
    J = field.jacobian.subs(dict(zip(field.states, place, strict=True)), simultaneous=True)
    polynomial = J.charpoly(variable, simplify=lambda e: e)
    coefficients = [tidied(c) for c in polynomial.all_coeffs()]
    return sp.Poly(coefficients, variable), coefficients


def _conditions(coefficients: Sequence[Any]) -> list[Any]:
    """The conditions of Lienard and Chipart for a polynomial whose leading coefficient comes first.

    For a map the leading coefficient is no constant, and must have the sign of the others.
    """
    size = len(coefficients) - 1
    H = hurwitz_matrix(coefficients)
    minors = [H[:k, :k].det(method="berkowitz") for k in range(size - 1, 1, -2)]
    return [*(c for c in coefficients if c != 1), *minors[::-1]]


def hurwitz_matrix(coefficients: Sequence[Any]) -> Any:
    """The matrix of Hurwitz of a polynomial whose leading coefficient comes first."""
    import sympy as sp

    size = len(coefficients) - 1
    at = lambda i, j: coefficients[2 * j - i + 1] if 0 <= 2 * j - i + 1 <= size else sp.Integer(0)
    return sp.Matrix(size, size, at)
