"""Claims of Section 11 on dwell intervals: the functional of Definition 2 and Lemma 20, and its rate in Theorem 9."""

from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import rotated
from analysis.claims.growing.instances.lattice_heads import LOG_2, LatticeHeads, inner, lattice_heads
from analysis.claims.growing.instances.measured import measured
from analysis.growing.functionals import FunctionalDerivative, free_energy_terms, rate_of_change, temperature_potential
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss

LEAST_SHARE = 0.1  # T_min over T_init of the random systems


def random_heads(key: Key, *, clipped: tuple[bool, bool], rate: float = 0.0) -> tuple[GrowingFlow, Growing]:
    """Return a flow of two heads with barrier, ridge, regulariser and a linear encoder, and a random state.

    With a `rate`, encoder and prototypes have this rate; else each has a random one.
    """
    rng = numpy_rng(key, "heads")
    rules = GrowthRules(capacity=2, prototypes=3, least_temperature=LEAST_SHARE)
    flow = GrowingFlow(
        rng.normal(size=(5, 4)),
        rotated(rng, [2.0, 1.0]),
        rules=rules,
        loss=PrototypeLoss("full", barrier=rng.uniform(0.1, 1), ridge=rng.uniform(0, 1), reduction="mean"),
        encoder=LinearEncoder(4, 4),
        encoder_rate=rate or rng.uniform(0.01, 2),
        prototype_rate=rate or rng.uniform(0.1, 2),
        temperature_rate=rng.uniform(0.01, 1),
        regulariser=rng.uniform(0.1, 1),
    )
    flow = flow.with_heads(active=jnp.ones(2, bool), clipped=jnp.asarray(clipped))
    T = np.where(clipped, LEAST_SHARE, rng.uniform(0.3, 1, size=2))
    x = flow.start(key)._replace(prototypes=jnp.asarray(rng.normal(size=(2, 3, 4))), cubes=jnp.asarray(T**3))
    return flow, x


def shipped_activities(at: LatticeHeads, flow: GrowingFlow) -> Measurement:
    """Measure that the activities of the flow are those of the lattice."""
    return agrees("sigma of the flow that ships", measured(flow, at.state())[1], np.array(at.activities, float))


@certified(
    "growing/definition-2",
    num_trials=4,
    note="dPhi/dT = -T^2 / eta_T and dT/dt = -eta_T sigma / T^2 (losses as means, as (22) needs with sigma of (21)); "
    "with sums both have the factor N",
)
def potential_decreases(key: Key) -> Trial:
    """Along (47), Phi = (T_init^3 - T^3) / (3 eta_T) has the derivative -sigma.

    The instance: two heads on integer points at T = 1 / log 2, where sigma is rational.
    """
    at = lattice_heads(key)
    eta = Fraction(1, int(numpy_rng(key, "rate").integers(10, 200)))
    flow = at.flow(barrier=float(at.barrier), prototype_rate=0.1, temperature_rate=float(eta), clipped=False)
    total = sum(at.activities)
    along = [-(-3 * eta * sigma) / (3 * eta) for sigma in at.activities]
    return Trial(
        hypotheses=(
            holds("sigma is positive", min(at.activities) > 0),
            shipped_activities(at, flow),
            agrees(
                "cubes of the temperatures",
                measured(flow, at.state())[0].cubes,
                [-3 * float(eta * s) for s in at.activities],
            ),
            agrees("dPhi/dt of the functional that ships", rate_of_change(flow, at.state()).potentials, float(total)),
        ),
        conclusions=(holds("dPhi/dt = -sigma", along == [-sigma for sigma in at.activities]),),
        witness={**at.witness(), "eta_T": eta, "sigma": at.activities},
    )


def _potential_trial(key: Key, potential: str) -> Trial:
    """Compare the derivative of the potential with -sigma of the first head; the second one is at T_min."""
    flow, x = random_heads(key, clipped=(False, True))
    found, sigma = rate_of_change(flow, x, potential=potential, loss=flow.loss), measured(flow, x)[1]
    values = temperature_potential(flow, x, potential)
    return Trial(
        hypotheses=(
            at_least("sigma of a head above T_min", sigma[0], 0.0, tolerance=ROUNDING),
            at_least("sigma of a head at T_min", sigma[1], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            agrees("dPhi/dt", found.potentials, -float(sigma[0])),
            at_least("the potential above T_min", values[0], 0.0, tolerance=ROUNDING),
            agrees("the potential at T_min", values[1], 0.0),
        ),
        witness={"state": x},
    )


@claim(
    "growing/definition-2/corrected",
    control=partial(_potential_trial, potential="printed"),  # The printed potential.
    num_trials=8,
    note="changed: Phi = (T^3 - T_min^3) / (3 eta_T), which is positive at T_init; after the clip it is zero and stays",
)
def repaired_potential_decreases(key: Key) -> Trial:
    """Along (47), Phi = (T^3 - T_min^3) / (3 eta_T) is not negative, and has the derivative -sigma until T = T_min and
    0 from then on.
    """
    return _potential_trial(key, "repaired")


def slow_rates(at: LatticeHeads) -> tuple[Fraction, Fraction, Fraction]:
    """Return eta_P, eta_T and a lower bound of dW/dt, positive, for the printed functional at a lattice state.

    dW/dt = -eta_P |grad_P W|^2 - eta_T sum sigma^2 / T^4 + sum sigma, and the square is convex in log 2.
    """
    total, squares = sum(at.activities, Fraction(0)), sum((s * s for s in at.activities), Fraction(0))
    slope = lambda h, log_2: at.gradient(h, log_2) + at.barrier * at.repulsion(h)
    steepest = max(sum((inner(slope(h, x), slope(h, x)) for h in (0, 1)), Fraction(0)) for x in LOG_2)
    eta = min(total / (4 * steepest), at.barrier / 3)
    eta_T = min(eta / 10, total / (4 * squares), Fraction(1, 4000) / max(at.activities))
    square = LOG_2[1] * LOG_2[1]
    return eta, eta_T, total - eta * steepest - eta_T * squares * square * square


@certified(
    "growing/lemma-20",
    num_trials=4,
    note="(III) is +sigma, by definition-2, and (I) and (II) are of the order of the rates: where sigma > 0, W rises "
    "if these are small, and every condition is an upper bound of a rate or of a ratio. Both modes; (C1) is on an MLP "
    "that does not occur in W",
)
def functional_decreases_on_dwell_intervals(key: Key) -> Trial:
    """On a dwell interval dW/dt <= 0, for distinct prototypes, orthogonal directions of heads, different activities,
    eta_T << eta_P and lambda > 2 eta_P C(K, 2).

    The instance: two heads on integer points at T = 1 / log 2, fixed embeddings, prototypes that descend W itself.
    """
    at = lattice_heads(key)
    (eta, eta_T, bound), coldest = slow_rates(at), Fraction(1, 10)
    flow = at.flow(barrier=float(at.barrier), prototype_rate=float(eta), temperature_rate=float(eta_T), clipped=False)
    found = rate_of_change(flow, at.state())
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            holds("10 eta_T <= eta_P", 10 * eta_T <= eta),
            holds("(E1) with T_min = 1/10", 3 * eta_T * max(at.activities) < coldest**3),
            holds("the activities differ", at.activities[0] != at.activities[1]),
            shipped_activities(at, flow),
            agrees("(III) of the functional that ships", found.potentials, float(sum(at.activities))),
            at_least("its dW/dt, over the bound", found.total / float(bound), 1.0, tolerance=0.0),
        ),
        conclusions=(holds("dW/dt <= 0", bound <= 0),),
        witness={**at.witness(), "eta_P": eta, "eta_T": eta_T, "T_min": coldest, "bound": bound},
    )


def opposed(key: Key) -> tuple[LatticeHeads, Fraction]:
    """Return heads in which the loss pulls prototypes together, and lambda, with the rate of W / eta_P, positive.

    With heads at T_min and prototypes that descend L_q alone, dW/dt / eta_P = -<g + lambda r, g>, g and r being the
    derivatives of L_q and of the barrier over lambda.
    """
    index = 0
    while True:
        at = lattice_heads(jax.random.fold_in(key, index))
        pairs = [[(at.gradient(h, x), at.repulsion(h)) for h in (0, 1)] for x in LOG_2]
        crossed = max(sum((inner(g, r) for g, r in pair), Fraction(0)) for pair in pairs)
        index += 1
        if crossed < 0:
            steepest = max(sum((inner(g, g) for g, _ in pair), Fraction(0)) for pair in pairs)
            lam = 2 * steepest / -crossed + 1
            return at._replace(barrier=lam), -crossed * lam - steepest


@certified(
    "growing/lemma-20/equation-46",
    variant="reading",
    num_trials=2,
    note="read: with (46) and (48) as printed, in which prototypes descend L_q and not the barrier. The heads are at "
    "T_min, so that neither potential plays a part; mode full",
)
def functional_decreases_without_descent_of_the_barrier(key: Key) -> Trial:
    """Along P' = -eta_P grad_P L_q the functional with the barrier does not increase.

    The instance: two heads on integer points at T_min = 1 / log 2, whose prototypes the loss pulls together.
    """
    at, per_rate = opposed(key)
    eta, bound = Fraction(1, 4), per_rate / 4
    flow = at.flow(barrier=0.0, prototype_rate=float(eta), temperature_rate=0.01, clipped=True)
    loss = PrototypeLoss("full", barrier=float(at.barrier), reduction="mean")
    found = rate_of_change(flow, at.state(), potential="repaired", loss=loss)
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            at_least("dW/dt of the flow that ships, over the bound", found.total / float(bound), 1.0, tolerance=1e-9),
        ),
        conclusions=(holds("dW/dt <= 0", bound <= 0),),
        witness={**at.witness(), "eta_P": eta, "bound": bound},
    )


def _dissipated(flow: GrowingFlow, x: Growing, found: FunctionalDerivative) -> float:
    """Return what W loses: the rates times the squared derivatives, and sigma + eta_T sigma^2 / T^4 of moving heads."""
    eta_T, T = float(flow.temperature_rate), np.asarray(flow.temperatures(x))
    sigma = np.asarray(found.activity)
    descent = float(flow.encoder_rate * found.encoder + flow.prototype_rate * found.prototypes)
    return descent + float(np.sum(sigma + eta_T * sigma**2 / T**4))


def _descent_trial(flow: GrowingFlow, x: Growing, loss: PrototypeLoss) -> Trial:
    """Compare the derivative of the repaired functional with what its descent dissipates."""
    found = rate_of_change(flow, x, potential="repaired", loss=loss)
    lost = _dissipated(flow, x, found)
    scale = 1 + lost
    regulariser = free_energy_terms(flow, x, loss=loss).regulariser
    written_out = float(flow.regulariser) * float(np.sum(np.asarray(x.encoder) ** 2)) / 2
    return Trial(
        hypotheses=(
            at_least("sigma of a head above T_min", found.activity[0], 0.0, tolerance=ROUNDING),
            at_least("squared derivatives by the encoder", found.encoder, 0.0, tolerance=ROUNDING),
            at_least("squared derivatives by the prototypes", found.prototypes, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("dW/dt, over its size", found.total / scale, 0.0, tolerance=ROUNDING),
            agrees("dW/dt over that size", found.total / scale, -lost / scale),
            agrees("the regulariser of W", regulariser, written_out),
        ),
        witness={"state": x, "dW/dt": float(found.total)},
    )


@claim(
    "growing/lemma-20/corrected",
    num_trials=8,
    note="changed: Phi = (T^3 - T_min^3) / (3 eta_T); prototypes and encoder descend W with its barrier, ridge and "
    "regulariser. Mode full; any lambda >= 0, any rates, no separation of time scales",
)
def repaired_functional_decreases_on_dwell_intervals(key: Key) -> Trial:
    """On a dwell interval dW/dt = -eta_theta |grad_theta W|^2 - eta_P |grad_P W|^2 - sum (sigma + eta_T sigma^2 / T^4)
    <= 0, the sum being over heads with T > T_min.
    """
    flow, x = random_heads(key, clipped=(False, True))
    return _descent_trial(flow, x, flow.loss)


@repaired_functional_decreases_on_dwell_intervals.with_control
def repaired_functional_decreases_on_dwell_intervals(key: Key) -> Trial:
    """Prototypes that do not descend the barrier, as (46) prints them."""
    flow, x = random_heads(key, clipped=(False, True))
    loss = flow.loss
    bare = PrototypeLoss("full", barrier=0.0, ridge=loss.ridge, reduction="mean")
    return _descent_trial(eqx.tree_at(lambda f: f.loss, flow, bare), x, loss)


def _bound_trial(key: Key, clipped: tuple[bool, bool]) -> Trial:
    """Compare dW/dt with the bound by the squared derivatives and the activities of all heads, at equal rates."""
    rng = numpy_rng(key, "rate")
    flow, x = random_heads(key, clipped=clipped, rate=rng.uniform(0.1, 0.9))
    found = rate_of_change(flow, x, potential="repaired", loss=flow.loss)
    least = min(float(flow.encoder_rate), float(flow.prototype_rate), 1.0)
    sigma = measured(flow, x)[1]
    total, warm = float(jnp.sum(sigma)), float(jnp.sum(jnp.where(jnp.asarray(clipped), 0.0, sigma)))
    squares = float(found.encoder + found.prototypes)
    bracket = squares + total
    return Trial(
        hypotheses=(
            at_least("least rate", least, 0.0, tolerance=ROUNDING),
            at_least("sum of the activities, over the bracket", total / bracket, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("dW/dt over the bracket", found.total / bracket, -least, tolerance=ROUNDING),
            agrees("the bracket that ships, of heads above T_min", found.dissipation, squares + warm),
            at_least(
                "the part of D, at equal rates, over its bound",
                found.state / -(least * (found.encoder + found.prototypes)),
                1.0,
                tolerance=1e-9,
            ),
        ),
        witness={"state": x, "dW/dt": float(found.total)},
    )


functional_dissipates = claim(
    "growing/theorem-9/corrected",
    statement="On a dwell interval dW/dt <= -min(eta_theta, eta_P, 1) (|grad_theta W|^2 + |grad_P W|^2 + sum sigma), "
    "the sum being over heads with T > T_min, for any rates.",
    trial=partial(_bound_trial, clipped=(False, False)),
    control=partial(_bound_trial, clipped=(True, True)),  # Both heads are at T_min, and their activities in the sum.
    num_trials=8,
    note="changed: Phi = (T^3 - T_min^3) / (3 eta_T); prototypes and encoder descend W; no coupling condition. Heads "
    "at T_min do not count: their sigma is positive where all derivatives vanish. Mode full",
)


@certified(
    "growing/theorem-9",
    num_trials=4,
    note="with (III) = +sigma; (55) is homogeneous of degree one in the rates: it holds for all small multiples of "
    "them once it holds, while dW/dt tends to sum sigma > 0. The constants, which the paper does not give, are drawn. "
    "Both modes, fixed embeddings, so that C_3 = 0",
)
def coupling_condition_bounds_the_rate(key: Key) -> Trial:
    """If C_1 eps_1 + C_2 eps_2 + C_3 eps_3 < c_0, then dW/dt <= 0 on every dwell interval.

    The instance: that of Lemma 20, C_1 and C_2 being eta_P times random constants, and c_0 = eta_P mu_P / 2.
    """
    at, rng = lattice_heads(key), numpy_rng(key, "constants")
    eta, eta_T, bound = slow_rates(at)
    c1, c2, mu = (Fraction(int(rng.integers(1, 65)), 16) for _ in range(3))
    gate = max(10 * eta, 5 * c1 * eta / mu)
    eta_T = min(eta_T, eta * mu / (5 * c2))
    flow = at.flow(barrier=float(at.barrier), prototype_rate=float(eta), temperature_rate=float(eta_T), clipped=False)
    found = rate_of_change(flow, at.state())
    coupled = eta * (c1 * eta / gate + c2 * eta_T / eta)
    return Trial(
        hypotheses=(
            holds("C_1 eps_1 + C_2 eps_2 < c_0", coupled < eta * mu / 2),
            holds("eps_1, eps_2 <= 1 / 10", max(eta / gate, eta_T / eta) <= Fraction(1, 10)),
            holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            shipped_activities(at, flow),
            at_least("dW/dt of the flow that ships, over the bound", found.total / float(bound), 1.0, tolerance=0.0),
        ),
        conclusions=(holds("dW/dt <= 0", bound <= 0),),
        witness={**at.witness(), "eta_P": eta, "eta_T": eta_T, "eta_plus": gate}
        | {"c_1": c1, "c_2": c2, "mu_P": mu, "bound": bound},
    )
