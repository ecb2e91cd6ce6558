"""Claims of Sections 2.2 and 3.4 on the forward pass: its specification and its Euler steps."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.multirate.instances import numpy_forward_pass
from analysis.claims.multirate.instances.networks import (
    GENERIC,
    TWO_ROUNDS,
    NetworkCase,
    RoundStates,
    Stages,
    drawn_cases,
    network,
    scores,
    stages,
    symbols,
)
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, equal, holds
from dynsim._core.types import Key, Scalar
from dynsim.networks.multirate.network import MultirateNetwork, Round
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
