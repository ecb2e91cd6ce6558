"""Claims of Section 9 on the order of the pruned head's activity and force, and what bounds them."""

from fractions import Fraction

import jax
import numpy as np

from analysis.claims.growing.instances.rational_heads import (
    DOMINATED,
    HEADS,
    VALUES,
    conditions,
    described,
    random_heads,
)
from analysis.claims.growing.instances.tight_banks import NEAR, lone_bank, remote_bank, tight_bank
from analysis.claims.prototype_banks import RationalBank, computed, distances, soft, squared_norms
from analysis.growing.pruning import pruned
from analysis.growing.separation import separation_force
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.assignments import distance_variance

LAST = HEADS - 1
SMALL_M = "Gamma depends on M_a alone and sigma does not depend on M_a"
_force, _variance = jax.jit(separation_force), jax.jit(distance_variance)


@certified("growing/lemma-15/bound", num_trials=4, note=f"{SMALL_M}: no constant will do")
def activity_of_the_pruned_head_is_of_first_order(key: Key) -> Trial:
    """If Gamma < phi_g < theta_w for a head, its sigma is at most C phi_g S(P), S being the least squared distance.

    Read: C is at most 10^3; phi_g enters neither sigma nor S(P).
    """
    heads = random_heads(key, DOMINATED)
    sigma, S = heads.activities[LAST], heads.separations[LAST]
    return Trial(
        (*conditions(heads, LAST), *described(heads)),
        (holds("sigma is at most 1000 phi_g S(P)", sigma <= 1000 * heads.pruning * S),),
        {**heads.witness(), "sigma": sigma, "S": S},
        parameters={"heads": HEADS, "k": 3},
    )


def _activity(bank: RationalBank) -> Fraction:
    d = distances(bank.z, bank.p)
    return np.sum(bank.q * (d - np.sum(bank.q * d, axis=1)[:, None]) ** 2) / len(bank.z)


def _activity_trial(bank: RationalBank, bound: Fraction, *hypotheses: Measurement, sharp: bool = False) -> Trial:
    """Measure that sigma is at most `bound` times the mean squared distance from the farthest prototype."""
    sigma = _activity(bank)
    farthest = np.mean(np.max(distances(bank.z, bank.p), axis=1))
    z, p, T = bank.floats
    attained = (holds("it is attained within one in fifty", sigma >= bound * farthest * Fraction(49, 50)),)
    return Trial(
        (*soft(bank), *hypotheses),
        (
            holds("sigma is at most the bound", sigma <= bound * farthest),
            *(attained if sharp else ()),
            agrees("the variance that ships, over N", _variance(z, p, T) / len(bank.z), float(sigma)),
        ),
        {**bank.witness(), "sigma": float(sigma)},
        parameters=bank.parameters,
    )


def _diameter(bank: RationalBank) -> Fraction:
    return np.max(distances(bank.p, bank.p))


@certified(
    "growing/lemma-15/algorithm",
    variant="reading",
    num_trials=4,
    note="S(P) is a minimum: other prototypes of the head may be far away; for two prototypes see the correction",
)
def activity_of_a_head_with_two_near_prototypes(key: Key) -> Trial:
    """If S(P) < phi_g < theta_w, the rule of the Algorithm, then sigma is at most phi_g mean_n max_k d_nk."""
    bank = lone_bank(key)
    S = np.min(distances(bank.p, bank.p)[np.triu_indices(len(bank.p), 1)])
    phi, threshold = NEAR**2 * 2, Fraction(1, 2)
    trial = _activity_trial(bank, phi, holds("S(P) is below phi_g", S < phi < threshold))
    witness = {**trial.witness, "phi_g": phi, "theta_w": threshold}
    stated, shipping = trial.conclusions[:1], trial.conclusions[1:]
    return Trial((*trial.hypotheses, *shipping), stated, witness, parameters=trial.parameters)


def _tight(key: Key) -> tuple[RationalBank, Fraction, bool]:
    """Return a bank, a bound above its largest squared distance, and whether the bound of sigma is attained there."""
    kind = int(numpy_rng(key, "kind").integers(3))
    if kind == 0:
        bank = remote_bank(key)
        return bank, _diameter(bank) * Fraction(1001, 1000), True
    bank = tight_bank(key, count=kind + 1)
    return bank, _diameter(bank) * Fraction(int(numpy_rng(key, "phi").integers(11, 30)), 10), False


@certified(
    "growing/lemma-15/corrected",
    num_trials=9,
    note="the constant 1 is sharp: attained in the limit by two prototypes and a far token on their line at a high "
    "temperature; for two prototypes the largest distance is S(P), so that the Algorithm's rule does. That the head is "
    "global is no part of it: its temperature falls as long as sigma is positive",
)
def activity_of_a_tight_head_is_of_first_order(key: Key) -> Trial:
    """The activity sigma of a head is at most C phi_g with C = mean_n max_k |z_n - p_k|^2.

    Changed: the largest squared distance of two prototypes is below phi_g, in place of Gamma; no factor S(P).
    """
    bank, phi, sharp = _tight(key)
    tight = holds("the largest squared distance of two prototypes is below phi_g", 0 < _diameter(bank) < phi)
    return _activity_trial(bank, phi, tight, sharp=sharp)


@activity_of_a_tight_head_is_of_first_order.with_control
def activity_of_a_tight_head_is_of_first_order(key: Key) -> Trial:
    """Nine tenths of the constant."""
    bank = remote_bank(key)
    phi = _diameter(bank) * Fraction(1001, 1000)
    tight = holds("the largest squared distance of two prototypes is below phi_g", 0 < _diameter(bank) < phi)
    return _activity_trial(bank, phi * Fraction(9, 10), tight)


def _force_trial(bank: RationalBank, phi: Fraction, *hypotheses: Measurement) -> Trial:
    """Measure F_sep <= 4 phi^2 sum_k (Sigma_kk)^2 <= 4 phi^2 (tr Sigma)^2, and equality for two prototypes."""
    Sigma = bank.parts.covariance
    F, diagonal = 4 * np.sum(squared_norms(Sigma @ bank.p)), np.sum(np.diag(Sigma) ** 2)
    z, p, T = bank.floats
    two = (holds("F_sep is 4 D |diag Sigma_q|^2", 4 * _diameter(bank) * diagonal == F),) if len(bank.p) == 2 else ()
    return Trial(
        (*soft(bank), *hypotheses),
        (
            holds("F_sep is at most 4 phi_g^2 |diag Sigma_q|^2", 4 * phi**2 * diagonal >= F),
            holds("which is at most 4 phi_g^2 (tr Sigma_q)^2", diagonal <= np.trace(Sigma) ** 2),
            *two,
            agrees("F_sep that ships", _force(p, z, T), float(F)),
            *computed(bank)[-3:-2],
        ),
        {**bank.witness(), "F_sep": float(F), "phi_g": phi},
        parameters=bank.parameters,
    )


@certified(
    "growing/lemma-16/corrected",
    num_trials=8,
    note="with equality 4 D |diag Sigma_q|^2 for two prototypes, D being their squared distance. If S(P) < phi_g is a "
    "squared distance, as the code has it, two prototypes give the order phi_g and not phi_g^2",
)
def force_of_a_tight_head_is_of_second_order(key: Key) -> Trial:
    """F_sep <= 4 phi_g^2 sum_k (Sigma_q)_kk^2 <= 4 phi_g^2 (tr Sigma_q)^2.

    Changed: the largest distance of two prototypes is below phi_g, in place of Gamma.
    """
    bank = tight_bank(key, count=2 + int(numpy_rng(key, "count").integers(2)))
    phi = Fraction(1, 5)
    return _force_trial(bank, phi, holds("all distances are below phi_g", 0 < _diameter(bank) < phi**2))


@force_of_a_tight_head_is_of_second_order.with_control
def force_of_a_tight_head_is_of_second_order(key: Key) -> Trial:
    """The least distance of two prototypes in place of the largest."""
    bank, phi = lone_bank(key), Fraction(1, 5)
    S = np.min(distances(bank.p, bank.p)[np.triu_indices(len(bank.p), 1)])
    return _force_trial(bank, phi, holds("the least distance is below phi_g", 0 < S < phi**2))


def _fall_trial(key: Key, last: RationalBank, phi: Fraction) -> Trial:
    """Measure the fall of the sum of forces when the last head has the prototypes of a bank."""
    heads = random_heads(key, VALUES)
    banks = (*(bank._replace(z=last.z) for bank in heads.banks[:LAST]), last)
    heads = heads._replace(banks=banks, pruning=phi)
    fall, trace = heads.forces[LAST], heads.diversities[LAST]
    return Trial(
        (holds("the least squared distance is below phi_g^2 < theta_w^2", heads.separations[LAST] < phi**2 < 1 / 4),),
        (
            holds("the sum falls by at most 4 phi_g^2 (tr Sigma_q)^2", fall <= 4 * phi**2 * trace**2),
            agrees("the fall that ships", pruned(*heads.system(), LAST).drop, float(fall)),
            *described(heads),
        ),
        {**heads.witness(), "fall": float(fall)},
        parameters={"heads": HEADS, "k": len(last.p)},
    )


@certified(
    "growing/theorem-6-ii/corrected",
    num_trials=4,
    note="forces add up over heads, so that the sum falls by F_sep of the pruned head",
)
def pruning_a_tight_head_lowers_the_force_in_second_order(key: Key) -> Trial:
    """The sum of F_sep over heads falls by at most 4 phi_g^2 (tr Sigma_q)^2, with Sigma_q of the pruned head.

    Changed: the largest distance of two of its prototypes is below phi_g, in place of Gamma.
    """
    last, phi = tight_bank(key), Fraction(1, 5)
    found = _fall_trial(key, last, phi)
    tight = holds("all distances of its prototypes are below phi_g", _diameter(last) < phi**2)
    return Trial((*found.hypotheses, tight), found.conclusions, found.witness, parameters=found.parameters)


@pruning_a_tight_head_lowers_the_force_in_second_order.with_control
def pruning_a_tight_head_lowers_the_force_in_second_order(key: Key) -> Trial:
    """The least distance of two prototypes in place of the largest."""
    lone = lone_bank(key)
    wider = lambda rows: np.concatenate([rows, 0 * rows, 0 * rows], axis=1)
    return _fall_trial(key, lone._replace(z=wider(lone.z), p=wider(lone.p)), Fraction(1, 5))
