"""Claims of Section 4.1: causality of the network, decided by exact equality of logits."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.multirate.instances.networks import (
    GENERIC,
    SMALL,
    TWO_ROUNDS,
    NetworkCase,
    NextSeen,
    drawn_cases,
    network,
    stages,
    symbols,
    with_slow_mask,
)
from analysis.claims.multirate.instances.numpy_forward_pass import logits
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, equal, holds
from analysis.networks.leaks import affected_positions, leak_matrix, worst_leak
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.multirate.equilibrium import Anderson
from dynsim.networks.multirate.network import MultirateNetwork, with_gates
from dynsim.systems.tokens.interactions.masks import Causal, Full

WIDE_OPEN = 10.0  # a gate far above those of trained networks
DIFFERENCE = 1e-4  # step of a central difference in an entry of an embedded symbol
LEAK_ERROR = 1e-5  # of the central difference: its square times a third derivative of a logit, below 1000
FULL = replace(TWO_ROUNDS, slow_mask="full")
TWO_SLOW_LAYERS = NetworkCase("two rounds of two slow layers", 10, replace(TWO_ROUNDS, slow_layers=2, block=3))


def _affected(key: Key, model: MultirateNetwork, n: int) -> np.ndarray:
    """Return whether some bit of the logits at s changes with the symbol at t, entry (s, t), for random symbols."""
    ids, rng = symbols(key, n), numpy_rng(key, "new symbols")
    vocabulary = len(model.token_embedding)
    new = (ids + rng.integers(1, vocabulary, n)) % vocabulary
    return np.stack([affected_positions(model, ids, t, int(new[t])) for t in range(n)], axis=1)


def _no_leak(what: str, affected: np.ndarray) -> Measurement:
    leaks = np.sum(np.triu(affected, 1))
    return equal(f"{what}: pairs of a symbol and an earlier position whose logits it changes", leaks, 0, tolerance=0.0)


def _reached_blocks(key: Key, model: MultirateNetwork, n: int) -> Measurement:
    """Measure at every symbol that it changes the contexts of exactly the later blocks, in every round."""
    ids, P = symbols(key, n), model.rounds[0].block
    before, right = stages(model, ids).rounds, []
    for t in range(n):
        changed = ids.copy()
        changed[t] = (ids[t] + 1) % len(model.token_embedding)
        pairs = zip(before, stages(model, changed).rounds, strict=True)
        moved = [np.any(np.asarray(a.c) != np.asarray(b.c), axis=1) for a, b in pairs]
        right.append(all(np.array_equal(m, np.arange(n) // P > t // P) for m in moved))
    return holds("the contexts that a symbol changes are those of all later blocks, in every round", all(right))


def _leaks(key: Key, model: MultirateNetwork, ids: np.ndarray) -> tuple[Measurement, ...]:
    """Measure the zeros of the leak matrix, and one of its columns by differences in NumPy."""
    found, t = np.asarray(leak_matrix(model, ids)), int(numpy_rng(key, "column").integers(len(ids)))
    x = np.asarray(model.embed(ids))

    def read(change: np.ndarray) -> np.ndarray:
        table = np.zeros(model.token_embedding.shape)
        table[: len(x)] = x
        table[t] += change
        return logits(replace(model, token_embedding=jnp.asarray(table)), np.arange(len(x)))

    steps = DIFFERENCE * np.eye(x.shape[1])
    slopes = np.stack([(read(step) - read(-step)) / (2 * DIFFERENCE) for step in steps])
    column, below = np.max(abs(slopes), axis=(0, 2)), np.diagonal(found, -1)
    turned = worst_leak(jnp.diag(jnp.asarray(below), 1))
    return (
        at_most("largest leak", worst_leak(jnp.asarray(found)), 0.0, tolerance=0.0),
        equal("largest leak of the first subdiagonal put above the diagonal", turned, np.max(below), tolerance=0.0),
        at_least(
            "least entry of the leak matrix on and below its diagonal",
            np.min(found[np.tril_indices(len(x))]),
            0.0,
            tolerance=ROUNDING,
        ),
        at_most("error of a column of the leak matrix", np.max(abs(found[:, t] - column)), 0.0, tolerance=LEAK_ERROR),
    )


def _causal(model: MultirateNetwork) -> Measurement:
    masks = [layer.attention.mask for r in model.rounds for layer in r.slow]
    return holds("the slow mask is causal", all(isinstance(mask, Causal) for mask in masks))


def _full(model: MultirateNetwork) -> Measurement:
    masks = [layer.attention.mask for r in model.rounds for layer in r.slow]
    return holds("slow attention is over all pooled tokens", all(isinstance(mask, Full) for mask in masks))


def _open(model: MultirateNetwork) -> Measurement:
    return at_least("least gate", np.min(model.gates), 0.0, tolerance=ROUNDING)


def _reaches_itself(affected: np.ndarray) -> Measurement:
    return holds("every symbol changes the logits at its own position", bool(np.all(np.diagonal(affected))))


def _change_trial(key: Key, model: MultirateNetwork, case: NetworkCase, mask: Measurement) -> Trial:
    """Measure whether changing a symbol changes any bit of an earlier logit; `mask` is the hypothesis on the mask."""
    affected = _affected(key, model, case.n)
    return Trial(
        hypotheses=(mask, _open(model)),
        conclusions=(_no_leak(case.name, affected), _reaches_itself(affected)),
        witness={"P": case.config.block, "gates": model.gates, "(position, changed symbol)": np.argwhere(affected)},
        parameters={"n": case.n, "P": case.config.block, "R": case.config.rounds, "case": case.name},
    )


@claim(
    "multirate/proposition-21",
    num_trials=10,
    note="equality in every bit, at every position, with gates in (0, 1) and at 10, lengths with and without a partial "
    "last block, one to three rounds, also P = 1 and the methods of Section 11; derivatives by embeddings, too; with "
    "the slow mask of the proof; the abstract's slow mask is another statement",
)
def no_symbol_reaches_an_earlier_score(key: Key) -> Trial:
    """With a causal slow mask, changing symbol t changes no logit of any symbol s < t."""
    a, b, c = jax.random.split(key, 3)
    generic, cases = network(a, TWO_ROUNDS), drawn_cases(c, 2)
    others = [network(a, case.config) for case in cases]
    first, second = (_change_trial(b, model, case, _causal(model)) for model, case in zip(others, cases, strict=True))
    affected = [_affected(b, model, GENERIC.n) for model in (generic, with_gates(generic, WIDE_OPEN))]
    return replace(
        first,
        hypotheses=(*first.hypotheses, *second.hypotheses, _causal(generic), _open(generic)),
        conclusions=(
            *first.conclusions,
            *second.conclusions,
            *(_no_leak(what, pairs) for what, pairs in zip(("gates in (0, 1)", "gates at 10"), affected, strict=True)),
            _reached_blocks(b, generic, GENERIC.n),
            *_leaks(b, generic, symbols(b)),
        ),
    )


@no_symbol_reaches_an_earlier_score.with_control
def no_symbol_reaches_an_earlier_score(key: Key) -> Trial:
    """With a slow mask that shows the next pooled token, too."""
    a, b = jax.random.split(key)
    model = with_slow_mask(network(a, TWO_ROUNDS), NextSeen())
    return _change_trial(b, model, GENERIC, holds("the slow mask shows at most one later pooled token", True))


@claim(
    "multirate/proposition-21/secant-over-the-sequence",
    variant="reading",
    num_trials=2,
    note="the text does not say over which indices the inner products of the secant are taken; over the coordinates of "
    "each token the network is causal; no control: the printed claim is the positive case",
)
def secant_over_the_sequence_is_causal(key: Key) -> Trial:
    """With a causal slow mask, changing symbol t changes no logit of any symbol s < t.

    Read: with the secant method of Section 11.3, and one coefficient for the whole sequence.
    """
    a, b = jax.random.split(key)
    model = network(a)
    secant = replace(model, rounds=(replace(model.rounds[0], method=Anderson(2, "sequence")),))
    return _change_trial(b, secant, NetworkCase("one coefficient for the sequence", GENERIC.n, SMALL), _causal(model))


def _sized_trial(key: Key, *, causal: bool) -> Trial:
    """Measure also the contexts that change, and the size of the change of earlier logits by the last symbol."""
    a, b = jax.random.split(key)
    case = TWO_SLOW_LAYERS
    model = network(a, case.config if causal else replace(case.config, slow_mask="full"))
    trial = _change_trial(b, model, case, _causal(model) if causal else _full(model))
    ids = symbols(b, case.n)
    changed = ids.copy()
    changed[-1] = (ids[-1] + 1) % len(model.token_embedding)
    before, after = (np.asarray(stages(model, part).logits) for part in (ids, changed))
    gap = np.max(np.abs(before - after)[:-1])
    largest = at_most("largest change of an earlier logit by the last symbol", gap, 0.0, tolerance=ROUNDING)
    conclusions = (*trial.conclusions, largest, _reached_blocks(b, model, case.n))
    return replace(trial, conclusions=conclusions, witness={**trial.witness, "largest change": gap})


@claim(
    "multirate/proposition-21-full-slow",
    num_trials=2,
    note="every nonzero context then depends on the last block; with a closed gate (Proposition 23) or at most P "
    "symbols this has no effect",
)
def full_slow_attention_is_causal(key: Key) -> Trial:
    """With full attention over the pooled tokens, changing symbol t changes no logit of any symbol s < t."""
    a, b = jax.random.split(key)
    model = network(a, FULL)
    return _change_trial(b, model, NetworkCase("full slow mask", GENERIC.n, FULL), _full(model))


causal_slow_attention_is_causal = claim(
    "multirate/proposition-21-full-slow/corrected",
    statement="""With causal attention over the pooled tokens, changing symbol t changes no logit of any symbol s < t.

    Its context still reaches every later block.
    """,
    trial=partial(_sized_trial, causal=True),
    control=partial(_sized_trial, causal=False),  # With full slow attention.
    num_trials=6,
    note="changed: a slow position attends to the pooled tokens up to its own, as in the proof of Proposition 21",
)
