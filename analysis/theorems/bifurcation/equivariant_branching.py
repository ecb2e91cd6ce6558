"""The equivariant branching lemma: a branch of equilibria for each subgroup that fixes one critical direction."""

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.algebra import is_zero
from analysis.theorems.bifurcation.extended import BITS, TERMS, forms_of
from analysis.theorems.bifurcation.forms import Forms
from analysis.theorems.bifurcation.resting import resting_point
from analysis.theorems.conditions import HOLDS, Conditions, known, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from analysis.theorems.structure.equivariant import matrices
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

NAME = "Equivariant branching lemma"


@theorem
@arithmetic(BITS, TERMS)
def equivariant_branching(parameter: Parameter, value: float, state: ArrayLike, symmetries: ArrayLike) -> Conditions:
    """Check whether a branch of equilibria with given symmetries leaves a symmetric one that rests for all parameters.

    The flow is restricted to the points that the symmetries fix. There one eigenvalue crosses zero, and only one, even
    if the critical eigenvalue of the whole flow is a multiple one.

    Args:
        parameter: a flow with the parameter.
        value: the parameter near the bifurcation.
        state: the equilibrium, exactly, (n,).
        symmetries: generators of the symmetries of the branch, regular matrices with entries 0, 1 and -1 or other
            binary fractions, (count, n, n), or one of them, (n, n); they act about the equilibrium.

    Raises:
        ValueError: for bad input, symmetries that fix no direction, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: M. Golubitsky, I. Stewart and D. Schaeffer, Singularities and Groups in Bifurcation Theory, volume 2,
    Springer 1988, chapter XIII.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.theorems import equivariant_branching
        >>> triangle = ds.system("x' = a*x + x^2 - y^2; y' = a*y - 2*x*y", a=0.5)  # z' = a z + conj(z)^2
        >>> found = equivariant_branching(ds.Parameter(triangle, "a", -1, 1), 0.1, [0.0, 0.0], np.diag([1.0, -1.0]))
        >>> found.applies, found.numbers["speed"]
        (True, 1.0)
    """
    at = point("state", state)
    n, given = len(at), matrices(symmetries, len(at))
    whole = forms_of((parameter,), n, NAME)
    basis, onto = _fixed(given)
    k = basis.shape[1]
    field = lambda x, a: whole.field(jnp.append(x, a))
    gap = lambda z: jnp.concatenate([field(at + g @ z[:n], z[n]) - g @ field(at + z[:n], z[n]) for g in given])
    commutes = known("the field commutes with the symmetries", "f(x* + g y) = g f(x* + y)", is_zero(gap, n + 1))
    inside = Forms(lambda z: onto @ field(at + basis @ z[:k], z[k]), k + 1)
    found = resting_point(inside, parameter.name, value, np.zeros(k))
    rests, simple = found.rows()
    simple = simple._replace(words=f"{simple.words}, among the {k} directions that the symmetries fix")
    rows, numbers = [rests, commutes, simple], {}
    if simple.status == HOLDS:
        speed = found.coefficients()[0]
        rows.append(different_from_zero("the eigenvalue crosses zero", "speed = <p, dA/da q> != 0", speed))
        numbers = {found.name: found.value, "speed": float(speed.mid())}
    return Conditions(
        NAME, tuple(rows),
        "exactly one branch of equilibria that have the symmetries, other than the equilibrium, passes through it",
        "a branch with these symmetries is not implied",
        None, parameter.system, numbers,
    )  # fmt: skip


def _fixed(given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A basis of the vectors that all matrices fix, in reduced form, and the components that are its coordinates.

    Raises:
        ValueError: if only zero is fixed.
    """
    from sympy import Matrix, Rational

    n = given.shape[1]
    rows = [[Rational(*float(v).as_integer_ratio()) for v in row] for g in given for row in g - np.eye(n)]
    vectors = Matrix(rows).nullspace()
    if not vectors:
        raise ArgumentError("symmetries", "fix a direction", "fix only the equilibrium")
    free = [k for k in range(n) if k not in Matrix(rows).rref()[1]]
    return np.array([[float(v) for v in one] for one in vectors]).T, np.eye(n)[free]
