"""Sotomayor's theorem: the conditions of a fold (saddle-node) bifurcation."""

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.bifurcation.extended import (
    bordered_determinant,
    certified_zero,
    derivatives,
    family_of,
    in_balls,
)
from analysis.theorems.conditions import UNDECIDED, Conditions, Hypothesis
from analysis.theorems.regions import point, written
from analysis.theorems.signs import different_from_zero
from dynsim._core.checked import checked
from dynsim._core.types import ArrayLike
from dynsim._core.validation import real
from dynsim.systems.parameter import Parameter

NAME = "Sotomayor's theorem (fold)"
FOLLOWS = "two equilibria meet at the point, and there are none beyond it"
OTHERWISE = "the point is no generic fold"
SOURCE = "Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, theorem 3.1 and section 5.4"


@checked
def fold(parameter: Parameter, value: float, near: ArrayLike) -> Conditions:
    """Check the conditions of a fold at which two equilibria meet and vanish, as a parameter passes a value nearby.

    The point is certified as a regular zero of f = 0, A q = 0, A' p = 0 with |q| = 1 and <p, q> = 1, and the conditions
    are enclosed in balls there.

    Args:
        parameter: a flow with the parameter.
        value: the parameter near the fold.
        near: the state near the fold, (n,).

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, theorem 3.1 and section 5.4.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import fold
        >>> flow = ds.system("x' = mu - x^2; y' = -y", mu=0.1)
        >>> fold(ds.Parameter(flow, "mu", -1.0, 1.0), 0.01, [0.05, 0.0]).applies
        True
    """
    at = point("near", near)
    n, start = len(at), float(real("value", value))
    family = family_of(parameter, n, "Sotomayor's theorem")
    A, B, _, F = derivatives(family)

    def parts(z: jax.Array) -> tuple[jax.Array, ...]:
        return z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n], z[3 * n + 1]

    def equations(z: jax.Array) -> jax.Array:
        x, q, p, a, slack = parts(z)
        turned = jax.vjp(lambda y: family(y, a), x)[1](p)[0]  # A' p
        norms = jnp.stack([jnp.dot(q, q) - 1, jnp.dot(p, q) - 1])
        return jnp.concatenate([family(x, a), A(x, a, q), turned + slack * q, norms])  # the slack is zero: <q, A' p> is

    def curvature(z: jax.Array) -> jax.Array:
        x, q, p, a, _ = parts(z)
        return jnp.dot(p, B(x, a, q, q)) / 2

    def speed(z: jax.Array) -> jax.Array:
        x, _, p, a, _ = parts(z)
        return jnp.dot(p, F(x, a))

    J = np.asarray(jax.jacfwd(lambda y: family(y, jnp.asarray(start)))(jnp.asarray(at)))
    left, _, right = np.linalg.svd(J)
    q, p = right[-1], left[:, -1]
    product = float(p @ q)
    guess = np.concatenate([at, q, p / (product if abs(product) > 1e-8 else 1.0), [start, 0.0]])
    found = certified_zero(equations, guess)
    words = "f = 0, A q = 0, |q| = 1"
    if found is None:
        rows = (Hypothesis("an eigenvalue is zero", f"{words} has a regular zero nearby", UNDECIDED, decided="balls"),)
        return Conditions(NAME, SOURCE, rows, FOLLOWS, OTHERWISE, None, parameter.system)
    middle = np.array([float(v.mid()) for v in found])
    place = f"{words} at {written(middle[:n])}, {parameter.name} = {middle[3 * n]:.8g}"
    state = np.array([*found[:n], found[3 * n]], dtype=object)
    simple = bordered_determinant(family, state, found[n : 2 * n], found[2 * n : 3 * n])
    bends, moves = in_balls(curvature, found), in_balls(speed, found)
    return Conditions(
        NAME,
        SOURCE,
        (
            different_from_zero("an eigenvalue is zero, and only one", place, simple),
            different_from_zero("the quadratic coefficient is not zero", "<p, B(q, q)> / 2 != 0", bends),
            different_from_zero("the parameter unfolds the point", "<p, df/da> != 0", moves),
        ),
        FOLLOWS, OTHERWISE, None, parameter.system, {parameter.name: float(middle[3 * n])},
    )  # fmt: skip
