"""Run the experiment of GROWING, Section 7.4: heads grown on a frozen encoder, then removed one by one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.experiments import Arrays, Experiment, names_in
from analysis.experiments.growing.sentences import SST2, Sentences, read_sentences
from analysis.experiments.growing.training import (
    TrainingConfig,
    TrainingVariant,
    bank_force,
    batch_loss,
    draw_start,
    head_forces,
    rules_of,
    train_variant,
)
from analysis.experiments.prototypes.epochs import ShuffledRows
from dynsim._core.types import Key
from dynsim._runtime.progress import progress
from dynsim.networks.growing.classifier import SentenceClassifier
from dynsim.networks.growing.growth import Sample, directional_energies, revised, sample, without_head
from dynsim.networks.growing.training import growing_optimiser
from dynsim.networks.training import train
from dynsim.papers import GROWING
from dynsim.systems.prototypes.temperatures import ConstantTemperature

Encoder = Literal["trained", "random"]
FAR = 1e6


@dataclass(frozen=True)
class PruningConfig:
    """Parameters of Section 7.4; the paper omits most of them, and an encoder trained here replaces BERT.

    Attributes:
        encoders: encoders on whose features heads grow, trained as in Section 7.5 or left as drawn.
        encoder: how the encoder is trained, with heads of its own, which are then removed.
        seed: seed of its weights and batches.
        epochs: passes through the training set while heads grow on the frozen encoder.
        checks: how often in an epoch a head may be added.
        capacity: the largest number of heads.
        threshold: theta_w.
        events: number of heads to remove, starting with the smallest directional energy.
    """

    encoders: tuple[Encoder, ...] = ("trained", "random")
    encoder: TrainingConfig = TrainingConfig((TrainingVariant("encoder"),))
    seed: int = 42
    epochs: int = 3
    checks: int = 4
    capacity: int = 8
    threshold: float = 0.05
    events: int = 6


class Removal(NamedTuple):
    """One removal: each place's measures before and after it, in float64, and of all heads as one bank.

    Attributes:
        head: the place of the head that was removed.
        energies: directional energies before; infinite for a head without a direction.
        active: which places had heads, before and after.
        separations: of each place, before and after.
        forces: of each place, before and after; 0 for empty ones.
        own: the separation force of the head that was removed, by itself.
        joint: the force of the prototypes of all heads competing for tokens in one bank, before and after.
    """

    head: np.ndarray
    energies: np.ndarray
    active: np.ndarray
    separations: np.ndarray
    forces: np.ndarray
    own: np.ndarray
    joint: np.ndarray


def run_pruning(config: PruningConfig, key: Key, folder: Path) -> Arrays:
    """Measure every removal, for each encoder."""
    data = read_sentences(config.encoder.variants[0].corpus)
    seed_key = jax.random.fold_in(key, config.seed)
    arrays: dict[str, np.ndarray] = {}
    with progress(len(config.encoders) * config.events, "pruning", unit="events") as bar:
        for name in config.encoders:
            model = _frozen(config, name, data, seed_key, folder / name)
            found = []
            for _ in range(config.events):
                model, event = removal(model, sample(model, jnp.asarray(data.train.ids[: config.encoder.sampled])))
                found.append(event)
                bar.update(1)
            for field, values in zip(Removal._fields, zip(*found, strict=True), strict=True):
                arrays[f"{name}: {field}"] = np.stack(values)
    return arrays


def _frozen(config: PruningConfig, name: Encoder, data: Sentences, key: Key, folder: Path) -> SentenceClassifier:
    """Grow the heads of a classifier while everything else is frozen."""
    first, second, order, steps_key = jax.random.split(key, 4)
    variant = replace(config.encoder.variants[0], capacity=config.capacity, ordered=False)
    ours = replace(config.encoder, threshold=config.threshold, variants=())
    rules = rules_of(ours, variant)
    model = draw_start(ours, variant, data, rules, first)
    if name == "trained":
        old = train_variant(config.encoder, config.encoder.variants[0], data, second, folder / "encoder").model
        model = eqx.tree_at(lambda m: m.layer, old, model.layer)
    model = replace(model, dropout=0.0)
    batches = ShuffledRows(jax.tree.map(jnp.asarray, data.train), order, ConstantTemperature(1.0), ours.batch)
    shown = jnp.asarray(data.train.ids[: ours.sampled])
    steps = config.epochs * batches.steps
    return train(
        model,
        batch_loss(ours.barrier, 1.0, task=0.0),
        batches,
        steps_key,
        num_steps=steps,
        optimiser=growing_optimiser(steps, ours.learning_rate, ours.weight_decay, ours.temperature_rate, encoder=False),
        every=max(1, batches.steps // config.checks),
        folder=folder / "heads",
        revise=lambda done, grown: revised(grown, rules, sample(grown, shown), done),
        shown=False,
    ).model


def removal(model: SentenceClassifier, tokens: Sample) -> tuple[SentenceClassifier, Removal]:
    """Remove the head of least directional energy from a classifier, and measure before and after."""
    energies = directional_energies(model)
    head = int(np.argmin(energies))
    after = without_head(model, head, 0)
    both = (model, after)
    banks, T = np.asarray(model.layer.prototypes, float), np.asarray(model.layer.clipped, float)
    event = Removal(
        np.array(head),
        energies,
        np.stack([np.asarray(one.layer.growth.active) > 0 for one in both]),
        np.stack([np.asarray(one.layer.separation(), float) for one in both]),
        np.stack([head_forces(one, tokens) for one in both]),
        np.array(bank_force(banks[head], tokens, T[head])),
        np.array([_joint_force(one, tokens, T[head]) for one in both]),
    )
    return after, event


def _joint_force(model: SentenceClassifier, tokens: Sample, temperature: float) -> float:
    """Compute the separation force of the prototypes of all heads as one bank, at one temperature.

    Prototypes of empty places are so far away that no token is assigned to them.
    """
    active = np.asarray(model.layer.growth.active) > 0
    bank = np.where(active[:, None, None], np.asarray(model.layer.prototypes, float), FAR)
    return bank_force(bank.reshape(-1, bank.shape[2]), tokens, temperature)


def decomposition_errors(arrays: Arrays, name: str, *, joint: bool = False) -> np.ndarray:
    """Compute for each removal |drop of F_sep - F_sep of the removed head| over F_sep before.

    Args:
        arrays: the arrays of a record.
        name: the encoder.
        joint: take F_sep of all prototypes in one bank, in place of the sum over heads.
    """
    total = arrays[f"{name}: joint"] if joint else np.sum(arrays[f"{name}: forces"], axis=2)
    return np.abs(total[:, 0] - total[:, 1] - arrays[f"{name}: own"]) / total[:, 0]


def separation_changes(arrays: Arrays, name: str) -> np.ndarray:
    """Compute for each removal the largest change of the separation of a survivor."""
    before, after = np.moveaxis(arrays[f"{name}: separations"], 1, 0)
    return np.max(np.where(arrays[f"{name}: active"][:, 1], np.abs(after - before), 0.0), axis=1)


def summarise_pruning(arrays: Arrays) -> str:
    """Format the three checks of every removal."""
    return "\n".join(line for name in names_in(arrays, "own") for line in _summary(name, arrays))


def _summary(name: str, arrays: Arrays) -> Iterator[str]:
    energies = arrays[f"{name}: energies"][0]
    shown = energies[np.isfinite(energies)]
    yield f"{name} encoder: directional energies of {len(shown)} heads from {np.min(shown):.3f} to {np.max(shown):.3f}"
    changes, errors = separation_changes(arrays, name), decomposition_errors(arrays, name)
    apart = decomposition_errors(arrays, name, joint=True)
    total = np.sum(arrays[f"{name}: forces"][:, 0], axis=1)
    for event, head in enumerate(arrays[f"{name}: head"]):
        yield (
            f"  head {int(head)} with F_sep {arrays[f'{name}: own'][event]:.4g} of {total[event]:.4g}: S of the others "
            f"changes by {changes[event]:.1g}, error of the decomposition {errors[event]:.1g} of F_sep "
            f"({apart[event]:.2g} in one bank)"
        )


PAPER = PruningConfig()
_SMALL = TrainingVariant("encoder", corpus=replace(SST2, limits=(640, 100)))
QUICK = PruningConfig(encoder=TrainingConfig((_SMALL,), epochs=1), encoders=("trained",))

PRUNING = Experiment(
    "growing/pruning",
    GROWING.at("Section 7.4, Figure 2"),
    "heads grown on the frozen features of sentences, and removed one by one",
    QUICK,
    PAPER,
    run_pruning,
    summarise_pruning,
)

EXPERIMENTS = (PRUNING,)
