"""Claims of Section 9 on pruning: the pruned head's share of the separation force, and what the survivors keep."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import numpy as np

from analysis.claims.growing.instances.rational_heads import (
    DOMINATED,
    HEADS,
    VALUES,
    RationalHeads,
    conditions,
    described,
    heads_on_a_line,
    in_order,
    random_heads,
)
from analysis.growing.pruning import heads_at, pruned
from analysis.growing.separation import separation_force
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.transitions import prune

LAST = HEADS - 1  # the head that is pruned: that of the smallest value of M_a
CONSTANT = 10**9  # of O(phi_g^2); what the layers are made of is of order 10
DECIDED_BY_M = (
    "Gamma = |B u|, B = M_a / |M_a|_F, depends on M_a alone, and the forces do not depend on M_a: with a larger first "
    "value of M_a the Gamma of the last head falls below any phi_g, and nothing else changes. With B = M_a the same, "
    "once training has made M_a small; at a fixed M_a no head is then pruned, since Gamma > theta_w at its birth"
)


def _refuting(trial: Trial, count: int) -> Trial:
    """Return a trial whose first `count` conclusions are the statement, and the others what ships: hypotheses."""
    stated, shipping = trial.conclusions[:count], trial.conclusions[count:]
    return replace(trial, hypotheses=(*trial.hypotheses, *shipping), conclusions=stated)


def _trial(heads: RationalHeads, conclusions: tuple[Measurement, ...], *more: Measurement, **witness: object) -> Trial:
    parameters = {"heads": HEADS, "k": len(heads.banks[0].p), "n": len(heads.banks[0].z), "mode": heads.gradient}
    return Trial(more, (*conclusions, *described(heads)), {**heads.witness(), **witness}, parameters=parameters)


@eqx.filter_jit
def _coupling(flow, x, pooled: bool):
    """Return the derivatives of the force of each head by the prototypes of each head, (heads, heads, k, d)."""

    def forces(p):
        if not pooled:
            return heads_at(flow, x._replace(prototypes=p)).forces
        everything = p.reshape(-1, p.shape[-1])
        return jax.vmap(lambda z, T: separation_force(everything, z, T))(flow.head_inputs(x), flow.temperatures(x))

    return jax.jacrev(forces)(x.prototypes)


def _coupling_trial(key: Key, *, pooled: bool) -> Trial:
    rng = numpy_rng(key, "input")
    heads = random_heads(key, VALUES)
    kind = str(rng.choice(["shared", "projected"]))
    flow, x = heads.system(head_input=kind)
    found = np.max(np.abs(np.asarray(_coupling(flow, x, pooled))), axis=(2, 3))
    directions = np.asarray(flow.frames[:, 0])
    return Trial(
        (holds("prototypes of different heads differ", len({tuple(p) for b in heads.banks for p in b.p}) > 3),),
        (
            agrees("products of the directions of heads", directions @ directions.T, np.eye(HEADS)),
            holds(
                "derivatives by prototypes of other heads are 0", bool(np.all(found[~np.eye(HEADS, dtype=bool)] == 0))
            ),
            holds("those by the head's own are not", bool(np.all(np.diag(found) > 1e-6))),
        ),
        {**heads.witness(), "derivatives": found},
        parameters={"heads": HEADS, "input": kind},
    )


forces_of_heads_are_decoupled = claim(
    "growing/lemma-14",
    statement="Directions of heads are orthogonal, and F_sep of a head does not depend on the prototypes of another.",
    trial=partial(_coupling_trial, pooled=False),
    # The assignments of a token to the prototypes of all heads together.
    control=partial(_coupling_trial, pooled=True),
    num_trials=6,
    note="true for a trivial reason: F_sep of a head contains no prototype of another, whether or not directions are "
    "orthogonal; prototypes do not stay in the subspaces that the proof puts them in, and through a trained encoder "
    "the motions are coupled",
)


def _dominated(key: Key) -> RationalHeads:
    return random_heads(key, DOMINATED)


@certified("growing/lemma-16", num_trials=4, note=f"the first inequality is true; the order is not. {DECIDED_BY_M}")
def force_of_the_pruned_head_is_of_second_order(key: Key) -> Trial:
    """If Gamma < phi_g < theta_w for a head, its F_sep is at most 4 |P|_F^2 (tr Sigma_q)^2 = O(phi_g^2).

    Read: the constant of O is at most 10^9, as phi_g does not enter F_sep, |P| or tr Sigma_q.
    """
    heads = _dominated(key)
    P, F, trace = np.sum(heads.banks[LAST].p ** 2), heads.forces[LAST], heads.diversities[LAST]
    found = _trial(
        heads,
        (
            holds("F_sep is at most 4 |P|^2 (tr Sigma_q)^2", 4 * P * trace**2 >= F),
            holds("F_sep is at most 10^9 phi_g^2", CONSTANT * heads.pruning**2 >= F),
        ),
        *conditions(heads, LAST),
        F_sep=F,
    )
    return _refuting(found, 2)


pruning_leaves_the_survivors_separations = certified(
    "growing/theorem-6-i",
    statement="S(P_h) of every surviving head is the same before and after a pruning.",
    trial=lambda key: _survivors_trial(key, pooled=False),
    # The least distance of two prototypes of any two heads, one of the pruned head being that of another.
    control=lambda key: _survivors_trial(key, pooled=True),
    num_trials=6,
    note="true for a trivial reason: the prototypes of the survivors are not touched; forces, temperatures and "
    "directions neither",
)


def _survivors_trial(key: Key, *, pooled: bool) -> Trial:
    heads = _dominated(key)
    head = int(numpy_rng(key, "head").integers(HEADS))
    if pooled:
        bank, other = heads.banks[head], heads.banks[head - 1]
        banks = list(heads.banks)
        banks[head] = bank._replace(p=np.concatenate([other.p[:1], bank.p[1:]]))
        heads = heads._replace(banks=tuple(banks))
    flow, x = heads.system()
    found = pruned(flow, x, head)
    kept = found.survivors
    after, y = prune(flow, 0.0, x, head)
    before = np.asarray(x.prototypes)
    points = lambda rows: {tuple(p) for h in rows for p in before[h]}
    least = lambda rows: len(points(rows)) < sum(len(before[h]) for h in rows)
    same = (
        least(range(HEADS)) == least(kept)
        if pooled
        else np.array_equal(np.asarray(found.after.separations)[kept], [float(heads.separations[h]) for h in kept])
    )
    return _trial(
        heads,
        (
            holds("S is unchanged", bool(same)),
            holds("so are prototypes", np.array_equal(np.asarray(y.prototypes)[kept], before[kept])),
            holds("and temperatures", np.array_equal(np.asarray(y.cubes)[kept], np.asarray(x.cubes)[kept])),
            holds("and directions", np.array_equal(np.asarray(after.frames)[kept], np.asarray(flow.frames)[kept])),
            holds("all others survive", list(kept) == [h for h in range(HEADS) if h != head]),
            holds(
                "no level is left, and the clock begins anew",
                bool(np.isnan(after.levels[head])) and float(y.clock) == 0,
            ),
            agrees("the cube in the empty slot", y.cubes[head], float(flow.rules.initial_temperature) ** 3),
            *_without_choice(heads, flow, x),
        ),
        holds("there is a head to prune", bool(flow.active[head])),
    )


def _without_choice(heads: RationalHeads, flow: GrowingFlow, x: Growing) -> tuple[Measurement, ...]:
    """Measure that a pruning removes the head of the least Gamma, or of the least S, if no head is given."""
    measures = {"direction": heads.squared_energies, "separation": heads.separations}
    found = []
    for name, values in measures.items():
        ruled = eqx.tree_at(lambda f: f.rules, flow, replace(flow.rules, prune_by=name))
        gone = np.flatnonzero(~np.asarray(prune(ruled, 0.0, x)[0].active)).tolist()
        found.append(holds(f"by {name} the head of the least measure goes", gone == [values.index(min(values))]))
    return tuple(found)


def _dropped(heads: RationalHeads) -> Measurement:
    """Measure that pruning the last head lowers the sum of forces by its own force."""
    return agrees("the fall of the sum of forces", pruned(*heads.system(), LAST).drop, float(heads.forces[LAST]))


@certified(
    "growing/theorem-6-ii",
    num_trials=4,
    note=f"the sum of forces falls by F_sep of the pruned head exactly. {DECIDED_BY_M}",
)
def pruning_lowers_the_force_in_second_order(key: Key) -> Trial:
    """If Gamma < phi_g < theta_w for the pruned head, the sum of F_sep over heads falls by at most O(phi_g^2).

    Read: the constant of O is at most 10^9.
    """
    heads = _dominated(key)
    full, rest = sum(heads.forces), sum(heads.forces[:LAST])
    bounded = holds("the force falls by at most 10^9 phi_g^2", rest >= full - CONSTANT * heads.pruning**2)
    return _refuting(_trial(heads, (bounded, _dropped(heads)), *conditions(heads, LAST), forces=heads.forces), 1)


force_per_head_does_not_decrease = certified(
    "growing/corollary-8",
    statement="""If Gamma < phi_g < theta_w for the pruned head, F_red / (H - 1) >= F_full / H - O(phi_g^2 / (H - 1)).

    Read: the constant of O is at most 10^9.
    """,
    trial=lambda key: _refuting(_mean_trial(in_order(_dominated(key), largest_last=True), Fraction(CONSTANT)), 1),
    num_trials=4,
    note=f"the mean changes by (F_full / H - F_pruned) / (H - 1). {DECIDED_BY_M}",
)


def _mean_trial(heads: RationalHeads, constant: Fraction, *more: Measurement) -> Trial:
    full, rest = sum(heads.forces), sum(heads.forces[:LAST])
    least = full / HEADS - constant * heads.pruning**2 / LAST
    change = rest / LAST - full / HEADS
    return _trial(
        heads,
        (
            holds("the mean force of the survivors is at least that of all", rest / LAST >= least),
            holds("it changes by the formula", change == (full / HEADS - heads.forces[LAST]) / LAST),
            _dropped(heads),
        ),
        *conditions(heads, LAST)[: 0 if more else None],
        *more,
        forces=heads.forces,
    )


@certified(
    "growing/corollary-8/corrected",
    num_trials=8,
    note="sharp: heads of equal forces are among the trials, where the mean stays",
)
def force_per_head_does_not_decrease_without_a_weak_head(key: Key) -> Trial:
    """F_red / (H - 1) >= F_full / H. Added: the pruned head's force is at most the mean over heads."""
    heads = in_order(random_heads(key, VALUES), largest_last=False)
    if numpy_rng(key, "kind").integers(3) == 0:
        heads = heads._replace(banks=(heads.banks[0],) * HEADS)
    weak = holds("the pruned head's force is at most the mean", HEADS * heads.forces[LAST] <= sum(heads.forces))
    return _mean_trial(heads, Fraction(0), weak)


@force_per_head_does_not_decrease_without_a_weak_head.with_control
def force_per_head_does_not_decrease_without_a_weak_head(key: Key) -> Trial:
    """At most the sum of all forces, in place of the mean."""
    heads = in_order(random_heads(key, VALUES), largest_last=True)
    return _mean_trial(
        heads, Fraction(0), holds("the force is at most the sum", heads.forces[LAST] <= sum(heads.forces))
    )


@certified(
    "growing/theorem-6-iii",
    num_trials=4,
    note="the share of a survivor grows by 1 / (1 - share of the pruned head): by H / (H - 1) only if that share is "
    "1 / H, and by 1 + O(phi_g) if it is negligible, as the proof says. If the weight of a head is read as 1 / H, "
    "whatever its gradient, the factor is H / (H - 1). Mode frozen",
)
def weights_of_survivors_grow_by_one_factor(key: Key) -> Trial:
    """At a pruning the relative weight of each surviving head on the backbone grows by the factor H / (H - 1).

    Read: its share in the sum over heads of the norms of the gradients of their losses by the embeddings.
    """
    heads = heads_on_a_line(key)
    pulls = [abs(np.sum(bank.parts.centroids)) for bank in heads.banks]
    factor = 1 / (1 - pulls[LAST] / sum(pulls))
    gains = pruned(*heads.system(), LAST).gains
    found = _trial(
        heads,
        (
            holds("the factor is H / (H - 1)", factor == Fraction(HEADS, HEADS - 1)),
            agrees("the factors that ship", gains, np.full(HEADS - 1, float(factor))),
        ),
        *conditions(heads, LAST)[:3],
        factor=factor,
    )
    return _refuting(found, 1)


def _shares_trial(key: Key, *, equal_weights: bool) -> Trial:
    rng = numpy_rng(key, "shares")
    heads = random_heads(key, VALUES, gradient=str(rng.choice(["frozen", "full"])))
    alike = not equal_weights and rng.integers(3) == 0
    if alike:
        heads = heads._replace(banks=(heads.banks[0],) * HEADS)
    linear = bool(rng.integers(2))
    head = int(rng.integers(HEADS))
    found = pruned(*heads.system(linear=linear), head)
    share = float(found.before.shares[head])
    expected = HEADS / (HEADS - 1) if equal_weights or alike else 1 / (1 - share)
    return Trial(
        (holds("every head has a gradient", bool(np.all(np.asarray(found.before.gradients) > 1e-6))),),
        (agrees("the factors", found.gains, np.full(HEADS - 1, expected)),),
        {**heads.witness(), "shares": np.asarray(found.before.shares), "head": head},
        parameters={"heads": HEADS, "mode": heads.gradient, "encoder": "linear" if linear else "none"},
    )


weights_of_survivors_grow_by_the_pruned_share = claim(
    "growing/theorem-6-iii/corrected",
    statement="""At a pruning the share of each survivor in the sum of the gradients' norms grows by 1 / (1 - s).

    Changed: s, the share of the pruned head, in place of 1 / H.
    """,
    trial=partial(_shares_trial, equal_weights=False),
    control=partial(_shares_trial, equal_weights=True),  # 1 / H for the share of the pruned head, as printed.
    num_trials=10,
    note="both modes, with a linear encoder and without one; equal heads, where the factor is H / (H - 1), among them",
)
