"""Claims of Section 5.1: leaders exist, remain leaders and do not move; a token may become a leader after layer 0."""

import itertools
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.clouds import LAYERS, Case, case, run, squared_norms
from analysis.claims.rational_instances import matrix, rational_matrix
from analysis.hardmax.leaders import leader_layers, leader_layers_by_value
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Trial, holds
from dynsim._types import Key
from dynsim.exact import rationals
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.base import AbstractMap
from dynsim.systems.hardmax.examples import ALPHA, EXAMPLE_5_2
from dynsim.systems.hardmax.maps import ExactHardmaxMap

EXAMPLE_SETS = (
    [[1], [2], [2]],
    [[0], [2], [2]],
)  # follower sets of layers 0 and 1 as printed, with tokens numbered from 0
EXAMPLE_LAYER_1 = (("-2/3", "5/3"), (4, "10/3"), (12, 4))


def _leaders_trial(given: Case, map: ExactHardmaxMap) -> Trial:
    states = run(map, given.tokens)
    norms = squared_norms(given.tokens, given.attention)
    longest = [i for i, norm in enumerate(norms) if norm == max(norms)]
    first_layers = leader_layers(map, states)
    return Trial(
        hypotheses=given.measured(),
        conclusions=(
            holds(f"some token is a leader within {LAYERS} layers", bool(np.any(first_layers >= 0))),
            holds("every token of largest norm is a leader at layer 0", all(first_layers[i] == 0 for i in longest)),
        ),
        witness=given.witness(),
    )


@claim("hardmax/theorem-1.1-leaders-exist", HARDMAX.at("Theorem 1.1"), evidence="certified", num_trials=32)
def some_token_is_a_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For distinct nonzero initial tokens, A symmetric positive definite and alpha > 0 there is a leader: a token with
    C_i = {i} at some layer. The tokens of largest A-norm are leaders at layer 0.
    """
    given = case(key)
    return _leaders_trial(given, given.map)


@some_token_is_a_leader.with_control
def some_token_is_a_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """-A in place of A, for a set of tokens that contains the negative of each token."""
    given = case(key).with_negatives
    return _leaders_trial(given, given.negated_map)


def _index_trial(given: Case, tokens: Case) -> Trial:
    """Measure the hypotheses on `given`, and whether there are leaders among `tokens`."""
    first_layers = leader_layers(tokens.map, run(tokens.map, tokens.tokens))
    return Trial(
        hypotheses=given.measured(),
        conclusions=(holds(f"some token is a leader within {LAYERS} layers", bool(np.any(first_layers >= 0))),),
        witness=tokens.witness(),
    )


@claim(
    "hardmax/lemma-5.1-i",
    HARDMAX.at("Lemma 5.1 (i)"),
    evidence="certified",
    num_trials=16,
    note="depends on the tokens being distinct, as assumed throughout: equal tokens follow each other, see `by-value`",
)
def leaders_exist(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For distinct nonzero initial tokens, A = I and alpha > 0, the set of leaders is not empty."""
    given = case(key).with_identity
    return _index_trial(given, given)


@leaders_exist.with_control
def leaders_exist(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token repeated."""
    given = case(key).with_identity
    return _index_trial(given, given.doubled)


def _value_trial(given: Case, map: ExactHardmaxMap) -> Trial:
    first_layers = leader_layers_by_value(map, run(map, given.tokens))
    repeated = len({tuple(z) for z in given.tokens}) < len(given.tokens)
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite", "positive_step"),
            holds("some tokens are equal", repeated),
        ),
        conclusions=(
            holds(
                f"some token follows only tokens equal to it within {LAYERS} layers", bool(np.any(first_layers >= 0))
            ),
        ),
        witness=given.witness(),
    )


@claim(
    "hardmax/lemma-5.1-i/by-value",
    HARDMAX.at("Lemma 5.1 (i)"),
    variant="reading",
    evidence="certified",
    num_trials=16,
)
def leading_values_exist(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read for tokens that may be equal: at some layer there is a token that follows only tokens equal to itself.

    For every symmetric positive definite A and alpha > 0.
    """
    given = case(key).doubled
    return _value_trial(given, given.map)


@leading_values_exist.with_control
def leading_values_exist(key: Key, integrator: AbstractIntegrator) -> Trial:
    """-A in place of A, for a set of tokens that contains the negative of each token."""
    given = case(key).with_negatives.doubled._replace(
        alpha=Fraction(1, 2)
    )  # a step too short for all tokens to meet at the origin
    return _value_trial(given, given.negated_map)


def _with_late_leader(key: Key) -> Case:
    """Return the scaled tokens of Example 5.2 with alpha = 1/2, and further tokens of small norm."""
    scale = 1 + abs(rational_matrix(key, 1)[0])
    others = rational_matrix(jax.random.fold_in(key, 1), 4, 2) / 4
    tokens = scale * np.concatenate([rationals("tokens", np.array(EXAMPLE_5_2, object)), others])
    given = case(key)
    return given._replace(tokens=tokens, factor=matrix(np.eye(2, dtype=int)), alpha=Fraction(ALPHA))


def _overtaking(key: Key) -> Case:
    """Return a leader and a token that crosses the leader's hyperplane <z - z_1, z_1> = 0 if alpha is negative."""
    scale = 1 + abs(rational_matrix(key, 1)[0])
    tokens = scale * matrix([[1, 0], [Fraction(9, 10), 1], [Fraction(1, 2), 5]])
    return case(key)._replace(tokens=tokens, factor=matrix(np.eye(2, dtype=int)), alpha=Fraction(1))


def _permanence_trial(given: Case, map: AbstractMap) -> Trial:
    states = run(map, given.tokens)
    masks = [given.map.follower_sets(x).leaders for x in states]
    steps = list(zip(masks, masks[1:], states, states[1:], strict=False))
    return Trial(
        hypotheses=(
            *given.measured("symmetric", "definite", "positive_step"),
            holds("some token is a leader before the last layer", bool(np.any(masks[:-1]))),
        ),
        conclusions=(
            holds("a leader remains a leader", all(np.all(after[now]) for now, after, _, _ in steps)),
            holds("a leader does not move", all(np.all(x[now] == y[now]) for now, _, x, y in steps)),
        ),
        witness=given.witness(),
    )


@claim(
    "hardmax/lemma-5.1-ii",
    HARDMAX.at("Lemma 5.1 (ii)"),
    evidence="certified",
    num_trials=32,
    note="needs neither distinct tokens nor a definite A; measured on leaders at layer 0 and on later ones",
)
def leaders_stay(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If C_i(Z^k) = {i}, then z_i^l = z_i^k and C_i(Z^l) = {i} for all l >= k."""
    given = _with_late_leader(key) if int(jax.random.randint(key, (), 0, 2)) else case(key)
    return _permanence_trial(given, given.map)


@leaders_stay.with_control
def leaders_stay(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A step of alpha = -1/3: tokens move away from those that they follow."""
    given = _overtaking(key)
    return _permanence_trial(given, ExactHardmaxMap(Fraction(-1, 3)))


def _example_trial(alpha: Fraction) -> Trial:
    """Compare, for every order of the three tokens, follower sets and values with those printed, renumbered."""
    printed, after = (rationals("tokens", np.array(rows, object)) for rows in (EXAMPLE_5_2, EXAMPLE_LAYER_1))
    map = ExactHardmaxMap(alpha)
    values, sets, leaders = [], [], []
    for order in itertools.permutations(range(3)):
        states = run(map, printed[list(order)], 1)
        values.append(np.all(states[1] == after[list(order)]))
        for k, x in enumerate(states):
            found = map.follower_sets(x).lists()
            renamed = [[order[j] for j in found[order.index(i)]] for i in range(3)]
            sets.append(renamed == EXAMPLE_SETS[k])
            leaders.append([i for i in range(3) if renamed[i] == [i]] == [[2], [0, 2]][k])
    return Trial(
        hypotheses=(holds("three tokens in the plane", printed.shape == (3, 2)),),
        conclusions=(
            holds("the tokens of layer 1 are (5.5)", all(values)),
            holds("the follower sets of layers 0 and 1 are those printed", all(sets)),
            holds("the leaders are z_3 at layer 0, and z_1 and z_3 at layer 1", all(leaders)),
        ),
        witness={"tokens": printed, "alpha": alpha},
    )


@claim("hardmax/example-5.2", HARDMAX.at("Example 5.2", "(5.4), (5.5)"), evidence="certified", num_trials=1)
def example_has_a_late_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For A = I and alpha = 1/2, z_1 = (-1, 1), z_2 = (0, 3), z_3 = (12, 4) have C_1 = {2} and C_2 = C_3 = {3}; one
    layer later they are (-2/3, 5/3), (4, 10/3), (12, 4), with C_1 = {1} and C_2 = C_3 = {3}.

    In every order of the tokens.
    """
    return _example_trial(Fraction(ALPHA))


@example_has_a_late_leader.with_control
def example_has_a_late_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A step of alpha = 2."""
    return _example_trial(Fraction(2))
