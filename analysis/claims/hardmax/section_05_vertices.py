"""Claims of Section 5.2: the correspondence of leaders and vertices of K."""

from dataclasses import replace

import numpy as np

from analysis.claims.hardmax.instances.certified_limits import (
    CERTIFIED,
    CertifiedRun,
    certified_trial,
    is_subset,
    trial_with_twins,
    with_late_leaders,
)
from analysis.claims.hardmax.instances.clouds import ClusteringCase
from analysis.claims.hardmax.instances.zoo import polygon
from analysis.claims.hardmax.section_01_theorem import attained_limits
from analysis.claims.rational_instances import identity, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._core.types import Key
from dynsim.exact import rational
from dynsim.systems.hardmax.examples import ALPHA


def _only_if(run: CertifiedRun) -> tuple[Measurement, ...]:
    ends = run.certificate.limits[run.leaders]
    return (is_subset("every limit of a leader is a vertex of K", ends, run.vertices),)


def _if_attained(run: CertifiedRun) -> tuple[Measurement, ...]:
    return (_are_leaders(run, _attaining(run)),)


def _finite(run: CertifiedRun) -> tuple[Measurement, ...]:
    return (*_only_if(run), attained_limits(run))


def _every_vertex(run: CertifiedRun) -> tuple[Measurement, ...]:
    """Measure whether every vertex is the value of a leader at the layer at which that token becomes a leader."""
    first = run.certificate.leader_layers
    led = {tuple(run.states(int(first[i]))[-1][i]) for i in run.leaders}
    return (holds("every vertex of K is the value of a leader", run.vertices <= led),)


def _at_vertex(run: CertifiedRun, i: int) -> bool:
    return tuple(run.certificate.limits[i]) in run.vertices


def _attaining(run: CertifiedRun) -> list[int]:
    """Return the tokens that are at a vertex in the layer of the certificate; the others never attain theirs."""
    final = run.states(run.certificate.num_layers)[-1]
    return [i for i in range(len(final)) if _at_vertex(run, i) and bool(np.all(final[i] == run.certificate.limits[i]))]


def _are_leaders(run: CertifiedRun, tokens: list[int]) -> Measurement:
    return holds("every such token is a leader", all(run.certificate.leader_layers[i] >= 0 for i in tokens))


@certified("hardmax/proposition-5.3-only-if", num_trials=12, note=CERTIFIED)
def limits_of_leaders_are_vertices(key: Key) -> Trial:
    """If a token is a leader, its limit is a vertex of K. In each trial one leader appears after layer 0."""
    return certified_trial(with_late_leaders(key), _only_if)


@limits_of_leaders_are_vertices.with_control
def limits_of_leaders_are_vertices(key: Key) -> Trial:
    """All tokens in place of leaders, including those whose limit is the midpoint of a side."""
    all_limits = lambda run: (is_subset("every limit is a vertex of K", run.certificate.limits, run.vertices),)
    return certified_trial({"polygon": polygon(key)}, all_limits)


@certified(
    "hardmax/proposition-5.3-if",
    num_trials=1,
    note="two tokens on a line: the inner one follows the outer one at every layer and converges to it, but is never a "
    "leader; the proof shows that a vertex is the limit of some leader, not that every token that converges to it is "
    "one",
)
def tokens_that_tend_to_vertices_are_leaders(key: Key) -> Trial:
    """If the limit of a token is a vertex of K, the token is a leader."""
    given = ClusteringCase(matrix([[1], [2]]), identity(1), rational("alpha", ALPHA))
    trial = certified_trial(
        {"two tokens": given},
        lambda run: (_are_leaders(run, [i for i in range(len(run.certificate.limits)) if _at_vertex(run, i)]),),
    )
    return replace(trial, witness={**given.witness(), "layers": 8})


tokens_that_attain_vertices_are_leaders = certified(
    "hardmax/proposition-5.3-if/corrected",
    statement="""If a token attains a vertex of K in finitely many layers, the token is a leader.

    In each trial one leader appears after layer 0.
    """,
    trial=lambda key: certified_trial(with_late_leaders(key), _if_attained),
    # One token of largest norm given twice: both attain the vertex and follow each other.
    control=lambda key: trial_with_twins(key, _if_attained),
    num_trials=12,
    note="added: the token attains the vertex in finitely many layers; the proof of Theorem 1.1 uses the proposition "
    "only to identify the vertices with the limits of leaders, which lemma-5.4 and lemma-5.5 show",
)


@certified("hardmax/lemma-5.4", num_trials=12, note=CERTIFIED)
def leaders_attain_vertices(key: Key) -> Trial:
    """If a token is a leader, it attains a vertex of K in finitely many layers: at the layer where C_i = {i}.

    In each trial one leader appears after layer 0.
    """
    return certified_trial(with_late_leaders(key), _finite)


@leaders_attain_vertices.with_control
def leaders_attain_vertices(key: Key) -> Trial:
    """All tokens whose limit is a vertex in place of leaders."""

    def attain(run: CertifiedRun) -> tuple[Measurement, ...]:
        followers = [i for i in range(len(run.certificate.limits)) if _at_vertex(run, i)]
        return (holds("every such token attains the vertex", set(followers) <= set(_attaining(run))),)

    return certified_trial(with_late_leaders(key), attain)


@certified("hardmax/lemma-5.5", num_trials=12, note=CERTIFIED)
def every_vertex_is_a_leader(key: Key) -> Trial:
    """If v is a vertex of K, there are a leader z_i and a layer k with v = z_i^k.

    In each trial one leader appears after layer 0.
    """
    return certified_trial(with_late_leaders(key), _every_vertex)


@every_vertex_is_a_leader.with_control
def every_vertex_is_a_leader(key: Key) -> Trial:
    """One token of largest norm given twice: no leader is at that vertex."""
    return trial_with_twins(key, _every_vertex)
