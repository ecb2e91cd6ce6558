"""Parameters of catalogue systems: fields that accept a real number and store it as an array."""

import functools
from typing import Any

import equinox as eqx

from dynsim._core.validation import real


def parameter(name: str, default: float, *, positive: bool = False) -> Any:
    """A dataclass field for one real parameter, positive if so declared; other values raise `ValueError`."""
    return eqx.field(converter=functools.partial(real, name, positive=positive), default=default)
