"""Claims of Sections 2.2, 3.4 and 4.3 on the forward pass: its specification, its Euler steps, and a closed gate."""

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

DIFFERENCE = 1e-4  # step of the central difference in the gate


class Run(NamedTuple):
    """A network of one round, a sequence of symbols, and the intermediate states `found` on them."""

    model: MultirateNetwork
    ids: np.ndarray
    found: Stages


def run(key: Key, *, gate: float = OPEN) -> Run:
    """Return a random network with its gate at `gate`, run on random symbols."""
    a, b = jax.random.split(key)
    model, ids = network(a, gate=gate), symbols(b)
    return Run(model, ids, stages(model, ids))


def injection_size(given: Run) -> Measurement:
    """Measure that the injected term is not negligible."""
    return at_least(
        "largest entry of the injected term", np.max(np.abs(given.found.injected)), 0.01, tolerance=ROUNDING
    )


def _specification_trial(given: Run, shift: int) -> Trial:
    n, logits = len(given.ids), np.asarray(given.found.logits)
    expected = numpy_forward_pass.logits(given.model, given.ids, shift=shift)
    return Trial(
        hypotheses=(
            holds(
                "the symbols belong to the vocabulary", bool(np.all((given.ids >= 0) & (given.ids < SMALL.vocabulary)))
            ),
            injection_size(given),
        ),
        conclusions=(
            holds("there is a logit for each symbol at each position", logits.shape == (n, SMALL.vocabulary)),
            at_most("largest difference of the logits", np.max(np.abs(logits - expected)), 0.0, tolerance=ROUNDING),
        ),
        witness={"n": n, "P": SMALL.block, "range of scores": np.ptp(logits)},
    )


@claim(
    "multirate/proposition-9",
    MULTIRATE.at("Proposition 9", "(10)-(18)"),
    num_trials=8,
    note="a definition: it is measured that the network agrees with an independent implementation of (10) to (18) in "
    "NumPy, with readings where the text is incomplete",
)
def network_is_the_specification(key: Key, integrator: AbstractIntegrator) -> Trial:
    """For all symbols, (10) to (18) define logits of the next symbol at every token, and the network computes them."""
    return _specification_trial(run(key), 1)


@network_is_the_specification.with_control
def network_is_the_specification(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The NumPy implementation with each token's own block in place of the previous one."""
    return _specification_trial(run(key), 0)


def _sum_trial(given: Run, expected: np.ndarray) -> Trial:
    """Measure whether the state after a round equals `expected`."""
    gap = np.max(np.abs(np.asarray(given.found.after) - expected))
    return Trial(
        hypotheses=(
            equal(
                "largest entry of the first block's context",
                np.max(np.abs(given.found.c[: SMALL.block])),
                0,
                tolerance=0,
            ),
            at_least(
                "largest change by Post",
                np.max(np.abs(given.found.without_injection - given.found.x)),
                0.0,
                tolerance=ROUNDING,
            ),
            injection_size(given),
        ),
        conclusions=(at_most("distance from the state after the round", gap, 0.0, tolerance=ROUNDING),),
        witness={"gate": float(given.model.rounds[0].gate), "distance": gap},
    )


@claim(
    "multirate/claim-euler-step",
    MULTIRATE.at("Section 2.2", "(2)"),
    num_trials=4,
    note="read: F = Post - id does not depend on the slow context, which enters only in the second term, as the text "
    "says. By (15) and (16) Post acts on x + alpha proj(c): the sum lacks F(x + alpha proj(c)) - F(x), of first order "
    "in alpha. That any map is the Euler step of its own displacement is trivial; no control: the corrected claim is "
    "the positive case",
)
def round_is_one_euler_step(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The full fast update is one forward-Euler step, x + F(x) + alpha proj(c), of two additive terms.

    F is the vector field of the layers, and the gated injection is the only term in which the slow context enters.
    """
    given = run(key)
    return _sum_trial(given, np.asarray(given.found.without_injection + given.found.injected))


@claim(
    "multirate/claim-euler-step/corrected",
    MULTIRATE.at("Section 2.2", "(2)"),
    variant="corrected",
    num_trials=8,
    note="changed: one Euler step becomes a sequence of Euler steps, the injection first: a splitting of the field",
)
def round_is_a_splitting(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The fast update is a forward-Euler step of length alpha of x' = proj(RMSNorm(c)), with c fixed, and then one of
    length one for each sublayer, of x' = Attention(RMSNorm(x)) or of x' = MLP(RMSNorm(x)).
    """
    given = run(key)
    r = numpy_forward_pass.in_numpy(given.model).rounds[0]
    x = np.asarray(given.found.x)
    steps = [lambda x: numpy_forward_pass.injection(r, x), *numpy_forward_pass.fields(r.after)]
    return _sum_trial(given, numpy_forward_pass.euler_steps(steps, x))


@round_is_a_splitting.with_control
def round_is_a_splitting(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The injection after the sublayers."""
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
    """Compare a network with the frozen one, with one of other slow weights, and with its fast layers alone."""
    given = run(key, gate=gate)
    exchange = given.model.rounds[0]
    slow = _with_slow_path_of(network(jax.random.fold_in(key, 1)), given.model)
    fast_only = MultirateNetwork(
        given.model.token_embedding, (*given.model.before, *exchange.after), (), given.model.final_norm, None, 0
    )
    logits = np.asarray(given.found.logits)
    same = lambda model: bool(np.all(np.asarray(stages(model, given.ids).logits) == logits))
    gap = np.max(np.abs(numpy_forward_pass.logits(fast_only, given.ids) - logits))
    return Trial(
        hypotheses=(injection_size(run(key)), holds("the logits are finite", bool(np.all(np.isfinite(logits))))),
        conclusions=(
            holds("the logits equal those of the frozen network in every bit", same(frozen(given.model))),
            holds("they are unchanged in every bit with another slow path", same(slow)),
            at_most("largest difference from the fast layers alone", gap, 0.0, tolerance=ROUNDING),
        ),
        witness={"distance from the fast layers alone": gap},
    )


@claim(
    "multirate/proposition-23",
    MULTIRATE.at("Proposition 23"),
    num_trials=6,
    note="the proposition's text is missing; read from its title and the paragraph below. Equality is in every bit "
    "where both are the same compiled program. It says nothing on later training steps: see `first-step`",
)
def closed_gate_is_the_frozen_network(key: Key, integrator: AbstractIntegrator) -> Trial:
    """At alpha = 0 the coupled network is numerically identical to the frozen one, whatever its slow path."""
    return _gate_trial(key, 0.0)


@closed_gate_is_the_frozen_network.with_control
def closed_gate_is_the_frozen_network(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The gate alpha = 0.01."""
    return _gate_trial(key, 0.01)


def _loss(model: MultirateNetwork, ids: np.ndarray) -> float:
    """Return the cross-entropy of the next symbol, in nats per symbol, evaluated in NumPy."""
    logits = numpy_forward_pass.logits(model, ids[:-1])
    chosen = np.take_along_axis(logits, ids[1:, None], axis=1)[:, 0]
    return float(np.mean(np.log(np.sum(np.exp(logits), axis=1)) - chosen))


def _slope_trial(key: Key, gate: float) -> Trial:
    """Measure the derivative of the loss in the gate, and whether another slow path changes the loss."""
    a, b = jax.random.split(key)
    model, ids = network(a, gate=gate), symbols(b)
    up, down = (_loss(with_gates(model, gate + step), ids) for step in (DIFFERENCE, -DIFFERENCE))
    slope = (up - down) / (2 * DIFFERENCE)
    change = abs(_loss(_with_slow_path_of(network(jax.random.fold_in(key, 1)), model), ids) - _loss(model, ids))
    return Trial(
        hypotheses=(at_least("loss", _loss(model, ids), 0.0, tolerance=ROUNDING),),
        conclusions=(
            holds("the derivative of the loss in the gate is not zero", abs(slope) > ROUNDING / DIFFERENCE),
            at_most("change of the loss with another slow path", change, 0.0, tolerance=0.0),
        ),
        witness={"slope in the gate": slope, "change with another slow path": change},
    )


@claim(
    "multirate/proposition-23/first-step",
    MULTIRATE.at("Section 4.3, Section 10"),
    variant="reading",
    num_trials=4,
    note="hence the gate moves away from zero at the first training step, and the slow path only from the second on",
)
def gate_has_a_slope_and_the_slow_path_none(key: Key, integrator: AbstractIntegrator) -> Trial:
    """Read: at alpha = 0 the loss has a nonzero derivative in alpha, and does not depend on the slow path."""
    return _slope_trial(key, 0.0)


@gate_has_a_slope_and_the_slow_path_none.with_control
def gate_has_a_slope_and_the_slow_path_none(key: Key, integrator: AbstractIntegrator) -> Trial:
    """The gate alpha = 0.01."""
    return _slope_trial(key, 0.01)
