"""Claims of Section 8 on coarse-graining: lumpability of Markov chains, and block means of values under attention."""

import itertools
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import scipy.sparse

from analysis.chains.dense_exponential import transition_matrix
from analysis.chains.lumping import attention_lumping, blocks_of, lumping
from analysis.claims.multirate.chain_comparisons import floats
from analysis.claims.multirate.instances.attention import weights_of
from analysis.claims.multirate.instances.chains import (
    RATES,
    Chain,
    attention,
    from_rates,
    irreducible_chain,
    is_attention,
    matrix_power,
)
from analysis.claims.multirate.instances.hard_chains import RING, WEAK
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.multirate.pooling import causal_pool
from dynsim.systems.tokens.interactions.masks import Causal

SIZES = (2, 1, 2)  # of the blocks of a chain constructed to be lumpable


def lumpable(key: Key) -> tuple[Chain, np.ndarray]:
    """Return a random chain and labels of blocks for which it is lumpable, from the rates of a smaller chain."""
    rng = numpy_rng(key, "lumpable")
    labels = np.repeat(np.arange(len(SIZES)), SIZES)
    R = matrix(rng.integers(1, 9, (len(labels), len(labels))))
    between = matrix(rng.integers(1, 9, (len(SIZES), len(SIZES))))
    member = matrix(labels == np.arange(len(SIZES))[:, None])
    shares = R / (member.T @ (member @ R))  # those of a column within a block sum to one
    rates = shares * between[np.ix_(labels, labels)]
    rates[labels[:, None] == labels] = Fraction(RATES[rng.integers(len(RATES))])
    rates[np.diag_indices(len(labels))] = Fraction(0)
    return from_rates(rates, "lumpable"), labels


def random_partition(key: Key, size: int) -> np.ndarray:
    """Return random labels of two non-empty blocks."""
    rng = numpy_rng(key, "partition")
    labels = rng.integers(0, 2, size)
    labels[rng.permutation(size)[:2]] = [0, 1]
    return labels


def blocks_are_markov(M: Exact, labels: np.ndarray) -> bool:
    """Return whether block probabilities after 1, ..., k steps depend only on the block of the initial state."""
    member = matrix(labels == np.arange(np.max(labels) + 1)[:, None])
    block_probabilities = [member @ matrix_power(M, steps) for steps in range(1, len(M) + 1)]
    pairs = [(i, j) for i, j in itertools.combinations(range(len(M)), 2) if labels[i] == labels[j]]
    return all(bool(np.all(p[:, i] == p[:, j])) for p in block_probabilities for i, j in pairs)


def _defect(sums: Exact, labels: np.ndarray) -> Fraction:
    """Return the largest difference of a row of `sums`, (blocks, k), between two states of one block."""
    pairs = [(i, j) for i, j in itertools.combinations(range(len(labels)), 2) if labels[i] == labels[j]]
    return max((max(abs(sums[:, i] - sums[:, j])) for i, j in pairs), default=Fraction(0))


def _computed_measurements(given: Chain, labels: np.ndarray) -> tuple[Measurement, ...]:
    """Measure the defects and the lumped generator that the toolkit computes, in fractions and in floats."""
    Q, found = given.generator, lumping(given.generator, labels)
    member = matrix(labels == np.arange(np.max(labels) + 1)[:, None])
    mean = member @ Q @ member.T / np.sum(member, axis=1)[None]
    scale = max(given.fastest, Fraction(1))
    rounded = [lumping(R, labels) for R in (floats(Q), scipy.sparse.csc_array(floats(Q)))]
    error = max(
        float(np.max(abs(np.asarray(given - floats(np.array(exact))))))
        for one in rounded
        for given, exact in (
            (one.ordinary_defect, found.ordinary_defect),
            (one.exact_defect, found.exact_defect),
            (one.generator, mean),
        )
    )
    return (
        holds(
            "the ordinary defect is that of rates out of states", found.ordinary_defect == _defect(member @ Q, labels)
        ),
        holds("the exact defect is that of rates into states", found.exact_defect == _defect(member @ Q.T, labels)),
        holds("the lumped generator is the mean over the states of a block", bool(np.all(found.generator == mean))),
        equal("error in floats, relative to the fastest rate", error / float(scale), 0.0, tolerance=ROUNDING),
    )


def _partition_trial(given: Chain, labels: np.ndarray, *, rows: bool = False) -> Trial:
    """Measure that the lumpability condition holds if and only if the blocks are a Markov chain, the lumped one.

    With `rows` the condition of exact lumpability, on rates into a state, is used in place of that of Kemeny and Snell.
    """
    found, t = lumping(given.generator, labels), 2 * given.half_step
    condition = (found.exact_defect if rows else found.ordinary_defect) == 0
    closed = blocks_are_markov(given.step(given.half_step), labels)
    member = matrix(labels == np.arange(np.max(labels) + 1)[:, None])
    whole, lumped = (transition_matrix(floats(np.asarray(Q)), float(t))[0] for Q in (given.generator, found.generator))
    error = float(np.max(abs(floats(member) @ whole - lumped @ floats(member)))) if closed else 0.0
    return Trial(
        hypotheses=given.measured(irreducible=False),
        conclusions=(
            holds("if the blocks are a Markov chain, the condition holds", condition or not closed),
            holds("if the condition holds, the blocks are a Markov chain", closed or not condition),
            equal("error of e^{Qt} of the lumped chain on blocks that are one", error, 0.0, tolerance=ROUNDING),
            *_computed_measurements(given, labels),
        ),
        witness={**given.witness(), "labels": labels, "the blocks are a chain": closed},
        parameters={**given.parameters(), "Markov": "yes" if closed else "no"},
    )


@certified(
    "multirate/claim-lumpability",
    # The rates into a state in place of those out of it.
    control=lambda key: _partition_trial(*lumpable(key), rows=True),
    num_trials=32,
    note="for every initial distribution; on chains that are lumpable, nearly so and not. The defects and the lumped "
    "generator of the toolkit are compared with their definitions, and with e^{Qt} on blocks. For a particular initial "
    "distribution a weaker condition suffices, see `one-start`",
)
def lumpability_requires_the_condition(key: Key) -> Trial:
    """The blocks of a partition are a Markov chain for every initial distribution if and only if any two states of a
    block have the same total rate into each other block (Kemeny and Snell).
    """
    given, labels = lumpable(key)
    kind = numpy_rng(key, "which").integers(4)
    if kind == 0:
        return _partition_trial(_nearly(given), labels)
    if kind == 1:
        return _partition_trial(RING, np.array([0, 1, 0, 1]))  # lumpable, and periodic at the step bound
    if kind == 2:
        given = irreducible_chain(key)
        labels = random_partition(key, given.size)
    return _partition_trial(given, labels)


def _nearly(given: Chain) -> Chain:
    """Return a chain with one rate larger by 10^-9, from the first state to the last."""
    Q = given.generator.copy()
    Q[-1, 0], Q[0, 0] = Q[-1, 0] + WEAK, Q[0, 0] - WEAK
    return Chain(Q, "nearly lumpable")


def _one_start_trial(key: Key) -> Trial:
    """Measure weak lumpability of three states, blocks {0, 1} and {2}, initially uniform within the blocks."""
    rng = numpy_rng(key, "one start")
    a, b, c, u = (Fraction(int(v)) for v in (rng.integers(5, 9), rng.integers(1, 5), *rng.integers(1, 5, 2)))
    R = matrix([[0, u + (a - b) / 2, c], [u, 0, c], [a, b, 0]])
    given, labels = from_rates(R), np.array([0, 0, 1])
    M, p = given.step(1 / (2 * given.fastest)), matrix([1, 1, 2]) / 4
    return Trial(
        hypotheses=(
            *given.measured(),
            holds("paths of up to five blocks have the probabilities of a Markov chain", _markov(M, labels, p)),
            holds("after paths of three blocks the distribution is uniform within the block", _uniform(M, labels, p)),
        ),
        conclusions=(holds("the condition holds", lumping(given.generator, labels).ordinary_defect == 0),),
        witness={**given.witness(), "M": M, "labels": labels, "p": p},
    )


def _restricted(M: Exact, labels: np.ndarray, p: Exact, path: tuple[int, ...]) -> Exact:
    """Return the joint probabilities of a path of blocks and the final state, (k,)."""
    q = p * (labels == path[0])
    for block in path[1:]:
        q = (M @ q) * (labels == block)
    return q


def _markov(M: Exact, labels: np.ndarray, p: Exact) -> bool:
    paths = [path for length in (3, 4, 5) for path in itertools.product((0, 1), repeat=length)]
    ends = {path: _restricted(M, labels, p, path).sum() for path in (*paths, *itertools.product((0, 1), repeat=2))}
    start = [p[labels == block].sum() for block in (0, 1)]
    step = lambda a, b: ends[a, b] / start[a]
    return all(ends[path] == ends[path[:-1]] * step(*path[-2:]) for path in paths)


def _uniform(M: Exact, labels: np.ndarray, p: Exact) -> bool:
    ends = [_restricted(M, labels, p, path) for path in itertools.product((0, 1), repeat=3)]
    return all(len(set(q[labels == block])) == 1 for q in ends for block in (0, 1))


lumpability_from_one_start_requires_the_condition = certified(
    "multirate/claim-lumpability/one-start",
    statement="""If the blocks are a Markov chain, the condition of Kemeny and Snell holds.

    Read: if they are a Markov chain for some initial distribution.
    """,
    trial=_one_start_trial,
    variant="reading",
    num_trials=8,
    note="weak lumpability: the distribution within blocks stays uniform, although states of a block have different "
    "exit rates; no control: lumpability for every initial distribution is the printed claim",
)


def _pooling_trial(key: Key, share: Fraction) -> Trial:
    """Compare pooling after a layer with the lumped layer after pooling, for random tokens and for the worst.

    The error is compared with `share` times defect / block size times the spread within blocks.
    """
    A = attention(key, causal=True, least=4)
    x = matrix(numpy_rng(key, "tokens").integers(-9, 10, len(A)))
    labels = blocks_of(len(A), 2)
    found = attention_lumping(A, labels)
    member = matrix(labels == np.arange(np.max(labels) + 1)[:, None])
    sizes = np.sum(member, axis=1)
    pool = member / sizes[:, None]
    coarse = identity(len(sizes)) + found.generator.T
    received = member @ A
    gaps = [(abs(row[i] - row[i + 1]), i) for row in received for i in range(len(A) - 1) if labels[i] == labels[i + 1]]
    worst = identity(len(A))[max(gaps)[1]]
    bounds, errors = [], []
    for tokens in (x, worst):
        spread = sum(abs(tokens - (pool @ tokens)[labels]), Fraction(0))
        bounds.append(share * found.exact_defect * spread)
        errors.append(max(abs(pool @ A @ tokens - coarse @ pool @ tokens) * sizes))
    flat = (pool @ x)[labels]
    pooled = causal_pool(jnp.asarray(floats(x)[:, None]), block=2)[:, 0]
    return Trial(
        hypotheses=(is_attention(A, Causal()), holds("the spread of the worst tokens is positive", bounds[1] > 0)),
        conclusions=(
            holds("pooling is not exact: the defect of its condition is positive", found.exact_defect > 0),
            holds("the error of random tokens is at most the bound", errors[0] <= bounds[0]),
            holds("the error of the worst tokens is the bound", errors[1] == bounds[1]),
            holds(
                "the error is zero for tokens that are equal within blocks",
                bool(np.all(pool @ A @ flat == coarse @ pool @ flat)),
            ),
            equal("error of block means", np.max(abs(np.asarray(pooled) - floats(pool @ x))), 0.0, tolerance=ROUNDING),
            weights_of(A, Causal()),
        ),
        witness={"A": A, "x": x, "defect": found.exact_defect, "errors": errors},
        parameters={"n": len(A)},
    )


block_means_are_approximate = certified(
    "multirate/claim-lumpability/pooling",
    statement="Block means of tokens under causal attention (blocks of two) do not evolve autonomously; they follow "
    "the lumped layer with an error of at most half of the defect of the partition over the block size, times the "
    "spread within blocks, the sum of the distances from block means. The constant is sharp.",
    trial=lambda key: _pooling_trial(key, Fraction(1, 2)),
    control=lambda key: _pooling_trial(key, Fraction(99, 200)),  # A constant that is smaller by one percent.
    num_trials=16,
    note="never exact for a causal layer: of the two tokens of the first block the first receives more weight. "
    "`Approximate` is read as an error bound by the defect, which is measured, and attained; block means of values "
    "belong to exact lumpability (rates into two states of a block), not to the condition of Kemeny and Snell",
)
