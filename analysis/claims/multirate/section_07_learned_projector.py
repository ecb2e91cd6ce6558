"""Claims of Corollary 29 and Remark 31: stationary distributions by power iteration and by trained networks."""

import functools
import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from analysis.chains.entropies import relative_entropy
from analysis.chains.mixing import total_variation
from analysis.chains.stationary import stationary_distribution
from analysis.ledger.claim import claim, rule
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, at_least, at_most, equal, holds
from analysis.ledger.verdict import Verdict
from dynsim._core.types import Key
from dynsim.errors import UnavailableError
from dynsim.networks.training import train
from dynsim.systems.master_equation.flow import MasterEquationMap, step_bound
from dynsim.systems.master_equation.generators import generator_from_rates, random_generator

STATES = 5
WIDTH = 64
STEPS = 1000  # of training, about two seconds
BATCH = 128
UNSEEN = 1000  # generators in the test set
SEEDS = (0, 1)
OFF_DIAGONAL = np.flatnonzero(~np.eye(STATES, dtype=bool))

Generators = Float[Array, "batch k k"]
Distributions = Float[Array, "batch k"]


class Projector(eqx.Module):
    """An MLP from the logarithms of the rates to the logarithms of a distribution, two hidden layers of 64 GELUs."""

    layers: eqx.nn.MLP

    def __call__(self, generators: Generators) -> Distributions:
        """Return the logarithms of the predicted stationary distributions, (batch, k)."""
        rates = jnp.log(generators.reshape(len(generators), -1)[:, OFF_DIAGONAL])
        return jax.nn.log_softmax(jax.vmap(self.layers)(rates), axis=-1)


def _generators(key: Key, count: int) -> Generators:
    """Return random dense generators with independent exponential rates of mean one, (count, k, k)."""
    return generators_of_rates(jax.random.exponential(key, (count, STATES, STATES)))


def generators_of_rates(rates: Generators) -> Generators:
    """Return the generators with given off-diagonal rates, (count, k, k); the diagonal of `rates` is ignored."""
    rates = rates * (1 - jnp.eye(STATES))[None]
    return rates - jax.vmap(jnp.diag)(jnp.sum(rates, axis=1))


def stationary_of(generators: Generators) -> Distributions:
    """Return the solutions of Q p = 0 with the last equation replaced by sum(p) = 1."""
    equations = generators.at[:, -1].set(1.0)
    right = jnp.zeros((len(generators), STATES, 1)).at[:, -1].set(1.0)
    return jnp.linalg.solve(equations, right)[..., 0]


def _batch(k: Array, key: Key) -> tuple[Generators, Distributions]:
    del k
    Q = _generators(key, BATCH)
    return Q, stationary_of(Q)


def _loss(model: Projector, batch: tuple[Generators, Distributions], key: Key) -> Array:
    """Return the mean relative entropy of the stationary distributions to the predicted ones, in nats."""
    del key
    Q, p = batch
    return jnp.mean(jnp.sum(p * (jnp.log(p) - model(Q)), axis=-1))


@functools.cache
def trained_projector(seed: int, num_steps: int) -> Projector:
    """Return the network of a seed, trained for `num_steps` steps.

    Raises:
        UnavailableError: if optax is missing.
    """
    a, b = jax.random.split(jax.random.key(seed))
    model = Projector(eqx.nn.MLP(STATES * (STATES - 1), STATES, WIDTH, 2, activation=jax.nn.gelu, key=a))
    if num_steps == 0:
        return model
    return train(model, _loss, _batch, b, num_steps=num_steps, every=num_steps, optimiser=_adam()).model


@functools.cache
def _adam():
    try:
        import optax
    except ImportError:
        raise UnavailableError("The training needs optax (`pip install dynsim[train]`), which is missing.") from None
    return optax.adam(optax.cosine_decay_schedule(3e-3, STEPS))


def _euler(Q: np.ndarray, num_steps: int) -> np.ndarray:
    """Return uniform distributions after forward-Euler steps of the largest size that preserves positivity."""
    tau = 1 / np.max(-np.diagonal(Q, axis1=1, axis2=2), axis=1)
    p = np.full(Q.shape[:2], 1 / STATES)
    for _ in range(num_steps):
        p = p + tau[:, None] * np.einsum("nij,nj->ni", Q, p)
    return p


def _below(what: str, errors: np.ndarray, others: np.ndarray) -> Measurement:
    """Measure that the mean of `errors` is below half the mean of `others`, up to three standard errors."""
    found = errors - others / 2
    error = 3 * float(np.std(found)) / math.sqrt(len(found))
    return at_most(what, np.mean(found), 0.0, tolerance=error, within=(-0.5, 1))  # of total variations, in (0, 1)


def _projector_trial(rates: Generators, num_steps: int) -> Trial:
    """Compare the error on unseen generators with those of the best constant and of one forward-Euler step."""
    models = [trained_projector(seed, num_steps) for seed in SEEDS]
    Q = generators_of_rates(rates)
    p, found = np.asarray(stationary_of(Q)), [np.exp(np.asarray(model(Q))) for model in models]
    constant = total_variation(p, np.mean(p, axis=0)[None] + 0 * p)
    euler, thrice = (total_variation(p, _euler(np.asarray(Q), n)) for n in (1, 3))
    errors = [total_variation(p, q) for q in found]
    mass = np.max(abs(np.sum(found, axis=-1) - 1))
    columns = np.max(abs(np.sum(np.asarray(Q), axis=1))) / np.max(np.asarray(Q))
    return Trial(
        hypotheses=(
            at_least("least rate", np.min(np.asarray(rates)), 0.0, tolerance=0.0),
            equal("columns sum to zero, over the largest rate", columns, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            *(
                _below(f"seed {k}: mean error less half of that of the constant", e, constant)
                for k, e in enumerate(errors)
            ),
            *(
                _below(f"seed {k}: mean error less half of that of one Euler step", e, euler)
                for k, e in enumerate(errors)
            ),
            at_most("largest deviation of the mass from one", mass, 0.0, tolerance=ROUNDING),
        ),
        witness={
            "mean errors": [float(np.mean(e)) for e in errors],
            "of the mean law": float(np.mean(constant)),
            "of one Euler step": float(np.mean(euler)),
            "of three": float(np.mean(thrice)),
        },
        parameters={"k": STATES, "networks": len(SEEDS), "steps of training": num_steps, "unseen": len(p)},
    )


def exponential_rates(key: Key) -> Generators:
    """Return independent exponential rates of mean one for the generators of a test set, (count, k, k)."""
    return jax.random.exponential(key, (UNSEEN, STATES, STATES))


PARAMETERS = (
    f"the paper's sizes and errors are missing: here {STATES} states, exponential rates of mean one, an MLP with two "
    f"hidden layers of {WIDTH} trained for {STEPS} steps, {UNSEEN} unseen generators, two seeds. "
)


network_predicts_the_stationary_distribution = claim(
    "multirate/remark-31-projector",
    statement="A small MLP trained on random generators predicts p_st of unseen ones of the same kind without "
    "iterating.",
    trial=lambda key: _projector_trial(exponential_rates(key), STEPS),
    control=lambda key: _projector_trial(exponential_rates(key), 0),  # The network before training.
    num_trials=2,
    note=f"{PARAMETERS}`Predicts` is read as: a mean error in total variation below half of that of the best constant "
    "distribution and of one Euler step; three Euler steps are as accurate as the network",
)


@claim(
    "multirate/remark-31-projector/other-generators",
    variant="reading",
    num_trials=2,
    note=f"{PARAMETERS}The stationary distribution of c Q is that of Q, but the network has not learned this "
    "invariance from its training set (normalised rates would give it, but not other shifts); no control: generators "
    "of the training distribution are measured by the same function",
)
def network_predicts_for_other_generators(key: Key) -> Trial:
    """The trained MLP predicts p_st of unseen generators. Read: also of another distribution, with rates times 1000."""
    return _projector_trial(1000 * exponential_rates(key), STEPS)


def _iteration_trial(Q: np.ndarray, share: float, hypotheses: tuple[Measurement, ...]) -> Trial:
    """Compare forward-Euler iterates with the geometric bound from Dobrushin's coefficient, down to rounding."""
    stationary = stationary_distribution(Q).probabilities
    step = MasterEquationMap(Q, share * float(step_bound(Q)))
    M = np.eye(len(Q)) + float(step.step_size) * Q
    factor = float(np.max(total_variation(M.T[:, None], M.T[None])))
    path = [np.eye(len(Q))[0]]
    for k in range(math.ceil(math.log(1e-14) / math.log(min(factor, 0.99)))):
        path.append(step.step(k, path[-1]))
    far = total_variation(np.stack(path), stationary)
    residual = np.max(abs(Q @ path[-1])) * float(step_bound(Q))
    excess = far - factor ** np.arange(len(far)) * far[0]
    return Trial(
        hypotheses=hypotheses,
        conclusions=(
            at_most("largest excess of the distance over the geometric bound", np.max(excess), 0.0, tolerance=ROUNDING),
            at_most("final distance from p_st", far[-1], 0.0, tolerance=ROUNDING),
            at_most("final residual |Q p|, times the step bound", residual, 0.0, tolerance=ROUNDING),
        ),
        witness={"Q": Q, "tau": float(step.step_size), "factor": factor, "steps": len(far) - 1},
        parameters={"k": len(Q), "factor": factor},
    )


@claim(
    "multirate/remark-31",
    num_trials=16,
    note="the paper's size and errors are missing; on dense random generators of eight states, compared with "
    "elimination without subtraction (GTH). For nearly decomposable chains the factor is close to one",
)
def power_iteration_finds_the_stationary_distribution(key: Key) -> Trial:
    """On random irreducible generators the iterates of I + tau Q below the step bound converge geometrically to the
    normalised null vector, down to rounding.
    """
    Q = random_generator(key, 8)
    dense = holds("all rates are positive, so that one step contracts", bool(np.all(Q[~np.eye(8, dtype=bool)] > 0)))
    return _iteration_trial(Q, 0.9, (dense,))


@power_iteration_finds_the_stationary_distribution.with_control
def power_iteration_finds_the_stationary_distribution(key: Key) -> Trial:
    """A directed cycle, with the step size at the bound."""
    ring = np.asarray(generator_from_rates(np.roll(np.eye(8), 1, axis=0)))
    return _iteration_trial(ring, 1.0, (holds("all rates are positive, so that one step contracts", True),))


STANDARD_ERRORS = 5  # about one chance in two million for each mean
Predictions = Float[np.ndarray, "batch k"]

variational = rule(
    "multirate/corollary-29",
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
