"""Claims of Section 4.3 on a closed gate: the network is the frozen one, and the slope of the loss in the gate."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.multirate.instances import numpy_forward_pass
from analysis.claims.multirate.instances.networks import (
    GENERIC,
    SHAPE_KEY,
    TWO_ROUNDS,
    before_training,
    network,
    stages,
    symbols,
)
from analysis.claims.multirate.sections_02_04_forward_pass import injection_size, largest, run
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.networks.multirate.network import MultirateNetwork, frozen, with_gates
from dynsim.networks.multirate.training import byte_loss

DIFFERENCE = 1e-4  # step of the central difference in a gate
SLOPE_ERROR = 1e-6  # of the central difference: its square times a third derivative of the loss, below 100
NEARLY_CLOSED = 1e-6  # a gate that is not zero


def _with_slow_path_of(other: MultirateNetwork, model: MultirateNetwork) -> MultirateNetwork:
    """Return `model` with the slow layers, norms and projectors of another network with as many rounds."""
    pairs = zip(model.rounds, other.rounds, strict=True)
    swapped = [
        replace(mine, slow=theirs.slow, projector=theirs.projector, injection_norm=theirs.injection_norm)
        for mine, theirs in pairs
    ]
    return replace(model, rounds=tuple(swapped))


def _gate_trial(key: Key, gate: float) -> Trial:
    """Compare a network with the frozen one, with one of other slow weights, and with its fast layers alone.

    The gate of the last round is `gate`, all others are closed; `draw_multirate` is held against the frozen network.
    """
    generic = run(key)
    *first, last = with_gates(generic.model, 0.0).rounds
    closed = replace(generic.model, rounds=(*first, replace(last, gate=jnp.full_like(last.gate, gate))))
    slow = _with_slow_path_of(network(jax.random.fold_in(key, 1), TWO_ROUNDS), closed)
    fast_layers = (*closed.before, *(layer for r in closed.rounds for layer in r.after))
    fast_only = MultirateNetwork(closed.token_embedding, fast_layers, (), closed.final_norm, closed.unembedding, 0)
    drawn = before_training(key)
    bits = lambda model: np.asarray(stages(model, generic.ids).logits)
    logits, held = bits(closed), bits(frozen(generic.model))
    gap = largest(numpy_forward_pass.logits(fast_only, generic.ids) - logits)
    return Trial(
        hypotheses=(
            injection_size(generic),
            holds("the logits are finite", bool(np.all(np.isfinite(logits)))),
            holds("open gates change the logits", bool(np.any(generic.found.logits != logits))),
        ),
        conclusions=(
            holds("the logits equal those of the frozen network in every bit", _same(held, logits)),
            holds("they are unchanged in every bit with another slow path", _same(bits(slow), logits)),
            at_most("largest difference from the fast layers alone", gap, 0.0, tolerance=ROUNDING),
            at_most("largest gate of a network before training", largest(drawn.gates), 0.0, tolerance=0.0),
            holds(
                "a network before training equals its frozen one in every bit", _same(bits(drawn), bits(frozen(drawn)))
            ),
        ),
        witness={"distance from the fast layers alone": gap},
        parameters={"n": generic.case.n, "P": TWO_ROUNDS.block, "R": TWO_ROUNDS.rounds},
    )


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(a == b))


closed_gate_is_the_frozen_network = claim(
    "multirate/proposition-23",
    statement="At alpha = 0 the coupled network is numerically identical to the frozen one, whatever its slow path; a "
    "network before training has alpha = 0 in all rounds.",
    trial=partial(_gate_trial, gate=0.0),
    control=partial(_gate_trial, gate=NEARLY_CLOSED),  # The gate of the last of two rounds at 1e-6.
    num_trials=6,
    note="the proposition's text is missing; read from its title and the paragraph below. Equality is in every bit "
    "where both are the same compiled program. It says nothing on later training steps: see `first-step`",
)


def _loss(model: MultirateNetwork, ids: np.ndarray) -> float:
    """Return the cross-entropy of the next symbol, in nats per symbol, evaluated in NumPy."""
    logits = numpy_forward_pass.logits(model, ids[:-1])
    chosen = np.take_along_axis(logits, ids[1:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.sum(np.exp(logits), axis=1)) - chosen))


_gradient = eqx.filter_jit(eqx.filter_grad(lambda model, ids: byte_loss(model, ids[None], SHAPE_KEY)))


def _slopes(model: MultirateNetwork, ids: np.ndarray) -> np.ndarray:
    """Return the derivatives of the loss in the gates by central differences of the loss in NumPy."""
    shifted = lambda k, step: replace(
        model, rounds=tuple(replace(r, gate=r.gate + step * (j == k)) for j, r in enumerate(model.rounds))
    )
    rounds = range(len(model.rounds))
    ends = [[_loss(shifted(k, step), ids) for step in (DIFFERENCE, -DIFFERENCE)] for k in rounds]
    return np.array([(up - down) / (2 * DIFFERENCE) for up, down in ends])


def _slope_trial(key: Key, gate: float) -> Trial:
    """Compare the gradient used in training with derivatives of the loss in NumPy, and measure its slow part."""
    a, b = jax.random.split(key)
    model, ids = network(a, TWO_ROUNDS, gate=gate), symbols(b, GENERIC.n + 1)
    given, held = (_gradient(part, jnp.asarray(ids)) for part in (model, frozen(model)))
    slopes, found = _slopes(model, ids), np.asarray(given.gates)
    parts = [(r.slow, r.projector, r.injection_norm) for r in given.rounds]
    slow = max(largest(leaf) for leaf in jax.tree.leaves(eqx.filter(parts, eqx.is_inexact_array)))
    return Trial(
        hypotheses=(at_least("loss", _loss(model, ids), 0.0, tolerance=ROUNDING),),
        conclusions=(
            at_least("least absolute slope of the loss in a gate", np.min(abs(found)), 0.0, tolerance=SLOPE_ERROR),
            at_most("error of the slopes", largest(found - slopes), 0.0, tolerance=SLOPE_ERROR),
            at_most("largest derivative in a parameter of the slow path", slow, 0.0, tolerance=0.0),
            at_most("largest slope in a gate of the frozen network", largest(held.gates), 0.0, tolerance=0.0),
        ),
        witness={"slopes in the gates": found, "by differences": slopes, "largest in the slow path": slow},
        parameters={"n": GENERIC.n, "P": TWO_ROUNDS.block, "R": TWO_ROUNDS.rounds},
    )


gate_has_a_slope_and_the_slow_path_none = claim(
    "multirate/proposition-23/first-step",
    statement="Read: at alpha = 0 the loss has a nonzero derivative in the alpha of each round, and does not depend "
    "on the slow path; the gate of the frozen network has no derivative.",
    trial=partial(_slope_trial, gate=0.0),
    control=partial(_slope_trial, gate=0.001),  # The gates alpha = 0.001.
    variant="reading",
    num_trials=4,
    note="hence the gate moves away from zero at the first training step, and the slow path only from the second on",
)
