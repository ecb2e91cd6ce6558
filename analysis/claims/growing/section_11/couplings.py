"""Claims of Corollary 12 on the coupling condition of the time scales."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks
from analysis.claims.growing.instances.measured import measured
from analysis.growing.couplings import Curvatures, LearningRates, couplings, curvatures
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.papers import GROWING
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.encoders import FreeEmbeddings
from dynsim.systems.prototypes.losses import PrototypeLoss

COROLLARY = GROWING.at("Corollary 12")


def _one_token(key: Key, kappa: float, regulariser: float) -> tuple[GrowingFlow, Growing, float]:
    """Return one free embedding at 0 and prototypes at -a and a in equilibrium, with kappa = 4 a^2 / T, and a."""
    a = int(numpy_rng(key, "a").integers(1, 9)) / 4
    T = 4 * a**2 / kappa
    flow = GrowingFlow(
        np.ones((1, 2)),
        blocks([1.0]),
        rules=GrowthRules(2.0, capacity=1, prototypes=2, initial_temperature=2 * T, least_temperature=T),
        loss=PrototypeLoss("full", barrier=4 * a**4),
        encoder=FreeEmbeddings(1, 2),
        encoder_rate=1.0,
        regulariser=regulariser,
    )
    on = jnp.ones(1, bool)
    flow = flow.with_heads(active=on, clipped=on, frames=jnp.asarray([[[1.0, 0.0], [0.0, 0.0]]]))
    banks = jnp.asarray([[[-a, 0.0], [a, 0.0]]])
    return flow, Growing(jnp.zeros((1, 2)), jnp.zeros(2), banks, jnp.full(1, T**3), jnp.zeros(())), a


@certified(
    "growing/corollary-12",
    COROLLARY,
    num_trials=4,
    note="C_3 eps_3 / c_0 >= |H| / (L_theta mu_theta) depends on no rate; so the third condition holds for all rates "
    "or for none. (61) leaves out the factor eta_P, and asks then for an eta_P above 2 / L_P. By c_0 <= eta_theta "
    "mu_theta the second asks for eta_T of the order of eta_theta, against eta_T >> eta_theta. Mode full, mu_P "
    "transverse to rotations; no control: the special case is the positive one",
)
def coupling_conditions_are_jointly_satisfiable(key: Key) -> Trial:
    """There are rates for which the three conditions (60) hold, and rates with (61) and (E2).

    The instance: one free embedding at 0 and prototypes at -a and a, at rest with lambda = 4 a^4, 1/2 <= 4 a^2 / T < 1:
    |H| = sqrt 2, L_theta = 2, mu_theta = 2 (1 - kappa), L_P >= 1.
    """
    kappa = 1 - Fraction(int(numpy_rng(key, "kappa").integers(1, 17)), 32)
    flow, x, a = _one_token(key, float(kappa), 0.0)
    found, v = curvatures(flow, x), measured(flow, x)[0]
    least, cross, steepest = 2 * (1 - kappa), 2, 2  # mu_theta, |H|^2 and L_theta
    speed = max(float(jnp.max(jnp.abs(part))) for part in (v.encoder, v.prototypes))
    return Trial(
        hypotheses=(
            equal("speed of the flow that ships", speed, 0.0, tolerance=1e-9),
            agrees("its mu_theta and L_theta", found.encoder, np.array([float(least), float(steepest)])),
            agrees("its |H|^2", found.cross**2, float(cross)),
            at_least("its mu_P", found.prototypes[0], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            holds("(60) for some rates: 3 |H| < L_theta mu_theta", 9 * cross < (steepest * least) ** 2),
            holds("(61) for some eta_P < 2: 3 |H| < 2 L_theta mu_theta", 9 * cross < (2 * steepest * least) ** 2),
        ),
        witness={"a": Fraction(a), "lambda": 4 * Fraction(a) ** 4, "kappa": kappa},
    )


weak_coupling_is_satisfiable = claim(
    "growing/corollary-12/weak-coupling",
    COROLLARY,
    statement="If 3 |H| < L_theta mu_theta, (60) holds for some rates, all of which have eta_T < eta_theta mu_theta "
    "eta_P / (3 C_2).",
    trial=lambda key: _weak_trial(key, 6.0),
    control=lambda key: _weak_trial(key, 0.0),  # No regulariser: 3 |H| > L_theta mu_theta.
    variant="special case",
    num_trials=6,
    note="added: 3 |H| < L_theta mu_theta, here by the curvature of a regulariser of the encoder. Then (60) holds for "
    "fast gates and eta_T < eta_theta mu_theta eta_P / (3 C_2), but for no larger eta_T: the temperatures are not "
    "faster than the encoder by more than a constant. C_1 / eta_P and C_2 / eta_P are drawn",
)


def _written_out(rng: np.random.Generator, found: Curvatures) -> tuple[Measurement, ...]:
    """Measure the parts of (55) and c_0 of (56) that ship at random rates, for a slow encoder and for a fast one."""
    measured = []
    for kind, speed in (("slow", 1e-3), ("fast", 1e3)):
        plus, eta, eta_T, C1, C2 = rng.uniform(0.1, 10, size=5)
        eta_theta = speed * eta * rng.uniform(0.5, 1.0)
        (mu_theta, L_theta), (mu_P, _) = found.encoder, found.prototypes
        expected = [
            C1 * eta * (eta / plus),
            C2 * eta * (eta_T / eta),
            eta * found.cross / L_theta * (eta_theta / eta),
            eta_theta * mu_theta if kind == "slow" else eta / 2 * mu_P,
        ]
        parts = np.array(couplings(found, LearningRates(plus, eta, eta_T, eta_theta), C1, C2)) / expected
        measured.append(agrees(f"C_i eps_i and c_0 over those of (55) to (57), {kind} encoder", parts, np.ones(4)))
    return tuple(measured)


def _weak_trial(key: Key, regulariser: float) -> Trial:
    """Choose rates from the constants, and evaluate (60) for them and for ten times the eta_T."""
    rng = numpy_rng(key, "constants")
    found = curvatures(*_one_token(key, 0.5, regulariser)[:2])
    gate, temperature, eta = rng.uniform(0.1, 10, size=3)
    slow = min(eta * found.prototypes[0] / (4 * found.encoder[0]), eta / 10)
    least = slow * found.encoder[0]
    rates = LearningRates(10 * gate * eta**2 / least, eta, least / (6 * temperature), slow)
    *parts, bound = couplings(found, rates, gate, temperature)
    faster = couplings(found, rates._replace(temperatures=10 * rates.temperatures), gate, temperature)
    return Trial(
        hypotheses=(
            at_least("mu_theta", found.encoder[0], 0.0, tolerance=ROUNDING),
            at_least("mu_P", found.prototypes[0], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("largest of C_i eps_i over c_0", max(parts) / bound, 1 / 3, tolerance=ROUNDING),
            agrees("C_3 eps_3 over c_0, three times", 3 * parts[2] / bound, found.needs),
            at_least("C_2 eps_2 over c_0 at ten times the eta_T", faster[1] / bound, 1 / 3, tolerance=ROUNDING),
            agrees("c_0 over eta_theta mu_theta", bound / least, 1.0),
            *_written_out(rng, found),
        ),
        witness={"curvatures": found._asdict(), "rates": rates._asdict()},
        parameters={"3 |H| / (L mu)": found.needs},
    )
