"""Measure runs as in Section 7 of GROWING: levels, times and forces of heads, coverages, rank correlations."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.stats import spearmanr

from analysis.growing.separation import separation_force
from analysis.prototypes.bank import covariance
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.prototypes.assignments import separation

Heads = Float[np.ndarray, " heads"]
# Relative difference from the cube of the least temperature at which a temperature counts as clipped.
CLIPPED = 1e-12


class GrowthOutcome(NamedTuple):
    """Measures of one run, in the order in which heads were added; NaN for heads that do not exist.

    Attributes:
        levels: lambda^(h), the dominant value of the residual when the head was added; NaN for a random first head.
        births: times of growth, 0 for a random first head.
        arrivals: times at which the temperatures reach T_min, infinite if they do not.
        temperatures: at the end.
        first_activity: sigma of (21) at the births.
        activity: sigma at the end.
        forces: F_sep of (4) at the end.
        separations: S(P_h) at the end.
        variances: the largest variance of what the head sees in any direction, at the end.
        fan: temperatures at the times of the run, (times, heads), NaN before the births.
    """

    levels: Heads
    births: Heads
    arrivals: Heads
    temperatures: Heads
    first_activity: Heads
    activity: Heads
    forces: Heads
    separations: Heads
    variances: Heads
    fan: Float[np.ndarray, "times heads"]


def outcome(path: HybridTrajectory, ts: Float[np.ndarray, " times"]) -> GrowthOutcome:
    """Measure a run in which no head was removed, started at `ts[0]` and saved at `ts`."""
    flow: Any = path.phases[-1].system
    least, order = float(flow.rules.least_temperature) ** 3, np.asarray(flow.order)
    events = [*([float(ts[0])] if flow.rules.first == "random" else []), *path.times("grow")]
    births = np.where(order >= 0, np.array([*events, np.nan])[order], np.nan)
    arrivals, first = np.full(len(births), np.nan), np.full(len(births), np.nan)
    for jump in path.jumps:
        reached = (births <= jump.time) & (np.asarray(jump.after.cubes) <= least * (1 + CLIPPED))
        arrivals = np.where(reached & np.isnan(arrivals) & (jump.name == "clip"), jump.time, arrivals)
    for phase in path.phases:
        started = (births == float(phase.ts[0])) & np.isnan(first)
        if np.any(started):
            first = np.where(started, np.asarray(_activity(phase.system, phase.initial)), first)
    exists = np.asarray(flow.active)
    ends = [np.where(exists, np.asarray(found), np.nan) for found in _measures(flow, path.final)]
    arrivals = np.where(exists & np.isnan(arrivals), np.inf, arrivals)
    temperatures, *others = ends
    fan = _fan(path, ts, births)
    return GrowthOutcome(np.asarray(flow.levels), births, arrivals, temperatures, first, *others, fan)  # pyright: ignore


@eqx.filter_jit
def _activity(flow: Any, x: Growing) -> jax.Array:
    return flow.activity(x)


@eqx.filter_jit
def _measures(flow: GrowingFlow, x: Growing) -> tuple[jax.Array, ...]:
    """Compute temperatures, activities, forces, separations, and largest variances of the inputs, each (heads,)."""
    z, T = flow.head_inputs(x), flow.temperatures(x)
    forces = jax.vmap(separation_force)(x.prototypes, z, T)
    variances = jax.vmap(lambda one: jnp.linalg.eigvalsh(covariance(one))[-1])(z)
    return T, flow.activity(x), forces, jax.vmap(separation)(x.prototypes), variances


def _fan(path: HybridTrajectory, ts: Float[np.ndarray, " times"], births: Heads) -> Float[np.ndarray, "times heads"]:
    times, cubes = path.along(lambda x: x.cubes)
    rows = np.searchsorted(times, ts, side="right") - 1  # at an event, the state after it
    return np.where(ts[:, None] >= births, np.cbrt(cubes[rows]), np.nan)


def coverages(levels: Heads, values: Float[np.ndarray, " pairs"]) -> dict[str, float]:
    """Compute the share of the directed content that heads cover, measured in several ways, for the pairs of M_a.

    With |M_a|_F^2 = 2 sum s_k^2 over the pairs: as printed, sum lambda / |M_a|_F^2; the same with every eigenvalue
    counted once; sums of squares, lambda^2 or 2 lambda^2 for each head; sums of eigenvalues; and |M_a|_F not squared.
    """
    found, square = levels[np.isfinite(levels)], 2 * float(np.sum(values**2))
    total = float(np.sum(found))
    return {
        "as printed": total / square,
        "each eigenvalue once": 2 * total / square,
        "lambda^2": float(np.sum(found**2)) / square,
        "2 lambda^2": 2 * float(np.sum(found**2)) / square,
        "share of the sum": total / float(np.sum(values)),
        "norm not squared": total / np.sqrt(square),
    }


def bounds(heads: int, threshold: float, values: Float[np.ndarray, " pairs"]) -> dict[str, float]:
    """Compute 1 - K theta_w / |M_a|_F^2, as printed, with every eigenvalue counted once, and with |M_a|_F."""
    square = 2 * float(np.sum(values**2))
    return {
        "as printed": 1 - heads * threshold / square,
        "each eigenvalue once": 1 - 2 * heads * threshold / square,
        "norm not squared": 1 - heads * threshold / np.sqrt(square),
    }


def rank_correlation(levels: Heads, times: Heads) -> float:
    """Compute Spearman's correlation of levels and times; infinite times are equal and last. NaN if all are equal."""
    known = np.isfinite(levels) & ~np.isnan(times)
    chosen = np.where(np.isinf(times[known]), np.finfo(float).max, times[known])
    if len(chosen) < 2 or np.ptp(chosen) == 0 or np.ptp(levels[known]) == 0:
        return np.nan
    found: Any = spearmanr(levels[known], chosen)
    return float(found.statistic)


def ratios(found: GrowthOutcome) -> tuple[Heads, Heads]:
    """Compute F^(h) / F^(h+1) and the bound of (66) for successive heads with levels, (heads - 1,)."""
    known = np.isfinite(found.levels)
    forces, levels, T = (values[known] for values in (found.forces, found.levels, found.temperatures))
    with np.errstate(divide="ignore", invalid="ignore"):
        return forces[:-1] / forces[1:], levels[:-1] / levels[1:] * (T[1:] / T[:-1]) ** 2
