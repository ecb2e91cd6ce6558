"""Claims of Sections 3.3 and 4.2 on the slow context in a network: which block a token reads, how often it changes."""

import math
from functools import partial

import jax
import numpy as np

from analysis.claims.multirate.instances.networks import (
    GENERIC,
    TWO_ROUNDS,
    NetworkCase,
    RoundStates,
    leaking_logits,
    network,
    scores,
    stages,
    symbols,
)
from analysis.claims.multirate.instances.numpy_forward_pass import in_numpy, logits, slow_state
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.papers import MULTIRATE


def _logits_trial(key: Key, leaking: bool) -> Trial:
    """Measure which logits change with the last symbol of block two, each token reading its own block if `leaking`."""
    a, b = jax.random.split(key)
    model, ids, P = network(a, TWO_ROUNDS), symbols(b), TWO_ROUNDS.block
    last, changed = 2 * P - 1, ids.copy()
    changed[last] = (ids[last] + 1) % TWO_ROUNDS.vocabulary
    before, after = (np.asarray((leaking_logits if leaking else scores)(model, part)) for part in (ids, changed))
    gap = np.max(np.abs(before - after), axis=1)
    written = np.max(np.abs(before - logits(model, ids, shift=0 if leaking else 1)))
    return Trial(
        hypotheses=(
            at_least("least gate", np.min(model.gates), 0.0, tolerance=ROUNDING),
            at_least("change of the logits at the changed symbol", gap[last], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            holds(
                "the earlier logits that change by more than rounding are those of the symbol's block",
                np.flatnonzero(gap[:last] > ROUNDING).tolist() == list(range(last - P + 1, last)),
            ),
            at_most("difference of the logits from those in NumPy", written, 0.0, tolerance=ROUNDING),
        ),
        witness={"P": P, "changed symbol": last, "change of logits": gap},
        parameters={"n": len(ids), "P": P, "R": TWO_ROUNDS.rounds},
    )


own_block_would_leak_into_logits = claim(
    "multirate/definition-6-shift/logits",
    MULTIRATE.at("Definition 6, Section 4.1"),
    statement="Read: in the whole network. If tokens read block floor(i / P), the last symbol of a block affects the "
    "logits of all earlier symbols of the block.",
    trial=partial(_logits_trial, leaking=True),
    control=partial(_logits_trial, leaking=False),  # Block floor(i / P) - 1 read by token i.
    variant="reading",
    num_trials=8,
    note="random networks with open gates and causal slow masks, composed of the network's own parts",
)


def _held_trial(
    rounds: list[RoundStates], expected: list[np.ndarray], slow: list[np.ndarray], case: NetworkCase
) -> Trial:
    """Measure for each round at which tokens the slow variable of each token, in `slow`, changes, and what it is.

    `expected` are the slow states in NumPy.
    """
    P, n = case.config.block, case.n
    changes = [np.flatnonzero(np.any(c[1:] != c[:-1], axis=1)) + 1 for c in slow]
    read = [
        np.concatenate([np.zeros((P, c.shape[1])), np.repeat(y, P, axis=0)])[:n]
        for c, y in zip(slow, expected, strict=True)
    ]
    return Trial(
        hypotheses=(at_least("P", P, 2, tolerance=0.0), at_least("number of tokens", n, P + 1, tolerance=0.0)),
        conclusions=tuple(
            measured
            for k, at in enumerate(rounds)
            for measured in (
                at_least(
                    "least number of tokens between two changes", np.min(np.diff(changes[k]), initial=n), P, tolerance=0
                ),
                holds(
                    "it changes at the beginning of every block from the second on, and only there",
                    changes[k].tolist() == list(range(P, n, P)),
                ),
                at_most(
                    "distance from the slow state of the previous block",
                    np.max(np.abs(slow[k] - read[k])),
                    0.0,
                    tolerance=ROUNDING,
                ),
                equal("number of positions of slow attention", len(at.y), math.ceil(n / P), tolerance=0.0),
            )
        ),
        witness={"n": n, "P": P, "changes before tokens": changes},
        parameters={"n": n, "P": P, "R": len(rounds), "case": case.name},
    )


def _slow_trial(key: Key, case: NetworkCase, *, moving: bool = False) -> Trial:
    """Measure the contexts of a network, or if `moving` the means of the P tokens before each token."""
    a, b = jax.random.split(key)
    model, P = network(a, case.config), case.config.block
    found = list(stages(model, symbols(b, case.n)).rounds)
    parts = in_numpy(model).rounds
    expected = [slow_state(parts[k % len(parts)], np.asarray(at.x)) for k, at in enumerate(found)]
    slow = [_means_before(np.asarray(at.x), P) if moving else np.asarray(at.c) for at in found]
    return _held_trial(found, expected, slow, case)


def _means_before(x: np.ndarray, width: int) -> np.ndarray:
    """Return for each token the mean of the `width` tokens before it, zero if there are fewer."""
    return np.stack([np.mean(x[i - width : i], axis=0) if i >= width else 0 * x[0] for i in range(len(x))])


slow_variable_changes_once_per_block = claim(
    "multirate/proposition-22",
    MULTIRATE.at("Proposition 22"),
    statement="""
    The slow variable changes at most once every P tokens, and slow attention has at most ceil(N / P) positions.

    Read: the slow variable is the context c of each token.
    """,
    trial=partial(_slow_trial, case=GENERIC),
    # The mean of the P tokens before each token in place of that of the previous block.
    control=partial(_slow_trial, case=GENERIC, moving=True),
    num_trials=8,
    note="by construction: the context is copied to the P tokens of a block. It says how often the slow variable "
    "changes, not by how much: between blocks it may jump as far as the fast one. The claim also measures that it does "
    "change at every block, and its values. See `arrival` for a partial block",
)
