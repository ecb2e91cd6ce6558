"""Claims of Section 4.1: which symbols the scores at a place depend on, decided bit by bit."""

from dataclasses import replace

import jax
import numpy as np

from analysis.claims.multirate.instances.networks import LENGTH, OPEN, SMALL, generator, network, symbols
from analysis.claims.multirate.numpy_forward_pass import scores
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_most, equal, holds
from analysis.networks.leaks import felt
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.networks.multirate.equilibrium import Anderson
from dynsim.networks.multirate.network import MultirateNetwork
from dynsim.papers import MULTIRATE

CASES = (  # lengths with and without a tail, two rounds, shorter than a block, P = 1
    (LENGTH, SMALL),
    (LENGTH - 1, replace(SMALL, rounds=2, block=2)),
    (3, SMALL),
    (8, SMALL),
    (5, replace(SMALL, block=1)),
)
LATE = 6  # in the second block: there is a token with a context before it
FULL = replace(SMALL, slow_mask="full")


def _change_trial(key: Key, model: MultirateNetwork, n: int, told: Measurement, *, first: int = 1) -> Trial:
    """Change a symbol from `first` on and look for bits of logits before it that change; `told` is of the slow mask."""
    ids, position = symbols(key, n), int(generator(key).integers(first, n))
    where = felt(model, ids, position, int(ids[position] + 1) % SMALL.vocabulary)
    return Trial(
        hypotheses=(
            told,
            equal("gates", np.min(model.gates), OPEN, tolerance=0.0),
            holds("the symbol itself feels it", bool(where[position])),
        ),
        conclusions=(equal("symbols before that feel it", np.sum(where[:position]), 0, tolerance=0.0),),
        witness={"n": n, "P": model.rounds[0].block, "changed symbol": position, "felt at": np.flatnonzero(where)},
    )


def _hidden(model: MultirateNetwork) -> bool:
    """Return whether no slow position sees one after it."""
    masks = [np.asarray(layer.attention.mask(9)) for r in model.rounds for layer in r.slow]
    return not any(np.any(np.triu(mask, 1)) for mask in masks)


def _causal(model: MultirateNetwork) -> Measurement:
    return holds("the slow mask is causal", _hidden(model))


@claim(
    "multirate/proposition-21",
    MULTIRATE.at("Proposition 21"),
    num_trials=10,
    note="to the bit, gates at 1, lengths with and without a tail, one and two rounds, P = 1; with the slow mask of "
    "the proof, and one pass of Post; the abstract's slow mask is another statement",
)
def no_symbol_reaches_an_earlier_score(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With a causal slow mask, changing symbol t changes no logit of any symbol s < t."""
    a, b = jax.random.split(key)
    n, config = CASES[int(generator(key).integers(len(CASES)))]
    model = network(a, config)
    return _change_trial(b, model, n, _causal(model))


@no_symbol_reaches_an_earlier_score.with_control
def no_symbol_reaches_an_earlier_score(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With full slow attention."""
    a, b = jax.random.split(key)
    return _change_trial(b, network(a, FULL), LENGTH, _causal(network(a)), first=LATE)


@claim(
    "multirate/proposition-21/secant-over-the-sequence",
    MULTIRATE.at("Proposition 21, Section 11.3"),
    variant="reading",
    num_trials=2,
    note="the text does not say over what the inner products of the secant run; over each token's coordinates the "
    "network is causal; no control: the printed claim is the positive case",
)
def secant_over_the_sequence_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: with the secant of Section 11.3, its coefficient one number for the whole sequence."""
    a, b = jax.random.split(key)
    model = network(a)
    secant = replace(model.rounds[0], approximation=Anderson(2, "sequence"))
    return _change_trial(b, replace(model, rounds=(secant,)), LENGTH, _causal(model), first=LATE)


def _sized_trial(key: Key, model: MultirateNetwork, told: Measurement, *, first: int = 1) -> Trial:
    """Measure in NumPy as well by how much the logits before the changed symbol change."""
    trial = _change_trial(key, model, LENGTH, told, first=first)
    ids, position = symbols(key), trial.witness["changed symbol"]
    changed = ids.copy()
    changed[position] = (ids[position] + 1) % SMALL.vocabulary
    gap = np.max(np.abs(scores(model, ids) - scores(model, changed))[:position], initial=0.0)
    largest = at_most("largest change of a logit before it", gap, 0.0, tolerance=ROUNDING)
    return replace(trial, conclusions=(*trial.conclusions, largest), witness={**trial.witness, "largest change": gap})


@claim(
    "multirate/proposition-21-full-slow",
    MULTIRATE.at("abstract, Section 3.2, Proposition 21"),
    num_trials=2,
    note="every context then sees the last block; a closed gate (Proposition 23) or at most P symbols hide it; "
    "no control: the corrected claim is the positive case",
)
def full_slow_attention_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With full attention over the pooled tokens, changing symbol t changes no logit of any symbol s < t."""
    a, b = jax.random.split(key)
    model = network(a, FULL)
    return _sized_trial(b, model, holds("slow attention is over all pooled tokens", not _hidden(model)), first=LATE)


@claim(
    "multirate/proposition-21-full-slow/corrected",
    MULTIRATE.at("abstract, Section 3.2, Proposition 21"),
    variant="corrected",
    num_trials=6,
    note="changed: slow attention is over the pooled tokens up to its own, as in the proof of Proposition 21",
)
def causal_slow_attention_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With attention over the pooled tokens so far, changing symbol t changes no logit of any symbol s < t."""
    a, b = jax.random.split(key)
    model = network(a)
    return _sized_trial(b, model, _causal(model))


@causal_slow_attention_is_causal.with_control
def causal_slow_attention_is_causal(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With full slow attention."""
    a, b = jax.random.split(key)
    return _sized_trial(b, network(a, FULL), _causal(network(a)), first=LATE)
