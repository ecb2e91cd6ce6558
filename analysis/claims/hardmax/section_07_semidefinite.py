"""Claims of Section 7 on a positive semidefinite, singular A: components on its range, and motion in its kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    certified_run,
    is_subset,
    values,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.clouds import ClusteringCase, defined_sets
from analysis.claims.hardmax.instances.zoo import FACES, STEPS, hard_case, posed
from analysis.claims.hardmax.section_01_theorem import leader_measures, projection_measures
from analysis.claims.rational_instances import Exact, identity, integers, matrix, rational_matrix, rational_unit
from analysis.hardmax.exact_geometry import solved
from analysis.hardmax.leaders import leader_layers
from analysis.hardmax.polytopes import vertices
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._core.types import Key
from dynsim.exact import positive_definite
from dynsim.simulation.simulate import iterate
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap


@dataclass
class SemidefiniteRun:
    """Tokens z_i = R y_i + N x_i under A = R M R^T, and the certified run of the components y_i under M.

    R, shape (d, r), and N, shape (d, d - r), are orthonormal bases of the range and of the kernel of A; M is positive
    definite. `tokens` are the z_i, shape (n, d).
    """

    run: CertifiedRun
    range: Exact
    kernel: Exact
    tokens: Exact

    @property
    def attention(self) -> Exact:
        """The matrix A."""
        return self.range @ self.run.case.attention @ self.range.T

    @property
    def map(self) -> ExactHardmaxMap:
        """The layer map (1.1) with A."""
        return ExactHardmaxMap(self.run.case.alpha, self.attention)

    @cached_property
    def path(self) -> Exact:
        """The tokens at the layers of the path of the components, shape (layers + 1, n, d), by iterating the map."""
        return iterate(self.map, self.tokens, len(self.run.path) - 1).ys

    @cached_property
    def first(self) -> list[int]:
        """The layers at which the tokens become leaders under A, -1 for those that never do."""
        return leader_layers(self.map, self.path).tolist()

    @property
    def leaders(self) -> list[int]:
        """The indices of the leaders of Definition 1.1, of the tokens under A."""
        return [i for i, layer in enumerate(self.first) if layer >= 0]

    def hypotheses(self) -> tuple[Measurement, ...]:
        """Measure that A is symmetric, semidefinite and singular, the tokens distinct, and the follower sets final."""
        A, N, found = self.attention, self.kernel, hypotheses(self.map, self.tokens)
        semidefinite = bool(np.all(A @ N == 0)) and positive_definite(A + N @ N.T)
        return (
            holds("A is symmetric", found.symmetric),
            holds("A is positive semidefinite", semidefinite),
            holds("A is singular", N.shape[1] > 0 and bool(np.any(N)) and not found.definite),
            holds("alpha > 0", found.positive_step),
            holds("the tokens are distinct", found.distinct),
            holds("no token is zero", found.nonzero),
            holds("the follower sets are proved to be constant from some layer on", self.run.certificate.certified),
        )

    def witness(self) -> dict:
        """Return the data that determine the run."""
        return {"tokens": self.tokens, "A": self.attention, "alpha": self.run.case.alpha}


def _embedded(key: Key, given: ClusteringCase) -> SemidefiniteRun | Trial:
    """Return a case as the components of tokens in one or two more dimensions, in a random orthonormal basis.

    The kernel components are random, and differ where components are equal.
    """
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    a, b, c = jax.random.split(key, 3)
    n, r = given.tokens.shape
    d = r + 1 + int(integers(a, (1,), 0, 2)[0]) * (r < 3)
    u = rational_unit(b, d)
    basis = identity(d) - 2 * np.outer(u, u)
    x = rational_matrix(c, n, d - r)
    x[:, 0] = x[:, 0] + matrix(range(n)) / 64  # entries k/4 with k from -6 to 6: no two are equal now
    return SemidefiniteRun(run, basis[:, :r], basis[:, r:], given.tokens @ basis[:, :r].T + x @ basis[:, r:].T)


def _component_measures(found: SemidefiniteRun) -> tuple[Measurement, ...]:
    """Measure that the components are a run of (1.1) by themselves, with the same follower sets, and Theorem 1.1."""
    run, states = found.run, found.path
    begin = run.certificate.constant_from
    sets = zip(states[: begin + 3], run.path, strict=False)
    same = all(found.map.follower_sets(z).same_as(run.case.map.follower_sets(y)) for z, y in sets)
    defined = [
        found.map.follower_sets(states[k]).lists() == defined_sets(states[k], found.attention) for k in (0, begin)
    ]
    return (
        holds(
            "the components of the tokens evolve by (1.1) with A on its range",
            bool(np.all(states @ found.range == run.path)),
        ),
        holds("the follower sets are those of the components", same),
        holds("they are those of (1.1b)", all(defined)),
        holds(
            "the leaders are those of the components, from the same layers on",
            found.first == run.certificate.leader_layers.tolist(),
        ),
        *run.agreement(),
        holds("the set of leaders is not empty", bool(found.leaders)),
        is_subset("(i): every limit of a component is in S", run.certificate.limits, values(run.candidates.points)),
        *leader_measures(run),
    )


def _with_faces(found: SemidefiniteRun) -> tuple[Measurement, ...]:
    return (*_component_measures(found), *projection_measures(found.run))


def _averages(found: SemidefiniteRun) -> Exact:
    """Return the matrix of means over the final follower sets, shape (n, n)."""
    sets = found.run.certificate.sets.lists()
    return matrix([[Fraction(int(j in members), len(members)) for j in range(len(sets))] for members in sets])


def shares_of_leaders(averages: Exact, leaders: list[int]) -> Exact:
    r"""Return $\pi$, shape (n, leaders), with $\pi_{\ell\ell} = 1$ for leaders and $\pi = M \pi$, M being `averages`.

    It is the limit of the powers of (1 - a) I + a M, 0 < a < 1, if the rows of M lead to leaders.
    """
    n, others = len(averages), [i for i in range(len(averages)) if i not in leaders]
    shares = identity(n)[:, leaders]
    inner = identity(len(others)) - averages[np.ix_(others, others)]
    if others:
        shares[others] = solved(inner, averages[np.ix_(others, leaders)])
    return shares


def _kernel_measures(found: SemidefiniteRun) -> tuple[Measurement, ...]:
    """Measure the limits of the tokens themselves, and the vertices of the limit of their hulls.

    With constant follower sets the tokens move by one row-stochastic matrix W. In the order of decreasing seminorm it
    is triangular; its diagonal entry is below one unless the token is a leader, so that its powers converge.
    """
    run, states = found.run, found.path
    begin, leaders, M = run.certificate.constant_from, found.leaders, _averages(found)
    n, a = len(M), run.case.alpha / (1 + run.case.alpha)
    W, norms = (1 - a) * identity(n) + a * M, [y @ run.case.attention @ y for y in states[begin] @ found.range]
    upwards = all(norms[j] > norms[i] for i in range(n) for j in range(n) if j != i and M[i, j] != 0)
    moves = all(bool(np.all(W @ x == y)) for x, y in zip(states[begin:], states[begin + 1 :], strict=False))
    if not upwards or leaders != run.leaders:
        return (holds("tokens that are no leaders follow tokens of larger seminorm", False),)
    shares = shares_of_leaders(M, leaders)
    limits = shares @ states[-1][leaders]
    rest = [bool(np.all(x[i] == limits[i])) for i in leaders for x in states[run.certificate.leader_layers[i] :]]
    return (
        holds("tokens follow tokens of larger seminorm, and themselves", upwards),
        holds(
            "a token whose weight on itself is one is a leader", all((W[i, i] < 1) != (i in leaders) for i in range(n))
        ),
        holds("the tokens move by W from the certified layer on", moves),
        holds("the limits are fixed by W", bool(np.all(W @ limits == limits))),
        holds(
            "their components are the limits of the components",
            bool(np.all(limits @ found.range == run.certificate.limits)),
        ),
        holds(
            "the weights are those of the components",
            bool(np.all(shares @ run.certificate.limits[leaders] == run.certificate.limits)),
        ),
        holds("every leader rests at its limit, in the kernel too, from the layer on at which it leads", all(rest)),
        holds("the leaders' limits are distinct", len(values(limits[leaders])) == len(leaders)),
        holds(
            "they are the vertices of the limit of the hulls",
            values(limits[leaders]) == values(limits[list(vertices(limits))]),
        ),
    )


def _between_leaders(key: Key) -> ClusteringCase:
    """Return two leaders and a token half-way between them, which follows them and itself, and rests."""
    step = STEPS[int(integers(key, (1,), 0, len(STEPS))[0])]
    return posed(key, matrix([[1, 1], [1, -1], [1, 0]]), step)


def _moving_in_the_kernel(found: SemidefiniteRun) -> tuple[Measurement, ...]:
    x, y = found.path[:, 2], found.path[:, 2] @ found.range
    moves = all(bool(np.any(x[k + 1] != x[k])) for k in range(len(x) - 1))
    return (
        *_kernel_measures(found),
        holds("the component of the token between the leaders rests", bool(np.all(y == y[0]))),
        holds("the token moves in every layer", moves),
    )


Measures = Callable[[SemidefiniteRun], tuple[Measurement, ...]]


def _semidefinite_trial(
    key: Key, cases: Mapping[str, ClusteringCase], measures: Measures, *, of_components: bool
) -> Trial:
    """Return a trial of cases as the components of tokens.

    Distinct and nonzero are the components, if `of_components`, or else the tokens only.
    """
    met: list[Measurement] = []
    found: list[Measurement] = []
    witness, parameters = {}, {}
    for k, (name, given) in enumerate(cases.items()):
        made = _embedded(jax.random.fold_in(key, k), given)
        if isinstance(made, Trial):
            return made
        components = [replace(m, what=f"components: {m.what}") for m in given.measured()] if of_components else []
        met += [replace(m, what=f"{name}: {m.what}") for m in (*made.hypotheses(), *components)]
        found += [replace(m, what=f"{name}: {m.what}") for m in measures(made)]
        witness[name] = made.witness()
        n, d = made.tokens.shape
        own = {**made.run.parameters(), "n": n, "d": d, "dimension of the kernel": made.kernel.shape[1]}
        parameters = {word: max(parameters.get(word, value), value) for word, value in own.items()}
    first, *others = witness.values()
    instances = {"instances": " and ".join(cases)}
    return Trial(tuple(met), tuple(found), witness if others else first, parameters={**parameters, **instances})


def _with_twins(cases: Mapping[str, ClusteringCase]) -> dict[str, ClusteringCase]:
    """Return cases with one component of largest norm given twice."""
    return {name: given.with_twin for name, given in cases.items()}


@certified(
    "hardmax/claim-semidefinite",
    # Distinct tokens of which two differ by an element of the kernel: a component of largest norm occurs twice.
    control=lambda key: _semidefinite_trial(
        key, _with_twins(with_late_leaders(key)), _component_measures, of_components=False
    ),
    num_trials=8,
    note=f"{CERTIFIED}, here for the components; Theorem 1.1 is read with the components in place of the tokens, so "
    "that these are distinct and nonzero: `tokens` is the other reading; that nothing can be said about the kernel is "
    "a remark on the reach of the theorem, and more modest than need be: see `kernel`",
)
def components_cluster(key: Key) -> Trial:
    """For A symmetric, positive semidefinite and singular, the components of the tokens on the range of A evolve by
    (1.1) with A restricted to it, with the same follower sets; if they are distinct and nonzero at layer 0, Theorem 1.1
    (leaders exist, (i), (ii), (iii)) holds for them.

    In each trial one case has a leader that appears after layer 0, and in one K has faces with points of S.
    """
    a, b = jax.random.split(key)
    faces = dict([hard_case(b, *FACES)])
    plain = _semidefinite_trial(a, with_late_leaders(a), _component_measures, of_components=True)
    other = _semidefinite_trial(b, faces, _with_faces, of_components=True)
    return _joined(plain, other)


def _joined(one: Trial, other: Trial) -> Trial:
    """Return one trial with the measurements of two, an undecided one if one of them is."""
    for trial in (one, other):
        if not trial.decided:
            return trial
    words = {"instances": f"{one.parameters['instances']} and {other.parameters['instances']}"}
    return Trial(
        (*one.hypotheses, *other.hypotheses),
        (*one.conclusions, *other.conclusions),
        {**one.witness, "second": other.witness},
        parameters={**one.parameters, **words},
    )


@certified(
    "hardmax/claim-semidefinite/tokens",
    variant="reading",
    num_trials=8,
    note="two tokens that differ by an element of the kernel have the same scores; if they are the longest, neither is "
    "a leader, though their component is a vertex; no control: the printed claim is measured by the same function",
)
def components_of_distinct_tokens_cluster(key: Key) -> Trial:
    """Read: for initial tokens that are distinct and nonzero, as Theorem 1.1 assumes, it holds for their components on
    the range of a symmetric, positive semidefinite and singular A.
    """
    name, given = hard_case(key, "late leaders", "few", "polygon")
    return _semidefinite_trial(key, {name: given.with_twin}, _component_measures, of_components=False)


@certified(
    "hardmax/claim-semidefinite/kernel",
    # Distinct tokens of which two differ by an element of the kernel: a component of largest norm occurs twice.
    control=lambda key: _semidefinite_trial(
        key, _with_twins(with_late_leaders(key)), _kernel_measures, of_components=False
    ),
    variant="corrected",
    num_trials=8,
    note="changed: something can be said about the kernel; added: the follower sets are constant from some layer on, "
    "which is proved in every instance tried; a token whose component rests may still move in the kernel, and does in "
    "one case of every trial",
)
def kernel_components_follow_the_leaders(key: Key) -> Trial:
    """For A symmetric, positive semidefinite and singular, tokens whose components on its range are distinct and
    nonzero, and follower sets that are constant from some layer on, the tokens themselves converge: the limit of each
    is a mean of the leaders, in the kernel with the weights that its component has on the range.

    The leaders rest from some layer on, and are the vertices of the limit of the convex hulls of the tokens.
    """
    a, b = jax.random.split(key)
    cases = {**with_late_leaders(a), **dict([hard_case(b, *FACES)])}
    plain = _semidefinite_trial(a, cases, _kernel_measures, of_components=True)
    other = _semidefinite_trial(b, {"at rest": _between_leaders(b)}, _moving_in_the_kernel, of_components=True)
    return _joined(plain, other)
