"""Measure clusters of many tokens on the circle: time to one cluster and metastable plateaus, against beta and n."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.experiments import Arrays, Experiment
from analysis.tokens.densities import EqualAreaGrid, density_clusters
from analysis.tokens.growth_rates import fastest_degree, uniform_growth_rates
from dynsim._core.types import Key, Time
from dynsim.integrators import RKC2, Diffrax
from dynsim.papers import CONSENSUS
from dynsim.simulation.ensemble import ensemble
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.harmonic import Harmonic

# Growth factor of a Fourier coefficient at which the fit of its rate ends.
GROWTH = 4.0
# Share of the tokens that must be in one cluster to count as consensus.
ALL = 0.9
# Density of a cluster's cells relative to the uniform one, and smallest mass of a cluster.
LEVEL, LEAST = 2.0, 0.03


@dataclass(frozen=True)
class DensityConfig:
    """Parameters: values of beta and n, members of each ensemble, last time, number of times, and cells of the grid."""

    betas: tuple[float, ...]
    tokens: tuple[int, ...]
    members: int
    end: float
    frames: int
    cells: int = 120
    rtol: float = 1e-5


class _Kept(eqx.Module):
    """Compute the shares of the cells, and the moduli of the density's Fourier coefficients of degrees 1, 2, ..."""

    grid: EqualAreaGrid
    degrees: int = eqx.field(static=True)

    def __call__(self, t: Time, x: Array) -> Array:
        angles = jnp.arctan2(x[:, 1], x[:, 0])
        turned = jnp.arange(1, self.degrees + 1, dtype=x.dtype)[:, None] * angles[None]
        size = jnp.hypot(jnp.mean(jnp.cos(turned), axis=1), jnp.mean(jnp.sin(turned), axis=1))
        return jnp.concatenate([self.grid.shares(x), size])


def run_densities(config: DensityConfig, key: Key, folder: Path) -> Arrays:
    """Measure for every beta, n and member numbers of clusters, time to one, longest plateau and growth rate."""
    grid = EqualAreaGrid(2, config.cells)
    early = np.linspace(0.0, min(20.0, config.end / 2), config.frames // 2, endpoint=False)
    ts = np.concatenate([early, np.geomspace(early[-1] + early[1], config.end, config.frames - len(early))])
    shape = (len(config.betas), len(config.tokens), config.members)
    counts = np.zeros((*shape, len(ts)), int)
    found = {name: np.full(shape, np.nan) for name in ("time to one", "plateau", "rate")}
    for (b, beta), (k, n) in itertools.product(enumerate(config.betas), enumerate(config.tokens)):
        values = _values(config, beta, n, grid, ts, jax.random.fold_in(key, b * len(config.tokens) + k), folder)
        for member, seen in enumerate(values):
            shares, sizes = seen[:, : grid.cells], seen[:, grid.cells :]
            every = [density_clusters(grid, p, level=LEVEL, least=LEAST) for p in shares]
            counts[b, k, member] = [len(c.masses) for c in every]
            one = np.array([len(c.masses) == 1 and c.masses[0] >= ALL for c in every])
            found["time to one"][b, k, member] = ts[np.argmax(one)] if one.any() else np.nan
            found["plateau"][b, k, member] = max(plateaus(ts, counts[b, k, member]), default=0.0)
            found["rate"][b, k, member] = growth_rate(ts, sizes[:, fastest_degree(beta, 2) - 1])
    degrees = np.array([fastest_degree(beta, 2) for beta in config.betas])
    rates = [uniform_growth_rates(beta, 2, 40, scale=2**-0.5).max() for beta in config.betas]
    return {"ts": ts, "beta": np.array(config.betas), "tokens": np.array(config.tokens), "clusters": counts,
            "degree": degrees, "predicted rate": np.array(rates), **found}  # fmt: skip


def _values(config: DensityConfig, beta: float, n: int, grid: Any, ts: Any, key: Key, folder: Path) -> np.ndarray:
    """Run every member, and collect what is kept, (members, times, kept); finished members are saved in `folder`."""
    degrees = max(fastest_degree(largest, 2) for largest in config.betas)
    way = Harmonic(1e-9, reach=max(config.betas))  # one degree, and one compiled program, for every beta
    flow = TokenFlow(beta * np.eye(2), interaction=way)
    starts = jax.vmap(lambda k: Sphere().sample(k, (n, 2)))(jax.random.split(key, config.members))
    # for clusters at rest only stability limits the step: a stabilised method takes a third to a sixth of the time
    solver = Diffrax(RKC2(), rtol=config.rtol, atol=config.rtol / 100)
    run = ensemble(flow, starts, ts, _Kept(grid, degrees), integrator=solver, folder=folder / f"{beta:g}-{n}")
    return np.asarray(run.values)


def plateaus(ts: np.ndarray, counts: np.ndarray) -> Iterator[float]:
    """Yield the lengths of the intervals on which the number of clusters is constant and more than one."""
    for count, steps in itertools.groupby(range(len(ts)), lambda k: counts[k]):
        if count > 1:
            inside = list(steps)
            yield float(ts[min(inside[-1] + 1, len(ts) - 1)] - ts[inside[0]])


def growth_rate(ts: np.ndarray, sizes: np.ndarray) -> float:
    """Fit the growth rate of a coefficient until it is `GROWTH` times its first value; NaN if it never is."""
    beyond = np.flatnonzero(sizes >= GROWTH * sizes[0])
    if not beyond.size or beyond[0] < 3:
        return float("nan")
    kept = slice(0, beyond[0] + 1)
    return float(np.polyfit(ts[kept], np.log(sizes[kept]), 1)[0])


def summarise_densities(arrays: Arrays) -> str:
    """Describe each beta and n in a line: medians, with the range of the middle half."""
    lines = []
    for (b, beta), (k, n) in itertools.product(enumerate(arrays["beta"]), enumerate(arrays["tokens"])):
        times = arrays["time to one"][b, k]
        done = f"one cluster in {int(np.isfinite(times).sum())} of {len(times)}"
        at = f" at t = {_band(times)}" if np.isfinite(times).any() else f" by t = {arrays['ts'][-1]:g}"
        rate = f"degree {arrays['degree'][b]} grows at {_band(arrays['rate'][b, k])}"
        predicted = f"(mean field {arrays['predicted rate'][b]:.3g})"
        plateau = f"longest plateau {_band(arrays['plateau'][b, k])}"
        most = f"at most {arrays['clusters'][b, k].max()} clusters"
        lines.append(f"beta {beta:g}, n {n}: {done}{at}; {most}, {plateau}; {rate} {predicted}")
    return "\n".join(lines)


def _band(values: np.ndarray) -> str:
    kept = values[np.isfinite(values)]
    if not kept.size:
        return "nan"
    low, middle, high = np.quantile(kept, [0.25, 0.5, 0.75])
    return f"{middle:.3g} [{low:.3g}, {high:.3g}]"


DENSITIES = Experiment(
    "tokens/density",
    CONSENSUS.at("Section 3, eq. (8)"),
    "many tokens on the circle: time to one cluster, plateaus and first growth, against beta and n",
    DensityConfig(betas=(2.0, 9.0), tokens=(500, 2000), members=4, end=100.0, frames=120),
    DensityConfig(betas=(1.0, 2.0, 4.0, 6.0, 9.0, 16.0, 25.0), tokens=(1000, 10_000), members=16, end=1e3,
                  frames=400),
    run_densities,
    summarise_densities,
)  # fmt: skip

EXPERIMENTS = (DENSITIES,)
