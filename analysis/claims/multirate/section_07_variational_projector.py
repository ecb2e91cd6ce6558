"""Claims of Corollary 29: a network that is trained to predict stationary distributions, as a variational method."""

import math
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from analysis.chains.entropies import relative_entropy
from analysis.chains.mixing import total_variation
from analysis.claims.multirate.section_07_learned_projector import (
    PARAMETERS,
    SEEDS,
    STEPS,
    exponential_rates,
    generators_of_rates,
    stationary_of,
    trained_projector,
)
from analysis.ledger.claim import claim, rule
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, equal
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim.papers import MULTIRATE

STANDARD_ERRORS = 5  # about one chance in two million for each mean
Predictions = Float[np.ndarray, "batch k"]

variational = rule(
    "multirate/corollary-29",
    MULTIRATE.at("Corollary 29"),
    Verdict.ILL_POSED,
    "`a variational approximation` specifies no functional, no family over which it is minimised, and no error; a "
    "network trained to predict p_st in any sense is one in that sense. For the relative entropy see `divergence`; the "
    "network does not return the equilibrium itself, see `returns`",
)


def _predictions(key: Key, seed: int) -> tuple[Predictions, Predictions]:
    """Return the stationary distributions of unseen generators, and the logarithms of the predictions of a network.

    Raises:
        UnavailableError: if optax is missing.
    """
    Q = generators_of_rates(exponential_rates(key))
    return np.asarray(stationary_of(Q)), np.asarray(trained_projector(seed, STEPS)(Q))


def _mean_over_error(values: np.ndarray) -> float:
    """Return the mean of independent values over its standard error."""
    return float(np.mean(values) / (np.std(values) / math.sqrt(len(values))))


def _minimum_measurements(seed: int, p: Predictions, logits: Predictions) -> tuple[Measurement, ...]:
    """Measure the functional of a network: below that of each constant, stationary, and a bound of the error.

    The derivative of the mean relative entropy with respect to a shift of a logit is the mean of q - p_st, and with
    respect to a common factor of the logits the mean of their sum weighted by q - p_st.
    """
    q, constant = np.exp(logits), np.mean(p, axis=0)
    divergences = np.array([relative_entropy(a, b) for a, b in zip(p, q, strict=True)])
    gain = np.array([relative_entropy(a, constant) for a in p]) - divergences
    shifts = max(abs(_mean_over_error(column)) for column in (q - p).T)
    factor = _mean_over_error(np.sum((q - p) * logits, axis=1))
    excess = np.max(total_variation(p, q) - np.sqrt(divergences / 2))
    return (
        at_least(
            f"seed {seed}: gain over the best constant, in standard errors",
            _mean_over_error(gain),
            STANDARD_ERRORS,
            tolerance=0.0,
        ),
        at_most(
            f"seed {seed}: largest derivative for a shift of a logit, in standard errors",
            shifts,
            STANDARD_ERRORS,
            tolerance=0.0,
        ),
        at_most(
            f"seed {seed}: derivative for a factor of the logits, in standard errors",
            abs(factor),
            STANDARD_ERRORS,
            tolerance=0.0,
        ),
        at_most(
            f"seed {seed}: largest excess of the total variation over (D / 2)^(1/2)", excess, 0.0, tolerance=ROUNDING
        ),
    )


def _sharpness() -> Measurement:
    """Measure that the constant 1/2 of Pinsker's inequality is attained in the limit of equal coins."""
    p, q = np.array([[0.5 + 1e-3, 0.5 - 1e-3]]), np.array([0.5, 0.5])
    ratio = total_variation(p, q)[0] ** 2 / relative_entropy(p, q)[0]
    return equal("(total variation)^2 / D of nearly equal coins", ratio, 0.5, tolerance=SOLVER)


def _minimum_trial(key: Key, factor: float) -> Trial:
    """Measure networks whose logits are multiplied by `factor`, and normalised again."""
    conclusions: list[Any] = [_sharpness()]
    for seed in SEEDS:
        p, logits = _predictions(key, seed)
        scaled = factor * logits
        scaled = scaled - np.log(np.sum(np.exp(scaled), axis=1, keepdims=True))
        conclusions.extend(_minimum_measurements(seed, p, scaled))
    least = np.min(np.asarray(exponential_rates(key)))
    return Trial(
        hypotheses=(at_least("least rate", least, 0.0, tolerance=0.0),),
        conclusions=tuple(conclusions),
        parameters={"k": p.shape[1], "networks": len(SEEDS)},
    )


network_minimises_the_divergence = claim(
    "multirate/corollary-29/divergence",
    MULTIRATE.at("Corollary 29"),
    statement="Read: an MLP trained to minimise the mean relative entropy D(p_st || q) over its family is, on unseen "
    "generators of the same kind, at a minimum: its mean is below that of every constant distribution, and stationary "
    "under shifts of a logit and under a factor of all logits. D bounds the error, in total variation at most (D / "
    "2)^(1/2).",
    trial=partial(_minimum_trial, factor=1.0),
    control=partial(_minimum_trial, factor=0.9),  # The same networks at a temperature of 10/9 in place of 1.
    variant="reading",
    num_trials=2,
    note=f"{PARAMETERS}In the generator regime only; for the trained block the corollary itself states a hypothesis. "
    "Measured are consequences of a minimum, with no bound of our own: the family contains the constants; it is closed "
    "under shifts and factors of the logits, along which the derivative is zero; and the error that Pinsker's "
    "inequality gives. How small the error is depends on the network: see remark-31-projector",
)


@claim(
    "multirate/corollary-29/returns",
    MULTIRATE.at("Corollary 29"),
    variant="reading",
    num_trials=2,
    note=f"{PARAMETERS}The error is some percent on most generators; no control: the total variation is bounded by the "
    "functional in `divergence`, measured on the same networks",
)
def network_returns_the_stationary_distribution(key: Key) -> Trial:
    """Read: the trained network returns the equilibrium p_st itself, of unseen generators of the same kind."""
    p, logits = _predictions(key, SEEDS[0])
    far = float(np.median(total_variation(p, np.exp(logits))))
    return Trial(
        hypotheses=(
            equal("largest mass less one", np.max(abs(np.sum(np.exp(logits), 1) - 1)), 0.0, tolerance=ROUNDING),
        ),
        conclusions=(equal("median error in total variation", far, 0.0, tolerance=SOLVER, within=(0, 1)),),
        witness={"median error": far},
        parameters={"k": p.shape[1]},
    )
