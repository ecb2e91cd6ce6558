"""Parameters of the systems of the catalogue: fields that take a real number and hold it as an array."""

import functools
from typing import Any

import equinox as eqx

from dynsim.conversion import real


def parameter(name: str, default: float) -> Any:
    """Return a field for one real parameter; another value is refused in one sentence that names it."""
    return eqx.field(converter=functools.partial(real, name), default=default)
