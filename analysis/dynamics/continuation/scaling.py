"""Choose units for continuing equilibria and periodic orbits, from one point and the bounds of the parameters."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.dynamics.continuation.branches import Bifurcation
from analysis.dynamics.continuation.equilibrium_curve import derivatives
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.flow_maps.component_sizes import (
    SLOW,
    TYPICAL,
    Local,
    Rates,
    groups_of,
    orbit_sizes,
    scale_of,
    unit_entries,
    unit_of_rate,
)
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.periodic_orbits.shooting import TURN, passed
from analysis.dynamics.scaling.units import STATES, TIMES, WIDTHS, Units, made_units, unit_of
from dynsim._core.types import State
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import real_parameter, with_parameter
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.rescaled import is_flat

# Relative tolerance of the solver that computes the states of an orbit, as in `periodic_orbit`.
RTOL = 1e-10


def curve_units(
    system: Any,
    where: Sequence[Callable[[Any], Any]],
    state: State,
    bounds: Sequence[Any],
    *,
    at: Sequence[float] | None = None,
) -> Units:
    """Choose units near the scales on a curve of equilibria or fixed points through a state.

    Args:
        system: the flow or map.
        where: select the parameters among its leaves.
        state: a state on the curve.
        bounds: lower and upper bound of each parameter; anything but two numbers gives the unit 1.
        at: parameter values at the state; the default is the system's own.
    """
    taken, own = zip(*(real_parameter("where", take, system) for take in where), strict=True)
    own = own if at is None else tuple(float(value) for value in at)
    ends = [_ends(pair) for pair in bounds]
    units = [float(unit_of(high - low, WIDTHS, 1 / TYPICAL)) for low, high in ends]
    if isinstance(system, NoisyFlow):
        return made_units(system, taken, 1.0, 1.0, units)
    flat, restored = ravel_pytree(jax.tree.map(lambda part: jnp.asarray(part, float), state))

    def local(x: np.ndarray, values: Sequence[float]) -> Local | None:
        moved = system
        for take, value in zip(taken[1:], values[1:], strict=True):
            moved = with_parameter(take, moved, jnp.asarray(value, float))
        found = derivatives(taken[0], moved, restored(jnp.asarray(x)), jnp.asarray(values[0], float))
        field, J = (np.asarray(part, float) for part in found[:2])
        return Local(field, J, np.linalg.eigvals(J)) if np.all(np.isfinite(J)) else None

    here = local(np.asarray(flat), own)
    if here is None:
        return made_units(system, taken, 1.0, 1.0, units)
    beyond = [[local(np.asarray(flat), (*own[:k], end, *own[k + 1 :])) for end in pair] for k, pair in enumerate(ends)]
    rates = Rates(here, beyond)
    sizes, scale = np.ones(len(flat)), np.ones(())
    if is_flat(system.space):
        groups = groups_of(state)
        sizes = unit_entries(lambda x: local(x, own), np.asarray(flat), groups, here, rates)
        scale = scale_of(restored(jnp.asarray(sizes)))
    rate = max(rates.fastest, SLOW * float(np.max(rates.forces / (TYPICAL * sizes), initial=0.0)))
    return made_units(system, taken, scale, unit_of_rate(rate), units)


def orbit_units(
    flow: AbstractFlow, where: Sequence[Callable[[Any], Any]], cycle: Cycle, bounds: Sequence[Any]
) -> Units:
    """Choose units near the ranges of the states of a periodic orbit, its period, and the ranges of the parameters.

    An orbit with one or two nodes is integrated from the first one to obtain its range.
    """
    taken = [real_parameter("where", take, flow)[0] for take in where]
    widths = [float(unit_of(high - low, WIDTHS, 1 / TYPICAL)) for low, high in map(_ends, bounds)]
    nodes, period, scale = cycle.nodes, float(cycle.period), np.ones(())
    if is_flat(flow.space):
        if len(jax.tree.leaves(nodes)[0]) < 3:
            start = jax.tree.map(lambda part: jnp.asarray(part[0], float), nodes)
            nodes = passed(Linearised(flow, start), ravel_pytree(start)[0], period, jnp.asarray(RTOL))
        scale = jax.tree.map(lambda size: unit_of(size, STATES, 1 / TYPICAL), orbit_sizes(flow, nodes))
    return made_units(flow, taken, scale, _turn(period), widths)


def hopf_units(flow: AbstractFlow, where: Callable[[Any], Any], at: Bifurcation, bounds: Any) -> Units:
    """Choose units near the scales at a Hopf point, and near the period of the orbits born there."""
    take, _ = real_parameter("where", where, flow)
    found = curve_units(flow, (take,), at.state, (bounds,), at=(at.parameter,))
    return made_units(flow, [take], found.scale, _turn(2 * np.pi / at.frequency), found.parameters)


def _turn(period: float) -> float:
    return float(unit_of(period / TURN, TIMES))


def _ends(pair: Any) -> tuple[float, float]:
    """Convert a pair of bounds to numbers; NaN for anything else."""
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        return np.nan, np.nan
    return low, high
