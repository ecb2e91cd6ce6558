"""Claims of Section 1: Theorem 1.1, Remark 1.2, and the set S of projections of the origin."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    Measures,
    certified_run,
    certified_trial,
    is_subset,
    skewed,
    tied_case,
    trial_with_twins,
    values,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.clouds import ClusteringCase
from analysis.claims.hardmax.instances.zoo import FACES, arc, hard_case, polygon
from analysis.claims.rational_instances import Exact, identity, matrix, rational_weights
from analysis.hardmax.candidates import projection_of_origin, support_gap
from analysis.hardmax.constant_follower_sets import (
    Gap,
    Motion,
    closed_form_motion,
    exact_gap,
    least_on_unit_interval,
    supremum_bound,
)
from analysis.hardmax.float_score_gaps import FloatMotion
from analysis.hardmax.polytopes import Polytope, contains, faces
from analysis.ledger.claim import certified
from analysis.ledger.evidence import NON_NEGATIVE, Measurement, Trial, at_least, equal, holds
from dynsim._core.types import Key
from dynsim.exact import rational, rationals
from dynsim.systems.hardmax.examples import ALPHA, FIGURE_2

LAYERS = (0, 1, 2, 5, 13, 34)  # of a motion, counted from its first layer


def score_gap_measures(run: CertifiedRun) -> tuple[Measurement, ...]:
    """Measure the gaps of scores from the first layer on, as if its sets were constant, and those of the certificate.

    A gap that is said to stay positive must be positive in every layer tried, and in the limit not negative.
    """
    A, first = run.case.attention, run.path[0]
    sets = run.case.map.follower_sets(first)
    start = closed_form_motion(first, sets, np.ones(len(first), int), run.case.alpha, A)
    motions = [start] if start.valid else []
    ahead = [members[0] for members in sets.lists()]
    found = [_gaps(motion, A, ahead) for motion in motions]
    last = [members[0] for members in run.certificate.sets.lists()]
    proved = _gaps(run.certificate.motion, A, last)
    return (
        holds("gaps of scores have the closed form", all(form for form, *_ in (*found, proved))),
        holds("a gap that stays positive is positive in every layer", all(safe for _, safe, _ in (*found, proved))),
        holds("floats say so of no other gap", all(safe for *_, safe in (*found, proved))),
        holds("the bounds used are those of their derivation", _bounds_hold()),
        holds("least values on [0, 1] are those of quadratics with known ones", _quadratics()),
    )


def _gaps(motion: Motion, A: Exact, ahead: list[int]) -> tuple[bool, bool, bool]:
    """Return whether gaps have their closed form, and whether those said to stay positive do, exactly and in floats.

    Each is that of the token which a token follows before another one, and with the two exchanged.
    """
    states = [motion.after(m) for m in LAYERS]
    scores = [x @ A.T @ x.T for x in (*states, motion.limits)]
    n = len(ahead)
    triples = [t for i in range(n) for j in range(n) for t in ((i, ahead[i], j), (i, j, ahead[i]))]
    form, exact, rounded = True, True, True
    floats = FloatMotion(motion, A)
    signs = lambda some: floats.gap_signs(*(np.array(column, int) for column in zip(*some, strict=True)))
    found = {triple: _differences(scores, triple) for triple in triples}
    late = [
        triple for triple, values in found.items() if values[-1] >= 0
    ]  # with a negative one floats call none positive
    said = dict(zip(late, signs(late).positive, strict=True))
    for triple, gaps in found.items():
        gap = exact_gap(motion, A, *triple)
        form = form and [value_after(gap, m) for m in LAYERS] == gaps[:-1]
        positive = min(gaps[:-1]) > 0 and gaps[-1] >= 0
        exact = exact and (positive or not gap.stays_positive)
        rounded = rounded and (positive or not said.get(triple, False))
    return form, exact, rounded and signs(triples).any_negative == (len(late) < len(found))


def _differences(scores: list[Exact], triple: tuple[int, int, int]) -> list[Fraction]:
    i, ahead, behind = triple
    return [S[i, ahead] - S[i, behind] for S in scores]


def value_after(gap: Gap, m: int) -> Fraction:
    """Return a + r^m b(m) + r^(2 m) c(m), the gap after m layers."""
    parts = [sum(c * math.comb(m, t) for t, c in enumerate(coefficients)) for coefficients in gap.coefficients]
    return sum((gap.ratio ** (e * m) * part for e, part in enumerate(parts)), Fraction(0))


def _bounds_hold() -> bool:
    """Return whether bounds of r^m binom(m, t) binom(m, u) over m hold, and are those of the derivation.

    That is the largest value over real m of e^(-(1 - r) m) m^t m^u / (t! u!), with a lower bound of e, 2.718.
    """
    found = []
    for r, degrees in itertools.product((Fraction(1, 2), Fraction(3, 4), Fraction(7, 8)), ((1,), (2,), (1, 1), (1, 2))):
        bound, total = supremum_bound(r, *degrees), sum(degrees)
        largest = max(r**m * math.prod(math.comb(m, t) for t in degrees) for m in range(60))
        derived = (total / (math.e * float(1 - r))) ** total / math.prod(math.factorial(t) for t in degrees)
        found.append(largest <= bound and 1 <= float(bound) / derived <= (math.e / 2.7179) ** total)
    return all(found)


def _quadratics() -> bool:
    """Return whether the least value of c (u - v)^2 + w on [0, 1] is found, with v inside, on each side, and c < 0."""
    known = []
    for v, c in itertools.product((Fraction(-1, 3), Fraction(2, 7), Fraction(3, 2)), (Fraction(-2), Fraction(5, 3))):
        w = Fraction(1, 5)
        ends = [c * (u - v) ** 2 + w for u in (0, 1)]
        least = w if c > 0 and 0 < v < 1 else min(ends)
        known.append(least_on_unit_interval(c * v**2 + w, -2 * c * v, c) == least)
    return all(known)


def _all_limits_in(S: Callable[[CertifiedRun], set[tuple]]) -> Measures:
    """Measure that the limits are in a set S, which lies on the boundary of K."""
    return lambda run: (
        is_subset("every limit is in S", run.certificate.limits, S(run)),
        holds("S is a subset of the boundary of K", all(_on_boundary(run.body, s) for s in S(run))),
        *score_gap_measures(run),
    )


def _on_boundary(body: Polytope, point: tuple) -> bool:
    """Return whether a point is in a polytope and not interior to it in R^d."""
    s = rationals("s", point)
    return contains(body, s) and (body.dimension < len(s) or min(body.slacks(s)) == 0)


@certified(
    "hardmax/theorem-1.1-i",
    # Only the vertices of K in place of S, on tokens with ties.
    control=lambda key: certified_trial({"polygon": polygon(key)}, _all_limits_in(lambda run: run.vertices)),
    num_trials=16,
    note=f"{CERTIFIED}; S is (4.1) in the metric of A, enumerated face by face, hence finite, without the origin where "
    f"that is interior to K (see lemma-4.1-boundary); the gaps of scores that the proof uses are measured along "
    f"trajectories",
)
def tokens_converge_to_candidates(key: Key) -> Trial:
    """For distinct nonzero initial tokens and A symmetric positive definite, every token converges to a point of the
    finite set S, a subset of the boundary of K.

    In each trial one case has a late leader, and in one tokens settle and leave again.
    """
    cases = with_late_leaders(key, "waiting followers")
    return certified_trial(cases, _all_limits_in(lambda run: run.boundary_candidates))


def attained_limits(run: CertifiedRun) -> Measurement:
    """Measure that every leader is at its limit from the layer on at which it becomes a leader."""
    first, limits = run.certificate.leader_layers, run.certificate.limits
    states = run.states(run.certificate.num_layers)
    stays = all(bool(np.all(x[i] == limits[i])) for i in run.leaders for x in states[first[i] :])
    return holds("every leader is at its limit from then on", stays)


def leader_measures(run: CertifiedRun) -> tuple[Measurement, ...]:
    """Measure that leaders attain distinct vertices of K in finitely many layers, and that K has no other vertices."""
    ends = run.certificate.limits[run.leaders]
    return (
        attained_limits(run),
        is_subset("every limit of a leader is a vertex of K", ends, run.vertices),
        equal(
            "number of distinct limits of leaders",
            len(values(ends)),
            len(run.leaders),
            tolerance=0,
            within=(0, len(run.case.tokens)),
        ),
        equal(
            "number of vertices of K",
            len(run.vertices),
            len(run.leaders),
            tolerance=0,
            within=(0, len(run.case.tokens)),
        ),
    )


leaders_reach_distinct_vertices = certified(
    "hardmax/theorem-1.1-ii",
    statement="""
    Every leader reaches a distinct vertex of K in finitely many layers, and K has as many vertices as leaders.

    In each trial one case has a leader that appears after layer 0.
    """,
    trial=lambda key: certified_trial(with_late_leaders(key), leader_measures),
    # One token of largest norm given twice: neither of the two is a leader, although they attain a vertex.
    control=lambda key: trial_with_twins(key, leader_measures),
    num_trials=16,
    note=f"{CERTIFIED}; leaders are token indices, as in Definition 1.1",
)


def projection_measures(run: CertifiedRun, metric: Exact | None = None) -> tuple[Measurement, ...]:
    """Measure that the points of S that are not vertices are projections of the origin onto a face, in a metric.

    s is the projection onto the face with vertices v_j if it lies in the face and <A s, v_j - s> >= 0 for every j.
    """
    A = run.case.attention if metric is None else metric
    others = [s for s in {*values(run.candidates.points), *values(run.certificate.limits)} if s not in run.vertices]
    nearest = [_nearest_in_its_face(run.body, s, A) for s in others]
    return (
        holds("each is nearest to the origin in the smallest face that contains it", all(near for near, _ in nearest)),
        holds("each is the `projection_of_origin` onto that face", all(same for _, same in nearest)),
        at_least("number of points of S that are no vertices", len(others), 1, tolerance=0.0, within=NON_NEGATIVE),
    )


def _nearest_in_its_face(body: Polytope, point: tuple, A: Exact) -> tuple[bool, bool]:
    s = rationals("s", point)
    holding = [set(facet) for facet, slack in zip(body.facets, body.slacks(s), strict=True) if slack == 0]
    face = body.points[sorted(set(body.vertices).intersection(*holding))]
    near = contains(body, s) and all((face - s) @ (A @ s) >= 0)
    return near, bool(np.all(projection_of_origin(face, A) == s))


@certified(
    "hardmax/theorem-1.1-iii",
    # The projection in the Euclidean norm in place of the norm of A.
    control=lambda key: certified_trial(
        {"polygon": skewed(polygon, key)}, lambda run: projection_measures(run, identity(2))
    ),
    num_trials=12,
    note=f"{CERTIFIED}; measured on S of (4.1) and on the limits of the tokens; K counts as a face of itself, "
    f"which is needed for the origin, and for the limits where K is flat, as a segment in the plane",
)
def other_points_are_projections(key: Key) -> Trial:
    """A point of S that is not a vertex of K is the projection of the origin onto a face of K in the norm of A.

    For boxes, polygons inscribed in circles, spirals, prisms and polygons in R^3, with or without the origin inside.
    """
    a, b = jax.random.split(key)
    name, given = hard_case(b, *FACES)
    return certified_trial({"box": tied_case(a), name: given}, projection_measures)


def _remark_measures(run: CertifiedRun) -> tuple[Measurement, ...]:
    ends = values(run.certificate.limits[run.leaders])
    return (
        is_subset("every vertex of K is in S", run.body.vertex_points, values(run.candidates.points)),
        holds("the vertices are the limits of leaders", run.vertices == ends),
        attained_limits(run),
    )


@certified("hardmax/remark-1.2", num_trials=12, note=CERTIFIED)
def vertices_are_limits_of_leaders(key: Key) -> Trial:
    """S contains the vertices of K, which are exactly the limits of the leaders, attained in finitely many layers.

    In each trial one case has a leader that appears after layer 0.
    """
    return certified_trial(with_late_leaders(key), _remark_measures)


@vertices_are_limits_of_leaders.with_control
def vertices_are_limits_of_leaders(key: Key) -> Trial:
    """One token of largest norm given twice: no leader has that vertex as its limit."""
    return trial_with_twins(key, _remark_measures)


def _projections(body: Polytope, A: Exact) -> list[np.ndarray]:
    """Return the projections of the origin onto the affine hulls of faces that lie in K."""
    found = [projection_of_origin(body.points[list(face)], A) for group in faces(body) for face in group]
    return [p for p in found if contains(body, p)]


@certified(
    "hardmax/claim-s-all-projections",
    num_trials=1,
    note="read: every projection of the origin onto a face belongs to S; the witness is a triangle of leaders that "
    "does not contain the origin, whose point nearest to the origin is the midpoint of an edge",
)
def every_projection_is_a_candidate(key: Key) -> Trial:
    """S consists of the vertices of K and of the projections of the origin onto its faces: each belongs to S."""
    run = certified_run(ClusteringCase(matrix([[4, 0], [0, 4], [3, 3]]), identity(2), rational("alpha", ALPHA)))
    if isinstance(run, Trial):
        return run
    missing = [p for p in _projections(run.body, run.case.attention) if tuple(p) not in values(run.candidates.points)]
    farther = [support_gap(run.body, p) for p in missing]
    return Trial(
        hypotheses=(
            *run.measured(),
            equal("number of leaders", len(run.leaders), 3, tolerance=0, within=(0, 3)),
            holds("<A (v - p), p> > 0 for a vertex v of K where p is not in S", all(gap > 0 for gap in farther)),
        ),
        conclusions=(holds("every projection is in S", not missing),),
        witness={**run.case.witness(), "edge": [0, 1], "projections not in S": missing, "max <v - p, p>": farther},
        parameters=run.parameters(),
    )


def _supporting(run: CertifiedRun, key: Key, *, required: bool) -> tuple[Measurement, ...]:
    """Compare S with the projections that support K, or with all of them, and other points of K with neither."""
    A, corners, S = run.case.attention, run.body.vertex_points, values(run.candidates.points)
    weights = rational_weights(key, 24, len(corners))
    supports = lambda p: all((corners - p) @ (A @ p) <= 0)
    every = _projections(run.body, A)
    chosen = values(np.stack([p for p in every if supports(p) or not required]))
    elsewhere = [x for x in (*(w @ corners / sum(w) for w in weights), *every) if tuple(x) not in chosen]
    return (
        holds("the projections are the points of S", chosen == S),
        holds("`support_gap` vanishes there", all(support_gap(run.body, rationals("p", p), A) == 0 for p in chosen)),
        holds("it is positive at the others", all(support_gap(run.body, x, A) > 0 for x in elsewhere)),
    )


@certified(
    "hardmax/claim-s-all-projections/corrected",
    num_trials=8,
    note="added: the hyperplane through the projection p with normal A p supports K, with K and the origin on the "
    "same side; a vertex is the projection onto itself as a face. One case of each trial has projections that the "
    "condition excludes",
)
def supporting_projections_are_the_candidates(key: Key) -> Trial:
    """S consists of the projections p of the origin onto faces of K for which K lies in {x : <A p, x> <= <A p, p>}."""
    a, b, c, d = jax.random.split(key, 4)
    name, given = hard_case(d, *FACES)
    return certified_trial({"box": tied_case(b), name: given, "arc": arc(c)}, _supporting, key=a, required=True)


@supporting_projections_are_the_candidates.with_control
def supporting_projections_are_the_candidates(key: Key) -> Trial:
    """Without the added condition, where the origin is outside K."""
    a, b = jax.random.split(key)
    return certified_trial({"arc": arc(a)}, _supporting, key=b, required=False)


def _row(name: str) -> CertifiedRun | Trial:
    return certified_run(
        ClusteringCase(rationals("tokens", np.array(FIGURE_2[name], object)), identity(2), rational("alpha", ALPHA))
    )


def _others(run: CertifiedRun) -> Exact:
    """Return the tokens that are no leaders."""
    return np.delete(run.case.tokens, run.leaders, axis=0)


@certified(
    "hardmax/claim-figure-2-rows",
    num_trials=1,
    note="the paper prints no coordinates, but S of (4.1) is a function of K alone, so that two rows with the same "
    "K have the same S: here both contain the midpoints of all edges and the origin; "
    "no control: the reading is the positive case",
)
def rows_differ_in_candidates(key: Key) -> Trial:
    """Two sets of tokens with the same leaders and the same K, rows (C) and (D) of Figure 2, differ in S of (4.1)."""
    first, second = _row("C"), _row("D")
    if isinstance(first, Trial) or isinstance(second, Trial):
        return Trial.unfinished("the limits of a row are not certified")
    S = [values(run.candidates.points) for run in (first, second)]
    return Trial(
        hypotheses=(
            *first.measured(),
            *second.measured(),
            holds("the leaders are the same", first.leaders == second.leaders),
            holds("K is the same", first.vertices == second.vertices),
        ),
        conclusions=(holds("S differs", S[0] != S[1]),),
        witness={
            "leaders": first.case.tokens[first.leaders],
            **{f"others in row {name}": _others(run) for name, run in (("C", first), ("D", second))},
            "extra points": sorted(S[0] - first.vertices),
        },
        parameters={"n": len(first.case.tokens), "d": 2},
    )


def _attained_trial(key: Key, *, on_axes: bool) -> Trial:
    """Replace the last two tokens of row (D) by others on the axes, or off them, and compare with row (C)."""
    t, u = rational_weights(key, 2) / 4
    off = 0 if on_axes else rational("off", "1/50")
    tokens = rationals("tokens", np.array(FIGURE_2["D"][:-2], object))
    moved = np.concatenate([tokens, matrix([[t, off], [off, -u / 2]])])
    first, second = _row("C"), certified_run(ClusteringCase(moved, identity(2), rational("alpha", ALPHA)))
    if isinstance(first, Trial) or isinstance(second, Trial):
        return Trial.unfinished("the limits of a row are not certified")
    extra = values(second.certificate.limits) - values(first.certificate.limits)
    return Trial(
        hypotheses=(
            *first.measured(),
            holds("the tokens (t, 0) and (0, -u/2) are interior to K", bool(t < 2 and u / 2 < 1)),
            holds("K is the same", first.vertices == second.vertices),
        ),
        conclusions=(
            holds("the limits in row (C) are its four leaders", values(first.certificate.limits) == first.vertices),
            holds("the other row has two more limits, (2, 0) and (0, -1)", extra == {(2, 0), (0, -1)}),
            *projection_measures(second),
        ),
        witness=second.case.witness(),
    )


rows_differ_in_limits = certified(
    "hardmax/claim-figure-2-rows/attained",
    statement="With the same leaders and the same K, the limits of the tokens are the four leaders in one row, and "
    "two further points in the other, which are projections of the origin onto faces of K.",
    trial=partial(_attained_trial, on_axes=True),
    control=partial(_attained_trial, on_axes=False),  # The two tokens at a distance of 1/50 from the axes.
    num_trials=8,
    variant="reading",
    note="read: the cluster set is the set of limits of the tokens, which is not determined by K alone",
)
