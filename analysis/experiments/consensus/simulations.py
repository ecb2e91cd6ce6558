"""Run the experiments of CONSENSUS, Sections 7.4 and 7.5: an ensemble of token flows, and iterated trained networks."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.experiments import Arrays, Experiment
from analysis.experiments.consensus.prompts import INPUTS, Inputs
from analysis.tokens.consensus import diameter, effective_rank, min_inner_product, misalignment
from dynsim._core.types import Key, Time
from dynsim._runtime.progress import tracked
from dynsim.integrators import Diffrax, InSpan
from dynsim.io.checkpoints import Checkpoints
from dynsim.io.data import data_file
from dynsim.networks.decoder.pretrained import load_transformer
from dynsim.networks.decoder.transformer import Transformer
from dynsim.papers import CONSENSUS
from dynsim.simulation.ensemble import ensemble
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.published import published_ensemble_flow

MEASURES = ("E", "least cosine", "effective rank")


@dataclass(frozen=True)
class EnsembleConfig:
    """Parameters of Section 7.4: members of the ensemble, tokens, their dimension, last time, relative tolerance."""

    members: int
    tokens: int
    dimension: int
    end: float
    rtol: float = 1e-3


def _observables(t: Time, x: Array) -> Array:
    del t
    return jnp.stack([misalignment(x), diameter(x)])


def run_ensemble(config: EnsembleConfig, key: Key, folder: Path) -> Arrays:
    """Measure E of (25) and the diameter of every member at 201 times; finished members are saved in `folder`."""
    weights, starts = jax.random.split(key)
    flow = published_ensemble_flow(weights, d=config.dimension)
    shape = (config.tokens, config.dimension)
    y0s = jnp.stack([initial_tokens("box", k, shape) for k in jax.random.split(starts, config.members)])
    ts = np.linspace(0.0, config.end, 201)
    solver = InSpan(Diffrax(rtol=config.rtol, atol=config.rtol / 1000))
    found = ensemble(flow, y0s, ts, _observables, integrator=solver, folder=folder)
    values = np.asarray(found.values)
    return {"ts": ts, "E": values[:, :, 0], "diameter": values[:, :, 1], "succeeded": np.asarray(found.stats.succeeded)}


def summarise_ensemble(arrays: Arrays) -> str:
    """Describe the final E and diameters in one line."""
    E, widths = arrays["E"][:, -1], arrays["diameter"][:, -1]
    done = f"{int(arrays['succeeded'].sum())} of {len(E)} members finished at t = {arrays['ts'][-1]:g}"
    return f"{done}: E median {np.median(E):.2g}, largest {np.max(E):.2g}; largest diameter {np.max(widths):.2g}"


ENSEMBLE = Experiment(
    "consensus/7.4",
    CONSENSUS.at("Section 7.4, Figure 5"),
    "tokens under (15) with two heads and random P_h(t): E of (25) along an ensemble",
    EnsembleConfig(members=24, tokens=50, dimension=50, end=200 / math.sqrt(10)),
    EnsembleConfig(members=100, tokens=50, dimension=500, end=200.0),
    run_ensemble,
    summarise_ensemble,
)


@dataclass(frozen=True)
class PassesConfig:
    """Parameters of Section 7.5: the number of passes through the network, and those whose output is decoded.

    `network` is the name of a data file, `inputs` one of `prompts.INPUTS`, and `deviation` the standard deviation of
    random weights.
    """

    passes: int
    decoded: tuple[int, ...]
    network: str = "stories260k.npz"
    inputs: str = "padded prompts"
    deviation: float = 0.02


def redrawn(transformer: Transformer, key: Key, deviation: float) -> Transformer:
    """Replace weight matrices of the network by Gaussian ones; gains of norms are one, biases zero, embeddings kept."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(transformer.blocks)
    keys = jax.random.split(key, len(leaves))
    pairs = zip(keys, leaves, strict=True)
    new = [_redrawn_array(path[-1].name, a, k, deviation) for k, (path, a) in pairs]
    return eqx.tree_at(lambda t: t.blocks, transformer, jax.tree.unflatten(structure, new))


def _redrawn_array(name: str, a: Array, key: Key, deviation: float) -> Array:
    """Draw the new array for a field, by its name, since a bias may have two axes like a weight matrix."""
    if name.endswith("gain"):
        return jnp.ones_like(a)
    return jnp.zeros_like(a) if name.endswith("bias") else deviation * jax.random.normal(key, a.shape, a.dtype)


def measures(x: Float[Array, "n d"]) -> Float[Array, " measures"]:
    """Compute E of (25), the smallest cosine between two tokens, and the effective rank of the token directions."""
    u = x / jnp.linalg.norm(x, axis=-1, keepdims=True)
    return jnp.stack([misalignment(u), min_inner_product(u), effective_rank(u)])


@eqx.filter_jit
def pass_measures(transformer: Transformer, x: Array, keys: Array, feedforward: bool, deviation: float | None) -> Array:
    """Compute the `measures` before the first and after every pass, shape (passes + 1, measures).

    With a `deviation`, the weights are redrawn for every pass; `keys` has one key for each pass.
    """

    def once(x: Array, key: Array) -> tuple[Array, Array]:
        network = transformer if deviation is None else redrawn(transformer, key, deviation)
        x = network.apply_layers(x, feedforward=feedforward)
        return x, measures(x)

    _, found = jax.lax.scan(once, x, keys)
    return jnp.concatenate([measures(x)[None], found])


def states_after(transformer: Transformer, x: Array, counts: Sequence[int]) -> Iterator[Array]:
    """Yield the state after each of the increasing `counts` of passes."""
    for before, count in itertools.pairwise((0, *counts)):
        x = _passed(transformer, x, jnp.asarray(count - before)) if count > before else x
        yield x


@eqx.filter_jit
def _passed(transformer: Transformer, x: Array, passes: Array) -> Array:
    return transformer.apply_layers(x, passes=passes)


def _plan(config: PassesConfig, trained: Transformer, inputs: Inputs, key: Key) -> dict[str, tuple]:
    """List the arguments of `pass_measures` for each variant: network, initial state, feed-forward, deviation."""
    random, first = redrawn(trained, key, config.deviation), trained.embed(inputs.first)
    plan = {
        "trained": (trained, first, True, None),
        "trained, float32": (trained, first.astype(jnp.float32), True, None),
        "trained, attention only": (trained, first, False, None),
        "random": (random, first, True, None),
        "random, attention only": (random, first, False, None),
        "redrawn": (trained, first, True, config.deviation),
        "redrawn, attention only": (trained, first, False, config.deviation),
    }
    for k, ids in enumerate(inputs.several, 1):
        x = trained.embed(ids)
        plan |= {f"prompt {k}": (random, x, True, None), f"trained, prompt {k}": (trained, x, True, None)}
    return plan


def _decoded(network: Transformer, inputs: Inputs, counts: Sequence[int]) -> list[str]:
    """Decode the last input, and the most likely tokens at its positions after each of `counts` passes."""
    states = states_after(network, network.embed(inputs.last), counts)
    likeliest = (np.argmax(np.asarray(network.logits(x)), axis=-1) for x in states)
    return [inputs.decode(ids) for ids in (inputs.last, *likeliest)]


def run_passes(config: PassesConfig, key: Key, folder: Path) -> Arrays:
    """Measure every variant and prompt along the passes, and decode outputs of the trained network."""
    path = data_file(config.network)
    trained, inputs = load_transformer(path), INPUTS[config.inputs](path)
    draw, again = jax.random.split(key)
    keys = jax.random.split(again, config.passes)
    plan = _plan(config, trained, inputs, draw)
    arrays = {"passes": np.arange(config.passes + 1)}
    checkpoints = Checkpoints(folder, f"{config} {jax.random.key_data(key).tolist()}", jax.tree.structure(0))
    for index, (name, work) in enumerate(tracked(plan.items(), len(plan), "7.5")):
        network, x, feedforward, deviation = work
        if not checkpoints.has(index):
            checkpoints.save(index, pass_measures(network, x, keys, feedforward, deviation))
        arrays[name] = np.asarray(checkpoints.load(index))
    texts = _decoded(trained, inputs, config.decoded)
    return {**arrays, "decoded after": np.array([0, *config.decoded]), "decoded": np.array(texts)}


def summarise_passes(arrays: Arrays) -> str:
    """Format the first and last measures of every variant as a table, with the decoded outputs."""
    rows = [f"{'':28s}" + "".join(f"{name:>20s}" for name in MEASURES)]
    for name, values in arrays.items():
        if values.ndim == 2:
            ends = (f"{first:.3f} -> {last:.3f}" for first, last in zip(values[0], values[-1], strict=True))
            rows.append(f"{name:28s}" + "".join(f"{end:>20s}" for end in ends))
    for passes, text in zip(arrays["decoded after"], arrays["decoded"], strict=True):
        rows.append(f"after {passes} passes: {' '.join(str(text).split())[:160]}")
    return "\n".join(rows)


PASSES = Experiment(
    "consensus/7.5",
    CONSENSUS.at("Section 7.5, Figures 6 to 8, Table 3"),
    "repeated passes through a network with trained, random and redrawn weights: E of (25) and signed measures; "
    "prompts of Table 2 padded with zeros (token number 0, after them) to one length",
    PassesConfig(passes=100, decoded=(1, 5, 10, 100)),
    PassesConfig(passes=2000, decoded=(1, 5, 10, 100, 1000)),
    run_passes,
    summarise_passes,
)

_LETTERS = {"network": "gpt_nano_sort.npz", "inputs": "reference letters"}
SORTING = Experiment(
    "consensus/7.5-sorting",
    CONSENSUS.at("Section 7.5, Figures 6 to 8, Table 3"),
    "as 7.5, for a network trained to sort six letters, with its reference inputs",
    replace(PASSES.quick, **_LETTERS),
    replace(PASSES.paper, **_LETTERS),
    run_passes,
    summarise_passes,
)

EXPERIMENTS = (ENSEMBLE, PASSES, SORTING)
