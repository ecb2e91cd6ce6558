"""Claims of Section 1.1 on the set S: which projections of the origin belong to it, and Figure 2."""

from functools import partial

import jax
import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CertifiedRun,
    Measures,
    certified_run,
    certified_trial,
    tied_case,
    values,
)
from analysis.claims.hardmax.instances.clouds import ClusteringCase
from analysis.claims.hardmax.instances.zoo import FACES, arc, hard_case
from analysis.claims.hardmax.section_01_theorem import projection_measures
from analysis.claims.rational_instances import Exact, identity, matrix, rational_weights
from analysis.hardmax.candidates import projection_of_origin, support_gap
from analysis.hardmax.polytopes import Polytope, contains, faces
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, equal, holds
from dynsim._core.types import Key
from dynsim.exact import rational, rationals
from dynsim.systems.hardmax.examples import ALPHA, FIGURE_2


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
    return certified_trial({"box": tied_case(b), name: given, "arc": arc(c)}, _supporting(a, required=True))


@supporting_projections_are_the_candidates.with_control
def supporting_projections_are_the_candidates(key: Key) -> Trial:
    """Without the added condition, where the origin is outside K."""
    a, b = jax.random.split(key)
    return certified_trial({"arc": arc(a)}, _supporting(b, required=False))


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
