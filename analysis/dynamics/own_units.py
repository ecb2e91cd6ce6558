"""Units of the state, of time and of parameters in which a curve of solutions is followed.

They are 1 for sizes of order one, and else powers of 1024, which round nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from analysis.dynamics.linearisation import SymmetryGenerator
from analysis.dynamics.units import power_near
from dynsim._types import State, Step
from dynsim.spaces import AbstractSpace
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import InUnit, Leaf
from dynsim.systems.rescaled import RescaledFlow

STATES, WIDTHS, TIMES = (1 / 64, 128.0), (1 / 64, 1024.0), (1 / 1024, 1024.0)
"""Sizes of states, widths of the ranges of parameters, and times that have the unit 1."""


class RescaledMap(AbstractMap):
    """A map whose state on Euclidean space is divided by units."""

    rest: AbstractMap
    scale: State

    def __init__(self, rest: AbstractMap, scale: State):
        """Store the map and the units."""
        self.rest, self.scale = rest, jax.tree.map(jnp.asarray, scale)

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The space of the map."""
        return self.rest.space

    def step(self, k: Step, x: State) -> State:
        """Return the next state in these units."""
        return _times(self.rest.step(k, _times(x, self.scale, 1)), self.scale, -1)


class CurveUnits(NamedTuple):
    """A system in units of its state, of time and of parameters: `system` and `where` are those of its curves.

    `scale` is a number, or has the structure of the state, with a number for each component of a vector.
    """

    system: Any
    where: tuple[Callable[[Any], Any], ...]
    scale: State
    time: float
    parameters: tuple[float, ...]

    def restored(self, z: State) -> State:
        """Return states, with any leading axes, in the units of the given system."""
        return times(z, self.scale)

    def rescaled(self, x: State) -> State:
        """Return states, with any leading axes, in these units."""
        return times(x, self.scale, -1)

    def acting(self, maps: Sequence[SymmetryGenerator]) -> Sequence[SymmetryGenerator]:
        """Return generators of symmetries as functions of states in these units."""
        if self.has_given_states:
            return maps
        return [lambda z, move=move: self.rescaled(move(self.restored(z))) for move in maps]

    def given(self, system: Any) -> Any:
        """Return the given system of one in these units, which may have other parameters."""
        return system if self.has_given_states and self.time == 1 else system.rest

    @property
    def are_given(self) -> bool:
        """Whether all units are those of the given system."""
        return self.has_given_states and self.time == 1 and all(unit == 1 for unit in self.parameters)

    @property
    def has_given_states(self) -> bool:
        """Whether states have the units of the given system."""
        return all(np.all(np.asarray(part) == 1) for part in jax.tree.leaves(self.scale))

    def flat(self, state: State) -> np.ndarray:
        """Return the unit of each entry of a flat state."""
        ones = jax.tree.map(lambda part: np.ones(np.shape(part)), state)
        return np.asarray(ravel_pytree(times(ones, self.scale))[0], float)


def times(x: State, scale: State, power: int = 1) -> State:
    """Return states, with any leading axes, multiplied or divided by units."""
    if all(np.all(np.asarray(part) == 1) for part in jax.tree.leaves(scale)):
        return x
    return _times(x, jax.tree.map(np.asarray, scale), power)


def _times(x: State, scale: State, power: int) -> State:
    parts, (leaves, tree) = jax.tree.leaves(scale), jax.tree.flatten(x)
    parts = parts * len(leaves) if len(parts) == 1 else parts
    sized = [s.reshape((1,) * (leaf.ndim - s.ndim) + s.shape) for leaf, s in zip(leaves, parts, strict=True)]
    moved = [leaf * (s**power).astype(leaf.dtype) for leaf, s in zip(leaves, sized, strict=True)]
    return jax.tree.unflatten(tree, moved)


def made_units(
    system: Any, where: Sequence[Callable[[Any], Any]], scale: State, time: float, parameters: Sequence[float]
) -> CurveUnits:
    """Return a system in given units; a map has no unit of time."""
    one = all(np.all(np.asarray(part) == 1) for part in jax.tree.leaves(scale))
    taken, moved = list(where), system
    if isinstance(system, AbstractMap) and not one:
        moved = RescaledMap(system, scale)
    elif isinstance(system, AbstractFlow) and not (one and time == 1):
        moved = RescaledFlow(system, state=jax.tree.map(np.asarray, scale), time=time)
    if moved is not system:
        taken = [within(take) for take in taken]
    taken = [take if unit == 1 else InUnit(take, unit) for take, unit in zip(taken, parameters, strict=True)]
    return CurveUnits(moved, tuple(taken), scale, time if isinstance(system, AbstractFlow) else 1.0, tuple(parameters))


def within(take: Any) -> Any:
    """Return the function that takes from a rescaled system what another one takes from the system itself."""
    return Leaf(("rest", *take.path)) if isinstance(take, Leaf) else Within(take)


class Within(NamedTuple):
    """A function of a rescaled system, which takes a leaf of the system itself; equal for equal functions."""

    take: Callable[[Any], Any]

    def __call__(self, system: Any) -> Any:
        """Return the leaf."""
        return self.take(system.rest)


def unit_of(sizes: Any, range_: tuple[float, float], share: float = 1.0) -> np.ndarray:
    """Return 1 for sizes in a range, and for others, unless they are zero or not finite, the power of 1024 nearest.

    It is that nearest to a share of the size.
    """
    given = np.abs(np.asarray(sizes, float))
    return np.where((given >= range_[0]) & (given <= range_[1]), 1.0, power_near(share * given))
