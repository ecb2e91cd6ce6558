"""Claims of Section 5.2: leaders and vertices."""

import numpy as np

from analysis.claims.hardmax.instances.certified_limits import CERTIFIED, End, ended, inside, moderate, tied
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


def _measured(found: Case, hypotheses: Case | None, *names: str) -> Trial:
    """Return a trial with the conclusions of those names."""
    end = ended(found)
    if isinstance(end, Trial):
        return end
    kept = {
        "only if": lambda: inside(
            "every limit of a leader is a vertex of K", end.proof.limits[end.leaders], end.corners
        ),
        "if": lambda: _are_leaders(end, [i for i in range(len(end.proof.limits)) if _at_vertex(end, i)]),
        "if attained": lambda: _are_leaders(end, _attaining(end)),
        "finite": lambda: leader_measures(end)[0],
        "every vertex": lambda: _is_led(end),
    }
    measured = (found if hypotheses is None else hypotheses).measured()
    return Trial(
        hypotheses=(*measured, holds("the follower sets are final", end.proof.certified)),
        conclusions=tuple(kept[name]() for name in names),
        witness={**found.witness(), "limits": end.proof.limits, "leaders": end.proof.leaders},
    )


def _at_vertex(end: End, i: int) -> bool:
    return tuple(end.proof.limits[i]) in end.corners


def _attaining(end: End) -> list[int]:
    """Return the tokens that have the value of a vertex at the certificate's layer: the others move for ever."""
    final = end.states(end.proof.layers)[-1]
    return [i for i in range(len(final)) if _at_vertex(end, i) and bool(np.all(final[i] == end.proof.limits[i]))]


def _are_leaders(end: End, tokens: list[int]) -> Measurement:
    return holds("every token in question is a leader", all(end.proof.leaders[i] >= 0 for i in tokens))


def _is_led(end: End) -> Measurement:
    """Measure whether every vertex is the value of a leader at the layer at which it became one."""
    states = end.states(end.proof.layers)
    led = {tuple(states[end.proof.leaders[i]][i]) for i in end.leaders}
    return holds("every vertex of K is the value of a leader", end.corners <= led)


@claim(
    "hardmax/proposition-5.3-only-if",
    HARDMAX.at("Proposition 5.3"),
    evidence="certified",
    num_trials=12,
    note=CERTIFIED,
)
def limits_of_leaders_are_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If a token is a leader, its limit is a vertex of K."""
    return _measured(moderate(key), None, "only if")


@limits_of_leaders_are_vertices.with_control
def limits_of_leaders_are_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Leaders taken to be all tokens that tend to S, those in the middles of faces too."""
    end = ended(tied(key))
    if isinstance(end, Trial):
        return end
    return Trial(end.measured(), (inside("every limit is a vertex of K", end.proof.limits, end.corners),))


@claim(
    "hardmax/proposition-5.3-if",
    HARDMAX.at("Proposition 5.3"),
    evidence="certified",
    num_trials=1,
    note="two tokens on a line: the inner one follows the outer one at every layer, tends to it, and never "
    "follows only itself; the proof shows that a vertex has some leader, not that every token that tends "
    "to it is one; no control: the corrected claim is the positive case",
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
    return _measured(moderate(key), None, "if attained")


@tokens_that_attain_vertices_are_leaders.with_control
def tokens_that_attain_vertices_are_leaders(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token twice: both attain the vertex and follow each other."""
    found = moderate(key)
    return _measured(found.doubled, found, "if attained")


@claim("hardmax/lemma-5.4", HARDMAX.at("Lemma 5.4"), evidence="certified", num_trials=12, note=CERTIFIED)
def leaders_attain_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If a token is a leader, it attains a vertex of K in finitely many layers."""
    return _measured(moderate(key), None, "only if", "finite")


@leaders_attain_vertices.with_control
def leaders_attain_vertices(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Leaders taken to be all tokens whose limit is a vertex."""
    end = ended(moderate(key))
    if isinstance(end, Trial):
        return end
    followers = [i for i in range(len(end.proof.limits)) if _at_vertex(end, i)]
    return Trial(end.measured(), (holds("all attain it", set(followers) <= set(_attaining(end))),))


@claim("hardmax/lemma-5.5", HARDMAX.at("Lemma 5.5"), evidence="certified", num_trials=12, note=CERTIFIED)
def every_vertex_is_a_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """If v is a vertex of K, there are a leader z_i and a layer k with v = z_i^k."""
    return _measured(moderate(key), None, "every vertex")


@every_vertex_is_a_leader.with_control
def every_vertex_is_a_leader(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Every token twice: no leader at all."""
    found = moderate(key)
    return _measured(found.doubled, found, "every vertex")
