"""Rescale a system so that its states, times and parameters are of order one.

Tolerances of searches, continuation and solvers assume this. Well-scaled systems are left unchanged; other units are
powers of 1024, which cause no rounding.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.scaling.flat import flat_state
from dynsim._core.types import State, Step, SymmetryGenerator
from dynsim.spaces import AbstractSpace
from dynsim.spaces.product import in_units
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import InUnit, Leaf
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.parameter import Parameter
from dynsim.systems.rescaled import RescaledFlow, is_flat, times

# Units are powers of two to this; the coarse steps leave most systems unchanged and keep compiled programs few.
STEP = 10
STATES, WIDTHS, TIMES = (1 / 64, 128.0), (1 / 64, 1024.0), (1 / 1024, 1024.0)
"""Sizes of states, widths of parameter ranges, and times that are left unscaled in continuation."""


class RescaledMap(AbstractMap):
    """Map whose state on a flat space is divided by units."""

    rest: AbstractMap
    scale: State
    flat: AbstractSpace | None

    def __init__(self, rest: AbstractMap, scale: State):
        """Store the map and the units."""
        self.rest, self.scale = rest, jax.tree.map(jnp.asarray, scale)
        self.flat = in_units(rest.space, scale) if is_flat(rest.space) else None

    @property
    def space(self) -> AbstractSpace:  # pyright: ignore[reportIncompatibleVariableOverride]
        """State space of the map, with periods of angles in these units."""
        return self.rest.space if self.flat is None else self.flat

    def step(self, k: Step, x: State) -> State:
        """Compute the next state in these units."""
        return times(self.rest.step(k, times(x, self.scale)), self.scale, -1)


class Units(NamedTuple):
    """A system in units of its state, of time and of parameters: `system`, and its parameters `varied` in their units.

    `scale` is a number, or has the structure of the state, with a number for each component of a vector; `parameters`
    are the units of parameters. See `made_units`.
    """

    system: Any
    varied: tuple[Parameter, ...]
    scale: State
    time: float
    parameters: tuple[float, ...]

    def restored(self, z: State) -> State:
        """Convert states, or velocities of symmetries, with any leading axes, to the units of the given system."""
        return self.moved(z, 1)

    def rescaled(self, x: State) -> State:
        """Convert states, with any leading axes, to these units."""
        return self.moved(x, -1)

    def moved(self, x: State, power: int) -> State:
        """Convert states to the units of the given system (power 1) or to these units (power -1)."""
        return x if self.has_given_states else times(x, self.scale, power)

    def acting(self, maps: Sequence[SymmetryGenerator]) -> Sequence[SymmetryGenerator]:
        """Express generators of symmetries, or maps of states, of the given system in these units."""
        if self.has_given_states:
            return maps
        return [lambda z, move=move: self.rescaled(move(self.restored(z))) for move in maps]

    def given(self, system: Any) -> Any:
        """Recover the system in its own units from one in these units, which may have other parameters."""
        return system if self.has_given_states and self.time == 1 else system.rest

    @property
    def are_given(self) -> bool:
        """Whether neither the system nor its parameters are rescaled."""
        return self.has_given_states and self.time == 1 and all(unit == 1 for unit in self.parameters)

    @property
    def has_given_states(self) -> bool:
        """Whether states have the units of the given system."""
        return _are_one(self.scale)

    def flat(self, state: State) -> np.ndarray:
        """Compute the unit of each entry of a flattened state."""
        return flat_state(self.restored(jax.tree.map(lambda part: np.ones(np.shape(part)), state)))


def made_units(
    system: Any,
    varied: Sequence[Parameter] = (),
    scale: State = 1.0,
    time: float = 1.0,
    parameters: Sequence[float] = (),
) -> Units:
    """Rescale a system and its parameters to given units, by default 1; a map has no unit of time."""
    scale, moved = jax.tree.map(np.asarray, scale), system
    if isinstance(system, AbstractMap) and not _are_one(scale):
        moved = RescaledMap(system, scale)
    elif isinstance(system, AbstractFlow) and not (_are_one(scale) and time == 1):
        moved = RescaledFlow(system, state=scale, time=time)
    own = tuple(varied)
    if moved is not system:
        own = tuple(Parameter(moved, within(one.take), one.low, one.high, name=one.name) for one in own)
    own = tuple(one if unit == 1 else _in_unit(one, unit) for one, unit in zip(own, parameters, strict=True))
    return Units(moved, own, scale, time if isinstance(system, AbstractFlow) else 1.0, tuple(parameters))


def _in_unit(given: Parameter, unit: float) -> Parameter:
    """Rescale a parameter so that its values are multiples of a unit."""
    return Parameter(given.system, InUnit(given.take, unit), given.low / unit, given.high / unit, name=given.name)


def rounded_units(flow: AbstractFlow, sizes: State, time: float) -> Units:
    """Rescale a flow by powers of 1024 near, and not far above, given sizes of its states and a time.

    On a curved space states are not rescaled, and `sizes` is 1. A flow with noise keeps its units.
    """
    if isinstance(flow, NoisyFlow):
        return made_units(flow)
    scale = jax.tree.map(lambda size: power_near(size / 4), sizes)
    return made_units(flow, scale=scale, time=float(power_near(time)))


def _are_one(scale: State) -> bool:
    return all(np.all(np.asarray(part) == 1) for part in jax.tree.leaves(scale))


def within(take: Any) -> Any:
    """Adapt a function that selects a parameter of a system to its rescaled version."""
    return Leaf(("rest", *take.path)) if isinstance(take, Leaf) else Within(take)


class Within(NamedTuple):
    """Function that selects a leaf of the system inside a rescaled one; equal for equal functions."""

    take: Callable[[Any], Any]

    def __call__(self, system: Any) -> Any:
        """Select the leaf."""
        return self.take(system.rest)


def power_near(sizes: Any, step: int = STEP) -> np.ndarray:
    """Compute the power of 1024, or of two to another `step`, nearest to each size; 1 for zero or not finite sizes."""
    given = np.abs(np.asarray(sizes, float))
    sound = np.isfinite(given) & (given > 0)
    return np.asarray(2.0 ** (step * np.round(np.log2(np.where(sound, given, 1.0)) / step)))


def unit_of(sizes: Any, range_: tuple[float, float], share: float = 1.0) -> np.ndarray:
    """Compute the unit of each size: 1 for a size in a range, otherwise a power of 1024.

    It is the power nearest to `share` times the size; 1 for sizes that are zero or not finite.
    """
    given = np.abs(np.asarray(sizes, float))
    return np.where((given >= range_[0]) & (given <= range_[1]), 1.0, power_near(share * given))
