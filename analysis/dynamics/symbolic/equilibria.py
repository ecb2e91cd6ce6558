"""All equilibria of rational flows and maps: with numbers as proved enclosures, with parameters as formulas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.symbolic.algebra import Solutions, solve_polynomials
from analysis.dynamics.symbolic.effort import bounded_effort, check_size
from analysis.dynamics.symbolic.expressions import root_of, tidied
from analysis.dynamics.symbolic.fields import SymbolicField, aligned, symbolic_field, text
from analysis.dynamics.validated.ball_operations import flint
from analysis.dynamics.validated.enclosures import certified_kind, enclosed_eigenvalues
from dynsim._core.printing import one_line, printed, size_of
from dynsim.errors import ArgumentError, counted
from dynsim.systems.base import AbstractFlow, AbstractMap

# Bits of the first evaluation of the roots, of the last one, and the radius, relative to one plus the state, between.
BITS, MOST_BITS, RADIUS = 128, 8192, 1e-18


class ExactEquilibrium(NamedTuple):
    """Equilibrium, or fixed point, of a rational system, enclosed with proof.

    Attributes:
        state: midpoint of the enclosure.
        radius: bound of the error of every component.
        kind: `stable`, `saddle` or `unstable` if the signs of the real parts of all eigenvalues (for a map, of their
            moduli minus one) are certified, `degenerate` if the Jacobian is exactly singular, else `undecided`.
        eigenvalues: balls of python-flint that contain the eigenvalues, if their enclosure succeeds.
        formula: the state as expressions of sympy with square roots, if it has such; else empty.
    """

    state: Float[np.ndarray, " d"]
    radius: float
    kind: str
    eigenvalues: tuple[Any, ...]
    formula: tuple[Any, ...]

    __repr__ = one_line

    def __str__(self) -> str:
        """Write the state and the kind in one line."""
        numbers = f"({', '.join(printed(x, size_of(self.state)) for x in self.state.tolist())})"
        plain = all(e.is_Rational for e in self.formula) and bool(self.formula)
        exact = f"({', '.join(map(text, self.formula))})"
        said = exact if plain else f"{exact} = {numbers}" if self.formula else f"{numbers} +- {self.radius:.1g}"
        return f"{said}: {self.kind}"


class ExactEquilibria(NamedTuple):
    """All equilibria of a rational flow, or fixed points of a map.

    Attributes:
        found: the real ones, ordered by their components.
        count: number of complex ones, each counted with its multiplicity.
        names: names of the components.
        is_map: whether they are fixed points of a map.
    """

    found: tuple[ExactEquilibrium, ...]
    count: int
    names: tuple[str, ...]
    is_map: bool = False

    __repr__ = one_line

    def __str__(self) -> str:
        """List all equilibria."""
        words = ("real fixed point", "real fixed points") if self.is_map else ("real equilibrium", "real equilibria")
        real = counted(len(self.found), *words)
        head = f"{real} ({', '.join(self.names)}), and no other; {self.count} complex with multiplicity"
        return "\n".join([head, *(f"  {one}" for one in self.found)])

    @property
    def states(self) -> Float[np.ndarray, "equilibria d"]:
        """The states, one on each row."""
        return np.array([one.state for one in self.found]).reshape(len(self.found), len(self.names))

    @property
    def latex(self) -> str:
        """The equilibria, exactly where there is a formula, as an aligned display."""
        import sympy as sp

        shown = [sp.Tuple(*(one.formula or map(sp.Float, one.state.tolist()))) for one in self.found]
        return aligned([f"p_{{{k + 1}}}" for k in range(len(shown))], shown)


@bounded_effort()
def exact_equilibria(system: AbstractFlow | AbstractMap, *, state: Any = None) -> ExactEquilibria:
    """Compute all equilibria of a rational flow, or all fixed points of a rational map, with proof.

    The equations are solved by a Groebner basis. The real roots of its polynomial in one linear form are isolated in
    balls, and with them the states and the eigenvalues. Decimal constants stand for the printed number, 0.1 for 1/10.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> print(ad.exact_equilibria(ds.system("x' = x*(3 - x - 2*y); y' = y*(2 - x - y)")))
    4 real equilibria (x, y), and no other; 4 complex with multiplicity
      (0, 0): unstable
      (0, 2): stable
      (1, 1): saddle
      (3, 0): stable
    ```

    Args:
        system: a flow or a map as in `symbolic_field`, with a rational right-hand side.
        state: any state, for a system that does not name its components.

    Raises:
        ArgumentError: if the right-hand side is not rational, the equilibria are not isolated, or the product of the
            degrees of the equations exceeds 36.
        UnavailableError: without python-flint.
    """
    package = flint()
    field = symbolic_field(system, state=state).at(kept=())
    above, below = field.numerators(_called(field))
    solved = solve_polynomials(above, below, field.states, _called(field))
    singular = _determinant(above, field.states)
    found = []
    for factor in _factors(solved):
        degenerate = factor.degree() and _value(singular, field.states, solved.unknowns, factor).is_zero
        for k, root in enumerate(_real_roots(package, factor)):
            formula = _formula(solved, factor, k) if factor.degree() <= 2 else ()
            found.append(_enclosed(package, field, solved, factor, root, bool(degenerate), formula))
    found.sort(key=lambda one: tuple(one.state.tolist()))
    return ExactEquilibria(tuple(found), solved.count, field.names, field.is_map)


def _called(field: SymbolicField) -> str:
    return "fixed points" if field.is_map else "equilibria"


def _factors(solved: Solutions) -> list[Any]:
    """Irreducible factors of the minimal polynomial, with the same domain."""
    check_size(solved.minimal.as_expr())
    return [factor for factor, _ in solved.minimal.factor_list()[1]]


def _determinant(above: Sequence[Any], states: Sequence[Any]) -> Any:
    import sympy as sp

    return sp.Matrix(list(above)).jacobian(list(states)).det(method="berkowitz")


def _value(e: Any, states: Sequence[Any], unknowns: Sequence[Any], factor: Any) -> Any:
    """A polynomial in the states as a polynomial in the linear form, modulo a factor."""
    total = factor.zero
    reduced = [g.rem(factor) for g in unknowns]
    for powers, c in _poly(e, states, factor).terms():
        term = factor.one.mul_ground(c)
        for power, g in zip(powers, reduced, strict=True):
            for _ in range(power):
                term = (term * g).rem(factor)
        total = total + term
    return total.rem(factor)


def _poly(e: Any, states: Sequence[Any], factor: Any) -> Any:
    import sympy as sp

    return sp.Poly(e, *states, domain=factor.domain)


def _real_roots(package: Any, factor: Any) -> list[int]:
    """Places of the real roots of a square-free polynomial among those that python-flint lists, in increasing order."""
    roots = _roots(package, factor, BITS)
    return sorted((k for k, root in enumerate(roots) if root.imag == 0), key=lambda k: float(roots[k].real.mid()))


def _roots(package: Any, factor: Any, bits: int) -> list[Any]:
    whole = factor.clear_denoms(convert=True)[1]
    with package.ctx.workprec(bits):
        return [root for root, _ in package.fmpz_poly([int(c) for c in reversed(whole.all_coeffs())]).complex_roots()]


def _enclosed(
    package: Any, field: SymbolicField, solved: Solutions, factor: Any, place: int, degenerate: bool, formula: tuple
) -> ExactEquilibrium:
    """Enclose the state and the eigenvalues at a real root, with as many bits as the radius needs."""
    import sympy as sp

    first = _roots(package, factor, BITS)[place].real
    bits = BITS
    while True:
        with package.ctx.workprec(bits):
            real = [root.real for root in _roots(package, factor, bits) if root.imag == 0]
            root = next(one for one in real if one.overlaps(first))
            X = [_ball(package, g, root) for g in solved.unknowns]
            if all(float(x.rad()) <= RADIUS * (1 + abs(float(x.mid()))) for x in X) or bits >= MOST_BITS:
                break
        bits *= 2
    with package.ctx.workprec(bits):
        at = dict(zip(field.states, X, strict=True))
        J = np.array([[_evaluated(package, sp.cancel(e), at) for e in row] for row in field.jacobian.tolist()])
        values, kind = certified_kind(enclosed_eigenvalues(J.astype(object)), is_map=field.is_map)
    middle = np.array([float(x.mid()) for x in X])
    radius = max(float(abs(x - m).upper()) for x, m in zip(X, middle.tolist(), strict=True))
    rounded = float(np.nextafter(radius, np.inf))
    return ExactEquilibrium(middle, rounded, "degenerate" if degenerate else kind, values, formula)


def _ball(package: Any, polynomial: Any, root: Any) -> Any:
    """A polynomial with rational coefficients at a ball, by Horner's rule."""
    found = package.arb(0)
    for c in polynomial.all_coeffs():
        found = found * root + package.arb(package.fmpq(int(c.p), int(c.q)))
    return found


def _evaluated(package: Any, e: Any, at: Mapping[Any, Any]) -> Any:
    """A rational expression at balls."""
    if e.is_Rational:
        return package.arb(package.fmpq(int(e.p), int(e.q)))
    if e.is_Symbol:
        return at[e]
    given = [_evaluated(package, one, at) for one in e.args[: 1 if e.is_Pow else None]]
    if e.is_Pow:
        return given[0] ** int(e.exp)
    total = given[0]
    for other in given[1:]:
        total = total + other if e.is_Add else total * other
    return total


def _formula(solved: Solutions, factor: Any, k: int) -> tuple[Any, ...]:
    """The state at a root of a polynomial of degree one or two, the k-th in increasing order for numbers."""
    import sympy as sp

    root = _closed_roots(factor)[k]
    at = lambda g: sp.radsimp(sp.expand(g.rem(factor).as_expr().subs(factor.gen, root)))
    return tuple(at(g) for g in solved.unknowns)


def _closed_roots(factor: Any) -> list[Any]:
    """Roots of a polynomial of degree one or two; those with numbers in increasing order."""
    import sympy as sp

    a, b, *rest = map(sp.factor, factor.all_coeffs())
    if not rest:
        return [sp.factor(-b / a)]
    c = rest[0]
    spread = root_of(b**2 - 4 * a * c)
    return [(-b - spread) / (2 * a), (-b + spread) / (2 * a)]  # a number `a` is positive in an irreducible factor


class EquilibriumFormula(NamedTuple):
    """Equilibria as formulas of the parameters.

    Attributes:
        state: for each component an expression of the parameters, and of `root` if there is a polynomial.
        root: the symbol of a root of the polynomial, or None.
        polynomial: expression in `root` and the parameters that vanishes, or None for a formula without it.
        form: the linear form of the components that `root` stands for, or None.
    """

    state: tuple[Any, ...]
    root: Any = None
    polynomial: Any = None
    form: Any = None

    __repr__ = one_line

    def __str__(self) -> str:
        """Write the state, and the polynomial if there is one."""
        said = f"({', '.join(map(text, self.state))})"
        if self.polynomial is None:
            return said
        what = f"{text(self.root)} = {text(self.form)}" if self.form != self.root else text(self.root)
        return f"{said} for each root {what} of {text(self.polynomial)}"


class EquilibriumFormulas(NamedTuple):
    """All equilibria of a rational system for generic parameters, as formulas.

    Attributes:
        found: formulas that are real at some parameters; one with a polynomial stands for several equilibria, real or
            complex.
        names: names of the components.
        parameters: symbols of the parameters that are kept.
        is_map: whether they are fixed points of a map.
    """

    found: tuple[EquilibriumFormula, ...]
    names: tuple[str, ...]
    parameters: tuple[Any, ...]
    is_map: bool = False

    __repr__ = one_line

    def __str__(self) -> str:
        """List the formulas."""
        head = f"{'fixed points' if self.is_map else 'equilibria'} ({', '.join(self.names)})"
        return "\n".join([head, *(f"  {one}" for one in self.found)] if self.found else [f"{head}: none"])

    @property
    def latex(self) -> str:
        """The formulas as an aligned display."""
        import sympy as sp

        left, right = [], []
        for k, one in enumerate(self.found):
            left.append(f"p_{{{k + 1}}}")
            right.append(sp.Tuple(*one.state))
            if one.polynomial is not None:
                left.append("0")
                right.append(one.polynomial)
        return aligned(left, right)


def equilibrium_formulas(
    system: AbstractFlow | AbstractMap, parameters: Sequence[str] | None = None, *, state: Any = None
) -> EquilibriumFormulas:
    """Solve for the equilibria of a rational flow, or the fixed points of a map, as formulas of its parameters.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> print(ad.equilibrium_formulas(ds.catalogue.Lorenz(), ["rho"]))
    equilibria (x, y, z)
      (0, 0, 0)
      (-2*sqrt(6*rho - 6)/3, -2*sqrt(6*rho - 6)/3, rho - 1)
      (2*sqrt(6*rho - 6)/3, 2*sqrt(6*rho - 6)/3, rho - 1)
    ```

    The formulas hold for all parameters at which no denominator vanishes. An irreducible polynomial of a degree above
    two is given itself.

    Args:
        system: a flow or a map as in `symbolic_field`, with a rational right-hand side.
        parameters: names of the parameters that are kept as symbols, all by default; the others have their values.
        state: any state, for a system that does not name its components.

    Raises:
        ArgumentError: if the right-hand side is not rational, the equilibria are not isolated, or the product of the
            degrees of the equations exceeds 16.
    """
    field = with_parameters(symbolic_field(system, state=state), parameters)
    return formulas(field)


def with_parameters(field: SymbolicField, kept: Sequence[str] | None) -> SymbolicField:
    """The field with exact values of the parameters that are not kept."""
    if isinstance(kept, str):
        raise ArgumentError("parameters", "be a sequence of names", f"is `{kept}`")
    return field.at(kept=[str(symbol) for symbol in field.values] if kept is None else kept)


@bounded_effort()
def formulas(field: SymbolicField) -> EquilibriumFormulas:
    """Solve for the equilibria of a field."""
    above, below = field.numerators(_called(field))
    solved = solve_polynomials(above, below, field.states, _called(field))
    found = tuple(one for factor in _factors(solved) for one in _formulas(field, solved, factor))
    return EquilibriumFormulas(found, field.names, tuple(sorted(free_parameters(field), key=str)), field.is_map)


def free_parameters(field: SymbolicField) -> set[Any]:
    """Symbols of the parameters in the expressions of a field."""
    return set().union(*(e.free_symbols for e in field.right)) - set(field.states)


def _formulas(field: SymbolicField, solved: Solutions, factor: Any) -> Iterator[EquilibriumFormula]:
    import sympy as sp

    if factor.degree() <= 2:
        for k in range(factor.degree()):
            state = tuple(map(tidied, _formula(solved, factor, k)))
            if not any(e.is_real is False for e in state):
                yield EquilibriumFormula(state)
        return
    own = solved.form in field.states
    root = solved.form if own else sp.Symbol("u", real=True)
    at = lambda g: sp.factor(g.rem(factor).as_expr().subs(factor.gen, root))
    polynomial = sp.fraction(sp.together(factor.as_expr().subs(factor.gen, root)))[0]
    state = tuple(at(g) for g in solved.unknowns)
    yield EquilibriumFormula(state, root, sp.collect(sp.expand(polynomial), root), solved.form)
