"""All solutions of a system of polynomial equations as rational functions of the roots of one polynomial.

The quotient ring of the ideal has finite dimension if the solutions are isolated. Adding the square-free parts of the
minimal polynomials of all unknowns makes the ideal radical (Seidenberg's lemma), so that the dimension becomes the
number of different solutions. A linear form u whose minimal polynomial h has this degree takes different values at
different solutions, and every unknown is a polynomial of u there (the shape lemma).

Source: D. Cox, J. Little, D. O'Shea, Using Algebraic Geometry, 2nd ed. (2005), chapter 2.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from analysis.dynamics.symbolic.effort import GREVLEX, LEX
from dynsim.errors import ArgumentError


class Budget(NamedTuple):
    """Limits of a computation with Groebner bases: the product of the degrees, and the number of terms."""

    degree: int
    terms: int


NUMBERS = Budget(36, 400)
"""Limits for equations with numbers; dense ones in the plane take 2 s at the limit."""
SYMBOLS = Budget(16, 120)
"""Limits for equations with parameters, whose coefficients are rational functions."""


class Solutions(NamedTuple):
    """All complex solutions of polynomial equations.

    Attributes:
        form: the linear form u of the unknowns that separates the solutions.
        minimal: square-free polynomial in u, whose roots are the values of the form; of degree 0 without solutions.
        unknowns: for each unknown a polynomial in u.
        count: number of solutions, each counted with its multiplicity.
    """

    form: Any
    minimal: Any
    unknowns: tuple[Any, ...]
    count: int


def solve_polynomials(
    equations: Sequence[Any], nonzero: Sequence[Any], unknowns: Sequence[Any], what: str = "equilibria"
) -> Solutions:
    """Solve polynomial equations exactly, leaving out solutions at which one of some expressions vanishes.

    Args:
        equations: as many polynomials in the unknowns as there are unknowns, or more; other symbols are parameters.
        nonzero: polynomials that must not vanish, such as denominators.
        unknowns: the symbols.
        what: what the solutions are, for an error.

    Raises:
        ArgumentError: beyond the limits, or if the solutions are not isolated.
    """
    import sympy as sp

    u, w = sp.Dummy("u", real=True), sp.Dummy("w")
    every = [e for e in equations if e != 0]
    others = set().union(*(e.free_symbols for e in [*every, *nonzero])) - set(unknowns)
    symbols = sorted(others, key=str)
    plain, domain = (sp.QQ.frac_field(*symbols, order=order) if others else sp.QQ for order in (sp.lex, LEX))
    _check_size(every, nonzero, unknowns, SYMBOLS if others else NUMBERS)
    variables = tuple(unknowns)
    if nonzero:  # Rabinowitsch: 1 - w q = 0 has a solution w where q does not vanish, and only there
        variables = (w, *unknowns)
        every = [*every, 1 - w * sp.prod(nonzero)]
    if len(every) < len(variables):
        raise _not_isolated(every, what)
    ring = sp.ring(variables, domain, order=GREVLEX)[0]
    quotient = _Quotient(ring, [ring.from_expr(sp.expand(e)) for e in every], what)
    count = len(quotient.monomials)
    squarefree = []
    for x in ring.gens:
        minimal = quotient.expressed(quotient.powers(x), (), u)[0]
        part = _squarefree(minimal, sorted(others, key=str))
        if part.degree() < minimal.degree():
            squarefree.append(sum((c * x**k for (k,), c in part.as_dict(native=True).items()), ring.zero))
    if squarefree:
        quotient = _Quotient(ring, [*quotient.basis, *squarefree], what)
    chosen = ring.gens[len(variables) - len(unknowns) :]
    size = len(quotient.monomials)
    for form in _forms(chosen):
        powers = quotient.powers(form)
        if len(powers) - 1 == size:
            break
    else:
        raise AssertionError("no separating form was found")
    minimal, *coordinates = (e.set_domain(plain) for e in quotient.expressed(powers, chosen, u))
    return Solutions(form.as_expr(), minimal, tuple(coordinates), count)


def _squarefree(polynomial: Any, parameters: Sequence[Any]) -> Any:
    """The square-free part of a polynomial whose coefficients may be rational functions of parameters."""
    import sympy as sp

    if not parameters or polynomial.degree() < 2:
        return polynomial.sqf_part() if polynomial.degree() else polynomial
    special = {p: sp.Rational(101 + 37 * k, 53 + 10 * k) for k, p in enumerate(parameters)}
    fixed = sp.Poly([c.subs(special) for c in polynomial.all_coeffs()], polynomial.gen)
    if fixed.degree() == polynomial.degree() and fixed.is_sqf:
        return polynomial  # it is square-free at special parameters, and so in general
    whole = sp.fraction(sp.together(polynomial.as_expr()))[0]
    part = sp.Poly(sp.Poly(whole, polynomial.gen, *parameters).sqf_part().as_expr(), polynomial.gen)
    return part.set_domain(polynomial.domain).monic()


def _check_size(equations: Sequence[Any], nonzero: Sequence[Any], unknowns: Sequence[Any], budget: Budget) -> None:
    import sympy as sp

    polys = [sp.Poly(e, *unknowns) for e in (*equations, *([sp.prod(nonzero)] if nonzero else ()))]
    degree = sp.prod([max(1, p.total_degree()) for p in polys[: len(equations)]])
    terms = sum(len(sp.expand(p.as_expr()).as_ordered_terms()) for p in polys)
    if degree > budget.degree or terms > budget.terms:
        must = f"have equations whose degrees have a product of at most {budget.degree}, with {budget.terms} terms"
        raise ArgumentError("system", must, f"has a product of {degree}, with {terms} terms")


def _not_isolated(basis: Sequence[Any], what: str) -> ArgumentError:
    import sympy as sp

    shown = ", ".join(sp.sstr(e).replace("**", "^") for e in basis[:3]) or "0"
    return ArgumentError("system", f"have isolated {what}", f"has infinitely many, the zeros of {shown}")


def _forms(generators: Sequence[Any]) -> Iterator[Any]:
    """The unknowns themselves, then linear forms with small whole coefficients."""
    yield from generators
    for largest in range(1, 8):
        for many in product(range(-largest, largest + 1), repeat=len(generators)):
            if max(map(abs, many)) == largest and sum(map(bool, many)) > 1:
                yield sum(c * x for c, x in zip(many, generators, strict=True))


class _Quotient:
    """The quotient of a ring of polynomials by an ideal of finite dimension, with its monomials as a basis."""

    def __init__(self, ring: Any, generators: Sequence[Any], what: str):
        import sympy as sp

        found = sp.groebner([g.as_expr() for g in generators], *ring.symbols, order=GREVLEX, domain=ring.domain)
        if not found.is_zero_dimensional and list(found.exprs) != [1]:
            raise _not_isolated(found.exprs, what)
        self.ring = ring
        self.basis = [ring.from_dict(p.as_dict(native=True)) for p in found.polys]
        self.monomials = self._standard([p.leading_expv() for p in self.basis])
        self.places = {m: k for k, m in enumerate(self.monomials)}

    def _standard(self, leading: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Monomials that no leading monomial divides."""
        divides = lambda a, b: all(i <= j for i, j in zip(a, b, strict=True))
        found, todo = [], [(0,) * len(self.ring.gens)]
        seen = set(todo)
        while todo:
            one = todo.pop()
            if any(divides(lead, one) for lead in leading):
                continue
            found.append(one)
            for k in range(len(one)):
                after = (*one[:k], one[k] + 1, *one[k + 1 :])
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        return sorted(found, key=self.ring.order)

    def vector(self, polynomial: Any) -> list[Any]:
        """Coefficients of a reduced polynomial in the basis of monomials."""
        found = [self.ring.domain.zero] * len(self.monomials)
        for monomial, c in polynomial.terms():
            found[self.places[monomial]] = c
        return found

    def powers(self, form: Any) -> list[list[Any]]:
        """Coefficients of 1, u, u^2, ... up to the first power that depends on those before it."""
        if not self.monomials:
            return [[]]
        found, power = [], self.ring.one
        rows = _Echelon(self.ring.domain)
        while True:
            found.append(self.vector(power))
            if not rows.add(found[-1]):
                return found
            power = (power * form).rem(self.basis)

    def expressed(self, powers: Sequence[list[Any]], elements: Sequence[Any], u: Any) -> list[Any]:
        """The minimal polynomial of a form, and elements as polynomials of it, from its powers."""
        import sympy as sp
        from sympy.polys.matrices import DomainMatrix

        *before, last = powers
        domain, size = self.ring.domain, len(before)
        found = [[domain.zero] * size for _ in range(1 + len(elements))]
        if before:
            right = [last, *(self.vector(one.rem(self.basis)) for one in elements)]
            rows = [list(row) for row in zip(*before, *right, strict=True)]
            reduced = DomainMatrix(rows, (len(rows), size + len(right)), domain).rref()[0].to_list()
            found = [[reduced[k][size + j] for k in range(size)] for j in range(len(right))]
        poly = lambda terms: sp.Poly({(k,): c for k, c in enumerate(terms)} or {(0,): domain.zero}, u, domain=domain)
        return [poly([*(-c for c in found[0]), domain.one]), *map(poly, found[1:])]


class _Echelon:
    """Rows in echelon form, to which one after the other is added."""

    def __init__(self, domain: Any):
        self.domain, self.rows = domain, dict[int, list[Any]]()

    def add(self, row: Sequence[Any]) -> bool:
        """Add a row unless it depends on those before it; return whether it does not."""
        row = list(row)
        for pivot, other in self.rows.items():
            if row[pivot]:
                factor = row[pivot]
                row = [a - factor * b for a, b in zip(row, other, strict=True)]
        pivot = next((k for k, a in enumerate(row) if a), None)
        if pivot is None:
            return False
        inverse = self.domain.one / row[pivot]
        self.rows[pivot] = [a * inverse for a in row]
        return True
