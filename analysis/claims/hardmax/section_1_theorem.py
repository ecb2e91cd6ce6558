"""Claims of Section 1: Theorem 1.1, Remark 1.2, the set S, and Figure 2."""

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import CERTIFIED, End, ended, inside, moderate, tied, values
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.rational_instances import Exact, identity, matrix, rational_weights
from analysis.hardmax.candidates import projection_of_origin, reach
from analysis.hardmax.polytopes import Polytope, contains, faces
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, equal, holds
from dynsim._types import Key
from dynsim.exact import rational, rationals
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.examples import ALPHA, FIGURE_2


def _convergence_trial(end: End | Trial, candidates: set[tuple] | None = None) -> Trial:
    if isinstance(end, Trial):
        return end
    S = values(end.candidates.points) if candidates is None else candidates
    return Trial(
        hypotheses=end.measured(),
        conclusions=(inside("every limit is in S", end.proof.limits, S),),
        witness={**end.case.witness(), "limits": end.proof.limits},
    )


@claim(
    "hardmax/theorem-1.1-i",
    HARDMAX.at("Theorem 1.1 (i)"),
    evidence="certified",
    num_trials=16,
    note=f"{CERTIFIED}; S is (4.1) in the metric of A, listed by faces, so finite; that it lies on the boundary"
    f" of K is lemma-4.1-boundary",
)
def tokens_converge_to_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For distinct nonzero tokens and A symmetric positive definite, every token tends to a point of a finite set S."""
    return _convergence_trial(ended(moderate(key)))


@tokens_converge_to_candidates.with_control
def tokens_converge_to_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the vertices alone in place of S, on clouds with ties."""
    end = ended(tied(key))
    return end if isinstance(end, Trial) else _convergence_trial(end, end.corners)


def leader_measures(end: End) -> tuple[Measurement, ...]:
    """Measure that leaders attain the vertices of K, each its own, and that there are no other vertices."""
    first, limits = end.proof.leaders, end.proof.limits
    states = end.states(max([0, *(int(first[i]) for i in end.leaders)]))
    return (
        holds(
            "every leader attains its limit", all(bool(np.all(states[first[i]][i] == limits[i])) for i in end.leaders)
        ),
        inside("every limit of a leader is a vertex of K", limits[end.leaders], end.corners),
        equal("distinct limits of leaders", len(values(limits[end.leaders])), len(end.leaders), tolerance=0),
        equal("vertices of K", len(end.corners), len(end.leaders), tolerance=0),
    )


def leader_trial(found: Case, hypotheses: Case | None = None) -> Trial:
    """Measure the hypotheses, of another case for a control, and that leaders and vertices correspond."""
    end = ended(found)
    if isinstance(end, Trial):
        return end
    measured = (found if hypotheses is None else hypotheses).measured()
    return Trial(measured, leader_measures(end), {**found.witness(), "leaders": end.proof.leaders})


@claim(
    "hardmax/theorem-1.1-ii",
    HARDMAX.at("Theorem 1.1 (ii)"),
    evidence="certified",
    num_trials=16,
    note=f"{CERTIFIED}; leaders by Definition 1.1, by index",
)
def leaders_reach_distinct_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every leader reaches a distinct vertex of K in finitely many layers, and K has as many vertices as leaders."""
    return leader_trial(moderate(key))


@leaders_reach_distinct_vertices.with_control
def leaders_reach_distinct_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token twice: none follows only itself, and K has vertices all the same."""
    found = moderate(key)
    return leader_trial(found.doubled, found)


def projection_trial(found: Case, metric: Exact | None = None) -> Trial:
    """Measure that the points of S that are no vertices are projections of the origin on a face, in a metric."""
    end = ended(found)
    if isinstance(end, Trial):
        return end
    A = found.attention if metric is None else metric
    others = [s for s in {*values(end.candidates.points), *values(end.proof.limits)} if s not in end.corners]
    return Trial(
        hypotheses=(*end.measured(), holds("S has points that are no vertices", bool(others))),
        conclusions=(
            holds(
                "each is the projection on the least face that holds it", all(_projects(end.body, s, A) for s in others)
            ),
        ),
        witness={**found.witness(), "points": others},
    )


def _projects(body: Polytope, point: tuple, A: Exact) -> bool:
    s = rationals("s", point)
    holding = [set(facet) for facet, slack in zip(body.facets, body.slacks(s), strict=True) if slack == 0]
    face = sorted(set(body.vertices).intersection(*holding))
    return bool(np.all(projection_of_origin(body.points[face], A) == s))


@claim(
    "hardmax/theorem-1.1-iii",
    HARDMAX.at("Theorem 1.1 (iii)"),
    evidence="certified",
    num_trials=12,
    note=f"{CERTIFIED}; measured on S of (4.1) and on the limits that tokens attain; K counts as a face of "
    f"itself, needed for the origin",
)
def other_points_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A point of S that is no vertex of K is the projection of the origin on a face of K in the norm of A."""
    return projection_trial(tied(key))


@other_points_are_projections.with_control
def other_points_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """In the Euclidean norm in place of that of A."""
    found = tied(key)
    return projection_trial(found, identity(len(found.factor)))


def _remark_trial(found: Case, hypotheses: Case | None = None) -> Trial:
    end = ended(found)
    if isinstance(end, Trial):
        return end
    inner = inside("every vertex of K is in S", end.body.corners, values(end.candidates.points))
    attained = holds("the vertices are the limits of leaders", end.corners == values(end.proof.limits[end.leaders]))
    measured = (found if hypotheses is None else hypotheses).measured()
    return Trial(measured, (inner, attained, leader_measures(end)[0]), found.witness())


@claim("hardmax/remark-1.2", HARDMAX.at("Remark 1.2"), evidence="certified", num_trials=12, note=CERTIFIED)
def vertices_are_limits_of_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S contains the vertices of K, which are exactly the limits of the leaders, attained in finitely many layers."""
    return _remark_trial(moderate(key))


@vertices_are_limits_of_leaders.with_control
def vertices_are_limits_of_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token twice: there are vertices and no leaders."""
    found = moderate(key)
    return _remark_trial(found.doubled, found)


def _projections(body: Polytope, A: Exact) -> list[np.ndarray]:
    """Return the projections of the origin on the faces that they lie in."""
    found = [projection_of_origin(body.points[list(face)], A) for group in faces(body) for face in group]
    return [p for p in found if contains(body, p)]


@claim(
    "hardmax/claim-s-all-projections",
    HARDMAX.at("Section 1.1"),
    evidence="certified",
    num_trials=1,
    note="read: every projection of the origin on a face belongs to S; the witness is a triangle of leaders "
    "beyond the origin, whose nearest point to the origin is the middle of an edge; "
    "no control: the corrected claim is the positive case",
)
def every_projection_is_a_candidate(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S consists of the vertices of K and of the projections of the origin onto its faces: each belongs to S."""
    end = ended(Case(matrix([[4, 0], [0, 4], [3, 3], [1, 2]]), identity(2), rational("alpha", ALPHA)))
    if isinstance(end, Trial):
        return end
    missing = [p for p in _projections(end.body, end.case.attention) if tuple(p) not in values(end.candidates.points)]
    farther = [reach(end.body, p) for p in missing]
    return Trial(
        hypotheses=(*end.measured(), equal("leaders", len(end.leaders), 3, tolerance=0)),
        conclusions=(holds("every projection is in S", not missing),),
        witness={**end.case.witness(), "projections not in S": missing, "max <v - p, p>": farther},
    )


def _supporting_trial(key: Key, end: End | Trial, *, supporting: bool = True) -> Trial:
    if isinstance(end, Trial):
        return end
    A, S = end.case.attention, values(end.candidates.points)
    weights = rational_weights(key, 24, len(end.body.vertices))
    mixtures = [w @ end.body.corners / sum(w) for w in weights]
    behind = lambda p: all((end.body.corners - p) @ (A @ p) <= 0)
    projected = [p for p in _projections(end.body, A) if behind(p) or not supporting]
    elsewhere = [x for x in mixtures if tuple(x) not in values(np.stack(projected))]
    return Trial(
        hypotheses=(*end.measured(), holds("other points were tried", bool(elsewhere))),
        conclusions=(
            inside("those projections are in S", np.stack(projected), S),
            holds("other points are not", all(reach(end.body, x, A) > 0 for x in elsewhere)),
        ),
        witness=end.case.witness(),
    )


@claim(
    "hardmax/claim-s-all-projections/corrected",
    HARDMAX.at("Section 1.1"),
    evidence="certified",
    num_trials=8,
    variant="corrected",
    note="added: the hyperplane through the projection p, normal to A p, must have K on the side of the "
    "origin; vertices are projections on themselves",
)
def supporting_projections_are_the_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S consists of the projections p of the origin onto faces of K for which K lies in {x : <A p, x> <= <A p, p>}."""
    a, b = jax.random.split(key)
    return _supporting_trial(a, ended(tied(b)))


@supporting_projections_are_the_candidates.with_control
def supporting_projections_are_the_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the added condition, for the triangle of the printed statement."""
    triangle = Case(matrix([[4, 0], [0, 4], [3, 3]]), identity(2), rational("alpha", ALPHA))
    return _supporting_trial(key, ended(triangle), supporting=False)


def _row(name: str) -> End | Trial:
    return ended(Case(rationals("tokens", np.array(FIGURE_2[name], object)), identity(2), rational("alpha", ALPHA)))


@claim(
    "hardmax/claim-figure-2-rows",
    HARDMAX.at("Section 1.1, Figure 2"),
    evidence="certified",
    num_trials=1,
    note="the paper prints no coordinates, but S of (4.1) is a function of K alone, so that no two rows with "
    "one K can differ in it; here also: both contain the middles of all edges and the origin; "
    "no control: the reading is the positive case",
)
def rows_differ_in_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Two clouds with the same leaders and the same K, rows (C) and (D) of Figure 2, differ in the set S of (4.1)."""
    first, second = _row("C"), _row("D")
    if isinstance(first, Trial) or isinstance(second, Trial):
        return Trial.unfinished("a row has no certificate")
    S = [values(end.candidates.points) for end in (first, second)]
    return Trial(
        hypotheses=(
            *first.measured(),
            *second.measured(),
            holds("the leaders are the same", first.leaders == second.leaders),
            holds("K is the same", first.corners == second.corners),
        ),
        conclusions=(holds("S differs", S[0] != S[1]),),
        witness={"tokens C": first.case.tokens, "tokens D": second.case.tokens, "S": sorted(S[0])},
    )


def _attained_trial(key: Key, *, on_axes: bool) -> Trial:
    """Replace the last two tokens of row (D) by others on the two axes, or off them, and compare with row (C)."""
    t, u = rational_weights(key, 2) / 4
    off = 0 if on_axes else rational("off", "1/50")
    tokens = rationals("tokens", np.array(FIGURE_2["D"][:-2], object))
    moved = np.concatenate([tokens, matrix([[t, off], [off, -u / 2]])])
    first, second = _row("C"), ended(Case(moved, identity(2), rational("alpha", ALPHA)))
    if isinstance(first, Trial) or isinstance(second, Trial):
        return Trial.unfinished("a row has no certificate")
    extra = values(second.proof.limits) - values(first.proof.limits)
    return Trial(
        hypotheses=(
            *first.measured(),
            holds("t and u are inside of K", bool(t < 2 and u / 2 < 1)),
            holds("K is the same", first.corners == second.corners),
        ),
        conclusions=(
            holds("row (C) ends at its four leaders", values(first.proof.limits) == first.corners),
            holds("the other ends also at the two middles", extra == {(2, 0), (0, -1)}),
        ),
        witness=second.case.witness(),
    )


@claim(
    "hardmax/claim-figure-2-rows/attained",
    HARDMAX.at("Section 1.1, Figure 2"),
    evidence="certified",
    num_trials=8,
    variant="reading",
    note="read: the cluster set is the set of limits that tokens attain, which depends on more than K",
)
def rows_differ_in_limits(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the same leaders and K, tokens end at the four leaders in one row, and at two points more in the other."""
    return _attained_trial(key, on_axes=True)


@rows_differ_in_limits.with_control
def rows_differ_in_limits(key: Key, integrator: AbstractIntegrator) -> Trial:
    """With the two tokens a fiftieth off the axes."""
    return _attained_trial(key, on_axes=False)
