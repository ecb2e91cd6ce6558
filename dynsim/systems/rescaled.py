"""A flow with state, time and parameters rescaled so that all of them are of order one."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.host import on_host
from dynsim._core.types import State, Time
from dynsim._core.validation import instance, number, reals
from dynsim.errors import ArgumentError, shown
from dynsim.spaces import AbstractSpace, Product
from dynsim.spaces.euclidean import Flat
from dynsim.spaces.product import in_units
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import Leaf, where
from dynsim.systems.noisy import NoisyFlow


class RescaledFlow(AbstractFlow):
    r"""A flow with time and parameters divided by given units, and on a flat space the state too.

    With x = s z, t = T \tau and p = u q the equation $\dot x = f(t, x; p)$ becomes

    $$ \frac{dz}{d\tau} = \frac{T}{s}\, f(T \tau,\, s z;\, u q). $$

    Absolute tolerances of solvers assume a state and a time of order one, which fails for concentrations of 1e-9.
    Searches for equilibria, orbits and attractors, continuation, and Lyapunov exponents choose such units by
    themselves.

    `flow` is the flow in its original units. `restored` converts states to these units, and `rescaled` converts them
    back. Declared units become multiples of themselves.
    """

    scale: State
    flat: AbstractSpace | None
    parameters: dict[str, jax.Array]
    rest: AbstractFlow
    moved: tuple[tuple[str, tuple[str | int, ...], float], ...] = eqx.field(static=True)
    time: float = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    units: tuple[str, ...] = eqx.field(static=True)
    time_unit: str = eqx.field(static=True)

    def __init__(
        self,
        flow: Any,  # the types are checked here, with one sentence for each
        *,
        state: Any = 1.0,
        time: Any = 1.0,
        parameters: Any = None,
    ):
        """Store the flow and the units.

        Args:
            flow: the flow, without noise.
            state: the unit s of the state: a positive number, one number for each component (the last axis of a
                matrix), or a named tuple of these if the state is one. It must be 1 on a curved space.
            time: the unit T of time, in the flow's time unit.
            parameters: the units u of parameters, by name. `self.parameters[name]` is then p / u.

        Raises:
            ValueError: if a unit is not positive, a parameter does not exist, the state of a curved space has a unit,
                or the flow has noise.
        """
        if isinstance(instance("flow", flow, AbstractFlow, "a flow"), NoisyFlow):
            raise ArgumentError("flow", "be a flow without noise", "is a NoisyFlow")
        parameters = {} if parameters is None else parameters
        if not isinstance(parameters, Mapping):
            raise ArgumentError("parameters", "be a mapping of names to positive numbers", f"is {shown(parameters)}")
        self.scale, self.time = jax.tree.map(_unit, state, is_leaf=_is_list), number("time", time)
        if not is_flat(flow.space) and any(np.any(np.asarray(part) != 1) for part in jax.tree.leaves(self.scale)):
            must = "be on a flat space if its state has a unit"
            raise ArgumentError("flow", must, f"is on {type(flow.space).__name__}")
        self.flat = in_units(flow.space, self.scale) if is_flat(flow.space) else None
        taken = {name: where(flow, name, "parameters") for name in parameters}
        sizes = {name: number(f"parameters[{name!r}]", size) for name, size in parameters.items()}
        self.moved = tuple((name, take.path, sizes[name]) for name, take in taken.items())
        self.parameters = {name: jnp.asarray(take(flow)) / sizes[name] for name, take in taken.items()}
        self.names, self.units = tuple(flow.names), _multiples(self.scale, flow)
        self.time_unit = _multiple(self.time, flow.time_unit)
        for take in taken.values():
            flow = eqx.tree_at(take, flow, None)  # the parameter is held by this object, in its new unit
        self.rest = flow

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the flow, with periods of angles in the new units."""
        return self.rest.space if self.flat is None else self.flat

    @property
    def flow(self) -> AbstractFlow:
        """The flow in its original units."""
        flow = self.rest
        for name, path, size in self.moved:
            flow = eqx.tree_at(Leaf(path), flow, self.parameters[name] * size, is_leaf=lambda leaf: leaf is None)
        return flow

    def restored(self, z: State) -> State:
        """Convert states of this flow, with any leading axes, to the original units."""
        return times(z, self.scale)

    def rescaled(self, x: State) -> State:
        """Convert states in original units, with any leading axes, to the units of this flow."""
        return times(x, self.scale, -1)

    def velocity(self, t: Time, x: State) -> State:
        """Velocity in the new units."""
        found = self.rescaled(self.flow.velocity(self.time * t, self.restored(x)))
        return jax.tree.map(lambda v: self.time * v, found)

    def pulls(self, t: Time, x: State) -> np.ndarray:
        """Contributions of particles to each other's velocities, in the new units."""
        found = self.flow.pulls(self.time * t, self.restored(x))
        return np.asarray(self.rescaled(self.time * found)) if found.size else found

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Times strictly between `t0` and `t1` at which the vector field jumps."""
        return self.flow.breakpoints(self.time * t0, self.time * t1) / self.time

    def step_limit(self) -> float:
        """Longest step of the flow, in the new time unit."""
        return self.flow.step_limit() / self.time

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if the flow is not defined on all of [t0, t1]."""
        self.flow.check_horizon(self.time * t0, self.time * t1)


def times(x: State, scale: State, power: int = 1) -> State:
    """Multiply states, with any leading axes, by units; divide by them if `power` is -1.

    `scale` is a number, or has the structure of the state, with one number for each component of a vector.

    Raises:
        ValueError: if the structure or the number of components of `scale` differs from the state's.
    """
    parts, leaves, tree = jax.tree.leaves(scale), *jax.tree.flatten(x)
    if len(parts) == 1:
        parts = parts * len(leaves)
    elif jax.tree.structure(scale) != tree:
        raise ArgumentError("state", "have the same structure as the flow's state", "has a different one")
    return jax.tree.unflatten(tree, [_times(a, s, power) for a, s in zip(leaves, parts, strict=True)])


def _times(x: Any, units: Any, power: int) -> Any:
    """Multiply or divide an array by units; raise `ValueError` unless there is one for each component."""
    if units.ndim and units.shape != x.shape[-1:]:
        raise ArgumentError("state", f"have a unit for each of {x.shape[-1]} components", f"has {len(units)}")

    def scaled(xp: Any, x: Any, units: Any) -> Any:
        each = xp.reshape(units, (1,) * (x.ndim - units.ndim) + units.shape).astype(x.dtype)
        return x * each if power > 0 else x / each

    on_device = isinstance(x, jax.Array) or isinstance(units, jax.Array)
    return on_host(scaled, x, units) if on_device else scaled(np, x, units)


def is_flat(space: AbstractSpace) -> bool:
    """Whether a space is Euclidean, a circle, a torus or a cylinder, or a product of such spaces."""
    return isinstance(space, Flat) or (isinstance(space, Product) and all(map(is_flat, space.parts)))


def _is_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, tuple) and not hasattr(value, "_fields"))


def _unit(value: Any) -> jax.Array:
    """Check that units are positive and return them as an array of shape () or (d,)."""
    units = np.asarray(reals("state", value), float)
    if units.ndim > 1 or not units.size or not np.all((units > 0) & np.isfinite(units)):
        raise ArgumentError("state", "be a positive number, or one for each component", f"is {shown(value)}")
    return jnp.asarray(units, float)  # a given dtype compiles nothing


def _multiples(scale: State, flow: AbstractFlow) -> tuple[str, ...]:
    """Units of the components as multiples of the flow's units, if it declares names or units."""
    count = max(len(flow.names), len(flow.units))
    sizes = np.concatenate([np.ravel(np.asarray(part)) for part in jax.tree.leaves(scale)])
    if not count or len(sizes) not in (1, count):
        return ()
    given = tuple(flow.units) or ("",) * count
    return tuple(_multiple(float(size), unit) for size, unit in zip(np.broadcast_to(sizes, count), given, strict=True))


def _multiple(size: float, unit: str) -> str:
    """A multiple of a unit in words, such as `1e-09 M`."""
    return unit if size == 1 else f"{size:g} {unit}".rstrip()
