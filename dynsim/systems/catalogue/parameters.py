"""Parameters of the systems of the catalogue: fields that take a real number and hold it as an array."""

import functools
from typing import Any

import equinox as eqx

from dynsim._core.validation import real


def parameter(name: str, default: float, *, positive: bool = False) -> Any:
    """Return a field for one real parameter, a `positive` one or any; others are refused in one sentence."""
    return eqx.field(converter=functools.partial(real, name, positive=positive), default=default)
