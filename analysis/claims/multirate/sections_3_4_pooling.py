"""Claims of Sections 3.2, 3.3 and 4.2: pooling, upsampling, and how often the slow variable changes.

Entries are multiples of `MULTIPLE`, so that means of up to twelve of them are integers, and float64 is exact.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from analysis.claims.multirate.instances.networks import OPEN, SMALL, Stages, network, stages, symbols
from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.multirate.numpy_forward_pass import logits
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, equal, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.networks.multirate.pooling import causal_pool, causal_upsample, leaking_upsample
from dynsim.papers import MULTIRATE

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


def blocks(key: Key, *, least: int = 1, partial: bool = False) -> Blocks:
    """Return random blocks of `least` to 12 tokens; if `partial`, the last block is shorter, of at least two tokens."""
    rng = numpy_rng(key)
    P = int(rng.integers(max(least, 3 if partial else 1), LONGEST + 1))
    n = P * int(rng.integers(1, 4)) + int(rng.integers(2 if partial else 0, P))
    return Blocks(MULTIPLE * rng.integers(-99, 100, (n, WIDTH)), P)


_pooled = jax.jit(causal_pool, static_argnames="block")  # compiled once for each shape
_upsample_previous = jax.jit(causal_upsample, static_argnames=("n", "block"))
_upsample_own = jax.jit(leaking_upsample, static_argnames=("n", "block"))


def _pool(x: np.ndarray, block: int) -> np.ndarray:
    return np.asarray(_pooled(jnp.asarray(x, jnp.float64), block=block))


def _context(upsample: Upsample, y: np.ndarray, n: int, block: int) -> np.ndarray:
    return np.asarray(upsample(jnp.asarray(y), n=n, block=block))


def _mean_trial(given: Blocks, y: np.ndarray, later: np.ndarray) -> Trial:
    """Measure that y are the block means, and that `later`, for another last token, differs in the last one at most."""
    means = given.means
    return Trial(
        hypotheses=(
            at_least("number of tokens", len(given.x), 1, tolerance=0.0),
            at_least("P", given.block, 1, tolerance=0.0),
        ),
        conclusions=(
            equal("number of pooled tokens", len(y), math.ceil(len(given.x) / given.block), tolerance=0.0),
            holds(
                "each pooled token is the mean of its block",
                [[Fraction(v) for v in row] for row in y.tolist()] == means,
            ),
            holds("none depends on a later block", bool(np.all(later[:-1] == y[:-1]))),
        ),
        witness={**given.witness(), "pooled": y / MULTIPLE},
    )


def _changed_last(x: np.ndarray) -> np.ndarray:
    """Return the tokens with the last one changed."""
    return np.concatenate([x[:-1], x[-1:] + MULTIPLE])


@claim(
    "multirate/definition-3",
    MULTIRATE.at("Definition 3", "(4)"),
    evidence="certified",
    num_trials=16,
    note="with the remark below Definition 6: a partial last block is averaged over its own tokens. A block mean "
    "depends on all tokens of the block: causality of the network is due to the upsampling",
)
def blocks_are_pooled_to_their_means(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For n tokens and every P >= 1 the pooled sequence has ceil(n / P) tokens, the means of the blocks of P.

    None depends on tokens of later blocks.
    """
    given = blocks(key)
    return _mean_trial(given, _pool(given.x, given.block), _pool(_changed_last(given.x), given.block))


@blocks_are_pooled_to_their_means.with_control
def blocks_are_pooled_to_their_means(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The partial last block divided by P, as if padded with zeros."""
    given = blocks(key, partial=True)
    padded = np.concatenate([given.x, np.zeros((-len(given.x) % given.block, WIDTH), int)])
    y = _pool(padded, given.block)
    return _mean_trial(given, y, y)


def _gain(frequency: float, block: int, pooled_by: int) -> float:
    """Return the gain of pooling for a wave of a frequency in cycles per token."""
    angles = 2 * np.pi * frequency * np.arange(block)
    wave = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return float(np.linalg.norm(_pool(wave, pooled_by)[0]))


def _filter_trial(block: int, pooled_by: int) -> Trial:
    below, above = (_gain(share / block, block, pooled_by) for share in (0.4, 0.5))
    half = math.sqrt(0.5)
    return Trial(
        hypotheses=(at_least("P", block, 2, tolerance=0.0),),
        conclusions=(
            equal("gain of a constant sequence", _gain(0.0, block, pooled_by), 1.0, tolerance=ROUNDING),
            at_least("gain at 0.4 / P", below, half, tolerance=ROUNDING),
            at_most("gain at 0.5 / P", above, half, tolerance=ROUNDING),
            at_most("gain at 1 / P", _gain(1 / block, block, pooled_by), 0.0, tolerance=ROUNDING),
        ),
        witness={"P": block},
    )


@claim(
    "multirate/definition-3/low-pass",
    MULTIRATE.at("Section 3.2, below Definition 3"),
    variant="reading",
    evidence="analytic instance",
    num_trials=8,
    note="the printed number is missing; read as 1 / (2 P) cycles per token, the Nyquist frequency of the sequence of "
    "blocks. The gain is |sin(pi f P) / (P sin(pi f))|, its half-power point 0.443 / P for large P",
)
def block_means_are_a_low_pass_filter(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Block means are a low-pass filter: gain 1 at frequency 0, half-power point between 0.4 / P and 0.5 / P."""
    block = int(jax.random.randint(key, (), 2, 65))
    return _filter_trial(block, block)


@block_means_are_a_low_pass_filter.with_control
def block_means_are_a_low_pass_filter(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The first token of each block in place of its mean."""
    return _filter_trial(int(jax.random.randint(key, (), 2, 65)), 1)


def _upsample_trial(given: Blocks, c: np.ndarray) -> Trial:
    n, P, means = len(given.x), given.block, np.array(given.means, float)
    nothing = np.zeros((min(n, P), WIDTH))
    read = np.arange(P, n) // P - 1
    return Trial(
        hypotheses=(at_least("number of tokens", n, 1, tolerance=0.0), at_least("P", P, 1, tolerance=0.0)),
        conclusions=(
            holds("the context of the first block is zero", bool(np.all(c[:P] == nothing))),
            holds("the context of a later token is the mean of the previous block", bool(np.all(c[P:] == means[read]))),
            holds("the block that is read ends before the token", bool(np.all(P * read + P - 1 < np.arange(P, n)))),
        ),
        witness=given.witness(),
    )


@claim(
    "multirate/definition-6",
    MULTIRATE.at("Definition 6", "(7)"),
    evidence="certified",
    num_trials=16,
    note="the last block is never read; a sequence of at most P tokens has zero context",
)
def tokens_get_the_block_before_theirs(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Token i gets the slow state of block floor(i / P) - 1, entirely in its past, or zero in the first block."""
    return _context_trial(blocks(key), _upsample_previous)


@tokens_get_the_block_before_theirs.with_control
def tokens_get_the_block_before_theirs(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Each token gets its own block."""
    return _context_trial(blocks(key), _upsample_own)


def _context_trial(given: Blocks, upsample: Upsample) -> Trial:
    y = _pool(given.x, given.block)
    return _upsample_trial(given, _context(upsample, y, len(given.x), given.block))


def _shift_trial(given: Blocks, upsample: Upsample) -> Trial:
    """Measure at which earlier tokens the context changes when the last token of a complete block is changed."""
    n, P = len(given.x), given.block
    last = n // P * P - 1
    changed = given.x.copy()
    changed[last] += MULTIPLE
    before, after = (_context(upsample, _pool(x, P), n, P) for x in (given.x, changed))
    moved = np.any(before != after, axis=1)
    share = (after - before)[last - 1, 0] * P == MULTIPLE
    return Trial(
        hypotheses=(
            at_least("P", P, 2, tolerance=0.0),
            at_least("number of complete blocks", n // P, 1, tolerance=0.0),
        ),
        conclusions=(
            equal("number of earlier tokens whose context changes", np.sum(moved[:last]), P - 1, tolerance=0.0),
            holds("the change of each is 1 / P of the change of the token", bool(share)),
        ),
        witness={**given.witness(), "changed token": last, "felt at": np.flatnonzero(moved)},
    )


@claim(
    "multirate/definition-6-shift",
    MULTIRATE.at("Definition 6, Section 4.1"),
    evidence="certified",
    num_trials=16,
    note="for P >= 2; with P = 1, and at the last token of a block, there is no leak; through slow layers with a "
    "causal mask the same positions are affected (`logits`)",
)
def own_block_would_leak(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If token i read block floor(i / P), the last token of a block would affect all P - 1 earlier tokens of it."""
    return _shift_trial(blocks(key, least=2), _upsample_own)


@own_block_would_leak.with_control
def own_block_would_leak(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Block floor(i / P) - 1 read by token i."""
    return _shift_trial(blocks(key, least=2), _upsample_previous)


def _logits_trial(key: Key, shift: int) -> Trial:
    """Measure whether the last symbol of block two affects earlier logits, the context being `shift` blocks back."""
    a, b = jax.random.split(key)
    model, ids, P = network(a), symbols(b), SMALL.block
    last, changed = 2 * P - 1, ids.copy()
    changed[last] = (ids[last] + 1) % SMALL.vocabulary
    gap = np.max(np.abs(logits(model, ids, shift=shift) - logits(model, changed, shift=shift)), axis=1)
    return Trial(
        hypotheses=(
            equal("gate", model.rounds[0].gate, OPEN, tolerance=0.0),
            at_least("change of the logits at the changed symbol", gap[last], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(holds("an earlier logit changes by more than rounding", bool(np.max(gap[:last]) > ROUNDING)),),
        witness={"P": P, "changed symbol": last, "change of logits": gap},
    )


@claim(
    "multirate/definition-6-shift/logits",
    MULTIRATE.at("Definition 6, Section 4.1"),
    variant="reading",
    num_trials=8,
    note="random networks with an open gate and a causal slow mask, evaluated in NumPy",
)
def own_block_would_leak_into_logits(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: in the whole network. If tokens read block floor(i / P), a symbol affects logits of earlier symbols."""
    return _logits_trial(key, 0)


@own_block_would_leak_into_logits.with_control
def own_block_would_leak_into_logits(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Block floor(i / P) - 1 read by token i."""
    return _logits_trial(key, 1)


def _held_trial(found: Stages, slow: np.ndarray, block: int) -> Trial:
    """Measure at which tokens the slow variable of each token, `slow`, changes."""
    n = len(slow)
    changes = np.flatnonzero(np.any(slow[1:] != slow[:-1], axis=1)) + 1
    interval: Measurement = at_least(
        "least number of tokens between two changes", np.min(np.diff(changes), initial=n), block, tolerance=0
    )
    return Trial(
        hypotheses=(
            at_least("P", block, 2, tolerance=0.0),
            at_least("number of changes of the slow variable", len(changes), 1, tolerance=0.0),
        ),
        conclusions=(
            interval,
            holds("it changes only at the beginning of blocks", bool(np.all(changes % block == 0))),
            at_most("number of positions of slow attention", len(found.y), math.ceil(n / block), tolerance=0.0),
        ),
        witness={"n": n, "P": block, "changes before tokens": changes},
    )


@claim(
    "multirate/proposition-22",
    MULTIRATE.at("Proposition 22"),
    num_trials=8,
    note="by construction: the context is copied to the P tokens of a block. It says how often the slow variable "
    "changes, not by how much: between blocks it may jump as far as the fast one. See `arrival` for a partial block",
)
def slow_variable_changes_once_per_block(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The slow variable changes at most once every P tokens, and slow attention has at most ceil(N / P) positions.

    Read: the slow variable is the context c of each token.
    """
    a, b = jax.random.split(key)
    found = stages(network(a), symbols(b))
    return _held_trial(found, np.asarray(found.c), SMALL.block)


@slow_variable_changes_once_per_block.with_control
def slow_variable_changes_once_per_block(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The fast variable in place of the slow one."""
    a, b = jax.random.split(key)
    found = stages(network(a), symbols(b))
    return _held_trial(found, np.asarray(found.x), SMALL.block)


@claim(
    "multirate/proposition-22/arrival",
    MULTIRATE.at("Proposition 22"),
    variant="reading",
    evidence="certified",
    num_trials=4,
    note="the pooled token of the partial last block is a running mean; no token reads it, so that with a causal slow "
    "mask the printed statement holds; with full slow attention it affects every context; no control: the printed "
    "claim, on the context, is the positive case",
)
def pooled_sequence_changes_once_per_block(key: Key, integrator: AbstractIntegrator) -> Trial:
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
    )
