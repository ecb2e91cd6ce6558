"""Claims of Algorithm 1 and Section 3.4: V by subtraction, and the assertion that it is not negative."""

from fractions import Fraction
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import (
    BankMeasures,
    Parts,
    RationalBank,
    between_bank,
    computed,
    hard_bank,
    parts,
    random_bank,
    shipped,
    soft,
    squared_norms,
)
from analysis.claims.rational_instances import matrix
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.losses import PrototypeLoss

TOLERANCE = Fraction(1, 10**8)
COLD = np.float32(0.3)  # T_min of Section 7.1
MEAN_LOSS = PrototypeLoss(reduction="mean")
mean_value = eqx.filter_jit(MEAN_LOSS.value)
PENALISED = PrototypeLoss("frozen", barrier=0.7, ridge=0.3, reduction="mean")
penalised = eqx.filter_jit(lambda z, p, T: (PENALISED.value(z, p, T), *PENALISED.gradients(z, p, T)))


def _trial(bank: RationalBank, hypotheses: tuple[Measurement, ...], conclusions: tuple[Measurement, ...]) -> Trial:
    return Trial((*soft(bank), *hypotheses), conclusions, bank.witness(), parameters=bank.parameters)


def _mean_loss(bank: RationalBank) -> Measurement:
    return agrees("the mean loss that ships", mean_value(*bank.floats), float(bank.parts.loss / len(bank.z)))


def _penalised_mean(key: Key) -> tuple[Measurement, ...]:
    """Measure the mean loss with barrier and ridge, of which the loss alone is divided by the number of embeddings."""
    bank = random_bank(key)
    bank = bank._replace(p=bank.p + 7 * bank.spacing * matrix([[0, 0], [1, 0], [0, 1]]))  # distinct prototypes
    z, p, q, B = bank.z, bank.p, bank.q, len(bank.z)
    lam, rho = float(PENALISED.barrier), float(PENALISED.ridge)
    pairs = [(j, k) for j in range(len(p)) for k in range(len(p)) if j != k]
    away = {(j, k): (p[k] - p[j]).astype(float) for j, k in pairs}
    barrier = lam / 2 * sum(1 / (v @ v) for v in away.values())
    force = np.zeros(p.shape)
    for (_, k), v in away.items():
        force[k] -= 2 * lam * v / (v @ v) ** 2
    own = (2 * (np.sum(q, axis=0)[:, None] * p - q.T @ z) / B).astype(float)
    value, by_embeddings, by_prototypes = penalised(*bank.floats)
    ridge = rho * p.astype(float)
    return (
        agrees("the mean loss with penalties", value, float(bank.parts.loss) / B + barrier + np.sum(ridge * p) / 2),
        agrees("its derivative by embeddings", by_embeddings, 2 * (z - q @ p) / B),
        agrees("its derivative by prototypes", by_prototypes, own + force + ridge),
    )


def _subtraction_trial(bank: RationalBank, subtracted: Fraction, what: str) -> Trial:
    """Measure that V of line 12, with a sum subtracted from that of q d, is the mean of sum_k q_nk |p_k - mu_n|^2."""
    found, B = bank.parts, len(bank.z)
    V, variance = found.loss / B - subtracted / B, found.variance / B
    return _trial(bank, (_mean_loss(bank),), (holds(f"Lq - {what} equals the mean variance", variance == V),))


@certified(
    "prototypes/algorithm-1-line-12",
    num_trials=4,
    note="the difference is the mean of |z_n - mu_n|^2 - min_k |z_n - p_k|^2",
)
def subtraction_gives_the_variance(key: Key) -> Trial:
    """V := Lq - (1/B) sum_n min_k d_nk, Lq being the mean (1/B) sum q d, equals (1/B) sum_nk q_nk |p_k - mu_n|^2."""
    bank = random_bank(key)
    return _subtraction_trial(bank, bank.parts.hard, "(1/B) sum min")


@certified("prototypes/algorithm-1-line-12/corrected", num_trials=22)
def subtraction_of_the_error_gives_the_variance(key: Key) -> Trial:
    """V := Lq - (1/B) sum_n |z_n - mu_n|^2 equals (1/B) sum_nk q_nk |p_k - mu_n|^2. Changed: what is subtracted."""
    bank = hard_bank(key)
    measured = _subtraction_trial(bank, bank.parts.error, "(1/B) sum |z - mu|^2")
    conclusions = (*measured.conclusions, _mean_loss(bank), *computed(bank), *_penalised_mean(key))
    return Trial(soft(bank), conclusions, measured.witness, parameters=measured.parameters)


@subtraction_of_the_error_gives_the_variance.with_control
def subtraction_of_the_error_gives_the_variance(key: Key) -> Trial:
    """The distances of embeddings from the mean of all soft centroids."""
    bank = random_bank(key)
    mean = np.sum(bank.parts.centroids, axis=0) / len(bank.z)
    return _subtraction_trial(bank, np.sum(squared_norms(bank.z - mean[None])), "(1/B) sum |z - mean mu|^2")


@certified(
    "prototypes/algorithm-1-line-20",
    num_trials=4,
    note="Lq - L_OLS is never negative, whatever the decomposition",
)
def assertion_is_a_check_of_the_decomposition(key: Key) -> Trial:
    """Passing the assertion V >= -1e-8, with V of line 12, is a check of (3): where it passes, Lq = L_OLS + V holds.

    V in (3) is the mean of sum_k q_nk |p_k - mu_n|^2.
    """
    bank = random_bank(key)
    found, B = bank.parts, len(bank.z)
    passes = holds("the assertion passes", (found.loss - found.hard) / B >= -TOLERANCE)
    return _trial(
        bank,
        (passes, *computed(bank)),
        (holds("the decomposition (3) holds", found.loss == found.hard + found.variance),),
    )


def _detection_trial(key: Key, *, two_sided: bool) -> Trial:
    """Measure an assertion at soft assignments, and at assignments with rows that sum to a number other than one."""
    bank, rng = random_bank(key), numpy_rng(key, "scale")
    s = Fraction(int(rng.choice([11, 12, 15])), 10)
    wrong = parts(bank.z, bank.p, s * bank.q)
    gap = (s - 1) * np.sum(squared_norms(bank.z) - squared_norms(wrong.centroids))

    def fails(found: Parts) -> bool:
        if two_sided:
            return abs(found.loss - found.error - found.variance) > TOLERANCE * len(bank.z)
        return (found.loss - found.hard) / len(bank.z) < -TOLERANCE

    return _trial(
        bank,
        (holds("|z_n|^2 - |mu_n|^2 does not sum to zero", abs(gap) > 2 * TOLERANCE * len(bank.z)),),
        (
            holds("the assertion passes with soft assignments", not fails(bank.parts)),
            holds("it fails where the rows of Q sum to s > 1", fails(wrong)),
            holds("Lq - R - V is (s - 1) sum_n (|z_n|^2 - |mu_n|^2)", wrong.loss - wrong.error - wrong.variance == gap),
            *computed(bank),
        ),
    )


two_sided_assertion_is_a_check = certified(
    "prototypes/algorithm-1-line-20/corrected",
    statement="""Passing the assertion |Lq - R - V| <= 1e-8, means over n, is a check of the decomposition.

    Changed: R in place of L_OLS, V by its own formula, and both signs. It passes with soft assignments; where the rows
    of Q sum to s instead of one, Lq - R - V is the mean of (s - 1)(|z_n|^2 - |mu_n|^2), and it fails unless that is
    nearly zero.
    """,
    trial=partial(_detection_trial, two_sided=True),
    # The printed assertion, which passes with any rows that sum to s >= 1.
    control=partial(_detection_trial, two_sided=False),
    num_trials=8,
    note="a check of the normalisation of Q, which is all that the decomposition rests on; the temperature does not "
    "enter it",
)


def _assertion_trial(bank: RationalBank, subtracted: Fraction, second: str) -> Trial:
    """Measure (Lq - S) / B >= -1e-8 in fractions and in floats, S being the sum `second` of the toolkit's."""
    found, B = shipped(*bank.floats), len(bank.z)
    floats = (float(found.loss) - float(getattr(found, second))) / B
    size = float(bank.parts.loss)
    return _trial(
        bank,
        (),
        (
            holds("V of line 12 is not negative", bank.parts.loss >= subtracted),
            at_least("V of line 12 in floating point", floats, 0.0, tolerance=ROUNDING * (1 + size)),
            *computed(bank),
        ),
    )


@certified(
    "prototypes/algorithm-1-assertion",
    num_trials=22,
    note="true because a weighted mean is at least the least of its terms, and no evidence for (3)",
)
def subtraction_is_not_negative(key: Key) -> Trial:
    """V of line 12, Lq - (1/B) sum_n min_k d_nk, is never negative; in floating point up to rounding."""
    bank = hard_bank(key)
    return _assertion_trial(bank, bank.parts.hard, "hard")


@subtraction_is_not_negative.with_control
def subtraction_is_not_negative(key: Key) -> Trial:
    """The reconstruction error R in place of Lq."""
    bank = between_bank(key)
    measured = _assertion_trial(bank, bank.parts.hard, "hard")
    R, M = bank.parts.error, bank.parts.hard
    return Trial(measured.hypotheses, (holds("V of line 12 is not negative", R >= M),), bank.witness())


@claim(
    "prototypes/algorithm-1-assertion/single-precision",
    variant="reading",
    num_trials=4,
    note="the printed bound is absolute and rounding is relative to Lq; zero violations say something about the size "
    "of Lq; no control: the printed claim is the positive case",
)
def assertion_passes_in_single_precision(key: Key) -> Trial:
    """Read: V of line 12, computed in single precision, is at least -1e-8, the bound of line 20."""
    rng = numpy_rng(key, "single precision")
    draws = [_single_precision_data(rng) for _ in range(100)]
    values = [float((found.loss - found.hard) / B) for found, B in (_in_single_precision(*draw) for draw in draws)]
    z, p = draws[int(np.argmin(values))]
    return Trial(
        (holds("all numbers are in single precision", z.dtype == p.dtype == np.float32),),
        (at_least("least V over 100 data sets", min(values), -float(TOLERANCE), tolerance=float(TOLERANCE)),),
        {"z": z, "p": p, "T": COLD},
        parameters={"n": len(z), "k": len(p), "m": z.shape[1], "T": float(COLD)},
    )


def _single_precision_data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return 64 embeddings in three clusters, and the centres of the clusters for prototypes."""
    centres = 3 * rng.normal(size=(3, 2))
    z = centres[rng.integers(3, size=64)] + rng.normal(size=(64, 2)) / 2
    return z.astype(np.float32), centres.astype(np.float32)


def _in_single_precision(z: np.ndarray, p: np.ndarray) -> tuple[BankMeasures, np.float32]:
    return shipped(jnp.asarray(z), jnp.asarray(p), jnp.asarray(COLD)), np.float32(len(z))
