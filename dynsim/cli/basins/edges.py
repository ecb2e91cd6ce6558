"""Edge states on the boundaries between basins of a grid, for `dynsim basins --edge`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynsim.cli.parsing.options import say
from dynsim.errors import ArgumentError, counted

if TYPE_CHECKING:
    from analysis.dynamics.attractors.basins import Basins
    from analysis.dynamics.attractors.edge_tracking import EdgeState
    from analysis.dynamics.attractors.options import Search
    from dynsim.cli.building.systems import Found


def edges(
    made: "Found", start: Any, which: list[int], found: "Basins", search: "Search"
) -> "dict[tuple[int, int], EdgeState]":
    """Find and print the edge states between all basins that touch on a grid, or the reason why one was not found."""
    from jax.flatten_util import ravel_pytree

    from analysis.dynamics.attractors.basins import touching
    from analysis.dynamics.attractors.edge_tracking import edge_state

    base, restored = ravel_pytree(start)
    state = lambda place: restored(
        base.at[np.array(which)].set(np.array([axis[k] for axis, k in zip(found.axes, place, strict=True)]))
    )
    kept = {}
    for pair, (one, other) in touching(found.labels).items():
        words = f"basins {pair[0] + 1} and {pair[1] + 1}"
        try:
            edge = edge_state(made.system, state(one), state(other), search=search)
        except ArgumentError as error:  # for example, if the edge state is a torus
            say(f"  no edge state between {words}: {error}")
            continue
        kept[pair] = edge
        grown = f"{counted(edge.unstable_dimension, 'unstable direction')}"
        spread = "" if edge.exponents is None else f", spread {np.array2string(edge.spread, precision=3)}"
        say(f"  edge of {words}: {edge.limit}{spread}, {grown}, located to within {edge.width:.1g}")
    if not kept:
        say("no edge state was found: no two basins touch on this grid, or edge tracking failed")
    return kept


def edge_arrays(kept: "dict[tuple[int, int], EdgeState]") -> dict[str, np.ndarray]:
    """Collect edge states as arrays for a file: the pairs of basins, a state on each, and its unstable direction."""
    from jax.flatten_util import ravel_pytree

    states = [np.asarray(ravel_pytree(edge.limit.state)[0]) for edge in kept.values()]
    return {
        "edge_basins": np.array(list(kept), int).reshape(-1, 2),
        "edge_states": np.array(states),
        "edge_unstable": np.array([edge.unstable for edge in kept.values()]),
    }
