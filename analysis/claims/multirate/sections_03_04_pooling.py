"""Claims of Sections 3.2, 3.3 and 4.2 on pooling, upsampling, and the slow context that a token reads.

In claims on pooling entries are multiples of `MULTIPLE`: means of up to twelve of them are integers, and float64 is
exact.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

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
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.multirate.pooling import causal_pool, causal_upsample, leaking_upsample

LONGEST = 12  # largest block size
MULTIPLE = math.lcm(*range(1, LONGEST + 1))
WIDTH = 2
Upsample = Callable[..., Array]


class Blocks(NamedTuple):
    """Integer tokens x, (n, 2), in blocks of P, of which the last one may be shorter."""

    x: np.ndarray
    block: int

    @property
    def blocks(self) -> list[np.ndarray]:
        """The tokens, block by block."""
        return [self.x[first : first + self.block] for first in range(0, len(self.x), self.block)]

    @property
    def means(self) -> list[list[Fraction]]:
        """The mean of each block, exactly."""
        return [[Fraction(int(total), len(part)) for total in np.sum(part, axis=0)] for part in self.blocks]

    def witness(self) -> dict:
        """Return the data that determine the case."""
        return {"n": len(self.x), "P": self.block, "tokens": self.x / MULTIPLE}

    def sizes(self) -> dict:
        """Return the number of tokens and P."""
        return {"n": len(self.x), "P": self.block}


EXTREME = ((1, 1), (1, 5), (4, 5), (5, 5), (6, 5), (3, 1))  # n and P: one token, less than a block, whole blocks, P = 1


def blocks(key: Key, *, least: int = 1, partial: bool = False) -> Blocks:
    """Return random blocks of `least` to 12 tokens; if `partial`, the last block is shorter, of at least two tokens."""
    rng = numpy_rng(key)
    P = int(rng.integers(max(least, 3 if partial else 1), LONGEST + 1))
    n = P * int(rng.integers(1, 4)) + int(rng.integers(2 if partial else 0, P))
    return Blocks(MULTIPLE * rng.integers(-99, 100, (n, WIDTH)), P)


def extreme_blocks(key: Key) -> Blocks:
    """Return random tokens of one of the sizes `EXTREME`."""
    rng = numpy_rng(key, "extreme")
    n, P = EXTREME[int(rng.integers(len(EXTREME)))]
    return Blocks(MULTIPLE * rng.integers(-99, 100, (n, WIDTH)), P)


_pooled = jax.jit(causal_pool, static_argnames="block")  # compiled once for each shape
_upsample_previous = jax.jit(causal_upsample, static_argnames=("n", "block"))
_upsample_own = jax.jit(leaking_upsample, static_argnames=("n", "block"))


def _pool(x: np.ndarray, block: int) -> np.ndarray:
    return np.asarray(_pooled(jnp.asarray(x, jnp.float64), block=block))


def _context(upsample: Upsample, y: np.ndarray, n: int, block: int) -> np.ndarray:
    return np.asarray(upsample(jnp.asarray(y), n=n, block=block))


def _mean_trial(*given: tuple[Blocks, np.ndarray, np.ndarray]) -> Trial:
    """Measure for each (blocks, y, later) that y are the block means, and that `later`, with another last token,
    differs in the last one at most.
    """
    first, y, _ = given[0]
    return Trial(
        hypotheses=(
            at_least("number of tokens", min(len(blocks.x) for blocks, *_ in given), 1, tolerance=0.0),
            at_least("P", min(blocks.block for blocks, *_ in given), 1, tolerance=0.0),
        ),
        conclusions=tuple(
            measured
            for blocks, y, later in given
            for measured in (
                equal("number of pooled tokens", len(y), math.ceil(len(blocks.x) / blocks.block), tolerance=0.0),
                holds(
                    "each pooled token is the mean of its block",
                    [[Fraction(v) for v in row] for row in y.tolist()] == blocks.means,
                ),
                holds("none depends on a later block", bool(np.all(later[:-1] == y[:-1]))),
            )
        ),
        witness={**first.witness(), "pooled": y / MULTIPLE},
        parameters=first.sizes(),
    )


def _pooled_twice(given: Blocks) -> tuple[Blocks, np.ndarray, np.ndarray]:
    """Return tokens, their pooled sequence, and the pooled sequence after the last token is changed."""
    return given, _pool(given.x, given.block), _pool(_changed_last(given.x), given.block)


def _changed_last(x: np.ndarray) -> np.ndarray:
    """Return the tokens with the last one changed."""
    return np.concatenate([x[:-1], x[-1:] + MULTIPLE])


@certified(
    "multirate/definition-3",
    num_trials=16,
    note="with the remark below Definition 6: a partial last block is averaged over its own tokens. A block mean "
    "depends on all tokens of the block: causality of the network is due to the upsampling",
)
def blocks_are_pooled_to_their_means(key: Key) -> Trial:
    """For n tokens and every P >= 1 the pooled sequence has ceil(n / P) tokens, the means of the blocks of P.

    None depends on tokens of later blocks.
    """
    return _mean_trial(_pooled_twice(blocks(key)), _pooled_twice(extreme_blocks(key)))


@blocks_are_pooled_to_their_means.with_control
def blocks_are_pooled_to_their_means(key: Key) -> Trial:
    """The partial last block divided by P, as if padded with zeros."""
    given = blocks(key, partial=True)
    padded = np.concatenate([given.x, np.zeros((-len(given.x) % given.block, WIDTH), int)])
    y = _pool(padded, given.block)
    return _mean_trial((given, y, y))


def _gain(frequency: float, block: int, pooled_by: int) -> float:
    """Return the gain of pooling for a wave of a frequency in cycles per token."""
    angles = 2 * np.pi * frequency * np.arange(block)
    wave = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return float(np.linalg.norm(_pool(wave, pooled_by)[0]))


def _filter_trial(key: Key, narrower: int) -> Trial:
    """Measure the gain of pooling by P - `narrower` for waves of frequencies in units of 1 / P."""
    rng = numpy_rng(key)
    P, share, half = int(rng.integers(2, 65)), float(rng.uniform(0.05, 0.95)), math.sqrt(0.5)
    pooled_by = P - narrower
    gain = lambda share: _gain(share / P, P, pooled_by)
    expected = math.sin(math.pi * share) / (P * math.sin(math.pi * share / P))
    unit = (0.0, 1.0)
    return Trial(
        hypotheses=(at_least("P", P, 2, tolerance=0.0),),
        conclusions=(
            equal("gain of a constant sequence", gain(0.0), 1.0, tolerance=ROUNDING, within=unit),
            at_least("gain at 0.4 / P", gain(0.4), half, tolerance=ROUNDING, within=unit),
            at_most("gain at 0.5 / P", gain(0.5), half, tolerance=ROUNDING, within=unit),
            equal("gain at f", gain(share), expected, tolerance=ROUNDING, within=unit),
            at_most("gain at 1 / P", gain(1.0), 0.0, tolerance=ROUNDING, within=unit),
        ),
        witness={"P": P, "f P": share},
        parameters={"P": P},
    )


block_means_are_a_low_pass_filter = claim(
    "multirate/definition-3/low-pass",
    statement="Block means are a low-pass filter: gain |sin(pi f P) / (P sin(pi f))| at frequency f, 1 at frequency "
    "0, half-power point between 0.4 / P and 0.5 / P.",
    trial=partial(_filter_trial, narrower=0),
    control=partial(_filter_trial, narrower=1),  # Means of P - 1 tokens.
    variant="reading",
    evidence="analytic instance",
    num_trials=8,
    note="the printed number is missing; read as 1 / (2 P) cycles per token, the Nyquist frequency of the sequence of "
    "blocks. The half-power point is 0.443 / P for large P",
)


def _upsample_trial(*contexts: tuple[Blocks, np.ndarray]) -> Trial:
    """Measure for each (blocks, c) that c is the mean of the block before each token's own."""
    conclusions = []
    for given, c in contexts:
        n, P, means = len(given.x), given.block, np.array(given.means, float)
        read = np.arange(P, n) // P - 1
        conclusions += [
            equal("number of tokens with a context", len(c), n, tolerance=0.0),
            holds("the context of the first block is zero", bool(np.all(c[:P] == 0))),
            holds("the context of a later token is the mean of the previous block", bool(np.all(c[P:] == means[read]))),
            holds("the block that is read ends before the token", bool(np.all(P * read + P - 1 < np.arange(P, n)))),
        ]
    first = contexts[0][0]
    return Trial(
        hypotheses=(
            at_least("number of tokens", len(first.x), 1, tolerance=0.0),
            at_least("P", first.block, 1, tolerance=0.0),
        ),
        conclusions=tuple(conclusions),
        witness=first.witness(),
        parameters=first.sizes(),
    )


tokens_get_the_block_before_theirs = certified(
    "multirate/definition-6",
    statement="Token i gets the slow state of block floor(i / P) - 1, entirely in its past, "
    "or zero in the first block.",
    trial=lambda key: _context_trial(key, _upsample_previous),
    control=lambda key: _context_trial(key, _upsample_own),  # Each token gets its own block.
    num_trials=16,
    note="the last block is never read; a sequence of at most P tokens has zero context",
)


def _context_trial(key: Key, upsample: Upsample) -> Trial:
    both = (blocks(key), extreme_blocks(key))
    return _upsample_trial(
        *((given, _context(upsample, _pool(given.x, given.block), len(given.x), given.block)) for given in both)
    )


def _shift_trial(given: Blocks, upsample: Upsample) -> Trial:
    """Measure at which tokens the context changes when the last token of a complete block is changed, and by what."""
    n, P = len(given.x), given.block
    last = n // P * P - 1
    changed = given.x.copy()
    changed[last] += MULTIPLE
    before, after = (_context(upsample, _pool(x, P), n, P) for x in (given.x, changed))
    moved = np.flatnonzero(np.any(before != after, axis=1))
    earlier = moved[moved < last]
    return Trial(
        hypotheses=(
            at_least("P", P, 2, tolerance=0.0),
            at_least("number of complete blocks", n // P, 1, tolerance=0.0),
        ),
        conclusions=(
            holds(
                "the earlier tokens whose context changes are the other P - 1 of the block",
                earlier.tolist() == list(range(last - P + 1, last)),
            ),
            holds(
                "the change of each is 1 / P of the change of the token",
                bool(np.all((after - before)[moved] * P == MULTIPLE)),
            ),
        ),
        witness={**given.witness(), "changed token": last, "felt at": moved},
        parameters=given.sizes(),
    )


own_block_would_leak = certified(
    "multirate/definition-6-shift",
    statement="If token i read block floor(i / P), the last token of a block would affect all P - 1 earlier tokens of "
    "it.",
    trial=lambda key: _shift_trial(blocks(key, least=2), _upsample_own),
    # Block floor(i / P) - 1 read by token i.
    control=lambda key: _shift_trial(blocks(key, least=2), _upsample_previous),
    num_trials=16,
    note="for P >= 2; with P = 1, and at the last token of a block, there is no leak; through slow layers with a "
    "causal mask the same positions are affected (`logits`)",
)


@certified(
    "multirate/proposition-22/arrival",
    variant="reading",
    num_trials=4,
    note="the pooled token of the partial last block is a running mean; no token reads it, so that with a causal slow "
    "mask the printed statement holds; with full slow attention it affects every context; no control: the printed "
    "claim, on the context, is the positive case",
)
def pooled_sequence_changes_once_per_block(key: Key) -> Trial:
    """Read: while tokens arrive one by one, the pooled sequence changes at most once every P tokens."""
    given = blocks(key, partial=True)
    y, earlier = _pool(given.x, given.block), _pool(given.x[:-1], given.block)
    return Trial(
        hypotheses=(
            at_least("P", given.block, 3, tolerance=0.0),
            at_least("number of tokens in the partial block", len(given.x) % given.block, 2, tolerance=0.0),
            holds("the new token is not the mean of the others", bool(np.any(given.x[-1] != earlier[-1]))),
        ),
        conclusions=(holds("the pooled sequence does not change within a block", bool(np.all(y == earlier))),),
        witness={**given.witness(), "before": earlier[-1] / MULTIPLE, "after": y[-1] / MULTIPLE},
        parameters=given.sizes(),
    )


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
