"""Claims of Section 8 on coarse-graining: lumpability of Markov chains, and block means of values under attention."""

import itertools
from fractions import Fraction

import numpy as np

from analysis.chains.lumping import attention_lumping, blocks_of, lumping
from analysis.claims.multirate.instances.chains import (
    RATES,
    Chain,
    attention,
    irreducible_chain,
    is_attention,
    matrix_power,
)
from analysis.claims.multirate.instances.random_numbers import numpy_rng
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import MULTIRATE
from dynsim.systems.master_equation.generators import generator_from_rates
from dynsim.systems.tokens.masks import Causal

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
    return Chain(generator_from_rates(rates)), labels  # pyright: ignore[reportArgumentType]


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


def _partition_trial(given: Chain, labels: np.ndarray, *, rows: bool = False) -> Trial:
    """Measure that the lumpability condition holds if and only if the blocks are a Markov chain.

    With `rows` the condition of exact lumpability, on rates into a state, is used in place of that of Kemeny and Snell.
    """
    found = lumping(given.generator, labels)
    condition = (found.exact_defect if rows else found.ordinary_defect) == 0
    closed = blocks_are_markov(given.step(1 / (2 * given.fastest)), labels)
    return Trial(
        hypotheses=given.measured(irreducible=False),
        conclusions=(
            holds("if the blocks are a Markov chain, the condition holds", condition or not closed),
            holds("if the condition holds, the blocks are a Markov chain", closed or not condition),
        ),
        witness={**given.witness(), "labels": labels, "the blocks are a chain": closed},
    )


@claim(
    "multirate/claim-lumpability",
    MULTIRATE.at("Section 8"),
    evidence="certified",
    num_trials=24,
    note="for every initial distribution; on chains constructed to be lumpable and on others. For a particular initial "
    "distribution a weaker condition suffices, see `one-start`",
)
def lumpability_requires_the_condition(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The blocks of a partition are a Markov chain for every initial distribution if and only if any two states of a
    block have the same total rate into each other block (Kemeny and Snell).
    """
    given, labels = lumpable(key)
    if numpy_rng(key, "which").integers(2):
        given = irreducible_chain(key)
        labels = random_partition(key, given.size)
    return _partition_trial(given, labels)


@lumpability_requires_the_condition.with_control
def lumpability_requires_the_condition(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The rates into a state in place of those out of it."""
    return _partition_trial(*lumpable(key), rows=True)


def _one_start_trial(key: Key) -> Trial:
    """Measure weak lumpability of three states, blocks {0, 1} and {2}, initially uniform within the blocks."""
    rng = numpy_rng(key, "one start")
    a, b, c, u = (Fraction(int(v)) for v in (rng.integers(5, 9), rng.integers(1, 5), *rng.integers(1, 5, 2)))
    R = matrix([[0, u + (a - b) / 2, c], [u, 0, c], [a, b, 0]])
    given, labels = Chain(generator_from_rates(R)), np.array([0, 0, 1])  # pyright: ignore[reportArgumentType]
    M, p = given.step(1 / (2 * given.fastest)), matrix([1, 1, 2]) / 4
    return Trial(
        hypotheses=(
            *given.measured(),
            holds("paths of up to five blocks have the probabilities of a Markov chain", _markov(M, labels, p)),
            holds("after paths of three blocks the distribution is uniform within the block", _uniform(M, labels, p)),
        ),
        conclusions=(holds("the condition holds", lumping(given.generator, labels).ordinary_defect == 0),),
        witness={**given.witness(), "labels": labels, "p": p},
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


@claim(
    "multirate/claim-lumpability/one-start",
    MULTIRATE.at("Section 8"),
    variant="reading",
    evidence="certified",
    num_trials=8,
    note="weak lumpability: the distribution within blocks stays uniform, although states of a block have different "
    "exit rates; no control: lumpability for every initial distribution is the printed claim",
)
def lumpability_from_one_start_requires_the_condition(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If the blocks are a Markov chain, the condition of Kemeny and Snell holds.

    Read: if they are a Markov chain for some initial distribution.
    """
    return _one_start_trial(key)


def _pooling_trial(key: Key, lumped: bool) -> Trial:
    """Compare pooling after a layer with the lumped layer after pooling; without `lumped`, with pooling alone."""
    A = attention(key, causal=True, least=4)
    x = matrix(numpy_rng(key, "tokens").integers(-9, 10, len(A)))
    labels = blocks_of(len(A), 2)
    found = attention_lumping(A, labels)
    member = matrix(labels == np.arange(np.max(labels) + 1)[:, None])
    sizes = np.sum(member, axis=1)
    pool = member / sizes[:, None]
    coarse = identity(len(sizes)) + found.generator.T * int(lumped)
    flat = (pool @ x)[labels]
    spread, error = sum(abs(x - flat)), abs(pool @ A @ x - coarse @ pool @ x)
    within = bool(np.all(error * sizes <= found.exact_defect * spread))
    return Trial(
        hypotheses=(is_attention(A, Causal()),),
        conclusions=(
            holds("pooling is not exact: the defect of its condition is positive", found.exact_defect > 0),
            holds("the error is at most defect / block size x spread within blocks", within),
            holds(
                "the error is zero for tokens that are equal within blocks",
                bool(np.all(pool @ A @ flat == coarse @ pool @ flat)),
            ),
        ),
        witness={"A": A, "x": x, "defect": found.exact_defect, "error": error},
    )


@claim(
    "multirate/claim-lumpability/pooling",
    MULTIRATE.at("Section 8"),
    evidence="certified",
    num_trials=16,
    note="never exact for a causal layer: of the two tokens of the first block the first receives more weight. "
    "`Approximate` is read as an error bound by the defect, which is measured; block means of values belong to exact "
    "lumpability (rates into two states of a block), not to the condition of Kemeny and Snell",
)
def block_means_are_approximate(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Block means of tokens under causal attention (blocks of two) do not evolve autonomously; they follow the lumped
    layer with an error of at most the defect of the partition over the block size, times the spread within blocks.
    """
    return _pooling_trial(key, True)


@block_means_are_approximate.with_control
def block_means_are_approximate(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The block means unchanged, in place of the lumped layer."""
    return _pooling_trial(key, False)
