"""Basin fractions against a parameter, for `dynsim basins --sample N --against NAME=LOW:HIGH`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dynsim.cli.basins.options import BasinsOptions
from dynsim.cli.parsing.options import say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.ranges import parameter_values
from dynsim.cli.parsing.solvers import unsettled
from dynsim.errors import counted

if TYPE_CHECKING:
    from analysis.dynamics.attractors.fractions import FractionCurves
    from analysis.dynamics.attractors.options import Search
    from dynsim.cli.building.systems import Found

VALUES = 11  # default number of parameter values; each one costs a search for attractors


def along(o: BasinsOptions, made: "Found", sampler: Callable[[Any], Any], search: "Search") -> int:
    """Compute, print and draw the basin fractions of random starts against a parameter."""
    from analysis.dynamics.attractors.fractions import continued_fractions
    from dynsim.keys import random_key
    from dynsim.systems.parameter import Parameter

    name, values = parameter_values(o.against, VALUES, made.system, "against")
    parameter = Parameter(made.system, name, float(min(values)), float(max(values)))
    key = random_key(o.seed, "starts")
    found = continued_fractions(parameter, values, sampler, o.sample, key, search=search)
    _tell(name, found, o.sample, o.longest)
    from dynsim.io.npz import write_arrays

    arrays = {part: getattr(found, part) for part in ("parameters", "labels", "shares", "low", "high")}
    write_out(o.out, found, lambda out: write_arrays(out, arrays), "shares")
    _draw(o, made, name, found)
    return 0


def _tell(name: str, found: "FractionCurves", count: int, longest: int) -> None:
    """Print the table of basin fractions, one row per parameter value, and describe the attractor of each label."""
    from analysis.dynamics.attractors.search import FATES

    say(f"{counted(count, 'start')} for each value, with 95 % Wilson intervals")
    texts = [f"basin {k + 1}" if k >= 0 else FATES[int(k)] for k in found.labels]
    say("  ".join([f"{name:>10}", *(f"{text:>24}" for text in texts)]))
    for value, shares, low, high in zip(found.parameters, found.shares, found.low, found.high, strict=True):
        cells = [
            f"{p:7.4f} [{a:.4f}, {b:.4f}]" if np.isfinite(p) else "-" for p, a, b in zip(shares, low, high, strict=True)
        ]
        say("  ".join([f"{value:10.6g}", *(f"{cell:>24}" for cell in cells)]))
    for label in found.labels[found.labels >= 0]:
        value, first = next(
            (value, row[int(label)])
            for value, row in zip(found.parameters, found.attractors, strict=True)
            if int(label) in row
        )
        say(f"  basin {label + 1}, at {name} = {value:.6g}: {first}")
    if told := unsettled(found.is_stiff, found.labels, longest):
        say(f"  {told}")


def _draw(o: BasinsOptions, made: "Found", name: str, found: "FractionCurves") -> None:
    found.plot().save(o.figure, f"shares of the basins of {made.name} against {name}")
    say(f"figure {o.figure}")
