"""Run the experiment of PROTOTYPES, Section 7.4: soft and hard quantisation of images, from the same start."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.experiments import Arrays, Experiment, names_in
from analysis.experiments.prototypes.epochs import Batch, Epochs, ShuffledRows, train_epochs
from analysis.experiments.prototypes.kmeans import kmeans
from dynsim._core.types import Key, Scalar
from dynsim._runtime.progress import progress
from dynsim.io.data import data_file
from dynsim.io.npz import read_arrays
from dynsim.networks.prototypes.convolution import (
    Autoencoder,
    draw_autoencoder,
    images_between_zero_and_one,
    reconstruction_loss,
    two_rates,
)
from dynsim.networks.prototypes.quantisers import HardQuantiser, SoftQuantiser
from dynsim.networks.training import Loss
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.assignments import entropy, separation, utilisation
from dynsim.systems.prototypes.temperatures import Annealing


@dataclass(frozen=True)
class Codebook:
    """A quantiser of the study, and how its prototypes start.

    Attributes:
        name: the prefix of its arrays in the record.
        kind: the soft quantiser or the hard one.
        count: K, the number of prototypes.
        start: centroids of k-means on latent tokens of the untrained encoder, or uniform from -1/K to 1/K in every
            coordinate, as implementations of VQ-VAE have it.
        barrier: lambda of the soft quantiser's barrier.
        gradient: the mode of the soft quantiser's loss.
    """

    name: str
    kind: Literal["soft", "hard"]
    count: int
    start: Literal["k-means", "uniform"] = "k-means"
    barrier: float = 0.5
    gradient: Literal["full", "frozen"] = "full"


@dataclass(frozen=True)
class QuantisationConfig:
    """Parameters of Section 7.4; the paper does not state hidden channels, batches, commitment, nor means or sums.

    The reconstruction error is a mean over pixels and channels, the loss of the quantiser one over tokens.

    Attributes:
        codebooks: the quantisers; all of them start from the same encoder and decoder for a seed.
        seeds: their number; a seed determines weights, the start of prototypes and batches.
        epochs: passes through the training images.
        batch: images of a step.
        hidden: channels after the first convolution.
        outputs: m, the channels of the latent map.
        prototype_rate: eta_P of Adam.
        other_rate: eta_theta of Adam.
        weight: of the quantiser's loss.
        commitment: beta of the hard quantiser.
        temperature: T_0.
        least_temperature: T_min.
        time_constant: tau of annealing, in epochs.
        images: number of training images; None for all.
        evaluated: number of held-out images that are measured; None for all.
        clustered: number of latent tokens on which k-means starts.
        file: data file of the images.
    """

    codebooks: tuple[Codebook, ...]
    seeds: int = 5
    epochs: int = 50
    batch: int = 20
    hidden: int = 16
    outputs: int = 32
    prototype_rate: float = 1e-3
    other_rate: float = 1e-4
    weight: float = 0.1
    commitment: float = 0.25
    temperature: float = 2.0
    least_temperature: float = 0.3
    time_constant: float = 20.0
    images: int | None = None
    evaluated: int | None = 250
    clustered: int = 2048
    file: str = "cifar10_subset.npz"


def run_quantisation(config: QuantisationConfig, key: Key, folder: Path) -> Arrays:
    """Measure every quantiser by epoch, one row for each seed, with baselines."""
    data = read_arrays(data_file(config.file))
    train, held_out = (images_between_zero_and_one(data[name]) for name in ("x_train", "x_test"))
    train, held_out = train[: config.images], held_out[: config.evaluated]
    runs: dict[str, list[Epochs]] = {found.name: [] for found in config.codebooks}
    with progress(config.seeds * len(config.codebooks) * config.epochs, "training", unit="epochs") as bar:
        for seed in range(config.seeds):
            for found in config.codebooks:
                place = folder / found.name / str(seed)
                ours = jax.random.fold_in(key, seed)
                runs[found.name].append(_run(config, found, train, held_out, ours, place, bar.update))
    grey = jnp.mean((held_out - jnp.mean(train, axis=0)[None]) ** 2)
    arrays = {"epochs": np.arange(config.epochs + 1), "error of the mean image": np.asarray(grey)}
    for name, epochs in runs.items():
        for measure in epochs[0].measures:
            arrays[f"{name}: {measure}"] = np.stack([one.measures[measure] for one in epochs])
        arrays[f"{name}: training loss"] = np.stack([one.losses for one in epochs])
        arrays[f"{name}: codebook"] = np.stack([np.asarray(one.model.quantiser.codebook) for one in epochs])
    return arrays


def start(config: QuantisationConfig, found: Codebook, train: Array, key: Key) -> Autoencoder:
    """Build the autoencoder of a codebook before training."""
    draw, choose, place = jax.random.split(key, 3)
    blank = SoftQuantiser(jnp.zeros((1, config.outputs), jnp.float32))
    model = draw_autoencoder(draw, blank, hidden=config.hidden)
    z = eqx.filter_jit(model.latent)(train[:: max(1, len(train) // 100)]).reshape(-1, config.outputs)
    z = z[jax.random.permutation(choose, z.shape[0])[: config.clustered]]
    if found.start == "k-means":
        p = kmeans(place, z, found.count).centroids
    else:
        bound, shape = 1 / found.count, (found.count, config.outputs)
        p = jax.random.uniform(place, shape, jnp.float32, -bound, bound)
    if found.kind == "hard":
        return model.with_quantiser(HardQuantiser(p, commitment=config.commitment))
    return model.with_quantiser(SoftQuantiser(p, barrier=found.barrier, gradient=found.gradient))


def _run(
    config: QuantisationConfig, found: Codebook, train: Array, held_out: Array, key: Key, folder: Path, advance: Any
) -> Epochs:
    """Train one quantiser, resumed from `folder`."""
    draw, order, steps = jax.random.split(key, 3)
    annealing = Annealing(config.temperature, config.least_temperature, config.time_constant)
    batches = ShuffledRows(train, order, annealing, config.batch)
    numbers = (replace(config, codebooks=(), seeds=0), found, jax.random.key_data(key).tolist(), train.shape)
    return train_epochs(
        start(config, found, train, draw),
        _loss(config.weight),
        batches,
        lambda model, temperature: measured(model, held_out, temperature),
        steps,
        epochs=config.epochs,
        optimiser=two_rates(config.prototype_rate, config.other_rate),
        folder=folder,
        digest=" ".join(str(number) for number in numbers),
        advance=advance,
    )


@functools.cache
def _loss(weight: float) -> Loss:
    def loss(model: Autoencoder, batch: Batch, key: Key) -> Scalar:
        del key
        return reconstruction_loss(model, batch.rows, batch.temperature, weight)

    return loss


@eqx.filter_jit
def measured(
    model: Autoencoder, images: Float[Array, "batch height width channels"], temperature: Scalar
) -> dict[str, Array]:
    """Measure an autoencoder on images.

    The utilisation is that of the quantiser's own assignments; `by nearest` that of the nearest prototypes, which both
    quantisers have. `spread` is the mean squared distance of prototypes from their mean, `covariance` the same of
    latent tokens, and `variance` V over the number of tokens.
    """
    found = model(images, temperature)
    p, q = model.quantiser.codebook, found.quantised.assignments
    z = model.latent(images).reshape(-1, p.shape[1])
    nearest = HardQuantiser(p)(z, temperature).assignments
    mu = q @ p
    around = lambda x: jnp.mean(jnp.sum((x - jnp.mean(x, axis=0)[None]) ** 2, axis=-1))
    return {
        "held-out error": jnp.mean((found.images - images) ** 2),
        "utilisation": utilisation(q),
        "utilisation by nearest": utilisation(nearest),
        "least mean assignment": jnp.min(jnp.mean(q, axis=0)),
        "entropy": entropy(q),
        "separation": separation(p),
        "variance": jnp.mean(q @ jnp.sum(p**2, axis=1) - jnp.sum(mu**2, axis=1)),
        "spread": around(p),
        "covariance": around(z),
        "temperature": temperature,
    }


def epochs_to_full(values: np.ndarray) -> np.ndarray:
    """Find for each seed the first epoch from 1 on with utilisation one, or infinity; values are (seeds, epochs)."""
    full = values[:, 1:] == 1
    return np.where(full.any(axis=1), np.argmax(full, axis=1) + 1, np.inf)


def summarise_quantisation(arrays: Arrays) -> str:
    """Format Table 5 with entropy, separation, errors, and the utilisation by nearest, which the paper omits."""
    lines = [line for name in names_in(arrays, "codebook") for line in _summary(name, arrays)]
    return "\n".join([*lines, f"held-out error of the mean image: {float(arrays['error of the mean image']):.4f}"])


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    of = lambda what: arrays[f"{name}: {what}"]
    count = of("codebook").shape[1]
    at = lambda what, epoch: f"{np.mean(of(what)[:, epoch]):.3g}"
    reached = ", ".join(f"{epoch:g}" for epoch in epochs_to_full(of("utilisation")))
    shares = np.mean(of("entropy"), axis=0) / np.log(count)
    yield f"{name}: utilisation {at('utilisation', 1)} after epoch 1; epochs to 1 by seed: {reached}"
    nearest = [at("utilisation by nearest", epoch) for epoch in (1, -1)]
    yield f"  by nearest prototypes {nearest[0]} after epoch 1, {nearest[1]} at the end"
    yield f"  H / ln K: {shares[1]:.3f} after epoch 1, {shares[-1]:.3f} at the end"
    yield f"  S: {at('separation', 0)} at the start, {at('separation', -1)} at the end"
    best = np.mean(np.min(of("held-out error"), axis=1))
    yield f"  held-out error: {at('held-out error', -1)} at the end, {best:.3g} in the best epoch"


_TABLE_5 = (
    Codebook("soft 16", "soft", 16),
    Codebook("hard 16", "hard", 16),
    Codebook("soft 64", "soft", 64),
    Codebook("hard 64", "hard", 64),
    Codebook("soft 64 uniform", "soft", 64, "uniform"),
    Codebook("hard 64 uniform", "hard", 64, "uniform"),
    Codebook("soft 64 without barrier", "soft", 64, barrier=0.0),
    Codebook("soft 64 uniform without barrier", "soft", 64, "uniform", barrier=0.0),
)
PAPER = QuantisationConfig(_TABLE_5)
QUICK = replace(PAPER, codebooks=_TABLE_5[2:], seeds=2, epochs=2, images=100, evaluated=20, hidden=8)

QUANTISATION = Experiment(
    "prototypes/quantisation",
    PROTOTYPES.at("Section 7.4, Table 5"),
    "images through soft and hard quantisers from the same start: utilisation, entropy, separation, errors",
    QUICK,
    PAPER,
    run_quantisation,
    summarise_quantisation,
)

EXPERIMENTS = (QUANTISATION,)
