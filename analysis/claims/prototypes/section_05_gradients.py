"""Claims of Remark 3 and Section 8.3 on the gradient that every prototype receives."""

from fractions import Fraction

import equinox as eqx
import numpy as np

from analysis.claims.prototype_banks import (
    HARD,
    RationalBank,
    computed,
    distances,
    hard,
    random_bank,
    soft,
    squared_norms,
)
from analysis.claims.rational_instances import Exact, matrix
from analysis.claims.rational_logarithms import logarithm
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, agrees, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.papers import PROTOTYPES
from dynsim.systems.prototypes.losses import PrototypeLoss

DISTINCT = tuple(kind for kind in HARD if kind not in ("coincident", "K = 1"))
LOSSES = {mode: PrototypeLoss(mode) for mode in ("frozen", "full")}
gradients = eqx.filter_jit(lambda loss, z, p, T: loss.gradients(z, p, T)[1])


def _some_bank(key: Key) -> RationalBank:
    """Return a hard bank with distinct prototypes, at least two of them."""
    return hard(key, str(numpy_rng(key, "kind").choice(DISTINCT)))


def frozen_gradient(bank: RationalBank) -> Exact:
    """Return the gradient of Lq by the prototypes at fixed assignments, 2 sum_n q_nk (p_k - z_n)."""
    return 2 * (np.sum(bank.q, axis=0)[:, None] * bank.p - bank.q.T @ bank.z)


def tilt(bank: RationalBank) -> Exact:
    """Return 2 sum_n q_nk (d_nk - <d>_n)(p_k - z_n), which over T is the frozen gradient minus the full one."""
    d = distances(bank.z, bank.p)
    w = bank.q * (d - np.sum(bank.q * d, axis=1)[:, None])
    return 2 * (np.sum(w, axis=0)[:, None] * bank.p - w.T @ bank.z)


def _full_gradient(bank: RationalBank) -> np.ndarray:
    """Return the gradient of Lq through the assignments, in floating point."""
    return (frozen_gradient(bank) - tilt(bank) * Fraction(1 / bank.temperature)).astype(float)


def _ships(bank: RationalBank) -> tuple[Measurement, ...]:
    """Measure that the gradients of both modes that ship are those of the formulas."""
    exact = {"frozen": frozen_gradient(bank).astype(float), "full": _full_gradient(bank)}
    return tuple(
        agrees(f"the gradient in the mode {mode} that ships", gradients(loss, *bank.floats), exact[mode])
        for mode, loss in LOSSES.items()
    )


def _trial(
    bank: RationalBank, hypotheses: tuple[Measurement, ...], conclusions: tuple[Measurement, ...], **witness: object
) -> Trial:
    distinct = holds("prototypes are distinct, and at least two", bank.distinct and len(bank.p) > 1)
    return Trial(
        (*soft(bank), distinct, *hypotheses), conclusions, {**bank.witness(), **witness}, parameters=bank.parameters
    )


variance_gradient_is_not_zero = certified(
    "prototypes/claim-gradient-nonzero",
    PROTOTYPES.at("Section 8.3"),
    statement="For distinct prototypes, at least two, 2 P Sigma_q is not zero.",
    trial=lambda key: _nonzero_trial(_some_bank(key), one_hot=False),
    control=lambda key: _nonzero_trial(random_bank(key), one_hot=True),  # The assignments of temperature zero.
    num_trials=18,
    note="in exact arithmetic: the kernel of Sigma_q is that of constants as q > 0. In floating point assignments "
    "underflow at gaps of 745 T, and then it is zero",
)


def _nonzero_trial(bank: RationalBank, *, one_hot: bool) -> Trial:
    q = bank.q
    if one_hot:
        q = matrix(np.eye(len(bank.p), dtype=int))[np.argmin(distances(bank.z, bank.p).astype(float), axis=1)]
    gradient = 2 * sum(np.diag(row) - np.outer(row, row) for row in q) @ bank.p
    V = np.sum(q * distances(q @ bank.p, bank.p))
    return _trial(
        bank,
        (),
        (
            holds("2 P Sigma_q is not zero", bool(np.any(gradient != 0))),
            holds("its product with P is 2 V > 0", np.sum(gradient * bank.p) == 2 * V > 0),
            *computed(bank),
        ),
        gradient=gradient,
    )


@certified(
    "prototypes/remark-3-gradient",
    PROTOTYPES.at("Remark 3"),
    num_trials=4,
    note="with any eta_P > 0: a gradient contains no learning rate, and with 1 for eta_P it counts the pull to the "
    "embeddings twice. In the mode full the difference is rational, and its terms times log b irrational; no control: "
    "the corrected claim is the positive case",
)
def printed_gradient_of_the_loss(key: Key) -> Trial:
    """The derivative of Lq by p_k is 2 sum_n q_nk (p_k - z_n) + 2 eta_P [Sigma_q P]_k, in one of the two modes."""
    bank = random_bank(key)
    rate = Fraction(int(numpy_rng(key, "rate").integers(1, 5)), 4)
    extra = 2 * rate * bank.parts.covariance @ bank.p  # printed minus frozen; full minus frozen is -tilt / T
    log = logarithm(bank.base)
    ends = [extra + tilt(bank) * end / bank.spacing**2 for end in (log.low, log.high)]
    apart = bool(np.any((ends[0] > 0) & (ends[1] > 0) | (ends[0] < 0) & (ends[1] < 0)))
    return _trial(
        bank,
        _ships(bank),
        (holds("it is the gradient of a mode, frozen or full", not np.any(extra) or not apart),),
        eta_P=rate,
        extra=extra,
    )


def _split_trial(bank: RationalBank, pulled: Exact) -> Trial:
    """Measure the frozen gradient against 2 sum_n q_nk (mu_n - z_n) + 2 [Sigma_q P]_k; `pulled` is mu, (n, k, m)."""
    first = 2 * np.sum(bank.q[:, :, None] * (pulled - bank.z[:, None]), axis=0)
    second = 2 * bank.parts.covariance @ bank.p
    equal = bool(np.all(frozen_gradient(bank) == first + second))
    return _trial(bank, (), (holds("the sum is the gradient in the mode frozen", equal), *_ships(bank)))


@certified(
    "prototypes/remark-3-gradient/corrected",
    PROTOTYPES.at("Remark 3"),
    num_trials=12,
    note="mode frozen; in the mode full q_nk becomes q_nk (1 - (d_nk - <d>_n)/T), as measured on what ships",
)
def gradient_of_the_loss(key: Key) -> Trial:
    """The derivative of Lq by p_k at fixed assignments is 2 sum_n q_nk (mu_n - z_n) + 2 [Sigma_q P]_k.

    Changed: mu_n in place of p_k, and no eta_P. It equals 2 sum_n q_nk (p_k - z_n).
    """
    bank = _some_bank(key)
    return _split_trial(bank, np.repeat(bank.parts.centroids[:, None], len(bank.p), axis=1))


@gradient_of_the_loss.with_control
def gradient_of_the_loss(key: Key) -> Trial:
    """p_k in place of mu_n, as printed, and no eta_P."""
    bank = random_bank(key)
    return _split_trial(bank, np.repeat(bank.p[None], len(bank.z), axis=0))


def _centred_bank(key: Key) -> RationalBank:
    """Return prototypes -v, 0, v and embeddings at equal distances from the outer two: at 0 and orthogonal to v."""
    rng, drawn = numpy_rng(key, "centred"), random_bank(key)
    h, v = drawn.spacing, matrix([[int(rng.integers(1, 3)), int(rng.integers(-2, 3))]])
    v = h * v
    across = v[:, ::-1] * matrix([[-1, 1]])
    z = matrix(rng.integers(-1, 2, (5, 1))) * across
    return RationalBank(z, np.concatenate([-v, 0 * v, v]), drawn.base, h, "centred")


def _count_trial(bank: RationalBank, least: int) -> Trial:
    rows = squared_norms(bank.parts.covariance @ bank.p)
    found = int(np.sum(rows != 0))
    conclusion = holds(f"[Sigma_q P]_k is not zero for at least {least} prototypes", found >= least)
    return _trial(bank, (), (conclusion, *computed(bank)), **{"|Sigma_q P|^2": rows})


@certified(
    "prototypes/remark-3-nonzero",
    PROTOTYPES.at("Remark 3"),
    num_trials=4,
    note="by symmetry; so does the whole gradient of that prototype vanish, in both modes, where its embeddings are "
    "symmetric; no control: the corrected claim is the positive case",
)
def every_prototype_has_a_force(key: Key) -> Trial:
    """If prototypes are distinct, [Sigma_q P]_k is not zero for every prototype k."""
    bank = _centred_bank(key)
    return _count_trial(bank, len(bank.p))


@certified(
    "prototypes/remark-3-nonzero/corrected",
    PROTOTYPES.at("Remark 3"),
    control=lambda key: _count_trial(_centred_bank(key), 3),  # Three instead of two.
    num_trials=18,
    note="in exact arithmetic; the rows of Sigma_q P sum to zero, and two is sharp",
)
def two_prototypes_have_a_force(key: Key) -> Trial:
    """If prototypes are distinct, [Sigma_q P]_k is not zero for at least two k. Changed: two instead of every."""
    return _count_trial(_centred_bank(key) if numpy_rng(key, "case").integers(3) == 0 else _some_bank(key), 2)
