"""Claims of Section 1: Theorem 1.1, Remark 1.2, the set S, and Figure 2."""

from collections.abc import Callable

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
    values,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.hardmax.instances.zoo import FACES, arc, hard_case, polygon
from analysis.claims.rational_instances import Exact, identity, matrix, rational_weights
from analysis.hardmax.candidates import projection_of_origin, support_gap
from analysis.hardmax.polytopes import Polytope, contains, faces
from analysis.ledger.claim import claim
from analysis.ledger.evidence import NON_NEGATIVE, Measurement, Trial, at_least, equal, holds
from dynsim._types import Key
from dynsim.exact import rational, rationals
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.examples import ALPHA, FIGURE_2


def _all_limits_in(S: Callable[[CertifiedRun], set[tuple]]) -> Measures:
    return lambda run: (is_subset("every limit is in S", run.certificate.limits, S(run)),)


@claim(
    "hardmax/theorem-1.1-i",
    HARDMAX.at("Theorem 1.1 (i)"),
    evidence="certified",
    num_trials=16,
    note=f"{CERTIFIED}; S is (4.1) in the metric of A, enumerated face by face, hence finite; that it lies on the "
    f"boundary of K is lemma-4.1-boundary",
)
def tokens_converge_to_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For distinct nonzero initial tokens and A symmetric positive definite, every token converges to a point of the
    finite set S.

    In each trial one case has a late leader, and in one tokens settle and leave again.
    """
    cases = with_late_leaders(key, "waiting followers")
    return certified_trial(cases, _all_limits_in(lambda run: values(run.candidates.points)))


@tokens_converge_to_candidates.with_control
def tokens_converge_to_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Only the vertices of K in place of S, on tokens with ties."""
    return certified_trial({"polygon": polygon(key)}, _all_limits_in(lambda run: run.vertices))


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
            within=(0, len(ends)),
        ),
        equal(
            "number of vertices of K",
            len(run.vertices),
            len(run.leaders),
            tolerance=0,
            within=(0, len(run.case.tokens)),
        ),
    )


@claim(
    "hardmax/theorem-1.1-ii",
    HARDMAX.at("Theorem 1.1 (ii)"),
    evidence="certified",
    num_trials=16,
    note=f"{CERTIFIED}; leaders are token indices, as in Definition 1.1",
)
def leaders_reach_distinct_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every leader reaches a distinct vertex of K in finitely many layers, and K has as many vertices as leaders.

    In each trial one case has a leader that appears after layer 0.
    """
    return certified_trial(with_late_leaders(key), leader_measures)


@leaders_reach_distinct_vertices.with_control
def leaders_reach_distinct_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """One token of largest norm given twice: neither of the two is a leader, although they attain a vertex."""
    cases = with_late_leaders(key)
    return certified_trial({name: given.with_twin for name, given in cases.items()}, leader_measures, cases)


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


@claim(
    "hardmax/theorem-1.1-iii",
    HARDMAX.at("Theorem 1.1 (iii)"),
    evidence="certified",
    num_trials=12,
    note=f"{CERTIFIED}; measured on S of (4.1) and on the limits of the tokens; K counts as a face of itself, "
    f"which is needed for the origin",
)
def other_points_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A point of S that is not a vertex of K is the projection of the origin onto a face of K in the norm of A.

    For boxes, polygons inscribed in circles, spirals, prisms and polygons in R^3, with or without the origin inside.
    """
    a, b = jax.random.split(key)
    name, given = hard_case(b, *FACES)
    return certified_trial({"box": tied_case(a), name: given}, projection_measures)


@other_points_are_projections.with_control
def other_points_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The projection in the Euclidean norm in place of the norm of A."""
    given = skewed(polygon, key)
    return certified_trial({"polygon": given}, lambda run: projection_measures(run, identity(2)))


def _remark_measures(run: CertifiedRun) -> tuple[Measurement, ...]:
    ends = values(run.certificate.limits[run.leaders])
    return (
        is_subset("every vertex of K is in S", run.body.vertex_points, values(run.candidates.points)),
        holds("the vertices are the limits of leaders", run.vertices == ends),
        attained_limits(run),
    )


@claim("hardmax/remark-1.2", HARDMAX.at("Remark 1.2"), evidence="certified", num_trials=12, note=CERTIFIED)
def vertices_are_limits_of_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S contains the vertices of K, which are exactly the limits of the leaders, attained in finitely many layers.

    In each trial one case has a leader that appears after layer 0.
    """
    return certified_trial(with_late_leaders(key), _remark_measures)


@vertices_are_limits_of_leaders.with_control
def vertices_are_limits_of_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """One token of largest norm given twice: no leader has that vertex as its limit."""
    cases = with_late_leaders(key)
    return certified_trial({name: given.with_twin for name, given in cases.items()}, _remark_measures, cases)


def _projections(body: Polytope, A: Exact) -> list[np.ndarray]:
    """Return the projections of the origin onto the affine hulls of faces that lie in K."""
    found = [projection_of_origin(body.points[list(face)], A) for group in faces(body) for face in group]
    return [p for p in found if contains(body, p)]


@claim(
    "hardmax/claim-s-all-projections",
    HARDMAX.at("Section 1.1"),
    evidence="certified",
    num_trials=1,
    note="read: every projection of the origin onto a face belongs to S; the witness is a triangle of leaders "
    "that does not contain the origin, whose point nearest to the origin is the midpoint of an edge; "
    "no control: the corrected claim is the positive case",
)
def every_projection_is_a_candidate(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S consists of the vertices of K and of the projections of the origin onto its faces: each belongs to S."""
    run = certified_run(Case(matrix([[4, 0], [0, 4], [3, 3]]), identity(2), rational("alpha", ALPHA)))
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
        witness={
            **run.case.witness(),
            "edge": [0, 1],
            "projections not in S": missing,
            "max <v - p, p>": farther,
        },
        parameters=run.parameters(),
    )


def _supporting(key: Key, *, required: bool) -> Measures:
    """Compare S with the projections that support K, or with all of them, and other points of K with neither."""

    def measures(run: CertifiedRun) -> tuple[Measurement, ...]:
        A, corners, S = run.case.attention, run.body.vertex_points, values(run.candidates.points)
        weights = rational_weights(key, 24, len(corners))
        supports = lambda p: all((corners - p) @ (A @ p) <= 0)
        every = _projections(run.body, A)
        chosen = values(np.stack([p for p in every if supports(p) or not required]))
        elsewhere = [x for x in (*(w @ corners / sum(w) for w in weights), *every) if tuple(x) not in chosen]
        return (
            holds("the projections are the points of S", chosen == S),
            holds(
                "`support_gap` vanishes there", all(support_gap(run.body, rationals("p", p), A) == 0 for p in chosen)
            ),
            holds("it is positive at the others", all(support_gap(run.body, x, A) > 0 for x in elsewhere)),
        )

    return measures


@claim(
    "hardmax/claim-s-all-projections/corrected",
    HARDMAX.at("Section 1.1"),
    evidence="certified",
    num_trials=8,
    variant="corrected",
    note="added: the hyperplane through the projection p with normal A p supports K, with K and the origin on the "
    "same side; a vertex is the projection onto itself as a face. One case of each trial has projections that the "
    "condition excludes",
)
def supporting_projections_are_the_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S consists of the projections p of the origin onto faces of K for which K lies in {x : <A p, x> <= <A p, p>}."""
    a, b, c, d = jax.random.split(key, 4)
    name, given = hard_case(d, *FACES)
    return certified_trial({"box": tied_case(b), name: given, "arc": arc(c)}, _supporting(a, required=True))


@supporting_projections_are_the_candidates.with_control
def supporting_projections_are_the_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the added condition, where the origin is outside K."""
    a, b = jax.random.split(key)
    return certified_trial({"arc": arc(a)}, _supporting(b, required=False))


def _row(name: str) -> CertifiedRun | Trial:
    return certified_run(
        Case(rationals("tokens", np.array(FIGURE_2[name], object)), identity(2), rational("alpha", ALPHA))
    )


def _others(run: CertifiedRun) -> Exact:
    """Return the tokens that are no leaders."""
    return np.delete(run.case.tokens, run.leaders, axis=0)


@claim(
    "hardmax/claim-figure-2-rows",
    HARDMAX.at("Section 1.1, Figure 2"),
    evidence="certified",
    num_trials=1,
    note="the paper prints no coordinates, but S of (4.1) is a function of K alone, so that two rows with the same "
    "K have the same S: here both contain the midpoints of all edges and the origin; "
    "no control: the reading is the positive case",
)
def rows_differ_in_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
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
    first, second = _row("C"), certified_run(Case(moved, identity(2), rational("alpha", ALPHA)))
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
        ),
        witness=second.case.witness(),
    )


@claim(
    "hardmax/claim-figure-2-rows/attained",
    HARDMAX.at("Section 1.1, Figure 2"),
    evidence="certified",
    num_trials=8,
    variant="reading",
    note="read: the cluster set is the set of limits of the tokens, which is not determined by K alone",
)
def rows_differ_in_limits(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the same leaders and the same K, the limits of the tokens are the four leaders in one row, and two further
    points in the other.
    """
    return _attained_trial(key, on_axes=True)


@rows_differ_in_limits.with_control
def rows_differ_in_limits(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The two tokens at a distance of 1/50 from the axes."""
    return _attained_trial(key, on_axes=False)
