"""Claims of Corollaries 12 and 13: the coupling condition of time scales, and the bound (58) on a dwell interval."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks, rotated
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_11.events import FRAMES, small_flow
from analysis.claims.growing.section_11.limits import Interval, symmetric_heads, symmetric_interval
from analysis.growing.couplings import Curvatures, LearningRates, couplings, curvatures
from analysis.growing.functionals import energy_along, rate_of_change
from analysis.growing.residuals import paired_spectrum
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.encoders import FreeEmbeddings
from dynsim.systems.prototypes.losses import PrototypeLoss


def at_rest(at: Interval, hot: Fraction, cold: Fraction) -> tuple[GrowingFlow, Growing]:
    """Return two heads at T_min, one along two tokens and one across them, and the state at which both rest.

    The half distances are found by bisection of the interval, at whose ends the speeds have opposite signs.
    """
    flow, x = symmetric_heads(at, 0, hot, cold)
    on = jnp.ones(2, bool)
    flow, share = eqx.tree_at(lambda f: f.clipped, flow, on), x.prototypes / float(at.largest)
    x = x._replace(cubes=jnp.full(2, float(cold) ** 3))
    low, high = np.full(2, float(at.least)), np.full(2, float(at.largest))
    for _ in range(60):
        p = (low + high) / 2
        v = measured(flow, x._replace(prototypes=share * p[:, None, None]))[0].prototypes
        outward = np.sum(np.asarray(v) * np.asarray(share), axis=(1, 2)) > 0
        low, high = np.where(outward, p, low), np.where(outward, high, p)
    return flow, x._replace(prototypes=share * (low + high)[:, None, None] / 2)


@certified(
    "growing/corollary-13",
    num_trials=2,
    note="where all derivatives vanish and a clipped head has sigma > 0, dW/dt = 0 for any potential, and (58) asserts "
    "a negative bound; nor has that limit point sigma = 0, as (iii) asserts. The repair of Phi does not help. (i) and "
    "(ii) fail, too, by the growth events and distances of theorem-8-monotone and theorem-8-bounded. The constants, "
    "which the paper does not give, are drawn; fixed embeddings, so that C_3 = 0. Mode full",
)
def functional_falls_by_the_bound_at_all_times(key: Key) -> Trial:
    """Under the hypotheses of Theorem 8 and (55), dW/dt <= -(c_0 - C_1 eps_1 - C_2 eps_2) (|grad_P W|^2 + sum sigma) at
    all times of a dwell interval, and sigma = 0 at limit points.

    The instance: tokens at -z and z, two heads at T_min, one along the tokens and one across them, with prototypes at
    -p and p, at rest in an interval at whose ends they move inwards; sigma of the first is above a positive bound, and
    that of the second zero.
    """
    at, rng = symmetric_interval(key), numpy_rng(key, "temperature")
    hot = Fraction(int(rng.integers(1, 9)), 4)
    cold = hot / 4
    flow, x = at_rest(at, hot, cold)
    v, sigma = measured(flow, x)
    eta, bound = at.barrier / 4, at.least_activity(cold)
    c1, c2, mu = (Fraction(int(rng.integers(1, 65)), 16) for _ in range(3))
    eps = [min(Fraction(1, 10), mu / (8 * c)) for c in (c1, c2)]
    left = eta * (mu / 2 - c1 * eps[0] - c2 * eps[1])  # c_0 = eta_P mu_P / 2, C_i = eta_P c_i
    falls = {kind: rate_of_change(flow, x, potential=kind) for kind in ("printed", "repaired")}
    return Trial(
        hypotheses=(
            holds("(F1): lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            holds("(55)", left > 0),
            holds("(B3): one sigma is positive, and one zero", bound > 0),
            holds("the interval is invariant", at.invariant),
            at_most("speed of the flow that ships", jnp.max(jnp.abs(v.prototypes)), 1e-12, tolerance=0.0),
            at_most("speed of the temperatures", jnp.max(jnp.abs(v.cubes)), 1e-30, tolerance=0.0),
            at_least("sigma of the first head, over its bound", float(sigma[0]) / float(bound), 1.0, tolerance=0.0),
            at_most("sigma of the second one", sigma[1], 1e-20, tolerance=0.0),
            *(at_most(f"|dW/dt| with the {kind} Phi", abs(float(found.total)), 1e-20, tolerance=0.0)
              for kind, found in falls.items()),
        ),
        conclusions=(
            holds("0 = dW/dt <= -(c_0 - C_1 eps_1 - C_2 eps_2) sigma", left * bound <= 0),
            holds("sigma = 0 at this limit point", bound <= 0),
        ),
        witness={**at.witness(), "T_min": cold, "eta_P": eta, "c_1": c1, "c_2": c2, "mu_P": mu, "eps": eps},
    )  # fmt: skip


def _at_rest(
    a: float, T: float, values: Sequence[Any], regulariser: float, **heads: Any
) -> tuple[GrowingFlow, Growing]:
    """Return one free embedding at 0 with prototypes at rest at -a and a, and M_a with planes of these values."""
    d, on = 2 * len(values), jnp.ones(1, bool)
    flow = GrowingFlow(
        np.ones((1, d)),
        blocks(values),
        rules=GrowthRules(2.0, capacity=1, prototypes=2, initial_temperature=2 * T, least_temperature=T),
        loss=PrototypeLoss("full", barrier=4 * a**4),
        encoder=FreeEmbeddings(1, d),
        encoder_rate=1.0,
        regulariser=regulariser,
    )
    banks = jnp.zeros((1, 2, d)).at[0, :, 0].set(jnp.asarray([-a, a]))
    x = Growing(jnp.zeros((1, d)), jnp.zeros(d), banks, jnp.full(1, T**3), jnp.zeros(()))
    return flow.with_heads(active=on, clipped=on, **heads), x


def _two_planes(a: Fraction, gap: Fraction) -> tuple[GrowingFlow, Growing]:
    """Return that with T = 8 a^2 and the values 1 + gap and 1; the residual is all of M_a, as before the first head."""
    return _at_rest(float(a), 8 * float(a) ** 2, [1 + gap, 1], 30.0)


@certified(
    "growing/corollary-13/design-rule",
    num_trials=2,
    note="with C_gate = C_0 / D^2 and the C_1 of Lemma 23, D being the gap, C_1 eps_1 < c_0 / 3 needs eps_1 < D^4 c_0 "
    "/ (6 eta_P C_0 L_P |X|^2), of which (61) leaves out D^2 / (2 eta_P). The gap is that of planes (lemma-23), C_0 "
    "is drawn; no control: corollary-12/weak-coupling has (60), which does imply (55)",
)
def design_rule_implies_the_coupling_condition(key: Key) -> Trial:
    """Rates with (61) satisfy (55), for C_1 = 2 eta_P C_gate |X|^2 L_P / D^2 with C_gate = C_0 / D^2.

    The instance: one free embedding at rest with weak coupling, |H|^2 = 2, mu_theta = 31, L_theta = 32, eta_P =
    1 / (8 L_P) and planes with the gap D = 1 / (4 L_P), and eps_1 at 9/10 of its bound.
    """
    rng = numpy_rng(key, "rule")
    a, C0 = (Fraction(int(rng.integers(2, 9)), 4) for _ in range(2))
    largest = curvatures(*_two_planes(a, Fraction(1))).prototypes[1]
    steepest = Fraction(math.ceil(16 * largest) + 1, 16)  # a bound of L_P
    eta, gap, size = 1 / (8 * steepest), 1 / (4 * steepest), Fraction(4)
    flow, x = _two_planes(a, gap)
    found, v, pairs = curvatures(flow, x), measured(flow, x)[0], paired_spectrum(flow.residual).values
    mu, top, cross = Fraction(31), Fraction(32), Fraction(2)
    least = eta * Fraction(1, 100)  # c_0, less than eta_P mu_P / 2
    slow, eta_T = least / mu, least / 100
    first = Fraction(9, 10) * gap**2 * least / (3 * C0 * steepest * size)
    gate = 2 * (C0 / gap**2) * size * steepest / gap**2  # C_1 / eta_P
    rates = LearningRates(float(eta / first), float(eta), float(eta_T), float(slow))
    parts = couplings(found, rates, float(gate), 1.0)
    return Trial(
        hypotheses=(
            at_most("speed of the flow that ships", jnp.max(jnp.abs(v.prototypes)), 1e-9, tolerance=0.0),
            agrees("its mu_theta and L_theta", found.encoder, np.array([float(mu), float(top)])),
            agrees("its |H|^2", found.cross**2, float(cross)),
            at_most("its L_P over the bound", found.prototypes[1] / float(steepest), 1.0, tolerance=ROUNDING),
            at_least("its mu_P / 2 over c_0 / eta_P", found.prototypes[0] / 2 * 100, 1.0, tolerance=ROUNDING),
            agrees("gap of the planes", pairs[0] - pairs[1], float(gap)),
            holds("(E2): eta_P < 2 / L_P", eta * steepest < 2),
            holds("(61), first", first < gap**2 * least / (3 * C0 * steepest * size)),
            holds("(61), second, C_2 / eta_P being 1", eta_T / eta < least / 3),
            holds("(61), third", 9 * cross * (slow / eta) ** 2 < (least * top) ** 2),
        ),
        conclusions=(
            holds("(55), its first part alone: C_1 eps_1 < c_0", eta * gate * first < least),
            at_most("C_1 eps_1 + C_2 eps_2 + C_3 eps_3 over c_0, as it ships", sum(parts[:3]) / parts[3], 1.0,
                    tolerance=SOLVER),
        ),
        witness={"a": a, "C_0": C0, "L_P": steepest, "D": gap, "eta_P": eta, "c_0": least, "eps_1": first}
        | {"mu_theta": mu, "|X|^2": size, "eta_T": eta_T, "eta_theta": slow, "|H|^2": cross, "L_theta": top},
    )  # fmt: skip


END = 240.0
FAST = (0.4, 0.1, 0.3)  # eta_theta, eta_P, eta_T: in no order that the paper asks for


def _states(path: HybridTrajectory) -> list[tuple[GrowingFlow, Growing]]:
    """Return flow and state at the saved times of all phases."""
    ends = [(flow_of(phase), phase.ys, len(phase.ts)) for phase in path.phases]
    return [(flow, jax.tree.map(lambda y, k=k: y[k], ys)) for flow, ys, count in ends for k in range(count)]


def _uniform_trial(key: Key, integrator: AbstractIntegrator, *, clipped: bool) -> Trial:
    """Compare dW/dt with its bound at all saved times of a run; `clipped` heads count in the sum of sigma, or not."""
    rng = numpy_rng(key, "uniform")
    flow = small_flow(rng.normal(size=(5, 4)), rotated(rng, [2.0, 1.0]))
    rates = [jnp.asarray(v, float) for v in FAST]
    flow = eqx.tree_at(lambda f: [f.encoder_rate, f.prototype_rate, f.temperature_rate], flow, rates)
    x = flow.start(key)._replace(clock=jnp.zeros(()))
    path = simulate_growing(flow, x, np.linspace(0.0, END, FRAMES), integrator=integrator)
    over = []
    for at, y in _states(path):
        found = rate_of_change(at, y, potential="repaired")
        bracket = found.encoder + found.prototypes + jnp.sum(at.activity(y) if clipped else found.activity)
        over.append(float((found.total + min(*FAST[:2], 1.0) * bracket) / (1e-9 + bracket)))
    found = energy_along(path, potential="repaired")
    top = found.values[0] + np.sum(found.jumps[["grow" in names for names in found.names]])
    return Trial(
        hypotheses=(
            at_least("growth events", len(path.times("grow")), 2, tolerance=0.0),
            at_least("clips", len(path.times("clip")), 1, tolerance=0.0),
            at_least("eta_T / eta_P and eta_theta / eta_P", min(FAST[0], FAST[2]) / FAST[1], 2.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("largest dW/dt + least rate times the bracket, over it", max(over), 0.0, tolerance=1e-9),
            at_most("W over W(0) and the jumps at growth", np.max(found.values) / top, 1.0,
                    tolerance=SOLVER),
            equal("number of states at which the bound is measured", len(over), len(found.values), tolerance=0.0),
        ),
        witness={"over": over, "W": found.values},
        parameters={"eta_T / eta_P": FAST[2] / FAST[1]},
    )  # fmt: skip


functional_falls_by_the_least_rate_at_all_times = claim(
    "growing/corollary-13/corrected",
    statement="At all times between events dW/dt <= -min(eta_theta, eta_P, 1) (|grad_theta W|^2 + |grad_P W|^2 + sum "
    "sigma), the sum being over heads above T_min, for any rates; so W(t) <= W(0) + the jumps at growth.",
    trial=partial(_uniform_trial, clipped=False),
    control=partial(_uniform_trial, clipped=True),  # Heads at T_min count in the sum of sigma.
    num_trials=2,
    note="changed: Phi = (T^3 - T_min^3) / (3 eta_T), the sum over heads above T_min, the least rate in place of the "
    "coupling condition, and jumps at growth; prototypes and encoder descend W, with a ridge. No separation of time "
    "scales: eta_T and eta_theta exceed eta_P. theorem-9/corrected has the bound at one state, here it is along runs; "
    "limit points are in theorem-8-limit-set/corrected and theorem-8-iv/corrected. Mode full",
)


def _one_token(key: Key, kappa: float, regulariser: float) -> tuple[GrowingFlow, Growing, float]:
    """Return that with kappa = 4 a^2 / T and one captured plane, and a."""
    a = int(numpy_rng(key, "a").integers(1, 9)) / 4
    frames = jnp.asarray([[[1.0, 0.0], [0.0, 0.0]]])
    return *_at_rest(a, 4 * a**2 / kappa, [1.0], regulariser, frames=frames), a


@certified(
    "growing/corollary-12",
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
