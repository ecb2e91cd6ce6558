"""`dynsim simulate token-flow --tokens 1000000`: simulate many tokens, and keep their density instead of the states."""

import dataclasses
from typing import TYPE_CHECKING, Any

import diffrax as dfx
import equinox as eqx
import jax
import numpy as np

from dynsim._core.types import Time
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.parsing.options import say, typed_as
from dynsim.cli.parsing.outputs import write_out
from dynsim.cli.parsing.solvers import integrator
from dynsim.errors import ArgumentError, counted
from dynsim.integrators import AbstractIntegrator
from dynsim.spaces import Sphere
from dynsim.systems.base import AbstractFlow
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.choice import Auto

if TYPE_CHECKING:
    from analysis.tokens.densities import TokenDensity

MANY = 20_000  # largest number of tokens whose states are kept by default; with more the density is kept
CELLS = {2: 720, 3: 10_000}  # largest default number of cells on the circle (half a degree each) and on the sphere
TOKENS_OF_A_CELL = 50  # mean tokens per cell by default; with fewer, sampling noise would look like clusters
TOLERANCES = {
    "float64": 1e-10,
    "float32": 2e-6,
}  # default errors of the attention kernel, relative to the largest weight
RTOL = 1e-4  # default relative tolerance, small against the width of a cell
LOW_ORDER = 1e-5  # smallest tolerance for a third-order solver, which holds half as many stages in memory
MOVIE_FRAMES = 60  # largest number of frames of a movie


class Shares(eqx.Module):
    """Observable of an ensemble: the share of the tokens in each cell of a grid."""

    grid: Any

    def __call__(self, t: Time, x: jax.Array) -> jax.Array:
        """Compute the share of the tokens in each cell."""
        return self.grid.shares(x)


def wanted(o: Simulate) -> bool:
    """Test whether densities are kept: if requested, or for one trajectory of many tokens."""
    return o.density is not None or (o.tokens is not None and o.tokens > MANY and o.members == 1)


def cells(o: Simulate) -> int:
    """Get the requested or default number of cells of the grid."""
    if o.density is not None:
        return o.density
    return max(8, min(CELLS.get(o.token_dimension, 8), (o.tokens or 0) // TOKENS_OF_A_CELL))


def check(o: Simulate, flow: AbstractFlow) -> TokenFlow:
    """Choose how to compute the interaction of many tokens; raise `ValueError` unless a density can be kept."""
    if not isinstance(flow, TokenFlow) or not isinstance(flow.space, Sphere) or flow.query_key.shape[1] not in (2, 3):
        must = "be left out unless the system is a token flow on the circle or the sphere in R^3"
        raise ArgumentError("density", must, "is given" if o.density is not None else f"{o.tokens} tokens need it")
    if o.members > 1:
        raise ArgumentError("density", "be left out for an ensemble", f"there are {o.members} members")
    return flow.computed_by(Auto(TOLERANCES[o.precision] if o.tolerance is None else o.tolerance))


def density_run(o: Simulate, tokens: TokenFlow, starts: jax.Array, ts: np.ndarray) -> int:
    """Simulate one trajectory, keep its density, and print its clusters and when they merged."""
    from analysis.tokens.densities import EqualAreaGrid, TokenDensity, cluster_drift, density_clusters, merge_times
    from dynsim.simulation.ensemble import ensemble
    from dynsim.simulation.run_files import save

    with typed_as(cells="density"):
        grid = EqualAreaGrid(starts.shape[2], cells(o))
    interaction: Any = tokens.interaction
    say(str(interaction.chosen(tokens, starts.shape[1], starts.dtype)))
    found = ensemble(tokens, starts, ts, Shares(grid), integrator=_integrator(o))
    say(str(found))
    shares = np.asarray(found.values[0])
    reached = np.flatnonzero(np.isfinite(shares).all(axis=1))
    every = [density_clusters(grid, shares[k]) for k in reached]
    last, counts = every[-1], [len(c.masses) for c in every]
    say(told(last.masses, float(ts[reached[-1]])))
    say(f"at most {max(counts)} clusters over time; {_merged(merge_times(ts[reached], counts))}")
    if len(last.masses) > 1 and isinstance(tokens.value, ScaledIdentity):
        rate = cluster_drift(tokens, last, float(ts[reached[-1]])).rate
        say(f"the fastest pair of clusters approaches each other at the relative rate {rate:.3g}")
    write_out(o.out, found, lambda out: save(out, found, seed=o.seed))
    draw(o, TokenDensity(grid, ts[reached], shares[reached]))
    return 0 if len(reached) == len(ts) else 1


def _integrator(o: Simulate) -> AbstractIntegrator:
    """Build the integrator; large tolerances use a third-order solver, which holds half as many states."""
    rtol = RTOL if o.rtol is None else o.rtol
    if o.method == "diffrax" and rtol >= LOW_ORDER:
        return dataclasses.replace(integrator("diffrax", rtol, o.max_steps, o.atol), solver=dfx.Bosh3())
    return integrator(o.method, rtol, o.max_steps, o.atol)


def told(masses: np.ndarray, t: float) -> str:
    """Describe the clusters at a time: how many there are, and their shares of the tokens in decreasing order."""
    if not masses.size:
        return f"no cluster at t = {t:g}"
    heaviest = ", ".join(f"{mass:.3g}" for mass in masses[:8]) + (", ..." if len(masses) > 8 else "")
    holds = "holds" if len(masses) == 1 else "hold"
    return f"{counted(len(masses), 'cluster')} at t = {t:g} {holds} {masses.sum():.3g} of the tokens: {heaviest}"


def _merged(times: np.ndarray) -> str:
    if not times.size:
        return "none merged"
    shown = ", ".join(f"{t:g}" for t in times[:8]) + (", ..." if len(times) > 8 else "")
    return f"clusters merged at t = {shown}"


def draw(o: Simulate, found: "TokenDensity") -> None:
    """Draw the requested figure and movie: the last density on the sphere, or the density over time on the circle."""
    if o.figure is not None:
        found.plot().save(o.figure, "density of the tokens")
        say(f"figure {o.figure}")
    if o.movie is not None:
        from figures.movie import write_movie

        frames = max(2, min(len(found.ts), MOVIE_FRAMES))
        times = found.ts[np.linspace(0, len(found.ts) - 1, frames).round().astype(int)]
        write_movie(o.movie, lambda phase: found.plot(time=times[round(frames * phase)]).figure, frames=frames)
        say(f"movie {o.movie}")
