"""Claims of Remark 3 on the share of dead codes of a quantiser."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import distances
from analysis.claims.rational_instances import matrix
from analysis.ledger.claim import certified, rule
from analysis.ledger.evidence import Trial, agrees, equal, holds
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.networks.prototypes.quantisers import AbstractQuantiser, HardQuantiser, SoftQuantiser, usage
from dynsim.papers import PROTOTYPES

M = 3  # dimension of the embeddings


formula_of_dead_codes = rule(
    "prototypes/remark-3-formula",
    PROTOTYPES.at("Remark 3"),
    Verdict.ILL_POSED,
    "the 'risk' of dead codes is not defined, and a formula with K alone can be no measured share: it depends on the "
    "embeddings and on the step. Readings: the largest possible share, and the share",
)


@eqx.filter_jit
def _codebook_gradient(quantiser: AbstractQuantiser, z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the derivative by the codebook of the output's sum and the loss, and how much each code is used."""

    def total(quantiser: AbstractQuantiser) -> tuple[jax.Array, jax.Array]:
        found = quantiser(z, 1.0)
        return jnp.sum(found.output) + found.loss, usage(found.assignments)

    gradient, used = eqx.filter_grad(total, has_aux=True)(quantiser)
    return gradient.codebook, used


def _dead_trial(key: Key, kind: Any, *, near: int) -> Trial:
    """Measure the share of codes without gradient, embeddings being nearest to the first `near` codes, or to all."""
    rng = numpy_rng(key)
    K = int(rng.choice((2, 3, 16, 64)))
    grid = np.stack(np.meshgrid(*[np.arange(4)] * M), axis=-1).reshape(-1, M)
    p = matrix(rng.permutation(grid)[:K])
    own = (np.arange(2 * K) % min(near, K) + int(rng.integers(K))) % K
    z = p[own] + matrix(rng.integers(1, 4, (2 * K, M))) / 16  # by less than half of the grid's spacing
    nearest = np.argmin(distances(z, p).astype(float), axis=1)
    gradient, used = _codebook_gradient(kind(p.astype(float)), jnp.asarray(z.astype(float)))
    dead = np.all(np.asarray(gradient) == 0, axis=1)
    share, formula = 100 * Fraction(int(dead.sum()), K), math.floor(100 * (1 - Fraction(1, K)))
    hard = kind is HardQuantiser
    exact = np.array([np.sum((p[own] - z)[own == k], axis=0) for k in range(K)]) / K  # 2 / n, with n = 2 K
    shipped = (
        agrees("usage that ships", used, np.bincount(own, minlength=K)),
        agrees("the gradient of the codebook that ships", gradient, exact),
    )
    return Trial(
        (holds("embeddings are nearest to the codes meant", bool(np.all(nearest == own))),),
        (
            equal("percent of codes with zero gradient", math.floor(share), formula, tolerance=0.0, within=(0, 100)),
            *(shipped if hard else ()),
        ),
        {"codes": p, "embeddings": z, "dead": dead},
        parameters={"K": K, "n": 2 * K},
    )


@certified(
    "prototypes/remark-3-formula/largest",
    PROTOTYPES.at("Remark 3"),
    # Soft assignments in place of the straight-through estimator.
    control=partial(_dead_trial, kind=SoftQuantiser, near=1),
    variant="reading",
    num_trials=8,
    note="at the extremal instance; no share is larger, since some code is nearest to any embedding",
)
def largest_share_of_dead_codes(key: Key) -> Trial:
    """Read: of K codes at most K - 1 are dead, floor(100 (1 - 1/K)) percent, and all of them have zero gradient.

    The bound is attained where all embeddings are nearest to one code.
    """
    return _dead_trial(key, HardQuantiser, near=1)


share_of_dead_codes = certified(
    "prototypes/remark-3-formula/share",
    PROTOTYPES.at("Remark 3"),
    statement="Read: with a straight-through estimator floor(100 (1 - 1/K)) percent of K codes are dead.",
    trial=partial(_dead_trial, kind=HardQuantiser, near=64),
    variant="reading",
    num_trials=4,
    note="Table 5 contradicts it too: of 16 codes 81.2% are used after one epoch, where the formula has 93% dead, of "
    "64 codes 18.8%, where it has 98% dead, and later all; no control: `largest` is the positive case",
)
