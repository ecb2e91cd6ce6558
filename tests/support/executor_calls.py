"""Functions of module level for tests of executors, which other processes import."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np


def decay(t, x):
    """Return the field of an exponential decay."""
    return -x


def kept(t, x):
    """Return what an ensemble keeps."""
    return jnp.sum(x)


@dataclass(frozen=True)
class Size:
    """The size of an experiment."""

    count: int


def normal_numbers(config: Size, key: jax.Array, folder: Path) -> dict[str, np.ndarray]:
    """Run an experiment: numbers drawn from a key."""
    del folder
    return {"numbers": np.asarray(jax.random.normal(key, (config.count,)))}


def shown_numbers(arrays) -> str:
    """Return the numbers of an experiment as text."""
    return str(arrays["numbers"])


def square(x: float) -> float:
    """Return a square."""
    return x * x


def fails(x: float) -> float:
    """Raise an error of the call's own."""
    raise ValueError(f"no {x}")


def dies(x: float, where: str = "") -> float:
    """Return a square, but end the process that does it for the first time; `where` is a file that remembers."""
    mark = Path(where)
    if x == 2 and not (where and mark.exists()):
        if where:
            mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def slow(x: float, seconds: float = 0.3) -> float:
    """Return a square after some time."""
    time.sleep(seconds)
    return x * x
