"""Claims of Section 4: finiteness of the set S, growth of norms away from it, convergence to S and to its points."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import partial

import jax
import numpy as np
from jaxtyping import Float

from analysis.claims.hardmax.instances.certified_limits import (
    BEYOND,
    CERTIFIED,
    CertifiedRun,
    certifiable_case,
    certified_run,
    certified_trial,
    is_subset,
    no_more_than,
    tied_case,
    values,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.clouds import ClusteringCase, distinct, invertible
from analysis.claims.hardmax.instances.zoo import FACES, hard_case, polygon, posed
from analysis.claims.hardmax.section_01_theorem import projection_measures
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix, rational_weights
from analysis.hardmax.candidates import candidate_set, support_gap
from analysis.hardmax.convergence import at_vertices, convergence_rate, distances, ratios
from analysis.hardmax.exact_geometry import determinant, solved
from analysis.hardmax.polytopes import contains, faces, polytope
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import NON_NEGATIVE, ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.exact import rational, rationals
from dynsim.systems.hardmax.examples import ALPHA, EXAMPLE_5_2

LAYERS = 40  # over which the growth is measured
DEEPEST = 14  # halvings of a cube at most
MOST = 200_000  # cubes at a time at most
SHARES = (0.35, 0.2, 0.1)  # of the least distance of two points of S, or the largest norm if S is a point: delta
LINE = ((-1,), (Fraction(-1, 3),), (Fraction(1, 4),), (Fraction(1, 7),), (2,))

Points = Float[np.ndarray, "m d"]


def growth_trial(key: Key, *, vertices_only: bool) -> Trial:
    """Measure whether tokens farther than delta from S gain at least c in squared A-norm per layer, once close to K.

    All is measured in the coordinates y = B z, A = B^T B, in which A = I. With `vertices_only` S is replaced by the
    vertices of K.
    """
    given = _box(key) if vertices_only else _case(key)
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    alpha, S = float(given.alpha), _coordinates(run, run.candidates.points)
    apart = [np.linalg.norm(s - t) for i, s in enumerate(S) for t in S[:i]]
    shrinks = bool(np.any(_outside(run, _coordinates(run, given.tokens)) > 0))  # into K slowly: few layers are left
    share = SHARES[0 if shrinks else int(jax.random.randint(key, (), 0, len(SHARES)))]
    delta = share * float(np.min(apart, initial=np.max(np.linalg.norm(S, axis=1))))
    width = delta**2 / (8 * float(np.max(np.linalg.norm(S, axis=1))))
    least = 2 * alpha / (1 + alpha) * _least_reach(run, S, delta, width)
    near = _coordinates(run, run.body.vertex_points) if vertices_only else S
    states = np.stack([_coordinates(run, x) for x in run.states(LAYERS)])
    largest = float(np.max(np.sum(states**2, axis=2)))
    first = next(k for k, x in enumerate(states) if np.all(_outside(run, x) <= width))
    gains = [
        float(after @ after - before @ before)
        for x, y in zip(states[first:-1], states[first + 1 :], strict=True)
        for before, after in zip(x, y, strict=True)
        if np.min(np.linalg.norm(near - before, axis=1)) > delta
    ]
    return Trial(
        hypotheses=(
            *run.measured(),
            at_least("constant c", least, 0.0, tolerance=ROUNDING),
            holds("some token is farther than delta from S after layer k_delta", bool(gains)),
        ),
        conclusions=(
            at_least(
                "least gain in squared norm",
                min(gains, default=0.0),
                least,
                tolerance=ROUNDING,
                within=(-largest, largest),
            ),
        ),
        witness={**given.witness(), "delta": delta, "k_delta": first},
        parameters={**run.parameters(), "delta": delta, "c": least},
    )


def _case(key: Key) -> ClusteringCase:
    """Return a case on a line, in the plane or in space, in the metric of a random A."""
    a, b = jax.random.split(key)
    kind = int(jax.random.randint(a, (), 0, 4))
    if kind == 0:
        scale = matrix([[Fraction(int(jax.random.randint(b, (), 2, 12)), 4)]])
        return posed(b, matrix(LINE) * scale, Fraction(1, 2))
    return _shrinking(b) if kind == 1 else _box(b)


def _box(key: Key) -> ClusteringCase:
    """Return tokens in ties, with a step that moves them in more than one layer."""
    return tied_case(key)._replace(alpha=Fraction(1, 2))


def _shrinking(key: Key) -> ClusteringCase:
    """Return three leaders around the origin, a token outside K, so that the hull shrinks, and tokens inside."""
    outer = matrix([[4, 0], [-3, 3], [-3, -3], [2, Fraction(9, 10)]])
    return posed(key, distinct(np.concatenate([outer, rational_matrix(key, 6, 2)])), Fraction(1, 7))


def _coordinates(run: CertifiedRun, x: np.ndarray) -> Points:
    """Return y = B z for tokens z, shape (m, d)."""
    return np.asarray(x @ run.case.factor.T, float)


def _outside(run: CertifiedRun, y: Points) -> Float[np.ndarray, " m"]:
    """Return the largest distance of each point beyond the hyperplane of a facet of K, zero inside K."""
    normals, offsets = np.asarray(run.body.normals, float), np.asarray(run.body.offsets, float)
    normals = normals @ np.linalg.inv(np.asarray(run.case.factor, float))
    size = np.linalg.norm(normals, axis=1)
    return np.maximum(-np.min((y @ normals.T + offsets) / size, axis=1), 0.0)


def _least_reach(run: CertifiedRun, S: Points, delta: float, width: float) -> float:
    """Return a lower bound of max_l <v_l - y, y> over y within `width` of K and farther than delta from S.

    By branch and bound: in a cube the maximum differs from that at the centre by at most a Lipschitz constant times the
    half diagonal. The bound is half of the least value found at a centre in the set; zero if it is not proved.
    """
    corners = _coordinates(run, run.body.vertex_points)
    low, high = corners.min(axis=0) - width, corners.max(axis=0) + width
    half, centres, best = float(np.max(high - low)) / 2, ((low + high) / 2)[None], np.inf
    signs = np.array(list(itertools.product((-1, 1), repeat=corners.shape[1])))
    for _ in range(DEEPEST):
        radius = half * corners.shape[1] ** 0.5
        beyond, far = _outside(run, centres), np.min(np.linalg.norm(centres[:, None] - S, axis=2), axis=1)
        met = (beyond <= width + radius) & (far >= delta - radius)
        centres, beyond, far = centres[met], beyond[met], far[met]
        value = np.max(centres @ corners.T, axis=1) - np.sum(centres**2, axis=1)
        best = min(best, np.min(value, initial=np.inf, where=(beyond <= width) & (far >= delta)))
        steep = np.max(np.linalg.norm(corners - 2 * centres[:, None], axis=2), axis=1) + 2 * radius
        centres = centres[value - steep * radius < best / 2]
        if not len(centres):
            return float(best) / 2
        if len(centres) * len(signs) > MOST:
            break
        half /= 2
        centres = (centres[:, None] + half * signs).reshape(-1, corners.shape[1])
    return 0.0


def _zeros_by_subsets(run: CertifiedRun, A: Exact) -> set[tuple]:
    """Return S of (4.1) without faces: its points in the hulls of affinely independent vertices of K.

    If x in S is a convex combination of vertices with positive weights, <A(v - x), x> <= 0 has the weighted sum zero,
    so that A x is orthogonal to all edges between them. Of these vertices affinely independent ones suffice.
    """
    corners = run.body.vertex_points
    found: set[tuple] = set()
    for size in range(1, run.body.dimension + 2):
        for chosen in itertools.combinations(range(len(corners)), size):
            v = corners[list(chosen)]
            edges = v[1:] - v[0]
            gram = edges @ A @ edges.T
            if size > 1 and determinant(gram) == 0:
                continue
            weights = solved(gram, -edges @ A @ v[0]) if size > 1 else v[:0, 0]
            x = v[0] + weights @ edges
            if all(weights >= 0) and sum(weights) <= 1 and max((corners - x) @ A @ x) == 0:
                found.add(tuple(x))
    return found


def _finite_measures(run: CertifiedRun, key: Key, metric: Exact | None = None) -> tuple[Measurement, ...]:
    """Compare S with an enumeration that uses no faces, and with the other points of each face at random."""
    A = run.case.attention if metric is None else metric
    several = []
    for face, known in zip(run.candidates.faces, run.candidates.points, strict=True):
        weights = rational_weights(key, 8, len(face))
        mixtures = [w @ run.body.points[list(face)] / sum(w) for w in weights]
        zeros = values(np.stack([x for x in mixtures if support_gap(run.body, x, A) == 0] or [known]))
        several += [sorted(zeros)] if zeros != {tuple(known)} else []
    number = sum(len(group) for group in faces(run.body))
    return (
        holds("S is the set of solutions of (4.1) over all simplices of vertices", _solutions(run, metric)),
        holds("no other positive combination of the vertices of a face is in S", not several),
        holds("no point of S is listed for two faces", len(values(run.candidates.points)) == len(run.candidates.faces)),
        at_most("number of points of S", len(run.candidates.points), number, tolerance=0.0, within=NON_NEGATIVE),
        *((_same_in_floats(run, A),) if metric is None else ()),
    )


def _same_in_floats(run: CertifiedRun, A: Exact) -> Measurement:
    """Measure that S of the same polytope in floats is S, up to 1e-9 of the extent."""
    body, metric = polytope(run.body.points.astype(float)), A.astype(float)
    found, known = candidate_set(body, metric).points, run.candidates.points.astype(float)
    away = np.linalg.norm(found[:, None] - known[None], axis=2) / (1 + np.max(np.abs(known)))
    farthest = max(float(np.max(np.min(away, axis=k))) for k in (0, 1))
    return holds("S in floats is S", len(found) == len(known) and farthest < 1e-9)


def _origin_on_an_edge(key: Key) -> ClusteringCase:
    """Return three leaders in the plane with the origin on an edge of their hull; no larger face has it inside."""
    factor = invertible(key, 2)
    return ClusteringCase(solved(factor, matrix([[-2, 0], [3, 0], [0, 2]]).T).T, factor, Fraction(1, 2))


def _solutions(run: CertifiedRun, metric: Exact | None) -> bool:
    """Return whether S is what `_zeros_by_subsets` finds; a degenerate metric has no finite enumeration."""
    return metric is not None or _zeros_by_subsets(run, run.case.attention) == values(run.candidates.points)


@certified(
    "hardmax/lemma-4.1-finite",
    num_trials=12,
    note="S in the metric of A, on limit polytopes; at most one point for each face, and the points are those of an "
    "enumeration over simplices of vertices, which uses no faces",
)
def candidates_are_finitely_many(key: Key) -> Trial:
    """S is finite: at most one element of S is a convex combination, with positive weights, of given vertices of K."""
    a, b, c = jax.random.split(key, 3)
    name, given = hard_case(b, *FACES)
    cases = {"random": certifiable_case(c), name: given, "origin on an edge": _origin_on_an_edge(c)}
    return certified_trial(cases, _finite_measures, key=a)


@candidates_are_finitely_many.with_control
def candidates_are_finitely_many(key: Key) -> Trial:
    """A rectangle of leaders, with a degenerate metric in the first coordinate only: a whole edge belongs to S."""
    box = ClusteringCase(matrix([[2, 1], [-2, 1], [-2, -1], [2, -1]]), identity(2), Fraction(1))
    return certified_trial({"box": box}, _finite_measures, key=key, metric=matrix([[1, 0], [0, 0]]))


def _boundary_measures(run: CertifiedRun, without_origin: bool) -> tuple[Measurement, ...]:
    flat = run.body.dimension < run.case.tokens.shape[1]
    points = [s for s in run.candidates.points if any(s) or not without_origin]
    inner = [s for s in points if not flat and all(run.body.slacks(s) > 0)]
    every = [s for s in run.candidates.points if not any(s)]
    origin = contains(run.body, 0 * run.body.points[0])
    return (
        holds("every point of S lies on the boundary of K", not inner),
        holds("the origin is in S if and only if it is in K", bool(every) == origin),
    )


@certified(
    "hardmax/lemma-4.1-boundary",
    num_trials=1,
    note="the origin belongs to S as soon as it lies in K; the proof maximises the linear function <z, x>, which for x "
    "= 0 is constant",
)
def candidates_lie_on_the_boundary(key: Key) -> Trial:
    """S is a subset of the boundary of K."""
    square = ClusteringCase(matrix([[1, 1], [-1, 1], [-1, -1], [1, -1]]), identity(2), rational("alpha", ALPHA))
    trial = certified_trial({"square": square}, _boundary_measures, without_origin=False)
    return replace(trial, witness={**square.witness(), "point": matrix([0, 0])})


@certified(
    "hardmax/lemma-4.1-boundary/corrected",
    # The origin included, for polygons that contain it.
    control=lambda key: certified_trial({"polygon": polygon(key)}, _boundary_measures, without_origin=False),
    num_trials=16,
    note="added: the origin is excepted; no token with a nonzero initial value converges to it, so that in Theorem 1.1 "
    "S may be taken on the boundary",
)
def other_candidates_lie_on_the_boundary(key: Key) -> Trial:
    """S without the origin is a subset of the boundary of K."""
    a, b = jax.random.split(key)
    name, given = hard_case(b, *FACES)
    cases = {**with_late_leaders(a), name: given}
    return certified_trial(cases, _boundary_measures, without_origin=True)


norms_grow_away_from_candidates = claim(
    "hardmax/lemma-4.2",
    statement="For every delta > 0 there are a layer k_delta and a constant c > 0, depending only on delta, K and "
    "alpha, such that for k >= k_delta the squared norm of every token farther than delta from S grows by at least c "
    "in layer k.",
    trial=partial(growth_trial, vertices_only=False),
    # Only the vertices in place of S, for tokens in ties: near the centres of faces norms do not grow.
    control=partial(growth_trial, vertices_only=True),
    num_trials=6,
    note="in the norm of A; c is computed from K, delta and alpha alone, by branch and bound; "
    "the layer k_delta is that of the trajectory (read: the constant depends on nothing else, the layer may)",
)


def _attracting_measures(run: CertifiedRun, vertices_only: bool) -> tuple[Measurement, ...]:
    S = run.body.vertex_points if vertices_only else run.candidates.points
    A, begin, limits = run.case.attention, run.certificate.num_layers, run.certificate.limits
    near, far = ([(x - s) @ A @ (x - s) for x, s in zip(run.path[k], limits, strict=True)] for k in (begin, -1))
    share = (1 + run.case.alpha) ** (-2 * BEYOND)
    return (
        is_subset("every limit is in S", limits, values(S)),
        holds(
            f"distances to the limits fall by the factor (1 + alpha)^-{BEYOND} in {BEYOND} layers",
            all(after == share * before for before, after in zip(near, far, strict=True)),
        ),
        *_rate_measures(run, [float(value) ** 0.5 for value in near]),
    )


def _rate_measures(run: CertifiedRun, known: list[float]) -> tuple[Measurement, ...]:
    """Measure the distances and rates that ship from the certified layer on, `known` being the distances there.

    They are compared with (1 + alpha)^-1, and the tokens that tend to vertices of K with the limits.
    """
    begin, limits, rate = run.certificate.num_layers, run.certificate.limits, float(1 / (1 + run.case.alpha))
    late = distances(run.path[begin:], limits, run.case.attention)
    moving = np.flatnonzero(np.array(known) > 0)
    falls = ratios(late)[:, moving] / rate
    fits = [convergence_rate(late[: BEYOND // 4, i], first_layer=begin) for i in moving]
    wrong = max((max(abs(fit.ratio / rate - 1), abs(fit.degree), fit.error) for fit in fits), default=0.0)
    at = at_vertices(limits, run.body.vertex_points).tolist()
    return (
        no_more_than("relative error of `distances`", np.max(abs(late[0] - known)) / (max(known) or 1.0), 0.0),
        no_more_than("relative error of `ratios`", np.max(abs(falls - 1), initial=0.0), 0.0),
        at_most(
            "error of the rate, power and fit of `convergence_rate`", wrong, 0.0, tolerance=SOLVER, within=NON_NEGATIVE
        ),
        holds("`at_vertices` finds the tokens that tend to vertices", at == [tuple(s) in run.vertices for s in limits]),
    )


@certified("hardmax/proposition-4.3", num_trials=12, note=CERTIFIED)
def candidates_attract(key: Key) -> Trial:
    """Every token converges to S: its distance to S tends to zero."""
    return certified_trial(with_late_leaders(key, "waiting followers"), _attracting_measures, vertices_only=False)


@candidates_attract.with_control
def candidates_attract(key: Key) -> Trial:
    """Only the vertices in place of S, on tokens with ties."""
    return certified_trial({"polygon": polygon(key)}, _attracting_measures, vertices_only=True)


def _vertex_measures(run: CertifiedRun, points: Exact | None = None) -> tuple[Measurement, ...]:
    """Measure whether the vertices of K, or of the hull of `points`, are in S: <A(v_l - v), v> <= 0 for all l."""
    body = run.body if points is None else polytope(points)
    corners, A = body.vertex_points, run.case.attention
    beyond = [v for v in corners if any((corners - v) @ A @ v > 0)]
    known = is_subset("`candidate_set` contains them", run.body.vertex_points, values(run.candidates.points))
    return (holds("every vertex is in S", not beyond), known)


@certified(
    "hardmax/lemma-4.4-vertices",
    num_trials=16,
    note=f"{CERTIFIED}; true of limit polytopes, not of every polytope: see the control",
)
def vertices_are_candidates(key: Key) -> Trial:
    """The vertices of K belong to S."""
    return certified_trial(with_late_leaders(key, "arc"), _vertex_measures)


@vertices_are_candidates.with_control
def vertices_are_candidates(key: Key) -> Trial:
    """The convex hull of the initial tokens in place of K, for Example 5.2."""
    given = ClusteringCase(rationals("tokens", np.array(EXAMPLE_5_2, object)), identity(2), rational("alpha", ALPHA))
    return certified_trial({"example 5.2": given}, lambda run: _vertex_measures(run, given.tokens))


@certified(
    "hardmax/lemma-4.4-projections",
    num_trials=12,
    note=f"{CERTIFIED}; A = I, as in Section 4; K counts as a face of itself, since otherwise the origin, when it is "
    f"interior to K, is a counterexample",
)
def other_candidates_are_projections(key: Key) -> Trial:
    """Every point of S that is not a vertex is the projection of the origin onto a face of K."""
    a, b = jax.random.split(key)
    name, given = hard_case(b, *FACES, with_identity=True)
    return certified_trial({"box": tied_case(a, with_identity=True), name: given}, projection_measures)


@other_candidates_are_projections.with_control
def other_candidates_are_projections(key: Key) -> Trial:
    """The projection in a metric other than that of the map."""
    metric = matrix([[1, Fraction(1, 2)], [Fraction(1, 2), 1]])
    return certified_trial({"polygon": polygon(key, with_identity=True)}, lambda run: projection_measures(run, metric))
