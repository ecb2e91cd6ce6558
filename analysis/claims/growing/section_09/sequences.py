"""Claims of Section 9 on sequences of prunings, Corollaries 6 and 7, and on survivors and the head to be pruned."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.rational_heads import (
    HEADS,
    VALUES,
    RationalHeads,
    conditions,
    described,
    in_order,
    random_heads,
)
from analysis.claims.growing.instances.small_clouds import DIMENSION, TIMES, TOKENS, growing_system, run, with_values
from analysis.claims.growing.instances.tight_banks import lone_bank, tight_bank
from analysis.claims.prototype_banks import RationalBank, distances
from analysis.claims.prototypes.instances.clouds import MODES
from analysis.growing.pruning import heads_at
from analysis.growing.step_sizes import exchange_lipschitz
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng, random_key
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow, prune
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss

WEAK = (Fraction(4 * 10**6), Fraction(2), Fraction(1))  # both of the last Gamma are below 10^-6
CONSTANT = 10**9  # of O(phi_g^2); what the layers are made of is of order 10
DWELL, PHI, THRESHOLD, EVENTS = 2.0, 1e-3, 0.5, 2


def _three_heads(key: Key, *, trained: bool) -> tuple[GrowingFlow, Growing]:
    """Return three grown heads, two with Gamma < phi_g, on embeddings of a linear encoder that is trained or not."""
    rng = numpy_rng(key, "sequence")
    given: dict[str, Any] = {"initial_temperature": 1.0, "least_temperature": 0.6, "spread": 0.4, "prototypes": 3}
    rules = GrowthRules(THRESHOLD, PHI, capacity=HEADS, dwell=DWELL, prune_by="direction", release="retain", **given)
    mode = MODES[int(rng.integers(len(MODES)))]
    flow = GrowingFlow(
        0.3 * rng.normal(size=(TOKENS, DIMENSION)),
        with_values(key, (3000.0, 2.0, 1.0)),
        rules=rules,
        loss=PrototypeLoss(mode, reduction="mean"),
        encoder=LinearEncoder(DIMENSION, DIMENSION),
        encoder_rate=1.0 if trained else 0.0,
        prototype_rate=1.0,
        temperature_rate=1.0,
    )
    x = flow.start(random_key(0, "start"))._replace(encoder=jnp.eye(DIMENSION))
    for _ in range(HEADS):
        flow, x = grow(flow, 0.0, x)
    noise = 0.1 * rng.normal(size=x.prototypes.shape)
    return flow, x._replace(prototypes=x.prototypes + noise)


def _run(flow: GrowingFlow, x: Growing, integrator: AbstractIntegrator, *, pruning: bool) -> HybridTrajectory:
    if not pruning:
        flow = eqx.tree_at(lambda f: f.rules, flow, replace(flow.rules, pruning=0.0))
    return simulate_growing(flow, x, np.linspace(0.0, 3 * DWELL, TIMES), integrator=integrator)


@eqx.filter_jit
def _rate(flow: GrowingFlow, x: Growing) -> jax.Array:
    """Return the Lipschitz constant that limits how fast prototypes of the first head approach each other."""
    return exchange_lipschitz(flow.loss, flow.head_inputs(x)[0], x.prototypes[0], flow.temperatures(x)[0])


def _sequence_trial(key: Key, integrator: AbstractIntegrator, *, trained: bool, same: bool) -> Trial:
    """Measure the survivor of two prunings: S at the events and between, and whether its path is that without them."""
    flow, x = _three_heads(key, trained=trained)
    path, without = (_run(flow, x, integrator, pruning=word) for word in (True, False))
    names = [jump.name for jump in path.jumps if jump.name != "clip"]
    states = [jax.tree.map(lambda leaf, k=k: leaf[k], phase.ys) for phase in path.phases for k in (0, -1)]
    rate = 1.5 * max(float(_rate(flow, state)) for state in states) * float(flow.prototype_rate)
    ts, S = path.along(lambda y: separation(y.prototypes[0]))
    fall = np.log(np.asarray(S) / float(S[0])) + 2 * rate * np.asarray(ts)
    jumps = [
        np.max(np.abs(np.asarray(jump.after.prototypes)[kept] - np.asarray(jump.before.prototypes)[kept]))
        for jump, kept in zip([j for j in path.jumps if j.name == "prune"], ([0, 1], [0]), strict=False)
    ]
    apart = float(jnp.max(jnp.abs(path.final.prototypes[0] - without.final.prototypes[0])))
    left = flow_of(path.phases[-1])
    return Trial(
        (
            holds("two heads are pruned, one after the other", names == ["prune"] * EVENTS),
            holds("none without a threshold", all(jump.name == "clip" for jump in without.jumps)),
            at_least("S(P) at the start", S[0], 0.0, tolerance=ROUNDING),
        ),
        (
            holds("the head of the largest Gamma is left", np.flatnonzero(np.asarray(left.active)).tolist() == [0]),
            equal("change of the survivors' prototypes at the prunings", max(jumps), 0.0, tolerance=0.0),
            at_least("log of S(t) / S(0) + 2 eta_P L t", np.min(fall[1:]), 0.0, tolerance=SOLVER),
            holds("S(t) is positive", bool(np.all(np.asarray(S) > 0))),
            *([at_most("distance from the path without prunings", apart, 0.0, tolerance=1e-5)] if same else []),
        ),
        {"S": np.asarray(S), "t": np.asarray(ts), "eta_P L": rate, "distance": apart},
        parameters={"heads": HEADS, "encoder": "trained" if trained else "fixed", "mode": flow.loss.gradient},
    )


@claim(
    "growing/corollary-6",
    # The survivors' paths are as without prunings also where the encoder is trained.
    control=partial(_sequence_trial, trained=True, same=True),
    num_trials=3,
    note="from Theorem 6 (i) and (iv): a pruning touches no prototype of a survivor, and between events S stays "
    "positive by uniqueness of solutions, with a bound that has no trace of the events. Collapse is S = 0 at a finite "
    "time; S may still tend to 0, with or without prunings, above the critical temperature (theorem-6-iv), where they "
    "are heads that the Algorithm prunes in turn. With fixed embeddings the survivors' paths are those without "
    "prunings; a trained encoder feels the removed gradients, as in the control. In discrete time see theorem-7. Both "
    "modes, no barrier, prunings by Gamma",
)
def no_sequence_of_prunings_collapses(key: Key, integrator: AbstractIntegrator) -> Trial:
    """After any sequence of prunings S(P_h)(t) > 0 for the survivors, by the bound S(t) >= S(0) exp(-2 eta_P L t) as
    without prunings; for fixed embeddings prunings leave the survivors' paths as they are.
    """
    trained = bool(numpy_rng(key, "encoder").integers(2))
    return _sequence_trial(key, integrator, trained=trained, same=not trained)


def _forces_along(heads: RationalHeads, rule: str) -> tuple[list[float], list[int]]:
    """Return the sums of forces that ship, before and after each of two prunings by a rule, and the slots that go."""
    flow, x = heads.system()
    flow = eqx.tree_at(lambda f: f.rules, flow, replace(flow.rules, prune_by=rule))
    sums, gone = [float(jnp.sum(heads_at(flow, x).forces))], []
    for _ in range(EVENTS):
        before = np.asarray(flow.active)
        flow, x = prune(flow, 0.0, x)
        gone += np.flatnonzero(before & ~np.asarray(flow.active)).tolist()
        sums.append(float(jnp.sum(heads_at(flow, x).forces)))
    return sums, gone


def _exact_sums(heads: RationalHeads, gone: list[int]) -> list[Fraction]:
    """Return the sums of forces before the prunings of these heads, and after each."""
    return [sum((heads.forces[h] for h in range(HEADS) if h not in gone[:j]), Fraction(0)) for j in range(EVENTS + 1)]


@certified(
    "growing/corollary-7",
    num_trials=3,
    note="adds up Theorem 6 (ii), which fails: Gamma = |B u|, B = M_a / |M_a|_F, depends on M_a alone, and the forces "
    "do not depend on M_a. Here for two prunings in succession, without any training between; with training F_sep "
    "changes of itself between events, by no power of phi_g, and the number of prunings is not bounded by d if "
    "directions are given back (theorem-5/release)",
)
def separation_is_homeostatic(key: Key) -> Trial:
    """After j prunings of heads with Gamma < phi_g < theta_w, F_sep^(j) >= F_sep^(0) - j O(phi_g^2), and all of at most
    d prunings lower F_sep by at most O(d phi_g^2).

    Read: F_sep is the sum over heads, the constant of O is at most 10^9.
    """
    heads = in_order(random_heads(key, WEAK), largest_last=True)
    sums, gone = _forces_along(heads, "direction")
    exact = _exact_sums(heads, gone)
    unit = CONSTANT * heads.pruning**2
    return Trial(
        (
            *conditions(heads, HEADS - 1),
            *conditions(heads, HEADS - 2),
            *described(heads),
            holds("both weak heads go, the weaker one first", gone == [HEADS - 1, HEADS - 2]),
            agrees("the sums of forces that ship", sums, np.array(exact, float)),
        ),
        (
            holds("F_sep^(1) >= F_sep^(0) - 10^9 phi_g^2", exact[1] >= exact[0] - unit),
            holds("F_sep^(2) >= F_sep^(0) - 2 10^9 phi_g^2", exact[2] >= exact[0] - 2 * unit),
            holds("F_sep^(2) >= F_sep^(0) - 10^9 d phi_g^2", exact[2] >= exact[0] - DIMENSION * unit),
        ),
        {**heads.witness(), "sums of forces": exact},
        parameters={"heads": HEADS, "prunings": EVENTS},
    )


def _tight_trial(key: Key, banks: tuple[RationalBank, RationalBank], phi: Fraction, *, largest: bool) -> Trial:
    """Measure the sum of forces as two heads with the prototypes of two banks are pruned by the Algorithm's rule."""
    drawn, z = random_heads(key, VALUES), banks[0].z
    heads = drawn._replace(banks=(drawn.banks[0]._replace(z=z), *(b._replace(z=z) for b in banks)), pruning=phi)
    sums, gone = _forces_along(heads, "separation")
    exact = _exact_sums(heads, gone)
    traces = [heads.diversities[h] ** 2 for h in gone]
    each = 4 * len(z) ** 2 * phi**2
    measure = np.max if largest else np.min
    of = lambda p: measure(distances(p, p)[np.triu_indices(len(p), 1)])
    word = "largest" if largest else "least"
    return Trial(
        (
            holds(f"the {word} distance in each pruned head is below phi_g", max(of(b.p) for b in banks) < phi**2),
            holds("phi_g is below theta_w", phi < Fraction(1, 2)),
        ),
        (
            holds("the heads of the least S go", sorted(gone) == [1, 2]),
            agrees("the sums of forces that ship", sums, np.array(exact, float)),
            *(
                holds(
                    f"F_sep^({j}) >= F_sep^(0) - 4 phi_g^2 sum of (tr Sigma_q)^2",
                    exact[j] >= exact[0] - 4 * phi**2 * sum(traces[:j]),
                )
                for j in range(1, EVENTS + 1)
            ),
            holds("all of it at most 4 N^2 phi_g^2 for each pruning", exact[0] - exact[-1] <= EVENTS * each),
            *described(heads),
        ),
        {**heads.witness(), "sums of forces": exact},
        parameters={"heads": HEADS, "prunings": EVENTS},
    )


@certified(
    "growing/corollary-7/corrected",
    num_trials=3,
    note="changed: distances in place of Gamma, and the falls at the prunings alone, not what training does between "
    "them; each is F_sep of the pruned head, at most 4 N^2 phi_g^2 as tr Sigma_q <= N",
)
def prunings_of_tight_heads_add_up(key: Key) -> Trial:
    """After j prunings the sum of F_sep is lower by at most 4 phi_g^2 sum (tr Sigma_q)^2 <= 4 j N^2 phi_g^2.

    Added: the largest distance of two prototypes of each pruned head is below phi_g.
    """
    banks = tuple(tight_bank(own) for own in jax.random.split(key))
    return _tight_trial(key, (banks[0], banks[1]), Fraction(1, 5), largest=True)


@prunings_of_tight_heads_add_up.with_control
def prunings_of_tight_heads_add_up(key: Key) -> Trial:
    """The least distance of two prototypes in place of the largest."""
    wider = lambda rows: np.concatenate([rows, 0 * rows, 0 * rows], axis=1)
    banks = [lone_bank(own) for own in jax.random.split(key)]
    wide = [bank._replace(z=wider(bank.z), p=wider(bank.p)) for bank in banks]
    return _tight_trial(key, (wide[0], wide[1]), Fraction(1, 5), largest=False)


COOLING: dict[str, Any] = {"initial_temperature": 0.5, "least_temperature": 0.2}


@claim(
    "growing/lemma-15",
    num_trials=2,
    note="Gamma depends on M_a alone and sigma does not depend on M_a: with values 2000, 1000 and 1 of M_a the third "
    "head is grown at theta_w = 1/2, cools to T_min, and has Gamma < phi_g = 1/1000. Nor is a head with S(P) < phi_g "
    "global: it cools as long as its prototypes differ and tokens see it",
)
def pruned_heads_are_global(key: Key, integrator: AbstractIntegrator) -> Trial:
    """A head with Gamma < phi_g < theta_w is global: it is not among those whose temperature reaches T_min."""
    flow = growing_system(key, (2000.0, 1000.0, 1.0), width=0.5, threshold=THRESHOLD, spread=0.5, dwell=4.0, **COOLING)
    path = run(flow, 14.0, integrator)
    last, x = flow_of(path.phases[-1]), path.final
    found = heads_at(last, x)
    T, least = np.asarray(last.temperatures(x)), float(last.rules.least_temperature)
    weak = int(np.argmin(np.where(np.asarray(last.active), found.energies, np.inf)))
    return Trial(
        (
            holds("Gamma is below phi_g", float(found.energies[weak]) < PHI < THRESHOLD),
            holds("the head was added above theta_w", float(last.levels[weak]) > THRESHOLD),
            at_least("S(P)", found.separations[weak], 0.0, tolerance=SOLVER),
            at_least("sigma", found.activities[weak], 0.0, tolerance=SOLVER),
        ),
        (holds("the temperature has not reached T_min", not bool(last.clipped[weak]) and T[weak] > least),),
        {"T": T, "sigma": np.asarray(found.activities), "events": [jump.name for jump in path.jumps]},
        parameters={"heads": int(np.sum(np.asarray(last.active))), "values of M_a": "2000, 1000, 1"},
    )


@eqx.filter_jit
def _largest_rate(flow: GrowingFlow, xs: Any, head: int) -> jax.Array:
    """Return the Lipschitz constant that limits how fast prototypes of a head approach each other, along a path."""
    inputs = lambda x: (flow.head_inputs(x)[head], x.prototypes[head], flow.temperatures(x)[head])
    return jnp.max(jax.vmap(lambda x: exchange_lipschitz(flow.loss, *inputs(x)))(xs))


def _survival_trial(key: Key, integrator: AbstractIntegrator, bound: str) -> Trial:
    """Measure S(P) of a survivor of a pruning, while its prototypes approach each other at a high temperature."""
    rng = numpy_rng(key, "survivor")
    heat: dict[str, Any] = {"initial_temperature": 1.0, "least_temperature": 0.6, "spread": 0.4}
    flow = growing_system(key, (3.0, 2.0, 1.0), width=0.2, rates=(1.0, 1.0), threshold=10.0, **heat)
    x = flow.start(random_key(0, "start"))
    for _ in range(2):
        flow, x = grow(flow, 0.0, x)
    noise = 0.1 * rng.normal(size=x.prototypes.shape)
    x = x._replace(prototypes=x.prototypes + noise)
    gone = int(rng.integers(2))
    after, y = prune(flow, 0.0, x, gone)
    path = simulate_growing(after, y, np.linspace(0.0, 14.0, TIMES), integrator=integrator)
    ts, S = path.along(lambda x: separation(x.prototypes[1 - gone]))
    S = np.asarray(S)
    L = max(float(_largest_rate(after, phase.ys, 1 - gone)) for phase in path.phases)
    rate = float(after.prototype_rate) * L
    least = {"exponential": -2 * rate * ts, "constant": np.log(1e-3) + 0 * ts}[bound]
    return Trial(
        (at_least("S(P) at the pruning", S[0], 0.0, tolerance=ROUNDING), _moving(after, y, 1 - gone)),
        (
            at_least("log of S(t) / S(0) less its bound", np.min((np.log(S / S[0]) - least)[1:]), 0, tolerance=SOLVER),
            holds("S(t) is positive", bool(np.all(S > 0))),
        ),
        {"S": S, "t": ts, "eta_P L": rate},
        parameters={"k": 3, "S at the end over S at the pruning": float(S[-1] / S[0])},
    )


def _moving(flow: GrowingFlow, x, head: int) -> Measurement:
    """Measure that coincident prototypes of a head have the same velocity: they stay together, in both directions."""
    together = x._replace(prototypes=x.prototypes.at[head, 1].set(x.prototypes[head, 0]))
    v = flow.velocity(jnp.zeros(()), together).prototypes[head]
    return holds("coincident prototypes have one velocity", bool(jnp.all(v[0] == v[1])))


separations_stay_positive = claim(
    "growing/theorem-6-iv",
    statement="S(P_h)(t) > 0 for every survivor h and every t after the pruning; S(t) >= S(0) exp(-2 eta_P L t).",
    trial=partial(_survival_trial, bound="exponential"),
    control=partial(_survival_trial, bound="constant"),  # S(t) stays above a thousandth of its value at the pruning.
    num_trials=3,
    note="at every finite time, whether or not a head was pruned, by uniqueness of solutions: prototypes that coincide "
    "have coincided forever. S is not bounded away from 0: above the critical temperature, as here, it decays "
    "exponentially, at no more than twice the Lipschitz constant of the velocity. In discrete time see Theorem 7",
)
