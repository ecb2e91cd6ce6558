"""Claims of Section 3.1 on the loss Lq, the gradient of V, and the force between prototypes that coincide."""

from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import (
    RationalBank,
    computed,
    distances,
    hard,
    hard_bank,
    parts,
    random_bank,
    soft,
    squared_norms,
)
from analysis.claims.prototypes.instances.clouds import MODES
from analysis.claims.prototypes.sections_02_03_decomposition import variance_gradient
from analysis.claims.rational_instances import Exact
from analysis.growing.separation import residual_forces, separation_force, splitting_form
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import Measurement, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes import assignments as measures
from dynsim.systems.prototypes.losses import PrototypeLoss


def _trial(bank: RationalBank, conclusions: tuple[Measurement, ...], **witness: Any) -> Trial:
    measured = (*soft(bank), *computed(bank))
    return Trial(measured, conclusions, {**bank.witness(), **witness}, parameters=bank.parameters)


@certified("growing/equation-2", num_trials=4, note="one embedding at 0 and prototypes at +-1 have Lq = M = 1, V = 1")
def loss_is_hard_loss_plus_variance(key: Key) -> Trial:
    """Lq = L_OLS + V exactly, with L_OLS = sum_n min_k |z_n - p_k|^2 and V = sum_nk q_nk |p_k - mu_n|^2."""
    bank = random_bank(key)
    Lq, M, V = bank.parts.loss, bank.parts.hard, bank.parts.variance
    return _trial(bank, (holds("Lq = L_OLS + V", Lq == M + V),), Lq=Lq, M=M, V=V)


def _sum_trial(bank: RationalBank, centroids: Exact) -> Trial:
    """Measure Lq = R + V, with |z_n - c_n|^2 for given points c_n as R."""
    Lq, V, R = bank.parts.loss, bank.parts.variance, np.sum(squared_norms(bank.z - centroids))
    return _trial(bank, (holds("Lq = R + V", Lq == R + V),), Lq=Lq, R=R, V=V)


@certified("growing/equation-2/corrected", num_trials=12)
def loss_is_reconstruction_error_plus_variance(key: Key) -> Trial:
    """Lq = R + V exactly. Changed: R = sum_n |z_n - mu_n|^2, with the soft centroids, in place of L_OLS."""
    bank = hard_bank(key)
    return _sum_trial(bank, bank.parts.centroids)


@loss_is_reconstruction_error_plus_variance.with_control
def loss_is_reconstruction_error_plus_variance(key: Key) -> Trial:
    """The distances from the mean of the soft centroids."""
    bank = random_bank(key)
    mean = np.sum(bank.parts.centroids, axis=0) / len(bank.z)
    return _sum_trial(bank, bank.parts.centroids * 0 + mean)


_flowing_gradient = jax.jit(jax.grad(measures.prototype_variance, 1))
_forces = jax.jit(lambda z, p, T: (2 * residual_forces(p, z, T), separation_force(p, z, T)))


def _through_assignments(bank: RationalBank) -> Exact:
    """Return T times the part of the gradient of V by the prototypes that comes from the assignments, (k, m).

    It is -2 sum_n q_nk (e_nk - sum_j q_nj e_nj) (p_k - z_n) with e_nk = |p_k - mu_n|^2.
    """
    q, e = bank.q, distances(bank.parts.centroids, bank.p)
    weights = -2 * q * (e - np.sum(q * e, axis=1)[:, None])
    return np.sum(weights, axis=0)[:, None] * bank.p - weights.T @ bank.z


@certified(
    "growing/equation-2-gradient",
    num_trials=4,
    note="the paper fixes no assignments, and its loss is differentiated through them; at fixed ones the formula is "
    "exact, see `frozen`, and F_sep of (4) is its squared norm. The rest is 1/T times a rational vector. "
    "no control: the reading is the positive case",
)
def gradient_of_the_variance(key: Key) -> Trial:
    """The gradient of V by P is 2 P Sigma_q, for V = sum_nk q_nk |p_k - mu_n|^2 with the assignments (1)."""
    bank = random_bank(key)
    fixed, rest = 2 * bank.parts.covariance @ bank.p, _through_assignments(bank)
    total = fixed.astype(float) + rest.astype(float) / bank.temperature
    trial = _trial(bank, (holds("the gradient of V is 2 P Sigma_q", not np.any(rest)),), rest=rest)
    shipped = agrees("the gradient of V that ships, through the assignments", _flowing_gradient(*bank.floats), total)
    return Trial((*trial.hypotheses, shipped), trial.conclusions, trial.witness, parameters=trial.parameters)


def _fixed_trial(bank: RationalBank, exact: Exact) -> Trial:
    """Measure a formula for the gradient of V at fixed assignments, and the force (4) that is its square."""
    gradient, force = _forces(*bank.floats)
    return _trial(
        bank,
        (
            holds(
                "the gradient of V at fixed q is the formula", bool(np.all(variance_gradient(bank, bank.q) == exact))
            ),
            agrees("twice the forces that ship", gradient, exact),
            agrees("F_sep that ships", force, float(np.sum(exact**2))),
        ),
    )


@certified(
    "growing/equation-2-gradient/frozen",
    variant="reading",
    num_trials=12,
    note="mode frozen; the prototypes are the columns of P as printed",
)
def gradient_of_the_variance_at_fixed_assignments(key: Key) -> Trial:
    """The gradient of V by P is 2 P Sigma_q, and F_sep of (4) its squared norm. Read: at fixed assignments."""
    bank = hard_bank(key)
    return _fixed_trial(bank, 2 * bank.parts.covariance @ bank.p)


@gradient_of_the_variance_at_fixed_assignments.with_control
def gradient_of_the_variance_at_fixed_assignments(key: Key) -> Trial:
    """Sigma_q of the mean assignments."""
    bank = random_bank(key)
    mean = np.sum(bank.q, axis=0, keepdims=True) / len(bank.q)
    return _fixed_trial(bank, 2 * len(bank.q) * parts(bank.z[:1], bank.p, mean).covariance @ bank.p)


@jax.jit
def _descents(z: jax.Array, p: jax.Array, T: jax.Array) -> jax.Array:
    """Return the gradients of Lq by the prototypes in the modes full and frozen, and that of V, (3, k, m)."""
    by_loss = [PrototypeLoss(mode).gradients(z, p, T)[1] for mode in MODES]
    return jnp.stack([*by_loss, jax.grad(measures.prototype_variance, 1)(z, p, T)])


def _together(bank: RationalBank) -> tuple[Measurement, ...]:
    """Measure that the gradients of the first two prototypes by Lq, in both modes, and by V are the same."""
    gradients = np.asarray(_descents(*bank.floats))
    return (agrees("the gradients that ship, of one and the other", gradients[:, 0], gradients[:, 1]),)


@certified(
    "growing/claim-separation-force",
    num_trials=4,
    note="with equal distances they have equal assignments and equal gradients, of V and of Lq in both modes, in "
    "ascent as in descent: by uniqueness they stay together",
)
def coincident_prototypes_are_pushed_apart(key: Key) -> Trial:
    """Whenever two prototypes coincide, the gradient 2 P Sigma_q pushes them apart."""
    bank = hard(key, "coincident")
    gradient = 2 * bank.parts.covariance @ bank.p
    return Trial(
        (
            *soft(bank),
            holds("the first two prototypes coincide", not np.any(bank.p[0] != bank.p[1])),
            holds("the third is elsewhere", bool(np.any(bank.p[2] != bank.p[0]))),
            *_together(bank),
            *computed(bank),
        ),
        (holds("their gradients differ", bool(np.any(gradient[0] != gradient[1]))),),
        {**bank.witness(), "2 P Sigma_q": gradient},
        parameters=bank.parameters,
    )


@jax.jit
def _parting(z: jax.Array, p: jax.Array, T: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return, in each mode, the derivative of the velocity of a difference at 0, (2, m, m), and the form S."""
    found, forms = [], []
    for mode in MODES:
        loss = PrototypeLoss(mode)

        def velocity(delta: jax.Array, loss: PrototypeLoss = loss) -> jax.Array:
            away = loss.gradients(z, p.at[0].add(delta / 2).at[1].add(-delta / 2), T)[1]
            return away[1] - away[0]

        found.append(jax.jacfwd(velocity)(jnp.zeros_like(p[0])))
        forms.append(splitting_form(p, z, T, 0, mode))
    return jnp.stack(found), jnp.stack(forms)


def _splitting_trial(key: Key, *, exchanged: bool) -> Trial:
    """Measure the form of the splitting in a mode, by that mode or by the other one."""
    rng = numpy_rng(key, "mode")
    bank, mode = hard(key, "coincident"), int(rng.integers(2))
    bank = bank._replace(base=Fraction(101, 100)) if rng.integers(2) else bank
    found, forms = (np.asarray(v) for v in _parting(*bank.floats))
    rate = float(np.linalg.eigvalsh(found[mode])[-1])
    form = forms[1 - mode if exchanged else mode]
    least = float(np.linalg.eigvalsh(form)[0])
    size = 1 + float(np.max(np.abs(found)))
    side = at_least if least < 0 else at_most
    return Trial(
        (
            *soft(bank),
            holds("the first two prototypes coincide", not np.any(bank.p[0] != bank.p[1])),
            at_least("least eigenvalue of S from 0", abs(least), 0.0, tolerance=1e-9 * size),
        ),
        (
            *_together(bank),
            agrees("the linearisation of the difference of two prototypes", found[mode], -2 * form),
            side("largest growth rate of a difference", rate, 0.0, tolerance=1e-11 * size),
        ),
        {**bank.witness(), "rate": rate, "mode": MODES[mode]},
        parameters={**bank.parameters, "mode": MODES[mode], "sign of S": "saddle" if least < 0 else "definite"},
    )


@claim(
    "growing/claim-separation-force/corrected",
    control=partial(_splitting_trial, exchanged=True),  # The form of the other mode.
    num_trials=12,
    note="descent on Lq, both modes; y_n = z_n - p. At high temperature S is positive: they attract each other",
)
def coincident_prototypes_part_below_a_temperature(key: Key) -> Trial:
    """Prototypes j, k that coincide at p have equal gradients, of V and Lq. Changed: a small difference of them grows,
    at the rate 2 |s|, if and only if the least eigenvalue s of S is negative, with S = sum_n (w_nk - (2/T) (w_nk +
    q_nk) y_n y_n^T) and w_nk = q_nk (1 - (d_nk - <d>_n) / T) in the mode full, S = sum_n q_nk (1 - (2/T) y_n y_n^T) in
    the mode frozen.
    """
    return _splitting_trial(key, exchanged=False)
