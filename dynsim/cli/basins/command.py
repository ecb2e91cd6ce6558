"""`dynsim basins`: find attractors, and compute basins of attraction on a grid or basin fractions of random starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynsim.cli.basins.against import along
from dynsim.cli.basins.edges import edge_arrays, edges
from dynsim.cli.basins.options import BasinsOptions
from dynsim.cli.parsing.options import check_outputs, refuse_solvers, say
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.sizes import FLOAT, check_memory
from dynsim.cli.parsing.solvers import unsettled
from dynsim.cli.parsing.system import parse_system
from dynsim.errors import ArgumentError, check_at_least, counted

if TYPE_CHECKING:
    from analysis.dynamics.attractors.basins import Basins
    from analysis.dynamics.attractors.options import Search
    from dynsim.cli.building.systems import Found
    from dynsim.systems.named import Components

WINDOW_STATES = 40  # states per grid point that the search holds in memory at the same time


def main(words: Sequence[str]) -> int:
    """Find attractors and basins, print their shares, and draw them."""
    o = parse_system(BasinsOptions, words, "basins")
    check_at_least(0, sample=o.sample, period=o.period, escape=o.escape)
    check_together(o)
    check_outputs(o.force, figure=None if o.sample and not o.against else o.figure, out=o.out)
    from dynsim.cli.building.systems import found

    made = found(o, "basins")
    refuse_solvers(o, made.system)
    start, known, which = window(o, made)
    ends = np.asarray(o.box or box_of(o, made, which), float)
    if len(ends) != 2 * len(which):
        raise ArgumentError("box", f"have two bounds for each of {len(which)} axes", f"has {len(ends)} numbers")
    ends = ends.reshape(-1, 2)
    if o.sample:
        return sampled(o, made, start, which, ends)
    return on_grid(o, made, start, known, which, ends)


def check_together(o: BasinsOptions) -> None:
    """Raise `ValueError` for options that exclude each other."""
    if len(o.box) % 2:
        raise ArgumentError("box", "have two bounds for each axis", f"has {counted(len(o.box), 'number')}")
    if o.edge and o.sample:
        raise ArgumentError("edge", "be left out with `--sample`, because it needs a grid", "is given")
    if o.sample and not o.against and o.figure != BasinsOptions.figure:
        raise ArgumentError("figure", "be left out with `--sample`, unless `--against` is given", f"is `{o.figure}`")
    if o.against and not o.sample:
        raise ArgumentError("sample", "be the number of starts for each value of `--against`", "is 0")


def window(o: BasinsOptions, made: "Found") -> "tuple[Any, Components, list[int]]":
    """Get the state through which the window passes, its components, and the indices of those on the axes."""
    from dynsim.systems.named import components, listed

    start = made.begun(len(o.box) // 2 if o.box and not o.plane else None)
    known = components(made.system, start)
    size = len(known.names)
    if o.plane:
        which = [known.index(name, "plane") for name in o.plane]
        if len(set(which)) < len(which):
            raise ArgumentError("plane", "name different components", f"names {', '.join(o.plane)}")
    else:
        which = list(range(size))
    if len(which) > 2 and not o.sample:
        raise ArgumentError("plane", f"name two of {listed(known.names)}", f"is not given for {size} components")
    return start, known, which


def box_of(o: BasinsOptions, made: "Found", which: list[int]) -> list[float]:
    """Get the window of the catalogue; raise `ValueError` for a system that has none."""
    if not made.box:
        raise ArgumentError("box", f"be given for `{o.system}`: a lower and an upper bound for each axis", "is not")
    return [float(made.box[2 * k + side]) for k in which for side in (0, 1)]


def search_of(o: BasinsOptions) -> "Search":
    """Collect the options of the search for attractors."""
    from analysis.dynamics.attractors.options import Search
    from dynsim.cli.parsing.solvers import of_many

    return Search(
        period=o.period or None, longest=o.longest, escape=o.escape or None, rtol=o.rtol,
        atol=o.atol, integrator=of_many(o.integrator, o.rtol),
    )  # fmt: skip


def on_grid(
    o: BasinsOptions, made: "Found", start: Any, known: "Components", which: list[int], ends: np.ndarray
) -> int:
    """Compute the basin of each grid point, print the shares of the basins, and draw them."""
    from analysis.dynamics.attractors.basins import basins

    shape = o.shape * len(which) if len(o.shape) == 1 else o.shape
    if len(shape) != len(which):
        raise ArgumentError("shape", f"have one number, or one for each of {len(which)} axes", f"has {len(shape)}")
    check_at_least(2, shape=min(shape))
    sizes = {"shape": max(shape)}
    check_memory(lambda shape: FLOAT * WINDOW_STATES * len(known.names) * shape ** len(which), **sizes)
    search = search_of(o)
    found = basins(made.system, ends, shape, start=start, varied=which, search=search)
    tell(found)
    between = edges(made, start, which, found, search) if o.edge else {}
    from analysis.dynamics.attractors.basin_files import save_basins

    more = edge_arrays(between) if o.edge else {}
    write_out(o.out, found, lambda out: save_basins(out, found, more), "labels")
    limits = [edge.limit for edge in between.values()]
    found.plot(edges=limits).save(o.figure, f"basins of attraction of {made.name}")
    say(f"figure {o.figure}")
    return 0


def tell(found: "Basins") -> None:
    """Print each attractor with its share of the grid, and the shares of starts that reach no attractor."""
    from analysis.dynamics.attractors.search import FATES

    size = " x ".join(str(n) for n in found.labels.shape)
    say(f"{size} points, each integrated for at most {found.longest} intervals of {found.interval:.4g}")
    for k, attractor in enumerate(found.attractors):
        say(f"  {found.shares.get(k, 0.0):8.4f}  {attractor}")
    for k, share in found.shares.items():
        if k < 0:
            say(f"  {share:8.4f}  {FATES[k]}")
    if told := unsettled(found.is_stiff, found.labels, found.longest):
        say(f"  {told}")
    for other in found.others:
        word = "stability undecided" if other.stability == "undecided" else "not attracting"
        say(f"  {word}: {other}")
    if not found.attractors:
        say("no attractor was found: no start in this window settles")


def sampled(o: BasinsOptions, made: "Found", start: Any, which: list[int], ends: np.ndarray) -> int:
    """Print the basin fractions of random starts in the box, or draw them against a parameter."""
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree

    from analysis.dynamics.attractors.fractions import basin_fractions
    from dynsim.keys import random_key

    if not (np.all(np.isfinite(ends)) and np.all(ends[:, 0] < ends[:, 1])):
        raise ArgumentError("box", "have finite bounds, the lower one first", f"is {ends.tolist()}")
    base, restored = ravel_pytree(start)
    low, high = jnp.asarray(ends[:, 0]), jnp.asarray(ends[:, 1])

    def sampler(key: Any) -> Any:
        return restored(base.at[jnp.asarray(which)].set(jax.random.uniform(key, low.shape, minval=low, maxval=high)))

    search = search_of(o)
    if o.against:
        return along(o, made, sampler, search)
    found = basin_fractions(made.system, sampler, o.sample, random_key(o.seed, "starts"), search=search)
    say(f"{counted(found.total, 'start')}, with {100 * found.confidence:g} % Wilson intervals")
    for label, share, lower, upper in zip(found.labels, found.shares, found.low, found.high, strict=True):
        say(f"  {share:8.4f}  [{lower:.4f}, {upper:.4f}]  {found.named(int(label))}")
    if told := unsettled(found.is_stiff, found.labels, o.longest):
        say(f"  {told}")
    from dynsim.io.npz import write_arrays

    arrays = {part: np.asarray(getattr(found, part)) for part in ("labels", "shares", "low", "high")}
    arrays["limits"] = np.array([found.named(int(label)) for label in found.labels])
    write_out(o.out, found, lambda out: write_arrays(out, arrays), "shares")
    return 0
