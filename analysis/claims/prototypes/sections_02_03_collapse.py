"""Claims of Section 2.2 and the abstract on collapse: its linearisation, its pitchfork, and whether it is a limit."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.prototypes.instances.clouds import (
    K,
    M,
    N,
    in_some_mode,
    mode_of,
    random_cloud,
    rational_cloud,
    slow_flow,
)
from analysis.claims.rational_instances import identity
from analysis.dynamics.equilibria.newton import newton
from analysis.dynamics.linearisation import spectrum
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.prototypes.bifurcations import branches_in_temperature, pitchfork
from analysis.prototypes.collapse import FACTORS, collapse, collapse_spectrum, critical_temperature
from dynsim._core.types import Key
from dynsim.exact import positive_definite
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.simulate import simulate
from dynsim.systems.prototypes.assignments import Prototypes, separation, squared_distances
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

TIMES = [0.0, 5.0, 10.0, 15.0, 20.0]


@jax.jit
def _hessian(flow: PrototypeFlow, p: Prototypes) -> jax.Array:
    """Return the Hessian of the flow's potential, (k m, k m)."""
    size = p.size
    return jax.jacfwd(lambda p: flow.gradient(0.0, p))(p).reshape(size, size)


def _spectrum(flow: PrototypeFlow) -> tuple[np.ndarray, tuple[Measurement, ...]]:
    """Return the spectrum of the Hessian at collapse, and measurements of it and of the gradient there."""
    z, T = np.asarray(flow.embeddings), float(flow.temperature(0.0))
    at = jnp.asarray(collapse(z, K, flow.loss))
    values = np.linalg.eigvalsh(np.asarray(_hessian(flow, at)))
    return values, (
        at_most("gradient at collapse", jnp.max(jnp.abs(flow.gradient(0.0, at))), 1e-11, tolerance=0.0),
        agrees("the spectrum of the Hessian at collapse", values, collapse_spectrum(z, K, T, flow.loss).values),
    )


collapse_is_a_saddle = certified(
    "prototypes/claim-collapse-saddle",
    statement="""
    For embeddings that do not coincide, collapse (all prototypes at their mean) is an unstable saddle of Lq in P.

    Read: its Hessian has a negative eigenvalue; in the mode frozen that of the free energy.
    """,
    trial=lambda key: in_some_mode(lambda mode: _exact_trial(key, mode)),
    num_trials=4,
    note="both modes: on perturbations with sum zero the Hessian is (2N/K)(1 - (a/T) C) with the covariance C of the "
    "embeddings and a = 2 (frozen), 4 (full), so that collapse is a strict minimum for T > a lambda_max(C)",
)


def _exact_trial(key: Key, gradient: str) -> Trial:
    """Measure whether the Hessian at collapse is indefinite at twice a times the trace of the covariance."""
    given, a = rational_cloud(key), int(FACTORS[gradient])
    T = 2 * a * np.trace(given.covariance)
    flow = PrototypeFlow(given.z.astype(float), float(T), loss=PrototypeLoss(gradient))
    _, measured = _spectrum(flow)
    splitting = identity(len(given.covariance)) - a / T * given.covariance
    return Trial(
        (holds("the embeddings do not coincide", np.trace(given.covariance) > 0), *measured),
        (holds("the Hessian is not positive definite", not positive_definite(splitting)),),
        {"z": given.z, "T": T, "mode": gradient},
        parameters={"n": N, "k": K, "mode": gradient, "T": float(T)},
    )


def _saddle_trial(key: Key, gradient: str, factor: float) -> Trial:
    """Measure the spectrum at collapse at a temperature of `factor` lambda_max of the covariance, or somewhat less."""
    z = random_cloud(key)
    largest = critical_temperature(z, PrototypeLoss("frozen")) / FACTORS["frozen"]
    T = float(numpy_rng(key, "heat").uniform(0.75, 0.95)) * factor * largest
    flow = PrototypeFlow(z, T, loss=PrototypeLoss(gradient, reduction="mean"), rate=K / 2)
    values, measured = _spectrum(flow)
    index = collapse_spectrum(z, K, T, flow.loss).index
    ridged = PrototypeLoss(gradient, ridge=float(numpy_rng(key, "ridge").uniform(0.2, 0.6)), reduction="mean")
    with_ridge = PrototypeFlow(z, critical_temperature(z, ridged, K), loss=ridged, rate=K / 2)
    onset, measured_with_ridge = _spectrum(with_ridge)
    return Trial(
        (
            at_least("temperature", T, 0.0, tolerance=ROUNDING),
            at_most("temperature over lambda_max(C)", T / largest, factor, tolerance=ROUNDING),
        ),
        (
            at_most("least eigenvalue", values[0], 0.0, tolerance=ROUNDING),
            at_least("largest eigenvalue", values[-1], 0.0, tolerance=ROUNDING),
            *measured,
            holds("the index is the number of negative eigenvalues", index == int(np.sum(values < 0))),
            agrees("the least eigenvalue at the critical temperature, with a ridge", onset[0], 0.0),
            *(replace(m, what=f"with a ridge: {m.what}") for m in measured_with_ridge),
        ),
        {"z": z, "T": T, "mode": gradient},
        parameters={"n": N, "k": K, "mode": gradient, "T": T},
    )


@claim(
    "prototypes/claim-collapse-saddle/corrected",
    # Frozen assignments below the critical temperature of the mode full.
    control=partial(_saddle_trial, gradient="frozen", factor=4.0),
    num_trials=8,
    note="the closed form of the whole spectrum is measured, with which the critical temperatures are sharp",
)
def collapse_is_a_saddle_below_the_critical_temperature(key: Key) -> Trial:
    """Collapse is a saddle with an unstable direction in P. Added: T < 4 lambda_max(C), C = cov z, in the mode full.

    In the mode frozen T < 2 lambda_max(C) is needed.
    """
    gradient = mode_of(key)
    return _saddle_trial(key, gradient, {"frozen": 2.0, "full": 4.0}[gradient])


@jax.jit
def _along(flow: CoupledFlow, xs: Coupled) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the largest distance of prototypes, S(P) and the potential at each time."""
    width = lambda p: jnp.sqrt(jnp.max(squared_distances(p, p)))
    return jax.vmap(lambda x: (width(x.prototypes), separation(x.prototypes), flow.potential(0.0, x)))(xs)


def _path_trial(
    flow: CoupledFlow,
    p0: np.ndarray,
    integrator: AbstractIntegrator,
    hypotheses: tuple[Measurement, ...],
    least: float | None = None,
    ratio: float = 1e-3,
) -> Trial:
    """Measure that the largest distance of prototypes at t = 20 is at least `ratio` times the initial one.

    And that S(P) is at least `least`, and the potential decreases.
    """
    path = simulate(flow, Coupled(jnp.eye(M), jnp.asarray(p0)), TIMES, integrator=integrator)
    widths, apart, energies = (np.asarray(values) for values in _along(flow, path.ys))
    bound = () if least is None else (at_least("least S(P)", np.min(apart), least, tolerance=SOLVER * least),)
    return Trial(
        (
            at_most("eps", flow.ratio, 0.01, tolerance=ROUNDING),
            at_most("change of the encoder", jnp.max(jnp.abs(path.final.encoder - jnp.eye(M))), 0.5, tolerance=SOLVER),
            at_least("least distance of prototypes at the start", np.sqrt(apart[0]), 1e-6, tolerance=0.0),
            *hypotheses,
        ),
        (
            at_least(
                "largest distance at t = 20 over the initial one", widths[-1] / widths[0], ratio, tolerance=SOLVER
            ),
            *bound,
            at_most("increase of the potential", np.max(np.diff(energies)), 0.0, tolerance=SOLVER),
        ),
        {"z": np.asarray(flow.data), "p0": np.asarray(p0), "distances": widths},
        parameters={
            "n": N,
            "k": len(p0),
            "mode": flow.loss.gradient,
            "T": float(flow.temperature(0.0)),
            "barrier": float(flow.loss.barrier),
        },
    )


def _at_start(flow: CoupledFlow) -> tuple[Measurement, ...]:
    """Return the measurements of collapse for the embeddings at the start."""
    return _spectrum(flow.frozen_encoder(jnp.eye(M)))[1]


prototypes_do_not_converge_to_one_point = claim(
    "prototypes/claim-anti-collapse",
    statement="""Prototypes that start apart and descend Lq cannot all converge to one point, since Lq contains V.

    Here with a slow encoder, eps = 1/1000, whose embeddings do not collapse in that time.
    """,
    trial=lambda key, integrator: in_some_mode(lambda mode: _hot_trial(key, integrator, mode)),
    num_trials=4,
    note="both modes; above the critical temperature prototypes converge to the mean of the embeddings from everywhere "
    "near, at the rate of the closed form",
)


def _hot_trial(key: Key, integrator: AbstractIntegrator, gradient: str) -> Trial:
    flow = slow_flow(random_cloud(key), 3.0, gradient)
    return _path_trial(flow, _starts(key), integrator, _at_start(flow))


def _starts(key: Key, count: int = 2) -> np.ndarray:
    """Return random prototypes."""
    return numpy_rng(key, "prototypes").normal(size=(count, M))


def _barrier_bound(flow: CoupledFlow, p0: np.ndarray, barrier: float) -> float:
    """Return lambda over the initial potential minus a lower bound of the part without barrier."""
    T, bare = flow.temperature(0.0), PrototypeLoss(flow.loss.gradient, reduction="mean")
    pairs = [(a - b) @ (a - b) for i, a in enumerate(p0) for b in p0[:i]]
    start = float(bare.potential(flow.data, jnp.asarray(p0), T)) + barrier * sum(1 / d for d in pairs)
    floor = 0.0 if flow.loss.gradient == "full" else -float(T) * float(np.log(len(p0)))
    return barrier / (start - floor)


def _barrier_trial(key: Key, integrator: AbstractIntegrator, *, present: bool) -> Trial:
    strength = float(10 ** numpy_rng(key, "barrier").uniform(-2, -0.5))
    flow = slow_flow(random_cloud(key), 3.0, mode_of(key), barrier=strength if present else 0.0)
    positive = at_least("lambda", strength, 0.0, tolerance=ROUNDING)
    p0 = _starts(key, int(numpy_rng(key, "count").integers(2, 5)))
    return _path_trial(flow, p0, integrator, (positive,), _barrier_bound(flow, p0, strength))


prototypes_with_a_barrier_do_not_converge_to_one_point = claim(
    "prototypes/claim-anti-collapse/corrected",
    statement="""Prototypes that start apart cannot all converge to one point. Added: the barrier (15), lambda > 0.

    At all times S(P) >= lambda / (W(0) - w), W being the potential of the mode, and w a lower bound of the part
    without barrier: 0 (full) or -T log K (frozen, mean over embeddings).
    """,
    trial=partial(_barrier_trial, present=True),
    control=partial(_barrier_trial, present=False),  # The same bound for the flow without barrier.
    num_trials=6,
    note="by descent of the potential, not by the decomposition; any lambda > 0 does. Two to four prototypes, both "
    "modes, losses being means",
)


def _escape_trial(key: Key, integrator: AbstractIntegrator, heat: float, below: float) -> Trial:
    """Measure whether prototypes leave a neighbourhood of collapse at `heat` times the critical temperature."""
    z = random_cloud(key)
    flow = slow_flow(z, heat, mode_of(key))
    p0 = collapse(z, 2) + 1e-2 * _starts(key)
    hot = at_most("temperature over the critical one", heat, below, tolerance=ROUNDING)
    trial = _path_trial(flow, p0, integrator, (hot,), ratio=1.0)
    return replace(trial, conclusions=(*trial.conclusions, *_at_start(flow)))


prototypes_leave_collapse_below_the_critical_temperature = claim(
    "prototypes/claim-anti-collapse/below-critical",
    statement="""Almost no prototypes that start apart near collapse converge to one point.

    Added: T < a lambda_max(C), with a = 4 in the mode full and 2 in the mode frozen.
    """,
    trial=partial(_escape_trial, heat=0.6, below=1.0),
    control=partial(_escape_trial, heat=3.0, below=4.0),  # Temperatures up to four times as high.
    variant="special case",
    num_trials=4,
    note="two prototypes, random starts near collapse; of more, some may still converge to one point",
)


BELOW = 1e-3  # the critical temperature less the least one, over the critical one
FOURTH = {"frozen": 32.0, "full": 128.0}  # of the fourth derivative


def _pitchfork_trial(key: Key, mode: str, factor: float) -> Trial:
    """Compare collapse, and the equilibria that leave it below the critical temperature, with the normal form."""
    z, loss = random_cloud(key), PrototypeLoss(mode, reduction="mean")
    found = pitchfork(z, loss)
    y = (np.asarray(z) - np.mean(np.asarray(z), axis=0)) @ found.direction
    fourth = factor * float(np.mean(y**4)) / found.temperature**3
    halves, kinds = [], []
    for below in (BELOW, BELOW / 10):
        T = found.temperature * (1 - below)
        s = float(np.sqrt(-12 * collapse_spectrum(z, 2, T, loss).splitting[0] / fourth))
        flow = PrototypeFlow(z, T, loss=loss)
        apart, speed = newton(flow, jnp.asarray(collapse(z, 2) + s * np.stack([found.direction, -found.direction])))
        halves.append(float(jnp.linalg.norm(apart[0] - apart[1])) / 2 / s)
        kinds += [spectrum(flow, apart).kind, spectrum(flow, jnp.asarray(collapse(z, 2))).kind]
    bounds = found.temperature * (1 - 10 * BELOW), found.temperature * (1 + 10 * BELOW)
    together = branches_in_temperature(z, 2, loss, bounds, key, num_starts=0)[:1]
    turns = [at.parameter / found.temperature for b in together for at in b.bifurcations if at.kind == "branch point"]
    widths = [float(np.max(np.ptp(b.states, axis=1))) for b in together]
    limit = (10 * halves[1] - halves[0]) / 9
    return Trial(
        hypotheses=(at_least("critical temperature", found.temperature, 0.0, tolerance=ROUNDING),),
        conclusions=(
            holds("the separate equilibria are stable, and collapse is a saddle", kinds == ["stable", "saddle"] * 2),
            holds("the pitchfork that ships is supercritical", found.kind == "supercritical"),
            equal("its coefficient, over the closed form", found.coefficient / fourth, 1.0, tolerance=1e-9),
            equal("distance over the normal form's, to first order", limit, 1.0, tolerance=1e-3),
            at_most("speed of the separate equilibria", speed, ROUNDING, tolerance=0.0),
            agrees("branch points of collapse over the critical temperature", turns, np.ones(1)),
            holds("prototypes coincide on the branch of collapse", max(widths, default=0.0) <= SOLVER),
        ),
        witness={"z": z, "T": found.temperature, "direction": found.direction, "distances": halves},
        parameters={"mode": mode},
    )


@claim(
    "prototypes/claim-collapse-saddle/at-its-onset",
    variant="special case",
    num_trials=4,
    note="two prototypes and a simple largest variance; at the critical temperature itself collapse is still "
    "asymptotically stable (proposition-3-iff). Both modes, losses being means",
)
def collapse_becomes_a_saddle_where_separate_prototypes_begin(key: Key) -> Trial:
    """Just below its critical temperature collapse is a saddle, beside which stable separate prototypes have begun.

    They are the mean of the embeddings +- s e, e being the direction of the largest variance, with s^2 = -12 h / phi to
    leading order: h is the negative eigenvalue of collapse, and phi the mean of 32 (mode frozen) or 128 (full)
    <e, z_n - mean>^4 / T^3, the fourth derivative of the potential along s.
    """
    mode = mode_of(key)
    return _pitchfork_trial(key, mode, FOURTH[mode])


@collapse_becomes_a_saddle_where_separate_prototypes_begin.with_control
def collapse_becomes_a_saddle_where_separate_prototypes_begin(key: Key) -> Trial:
    """The fourth derivative of the other mode."""
    mode = mode_of(key)
    return _pitchfork_trial(key, mode, FOURTH["full" if mode == "frozen" else "frozen"])
