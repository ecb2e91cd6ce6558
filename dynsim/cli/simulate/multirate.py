"""`dynsim simulate multirate`: evaluate the multirate network on a text, continue the text, and check causality."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from dynsim.cli.parsing.options import Force, check_outputs, parse, refuse_unused, say
from dynsim.cli.parsing.sizes import check_memory
from dynsim.errors import ArgumentError, check_at_least

if TYPE_CHECKING:
    from dynsim.networks.multirate.network import MultirateNetwork

WEIGHTS = (
    128  # bytes of attention weights per pair of positions, for all heads and the copies that exist at the same time
)
CHECKED = 32  # bytes of the text that the causality check uses; its cost grows with the cube of their number


@dataclass(frozen=True)
class Multirate:
    """Evaluate the network of MULTIRATE on a text, continue the text byte by byte, and check causality.

    Trained weights come from the first seed of the largest finished record of the experiment `multirate/section-9`, or
    from its quick size, which is run if there is no record. The causality check replaces each of the first 32 bytes by
    another, and counts how often this changes any bit of the scores at an earlier position.
    """

    text: str = "First Citizen:\n"
    """the text that the network reads and continues"""
    weights: Literal["random", "trained"] = "random"
    """random weights, drawn from the seed, or the trained weights of the record"""
    variant: str = "coupled"
    """which trained network to use: the name of a variant of the experiment"""
    slow_mask: Literal["causal", "full"] = "causal"
    """attention mask of the slow layers, for random weights"""
    block: int = 8
    """number P of tokens in a block, for random weights"""
    gate: float | None = None
    """a value that replaces all gates of the network"""
    bytes: int = 100
    """number of bytes to generate"""
    temperature: float = 0.0
    """sampling temperature; 0 takes the most likely byte"""
    seed: int = 0
    """random seed of the weights and of the sampling"""
    data: Path | None = None
    """the folder of data files, if the experiment must be run; by default the one that DYNSIM_DATA names"""
    out: Path | None = None
    """the file (.npz) to write, with the leak matrix and the scores"""
    force: Force = False


def main(words: Sequence[str]) -> int:
    """Print the loss, the gates and the causality of the network, and continue the text."""
    o = parse(Multirate, words, "simulate multirate")
    check_outputs(o.force, out=o.out, out_endings=(".npz",))
    text = np.frombuffer(o.text.encode(errors="surrogateescape"), np.uint8).astype(np.int32)
    if len(text) < 2:
        raise ArgumentError("text", "have at least two bytes", f"has {len(text)}")
    check_at_least(0, bytes=o.bytes, temperature=o.temperature)
    _check_options(o, len(text))
    if o.bytes and o.slow_mask == "full":
        raise ArgumentError("bytes", "be 0 for a full slow mask, because it attends to later bytes", f"is {o.bytes}")
    model = network(o)
    if o.weights == "random":
        say("random weights: the network is untrained (`--weights trained` loads trained weights)")
    _describe(model, text)
    _check_causality(o, model, text[:CHECKED])
    if o.bytes:
        _continue(o, model, text)
    return 0


def _check_options(o: Multirate, length: int) -> None:
    """Raise `ValueError` for options without effect, numbers that are not finite, or a text too long for the memory."""
    trained = o.weights == "trained"
    refuse_unused(o, ("slow_mask", "block") if trained else (), "for trained weights")
    refuse_unused(o, () if trained else ("variant", "data"), "for random weights")
    refuse_unused(o, () if o.bytes else ("temperature",), "if no bytes are generated")
    check_at_least(1, block=o.block)
    for name in ("gate", "temperature"):
        if getattr(o, name) is not None and not math.isfinite(getattr(o, name)):
            raise ArgumentError(name, "be finite", f"is {getattr(o, name)}")
    check_memory(lambda bytes, block: WEIGHTS * (length + bytes + block) ** 2, bytes=o.bytes, block=o.block)


def network(o: Multirate) -> "MultirateNetwork":
    """Build the network that the options name."""
    from dynsim.keys import random_key
    from dynsim.networks.multirate.config import MultirateConfig
    from dynsim.networks.multirate.network import draw_multirate, with_gates

    if o.weights == "trained":
        model = _trained(o)
    else:
        config = MultirateConfig(slow_mask=o.slow_mask, block=o.block)
        model = draw_multirate(random_key(o.seed, "multirate"), config)
    return model if o.gate is None else with_gates(model, o.gate)


def _trained(o: Multirate) -> "MultirateNetwork":
    from analysis.experiments import best_record
    from analysis.experiments.multirate.training_study import SECTION_9, trained_network
    from dynsim.errors import nearest
    from dynsim.io.data import use_data

    known = [variant.name for variant in SECTION_9.paper.variants]
    if o.variant not in known:
        raise ArgumentError("variant", f"be one of {', '.join(known)}", f"is `{o.variant}`{nearest(o.variant, known)}")
    use_data(o.data)
    found = best_record(SECTION_9)
    say(f"weights of {found.name}, size {found.size}, seed {found.seed}")
    return trained_network(found.arrays, found.config, o.variant)


def _describe(model: "MultirateNetwork", text: np.ndarray) -> None:
    from dynsim.networks.multirate.flops import layer_equivalents
    from dynsim.networks.multirate.network import num_parameters
    from dynsim.networks.multirate.training import text_loss

    blocks = f", blocks of {model.rounds[0].block}" if model.rounds else ""
    cost = layer_equivalents(model, len(text))
    say(f"{num_parameters(model):,} parameters, {cost:.3f} layer equivalents of work on {len(text)} bytes{blocks}")
    if model.rounds:
        say(f"gate {', '.join(f'{float(gate):+.6f}' for gate in model.gates)}")
    loss = text_loss(model, text[None])
    say(f"loss on the text {loss:.4f} nats per byte (a uniform prediction has {np.log(256):.4f})")


def _check_causality(o: Multirate, model: "MultirateNetwork", text: np.ndarray) -> None:
    from analysis.networks.leaks import affected_positions, leak_matrix, worst_leak

    matrix = leak_matrix(model, text)
    say(f"largest derivative of a score with respect to a later byte's embedding: {float(worst_leak(matrix)):.3g}")
    early = [np.any(affected_positions(model, text, t, (int(text[t]) + 1) % 256)[:t]) for t in range(len(text))]
    say(f"positions at which another byte changes a bit of an earlier score: {sum(early)} of {len(text)}")
    if o.out is not None:
        from dynsim.io.npz import write_arrays

        write_arrays(
            o.out,
            {
                "program": np.array("dynsim"),
                "text": text,
                "leak matrix": np.asarray(matrix),
                "scores": np.asarray(model(text)),
            },
        )
        say(f"arrays {o.out}")


def _continue(o: Multirate, model: "MultirateNetwork", text: np.ndarray) -> None:
    from dynsim.keys import random_key
    from dynsim.networks.multirate.byte_text import greedy, sampled

    if o.temperature:
        found = sampled(model, text, o.bytes, random_key(o.seed, "bytes"), temperature=o.temperature)
    else:
        found = greedy(model, text, o.bytes)
    say(bytes(found.astype(np.uint8)).decode(errors="replace"))
