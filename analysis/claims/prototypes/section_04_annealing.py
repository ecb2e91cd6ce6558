"""Claims of Theorem 3 on annealed temperatures, and of Corollary 1 on what the results of Section 4 have in common."""

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototype_banks import distances
from analysis.claims.prototypes.instances.escapes import PAIRS
from analysis.claims.prototypes.instances.lattices import lattice_point
from analysis.claims.prototypes.instances.partly_trained import random_pair
from analysis.claims.prototypes.instances.schedules import Relaxing
from analysis.claims.prototypes.section_04_escape import lyapunov
from analysis.claims.prototypes.section_04_lyapunov import derivatives, loss_value, random_system
from analysis.dynamics.linearisation import tangent_jacobian
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.prototypes.lyapunov import rate_along
from dynsim._core.types import Key
from dynsim.exact import positive_definite
from dynsim.keys import numpy_rng
from dynsim.systems.prototypes.assignments import assignments, competitive_loss, distance_variance, entropy
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing


@jax.jit
def _by_temperature(z: jax.Array, p: jax.Array, T: jax.Array) -> jax.Array:
    return jax.grad(competitive_loss, 2)(z, p, T)


def _derivative_trial(key: Key, exponent: int) -> Trial:
    """Compare the derivative by T that ships with the variances, exact at T = 1 / log 2, over a power of T."""
    at = lattice_point(key, linear=True)
    level = int(jax.random.randint(key, (), 0, 4)) == 0
    if level:  # embeddings as far from each prototype as from the others
        at = at._replace(x=at.x * 0, p=np.array([[s, t] for s, t in ((1, 2), (-2, 1), (2, -1))]) * Fraction(1))
    q, d = at.bank.q, distances(at.z, at.p)
    variance = np.sum(q * (d - np.sum(q * d, axis=1)[:, None]) ** 2)
    z, p = (jnp.asarray(part.astype(float)) for part in (at.z, at.p))
    T = jnp.asarray(at.bank.temperature)
    found = float(_by_temperature(z, p, T))
    expected = float(variance) / at.bank.temperature**exponent
    return Trial(
        hypotheses=(at_least("T", T, 0.0, tolerance=ROUNDING),),
        conclusions=(
            agrees("dL_q/dT", found, expected),
            agrees("the sum of variances that ships", distance_variance(z, p, T), float(variance)),
            at_least("dL_q/dT", found, 0.0, tolerance=ROUNDING),
            holds("it is zero where all distances are equal, and else positive", (variance == 0) == level),
        ),
        witness={"z": at.z, "p": at.p, "sum of variances": variance},
        parameters={"distances": "equal" if level else "generic"},
    )


derivative_by_temperature_is_the_variance = claim(
    "prototypes/theorem-3-derivative",
    statement="dL_q/dT = (1 / T^2) sum_n Var_{q_n}(|z_n - p_k|^2) >= 0.",
    trial=partial(_derivative_trial, exponent=2),
    # 1 / T in place of 1 / T^2.
    control=lambda key: _derivative_trial(jax.random.key(int(jax.random.randint(key, (), 0, 2**31 - 1))), 1),
    num_trials=8,
    note="at fixed theta and P, in which the modes do not differ; for F, whose gradient the mode frozen is, dF/dT is "
    "minus the sum of the entropies instead",
)


class _Cooling(NamedTuple):
    """A decreasing schedule, a time before it reaches its floor, T and dT/dt there in closed form, and their check."""

    schedule: Annealing | Relaxing
    t: float
    temperature: float
    slope: float
    measured: tuple[Measurement, ...]


def _cooling(key: Key) -> _Cooling:
    rng = numpy_rng(key, "schedule")
    start, floor, tau = float(rng.uniform(1, 3)), 0.3, float(rng.uniform(0.5, 20))
    kind = (Annealing, Relaxing)[rng.integers(2)]
    arrival = tau * math.log(start / floor)
    t, late = arrival * float(rng.uniform(0.1, 0.9)), 1.5 * arrival
    base = floor if kind is Relaxing else 0.0  # what is approached, before any floor
    T, last = (base + (start - base) * math.exp(-s / tau) for s in (t, late))
    schedule = kind(start, floor, tau)
    measured = (
        agrees("T late", schedule(jnp.asarray(late)), max(floor, last)),
        agrees("the kink", np.sum(schedule.breakpoints(0.0, late)), arrival if kind is Annealing else 0.0),
    )
    return _Cooling(schedule, t, T, -(T - base) / tau, measured)


def _monotone_trial(key: Key, mode: str, energy_of: str) -> Trial:
    """Compare the derivative of W along an annealed flow with the sum of its parts: the descent, and that by T(t)."""
    schedule, t, T, slope, measured = _cooling(key)
    flow, x = random_system(key, mode, schedule)
    energy = loss_value if energy_of == "loss" else lyapunov
    found = derivatives(flow, t, x, energy)
    along = rate_along(flow, lambda s, y: energy(flow, s, y), t, x)
    z, count = flow.embed(x), flow.data.shape[0]
    if energy_of == "loss":
        by_temperature = float(distance_variance(z, x.prototypes, jnp.asarray(T))) / T**2
    else:
        q = assignments(z, x.prototypes, jnp.asarray(T))
        by_temperature = count * (math.log(x.prototypes.shape[0]) - float(entropy(q)))
    descent = float(flow.encoder_rate * found.encoder + flow.prototype_rate * found.prototypes)
    expected = slope * by_temperature - descent
    scale = 1 + abs(expected)
    return Trial(
        hypotheses=(
            at_most("dT/dt", slope, 0.0, tolerance=ROUNDING),
            at_least("squared derivative by the prototypes", found.prototypes, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("dW/dt over its size", along / scale, 0.0, tolerance=ROUNDING),
            agrees("dW/dt over that size", along / scale, expected / scale),
            at_least("derivative by T", by_temperature, 0.0, tolerance=ROUNDING),
            *measured,
        ),
        witness={"state": x, "t": t, "dW/dt": float(along), "expected": expected},
        parameters={"schedule": type(schedule).__name__, "mode": mode},
    )


annealed_free_energy_decreases = claim(
    "prototypes/theorem-3-monotone",
    statement="""For any decreasing schedule T(t) > 0, W(theta(t), P(t); T(t)) is non-increasing along the flow.

    dW/dt = -eta_theta |grad_theta L_q|^2 - eta_P |grad_P W|^2 + (dT/dt) / T^2 sum_n Var_{q_n}.
    """,
    trial=partial(_monotone_trial, mode="full", energy_of="loss"),
    control=partial(_monotone_trial, mode="frozen", energy_of="loss"),  # The flow of the mode frozen.
    num_trials=8,
    note="mode full; c(t) is not needed, and zero will do; see `frozen` and `frozen-corrected` for the other mode",
)


@certified(
    "prototypes/theorem-3-monotone/frozen",
    variant="reading",
    num_trials=2,
    note="read: in the mode frozen, whose Lyapunov function at fixed T is W = F + barrier, and with c(t) = 0, which is "
    "enough in the mode full; no control: the claim `frozen-corrected`, with another c(t), is the positive case",
)
def annealed_frozen_free_energy_decreases(key: Key) -> Trial:
    """In the mode frozen F + barrier is non-increasing for any decreasing schedule.

    The instance: one embedding at 0 and prototypes at +-b with lambda = 4 b^4, at rest at every T; F + barrier is
    b^2 + b^2 - T log 2, which increases as T decreases.
    """
    rng = numpy_rng(key, "instance")
    b, T0, fall = (Fraction(int(k), 4) for k in rng.integers(4, 12, 3))
    T1, lam = T0 / (1 + fall), 4 * b**4
    eta = Fraction(1, 4)
    loss = PrototypeLoss("frozen", barrier=float(lam))
    flow = PrototypeFlow(np.zeros((1, 1)), Annealing(float(T0), float(T1), 1.0), loss=loss, rate=float(eta))
    p = jnp.asarray([[float(b)], [-float(b)]])
    rise = float(flow.potential(1e3, p) - flow.potential(0.0, p))
    return Trial(
        hypotheses=(
            holds("the temperature decreases", T1 < T0),
            holds("lambda > 2 eta_P C(2, 2)", lam > 2 * eta),
            equal("field at the instance", jnp.max(jnp.abs(flow.velocity(0.0, p))), 0.0, tolerance=ROUNDING),
            agrees("its increase over log 2, as it ships", rise / math.log(2), float(T0 - T1)),
        ),
        conclusions=(holds("T_0 - T_1, the increase over log 2, is not positive", T0 - T1 <= 0),),
        witness={"b": b, "T": (T0, T1), "lambda": lam, "eta_P": eta},
    )


corrected_frozen_free_energy_decreases = claim(
    "prototypes/theorem-3-monotone/frozen-corrected",
    statement="""In the mode frozen F + barrier + N T log K is non-increasing for any decreasing schedule.

    Its derivative by T is N (log K - H) >= 0, H the mean entropy of the assignments.
    """,
    trial=partial(_monotone_trial, mode="frozen", energy_of="raised"),
    control=partial(_monotone_trial, mode="frozen", energy_of="loss"),  # The loss L_q + barrier in place of it.
    variant="corrected",
    num_trials=8,
    note="changed: for the mode frozen, W is F + barrier + N T log K, so that c(t) = N T(t) log K",
)


@certified(
    "prototypes/corollary-1",
    num_trials=2,
    note="its own proof says 'not nested'. Theorem 1 needs no barrier, and Theorem 2 lambda > 2 eta_P C(K, 2) > 0; "
    "Theorem 1 needs a fast subsystem that converges exponentially, and Fact 1 does not; no control: the claim `fixed-"
    "encoder` is the positive case",
)
def results_are_nested(key: Key) -> Trial:
    """Each of Fact 1, Theorem 1 and Theorems 2-3 strictly subsumes the previous one.

    Read: the hypotheses of each imply those of the next. Instances: for Theorem 1, two data, a partly trained encoder
    and two separated prototypes at a nondegenerate minimum, lambda = 0, eta_P = 1; for Fact 1, one embedding at 0,
    prototypes at rest at +-b, lambda = 4 b^4, T = 2 b^2, mode frozen, where one eigenvalue of the fast Hessian,
    2 - 4 b^2 / T, is zero.
    """
    pair = random_pair(key, separated=True)
    b, T = pair.a + 1, 2 * (pair.a + 1) ** 2
    lam, fast = 4 * b**4, 2 - 4 * b**2 / T
    mu = min(Fraction(2), *(e.low for e in pair.fixed_eigenvalues))
    flow = PrototypeFlow(np.zeros((1, 1)), float(T), loss=PrototypeLoss("frozen", barrier=float(lam)))
    J = -tangent_jacobian(flow, jnp.asarray([[float(b)], [-float(b)]]))
    return Trial(
        hypotheses=(
            holds("Theorem 1: the Hessian is positive definite", positive_definite(pair.trained_block) and mu > 0),
            holds("Theorem 1: eps = mu_P / (2 L) is below mu_P / L", mu / (2 * pair.effective_curvature) > 0),
            holds("Theorem 1: the prototypes are distinct", pair.r > 0),
            holds("Fact 1: lambda > 2 eta_P C(2, 2)", lam > 2 * PAIRS),
            equal("its fast eigenvalue in the flow", np.min(np.linalg.eigvalsh(J)), fast, tolerance=1e-9),
        ),
        conclusions=(
            holds("Theorem 2: lambda = 0 exceeds 2 eta_P C(2, 2)", 2 * PAIRS < 0),
            holds("Theorem 1, (ii): the fast eigenvalue of the instance of Fact 1 is positive", fast > 0),
        ),
        witness={
            "a": pair.a,
            "y": pair.y,
            "r": pair.r,
            "lambda of Theorem 1": 0,
            "eta_P": 1,
            "b": b,
            "T": T,
            "lambda of Fact 1": lam,
        },
    )


def _fixed_encoder_trial(key: Key, shift: float) -> Trial:
    """Compare a coupled flow with that of the prototypes alone, and dW/dt, as the encoder's rate tends to zero."""
    flow, x = random_system(key, "full")
    flow = flow.with_ratio(1e-300)
    alone = flow.frozen_encoder(jax.tree.map(lambda part: part + shift, x.encoder))
    found = derivatives(flow, 0.0, x, loss_value)
    v = flow.velocity(0.0, x)
    return Trial(
        hypotheses=(_slow(flow, x),),
        conclusions=(
            agrees("the velocity of the prototypes", v.prototypes, np.asarray(alone.velocity(0.0, x.prototypes))),
            agrees("W", flow.value(0.0, x), float(alone.value(0.0, x.prototypes))),
            agrees("dW/dt", found.along, -float(flow.prototype_rate * found.prototypes)),
        ),
        witness={"state": x},
    )


def _slow(flow: CoupledFlow, x: Coupled) -> Measurement:
    """Measure that the encoder does not move."""
    v = flow.velocity(0.0, x)
    return at_most(
        "speed of the encoder",
        max(float(jnp.max(jnp.abs(a))) for a in jax.tree.leaves(v.encoder)),
        1e-200,
        tolerance=0.0,
    )


@claim(
    "prototypes/corollary-1/fixed-encoder",
    control=partial(_fixed_encoder_trial, shift=0.1),  # Other parameters of the fixed encoder.
    variant="special case",
    num_trials=4,
    note="Fact 1 and Theorem 2 only, and what both assert alike: the Lyapunov function; mode full",
)
def fixed_encoder_is_a_case_of_the_coupled_one(key: Key) -> Trial:
    """Theorem 2 subsumes Fact 1: as eta_theta tends to 0 its flow, W and dW/dt are those of the prototypes alone."""
    return _fixed_encoder_trial(key, 0.0)
