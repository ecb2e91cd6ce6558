"""Declare which components of a system's state are angles."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import numpy as np

from dynsim._core.validation import number
from dynsim.errors import ArgumentError, nearest, shown
from dynsim.spaces import AbstractSpace, Cylinder, Euclidean
from dynsim.spaces.euclidean import Flat
from dynsim.systems.named import listed


def turning(system: Any, periods: Any, argument: str = "periods") -> Any:
    """Copy a flow or a map whose components with these periods, by name or index, are angles.

    Raises:
        ValueError: as `with_angles`, and if the space of the system is computed and not stored.
    """
    space = with_angles(system.space, tuple(system.names), periods, argument)
    if space is system.space:
        return system
    if "space" not in {field.name for field in dataclasses.fields(system)}:
        must = f"be left out for {type(system).__name__}, whose space is computed"
        raise ArgumentError(argument, must, f"names {', '.join(map(str, periods))}")
    return eqx.tree_at(lambda one: one.space, system, space, is_leaf=lambda part: isinstance(part, AbstractSpace))


def with_angles(space: AbstractSpace, names: Sequence[str], periods: Any, argument: str = "periods") -> AbstractSpace:
    """A flat space in which some components of a vector are angles, in addition to those that it has.

    Args:
        space: Euclidean space, or a space that may have these angles already.
        names: the names of the components.
        periods: the period of each angle, by its name or its index.
        argument: the name of the argument for errors.

    Raises:
        ValueError: if a component does not exist or is given twice, a period is not positive and finite or not that of
            the space, or the space is not flat or a product.
    """
    if not isinstance(periods, Mapping):
        raise ArgumentError(argument, "map names of components to periods", f"is {shown(periods)}")
    if not periods:
        return space
    if not isinstance(space, Flat):
        must = "be left out unless the state is a vector of a flat space"
        raise ArgumentError(argument, must, f"is given on {type(space).__name__}")
    found = {
        _component(name, names, argument): number(argument, period, must="have positive finite periods")
        for name, period in periods.items()
    }
    if len(found) < len(periods):
        raise ArgumentError(argument, "name each component once", f"names {', '.join(map(str, periods))}")
    made = Cylinder(found)
    if isinstance(space, Euclidean):
        return made
    size = max(len(names), max(found) + 1)
    known = np.asarray(space.periods(np.empty(size)))
    for name, k in zip(periods, found, strict=True):
        if known[k] != found[k]:
            is_ = f"has the period {known[k]:g}" if np.isfinite(known[k]) else "is no angle"
            must = f"agree with the space of the system, in which `{name}` {is_}"
            raise ArgumentError(argument, must, f"gives it the period {found[k]:g}")
    return space


def _component(name: Any, names: Sequence[str], argument: str) -> int:
    """The index of a component by its name or its index."""
    if isinstance(name, str):
        if name not in names:
            must = (
                f"name components of the state, {listed(names)}"
                if names
                else "name components that `names` declares (a named tuple takes `space=Product(...)`)"
            )
            raise ArgumentError(argument, must, f"has `{name}`{nearest(name, names)}")
        return list(names).index(name)
    if isinstance(name, bool) or not isinstance(name, int | np.integer) or not 0 <= name < (len(names) or math.inf):
        raise ArgumentError(argument, "have names or indices of components", f"has {shown(name)}")
    return int(name)
