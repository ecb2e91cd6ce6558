"""Claims of Theorem 2 on W = L_q + barrier: its decrease, its sublevel sets, the separation, and other candidates."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.section_04_escape import FRAMES, line_bank, lyapunov, plane_bank
from analysis.claims.rational_logarithms import Enclosure
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.prototypes.lyapunov import lyapunov_candidates, measures, rate_along
from dynsim._core.types import Key, Scalar, State, Time
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import map_stats, simulate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.prototypes.assignments import separation
from dynsim.systems.prototypes.encoders import FreeEmbeddings, MLPEncoder
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import AbstractTemperature


def random_system(key: Key, mode: str, temperature: AbstractTemperature | None = None) -> tuple[CoupledFlow, Coupled]:
    """Return a coupled flow with a barrier, free embeddings or an MLP for 5 data, and a random state."""
    rng = numpy_rng(key, "system")
    encoder = (FreeEmbeddings(5, 2), MLPEncoder(3, 2, 2))[rng.integers(2)]
    flow = CoupledFlow(
        rng.normal(size=(5, 3)),
        encoder,
        rng.uniform(0.3, 2) if temperature is None else temperature,
        loss=PrototypeLoss(mode, barrier=rng.uniform(0.1, 2)),
        encoder_rate=rng.uniform(0.05, 3),
        prototype_rate=rng.uniform(0.1, 1),
    )
    return flow, Coupled(encoder.draw(key), jnp.asarray(rng.normal(size=(3, 2))))


class Derivatives(NamedTuple):
    """Derivatives at a state: of a function along a flow and by time alone, and sums of squares by each variable."""

    along: Scalar
    by_time: Scalar
    encoder: Scalar
    prototypes: Scalar


@eqx.filter_jit
def derivatives(flow: CoupledFlow, t: Time, x: Coupled, energy: Callable[..., Scalar]) -> Derivatives:
    """Return the derivatives of `energy(flow, t, x)` at time t."""
    squared = lambda part: jnp.sum(jnp.stack([jnp.sum(leaf**2) for leaf in jax.tree.leaves(part)]))
    t = jnp.asarray(t, float)
    value = lambda s, y: energy(flow, s, y)
    along = jax.jvp(value, (t, x), (jnp.ones(()), flow.velocity(t, x)))[1]
    by_time, slopes = jax.grad(value, (0, 1))(t, x)
    return Derivatives(along, by_time, squared(slopes.encoder), squared(slopes.prototypes))


def loss_value(flow: CoupledFlow, t: Time, x: Coupled) -> Scalar:
    """Return W, the loss."""
    return flow.value(t, x)


def _decrease_trial(key: Key, flow: CoupledFlow, x: Coupled) -> Trial:
    """Compare the derivative of W along the flow with minus the rates times the squared derivatives of W."""
    found = derivatives(flow, 0.0, x, loss_value)
    expected = -float(flow.encoder_rate * found.encoder + flow.prototype_rate * found.prototypes)
    shipped = rate_along(flow, measures(flow)["W"], 0.0, x)
    scale = 1 + abs(expected)
    return Trial(
        hypotheses=(
            at_least("separation", separation(x.prototypes), 0.0, tolerance=ROUNDING),
            at_least("squared derivatives by the encoder", found.encoder, 0.0, tolerance=ROUNDING),
            at_least("squared derivatives by the prototypes", found.prototypes, 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("dW/dt over its size", shipped / scale, 0.0, tolerance=ROUNDING),
            agrees("dW/dt over that size", shipped / scale, expected / scale),
            *(candidates_that_ship(key, flow, x) if isinstance(flow.encoder, FreeEmbeddings) else ()),
        ),
        witness={"state": x, "dW/dt": float(shipped), "expected": expected},
        parameters={"encoder": type(flow.encoder).__name__, "eps": float(flow.ratio)},
    )


free_energy_decreases = claim(
    "prototypes/theorem-2-decrease",
    statement="""W = L_q + (lambda / 2) sum |p_j - p_k|^-2 is non-increasing along the flow of encoder and prototypes.

    dW/dt = -eta_theta |grad_theta L_q|^2 - eta_P |grad_P W|^2.
    """,
    trial=lambda key: _decrease_trial(key, *random_system(key, "full")),
    control=lambda key: _decrease_trial(key, *random_system(key, "frozen")),  # The flow of the mode frozen.
    num_trials=12,
    note="mode full, in which the flow is the gradient flow of W; any lambda and any ratio. See `frozen` for the other",
)


def exponential(x: Fraction) -> Enclosure:
    """Return an enclosure of e^x for 0 <= x <= 10, by its series up to x^60 / 60! and a bound of the rest."""
    terms = [x**n / math.factorial(n) for n in range(61)]
    below = sum(terms, Fraction(0))
    return Enclosure(below, below + 2 * terms[-1])


@certified(
    "prototypes/theorem-2-decrease/frozen",
    variant="reading",
    num_trials=2,
    note="read: with the stop-gradient of Section 2.2, mode frozen; there F + barrier decreases (claims `corrected` of "
    "theorem-2-convergence); no control: the mode full is the positive case",
)
def free_energy_decreases_in_the_frozen_flow(key: Key) -> Trial:
    """W is non-increasing along the flow with fixed assignments in its gradient.

    The instance: one fixed embedding at 0, prototypes at 0 and b, T = b^2 / 2. With q the far assignment and its weight
    w = q (1 - 2 (1 - q)) < 0, dW/dt / eta = (2 w b - c)(c - 2 q b) - c^2, c = 2 lambda / b^3.
    """
    rng = numpy_rng(key, "instance")
    b, eta = Fraction(int(rng.integers(4, 9))), Fraction(int(rng.integers(1, 5)), 8)
    lam = 2 * eta + Fraction(int(rng.integers(1, 9)), 8)
    e2 = exponential(Fraction(2))
    low, high, c = 1 / (1 + e2.high), 1 / (1 + e2.low), 2 * lam / b**3
    u = 2 * low * (1 - high) - high  # a lower bound of -w
    bound = (2 * u * b + c) * (2 * low * b - c) - c**2
    loss = PrototypeLoss("frozen", barrier=float(lam))
    flow = PrototypeFlow(np.zeros((1, 1)), float(b * b / 2), loss=loss, rate=float(eta))
    p = jnp.asarray([[0.0], [float(b)]])
    along = float(jax.jvp(lambda y: flow.value(0.0, y), (p,), (flow.velocity(0.0, p),))[1])
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", lam > 2 * eta),
            holds("the bounds have the signs used", u > 0 and 2 * low * b > c),
            equal("dW/dt of the flow that ships, over the bound", along / float(eta * bound), 1.0, tolerance=1e-9),
        ),
        conclusions=(holds("dW/dt <= 0", bound <= 0),),
        witness={"b": b, "lambda": lam, "eta_P": eta, "bound of dW/dt / eta_P": float(bound)},
        parameters={"b": float(b)},
    )


@eqx.filter_jit
def _from_descent(flow: PrototypeFlow | CoupledFlow, x: State) -> Scalar:
    """Return the largest difference of a velocity from minus the rate times the derivative of W, over the largest."""
    v, slope = flow.velocity(0.0, x), jax.grad(lambda y: flow.potential(0.0, y))(x)
    if isinstance(flow, PrototypeFlow):
        pairs = [(v, -flow.rate * slope)]
    else:
        slow = jax.tree.map(lambda g: -flow.encoder_rate * g, slope.encoder)
        pairs = [(v.encoder, slow), (v.prototypes, -flow.prototype_rate * slope.prototypes)]
    return jnp.max(jnp.stack([jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(b)) for a, b in pairs]))


def _separation_trial(
    flow: PrototypeFlow | CoupledFlow, start: State, integrator: AbstractIntegrator, lam: float
) -> Trial:
    """Follow a trajectory and compare its least separation with lambda / W(0), and its start with the descent of W."""
    path = simulate(flow, start, np.linspace(0.0, 8.0, FRAMES), integrator=integrator)
    gaps = np.asarray(path.along(lambda y: separation(flow.prototypes(y))))
    bound = lam / float(lyapunov(flow, 0.0, start))
    away = _from_descent(flow, start)
    return Trial(
        hypotheses=(
            at_least("lambda", lam, 0.0, tolerance=ROUNDING),
            at_least("separation at the start over lambda / W(0)", gaps[0] / bound, 1.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_least("least separation, over lambda / W(0)", np.min(gaps) / bound, 1.0, tolerance=SOLVER),
            at_least("separation at the end, over it", gaps[-1] / bound, 1.0, tolerance=SOLVER),
            equal("error of the velocity as that of descent", away, 0.0, tolerance=1e-9),
        ),
        witness={"start": start, "S": gaps, "lambda / W(0)": bound},
        parameters={"mode": flow.loss.gradient, "S(0) W(0) / lambda": gaps[0] / bound},
    )


@claim(
    "prototypes/theorem-2-no-collapse",
    num_trials=4,
    note="for every lambda > 0, without the condition on it, and in both modes, with W(0) raised by N T log K in the "
    "mode frozen; the barrier is infinite there, and the decomposition of the loss has no part in it. S = 0 means that "
    "two prototypes coincide, not all",
)
def no_limit_point_is_collapsed(key: Key, integrator: AbstractIntegrator) -> Trial:
    """No limit point has S(P) = 0: S(P(t)) >= lambda / W(0) at all times, W(0) finite."""
    near = 0.6 + 10.0 ** -float(jax.random.uniform(key, (), minval=0.5, maxval=2.5))
    if int(jax.random.randint(key, (), 0, 2)):
        flow, start = line_bank(key, far=near, ridge=0.0)
    else:
        flow, start = plane_bank(key, far=4.0, ridge=0.0)
        start = start.at[2].set(start[1] + jnp.asarray([near - 0.6, 0.0]))
    return _separation_trial(flow, start, integrator, float(flow.loss.barrier))


@no_limit_point_is_collapsed.with_control
def no_limit_point_is_collapsed(key: Key, integrator: AbstractIntegrator) -> Trial:
    """No barrier, at a temperature above the critical one: all prototypes end at the mean."""
    flow, start = plane_bank(key, far=1.0, ridge=0.0)
    flow = PrototypeFlow(flow.embeddings, 40.0, loss=PrototypeLoss("full", barrier=0.0), rate=flow.rate)
    return _separation_trial(flow, start, integrator, 0.5)


@certified(
    "prototypes/theorem-2-coercive",
    num_trials=2,
    note="for every lambda: the barrier tends to zero at large distances, as do the assignments of a far prototype, in "
    "both modes; lambda plays no part",
)
def condition_makes_sublevel_sets_compact(key: Key) -> Trial:
    """For lambda > 2 eta_P C(K, 2) the sublevel sets of W are compact.

    The instance: one embedding at 0, prototypes at 0 and b. W = b^2 / (1 + e^y) + lambda / b^2 with y = b^2 / T, and
    b^2 / (1 + e^y) < T since y < e^y, so that W < T + lambda for all b >= 1.
    """
    rng = numpy_rng(key, "instance")
    T, eta = Fraction(int(rng.integers(1, 13)), 4), Fraction(int(rng.integers(1, 9)), 8)
    lam = 2 * eta + Fraction(int(rng.integers(1, 33)), 8)
    at = [Fraction(4) ** k for k in range(11)]
    loss = PrototypeLoss("full", barrier=float(lam))
    value = lambda b: float(loss.value(jnp.zeros((1, 1)), jnp.asarray([[0.0], [float(b)]]), jnp.asarray(float(T))))
    below = [T + lam / b**2 <= T + lam for b in at]
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", lam > 2 * eta),
            at_most("largest W of the loss that ships", max(map(value, at)), T + lam, tolerance=ROUNDING),
        ),
        conclusions=(holds("the points with b = 1, 4, 16, ... leave the sublevel set of T + lambda", not all(below)),),
        witness={"T": T, "lambda": lam, "eta_P": eta, "b": at},
    )


def _coercive_trial(key: Key, ridge: float) -> Trial:
    """Compare W with its bounds at random and extremal states; the bounds are those for the ridge rho = 1 / 2."""
    rng = numpy_rng(key, "states")
    rho, lam, T = 0.5, rng.uniform(0.1, 2), jnp.asarray(rng.uniform(0.3, 2))
    loss, W = PrototypeLoss("full", barrier=lam, ridge=ridge), rng.normal(size=(2, 3))
    x = rng.normal(size=(5, 3))
    sizes, gaps, roots = [], [], []
    for scale in (1e-3, 1.0, 1e3):
        p = scale * rng.normal(size=(3, 2))
        one, close = p.copy(), rng.normal(size=(3, 2))
        one[0], close[1] = 1e4, close[0] + 1e-5
        for state, encoder in ((p, W), (one, W), (close, W), (p, 1e3 * W)):
            z = x @ encoder.T
            value = float(loss.value(jnp.asarray(z), jnp.asarray(state), T))
            sizes.append(rho * np.sum(state**2) / (2 * value))
            gaps.append(lam / (float(separation(jnp.asarray(state))) * value))
            roots.append(np.max(np.linalg.norm(z, axis=1)) / (np.max(np.linalg.norm(state, axis=1)) + math.sqrt(value)))
    return Trial(
        hypotheses=(
            at_least("lambda", lam, 0.0, tolerance=ROUNDING),
            at_least("least singular value of the data", np.linalg.svd(x)[1][-1], 0.0, tolerance=ROUNDING),
        ),
        conclusions=(
            at_most("largest rho |P|^2 / (2 W)", max(sizes), 1.0, tolerance=ROUNDING),
            at_least("the same at its largest, of a far prototype", max(sizes), 0.999, tolerance=ROUNDING),
            at_most("largest lambda / (S W)", max(gaps), 1.0, tolerance=ROUNDING),
            at_least("the same at its largest, of two close prototypes", max(gaps), 0.999, tolerance=ROUNDING),
            at_most("largest |z_n| / (max |p_k| + sqrt W)", max(roots), 1.0, tolerance=ROUNDING),
        ),
        witness={"lambda": lam, "T": float(T)},
    )


ridge_makes_sublevel_sets_compact = claim(
    "prototypes/theorem-2-coercive/corrected",
    statement="With a ridge the sublevel sets of W are compact: on {W <= w}, |P|^2 <= 2 w / rho, S >= lambda / w, and "
    "|z_n| <= max |p_k| + sqrt(w).",
    trial=partial(_coercive_trial, ridge=0.5),
    control=partial(_coercive_trial, ridge=0.0),  # No ridge.
    num_trials=6,
    note="added: a ridge rho / 2 |P|^2 with rho > 0, and an encoder that its embeddings determine, such as a linear "
    "one of data that span their space; any lambda > 0 does. Mode full; the constants are attained",
)


TIMES = np.array([0.0, 0.5, 0.8, 2.0, 2.1])
"""Times at unequal distances, for the quadrature of rates."""


def candidates_that_ship(key: Key, flow: CoupledFlow, x: Coupled) -> tuple[Measurement, ...]:
    """Measure the candidates for a Lyapunov function at five states, as if these were those of a trajectory.

    A rise is the largest change from one to the next, and the error the largest difference of a change over two
    intervals from the integral of the parabola through three rates, here by its coefficients.
    """
    rng = numpy_rng(key, "series")
    near = lambda leaf: leaf[None] + 0.3 * jnp.asarray(rng.normal(size=(len(TIMES), *leaf.shape)))
    ys = jax.tree.map(near, x)
    found = lyapunov_candidates(
        Trajectory(jnp.asarray(TIMES), ys, flow, map_stats(True, len(TIMES) - 1, jnp.zeros(())))
    )
    W, L, R, V, M = (found[name] for name in ("W", "L", "R", "V", "M"))
    states = [jax.tree.map(lambda leaf, k=k: leaf[k], ys) for k in range(len(TIMES))]
    values = [float(flow.value(t, y)) for t, y in zip(TIMES, states, strict=True)]
    slopes = [flow.gradient(t, y) for t, y in zip(TIMES, states, strict=True)]
    squared = lambda part: sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(part))
    rates = [
        -float(flow.encoder_rate) * squared(g.encoder) - float(flow.prototype_rate) * squared(g.prototypes)
        for g in slopes
    ]
    rule = [_parabola(TIMES[k : k + 3], W.rates[k : k + 3]) for k in range(len(TIMES) - 2)]
    error = np.max(np.abs(W.values[2:] - W.values[:-2] - rule))
    size = 1 + np.max(np.abs(W.values))
    hard = [_hard_loss(flow, y) for y in states]
    return (
        agrees("W at five states", W.values / size, values / size),
        agrees("L is R + V there", (L.values - R.values - V.values) / size, np.zeros(len(TIMES))),
        agrees("M there", M.values / size, hard / size),
        agrees("F there", found["F"].values / size, np.array([_free_energy(flow, y) for y in states]) / size),
        agrees("the potential in this mode, W", found["potential"].values / size, values / size),
        agrees("the rates of W, over the largest", W.rates / np.max(np.abs(rates)), rates / np.max(np.abs(rates))),
        equal("the error of W, over that of the rule", W.error / error, 1.0, tolerance=1e-9),
        equal("the largest rise of L", L.rise, float(np.max(np.diff(L.values))), tolerance=1e-9 * size),
        holds("it increases if the rise exceeds the error", L.increases == (L.rise > L.error)),
    )


def _hard_loss(flow: CoupledFlow, y: Coupled) -> float:
    """Return the sum of the least squared distances of embeddings from prototypes."""
    z, p = np.asarray(flow.embed(y)), np.asarray(y.prototypes)
    return sum(min(float((a - b) @ (a - b)) for b in p) for a in z)


def _free_energy(flow: CoupledFlow, y: Coupled) -> float:
    """Return F at the temperature of a flow, term by term."""
    z, p, T = np.asarray(flow.embed(y)), np.asarray(y.prototypes), float(flow.temperature(0.0))
    return -T * sum(math.log(sum(math.exp(-float((a - b) @ (a - b)) / T) for b in p)) for a in z)


def _parabola(ts: np.ndarray, values: np.ndarray) -> float:
    """Return the integral, from the first to the last of three times, of the parabola through three values."""
    c = np.linalg.solve(np.vander(ts - ts[0], 3), values)
    h = ts[-1] - ts[0]
    return float(c[0] * h**3 / 3 + c[1] * h**2 / 2 + c[2] * h)
