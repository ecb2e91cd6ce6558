"""Derivatives of hybrid runs: saltation matrices of transitions, and final states that JAX can differentiate."""

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
from dynsim._core.types import Scalar, State, Time
from dynsim._core.validation import number
from dynsim.errors import ArgumentError, shown
from dynsim.integrators.embedded import solve_within
from dynsim.simulation.checks import as_state, check_flow
from dynsim.simulation.hybrid import HybridRecipe, Transition
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory
from dynsim.systems.base import AbstractFlow

TOUCHES = 1e-6  # of the norms of gradient and velocity: a guard that is crossed at a lower rate is only touched

Rules = Sequence[Transition] | Callable[[AbstractFlow], Sequence[Transition]]


def saltation_matrix(
    flow: AbstractFlow,
    transition: Any,  # checked here, in one sentence
    t: Time,
    x: State,
) -> Float[Array, "after before"]:
    r"""Return what a transition makes of small differences between states at one time before it, flat and ambient.

    $$
        S = DR + \frac{(f^+ - DR\, f^- - \partial_t R) \otimes \nabla g}{\langle \nabla g, f^- \rangle + \partial_t g}
    $$

    with the guard g, the reset R, the velocities f^- before and f^+ after it. The differences after it are those at one
    time again: states that arrive earlier have moved on with f^+ meanwhile.

    Source: M. di Bernardo, C. Budd, A. Champneys and P. Kowalczyk, Piecewise-smooth Dynamical Systems (2008), ch. 2.

    Args:
        flow: the flow before the transition.
        transition: its guard, which is crossed transversally, and its reset, both in JAX.
        t: the time of the transition.
        x: the state before it.

    Raises:
        ValueError: for bad input, or a guard that is only touched.
    """
    check_flow(flow)
    if not isinstance(transition, Transition):
        raise ArgumentError("transition", "be a `Transition`", f"is {shown(transition)}")
    x = as_state("x", x)
    _check_crossed("transition", flow, transition, t, x)
    flat, restored = ravel_pytree(x)
    time = jnp.asarray(t, float)

    def across(y: Array) -> Array:
        state = restored(y)
        late = _lateness(flow, transition, time, state)
        other, after = _reset(flow, transition, time, state, late)
        return ravel_pytree(_shifted(other, time, after, -late))[0]

    return jax.jacfwd(across)(flat)


def fundamental_matrix(run: HybridTrajectory, *, rtol: float = 1e-9) -> Float[np.ndarray, "final initial"]:
    """Return the derivative of the final state of a hybrid run by its initial one, flat and ambient.

    On a space that is not flat it is that along tangent vectors, and zero on normal ones. See `final_state` for the
    rest, and for the errors.
    """
    recipe = _recipe(run)
    flat, restored = ravel_pytree(recipe.start)
    end: Any = lambda y: ravel_pytree(final_state(run, recipe.flow, restored(y), recipe.transitions, rtol=rtol))[0]
    B = tangent_basis(recipe.flow.space, recipe.start)
    return np.asarray(jax.jacrev(end)(flat)) @ B @ B.T


def final_state(
    run: HybridTrajectory, flow: AbstractFlow, y0: State, transitions: Rules, *, rtol: float = 1e-9
) -> State:
    """Return the final state of a hybrid run as a function of flow, start and transitions that `jax.grad` takes.

    The derivatives hold for the run's own transitions in their order: their times and states move with what is varied
    (reverse mode only). A run that was ended by a transition ends at that, at a time that moves. At arguments other
    than the run's own the value is that of a linear approximation of the times. It is NaN if the solver fails.

    Args:
        run: a run of `simulate_hybrid` or `crossings`, which says what happens when.
        flow: its first flow, with parameters that may vary.
        y0: its start, which may vary.
        transitions: its transitions, with resets and guards in JAX whose parameters may vary.
        rtol: the relative tolerance of the solver; the absolute one is a hundredth of it.

    Raises:
        ValueError: for a run that was put together by hand, that touches a guard, or with a transition at its end.
    """
    tolerance, recipe = jnp.asarray(number("rtol", rtol)), _recipe(run)
    _check_run(run, recipe)
    known: Any = transitions if callable(transitions) else lambda flow: transitions
    x, t, late = as_state("y0", y0), float(recipe.ts[0]), jnp.zeros(())
    paths = list(run.phases)
    for k, jump in enumerate(run.jumps):
        if jump.time > t:
            x = _moved(flow, paths.pop(0).system, x, t, jump.time, tolerance)
        rule, time = known(flow)[jump.index], jnp.asarray(jump.time)
        if not _at_once(rule, recipe, t, jump.time, first=k == 0):
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
    """Raise `ValueError` unless the run has derivatives."""
    if run.ending is Ending.FINISHED and run.jumps and run.jumps[-1].time >= float(recipe.ts[-1]):
        raise ArgumentError("run", "end between two transitions", "has one at its last time")
    known: Any = recipe.transitions if callable(recipe.transitions) else lambda flow: recipe.transitions
    flow, t = recipe.flow, float(recipe.ts[0])
    for k, jump in enumerate(run.jumps):
        rule = known(flow)[jump.index]
        if not _at_once(rule, recipe, t, jump.time, first=k == 0):
            _check_crossed("run", flow, rule, jump.time, jump.before)
        (flow, _), t = rule.reset(flow, jump.time, jump.before), jump.time


def _check_crossed(name: str, flow: AbstractFlow, rule: Transition, t: Time, x: State) -> None:
    """Raise `ValueError` if a guard is only touched: then neighbouring states do not all reach it."""
    time = jnp.asarray(t, float)
    slope = jax.grad(lambda s, y: jnp.asarray(rule.guard.fn(s, y), float), argnums=(0, 1))(time, x)
    velocity = (jnp.ones(()), flow.vector_field(time, x))
    sizes = [float(jnp.linalg.norm(ravel_pytree(part)[0])) for part in (slope, velocity)]
    if abs(float(_rate(flow, rule, time, x))) <= TOUCHES * sizes[0] * sizes[1]:
        raise ArgumentError(name, "cross its guards transversally", f"touches that of `{rule.name}` at t = {t:g}")


def _at_once(rule: Transition, recipe: HybridRecipe, begin: float, time: float, *, first: bool) -> bool:
    """Return whether a transition occurred because its condition held, at a time that the one before decides."""
    return rule.immediate and time == begin + (0.0 if first else recipe.dwell)


def _rate(flow: AbstractFlow, rule: Transition, t: Array, x: State) -> Scalar:
    """Return the rate at which the guard's function changes along the flow."""
    return jax.jvp(rule.guard.fn, (t, x), (jnp.ones_like(t), flow.vector_field(t, x)))[1]


def _lateness(flow: AbstractFlow, rule: Transition, t: Array, x: State) -> Scalar:
    """Return by how much the guard is crossed after `t`: zero up to rounding, with its derivative."""
    return -rule.guard.fn(t, x) / jax.lax.stop_gradient(_rate(flow, rule, t, x))


def _reset(flow: AbstractFlow, rule: Transition, t: Array, x: State, late: Scalar) -> tuple[AbstractFlow, State]:
    """Return flow and state after a transition that occurs a little later than `t`."""
    reset: Any = rule.reset
    return reset(flow, t + late, _shifted(flow, t, x, late))


def _shifted(flow: AbstractFlow, t: Array, x: State, late: Scalar) -> State:
    """Return a state moved on by a short time."""
    return jax.tree.map(lambda y, v: y + late * v, x, flow.vector_field(t, x))


def _moved(flow: AbstractFlow, own: Any, x: State, begin: float, end: float, rtol: Array) -> State:
    """Return the state at the end of a phase; `own` is the flow of the run, which knows its times and steps."""
    jumps, longest = own.breakpoints(begin, end), own.step_limit()
    limit = None if np.isinf(longest) else jnp.asarray(longest)
    return _solved(flow, x, jnp.asarray(begin), jnp.asarray(end), jnp.asarray(jumps, float), limit, rtol)


@eqx.filter_jit
def _solved(
    flow: AbstractFlow, x: State, begin: Array, end: Array, jumps: Array, longest: Array | None, rtol: Array
) -> State:
    field = lambda t, y, args: flow.vector_field(t, y)
    solution = solve_within(field, begin, end, x, rtol=rtol, longest=longest, jumps=jumps, reverse=True)
    failed = solution.result != dfx.RESULTS.successful
    return flow.space.project(jax.tree.map(lambda y: jnp.where(failed, jnp.nan, y[-1]), solution.ys))
