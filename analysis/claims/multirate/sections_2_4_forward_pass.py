"""Claims of Sections 2.2, 3.4 and 4.3 on the forward pass: what it is, as steps of Euler, and with a closed gate."""

from dataclasses import replace
from typing import NamedTuple

import jax
import numpy as np

from analysis.claims.multirate import numpy_forward_pass
from analysis.claims.multirate.instances.networks import OPEN, SMALL, Stages, network, stages, symbols
from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, at_least, at_most, equal, holds
from dynsim._types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.networks.multirate.network import MultirateNetwork, frozen, with_gates
from dynsim.papers import MULTIRATE

SLOPE = 1e-4  # half the distance over which a slope is taken


class Run(NamedTuple):
    """A network of one round, symbols, and what it makes of them."""

    model: MultirateNetwork
    ids: np.ndarray
    found: Stages


def run(key: Key, *, gate: float = OPEN) -> Run:
    """Return a random network with its gate at a value, on random symbols."""
    a, b = jax.random.split(key)
    model, ids = network(a, gate=gate), symbols(b)
    return Run(model, ids, stages(model, ids))


def opened(given: Run) -> Measurement:
    """Measure that something is injected, and not little."""
    return at_least("largest injection", np.max(np.abs(given.found.injected)), 0.01, tolerance=ROUNDING)


def _specification_trial(given: Run, shift: int) -> Trial:
    n, logits = len(given.ids), np.asarray(given.found.logits)
    expected = numpy_forward_pass.scores(given.model, given.ids, shift=shift)
    return Trial(
        hypotheses=(
            holds("symbols are of the vocabulary", bool(np.all((given.ids >= 0) & (given.ids < SMALL.vocabulary)))),
            opened(given),
        ),
        conclusions=(
            holds("a score for each symbol at each place", logits.shape == (n, SMALL.vocabulary)),
            at_most("distance of the scores", np.max(np.abs(logits - expected)), 0.0, tolerance=ROUNDING),
        ),
        witness={"n": n, "P": SMALL.block, "range of scores": np.ptp(logits)},
    )


@claim(
    "multirate/proposition-9",
    MULTIRATE.at("Proposition 9", "(10)-(18)"),
    num_trials=8,
    note="a definition: what is measured is that the network is what (10) to (18) say, written out token by token in "
    "other arithmetic, with readings for what the text leaves open",
)
def network_is_the_specification(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For all symbols, (10) to (18) compute scores of the next symbol at every token, and the network computes them."""
    return _specification_trial(run(key), 1)


@network_is_the_specification.with_control
def network_is_the_specification(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Written out with the block of each token in place of the one before it."""
    return _specification_trial(run(key), 0)


def _sum_trial(given: Run, made: np.ndarray) -> Trial:
    """Compare the state after a round with something made of its terms."""
    gap = np.max(np.abs(np.asarray(given.found.after) - made))
    return Trial(
        hypotheses=(
            equal("largest context of the first block", np.max(np.abs(given.found.c[: SMALL.block])), 0, tolerance=0),
            at_least("change by Post", np.max(np.abs(given.found.alone - given.found.x)), 0.0, tolerance=ROUNDING),
            opened(given),
        ),
        conclusions=(at_most("distance from the state after the round", gap, 0.0, tolerance=ROUNDING),),
        witness={"gate": float(given.model.rounds[0].gate), "distance": gap},
    )


@claim(
    "multirate/claim-euler-step",
    MULTIRATE.at("Section 2.2", "(2)"),
    num_trials=4,
    note="read: F = Post - id does not see the slow context, which enters in the second term alone, as the text says. "
    "By (15) and (16) Post acts on x + alpha proj(c): the sum misses F(x + alpha proj(c)) - F(x), of first order in "
    "alpha. That any map is the Euler step of its own displacement says nothing; no control: the corrected claim is "
    "the positive case",
)
def round_is_one_euler_step(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The full fast update is one forward-Euler step, x + F(x) + alpha proj(c), of two additive terms.

    F is the layers' dynamics of x, and the gated injection is the only place where the slow context enters.
    """
    given = run(key)
    return _sum_trial(given, np.asarray(given.found.alone + given.found.injected))


@claim(
    "multirate/claim-euler-step/corrected",
    MULTIRATE.at("Section 2.2", "(2)"),
    variant="corrected",
    num_trials=8,
    note="changed: one Euler step becomes one after another, the injection first: a splitting of the field",
)
def round_is_a_splitting(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The fast update is a forward-Euler step of length alpha of x' = proj(RMSNorm(c)), c held, and then further ones.

    Each sublayer is one of length one, of x' = Attention(RMSNorm(x)) or of x' = MLP(RMSNorm(x)).
    """
    given = run(key)
    r = numpy_forward_pass.in_numpy(given.model).rounds[0]
    x = np.asarray(given.found.x)
    steps = [lambda x: numpy_forward_pass.injection(r, x), *numpy_forward_pass.fields(r.after)]
    return _sum_trial(given, numpy_forward_pass.euler_steps(steps, x))


@round_is_a_splitting.with_control
def round_is_a_splitting(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The injection last."""
    given = run(key)
    r = numpy_forward_pass.in_numpy(given.model).rounds[0]
    x = np.asarray(given.found.x)
    return _sum_trial(
        given,
        numpy_forward_pass.euler_steps(numpy_forward_pass.fields(r.after), x) + numpy_forward_pass.injection(r, x),
    )


def _with_slow_path_of(other: MultirateNetwork, model: MultirateNetwork) -> MultirateNetwork:
    """Return `model` with the slow layers, norm and projector of another network of one round."""
    (mine,), (theirs,) = model.rounds, other.rounds
    swapped = replace(mine, slow=theirs.slow, projector=theirs.projector, injection_norm=theirs.injection_norm)
    return replace(model, rounds=(swapped,))


def _gate_trial(key: Key, gate: float) -> Trial:
    """Compare a network with the frozen one, with one of other slow weights, and with its layers alone."""
    given = run(key, gate=gate)
    exchange = given.model.rounds[0]
    slow = _with_slow_path_of(network(jax.random.fold_in(key, 1)), given.model)
    alone = MultirateNetwork(
        given.model.token_embedding, (*given.model.before, *exchange.after), (), given.model.final_norm, None, 0
    )
    logits = np.asarray(given.found.logits)
    same = lambda model: bool(np.all(np.asarray(stages(model, given.ids).logits) == logits))
    gap = np.max(np.abs(numpy_forward_pass.scores(alone, given.ids) - logits))
    return Trial(
        hypotheses=(opened(run(key)), holds("scores are finite", bool(np.all(np.isfinite(logits))))),
        conclusions=(
            holds("the same bits as the frozen network", same(frozen(given.model))),
            holds("the same bits with another slow path", same(slow)),
            at_most("distance from the fast layers alone", gap, 0.0, tolerance=ROUNDING),
        ),
        witness={"distance from the fast layers alone": gap},
    )


@claim(
    "multirate/proposition-23",
    MULTIRATE.at("Proposition 23"),
    num_trials=6,
    note="the proposition's text is lost; read from its title and the paragraph below. To the bit where both are one "
    "compiled program. It says nothing on what follows: see `first-step`",
)
def closed_gate_is_the_frozen_network(key: Key, integrator: AbstractIntegrator) -> Trial:
    """At alpha = 0 the coupled network is numerically identical to the frozen one, whatever its slow path."""
    return _gate_trial(key, 0.0)


@closed_gate_is_the_frozen_network.with_control
def closed_gate_is_the_frozen_network(key: Key, integrator: AbstractIntegrator) -> Trial:
    """At alpha = 0.01."""
    return _gate_trial(key, 0.01)


def _loss(model: MultirateNetwork, ids: np.ndarray) -> float:
    """Return the mean of minus the logarithm of the probability of the next symbol, evaluated in NumPy."""
    logits = numpy_forward_pass.scores(model, ids[:-1])
    chosen = np.take_along_axis(logits, ids[1:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.sum(np.exp(logits), axis=1)) - chosen))


def _slope_trial(key: Key, gate: float) -> Trial:
    """Measure the slope of the loss in the gate, and whether another slow path changes the loss."""
    a, b = jax.random.split(key)
    model, ids = network(a, gate=gate), symbols(b)
    up, down = (_loss(with_gates(model, gate + step), ids) for step in (SLOPE, -SLOPE))
    slope = (up - down) / (2 * SLOPE)
    change = abs(_loss(_with_slow_path_of(network(jax.random.fold_in(key, 1)), model), ids) - _loss(model, ids))
    return Trial(
        hypotheses=(at_least("loss", _loss(model, ids), 0.0, tolerance=ROUNDING),),
        conclusions=(
            holds("the gate has a slope", abs(slope) > ROUNDING / SLOPE),
            at_most("change of the loss with another slow path", change, 0.0, tolerance=0.0),
        ),
        witness={"slope in the gate": slope, "change with another slow path": change},
    )


@claim(
    "multirate/proposition-23/first-step",
    MULTIRATE.at("Section 4.3, Section 10"),
    variant="reading",
    num_trials=4,
    note="why the gate leaves zero at the first step, and the slow path learns from the second step on only",
)
def gate_has_a_slope_and_the_slow_path_none(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: the first gradient. At alpha = 0 the loss has a slope in alpha, and does not depend on the slow path."""
    return _slope_trial(key, 0.0)


@gate_has_a_slope_and_the_slow_path_none.with_control
def gate_has_a_slope_and_the_slow_path_none(key: Key, integrator: AbstractIntegrator) -> Trial:
    """At alpha = 0.01."""
    return _slope_trial(key, 0.01)
