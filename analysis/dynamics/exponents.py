"""Compute Lyapunov exponents of many trajectories together, each with its own steps and tangent vectors."""

import contextlib
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.flow_maps.component_sizes import trajectory_units
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.linearisation import tangent_basis
from analysis.dynamics.lyapunov import (
    BLOCKS,
    SHORTENED,
    SHORTER,
    TINY,
    LyapunovSpectrum,
    SpectrumPlan,
    advance_map,
    kept,
    lyapunov_spectrum,
    parallel,
    planned,
    spectrum_of,
    spectrum_of_logs,
)
from analysis.dynamics.scaling.flat import count_of
from analysis.dynamics.scaling.units import made_units
from dynsim._core.host import room_for
from dynsim._core.placement import on_host_by_default, placed
from dynsim._core.printing import one_line
from dynsim._core.types import State, Time
from dynsim._core.validation import instances, integer, number
from dynsim._runtime.cores import in_parts
from dynsim._runtime.progress import tracked
from dynsim.errors import ArgumentError, IntegrationError
from dynsim.integrators import AbstractIntegrator, Diffrax
from dynsim.integrators.base import stacked
from dynsim.integrators.in_lanes import Ways, restarted, ways
from dynsim.integrators.switched_field import may_leave_out, switched_field
from dynsim.simulation.checks import as_double, as_state, check_flow, check_start
from dynsim.simulation.ensemble_work import alike
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, AbstractMap

# Number of trajectories that are followed together on a processor.
TOGETHER = 128
# Number of logarithms of stretching factors that are kept together.
KEPT_LOGS = 2**25


class LyapunovEnsemble(NamedTuple):
    """Lyapunov exponents of many trajectories, (members, k), largest first, with standard errors; NaN where one fails.

    An exponent is NaN, too, if its stretching factors are lost in rounding or in the tolerance of the solver. `errors`
    come from the means of twenty blocks. `solved` says whether the trajectories were followed in lanes.
    """

    exponents: Float[np.ndarray, "members k"]
    errors: Float[np.ndarray, "members k"]
    solved: str

    __repr__ = one_line

    def __str__(self) -> str:
        """Describe the largest exponents and how many trajectories failed."""
        largest = self.exponents[:, 0]
        failed, known = int(np.sum(np.isnan(largest))), largest[~np.isnan(largest)]
        spread = f"from {np.min(known):.5g} to {np.max(known):.5g}" if len(known) else "unknown"
        return f"largest Lyapunov exponents of {len(largest)} trajectories {spread}; {failed} failed"


class LyapunovSpectra(NamedTuple):
    """Lyapunov spectra of several systems, None where the integration fails; `solved` says how they were solved."""

    spectra: tuple[LyapunovSpectrum | None, ...]
    solved: str

    __repr__ = one_line

    def __str__(self) -> str:
        """List the exponents of each system in a line."""
        return "\n".join("failed" if one is None else str(one) for one in self.spectra)


class Vectors(NamedTuple):
    """A state and the columns of a matrix of tangent vectors."""

    x: State
    V: Array


class Tangents(AbstractFlow):
    """A flow together with its derivative along tangent vectors."""

    flow: AbstractFlow

    @property
    def space(self) -> Euclidean:
        """All entries; states return to the space of the flow after each interval."""
        return Euclidean()

    def velocity(self, t: Time, z: Vectors) -> Vectors:
        """Compute the velocities of the state and of the vectors."""
        flat, restored = ravel_pytree(z.x)
        f = lambda y: ravel_pytree(self.flow.vector_field(t, restored(y)))[0]
        moved = jax.vmap(lambda v: jax.jvp(f, (flat,), (v,))[1], in_axes=1, out_axes=1)(z.V)
        return Vectors(self.flow.vector_field(t, z.x), moved)


def lyapunov_ensemble(
    flow: AbstractFlow | Sequence[AbstractFlow],
    starts: State,
    duration: float = 500.0,
    *,
    count: int | None = None,
    transient: float | None = None,
    interval: float | None = None,
    t0: float = 0.0,
    integrator: Diffrax | None = None,
) -> LyapunovEnsemble:
    """Compute the largest Lyapunov exponents along many trajectories of a flow, or of flows that differ in numbers.

    Small systems are followed in lanes, as by `ensemble`: each trajectory has its own steps, and on a GPU a thread of
    its own. Others are followed one by one by `lyapunov_spectrum`, which also checks convergence and rounding.

    Source: G. Benettin, L. Galgani, A. Giorgilli and J.-M. Strelcyn, Lyapunov characteristic exponents for smooth
    dynamical systems and for Hamiltonian systems, Meccanica 15 (1980).

    Args:
        flow: the flow of all members, or a sequence with one for each.
        starts: initial states, with members on the first axis of every array.
        duration: length of the runs after the transient, in time units, rounded to a multiple of twenty intervals.
        count: number of exponents; the default is all.
        transient: length of the transient to discard, rounded up to twenty intervals; the default is a tenth of the
            duration.
        interval: time between two orthonormalisations. The default is 1; it becomes up to 256 times as short for
            members of which a direction contracts to rounding within it.
        t0: initial time.
        integrator: `Diffrax(rtol=1e-8, atol=1e-10)` by default, in units near the sizes of the components; the
            tolerances hold for state and vectors together, those of a given one in the units of the flow.

    Raises:
        ValueError: for bad input.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import lyapunov_ensemble
        >>> rates = [ds.FunctionFlow(lambda t, x, k: -k * x, parameters={"k": k}) for k in (1.0, 2.0)]
        >>> np.round(lyapunov_ensemble(rates, np.ones((2, 1)), 20.0).exponents[:, 0], 6).tolist()
        [-1.0, -2.0]
    """
    flows = tuple(flow) if isinstance(flow, Sequence) else (flow,)
    y0s, solver = as_state("starts", starts), Diffrax(rtol=1e-8, atol=1e-10) if integrator is None else integrator
    members = count_of("starts", y0s)
    if len(flows) not in (1, members):
        raise ArgumentError("flow", f"be one flow or one for each of {members} starts", f"holds {len(flows)}")
    every, span = 1.0 if interval is None else number("interval", interval), number("duration", duration)
    before = span / 10 if transient is None else number("transient", transient) if transient else 0.0
    if span < BLOCKS * every:
        raise ArgumentError("duration", f"be at least {BLOCKS} intervals of {every:g}", f"is {span:g}")
    for one in flows:
        check_flow(one)
    first = check_start("starts", flows[0], jax.tree.map(lambda y: y[0], y0s))
    if integrator is None:
        flows, y0s, first = _in_units(flows, y0s, first, t0)
    basis = np.asarray(tangent_basis(flows[0].space, first))
    k = basis.shape[1] if count is None else integer("count", count, least=1)
    if k > basis.shape[1]:
        raise ArgumentError("count", f"be at most the dimension, {basis.shape[1]}", f"is {k}")
    lanes = _lanes(flows, solver, y0s, first, k, (t0, t0 + before + span + 2 * BLOCKS * every))
    tries = [every / SHORTER**n for n in range(1 if interval is not None else 1 + SHORTENED)]
    if not isinstance(lanes, Ways):
        options: Any = {"count": k, "transient": before or every, "t0": t0, "integrator": solver}
        start = lambda j: jax.tree.map(lambda y: y[j], y0s)
        rows = [_alone(flows[j % len(flows)], start(j), span, tries, options) for j in range(members)]
        found, off = np.moveaxis(np.array(rows), 1, 0)
        return LyapunovEnsemble(found, off, f"not in lanes, because {lanes}")
    between = jax.tree_util.Partial(_kept, least=jnp.asarray(max(TINY, kept(float(solver.rtol), float(solver.atol)))))

    def solved(part: np.ndarray, every: float, last: bool) -> tuple[np.ndarray, np.ndarray]:
        """Rates in each block, and which members reach the end."""
        some = [Tangents(flows[j]) for j in (part if len(flows) > 1 else [0])]  # pyright: ignore[reportCallIssue]
        xs = jax.tree.map(lambda y: jnp.asarray(np.asarray(y)[part]), y0s)
        z, begin, each = Vectors(xs, _frames(xs, k)), float(t0), round(span / every / BLOCKS)
        run = partial(restarted, lanes, solver, some, interval=every, blocks=BLOCKS, between=between)
        if before:
            warm = math.ceil(before / every / BLOCKS)
            sums, z, whole = run(z, begin, each=warm)
            begin += BLOCKS * warm * every
            if not last and np.any(np.isnan(sums) & np.asarray(whole)[:, None, None]):
                return np.asarray(sums, float), np.asarray(whole)  # a shorter interval is needed
        sums, _, whole = run(z, begin, each=each)
        return np.asarray(sums, float) / (each * every), np.asarray(whole)

    rates, left = np.full((members, BLOCKS, k), np.nan), np.arange(members)
    for tried in tries:
        ends = np.zeros(members, bool)
        for part, (some, whole) in in_parts(partial(solved, every=tried, last=tried == tries[-1]), left, TOGETHER):
            ends[part] = whole[: len(part)]
            rates[part] = np.where(ends[part][:, None, None], some[: len(part)], np.nan)
        left = left[ends[left] & np.any(np.isnan(rates[left]), axis=(1, 2))]
        if not len(left):
            break
    exponents, errors = np.mean(rates, axis=1), np.std(rates, axis=1, ddof=1) / np.sqrt(BLOCKS)
    order = np.argsort(-exponents, axis=1, kind="stable")
    sort = lambda a: np.take_along_axis(a, order, axis=1)
    return LyapunovEnsemble(sort(exponents), sort(errors), f"{lanes!r}")


def _in_units(
    flows: tuple[AbstractFlow, ...], y0s: State, first: State, t0: float
) -> tuple[tuple[AbstractFlow, ...], State, State]:
    """Rescale flows, starts and the first start to the components' sizes along the first trajectory, in given time."""
    if not isinstance(flows[0].space, Euclidean):
        return flows, y0s, first
    scale = trajectory_units(flows[0], first, t0).scale
    units = [made_units(flow, scale=scale) for flow in flows]
    rescaled = lambda y: jax.tree.map(jnp.asarray, units[0].rescaled(y))
    return tuple(one.system for one in units), rescaled(y0s), rescaled(first)


@on_host_by_default
def lyapunov_spectra(
    systems: Sequence[Any],
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
) -> LyapunovSpectra:
    """Compute the Lyapunov spectra of several systems from one start, such as one system along values of a parameter.

    Systems that differ in numbers only are followed together: small flows in lanes, as by `ensemble`, and maps.
    `lyapunov_spectrum` solves the others, one after another: stiff and large flows, and systems of which a stretching
    factor may be lost in rounding. Both have the same tolerances, so that exponents of chaotic motion differ within
    their standard errors, and others by the tolerance.

    Args:
        systems: flows or maps in JAX.
        start: initial state, the same for each system.
        duration: length of the runs after the transient, see `lyapunov_spectrum`, as for all further arguments.
        count: number of exponents; the default is all.
        transient: length of the transient to discard.
        interval: time, or number of steps of a map, between two orthonormalisations.
        rtol: relative tolerance of the solver.
        atol: absolute tolerance for every entry of the state.
        t0: initial time.
        integrator: replaces Tsit5 for flows.

    Raises:
        ValueError: for bad input.

    Example:
        >>> import dynsim as ds
        >>> from analysis.dynamics import lyapunov_spectra
        >>> maps = [ds.catalogue.Logistic(r) for r in (2.5, 3.2)]
        >>> found = lyapunov_spectra(maps, [0.3], 1000)
        >>> [round(float(one.exponents[0]), 3) for one in found.spectra]
        [-0.693, -0.916]
    """
    plan = partial(
        planned, start=start, duration=duration, count=count, transient=transient, interval=interval, rtol=rtol,
        atol=atol, t0=t0, integrator=integrator,
    )  # fmt: skip
    plans = [plan(system) for system in instances("systems", systems, AbstractFlow | AbstractMap, "flows or maps")]
    found: list[LyapunovSpectrum | None] = [None] * len(plans)
    how, why = "", "a factor may be lost in rounding, or the trajectory escapes"
    for part in _grouped(plans):
        some = [plans[k] for k in part]
        numbers = len(some) * (1 + _count(some[0])) * ravel_pytree(some[0].start)[0].size
        with placed(numbers, None):
            lanes = _lanes_of(some)
        if lanes is None:
            how = "in lanes, in JAX"
            for k, spectrum in zip(part, _of_maps(some, numbers), strict=True):
                found[k] = spectrum
        elif isinstance(lanes, Ways):
            how = f"{lanes!r}"
            _fill(found, lanes, dict(zip(part, some, strict=True)), numbers)
        else:
            why = lanes
    left = [k for k, one in enumerate(found) if one is None]
    for k in tracked(left, len(left), "exponents"):
        with contextlib.suppress(IntegrationError):
            found[k] = spectrum_of(plans[k])
    others = f"not in lanes, because {why}"
    done = len(plans) - len(left)
    return LyapunovSpectra(tuple(found), how if not left else f"{done} {how}; others {others}" if done else others)


def _grouped(plans: Sequence[SpectrumPlan]) -> list[list[int]]:
    """Group plans that lanes can follow together: their systems differ in numbers, and their intervals are equal."""
    key = lambda plan: (plan.every / plan.units.time, plan.t0 / plan.units.time, plan.samples, plan.warm)
    groups: list[list[int]] = []
    for k, one in enumerate(plans):
        joins = lambda other, one=one: key(one) == key(other) and alike((one.units.system, other.units.system))
        group = next((group for group in groups if joins(plans[group[0]])), None)
        groups.append([k]) if group is None else group.append(k)
    return groups


def _fill(found: list[LyapunovSpectrum | None], lanes: Ways, plans: dict[int, SpectrumPlan], numbers: int) -> None:
    """Fill in the spectra of plans, with shorter intervals where a factor may be lost; `numbers` chooses the device."""
    again = 0
    while plans:
        left = {}
        with placed(numbers, None):
            runs = _in_lanes(lanes, list(plans.values()))
        for (k, plan), (logs, last, whole) in zip(plans.items(), runs, strict=True):
            last = jax.tree.map(jnp.asarray, last)
            found[k] = spectrum_of_logs(plan, logs, last) if whole else None
            if whole and found[k] is None and plan.refines and again < SHORTENED:
                left[k] = plan._replace(
                    every=plan.every / SHORTER, samples=plan.samples * SHORTER, warm=plan.warm * SHORTER
                )
        plans, again = left, again + 1


def _rescaled(plan: SpectrumPlan) -> State:
    return jax.tree.map(jnp.asarray, plan.units.rescaled(plan.start))


def _solver(plan: SpectrumPlan) -> Diffrax:
    """The default solver of exponents in lanes."""
    return Diffrax(rtol=plan.rtol, atol=plan.rtol / 100 if plan.atol is None else plan.atol)


def _lanes_of(plans: Sequence[SpectrumPlan]) -> Ways | str | None:
    """Find out how the systems of plans are followed in lanes, or say why not; None for maps that are iterated so."""
    first, flow = plans[0], plans[0].units.system
    if len(plans) == 1:
        return "no other system differs from it in numbers only"
    if not isinstance(flow, AbstractFlow):
        return None if isinstance(flow.space, Euclidean) else f"the states lie on {type(flow.space).__name__}"
    if first.solver is not None:
        return f"{type(first.solver).__name__} is no explicit Runge-Kutta method with one tableau"
    x = _rescaled(first)
    if may_leave_out(flow, x):
        return "the field may jump on a surface of states"
    k = _count(first)
    y0s = jax.tree.map(lambda y: y[None], x)
    end = first.t0 + (first.warm + first.samples) * first.every
    flows = [plan.units.system for plan in plans]
    return _lanes(flows, _solver(first), y0s, x, k, np.array([first.t0, end]) / first.units.time)


def _count(plan: SpectrumPlan) -> int:
    """Number of exponents of a system on Euclidean space."""
    size = ravel_pytree(plan.start)[0].size
    k = size if plan.count is None else integer("count", plan.count, least=1)
    if k > size:
        raise ArgumentError("count", f"be at most the dimension, {size}", f"is {k}")
    return k


def _of_maps(plans: Sequence[SpectrumPlan], numbers: int) -> list[LyapunovSpectrum | None]:
    """Compute the spectra of maps that differ in numbers; None where a factor may be lost."""
    first, k = plans[0], _count(plans[0])
    x0s = [ravel_pytree(_rescaled(plan))[0] for plan in plans]
    frame = _frames(x0s[0][None], k)[0]

    def solved(part: np.ndarray) -> Any:
        system, axes = stacked([plans[j].units.system for j in part])
        logs, last = _logs_of_maps([plans[j] for j in part], system, axes, jnp.stack([x0s[j] for j in part]), frame)
        return logs, np.asarray(last)

    together = int(np.clip(KEPT_LOGS // (first.samples * k), 1, TOGETHER))
    found = []
    with placed(numbers, None):
        runs = in_parts(solved, np.arange(len(plans)), together)
    for part, (logs, last) in runs:
        found += [spectrum_of_logs(plans[k], logs[j], jnp.asarray(last[j])) for j, k in enumerate(part)]
    return found


def _logs_of_maps(
    plans: Sequence[SpectrumPlan], system: Any, axes: Any, xs: Array, frame: Array
) -> tuple[np.ndarray, Array]:
    """Iterate maps that differ in numbers together: logarithms of factors (members, samples, k), and last states.

    Args:
        plans: their plans, with equal numbers of steps.
        system: the maps as one, with a leading axis of members in some arrays.
        axes: 0 for these arrays, None for the others.
        xs: flat starts in rescaled units, (members, d).
        frame: orthonormal vectors of all members, (d, k).
    """
    first = plans[0]
    pair = Linearised(first.units.system, first.units.rescaled(first.start))
    over = partial(_advance_maps, pair, axes, jnp.asarray(first.every, xs.dtype), room_for(first.samples))
    begin = jnp.asarray(float(first.t0), xs.dtype)
    xs, frames, _ = over(system, xs, jnp.broadcast_to(frame, (len(xs), *frame.shape)), begin, jnp.asarray(first.warm))
    xs, _, logs = over(system, xs, frames, begin + first.warm * first.every, jnp.asarray(first.samples))
    return np.asarray(logs, float)[:, : first.samples], xs


@eqx.filter_jit
def _advance_maps(
    pair: Linearised, axes: Any, every: Array, room: int, system: Any, xs: Array, frames: Array, t: Array,
    samples: Array,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Advance states and vectors of several maps, as `advance_map` does for one."""

    def one(system: Any, x: Array, V: Array) -> tuple[Array, Array, Array]:
        own = eqx.tree_at(lambda pair: pair.system, pair, system)
        return advance_map(own, every, every, room, x, V, t, samples)[:3]

    return eqx.filter_vmap(one, in_axes=(axes, 0, 0))(system, xs, frames)


def _in_lanes(lanes: Ways, plans: Sequence[SpectrumPlan]) -> list[tuple[np.ndarray, State, bool]]:
    """Follow systems together: logarithms of factors in the run, the last state, and whether the run is whole."""
    first, unit, k = plans[0], plans[0].units.time, _count(plans[0])
    x0s = [_rescaled(plan) for plan in plans]
    blocks = first.warm + first.samples

    def solved(part: np.ndarray) -> Any:
        some = [Tangents(plans[j].units.system) for j in part]  # pyright: ignore[reportCallIssue]
        xs = jax.tree.map(lambda *y: jnp.stack(y), *(x0s[j] for j in part))
        logs, last, whole = restarted(
            lanes, _solver(first), some, Vectors(xs, _frames(xs, k)), first.t0 / unit, first.every / unit, blocks, 1,
            _orthonormal,
        )  # fmt: skip
        return np.asarray(logs, float)[:, first.warm :], jax.tree.map(np.asarray, last.x), np.asarray(whole)

    together = int(np.clip(KEPT_LOGS // (blocks * k), 1, TOGETHER))
    found = []
    for part, (logs, last, whole) in in_parts(solved, np.arange(len(plans)), together):
        end = lambda j, last=last: jax.tree.map(lambda y: y[j], last)
        found += [(logs[j], end(j), bool(whole[j])) for j in range(len(part))]
    return found


def _lanes(flows: Sequence[AbstractFlow], solver: Diffrax, y0s: State, first: State, k: int, ends: Any) -> Ways | str:
    """Find out how states and vectors are followed in lanes, or say why not."""
    flow = flows[0]
    if not isinstance(flow.space, Euclidean):
        return f"the states lie on {type(flow.space).__name__}"
    if switched_field(flow, as_double(first)) is not None:
        return "the field jumps on a surface of states"
    plain = solver.lanes(flows, y0s, np.asarray(ends))
    if not isinstance(plain, Ways):
        return plain
    size = ravel_pytree(first)[0].size
    shaped: Any = jax.ShapeDtypeStruct
    like = jax.tree.map(lambda y: shaped(jnp.shape(y)[1:], y.dtype), y0s)
    z = Vectors(like, shaped((size, k), jax.tree.leaves(y0s)[0].dtype))
    jumps = plain.jumps if np.isfinite(plain.jumps).any() else np.empty(0)
    return ways(solver.solver, Tangents(flow), z, plain.longest, jumps=jumps)  # pyright: ignore[reportCallIssue]


def _frames(xs: State, k: int) -> Array:
    """The same random orthonormal vectors for each member: a coordinate axis may be invariant."""
    leaves = jax.tree.leaves(xs)
    n = sum(leaf[0].size for leaf in leaves)
    frame = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0][:, :k]
    return jnp.broadcast_to(jnp.asarray(frame, leaves[0].dtype), (len(leaves[0]), n, k))


def _orthonormal(flow: AbstractFlow, z: Vectors) -> tuple[Vectors, Array]:
    """Orthonormalise the vectors, and compute the logarithms of their stretching factors."""
    del flow
    Q, R = jnp.linalg.qr(z.V)
    return Vectors(z.x, Q), jnp.log(jnp.abs(jnp.diagonal(R)))


def _kept(flow: AbstractFlow, z: Vectors, *, least: Array) -> tuple[Vectors, Array]:
    """Do the same; logarithms below the least one, or of vectors that are parallel up to rounding, are NaN."""
    z, logs = _orthonormal(flow, z)
    return z, jnp.where(logs < jnp.maximum(least, parallel(logs[0], logs)), jnp.nan, logs)


def _alone(
    flow: AbstractFlow, start: State, span: float, intervals: Sequence[float], options: dict[str, Any]
) -> np.ndarray:
    """Compute exponents and errors of one trajectory, (2, k), by the first interval that keeps all factors."""
    found = None
    for interval in intervals:
        try:
            found = lyapunov_spectrum(flow, start, span, interval=interval, **options)
        except IntegrationError:
            break
        if all(found.resolved):
            return np.stack([found.exponents, found.errors])
    if found is None:
        return np.full((2, options["count"]), np.nan)
    return np.where(found.resolved, np.stack([found.exponents, found.errors]), np.nan)
