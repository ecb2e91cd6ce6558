"""Compute Lyapunov spectra of flows and maps on any state space, with errors, and the Kaplan-Yorke dimension."""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.autonomy import depends_on_time
from analysis.dynamics.flow_maps.compiled import compiled
from analysis.dynamics.flow_maps.component_sizes import trajectory_units
from analysis.dynamics.flow_maps.variational import Linearised, solver_of, tolerance_of
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.scaling.units import Units
from dynsim._core.checked import checked
from dynsim._core.host import room_for
from dynsim._core.placement import on_host_by_default
from dynsim._core.printing import one_line
from dynsim._core.types import State
from dynsim._core.validation import integer, number, reals
from dynsim.errors import ArgumentError, IntegrationError, Outcome, shown
from dynsim.integrators import AbstractIntegrator
from dynsim.integrators.base import least_rtol
from dynsim.integrators.switched_field import WHOLE, jumps_left_out, may_leave_out, switched_field
from dynsim.notebook import picture, plot
from dynsim.simulation.checks import as_double, as_state, check_start
from dynsim.systems.base import AbstractFlow, AbstractMap

if TYPE_CHECKING:
    import diffrax as dfx

    from figures.artists import Artists

# Default duration of a run, in steps or in units of time.
DURATION = 500
# Largest number of intervals, whose stretching factors are kept.
MOST = 10_000_000
# Intervals whose stretching factors have room in one program at least, so that runs of other lengths share it.
ROOM = 4096
# Smallest default interval with a given integrator, relative to the duration; the default one takes steps of its own.
LONG = 1e-6
# Times that a default interval is shortened, and by which factor, where stretching factors are lost in rounding.
SHORTENED, SHORTER = 4, 4
# Number of blocks of a run whose means give the standard errors.
BLOCKS = 20
ROUNDED = "rounding: superstable, or a shorter interval is needed"
ABSOLUTE = "tolerance of the solver: a shorter interval or a smaller `rtol` is needed"
STEPPED = "it acts within a step of the implicit solver"
# Logarithm of a stretching factor below which it may be rounding error.
TINY = math.log(1e-12)
# Least stretching factor over an interval, in relative tolerances, that the solver leaves two digits of.
KEPT = 30.0
# Number of roundings of the first vector below which the remainder of another vector is rounding error.
PARALLEL = 8
# Change of such a logarithm, under a perturbation of the state by rounding, that marks it as rounding error.
SAME = 0.5
# Number of intervals in which this perturbation is tested.
LOOKED = 64
# Number of standard deviations of Kendall's rank correlation beyond which the means of blocks drift.
MONOTONE = 4.0
# Speed, relative to the state, up to which it may rest, and size beyond which it may not stay bounded.
AT_REST, FAR = 1e-3, 1e6
# Exponent that may be zero, relative to the largest one and to 1 in rescaled units.
ZERO = 0.01
# Number of intervals in which jumps are looked for of a field whose pieces are not known.
PASSED = 256
# Number of standard errors by which the two halves of a run may differ.
DRIFT = 3.0


class LyapunovSpectrum(NamedTuple):
    """Lyapunov exponents, largest first, per time unit or step, with standard errors.

    Attributes:
        exponents: the exponents; -inf where all vectors are contracted to zero, as at a superstable fixed point, and
            where the trajectory slides on a surface on which the field jumps, once for each such surface.
        errors: standard errors from means of blocks, at least the range of the summed rates divided by the duration.
            The latter matters where sums are bounded, as along a periodic orbit.
        times: times since the start of the run.
        running: estimates up to each of `times`, (samples, k).
        converged: false if the halves of the run differ by more than three standard errors of their difference, if the
            mean rates of its twenty blocks keep rising or falling, or if the trajectory becomes infinite; also if all
            exponents of an autonomous flow have a positive sum, or none is zero although the state moves.
        reason: why the run has not converged.
        resolved: whether each exponent is more than an upper bound. It is false if stretching factors are lost in
            rounding or in the tolerance of the solver; with an implicit solver also if a direction contracts by more
            than e in one step, since the step's derivative then loses the rate.
        bounded_by: what causes such bounds: rounding, the tolerance, or the steps of the solver.
    """

    exponents: Float[np.ndarray, " k"]
    errors: Float[np.ndarray, " k"]
    times: Float[np.ndarray, " samples"]
    running: Float[np.ndarray, "samples k"]
    converged: bool
    reason: str
    resolved: tuple[bool, ...] = ()
    bounded_by: str = ROUNDED

    __repr__ = one_line

    @property
    def kaplan_yorke(self) -> float:
        """Kaplan-Yorke dimension of these exponents."""
        return kaplan_yorke_dimension(self.exponents)

    _repr_png_ = picture

    def plot(self, ax: Any = None, **options: Any) -> "Artists":
        """Draw the running estimates of the exponents with their standard errors into axes.

        Args:
            ax: axes of matplotlib; without any, a figure is made; see `figures.plot`. Two axes show exponents of very
                different size apart.
            options: those of `figures.plot`, of the parts `lines`, `bands` and `zero`; `colour`; `xlabel` and `ylabel`,
                with units; properties of the curves, `linewidth=2`.
        """
        return plot(self, ax, **options)

    def __str__(self) -> str:
        """Describe the exponents with their errors in one line."""
        parts = ", ".join(self.bounds(5))
        return f"Lyapunov exponents {parts}" + ("" if self.converged else f" (not converged: {self.reason})")

    def bounds(self, digits: int) -> list[str]:
        """Print each exponent with its standard error, or with an upper bound."""
        known = self.resolved or (True,) * len(self.exponents)
        return [
            "-inf" if value == -math.inf else f"{value:.{digits}g} +- {error:.1g}" if sure
            else f"below {value:.2g} ({self.bounded_by})"
            for value, error, sure in zip(self.exponents, self.errors, known, strict=True)
        ]  # fmt: skip


@on_host_by_default
def lyapunov_spectrum(
    system: Any,  # checked here, in one sentence
    start: State,
    duration: float | None = None,
    *,
    count: int | None = None,
    transient: float | None = None,
    interval: float | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    t0: float = 0.0,
    integrator: AbstractIntegrator | None = None,
) -> LyapunovSpectrum:
    """Compute the largest Lyapunov exponents of a flow or a map along a trajectory, by repeated QR decomposition.

    On a curved space the vectors stay in the tangent space, so that normal directions contribute no exponents. For a
    forced flow, time continues through the transient. The system is rescaled to units near the size of the state and
    the rates at the start (`trajectory_units`); well-scaled systems are left unchanged.

    Source: G. Benettin, L. Galgani, A. Giorgilli and J.-M. Strelcyn, Lyapunov characteristic exponents for smooth
    dynamical systems and for Hamiltonian systems, Meccanica 15 (1980).

    Args:
        system: a flow, or a map in JAX.
        start: a point of the state space, in the basin of the attractor. From a float32 start it is computed in
            float32, unless the field jumps, to a relative tolerance of 1e-6 at best.
        duration: length of the run after the transient, in time units or steps; the default is 500, in rescaled
            time units.
        count: number of exponents; the default is all.
        transient: length of the transient to discard, in time units or steps; the default is a tenth of the duration.
        interval: time, or number of steps of a map, between two orthonormalisations. The default is one step, or
            one rescaled time unit, and at least a millionth of the duration; it becomes up to 256 times as short where
            a direction contracts to rounding within it.
        rtol: relative tolerance of the solver for state and tangent vectors.
        atol: absolute tolerance for every entry of the state; the default is a hundredth of `rtol` in rescaled units.
        t0: initial time.
        integrator: replaces Tsit5 at `rtol` for a flow. For stiff flows use `Diffrax(Kvaerno4(), rtol=1e-8)` with
            diffrax's `Kvaerno4`. Only its solver and its relative tolerance are used; the vectors follow the
            derivative of its steps.

    Raises:
        ValueError: for bad input.
        IntegrationError: if the integration of a flow fails.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import lyapunov_spectrum
        >>> found = lyapunov_spectrum(ds.FunctionMap(lambda t, x: 4.0 * x * (1.0 - x)), [0.3], 4000)
        >>> bool(abs(found.exponents[0] - np.log(2.0)) < 0.02)  # the exact exponent is log 2
        True
    """
    plan = planned(
        system, start, duration, count=count, transient=transient, interval=interval, rtol=rtol, atol=atol, t0=t0,
        integrator=integrator,
    )  # fmt: skip
    return spectrum_of(plan)


class SpectrumPlan(NamedTuple):
    """What one spectrum takes: a system in units of order one, its start, and numbers of intervals; see `planned`.

    `start`, the interval `every` and `t0` are in the units of the given system, `atol` in the rescaled ones; `refines`
    says whether the interval may be shortened.
    """

    units: Units
    start: State
    every: float
    samples: int
    warm: int
    count: int | None
    rtol: float
    atol: float | None
    t0: float
    solver: "dfx.AbstractAdaptiveSolver | None"
    refines: bool

    __repr__ = one_line


def planned(
    system: Any, start: State, duration: float | None = None, *, count: int | None, transient: float | None,
    interval: float | None, rtol: float, atol: float | None, t0: float, integrator: AbstractIntegrator | None,
) -> SpectrumPlan:  # fmt: skip
    """Check the arguments of `lyapunov_spectrum`, and choose units and intervals.

    Raises:
        ValueError: for bad input.
    """
    is_map = isinstance(system, AbstractMap)
    if not is_map and not isinstance(system, AbstractFlow):
        raise ArgumentError("system", "be a flow or a map", f"is {shown(system)}")
    if is_map and system.on_host:
        raise ArgumentError("system", "be a map in JAX", f"is {type(system).__name__}, which runs on the host")
    x = as_state("start", start) if is_map else check_start("start", system, start)
    if not is_map and switched_field(system, as_double(x)) is not None:
        x = as_double(x)
    units = trajectory_units(system, x, t0)
    span = DURATION * units.time if duration is None else number("duration", duration)
    shortest = 1.0 if is_map else max(units.time, 0.0 if integrator is None else LONG * span)
    every = shortest if interval is None else number("interval", interval)
    if is_map:
        if every < 1:
            raise ArgumentError("interval", "be at least 1 step of a map", f"is {every:g}")
        every = float(round(every))
    before = span / 10 if transient is None else number("transient", transient)
    for name, time in (("duration", span), ("transient", before)):
        if not time / every <= MOST:
            raise ArgumentError(name, f"be at most {MOST} intervals of {every:g}", f"is {time:g}")
    samples, warm = max(1, round(span / every)), max(1, round(before / every))
    if samples < 2 * BLOCKS:
        must = f"be at least {2 * BLOCKS} intervals of {every:g}"
        raise ArgumentError("duration", must, f"is {span:g}")
    tolerance, solver = max(tolerance_of(rtol, integrator), least_rtol(x)), solver_of(system, integrator)
    absolute = None if atol is None else number("atol", atol) / max(map(np.max, jax.tree.leaves(units.scale)))
    refines = interval is None and not is_map and solver is None
    return SpectrumPlan(units, x, every, samples, warm, count, tolerance, absolute, t0, solver, refines)


def spectrum_of(plan: SpectrumPlan) -> LyapunovSpectrum:
    """Compute the spectrum of a plan, with a shorter interval where stretching factors are lost in rounding.

    Raises:
        ValueError: for bad input.
        IntegrationError: if the integration of a flow fails.
    """
    every, samples, warm = plan.every, plan.samples, plan.warm
    run = partial(
        _run, plan.units, plan.start, count=plan.count, rtol=plan.rtol, atol=plan.atol, t0=plan.t0, solver=plan.solver
    )
    found = run(samples, warm, every)
    for _ in range(SHORTENED if plan.refines else 0):
        if all(found.resolved):
            break
        every, samples, warm = every / SHORTER, SHORTER * samples, SHORTER * warm
        found = run(samples, warm, every)
    return in_given_time(found, plan.units)


def in_given_time(found: LyapunovSpectrum, units: Units) -> LyapunovSpectrum:
    """Convert a spectrum of the rescaled system to the unit of time of the given one."""
    if units.time == 1:
        return found
    parts: Any = {name: getattr(found, name) / units.time for name in ("exponents", "errors", "running")}
    return found._replace(**parts, times=found.times * units.time)


def spectrum_of_logs(plan: SpectrumPlan, logs: np.ndarray, last: State) -> LyapunovSpectrum | None:
    """Compute a spectrum from the logarithms of stretching factors (samples, k) in rescaled units.

    It is None if some of them may be lost in rounding or in the tolerance of the solver, which `spectrum_of` tests.

    Args:
        plan: the plan, with the default solver.
        logs: of each interval, from vectors that were orthonormal before it.
        last: the last state, in rescaled units.
    """
    system, flat, every = plan.units.system, ravel_pytree(last)[0], plan.every / plan.units.time
    is_map = isinstance(system, AbstractMap)
    least = TINY if is_map else max(TINY, kept(plan.rtol, plan.atol or 0.0))
    if np.any(logs < np.maximum(parallel(logs[:, :1], flat), least)):
        return None
    spectrum = _spectrum(logs, every, np.ones(logs.shape[1], bool))
    if not is_map and logs.shape[1] == flat.size:
        velocity = lambda: ravel_pytree(system.vector_field(jnp.zeros((), flat.dtype), last))[0]  # of autonomous flows
        spectrum = _doubted(spectrum, system, plan.units.rescaled(plan.start), flat, velocity)
    return in_given_time(spectrum, plan.units)


def _run(
    units: Units,
    start: State,
    samples: int,
    warm: int,
    every: float,
    *,
    count: int | None,
    rtol: float,
    atol: float | None,
    t0: float,
    solver: "dfx.AbstractAdaptiveSolver | None",
) -> LyapunovSpectrum:
    """Compute the spectrum of a rescaled system; start, interval and time are in the original units."""
    system, x, every, t0 = units.system, units.rescaled(start), every / units.time, t0 / units.time
    is_map = isinstance(system, AbstractMap)
    flat, _ = ravel_pytree(x)
    basis = tangent_basis(system.space, x)
    dimension = basis.shape[1]
    k = dimension if count is None else integer("count", count, least=1)
    if k > dimension:
        raise ArgumentError("count", f"be at most the dimension, {dimension}", f"is {k}")
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(dimension, dimension)))[0]
    # a random frame, since a coordinate axis may be invariant with an exponent that is not the largest
    frame = jnp.asarray(basis @ turned[:, :k], flat.dtype)
    advance = advance_map if is_map else _advance_flow
    pair = Linearised(system, x, solver, atol)
    scalar = partial(np.asarray, dtype=flat.dtype)
    over = partial(advance, pair, scalar(every), scalar(rtol), room_for(max(samples, warm), least=ROOM))
    flat, frame, _, _, early = over(flat, frame, scalar(float(t0)), np.asarray(warm))
    begin = scalar(float(t0) + warm * every)
    flat, frame, logs, steps, failed = over(flat, frame, begin, np.asarray(samples))
    if bool(early) or bool(failed):
        raise IntegrationError(_why_failed(pair, flat), outcome=Outcome.MAX_STEPS)
    logs, end = np.asarray(logs, float)[:samples], scalar(begin + samples * every)
    if not is_map and may_leave_out(system, x):
        _check_jumps(pair, partial(over, samples=np.asarray(1)), flat, frame, end, every)
    floor = parallel(logs[:, :1], flat)
    lost = np.isfinite(floor) & (logs < floor)  # vectors that are parallel up to rounding
    lost &= ~(np.isneginf(logs) & (pair.switched is not None))  # sliding
    logs = np.where(lost, floor, logs)
    resolved = ~np.any(lost, axis=0)
    if np.any(logs < TINY):
        looked = min(LOOKED, samples)
        moved = flat * (1 + 4 * jnp.finfo(flat.dtype).eps)
        both = [np.asarray(over(y, frame, end, np.asarray(looked))[2], float)[:looked] for y in (flat, moved)]
        resolved &= _resolved(*both)
    below = np.zeros_like(resolved)
    if solver is None and not is_map:
        below = np.any(logs < kept(rtol, atol or 0.0), axis=0)
        resolved &= ~below
    if solver is not None:
        least = -every / np.asarray(steps, float)[:samples, None]
        resolved &= ~np.any(logs < least, axis=0)
        logs = np.maximum(logs, least)
    cause = STEPPED if solver is not None else ABSOLUTE if np.any(below & ~np.any(lost, axis=0)) else ROUNDED
    spectrum = _spectrum(logs, every, resolved)._replace(bounded_by=cause)
    if not is_map and k == dimension:
        spectrum = _doubted(spectrum, system, x, flat, lambda: _velocity(pair, end, flat))
    return spectrum


@compiled
def _velocity(pair: Linearised, t: Array, x: Array) -> Any:
    """Compute the velocity at a time and a state."""
    return pair.velocity(t, x)


def _doubted(
    spectrum: LyapunovSpectrum, system: Any, start: State, last: Array, velocity: Callable[[], Array]
) -> LyapunovSpectrum:
    """Mark a whole spectrum as not converged if an autonomous flow cannot have it."""
    if not spectrum.converged or depends_on_time(system, start) is not False:
        return spectrum
    why = _contradiction(spectrum, *(float(np.max(np.abs(np.asarray(part)))) for part in (last, velocity())))
    return spectrum._replace(converged=not why, reason=why)


def _check_jumps(pair: Linearised, over: Any, x: Array, V: Array, t: Any, every: float) -> None:
    """Raise `ValueError` if the trajectory crosses a jump of a field whose pieces are not known."""
    states = [x]
    for k in range(PASSED):
        x, V, *_ = over(x, V, t + k * every)
        states.append(x)
    where = jumps_left_out(pair.system, jax.vmap(pair.restored)(jnp.stack(states)), float(t))
    if where:
        raise ArgumentError("system", WHOLE, f"has one that jumps where {where}")


def parallel(first: Any, like: Array) -> Any:
    """The logarithm of the stretching factor below which a vector is parallel to others up to rounding."""
    return first + math.log(PARALLEL * float(jnp.finfo(like.dtype).eps))


def kept(rtol: float, atol: float) -> float:
    """The logarithm of the stretching factor below which tolerances of a solver leave fewer than two digits."""
    return math.log(KEPT * max(rtol, 100 * atol))


def _contradiction(spectrum: LyapunovSpectrum, size: float, speed: float) -> str:
    """Say what an autonomous flow cannot have on an attractor that is no equilibrium, or an empty text.

    Args:
        spectrum: all exponents, in rescaled units.
        size: the largest entry of the last state.
        speed: the largest entry of its velocity.
    """
    if not (AT_REST * (1 + size) < speed and size < FAR):
        return ""
    finite = np.isfinite(spectrum.exponents)  # not where it slides
    values, errors = spectrum.exponents[finite], spectrum.errors[finite]
    near = 5 * errors + ZERO * np.max(np.abs(values), initial=1.0)
    if np.all(finite) and np.sum(values) > np.sum(near):
        return "the sum of the exponents is positive, which is impossible on a bounded set"
    if not np.any(np.abs(values) <= near) and np.any(spectrum.exponents < 0):
        return "no exponent is zero, as one must be on an attractor that is no equilibrium"
    return ""


def _why_failed(pair: Linearised, x: Array) -> str:
    if pair.switched is not None and not bool(jnp.all(jnp.isfinite(x))):
        return f"{pair.switched.blocked()}: exponents of such motion are not computed."
    return "The solver failed: take a smaller interval, another start or, of a stiff flow, an implicit `integrator`."


def _resolved(logs: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Test which exponents keep their tiny stretching factors when the state is perturbed by rounding."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(logs - moved)
    return ~np.any((np.fmin(logs, moved) < TINY) & ~(apart < SAME) & ~(logs == moved), axis=0)


def _orthonormal(V: Array) -> tuple[Array, Array]:
    """Orthonormalise columns, and compute the logarithms of their stretching factors."""
    Q, R = jnp.linalg.qr(V)
    stretch = jnp.diagonal(R)
    return Q * jnp.sign(stretch)[None], jnp.log(jnp.abs(stretch))


@eqx.filter_jit
def _advance_flow(
    pair: Linearised, every: Any, rtol: Any, room: int, x: Array, V: Array, t: Any, samples: Any
) -> tuple[Array, Array, Array, Array, Array]:
    """Advance state and vectors over intervals: log stretching factors, mean steps, and whether the solver failed.

    Arrays have room for `room` intervals, so that transient and run share one compiled program.
    """

    def once(k: Array, carry: tuple) -> tuple:
        x, V, step, failed, logs, steps = carry
        begin = t + k.astype(every.dtype) * every
        # starts with the mean step of the last interval
        x, V, step, wrong, slid = pair.over(begin, begin + every, step, x, V, rtol)
        V, found = _orthonormal(V)
        zero = slid & (found < parallel(found[0], V)) & (jnp.arange(V.shape[1]) == jnp.argmin(found))
        found = jnp.where(zero, -jnp.inf, found)
        return x, V, step, failed | wrong, logs.at[k].set(found), steps.at[k].set(step)

    room_for_steps = jnp.ones(room, every.dtype)
    carry = (x, V, every / 50, jnp.asarray(False), jnp.zeros((room, V.shape[1]), V.dtype), room_for_steps)
    x, V, _, failed, logs, steps = jax.lax.fori_loop(0, samples, once, carry)
    return x, V, logs, steps, failed


@eqx.filter_jit
def advance_map(
    pair: Linearised, every: Any, rtol: Any, room: int, x: Array, V: Array, t: Any, samples: Any
) -> tuple[Array, Array, Array, Array, Array]:
    """Advance state and vectors of a map over intervals, with the log stretching factors; a map does not fail."""
    del rtol
    steps, begin = every.astype(int), t.astype(int)

    def once(sample: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, V, logs = carry
        first = begin + sample * steps
        x, V = jax.lax.fori_loop(first, first + steps, lambda n, y: pair.step(n, y), (x, V))
        V, found = _orthonormal(pair.on_space(x, V)[1])
        return x, V, logs.at[sample].set(found)

    x, V, logs = jax.lax.fori_loop(0, samples, once, (x, V, jnp.zeros((room, V.shape[1]), V.dtype)))
    return x, V, logs, jnp.ones(room), jnp.asarray(False)


def _spectrum(logs: np.ndarray, every: float, resolved: Any = True) -> LyapunovSpectrum:
    """Compute the spectrum from the log stretching factors of each interval, (samples, k)."""
    zero = np.any(logs == -np.inf, axis=0) & ~np.any(np.isnan(logs) | (logs == np.inf), axis=0)
    rates = np.where(zero, 0.0, logs) / every
    finite = bool(np.all(np.isfinite(rates)))
    rates = np.where(np.isfinite(rates), rates, np.nan)
    times = every * np.arange(1, len(rates) + 1)
    running = np.cumsum(rates, axis=0) / np.arange(1, len(rates) + 1)[:, None]
    blocks = np.stack([np.mean(part, axis=0) for part in np.array_split(rates, BLOCKS)])
    errors = np.std(blocks, axis=0, ddof=1) / np.sqrt(BLOCKS)
    bounded = _ripple(rates) / len(rates)
    errors = np.fmax(errors, bounded)
    halves = [np.mean(blocks[half], axis=0) for half in (slice(BLOCKS // 2), slice(BLOCKS // 2, None))]
    apart = np.abs(halves[1] - halves[0])
    # The difference of two halves has twice the standard error of the whole run.
    noise = 1e-9 * (1 + np.abs(running[-1]))
    steady = finite and bool(np.all(apart <= DRIFT * 2 * errors + noise))
    why = "the halves of the run differ" if finite else "the trajectory left the finite numbers"
    # Halves of bounded sums differ at most by four times the range of the sums, divided by the duration.
    if steady and np.max(_trend(blocks, noise + 4 * bounded)) > MONOTONE:
        steady, why = False, "its mean rates keep falling or rising"
    running, errors = np.where(zero, -np.inf, running), np.where(zero, 0.0, errors)
    order, reason = np.argsort(-running[-1], kind="stable"), "" if steady else why
    sure = tuple(bool(x) for x in (resolved | zero)[order])
    return LyapunovSpectrum(running[-1][order], errors[order], times, running[:, order], steady, reason, sure)


def _ripple(rates: np.ndarray) -> np.ndarray:
    """Compute the range of the detrended sums of rates in a block, as the median over the blocks.

    Bounded sums, as along a periodic orbit, keep this range. The mean of a run is then accurate to the range divided by
    the length, even where blocks of whole periods have equal means.
    """
    ranges = []
    for part in np.array_split(rates, BLOCKS):
        sums = np.cumsum(part - np.mean(part, axis=0), axis=0)
        ranges.append(np.fmax(np.max(sums, axis=0), 0.0) - np.fmin(np.min(sums, axis=0), 0.0))
    return np.median(ranges, axis=0)


def _trend(blocks: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Compute how many standard deviations Kendall's rank correlation of block means with time is away from zero.

    Means that differ by less than the noise count as tied.
    """
    n = len(blocks)
    later, earlier = np.tril_indices(n, -1)
    steps = blocks[later] - blocks[earlier]
    signs = np.where(np.abs(steps) > noise, np.sign(steps), 0.0)
    return np.abs(np.sum(signs, axis=0)) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)


@checked
def kaplan_yorke_dimension(exponents: Any) -> float:
    r"""Compute the Kaplan-Yorke dimension $j + \sum_{i \le j} \lambda_i / |\lambda_{j+1}|$ of Lyapunov exponents.

    Here j is the largest number of leading exponents with a nonnegative sum. The dimension is 0 if the largest exponent
    is negative, and the number of exponents if their total sum is not negative.

    >>> from analysis.dynamics import kaplan_yorke_dimension
    >>> round(kaplan_yorke_dimension([0.9056, 0.0, -14.5723]), 4)
    2.0621

    Source: J. L. Kaplan and J. A. Yorke, Chaotic behavior of multidimensional difference equations (1979).
    """
    values = np.asarray(reals("exponents", exponents), float)
    if values.ndim != 1:
        raise ArgumentError("exponents", "have shape (exponents,)", f"has shape {values.shape}")
    values = np.sort(values)[::-1]
    if np.any(np.isnan(values)):
        return math.nan
    sums = np.cumsum(values)
    j = int(np.sum(np.cumprod(sums >= 0)))
    if j == len(values):
        return float(j)
    return j + (float(sums[j - 1]) / abs(float(values[j])) if j else 0.0)
