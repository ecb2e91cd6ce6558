"""Claims of Theorem 8 on the long run: bounds, limit points, and the architecture at the points of A*."""

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks, rotated
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_11.events import FRAMES, small_flow, small_run, without_heads
from analysis.claims.prototypes.instances.escapes import Escape, escape
from analysis.growing.functionals import energy_along, rate_of_change
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import ArrayLike, Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import flow_of, simulate_growing
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.residual import dominant_value, residual_matrix
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import GrowthGuard, PruningGuard, grow, prune
from dynsim.systems.prototypes.assignments import separation
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


def in_the_set(flow: GrowingFlow, x: Growing, small: float) -> tuple[Measurement, ...]:
    """Measure that a state is in A* of (44): critical for W by theta and P, sigma = 0, distinct prototypes."""
    found, heads = rate_of_change(flow, x), np.flatnonzero(np.asarray(flow.active))
    apart = [float(separation(x.prototypes[h])) for h in heads]
    return (
        at_most("squared derivatives of W by theta", found.encoder, small, tolerance=0.0),
        at_most("squared derivatives of W by P", found.prototypes, small, tolerance=0.0),
        at_most("largest sigma", jnp.max(flow.activity(x)), small, tolerance=0.0),
        at_least("least S(P)", min(apart, default=1.0), 0.0, tolerance=ROUNDING),
    )


def left_over(flow: GrowingFlow, without: int | None = None) -> float:
    """Return the dominant value of M_a outside the directions of the heads, or of all heads but one."""
    kept = np.asarray(flow.active) & (np.arange(len(flow.active)) != (-1 if without is None else without))
    return dominant_value(
        residual_matrix(flow.interaction, np.asarray(flow.frames)[kept].reshape(-1, len(flow.plane.T)))
    )


class Pruned(NamedTuple):
    """Two heads at embeddings 0: prototypes at a / 2 and -a / 4 along one direction, at -a and a along the other one.

    lambda = 4 a^4, with which the second bank is at rest; eta_P = a^4, S = 9 a^2 / 16 < phi_g = 2 a^2 < theta_w =
    3 a^2, values 5 a^2 and 4 a^2 of M_a, and T_min = a^2 < T = T_init = 4 a^2.
    """

    a: Fraction

    def system(self) -> tuple[GrowingFlow, Growing]:
        """Return the flow that ships, its dwell time over, and the state before the first head is removed."""
        a = float(self.a)
        rules = GrowthRules(
            3 * a**2, 2 * a**2, capacity=2, prototypes=2, initial_temperature=4 * a**2, least_temperature=a**2,
            spread=a, dwell=1.0,
        )  # fmt: skip
        flow = GrowingFlow(
            np.array([[1.0, 2, 0, 1], [-1, -2, 0, -1], [0, 1, 1, 0], [0, -1, -1, 0]]),
            blocks([5 * a**2, 4 * a**2]),
            rules=rules,
            loss=PrototypeLoss("full", barrier=4 * a**4, reduction="mean"),
            encoder=LinearEncoder(4, 4),
            encoder_rate=0.1,
            prototype_rate=a**4,
            temperature_rate=0.01,
            regulariser=1.0,
        )
        x = flow.start(jax.random.key(0))._replace(encoder=jnp.zeros((4, 4)))
        for _ in range(2):
            flow, x = grow(flow, 0.0, x)
        first = x.prototypes[0] * jnp.asarray([[0.25], [0.5]])
        return flow, x._replace(prototypes=x.prototypes.at[0].set(first), clock=jnp.asarray(2.0))


@certified(
    "growing/theorem-8-iv",
    num_trials=2,
    note="the architecture fails: a head with 0 < S(P) < phi_g is removed, and its direction stays captured, as in the "
    "Algorithm; if directions are given back growth need not end (theorem-5). The rest is trivial: S(P) > 0 is in the "
    "definition of A*, and T* is T_inf itself. Sufficient: a residual of at most theta_w outside the directions of the "
    "final heads, as in theorem-5, whose part (iii) the proof cites; new here: at a point of A*, with (B3), (F1) and "
    "(F2). Mode full",
)
def architecture_is_sufficient_in_the_set(key: Key) -> Trial:
    """At every point of A* T_min <= T <= T_inf, S(P) > 0, and the architecture is minimal and sufficient.

    The instance: a linear encoder at 0, centred tokens, and two heads, of which the first, whose prototypes are not
    equally far from 0, is removed at once. From then on the system rests in A*, with one head, and without one for
    the larger value of M_a, which exceeds theta_w.
    """
    at = Pruned(Fraction(int(numpy_rng(key, "a").integers(2, 9)), 4))
    square = at.a**2
    flow, x = at.system()
    sigma = np.asarray(flow.activity(x))
    due = PruningGuard(flow)(0.0, x)
    last, y = prune(flow, 0.0, x)
    kept, T = np.flatnonzero(np.asarray(last.active)), float(last.temperatures(y)[1])
    v, later = measured(last, y)[0], y._replace(clock=jnp.asarray(2.0))
    speed = max(float(jnp.max(jnp.abs(part))) for part in (v.encoder, v.prototypes, v.cubes))
    return Trial(
        hypotheses=(
            holds("lambda = 4 a^4 > 2 eta_P C(2, 2)", 4 * square**2 > 2 * square**2),
            holds("phi_g < theta_w", 2 * square < 3 * square),
            at_least("S of the first head", separation(x.prototypes[0]), 0.0, tolerance=ROUNDING),
            at_least("(B3): sigma of the first head, less the other one", sigma[0] - sigma[1], 0.0, tolerance=ROUNDING),
            equal("(B2): <u_1, u_2>", jnp.dot(*flow.frames[:, 0]), 0.0, tolerance=ROUNDING),
            at_least("margin of the pruning", due, 0.0, tolerance=ROUNDING),
            holds("the second head is left", kept.tolist() == [1]),
            at_most("speed of the system from then on", speed, 1e-20, tolerance=0.0),
            at_most("margin of pruning after the dwell time", PruningGuard(last)(0.0, later), 0.0, tolerance=ROUNDING),
            at_most("margin of growth after it", GrowthGuard(last)(0.0, later), 0.0, tolerance=ROUNDING),
            *in_the_set(last, y, 1e-20),
            at_most("what triggers growth", last.dominant, last.rules.threshold, tolerance=ROUNDING),
            agrees("residual outside the final direction, over a^2", left_over(last) / float(square), 5.0),
        ),
        conclusions=(
            at_least("T less T_min", T - float(square), 0.0, tolerance=ROUNDING),
            at_most("T less T_init", T - 4 * float(square), 0.0, tolerance=ROUNDING),
            holds("the residual is at most theta_w", 5 * square <= 3 * square),
        ),
        witness={"a": at.a, "lambda": 4 * square**2, "eta_P": square**2, "first bank": [at.a / 2, -at.a / 4]}
        | {"phi_g": 2 * square, "theta_w": 3 * square, "values": [5 * square, 4 * square]},
    )  # fmt: skip


LONG = 80.0
STRONG = 20.0  # lambda_theta with which the embeddings tend to 0


def _architecture_trial(key: Key, integrator: AbstractIntegrator, *, first: bool) -> Trial:
    """Follow a growing system whose embeddings tend to 0 to a point of A*; `first` keeps the random first head."""
    rng = numpy_rng(key, "limit")
    above = int(rng.integers(1, 3))
    values = 0.5 * np.where(np.arange(2) < above, rng.uniform([1.5, 1.1], [2.5, 1.4]), rng.uniform(0.55, 0.9, size=2))
    flow = small_flow(rng.normal(size=(5, 4)), rotated(rng, values), barrier=0.05)
    rates = [jnp.asarray(v, float) for v in (0.5, 1.0, STRONG)]
    flow = eqx.tree_at(lambda f: [f.encoder_rate, f.prototype_rate, f.regulariser], flow, rates)
    if not first:
        flow = without_heads(flow)
    x = flow.start(key)
    x = x._replace(encoder=x.encoder / 4, prototypes=x.prototypes.at[0].set(x.prototypes[0] / 4))
    path = simulate_growing(flow, x, np.linspace(0.0, LONG, FRAMES), integrator=integrator)
    last, x = flow_of(path.phases[-1]), path.final
    heads = np.flatnonzero(np.asarray(last.active))
    T, theta = np.asarray(last.temperatures(x))[heads], float(last.rules.threshold)
    cold, hot = (float(v) for v in (last.rules.least_temperature, last.rules.initial_temperature))
    resting = np.sqrt(float(last.loss.barrier) / (1 + float(last.loss.ridge)))
    apart = np.array([float(separation(x.prototypes[h])) for h in heads])
    error = np.max(np.abs(apart / (2 * resting) - 1), initial=0.0)
    return Trial(
        hypotheses=(
            *in_the_set(last, x, 1e-12),
            at_least("distance of the values from theta_w", np.min(np.abs(values - theta)), 0.0, tolerance=1e-3),
            holds("no head has been removed", len(path.times("prune")) == 0),
        ),
        conclusions=(
            at_least("least T over T_min", np.min(T, initial=hot) / cold, 1.0, tolerance=SOLVER),
            at_most("largest T over T_init", np.max(T, initial=cold) / hot, 1.0, tolerance=SOLVER),
            equal("largest error of S over 2 sqrt(lambda / (1 + rho))", error, 0.0, tolerance=1e-5),
            at_most("residual outside the directions of the heads", left_over(last), theta, tolerance=ROUNDING),
            *(at_least(f"that without head {h}", left_over(last, int(h)), theta, tolerance=0.0) for h in heads),
        ),
        witness={"values": values, "T": T, "S": apart},
        parameters={"heads": len(heads)},
    )  # fmt: skip


architecture_is_minimal_without_pruning = claim(
    "growing/theorem-8-iv/corrected",
    statement="At limit points in A* T_min <= T <= T_init, the residual is at most theta_w outside the directions of "
    "the heads, and above it outside those of all heads but one; for embeddings at 0, S(P) = 2 sqrt(lambda / (1 + "
    "rho)).",
    trial=partial(_architecture_trial, first=False),
    control=partial(
        _architecture_trial, first=True
    ),  # With the random first head of the Algorithm, which has no direction.
    num_trials=3,
    note="added: no head is removed, each has a direction, prototypes and encoder descend W, and a ridge. Changed: T* "
    "is at most T_init, as no T_inf is given for a point of A*. The limit is in A* as a strong regulariser takes all "
    "embeddings to 0; else sigma > 0 at T_min (theorem-8-limit-set). Mode full, K = 2",
)
