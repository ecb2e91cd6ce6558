"""Conserved quantities that are polynomials."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from analysis.dynamics.symbolic.effort import LEX, bounded_effort
from analysis.dynamics.symbolic.equilibria import free_parameters, with_parameters
from analysis.dynamics.symbolic.fields import SymbolicField, aligned, symbolic_field, text
from dynsim._core.printing import one_line
from dynsim._core.validation import integer
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow, AbstractMap

MONOMIALS = 300
"""Most monomials of a conserved quantity; 300 take some seconds."""


class ConservedPolynomials(NamedTuple):
    """Polynomials that are constant along solutions.

    Attributes:
        found: functionally independent ones, of the lowest degrees.
        degree: the degree up to which there are no others but functions of these.
    """

    found: tuple[Any, ...]
    degree: int

    __repr__ = one_line

    def __str__(self) -> str:
        """List the conserved quantities."""
        rows = [f"  {text(e)}" for e in self.found]
        return "\n".join([f"conserved polynomials up to degree {self.degree}: {len(rows) or 'none'}", *rows])

    @property
    def latex(self) -> str:
        """The conserved quantities as an aligned display."""
        return aligned([f"H_{{{k + 1}}}" for k in range(len(self.found))], self.found)


@bounded_effort()
def conserved_polynomials(
    system: AbstractFlow | AbstractMap,
    degree: int = 4,
    parameters: Sequence[str] | None = None,
    *,
    state: Any = None,
) -> ConservedPolynomials:
    """Find all polynomials up to a degree that are constant along the solutions of a rational flow or map.

    Their coefficients solve linear equations, exactly and for generic parameters.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> print(ad.conserved_polynomials(ds.system("x' = y; y' = a*x - x^3", a=2.0)))
    conserved polynomials up to degree 4: 1
      -a*x^2 + x^4/2 + y^2
    ```

    Args:
        system: a flow or a map as in `symbolic_field`, with a rational right-hand side.
        degree: the largest degree.
        parameters: names of the parameters that are kept as symbols, all by default; the others have their values.
        state: any state, for a system that does not name its components.

    Raises:
        ArgumentError: if the right-hand side is not rational, or there are more than 300 monomials.
    """
    field = with_parameters(symbolic_field(system, state=state), parameters)
    field.numerators("conserved polynomials")
    size, degree = len(field.states), integer("degree", degree, least=1)
    count = math.comb(size + degree, size) - 1
    if count > MONOMIALS:
        must = f"be such that {size} components have at most {MONOMIALS} monomials"
        raise ArgumentError("degree", must, f"is {degree}, which gives {count:,}")
    return ConservedPolynomials(tuple(_conserved(field, degree)), degree)


def _conserved(field: SymbolicField, degree: int) -> list[Any]:
    """Raise the degree as long as special parameters allow further ones, and solve for those with parameters."""
    import sympy as sp

    found: list[Any] = []
    parameters = sorted(free_parameters(field), key=str)
    special = {p: sp.Rational(101 + 37 * k, 53 + 10 * k) for k, p in enumerate(parameters)}
    fixed = field._replace(right=tuple(e.subs(special) for e in field.right))
    domain = sp.QQ.frac_field(*parameters, order=LEX) if parameters else sp.QQ
    for d in range(1, degree + 1):
        powers = [m for m in itertools.product(range(d + 1), repeat=len(field.states)) if 0 < sum(m) <= d]
        powers.sort(key=lambda m: (sum(m), m))
        likely = _solutions(fixed, powers, sp.QQ)
        if len(likely) <= _functions_of(found, field.states, d):
            continue
        used = [m for k, m in enumerate(powers) if any(row[k] != 0 for row in likely)]
        for row in _solutions(field, used, domain) if parameters else likely:
            where = used if parameters else powers
            found = _independent(field, found, _polynomial(field, row, where))
    return found


def _solutions(field: SymbolicField, powers: Sequence[tuple[int, ...]], domain: Any) -> list[list[Any]]:
    """Coefficients of monomials whose combination does not change, a row for each independent one."""
    import sympy as sp
    from sympy.polys.matrices import DomainMatrix

    ring = sp.ring(field.states, domain)[0]
    parts = [sp.fraction(sp.together(e)) for e in field.right]
    below = sp.prod(list(dict.fromkeys(q for _, q in parts)))
    above = [ring.from_expr(sp.expand(sp.cancel(e * below))) for e in field.right]
    most, divisor = max(map(sum, powers)), ring.from_expr(sp.expand(below))
    rates = []
    for m in powers:
        if field.is_map:
            after = math.prod((f**k for f, k in zip(above, m, strict=True)), start=ring.one)
            rates.append(after * divisor ** (most - sum(m)) - ring.from_dict({m: domain.one}) * divisor**most)
        else:
            monomial = ring.from_dict({m: domain.one})
            rates.append(sum((monomial.diff(k) * f for k, f in enumerate(above)), ring.zero))
    terms = sorted({term for rate in rates for term in rate})
    rows = [[rate.get(term, domain.zero) for rate in rates] for term in terms]
    table = DomainMatrix(rows, (len(terms), len(rates)), domain)
    return table.nullspace().to_Matrix().tolist()


def _functions_of(found: Sequence[Any], states: Sequence[Any], degree: int) -> int:
    """Number of products of the polynomials found, up to a degree."""
    import sympy as sp

    degrees = [sp.Poly(e, *states).total_degree() for e in found]
    counts = [1] + [0] * degree
    for one in degrees:
        for k in range(one, degree + 1):
            counts[k] += counts[k - one]
    return sum(counts) - 1


def _polynomial(field: SymbolicField, row: Sequence[Any], powers: Sequence[tuple[int, ...]]) -> Any:
    """The polynomial with some coefficients, scaled to the shortest one."""
    import sympy as sp

    monomials = [sp.prod(x**k for x, k in zip(field.states, m, strict=True)) for m in powers]
    scaled = [
        sum(sp.factor(c / unit) * m for c, m in zip(row, monomials, strict=True))
        for unit in dict.fromkeys(c for c in row if c != 0)
    ]
    common = sp.primitive(sp.fraction(sp.together(scaled[0]))[0])[1]
    return min([*scaled, sp.collect(sp.expand(common), field.states)], key=sp.count_ops)


def _independent(field: SymbolicField, found: list[Any], candidate: Any) -> list[Any]:
    """Add a quantity unless it is a function of those before it, of which the gradients tell."""
    import sympy as sp

    J = sp.Matrix([*found, candidate]).jacobian(field.states)
    generic = {s: sp.Rational(7 + 11 * k, 5 + 3 * k) for k, s in enumerate(sorted(J.free_symbols, key=str))}
    return [*found, candidate] if J.subs(generic).rank() > len(found) else found
