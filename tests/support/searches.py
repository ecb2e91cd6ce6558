"""Searches for attractors that several tests run."""

import dataclasses
from typing import Any

from analysis.dynamics.attractors.options import Search


def accurate(**options: Any) -> Search:
    """Return the options of a search for at most 16384 intervals at a relative tolerance of 1e-8, unless given."""
    return dataclasses.replace(Search(longest=2**14, rtol=1e-8), **options)
