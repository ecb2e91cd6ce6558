"""What several test files share: runtime checks of the annotations, and the folder of real data.

An int may stand for a float, as everywhere in Python.
"""

import os
from pathlib import Path

import pytest
from beartype import BeartypeConf, beartype

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))


def data_or_skip(name: str = "") -> Path:
    """Return the path of a file of real data; skip the test where no folder of data is named."""
    folder = os.environ.get("DYNSIM_DATA")
    if not folder:
        pytest.skip("DYNSIM_DATA is not set")
    return Path(folder) / name
