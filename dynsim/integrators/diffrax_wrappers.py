"""Wrappers of diffrax solvers and controllers: non-finite steps are rejected, runs end at events or if stuck."""

from collections.abc import Callable
from typing import Any

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from dynsim._core.types import State
from dynsim.integrators.adjoint import without_derivative_unless
from dynsim.integrators.base import Event
from dynsim.integrators.events import located
from dynsim.integrators.lanes.brackets import untouched
from dynsim.integrators.lanes.method import MOST_REJECTIONS
from dynsim.spaces import AbstractSpace


class AbstractWrapping(dfx.AbstractAdaptiveStepSizeController):
    """A controller with the tolerances and the norm of the one that it wraps."""

    controller: dfx.AbstractAdaptiveStepSizeController

    @property
    def rtol(self):
        """The wrapped controller's."""
        return self.controller.rtol  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def atol(self):
        """The wrapped controller's."""
        return self.controller.atol  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def norm(self):
        """The wrapped controller's."""
        return self.controller.norm  # pyright: ignore[reportAttributeAccessIssue]


EVENT = dfx.RESULTS.internal_error  # diffrax forgets the `event_occurred` of a solver, and has no use for this one


def _below(bound: Callable[[Any], Any], tree: State) -> Bool[Array, ""]:
    """Test whether the moduli of all entries are below the bound of their type; NaN is not.

    The largest entry is compared: a reduction of floats is several times as fast as one of comparisons.
    """
    largest = lambda leaf: jnp.max(jnp.abs(jax.lax.stop_gradient(leaf)), initial=0.0)
    return jnp.all(jnp.stack([largest(leaf) < bound(leaf.dtype) for leaf in jax.tree.leaves(tree)]))


class _Wrapper(dfx.AbstractWrappedSolver):
    """A solver that is another one, but for its `step`."""

    solver: dfx.AbstractSolver

    @property
    def term_structure(self):
        """The wrapped solver's."""
        return self.solver.term_structure

    @property
    def root_finder(self):
        """The wrapped solver's, which the controller's tolerances are handed to."""
        return self.solver.root_finder  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def scan_kind(self):
        """The wrapped solver's, which diffrax asks Runge-Kutta methods for."""
        return self.solver.scan_kind  # pyright: ignore[reportAttributeAccessIssue]

    def error_order(self, terms):
        """Get the order of the wrapped solver's error estimate."""
        return self.solver.error_order(terms)

    def init(self, terms, t0, t1, y0, args):
        """Initialise the wrapped solver."""
        return self.solver.init(terms, t0, t1, y0, args)

    def func(self, terms, t0, y0, args):
        """Evaluate the field as the wrapped solver does."""
        return self.solver.func(terms, t0, y0, args)


NODES = (1 - np.cos(np.pi * np.arange(6) / 5)) / 2  # Chebyshev points, as shares of a step
POWERS = np.linalg.inv(np.vander(NODES))  # from values at the nodes to the coefficients of their polynomial


class Sampled(dfx.AbstractLocalInterpolation):
    """The polynomial through the states at six nodes of a step, its ends among them."""

    t0: Any
    t1: Any
    nodes: State

    def evaluate(self, t0, t1=None, left=True):
        """State at a time; diffrax asks for no difference of two."""
        share = (t0 - self.t0) / jnp.where(self.t1 == self.t0, 1, self.t1 - self.t0)
        weights = jnp.polyval(jnp.asarray(POWERS, share.dtype), share)  # of each node
        return jax.tree.map(lambda ys: jnp.tensordot(weights.astype(ys.dtype), ys, 1), self.nodes)


class Guarded(_Wrapper):
    """A solver whose non-finite candidates become rejections.

    A trial step that overflows makes the controller's next step NaN, after which every step is rejected; here the
    candidate is replaced by the old state with an error so large that the controller shrinks by its full factor.
    Its derivatives in reverse mode are zero.

    If `sampled`, the states within a step come from steps of the same solver that end there. The interpolants of
    Kvaerno's methods use the field at the ends of a step, in which a stiff field multiplies the errors of the states:
    they are wrong by 1e-3 at a tolerance of 1e-6.
    """

    reverse: bool = eqx.field(static=True, default=True)
    sampled: bool = eqx.field(static=True, default=False)

    @property
    def interpolation_cls(self):
        """The polynomial through sampled states, or the wrapped solver's."""
        return Sampled if self.sampled else self.solver.interpolation_cls

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        """Step, and turn a candidate that is not finite, or an implicit stage that failed, into a rejection."""

        def stepped(given: Any) -> Any:
            terms, t0, t1, y0, args, solver_state = given
            step = lambda end: self.solver.step(terms, t0, end, y0, args, solver_state, made_jump)
            found = _with_samples(step, t0, t1, y0) if self.sampled else step(t1)
            return found, _below(lambda dtype: jnp.inf, found[:2])

        given = terms, t0, t1, y0, args, solver_state
        found, finite = without_derivative_unless(stepped, given) if self.reverse else stepped(given)
        y1, error, dense, state, result = found
        y1 = jax.tree.map(lambda new, old: jnp.where(finite, new, old), y1, y0)
        error = jax.tree.map(lambda e: jnp.where(finite, e, jnp.finfo(e.dtype).max ** 0.25), error)
        result = dfx.RESULTS.where(finite, result, dfx.RESULTS.successful)
        return y1, error, dense, state, result


def _with_samples(step: Callable[[Array], Any], t0: Array, t1: Array, y0: State) -> Any:
    """Take a step to each node, and return the last one with the states at the nodes as its dense output."""
    ends = jnp.append(t0 + NODES[1:-1].astype(t0.dtype) * (t1 - t0), t1)
    found = jax.vmap(step)(ends)
    y1, error, _, state, result = jax.tree.map(lambda a: a[-1], found)
    return y1, error, {"nodes": jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), y0, found[0])}, state, result


def is_implicit(solver: dfx.AbstractSolver) -> bool:
    """Whether the states within the steps of a solver have to be sampled."""
    return isinstance(solver, dfx.AbstractImplicitSolver)


class UpToEvent(_Wrapper):
    """A guarded solver that ends the integration with the first accepted step in which an event occurs.

    Its state is the wrapped solver's, where the event lies in the last step, and the state there. It wraps no `Guarded`
    solver: diffrax looks only one wrapper deep for whether a solver is implicit.
    """

    events: tuple[Event, ...]
    space: AbstractSpace
    sides: Array  # the signs of the events at the start
    quiet: Array  # and the times up to which rounding decides about them

    @property
    def guarded(self):
        """The solver that takes the steps."""
        return Guarded(self.solver, sampled=is_implicit(self.solver))

    @property
    def interpolation_cls(self):
        """That of the guarded solver."""
        return self.guarded.interpolation_cls

    def init(self, terms, t0, t1, y0, args):
        """Initialise the wrapped solver."""
        return self.solver.init(terms, t0, t1, y0, args), untouched(t0, t0, self.sides, self.quiet), y0

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        """Step, and look for events in the step."""
        inner, last, _ = solver_state
        guarded = self.guarded
        y1, error, dense, inner, result = guarded.step(terms, t0, t1, y0, args, inner, made_jump)
        path = guarded.interpolation_cls(t0=t0, t1=t1, **dense).evaluate
        found = located(self.events, self.space, untouched(t0, t1, last.sides, last.quiet), path)
        occurs = (found.event >= 0) & (result == dfx.RESULTS.successful)
        result = dfx.RESULTS.where(occurs, EVENT, result)
        return y1, error, dense, (inner, found, path(found.end)), result


class Watch(eqx.Module):
    """State of the controller: rejections in a row, whether the last candidate was finite, the last accepted time."""

    inner: object
    in_a_row: Array
    finite: Array
    time: Array


class StopEarly(AbstractWrapping):
    """A controller that ends a run after too many rejections in a row, or when the step falls to rounding error."""

    def wrap(self, direction):
        """Wrap the inner controller."""
        return StopEarly(self.controller.wrap(direction))  # pyright: ignore[reportCallIssue]

    def init(self, terms, t0, t1, y0, dt0, args, func, error_order):
        """Start with no rejection."""
        t0 = jnp.asarray(t0)
        t1, inner = self.controller.init(terms, t0, t1, y0, dt0, args, func, error_order)
        t1 = jnp.where(jnp.isfinite(t1), t1, t0 + jnp.asarray(1e-6, t0.dtype))  # a field not finite at the start
        return t1, Watch(inner, jnp.zeros((), int), jnp.ones((), bool), t0)

    def adapt_step_size(self, t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state):
        """Adapt as the inner controller does, and count."""
        t0 = jnp.asarray(t0)
        keep, next0, next1, jump, inner, result = self.controller.adapt_step_size(
            t0, t1, y0, y1_candidate, args, y_error, error_order, controller_state.inner
        )
        in_a_row = jnp.where(keep, 0, controller_state.in_a_row + 1)
        finite = _below(lambda dtype: jnp.finfo(dtype).max ** 0.25, y_error)
        shortest = 10 * jnp.finfo(t0.dtype).eps * jnp.maximum(jnp.abs(t0), jnp.finfo(t0.dtype).tiny)
        stuck = (in_a_row >= MOST_REJECTIONS) | (~keep & (t1 - t0 < shortest))
        result = dfx.RESULTS.where(stuck, dfx.RESULTS.dt_min_reached, result)
        return keep, next0, next1, jump, Watch(inner, in_a_row, finite, jnp.where(keep, t1, t0)), result
