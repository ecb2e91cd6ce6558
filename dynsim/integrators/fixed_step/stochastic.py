"""Fixed-step schemes for stochastic flows on any space: Euler-Maruyama, Euler-Heun and Heun."""

import abc
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from dynsim._core.types import Key, Scalar, State, Time, Times
from dynsim._core.validation import number, random_key
from dynsim.errors import ArgumentError, Outcome
from dynsim.integrators.base import (
    AbstractIntegrator,
    Coordinates,
    Event,
    Stats,
    masked,
    program_form,
    stacked,
    unchanged,
)
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.integrators.fixed_step import in_lanes
from dynsim.integrators.fixed_step.base import STEP, announce_steps, grid, step_size, steps_between
from dynsim.integrators.fixed_step.maps import Iteration
from dynsim.integrators.in_lanes import Ways
from dynsim.integrators.lanes.fixed_steps import March, Moment, Rule, Schedule
from dynsim.integrators.lanes.recorded import FlowForm, System
from dynsim.keys import counts_by_threefry, hashed, normals
from dynsim.systems.base import AbstractFlow, AbstractMap, in_precision_of
from dynsim.systems.noisy import NoisyFlow

OFF_SPACE = 1e-6  # larger defects mean that noise has left the space; the same tolerance as for a start


def _resolution(value: Any) -> float | None:
    return None if value is None else number("path_resolution", value)


class AbstractStochastic(AbstractIntegrator):
    """A fixed-step scheme for a `NoisyFlow`; each step is taken in the ambient space and projected to the space.

    All output intervals have the same number of equal steps, chosen so that none is longer than `step_size` (or the
    flow's own longest step). Steps do not stop at jumps of the field.

    With `path_resolution`, a time, the Brownian path is a virtual Brownian tree of that resolution. Runs with the same
    key, resolution, initial and final time then follow the same path, whatever their steps. Without it increments are
    drawn step by step, which is faster.

    `key` determines the path. `simulate` and `ensemble` store it here, so that a run file can be reproduced.
    """

    step_size: float = eqx.field(static=True, converter=step_size, default=STEP)
    path_resolution: float | None = eqx.field(static=True, converter=_resolution, default=None)
    key: Any = None

    calculus: ClassVar[str]

    @abc.abstractmethod
    def step(self, flow: NoisyFlow, t: Time, h: Scalar, x: State, increment: Any) -> State:
        """Take one step of length `h` from a point of the space to an ambient point."""

    @property
    def batched(self) -> bool:
        """True: many initial states can be solved together."""
        return True

    def with_key(self, key: Key | Array) -> "AbstractStochastic":
        """The same scheme with another key, or with one key for each initial state."""
        return dataclasses.replace(self, key=key)

    def tightened(self, factor: float = 10.0) -> "AbstractStochastic":
        """The same scheme with shorter steps on the same path; raise `ValueError` without a `path_resolution`."""
        if self.path_resolution is None:
            must = "be left out for noise without a `path_resolution`, which lets finer steps follow the same path"
            raise ArgumentError("error_estimate", must, "is given")
        return dataclasses.replace(self, step_size=self.step_size / factor)

    def integrate(self, flow: AbstractFlow, y0: State, ts: Times) -> tuple[State, Stats]:
        """Solve for the states at `ts`, and statistics."""
        noisy, steps = _checked(self, flow, y0, ts)
        announce_steps(steps * (len(ts) - 1), self.step_size)
        return _integrate(self, program_form(noisy), y0, jnp.asarray(ts), steps)

    def observe(
        self,
        flows: Sequence[AbstractFlow],
        y0s: State,
        ts: Times,
        fn: Callable[[Time, State], Any],
        *,
        coordinates: Coordinates = unchanged,
        lanes: Ways | str | None = None,
    ) -> tuple[Any, State, Stats]:
        """Evaluate `fn(t, x)` at `ts` for each initial state and its key; also final states and statistics.

        A GPU solves small systems by a kernel: `lanes` is what the method of this name returned, if called before.
        """
        if coordinates is not unchanged:
            raise ArgumentError("coordinates", "be left out for a flow with noise", "is given")
        first = jax.tree.map(lambda y: y[0], y0s)
        steps = max(_checked(self, flow, first, ts)[1] for flow in flows)
        forms = [program_form(flow) for flow in flows]
        flow, axes = stacked(forms)
        if isinstance(found := lanes or self.lanes(flows, y0s, ts), Ways):
            schedule = Schedule(jnp.asarray(ts), np.full(len(ts) - 1, steps), np.asarray(0))
            words = jax.random.key_data(self.key).T
            return in_lanes.observe(found, flow, axes, y0s, schedule, words, fn, _ended)
        return _observe(self, flow, axes, y0s, jnp.asarray(ts), steps, fn)

    def _ways(self, flows: Sequence[AbstractFlow], y0: Any, ts: Times, events: Sequence[Event]) -> Ways | str:
        if self.path_resolution is not None:
            return "the Brownian path has a resolution"
        if not counts_by_threefry(self.key):
            return f"random keys are of {jax.random.key_impl(self.key)}, or JAX draws in another order"
        rule = NoiseRule(dataclasses.replace(self, key=None, step_size=STEP))
        try:
            hash(rule)
        except TypeError as error:
            return f"the scheme has a part that cannot be compared ({error})"
        found = in_lanes.ways(rule, program_form(flows[0]), y0)
        if isinstance(found, Ways) and found.programs is None:  # on a processor lanes took 1.5 times as long
            return "noise is drawn in lanes by kernels only"
        return found

    def locate(
        self, flow: AbstractFlow, y0: State, ts: Times, events: Sequence[Event]
    ) -> tuple[State, Stats, float, State, int]:
        """Raise `ValueError`, because a noisy path crosses a surface again and again."""
        raise ArgumentError("integrator", "be able to locate events", f"is {type(self).__name__}, for flows with noise")


class EulerMaruyama(AbstractStochastic):
    """Euler-Maruyama for Ito noise: strong order 1/2 (1 for additive noise in Euclidean space), weak order 1."""

    calculus: ClassVar[str] = "ito"

    def step(self, flow: NoisyFlow, t: Time, h: Scalar, x: State, increment: Any) -> State:
        """One step: x + f h + sigma dB."""
        return _sum(x, (h, flow.drift(t, x)), (1.0, flow.kick(t, x, increment)))


class EulerHeun(AbstractStochastic):
    """Euler-Heun for Stratonovich noise: sigma averaged over both ends of a step, drift at its beginning.

    Strong order 1/2 (1 if the directions of the noise commute), weak order 1.
    """

    calculus: ClassVar[str] = "stratonovich"

    def step(self, flow: NoisyFlow, t: Time, h: Scalar, x: State, increment: Any) -> State:
        """One step: x + f h + (sigma(x) + sigma(x + sigma dB)) dB / 2."""
        first = flow.kick(t, x, increment)
        second = flow.kick(t, _sum(x, (1.0, first)), increment)
        return _sum(x, (h, flow.drift(t, x)), (0.5, first), (0.5, second))


class StochasticHeun(AbstractStochastic):
    """Heun's method for Stratonovich noise: drift and noise averaged over both ends of a step.

    The orders are those of `EulerHeun`, and 2 for the drift alone.
    """

    calculus: ClassVar[str] = "stratonovich"

    def step(self, flow: NoisyFlow, t: Time, h: Scalar, x: State, increment: Any) -> State:
        """One step: x + (f(x) + f(z)) h / 2 + (sigma(x) + sigma(z)) dB / 2 with z = x + f h + sigma dB."""
        f, first = flow.drift(t, x), flow.kick(t, x, increment)
        z = _sum(x, (h, f), (1.0, first))
        g, second = flow.drift(t + h, z), flow.kick(t + h, z, increment)
        return _sum(x, (h / 2, f), (h / 2, g), (0.5, first), (0.5, second))


def chosen(flow: Any, integrator: Any, key: Any) -> Any:
    """Choose the integrator for a flow: the given one, `Diffrax()`, or for noise a stochastic one with the key.

    Raises:
        ValueError: for noise without a key, a key without noise, or a scheme for the other calculus.
    """
    if not isinstance(flow, NoisyFlow):
        if key is not None:
            raise ArgumentError("key", "be left out for a flow without noise", "is given")
        if isinstance(integrator, AbstractStochastic):
            kind = type(integrator).__name__
            raise ArgumentError("integrator", "be one for a flow without noise, such as `Diffrax()`", f"is {kind}")
        return Diffrax() if integrator is None else integrator
    if key is None:
        raise ArgumentError("key", "be given for a flow with noise, such as `random_key(0, 'name')`", "is missing")
    if integrator is None:
        integrator = EulerMaruyama() if flow.calculus == "ito" else EulerHeun()
    if not isinstance(integrator, AbstractStochastic) or integrator.calculus != flow.calculus:
        fit = "`EulerMaruyama()`" if flow.calculus == "ito" else "`EulerHeun()` or `StochasticHeun()`"
        must = f'be {fit} for noise with calculus="{flow.calculus}"'
        raise ArgumentError("integrator", must, f"is {type(integrator).__name__}")
    return integrator.with_key(random_key("key", key))


def chosen_for_all(flows: Sequence[Any], integrator: Any, key: Any) -> Any:
    """Choose the integrator for all flows of an ensemble, as `chosen` does; raise `ValueError` for mixed calculi.

    Maps are iterated.
    """
    if len({isinstance(flow, AbstractMap) for flow in flows}) > 1:
        raise ArgumentError("flow", "hold flows or maps, not both", "holds both")
    if isinstance(flows[0], AbstractMap):
        for name, value in (("key", key), ("integrator", integrator)):
            if value is not None:
                raise ArgumentError(name, "be left out for a map", "is given")
        return Iteration()
    found = [chosen(flow, integrator, key) for flow in flows]
    if len({type(one) for one in found}) > 1:
        raise ArgumentError("flow", "have noise of a single calculus, or none", "has several")
    return found[0]


def of_members(integrator: AbstractIntegrator, members: Any) -> AbstractIntegrator:
    """The integrator for some members of an ensemble; a stochastic one gets a key for each of them."""
    if not isinstance(integrator, AbstractStochastic):
        return integrator
    fold = lambda member: jax.random.fold_in(integrator.key, member)
    return integrator.with_key(fold(members) if np.ndim(members) == 0 else jax.vmap(fold)(jnp.asarray(members)))


def _sum(x: State, *terms: tuple[Any, State]) -> State:
    for factor, v in terms:
        x = jax.tree.map(lambda a, b, c=factor: a + jnp.asarray(c, a.dtype) * b, x, v)
    return x


def _checked(scheme: AbstractStochastic, flow: AbstractFlow, y0: State, ts: Times) -> tuple[NoisyFlow, int]:
    """Check a flow with noise, and return it with the number of steps between two output times."""
    if not isinstance(flow, NoisyFlow):
        raise ArgumentError("flow", f"be a NoisyFlow for `{type(scheme).__name__}`", f"is a {type(flow).__name__}")
    if scheme.key is None:
        raise ArgumentError("key", "be given", "is missing")
    if isinstance(ts, Tracer):
        raise ArgumentError("ts", "not be traced for a flow with noise", "is")
    flow.increment_shapes(float(ts[0]), y0)
    return flow, steps_between(ts, min(scheme.step_size, flow.step_limit()))


class _Run(eqx.Module):
    """A run in progress: state, outcome so far, number of steps, largest defect, and last time."""

    x: State
    outcome: Array
    steps: Array
    defect: Array
    time: Array


def _path(scheme: AbstractStochastic, flow: NoisyFlow, key: Any, y0: State, ts: Array) -> Callable[..., Any]:
    """Function that returns the Brownian increment of a step from the step's number and its two ends."""
    shapes = flow.increment_shapes(ts[0], y0)
    if scheme.path_resolution is not None:
        tree = dfx.VirtualBrownianTree(ts[0], ts[-1], tol=scheme.path_resolution, shape=shapes, key=key)
        return lambda index, t, end: tree.evaluate(jnp.maximum(t, ts[0]), jnp.minimum(end, ts[-1]))

    def drawn(index: Any, t: Any, end: Any) -> Any:
        leaves, structure = jax.tree.flatten(shapes)
        keys = jax.random.split(jax.random.fold_in(key, index), len(leaves))
        normal = [jax.random.normal(k, a.shape, a.dtype) for k, a in zip(keys, leaves, strict=True)]
        return jax.tree.unflatten(structure, [jnp.sqrt(end - t).astype(z.dtype) * z for z in normal])

    return drawn


@dataclasses.dataclass(frozen=True)
class NoiseRule(Rule):
    """A step of a scheme; the increments are those that `_path` draws, up to rounding, by operations of arithmetic."""

    scheme: AbstractStochastic
    words: ClassVar[int] = 2

    def step(self, form: FlowForm, system: System, run: March, at: Moment, key: Array) -> March:
        """Draw an increment, and take a step with it."""
        x, flow = form.restored(run.y), in_precision_of(run.y, system.flow)
        increment = _drawn(flow.increment_shapes(at.t, x), key, at)
        y = self.scheme.step(flow, at.t, at.end - at.t, x, increment)
        done = _after(flow, _Run(x, *run[1:]), y, at.end)
        flat = jnp.concatenate([jnp.ravel(part) for part in jax.tree.leaves(done.x)])
        return March(flat, done.outcome, done.steps, done.defect, done.time)


def _drawn(shapes: Any, key: Array, at: Moment) -> Any:
    """The Brownian increment of a step from the two words of a random key."""
    leaves, structure = jax.tree.flatten(shapes)
    zero, own = np.uint32(0), hashed(key, np.uint32(0), at.index.astype(np.uint32))
    normal = [normals(hashed(own, zero, np.uint32(k)), a.shape, a.dtype) for k, a in enumerate(leaves)]
    return jax.tree.unflatten(structure, [jnp.sqrt(at.end - at.t).astype(z.dtype) * z for z in normal])


def _ended(flow: NoisyFlow, ys: State, ts: Array, run: March) -> tuple[State, Stats]:
    """The final state and statistics of a member in lanes."""
    del flow, ts
    none = jnp.zeros((), int)
    stats = Stats(run.outcome == int(Outcome.FINISHED), run.outcome, run.steps, none, run.defect, run.time)
    return jax.tree.map(lambda y: y[-1], ys), stats


def _solve(scheme: Any, flow: Any, key: Any, y0: State, ts: Array, steps: int, fn: Any) -> tuple[Any, State, Stats]:
    """Evaluate `fn(t, x)` at `ts`; also the final state and statistics."""
    flow = in_precision_of(y0, flow)  # once, not in every step
    increment = _path(scheme, flow, key, y0, ts)

    def one(run: _Run, where: tuple[Any, ...]) -> tuple[_Run, None]:
        index, t, end = where
        y = scheme.step(flow, t, end - t, run.x, increment(index, t, end))
        return _after(flow, run, y, end), None

    def interval(run: _Run, where: tuple[Any, ...]) -> tuple[_Run, Any]:
        k, t0, t1 = where
        times = grid(t0, t1, steps)
        run, _ = jax.lax.scan(one, run, (k * steps + jnp.arange(steps), times[:-1], times[1:]))
        return run, fn(t1, run.x)

    none = jnp.zeros((), int)
    begin = _Run(y0, jnp.asarray(int(Outcome.FINISHED)), none, jnp.zeros((), ts.dtype), ts[0])
    run, values = jax.lax.scan(interval, begin, (jnp.arange(len(ts) - 1), ts[:-1], ts[1:]))
    values = jax.tree.map(lambda a, v: jnp.concatenate([jnp.asarray(a, v.dtype)[None], v]), fn(ts[0], y0), values)
    stats = Stats(run.outcome == int(Outcome.FINISHED), run.outcome, run.steps, none, run.defect, run.time)
    return masked(values, ts, stats), run.x, stats


def _after(flow: NoisyFlow, run: _Run, y: State, end: Any) -> _Run:
    """The run after a step to the ambient point `y`; a run that has ended stays NaN."""
    x = flow.space.project(y)
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(x)]))
    left = (flow.space.defect(x) > OFF_SPACE) | flow.outside(x)
    now = jnp.where(finite, jnp.where(left, int(Outcome.LEFT_DOMAIN), int(Outcome.FINISHED)), int(Outcome.NON_FINITE))
    outcome = jnp.where(run.outcome == int(Outcome.FINISHED), now, run.outcome)
    going = outcome == int(Outcome.FINISHED)
    return _Run(
        x=jax.tree.map(lambda a: jnp.where(going, a, jnp.nan), x),
        outcome=outcome,
        steps=run.steps + going.astype(int),
        defect=jnp.where(going, jnp.maximum(run.defect, flow.space.defect(y).astype(run.defect.dtype)), run.defect),
        time=jnp.where(going, end, run.time),
    )


@eqx.filter_jit
def _integrate(scheme, flow, y0, ts, steps):
    ys, _, stats = _solve(scheme, flow, scheme.key, y0, ts, steps, lambda t, x: x)
    return ys, stats


@eqx.filter_jit
def _observe(scheme, flow, axes, y0s, ts, steps, fn):
    one = lambda flow, key, y0: _solve(scheme, flow, key, y0, ts, steps, fn)
    return eqx.filter_vmap(one, in_axes=(axes, 0, 0))(flow, scheme.key, y0s)
