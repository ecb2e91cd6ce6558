"""Draw the results of `dynsim sweep`, and check the options of the figure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dynsim.cli.parsing.options import refuse_unused, say
from dynsim.cli.sweep.options import Sweep
from dynsim.errors import ArgumentError, nearest

if TYPE_CHECKING:
    import xarray

    from dynsim.systems.named import Components
    from figures.sweeps import Quantity

OF_RUNS = ("mean over the second half of the run", "least to largest value")


def check_figure(o: Sweep, grid: Mapping[str, Sequence[Any]]) -> None:
    """Raise `ValueError` for a grid that cannot be drawn, and for `--show` without a figure."""
    if o.figure is None:
        refuse_unused(o, ("show",), "without `--figure`")
        return
    several = [name for name, values in grid.items() if len(values) > 1]
    if len(several) not in (1, 2):
        said = f"{len(several)} have" if several else "none has"
        raise ArgumentError("figure", "be given only if one or two parameters have several values", said)


def check_shown(o: Sweep, names: Sequence[str]) -> None:
    """Raise `ValueError` for results to show that do not exist, or that are too many for the figure."""
    from figures.sweeps import MOST

    for name in o.show:
        if name not in names:
            raise ArgumentError("show", f"name results ({', '.join(names)})", f"names `{name}`{nearest(name, names)}")
    if len(o.show) > MOST:
        raise ArgumentError("show", f"name at most {MOST} results", f"names {len(o.show)}")


def draw(o: Sweep, found: "xarray.Dataset", known: "Components | None") -> None:
    """Write the figure unless no point has a finite value, and print what it leaves out."""
    import numpy as np

    from figures.sweeps import MOST, sweep

    quantities = _of_system(known, o.show) if known is not None else _of_function(o, found)
    if len(quantities) > MOST:
        say(f"the figure shows the first {MOST} of {len(quantities)} results (`--show` chooses)")
    quantities = quantities[:MOST]
    if not any(np.isfinite(found[one.middle].values).any() for one in quantities):
        say("no figure is drawn, because no point has a finite value")
        return
    assert o.figure is not None
    sweep(found, quantities=quantities).save(o.figure, f"sweep of {o.what}")
    say(f"figure {o.figure}")


def _of_system(known: "Components", shown: Sequence[str]) -> "list[Quantity]":
    """List a quantity for each component, its mean over the second half of the run with its range, or those shown."""
    from figures.sweeps import Quantity

    made = {name: Quantity(name, f"{name}_mean", f"{name}_least", f"{name}_largest", OF_RUNS) for name in known.names}
    return [made.get(name) or Quantity(name, name) for name in shown or known.names]


def _of_function(o: Sweep, found: "xarray.Dataset") -> "list[Quantity]":
    """List a quantity to draw for each result of a function that is one number at each point."""
    from figures.sweeps import Quantity

    results = [str(name) for name in found.data_vars if name not in ("status", "cause")]
    numbers = [name for name in results if found[name].dims == found["status"].dims]
    left = [name for name in results if name not in numbers]
    if left:
        say(f"the figure leaves out arrays: {', '.join(left)}")
    check_shown(o, numbers)
    return [Quantity(name, name) for name in o.show or numbers]
