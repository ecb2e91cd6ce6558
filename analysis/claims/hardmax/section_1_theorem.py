"""Claims of Section 1: Theorem 1.1, Remark 1.2, the set S, and Figure 2."""

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    certifiable_case,
    certified_run,
    is_subset,
    tied_case,
    values,
)
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.rational_instances import Exact, identity, matrix, rational_weights
from analysis.hardmax.candidates import projection_of_origin, support_gap
from analysis.hardmax.polytopes import Polytope, contains, faces
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, equal, holds
from dynsim._types import Key
from dynsim.exact import rational, rationals
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.examples import ALPHA, FIGURE_2


def _convergence_trial(run: CertifiedRun | Trial, candidates: set[tuple] | None = None) -> Trial:
    if isinstance(run, Trial):
        return run
    S = values(run.candidates.points) if candidates is None else candidates
    return Trial(
        hypotheses=run.measured(),
        conclusions=(is_subset("every limit is in S", run.certificate.limits, S),),
        witness={**run.case.witness(), "limits": run.certificate.limits},
    )


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
    """
    return _convergence_trial(certified_run(certifiable_case(key)))


@tokens_converge_to_candidates.with_control
def tokens_converge_to_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Only the vertices of K in place of S, on tokens with ties."""
    run = certified_run(tied_case(key))
    return run if isinstance(run, Trial) else _convergence_trial(run, run.vertices)


def leader_measures(run: CertifiedRun) -> tuple[Measurement, ...]:
    """Measure that leaders attain distinct vertices of K in finitely many layers, and that K has no other vertices."""
    first, limits = run.certificate.leader_layers, run.certificate.limits
    states = run.states(max([0, *(int(first[i]) for i in run.leaders)]))
    return (
        holds(
            "every leader attains its limit", all(bool(np.all(states[first[i]][i] == limits[i])) for i in run.leaders)
        ),
        is_subset("every limit of a leader is a vertex of K", limits[run.leaders], run.vertices),
        equal("number of distinct limits of leaders", len(values(limits[run.leaders])), len(run.leaders), tolerance=0),
        equal("number of vertices of K", len(run.vertices), len(run.leaders), tolerance=0),
    )


def leader_trial(given: Case, hypotheses: Case | None = None) -> Trial:
    """Measure that leaders and vertices of K correspond; a control measures the hypotheses on another case."""
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    measured = (given if hypotheses is None else hypotheses).measured()
    return Trial(measured, leader_measures(run), {**given.witness(), "leaders": run.certificate.leader_layers})


@claim(
    "hardmax/theorem-1.1-ii",
    HARDMAX.at("Theorem 1.1 (ii)"),
    evidence="certified",
    num_trials=16,
    note=f"{CERTIFIED}; leaders are token indices, as in Definition 1.1",
)
def leaders_reach_distinct_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every leader reaches a distinct vertex of K in finitely many layers, and K has as many vertices as leaders."""
    return leader_trial(certifiable_case(key))


@leaders_reach_distinct_vertices.with_control
def leaders_reach_distinct_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token repeated: no C_i is {i}, so that there are no leaders, although K has vertices."""
    given = certifiable_case(key)
    return leader_trial(given.doubled, given)


def projection_trial(given: Case, metric: Exact | None = None) -> Trial:
    """Measure that the points of S that are not vertices are projections of the origin onto a face, in a metric."""
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    A = given.attention if metric is None else metric
    others = [s for s in {*values(run.candidates.points), *values(run.certificate.limits)} if s not in run.vertices]
    return Trial(
        hypotheses=(*run.measured(), holds("S has points that are not vertices", bool(others))),
        conclusions=(
            holds(
                "each is the projection onto the smallest face that contains it",
                all(_projects(run.body, s, A) for s in others),
            ),
        ),
        witness={**given.witness(), "points": others},
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
    note=f"{CERTIFIED}; measured on S of (4.1) and on the limits of the tokens; K counts as a face of itself, "
    f"which is needed for the origin",
)
def other_points_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A point of S that is not a vertex of K is the projection of the origin onto a face of K in the norm of A."""
    return projection_trial(tied_case(key))


@other_points_are_projections.with_control
def other_points_are_projections(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The projection in the Euclidean norm in place of the norm of A."""
    given = tied_case(key)
    return projection_trial(given, identity(len(given.factor)))


def _remark_trial(given: Case, hypotheses: Case | None = None) -> Trial:
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    inner = is_subset("every vertex of K is in S", run.body.vertex_points, values(run.candidates.points))
    attained = holds(
        "the vertices are the limits of leaders", run.vertices == values(run.certificate.limits[run.leaders])
    )
    measured = (given if hypotheses is None else hypotheses).measured()
    return Trial(measured, (inner, attained, leader_measures(run)[0]), given.witness())


@claim("hardmax/remark-1.2", HARDMAX.at("Remark 1.2"), evidence="certified", num_trials=12, note=CERTIFIED)
def vertices_are_limits_of_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S contains the vertices of K, which are exactly the limits of the leaders, attained in finitely many layers."""
    return _remark_trial(certifiable_case(key))


@vertices_are_limits_of_leaders.with_control
def vertices_are_limits_of_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token repeated: K has vertices, and no token is a leader."""
    given = certifiable_case(key)
    return _remark_trial(given.doubled, given)


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
    run = certified_run(Case(matrix([[4, 0], [0, 4], [3, 3], [1, 2]]), identity(2), rational("alpha", ALPHA)))
    if isinstance(run, Trial):
        return run
    missing = [p for p in _projections(run.body, run.case.attention) if tuple(p) not in values(run.candidates.points)]
    farther = [support_gap(run.body, p) for p in missing]
    return Trial(
        hypotheses=(*run.measured(), equal("number of leaders", len(run.leaders), 3, tolerance=0)),
        conclusions=(holds("every projection is in S", not missing),),
        witness={**run.case.witness(), "projections not in S": missing, "max <v - p, p>": farther},
    )


def _supporting_trial(key: Key, run: CertifiedRun | Trial, *, supporting: bool = True) -> Trial:
    if isinstance(run, Trial):
        return run
    A, S = run.case.attention, values(run.candidates.points)
    weights = rational_weights(key, 24, len(run.body.vertices))
    mixtures = [w @ run.body.vertex_points / sum(w) for w in weights]
    supports = lambda p: all((run.body.vertex_points - p) @ (A @ p) <= 0)
    projected = [p for p in _projections(run.body, A) if supports(p) or not supporting]
    elsewhere = [x for x in mixtures if tuple(x) not in values(np.stack(projected))]
    return Trial(
        hypotheses=(
            *run.measured(),
            holds("some points of K other than these projections were tried", bool(elsewhere)),
        ),
        conclusions=(
            is_subset("these projections are in S", np.stack(projected), S),
            holds("the other points are not in S", all(support_gap(run.body, x, A) > 0 for x in elsewhere)),
        ),
        witness=run.case.witness(),
    )


@claim(
    "hardmax/claim-s-all-projections/corrected",
    HARDMAX.at("Section 1.1"),
    evidence="certified",
    num_trials=8,
    variant="corrected",
    note="added: the hyperplane through the projection p with normal A p supports K, with K and the origin on the "
    "same side; a vertex is the projection onto itself as a face",
)
def supporting_projections_are_the_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """S consists of the projections p of the origin onto faces of K for which K lies in {x : <A p, x> <= <A p, p>}."""
    a, b = jax.random.split(key)
    return _supporting_trial(a, certified_run(tied_case(b)))


@supporting_projections_are_the_candidates.with_control
def supporting_projections_are_the_candidates(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Without the added condition, for the triangle that refutes the printed statement."""
    triangle = Case(matrix([[4, 0], [0, 4], [3, 3]]), identity(2), rational("alpha", ALPHA))
    return _supporting_trial(key, certified_run(triangle), supporting=False)


def _row(name: str) -> CertifiedRun | Trial:
    return certified_run(
        Case(rationals("tokens", np.array(FIGURE_2[name], object)), identity(2), rational("alpha", ALPHA))
    )


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
        witness={"tokens C": first.case.tokens, "tokens D": second.case.tokens, "S": sorted(S[0])},
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
