"""What several test files share: runtime checks of the annotations, and the folder of real data."""

import os
from pathlib import Path

import jaxtyping
import pytest

from tests.support.annotations import checked

jaxtyping.jaxtyped = checked  # before the packages are loaded


def data_or_skip(name: str = "") -> Path:
    """Return the path of a file of real data; skip the test where no folder of data is named."""
    folder = os.environ.get("DYNSIM_DATA")
    if not folder:
        pytest.skip("DYNSIM_DATA is not set")
    return Path(folder) / name
