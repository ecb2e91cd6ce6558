"""`dynsim simulate multirate`: a network with two rates reads a text, continues it, and shows if it reads ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from dynsim.commands.options import parse, say
from dynsim.errors import argument_error

if TYPE_CHECKING:
    from dynsim.networks.multirate.network import MultirateNetwork

CHECKED = 32  # bytes of the text in the leak check: its work grows with the cube of their number


@dataclass(frozen=True)
class Multirate:
    """Let the network of MULTIRATE read a text and continue it, byte by byte.

    Trained weights are those of the first seed of the experiment `multirate/section-9`: of its largest finished record,
    else of its quick one, which is made if need be. The leak check puts another byte at every place and looks whether a
    bit of an earlier score changes, among the first 32 bytes.
    """

    text: str = "First Citizen:\n"
    """what is read"""
    weights: Literal["random", "trained"] = "random"
    """as drawn from the seed, or from the record"""
    variant: str = "coupled"
    """which trained network: a name that the experiment shows"""
    slow_mask: Literal["causal", "full"] = "causal"
    """what pooled tokens see, for random weights"""
    block: int = 8
    """P, tokens that are pooled into one, for random weights"""
    gate: float | None = None
    """a value for all gates instead of their own"""
    bytes: int = 100
    """how many to write; 0 for none"""
    temperature: float = 0.0
    """of what is written; 0 takes the likeliest byte"""
    seed: int = 0
    """of random weights and of what is written"""
    data: Path | None = None
    """the folder of real data, where a record has to be made; by default the one that DYNSIM_DATA names"""
    out: Path | None = None
    """where the leak matrix and the scores (.npz) go"""


def main(words: Sequence[str]) -> int:
    """Read, write, and say what came out."""
    o = parse(Multirate, words, "simulate multirate")
    text = np.frombuffer(o.text.encode(), np.uint8).astype(np.int32)
    if len(text) < 2:
        raise argument_error("text", "have at least two bytes", f"has {len(text)}")
    if o.bytes < 0 or o.temperature < 0:
        raise argument_error("bytes` or `temperature", "not be negative", "is")
    if o.bytes and o.slow_mask == "full":
        raise argument_error("bytes", "be 0 for a full slow mask, which reads what is not yet written", f"is {o.bytes}")
    model = network(o)
    _describe(model, text)
    _leaks(o, model, text[:CHECKED])
    if o.bytes:
        _write(o, model, text)
    return 0


def network(o: Multirate) -> "MultirateNetwork":
    """Return the network that the options name."""
    from dynsim.keys import stream
    from dynsim.networks.multirate.config import MultirateConfig
    from dynsim.networks.multirate.network import draw_multirate, with_gates

    if o.weights == "trained":
        model = _trained(o)
    else:
        config = MultirateConfig(slow_mask=o.slow_mask, block=o.block)
        model = draw_multirate(stream(o.seed, "multirate"), config)
    return model if o.gate is None else with_gates(model, o.gate)


def _trained(o: Multirate) -> "MultirateNetwork":
    import os

    from analysis.experiments import best_record
    from analysis.experiments.multirate.training_study import SECTION_9, trained
    from dynsim.data import VARIABLE
    from dynsim.errors import nearest

    known = [variant.name for variant in SECTION_9.paper.variants]
    if o.variant not in known:
        raise argument_error("variant", f"be one of {', '.join(known)}", f"is `{o.variant}`{nearest(o.variant, known)}")
    if o.data is not None:
        os.environ[VARIABLE] = str(o.data)
    found = best_record(SECTION_9)
    say(f"weights of {found.name}, size {found.size}, seed {found.seed}, first of its seeds")
    return trained(found.arrays, found.config, o.variant)


def _describe(model: "MultirateNetwork", text: np.ndarray) -> None:
    from dynsim.networks.multirate.flops import layer_equivalents
    from dynsim.networks.multirate.network import num_parameters
    from dynsim.networks.multirate.training import text_loss

    blocks = f", blocks of {model.rounds[0].block}" if model.rounds else ""
    cost = layer_equivalents(model, len(text))
    say(f"{num_parameters(model):,} parameters, {cost:.3f} layers' work on {len(text)} bytes{blocks}")
    if model.rounds:
        say(f"gate {', '.join(f'{float(gate):+.6f}' for gate in model.gates)}")
    say(f"loss on the text {text_loss(model, text[None]):.4f} nats a byte (a uniform guess has {np.log(256):.4f})")


def _leaks(o: Multirate, model: "MultirateNetwork", text: np.ndarray) -> None:
    from analysis.networks.leaks import felt, leak_matrix, worst_leak

    matrix = leak_matrix(model, text)
    say(f"largest derivative of a score by a later byte's embedding: {float(worst_leak(matrix)):.3g}")
    early = [np.any(felt(model, text, t, (int(text[t]) + 1) % 256)[:t]) for t in range(len(text))]
    say(f"places of {len(text)} at which another byte changes a bit of an earlier score: {sum(early)}")
    if o.out is not None:
        from dynsim.io.npz import write_arrays

        write_arrays(o.out, {"text": text, "leak matrix": np.asarray(matrix), "scores": np.asarray(model(text))})
        say(f"arrays {o.out}")


def _write(o: Multirate, model: "MultirateNetwork", text: np.ndarray) -> None:
    from dynsim.keys import stream
    from dynsim.networks.multirate.byte_text import greedy, sampled

    if o.temperature:
        found = sampled(model, text, o.bytes, stream(o.seed, "bytes"), temperature=o.temperature)
    else:
        found = greedy(model, text, o.bytes)
    say(bytes(found.astype(np.uint8)).decode(errors="replace"))
