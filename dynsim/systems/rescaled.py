"""A flow in other units of its state, its time and its parameters, in which all of them are of order one."""

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
from dynsim.spaces import AbstractSpace, Euclidean, Product
from dynsim.systems.base import AbstractFlow
from dynsim.systems.named import Leaf, where
from dynsim.systems.noisy import NoisyFlow


class RescaledFlow(AbstractFlow):
    r"""A flow with its time and parameters divided by given units, and on Euclidean space its state too.

    With x = s z, t = T \tau and p = u q the equation $\dot x = f(t, x; p)$ becomes

    $$ \frac{dz}{d\tau} = \frac{T}{s}\, f(T \tau,\, s z;\, u q). $$

    Absolute tolerances of solvers suppose a state and a time of order one, which concentrations of 1e-9 are not. What
    searches for equilibria, orbits and attractors, follows branches or finds exponents chooses such units itself.

    `flow` is the flow in its own units; `restored` returns its states, and `rescaled` those of this one. Units that the
    flow declares are declared as multiples of them.
    """

    scale: State
    parameters: dict[str, jax.Array]
    rest: AbstractFlow
    moved: tuple[tuple[str, tuple[str | int, ...], float], ...] = eqx.field(static=True)
    time: float = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    units: tuple[str, ...] = eqx.field(static=True)
    time_unit: str = eqx.field(static=True)

    def __init__(
        self,
        flow: Any,  # these are checked here, in one sentence each
        *,
        state: Any = 1.0,
        time: Any = 1.0,
        parameters: Any = None,
    ):
        """Store the flow and the units.

        Args:
            flow: the flow, without noise.
            state: the unit s of the state, 1 on a curved space: a positive number, one for each component (the last
                axis of a matrix), or a named tuple of these for a state that is one.
            time: the unit T of time, in that of the flow.
            parameters: the units u of parameters, by name. Here `flow.parameters[name]` is p / u.

        Raises:
            ValueError: for units that are not positive, a parameter that does not exist, a unit of states of a curved
                space, or noise.
        """
        if isinstance(instance("flow", flow, AbstractFlow, "a flow"), NoisyFlow):
            raise ArgumentError("flow", "be a flow without noise", "is a NoisyFlow")
        parameters = {} if parameters is None else parameters
        if not isinstance(parameters, Mapping):
            raise ArgumentError("parameters", "be a mapping of names to positive numbers", f"is {shown(parameters)}")
        self.scale, self.time = jax.tree.map(_unit, state, is_leaf=_is_list), number("time", time)
        if not is_flat(flow.space) and any(np.any(np.asarray(part) != 1) for part in jax.tree.leaves(self.scale)):
            must = "be on Euclidean space for a unit of its state"
            raise ArgumentError("flow", must, f"is on {type(flow.space).__name__}")
        taken = {name: where(flow, name, "parameters") for name in parameters}
        sizes = {name: number(f"parameters[{name!r}]", size) for name, size in parameters.items()}
        self.moved = tuple((name, take.path, sizes[name]) for name, take in taken.items())
        self.parameters = {name: jnp.asarray(take(flow)) / sizes[name] for name, take in taken.items()}
        self.names, self.units = tuple(flow.names), _multiples(self.scale, flow)
        self.time_unit = _multiple(self.time, flow.time_unit)
        for take in taken.values():
            flow = eqx.tree_at(take, flow, None)  # it is held here, in its new unit
        self.rest = flow

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the flow."""
        return self.rest.space

    @property
    def flow(self) -> AbstractFlow:
        """The flow in its own units."""
        flow = self.rest
        for name, path, size in self.moved:
            flow = eqx.tree_at(Leaf(path), flow, self.parameters[name] * size, is_leaf=lambda leaf: leaf is None)
        return flow

    def restored(self, z: State) -> State:
        """Return states of this flow, with any leading axes, in the units of the flow."""
        return times(z, self.scale)

    def rescaled(self, x: State) -> State:
        """Return states of the flow, with any leading axes, in the units of this one."""
        return times(x, self.scale, -1)

    def velocity(self, t: Time, x: State) -> State:
        """Return the velocity in the new units."""
        found = self.rescaled(self.flow.velocity(self.time * t, self.restored(x)))
        return jax.tree.map(lambda v: self.time * v, found)

    def pulls(self, t: Time, x: State) -> np.ndarray:
        """Return the pulls of the flow's particles in the new units."""
        found = self.flow.pulls(self.time * t, self.restored(x))
        return np.asarray(self.rescaled(self.time * found)) if found.size else found

    def breakpoints(self, t0: float, t1: float) -> np.ndarray:
        """Return the times in (t0, t1) at which the flow's field jumps."""
        return self.flow.breakpoints(self.time * t0, self.time * t1) / self.time

    def step_limit(self) -> float:
        """Return the step limit of the flow in the new unit of time."""
        return self.flow.step_limit() / self.time

    def check_horizon(self, t0: float, t1: float) -> None:
        """Raise `ValueError` if the flow is not defined on the interval."""
        self.flow.check_horizon(self.time * t0, self.time * t1)


def times(x: State, scale: State, power: int = 1) -> State:
    """Return states, with any leading axes, multiplied by units, or, with the power -1, divided by them.

    `scale` is a number, or has the structure of the state, with a number for each component of a vector.

    Raises:
        ValueError: for units of other parts, or of another number of components.
    """
    parts, leaves, tree = jax.tree.leaves(scale), *jax.tree.flatten(x)
    if len(parts) == 1:
        parts = parts * len(leaves)
    elif jax.tree.structure(scale) != tree:
        raise ArgumentError("state", "have the parts of the state", "has others")
    return jax.tree.unflatten(tree, [_times(a, s, power) for a, s in zip(leaves, parts, strict=True)])


def _times(x: Any, units: Any, power: int) -> Any:
    """Return an array multiplied or divided by units; raise `ValueError` unless there is one for each component."""
    if units.ndim and units.shape != x.shape[-1:]:
        raise ArgumentError("state", f"have a unit for each of {x.shape[-1]} components", f"has {len(units)}")

    def scaled(xp: Any, x: Any, units: Any) -> Any:
        each = xp.reshape(units, (1,) * (x.ndim - units.ndim) + units.shape).astype(x.dtype)
        return x * each if power > 0 else x / each

    on_device = isinstance(x, jax.Array) or isinstance(units, jax.Array)
    return on_host(scaled, x, units) if on_device else scaled(np, x, units)


def is_flat(space: AbstractSpace) -> bool:
    """Return whether a space is Euclidean, or a product of such."""
    return isinstance(space, Euclidean) or (isinstance(space, Product) and all(map(is_flat, space.parts)))


def _is_list(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, tuple) and not hasattr(value, "_fields"))


def _unit(value: Any) -> jax.Array:
    """Return units as an array of shape () or (d,); raise `ValueError` unless all are positive."""
    units = np.asarray(reals("state", value), float)
    if units.ndim > 1 or not units.size or not np.all((units > 0) & np.isfinite(units)):
        raise ArgumentError("state", "be a positive number, or one for each component", f"is {shown(value)}")
    return jnp.asarray(units)


def _multiples(scale: State, flow: AbstractFlow) -> tuple[str, ...]:
    """Return the units of the components as multiples of those of a flow, if it declares names or units."""
    count = max(len(flow.names), len(flow.units))
    sizes = np.concatenate([np.ravel(np.asarray(part)) for part in jax.tree.leaves(scale)])
    if not count or len(sizes) not in (1, count):
        return ()
    given = tuple(flow.units) or ("",) * count
    return tuple(_multiple(float(size), unit) for size, unit in zip(np.broadcast_to(sizes, count), given, strict=True))


def _multiple(size: float, unit: str) -> str:
    """Return a multiple of a unit in words, such as `1e-09 M`."""
    return unit if size == 1 else f"{size:g} {unit}".rstrip()
