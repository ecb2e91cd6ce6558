"""What several test files share: runtime checks of the annotations, and the folder of real data.

An int may stand for a float, as everywhere in Python.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from beartype import BeartypeConf, beartype

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Leave annotations unchecked: half the time of a test that calls a thousand times what others check too."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


def data_or_skip(name: str = "") -> Path:
    """Return the path of a file of real data; skip the test where no folder of data is named."""
    folder = os.environ.get("DYNSIM_DATA")
    if not folder:
        pytest.skip("DYNSIM_DATA is not set")
    return Path(folder) / name
