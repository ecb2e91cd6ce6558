"""Claims of Theorem 8 on the long run: bounds, and limit points."""

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_11.events import small_run
from analysis.claims.prototypes.instances.escapes import Escape, escape
from analysis.growing.functionals import energy_along, rate_of_change
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, at_least, at_most, holds
from dynsim._core.types import ArrayLike, Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import flow_of
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.encoders import LinearEncoder
from dynsim.systems.prototypes.losses import PrototypeLoss

PAIR = blocks([1.0])  # an interaction of two features


def pair_of_prototypes(
    data: ArrayLike, a: float, b: float, temperature: float, *, rules: GrowthRules, loss: PrototypeLoss, rate: float
) -> tuple[GrowingFlow, Growing]:
    """Return the flow of one head, with a linear encoder, and its state with prototypes at -a and b."""
    flow = GrowingFlow(
        data, PAIR, rules=rules, loss=loss, encoder=LinearEncoder(2, 2), prototype_rate=rate, regulariser=1.0
    )
    frames = jnp.asarray([[[1.0, 0.0], [0.0, 0.0]]])
    flow = flow.with_heads(active=jnp.ones(1, bool), frames=frames)
    banks = jnp.asarray([[[-a, 0.0], [b, 0.0]]])
    return flow, Growing(jnp.eye(2), jnp.zeros(2), banks, jnp.full(1, temperature**3), jnp.zeros(()))


def _speeds(at: Escape, a: float, b: float, share: float) -> tuple[float, float]:
    """Return da/dt and db/dt of the flow that ships, with a token at 0, at a share of the first temperature."""
    T = float(at.temperature)
    rules = GrowthRules(2.0, capacity=1, prototypes=2, initial_temperature=T, least_temperature=T / 4)
    loss = PrototypeLoss("full", barrier=float(at.barrier))
    flow, x = pair_of_prototypes(np.zeros((1, 2)), a, b, share * T, rules=rules, loss=loss, rate=float(at.rate))
    v = measured(flow, x)[0].prototypes[0]
    return -float(v[0, 0]), float(v[1, 0])


def _lowest_speed(at: Escape) -> float:
    r"""Return the least of $\dot b g^3 / (\eta \lambda) - 1$ and of the inward speeds at both ends, at some points."""
    a0, strength, found = float(at.a0), float(at.rate * at.barrier), []
    for b in (float(at.b0), 3 * float(at.b0)):
        for share in (1.0, 0.3):
            outward = _speeds(at, a0 / 2, b, share)[1] * (a0 / 2 + b) ** 3 / strength - 1
            ends = (_speeds(at, 0.0, b, share)[0], -_speeds(at, a0, b, share)[0])
            found += [outward, *(end * b**3 / strength for end in ends)]
    return min(found)


@certified(
    "growing/theorem-8-bounded",
    num_trials=2,
    note="(F1) does not make W coercive: the barrier tends to zero at large distances, as do the assignments of a far "
    "prototype, which is repelled with b^3 db/dt >= eta_P lambda / 8 at every temperature on the way. Mode full; the "
    "encoder is linear with a coercive regulariser",
)
def trajectories_are_bounded(key: Key) -> Trial:
    """For lambda > 2 eta_P C(K, 2) and a coercive regulariser every trajectory is bounded.

    The instance: one token at 0, one head with prototypes at -a and b on a line, and a region 0 <= a <= a_0, b >= b_0
    that no trajectory leaves, at T_init or any lower temperature.
    """
    at = escape(key, mode="full", coupled=False)
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", at.condition),
            holds("the prototypes are distinct", at.b0 > 0),
            at_least("least speed of the flow that ships, less the bound", _lowest_speed(at), 0.0, tolerance=1e-9),
        ),
        conclusions=(holds("some trajectory in the region is bounded", not at.invariant),),
        witness={"lambda": at.barrier, "eta_P": at.rate, "T_init": at.temperature, "a_0": at.a0, "b_0": at.b0},
        parameters={"lambda / eta_P": float(at.barrier / at.rate)},
    )


def _gaps(banks: object) -> np.ndarray:
    """Return the squared distances of the two prototypes of each bank, (..., heads, 2, d)."""
    p = np.asarray(banks)
    return np.sum((p[..., 0, :] - p[..., 1, :]) ** 2, axis=-1)


def _bounded_trial(key: Key, integrator: AbstractIntegrator, *, ridge: float) -> Trial:
    """Follow the growing system from a far prototype, and compare |P|^2 and S with the bounds by W, for rho = 0.2."""
    path = small_run(key, integrator, ridge=ridge, far=30.0)
    found = energy_along(path, potential="repaired")
    first = found.values[0]
    rises = float(np.sum(found.jumps[["grow" in names for names in found.names]]))
    shown = [
        np.asarray(flow_of(phase).active)[:, None, None] * np.asarray(phase.ys.prototypes) for phase in path.phases
    ]
    sizes = max(float(np.max(np.sum(p**2, axis=(1, 2, 3)))) for p in shown)
    apart = [np.min(_gaps(phase.ys.prototypes)[:, np.asarray(flow_of(phase).active)]) for phase in path.phases]
    weights = max(float(np.max(np.sum(phase.ys.encoder**2, axis=(1, 2)))) for phase in path.phases)
    flow, top = flow_of(path.phases[0]), first + rises
    return Trial(
        hypotheses=(
            at_least("growth events", len(path.times("grow")), 2, tolerance=0.0),
            at_least("|P|^2 of the first bank at the start", np.sum(shown[0][0] ** 2), 500.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("largest rho |P|^2 / 2 over W(0) and the jumps", 0.1 * sizes / top, 1.0, tolerance=SOLVER),
            at_most(
                "largest lambda_theta |theta|^2 / 2, over it",
                flow.regulariser / 2 * weights / top,
                1.0,
                tolerance=SOLVER,
            ),
            at_least("least S over lambda / it", min(apart) * top / float(flow.loss.barrier), 1.0, tolerance=SOLVER),
        ),
        witness={"|P|^2": sizes, "W(0)": first, "jumps": rises},
    )


trajectories_with_a_ridge_are_bounded = claim(
    "growing/theorem-8-bounded/corrected",
    statement="With barrier, ridge and regulariser, rho |P|^2 / 2, lambda / S and lambda_theta |theta|^2 / 2 stay "
    "below W(0) plus the sum of the jumps at growth.",
    trial=partial(_bounded_trial, ridge=0.2),
    control=partial(_bounded_trial, ridge=0.0),  # No ridge.
    num_trials=2,
    note="added: a ridge rho / 2 |P|^2, prototypes and encoder that descend W, the repaired Phi, and the jumps at "
    "growth; then any lambda > 0 does. Mode full; a prototype starts at the distance 30",
)


class Interval(NamedTuple):
    r"""Prototypes at -p and p, tokens at -z and z, with $p' = \eta (-p + v z + \lambda / (4 p^3))$, 0 <= v <= 3/2.

    $v = 2 w - 1 = \tanh(x/2) + \frac{x}{2 \cosh^2(x/2)}$ with $x = 4 z p / T$; the last term is at most 1/2, since
    $\cosh^2(x/2) \ge 1 + x^2 / 4$. Losses are means over tokens, in the mode full.
    """

    z: Fraction
    barrier: Fraction
    least: Fraction
    largest: Fraction

    @property
    def invariant(self) -> bool:
        """Whether p' > 0 at the least p and p' < 0 at the largest, at every temperature."""
        low, high = self.least, self.largest
        return 0 < low < high and 4 * low**4 < self.barrier and high > 3 * self.z / 2 + self.barrier / (4 * high**3)

    def least_activity(self, coldest: Fraction) -> Fraction:
        r"""Return a positive lower bound of sigma = (4 z p)^2 / (4 cosh^2(x/2)) on the interval, at T_min or above.

        $4 \cosh^2(x/2) = 2 + e^x + e^{-x} \le 4 \cdot 3^{x}$.
        """
        steepest = math.ceil(4 * self.z * self.largest / coldest)
        return (4 * self.z * self.least) ** 2 / (4 * Fraction(3) ** steepest)

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        return {"z": self.z, "lambda": self.barrier, "least p": self.least, "largest p": self.largest}


def symmetric_interval(key: Key) -> Interval:
    """Return an interval for random rational z and lambda."""
    rng = numpy_rng(key, "interval")
    z, lam = Fraction(int(rng.integers(1, 9)), 8), Fraction(int(rng.integers(1, 33)), 8)
    low = high = Fraction(1)
    while 4 * low**4 >= lam:
        low /= 2
    while high <= 3 * z / 2 + lam / (4 * high**3):
        high *= 2
    return Interval(z, lam, low, high)


@certified(
    "growing/theorem-8-limit-set",
    num_trials=2,
    note="a clipped temperature rests at T_min > 0, where sigma is positive unless all prototypes are equally far from "
    "each token. (Besides, some trajectories have no limit point: theorem-8-bounded.) Mode full, fixed embeddings",
)
def limit_points_have_no_activity(key: Key) -> Trial:
    """At every limit point sigma = 0.

    The instance: tokens at -z and z, one head with prototypes at -p and p, which stay in an interval for all times, and
    sigma above a positive bound there, at every temperature that is at least T_min.
    """
    at, rng = symmetric_interval(key), numpy_rng(key, "temperature")
    T, eta = Fraction(int(rng.integers(1, 9)), 4), at.barrier / 4
    cold = T / 4
    rules = GrowthRules(2.0, capacity=1, prototypes=2, initial_temperature=float(T), least_temperature=float(cold))
    loss, z = PrototypeLoss("full", barrier=float(at.barrier), reduction="mean"), float(at.z)
    data, speeds, found = [[-z, 0.0], [z, 0.0]], [], []
    for p, sign in ((float(at.least), 1), (float(at.largest), -1)):
        for temperature in (float(T), float(cold)):
            flow, x = pair_of_prototypes(data, p, p, temperature, rules=rules, loss=loss, rate=float(eta))
            v, sigma = measured(flow, x)
            speeds.append(sign * float(v.prototypes[0, 1, 0]))
            found.append(float(sigma[0]))
    bound = at.least_activity(cold)
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            holds("the interval is invariant", at.invariant),
            at_least("least inward speed of the flow that ships", min(speeds), 0.0, tolerance=ROUNDING),
            at_least("its least sigma, over the bound", min(found) / float(bound), 1.0, tolerance=0.0),
        ),
        conclusions=(holds("sigma = 0 at some limit point", bound <= 0),),
        witness={**at.witness(), "T_min": cold, "T_init": T, "eta_P": eta, "sigma": bound},
    )


SETTLED = 64_000.0  # banks near a saddle stay there for some thousands


def _limit_trial(key: Key, integrator: AbstractIntegrator, *, share: float) -> Trial:
    """Follow the growing system for long; the prototypes feel a share of the barrier of W."""
    path = small_run(key, integrator, barrier=0.3 * share, end=SETTLED)
    last = path.phases[-1]
    flow, x, half = flow_of(last), path.final, jax.tree.map(lambda y: y[len(y) // 2], last.ys)
    loss = PrototypeLoss("full", barrier=0.3, ridge=flow.loss.ridge, reduction="mean")
    rates = [rate_of_change(flow, y, potential="repaired", loss=loss) for y in (half, x)]
    earlier, found = (float(r.encoder + r.prototypes) for r in rates)
    return Trial(
        hypotheses=(
            at_least("growth events", len(path.times("grow")), 2, tolerance=0.0),
            at_least("lambda of W", loss.barrier, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("squared derivatives of W by theta and P", found, 1e-6, tolerance=ROUNDING),
            at_most("the same at half the time", earlier, 1e-6, tolerance=ROUNDING),
            at_most("sum of sigma over heads above T_min", jnp.sum(rates[1].activity), 1e-6, tolerance=ROUNDING),
            at_least("least S", np.min(_gaps(x.prototypes)), 0.0, tolerance=SOLVER),
        ),
        witness={"state": x, "temperatures": flow.temperatures(x)},
    )


limit_points_are_critical = claim(
    "growing/theorem-8-limit-set/corrected",
    statement="With barrier, ridge and regulariser limit points have grad_theta W = 0, grad_P W = 0, distinct "
    "prototypes, and sigma = 0 or T = T_min for each head.",
    trial=partial(_limit_trial, share=1.0),
    # Prototypes that feel half of the barrier: their limit is not critical for W.
    control=partial(_limit_trial, share=0.5),
    num_trials=2,
    note="changed: sigma = 0 for heads above T_min alone. Added: a ridge, prototypes and encoder that descend W. "
    "Generic tokens, where all heads end at T_min. Mode full",
)


def symmetric_heads(at: Interval, axis: int, hot: Fraction, cold: Fraction) -> tuple[GrowingFlow, Growing]:
    """Return two grown heads, along e1 and e3, with prototypes at the largest distance, and tokens on one axis."""
    unit = np.eye(4)
    flow = GrowingFlow(
        float(at.z) * np.stack([-unit[axis], unit[axis]]),
        blocks((2.0, 1.0)),
        rules=GrowthRules(
            0.5,
            capacity=2,
            prototypes=2,
            initial_temperature=float(hot),
            least_temperature=float(cold),
            spread=float(at.largest),
        ),
        loss=PrototypeLoss("full", barrier=float(at.barrier), reduction="mean"),
        prototype_rate=float(at.barrier / 4),
    )
    return grow(*_first(grow(flow, 0.0, flow.start(jax.random.key(0)))))


def _first(grown: tuple[GrowingFlow, Growing]) -> tuple[GrowingFlow, float, Growing]:
    return grown[0], 0.0, grown[1]
