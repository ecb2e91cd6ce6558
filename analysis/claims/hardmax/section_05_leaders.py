"""Claims of Section 5: leaders exist, remain and do not move, may appear late, and correspond to vertices of K."""

import itertools
from dataclasses import replace
from fractions import Fraction

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    certified_run,
    certified_trial,
    is_subset,
    trial_with_twins,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.clouds import LAYERS, ClusteringCase, case, defined_sets, run, squared_norms
from analysis.claims.hardmax.instances.zoo import hard_case, late_leaders, polygon, posed, uneven_tie
from analysis.claims.hardmax.section_01_theorem import attained_limits
from analysis.claims.rational_instances import Exact, identity, matrix
from analysis.hardmax.leaders import leader_layers, leader_layers_by_value
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._core.types import Key
from dynsim.exact import rational, rationals
from dynsim.systems.hardmax.examples import ALPHA, EXAMPLE_5_2
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap

EXAMPLE_SETS = (
    [[1], [2], [2]],
    [[0], [2], [2]],
)  # follower sets of layers 0 and 1 as printed, with tokens numbered from 0
EXAMPLE_LAYER_1 = (("-2/3", "5/3"), (4, "10/3"), (12, 4))


def _leaders_trial(given: ClusteringCase, *, degenerate: bool = False) -> Trial:
    map = given.degenerate_map if degenerate else given.map
    states = run(map, given.tokens)
    norms = squared_norms(given.tokens, given.attention)
    longest = [i for i, norm in enumerate(norms) if norm == max(norms)]
    first_layers = leader_layers(map, states)
    return Trial(
        hypotheses=given.measured(),
        conclusions=(
            holds(f"some token is a leader within {LAYERS} layers", bool(np.any(first_layers >= 0))),
            holds("every token of largest norm is a leader at layer 0", all(first_layers[i] == 0 for i in longest)),
            holds("`hypotheses` tells which of them fail", _hypotheses_are_told(given)),
        ),
        witness=given.witness(),
        parameters=given.parameters(),
    )


def _hypotheses_are_told(given: ClusteringCase) -> bool:
    """Return whether `hypotheses` finds each that fails: of alpha, and of A, not definite or not symmetric."""
    A, x, skew = given.attention, given.tokens, 0 * given.attention
    skew[0, 1], skew[1, 0] = Fraction(1, 3), Fraction(-1, 3)
    tries = (
        (ExactHardmaxMap(given.alpha, A + skew), {"symmetric"}),  # with the symmetric part A, which is definite
        (ExactHardmaxMap(given.alpha, -A), {"definite"}),
        (given.degenerate_map, {"definite"}),
        (ExactHardmaxMap(0, A), {"positive_step"}),
        (ExactHardmaxMap(-given.alpha / 3, A), {"positive_step"}),
        (ExactHardmaxMap(given.alpha, -A - skew), {"symmetric", "definite"}),
        (ExactHardmaxMap(given.alpha), set()),
    )
    return all({name for name, met in vars(hypotheses(map, x)).items() if not met} == fail for map, fail in tries)


@certified("hardmax/theorem-1.1-leaders-exist", num_trials=32)
def some_token_is_a_leader(key: Key) -> Trial:
    """For distinct nonzero initial tokens, A symmetric positive definite and alpha > 0 there is a leader: a token with
    C_i = {i} at some layer. The tokens of largest A-norm are leaders at layer 0.
    """
    return _leaders_trial(case(key))


@some_token_is_a_leader.with_control
def some_token_is_a_leader(key: Key) -> Trial:
    """A semidefinite matrix in place of A, and tokens in pairs that differ by an element of its kernel."""
    return _leaders_trial(case(key).mirrored, degenerate=True)


def _index_trial(given: ClusteringCase, *, doubled: bool = False) -> Trial:
    """Measure the hypotheses on `given`, and whether there are leaders among its tokens, or those taken twice."""
    tokens = given.doubled if doubled else given
    first_layers = leader_layers(tokens.map, run(tokens.map, tokens.tokens))
    return Trial(
        hypotheses=given.measured(),
        conclusions=(holds(f"some token is a leader within {LAYERS} layers", bool(np.any(first_layers >= 0))),),
        witness=tokens.witness(),
        parameters=given.parameters(),
    )


leaders_exist = certified(
    "hardmax/lemma-5.1-i",
    statement="For distinct nonzero initial tokens, A = I and alpha > 0, the set of leaders is not empty.",
    trial=lambda key: _index_trial(case(key).with_identity),
    control=lambda key: _index_trial(case(key).with_identity, doubled=True),  # Every token repeated.
    num_trials=16,
    note="depends on the tokens being distinct, as assumed throughout: equal tokens follow each other, see `by-value`",
)


def _value_trial(key: Key, given: ClusteringCase, *, degenerate: bool = False) -> Trial:
    """Measure leaders by value among repeated tokens, and the certificate of a case with one repeated token in ties."""
    map, tied = given.degenerate_map if degenerate else given.map, uneven_tie(key)
    end = certified_run(tied)
    if isinstance(end, Trial):
        return end
    states = run(map, given.tokens)
    first_layers = leader_layers_by_value(map, states)
    by_value = leader_layers_by_value(tied.map, end.path)
    same = bool(np.all(by_value == end.certificate.leader_layers_by_value))
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
            holds("equal tokens have the same first layer", _same_for_equals(given, first_layers)),
            holds("these layers are those of the definition", first_layers.tolist() == _layers_by_value(states, map)),
            holds("`hypotheses` tells that tokens are repeated", not hypotheses(map, given.tokens).distinct),
            holds("the certificate finds the leaders by value", same),
            *end.agreement(),
        ),
        witness=given.witness(),
        parameters=given.parameters(),
    )


def _layers_by_value(states: list[Exact], map: ExactHardmaxMap) -> list[int]:
    """Return for each token the first layer at which all members of C_i equal it, -1 if there is none."""
    A = identity(states[0].shape[1]) if map.rule.attention is None else map.rule.attention
    alone = [[all(all(x[j] == x[i]) for j in s) for i, s in enumerate(defined_sets(x, A))] for x in states]
    return [next((k for k, row in enumerate(alone) if row[i]), -1) for i in range(len(states[0]))]


def _same_for_equals(given: ClusteringCase, layers: np.ndarray) -> bool:
    return all(
        layers[i] == layers[j]
        for i, z in enumerate(given.tokens)
        for j, w in enumerate(given.tokens[:i])
        if np.all(z == w)
    )


@certified("hardmax/lemma-5.1-i/by-value", variant="reading", num_trials=16)
def leading_values_exist(key: Key) -> Trial:
    """Read for tokens that may be equal: at some layer there is a token that follows only tokens equal to itself.

    For every symmetric positive definite A and alpha > 0.
    """
    return _value_trial(key, case(key).doubled)


@leading_values_exist.with_control
def leading_values_exist(key: Key) -> Trial:
    """A semidefinite matrix in place of A, and tokens in pairs that differ by an element of its kernel."""
    return _value_trial(key, case(key).mirrored.doubled, degenerate=True)


def _permanence_trial(cases: dict[str, ClusteringCase], *, alone: bool = True) -> Trial:
    """Measure whether tokens with C_i = {i} remain such and do not move; with i in C_i only, unless `alone`."""
    met, stay, rest, defined = [], [], [], []
    for name, given in cases.items():
        states = run(given.map, given.tokens)
        sets = [given.map.follower_sets(x) for x in states]
        masks = [f.leaders if alone else np.array([i in c for i, c in enumerate(f.lists())]) for f in sets]
        steps = list(zip(masks, masks[1:], states, states[1:], strict=False))
        met += [
            *given.measured("symmetric", "definite", "positive_step"),
            holds(f"{name}: some token is a leader before the last layer", bool(np.any(masks[:-1]))),
        ]
        stay.append(all(np.all(after[now]) for now, after, _, _ in steps))
        rest.append(all(np.all(x[now] == y[now]) for now, _, x, y in steps))
        own = [[c == [i] for i, c in enumerate(defined_sets(x, given.attention))] for x in states]
        defined.append(all(f.leaders.tolist() == row for f, row in zip(sets, own, strict=True)))
    return Trial(
        hypotheses=tuple(met),
        conclusions=(
            holds("a leader remains a leader", all(stay)),
            holds("a leader does not move", all(rest)),
            holds("the leaders of every layer are those of Definition 1.1", all(defined)),
            *(_stay_for_any_matrix(given, alone=alone) for given in cases.values()),
        ),
        witness={name: given.witness() for name, given in cases.items()},
        parameters=next(iter(cases.values())).parameters(" and ".join(cases)),
    )


def _stay_for_any_matrix(given: ClusteringCase, *, alone: bool) -> Measurement:
    """Measure the same for an indefinite A that is not symmetric, and tokens of which one leads and two are equal."""
    d, x = len(given.factor), given.tokens
    A = matrix(np.diag([1] + [-1] * (d - 1)) + 2 * np.triu(np.ones((d, d), int), 1)) if d > 1 else matrix([[1]])
    reach = 1 + max(sum(abs(A[0] @ z) for z in x), sum(abs(z).sum() for z in x))
    far = matrix(np.zeros((1, d), int))
    far[0, 0] = 4 * reach
    map, tokens = ExactHardmaxMap(given.alpha, A), np.concatenate([x, far, x[:1]])
    states = run(map, tokens)
    own = [defined_sets(z, A) for z in states]
    led = [[c == [i] if alone else i in c for i, c in enumerate(sets)] for sets in own]
    kept = all(
        after[i] and np.all(y[i] == z[i])
        for now, after, y, z in zip(led, led[1:], states, states[1:], strict=False)
        for i in np.flatnonzero(now)
    )
    told = all(
        map.follower_sets(z).leaders.tolist() == [c == [i] for i, c in enumerate(sets)]
        for z, sets in zip(states, own, strict=True)
    )
    return holds("the same for any A and repeated tokens", bool(kept and told and led[0][len(x)]))


@certified(
    "hardmax/lemma-5.1-ii",
    num_trials=32,
    note="needs neither distinct tokens nor a definite or symmetric A, which is measured too; on leaders at layer 0 "
    "and on later ones",
)
def leaders_stay(key: Key) -> Trial:
    """If C_i(Z^k) = {i}, then z_i^l = z_i^k and C_i(Z^l) = {i} for all l >= k.

    In each trial one case has a leader that appears after layer 0.
    """
    a, b, c = jax.random.split(key, 3)
    name, hard = hard_case(b)
    return _permanence_trial({"cloud": case(a), name: hard, "late leaders": late_leaders(c)})


@leaders_stay.with_control
def leaders_stay(key: Key) -> Trial:
    """Tokens with i in C_i in place of C_i = {i}: one is in a tie with a longer token, and moves."""
    tokens = matrix([[1, 0], [1, 1], [-1, Fraction(1, 3)]])
    return _permanence_trial({"tie": posed(key, tokens, Fraction(1, 2))}, alone=False)


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


@certified("hardmax/example-5.2", num_trials=1)
def example_has_a_late_leader(key: Key) -> Trial:
    """For A = I and alpha = 1/2, z_1 = (-1, 1), z_2 = (0, 3), z_3 = (12, 4) have C_1 = {2} and C_2 = C_3 = {3}; one
    layer later they are (-2/3, 5/3), (4, 10/3), (12, 4), with C_1 = {1} and C_2 = C_3 = {3}.

    In every order of the tokens.
    """
    return _example_trial(Fraction(ALPHA))


@example_has_a_late_leader.with_control
def example_has_a_late_leader(key: Key) -> Trial:
    """A step of alpha = 2."""
    return _example_trial(Fraction(2))


def _only_if(run: CertifiedRun) -> tuple[Measurement, ...]:
    ends = run.certificate.limits[run.leaders]
    return (is_subset("every limit of a leader is a vertex of K", ends, run.vertices),)


def _if_attained(run: CertifiedRun) -> tuple[Measurement, ...]:
    return (_are_leaders(run, _attaining(run)),)


def _finite(run: CertifiedRun) -> tuple[Measurement, ...]:
    return (*_only_if(run), attained_limits(run))


def _every_vertex(run: CertifiedRun) -> tuple[Measurement, ...]:
    """Measure whether every vertex is the value of a leader at the layer at which that token becomes a leader."""
    first = run.certificate.leader_layers
    led = {tuple(run.states(int(first[i]))[-1][i]) for i in run.leaders}
    return (holds("every vertex of K is the value of a leader", run.vertices <= led),)


def _at_vertex(run: CertifiedRun, i: int) -> bool:
    return tuple(run.certificate.limits[i]) in run.vertices


def _attaining(run: CertifiedRun) -> list[int]:
    """Return the tokens that are at a vertex in the layer of the certificate; the others never attain theirs."""
    final = run.states(run.certificate.num_layers)[-1]
    return [i for i in range(len(final)) if _at_vertex(run, i) and bool(np.all(final[i] == run.certificate.limits[i]))]


def _are_leaders(run: CertifiedRun, tokens: list[int]) -> Measurement:
    return holds("every such token is a leader", all(run.certificate.leader_layers[i] >= 0 for i in tokens))


@certified("hardmax/proposition-5.3-only-if", num_trials=12, note=CERTIFIED)
def limits_of_leaders_are_vertices(key: Key) -> Trial:
    """If a token is a leader, its limit is a vertex of K. In each trial one leader appears after layer 0."""
    return certified_trial(with_late_leaders(key), _only_if)


@limits_of_leaders_are_vertices.with_control
def limits_of_leaders_are_vertices(key: Key) -> Trial:
    """All tokens in place of leaders, including those whose limit is the midpoint of a side."""
    all_limits = lambda run: (is_subset("every limit is a vertex of K", run.certificate.limits, run.vertices),)
    return certified_trial({"polygon": polygon(key)}, all_limits)


@certified(
    "hardmax/proposition-5.3-if",
    num_trials=1,
    note="two tokens on a line: the inner one follows the outer one at every layer and converges to it, but is never a "
    "leader; the proof shows that a vertex is the limit of some leader, not that every token that converges to it is "
    "one",
)
def tokens_that_tend_to_vertices_are_leaders(key: Key) -> Trial:
    """If the limit of a token is a vertex of K, the token is a leader."""
    given = ClusteringCase(matrix([[1], [2]]), identity(1), rational("alpha", ALPHA))
    trial = certified_trial(
        {"two tokens": given},
        lambda run: (_are_leaders(run, [i for i in range(len(run.certificate.limits)) if _at_vertex(run, i)]),),
    )
    return replace(trial, witness={**given.witness(), "layers": 8})


tokens_that_attain_vertices_are_leaders = certified(
    "hardmax/proposition-5.3-if/corrected",
    statement="""If a token attains a vertex of K in finitely many layers, the token is a leader.

    In each trial one leader appears after layer 0.
    """,
    trial=lambda key: certified_trial(with_late_leaders(key), _if_attained),
    # One token of largest norm given twice: both attain the vertex and follow each other.
    control=lambda key: trial_with_twins(key, _if_attained),
    num_trials=12,
    note="added: the token attains the vertex in finitely many layers; the proof of Theorem 1.1 uses the proposition "
    "only to identify the vertices with the limits of leaders, which lemma-5.4 and lemma-5.5 show",
)


@certified("hardmax/lemma-5.4", num_trials=12, note=CERTIFIED)
def leaders_attain_vertices(key: Key) -> Trial:
    """If a token is a leader, it attains a vertex of K in finitely many layers: at the layer where C_i = {i}.

    In each trial one leader appears after layer 0.
    """
    return certified_trial(with_late_leaders(key), _finite)


@leaders_attain_vertices.with_control
def leaders_attain_vertices(key: Key) -> Trial:
    """All tokens whose limit is a vertex in place of leaders."""

    def attain(run: CertifiedRun) -> tuple[Measurement, ...]:
        followers = [i for i in range(len(run.certificate.limits)) if _at_vertex(run, i)]
        return (holds("every such token attains the vertex", set(followers) <= set(_attaining(run))),)

    return certified_trial(with_late_leaders(key), attain)


@certified("hardmax/lemma-5.5", num_trials=12, note=CERTIFIED)
def every_vertex_is_a_leader(key: Key) -> Trial:
    """If v is a vertex of K, there are a leader z_i and a layer k with v = z_i^k.

    In each trial one leader appears after layer 0.
    """
    return certified_trial(with_late_leaders(key), _every_vertex)


@every_vertex_is_a_leader.with_control
def every_vertex_is_a_leader(key: Key) -> Trial:
    """One token of largest norm given twice: no leader is at that vertex."""
    return trial_with_twins(key, _every_vertex)
