"""The first Lyapunov coefficient of Hopf points in the plane, as a formula."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from analysis.dynamics.symbolic.effort import bounded_effort
from analysis.dynamics.symbolic.expressions import simplified, tidied
from analysis.dynamics.symbolic.fields import SymbolicField, symbolic_field, text
from dynsim._core.printing import one_line
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

IMAGINARY = "have a Jacobian whose eigenvalues can be imaginary"


class LyapunovFormula(NamedTuple):
    """First Lyapunov coefficient of a planar flow, valid where the trace of the Jacobian vanishes.

    Attributes:
        value: the coefficient, an expression of the state, of the parameters and of `frequency`.
        frequency: the symbol of the frequency.
        squared: the square of the frequency, the determinant of the Jacobian, which must be positive.
        trace: the trace of the Jacobian, which must vanish.
    """

    value: Any
    frequency: Any
    squared: Any
    trace: Any

    __repr__ = one_line

    def __str__(self) -> str:
        """Write the coefficient and where it holds."""
        where = f"where {text(self.trace)} = 0 and {self.frequency}^2 = {text(self.squared)} > 0"
        return f"first Lyapunov coefficient of Hopf points: {text(self.value)},\n  {where}"

    @property
    def latex(self) -> str:
        """The coefficient as an equation."""
        import sympy as sp

        return rf"\ell_1 = {sp.latex(self.value)}, \quad {sp.latex(self.frequency)}^2 = {sp.latex(self.squared)}"

    def at(self, values: dict[Any, Any]) -> Any:
        """The coefficient, without the frequency, at values of symbols, such as along a part of a Hopf curve."""
        import sympy as sp

        squared = sp.factor(self.squared.subs(values, simultaneous=True))
        return tidied(self.value.subs(values, simultaneous=True).subs(self.frequency, sp.sqrt(squared)))


def first_lyapunov_coefficient(flow: AbstractFlow, at: Sequence[Any] | None = None) -> LyapunovFormula:
    r"""Derive the first Lyapunov coefficient of a planar flow as an expression of its state and parameters.

    $$
        \ell_1 = \frac{1}{2 \omega} \mathrm{Re} \left[ \langle p, C(q, q, \bar q) \rangle
            - 2 \langle p, B(q, A^{-1} B(q, \bar q)) \rangle
            + \langle p, B(\bar q, (2 i \omega - A)^{-1} B(q, q)) \rangle \right]
    $$

    Here A q = i omega q, |q| = 1, A^T p = -i omega p and <p, q> = 1, as in continuation. It is negative where stable
    cycles are born (supercritical), positive where unstable ones are.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> print(ad.first_lyapunov_coefficient(ds.catalogue.VanDerPol(), [0, 0]))
    first Lyapunov coefficient of Hopf points: -mu/(4*omega^3),
      where mu = 0 and omega^2 = 1 > 0
    ```

    Args:
        flow: a flow in the plane as in `symbolic_field`.
        at: an expression of sympy for each component, such as `state` of an `EquilibriumFormula`; by default the
            components themselves.

    Source: Y. A. Kuznetsov, Elements of Applied Bifurcation Theory, section 5.4.
    """
    field = symbolic_field(flow)
    if len(field.names) != 2 or field.is_map:
        raise ArgumentError("flow", "be a flow in the plane", f"has {len(field.names)} components")
    if at is not None and len(at) != 2:
        raise ArgumentError("at", "hold one expression for each of 2 components", f"holds {len(at)}")
    return coefficient(field, at)


@bounded_effort()
def coefficient(field: SymbolicField, at: Sequence[Any] | None = None) -> LyapunovFormula:
    """Derive the coefficient of a planar field at a state."""
    import sympy as sp

    names = {str(s) for s in (*field.states, *field.values)}
    w = sp.Symbol("omega" if "omega" not in names else "omega_0", positive=True)
    place = {} if at is None else dict(zip(field.states, map(sp.sympify, at), strict=True))
    here = lambda e: e.subs(place, simultaneous=True)
    J = field.jacobian
    derivative = lambda k, *by: here(sp.diff(field.right[k], *(field.states[m] for m in by)))
    a, b, c, i = sp.symbols("a_ b_ c_ i_")
    real = lambda e: sp.Poly(sp.expand(e), i).rem(sp.Poly(i**2 + 1, i)).as_expr()
    pairs = [(m, n) for m in (0, 1) for n in (0, 1)]
    two = [{(m, n): derivative(k, m, n) for m, n in pairs} for k in (0, 1)]
    B = lambda u, v: [real(sum(two[k][m, n] * u[m] * v[n] for m, n in pairs)) for k in (0, 1)]
    q, q_ = (b, i * w - a), (b, -i * w - a)
    steady = _times([[-a, -b], [-c, a]], B(q, q_))  # A^-1 B(q, q_) times omega^2
    double = _times([[2 * i * w + a, b], [c, 2 * i * w - a]], B(q, q))  # (2 i omega - A)^-1 B(q, q) times -3 omega^2
    triples = [(m, n, j) for m, n in pairs for j in (0, 1)]
    cubic = [sum(derivative(k, m, n, j) * q[m] * q[n] * q_[j] for m, n, j in triples) for k in (0, 1)]
    # the sum in the inner product, times 3 omega^2
    inner = [3 * w**2 * x - 6 * y - z for x, y, z in zip(cubic, B(q, steady), B(q_, double), strict=True)]
    scaled = (c * inner[0] - (a - i * w) * inner[1]) * -(w - i * a)  # <p, q> is -2 omega (omega + i a)
    whole = sp.Poly(real(scaled), i).coeff_monomial(1)
    entries = {a: here(J[0, 0]), b: here(J[0, 1]), c: here(J[1, 0])}
    if simplified(entries[b] * entries[c]) == 0:
        raise ArgumentError("flow", IMAGINARY, "has a triangular one")
    squared = -(a**2) - b * c
    even = sp.Poly(whole, w).rem(sp.Poly(w**2 - squared, w)).as_expr()
    # the factors: 2 omega of the formula, |q|^2, 2 omega (omega^2 + a^2), and 3 omega^2
    value = even / (2 * w * b * (b - c) * 2 * w * (-b * c) * 3 * w**2)
    value = value.subs(entries, simultaneous=True)
    determinant = sp.factor(here(J[0, 0] * J[1, 1] - J[0, 1] * J[1, 0]))
    trace = sp.factor(here(J.trace()))
    if trace.is_nonzero or determinant.is_positive is False:
        but = f"has one with the trace {text(trace)} and the determinant {text(determinant)}"
        raise ArgumentError("flow", IMAGINARY, but)
    return LyapunovFormula(sp.factor(value), w, determinant, trace)


def _times(matrix: Sequence[Sequence[Any]], vector: Sequence[Any]) -> list[Any]:
    return [row[0] * vector[0] + row[1] * vector[1] for row in matrix]
