"""Measure clustering of tokens against noise: order parameter over beta and sigma, and mean-field prediction."""

from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.experiments import Arrays, Experiment
from analysis.tokens.noise import critical_amplitude, polarisation, stationary_polarisation
from dynsim._core.types import Key, Time
from dynsim.integrators import EulerHeun
from dynsim.papers import CONSENSUS
from dynsim.simulation.ensemble import ensemble
from dynsim.spaces import Sphere
from dynsim.systems.noisy import NoisyFlow
from dynsim.systems.tokens.flow import TokenFlow

STARTS = ("uniform", "one cluster")
# Number of saved times; the later half is averaged.
SAVES = 41


@dataclass(frozen=True)
class NoiseConfig:
    """Parameters: the grid of beta and sigma, the dimensions d of the spheres, tokens, seeds, last time and step."""

    betas: tuple[float, ...]
    amplitudes: tuple[float, ...]
    dimensions: tuple[int, ...]
    tokens: int
    seeds: int
    end: float
    step_size: float


def _observed(t: Time, x: Array) -> Array:
    del t
    return polarisation(x)


def noisy_tokens(beta: float, amplitude: float, dimension: int) -> NoisyFlow:
    """Build self-attention on a sphere with P = beta I, U = I, weights that sum to one, and Brownian motion."""
    flow = TokenFlow(beta * np.eye(dimension)[None], scale=1.0)
    return NoisyFlow(flow, amplitude, calculus="stratonovich")


def starts(key: Key, tokens: int, dimension: int) -> Array:
    """Draw a start for each of `STARTS`: independent uniform tokens, and tokens close to the first axis."""
    first, second = jax.random.split(key)
    spread = 0.1 * jax.random.normal(second, (tokens, dimension))
    near = spread + jnp.zeros((tokens, dimension)).at[:, 0].set(1.0)
    return jnp.stack([Sphere().sample(first, (tokens, dimension)), Sphere().project(near)])


def run(config: NoiseConfig, key: Key, folder: Path) -> Arrays:
    """Compute the order parameter at every point, averaged over the later half of the times, with the predictions."""
    found = {}
    for d in config.dimensions:
        begin, path = jax.random.split(jax.random.fold_in(key, d))
        points = [(b, s) for b in config.betas for s in config.amplitudes]
        flows = [noisy_tokens(b, s, d) for b, s in points for _ in range(config.seeds * len(STARTS))]
        y0s = jnp.concatenate([starts(k, config.tokens, d) for k in jax.random.split(begin, config.seeds)])
        kept = ensemble(
            flows,
            jnp.tile(y0s, (len(points), 1, 1)),
            np.linspace(0.0, config.end, SAVES),
            _observed,
            integrator=EulerHeun(config.step_size),
            key=path,
            folder=folder / f"d{d}",
        )
        shape = (len(config.betas), len(config.amplitudes), config.seeds, len(STARTS))
        found[f"order_{d}"] = np.asarray(kept.values)[:, SAVES // 2 :].mean(axis=1).reshape(shape)
        found[f"critical_{d}"] = np.array([critical_amplitude(b, d) for b in config.betas])
    grid = {"betas": np.array(config.betas), "amplitudes": np.array(config.amplitudes)}
    predicted = stationary_polarisation(grid["betas"], grid["amplitudes"])
    return {**grid, **found, "predicted_2": predicted, "tokens": np.array(config.tokens)}


def summarise(arrays: Arrays) -> str:
    """Format, for each beta on the circle, the critical amplitude and the order parameter beside the mean field."""
    rows = []
    noise = np.sqrt(np.pi / (4 * arrays["tokens"]))  # the mean norm for independent tokens on the circle
    for k, beta in enumerate(arrays["betas"]):
        order = arrays["order_2"][k].mean(axis=1)  # (amplitudes, starts)
        pairs = "  ".join(
            f"{s:g}: {u:.2f} {c:.2f} ({p:.2f})"
            for s, (u, c), p in zip(arrays["amplitudes"], order, arrays["predicted_2"][k], strict=True)
        )
        rows.append(f"beta {beta:g}, critical sigma {arrays['critical_2'][k]:.3f}; {pairs}")
    gap = np.abs(arrays["order_2"][..., 1].mean(axis=2) - np.maximum(arrays["predicted_2"], noise))
    rows.append(f"sigma: from uniform starts, from one cluster (mean field); largest difference {gap.max():.2f}")
    return "\n".join(rows)


NOISE = Experiment(
    "tokens/noise",
    CONSENSUS.at("eq. (7)"),
    "tokens on circle and sphere with noise: clustering over beta and sigma, against the mean field",
    NoiseConfig((1.0, 2.0, 4.0, 8.0), (0.2, 0.4, 0.55, 0.7, 0.85, 1.0, 1.2), (2,), 48, 3, 30.0, 0.04),
    NoiseConfig(
        (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        tuple(round(0.1 * k, 1) for k in range(1, 13)),
        (2, 3),
        tokens=192,
        seeds=4,
        end=100.0,
        step_size=0.02,
    ),
    run,
    summarise,
)
EXPERIMENTS = (NOISE,)
