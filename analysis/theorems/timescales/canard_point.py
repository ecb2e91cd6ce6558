"""Canard points in the plane: where a parameter moves an equilibrium across a fold of the critical manifold."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.balls import BallFunction
from analysis.dynamics.validated.krawczyk import zero_near
from analysis.theorems.conditions import HOLDS, UNDECIDED, Conditions, Hypothesis, theorem
from analysis.theorems.exactly import above_zero, different_from_zero, in_balls
from analysis.theorems.fields import field_of, in_plane
from analysis.theorems.regions import point, written
from analysis.theorems.timescales.critical_manifolds import fast_components
from dynsim._core.types import ArrayLike
from dynsim._core.validation import real
from dynsim.systems.parameter import Parameter

NAME = "Canard point of Krupa and Szmolyan"


@theorem
def canard_point(parameter: Parameter, value: float, near: ArrayLike, fast: Sequence[int] = (0,)) -> Conditions:
    """Check the conditions of a canard point: a fold of the critical manifold at which the slow field is zero, too.

    With x the fast component, f its field and g that of the slow one y, f = df/dx = g = 0 has a regular zero (x, y, a),
    at which the fold is nondegenerate and the slow flow turns around the fold.

    Args:
        parameter: a flow of two components with the parameter a, the small parameter at any positive value.
        value: the parameter near the canard point.
        near: the state near it, (2,).
        fast: the index of the fast component.

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: M. Krupa and P. Szmolyan, Extending geometric singular perturbation theory to nonhyperbolic points, SIAM J.
    Math. Anal. 33 (2001) 286, section 3.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import canard_point
        >>> van_der_pol = ds.system("x' = (y + x - x^3/3)/0.01; y' = a - x", a=0.9)
        >>> found = canard_point(ds.Parameter(van_der_pol, "a", 0.0, 2.0), 0.95, [0.9, -0.6])
        >>> found.applies, round(found.numbers["a"], 9)
        (True, 1.0)
    """
    at, start = point("near", near), float(real("value", value))
    in_plane(len(at), "a canard point")
    (k,) = fast_components(fast, 2, 1)
    field_of(parameter.system, 2, "a canard point")
    family = lambda z: jnp.ravel(parameter.at(z[2]).vector_field(jnp.zeros(()), z[:2]))
    f, g = (lambda z, i=i: family(z)[i] for i in (k, 1 - k))
    f_x = lambda z: jax.grad(f)(z)[k]
    equations = lambda z: jnp.stack([f(z), f_x(z), g(z)])
    found = zero_near(BallFunction(equations, 3), np.append(at, start))
    words, sense = "the slow field is zero at a fold", "f = 0, df/dx = 0, g = 0"
    rows: list[Hypothesis] = []
    numbers: dict[str, float] = {}
    if found is None:
        rows.append(Hypothesis(words, f"{sense} has a regular zero nearby", UNDECIDED, decided="balls"))
    else:
        middle = np.array([float(v.mid()) for v in found])
        place = f"{sense} at {written(middle[:2])}, {parameter.name} = {middle[2]:.8g}"
        rows += [Hypothesis(words, place, HOLDS, decided="balls"), *_generic(equations, f, g, f_x, k, found)]
        numbers = {parameter.name: float(middle[2])}
    return Conditions(
        NAME, tuple(rows),
        "for each small enough time-scale ratio a canard connects the attracting and the repelling slow manifold at "
        "one parameter near this one",
        "a canard is not implied",
        None, parameter.system, numbers,
    )  # fmt: skip


def _generic(equations: Any, f: Any, g: Any, f_x: Any, k: int, found: Any) -> list[Hypothesis]:
    import flint

    curvature = in_balls(lambda z: jax.grad(f_x)(z)[k], found)
    slope, turning = (in_balls(lambda z, h=h, i=i: jax.grad(h)(z)[i], found) for h, i in ((f, 1 - k), (g, k)))
    unfolding = flint.arb_mat([list(row) for row in BallFunction(equations, 3).jacobian(found)]).det()
    return [
        different_from_zero("the fold is nondegenerate", "d2f/dx2 != 0", curvature),
        above_zero("the slow flow turns around the fold", "df/dy dg/dx < 0", -slope * turning),
        different_from_zero("the parameter moves the zero of g across the fold", "det D(f, df/dx, g) != 0", unfolding),
    ]
