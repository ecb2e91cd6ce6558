"""Differentiate hybrid runs: saltation matrices of transitions, and final states that JAX can differentiate."""

from collections.abc import Callable, Sequence
from typing import Any

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from analysis.dynamics.linearisation import tangent_basis
from dynsim._core.placement import on_host_by_default
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import number
from dynsim.errors import ArgumentError, shown
from dynsim.integrators.derivatives import in_reverse_mode_once
from dynsim.integrators.embedded import solve_within
from dynsim.integrators.time_structure import breakpoints
from dynsim.simulation.checks import check_flow, double_state
from dynsim.simulation.hybrid import HybridRecipe, Transition
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory
from dynsim.systems.base import AbstractFlow

# Smallest crossing rate of a guard, relative to the norms of gradient and velocity; slower crossings only touch it.
TOUCHES = 1e-6

FIRST_ONLY = ArgumentError(
    "run",
    "be differentiated once, in reverse mode (`jax.grad`, `jax.jacrev`, or `fundamental_matrix`)",
    "has no others",
)

Rules = Sequence[Transition] | Callable[[AbstractFlow], Sequence[Transition]]


@on_host_by_default
def saltation_matrix(
    flow: AbstractFlow,
    transition: Any,  # checked here, in one sentence
    t: Time,
    x: State,
) -> Float[Array, "after before"]:
    r"""Compute the saltation matrix, which maps perturbations before a transition to perturbations after it.

    $$
        S = DR + \frac{(f^+ - DR\, f^- - \partial_t R) \otimes \nabla g}{\langle \nabla g, f^- \rangle + \partial_t g}
    $$

    Here g is the guard, R the reset, and f^- and f^+ are the velocities before and after the transition. Perturbations
    are compared at one time, flattened and in ambient coordinates. States that arrive earlier have moved on with f^+
    meanwhile.

    Source: M. di Bernardo, C. Budd, A. Champneys and P. Kowalczyk, Piecewise-smooth Dynamical Systems (2008), ch. 2.

    Args:
        flow: the flow before the transition.
        transition: the transition, with its reset and its guard in JAX; the guard must be crossed transversally.
        t: time of the transition.
        x: state before the transition.

    Raises:
        ValueError: for bad input, or if the guard is only touched.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import saltation_matrix
        >>> def falling(t, x):
        ...     return jnp.stack([x[1], -1.0 + 0 * x[1]])
        >>> def bounce(flow, t, x):
        ...     return flow, jnp.stack([x[0], -0.5 * x[1]])
        >>> impact = ds.Transition("impact", ds.Event(lambda t, x: x[0], direction=-1), bounce)
        >>> np.round(saltation_matrix(ds.FunctionFlow(falling), impact, 0.0, [0.0, -2.0]), 6).tolist()
        [[-0.5, 0.0], [0.75, -0.5]]
    """
    check_flow(flow)
    if not isinstance(transition, Transition):
        raise ArgumentError("transition", "be a `Transition`", f"is {shown(transition)}")
    x = double_state("x", x)
    _check_crossed("transition", flow, transition, t, x)
    return _saltation(flow, transition, jnp.asarray(t, float), x)


@eqx.filter_jit
def _saltation(flow: AbstractFlow, rule: Transition, t: Array, x: State) -> Array:
    flat, restored = ravel_pytree(x)

    def across(y: Array) -> Array:
        state = restored(y)
        late = _lateness(flow, rule, t, state)
        other, after = _reset(flow, rule, t, state, late)
        return ravel_pytree(_shifted(other, t, after, -late))[0]

    return jax.jacfwd(across)(flat)


@on_host_by_default
def fundamental_matrix(run: HybridTrajectory, *, rtol: float = 1e-9) -> Float[np.ndarray, "final initial"]:
    """Compute the derivative of the final state of a hybrid run by its initial state, flattened and ambient.

    On a curved space it acts on tangent vectors and is zero on normal ones. For the assumptions and errors see
    `final_state`.

    Args:
        run: a run of `simulate_hybrid` or `crossings`.
        rtol: relative tolerance of the solver; the absolute one is a hundredth of it.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.dynamics import fundamental_matrix
        >>> def falling(t, x):
        ...     return jnp.stack([x[1], -1.0 + 0 * x[1]])
        >>> def bounce(flow, t, x):
        ...     return flow, jnp.stack([x[0], -0.5 * x[1]])
        >>> impact = ds.Transition("impact", ds.Event(lambda t, x: x[0], direction=-1), bounce)
        >>> run = ds.simulate_hybrid(ds.FunctionFlow(falling), [0.5, 0.0], [0.0, 1.5], [impact])
        >>> (np.round(fundamental_matrix(run), 6) + 0.0).tolist()
        [[0.25, 0.0], [1.5, 1.0]]
    """
    recipe = _recipe(run)
    flat, restored = ravel_pytree(recipe.start)
    end: Any = lambda y: ravel_pytree(final_state(run, recipe.flow, restored(y), recipe.transitions, rtol=rtol))[0]
    B = tangent_basis(recipe.flow.space, recipe.start)
    return np.asarray(jax.jacrev(end)(flat)) @ B @ B.T


@on_host_by_default
def final_state(
    run: HybridTrajectory, flow: AbstractFlow, y0: State, transitions: Rules, *, rtol: float = 1e-9
) -> State:
    """Compute the final state of a hybrid run as a function that `jax.grad` can differentiate.

    The transitions of the run are kept in their order, while their times and states depend on flow, start and
    transitions (first derivatives in reverse mode only). A run that was ended by a transition ends at that transition,
    at a time that varies. For arguments other than the run's own, the times are linear approximations. The state is NaN
    if the solver fails.

    Args:
        run: a run of `simulate_hybrid` or `crossings`, which fixes the order of events.
        flow: the first flow of the run, with parameters that may vary.
        y0: the start of the run, which may vary.
        transitions: the transitions of the run, with resets and guards in JAX whose parameters may vary.
        rtol: relative tolerance of the solver; the absolute one is a hundredth of it.

    Raises:
        ValueError: for a run that was built by hand, that touches a guard, or that has a transition at its last time,
            and for second derivatives and those in forward mode.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import jax
        >>> import dynsim as ds
        >>> from analysis.dynamics import final_state
        >>> def falling(t, x):
        ...     return jnp.stack([x[1], -1.0 + 0 * x[1]])
        >>> def bounce(flow, t, x):
        ...     return flow, jnp.stack([x[0], -0.5 * x[1]])
        >>> flow = ds.FunctionFlow(falling)
        >>> impact = ds.Transition("impact", ds.Event(lambda t, x: x[0], direction=-1), bounce)
        >>> run = ds.simulate_hybrid(flow, [0.5, 0.0], [0.0, 1.5], [impact])  # the ball is at the ground at time 1
        >>> slope = jax.grad(lambda x: final_state(run, flow, x, [impact])[0])(jnp.array([0.5, 0.0]))
        >>> (np.round(slope, 6) + 0.0).tolist()
        [0.25, 0.0]
    """
    tolerance, recipe = jnp.asarray(number("rtol", rtol)), _recipe(run)
    with jax.ensure_compile_time_eval():  # the numbers of the run are known, also within `jit`
        _check_run(run, recipe)
    known: Any = transitions if callable(transitions) else lambda flow: transitions
    x, t, late = double_state("y0", y0), float(recipe.ts[0]), jnp.zeros(())
    paths = list(run.phases)
    for k, jump in enumerate(run.jumps):
        if jump.time > t:
            x = _moved(flow, paths.pop(0).system, x, t, jump.time, tolerance)
        rule, time = known(flow)[jump.index], jnp.asarray(jump.time)
        if not (jump.by_reset or _at_once(rule, recipe, t, jump.time, first=k == 0)):
            late = _lateness(flow, rule, time, x)
        flow, x = _reset(flow, rule, time, x, late)
        if k == len(run.jumps) - 1 and run.ending is not Ending.FINISHED:
            return x
        x, t = _shifted(flow, time, x, -late), jump.time
    return _moved(flow, paths[0].system, x, t, float(recipe.ts[-1]), tolerance)


def _recipe(run: HybridTrajectory) -> HybridRecipe:
    if not isinstance(run, HybridTrajectory) or not isinstance(run.recipe, HybridRecipe):
        raise ArgumentError("run", "be a run of `simulate_hybrid` or `crossings`", f"is {type(run).__name__}")
    return run.recipe


def _check_run(run: HybridTrajectory, recipe: HybridRecipe) -> None:
    """Check that a run has derivatives; raise `ValueError` if it has none."""
    if run.ending is Ending.FINISHED and run.jumps and run.jumps[-1].time >= float(recipe.ts[-1]):
        raise ArgumentError("run", "end between two transitions", "has one at its last time")
    known: Any = recipe.transitions if callable(recipe.transitions) else lambda flow: recipe.transitions
    flow, t = recipe.flow, float(recipe.ts[0])
    for k, jump in enumerate(run.jumps):
        rule = known(flow)[jump.index]
        if not (jump.by_reset or _at_once(rule, recipe, t, jump.time, first=k == 0)):
            _check_crossed("run", flow, rule, jump.time, jump.before)
        (flow, _), t = rule.reset(flow, jump.time, jump.before), jump.time


def _check_crossed(name: str, flow: AbstractFlow, rule: Transition, t: Time, x: State) -> None:
    """Raise `ValueError` if a guard is only touched, since neighbouring states may then miss it."""
    rate, *sizes = map(float, _crossing(flow, rule, jnp.asarray(t, float), x))
    if abs(rate) <= TOUCHES * sizes[0] * sizes[1]:
        raise ArgumentError(name, "cross its guards transversally", f"touches that of `{rule.name}` at t = {t:g}")


@eqx.filter_jit
def _crossing(flow: AbstractFlow, rule: Transition, t: Array, x: State) -> list[Array]:
    """Compute the rate of a guard along the flow, and the norms of its gradient and of the velocity."""
    slope = jax.grad(lambda s, y: jnp.asarray(rule.guard.fn(s, y), float), argnums=(0, 1))(t, x)
    parts = slope, (jnp.ones(()), flow.vector_field(t, x))
    return [_rate(flow, rule, t, x), *(jnp.linalg.norm(ravel_pytree(part)[0]) for part in parts)]


def _at_once(rule: Transition, recipe: HybridRecipe, begin: float, time: float, *, first: bool) -> bool:
    """Test whether a transition occurred because its condition held already, at a time fixed by the previous one."""
    return rule.immediate and time == begin + (0.0 if first else recipe.dwell)


def _rate(flow: AbstractFlow, rule: Transition, t: Array, x: State) -> Scalar:
    """Compute the rate at which the guard function changes along the flow."""
    return jax.jvp(rule.guard.fn, (t, x), (jnp.ones_like(t), flow.vector_field(t, x)))[1]


def _lateness(flow: AbstractFlow, rule: Transition, t: Array, x: State) -> Scalar:
    """Compute the delay after `t` of crossing the guard, which is zero up to rounding, with its derivative."""
    return -rule.guard.fn(t, x) / jax.lax.stop_gradient(_rate(flow, rule, t, x))


def _reset(flow: AbstractFlow, rule: Transition, t: Array, x: State, late: Scalar) -> tuple[AbstractFlow, State]:
    """Compute the flow and the state after a transition that occurs `late` after `t`."""
    reset: Any = rule.reset
    return reset(flow, t + late, _shifted(flow, t, x, late))


def _shifted(flow: AbstractFlow, t: Array, x: State, late: Scalar) -> State:
    """Move a state along the flow for a short time, to first order."""
    return jax.tree.map(lambda y, v: y + late * v, x, flow.vector_field(t, x))


def _moved(flow: AbstractFlow, own: Any, x: State, begin: float, end: float, rtol: Array) -> State:
    """Integrate to the end of a phase; `own` is the flow of the run, which supplies breakpoints and step limits."""
    jumps, longest = breakpoints(own, x, begin, end), own.step_limit()
    limit = None if np.isinf(longest) else jnp.asarray(longest)
    given = flow, x, jnp.asarray(begin), jnp.asarray(end), jnp.asarray(jumps, float), limit, rtol
    return in_reverse_mode_once(_solved, FIRST_ONLY, *given)


@eqx.filter_jit
def _solved(
    flow: AbstractFlow, x: State, begin: Array, end: Array, jumps: Array, longest: Array | None, rtol: Array
) -> State:
    field = lambda t, y, args: flow.vector_field(t, y)
    solution = solve_within(field, begin, end, x, rtol=rtol, longest=longest, jumps=jumps, reverse=True)
    failed = solution.result != dfx.RESULTS.successful
    return flow.space.project(jax.tree.map(lambda y: jnp.where(failed, jnp.nan, y[-1]), solution.ys))
