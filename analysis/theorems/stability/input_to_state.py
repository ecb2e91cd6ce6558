"""Input-to-state stability with a given function: a bounded input moves the state only a bounded way."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.boundary import kept_in_box
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, theorem, together
from analysis.theorems.definite import BESIDE, above, core_of, definite, largest_level, stationary
from analysis.theorems.exactly import vanishes
from analysis.theorems.fields import driven_field, lengthened, smooth
from analysis.theorems.regions import Region, as_region, box, point
from analysis.theorems.subdivision import BUDGET, positive
from dynsim._core.types import ArrayLike, BoxLike
from dynsim._core.validation import function, number
from dynsim.systems.parameter import Parameter


@theorem
def input_to_state(
    parameter: Parameter,
    V: Callable[[Any], Any],
    region: Region | BoxLike,
    equilibrium: ArrayLike,
    *,
    rate: float,
    gain: float,
    cut: float | None = None,
    budget: int = BUDGET,
) -> Conditions:
    """Check whether a function shows input-to-state stability, V' <= -rate V + gain u^2 for all inputs of a range.

    Then V(x(t)) <= exp(-rate t) V(x(0)) + (gain / rate) sup u^2 for every measurable input u(t) with values in the
    range of the parameter, as long as that bound stays below the level c of the region.

    Args:
        parameter: the parameter of an autonomous flow that is the input, with its range, which holds zero.
        V: the function, a scalar function of a state in JAX, with its minimum at the equilibrium.
        region: the region of states; the equilibrium lies inside it.
        equilibrium: the equilibrium without input, (n,), at which the field is exactly zero.
        rate: the rate at which V falls without input, per unit of time.
        gain: the factor of the squared input.
        cut: half the side of the box about the equilibrium in which Hessians are used; by default a twentieth of the
            region's least side.
        budget: largest number of boxes for each condition.

    Returns:
        The conditions; `numbers` holds the level c and the bound (gain / rate) max u^2 that V tends to.

    Raises:
        ValueError: for bad input, or functions that intervals cannot enclose.

    Source: E. Sontag and Y. Wang, Systems and Control Letters 24 (1995) 351; H. Khalil, Nonlinear Systems, Prentice
    Hall 2002, theorem 4.19.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import input_to_state
        >>> force = ds.Parameter(ds.system("x' = -x - x^3 + u", u=0.0), "u", -0.5, 0.5)
        >>> input_to_state(force, lambda x: x[0] ** 2 / 2, [(-1.0, 1.0)], [0.0], rate=0.9, gain=1.0).applies
        True
    """
    where = as_region(region)
    n = where.dimension
    field, at = (
        driven_field(parameter, n, "the theorem on input-to-state stability"),
        point("equilibrium", equilibrium, n),
    )
    falling, factor = number("rate", rate), number("gain", gain)
    near, height = core_of(where, at, cut), above(function("V", V, "a state"), at)
    still = np.append(at, 0.0)
    joint, size = lengthened(where, parameter.low, parameter.high), near.sides[0, 1] - near.sides[0, 0]
    close = box(np.vstack([near.sides, [-size / 2, size / 2]]))
    V_of = lambda z: height(z[:n])
    gap = lambda z: factor * z[n] ** 2 - falling * V_of(z) - jnp.dot(jax.grad(height)(z[:n]), field(z))
    plain = positive(gap, joint, strictly=False, budget=BESIDE)
    falls = [plain] if plain.status in (HOLDS, FAILS) else definite(gap, joint, close, budget)
    most = factor / falling * max(parameter.low**2, parameter.high**2)
    level = largest_level(height, where, budget)["c"]
    rows = (
        smooth(lambda z: jnp.append(field(z), V_of(z)), n + 1, "the field with V"),
        *kept_in_box(where, budget),
        vanishes("the point is an equilibrium without input", "f(x*, 0) = 0", field, still),
        stationary(height, at),
        together("V is larger elsewhere", "V(x) > V(x*)", definite(height, where, near, budget)),
        together("V falls unless the input is large", f"V' <= -{falling:g} V + {factor:g} u^2", falls),
        Hypothesis("the input does not drive states out of the region", "gain / rate max u^2 < c",
                   HOLDS if most < level else UNDECIDED, level - most),
    )  # fmt: skip
    return Conditions(
        "Input-to-state stability", rows,
        "V(t) <= exp(-rate t) V(0) + (gain / rate) sup u^2 for starts with V(0) + bound < c",
        "V does not bound what the input does", where, parameter.system, {"c": level, "bound": most},
    )  # fmt: skip
