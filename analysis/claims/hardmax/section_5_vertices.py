"""Claims of Section 5.2: the correspondence of leaders and vertices of K."""

import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    certifiable_case,
    certified_run,
    is_subset,
    tied_case,
)
from analysis.claims.hardmax.instances.clouds import Case
from analysis.claims.hardmax.section_1_theorem import leader_measures
from analysis.claims.rational_instances import identity, matrix
from analysis.ledger.claim import claim
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._types import Key
from dynsim.exact import rational
from dynsim.integrators import AbstractIntegrator
from dynsim.papers import HARDMAX
from dynsim.systems.hardmax.examples import ALPHA


def _measured(given: Case, hypotheses: Case | None, *names: str) -> Trial:
    """Return a trial of a case with the named conclusions.

    Args:
        given: the case that is run.
        hypotheses: the case whose hypotheses are measured, for controls; the same one if None.
        names: `only if`, `if`, `if attained`, `finite`, `every vertex`.
    """
    run = certified_run(given)
    if isinstance(run, Trial):
        return run
    kept = {
        "only if": lambda: is_subset(
            "every limit of a leader is a vertex of K", run.certificate.limits[run.leaders], run.vertices
        ),
        "if": lambda: _are_leaders(run, [i for i in range(len(run.certificate.limits)) if _at_vertex(run, i)]),
        "if attained": lambda: _are_leaders(run, _attaining(run)),
        "finite": lambda: leader_measures(run)[0],
        "every vertex": lambda: _vertices_are_attained(run),
    }
    measured = (given if hypotheses is None else hypotheses).measured()
    return Trial(
        hypotheses=(*measured, holds("the follower sets are final", run.certificate.certified)),
        conclusions=tuple(kept[name]() for name in names),
        witness={**given.witness(), "limits": run.certificate.limits, "leaders": run.certificate.leader_layers},
    )


def _at_vertex(run: CertifiedRun, i: int) -> bool:
    return tuple(run.certificate.limits[i]) in run.vertices


def _attaining(run: CertifiedRun) -> list[int]:
    """Return the tokens that are at a vertex in the layer of the certificate; the others never attain theirs."""
    final = run.states(run.certificate.num_layers)[-1]
    return [i for i in range(len(final)) if _at_vertex(run, i) and bool(np.all(final[i] == run.certificate.limits[i]))]


def _are_leaders(run: CertifiedRun, tokens: list[int]) -> Measurement:
    return holds("every such token is a leader", all(run.certificate.leader_layers[i] >= 0 for i in tokens))


def _vertices_are_attained(run: CertifiedRun) -> Measurement:
    """Measure whether every vertex is the value of a leader at the layer at which that token becomes a leader."""
    states = run.states(run.certificate.num_layers)
    led = {tuple(states[run.certificate.leader_layers[i]][i]) for i in run.leaders}
    return holds("every vertex of K is the value of a leader", run.vertices <= led)


@claim(
    "hardmax/proposition-5.3-only-if",
    HARDMAX.at("Proposition 5.3"),
    evidence="certified",
    num_trials=12,
    note=CERTIFIED,
)
def limits_of_leaders_are_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If a token is a leader, its limit is a vertex of K."""
    return _measured(certifiable_case(key), None, "only if")


@limits_of_leaders_are_vertices.with_control
def limits_of_leaders_are_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """All tokens in place of leaders, including those whose limit is the centre of a face."""
    run = certified_run(tied_case(key))
    if isinstance(run, Trial):
        return run
    return Trial(run.measured(), (is_subset("every limit is a vertex of K", run.certificate.limits, run.vertices),))


@claim(
    "hardmax/proposition-5.3-if",
    HARDMAX.at("Proposition 5.3"),
    evidence="certified",
    num_trials=1,
    note="two tokens on a line: the inner one follows the outer one at every layer and converges to it, but is never a "
    "leader; the proof shows that a vertex is the limit of some leader, not that every token that converges to it is "
    "one; no control: the corrected claim is the positive case",
)
def tokens_that_tend_to_vertices_are_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If the limit of a token is a vertex of K, the token is a leader."""
    return _measured(Case(matrix([[1], [2]]), identity(1), rational("alpha", ALPHA)), None, "if")


@claim(
    "hardmax/proposition-5.3-if/corrected",
    HARDMAX.at("Proposition 5.3"),
    evidence="certified",
    num_trials=12,
    variant="corrected",
    note="added: the token attains the vertex in finitely many layers",
)
def tokens_that_attain_vertices_are_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If a token attains a vertex of K in finitely many layers, the token is a leader."""
    return _measured(certifiable_case(key), None, "if attained")


@tokens_that_attain_vertices_are_leaders.with_control
def tokens_that_attain_vertices_are_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token repeated: two equal tokens attain the vertex and follow each other."""
    given = certifiable_case(key)
    return _measured(given.doubled, given, "if attained")


@claim("hardmax/lemma-5.4", HARDMAX.at("Lemma 5.4"), evidence="certified", num_trials=12, note=CERTIFIED)
def leaders_attain_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If a token is a leader, it attains a vertex of K in finitely many layers."""
    return _measured(certifiable_case(key), None, "only if", "finite")


@leaders_attain_vertices.with_control
def leaders_attain_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """All tokens whose limit is a vertex in place of leaders."""
    run = certified_run(certifiable_case(key))
    if isinstance(run, Trial):
        return run
    followers = [i for i in range(len(run.certificate.limits)) if _at_vertex(run, i)]
    return Trial(
        run.measured(), (holds("every such token attains the vertex", set(followers) <= set(_attaining(run))),)
    )


@claim("hardmax/lemma-5.5", HARDMAX.at("Lemma 5.5"), evidence="certified", num_trials=12, note=CERTIFIED)
def every_vertex_is_a_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If v is a vertex of K, there are a leader z_i and a layer k with v = z_i^k."""
    return _measured(certifiable_case(key), None, "every vertex")


@every_vertex_is_a_leader.with_control
def every_vertex_is_a_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token repeated: there are no leaders."""
    given = certifiable_case(key)
    return _measured(given.doubled, given, "every vertex")
