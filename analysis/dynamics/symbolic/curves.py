"""Hopf and fold curves in two parameters, as formulas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from analysis.dynamics.symbolic.effort import LEX, bounded_effort
from analysis.dynamics.symbolic.equilibria import EquilibriumFormula, formulas
from analysis.dynamics.symbolic.expressions import factors_with, simplified, solved_for, tidied
from analysis.dynamics.symbolic.fields import SymbolicField, aligned, symbolic_field, text
from analysis.dynamics.symbolic.stability import characteristic, hurwitz_matrix
from dynsim._core.printing import one_line
from dynsim._core.types import ArrayLike
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError
from dynsim.systems.base import AbstractFlow

# Most components of a flow: determinants of larger systems have too many terms to be of use.
LARGEST = 4
# Most eliminations that are tried for one curve.
TRIED = 200


class CurvePart(NamedTuple):
    """Part of a curve in two parameters.

    Attributes:
        along: the symbol that runs along the curve, a parameter or a component; None for an implicit curve.
        given: expressions of `along` for the other parameter, or for both, and for the components.
        implicit: expression of both parameters that vanishes, or None.
        positive: expression that must be positive, the square of the frequency at Hopf points; None without one.
    """

    along: Any
    given: Mapping[Any, Any]
    implicit: Any
    positive: Any

    __repr__ = one_line

    def __str__(self) -> str:
        """Write the equations of the curve."""
        rows = ", ".join(f"{symbol} = {text(e)}" for symbol, e in self.given.items())
        return (rows or f"{text(self.implicit)} = 0") + (
            "" if self.positive is None else f", where {text(self.positive)} > 0"
        )


class CriticalFormulas(NamedTuple):
    """Curve of bifurcations of equilibria in two parameters, as formulas.

    Attributes:
        kind: `Hopf` or `fold`.
        parameters: symbols of the two parameters.
        parts: its parts.
        values: values of the other parameters, by symbol.
    """

    kind: str
    parameters: tuple[Any, Any]
    parts: tuple[CurvePart, ...]
    values: Mapping[Any, Any]

    __repr__ = one_line

    def __str__(self) -> str:
        """List the parts."""
        head = f"{self.kind} curve in {', '.join(map(str, self.parameters))}"
        return "\n".join([head, *(f"  {part}" for part in self.parts)] if self.parts else [f"{head}: none"])

    @property
    def latex(self) -> str:
        """The formulas of all parts as an aligned display."""
        import sympy as sp

        left, right = [], []
        for part in self.parts:
            rows = {"0": part.implicit} if part.along is None else {sp.latex(k): v for k, v in part.given.items()}
            left += rows.keys()
            right += rows.values()
        return aligned(left, right)

    def points(self, along: ArrayLike, part: int = 0) -> Float[np.ndarray, "points 2"]:
        """Values of both parameters along a part, one point on each row; NaN where it is not real or does not exist.

        Args:
            along: values of the symbol that runs along the part.
            part: its number.
        """
        import sympy as sp

        one = self.parts[part]
        if one.along is None:
            raise ArgumentError("part", "be one with formulas of a component or a parameter", "is an implicit curve")
        numbers = np.asarray(reals("along", along), float)

        def numeric(e: Any) -> Any:
            fixed = {symbol: value for symbol, value in self.values.items() if symbol is not one.along}
            found = sp.lambdify(one.along, sp.sympify(e).subs(fixed), "numpy")(numbers + 0j)
            return np.broadcast_to(np.asarray(found, complex), numbers.shape)

        pick = lambda p: numeric(one.given.get(p, p))
        found: Any = np.stack([pick(p) for p in self.parameters], axis=-1)
        exists = np.all(np.abs(found.imag) <= 1e-9 * (1 + np.abs(found.real)), axis=-1)
        if one.positive is not None:
            exists &= numeric(one.positive).real > 0
        return np.where(exists[..., None], found.real, np.nan)


@bounded_effort()
def hopf_formulas(flow: AbstractFlow, parameters: Sequence[str], *, state: Any = None) -> CriticalFormulas:
    """Derive the curve of Hopf points of equilibria in two parameters as formulas.

    The last but one Hurwitz determinant, in the plane the trace, vanishes there. In a rational system the formulas of
    the equilibria are put into it; in others the equations are solved one after the other for the parameters and all
    components but one, which runs along the curve. All other parameters are kept.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> print(ad.hopf_formulas(ds.catalogue.Brusselator(), ["a", "b"]))
    Hopf curve in a, b
      b = a^2 + 1, x = a, y = a + 1/a, where a^2 > 0
    ```

    Args:
        flow: a flow as in `symbolic_field`, with two to four components.
        parameters: names of the two parameters.
        state: any state, for a flow that does not name its components.

    Raises:
        ArgumentError: if no formula is found.
    """
    field, chosen = _field(flow, parameters, state, 2)
    _, coefficients = characteristic(field, field.states)
    size = len(field.states)
    critical = hurwitz_matrix(coefficients)[: size - 1, : size - 1].det(method="berkowitz")
    squared = coefficients[2] if size < 4 else coefficients[3] / coefficients[1]
    return CriticalFormulas("Hopf", chosen, _parts(field, chosen, critical, squared), field.values)


@bounded_effort()
def fold_formulas(flow: AbstractFlow, parameters: Sequence[str], *, state: Any = None) -> CriticalFormulas:
    """Derive the curve of folds of equilibria in two parameters as formulas.

    The determinant of the Jacobian vanishes there; so it does at branch points, which are not told apart. The equations
    are solved as in `hopf_formulas`.

    ```python
    >>> import dynsim as ds
    >>> from analysis import dynamics as ad
    >>> print(ad.fold_formulas(ds.system("x' = h + r*x - x^3", h=0.1, r=1.0), ["h", "r"]))
    fold curve in h, r
      h = -2*x^3, r = 3*x^2
    ```

    Args:
        flow: a flow as in `symbolic_field`, with at most four components.
        parameters: names of the two parameters.
        state: any state, for a flow that does not name its components.

    Raises:
        ArgumentError: if no formula is found.
    """
    field, chosen = _field(flow, parameters, state, 1)
    return CriticalFormulas("fold", chosen, _parts(field, chosen, field.jacobian.det(method="berkowitz")), field.values)


def _field(flow: Any, parameters: Sequence[str], state: Any, least: int) -> tuple[SymbolicField, tuple[Any, Any]]:
    field = symbolic_field(flow, state=state)
    if field.is_map or not least <= len(field.names) <= LARGEST:
        raise ArgumentError("flow", f"be a flow with {least} to {LARGEST} components", f"has {len(field.names)}")
    if isinstance(parameters, str) or len(parameters) != 2 or parameters[0] == parameters[1]:
        raise ArgumentError("parameters", "name two parameters", f"is {parameters!r}")
    one, other = (field.parameter(name) for name in parameters)
    return field, (one, other)


def _parts(field: SymbolicField, chosen: tuple[Any, Any], critical: Any, squared: Any = None) -> tuple[CurvePart, ...]:
    """Put the formulas of equilibria into the critical equation, or solve all equations along a component."""
    try:
        families = formulas(field).found
    except ArgumentError:
        found = [(along, given, None, given) for along, given in _along_component(field, chosen, critical)]
    else:
        found = [one for family in families for one in _of_family(field, chosen, critical, family)]
    kept: dict[str, CurvePart] = {}
    for along, given, implicit, state in found:
        at = {s: e for s, e in state.items() if s in squared.free_symbols} if squared is not None else {}
        positive = None if squared is None else tidied(simplified(squared.subs(at, simultaneous=True)))
        if positive is not None and positive.free_symbols & ({*field.states} - {along}):
            positive = None
        if positive is None or not positive.is_nonpositive:
            part = CurvePart(
                along, given, implicit, None if positive is not None and positive.is_positive else positive
            )
            kept.setdefault(str(part), part)
    return tuple(kept.values())


def _of_family(
    field: SymbolicField, chosen: tuple[Any, Any], critical: Any, family: EquilibriumFormula
) -> Iterator[tuple[Any, dict[Any, Any], Any, dict[Any, Any]]]:
    """The curve on one family of equilibria: the symbol along it, expressions of the others, or the implicit curve.

    The last part has what is known of the state, and of the parameter that is not along it.
    """
    import sympy as sp

    state = dict(zip(field.states, family.state, strict=True))
    equation = sp.fraction(sp.together(simplified(critical.subs(state, simultaneous=True))))[0]
    if family.polynomial is not None:
        for along in (family.root, *chosen):
            unknowns = [s for s in (*chosen, family.root) if s is not along]
            solved = list(_eliminated([equation, family.polynomial], along, unknowns, {}, [TRIED]))
            if solved and None not in solved:
                for one in filter(None, solved):
                    moved = {s: tidied(simplified(e.subs(one, simultaneous=True))) for s, e in state.items()}
                    others = {**{p: one[p] for p in chosen if p is not along}, **moved}
                    given = {s: e for s, e in others.items() if s is not along}
                    yield along, given, None, given
                return
        equation = _resultant(equation, family.polynomial, family.root)
    for factor in factors_with(equation, set(chosen)):
        solved, p = next(((s, p) for p, q in (chosen, chosen[::-1]) if (s := solved_for(factor, q))), ([], None))
        if not solved:
            yield None, {}, factor, state if family.polynomial is None else {}
        for q, e in solved:
            moved = {s: tidied(simplified(x.subs(q, e))) for s, x in state.items() if family.root not in x.free_symbols}
            if not any(x.has(sp.zoo, sp.nan) for x in moved.values()):
                given = {q: e, **{s: e for s, e in moved.items() if s is not p}}
                yield p, given, None, given


def _resultant(one: Any, other: Any, root: Any) -> Any:
    """The resultant of two polynomials in a root, which vanishes where they have one in common."""
    import sympy as sp

    symbols = sorted((one.free_symbols | other.free_symbols) - {root}, key=str)
    domain = sp.QQ.frac_field(*symbols, order=LEX) if symbols else sp.QQ
    return sp.fraction(sp.together(sp.Poly(one, root, domain=domain).resultant(sp.Poly(other, root, domain=domain))))[0]


def _along_component(field: SymbolicField, chosen: tuple[Any, Any], critical: Any) -> list[tuple[Any, dict[Any, Any]]]:
    """Solve the equations of a curve, with a component along it.

    Raises:
        ArgumentError: if this is not possible.
    """
    for along in field.states:
        unknowns = [*(s for s in field.states if s is not along), *chosen]
        solved = list(_eliminated([*field.residual, critical], along, unknowns, {}, [TRIED]))
        if solved and None not in solved:
            order = [*chosen, *(s for s in field.states if s is not along)]
            return [(along, {s: one[s] for s in order}) for one in solved if one is not None]
    names = " and ".join(map(str, chosen))
    must = "be such that their equations can be solved one after the other, or eliminated"
    raise ArgumentError("parameters", must, f"{names} are not, with any component along the curve")


def _eliminated(
    equations: Sequence[Any], along: Any, unknowns: Sequence[Any], known: Mapping[Any, Any], left: list[int]
) -> Iterator[dict[Any, Any] | None]:
    """Solve equations one after the other, each for an unknown in which it is linear or quadratic; None without one.

    Factors of an equation are alternatives. Equations whose coefficient of the unknown is constant come first, because
    parts of the curve on which a coefficient vanishes are lost.
    """
    import sympy as sp

    if not unknowns:
        if all(simplified(e) == 0 for e in equations):
            yield dict(known)
        return
    left[0] -= 1
    if left[0] < 0:
        yield None
        return
    reduced = [sp.fraction(sp.together(simplified(e)))[0] for e in equations]
    reduced = [e for e in reduced if e != 0]
    moving = {*unknowns, along}
    if any(not e.free_symbols & moving for e in reduced):
        return  # the other parameters are generic
    candidates: list[Any] = []
    for k, e in enumerate(reduced):
        ways: list[Any] = [_solved(f, unknowns, moving) for f in factors_with(e, moving)]
        if all(ways):
            candidates.append((max(w[0] for w in ways), len(ways), sp.count_ops(e), k, ways))
    if not candidates:
        yield None
        return
    *_, k, ways = min(candidates, key=lambda one: one[:4])
    for _, _, solutions in ways:
        for x, solution in solutions:
            others = [e.subs(x, solution) for j, e in enumerate(reduced) if j != k]
            after = {s: tidied(simplified(e.subs(x, solution))) for s, e in known.items()}
            if not any(e.has(sp.zoo, sp.nan, sp.oo) for e in (*others, *after.values())):
                yield from _eliminated(others, along, [s for s in unknowns if s is not x], {**after, x: solution}, left)


def _solved(factor: Any, unknowns: Sequence[Any], moving: set[Any]) -> tuple[int, int, list[tuple[Any, Any]]] | None:
    """Solve a factor for the best unknown: linear with a coefficient that cannot vanish, linear, or quadratic."""
    import sympy as sp

    found = []
    for place, x in enumerate(unknowns):
        solutions = solved_for(factor, x)
        if solutions:
            divided = bool(sp.diff(factor, x).free_symbols & moving)
            found.append((2 if len(solutions) > 1 else int(divided), place, solutions))
    return min(found, key=lambda one: one[:2], default=None)
