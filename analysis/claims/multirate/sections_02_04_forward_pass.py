"""Claims of Sections 2.2, 3.4 and 4.3: the forward pass, its Euler steps, and a closed gate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.multirate.instances import numpy_forward_pass
from analysis.claims.multirate.instances.networks import (
    GENERIC,
    SHAPE_KEY,
    TWO_ROUNDS,
    NetworkCase,
    RoundStates,
    Stages,
    before_training,
    drawn_cases,
    network,
    scores,
    stages,
    symbols,
)
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, equal, holds
from dynsim._core.types import Key, Scalar
from dynsim.networks.multirate.network import MultirateNetwork, Round, frozen, with_gates
from dynsim.networks.multirate.training import byte_loss, loss_with_residual, text_loss

WINDOWS = 9  # of symbols, more than `text_loss` takes at a time
RESIDUAL_WEIGHT = 0.5


class StagedPass(NamedTuple):
    """A network, a sequence of symbols, and the intermediate states `found` on them."""

    case: NetworkCase
    model: MultirateNetwork
    ids: np.ndarray
    found: Stages


def run(key: Key, *, gate: float | None = None) -> StagedPass:
    """Return a random network of two rounds run on random symbols, with its gates at `gate` or random."""
    a, b = jax.random.split(key)
    model, ids = network(a, TWO_ROUNDS, gate=gate), symbols(b, GENERIC.n)
    return StagedPass(GENERIC, model, ids, stages(model, ids))


def injection_size(given: StagedPass) -> Measurement:
    """Measure that the injected term of every round is not negligible."""
    least = min(float(np.max(np.abs(r.injected))) for r in given.found.rounds)
    return at_least("least over rounds of the largest entry of the injected term", least, 0.01, tolerance=ROUNDING)


def largest(values: object) -> float:
    """Return the largest absolute value of an array."""
    return float(np.max(np.abs(np.asarray(values))))


def _same_logits(name: str, logits: Array, model: MultirateNetwork, ids: np.ndarray, shift: int) -> Measurement:
    """Measure that logits are (18) in NumPy; not a number if a shape differs."""
    expected = numpy_forward_pass.logits(model, ids, shift=shift)
    gap = largest(logits - expected) if logits.shape == expected.shape else math.nan
    return at_most(f"{name}: largest difference of the logits", gap, 0.0, tolerance=ROUNDING)


def _same_rounds(given: StagedPass, shift: int) -> tuple[Measurement, ...]:
    """Measure that the states before and after each round and the injected terms are (11), (15) and (16) in NumPy."""
    states, found = numpy_forward_pass.states(given.model, given.ids, shift=shift), given.found.rounds
    injections = [
        numpy_forward_pass.injection(r, x, shift=shift) for r, x in zip(in_order(given.model), states, strict=False)
    ]
    slow = [numpy_forward_pass.slow_state(r, x) for r, x in zip(in_order(given.model), states, strict=False)]
    pairs = {
        "the slow states": zip([r.y for r in found], slow, strict=True),
        "the states before the rounds": zip([r.x for r in found], states, strict=False),
        "the states after the rounds": zip([r.after for r in found], states[1:], strict=True),
        "the injected terms": zip([r.injected for r in found], injections, strict=True),
    }
    return tuple(
        at_most(f"largest difference of {what}", max(largest(a - b) for a, b in both), 0.0, tolerance=ROUNDING)
        for what, both in pairs.items()
    )


def _same_losses(given: StagedPass) -> tuple[Measurement, ...]:
    """Measure the losses of Sections 9 and 11.4 that ship against (18) in NumPy, in nats per symbol.

    The residual of a round is the change of its state by one more pass, (16) with the injected term as it was.
    """
    ids = np.stack([np.roll(given.ids, k) for k in range(WINDOWS)])
    entropies, residuals = zip(*(_losses_in_numpy(given.model, window) for window in ids), strict=True)
    entropy, penalty = np.mean(entropies), RESIDUAL_WEIGHT * np.mean(residuals)
    batch, key = jnp.asarray(ids), jax.random.key(0)
    both = _training_losses(given.model, batch, key)
    found = {"`byte_loss`": (both[0], entropy), "`loss_with_residual`": (both[1], entropy + penalty)}
    found["`text_loss`"] = (jnp.asarray(text_loss(given.model, ids)), entropy)
    return tuple(
        at_most(f"error of {name}", abs(float(value) - exact), 0.0, tolerance=ROUNDING)
        for name, (value, exact) in found.items()
    )


@eqx.filter_jit
def _training_losses(model: MultirateNetwork, batch: Array, key: Key) -> tuple[Scalar, Scalar]:
    return byte_loss(model, batch, key), loss_with_residual(RESIDUAL_WEIGHT)(model, batch, key)


def _losses_in_numpy(model: MultirateNetwork, window: np.ndarray) -> tuple[float, float]:
    """Return the mean cross entropy of a window and the mean squared residual of its rounds."""
    ids, targets = window[:-1], window[1:]
    found, states = numpy_forward_pass.logits(model, ids), numpy_forward_pass.states(model, ids)
    entropy = np.log(np.sum(np.exp(found), axis=1)) - found[np.arange(len(ids)), targets]
    again = []
    for r, x, after in zip(in_order(model), states, states[1:], strict=False):
        moved = after + numpy_forward_pass.injection(r, x)
        again.append(numpy_forward_pass.euler_steps(numpy_forward_pass.fields(r.after), moved) - after)
    return float(np.mean(entropy)), float(np.mean(np.square(again)))


def in_order(model: MultirateNetwork) -> list[Round]:
    """Return the rounds of a network in the order in which they act, as arrays of NumPy."""
    rounds = numpy_forward_pass.in_numpy(model).rounds
    return [rounds[k % len(rounds)] for k in range(model.num_rounds)]


def _specification_trial(key: Key, others: Sequence[NetworkCase], shift: int) -> Trial:
    generic = run(key)
    given = [(case, network(key, case.config), symbols(key, case.n)) for case in others]
    return Trial(
        hypotheses=(
            holds(
                "the symbols belong to the vocabulary",
                all(bool(np.all((ids >= 0) & (ids < case.config.vocabulary))) for case, _, ids in given),
            ),
            injection_size(generic),
        ),
        conclusions=(
            *_same_rounds(generic, shift),
            _same_logits(generic.case.name, generic.found.logits, generic.model, generic.ids, shift),
            *(_same_logits(case.name, scores(model, ids), model, ids, shift) for case, model, ids in given),
            *_same_losses(generic),
        ),
        witness={"gates": generic.model.gates, "range of scores": np.ptp(np.asarray(generic.found.logits))},
        parameters={"n": others[0].n, "P": others[0].config.block, "case": others[0].name, "other": others[1].name},
    )


network_is_the_specification = claim(
    "multirate/proposition-9",
    statement="For all symbols, (10) to (18) define logits of the next symbol at every token, "
    "and the network computes them.",
    trial=lambda key: _specification_trial(key, drawn_cases(key, 2), 1),
    # The NumPy implementation with each token's own block in place of the previous one.
    control=lambda key: _specification_trial(key, drawn_cases(key, 2), 0),
    num_trials=12,
    note="a definition: it is measured that the network agrees with an independent implementation of (10) to (18) in "
    "NumPy, with readings where the text is incomplete; gates in (0, 1), one to three rounds, also with the methods of "
    "Sections 11.2, 11.3 and 11.5",
)


def _sum_trial(given: StagedPass, expected: Sequence[np.ndarray]) -> Trial:
    """Measure whether the states after the rounds equal `expected`."""
    rounds = given.found.rounds
    gaps = [largest(r.after - state) for r, state in zip(rounds, expected, strict=True)]
    moved = min(largest(r.without_injection - r.x) for r in rounds)
    return Trial(
        hypotheses=(
            equal(
                "largest entry of the first block's context",
                max(largest(r.c[: given.case.config.block]) for r in rounds),
                0,
                tolerance=0,
            ),
            at_least("largest change by Post", moved, 0.0, tolerance=ROUNDING),
            injection_size(given),
        ),
        conclusions=tuple(
            at_most(f"distance from the state after round {k}", gap, 0.0, tolerance=ROUNDING)
            for k, gap in enumerate(gaps, 1)
        ),
        witness={"gates": given.model.gates, "distances": gaps},
        parameters={"n": given.case.n, "P": given.case.config.block, "R": len(rounds)},
    )


@claim(
    "multirate/claim-euler-step",
    num_trials=4,
    note="read: F = Post - id does not depend on the slow context, which enters only in the second term, as the text "
    "says. By (15) and (16) Post acts on x + alpha proj(c): the sum lacks F(x + alpha proj(c)) - F(x), of first order "
    "in alpha. That any map is the Euler step of its own displacement is trivial",
)
def round_is_one_euler_step(key: Key) -> Trial:
    """The full fast update is one forward-Euler step, x + F(x) + alpha proj(c), of two additive terms.

    F is the vector field of the layers, and the gated injection is the only term in which the slow context enters.
    """
    given = run(key)
    return _sum_trial(given, [np.asarray(r.without_injection + r.injected) for r in given.found.rounds])


Written = Callable[[Round, np.ndarray], np.ndarray]
"""The state after a round from the state before it, written out in NumPy."""


def _splitting_trial(key: Key, written: Written) -> Trial:
    """Compare the rounds with one written out in NumPy, and the displacement with the two terms of Section 2.2."""
    given = run(key)
    rounds = list(zip(in_order(given.model), given.found.rounds, strict=True))
    trial = _sum_trial(given, [written(r, np.asarray(at.x)) for r, at in rounds])
    missing = max(largest(_missing_in_the_sum(at) - _written_missing(r, at)) for r, at in rounds)
    lacks = at_most("error of F(x + alpha proj(c)) - F(x) for what the sum lacks", missing, 0.0, tolerance=ROUNDING)
    return replace(trial, conclusions=(*trial.conclusions, lacks))


def _missing_in_the_sum(at: RoundStates) -> np.ndarray:
    return np.asarray(at.after - at.without_injection - at.injected)


def _written_missing(r: Round, at: RoundStates) -> np.ndarray:
    """Return F(x + alpha proj(c)) - F(x)."""
    x = np.asarray(at.x)
    moved = x + numpy_forward_pass.injection(r, x)
    F = lambda x: numpy_forward_pass.euler_steps(numpy_forward_pass.fields(r.after), x) - x
    return F(moved) - F(x)


@claim(
    "multirate/claim-euler-step/corrected",
    num_trials=8,
    note="changed: one Euler step becomes a sequence of Euler steps, the injection first: a splitting of the field",
)
def round_is_a_splitting(key: Key) -> Trial:
    """The fast update is a forward-Euler step of length alpha of x' = proj(RMSNorm(c)), with c fixed, and then one of
    length one for each sublayer, of x' = Attention(RMSNorm(x)) or of x' = MLP(RMSNorm(x)).
    """

    def written(r: Round, x: np.ndarray) -> np.ndarray:
        first = lambda x: numpy_forward_pass.injection(r, x)
        return numpy_forward_pass.euler_steps([first, *numpy_forward_pass.fields(r.after)], x)

    return _splitting_trial(key, written)


@round_is_a_splitting.with_control
def round_is_a_splitting(key: Key) -> Trial:
    """The injection between the sublayers of Post in place of before them."""

    def written(r: Round, x: np.ndarray) -> np.ndarray:
        attention, *others = numpy_forward_pass.fields(r.after)
        late = numpy_forward_pass.injection(r, x)
        return numpy_forward_pass.euler_steps([attention, lambda _: late, *others], x)

    return _splitting_trial(key, written)


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
