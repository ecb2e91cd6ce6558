"""`dynsim simulate token-flow --tokens 1000000`: the density of many tokens on a grid instead of their states."""

import dataclasses
from typing import Any

import diffrax as dfx
import equinox as eqx
import jax
import numpy as np

from dynsim._core.types import Time
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.parsing.options import say, typed_as
from dynsim.cli.parsing.solvers import integrator
from dynsim.errors import ArgumentError, counted
from dynsim.integrators import AbstractIntegrator
from dynsim.spaces import Sphere
from dynsim.systems.base import AbstractFlow
from dynsim.systems.schedules import ScaledIdentity
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.choice import Auto

MANY = 20_000  # tokens, from which on densities are kept unless states are asked for
CELLS = {2: 720, 3: 10_000}  # by dimension, at most
TOKENS_OF_A_CELL = 50  # by default; fewer would leave clusters of the noise
TOLERANCES = {"float64": 1e-10, "float32": 2e-6}  # of the kernel, by default
RTOL, LOW_ORDER = 1e-4, 1e-5
MOVIE_FRAMES = 60


class Shares(eqx.Module):
    """What is kept at each time: the share of the tokens in each cell of a grid."""

    grid: Any

    def __call__(self, t: Time, x: jax.Array) -> jax.Array:
        """Return the shares of the cells."""
        del t
        return self.grid.shares(x)


def wanted(o: Simulate) -> bool:
    """Return whether densities are kept: where they are asked for, or where there are many tokens of one trajectory."""
    return o.density is not None or (o.tokens is not None and o.tokens > MANY and o.members == 1)


def cells(o: Simulate) -> int:
    """Return the number of cells of the grid, as asked for or by default."""
    if o.density is not None:
        return o.density
    return max(8, min(CELLS.get(o.token_dimension, 8), (o.tokens or 0) // TOKENS_OF_A_CELL))


def check(o: Simulate, flow: AbstractFlow) -> TokenFlow:
    """Return the flow with its interaction chosen; raise `ValueError` unless its density can be kept."""
    if not isinstance(flow, TokenFlow) or not isinstance(flow.space, Sphere) or flow.query_key.shape[1] not in (2, 3):
        must = "be left out unless tokens of a token flow live on the circle or the sphere of R^3"
        raise ArgumentError("density", must, "is given" if o.density is not None else f"{o.tokens} tokens need it")
    if o.members > 1:
        raise ArgumentError("density", "be left out for an ensemble", f"there are {o.members} members")
    return flow.computed_by(Auto(TOLERANCES[o.precision] if o.tolerance is None else o.tolerance))


def density_run(o: Simulate, tokens: TokenFlow, starts: jax.Array, ts: np.ndarray) -> int:
    """Simulate one trajectory, keep its density, and print its clusters and when they merged."""
    from analysis.tokens.densities import EqualAreaGrid, cluster_drift, density_clusters, merge_times
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
    say(f"number of clusters at most {max(counts)}; {_merged(merge_times(ts[reached], counts))}")
    if len(last.masses) > 1 and isinstance(tokens.value, ScaledIdentity):
        rate = cluster_drift(tokens, last, float(ts[reached[-1]])).rate
        say(f"the fastest pair approaches at the relative rate {rate:.3g}")
    if o.out is not None:
        save(o.out, found, seed=o.seed)
        say(f"run file {o.out}")
    draw(o, grid, ts[reached], shares[reached])
    return 0 if len(reached) == len(ts) else 1


def _integrator(o: Simulate) -> AbstractIntegrator:
    """Return the integrator; with diffrax and a large tolerance one of third order, which holds half as many states."""
    rtol = RTOL if o.rtol is None else o.rtol
    if o.integrator == "diffrax" and rtol >= LOW_ORDER:
        return dataclasses.replace(integrator("diffrax", rtol, o.max_steps), solver=dfx.Bosh3())
    return integrator(o.integrator, rtol, o.max_steps)


def told(masses: np.ndarray, t: float) -> str:
    """Return the sentence on the clusters at a time: how many, and their shares of the tokens, the largest first."""
    if not masses.size:
        return f"no cluster at t = {t:g}"
    heaviest = ", ".join(f"{mass:.3g}" for mass in masses[:8]) + (", ..." if len(masses) > 8 else "")
    holds = "holds" if len(masses) == 1 else "hold"
    return f"{counted(len(masses), 'cluster')} at t = {t:g} {holds} {masses.sum():.3g} of the tokens: {heaviest}"


def _merged(times: np.ndarray) -> str:
    if not times.size:
        return "none was lost"
    shown = ", ".join(f"{t:g}" for t in times[:8]) + (", ..." if len(times) > 8 else "")
    return f"lost at t = {shown}"


def draw(o: Simulate, grid: Any, ts: np.ndarray, shares: np.ndarray) -> None:
    """Draw the last density, on the circle all of them, and the movie, if they are asked for."""
    from figures.files import write_figure
    from figures.movie import write_movie
    from figures.panels.densities import circle_density, sphere_density
    from figures.style import canvas, settings

    def drawing(last: int) -> Any:
        drawn, (ax,) = canvas(aspect=0.6)
        relative = shares[: last + 1] * grid.cells
        top = max(4.0, float(np.quantile(relative[-1], 0.995)))
        if grid.dimension == 2:
            panel = circle_density(ax, ts[: last + 1], relative, top=top)
            ax.set_xlim(ts[0], ts[-1])
        else:
            panel = sphere_density(ax, grid.edges, grid.counts, relative[-1], top=top)
            ax.set_title(f"$t$ = {ts[last]:.3g}", loc="right")
        drawn.colorbar(panel, ax=ax, label="density / uniform")
        return drawn

    if o.figure is not None:
        with settings():
            write_figure(drawing(len(ts) - 1), o.figure, "density of the tokens")
        say(f"figure {o.figure}")
    if o.movie is not None:
        frames = min(len(ts) - 1, MOVIE_FRAMES)
        with settings():
            write_movie(o.movie, lambda phase: drawing(1 + round(phase * (len(ts) - 2))), frames=frames)
        say(f"movie {o.movie}")
