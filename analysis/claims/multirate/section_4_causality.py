"""Claims of Section 4.1: causality of the network, decided by exact equality of logits."""

from dataclasses import replace

import jax
import numpy as np

from analysis.claims.multirate.instances.networks import LENGTH, OPEN, SMALL, network, symbols
from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.multirate.numpy_forward_pass import logits
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_most, equal, holds
from analysis.networks.leaks import affected_positions
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.networks.multirate.equilibrium import Anderson
from dynsim.networks.multirate.network import MultirateNetwork
from dynsim.papers import MULTIRATE

CASES = (  # with and without a partial last block, two rounds, shorter than a block, P = 1
    (LENGTH, SMALL),
    (LENGTH - 1, replace(SMALL, rounds=2, block=2)),
    (3, SMALL),
    (8, SMALL),
    (5, replace(SMALL, block=1)),
)
SECOND_BLOCK = 6  # the least position changed, in the second block: there are earlier tokens with a nonzero context
FULL = replace(SMALL, slow_mask="full")


def _change_trial(key: Key, model: MultirateNetwork, n: int, mask: Measurement, *, first: int = 1) -> Trial:
    """Measure whether changing a symbol at a random position from `first` on changes any bit of an earlier logit.

    `mask` is the measured hypothesis on the slow mask.
    """
    ids, position = symbols(key, n), int(numpy_rng(key).integers(first, n))
    affected = affected_positions(model, ids, position, int(ids[position] + 1) % SMALL.vocabulary)
    return Trial(
        hypotheses=(
            mask,
            equal("gates", np.min(model.gates), OPEN, tolerance=0.0),
            holds("the logits at the changed symbol change", bool(affected[position])),
        ),
        conclusions=(equal("earlier positions whose logits change", np.sum(affected[:position]), 0, tolerance=0.0),),
        witness={"n": n, "P": model.rounds[0].block, "changed symbol": position, "felt at": np.flatnonzero(affected)},
    )


def _future_is_masked(model: MultirateNetwork) -> bool:
    """Return whether no slow position attends to a later one."""
    masks = [np.asarray(layer.attention.mask(9)) for r in model.rounds for layer in r.slow]
    return not any(np.any(np.triu(mask, 1)) for mask in masks)


def _causal(model: MultirateNetwork) -> Measurement:
    return holds("the slow mask is causal", _future_is_masked(model))


@claim(
    "multirate/proposition-21",
    MULTIRATE.at("Proposition 21"),
    num_trials=10,
    note="equality in every bit, gates at 1, lengths with and without a partial last block, one and two rounds, also "
    "P = 1; with the slow mask of the proof and one pass of Post; the abstract's slow mask is another statement",
)
def no_symbol_reaches_an_earlier_score(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With a causal slow mask, changing symbol t changes no logit of any symbol s < t."""
    a, b = jax.random.split(key)
    n, config = CASES[int(numpy_rng(key).integers(len(CASES)))]
    model = network(a, config)
    return _change_trial(b, model, n, _causal(model))


@no_symbol_reaches_an_earlier_score.with_control
def no_symbol_reaches_an_earlier_score(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With full slow attention."""
    a, b = jax.random.split(key)
    return _change_trial(b, network(a, FULL), LENGTH, _causal(network(a)), first=SECOND_BLOCK)


@claim(
    "multirate/proposition-21/secant-over-the-sequence",
    MULTIRATE.at("Proposition 21, Section 11.3"),
    variant="reading",
    num_trials=2,
    note="the text does not say over which indices the inner products of the secant are taken; over the coordinates of "
    "each token the network is causal; no control: the printed claim is the positive case",
)
def secant_over_the_sequence_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With a causal slow mask, changing symbol t changes no logit of any symbol s < t.

    Read: with the secant method of Section 11.3, and one coefficient for the whole sequence.
    """
    a, b = jax.random.split(key)
    model = network(a)
    secant = replace(model.rounds[0], method=Anderson(2, "sequence"))
    return _change_trial(b, replace(model, rounds=(secant,)), LENGTH, _causal(model), first=SECOND_BLOCK)


def _sized_trial(key: Key, model: MultirateNetwork, mask: Measurement, *, first: int = 1) -> Trial:
    """Measure also the size of the change of earlier logits, in NumPy."""
    trial = _change_trial(key, model, LENGTH, mask, first=first)
    ids, position = symbols(key), trial.witness["changed symbol"]
    changed = ids.copy()
    changed[position] = (ids[position] + 1) % SMALL.vocabulary
    gap = np.max(np.abs(logits(model, ids) - logits(model, changed))[:position], initial=0.0)
    largest = at_most("largest change of an earlier logit", gap, 0.0, tolerance=ROUNDING)
    return replace(trial, conclusions=(*trial.conclusions, largest), witness={**trial.witness, "largest change": gap})


@claim(
    "multirate/proposition-21-full-slow",
    MULTIRATE.at("abstract, Section 3.2, Proposition 21"),
    num_trials=2,
    note="every nonzero context then depends on the last block; with a closed gate (Proposition 23) or at most P "
    "symbols this has no effect; no control: the corrected claim is the positive case",
)
def full_slow_attention_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With full attention over the pooled tokens, changing symbol t changes no logit of any symbol s < t."""
    a, b = jax.random.split(key)
    model = network(a, FULL)
    return _sized_trial(
        b, model, holds("slow attention is over all pooled tokens", not _future_is_masked(model)), first=SECOND_BLOCK
    )


@claim(
    "multirate/proposition-21-full-slow/corrected",
    MULTIRATE.at("abstract, Section 3.2, Proposition 21"),
    variant="corrected",
    num_trials=6,
    note="changed: a slow position attends to the pooled tokens up to its own, as in the proof of Proposition 21",
)
def causal_slow_attention_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With causal attention over the pooled tokens, changing symbol t changes no logit of any symbol s < t."""
    a, b = jax.random.split(key)
    model = network(a)
    return _sized_trial(b, model, _causal(model))


@causal_slow_attention_is_causal.with_control
def causal_slow_attention_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With full slow attention."""
    a, b = jax.random.split(key)
    return _sized_trial(b, network(a, FULL), _causal(network(a)), first=SECOND_BLOCK)
