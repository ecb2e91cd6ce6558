"""Spaces with angles: circles, tori, and cylinders, on which some entries of a state repeat after a period."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dynsim._core.types import Key, Scalar, State
from dynsim._core.validation import integer, number, random_key, sizes
from dynsim.errors import ArgumentError, counted, shown
from dynsim.spaces.euclidean import Flat


class AbstractAngles(Flat):
    """Base class of spaces with angles, whose points are real numbers modulo a period.

    States are kept as real numbers that count whole turns (the universal cover), so that trajectories are continuous,
    solvers need no changes and winding numbers can be read off. `difference` and `distance` ignore whole turns, and
    `reduced` removes them for tables and pictures.
    """

    @property
    def _moduli(self) -> Mapping[int, float] | float:
        """The period of every entry, or periods by index on the last axis."""
        raise NotImplementedError

    def _on_last_axis(self, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
        """Periods of the entries on the last axis, infinite for entries that are no angles."""
        moduli = self._moduli
        if not isinstance(moduli, Mapping):
            return np.asarray(moduli)
        if not shape or shape[-1] <= max(moduli):
            must = f"have at least {counted(max(moduli) + 1, 'component')}, because entry {max(moduli)} is an angle"
            raise ArgumentError("state", must, f"has the shape {shape}")
        return np.array([moduli.get(k, math.inf) for k in range(shape[-1])])

    def periods(self, x: State) -> State:
        """The period of every entry of a state; infinite for an entry that is no angle.

        Raises:
            ValueError: for a named tuple, whose parts are angles in a `Product`, and an array without such an entry.
        """
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            must = (
                f"be an array (on `space=Product({type(x).__name__}(...))` each part has a space, such as `Circle()`)"
            )
            raise ArgumentError("state", must, f"is a {type(x).__name__}")
        shape = np.shape(x)
        return np.broadcast_to(self._on_last_axis(shape), shape)

    def defect(self, y: State) -> Scalar:
        """Zero for an array that has these angles."""
        self.periods(y)
        return super().defect(y)

    def sample(self, key: Key, shape: tuple[int, ...]) -> State:
        """Angles that are uniformly distributed on their circles; other entries are standard normal."""
        shape = sizes("shape", shape, axes=0)
        found, key = self.periods(np.empty(shape)), random_key("key", key)
        turns = jax.random.uniform(key, shape, minval=-0.5, maxval=0.5)
        if np.all(np.isfinite(found)):
            return turns * found
        return jnp.where(np.isfinite(found), turns * np.where(np.isfinite(found), found, 0.0), _normal(key, shape))

    def in_units(self, scale: Any) -> "AbstractAngles":
        """The space of states divided by `scale`: a number, or one number for each component on the last axis."""
        units = np.asarray(scale, float)
        if not units.ndim:
            moduli = self._moduli
            each = {k: p / float(units) for k, p in moduli.items()} if isinstance(moduli, Mapping) else moduli
            return Cylinder(each) if isinstance(each, Mapping) else Circle(each / float(units))
        found = np.broadcast_to(self._on_last_axis(units.shape), units.shape) / units
        return Cylinder({k: float(p) for k, p in enumerate(found) if np.isfinite(p)})


class Circle(AbstractAngles):
    """The circle: real numbers modulo a period. In an array with several entries each is an angle of its own.

    Example:
        >>> from dynsim import Circle
        >>> compass = Circle(360.0)
        >>> float(compass.distance(350.0, 10.0)), float(compass.reduced(350.0))
        (20.0, -10.0)
    """

    period: float = eqx.field(static=True)

    def __init__(self, period: float = 2 * math.pi):
        """Store the period; raise `ValueError` unless it is a positive finite number."""
        self.period = _period("period", period)

    @property
    def _moduli(self) -> float:
        return self.period


class Torus(AbstractAngles):
    """The torus of k angles: vectors with k entries, each modulo its period.

    Example:
        >>> import dynsim as ds
        >>> torus = ds.Torus(2, (1.0, 24.0))
        >>> torus.difference([0.9, 23.0], [0.1, 1.0]).round(6).tolist()
        [-0.2, -2.0]
    """

    moduli: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, dimension: int, period: float | Sequence[float] = 2 * math.pi):
        """Store the number k of angles, and one period for all of them or one for each.

        Raises:
            ValueError: unless k is a positive integer, and periods are positive and finite and their number is k.
        """
        k = integer("dimension", dimension, least=1)
        given = list(period) if isinstance(period, Sequence | np.ndarray) else [period] * k
        if len(given) != k:
            raise ArgumentError("period", f"be one number, or {counted(k, 'number')}", f"has {len(given)}")
        self.moduli = tuple(_period("period", one) for one in given)

    @property
    def _moduli(self) -> Mapping[int, float]:
        return dict(enumerate(self.moduli))

    def _on_last_axis(self, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
        if not shape or shape[-1] != len(self.moduli):
            must = f"have {counted(len(self.moduli), 'component')}, one for each angle"
            raise ArgumentError("state", must, f"has the shape {shape}")
        return np.array(self.moduli)


class Cylinder(AbstractAngles):
    """Vectors of which some entries are angles, given with their periods, and all others are real numbers.

    Example:
        >>> import dynsim as ds
        >>> pendulum = ds.Cylinder({0: 360.0})
        >>> pendulum.reduced([725.0, 3.0]).tolist()
        [5.0, 3.0]
    """

    angles: tuple[tuple[int, float], ...] = eqx.field(static=True)

    def __init__(self, periods: Mapping[int, float]):
        """Store the periods by the index of their entry.

        Raises:
            ValueError: if there is none, an index is not an integer from 0, or a period is not positive and finite.
        """
        if not isinstance(periods, Mapping) or not periods:
            raise ArgumentError("periods", "map indices of entries to periods", f"is {shown(periods)}")
        self.angles = tuple(
            sorted((integer("periods", k, least=0), _period(f"periods[{k!r}]", p)) for k, p in periods.items())
        )

    @property
    def _moduli(self) -> Mapping[int, float]:
        return dict(self.angles)


def _period(name: str, value: Any) -> float:
    return number(name, value, must="be a positive finite number")


def _normal(key: Key, shape: tuple[int, ...]) -> State:
    return jax.random.normal(jax.random.fold_in(key, 1), shape)
