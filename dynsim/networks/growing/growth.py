"""Growth and pruning of the heads of a classifier, between two training steps (NumPy: not for `jit`)."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dynsim._core.types import Key
from dynsim.networks.growing.classifier import SentenceClassifier
from dynsim.networks.growing.layer import GrowingLayer
from dynsim.systems.growing.residual import antisymmetric_part, dominant_plane, dominant_value, residual_matrix
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import bank_along, directional_energy, placed


class Sample(NamedTuple):
    """Tokens of sentences without padding, as read by attention and as read by the prototypes."""

    inputs: Float[np.ndarray, "n d"]
    embeddings: Float[np.ndarray, "n d"]


def sample(model: SentenceClassifier, ids: Int[Array, "sentences length"]) -> Sample:
    """Tokens of sentences, without dropout and padding, in float64."""
    inputs, embeddings = _encoded(model, ids)
    counted = np.asarray(ids) > 0
    return Sample(*(np.asarray(part, float)[counted] for part in (inputs, embeddings)))


@eqx.filter_jit
def _encoded(model: SentenceClassifier, ids: Array) -> tuple[Array, Array]:
    inputs, _, z = jax.vmap(model.encode)(ids)
    return inputs, z


def residual(model: SentenceClassifier, inputs: Float[np.ndarray, "n d"], reading: str) -> np.ndarray:
    """Residual matrix of the classifier's attention outside the directions captured by its heads.

    Source: GROWING, eq. (3).
    """
    frames = np.asarray(model.layer.growth.frames, float).reshape(-1, inputs.shape[1])
    return residual_matrix(model.attention.interaction, frames, tokens=inputs, reading=reading)


def with_random_head(model: SentenceClassifier, rules: GrowthRules, tokens: Sample, key: Key) -> SentenceClassifier:
    """Add a first head that captures nothing, with normal prototypes of the tokens' mean and deviation.

    Source: GROWING, Algorithm, line 1.
    """
    z = tokens.embeddings
    noise = np.asarray(jax.random.normal(key, (rules.prototypes, z.shape[1])))
    bank = np.mean(z, axis=0) + np.std(z, axis=0) * noise
    return with_head(model, rules, bank, np.zeros((2, z.shape[1])), 0)


def revised(model: SentenceClassifier, rules: GrowthRules, tokens: Sample, steps: int) -> SentenceClassifier:
    """Apply the growth and pruning steps of the Algorithm, for at most one head each.

    A head is added if the dominant value of the residual exceeds the threshold, a slot is free, and the dwell time, in
    steps, has passed; with `ordered` also only if the value is below that at the previous growth. The head with the
    smallest measure of `prune_by` is removed if this is below the pruning threshold.

    Source: GROWING, Algorithm, Steps 3 and 4, Section 7.5.
    """
    growth = model.layer.growth
    if steps - float(growth.event) < float(rules.dwell):
        return model
    a = residual(model, tokens.inputs, rules.reading)
    value = dominant_value(a)
    room = float(np.sum(growth.active)) < rules.capacity
    if value > float(rules.threshold) and room and not (rules.ordered and value >= float(growth.last)):
        model = _grown(model, rules, tokens, a, value, steps)
    if rules.prune_by == "direction":
        found = directional_energies(model)
    else:
        found = np.where(np.asarray(model.layer.growth.active) > 0, np.asarray(model.layer.separation()), np.inf)
    if np.min(found) < float(rules.pruning):
        model = without_head(model, int(np.argmin(found)), steps, release=rules.release == "release")
    return model


def grown(model: SentenceClassifier, rules: GrowthRules, tokens: Sample, steps: int) -> SentenceClassifier:
    """Add one head, whatever the residual is."""
    a = residual(model, tokens.inputs, rules.reading)
    return _grown(model, rules, tokens, a, dominant_value(a), steps)


def without_head(model: SentenceClassifier, head: int, steps: int, *, release: bool = False) -> SentenceClassifier:
    """Remove a head; its directions stay captured unless `release` is set."""
    growth = model.layer.growth
    frames = placed(growth.frames, head, 0.0) if release else growth.frames
    moment = placed(growth.event, (), steps)
    return _with_growth(model, active=placed(growth.active, head, 0.0), frames=frames, event=moment)


def directional_energies(model: SentenceClassifier) -> Float[np.ndarray, " heads"]:
    r"""Directional energy $\Gamma_h = |B u_h|$, $B = M_a / |M_a|_F$, of each head; infinite without a direction.

    Source: GROWING, Section 9, Experiment 4.
    """
    m = jnp.asarray(antisymmetric_part(model.attention.interaction))
    energies = directional_energy(m, model.layer.growth.frames[:, 0].astype(float))
    return np.where(np.asarray(model.layer.growth.active) > 0, energies, np.inf)


def _grown(
    model: SentenceClassifier, rules: GrowthRules, tokens: Sample, a: np.ndarray, value: float, steps: int
) -> SentenceClassifier:
    plane = dominant_plane(a)
    frame = plane if rules.removal == "plane" else plane * np.array([[1.0], [0.0]])
    bank = bank_along(tokens.embeddings, plane[0], rules, value)
    return with_head(model, rules, bank, frame, steps, value=value)


def with_head(
    model: SentenceClassifier,
    rules: GrowthRules,
    bank: Float[np.ndarray, "k d"],
    frame: Float[np.ndarray, "2 d"],
    steps: int,
    *,
    value: float = 0.0,
) -> SentenceClassifier:
    """Add a head at T_init, in the first slot that has never had one, or else in an empty slot.

    Args:
        model: the classifier.
        rules: the rules, which contain T_init.
        bank: the prototypes of the head, shape (k, d).
        frame: the directions that it captures, orthonormal rows or rows of zeros.
        steps: the number of steps done.
        value: the dominant value of the residual if the head was grown, which the next growth is compared with; else 0.
    """
    layer = model.layer
    growth, place = layer.growth, _place(layer)
    model = eqx.tree_at(
        lambda m: (m.layer.prototypes, m.layer.temperatures),
        model,
        (placed(layer.prototypes, place, bank), placed(layer.temperatures, place, rules.initial_temperature)),
    )
    return _with_growth(
        model,
        active=placed(growth.active, place, 1.0),
        frames=placed(growth.frames, place, frame),
        births=placed(growth.births, place, steps),
        values=placed(growth.values, place, value),
        last=placed(growth.last, (), value) if value else growth.last,
        event=placed(growth.event, (), steps),
    )


def _place(layer: GrowingLayer) -> int:
    active = np.asarray(layer.growth.active) > 0
    fresh = ~active & ~np.any(np.asarray(layer.growth.frames) != 0, axis=(1, 2))
    return int(np.argmax(fresh if np.any(fresh) else ~active))


def _with_growth(model: SentenceClassifier, **changes: Any) -> SentenceClassifier:
    names = tuple(changes)
    return eqx.tree_at(
        lambda m: tuple(getattr(m.layer.growth, name) for name in names), model, tuple(changes[name] for name in names)
    )
