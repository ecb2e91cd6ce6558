"""Claims of Section 1.3 on metastable states: clusters that are stationary for long and then merge."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.hardmax.instances.clouds import ClusteringCase, cloud, run
from analysis.claims.hardmax.instances.zoo import tied_followers
from analysis.claims.rational_instances import identity, integers, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import NON_NEGATIVE, Measurement, Trial, at_least, holds
from dynsim._core.types import Key
from dynsim.simulation.simulate import iterate
from dynsim.systems.hardmax.maps import SoftmaxMap

NEAR = Fraction(1, 64)  # the largest diameter of a cluster, and displacement in a layer that counts as stationary
APART = Fraction(1, 2)  # the least distance between two clusters
STEP = Fraction(1, 2)  # the least alpha of the repaired claims: with a small one every token moves slowly


class StationaryInterval(NamedTuple):
    """Layers `first` to `last` of `states` in which tokens are nearly stationary in the same clusters, `groups`."""

    states: Sequence[Any]
    first: int
    last: int
    groups: list[list[int]]

    @property
    def merged(self) -> list[tuple[list[int], list[int]]]:
        """The pairs of clusters whose tokens are all within `NEAR` of each other in the last state."""
        x = self.states[-1]
        near = lambda members: all(square(x[i] - x[j]) <= NEAR**2 for i in members for j in members)
        return [(g, h) for k, g in enumerate(self.groups) for h in self.groups[:k] if near(g + h)]

    def measured(self, layers: int) -> tuple[Measurement, ...]:
        """Measure that there are at least two clusters, stationary for at least `layers` layers."""
        return (
            at_least("number of clusters", len(self.groups), 2, tolerance=0.0, within=NON_NEGATIVE),
            at_least(
                "layers for which they are stationary",
                self.last - self.first,
                layers,
                tolerance=0.0,
                within=NON_NEGATIVE,
            ),
        )


def square(v: Any) -> Any:
    """Return the squared length of a vector."""
    return v @ v


def longest_stationary_interval(states: Sequence[Any]) -> StationaryInterval:
    """Return the longest interval of layers in which no token moves by more than `NEAR` and the clusters do not change.

    There must be at least two clusters.
    """
    found, current = StationaryInterval(states, 0, 0, []), StationaryInterval(states, 0, 0, [])
    for k, (x, y) in enumerate(zip(states, states[1:], strict=False)):
        groups = clusters(x) if all(square(v) <= NEAR**2 for v in y - x) else []
        current = StationaryInterval(states, current.first if groups == current.groups else k, k + 1, groups)
        if len(groups) > 1 and current.last - current.first > found.last - found.first:
            found = current
    return found


def clusters(x: Any) -> list[list[int]]:
    """Return the clusters of tokens, as lists of indices; none if a distance lies between `NEAR` and `APART`."""
    groups: list[list[int]] = []
    for i in range(len(x)):
        home = next((g for g in groups if square(x[i] - x[g[0]]) <= NEAR**2), None)
        groups.append([i]) if home is None else home.append(i)
    of = {i: k for k, g in enumerate(groups) for i in g}
    pairs = [(i, j) for i in of for j in range(i)]
    bound = lambda i, j: square(x[i] - x[j]) <= NEAR**2 if of[i] == of[j] else square(x[i] - x[j]) >= APART**2
    return groups if all(bound(i, j) for i, j in pairs) else []


def _drawn(key: Key) -> tuple[Fraction, int]:
    """Return a random step alpha and number of layers."""
    step, layers = (int(v) for v in integers(key, (2,), 0, 3))
    return (Fraction(1, 2), Fraction(1), Fraction(2))[step], (16, 32, 64)[layers]


@certified(
    "hardmax/claim-no-metastability",
    num_trials=4,
    note="refuted by two clusters that merge after having been stationary for arbitrarily many layers, about "
    "log(1/e) / log(1 + alpha) if the score of the leader followed later is larger by e. Such states rest on exact "
    "ties, which almost no initial tokens have, see `one-follower`, and clusters never merge into a single point, see "
    "`single-point`; no control: these two are measured by the same functions",
)
def standing_clusters_do_not_merge(key: Key) -> Trial:
    """There are no metastable states: for all distinct nonzero initial tokens, A symmetric positive definite and
    alpha > 0, clusters that have formed do not merge later.

    Read: a cluster is a set of tokens within 1/64 of each other and at least 1/2 from all others; clusters have formed
    when for N layers no token moves by more than 1/64, with N = 16, 32, 64 here and any N in the construction; two
    clusters have merged when all their tokens are within 1/64 of each other.
    """
    alpha, layers = _drawn(key)
    given = tied_followers(alpha, layers)
    states = run(given.map, given.tokens, layers + 60)
    found = longest_stationary_interval(states[: layers + 16])._replace(states=states)  # before the tokens have merged
    return Trial(
        hypotheses=(*given.measured(), *found.measured(layers)),
        conclusions=(holds("no two clusters have merged later", not found.merged),),
        witness={
            **given.witness(),
            "formed": [found.first, found.last],
            "clusters": found.groups,
            "merged": len(found.states) - 1,
            "clusters then": clusters(found.states[-1]),
            "within": NEAR,
            "apart": APART,
        },
        parameters={**given.parameters("waiting followers"), "layers": layers},
    )


def _random_case(key: Key) -> ClusteringCase:
    """Return tokens in general position: random fractions with small random perturbations."""
    a, b, c = jax.random.split(key, 3)
    noise = matrix(integers(b, (8, 3), -999, 1000)) / 100_003
    x = 2 * cloud(a, 3, 0)
    return ClusteringCase(x + noise[: len(x)], identity(3), _drawn(c)[0])


def _two_pairs(key: Key) -> ClusteringCase:
    """Return two pairs of nearby tokens in orthogonal directions, for the softmax controls in floating point."""
    size = 1 + int(jax.random.randint(key, (), 0, 8)) * Fraction(1, 1000)
    rows = [[size, size], [size - Fraction(1, 100), size], [size, -size], [size - Fraction(1, 128), -size]]
    return ClusteringCase(matrix(rows), identity(2), Fraction(1))


def softmax_layers(map: SoftmaxMap, given: ClusteringCase) -> list[np.ndarray]:
    """Return layers 0 to 300 of the softmax map, in floating point."""
    path = iterate(map, jnp.asarray(given.tokens.astype(float)), 300)
    return list(np.asarray(path.ys))


def _slow_pair(key: Key) -> ClusteringCase:
    """Return two pairs of tokens, of which one has the only leader, that move by less than 1/64 in a layer."""
    step = int(jax.random.randint(key, (), 0, 8))
    rows = [[1, 0], [1 - Fraction(1, 128), 0], [Fraction(1, 4), 0], [Fraction(1, 4), Fraction(1, 256)]]
    return ClusteringCase(matrix(rows), identity(2), Fraction(1, 80 + step))


def _leaders_trial(
    given: ClusteringCase, *, single: bool, soft: SoftmaxMap | None = None, layers: int = 60, any_step: bool = False
) -> Trial:
    """Measure whether clusters that have formed merge later, under the map `soft` if given, else the hardmax map.

    With `single`, every C_i must be a singleton and every cluster hold a leader. The hypotheses are always measured
    under the hardmax map; with `any_step`, alpha may be small.
    """
    hard = run(given.map, given.tokens, layers)
    sizes = max(int(np.max(given.map.follower_sets(x).sizes)) for x in hard)
    found = longest_stationary_interval(hard if soft is None else softmax_layers(soft, given))
    x = found.states[found.first]
    leaders = set(np.flatnonzero(given.map.follower_sets(np.asarray(x)).leaders).tolist()) if found.groups else set()
    led = [bool(leaders & set(g)) for g in found.groups]
    last = found.states[-1]
    spread = max(square(z - w) for z in last for w in last)
    one = (
        holds("every cluster contains a leader when it has formed", all(led)),
        holds("no two clusters have merged later", not found.merged),
    )
    several = (
        holds("two clusters contain leaders when clusters have formed", sum(led) >= 2),
        holds("the diameter of all tokens exceeds 1/64 later", spread > NEAR**2),
    )
    follows = (holds("every follower set has one element in every layer", sizes == 1),)
    return Trial(
        hypotheses=(
            *given.measured(),
            *(() if any_step else (holds("alpha is at least 1/2", given.alpha >= STEP),)),
            *(follows if single else ()),
            *found.measured(16),
        ),
        conclusions=one if single else several,
        witness={**given.witness(), "clusters": found.groups, "stand from": found.first, "to": found.last},
        parameters={
            **given.parameters("one follower" if single else "tied or random"),
            "stands": found.last - found.first,
        },
    )


@certified(
    "hardmax/claim-no-metastability/one-follower",
    # The softmax map at temperature 0.3.
    control=lambda key: _leaders_trial(_two_pairs(key), single=True, soft=SoftmaxMap(1.0, 0.3)),
    variant="corrected",
    num_trials=12,
    note="almost every choice of initial tokens meets the hypothesis: ties are the zeros of finitely many polynomials "
    "in every layer, none of which vanishes; with a small alpha tokens that merely move slowly count as a cluster, see "
    "the control of `single-point`",
)
def clusters_without_ties_do_not_merge(key: Key) -> Trial:
    """If every C_i has exactly one element in every layer, clusters that have formed do not merge: each has a leader.

    Added: that hypothesis. Clusters are as in the printed claim, with N = 16 and alpha >= 1/2.
    """
    given = _random_case(key)
    return _leaders_trial(given, single=True)


@certified(
    "hardmax/claim-no-metastability/single-point",
    # A small alpha, below 1/80: two pairs move slowly, and merge into the only leader.
    control=lambda key: _leaders_trial(_slow_pair(key), single=False, layers=400, any_step=True),
    variant="reading",
    num_trials=12,
    note="at least two of the clusters that have formed contain leaders, which never move; with a small alpha tokens "
    "may stand for N layers only because all motion is slow",
)
def clusters_do_not_merge_into_a_single_point(key: Key) -> Trial:
    """Read: tokens that have formed clusters never all merge into a single point, whether there are ties or not.

    Clusters are as in the printed claim, with N = 16 and alpha >= 1/2. Half of the cases are those that refute the
    printed claim.
    """
    tie = int(jax.random.randint(key, (), 0, 2))
    given = tied_followers(_drawn(key)[0], 16) if tie else _random_case(key)
    return _leaders_trial(given, single=False)
