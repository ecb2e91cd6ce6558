"""Strong and weak order of integrators of stochastic differential equations: by trees, in exact arithmetic."""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.intervals import IntervalFunction
from analysis.theorems.algebra import is_zero
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, known, theorem
from analysis.theorems.exactly import identically_zero
from analysis.theorems.fields import Field, field_of, smooth
from analysis.theorems.noise.tableaux import (
    METHODS,
    StochasticTableau,
    exact_integral,
    forests,
    is_additive,
    trees,
    written,
)
from analysis.theorems.noise.words import combined, expectation, product
from analysis.theorems.regions import Region, as_region, box
from analysis.theorems.subdivision import bounds_on, equal_parts
from dynsim._core.types import BoxLike
from dynsim.errors import ArgumentError, nearest
from dynsim.systems.noisy import NoisyFlow

STRONG, WEAK = (0.5, 1.0, 1.5), (1, 2)
PARTS = 256
"""Number of boxes on which derivatives are bounded in a region."""


@theorem
def order_conditions(
    method: StochasticTableau | str,
    flow: NoisyFlow | None = None,
    region: Region | BoxLike | None = None,
    *,
    strong: float | None = None,
    weak: int | None = None,
    dimension: int | None = None,
) -> Conditions:
    """Check whether an integrator has a strong or a weak order, also for an equation with noise of yours.

    The coefficients of a step on rooted trees are compared with the iterated integrals of the solution, in exact
    rational arithmetic. For strong order p they agree up to order p, and their expectations up to p + 1/2; for weak
    order p the expectations of all their products agree up to order p + 1/2. These conditions are for scalar noise; the
    rows on the equation say whether its noise is of a kind for which no others are needed. Noise that does not depend
    on the state needs fewer trees.

    Args:
        method: a tableau, or the name of one: euler-maruyama, milstein, euler-heun, stochastic-heun, sra1, sriw1 or
            platen-weak-2.
        flow: an autonomous equation with noise on Euclidean space; without any, only the method is checked.
        region: a box or a region in which the solution is followed; by default all states count.
        strong: the strong order, 0.5, 1 or 1.5.
        weak: the weak order, 1 or 2; one of both is given.
        dimension: number of components, if the flow has no names of components and no region is given.

    Returns:
        The conditions; `numbers` holds the order, and a Lipschitz constant of the coefficients in the norm of largest
        entries.

    Raises:
        ValueError: for bad input, a flow that is no equation with noise, or one that intervals cannot enclose.

    Source: K. Burrage and P. Burrage, SIAM J. Numer. Anal. 38 (2000) 1626; A. Roessler, SIAM J. Numer. Anal. 48 (2010)
    922; G. Milstein and M. Tretyakov, Stochastic Numerics for Mathematical Physics, Springer 2004, theorems 1.1, 2.1.

    Example:
        >>> from analysis.theorems import order_conditions
        >>> order_conditions("sriw1", strong=1.5).applies
        True
        >>> [row.words for row in order_conditions("euler-maruyama", strong=1).failing]
        ["strong order 1, b'(b)"]
    """
    if (strong is None) == (weak is None):
        but = "is missing" if weak is None else "is given with `weak`"
        raise ArgumentError("strong", "be given, or `weak`, but not both", but)
    if strong is not None and strong not in STRONG:
        raise ArgumentError("strong", "be 0.5, 1 or 1.5", f"is {strong:g}")
    if weak is not None and weak not in WEAK:
        raise ArgumentError("weak", "be 1 or 2", f"is {weak}")
    scheme = _method(method)
    kind = "strong" if weak is None else "weak"
    order = float(weak or strong or 0.0)
    where, rows, additive, numbers = None, [], False, {"order": order}
    if flow is not None:
        where = None if region is None else as_region(region)
        equation = _Equation(flow, where, dimension)
        additive = equation.is_additive
        rows, lipschitz = _equation_rows(equation, scheme, kind, order)
        numbers |= lipschitz
    elif region is not None:
        raise ArgumentError("region", "be left out without a flow", "is given")
    found = list(_strong(scheme, order, additive) if kind == "strong" else _weak(scheme, round(order), additive))
    error = "mean square error of states at a time is at most C h^" if kind == "strong" else \
        "error of expectations of smooth functions at a time is at most C h^"  # fmt: skip
    inside = "" if where is None else ", as long as solutions stay in the region"
    return Conditions(
        f"{kind.capitalize()} order {order:g} of {scheme.name}", (*rows, *found),
        f"the {'root ' if kind == 'strong' else ''}{error}{order:g} with steps h{inside}",
        f"the {kind} order {order:g} is not implied", where, flow, numbers,
    )  # fmt: skip


def _method(method: StochasticTableau | str) -> StochasticTableau:
    if isinstance(method, StochasticTableau):
        return method
    if method not in METHODS:
        raise ArgumentError("method", f"be one of {', '.join(METHODS)}", f"is {method}{nearest(method, METHODS)}")
    return METHODS[method]


def _exactly(words: str, inequality: str, gap: Fraction) -> Hypothesis:
    """State whether a rational number is zero."""
    said = inequality if not gap else f"{inequality}; it is {gap}" if len(str(gap)) < 20 else inequality
    return Hypothesis(words, said, FAILS if gap else HOLDS, -abs(float(gap)) if gap else math.nan, "algebra")


def _strong(scheme: StochasticTableau, order: float, additive: bool) -> Iterator[Hypothesis]:
    """Compare coefficients on all trees of at most the order, and expectations on those of half an order more."""
    most, ito = round(2 * order), scheme.is_ito
    for size in range(1, most + 2):
        for tree in trees(size):
            if additive and not is_additive(tree):
                continue
            gap = combined((1, scheme.coefficient(tree)), (-1, exact_integral(tree, is_ito=ito)))
            words = f"strong order {order:g}, {written(tree)}"
            if size <= most:
                square = expectation(product(gap, gap, is_ito=ito), is_ito=ito)
                yield _exactly(words, "E (coefficient - integral)^2 = 0", square)
            else:
                yield _exactly(f"{words} on average", "E coefficient = E integral", expectation(gap, is_ito=ito))


def _weak(scheme: StochasticTableau, order: int, additive: bool) -> Iterator[Hypothesis]:
    """Compare expectations of products of coefficients of a total order, one row for each half order."""
    ito = scheme.is_ito
    for size in range(1, 2 * order + 2):
        gaps = []
        for some in forests(size):
            if additive and not all(map(is_additive, some)):
                continue
            means = []
            for value in (scheme.coefficient, lambda tree: exact_integral(tree, is_ito=ito)):
                whole = {(): Fraction(1)}
                for tree in some:
                    whole = product(whole, value(tree), is_ito=ito)
                means.append(expectation(whole, is_ito=ito))
            gaps.append((means[0] - means[1], some))
        gap, some = next(((gap, some) for gap, some in gaps if gap), (Fraction(0), ()))
        sense = "E of products of coefficients = E of products of integrals"
        if gap:
            sense = f"E of the product for {', '.join(map(written, some))} is off"
        yield _exactly(f"weak order {order}, {len(gaps)} products of order {Fraction(size, 2)}", sense, gap)


# --- the equation ---


class _Equation:
    """The drift and the directions of the noise of an equation as functions of vectors."""

    def __init__(self, flow: NoisyFlow, region: Region | None, dimension: int | None):
        if not isinstance(flow, NoisyFlow):
            raise ArgumentError(
                "flow", "be an equation with noise, a `dynsim.NoisyFlow`", f"is a {type(flow).__name__}"
            )
        n = region.dimension if region is not None else dimension or len(flow.names)
        if not n:
            raise ArgumentError("dimension", "be given for a flow without names of components", "is missing")
        self.flow, self.n, self.region = flow, n, region
        self.drift: Field = field_of(flow.flow, n, "the theorem on orders of integrators")
        shape = flow.increment_shapes(jnp.zeros(()), jnp.zeros(n)).shape
        self.count = shape[0]
        pushed = lambda z: jnp.stack(
            [jnp.reshape(flow.kick(z[n], z[:n], jnp.asarray(unit)), (n,)) for unit in np.eye(self.count)], axis=1
        )
        if not is_zero(lambda z: jnp.ravel(jax.jacfwd(pushed)(z)[..., n]), n + 1):
            raise ArgumentError("flow", "have noise that does not depend on time", "may depend on it")
        self.noise = lambda x: pushed(jnp.append(x, 0.0))

    @property
    def where(self) -> Region:
        """The region, or a box in which points are looked for at which identities fail."""
        return box([(-2.0, 2.0)] * self.n) if self.region is None else self.region

    @property
    def slopes(self) -> Any:
        """Derivatives of the directions of the noise, (n, count, n)."""
        return jax.jacfwd(self.noise)

    @property
    def is_additive(self) -> bool:
        """Whether the noise does not depend on the state."""
        return is_zero(lambda x: jnp.ravel(self.slopes(x)), self.n) is True

    def all(self, x: Any) -> Any:
        """The entries of the drift and of the noise."""
        return jnp.concatenate([self.drift(x), jnp.ravel(self.noise(x))])


def _equation_rows(
    equation: _Equation, scheme: StochasticTableau, kind: str, order: float
) -> tuple[list[Hypothesis], dict[str, float]]:
    n, additive = equation.n, equation.is_additive
    same = equation.flow.calculus == scheme.calculus
    said = f"it is {equation.flow.calculus.capitalize()}'s" + (", the same for additive noise" if additive else "")
    rows = [
        smooth(equation.all, n, "the drift with the noise"),
        known(f"the integral is {scheme.calculus.capitalize()}'s", said, same or additive),
    ]
    if equation.count > 1 and (order > (1 if kind == "weak" else 0.5) or scheme.variables - {"I1"}):
        rows.append(_several(equation, scheme, additive, kind, order))
    bound = _largest_slopes(equation)
    words, place = (
        "drift and noise are Lipschitz continuous",
        "everywhere" if equation.region is None else "in the region",
    )
    sense = f"|f(x) - f(y)| <= L |x - y| {place}"
    if bound is None:
        rows.append(_unbounded(equation, words, sense))
        return rows, {}
    rows.append(Hypothesis(words, f"{sense}, L = {bound:.5g}", HOLDS, bound))
    if equation.region is None and order > 0.5:
        rows.append(_derivatives(equation, round(2 * order) + 1, kind == "strong" and not (additive and order == 1)))
    return rows, {"L": bound}


def _several(equation: _Equation, scheme: StochasticTableau, additive: bool, kind: str, order: float) -> Hypothesis:
    """Decide whether several Wiener processes need no iterated integrals of different ones."""
    n, m = equation.n, equation.count
    if additive and not scheme.variables - {"I1", "I10"}:
        return known("the directions of the noise commute", "they are constant", True)
    if kind == "strong" and order <= 1 and scheme.variables == {"I1"} and not scheme.is_ito:
        pairs = list(itertools.combinations(range(m), 2))

        def brackets(x: Any) -> Any:
            b, D = equation.noise(x), equation.slopes(x)
            return jnp.concatenate([D[:, i] @ b[:, j] - D[:, j] @ b[:, i] for i, j in pairs])

        return identically_zero("the directions of the noise commute", "Db_i b_j = Db_j b_i", brackets, equation.where)

    def off_diagonal(x: Any) -> Any:
        b, D = equation.noise(x), equation.slopes(x)
        parts = [b[i, j] for i in range(n) for j in range(m) if i != j]
        parts += [D[i, j, k] for i in range(n) for j in range(m) for k in range(n) if not i == j == k]
        return jnp.stack(parts)

    words = "each component has noise of its own, which depends only on it"
    if n == m:
        return identically_zero(words, "b_i is a function of x_i in component i", off_diagonal, equation.where)
    return known(words, f"{m} Wiener processes for {n} components", False)


def _largest_slopes(equation: _Equation) -> float | None:
    """A Lipschitz constant in the norm of largest entries; None if none is found."""
    n = equation.n
    fn = lambda x: jax.jacfwd(equation.all)(x)
    rows = lambda x: jnp.sum(jnp.abs(fn(x)), axis=1)
    if equation.region is None:
        found = IntervalFunction(lambda x: jnp.ravel(fn(x)), n).values(_everywhere(n))[0]
        sizes = np.max(np.abs(found), axis=1).reshape(-1, n).sum(axis=1)
    else:
        sizes = bounds_on(rows, equal_parts(equation.region.sides, PARTS))[:, 1]
    most = float(np.max(sizes))
    return most * (1 + 1e-12) if math.isfinite(most) else None


def _everywhere(n: int) -> np.ndarray:
    return np.tile([-np.inf, np.inf], (1, n, 1))


def _unbounded(equation: _Equation, words: str, sense: str) -> Hypothesis:
    """State that no constant was found; none exists for a polynomial of higher degree on all of space."""
    from analysis.theorems.squares import polynomials

    entries = polynomials(equation.all, equation.n)
    if equation.region is None and entries is not None and any(sum(a) > 1 for one in entries for a in one):
        return known(words, f"{sense}; a polynomial grows faster", False)
    return Hypothesis(words, sense, UNDECIDED)


def _derivatives(equation: _Equation, count: int, values: bool) -> Hypothesis:
    """Decide whether the coefficients of the expansion do not grow too fast, by the forms of drift and noise.

    Derivatives are bounded, and with `values` drift and noise are, too; or both are affine.
    """
    n = equation.n
    words = "the coefficients of the expansion do not grow too fast"
    curved = is_zero(lambda x: jnp.ravel(jax.jacfwd(jax.jacfwd(equation.all))(x)), n)
    if curved:
        return known(words, "drift and noise are affine", True)
    fn: Any = equation.all
    largest = 0.0
    for k in range(count + 1):
        found = IntervalFunction(lambda x, fn=fn: jnp.ravel(fn(x)), n).values(_everywhere(n))[0]
        if k or values:
            largest = max(largest, float(np.max(np.abs(found))))
        fn = jax.jacfwd(fn)
    sense = f"derivatives up to order {count} are bounded" + (", and so are drift and noise" if values else "")
    if math.isfinite(largest):
        return Hypothesis(words, sense, HOLDS, largest)
    return Hypothesis(words, sense, UNDECIDED)
