"""Claims of Section 1: Theorem 1.1 and Remark 1.2."""

from collections.abc import Callable

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    Measures,
    certified_trial,
    is_subset,
    skewed,
    tied_case,
    trial_with_twins,
    values,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.zoo import FACES, hard_case, polygon
from analysis.claims.hardmax.score_gaps import score_gap_measures
from analysis.claims.rational_instances import Exact, identity
from analysis.hardmax.candidates import projection_of_origin
from analysis.hardmax.polytopes import Polytope, contains
from analysis.ledger.claim import certified
from analysis.ledger.evidence import NON_NEGATIVE, Measurement, Trial, at_least, equal, holds
from dynsim._core.types import Key
from dynsim.exact import rationals


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
