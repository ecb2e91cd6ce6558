"""Choose units for continuing equilibria and periodic orbits, from one point and the bounds of the parameters."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.equilibrium_curve import derivatives_of
from analysis.dynamics.continuation.large_equilibria import sparse_equations
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.flow_maps.component_sizes import (
    SLOW,
    TYPICAL,
    Local,
    LocalRates,
    arrays_of,
    carried_entries,
    groups_of,
    orbit_scale,
    range_unit,
    scale_of,
    turn_unit,
    unit_entries,
    unit_of_rate,
)
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.periodic_orbits.shooting import passed
from analysis.dynamics.scaling.units import STATES, Units, made_units
from analysis.dynamics.sparse.matrices import row_sizes
from analysis.dynamics.sparse.rightmost import rightmost
from dynsim._core.types import State
from dynsim._runtime.blas import in_one_thread
from dynsim.programs.sparsity import Pattern
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import with_parameter
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import is_flat

# Relative tolerance of the solver that computes the states of an orbit, as in `periodic_orbit`.
RTOL = 1e-10
# Distance of the parameter from a solution, relative to its range, at which sizes are estimated as well.
BESIDE = 1 / 16


# Number of rightmost eigenvalues of a sparse Jacobian by which units are estimated.
FEW = 8
# Largest derivative with which eigenvalues are computed without overflow.
HUGE = 1e100
# Scale of a component up to which its unit is 1 even if the ranges of the parameters are narrower.
NARROW = 16.0


@in_one_thread
def curve_units(
    parameters: Sequence[Parameter], state: State, *, at: Sequence[float] = (), pattern: Pattern | None = None
) -> Units:
    """Estimate units near the sizes that matter on a curve of equilibria or fixed points through a state.

    Args:
        parameters: those of a flow or a map that vary on the curve; each has a unit near its range.
        state: a state on the curve.
        at: the values of the parameters there, by default the system's own.
        pattern: that of a sparse Jacobian. Each array of the state then has one unit, and the rightmost eigenvalues
            decide.
    """
    system, taken = parameters[0].system, [one.take for one in parameters]
    own = tuple(float(value) for value in at) or tuple(one.value for one in parameters)
    units = [range_unit(one) for one in parameters]
    if isinstance(system, NoisyFlow):
        return made_units(system, parameters, 1.0, 1.0, units)
    flat, restored = ravel_pytree(jax.tree.map(lambda part: jnp.asarray(part, float), state))
    evaluated = derivatives_of(system)

    def local(x: np.ndarray, values: Sequence[float]) -> Local | None:
        moved = system
        for take, value in zip(taken[1:], values[1:], strict=True):
            moved = with_parameter(take, moved, jnp.asarray(value, float))
        if pattern is not None:
            sparse = sparse_equations(pattern, parameters[0].of(moved), restored(jnp.asarray(x)), values[0])
            return _rightmost(sparse.values, sparse.J)
        found = evaluated(taken[0], moved, restored(jnp.asarray(x)), jnp.asarray(values[0], float))
        field, J = (np.asarray(part, float) for part in found[:2])
        return Local(field, J, np.linalg.eigvals(J)) if np.all(np.isfinite(J)) else None

    here = local(np.asarray(flat), own)
    if here is None:
        return made_units(system, parameters, 1.0, 1.0, units)
    ends = [[(*own[:k], end, *own[k + 1 :]) for end in (one.low, one.high)] for k, one in enumerate(parameters)]
    beyond = [[local(np.asarray(flat), values) for values in pair] for pair in ends]
    near = [
        (*own[:k], value + shift * (one.high - one.low), *own[k + 1 :])
        for k, (one, value) in enumerate(zip(parameters, own, strict=True))
        for shift in (-BESIDE, BESIDE)
        if one.low <= value + shift * (one.high - one.low) <= one.high
    ]
    beside = [] if pattern is not None else [local(np.asarray(flat), values) for values in near]
    rates = LocalRates(here, beyond, beside, np.asarray(flat))
    sizes, scale = np.ones(len(flat)), np.ones(())
    if is_flat(system.space):
        groups = groups_of(state) if pattern is None else arrays_of(state)
        # a state moves about as far as the parameters, in their units
        wide = max((one.high - one.low) / unit for one, unit in zip(parameters, units, strict=True))
        most = min(max(wide, NARROW), STATES[1])
        sizes = unit_entries(lambda x: local(x, own), np.asarray(flat), groups, here, rates, most)
        moves = [
            (found, lambda step, at=at: local(np.asarray(flat) + step, at))
            for pair, places in zip(beyond, ends, strict=True)
            for found, at in zip(pair, places, strict=True)
            if found is not None
        ]
        sizes = carried_entries(sizes, groups, here, moves)
        scale = scale_of(restored(jnp.asarray(sizes)))
    rate = max(rates.fastest, SLOW * float(np.max(rates.forces / (TYPICAL * sizes), initial=0.0)))
    return made_units(system, parameters, scale, unit_of_rate(rate), units)


def _rightmost(field: np.ndarray, J: Any) -> Local | None:
    return Local(field, J, rightmost(J, FEW, shifts=1).values) if np.max(row_sizes(J)) < HUGE else None


def orbit_units(
    flow: AbstractFlow, cycle: Cycle, parameters: Sequence[Parameter] = (), *, at: Sequence[float] = ()
) -> Units:
    """Estimate units near the ranges of the states of a periodic orbit, its period, and the ranges of parameters.

    An orbit of one or two nodes is followed from the first one.

    Args:
        flow: the system.
        cycle: the orbit.
        parameters: those of the flow that vary.
        at: the values of the parameters on the orbit, by default the flow's own.
    """
    nodes, period, scale, moved = cycle.nodes, float(cycle.period), np.ones(()), flow
    if is_flat(flow.space):
        for one, value in zip(parameters, at, strict=False):
            moved = with_parameter(one.take, moved, jnp.asarray(value))
        if len(jax.tree.leaves(nodes)[0]) < 3:
            start = jax.tree.map(lambda part: jnp.asarray(part[0], float), nodes)
            nodes = passed(Linearised(moved, start), ravel_pytree(start)[0], period, jnp.asarray(RTOL))
        scale = orbit_scale(moved, nodes)
    return made_units(flow, parameters, scale, turn_unit(period), [range_unit(one) for one in parameters])


def hopf_units(parameter: Parameter, at: Bifurcation) -> Units:
    """Estimate units near the sizes at a Hopf point, and the period of the orbits that begin there.

    Where the field is linear at the Hopf point itself, as in van der Pol's equation, the sizes beside it count.
    """
    shift = BESIDE * (parameter.high - parameter.low)
    near = [curve_units((parameter,), at.state, at=(at.parameter + k * shift,)) for k in (0, 1, -1)]
    scale = jax.tree.map(lambda *sizes: np.min(sizes, axis=0), *(found.scale for found in near))
    return made_units(parameter.system, (parameter,), scale, turn_unit(2 * np.pi / at.frequency), near[0].parameters)
